#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_late.py PROGRAM RANKS reduce|allreduce|broadcast BYTES - run sim_late under SMPI on a CURIE-like platform, and
judge `auto`: 50 calls after one rank has begun to be late by the time of the collective, it has 0.9 of
the speed of the best algorithm that can be named; before, and 50 calls after the rank is in time again,
it takes at most 1.02 times the best one's time. All times are simulated, means of 50 calls.
"""
import sys

import sim_run

KNOWING = ("clairvoyant", "segmented")
# Printed, not compared: here a message is sent while the one before is still under way, so short segments
# take less time than by the model that `auto` goes by.
ASIDE = ("binary",)


def read(text):
    """What sim_late prints: {part: {setting: seconds}}, {part: {setting: calls by expected arrivals}}"""
    times, calls = {}, {}
    for line in text.splitlines():
        word = line.split()
        if len(word) == 4 and word[0] == "by-arrival":
            calls.setdefault(word[1], {})[word[2]] = int(word[3])
        elif len(word) == 3:
            times.setdefault(word[0], {})[word[1]] = float(word[2])
    return times, calls


def judge(times, calls, most):
    """Prints the times; a list of what is wrong. A part's `auto` may take most[part] of the best one's time."""
    auto, failed = {part: ways.pop("auto") for part, ways in times.items()}, []
    for part, ways in times.items():
        best = min((way for way in ways if way not in ASIDE), key=ways.get)
        ratio = auto[part] / ways[best]
        print(f"  {part}: auto {1e6 * auto[part]:.1f} us, {ratio:.3f} times {best}; "
              f"{calls[part]['auto']} calls by arrival; "
              + ", ".join(f"{w} {1e6 * t:.1f}" for w, t in ways.items()))
        if ratio > most[part]:
            failed.append(f"{part}: {ratio:.3f} times the best one's time")
        blind = min(ways[way] for way in ways if way not in (*KNOWING, *ASIDE))
        if part == "late" and ways[best] < 0.9 * blind and not calls[part]["auto"]:
            failed.append("late: nobody was expected")
    return failed


def main():
    text = sim_run.smpirun(sys.argv[1], int(sys.argv[2]), *sys.argv[3:],
                           options=["--cfg=smpi/coll-selector:ompi"])
    failed = judge(*read(text), {"before": 1.02, "late": 1 / 0.9, "after": 1.02})
    if failed:
        sys.exit("FAILED: " + "; ".join(failed))


if __name__ == "__main__":
    main()
