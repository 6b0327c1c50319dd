"""Tells growth from figures that go up and down, by measurements that are spread over a run."""

# Figures that fall only now and then, when the JVM throws away garbage, classes or code.
SAWS = ("metaspace", "code", "heap")


def looks(cycles):
    """The number of measurements: eight in a short run, one for about every 20 cycles in a long
    one.

    A dozen measurements in each quarter are enough to find the quarter's minimum.
    """
    return max(8, cycles // 80 * 4)


def parts(count, key):
    """Which measurements of a figure are compared: those of the second quarter and of the last one.

    A quarter of a short run has two measurements. On JDK 11, compiled code goes up and down more
    slowly than that. So for SAWS, a short run compares its halves, without the first measurement.
    """
    quarter = count // 4
    if count < 16 and key in SAWS:
        return slice(1, 2 * quarter), slice(2 * quarter, count)
    return slice(quarter, 2 * quarter), slice(count - quarter, count)


def apart(count, cycles, key):
    """The number of cycles over which `growth` is measured: from the start of the first compared
    part to that of the second. If a figure grows, it has a part's minimum at the part's start."""
    first, last = parts(count, key)
    return cycles * (last.start - first.start) // count


def growth(seen):
    """For each figure, how much its minimum in the second compared part exceeds that in the
    first."""
    def more(key):
        first, last = (min(look[key] for look in seen[part]) for part in parts(len(seen), key))
        return last - first

    return {key: more(key) for key in seen[0]}
