"""Real work under jtrail, the JVM's events of calls, and JFR.

Works run under all tracers in turns, beside the floor. With --json, the runs are added to those in
the file, so that a long measurement can be made piece by piece. The tables include all of these
runs.
"""

from bench.comparing.comparison import run

JAVA = ()
EXAMPLES = (("testkit", "floor"), ("agent", "method_events"))


def measure(session):
    run(session, peers=False)
