#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_advise.py - `quiver trace advise` on traces whose answer is plain: short queues, deep ones, few
messages.

usage: test_advise.py <quiver>
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import tracefile
from tracefile import ANY, Lane

US, SECOND = 1000, 1000000000
wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def run(command, path, *arguments):
    """What `quiver trace <command>` prints, and its JSON."""
    out = os.path.join(FOLDER, "out.json")
    done = subprocess.run([sys.argv[1], "trace", command, "--json", out, *arguments, path],
                          capture_output=True, text=True, timeout=200, check=False)
    check(f"{command} {path}: exit status", done.returncode == 0, done.stdout + done.stderr)
    with open(out, encoding="utf-8") as file:
        return done.stdout, json.load(file)


def made(name, *lanes, ranks=(0,)):
    """A file of these lanes."""
    path = os.path.join(FOLDER, name)
    tracefile.write(path, lanes, ranks)
    return path


def short(n, step):
    """One receive, one message."""
    lane = Lane(step=step)
    for i in range(n):
        lane.post(i % 5, i % 3, ignore=0x7 if i % 100 == 0 else 0)
        lane.arrive(i % 5, i % 3)
    return lane


def deep(n, rounds, step, process=0):
    """Many receives, and messages in any order."""
    lane, draw = Lane(process, step=step), random.Random(5)
    for _ in range(rounds):
        keys = list(range(n))
        for key in keys:
            lane.post(key, key % 61)
        draw.shuffle(keys)
        for key in keys:
            lane.arrive(key, key % 61)
    return lane


def nothing_to_gain():
    """A message a second: nothing that matching takes is seen, however slow this machine is today."""
    text, answer = run("advise", made("short", short(2000, SECOND)), "--seconds", "60")
    first = text.splitlines()[0]
    check("short: no", first.startswith("No, against a native provider's list: quiver's matching does "
                                        "not matter here"), text)
    check("short: answers", (answer["over_list"], answer["over_ob1"]) == ("equal", "equal"), answer)
    check("short: share", 0 < answer["list"]["share"] < 1e-4, answer)
    check("short: assertions", answer["no_any_source"] and not answer["no_any_tag"] and
          "could promise mpi_assert_no_any_source." in text, text)
    check("short: depth", (answer["posted_max"], answer["unexpected_max"], answer["median_position"])
          == (1, 0, 1), answer)
    check("short: sure", answer["sure"] == "sure", answer)


def much_to_gain():
    """One rank of two has thousands of receives waiting."""
    quiet = short(7500, 4 * US)
    quiet.process = 1
    path = made("deep", deep(2000, 3, 5 * US), quiet, ranks=(3, 8))
    text, answer = run("advise", path, "--seconds", "60")
    check("deep: yes", text.startswith("Yes, against a native provider's list: quiver's matching saves"), text)
    check("deep: helps", answer["over_list"] == "helps" and answer["list"]["share"] > 0.02, answer)
    check("deep: rank 3 is judged", "rank 3" in text and answer["messages"] == 6000, text)
    _, alone = run("advise", path, "--rank", "3", "--seconds", "60")
    check("deep: depth", (answer["posted_max"], answer["median_position"]) == (2000, 1) and
          alone["median_position"] > 100, (answer, alone))
    check("deep: its setting", answer["setting"].startswith("FI_QUIVER_MATCH=" + answer["structure"]), answer)
    # What it names is no list. How near it is to the cheapest is for a benchmark: scripts/train-advice.
    _, again = run("replay", path, "--rounds", "5")
    cost = {row["impl"]: row["mean"] for row in again["rows"] if row["case"] == "trace" and row["mean"]}
    for name in ("auto", answer["structure"]):
        check(f"deep: {name} is far from ll", cost["ll"] > 5 * cost[name], (answer, cost))


def from_zero():
    """Times begin at 0, as anonymise has them: a process lasts from its first lane's begin."""
    first, second = Lane(step=SECOND), Lane(step=SECOND)
    first.ns, second.ns = -SECOND, 1000 * SECOND
    for i in range(100):
        first.post(i, 1)
        first.arrive(i, 1)
        second.post(i, 1)
        second.arrive(i, 1)
    text, _ = run("advise", made("zero", first, second), "--seconds", "2")
    check("from zero: its time", " rank 0 on host, 1200.000 s.\n" in text, text)


def hardly_known():
    """A few messages; and a process that was seen for a moment only, however dear that was."""
    lane = Lane(step=10 * US)
    for i in range(20):
        lane.post(i, ANY)
        lane.arrive(i, 1)
    text, answer = run("advise", made("few", lane), "--seconds", "60")
    check("few: not sure", answer["sure"] == "few" and "Sure? hardly:" in text, text)
    check("few: any source", not answer["no_any_source"] and answer["no_any_tag"], answer)
    moment = deep(300, 1, 10, process=1)
    _, answer = run("advise", made("moment", short(2000, SECOND), moment, ranks=(0, 1)), "--seconds", "60")
    check("a moment: not judged", answer["over_list"] == "equal" and answer["messages"] == 2000, answer)


def main():
    """All of it."""
    nothing_to_gain()
    much_to_gain()
    from_zero()
    hardly_known()
    none = subprocess.run([sys.argv[1], "trace", "advise"], capture_output=True, text=True, check=False)
    check("no file", none.returncode == 2 and "needs a trace" in none.stderr, none)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as FOLDER:
        sys.exit(main())
