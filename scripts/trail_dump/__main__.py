"""`python3 scripts/trail_dump FILE` prints the calls and threads of a trail, as `jtrail dump`
does."""

import sys
from pathlib import Path

# Python puts the package itself on the path; its modules are imported from the folder above.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from trail_dump.dump import dump  # noqa: E402


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python3 scripts/trail_dump FILE")
    try:
        dump(Path(sys.argv[1]).read_bytes(), sys.stdout.write)
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"trail_dump: {error}")


main()
