//! The XML spelling: elements written by hand, and what a reader does with documents that are not
//! ours.

mod common;

use common::{
    Decoding, decode, decode_pieces, encoded, every_event, every_message, recoded, shown,
    without_losses,
};
use jtrail_formats::{Format, Severity};
use jtrail_model::*;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TRACE>\n";
const GC: &str = "<gcStart time=\"0.000000001\"/>\n";

fn xml(text: &str) -> Decoding {
    decode(Format::TptpXml, text.as_bytes())
}

/// Decodes elements inside of a document of ours.
fn elements(text: &str) -> Decoding {
    xml(&format!("{HEAD}{text}</TRACE>\n"))
}

fn gc() -> Event<'static> {
    Event::GcStart(GcStart { time: Timestamp(1) })
}

fn document(events: &[Event<'_>]) -> String {
    String::from_utf8(encoded(Format::TptpXml, events)).unwrap()
}

#[test]
fn every_element_is_as_specified() {
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<TRACE>
<node nodeId="6f1c" hostname="höst &quot;a&quot; &amp; &lt;b&gt;" ipaddress="10.0.0.1,127.0.0.1" timezone="-480" time="1700000000.000000007"/>
<processCreate processId="p" name="java" pid="4711" nodeIdRef="6f1c" time="1700000000.000001007" executable="/usr/bin/java"/>
<agentCreate agentId="a" version="0.1.0" processIdRef="p" agentName="jtrail" agentType="Profiler" agentParameters="format=binary,file=a b.trcbin" time="1700000000.000002007"/>
<traceStart traceId="t" agentIdRef="a" time="1700000000.000003007"/>
<filter pattern="org.a" mode="INCLUDE" genericPattern="SUFFIX" methodPattern="" methodMode="INCLUDE" methodGenericPattern="PREFIX"/>
<option key="CPU_TIME" value="true"/>
<threadStart threadId="1" time="1700000000.000004007" threadName="main&#9;thread" groupName="main" parentName="system" objIdRef="7"/>
<threadStart threadId="2" time="1700000000.000004007" threadName="" groupName="" parentName="" objIdRef="0"/>
<runtimeInitDone threadIdRef="1" time="1700000000.000005007"/>
<classDef threadIdRef="1" name="a.B$1" sourceName="B.java" classId="3" objIdRef="8" time="1700000000.000006007"/>
<methodDef name="-init-" signature="(I)V" startLineNumber="10" endLineNumber="12" methodId="4" classIdRef="3"/>
<methodDef name="run" signature="()V" methodId="5" classIdRef="3"/>
<objAlloc threadIdRef="1" time="1700000000.000007007" isArray="11" objId="9" size="24" lineNumber="11" methodIdRef="4" classIdRef="3"/>
<methodEntry threadIdRef="1" time="1700000000.000008007" methodIdRef="5" classIdRef="3" ticket="1" threadCPUTime="0.000023999" stackDepth="1"/>
<monWait threadIdRef="1" time="1700000000.000009007" objIdRef="9" timeout="250"><annotation key="stackFrame" value="java.lang.Object.wait(J)V" line="-2"/><annotation key="stackFrame" value="a.B.-init-([Ljava/lang/String;)V" line="14"/><annotation key="stackFrame" value="a.B.-clinit-()V" line="-1"/></monWait>
<monWaited threadIdRef="1" time="1700000000.000010007" objIdRef="9" timeout="1"/>
<monContendedEnter threadIdRef="2" time="1700000000.000011007" objIdRef="9" threadOwnerIdRef="1"><annotation key="stackFrame" value="java.lang.Object.wait(J)V" line="-2"/><annotation key="stackFrame" value="a.B.-init-([Ljava/lang/String;)V" line="14"/><annotation key="stackFrame" value="a.B.-clinit-()V" line="-1"/></monContendedEnter>
<monContendedEntered threadIdRef="2" time="1700000000.000012007" objIdRef="9"><annotation key="stackFrame" value="java.lang.Object.wait(J)V" line="-2"/><annotation key="stackFrame" value="a.B.-init-([Ljava/lang/String;)V" line="14"/><annotation key="stackFrame" value="a.B.-clinit-()V" line="-1"/></monContendedEntered>
<methodExit threadIdRef="1" methodIdRef="5" classIdRef="3" ticket="1" time="1700000000.000013007" threadCPUTime="0.000024000"/>
<gcStart time="1700000000.000014007"/>
<objFree time="1700000000.000015007" objIdRef="9" objAge="3"/>
<gcFinish time="1700000000.000015007" totalObjSpace="1073741824" usedObjSpace="12345" usedObjects="99"/>
<heapDumpDef heapDumpId="10" time="1700000000.000016007" name="dump" baseTime="1700000000.000003007"/>
<gcRoot classIdRef="3" objIdRef="8" type="SYSTEM_CLASS"/>
<objReference sourceIdRef="8" targetIdRef="7" heapDumpIdRef="10"/>
<custom body="free text, &#10; with a line feed"/>
<agMethodEntry threadIdRef="2" methodIdRef="5" baseTime="0.000000005" minTime="0.000000002" maxTime="0.000000003" baseCPUTime="0.000000004" numCalls="2"/>
<agMethodExit threadIdRef="2" methodIdRef="5"/>
<threadEnd threadIdRef="2" time="1700000000.000017007"/>
<runtimeShutdown threadIdRef="1" time="1700000000.000018007"/>
<traceEnd traceIdRef="t" time="1700000000.000019007"/>
<agentDestroy agentIdRef="a" time="1700000000.000020007"/>
</TRACE>
"#;
    let events = every_message();
    let written = document(&events);
    for (written, expected) in written.lines().zip(expected.lines()) {
        assert_eq!(written, expected);
    }
    assert_eq!(written, expected);
    let decoding = xml(expected);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(decoding.events, shown(&without_losses(&events)));
}

#[test]
fn events_without_an_element_are_custom_ones() {
    let event = Event::ThreadName(ThreadName {
        thread: ThreadId(1),
        time: Timestamp(-2),
        name: "a\u{b} \"<init>\"".into(),
    });
    let text = document(&[event]);
    let expected = "<custom body=\"jtrail thread-name thread=1 time=-2 \
        name=&quot;a\u{fffd} \\&quot;&lt;init&gt;\\&quot;&quot;\"/>\n";
    assert_eq!(text, format!("{HEAD}{expected}</TRACE>\n"));
    let read = Event::ThreadName(ThreadName {
        thread: ThreadId(1),
        time: Timestamp(-2),
        name: "a\u{fffd} \"<init>\"".into(),
    });
    assert_eq!(xml(&text).events, shown(&[read]));
    // What only looks like one stays text.
    for body in [
        "jtrail thread-name thread=1",
        "jtrail unpark thread=1 time=1 more=1",
    ] {
        let decoding = elements(&format!("<custom body=\"{body}\"/>"));
        let body = body.into();
        assert_eq!(decoding.events, shown(&[Event::Custom(Custom { body })]));
    }
}

#[test]
fn unset_attributes_in_brackets_are_left_out() {
    for (event, expected) in [
        (
            Event::ProcessCreate(ProcessCreate::default()),
            r#"<processCreate processId="" pid="0" nodeIdRef="" time="0.000000000"/>"#,
        ),
        (
            Event::ClassDef(ClassDef::default()),
            r#"<classDef name="" classId="0" time="0.000000000"/>"#,
        ),
        (
            Event::MethodDef(MethodDef::default()),
            r#"<methodDef name="" signature="" methodId="0" classIdRef="0"/>"#,
        ),
        (
            Event::MethodEnter(MethodEnter {
                ticket: u32::MAX,
                ..Default::default()
            }),
            r#"<methodEntry threadIdRef="0" time="0.000000000" methodIdRef="0" classIdRef="0" ticket="4294967295" stackDepth="0"/>"#,
        ),
        (
            Event::MethodLeave(MethodLeave::default()),
            r#"<methodExit threadIdRef="0" methodIdRef="0" classIdRef="0" ticket="0" time="0.000000000"/>"#,
        ),
        (
            Event::TraceEnd(TraceEnd::default()),
            r#"<traceEnd time="0.000000000"/>"#,
        ),
        (
            Event::ObjectAlloc(ObjectAlloc::default()),
            r#"<objAlloc time="0.000000000" isArray="0" objId="0" size="0" classIdRef="0"/>"#,
        ),
        (
            Event::GcFinish(GcFinish::default()),
            r#"<gcFinish time="0.000000000"/>"#,
        ),
        (
            Event::RuntimeShutdown(RuntimeShutdown::default()),
            r#"<runtimeShutdown time="0.000000000"/>"#,
        ),
        (
            Event::MonitorContendedEnter(MonitorContendedEnter::default()),
            r#"<monContendedEnter threadIdRef="0" time="0.000000000" objIdRef="0"/>"#,
        ),
        (
            Event::GcRoot(GcRoot::default()),
            r#"<gcRoot objIdRef="0" type=""/>"#,
        ),
        (Event::Custom(Custom::default()), r#"<custom body=""/>"#),
    ] {
        let written = document(std::slice::from_ref(&event));
        assert_eq!(written, format!("{HEAD}{expected}\n</TRACE>\n"));
        let decoding = xml(&written);
        assert!(decoding.is_clean(), "{decoding:?}");
        assert_eq!(decoding.events, shown(&[event]));
    }
}

/// The look of a document of the older agent: no encoding, one line, no end.
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
            "attribute sequence of methodEntry is not known; passed over (1 times, first here)",
            "the attributes of methodEntry stand in another order (1 times, first here)",
            "element oldThing is not known here; passed over (1 times, first here)",
        ]
    );
    let place = text.find("<methodEntry time").unwrap();
    assert_eq!(infos[0].offset, place as u64);
    assert!(decoding.events[4].contains("name: \"<clinit>\""));
    assert!(decoding.events[6].contains("Timestamp(1171278677912812500)"));
}

