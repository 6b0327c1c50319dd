//! A thread that plays scripts.

use crate::program::{GAPS, Program};
use crate::random::Random;
use jtrail_model::{OpenedCall, RunStep, ThreadId, Timestamp};

/// The time of a step that is not planned.
pub(crate) const NEVER: i64 = i64::MAX;

/// A thread with its open calls, and the run of steps that is to be written next.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: ThreadId,
    pub(crate) random: Random,
    /// Time of the next step, or [`NEVER`] while the thread waits.
    pub(crate) next: i64,
    /// Time and kind of the next event that is not a step.
    pub(crate) other: (i64, Other),
    /// Ticket of the last call.
    pub(crate) ticket: u32,
    pub(crate) stack: Vec<Call>,
    playing: Playing,
    /// Index of the next step of what is played.
    at: usize,
    /// Number of scripts that the task still has.
    left: u64,
    pub(crate) run: Run,
}

/// An open call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) opened: OpenedCall,
    pub(crate) ticket: u32,
}

/// Steps of a thread that are in one piece in the trace.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) steps: Vec<RunStep>,
    pub(crate) times: Vec<Timestamp>,
    /// Tickets of the calls that began earlier and end in the run.
    pub(crate) before: Vec<u32>,
    pub(crate) begun: Vec<OpenedCall>,
    /// The last ticket, and the number of open calls, before the run.
    pub(crate) ticket: u32,
    pub(crate) depth: u32,
}

/// An event that is not a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Other {
    /// None is planned.
    None,
    /// An allocation, an exception or a wait; a random one.
    Any,
    /// The begin of a park.
    Park,
    /// The end of a wait.
    End(Wait),
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    Parked,
    /// In `Object.wait`, with the number of the monitor's object.
    Waiting(u64),
    /// On a monitor with the number of its object.
    Blocked(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Playing {
    BeginOfTask,
    Script(usize),
    EndOfTask,
}

impl Thread {
    pub(crate) fn new(id: u64, start: i64, program: &Program, seed: u64) -> Self {
        let mut thread = Self {
            id: ThreadId(id),
            random: Random::new(seed ^ (id << 32)),
            next: start,
            other: (NEVER, Other::None),
            ticket: 0,
            stack: Vec::new(),
            playing: Playing::BeginOfTask,
            at: 0,
            left: 0,
            run: Run::default(),
        };
        thread.next += thread.random.below(1000) as i64;
        thread.plan(thread.next, program);
        thread
    }

    /// Plans the next event that is not a step.
    pub(crate) fn plan(&mut self, after: i64, program: &Program) {
        if program.has_other_events {
            let time = after + 1000 + self.random.below(120_000) as i64;
            self.other = (time, Other::Any);
        }
    }

    /// Returns the time of the next step or other event.
    pub(crate) fn first(&self) -> i64 {
        self.next.min(self.other.0)
    }

    /// Takes all steps before `end`. They are the thread's run.
    pub(crate) fn play(&mut self, program: &Program, end: i64) {
        self.begin_run();
        while self.next < end {
            match self.playing {
                Playing::Script(number) => self.play_script(program, &program.scripts[number], end),
                Playing::BeginOfTask => {
                    self.step(RunStep::new(program.task, false));
                    self.left = self.random.spread(1, program.longest_task);
                    self.playing = Playing::Script(self.random.uneven(program.scripts.len()));
                    self.next += self.gap(program);
                }
                Playing::EndOfTask => {
                    self.step(RunStep::new(program.task, true));
                    self.playing = Playing::BeginOfTask;
                    self.next += self.gap(program);
                    if program.has_other_events && self.random.chance(0.5) {
                        // Not within this run: all events of other kinds are between runs.
                        self.other = (self.next.max(end), Other::Park);
                        self.next = NEVER;
                    }
                }
            }
        }
        self.end_run();
    }

    fn play_script(&mut self, program: &Program, steps: &[RunStep], end: i64) {
        while self.next < end {
            let Some(step) = steps.get(self.at) else {
                self.at = 0;
                self.left -= 1;
                self.playing = match self.left {
                    0 => Playing::EndOfTask,
                    _ => Playing::Script(self.random.uneven(program.scripts.len())),
                };
                return;
            };
            self.step(*step);
            self.at += 1;
            self.next += self.gap(program);
        }
    }

    #[inline(always)]
    fn gap(&mut self, program: &Program) -> i64 {
        program.gaps[self.random.next() as usize % GAPS].into()
    }

    /// Takes a step at the time of the next one.
    #[inline(always)]
    pub(crate) fn step(&mut self, step: RunStep) {
        let time = Timestamp(self.next);
        if !step.ends() {
            self.ticket = self.ticket.wrapping_add(1);
            let opened = OpenedCall {
                place: self.run.steps.len() as u32,
                method: step.method(),
                time,
            };
            let ticket = self.ticket;
            self.stack.push(Call { opened, ticket });
        } else if let Some(call) = self.stack.pop()
            && self.stack.len() + self.run.before.len() < self.run.depth as usize
        {
            self.run.before.push(call.ticket);
        }
        self.run.steps.push(step);
        self.run.times.push(time);
    }

    /// Takes the next step of the script if it is the end of a call, and returns that call; the
    /// caller writes it.
    pub(crate) fn take_end(&mut self, program: &Program) -> Option<Call> {
        let Playing::Script(number) = self.playing else {
            return None;
        };
        let step = program.scripts[number].get(self.at)?;
        if !step.ends() {
            return None;
        }
        self.at += 1;
        self.stack.pop()
    }

    pub(crate) fn begin_run(&mut self) {
        self.run.steps.clear();
        self.run.times.clear();
        self.run.before.clear();
        self.run.ticket = self.ticket;
        self.run.depth = self.stack.len() as u32;
    }

    pub(crate) fn end_run(&mut self) {
        let remaining = self.run.depth as usize - self.run.before.len();
        self.run.begun.clear();
        let begun = self.stack[remaining..].iter().map(|call| call.opened);
        self.run.begun.extend(begun);
    }
}
