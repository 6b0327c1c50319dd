//! Valid option texts, and their meaning.

use jtrail_options::{
    AllocMode, AtMaxSize, Burst, ClassVerdict, Compat, Control, Engine, Events, HeapMoments,
    MlpdVersion, OnError, Options, OutputFormat, Overflow, Priority, Server, TraceChange, Weight,
    keys, parse,
};
use std::io;
use std::time::Duration;

fn read(path: &str) -> io::Result<String> {
    match path {
        "rules.txt" => Ok(
            "\u{feff}\"org.acme.Foo\" get* EXCLUDE\r\n\r\norg.acme* * INCLUDE\n\
            *Test * EXCLUDE\n* <clinit> EXCLUDE\n"
                .to_owned(),
        ),
        "opts.txt" => Ok(
            "* a comment = none\n\nFILTERS = false\nOPTIONS=true\nCPU_TIME = false\n\
            TICKET = true\nCOMPRESS = whatever\norg.eclipse.x = y = z\nHEAP_INFO_FILE_PREFIX = h\n"
                .to_owned(),
        ),
        "o-cpu.txt" => Ok("CPU_TIME = true\n".to_owned()),
        "o-all.txt" => {
            Ok("MONITOR_MODE = all\nTRACK_GC_EVENT_TYPES = frees\nCPU_TIME=false\n".to_owned())
        }
        "o-none.txt" => Ok("MONITOR_MODE = none\nTRACK_GC_EVENT_TYPES = none\n".to_owned()),
        "o-deletes.txt" => Ok("TRACK_GC_EVENT_TYPES = deletes\n".to_owned()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    }
}

fn ok(text: &str) -> Options {
    parse(text, &read).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn pairs(options: &Options) -> Vec<String> {
    options
        .in_force()
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect()
}

#[test]
fn the_coarse_clock_ticks_as_asked() {
    let options = ok("clock=tick");
    assert!(options.has_ticks());
    assert_eq!(options.tick, Duration::from_micros(50));
    assert!(pairs(&options).contains(&"tick=50us".to_owned()));
    for (text, tick) in [("10us", 10), ("200us", 200), ("10ms", 10_000)] {
        let options = ok(&format!("clock=tick,tick={text}"));
        assert_eq!(options.tick, Duration::from_micros(tick));
        assert!(pairs(&options).contains(&format!("tick={text}")));
    }
    let exact = ok("tick=1ms");
    assert!(!exact.has_ticks());
    assert!(!pairs(&exact).iter().any(|pair| pair.starts_with("tick")));
}

#[test]
fn nothing_means_the_defaults() {
    let options = ok("");
    assert_eq!(
        pairs(&options),
        [
            "format=xml",
            "file=trace.trcxml",
            "onerror=stop",
            "events=methods+threads+classes+gc",
            "execdetails=true",
            "trivial=trace",
            "engine=bytecode",
            "clock=exact",
            "alloc=jvm",
            "allocsites=false",
            "heap=exit+request",
            "stackdepth=16",
            "interval=10ms",
            "buffer=64m",
            "overflow=block",
            "priority=normal",
            "server=standalone",
        ]
    );
    assert!(options.write_filters && options.write_options);
    assert!(options.exec_details && !options.alloc_sites);
    assert_eq!(options.heap_name, "heapdump");
    assert!(options.filter.rules().is_empty());
}

#[test]
fn files_are_bounded_as_asked() {
    let options = ok("maxsize=100m");
    assert_eq!(options.max_size, Some(100 << 20));
    assert_eq!(options.at_max_size, AtMaxSize::Rotate);
    assert!(pairs(&options).contains(&"maxsize=100m".to_owned()));
    // A client may request a trace of sums nevertheless.
    let change = TraceChange {
        format: Some(OutputFormat::ProfilerJ),
        ..TraceChange::default()
    };
    assert!(
        options
            .changed(&change)
            .is_ok_and(|options| options.is_of_sums())
    );
}

#[test]
fn short_calls_become_sums_as_asked() {
    let options = ok("min=250us,maxrate=100000");
    assert_eq!(options.min, Some(Duration::from_micros(250)));
    assert_eq!(options.max_rate, Some(100_000));
    // A client may request a trace that sums up all calls, but no format without sums.
    let change = |format| TraceChange {
        format: Some(format),
        ..TraceChange::default()
    };
    let sums = options.changed(&change(OutputFormat::ProfilerJ));
    assert!(sums.is_ok_and(|options| options.is_of_sums()));
    assert_eq!(
        options.changed(&change(OutputFormat::Mlpd)),
        Err("mlpd has no field for aggregated calls".to_owned())
    );
}

#[test]
fn many_keys_go_together() {
    let text = r#"format=binary,file="a,b-%p.trcbin",exclude=com.acme.gen.*,include=com.acme.*,options=opts.txt,events=methods+gc,stackdepth=0,alloc=sites,allocsites=true,interval=2s,heap=gc,execdetails=true,min=2ms,maxrate=1000,trivial=trace,engine=jvmti,clock=exact,tick=1ms,overflow=drop,save=oom+exit,buffer=2g,maxsize=1g,atmaxsize=ring,trail.spool=false,trail.writers=3,priority=low,mlpd.version=17,tracelog.every-sample=true,tracelog.cpu-interval=3s,tracelog.visual-studio=true,export.min=4us,export.depth=12,collapsed.weight=waiting,collapsed.threads=true,server=controlled,control=%p.sock,wait=5s,linger=3s,compat=pre45,burst=at:1s,burst=exception:com.acme.Oops/500,onerror=continue"#;
    let options = ok(text);
    assert_eq!(options.format, OutputFormat::Binary);
    assert_eq!(options.file.text(), "a,b-%p.trcbin");
    assert_eq!(options.engine, Engine::Jvmti);
    assert_eq!(options.overflow, Overflow::Drop);
    assert_eq!(options.buffer_bytes, 2 << 30);
    assert_eq!(options.max_size, Some(1 << 30));
    assert_eq!(options.at_max_size, AtMaxSize::Ring);
    assert_eq!(options.save.to_string(), "exit+oom");
    assert!(!options.spool);
    assert_eq!(options.writers, Some(3));
    assert_eq!(options.priority, Priority::Low);
    assert_eq!(ok("format=trail,trail.writers=auto").writers, None);
    assert_eq!(options.events, Events::METHODS.union(Events::GC));
    assert_eq!(options.stack_depth, Some(0));
    assert_eq!(options.alloc, AllocMode::Sites);
    assert!(options.alloc_sites && options.exec_details);
    assert_eq!(options.min, Some(Duration::from_millis(2)));
    assert_eq!(options.max_rate, Some(1000));
    assert_eq!(options.interval, Duration::from_secs(2));
    assert_eq!(options.heap, HeapMoments::GC);
    assert_eq!(options.mlpd, MlpdVersion::V17);
    assert!(options.every_sample && options.visual_studio);
    assert_eq!(options.cpu_interval, Duration::from_secs(3));
    assert_eq!(options.export_min, Some(Duration::from_micros(4)));
    assert_eq!(options.export_depth, Some(12));
    assert!(options.weight == Weight::Waiting && options.with_threads);
    assert_eq!(options.on_error, OnError::Continue);
    assert_eq!(options.server, Server::Controlled);
    assert!(matches!(&options.control, Control::Path(path) if path.text() == "%p.sock"));
    assert_eq!(options.wait, Duration::from_secs(5));
    assert_eq!(options.linger, Some(Duration::from_secs(3)));
    assert_eq!(options.compat, Compat::Pre45);
    let bursts: Vec<String> = options.bursts.iter().map(Burst::to_string).collect();
    assert_eq!(bursts, ["at:1s/10s", "exception:com.acme.Oops/500"]);
    assert_eq!(options.text, text);
    let rules: Vec<_> = options
        .filter
        .rules()
        .iter()
        .map(|r| (r.class.to_string(), r.include))
        .collect();
    assert_eq!(
        rules,
        [
            ("com.acme.gen.*".into(), false),
            ("com.acme.*".into(), true),
            ("*".into(), false)
        ]
    );
    assert!(pairs(&options).contains(&"exclude=com.acme.gen.*".to_owned()));
}

/// Checks the effective options of each text.
#[test]
fn values_are_taken_as_written() {
    let cases = [
        ("events=alloc", "events=alloc"),
        ("events=free", "events=alloc+free"),
        ("events=monitors", "events=monitors"),
        ("events=parks", "events=parks"),
        ("events=exceptions", "events=exceptions"),
        ("events=jit", "events=jit"),
        ("events=cpu", "events=cpu"),
        ("events=samples", "events=samples"),
        ("events=heap", "events=heap"),
        ("events=lines", "events=lines"),
        ("events=mounts", "events=mounts"),
        ("events=details", "events=details"),
        ("events=gc+methods", "events=methods+gc"),
        (
            "events=+free+cpu",
            "events=methods+threads+classes+gc+alloc+free+cpu",
        ),
        ("events=+gc", "events=methods+threads+classes+gc"),
        (
            "events=all",
            "events=methods+threads+classes+gc+alloc+free+monitors+parks+exceptions+jit+cpu+samples+heap+lines+mounts+details+clinit",
        ),
        (
            "events=+all",
            "events=methods+threads+classes+gc+alloc+free+monitors+parks+exceptions+jit+cpu+samples+heap+lines+mounts+details+clinit",
        ),
        ("events=+alloc,overflow=drop", "overflow=drop"),
        ("events=alloc+cpu,engine=jvmti", "events=alloc+cpu"),
        ("events=lines,engine=bytecode", "events=lines"),
        ("stackdepth=1024", "stackdepth=1024"),
        ("stackdepth=007", "stackdepth=7"),
        ("format=tracelog", "stackdepth=1024"),
        ("format=profilerj", "stackdepth=1024"),
        ("format=profilerj,stackdepth=16", "stackdepth=16"),
        ("alloc=sites", "alloc=sites"),
        ("alloc=sites,events=monitors", "alloc=sites"), // without alloc, it has no effect
        ("alloc=sites,events=+alloc+lines+cpu", "alloc=sites"),
        ("alloc=sites,events=free", "alloc=sites"),
        ("alloc=sites,engine=jvmti", "alloc=sites"),
        ("alloc=jvm,events=all", "alloc=jvm"),
        ("allocsites=true", "allocsites=true"),
        ("allocsites=false", "allocsites=false"),
        ("interval=1ms", "interval=1ms"),
        ("interval=60000ms", "interval=1m"),
        ("interval=3600s", "interval=60m"),
        ("interval=1500ms", "interval=1500ms"),
        ("heap=gc+exit+request", "heap=exit+request+gc"),
        ("heap=request", "heap=request"),
        ("execdetails=false", "execdetails=false"),
        ("trivial=skip", "trivial=skip"),
        ("overflow=ring", "save=exit+request"),
        ("overflow=ring,save=oom+exit", "save=exit+oom"),
        (
            "overflow=ring,save=call:a.B.c+exit+slow:a.B.c:2s+exception:a.*",
            "save=exit+call:a.B#c:1+slow:a.B#c:2s+exception:a.*",
        ),
        ("overflow=ring,save=call:a.B.c:7", "save=call:a.B#c:7"),
        ("overflow=ring,save=oom,events=+alloc+cpu+jit", "save=oom"),
        ("min=1500us", "min=1500us"),
        ("format=trail,min=1h,maxrate=10", "min=1h"),
        ("maxrate=1000000000000", "maxrate=1000000000000"),
        ("maxsize=1024k", "maxsize=1m"),
        ("maxsize=1g", "atmaxsize=rotate"),
        ("maxsize=8m,atmaxsize=ring", "atmaxsize=ring"),
        ("maxsize=1048576g", "maxsize=1048576g"),
    ];
    for (text, expected) in cases {
        let pairs = pairs(&ok(text));
        assert!(pairs.contains(&expected.to_owned()), "{text}: {pairs:?}");
    }
}

/// If the effective options are parsed again, the same options are effective.
#[test]
fn what_is_in_force_reads_back() {
    for text in [
        "",
        "events=all,heap=gc,interval=90s,stackdepth=3",
        "format=binary,allocsites=true,execdetails=false,buffer=3m",
        "format=jinsight,events=all",
        "format=mlpd,events=+lines+heap,mlpd.version=17",
        "format=tracelog,tracelog.every-sample=true,tracelog.cpu-interval=20ms,tracelog.visual-studio=true,events=samples",
        "format=profilerj,events=+alloc",
        "format=perfetto,export.min=90s,export.depth=1",
        "format=collapsed,events=+parks,collapsed.weight=waiting,collapsed.threads=true,min=1ms",
    ] {
        let once = ok(text).in_force();
        let again: Vec<_> = once.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(ok(&again.join(",")).in_force(), once, "{text}");
    }
}

#[test]
fn the_default_file_follows_the_format_wherever_it_stands() {
    assert_eq!(ok("format=binary").file.text(), "trace.trcbin");
    assert_eq!(ok("format=binary,file=x").file.text(), "x");
    assert_eq!(ok("file=x,format=binary").file.text(), "x");
    for (format, name) in [
        ("jinsight", "trace.trc"),
        ("mlpd", "trace.mlpd"),
        ("tracelog", "trace.log"),
        ("profilerj", "trace.xml"),
    ] {
        assert_eq!(ok(&format!("format={format}")).file.text(), name);
    }
    assert_eq!(
        ok("JPIAgent:format=binary;CGProf").file.text(),
        "trace.trcbin"
    );
}

#[test]
fn events_are_those_that_the_format_has_fields_for() {
    for (text, events, unsupported) in [
        (
            "events=+cpu,format=jinsight",
            "methods+threads+classes+gc+details",
            "cpu",
        ),
        ("format=jinsight,events=methods", "methods+details", ""),
        (
            "events=+free+lines,format=mlpd",
            "methods+threads+classes+gc+alloc",
            "free+lines",
        ),
        (
            "format=tracelog,events=samples+methods",
            "methods",
            "samples",
        ),
        ("format=profilerj", "methods+threads+classes", ""),
        (
            "format=profilerj,events=+alloc",
            "methods+threads+classes+alloc+free",
            "",
        ),
        (
            "format=profilerj,events=all",
            "methods+threads+classes+alloc+free+cpu+samples+lines",
            "",
        ),
        (
            "format=jinsight,events=+all",
            "methods+threads+classes+gc+alloc+free+monitors+parks+details",
            "",
        ),
        (
            "format=profilerj,options=o-all.txt",
            "methods+threads+classes",
            "monitors",
        ),
    ] {
        let options = ok(text);
        assert_eq!(options.events.to_string(), events, "{text}");
        assert_eq!(options.unsupported.to_string(), unsupported, "{text}");
    }
}

#[test]
fn the_format_none_has_no_file_in_force() {
    assert!(
        !pairs(&ok("format=none,file=x"))
            .iter()
            .any(|p| p.starts_with("file="))
    );
}

#[test]
fn a_filter_file_includes_what_no_rule_fits() {
    let filter = ok("filters=rules.txt").filter;
    assert_eq!(filter.rules().len(), 4);
    assert_eq!(filter.class("org.acme.Foo", false), ClassVerdict::ByMethod);
    assert!(!filter.method("org.acme.Foo", "getX", false));
    assert!(filter.method("org.acme.Foo", "setX", false));
    assert_eq!(filter.class("org.acme.BarTest", false), ClassVerdict::All);
    assert_eq!(filter.class("x.BarTest", false), ClassVerdict::None);
    // A rule in a filter file does not include nested classes.
    assert!(filter.method("org.acme.Foo$1", "getX", false));
    assert!(filter.method("java.lang.String", "length", true));
    assert!(!filter.method("java.lang.String", "<clinit>", true));
    let first = &filter.rules()[0];
    assert_eq!(
        (first.class.text(), first.class.generic()),
        ("org.acme.Foo", "NONE")
    );
    assert_eq!(
        (first.method.text(), first.method.generic()),
        ("get", "SUFFIX")
    );
}

#[test]
fn an_options_file_sets_what_the_trace_says_of_itself() {
    for text in [
        "options=opts.txt",
        "profile=opts.txt",
        "JPIAgent:profile=opts.txt;CGProf",
    ] {
        let options = ok(text);
        assert!(!options.write_filters && options.write_options, "{text}");
        let pairs = pairs(&options);
        assert!(pairs.contains(&"options=opts.txt".to_owned()), "{text}");
        assert!(pairs.contains(&"org.eclipse.x=y = z".to_owned()), "{text}");
        assert!(pairs.contains(&"COMPRESS=whatever".to_owned()), "{text}");
    }
}

#[test]
fn the_tptp_spelling_is_taken() {
    let options = ok(
        "JPIAgent:server=standalone,file=app.trcxml,filters=rules.txt,format=xml;CGProf:execdetails=true",
    );
    assert_eq!(options.format, OutputFormat::Xml);
    assert_eq!(options.file.text(), "app.trcxml");
    assert_eq!(options.filter.rules().len(), 4);
    assert_eq!(options.on_error, OnError::Continue);
    assert_eq!(
        ok("JPIAgent;CGProf").filter.class("a.B", false),
        ClassVerdict::All
    );
}

#[test]
fn profilers_and_their_options_file_say_what_is_recorded() {
    let cases = [
        ("JPIAgent;CGProf", "methods+threads+classes"),
        ("JPIAgent;HeapProf", "threads+classes+gc+alloc+free"),
        ("JPIAgent;ThreadProf", "threads+classes+monitors"),
        (
            "JPIAgent:server=standalone;ThreadProf;HeapProf:allocsites=true;CGProf:execdetails=false",
            "methods+threads+classes+gc+alloc+free+monitors",
        ),
        (
            "JPIAgent:profile=o-cpu.txt;CGProf",
            "methods+threads+classes+cpu",
        ),
        (
            "JPIAgent:profile=o-all.txt;CGProf",
            "methods+threads+classes",
        ),
        (
            "JPIAgent:profile=o-all.txt;HeapProf;ThreadProf",
            "threads+classes+gc+alloc+free+monitors",
        ),
        (
            "JPIAgent:profile=o-none.txt;HeapProf;ThreadProf",
            "threads+classes+gc+alloc",
        ),
        (
            "JPIAgent:profile=o-deletes.txt;HeapProf",
            "threads+classes+gc+alloc+free",
        ),
        // Without profilers, the file only adds to the kinds that the text names.
        ("options=o-cpu.txt", "methods+threads+classes+gc+cpu"),
        ("options=o-cpu.txt,events=gc", "gc+cpu"),
        ("options=o-all.txt,events=gc", "gc+monitors"),
        (
            "options=o-all.txt,events=gc+alloc",
            "gc+alloc+free+monitors",
        ),
        ("options=o-deletes.txt,events=alloc", "alloc+free"),
        (
            "options=o-none.txt,events=free+monitors",
            "alloc+free+monitors",
        ),
    ];
    for (text, events) in cases {
        assert_eq!(ok(text).events.to_string(), events, "{text}");
    }
}

#[test]
fn profilers_have_keys() {
    for (text, exec_details, alloc_sites) in [
        ("JPIAgent;CGProf", true, false),
        ("JPIAgent;CGProf:execdetails=true", true, false),
        ("JPIAgent;CGProf:execdetails=false", false, false),
        ("JPIAgent;HeapProf:allocsites=true", true, true),
        (
            "JPIAgent;HeapProf:allocsites=false;CGProf:execdetails=false",
            false,
            false,
        ),
    ] {
        let options = ok(text);
        assert_eq!(options.exec_details, exec_details, "{text}");
        assert_eq!(options.alloc_sites, alloc_sites, "{text}");
    }
    for text in ["options=opts.txt", "JPIAgent:profile=opts.txt;HeapProf"] {
        assert_eq!(ok(text).heap_name, "h", "{text}");
    }
}

#[test]
fn going_on_is_honoured_wherever_it_stands() {
    for (text, requested) in [
        ("onerror=continue,fromat=xml", true),
        ("fromat=xml,onerror=continue", true),
        ("file=\"x,onerror=continue", true),
        ("onerror=\"continue\",x=", true),
        ("fromat=xml,onerror=stop", false),
        ("fromat=xml", false),
        ("JPIAgent:fromat=xml;CGProf", true),
    ] {
        let error = parse(text, &read).expect_err(text);
        assert_eq!(error.may_continue(), requested, "{text}");
    }
}

#[test]
fn help_lists_the_keys() {
    for text in ["help", "JPIAgent:help"] {
        let error = parse(text, &read).expect_err(text);
        assert!(error.is_help());
        assert!(keys().all(|key| error.to_string().contains(key.help)));
    }
}

/// No text makes the parser panic; errors stay on one line.
#[test]
fn hostile_text_is_only_an_error() {
    let words = [
        "format",
        "file",
        "include",
        "filters",
        "=",
        ",",
        "\"",
        "\\",
        "%",
        "*",
        "#",
        ".",
        "é",
        "\n",
        "\0",
        "JPIAgent",
        ":",
        ";",
        "CGProf",
        "HeapProf",
        "rules.txt",
        "xml",
        "events",
        "interval",
        "+",
        "alloc",
        "9",
        "ms",
    ];
    let mut state = 1_u64;
    for _ in 0..30_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(words[(state >> 33) as usize % words.len()]);
        }
        if let Err(error) = parse(&text, &read) {
            assert!(!error.to_string().contains('\n'), "{text:?}");
        }
    }
}

