"""Tests of how scripts/cycles judges its figures."""

import unittest

from endurance.cycles.bounds import GROWTH, KEYS, MODES, MORE, SOAK_MORE, allocated, grown, lost
from endurance.growth import SAWS, looks


def run(cycles, figure, keys=KEYS):
    """The measurements of a run. `figure` has functions that compute a figure from a cycle's
    number. All other figures stay constant."""
    count = looks(cycles)
    numbers = [cycles * (look + 1) // count for look in range(count)]
    return [{key: figure.get(key, lambda _: 1_000_000)(number) for key in keys} for number in numbers]


class Accounts(unittest.TestCase):
    def test_what_the_jvm_allocated_is_the_sum_of_its_kinds(self):
        told = """Total: reserved=7742296KB, committed=484152KB
       malloc: 18404KB #47023, peak=18465KB #46004
-                     Class (reserved=1048773KB, committed=197KB)
                            (malloc=197KB tag=Class #4656) (at peak)
                            (mmap: reserved=1048576KB, committed=0KB)
-                    Thread (reserved=20530KB, committed=1118KB)
                            (malloc=42KB #115) (peak=50KB #119)
                            (arena=19KB #40) (peak=900KB #12)
"""
        self.assertEqual(allocated(told), (197 + 42) * 1024)

    def test_no_accounts_are_an_error(self):
        with self.assertRaises(SystemExit):
            allocated("Native memory tracking is not enabled\n")


class Growth(unittest.TestCase):
    def assert_grown(self, cycles, expected, mode="compiled", **figure):
        self.assertEqual([text.split()[0] for text in grown(run(cycles, figure), cycles, mode)], expected)

    def test_what_stays_does_not_grow(self):
        for cycles in (100, 1000, 2000):
            self.assert_grown(cycles, [])

    def test_each_figure_has_its_bound(self):
        for key in KEYS:
            more = {key: lambda number: 1_000_000 + number * 300_000}
            self.assert_grown(1000, [key], **more)
            self.assert_grown(100, [key], **more)

    def test_bounds_of_long_runs_are_for_each_cycle(self):
        for mode, key in ((mode, key) for mode in MODES for key in GROWTH[mode]):
            bound = GROWTH[mode][key][0]
            self.assert_grown(1000, [], mode, **{key: lambda number: number * bound})
            self.assert_grown(1000, [key], mode, **{key: lambda number: number * (bound + 1)})

    def test_a_soak_has_bounds_of_its_own(self):
        def soak(**figure):
            return run(1000, {"jvm": lambda number: number * 1_000_000} | figure, [*KEYS, "agent", "jvm"])

        self.assertEqual(grown(soak(), 1000, "compiled"), [])
        for key, bound in {**SOAK_MORE, "rss": MORE["rss"]}.items():
            for much, expected in ((1, []), (3, [key])):
                rises = {key: lambda number: bound * much * number // 1000}
                self.assertEqual([text.split()[0] for text in grown(soak(**rises), 1000, "compiled")], expected)

    def test_what_is_lost_without_us_is_allowed_and_no_more(self):
        alone = run(1000, {"metaspace": lambda number: number * 208})
        self.assertEqual(lost(alone, 1000), 208)
        bound = GROWTH["interpreted"]["metaspace"][0]
        for more, expected in ((bound, 0), (bound + 1, 1)):
            seen = run(1000, {"metaspace": lambda number: number * (208 + more)})
            self.assertEqual(len(grown(seen, 1000, "interpreted", lost(alone, 1000))), expected)
        falls = run(1000, {"metaspace": lambda number: 1_000_000 - number * 50})
        self.assertEqual(lost(falls, 1000), 0)

    def test_what_goes_up_and_down_does_not_grow(self):
        self.assert_grown(1000, [], code=lambda number: 1_000_000 + number * 12_345 % 500_000 // 50_000 * 50_000 % 400_000)
        # High only in the very last measurement.
        self.assert_grown(1000, [], metaspace=lambda number: 900_000 if number == 1000 else 700_000)

    def test_a_saw_that_rises_grows(self):
        self.assert_grown(1000, ["metaspace"], metaspace=lambda number: number * 400 + number % 200 * 500)

    def test_a_saw_of_few_teeth_does_not_grow(self):
        # Code and metaspace of compiled runs on 11 under one agent, which starts and stops 60
        # traces.
        for code, metaspace in (
            ((2_529_280, 2_547_456, 2_534_272, 2_549_504, 2_509_824, 2_751_616, 2_719_104, 2_741_504),
             (6_597_944, 6_603_920, 6_566_816, 6_568_248, 6_522_096, 6_725_344, 6_714_128, 6_706_584)),
            ((2_706_688, 2_717_312, 2_686_208, 2_670_848, 2_637_056, 2_636_544, 2_855_680, 2_847_488),
             (6_685_272, 6_674_536, 6_653_512, 6_636_688, 6_620_344, 6_596_128, 6_775_824, 6_761_960)),
            ((2_532_224, 2_546_560, 2_754_688, 2_770_048, 2_733_184, 2_736_640, 2_691_328, 2_693_632),
             (6_533_288, 6_541_760, 6_719_776, 6_725_192, 6_700_520, 6_689_360, 6_657_984, 6_648_640)),
            ((2_674_304, 2_680_704, 2_921_472, 2_914_048, 2_877_312, 2_860_288, 2_855_040, 2_875_776),
             (6_609_912, 6_584_784, 6_766_456, 6_768_704, 6_748_048, 6_762_096, 6_741_824, 6_727_200)),
        ):
            seen = [look | {"code": code, "metaspace": metaspace} for look, code, metaspace in zip(run(60, {}), code, metaspace)]
            self.assertEqual(grown(seen, 60, "compiled"), [])

    def test_one_rise_at_any_time_of_a_short_run_is_no_growth(self):
        for rise in range(1, 60):
            self.assert_grown(60, [], code=lambda number: 3_000_000 - 3_000 * number + 400_000 * (number > rise))

    def test_what_grows_in_every_cycle_beside_one_rise_is_growth(self):
        for rise in range(1, 60):
            self.assert_grown(60, ["code"], code=lambda number: 3_000_000 + 6_000 * number + 400_000 * (number > rise))

    def test_bounds_of_short_runs_are_for_each_cycle(self):
        for mode, key in ((mode, key) for mode in MODES for key in GROWTH[mode]):
            bound = GROWTH[mode][key][1]
            self.assert_grown(64, [], mode, **{key: lambda number: number * bound})
            self.assert_grown(64, [key], mode, **{key: lambda number: number * (bound + 1)})

    def test_threads_are_counted(self):
        self.assert_grown(1000, ["threads"], threads=lambda number: 20 + number // 700)
        self.assert_grown(60, ["threads"], threads=lambda number: 20 + number // 30)


if __name__ == "__main__":
    unittest.main()
