//! The JVM loads the agent, and unloads it.

use crate::agent::{self, Agent};
use crate::control::Clients;
use crate::hooks::{self, leaving};
use crate::instrument::lines::LineCounters;
use crate::instrument::sites::AllocSites;
use crate::objects::Objects;
use crate::program::Traced;
use ::jni::sys::JavaVM;
use crossbeam_channel::{bounded, unbounded};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{self, Vm};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_options::{Events, OnError, OptionError, Options, OutputFormat, Overflow, Target};
use jtrail_recorder::buffer::{self, Exchange, WhenFull};
use jtrail_recorder::bursts::Bursts;
use jtrail_recorder::clock::{self, Clock, Reading};
use jtrail_recorder::cost;
use jtrail_recorder::spool::Spool;
use jtrail_recorder::ticks::Ticks;
use jtrail_writer::{self as writer, Clocks, Input, Names, Setup, Writer, hostname};
use std::fs::{self};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// What the JVM is told.
pub(crate) enum Loaded {
    Go,
    Refuse,
}

/// When the agent is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The JVM starts.
    Start,
    /// The JVM runs its program.
    Attach,
}

/// Sets the agent up, as the options say.
///
/// # Safety
/// `vm` is the JVM.
pub(crate) unsafe fn load(vm: *mut JavaVM, text: &str, moment: Moment) -> Loaded {
    let options = jtrail_options::parse(text, &jtrail_options::read_file);
    let options = match options {
        Ok(options) => options,
        Err(error) if moment == Moment::Attach => {
            log::say(&match error.is_help() {
                true => "help is for the start of a JVM; `jtrail help attach` says the same".into(),
                false => error.to_string(),
            });
            return Loaded::Refuse;
        }
        Err(error) => return refuse_options(&error),
    };
    let on_error = options.on_error;
    buffer::tls::prepare();
    let is_second = agent::if_loaded().is_some();
    if !is_second {
        guard::switch_on(); // an earlier try may have failed
    }
    let result = match is_second {
        true => Err(match moment {
            Moment::Start => "it is loaded twice into one JVM; give one -agentpath only".to_owned(),
            Moment::Attach => "it is in this JVM already".to_owned(),
        }),
        // SAFETY: the caller's promise.
        false => unsafe { set_up(vm, options, moment) },
    };
    match result {
        Ok(()) => Loaded::Go,
        Err(message) => {
            if !is_second {
                guard::switch_off();
            }
            match on_error {
                // The program goes on in any case; who asks for the agent then wants to know.
                OnError::Continue if moment == Moment::Start => {
                    log::say(&format!("{message}; the program goes on without a trace"));
                    Loaded::Go
                }
                _ => {
                    log::say(&message);
                    Loaded::Refuse
                }
            }
        }
    }
}

/// Takes an agent away that could not be set up.
///
/// # Safety
/// `vm` is the JVM.
pub(crate) unsafe fn clean_up(vm: *mut JavaVM) {
    let is_stillborn = |agent: &Agent| agent.is_stillborn.load(Ordering::Acquire);
    if agent::if_loaded().is_some_and(is_stillborn) {
        // SAFETY: the caller's promise.
        let env = unsafe { jni::env_of(Vm::new(vm)) };
        leaving::leave(env.unwrap_or(std::ptr::null_mut()));
    }
}

fn refuse_options(error: &OptionError) -> Loaded {
    guard::switch_off();
    if error.is_help() {
        let _ = writeln!(std::io::stdout(), "{error}");
        std::process::exit(0); // as other agents do: asking for help is no wish to run the program
    }
    if error.continue_wanted() {
        log::say(&format!("{error}; the program goes on without a trace"));
        return Loaded::Go;
    }
    log::say(&error.to_string());
    Loaded::Refuse
}

