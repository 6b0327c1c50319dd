//! Canonical keys: names of methods, classes and threads that don't depend on the format.
//!
//! A method's key is its class in source form, `.method` (nothing for a constructor), and the
//! descriptor: `app.Main.work(IJ[[D)I`, `app.Main(I)V`. If one of the traces is from another tool,
//! it is the readable name, as exports have it: `app.Main.work(int, long, double[][])`.

use crate::Names;
use jtrail_formats::MethodNames;
use jtrail_model::{ClassId, MethodId};

/// Returns the class in source form: `int[][]`, `a.B$C`.
pub(super) fn class(names: &Names, id: ClassId) -> String {
    names.readable_class(id)
}

/// Returns the method's key, with as much of its name as both traces have.
pub(super) fn method(names: &Names, id: MethodId, kept: MethodNames) -> String {
    let Some(method) = names.method(id) else {
        return format!("method-{id}");
    };
    if kept == MethodNames::Readable {
        return names.readable_method(id);
    }
    let mut key = class(names, method.class);
    if method.name != "<init>" {
        key.push('.');
        key.push_str(&method.name);
    }
    let signature = match method.signature.rfind(')') {
        Some(end) if kept == MethodNames::WithParameters => &method.signature[..=end],
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
            let key = |kept| method(&names, MethodId(id), kept);
            assert_eq!(key(MethodNames::WithResults), with);
            assert_eq!(key(MethodNames::WithParameters), without);
            assert_eq!(
                key(MethodNames::Readable),
                names.readable_method(MethodId(id))
            );
        }
        let undefined = method(&names, MethodId(9), MethodNames::WithResults);
        assert_eq!(undefined, "method-9");
        assert!(is_array(&readable_type("[[I")) && !is_array("app.Main"));
    }
}
