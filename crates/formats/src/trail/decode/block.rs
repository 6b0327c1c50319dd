//! Decoder of a segment of events.

use super::earlier;
use super::row::{MAX_CALLS, Row, RowRoom, RowStep};
use crate::trail::calls::{ReadCall, Stream, Thread, Threads};
use crate::trail::columns::{COLUMNS, Column, MAX_EVENTS, MAX_THREADS, unpack, unpack_first};
use crate::trail::open::{MAX_LISTED, OpenList, end};
use crate::trail::record;
use crate::trail::symbols::{LEAVE, MAX_SYMBOLS, Symbol, meaning, tokens, width};
use crate::trail::times::Steps;
use crate::trail::value::{Bytes, MAX_RECORD_BYTES, Source};
use crate::trail::wire::Header;
use jtrail_model::{
    ClassId, Duration, Event, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp,
};
use std::ops::Range;

/// A segment of events that is being read.
#[derive(Default)]
pub(in crate::trail) struct Block {
    version: u8,
    columns: [Vec<u8>; COLUMNS],
    /// Number of bytes of each column that were read.
    at: [usize; COLUMNS],
    /// Number of further calls whose time equals that of the preceding call.
    repeats: u64,
    tokens: Vec<u32>,
    /// Number of events that were read.
    read: u32,
    /// Number of events of the segment.
    events: u32,
    has_cpu: bool,
    streams: Vec<Stream>,
    /// Lists of the calls that are open at the start of the segment; `None` after they are taken.
    open_lists: Option<Vec<OpenList>>,
    symbols: Vec<Symbol>,
    /// Methods by symbol. The methods of calls without a symbol follow.
    methods: Vec<(MethodId, ClassId)>,
    /// For each token: true if a call begins, or ends by return.
    is_call: Vec<bool>,
    texts: Vec<Range<usize>>,
    current: usize,
    run: u64,
}

impl Block {
    /// Reads everything except the events. Returns `None` if the segment is malformed. Otherwise,
    /// returns true if the threads continue from their states in `threads`.
    pub(in crate::trail) fn begin(
        &mut self,
        header: &Header,
        payload: &[u8],
        threads: &Threads,
    ) -> Option<bool> {
        self.clear(header.version);
        if header.events > MAX_EVENTS {
            return None;
        }
        unpack(header.version, &mut Bytes(payload), &mut self.columns)?;
        let predicted = self
            .is_earlier()
            .then(|| earlier::columns(&mut self.columns));
        let goes_on = self.read_threads(threads)?;
        self.read_symbols()?;
        match predicted {
            None => {
                let column = &self.columns[Column::Tokens as usize];
                let width = width(self.symbols.len());
                if column.len() != header.events as usize * width {
                    return None;
                }
                tokens(column, width, &mut self.tokens)?;
                self.read_open()?;
            }
            Some(predicted) => {
                let runs = &self.columns[Column::Runs as usize];
                let threads = self.streams.len();
                let (symbols, into) = (&self.symbols, &mut self.tokens);
                // The events before an error remain readable.
                let _ = earlier::tokens(&predicted, runs, threads, header.events, symbols, into);
            }
        }
        self.events = header.events;
        Some(goes_on)
    }

    fn clear(&mut self, version: u8) {
        self.version = version;
        self.events = 0;
        self.read = 0;
        self.at = [0; COLUMNS];
        self.repeats = 0;
        self.streams.clear();
        self.open_lists = None;
        self.symbols.clear();
        self.methods.clear();
        self.is_call.clear();
        self.texts.clear();
        self.run = 0;
    }

    /// Reads only the lists of the calls that are open at the start. Returns `None` if they are
    /// malformed, and in versions before 3.
    pub(super) fn read_open_lists(
        &mut self,
        header: &Header,
        payload: &[u8],
    ) -> Option<Vec<OpenList>> {
        const SELECTED: usize = Column::Open as usize + 1;
        self.clear(header.version);
        if self.is_earlier() {
            return None;
        }
        let bytes = &mut Bytes(payload);
        unpack_first(SELECTED, header.version, bytes, &mut self.columns)?;
        self.read_threads(&Threads::default())?;
        self.read_open()?;
        self.take_open_lists()
    }

