"""A second reader of trails, written from docs/formats/trail.md alone, with nothing but Python's
own library.

It reads traces that are sound, and prints their calls and threads as `jtrail dump` does.
"""
