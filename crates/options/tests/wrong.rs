//! Every kind of wrong option text, with the exact line that the user sees.

use std::io;

/// Returns the contents of the files that the cases name.
fn read(path: &str) -> io::Result<String> {
    let text = match path {
        "f.txt" => "a* * INCLUDE\n",
        "two-words.txt" => "a* * INCLUDE\n\nb* EXCLUDE\n",
        "mode.txt" => "a* * INCLUD\n",
        "lower.txt" => "a* * include\n",
        "stars.txt" => "*a* * INCLUDE\n",
        "middle.txt" => "a* g*t INCLUDE\n",
        "empty-pattern.txt" => "\"\" * INCLUDE\n",
        "o.txt" => "* comment\nCPU_TIME = false\n",
        "o-unknown.txt" => "* comment\n\nCOLOUR = red\n",
        "o-misspelt.txt" => "FILTER = true\n",
        "o-nokey.txt" => "= true\n",
        "o-shape.txt" => "FILTERS true\n",
        "o-bool.txt" => "FILTERS = yes\n",
        "o-cpu.txt" => "CPU_TIME = 1\n",
        "o-monitor.txt" => "MONITOR_MODE = al\n",
        "o-gc.txt" => "TRACK_GC_EVENT_TYPES = some\n",
        "o-heap.txt" => "HEAP_INFO_FILE_PREFIX =\n",
        "o-ticket.txt" => "TICKET = false\n",
        "o-twice.txt" => "COMPRESS = x\nCOMPRESS = y\n",
        _ => return Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    };
    Ok(text.to_owned())
}

