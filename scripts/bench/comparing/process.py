"""A process with a limit of time, whose peak memory is measured."""

import os
import signal
import subprocess
import threading
import time

from support.errors import Unavailable, complaint
from support.processes import environment


class Process:
    """A process that ends by itself, or is killed at its limit with all that it has started."""

    def __init__(self, command, folder, name, limit):
        self.limit, self.started = limit, time.monotonic()
        self.stderr = folder / f"{name}.err"
        with open(self.stderr, "wb") as errors:
            self.process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment(),
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                                            start_new_session=True)
        self.is_late = False
        self.timer = threading.Timer(limit, self.kill)
        self.timer.start()

    def kill(self):
        self.is_late = True
        os.killpg(self.process.pid, signal.SIGKILL)

    def kill_if_running(self):
        self.timer.cancel()
        if self.process.returncode is None and self.process.poll() is None:
            self.kill()

    def finish(self):
        """Waits for the end. Returns the standard output, the seconds that it took, and the peak
        memory in MB."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        text = self.process.stdout.read()
        _, status, used = os.wait4(self.process.pid, 0)
        seconds = time.monotonic() - self.started
        self.timer.cancel()
        self.process.stdout.close()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.is_late:
            raise Unavailable(f"takes more than {self.limit:.0f} s")
        if self.process.returncode != 0:
            raise Unavailable(f"{ending(self.process.returncode)}: {complaint(text + self.errors())}")
        return text, seconds, used.ru_maxrss / 1024

    def errors(self):
        """The standard error so far."""
        return self.stderr.read_text(errors="replace")


def ending(code):
    """An exit code in words."""
    return f"crashed, {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
