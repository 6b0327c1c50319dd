//! Compiled methods, compared with the JVM's own list of its code.

use crate::support::control::ControlledRun;
use crate::support::truth::everywhere;
use crate::support::{Trace, VERSIONS, agent, compile, few_versions};
use jtrail_formats::{Item, Reader};
use jtrail_model::{ClassId, Event, MethodId};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

/// A program that gets methods compiled. It waits until the compiler and the agent's reports are
/// quiet, and prints the code cache.
const PROGRAM: &str = include_str!("CodeList.java");

fn compile(folder: &Path) {
    let source = folder.join("CodeList.java");
    fs::write(&source, PROGRAM).expect("written");
    let mut jdks = Jdk::all().into_iter().rev();
    let javac = jdks.find_map(|jdk| jdk.javac).expect("a compiler");
    let status = Command::new(javac)
        .args(["--release", "11", "-d"])
        .arg(folder)
        .arg(&source)
        .status();
    assert!(status.expect("javac starts").success());
}

/// Parses a line such as `1 3 0 java.lang.String.hashCode()I [0x01, 0x02 - 0x03]`. The second
/// address is the begin of the code, the third its end, including the stubs after the instructions.
/// Returns method and size, by address.
fn entry(line: &str) -> Option<(u64, (String, i64))> {
    let (head, addresses) = line.split_once(" [0x")?;
    let (begin, end) = addresses.split_once(", 0x")?.1.split_once(" - 0x")?;
    let method = head.splitn(4, ' ').nth(3)?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (begin, end) = (number(begin)?, number(end.strip_suffix(']')?)?);
    Some((begin, (method.to_owned(), (end - begin) as i64)))
}

/// Returns the size of the instructions by address of the code, from the JVM's compilation log:
/// `<nmethod entry='0x01' insts_offset='2' stub_offset='3' />`. Code without stubs after the
/// instructions is missing.
fn instructions(log: &str) -> HashMap<u64, i64> {
    let attribute = |line: &'_ str, name: &str| {
        let (_, rest) = line.split_once(&format!(" {name}='"))?;
        Some(rest.split_once('\'')?.0.to_owned())
    };
    let entry = |line: &str| {
        let number = |name| attribute(line, name)?.parse::<i64>().ok();
        let entry = attribute(line, "entry")?;
        let address = u64::from_str_radix(entry.strip_prefix("0x")?, 16).ok()?;
        Some((address, number("stub_offset")? - number("insts_offset")?))
    };
    let lines = log.lines().filter(|line| line.starts_with("<nmethod "));
    lines.filter_map(entry).collect()
}

/// The compiled code in a trace. `live` has the method of each live code, and the time of its
/// event, by address. `inlined` has the keys of inlined methods.
#[derive(Default)]
struct Code {
    live: BTreeMap<u64, (String, i64)>,
    compiled: u64,
    /// Address and method of all reported code.
    all: BTreeSet<(u64, String)>,
    /// Address and method of code that was reported as discarded.
    unloaded: Vec<(u64, String)>,
    inlined: BTreeSet<String>,
    /// Bytes of code, by address.
    sizes: BTreeMap<u64, i64>,
}

