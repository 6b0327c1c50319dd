//! Field numbers of `profile.proto`, by message.

/// Fields of `Profile`.
pub(super) mod profile {
    pub(in crate::pprof) const SAMPLE_TYPE: u32 = 1;
    pub(in crate::pprof) const SAMPLE: u32 = 2;
    pub(in crate::pprof) const MAPPING: u32 = 3;
    pub(in crate::pprof) const LOCATION: u32 = 4;
    pub(in crate::pprof) const FUNCTION: u32 = 5;
    pub(in crate::pprof) const STRING_TABLE: u32 = 6;
    pub(in crate::pprof) const TIME_NANOS: u32 = 9;
    pub(in crate::pprof) const DURATION_NANOS: u32 = 10;
    pub(in crate::pprof) const PERIOD_TYPE: u32 = 11;
    pub(in crate::pprof) const PERIOD: u32 = 12;
    pub(in crate::pprof) const COMMENT: u32 = 13;
    pub(in crate::pprof) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// Fields of `ValueType`.
pub(super) mod value_type {
    pub(in crate::pprof) const TYPE: u32 = 1;
    pub(in crate::pprof) const UNIT: u32 = 2;
}

/// Fields of `Sample`.
pub(super) mod sample {
    pub(in crate::pprof) const LOCATION_ID: u32 = 1;
    pub(in crate::pprof) const VALUE: u32 = 2;
    pub(in crate::pprof) const LABEL: u32 = 3;
}

/// Fields of `Label`.
pub(super) mod label {
    pub(in crate::pprof) const KEY: u32 = 1;
    pub(in crate::pprof) const STR: u32 = 2;
    pub(in crate::pprof) const NUM: u32 = 3;
}

/// Fields of `Mapping`.
pub(super) mod mapping {
    pub(in crate::pprof) const ID: u32 = 1;
    pub(in crate::pprof) const FILENAME: u32 = 5;
    pub(in crate::pprof) const HAS_FUNCTIONS: u32 = 7;
    pub(in crate::pprof) const HAS_FILENAMES: u32 = 8;
    pub(in crate::pprof) const HAS_LINE_NUMBERS: u32 = 9;
}

/// Fields of `Location`.
pub(super) mod location {
    pub(in crate::pprof) const ID: u32 = 1;
    pub(in crate::pprof) const MAPPING_ID: u32 = 2;
    pub(in crate::pprof) const LINE: u32 = 4;
}

/// Fields of `Line`.
pub(super) mod line {
    pub(in crate::pprof) const FUNCTION_ID: u32 = 1;
    pub(in crate::pprof) const LINE: u32 = 2;
}

/// Fields of `Function`.
pub(super) mod function {
    pub(in crate::pprof) const ID: u32 = 1;
    pub(in crate::pprof) const NAME: u32 = 2;
    pub(in crate::pprof) const SYSTEM_NAME: u32 = 3;
    pub(in crate::pprof) const FILENAME: u32 = 4;
    pub(in crate::pprof) const START_LINE: u32 = 5;
}
