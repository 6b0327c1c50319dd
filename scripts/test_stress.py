"""Tests of what scripts/stress asks of a run: python3 -m unittest discover scripts"""

import collections
import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPT = Path(__file__).resolve().parent / "stress"
spec = importlib.util.spec_from_loader("stress", importlib.machinery.SourceFileLoader("stress", str(SCRIPT)))
stress = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stress)
Jdk = collections.namedtuple("Jdk", "feature")


def full():
    return collections.Counter(stress.COMMANDS), collections.Counter(stress.KINDS + stress.KINDS_FROM_21)


class Missing(unittest.TestCase):
    def test_nothing(self):
        for feature in (11, 25):
            self.assertEqual(stress.missing(Jdk(feature), 600, *full()), [])

    def test_no_answer_at_all_is_told_however_short_the_run(self):
        for seconds in (1, 600):
            wrong = stress.missing(Jdk(17), seconds, collections.Counter(), full()[1])
            self.assertEqual(wrong, ["no jcmd command was answered"])

    def test_each_command_is_asked_for_in_a_long_run(self):
        answered, kinds = full()
        del answered["GC.run"]
        self.assertEqual(stress.missing(Jdk(17), 15, answered, kinds), [])
        self.assertEqual(stress.missing(Jdk(17), 600, answered, kinds), ["jcmd GC.run was never answered"])

    def test_each_kind_of_events_is_asked_for(self):
        for kind in stress.KINDS:
            answered, kinds = full()
            del kinds[kind]
            self.assertEqual(stress.missing(Jdk(17), 15, answered, kinds), [f"nothing in the trace of {kind}"])

    def test_mounts_are_asked_for_where_there_are_virtual_threads(self):
        answered, kinds = full()
        del kinds["ThreadMount"]
        self.assertEqual(stress.missing(Jdk(17), 15, answered, kinds), [])
        self.assertEqual(len(stress.missing(Jdk(21), 15, answered, kinds)), 1)


if __name__ == "__main__":
    unittest.main()
