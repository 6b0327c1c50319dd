//! The TPTP XML format: written documents, and reading them back.

use crate::common::document::{HEAD, document, elements, xml};
use crate::common::{
    decode, decode_pieces, encoded, every_event, every_message, recoded, shown, without_losses,
};
use jtrail_formats::{Format, Severity};
use jtrail_model::*;

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
<gcFinish time="1700000000.000015007" totalObjSpace="1073741824" usedObjSpace="12345" usedObjects="99"/>
<objFree time="1700000000.000015007" objIdRef="9" objAge="3"/>
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
    // Text that only resembles an event stays text.
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
            ProcessCreate::default().into(),
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
        assert_eq!(message, "the trace is truncated: missing </TRACE>");
        // The position is that of the element that was cut, or the end.
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
