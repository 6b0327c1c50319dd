//! What a caller asks for, and what it gets: hooks, probes and outcomes.

use crate::Refusal;

/// The hook methods: static methods of one class, without a result. Unless it is said otherwise
/// they take an `int`, which is the method's id.
#[derive(Clone, Copy, Debug)]
pub struct Hooks<'a> {
    /// The class in internal form. It must be visible from every class that is instrumented.
    pub class: &'a str,
    /// Called at a method's entry.
    pub enter: &'a str,
    /// Called before each return.
    pub leave: &'a str,
    /// Called when an exception leaves the method.
    pub leave_by_exception: &'a str,
    /// Called when a handler of the method has caught an exception.
    pub caught: &'a str,
    /// Called in a constructor right before the call of `this()` or `super()`.
    pub super_call: &'a str,
    /// Called in a constructor right behind that call.
    pub super_returned: &'a str,
    /// `(I)V`: called where a line begins, with the number of the line table's entry.
    pub line: &'a str,
    /// `(I)V`: called behind a `new`, with the number of the site; the object cannot be handed over
    /// yet.
    pub allocated: &'a str,
    /// `(II)V`: called behind the creation of an array of one dimension, with its length and the
    /// number of the site.
    pub array_allocated: &'a str,
    /// Whether [`Self::array_allocated`] gets the array as well, in front of the rest:
    /// `(Ljava/lang/Object;II)V`.
    pub hands_over_arrays: bool,
    /// `(Ljava/lang/Object;I)V`: called behind the creation of an array of arrays, with the array,
    /// which holds the others, and the number of the site.
    pub multi_allocated: &'a str,
    /// `(Ljava/lang/Object;I)V`: called behind the call of a method which made the object, with it
    /// and the number of the site.
    pub call_allocated: &'a str,
    /// `(Ljava/lang/Object;)V`: called where a method begins that has [`Probes::constructed`], with
    /// `this`.
    pub constructed: &'a str,
    /// In place of `enter`, in methods that tell [`CallsTo::Triggers`].
    pub trigger_enter: &'a str,
    /// In place of `leave`, likewise.
    pub trigger_leave: &'a str,
    /// In place of `leave_by_exception`, likewise.
    pub trigger_leave_by_exception: &'a str,
    /// In place of `enter`, in methods that tell [`CallsTo::Initialisations`].
    pub initialiser_enter: &'a str,
    /// In place of `leave`, likewise.
    pub initialiser_leave: &'a str,
    /// In place of `leave_by_exception`, likewise.
    pub initialiser_leave_by_exception: &'a str,
    /// In place of `enter`, in methods that tell [`CallsTo::InitialisationsAndCalls`].
    pub called_initialiser_enter: &'a str,
    /// In place of `leave`, likewise.
    pub called_initialiser_leave: &'a str,
    /// In place of `leave_by_exception`, likewise.
    pub called_initialiser_leave_by_exception: &'a str,
    /// How probes push numbers beyond 16 bits.
    pub large_numbers: LargeNumbers,
    /// The most bytes of code that the JVM compiles, if there is such a limit. A method that is not
    /// above it does not grow beyond it, but for a `<clinit>` without loops: that runs once, and
    /// never long.
    pub compiled_up_to: Option<usize>,
}

/// How a probe pushes a number beyond 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LargeNumbers {
    /// As a constant of the pool: short.
    Constant,
    /// By computing it, so that the pool is the same whatever the numbers are. The JVM never takes
    /// a constant out of a class's pool: a class that is redefined again and again with other
    /// constants grows until there is no room for more.
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
        hands_over_arrays: false,
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
    /// Those of calls that look at the clock only where it has ticked.
    pub const JTRAIL_TICK: Self = Hooks {
        enter: "tickEnter",
        leave: "tickLeave",
        leave_by_exception: "tickLeaveByException",
        caught: "tickCaught",
        super_call: "tickSuperCall",
        super_returned: "tickSuperReturned",
        ..Self::JTRAIL
    };
    /// Those that stop at a gate, and pass on to the others while it is open.
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

