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
        for ending, start in ((".py", "# "), ("", "    # "), (".java", "    // ")):
            self.assertEqual({line[:len(start)] for line in wrap(start + wide, ending)}, {start})

    def test_java_comments_of_several_lines(self):
        new = wrap("    /**\n     * " + "word " * 30 + "\n     * more\n     */\n    int code;", ".java")
        self.assertEqual([new[0], *new[3:]], ["    /**", "     */", "    int code;"])
        self.assertTrue(all(line.startswith("     * word") and len(line) <= 100 for line in new[1:3]), new)
        self.assertTrue(new[2].endswith("more"))

    def test_a_java_comment_of_one_line_gets_lines_of_its_own(self):
        for mark in ("/**", "/*"):
            new = wrap(f"  {mark} {'word ' * 30}*/\n  {mark} narrow */", ".java")
            self.assertEqual([new[0], *new[3:]], [f"  {mark}", "   */", f"  {mark} narrow */"])
            self.assertTrue(all(line.startswith("   * word") and len(line) <= 100 for line in new[1:3]), new)

    def test_tags_and_paragraphs_of_java_stay_apart(self):
        wide = "word " * 30
        new = wrap(f" * {wide}\n * <p>{wide}\n * @param a {wide}\n * @param b {wide}\n */", ".java")
        self.assertEqual([line[3:].split("word")[0] for line in new], ["", "", "<p>", "", "@param a ", "", "@param b ", "", ""])

    def test_no_line_begins_with_what_would_be_a_tag(self):
        for width in range(80, 100):
            words = ("x" * 9 + " ") * (width // 10) + "y" * (width % 10)
            new = wrap(f" * {words} @Gated behind it and more words until it is too wide for a line", ".java")
            self.assertTrue(all(not line.startswith(" * @") for line in new), new)


if __name__ == "__main__":
    unittest.main()
