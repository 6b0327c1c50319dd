//! Names as the format spells them: `java.lang.String[]`, `a.B:run (int,java.lang.String[])`.

use super::wire::NO_CLASS;
use jtrail_model::ObjectKind;
use std::borrow::Cow;

/// Primitive types: letter in descriptors, and keyword.
const PRIMITIVES: [(u8, &str); 8] = [
    (b'Z', "boolean"),
    (b'C', "char"),
    (b'F', "float"),
    (b'D', "double"),
    (b'B', "byte"),
    (b'S', "short"),
    (b'I', "int"),
    (b'J', "long"),
];

fn word(letter: u8) -> Option<&'static str> {
    let found = PRIMITIVES.iter().find(|(l, _)| *l == letter);
    found.map(|(_, word)| *word)
}

fn letter(word: &str) -> Option<char> {
    let found = PRIMITIVES.iter().find(|(_, w)| *w == word);
    found.map(|(letter, _)| char::from(*letter))
}

/// Converts a class name of the model (`[Ljava.lang.String;`) to the format's spelling
/// (`java.lang.String[]`).
pub(super) fn class_shown(name: &str) -> Cow<'_, str> {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.into();
    }
    let element = match element.as_bytes() {
        [letter] => word(*letter),
        [b'L', .., b';'] => element.get(1..element.len() - 1),
        _ => None,
    };
    match element {
        Some(element) => format!("{element}{}", "[]".repeat(dimensions)).into(),
        None => name.into(),
    }
}

/// Converts a class name from the format's spelling to the model's spelling. Inverse of
/// [`class_shown`].
pub(super) fn class_read(shown: &str) -> Cow<'_, str> {
    let element = shown.trim_end_matches("[]");
    let dimensions = (shown.len() - element.len()) / 2;
    if dimensions == 0 || element.is_empty() {
        return shown.into();
    }
    let brackets = "[".repeat(dimensions);
    match letter(element) {
        Some(letter) => format!("{brackets}{letter}").into(),
        None => format!("{brackets}L{element};").into(),
    }
}

/// Returns the kind of a class's objects. `class` is in the format's spelling.
pub(super) fn kind_of(class: &str) -> ObjectKind {
    let Some(element) = class.strip_suffix("[]") else {
        return ObjectKind::PLAIN;
    };
    match element {
        "boolean" => ObjectKind::BOOLEAN,
        "char" => ObjectKind::CHAR,
        "float" => ObjectKind::FLOAT,
        "double" => ObjectKind::DOUBLE,
        "byte" => ObjectKind::BYTE,
        "short" => ObjectKind::SHORT,
        "int" => ObjectKind::INT,
        "long" => ObjectKind::LONG,
        _ => ObjectKind::REFERENCES,
    }
}

/// Returns a descriptor without its result type: `(ILa/B;)` for `(ILa/B;)V`.
pub(super) fn without_result(descriptor: &str) -> &str {
    let end = descriptor.rfind(')').map_or(descriptor.len(), |at| at + 1);
    descriptor.get(..end).unwrap_or(descriptor)
}

/// Appends the parameter types of a descriptor as Java spells them. Returns `false` if `descriptor`
/// is not valid.
fn put_parameters(descriptor: &str, out: &mut String) -> bool {
    let Some(mut rest) = without_result(descriptor)
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    else {
        return false;
    };
    out.push('(');
    let mut first = true;
    while !rest.is_empty() {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let mut characters = element.chars();
        match characters.next() {
            Some('L') => {
                let parts = characters.as_str().split_once(';');
                let Some((name, tail)) = parts.filter(|(name, _)| !name.is_empty()) else {
                    return false;
                };
                out.extend(name.chars().map(|c| if c == '/' { '.' } else { c }));
                rest = tail;
            }
            Some(c) => {
                let Some(word) = u8::try_from(c).ok().and_then(word) else {
                    return false;
                };
                out.push_str(word);
                rest = characters.as_str();
            }
            None => return false,
        }
        (0..dimensions).for_each(|_| out.push_str("[]"));
    }
    out.push(')');
    true
}

