//! JSON that is compressed as it is written.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;

/// Number of bytes that are passed to the compressor at a time.
const BATCH: usize = 1 << 16;

/// Writes a JSON text into a gzip file in memory.
pub(super) struct Json {
    buffer: Vec<u8>,
    gzip: GzEncoder<Vec<u8>>,
}

impl Json {
    pub(super) fn new() -> Self {
        Self {
            buffer: Vec::with_capacity(2 * BATCH),
            gzip: GzEncoder::new(Vec::new(), Compression::fast()),
        }
    }

    /// Writes a text as it is.
    #[inline]
    pub(super) fn raw(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes bytes as they are.
    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.compress_batch();
    }

    #[inline]
    fn compress_batch(&mut self) {
        if self.buffer.len() >= BATCH {
            self.compress();
        }
    }

    fn compress(&mut self) {
        // Writing to memory does not fail.
        let _ = self.gzip.write_all(&self.buffer);
        self.buffer.clear();
    }

    /// Writes a string with its quotes.
    pub(super) fn string(&mut self, text: &str) {
        string(&mut self.buffer, text);
        self.compress_batch();
    }

    #[inline]
    pub(super) fn integer(&mut self, value: i64) {
        decimal(&mut self.buffer, value, 0);
        self.compress_batch();
    }

    /// Writes a time in ns as a number of ms.
    #[inline]
    pub(super) fn ms(&mut self, ns: i64) {
        self.decimal(ns, 6);
    }

    /// Writes a number whose last `digits` digits are decimals.
    #[inline]
    pub(super) fn decimal(&mut self, value: i64, digits: u32) {
        decimal(&mut self.buffer, value, digits);
        self.compress_batch();
    }

    /// Writes `"key":value,` for each field.
    pub(super) fn fields<'k>(&mut self, fields: impl IntoIterator<Item = (&'k str, Value)>) {
        for (key, value) in fields {
            self.string(key);
            self.raw(":");
            self.raw(&value.to_string());
            self.raw(",");
        }
    }

    /// Writes `"key":[…],`, with an item for each of `items`.
    pub(super) fn column<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.string(key);
        self.raw(":[");
        let mut is_first = true;
        for item in items {
            if !std::mem::take(&mut is_first) {
                self.buffer.push(b',');
            }
            write(self, item);
        }
        self.raw("],");
    }

    /// Writes a column of one constant.
    pub(super) fn constant(&mut self, key: &str, length: usize, value: &str) {
        self.column(key, 0..length, |json, _| json.raw(value));
    }

    /// Writes a column of integers, of which `None` is `null`.
    pub(super) fn optional(&mut self, key: &str, items: impl IntoIterator<Item = Option<u32>>) {
        self.column(key, items, |json, item| match item {
            Some(number) => json.integer(number.into()),
            None => json.raw("null"),
        });
    }

    /// Writes a column of integers.
    pub(super) fn integers(&mut self, key: &str, items: impl IntoIterator<Item = u32>) {
        self.column(key, items, |json, item| json.integer(item.into()));
    }

    /// Writes the last field of a table, and the end of the table.
    pub(super) fn length(&mut self, length: usize) {
        self.raw("\"length\":");
        self.integer(length as i64);
        self.raw("}");
    }

    /// Returns the gzip file.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.compress();
        self.gzip.finish().unwrap_or_default()
    }
}

/// Appends a string with its quotes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends a number whose last `digits` digits are decimals, without zeros at its end.
#[inline]
pub(super) fn decimal(out: &mut Vec<u8>, value: i64, digits: u32) {
    let (unit, size) = (10_u64.pow(digits), value.unsigned_abs());
    let (mut whole, mut rest) = (size / unit, size % unit);
    let mut text = [0; 24];
    let mut start = text.len();
    if rest > 0 {
        let mut left = digits;
        while rest.is_multiple_of(10) {
            rest /= 10;
            left -= 1;
        }
        for _ in 0..left {
            start -= 1;
            text[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        start -= 1;
        text[start] = b'.';
    }
    loop {
        start -= 1;
        text[start] = b'0' + (whole % 10) as u8;
        whole /= 10;
        if whole == 0 {
            break;
        }
    }
    if value < 0 {
        start -= 1;
        text[start] = b'-';
    }
    out.extend_from_slice(&text[start..]);
}
