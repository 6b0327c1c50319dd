//! Types of requests and results: hooks, probes and outcomes.

use crate::Refusal;

/// The hook methods: static methods of one class, without a result. Unless noted otherwise, they
/// take the method's id as an `int`.
#[derive(Clone, Copy, Debug)]
pub struct Hooks<'a> {
    /// The class in internal form. It must be visible from every instrumented class.
    pub class: &'a str,
    /// Called at a method's entry.
    pub enter: &'a str,
    /// Called before each return.
    pub leave: &'a str,
    /// Called when an exception leaves the method.
    pub leave_by_exception: &'a str,
    /// Called when a handler of the method has caught an exception.
    pub caught: &'a str,
    /// Called in a constructor directly before the call of `this()` or `super()`.
    pub super_call: &'a str,
    /// Called in a constructor directly after the call of `this()` or `super()`.
    pub super_returned: &'a str,
    /// `(I)V`: called where a line begins, with the number of the line table's entry.
    pub line: &'a str,
    /// `(I)V`: called after a `new`, with the number of the site. The object can't be passed, since
    /// it is not initialised yet.
    pub allocated: &'a str,
    /// `(II)V`: called after the creation of a one-dimensional array, with its length and the
    /// number of the site.
    pub array_allocated: &'a str,
    /// True if [`Self::array_allocated`] also takes the array, as its first argument:
    /// `(Ljava/lang/Object;II)V`.
    pub passes_arrays: bool,
    /// `(Ljava/lang/Object;I)V`: called after the creation of an array of arrays, with the outer
    /// array and the number of the site.
    pub multi_allocated: &'a str,
    /// `(Ljava/lang/Object;I)V`: called after the call of a method that created an object, with the
    /// object and the number of the site.
    pub call_allocated: &'a str,
    /// `(Ljava/lang/Object;)V`: called at the entry of a method that has [`Probes::constructed`],
    /// with `this`.
    pub constructed: &'a str,
    /// Replaces `enter` in methods with [`CallsTo::Triggers`].
    pub trigger_enter: &'a str,
    /// Replaces `leave` in methods with [`CallsTo::Triggers`].
    pub trigger_leave: &'a str,
    /// Replaces `leave_by_exception` in methods with [`CallsTo::Triggers`].
    pub trigger_leave_by_exception: &'a str,
    /// Replaces `enter` in methods with [`CallsTo::Initialisations`].
    pub initialiser_enter: &'a str,
    /// Replaces `leave` in methods with [`CallsTo::Initialisations`].
    pub initialiser_leave: &'a str,
    /// Replaces `leave_by_exception` in methods with [`CallsTo::Initialisations`].
    pub initialiser_leave_by_exception: &'a str,
    /// Replaces `enter` in methods with [`CallsTo::InitialisationsAndCalls`].
    pub called_initialiser_enter: &'a str,
    /// Replaces `leave` in methods with [`CallsTo::InitialisationsAndCalls`].
    pub called_initialiser_leave: &'a str,
    /// Replaces `leave_by_exception` in methods with [`CallsTo::InitialisationsAndCalls`].
    pub called_initialiser_leave_by_exception: &'a str,
    /// How probes push numbers that need more than 16 bits.
    pub large_numbers: LargeNumbers,
    /// The maximum size of bytecode that the JVM compiles, in bytes; `None` if it has no limit. A
    /// method within the limit is not grown beyond it, except a `<clinit>` without loops: it runs
    /// once, and never for long.
    pub compiled_up_to: Option<usize>,
}

/// How a probe pushes a number that needs more than 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LargeNumbers {
    /// As a constant of the pool, which is short.
    Constant,
    /// By computing it, so that the pool does not depend on the numbers. The JVM never removes a
    /// constant from a class's pool: a class that is redefined again and again with other constants
    /// grows until the pool is full.
    Computed,
}

