//! The TPTP XML format: reading documents of other agents, and damaged ones.

use crate::common::document::{GC, HEAD, elements, gc, xml};
use crate::common::{decode, decode_pieces, shown};
use jtrail_formats::{Format, Severity};
use jtrail_model::*;

/// Documents of the older agent have no encoding, no line breaks, and no end.
#[test]
fn documents_of_the_older_agent_are_read() {
    let text = "<?xml version=\"1.0\"?>\n<TRACE>\
        <node nodeId=\"n\" hostname=\"h\" ipaddress=\"1.2.3.4\" timezone=\"300\" time=\"1171278677.882812500\"/>\
        <traceStart traceId=\"t\" agentIdRef=\"a\" time=\"1171278677.882812500\" collationValue=\"c\"/>\
        <threadStart threadId='1' time='1171278677.892812500' threadName='main' groupName='main' parentName='system' objIdRef='0'/>\
        <classDef threadIdRef=\"1\" name=\"Demo\" sourceName=\"Demo.java\" classId=\"2\" objIdRef=\"9\" time=\"1171278677.9\"/>\
        <methodDef name=\"-clinit-\" signature=\"()V\" startLineNumber=\"3\" endLineNumber=\"3\" methodId=\"3\" classIdRef=\"2\"/>\
        <methodEntry threadIdRef=\"1\" time=\"1171278677.902812500\" methodIdRef=\"3\" classIdRef=\"2\" ticket=\"7\" stackDepth=\"4\"/>\
        <methodExit threadIdRef=\"1\" methodIdRef=\"3\" classIdRef=\"2\" ticket=\"7\" time=\"1171278677.912812500\" overhead=\"0.000012\"/>\
        <methodEntry time=\"1171278678\" threadIdRef=\"1\" methodIdRef=\"3\" classIdRef=\"2\" ticket=\"9\" stackDepth=\"4\" sequence=\"1\"/>\
        <oldThing a=\"1\"><inner/></oldThing>";
    let decoding = xml(text);
    assert_eq!(decoding.events.len(), 8);
    assert_eq!(decoding.error, None);
    assert_eq!(decoding.only(Severity::Truncated).0, text.len() as u64);
    let infos: Vec<_> = decoding
        .remarks
        .iter()
        .filter(|r| r.severity == Severity::Info)
        .collect();
    let messages: Vec<_> = infos.iter().map(|r| r.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "skipped: traceStart: attribute collationValue, which no event holds (1)",
            "skipped: methodExit: attribute overhead, which no event holds (1)",
            "skipped: methodEntry: unknown attribute sequence (1)",
            "methodEntry: attributes in another order (1)",
            "skipped: unknown element oldThing (1)",
        ]
    );
    let place = text.find("<methodEntry time").unwrap();
    assert_eq!(infos[2].offset, place as u64);
    assert!(decoding.events[4].contains("name: \"<clinit>\""));
    assert!(decoding.events[6].contains("Timestamp(1171278677912812500)"));
}

#[test]
fn what_is_no_trace_document_is_refused_at_its_place() {
    for (text, at, reason) in [
        ("<TRACE>x</TRACE>", 7, "text where"),
        ("<TRACE>&#10;</TRACE>", 7, "text where"),
        ("<TRACE><![CDATA[x]]></TRACE>", 7, "text where"),
        ("<!DOCTYPE TRACE><TRACE/>", 0, "document type"),
        (
            "<?xml version=\"1.0\"?><!DOCTYPE TRACE [<!ENTITY a \"b\">]><TRACE/>",
            21,
            "document type",
        ),
        (
            "<TRACE><custom body=\"&a;\"/></TRACE>",
            21,
            "&a; is no reference",
        ),
        (
            "<TRACE><custom body=\"\u{1}\"/></TRACE>",
            21,
            "U+0001 is not allowed",
        ),
        (
            "<TRACE><custom body=\"\u{fffe}\"/></TRACE>",
            21,
            "U+FFFE is not allowed",
        ),
        (
            "<TRACE><custom body=\"&#0;\"/></TRACE>",
            21,
            "&#0; is no reference",
        ),
        (
            "<TRACE><custom body=\"&#x1f;\"/></TRACE>",
            21,
            "&#x1f; is no reference",
        ),
        ("<TRACE><custom body=\"<\"/></TRACE>", 21, "< inside"),
        (
            "<TRACE><gcStart time='1' time='2'/></TRACE>",
            25,
            "repeated",
        ),
        ("<TRACE><unknown a='1' a='2'/></TRACE>", 22, "repeated"),
        (
            "<TRACE><monWait></monWaited></TRACE>",
            16,
            "does not close monWait",
        ),
        ("<TRACE></TRACES>", 7, "does not close TRACE"),
        ("<TRACE></TRACE><TRACE/>", 15, "only one TRACE"),
        ("<TRACE/><node/>", 8, "only one TRACE"),
        ("<TRACE></TRACE>x", 15, "text where"),
        ("</TRACE>", 0, "nothing outside"),
        ("<html></html>", 0, "the root is not TRACE"),
        ("<node/>", 0, "the root is not TRACE"),
        (" <?xml version=\"1.0\"?><TRACE/>", 1, "not at the begin"),
        (
            "<TRACE><?xml version=\"1.0\"?></TRACE>",
            7,
            "not at the begin",
        ),
        ("<?xml version=\"2.0\"?><TRACE/>", 0, "version=\"2.0\""),
        (
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><TRACE/>",
            0,
            "encoding=\"ISO-8859-1\"",
        ),
        ("no markup at all", 0, "text where"),
    ] {
        for piece in [1, text.len()] {
            let decoding = decode_pieces(Format::TptpXml, text.as_bytes(), piece);
            let (place, message) = decoding.refused();
            assert!(message.contains(reason), "{text}: {message}");
            assert_eq!(place, at, "{text}: {message}");
        }
    }
    let decoding = decode(Format::TptpXml, b"<TRACE><custom body=\"ab\xff\"/></TRACE>");
    assert_eq!(decoding.refused(), (23, "not UTF-8"));
}

