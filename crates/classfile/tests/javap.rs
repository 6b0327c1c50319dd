//! Checks every table that holds pcs against the JDK's own disassembler. `javap` lists a class
//! before and after the rewrite, and the two listings are matched instruction by instruction. Each
//! row must have moved with its instruction.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Jdk, RECORDER, class_files, java_sources, run};
use jtrail_classfile::{
    Allocation, Class, Handler, LineProbe, Method, NoProbe, Probes, instrument,
};

/// An instruction of a listing. Its jump targets are separate from its text.
#[derive(Debug)]
struct Instruction {
    pc: usize,
    text: String,
    targets: Vec<usize>,
    hook: Option<String>,
    comment: String,
}

impl Instruction {
    /// Returns the number that the instruction pushes, if it pushes a constant.
    fn pushes(&self) -> Option<i32> {
        let (op, operand) = self.text.split_once(' ')?;
        match op {
            "bipush" | "sipush" => operand.parse().ok(),
            _ => self.comment.strip_prefix("int ")?.parse().ok(),
        }
    }
}

/// Calls of JDK methods that create objects, as in javap's comments: class, method and hook. In the
/// method's own class, the comment has no class.
const ALLOCATING_METHODS: [(&str, &str, &str); 4] = [
    (
        "java/util/Arrays.",
        "copyOf:([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;",
        "callAllocated",
    ),
    (
        "java/util/Arrays.",
        "copyOfRange:([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;",
        "callAllocated",
    ),
    (
        "java/lang/reflect/Array.",
        "newInstance:(Ljava/lang/Class;I)Ljava/lang/Object;",
        "callAllocated",
    ),
    (
        "java/lang/reflect/Array.",
        "newInstance:(Ljava/lang/Class;[I)Ljava/lang/Object;",
        "multiAllocated",
    ),
];

impl Instruction {
    /// Returns the hook after a call that creates an object.
    fn call_hook(&self) -> Option<&'static str> {
        let op = self.text.split(' ').next()?;
        let method = self.comment.strip_prefix("Method ")?;
        if let Some(class) = method.strip_suffix(".clone:()Ljava/lang/Object;") {
            let is_objects = op == "invokespecial" && class == "java/lang/Object";
            return (is_objects || class.starts_with("\"[")).then_some("callAllocated");
        }
        let maker = ALLOCATING_METHODS.iter().find(|(class, name, _)| {
            op == "invokestatic" && method.strip_prefix(class).unwrap_or(method) == *name
        });
        maker.map(|(.., hook)| *hook)
    }
}

impl Listing {
    /// Returns true if the objects that the method creates are reported at its calls.
    fn is_allocating_method(&self) -> bool {
        let name = &self.name;
        name.contains(" copyOf(U[], int, java.lang.Class")
            || name.contains(" copyOfRange(U[], int, int, java.lang.Class")
    }

    /// Returns true if the method is short, and neither calls, locks, nor jumps back.
    fn is_trivial(&self) -> bool {
        let last = self.code.last().unwrap();
        // The last instruction is a return, an `athrow`, or a `goto`.
        let size = last.pc + if last.targets.is_empty() { 1 } else { 3 };
        let goes_on = |i: &Instruction| {
            let op = i.text.split(' ').next().unwrap();
            let calls_or_locks = op.starts_with("invoke") || op.starts_with("monitor");
            !calls_or_locks
                && !op.starts_with("jsr")
                && op != "ret"
                && i.targets.iter().all(|to| *to > i.pc)
        };
        size <= 35 && !self.name.contains("synchronized ") && self.code.iter().all(goes_on)
    }
}

/// A method of a listing: its code, and the lines of each table below the code.
#[derive(Default, Debug)]
struct Listing {
    name: String,
    code: Vec<Instruction>,
    tables: BTreeMap<String, Vec<String>>,
}

