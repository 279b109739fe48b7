# SPDX-License-Identifier: BSD-2-Clause
"""tracefile.py - traces for tests: a matching engine of plain lists that writes down what it is asked for,
as docs/trace-format.md says, and counts what it compares."""
import random
import struct

import layout

ANY = 0xffffffff
POST, ARRIVE, QUEUE, PEEK, TAKE, CANCEL, MASK = 1, 2, 3, 4, 5, 6, 17
MATCHED, PERSISTENT, MASKED = 1, 2, 4
UNTAGGED, TAGGED, COLLECTIVE = 0, 1, 2
WORD = (1 << 64) - 1


class Entry:
    """A receive or a message that waits."""
    def __init__(self, tag, ignore, src, node, known, persistent=False):
        self.tag, self.ignore, self.src, self.node = tag, ignore, src, node
        self.known, self.persistent = known, persistent


def accepts(recv, msg):
    """The rule of MPI."""
    return ((recv.tag ^ msg.tag) & ~recv.ignore) & WORD == 0 and recv.src in (msg.src, ANY)


class Lane:
    """One engine. While `recording` is false nothing is written down, as before a trace begins."""
    def __init__(self, process=0, queue=TAGGED, step=1000, bits=0):
        self.process, self.queue, self.step, self.bits = process, queue, step, bits
        self.recvs, self.msgs, self.events, self.free = [], [], [], []
        self.recording, self.ns, self.nodes = True, 1700000000 * 10**9, 0
        self.gaps = {}  # index of the event before which so many are missing
        self.hits = self.misses = self.inspected_hit = self.inspected_miss = 0
        self.operations = self.left_out = 0

    def node(self):
        """The place that was freed last, as a pool of objects has it."""
        if self.free:
            return self.free.pop()
        self.nodes += 1
        return 0x7f0000000000 + 128 * self.nodes

    def put(self, kind, flags, src, tag, ignore, node):
        self.ns += self.step
        if self.recording:
            self.events.append([self.ns, kind, flags, src, tag, ignore, node])

    def find(self, queue, fits):
        """The oldest that fits; counted as a list counts that has only the entries of the trace."""
        compared, found = 0, None
        for entry in queue:
            compared += entry.known
            if fits(entry):
                found = entry
                break
        if self.recording and found and not found.known:
            self.left_out += 1
        elif self.recording:
            self.operations += 1
            self.hits += found is not None
            self.misses += found is None
            self.inspected_hit += compared if found else 0
            self.inspected_miss += 0 if found else compared
        return found

    def post(self, tag, src, ignore=0, persistent=False):
        recv = Entry(tag, ignore, src, 0, self.recording, persistent)
        msg = self.find(self.msgs, lambda m: accepts(recv, m))
        if msg:
            self.msgs.remove(msg)
            self.free.append(msg.node)
        else:
            recv.node = self.node()
            self.recvs.append(recv)
        self.put(POST, (MATCHED if msg else 0) | (PERSISTENT if persistent else 0), src, tag, ignore,
                 msg.node if msg else recv.node)

    def arrive(self, tag, src, refused=False):
        msg = Entry(tag, 0, src, 0, self.recording)
        recv = self.find(self.recvs, lambda r: accepts(r, msg))
        if recv and not recv.persistent:
            self.recvs.remove(recv)
            self.free.append(recv.node)
        self.put(ARRIVE, MATCHED if recv else 0, src, tag, 0, recv.node if recv else 0)
        if not recv and not refused:
            msg.node = self.node()
            self.msgs.append(msg)
            self.put(QUEUE, 0, src, tag, 0, msg.node)

    def peek(self, tag, src, ignore=0, take=False):
        recv = Entry(tag, ignore, src, 0, True)
        msg = self.find(self.msgs, lambda m: accepts(recv, m))
        self.put(PEEK, MATCHED if msg else 0, src, tag, ignore, msg.node if msg else 0)
        if msg and take:
            self.leave(TAKE, self.msgs, msg)

    def cancel(self, at):
        self.leave(CANCEL, self.recvs, self.recvs[at])

    def leave(self, kind, queue, entry):
        self.put(kind, 0, 0, 0, 0, entry.node)
        self.operations += self.recording and entry.known
        self.left_out += self.recording and not entry.known
        queue.remove(entry)
        self.free.append(entry.node)

    def gap(self):
        """Events are missing from here on, and what waits is not known any more."""
        self.gaps[len(self.events)] = 1
        for entry in self.recvs + self.msgs:
            entry.known = False


def traffic(lane, seed, n, depth=40):
    """All that an engine can be asked for, around a depth."""
    draw = random.Random(seed)
    for _ in range(n):
        tag, src, dice = draw.randrange(64), draw.randrange(9), draw.random()
        ignore = draw.choice((0, 0, 0, 0, 0xf, WORD))
        source = ANY if draw.random() < .1 else src
        if dice < .44 and len(lane.recvs) < depth:
            lane.post(tag, source, ignore, draw.random() < .03)
        elif dice < .88 and len(lane.msgs) < depth:
            lane.arrive(tag, src, draw.random() < .02)
        elif dice < .95:
            lane.peek(tag, source, ignore, draw.random() < .7)
        elif lane.recvs:
            lane.cancel(draw.randrange(len(lane.recvs)))


def events_block(index, events, lost):
    """Events as records; ticks are ns."""
    out, mask, clock = [], 0, events[0][0] if events else 0
    for ns, kind, flags, src, tag, ignore, node in events:
        if ignore and ignore != mask:
            mask = ignore
            out.append(layout.record(0, 0, mask, 0, 0, MASK))
        flags |= MASKED if ignore else 0
        out.append(layout.record(ns - clock, src, tag, node, flags, kind))
        clock = ns
    begin = events[0][0] if events else 0
    return layout.block(3, index, struct.pack("=5Q", begin, 1, 1, lost, len(out)) + b"".join(out))


def write(path, lanes, ranks=(0,), ended=True):
    """One file: processes of these ranks, and the lanes."""
    with open(path, "wb") as file:
        file.write(layout.header())
        for i, rank in enumerate(ranks):
            file.write(layout.process(i, rank, 1000 + i, b"host", b"made"))
        for i, lane in enumerate(lanes):
            file.write(layout.lane(i, lane.process, i, lane.queue, b"auto", lane.bits))
        for i, lane in enumerate(lanes):
            begins = sorted({0, *lane.gaps, *range(0, len(lane.events), 1000)})
            for begin, end in zip(begins, begins[1:] + [len(lane.events)]):
                file.write(events_block(i, lane.events[begin:end], lane.gaps.get(begin, 0)))
        if ended:
            file.write(layout.end())
