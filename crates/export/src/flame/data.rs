//! The embedded data. Its layout is described in [`super`].

use super::tree::{BASE, EXPORTED, Frame, Tree};
use crate::weights::Weights;
use jtrail_analysis::CallTree;
use std::collections::BTreeSet;

const VERSION: u64 = 1;

/// Returns the data of a tree.
pub(super) fn data(tree: &Tree) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, VERSION);
    number(&mut out, tree.traces.len() as u64);
    for trace in &tree.traces {
        text(&mut out, &trace.title);
        text(&mut out, &trace.program);
        number(&mut out, zigzag(trace.start));
        number(&mut out, trace.duration.max(0).unsigned_abs());
        number(&mut out, trace.threads);
        texts(&mut out, trace.marks.iter().map(String::as_str));
    }
    number(&mut out, tree.left_out);
    let numbers = frames(tree, &mut out);
    let order = preorder(&tree.paths);
    number(&mut out, order.len() as u64);
    for (_, level) in &order {
        number(&mut out, *level);
    }
    for (at, _) in &order {
        let frame = tree.paths.frame(*at);
        number(&mut out, numbers[frame as usize]);
    }
    for trace in [EXPORTED, BASE].into_iter().take(tree.traces.len()) {
        weights(tree, &order, trace, &mut out);
    }
    out
}

/// Appends the frames of a tree. Returns the written number of each frame.
fn frames(tree: &Tree, out: &mut Vec<u8>) -> Vec<u64> {
    let mut uses = vec![0_u64; tree.frames.len()];
    for path in tree.numbers() {
        uses[tree.paths.frame(path) as usize] += 1;
    }
    let (mut threads, mut methods) = (Vec::new(), Vec::new());
    // A tree without its smallest paths may have frames without paths.
    for (at, frame) in tree
        .frames
        .iter()
        .enumerate()
        .filter(|(at, _)| uses[*at] > 0)
    {
        match frame {
            Frame::LeftOut | Frame::Sums => {}
            Frame::Thread(name) => threads.push((at, name)),
            Frame::Method {
                class,
                name,
                descriptor,
            } => methods.push((at, [class, name, descriptor])),
        }
    }
    // Frequent frames get small numbers, which are short.
    methods.sort_by_key(|(at, _)| std::cmp::Reverse(uses[*at]));

    let mut columns = Vec::new();
    for part in 0..3 {
        let parts: BTreeSet<&str> = methods.iter().map(|(_, m)| m[part].as_str()).collect();
        let parts: Vec<&str> = parts.into_iter().collect();
        sorted_texts(out, &parts);
        let find = |text: &String| parts.binary_search(&text.as_str()).unwrap_or_default();
        let column = methods.iter().map(|(_, m)| find(m[part]) as u64);
        columns.push(column.collect::<Vec<u64>>());
    }
    texts(out, threads.iter().map(|(_, name)| name.as_str()));
    for trace in 0..tree.traces.len() {
        for (at, _) in &threads {
            let counts = tree.threads.get(&(*at as u32)).copied();
            number(out, counts.unwrap_or_default()[trace]);
        }
    }
    number(out, methods.len() as u64);
    for value in columns.into_iter().flatten() {
        number(out, value);
    }

    let mut numbers = vec![0; tree.frames.len()];
    let in_order = threads.iter().map(|(at, _)| *at);
    let in_order = in_order.chain(methods.iter().map(|(at, _)| *at));
    numbers[1] = 1;
    for (number, at) in (2..).zip(in_order) {
        numbers[at] = number;
    }
    numbers
}

/// Returns the numbers of all paths in preorder, each with its level: how far it is above a callee
/// of the path before.
fn preorder(paths: &CallTree) -> Vec<(u32, u64)> {
    let callees = paths.callees();
    let mut order = Vec::with_capacity(paths.len());
    // For each open path, those of its callees that are still to come.
    let mut open = vec![callees.of(0).iter()];
    let mut level = 0;
    while let Some(rest) = open.last_mut() {
        match rest.next() {
            Some(&path) => {
                order.push((path, level));
                open.push(callees.of(path).iter());
                level = 0;
            }
            None => {
                open.pop();
                level += 1;
            }
        }
    }
    order
}

/// Appends the weights of a trace.
fn weights(tree: &Tree, order: &[(u32, u64)], trace: usize, out: &mut Vec<u8>) {
    let columns: [fn(&Weights) -> u64; 7] = [
        |w| w.calls,
        |w| zigzag(w.self_time),
        |w| zigzag(w.cpu),
        |w| w.objects,
        |w| zigzag(w.bytes),
        |w| zigzag(w.blocked),
        |w| zigzag(w.waiting),
    ];
    let values = |of: fn(&Weights) -> u64| {
        let paths = order.iter().map(|(path, _)| *path);
        paths.map(move |path| of(&tree.weights(path, trace)))
    };
    let is_used = columns.map(|of| values(of).any(|value| value != 0));
    let bits = (0..).zip(is_used).map(|(bit, used)| u64::from(used) << bit);
    number(out, bits.sum());
    for (of, _) in columns.into_iter().zip(is_used).filter(|(_, used)| *used) {
        values(of).for_each(|value| number(out, value));
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend(text.bytes());
}

fn texts<'a>(out: &mut Vec<u8>, texts: impl ExactSizeIterator<Item = &'a str>) {
    number(out, texts.len() as u64);
    texts.for_each(|item| text(out, item));
}

fn sorted_texts(out: &mut Vec<u8>, texts: &[&str]) {
    number(out, texts.len() as u64);
    let mut before: &[u8] = &[];
    for item in texts {
        let bytes = item.as_bytes();
        let shared = before.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        number(out, shared as u64);
        number(out, (bytes.len() - shared) as u64);
        out.extend(&bytes[shared..]);
        before = bytes;
    }
}
