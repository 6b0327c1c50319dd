//! Wrong options, filter files and options files, each with the line that the user sees.

/// In which JVMs a row is tried, besides the parser.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Jvms {
    No,
    Newest,
    All,
}
use Jvms::{All, Newest, No};

/// What was given, what it gets, and where that is tried.
pub(super) type Row = (&'static str, &'static str, Jvms);

/// Option texts. The JVM's exit code is 1; after text in TPTP's spelling the program runs, without a trace.
#[rustfmt::skip]
pub(super) const OPTIONS: &[Row] = &[
    // The shape.
    ("xml", r#"options at byte 0: "xml" is not key=value"#, Newest),
    ("fil", r#"options at byte 0: "fil" is not key=value; did you mean "file"?"#, No),
    ("=xml", r#"options at byte 0: a key is missing before "=""#, No),
    ("format", "option format at byte 0: the value is missing: options are key=value", No),
    (",", "options at byte 0: an option is missing here: there is a comma too much", No),
    ("format=xml,", "options at byte 11: an option is missing here: there is a comma too much", Newest),
    ("format=xml,,file=a", "options at byte 11: an option is missing here: there is a comma too much", No),
    ("format=xml;file=a", r#"option format at byte 7: no such value "xml;file=a"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none; did you mean "xml"?"#, No),
    ("format=xml, file=a", "option  file at byte 11: no such option; did you mean \"file\"?", No),
    (r#"file="a"#, "option file at byte 5: the closing quotation mark is missing", Newest),
    (r#"file="a"b"#, "option file at byte 8: only a comma may follow the closing quotation mark", No),
    ("format=xml,format=binary", "option format at byte 11: given twice", Newest),
    // Keys.
    ("fromat=xml", r#"option fromat at byte 0: no such option; did you mean "format"?"#, All),
    ("FORMAT=xml", r#"option FORMAT at byte 0: no such option; did you mean "format"?"#, No),
    ("colour=red", "option colour at byte 0: no such option; there are format, file, include, exclude, filters, options, events, stackdepth, alloc, allocsites, interval, heap, execdetails, mlpd, everysample, cpuinterval, visualstudio, engine, clock, overflow, buffer, server, control, wait, compat, burst, onerror", No),
    ("a\u{1b}[2Jb=1", "option a\\u{1b}[2Jb at byte 0: no such option; there are format, file, include, exclude, filters, options, events, stackdepth, alloc, allocsites, interval, heap, execdetails, mlpd, everysample, cpuinterval, visualstudio, engine, clock, overflow, buffer, server, control, wait, compat, burst, onerror", No),
    ("start=main", "option start at byte 0: not available in this version", Newest),
    ("server=controlled", r#"option server at byte 7: "controlled" is not available in this version"#, Newest),
    ("server=stand", r#"option server at byte 7: no such value "stand"; allowed are standalone, enabled, controlled, application; did you mean "standalone"?"#, No),
    ("server=standalone,control=x.sock", "option control at byte 26: server=standalone has no command channel", No),
    ("control=off,server=controlled", "option control at byte 8: server=controlled needs the command channel", No),
    ("control=-", "option control at byte 8: a socket has a path", No),
    ("wait=5", r#"option wait at byte 5: "5" is not a time; write it like 500us, 10ms, 2s or 1m"#, No),
    ("compat=45", r#"option compat at byte 7: no such value "45"; allowed are current, pre45"#, No),
    ("burst=at:1s", r#"option burst at byte 6: "at:1s" is not available in this version"#, Newest),
    ("burst=5", r#"option burst at byte 6: no such value "5"; allowed are call, slow, exception, at, every"#, No),
    ("burst=call:a.B.c:0", r#"option burst at byte 6: "0" is not a number from 1"#, No),
    ("burst=slow:a.B.c", "option burst at byte 6: a time is missing behind the method: slow:METHOD:TIME", No),
    ("burst=every:5s", "option burst at byte 6: a burst of 10s can't begin every 5s; make it shorter", No),
    // format, file.
    ("format=", "option format at byte 7: the value is missing; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none", No),
    ("format=binry", r#"option format at byte 7: no such value "binry"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none; did you mean "binary"?"#, Newest),
    ("format=XML", r#"option format at byte 7: no such value "XML"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none; did you mean "xml"?"#, No),
    ("format=json", r#"option format at byte 7: no such value "json"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none"#, No),
    ("format=x\ny", r#"option format at byte 7: no such value "x\ny"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none"#, Newest),
    ("format=trails", r#"option format at byte 7: no such value "trails"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, none; did you mean "trail"?"#, No),
    ("format=mlpd,events=lines", "option events at byte 19: mlpd has no place for lines, and nothing else is asked for", Newest),
    ("format=profilerj,events=gc+monitors", "option events at byte 24: profilerj has no place for gc+monitors, and nothing else is asked for", No),
    ("execdetails=false,format=jinsight", "option execdetails at byte 12: jinsight has no place for calls that are added up", Newest),
    ("format=mlpd,mlpd=2", r#"option mlpd at byte 17: no such value "2"; allowed are 1, 17"#, Newest),
    ("mlpd=", "option mlpd at byte 5: the value is missing; allowed are 1, 17", No),
    ("everysample=yes", r#"option everysample at byte 12: no such value "yes"; allowed are true, false"#, No),
    ("cpuinterval=0", r#"option cpuinterval at byte 12: "0" is not a time; write it like 10ms, 2s or 1m"#, No),
    ("cpuinterval=0ms", r#"option cpuinterval at byte 12: "0ms" is out of bounds; allowed is 1ms to 60m"#, No),
    ("visualstudio=1", r#"option visualstudio at byte 13: no such value "1"; allowed are true, false"#, No),
    ("file=", "option file at byte 5: the path is missing", Newest),
    ("file=a%x", r#"option file at byte 5: "%x" is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"#, Newest),
    ("file=a%", r#"option file at byte 5: "%" is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"#, No),
    // include, exclude.
    ("include=", "option include at byte 8: the pattern is missing", No),
    ("include=com/acme/Foo", r#"option include at byte 8: class names have dots, not slashes; did you mean "com.acme.Foo"?"#, Newest),
    ("include=com..acme", r#"option include at byte 8: "com..acme" has an empty part"#, No),
    ("include=Foo(int)", r#"option include at byte 8: "(" can't be part of a name"#, No),
    ("include=Foo#", r##"option include at byte 8: the method is missing behind "#""##, No),
    ("include=#bar", r##"option include at byte 8: the class is missing before "#"; * stands for any"##, No),
    ("include=Foo#a#b", r##"option include at byte 8: "#" can't be part of a method name"##, No),
    ("exclude=a b", r#"option exclude at byte 8: " " can't be part of a name"#, Newest),
    // events, engine, clock, overflow.
    ("events=", r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, all, joined with "+""#, No),
    ("events=methods+", r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, all, joined with "+""#, No),
    ("events=method", r#"option events at byte 7: no such event "method"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, all, joined with "+"; did you mean "methods"?"#, Newest),
    ("events=gc+gc", r#"option events at byte 7: "gc" is given twice"#, No),
    ("events=allocs", r#"option events at byte 7: no such event "allocs"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, all, joined with "+"; did you mean "alloc"?"#, Newest),
    ("events=+", r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, all, joined with "+""#, No),
    ("events=lines,engine=jvmti", r#"option events at byte 7: lines can't be had with engine=jvmti, which rewrites no classes"#, Newest),
    ("stackdepth=1025", r#"option stackdepth at byte 11: "1025" is not a number from 0 to 1024"#, No),
    ("allocsites=yes", r#"option allocsites at byte 11: no such value "yes"; allowed are true, false"#, No),
    ("interval=10", r#"option interval at byte 9: "10" is not a time; write it like 10ms, 2s or 1m"#, No),
    ("interval=0ms", r#"option interval at byte 9: "0ms" is out of bounds; allowed is 1ms to 60m"#, No),
    ("heap=never", r#"option heap at byte 5: no such moment "never"; allowed are exit, request, gc, joined with "+""#, No),
    ("execdetails=no", r#"option execdetails at byte 12: no such value "no"; allowed are true, false"#, No),
    ("engine=jvm", r#"option engine at byte 7: no such value "jvm"; allowed are bytecode, jvmti; did you mean "jvmti"?"#, No),
    ("clock=tick", r#"option clock at byte 6: "tick" is not available in this version"#, No),
    ("overflow=lose", r#"option overflow at byte 9: no such value "lose"; allowed are block, drop"#, No),
    // buffer, onerror.
    ("buffer=", "option buffer at byte 7: the value is missing; write it like 65536, 512k, 64m or 1g", No),
    ("buffer=0", r#"option buffer at byte 7: "0" is out of bounds; allowed is 1m to 64g"#, Newest),
    ("buffer=65g", r#"option buffer at byte 7: "65g" is out of bounds; allowed is 1m to 64g"#, No),
    ("buffer=-1", r#"option buffer at byte 7: "-1" is not a size; write it like 65536, 512k, 64m or 1g"#, No),
    ("buffer=64mb", r#"option buffer at byte 7: "64mb" is not a size; write it like 65536, 512k, 64m or 1g"#, No),
    ("buffer=99999999999g", r#"option buffer at byte 7: "99999999999g" is too large"#, Newest),
    ("onerror=ignore", r#"option onerror at byte 8: no such value "ignore"; allowed are stop, continue"#, Newest),
    // Files that can't be had.
    ("filters=", "option filters at byte 8: the path is missing", No),
    ("filters=missing", r#"option filters at byte 8: can't read "missing": No such file or directory (os error 2)"#, Newest),
    ("filters=.", r#"option filters at byte 8: can't read ".": Is a directory (os error 21)"#, Newest),
    ("filters=/dev/zero", r#"option filters at byte 8: can't read "/dev/zero": it is larger than 16777216 bytes"#, Newest),
    ("filters=/proc/self/exe", r#"option filters at byte 8: can't read "/proc/self/exe": stream did not contain valid UTF-8"#, Newest),
    ("options=missing", r#"option options at byte 8: can't read "missing": No such file or directory (os error 2)"#, No),
    ("filters=rules,include=a.B", "option include at byte 14: a filter file and include or exclude can't be used together", No),
    // TPTP's spelling.
    ("JPIAgent", "options at byte 8: no profiler is named; write for instance JPIAgent:server=standalone;CGProf", All),
    ("JPIAgent:server=controlled;CGProf", r#"option server at byte 16: "controlled" is not available in this version"#, Newest),
    ("JPIAgent:;CGProf", "options at byte 9: an option is missing here", No),
    ("JPIAgent:foo=1;CGProf", "option foo at byte 9: no such option; allowed are server, file, filters, profile, format", No),
    ("JPIAgent:format=none;CGProf", r#"option format at byte 16: no such value "none"; allowed are xml, binary"#, No),
    ("JPIAgent;CPProf", r#"options at byte 9: no such profiler "CPProf"; allowed are CGProf, HeapProf, ThreadProf; did you mean "CGProf"?"#, Newest),
    ("JPIAgent;HeapProf:execdetails=true", r#"option execdetails at byte 18: no such option; allowed is allocsites"#, No),
    ("JPIAgent;CGProf;CGProf", r#"options at byte 16: "CGProf" is given twice"#, No),
    ("JPIAgent;CGProf:execdetails=no", r#"option execdetails at byte 28: no such value "no"; allowed are true, false"#, No),
    ("JPIAgent;", r#"options at byte 9: no such profiler ""; allowed are CGProf, HeapProf, ThreadProf"#, No),
];

/// What stands in a filter file named `rules`. The JVM's exit code is 1.
#[rustfmt::skip]
pub(super) const FILTERS: &[Row] = &[
    ("harness.Fib\n", "rules:1: 1 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE", Newest),
    ("a* * INCLUDE\n\nb* EXCLUDE\n", "rules:3: 2 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE", All),
    ("a b c d\n", "rules:1: 4 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE", No),
    ("\u{feff}a* * INCLUD\r\n", r#"rules:1: no such value "INCLUD"; allowed are INCLUDE, EXCLUDE; did you mean "INCLUDE"?"#, No),
    ("a* * include\n", r#"rules:1: no such value "include"; allowed are INCLUDE, EXCLUDE; did you mean "INCLUDE"?"#, Newest),
    ("*a* * INCLUDE\n", r#"rules:1: pattern "*a*": one star at most, at the begin or at the end"#, No),
    ("a* g*t INCLUDE\n", r#"rules:1: pattern "g*t": one star at most, at the begin or at the end"#, No),
    ("** * INCLUDE\n", r#"rules:1: pattern "**": one star at most, at the begin or at the end"#, No),
    ("\"\" * INCLUDE\n", r#"rules:1: "\"\"" is not a pattern"#, No),
    ("\"a * INCLUDE\n", r#"rules:1: "\"a" is not a pattern"#, No),
    ("\0\0\0\0\n", "rules:1: 1 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE", Newest),
    ("# a comment\n", r##"rules:1: no such value "comment"; allowed are INCLUDE, EXCLUDE"##, No),
    ("<TRACE>\n</TRACE>\n", "rules:1: 1 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE", No),
    ("a * \u{1b}[2J\n", r#"rules:1: no such value "\u{1b}[2J"; allowed are INCLUDE, EXCLUDE"#, No),
];

/// What stands in an options file named `settings`. The JVM's exit code is 1.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Row] = &[
    ("* comment\n\nCOLOUR = red\n", "settings:3: COLOUR: no such option", Newest),
    ("FILTER = true\n", r#"settings:1: FILTER: no such option; did you mean "FILTERS"?"#, No),
    ("filters = true\n", r#"settings:1: filters: no such option; did you mean "FILTERS"?"#, No),
    ("= true\n", r#"settings:1: a key is missing before "=""#, No),
    ("FILTERS true\n", r#"settings:1: "FILTERS true" is not KEY = value"#, Newest),
    ("FILTERS = yes\n", r#"settings:1: FILTERS: no such value "yes"; allowed are true, false"#, No),
    ("FILTERS =\n", "settings:1: FILTERS: the value is missing; allowed are true, false", No),
    ("CPU_TIME = 1\n", r#"settings:1: CPU_TIME: no such value "1"; allowed are true, false"#, Newest),
    ("MONITOR_MODE = some\n", r#"settings:1: MONITOR_MODE: no such value "some"; allowed are all, none"#, No),
    ("TRACK_GC_EVENT_TYPES = some\n", r#"settings:1: TRACK_GC_EVENT_TYPES: no such value "some"; allowed are none, frees, deletes"#, No),
    ("TICKET = false\n", r#"settings:1: TICKET: always on; "false" can't be had"#, No),
    ("COMPRESS = x\nCOMPRESS = y\n", "settings:2: COMPRESS is given twice", Newest),
    ("a\u{1b}[2J = 1\n", r"settings:1: a\u{1b}[2J: no such option", No),
    ("// a comment\n", r#"settings:1: "// a comment" is not KEY = value"#, No),
];
