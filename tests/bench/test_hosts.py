#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_hosts.py QUIVER - `quiver bench fabric` between two hosts, which are network name spaces: by a
launcher, and by --listen and --connect. What must be refused; and that nothing is left of one that is
told to end."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fabric", "harness"))
import hosts  # pylint: disable=wrong-import-position

CASES, IMPLS = "lat/8/prq16,bw/4096", "tcp;ofi_rxm,quiver+tcp"


LAUNCHER = """#!/bin/sh
host=$1
case $host in
host1) net={one} ;;
host2 | me@{address}) net={two} ;;
*) echo "no host $host" >&2; exit 3 ;;
esac
shift
exec nsenter --net=$net unshare --uts sh -c "hostname $host; $*"
"""


def check(holds, *what):
    if not holds:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def bench(*args, netns=None):
    """The bench, in that name space."""
    inside = ["nsenter", f"--net={netns}"] if netns else []
    return subprocess.run([*inside, sys.argv[1], "bench", "fabric", "--quick", *args], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)


def two_hosts():
    """Two name spaces with a cable between."""
    held = hosts.Hosts()
    one, two = held.new(), held.new()
    hosts.connect(one, "v0", two, "v0")
    hosts.give_address(one, f"{hosts.HOST1}/24")
    hosts.give_address(two, f"{hosts.HOST2}/24")
    return held, one, two


def measured(folder, *args, netns=None):
    """Both implementations have checked figures for both cases."""
    path = os.path.join(folder, "out.json")
    done = bench("--filter", CASES, "--impl", IMPLS, "--rounds", "2", "--json", path, *args, netns=netns)
    check(done.returncode == 0, args, done.stdout)
    with open(path, encoding="utf-8") as f:
        result = json.load(f)
    rows = [r for r in result["rows"] if r["answer"] == "checked" and r["p50"] > 0]
    check({r["impl"] for r in rows} == set(IMPLS.split(",")) and len(rows) >= 4, done.stdout)
    check("hosts" in result["machine"] and "distance" not in result["machine"], result["machine"])
    check("bench fabric --quick" in result["machine"]["command"], result["machine"])
    return result


def by_launcher(folder, one, two):
    """nsenter is what ssh is elsewhere: it gets a host and a command."""
    launcher = os.path.join(folder, "launcher")
    with open(launcher, "w", encoding="utf-8") as f:
        f.write(LAUNCHER.format(one=one, two=two, address=hosts.HOST2))
    os.chmod(launcher, 0o755)
    measured(folder, "--hosts", f"host1,me@{hosts.HOST2}", "--launcher", launcher)
    done = bench("--filter", CASES, "--impl", "quiver+tcp", "--hosts", "host1,host9", "--launcher", launcher)
    check(done.returncode != 0 and "no host host9" in done.stdout and "died: exit 3" in done.stdout, done.stdout)
    done = bench("--filter", CASES, "--impl", "quiver+tcp", "--hosts", "host1,host2", "--launcher", "/no/such")
    check(done.returncode != 0 and "cannot start /no/such" in done.stdout, done.stdout)
    if sys.argv[2:] == ["coll"]:
        collectives(launcher, one)


def collectives(launcher, one):
    """A rank on each host, over quiver."""
    os.environ["OMPI_MCA_plm_rsh_agent"] = launcher
    done = subprocess.run(["nsenter", f"--net={one}", "unshare", "--uts", "sh", "-c", 'hostname head; exec "$@"',
                           "sh", sys.argv[1], "bench", "coll", "--quick", "--hosts", "host1,host2",
                           "--stack", "tcp", "--filter", "allreduce/2/1024/balanced",
                           "--impl", "mpi,binomial", "--rounds", "2", "--samples", "3"],
                          text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    check(done.returncode == 0 and done.stdout.count("checked") == 2, done.stdout)
    check("hosts      host1,host2" in done.stdout, done.stdout)


def by_port(folder, one, two):
    """Served on the second host, measured on the first; nonsense harms nobody."""
    with subprocess.Popen(["nsenter", f"--net={two}", sys.argv[1], "bench", "fabric", "--listen", "7471"],
                          stdout=subprocess.PIPE, text=True) as server:
        try:
            check("serving at port 7471" in server.stdout.readline(), "no server")
            measured(folder, "--connect", f"{hosts.HOST2}:7471", netns=one)
            in_network(one, nonsense)
            in_network(one, commands_out_of_range, greeting())
            measured(folder, "--connect", f"{hosts.HOST2}:7471", netns=one)
        finally:
            server.terminate()
    done = bench("--filter", CASES, "--impl", "quiver+tcp", "--connect", f"{hosts.HOST2}:7471", netns=one)
    check(done.returncode != 0 and "refused" in done.stdout, done.stdout)


def in_network(netns, work, *args):
    """In a process of its own there; True: all is well."""
    child = os.fork()
    if not child:
        hosts.ctypes.CDLL(None).setns(os.open(netns, os.O_RDONLY), 0)
        os._exit(0 if work(*args) else 1)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, work.__doc__)


