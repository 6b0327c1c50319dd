"""Fetches programs from package registries by their usual clients, once."""

import shutil
import subprocess
import sys
import zipfile

from support.errors import Unavailable
from support.processes import require

MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
H2 = "com.h2database:h2:2.3.232"
TOMCAT = "org.apache.tomcat.embed:tomcat-embed-core:10.1.40"


def fetch(folder, artifacts):
    """Returns the folder with the jars of artifacts of Maven Central and of their dependencies.

    An artifact is `group:name:version[:classifier[:type]]`. One with a type is fetched without
    dependencies.
    """
    library = folder / "lib"
    done = folder / "fetched"
    wanted = "\n".join(artifacts)
    library.mkdir(parents=True, exist_ok=True)
    if not artifacts or (done.is_file() and done.read_text() == wanted):
        return library
    shutil.rmtree(library)
    (folder / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>jtrail</groupId><artifactId>fetch</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{''.join(map(_dependency, artifacts))}</dependencies></project>")
    command = ["mvn", "-q", "-B", "-f", folder / "pom.xml", MAVEN_COPY, f"-DoutputDirectory={library}"]
    require(command, f"mvn cannot fetch {' '.join(artifacts)}")
    done.write_text(wanted)
    return library


def _dependency(artifact):
    """An artifact as an element of a POM."""
    group, name, version, classifier, kind = (artifact.split(":") + ["", ""])[:5]
    text = f"<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
    if classifier:
        text += f"<classifier>{classifier}</classifier>"
    if kind:
        everything = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
        text += f"<type>{kind}</type><exclusions>{everything}</exclusions>"
    return f"<dependency>{text}</dependency>"


def fetch_jar(folder, artifact):
    """Returns the jar of one artifact of Maven Central, without its dependencies."""
    group, name, version, classifier = (artifact.split(":") + [""])[:4]
    library = fetch(folder / name, [f"{group}:{name}:{version}:{classifier}:jar"])
    return next(library.glob("*.jar"))


def fetch_debian(folder, package):
    """Returns the folder with the files of a Debian package, which is unpacked and not
    installed."""
    unpacked = folder / package
    if not unpacked.is_dir():
        part = unpacked.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        require(["apt-get", "download", "-q", package], f"apt-get cannot fetch {package}", cwd=part)
        require(["dpkg-deb", "-x", next(part.glob("*.deb")), part], f"dpkg-deb cannot unpack {package}")
        part.rename(unpacked)
    return unpacked


def pip_install(folder, package):
    """Returns the folder with a package from PyPI."""
    done = folder / "fetched"
    if not (done.is_file() and done.read_text() == package):
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), package]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise Unavailable(f"pip cannot install {package}:\n{result.stdout}{result.stderr}")
        done.write_text(package)
    return folder


def unzip(archive, folder, wanted=lambda name: True):
    """Unpacks the wanted entries of a zip file, once. Returns the folder."""
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        with zipfile.ZipFile(archive) as file:
            file.extractall(part, [name for name in file.namelist() if wanted(name)])
        part.rename(folder)
    return folder
