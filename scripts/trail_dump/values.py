"""Bytes, numbers and checksums of a trail."""


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC = crc_table()


def crc32c(data):
    """CRC-32C, as iSCSI has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def wrap(value):
    """Reduces a sum to a signed number of 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


class Bytes:
    """Reads from the front of some bytes."""

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
            raise ValueError("the data is truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self):
        """Reads an unsigned number, which has 7 bits in each byte."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self):
        """Reads a number whose lowest bit is its sign."""
        value = self.number()
        return value >> 1 ^ -(value & 1)
