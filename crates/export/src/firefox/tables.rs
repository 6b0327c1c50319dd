//! The tables that all threads share: strings, functions, frames and stacks.

use super::categories::{Category, Kind};
use super::json::Json;
use jtrail_model::names::{Names, readable_signature};
use jtrail_model::{Frame, MethodId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Number of no stack: what is below the roots.
pub(super) const NO_STACK: u32 = u32::MAX;

/// The stack of a thread without an open call.
pub(super) const IDLE: u32 = 0;

/// Each text once, with its number.
#[derive(Debug, Default)]
pub(super) struct Strings {
    numbers: FxHashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Strings {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }
}

/// What a frame is a frame of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Function {
    Method(MethodId),
    /// A method whose name is the string with this number.
    Named(u32),
    /// No method. The number is that of the string.
    Label(u32),
}

/// A function that does something. Calls of a method have a frame for each thing that they do: run
/// code, be blocked, wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct FrameRow {
    function: u32,
    /// `None` if it runs code, so that its class decides.
    kind: Option<Kind>,
    line: Option<u32>,
}

#[derive(Debug)]
struct Stack {
    frame: u32,
    prefix: u32,
    /// The method and stack of the callee that was found last. It is often the next one to be
    /// looked up.
    recent: (MethodId, u32),
}

/// The shared tables.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) strings: Strings,
    functions: Vec<Function>,
    function_numbers: FxHashMap<Function, u32>,
    method_frames: FxHashMap<MethodId, u32>,
    frames: Vec<FrameRow>,
    frame_numbers: FxHashMap<FrameRow, u32>,
    stacks: Vec<Stack>,
    stack_numbers: FxHashMap<(u32, u32), u32>,
}

impl Default for Tables {
    fn default() -> Self {
        let mut tables = Self {
            strings: Strings::default(),
            functions: Vec::new(),
            function_numbers: FxHashMap::default(),
            method_frames: FxHashMap::default(),
            frames: Vec::new(),
            frame_numbers: FxHashMap::default(),
            stacks: Vec::new(),
            stack_numbers: FxHashMap::default(),
        };
        let idle = tables.label(NO_STACK, Kind::of(Category::Idle), "(no call)");
        debug_assert_eq!(idle, IDLE);
        tables
    }
}

impl Tables {
    /// Returns the stack of a call of a method in a call with the stack `caller`.
    #[inline]
    pub(super) fn call(&mut self, caller: u32, method: MethodId) -> u32 {
        match self.stacks.get(caller as usize) {
            Some(stack) if stack.recent.0 == method && stack.recent.1 != NO_STACK => stack.recent.1,
            _ => self.find_call(caller, method),
        }
    }

    fn find_call(&mut self, caller: u32, method: MethodId) -> u32 {
        let frame = match self.method_frames.get(&method) {
            Some(frame) => *frame,
            None => {
                let frame = self.frame(Function::Method(method), None, None);
                self.method_frames.insert(method, frame);
                frame
            }
        };
        let stack = self.stack(caller, frame);
        if let Some(caller) = self.stacks.get_mut(caller as usize) {
            caller.recent = (method, stack);
        }
        stack
    }

    /// Returns the stack of a call that does something else than to run code. Without a call, it is
    /// a root of this name.
    pub(super) fn state(&mut self, call: u32, kind: Kind, name: &str) -> u32 {
        match self.stacks.get(call as usize) {
            Some(stack) => {
                let (prefix, frame) = (stack.prefix, self.frames[stack.frame as usize]);
                let frame = self.frame_row(FrameRow {
                    kind: Some(kind),
                    ..frame
                });
                self.stack(prefix, frame)
            }
            None => self.label(NO_STACK, kind, name),
        }
    }

    /// Returns the stack of a frame that is no method.
    pub(super) fn label(&mut self, prefix: u32, kind: Kind, name: &str) -> u32 {
        let function = Function::Label(self.strings.number(name));
        let frame = self.frame(function, Some(kind), None);
        self.stack(prefix, frame)
    }

