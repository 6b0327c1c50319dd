//! Names of constructors and class initialisers, which have a form of their own in XML.

use std::borrow::Cow;

/// Returns the name of a method as in XML.
pub(super) fn to_xml(name: &str) -> &str {
    match name {
        "<init>" => "-init-",
        "<clinit>" => "-clinit-",
        _ => name,
    }
}

/// Returns the method's name in the model. The descriptor distinguishes a constructor from a method
/// that is called `-init-`; an empty descriptor counts as a constructor's.
pub(super) fn from_xml<'n>(name: &'n str, signature: &str) -> &'n str {
    match name {
        "-init-" if signature.is_empty() || signature.ends_with(")V") => "<init>",
        "-clinit-" if signature.is_empty() || signature == "()V" => "<clinit>",
        _ => name,
    }
}

/// Splits `class.method(descriptor)result` before and after the method. The names may contain any
/// characters, but the descriptor contains exactly one opening bracket and no point.
fn split_frame(frame: &str) -> Option<(&str, &str, &str)> {
    let (class_and_method, _) = frame.rsplit_once('(')?;
    let signature = &frame[class_and_method.len()..];
    let method = class_and_method.rsplit('.').next()?;
    let class = &class_and_method[..class_and_method.len() - method.len()];
    Some((class, method, signature))
}

/// Returns the text of a frame as in XML.
pub(super) fn frame_to_xml(frame: &str) -> Cow<'_, str> {
    renamed(frame, |method, _| to_xml(method))
}

/// Returns the text of a frame in the model.
pub(super) fn frame_from_xml(frame: &str) -> Cow<'_, str> {
    renamed(frame, from_xml)
}

fn renamed<'f>(frame: &'f str, rename: impl FnOnce(&'f str, &str) -> &'f str) -> Cow<'f, str> {
    match split_frame(frame) {
        Some((class, method, signature)) if matches!(method.as_bytes(), [b'<' | b'-', ..]) => {
            [class, rename(method, signature), signature]
                .concat()
                .into()
        }
        _ => frame.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_go_both_ways() {
        for (name, xml, signature) in [
            ("<init>", "-init-", "(I)V"),
            ("<clinit>", "-clinit-", "()V"),
            ("<init>", "-init-", ""),
            ("run", "run", "()V"),
        ] {
            assert_eq!(to_xml(name), xml);
            assert_eq!(from_xml(xml, signature), name);
        }
        assert_eq!(from_xml("-init-", "()I"), "-init-");
        assert_eq!(from_xml("-clinit-", "(I)V"), "-clinit-");
    }

    #[test]
    fn constructors_in_frames_go_both_ways() {
        for (frame, xml) in [
            ("a.B.<init>(Lx/Y;)V", "a.B.-init-(Lx/Y;)V"),
            ("a.B.<clinit>()V", "a.B.-clinit-()V"),
            ("a.B/0x1f.run()V", "a.B/0x1f.run()V"),
            ("odd(name.<init>()V", "odd(name.-init-()V"),
            ("<init>()V", "-init-()V"),
            ("no descriptor", "no descriptor"),
            ("", ""),
        ] {
            assert_eq!(frame_to_xml(frame), xml);
            assert_eq!(frame_from_xml(xml), frame);
        }
        assert_eq!(frame_from_xml("a.B.-init-()I"), "a.B.-init-()I");
    }
}