/// The hooks as an index into [`Hooks::methods`].
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

/// How many hooks there are.
pub(crate) const HOOKS: usize = 21;

impl<'a> Hooks<'a> {
    /// Name and descriptor of each hook, in the order of [`Hook`].
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
                match self.hands_over_arrays {
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

/// The hooks that a method calls at its entry, before its returns, and where an exception leaves
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallsTo {
    /// Those for calls.
    #[default]
    Calls,
    /// Those for calls that something begins with.
    Triggers,
    /// Those for class initialisations, which record no call. Static initialisers have them.
    Initialisations,
    /// Those for class initialisations, which record the call as well.
    InitialisationsAndCalls,
}

/// Which probes a method gets. The hooks are handed the numbers as an `int` with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Probes {
    /// The method's id: probes at its entry and exits, its handlers and its `super()` call.
    pub calls: Option<u32>,
    /// Which hooks these are.
    pub calls_to: CallsTo,
    /// A probe where each entry of [`Method::line_entries`](crate::Method::line_entries) begins:
    /// entry `k` has this number plus `k` (modulo 2^32).
    pub lines: Option<u32>,
    /// A probe behind each of [`Class::allocation_sites`](crate::Class::allocation_sites): site `k`
    /// has this number plus `k` (modulo 2^32).
    pub allocations: Option<u32>,
    /// A probe at the entry which hands over `this`, in place of those around calls. It is for the
    /// constructor of `java.lang.Object`, where `this` is no longer uninitialized.
    pub constructed: bool,
}

impl Probes {
    /// The method stays as it is.
    pub const NONE: Self = Probes {
        calls: None,
        calls_to: CallsTo::Calls,
        lines: None,
        allocations: None,
        constructed: false,
    };

    /// Only the probes around calls, if there is an id.
    pub const fn calls(id: Option<u32>) -> Self {
        Probes {
            calls: id,
            ..Self::NONE
        }
    }
}

/// What [`instrument`](crate::instrument) has made.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new class file; equal to the old one if no method was rewritten.
    pub bytes: Vec<u8>,
    /// For each method that was to get probes: its index in
    /// [`Class::methods`](crate::Class::methods), and what it got, or why it stayed as it was.
    pub outcomes: Vec<(usize, Result<Inserted, Refusal>)>,
}

/// What a method got.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inserted {
    /// The hooks around the `this()` or `super()` call.
    pub super_marks: SuperMarks,
    /// For each entry of the line table, in its order, where its hits are counted; empty if no line
    /// probes were asked for.
    pub lines: Vec<LineProbe>,
    /// Where in the new code the handlers begin that call [`Hooks::leave_by_exception`] and throw
    /// on; nothing else follows them. `None` if there are none.
    pub added_handlers: Option<u16>,
    /// Why the method has the probes around calls only, though it was to have others. It has all
    /// that were asked for if there is nothing here.
    pub reduced: Option<Refusal>,
}

/// Which hooks stand around the `this()` or `super()` call of a rewritten constructor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SuperMarks {
    /// None: no constructor, or one that calls `Object`'s.
    #[default]
    None,
    /// [`Hooks::super_returned`] only: nothing before the call can run other code.
    After,
    /// [`Hooks::super_call`] as well.
    Around,
}

/// Where the hits of an entry of a line table are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineProbe {
    /// The entry has a probe of its own, with this number.
    Own(u32),
    /// It begins at the same instruction as an earlier entry, which has the probe, with this
    /// number. What counts hits per source line must take a number once, should both entries be of
    /// one line.
    Shared(u32),
    /// It has none.
    NoProbe(NoProbe),
}

/// Why an entry of a line table has no probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoProbe {
    /// The method was reduced to the probes around calls ([`Inserted::reduced`]).
    Reduced,
    /// It begins where no instruction does.
    NoInstruction,
    /// A hook that fails there could run in circles.
    Circle,
    /// A hook that fails there would leave a monitor locked.
    Monitor,
}