    /// Returns the threads that have events in a segment. Reads no more of the payload than that
    /// takes: `payload` may lack its later part. Returns `None` if the threads are malformed.
    pub(super) fn read_thread_ids(&mut self, version: u8, payload: &[u8]) -> Option<Vec<u64>> {
        const SELECTED: usize = Column::Threads as usize + 1;
        self.clear(version);
        unpack_first(SELECTED, version, &mut Bytes(payload), &mut self.columns)?;
        self.read_threads(&Threads::default())?;
        Some(self.threads().map(|(id, _)| id).collect())
    }

    fn is_earlier(&self) -> bool {
        self.version < 3
    }

    fn read_threads(&mut self, threads: &Threads) -> Option<bool> {
        let mut bytes = Bytes(&self.columns[Column::Threads as usize]);
        let base = bytes.signed()?;
        self.has_cpu = bytes.byte()? != 0;
        let mut id = 0_u64;
        let mut goes_on = true;
        let count: usize = bytes.small()?;
        if count > MAX_THREADS {
            return None;
        }
        for _ in 0..count {
            id = id.wrapping_add(bytes.signed()? as u64);
            let thread = Thread {
                events: bytes.number()?,
                ticket: bytes.small()?,
                depth: bytes.signed()?,
            };
            goes_on &= thread == threads.get(&id).copied().unwrap_or_default();
            self.streams.push(Stream::new(ThreadId(id), thread, base));
        }
        let mut ids: Vec<u64> = self
            .streams
            .iter()
            .map(|stream| stream.last.thread.0)
            .collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        Some(goes_on)
    }

    fn read_symbols(&mut self) -> Option<()> {
        let mut bytes = Bytes(&self.columns[Column::Symbols as usize]);
        // Index 0 has no symbol: its token ends a call.
        self.methods.push(Default::default());
        self.is_call.push(true);
        let is_earlier = self.is_earlier();
        let mut last = (0_u64, 0_u64);
        while let Some(tag) = bytes.byte() {
            if self.symbols.len() >= MAX_SYMBOLS {
                return None;
            }
            let symbol = match tag {
                0 if is_earlier => Symbol::Enter {
                    method: bytes.number()?,
                    class: bytes.number()?,
                },
                0 => {
                    let method = last.0.wrapping_add(bytes.signed()? as u64);
                    let class = last.1.wrapping_add(bytes.signed()? as u64);
                    last = (method, class);
                    Symbol::Enter { method, class }
                }
                u8::MAX => Symbol::LeaveByException,
                code => Symbol::Record(code),
            };
            self.symbols.push(symbol);
            self.is_call.push(matches!(symbol, Symbol::Enter { .. }));
            self.methods.push(match symbol {
                Symbol::Enter { method, class } => (MethodId(method), ClassId(class)),
                _ => Default::default(),
            });
        }
        Some(())
    }

    /// Pushes the calls that are open at the start of the segment to the stacks of their threads.
    fn read_open(&mut self) -> Option<()> {
        let mut bytes = Bytes(&self.columns[Column::Open as usize]);
        let mut room = MAX_LISTED;
        let mut all = Vec::with_capacity(self.streams.len());
        for stream in &mut self.streams {
            let list = OpenList::get(&mut bytes, stream.last, &mut room)?;
            for call in &list.calls {
                let of = self.methods.len() as u32;
                self.methods.push((call.method, call.class));
                stream.open.push(ReadCall::new(call.ticket, of));
            }
            all.push(list);
        }
        self.open_lists = Some(all);
        bytes.0.is_empty().then_some(())
    }

    /// Takes the lists of the calls that are open at the start of the segment. Returns `None` in
    /// versions before 3, and after the first call.
    pub(super) fn take_open_lists(&mut self) -> Option<Vec<OpenList>> {
        self.open_lists.take()
    }

    /// Returns the thread of the last event.
    pub(super) fn thread(&self) -> Option<ThreadId> {
        self.streams
            .get(self.current)
            .map(|stream| stream.last.thread)
    }

    /// Returns the number of events that are not yet read.
    pub(in crate::trail) fn left(&self) -> u32 {
        self.events - self.read
    }

    /// Discards the remaining events.
    pub(super) fn discard_rest(&mut self) {
        self.events = self.read;
    }

    /// Returns the current state of each thread.
    pub(in crate::trail) fn threads(&self) -> impl Iterator<Item = (u64, Thread)> {
        self.streams
            .iter()
            .map(|stream| (stream.last.thread.0, stream.thread))
    }

    /// Returns true if all columns are read to their ends.
    pub(super) fn is_fully_read(&self) -> bool {
        let later = [Column::Runs, Column::Times, Column::Records];
        let is_read =
            |column: &Column| self.at[*column as usize] == self.columns[*column as usize].len();
        self.repeats == 0 && later.iter().all(is_read)
    }

