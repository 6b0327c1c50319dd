//! What happens in a segment, as small numbers.
//!
//! While a segment is filled, what happens is a *step*: the number of a method, and whether its call ends. As it is packed, each kind of step that it has
//! gets a *symbol*, by the order in which they come, and each step is a *token*: its symbol, or [`LEAVE`].

use super::value::put_signed;
use crate::hash::Seed;
use jtrail_model::{ClassId, MethodId, MethodIds};
use std::collections::HashMap;
use std::hint::select_unpredictable;

/// The token of a step by which the innermost call ends.
pub(super) const LEAVE: u32 = 0;
/// Most symbols of a segment, which bounds a reader's memory.
pub(super) const MOST_SYMBOLS: usize = 1 << 19;

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// A call of that method of that class begins.
    Enter { method: u64, class: u64 },
    /// The last call ends by an exception.
    LeaveByException,
    /// A record of that code.
    Record(u8),
}

/// What a symbol stands for, by those of the segment in their order; none for [`LEAVE`], and where there is no such symbol.
#[inline(always)]
pub(super) fn meaning(symbols: &[Symbol], symbol: u32) -> Option<Symbol> {
    let at = (symbol as usize).wrapping_sub(1);
    symbols.get(at).copied()
}

/// Numbers of methods from here on are an encoder's own, and those below are the program's.
const OWN: u32 = 1 << 30;
/// Own numbers up to here stand for what is no call that begins: a record of that code, or a leave by exception.
const CODES: u32 = 256;
const LEAVE_BY_EXCEPTION: u32 = CODES - 1;

/// A step, as a segment gathers it: an even number where a call begins, and the next one where it ends.
pub(super) type Step = u32;

/// A record of that code.
pub(super) fn record_step(code: u8) -> Step {
    (OWN | u32::from(code)) << 1
}

/// The innermost call ends by an exception.
pub(super) const EXCEPTION_STEP: Step = (OWN | LEAVE_BY_EXCEPTION) << 1;

/// The methods that steps name.
#[derive(Default)]
pub(super) struct Methods {
    /// By the numbers of the program, if it tells of runs.
    program: Option<MethodIds>,
    /// By the encoder's own.
    own: MethodIds,
    numbers: HashMap<(u64, u64), u32, Seed>,
    /// The number of each method with a small id, with its class, which is found without a hash.
    dense: Vec<(u32, u64)>,
}

/// Methods with smaller ids are found without a hash.
const DENSE: u64 = 1 << 20;

/// Own numbers are given anew when there are more: a program may make classes for as long as it runs.
const MOST_OWN: usize = 1 << 16;

/// A copy for who packs a segment.
#[derive(Clone, Default)]
pub(super) struct Named {
    program: Option<MethodIds>,
    own: MethodIds,
}

impl Methods {
    /// Steps of runs have these ids.
    #[inline]
    pub(super) fn name_by(&mut self, program: &MethodIds) {
        if self.program.is_none() {
            self.program = Some(program.clone());
        }
    }

    /// The number of a method that an event tells of.
    #[inline]
    pub(super) fn number(&mut self, method: MethodId, class: ClassId) -> u32 {
        match self.dense.get(method.0 as usize) {
            Some(&(number, of)) if number != 0 && of == class.0 => number,
            _ => self.other_number(method, class),
        }
    }

    #[cold]
    fn other_number(&mut self, method: MethodId, class: ClassId) -> u32 {
        let next = OWN + CODES + self.numbers.len() as u32;
        let number = *self.numbers.entry((method.0, class.0)).or_insert(next);
        if number == next {
            self.own.give(next - OWN - CODES, (method, class));
        }
        if method.0 < DENSE {
            let at = method.0 as usize;
            if self.dense.len() <= at {
                self.dense.resize((at + 1).next_power_of_two(), (0, 0));
            }
            self.dense[at] = (number, class.0);
        }
        number
    }

    /// Whether a number stands for that method.
    #[inline]
    pub(super) fn is(&self, number: u32, method: MethodId, class: ClassId) -> bool {
        match self.dense.get(method.0 as usize) {
            Some(&(known, of)) if known == number && of == class.0 => true,
            _ => self.ids(number) == (method, class),
        }
    }

    /// The ids of a number.
    pub(super) fn ids(&self, number: u32) -> (MethodId, ClassId) {
        match number.checked_sub(OWN + CODES) {
            Some(own) => self.own.get(own),
            None => self
                .program
                .as_ref()
                .map(|program| program.get(number))
                .unwrap_or_default(),
        }
    }

