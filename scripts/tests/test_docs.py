"""Checks the documents: links, named files, and the form that each kind of document has."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
ARCHITECTURE_LINES = 120
DESIGN_HEADINGS = ["Problem", "Rule", "Mechanism", "Proof"]
# These explain a task or a choice, and no mechanism.
OTHER_DESIGN_DOCUMENTS = {"adding-an-event.md", "adding-an-option.md", "dependencies.md"}
WIDTH = 120
# Tests generate the first two.
NOT_WRAPPED = {"formats.md", "bad-input.md"}
GLOSSARY_COLUMNS = ["Term", "Meaning", "Instead of"]

FENCE = re.compile(r"\s*(```|~~~)")
CODE = re.compile(r"(`+)(.+?)\1")
# The text of a link may begin on an earlier line.
LINK = re.compile(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)|\b(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"(#{1,6}) +(.+?)\s*#*$")
SOURCE_FILE = re.compile(r"[^\s/<>*…$~]+(?:/[^\s/<>*…$~]+)+\.(?:rs|md|py|java|toml)")
NAME = re.compile(r"`[A-Za-z][A-Za-z0-9_]*`")


def documents():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def prose(text):
    """Yields the number and text of each line that is in no fenced block."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif not fence:
            yield number, line


def links(text):
    """Yields the line number and target of each link."""
    for number, line in prose(text):
        for found in LINK.finditer(CODE.sub("", line)):
            yield number, found[1] or found[2]


def source_files(text):
    """Yields the line number and path of each source file that is named in backticks."""
    for number, line in prose(text):
        for found in CODE.finditer(line):
            if SOURCE_FILE.fullmatch(found[2]):
                yield number, found[2]


def headings(text):
    """Returns the level and the text of each heading."""
    found = (HEADING.match(line) for _, line in prose(text))
    return [(len(heading[1]), heading[2]) for heading in found if heading]


def anchors(text):
    """Returns the anchors of all headings, as GitHub makes them."""
    all_anchors = set()
    for _, heading in headings(text):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        candidate, count = anchor, 0
        while candidate in all_anchors:
            count += 1
            candidate = f"{anchor}-{count}"
        all_anchors.add(candidate)
    return all_anchors


