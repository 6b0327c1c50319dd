"""A method that is nearly as large as HotSpot compiles: 8,000 bytes.

With hooks it would be larger than that, and be interpreted for good; so it gets none
(docs/limits.md). There are two shapes. One has a return in each branch, whose probes add up. The
other has one return and is within 20 bytes of the limit. `hooks` is what the agent does by itself,
`all hooks` what it does if the JVM has no such limit (-XX:-DontCompileHugeMethods).
"""

from bench.session import agent

JAVA = ("BenchHugeReturns.java.in", "BenchHugeLoop.java.in")
EXAMPLES = ()

LIMIT = 2.0  # x bare
SHAPES = {"returns": "BenchHugeReturns", "loop": "BenchHugeLoop"}
# Each variant's options of the agent, and of the JVM.
VARIANTS = {"bare": (None, []), "hooks": ("", []), "hooks, events=lines": (",events=lines", []),
            "all hooks": ("", ["-XX:-DontCompileHugeMethods"])}


def measure(session):
    times = {}
    for _ in range(session.args.rounds):
        for jdk in session.jdks:
            for shape, program in SHAPES.items():
                for variant, (options, jvm) in VARIANTS.items():
                    words = [] if options is None else [agent(f"format=none,include={program}{options}")]
                    ns = float(session.java(jdk, [*words, *jvm], program))
                    times.setdefault((jdk, shape, variant), []).append(ns)
    for (jdk, shape, variant), runs in times.items():
        bare, ns = min(times[jdk, shape, "bare"]), min(runs)
        is_bound = variant.startswith("hooks")
        verdict = "" if variant == "bare" else f"{ns / bare:.2f} x bare{' FAIL' if is_bound and ns > LIMIT * bare else ''}"
        session.add(f"method of nearly 8,000 bytes, {shape}, JDK {jdk.feature}, {variant}",
                    f"<= {LIMIT:g} x bare" if is_bound else "", f"{ns:.1f} ns", verdict)
