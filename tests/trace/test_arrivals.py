#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_arrivals.py - `quiver trace arrivals` of the calls of a job, which plain lists match here: each receive
has the same message in the trace, in an order that MPI allows.

usage: test_arrivals.py QUIVER"""
import collections
import os
import random
import struct
import subprocess
import sys
import tempfile

import layout
import plain

SEND, WANT, PROBE, CLAIM, DONE, COMM = range(7, 13)
ANY, ANY_TAG = 0xffffffff, 0x7fffffff
IDS = (0, 77)  # what all ranks call their communicators
BEGIN = 1700000000 * 10**9


class Receive:
    """A receive, or a look at what is there."""
    def __init__(self, number, src, comm, tag, any_tag):
        self.number, self.src, self.comm, self.tag, self.any_tag = number, src, comm, tag, any_tag
        self.got, self.ended = None, False

    def accepts(self, msg):
        return self.src in (ANY, msg.src) and self.comm == msg.comm and (self.any_tag or self.tag == msg.tag)


Message = collections.namedtuple("Message", "src comm tag count ns")


class Rank:
    def __init__(self, rank, skew):
        self.rank, self.skew, self.calls, self.events = rank, skew, 0, []
        self.posted, self.queued, self.all, self.looks = [], [], [], []
        self.sent, self.on_way = collections.Counter(), collections.defaultdict(collections.deque)
        self.comms = IDS if rank % 2 == 0 else IDS[::-1]  # each process has numbers of its own

    def put(self, now, kind, src=0, tag=0, ignore=0, node=0, matched=False):
        self.events.append((BEGIN + now + self.skew, kind, src, tag, ignore, node, matched))

    def tag(self, comm, tag):
        return self.comms.index(comm) << 32 | tag

    def call(self, now, kind, src, comm, tag, any_tag=False, matched=False):
        self.calls += 1
        self.put(now, kind, src, self.tag(comm, tag), ANY_TAG if any_tag else 0, self.calls, matched)
        return self.calls

    def done(self, now, number, msg):
        if msg:
            self.put(now, DONE, msg.src, self.tag(msg.comm, msg.tag), 0, number, True)
        else:
            self.put(now, DONE, node=number)


class Job:
    """Ranks that do what they like, and a network that keeps the order of each pair."""
    def __init__(self, seed, ranks, steps, skew=0):
        self.draw = random.Random(seed)
        self.ranks = [Rank(i, self.draw.randrange(skew + 1)) for i in range(ranks)]
        self.now = 0
        for rank in self.ranks:
            for number, comm in enumerate(rank.comms):
                rank.put(0, COMM, tag=comm, node=number)
        for _ in range(steps):
            self.step()
        while any(q for rank in self.ranks for q in rank.on_way.values()):
            self.arrive()
        for rank in self.ranks:
            for recv in rank.all:
                self.end(rank, recv)

    def step(self):
        self.now += self.draw.randrange(1, 2000)
        rank, dice = self.draw.choice(self.ranks), self.draw.random()
        comm, tag = self.draw.choice(IDS), self.draw.randrange(3)
        src = ANY if self.draw.random() < .3 else self.draw.randrange(len(self.ranks))
        if dice < .3:
            self.send(rank, self.draw.choice(self.ranks), comm, tag)
        elif dice < .55:
            self.receive(rank, src, comm, tag, self.draw.random() < .3)
        elif dice < .65:
            self.look(rank, src, comm, tag, self.draw.random() < .5, self.draw.random() < .5)
        elif dice < .8 and rank.all:
            self.end(rank, self.draw.choice(rank.all), self.draw.random() < .1)
        else:
            self.arrive()

    def send(self, rank, to, comm, tag):
        rank.call(self.now, SEND, to.rank, comm, tag)
        if self.draw.random() < .05:  # it fails
            rank.done(self.now, rank.calls, None)
            return
        count = to.sent[rank.rank, comm, tag]
        to.sent[rank.rank, comm, tag] += 1
        to.on_way[rank.rank].append(Message(rank.rank, comm, tag, count, self.now + rank.skew))

    def arrive(self):
        self.now += 1
        rank = self.draw.choice(self.ranks)
        waits = [q for q in rank.on_way.values() if q]
        if not waits:
            return
        msg = self.draw.choice(waits).popleft()
        recv = next((r for r in rank.posted if r.accepts(msg)), None)
        if recv:
            rank.posted.remove(recv)
            recv.got = msg
        else:
            rank.queued.append(msg)

    def receive(self, rank, src, comm, tag, any_tag):
        tag = 0 if any_tag else tag
        recv = Receive(rank.call(self.now, WANT, src, comm, tag, any_tag), src, comm, tag, any_tag)
        recv.got = next((m for m in rank.queued if recv.accepts(m)), None)
        if recv.got:
            rank.queued.remove(recv.got)
        else:
            rank.posted.append(recv)
        rank.all.append(recv)

    def look(self, rank, src, comm, tag, any_tag, claims):
        tag = 0 if any_tag else tag
        want = Receive(0, src, comm, tag, any_tag)
        msg = next((m for m in rank.queued if want.accepts(m)), None)
        number = rank.call(self.now, CLAIM if claims else PROBE, src, comm, tag, any_tag, msg is not None)
        if msg:
            rank.done(self.now, number, msg)
        if msg and claims:
            rank.queued.remove(msg)
        rank.looks.append((msg and msg[:4], claims))

    def end(self, rank, recv, cancel=True):
        if recv.ended or not (recv.got or cancel):
            return
        recv.ended = True
        if not recv.got:
            rank.posted.remove(recv)
        rank.done(self.now, recv.number, recv.got)


def write(path, rank, events, ended=True, version=2):
    """A file of calls."""
    with open(path, "wb") as f:
        f.write(layout.header(version))
        f.write(layout.process(0, rank, 100 + max(rank, 0), b"host", b"job"))
        f.write(layout.lane(0, 0, 0, 1, b"mpi"))
        records, mask, now = [], 0, events[0][0] if events else 0
        for ns, kind, src, tag, ignore, node, matched in events:
            if ignore and ignore != mask:
                mask = ignore
                records.append(layout.record(0, 0, mask, 0, 0, 17))
            records.append(layout.record(ns - now, src, tag, node, matched + (4 if ignore else 0), kind))
            now = ns
        head = struct.pack("=5Q", events[0][0] if events else 0, 1, 1, 0, len(records))
        f.write(layout.block(3, 0, head + b"".join(records)))
        if ended:
            f.write(layout.end())
    return path


def arrivals(paths, out, status=0):
    done = subprocess.run([sys.argv[1], "trace", "arrivals", *paths, "-o", out], capture_output=True, text=True,
                          check=False)
    assert done.returncode == status, (done, paths)
    return done.stdout, done.stderr


def followed(lane, comms):
    """The message of each receive, in the order in which they were posted, and of each look; and when each
    message came."""
    seen, came, receives, looks, by_node, waits = collections.Counter(), {}, [], [], {}, {}
    arriving = None
    for e in lane.events:
        if e.kind == plain.ARRIVE:
            key = (e.src, comms[e.tag >> 32], e.tag & ANY)
            arriving = (*key, seen[key])
            seen[key] += 1
            came[arriving] = e.ns
            if e.matched:
                receives[by_node[e.node]] = arriving
        elif e.kind == plain.QUEUE:
            waits[e.node] = arriving
        elif e.kind == plain.POST:
            if not e.matched:
                by_node[e.node] = len(receives)
            receives.append(waits.pop(e.node) if e.matched else None)
        elif e.kind == plain.PEEK:
            looks.append((waits[e.node] if e.matched else None, False))
        elif e.kind == plain.TAKE:
            looks[-1] = (waits.pop(e.node), True)
    return receives, looks, came


def same(job, trace, comms=IDS, exact=True):
    for rank, lane, process in zip(job.ranks, trace.lanes, trace.processes):
        assert process.rank == rank.rank and lane.process == trace.lanes.index(lane)
        assert plain.judge(lane) is None, plain.judge(lane)
        receives, looks, came = followed(lane, comms)
        assert receives == [r.got and r.got[:4] for r in rank.all], rank.rank
        assert [m for m, _ in looks] == [m for m, _ in rank.looks]
        assert [c for m, c in looks if m] == [c for m, c in rank.looks if m]
        messages = [r.got for r in rank.all if r.got] + rank.queued
        assert exact <= (len(came) >= len(messages))
        for msg in messages * exact:
            assert came[msg[:4]] >= BEGIN + msg.ns, msg


def random_jobs(folder):
    out = os.path.join(folder, "out.qvt")
    for seed in range(10):
        job = Job(seed, 2 + seed % 3, 60 + 60 * seed, 10**6 if seed % 4 == 3 else 0)
        paths = [write(os.path.join(folder, f"{r.rank}.qvt"), r.rank, r.events) for r in job.ranks]
        said, err = arrivals(paths, out)
        assert not err, err
        assert f" of {len(paths)} ranks, " in said, said
        # Clocks that differ: a message may have to come before it was sent.
        same(job, plain.read(out), exact=seed % 4 != 3)
        replayed = subprocess.run([sys.argv[1], "trace", "replay", out, "--rounds", "1", "--impl", "ll"],
                                  capture_output=True, text=True, check=False)
        assert replayed.returncode == 0, replayed
        without(folder, job, paths, out)


def without(folder, job, paths, out):
    """The file of the last rank is missing, or ends in the middle: the others have the same matches."""
    received = sum(1 for r in job.ranks[:-1] for x in r.all if x.got and x.got.src == len(paths) - 1)
    _, err = arrivals(paths[:-1], out)
    assert not received or "that they were sent is in no file" in err, err
    assert "contradict" not in err, err
    rest = Job.__new__(Job)
    rest.ranks = job.ranks[:-1]
    same(rest, plain.read(out), exact=False)
    last = job.ranks[-1]
    cut = write(os.path.join(folder, "cut.qvt"), last.rank, last.events[:len(last.events) // 2], ended=False)
    _, err = arrivals(paths[:-1] + [cut], out)
    assert "was not ended by its process" in err, err
    trace = plain.read(out)
    assert not trace.whole
    trace.lanes.pop()
    same(rest, trace, exact=False)


def wrong_files(folder):
    """Files that are not sound: one line, no trace."""
    out, path = os.path.join(folder, "no.qvt"), os.path.join(folder, "wrong.qvt")
    comm, other = (BEGIN, COMM, 0, 0, 0, 0, False), os.path.join(folder, "other.qvt")

    def call(kind, node, src=0, tag=0, ignore=0, matched=False):
        return (BEGIN, kind, src, tag, ignore, node, matched)

    cases = [("its communicator is not known", [call(SEND, 1)]),
             ("its communicator is not known", [comm, call(WANT, 1, tag=1 << 32)]),
             ("no program has this tag", [comm, call(SEND, 1, tag=0x80000000)]),
             ("have the numbers 0, 1", [call(COMM, 1)]),
             ("have the numbers 1, 2", [comm, call(SEND, 2)]),
             ("have the numbers 1, 2", [comm, call(SEND, 1), call(WANT, 1)]),
             ("no rank has this number", [comm, call(SEND, 1, src=ANY)]),
             ("no rank has this number", [comm, call(WANT, 1, src=ANY - 1)]),
             ("ignores a part of the tag", [comm, call(WANT, 1, ignore=1)]),
             ("its call is not known", [comm, call(DONE, 1)]),
             ("its call is not known", [comm, call(WANT, 1), call(DONE, 0)]),
             ("has ended already", [comm, call(WANT, 1), call(DONE, 1), call(DONE, 1)]),
             ("has ended already", [comm, call(PROBE, 1), call(DONE, 1, matched=True)]),
             ("does not accept this message", [comm, call(WANT, 1), call(DONE, 1, tag=1, matched=True)]),
             ("does not accept this message", [comm, call(WANT, 1), call(DONE, 1, src=1, matched=True)]),
             ("a send gets no message", [comm, call(SEND, 1), call(DONE, 1, matched=True)])]
    for text, events in cases:
        write(path, 0, events)
        _, err = arrivals([path], out, 1)
        assert err.startswith(f"quiver: {path}: event {len(events)} contradicts") and text in err, (text, err)
        assert err.count("\n") == 1 and not os.path.exists(out), err
    good = write(other, 1, [comm])
    for text, paths in (("is of rank 1, as a file before it", [good, good]),
                        ("is not of one process with a rank", [write(path, -1, [comm])]),
                        ("an event of kind 7 is not known", [write(path, 0, [comm, call(SEND, 1)], version=1)])):
        _, err = arrivals(paths, out, 1)
        assert text in err or "matches already" in err, err
    _, err = arrivals([write(path, 0, [], version=1)], out, 1)
    assert "has matches already" in err, err
    arrivals([good], out)
    for command in ("cut", "merge", "anonymise", "arrivals"):
        done = subprocess.run([sys.argv[1], "trace", command, good, "-o", out], capture_output=True, text=True,
                              check=False)
        assert (done.returncode == 0) == (command == "arrivals"), done
        assert command == "arrivals" or "has calls of a program, not matches" in done.stderr, done
    for command in ("replay", "advise", "report"):
        done = subprocess.run([sys.argv[1], "trace", command, good], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "has calls of a program, not matches" in done.stderr, done


def hostile(folder):
    """Calls that no MPI would have answered so: it ends, and says what contradicts."""
    draw, out = random.Random(5), os.path.join(folder, "out.qvt")
    for turn in range(40):
        paths = []
        for rank in range(2):
            events, wants = [(BEGIN, COMM, 0, 0, 0, 0, False)], []
            for number in range(1, 60):
                kind = draw.choice((SEND, WANT, WANT, PROBE, CLAIM))
                events.append((BEGIN + number, kind, draw.choice((0, 1) if kind == SEND else (0, 1, ANY)),
                               draw.randrange(2), ANY_TAG if kind != SEND and draw.random() < .3 else 0, number,
                               kind in (PROBE, CLAIM)))
                wants.append((number, events[-1]))
                if draw.random() < .8:
                    node, (_, kind, src, tag, ignore, _, _) = wants.pop(draw.randrange(len(wants)))
                    src = draw.randrange(2) if src == ANY else src
                    events.append((BEGIN + number, DONE, src, draw.randrange(2) if ignore else tag, 0, node,
                                   kind != SEND and (kind != WANT or draw.random() < .8)))
            paths.append(write(os.path.join(folder, f"h{rank}.qvt"), rank, events))
        _, err = arrivals(paths, out)
        wrong = [plain.judge(lane) for lane in plain.read(out).lanes]
        assert any(wrong) <= ("contradict the order of MPI" in err), (turn, wrong, err)


def shown(folder):
    """`dump` shows calls."""
    job = Job(7, 2, 300)
    path = write(os.path.join(folder, "calls.qvt"), 0, job.ranks[0].events)
    text = subprocess.run([sys.argv[1], "trace", "dump", path], capture_output=True, text=True, check=True).stdout
    kinds = collections.Counter(line.split()[2] for line in text.splitlines()[3:-1])
    names = {"send": SEND, "want": WANT, "probe": PROBE, "claim": CLAIM, "done": DONE, "comm": COMM}
    want = collections.Counter(e[1] for e in job.ranks[0].events)
    assert {names[k]: n for k, n in kinds.items()} == dict(want), (kinds, want)


def main():
    with tempfile.TemporaryDirectory() as folder:
        random_jobs(folder)
        wrong_files(folder)
        hostile(folder)
        shown(folder)
    print("arrivals: ok")


if __name__ == "__main__":
    main()
