"""What must happen in a run of scripts/stress: commands that are answered, kinds of events,
snapshots."""

# The commands of jcmd, and how often each runs in turn. A snapshot stops the program for long and
# writes much.
COMMANDS = {
    "GC.run": 4,
    "Thread.print": 6,
    "GC.class_histogram": 3,
    "JVMTI.data_dump": 1,
    "VM.info": 3,
    "Compiler.codecache": 3,
    "VM.native_memory": 1,
    "GC.heap_info": 2,
    "VM.classloader_stats": 2,
}
# A command to the agent. With heap=forced, it takes snapshots before and after the collection.
FORCED = "ctl gc"
FORCED_COUNT = 3
MOMENTS = ("exit", "request", "gc", "forced")
# Seconds of a run in which each command has its turn.
LONG = 120
# What happens in any run of a few seconds, by the kinds of `jtrail verify --counts`.
KINDS = """
    ThreadStart ThreadEnd ThreadName ThreadCpu ClassDef ClassDetail ClassUnload MethodDef MethodEnter MethodLeave
    ObjectAlloc ObjectFree GcStart GcDetail GcFinish MonitorContendedEnter MonitorContendedEntered MonitorWait MonitorWaited
    ThreadPark ThreadUnpark ExceptionThrow ExceptionCatch ClassInitStart ClassInitEnd LineCounts MethodCompile MethodUncompile
    Sample HeapDump HeapObject ObjectReference GcRoot HeapDumpEnd
""".split()
KINDS_FROM_21 = ["ThreadMount", "ThreadUnmount"]
# With these collectors on 17, and a snapshot after each of their pauses, the JVM may unload no
# classes and discard none of their code.
CONCURRENT = ("z", "shenandoah")
UNLOADS = ("ClassUnload", "MethodUncompile")


def kinds_of(jdk, heap, collector):
    """The kinds of events that the trace must have."""
    kinds = KINDS + (KINDS_FROM_21 if jdk.feature >= 21 else [])
    # A heap walk in the middle of each collection's marking keeps alive what weak references refer
    # to.
    keeps = jdk.feature < 21 and "gc" in heap and collector in CONCURRENT
    return [kind for kind in kinds if not (keeps and kind in UNLOADS)]


def commands(heap):
    """How often each command runs in turn, if snapshots are taken at the moments `heap`."""
    return {**COMMANDS, FORCED: FORCED_COUNT} if "forced" in heap else COMMANDS


def snapshots(heap, answered):
    """The minimum number of snapshots. One snapshot may serve a collection of the program's own and
    others."""
    each = {"exit": 1, "request": answered["JVMTI.data_dump"], "gc": 1, "forced": 2 * answered[FORCED]}
    return sum(each[moment] for moment in heap)


def missing(jdk, seconds, heap, answered, kinds, collector=None):
    """Lists what did not happen. `answered` counts the answers to each command, `kinds` the events
    of each kind in the trace."""
    wrong = []
    if not sum(answered.values()):
        wrong.append("no command was answered")
    elif seconds >= LONG:
        wrong += [f"{command} was never answered" for command in commands(heap) if not answered[command]]
    elif "forced" in heap and not answered[FORCED]:
        wrong.append(f"{FORCED} was never answered")
    none = [kind for kind in kinds_of(jdk, heap, collector) if not kinds[kind]]
    if none:
        wrong.append(f"nothing in the trace of {', '.join(none)}")
    least = snapshots(heap, answered)
    if 0 < kinds["HeapDump"] < least:
        wrong.append(f"{kinds['HeapDump']} snapshots of at least {least}")
    return wrong
