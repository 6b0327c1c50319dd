"""Tests of how scripts/bench compares works under tracers."""

import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from bench.comparing import comparison, others, results, tables, tracers, works
from bench.comparing.figures import COUNT, calls_made, figures
from bench.comparing.process import Process, ending
from bench.comparing.tables import duration, ratio
from bench.comparing.works import WORKS
from support.errors import Unavailable, complaint
from support.processes import require

MACHINE = {"machine": "2 cores", "jtrail": "abc", "JDK": {"25": "25.0.3+9"}}


def made(work, tracer, batches, jdk=25, **more):
    return {"work": work, "jdk": jdk, "tracer": tracer, "batches": batches, "answers": 0, "seconds": 1, "peak_mb": 40, "made": None} | more


FIB = [made("fib", "bare", [900, 100, 120], made=300), made("fib", "bare", [800, 110, 100], made=300),
       made("fib", "jtrail", [2000, 2100, 2200], made=300, calls=300, bytes=600, lost=0, report=0.5, peak_mb=60),
       made("fib", "Kieker", [9000, 8000], made=200, calls=150, bytes=8400)]
# A first batch makes 7 calls, and each later one 5.
JAVAC = [made("javac", "bare", [1000, 100, 100]), made("javac", "jtrail", [3000, 600, 650], calls=17, bytes=34, lost=0),
         made("javac", COUNT, [3100], calls=7), made("javac", "VisualVM, instrumenting", [4000, 900], jdk=25, calls=6)]


class Figures(unittest.TestCase):
    def test_the_least_and_the_median_of_all_runs(self):
        found = figures(FIB, WORKS["fib"], 25, "bare", 20)
        self.assertEqual((found["first"], found["later"], found["median"]), (800, 100, 107.5))
        self.assertNotIn("slowdown", found)

    def test_what_a_call_costs(self):
        found = figures(FIB, WORKS["fib"], 25, "jtrail", 10)
        self.assertEqual((found["slowdown"], found["slowdown_first"]), (21, 2.5))
        self.assertEqual(found["pair"], 20)  # 2,000 ns more for 100 calls
        self.assertEqual(found["floors"], 2)
        self.assertEqual((found["lost"], found["share"], found["peak"], found["report"]), (0, 1, 60, 0.5))

    def test_bytes_are_of_enters_and_leaves_of_many_calls(self):
        self.assertNotIn("bytes", figures(FIB, WORKS["fib"], 25, "jtrail", 10))
        many = [made("fib", "jtrail", [2, 2], made=2000, calls=2000, bytes=8000)]
        self.assertEqual(figures(many, WORKS["fib"], 25, "jtrail", None)["bytes"], 2)

    def test_calls_that_are_not_there_are_lost(self):
        found = figures(FIB, WORKS["fib"], 25, "Kieker", 10)
        self.assertEqual((found["calls"], found["lost"], found["share"]), (150, 50, 0.75))

    def test_work_that_does_not_know_its_calls_has_them_counted(self):
        self.assertEqual(calls_made(JAVAC, WORKS["javac"], 25), (7, 5))
        found = figures(JAVAC, WORKS["javac"], 25, "VisualVM, instrumenting", None)
        self.assertEqual(found["share"], 0.5)  # of 12
        self.assertNotIn("lost", {name for name in found if name == "lost"})
        self.assertEqual(found["pair"], 160)

    def test_a_server_has_calls_for_each_answer_and_keeps_all_processors_busy(self):
        runs = [made("server", "bare", [90, 50]), made("server", "jtrail", [300, 250], answers=10, calls=1000, lost=0)]
        self.assertEqual(calls_made(runs, WORKS["server"], 25), (100, 100))
        found = figures(runs, WORKS["server"], 25, "jtrail", None)
        self.assertEqual(found["pair"], 4)
        self.assertNotIn("share", found)

    def test_a_run_that_is_one_batch_has_no_first_one(self):
        runs = [made("start", "bare", [50], made=1), made("start", "bare", [40], made=1), made("start", "jtrail", [60], made=1, calls=1, bytes=2000)]
        found = figures(runs, WORKS["start"], 25, "jtrail", 10)
        self.assertEqual(found["slowdown"], 1.5)
        for name in ("first", "pair", "bytes"):
            self.assertNotIn(name, found)

    def test_a_reason_stands_where_there_are_no_figures(self):
        failed = {"work": "fib", "jdk": 25, "tracer": "BTrace", "failed": "takes more than 120 s"}
        self.assertEqual(figures([*FIB, failed], WORKS["fib"], 25, "BTrace", 10), {"failed": "takes more than 120 s"})
        self.assertIsNone(figures(FIB, WORKS["fib"], 25, "BTrace", 10))


