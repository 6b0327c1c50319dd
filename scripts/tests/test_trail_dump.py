"""Tests of the reader of zstd's frames, with what the tool of that name writes."""

import random
import shutil
import subprocess
import unittest

from trail_dump import zstd


def samples():
    chance = random.Random(7)
    words = [bytes(chance.choices(b"abcdefgh", k=chance.randint(3, 9))) for _ in range(60)]
    return {
        "nothing": b"",
        "one": b"1",
        "still": bytes(140_000),
        "noise": chance.randbytes(5_000),
        "uneven": bytes(min(int(chance.expovariate(0.2)), 255) for _ in range(9_000)),
        "text": b" ".join(chance.choices(words, k=4_000)),
        "far": (block := chance.randbytes(9_000)) + bytes(70_000) + block,
        "numbers": b"".join((at * at % 9973).to_bytes(2, "little") for at in range(9_000)),
    }


@unittest.skipUnless(shutil.which("zstd"), "the tool zstd is not here")
class Frames(unittest.TestCase):
    def test_what_the_tool_makes_is_read(self):
        for name, data in samples().items():
            for options in (["-1"], ["-3", "--no-check"], ["-19"], ["--fast=4"]):
                with self.subTest(name=name, options=options):
                    made = subprocess.run(["zstd", "-c", *options], input=data, capture_output=True, check=True)
                    self.assertEqual(zstd.read(made.stdout, len(data)), data)

    def test_what_is_cut_is_refused(self):
        data = samples()["text"]
        made = subprocess.run(["zstd", "-c", "--no-check"], input=data, capture_output=True, check=True).stdout
        for length in range(0, len(made), 997):
            with self.assertRaises((ValueError, IndexError)):
                zstd.read(made[:length], len(data))


if __name__ == "__main__":
    unittest.main()
