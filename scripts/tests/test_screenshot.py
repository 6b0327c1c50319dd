"""Tests of scripts/screenshot."""

import pathlib
import re
import unittest
import xml.etree.ElementTree as ElementTree
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

PATH = str(pathlib.Path(__file__).resolve().parent.parent / "screenshot")
LOADER = SourceFileLoader("screenshot", PATH)
screenshot = module_from_spec(spec_from_loader("screenshot", LOADER))
LOADER.exec_module(screenshot)

TEXT = "{http://www.w3.org/2000/svg}text"


def pieces(picture):
    """The texts of a picture, each with its row and column, and whether it belongs to a command."""
    found = []
    for text in ElementTree.fromstring(picture).iter(TEXT):
        column = (float(text.get("x")) - screenshot.MARGIN) / screenshot.CELL
        row = (int(text.get("y")) - screenshot.MARGIN - screenshot.FONT) / screenshot.ROW
        found.append((round(row), round(column, 1), text.text, text.get("class") == "command"))
    return found


class Drawing(unittest.TestCase):
    def test_text_is_escaped(self):
        picture = screenshot.svg([("a <b> && c", "Map<K, V> & co")])
        self.assertIn("Map&lt;K, V&gt; &amp; co", picture)
        self.assertEqual([piece[2] for piece in pieces(picture)], ["$ a <b> && c", "Map<K, V> & co"])
        self.assertEqual(ElementTree.fromstring(picture)[0].text, "a <b> && c")

    def test_each_piece_keeps_its_row_and_column(self):
        picture = screenshot.svg([("one", "  calls   self\n\n     12  3.4 µs\n"), ("two", "x")])
        self.assertEqual(pieces(picture), [
            (0, 0, "$ one", True),
            (1, 2, "calls", False), (1, 10, "self", False),
            (3, 5, "12", False), (3, 9, "3.4 µs", False),
            (4, 0, "$ two", True),
            (5, 0, "x", False),
        ])

    def test_a_piece_is_as_long_as_its_columns(self):
        text = next(iter(ElementTree.fromstring(screenshot.svg([("x", "")])).iter(TEXT)))
        self.assertAlmostEqual(float(text.get("textLength")), 3 * screenshot.CELL)

    def test_what_would_be_cut_or_garbled_is_refused(self):
        screenshot.svg([("x", "y" * screenshot.COLUMNS)])
        for output in ("y" * (screenshot.COLUMNS + 1), "\x1b[1mbold", "a\rb"):
            with self.assertRaises(ValueError):
                screenshot.svg([("x", output)])


class Terminal(unittest.TestCase):
    def test_commands_run_in_a_terminal_of_that_width(self):
        printed = screenshot.in_terminal("test -t 1 && test -t 2 && stty size && echo done >&2", "/", None)
        self.assertEqual(printed, f"50 {screenshot.COLUMNS}\ndone\n")

    def test_a_progress_bar_is_gone_at_the_end(self):
        printed = screenshot.in_terminal(r"printf 'one\n50%%\r\033[2K100%%\r\033[2Ktwo\n'", "/", None)
        self.assertEqual(printed, "one\ntwo\n")

    def test_a_command_that_fails_makes_no_picture(self):
        with self.assertRaisesRegex(SystemExit, "exit code 3\nwhy"):
            screenshot.in_terminal("echo why; exit 3", "/", None)


class Readme(unittest.TestCase):
    def test_its_picture_is_the_one_that_is_made_here(self):
        readme = (screenshot.ROOT / "README.md").read_text()
        named = [screenshot.ROOT / path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", readme)]
        self.assertEqual(named, [screenshot.PICTURE])
        commands = [text for _, _, text, is_command in pieces(screenshot.PICTURE.read_text()) if is_command]
        self.assertEqual(commands, [f"$ {command}" for command in screenshot.COMMANDS])


if __name__ == "__main__":
    unittest.main()
