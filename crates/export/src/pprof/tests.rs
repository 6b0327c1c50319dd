use super::Writer;
use crate::profile::{Profiler, SUMS};
use crate::testing::*;
use flate2::read::GzDecoder;
use jtrail_model::*;
use std::collections::HashMap;
use std::io::Read;

/// A field of a message: its number, and an integer or bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Field {
    Integer(u32, i64),
    Bytes(u32, Vec<u8>),
}

fn varint(rest: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = rest[0];
        *rest = &rest[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn varints(mut rest: &[u8]) -> Vec<i64> {
    let mut values = Vec::new();
    while !rest.is_empty() {
        values.push(varint(&mut rest) as i64);
    }
    values
}

fn fields(mut rest: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let key = varint(&mut rest) as u32;
        let value = varint(&mut rest);
        fields.push(match key & 7 {
            0 => Field::Integer(key >> 3, value as i64),
            2 => {
                let (bytes, after) = rest.split_at(value as usize);
                rest = after;
                Field::Bytes(key >> 3, bytes.to_vec())
            }
            wire_type => panic!("wire type {wire_type}"),
        });
    }
    fields
}

fn messages(fields: &[Field], number: u32) -> Vec<Vec<u8>> {
    let bytes = |field: &Field| match field {
        Field::Bytes(n, bytes) if *n == number => Some(bytes.clone()),
        _ => None,
    };
    fields.iter().filter_map(bytes).collect()
}

fn integer(fields: &[Field], number: u32) -> i64 {
    let found = fields.iter().find_map(|field| match field {
        Field::Integer(n, value) if *n == number => Some(*value),
        _ => None,
    });
    found.unwrap_or(0)
}

/// A profile, as its readers see it.
struct Reader {
    fields: Vec<Field>,
    strings: Vec<String>,
}

impl Reader {
    fn new(file: &[u8]) -> Self {
        let mut message = Vec::new();
        GzDecoder::new(file)
            .read_to_end(&mut message)
            .expect("gzip");
        let fields = fields(&message);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let strings = messages(&fields, 6).into_iter().map(text).collect();
        Self { fields, strings }
    }

    fn text(&self, index: i64) -> &str {
        &self.strings[index as usize]
    }

    /// Returns `type/unit` of a `ValueType` message.
    fn value_type(&self, message: &[u8]) -> String {
        let fields = fields(message);
        let [name, unit] = [1, 2].map(|n| self.text(integer(&fields, n)));
        format!("{name}/{unit}")
    }

    fn types(&self) -> Vec<String> {
        let all = messages(&self.fields, 1);
        all.iter().map(|message| self.value_type(message)).collect()
    }

    /// Returns `name|system name|file|line`, by the ids of functions.
    fn functions(&self) -> HashMap<i64, String> {
        let mut functions = HashMap::new();
        for message in messages(&self.fields, 5) {
            let fields = fields(&message);
            let [name, system, file] = [2, 3, 4].map(|n| self.text(integer(&fields, n)));
            let line = integer(&fields, 5);
            let text = format!("{name}|{system}|{file}|{line}");
            functions.insert(integer(&fields, 1), text);
        }
        functions
    }

    /// Returns the names of functions by the ids of locations.
    fn locations(&self) -> HashMap<i64, String> {
        let functions = self.functions();
        let mut locations = HashMap::new();
        for message in messages(&self.fields, 4) {
            let all = fields(&message);
            let line = fields(&messages(&all, 4)[0]);
            let function = &functions[&integer(&line, 1)];
            let (name, start) = (function.split('|').next(), function.split('|').next_back());
            assert_eq!(integer(&line, 2).to_string(), start.unwrap_or(""));
            locations.insert(integer(&all, 1), name.unwrap_or("").to_owned());
        }
        locations
    }

    /// Returns `path: values; labels` of each sample.
    fn samples(&self) -> Vec<String> {
        let locations = self.locations();
        let samples = messages(&self.fields, 2);
        let line = |sample: &Vec<u8>| {
            let all = fields(sample);
            let path = varints(&messages(&all, 1)[0]);
            let path: Vec<&str> = path.iter().map(|id| locations[id].as_str()).collect();
            let values = varints(&messages(&all, 2)[0]);
            let mut labels = String::new();
            for label in messages(&all, 3) {
                let fields = fields(&label);
                let [key, text] = [1, 2].map(|n| self.text(integer(&fields, n)));
                labels += &format!(" {key}={text}{}", integer(&fields, 3));
            }
            format!("{}: {values:?};{labels}", path.join(" < "))
        };
        samples.iter().map(line).collect()
    }

    fn comments(&self) -> Vec<&str> {
        let comment = |field: &Field| match field {
            Field::Integer(13, index) => Some(self.text(*index)),
            _ => None,
        };
        self.fields.iter().filter_map(comment).collect()
    }
}

fn written(events: &[Event<'_>]) -> Reader {
    Reader::new(&encode(Profiler::new(Writer), events))
}

fn source(file: &'static str) -> Event<'static> {
    Event::ClassSource(ClassSource {
        class: ClassId(1),
        source_name: file.into(),
    })
}

fn with_signature(id: u64, signature: &'static str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(1),
        name: "clone".into(),
        signature: signature.into(),
        start_line: 12,
        ..MethodDef::default()
    })
}

/// Returns the program, with recursive calls on its second thread.
fn recursive() -> Vec<Event<'static>> {
    let mut events = program("worker");
    events.extend([
        enter(2, 60, 1, 2),
        enter(2, 61, 2, 3),
        enter(2, 62, 1, 4),
        leave(2, 65, 1, 4),
        leave(2, 72, 2, 3),
        leave(2, 92, 1, 2),
    ]);
    events
}

