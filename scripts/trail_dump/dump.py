"""The events of a trail, and their text."""

from trail_dump.segments import EarlierSegment, Segment
from trail_dump.values import Bytes, crc32c

HEADER = 56
MAGIC = b"\xb5JTR"
EVENTS, INDEX = 2, 3
END = b"JTR end\xb5"


def events(trace):
    """Yields the events of a trace that is sound and complete."""
    at = number = before = 0
    which = None
    while at < len(trace):
        header = trace[at : at + HEADER]
        word = lambda place, size=4: int.from_bytes(header[place : place + size], "little")
        if header[:4] != MAGIC or crc32c(header[:52]) != word(52):
            raise ValueError(f"at byte {at}: invalid header")
        if header[4] not in (1, 2, 3):
            raise ValueError(f"unknown version {header[4]}")
        payload = trace[at + HEADER : at + HEADER + word(12)]
        if len(payload) != word(12) or crc32c(payload) != word(16):
            raise ValueError(f"at byte {at}: wrong checksum")
        if word(8) != number or word(24, 8) != before:
            raise ValueError(f"at byte {at}: a segment is missing")
        if number == 1 and word(48):
            which = word(16)
        if number > 0 and which is not None and word(48) != which:
            raise ValueError(f"at byte {at}: a segment of another trace")
        if header[5] == EVENTS:
            yield from (Segment if header[4] == 3 else EarlierSegment)(Bytes(payload), word(20))
        if header[5] == INDEX and payload.endswith(END) and at + HEADER + len(payload) == len(trace):
            return
        at += HEADER + word(12)
        number += 1
        before += word(20)
    raise ValueError("truncated: the index at the end is missing")


def quoted(text):
    """A text as `jtrail dump` prints it: in quotes if it is not a plain word."""

    def character(c):
        if c in '"\\':
            return "\\" + c
        if c == "\n":
            return "\\n"
        return f"\\u{{{ord(c):x}}}" if ord(c) < 32 or 127 <= ord(c) < 160 else c

    plain = text and not any(c.isspace() or c in '"\\' or character(c) != c for c in text)
    return text if plain else '"' + "".join(map(character, text)) + '"'


def seconds(ns):
    """A time in seconds, with all digits."""
    return f"{'-' if ns < 0 else ''}{abs(ns) // 10**9}.{abs(ns) % 10**9:09}"


def dump(trace, write):
    """Writes the calls and threads of a trace, a line each."""
    classes, methods = {}, {}
    first = None

    def method(number):
        if number not in methods:
            return f"method-{number}"
        owner, name = methods[number]
        return quoted(f"{classes.get(owner, f'class-{owner}')}.{name}")

    for name, event in events(trace):
        time = event.get("time")
        if first is None and time:
            first = time
        head = f"{seconds(time - (first or 0))} #{event['thread']}" if "thread" in event and time is not None else ""
        if name == "ClassDef":
            classes[event["class"]] = event["name"]
        elif name == "MethodDef":
            methods[event["method"]] = event["class"], event["name"] + event["signature"]
        elif name == "MethodEnter":
            cpu = f" cpu={seconds(event['cpu_time'])}" if event["cpu_time"] else ""
            write(f"{head} enter {method(event['method'])} ticket={event['ticket']} depth={event['stack_depth']}{cpu}\n")
        elif name == "MethodLeave":
            cpu = f" cpu={seconds(event['cpu_time'])}" if event["cpu_time"] else ""
            exception = " exception=true" if event["by_exception"] else ""
            write(f"{head} leave {method(event['method'])} ticket={event['ticket']}{cpu}{exception}\n")
        elif name == "ThreadStart":
            name, group, parent = (quoted(event[key]) for key in ("name", "group", "parent_group"))
            write(f"{head} thread-start name={name} group={group} parent={parent} object={event['object']}\n")
        elif name == "ThreadEnd":
            write(f"{head} thread-end\n")
