"""How much the figures of scripts/redeploy may grow."""

KEYS = ["metaspace", "classes", "heap", "rss", "agent"]
# By how much the growth with the agent may exceed that without it, in bytes for each redeployment.
# An application that is not unloaded takes some 100,000 of metaspace, and one of its classes 5,000.
# The JVM reaches its level only after some hundred redeployments, and with the agent at another
# pace. So SLACK is allowed on top in any run, and only a long run shows smaller growth.
EACH = {"metaspace": 300, "heap": 200}
SLACK = 500_000
# Bounds of a whole run, for counts and for what grows in large pieces.
WHOLE_RUN = {"classes": 20, "rss": 12_000_000, "agent": 500_000}


def grown(bare, traced, cycles):
    """Lists what has grown by more than its bound. `bare` is the growth without the agent, `traced`
    that with it."""
    between = cycles // 2
    bounds = {key: bound * between + SLACK for key, bound in EACH.items()} | WHOLE_RUN
    return [f"{key} has grown by {traced[key]:,} in {between} redeployments, and by {bare[key]:,} without the agent; "
            f"{bound:,} more are allowed"
            for key, bound in bounds.items() if traced[key] > max(0, bare[key]) + bound]
