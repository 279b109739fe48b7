#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_stats.py - FI_QUIVER_STATS: lines at the end, and profiles that the next run matches by.

usage: test_stats.py <directory of libquiver-fi.so> <program test_fabric>
"""
import os
import re
import socket
import subprocess
import sys
import tempfile

CASES = {"shm": ["order_tagged", "order_msg", "order_queued", "order_same_key"],
         "tcp": ["order_queued"]}
RANKS = 3 # of the first three cases; rank 0 gets the messages

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def settings(core, env):
    """The environment of a run over a core."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    full.update(env, FI_PROVIDER_PATH=sys.argv[1], FI_PROVIDER="quiver", FI_QUIVER_CORE=core)
    return full


def run(core, *cases, **env):
    """The cases over a core with these settings: exit status, what was on stderr."""
    done = subprocess.run([sys.argv[2], *cases], env=settings(core, env), capture_output=True,
                          text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def written(core, case, **env):
    """What each write to stderr carried; the socket keeps them apart."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, subprocess.Popen([sys.argv[2], case], env=settings(core, env), stderr=theirs,
                                stdout=subprocess.DEVNULL) as ranks:
        theirs.close()
        mine.settimeout(120)
        pieces = list(iter(lambda: mine.recv(65536), b""))
        ranks.wait(120)
    return [piece.decode() for piece in pieces]


def counted(text, name):
    """All numbers in front of this word, added up."""
    return sum(int(n) for n in re.findall(rf"(\d+) {name}", text))


def test_lines(core):
    """One account per endpoint, closed or not, that adds up over the ranks."""
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="yes")
    lines = [l for l in text.splitlines() if "endpoint over" in l]
    check(f"{core}: one line per endpoint", status == 0 and len(lines) == RANKS, text)
    check(f"{core}: all is counted", counted(text, "messages,") == counted(text, "matched") > 0,
          text)
    check(f"{core}: what was sent has come", counted(text, "messages,") ==
          counted(text, "eager") + counted(text, "rendezvous"), text)
    for word in ("receives posted", "unexpected", "entries inspected", "posted queue at most",
                 "mode changes", "peers", "packets refused", "matching auto/"):
        check(f"{core}: {word}", word in text, text)
    pieces = written(core, "order_tagged", FI_QUIVER_STATS="yes")
    check(f"{core}: ranks that share stderr do not mix", [p.count("\n") for p in pieces if
          p.startswith("quiver: ")] == [1] * "".join(pieces).count("quiver: ") and
          "".join(pieces).count("endpoint over") == RANKS, pieces)
    status, text = run(core, "stats_not_closed", FI_QUIVER_STATS="1")
    check(f"{core}: an endpoint that is not closed", status == 0 and
          text.count("endpoint over") == 1 and "1 matched" in text, text)
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="no")
    check(f"{core}: silent", status == 0 and "quiver:" not in text, text)


def read(path):
    """Source to count."""
    with open(path, encoding="utf-8") as file:
        return {int(l.split()[0]): int(l.split()[1]) for l in file if not l.startswith("#")}


def test_profile(core, directory):
    """What one run writes, the next one reads and keeps the order by."""
    name = os.path.join(directory, core + ".%r")
    for case in CASES[core]:
        status, text = run(core, case, FI_QUIVER_STATS="profile:" + name)
        check(f"{core} {case}: silent", status == 0 and "quiver:" not in text, text)
        ranks = 2 if case == "order_same_key" else RANKS
        profile = [read(name.replace("%r", str(r))) for r in range(ranks)]
        check(f"{core} {case}: every source", [s in p and p[s] > 0 for p in profile for s in
                                               range(ranks)].count(True) >= ranks - 1, profile)
        for structure in ("clu:lla,kmeans=2", "pnp-static:llv,median"):
            status, text = run(core, case, FI_QUIVER_MATCH=structure, FI_QUIVER_PROFILE=name,
                               FI_QUIVER_STATS="yes")
            check(f"{core} {case} by {structure}", status == 0, text)
            check(f"{core} {case}: matched by {structure}",
                  text.count(f"matching {structure.split(':')[0]}/") == ranks, text)
        for r in range(ranks):
            os.unlink(name.replace("%r", str(r)))
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="profile:" + directory + "/all")
    check(f"{core}: one file for all is refused", status != 0 and "one file for all" in text, text)
    pieces = written(core, "order_tagged", FI_QUIVER_STATS="yes")
    check(f"{core}: ranks that share stderr do not mix", [p.count("\n") for p in pieces if
          p.startswith("quiver: ")] == [1] * "".join(pieces).count("quiver: ") and
          "".join(pieces).count("endpoint over") == RANKS, pieces)
    status, text = run(core, "stats_not_closed", FI_QUIVER_STATS="profile:" + name)
    check(f"{core}: a profile without a close", status == 0 and
          read(name.replace("%r", "0")) == {0: 1}, text)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for core in ("shm", "tcp"):
            test_lines(core)
            test_profile(core, directory)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
