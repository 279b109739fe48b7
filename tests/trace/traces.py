# SPDX-License-Identifier: BSD-2-Clause
"""traces.py - what the tests of `quiver trace` share: traces written byte by byte as
docs/trace-format.md describes them, matching over plain lists, and what `dump --json` says."""
import json
import os
import random
import struct
import subprocess
import sys

from layout import MASK64, block, end, header, lane, process, record # pylint: disable=unused-import

ANY = 0xffffffff
KINDS = {"post": 1, "arrive": 2, "queue": 3, "peek": 4, "take": 5, "cancel": 6}
QUEUES = {"untagged": 0, "tagged": 1, "collective": 2}


# The bytes of a block of events; layout.py has the others.

def events(index, some, lost=0, ticks_per_ns=1):
    """A block of events, whose clock went so many ticks in a nanosecond."""
    start = some[0]["ns"] if some else 0
    clock, mask, records = start, 0, []
    for e in some:
        ticks = (e["ns"] - clock) * ticks_per_ns
        clock = e["ns"]
        if ticks > ANY:
            records.append(record(0, 0, ticks, 0, 0, 16))
            ticks = 0
        ignore = e.get("ignore", 0)
        if ignore and ignore != mask:
            mask = ignore
            records.append(record(0, 0, mask, 0, 0, 17))
        flags = (1 if e.get("matched") else 0) | (2 if e.get("persistent") else 0) | (4 if ignore else 0)
        records.append(record(ticks, e.get("src", 0), e.get("tag", 0), e["node"], flags, KINDS[e["kind"]]))
    head = struct.pack("=QQQQQ", start, 1000, 1000 * ticks_per_ns, lost, len(records))
    return block(3, index, head + b"".join(records))


def interleaved(lanes, rng, most=2000):
    """Blocks of the events of lanes, in turns: each lane's own are in order."""
    left = {i: list(some) for i, some in enumerate(lanes) if some}
    while left:
        i = rng.choice(sorted(left))
        n = rng.randint(1, most)
        yield events(i, left[i][:n])
        left[i] = left[i][n:]
        if not left[i]:
            del left[i]


# Matching over plain lists.

def accepts(recv, msg):
    return ((recv["tag"] ^ msg["tag"]) & ~recv["ignore"] & MASK64) == 0 and recv["src"] in (ANY, msg["src"])


class Queues:
    """Two lists, oldest first."""

    def __init__(self):
        self.posted, self.queued, self.last = [], [], None

    def answer(self, e):
        """What an event would find: an entry, or None."""
        if e["kind"] in ("post", "peek"):
            return next((m for m in self.queued if accepts(e, m)), None)
        return next((r for r in self.posted if accepts(r, e)), None)

    def follow(self, e, trusting=False):
        """The event happens. The answer that it has must be the right one, unless it is trusted: then
        the trace may lack what was before."""
        kind = e["kind"]
        if kind in ("post", "peek", "arrive"):
            found = self.answer(e)
            if not trusting:
                assert e["matched"] == (found is not None), e
                assert found is None or e["node"] == found["node"], (e, found)
        if kind == "post" and not e["matched"] or kind == "queue":
            where = self.posted if kind == "post" else self.queued
            assert trusting or all(x["node"] != e["node"] for x in where), e
            self.remove(where, e["node"])
            where.append(e)
        elif kind in ("post", "take"):
            assert self.remove(self.queued, e["node"]) or trusting, e
        elif kind == "cancel" or kind == "arrive" and e["matched"]:
            stays = kind == "arrive" and any(r["node"] == e["node"] and r["persistent"] for r in self.posted)
            assert stays or self.remove(self.posted, e["node"]) or trusting, e
        if kind == "queue":
            assert trusting or self.last == (e["tag"], e["src"]), e
        self.last = (e["tag"], e["src"]) if kind == "arrive" and not e["matched"] else None

    @staticmethod
    def remove(where, node):
        before = len(where)
        where[:] = [x for x in where if x["node"] != node]
        return len(where) < before


