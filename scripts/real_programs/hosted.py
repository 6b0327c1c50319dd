"""Programs whose JVM is in special company. Another process starts it; it has another allocator,
OpenMP or a security manager; or it is a server that deploys and restarts applications."""

import functools
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from real_programs.spec import DATA, JAVA, Spec
from support import downloads, paths
from support.downloads import H2
from support.errors import Unavailable
from support.java import compile_java
from support.processes import environment

SESSION = Path(__file__).with_name("session.py")
GRADLE = Path(__file__).with_name("gradle.py")
SERVLETS = "jakarta.servlet:jakarta.servlet-api:6.0.0"
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


def no_arguments(program, out):
    return []


def bank(program, out):
    return ["H2Driver", "4", "200"]


def shared_library(name):
    """The path of a library that the system's linker finds, or None."""
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    cache = subprocess.run([ldconfig, "-p"], capture_output=True, text=True).stdout if ldconfig else ""
    found = re.search(rf"^\s*{re.escape(name)} .*x86-64.* => (\S+)$", cache, re.M) or \
        re.search(rf"^\s*{re.escape(name)} .* => (\S+)$", cache, re.M)
    return found and found[1]


def allocator(library):
    """The bank's program with another allocator in place of the C library's."""
    return Spec(bank, ["org.h2.*", "H2Driver*"], [H2], JAVA / "H2Driver.java",
                environment=lambda program: {"LD_PRELOAD": shared_library(library)},
                lacks=lambda jdk: None if shared_library(library) else f"no {library} on this machine")


def prepare_jpype(program):
    downloads.pip_install(program.folder / "python", "jpype1==1.7.1")


def launch_jpype(program, out, command):
    """Python, which starts the JVM. The JVM's options are those that the command has between java
    and its class path."""
    options = command[1:command.index("-cp")]
    class_path = command[command.index("-cp") + 1]
    return [sys.executable, DATA / "jpype_script.py", program.jdk.home / "lib/server/libjvm.so", class_path, *options]


def openmp(program, out):
    return ["OpenMpDriver", program.folder / "libopenmp.so", "6", "50"]


def prepare_openmp(program):
    headers = program.jdk.home / "include"
    subprocess.run(["gcc", "-O2", "-fopenmp", "-shared", "-fPIC", f"-I{headers}", f"-I{headers}/linux",
                    str(DATA / "openmp.c"), "-o", str(program.folder / "libopenmp.so")], check=True)


def lacks_openmp(jdk):
    if not shutil.which("gcc"):
        return "there is no gcc"
    return None if (jdk.home / "include/jni.h").is_file() else "the JDK has no jni.h"


def security(program, out):
    return ["SecurityDriver"]


def allow_security_manager(program):
    return ["-Djava.security.manager=allow"] if program.jdk.feature > 11 else []


def devtools(program, out):
    watched = out.parent / "watched"
    watched.mkdir()
    settings = {"spring.devtools.restart.additional-paths": watched, "spring.devtools.restart.poll-interval": "300ms",
                "spring.devtools.restart.quiet-period": "100ms", "spring.main.banner-mode": "off",
                "logging.level.root": "off", "server.port": "0", "server.address": "127.0.0.1", "starts": "3"}
    return ["DevtoolsDriver", *(f"--{name}={value}" for name, value in settings.items())]


def opensearch(program, out):
    return ["OpenSearchDriver", out.parent / "node", "500"]


def prepare_war(servlets, program):
    """Compiles and packs the application that servers deploy, with an API of servlets."""
    classes = program.folder / "web-classes"
    api = downloads.fetch(program.folder / "api", [servlets])
    compile_java(program.jdk, paths.JAVA / "web", sorted(api.glob("*.jar")), classes)
    build_war(classes, {}, program.folder / "web.war")


def build_war(classes, files, war):
    """Packs these classes, and files by their name in the archive, as a web application."""
    with zipfile.ZipFile(war, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, f"WEB-INF/classes/{path.relative_to(classes)}")
        for name, text in files.items():
            archive.writestr(name, text)
    return war


def prepare_wildfly(program):
    prepare_war(SERVLETS, program)
    downloads.unzip(next(program.library.glob("wildfly-dist-*.zip")), program.folder / "dist")


def launch_wildfly(program, out, command):
    """What the server's own script starts, with fresh files for each run."""
    home, = (program.folder / "dist").iterdir()
    base = out.parent / "standalone"
    shutil.copytree(home / "standalone", base)
    shutil.copy(program.folder / "web.war", base / "deployments/web.war")
    opened = ["java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.security", "java.util",
              "java.util.concurrent"]
    return [sys.executable, SESSION, "wildfly", *command,
            "-Djava.net.preferIPv4Stack=true", "-Djboss.modules.system.pkgs=org.jboss.byteman",
            "--add-exports=java.desktop/sun.awt=ALL-UNNAMED",
            "--add-exports=java.naming/com.sun.jndi.ldap=ALL-UNNAMED",
            *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in opened),
            "-jar", home / "jboss-modules.jar", "-mp", home / "modules", "org.jboss.as.standalone",
            f"-Djboss.home.dir={home}", f"-Djboss.server.base.dir={base}", "-b=127.0.0.1", "-bmanagement=127.0.0.1",
            "-Djboss.http.port=@PORT@", "-Djboss.https.port=0", "-Djboss.management.http.port=0",
            "-Djboss.ajp.port=0", "-Djboss.management.https.port=0"]


