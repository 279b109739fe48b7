#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_provider.py - FI_QUIVER_TRACE: what the provider writes, read as docs/trace-format.md says, against
the counters of the same run.

usage: test_provider.py <directory of libquiver-fi.so> <program test_fabric> <core>
"""
import contextlib
import fcntl
import json
import os
import resource
import subprocess
import sys
import tempfile

import plain

CASES = ["order_tagged", "random_masks", "cancel_tagged", "peek", "multi_recv_small",
         "unexpected_small_random", "posted_reverse", "coll_sets"]
wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def run(core, case, longest=None, **env):
    """One case over a core, with files of so many bytes at most: exit status, what was printed."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    full.update({"QV_TEST_SCALE": "0.05"}, **env, FI_PROVIDER_PATH=sys.argv[1])
    if core == "rxm":
        full["FI_PROVIDER"] = "tcp;ofi_rxm;ofi_quiver"
    else:
        full.update(FI_PROVIDER="quiver", FI_QUIVER_CORE=core)
    done = subprocess.run([sys.argv[2], case], env=full, capture_output=True, text=True,
                          timeout=200, check=False, preexec_fn=longest and (
                              lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest))))
    return done.returncode, done.stdout + done.stderr


def files(directory, prefix):
    """Those of the ranks, in order."""
    return [os.path.join(directory, f) for f in sorted(os.listdir(directory))
            if f.startswith(prefix)]


def counted(lanes, queue):
    """The counters that the events of such queues add up to."""
    events = [e for l in lanes if l.queue == queue for e in l.events]
    arrivals = [e for e in events if e.kind == plain.ARRIVE and e.matched]
    queued = [e for e in events if e.kind == plain.QUEUE]
    posts = [e for e in events if e.kind == plain.POST]
    return {"posted": len(posts), "arrived": len(arrivals) + len(queued),
            "unexpected": len(queued),
            "matched": len(arrivals) + sum(1 for e in posts if e.matched)}


def test_case(core, case, directory):
    """Each lane is right by itself, and has what the counters have."""
    status, text = run(core, case, FI_QUIVER_TRACE=f"{directory}/{case}.trace.%p",
                       FI_QUIVER_STATS=f"json:{directory}/{case}.stats.%p")
    check(f"{case}: passes, silent", status == 0 and "quiver:" not in text, text)
    traces = files(directory, f"{case}.trace.")
    check(f"{case}: a file for each process", len(traces) >= 1, os.listdir(directory))
    for path in traces:
        trace = plain.read(path)
        who = trace.processes[0]
        check(f"{case}: whole", trace.whole and not trace.lost, path)
        check(f"{case}: whose it is", path.endswith(f".{who.pid}") and
              who.host.decode() == os.uname().nodename and who.program == b"test_fabric", who)
        for number, lane in enumerate(trace.lanes):
            bad = plain.judge(lane)
            check(f"{case}: lane {number} is matched in order", not bad, bad)
        with open(path.replace(".trace.", ".stats."), encoding="utf-8") as file:
            endpoints = json.load(file)["endpoints"]
        for queue, name in ((1, "tagged"), (0, "untagged")):
            seen = counted(trace.lanes, queue)
            want = {k: sum(e[name][k] for e in endpoints) for k in seen}
            check(f"{case}: {name} as counted", seen == want, (seen, want))


