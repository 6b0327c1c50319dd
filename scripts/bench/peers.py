"""The same as work, and under others' profilers, which are fetched from package registries."""

from bench.comparing.comparison import run
from bench.work import EXAMPLES, JAVA

__all__ = ["EXAMPLES", "JAVA", "measure"]


def measure(session):
    run(session, peers=True)
