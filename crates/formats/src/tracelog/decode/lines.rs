//! Reading of records, by type and sub-type.

use super::stacks::Life;
use super::words::{Words, is_thread, parts, read_item};
use super::{Decoder, Line, Remarked};
use crate::tracelog::settings::Collection;
use crate::tracelog::value::{read_hex, unescape};
use crate::tracelog::wire::is_known;
use crate::tracelog::{names, settings};
use jtrail_model::{
    AllocationSum, Duration, Event, GcDetail, GcFinish, GcStart, Generation, LiveClass,
    LiveObjects, ProcessCpu, ThreadCpu, TracePause, TraceResume,
};
use std::borrow::Cow;

impl Decoder {
    /// Reads a record after its type and sub-type. Returns `None` if its fields do not fit.
    #[inline]
    pub(super) fn record(&mut self, kind: &[u8], sub: &[u8], mut words: Words<'_>) -> Option<Line> {
        if (kind, sub) == (b"sam", b"str") {
            self.begin_events();
            return self.stack(&mut words);
        }
        self.other(kind, sub, &mut words)
    }

    /// Emits the opening events, and kept code that no `jit cmf` followed.
    #[inline]
    fn begin_events(&mut self) {
        if self.is_opening() {
            self.open();
        }
        self.end_code();
    }

    fn other(&mut self, kind: &[u8], sub: &[u8], words: &mut Words<'_>) -> Option<Line> {
        match (kind, sub) {
            (b"prf", b"stm") => self.start_time(&words.text())?,
            (b"prf", b"cfg") => self.configuration(words)?,
            (b"thr", b"crt") => self.thread_created(words)?,
            (b"thr", b"aos") => self.thread_os(words)?,
            (b"apd", b"crf") => self.domain(words)?,
            (b"jit", b"cmf") => return self.compilation(words),
            (b"fun", b"nam") => {
                let (iid, name) = (words.iid()?, words.quoted()?);
                let (returned, parameters) = (words.quoted()?, words.quoted()?);
                words.end()?;
                self.remark_on_texts("fun nam", &[&name, &returned, &parameters]);
                self.function_name(iid, &name, &returned, &parameters);
            }
            _ => {
                if is_known(kind, sub) {
                    self.begin_events();
                }
                return self.event_line(kind, sub, words);
            }
        }
        Some(Line::Read)
    }

    fn event_line(&mut self, kind: &[u8], sub: &[u8], words: &mut Words<'_>) -> Option<Line> {
        match (kind, sub) {
            (b"sam", b"mem") => self.allocations(words)?,
            (b"fun", b"inf") => self.function_info(words)?,
            (b"cls", b"ldf") => self.class_loaded(words)?,
            (b"cls", b"nam") => self.class_name(words)?,
            (b"thr", b"dst") => {
                let first = words.hex()?;
                let second = words.word();
                let iid = match second {
                    Some(word) => read_hex(word)?,
                    None => first,
                };
                words.end()?;
                let iid = iid.try_into().ok()?;
                if second.is_some() {
                    self.remark_on_id(first, iid, "thr dst");
                }
                self.thread_end(iid);
            }
            (b"thr", b"cpu") => {
                let (iid, ms, us) = (words.iid()?, words.dec()?, words.dec()?);
                words.end()?;
                let time = self.time(ms)?;
                let thread = self.thread(iid);
                let cpu_time = cpu(self.threads.used(iid, us)?);
                self.emit(Event::ThreadCpu(ThreadCpu {
                    thread,
                    time,
                    cpu_time,
                }));
            }
            (b"prc", b"cpu") => {
                let (ms, us) = (words.dec()?, words.dec()?);
                words.end()?;
                let time = self.time(ms)?;
                self.process_us = self.process_us.saturating_add(us);
                let cpu_time = cpu(self.process_us);
                self.emit(Event::ProcessCpu(ProcessCpu { time, cpu_time }));
            }
            (b"prf", b"tps" | b"trs") => {
                let ms = words.dec()?;
                words.end()?;
                let time = self.time(ms)?;
                self.emit(match sub {
                    b"tps" => Event::TracePause(TracePause { time }),
                    _ => Event::TraceResume(TraceResume { time }),
                });
            }
            (b"gch", b"gcs") => self.collection(words)?,
            (b"gch", b"gcf") => {
                let named = is_thread(words.word()?)?;
                let ms = words.dec()?;
                words.end()?;
                let time = self.time(ms)?;
                self.thread_of_jvm(named, "gch gcf");
                self.emit(Event::GcFinish(GcFinish {
                    time,
                    ..GcFinish::default()
                }));
            }
            (b"gch", b"alt") => self.live_table(words)?,
            (b"asm", b"ldf") => {
                let (id, domain) = (words.hex()?, words.hex()?);
                let (module, hr) = (words.hex()?, words.hex()?);
                let name = words.quoted()?;
                words.end()?;
                self.remark_on_texts("asm ldf", &[&name]);
                let usual = domain == 1 && module == id;
                self.remark_if(!usual, "asm ldf", Remarked::Ids);
                self.status(hr, "asm ldf");
                self.definitions.add_assembly(id, unescape(&name).into());
            }
            (b"mod", b"ldf") => {
                let (id, base) = (words.hex()?, words.hex()?);
                let (assembly, hr) = (words.hex()?, words.hex()?);
                let name = words.quoted()?;
                words.end()?;
                self.remark_on_texts("mod ldf", &[&name]);
                let same_name = self.definitions.is_assembly(assembly, &unescape(&name));
                self.remark_if(base != 0, "mod ldf", Remarked::BaseAddresses);
                self.remark_if(!same_name, "mod ldf", Remarked::ModuleNames);
                self.status(hr, "mod ldf");
                self.definitions.modules.insert(id, assembly);
            }
            (b"mod", b"ata") => {
                let (id, assembly) = (words.hex()?, words.hex()?);
                words.end()?;
                self.definitions.modules.insert(id, assembly);
            }
            (b"jit", b"cms" | b"css" | b"csf") => {
                is_thread(words.word()?)?;
                words.dec()?;
                words.hex()?;
                words.end()?;
                return Some(Line::Skipped);
            }
            (b"lin" | b"fil", b"src") | (b"gch", b"gen") => return Some(Line::Skipped),
            _ => return Some(Line::Unknown),
        }
        Some(Line::Read)
    }