#[test]
fn who_names_a_socket_wants_clients() {
    let options = ok("control=/run/x.sock");
    assert_eq!(options.server, Server::Enabled);
    assert!(pairs(&options).contains(&"control=/run/x.sock".to_owned()));
    let options = ok("server=enabled");
    assert_eq!(options.control, Control::Usual);
    assert!(pairs(&options).contains(&"server=enabled".to_owned()));
    let options = ok("control=off");
    assert_eq!(options.server, Server::Standalone);
}

#[test]
fn another_trace_has_options_of_its_own() {
    let first = ok("format=mlpd,file=a.mlpd,events=+alloc+lines,include=com.acme.*,buffer=2m");
    assert_eq!(first.unsupported, Events::LINES);
    let same = first.changed(&TraceChange::default()).expect("right");
    assert_eq!(same, first);
    let change = TraceChange {
        format: Some(OutputFormat::Binary),
        ..TraceChange::default()
    };
    let second = first.changed(&change).expect("right");
    assert_eq!(second.file.text(), "trace.trcbin");
    assert!(second.events.contains(Events::LINES.union(Events::ALLOC)));
    assert_eq!(
        (second.unsupported, second.buffer_bytes),
        (Events::NONE, 2 << 20)
    );
    assert_eq!(second.filter, first.filter);
    let change = TraceChange {
        file: Some("%p.out".to_owned()),
        events: Some("gc".to_owned()),
        patterns: vec![(false, "com.acme.*".to_owned())],
        ..TraceChange::default()
    };
    let third = first.changed(&change).expect("right");
    assert_eq!((third.file.text(), third.events), ("%p.out", Events::GC));
    assert_eq!(
        third.filter.class("com.acme.Foo", false),
        ClassVerdict::None
    );
    let wrong = |change: TraceChange| first.changed(&change).expect_err("wrong");
    let events = Some("parks".to_owned());
    assert_eq!(
        wrong(TraceChange {
            events,
            ..TraceChange::default()
        }),
        "mlpd has no field for parks, and no other event is requested"
    );
    let file = Some("%x".to_owned());
    assert!(
        wrong(TraceChange {
            file,
            ..TraceChange::default()
        })
        .contains("is not known")
    );
    let added_up = ok("execdetails=false");
    let format = Some(OutputFormat::Mlpd);
    let change = TraceChange {
        format,
        ..TraceChange::default()
    };
    assert_eq!(
        added_up.changed(&change).expect_err("no place"),
        "mlpd has no field for aggregated calls"
    );
}
