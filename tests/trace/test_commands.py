#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_commands.py - what `quiver trace dump`, `cut`, `merge` and `anonymise` make of random traces is
what plain lists make of them.

usage: test_commands.py QUIVER CASE"""
import heapq
import os
import struct
import sys
import tempfile

from traces import (ANY, MASK64, QUEUES, Program, Queues, Trace, accepts, end, events, header, interleaved, lane, process,
                    quiver, seed, shown, write)

MPI_MASKS = (0, 0, 0xffffffff, 0x7fffffff, 0xff00000000, 0xffffffffffff)


def good(*args):
    status, out, err = quiver(*args)
    assert status == 0, (args, status, err)
    return out, err


def job(rng, folder, name="job", lanes=3, n=700, **how):
    """A trace of two processes: its path, and the events of each lane."""
    queues = list(QUEUES.values())
    calls = [Program(rng, **how).calls(n) for _ in range(lanes)]
    path = write(os.path.join(folder, f"{name}.qvt"), header(),
                 process(0, 3, 1234, b"north", b"solver"), process(1, 7, 99, b"south", b"solver"),
                 *(lane(i, i % 2, i // 2, queues[(i + 1) % 3]) for i in range(lanes)),
                 *interleaved(calls, rng, max(2, n // 5)), end())
    return path, calls


def start_of(calls):
    return min(e["ns"] for some in calls for e in some)


def dump(rng, folder):
    path, calls = job(rng, folder, masks=MPI_MASKS)
    trace, first = Trace(path), start_of(calls)
    assert trace.processes == [
        {"rank": 3, "pid": 1234, "host": "north", "program": "solver"},
        {"rank": 7, "pid": 99, "host": "south", "program": "solver"}], trace.processes
    assert [x["queue"] for x in trace.lanes] == ["tagged", "collective", "untagged"], trace.lanes
    assert [(x["process"], x["endpoint"]) for x in trace.lanes] == [(0, 0), (1, 0), (0, 1)]
    for i, some in enumerate(calls):
        assert trace.of(i) == [shown(e, first) for e in some], i
    total = sum(map(len, calls))
    assert trace.end == {"events": total, "whole": True, "lost": 0}, trace.end
    text = good("dump", path)[0].splitlines()
    assert len(text) == 2 + 3 + 1 + total + 1 and text[-1] == f"{total} events; whole; 0 lost", text[-1]
    for line, e in zip(text[6:], trace.events):
        check_text(line, e)
    few = good("dump", path, "--limit", "5")[0].splitlines()
    assert few == text[:6 + 5] + text[-1:]


def check_text(line, e):
    words = line.split()
    assert words[:3] == [f"{e['ns'] / 1000:.3f}", str(e["lane"]), e["kind"]], (line, e)
    key = ["-", "-"] if "tag" not in e else ["any" if e["src"] == ANY else str(e["src"]), hex(e["tag"])]
    assert words[3:5] == key and words[5] == (hex(e["ignore"]) if "ignore" in e else "-"), (line, e)
    node = ["="] * e.get("matched", False) + [hex(e["node"]) if e["node"] else "-"]
    assert words[6:] == node + ["persistent"] * e.get("persistent", False), (line, e)


def groups(calls):
    """Events, each with the queue event that goes with its arrival."""
    both = []
    for e in calls:
        if e["kind"] == "queue":
            both[-1].append(e)
        else:
            both.append([e])
    return both


def part(calls, start, stop, first):
    """What a cut of a lane is to have, by plain lists: entries that wait at `start`, then the events."""
    queues, inside = Queues(), []
    for some in groups(calls):
        if some[0]["ns"] >= start:
            inside.append(some)
        else:
            for e in some:
                queues.follow(e)
    inside = [e for some in inside[:first] if some[0]["ns"] < stop for e in some]
    waits = [{**e, "ns": start} for e in queues.posted]
    for m in queues.queued:
        key = {"tag": m["tag"], "src": m["src"], "ns": start}
        waits += [{"kind": "arrive", "node": 0, "matched": False, **key}, {**m, **key}]
    return waits, inside


def cut(rng, folder):
    path, calls = job(rng, folder, masks=MPI_MASKS)
    out, first = os.path.join(folder, "cut.qvt"), start_of(calls)
    last = max(e["ns"] for some in calls for e in some)
    for turn in range(12):
        between = [e["ns"] for some in calls for e in some if e["kind"] == "queue"] # and their arrivals
        start = (rng.choice(between) if turn % 2 else rng.randrange(first, last)) if turn else first
        stop = max(start, rng.choice(between)) if turn % 3 else rng.randrange(start, last + 10)
        count = rng.choice((None, 1, 20))
        chosen = sorted(rng.sample(range(3), rng.randint(1, 3)))
        how = ["--from", f"{(start - first) / 1e9:.9f}", "--to", f"{(stop - first) / 1e9:.9f}",
               "--lane", ",".join(map(str, chosen))] + (["--first", str(count)] if count else [])
        said, err = good("cut", path, "-o", out, *how)
        assert not err, err
        check_cut(Trace(out), [part(calls[i], start, stop, count) for i in chosen], said)
    by_rank = ["--rank", "7"], ["--rank", "3", "--queue", "untagged"], ["--queue", "tagged"]
    for how, i in zip(by_rank, (1, 2, 0)):
        good("cut", path, "-o", out, *how)
        trace = Trace(out)
        assert len(trace.lanes) == len(trace.processes) == 1
        assert trace.processes[0]["rank"] == (7 if i == 1 else 3), trace.processes
        check_cut(trace, [([], calls[i])], None)


def check_cut(trace, parts, said):
    assert len(trace.lanes) == len(parts), (trace.lanes, parts)
    all_events = [e for waits, inside in parts for e in waits + inside]
    zero = min((e["ns"] for e in all_events), default=0)
    for i, (waits, inside) in enumerate(parts):
        assert trace.of(i) == [shown(e, zero) for e in waits + inside], i
        queues = Queues()
        for e in trace.of(i): # matches of the part are right for it
            queues.follow(e)
    if said:
        receives = sum(e["kind"] == "post" for waits, _ in parts for e in waits)
        messages = sum(e["kind"] == "queue" for waits, _ in parts for e in waits)
        events = sum(len(inside) for _, inside in parts)
        assert f"{events} events in {len(parts)} lanes; before them {receives} receives and {messages} messages" \
            in said, said


def middle(rng, folder):
    """A ring, which begins in the middle of a program: it says what it lacks, and goes on."""
    calls = Program(rng).calls(3000)
    queues, unseen = Queues(), 0
    for e in calls[:1500]:
        queues.follow(e)
    known, late = Queues(), calls[1500:]
    if late[0]["kind"] == "queue":
        late = late[1:]
    for e in late:
        if e["kind"] in ("take", "cancel") or e["kind"] in ("post", "arrive") and e["matched"]:
            where = known.posted if e["kind"] in ("cancel", "arrive") else known.queued
            unseen += all(x["node"] != e["node"] for x in where)
        known.follow(e, trusting=True)
    assert unseen
    path = write(os.path.join(folder, "ring.qvt"), header(), process(0, -1, 1, b"", b""), lane(0, 0, 0, 1),
                 *interleaved([late], rng), end(1500))
    out = os.path.join(folder, "out.qvt")
    after = f"{(late[-1]['ns'] - late[0]['ns']) / 1e9 + 1:.9f}"
    said, err = good("cut", path, "-o", out, "--from", after)
    assert f"{path} lacks 1500 events" in err and f"{unseen} events before the part are of entries" in err, err
    trace = Trace(out)
    assert [e["node"] for e in trace.events if e["kind"] == "post"] == [e["node"] for e in known.posted]
    assert [e["node"] for e in trace.events if e["kind"] == "queue"] == [e["node"] for e in known.queued]
    assert trace.end["lost"] == 1500 and f"{len(known.posted)} receives" in said, (trace.end, said)
    killed = write(os.path.join(folder, "killed.qvt"), header(), process(0, -1, 1, b"", b""), lane(0, 0, 0, 1),
                   *interleaved([late], rng), events(0, [], lost=7))
    ended = {"events": len(late), "whole": False, "lost": 7}
    assert Trace(killed).end == ended
    for command in ("cut", "merge", "anonymise"):
        assert "was not ended by its process" in good(command, killed, "-o", out)[1], command
        assert Trace(out).end == ended, (command, Trace(out).end)
    two = write(os.path.join(folder, "two.qvt"), header(), process(0, -1, 1, b"", b""), lane(0, 0, 0, 1),
                lane(1, 0, 1, 1), events(0, late, lost=3), events(1, late, lost=5), end(11))
    good("cut", two, "-o", out, "--lane", "1")
    assert Trace(out).end["lost"] == 16, Trace(out).end # of which lane 11 are, nobody knows
    good("merge", killed, path, "-o", out)
    assert not Trace(out).end["whole"] and Trace(out).end["lost"] == 1507, Trace(out).end


def merge(rng, folder):
    jobs = [job(rng, folder, f"job{i}", n=rng.randrange(1, 9000), masks=MPI_MASKS) for i in range(3)]
    out = os.path.join(folder, "merged.qvt")
    good("merge", *(path for path, _ in jobs), "-o", out)
    trace, parts = Trace(out), [Trace(path) for path, _ in jobs]
    first = min(start_of(calls) for _, calls in jobs)
    assert trace.processes == [p for t in parts for p in t.processes]
    assert trace.lanes == [{**x, "process": x["process"] + 2 * i} for i, t in enumerate(parts) for x in t.lanes]
    for i, some in enumerate(some for _, calls in jobs for some in calls):
        assert trace.of(i) == [shown(e, first) for e in some], i
    check_order(trace, parts, [start_of(calls) - first for _, calls in jobs])


def check_order(trace, parts, shift):
    """Blocks are written as they become full of events in order of time: 2700 records."""
    files = ([(e["ns"] + shift[i], i, {**e, "lane": e["lane"] + 3 * i}) for e in t.events]
             for i, t in enumerate(parts))
    full, order = {}, []
    for ns, _, e in heapq.merge(*files, key=lambda x: x[:2]):
        records, mask, last = full.get(e["lane"], (0, 0, ns))
        if records > 2697:
            order.append(e["lane"])
            records, mask, last = 0, 0, ns
        ignore = e.get("ignore", 0)
        full[e["lane"]] = records + 1 + (ns - last > ANY) + (ignore not in (0, mask)), ignore or mask, ns
    order += sorted(full)
    seen = [e["lane"] for e in trace.events]
    changes = [x for x, before in zip(seen, [None] + seen) if x != before]
    wanted = [x for x, before in zip(order, [None] + order) if x != before]
    assert changes == wanted, (changes, wanted)


def anonymise(rng, folder):
    wild = [rng.getrandbits(64) for _ in range(3)]
    for turn, masks in enumerate(((0,), MPI_MASKS, (0, MASK64), (0, *wild), (0, 1, 2, 4, 1 << 63))):
        path, calls = job(rng, folder, masks=masks)
        out = os.path.join(folder, "given.qvt")
        good("anonymise", path, "-o", out, *["--ranks"] * (turn % 2))
        before, after = Trace(path), Trace(out)
        assert first_ns(out) == 0
        check_names(before, after, turn % 2)
        theirs = [iter(after.of(i)) for i in range(len(calls))]
        check_numbers([(e, next(theirs[e["lane"]])) for e in before.events])
        for i in range(len(calls)):
            check_matches(before.of(i), after.of(i))


def check_names(before, after, ranks_too):
    assert [(p["host"], p["program"], p["pid"]) for p in after.processes] == [
        ("host0", "program0", 1), ("host1", "program0", 2)], after.processes
    wanted = [0, 1] if ranks_too else [p["rank"] for p in before.processes]
    assert [p["rank"] for p in after.processes] == wanted
    assert after.lanes == before.lanes


def first_ns(path):
    """Of the blocks of events in a file."""
    with open(path, "rb") as f:
        data, at, times = f.read(), 32, []
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        if kind == 3:
            times.append(struct.unpack_from("=Q", data, at + 24)[0])
        at += 24 + length
    return min(times)


def check_numbers(pairs):
    """One by one, in the order in which they come up."""
    for key, first in (("src", 0), ("node", 1)):
        given = {}
        for b, a in pairs:
            if key in b and not (key == "src" and b[key] == ANY or key == "node" and not b[key]):
                assert a[key] == given.setdefault(b[key], first + len(given)), (b, a)
    tags = {}
    for b, a in pairs:
        if not b.get("ignore") and "tag" in b:
            assert a["tag"] == tags.setdefault(b["tag"], a["tag"]), (b, a)
        if "ignore" in b:
            assert a["ignore"] == b["ignore"] and not a["tag"] & a["ignore"], (b, a)
    assert len(set(tags.values())) == len(tags)


def check_matches(before, after):
    """The same calls, the same answers; and every receive accepts the same messages, also those that
    it never met."""
    queues = Queues()
    assert len(before) == len(after)
    for b, a in zip(before, after):
        queues.follow(a)
        assert all(a[k] == b[k] for k in ("kind", "ns", "matched", "persistent") if k in b), (b, a)
    receives = {(b["tag"], b["ignore"], b["src"]): a for b, a in zip(before, after) if "ignore" in b}
    messages = {(b["tag"], b["src"]): a for b, a in zip(before, after) if b["kind"] == "arrive"}
    for (tag, ignore, src), recv in receives.items():
        for (its_tag, its_src), msg in messages.items():
            wanted = accepts({"tag": tag, "ignore": ignore, "src": src}, {"tag": its_tag, "src": its_src})
            assert accepts(recv, msg) == wanted, (recv, msg)


def main():
    case = {"dump": dump, "cut": cut, "middle": middle, "merge": merge, "anonymise": anonymise}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as folder:
        case(seed(), folder)


if __name__ == "__main__":
    main()