#[test]
fn pieces_of_any_size_make_no_difference() {
    let text = document(&every_event());
    let with_mark = format!(
        "\u{feff}{}",
        text.replace("<option", "<!-- x -->\n<?pi?> <option")
    );
    for text in [text, with_mark] {
        let whole = xml(&text);
        assert!(whole.is_clean(), "{:?}", whole.remarks);
        for piece in (1..200).chain([1000, text.len() - 1]) {
            assert_eq!(
                decode_pieces(Format::TptpXml, text.as_bytes(), piece),
                whole,
                "{piece}"
            );
        }
    }
}

#[test]
fn a_truncated_document_keeps_its_whole_elements() {
    let events = without_losses(&every_event());
    let text = document(&events);
    let mut places = vec![HEAD.len()];
    for line in text[HEAD.len()..].lines() {
        places.push(places.last().unwrap() + line.len() + 1);
    }
    for cut in 0..text.len() - 1 {
        let decoding = decode(Format::TptpXml, &text.as_bytes()[..cut]);
        let whole = places
            .iter()
            .skip(1)
            .take(events.len())
            .filter(|end| **end - 1 <= cut)
            .count();
        assert_eq!(decoding.events, shown(&events[..whole]), "{cut}");
        assert_eq!(decoding.error, None, "{cut}");
        assert_eq!(decoding.remarks.len(), 1, "{cut}");
        let (place, message) = decoding.only(Severity::Truncated);
        assert_eq!(message, "the trace breaks off: </TRACE> is missing");
        // The place is that of the element cut off, or the end.
        if cut >= HEAD.len() {
            let start = places.iter().rev().find(|start| **start <= cut).unwrap();
            assert!(
                place == *start as u64 || place == cut as u64,
                "{cut}: {place}"
            );
        }
    }
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
        let expected =
            format!("{name} is passed over: the value of {attribute} is none of its type");
        assert_eq!(message, expected);
    }
}

