"""How much the figures of scripts/redeploy may grow."""

KEYS = ["metaspace", "classes", "heap", "rss", "agent"]
# Growth with the agent, beyond that without it, in bytes for each redeployment. An application that
# is not unloaded takes some 100,000 of metaspace, and one class of it 5,000. The JVM reaches its
# level only after some hundred redeployments, at another pace with the agent. So some more is
# allowed in any run, and only a long run finds what is smaller.
EACH = {"metaspace": 300, "heap": 200}
SLACK = 500_000
# Bounds of a whole run: of counts, and of what comes in large pieces.
WHOLE_RUN = {"classes": 20, "rss": 12_000_000, "agent": 500_000}


def grown(bare, traced, cycles):
    """Lists what has grown by more than its bound, from the growth without the agent and with
    it."""
    between = cycles // 2
    bounds = {key: bound * between + SLACK for key, bound in EACH.items()} | WHOLE_RUN
    return [f"{key} has grown by {traced[key]:,} in {between} redeployments, and by {bare[key]:,} without the agent; "
            f"{bound:,} more are allowed"
            for key, bound in bounds.items() if traced[key] > max(0, bare[key]) + bound]
