"""The programs. The JVMs of programs in hosted.py are in special company."""

from real_programs import hosted
from real_programs.spec import DATA, JAVA, Spec
from support import downloads, jdks, paths
from support.downloads import H2, TOMCAT

LANG3 = "org.apache.commons:commons-lang3:3.17.0:sources"


def shop(program, out):
    return ["org.example.shop.Main", "10"]


def h2(program, out):
    return ["org.h2.tools.RunScript", "-url", f"jdbc:h2:{out}/db", "-user", "sa",
            "-script", paths.DATA / "h2.sql", "-showResults"]


def jython(program, out):
    return ["org.python.util.jython", DATA / "script.py"]


def groovy(program, out):
    return ["groovy.ui.GroovyMain", DATA / "script.groovy"]


def ecj(program, out):
    """Eclipse's compiler over commons-lang3, or a part of it."""
    source = downloads.unzip(next(program.library.glob("commons-lang3-*-sources.jar")), program.folder / "lang3",
                             lambda name: name.endswith(".java"))
    start = source / "org/apache/commons/lang3/tuple" if program.short else source  # and what it refers to
    return ["org.eclipse.jdt.internal.compiler.batch.Main", "-nowarn", "-proceedOnError",
            "-source", "11", "-target", "11", "-sourcepath", source, "-d", out, start]


def lucene(program, out):
    return ["LuceneDriver", out / "index", "300"]


def tomcat(program, out):
    return ["TomcatDriver", out.parent / "tomcat", "200"]


def netty(program, out):
    return ["NettyDriver", "4", "250"]


def kotlin(program, out):
    library = next(program.library.glob("kotlin-stdlib-*.jar"))
    return ["org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect",
            "-cp", library, "-d", out, DATA / "Shapes.kt"]


def javac(program, out):
    """javac over java.util of the JDK's own source, or over a part of commons-lang3 if the JDK
    has no source."""
    archive = jdks.source(program.jdk)
    if archive:
        # A short run compiles the classes that begin with A.
        prefix = "A" if program.short else ""

        def wanted(name):
            package, _, file = name.rpartition("/")
            return package == "java.base/java/util" and file.startswith(prefix) and file.endswith(".java")

        folder = program.folder / f"java.util-{program.jdk.feature}{'-short' if program.short else ''}"
        source = downloads.unzip(archive, folder, wanted)
        module = ["--patch-module", f"java.base={source}/java.base"]
    else:
        source = downloads.unzip(next(program.library.glob("commons-lang3-*-sources.jar")), program.folder / "tuple",
                                 lambda name: name.endswith(".java") and "/lang3/tuple/" in name)
        module = []
    files = sorted(source.rglob("*.java"))
    return ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-implicit:none", "-proc:none",
            "-XDrawDiagnostics", *module, "-d", out, *files]


PROGRAMS = {
    "shop": Spec(shop, ["org.example.*"], sources=paths.HARNESS / "src11/org/example"),
    "h2": Spec(h2, ["org.h2.*"], [H2]),
    "bank": Spec(hosted.bank, ["org.h2.*", "H2Driver*"], [H2], JAVA / "H2Driver.java"),
    "jython": Spec(jython, ["org.python.*"], ["org.python:jython-standalone:2.7.4"]),
    "groovy": Spec(groovy, ["groovy.*", "org.codehaus.groovy.*", "org.apache.groovy.*", "groovyjarjar*",
                            "script*", "Account*", "Named*", "Thing*"],
                   ["org.apache.groovy:groovy:4.0.27"]),
    "ecj": Spec(ecj, ["org.eclipse.jdt.*"], ["org.eclipse.jdt:ecj:3.33.0", LANG3]),
    "lucene": Spec(lucene, ["org.apache.lucene.*", "LuceneDriver"],
                   ["org.apache.lucene:lucene-queryparser:9.12.1", "org.apache.lucene:lucene-analysis-common:9.12.1"],
                   JAVA / "LuceneDriver.java"),
    "tomcat": Spec(tomcat, ["org.apache.*", "jakarta.*", "TomcatDriver*"], [TOMCAT], JAVA / "TomcatDriver.java"),
    "netty": Spec(netty, ["io.netty.*", "NettyDriver*"], ["io.netty:netty-handler:4.1.119.Final"],
                  JAVA / "NettyDriver.java"),
    "kotlin": Spec(kotlin, ["org.jetbrains.kotlin.*"], ["org.jetbrains.kotlin:kotlin-compiler-embeddable:2.1.21"]),
    "javac": Spec(javac, ["com.sun.tools.*"], [LANG3], needs_compiler=True),
} | hosted.PROGRAMS
# What --quick runs. Each program runs on every JDK with its own classes. Those marked True also run
# with all classes.
QUICK = {"shop": False, "h2": True, "groovy": False, "javac": False, "tomcat": False, "netty": False,
         "openmp": True, "security": False}
