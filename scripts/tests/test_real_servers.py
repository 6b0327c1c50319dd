"""Tests of how scripts/real-servers judges throughput."""

import unittest

from real_servers.throughput import Throughput, geometric_mean


def both(parts):
    return {"processor": parts, "clock": parts}


def throughput(*pairs):
    found = Throughput()
    for before, after in pairs:
        found.add(before=both(before), after=both(after))
    return found


class Decision(unittest.TestCase):
    def test_the_mean_of_ratios(self):
        self.assertAlmostEqual(geometric_mean([0.5, 2]), 1)
        self.assertAlmostEqual(geometric_mean([0.9]), 0.9)

    def test_servers_that_differ_from_the_start_are_no_problem(self):
        found = throughput(([0.9, 0.9], [0.89, 0.9]))
        self.assertAlmostEqual(found.kept(), (0.89 / 0.9) ** 0.5)
        self.assertIsNone(found.problem(0.98))

    def test_pairs_that_gain_and_lose_cancel_out(self):
        found = throughput(([1, 1], [0.8, 0.8]), ([1], [1.25]))
        self.assertAlmostEqual(found.kept(), 1)
        self.assertEqual(found.shown(), "80.0% 125.0%")

    def test_what_is_too_low_is_told(self):
        found = throughput(([1, 1], [0.9, 0.95]))
        self.assertFalse(found.is_enough(0.98))
        self.assertIn("92.5% of the throughput from before", found.problem(0.98))
        self.assertIn("98.0% must be (pairs of processes: 92.5%)", found.problem(0.98))

    def test_the_bound_itself_is_enough(self):
        self.assertTrue(throughput(([1], [0.98])).is_enough(0.98))
        self.assertFalse(throughput(([1], [0.9799])).is_enough(0.98))

    def test_nothing_is_asked_for_in_a_quick_run(self):
        found = throughput(([1], [0.1]))
        self.assertIsNone(found.problem(None))

    def test_who_gets_the_processors_is_not_the_agents_doing(self):
        found = Throughput()
        found.add(before=both([1]), after={"processor": [0.99], "clock": [0.93]})
        self.assertTrue(found.is_enough(0.98))
        self.assertAlmostEqual(found.mean("after", "clock"), 0.93)

    def test_a_server_that_waits_is_slower(self):
        found = Throughput()
        found.add(before=both([1]), after={"processor": [1.1], "clock": [0.5]})
        self.assertFalse(found.is_enough(0.98))
        self.assertIn("by the clock 50.0%, of 90.0%", found.problem(0.98))

    def test_a_server_that_is_slower_stays_so(self):
        self.assertFalse(throughput(*[([1], [0.95])] * 4).is_enough(0.98))


if __name__ == "__main__":
    unittest.main()