    /// Returns the stack of frames whose methods are texts, the innermost first.
    pub(super) fn text_stack(&mut self, frames: &[Frame<'_>]) -> u32 {
        let mut stack = NO_STACK;
        for frame in frames.iter().rev() {
            let function = Function::Named(self.strings.number(&readable(&frame.method)));
            let line = u32::try_from(frame.line).ok().filter(|line| *line > 0);
            let frame = self.frame(function, None, line);
            stack = self.stack(stack, frame);
        }
        stack
    }

    fn frame(&mut self, function: Function, kind: Option<Kind>, line: Option<u32>) -> u32 {
        let next = self.functions.len() as u32;
        let number = *self.function_numbers.entry(function).or_insert(next);
        if number == next {
            self.functions.push(function);
        }
        self.frame_row(FrameRow {
            function: number,
            kind,
            line,
        })
    }

    fn frame_row(&mut self, row: FrameRow) -> u32 {
        let next = self.frames.len() as u32;
        let number = *self.frame_numbers.entry(row).or_insert(next);
        if number == next {
            self.frames.push(row);
        }
        number
    }

    fn stack(&mut self, prefix: u32, frame: u32) -> u32 {
        let next = self.stacks.len() as u32;
        let number = *self.stack_numbers.entry((prefix, frame)).or_insert(next);
        if number == next {
            self.stacks.push(Stack {
                frame,
                prefix,
                recent: (MethodId::default(), NO_STACK),
            });
        }
        number
    }

    /// Writes `"shared":{…}`.
    pub(super) fn write(&mut self, names: &Names, json: &mut Json) {
        let mut packages = Packages::default();
        let functions = std::mem::take(&mut self.functions).into_iter();
        let functions = functions.map(|function| self.describe(names, &mut packages, function));
        let functions: Vec<_> = functions.collect();
        json.raw("\"shared\":{\"stackTable\":{");
        json.integers("frame", self.stacks.iter().map(|stack| stack.frame));
        let offset = |(number, stack): (usize, &Stack)| match stack.prefix {
            NO_STACK => 0,
            prefix => number as u32 - prefix,
        };
        json.integers("prefixOffset", self.stacks.iter().enumerate().map(offset));
        json.length(self.stacks.len());
        self.write_frames(&functions, json);
        write_functions(&functions, json);
        packages.write(json);
        json.raw(EMPTY_TABLES);
        json.column("stringArray", &self.strings.texts, |json, text| {
            json.string(text);
        });
        json.raw("\"sources\":{\"id\":[],\"filename\":[],\"startLine\":[],\"startColumn\":[],");
        json.raw("\"sourceMapURL\":[],\"content\":[],\"length\":0}}");
    }

    fn describe(
        &mut self,
        names: &Names,
        packages: &mut Packages,
        function: Function,
    ) -> Described {
        let text = match function {
            Function::Method(method) => names.readable_method(method),
            Function::Named(name) => self.strings.texts[name as usize].to_string(),
            Function::Label(name) => {
                return Described {
                    name,
                    package: None,
                    category: Category::Other,
                };
            }
        };
        let method = text.split_once('(').map_or("", |(method, _)| method);
        let class = method.rsplit_once('.').map_or("", |(class, _)| class);
        let package = class.rsplit_once('.').map_or("", |(package, _)| package);
        // The viewer shows the package after the name.
        let (name, package) = match package {
            "" => (text.as_str(), None),
            _ => {
                let number = packages.number(self.strings.number(package));
                (&text[package.len() + 1..], Some(number))
            }
        };
        Described {
            name: self.strings.number(name),
            package,
            category: Category::of_class(class),
        }
    }

    fn write_frames(&self, functions: &[Described], json: &mut Json) {
        let (rows, length) = (&self.frames, self.frames.len());
        let kinds = rows.iter().map(|row| {
            let category = functions[row.function as usize].category;
            row.kind.unwrap_or(Kind::of(category))
        });
        json.raw(",\"frameTable\":{");
        json.constant("address", length, "-1");
        json.constant("inlineDepth", length, "0");
        json.integers("category", kinds.clone().map(|kind| kind.category as u32));
        json.integers("subcategory", kinds.map(|kind| kind.subcategory));
        json.integers("func", rows.iter().map(|row| row.function));
        json.constant("nativeSymbol", length, "null");
        json.constant("innerWindowID", length, "0");
        json.optional("line", rows.iter().map(|row| row.line));
        json.constant("column", length, "null");
        json.constant("originalLocation", length, "null");
        json.length(length);
    }
}

/// A row of the table of functions.
struct Described {
    /// Number of the name.
    name: u32,
    /// Number of the package. `None` for no package.
    package: Option<u32>,
    category: Category,
}

fn write_functions(rows: &[Described], json: &mut Json) {
    let length = rows.len();
    json.raw(",\"funcTable\":{");
    json.integers("name", rows.iter().map(|row| row.name));
    json.constant("isJS", length, "false");
    json.constant("relevantForJS", length, "false");
    json.column("resource", rows, |json, row| {
        json.integer(row.package.map_or(-1, i64::from));
    });
    json.constant("source", length, "null");
    json.constant("lineNumber", length, "null");
    json.constant("columnNumber", length, "null");
    json.constant("originalLocation", length, "null");
    json.length(length);
}

/// The packages of the methods, which the format calls resources.
#[derive(Default)]
struct Packages {
    /// Numbers of the names.
    names: Vec<u32>,
    numbers: FxHashMap<u32, u32>,
}

impl Packages {
    fn number(&mut self, name: u32) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    fn write(&self, json: &mut Json) {
        let length = self.names.len();
        json.raw(",\"resourceTable\":{");
        json.constant("lib", length, "null");
        json.integers("name", self.names.iter().copied());
        json.constant("host", length, "null");
        json.constant("type", length, LIBRARY);
        json.length(length);
    }
}

/// The type of a resource that groups functions which are not JavaScript.
const LIBRARY: &str = "1";

/// Tables for native code and source maps.
const EMPTY_TABLES: &str = concat!(
    r#","nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0},"#,
    r#""sourceLocationTable":{"source":[],"line":[],"column":[],"length":0},"#
);

/// Returns a readable form of `class.method(descriptor)result`.
fn readable(method: &str) -> String {
    match method.find('(') {
        Some(at) => format!("{}{}", &method[..at], readable_signature(&method[at..])),
        None => method.to_owned(),
    }
}
