"""The columns of a segment, and how they are compressed."""

from trail_dump import zstd


def lz4(block, size):
    """The content of a block of LZ4."""
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
            raise ValueError("LZ4: offset before the start")
        for _ in range(length):
            out.append(out[-offset])
    if len(out) != size:
        raise ValueError("LZ4: wrong size")
    return bytes(out)


def codes(block, size):
    """The content of a block of Huffman codes."""
    lengths = [block[byte // 2] >> byte % 2 * 4 & 15 for byte in range(256)]
    table, code, last = {}, 0, 0
    for length, byte in sorted((length, byte) for byte, length in enumerate(lengths) if length):
        code <<= length - last
        table[length, code] = byte
        code, last = code + 1, length
    if code != 1 << last:
        raise ValueError("codes: incomplete")
    bits = "".join(f"{byte:08b}" for byte in block[128:])
    out = bytearray()
    at = 0
    while len(out) < size:
        end = at + 1
        while (byte := table.get((end - at, int(bits[at:end], 2)))) is None:
            end += 1
            if end > len(bits):
                raise ValueError("codes: truncated")
        out.append(byte)
        at = end
    if len(bits) - at > 7 or "1" in bits[at:]:
        raise ValueError("codes: excess data")
    return bytes(out)


def columns(payload, count, version):
    """Splits a payload into its columns."""
    sizes = [(payload.number(), payload.number()) for _ in range(count)]

    def column(size, length):
        if version < 3:
            way = 1 if length < size else 2 if length > size else 0
            stored = length - size if way == 2 else length
        else:
            way, stored = length % 4, length // 4
        data = payload.take(stored)
        if way == 0 and stored != size:
            raise ValueError("column: wrong size")
        return data if way == 0 else [lz4, codes, zstd.read][way - 1](data, size)

    return [column(*pair) for pair in sizes]