#[test]
fn what_comes_before_a_refused_place_is_kept() {
    let decoding = elements(&format!("{GC}<x/>{GC}<custom body=\"&a;\"/>"));
    assert_eq!(decoding.events, shown(&[gc(), gc()]));
    assert_eq!(decoding.count(Severity::Info), 1);
    assert!(decoding.error.is_some());
}

#[test]
fn an_empty_document_is_truncated_and_an_empty_trace_is_not() {
    for text in [
        "",
        "\u{feff}",
        " \n",
        "<?xml version=\"1.0\"?>",
        "<",
        "\u{feff}<TRACE>",
    ] {
        assert_eq!(xml(text).remarks.len(), 1, "{text}");
        assert_eq!(xml(text).count(Severity::Truncated), 1, "{text}");
    }
    for text in [
        "<TRACE/>",
        "<TRACE></TRACE>",
        "\u{feff}<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n<!-- x -->\n<TRACE >\n</TRACE >\n<!-- y --><?z?>\n",
    ] {
        let decoding = xml(text);
        assert!(
            decoding.is_clean() && decoding.events.is_empty(),
            "{text} {decoding:?}"
        );
    }
}

#[test]
fn values_of_another_type_lose_one_element() {
    for (element, attribute) in [
        ("<gcStart time=\"now\"/>", "time"),
        ("<gcStart time=\"\"/>", "time"),
        ("<threadEnd threadIdRef=\"-1\" time=\"0\"/>", "threadIdRef"),
        (
            "<methodEntry threadIdRef=\"1\" time=\"0.0\" methodIdRef=\"1\" classIdRef=\"1\" ticket=\"4294967296\" stackDepth=\"1\"/>",
            "ticket",
        ),
        (
            "<methodEntry threadIdRef=\"18446744073709551616\" time=\"0.0\" methodIdRef=\"1\" classIdRef=\"1\" ticket=\"1\" stackDepth=\"1\"/>",
            "threadIdRef",
        ),
        (
            "<methodExit threadIdRef=\"1\" methodIdRef=\"1\" classIdRef=\"1\" ticket=\"1\" time=\"99999999999.000000000\"/>",
            "time",
        ),
        (
            "<monWait threadIdRef=\"x\" time=\"0\" objIdRef=\"0\" timeout=\"0\"><annotation key=\"stackFrame\" value=\"f\" line=\"1\"/></monWait>",
            "threadIdRef",
        ),
    ] {
        let decoding = elements(&format!("{GC}{element}\n{GC}"));
        assert_eq!(decoding.events, shown(&[gc(), gc()]), "{element}");
        let (place, message) = decoding.only(Severity::Fault);
        assert_eq!(place, (HEAD.len() + GC.len()) as u64);
        let name = element[1..].split(' ').next().unwrap();
        let expected = format!("skipped: {name}: the value of {attribute} is not of its type");
        assert_eq!(message, expected);
    }
}

