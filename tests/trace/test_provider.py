#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_provider.py - FI_QUIVER_TRACE: what the provider writes, read as docs/trace-format.md says, against
the counters of the same run.

usage: test_provider.py <directory of libquiver-fi.so> <program test_fabric> <core>
"""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

CASES = ["order_tagged", "random_masks", "cancel_tagged", "peek", "multi_recv_small",
         "unexpected_small_random", "posted_reverse", "coll_sets"]
KINDS = {1: "post", 2: "arrive", 3: "queue", 4: "peek", 5: "take", 6: "cancel"}
TIME, MASK = 16, 17
MATCHED, PERSISTENT, MASKED = 1, 2, 4
WORD = (1 << 64) - 1

Lane = collections.namedtuple("Lane", "process endpoint queue structure bits events")
Event = collections.namedtuple("Event", "ns kind flags src tag ignore node")

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def check_sum(kind, index, data):
    """The sum of a block."""
    sums = [1, kind, index, len(data)]
    for i, (word,) in enumerate(struct.iter_unpack("=Q", data)):
        sums[i % 4] = ((sums[i % 4] ^ word) * 0x9e3779b97f4a7c15) & WORD
    total = 0
    for part in sums:
        total = ((total ^ part) * 0x9e3779b97f4a7c15) & WORD
    return total


def records(data):
    """The events of a block, and how many were lost before it."""
    ns, span_ns, span_ticks, lost, n = struct.unpack_from("=5Q", data)
    assert len(data) == 40 + 24 * n
    clock = mask = 0
    events = []
    for ticks, src, tag, what in struct.iter_unpack("=IIQQ", data[40:]):
        kind, flags, node = what & 255, what >> 8 & 255, what >> 16
        clock += ticks + (tag if kind == TIME else 0)
        if kind == MASK:
            mask = tag
        elif kind != TIME:
            events.append(Event(ns + clock * span_ns // span_ticks, KINDS[kind], flags, src, tag,
                                mask if flags & MASKED else 0, node))
    return events, lost


def read(path):
    """Process, lanes, events that are lost; None for those where there is no end."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, order = struct.unpack_from("=8sII", data)
    assert (magic, version, order) == (b"QVTRACE\0", 1, 0x01020304), data[:16]
    at, process, lanes, lost, ended = 32, None, {}, 0, False
    while at < len(data):
        kind, size, index, zero, total = struct.unpack_from("=IIIIQ", data, at)
        body = data[at + 24:at + 24 + size]
        assert not ended and zero == 0 and len(body) == size and check_sum(kind, index, body) == total
        at += 24 + size
        if kind == 1:
            rank, pid, host, program = struct.unpack("=iI64s64s", body)
            process = (rank, pid, host.rstrip(b"\0").decode(), program.rstrip(b"\0").decode())
        elif kind == 2:
            owner, endpoint, queue, _, structure, bits = struct.unpack("=IIII64sQ", body)
            lanes[index] = Lane(owner, endpoint, queue, structure.rstrip(b"\0").decode(), bits, [])
        elif kind == 3:
            events, missing = records(body)
            lanes[index].events.extend(events)
            lost += missing
        else:
            lost += struct.unpack("=Q", body)[0]
            ended = True
    return process, lanes, lost if ended else None


def accepts(recv, msg):
    """The rule of MPI."""
    return (recv.tag ^ msg.tag) & ~recv.ignore & WORD == 0 and recv.src in (msg.src, 0xffffffff)


def replay(lane):
    """The lane's events over two plain lists: the oldest that fits. What is not as it was answered."""
    posted, waiting, last = [], [], None
    for e in lane.events:
        if e.kind == "post" or e.kind == "peek":
            fit = next((m for m in waiting if accepts(e, m)), None)
            if bool(e.flags & MATCHED) != (fit is not None) or fit and fit.node != e.node:
                return e
            if e.kind == "post":
                (waiting.remove(fit) if fit else posted.append(e))
        elif e.kind == "arrive":
            fit = next((r for r in posted if accepts(r, e)), None)
            if bool(e.flags & MATCHED) != (fit is not None) or fit and fit.node != e.node:
                return e
            if fit and not fit.flags & PERSISTENT:
                posted.remove(fit)
            last = None if fit else e
        elif e.kind == "queue":
            if not last or (last.tag, last.src) != (e.tag, e.src):
                return e
            waiting.append(e)
        else:
            entries = posted if e.kind == "cancel" else waiting
            entry = next((x for x in entries if x.node == e.node), None)
            if not entry:
                return e
            entries.remove(entry)
    return None


