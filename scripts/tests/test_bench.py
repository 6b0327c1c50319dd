"""Tests of the sections of scripts/bench, and of the programs and examples that they name."""

import re
import unittest

from bench import cli, distortion, jvm
from bench.comparing import works
from bench.session import JAVA
from support.paths import ROOT


class Sections(unittest.TestCase):
    def test_each_name_of_only_has_a_module(self):
        self.assertEqual(len(cli.SECTIONS), 17)
        for section in cli.SECTIONS:
            with self.subTest(section):
                module = cli.module(section)
                self.assertTrue(callable(module.measure))
                self.assertTrue(module.__doc__.splitlines()[0].endswith("."), "the help prints the first line")

    def test_each_program_is_there(self):
        for section in cli.SECTIONS:
            for name in cli.module(section).JAVA or ():
                with self.subTest(section, name=name):
                    self.assertTrue((JAVA / name).is_file())

    def test_each_program_is_used(self):
        named = {name for section in cli.SECTIONS for name in cli.module(section).JAVA or ()}
        there = {path.name for path in JAVA.iterdir() if path.is_file()}
        self.assertEqual(there - named, {"BenchWork.java"})

    def test_each_example_is_there(self):
        folders = {"agent": ROOT / "agent"}
        for section in cli.SECTIONS:
            for crate, example in cli.module(section).EXAMPLES:
                with self.subTest(section, example=example):
                    folder = folders.get(crate, ROOT / "crates" / crate)
                    self.assertTrue((folder / "examples" / f"{example}.rs").is_file())

    def test_the_help_has_all_sections(self):
        for section in cli.SECTIONS:
            self.assertRegex(cli.description(), rf"(?m)^  {section} +\S")


class Programs(unittest.TestCase):
    """What Python knows of the Java programs."""

    def test_methods_of_the_class_that_is_loaded(self):
        source = (JAVA / "BenchLoaded00000.java").read_text()
        self.assertEqual(re.findall(r"static int (\w+)\(", source), [f"method{number}" for number in range(jvm.METHODS)])
        self.assertEqual(re.findall(r"(\w+)\(x\)", source), [f"method{number}" for number in range(jvm.METHODS)])

    def test_methods_that_spin(self):
        source = (JAVA / "BenchSpins.java").read_text()
        self.assertEqual(re.findall(r"static void loop_(\w+)\(", source), list(distortion.SPINS))
        self.assertEqual(re.findall(r"static void ((?:ns|us|ms)\d+)\(", source), list(distortion.SPINS))

    def test_works(self):
        source = (JAVA / "BenchWork.java").read_text()
        for work in works.WORKS.values():
            if not (work.is_server or work.is_single):
                self.assertIn(f'case "{work.name}":', source)
            for name in work.classes:
                if name.startswith("Work"):
                    self.assertRegex(source, rf"class {name.rpartition('$')[2]}\b")


if __name__ == "__main__":
    unittest.main()
