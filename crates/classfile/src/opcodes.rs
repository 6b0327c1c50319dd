//! The instruction set: lengths, properties, jump targets and stack effects.

use crate::reader::{i4_at, u2_at};

pub(crate) const NOP: u8 = 0;
pub(crate) const ICONST_0: u8 = 3;
pub(crate) const BIPUSH: u8 = 16;
pub(crate) const SIPUSH: u8 = 17;
pub(crate) const LDC: u8 = 18;
pub(crate) const LDC_W: u8 = 19;
pub(crate) const LDC2_W: u8 = 20;
pub(crate) const ALOAD: u8 = 25;
pub(crate) const ALOAD_0: u8 = 42;
pub(crate) const ALOAD_3: u8 = 45;
pub(crate) const ASTORE: u8 = 58;
pub(crate) const ASTORE_3: u8 = 78;
pub(crate) const POP: u8 = 87;
pub(crate) const DUP: u8 = 89;
pub(crate) const SWAP: u8 = 95;
pub(crate) const ISHL: u8 = 120;
pub(crate) const IXOR: u8 = 130;
pub(crate) const IINC: u8 = 132;
pub(crate) const IFEQ: u8 = 153;
pub(crate) const GOTO: u8 = 167;
pub(crate) const JSR: u8 = 168;
pub(crate) const RET: u8 = 169;
pub(crate) const TABLESWITCH: u8 = 170;
pub(crate) const LOOKUPSWITCH: u8 = 171;
pub(crate) const IRETURN: u8 = 172;
pub(crate) const RETURN: u8 = 177;
pub(crate) const GETSTATIC: u8 = 178;
pub(crate) const PUTSTATIC: u8 = 179;
pub(crate) const GETFIELD: u8 = 180;
pub(crate) const PUTFIELD: u8 = 181;
pub(crate) const INVOKEVIRTUAL: u8 = 182;
pub(crate) const INVOKESPECIAL: u8 = 183;
pub(crate) const INVOKESTATIC: u8 = 184;
pub(crate) const INVOKEINTERFACE: u8 = 185;
pub(crate) const INVOKEDYNAMIC: u8 = 186;
pub(crate) const NEW: u8 = 187;
pub(crate) const NEWARRAY: u8 = 188;
pub(crate) const ANEWARRAY: u8 = 189;
pub(crate) const ARRAYLENGTH: u8 = 190;
pub(crate) const ATHROW: u8 = 191;
pub(crate) const CHECKCAST: u8 = 192;
pub(crate) const INSTANCEOF: u8 = 193;
pub(crate) const MONITORENTER: u8 = 194;
pub(crate) const MONITOREXIT: u8 = 195;
pub(crate) const WIDE: u8 = 196;
pub(crate) const MULTIANEWARRAY: u8 = 197;
pub(crate) const IFNULL: u8 = 198;
pub(crate) const IFNONNULL: u8 = 199;
pub(crate) const GOTO_W: u8 = 200;
pub(crate) const JSR_W: u8 = 201;

/// Low bits of [`PROPERTIES`]: the instruction's length; 0 if it varies (`wide`, switches) or the
/// opcode is invalid.
pub(crate) const LENGTH: u8 = 0x07;
/// The instruction may throw, or the JVM may stop the thread there (jumps).
pub(crate) const MAY_THROW: u8 = 0x08;
/// The rewriter handles the instruction specially: returns, jumps and switches.
pub(crate) const SPECIAL: u8 = 0x10;
/// The instruction may run other Java code: calls, class initialisation and class loading.
pub(crate) const RUNS_JAVA: u8 = 0x20;
/// The instruction creates an object or an array.
pub(crate) const ALLOCATES: u8 = 0x40;

/// The length and properties of each opcode.
pub(crate) static PROPERTIES: [u8; 256] = properties();

const fn properties() -> [u8; 256] {
    let mut table = [0; 256];
    let mut op = 0;
    while op < 202 {
        let length = match op as u8 {
            BIPUSH | LDC | 21..=ALOAD | 54..=ASTORE | RET | NEWARRAY => 2,
            SIPUSH | LDC_W | LDC2_W | IINC | IFEQ..=JSR | GETSTATIC..=INVOKESTATIC => 3,
            NEW | ANEWARRAY | CHECKCAST | INSTANCEOF | IFNULL | IFNONNULL => 3,
            MULTIANEWARRAY => 4,
            INVOKEINTERFACE | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
            TABLESWITCH | LOOKUPSWITCH | WIDE => 0,
            _ => 1,
        };
        let throws = match op as u8 {
            0..=SIPUSH | 21..=45 | 54..=78 | 87..=107 | 110 | 111 | 114..=152 | RET | WIDE => 0,
            IRETURN..=RETURN => 0,
            _ => MAY_THROW,
        };
        let special = match op as u8 {
            IFEQ..=JSR | TABLESWITCH..=RETURN | IFNULL..=JSR_W => SPECIAL,
            _ => 0,
        };
        let runs = match op as u8 {
            GETSTATIC
            | PUTSTATIC
            | INVOKEVIRTUAL..=NEW
            | ANEWARRAY
            | CHECKCAST
            | INSTANCEOF
            | MULTIANEWARRAY => RUNS_JAVA,
            _ => 0,
        };
        let allocates = match op as u8 {
            NEW | NEWARRAY | ANEWARRAY | MULTIANEWARRAY => ALLOCATES,
            _ => 0,
        };
        table[op] = length | throws | special | runs | allocates;
        op += 1;
    }
    table
}

