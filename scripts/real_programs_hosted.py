"""Programs of scripts/real-programs whose JVM has company: started by something else, beside another allocator or OpenMP, under a security
manager, or a server that deploys and starts applications anew."""

import functools
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import real_programs_lib as lib
from real_programs_lib import Spec

ROOT = Path(__file__).resolve().parent.parent
DRIVERS = ROOT / "java-harness" / "drivers"
SESSION = Path(__file__).resolve().parent / "real_programs_session.py"
H2 = "com.h2database:h2:2.3.232"
BANK = ["H2Driver", "4", "200"]
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


def allocator(library):
    """The bank's program, with another allocator in place of the C library's."""
    return Spec(lambda p, out: BANK, ["org.h2.*", "H2Driver*"], [H2], 11, "drivers/H2Driver.java",
                environment=lambda p: {"LD_PRELOAD": lib.shared_library(library)},
                lacks=lambda jdk: None if lib.shared_library(library) else f"no {library} on this machine")


def prepare_jpype(p):
    lib.pip_install(p.folder / "python", "jpype1==1.7.1")


def launch_jpype(p, out, command):
    """Python, which starts the JVM with the options that the command has between java and its class path."""
    options = command[1:command.index("-cp")]
    class_path = command[command.index("-cp") + 1]
    return [sys.executable, DRIVERS / "data/jpype_script.py", p.jdk.home / "lib/server/libjvm.so", class_path, *options]


def prepare_openmp(p):
    headers = p.jdk.home / "include"
    subprocess.run(["gcc", "-O2", "-fopenmp", "-shared", "-fPIC", f"-I{headers}", f"-I{headers}/linux",
                    str(DRIVERS / "data/openmp.c"), "-o", str(p.folder / "libopenmp.so")], check=True)


def lacks_openmp(jdk):
    if not shutil.which("gcc"):
        return "there is no gcc"
    return None if (jdk.home / "include/jni.h").is_file() else "the JDK has no jni.h"


def args_devtools(p, out):
    watched = out.parent / "watched"
    watched.mkdir()
    settings = {"spring.devtools.restart.additional-paths": watched, "spring.devtools.restart.poll-interval": "300ms",
                "spring.devtools.restart.quiet-period": "100ms", "spring.main.banner-mode": "off", "logging.level.root": "off",
                "server.port": "0", "server.address": "127.0.0.1", "starts": "3"}
    return ["DevtoolsDriver", *(f"--{name}={value}" for name, value in settings.items())]


def prepare_war(servlet, p):
    """The application that servers deploy, compiled against an API of servlets."""
    classes = p.folder / "web-classes"
    api = lib.fetch(p.folder / "api", [servlet])
    lib.compile_java(p.jdk, DRIVERS / "web", sorted(api.glob("*.jar")), classes)
    lib.build_war(classes, {}, p.folder / "web.war")


SERVLETS = "jakarta.servlet:jakarta.servlet-api:6.0.0"


def prepare_wildfly(p):
    prepare_war(SERVLETS, p)
    lib.unzip(next(p.lib.glob("wildfly-dist-*.zip")), p.folder / "dist", lambda name: True)


def launch_wildfly(p, out, command):
    """As its script does, with files of its own for each run."""
    home, = (p.folder / "dist").iterdir()
    base = out.parent / "standalone"
    shutil.copytree(home / "standalone", base)
    shutil.copy(p.folder / "web.war", base / "deployments/web.war")
    opened = ["java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.security", "java.util",
              "java.util.concurrent"]
    return [sys.executable, SESSION, "wildfly", *command, "-Djava.net.preferIPv4Stack=true", "-Djboss.modules.system.pkgs=org.jboss.byteman",
            "--add-exports=java.desktop/sun.awt=ALL-UNNAMED", "--add-exports=java.naming/com.sun.jndi.ldap=ALL-UNNAMED",
            *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in opened),
            "-jar", home / "jboss-modules.jar", "-mp", home / "modules", "org.jboss.as.standalone",
            f"-Djboss.home.dir={home}", f"-Djboss.server.base.dir={base}", "-b=127.0.0.1", "-bmanagement=127.0.0.1",
            "-Djboss.http.port=@PORT@", "-Djboss.https.port=0", "-Djboss.management.http.port=0", "-Djboss.ajp.port=0",
            "-Djboss.management.https.port=0"]


def launch_payara(p, out, command):
    jar = next(p.lib.glob("payara-micro-*.jar"))
    shutil.copy(p.folder / "web.war", out.parent / "web.war")
    cut = command.index("-cp")
    # Also for what is logged when the configuration has gone: a line each, with its level.
    one_line = "-Djava.util.logging.SimpleFormatter.format=- %4$s %3$s %5$s%6$s%n"
    return [sys.executable, SESSION, "payara", *command[:cut], one_line, "-jar", jar, "--nocluster", "--nohazelcast", "--rootdir", out.parent / "root",
            "--name", "jtrail", "--logproperties", DRIVERS / "data/payara.logging.properties", "--port", "@PORT@", "--deploy", out.parent / "web.war"]


def launch_gradle(p, out, command):
    return [sys.executable, SESSION.with_name("real_programs_gradle.py"), out.parent / "work", DRIVERS / "data/gradle"]


