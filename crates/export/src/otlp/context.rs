//! Ids of spans and traces.

/// Identifies a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Context {
    pub(crate) trace: u128,
    /// Never 0 in a span.
    pub(crate) span: u64,
}

impl Context {
    /// Returns the id of an outermost span of a process.
    pub(crate) fn outermost(process: u64, span: u64) -> Self {
        // Samplers expect the last bytes of a trace id to be random.
        let last = mix(span ^ TRACE);
        Self {
            trace: u128::from(mix(process)) << 64 | u128::from(last),
            span,
        }
    }

    /// Returns the id of a span in the same trace.
    pub(crate) fn inner(self, span: u64) -> Self {
        Self { span, ..self }
    }
}

/// Distinguishes the hash of a trace from that of its outermost span.
const TRACE: u64 = 0x7472_6163_6500_0000;

/// Returns the id of a span from numbers that identify it.
#[inline]
pub(crate) fn span_id(numbers: [u64; 5]) -> u64 {
    let hash = numbers.into_iter().fold(0, |hash, n| mix(hash ^ n));
    hash.max(1)
}

/// Returns a number from texts and a number that identify a process.
pub(crate) fn process_hash(texts: &[&str], number: u64) -> u64 {
    let mut hash = mix(number);
    for text in texts {
        for part in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            hash = mix(hash ^ u64::from_le_bytes(word));
        }
        hash = mix(hash ^ text.len() as u64);
    }
    hash
}

/// Returns a number that looks random (the last step of SplitMix64). Different numbers have
/// different results.
#[inline]
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
