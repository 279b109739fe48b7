#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many packets of each class of faults, with seeds that were not run before.

The classes are the tests sim.fabric.* that a build folder has, less those that are disabled. A
failing run stays in the folder LOGS with the line that replays it; the others go on.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

PACKETS = re.compile(r"^ok: (\d+) packets", re.M)
PROCS = (2, 8, 48, 3, 16, 4, 24, 6, 200, 12)


def classes(build):
    """{name: command} of each class."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                           check=True, capture_output=True, text=True)
    found = {}
    for test in json.loads(shown.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if test["name"].startswith("sim.fabric.") and "--faults" in test.get("command", []):
            if not properties.get("DISABLED") and "--must-fail" not in test["command"]:
                found[test["name"].removeprefix("sim.fabric.")] = test["command"]
    return found


def run(name, command, seed, procs, options):
    """(packets carried, runs, log or None if the laws held)"""
    share = min(1, 24 / procs ** 1.25)  # a packet among many processes takes longer
    with_seed = command + ["--seed", str(seed), "--procs", str(procs), "--no-shrink",
                           "--total", str(int(options.piece * share)),
                           "--packets", str(int(options.packets * share))]
    done = subprocess.run(with_seed, capture_output=True, text=True)
    carried = [int(n) for n in PACKETS.findall(done.stdout)]
    log = None
    if done.returncode:
        log = os.path.join(options.logs, f"{name}.{seed}.log")
        with open(log, "w") as f:
            f.write(" ".join(with_seed) + "\n" + done.stdout + done.stderr)
    return sum(carried), len(carried), log


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("--total", type=int, default=10**9, help="packets over all classes (10^9)")
    parser.add_argument("--piece", type=int, default=5 * 10**6, help="packets of one process (5*10^6)")
    parser.add_argument("--packets", type=int, default=10**6, help="packets of one run (10^6)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed (now)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="at once (one a core)")
    parser.add_argument("--logs", default=".", help="folder for what fails (.)")
    options = parser.parse_args()
    known = classes(options.build)
    if not known:
        sys.exit(f"soak: no test sim.fabric.* in {options.build}")
    step = -(-options.piece // options.packets)
    totals = dict.fromkeys(known, 0)
    runs, bad, begun, piece = 0, [], time.time(), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        asked = {}
        while asked or sum(totals.values()) < options.total:
            while len(asked) < options.jobs and sum(totals.values()) < options.total:
                turn, name = piece // len(known), list(known)[piece % len(known)]
                asked[pool.submit(run, name, known[name], options.seed + piece * step,
                                  PROCS[turn % len(PROCS)], options)] = name
                piece += 1
            for ended in wait(asked, return_when=FIRST_COMPLETED).done:
                carried, n, log = ended.result()
                totals[asked.pop(ended)] += carried
                runs += n
                if log:
                    bad.append(log)
                    print(f"BROKEN: see {log}", flush=True)
                print(f"{sum(totals.values()):>13,} packets, {runs} runs, "
                      f"{time.time() - begun:.0f} s", flush=True)
    for name, carried in totals.items():
        print(f"{name:10} {carried:>13,}")
    print(f"seeds {options.seed} to {options.seed + piece * step - 1}; "
          f"{runs} runs kept the laws, {len(bad)} did not")
    sys.exit(bool(bad))


main()
