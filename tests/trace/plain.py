# SPDX-License-Identifier: BSD-2-Clause
"""plain.py - traces as docs/trace-format.md has them, read and written in Python, and plain lists that
walk over them: what the tests of traces compare with. Shares nothing with the program."""
import collections
import struct

import layout

POST, ARRIVE, QUEUE, PEEK, TAKE, CANCEL = range(1, 7)
TIME, MASK = 16, 17
MATCHED, PERSISTENT, MASKED = 1, 2, 4
ANY_SOURCE = 0xffffffff
POSTED, UNEXPECTED = 0, 1

Event = collections.namedtuple("Event", "kind ns tag ignore node src matched persistent")
Lane = collections.namedtuple("Lane", "process endpoint queue structure protocol_bits events")
Process = collections.namedtuple("Process", "rank pid host program")
Trace = collections.namedtuple("Trace", "processes lanes lost whole")


def name_of(raw):
    return raw.split(b"\0")[0]


def read_events(body, lane):
    """The events of a block."""
    ns, span_ns, span_ticks, lost, n = struct.unpack_from("<5Q", body)
    clock = mask = 0
    for i in range(n):
        ticks, src, tag, what = struct.unpack_from("<IIQQ", body, 40 + 24 * i)
        kind, flags, node = what & 0xff, what >> 8 & 0xff, what >> 16
        clock += ticks
        if kind == TIME:
            clock += tag
        elif kind == MASK:
            mask = tag
        else:
            lane.events.append(Event(kind, ns + clock * span_ns // span_ticks, tag,
                                     mask if flags & MASKED else 0, node, src,
                                     bool(flags & MATCHED), bool(flags & PERSISTENT)))
    return lost