/// Splits the output of `javap -v -p` into the methods with code.
fn listings(text: &str) -> Vec<Listing> {
    let mut methods: Vec<Listing> = Vec::new();
    let (mut section, mut name) = (String::new(), String::new());
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        match indent {
            0..=4 if line == "Code:" => {
                methods.push(Listing {
                    name: name.clone(),
                    ..Listing::default()
                });
                section = "Code".into();
            }
            0..=4 => {
                section.clear();
                if indent == 2 {
                    name = line.to_string();
                }
            }
            6 if is_header(&section, line) => {
                section = line.split(':').next().unwrap().to_string();
                methods
                    .last_mut()
                    .unwrap()
                    .tables
                    .insert(section.clone(), Vec::new());
            }
            _ if section == "Code" && !line.starts_with("stack=") => {
                code_line(line, methods.last_mut().unwrap())
            }
            _ if section.is_empty() => {}
            _ => {
                if let Some(rows) = methods.last_mut().unwrap().tables.get_mut(&section) {
                    rows.push(line.to_string());
                }
            }
        }
    }
    methods
}

/// Returns true if the line is the title of a table. A pc of four digits has the same indentation.
fn is_header(section: &str, line: &str) -> bool {
    !section.is_empty() && line.starts_with(|c: char| c.is_ascii_uppercase()) && line.contains(':')
}

fn code_line(line: &str, method: &mut Listing) {
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    let Some((head, rest)) = code.split_once(':') else {
        return;
    };
    let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    // The rows of a switch are enclosed in braces.
    let in_switch = method
        .code
        .last()
        .is_some_and(|last| last.text.ends_with('{'));
    if in_switch {
        let last = method.code.last_mut().unwrap();
        last.targets
            .push(rest.trim_end_matches(" }").parse().unwrap());
        if head == "default" {
            last.text.pop();
        } else {
            last.text
                .insert_str(last.text.len() - 1, &format!("{head} "));
        }
        return;
    }
    let hook = comment
        .trim()
        .strip_prefix("Method Recorder.")
        .and_then(|hook| match hook.split_once(':')? {
            ("take", _) => None,
            hook @ ("arrayAllocated", "(II)V")
            | hook @ ("multiAllocated" | "callAllocated", "(Ljava/lang/Object;I)V")
            | hook @ (_, "(I)V") => Some(hook.0.to_string()),
            hook => panic!("{hook:?}"),
        });
    let is_jump = ["if", "goto", "jsr"].iter().any(|op| rest.starts_with(op));
    let (text, targets) = match rest.rsplit_once(' ') {
        Some((op, target)) if is_jump => (op.to_string(), vec![target.parse().unwrap()]),
        _ => (rest, Vec::new()),
    };
    method.code.push(Instruction {
        pc: head.parse().unwrap(),
        text,
        targets,
        hook,
        comment: comment.trim().to_string(),
    });
}

/// The new positions of an old pc.
#[derive(Clone, Copy, Debug)]
struct Moved {
    before: usize,
    target: usize,
    instruction: usize,
}

/// The result of matching a method before and after the rewrite.
struct Match {
    places: BTreeMap<usize, Moved>,
    /// The pc ranges of the probes, with their hooks.
    probes: Vec<(String, usize, usize)>,
    handlers: Vec<usize>,
    /// The numbers of the line probes, with their old pcs.
    lines: Vec<(i32, usize)>,
    /// The numbers of the allocation probes.
    allocations: Vec<i32>,
}

/// The order of the probes at one pc.
const ORDER: [&str; 7] = [
    "enter",
    "superReturned",
    "caught",
    "line",
    "superCall",
    "leave",
    "leaveByException",
];