#[test]
fn wrong_options_say_what_is_wrong() {
    let cases = [
        (
            "fromat=xml",
            r#"option fromat at byte 0: no such option; did you mean "format"?"#,
        ),
        (
            "forma=xml",
            r#"option forma at byte 0: no such option; did you mean "format"?"#,
        ),
        (
            "FORMAT=xml",
            r#"option FORMAT at byte 0: no such option; did you mean "format"?"#,
        ),
        (
            "colour=red",
            r#"option colour at byte 0: no such option; "help" in place of the options lists all"#,
        ),
        (
            "start=main",
            "option start at byte 0: not available in this version",
        ),
        (
            "burst=5",
            r#"option burst at byte 6: no such value "5"; allowed are call, slow, exception, at, every"#,
        ),
        (
            "engine=jvmti,burst=at:1s,burst=call:a.B.c",
            "option burst at byte 31: calls that begin a burst are seen in rewritten classes, and engine=jvmti rewrites none",
        ),
        (
            "format=none,burst=at:1s",
            "option burst at byte 18: format=none writes nothing, so there are no bursts",
        ),
        (
            "burst=at:1s,burst=slow:a.B.c",
            "option burst at byte 18: a time is missing after the method: slow:METHOD:TIME",
        ),
        (
            "server=stand",
            r#"option server at byte 7: no such value "stand"; allowed are standalone, enabled, controlled, application; did you mean "standalone"?"#,
        ),
        (
            "server=standalone,control=x.sock",
            "option control at byte 26: server=standalone has no command channel",
        ),
        (
            "control=off,server=enabled",
            "option control at byte 8: server=enabled needs the command channel",
        ),
        (
            "server=controlled,control=off",
            "option control at byte 26: server=controlled needs the command channel",
        ),
        ("control=", "option control at byte 8: the path is missing"),
        ("control=-", "option control at byte 8: a socket has a path"),
        (
            "control=a%x",
            r#"option control at byte 8: "%x" is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"#,
        ),
        (
            "wait=5",
            r#"option wait at byte 5: "5" is not a time; write it like 500us, 10ms, 2s or 1m"#,
        ),
        (
            "server=standalone,linger=5s",
            "option linger at byte 25: there is no command channel, so no client can come",
        ),
        (
            "linger=5",
            r#"option linger at byte 7: "5" is not a time; write it like 500us, 10ms, 2s or 1m"#,
        ),
        (
            "compat=45",
            r#"option compat at byte 7: no such value "45"; allowed are current, pre45"#,
        ),
        ("xml", r#"options at byte 0: "xml" is not key=value"#),
        (
            "format",
            "option format at byte 0: the value is missing: options are key=value",
        ),
        (
            "fil",
            r#"options at byte 0: "fil" is not key=value; did you mean "file"?"#,
        ),
        ("=xml", r#"options at byte 0: a key is missing before "=""#),
        (
            ",",
            "options at byte 0: an option is missing here: there is one comma too many",
        ),
        (
            "format=xml,",
            "options at byte 11: an option is missing here: there is one comma too many",
        ),
        (
            ",format=xml",
            "options at byte 0: an option is missing here: there is one comma too many",
        ),
        (
            "format=xml,,file=a",
            "options at byte 11: an option is missing here: there is one comma too many",
        ),
        (
            "format=",
            "option format at byte 7: the value is missing; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none",
        ),
        (
            "format=binry",
            r#"option format at byte 7: no such value "binry"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none; did you mean "binary"?"#,
        ),
        (
            "format=XML",
            r#"option format at byte 7: no such value "XML"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none; did you mean "xml"?"#,
        ),
        (
            "format=json",
            r#"option format at byte 7: no such value "json"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none"#,
        ),
        (
            "format=trails",
            r#"option format at byte 7: no such value "trails"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none; did you mean "trail"?"#,
        ),
        (
            "events=lines,format=mlpd",
            "option events at byte 7: mlpd has no field for lines, and no other event is requested",
        ),
        (
            "format=profilerj,events=gc+monitors",
            "option events at byte 24: profilerj has no field for gc+monitors, and no other event is requested",
        ),
        (
            "format=mlpd,execdetails=false",
            "option execdetails at byte 24: mlpd has no field for aggregated calls",
        ),
        (
            "mlpd.version=2",
            r#"option mlpd.version at byte 13: no such value "2"; allowed are 1, 17"#,
        ),
        (
            "tracelog.every-sample=yes",
            r#"option tracelog.every-sample at byte 22: no such value "yes"; allowed are true, false"#,
        ),
        (
            "tracelog.cpu-interval=0",
            r#"option tracelog.cpu-interval at byte 22: "0" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "tracelog.visual-studio=1",
            r#"option tracelog.visual-studio at byte 23: no such value "1"; allowed are true, false"#,
        ),
        (
            "export.min=0ns",
            r#"option export.min at byte 11: "0ns" is out of bounds; allowed is 1ns to 1h"#,
        ),
        (
            "export.min=1",
            r#"option export.min at byte 11: "1" is not a time; write it like 500us, 10ms, 2s or 1m"#,
        ),
        (
            "export.depth=",
            "option export.depth at byte 13: the value is missing; write a number of levels, from 1 to 1000000",
        ),
        (
            "export.depth=0",
            r#"option export.depth at byte 13: "0" is not a number of levels, from 1 to 1000000"#,
        ),
        (
            "export.depth=-1",
            r#"option export.depth at byte 13: "-1" is not a number of levels, from 1 to 1000000"#,
        ),
        (
            "collapsed.weight=time",
            r#"option collapsed.weight at byte 17: no such value "time"; allowed are self, cpu, calls, allocated, blocked, waiting"#,
        ),
        (
            "collapsed.threads=yes",
            r#"option collapsed.threads at byte 18: no such value "yes"; allowed are true, false"#,
        ),
        (
            "collapsed.weight=allocated,format=collapsed",
            "option collapsed.weight at byte 17: collapsed.weight=allocated needs events=+alloc",
        ),
        (
            "format=collapsed,collapsed.weight=waiting,events=+cpu",
            "option events at byte 49: collapsed.weight=waiting needs events=+monitors or events=+parks",
        ),
        (
            "format=collapsed,events=alloc",
            "option events at byte 24: collapsed.weight=self needs events=+methods, of which call paths consist",
        ),
        (
            "format=collapsed,events=alloc,collapsed.weight=allocated",
            "option collapsed.weight at byte 47: collapsed.weight=allocated needs events=+methods, of which call paths consist",
        ),
        (
            "format=collapsed,events=+alloc,collapsed.weight=allocated,execdetails=false",
            "option execdetails at byte 70: collapsed.weight=allocated is not available with execdetails=false, whose sums have times and numbers of calls only",
        ),
        (
            "format=perfetto,min=1us",
            "option min at byte 20: perfetto has no field for aggregated calls; export.min makes short calls part of their callers",
        ),
        (
            "format=chrome,maxrate=1000",
            "option maxrate at byte 22: chrome has no field for aggregated calls; export.min makes short calls part of their callers",
        ),
        (
            "format=chrome,execdetails=false",
            "option execdetails at byte 26: chrome has no field for aggregated calls",
        ),
        // Former names of keys.
        (
            "format=mlpd,mlpd=17",
            r#"option mlpd at byte 12: no such option; did you mean "mlpd.version"?"#,
        ),
        (
            "everysample=true",
            r#"option everysample at byte 0: no such option; did you mean "tracelog.every-sample"?"#,
        ),
        (
            "cpuinterval=20ms",
            r#"option cpuinterval at byte 0: no such option; did you mean "tracelog.cpu-interval"?"#,
        ),
        (
            "visualstudio=true",
            r#"option visualstudio at byte 0: no such option; did you mean "tracelog.visual-studio"?"#,
        ),
        (
            "spool=false",
            r#"option spool at byte 0: no such option; did you mean "trail.spool"?"#,
        ),
        (
            "writers=2",
            r#"option writers at byte 0: no such option; did you mean "trail.writers"?"#,
        ),
        (
            "visualstudio",
            r#"options at byte 0: "visualstudio" is not key=value; did you mean "tracelog.visual-studio"?"#,
        ),
        (
            "tracelog.everysample=true",
            r#"option tracelog.everysample at byte 0: no such option; did you mean "tracelog.every-sample"?"#,
        ),
        (
            "trail.spool",
            "option trail.spool at byte 0: the value is missing: options are key=value",
        ),
        (
            "format=xml,format=binary",
            "option format at byte 11: given twice",
        ),
        ("file=", "option file at byte 5: the path is missing"),
        (
            "file=a%x",
            r#"option file at byte 5: "%x" is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"#,
        ),
        (
            "file=a%",
            r#"option file at byte 5: "%" is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"#,
        ),
        (
            "file=a%é",
            r#"option file at byte 5: "%é" is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"#,
        ),
        (
            r#"file="a"#,
            "option file at byte 5: the closing quotation mark is missing",
        ),
        (
            r#"file="a"b"#,
            "option file at byte 8: only a comma may follow the closing quotation mark",
        ),
        ("file=a,file=b", "option file at byte 7: given twice"),
        (
            "include=",
            "option include at byte 8: the pattern is missing",
        ),
        (
            "include=com/acme/Foo",
            r#"option include at byte 8: class names have dots, not slashes; did you mean "com.acme.Foo"?"#,
        ),
        (
            "include=com..acme",
            r#"option include at byte 8: "com..acme" has an empty part"#,
        ),
        (
            "include=.Foo",
            r#"option include at byte 8: ".Foo" has an empty part"#,
        ),
        (
            "include=com.acme.",
            r#"option include at byte 8: "com.acme." has an empty part"#,
        ),
        (
            "include=com acme",
            r#"option include at byte 8: " " can't be part of a name"#,
        ),
        (
            "include=Foo[]",
            r#"option include at byte 8: "[" can't be part of a name"#,
        ),
        (
            "include=Foo(int)",
            r#"option include at byte 8: "(" can't be part of a name"#,
        ),
        (
            "include=a?b",
            r#"option include at byte 8: "?" can't be part of a name"#,
        ),
        (
            "include=Foo#",
            r##"option include at byte 8: the method is missing after "#""##,
        ),
        (
            "include=#bar",
            r##"option include at byte 8: the class is missing before "#"; * stands for any"##,
        ),
        (
            "include=Foo#a.b",
            r#"option include at byte 8: "." can't be part of a method name"#,
        ),
        (
            "include=Foo#a#b",
            r##"option include at byte 8: "#" can't be part of a method name"##,
        ),
        (
            "exclude=",
            "option exclude at byte 8: the pattern is missing",
        ),
        (
            "exclude=a;b",
            r#"option exclude at byte 8: ";" can't be part of a name"#,
        ),
        ("filters=", "option filters at byte 8: the path is missing"),
        (
            "filters=missing.txt",
            r#"option filters at byte 8: can't read "missing.txt": no such file"#,
        ),
        (
            "filters=f.txt,include=a.B",
            "option include at byte 22: a filter file and include or exclude can't be used together",
        ),
        (
            "include=a.B,filters=f.txt",
            "option filters at byte 20: a filter file and include or exclude can't be used together",
        ),
        (
            "include=a.B,filters=f.txt,exclude=a.C",
            "option exclude at byte 34: a filter file and include or exclude can't be used together",
        ),
        (
            "filters=f.txt,filters=f.txt",
            "option filters at byte 14: given twice",
        ),
        (
            "filters=two-words.txt",
            "two-words.txt:3: 2 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE",
        ),
        (
            "filters=mode.txt",
            r#"mode.txt:1: no such value "INCLUD"; allowed are INCLUDE, EXCLUDE; did you mean "INCLUDE"?"#,
        ),
        (
            "filters=lower.txt",
            r#"lower.txt:1: no such value "include"; allowed are INCLUDE, EXCLUDE; did you mean "INCLUDE"?"#,
        ),
        (
            "filters=stars.txt",
            r#"stars.txt:1: pattern "*a*": one star at most, at the begin or at the end"#,
        ),
        (
            "filters=middle.txt",
            r#"middle.txt:1: pattern "g*t": one star at most, at the begin or at the end"#,
        ),
        (
            "filters=empty-pattern.txt",
            r#"empty-pattern.txt:1: "\"\"" is not a pattern"#,
        ),
        ("options=", "option options at byte 8: the path is missing"),
        (
            "options=missing.txt",
            r#"option options at byte 8: can't read "missing.txt": no such file"#,
        ),
        (
            "options=o.txt,profile=o.txt",
            r#"option profile at byte 14: given twice: it is another name of "options""#,
        ),
        (
            "profile=o.txt,options=o.txt",
            r#"option options at byte 14: given twice: it is another name of "profile""#,
        ),
        (
            "profile=o.txt,profile=o.txt",
            "option profile at byte 14: given twice",
        ),
        (
            "options=o-unknown.txt",
            "o-unknown.txt:3: COLOUR: no such option",
        ),
        (
            "options=o-misspelt.txt",
            r#"o-misspelt.txt:1: FILTER: no such option; did you mean "FILTERS"?"#,
        ),
        (
            "options=o-nokey.txt",
            r#"o-nokey.txt:1: a key is missing before "=""#,
        ),
        (
            "options=o-shape.txt",
            r#"o-shape.txt:1: "FILTERS true" is not KEY = value"#,
        ),
        (
            "options=o-bool.txt",
            r#"o-bool.txt:1: FILTERS: no such value "yes"; allowed are true, false"#,
        ),
        (
            "options=o-cpu.txt",
            r#"o-cpu.txt:1: CPU_TIME: no such value "1"; allowed are true, false"#,
        ),
        (
            "options=o-monitor.txt",
            r#"o-monitor.txt:1: MONITOR_MODE: no such value "al"; allowed are all, none; did you mean "all"?"#,
        ),
        (
            "options=o-gc.txt",
            r#"o-gc.txt:1: TRACK_GC_EVENT_TYPES: no such value "some"; allowed are none, frees, deletes"#,
        ),
        (
            "options=o-heap.txt",
            r#"o-heap.txt:1: HEAP_INFO_FILE_PREFIX: the value is missing"#,
        ),
        (
            "options=o-ticket.txt",
            r#"o-ticket.txt:1: TICKET: always on; "false" is not available"#,
        ),
        (
            "options=o-twice.txt",
            "o-twice.txt:2: COMPRESS is given twice",
        ),
        (
            "events=",
            r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+""#,
        ),
        (
            "events=methods+",
            r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+""#,
        ),
        (
            "events=method",
            r#"option events at byte 7: no such event "method"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "methods"?"#,
        ),
        (
            "events=gc+gc",
            r#"option events at byte 7: "gc" is given twice"#,
        ),
        (
            "events=everything",
            r#"option events at byte 7: no such event "everything"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+""#,
        ),
        (
            "events=+",
            r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+""#,
        ),
        (
            "events=++alloc",
            r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+""#,
        ),
        (
            "events=+alloc+",
            r#"option events at byte 7: a word is missing; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+""#,
        ),
        (
            "events=alloc+alloc",
            r#"option events at byte 7: "alloc" is given twice"#,
        ),
        (
            "events=+all+all",
            r#"option events at byte 7: "all" is given twice"#,
        ),
        (
            "events=allocs",
            r#"option events at byte 7: no such event "allocs"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "alloc"?"#,
        ),
        (
            "events=frees",
            r#"option events at byte 7: no such event "frees"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "free"?"#,
        ),
        (
            "events=+monitor",
            r#"option events at byte 7: no such event "monitor"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "monitors"?"#,
        ),
        (
            "events=park",
            r#"option events at byte 7: no such event "park"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "parks"?"#,
        ),
        (
            "events=exception",
            r#"option events at byte 7: no such event "exception"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "exceptions"?"#,
        ),
        (
            "events=jti",
            r#"option events at byte 7: no such event "jti"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "jit"?"#,
        ),
        (
            "events=CPU",
            r#"option events at byte 7: no such event "CPU"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "cpu"?"#,
        ),
        (
            "events=sample",
            r#"option events at byte 7: no such event "sample"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "samples"?"#,
        ),
        (
            "events=heaps",
            r#"option events at byte 7: no such event "heaps"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "heap"?"#,
        ),
        (
            "events=line",
            r#"option events at byte 7: no such event "line"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "lines"?"#,
        ),
        (
            "events=mount",
            r#"option events at byte 7: no such event "mount"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "mounts"?"#,
        ),
        (
            "events=detail",
            r#"option events at byte 7: no such event "detail"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with "+"; did you mean "details"?"#,
        ),
        (
            "events=lines,engine=jvmti",
            r#"option events at byte 7: engine=jvmti can't record lines, which need rewritten classes"#,
        ),
        (
            "engine=jvmti,events=+parks",
            r#"option events at byte 20: engine=jvmti can't record parks, which need rewritten classes"#,
        ),
        (
            "events=all,engine=jvmti",
            r#"option events at byte 7: engine=jvmti can't record parks and lines, which need rewritten classes"#,
        ),
        (
            "stackdepth=",
            r#"option stackdepth at byte 11: the value is missing; write a number from 0 to 1024"#,
        ),
        (
            "stackdepth=1025",
            r#"option stackdepth at byte 11: "1025" is not a number from 0 to 1024"#,
        ),
        (
            "stackdepth=99999999999",
            r#"option stackdepth at byte 11: "99999999999" is not a number from 0 to 1024"#,
        ),
        (
            "stackdepth=-1",
            r#"option stackdepth at byte 11: "-1" is not a number from 0 to 1024"#,
        ),
        (
            "stackdepth=+1",
            r#"option stackdepth at byte 11: "+1" is not a number from 0 to 1024"#,
        ),
        (
            "stackdepth=all",
            r#"option stackdepth at byte 11: "all" is not a number from 0 to 1024"#,
        ),
        (
            "stackdepth=1,stackdepth=1",
            r#"option stackdepth at byte 13: given twice"#,
        ),
        (
            "alloc=",
            r#"option alloc at byte 6: the value is missing; allowed are jvm, sites"#,
        ),
        (
            "alloc=site",
            r#"option alloc at byte 6: no such value "site"; allowed are jvm, sites; did you mean "sites"?"#,
        ),
        (
            "events=+alloc,engine=jvmti,alloc=sites",
            r#"option alloc at byte 33: alloc=sites is not available with engine=jvmti, which rewrites no classes"#,
        ),
        (
            "alloc=sites,events=free+monitors",
            r#"option alloc at byte 6: alloc=sites gives objects no identity, needed by monitors; use alloc=jvm"#,
        ),
        (
            "events=+alloc+monitors+heap,alloc=sites",
            r#"option alloc at byte 34: alloc=sites gives objects no identity, needed by monitors and heap; use alloc=jvm"#,
        ),
        (
            "allocsites=",
            r#"option allocsites at byte 11: the value is missing; allowed are true, false"#,
        ),
        (
            "allocsites=yes",
            r#"option allocsites at byte 11: no such value "yes"; allowed are true, false"#,
        ),
        (
            "allocsites=True",
            r#"option allocsites at byte 11: no such value "True"; allowed are true, false; did you mean "true"?"#,
        ),
        (
            "interval=",
            r#"option interval at byte 9: the value is missing; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=10",
            r#"option interval at byte 9: "10" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=10us",
            r#"option interval at byte 9: "10us" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=1h",
            r#"option interval at byte 9: "1h" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=ms",
            r#"option interval at byte 9: "ms" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=1.5s",
            r#"option interval at byte 9: "1.5s" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=-1s",
            r#"option interval at byte 9: "-1s" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=10 ms",
            r#"option interval at byte 9: "10 ms" is not a time; write it like 10ms, 2s or 1m"#,
        ),
        (
            "interval=0ms",
            r#"option interval at byte 9: "0ms" is out of bounds; allowed is 1ms to 60m"#,
        ),
        (
            "interval=61m",
            r#"option interval at byte 9: "61m" is out of bounds; allowed is 1ms to 60m"#,
        ),
        (
            "interval=3600001ms",
            r#"option interval at byte 9: "3600001ms" is out of bounds; allowed is 1ms to 60m"#,
        ),
        (
            "interval=99999999999999999999s",
            r#"option interval at byte 9: "99999999999999999999s" is out of bounds; allowed is 1ms to 60m"#,
        ),
        (
            "interval=18446744073709551615m",
            r#"option interval at byte 9: "18446744073709551615m" is out of bounds; allowed is 1ms to 60m"#,
        ),
        (
            "heap=",
            r#"option heap at byte 5: a word is missing; allowed are exit, request, gc, forced, joined with "+""#,
        ),
        (
            "heap=exit+",
            r#"option heap at byte 5: a word is missing; allowed are exit, request, gc, forced, joined with "+""#,
        ),
        (
            "heap=+gc",
            r#"option heap at byte 5: a word is missing; allowed are exit, request, gc, forced, joined with "+""#,
        ),
        (
            "heap=exits",
            r#"option heap at byte 5: no such moment "exits"; allowed are exit, request, gc, forced, joined with "+"; did you mean "exit"?"#,
        ),
        (
            "heap=all",
            r#"option heap at byte 5: no such moment "all"; allowed are exit, request, gc, forced, joined with "+""#,
        ),
        (
            "heap=gc+gc",
            r#"option heap at byte 5: "gc" is given twice"#,
        ),
        (
            "execdetails=",
            r#"option execdetails at byte 12: the value is missing; allowed are true, false"#,
        ),
        (
            "execdetails=no",
            r#"option execdetails at byte 12: no such value "no"; allowed are true, false"#,
        ),
        (
            "execdetail=true",
            r#"option execdetail at byte 0: no such option; did you mean "execdetails"?"#,
        ),
        (
            "trivial=leave",
            r#"option trivial at byte 8: no such value "leave"; allowed are trace, skip"#,
        ),
        (
            "engine=jvmti,trivial=skip",
            "option trivial at byte 21: trivial=skip is not available with engine=jvmti, which sees every call",
        ),
        (
            "engine=",
            "option engine at byte 7: the value is missing; allowed are bytecode, jvmti",
        ),
        (
            "engine=jvm",
            r#"option engine at byte 7: no such value "jvm"; allowed are bytecode, jvmti; did you mean "jvmti"?"#,
        ),
        (
            "engine=byte code",
            r#"option engine at byte 7: no such value "byte code"; allowed are bytecode, jvmti; did you mean "bytecode"?"#,
        ),
        (
            "clock=tick,engine=jvmti",
            "option clock at byte 6: clock=tick is not available with engine=jvmti, which has no compiled hooks",
        ),
        (
            "events=+cpu,clock=tick",
            "option clock at byte 18: clock=tick is not available with events=cpu, which reads a clock at each call",
        ),
        (
            "tick=9us",
            r#"option tick at byte 5: "9us" is out of bounds; allowed is 10us to 10ms"#,
        ),
        (
            "tick=11ms",
            r#"option tick at byte 5: "11ms" is out of bounds; allowed is 10us to 10ms"#,
        ),
        (
            "tick=50",
            r#"option tick at byte 5: "50" is not a time; write it like 500us, 10ms, 2s or 1m"#,
        ),
        (
            "clock=exakt",
            r#"option clock at byte 6: no such value "exakt"; allowed are exact, tick; did you mean "exact"?"#,
        ),
        (
            "min=0ms",
            r#"option min at byte 4: "0ms" is out of bounds; allowed is 1ns to 1h"#,
        ),
        (
            "min=2h",
            r#"option min at byte 4: "2h" is out of bounds; allowed is 1ns to 1h"#,
        ),
        (
            "min=5",
            r#"option min at byte 4: "5" is not a time; write it like 500us, 10ms, 2s or 1m"#,
        ),
        (
            "maxrate=",
            "option maxrate at byte 8: the value is missing; write a number of calls a second, from 10 to 1000000000000",
        ),
        (
            "maxrate=9",
            r#"option maxrate at byte 8: "9" is not a number of calls a second, from 10 to 1000000000000"#,
        ),
        (
            "maxrate=100k",
            r#"option maxrate at byte 8: "100k" is not a number of calls a second, from 10 to 1000000000000"#,
        ),
        (
            "format=mlpd,min=1ms",
            "option min at byte 16: mlpd has no field for aggregated calls",
        ),
        (
            "maxrate=1000,min=1ms,format=mlpd",
            "option min at byte 17: mlpd has no field for aggregated calls",
        ),
        (
            "min=1ms,format=profilerj",
            "option min at byte 4: format=profilerj adds all calls up",
        ),
        (
            "execdetails=false,maxrate=1000",
            "option maxrate at byte 26: execdetails=false adds all calls up",
        ),
        (
            "maxsize=1023k",
            r#"option maxsize at byte 8: "1023k" is out of bounds; allowed is 1m to 1048576g"#,
        ),
        (
            "maxsize=big",
            r#"option maxsize at byte 8: "big" is not a size; write it like 65536, 512k, 64m or 1g"#,
        ),
        (
            "atmaxsize=rong",
            r#"option atmaxsize at byte 10: no such value "rong"; allowed are rotate, ring; did you mean "ring"?"#,
        ),
        (
            "atmaxsize=ring,maxsize=7m",
            "option maxsize at byte 23: 7m is too small for atmaxsize=ring, which takes 8m at least",
        ),
        (
            "maxsize=64m,file=-",
            "option maxsize at byte 8: standard output can't be split into files; name a file",
        ),
        (
            "format=profilerj,maxsize=64m",
            "option maxsize at byte 25: format=profilerj adds calls up, and writes the sums at the end, whatever their size",
        ),
        (
            "format=collapsed,maxsize=64m",
            "option maxsize at byte 25: format=collapsed adds calls up, and writes the sums at the end, whatever their size",
        ),
        (
            "maxsize=64m,execdetails=false",
            "option maxsize at byte 8: execdetails=false adds calls up, and writes the sums at the end, whatever their size",
        ),
        (
            "overflow=ring,save=exit+slow:a.B.c",
            "option save at byte 19: a time is missing after the method: slow:METHOD:TIME",
        ),
        (
            "overflow=ring,save=every:1m",
            r#"option save at byte 19: no such moment "every:1m"; allowed are exit, request, oom, joined with "+""#,
        ),
        (
            "overflow=ring,engine=jvmti,save=call:a.B.c",
            "option save at byte 32: calls that begin a burst are seen in rewritten classes, and engine=jvmti rewrites none",
        ),
        (
            "overflow=ring,events=+monitors+lines",
            "option overflow at byte 9: ring is not available with events=lines",
        ),
        (
            "events=all,overflow=ring",
            "option overflow at byte 20: ring is not available with events=heap+lines",
        ),
        (
            "format=profilerj,overflow=ring",
            "option overflow at byte 26: ring is not available with format=profilerj",
        ),
        (
            "overflow=ring,execdetails=false",
            "option overflow at byte 9: ring is not available with execdetails=false",
        ),
        (
            "overflow=ring,format=none",
            "option overflow at byte 9: ring is not available with format=none",
        ),
        (
            "overflow=ring,server=controlled",
            "option overflow at byte 9: ring is not available with server=controlled",
        ),
        (
            "overflow=ring,server=application",
            "option overflow at byte 9: ring is not available with server=application",
        ),
        (
            "overflow=ring,burst=at:1s",
            "option overflow at byte 9: ring is not available with burst",
        ),
        (
            "overflow=ring,maxsize=1g",
            "option overflow at byte 9: ring is not available with maxsize: a ring has the size of buffer",
        ),
        (
            "overflow=ring,file=-",
            "option overflow at byte 9: ring is not available with file=-",
        ),
        (
            "overflow=ring,save=exits",
            r#"option save at byte 19: no such moment "exits"; allowed are exit, request, oom, joined with "+"; did you mean "exit"?"#,
        ),
        (
            "overflow=lose",
            r#"option overflow at byte 9: no such value "lose"; allowed are block, drop, ring"#,
        ),
        (
            "priority=high",
            r#"option priority at byte 9: no such value "high"; allowed are normal, low"#,
        ),
        (
            "trail.writers=9",
            r#"option trail.writers at byte 14: "9" is not auto, nor a number from 0 to 8"#,
        ),
        (
            "trail.writers=",
            r#"option trail.writers at byte 14: "" is not auto, nor a number from 0 to 8"#,
        ),
        (
            "buffer=",
            "option buffer at byte 7: the value is missing; write it like 65536, 512k, 64m or 1g",
        ),
        (
            "buffer=64",
            r#"option buffer at byte 7: "64" is out of bounds; allowed is 1m to 64g"#,
        ),
        (
            "buffer=1023k",
            r#"option buffer at byte 7: "1023k" is out of bounds; allowed is 1m to 64g"#,
        ),
        (
            "buffer=65g",
            r#"option buffer at byte 7: "65g" is out of bounds; allowed is 1m to 64g"#,
        ),
        (
            "buffer=64mb",
            r#"option buffer at byte 7: "64mb" is not a size; write it like 65536, 512k, 64m or 1g"#,
        ),
        (
            "buffer=-1",
            r#"option buffer at byte 7: "-1" is not a size; write it like 65536, 512k, 64m or 1g"#,
        ),
        (
            "buffer=m",
            r#"option buffer at byte 7: "m" is not a size; write it like 65536, 512k, 64m or 1g"#,
        ),
        (
            "buffer=1.5m",
            r#"option buffer at byte 7: "1.5m" is not a size; write it like 65536, 512k, 64m or 1g"#,
        ),
        (
            "buffer=99999999999999999999",
            r#"option buffer at byte 7: "99999999999999999999" is too large"#,
        ),
        (
            "buffer=99999999999g",
            r#"option buffer at byte 7: "99999999999g" is too large"#,
        ),
        (
            "onerror=ignore",
            r#"option onerror at byte 8: no such value "ignore"; allowed are stop, continue"#,
        ),
        (
            "onerror=Continue",
            r#"option onerror at byte 8: no such value "Continue"; allowed are stop, continue; did you mean "continue"?"#,
        ),
        (
            "format=x\ny",
            r#"option format at byte 7: no such value "x\ny"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none"#,
        ),
        (
            "JPIAgent",
            "options at byte 8: no profiler is named; write for instance JPIAgent:server=standalone;CGProf",
        ),
        (
            "JPIAgent:server=standalone",
            "options at byte 26: no profiler is named; write for instance JPIAgent:server=standalone;CGProf",
        ),
        (
            "JPIAgent:server=stand;CGProf",
            r#"option server at byte 16: no such value "stand"; allowed are standalone, enabled, controlled, application; did you mean "standalone"?"#,
        ),
        (
            "JPIAgent:;CGProf",
            "options at byte 9: an option is missing here",
        ),
        (
            "JPIAgent:file;CGProf",
            r#"options at byte 9: "file" is not key=value"#,
        ),
        (
            "JPIAgent:file=;CGProf",
            "option file at byte 14: the path is missing",
        ),
        (
            "JPIAgent:foo=1;CGProf",
            "option foo at byte 9: no such option; allowed are server, file, filters, profile, format",
        ),
        (
            "JPIAgent:format=none;CGProf",
            r#"option format at byte 16: no such value "none"; allowed are xml, binary"#,
        ),
        (
            "JPIAgent:format=xml,format=xml;CGProf",
            "option format at byte 20: given twice",
        ),
        (
            "JPIAgent;CGProf;CGProf",
            r#"options at byte 16: "CGProf" is given twice"#,
        ),
        (
            "JPIAgent;CPProf",
            r#"options at byte 9: no such profiler "CPProf"; allowed are CGProf, HeapProf, ThreadProf; did you mean "CGProf"?"#,
        ),
        (
            "JPIAgent;CGProf:execdetails=yes",
            r#"option execdetails at byte 28: no such value "yes"; allowed are true, false"#,
        ),
        (
            "JPIAgent;CGProf:allocsites=true",
            "option allocsites at byte 16: no such option; allowed is execdetails",
        ),
        (
            "JPIAgent;HeapProf;CGProf;HeapProf",
            r#"options at byte 25: "HeapProf" is given twice"#,
        ),
        (
            "JPIAgent;HeapProf:execdetails=true",
            r#"option execdetails at byte 18: no such option; allowed is allocsites"#,
        ),
        (
            "JPIAgent;HeapProf:allocsites=1",
            r#"option allocsites at byte 29: no such value "1"; allowed are true, false"#,
        ),
        (
            "JPIAgent;HeapProf:allocsite=true",
            r#"option allocsite at byte 18: no such option; allowed is allocsites; did you mean "allocsites"?"#,
        ),
        (
            "JPIAgent;ThreadProf:stackdepth=3",
            r#"option stackdepth at byte 20: no such option; this profiler has none"#,
        ),
        (
            "JPIAgent:execdetails=true;CGProf",
            r#"option execdetails at byte 9: no such option; allowed are server, file, filters, profile, format"#,
        ),
        (
            "JPIAgent;CGProf:",
            "options at byte 16: an option is missing here",
        ),
        (
            "JPIAgent;",
            r#"options at byte 9: no such profiler ""; allowed are CGProf, HeapProf, ThreadProf"#,
        ),
        (
            "JPIAgent:filters=two-words.txt;CGProf",
            "two-words.txt:3: 2 words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE",
        ),
        (
            "JPIAgent:profile=o-cpu.txt;CGProf",
            r#"o-cpu.txt:1: CPU_TIME: no such value "1"; allowed are true, false"#,
        ),
        (
            "jpiagent;CGProf",
            r#"options at byte 0: "jpiagent;CGProf" is not key=value; did you mean "JPIAgent"?"#,
        ),
    ];
    for (text, expected) in cases {
        let error = jtrail_options::parse(text, &read).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
        assert!(!error.is_help(), "{text}");
        assert_eq!(error.may_continue(), text.starts_with("JPIAgent"), "{text}");
    }
}

/// In the agent, the triggers of a method are bits of a word.
#[test]
fn there_are_at_most_31_triggers() {
    let bursts = |count: usize| vec!["burst=at:1s"; count].join(",");
    let saving =
        |count: usize| format!("overflow=ring,save={}", vec!["call:a.B.c"; count].join("+"));
    for text in [bursts(31), saving(31)] {
        assert!(jtrail_options::parse(&text, &read).is_ok(), "{text}");
    }
    for (text, expected) in [
        (
            bursts(32),
            "option burst at byte 378: at most 31 bursts are allowed",
        ),
        (
            saving(32),
            "option save at byte 19: at most 31 triggers are allowed",
        ),
    ] {
        let error = jtrail_options::parse(&text, &read).expect_err(&text);
        assert_eq!(error.to_string(), expected);
    }
}