def test_limits(core, directory):
    """What is not in the file is counted; the program passes."""
    case = "unexpected_small_random"
    status, text = run(core, case, FI_QUIVER_TRACE=f"max=100k:{directory}/limit.%p")
    check("limit: passes, and says so", status == 0 and "it has reached its limit" in text, text)
    sizes = [os.path.getsize(f) for f in files(directory, "limit.")]
    check("limit: holds", max(sizes) <= 101 << 10, sizes)
    losses = [plain.read(f).lost for f in files(directory, "limit.")]
    check("limit: counted in the file", max(losses) > 0, losses)
    status, text = run(core, case, FI_QUIVER_TRACE=f"ring=64k:{directory}/ring.%p")
    check("ring: passes, silent", status == 0 and "quiver:" not in text, text)
    for path in files(directory, "ring."):
        trace = plain.read(path)
        check("ring: the last events", trace.whole and
              all(len(l.events) <= 3 * 2700 for l in trace.lanes), trace.lost)
    status, text = run(core, case, FI_QUIVER_TRACE=f"ring=64k:max=100k:{directory}/both.%p")
    check("ring and max: in any order", status == 0 and files(directory, "both.") and
          max(os.path.getsize(f) for f in files(directory, "both.")) <= 101 << 10, text)
    for rank in range(4):
        os.symlink("/dev/full", f"{directory}/full.{rank}")
    status, text = run(core, "self", FI_QUIVER_TRACE=f"{directory}/full.%r")
    check("full disk: passes, and says so", status == 0 and
          "no trace is written: No space left on device" in text, text)
    status, text = run(core, "fan_in", 16 << 10, FI_QUIVER_TRACE=f"{directory}/short.%p")
    check("limit of the system: passes, and says so", status == 0 and
          "(max= of FI_QUIVER_TRACE, or ulimit -f)" in text, text)
    for form in ("json", "profile"):
        status, text = run(core, "self", 10, FI_QUIVER_STATS=f"{form}:{directory}/short_stats.%p")
        check(f"limit of the system: {form}, too", status == 0 and "cannot be written" in text, text)
    with contextlib.ExitStack() as held:
        for rank in range(4):
            fcntl.lockf(held.enter_context(open(f"{directory}/held.{rank}", "wb")), fcntl.LOCK_EX)
        status, text = run(core, "self", FI_QUIVER_TRACE=f"{directory}/held.%r")
    check("of somebody else: passes, and says so", status == 0 and
          "no trace is written: another process writes this file" in text, text)
    status, text = run(core, "self", FI_QUIVER_TRACE=f"ring=300000G:{directory}/huge.%r")
    check("no memory: passes, and says so", status == 0 and
          "lacks the matching of an endpoint: no memory" in text, text)
    for bad in ("ring=x:/tmp/a", "/tmp/a,ring=1M", "ring=1M:/tmp/a:max=5", "max=:/tmp/a", "ring=5", "", "/no/such/dir/a", "%q"):
        status, text = run(core, "self", FI_QUIVER_TRACE=bad)
        if bad:
            check(f"refused: {bad}", status != 0 and f"FI_QUIVER_TRACE={bad}: " in text, text)
        else:
            check("empty: none", status == 0 and "quiver:" not in text, text)


def test_ends(core, directory):
    """Processes that fork, that are killed, that do not close."""
    status, text = run(core, "fork", FI_QUIVER_TRACE=f"{directory}/fork.%p")
    check("fork: passes, silent", status == 0 and "quiver:" not in text, text)
    traces = [plain.read(f) for f in files(directory, "fork.")]
    check("fork: two processes, whole, each in order", len(traces) == 2 and
          all(t.whole and not any(plain.judge(l) for l in t.lanes) for t in traces))
    status, text = run(core, "fork_opens", FI_QUIVER_TRACE=f"{directory}/opens.%p")
    traces = [plain.read(f) for f in files(directory, "opens.")]
    check("fork_opens: a file for the child, too, both whole", status == 0 and "quiver:" not in text and
          len(traces) == 2 and all(t.whole and t.lanes and len(t.processes) == 1 for t in traces), text)
    status, text = run(core, "fork_uses", FI_QUIVER_TRACE=f"{directory}/uses.%p")
    traces = [plain.read(f) for f in files(directory, "uses.")]
    check("fork_uses: nothing that the child does with its parent's endpoint", status == 0 and "quiver:" not in text and
          len(traces) == 2 and all(t.whole and t.lanes and not any(l.events for l in t.lanes) for t in traces), text)
    status, text = run(core, "stats_not_closed", FI_QUIVER_TRACE=f"{directory}/open.%p")
    traces = [plain.read(f) for f in files(directory, "open.")]
    check("not closed: whole", status == 0 and traces and all(t.whole for t in traces), text)
    status, text = run(core, "kill_receiver", FI_QUIVER_TRACE=f"{directory}/kill.%p")
    traces = [plain.read(f) for f in files(directory, "kill.")]
    check("killed: the others are whole, who was killed is not", status == 0 and
          {t.whole for t in traces} == {False, True}, text)


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
