#!/usr/bin/env python3
"""Prints the calls and threads of a trail, as `jtrail dump` does.

    scripts/trail_dump.py FILE

A second reader of the format, written from docs/formats/trail.md alone, with nothing but Python's own library. It reads traces that are sound.
"""

import sys
from pathlib import Path

import zstd_frames

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


def columns(payload, count, version):
    sizes = [(payload.number(), payload.number()) for _ in range(count)]

    def column(size, told):
        if version < 3:
            way = 1 if told < size else 2 if told > size else 0
            stored = told - size if way == 2 else told
        else:
            way, stored = told % 4, told // 4
        data = payload.take(stored)
        if way == 0 and stored != size:
            raise ValueError("a column of another size than told")
        return data if way == 0 else [lz4, codes, zstd_frames.read][way - 1](data, size)

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
        self.object = self.cpu = 0
        self.open = []

    def enter(self, method, owner, ticket, depth):
        self.ticket, self.depth = ticket, depth
        self.open.append((method, owner, ticket))

    def leave(self, call):
        """A call ends by a record."""
        self.depth -= 1
        for at in range(len(self.open) - 1, max(len(self.open) - 257, -1), -1):
            if self.open[at] == call:
                del self.open[at:]
                return


class Segment:
    """A segment of events."""

    # Steps of time below it are one byte.
    ONE = 239

    def __init__(self, payload, events):
        threads, open_calls, symbols, runs, tokens, times, fields = columns(payload, 7, 3)
        self.read(threads, symbols, runs, times, fields)
        table = Bytes(open_calls)
        for thread in self.threads:
            # Which other list has the calls around these, and how many it has: nobody asks here.
            table.number(), table.number()
            ticket = 0
            for _ in range(table.number()):
                method, owner = table.number(), table.number()
                ticket = (ticket + table.number()) % (1 << 32)
                table.signed()  # when it began
                thread.open.append((method, owner, ticket))
        width = 1 if len(self.symbols) <= 256 else 2 if len(self.symbols) <= 65536 else 4
        places = range(0, len(tokens), width)
        self.tokens = [int.from_bytes(tokens[at : at + width], "little") for at in places]
        if len(self.tokens) != events:
            raise ValueError("not as many tokens as events")

    def read(self, threads, symbols, runs, times, fields):
        self.still = 0
        self.runs, self.times, self.fields = map(Bytes, (runs, times, fields))
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
            self.symbols.append(self.method(table) if tag == 0 else ("record", tag))

    def method(self, table):
        """A symbol's method and class: less those of the last one."""
        others = (symbol for symbol in reversed(self.symbols) if symbol and symbol[0] == "enter")
        _, method, owner = next(others, ("enter", 0, 0))
        return "enter", wrap(method + table.signed()) % (1 << 64), wrap(owner + table.signed()) % (1 << 64)

    def __iter__(self):
        run, thread = 0, None
        for token in self.tokens:
            while run == 0:
                thread = self.threads[self.runs.number()]
                run = self.runs.number()
            run -= 1
            yield self.event(thread, token)

    def event(self, thread, symbol):
        kind = self.symbols[symbol]
        if symbol == 0 or kind == ("record", 0xFF):
            self.step(thread)
            method, owner, ticket = thread.open.pop()
            thread.depth -= 1
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
            thread.enter(method, owner, ticket, depth)
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
            thread.enter(event["method"], event["class"], event["ticket"], event["stack_depth"])
        elif name == "MethodLeave":
            self.leave(thread, (event["method"], event["class"], event["ticket"]))
        return name, event

    def leave(self, thread, call):
        thread.leave(call)

    def step(self, thread):
        """The time of a call, and its CPU time."""
        thread.time = wrap(thread.time + self.time_step())
        if self.has_cpu:
            thread.cpu = wrap(thread.cpu + self.fields.signed())

    def time_step(self):
        if self.still:
            self.still -= 1
            return 0
        step = self.times.byte()
        if step == 239 and self.ONE == 239:
            self.still = self.times.number()
            return 0
        if step == 255:
            return self.times.signed()
        if step >= 240:
            return self.ONE + 256 * (step - 240) + self.times.byte()
        return step

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


class EarlierSegment(Segment):
    """A segment of events of version 1 or 2."""

    ONE = 240

    def __init__(self, payload, events):
        threads, symbols, runs, hits, misses, times, fields = columns(payload, 7, 2)
        self.read(threads, symbols, runs, times, fields)
        self.tokens = list(self.foreseen(hits, Bytes(misses), Bytes(runs), events))

    def method(self, table):
        return "enter", table.number(), table.number()

    def foreseen(self, hits, misses, runs, events):
        """The tokens: what was foreseen, or what was there instead."""
        table = [0] * (1 << 15)
        histories, stacks = [0] * len(self.threads), [[] for _ in self.threads]
        run = thread = 0
        for event in range(events):
            while run == 0:
                thread, run = runs.number(), runs.number()
            run -= 1
            history, stack = histories[thread], stacks[thread]
            if not hits[event // 8] >> event % 8 & 1:
                table[history] = misses.number()
            symbol = table[history]
            kind = self.symbols[symbol]
            value = 2 * symbol
            if symbol == 0 or kind in (("record", 0xFF), ("record", 17)):
                value = 2 * (stack.pop() if stack else 0) + 1
            elif kind[0] == "enter" or kind == ("record", 16):
                stack.append(symbol)
            mixed = (value * 0x9E3779B1 % (1 << 32)) >> 17
            histories[thread] = (history << 5 ^ mixed) % (1 << 15)
            yield symbol

    def leave(self, thread, call):
        thread.depth -= 1
        if thread.open:
            thread.open.pop()


def events(trace):
    """The events of a trace that is sound and whole."""
    at = number = before = 0
    which = None
    while at < len(trace):
        header = trace[at : at + HEADER]
        word = lambda place, size=4: int.from_bytes(header[place : place + size], "little")
        if header[:4] != MAGIC or crc32c(header[:52]) != word(52):
            raise ValueError(f"at byte {at}: no header")
        if header[4] not in (1, 2, 3):
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
            yield from (Segment if header[4] == 3 else EarlierSegment)(Bytes(payload), word(20))
        if header[5] == INDEX and payload.endswith(END) and at + HEADER + len(payload) == len(trace):
            return
        at += HEADER + word(12)
        number += 1
        before += word(20)
    raise ValueError("it is truncated")


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
