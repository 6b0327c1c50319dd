"""Segments of events, of version 3 and of earlier ones."""

from trail_dump.columns import columns
from trail_dump.records import COMPOUND, LISTS, RECORDS
from trail_dump.values import Bytes, wrap


class Thread:
    """The state of a thread within a segment."""

    def __init__(self, number, base, ticket, depth):
        self.number, self.time, self.ticket, self.depth = number, base, ticket, depth
        self.object = self.cpu = 0
        self.open = []

    def enter(self, method, owner, ticket, depth):
        self.ticket, self.depth = ticket, depth
        self.open.append((method, owner, ticket))

    def leave(self, call):
        """Handles an explicit record of a leave, which may close several calls."""
        self.depth -= 1
        for at in range(len(self.open) - 1, max(len(self.open) - 257, -1), -1):
            if self.open[at] == call:
                del self.open[at:]
                return


class Segment:
    """A segment of events."""

    # Smaller steps of time are one byte.
    ONE = 239

    def __init__(self, payload, events):
        threads, open_calls, symbols, runs, tokens, times, fields = columns(payload, 7, 3)
        self.read(threads, symbols, runs, times, fields)
        table = Bytes(open_calls)
        for thread in self.threads:
            # Two numbers that are not needed here: which other list has the callers of these calls,
            # and how many.
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
            raise ValueError("the counts of tokens and events differ")

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
        """A symbol's method and class. They are stored as differences from those of the preceding
        enter symbol."""
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
        """Advances a thread's time, and its CPU time, to those of a call."""
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
        self.tokens = list(self.predicted(hits, Bytes(misses), Bytes(runs), events))

    def method(self, table):
        return "enter", table.number(), table.number()

    def predicted(self, hits, misses, runs, events):
        """Yields the tokens: the predicted symbol if the prediction is right, otherwise the one
        that is stored."""
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
