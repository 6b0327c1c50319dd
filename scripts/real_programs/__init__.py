"""Runs real programs with and without the agent, and compares. `scripts/real-programs` is the
command."""
