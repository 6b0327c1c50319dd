//! Names of constructors and class initialisers, which XML spells in a way of its own.

use std::borrow::Cow;

/// Name of a method as the XML spelling has it.
pub(super) fn to_xml(name: &str) -> &str {
    match name {
        "<init>" => "-init-",
        "<clinit>" => "-clinit-",
        _ => name,
    }
}

/// The method's own name. The descriptor tells a constructor from a method truly named `-init-`; an
/// empty one says nothing, and is taken as a constructor's.
pub(super) fn from_xml<'n>(name: &'n str, signature: &str) -> &'n str {
    match name {
        "-init-" if signature.is_empty() || signature.ends_with(")V") => "<init>",
        "-clinit-" if signature.is_empty() || signature == "()V" => "<clinit>",
        _ => name,
    }
}

/// `class.method(descriptor)result`, cut before the method and behind it. A descriptor holds one
/// opening bracket and no point, whatever the names before it hold.
fn split_frame(frame: &str) -> Option<(&str, &str, &str)> {
    let (class_and_method, _) = frame.rsplit_once('(')?;
    let signature = &frame[class_and_method.len()..];
    let method = class_and_method.rsplit('.').next()?;
    let class = &class_and_method[..class_and_method.len() - method.len()];
    Some((class, method, signature))
}

/// Text of a frame as the XML spelling has it.
pub(super) fn frame_to_xml(frame: &str) -> Cow<'_, str> {
    renamed(frame, |method, _| to_xml(method))
}

/// Text of a frame.
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
