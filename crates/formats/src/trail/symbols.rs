//! The kinds of events in a segment, as small numbers.
//!
//! While a segment is filled, each event becomes a *step*: the number of a method, and whether the
//! call ends. When the segment is packed, each different kind of step in it gets a *symbol*, in the
//! order of first occurrence. Each step then becomes a *token*: its symbol, or [`LEAVE`].

use super::value::put_signed;
use crate::hash::Seed;
use jtrail_model::{ClassId, MethodId, MethodIds};
use std::collections::HashMap;

/// The token of a step in which the innermost call ends.
pub(super) const LEAVE: u32 = 0;
/// Maximum number of symbols of a segment, which bounds a reader's memory.
pub(super) const MAX_SYMBOLS: usize = 1 << 19;

/// The meaning of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// A call of the method `method` of the class `class` begins.
    Enter { method: u64, class: u64 },
    /// The innermost call ends by an exception.
    LeaveByException,
    /// A record with this code.
    Record(u8),
}

/// Returns the meaning of `symbol`. `symbols` are the meanings of the segment's symbols in order.
/// Returns `None` for [`LEAVE`] and for an undefined symbol.
#[inline(always)]
pub(super) fn meaning(symbols: &[Symbol], symbol: u32) -> Option<Symbol> {
    let at = (symbol as usize).wrapping_sub(1);
    symbols.get(at).copied()
}

/// Method numbers from here on are encoder numbers, which the encoder assigns. Smaller numbers are
/// program numbers, which come with runs of calls.
const FIRST_ENCODER_NUMBER: u32 = 1 << 30;
/// The first encoder numbers stand for steps that do not begin a call. The last of these stands for
/// a leave by exception, each other one for a record with that code.
const CODES: u32 = 256;
const LEAVE_BY_EXCEPTION: u32 = CODES - 1;

/// An event of a segment that is being filled: twice the number of a method, plus one if the call
/// ends.
pub(super) type Step = u32;

/// Returns the step for a record with the code `code`.
pub(super) fn record_step(code: u8) -> Step {
    (FIRST_ENCODER_NUMBER | u32::from(code)) << 1
}

/// The step in which the innermost call ends by an exception.
pub(super) const EXCEPTION_STEP: Step = (FIRST_ENCODER_NUMBER | LEAVE_BY_EXCEPTION) << 1;

/// The methods that steps refer to.
#[derive(Default)]
pub(super) struct Methods {
    /// Methods by program number, if the encoder gets runs of calls.
    program: Option<MethodIds>,
    /// Methods by encoder number.
    own: MethodIds,
    numbers: HashMap<(u64, u64), u32, Seed>,
    /// Number and class of each method with a small id, to look them up without a hash.
    dense: Vec<(u32, u64)>,
}

/// Methods with smaller ids are looked up without a hash.
const DENSE: u64 = 1 << 20;

/// If there are more encoder numbers than this, they are assigned from scratch. A program may
/// define classes as long as it executes.
const MAX_OWN: usize = 1 << 16;

/// A copy of the methods for the thread that packs a segment.
#[derive(Clone, Default)]
pub(super) struct MethodNames {
    program: Option<MethodIds>,
    own: MethodIds,
}

impl Methods {
    /// Sets the ids that the program numbers in runs stand for, unless they are set already.
    #[inline]
    pub(super) fn name_by(&mut self, program: &MethodIds) {
        if self.program.is_none() {
            self.program = Some(program.clone());
        }
    }

    /// Returns the number of a method in an event.
    #[inline]
    pub(super) fn number(&mut self, method: MethodId, class: ClassId) -> u32 {
        match self.dense.get(method.0 as usize) {
            Some(&(number, of)) if number != 0 && of == class.0 => number,
            _ => self.other_number(method, class),
        }
    }

