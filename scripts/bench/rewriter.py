"""The rewriter of class files, over all of java.base."""

from bench.session import example
from support import jdks
from support.processes import run

JAVA = ()
EXAMPLES = (("classfile", "rewrite_speed"),)

LIMIT = ">= 50 MB/s"


def measure(session):
    jdk = jdks.with_tool(session.jdks, "jimage")
    if not jdk:
        session.add("rewriter", LIMIT, "not measured: no JDK with jimage")
        return
    classes = session.folder / "java.base"
    run([jdk.tool("jimage"), "extract", "--dir", classes, "--include", "regex:/java.base/.*", jdk.home / "lib" / "modules"])
    for line in run([example("rewrite_speed"), classes]).splitlines():
        session.add(f"rewriter, java.base of JDK {jdk.feature}", LIMIT, line.split("  (sum")[0])