/// # Safety
/// `vm` is the JVM.
unsafe fn set_up(vm: *mut JavaVM, options: Options, moment: Moment) -> Result<(), String> {
    let now: fn() -> u64 = if clock::counter_is_steady() {
        clock::Counter::now
    } else {
        clock::System::now
    };
    let options = Arc::new(options);
    let cost = cost::measure(now, (!options.has_ticks()).then_some(now));
    // SAFETY: the caller's promise.
    let (jvmti, objects) = unsafe { environments(vm, &options, moment) }?;
    let all = [Some(jvmti), objects.as_ref().map(|objects| objects.jvmti)];
    let dispose = || all.into_iter().flatten().for_each(Jvmti::dispose);
    let bursts = Bursts::of(&options).map_err(|e| {
        dispose();
        format!("no memory for triggers: {e}")
    })?;
    let target = options
        .file
        .expand(std::process::id(), SystemTime::now(), &hostname());
    let target_name = match &target {
        Target::Stdout => "standard output".to_owned(),
        Target::Path(path) => path.display().to_string(),
    };
    let names = Arc::<Names>::default();
    let first = match options.format {
        OutputFormat::None => Ok(writer::Target::none(target_name.clone())),
        _ if options.begins_idle() || options.overflow == Overflow::Ring => {
            Ok(writer::Target::none(target_name.clone()))
        }
        _ => writer::Target::of(&target, &names),
    };
    let first = match first {
        Ok(first) => first,
        Err(error) if moment == Moment::Attach => {
            dispose();
            return Err(format!("cannot write {target_name}: {error}"));
        }
        Err(error) => {
            dispose();
            // Not a mistake in the options; the program matters more.
            log::say(&format!(
                "cannot write {target_name}: {error}; the program goes on without a trace"
            ));
            guard::switch_off();
            return Ok(());
        }
    };
    if options.max_size.is_some() && first.is_open() && first.path().is_none() {
        log::say(&format!(
            "maxsize has no effect: {target_name} is no regular file"
        ));
    }
    let spool = spooled_file(&first, &target, &options).and_then(|path| spool(&path, &options));
    names.set_spool(spool.as_ref().and_then(|spool| spool.memory.file_id()));
    let pool = match &spool {
        Some(spool) => {
            let (empty, supply) = buffer::create_pool_in(&spool.memory);
            Ok((empty, supply, None))
        }
        None => buffer::create_pool(options.buffer_bytes)
            .map(|(empty, supply, memory)| (empty, supply, Some(memory))),
    };
    let (empty, supply, memory) = pool.map_err(|e| {
        dispose();
        format!(
            "no memory for buffers of {} bytes: {e}",
            options.buffer_bytes
        )
    })?;
    let (spool_memory, journal, commits) = match spool {
        Some(Spool {
            memory,
            journal,
            commits,
        }) => (Some(memory), Some(journal), Some(commits)),
        None => (None, None, None),
    };
    let ticks = options
        .has_ticks()
        .then(|| Ticks::start(options.tick, now, spool_memory.as_deref()))
        .transpose()
        .map_err(|e| {
            dispose();
            format!("no memory or thread for clock=tick: {e}")
        })?;
    let (full_sender, full) = unbounded();
    let (wake, woken) = bounded(1);
    let (announcements, announced) = unbounded();
    let when_full = match options.overflow {
        Overflow::Block | Overflow::Ring => WhenFull::Block,
        Overflow::Drop => WhenFull::Drop,
    };
    let loaded = Reading::take(now);
    let writer = Writer::start(Setup {
        options: Arc::clone(&options),
        target: first,
        names,
        clocks: Clocks {
            now,
            loaded,
            cost,
            ticks: ticks.clone(),
        },
        input: Input {
            announcements: announced,
            full,
            woken,
            empty,
        },
        commits,
        bursts,
        program: Arc::new(Traced),
        observer: Arc::new(Clients),
    })
    .map_err(|e| {
        dispose();
        format!("no thread for the writer: {e}")
    })?;
    let exchange = Exchange {
        empty: supply,
        full: full_sender,
        wake,
        when_full,
        ticks,
        spool: spool_memory,
    };
    let agent = Agent::create(
        options,
        jvmti,
        objects,
        (now, cost),
        announcements,
        exchange,
        memory,
        journal,
        writer,
    );
    // SAFETY: the caller's promise.
    unsafe { begin(agent, vm, moment) }.inspect_err(|_| {
        agent.writer.stop();
        agent.is_stillborn.store(true, Ordering::Release);
    })
}

/// The file of a trace that can have a spool: that of the first trace, or the one that the newest events will be saved to.
fn spooled_file(first: &writer::Target, target: &Target, options: &Options) -> Option<PathBuf> {
    let path = match (first.path(), target) {
        (Some(path), _) => path,
        (None, Target::Path(path)) if options.overflow == Overflow::Ring => path,
        _ => return None,
    };
    let is_other = fs::metadata(path).is_ok_and(|about| !about.is_file());
    (options.has_spool() && !is_other).then(|| path.to_owned())
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

/// The environments of the agent, with what they are to be able to do.
///
/// # Safety
/// `vm` is the JVM.
unsafe fn environments(
    vm: *mut JavaVM,
    options: &Options,
    moment: Moment,
) -> Result<(Jvmti, Option<Objects>), String> {
    // SAFETY: the caller's promise.
    unsafe { Jvmti::keep_one(vm) }?;
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Jvmti::of(vm) }?;
    hooks::add_capabilities(jvmti, options)
        .map_err(|error| match moment {
            Moment::Start => error,
            Moment::Attach => {
                format!("{error}; or it can be had from the start of a JVM only, with -agentpath")
            }
        })
        // SAFETY: the caller's promise.
        .and_then(|()| unsafe { hooks::objects(vm, options) })
        .map(|objects| (jvmti, objects))
        .inspect_err(|_| jvmti.dispose())
}

/// Lets it all begin.
///
/// # Safety
/// `vm` is the JVM.
unsafe fn begin(agent: &'static Agent, vm: *mut JavaVM, moment: Moment) -> Result<(), String> {
    let is_coming = moment == Moment::Attach;
    agent.is_coming.store(is_coming, Ordering::Release);
    if !is_coming && hooks::rewrites(&agent.options) && !agent.options.has_ticks() {
        agent.returns.want();
    }
    if agent.options.events.contains(Events::LINES) {
        let counters =
            LineCounters::new().map_err(|e| format!("no memory for line counters: {e}"))?;
        let _ = agent.classes.lines.set(counters); // the first and only time
    }
    if agent.options.has_alloc_probes() {
        let sites =
            AllocSites::new().map_err(|e| format!("no memory for allocation sites: {e}"))?;
        agent.classes.sites.get_or_init(|| sites).show_found(); // the first and only time
    }
    hooks::install(agent).and_then(|()| match moment {
        Moment::Start => Ok(()),
        // SAFETY: the caller's promise.
        Moment::Attach => match unsafe { jni::env_of(Vm::new(vm)) } {
            Some(env) => hooks::attached(agent, env),
            None => Err("the JVM gave no environment".into()),
        },
    })
}

/// Ends the trace, when the JVM did not say before that it ends.
pub(crate) fn unload() {
    if let Some(agent) = agent::if_loaded() {
        agent.stop();
    }
}