fn read(file: &Path) -> Code {
    let mut code = Code::default();
    let mut classes: HashMap<ClassId, String> = HashMap::new();
    let mut methods: HashMap<MethodId, String> = HashMap::new();
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("its format");
    let problem = reader
        .for_each(|item| {
            let Item::Event { event, .. } = item else {
                return ControlFlow::Break(format!("{item:?}"));
            };
            match &event {
                Event::ClassDef(e) => {
                    classes.insert(e.class, e.name.clone().into_owned());
                }
                Event::MethodDef(e) => {
                    let key = format!("{}.{}{}", classes[&e.class], e.name, e.signature);
                    methods.insert(e.method, key);
                }
                Event::MethodCompile(e) => {
                    let method = methods[&e.method].clone();
                    code.compiled += 1;
                    code.all.insert((e.address, method.clone()));
                    code.sizes.insert(e.address, e.size);
                    let mut last = -1;
                    for range in &e.ranges {
                        assert!(range.offset > last && range.offset <= e.size, "{e:?}");
                        last = range.offset;
                        let (outer, inlined) = range.frames.split_last().expect("frames");
                        assert_eq!(outer.method, method);
                        let names = inlined.iter().map(|f| f.method.clone().into_owned());
                        code.inlined.extend(names);
                    }
                    code.live.insert(e.address, (method, e.time.0));
                }
                Event::MethodUncompile(e) => {
                    // The JVM may have reused the address already.
                    let method = &methods[&e.method];
                    code.unloaded.push((e.address, method.clone()));
                    if code.live.get(&e.address).is_some_and(|l| l.0 == *method) {
                        code.live.remove(&e.address);
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .expect("read");
    assert_eq!(problem, None);
    code
}

fn is_linker(method: &str) -> bool {
    method.starts_with("java.lang.invoke.MethodHandle.")
}

#[test]
fn code_is_what_the_jvm_lists() {
    let folder = temp_dir();
    compile(folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let file = folder.path().join(format!("{}.trcbin", jdk.feature));
        let options = format!("format=binary,events=jit,file={}", file.display());
        let log = folder.path().join(format!("{}.log", jdk.feature));
        let output = Run::new(&jdk, "CodeList")
            .class_path(folder.path())
            .jvm_arg("-XX:+UnlockDiagnosticVMOptions")
            .jvm_arg("-XX:+LogCompilation")
            .jvm_arg(format!("-XX:LogFile={}", log.display()))
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        let code = read(&file);
        let listed: BTreeMap<u64, (String, i64)> =
            output.stdout.lines().filter_map(entry).collect();
        assert!(listed.len() > 20, "{output}");
        let mut times = output
            .stdout
            .lines()
            .filter_map(|l| l.strip_prefix("TIME "));
        let time: i64 = times
            .next_back()
            .and_then(|t| t.parse().ok())
            .expect("printed");
        let mut wrong = Vec::new();
        for (address, (method, reported)) in &code.live {
            match listed.get(address).map(|(name, _)| name) {
                Some(name) if name == method => {}
                // The JVM has one id for all of its linkers, so their names can't be distinguished.
                Some(name) if is_linker(name) && is_linker(method) => {}
                None if *reported > time * 1_000_000 => {} // compiled after the list was printed
                other => wrong.push(format!("{address:#x} {method}: listed {other:?}")),
            }
        }
        let missing: Vec<_> = listed
            .iter()
            .filter(|(address, _)| !code.live.contains_key(address))
            .collect();
        assert!(wrong.is_empty(), "JDK {}: {wrong:#?}", jdk.feature);
        assert!(missing.is_empty(), "JDK {}: {missing:#?}", jdk.feature);
        assert!(
            code.inlined.contains("CodeList.leaf(I)I"),
            "{:?}",
            code.inlined
        );
        // JVM 11 reports the size without the stubs.
        let log = fs::read_to_string(log).expect("a log");
        let without_stubs = match jdk.feature {
            11 => instructions(&log),
            _ => HashMap::new(),
        };
        for (address, (method, size)) in &listed {
            let size = without_stubs.get(address).unwrap_or(size);
            assert_eq!(
                code.sizes.get(address),
                Some(size),
                "{method}, JDK {}",
                jdk.feature
            );
        }
        assert!(code.compiled >= code.live.len() as u64);
    }
}

/// A program in which a class with compiled methods is unloaded, so that the methods' code must be
/// discarded. The program prints whether the class is unloaded.
const DISCARDED: &str = include_str!("Discarded.java");

/// All code of an unloaded class is reported as discarded, at its address. Code that was never
/// reported is not reported as discarded either.
#[test]
fn code_of_unloaded_classes_is_unloaded() {
    let folder = temp_dir();
    compile::compile("Discarded", DISCARDED, folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        for collector in ["Serial", "G1"] {
            let file = folder.path().join("trace");
            let options = format!("format=binary,events=jit,file={}", file.display());
            let output = Run::new(&jdk, "Discarded")
                .class_path(folder.path())
                .jvm_arg("-Xbatch")
                .jvm_arg(format!("-XX:+Use{collector}GC"))
                .agent(agent(), options)
                .output();
            output.assert_exit(0);
            assert_eq!(output.stdout, "gone true\n", "{output}");
            let code = read(&file);
            let what = format!("{collector}, JDK {}, {:?}", jdk.feature, code.unloaded);
            let is_guest = |(_, key): &&(u64, String)| key.starts_with("Discarded$Guest.");
            let loaded: BTreeSet<_> = code.all.iter().filter(is_guest).collect();
            let unloaded: BTreeSet<_> = code.unloaded.iter().filter(is_guest).collect();
            assert!(loaded.len() >= 2, "{what}"); // at least one for each method
            assert_eq!(unloaded, loaded, "{what}");
            let is_reported = |unloaded| code.all.contains(unloaded);
            assert!(code.unloaded.iter().all(is_reported), "{what}");
        }
    }
}

/// Each trace reports the code that exists when it begins, even if an earlier trace reported it. So
/// does the next file of a rotation.
#[test]
fn code_is_in_each_trace() {
    for jdk in Jdk::require(&VERSIONS) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=threads+jit");
        app.work();
        app.ctl(&["rotate", &app.text("second")]);
        app.work();
        app.ctl(&["stop"]);
        app.work();
        app.ctl(&["start", &format!("file={}", app.text("third"))]);
        app.work();
        let (folder, output) = app.end();
        let [first, second, third] = ["first", "second", "third"].map(|name| {
            let file = folder.path().join(name);
            let trace = Trace::read(&file).expect(name);
            trace.assert_sound(&output);
            read(&file)
        });
        for later in [second, third] {
            assert!(later.compiled >= later.live.len() as u64);
            let live: Vec<_> = first.live.iter().collect();
            let reported = |(address, (method, _)): &&(&u64, &(String, i64))| {
                later.all.contains(&(**address, method.clone()))
            };
            // Some of the code is discarded meanwhile.
            let reported = live.iter().filter(reported).count();
            assert!(2 * reported > live.len(), "{reported} of {}", live.len());
            assert!(reported > 20, "{reported}");
        }
    }
}

#[test]
fn compiled_methods() {
    everywhere("harness.Hot", "threads+jit");
}