/// Converts parameter types (`int,java.lang.String[]`) to a descriptor without a result type.
/// Returns `None` if `shown` is not a list of types.
fn parameters_read(shown: &str) -> Option<String> {
    let mut descriptor = String::from("(");
    let types = shown.split(',').filter(|_| !shown.is_empty());
    for shown in types.map(str::trim_start) {
        let element = shown.trim_end_matches("[]");
        (0..(shown.len() - element.len()) / 2).for_each(|_| descriptor.push('['));
        match letter(element) {
            Some(letter) => descriptor.push(letter),
            None => {
                descriptor.push('L');
                descriptor.extend(element.chars().map(|c| if c == '.' { '/' } else { c }));
                descriptor.push(';');
            }
        }
    }
    descriptor.push(')');
    put_parameters(&descriptor, &mut String::new()).then_some(descriptor)
}

/// Returns the full name of a method, `class:name (types)`. `class` is in the format's spelling. If
/// the descriptor is empty, the types are omitted.
pub(super) fn method_shown(class: &str, name: &str, descriptor: &str) -> String {
    let mut full = format!("{class}:{name}");
    if !descriptor.is_empty() {
        let end = full.len();
        full.push(' ');
        if !put_parameters(descriptor, &mut full) {
            // An invalid descriptor is written as if it were a type. Reading and writing the result
            // again gives the same text.
            full.truncate(end + 1);
            match parameters_read(descriptor) {
                Some(types) => _ = put_parameters(&types, &mut full),
                None => full.extend(["(", descriptor, ")"]),
            }
        }
    }
    full
}

/// Parts of a method's full name.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Method<'n> {
    /// Class in the format's spelling; `None` if the full name contains no class.
    pub(super) class: Option<&'n str>,
    pub(super) name: &'n str,
    /// Descriptor. It has no result type, except that initializers have the only possible result
    /// type: V.
    pub(super) descriptor: String,
}

/// Splits the full name of a method. Class names may contain colons and spaces, so `known` helps to
/// find the end of the class name: it returns true for the name of a defined class.
pub(super) fn method_read<'n>(full: &'n str, known: impl Fn(&str) -> bool) -> Method<'n> {
    let colons = || full.match_indices(':').map(|(at, _)| at);
    let split = colons()
        .find(|&at| known(&full[..at]))
        .or_else(|| colons().next());
    let (class, rest) = match split {
        Some(at) => (Some(&full[..at]), &full[at + 1..]),
        None => (None, full),
    };
    let types = |rest: &'n str| {
        let at = rest.find(" (")?;
        Some((&rest[..at], rest[at + 2..].strip_suffix(')')?))
    };
    let Some((name, types)) = types(rest) else {
        return Method {
            class,
            name: rest,
            descriptor: String::new(),
        };
    };
    let descriptor = match parameters_read(types) {
        // The text is no list of types: it was written from an invalid descriptor.
        None => types.to_owned(),
        Some(read) if name == "<init>" || (name == "<clinit>" && read == "()") => read + "V",
        Some(read) => read,
    };
    Method {
        class,
        name,
        descriptor,
    }
}

/// Returns the text of a stack frame. `class` is in the format's spelling. The class [`NO_CLASS`]
/// is omitted, unless the rest would then be read as a name with a class.
pub(super) fn frame_shown(class: &str, name: &str, descriptor: &str) -> String {
    let within = [name, descriptor].concat();
    if class == NO_CLASS && frame_read(&within).is_none() {
        return within;
    }
    [&*class_read(class), ".", &within].concat()
}

