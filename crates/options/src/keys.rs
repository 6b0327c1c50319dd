//! The table of keys. Parser, help, command line and manual are made from it.

use crate::value::{
    AllocMode, AtMaxSize, BOOLEANS, Clock, Compat, Engine, MlpdVersion, OnError, OutputFormat,
    Overflow, Priority, Server, Trivial,
};
use std::fmt::Write;

/// One key of the option text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyInfo {
    /// The key.
    pub key: &'static str,
    /// Another spelling of it, or empty.
    pub alias: &'static str,
    /// What may stand behind it, as a short phrase.
    pub values: &'static str,
    /// The words it takes, where these are all it takes; else empty.
    pub words: &'static [&'static str],
    /// What holds without it, as a short phrase.
    pub default: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// May be given several times.
    pub repeatable: bool,
}

const KEY: KeyInfo = KeyInfo {
    key: "",
    alias: "",
    values: "",
    words: &[],
    default: "none",
    help: "",
    repeatable: false,
};

/// All keys of this version, in the order of the manual.
pub const KEYS: &[KeyInfo] = &[
    KeyInfo {
        key: "format",
        values: "xml | binary | jinsight | mlpd | tracelog | profilerj | trail | none",
        words: OutputFormat::WORDS,
        default: "xml",
        help: "Format of the trace; none records everything and writes nothing",
        ..KEY
    },
    KeyInfo {
        key: "file",
        values: "path with %p process id, %t start time, %h host, %% percent sign; - for stdout",
        default: "trace., and what the format's files end with: trcxml, trcbin, trc, mlpd, log, xml",
        help: "File to write",
        ..KEY
    },
    KeyInfo {
        key: "include",
        values: "class pattern, CLASS.METHOD or CLASS#METHOD, with *",
        help: "Trace these; the first rule that fits decides",
        repeatable: true,
        ..KEY
    },
    KeyInfo {
        key: "exclude",
        values: "class pattern, CLASS.METHOD or CLASS#METHOD, with *",
        help: "Don't trace these; the first rule that fits decides",
        repeatable: true,
        ..KEY
    },
    KeyInfo {
        key: "filters",
        values: "file of TPTP filter rules",
        help: "Read filter rules from a file, instead of include and exclude",
        ..KEY
    },
    KeyInfo {
        key: "options",
        alias: "profile",
        values: "file of TPTP options",
        help: "Read further options from a file",
        ..KEY
    },
    KeyInfo {
        key: "events",
        values: "methods threads classes gc alloc free monitors parks exceptions jit cpu samples \
                 heap lines mounts details clinit, joined with +; with a + before the first, the default \
                 ones too; or all",
        default: "methods+threads+classes+gc; with details for jinsight, without gc for profilerj",
        help: "What to record; what the format has no place for is left out, and told at the end",
        ..KEY
    },
    KeyInfo {
        key: "stackdepth",
        values: "number of frames, from 0 to 1024",
        default: "16; 1024 for samples in tracelog and profilerj",
        help: "Frames of a stack taken with monitor events, parks, exceptions and samples: the innermost; of samples in tracelog and profilerj the outermost",
        ..KEY
    },
    KeyInfo {
        key: "alloc",
        values: "jvm | sites",
        words: AllocMode::WORDS,
        default: "jvm",
        help: "With events=alloc: the JVM tells of every object, or cheap probes tell where code creates one; with free and no other kind that names objects, its end as well",
        ..KEY
    },
    KeyInfo {
        key: "allocsites",
        values: "true | false",
        words: BOOLEANS,
        default: "false",
        help: "With events=alloc: tell the method and the line that made each object",
        ..KEY
    },
    KeyInfo {
        key: "interval",
        values: "time like 10ms, 2s or 1m, from 1ms to 60m",
        default: "10ms",
        help: "With events=samples: pause between two samples",
        ..KEY
    },
    KeyInfo {
        key: "heap",
        values: "exit request gc forced, joined with +: at the end, on request (jtrail request PID), \
                 after collections (those that finish before their snapshot begins share it), \
                 before and after each collection that a client forces (jtrail ctl PID gc)",
        default: "exit+request",
        help: "With events=heap: when a snapshot of the heap is taken",
        ..KEY
    },
    KeyInfo {
        key: "execdetails",
        values: "true | false",
        words: BOOLEANS,
        default: "true",
        help: "Write each call, or with false the sums of each thread and call path",
        ..KEY
    },
    KeyInfo {
        key: "min",
        values: "time like 500us, 10ms or 2s, up to 1h",
        help: "Calls that take less are no events but sums, by method and caller",
        ..KEY
    },
    KeyInfo {
        key: "maxrate",
        values: "calls a second, from 10 to 1000000000000",
        help: "Calls of a method that is called more often become such sums, from then on; the trace names the methods",
        ..KEY
    },
    KeyInfo {
        key: "mlpd",
        values: "1 | 17",
        words: MlpdVersion::WORDS,
        default: "1",
        help: "With format=mlpd: its data version",
        ..KEY
    },
    KeyInfo {
        key: "everysample",
        values: "true | false",
        words: BOOLEANS,
        default: "false",
        help: "With format=tracelog: a line for each sample, not one for neighbours of the same stack",
        ..KEY
    },
    KeyInfo {
        key: "cpuinterval",
        values: "time like 10ms, 2s or 1m, from 1ms to 60m",
        default: "10ms",
        help: "With format=tracelog: the least time between two lines of CPU time, and the span of sums of allocations",
        ..KEY
    },
    KeyInfo {
        key: "visualstudio",
        values: "true | false",
        words: BOOLEANS,
        default: "false",
        help: "With format=tracelog: write the JVM's own lines so that the Visual Studio tools read them",
        ..KEY
    },
    KeyInfo {
        key: "trivial",
        values: "trace | skip",
        words: Trivial::WORDS,
        default: "trace",
        help: "Calls of short methods without calls, loops and monitors (accessors): record them, or leave them out and name the methods",
        ..KEY
    },
    KeyInfo {
        key: "engine",
        values: "bytecode | jvmti",
        words: Engine::WORDS,
        default: "bytecode",
        help: "How calls are seen: by rewritten classes, or by the JVM's own slow events",
        ..KEY
    },
    KeyInfo {
        key: "clock",
        values: "exact | tick",
        words: Clock::WORDS,
        default: "exact",
        help: "How calls get their time: a look at the clock for each enter and leave, or only where the clock has ticked since the thread's last event, which costs far less",
        ..KEY
    },
    KeyInfo {
        key: "tick",
        values: "time like 50us or 1ms, from 10us to 10ms",
        default: "50us",
        help: "With clock=tick: how often the clock ticks",
        ..KEY
    },
    KeyInfo {
        key: "overflow",
        values: "block | drop | ring",
        words: Overflow::WORDS,
        default: "block",
        help: "When all buffers are full: wait and lose nothing, drop events and count them, or keep the newest ones there and write no trace until there is something to save",
        ..KEY
    },
    KeyInfo {
        key: "save",
        values: "exit request oom, call:METHOD[:N], slow:METHOD:TIME, exception:CLASS, joined with +",
        default: "exit+request",
        help: "With overflow=ring: write what is in the buffers when the program ends, when the JVM is asked for it (jtrail request PID), when it is out of memory; when a method is called, a call takes longer, or an exception is thrown, once in 10 s",
        ..KEY
    },
    KeyInfo {
        key: "buffer",
        values: "size of all buffers together, from 1m to 64g",
        default: "64m",
        help: "Memory between the program and the writer",
        ..KEY
    },
    KeyInfo {
        key: "maxsize",
        values: "size, from 1m; from 8m with atmaxsize=ring",
        help: "The trace goes on in another file (trace-2.trcxml beside trace.trcxml) before one grows larger",
        ..KEY
    },
    KeyInfo {
        key: "atmaxsize",
        values: "rotate | ring",
        words: AtMaxSize::WORDS,
        default: "rotate",
        help: "With maxsize: all files stay, each of that size at most; or all of them together take no more, and the oldest are deleted",
        ..KEY
    },
    KeyInfo {
        key: "spool",
        values: "true | false",
        words: BOOLEANS,
        default: "true",
        help: "With format=trail into a file, and execdetails=true: keep that memory in a folder beside the trace (FILE.spool), where jtrail recover finds \
               what was not written yet when the process was killed",
        ..KEY
    },
    KeyInfo {
        key: "writers",
        values: "auto | number, from 0 to 8",
        default: "auto: one for each four processors, 8 at most",
        help: "With format=trail: threads that help the writer, which compress what it writes",
        ..KEY
    },
    KeyInfo {
        key: "priority",
        values: "normal | low",
        words: Priority::WORDS,
        default: "normal",
        help: "How the threads that write share processors with the program: low leaves them to it, and it may wait for the writer the more",
        ..KEY
    },
    KeyInfo {
        key: "server",
        values: "standalone | enabled | controlled | application",
        words: Server::WORDS,
        default: "standalone",
        help: "Who begins and ends the trace: nobody, a client that may come, a client that the program waits for, \
               the program itself (docs/api.md)",
        ..KEY
    },
    KeyInfo {
        key: "control",
        values: "path with the letters of file, or off",
        default: "off with server=standalone, else PID.sock in the user's runtime directory",
        help: "Socket of the command channel; a path alone means server=enabled",
        ..KEY
    },
    KeyInfo {
        key: "wait",
        values: "time like 500us, 10ms, 2s, 1m or 1h",
        default: "1m",
        help: "With server=controlled: how long the program waits for the client",
        ..KEY
    },
    KeyInfo {
        key: "linger",
        values: "time like 500us, 10ms, 2s, 1m or 1h",
        default: "for ever; jtrail record: 5s",
        help: "How long the agent stays while no client is connected; then it ends the trace and leaves",
        ..KEY
    },
    KeyInfo {
        key: "compat",
        values: "current | pre45",
        words: Compat::WORDS,
        default: "current",
        help: "How it answers clients: as this version, or as TPTP's before 4.5",
        ..KEY
    },
    KeyInfo {
        key: "burst",
        values: "call:METHOD[:N], slow:METHOD:TIME, exception:CLASS, at:TIME or every:TIME, and /TIME or /EVENTS",
        default: "none; a burst without limit takes 10s",
        help: "Record only when this happens, and for a while",
        repeatable: true,
        ..KEY
    },
    KeyInfo {
        key: "onerror",
        values: "stop | continue",
        words: OnError::WORDS,
        default: "stop",
        help: "When the trace can't be set up: don't start the program, or run it without a trace",
        ..KEY
    },
];

