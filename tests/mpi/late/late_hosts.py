#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
late_hosts.py PROGRAM RANKS OPERATION BYTES times|answers - run mpi_late over plain Open MPI and TCP, each
rank on a host of its own: a network name space, whose cable to a switch carries 10 Mbit/s. So what a
collective takes is a matter of the network, even if all hosts share two processors.

`times`: 50 calls after one rank has begun to be late by the time of the collective, `auto` has 0.9 of the
speed of the best algorithm that can be named; before, and 50 calls after the rank is in time again, it
takes at most 1.1 times the best one's time (medians of 50 calls; 2 % are beyond a machine that others
use, sim.late_* hold them). `answers`: sums
are right, and the algorithm that is built from arrivals was, when a rank was late. Exit status 77: the machine cannot do that.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "fabric", "harness"), os.path.join(HERE, "..", "..", "sim")]
import hosts  # noqa: E402
import sim_late  # noqa: E402

RATE = ("tbf", "rate", "10mbit", "burst", "1600", "latency", "800ms")
NETWORK = "10.79.0."


def build(all_hosts, n):
    """The paths of n hosts and of one for mpirun, which has a fast cable."""
    switch, paths = all_hosts.new(), []
    for i in range(n + 1):
        path = all_hosts.new("--uts")
        hosts.connect(path, "v0", switch, f"port{i}")
        hosts.give_address(path, f"{NETWORK}{i + 1}/24")
        inside(path, "hostname", f"host{i + 1}")
        if i < n:
            hosts.shape([path], "the kernel has no tbf", *RATE)
        paths.append(path)
    if not hosts.run(switch, "ip", "link", "add", "switch", "type", "bridge", "forward_delay", "0"):
        hosts.skip("no bridge can be had here")
    if not all(hosts.run(switch, "ip", "link", "set", f"port{i}", "master", "switch") for i in range(n + 1)):
        hosts.skip("no device can be put on a bridge here")
    hosts.run(switch, "ip", "link", "set", "switch", "up")
    return paths


def enter(path):
    """How a command gets there."""
    return ["nsenter", f"--net={path}", f"--uts={os.path.dirname(path)}/uts"]


def inside(path, *command):
    return subprocess.run([*enter(path), *command], check=True, stdout=subprocess.PIPE, text=True).stdout


def write_agent(name, paths):
    """What mpirun calls as it would ssh: HOST COMMAND..."""
    with open(name, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\ncase $1 in\n")
        for i, path in enumerate(paths):
            f.write(f"{NETWORK}{i + 1}) enter='{' '.join(enter(path))}' ;;\n")
        f.write('esac\nshift\nexec $enter sh -c "$*"\n')
    os.chmod(name, 0o700)


def main():
    program, n, operation, size, judged = sys.argv[1:]
    if os.geteuid() != 0:
        hosts.skip("making network name spaces needs root")
    for tool in ("ip", "tc", "nsenter", "unshare"):
        if not shutil.which(tool):
            hosts.skip(f"no {tool} here (Debian: iproute2, util-linux)")
    all_hosts, n = hosts.Hosts(), int(n)
    try:
        # Named before MPI_Init, so that libquiver-mpi measures the network.
        with tempfile.TemporaryDirectory(prefix="quiver-late.") as folder:
            paths, agent = build(all_hosts, n), os.path.join(folder, "agent")
            write_agent(agent, paths)
            network = []
            for option in ("oob_tcp_if_include", "btl_tcp_if_include"):
                network += ["--mca", option, "v0"]
            names = ",".join(f"{NETWORK}{i + 1}" for i in range(n))
            text = inside(paths[n], "mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, *network,
                          "--mca", "btl", "self,tcp", "--mca", "pml", "ob1", "--mca", "mpi_yield_when_idle", "1",
                          "-x", f"QUIVER_MPI_COLL={operation}=auto", "--bind-to", "none", "--timeout", "800", "--host", names, "-np", str(n),
                          os.path.abspath(program), operation, size)
    finally:
        all_hosts.end()
    most = {"before": 1.1, "late": 1 / 0.9, "after": 1.1}
    times, calls = sim_late.read(text)
    failed = sim_late.judge(times, calls, most)
    if judged == "answers":
        failed = [] if calls["late"]["clairvoyant"] else ["nobody was found to be late"]
    if failed:
        sys.exit("FAILED: " + "; ".join(failed))


if __name__ == "__main__":
    main()
