"""What scripts/real-servers makes of the rates that it measures."""

import math


def geometric_mean(ratios):
    """The mean of ratios: twice as fast and half as fast cancel out."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


class Throughput:
    """How fast servers are that an agent was attached to, as a part of the rate of others, before and behind that. Each pair of windows is one figure."""

    def __init__(self):
        self.pairs = []

    def add(self, before, after):
        """Takes the windows of a pair of processes."""
        self.pairs.append(geometric_mean(after) / geometric_mean(before))

    def kept(self):
        """What is left of the rate from before: 1.0 is all of it."""
        return geometric_mean(self.pairs)

    def is_enough(self, least):
        """Whether that is at least so much; None asks for nothing."""
        return least is None or self.kept() >= least

    def needs_more(self, least, usual):
        """Whether to measure one more pair than usual, for what has come out too low may be noise. There are twice as many at most."""
        return not self.is_enough(least) and len(self.pairs) < 2 * usual

    def shown(self):
        """What each pair kept."""
        return " ".join(f"{pair:.1%}" for pair in self.pairs)

    def problem(self, least):
        """What is wrong, in a line; nothing if it is enough."""
        if self.is_enough(least):
            return None
        return (f"{self.kept():.1%} of the throughput from before are there behind the agent, and {least:.1%} must be"
                f" (pairs of processes: {self.shown()})")
