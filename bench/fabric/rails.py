#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rails.py - one rail against two (FI_QUIVER_RAILS) where the link is the limit.

usage: rails.py [BUILD [RATE [ROUNDS]]]

Two hosts are made, network name spaces with two cables between them. Each cable carries RATE (200mbit)
each way: tc tbf. In ROUNDS (7) rounds, one rail and two send in turn, in another order each round. The
ratio is the median over the rounds. As root; BUILD is a build folder (build/release).
"""
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/fabric/harness")
import hosts # noqa: E402 pylint: disable=import-error,wrong-import-position


def measure(build, ends, rails):
    """MB/s for each length."""
    one, two = (os.path.dirname(end) for end in ends)
    env = dict(os.environ, FI_PROVIDER="quiver", FI_PROVIDER_PATH=f"{build}/lib/libfabric",
               FI_QUIVER_CORE="tcp", QV_TEST_HOSTS=f"{one}:{two}", QV_TEST_HOST=hosts.HOST1)
    if rails:
        env["FI_QUIVER_RAILS"] = "v0,v1"
    else:
        env["FI_TCP_IFACE"] = env["FI_NET_IFACE"] = "v0"
    run = subprocess.run([f"{build}/bin/test_fabric", "rails_rate"], env=env, check=False, text=True,
                         stdout=subprocess.PIPE)
    if run.returncode:
        sys.exit(f"rails.py: the sender failed:\n{run.stdout}")
    return {int(line.split()[1]): float(line.split()[2]) for line in run.stdout.splitlines()
            if line.startswith("rate ")}


def main():
    """Build, run, print, take down."""
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{ROOT}/build/release")
    rate = sys.argv[2] if len(sys.argv) > 2 else "200mbit"
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    if os.geteuid() != 0:
        sys.exit("rails.py: making network name spaces needs root")
    held, found = hosts.Hosts(), {False: [], True: []}
    try:
        ends = hosts.build(held, "rails")[:2]
        for device in ("v0", "v1"):
            hosts.shape(ends, "the kernel has no tbf", "tbf", "rate", rate, "burst", "64kb",
                        "latency", "50ms", device=device)
        for i in range(rounds):
            for rails in ((False, True), (True, False))[i % 2]:
                found[rails].append(measure(build, ends, rails))
    finally:
        held.end()
    print(f"two cables of {rate}, {rounds} rounds, medians\n{'bytes':>10} {'one rail':>12} "
          f"{'two rails':>12} {'ratio':>7}")
    for length in found[False][0]:
        one, two = ([r[length] for r in found[rails]] for rails in (False, True))
        ratio = statistics.median(b / a for a, b in zip(one, two))
        print(f"{length:>10} {statistics.median(one):>7.1f} MB/s {statistics.median(two):>7.1f} MB/s "
              f"{ratio:>6.2f}x")


if __name__ == "__main__":
    main()
