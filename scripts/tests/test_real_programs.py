"""Tests of how scripts/real-programs compares runs."""

import collections
import contextlib
import io
import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path

from endurance.stress.cli import FIGURES as STRESS
from real_programs import compare, figures, messages
from real_programs.hosted import build_war
from support import jdks, pages
from support.traces import TraceFolder, TraceReader


def result(stdout=b"a\nb\n", code=0, stderr=b"", **files):
    return compare.Run(code, stdout, stderr, files or {"x": "1"}, 0.1)


class Comparison(unittest.TestCase):
    def compare(self, other, noise=None):
        return compare.differences(result(), other, noise or compare.Noise())

    def test_equal(self):
        self.assertEqual(self.compare(result()), [])

    def test_each_difference_is_told(self):
        for other in (result(b"a\nc\n"), result(b"a\n"), result(code=1), result(x="2"), result(y="1")):
            self.assertEqual(len(self.compare(other)), 1)

    def test_what_differs_by_itself_is_passed_over_and_nothing_else(self):
        noise = compare.Noise.between(result(b"a\nb\n"), result(b"a\nd\n"))
        self.assertEqual(self.compare(result(b"a\nc\n"), noise), [])
        self.assertEqual(len(self.compare(result(b"e\nb\n"), noise)), 1)
        noise = compare.Noise.between(result(x="1", y="1"), result(x="2", y="1"))
        plain = result(x="1", y="1")
        self.assertEqual(compare.differences(plain, result(x="3", y="1"), noise), [])
        self.assertEqual(len(compare.differences(plain, result(x="3", y="2"), noise)), 1)

    def test_standard_error_is_compared_without_order_and_numbers(self):
        ids = [b"id 44eb729d-1ca4-4c78-96d0-8481af31da00-3", b"id a3f00c1e-0b7d-4e55-8c9a-ffdd0e0abc12-4"]
        plain = result(stderr=b"Nov 21, 2026 11:08:59 AM a.B c\nport 4711 of x@1f2e\n" + ids[0])
        same = result(stderr=ids[1] + b"\nport 812 of x@77\nMay 1, 2027 1:00:00 PM a.B c\n")
        other = result(stderr=b"Nov 21, 2026 11:08:59 AM a.B d\nport 4711 of x@1f2e\n" + ids[0])
        self.assertEqual(compare.differences(plain, same, compare.Noise()), [])
        self.assertEqual(len(compare.differences(plain, other, compare.Noise())), 2)
        self.assertEqual(compare.differences(plain, other, compare.Noise.between(plain, other)), [])

    def test_what_the_agent_says_of_the_format_is_no_difference(self):
        told = result(stderr=b"jtrail: mlpd: dropped: waits (3)\n"
                             b"jtrail: a.Lines.step(II)I has hooks for its calls alone: with hooks it would be over 8000 bytes, and the JVM"
                             b" compiles no such method; the trace names all such methods, -XX:-DontCompileHugeMethods has them traced\n")
        self.assertEqual(compare.differences(result(), told, compare.Noise()), [])
        failed = result(stderr=b"jtrail: cannot write x: full\n")
        self.assertEqual(len(compare.differences(result(), failed, compare.Noise())), 1)

    def test_a_log_may_lack_lines_but_has_no_new_warnings(self):
        def log(*lines):
            return result(stderr="".join(f"{line}\n" for line in lines).encode())
        started, failed, at = "1 INFO  started", "1 ERROR failed", "\tat a.b.C(D.java:1)"
        noise = compare.Noise.between(log(started, failed, at), log(failed, at, at), has_log=True)
        for lines, count in [([failed], 0), ([at, at, at, "2 INFO  stopped"], 0), ([failed, "1 WARN  slow"], 1), (["\tat a.b.C(Redefined)"], 1)]:
            self.assertEqual(len(compare.differences(log(started, failed, at), log(*lines), noise)), count, lines)

    def test_where_the_jvm_found_its_options_is_no_difference_and_that_it_did_is(self):
        plain = result(stderr=b"Picked up JAVA_TOOL_OPTIONS: -Xverify:all\n")
        traced = result(stderr=b"Picked up JAVA_TOOL_OPTIONS: -Xverify:all -agentpath:x=y\n")
        self.assertEqual(compare.differences(plain, traced, compare.Noise()), [])
        self.assertEqual(len(compare.differences(plain, result(), compare.Noise())), 1)

    def test_colours_are_no_difference(self):
        plain = result(stderr=b"\x1b[0m\x1b[33mbegun 1\x1b[0m\n\x1b[0m\n")
        self.assertEqual(compare.differences(plain, result(stderr=b"\x1b[0mbegun 2\n"), compare.Noise()), [])
        self.assertEqual(len(compare.differences(plain, result(stderr=b"\x1b[0mended 2\n"), compare.Noise())), 2)

    def test_times_in_files_are_passed_over(self):
        a = b"..timestamp\x0d1795259813376..x" + b"checksum"
        b = b"..timestamp\x0d1795259999999..x" + b"CHECKSUM"
        self.assertEqual(compare.scrub("_3.si", a), compare.scrub("_3.si", b))
        self.assertNotEqual(compare.scrub("_3.si", a), compare.scrub("_3.si", b.replace(b"..x", b"..y")))
        self.assertEqual(compare.scrub("_3.si", a), compare.scrub("_3.si", b"..x" + b[:-11] + b"CHECKSUM"))
        self.assertEqual(compare.scrub("_3.fnm", a), a)


