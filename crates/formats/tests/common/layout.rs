//! The fields of all messages by type. The table was written from the specification and
//! independently of the codec, so that table and codec check each other. It also serves to convert
//! a stream to big-endian.

/// Ids and fields of all messages: `s` text, `i` integer, `l` long, `t` time, `b` byte, `f` frames.
pub const MESSAGES: [(u16, &str, usize); 30] = [
    (1001, "s s s i t", 21),
    (1002, "s s i s t s", 22),
    (1003, "s s s s t s s", 20),
    (1004, "s t", 15),
    (1005, "s s t s", 17),
    (1006, "s t s", 16),
    (1007, "s s s s s s s", 13),
    (1008, "s s s", 9),
    (1009, "l l t s s l l s s s", 51),
    (1010, "l l t s s", 32),
    (1011, "l l t i s l l s s s l l s s i i i s s", 86),
    (1012, "s s b b b b s l l s l l l s s", 56),
    (1014, "l l t b l l l l l l l s s s", 90),
    (1015, "l l t l i l l t l l s s", 84),
    (1016, "l l t i t l l l l l s s s", 85),
    (1023, "l l t s s", 32),
    (1024, "l l t l l l l l s s", 72),
    (1027, "l l t l l l s s", 56),
    (1030, "l l t s s", 32),
    (1031, "l l t s s", 32),
    (1032, "l t l l f", 42),
    (1033, "l t l l f", 42),
    (1034, "l t l l f", 42),
    (1035, "l t l f", 34),
    (1036, "l l t t t t l", 62),
    (1037, "l l", 22),
    (1038, "l t s t", 31),
    (1039, "l l s", 23),
    (1040, "l l l", 30),
    (1041, "s", 7),
];

pub fn fields(id: u16) -> &'static str {
    let row = MESSAGES.iter().find(|row| row.0 == id);
    row.unwrap_or_else(|| panic!("message {id}")).1
}

/// Length of the stream's header and its two system messages, in bytes.
pub const HEAD: usize = 12 + 11 + 14;

/// Returns the messages of a little-endian stream, without the head.
pub fn messages(stream: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    let mut rest = &stream[HEAD..];
    while !rest.is_empty() {
        let size = u32::from_le_bytes(rest[2..6].try_into().unwrap()) as usize;
        messages.push(&rest[..size]);
        rest = &rest[size..];
    }
    messages
}

/// Converts a stream to big-endian, with times in ticks of another length.
pub fn big_endian(stream: &[u8], ticks: impl Fn(i64) -> i64, frequency: i64) -> Vec<u8> {
    let mut out = b"0TBF\x01\x00\x01\x00\x00\x00\x00\x0c".to_vec();
    out.extend_from_slice(b"\x00\x01\x00\x00\x00\x0bUTF8\x00\x00\x02\x00\x00\x00\x0e");
    out.extend_from_slice(&frequency.to_be_bytes());
    for message in messages(stream) {
        turn(message, &ticks, &mut out);
    }
    out
}

fn turn(message: &[u8], ticks: &impl Fn(i64) -> i64, out: &mut Vec<u8>) {
    let id = u16::from_le_bytes(message[..2].try_into().unwrap());
    out.extend_from_slice(&id.to_be_bytes());
    out.extend(message[2..6].iter().rev());
    let mut rest = &message[6..];
    let mut take = |length: usize| {
        let (head, tail) = rest.split_at(length);
        rest = tail;
        head
    };
    for field in fields(id).split(' ') {
        match field {
            "b" => out.extend_from_slice(take(1)),
            "i" => out.extend(take(4).iter().rev()),
            "l" => out.extend(take(8).iter().rev()),
            "t" => {
                let ns = i64::from_le_bytes(take(8).try_into().unwrap());
                out.extend_from_slice(&ticks(ns).to_be_bytes());
            }
            "s" => text(&mut take, out),
            _ => {
                let depth = u32::from_le_bytes(take(4).try_into().unwrap());
                out.extend_from_slice(&depth.to_be_bytes());
                (0..depth).for_each(|_| text(&mut take, out));
                (0..depth).for_each(|_| out.extend(take(8).iter().rev()));
            }
        }
    }
    assert!(
        rest.is_empty(),
        "message {id} has more fields than specified"
    );
}

fn text<'a>(take: &mut impl FnMut(usize) -> &'a [u8], out: &mut Vec<u8>) {
    loop {
        let byte = take(1)[0];
        out.push(byte);
        if byte == 0 {
            break;
        }
    }
}