/// Returns the length of the instruction at `pc`; `None` if it is truncated or invalid.
#[inline]
pub(crate) fn length(code: &[u8], pc: usize) -> Option<usize> {
    let len = usize::from(PROPERTIES[usize::from(*code.get(pc)?)] & LENGTH);
    let len = if len == 0 {
        variable_length(code, pc)?
    } else {
        len
    };
    (len <= code.len() - pc).then_some(len)
}

fn variable_length(code: &[u8], pc: usize) -> Option<usize> {
    match code[pc] {
        WIDE => match *code.get(pc + 1)? {
            IINC => Some(6),
            21..=ALOAD | 54..=ASTORE | RET => Some(4),
            _ => None,
        },
        TABLESWITCH | LOOKUPSWITCH => {
            let head = switch_operands(pc);
            code.get(head..head + 8)?;
            let words = if code[pc] == LOOKUPSWITCH {
                2 + 2 * i64::from(i4_at(code, head + 4))
            } else {
                code.get(head..head + 12)?;
                3 + i64::from(i4_at(code, head + 8)) - i64::from(i4_at(code, head + 4)) + 1
            };
            // A lookupswitch may have no pairs, but a tableswitch has at least one target.
            let least = if code[pc] == LOOKUPSWITCH { 2 } else { 4 };
            let words = usize::try_from(words)
                .ok()
                .filter(|&n| n >= least && n <= code.len())?;
            Some(head - pc + 4 * words)
        }
        _ => None,
    }
}

/// Returns the position of the operands of the switch at `pc`, after the padding.
pub(crate) fn switch_operands(pc: usize) -> usize {
    (pc + 4) & !3
}

/// Returns the positions of the 32-bit jump offsets of the switch at `pc`, which [`length`] has
/// checked.
pub(crate) fn switch_offsets(code: &[u8], pc: usize) -> impl Iterator<Item = usize> {
    let head = switch_operands(pc);
    let (first, count, step) = if code[pc] == LOOKUPSWITCH {
        (head + 12, i4_at(code, head + 4) as usize, 8)
    } else {
        let (low, high) = (
            i64::from(i4_at(code, head + 4)),
            i64::from(i4_at(code, head + 8)),
        );
        (head + 12, (high - low + 1) as usize, 4)
    };
    std::iter::once(head).chain((0..count).map(move |n| first + n * step))
}

/// Returns `pc` plus a jump offset, if the sum is within the code.
pub(crate) fn jump(code: &[u8], pc: usize, offset: i32) -> Option<usize> {
    usize::try_from(pc as i64 + i64::from(offset))
        .ok()
        .filter(|&target| target < code.len())
}

/// Returns the target of a jump instruction other than a switch, if it is within the code.
pub(crate) fn jump_target(code: &[u8], pc: usize) -> Option<usize> {
    let offset = match code[pc] {
        GOTO_W | JSR_W => i4_at(code, pc + 1),
        _ => i32::from(u2_at(code, pc + 1) as i16),
    };
    jump(code, pc, offset)
}

pub(crate) fn is_jump(op: u8) -> bool {
    matches!(op, IFEQ..=JSR | IFNULL..=JSR_W)
}

pub(crate) fn is_return(op: u8) -> bool {
    matches!(op, IRETURN..=RETURN)
}

pub(crate) fn is_switch(op: u8) -> bool {
    matches!(op, TABLESWITCH | LOOKUPSWITCH)
}

/// Returns true for `invokevirtual`, `invokespecial` and `invokestatic`, but not for
/// `invokeinterface` and `invokedynamic`.
pub(crate) fn is_plain_call(op: u8) -> bool {
    matches!(op, INVOKEVIRTUAL..=INVOKESTATIC)
}

/// Returns true if the instruction never continues with the next one. This includes `jsr`: only a
/// `ret` continues after it.
pub(crate) fn ends_block(op: u8) -> bool {
    matches!(op, GOTO | JSR..=RETURN | ATHROW | GOTO_W | JSR_W)
}

