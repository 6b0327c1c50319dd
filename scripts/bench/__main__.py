"""`python3 scripts/bench` starts here."""

import sys
from pathlib import Path

# Python puts the package itself on the path; its modules are imported from the folder above.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.cli import main  # noqa: E402

main()