#[test]
fn what_is_unknown_is_reported_once_by_name() {
    let decoding = elements(&format!(
        "{GC}<a/><b x=\"1\"><gcStart time=\"5\"/><c/></b><a></a>{GC}\
         <gcStart time=\"0.000000001\" more=\"1\" other=\"2\" transientThreadId=\"3\" collationValue=\"\" overhead=\"0.000000000\"/>\
         <gcStart more=\"1\" time=\"0.000000001\"></gcStart>\
         <gcStart time=\"0.000000001\"><a/></gcStart>"
    ));
    assert_eq!(decoding.events, shown(&vec![gc(); 5]));
    let reported: Vec<_> = decoding
        .remarks
        .iter()
        .map(|r| r.message.as_str())
        .collect();
    assert_eq!(
        reported,
        [
            "skipped: unknown element a (3)",
            "skipped: unknown element b (1)",
            "skipped: gcStart: unknown attribute more (2)",
            "skipped: gcStart: unknown attribute other (1)",
            "skipped: gcStart: attribute transientThreadId, which no event holds (1)",
        ]
    );
    assert_eq!(decoding.count(Severity::Info), 5);
    assert_eq!(decoding.error, None);
}

#[test]
fn what_is_missing_reads_as_unset_and_is_reported() {
    let decoding = elements("<threadEnd time=\"1\"/><threadEnd/><gcFinish time=\"1\"/>");
    let reported: Vec<_> = decoding
        .remarks
        .iter()
        .map(|r| r.message.as_str())
        .collect();
    assert_eq!(
        reported,
        [
            "threadEnd: missing attribute threadIdRef, read as unset (2)",
            "threadEnd: missing attribute time, read as unset (1)",
        ]
    );
    assert_eq!(decoding.events.len(), 3);
}

#[test]
fn frames_are_children_of_monitor_events_only() {
    let frame = "<annotation key=\"stackFrame\" value=\"a.B.f()V\" line=\"3\"/>";
    let head = "<monWaited threadIdRef=\"1\" time=\"0.0\" objIdRef=\"2\" timeout=\"0\">";
    let decoding = elements(&format!(
        "{head}\n {frame}<!-- x --><annotation line='4' value='a.B.-init-()V' key='stackFrame'></annotation></monWaited>"
    ));
    assert!(decoding.is_clean(), "{decoding:?}");
    let frame_of = |method: &'static str, line| Frame {
        method: method.into(),
        line,
    };
    let expected = Event::MonitorWaited(MonitorWaited {
        thread: ThreadId(1),
        object: ObjectId(2),
        stack: vec![frame_of("a.B.f()V", 3), frame_of("a.B.<init>()V", 4)],
        ..Default::default()
    });
    assert_eq!(decoding.events, shown(&[expected]));

    let strays = elements(&format!(
        "{frame}<gcStart time=\"0.000000001\">{frame}</gcStart>\
         {head}<annotation key=\"other\" value=\"x\"/><x>{frame}</x></monWaited>"
    ));
    assert_eq!(strays.events.len(), 2);
    assert_eq!(strays.remarks.len(), 2, "{strays:?}");
    assert_eq!(strays.count(Severity::Info), 2);
    let wrong = elements(&format!(
        "{head}<annotation key=\"stackFrame\" value=\"x\" line=\"y\"/></monWaited>"
    ));
    assert!(
        wrong
            .only(Severity::Fault)
            .1
            .contains("skipped: annotation: ")
    );
}

#[test]
fn nesting_and_sizes_have_limits() {
    let deep = "<x>".repeat(1000);
    let decoding = elements(&deep);
    assert_eq!(
        decoding.refused(),
        ((HEAD.len() + 32 * 3) as u64, "elements nest deeper than 32")
    );
    let deep = format!("{}{}", "<x>".repeat(32), "</x>".repeat(32));
    assert_eq!(elements(&deep).error, None);

    let wide: String = (0..65).map(|i| format!(" a{i}=\"\"")).collect();
    assert!(
        elements(&format!("<x{wide}/>"))
            .refused()
            .1
            .contains("more than 64 attributes")
    );

    let large = format!("{HEAD}<custom body=\"{}\"/></TRACE>", "x".repeat(17 << 20));
    for bytes in [
        large.as_bytes(),
        &large.as_bytes()[..HEAD.len() + (17 << 20)],
    ] {
        let decoding = decode_pieces(Format::TptpXml, bytes, 1 << 20);
        assert_eq!(decoding.refused().0, HEAD.len() as u64);
        assert!(decoding.refused().1.contains("larger than 16777216"));
    }
}

#[test]
fn escapes_are_read_in_numbers_and_text() {
    let decoding = elements(
        "<threadEnd threadIdRef=\"&#49;&#x32;\" time=\"1\"/>\
         <custom body=\"&amp;amp; &lt;&gt;&quot;&apos; &#9;&#10;&#13; \t\r\n. &#x1F600;é\"/>",
    );
    assert!(decoding.is_clean());
    let end = ThreadEnd {
        thread: ThreadId(12),
        time: Timestamp(1_000_000_000),
    };
    let body = "&amp; <>\"' \t\n\r   . 😀é".into();
    assert_eq!(
        decoding.events,
        shown(&[Event::ThreadEnd(end), Event::Custom(Custom { body })])
    );
}
