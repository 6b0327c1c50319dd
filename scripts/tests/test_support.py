"""Tests of what the scripts share."""

import os
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from support import arguments, downloads, jdks, processes
from support.errors import Unavailable
from support.java import expand, harness_beside, harness_class_path, write_agent_jar
from support.servers import Answers
from support.tables import aligned, scaled


def make_jdk(home, feature, *tools, modules="java.base"):
    """Lays out what looks like a JDK."""
    (home / "bin").mkdir(parents=True)
    for tool in ("java", *tools):
        (home / "bin" / tool).write_text("#!/bin/sh\n")
    (home / "release").write_text(f'JAVA_VERSION="{feature}.0.1"\nJAVA_RUNTIME_VERSION="{feature}.0.1+2"\nMODULES="{modules}"\n')
    return home


class Templates(unittest.TestCase):
    def test_a_loop_is_repeated_for_each_number(self):
        self.assertEqual(expand("a\n  // for N in 3..5\n  x = N;\n  // end\nb\n"), "a\n  x = 3;\n  x = 4;\n  x = 5;\nb\n")

    def test_the_variable_is_a_word_or_the_end_of_one(self):
        text = expand("// for N in 7..7\nN methodN (N) AN NAME N_A TURN\n// end\n")
        self.assertEqual(text, "7 method7 (7) AN NAME N_A TURN\n")

    def test_loops_are_nested(self):
        text = expand("// for C in 0..1\nclass aC\n// for M in 1..2\nmM aC\n// end\n// end\n")
        self.assertEqual(text.split(), "class a0 m1 a0 m2 a0 class a1 m1 a1 m2 a1".split())

    def test_a_loop_has_one_end(self):
        with self.assertRaisesRegex(ValueError, "no // end"):
            expand("// for N in 0..1\nN\n")
        with self.assertRaisesRegex(ValueError, "line 2: // end without a loop"):
            expand("a\n// end\n")


class Jdks(unittest.TestCase):
    def test_what_a_release_file_says(self):
        with tempfile.TemporaryDirectory() as folder:
            jdk = jdks.Jdk(make_jdk(Path(folder) / "a", 17, "jfr", modules="java.base jdk.compiler"))
        self.assertEqual((jdk.feature, jdk.version), (17, "17.0.1+2"))
        self.assertEqual(jdk.modules, ["java.base", "jdk.compiler"])
        self.assertEqual(jdk.lacks(21), "needs Java 21")
        self.assertEqual(jdk.lacks(11, newest=16), "does not run on Java after 16")
        self.assertIsNone(jdk.lacks(11, compiler=True))

    def test_what_is_no_jdk_is_named(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Unavailable, "no bin/java"):
            jdks.Jdk(folder)

    def test_the_newest_with_a_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            homes = [make_jdk(Path(folder) / "17", 17, "javac"), make_jdk(Path(folder) / "21", 21, "javac"),
                     make_jdk(Path(folder) / "25", 25)]
            found = [jdks.Jdk(home) for home in homes]
            self.assertEqual(jdks.with_tool(found, "javac").feature, 21)
            self.assertIsNone(jdks.with_tool(found, "jimage"))
            self.assertEqual(found[2].tool("java"), (homes[2] / "bin/java").resolve())
            self.assertIsNone(found[2].tool("javac"))

    def test_those_of_variables_are_found_once_and_the_oldest_first(self):
        with tempfile.TemporaryDirectory() as folder:
            homes = {name: str(make_jdk(Path(folder) / name, feature)) for name, feature in (("a", 997), ("b", 996))}
            variables = {"JAVA_HOME": homes["a"], "JAVA_HOME_A": homes["a"], "JAVA_HOME_B": homes["b"]}
            with mock.patch.dict(os.environ, variables):
                found = [jdk.feature for jdk in jdks.installed()]
        self.assertEqual(found[-2:], [996, 997])
        self.assertEqual(found, sorted(found))

    def test_jcmd_may_be_another_jdks(self):
        with tempfile.TemporaryDirectory() as folder:
            own = jdks.Jdk(make_jdk(Path(folder) / "a", 17, "jcmd"))
            other = jdks.Jdk(make_jdk(Path(folder) / "b", 21))
            with mock.patch.dict(os.environ, {"JAVA_HOME": str(own.home)}):
                self.assertEqual(jdks.jcmd(other), own.home / "bin/jcmd")


class Java(unittest.TestCase):
    def test_the_class_path_has_what_the_jvm_can_run_the_newest_first(self):
        with tempfile.TemporaryDirectory() as folder:
            for release in (11, 17, 21):
                Path(folder, str(release)).mkdir()
            found = {feature: harness_class_path(SimpleNamespace(feature=feature), Path(folder)) for feature in (11, 20, 25)}
        paths = {feature: [Path(path).name for path in text.split(os.pathsep)] for feature, text in found.items()}
        self.assertEqual(paths, {11: ["11"], 20: ["17", "11"], 25: ["21", "17", "11"]})

    def test_test_programs_that_were_not_built_are_named(self):
        with self.assertRaisesRegex(Unavailable, "/nowhere/harness not found"):
            harness_class_path(SimpleNamespace(feature=11), Path("/nowhere/harness"))

    def test_test_programs_are_beside_the_agent_or_a_folder_above(self):
        with tempfile.TemporaryDirectory() as folder:
            harness = Path(folder, "harness")
            harness.mkdir()
            self.assertEqual(harness_beside(Path(folder, "libjtrail.so")), harness)
            self.assertEqual(harness_beside(Path(folder, "examples/libjtrail.so")), harness)

    def test_a_jar_names_its_agent(self):
        with tempfile.TemporaryDirectory() as folder:
            write_agent_jar(Path(folder, "a.jar"), Premain_Class="a.B", Can_Retransform_Classes="true")
            with zipfile.ZipFile(Path(folder, "a.jar")) as jar:
                text = jar.read("META-INF/MANIFEST.MF").decode()
        self.assertEqual(text, "Premain-Class: a.B\nCan-Retransform-Classes: true\n")


