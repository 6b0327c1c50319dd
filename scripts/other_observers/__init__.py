"""Runs a program under other observers, alone and with jtrail beside them. `scripts/observers`
is the command."""
