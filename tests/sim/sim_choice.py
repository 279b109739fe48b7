#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_choice.py PROGRAM RANKS BYTES... - run sim_rooted or sim_scan under SMPI on a CURIE-like platform, and
judge `auto` of the operations that it times, four or two: after its trials it takes at most 1.02 times the time of
the best that can be named, the MPI's own included, or it leaves the call to an MPI that a schedule would
beat by less than a tenth. A binomial scan takes at most 0.7 times the time of ranks one after the
other. All times are simulated, means of 10 calls.
"""
import sys

import sim_run


def main():
    times, failed = {}, []
    for line in sim_run.smpirun(sys.argv[1], int(sys.argv[2]), *sys.argv[3:],
                                options=["--cfg=smpi/coll-selector:ompi"]).splitlines():
        word = line.split()
        if len(word) == 4 and word[0].isdigit():
            times.setdefault((int(word[0]), word[1]), {})[word[2]] = float(word[3])
    for (size, name), ways in times.items():
        auto, chain = ways.pop("auto"), ways.pop("chain", None)
        best = min(ways, key=ways.get)
        print(f"  {name} of {size} B: auto {1e6 * auto:.1f} us, {auto / ways[best]:.3f} times {best}; "
              + ", ".join(f"{w} {1e6 * t:.1f}" for w, t in ways.items())
              + (f"; one rank after the other {1e6 * chain:.1f}" if chain else ""))
        if auto > 1.02 * ways[best] and ways[best] < 0.9 * ways["mpi"]:
            failed.append(f"{name} of {size} B: {auto / ways[best]:.3f} times {best}")
        if chain and ways["binomial"] > 0.7 * chain:
            failed.append(f"{name} of {size} B: binomial {ways['binomial'] / chain:.3f} times a chain")
        if auto > 1.02 * ways["mpi"]:
            failed.append(f"{name} of {size} B: {auto / ways['mpi']:.3f} times the MPI's")
    if failed or len(times) != (4 if "rooted" in sys.argv[1] else 2) * len(sys.argv[3:]):
        sys.exit("FAILED: " + "; ".join(failed))


if __name__ == "__main__":
    main()
