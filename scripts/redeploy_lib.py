"""What scripts/redeploy makes of the figures that it takes."""

KEYS = ["metaspace", "classes", "heap", "rss", "agent"]
# How much more may have come with the agent than without it, in bytes for each redeployment. An
# application that stays behind takes some 100,000 of metaspace, and one class of it 5,000. The JVM
# comes to its level only after some hundred redeployments, at another pace with the agent: so there
# may be some more in any run, and what is smaller only a long one finds.
EACH = {"metaspace": 300, "heap": 200}
SLACK = 500_000
# And at all: numbers, and what comes in large pieces.
AT_ALL = {"classes": 20, "rss": 12_000_000, "agent": 500_000}


def grown(bare, traced, cycles):
    """What has grown by more than it may, in words; of what there was more in the last quarter than in the second one, without the agent and with it."""
    between = cycles // 2
    bounds = {key: bound * between + SLACK for key, bound in EACH.items()} | AT_ALL
    return [f"{key} has grown by {traced[key]:,} in {between} redeployments, and by {bare[key]:,} without the agent; {bound:,} more are allowed"
            for key, bound in bounds.items() if traced[key] > max(0, bare[key]) + bound]
