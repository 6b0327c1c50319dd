//! Records: one kind for each kind of event, with its fields in order. Ordinary calls need no
//! record.

use super::value::{Sink, Source, Value, is_too_long};
use jtrail_model::*;

/// Each row has a record's code, the variant and payload of its event, and the fields in order.
/// Codes and fields are part of the format: their meaning never changes.
macro_rules! records {
    ($($code:literal $variant:ident($payload:ident) { $($field:ident)* })*) => {
        /// Largest code of a record.
        pub(super) const LAST_CODE: u8 = {
            let codes = [$($code),*];
            codes[codes.len() - 1]
        };

        /// Returns the code of an event's record; `None` for events of a later model.
        pub(super) fn code(event: &Event<'_>) -> Option<u8> {
            Some(match event {
                $(Event::$variant(_) => $code,)*
                _ => return None,
            })
        }

        /// Returns the kind of event that records with the code `code` hold.
        #[cfg(test)]
        fn kind(code: u8) -> Option<Kind> {
            Some(match code {
                $($code => Kind::$variant,)*
                _ => return None,
            })
        }

        /// Codes, names and fields of all records.
        #[cfg(test)]
        const ROWS: &[(u8, &str, &[&str])] =
            &[$(($code, stringify!($variant), &[$(stringify!($field)),*])),*];

        /// Appends an event's fields.
        pub(super) fn put(event: &Event<'_>, sink: &mut Sink<'_>) {
            match event {
                $(Event::$variant(e) => { $(e.$field.put(sink);)* })*
                _ => {}
            }
        }

        /// Reads the fields of a record with the code `code`.
        pub(super) fn get(code: u8, source: &mut Source<'_, '_>) -> Option<Event<'static>> {
            Some(match code {
                $($code => Event::$variant($payload { $($field: Value::get(source)?,)* }.into()),)*
                _ => return None,
            })
        }
    };
}

records! {
    1 Node(Node) { node_id hostname ip_address timezone time }
    2 ProcessCreate(ProcessCreate) { process_id name pid node_id time executable }
    3 AgentCreate(AgentCreate) { agent_id process_id name agent_type time parameters version }
    4 AgentDestroy(AgentDestroy) { agent_id time }
    5 TraceStart(TraceStart) { trace_id agent_id time }
    6 TraceEnd(TraceEnd) { trace_id time }
    7 TracePause(TracePause) { time }
    8 TraceResume(TraceResume) { time }
    9 Filter(Filter) {
        trace_id pattern generic_pattern mode method_pattern method_generic_pattern method_mode
    }
    10 Option(TraceOption) { key value }
    11 ThreadStart(ThreadStart) { thread time group parent_group object name }
    12 ThreadEnd(ThreadEnd) { thread time }
    13 ClassDef(ClassDef) { class thread time name source_name object }
    14 MethodDef(MethodDef) { method class name signature start_line end_line }
    15 ObjectAlloc(ObjectAlloc) { thread time kind object size line method class }
    16 MethodEnter(MethodEnter) { thread time method class ticket cpu_time stack_depth }
    17 MethodLeave(MethodLeave) { thread time method class ticket cpu_time by_exception }
    18 GcStart(GcStart) { time }
    19 ObjectFree(ObjectFree) { time object age }
    20 GcFinish(GcFinish) { time total_space used_space used_objects }
    21 RuntimeInitDone(RuntimeInitDone) { thread time }
    22 RuntimeShutdown(RuntimeShutdown) { thread time }
    23 MonitorWait(MonitorWait) { thread time object timeout_ms stack }
    24 MonitorWaited(MonitorWaited) { thread time object timed_out stack }
    25 MonitorContendedEnter(MonitorContendedEnter) { thread time object owner stack }
    26 MonitorContendedEntered(MonitorContendedEntered) { thread time object stack }
    27 AggregatedEnter(AggregatedEnter) {
        thread method base_time min_time max_time base_cpu_time calls
    }
    28 AggregatedLeave(AggregatedLeave) { thread method }
    29 HeapDump(HeapDump) { dump time name base_time }
    30 GcRoot(GcRoot) { class object kind }
    31 ObjectReference(ObjectReference) { source target dump }
    32 Custom(Custom) { body }
    33 ObjectDef(ObjectDef) { object time kind size class }
    34 ExceptionThrow(ExceptionThrow) { thread time object class stack }
    35 ExceptionCatch(ExceptionCatch) { thread time object class frame }
    36 ThreadName(ThreadName) { thread time name }
    37 ThreadCpu(ThreadCpu) { thread time cpu_time }
    38 ThreadMount(ThreadMount) { thread time carrier }
    39 ThreadUnmount(ThreadUnmount) { thread time carrier }
    40 ThreadPark(ThreadPark) { thread time object stack }
    41 ThreadUnpark(ThreadUnpark) { thread time }
    42 ClassDetail(ClassDetail) {
        class time access super_name interfaces loader size fields methods
    }
    43 ClassUnload(ClassUnload) { class time }
    44 ClassRedefine(ClassRedefine) { class time size }
    45 MethodCompile(MethodCompile) { method time address size ranges }
    46 MethodUncompile(MethodUncompile) { method time address }
    47 ThreadOsId(ThreadOsId) { thread time os_id }
    48 ProcessCpu(ProcessCpu) { time cpu_time }
    49 AllocationSum(AllocationSum) { thread time class objects bytes }
    50 LiveObjects(LiveObjects) { time classes }
    51 Sample(Sample) { thread time state ticks stack }
    52 GcDetail(GcDetail) { time collector cause generation }
    53 HeapObject(HeapObject) { dump object class size }
    54 HeapDumpEnd(HeapDumpEnd) { dump time }
    55 LineCounts(LineCounts) { method time calls lines }
    56 AggregatedDetail(AggregatedDetail) { thread method exceptions overhead }
    57 SampleSum(SampleSum) { thread time depth frame runnable all }
    58 ObjectCounts(ObjectCounts) { thread time class live peak }
    59 ClassSource(ClassSource) { class source_name }
    60 MethodDetail(MethodDetail) { method size }
    61 CatchDetail(CatchDetail) { thread time entry takes_all }
    62 ClassInitStart(ClassInitStart) { thread time class }
    63 ClassInitEnd(ClassInitEnd) { thread time class failed }
}