#[test]
fn what_is_unknown_is_told_once_by_name() {
    let decoding = elements(&format!(
        "{GC}<a/><b x=\"1\"><gcStart time=\"5\"/><c/></b><a></a>{GC}\
         <gcStart time=\"0.000000001\" more=\"1\" other=\"2\" transientThreadId=\"3\"/>\
         <gcStart more=\"1\" time=\"0.000000001\"></gcStart>\
         <gcStart time=\"0.000000001\"><a/></gcStart>"
    ));
    assert_eq!(decoding.events, shown(&vec![gc(); 5]));
    let told: Vec<_> = decoding
        .remarks
        .iter()
        .map(|r| r.message.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "element a is not known here; passed over (3 times, first here)",
            "element b is not known here; passed over (1 times, first here)",
            "attribute more of gcStart is not known; passed over (2 times, first here)",
            "attribute other of gcStart is not known; passed over (1 times, first here)",
        ]
    );
    assert_eq!(decoding.count(Severity::Info), 4);
    assert_eq!(decoding.error, None);
}

#[test]
fn what_is_missing_reads_as_unset_and_is_told() {
    let decoding = elements("<threadEnd time=\"1\"/><threadEnd/><gcFinish time=\"1\"/>");
    let told: Vec<_> = decoding
        .remarks
        .iter()
        .map(|r| r.message.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "threadEnd lacks attribute threadIdRef; read as unset (2 times, first here)",
            "threadEnd lacks attribute time; read as unset (1 times, first here)",
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
            .contains("annotation is passed over")
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

#[test]
fn forbidden_characters_are_replaced_in_writing() {
    let body = "a\u{0}\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{fffe}\u{ffff}\u{7f}\u{85}z".into();
    let text = document(&[Event::Custom(Custom { body })]);
    let decoding = xml(&text);
    assert!(decoding.is_clean());
    let r = '\u{fffd}';
    let body = format!("a{r}{r}{r}\t\n{r}{r}\r{r}{r}{r}\u{7f}\u{85}z").into();
    assert_eq!(decoding.events, shown(&[Event::Custom(Custom { body })]));
}

#[test]
fn binary_to_xml_and_back_is_the_same() {
    let events = without_losses(&every_event());
    let binary = encoded(Format::TptpBinary, &events);
    let text = recoded(Format::TptpBinary, &binary, Format::TptpXml);
    assert_eq!(recoded(Format::TptpXml, &text, Format::TptpBinary), binary);
    assert_eq!(recoded(Format::TptpXml, &text, Format::TptpXml), text);
}
