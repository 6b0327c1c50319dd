"""What scripts/real-servers makes of the rates that it measures."""

import math

# How much the answers in a second of the clock may be off, where two servers share the processors.
NOISE = 0.08


def geometric_mean(ratios):
    """The mean of ratios: twice as fast and half as fast cancel out."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


class Throughput:
    """What servers that an agent was attached to did, as a part of what others did: before, during and behind that, by two measures. Each window is one figure."""

    def __init__(self):
        self.pairs = []

    def add(self, **phases):
        """Takes a pair of processes: for each phase the parts, by `processor` time and by the `clock`."""
        self.pairs.append(phases)

    def mean(self, phase, measure="processor"):
        """The mean of all windows of a phase."""
        return geometric_mean([part for pair in self.pairs for part in pair[phase][measure]])

    def each(self, measure):
        """What each pair kept of what it did before: 1.0 is all of it."""
        return [geometric_mean(pair["after"][measure]) / geometric_mean(pair["before"][measure]) for pair in self.pairs]

    def kept(self, measure="processor"):
        """What all of them kept."""
        return geometric_mean(self.each(measure))

    def is_enough(self, least):
        """Whether that is at least so much; None asks for nothing. One that only waits uses no processor time, which the clock tells, if less exactly."""
        return least is None or self.kept() >= least and self.kept("clock") >= least - NOISE

    def shown(self):
        """What each pair kept."""
        return " ".join(f"{kept:.1%}" for kept in self.each("processor"))

    def problem(self, least):
        """What is wrong, in a line; nothing if it is enough."""
        if self.is_enough(least):
            return None
        return (f"{self.kept():.1%} of the throughput from before are there behind the agent, and {least:.1%} must be"
                f" (pairs of processes: {self.shown()}); by the clock {self.kept('clock'):.1%}, of {least - NOISE:.1%}")