    #[cold]
    fn other_number(&mut self, method: MethodId, class: ClassId) -> u32 {
        let next = FIRST_ENCODER_NUMBER + CODES + self.numbers.len() as u32;
        let number = *self.numbers.entry((method.0, class.0)).or_insert(next);
        if number == next {
            self.own
                .give(next - FIRST_ENCODER_NUMBER - CODES, (method, class));
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

    /// Returns true if `number` stands for this method.
    #[inline]
    pub(super) fn is(&self, number: u32, method: MethodId, class: ClassId) -> bool {
        match self.dense.get(method.0 as usize) {
            Some(&(known, of)) if known == number && of == class.0 => true,
            _ => self.ids(number) == (method, class),
        }
    }

    /// Returns the ids of the method with the number `number`.
    pub(super) fn ids(&self, number: u32) -> (MethodId, ClassId) {
        match number.checked_sub(FIRST_ENCODER_NUMBER + CODES) {
            Some(own) => self.own.get(own),
            None => self
                .program
                .as_ref()
                .map(|program| program.get(number))
                .unwrap_or_default(),
        }
    }

    /// Returns true if encoder numbers should be assigned from scratch.
    pub(super) fn should_renumber(&self) -> bool {
        self.numbers.len() > MAX_OWN
    }

    /// Returns the new number of a method that has the number `number` in `former`.
    pub(super) fn renumber(&mut self, former: &Self, number: u32) -> u32 {
        match number.checked_sub(FIRST_ENCODER_NUMBER) {
            None => number,
            Some(_) => {
                let (method, class) = former.ids(number);
                self.number(method, class)
            }
        }
    }

    /// Takes the program numbers over from `former`, because they stay valid.
    pub(super) fn keep_program(&mut self, former: Self) {
        self.program = former.program;
    }

    pub(super) fn named(&self) -> MethodNames {
        MethodNames {
            program: self.program.clone(),
            own: self.own.clone(),
        }
    }
}

impl MethodNames {
    fn symbol(&self, number: u32) -> Symbol {
        let ids = match number.checked_sub(FIRST_ENCODER_NUMBER) {
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

/// Larger tables are freed after each segment.
const LARGE: usize = 1 << 21;

/// Number of steps that are processed together.
const ROW: usize = 64;

/// Bit that marks a valid token in a table. A step without this bit has no token in the table, or
/// ends a call.
const VALID: u16 = 1 << 15;
/// Larger tokens do not fit into the tables.
const MAX_TOKEN: u32 = VALID as u32 - 1;

/// Assigns symbols to steps.
#[derive(Default)]
pub(super) struct Symbols {
    /// Tokens by step, for program numbers and for encoder numbers.
    program: Vec<u16>,
    own: Vec<u16>,
    /// Tokens greater than [`MAX_TOKEN`], by number.
    large: HashMap<u32, u32, Seed>,
    /// Numbers that have a token in one of the tables.
    used: Vec<u32>,
    /// Tokens by method and class. Used only if the segment has both program numbers and encoder
    /// numbers, because a method may then have two numbers.
    by_ids: HashMap<(u64, u64), u32, Seed>,
    /// First element: true if the segment has methods with program numbers. Second element: true
    /// if it has methods with encoder numbers.
    has: [bool; 2],
    /// Method and class of the last symbol.
    last: (u64, u64),
    /// Tokens found so far, with or without [`VALID`].
    tokens: Vec<u16>,
    /// All tokens, if one of them is greater than [`MAX_TOKEN`].
    wide: Vec<u32>,
}

impl Symbols {
    /// Appends the meanings of the symbols to `symbols`, and the tokens of the steps to `tokens`.
    pub(super) fn put(
        &mut self,
        steps: &[Step],
        named: &MethodNames,
        symbols: &mut Vec<u8>,
        tokens: &mut Vec<u8>,
    ) {
        let mut count = 0;
        self.last = (0, 0);
        self.tokens.clear();
        self.wide.clear();
        self.tokens.reserve(steps.len());
        for row in steps.chunks(ROW) {
            let begin = self.tokens.len();
            let has_runs = named.program.is_some();
            if count > MAX_TOKEN - ROW as u32 {
                self.give(row, named, &mut count, symbols);
            } else if !(has_runs && self.find(row)) {
                self.tokens.resize(begin + row.len(), 0);
                self.fill(begin, row, named, &mut count, symbols);
            }
        }
        let found = self.tokens.iter().map(|token| token & !VALID);
        let wide = self.wide.iter();
        match width(count as usize) {
            1 => tokens.extend(found.map(|token| token as u8)),
            2 if wide.len() == 0 => tokens.extend(found.flat_map(u16::to_le_bytes)),
            2 => tokens.extend(wide.flat_map(|token| (*token as u16).to_le_bytes())),
            _ => tokens.extend(wide.flat_map(|token| token.to_le_bytes())),
        }
        for number in self.used.drain(..) {
            let (table, at) = place(number, &mut self.program, &mut self.own);
            table[at] = 0;
        }
        self.by_ids.clear();
        self.has = [false; 2];
        for table in [&mut self.program, &mut self.own] {
            if table.len() > LARGE {
                *table = Vec::new();
            }
        }
        if !self.wide.is_empty() {
            self.wide = Vec::new();
            self.large = HashMap::default();
        }
    }

    /// Appends the tokens of some steps from the table of program numbers. Returns true if the
    /// table has all of them.
    #[inline]
    fn find(&mut self, steps: &[Step]) -> bool {
        let table = &self.program[..];
        let mut all = VALID;
        self.tokens.extend(steps.iter().map(|step| {
            let token = table.get(*step as usize).copied().unwrap_or_default();
            // The low bit of a step marks the end of a call.
            all &= token | (*step as u16) << 15;
            token
        }));
        all == VALID
    }

    /// Assigns symbols to those of the steps that have none. `begin` is the index of the first
    /// step's token.
    fn fill(
        &mut self,
        begin: usize,
        steps: &[Step],
        named: &MethodNames,
        count: &mut u32,
        out: &mut Vec<u8>,
    ) {
        for (at, step) in (begin..).zip(steps) {
            if step & 1 == 0 && self.tokens[at] & VALID == 0 {
                self.tokens[at] = self.symbol(step >> 1, named, count, out) as u16;
            }
        }
    }

    /// Appends the tokens of some steps, some of which may be greater than [`MAX_TOKEN`].
    #[cold]
    fn give(&mut self, steps: &[Step], named: &MethodNames, count: &mut u32, out: &mut Vec<u8>) {
        for step in steps {
            let token = match step & 1 {
                0 => self.symbol(step >> 1, named, count, out),
                _ => LEAVE,
            };
            if token > MAX_TOKEN && self.wide.is_empty() {
                let found = self.tokens.iter().map(|token| token & !VALID);
                self.wide.extend(found.map(u32::from));
            }
            match self.wide.is_empty() {
                true => self.tokens.push(token as u16),
                false => self.wide.push(token),
            }
        }
    }

    /// Returns the symbol of a number, and assigns one if necessary.
    fn symbol(
        &mut self,
        number: u32,
        named: &MethodNames,
        count: &mut u32,
        out: &mut Vec<u8>,
    ) -> u32 {
        match self.known(number) {
            Some(token) => token,
            None => self.name(number, named, count, out),
        }
    }

    /// Returns the symbol of a number, if it has one.
    fn known(&mut self, number: u32) -> Option<u32> {
        let (table, at) = place(number, &mut self.program, &mut self.own);
        match table.get(at) {
            Some(&token) if token != 0 => Some((token & !VALID).into()),
            _ => self.large.get(&number).copied(),
        }
    }

    /// Assigns a symbol to a number that has none in this segment, and returns it.
    #[cold]
    fn name(
        &mut self,
        number: u32,
        named: &MethodNames,
        count: &mut u32,
        out: &mut Vec<u8>,
    ) -> u32 {
        let symbol = named.symbol(number);
        let next = *count + 1;
        let token = match symbol {
            Symbol::Enter { method, class } => {
                let ids = (method, class);
                self.has[usize::from(number >= FIRST_ENCODER_NUMBER)] = true;
                let has_both = self.has == [true; 2];
                if has_both && self.by_ids.is_empty() {
                    self.add_named(named);
                }
                match self.by_ids.get(&ids) {
                    Some(token) => *token,
                    None => {
                        if has_both {
                            self.by_ids.insert(ids, next);
                        }
                        out.push(0);
                        put_signed(method.wrapping_sub(self.last.0) as i64, out);
                        put_signed(class.wrapping_sub(self.last.1) as i64, out);
                        self.last = ids;
                        next
                    }
                }
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
        if token > MAX_TOKEN {
            self.large.insert(number, token);
            return token;
        }
        let (table, at) = place(number, &mut self.program, &mut self.own);
        if table.len() <= at {
            // A new zeroed table takes physical memory only for the pages that are written to.
            let mut larger = vec![0; (at + 2).next_power_of_two()];
            larger[..table.len()].copy_from_slice(table);
            *table = larger;
        }
        table[at] = VALID | token as u16;
        self.used.push(number);
        token
    }

    /// Adds the methods that have tokens so far to the table by ids.
    fn add_named(&mut self, named: &MethodNames) {
        let numbers = self.used.iter().chain(self.large.keys());
        for number in numbers.copied().collect::<Vec<_>>() {
            if let Symbol::Enter { method, class } = named.symbol(number) {
                let token = self.known(number).unwrap_or(LEAVE);
                self.by_ids.insert((method, class), token);
            }
        }
    }
}

/// Returns the table that holds the token of a number, and the index in it.
fn place<'t>(
    number: u32,
    program: &'t mut Vec<u16>,
    own: &'t mut Vec<u16>,
) -> (&'t mut Vec<u16>, usize) {
    match number.checked_sub(FIRST_ENCODER_NUMBER) {
        None => (program, 2 * number as usize),
        Some(number) => (own, 2 * number as usize),
    }
}

/// Returns the size of a token, in bytes, if the segment has `symbols` symbols.
pub(super) fn width(symbols: usize) -> usize {
    match symbols {
        ..0x100 => 1,
        0x100..0x1_0000 => 2,
        _ => 4,
    }
}

/// Reads tokens of `width` bytes each. Returns `None` if the last one is truncated.
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
        let counts = [3, 255, 256, 32_700, 32_767, 32_768, 40_000, 65_535, 65_536];
        let (program, mut methods) = (MethodIds::default(), Methods::default());
        methods.name_by(&program);
        let mut packer = Symbols::default();
        for (count, wide) in counts.into_iter().zip([1, 1, 2, 2, 2, 2, 2, 2, 4]) {
            for runs in [false, true] {
                let numbers = (2..count).map(|id| match runs {
                    true => {
                        let number = id as u32 * 3;
                        program.give(number, (MethodId(id), ClassId(id / 9)));
                        number
                    }
                    false => methods.number(MethodId(id), ClassId(id / 9)),
                });
                let each = numbers.flat_map(|number| [number << 1, number << 1 | 1]);
                // Each step occurs twice, so that some are already known.
                let each: Vec<Step> = each.collect();
                let first = [3, record_step(18), EXCEPTION_STEP];
                let steps = [&first[..], &each, &each].concat();
                let (mut symbols, mut bytes) = (Vec::new(), Vec::new());
                packer.put(&steps, &methods.named(), &mut symbols, &mut bytes);
                let mut read = Vec::new();
                tokens(&bytes, wide, &mut read).expect("whole");
                let each = (3..=count as u32).flat_map(|symbol| [symbol, LEAVE]);
                let each: Vec<u32> = each.collect();
                let expected = [&[LEAVE, 1, 2][..], &each, &each].concat();
                assert!(read == expected, "{count}");
                assert_eq!(symbols[..2], [18, u8::MAX]);
            }
        }
        assert_eq!(tokens(&[1, 2, 3], 2, &mut Vec::new()), None);
    }

    /// Runs refer to methods by program numbers, and single events by ids.
    #[test]
    fn a_method_has_one_symbol_whoever_reports_it() {
        let program = MethodIds::default();
        let mut methods = Methods::default();
        methods.name_by(&program);
        for number in 1..=40_000 {
            program.give(number, (MethodId(number.into()), ClassId(5)));
        }
        let mut own = |id| methods.number(MethodId(id), ClassId(5)) << 1;
        let (first, last, other) = (own(1), own(40_000), own(50_000));
        let mut packer = Symbols::default();
        for (runs, width, from) in [(1, 1, 1), (40_000, 2, 40_000)] {
            for is_first in [true, false] {
                let mut steps: Vec<Step> = (1..=runs).map(|number| number << 1).collect();
                let mut expected: Vec<u32> = (1..=runs).collect();
                let beside = [first, other, first, other, 2, 3];
                let tokens_beside = |first| [first, from + 1, first, from + 1, first, LEAVE];
                if is_first {
                    steps.splice(0..0, [first]);
                    expected.splice(0..0, [1]);
                }
                steps.extend(beside);
                expected.extend(tokens_beside(1));
                if runs == 40_000 {
                    steps.extend([last, 80_000]);
                    expected.extend([40_000, 40_000]);
                }
                let (mut symbols, mut bytes) = (Vec::new(), Vec::new());
                packer.put(&steps, &methods.named(), &mut symbols, &mut bytes);
                let mut read = Vec::new();
                tokens(&bytes, width, &mut read).expect("whole");
                assert!(read == expected, "{runs} {is_first}");
            }
        }
    }
}
