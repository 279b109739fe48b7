#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_run.py PROGRAM RANKS BYTES... - run sim_reduce under SMPI on a CURIE-like platform, and judge it.

One rank is late by what the balanced reduction takes. What must hold:
  clairvoyant   over the binomial tree at least 95 % of the speed-up of the model, 2/(1 + 1/log2 P)
  redirect      at least 1.1 times as fast as the binomial tree
  segmented     at most 1.05 times the best of binomial, ring, butterfly, radix and redirect
The groups of radix are 2, 4 of 8 ranks, 4, 8 of 32, and 4, 4, 8 of 128.
Beside the figures stand those of the thesis (Marendic, VUB 2016, CURIE). All times are simulated.
"""
import math
import sys

import sim_curie
import sim_smpi

PLAIN = ("binomial", "ring", "butterfly", "radix", "redirect")
# Balanced, 128 ranks: time of the algorithm over that of the segmented one, measured.
THESIS = {(128, 131072): {"binomial": 2.66, "butterfly": 1.53, "radix": 1.31}}
# The largest speed-up of the clairvoyant tree that was measured, 128 ranks, 40 KiB.
THESIS_C1 = {128: 1.67}


def smpirun(program, ranks, *arguments, options=()):
    """What the program prints with so many ranks on the platform."""
    return sim_smpi.smpirun(sim_curie.write, ranks, program, *arguments, options=options)


def simulate(program, ranks, sizes):
    """{(bytes, algorithm, arrivals): seconds}"""
    times = {}
    for line in smpirun(program, ranks, *sizes).splitlines():
        word = line.split()
        if len(word) == 4 and word[0].isdigit():
            times[int(word[0]), word[1], word[2]] = float(word[3])
    return times


def judge_tree(ranks, size, times):
    speedup = times[size, "binomial", "late-tree"] / times[size, "clairvoyant", "late-tree"]
    model = 2 / (1 + 1 / math.log2(ranks))
    thesis = THESIS_C1.get(ranks)
    print(f"  one late by {times[size, 'binomial', 'balanced'] * 1e6:.0f} us: clairvoyant "
          f"{speedup:.3f}x as fast as binomial; model {model:.3f}x"
          + (f", thesis at most {thesis:.2f}x (40 KiB)" if thesis else ""))
    return speedup >= 0.95 * model


def judge_redirect(ranks, size, times):
    speedup = times[size, "binomial", "late-tree"] / times[size, "redirect", "late-tree"]
    print(f"  the same: redirect {speedup:.3f}x as fast as binomial"
          + ("; thesis 1.3x to 1.6x at most" if ranks == 128 else ""))
    return speedup >= 1.1


def judge_segmented(ranks, size, arrivals, times):
    mine = times[size, "segmented", arrivals]
    others = {a: times[size, a, arrivals] / mine for a in PLAIN}
    thesis = THESIS.get((ranks, size), {}) if arrivals == "balanced" else {}
    cells = [f"{a} {r:.2f}x" + (f" (thesis {thesis[a]:.2f}x)" if a in thesis else "")
             for a, r in others.items()]
    print(f"  {arrivals}: segmented {mine * 1e6:.0f} us; times that: {', '.join(cells)}")
    return 1 <= 1.05 * min(others.values())


def main():
    program, ranks, sizes = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    times = simulate(program, ranks, sizes)
    failed = 0
    for size in map(int, sizes):
        print(f"simulated, curie-like, {ranks} ranks, {size // 1024} KiB")
        good = [judge_tree(ranks, size, times), judge_redirect(ranks, size, times),
                judge_segmented(ranks, size, "balanced", times),
                judge_segmented(ranks, size, "late-segmented", times)]
        failed += good.count(False)
    if failed:
        sys.exit(f"FAILED: {failed} of the bars")
    print(f"all {4 * len(sizes)} bars hold")


if __name__ == "__main__":
    main()
