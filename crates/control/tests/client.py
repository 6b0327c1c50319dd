"""A client of jtrail's command channel, written from docs/control.md alone.

    client.py SOCKET COMMAND [SECONDS FILE]

Sends one command (XML) and prints its answer. With SECONDS and FILE it takes the data stream first, sends the command (a
start, after any setOutputFormat that stands before it), writes the data to FILE for that long, and stops. Several commands
may be joined with a line feed; they are sent in order. Exits with 1 when an answer is an error.
"""

import socket
import struct
import sys
import time
import xml.etree.ElementTree as ET

COMMAND, ANSWER, DATA, NOTICE = 1, 2, 3, 4
LIMITS = {ANSWER: 65536, DATA: 262144, NOTICE: 65536}


class Closed(Exception):
    """The agent has closed the connection."""


class Client:
    """One connection."""

    def __init__(self, path, timeout=10.0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.next = 0
        self.notices = []
        self.data = bytearray()

    def read(self, size):
        parts = []
        while size:
            part = self.socket.recv(min(size, 65536))
            if not part:
                raise Closed
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def frame(self):
        """The next frame: kind and payload."""
        magic, kind, reserved, length = struct.unpack("<2sBBI", self.read(8))
        if magic != b"JT" or reserved or length > LIMITS.get(kind, -1):
            raise ValueError(f"no frame: {magic} {kind} {reserved} {length}")
        return kind, self.read(length)

    def send(self, element):
        """Sends a command, and gives it an id."""
        self.next += 1
        element.set("id", str(self.next))
        document = ET.tostring(element)
        self.socket.sendall(struct.pack("<2sBBI", b"JT", COMMAND, 0, len(document)) + document)
        return str(self.next)

    def step(self):
        """Takes one frame. Data and notices are kept; an answer is returned."""
        kind, payload = self.frame()
        if kind == DATA:
            self.data += payload
            return None
        text = payload.decode("utf-8").strip()
        end = "<enabledOutputFormat>"
        if text.endswith(end):
            text = text[: -len(end)] + "</enabledOutputFormat>"
        element = ET.fromstring(text)
        if kind == NOTICE:
            self.notices.append(element)
            return None
        return element

    def call(self, element):
        """Sends a command, and waits for its answer."""
        wanted = self.send(element)
        while True:
            answer = self.step()
            if answer is not None and answer.get("id") in (wanted, None):
                return answer

    def take_until(self, end):
        """Takes what comes until a time."""
        timeout = self.socket.gettimeout()
        try:
            while (left := end - time.monotonic()) > 0:
                # Only between frames: one that has begun is read to its end.
                self.socket.settimeout(left)
                try:
                    if not self.socket.recv(1, socket.MSG_PEEK):
                        raise Closed
                except TimeoutError:
                    return
                self.socket.settimeout(timeout)
                self.step()
        finally:
            self.socket.settimeout(timeout)


def main(path, commands, seconds=None, file=None):
    client = Client(path)
    failed = False

    def call(text):
        nonlocal failed
        answer = client.call(ET.fromstring(text))
        failed |= answer.tag == "error"
        print(ET.tostring(answer, encoding="unicode"), flush=True)

    if seconds is not None:
        call("<stream/>")
    for command in commands.split("\n"):
        call(command)
    if seconds is not None:
        client.take_until(time.monotonic() + float(seconds))
        call("<stop/>")
        with open(file, "wb") as out:
            out.write(client.data)
    for notice in client.notices:
        print("notice " + ET.tostring(notice, encoding="unicode"))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
