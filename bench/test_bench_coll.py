#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_bench_coll.py QUIVER - a short run of `quiver bench coll`: its rows, its options."""
import json
import os
import subprocess
import sys
import tempfile

CASES = {"reduce/2/1024/balanced": {"mpi", "auto", "binomial"},
         "allreduce/2/1024/late1.0": {"mpi", "auto", "binomial"},
         "allreduce/2/1024/late1.0-delay": {"mpi", "auto", "binomial"},
         "barrier/2/0/balanced": {"mpi", "auto", "binomial"},
         "allgather/2/1024/balanced": {"mpi", "auto", "binomial"},
         "alltoall/2/1024/balanced": {"mpi", "auto", "binomial"},
         "ireduce/2/1024/late1.0-work0.5": {"mpi", "auto", "binomial"},
         "ireduce/2/1024/late1.0-work0.5-delay": {"mpi", "auto", "binomial"},
         "pair/2/1024/all": {"transfer", "combine"}}


def check(holds, *what):
    if not holds:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def run(quiver, *args):
    return subprocess.run([quiver, "bench", "coll", *args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    quiver = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="quiver-coll.") as folder:
        path, plot = os.path.join(folder, "coll.json"), os.path.join(folder, "coll.svg")
        names = ",".join(name for name in CASES if not name.endswith("-delay"))
        done = run(quiver, "--quick", "--filter", names, "--impl", "mpi,auto,binomial", "--rounds",
                   "2", "--samples", "3", "--json", path, "--plot", plot)
        check(done.returncode == 0, "status", done.returncode, done.stdout)
        with open(path, encoding="utf-8") as f:
            rows = json.load(f)["rows"]
        check("<svg" in open(plot, encoding="utf-8").read(), "no plot")
    for name, impls in CASES.items():
        found = {row["impl"]: row for row in rows if row["case"] == name}
        check(set(found) == impls, name, "has", sorted(found), done.stdout)
        if name.startswith("all") and not name.startswith("allreduce"):
            check(found.pop("binomial")["answer"] == "no-such-algorithm", name)
        for row in found.values():
            check(row["answer"] == "checked" and row["unit"] == "us" and row["n"] == 6, row)
            check(row["p50"] <= row["p99"] and (row["p50"] > 0 or "delay" in name), row)
    bad = run(quiver, "--filter", "no/such/case")
    check(bad.returncode == 2 and "no --filter matches" in bad.stdout, bad.stdout)
    bad = run(quiver, "--ranks", "1")
    check(bad.returncode == 2, bad.stdout)
    print(f"bench coll: {len(rows)} rows")


if __name__ == "__main__":
    main()
