"""The table of records, which is read from the specification."""

from pathlib import Path

SPECIFICATION = Path(__file__).resolve().parents[2] / "docs/formats/trail.md"


def records():
    """For each code, the event's name, and its fields with their types."""
    table = {}
    for line in SPECIFICATION.read_text().split("\n## Records\n")[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].isdigit():
            fields = [field.replace("`", "").split(" ", 1) for field in cells[2].split(", ")]
            table[int(cells[0])] = (cells[1], fields)
    return table


RECORDS = records()
COMPOUND = {
    "frame": ["text", "signed"],
    "member": ["text", "text", "number"],
    "range": ["signed", "frames"],
    "line count": ["number", "number"],
    "live class": ["number", "number", "number"],
}
LISTS = {
    "texts": "text",
    "frames": "frame",
    "members": "member",
    "ranges": "range",
    "line counts": "line count",
    "live classes": "live class",
}