def nonsense():
    """Who is not a bench, or a bench of another version, gets nothing or a refusal."""
    for data in (b"", b"GET / HTTP/1.0\r\n\r\n" * 100, os.urandom(4096), struct.pack("32sIIi", b"0.0", 1, 1, 7) + bytes(4096)):
        with socket.create_connection((hosts.HOST2, 7471)) as s:
            s.settimeout(10)
            try:  # a refusal may cut the connection while this side still writes
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                answer = s.recv(4096)
            except TimeoutError:
                return False
            except OSError:
                answer = b""
            if answer and b"not the same quiver" not in answer:
                return False
    return True


def greeting():
    """What a bench says first to who listens: taken down here, by nobody who would answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener, subprocess.Popen(
            [sys.argv[1], "bench", "fabric", "--impl", "quiver+tcp", "--filter", "lat/8/prq0", "--connect",
             f"127.0.0.1:{listener.getsockname()[1]}"], stdout=subprocess.DEVNULL) as child:
        with listener.accept()[0] as s:
            s.settimeout(1)
            said = b""
            try:
                while True:
                    said += s.recv(4096)
            except TimeoutError:
                pass
        child.kill()
    return said


def commands_out_of_range(said):
    """After a proper greeting, commands that no bench would send are refused by name."""
    with open(os.path.join(HERE, "..", "..", "bench", "fabric", "fabric.h"), encoding="utf-8") as f:
        size = dict(re.findall(r"#define (QV_FB_TEXT|QV_FB_ADDRESS) +(\d+)", f.read()))
    with socket.create_connection((hosts.HOST2, 7471)) as s, s.makefile("rwb") as line:
        s.settimeout(20)
        line.write(said)
        line.flush()
        status, _, _, length = struct.unpack("iIII", line.read(16))
        line.read(int(size["QV_FB_TEXT"]))
        line.write(line.read(length).ljust(int(size["QV_FB_ADDRESS"]), b"\0"))
        line.write(b"\xff" * 1000)
        line.flush()
        refusal = line.read(16 + int(size["QV_FB_TEXT"]))
        return status == 0 and struct.unpack_from("i", refusal)[0] < 0 and b"no such command" in refusal


def refused():
    """Each wrong use: one line."""
    for args, word in ((("--hosts", "a"), "two names"), (("--hosts", "a,b,c"), "two names"),
                       (("--connect", "a"), "HOST:PORT"), (("--listen", "0"), "from 1 to 65535"),
                       (("--hosts", "a,b", "--connect", "a:1"), "not both")):
        done = bench("--impl", "quiver+tcp", "--filter", "lat/8/prq0", *args)
        check(done.returncode != 0 and word in done.stdout, args, done.stdout)


def group_lives(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def ended():
    """Told to end by each signal, or killed, while its processes send: none of them is left. What killed
    ones leave in /dev/shm is in one of their own."""
    own = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs shm /dev/shm && exec "$0" "$@"']
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with subprocess.Popen([*own, sys.argv[1], "bench", "fabric", "--impl", "shm,quiver+shm,quiver+node",
                               "--filter", "rate/8/64,lat/8/prq0", "--rounds", "10000"],
                              stdout=subprocess.PIPE, start_new_session=True, text=True) as child:
            while not child.stdout.readline().startswith("  impl       quiver+node"):
                check(child.poll() is None, "ended by itself")
            time.sleep(1)
            child.send_signal(number)
            check(child.wait(timeout=60) == -number, child.returncode)
            until = time.time() + 10
            while group_lives(child.pid):
                check(time.time() < until, "processes are left after", number.name)
                time.sleep(0.01)


def main():
    refused()
    held, one, two = two_hosts()
    try:
        ended()
        with tempfile.TemporaryDirectory(prefix="quiver-hosts.") as folder:
            start = time.time()
            by_launcher(folder, one, two)
            by_port(folder, one, two)
            print(f"hosts: ok, {time.time() - start:.0f} s")
    finally:
        held.end()


main()
