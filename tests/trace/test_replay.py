#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_replay.py - `quiver trace replay`: every structure gives the recorded answers, counts are those of a
list in Python, and wrong or broken traces are refused with a line.

usage: test_replay.py <quiver> <plugin of faulty contenders>
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import tracefile
from tracefile import Lane, traffic

STRUCTURES = {"auto", "ll", "lla", "llv", "ompi", "ucx", "hash", "nm", "bins", "pnp", "pnp-static", "clu",
              "col", "col-ll", "col-pnp"}
NO_MASK = "a trace does not tell which messages are collective; --collective does"

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


class Run:
    """quiver trace replay, and the rows that it writes."""
    def __init__(self, *arguments):
        rows = os.path.join(FOLDER, "rows.json")
        if os.path.exists(rows):
            os.unlink(rows)
        self.done = subprocess.run([sys.argv[1], "trace", "replay", "--rounds", "2", "--json", rows, *arguments],
                                   capture_output=True, text=True, timeout=100, check=False)
        self.status, self.out = self.done.returncode, self.done.stdout
        self.err = re.sub(r"quiver: warning: load .*\n.*compare ratios only\n", "", self.done.stderr)
        self.rows, self.verdict = {}, {}
        if os.path.exists(rows) and os.path.getsize(rows):
            with open(rows, encoding="utf-8") as file:
                report = json.load(file)
            self.rows = {(row["case"], row["impl"]): row for row in report["rows"]}
            self.verdict = report["verdict"]

    def value(self, case, impl):
        """The figure of a row."""
        return self.rows[case, impl]["mean"]


def made(name, lanes, **more):
    """A file of these lanes."""
    path = os.path.join(FOLDER, name)
    tracefile.write(path, lanes, **more)
    return path


def counts_fit(name, run, lanes):
    """Operations, what is left out, and entries inspected by ll and by the tool's own list."""
    def total(field):
        return sum(getattr(lane, field) for lane in lanes)

    inspected = total("inspected_hit") + total("inspected_miss")
    check(f"{name}: exit status", run.status == 0, run.out + run.err)
    if run.status:
        return
    check(f"{name}: operations", run.verdict["operations"] == total("operations"), run.verdict)
    check(f"{name}: left out", run.verdict["left_out"] == total("left_out"), run.verdict)
    check(f"{name}: the tool's list", run.verdict["list_inspected"] == inspected, (run.verdict, inspected))
    check(f"{name}: all answers were compared", run.verdict["list_checked"] == total("operations"), run.verdict)
    check(f"{name}: ll inspects", run.value("inspected", "ll") == inspected,
          (run.rows["inspected", "ll"], inspected))
    for kind, searches in (("hit", "hits"), ("miss", "misses")):
        want = total("inspected_" + kind) / total(searches)
        check(f"{name}: ll inspects by a {kind}",
              abs(run.value("inspected/" + kind, "ll") - want) < 1e-3 * want, want)


def everything():
    """Three lanes of two ranks with all that there is."""
    lanes = [Lane(0), Lane(1), Lane(1, tracefile.UNTAGGED)]
    for seed, lane in enumerate(lanes):
        traffic(lane, seed, 3000)
    path = made("all", lanes, ranks=(4, 7))
    run = Run("--collective", "20", path)
    counts_fit("all", run, lanes)
    answers = {impl: row["answer"] for (case, impl), row in run.rows.items() if case == "trace"}
    check("all structures are right", answers == {name: "checked" for name in STRUCTURES}, answers)
    check("the slowest rank has a row", {("rank 4", "auto"), ("rank 7", "auto")} & set(run.rows), run.rows)
    for name in STRUCTURES:
        row = run.rows["trace", name]
        check(f"{name}: figures", 0 < row["low"] <= row["mean"] <= row["high"] and 0 < row["p50"] <= row["p99"], row)
    fine = run.value("inspected", "col-ll")
    for bits in ("ompi", "mpich", "20:1"):
        run = Run("--collective", bits, "--impl", "ll,col-ll", path)
        check(f"--collective {bits}", run.status == 0 and run.rows["trace", "col-ll"]["answer"] == "checked", run.err)
    check("bits that tell operations apart are used", run.value("inspected", "col-ll") != fine, fine)
    run = Run(path)
    answers = {impl: row["answer"] for (case, impl), row in run.rows.items() if case == "trace"}
    check("without a mask col* are left out", run.status == 0 and all(
        answers[name] == (NO_MASK if name.startswith("col") else "checked") for name in STRUCTURES), answers)
    run = Run("--impl", "auto,ll", "--rank", "7", path)
    counts_fit("one rank", run, lanes[1:])
    run = Run("--impl", "auto,ll", "--lane", "1", path)
    counts_fit("one lane", run, lanes[1:2])
    run = Run("--impl", "auto,ll", path, path)
    counts_fit("two files", run, lanes + lanes)
    return path, lanes


def in_the_middle():
    """Entries that waited before the trace, and a hole in it."""
    lane = Lane()
    lane.recording = False
    traffic(lane, 11, 500)
    lane.recording = True
    traffic(lane, 12, 3000)
    run = Run("--impl", "auto,ll,nm,clu", made("middle", [lane], ended=False))
    counts_fit("middle", run, [lane])
    check("there were entries before", lane.left_out > 10, lane.left_out)
    check("no end", "a process did not end it" in run.out, run.out)
    lane.gap()
    lane.recording = False
    traffic(lane, 13, 500)
    lane.recording = True
    traffic(lane, 14, 3000)
    run = Run("--impl", "auto,ll,ompi", made("hole", [lane]))
    counts_fit("hole", run, [lane])
    check("the hole is told", "1 events are not in it" in run.out, run.out)


