#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_damage.py - files that were damaged at any byte, or made by somebody who wants to harm: one line
says what is wrong, what is printed is right, and nothing is written. Of files that were cut off, what is
there is taken.

usage: test_damage.py QUIVER [EVERY]
EVERY 1 tries each byte; 29, the default, some of them: trace.record has tried each in the reader."""
import os
import struct
import sys
import tempfile

from traces import MASK64, Program, block, end, events, header, lane, process, quiver, record, seed, write

WRITERS = ("cut", "merge", "anonymise")
EVERY = int(sys.argv[2]) if len(sys.argv) > 2 else 29


def parts_of(rng):
    return [header(), process(0, 5, 77, b"host", b"program"), lane(0, 0, 0, 1),
            events(0, Program(rng, masks=(0, 255)).calls(4)), end()]


def dumped(path):
    status, out, err = quiver("dump", path)
    assert status in (0, 1), (status, err)
    return status, out, err


def writes_nothing(path, i):
    """One of the commands that write, in turns."""
    out = path + ".out"
    status, _, err = quiver(WRITERS[i % 3], path, "-o", out)
    assert status == 1 and err.startswith("quiver: ") and err.count("\n") == 1, (WRITERS[i % 3], status, err)
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)], os.listdir(os.path.dirname(path))


def writes_a_part(path, i):
    """The same of a file whose process was killed: what is there, with a warning."""
    out = path + ".out"
    status, _, err = quiver(WRITERS[i % 3], path, "-o", out)
    assert status == 0 and "was not ended by its process" in err and err.count("\n") == 1, (WRITERS[i % 3], err)
    os.remove(out)


def events_in(out):
    """Lines that `dump` prints of events."""
    return [line.split(None, 1)[1] for line in out.splitlines() if line.startswith(" ") and "time/us" not in line]


def begins(some, whole):
    return events_in(some) == events_in(whole)[:len(events_in(some))]


def cut_off(parts, path):
    data, ends, at = b"".join(parts), [], 0
    for part in parts:
        at += len(part)
        ends.append(at)
    write(path, data)
    status, right, err = dumped(path)
    assert status == 0 and not err
    for n in sorted({*range(0, len(data), EVERY), *ends[:-1]}):
        write(path, data[:n])
        status, out, err = dumped(path)
        if n >= ends[0]: # the process was killed there
            assert status == 0 and "not whole" in out and not err and begins(out, right), (n, out)
        else:
            assert status == 1 and err.count("\n") == 1 and err.startswith("quiver: "), (n, err)
        if n % 8 < 3:
            (writes_a_part if n >= ends[0] else writes_nothing)(path, n)
    return right


def flipped(parts, path, right):
    """Nothing that is wrong goes unnoticed: it is refused, or says nothing. A block's length that is longer than
    the rest of the file looks like a file that ends there."""
    data = b"".join(parts)
    silent = short = 0
    for n in range(0, len(data), EVERY):
        bits = 0xff if n % 2 else 1 << n // 2 % 8
        write(path, data[:n], bytes([data[n] ^ bits]), data[n + 1:])
        status, out, err = dumped(path)
        if status == 0 and "not whole" in out:
            assert begins(out, right) and not err, (n, bits, out)
            short += 1
            continue
        if status == 0:
            assert out == right and not err, (n, bits, out)
            silent += 1
            continue
        assert err.count("\n") == 1 and err.startswith("quiver: ") and begins(out, right), (n, bits, out, err)
        if n % 8 < 3:
            writes_nothing(path, n)
    assert silent <= 16 + 4, silent # what the header reserves, and the number of the end
    assert short <= 4 * len(parts), short # bytes of lengths


def hostile(rng):
    """Blocks that no recorder writes, with right sums, and a word of what is said of them; None: they can
    be read."""
    some = Program(rng).calls(30)
    first = [header(), process(0, 0, 1, b"", b"")]
    known = first + [lane(0, 0, 0, 1)]
    head = struct.pack("=QQQQ", 5, 1, 1, 0)

    def raw(n, *records, start=head):
        return block(3, 0, start + struct.pack("=Q", n) + b"".join(records))

    one = record(0, 1, 2, 3, 0, 1)
    yield "no trace", [header(magic=b"QVTRACF\0")]
    yield "version 3", [header(version=3)]
    yield "another order", [header(order=0x04030201)]
    for length in (1, 12, 0xfffffff8, (1 << 20) + 8):
        yield "no sound block", known + [block(3, 0, b"", length=length)]
    yield None, known + [block(3, 0, b"", length=1 << 20)]
    for n in (0, 2, 1 << 63, MASK64, (MASK64 - 40) // 24):
        yield "no sound events", known + [raw(n, one)]
    yield "no sound events", known + [raw(0, start=struct.pack("=QQQQ", 5, 1, 0, 0))]
    yield "no sound events", known + [block(3, 0, b"")]
    yield "not known", first + [events(0, some)]
    yield "not known", known + [events(1, some)]
    yield "no sound lane", known + [lane(0, 0, 0, 1)]
    yield "no sound lane", known + [lane(1 << 31, 0, 0, 1)]
    yield "no sound lane", first + [lane((1 << 22) - 1, 0, 0, 1)]
    yield "no process or queue", first + [lane(0, 1, 0, 1)]
    yield "no process or queue", first + [lane(0, 0, 0, 3)]
    yield "no sound process", first + [process(0, 0, 1, b"", b"")]
    yield "no sound process", first + [process(1 << 31, 0, 1, b"", b"")]
    yield "does not end", [header(), process(0, 0, 1, b"x" * 64, b"")]
    yield "behind the end", known + [end(), end()]
    yield "type 9", known + [block(9, 0, b"")]
    for kind in (0, 7, 15, 18, 255):
        yield "not known", known + [raw(1, record(0, 1, 2, 3, 0, kind))]
    yield "not known", known + [raw(1, record(0, 1, 2, 3, 8, 1))]
    yield None, known + [raw(0), raw(2, *[record(0, 0, MASK64, 0, 0, 16)] * 2), end(MASK64), ]
    late = [record(0xffffffff, 0xffffffff, MASK64, (1 << 48) - 1, 7, kind) for kind in range(1, 7)]
    for start in ((MASK64, 1, 1, 0), (MASK64 - 5, MASK64, 3, MASK64), (0, MASK64, 1, 0), (7, 0, MASK64, 1)):
        yield None, known + [raw(7, record(0, 0, MASK64, 0, 0, 17), *late, start=struct.pack("=QQQQ", *start)),
                             raw(6, *late, start=struct.pack("=QQQQ", *start)), end()]


def main():
    rng = seed()
    with tempfile.TemporaryDirectory() as folder:
        path, parts = os.path.join(folder, "a.qvt"), parts_of(rng)
        right = cut_off(parts, path)
        flipped(parts, path, right)
        cases = 0
        for word, some in hostile(rng):
            write(path, *some)
            for command in ("dump",) + WRITERS:
                out = [] if command == "dump" else ["-o", path + ".out"]
                status, _, err = quiver(command, path, *out)
                if word:
                    assert status == 1 and word in err and err.count("\n") == 1, (command, word, err)
                    assert os.listdir(folder) == ["a.qvt"], (command, word)
                else:
                    assert status == 0, (command, err)
                    if out:
                        os.remove(path + ".out")
            cases += 1
        print(f"{len(b''.join(parts))} bytes, {cases} files of somebody who wants to harm")


if __name__ == "__main__":
    main()
