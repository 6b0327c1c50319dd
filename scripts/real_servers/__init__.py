"""Attaches to servers under load, and measures how much of their throughput is left.
`scripts/real-servers` is the command."""
