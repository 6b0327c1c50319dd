"""Attaches to servers under load, and measures what stays of their throughput.
`scripts/real-servers` is the command."""
