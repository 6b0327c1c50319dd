"""Tests of what scripts/observers takes for a difference."""

import subprocess
import unittest

from other_observers import compare as comparison
from other_observers import observers

BEFORE, AFTER = "with jtrail before it", "with jtrail after it"


def ran(text="result 1\n", code=0):
    return subprocess.CompletedProcess([], code, text, "")


def compare(order, alone, beside, expected=observers.same, outputs=("result 1\n", "result 1\n")):
    return comparison.compare(order, (ran(outputs[0]), alone), (ran(outputs[1]), beside), expected)


class Comparing(unittest.TestCase):
    def test_the_same(self):
        self.assertEqual(compare(BEFORE, {"a": 1}, {"a": 1}), ([], []))

    def test_any_other_figure_or_output_is_wrong(self):
        self.assertEqual(len(compare(BEFORE, {"a": 1}, {"a": 2})[0]), 1)
        self.assertEqual(len(compare(BEFORE, {"a": 1}, {})[0]), 1)
        self.assertEqual(len(compare(BEFORE, {}, {"a": 1})[0]), 1)
        self.assertEqual(len(compare(BEFORE, {}, {}, outputs=("result 1\n", "result 2\n"))[0]), 1)

    def test_what_observers_print_is_no_output(self):
        outputs = ("@ a\nresult 1\n", "@ b\nresult 1\n")
        self.assertEqual(compare(BEFORE, {}, {}, outputs=outputs), ([], []))

    def test_one_more_for_each_exception_that_leaves(self):
        expected = observers.one_more_for_exceptions("timing")
        wrong, known = compare(BEFORE, {"timing direct": 100}, {"timing direct": 200, "timing through": 100}, expected)
        self.assertEqual((wrong, len(known)), ([], 2))
        # The difference is missing, in another method, of another kind, or found although the
        # observer comes first.
        self.assertTrue(compare(BEFORE, {"timing direct": 100}, {"timing direct": 100}, expected)[0])
        # A missing difference is reported, also if neither run counted anything.
        self.assertEqual(len(compare(BEFORE, {"timing direct": 100}, {"timing direct": 200}, expected)[0]), 1)
        self.assertTrue(compare(BEFORE, {"timing inside": 100}, {"timing inside": 200}, expected)[0])
        self.assertTrue(compare(BEFORE, {"entry direct": 100}, {"entry direct": 200}, expected)[0])
        self.assertTrue(compare(AFTER, {"timing direct": 100}, {"timing direct": 200}, expected)[0])


if __name__ == "__main__":
    unittest.main()