    fn bytes(&self, column: Column) -> Bytes<'_> {
        let all = &self.columns[column as usize];
        Bytes(all.get(self.at[column as usize]..).unwrap_or_default())
    }

    /// Switches to the thread of the next event. Returns `None` if the column is malformed.
    #[inline]
    fn next_run(&mut self) -> Option<()> {
        while self.run == 0 {
            let mut bytes = self.bytes(Column::Runs);
            let (thread, run) = (bytes.small()?, bytes.number()?);
            self.at[Column::Runs as usize] =
                self.columns[Column::Runs as usize].len() - bytes.0.len();
            (self.current, self.run) = (thread, run);
        }
        Some(())
    }

    /// Returns the next event. Returns `None` if no event is left, or if it can't be read.
    #[inline]
    pub(in crate::trail) fn next(&mut self) -> Option<Event<'static>> {
        self.next_run()?;
        self.streams.get(self.current)?;
        let symbol = *self.tokens.get(self.read as usize)?;
        let event = match symbol {
            LEAVE => self.leave(false),
            _ => match meaning(&self.symbols, symbol)? {
                Symbol::Enter { method, class } => {
                    self.enter(symbol, MethodId(method), ClassId(class))
                }
                Symbol::LeaveByException => self.leave(true),
                Symbol::Record(code) => self.record(code),
            },
        }?;
        self.run -= 1;
        self.read += 1;
        let events = &mut self.streams[self.current].thread.events;
        *events = events.wrapping_add(1);
        Some(event)
    }

    /// Returns the next events as a row. The row holds consecutive calls of one thread that begin,
    /// or end by return, and never the last event of the segment. Returns `None` if the next event
    /// does not fit into a row; [`Self::next`] then reads it.
    pub(super) fn row<'s>(&'s mut self, room: &'s mut RowRoom) -> Option<Row<'s>> {
        if self.has_cpu {
            return None;
        }
        self.next_run()?;
        let most = usize::try_from(self.run).unwrap_or(usize::MAX);
        let most = most.min(MAX_CALLS).min(self.left() as usize - 1);
        let stream = self.streams.get_mut(self.current)?;
        let before = stream.thread;
        // In a sound trace, the depth fits into 32 bits. Otherwise, `next` reads event by event.
        let depth = u32::try_from(before.depth).ok()?;
        if stream.open.len() > depth as usize || depth.checked_add(most as u32).is_none() {
            return None;
        }
        let tokens = self.tokens.get(self.read as usize..)?.get(..most)?;
        let most = calls(tokens, &self.is_call);
        let column = &self.columns[Column::Times as usize][..];
        let at = &mut self.at[Column::Times as usize];
        let steps = Steps {
            bytes: Bytes(column.get(*at..)?),
            repeats: self.repeats,
            is_earlier: self.version < 3,
        };
        let mut read = steps;
        let count = read.fill(stream.last.time, &mut room.times[..most]);
        let tokens = &tokens[..count];
        let mut open = stream.open.len();
        let (stack, _) = stream.open.with_room(count);
        let mut ticket = before.ticket;
        let mut done = 0;
        let out = room.steps.iter_mut().zip(room.tickets.iter_mut());
        for (&token, (step, ticket_of)) in tokens.iter().zip(out) {
            // Programs repeat themselves, so the processor predicts most of these branches.
            let ends = token == LEAVE;
            let call = if ends {
                let innermost = open.wrapping_sub(1);
                let Some(call) = stack.get(innermost) else {
                    break;
                };
                open = innermost;
                *call
            } else {
                let Some(place) = stack.get_mut(open) else {
                    break;
                };
                ticket = ticket.wrapping_add(1);
                *place = ReadCall::new(ticket, token);
                open += 1;
                *place
            };
            (*step, *ticket_of) = (RowStep::new(call.of(), ends), call.ticket());
            done += 1;
        }
        stream.open.set_depth(open);
        if done < count {
            read = steps;
            read.fill(stream.last.time, &mut room.times[..done]);
        }
        let last = room.times[..done].last()?;
        let enters = ticket.wrapping_sub(before.ticket);
        let count = done as u32;
        let thread = &mut stream.thread;
        thread.ticket = ticket;
        thread.depth = before.depth + i64::from(enters) - i64::from(count - enters);
        thread.events = thread.events.wrapping_add(count.into());
        stream.last.time = last.0;
        (self.repeats, *at) = (read.repeats, column.len() - read.bytes.0.len());
        self.run -= u64::from(count);
        self.read += count;
        Some(Row {
            thread: stream.last.thread,
            ticket: before.ticket,
            depth,
            enters,
            steps: &room.steps[..done],
            tickets: &room.tickets[..done],
            times: &room.times[..done],
            methods: &self.methods,
        })
    }

    #[inline]
    fn enter(&mut self, symbol: u32, method: MethodId, class: ClassId) -> Option<Event<'static>> {
        let time = self.time()?;
        let cpu_time = self.cpu()?;
        let stream = &mut self.streams[self.current];
        let (ticket, stack_depth) = stream.thread.next_call();
        let call = MethodEnter {
            thread: stream.last.thread,
            time,
            method,
            class,
            ticket,
            cpu_time,
            stack_depth,
        };
        stream.enter(ticket, stack_depth, symbol);
        Some(Event::MethodEnter(call))
    }

    #[inline]
    fn leave(&mut self, by_exception: bool) -> Option<Event<'static>> {
        let time = self.time()?;
        let cpu_time = self.cpu()?;
        let stream = &mut self.streams[self.current];
        let open = stream.open.pop()?;
        let (method, class) = *self.methods.get(open.of() as usize)?;
        stream.thread.depth = stream.thread.depth.wrapping_sub(1);
        Some(Event::MethodLeave(MethodLeave {
            thread: stream.last.thread,
            time,
            method,
            class,
            ticket: open.ticket(),
            cpu_time,
            by_exception,
        }))
    }

    #[inline]
    fn time(&mut self) -> Option<Timestamp> {
        let column = &self.columns[Column::Times as usize][..];
        let at = &mut self.at[Column::Times as usize];
        let mut times = Steps {
            bytes: Bytes(column.get(*at..)?),
            repeats: self.repeats,
            is_earlier: self.version < 3,
        };
        let step = times.next()?;
        (self.repeats, *at) = (times.repeats, column.len() - times.bytes.0.len());
        let last = &mut self.streams[self.current].last.time;
        *last = last.wrapping_add(step);
        Some(Timestamp(*last))
    }

    #[inline]
    fn cpu(&mut self) -> Option<Duration> {
        if !self.has_cpu {
            return Some(Duration(0));
        }
        let mut bytes = self.bytes(Column::Records);
        let step = bytes.signed()?;
        self.at[Column::Records as usize] =
            self.columns[Column::Records as usize].len() - bytes.0.len();
        let last = &mut self.streams[self.current].cpu;
        *last = last.wrapping_add(step);
        Some(Duration(*last))
    }

    fn record(&mut self, code: u8) -> Option<Event<'static>> {
        let column = &self.columns[Column::Records as usize][..];
        let at = &mut self.at[Column::Records as usize];
        let stream = &mut self.streams[self.current];
        let mut source = Source {
            column,
            bytes: Bytes(column.get(*at..)?),
            texts: &mut self.texts,
            last: &mut stream.last,
            room: MAX_RECORD_BYTES,
        };
        let event = record::get(code, &mut source)?;
        *at = column.len() - source.bytes.0.len();
        match &event {
            Event::MethodEnter(e) => {
                let of = self.methods.len() as u32;
                self.methods.push((e.method, e.class));
                stream.enter(e.ticket, e.stack_depth, of);
            }
            Event::MethodLeave(e) => {
                let methods = &self.methods;
                let is_it = |open: &ReadCall| {
                    let of = methods.get(open.of() as usize);
                    open.ticket() == e.ticket && of == Some(&(e.method, e.class))
                };
                match self.version {
                    ..3 => _ = stream.open.pop(),
                    _ => end(&mut stream.open, is_it),
                }
                stream.thread.depth = stream.thread.depth.wrapping_sub(1);
            }
            _ => {}
        }
        Some(event)
    }
}

/// Returns the number of leading tokens that belong to calls.
fn calls(tokens: &[u32], is_call: &[bool]) -> usize {
    let is_call = |token: &u32| is_call.get(*token as usize).is_some_and(|is| *is);
    let (rows, _) = tokens.as_chunks::<8>();
    let all = |row: &&[u32; 8]| row.iter().fold(true, |all, token| all & is_call(token));
    let first = 8 * rows.iter().take_while(all).count();
    first
        + tokens[first..]
            .iter()
            .take_while(|token| is_call(token))
            .count()
}
