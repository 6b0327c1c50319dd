"""Real work under jtrail, the JVM's events of calls, and JFR.

Works run under all tracers in turns, beside the floor. With --json, the runs are added to those
that the file has, so that a long measurement can be made piece by piece; the tables are of all of
them.
"""

from bench.comparing.comparison import run

JAVA = ()
EXAMPLES = (("testkit", "floor"), ("agent", "method_events"))


def measure(session):
    run(session, peers=False)