class Tables(unittest.TestCase):
    RUNS = [*FIB, {"work": "fib", "jdk": 25, "tracer": "BTrace", "failed": "needs Java 17"}]

    def test_texts(self):
        self.assertEqual([duration(ns) for ns in (5, 1500, 2_500_000, 3e9, 1234e9)], ["5 ns", "1.5 µs", "2.5 ms", "3 s", "1,234 s"])
        self.assertEqual([ratio(value) for value in (1.234, 12.3, 1234)], ["1.23", "12", "1,234"])
        self.assertEqual([tables.count(calls) for calls in (0, 99_999, 211_474_650, 3e9)], ["0", "99,999", "211 M", "3 G"])

    def test_a_report_that_was_ended(self):
        runs = [made("fib", "jtrail", [2, 2], made=5, calls=5, report=120, is_late=True)]
        self.assertEqual(tables.cells(figures(runs, WORKS["fib"], 25, "jtrail", None))[-1], "> 120 s")

    def test_columns_are_under_each_other(self):
        lines = tables.text(self.RUNS, 10)
        self.assertEqual(lines[1], "Recursive fib, JDK 25 (a batch: fib(32), 100 calls)")
        self.assertTrue(lines[2].endswith("Report"))
        self.assertEqual(len(lines[2]), len(lines[4]))
        self.assertEqual(lines[-1], "BTrace  needs Java 17")
        self.assertIn("150 (75.0%)", lines[5])

    def test_a_page_has_reasons_below_the_table(self):
        lines = tables.markdown(self.RUNS, 10, MACHINE)
        self.assertEqual(lines[0], "Machine: 2 cores. jtrail: abc. JDK: 25.0.3+9. Floor: 10.0 ns for two time stamps and two stores.")
        self.assertEqual(lines[-1], "- BTrace: needs Java 17")
        table = [line for line in lines if line.startswith("|")]
        self.assertEqual({line.count("|") for line in table}, {len(tables.COLUMNS) + 2})

    def test_json_has_everything_with_units(self):
        found = json.loads(json.dumps(results.document(self.RUNS, [11, 10], MACHINE)))
        self.assertEqual(found["runs"], self.RUNS)
        cells = {cell["tracer"]: cell["figures"] for cell in found["cells"]}
        self.assertEqual(cells["jtrail"]["floors"], 2)
        self.assertEqual(cells["BTrace"], {"failed": "needs Java 17"})
        for name in cells["jtrail"]:
            self.assertIn(name, found["units"])

    def test_runs_are_added_to_those_of_the_same_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.json"
            self.assertEqual(results.load(path, MACHINE), ([], []))
            path.write_text(json.dumps(results.document(FIB, [10], MACHINE)))
            self.assertEqual(results.load(path, MACHINE), (FIB, [10]))
            with self.assertRaisesRegex(SystemExit, "measured elsewhere.*pass another name to --json"):
                results.load(path, MACHINE | {"jtrail": "other"})
            with self.assertRaisesRegex(SystemExit, "measured elsewhere"):
                results.load(path, MACHINE | {"JDK": {"25": "25.0.4"}})
            both = MACHINE | {"JDK": {"17": "17.0.15"}}
            results.load(path, both)
            self.assertEqual(both["JDK"], {"17": "17.0.15", "25": "25.0.3+9"})
            path.write_text("[]")
            with self.assertRaisesRegex(SystemExit, "not a file of scripts/bench"):
                results.load(path, MACHINE)