/// Matches the instructions of a method before and after the rewrite, one by one.
fn matched(old: &Listing, new: &Listing) -> Match {
    let mut m = Match {
        places: BTreeMap::new(),
        probes: Vec::new(),
        handlers: Vec::new(),
        lines: Vec::new(),
        allocations: Vec::new(),
    };
    let mut at = 0;
    let probes_from = |at: &mut usize, probes: &mut Vec<(String, usize, usize)>| {
        let first = probes.len();
        let rank = |hook: &str| ORDER.iter().position(|name| *name == hook);
        while let Some(hook) = new.code.get(*at + 1).and_then(|call| call.hook.clone()) {
            let last = probes[first..].last().map(|(hook, ..)| rank(hook));
            assert!(last < Some(rank(&hook)), "{}: {hook}", old.name);
            probes.push((hook, new.code[*at].pc, new.code[*at + 1].pc + 3));
            *at += 2;
        }
        first
    };
    for instruction in &old.code {
        let start = at;
        let first = probes_from(&mut at, &mut m.probes);
        for push in (start..at).step_by(2) {
            if new.code[push + 1].hook.as_deref() == Some("line") {
                let number = new.code[push].pushes().unwrap();
                m.lines.push((number, instruction.pc));
            }
        }
        let here = new
            .code
            .get(at)
            .unwrap_or_else(|| panic!("{}: {instruction:?} is missing", old.name))
            .pc;
        let leads = |hook: &str| matches!(hook, "caught" | "line" | "superCall" | "leave");
        let target = m.probes[first..]
            .iter()
            .find(|(hook, ..)| leads(hook))
            .map_or(here, |(_, start, _)| *start);
        let before = m.probes.get(first).map_or(here, |(_, start, _)| *start);
        m.places.insert(
            instruction.pc,
            Moved {
                before,
                target,
                instruction: here,
            },
        );
        at += 1;
        // The probe after an allocation.
        let op = instruction.text.split(' ').next().unwrap();
        let (hook, copies): (_, &[&str]) = match op {
            _ if old.is_allocating_method() => continue,
            "new" => ("allocated", &[]),
            "newarray" | "anewarray" => ("arrayAllocated", &["dup", "arraylength"]),
            "multianewarray" => ("multiAllocated", &["dup"]),
            _ => match instruction.call_hook() {
                Some(hook) => (hook, &["dup"]),
                None => continue,
            },
        };
        let start = new.code[at].pc;
        for copy in copies {
            assert_eq!(new.code[at].text, *copy, "{}", old.name);
            at += 1;
        }
        m.allocations.push(new.code[at].pushes().unwrap());
        let call = &new.code[at + 1];
        assert_eq!(call.hook.as_deref(), Some(hook), "{}", old.name);
        m.probes.push((hook.into(), start, call.pc + 3));
        at += 2;
    }
    // The end of the code has a position, too: the start of the added handlers, if there are any.
    let end = new.code.get(at).map_or(usize::MAX, |handler| handler.pc);
    m.places.insert(
        usize::MAX,
        Moved {
            before: end,
            target: end,
            instruction: end,
        },
    );
    while at < new.code.len() {
        let first = probes_from(&mut at, &mut m.probes);
        assert!(
            first < m.probes.len(),
            "{}: {:?} is new",
            old.name,
            new.code[at]
        );
        assert_eq!(m.probes[first].0, "leaveByException", "{}", new.name);
        assert_eq!(new.code[at].text, "athrow");
        m.handlers.push(m.probes[first].1);
        at += 1;
    }
    // All positions are known now: the instructions must be equal, and their jumps go to the same
    // targets.
    let new_code: BTreeMap<usize, &Instruction> = new.code.iter().map(|i| (i.pc, i)).collect();
    for instruction in &old.code {
        let moved = new_code[&m.places[&instruction.pc].instruction];
        assert_eq!(moved.text, instruction.text, "{}", old.name);
        let targets: Vec<usize> = instruction
            .targets
            .iter()
            .map(|pc| m.places[pc].target)
            .collect();
        assert_eq!(moved.targets, targets, "{}: {instruction:?}", old.name);
    }
    m
}

impl Match {
    fn place(&self, pc: usize) -> Moved {
        *self.places.get(&pc).unwrap_or(&self.places[&usize::MAX])
    }

    /// Returns the new start and length of a row.
    fn row(&self, start: usize, len: usize) -> (usize, usize) {
        let new_start = if start == 0 {
            0
        } else {
            self.place(start).target
        };
        let end = if start + len == 0 {
            0
        } else {
            self.place(start + len).before
        };
        // Without added handlers, the listing does not show the end; callers only look at the start
        // then.
        (new_start, end.saturating_sub(new_start))
    }

