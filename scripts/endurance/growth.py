"""Tells growth from figures that go up and down, by looks at them that are spread over a run."""

# Figures that fall only now and then, when the JVM throws away garbage, classes or code.
SAWS = ("metaspace", "code", "heap")


def looks(cycles):
    """How often to look: eight times in a short run, and every 20 cycles or so in a long one.

    A dozen looks in each quarter are enough to find the least figure of it.
    """
    return max(8, cycles // 80 * 4)


def parts(count, key):
    """Which of the looks at a figure are compared: the second quarter of them and the last one.

    A quarter of a short run is two looks, less than a tooth of the saw that compiled code is on JDK
    11. So all looks of such a run but the first are compared, by halves.
    """
    quarter = count // 4
    if count < 16 and key in SAWS:
        return slice(1, 2 * quarter), slice(2 * quarter, count)
    return slice(quarter, 2 * quarter), slice(count - quarter, count)


def apart(count, cycles, key):
    """Cycles between the two parts that are compared: from start to start, where the least of
    what grows is found."""
    first, last = parts(count, key)
    return cycles * (last.start - first.start) // count


def growth(seen):
    """For each figure, how much greater its least value is in the last part than in the first
    one."""
    def more(key):
        first, last = (min(look[key] for look in seen[part]) for part in parts(len(seen), key))
        return last - first

    return {key: more(key) for key in seen[0]}
