"""What the parts of scripts/bench share: where things are, JDKs, and running a command."""

import glob
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def run(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def jdks():
    homes = [v for k, v in os.environ.items() if k == "JAVA_HOME" or k.startswith("JAVA_HOME_")]
    homes += glob.glob("/usr/lib/jvm/*")
    found = {}
    for home in homes:
        home = os.path.realpath(home)
        release = os.path.join(home, "release")
        if os.path.exists(os.path.join(home, "bin", "java")) and os.path.exists(release):
            found[home] = int(version(home))
    return sorted(found, key=found.get)


def version(home):
    return re.search(r'JAVA_VERSION="(\d+)', open(os.path.join(home, "release")).read()).group(1)


def agent(options, target=TARGET):
    return f"-agentpath:{target / 'release' / 'libjtrail.so'}={options}"