/// Keys that are planned: they answer "not available in this version" instead of "unknown".
pub(crate) const LATER_KEYS: &[&str] = &["start"];

/// The key or its alias.
pub(crate) fn find(key: &str) -> Option<&'static KeyInfo> {
    KEYS.iter()
        .find(|k| k.key == key || (!k.alias.is_empty() && k.alias == key))
}

/// The table of keys as text for a terminal, ending in a line feed.
pub fn help() -> String {
    let mut text = String::from(
        "jtrail agent options: -agentpath:libjtrail.so=key=value,key=value,…\n\
         A value with a comma stands in quotation marks, or has \\, for the comma.\n",
    );
    for k in KEYS {
        let alias = if k.alias.is_empty() {
            String::new()
        } else {
            format!(" (or {})", k.alias)
        };
        let again = if k.repeatable { ", repeatable" } else { "" };
        // Writing to a String can't fail.
        let _ = writeln!(text, "  {}{alias}\n      {}", k.key, k.help);
        let _ = writeln!(text, "      {}; default: {}{again}", k.values, k.default);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{Events, HeapMoments, SaveMoments};

    #[test]
    fn the_table_agrees_with_the_values() {
        let events = find("events").expect("listed");
        assert!(
            events
                .default
                .starts_with(&format!("{};", Events::default()))
        );
        assert!(events.values.starts_with(&Events::WORDS.join(" ")));
        let heap = find("heap").expect("listed");
        assert_eq!(heap.default, HeapMoments::default().to_string());
        assert!(heap.values.starts_with(&HeapMoments::WORDS.join(" ")));
        let save = find("save").expect("listed");
        assert_eq!(save.default, SaveMoments::default().to_string());
        assert!(
            save.values.starts_with(&SaveMoments::WORDS.join(" ")),
            "{}",
            save.values
        );
        for k in KEYS {
            assert!(!k.help.is_empty() && !k.values.is_empty(), "{}", k.key);
            if !k.words.is_empty() {
                assert_eq!(k.words.join(" | "), k.values);
                assert!(k.words.contains(&k.default), "{}", k.key);
            }
            assert!(!LATER_KEYS.contains(&k.key));
        }
    }

    #[test]
    fn help_names_every_key() {
        let text = help();
        assert!(
            KEYS.iter()
                .all(|k| text.contains(&format!("\n  {}", k.key)))
        );
        assert!(text.contains("options (or profile)"));
    }
}
