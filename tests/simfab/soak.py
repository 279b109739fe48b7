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
from concurrent.futures import ThreadPoolExecutor, as_completed

PACKETS = re.compile(r"^ok: (\d+) packets", re.M)


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


def run(name, command, seed, options):
    """(packets carried, runs, log or None if the laws held)"""
    with_seed = command + ["--seed", str(seed), "--total", str(options.piece),
                           "--packets", str(options.packets), "--no-shrink"]
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
    pieces = max(1, -(-options.total // (options.piece * len(known))))
    step = -(-options.piece // options.packets)
    totals = dict.fromkeys(known, 0)
    runs, bad, begun = 0, [], time.time()
    with ThreadPoolExecutor(options.jobs) as pool:
        asked = {}
        for i in range(pieces):
            for name, command in known.items():
                asked[pool.submit(run, name, command, options.seed + i * step, options)] = name
        for ended in as_completed(asked):
            carried, n, log = ended.result()
            totals[asked[ended]] += carried
            runs += n
            if log:
                bad.append(log)
                print(f"BROKEN: see {log}", flush=True)
            print(f"{sum(totals.values()):>13,} packets, {runs} runs, "
                  f"{time.time() - begun:.0f} s", flush=True)
    for name, carried in totals.items():
        print(f"{name:10} {carried:>13,}")
    print(f"seeds {options.seed} to {options.seed + pieces * step - 1} of each class; "
          f"{runs} runs kept the laws, {len(bad)} did not")
    sys.exit(bool(bad))


main()
