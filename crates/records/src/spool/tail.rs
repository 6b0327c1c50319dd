//! Reads what was recorded and not written, from a spool that a process has left.

use super::bounds::Bounds;
use super::frame::{unframe, unframe_all};
use super::layout::{
    CHUNK_BYTES, CHUNK_HEAD_BYTES, HEAD_BYTES, LINE_BYTES, MAGIC, RESERVE_BYTES, VERSION, head,
};
use super::{DEFINITIONS, MEMORY, NAMED, State, TraceState, state_name};
use crate::NumberSet;
use crate::definition::{Compilation, Definition};
use crate::read::{Limits, ReadPosition, Run, Sink, Taken};
use crate::record::Code;
use crate::translate::{Named, Translator};
use jtrail_formats::trail;
use jtrail_model::{AgentDestroy, ClockNote, Duration, Event, Timestamp, TraceEnd};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Reason for which a spool can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// A file of the spool can't be read.
    #[error("{0}: {1}")]
    Io(&'static str, #[source] io::Error),
    /// The process that records into the spool still runs.
    #[error("process {0} still records into it")]
    InUse(u64),
    /// The file `memory` has no known format.
    #[error("its file `memory` is none of jtrail's, or of another version")]
    NoSpool,
    /// The spool's files contradict themselves or each other.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// A spool whose process has ended.
#[derive(Debug)]
pub struct Spool {
    memory: File,
    head: Head,
    state: State,
    journaled: Vec<Definition>,
    named: Vec<Named>,
}

#[derive(Debug)]
struct Head {
    address: u64,
    lines: Area,
    reserves: Area,
    chunks: Area,
    state: u64,
    pid: u64,
}

/// An array of parts of one size in the file.
#[derive(Clone, Copy, Debug)]
struct Area {
    at: u64,
    count: u64,
    size: u64,
}

impl Area {
    fn places(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |i| self.at + i * self.size)
    }

    fn end(self) -> Option<u64> {
        let bytes = self.count.checked_mul(self.size)?;
        bytes.checked_add(self.at)
    }
}

impl Head {
    fn read(memory: &File) -> Result<Self, SpoolError> {
        let failed = |error| SpoolError::Io(MEMORY, error);
        let size = memory.metadata().map_err(failed)?.len();
        let mut bytes = [0; head::WORDS * 8];
        match memory.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(SpoolError::NoSpool);
            }
            other => other.map_err(failed)?,
        }
        let word = |at: usize| words(&bytes[at * 8..]).next().unwrap_or_default();
        if (word(head::MAGIC), word(head::VERSION)) != (MAGIC, VERSION) {
            return Err(SpoolError::NoSpool);
        }
        let area = |at: usize, size| Area {
            at: word(at),
            count: word(at + 1),
            size,
        };
        let head = Self {
            address: word(head::ADDRESS),
            lines: area(head::LINES, LINE_BYTES),
            reserves: area(head::RESERVES, RESERVE_BYTES),
            chunks: area(head::CHUNKS, CHUNK_BYTES),
            state: word(head::STATE),
            pid: word(head::PID),
        };
        // The areas follow each other.
        let mut free = HEAD_BYTES;
        for area in [head.lines, head.reserves, head.chunks] {
            let end = area.end().filter(|end| area.at >= free && *end <= size);
            free = end.ok_or(SpoolError::Damaged("the file `memory` is cut"))?;
        }
        Ok(head)
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word))
}