/// Returns the numbers of stack slots that an instruction pops and pushes. `None` if they depend on
/// more than the opcode, or if a popped reference may be pushed again.
pub(crate) fn stack_effect(op: u8) -> Option<(u8, u8)> {
    Some(match op {
        0 | IINC | GOTO | RET | RETURN | GOTO_W => (0, 0),
        1..=8
        | 11..=13
        | 16..=19
        | 21
        | 23
        | 25
        | 26..=29
        | 34..=37
        | 42..=45
        | JSR
        | JSR_W
        | NEW => (0, 1),
        9 | 10 | 14 | 15 | LDC2_W | 22 | 24 | 30..=33 | 38..=41 => (0, 2),
        46 | 48 | 50..=53 => (2, 1),
        47 | 49 => (2, 2),
        54 | 56 | 58 | 59..=62 | 67..=70 | 75..=78 | POP => (1, 0),
        55 | 57 | 63..=66 | 71..=74 | 88 => (2, 0),
        79 | 81 | 83..=86 => (3, 0),
        80 | 82 => (4, 0),
        96 | 98 | 100 | 102 | 104 | 106 | 108 | 110 | 112 | 114 | 120 | 122 | 124 | 126 | 128
        | 130 => (2, 1),
        97 | 99 | 101 | 103 | 105 | 107 | 109 | 111 | 113 | 115 | 127 | 129 | 131 => (4, 2),
        121 | 123 | 125 => (3, 2),
        116 | 118 | 134 | 139 | 145..=147 => (1, 1),
        117 | 119 | 138 | 143 => (2, 2),
        133 | 135 | 140 | 141 => (1, 2),
        136 | 137 | 142 | 144 => (2, 1),
        148 | 151 | 152 => (4, 1),
        149 | 150 => (2, 1),
        153..=158
        | IFNULL
        | IFNONNULL
        | TABLESWITCH
        | LOOKUPSWITCH
        | 172
        | 174
        | 176
        | ATHROW
        | MONITORENTER
        | MONITOREXIT => (1, 0),
        159..=166 | 173 | 175 => (2, 0),
        NEWARRAY | ANEWARRAY | ARRAYLENGTH | CHECKCAST | INSTANCEOF => (1, 1),
        _ => return None,
    })
}

/// Returns the numbers of slots of a method descriptor's arguments and of its result.
pub(crate) fn call_slots(descriptor: &[u8]) -> Option<(u32, u32)> {
    let mut rest = descriptor.strip_prefix(b"(")?;
    let mut arguments = 0;
    while *rest.first()? != b')' {
        let (slots, len) = field_slots(rest)?;
        arguments += slots;
        rest = &rest[len..];
    }
    match &rest[1..] {
        b"V" => Some((arguments, 0)),
        result => Some((arguments, field_slots(result)?.0)),
    }
}

/// Returns the number of slots of the field descriptor at the start of `text`, and the descriptor's
/// length.
pub(crate) fn field_slots(text: &[u8]) -> Option<(u32, usize)> {
    let dimensions = text.iter().take_while(|&&b| b == b'[').count();
    let len = dimensions + 1;
    let slots = match text.get(dimensions)? {
        b'J' | b'D' if dimensions == 0 => 2,
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => 1,
        b'L' => {
            return Some((
                1,
                dimensions + text[dimensions..].iter().position(|&b| b == b';')? + 1,
            ));
        }
        _ => return None,
    };
    Some((slots, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let of = |code: &[u8]| length(code, 0);
        assert_eq!(of(&[0]), Some(1));
        assert_eq!(of(&[BIPUSH]), None);
        assert_eq!(of(&[BIPUSH, 0]), Some(2));
        assert_eq!(of(&[WIDE, IINC, 0, 0, 0, 0]), Some(6));
        assert_eq!(of(&[WIDE, ALOAD, 0, 0]), Some(4));
        assert_eq!(of(&[WIDE, GOTO, 0, 0]), None);
        assert_eq!(of(&[202]), None);
        let mut table = vec![TABLESWITCH, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6];
        assert_eq!(of(&table), None);
        table.extend([0; 8]);
        assert_eq!(of(&table), Some(24));
        assert_eq!(switch_offsets(&table, 0).collect::<Vec<_>>(), [4, 16, 20]);
        table[8..16].copy_from_slice(&[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(of(&table), None);
        table[8..16].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(of(&table), None, "low above high");
        let lookup = [0, LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(length(&lookup, 1), Some(11), "a lookupswitch may be empty");
        let negative = [0, LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(length(&negative, 1), None);
    }

    #[test]
    fn every_instruction_has_a_stack_effect_or_is_a_known_exception() {
        for op in 0..202u8 {
            let by_hand =
                matches!(op, DUP..=SWAP | GETSTATIC..=INVOKEDYNAMIC | WIDE | MULTIANEWARRAY);
            assert_eq!(stack_effect(op).is_none(), by_hand, "opcode {op}");
        }
    }

    #[test]
    fn descriptors() {
        assert_eq!(call_slots(b"()V"), Some((0, 0)));
        assert_eq!(call_slots(b"(IJ[D[[Ljava/lang/String;LX;)D"), Some((6, 2)));
        assert_eq!(call_slots(b"(V)V"), None);
        assert_eq!(call_slots(b"(Ljava"), None);
        assert_eq!(call_slots(b""), None);
        assert_eq!(call_slots(b"()"), None);
    }
}