    fn line(&self, row: &str) -> String {
        let (line, pc) = row.split_once(": ").unwrap();
        let pc = pc.parse().unwrap();
        format!(
            "{line}: {}",
            if pc == 0 { 0 } else { self.place(pc).target }
        )
    }

    fn variable(&self, row: &str) -> (usize, usize, String) {
        let mut fields = row.split_whitespace();
        let mut number = || fields.next().unwrap().parse().unwrap();
        let (start, len) = (number(), number());
        (start, len, fields.collect::<Vec<_>>().join(" "))
    }
}

/// Replaces the number after `key` in a line.
fn replace(line: &str, key: &str, new: impl Fn(usize) -> usize) -> String {
    let Some((head, tail)) = line.split_once(key) else {
        return line.to_string();
    };
    let digits = tail.chars().take_while(char::is_ascii_digit).count();
    format!(
        "{head}{key}{}{}",
        new(tail[..digits].parse().unwrap()),
        &tail[digits..]
    )
}

fn number(line: &str, key: &str) -> usize {
    let tail = line.split_once(key).unwrap().1;
    tail[..tail.chars().take_while(char::is_ascii_digit).count()]
        .parse()
        .unwrap()
}

/// Returns the frames as pc and description, without kinds and deltas.
fn frames(rows: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut frames: Vec<(usize, Vec<String>)> = Vec::new();
    let mut last: i64 = -1;
    for row in rows {
        if let Some(kind) = row.strip_prefix("frame_type = ") {
            let tag: i64 = kind.split(' ').next().unwrap().parse().unwrap();
            // Short forms contain the delta; for the others, it follows.
            if tag < 128 {
                last += tag % 64 + 1;
            }
            let kind = kind.split(['*', ' ']).find(|word| word.len() > 3).unwrap();
            frames.push((
                last as usize,
                vec![kind.replace("_frame_extended", "").replace("_extended", "")],
            ));
        } else if let Some(delta) = row.strip_prefix("offset_delta = ") {
            last += delta.parse::<i64>().unwrap() + 1;
            frames.last_mut().unwrap().0 = last as usize;
        } else {
            frames.last_mut().unwrap().1.push(row.clone());
        }
    }
    frames
}

/// The rewriter's information about a method.
struct Numbers {
    is_trivial: bool,
    lines: Vec<LineProbe>,
    /// The text and comment of each allocation as printed by javap, its pc and its line.
    sites: Vec<(String, usize, u16)>,
    handlers: Vec<Handler>,
}

impl Numbers {
    fn of(class: &Class<'_>, method: &Method<'_>, lines: Vec<LineProbe>) -> Numbers {
        // javap puts the names of array classes in quotes.
        let quoted = |name: &str| match name.starts_with('[') {
            true => format!("class \"{name}\""),
            false => format!("class {name}"),
        };
        let text = |kind| match kind {
            Allocation::New { class } => format!("new {}", quoted(&class)),
            Allocation::Array { element } => {
                let primitive = [
                    "boolean", "char", "float", "double", "byte", "short", "int", "long",
                ];
                match "ZCFDBSIJ".find(&*element) {
                    Some(at) => format!("newarray {}", primitive[at]),
                    None => {
                        let name = element.strip_prefix('L').and_then(|e| e.strip_suffix(';'));
                        format!("anewarray {}", quoted(name.unwrap_or(&element)))
                    }
                }
            }
            Allocation::MultiArray { class, dimensions } => {
                format!("multianewarray {dimensions} {}", quoted(&class))
            }
            Allocation::Call { multi: false } => "callAllocated".to_string(),
            Allocation::Call { multi: true } => "multiAllocated".to_string(),
        };
        let sites = class.allocation_sites(method).into_iter();
        Numbers {
            is_trivial: method.is_trivial(),
            handlers: method.handlers(),
            lines,
            sites: sites
                .map(|site| (text(site.kind), site.pc.into(), site.line))
                .collect(),
        }
    }
}

/// The first number of the lines, and of the allocation sites, of each method in these tests.
const FIRST: u32 = 32_760;