def maven(p):
    """Quarkus wants a newer Maven than some systems have. Files of the archive are not executable as they are unpacked."""
    home, = lib.unzip(next(p.lib.glob("apache-maven-*.zip")), p.folder / "maven", lambda name: True).iterdir()
    return ["sh", home / "bin/mvn", "-B"]


def prepare_quarkus(p):
    """A first build fetches most of what is needed, so that runs begin soon."""
    done = p.folder / "built"
    if not done.is_file():
        lay_out_quarkus(p.folder / "project")
        result = subprocess.run([*map(str, maven(p)), "-q", "quarkus:go-offline", "package"], cwd=p.folder / "project", env=java_home(p),
                                capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"real-programs: mvn could not build the Quarkus application:\n{result.stdout}{result.stderr}")
        done.touch()


def lay_out_quarkus(project):
    shutil.rmtree(project, ignore_errors=True)
    source = project / "src/main/java/org/example/Hello.java"
    source.parent.mkdir(parents=True)
    shutil.copy(DRIVERS / "data/quarkus/Hello.java", source)
    shutil.copy(DRIVERS / "data/quarkus/pom.xml", project)
    return source


def launch_quarkus(p, out, command):
    """In dev mode: Maven's JVM, and the application's, which compiles what has changed."""
    project = out.parent / "project"
    lay_out_quarkus(project)
    return [sys.executable, SESSION, "quarkus", *maven(p), "-ntp", "-f", project / "pom.xml", "quarkus:dev", "-Dquarkus.http.port=@PORT@",
            "-Dquarkus.http.host=127.0.0.1", "-Ddebug=false", "-Dquarkus.analytics.disabled=true", "-Dquarkus.console.color=false", "-Dquarkus.enforceBuildGoal=false"]


def java_home(p):
    return os.environ | {"JAVA_HOME": str(p.jdk.home)}


PROGRAMS = {
    **{f"bank-{name}": allocator(library) for name, library in ALLOCATORS.items()},
    "jpype": Spec(lambda p, out: [], ["org.h2.*", "org.jpype.*"], [H2], 11, None, prepare=prepare_jpype, launch=launch_jpype,
                  environment=lambda p: {"PYTHONPATH": str(p.folder / "python")},
                  lacks=lambda jdk: None if "jdk.zipfs" in jdk.modules else "it has no module jdk.zipfs"),
    "openmp": Spec(lambda p, out: ["OpenMpDriver", p.folder / "libopenmp.so", "6", "50"], ["OpenMpDriver"], [], 11,
                   "drivers/OpenMpDriver.java", prepare=prepare_openmp, lacks=lacks_openmp),
    "security": Spec(lambda p, out: ["SecurityDriver"], ["SecurityDriver*", "org.h2.*"], [H2], 11, "drivers/SecurityDriver.java", newest=23,
                     flags=lambda p: ["-Djava.security.manager=allow"] if p.jdk.feature > 11 else []),
    "devtools": Spec(args_devtools, ["org.springframework.*", "org.apache.*", "DevtoolsDriver*"],
                     ["org.springframework.boot:spring-boot-starter-web:3.5.7", "org.springframework.boot:spring-boot-devtools:3.5.7"],
                     17, "drivers/DevtoolsDriver.java"),
    "opensearch": Spec(lambda p, out: ["OpenSearchDriver", out.parent / "node", "500"], ["org.opensearch.*", "OpenSearchDriver*"],
                       [f"org.opensearch{group}:2.19.6" for group in
                        (":opensearch", ".plugin:transport-netty4-client", ".plugin:analysis-common")] +
                       ["org.apache.logging.log4j:log4j-core:2.25.4"],
                       11, "drivers/OpenSearchDriver.java"),
    "wildfly": Spec(lambda p, out: [], ["org.jboss.*", "org.wildfly.*", "io.undertow.*", "CountServlet*"],
                    ["org.wildfly:wildfly-dist:39.0.1.Final::zip"], 17, None, prepare=prepare_wildfly, launch=launch_wildfly,
                    has_log=True),
    "payara": Spec(lambda p, out: [], ["fish.payara.*", "org.glassfish.*", "com.sun.enterprise.*", "org.apache.*", "org.jboss.*", "CountServlet*"],
                   ["fish.payara.extras:payara-micro:6.2025.10"], 11, None, prepare=functools.partial(prepare_war, SERVLETS), launch=launch_payara,
                   has_log=True),
    "quarkus": Spec(lambda p, out: [], ["io.quarkus.*", "io.vertx.*", "org.jboss.*", "org.example.*"],
                    ["org.apache.maven:apache-maven:3.9.11:bin:zip"], 17, None, prepare=prepare_quarkus,
                    launch=launch_quarkus, environment=java_home, jvms=2, has_log=True),
    # The client, the daemon, a worker for each of three test classes, and the client that stops the
    # daemon; more where the launcher, as Debian's does, asks java for its version first.
    "gradle": Spec(lambda p, out: [], ["org.gradle.*", "Words*", "*Test"], ["junit:junit:4.13.2"], 11, None, newest=17, launch=launch_gradle,
                   environment=lambda p: java_home(p) | {"JUNIT_LIB": str(p.lib)}, jvms=6,
                   lacks=lambda jdk: None if shutil.which("gradle") else "there is no gradle"),
}
