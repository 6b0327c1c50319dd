"""The file of --json: all runs so far, each figure with its unit, and the machine on which they
ran."""

import json
import os
import platform
import re
import subprocess
from pathlib import Path

from bench.comparing.figures import UNITS, figures
from bench.comparing.others import TRACERS
from bench.comparing.works import WORKS
from support.errors import Unavailable
from support.paths import ROOT

# What the measured programs are built from.
BUILT = ("agent", "crates", "java-api", "build.rs", "Cargo.toml", "Cargo.lock")


def machine(jdks, quick):
    """The machine, and what is measured on it."""
    try:
        names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        names = []

    def git(*words):
        done = subprocess.run(["git", *words, "--", *BUILT], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    commit = git("log", "-1", "--format=%h")
    return {"machine": f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}, {platform.system()}",
            "jtrail": commit + ("-changed" if git("status", "--porcelain") else "") or "of no repository",
            "size": "quick, of which figures say little" if quick else "full",
            "JDK": {str(jdk.feature): jdk.version for jdk in jdks}}


def document(runs, floors, machine):
    """The contents of the file in plain types, for JSON."""
    floor = min(floors, default=None)
    cells = [{"work": work.name, "jdk": jdk, "tracer": name, "figures": found}
             for work in WORKS.values() for jdk in sorted({run["jdk"] for run in runs if run["work"] == work.name})
             for name in TRACERS if (found := figures(runs, work, jdk, name, floor))]
    return {"machine": machine, "floor_ns": floors, "units": UNITS, "cells": cells, "runs": runs}


def load(path, machine):
    """The runs and floors of a file, which must be of this machine and this state of the sources.

    Adds the JDKs of these runs to `machine`.
    """
    if not path or not path.exists():
        return [], []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        before, runs, floors = found["machine"], found["runs"], found["floor_ns"]
    except (ValueError, KeyError, TypeError) as problem:
        raise Unavailable(f"bench: {path}: not a file of scripts/bench ({problem!r}): pass another name to --json") from problem
    machine["JDK"] = before["JDK"] | machine["JDK"]
    if before | {"JDK": machine["JDK"]} != machine or before["JDK"].items() - machine["JDK"].items():
        raise Unavailable(f"bench: {path} was measured elsewhere ({before}; here {machine}): pass another name to --json")
    return runs, floors


def save(path, runs, floors, machine):
    """Writes the file, if --json names one."""
    if path:
        text = json.dumps(document(runs, floors, machine), indent=1)
        part = path.with_name(path.name + ".part")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