    fn configuration(&mut self, words: &mut Words<'_>) -> Option<()> {
        let name = std::str::from_utf8(words.word()?).ok()?;
        if !settings::is_name(name) {
            return None;
        }
        let value = words.text();
        self.remark_on_texts("prf cfg", &[&value]);
        let value = unescape(&value).into_owned();
        if name == "CollectionMethod" {
            self.threads.collection =
                Collection::by_name(&value).filter(|collection| *collection != Collection::None);
        }
        self.definitions.has_line_maps |= settings::has_line_maps(name, &value);
        self.option(name.to_owned(), value);
        Some(())
    }

    fn thread_created(&mut self, words: &mut Words<'_>) -> Option<()> {
        let id = words.hex()?;
        let iid = words.iid()?;
        words.end()?;
        self.remark_on_id(id, iid, "thr crt");
        if self.threads.state(iid) != Life::Unknown {
            self.remark("thr crt", Remarked::ThreadsAgain);
            return Some(());
        }
        if iid != 0 {
            self.begin_events();
        }
        self.threads.create(iid);
        if iid != 0 {
            self.thread(iid);
        }
        Some(())
    }

    fn thread_os(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (iid, os_id) = (words.iid()?, words.dec()?);
        words.end()?;
        if iid == 0 && self.threads.state(iid) == Life::Created {
            self.threads.set_os_id(iid, os_id);
            if self.is_opening() {
                self.opening.pid = os_id;
            }
            return Some(());
        }
        self.begin_events();
        let thread = self.thread(iid);
        self.emit_os_id(thread, os_id);
        Some(())
    }

    fn domain(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (id, process, hr) = (words.hex()?, words.hex()?, words.hex()?);
        let name = words.quoted()?;
        words.end()?;
        self.remark_on_texts("apd crf", &[&name]);
        self.remark_if(id != 1, "apd crf", Remarked::Ids);
        self.status(hr, "apd crf");
        if self.is_opening() {
            self.opening.pid = process;
            self.opening.name = unescape(&name).into_owned();
            self.begin_events();
        } else {
            self.remark("apd crf", Remarked::Domains);
        }
        Some(())
    }

    fn compilation(&mut self, words: &mut Words<'_>) -> Option<Line> {
        let named = is_thread(words.word()?)?;
        let (ms, id, hr) = (words.dec()?, words.hex()?, words.hex()?);
        words.end()?;
        if self.is_opening() {
            self.begin_events();
        }
        let time = self.time(ms)?;
        self.thread_of_jvm(named, "jit cmf");
        if hr != 0 {
            self.end_code();
            self.remark("jit cmf", Remarked::FailedCompilations);
        } else {
            self.compiled(id, time);
        }
        Some(Line::Read)
    }

    fn class_loaded(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (id, iid) = (words.hex()?, words.iid()?);
        let (module, token, hr) = (words.hex()?, words.hex()?, words.hex()?);
        words.end()?;
        self.remark_on_id(id, iid, "cls ldf");
        let usual = names::class_token(iid);
        self.remark_if(token != u64::from(usual), "cls ldf", Remarked::Tokens);
        self.status(hr, "cls ldf");
        if !self.definitions.add_class(id, iid, module) {
            self.remark("cls ldf", Remarked::ClassesAgain);
        }
        Some(())
    }

