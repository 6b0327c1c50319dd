"""The servers that are put under load (`java/servers`), and the lines in which they answer."""

import re
from typing import NamedTuple

from support.downloads import H2, TOMCAT
from support.paths import JAVA

SOURCES = JAVA / "servers"
ARTIFACTS = [TOMCAT, H2]
READY = "[ready]"
DONE = re.compile(r"\[done\] right=(\d+) wrong=(\d+) failed=(\d+) micros=(\d+)")


class Answers(NamedTuple):
    """How a server answered during a window of time."""

    right: int
    wrong: int
    failed: int
    micros: int

    @classmethod
    def parse(cls, line):
        """The answers that a line of the server's output counts, or None if it is another line."""
        found = DONE.match(line)
        return cls(*map(int, found.groups())) if found else None

    @property
    def problem(self):
        """What is wrong with the answers, or None."""
        if self.right and not self.wrong and not self.failed:
            return None
        return f"{self.right} answers were right, {self.wrong} wrong, {self.failed} missing"
