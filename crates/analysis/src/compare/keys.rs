//! Canonical keys: names of methods, classes and threads that don't depend on the format.
//!
//! A method's key is its class in source form, `.method` (nothing for a constructor), and the
//! descriptor: `app.Main.work(IJ[[D)I`, `app.Main(I)V`.

use crate::Names;
use jtrail_model::{ClassId, MethodId};

/// Returns the class in source form: `int[][]`, `a.B$C`.
pub(super) fn class(names: &Names, id: ClassId) -> String {
    names.readable_class(id)
}

/// Returns the method's key, with or without its result type.
pub(super) fn method(names: &Names, id: MethodId, with_result: bool) -> String {
    let Some(method) = names.method(id) else {
        return format!("method-{id}");
    };
    let mut key = class(names, method.class);
    if method.name != "<init>" {
        key.push('.');
        key.push_str(&method.name);
    }
    let signature = match method.signature.rfind(')') {
        Some(end) if !with_result => &method.signature[..=end],
        _ => &method.signature,
    };
    key.push_str(signature);
    key
}

/// Returns true if a class in source form is an array class.
pub(super) fn is_array(class: &str) -> bool {
    class.ends_with("[]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readable_type;
    use jtrail_model::{ClassDef, Event, MethodDef};

    #[test]
    fn methods_go_by_class_name_and_descriptor() {
        let mut names = Names::default();
        names.event(&Event::ClassDef(ClassDef {
            class: ClassId(1),
            name: "app.Main".into(),
            ..ClassDef::default()
        }));
        for (id, name, signature, with, without) in [
            (
                2,
                "work",
                "(IJ[[D)I",
                "app.Main.work(IJ[[D)I",
                "app.Main.work(IJ[[D)",
            ),
            (3, "<init>", "(I)V", "app.Main(I)V", "app.Main(I)"),
            (
                4,
                "<clinit>",
                "()V",
                "app.Main.<clinit>()V",
                "app.Main.<clinit>()",
            ),
            (5, "odd", "", "app.Main.odd", "app.Main.odd"),
        ] {
            names.event(&Event::MethodDef(MethodDef {
                method: MethodId(id),
                class: ClassId(1),
                name: name.into(),
                signature: signature.into(),
                ..MethodDef::default()
            }));
            assert_eq!(method(&names, MethodId(id), true), with);
            assert_eq!(method(&names, MethodId(id), false), without);
        }
        assert_eq!(method(&names, MethodId(9), true), "method-9");
        assert!(is_array(&readable_type("[[I")) && !is_array("app.Main"));
    }
}
