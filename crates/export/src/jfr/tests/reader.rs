//! A reader of recordings that knows types from the metadata only.

use std::collections::BTreeMap;

/// A chunk as it was read.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) start: i64,
    pub(super) length: i64,
    pub(super) is_final: bool,
    /// Events as `type field=value …`. Times count from the first tick of the recording.
    pub(super) events: Vec<String>,
    /// Constants by type and key, as texts.
    pub(super) constants: BTreeMap<(String, i64), String>,
}

/// A type in the metadata.
#[derive(Debug, Default)]
struct Type {
    name: String,
    is_simple: bool,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    class: i64,
    is_key: bool,
    is_array: bool,
}

#[derive(Debug)]
enum Value {
    Number(i64),
    Text(Option<String>),
    Key(i64, i64),
    Object(i64, Vec<Value>),
    List(Vec<Value>),
}

struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn integer(&mut self) -> i64 {
        let mut value = 0;
        for index in 0..9 {
            let byte = u64::from(self.byte());
            if index == 8 {
                return (value | byte << 56) as i64;
            }
            value |= (byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                break;
            }
        }
        value as i64
    }

    fn text(&mut self) -> Option<String> {
        match self.byte() {
            0 => None,
            1 => Some(String::new()),
            3 => {
                let len = self.integer() as usize;
                Some(String::from_utf8(self.take(len).to_vec()).expect("UTF-8"))
            }
            encoding => panic!("encoding {encoding}"),
        }
    }

    fn value(&mut self, types: &Types, class: i64) -> Value {
        match types[&class].name.as_str() {
            "java.lang.String" => Value::Text(self.text()),
            "boolean" => Value::Number(self.byte().into()),
            "int" | "long" => Value::Number(self.integer()),
            _ => {
                let fields = &types[&class].fields;
                let fields = fields.iter().map(|field| self.field(types, field));
                Value::Object(class, fields.collect())
            }
        }
    }

    fn field(&mut self, types: &Types, field: &Field) -> Value {
        if field.is_key {
            return Value::Key(field.class, self.integer());
        }
        if !field.is_array {
            return self.value(types, field.class);
        }
        let count = self.integer();
        let elements = (0..count).map(|_| self.value(types, field.class));
        Value::List(elements.collect())
    }
}

type Types = BTreeMap<i64, Type>;
type Pools = BTreeMap<(i64, i64), Value>;

/// Reads the chunks of a recording.
pub(super) fn read(mut recording: &[u8]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    while !recording.is_empty() {
        let size = big_endian(recording, 8) as usize;
        chunks.push(read_chunk(&recording[..size]));
        recording = &recording[size..];
    }
    chunks
}

