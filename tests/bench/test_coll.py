#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_coll.py QUIVER coll|exchange - a short run of that bench: its rows, its options."""
import json
import math
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
    "alltoallv/5/64/partners3", "alltoallv/5/64/near3", "alltoallv/5/64/near2-stride2",
    "neighbor_allgather/5/64/moore1",
    "neighbor_allgather/5/64/random0.3", "neighbor_alltoall/5/64/moore1",
    "neighbor_alltoall/5/64/random0.3", *(f"spmm/5/1024/{matrix}{gather}" for gather in ("", "-allgather")
                                          for matrix in ("survey", "structure", "journals", "genes")))})
EXCHANGE.update({name: {"mpi", "direct"} for name in ("stream/5/8/ring50", "stream/5/8/each3")})
EXCHANGE.update({name: {"mpi", "auto", "direct", "crystal", "crystal:4"} for name in EXCHANGE
                 if name.startswith(("alltoallv/", "neighbor_alltoall/"))})
IMPLS = {"coll": "mpi,auto,binomial", "exchange": "mpi,auto,direct,crystal,crystal:4"}
WRONG = ("no/such/case", "alltoall/ 5/64/all", "alltoall/5/ 64/all", "alltoall/5/64/" + 50 * "x", "alltoallv/5/64/partners9", "alltoallv/5/64/near5", "alltoallv/5/64/near3-stride2",
         "alltoallv/5/64/near2-stride0", "alltoallv/5/64/near2-strides", "alltoallv/5/64/near2x", "alltoall/5/64/near2", "allgather/5/64/partners3", "alltoall/5/60/all",
         "neighbor_allgather/5/64/moore0", "neighbor_allgather/5/64/random1.5",
         "neighbor_allgather/5/64/balanced", "alltoall/5/64/all9", "stream/5/4/ring5", "stream/5/8/ring0",
         "spmm/5/8/survey", "spmm/5/64/moore1", "spmm/5/64/survey-allgathers", "spmm/5/26240/genes")
NEIGHBORS = ("neighbor_allgather/5/64/moore1", "neighbor_alltoall/5/64/random0.3", "spmm/5/1024/survey")
# Messages of the rank that sends most, where blocks go straight.
STRAIGHT = {"alltoallv/5/64/partners3": 3, "alltoallv/5/64/near3": 3, "alltoallv/5/64/near2-stride2": 2,
            "spmm/5/1024/survey": 2, "spmm/5/1024/survey-allgather": 4}

# The same of schedules with a mode: 4 blocks, and 3 tokens for each of 3 barriers or 1.
PACED = {"kshift:2:paced=1": {"allgather/5/64/all": 13}, "direct:paced=2": {"allgather/5/64/all": 7, "alltoall/5/64/all": 7}}

# First and last of these arrivals are 30 ms apart.
DELAYS = "# seconds\n0 0.01 0.03\n0.05 0.02 0.02\n"
LATE = {f"{name}/3/1024/{pattern}": {"mpi", "clairvoyant"} for name, pattern in (
    ("reduce", "uniform2.0"), ("reduce", "2late1.0"), ("allreduce", "gamma1.0-shape0.5"), ("reduce", "file"),
    ("reduce", "file-work1.0"), ("ireduce", "file-work1.0"))}
WRONG_DELAYS = (("reduce/2/8/file", None, "--delays FILE belongs to cases with the pattern file"),
                ("reduce/2/8/late1.0", "0 1\n", "--delays FILE belongs to cases with the pattern file"),
                ("reduce/2/8/file", "0 1\n0 1 2\n", "is not one delay for each of 2 ranks"),
                ("reduce/2/8/file", "\n", "has no delays"),
                ("reduce/2/8/file", os.devnull, "is no file"))