def refused(name, run, *texts, status=1):
    """One line, and no figures."""
    check(f"{name}: refused", run.status == status and all(text in run.err for text in texts) and
          run.err.count("\n") == 1 and not run.rows, (run.status, run.err, run.out))


def altered(lanes):
    """One answer is changed in each of the ways that there are."""
    lane = lanes[0]
    kinds = [event[1] for event in lane.events]
    # A receive was matched, and another one that waits is said to be the one.
    waiting = {}
    for at, (_, kind, flags, src, tag, _, node) in enumerate(lane.events):
        if kind == tracefile.ARRIVE and flags and at > 1000 and len(waiting) > 3:
            other = next(n for n in waiting if n != node)
            event = lane.events[at]
            lane.events[at] = event[:6] + [other]
            refused("another receive", Run("--impl", "ll", made("other", [lane])),
                    f"lane 0 (rank 0, tagged), event {at + 1}: the recorded answer is wrong",
                    f"tag {tag:#x} source {src}")
            lane.events[at] = event[:2] + [0] + event[3:6] + [0]
            refused("no receive", Run("--impl", "ll", made("none", [lane])), f"event {at + 1}:", "recorded is nothing")
            lane.events[at] = event
            break
        if kind == tracefile.POST and not flags & tracefile.MATCHED:
            waiting[node] = True
        elif kind == tracefile.CANCEL or (kind == tracefile.ARRIVE and flags):
            waiting.pop(node, None)
    at = next(i for i in range(1000, len(kinds)) if kinds[i] == tracefile.CANCEL)
    lane.events.insert(at, lane.events[at])
    refused("one that has left", Run("--impl", "ll", made("left", [lane])),
            "contradicts what came before: its entry does not wait any more")
    del lane.events[at]
    at = next(i for i in range(1000, len(kinds)) if kinds[i] == tracefile.QUEUE)
    lane.events.insert(at, lane.events[at])
    refused("one that waits", Run("--impl", "ll", made("waits", [lane])), "its entry waits already")
    del lane.events[at]
    lane.events[at][3] = lane.events[at - 1][3] = tracefile.ANY
    refused("no sender", Run("--impl", "ll", made("sender", [lane])), "a message has no sender")


def bad_use(path):
    """Options and files that are not right."""
    refused("no file", Run(), "needs a trace", status=2)
    refused("no such file", Run(path + ".not"), "cannot be read")
    refused("no trace", Run(sys.argv[1]), "is no trace")
    refused("too many", Run("--max-events", "100", path), "there are more than 100 events")
    refused("no such rank", Run("--rank", "5", path), "no lane that is asked for")
    refused("no such option", Run(path, "--nonsense"), "trace replay has no option '--nonsense'", status=2)
    for bits in ("x", "0", "", "-1", " 20", "+20", "0x20", "20 ", "10000000000000000", "20:", "openmpi"):
        refused(f"--collective '{bits}'", Run("--collective", bits, path),
                f"--collective takes ompi, mpich or bits of a tag in hexadecimal, not '{bits}'", status=2)
    refused("no such structure", Run("--impl", "tree", path), "no such structure", status=2)
    with open(path, "rb") as file:
        whole = file.read()
    with open(path + ".cut", "wb") as file:
        file.write(whole[:-100])
    run = Run("--impl", "ll", path + ".cut")
    check("cut off", run.status == 0 and "a process did not end it" in run.out, (run.out, run.err))


def damaged():
    """Events of a hostile hand, with right sums: a line or figures, no crash."""
    draw = random.Random(3)
    for i in range(40):
        lane = Lane()
        traffic(lane, i, 300)
        for _ in range(draw.choice((1, 3, 30))):
            event = lane.events[draw.randrange(len(lane.events))]
            field = draw.choice((1, 2, 3, 4, 5, 6))
            event[field] = {1: draw.randrange(1, 7), 2: draw.randrange(4), 3: draw.randrange(1 << 32),
                            4: draw.randrange(1 << 64), 5: draw.randrange(1 << 64),
                            6: draw.choice(lane.events)[6]}[field]
        run = Run("--impl", "auto,ll,ompi,hash", made("damaged", [lane]))
        check(f"damaged {i}", run.status in (0, 1) and (run.status == 0 or run.err.count("\n") == 1),
              (run.status, run.err))


def plugins():
    """A plugin competes where it has the calls; one that answers wrongly is found out."""
    lane = Lane()
    for i in range(500):
        lane.post(i, i % 7)
    for i in range(500):
        lane.arrive(i, i % 7)
    path = made("plain", [lane])
    run = Run("--impl", "auto", "--plugin", sys.argv[2], path)
    answers = {impl: row["answer"] for (case, impl), row in run.rows.items() if case == "trace"}
    check("a wrong one is found", run.status == 1 and answers["auto"] == "checked" and
          any(answer.startswith("wrong: lane 0 (rank 0, tagged), event ") for answer in answers.values()),
          (run.status, answers, run.err))
    lane.post(1, 1, persistent=True)
    run = Run("--impl", "auto", "--plugin", sys.argv[2], made("sticky", [lane]))
    check("what it lacks is said", any(row["answer"] == "has no persistent receives"
                                       for row in run.rows.values()), run.rows)


def main():
    """All of it."""
    path, lanes = everything()
    in_the_middle()
    bad_use(path)
    damaged()
    plugins()
    altered(lanes)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as FOLDER:
        sys.exit(main())
