"""Tells growth from figures that go up and down, by measurements that are spread over a run."""

# Figures that fall only now and then, when the JVM throws away garbage, classes or code.
SAWS = ("metaspace", "code", "heap")
# A run of fewer measurements is short.
LONG = 16


def looks(cycles):
    """The number of measurements: eight in a short run, one for about every 20 cycles in a long
    one.

    A dozen measurements in each quarter are enough to find the quarter's minimum.
    """
    return max(8, cycles // 80 * 4)


def has_few_teeth(count, key):
    """Whether a figure may rise once in the whole run, and fall slowly for the rest of it.

    On JDK 11, compiled code and metaspace do so in a short run: the JVM compiles some methods
    again, at any time.
    """
    return count < LONG and key in SAWS


def parts(count, key):
    """Which measurements of a figure are compared: those of the second quarter and of the last one.

    A quarter of a short run has two measurements, which is too few for SAWS. So a short run
    compares its halves, without the first measurement.
    """
    quarter = count // 4
    if has_few_teeth(count, key):
        return slice(1, 2 * quarter), slice(2 * quarter, count)
    return slice(quarter, 2 * quarter), slice(count - quarter, count)


def apart(count, cycles, key):
    """The number of cycles over which `growth` is measured: from the start of the first compared
    part to that of the second, without the measurement that `without_largest_rise` levels. If a
    figure grows, it has a part's minimum at the part's start."""
    first, last = parts(count, key)
    return cycles * (last.start - first.start - has_few_teeth(count, key)) // count


def without_largest_rise(figures):
    """The figures as they were if the largest rise from one to the next had not been.

    What grows in every cycle rises between all of them, so that it still grows.
    """
    rise, at = max((after - before, -at) for at, (before, after) in enumerate(zip(figures, figures[1:])))
    return [figure - (max(0, rise) if number > -at else 0) for number, figure in enumerate(figures)]


def growth(seen):
    """For each figure, how much its minimum in the second compared part exceeds that in the
    first."""
    def more(key):
        figures = [look[key] for look in seen]
        first, last = parts(len(seen), key)
        if has_few_teeth(len(seen), key):
            figures[first.start:] = without_largest_rise(figures[first.start:])
        return min(figures[last]) - min(figures[first])

    return {key: more(key) for key in seen[0]}