impl Hooks<'static> {
    /// The hooks of jtrail's own class.
    pub const JTRAIL: Self = Hooks {
        class: "java/lang/JtrailHook",
        enter: "enter",
        leave: "leave",
        leave_by_exception: "leaveByException",
        caught: "caught",
        super_call: "superCall",
        super_returned: "superReturned",
        line: "line",
        allocated: "allocated",
        array_allocated: "arrayAllocated",
        passes_arrays: false,
        multi_allocated: "multiAllocated",
        call_allocated: "callAllocated",
        constructed: "constructed",
        trigger_enter: "triggerEnter",
        trigger_leave: "triggerLeave",
        trigger_leave_by_exception: "triggerLeaveByException",
        initialiser_enter: "initialiserEnter",
        initialiser_leave: "initialiserLeave",
        initialiser_leave_by_exception: "initialiserLeaveByException",
        called_initialiser_enter: "calledInitialiserEnter",
        called_initialiser_leave: "calledInitialiserLeave",
        called_initialiser_leave_by_exception: "calledInitialiserLeaveByException",
        large_numbers: LargeNumbers::Constant,
        compiled_up_to: None,
    };
    /// The hooks for calls that read the clock only after a tick.
    pub const JTRAIL_TICK: Self = Hooks {
        enter: "tickEnter",
        leave: "tickLeave",
        leave_by_exception: "tickLeaveByException",
        caught: "tickCaught",
        super_call: "tickSuperCall",
        super_returned: "tickSuperReturned",
        ..Self::JTRAIL
    };
    /// The hooks that stop at a gate while it is closed, and call the regular hooks while it is
    /// open.
    pub const JTRAIL_BURST: Self = Hooks {
        enter: "burstEnter",
        leave: "burstLeave",
        leave_by_exception: "burstLeaveByException",
        caught: "burstCaught",
        super_call: "burstSuperCall",
        super_returned: "burstSuperReturned",
        line: "burstLine",
        allocated: "burstAllocated",
        array_allocated: "burstArrayAllocated",
        multi_allocated: "burstMultiAllocated",
        call_allocated: "burstCallAllocated",
        constructed: "burstConstructed",
        ..Self::JTRAIL
    };
}

/// A hook, as an index into [`Hooks::methods`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    Enter,
    Leave,
    LeaveByException,
    Caught,
    SuperCall,
    SuperReturned,
    Line,
    Allocated,
    ArrayAllocated,
    MultiAllocated,
    CallAllocated,
    Constructed,
    TriggerEnter,
    TriggerLeave,
    TriggerLeaveByException,
    InitialiserEnter,
    InitialiserLeave,
    InitialiserLeaveByException,
    CalledInitialiserEnter,
    CalledInitialiserLeave,
    CalledInitialiserLeaveByException,
}

/// The number of hooks.
pub(crate) const HOOKS: usize = 21;

impl<'a> Hooks<'a> {
    /// Returns the name and descriptor of each hook, in the order of [`Hook`].
    pub(crate) fn methods(&self) -> [(&'a str, &'static str); HOOKS] {
        const ID: &str = "(I)V";
        [
            (self.enter, ID),
            (self.leave, ID),
            (self.leave_by_exception, ID),
            (self.caught, ID),
            (self.super_call, ID),
            (self.super_returned, ID),
            (self.line, ID),
            (self.allocated, ID),
            (
                self.array_allocated,
                match self.passes_arrays {
                    true => "(Ljava/lang/Object;II)V",
                    false => "(II)V",
                },
            ),
            (self.multi_allocated, "(Ljava/lang/Object;I)V"),
            (self.call_allocated, "(Ljava/lang/Object;I)V"),
            (self.constructed, "(Ljava/lang/Object;)V"),
            (self.trigger_enter, ID),
            (self.trigger_leave, ID),
            (self.trigger_leave_by_exception, ID),
            (self.initialiser_enter, ID),
            (self.initialiser_leave, ID),
            (self.initialiser_leave_by_exception, ID),
            (self.called_initialiser_enter, ID),
            (self.called_initialiser_leave, ID),
            (self.called_initialiser_leave_by_exception, ID),
        ]
    }
}