    /// Whether own numbers are to be given anew.
    pub(super) fn are_many(&self) -> bool {
        self.numbers.len() > MOST_OWN
    }

    /// The number of a method that had one in `former`.
    pub(super) fn number_anew(&mut self, former: &Self, number: u32) -> u32 {
        match number.checked_sub(OWN) {
            None => number,
            Some(_) => {
                let (method, class) = former.ids(number);
                self.number(method, class)
            }
        }
    }

    /// The program's numbers stay.
    pub(super) fn keep_program(&mut self, former: Self) {
        self.program = former.program;
    }

    pub(super) fn named(&self) -> Named {
        Named {
            program: self.program.clone(),
            own: self.own.clone(),
        }
    }
}

impl Named {
    fn symbol(&self, number: u32) -> Symbol {
        let ids = match number.checked_sub(OWN) {
            None => self.program.as_ref().map(|program| program.get(number)),
            Some(LEAVE_BY_EXCEPTION) => return Symbol::LeaveByException,
            Some(code @ ..CODES) => return Symbol::Record(code as u8),
            Some(own) => Some(self.own.get(own - CODES)),
        };
        let (method, class) = ids.unwrap_or_default();
        Symbol::Enter {
            method: method.0,
            class: class.0,
        }
    }
}

/// A table of more numbers is not kept from segment to segment.
const LARGE: usize = 1 << 20;

/// Steps that are looked at together.
const ROW: usize = 256;

/// Gives symbols to steps.
#[derive(Default)]
pub(super) struct Symbols {
    /// By the program's numbers, and by own ones; [`LEAVE`] where there is none yet.
    program: Vec<u32>,
    own: Vec<u32>,
    /// Numbers that have one.
    used: Vec<u32>,
    /// A method may have two numbers: the program's, and an own one.
    by_ids: HashMap<(u64, u64), u32, Seed>,
    /// The method of the last one, and its class.
    last: (u64, u64),
    tokens: Vec<u32>,
}

impl Symbols {
    /// Appends what symbols stand for, and the tokens of steps.
    pub(super) fn put(
        &mut self,
        steps: &[Step],
        named: &Named,
        symbols: &mut Vec<u8>,
        tokens: &mut Vec<u8>,
    ) {
        let mut count = 0;
        self.last = (0, 0);
        self.tokens.clear();
        self.tokens.reserve(steps.len());
        for part in steps.chunks(ROW) {
            let mut row = [LEAVE; ROW];
            if !self.find(part, &mut row) {
                for (token, step) in row.iter_mut().zip(part) {
                    if step & 1 == 0 && *token == LEAVE {
                        *token = self.symbol(step >> 1, named, &mut count, symbols);
                    }
                }
            }
            self.tokens.extend_from_slice(&row[..part.len()]);
        }
        match width(count as usize) {
            1 => tokens.extend(self.tokens.iter().map(|token| *token as u8)),
            2 => tokens.extend(
                self.tokens
                    .iter()
                    .flat_map(|token| (*token as u16).to_le_bytes()),
            ),
            _ => tokens.extend(self.tokens.iter().flat_map(|token| token.to_le_bytes())),
        }
        for number in self.used.drain(..) {
            match number.checked_sub(OWN) {
                None => self.program[number as usize] = LEAVE,
                Some(own) => self.own[own as usize] = LEAVE,
            }
        }
        self.by_ids.clear();
        if self.program.len() > LARGE {
            self.program = Vec::new();
        }
    }

    /// Finds the tokens of some steps; whether that is all of them.
    #[inline]
    fn find(&self, steps: &[Step], row: &mut [u32; ROW]) -> bool {
        // Bits that are set in any of them.
        let bits = steps.iter().fold(0, |all, step| all | step) >> 1;
        // An index that may be beyond the end is looked up with care.
        if bits as usize >= self.program.len() {
            return false;
        }
        let mut are_all = true;
        for (token, step) in row.iter_mut().zip(steps) {
            let symbol = self.program[(step >> 1) as usize];
            let ends = step & 1 != 0;
            *token = select_unpredictable(ends, LEAVE, symbol);
            are_all &= ends | (symbol != LEAVE);
        }
        are_all
    }

