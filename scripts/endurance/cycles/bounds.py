"""How much the figures of scripts/cycles may grow."""

import re

from endurance.growth import apart, growth
from support.errors import Unavailable

# How the JVM runs the program, and the options for it. If it interprets, only what cycles leave
# behind adds to metaspace and code, so that every byte of it shows. If it compiles, each method
# that it compiles takes some of both, for thousands of cycles; but only there can compiled code
# keep classes that it was made of.
MODES = {"interpreted": ["-Xint"], "compiled": []}
# Bytes for each cycle, in a long run and in a shorter one. The JVM reaches its level only after
# some hundred cycles. Shorter runs find classes, traces or buffers that stay, and nothing smaller.
LONG_RUN = 1000
GROWTH = {
    "interpreted": {"metaspace": (8, 3_000), "code": (8, 1_000), "heap": (100, 2_000)},
    "compiled": {"metaspace": (300, 3_000), "code": (1_000, 5_000), "heap": (100, 2_000)},
}
# JDKs that lose metaspace each time a class is retransformed, by jtrail or by another agent: 21
# loses some 100 bytes for a class with invokedynamic. With these JDKs, a run without jtrail comes
# first, and its loss is allowed on top.
LOSE = {21}
# Bounds of a whole run, for counts and for what grows in large pieces.
MORE = {"threads": 0, "fds": 0, "maps": 8, "rss": 12_000_000}
KEYS = [*GROWTH["compiled"], *MORE]
# Bound of the soak for what the agent has allocated. That varies, because the agent knows some
# thousand classes until their loaders are collected.
SOAK_MORE = {"agent": 500_000}


def allocated(accounts):
    """Bytes that the JVM has allocated for itself. `accounts` is the output of `jcmd PID
    VM.native_memory summary scale=KB`."""
    found = re.findall(r"\(malloc=(\d+)KB", accounts)
    if not found:
        raise Unavailable(f"cycles: jcmd VM.native_memory: {accounts}")
    return 1024 * sum(map(int, found))


def lost(seen, cycles):
    """Bytes of metaspace that a JVM without jtrail loses in each cycle."""
    return max(0, growth(seen)["metaspace"] / apart(len(seen), cycles, "metaspace"))


def grown(seen, cycles, mode, lost=0):
    """Lists what has grown by more than its bound. `lost`: the metaspace that the JVM loses by
    itself in each cycle."""
    between = {key: apart(len(seen), cycles, key) for key in seen[0]}
    own = {"metaspace": lost}
    whole_run = MORE | (SOAK_MORE if "agent" in seen[0] else {})
    bounds = {key: (bound[cycles < LONG_RUN] + own.get(key, 0)) * between[key]
              for key, bound in GROWTH[mode].items()} | whole_run
    return [f"{key} has grown by {more:,} in {between[key]} cycles; {bounds[key]:,.0f} are allowed"
            for key, more in growth(seen).items() if key in bounds and more > bounds[key]]
