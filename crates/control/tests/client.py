"""A client of jtrail's command channel, written from docs/control.md alone.

    client.py SOCKET

Obeys the lines of its input, one after the other, and answers each with one line, which begins with the line's number:

    <COMMAND .../>    sends a command, and prints the answer
    negotiate WORD    asks for a format of the data, and prints the one that they will have
    await NOTICE      waits for a notice of that name that was not printed yet, and prints it
    save FILE         waits until a trace of the data stream has ended, and puts the oldest one that is not saved into a file
    closed            waits until the agent has closed the connection

Data and notices are taken as they come, also between two lines. A client that never negotiates is an old one: its data are XML.
"""

import os
import select
import socket
import struct
import sys
import xml.etree.ElementTree as ET

COMMAND, ANSWER, DATA, NOTICE = 1, 2, 3, 4
LIMITS = {ANSWER: 65536, DATA: 262144, NOTICE: 65536}
FORMATS = {"xml", "binary", "jinsight", "mlpd", "tracelog", "profilerj", "trail"}
# How old specifications end the answer to setOutputFormat, and what they mean.
MISPRINT, MEANT = "</format><enabledOutputFormat>", "</format></enabledOutputFormat>"
# Seconds that the agent may take for an answer.
PATIENCE = 120


class Closed(Exception):
    """The agent has closed the connection."""


class Client:
    """One connection."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.next = 0
        self.notices = []
        self.data = bytearray()
        self.traces = []
        self.is_closed = False

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
        try:
            magic, kind, reserved, length = struct.unpack("<2sBBI", self.read(8))
            if magic != b"JT" or reserved or length > LIMITS.get(kind, -1):
                raise ValueError(f"no frame: {magic} {kind} {reserved} {length}")
            return kind, self.read(length)
        except (Closed, ConnectionError):
            self.is_closed = True
            raise Closed from None

    def step(self):
        """Takes one frame. Data and notices are kept; the text of an answer is returned."""
        kind, payload = self.frame()
        if kind == DATA:
            self.data += payload
            return None
        text = payload.decode("utf-8")
        if kind == ANSWER:
            return text
        notice = ET.fromstring(text)
        self.notices.append(notice)
        # All the data of a trace come before its end is told, and none of the next one's.
        if notice.tag == "traceEnded" and notice.get("to") == "stream" and self.data:
            self.traces.append(bytes(self.data))
            self.data.clear()
        return None

    def call(self, element):
        """Sends a command, and waits for the text of its answer."""
        self.next += 1
        element.set("id", str(self.next))
        document = ET.tostring(element)
        self.socket.sendall(struct.pack("<2sBBI", b"JT", COMMAND, 0, len(document)) + document)
        while True:
            # Answers come in the order of the commands, and this is the only one that waits for
            # one.
            answer = self.step()
            if answer is not None:
                return answer

    def negotiate(self, word):
        """Asks for a format. Answers the one to read: XML, unless the agent has well understood and said another one."""
        request = ET.Element("setOutputFormat")
        ET.SubElement(request, "format").text = word
        text = self.call(request).strip()
        if text.endswith(MISPRINT):
            text = text[: -len(MISPRINT)] + MEANT
        try:
            answer = ET.fromstring(text)
        except ET.ParseError:
            return "xml"
        agreed = (answer.findtext("format") or "").strip() if answer.tag == "enabledOutputFormat" else ""
        return agreed if agreed in FORMATS else "xml"

    def notice(self, name):
        """The first notice of that name, which is then forgotten."""
        while True:
            for place, notice in enumerate(self.notices):
                if notice.tag == name:
                    return self.notices.pop(place)
            self.step()

    def trace(self):
        """The data of the oldest trace that has ended, which are then forgotten."""
        while not self.traces:
            self.step()
        return self.traces.pop(0)

    def wait_until_closed(self):
        while not self.is_closed:
            try:
                self.step()
            except Closed:
                pass

    def obey(self, line):
        """What to answer to a line of the input."""
        verb, _, rest = line.partition(" ")
        if line.startswith("<"):
            return self.call(ET.fromstring(line))
        if verb == "negotiate":
            return self.negotiate(rest)
        if verb == "await":
            return ET.tostring(self.notice(rest), encoding="unicode")
        if verb == "save":
            data = self.trace()
            with open(rest, "wb") as out:
                out.write(data)
            return f"{len(data)} bytes"
        if verb == "closed":
            self.wait_until_closed()
            return verb
        raise ValueError(f"no such step: {line}")

    def lines(self, source):
        """Lines that come from a descriptor. What the agent sends meanwhile is taken."""
        waiting = b""
        while True:
            ready, _, _ = select.select([source] if self.is_closed else [source, self.socket], [], [])
            if source not in ready:
                try:
                    self.step()
                except Closed:
                    pass
                continue
            some = os.read(source, 65536)
            if not some:
                return
            *whole, waiting = (waiting + some).split(b"\n")
            for line in whole:
                yield line.decode("utf-8")


def main(path):
    client = Client(path)
    for number, line in enumerate(client.lines(sys.stdin.fileno()), 1):
        print(f"[{number}]", " ".join(client.obey(line).split("\n")), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
