"""Profiles as speedscope's page has read them."""

import json
import subprocess
import tempfile
from pathlib import Path

from report import Sums

HERE = Path(__file__).resolve().parent


def add_options(parser, required):
    """Adds the options that say where speedscope and a browser are."""
    parser.add_argument("--modules", metavar="FOLDER", required=required,
                        help="node_modules with speedscope 1.25.0 and playwright-core 1.65.1")
    parser.add_argument("--chromium", metavar="PROGRAM", default="/usr/bin/chromium", help="Chromium, or its headless shell")
    parser.add_argument("--picture", metavar="PNG", help="where to save a picture of the page")


def open_export(options):
    """Returns what speedscope saves after it has opened the export."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "saved.json"
        command = ["node", HERE / "speedscope_page.js", options.modules, options.chromium, options.export, saved]
        subprocess.run(command + [options.picture] * bool(options.picture), check=True)
        return json.loads(saved.read_text())


def full_name(frame):
    """A frame's name with the package of its class, which the target `speedscope` leaves out."""
    package, dot, _ = frame.get("file", "").rpartition(".")
    return package + dot + frame["name"]


def sums(profile, frames, is_call, ns):
    """The sums of a saved profile, whose times are in units of `ns` nanoseconds and count from its first event."""
    found, names = Sums(is_call), [full_name(frame) for frame in frames]
    for event in profile["events"]:
        step = found.begin if event["type"] == "O" else found.end
        step(names[event["frame"]], round(event["at"] * ns))
    assert not found.open, f"{profile['name']}: calls are open at the end"
    return found
