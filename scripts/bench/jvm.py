"""The kinds of events about the JVM and other agents: threads, classes, collections, compiled code.

They are measured as in events.py. If many threads do the work, or one of the JVM's own (it collects
or compiles), the price is in the CPU time of the process. All threads wait for a collection, so its
price is in the wall-clock time too.

Virtual threads run on one carrier. Collections are as short as possible: the young generation is
small, and nothing in it is alive. C1 compiles methods at their first call, while the program waits,
and nothing else is compiled.
"""

from bench.pricing import BARE, HEAD, PROGRAM, Case, Runner, Variant, prices
from support.java import write_agent_jar

JAVA = (*PROGRAM, "BenchJvm.java", "BenchLoaded00000.java")
EXAMPLES = (("agent", "tag_floor"),)

METHODS = 18  # of BenchLoaded00000, beside the constructor and the method that calls them
OTHER_AGENT = "other.jar"


def cases():
    def case(name, program, times, *variants, **more):
        return Case(name, program, times, [BARE, *variants], main="BenchJvm", **more)

    one_carrier = ("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1")
    neither = Variant("neither", "events=gc")  # only what the agent enables with any kinds
    any_agent = Variant("an agent without events", floor="hook")
    threads = Variant("threads", "events=threads")
    again = (neither, Variant("classes and details", "events=classes+details"), Variant("methods", "events=methods"))
    other_agent = ("-javaagent:{folder}/" + OTHER_AGENT,)
    return [
        case("thread started and joined", "thread", 4_000, neither, threads, batches=10, together=True),
        case("virtual thread started and ended", "virtual", 200_000, neither, threads, batches=10, since=21, jvm=one_carrier),
        case("virtual thread unmounted and mounted", "yield", 800_000, any_agent, neither, threads,
             Variant("threads and mounts", "events=threads+mounts"), batches=10, since=21, jvm=one_carrier),
        case("class loaded", "load", 4_000, neither, Variant("classes", "events=classes"),
             Variant("classes and details", "events=classes+details"), batches=8),
        case("class redefined by another agent", "redefine", 1_000, *again, batches=8, jvm=other_agent),
        case("class retransformed by another agent", "retransform", 1_000, *again, batches=8, jvm=other_agent),
        case("method compiled", "compile", 1_000, Variant("jit", "events=jit"), batches=6, per=1_000 * (METHODS + 2),
             jvm=("-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-Inline", "-XX:ReservedCodeCacheSize=240m",
                  "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,BenchLoaded*::*")),
        case("young collection", "collect", 2_000, Variant("gc", "events=gc"), batches=8,
             jvm=("-XX:+UseSerialGC", "-Xmn4m")),
    ]


def measure(session):
    session.add("What the JVM does: " + HEAD[0], *HEAD[1:])
    write_agent_jar(session.folder / OTHER_AGENT, Premain_Class="BenchJvm$Other", Can_Redefine_Classes="true",
                    Can_Retransform_Classes="true")
    for jdk in session.jdks:
        runner = Runner(session, jdk)
        for case in cases():
            if jdk.feature >= case.since:
                prices(runner, case)