/// Codes of the records of calls.
pub(super) const METHOD_ENTER: u8 = 16;
pub(super) const METHOD_LEAVE: u8 = 17;

/// A value for each record code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ByCode<T>(pub(super) [T; LAST_CODE as usize + 1]);

impl<T: Copy + Default> Default for ByCode<T> {
    fn default() -> Self {
        Self([T::default(); LAST_CODE as usize + 1])
    }
}

/// Returns true if an event holds a list with more entries than readers accept.
pub(super) fn is_too_large(event: &Event<'_>) -> bool {
    match event {
        Event::MonitorWait(e) => is_too_long(&e.stack),
        Event::MonitorWaited(e) => is_too_long(&e.stack),
        Event::MonitorContendedEnter(e) => is_too_long(&e.stack),
        Event::MonitorContendedEntered(e) => is_too_long(&e.stack),
        Event::ExceptionThrow(e) => is_too_long(&e.stack),
        Event::ThreadPark(e) => is_too_long(&e.stack),
        Event::Sample(e) => is_too_long(&e.stack),
        Event::ClassDetail(e) => {
            is_too_long(&e.interfaces) || is_too_long(&e.fields) || is_too_long(&e.methods)
        }
        Event::MethodCompile(e) => {
            is_too_long(&e.ranges) || e.ranges.iter().any(|range| is_too_long(&range.frames))
        }
        Event::LineCounts(e) => is_too_long(&e.lines),
        Event::LiveObjects(e) => is_too_long(&e.classes),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code() {
        let mut kinds: Vec<Kind> = (0..=LAST_CODE).filter_map(kind).collect();
        assert_eq!(kinds.len(), usize::from(LAST_CODE));
        kinds.retain(|kind| Kind::ALL.contains(kind));
        assert_eq!(kinds.len(), Kind::ALL.len());
        assert_eq!(kind(METHOD_ENTER), Some(Kind::MethodEnter));
        assert_eq!(kind(METHOD_LEAVE), Some(Kind::MethodLeave));
    }

    #[test]
    fn the_specification_has_all_records() {
        let text = include_str!("../../../../docs/formats/trail.md");
        let row = |line: &str| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let code: u8 = cells.next()?.parse().ok()?;
            let name = cells.next()?.to_owned();
            let fields = cells.next()?.split('`').skip(1).step_by(2);
            Some((code, name, fields.map(str::to_owned).collect::<Vec<_>>()))
        };
        let reported: Vec<_> = text
            .lines()
            .skip_while(|line| *line != "## Records")
            .filter_map(row)
            .collect();
        let rows = ROWS.iter().map(|(code, name, fields)| {
            let fields = fields.iter().map(|field| (*field).to_owned()).collect();
            (*code, (*name).to_owned(), fields)
        });
        assert_eq!(reported, rows.collect::<Vec<_>>());
    }
}