/// Compares the numbers, lines and names of the probes with the listing.
fn check_numbers(old: &Listing, m: &Match, numbers: &Numbers) {
    let context = &old.name;
    let rows: Vec<(u16, usize)> = old
        .tables
        .get("LineNumberTable")
        .into_iter()
        .flatten()
        .map(|row| {
            let (line, pc) = row.strip_prefix("line ").unwrap().split_once(": ").unwrap();
            (line.parse().unwrap(), pc.parse().unwrap())
        })
        .collect();
    assert_eq!(numbers.lines.len(), rows.len(), "{context}");
    let mut expected = Vec::new();
    for ((k, probe), (_, pc)) in (0..).zip(&numbers.lines).zip(&rows) {
        match probe {
            LineProbe::Own(number) => {
                assert_eq!(*number, FIRST + k, "{context}");
                expected.push((*number as i32, *pc));
            }
            LineProbe::Shared(number) => {
                assert_eq!(rows[(number - FIRST) as usize].1, *pc, "{context}");
            }
            LineProbe::NoProbe(NoProbe::Monitor) => {
                let locks = |instruction: &Instruction| instruction.text == "monitorenter";
                assert!(old.code.iter().any(locks), "{context}");
            }
            LineProbe::NoProbe(why) => {
                assert_eq!(*why, NoProbe::Circle, "{context}");
                let covers = |row: &String| {
                    let fields: Vec<&str> = row.split_whitespace().collect();
                    let [from, to, handler] =
                        [0, 1, 2].map(|n| fields[n].parse::<usize>().unwrap());
                    (from..to).contains(pc) && handler <= *pc
                };
                let rows = &old.tables["Exception table"];
                assert!(rows.iter().skip(1).any(covers), "{context}");
            }
        }
    }
    let mut found = m.lines.clone();
    found.sort_unstable();
    assert_eq!(found, expected, "{context}");
    let sites: Vec<(String, usize, u16)> = old
        .code
        .iter()
        .filter(|_| !old.is_allocating_method())
        .filter_map(|instruction| {
            let (op, operand) = instruction.text.split_once(' ')?;
            let text = match op {
                "newarray" => instruction.text.clone(),
                "new" | "anewarray" => format!("{op} {}", instruction.comment),
                "multianewarray" => {
                    let (_, dimensions) = operand.split_once(", ").unwrap();
                    format!("{op} {dimensions} {}", instruction.comment)
                }
                _ => instruction.call_hook()?.to_string(),
            };
            let line = rows.iter().rfind(|(_, pc)| *pc <= instruction.pc);
            Some((text, instruction.pc, line.map_or(0, |row| row.0)))
        })
        .collect();
    assert_eq!(numbers.sites, sites, "{context}");
    let last = FIRST as i32 + sites.len() as i32;
    assert_eq!(
        m.allocations,
        (FIRST as i32..last).collect::<Vec<_>>(),
        "{context}"
    );
}

