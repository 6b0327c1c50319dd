//! Compiled methods, held against the JVM's own list of its code.

use crate::common::{Trace, VERSIONS, agent};
use crate::live_control::Bench;
use jtrail_formats::{Item, Reader};
use jtrail_model::{ClassId, Event, MethodId};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

/// Has methods compiled, waits until the compiler and our news of it are quiet, and prints the code cache.
const PROGRAM: &str = r#"
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;

public class CodeList {
    static long sink;

    static int leaf(int n) { return n * 31 + 7; }

    static long caller(int n) {
        long sum = 0;
        for (int i = 0; i < 10; i++) sum += leaf(n + i);
        return sum;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 200_000; i++) sink += caller(i);
        String list = null;
        for (int i = 0; i < 2; i++) { // the first one compiles what it needs itself
            Thread.sleep(700);
            System.out.println("TIME " + System.currentTimeMillis());
            list = (String) ManagementFactory.getPlatformMBeanServer().invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerCodelist", null, null);
        }
        System.out.print(list);
    }
}
"#;

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

/// `1 3 0 java.lang.String.hashCode()I [0x01, 0x02 - 0x03]`: the second address is where the code begins.
fn entry(line: &str) -> Option<(u64, String)> {
    let (head, addresses) = line.split_once(" [0x")?;
    let begin = addresses.split_once(", 0x")?.1.split(' ').next()?;
    let method = head.splitn(4, ' ').nth(3)?;
    Some((u64::from_str_radix(begin, 16).ok()?, method.to_owned()))
}

/// Live code by address: method, and when it was told; and the keys of methods that were inlined.
#[derive(Default)]
struct Code {
    live: BTreeMap<u64, (String, i64)>,
    compiled: u64,
    /// Address and method of all code that was told of.
    all: BTreeSet<(u64, String)>,
    inlined: BTreeSet<String>,
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
                    // The address may have been taken again before.
                    let method = &methods[&e.method];
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
    for jdk in Jdk::require(&VERSIONS) {
        let file = folder.path().join(format!("{}.trcbin", jdk.feature));
        let options = format!("format=binary,events=jit,file={}", file.display());
        let output = Run::new(&jdk, "CodeList")
            .class_path(folder.path())
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        let code = read(&file);
        let listed: BTreeMap<u64, String> = output.stdout.lines().filter_map(entry).collect();
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
        for (address, (method, told)) in &code.live {
            match listed.get(address) {
                Some(name) if name == method => {}
                // The JVM has one id for all of its linkers, so their names can't be told apart.
                Some(name) if is_linker(name) && is_linker(method) => {}
                None if *told > time * 1_000_000 => {} // compiled behind the list
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
        assert!(code.sizes.values().all(|size| *size > 0));
        assert!(code.compiled >= code.live.len() as u64);
    }
}

/// Each trace is told of the code that is there when it begins, also of that which an earlier one has, and a file that follows as well.
#[test]
fn code_is_in_each_trace() {
    for jdk in Jdk::require(&VERSIONS) {
        let mut bench = Bench::new(&jdk, "format=binary,events=threads+jit");
        bench.work();
        bench.ctl(&["rotate", &bench.text("second")]);
        bench.work();
        bench.ctl(&["stop"]);
        bench.work();
        bench.ctl(&["start", &format!("file={}", bench.text("third"))]);
        bench.work();
        let (folder, output) = bench.end();
        let [first, second, third] = ["first", "second", "third"].map(|name| {
            let file = folder.path().join(name);
            let trace = Trace::read(&file).expect(name);
            trace.assert_sound(&output);
            read(&file)
        });
        for later in [second, third] {
            assert!(later.compiled >= later.live.len() as u64);
            let live: Vec<_> = first.live.iter().collect();
            let told = |(address, (method, _)): &&(&u64, &(String, i64))| {
                later.all.contains(&(**address, method.clone()))
            };
            // Some of it is thrown away meanwhile.
            let told = live.iter().filter(told).count();
            assert!(2 * told > live.len(), "{told} of {}", live.len());
            assert!(told > 20, "{told}");
        }
    }
}
