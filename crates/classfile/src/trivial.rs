//! Detection of trivial methods: accessors and the like.

use crate::class::Method;
use crate::opcodes::*;
use crate::reader::i4_at;

const ACC_SYNCHRONIZED: u16 = 0x0020;
/// The maximum size of a trivial method in bytes: HotSpot inlines methods up to this size even if
/// they are rarely called (`MaxInlineSize`).
const SHORT: usize = 35;

impl Method<'_> {
    /// Returns true if the method is short and has no call, loop or monitor: each call of it
    /// executes only a few instructions.
    pub fn is_trivial(&self) -> bool {
        let Some(code) = &self.code else { return false };
        if code.bytes.len() > SHORT || self.access_flags() & ACC_SYNCHRONIZED != 0 {
            return false;
        }
        let mut pc = 0;
        while let Some(len) = length(code.bytes, pc) {
            if !goes_forward(code.bytes, pc) {
                return false;
            }
            pc += len;
        }
        pc == code.bytes.len()
    }

    /// Returns true if the method is a static initialiser without loops: each of its instructions
    /// runs at most once.
    pub(crate) fn runs_once(&self) -> bool {
        let Some(code) = &self.code else { return false };
        if self.name != b"<clinit>" {
            return false;
        }
        let mut pc = 0;
        while let Some(len) = length(code.bytes, pc) {
            if jumps_back(code.bytes, pc) {
                return false;
            }
            pc += len;
        }
        true
    }
}

/// Returns true if an instruction neither calls, locks, nor jumps back.
fn goes_forward(code: &[u8], pc: usize) -> bool {
    match code[pc] {
        INVOKEVIRTUAL..=INVOKEDYNAMIC | MONITORENTER | MONITOREXIT | JSR | JSR_W => false,
        _ => !jumps_back(code, pc),
    }
}

/// Returns true if the instruction may jump back.
fn jumps_back(code: &[u8], pc: usize) -> bool {
    let is_ahead = |target: Option<usize>| target.is_some_and(|target| target > pc);
    match code[pc] {
        RET => true,
        op if is_jump(op) => !is_ahead(jump_target(code, pc)),
        op if is_switch(op) => {
            let mut offsets = switch_offsets(code, pc);
            offsets.any(|at| !is_ahead(jump(code, pc, i4_at(code, at))))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_straight(code: &[u8]) -> bool {
        goes_forward(code, 0)
    }

    #[test]
    fn what_calls_locks_or_jumps_back() {
        for op in [
            INVOKEVIRTUAL,
            INVOKESPECIAL,
            INVOKESTATIC,
            INVOKEINTERFACE,
            INVOKEDYNAMIC,
            MONITORENTER,
            MONITOREXIT,
            JSR,
            RET,
        ] {
            assert!(!is_straight(&[op, 0, 3, 0, 0]), "{op}");
        }
        for op in [ICONST_0, GETFIELD, PUTSTATIC, NEW, ATHROW, RETURN] {
            assert!(is_straight(&[op, 0, 3]), "{op}");
        }
        assert!(is_straight(&[GOTO, 0, 3, RETURN]));
        assert!(!is_straight(&[GOTO, 0, 0, RETURN]), "to itself");
        assert!(!goes_forward(&[NOP, IFNULL, 0xff, 0xff, RETURN], 1));
        assert!(!is_straight(&[GOTO, 0, 9, RETURN]), "out of the code");
    }

    #[test]
    fn switches_may_jump_back() {
        let table = |default: u8, first: u8| {
            let offset = |to: u8| if to == 0 { [0xff; 4] } else { [0, 0, 0, to] };
            let mut code = vec![NOP, TABLESWITCH, 0, 0];
            code.extend(offset(default));
            code.extend([0; 8]);
            code.extend(offset(first));
            code.push(RETURN);
            code
        };
        assert!(goes_forward(&table(19, 19), 1));
        assert!(!goes_forward(&table(0, 19), 1));
        assert!(!goes_forward(&table(19, 0), 1));
    }
}
