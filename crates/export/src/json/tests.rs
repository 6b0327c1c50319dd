use super::reader::{Value, read};
use super::*;
use crate::testing::ODD_NAMES;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn strings_are_escaped() {
    let escaped = |text| written(|out| string(out, text));
    assert_eq!(escaped("a\"b\\c"), r#""a\"b\\c""#);
    assert_eq!(
        escaped("\0\t\n\u{1f}\u{7f}"),
        "\"\\u0000\\u0009\\n\\u001f\u{7f}\""
    );
    assert_eq!(
        escaped("</script><!--<SCRIPT>"),
        r#""\u003c/script>\u003c!--\u003cSCRIPT>""#
    );
    assert_eq!(escaped("a<b, <init><scrip"), r#""a<b, <init><scrip""#);
    assert_eq!(escaped("\u{2028}é😀<"), "\"\u{2028}é😀<\"");
}

#[test]
fn odd_names_are_read_back() {
    let long = "é".repeat(32 * 1024);
    for name in ODD_NAMES.into_iter().chain([long.as_str()]) {
        let json = written(|out| string(out, name));
        assert_eq!(read(json.as_bytes()), Value::Text(name.to_owned()));
        assert!(!json.contains("</") && !json.contains("<!"), "{json}");
    }
}

#[test]
fn numbers_have_all_digits() {
    for value in [0, 7, 10, 99, 100, 12_345, i64::MAX, -1, i64::MIN] {
        assert_eq!(written(|out| integer(out, value)), value.to_string());
    }
    assert_eq!(written(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
}

#[test]
fn microseconds_have_three_decimals() {
    let text = |ns| written(|out| microseconds(out, ns));
    assert_eq!(text(0), "0.000");
    assert_eq!(text(7), "0.007");
    assert_eq!(text(90), "0.090");
    assert_eq!(text(1_234_567), "1234.567");
    assert_eq!(text(u64::MAX), "18446744073709551.615");
}

#[test]
fn objects_have_commas_between_their_fields() {
    let object = written(|out| {
        object(out, |o| {
            o.text("empty", "");
            o.number("n", -1);
            o.id("none", 0);
            o.id("exact", 1 << 53);
            o.id("rounded", (1 << 53) + 1);
            array(o.field("list"), [1, 2], integer);
            super::object(o.field("more"), |_| {});
        });
    });
    assert_eq!(
        object,
        r#"{"n":-1,"exact":9007199254740992,"rounded":"9007199254740993","list":[1,2],"more":{}}"#
    );
}
