#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_late.py PROGRAM RANKS reduce|allreduce BYTES - run sim_late under SMPI on a CURIE-like platform, and
judge `auto`: 50 calls after one rank has begun to be late by the time of the reduction, it has 0.9 of
the speed of the best algorithm that can be named; before, and 50 calls after the rank is in time again,
it takes at most 1.02 times the best one's time. All times are simulated, means of 50 calls.
"""
import os
import sys

import sim_run

KNOWING = ("clairvoyant", "segmented")


def simulate(program, ranks, *arguments):
    """{part: {setting: seconds}}, {part: calls by expected arrivals}"""
    times, calls = {}, {}
    for line in sim_run.smpirun(program, int(ranks), *arguments,
                                options=["--cfg=smpi/coll-selector:ompi"]).splitlines():
        word = line.split()
        if len(word) == 3 and word[0] == "by-arrival":
            calls[word[1]] = int(word[2])
        elif len(word) == 3:
            times.setdefault(word[0], {})[word[1]] = float(word[2])
    return times, calls


def main():
    times, calls = simulate(os.path.abspath(sys.argv[1]), *sys.argv[2:])
    auto, failed = {part: ways.pop("auto") for part, ways in times.items()}, []
    for part, ways in times.items():
        best = min(ways, key=ways.get)
        ratio = auto[part] / ways[best]
        print(f"  {part}: auto {1e6 * auto[part]:.1f} us, {ratio:.3f} times {best}; "
              f"{calls[part]} calls by arrival; "
              + ", ".join(f"{w} {1e6 * t:.1f}" for w, t in ways.items()))
        if ratio > (1 / 0.9 if part == "late" else 1.02):
            failed.append(f"{part}: {ratio:.3f} times the best one's time")
        if part == "late" and best in KNOWING and not calls[part]:
            failed.append("late: nobody was expected")
    if failed:
        sys.exit("FAILED: " + "; ".join(failed))


if __name__ == "__main__":
    main()
