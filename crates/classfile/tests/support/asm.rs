//! A small class-file assembler, for classes that no compiler generates.

use std::collections::HashMap;

/// The opcodes that the tests use, by their names in the specification.
pub mod op {
    pub const NOP: u8 = 0;
    pub const ACONST_NULL: u8 = 1;
    pub const ICONST_0: u8 = 3;
    pub const ICONST_1: u8 = 4;
    pub const ICONST_2: u8 = 5;
    pub const BIPUSH: u8 = 16;
    pub const ILOAD_0: u8 = 26;
    pub const ILOAD_1: u8 = 27;
    pub const ALOAD_0: u8 = 42;
    pub const ALOAD_1: u8 = 43;
    pub const ISTORE_0: u8 = 59;
    pub const ISTORE_1: u8 = 60;
    pub const ASTORE_0: u8 = 75;
    pub const ASTORE_1: u8 = 76;
    pub const ASTORE_2: u8 = 77;
    pub const POP: u8 = 87;
    pub const DUP: u8 = 89;
    pub const IADD: u8 = 96;
    pub const IINC: u8 = 132;
    pub const IFEQ: u8 = 153;
    pub const IFNE: u8 = 154;
    pub const IFLT: u8 = 155;
    pub const IFGE: u8 = 156;
    pub const IFGT: u8 = 157;
    pub const GOTO: u8 = 167;
    pub const JSR: u8 = 168;
    pub const RET: u8 = 169;
    pub const IRETURN: u8 = 172;
    pub const ARETURN: u8 = 176;
    pub const RETURN: u8 = 177;
    pub const INVOKEVIRTUAL: u8 = 182;
    pub const INVOKESPECIAL: u8 = 183;
    pub const INVOKESTATIC: u8 = 184;
    pub const NEW: u8 = 187;
    pub const ATHROW: u8 = 191;
    pub const MONITORENTER: u8 = 194;
    pub const MONITOREXIT: u8 = 195;
    pub const WIDE: u8 = 196;
    pub const GOTO_W: u8 = 200;
    pub const JSR_W: u8 = 201;
}

pub const PUBLIC: u16 = 1;
pub const STATIC: u16 = 8;

/// A class under construction.
pub struct ClassAsm {
    major: u16,
    pool: Vec<u8>,
    count: usize,
    known: HashMap<Vec<u8>, u16>,
    this: u16,
    super_class: u16,
    methods: Vec<u8>,
    method_count: u16,
}

impl ClassAsm {
    pub fn new(major: u16, name: &str, super_name: &str) -> ClassAsm {
        let mut class = ClassAsm {
            major,
            pool: Vec::new(),
            count: 1,
            known: HashMap::new(),
            this: 0,
            super_class: 0,
            methods: Vec::new(),
            method_count: 0,
        };
        class.this = class.class(name);
        class.super_class = class.class(super_name);
        class
    }

    fn entry(&mut self, bytes: Vec<u8>) -> u16 {
        if let Some(&index) = self.known.get(&bytes) {
            return index;
        }
        let index = self.count as u16;
        self.count += 1;
        assert!(self.count <= 65_535);
        self.pool.extend(&bytes);
        self.known.insert(bytes, index);
        index
    }

    /// Returns one more than the highest pool index.
    pub fn pool_count(&self) -> usize {
        self.count
    }

    pub fn utf8(&mut self, text: &str) -> u16 {
        self.entry(
            [
                &[1][..],
                &(text.len() as u16).to_be_bytes(),
                text.as_bytes(),
            ]
            .concat(),
        )
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.entry([&[7][..], &name.to_be_bytes()].concat())
    }

    pub fn int(&mut self, value: i32) -> u16 {
        self.entry([&[3][..], &value.to_be_bytes()].concat())
    }

