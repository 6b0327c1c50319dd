"""Reads frames of zstd, by RFC 8878, with nothing but Python's own library; no dictionaries."""

MAGIC = b"\x28\xb5\x2f\xfd"

LITERAL_LENGTHS = [(value, 0) for value in range(16)] + [
    *[(16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6)],
    *[(1 << bits, bits) for bits in range(7, 17)],
]
MATCH_LENGTHS = [(value + 3, 0) for value in range(32)] + [
    *[(35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5)],
    *[((1 << bits) + 3, bits) for bits in range(7, 17)],
]
# How often each symbol occurs by default, and the number of bits of a state.
LITERAL_DEFAULT = [4, 3] + [2] * 6 + [2] * 5 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4, 6
MATCH_DEFAULT = [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7, 6
OFFSET_DEFAULT = [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5, 5


class Backwards:
    """Reads bits from the end of some bytes. In the last byte, the highest bit that is set is a
    mark: the bits begin below it."""

    def __init__(self, data):
        if not data or data[-1] == 0:
            raise ValueError("zstd: bits: no end mark")
        self.value = int.from_bytes(data, "little")
        self.left = self.value.bit_length() - 1

    def peek(self, count):
        if count <= self.left:
            return self.value >> (self.left - count) & ((1 << count) - 1)
        # Bits beyond the start of the bytes are zeros.
        return (self.value & ((1 << max(self.left, 0)) - 1)) << (count - max(self.left, 0))

    def read(self, count):
        value = self.peek(count)
        self.left -= count
        return value


def distribution(data, most_bits):
    """Returns how often each symbol occurs, the number of bits of a state, and the number of bytes
    read."""
    value, at = int.from_bytes(data, "little"), 4
    bits = (value & 15) + 5
    if bits > most_bits:
        raise ValueError("zstd: table too large")
    left = (1 << bits) + 1
    counts = []
    while left > 1:
        width = left.bit_length()
        low = (1 << width) - 1 - left
        code = value >> at & ((1 << width) - 1)
        if code & ((1 << width - 1) - 1) < low:
            code &= (1 << width - 1) - 1
            at += width - 1
        else:
            if code >= 1 << width - 1:
                code -= low
            at += width
        count = code - 1
        left -= abs(count)
        counts.append(count)
        while count == 0:
            more = value >> at & 3
            at += 2
            counts += [0] * more
            if more < 3:
                break
    if left != 1 or at > 8 * len(data):
        raise ValueError("zstd: invalid table")
    return counts, bits, (at + 7) // 8


def states(counts, bits):
    """For each state, its symbol, and the number of bits and the base of the next state."""
    size = 1 << bits
    symbols, high = [None] * size, size
    for symbol, count in enumerate(counts):
        if count == -1:
            high -= 1
            symbols[high] = symbol
    at = 0
    for symbol, count in enumerate(counts):
        for _ in range(max(count, 0)):
            symbols[at] = symbol
            at = (at + (size >> 1) + (size >> 3) + 3) & size - 1
            while at >= high:
                at = (at + (size >> 1) + (size >> 3) + 3) & size - 1
    nexts = [abs(count) for count in counts]
    table = []
    for symbol in symbols:
        now = nexts[symbol]
        nexts[symbol] += 1
        more = bits - (now.bit_length() - 1)
        table.append((symbol, more, (now << more) - size))
    return table


def weights(data):
    """Returns the weights of a Huffman table, without the last one, and the number of bytes
    read."""
    first = data[0]
    if first >= 128:
        count = first - 127
        four = [data[1 + at // 2] >> (4 if at % 2 == 0 else 0) & 15 for at in range(count)]
        return four, 1 + (count + 1) // 2
    counts, bits, used = distribution(data[1 : 1 + first], 6)
    table, stream = states(counts, bits), Backwards(data[1 + used : 1 + first])
    even, odd = stream.read(bits), stream.read(bits)
    found = []
    while True:
        symbol, more, base = table[even]
        found.append(symbol)
        if more > stream.left:
            found.append(table[odd][0])
            break
        even, odd = odd, base + stream.read(more)
    return found, 1 + first


def huffman(data):
    """Returns a table, the number of bits of its index, and the number of bytes read. The index is
    the next bits; an entry has a symbol and the length of its code."""
    all_weights, used = weights(data)
    total = sum(1 << weight >> 1 for weight in all_weights)
    bits = total.bit_length()
    last = (1 << bits) - total
    if last & last - 1:
        raise ValueError("zstd: incomplete code")
    all_weights.append(last.bit_length())
    table = []
    for weight in range(1, bits + 1):
        for symbol, of in enumerate(all_weights):
            if of == weight:
                table += [(symbol, bits + 1 - weight)] * (1 << weight - 1)
    return table, bits, used


def decode(table, bits, data, size):
    """Decodes a stream of Huffman codes."""
    stream = Backwards(data)
    out = bytearray()
    while len(out) < size:
        symbol, length = table[stream.peek(bits)]
        stream.left -= length
        out.append(symbol)
    if stream.left != 0:
        raise ValueError("zstd: literals: wrong length")
    return out


class Frame:
    """The content of a frame so far, and what its blocks inherit."""

    def __init__(self):
        self.out = bytearray()
        self.tree = None
        self.tables = [None, None, None]
        self.offsets = [1, 4, 8]

    def literals(self, data):
        """Returns the literals of a block, and the number of bytes read."""
        kind, form = data[0] & 3, data[0] >> 2 & 3
        if kind < 2:
            head, shift = [(1, 3), (2, 4), (1, 3), (3, 4)][form]
            size = int.from_bytes(data[:head], "little") >> shift
            if kind == 1:
                return bytes([data[head]]) * size, head + 1
            return data[head : head + size], head + size
        head, width = [(3, 10), (3, 10), (4, 14), (5, 18)][form]
        word = int.from_bytes(data[:head], "little") >> 4
        size, packed = word & (1 << width) - 1, word >> width
        body = data[head : head + packed]
        if kind == 2:
            *self.tree, used = huffman(body)
            body = body[used:]
        if self.tree is None:
            raise ValueError("zstd: literals without a code")
        if form == 0:
            return decode(*self.tree, body, size), head + packed
        sizes = [int.from_bytes(body[at : at + 2], "little") for at in (0, 2, 4)]
        part, at, out = (size + 3) // 4, 6, bytearray()
        for number in range(4):
            end = at + sizes[number] if number < 3 else len(body)
            out += decode(*self.tree, body[at:end], part if number < 3 else size - 3 * part)
            at = end
        return out, head + packed

    def block(self, data):
        """Adds the content of a compressed block."""
        literals, at = self.literals(data)
        count = data[at]
        at += 1
        if count == 255:
            count = data[at] + (data[at + 1] << 8) + 0x7F00
            at += 2
        elif count >= 128:
            count = (count - 128 << 8) + data[at]
            at += 1
        if count == 0:
            self.out += literals
            return
        modes = data[at]
        at += 1
        kinds = [(LITERAL_DEFAULT, 9, 6), (OFFSET_DEFAULT, 8, 4), (MATCH_DEFAULT, 9, 2)]
        for which, (default, most, shift) in enumerate(kinds):
            mode = modes >> shift & 3
            if mode == 0:
                self.tables[which] = states(*default), default[1]
            elif mode == 1:
                self.tables[which] = [(data[at], 0, 0)], 0
                at += 1
            elif mode == 2:
                counts, bits, used = distribution(data[at:], most)
                self.tables[which] = states(counts, bits), bits
                at += used
        self.sequences(Backwards(data[at:]), count, literals)

    def sequences(self, stream, count, literals):
        """Adds the content of a block, which is given by sequences of literals and matches."""
        tables = [table for table, _ in self.tables]
        now = [stream.read(bits) for _, bits in self.tables]
        used = 0
        for left in range(count - 1, -1, -1):
            literal, offset, match = (table[state] for table, state in zip(tables, now))
            distance = (1 << offset[0]) + stream.read(offset[0])
            base, bits = MATCH_LENGTHS[match[0]]
            length = base + stream.read(bits)
            base, bits = LITERAL_LENGTHS[literal[0]]
            own = base + stream.read(bits)
            distance = self.distance(distance, own == 0)
            self.out += literals[used : used + own]
            used += own
            if not 0 < distance <= len(self.out):
                raise ValueError("zstd: offset before the start")
            for _ in range(length):
                self.out.append(self.out[-distance])
            if left:
                # The order in which the states advance: literals, matches, offsets.
                now[0] = literal[2] + stream.read(literal[1])
                now[2] = match[2] + stream.read(match[1])
                now[1] = offset[2] + stream.read(offset[1])
        if stream.left != 0:
            raise ValueError("zstd: sequences: wrong length")
        self.out += literals[used:]

    def distance(self, number, without_literals):
        """How far back a match lies. The three most recent distances have numbers of their own."""
        if number > 3:
            self.offsets = [number - 3, *self.offsets[:2]]
            return self.offsets[0]
        at = number - 1 + without_literals
        found = self.offsets[0] - 1 if at == 3 else self.offsets[at]
        if at:
            self.offsets = [found, *[old for place, old in enumerate(self.offsets) if place != min(at, 2)]]
        return found


def read(data, size):
    """Returns the content of a frame, which has `size` bytes."""
    if data[:4] != MAGIC:
        raise ValueError("zstd: not a frame")
    descriptor = data[4]
    at = 5 + (0 if descriptor & 0x20 else 1)
    at += [0, 1, 2, 4][descriptor & 3]
    at += [1 if descriptor & 0x20 else 0, 2, 4, 8][descriptor >> 6]
    frame, last = Frame(), False
    while not last:
        head = int.from_bytes(data[at : at + 3], "little")
        last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
        at += 3
        if kind == 1:
            frame.out += data[at : at + 1] * length
            at += 1
            continue
        if kind == 0:
            frame.out += data[at : at + length]
        elif kind == 2:
            frame.block(data[at : at + length])
        else:
            raise ValueError("zstd: unknown kind of block")
        at += length
    at += 4 if descriptor & 4 else 0
    if len(frame.out) != size or at != len(data):
        raise ValueError("zstd: wrong size")
    return bytes(frame.out)
