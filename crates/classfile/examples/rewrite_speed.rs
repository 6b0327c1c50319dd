//! Measures how fast classes are parsed and rewritten. `rewrite_speed DIR` reads all class files
//! below a folder (for instance the output of `jimage extract`) and works on them in memory, on one
//! thread. It prints the MB/s of class files read, the best of several rounds.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use jtrail_classfile::{Class, Hooks, Probes, instrument};

const ROUNDS: usize = 7;

fn main() -> std::io::Result<()> {
    let Some(dir) = std::env::args_os().nth(1) else {
        eprintln!("usage: rewrite_speed DIR");
        std::process::exit(2);
    };
    let mut classes = Vec::new();
    read(Path::new(&dir), &mut classes)?;
    let bytes: usize = classes.iter().map(Vec::len).sum();
    println!("{} classes, {:.1} MB", classes.len(), bytes as f64 / 1e6);
    measure("parse", &classes, bytes, |class| {
        black_box(Class::parse(class)).map_or(0, |c| c.methods().len())
    });
    measure("parse, rewrite nothing", &classes, bytes, |class| {
        rewrite(class, |_| Probes::NONE)
    });
    measure("calls of every method", &classes, bytes, |class| {
        rewrite(class, |id| Probes::calls(Some(id)))
    });
    measure("lines of every method", &classes, bytes, |class| {
        rewrite(class, |id| Probes {
            lines: Some(id * 1000),
            ..Probes::NONE
        })
    });
    measure("allocations of every method", &classes, bytes, |class| {
        rewrite(class, |id| Probes {
            allocations: Some(id * 1000),
            ..Probes::NONE
        })
    });
    measure("all probes in every method", &classes, bytes, |class| {
        rewrite(class, |id| Probes {
            calls: Some(id),
            lines: Some(id * 1000),
            allocations: Some(id * 1000),
            ..Probes::NONE
        })
    });
    Ok(())
}

fn rewrite(class: &[u8], probes: impl Fn(u32) -> Probes) -> usize {
    let Ok(class) = Class::parse(class) else {
        return 0;
    };
    let rewritten = instrument(&class, &Hooks::JTRAIL, |index, _| {
        probes(1000 + index as u32)
    });
    rewritten.map_or(0, |rewritten| black_box(rewritten.bytes).len())
}

fn measure(what: &str, classes: &[Vec<u8>], bytes: usize, work: impl Fn(&[u8]) -> usize) {
    let mut best = f64::INFINITY;
    let mut result = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        result = classes.iter().map(|class| work(class)).sum();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (rate, each) = (
        bytes as f64 / 1e6 / best,
        best * 1e6 / classes.len().max(1) as f64,
    );
    println!("{what:28} {rate:7.0} MB/s  {each:6.2} µs a class  (sum {result})");
}

fn read(dir: &Path, classes: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, classes)?;
        } else if path.extension().is_some_and(|ext| ext == "class") {
            classes.push(std::fs::read(path)?);
        }
    }
    Ok(())
}