    pub fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let (class, name, descriptor) = (self.class(class), self.utf8(name), self.utf8(descriptor));
        let name_and_type =
            self.entry([&[12][..], &name.to_be_bytes(), &descriptor.to_be_bytes()].concat());
        self.entry(
            [
                &[10][..],
                &class.to_be_bytes(),
                &name_and_type.to_be_bytes(),
            ]
            .concat(),
        )
    }

    /// Adds a method; `None` for one without code.
    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, code: Option<CodeAsm>) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let code = code.map(|code| code.finish(self));
        for field in [access, name, descriptor, u16::from(code.is_some())] {
            self.methods.extend(field.to_be_bytes());
        }
        if let Some(code) = code {
            let attribute = self.utf8("Code");
            self.methods.extend(attribute.to_be_bytes());
            self.methods.extend((code.len() as u32).to_be_bytes());
            self.methods.extend(code);
        }
        self.method_count += 1;
    }

    pub fn finish(self) -> Vec<u8> {
        let mut out = vec![
            0xca,
            0xfe,
            0xba,
            0xbe,
            0,
            if self.major == 45 { 3 } else { 0 },
        ];
        out.extend(self.major.to_be_bytes());
        out.extend((self.count as u16).to_be_bytes());
        out.extend(&self.pool);
        for field in [
            PUBLIC | 0x20,
            self.this,
            self.super_class,
            0,
            0,
            self.method_count,
        ] {
            out.extend(field.to_be_bytes());
        }
        out.extend(&self.methods);
        out.extend([0, 0]);
        out
    }
}

/// A position in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(usize);

/// A verification type in a frame.
#[derive(Clone, Copy, Debug)]
pub enum Vt {
    Top,
    Int,
    Null,
    UninitThis,
    /// The class, by its index in the pool.
    Object(u16),
    /// The position of the `new` instruction.
    Uninit(Label),
}

enum Fix {
    Narrow,
    Wide,
}

/// The code of a method under construction.
pub struct CodeAsm {
    pub max_stack: u16,
    pub max_locals: u16,
    pub bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Unresolved offsets: the position, the pc that the offset is relative to, and the target.
    fixes: Vec<(usize, usize, Label, Fix)>,
    exceptions: Vec<(Label, Label, Label, u16)>,
    frames: Vec<(Label, Vec<Vt>, Vec<Vt>)>,
    /// Additional attributes, already encoded.
    pub attributes: Vec<(String, Vec<u8>)>,
}

impl CodeAsm {
    pub fn new(max_stack: u16, max_locals: u16) -> CodeAsm {
        CodeAsm {
            max_stack,
            max_locals,
            bytes: Vec::new(),
            labels: Vec::new(),
            fixes: Vec::new(),
            exceptions: Vec::new(),
            frames: Vec::new(),
            attributes: Vec::new(),
        }
    }

    pub fn op(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// Appends an instruction with a 16-bit operand.
    pub fn op2(&mut self, op: u8, operand: u16) -> &mut Self {
        self.bytes.push(op);
        self.bytes.extend(operand.to_be_bytes());
        self
    }

    pub fn nops(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, op::NOP);
        self
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Creates a label at the current position.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    pub fn place(&mut self, label: Label) -> &mut Self {
        self.labels[label.0] = Some(self.bytes.len());
        self
    }

    /// Places a label, with a frame of these locals and stack.
    pub fn frame(&mut self, label: Label, locals: &[Vt], stack: &[Vt]) -> &mut Self {
        self.place(label);
        self.frames.push((label, locals.to_vec(), stack.to_vec()));
        self
    }

    pub fn jump(&mut self, op: u8, target: Label) -> &mut Self {
        let at = self.bytes.len();
        let fix = if op >= op::GOTO_W {
            Fix::Wide
        } else {
            Fix::Narrow
        };
        self.bytes.push(op);
        self.bytes
            .resize(at + if op >= op::GOTO_W { 5 } else { 3 }, 0);
        self.fixes.push((at + 1, at, target, fix));
        self
    }

    fn switch_offset(&mut self, at: usize, target: Label) {
        self.fixes.push((self.bytes.len(), at, target, Fix::Wide));
        self.bytes.extend([0; 4]);
    }

    /// Appends a `tableswitch` from `low` on. Its padding is not zero, which is allowed.
    pub fn tableswitch(&mut self, low: i32, targets: &[Label], default: Label) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.push(170);
        self.bytes.resize((at + 4) & !3, 0x55);
        self.switch_offset(at, default);
        self.bytes.extend(low.to_be_bytes());
        self.bytes
            .extend((low + targets.len() as i32 - 1).to_be_bytes());
        targets
            .iter()
            .for_each(|&target| self.switch_offset(at, target));
        self
    }

