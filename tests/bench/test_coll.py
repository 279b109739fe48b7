#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_coll.py QUIVER coll|exchange - a short run of that bench: its rows, its options."""
import json
import os
import subprocess
import sys
import tempfile

COLL = {"reduce/2/1024/balanced": {"mpi", "auto", "binomial"},
        "allreduce/2/1024/late1.0": {"mpi", "auto", "binomial"},
        "allreduce/2/1024/late1.0-delay": {"mpi", "auto", "binomial"},
        "barrier/2/0/balanced": {"mpi", "auto", "binomial"},
        "allgather/2/1024/balanced": {"mpi", "auto", "binomial"},
        "alltoall/2/1024/balanced": {"mpi", "auto", "binomial"},
        "ireduce/2/1024/late1.0-work0.5": {"mpi", "auto", "binomial"},
        "ireduce/2/1024/late1.0-work0.5-delay": {"mpi", "auto", "binomial"},
        "pair/2/1024/all": {"transfer", "combine"}}
EXCHANGE = {name: {"mpi", "auto", "direct"} for name in ("allgather/5/64/all",
                                                         "alltoall/5/64/all")}
EXCHANGE.update({name: {"mpi", "auto", "direct"} for name in (
    "allgatherv/5/64/uneven", "alltoallv/5/64/all", "alltoallv/5/64/uneven",
    "alltoallv/5/64/partners3", "neighbor_allgather/5/64/moore1",
    "neighbor_allgather/5/64/random0.3", "neighbor_alltoall/5/64/moore1",
    "neighbor_alltoall/5/64/random0.3", "spmm/5/64/mesh")})
EXCHANGE.update({name: {"mpi", "direct"} for name in ("stream/5/8/ring50", "stream/5/8/each3")})
EXCHANGE.update({name: {"mpi", "auto", "direct", "crystal"} for name in EXCHANGE
                 if name.startswith("alltoallv/")})
IMPLS = {"coll": "mpi,auto,binomial", "exchange": "mpi,auto,direct,crystal"}
WRONG = ("no/such/case", "alltoallv/5/64/partners9", "allgather/5/64/partners3", "alltoall/5/60/all",
         "neighbor_allgather/5/64/moore0", "neighbor_allgather/5/64/random1.5",
         "neighbor_allgather/5/64/balanced", "alltoall/5/64/all9", "stream/5/4/ring5", "stream/5/8/ring0",
         "spmm/5/8/mesh", "spmm/5/64/moore1")


def check(holds, *what):
    if not holds:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def run(*args):
    return subprocess.run([*sys.argv[1:2], "bench", sys.argv[2], *args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def measure(cases, ranks):
    """A short run of these cases: its rows, and what it said."""
    with tempfile.TemporaryDirectory(prefix="quiver-coll.") as folder:
        path, plot = os.path.join(folder, "coll.json"), os.path.join(folder, "coll.svg")
        names = ",".join(name for name in cases if not name.endswith("-delay"))
        done = run("--quick", "--filter", names, "--impl", IMPLS[sys.argv[2]],
                   "--rounds", "2", "--samples", "3", "--ranks", ranks, "--json", path,
                   "--plot", plot)
        check(done.returncode == 0, "status", done.returncode, done.stdout)
        check("<svg" in open(plot, encoding="utf-8").read(), "no plot")
        with open(path, encoding="utf-8") as f:
            return json.load(f)["rows"], done.stdout


def main():
    cases, ranks = (COLL, "2") if sys.argv[2] == "coll" else (EXCHANGE, "5")
    rows, text = measure(cases, ranks)
    for name, impls in cases.items():
        found = {row["impl"]: row for row in rows if row["case"] == name}
        if sys.argv[2] == "exchange" and "crystal" not in impls:
            check(found.pop("crystal")["answer"] == "no-such-algorithm", name)
        check(set(found) == impls, name, "has", sorted(found), text)
        if name in ("allgather/2/1024/balanced", "alltoall/2/1024/balanced"):
            check(found.pop("binomial")["answer"] == "no-such-algorithm", name)
        for row in found.values():
            if name == "alltoallv/5/64/partners3" and row["impl"] == "direct":
                counts = {r["case"]: r["p50"] for r in rows if r["impl"] == "direct"}
                check(counts[name + "-messages"] == 3, counts)
                check(counts[name + "-bytes"] == 3 * 64, counts)
            # 3 samples a round; a machine with much else to do gets no second round in time
            check(row["answer"] == "checked" and row["unit"] == "us" and row["n"] in (3, 6), row)
            check(row["p50"] <= row["p99"] and (row["p50"] > 0 or "delay" in name), row)
    for wrong in WRONG:
        bad = run("--filter", wrong, "--ranks", ranks)
        check(bad.returncode == 2 and "no --filter matches" in bad.stdout, wrong, bad.stdout)
    bad = run("--ranks", "1")
    check(bad.returncode == 2, bad.stdout)
    print(f"bench {sys.argv[2]}: {len(rows)} rows")


if __name__ == "__main__":
    main()