impl Spool {
    /// Opens the spool in a folder. Returns `None` if the folder has no spool, or if nothing was
    /// recorded into it.
    ///
    /// # Errors
    /// When the process that records into the spool still runs, or when the spool can't be read.
    pub fn open(folder: &Path) -> Result<Option<Self>, SpoolError> {
        let memory = match File::open(folder.join(MEMORY)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| SpoolError::Io(MEMORY, error))?,
        };
        let head = Head::read(&memory)?;
        match memory.try_lock_shared() {
            Err(TryLockError::WouldBlock) => return Err(SpoolError::InUse(head.pid)),
            Err(TryLockError::Error(error)) => return Err(SpoolError::Io(MEMORY, error)),
            Ok(()) => {}
        }
        let head = Head::read(&memory)?; // read again under the lock, in its final state
        if head.state == 0 {
            return Ok(None);
        }
        let read = |name: &'static str| {
            fs::read(folder.join(name)).map_err(|error| SpoolError::Io(name, error))
        };
        let state = read(state_name(head.state))?;
        let state = unframe::<State>(&state).map(|(state, _)| state);
        let state = state.filter(|state| state.number == head.state);
        let state = state.ok_or(SpoolError::Damaged("how far the trace is written"))?;
        let named = read(NAMED)?;
        let (from, to) = state.named;
        let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        let named = range.and_then(|(from, to)| named.get(from..to));
        let named = named.ok_or(SpoolError::Damaged("ids are missing"))?;
        let named = unframe_all::<Vec<Named>>(named).concat();
        let journaled = unframe_all(&read(DEFINITIONS)?);
        if (journaled.len() as u64) < state.defined {
            return Err(SpoolError::Damaged("definitions are missing"));
        }
        Ok(Some(Self {
            memory,
            head,
            state,
            journaled,
            named,
        }))
    }

    /// Returns the trace that was being written, if there was one.
    pub fn trace(&self) -> Option<&TraceState> {
        self.state.trace.as_ref()
    }

    /// Returns the id of the process.
    pub fn pid(&self) -> u64 {
        self.head.pid
    }

    /// Returns the events that follow the written part of the trace ([`TraceState::length`]). If
    /// nothing was written, they follow the opening ([`TraceState::opening`]). `defined` are the
    /// objects that the written part defines. Returns `None` if there is no trace.
    ///
    /// # Errors
    /// When the memory can't be read.
    pub fn tail(self, defined: NumberSet) -> io::Result<Option<Tail>> {
        let streams = self.streams()?;
        let Self {
            memory,
            state,
            journaled,
            named,
            ..
        } = self;
        let Some(trace) = state.trace else {
            return Ok(None);
        };
        let clock = trace.clock.map(|(tick, longest)| ClockNote {
            tick: Duration(tick),
            longest: Duration(longest),
        });
        let bounds = Bounds::of(&journaled);
        if !trace.saved.is_sound(
            |number| bounds.thread(number),
            |number| bounds.class(number),
            |number| bounds.method(number),
            |number, class, size| bounds.object(number, class, size),
        ) {
            return Err(io::Error::other("the spool's state is damaged"));
        }
        let encoder = || Box::new(trail::Encoder::default());
        let is_written = trace.opening.is_none();
        let mut translator = match is_written {
            true => Translator::restore(encoder(), trace.saved, defined),
            false => Translator::restore(Translator::silent(), trace.saved, NumberSet::default()),
        };
        if is_written {
            translator.begin();
        }
        let mut compilations = VecDeque::new();
        let mut later = Vec::new();
        for (number, emitted) in (0..).zip(journaled) {
            match emitted {
                emitted if !bounds.definition(&emitted) => {}
                Definition::Compilation(emitted) if emitted.time() > trace.written => {
                    compilations.push_back(emitted);
                }
                emitted if number < state.defined => translator.remember(emitted),
                emitted => later.push(emitted),
            }
        }
        let emitted_before = translator.emitted();
        match is_written {
            true => {
                for named in named.into_iter().filter(|named| bounds.named(named)) {
                    translator.name(named);
                }
            }
            false => translator.begin_at(encoder(), trace.written),
        }
        for emitted in later {
            translator.define(emitted);
        }
        compilations
            .make_contiguous()
            .sort_by_key(Compilation::time);
        Ok(Some(Tail {
            memory,
            streams,
            heads: BinaryHeap::new(),
            is_begun: false,
            is_over: false,
            compilations,
            emitted: emitted_before,
            translator,
            at: trace.written,
            bounds,
            clock,
            agent_id: trace.agent_id,
            given: 0,
        }))
    }

    /// Returns, for each buffer, the records that are not read yet, and the number of lost events.
    fn streams(&self) -> io::Result<Vec<Stream>> {
        let (published, lost) = self.lines()?;
        let done: HashSet<u64> = self.state.done.iter().copied().collect();
        let places = self
            .state
            .buffers
            .iter()
            .map(|buffer| (buffer.number, buffer));
        let places: FxHashMap<u64, _> = places.collect();
        let mut buffers = FxHashMap::<u64, Vec<Chunk>>::default();
        for (area, most) in [
            (self.head.chunks, CHUNK_BYTES),
            (self.head.reserves, RESERVE_BYTES),
        ] {
            for at in area.places() {
                let Some(chunk) = self.chunk(at, most, &published)? else {
                    continue;
                };
                let after = places.get(&chunk.buffer).map_or(0, |place| place.after);
                if chunk.sequence > after && !done.contains(&chunk.buffer) {
                    buffers.entry(chunk.buffer).or_default().push(chunk);
                }
            }
        }
        for number in lost.keys() {
            buffers.entry(*number).or_default();
        }
        let streams = buffers.into_iter().map(|(number, mut chunks)| {
            chunks.sort_by_key(|chunk| chunk.sequence);
            let place = places.get(&number).map(|state| state.place.clone());
            Stream {
                chunks: chunks.into(),
                place: place.unwrap_or_default(),
                words: Vec::new(),
                lost: lost.get(&number).copied().unwrap_or_default(),
            }
        });
        Ok(streams.collect())
    }

    /// Reads all lines. Returns the number of published words, by the offset of each chunk that a
    /// thread was filling. Also returns the number of lost events that no record counts, by buffer.
    fn lines(&self) -> io::Result<(FxHashMap<u64, u64>, FxHashMap<u64, u64>)> {
        let (mut published, mut lost) = (FxHashMap::default(), FxHashMap::default());
        let mut bytes = vec![0; LINE_BYTES as usize * 1024];
        let mut left = self.head.lines;
        while left.count > 0 {
            let count = left.count.min(1024);
            let bytes = &mut bytes[..(count * LINE_BYTES) as usize];
            self.memory.read_exact_at(bytes, left.at)?;
            for line in bytes.chunks_exact(LINE_BYTES as usize) {
                let line: Vec<u64> = words(line).collect();
                let [cursor, chunk, .., buffer, unwritten] = line[..] else {
                    continue;
                };
                if buffer != 0 && unwritten != 0 {
                    lost.insert(buffer, unwritten);
                }
                let first = chunk.wrapping_add(CHUNK_HEAD_BYTES);
                if chunk != 0
                    && let Some(used) = cursor.checked_sub(first)
                {
                    published.insert(chunk.wrapping_sub(self.head.address), used / 8);
                }
            }
            left.at += count * LINE_BYTES;
            left.count -= count;
        }
        Ok((published, lost))
    }

    /// Returns the chunk at the offset `at`, which has `size` bytes. Returns `None` if it holds no
    /// records.
    fn chunk(
        &self,
        at: u64,
        size: u64,
        published: &FxHashMap<u64, u64>,
    ) -> io::Result<Option<Chunk>> {
        let mut bytes = [0; CHUNK_HEAD_BYTES as usize];
        self.memory.read_exact_at(&mut bytes, at)?;
        let mut head = words(&bytes);
        let mut next = || head.next().unwrap_or_default();
        let (sizes, start, running, buffer, sequence) = (next(), next(), next(), next(), next());
        let used = published.get(&at).copied().unwrap_or(sizes >> 32);
        let is_one = sequence != 0 && used > 0 && used <= (size - CHUNK_HEAD_BYTES) / 8;
        Ok(is_one.then_some(Chunk {
            at,
            words: used as usize,
            start,
            running: running as u32,
            buffer,
            sequence,
        }))
    }
}

