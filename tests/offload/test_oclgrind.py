#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_oclgrind.py RUNTIME CORPUS CLEAN OUT-OF-BOUNDS NO-BARRIER - the kernels under oclgrind, which
looks for data races, accesses out of bounds and wrong uses of the interface. The clean program must
leave its log empty; in the other two a fault is planted, which must be found.
"""
import os
import shutil
import subprocess
import sys
import tempfile


def run(runtime, program, *arguments):
    """Exit status, output and log of a program under oclgrind."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        # oclgrind is found as itself, not through a loader of drivers.
        env = dict(os.environ, QV_TEST_OPENCL=runtime, QV_TEST_EXACT="1")
        done = subprocess.run(
            ["oclgrind", "--data-races", "--check-api", "--log", log, program, *arguments],
            capture_output=True, text=True, env=env, timeout=900, check=False)
        with open(log, encoding="utf-8") as lines:
            return done.returncode, done.stdout + done.stderr, lines.read()


def main():
    runtime, corpus, clean, bounds, barrier = sys.argv[1:]
    if not shutil.which("oclgrind") or not os.path.exists(runtime):
        print("skipped: no oclgrind here (Debian 12's package oclgrind)")
        return 77
    wrong = 0
    for arguments in (["corpus", corpus], ["pack", "5"]):
        status, output, log = run(runtime, clean, *arguments)
        print(f"{' '.join(arguments[:1])}: status {status}, {len(log.splitlines())} lines of log")
        if status != 0 or log or "Oclgrind" not in output:
            print(output[-2000:], log[:3000])
            wrong += 1
    for program, sign in ((bounds, "Invalid read"), (barrier, "data race")):
        status, _, log = run(runtime, program, "corpus", corpus)
        found = [line for line in log.splitlines() if sign in line]
        print(f"{os.path.basename(program)}: {len(found)} x '{sign}'")
        if not found:
            print("the planted fault was not found:", log[:1000])
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
