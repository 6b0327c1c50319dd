"""A server's process, and the load on it."""

import os
from pathlib import Path

from support.errors import Unavailable
from support.processes import Conversation
from support.servers import READY, Answers

TOMCAT = ["org.apache.*", "jakarta.*", "org.h2.*", "TomcatServer*"]
# By name: main class, its further arguments, and the classes to trace.
SERVERS = {
    "tomcat": ("TomcatServer", [], TOMCAT),
    "h2": ("H2Server", [], ["org.h2.*", "H2Server*"]),
    "tomcat-lambdas": ("TomcatServer", ["lambdas"], TOMCAT),
}


class Server(Conversation):
    """A server, with clients in the same process that put it under load."""

    def __init__(self, jdk, main, arguments, class_path, folder):
        folder.mkdir()
        self.log = open(folder / "stderr", "w+")
        super().__init__("real-servers", [
            jdk.java, "-Xmx512m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading",
            "-cp", os.pathsep.join(map(str, class_path)), main, folder / "files", *arguments], stderr=self.log)
        self.problems = []
        self.used = 0
        self.wait_for(READY)

    def errors(self):
        self.log.flush()
        return "\n" + Path(self.log.name).read_text()

    def start(self, seconds=None):
        """Puts the server under load, for these seconds or until `stop`."""
        self.used = -self.processor_time()
        self.send(f"{int(seconds * 1000)}" if seconds else "on")

    def stop(self):
        """Ends a load that has no end of its own."""
        self.send("stop")

    def rates(self):
        """Waits for the end of the load. Returns the answers per second of wall-clock and of
        processor time."""
        answers = Answers.parse(self.wait_for("[done]"))
        self.used += self.processor_time()
        if not answers.right:
            raise Unavailable(f"real-servers: {answers.problem}:{self.errors()}")
        if answers.problem:
            self.problems.append(answers.problem)
        return answers.right / answers.micros * 1e6, answers.right / self.used

    def processor_time(self):
        """CPU seconds of all threads so far."""
        fields = (Path("/proc") / self.pid / "stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """Ends the process."""
        _, code = self.finish()
        if code != 0:
            self.problems.append(f"exit code {code}")