def run(core, case, **env):
    """One case over a core: exit status, what was printed."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    full.update({"QV_TEST_SCALE": "0.05"}, **env, FI_PROVIDER_PATH=sys.argv[1])
    if core == "rxm":
        full["FI_PROVIDER"] = "tcp;ofi_rxm;ofi_quiver"
    else:
        full.update(FI_PROVIDER="quiver", FI_QUIVER_CORE=core)
    done = subprocess.run([sys.argv[2], case], env=full, capture_output=True, text=True,
                          timeout=200, check=False)
    return done.returncode, done.stdout + done.stderr


def files(directory, prefix):
    """Those of the ranks, in order."""
    return [os.path.join(directory, f) for f in sorted(os.listdir(directory))
            if f.startswith(prefix)]


def counted(lanes, queue):
    """The counters that the events of such queues add up to."""
    events = [e for l in lanes.values() if l.queue == queue for e in l.events]
    arrivals = [e for e in events if e.kind == "arrive" and e.flags & MATCHED]
    queued = [e for e in events if e.kind == "queue"]
    posts = [e for e in events if e.kind == "post"]
    return {"posted": len(posts), "arrived": len(arrivals) + len(queued),
            "unexpected": len(queued),
            "matched": len(arrivals) + sum(1 for e in posts if e.flags & MATCHED)}


def test_case(core, case, directory):
    """Each lane is right by itself, and has what the counters have."""
    status, text = run(core, case, FI_QUIVER_TRACE=f"{directory}/{case}.trace.%p",
                       FI_QUIVER_STATS=f"json:{directory}/{case}.stats.%p")
    check(f"{case}: passes, silent", status == 0 and "quiver:" not in text, text)
    traces = files(directory, f"{case}.trace.")
    check(f"{case}: a file for each process", len(traces) >= 1, os.listdir(directory))
    for path in traces:
        (_, pid, host, program), lanes, lost = read(path)
        check(f"{case}: whole", lost == 0, path)
        check(f"{case}: whose it is", path.endswith(f".{pid}") and host == os.uname().nodename and
              program == "test_fabric", (pid, host, program))
        for number, lane in lanes.items():
            bad = replay(lane)
            check(f"{case}: lane {number} is matched in order", not bad, bad)
            times = [e.ns for e in lane.events]
            check(f"{case}: time goes on", times == sorted(times))
        with open(path.replace(".trace.", ".stats."), encoding="utf-8") as file:
            endpoints = json.load(file)["endpoints"]
        for queue, name in ((1, "tagged"), (0, "untagged")):
            seen = counted(lanes, queue)
            want = {k: sum(e[name][k] for e in endpoints) for k in seen}
            check(f"{case}: {name} as counted", seen == want, (seen, want))


def test_limits(core, directory):
    """What is not in the file is counted; the program passes."""
    case = "unexpected_small_random"
    status, text = run(core, case, FI_QUIVER_TRACE=f"max=100k:{directory}/limit.%p")
    check("limit: passes, and says so", status == 0 and "it has reached its limit" in text, text)
    sizes = [os.path.getsize(f) for f in files(directory, "limit.")]
    check("limit: holds", max(sizes) <= 101 << 10, sizes)
    losses = [read(f)[2] for f in files(directory, "limit.")]
    check("limit: counted in the file", max(losses) > 0, losses)
    status, text = run(core, case, FI_QUIVER_TRACE=f"ring=64k:{directory}/ring.%p")
    check("ring: passes, silent", status == 0 and "quiver:" not in text, text)
    for path in files(directory, "ring."):
        _, lanes, lost = read(path)
        check("ring: the last events", lost is not None and
              all(len(l.events) <= 3 * 2700 for l in lanes.values()), lost)
    for rank in range(4):
        os.symlink("/dev/full", f"{directory}/full.{rank}")
    status, text = run(core, "self", FI_QUIVER_TRACE=f"{directory}/full.%r")
    check("full disk: passes, and says so", status == 0 and
          "no trace is written: No space left on device" in text, text)
    for bad in ("ring=x:/tmp/a", "max=:/tmp/a", "ring=5", "", "/no/such/dir/a", "%q"):
        status, text = run(core, "self", FI_QUIVER_TRACE=bad)
        if bad:
            check(f"refused: {bad}", status != 0 and f"FI_QUIVER_TRACE={bad}: " in text, text)
        else:
            check("empty: none", status == 0 and "quiver:" not in text, text)


def test_ends(core, directory):
    """Processes that fork, that are killed, that do not close."""
    status, text = run(core, "fork", FI_QUIVER_TRACE=f"{directory}/fork.%p")
    check("fork: passes, silent", status == 0 and "quiver:" not in text, text)
    traces = [read(f) for f in files(directory, "fork.")]
    check("fork: two processes, whole, each in order", len(traces) == 2 and
          all(t[2] == 0 and not any(replay(l) for l in t[1].values()) for t in traces))
    status, text = run(core, "stats_not_closed", FI_QUIVER_TRACE=f"{directory}/open.%p")
    traces = [read(f) for f in files(directory, "open.")]
    check("not closed: whole", status == 0 and traces and
          all(t[2] == 0 for t in traces), text)
    status, text = run(core, "kill_receiver", FI_QUIVER_TRACE=f"{directory}/kill.%p")
    traces = [read(f) for f in files(directory, "kill.")]
    check("killed: the others are whole, who was killed is not", status == 0 and
          sorted({t[2] is None for t in traces}) == [False, True], text)


def main():
    core = sys.argv[3]
    with tempfile.TemporaryDirectory() as directory:
        for case in CASES:
            test_case(core, case, directory)
        test_ends(core, directory)
        if core == "tcp":
            test_limits(core, directory)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