fn check(old: &Listing, new: &Listing, numbers: &Numbers) {
    let context = &old.name;
    let m = matched(old, new);
    check_numbers(old, &m, numbers);
    let known_end = !m.handlers.is_empty();
    let of =
        |listing: &Listing, table: &str| listing.tables.get(table).cloned().unwrap_or_default();
    // Lines.
    let lines: Vec<String> = of(old, "LineNumberTable")
        .iter()
        .map(|row| m.line(row))
        .collect();
    assert_eq!(of(new, "LineNumberTable"), lines, "{context}");
    // Variables.
    for table in ["LocalVariableTable", "LocalVariableTypeTable"] {
        for (old, new) in of(old, table).iter().zip(of(new, table)).skip(1) {
            let ((start, len, old), (new_start, new_len, new)) =
                (m.variable(old), m.variable(&new));
            assert_eq!(old, new, "{context}");
            let moved = m.row(start, len);
            assert_eq!(new_start, moved.0, "{context} {old}");
            assert!(
                new_len == moved.1 || !known_end,
                "{context} {old}: {new_len} {}",
                moved.1
            );
        }
        assert_eq!(of(old, table).len(), of(new, table).len());
    }
    // Exceptions: the old ones first, then the added ones.
    let entry = |row: &String| -> (Vec<usize>, String) {
        let fields: Vec<&str> = row.split_whitespace().collect();
        (
            fields[..3].iter().map(|pc| pc.parse().unwrap()).collect(),
            fields[3..].join(" "),
        )
    };
    let (old_entries, new_entries) = (of(old, "Exception table"), of(new, "Exception table"));
    let mut handlers: BTreeMap<u16, Handler> = BTreeMap::new();
    for (number, (pcs, class)) in old_entries.iter().skip(1).map(entry).enumerate() {
        let pc = pcs[2] as u16;
        let handler = handlers.entry(pc).or_insert(Handler {
            pc,
            entry: number as u16,
            takes_all: true,
        });
        handler.takes_all &= class == "any";
    }
    assert_eq!(
        numbers.handlers,
        handlers.into_values().collect::<Vec<_>>(),
        "{context}"
    );
    let mut ours = new_entries.iter().skip(1).map(entry);
    for (pcs, class) in old_entries.iter().skip(1).map(entry) {
        let mut start = m.place(pcs[0]).target;
        // A line probe at the start of a handler is not in this handler's range.
        if pcs[0] == pcs[2]
            && let Some((hook, _, end)) = m.probes.iter().find(|probe| probe.1 == start)
            && hook == "line"
        {
            start = *end;
        }
        let moved = vec![start, m.place(pcs[1]).before, m.place(pcs[2]).target];
        let (new_pcs, new_class) = ours.next().unwrap();
        assert!(
            new_pcs == moved || (!known_end && new_pcs[0] == moved[0]),
            "{context}: {new_pcs:?} {moved:?}"
        );
        assert_eq!(new_class, class);
    }
    let ours: Vec<Vec<usize>> = ours.map(|(pcs, _)| pcs).collect();
    assert!(
        ours.iter().all(|pcs| m.handlers.contains(&pcs[2])),
        "{context}"
    );
    assert_eq!(ours.is_empty(), m.handlers.is_empty(), "{context}");
    let covered = |pc: usize| ours.iter().any(|range| (range[0]..range[1]).contains(&pc));
    for (hook, start, end) in &m.probes {
        let outside = matches!(&**hook, "enter" | "leave" | "leaveByException");
        assert!(
            (*start..*end).all(|pc| covered(pc) != outside),
            "{context}: {hook} at {start}"
        );
    }
    for instruction in &new.code {
        assert!(
            !(covered(instruction.pc) && instruction.text.ends_with("return")),
            "{context}"
        );
    }
    let is_constructor =
        m.probes.iter().any(|(hook, ..)| hook.starts_with("super")) || m.handlers.len() > 1;
    for instruction in old
        .code
        .iter()
        .filter(|i| i.text.starts_with("invoke") && !is_constructor)
    {
        let is_call_of_object = instruction.text.starts_with("invokespecial");
        assert!(
            covered(m.place(instruction.pc).instruction) || is_call_of_object,
            "{context}: {instruction:?}"
        );
    }
    // Frames.
    let (old_frames, new_frames) = (
        frames(&of(old, "StackMapTable")),
        frames(&of(new, "StackMapTable")),
    );
    assert_eq!(
        new_frames.len(),
        old_frames.len() + m.handlers.len(),
        "{context}"
    );
    for ((pc, old), (new_pc, new)) in old_frames.iter().zip(&new_frames) {
        assert_eq!(*new_pc, m.place(*pc).target, "{context}");
        let moved = |row: &String| {
            let words = row.split("uninitialized ").enumerate().map(|(n, part)| {
                let digits = part.chars().take_while(char::is_ascii_digit).count();
                if n == 0 || digits == 0 {
                    return part.to_string();
                }
                let pc = part[..digits].parse().unwrap();
                format!("{}{}", m.place(pc).instruction, &part[digits..])
            });
            words.collect::<Vec<_>>().join("uninitialized ")
        };
        assert_eq!(*new, old.iter().map(moved).collect::<Vec<_>>(), "{context}");
    }
    let handlers: Vec<usize> = new_frames[old_frames.len()..]
        .iter()
        .map(|(pc, _)| *pc)
        .collect();
    assert_eq!(handlers, m.handlers, "{context}");
    // Type annotations.
    for table in [
        "RuntimeVisibleTypeAnnotations",
        "RuntimeInvisibleTypeAnnotations",
    ] {
        let moved = of(old, table).into_iter().map(|row| {
            let row = replace(&row, ", offset=", |pc| m.place(pc).instruction);
            if !row.contains("{start_pc=") {
                return row;
            }
            let (start, len) = m.row(number(&row, "start_pc="), number(&row, "length="));
            replace(&replace(&row, "start_pc=", |_| start), "length=", |_| len)
        });
        assert_eq!(of(new, table), moved.collect::<Vec<_>>(), "{context}");
    }
}