    /// The symbol of a number.
    fn symbol(&mut self, number: u32, named: &Named, count: &mut u32, out: &mut Vec<u8>) -> u32 {
        let known = match number.checked_sub(OWN) {
            None => self.program.get(number as usize),
            Some(own) => self.own.get(own as usize),
        };
        match known {
            Some(&symbol) if symbol != LEAVE => symbol,
            _ => self.name(number, named, count, out),
        }
    }

    /// The symbol of a number that had none in this segment.
    #[cold]
    fn name(&mut self, number: u32, named: &Named, count: &mut u32, out: &mut Vec<u8>) -> u32 {
        let symbol = named.symbol(number);
        let next = *count + 1;
        let token = match symbol {
            Symbol::Enter { method, class } => {
                let last = &mut self.last;
                *self.by_ids.entry((method, class)).or_insert_with(|| {
                    out.push(0);
                    put_signed(method.wrapping_sub(last.0) as i64, out);
                    put_signed(class.wrapping_sub(last.1) as i64, out);
                    *last = (method, class);
                    next
                })
            }
            Symbol::LeaveByException => {
                out.push(u8::MAX);
                next
            }
            Symbol::Record(code) => {
                out.push(code);
                next
            }
        };
        *count = token.max(*count);
        let (table, at) = match number.checked_sub(OWN) {
            None => (&mut self.program, number as usize),
            Some(own) => (&mut self.own, own as usize),
        };
        if table.len() <= at {
            // Only what is written to takes memory.
            let mut larger = vec![LEAVE; (at + 1).next_power_of_two()];
            larger[..table.len()].copy_from_slice(table);
            *table = larger;
        }
        table[at] = token;
        self.used.push(number);
        token
    }
}

/// Bytes of a token, where there are so many symbols.
pub(super) fn width(symbols: usize) -> usize {
    match symbols {
        ..0x100 => 1,
        0x100..0x1_0000 => 2,
        _ => 4,
    }
}

/// Reads tokens of so many bytes. `None` if the last one is cut.
pub(super) fn tokens(bytes: &[u8], width: usize, into: &mut Vec<u32>) -> Option<()> {
    into.clear();
    if !bytes.len().is_multiple_of(width) {
        return None;
    }
    match width {
        1 => into.extend(bytes.iter().map(|byte| u32::from(*byte))),
        2 => {
            let all = bytes.as_chunks().0.iter();
            into.extend(all.map(|two| u32::from(u16::from_le_bytes(*two))));
        }
        _ => {
            let all = bytes.as_chunks().0.iter();
            into.extend(all.map(|four| u32::from_le_bytes(*four)));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_as_wide_as_symbols_are_many() {
        let mut methods = Methods::default();
        for (count, wide) in [(3, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)] {
            let mut steps = vec![3, record_step(18), EXCEPTION_STEP];
            let numbers = (2..count).map(|id| methods.number(MethodId(id), ClassId(id / 9)));
            steps.extend(numbers.flat_map(|number| [number << 1, number << 1 | 1]));
            let (mut symbols, mut bytes) = (Vec::new(), Vec::new());
            Symbols::default().put(&steps, &methods.named(), &mut symbols, &mut bytes);
            let mut read = Vec::new();
            tokens(&bytes, wide, &mut read).expect("whole");
            let mut expected = vec![LEAVE, 1, 2];
            expected.extend((3..=count as u32).flat_map(|symbol| [symbol, LEAVE]));
            assert!(read == expected, "{count}");
            assert_eq!(symbols[..2], [18, u8::MAX]);
        }
        assert_eq!(tokens(&[1, 2, 3], 2, &mut Vec::new()), None);
    }

    /// Runs tell of methods by the program's numbers, and single events by ids.
    #[test]
    fn a_method_has_one_symbol_whoever_tells_of_it() {
        let program = MethodIds::default();
        program.give(40, (MethodId(7), ClassId(5)));
        let mut methods = Methods::default();
        methods.name_by(&program);
        let own = methods.number(MethodId(7), ClassId(5));
        assert_eq!(methods.ids(own), methods.ids(40));
        let mut packer = Symbols::default();
        for _ in 0..2 {
            let (mut symbols, mut bytes) = (Vec::new(), Vec::new());
            packer.put(
                &[80, own << 1, 81],
                &methods.named(),
                &mut symbols,
                &mut bytes,
            );
            assert_eq!(
                (&symbols[..], &bytes[..]),
                (&[0, 14, 10][..], &[1, 1, 0][..])
            );
        }
    }
}
