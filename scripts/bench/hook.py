"""The hook of a call, beside the physical floor of two time stamps and two stores."""

from bench.session import agent, floor

JAVA = ("BenchFib.java",)
EXAMPLES = (("testkit", "floor"),)

VARIANTS = {"bare": [], "hook": [agent("format=none,include=BenchFib")],
            "tick": [agent("format=none,include=BenchFib,clock=tick")]}


def measure(session):
    floors, times = [], {}
    for _ in range(session.args.rounds):
        floors.append(floor())
        for jdk in session.jdks:
            for name, options in VARIANTS.items():
                times.setdefault((jdk, name), []).append(float(session.java(jdk, options, "BenchFib")))
    least = min(floors)
    session.add("floor: two time stamps, two stores", figure=f"{least:.2f} ns")
    for jdk in session.jdks:
        bare, hook, tick = (min(times[jdk, name]) for name in VARIANTS)
        what = f"fib(32), JDK {jdk.feature}"
        session.add(f"{what}, bare", figure=f"{bare:.2f} ns")
        session.add(f"{what}, with hook", "<= 1.15 x floor", f"{hook:.2f} ns", f"{hook / least:.3f} x floor")
        session.add(f"{what}, with hook, clock=tick", "<= 0.25 x floor, 4 ns", f"{tick:.2f} ns", f"{tick / least:.3f} x floor")
