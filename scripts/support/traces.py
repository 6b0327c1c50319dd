"""Has `jtrail verify` read the traces of a run."""

import collections
import json
import os
import shutil
import subprocess
import threading


class Verdict:
    """What `jtrail verify --json` says of one trace or several. If it printed nothing, all figures
    are 0 or None."""

    def __init__(self):
        self.totals, self.reasons, self.kinds = {}, collections.Counter(), collections.Counter()
        self.code = self.output = self.events = None
        self.bytes = self.without_totals = 0

    def add(self, output):
        """Adds the figures of each trace in the output."""
        self.output = output
        if not output:
            return
        for verdict in json.loads(output):
            self.without_totals += not verdict["totals"]
            for key, count in (verdict["totals"] or {}).items():
                self.totals[key] = self.totals.get(key, 0) + count
            self.reasons.update(verdict["uninstrumented"])
            self.kinds.update(verdict["kinds"])
            self.events = (self.events or 0) + verdict["events"]


class TraceFolder(Verdict):
    """The traces of several JVMs, a file for each, which are read when all JVMs have ended."""

    def __init__(self, folder, jtrail):
        super().__init__()
        self.folder, self.jtrail = folder, jtrail
        self.path = folder / "%p.trace"
        self.count = 0
        folder.mkdir()

    def finish(self):
        """Reads the traces and removes them. Returns itself, with the figures."""
        traces = sorted(self.folder.iterdir())
        self.count = len(traces)
        self.bytes = sum(path.stat().st_size for path in traces)
        if traces:
            result = subprocess.run([str(self.jtrail), "verify", "--json", *map(str, traces)], stdout=subprocess.PIPE)
            self.code = result.returncode
            self.add(result.stdout.decode(errors="replace"))
        shutil.rmtree(self.folder)
        return self


class TraceReader(Verdict):
    """A named pipe that passes a trace to `jtrail verify`, so that the size of the trace does
    not matter."""

    def __init__(self, path, jtrail):
        super().__init__()
        self.path = path
        os.mkfifo(path)
        self._verify = subprocess.Popen([str(jtrail), "verify", "--json", "-"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self._opened = threading.Event()
        self._output = []
        self._collector = threading.Thread(target=lambda: self._output.append(self._verify.stdout.read()))
        self._pump = threading.Thread(target=self._copy, daemon=True)
        self._collector.start()
        self._pump.start()

    def _copy(self):
        with open(self.path, "rb", buffering=0) as pipe:
            self._opened.set()
            while chunk := pipe.read(1 << 20):
                self.bytes += len(chunk)
                try:
                    self._verify.stdin.write(chunk)
                except BrokenPipeError:
                    pass  # `jtrail verify` gave up; the program must still run to its end

    def finish(self):
        """Waits for the verdict after the program's end. Returns itself, with the figures."""
        while not self._opened.wait(0.01):
            try:
                # If the program never opened the pipe, the reader still waits. So this opens and
                # closes it.
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass  # the reader does not wait yet
        self._pump.join(600)
        try:
            self._verify.stdin.close()
        except BrokenPipeError:
            pass
        self.code = self._verify.wait(600)
        self._collector.join(10)
        self._verify.stdout.close()
        self.path.unlink()
        self.add(b"".join(self._output).decode(errors="replace"))
        return self
