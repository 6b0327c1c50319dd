"""Tests of scripts/comments."""

import pathlib
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

PATH = str(pathlib.Path(__file__).resolve().parents[1] / "comments")
LOADER = SourceFileLoader("comments", PATH)
comments = module_from_spec(spec_from_loader("comments", LOADER))
LOADER.exec_module(comments)


def wrap(text, ending=".rs"):
    lines = [comments.Line(whole, comments.MARKS[ending]) for whole in text.split("\n")]
    new = []
    for paragraph in comments.paragraphs(lines):
        is_to_wrap = paragraph[0].is_text and any(line.is_too_wide() for line in paragraph)
        new += comments.wrapped(paragraph) if is_to_wrap else [line.whole for line in paragraph]
    return new


class Wrapping(unittest.TestCase):
    def test_a_paragraph_is_filled_with_its_mark_and_indentation(self):
        new = wrap("    /// " + "word " * 30 + "\n    /// more\n    fn code() {}")
        self.assertEqual(len(new), 3)
        self.assertTrue(all(line.startswith("    /// word") for line in new[:2]))
        self.assertTrue(new[1].endswith("more"))
        self.assertTrue(all(len(line) <= 100 for line in new))
        self.assertEqual(new[2], "    fn code() {}")

    def test_items_hang_and_stay_apart(self):
        new = wrap("//! - " + "one " * 30 + "\n//! - two")
        self.assertEqual([line[:8] for line in new], ["//! - on", "//!   on", "//! - tw"])

    def test_code_tables_and_narrow_paragraphs_stay(self):
        wide = "word " * 30
        for text in (f"/// ```\n/// {wide}\n/// ```", f"/// | {wide} |", "/// narrow\n/// still", f"let x = {wide};",
                     "/// " + "x" * 120):
            self.assertEqual(wrap(text), text.split("\n"))

    def test_no_line_begins_with_what_would_be_markup(self):
        for mark in ("-", "#", "12."):
            for width in range(80, 100):
                words = ("x" * 9 + " ") * (width // 10) + "y" * (width % 10)
                new = wrap(f"/// {words} {mark} behind it and more words until it is too wide for a line")
                self.assertTrue(all(not line[4:].startswith(mark) for line in new), new)

    def test_other_languages(self):
        wide = "word " * 30
        for ending, start in ((".py", "# "), ("", "    # ")):
            self.assertEqual({line[:len(start)] for line in wrap(start + wide, ending)}, {start})


if __name__ == "__main__":
    unittest.main()