/// Disassembles all files before and after the rewrite. Returns the number of methods.
fn check_files(jdk: &Jdk, files: &[PathBuf]) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let mut new_files = Vec::new();
    let mut numbers = Vec::new();
    for (n, file) in files.iter().enumerate() {
        let bytes = fs::read(file).unwrap();
        let class = Class::parse(&bytes).unwrap();
        let rewritten = instrument(&class, &RECORDER, |index, _| Probes {
            calls: Some(index as u32 * 999),
            lines: Some(FIRST),
            allocations: Some(FIRST),
            ..Probes::NONE
        });
        let rewritten = rewritten.unwrap();
        for (index, outcome) in rewritten.outcomes {
            let method = &class.methods()[index];
            if method.has_code() {
                let lines = outcome.map(|inserted| inserted.lines).unwrap_or_default();
                numbers.push(Numbers::of(&class, method, lines));
            }
        }
        let new = dir.path().join(format!("{n}.class"));
        fs::write(&new, rewritten.bytes).unwrap();
        new_files.push(new);
    }
    let list = |files: &[PathBuf]| run(jdk.tool("javap").args(["-v", "-p"]).args(files));
    let (old, new) = (listings(&list(files)), listings(&list(&new_files)));
    assert_eq!(old.len(), new.len());
    assert_eq!(old.len(), numbers.len());
    let touched = old
        .iter()
        .zip(&new)
        .zip(&numbers)
        .filter(|((old, _), _)| !is_empty_finalizer(old));
    touched.for_each(|((old, new), numbers)| check(old, new, numbers));
    for (method, numbers) in old.iter().zip(&numbers) {
        assert_eq!(numbers.is_trivial, method.is_trivial(), "{}", method.name);
    }
    assert!(numbers.iter().any(|numbers| numbers.is_trivial));
    old.len()
}

fn is_empty_finalizer(method: &Listing) -> bool {
    method.name.contains(" finalize()") && method.code.len() == 1
}

#[test]
fn tables_of_compiled_sources() {
    for jdk in Jdk::few() {
        let dir = tempfile::tempdir().unwrap();
        for source in [
            "Annotated.java",
            "Samples.java",
            "Constructors.java",
            "Old.java",
            "Counted.java",
        ] {
            let sources = java_sources().display().to_string();
            jdk.compile(
                &java_sources().join(source),
                dir.path(),
                &["-g", "-nowarn", "-sourcepath", &sources],
            );
        }
        fs::remove_file(dir.path().join("Recorder.class")).unwrap();
        let methods = check_files(&jdk, &class_files(dir.path()));
        assert!(methods > 80, "{methods}");
    }
}

#[test]
fn tables_of_the_jdk() {
    for jdk in Jdk::few() {
        let util = jdk.classes().join("java.base/java/util");
        let files: Vec<PathBuf> = class_files(&util)
            .into_iter()
            .filter(|file| is_directly_in(file, &util))
            .collect();
        let methods = check_files(&jdk, &files);
        assert!(methods > 3000, "{methods}");
    }
}

fn is_directly_in(file: &Path, dir: &Path) -> bool {
    file.parent() == Some(dir)
}