def check(holds, *what):
    if not holds:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def run(*args):
    return subprocess.run([*sys.argv[1:2], "bench", sys.argv[2], *args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def measure(cases, ranks, impls, *args):
    """A short run of these cases: its report, and what it said."""
    with tempfile.TemporaryDirectory(prefix="quiver-coll.") as folder:
        path, plot = os.path.join(folder, "coll.json"), os.path.join(folder, "coll.svg")
        names = ",".join(name for name in cases if not name.endswith("-delay"))
        done = run("--quick", "--filter", names, "--impl", impls, "--rounds", "2", "--samples", "3", "--ranks",
                   ranks, "--json", path, "--plot", plot, *args)
        check(done.returncode == 0, "status", done.returncode, done.stdout)
        check("<svg" in open(plot, encoding="utf-8").read(), "no plot")
        with open(path, encoding="utf-8") as f:
            return json.load(f), done.stdout


def late_ranks(folder):
    """Other arrivals: who is late, for how long, and work meanwhile."""
    path = os.path.join(folder, "delays")
    with open(path, "w", encoding="utf-8") as f:
        f.write(DELAYS)
    report, text = measure(LATE, "3", "mpi,clairvoyant", "--delays", path)
    times = {(row["case"], row["impl"]): row["p50"] for row in report["rows"] if row["answer"] == "checked"}
    for name, impl in ((name, impl) for name in LATE for impl in LATE[name]):
        check({(name, impl), (name + "-delay", impl)} <= set(times), "no", name, impl, text)
        if "/file" in name:
            apart = times[name, impl] - times[name + "-delay", impl]
            check(20000 < apart < 45000, name, impl, "the last arrival is at", apart, text)
            check(times[name, impl] > (60000 if "work" in name else 30000), name, "ends too soon", text)
    ratios = {(r["case"], r["impl"]) for r in report["ratios"] if r["of"] == "blocking"}
    check(("ireduce/3/1024/file-work1.0", "mpi") in ratios, "no ratio to the blocking call", report["ratios"])


def payback(report, text):
    """Plans of neighbours: how long they took, and after how many calls they have saved that."""
    rows = {(row["case"], row["impl"]): row for row in report["rows"]}
    for name in NEIGHBORS:
        for impl, standards in (("direct", ("mpi",)), ("friends", ("mpi", "direct")), ("nodes", ("mpi", "direct"))):
            plan = rows.get((name + "-planning", impl))
            check(plan and plan["p50"] > 0 and plan["unit"] == "us" and plan["n"] in (1, 2), name, impl, plan, text)
            for standard in standards:
                row = rows.get((f"{name}-payback-{standard}", impl))
                saved = rows[name, standard]["p50"] - rows[name, impl]["p50"]
                check(row and row["unit"] == "calls", name, impl, "no row", standard, text)
                if saved > 0:
                    calls = math.ceil(plan["p50"] / saved)
                    check(row["answer"] == "checked" and abs(row["p50"] - calls) <= 1 + calls / 100, row, calls, text)
                else:
                    check(row["answer"] == "never" and row["p50"] is None, row, saved, text)
        check((name + "-payback-direct", "direct") not in rows and (name + "-planning", "mpi") not in rows, text)


def paced(report, text):
    """Implementations that are named with a mode."""
    rows = {(row["case"], row["impl"]): row for row in report["rows"]}
    check({impl for _, impl in rows} == {"mpi", *PACED}, text)
    for impl, cases in PACED.items():
        for name, messages in cases.items():
            check(rows[name, impl]["answer"] == "checked", name, impl, text)
            check(rows[name + "-messages", impl]["p50"] == messages, name, impl, text)


def wrong_delays(folder):
    for case, delays, words in WRONG_DELAYS:
        args = ["--filter", case]
        if delays:
            path = delays if delays == os.devnull else os.path.join(folder, "wrong")
            with open(path, "w", encoding="utf-8") as f:
                f.write(delays)
            args += ["--delays", path]
        bad = run(*args)
        check(bad.returncode == 2 and words in bad.stdout and bad.stdout.count("\n") == 1, case, delays, bad.stdout)


def main():
    cases, ranks = (COLL, "2") if sys.argv[2] == "coll" else (EXCHANGE, "5")
    report, text = measure(cases, ranks, IMPLS[sys.argv[2]])
    rows, ratios = report["rows"], report["ratios"]
    for name, impls in cases.items():
        found = {row["impl"]: row for row in rows if row["case"] == name}
        if sys.argv[2] == "exchange" and "crystal" not in impls:
            for impl in ("crystal", "crystal:4"):
                check(found.pop(impl)["answer"] == "no-such-algorithm", name, impl)
        check(set(found) == impls, name, "has", sorted(found), text)
        if name in ("allgather/2/1024/balanced", "alltoall/2/1024/balanced"):
            check(found.pop("binomial")["answer"] == "no-such-algorithm", name)
        if name + "-allgather" in cases:
            standards = {(r["impl"], r["of"]) for r in ratios if r["case"] == name}
            check(standards == {("mpi", "allgather"), ("auto", "mpi"), ("auto", "allgather"),
                                ("direct", "mpi"), ("direct", "allgather")}, name, standards)
        for row in found.values():
            if name in STRAIGHT and row["impl"] == "direct":
                counts = {r["case"]: r["p50"] for r in rows if r["impl"] == "direct"}
                check(counts[name + "-messages"] == STRAIGHT[name], counts)
                check(counts[name + "-bytes"] == STRAIGHT[name] * int(name.split("/")[2]), counts)
            # 3 samples a round; a machine with much else to do gets no second round in time
            check(row["answer"] == "checked" and row["unit"] == "us" and row["n"] in (3, 6), row)
            check(row["p50"] <= row["p99"] and (row["p50"] > 0 or "delay" in name), row)
    for wrong in WRONG:
        bad = run("--filter", wrong, "--ranks", ranks)
        check(bad.returncode == 2 and "no --filter matches" in bad.stdout, wrong, bad.stdout)
    if sys.argv[2] == "exchange":
        payback(*measure(NEIGHBORS, ranks, "mpi,direct,friends,nodes"))
        paced(*measure(PACED["direct:paced=2"], ranks, ",".join(("mpi", *PACED))))
        bad = run("--impl", ",".join(f"kshift:{k}" for k in range(1, 34)))
        check(bad.returncode == 2 and bad.stdout == "quiver: --impl takes 32 names at most\n", bad.stdout)
        bad = run("--impl", "kshift:" + "1" * 64)
        check(bad.returncode == 2 and "a name of --impl has 63 characters at most" in bad.stdout, bad.stdout)
    bad = run("--impl", "mpi,nosuch,auto")
    check(bad.returncode == 2 and "has no implementation 'nosuch'; see --help\n" in bad.stdout, bad.stdout)
    bad = run("--ranks", "1")
    check(bad.returncode == 2, bad.stdout)
    if sys.argv[2] == "coll":
        with tempfile.TemporaryDirectory(prefix="quiver-coll.") as folder:
            late_ranks(folder)
            wrong_delays(folder)
    print(f"bench {sys.argv[2]}: {len(rows)} rows")


if __name__ == "__main__":
    main()
