//! Field numbers of Perfetto's schema, by message.

/// Fields of `Trace`.
pub(super) mod trace {
    pub(in crate::perfetto) const PACKET: u32 = 1;
}

/// Fields of `TracePacket`.
pub(super) mod packet {
    pub(in crate::perfetto) const CLOCK_SNAPSHOT: u32 = 6;
    pub(in crate::perfetto) const TIMESTAMP: u32 = 8;
    pub(in crate::perfetto) const SEQUENCE_ID: u32 = 10;
    pub(in crate::perfetto) const TRACK_EVENT: u32 = 11;
    pub(in crate::perfetto) const INTERNED_DATA: u32 = 12;
    pub(in crate::perfetto) const SEQUENCE_FLAGS: u32 = 13;
    pub(in crate::perfetto) const DEFAULTS: u32 = 59;
    pub(in crate::perfetto) const TRACK_DESCRIPTOR: u32 = 60;
}

/// Values of `TracePacket.sequence_flags`.
pub(super) mod sequence_flags {
    pub(in crate::perfetto) const INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub(in crate::perfetto) const NEEDS_INCREMENTAL_STATE: u64 = 2;
}

/// Fields of `TracePacketDefaults`.
pub(super) mod defaults {
    pub(in crate::perfetto) const TRACK_EVENT: u32 = 11;
    pub(in crate::perfetto) const TIMESTAMP_CLOCK_ID: u32 = 58;
}

/// Fields of `TrackEventDefaults`.
pub(super) mod track_defaults {
    pub(in crate::perfetto) const TRACK_UUID: u32 = 11;
    pub(in crate::perfetto) const EXTRA_COUNTER_TRACK_UUIDS: u32 = 31;
}

/// Fields of `TrackEvent`.
pub(super) mod event {
    pub(in crate::perfetto) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(in crate::perfetto) const TYPE: u32 = 9;
    pub(in crate::perfetto) const NAME_IID: u32 = 10;
    pub(in crate::perfetto) const TRACK_UUID: u32 = 11;
    pub(in crate::perfetto) const EXTRA_COUNTER_VALUES: u32 = 12;
    pub(in crate::perfetto) const NAME: u32 = 23;
    pub(in crate::perfetto) const COUNTER_VALUE: u32 = 30;
    pub(in crate::perfetto) const FLOW_IDS: u32 = 47;
    pub(in crate::perfetto) const TERMINATING_FLOW_IDS: u32 = 48;
}

/// Values of `TrackEvent.type`.
pub(super) mod event_type {
    pub(in crate::perfetto) const SLICE_BEGIN: u64 = 1;
    pub(in crate::perfetto) const SLICE_END: u64 = 2;
    pub(in crate::perfetto) const INSTANT: u64 = 3;
    pub(in crate::perfetto) const COUNTER: u64 = 4;
}

/// Fields of `InternedData`.
pub(super) mod interned {
    pub(in crate::perfetto) const EVENT_NAMES: u32 = 2;
}

/// Fields of `EventName`.
pub(super) mod event_name {
    pub(in crate::perfetto) const IID: u32 = 1;
    pub(in crate::perfetto) const NAME: u32 = 2;
}

/// Fields of `DebugAnnotation`.
pub(super) mod annotation {
    pub(in crate::perfetto) const INT_VALUE: u32 = 4;
    pub(in crate::perfetto) const STRING_VALUE: u32 = 6;
    pub(in crate::perfetto) const NAME: u32 = 10;
}

/// Fields of `TrackDescriptor`.
pub(super) mod track {
    pub(in crate::perfetto) const UUID: u32 = 1;
    pub(in crate::perfetto) const NAME: u32 = 2;
    pub(in crate::perfetto) const PROCESS: u32 = 3;
    pub(in crate::perfetto) const THREAD: u32 = 4;
    pub(in crate::perfetto) const PARENT_UUID: u32 = 5;
    pub(in crate::perfetto) const COUNTER: u32 = 8;
    pub(in crate::perfetto) const SIBLING_MERGE_BEHAVIOR: u32 = 15;
    /// Value of `SIBLING_MERGE_BEHAVIOR`. Without it, tracks of one name are shown as one.
    pub(in crate::perfetto) const MERGE_NONE: u64 = 2;
}

/// Fields of `ProcessDescriptor`.
pub(super) mod process {
    pub(in crate::perfetto) const PID: u32 = 1;
    pub(in crate::perfetto) const NAME: u32 = 6;
}

/// Fields of `ThreadDescriptor`.
pub(super) mod thread {
    pub(in crate::perfetto) const PID: u32 = 1;
    pub(in crate::perfetto) const TID: u32 = 2;
    pub(in crate::perfetto) const NAME: u32 = 5;
}

/// Fields of `CounterDescriptor`.
pub(super) mod counter {
    pub(in crate::perfetto) const UNIT: u32 = 3;
}

/// Values of `CounterDescriptor.unit`.
pub(super) mod unit {
    pub(in crate::perfetto) const TIME_NS: u64 = 1;
    pub(in crate::perfetto) const COUNT: u64 = 2;
    pub(in crate::perfetto) const SIZE_BYTES: u64 = 3;
}

/// Fields of `ClockSnapshot`.
pub(super) mod clock_snapshot {
    pub(in crate::perfetto) const CLOCKS: u32 = 1;
    pub(in crate::perfetto) const PRIMARY_TRACE_CLOCK: u32 = 2;
}

/// Fields of `Clock`.
pub(super) mod clock {
    pub(in crate::perfetto) const ID: u32 = 1;
    pub(in crate::perfetto) const TIMESTAMP: u32 = 2;
    pub(in crate::perfetto) const IS_INCREMENTAL: u32 = 3;
}

/// Clock of real time, in ns since 1970-01-01 UTC.
pub(super) const REAL_TIME: u64 = 1;
/// Clock of the trace.
pub(super) const BOOT_TIME: u64 = 6;
/// First clock that belongs to a sequence.
pub(super) const SEQUENCE_CLOCK: u64 = 64;
