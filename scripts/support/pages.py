"""Tables in the pages of the documentation. Each is between two marks, which name the script that
writes the table."""

import sys

# Columns of text; all others are numbers.
TEXTS = ("Program", "Include", "Collector", "Snapshots", "Verdict")


def marks(what, script):
    """The marks of a table: comments that a reader of the page does not see."""
    return f"<!-- {what}: written by scripts/{script} -->", f"<!-- end of the {what} -->"


def split(page, place):
    """The text of a page before the marks, between them, and after them."""
    if not page.is_file():
        sys.exit(f"{page}: not found")
    text = page.read_text(encoding="utf-8")
    before, mark, rest = text.partition(place[0])
    between, end, after = rest.partition(place[1])
    if not mark or not end:
        sys.exit(f"{page}: marks not found: {place[0]} … {place[1]}")
    return before, between, after


def put(page, place, lines):
    """Replaces the lines between two marks of a page."""
    before, _, after = split(page, place)
    text = "\n".join(lines)
    page.write_text(f"{before}{place[0]}\n\n{text}\n\n{place[1]}{after}", encoding="utf-8")


def merge(page, place, names, rows):
    """Adds rows to a table. They replace the rows that have the same first two cells; the others
    stay."""
    def key(cells):
        return [int(cells[0]), *cells[1:2]]

    old = [[cell.strip() for cell in text.strip("|").split(" | ")]
           for text in split(page, place)[1].splitlines() if text.startswith("| ")][1:]
    fresh = [key(row) for row in rows]
    old = [cells for cells in old if key(cells) not in fresh]
    put(page, place, head(names) + [line(cells) for cells in sorted(old + rows, key=key)])


def head(names):
    """The first two lines of a table with these columns."""
    return ["|" + "|".join(f" {name} " for name in names) + "|",
            "|" + "".join("---|" if name in TEXTS else "---:|" for name in names)]


def line(cells):
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"


def verdict(wrong, good):
    """A cell that says what is wrong with a run. If nothing is, `good`."""
    return "; ".join(wrong).replace("|", "\\|").replace("\n", " ") or good
