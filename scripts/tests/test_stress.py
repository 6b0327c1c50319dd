"""Tests of what scripts/stress asks of a run."""

import collections
import unittest

from endurance.stress import expectations as stress
from endurance.stress.run import without_notes

Jdk = collections.namedtuple("Jdk", "feature")
PLAIN = ["request", "exit"]


def full():
    kinds = collections.Counter(stress.KINDS + stress.KINDS_FROM_21)
    kinds["HeapDump"] = 100
    return collections.Counter(stress.commands(stress.MOMENTS)), kinds


def missing(feature, seconds, answered, kinds, heap=PLAIN, collector=None):
    return stress.missing(Jdk(feature), seconds, heap, answered, kinds, collector)


class Missing(unittest.TestCase):
    def test_nothing(self):
        for feature in (11, 25):
            self.assertEqual(missing(feature, 600, *full()), [])

    def test_no_answer_at_all_is_told_however_short_the_run(self):
        for seconds in (1, 600):
            wrong = missing(17, seconds, collections.Counter(), full()[1])
            self.assertEqual(wrong, ["no command was answered"])

    def test_each_command_is_asked_for_in_a_long_run(self):
        answered, kinds = full()
        del answered["GC.run"]
        self.assertEqual(missing(17, 15, answered, kinds), [])
        self.assertEqual(missing(17, 600, answered, kinds), ["GC.run was never answered"])

    def test_each_kind_of_events_is_asked_for(self):
        for kind in stress.KINDS:
            answered, kinds = full()
            del kinds[kind]
            self.assertEqual(missing(17, 15, answered, kinds), [f"nothing in the trace of {kind}"])

    def test_walks_in_the_middle_of_marking_excuse_classes_that_stay(self):
        answered, kinds = full()
        del kinds["ClassUnload"]
        self.assertEqual(missing(17, 15, answered, kinds, stress.MOMENTS, "z"), [])
        for feature, heap, collector in ((17, PLAIN, "z"), (17, stress.MOMENTS, "g1"), (17, stress.MOMENTS, None), (21, stress.MOMENTS, "z")):
            self.assertEqual(len(missing(feature, 15, answered, kinds, heap, collector)), 1)

    def test_mounts_are_asked_for_where_there_are_virtual_threads(self):
        answered, kinds = full()
        del kinds["ThreadMount"]
        self.assertEqual(missing(17, 15, answered, kinds), [])
        self.assertEqual(len(missing(21, 15, answered, kinds)), 1)

    def test_collections_between_snapshots_are_asked_for_in_any_run_that_has_them(self):
        answered, kinds = full()
        del answered[stress.FORCED]
        for seconds in (15, 600):
            self.assertEqual(missing(17, seconds, answered, kinds), [])
            wrong = missing(17, seconds, answered, kinds, stress.MOMENTS)
            self.assertEqual(wrong, ["ctl gc was never answered"])

    def test_each_snapshot_that_was_asked_for_must_be_there(self):
        answered, kinds = full()
        answered.update({"JVMTI.data_dump": 5 - answered["JVMTI.data_dump"], stress.FORCED: 3 - answered[stress.FORCED]})
        for heap, least in ((["exit"], 1), (PLAIN, 6), (["gc"], 1), (["forced"], 6), (stress.MOMENTS, 13)):
            kinds["HeapDump"] = least
            self.assertEqual(missing(17, 15, answered, kinds, heap), [])
            kinds["HeapDump"] = least - 1
            self.assertEqual(len(missing(17, 15, answered, kinds, heap)), 1, heap)


class Errors(unittest.TestCase):
    def test_only_what_is_said_of_virtual_threads_is_passed_over(self):
        note = b"jtrail: snapshot 12 of the heap leaves out what virtual threads refer to that were being made: 3\n"
        other = b"jtrail: snapshot 13 of the heap is incomplete: no memory\n"
        self.assertEqual(without_notes(note + other + note), other)


if __name__ == "__main__":
    unittest.main()
