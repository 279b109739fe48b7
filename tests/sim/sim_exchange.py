#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_exchange.py PROGRAM NETWORK RANKS WHAT BYTES... - run sim_exchange under SMPI, and judge it.

What must hold, of all times that are simulated:
  selection   within 10 % of the fastest in 95 % of the lengths (all of them, where they are few)
  crossings   the length at which messages that are forwarded stop being faster than those that go
              straight is within 20 % of the model's, which knows the network by its own bursts; or
              at the model's the two are within 10 % of each other, where lines run side by side
Beside the advantages stand those of the literature, where there are any.
"""
import functools
import math
import sys

import sim_platform
import sim_smpi

STACKS = ["--cfg=contexts/stack-size:256"]  # KiB: there are many ranks
# (what, ranks, bytes): text
PAPERS = {
    ("alltoallv:26", 256, 8): "Schliephake and Laure: crystal 85 us, MPI_Alltoallv 38 times that",
    ("alltoallv:26", 256, 131072): "Schliephake and Laure: crystal and MPI_Alltoallv alike",
    ("alltoall", 2048, 76): "Kumar: direct 1.72 times the best that combines",
    ("moore:2:4", 4096, 4): "Ghazimirsaeed: up to 4 times as fast as straight (4096 ranks)",
    ("random:50", 1024, 4): "Ghazimirsaeed: alike (1024 ranks)",
    ("random:200", 1024, 4): "Ghazimirsaeed: 2.6 times as fast as straight (1024 ranks)",
    ("random:400", 1024, 4): "Ghazimirsaeed: 2.2 times as fast as straight (1024 ranks)",
}
# What goes straight, and what is compared with it.
STRAIGHT = {"alltoall": ("direct",), "alltoallv": ("straight", "pairwise"), "moore": ("naive",),
            "random": ("naive",)}
OTHERS = {"alltoall": ("mesh2", "mesh3", "hypercube", "hybrid"), "alltoallv": ("crystal",),
          "moore": ("friends2", "friends2-cumulative"),
          "random": ("friends2", "friends2-cumulative")}


def simulate(program, network, ranks, what, sizes):
    """{bytes: {way: (seconds, model)}}, {bytes: way that was selected}, what was measured"""
    text = sim_smpi.smpirun(functools.partial(sim_platform.write, network), ranks, program,
                            str(sim_platform.NETWORKS[network][1]), what, *sizes, options=STACKS)
    times, selected, figures = {}, {}, []
    for line in text.splitlines():
        word = line.split()
        if word[:1] == ["network"]:
            figures = [float(x) for x in word[1:]]
        elif word[:2] == ["row", what] and len(word) == 7:
            times.setdefault(int(word[2]), {})[word[3]] = (float(word[4]), float(word[5]))
            if word[6] == "1":
                selected[int(word[2])] = word[3]
    return times, selected, figures


def judge_figures(network, figures):
    """What bursts say of a message against what the platform says: within 5 % at all lengths."""
    worst = 0
    for size in (8, 64, 200, 400, 1024, 4096, 16384, 262144):
        alpha, beta = figures[0], figures[1]
        for i in (3, 6):
            if 0 < figures[i] <= size:
                alpha, beta = figures[i + 1], figures[i + 2]
        real = sim_platform.seconds(network, size)
        worst = max(worst, abs((alpha + beta * size) / real - 1))
    print(f"  bursts: at most {100 * worst:.1f} % off the platform's figures")
    return worst <= 0.05


def judge_selection(ranks, what, times, selected):
    near = 0
    for size, ways in times.items():
        mine = ways[selected[size]][0]
        best = min(ways, key=lambda way: ways[way][0])
        straight = [f"{way} {ways[way][0] / mine:.2f} times that"
                    for way in STRAIGHT[what.split(":")[0]]]
        paper = PAPERS.get((what, ranks, size))
        print(f"  {size} B: {selected[size]} {1e6 * mine:.1f} us; {', '.join(straight)}; best "
              f"{best} {ways[best][0] / mine:.2f}" + (f" ({paper})" if paper else ""))
        near += mine <= 1.1 * ways[best][0]
    print(f"  selection: {near} of {len(times)} within 10 % of the fastest")
    return 20 * near >= 19 * len(times)


def gains(times, straight, other, which):
    return [math.log(times[s][straight][which] / times[s][other][which]) for s in sorted(times)]


def crossing(times, gain):
    """The first length from which on straight is faster: on a line between those measured."""
    sizes = sorted(times)
    for i in range(len(sizes) - 1):
        if gain[i] > 0 >= gain[i + 1]:
            part = gain[i] / (gain[i] - gain[i + 1])
            return math.exp((1 - part) * math.log(sizes[i]) + part * math.log(sizes[i + 1]))
    return None


def gain_at(times, gain, size):
    sizes = sorted(times)
    i = max(k for k in range(len(sizes) - 1) if sizes[k] <= size)
    part = math.log(size / sizes[i]) / math.log(sizes[i + 1] / sizes[i])
    return (1 - part) * gain[i] + part * gain[i + 1]


def judge_crossings(what, times):
    good = True
    kind = what.split(":")[0]
    for straight in STRAIGHT[kind]:
        for other in OTHERS[kind]:
            gain = gains(times, straight, other, 0)
            real, model = (crossing(times, gains(times, straight, other, i)) for i in (0, 1))
            if not real and not model:
                continue
            off = abs(gain_at(times, gain, model)) if model else max(0, *gain)
            print(f"  {straight} is faster than {other} from {real or 0:.0f} B on; model "
                  f"{model or 0:.0f} B, where they are {100 * (math.exp(off) - 1):.1f} % apart")
            near = real and model and abs(model / real - 1) <= 0.2
            good = good and (near or off <= math.log(1.1))
    return good


def main():
    program, network, ranks, what = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    times, selected, figures = simulate(program, network, ranks, what, sys.argv[5:])
    if len(selected) != len(sys.argv) - 5:
        sys.exit(f"FAILED: rows of {len(selected)} lengths have come")
    print(f"simulated, {network}, {ranks} ranks, {what}")
    good = [judge_figures(network, figures), judge_selection(ranks, what, times, selected),
            judge_crossings(what, times)]
    if not all(good):
        sys.exit("FAILED: a bar does not hold")


if __name__ == "__main__":
    main()
