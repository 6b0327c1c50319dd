"""Numbers and tables as text."""


def aligned(rows, right=()):
    """The rows of a table as lines. Cells of the columns `right` (by index) are aligned to the
    right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) if at in right else cell.ljust(width)
                      for at, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def scaled(number):
    """A number of bytes in four digits or less: 9999, 10k, 9999M."""
    for unit in ("", "k", "M", "G"):
        if number < 10_000 or unit == "G":
            return f"{number:.0f}{unit}"
        number /= 1000
