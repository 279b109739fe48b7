# SPDX-License-Identifier: BSD-2-Clause
"""layout.py - the bytes of a trace, as docs/trace-format.md describes them."""
import struct

MASK64 = (1 << 64) - 1


def check_sum(kind, index, body, length):
    """What a block's head says of it."""
    sums = [1, kind, index, length]
    for i, (word,) in enumerate(struct.iter_unpack("=Q", body)):
        sums[i % 4] = (sums[i % 4] ^ word) * 0x9e3779b97f4a7c15 & MASK64
    total = 0
    for part in sums:
        total = (total ^ part) * 0x9e3779b97f4a7c15 & MASK64
    return total


def header(version=1, order=0x01020304, magic=b"QVTRACE\0"):
    return struct.pack("=8sIIQQ", magic, version, order, 0, 0)


def block(kind, index, body, length=None, total=None):
    length = len(body) if length is None else length
    return struct.pack("=IIIIQ", kind, length, index, 0,
                       check_sum(kind, index, body, length) if total is None else total) + body


def process(index, rank, pid, host, program):
    return block(1, index, struct.pack("=iI64s64s", rank, pid, host, program))


def lane(index, owner, endpoint, queue, structure=b"auto", bits=0):
    return block(2, index, struct.pack("=IIII64sQ", owner, endpoint, queue, 0, structure, bits))


def record(ticks, src, tag, node, flags, kind):
    return struct.pack("=IIQQ", ticks, src, tag, node << 16 | flags << 8 | kind)


def end(lost=0):
    return block(4, 0, struct.pack("=Q", lost))
