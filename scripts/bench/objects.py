"""Objects: their allocation, their identity, their end.

They are measured as in events.py, with the same program. The floors come from an agent that does
only what the row says (agent/examples/tag_floor.rs). Either the JVM reports each object, or the
program passes it to a native method after `new`. The object gets a tag, or a weak reference, or
nothing. Its end is counted, or not.
"""

from bench.pricing import BARE, HEAD, NULL, PROGRAM, Case, Runner, Variant, prices, traced

JAVA = PROGRAM
EXAMPLES = (("agent", "tag_floor"),)


def cases():
    tlab = ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB")

    def floors(program, *kinds):
        """The floors of objects that the program passes to the agent, and of those that the JVM
        reports."""
        ways = (("a call after new", "hook", f"{program}-floor"), ("reported by the JVM", "sampled", program))
        return [Variant(", ".join([f"floor: {name}", *kind.split()]).replace("weak", "weak reference"),
                        floor="+".join([way, *kind.split()]), program=of)
                for name, way, of in ways for kind in kinds]

    return [
        Case("24-byte object", "alloc", 2_000_000, [
            BARE,
            traced("alloc=sites", "alloc,alloc=sites", total="objects", limit="<= 15 ns more"),
            traced("alloc=sites with sites", "alloc,alloc=sites,allocsites=true", limit="<= 15 ns more"),
            traced("alloc=sites, written to /dev/null", "alloc,alloc=sites", output=NULL),
            traced("alloc=sites with ids and free", "alloc+free,alloc=sites", total="objects", limit="<= 150 ns more"),
            traced("alloc", "alloc", total="objects"),
            traced("alloc with sites", "alloc,allocsites=true"),
            traced("alloc, written to /dev/null", "alloc", output=NULL),
            traced("alloc with ids (and exceptions)", "alloc+exceptions"),
            traced("alloc with ids and free (and exceptions)", "alloc+free+exceptions"),
            traced("alloc with ids and free", "alloc+free"),
            *floors("alloc", "", "tag", "tag free", "weak", "weak free"),
            Variant("JFR, allocation areas", jfr=tlab),
            Variant("JFR, samples unthrottled", jfr=("ObjectAllocationSample",), since=16)]),
        Case("24-byte object and its collection", "free", 2_000_000, [
            BARE,
            traced("alloc with ids (and exceptions)", "alloc+exceptions"),
            traced("alloc with ids and free (and exceptions)", "alloc+free+exceptions"),
            traced("alloc with ids and free", "alloc+free", total="frees"),
            traced("alloc=sites with ids and free", "alloc+free,alloc=sites", total="frees"),
            *floors("free", "tag", "tag free", "weak free")]),
    ]


def frees(runner, case, clocks):
    """Adds the row of the free alone: the difference of two variants, both of which tag objects."""
    plain, free = (clocks[variant.name] for variant in case.variants[1:3])
    more = " / ".join(f"+{(b - a) / case.times:.1f}" if b > 1.05 * a else "noise" for a, b in zip(plain, free))
    runner.session.add(f"free, JDK {runner.jdk.feature}, alone", remark=f"{more} ns (differences below 5 % are called noise)")


def measure(session):
    session.add("Objects: " + HEAD[0], *HEAD[1:])
    for jdk in session.jdks:
        runner = Runner(session, jdk)
        for case in cases():
            clocks = prices(runner, case, medians=True)
            if case.program == "free":
                frees(runner, case, clocks)