    fn class_name(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (iid, name) = (words.iid()?, words.quoted()?);
        words.end()?;
        self.remark_on_texts("cls nam", &[&name]);
        if self.definitions.is_named(iid) {
            self.remark("cls nam", Remarked::ClassNamesAgain);
        } else {
            self.define_class(iid, names::class_from_source(&name));
        }
        Some(())
    }

    fn function_info(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (iid, id) = (words.iid()?, words.hex()?);
        let (class, module, token) = (words.hex()?, words.hex()?, words.hex()?);
        let (mut blocks, mut map) = (Vec::new(), Vec::new());
        while let Some(word) = words.word() {
            let ([first, second], third) = parts(word)?;
            let (first, second) = (read_hex(first)?, read_hex(second)?);
            match third {
                None => blocks.push((first, second)),
                Some(third) => map.push((first, second, read_hex(third)?)),
            }
        }
        let new = self.definitions.add_function(iid, id, class);
        if !new && blocks.is_empty() && map.is_empty() {
            self.remark("fun inf", Remarked::FunctionsAgain);
        }
        self.remark_on_function(iid, new, [id, class, module, token]);
        self.code(iid, blocks, map);
        Some(())
    }

    fn allocations(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (iid, ms) = (words.iid()?, words.dec()?);
        let items = *words;
        let mut with_ip = false;
        // All items are checked before the first event, so that a corrupt line emits no events.
        while let Some(word) = words.word() {
            with_ip |= read_item(word)?.3;
        }
        let time = self.time(ms)?;
        self.remark_if(with_ip, "sam mem", Remarked::Pointers);
        let thread = self.thread(iid);
        let mut items = items;
        while let Some((class, objects, bytes, _)) = items.word().and_then(read_item) {
            let class = self.class(class);
            self.emit(Event::AllocationSum(AllocationSum {
                thread,
                time,
                class,
                objects,
                bytes,
            }));
        }
        Some(())
    }

    fn live_table(&mut self, words: &mut Words<'_>) -> Option<()> {
        let ms = words.dec()?;
        let mut items = Vec::new();
        while let Some(word) = words.word() {
            let (class, objects, bytes, false) = read_item(word)? else {
                return None;
            };
            items.push((class, objects, bytes));
        }
        let time = self.time(ms)?;
        let live = items.into_iter().map(|(class, objects, bytes)| LiveClass {
            class: self.class(class),
            objects,
            bytes,
        });
        let classes = live.collect();
        self.emit(Event::LiveObjects(LiveObjects { time, classes }));
        Some(())
    }

    fn collection(&mut self, words: &mut Words<'_>) -> Option<()> {
        let named = is_thread(words.word()?)?;
        let ms = words.dec()?;
        let (reason, generations) = (words.word()?, words.word()?);
        words.end()?;
        let letters = generations.iter().all(|b| matches!(b, b't' | b'f'));
        let induced = match reason {
            b"induced" => true,
            b"?" => false,
            _ => return None,
        };
        if generations.is_empty() || !letters {
            return None;
        }
        let time = self.time(ms)?;
        self.thread_of_jvm(named, "gch gcs");
        self.emit(Event::GcStart(GcStart { time }));
        let generation = match generations {
            b"tfff" => Generation::Unknown,
            [_, _, b't', ..] => Generation::Full,
            _ => Generation::Young,
        };
        let usual = matches!(generations, b"tfff" | b"tttt");
        self.remark_if(!usual, "gch gcs", Remarked::Generations);
        if induced || generation != Generation::Unknown {
            let cause = if induced { "induced" } else { "" };
            self.emit(Event::GcDetail(GcDetail {
                time,
                cause: cause.into(),
                generation,
                ..GcDetail::default()
            }));
        }
        Some(())
    }

    /// Remarks on the thread of a collection or compilation. The events of both have no field for
    /// it.
    fn thread_of_jvm(&mut self, named: bool, kind: &str) {
        self.remark_if(named, kind, Remarked::Workers);
    }

    fn status(&mut self, hr: u64, kind: &str) {
        self.remark_if(hr != 0, kind, Remarked::Statuses);
    }

    /// Remarks on an id that is not the internal id plus 1. Our encoder writes only such ids.
    fn remark_on_id(&mut self, id: u64, iid: u32, kind: &str) {
        self.remark_if(id != u64::from(iid) + 1, kind, Remarked::Ids);
    }

    /// Remarks on texts with invalid UTF-8. They are the texts that were copied when they were
    /// decoded.
    fn remark_on_texts(&mut self, kind: &str, texts: &[&Cow<'_, str>]) {
        let mended = texts.iter().any(|text| matches!(text, Cow::Owned(_)));
        self.remark_if(mended, kind, Remarked::Texts);
    }
}

/// Returns microseconds of CPU time as a duration.
fn cpu(us: u64) -> Duration {
    Duration(i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1000))
}
