# SPDX-License-Identifier: BSD-2-Clause
"""Ratios of figures that were taken in turns."""
import random
import statistics


def interval(ratios):
    """95 % interval of the median, by drawing again."""
    medians = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(1000))
    return medians[25], medians[974]


def median_text(ratios):
    """The median with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(statistics.median(ratios), *interval(ratios))
