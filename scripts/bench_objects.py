"""What objects cost: their allocation, their identity, their end. As bench_events.py, whose program it is.

The floors are those of an agent which does nothing but what the row says: the JVM tells of each object, or the program hands it over by a call of
a native method behind `new`; the object gets a tag, or a weak reference, or nothing; its end is counted, or not (agent/examples/tag_floor.rs).
"""

from bench_run import BARE, HEAD, NULL, Case, Runner, Variant, prices, traced


def cases():
    tlab = ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB")

    def floors(program, *kinds):
        """Of objects that are handed over, and of those that the JVM tells of."""
        ways = (("a call behind new", "hook", f"{program}-floor"), ("told by the JVM", "sampled", program))
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


def frees(runner, case, clocks, rows):
    """What a free costs by itself: objects have tags either way."""
    plain, free = (clocks[variant.name] for variant in case.variants[1:3])
    more = " / ".join(f"+{(b - a) / case.times:.1f}" if b > 1.05 * a else "noise" for a, b in zip(plain, free))
    rows.append((f"free, JDK {runner.version}, alone", "", "", f"{more} ns (differences below 5 % are called noise)"))


def measure(args, work, rows):
    rows.append(("Objects: " + HEAD[0], *HEAD[1:]))
    for home in args.jdk:
        runner = Runner(home, work)
        for case in cases():
            clocks = prices(runner, case, args.rounds, rows, medians=True)
            if case.program == "free":
                frees(runner, case, clocks, rows)