/// A chunk with records.
#[derive(Debug)]
struct Chunk {
    at: u64,
    words: usize,
    start: u64,
    running: u32,
    buffer: u64,
    sequence: u64,
}

/// The records of a buffer that are not read yet.
struct Stream {
    chunks: VecDeque<Chunk>,
    place: ReadPosition,
    /// Words of the first chunk, once it is loaded.
    words: Vec<u64>,
    /// Number of lost events that no record counts.
    lost: u64,
}

impl Stream {
    /// Reads records up to the time `limit`, but not beyond the end of a chunk. Returns the time of
    /// the next record.
    fn run(&mut self, memory: &File, limit: u64, sink: &mut impl Sink) -> io::Result<Option<u64>> {
        let Some(chunk) = self.chunks.front() else {
            return Ok(None);
        };
        if self.words.is_empty() {
            let mut bytes = vec![0; chunk.words * 8];
            memory.read_exact_at(&mut bytes, chunk.at + CHUNK_HEAD_BYTES)?;
            self.words.extend(words(&bytes));
            if self.place.words == 0 {
                self.place.begin(chunk.start, chunk.running);
            }
        }
        if let Some(next) = self.place.read(&self.words, Limits::all(limit), sink) {
            return Ok(Some(next));
        }
        self.words = Vec::new();
        self.place.words = 0;
        self.chunks.pop_front();
        // No record in a chunk is earlier than the chunk's start.
        Ok(self.chunks.front().map(|next| next.start))
    }
}

