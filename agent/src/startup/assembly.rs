//! Creates the agent from its parts.

use super::LoadPhase;
use super::program::Traced;
use super::upcalls::Layers;
use crate::agent::Agent;
use crate::callbacks;
use crate::control::{ChannelSlot, Clients};
use crate::error::Error;
use crate::instrument::sites::AllocSites;
use crate::objects::Objects;
use crate::session::lines::LineCounters;
use crate::session::{self, Clock, Definitions, Session};
use crate::sources::{Environment, Tracer, allocations, capabilities, classes, trace};
use crossbeam_channel::{bounded, unbounded};
use jtrail_guard::log;
use jtrail_jvm::jni::{Env, Vm};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_model::Cost;
use jtrail_options::{self as options, Events, Options, OutputFormat, Overflow};
use jtrail_recorder::buffer::{self, Exchange, Returns, Supply, WhenFull};
use jtrail_recorder::bursts::Bursts;
use jtrail_recorder::clock::{self, Clock as _, Reading};
use jtrail_recorder::cost;
use jtrail_recorder::memory::Mapping;
use jtrail_recorder::spool::{Commits, Journal, Memory, Spool};
use jtrail_recorder::ticks::Ticks;
use jtrail_writer::{Clocks, Input, Names, Setup, Target, Writer, hostname};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Sets the agent up, and starts it. If that fails, everything is undone here, or
/// [`super::clean_up`] detaches the agent.
///
/// # Errors
/// If the JVM or the system denies something that the agent needs; the error says what.
pub(super) fn set_up(vm: Vm, options: Options, moment: LoadPhase) -> Result<(), Error> {
    let options = Arc::new(options);
    let clocks = Now::of(&options);
    let mut undo = Undo::default();
    let (jvmti, objects) = undo.environments(vm, &options, moment)?;
    let bursts = Bursts::of(&options).map_err(Error::memory("triggers"))?;
    let names = Arc::<Names>::default();
    let target = target(&options, &names)?;
    let chunks = Chunks::of(&target.spooled, &options, &names)?;
    let ticks = undo.ticks(&options, clocks.now, chunks.spool.as_deref())?;
    let (full_sender, full) = unbounded();
    let (wake, woken) = bounded(1);
    let (definition_sender, definition_receiver) = unbounded();
    let channel = ChannelSlot::default();
    let writer = Writer::start(Setup {
        options: Arc::clone(&options),
        target: target.first,
        names,
        clocks: Clocks {
            now: clocks.now,
            loaded: Reading::take(clocks.now),
            cost: clocks.cost,
            ticks: ticks.clone(),
        },
        input: Input {
            definitions: definition_receiver,
            full,
            woken,
            empty: chunks.empty,
        },
        commits: chunks.commits,
        bursts,
        program: Arc::new(Traced),
        observer: Arc::new(Clients {
            channel: Arc::clone(&channel),
            format: options.format,
        }),
    })
    .map_err(|error| Error::Thread("the writer", error))?;
    let session = Session::new(session::Parts {
        vm,
        jvmti,
        clock: Clock {
            now: clocks.now,
            cost: clocks.cost,
            ticks: ticks.clone(),
        },
        bursts: writer.bursts.clone(),
        definitions: Definitions {
            sender: definition_sender,
            journal: chunks.journal,
        },
        exchange: Exchange {
            empty: chunks.supply,
            full: full_sender,
            wake,
            when_full: when_full(&options),
            ticks,
            spool: chunks.spool,
        },
        upcalls: &Layers,
        options,
    });
    undo.keep();
    let tracer = Tracer::new(session, objects, writer);
    let agent = Agent::create(tracer, channel, chunks.memory);
    begin(agent, vm, moment).inspect_err(|_| {
        agent.tracer.writer.stop();
        agent.has_failed_setup.store(true, Ordering::Release);
    })
}

/// The clock that records are stamped with, and the cost of one reading.
struct Now {
    now: fn() -> u64,
    cost: Cost,
}

