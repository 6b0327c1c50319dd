"""Tests of the scripts: `python3 -m unittest discover scripts`."""
