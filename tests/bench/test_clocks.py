#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_clocks.py WORKER - the program of `quiver bench coll`, with ranks whose clocks are far apart, as on
several hosts: rank 1 is 1000 s ahead of rank 0 and rank 2 is 5000 s ahead, in time name spaces of their
own. Samples must not wait for that, and times must be such as can be."""
import os
import subprocess
import sys

CASES = ("reduce/3/1024/balanced", "allreduce/3/1024/late1.0", "barrier/3/0/balanced")
SOLONG = 90  # seconds, of which the bench takes a few


def ahead(seconds):
    return ["unshare", "--fork", "--time", f"--monotonic={seconds}"]


def main():
    if subprocess.run([*ahead(1000), "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        print("no time name spaces here (unshare --time), or no right to make one")
        sys.exit(77)
    args = ["1", "20", "5", *CASES, "--", "mpi", "auto", "binomial"]
    command = ["timeout", str(SOLONG), "mpirun", "--oversubscribe", "--mca", "btl_base_warn_component_unused", "0"]
    if not os.getuid():
        command.append("--allow-run-as-root")
    # One program for all: the mpirun of Open MPI 5.0.7 crashes where each rank has a command of its own.
    clocks = [" ".join(ahead(seconds)) for seconds in (1000, 5000)]
    own = 'case $OMPI_COMM_WORLD_RANK in 0) exec "$@" ;; 1) exec %s "$@" ;; *) exec %s "$@" ;; esac'
    command += ["-np", "3", "sh", "-c", own % tuple(clocks), "sh", sys.argv[1], *args]
    run = subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    if run.returncode == 124:
        sys.exit(f"FAILED: not over after {SOLONG} s: ranks wait for the difference of their clocks")
    if run.returncode:
        sys.exit(f"{run.stdout}\nFAILED: mpirun ended with {run.returncode}")
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("row ")]
    for _, case, impl, answer, *times in rows:
        wrong = [t for t in map(float, times) if not -1000 < t < 5e6]
        if answer != "checked" or not times or wrong:
            sys.exit(f"FAILED: {case} {impl}: {answer}, {wrong[:3]} us")
    if len(rows) < 3 * len(CASES):
        sys.exit(f"{run.stdout}\nFAILED: {len(rows)} rows")
    print(f"{len(rows)} rows are right")


if __name__ == "__main__":
    main()
