"""Where the project's files are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
RELEASE = TARGET / "release"
AGENT = RELEASE / "libjtrail.so"
JTRAIL = RELEASE / "jtrail"
HARNESS = ROOT / "java-harness"
# Java programs and data that several packages use. What one package uses lies in its own folder.
JAVA = SCRIPTS / "support" / "java"
DATA = SCRIPTS / "support" / "data"
# Downloads of several hundred MB, which outlive `cargo clean`.
DOWNLOADS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jtrail/real-programs"
