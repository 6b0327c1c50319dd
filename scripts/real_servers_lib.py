"""What scripts/real-servers makes of the rates that it measures."""

import math

# Windows are measured again so often at most.
TURNS = 3


def geometric_mean(ratios):
    """The mean of ratios: twice as fast and half as fast cancel out."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


class Throughput:
    """How fast the server that an agent was attached to is, as a part of the other one's rate, before and behind that. Each pair of windows is one figure."""

    def __init__(self, before):
        self.before = list(before)
        self.after = []
        self.turns = 0

    def add(self, after):
        """Takes the windows of one more turn behind the agent. All of them count."""
        self.after += after
        self.turns += 1

    def kept(self):
        """What is left of the rate from before: 1.0 is all of it."""
        return geometric_mean(self.after) / geometric_mean(self.before)

    def is_enough(self, least):
        """Whether that is at least so much; None asks for nothing."""
        return least is None or self.kept() >= least

    def needs_more(self, least):
        """Whether to measure once more, for what has come out too low may be noise."""
        return not self.is_enough(least) and self.turns < TURNS

    def problem(self, least):
        """What is wrong, in a line; nothing if it is enough."""
        if self.is_enough(least):
            return None
        return (f"{self.kept():.1%} of the throughput from before are there behind the agent, and {least:.1%} must be"
                f" ({len(self.before)} pairs of windows before, {len(self.after)} after)")
