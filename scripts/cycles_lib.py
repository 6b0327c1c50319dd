"""What scripts/cycles makes of the figures that it takes."""

import re
import sys

# The ways in which the JVM runs the program, and what it takes for that. Interpreted, nothing but what comes and goes uses metaspace and code, and all of it is seen. Compiled, each method
# that the JVM compiles takes some of both, which it goes on with for thousands of cycles; but compiled code may keep what it was made of.
MODES = {"interpreted": ["-Xint"], "compiled": []}
# How much more there may be for each cycle, in bytes. The JVM comes to its level only after some hundred cycles: the second bound is for shorter runs, which
# find classes, traces or buffers that stay behind, and nothing smaller.
LONG_RUN = 1000
GROWTH = {
    "interpreted": {"metaspace": (8, 3_000), "code": (8, 1_000), "heap": (100, 2_000)},
    "compiled": {"metaspace": (300, 3_000), "code": (1_000, 5_000), "heap": (100, 2_000)},
}
# Versions of the JVM that lose metaspace each time that a class is made anew, whoever has that done: 21 does, some 100 bytes for a class with invokedynamic.
# There, a run without jtrail comes first, and what that loses is allowed on top.
LOSE = {21}
# How much more there may be at all: numbers, and what comes in large pieces.
MORE = {"threads": 0, "fds": 0, "maps": 8, "rss": 12_000_000}
KEYS = [*GROWTH["compiled"], *MORE]
# In the soak, the agent says what it has allocated; it knows of a thousand classes more or less, as their loaders are collected.
SOAK_MORE = {"agent": 500_000}


def allocated(accounts):
    """Bytes that the JVM says to have allocated for itself, by `VM.native_memory summary scale=KB`: of all kinds of memory together."""
    found = re.findall(r"\(malloc=(\d+)KB", accounts)
    if not found:
        sys.exit(f"cycles: jcmd VM.native_memory: {accounts}")
    return 1024 * sum(map(int, found))


def looks(cycles):
    """How often to look: every 20 cycles or so, so that the least of a quarter of a long run is one of a dozen figures, and of a short run one of two."""
    return max(8, cycles // 80 * 4)


def growth(seen):
    """How much more there is in the last quarter of the looks than in the second one, at the least."""
    quarter = len(seen) // 4
    quarters = seen[quarter:2 * quarter], seen[-quarter:]
    first, last = ({key: min(look[key] for look in some) for key in seen[0]} for some in quarters)
    return {key: last[key] - first[key] for key in seen[0]}


def lost(seen, cycles):
    """Bytes of metaspace that the JVM loses in each cycle by itself, as a run without jtrail has it."""
    return max(0, growth(seen)["metaspace"] / (cycles // 2))


def grown(seen, cycles, mode, lost=0):
    """What there is more of than may be, in words; `lost` is the metaspace that the JVM loses by itself in each cycle."""
    between = cycles // 2
    own = {"metaspace": lost}
    at_all = MORE | (SOAK_MORE if "agent" in seen[0] else {})
    bounds = {key: (bound[cycles < LONG_RUN] + own.get(key, 0)) * between for key, bound in GROWTH[mode].items()} | at_all
    return [f"{key} has grown by {more:,} in {between} cycles; {bounds[key]:,.0f} are allowed"
            for key, more in growth(seen).items() if key in bounds and more > bounds[key]]
