"""What hooks cost a method that is nearly as large as HotSpot compiles: 8,000 bytes. With hooks it would be over that, and interpreted
for good; so it has none (docs/limits.md).

Two shapes: one with a return in each branch, whose probes add up, and one without that is within 20 bytes of the limit. `hooks` is what the
agent does by itself, `all hooks` what it does where the JVM has no such limit (-XX:-DontCompileHugeMethods).
"""

import os

from bench_lib import agent, run, version

LIMIT = 2.0  # x bare
# Shape: branches, calls.
SHAPES = {"returns": (520, 10_000_000), "loop": (497, 1_000_000)}
OPTIONS = {"hooks": "", "hooks, events=lines": ",events=lines", "all hooks": ""}
ALL = "-XX:-DontCompileHugeMethods"


def program(shape):
    """The source of a class named after its shape."""
    count, calls = SHAPES[shape]
    if shape == "returns":
        cases = "".join(f"case {i}: return x * 31 + {1000 + i};\n" for i in range(count))
        step = f"switch (k) {{ {cases} default: return x; }}"
    else:
        cases = "".join(f"case {i}: x = x * 31 + {1000 + i}; break;\n" for i in range(count))
        step = f"for (int r = 0; r < 64; r++) switch ((k + r) % {count}) {{ {cases} default: x++; }} return x;"
    return f"""
public class {name(shape)} {{
    static int step(int k, int x) {{ {step} }}
    public static void main(String[] args) {{
        int x = 1;
        long start = System.nanoTime();
        for (int i = 0; i < {calls}; i++) x = step((x & 0x7fffffff) % {count}, x);
        System.out.println((System.nanoTime() - start) + (x == 0 ? " " : ""));
    }}
}}
"""


def name(shape):
    return f"BenchHuge{shape.capitalize()}"


def measure(args, work, rows):
    times = {}
    for _ in range(args.rounds):
        for home in args.jdk:
            java = os.path.join(home, "bin", "java")
            for shape, (_, calls) in SHAPES.items():
                for variant in ["bare", *OPTIONS]:
                    options = [] if variant == "bare" else [agent(f"format=none,include={name(shape)}{OPTIONS[variant]}")]
                    if variant == "all hooks":
                        options.append(ALL)
                    ns = int(run([java, *options, "-cp", work, name(shape)])) / calls
                    times.setdefault((home, shape, variant), []).append(ns)
    for (home, shape, variant), runs in times.items():
        bare, ns = min(times[home, shape, "bare"]), min(runs)
        is_bound = variant.startswith("hooks")
        verdict = "" if variant == "bare" else f"{ns / bare:.2f} x bare{' FAIL' if is_bound and ns > LIMIT * bare else ''}"
        rows.append((f"method of nearly 8,000 bytes, {shape}, JDK {version(home)}, {variant}", f"<= {LIMIT:g} x bare" if is_bound else "",
                     f"{ns:.1f} ns", verdict))
