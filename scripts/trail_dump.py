#!/usr/bin/env python3
"""Prints the calls and threads of a trail, as `jtrail dump` does.

    scripts/trail_dump.py FILE

A second reader of the format, written from docs/formats/trail.md alone, with nothing but Python's own library. It reads traces that are sound.
"""

import sys
from pathlib import Path

HEADER = 56
MAGIC = b"\xb5JTR"
DEFINITIONS, EVENTS, INDEX = 1, 2, 3
END = b"JTR end\xb5"
SPECIFICATION = Path(__file__).resolve().parent.parent / "docs/formats/trail.md"


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def wrap(value):
    """A sum as 64 bits hold it, with a sign."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def lz4(block, size):
    out = bytearray()
    at = 0

    def count(first):
        nonlocal at
        more = 255 if first == 15 else 0
        while more == 255:
            more = block[at]
            first += more
            at += 1
        return first

    while True:
        token = block[at]
        at += 1
        literals = count(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        offset = block[at] | block[at + 1] << 8
        at += 2
        length = count(token & 15) + 4
        if not 0 < offset <= len(out):
            raise ValueError("LZ4: an offset of what is not there")
        for _ in range(length):
            out.append(out[-offset])
    if len(out) != size:
        raise ValueError("LZ4: another size than told")
    return bytes(out)


def codes(block, size):
    lengths = [block[byte // 2] >> byte % 2 * 4 & 15 for byte in range(256)]
    table, code, last = {}, 0, 0
    for length, byte in sorted((length, byte) for byte, length in enumerate(lengths) if length):
        code <<= length - last
        table[length, code] = byte
        code, last = code + 1, length
    if code != 1 << last:
        raise ValueError("codes: not all are in use")
    bits = "".join(f"{byte:08b}" for byte in block[128:])
    out = bytearray()
    at = 0
    while len(out) < size:
        end = at + 1
        while (byte := table.get((end - at, int(bits[at:end], 2)))) is None:
            end += 1
            if end > len(bits):
                raise ValueError("codes: less than told")
        out.append(byte)
        at = end
    if len(bits) - at > 7 or "1" in bits[at:]:
        raise ValueError("codes: more than told")
    return bytes(out)


class Bytes:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count):
        if count > self.left():
            raise ValueError("it ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self):
        value = self.number()
        return value >> 1 ^ -(value & 1)


def columns(payload, count):
    sizes = [(payload.number(), payload.number()) for _ in range(count)]

    def column(size, told):
        if told > size:
            return codes(payload.take(told - size), size)
        return lz4(payload.take(told), size) if told < size else payload.take(told)

    return [column(*pair) for pair in sizes]


def records():
    """The table of records, from the specification: by code, the event's name and its fields with their types."""
    table = {}
    for line in SPECIFICATION.read_text().split("\n## Records\n")[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].isdigit():
            fields = [field.replace("`", "").split(" ", 1) for field in cells[2].split(", ")]
            table[int(cells[0])] = (cells[1], fields)
    return table


RECORDS = records()
COMPOUND = {
    "frame": ["text", "signed"],
    "member": ["text", "text", "number"],
    "range": ["signed", "frames"],
    "line count": ["number", "number"],
    "live class": ["number", "number", "number"],
}
LISTS = {
    "texts": "text",
    "frames": "frame",
    "members": "member",
    "ranges": "range",
    "line counts": "line count",
    "live classes": "live class",
}


class Thread:
    """What a thread is at, within a segment."""

    def __init__(self, number, base, ticket, depth):
        self.number, self.time, self.ticket, self.depth = number, base, ticket, depth
        self.object = self.cpu = self.history = 0
        self.open = []

    def happened(self, value):
        mixed = (value * 0x9E3779B1 % (1 << 32)) >> 17
        self.history = (self.history << 5 ^ mixed) % (1 << 15)

    def enter(self, symbol, method, owner, ticket, depth):
        self.ticket, self.depth = ticket, depth
        self.open.append((symbol, method, owner, ticket))
        self.happened(2 * symbol)

    def leave(self):
        self.depth -= 1
        symbol = self.open.pop()[0] if self.open else 0
        self.happened(2 * symbol + 1)


