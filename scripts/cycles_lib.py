"""What scripts/cycles makes of the figures that it takes."""

import re
import sys

# The ways in which the JVM runs the program, and what it takes for that. Interpreted, nothing but
# what comes and goes uses metaspace and code, and all of it is seen. Compiled, each method that the
# JVM compiles takes some of both, which it goes on with for thousands of cycles; but compiled code
# may keep what it was made of.
MODES = {"interpreted": ["-Xint"], "compiled": []}
# How much more there may be for each cycle, in bytes. The JVM comes to its level only after some
# hundred cycles: the second bound is for shorter runs, which find classes, traces or buffers that
# stay behind, and nothing smaller.
LONG_RUN = 1000
GROWTH = {
    "interpreted": {"metaspace": (8, 3_000), "code": (8, 1_000), "heap": (100, 2_000)},
    "compiled": {"metaspace": (300, 3_000), "code": (1_000, 5_000), "heap": (100, 2_000)},
}
# Versions of the JVM that lose metaspace each time that a class is made anew, whoever has that
# done: 21 does, some 100 bytes for a class with invokedynamic. There, a run without jtrail comes
# first, and what that loses is allowed on top.
LOSE = {21}
# How much more there may be at all: numbers, and what comes in large pieces.
MORE = {"threads": 0, "fds": 0, "maps": 8, "rss": 12_000_000}
KEYS = [*GROWTH["compiled"], *MORE]
# In the soak, the agent says what it has allocated; it knows of a thousand classes more or less, as
# their loaders are collected.
SOAK_MORE = {"agent": 500_000}


def allocated(accounts):
    """Bytes that the JVM says to have allocated for itself, by `VM.native_memory summary scale=KB`: of all kinds of memory together."""
    found = re.findall(r"\(malloc=(\d+)KB", accounts)
    if not found:
        sys.exit(f"cycles: jcmd VM.native_memory: {accounts}")
    return 1024 * sum(map(int, found))


def looks(cycles):
    """How often to look: every 20 cycles or so of a long run, which gives a dozen looks to each quarter, and eight times in a short one."""
    return max(8, cycles // 80 * 4)


def parts(count, key):
    """Which of so many looks at a figure are compared: the second quarter of them and the last one. A quarter of a short run is two looks, less than a tooth of
    the saw that compiled code is on 11: of what goes up and down so, all behind the first look is compared with the second half."""
    quarter = count // 4
    if count < 16 and key in GROWTH["compiled"]:
        return slice(1, 2 * quarter), slice(2 * quarter, count)
    return slice(quarter, 2 * quarter), slice(count - quarter, count)


def apart(count, cycles, key):
    """Cycles between the two parts that are compared: from begin to begin, as the least of what grows stands there."""
    first, last = parts(count, key)
    return cycles * (last.start - first.start) // count


def growth(seen):
    """How much more there is in the last part of the looks than in the first, at the least."""
    def more(key):
        first, last = (min(look[key] for look in seen[part]) for part in parts(len(seen), key))
        return last - first

    return {key: more(key) for key in seen[0]}


def lost(seen, cycles):
    """Bytes of metaspace that the JVM loses in each cycle by itself, as a run without jtrail has it."""
    return max(0, growth(seen)["metaspace"] / apart(len(seen), cycles, "metaspace"))


def grown(seen, cycles, mode, lost=0):
    """What there is more of than may be, in words; `lost` is the metaspace that the JVM loses by itself in each cycle."""
    between = {key: apart(len(seen), cycles, key) for key in seen[0]}
    own = {"metaspace": lost}
    at_all = MORE | (SOAK_MORE if "agent" in seen[0] else {})
    bounds = {key: (bound[cycles < LONG_RUN] + own.get(key, 0)) * between[key] for key, bound in GROWTH[mode].items()} | at_all
    return [f"{key} has grown by {more:,} in {between[key]} cycles; {bounds[key]:,.0f} are allowed"
            for key, more in growth(seen).items() if key in bounds and more > bounds[key]]