def broken_link(document, target):
    """Says what is wrong with a link; None if it leads somewhere."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    path, _, anchor = target.partition("#")
    file = (document.parent / path).resolve() if path else document
    if not file.exists():
        return f"{target}: {path} not found"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
        return f"{target}: no heading of that name"
    return None


def too_wide(text):
    """Yields the number and width of each line of prose that could be wrapped and is too wide.

    Skips what a script writes: the lines between two marks such as `<!-- figures: … -->`.
    """
    is_generated = False
    for number, line in prose(text):
        if line.startswith("<!-- "):
            is_generated = " end of " not in line.lower()
        if is_generated:
            continue
        words = re.sub(r"^\s*(?:[-*+>]|\d+\.)?\s*", "", line)
        is_text = not line.lstrip().startswith(("|", "#", "<")) and " " in words
        if is_text and len(line) > WIDTH:
            yield number, len(line)


def design_documents():
    documents = sorted((DOCS / "design").glob("*.md"))
    return [path for path in documents if path.name not in OTHER_DESIGN_DOCUMENTS]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


class Documents(unittest.TestCase):
    def assert_none(self, faults):
        self.assertFalse(faults, "\n" + "\n".join(faults))

    def test_links_lead_to_files_and_headings(self):
        faults, count = [], 0
        for document in documents():
            for number, target in links(document.read_text()):
                count += 1
                fault = broken_link(document, target)
                if fault:
                    faults.append(f"{document.relative_to(ROOT)}:{number}: {fault}")
        self.assert_none(faults)
        self.assertGreater(count, 100)

    def test_named_files_exist(self):
        faults, count = [], 0
        for document in documents():
            for number, path in source_files(document.read_text()):
                count += 1
                if not (ROOT / path).is_file():
                    faults.append(f"{document.relative_to(ROOT)}:{number}: {path} not found")
        self.assert_none(faults)
        self.assertGreater(count, 100)

    def test_the_architecture_fits_on_two_pages(self):
        lines = (DOCS / "architecture.md").read_text().splitlines()
        self.assertLessEqual(len(lines), ARCHITECTURE_LINES)

    def test_design_documents_have_their_headings(self):
        found = design_documents()
        self.assertGreater(len(found), 10)
        for document in found:
            with self.subTest(document=document.name):
                second = [heading for level, heading in headings(document.read_text()) if level == 2]
                self.assertEqual(second, DESIGN_HEADINGS)

    def test_the_architecture_links_to_each_design_document(self):
        targets = {target for _, target in links((DOCS / "architecture.md").read_text())}
        missing = [path.name for path in design_documents() if f"design/{path.name}" not in targets]
        self.assert_none(missing)

    def test_the_map_links_to_each_document(self):
        targets = {target for _, target in links((DOCS / "README.md").read_text())}
        paths = sorted(DOCS.glob("*.md")) + sorted(DOCS.glob("formats/*.md"))
        names = [str(path.relative_to(DOCS)) for path in paths if path != DOCS / "README.md"]
        self.assert_none([name for name in names if name not in targets])

    def test_prose_is_wrapped(self):
        faults = []
        for document in sorted(DOCS.rglob("*.md")):
            name = str(document.relative_to(DOCS))
            if name not in NOT_WRAPPED:
                faults += [f"docs/{name}:{number}: {width} columns" for number, width in too_wide(document.read_text())]
        self.assert_none(faults)

    def test_the_glossary_has_a_row_for_each_term(self):
        rows = [line for _, line in prose((DOCS / "glossary.md").read_text()) if line.startswith("|")]
        self.assertEqual(cells(rows[0]), GLOSSARY_COLUMNS)
        self.assertGreater(len(rows), 40)
        terms, names = set(), set()
        for row in rows[2:]:
            with self.subTest(row=row):
                term, meaning, instead_of = cells(row)
                self.assertTrue(term and meaning)
                self.assertNotIn(term, terms)
                self.assertGreater(term.casefold(), max(terms, key=str.casefold, default="").casefold())
                terms.add(term)
                for name in filter(None, instead_of.split(", ")):
                    self.assertRegex(name, f"^{NAME.pattern}$")
                    self.assertNotIn(name, names)
                    names.add(name)


class Reading(unittest.TestCase):
    """What the checks find in documents that are made up."""

    TEXT = """# A *title*, with `code`
## Twice
## Twice
See [one](a.md#b), [two](https://c/d) and `[none](e.md)` in `x/y.rs` and `x/<name>.rs`.
```sh
[none](f.md) # `x/z.rs`
```
<img src="g.svg">
"""

    def test_links_are_found_outside_of_code(self):
        self.assertEqual([target for _, target in links(self.TEXT)], ["a.md#b", "https://c/d", "g.svg"])

    def test_paths_are_found_but_for_those_with_a_placeholder(self):
        self.assertEqual(list(source_files(self.TEXT)), [(4, "x/y.rs")])

    def test_anchors_are_those_of_github(self):
        self.assertEqual(anchors(self.TEXT), {"a-title-with-code", "twice", "twice-1"})

    def test_broken_links_are_told(self):
        document = DOCS / "README.md"
        self.assertIsNone(broken_link(document, "https://example.org/x"))
        self.assertIsNone(broken_link(document, "architecture.md"))
        self.assertIsNotNone(broken_link(document, "missing.md"))
        self.assertIsNotNone(broken_link(document, "architecture.md#missing"))

    def test_lines_that_could_be_wrapped_are_told(self):
        long = "word " * 30
        text = f"{long}\n| {long} |\n- {long}\n{'x' * 130}\n```\n{long}\n```\n"
        generated = f"<!-- figures: written by a script -->\n{long}\n<!-- end of the figures -->\n{long}\n"
        self.assertEqual([number for number, _ in too_wide(text + generated)], [1, 3, 11])


if __name__ == "__main__":
    unittest.main()
