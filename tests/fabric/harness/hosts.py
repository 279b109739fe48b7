#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hosts.py - cases of test_fabric, or another program, on two hosts: network name spaces with a bad
network between.

usage: hosts.py SCENARIO PROGRAM CASE...

The last rank of each case is on the second host. FI_* are the caller's.
  apart   hosts share no process numbers, /dev/shm, System V memory or boot id either; every other
          rank, from rank 1 on, is on the second one; cases may pull its cable; their names are host1
          and host2
  rails   the same with two cables, v0 and v1, between the hosts, and FI_QUIVER_RAILS over both
  cut     all connections go through a TCP relay that cuts them where a case says (cutter.py)
  plain   nothing is wrong
  netns   nothing is wrong, and nobody is told that there are two hosts: containers of one machine
  slow    1 Mbit/s each way, with a queue of 400 ms; counts, and lengths of long messages, are a
          twentieth of the usual
  mtu     packets of 1280 bytes
  resize  the longest packet is 600, 1500 and 1280 bytes by turns
  flap    the link is down for up to 1.8 s, again and again
  late    the link comes up 5.5 s after the begin; FI_QUIVER_KEEPALIVE is 20
  relay   all connections go through a TCP relay that stalls
  netem   5 ms and 1 % loss each way
Exit status: that of the program; 77: the machine cannot do that, one line says why.
"""
import ctypes
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOST1, HOST2 = "10.77.0.1", "10.77.0.2"
RAIL1 = "10.78.0.1" # of the first host at the second cable
PORTS, IN_BAND, LAST_PORT = ("20000", "20095"), "20096", "20223" # for the relay
MACHINE = """set -e
mount -t proc proc /proc
mount -t tmpfs -o size=2g tmpfs /dev/shm
cat /proc/sys/kernel/random/uuid > /dev/shm/boot_id
mount --bind /dev/shm/boot_id /proc/sys/kernel/random/boot_id
hostname "$0"
printf '127.0.0.1 localhost\\n%s host1\\n%s host2\\n' "$@" > /dev/shm/hosts
mount --bind /dev/shm/hosts /etc/hosts
echo ready
exec sleep 100000"""
CUTTER = {"cut": ("cutter.py", f"/tmp/ft_cutter.{os.getpid()}")} # and where it takes orders
MACHINES = ("apart", "cut", "rails")
TIMES = {"apart": "3", "rails": "2", "cut": "2", "slow": "20", "flap": "4", "late": "4", "relay": "6", "netem": "6"} # of a case's time limit


def skip(why):
    """Not run: ctest shows it."""
    print(f"ft_hosts: {why}: not run")
    sys.exit(77)


def die_with_us():
    """In a child: end when the script does."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Hosts:
    """Name spaces, each held by a process that sleeps; both are gone when the script is."""

    def __init__(self):
        self.held = []

    def new(self, *more):
        """A name space: its path. More: unshare's options for what else the host has of its own."""
        child = subprocess.Popen(["unshare", "--net", *more, "sleep", "100000"], preexec_fn=die_with_us,
                                 stderr=subprocess.DEVNULL)
        self.held.append(child)
        mine = os.readlink("/proc/self/ns/net")
        for _ in range(200):
            if child.poll() is not None:
                skip("no network name space can be had here")
            path = f"/proc/{child.pid}/ns/net"
            if os.readlink(path) != mine:
                run(path, "ip", "link", "set", "lo", "up")
                return path
            time.sleep(0.01)
        return skip("unshare does not come to an end")

    def new_machine(self, name):
        """All that a host has of its own: the path of its network's name space, which is in the
        folder of the others. It sleeps as process 1, so the others have small, equal numbers."""
        child = subprocess.Popen(["unshare", "--net", "--ipc", "--uts", "--mount", "--pid", "--fork",
                                  "--kill-child", "sh", "-c", MACHINE, name, HOST1, HOST2],
                                 preexec_fn=die_with_us, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.held.append(child)
        if child.stdout.readline() != "ready\n":
            skip("no name spaces of a host can be had here")
        path = f"/proc/{child.pid}/ns/net"
        run(path, "ip", "link", "set", "lo", "up")
        return path

    def end(self):
        """Let go of all of them."""
        for child in self.held:
            child.kill()
            child.wait()
        for _, path in CUTTER.values():
            if os.path.exists(path):
                os.unlink(path)


def run(netns, *argv):
    """A command in that name space; False: it failed."""
    return subprocess.run(["nsenter", f"--net={netns}", *argv], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def connect(netns, name, other, other_name):
    """A cable between two name spaces."""
    pid = other.split("/")[2]
    if not run(netns, "ip", "link", "add", name, "type", "veth", "peer", "name", other_name,
               "netns", pid):
        skip("no pair of virtual network devices can be had here")
    run(netns, "ip", "link", "set", name, "up")
    run(other, "ip", "link", "set", other_name, "up")


def give_address(netns, address, device="v0"):
    """An address, with the length of its network's."""
    if not run(netns, "ip", "address", "add", address, "dev", device):
        skip(f"no address can be given to {device}")


def live_inside(netns, address, other):
    """The address is on a device that is always up, so that programs find it with the cable off."""
    connect(netns, "home", netns, "garden")
    give_address(netns, f"{address}/32", "home")
    if not run(netns, "ip", "route", "add", other, "dev", "v0", "src", address):
        skip("no route can be had here")


def bridge(hosts, one, two):
    """Both hosts at a switch, whose name space is returned."""
    switch = hosts.new()
    connect(one, "v0", switch, "port1")
    connect(two, "v0", switch, "port2")
    if not run(switch, "ip", "link", "add", "switch", "type", "bridge", "forward_delay", "0"):
        skip("no bridge can be had here")
    for port in ("port1", "port2"):
        run(switch, "ip", "link", "set", port, "master", "switch")
    run(switch, "ip", "link", "set", "switch", "up")
    return switch


def relay(hosts, one, two, script, *more):
    """Both hosts at a relay, which has the other's address at each."""
    left, right = hosts.new(), hosts.new()
    connect(one, "v0", left, "v0")
    connect(two, "v0", right, "v0")
    give_address(left, HOST2 + "/24")
    give_address(right, HOST1 + "/24")
    child = subprocess.Popen([sys.executable, f"{HERE}/{script}", left, HOST2, right, HOST1,
                              PORTS[0], LAST_PORT, *more], preexec_fn=die_with_us,
                             stdout=subprocess.PIPE, text=True)
    hosts.held.append(child)
    if child.stdout.readline() != "ready\n":
        sys.exit("ft_hosts: the relay does not start")


def cable(switch, state):
    """Both hosts see it come off (state "down") or on again ("up")."""
    for port in ("port1", "port2"):
        run(switch, "ip", "link", "set", port, state)


def flap(switch, stop):
    """Off and on again. TCP doubles its patience each time that it finds the cable off, so there is
    time in between for it to come back to itself."""
    rnd = random.Random(3)
    pause = 0.4
    while not stop.wait(pause):
        cable(switch, "down")
        time.sleep(0.2 + rnd.random() * 1.6)
        cable(switch, "up")
        pause = 4 + rnd.random() * 4


def resize(hosts, stop):
    """What TCP has learned of the way's longest packet is wrong again and again."""
    for mtu in itertools.cycle(("600", "1500", "1280")):
        if stop.wait(0.2):
            return
        for netns in hosts:
            run(netns, "ip", "link", "set", "v0", "mtu", mtu)


def late(switch, stop):
    """Off from the begin, and on when TCP tries for the third time to find somebody."""
    if not stop.wait(5.5):
        cable(switch, "up")


def shape(hosts, why, *discipline, device="v0"):
    """A queueing discipline for what each host sends."""
    for netns in hosts:
        if not run(netns, "tc", "qdisc", "add", "dev", device, "root", *discipline):
            skip(why)


def build(hosts, scenario):
    """The two hosts, and the switch between them if there is one."""
    if scenario in MACHINES:
        one, two = hosts.new_machine("host1"), hosts.new_machine("host2")
    else:
        one, two = hosts.new(), hosts.new()
    switch = None
    if scenario in ("relay", "cut"):
        relay(hosts, one, two, *CUTTER.get(scenario, ("relay.py",)))
    elif scenario == "rails":
        for device, network in (("v0", HOST1), ("v1", RAIL1)):
            connect(one, device, two, device)
            give_address(one, network + "/24", device)
            give_address(two, network[:-1] + "2/24", device)
        return one, two, None
    else:
        switch = bridge(hosts, one, two)
    if scenario in ("flap", "late"):
        live_inside(one, HOST1, HOST2)
        live_inside(two, HOST2, HOST1)
    else:
        give_address(one, HOST1 + "/24")
        give_address(two, HOST2 + "/24")
    if scenario == "slow":
        shape((one, two), "the kernel has no tbf", "tbf", "rate", "1mbit", "burst", "4kb",
              "latency", "400ms")
    elif scenario == "netem":
        shape((one, two), "the kernel has no netem", "netem", "delay", "5ms", "loss", "1%")
    elif scenario == "mtu":
        for netns in (one, two):
            run(netns, "ip", "link", "set", "v0", "mtu", "1280")
    return one, two, switch


def main():
    """Build, run, take down."""
    if len(sys.argv) < 4 or sys.argv[1] not in ("plain", "netns", "mtu", "resize", *TIMES):
        sys.exit(__doc__)
    scenario, program, *cases = sys.argv[1:]
    if os.geteuid() != 0:
        skip("making network name spaces needs root")
    for tool in ("ip", "tc", "nsenter", "unshare"):
        if not shutil.which(tool):
            skip(f"no {tool} here (Debian: iproute2, util-linux)")
    hosts, stop = Hosts(), threading.Event()
    try:
        one, two, switch = build(hosts, scenario)
        device = "home" if scenario in ("flap", "late") else "v0"
        env = dict(os.environ, QV_TEST_NETNS=f"{one}:{two}", QV_TEST_NODES="split",
                   QV_TEST_HOST=HOST1, QV_TEST_TIMEOUT=TIMES.get(scenario, "3"),
                   FI_TCP_IFACE=device, FI_NET_IFACE=device)
        if scenario == "netns":
            del env["QV_TEST_NODES"]
        if scenario == "rails":
            env["FI_QUIVER_RAILS"] = "v0,v1"
            del env["FI_TCP_IFACE"], env["FI_NET_IFACE"]
        if scenario in MACHINES:
            del env["QV_TEST_NETNS"]
            env["QV_TEST_HOSTS"] = f"{os.path.dirname(one)}:{os.path.dirname(two)}"
        if scenario == "cut":
            env["QV_TEST_CUTTER"] = CUTTER["cut"][1]
        if scenario in ("relay", "cut"):
            for name in ("FI_TCP_PORT", "FI_NET_PORT"):
                env[f"{name}_LOW_RANGE"], env[f"{name}_HIGH_RANGE"] = PORTS
            env["QV_TEST_PORT"], env["QV_TEST_LAST_PORT"] = IN_BAND, LAST_PORT
        if scenario == "slow":
            env["QV_TEST_SCALE"] = "0.05"
        if scenario == "late":
            env["FI_QUIVER_KEEPALIVE"] = "20"
            cable(switch, "down")
        if scenario in ("flap", "late"):
            threading.Thread(target=globals()[scenario], args=(switch, stop), daemon=True).start()
        elif scenario == "resize":
            threading.Thread(target=resize, args=((one, two), stop), daemon=True).start()
        status = subprocess.run([program, *cases], env=env, preexec_fn=die_with_us,
                                check=False).returncode
    finally:
        stop.set()
        hosts.end()
    sys.exit(status)


if __name__ == "__main__":
    main()