def read(path, version=1):
    """A sound trace; of version 2, a file of calls."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"QVTRACE\0" and struct.unpack_from("<II", data, 8) == (version, 0x01020304)
    processes, lanes, lost, whole, at = [], {}, 0, False, 32
    while at < len(data):
        kind, size, index, zero, total = struct.unpack_from("<IIIIQ", data, at)
        body = data[at + 24:at + 24 + size]
        assert not whole and zero == 0 and len(body) == size
        assert layout.check_sum(kind, index, body, size) == total
        at += 24 + size
        if kind == 1:
            rank, pid = struct.unpack_from("<iI", body)
            processes.append(Process(rank, pid, name_of(body[8:72]), name_of(body[72:136])))
        elif kind == 2:
            process, endpoint, queue, _ = struct.unpack_from("<4I", body)
            lanes[index] = Lane(process, endpoint, queue, name_of(body[16:80]),
                                struct.unpack_from("<Q", body, 80)[0], [])
        elif kind == 3:
            lost += read_events(body, lanes[index])
        else:
            assert kind == 4 and size == 8
            lost, whole = lost + struct.unpack("<Q", body)[0], True
    return Trace(processes, [lanes[i] for i in sorted(lanes)], lost, whole)


def write(path, trace):
    """Events of a lane in one block, with ticks that are ns."""
    with open(path, "wb") as f:
        f.write(layout.header())
        for i, p in enumerate(trace.processes):
            f.write(layout.process(i, p.rank, p.pid, p.host, p.program))
        for i, lane in enumerate(trace.lanes):
            f.write(layout.lane(i, lane.process, lane.endpoint, lane.queue, lane.structure,
                                lane.protocol_bits))
            records, now = [], lane.events[0].ns if lane.events else 0
            begin = now
            for e in lane.events:
                flags = (MATCHED * e.matched | PERSISTENT * e.persistent | MASKED * bool(e.ignore))
                if e.ns - now >= 2**32:
                    records.append(layout.record(0, 0, e.ns - now, 0, 0, TIME))
                    now = e.ns
                if e.ignore:
                    records.append(layout.record(0, 0, e.ignore, 0, 0, MASK))
                records.append(layout.record(e.ns - now, e.src, e.tag, e.node, flags, e.kind))
                now = e.ns
            if records:
                f.write(layout.block(3, i, struct.pack("<5Q", begin, 1, 1, trace.lost if i == 0 else 0,
                                                len(records)) + b"".join(records)))
        if trace.whole:
            f.write(layout.end())


def accepts(recv, msg):
    return ((recv.tag ^ msg.tag) & ~recv.ignore) == 0 and recv.src in (msg.src, ANY_SOURCE)


def judge(lane):
    """What is wrong with the answers of a lane whose queues are empty at the begin; None: nothing."""
    posted, unexpected, arriving, last = [], [], None, 0
    for i, e in enumerate(lane.events):
        if e.ns < last:
            return f"event {i}: goes back in time"
        last = e.ns
        if (e.kind == QUEUE) != (arriving is not None):
            return f"event {i}: a message without a receive is queued next, and no other"
        arriving = None
        if e.kind in (POST, PEEK):
            found = next((m for m in unexpected if accepts(e, m)), None)
            if e.matched != (found is not None) or (found and found.node != e.node):
                return f"event {i}: {e} should find {found}"
            if e.kind == POST and found:
                unexpected.remove(found)
            elif e.kind == POST:
                posted.append(e)
        elif e.kind == ARRIVE:
            found = next((r for r in posted if accepts(r, e)), None)
            if e.matched != (found is not None) or (found and found.node != e.node):
                return f"event {i}: {e} should find {found}"
            if not found:
                arriving = e
            elif not found.persistent:
                posted.remove(found)
        elif e.kind == QUEUE:
            unexpected.append(e)
        else:
            queue = unexpected if e.kind == TAKE else posted
            gone = [x for x in queue if x.node == e.node]
            if len(gone) != 1:
                return f"event {i}: {e} removes what does not wait"
            queue.remove(gone[0])
    return None


class Figures:
    """What a report says, counted with lists of nodes."""

    def __init__(self, trace):
        self.calls = collections.Counter()
        self.cells = collections.Counter()
        self.wild = collections.Counter()
        self.by_steps = [collections.Counter(), collections.Counter()]
        self.by_depth = [collections.Counter(), collections.Counter()]
        self.most, self.steps, self.unseen = [0, 0], 0, 0
        self.changes = [] # (ns, lane, depth of posted, of unexpected)
        for number, lane in enumerate(trace.lanes):
            self.walk(number, lane)

    def search(self, side, queue, e):
        nodes = [n for n, _ in queue]
        if e.matched and e.node not in nodes:
            self.unseen += 1
            return
        steps = nodes.index(e.node) + 1 if e.matched else len(nodes)
        self.steps += steps
        self.by_steps[side][steps.bit_length()] += 1
        self.by_depth[side][len(nodes).bit_length()] += 1

    def walk(self, number, lane):
        queues, arriving = ([], []), False
        for e in lane.events:
            posted, unexpected = queues
            self.calls["refused"] += arriving and e.kind != QUEUE
            arriving = e.kind == ARRIVE and not e.matched
            self.calls[e.kind] += 1
            self.calls[e.kind, "matched"] += e.matched
            gone = None
            if e.kind in (POST, PEEK):
                self.wild[e.kind, e.src == ANY_SOURCE, bool(e.ignore & ~lane.protocol_bits)] += 1
                self.search(UNEXPECTED, unexpected, e)
                if e.kind == POST and e.matched:
                    queues = posted, [q for q in unexpected if q[0] != e.node]
                elif e.kind == POST:
                    queues = [q for q in posted if q[0] != e.node] + [(e.node, e.persistent)], unexpected
            elif e.kind == ARRIVE:
                self.cells[e.src, e.tag] += 1
                self.search(POSTED, posted, e)
                if e.matched:
                    queues = [q for q in posted if q[0] != e.node or q[1]], unexpected
            elif e.kind == QUEUE:
                queues = posted, [q for q in unexpected if q[0] != e.node] + [(e.node, False)]
            elif e.kind == TAKE:
                gone, queues = unexpected, (posted, [q for q in unexpected if q[0] != e.node])
                self.unseen += len(queues[1]) == len(gone)
            elif e.kind == CANCEL:
                gone, queues = posted, ([q for q in posted if q[0] != e.node], unexpected)
                self.unseen += len(queues[0]) == len(gone)
            self.changes.append((e.ns, number, len(queues[0]), len(queues[1])))
            self.most = [max(m, len(q)) for m, q in zip(self.most, queues)]
        self.calls["refused"] += arriving

    def events(self):
        return sum(self.calls[k] for k in range(POST, CANCEL + 1))

    def columns(self, side, most=512):
        """The deepest queue of any lane in each of so many parts of the time."""
        first, last = min(c[0] for c in self.changes), max(c[0] for c in self.changes)
        width = (last - first) // most + 1
        depth = [0] * ((last - first) // width + 1)
        for lane in {c[1] for c in self.changes}:
            at, now = 0, 0
            for ns, number, *sides in self.changes + [(last, lane, None, None)]:
                if number != lane:
                    continue
                here = (ns - first) // width
                for c in range(at, here + 1):
                    depth[c] = max(depth[c], now)
                at = here
                if sides[side] is not None:
                    now = sides[side]
                    depth[here] = max(depth[here], now)
        return depth