class Running(unittest.TestCase):
    def test_a_process_tells_what_it_says_and_its_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            text, seconds, peak = Process(["echo", "batch=5"], Path(folder), "a", 10).finish()
        self.assertEqual(text, "batch=5\n")
        self.assertGreater(peak, 0)
        self.assertLess(seconds, 10)

    def test_a_process_that_takes_too_long_is_ended(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Unavailable, "takes more than 0 s"):
            Process(["sleep", "60"], Path(folder), "a", 0.1).finish()

    def test_a_process_that_fails_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(Unavailable, "exit code 3: java.lang.VerifyError: bad"):
                Process(["sh", "-c", "echo java.lang.VerifyError: bad >&2; echo more >&2; exit 3"], Path(folder), "a", 10).finish()
            with self.assertRaisesRegex(Unavailable, "crashed, SIGSEGV"):
                Process(["sh", "-c", "kill -SEGV $$"], Path(folder), "a", 10).finish()

    def test_complaints(self):
        self.assertEqual(complaint("one\n[ERROR] no such artifact\n[ERROR] help\n"), "[ERROR] no such artifact")
        self.assertEqual(complaint("one\ntwo\n"), "two")
        self.assertEqual(complaint(""), "no output")
        self.assertEqual(ending(-9), "crashed, SIGKILL")


class Tracers(unittest.TestCase):
    def run_of(self, work, folder="/tmp", stdout="", beside=""):
        jdk = SimpleNamespace(feature=25, home=Path("/jdk"), java="/jdk/bin/java")
        setup = SimpleNamespace(jdk=jdk, limit=10, names=lambda _: ["A", "B$C"])
        return SimpleNamespace(setup=setup, work=WORKS[work], folder=Path(folder), stdout=stdout, beside=beside)

    def test_names_are_their_own(self):
        self.assertTrue(all(name == tracer.name for name, tracer in others.TRACERS.items()))
        self.assertEqual(list(others.TRACERS)[:2], ["bare", "jtrail"])

    def test_jtrail_takes_packages(self):
        options = tracers.Jtrail("x", "engine=jvmti").java(self.run_of("sql"))
        self.assertTrue(options[0].endswith("=format=trail,file=/tmp/jtrail.trail,engine=jvmti,include=org.h2.*"))
        self.assertTrue(tracers.Jtrail("x", output="format=none").java(self.run_of("fib"))[0].endswith("=format=none,include=WorkFib"))

    def test_jtrail_is_asked_by_its_own_count(self):
        said = "x.trail: sound (trail, 3,813,735 events, events lost: 2)\n  ThreadStart: 7\n  MethodEnter: 1,906,864\n"
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tracers, "require", return_value=said):
            Path(folder, "jtrail.trail").write_bytes(b"12345")
            found = tracers.TRUTH.recorded(self.run_of("fib", folder))
        self.assertEqual(found, {"calls": 1_906_864, "lost": 2, "bytes": 5})

    def test_a_report_has_a_limit(self):
        self.assertEqual(tracers.timed(["sleep", "60"], 0.1), ({"report": 0.1, "is_late": True}, ""))
        self.assertEqual(tracers.timed(["echo", "x"], 10)[1], "x\n")
        with self.assertRaisesRegex(Unavailable, "no report: jtrail: broken"):
            tracers.timed(["sh", "-c", "echo jtrail: broken; exit 1"], 10)

    def test_jfr_takes_classes_by_name(self):
        said = " Chunks: 3\n jdk.MethodTrace                       2272016      35152395\n jdk.DataLoss                          0             0\n"
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tracers, "timed", return_value=({"report": 1}, said)):
            run = self.run_of("fib", folder)
            tracer = tracers.Jfr("x", stacks=False)
            tracer.java(run)
            settings = Path(folder, "calls.jfc").read_text()
            Path(folder, "calls.jfr").write_bytes(b"123")
            self.assertEqual(tracer.recorded(run), {"calls": 2_272_016, "lost": 0, "bytes": 3, "report": 1})
        self.assertIn('<setting name="filter">A;B$C</setting>', settings)
        self.assertIn('<setting name="stackTrace">false</setting>', settings)

    def test_jdks_that_a_tracer_does_not_know(self):
        self.assertIsNone(tracers.BARE.lacks(SimpleNamespace(feature=11)))
        self.assertEqual(tracers.Jfr("x", True).lacks(SimpleNamespace(feature=17)), "needs Java 25")
        self.assertIn("does not know Java 25", others.VisualVm("x").lacks(SimpleNamespace(feature=25)))
        self.assertIsNone(others.VisualVm("x").lacks(SimpleNamespace(feature=17)))
        self.assertIn("does not know Java 25", others.BTrace("x").lacks(SimpleNamespace(feature=25)))

    def test_kieker_is_asked_by_the_size_of_its_records(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "kieker/a").mkdir(parents=True)
            Path(folder, "kieker/a/1.bin").write_bytes(bytes(49 + 3 * 56))
            Path(folder, "kieker/a/kieker.map").write_bytes(bytes(10))
            self.assertEqual(others.Kieker("x").recorded(self.run_of("fib", folder)), {"calls": 3, "bytes": 227})

    def test_btrace_takes_a_regular_expression(self):
        pattern = others.BTrace.pattern(WORKS["threads"].classes + WORKS["sql"].classes)
        self.assertEqual(pattern, r"WorkThreads|WorkThreads\\$Part|org\\.h2\\..*")

    def test_what_is_said_beside_and_by_probes(self):
        self.assertEqual(others.VisualVm("x").recorded(self.run_of("fib", beside="calls=7 micros=1500000\n")), {"calls": 7, "report": 1.5})
        self.assertEqual(others.BTrace("x").recorded(self.run_of("fib", stdout="batch=1\nprobed=9\n")), {"calls": 9})
        with self.assertRaisesRegex(Unavailable, "counted nothing"):
            others.BTrace("x").recorded(self.run_of("fib", stdout="batch=1\n"))

    def test_async_profiler_takes_classes_and_packages(self):
        tracer = others.AsyncProfiler("x", 1)
        tracer.library = "/lib.so"
        self.assertEqual(tracer.java(self.run_of("sql")), ["-agentpath:/lib.so=start,trace=org.h2.*.*,jstackdepth=1,jfr,file=/tmp/async.jfr"])
        self.assertIn("=start,trace=WorkThreads.*,trace=WorkThreads$Part.*,", tracer.java(self.run_of("threads"))[0])

    def test_what_cannot_be_fetched_is_a_reason(self):
        with self.assertRaisesRegex(Unavailable, "cannot fetch it: no-such-program is not installed"):
            require(["no-such-program"], "cannot fetch it")
        with self.assertRaisesRegex(Unavailable, "cannot fetch it: E: no such package"):
            require(["sh", "-c", "echo 'E: no such package' >&2; exit 100"], "cannot fetch it")


