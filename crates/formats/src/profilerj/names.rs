//! Names: from the model to the document and back.
//!
//! If a written name is read and written again, the text is the same. But the name that is read may
//! differ from the original name, because the document does not distinguish a constructor from a
//! method of the same name.

use std::borrow::Cow;

const CONSTRUCTOR: &str = "<init>";

const PRIMITIVES: [(char, &str); 8] = [
    ('B', "byte"),
    ('C', "char"),
    ('D', "double"),
    ('F', "float"),
    ('I', "int"),
    ('J', "long"),
    ('S', "short"),
    ('Z', "boolean"),
];

/// Returns a class name in source form: `int[]` for `[I`, `a.B[][]` for `[[La.B;`. Names of other
/// classes are unchanged.
pub(super) fn class_to_source(name: &str) -> Cow<'_, str> {
    if name.starts_with('[')
        && let Some((readable, "")) = one_type(name)
    {
        return readable.into();
    }
    name.into()
}

/// Converts a class name in source form to the form of the model.
pub(super) fn class_from_source(name: &str) -> Cow<'_, str> {
    let mut element = name;
    let mut dimensions = 0;
    while let Some(shorter) = element.strip_suffix("[]") {
        element = shorter;
        dimensions += 1;
    }
    let raw = || {
        let primitive = PRIMITIVES.iter().find(|(_, word)| *word == element);
        let brackets = "[".repeat(dimensions);
        match primitive {
            Some((letter, _)) => format!("{brackets}{letter}"),
            None => format!("{brackets}L{element};"),
        }
    };
    if dimensions == 0 || element.is_empty() {
        return name.into();
    }
    let raw = raw();
    // A name that no class file can have stays unchanged.
    if class_to_source(&raw) == name {
        raw.into()
    } else {
        name.into()
    }
}

/// Returns the first type of a descriptor in source form, and the text after that type.
fn one_type(descriptor: &str) -> Option<(String, &str)> {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let first = element.chars().next()?;
    let (mut readable, rest) = if first == 'L' {
        let (class, rest) = element[1..].split_once(';')?;
        (class.replace('/', "."), rest)
    } else {
        let (_, word) = PRIMITIVES.iter().find(|(letter, _)| *letter == first)?;
        ((*word).to_owned(), &element[1..])
    };
    for _ in 0..dimensions {
        readable.push_str("[]");
    }
    Some((readable, rest))
}

/// Returns the parameters of a descriptor in source form: `int,a.B[]`. `None` if the descriptor is
/// invalid.
fn parameters(descriptor: &str) -> Option<String> {
    let mut rest = descriptor.strip_prefix('(')?;
    let mut readable = String::new();
    while !rest.starts_with(')') {
        let (parameter, after) = one_type(rest)?;
        if !readable.is_empty() {
            readable.push(',');
        }
        readable.push_str(&parameter);
        rest = after;
    }
    let result = &rest[1..];
    let ends = result == "V" || matches!(one_type(result), Some((_, "")));
    ends.then_some(readable)
}

/// Returns class and method, without parameters, as sections `profile` and `sampler` write them.
fn qualified(class: &str, method: &str) -> String {
    if method == CONSTRUCTOR && !class.is_empty() {
        constructor(class).to_owned()
    } else if class.is_empty() {
        method.to_owned()
    } else {
        format!("{class}.{method}")
    }
}

/// Returns the class name of a constructor without any trailing `.<init>`.
fn constructor(mut name: &str) -> &str {
    while let Some(class) = name.strip_suffix(CONSTRUCTOR)
        && let Some(class) = class.strip_suffix('.')
        && !class.is_empty()
    {
        name = class;
    }
    name
}

/// Returns a method's name in section `profile`.
pub(super) fn method_to_profile(class: &str, method: &str, descriptor: &str) -> String {
    let mut name = qualified(class, method);
    name.push('(');
    name.push_str(&parameters(descriptor).unwrap_or_default());
    name.push(')');
    name
}

/// Splits a name of section `profile` into the class and the raw method name. `is_class` returns
/// true for the name of a class that the document has already contained.
pub(super) fn method_from_profile<'n>(
    name: &'n str,
    descriptor: &str,
    is_class: impl Fn(&str) -> bool,
) -> (&'n str, &'n str) {
    let list = format!("({})", parameters(descriptor).unwrap_or_default());
    let name = name
        .strip_suffix(&list)
        .or_else(|| Some(name.split_once('(')?.0))
        .unwrap_or(name);
    let void = descriptor.ends_with(")V");
    match name.rsplit_once('.') {
        Some((class, method)) if !class.is_empty() => {
            if void && method != "<clinit>" && (is_class(name) || looks_like_class(class, method)) {
                (name, CONSTRUCTOR)
            } else {
                (class, method)
            }
        }
        _ if void && name != "<clinit>" && !name.is_empty() => (name, CONSTRUCTOR),
        _ => ("", name),
    }
}