class Sources(unittest.TestCase):
    def test_a_dangling_link_is_no_source_and_a_neighbour_of_the_same_release_serves(self):
        with tempfile.TemporaryDirectory() as folder:
            homes = [Path(folder) / name for name in ("a", "b", "c")]
            for home, feature in zip(homes, (17, 21, 17)):
                (home / "lib").mkdir(parents=True)
                (home / "release").write_text(f'JAVA_VERSION="{feature}.0.1"\n')
            (homes[0] / "lib/src.zip").symlink_to("nowhere")
            jdk = collections.namedtuple("Jdk", "home feature")(homes[0], 17)
            (homes[1] / "lib/src.zip").touch()
            self.assertIsNone(jdks.source(jdk))
            (homes[2] / "lib/src.zip").touch()
            self.assertEqual(jdks.source(jdk), homes[2] / "lib/src.zip")


class Messages(unittest.TestCase):
    ROWS = [{"format": "binary", "kinds": {kind: 2 for kind in messages.MESSAGES.values() if not kind.startswith("Agg")}},
            {"format": "binary-sums", "kinds": {"AggregatedEnter": 1, "AggregatedLeave": 1, "Node": 1}}]

    def wrong(self, rows):
        with contextlib.redirect_stdout(io.StringIO()):
            return messages.report(rows)

    def test_runs_of_a_spelling_have_all_thirty_together(self):
        self.assertEqual(len(messages.MESSAGES), 30)
        self.assertEqual(messages.count(self.ROWS)["binary"]["Node"], 3)
        self.assertEqual(self.wrong(self.ROWS), [])

    def test_what_is_in_none_of_them_is_told(self):
        self.assertEqual(self.wrong(self.ROWS[:1]), ["no AggregatedEnter, AggregatedLeave in binary"])
        self.assertEqual(len(self.wrong([*self.ROWS, {"format": "xml", "kinds": {"Node": 1}}])), 1)
        self.assertEqual(self.wrong([{"format": "trail", "kinds": {"Node": 1}}]), ["no run in TPTP's formats"])


class Folder(unittest.TestCase):
    """The traces of several JVMs."""

    def read(self, verdicts, names=("1.trace", "2.trace"), code=0):
        with tempfile.TemporaryDirectory() as folder:
            verifier = Path(folder) / "jtrail"
            verifier.write_text(f"#!/bin/sh\necho $@ >{folder}/words\nprintf %s '{json.dumps(verdicts)}'\nexit {code}\n")
            verifier.chmod(0o755)
            traces = TraceFolder(Path(folder) / "traces", verifier)
            self.assertEqual(traces.path.name, "%p.trace")
            for name in names:
                (traces.folder / name).write_bytes(b"12345")
            traces.finish()
            self.assertFalse(traces.folder.exists())
            if names:
                words = (Path(folder) / "words").read_text().split()
                self.assertEqual([Path(word).name for word in words], ["verify", "--json", *names])
            return traces

    def test_their_figures_are_added_up(self):
        found = self.read([Reader.VERDICT, Reader.VERDICT])
        self.assertEqual((found.code, found.count, found.bytes, found.events, found.without_totals), (0, 2, 10, 2470, 0))
        self.assertEqual(found.totals, {"enters": 24, "uninstrumented": 4})
        self.assertEqual(found.kinds["GcStart"], 2468)

    def test_one_that_is_not_sound_or_has_no_totals_is_seen(self):
        found = self.read([Reader.VERDICT, Reader.VERDICT | {"totals": None}], code=1)
        self.assertEqual((found.code, found.without_totals), (1, 1))

    def test_none_at_all_is_no_success(self):
        found = self.read([], names=())
        self.assertEqual((found.code, found.count, found.totals), (None, 0, {}))