class Program:
    """Random calls on one engine, as a recorder sees them."""

    def __init__(self, rng, masks=(0,), tags=6, sources=4, bits=0):
        self.rng, self.masks, self.bits = rng, masks, bits
        self.tags = [rng.getrandbits(64) for _ in range(tags)]
        self.tags += [t ^ 1 << rng.randrange(64) for t in self.tags]
        self.sources = [rng.randrange(1000) for _ in range(sources)]
        self.queues, self.ns = Queues(), 1_700_000_000_000_000_000 + rng.randrange(10**6)

    def node(self, where):
        """Nodes are used again, and those of one queue may be those of the other."""
        taken = {x["node"] for x in where}
        return next(n for n in iter(lambda: self.rng.randrange(1, 4 + 2 * len(taken)) << 7, None) if n not in taken)

    def happen(self, kind, node, **more):
        e = {"ns": self.ns, "kind": kind, "node": node, **more}
        self.queues.follow(e)
        return e

    def search(self, kind, key, otherwise, **more):
        found = self.queues.answer({"kind": kind, **key})
        return self.happen(kind, found["node"] if found else otherwise, matched=found is not None, **key, **more)

    def calls(self, n):
        """At least n events."""
        rng, q, done = self.rng, self.queues, []
        while len(done) < n:
            self.ns += rng.choice((0, 3, 900, 10**5)) if rng.random() < 0.999 else 5 * 10**9
            recv = {"tag": rng.choice(self.tags), "ignore": rng.choice(self.masks),
                    "src": ANY if rng.random() < 0.2 else rng.choice(self.sources)}
            drawn = rng.random()
            if drawn < 0.42:
                done.append(self.search("post", recv, self.node(q.posted), persistent=rng.random() < 0.05))
            elif drawn < 0.86:
                msg = {"tag": rng.choice(self.tags), "src": rng.choice(self.sources)}
                done.append(self.search("arrive", msg, 0))
                self.ns += rng.choice((0, 50))
                if not done[-1]["matched"] and rng.random() < 0.97: # else it was refused
                    done.append(self.happen("queue", self.node(q.queued), **msg))
            elif drawn < 0.91:
                done.append(self.search("peek", recv, 0))
                if done[-1]["matched"] and rng.random() < 0.5:
                    done.append(self.happen("take", done[-1]["node"], tag=0, src=0))
            elif q.posted:
                done.append(self.happen("cancel", rng.choice(q.posted)["node"], tag=0, src=0))
        return done


# The program.

def quiver(*args, **how):
    """Exit status, standard output, standard error of `quiver trace`."""
    done = subprocess.run([sys.argv[1], "trace", *args], capture_output=True, check=False, timeout=300, **how)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Trace:
    """What `dump --json` says of a file."""

    def __init__(self, path):
        status, out, err = quiver("dump", "--json", path)
        assert status == 0 and not err, (status, err)
        self.processes, self.lanes, self.events, self.end = [], [], [], None
        for line in out.splitlines():
            self.take(json.loads(line))

    def take(self, o):
        kind = o.pop("type")
        if kind == "event":
            for key in ("tag", "ignore", "node"):
                if key in o:
                    o[key] = int(o[key], 16)
            if "src" in o and o["src"] is None:
                o["src"] = ANY
            self.events.append(o)
        elif kind == "end":
            self.end = o
        else:
            where = self.processes if kind == "process" else self.lanes
            assert o.pop(kind) == len(where)
            where.append(o)

    def of(self, index):
        """Events of a lane, without its number."""
        return [{k: v for k, v in e.items() if k != "lane"} for e in self.events if e["lane"] == index]


def shown(e, first):
    """An event as dump has it, at a time since the first."""
    kind = e["kind"]
    keys = ["kind", "node"] + ["src", "tag"] * (kind not in ("take", "cancel")) \
        + ["ignore"] * (kind in ("post", "peek")) + ["matched"] * (kind in ("post", "peek", "arrive")) \
        + ["persistent"] * (kind == "post")
    return {"ns": e["ns"] - first, **{k: e[k] for k in keys}}


def write(path, *parts):
    with open(path, "wb") as f:
        f.writelines(parts)
    return path


def seed():
    value = int(os.environ.get("QV_SEED", random.randrange(1 << 32)))
    print(f"QV_SEED={value}", flush=True)
    return random.Random(value)