/// True if `last`, after the qualifier, looks like the name of a class. By convention, names of
/// classes start with a capital letter, and names of packages and methods do not.
fn looks_like_class(qualifier: &str, last: &str) -> bool {
    let capital = |name: &str| name.starts_with(char::is_uppercase);
    let before = qualifier.rsplit('.').next().unwrap_or_default();
    capital(last) && !capital(before)
}

/// Returns a frame's name in section `sampler`. `native` is true for native methods.
pub(super) fn frame_to_sampler(method: &str, native: bool) -> String {
    let qualified = match method.strip_suffix("()") {
        Some(qualified) => qualified,
        None => method
            .match_indices('(')
            .find(|(at, _)| parameters(&method[*at..]).is_some())
            .map_or(method, |(at, _)| &method[..at]),
    };
    let mut name = constructor(qualified).to_owned();
    name.push_str(if native { "(native)" } else { "()" });
    name
}

/// Returns the method of a frame, and whether that method is native.
pub(super) fn frame_from_sampler(name: &str) -> (String, bool) {
    match name.strip_suffix("(native)") {
        Some(qualified) => (format!("{qualified}()"), true),
        None => (name.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_in_source_form() {
        for (raw, source) in [
            ("java.awt.Rectangle", "java.awt.Rectangle"),
            ("[I", "int[]"),
            ("[[Ljava.lang.String;", "java.lang.String[][]"),
            ("[[Z", "boolean[][]"),
            ("a.B$C", "a.B$C"),
            ("", ""),
        ] {
            assert_eq!(class_to_source(raw), source);
            assert_eq!(class_from_source(source), raw);
        }
        assert_eq!(class_to_source("[odd"), "[odd");
        assert_eq!(class_from_source("[]"), "[]");
    }

    #[test]
    fn methods_of_the_profile() {
        for (class, method, descriptor, name) in [
            ("a.Main", "run", "()V", "a.Main.run()"),
            (
                "java.util.List",
                "add",
                "(ILjava/lang/Object;)V",
                "java.util.List.add(int,java.lang.Object)",
            ),
            (
                "java.awt.AWTEvent",
                "<init>",
                "(Ljava/lang/Object;I)V",
                "java.awt.AWTEvent(java.lang.Object,int)",
            ),
            ("a.B", "<clinit>", "()V", "a.B.<clinit>()"),
            ("Main", "<init>", "([[J)V", "Main(long[][])"),
            ("a.Outer$Inner", "<init>", "()V", "a.Outer$Inner()"),
            ("Main", "main", "()V", "Main.main()"),
            ("Main", "Odd", "()V", "Main.Odd()"),
            ("a.B", "fast (again)", "(I)I", "a.B.fast (again)(int)"),
            ("", "method-7", "", "method-7()"),
        ] {
            assert_eq!(method_to_profile(class, method, descriptor), name);
            let back = method_from_profile(name, descriptor, |_| false);
            assert_eq!(back, (class, method), "{name}");
        }
        let known = |name: &str| name == "a.b";
        assert_eq!(
            method_from_profile("a.b()", "()V", known),
            ("a.b", "<init>")
        );
        assert_eq!(method_from_profile("a.b()", "()V", |_| false), ("a", "b"));
    }

    #[test]
    fn frames_of_the_sampler() {
        for (method, native, name) in [
            (
                "java.util.List.add(ILjava/lang/Object;)V",
                false,
                "java.util.List.add()",
            ),
            (
                "java.lang.Object.wait(J)V",
                true,
                "java.lang.Object.wait(native)",
            ),
            ("a.B.<init>(I)V", false, "a.B()"),
            ("a.B.<clinit>()V", false, "a.B.<clinit>()"),
            ("a.B.fast (again)(I)I", false, "a.B.fast (again)()"),
            ("odd", false, "odd()"),
            ("", false, "()"),
        ] {
            assert_eq!(frame_to_sampler(method, native), name);
            let (back, still_native) = frame_from_sampler(name);
            assert_eq!(still_native, native);
            assert_eq!(frame_to_sampler(&back, native), name);
        }
    }

    proptest! {
        #[test]
        fn names_are_written_as_they_were_read(
            class in "[a-zA-Z.;\\[\\]/<>()$]{0,12}|<init>|([a-c][.])*<init>",
            method in "[a-zA-Z.()<>]{0,6}|<init>|<clinit>",
            descriptor in "\\([IJ\\[La-z;]{0,6}\\)[VI]?|[()IV]{0,4}",
            native: bool, known: bool,
        ) {
            let source = class_to_source(&class);
            let raw = class_from_source(&source);
            prop_assert_eq!(class_to_source(&raw), &source[..]);
            let raw = class_from_source(&class);
            prop_assert_eq!(class_to_source(&raw), &source[..]);

            let name = method_to_profile(&class, &method, &descriptor);
            let (c, m) = method_from_profile(&name, &descriptor, |_| known);
            prop_assert_eq!(method_to_profile(c, m, &descriptor), &name[..]);

            let name = frame_to_sampler(&format!("{class}.{method}{descriptor}"), native);
            let (frame, native_again) = frame_from_sampler(&name);
            prop_assert_eq!(frame_to_sampler(&frame, native_again), name);
        }
    }
}
