//! A second reader of the format: records as lists of fields, written from the specification alone.

/// The field's bytes. Numbers are little-endian.
pub(crate) type Field = Vec<u8>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) kind: u8,
    pub(crate) offset: usize,
    /// The fields. The ticks are the first field.
    pub(crate) fields: Vec<(char, Field)>,
}

impl Record {
    pub(crate) fn number(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        let field = &self.fields[at].1;
        bytes[..field.len()].copy_from_slice(field);
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn text(&self, at: usize) -> &str {
        std::str::from_utf8(&self.fields[at].1).unwrap()
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.number(0)
    }
}

/// Returns the types of the fields after the ticks: b, h, i, q are 1, 2, 4, 8 bytes, s is text.
fn layout(kind: u8) -> &'static str {
    match kind {
        0x04 => "hi",
        0x05 => "ihi",
        0x0a => "iihs",
        0x0b | 0x0c | 0x18 => "i",
        0x14 => "ih",
        0x15 => "ihi",
        0x16 => "bii",
        0x17 => "biii",
        0x1f => "qi",
        0x46 | 0x47 | 0x65 | 0x66 => "",
        0x4e => "s",
        0x5b => "ihhih",
        other => panic!("record type {other:#x}"),
    }
}

struct Source<'b> {
    bytes: &'b [u8],
    at: usize,
    fields: Vec<(char, Field)>,
}

impl Source<'_> {
    fn number(&mut self, kind: char) -> usize {
        let size = match kind {
            'b' => 1,
            'h' => 2,
            'i' => 4,
            _ => 8,
        };
        let field = self.bytes[self.at..self.at + size].to_vec();
        self.at += size;
        let value = field
            .iter()
            .rev()
            .fold(0_u64, |n, b| n << 8 | u64::from(*b));
        self.fields.push((kind, field));
        value as usize
    }

    fn text(&mut self) {
        let length = self.number('h');
        self.fields.pop();
        let text = self.bytes[self.at..self.at + length].to_vec();
        self.at += length;
        self.fields.push(('s', text));
    }

    fn members(&mut self) {
        for _ in 0..self.number('h') {
            self.text();
            self.text();
            self.number('h');
        }
    }
}

/// Returns all records of a little-endian file except END_FILE.
pub(crate) fn records(bytes: &[u8]) -> Vec<Record> {
    let mut at = 45;
    let mut records = Vec::new();
    while bytes[at] != 0x64 {
        let (kind, offset) = (bytes[at], at);
        let mut source = Source {
            bytes,
            at: at + 1,
            fields: Vec::new(),
        };
        source.number('q');
        if kind == 0x6e {
            source.number('h');
            source.number('h');
            source.text();
            source.members();
            source.members();
            source.number('h');
            for _ in 0..source.number('h') {
                source.number('h');
            }
        } else {
            for field in layout(kind).chars() {
                match field {
                    's' => source.text(),
                    field => drop(source.number(field)),
                }
            }
        }
        at = source.at;
        let fields = source.fields;
        records.push(Record {
            kind,
            offset,
            fields,
        });
    }
    assert_eq!(bytes[at..], [0x64, 0x49, 0x16, 0, 0, 0, 0, 0xde, 0xad]);
    records
}

/// Returns the file in the other byte order.
pub(crate) fn turned(bytes: &[u8], platform: u8) -> Vec<u8> {
    let mut out = bytes[..45].to_vec();
    out[5] = platform;
    for record in records(bytes) {
        out.push(record.kind);
        for (kind, field) in &record.fields {
            if *kind == 's' {
                out.extend_from_slice(&(field.len() as u16).to_be_bytes());
                out.extend_from_slice(field);
            } else {
                out.extend(field.iter().rev());
            }
        }
    }
    out.extend_from_slice(&[0x64, 0, 0, 0x16, 0x49, 0xad, 0xde, 0, 0]);
    out
}
