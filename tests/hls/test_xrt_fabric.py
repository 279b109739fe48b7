#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_xrt_fabric.py TEST_FABRIC PROVIDERS DOUBLE XCLBIN FOLDER - FI_QUIVER_OFFLOAD=xrt in libfabric
programs, on the double of XRT's library: messages are matched and collectives combined there, and
where something is missing the CPU does it and one line says why.
"""
import os
import re
import subprocess
import sys

COUNTERS = re.compile(r"offload to xrt \((.*?)\): (\d+) batches matched with (\d+) keys, \d+ checked, "
                      r"(\d+) arrays combined, \d+ refused, (\d+) failed")
CASES = ("order_tagged", "order_same_key", "random_masks", "fan_in", "posted_random",
         "unexpected_small_random", "cancel_race_small", "all_to_all")
COLLECTIVES = ("coll_sizes", "coll_five")


class Runner:
    def __init__(self, arguments):
        self.program, providers, double, xclbin, folder = arguments
        self.wrong = 0
        self.env = dict(os.environ, FI_PROVIDER_PATH=providers, FI_PROVIDER="quiver",
                        FI_QUIVER_CORE="shm", FI_QUIVER_STATS="yes", QV_TEST_SCALE="0.02",
                        FI_QUIVER_OFFLOAD="xrt", FI_QUIVER_OFFLOAD_MIN_BATCH="1",
                        FI_QUIVER_XRT_LIB=double, FI_QUIVER_XCLBIN=xclbin, XILINX_XRT=folder)

    def run(self, case, **env):
        """Exit status, what was written, and of all processes the sums of what they counted."""
        done = subprocess.run([self.program, case], capture_output=True, text=True, timeout=120,
                              env={**self.env, **env}, check=False)
        text = done.stdout + done.stderr
        found = [match.groups() for match in COUNTERS.finditer(text)]
        sums = [sum(int(counters[i]) for counters in found) for i in range(1, 5)]
        return done.returncode, text, {state for state, *_ in found}, sums

    def expect(self, what, good, text):
        print(f"{'ok  ' if good else 'FAIL'} {what}")
        if not good:
            print(text[-3000:])
            self.wrong += 1


def with_double(r):
    matched = 0
    for case in CASES:
        status, text, states, (batches, keys, _, failed) = r.run(case)
        matched += batches
        r.expect(f"{case}: {batches} batches with {keys} keys, {failed} failed",
                 status == 0 and states == {"open"} and not failed, text)
    r.expect(f"{matched} batches were matched there", matched > 100, "")
    for case in COLLECTIVES:
        status, text, _, (_, _, arrays, failed) = r.run(case, FI_QUIVER_OFFLOAD_MIN_BYTES="1")
        r.expect(f"{case}: {arrays} arrays, {failed} failed", status == 0 and arrays and not failed,
                 text)


def faults(r):
    case = "order_same_key"
    for fault in ("nocard", "hang:13", "crash:13", "skipin:23"):
        status, text, _, _ = r.run(case, QV_FAKE_XRT=fault)
        r.expect(f"nothing is lost with {fault}", status == 0, text)
    for env, line in (({"XILINX_XRT": ""}, "XILINX_XRT is not set"),
                      ({"FI_QUIVER_XCLBIN": "/nowhere"}, "FI_QUIVER_XCLBIN=/nowhere cannot be read"),
                      ({"FI_QUIVER_XCLBIN": ""}, "FI_QUIVER_XCLBIN names no bitstream"),
                      ({"FI_QUIVER_XRT_LIB": "/nowhere.so"}, "no XRT here (/nowhere.so")):
        status, text, states, _ = r.run(case, **env)
        r.expect(f"one line, and the CPU: {line}", status == 0 and states == {"off"} and
                 f"offload to xrt is off, the CPU does it: {line}" in text, text)


def main():
    r = Runner(sys.argv[1:6])
    with_double(r)
    faults(r)
    print(f"{r.wrong} wrong")
    return 1 if r.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