class Comparing(unittest.TestCase):
    def comparison(self, folder, tracers):
        args = SimpleNamespace(work=["fib"], tracer=None, quick=True, rounds=1, limit=10, json=None, markdown=None)
        with mock.patch.object(comparison, "TRACERS", {tracer.name: tracer for tracer in tracers}):
            return comparison.Comparison(args, [], Path(folder), peers=False)

    def test_others_are_only_fetched_when_they_are_asked_for(self):
        found = self.comparison("/tmp", others.TRACERS.values())
        self.assertFalse(any(tracer.is_peer for tracer in found.tracers))

    def test_what_cannot_be_had_is_noted_and_not_run(self):
        class Missing(tracers.Tracer):
            def prepare(self, setup):
                raise Unavailable("mvn is not installed")

        found = self.comparison("/tmp", [tracers.BARE, Missing("other")])
        setup = SimpleNamespace(jdk=SimpleNamespace(feature=25))
        with mock.patch("sys.stderr"):
            self.assertEqual(found.available(setup, found.works), [tracers.BARE])
            found.available(setup, found.works)
        self.assertEqual(found.runs, [{"work": "fib", "jdk": 25, "tracer": "other", "failed": "mvn is not installed"}])

    def test_what_failed_is_not_tried_again_and_what_was_counted_is_not_counted_again(self):
        with tempfile.TemporaryDirectory() as folder:
            found = self.comparison(folder, [tracers.BARE])
            tracer = mock.Mock()
            tracer.name, tracer.recorded.return_value, tracer.report.return_value = "jtrail", {"calls": 5}, {"report": 1}
            ran = made("fib", "jtrail", [2, 1])
            setup, work = SimpleNamespace(jdk=SimpleNamespace(feature=25)), WORKS["fib"]
            with mock.patch("sys.stderr"), mock.patch.object(works.Run, "execute", side_effect=[ran, ran, Unavailable("crashed")]) as make:
                for _ in range(4):
                    found.run(setup, work, tracer)
        self.assertEqual(make.call_count, 3)
        self.assertEqual(tracer.recorded.call_count, 1)
        self.assertEqual([run.get("failed") for run in found.runs], [None, None, "crashed"])


if __name__ == "__main__":
    unittest.main()