class Web(unittest.TestCase):
    def test_an_application_is_packed_with_its_files(self):
        with tempfile.TemporaryDirectory() as folder:
            classes = Path(folder) / "classes"
            (classes / "a").mkdir(parents=True)
            (classes / "a/B.class").write_bytes(b"x")
            war = build_war(classes, {"index.html": "y"}, Path(folder) / "web.war")
            with zipfile.ZipFile(war) as archive:
                self.assertEqual(sorted(archive.namelist()), ["WEB-INF/classes/a/B.class", "index.html"])


class Page(unittest.TestCase):
    def test_figures_take_the_place_of_the_old_ones(self):
        row = {"program": "x", "jdk": 17, "include": "a.*+b.*", "wrong": [], "methods": 12345,
               "reasons": collections.Counter({"native": 2, "too long": 1})}
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            begin, end = figures.FIGURES
            page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
            figures.write(page, [row], [])
            text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertNotIn("old", text)
        for part in ("| x | 17 | `a.*` `b.*` |", "12,345", "2&nbsp;(1) 1&nbsp;(2)", "1. native", "2. too long"):
            self.assertIn(part, text)

    def test_runs_with_all_events_have_a_table_of_their_own(self):
        row = {"program": "x", "jdk": 25, "wrong": [], "events": 12345, "megabytes": 300, "reasons": collections.Counter()}
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text("".join(f"{begin}\nold\n{end}\n" for begin, end in (figures.FIGURES, figures.ALL_EVENTS)))
            figures.write_all_events(page, [row], [])
            text = page.read_text()
        self.assertIn(f"{figures.FIGURES[0]}\nold\n{figures.FIGURES[1]}\n", text)
        self.assertIn("| x | 25 | - | 12,345 | 300 | - | - | the same |\n", text)

    def test_new_rows_take_the_place_of_the_old_ones_and_others_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            begin, end = STRESS
            page.write_text(f"{begin}\n{end}\n")
            for rows in ([["25", "G1", "600"], ["11", "G1", "600"]], [["25", "ZGC", "20"]], [["25", "G1", "30"]]):
                pages.merge(page, STRESS, ["JDK", "Collector", "Time, s"], rows)
            text = page.read_text()
        self.assertEqual(text, f"{begin}\n\n| JDK | Collector | Time, s |\n|---:|---|---:|\n"
                               f"| 11 | G1 | 600 |\n| 25 | G1 | 30 |\n| 25 | ZGC | 20 |\n\n{end}\n")


class Reader(unittest.TestCase):
    VERDICT = {"verdict": "sound", "events": 1235, "kinds": {"GcStart": 1234, "Node": 1},
               "totals": {"enters": 12, "uninstrumented": 2}, "uninstrumented": {"code would pass 65535 bytes": 2}}

    def read(self, verdict, *chunks):
        """Writes the chunks into the pipe one by one. The verifier returns the verdict when it has
        them all."""
        with tempfile.TemporaryDirectory() as folder:
            verifier = Path(folder) / "jtrail"
            verifier.write_text(f"#!/bin/sh\ncat >{folder}/read\nprintf %s '{json.dumps([verdict])}'\n")
            verifier.chmod(0o755)
            reader = TraceReader(Path(folder) / "pipe", verifier)
            with open(reader.path, "wb", buffering=0) as pipe:
                for chunk in chunks:
                    pipe.write(chunk)
            reader.finish()
            self.assertEqual((Path(folder) / "read").read_bytes(), b"".join(chunks))
            self.assertEqual(reader.bytes, sum(map(len, chunks)))
            return reader

    def test_the_verdict_is_taken(self):
        reader = self.read(self.VERDICT, b"x" * 9000, b"y" * 70000, b"z")
        self.assertEqual((reader.code, reader.events), (0, 1235))
        self.assertEqual(reader.totals, {"enters": 12, "uninstrumented": 2})
        self.assertEqual(dict(reader.reasons), {"code would pass 65535 bytes": 2})
        self.assertEqual(reader.kinds, {"GcStart": 1234, "Node": 1})

    def test_a_trace_need_not_have_totals(self):
        self.assertEqual(self.read(self.VERDICT | {"totals": None}, b"x").totals, {})

    def test_a_trace_that_never_comes_does_not_hang(self):
        with tempfile.TemporaryDirectory() as folder:
            verifier = Path(folder) / "jtrail"
            verifier.write_text("#!/bin/sh\ncat >/dev/null\nexit 2\n")
            os.chmod(verifier, 0o755)
            reader = TraceReader(Path(folder) / "pipe", verifier).finish()
            self.assertEqual((reader.code, reader.totals, reader.bytes), (2, {}, 0))


if __name__ == "__main__":
    unittest.main()
