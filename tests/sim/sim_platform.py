#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sim_platform.py NETWORK RANKS FILE - write a SimGrid platform with the figures of a published network.

One process per node. What a message takes is what its sender is busy for, alpha + bytes * beta, in
ranges of lengths; the links beneath are so fast that they do not count. So a rank sends one message
after the other, as the models of the literature have it; that a receiver may have more to do than
its senders, and contention in switches, are not in it.

  qsnet   Kumar, "Optimizing communication for massively parallel processing", UIUC 2005: two-way
          bursts on QsNet, 11 us and 8 ns a byte, from 288 B to 1667 B 16 us and 5 ns.
          A copied byte 2 ns.
  xe6     Schliephake and Laure, EASC 2014, Cray XE6: from 85 us of the crystal router at 256 ranks
          (8 phases) 10.6 us a message, and from its equal time at 128 KB 0.31 ns a byte.
          A copied byte 0.2 ns.
  edr     EDR InfiniBand of the years 2017 to 2019, on which neighbourhood collectives were
          published without such figures: 1.5 us, from 8 KiB 3 us, and 0.1 ns a byte.
          A copied byte 0.1 ns.
"""
import sys

# name: ((from, alpha, beta), ...), gamma
NETWORKS = {
    "qsnet": (((0, 11e-6, 8e-9), (288, 16e-6, 5e-9), (1667, 11e-6, 8e-9)), 2e-9),
    "xe6": (((0, 10.6e-6, 0.31e-9),), 0.2e-9),
    "edr": (((0, 1.5e-6, 0.1e-9), (8192, 3e-6, 0.1e-9)), 0.1e-9),
}


def seconds(network, size):
    """Of one message."""
    alpha, beta = [p[1:] for p in NETWORKS[network][0] if p[0] <= size][-1]
    return alpha + size * beta


def write(network, ranks, path):
    parts = ";".join(f"{at}:{alpha}:{beta}" for at, alpha, beta in NETWORKS[network][0])
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
    <prop id="smpi/ois" value="{parts}"/>
    <prop id="smpi/os" value="{parts}"/>
    <prop id="smpi/or" value="0:0:0"/>
  </config>
  <cluster id="{network}" prefix="n" suffix="" radical="0-{ranks - 1}" speed="10Gf"
           bw="100TBps" lat="1ns" sharing_policy="SPLITDUPLEX"/>
</platform>
""")


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])