fn big_endian(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn read_chunk(chunk: &[u8]) -> Chunk {
    assert_eq!(chunk[..8], *b"FLR\0\0\x02\0\x01");
    assert_eq!(big_endian(chunk, 56), 1_000_000_000, "ticks per second");
    let checkpoint = big_endian(chunk, 16) as usize;
    let types = read_metadata(&chunk[big_endian(chunk, 24) as usize..]);
    let pools = read_checkpoint(&types, &chunk[checkpoint..]);
    let mut read = Chunk {
        start: big_endian(chunk, 32),
        length: big_endian(chunk, 40),
        is_final: chunk[67] == 3,
        ..Chunk::default()
    };
    let constants = pools.iter().map(|(&(class, key), value)| {
        let type_name = types[&class].name.clone();
        ((type_name, key), render(&types, &pools, value))
    });
    read.constants = constants.collect();
    let mut events = &chunk[68..checkpoint];
    while !events.is_empty() {
        let size = Bytes(events).integer() as usize;
        let mut event = Bytes(&events[..size]);
        event.integer();
        let class = event.integer();
        let Value::Object(_, values) = event.value(&types, class) else {
            panic!("no event");
        };
        assert!(event.0.is_empty(), "the size of the event is wrong");
        let fields = types[&class].fields.iter().zip(values);
        let fields = fields.map(|(field, value)| {
            let value = render(&types, &pools, &value);
            format!(" {}={value}", field.name)
        });
        let line = types[&class].name.clone() + &fields.collect::<String>();
        read.events.push(line);
        events = &events[size..];
    }
    read
}

fn read_metadata(event: &[u8]) -> Types {
    let size = Bytes(event).integer() as usize;
    let mut bytes = Bytes(&event[..size]);
    let head: Vec<_> = (0..6).map(|_| bytes.integer()).collect();
    assert_eq!(head[1], 0, "metadata");
    let strings: Vec<_> = (0..head[5])
        .map(|_| bytes.text().expect("a text"))
        .collect();
    let mut types = Types::new();
    read_element(&mut bytes, &strings, (0, &mut types));
    assert!(bytes.0.is_empty());
    types
}

/// Reads an element and all in it. `owner` is the id of the type that it belongs to.
fn read_element(bytes: &mut Bytes<'_>, strings: &[String], (mut owner, types): (i64, &mut Types)) {
    let mut string = || strings[bytes.integer() as usize].clone();
    let name = string();
    let count = bytes.integer();
    let mut string = || strings[bytes.integer() as usize].clone();
    let attributes: BTreeMap<_, _> = (0..count).map(|_| (string(), string())).collect();
    let number = |key: &str| attributes[key].parse().expect("a number");
    let is_set = |key: &str| attributes.contains_key(key);
    match name.as_str() {
        "class" => {
            let class = Type {
                name: attributes["name"].clone(),
                is_simple: is_set("simpleType"),
                fields: Vec::new(),
            };
            owner = number("id");
            types.insert(owner, class);
        }
        "field" => {
            types.get_mut(&owner).expect("a type").fields.push(Field {
                name: attributes["name"].clone(),
                class: number("class"),
                is_key: is_set("constantPool"),
                is_array: is_set("dimension"),
            });
        }
        _ => {}
    }
    for _ in 0..bytes.integer() {
        read_element(bytes, strings, (owner, types));
    }
}

fn read_checkpoint(types: &Types, event: &[u8]) -> Pools {
    let size = Bytes(event).integer() as usize;
    let mut bytes = Bytes(&event[..size]);
    let head: Vec<_> = (0..5).map(|_| bytes.integer()).collect();
    assert_eq!((head[1], head[4]), (1, 0), "the only checkpoint");
    bytes.byte();
    let mut pools = Pools::new();
    for _ in 0..bytes.integer() {
        let (class, count) = (bytes.integer(), bytes.integer());
        assert!(count > 0, "an empty pool");
        for _ in 0..count {
            let key = bytes.integer();
            let value = bytes.value(types, class);
            assert!(pools.insert((class, key), value).is_none(), "a key twice");
        }
    }
    assert!(bytes.0.is_empty());
    pools
}

fn render(types: &Types, pools: &Pools, value: &Value) -> String {
    let render = |value: &Value| render(types, pools, value);
    match value {
        Value::Number(number) => number.to_string(),
        Value::Text(None) => "null".to_owned(),
        Value::Key(class, 0) if types[class].name != "jdk.types.FrameType" => "null".to_owned(),
        Value::Text(Some(text)) => text.clone(),
        Value::Key(class, key) => {
            let constant = pools.get(&(*class, *key));
            render(constant.unwrap_or_else(|| panic!("no {} {key}", types[class].name)))
        }
        Value::List(elements) => {
            let elements: Vec<_> = elements.iter().map(render).collect();
            elements.join(", ")
        }
        Value::Object(class, fields) => {
            let class = &types[class];
            let fields: Vec<_> = fields.iter().map(render).collect();
            match class.name.as_str() {
                _ if class.is_simple => fields[0].clone(),
                "java.lang.Class" => fields[1].clone(),
                "java.lang.Thread" => fields[2].clone(),
                "jdk.types.Method" => format!("{}.{}{}", fields[0], fields[1], fields[2]),
                "jdk.types.StackFrame" => {
                    let is_native = fields[1] == u32::MAX.to_string();
                    let kind = if is_native { "Native" } else { "Unknown" };
                    assert_eq!(fields[3], kind, "the type of the frame");
                    format!("{}:{}", fields[0], fields[1])
                }
                "jdk.types.StackTrace" if fields[0] == "1" => format!("[{}, …]", fields[1]),
                "jdk.types.StackTrace" => format!("[{}]", fields[1]),
                _ => format!("({})", fields.join(" ")),
            }
        }
    }
}