/// Splits the text of a stack frame (`a.B.run(I)V`) into class, name and descriptor. Returns `None`
/// if the text does not have all three.
pub(super) fn frame_read(text: &str) -> Option<(&str, &str, &str)> {
    let (path, _) = text.split_once('(')?;
    let (class, name) = path.rsplit_once('.')?;
    Some((class, name, &text[path.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_have_two_spellings() {
        for (name, shown) in [
            ("a.B$1", "a.B$1"),
            ("[I", "int[]"),
            ("[[Ljava.lang.String;", "java.lang.String[][]"),
            ("int", "int"),
            ("", ""),
            ("[X", "[X"),
            ("[", "["),
        ] {
            assert_eq!(class_shown(name), shown);
            assert_eq!(class_read(shown), name);
        }
        assert_eq!(class_read("[]"), "[]");
    }

    #[test]
    fn methods_lose_only_their_result() {
        for (class, name, descriptor, full, back) in [
            ("a.B", "run", "()V", "a.B:run ()", "()"),
            (
                "demo.Main",
                "main",
                "([Ljava/lang/String;)V",
                "demo.Main:main (java.lang.String[])",
                "([Ljava/lang/String;)",
            ),
            (
                "java.lang.String",
                "<init>",
                "([CII)V",
                "java.lang.String:<init> (char[],int,int)",
                "([CII)V",
            ),
            ("a.B", "<clinit>", "()V", "a.B:<clinit> ()", "()V"),
            (
                "a.B",
                "f",
                "(ZCFDBSIJ[[La/é$1;)La/C;",
                "a.B:f (boolean,char,float,double,byte,short,int,long,a.é$1[][])",
                "(ZCFDBSIJ[[La/é$1;)",
            ),
            ("a.B", "odd name", "", "a.B:odd name", ""),
        ] {
            assert_eq!(method_shown(class, name, descriptor), full);
            let read = method_read(full, |_| false);
            assert_eq!((read.class, read.name), (Some(class), name));
            assert_eq!(read.descriptor, back);
            assert_eq!(method_shown(class, name, back), full);
        }
        // An invalid descriptor is written as if it were a type. The first round trip may change
        // it, but later round trips do not.
        for (descriptor, full, back) in [
            ("(X)V", "a:b ((X)V)", "(L(X)V;)"),
            ("(L;I)V", "a:b ((L;I)V)", "(L;I)V"),
            ("(a.C, ", "a:b ((a.C, )", "(a.C, "),
            ("(a.C, d", "a:b ((a.C,d)", "(L(a/C;Ld;)"),
            ("a,[]", "a:b (a,[])", "a,[]"),
            (" ", "a:b ( )", " "),
        ] {
            assert_eq!(method_shown("a", "b", descriptor), full);
            assert_eq!(method_read(full, |_| true).descriptor, back);
            assert_eq!(method_shown("a", "b", back), full);
        }
        assert_eq!(method_read("a:b (é)", |_| true).descriptor, "(Lé;)");
        assert_eq!(
            method_read("a:<init> ((Lint;;)V)", |_| true).descriptor,
            "(Lint;;)V"
        );
        assert_eq!(
            method_shown("a", "<init>", "(Lint;;)V"),
            "a:<init> ((Lint;;)V)"
        );
    }

    #[test]
    fn a_known_class_decides_where_its_name_ends() {
        let read = method_read("a:b:c:d ()", |class| class == "a:b");
        assert_eq!((read.class, read.name), (Some("a:b"), "c:d"));
        let mono = "(wrapper managed-to-native) System.String:.ctor (char*, int)";
        let read = method_read(mono, |_| false);
        assert_eq!(
            read.class,
            Some("(wrapper managed-to-native) System.String")
        );
        assert_eq!((read.name, &*read.descriptor), (".ctor", "(Lchar*;I)"));
        assert_eq!(method_read("alone", |_| false).class, None);
    }

    #[test]
    fn frames_have_the_class_that_is_known() {
        for (class, name, descriptor, text) in [
            ("a.B[]", "run", "(I)", "[La.B;.run(I)"),
            (NO_CLASS, "", "", ""),
            (NO_CLASS, "main", "()", "main()"),
            (NO_CLASS, "a.b", "", "a.b"),
            // Without the class, `a` would be read as the class.
            (NO_CLASS, "a.b", "()", "unresolved class 0x0.a.b()"),
        ] {
            assert_eq!(frame_shown(class, name, descriptor), text);
        }
    }

    #[test]
    fn frames_are_taken_apart() {
        let text = "a.B.<init>([Ljava/lang/String;)V";
        let parts = ("a.B", "<init>", "([Ljava/lang/String;)V");
        assert_eq!(frame_read(text), Some(parts));
        assert_eq!(frame_read("run()V"), None);
        assert_eq!(frame_read("a.b"), None);
    }
}
