"""Agents that attach and detach, and traces that start and stop, in one JVM. `scripts/cycles` is
the command."""