    pub fn lookupswitch(&mut self, pairs: &[(i32, Label)], default: Label) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.push(171);
        self.bytes.resize((at + 4) & !3, 0);
        self.switch_offset(at, default);
        self.bytes.extend((pairs.len() as u32).to_be_bytes());
        for &(key, target) in pairs {
            self.bytes.extend(key.to_be_bytes());
            self.switch_offset(at, target);
        }
        self
    }

    /// Adds an entry to the exception table; `catch` is a class in the pool, or 0.
    pub fn catch(&mut self, start: Label, end: Label, handler: Label, catch: u16) -> &mut Self {
        self.exceptions.push((start, end, handler, catch));
        self
    }

    fn pc(&self, label: Label) -> u16 {
        self.labels[label.0].expect("label without a place") as u16
    }

    fn finish(mut self, class: &mut ClassAsm) -> Vec<u8> {
        for (at, from, target, fix) in std::mem::take(&mut self.fixes) {
            let offset = i32::from(self.pc(target)) - from as i32;
            match fix {
                Fix::Narrow => {
                    let offset = i16::try_from(offset).expect("a jump that does not reach");
                    self.bytes[at..at + 2].copy_from_slice(&offset.to_be_bytes());
                }
                Fix::Wide => self.bytes[at..at + 4].copy_from_slice(&offset.to_be_bytes()),
            }
        }
        let mut out = Vec::new();
        out.extend(self.max_stack.to_be_bytes());
        out.extend(self.max_locals.to_be_bytes());
        out.extend((self.bytes.len() as u32).to_be_bytes());
        out.extend(&self.bytes);
        out.extend((self.exceptions.len() as u16).to_be_bytes());
        for &(start, end, handler, catch) in &self.exceptions {
            for field in [self.pc(start), self.pc(end), self.pc(handler), catch] {
                out.extend(field.to_be_bytes());
            }
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        if attributes.is_empty() {
            attributes.push(("LineNumberTable".into(), self.line_table()));
        }
        if !self.frames.is_empty() && class.major >= 50 {
            attributes.push(("StackMapTable".into(), self.stack_map_table()));
        }
        out.extend((attributes.len() as u16).to_be_bytes());
        for (name, body) in attributes {
            out.extend(class.utf8(&name).to_be_bytes());
            out.extend((body.len() as u32).to_be_bytes());
            out.extend(body);
        }
        out
    }

    /// Returns a line table with a line at the beginning and one at each label; a few twice.
    fn line_table(&self) -> Vec<u8> {
        let end = self.bytes.len() as u16;
        let pcs = self.labels.iter().flatten().map(|&pc| pc as u16);
        let pcs = std::iter::once(0).chain(pcs.filter(|&pc| pc < end));
        let rows: Vec<[u16; 2]> = pcs
            .zip(1..)
            .collect::<Vec<_>>()
            .into_iter()
            .map(Into::into)
            .collect();
        let mut table = (rows.len() as u16).to_be_bytes().to_vec();
        table.extend(rows.iter().flatten().flat_map(|field| field.to_be_bytes()));
        table
    }

    fn stack_map_table(&self) -> Vec<u8> {
        let mut frames: Vec<_> = self
            .frames
            .iter()
            .map(|(label, l, s)| (self.pc(*label), l, s))
            .collect();
        frames.sort_by_key(|frame| frame.0);
        frames.dedup_by_key(|frame| frame.0);
        let mut out = (frames.len() as u16).to_be_bytes().to_vec();
        let mut last = -1;
        for (pc, locals, stack) in frames {
            out.push(255);
            out.extend(((i32::from(pc) - last - 1) as u16).to_be_bytes());
            last = i32::from(pc);
            for types in [locals, stack] {
                out.extend((types.len() as u16).to_be_bytes());
                for vt in types {
                    match *vt {
                        Vt::Top => out.push(0),
                        Vt::Int => out.push(1),
                        Vt::Null => out.push(5),
                        Vt::UninitThis => out.push(6),
                        Vt::Object(class) => out.extend([&[7][..], &class.to_be_bytes()].concat()),
                        Vt::Uninit(new) => {
                            out.extend([&[8][..], &self.pc(new).to_be_bytes()].concat())
                        }
                    }
                }
            }
        }
        out
    }
}
