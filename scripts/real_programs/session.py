"""Starts a server, asks for pages, has it redeploy an application, and stops it. A program of its
own, run by path.

Arguments: the server's kind, then its command, in which @PORT@ stands for a free port. Standard
output has only the answers; the server's output goes to standard error. The exit code is the
server's, or 0 if a JVM ended because it was told to.
"""

import http.client
import http.cookiejar
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE = 300  # seconds, for a server that is traced in full on a busy machine


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class NoAnswer(Exception):
    """An expected event does not happen."""


class Session:
    """A server's process, and a client of it that keeps its cookies."""

    def __init__(self, command):
        self.port = free_port()
        self.process = subprocess.Popen([word.replace("@PORT@", str(self.port)) for word in command],
                                        stdin=subprocess.PIPE, stdout=sys.stderr)
        self.client = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def get(self, path):
        """Returns a page's status and text. The text of an error page is empty."""
        try:
            with self.client.open(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def wait_until(self, condition, otherwise):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                raise NoAnswer(otherwise)
            time.sleep(0.1)

    def wait_for(self, path, status=200, text=""):
        """Waits until a page has this status and contains this text."""
        def is_as_wanted():
            try:
                found = self.get(path)
                return found[0] == status and text in found[1]
            except (OSError, http.client.HTTPException):
                return False  # the server does not listen yet
        self.wait_until(is_as_wanted, f"no {status} of {path}")

    def say(self, *paths):
        for path in paths:
            try:
                print(path, *self.get(path), flush=True)
            except (OSError, http.client.HTTPException) as error:
                print(path, "no answer:", type(error).__name__, flush=True)

    def pages(self, base, rounds=10):
        for number in range(rounds):
            self.say(f"{base}/count/b/{number}/a", f"{base}/count/fail", f"{base}/nowhere")

    def end(self):
        stopped = self.process.poll() is None
        if stopped:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none: it had to be killed"
        print("exit", code)
        if stopped and code == 128 + signal.SIGTERM:
            return 0
        return code if isinstance(code, int) and code >= 0 else 1


def payara(session, _):
    session.wait_for("/web/count/x")
    session.pages("/web")


def wildfly(session, command):
    """Has the application redeployed twice, by the marker files of the server's scanner."""
    base = next(word.partition("=")[2] for word in command if word.startswith("-Djboss.server.base.dir="))
    deployments = Path(base) / "deployments"
    for round_ in range(3):
        # No page is requested in between: at different moments of a deployment, a server logs
        # different things about a request.
        marker = deployments / "web.war.deployed"
        session.wait_until(marker.exists, "the application is not deployed")
        session.wait_for("/web/count/x")
        session.pages("/web")
        marker.unlink()  # undeploys it
        session.wait_until((deployments / "web.war.undeployed").exists, "the application is not undeployed")
        session.wait_for("/web/count/x", 404)
        if round_ < 2:
            (deployments / "web.war.dodeploy").touch()


def quarkus(session, command):
    """Changes the source of a running application, in development mode."""
    source = Path(command[command.index("-f") + 1]).parent / "src/main/java/org/example/Hello.java"
    for number in range(3):
        session.wait_for("/hello", 200, f"hello {number}")
        session.say("/hello", "/hello/fail", "/nowhere")
        text = source.read_text()
        changed = text.replace(f"hello {number}", f"hello {number + 1}")
        part = source.with_suffix(".part")
        part.write_text(changed)
        os.utime(part, (time.time() + 2, time.time() + 2))
        shutil.move(part, source)


def main():
    kind, *command = sys.argv[1:]
    session = Session(command)
    code = 0
    try:
        {"payara": payara, "wildfly": wildfly, "quarkus": quarkus}[kind](session, command)
    except NoAnswer as error:
        print(error, flush=True)
        code = 1
    finally:
        code = session.end() or code
    sys.exit(code)


if __name__ == "__main__":
    main()