impl Now {
    fn of(options: &Options) -> Self {
        let now: fn() -> u64 = match clock::counter_is_steady() {
            true => clock::Counter::now,
            false => clock::System::now,
        };
        let cost = cost::measure(now, (!options.has_ticks()).then_some(now));
        Self { now, cost }
    }
}

/// The parts that [`Drop`] undoes if the set-up fails before the agent exists.
#[derive(Default)]
struct Undo {
    environments: Vec<Jvmti>,
    ticks: Option<Arc<Ticks>>,
}

impl Undo {
    /// Creates the agent's JVMTI environments, and adds the capabilities that the options need.
    fn environments(
        &mut self,
        vm: Vm,
        options: &Options,
        moment: LoadPhase,
    ) -> Result<(Jvmti, Option<Objects>), Error> {
        Jvmti::keep_environment(vm).map_err(Error::Jvm)?;
        let jvmti = Jvmti::of(vm).map_err(Error::Jvm)?;
        self.environments.push(jvmti);
        let added = capabilities::add(jvmti, Environment::General, options);
        added.map_err(|error| match moment {
            LoadPhase::Start => error,
            LoadPhase::Attach => Error::OnlyFromTheStart(Box::new(error)),
        })?;
        let objects = allocations::objects(vm, options)?;
        if let Some(objects) = &objects {
            self.environments.push(objects.jvmti);
            capabilities::add(objects.jvmti, Environment::Objects, options)?;
        }
        Ok((jvmti, objects))
    }

    /// Starts the coarse clock, if calls are stamped by it.
    fn ticks(
        &mut self,
        options: &Options,
        now: fn() -> u64,
        spool: Option<&Memory>,
    ) -> Result<Option<Arc<Ticks>>, Error> {
        if options.has_ticks() {
            let ticks = Ticks::start(options.tick, now, spool).map_err(Error::Ticks)?;
            self.ticks = Some(ticks);
        }
        Ok(self.ticks.clone())
    }

    /// Keeps all parts, because the agent exists now.
    fn keep(mut self) {
        self.environments.clear();
        self.ticks = None;
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Some(ticks) = &self.ticks {
            ticks.stop();
        }
        for jvmti in self.environments.drain(..) {
            // SAFETY: the set-up failed before an agent was created, so nothing else holds these
            // environments.
            unsafe { jvmti.dispose() };
        }
    }
}

/// The target of the first trace, and the file that gets a spool.
struct FirstTrace {
    first: Target,
    /// The file that may get a spool: the file of the first trace, or of a flight recorder. A
    /// flight recorder saves to its file later.
    spooled: Option<PathBuf>,
}

/// Opens the target of the first trace.
///
/// # Errors
/// If the target can't be written.
fn target(options: &Options, names: &Names) -> Result<FirstTrace, Error> {
    let file_target = options
        .file
        .expand(std::process::id(), SystemTime::now(), &hostname());
    let name = match &file_target {
        options::Target::Stdout => "standard output".to_owned(),
        options::Target::Path(path) => path.display().to_string(),
    };
    let has_none = options.format == OutputFormat::None
        || options.begins_idle()
        || options.overflow == Overflow::Ring;
    let first = match has_none {
        true => Target::none(name),
        false => match Target::of(&file_target, names) {
            Ok(target) => target,
            Err(error) => return Err(Error::Output(name, error)),
        },
    };
    if options.max_size.is_some() && first.is_open() && first.path().is_none() {
        let name = first.name();
        log::say(&format!("maxsize has no effect: {name} is no regular file"));
    }
    let path = match (first.path(), &file_target) {
        (Some(path), _) => Some(path),
        (None, options::Target::Path(path)) if options.overflow == Overflow::Ring => {
            Some(path.as_path())
        }
        _ => None,
    };
    let is_file = |path: &&Path| fs::metadata(path).is_ok_and(|about| about.is_file());
    let is_new = |path: &&Path| fs::metadata(path).is_err();
    let spooled = path.filter(|path| options.has_spool() && (is_new(path) || is_file(path)));
    Ok(FirstTrace {
        spooled: spooled.map(Path::to_owned),
        first,
    })
}

