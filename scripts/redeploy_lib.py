"""What scripts/redeploy makes of the figures that it takes."""

from cycles_lib import LONG_RUN

KEYS = ["metaspace", "classes", "heap", "rss", "agent"]
# How much more may have come with the agent than without it, in bytes for each redeployment. An application that stays behind takes some
# 100,000 of metaspace, and one class of it 5,000. The second bound is for short runs, in which the JVM still comes to its level.
EACH = {"metaspace": (300, 5_000), "heap": (200, 4_000)}
# And at all: numbers, and what comes in large pieces.
AT_ALL = {"classes": 20, "rss": 12_000_000, "agent": 500_000}


def grown(bare, traced, cycles):
    """What has grown by more than it may, in words; of what there was more in the last quarter than in the second one, without the agent and with it."""
    between = cycles // 2
    bounds = {key: bound[cycles < LONG_RUN] * between for key, bound in EACH.items()} | AT_ALL
    return [f"{key} has grown by {traced[key]:,} in {between} redeployments, and by {bare[key]:,} without the agent; {bound:,} more are allowed"
            for key, bound in bounds.items() if traced[key] > max(0, bare[key]) + bound]
