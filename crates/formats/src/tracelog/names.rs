//! Names of classes and methods, in the form of the JVM and in source form.
//!
//! All text in source form is escaped as in quoted text. A class may be named like a primitive
//! type. In signatures and array types, the first character of its name is then escaped, so that
//! class and primitive type differ.

use super::value::{escape, escape_first, unescape};

const PRIMITIVES: [(&str, char); 9] = [
    ("void", 'V'),
    ("boolean", 'Z'),
    ("char", 'C'),
    ("float", 'F'),
    ("double", 'D'),
    ("byte", 'B'),
    ("short", 'S'),
    ("int", 'I'),
    ("long", 'J'),
];
/// Maximum number of dimensions of an array in a JVM.
const MAX_DIMENSIONS: usize = 255;

/// Returns the metadata token of a class for its internal id.
pub(super) fn class_token(iid: u32) -> u32 {
    0x0200_0000 | iid.wrapping_add(1) & 0xff_ffff
}

/// Returns the metadata token of a function for its index in its class.
pub(super) fn function_token(place: u32) -> u32 {
    0x0600_0000 | place & 0xff_ffff
}

fn primitive(letter: char) -> Option<&'static str> {
    let found = PRIMITIVES.iter().find(|(_, l)| *l == letter)?;
    Some(found.0)
}

fn letter(word: &str) -> Option<char> {
    let found = PRIMITIVES.iter().find(|(name, _)| *name == word)?;
    Some(found.1)
}

/// Splits the first type off a descriptor. Returns the type's dimensions, its class or letter, and
/// the rest of the descriptor.
fn split_type(text: &str) -> Option<(usize, Result<&str, char>, &str)> {
    let base = text.trim_start_matches('[');
    let dimensions = text.len() - base.len();
    let first = base.chars().next()?;
    if dimensions > MAX_DIMENSIONS {
        return None;
    }
    if first == 'L' {
        let (name, rest) = base[1..].split_once(';')?;
        return (!name.is_empty() && !name.contains('[')).then_some((dimensions, Ok(name), rest));
    }
    let void = first == 'V' && dimensions > 0;
    (primitive(first).is_some() && !void).then(|| (dimensions, Err(first), &base[1..]))
}

/// Appends the source form of a class name as in `Class.getName`: `[Ljava.lang.String;` becomes
/// `java.lang.String[]`.
pub(super) fn class_to_source(name: &str, out: &mut String) {
    match split_type(name) {
        Some((dimensions @ 1.., base, "")) => {
            match base {
                Ok(name) if letter(name).is_some() => escape_first(name, out),
                Ok(name) => escape(name, &[], out),
                Err(letter) => out.push_str(primitive(letter).unwrap_or_default()),
            }
            out.extend((0..dimensions).map(|_| "[]"));
        }
        _ => escape(name, &['['], out),
    }
}

/// Returns the name, as in `Class.getName`, of a class in source form.
pub(super) fn class_from_source(text: &str) -> String {
    let base = text.trim_end_matches("[]");
    let dimensions = (text.len() - base.len()) / 2;
    if dimensions == 0 || base.is_empty() {
        return unescape(text).into_owned();
    }
    let brackets = "[".repeat(dimensions);
    match letter(base) {
        Some(letter) => format!("{brackets}{letter}"),
        None => format!("{brackets}L{};", unescape(base)),
    }
}

/// Appends the first type of a descriptor in source form. Returns the rest of the descriptor.
fn type_to_source<'t>(text: &'t str, out: &mut String) -> Option<&'t str> {
    let (dimensions, base, rest) = split_type(text)?;
    match base {
        Ok(name) if letter(name).is_some() => escape_first(name, out),
        Ok(name) => {
            for (at, part) in name.split('/').enumerate() {
                if at > 0 {
                    out.push('.');
                }
                escape(part, &['.', ' ', '(', ')', ','], out);
            }
        }
        Err(letter) => out.push_str(primitive(letter)?),
    }
    out.extend((0..dimensions).map(|_| "[]"));
    Some(rest)
}

/// Returns the return type and the parameters of a descriptor in source form. If the text is not a
/// descriptor, the return type is empty and the parameters are the text itself.
pub(super) fn signature_to_source(descriptor: &str) -> (String, String) {
    types_to_source(descriptor).unwrap_or_else(|| {
        let mut raw = String::new();
        escape(descriptor, &[], &mut raw);
        (String::new(), raw)
    })
}

/// True if `text` is the descriptor of a method.
pub(super) fn is_descriptor(text: &str) -> bool {
    types_to_source(text).is_some()
}

fn types_to_source(descriptor: &str) -> Option<(String, String)> {
    let mut rest = descriptor.strip_prefix('(')?;
    let mut parameters = String::from("(");
    let result = loop {
        if let Some(result) = rest.strip_prefix(')') {
            break result;
        }
        if parameters.len() > 1 {
            parameters.push(',');
        }
        if rest.starts_with('V') {
            return None;
        }
        rest = type_to_source(rest, &mut parameters)?;
    };
    parameters.push(')');
    let mut returned = String::new();
    let rest = type_to_source(result, &mut returned)?;
    rest.is_empty().then_some((returned, parameters))
}

