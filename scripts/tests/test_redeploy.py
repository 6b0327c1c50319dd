"""Tests of how scripts/redeploy judges its figures."""

import unittest

from endurance.redeploy.bounds import KEYS, grown


FLAT = dict.fromkeys(KEYS, 0)


class Bounds(unittest.TestCase):
    def test_what_grows_without_the_agent_too_is_not_its_doing(self):
        more = FLAT | {"metaspace": 2_000_000, "rss": 30_000_000}
        self.assertEqual(grown(more, more, 1000), [])

    def test_each_kind_that_grows_with_the_agent_alone_is_told(self):
        for key in KEYS:
            found = grown(FLAT, FLAT | {key: 60_000_000}, 1000)
            self.assertEqual(len(found), 1)
            self.assertIn(f"{key} has grown by 60,000,000 in 500 redeployments", found[0])

    def test_a_class_of_each_application_that_stays_behind_is_too_much(self):
        self.assertEqual(len(grown(FLAT, FLAT | {"metaspace": 500 * 5_000}, 1000)), 1)
        self.assertEqual(len(grown(FLAT, FLAT | {"classes": 500}, 1000)), 1)

    def test_what_shrinks_without_the_agent_asks_for_nothing(self):
        self.assertEqual(grown(FLAT | {"heap": -9_000_000}, FLAT, 1000), [])


if __name__ == "__main__":
    unittest.main()
