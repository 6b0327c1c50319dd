"""Measures what jtrail costs. `python3 scripts/bench` is the command.

Each section of the table has a module of its own, with the same name as the section (`start-up` is
`start_up.py`). What sections share is in session.py and pricing.py; `comparing/` is for those that
run real work under several tracers.
"""