/// The events that were recorded and not written, as a trail that continues the trace.
pub struct Tail {
    memory: File,
    streams: Vec<Stream>,
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    is_begun: bool,
    is_over: bool,
    compilations: VecDeque<Compilation>,
    translator: Translator,
    /// Number of events emitted up to the last write to the trace.
    emitted: u64,
    /// Tick of the latest record so far.
    at: u64,
    bounds: Bounds,
    clock: Option<ClockNote>,
    agent_id: String,
    /// Number of bytes of the translator's output that have been read.
    given: usize,
}

impl Tail {
    /// Handles some more records, a compilation, or the end.
    fn advance(&mut self) -> io::Result<()> {
        let mut sink = Resuming {
            translator: &mut self.translator,
            at: &mut self.at,
            bounds: &self.bounds,
        };
        if !std::mem::replace(&mut self.is_begun, true) {
            for (number, stream) in self.streams.iter().enumerate() {
                if let Some(first) = stream.chunks.front() {
                    self.heads.push(Reverse((first.start, number)));
                }
            }
        }
        let emitted = self
            .compilations
            .front()
            .map_or(u64::MAX, Compilation::time);
        match self.heads.pop() {
            Some(Reverse((time, number))) if time <= emitted => {
                let others = self
                    .heads
                    .peek()
                    .map_or(emitted, |Reverse((time, _))| *time);
                let stream = &mut self.streams[number];
                if let Some(next) = stream.run(&self.memory, others.min(emitted), &mut sink)? {
                    self.heads.push(Reverse((next, number)));
                }
            }
            head => {
                self.heads.extend(head);
                match self.compilations.pop_front() {
                    Some(emitted) => self.translator.compilation(emitted),
                    None => self.end(),
                }
            }
        }
        Ok(())
    }
}

impl Tail {
    /// Writes the events that close a trace.
    fn end(&mut self) {
        let translator = &mut self.translator;
        for stream in &self.streams {
            let events = stream.lost.saturating_sub(stream.place.reported_lost);
            if events > 0 {
                translator.lost_at_end(stream.place.running, self.at, events);
            }
        }
        let time = Timestamp(translator.timeline().at(self.at));
        translator.emit_frees(time); // if it ended in the middle of a collection
        translator.recovered(translator.emitted() - self.emitted);
        translator.totals(time, self.clock);
        let trace_id = "".into();
        translator.event(&Event::TraceEnd(TraceEnd { trace_id, time }));
        let agent_id = (&*self.agent_id).into();
        translator.event(&Event::AgentDestroy(AgentDestroy { agent_id, time }));
        while translator.end_part() {}
        self.is_over = true;
    }
}

impl Read for Tail {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.given == self.translator.out.len() {
            self.translator.out.clear();
            self.given = 0;
            if self.is_over {
                return Ok(0);
            }
            self.advance()?;
        }
        let count = (&self.translator.out[self.given..]).read(to)?;
        self.given += count;
        Ok(count)
    }
}

/// A sink that resumes the trace at the start of a burst. The trace is not paused again, because
/// the end of the burst is not known.
struct Resuming<'t> {
    translator: &'t mut Translator,
    /// Tick of the latest record.
    at: &'t mut u64,
    bounds: &'t Bounds,
}

impl Sink for Resuming<'_> {
    fn enter(&mut self, thread: u32, time: u64, method: u32) {
        if self.bounds.thread(thread) && self.bounds.method(method) {
            *self.at = time.max(*self.at);
            self.translator.enter(thread, time, method);
        }
    }

    fn leave(&mut self, thread: u32, time: u64, method: u32) {
        if self.bounds.thread(thread) && self.bounds.method(method) {
            *self.at = time.max(*self.at);
            self.translator.leave(thread, time, method);
        }
    }

    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]) {
        if !self.bounds.thread(thread) || !self.bounds.record(code, payload) {
            return;
        }
        if code == Code::Burst {
            self.translator.resume_at(time);
        }
        *self.at = time.max(*self.at);
        self.translator.coded(thread, time, code, payload);
    }

    fn unreadable(&mut self) {}

    fn run(&mut self, thread: u32, run: Run<'_>) -> Taken {
        let taken = self.translator.run(thread, run);
        if taken.words > 0 {
            *self.at = run.time(taken.last).max(*self.at);
        }
        taken
    }
}
