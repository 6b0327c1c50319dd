"""What scripts/cycles makes of the figures that it takes."""

# How much more there may be for each cycle, in bytes. The JVM comes to its level only after some hundred cycles: the second bound is for shorter runs, which
# find classes, traces or buffers that stay behind, and nothing smaller.
LONG_RUN = 1000
GROWTH = {"metaspace": (100, 3_000), "code": (300, 5_000), "heap": (100, 2_000)}
# What versions of the JVM lose themselves, on top of that. 21 keeps some 100 bytes of metaspace each time that a class with invokedynamic is changed, whoever
# changes it, and compiles on for longer than others do.
OWN = {21: {"metaspace": 200, "code": 200}}
# How much more there may be at all: numbers, and what comes in large pieces.
MORE = {"threads": 0, "fds": 0, "maps": 8, "rss": 12_000_000}
KEYS = [*GROWTH, *MORE]


def looks(cycles):
    """How often to look: every 50 cycles, so that a quarter of a long run has five figures, and one of a short run two."""
    return max(8, cycles // 50)


def grown(seen, cycles, feature):
    """What there is more of in the last quarter of the looks than in the second one, at the least, in words; `feature` is the JVM's version."""
    quarter = len(seen) // 4
    quarters = seen[quarter:2 * quarter], seen[-quarter:]
    first, last = ({key: min(look[key] for look in some) for key in KEYS} for some in quarters)
    between = cycles // 2
    own = OWN.get(feature, {})
    bounds = {key: (bound[cycles < LONG_RUN] + own.get(key, 0)) * between for key, bound in GROWTH.items()} | MORE
    return [f"{key} has grown by {last[key] - first[key]:,} in {between} cycles; {bounds[key]:,} are allowed"
            for key in KEYS if last[key] - first[key] > bounds[key]]