class Processes(unittest.TestCase):
    def test_what_adds_options_to_jvms_is_left_out(self):
        with mock.patch.dict(os.environ, {"JAVA_TOOL_OPTIONS": "-Dx", "CLASSPATH": "y", "OTHER": "z"}):
            found = processes.environment(MORE="1")
            self.assertEqual(processes.environment(CLASSPATH="own")["CLASSPATH"], "own")
        self.assertEqual({name for name in ("JAVA_TOOL_OPTIONS", "CLASSPATH", "OTHER", "MORE") if name in found},
                         {"OTHER", "MORE"})

    def test_a_command_that_fails_ends_the_script_with_its_output(self):
        with self.assertRaisesRegex(SystemExit, "(?s)sh -c .*exit 3.*out.*err"):
            processes.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual(processes.run(["echo", 5]), "5\n")

    def test_memory_and_cpu(self):
        self.assertGreater(processes.resident_bytes(os.getpid()), 1_000_000)
        before = processes.cpu_of_children()
        processes.run([sys.executable, "-c", "sum(range(10_000_000))"])
        self.assertGreater(processes.cpu_of_children(), before)

    def test_a_conversation(self):
        program = "print('noise'); print('[ready]')\nfor line in iter(input, 'x'): print('?'); print('[done] ' + line)"
        talk = processes.Conversation("test", [sys.executable, "-uc", program])
        self.assertEqual(talk.wait_for("[ready]"), "[ready]")
        self.assertEqual(talk.ask("5", "[done]"), "[done] 5")
        talk.send("x")
        self.assertEqual(talk.finish(), ("", 0))

    def test_a_program_that_ends_too_early_is_named(self):
        talk = processes.Conversation("test", ["echo", "one"])
        with self.assertRaisesRegex(SystemExit, r"test: the program ended before it printed \[ready\]"):
            talk.wait_for("[ready]")
        talk.finish()

    def test_answers_of_a_server(self):
        self.assertIsNone(Answers.parse("[ready]\n"))
        self.assertIsNone(Answers.parse("[done] right=5 wrong=0 failed=0 micros=7\n").problem)
        self.assertEqual(Answers.parse("[done] right=5 wrong=1 failed=2 micros=7\n").problem,
                         "5 answers were right, 1 wrong, 2 missing")
        self.assertIsNotNone(Answers.parse("[done] right=0 wrong=0 failed=0 micros=7\n").problem)


class Arguments(unittest.TestCase):
    def test_a_build_that_is_not_there_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            there, missing = Path(folder, "a"), Path(folder, "b")
            there.touch()
            with self.assertRaisesRegex(Unavailable, "b not found: run cargo build --release, or pass --jtrail"):
                arguments.check_build(SimpleNamespace(agent=there, jtrail=missing))
            arguments.check_build(SimpleNamespace(agent=there, jtrail=there))


class Downloads(unittest.TestCase):
    def test_what_is_there_is_not_fetched_again(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(downloads, "require") as require:
            for _ in range(2):
                library = downloads.fetch(Path(folder), ["a:b:1", "c:d:2:x:zip"])
            self.assertEqual(require.call_count, 1)
            self.assertTrue(library.is_relative_to(folder))
            pom = Path(folder, "pom.xml").read_text()
            self.assertIn("<groupId>a</groupId><artifactId>b</artifactId><version>1</version></dependency>", pom)
            self.assertIn("<classifier>x</classifier><type>zip</type><exclusions>", pom)
            downloads.fetch(Path(folder), ["a:b:2"])
            self.assertEqual(require.call_count, 2)

    def test_one_jar_comes_without_its_dependencies(self):
        with tempfile.TemporaryDirectory() as folder:
            def bring(command, problem):
                library = Path(command[-1].partition("=")[2])
                library.mkdir()
                (library / "b-1-x.jar").touch()
                self.assertIn("<classifier>x</classifier><type>jar</type><exclusions>",
                              (Path(folder) / "b" / "pom.xml").read_text())

            with mock.patch.object(downloads, "require", bring):
                self.assertEqual(downloads.fetch_jar(Path(folder), "a:b:1:x").name, "b-1-x.jar")

    def test_only_wanted_entries_are_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "a.zip")
            with zipfile.ZipFile(archive, "w") as file:
                file.writestr("x/A.java", "1")
                file.writestr("x/B.txt", "2")
            found = downloads.unzip(archive, Path(folder, "out"), lambda name: name.endswith(".java"))
            self.assertEqual([path.name for path in found.rglob("*.*")], ["A.java"])


class Tables(unittest.TestCase):
    def test_columns_are_under_each_other(self):
        rows = [["a", "1", "x"], ["bcd", "100", ""]]
        self.assertEqual(aligned(rows), ["a    1    x", "bcd  100"])
        self.assertEqual(aligned(rows, right=[1]), ["a      1  x", "bcd  100"])

    def test_numbers_in_four_digits(self):
        self.assertEqual([scaled(number) for number in (9999, 10_000, 12_345_678, 5e14)], ["9999", "10k", "12M", "500000G"])


if __name__ == "__main__":
    unittest.main()