#[test]
fn samples_have_the_values_of_their_own_calls() {
    let profile = written(&recursive());
    let types = [
        "calls/count",
        "self/nanoseconds",
        "alloc_objects/count",
        "alloc_space/bytes",
    ];
    assert_eq!(profile.types(), types);
    let (outer, inner) = ("a.B.outer(int)", "a.B.inner(int)");
    let main = "thread=main0 thread_id=1";
    let worker = "thread=worker0 thread_id=2";
    let expected = [
        format!("[outside of calls]: [0, 0, 1, 16]; {main}"),
        format!("{outer}: [1, 20, 0, 0]; {main}"),
        format!("{inner} < {outer}: [1, 10, 1, 48]; {main}"),
        format!("{outer}: [2, 28, 0, 0]; {worker}"),
        format!("{inner} < {outer}: [1, 8, 0, 0]; {worker}"),
        format!("{outer} < {inner} < {outer}: [1, 3, 0, 0]; {worker}"),
    ];
    assert_eq!(profile.samples(), expected);
}

#[test]
fn the_profile_has_its_time_and_what_it_lacks() {
    let mut events = recursive();
    events.extend([mark("release 7"), mark("release 7"), mark("\0;\n\"🦀")]);
    let profile = written(&events);
    let number = |field| integer(&profile.fields, field);
    assert_eq!((number(9), number(10)), (time(10).0, 82));
    assert_eq!(number(12), 1);
    assert_eq!(profile.text(number(14)), "self");
    let period = &messages(&profile.fields, 11)[0];
    assert_eq!(profile.value_type(period), "self/nanoseconds");
    let comments = ["release 7", "\0;\n\"🦀"];
    assert_eq!(profile.comments(), comments);
    let mapping = fields(&messages(&profile.fields, 3)[0]);
    assert_eq!(profile.text(integer(&mapping, 5)), "java");
}

#[test]
fn sums_whose_caller_the_trace_lacks_have_a_negative_value() {
    let events = [
        thread(2, 0, "pool", "main"),
        class(1, "a.B"),
        method(1, "outer"),
        method(2, "inner"),
        begin_sum(2, 1, 0, -6),
        begin_sum(2, 2, 4, 6),
        end_sum(2, 2),
        end_sum(2, 1),
    ];
    let pool = "thread=pool0 thread_id=2";
    let expected = [
        format!("a.B.outer(int) < {SUMS}: [0, -6]; {pool}"),
        format!("a.B.inner(int) < a.B.outer(int) < {SUMS}: [4, 6]; {pool}"),
    ];
    assert_eq!(written(&events).samples(), expected);
}

#[test]
fn functions_have_names_and_sources() {
    let call = |ns, method, ticket| {
        let begin = enter(1, ns, method, ticket);
        [begin, leave(1, ns + 1, method, ticket)]
    };
    let mut events = vec![
        class(1, "a.b.C"),
        method(1, "one"),
        with_signature(2, "()La/b/C;"),
        with_signature(3, "()Ljava/lang/Object;"),
    ];
    events.extend((1..=4).flat_map(|method| call(10 * method as i64, method, method as u32)));
    let without = written(&events).functions();
    assert_eq!(without[&1], "a.b.C.one(int)|a.b.C.one(I)V|a.b.C|0");
    assert_eq!(without[&2], "a.b.C.clone()La/b/C;||a.b.C|12");
    assert_eq!(without[&3], "a.b.C.clone()Ljava/lang/Object;||a.b.C|12");
    assert_eq!(without[&4], "method-4|||0");
    events.insert(1, source("C.java"));
    let with = written(&events).functions();
    assert_eq!(with[&1], "a.b.C.one(int)|a.b.C.one(I)V|a/b/C.java|0");
}

#[test]
fn odd_names_pass_through() {
    let long: &'static str = "é".repeat(1 << 15).leak();
    for name in ["\"\\", "</script>", "\0\u{1b}\n", "🦀", "", long] {
        let events = [
            thread(1, 0, name, "main"),
            class(1, name),
            method(1, name),
            enter(1, 10, 1, 1),
            leave(1, 12, 1, 1),
        ];
        let thread = if name.is_empty() { "thread 1" } else { name };
        let expected = format!("{name}.{name}(int): [1, 2]; thread={thread}0 thread_id=1");
        assert_eq!(written(&events).samples(), [expected]);
    }
}
