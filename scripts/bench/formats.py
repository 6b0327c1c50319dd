"""The encoders and decoders of all formats, in memory."""

from bench.session import example
from support.processes import run

JAVA = None
EXAMPLES = (("formats", "codec_speed"),)


def measure(session):
    for line in run([example("codec_speed")]).splitlines():
        session.add("codec", ">= 10 M/s binary, >= 3 M/s text", line.rstrip())