def launch_payara(program, out, command):
    jar = next(program.library.glob("payara-micro-*.jar"))
    shutil.copy(program.folder / "web.war", out.parent / "web.war")
    options = command[:command.index("-cp")]
    # A line for each record, with its level. This also holds for records that are logged after the
    # server's logging configuration is closed.
    one_line = "-Djava.util.logging.SimpleFormatter.format=- %4$s %3$s %5$s%6$s%n"
    return [sys.executable, SESSION, "payara", *options, one_line, "-jar", jar, "--nocluster", "--nohazelcast",
            "--rootdir", out.parent / "root", "--name", "jtrail", "--logproperties", DATA / "payara.logging.properties",
            "--port", "@PORT@", "--deploy", out.parent / "web.war"]


def java_home(program):
    return {"JAVA_HOME": str(program.jdk.home)}


def maven(program):
    """The command of a Maven that is new enough for Quarkus. sh runs it, because unpacked files are
    not executable."""
    archive = next(program.library.glob("apache-maven-*.zip"))
    home, = downloads.unzip(archive, program.folder / "maven").iterdir()
    return ["sh", home / "bin/mvn", "-B"]


def prepare_quarkus(program):
    """Builds the application once, which fetches most of what the runs need."""
    done = program.folder / "built"
    if not done.is_file():
        lay_out_quarkus(program.folder / "project")
        result = subprocess.run([*map(str, maven(program)), "-q", "quarkus:go-offline", "package"],
                                cwd=program.folder / "project", env=environment(**java_home(program)),
                                capture_output=True, text=True)
        if result.returncode != 0:
            raise Unavailable(f"mvn cannot build the Quarkus application:\n{result.stdout}{result.stderr}")
        done.touch()


def lay_out_quarkus(project):
    shutil.rmtree(project, ignore_errors=True)
    source = project / "src/main/java/org/example/Hello.java"
    source.parent.mkdir(parents=True)
    shutil.copy(DATA / "quarkus/Hello.java", source)
    shutil.copy(DATA / "quarkus/pom.xml", project)


def launch_quarkus(program, out, command):
    """Development mode. Maven's JVM starts the application's JVM, which compiles what has
    changed."""
    project = out.parent / "project"
    lay_out_quarkus(project)
    return [sys.executable, SESSION, "quarkus", *maven(program), "-ntp", "-f", project / "pom.xml", "quarkus:dev",
            "-Dquarkus.http.port=@PORT@", "-Dquarkus.http.host=127.0.0.1", "-Ddebug=false",
            "-Dquarkus.analytics.disabled=true", "-Dquarkus.console.color=false", "-Dquarkus.enforceBuildGoal=false"]


def launch_gradle(program, out, command):
    return [sys.executable, GRADLE, out.parent / "work", DATA / "gradle"]


PROGRAMS = {
    **{f"bank-{name}": allocator(library) for name, library in ALLOCATORS.items()},
    "jpype": Spec(no_arguments, ["org.h2.*", "org.jpype.*"], [H2], prepare=prepare_jpype, launch=launch_jpype,
                  environment=lambda program: {"PYTHONPATH": str(program.folder / "python")},
                  lacks=lambda jdk: None if "jdk.zipfs" in jdk.modules else "it has no module jdk.zipfs"),
    "openmp": Spec(openmp, ["OpenMpDriver"], sources=JAVA / "OpenMpDriver.java", prepare=prepare_openmp,
                   lacks=lacks_openmp),
    "security": Spec(security, ["SecurityDriver*", "org.h2.*"], [H2], JAVA / "SecurityDriver.java", newest=23,
                     flags=allow_security_manager),
    "devtools": Spec(devtools, ["org.springframework.*", "org.apache.*", "DevtoolsDriver*"],
                     ["org.springframework.boot:spring-boot-starter-web:3.5.7",
                      "org.springframework.boot:spring-boot-devtools:3.5.7"],
                     JAVA / "DevtoolsDriver.java", oldest=17),
    "opensearch": Spec(opensearch, ["org.opensearch.*", "OpenSearchDriver*"],
                       ["org.opensearch:opensearch:2.19.6", "org.opensearch.plugin:transport-netty4-client:2.19.6",
                        "org.opensearch.plugin:analysis-common:2.19.6", "org.apache.logging.log4j:log4j-core:2.25.4"],
                       JAVA / "OpenSearchDriver.java"),
    "wildfly": Spec(no_arguments, ["org.jboss.*", "org.wildfly.*", "io.undertow.*", "CountServlet*"],
                    ["org.wildfly:wildfly-dist:39.0.1.Final::zip"], oldest=17, prepare=prepare_wildfly,
                    launch=launch_wildfly, has_log=True),
    "payara": Spec(no_arguments, ["fish.payara.*", "org.glassfish.*", "com.sun.enterprise.*", "org.apache.*",
                                  "org.jboss.*", "CountServlet*"],
                   ["fish.payara.extras:payara-micro:6.2025.10"], prepare=functools.partial(prepare_war, SERVLETS),
                   launch=launch_payara, has_log=True),
    "quarkus": Spec(no_arguments, ["io.quarkus.*", "io.vertx.*", "org.jboss.*", "org.example.*"],
                    ["org.apache.maven:apache-maven:3.9.11:bin:zip"], oldest=17, prepare=prepare_quarkus,
                    launch=launch_quarkus, environment=java_home, jvms=2, has_log=True),
    # Six JVMs: the client, the daemon, a worker for each of three test classes, and the client that
    # stops the daemon. Debian's launcher asks java for its version first, which adds JVMs.
    "gradle": Spec(no_arguments, ["org.gradle.*", "Words*", "*Test"], ["junit:junit:4.13.2"], newest=17,
                   launch=launch_gradle, jvms=6,
                   environment=lambda program: java_home(program) | {"JUNIT_LIB": str(program.library)},
                   lacks=lambda jdk: None if shutil.which("gradle") else "there is no gradle"),
}
