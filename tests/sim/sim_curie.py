# SPDX-License-Identifier: BSD-2-Clause
"""
sim_curie.py - a SimGrid platform like the thin nodes of CURIE.

One process per node, full duplex links, a switch that never limits. A message takes 2.66 us and
4.8179e-10 s per byte (Marendic, "Reduction schedules ...", VUB 2016, table of the round-time
benchmark on CURIE): half of the latency on each of the two links of a route.
"""
ALPHA = 2.66e-6
BETA = 4.8179e-10


def write(ranks, path):
    """The platform's file, for so many ranks."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="curie-like" prefix="n" suffix="" radical="0-{ranks - 1}" speed="10Gf"
           bw="{1 / BETA:.0f}Bps" lat="{ALPHA / 2 * 1e9:.0f}ns" sharing_policy="SPLITDUPLEX"/>
</platform>
""")