/// Returns the descriptor for a return type and parameters in source form.
pub(super) fn signature_from_source(returned: &str, parameters: &str) -> String {
    let list = parameters
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let (Some(list), false) = (list, returned.is_empty()) else {
        return unescape(parameters).into_owned();
    };
    let mut out = String::with_capacity(parameters.len() + returned.len() + 8);
    out.push('(');
    let types = list.split(',').map(|word| word.trim_matches(' '));
    types
        .filter(|word| !word.is_empty())
        .for_each(|word| type_from_source(word, &mut out));
    out.push(')');
    type_from_source(returned, &mut out);
    out
}

fn type_from_source(text: &str, out: &mut String) {
    let base = text.trim_end_matches("[]");
    let dimensions = (text.len() - base.len()) / 2;
    out.extend((0..dimensions).map(|_| '['));
    match letter(base) {
        Some(letter) => out.push(letter),
        None => {
            out.push('L');
            out.push_str(&unescape(&base.replace('.', "/")));
            out.push(';');
        }
    }
}

/// Appends the full name of a function: class in source form, dot, method.
pub(super) fn function_to_source(class: &str, method: &str, out: &mut String) {
    class_to_source(class, out);
    if !class.is_empty() {
        out.push('.');
    }
    escape(method, &['.'], out);
}

/// Returns the class, in source form, from the full name of a function.
pub(super) fn class_of_source(text: &str) -> &str {
    text.rsplit_once('.').map_or("", |(class, _)| class)
}

/// Returns the method's name from the full name of a function.
pub(super) fn method_from_source(text: &str) -> String {
    let name = text.rsplit_once('.').map_or(text, |(_, name)| name);
    unescape(name).into_owned()
}

/// Splits a frame's text `class.method(descriptor)result` into class, method and descriptor. The
/// result type is part of the descriptor. Joining the parts, with a dot after a nonempty class,
/// gives the text again.
pub(super) fn frame_parts(text: &str) -> (&str, &str, &str) {
    let at = text
        .match_indices('(')
        .map(|(at, _)| at)
        .take(MAX_BRACKETS)
        .find(|at| is_descriptor(&text[*at..]))
        .unwrap_or(text.len());
    let (name, descriptor) = text.split_at(at);
    match name.rsplit_once('.') {
        Some((class, method)) if !class.is_empty() => (class, method, descriptor),
        _ => ("", name, descriptor),
    }
}

/// Maximum number of opening parentheses in a frame's text that are tried as the start of the
/// descriptor.
const MAX_BRACKETS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_back() {
        for (name, source) in [
            ("java.lang.String", "java.lang.String"),
            ("a.B$C", "a.B$C"),
            ("[I", "int[]"),
            ("[[La.B;", "a.B[][]"),
            ("[Lint;", "\\u0069nt[]"),
            ("int", "int"),
            ("a[]", "a\\u005B]"),
            ("[", "\\u005B"),
            ("[V", "\\u005BV"),
            ("", ""),
            ("odd \"name\"", "odd \\u0022name\\u0022"),
        ] {
            let mut out = String::new();
            class_to_source(name, &mut out);
            assert_eq!(out, source);
            assert_eq!(class_from_source(source), name);
        }
    }

    #[test]
    fn signatures_come_back() {
        for (descriptor, returned, parameters) in [
            ("()V", "void", "()"),
            ("([Ljava/lang/String;)V", "void", "(java.lang.String[])"),
            ("(IJ[[D)La/B;", "a.B", "(int,long,double[][])"),
            ("(Lint;)Lvoid;", "\\u0076oid", "(\\u0069nt)"),
            (
                "(La b,(c).d;)V",
                "void",
                "(a\\u0020b\\u002C\\u0028c\\u0029\\u002Ed)",
            ),
            ("", "", ""),
            ("(V)V", "", "(V)V"),
            ("()VV", "", "()VV"),
            ("()[V", "", "()[V"),
            ("(L;)V", "", "(L;)V"),
            ("odd \"", "", "odd \\u0022"),
            ("()", "", "()"),
        ] {
            let expected = (returned.to_owned(), parameters.to_owned());
            assert_eq!(signature_to_source(descriptor), expected, "{descriptor}");
            assert_eq!(signature_from_source(returned, parameters), descriptor);
        }
        // Other writers add blanks.
        let read = signature_from_source("int", "( int, a.B )");
        assert_eq!(read, "(ILa/B;)I");
    }

    #[test]
    fn frames_come_back() {
        for (text, parts) in [
            ("a.B.run()V", ("a.B", "run", "()V")),
            ("a.B.<init>(I)V", ("a.B", "<init>", "(I)V")),
            ("B.odd(name(I)V", ("B", "odd(name", "(I)V")),
            ("native", ("", "native", "")),
            ("a.b()", ("a", "b()", "")),
            (".x()V", ("", ".x", "()V")),
            ("", ("", "", "")),
        ] {
            assert_eq!(frame_parts(text), parts);
        }
        let mut out = String::new();
        function_to_source("[I", "a.b", &mut out);
        assert_eq!(out, "int[].a\\u002Eb");
        assert_eq!(method_from_source(&out), "a.b");
    }
}