/// Selects the hooks that a method calls at its entry, before its returns, and when an exception
/// leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallsTo {
    /// The hooks for calls.
    #[default]
    Calls,
    /// The hooks for calls that trigger something.
    Triggers,
    /// For static initialisers: the hooks that record the class initialisation, but no call.
    Initialisations,
    /// For static initialisers: the hooks that record the class initialisation and the call.
    InitialisationsAndCalls,
}

/// The probes of a method. Hooks get the numbers as an `int` with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Probes {
    /// The method's id, if the method gets probes at its entry, its exits, its handlers and its
    /// `super()` call.
    pub calls: Option<u32>,
    /// The hooks that these probes call.
    pub calls_to: CallsTo,
    /// The number of the first line probe, if lines get probes. The probe of entry `k` of
    /// [`Method::line_entries`](crate::Method::line_entries) has this number plus `k` (modulo
    /// 2^32).
    pub lines: Option<u32>,
    /// The number of the first allocation probe, if allocations get probes. The probe of site `k`
    /// of [`Class::allocation_sites`](crate::Class::allocation_sites) has this number plus `k`
    /// (modulo 2^32).
    pub allocations: Option<u32>,
    /// True for a probe at the entry that passes `this`, instead of the probes around calls. This
    /// is for the constructor of `java.lang.Object`, where `this` counts as initialised.
    pub constructed: bool,
}

impl Probes {
    /// No probes: the method is not changed.
    pub const NONE: Self = Probes {
        calls: None,
        calls_to: CallsTo::Calls,
        lines: None,
        allocations: None,
        constructed: false,
    };

    /// Returns only the probes around calls, or no probes if there is no id.
    pub const fn calls(id: Option<u32>) -> Self {
        Probes {
            calls: id,
            ..Self::NONE
        }
    }
}

/// The result of [`instrument`](crate::instrument).
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new class file; equal to the old one if no method was rewritten.
    pub bytes: Vec<u8>,
    /// For each method for which probes were requested: its index in
    /// [`Class::methods`](crate::Class::methods), and the inserted probes, or the reason why it was
    /// not changed.
    pub outcomes: Vec<(usize, Result<Inserted, Refusal>)>,
}

/// The probes inserted into a method.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inserted {
    /// The hooks around the `this()` or `super()` call.
    pub super_marks: SuperMarks,
    /// For each entry of the line table, in its order, the probe that counts its hits; empty if no
    /// line probes were requested.
    pub lines: Vec<LineProbe>,
    /// The pc in the new code of the first added handler. Added handlers call
    /// [`Hooks::leave_by_exception`] and rethrow. All code from this pc on belongs to them. `None`
    /// if the method has no added handlers.
    pub added_handlers: Option<u16>,
    /// The reason why the method got only the probes around calls although others were requested.
    /// `None` if it got all requested probes.
    pub reduced: Option<Refusal>,
}

/// The hooks around the `this()` or `super()` call of a rewritten constructor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SuperMarks {
    /// None: the method is not a constructor, or it calls the constructor of `Object`.
    #[default]
    None,
    /// [`Hooks::super_returned`] only: no code before the call can run other methods.
    After,
    /// [`Hooks::super_call`] and [`Hooks::super_returned`].
    Around,
}

/// The probe that counts the hits of an entry of a line table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineProbe {
    /// The entry has its own probe, with this number.
    Own(u32),
    /// The entry begins at the instruction of an earlier entry. It shares the probe of that entry,
    /// which has this number. If both entries belong to one source line, hits per line must count
    /// the probe only once.
    Shared(u32),
    /// The entry has no probe.
    NoProbe(NoProbe),
}

/// The reason why an entry of a line table has no probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoProbe {
    /// The method was reduced to the probes around calls ([`Inserted::reduced`]).
    Reduced,
    /// The entry's pc is not the start of an instruction.
    NoInstruction,
    /// A failing hook at the entry could cause an endless loop.
    Circle,
    /// A failing hook at the entry would leave a monitor locked.
    Monitor,
}
