"""The throughput of servers after an agent's visit, as a share of that of servers left alone."""

import math

# Error of the answers per second of wall-clock time if two servers share the processors.
NOISE = 0.08


def geometric_mean(ratios):
    """The geometric mean: twice as fast and half as fast cancel out."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


class Throughput:
    """Shares of pairs of processes before, during and after the agent's visit. Each share is for
    one window of time, by two measures."""

    def __init__(self):
        self.pairs = []

    def add(self, **phases):
        """Adds a pair of processes. Each phase has a list of shares by `processor` time, and one by
        the `clock`."""
        self.pairs.append(phases)

    def mean(self, phase, measure="processor"):
        """The mean of all windows of a phase."""
        return geometric_mean([share for pair in self.pairs for share in pair[phase][measure]])

    def each(self, measure):
        """The part of its earlier share that each pair kept; 1.0 is all of it."""
        return [geometric_mean(pair["after"][measure]) / geometric_mean(pair["before"][measure]) for pair in self.pairs]

    def kept(self, measure="processor"):
        """What all pairs kept, on average."""
        return geometric_mean(self.each(measure))

    def is_enough(self, least):
        """True if the pairs kept at least the share `least`, or if that is None.

        If a server only waits, its processor time shows nothing. Then the clock shows a loss,
        though less exactly.
        """
        return least is None or self.kept() >= least and self.kept("clock") >= least - NOISE

    def shown(self):
        """What each pair kept, as text."""
        return " ".join(f"{kept:.1%}" for kept in self.each("processor"))

    def problem(self, least):
        """What is wrong, in a line, or None if the pairs kept enough."""
        if self.is_enough(least):
            return None
        return (f"after the agent's visit {self.kept():.1%} of the throughput from before are left, and {least:.1%} must be"
                f" (pairs of processes: {self.shown()}); by the clock {self.kept('clock'):.1%}, of {least - NOISE:.1%}")