class Segment:
    """A segment of events."""

    def __init__(self, payload, events):
        threads, symbols, runs, self.hits, misses, times, fields = columns(payload, 7)
        self.events = events
        self.runs, self.misses, self.times, self.fields = map(Bytes, (runs, misses, times, fields))
        self.texts = []
        table = Bytes(threads)
        base = table.signed()
        self.has_cpu = table.byte() != 0
        self.threads = []
        number = 0
        for _ in range(table.number()):
            number = (number + table.signed()) % (1 << 64)
            table.number()
            ticket, depth = table.number(), table.signed()
            self.threads.append(Thread(number, base, ticket, depth))
        self.symbols = [None]
        table = Bytes(symbols)
        while table.left():
            tag = table.byte()
            self.symbols.append(("enter", table.number(), table.number()) if tag == 0 else ("record", tag))

    def __iter__(self):
        foreseen = [0] * (1 << 15)
        run, thread = 0, None
        for event in range(self.events):
            while run == 0:
                thread = self.threads[self.runs.number()]
                run = self.runs.number()
            run -= 1
            if not self.hits[event // 8] >> event % 8 & 1:
                foreseen[thread.history] = self.misses.number()
            yield self.event(thread, foreseen[thread.history])

    def event(self, thread, symbol):
        kind = self.symbols[symbol]
        if symbol == 0 or kind == ("record", 0xFF):
            self.step(thread)
            _, method, owner, ticket = thread.open[-1]
            thread.leave()
            return "MethodLeave", {
                "thread": thread.number,
                "time": thread.time,
                "method": method,
                "class": owner,
                "ticket": ticket,
                "cpu_time": thread.cpu if self.has_cpu else 0,
                "by_exception": int(symbol != 0),
            }
        if kind[0] == "enter":
            self.step(thread)
            _, method, owner = kind
            ticket, depth = (thread.ticket + 1) % (1 << 32), thread.depth + 1
            thread.enter(symbol, method, owner, ticket, depth)
            return "MethodEnter", {
                "thread": thread.number,
                "time": thread.time,
                "method": method,
                "class": owner,
                "ticket": ticket,
                "cpu_time": thread.cpu if self.has_cpu else 0,
                "stack_depth": depth,
            }
        name, fields = RECORDS[kind[1]]
        event = {field: self.field(of, thread) for field, of in fields}
        if name == "MethodEnter":
            thread.enter(symbol, event["method"], event["class"], event["ticket"], event["stack_depth"])
        elif name == "MethodLeave":
            thread.leave()
        else:
            thread.happened(2 * symbol)
        return name, event

    def step(self, thread):
        """The time of a call, and its CPU time."""
        step = self.times.byte()
        if step == 255:
            step = self.times.signed()
        elif step >= 240:
            step = 240 + 256 * (step - 240) + self.times.byte()
        thread.time = wrap(thread.time + step)
        if self.has_cpu:
            thread.cpu = wrap(thread.cpu + self.fields.signed())

    def field(self, of, thread):
        data = self.fields
        if of == "number":
            return data.number()
        if of == "signed":
            return data.signed()
        if of == "byte":
            return data.byte()
        if of == "ticks":
            return data.number() + 1
        if of == "thread":
            return (thread.number + data.signed()) % (1 << 64)
        if of == "time":
            thread.time = wrap(thread.time + data.signed())
            return thread.time
        if of == "object":
            difference = data.signed()
            if difference == 0:
                return 0
            thread.object = (thread.object + difference) % (1 << 64) or thread.object
            return thread.object
        if of == "text":
            length = data.number()
            if length & 1:
                return self.texts[length >> 1]
            text = data.take(length >> 1).decode()
            if text:
                self.texts.append(text)
            return text
        if of in COMPOUND:
            return [self.field(part, thread) for part in COMPOUND[of]]
        return [self.field(LISTS[of], thread) for _ in range(data.number())]


def events(trace):
    """The events of a trace that is sound and whole."""
    at = number = before = 0
    which = None
    while at < len(trace):
        header = trace[at : at + HEADER]
        word = lambda place, size=4: int.from_bytes(header[place : place + size], "little")
        if header[:4] != MAGIC or crc32c(header[:52]) != word(52):
            raise ValueError(f"at byte {at}: no header")
        if header[4] not in (1, 2):
            raise ValueError(f"version {header[4]}")
        payload = trace[at + HEADER : at + HEADER + word(12)]
        if len(payload) != word(12) or crc32c(payload) != word(16):
            raise ValueError(f"at byte {at}: damaged")
        if word(8) != number or word(24, 8) != before:
            raise ValueError(f"at byte {at}: something is missing")
        if number == 1 and word(48):
            which = word(16)
        if number > 0 and which is not None and word(48) != which:
            raise ValueError(f"at byte {at}: of another trace")
        if header[5] == EVENTS:
            yield from Segment(Bytes(payload), word(20))
        if header[5] == INDEX and payload.endswith(END) and at + HEADER + len(payload) == len(trace):
            return
        at += HEADER + word(12)
        number += 1
        before += word(20)
    raise ValueError("it breaks off")


def quoted(text):
    def character(c):
        if c in '"\\':
            return "\\" + c
        if c == "\n":
            return "\\n"
        return f"\\u{{{ord(c):x}}}" if ord(c) < 32 or 127 <= ord(c) < 160 else c

    plain = text and not any(c.isspace() or c in '"\\' or character(c) != c for c in text)
    return text if plain else '"' + "".join(map(character, text)) + '"'


def seconds(ns):
    return f"{'-' if ns < 0 else ''}{abs(ns) // 10**9}.{abs(ns) % 10**9:09}"


def dump(trace, write):
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    try:
        dump(Path(sys.argv[1]).read_bytes(), sys.stdout.write)
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"trail_dump: {error}")


if __name__ == "__main__":
    main()
