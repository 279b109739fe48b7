#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_auto.py PROGRAM RANKS - run sim_auto under SMPI on the platform xe6, and judge it.

What must hold, of times that are simulated: after the fences of `auto` its calls take at most 1.12
times those of the fastest way (it wants to gain a tenth), for short messages, for long ones, and for
short ones again; the fastest way for short ones is not the one for long ones; the choice was made
anew each time. Barriers and alltoallv of SMPI itself are Open MPI's.
"""
import functools
import sys

import sim_exchange
import sim_platform
import sim_smpi

NETWORK = "xe6"


def simulate(program, ranks):
    """{part: {way: seconds}}, (times judged, times anew)"""
    (_, alpha, beta), = sim_platform.NETWORKS[NETWORK][0]
    figures = [str(x) for x in (alpha, beta, sim_platform.NETWORKS[NETWORK][1])]
    text = sim_smpi.smpirun(functools.partial(sim_platform.write, NETWORK), ranks, program, *figures,
                            options=[*sim_exchange.STACKS, "--cfg=smpi/coll-selector:ompi"])
    times, judged = {}, (0, 0)
    for line in text.splitlines():
        word = line.split()
        if word[:1] == ["judged"]:
            judged = int(word[1]), int(word[2])
        elif len(word) == 3:
            times.setdefault(word[0], {})[word[1]] = float(word[2])
    return times, judged


def main():
    times, (judged, anew) = simulate(sys.argv[1], int(sys.argv[2]))
    times["short-again"].update({w: t for w, t in times["short"].items() if w != "auto"})
    failed, fastest = 0, {}
    for part, ways in times.items():
        auto = ways.pop("auto")
        fastest[part] = min(ways, key=ways.get)
        ratio = auto / ways[fastest[part]]
        print(f"  {part}: auto {1e6 * auto:.1f} us, {ratio:.3f} times {fastest[part]}; "
              + ", ".join(f"{w} {1e6 * t:.1f} us" for w, t in ways.items()))
        failed += ratio > 1.12
    print(f"  judged {judged} times, anew {anew} times")
    failed += fastest["short"] == fastest["long"]
    failed += anew < 2
    if failed:
        sys.exit(f"FAILED: {failed} of the bars")


if __name__ == "__main__":
    main()
