//! The programs whose traces are generated.
//!
//! What a program does between two decisions is a script: enters and leaves that end at the depth
//! where they began. Threads play scripts again and again, each time with other times. So call
//! paths recur as they do in real programs, and playing is as fast as copying.

use crate::random::Random;
use jtrail_model::RunStep;

/// Number of methods of the program that is like javac.
const METHODS: u32 = 3000;
/// Methods are in layers: most calls are to a method of one of the next layers.
const LAYERS: u32 = 70;
const OF_ONE_LAYER: u32 = METHODS / LAYERS;
/// Scripts of the program that is like javac.
const SCRIPTS: usize = 400;
/// A script that is shorter is not worth a task, and a longer one is cut off.
const SCRIPT_STEPS: [usize; 2] = [500, 20_000];
const MAX_DEPTH: usize = 77;
/// The largest number whose Fibonacci number is computed: one more is one level more.
const LARGEST_FIB: u32 = 29;

/// Number of lengths of time between steps; a power of two.
pub(crate) const GAPS: usize = 1 << 12;

/// A program.
#[derive(Debug)]
pub(crate) struct Program {
    /// Class and name of each method.
    pub(crate) methods: Vec<(u32, String)>,
    /// Names of the classes.
    pub(crate) classes: Vec<String>,
    /// Number of the method that each task is a call of.
    pub(crate) task: u32,
    /// What tasks consist of.
    pub(crate) scripts: Vec<Vec<RunStep>>,
    /// Maximum number of scripts of a task.
    pub(crate) longest_task: u64,
    /// Lengths of time between steps, in ns. Each is as frequent as any other.
    pub(crate) gaps: Vec<u32>,
    /// True if the threads allocate, throw and wait.
    pub(crate) has_other_events: bool,
}

/// What a program is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A recursive function, which calls nothing else.
    Fib,
    /// A compiler: thousands of methods, and events of other kinds.
    Javac,
}

impl Program {
    pub(crate) fn new(shape: Shape, seed: u64) -> Self {
        let mut random = Random::new(seed);
        match shape {
            Shape::Fib => Self::fib(&mut random),
            Shape::Javac => Self::javac(&mut random),
        }
    }

    fn fib(random: &mut Random) -> Self {
        let numbers = (LARGEST_FIB - 8)..=LARGEST_FIB;
        let scripts = numbers.map(|number| {
            let mut steps = Vec::new();
            fib(number, &mut steps);
            steps
        });
        Self {
            methods: vec![(0, "fib".into()), (0, "main".into())],
            classes: vec!["com.example.Fib".into()],
            task: 1,
            scripts: scripts.collect(),
            longest_task: 4,
            gaps: (0..GAPS).map(|_| fib_gap(random)).collect(),
            has_other_events: false,
        }
    }

    fn javac(random: &mut Random) -> Self {
        let grammar: Vec<Vec<Site>> = (0..METHODS).map(|m| sites(m, random)).collect();
        let mut scripts = Vec::new();
        while scripts.len() < SCRIPTS {
            let mut steps = Vec::new();
            let first = random.below(u64::from(5 * OF_ONE_LAYER)) as u32;
            call(first, &grammar, 1, random, &mut steps);
            if steps.len() >= SCRIPT_STEPS[0] {
                scripts.push(steps);
            }
        }
        let of_class = |class: u32| format!("com.example.compiler.part{}.Class{class}", class / 20);
        let mut methods: Vec<_> = (0..METHODS)
            .map(|m| (m / 10, format!("method{m}")))
            .collect();
        let mut classes: Vec<String> = (0..METHODS.div_ceil(10)).map(of_class).collect();
        methods.push((classes.len() as u32, "run".into()));
        classes.push("com.example.compiler.Task".into());
        Self {
            task: METHODS,
            methods,
            classes,
            scripts,
            longest_task: 4000,
            gaps: (0..GAPS).map(|_| javac_gap(random)).collect(),
            has_other_events: true,
        }
    }
}

fn fib(number: u32, steps: &mut Vec<RunStep>) {
    steps.push(RunStep::new(0, false));
    if number >= 2 {
        fib(number - 1, steps);
        fib(number - 2, steps);
    }
    steps.push(RunStep::new(0, true));
}

/// A call of a fib takes 10 to 60 ns, without its callees: it has two or four gaps.
fn fib_gap(random: &mut Random) -> u32 {
    let jitter = if random.chance(0.9) { 4 } else { 13 };
    5 + random.below(jitter) as u32
}

fn javac_gap(random: &mut Random) -> u32 {
    let [least, most] = match random.below(GAPS as u64) {
        0 => [20_000, 300_000],
        1..12 => [1000, 20_000],
        12..200 => [120, 1000],
        200..1000 => [30, 120],
        _ => [8, 30],
    };
    random.spread(least, most) as u32
}

/// A place where a method calls another one.
#[derive(Debug)]
struct Site {
    callee: u32,
    probability: f64,
    /// Maximum number of calls in a row.
    repeats: u64,
}

/// Returns the call sites of a method. A method calls a bit more than one on average, so that trees
/// grow until they reach the last layers.
fn sites(method: u32, random: &mut Random) -> Vec<Site> {
    let layer = method / OF_ONE_LAYER;
    let count = match layer {
        ..6 => 3 + random.below(3),
        6..40 => random.below(4),
        _ => random.below(3),
    };
    let site = |_| {
        let next = match random.below(40) {
            0 => layer.saturating_sub(6),
            1..6 => LAYERS - 1 - random.below(20) as u32,
            6..30 => layer + 1,
            _ => layer + 2 + random.below(3) as u32,
        };
        let callee = next * OF_ONE_LAYER + random.uneven(OF_ONE_LAYER as usize) as u32;
        let probability = [0.97, 0.9, 0.5, 0.08][random.below(4) as usize];
        let repeats = if random.chance(0.1) { 4 } else { 1 };
        (next < LAYERS).then_some(Site {
            callee,
            probability,
            repeats,
        })
    };
    (0..count).filter_map(site).collect()
}

fn call(
    method: u32,
    grammar: &[Vec<Site>],
    depth: usize,
    random: &mut Random,
    steps: &mut Vec<RunStep>,
) {
    steps.push(RunStep::new(method, false));
    for site in &grammar[method as usize] {
        if depth >= MAX_DEPTH || !random.chance(site.probability) {
            continue;
        }
        for _ in 0..1 + random.below(site.repeats) {
            if steps.len() < SCRIPT_STEPS[1] {
                call(site.callee, grammar, depth + 1, random, steps);
            }
        }
    }
    steps.push(RunStep::new(method, true));
}