/// The chunks into which threads record.
struct Chunks {
    empty: Returns,
    supply: Supply,
    /// Memory of the chunks; none if the chunks are in a spool.
    memory: Option<Mapping>,
    spool: Option<Arc<Memory>>,
    journal: Option<Journal>,
    commits: Option<Commits>,
}

impl Chunks {
    /// Creates the chunks. If `spooled` is the path of a trace, they are in its spool, if possible.
    /// Otherwise they are in the memory of the process.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn of(spooled: &Option<PathBuf>, options: &Options, names: &Names) -> Result<Self, Error> {
        let spool = spooled.as_deref().and_then(|path| spool(path, options));
        names.set_spool(spool.as_ref().and_then(|spool| spool.memory.file_id()));
        let Some(spool) = spool else {
            let bytes = options.buffer_bytes;
            let what = || format!("buffers of {bytes} bytes");
            let pool = buffer::create_pool(bytes).map_err(|error| Error::memory(what())(error));
            let (empty, supply, memory) = pool?;
            return Ok(Self {
                empty,
                supply,
                memory: Some(memory),
                spool: None,
                journal: None,
                commits: None,
            });
        };
        let (empty, supply) = buffer::create_pool_in(&spool.memory);
        Ok(Self {
            empty,
            supply,
            memory: None,
            spool: Some(spool.memory),
            journal: Some(spool.journal),
            commits: Some(spool.commits),
        })
    }
}

fn spool(path: &Path, options: &Options) -> Option<Spool> {
    Spool::create(path, options)
        .map_err(|error| {
            log::say(&format!(
                "no spool beside {}: {error}; what is not written yet is lost if the process is killed",
                path.display()
            ));
        })
        .ok()
}

fn when_full(options: &Options) -> WhenFull {
    match options.overflow {
        Overflow::Block | Overflow::Ring => WhenFull::Block,
        Overflow::Drop => WhenFull::Drop,
    }
}

/// Creates what the callbacks need, and sets them. An attached agent begins its trace here.
fn begin(agent: &'static Agent, vm: Vm, moment: LoadPhase) -> Result<(), Error> {
    let tracer = &agent.tracer;
    let (session, instrument) = (&tracer.session, &tracer.instrument);
    let options = &session.options;
    let is_attaching = moment == LoadPhase::Attach;
    session.life.set_attaching(is_attaching);
    if !is_attaching && classes::are_rewritten(options) && !options.has_ticks() {
        instrument.returns.want();
    }
    if options.events.contains(Events::LINES) {
        let counters = LineCounters::new().map_err(Error::memory("line counters"))?;
        let _ = instrument.lines.set(counters); // can't fail: set only once
    }
    if options.has_alloc_probes() {
        let sites = AllocSites::new().map_err(Error::memory("allocation sites"))?;
        instrument.sites.get_or_init(|| sites).show_found(); // set only here
    }
    callbacks::install(tracer)?;
    match moment {
        LoadPhase::Start => Ok(()),
        LoadPhase::Attach => {
            // SAFETY: the JVM has just called the agent's entry point on this thread, and the entry
            // point uses no other environment.
            let attached = unsafe { vm.with_env_mut(|env| attach(agent, env)) };
            attached.unwrap_or(Err(Error::Jvm(jtrail_jvm::Error::NoEnvironment)))
        }
    }
}

/// Begins the trace of an agent that was loaded into a running JVM.
///
/// # Errors
/// If the hook class can't be defined, or the trace's file can't be written.
fn attach(agent: &'static Agent, env: &mut Env<'_>) -> Result<(), Error> {
    let tracer = &agent.tracer;
    if classes::are_rewritten(&tracer.session.options) {
        tracer.session.life.upcalls.install_hook(env)?;
    }
    // The trace file is opened last. If an earlier step fails, an existing file keeps its contents.
    tracer.writer.open()?;
    trace::start(tracer, env, false);
    if let Some(channel) = agent.channel.get() {
        channel.does_not_wait();
    }
    Ok(())
}
