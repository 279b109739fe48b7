#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_top.py - `quiver top` of a process that becomes another program, and of one with more endpoints
than are shown. The process has loaded the provider and makes up its endpoints itself.

usage: test_top.py <directory of libquiver-fi.so> <program quiver>
"""
import json
import os
import subprocess
import sys

PROVIDER, QUIVER = sys.argv[1:3]
MOST = 256 # endpoints that are shown
# Finds the table of engine/match/live.h in itself as the reader does, and hangs so many endpoints on it.
PROCESS = """
import ctypes, os, struct, sys
library, n = sys.argv[1], int(sys.argv[2])
ctypes.CDLL(library)
for line in open("/proc/self/maps"):
    if "quiver-fi.so" in line and " rw" in line:
        begin, end = (int(x, 16) for x in line.split()[0].split("-"))
        data = ctypes.string_at(begin, end - begin)
        at = data.find(b"quiver live 0001")
        if at >= 0:
            table = begin + at
size = struct.unpack_from("Q", ctypes.string_at(table, 56), 40)[0]
room = ctypes.create_string_buffer(size * n + 1)
first = ctypes.addressof(room)
for i in range(n):
    struct.pack_into("QQ", room, i * size, first + (i + 1) * size if i + 1 < n else 0, i)
struct.pack_into("Q", (ctypes.c_char * 8).from_address(table + 48), 0, first if n else 0)
print("ready", flush=True)
sys.stdin.readline()
os.execvp("cat", ["cat"])
"""

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def start(endpoints):
    """The process, when its endpoints are there."""
    process = subprocess.Popen([sys.executable, "-c", PROCESS, os.path.join(PROVIDER, "libquiver-fi.so"),
                                str(endpoints)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def top(pid, *options):
    """`quiver top` for one interval: what it printed."""
    return subprocess.run([QUIVER, "top", "--once", "--interval", "0.01", *options, str(pid)],
                          capture_output=True, text=True, timeout=60, check=False).stdout


def test_many():
    """What is not shown is said."""
    for endpoints in (0, MOST, MOST + 1):
        with start(endpoints) as process:
            table = top(process.pid).splitlines()[:1]
            found = json.loads(top(process.pid, "--json") or "{}")
            process.kill()
        more = endpoints > MOST
        check(f"{endpoints} endpoints", len(found.get("endpoints", ())) == min(endpoints, MOST) and
              found.get("more") == more and table and ("not shown" in table[0]) == more, (table, found.keys()))


def test_exec():
    """The program ends, and its process goes on with another one."""
    with start(1) as process:
        with subprocess.Popen([QUIVER, "top", "--interval", "0.01", "--json", str(process.pid)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
            line = watching.stdout.readline()
            process.stdin.write("\n")
            process.stdin.flush()
            try:
                complaint = watching.communicate(timeout=20)[1]
            except subprocess.TimeoutExpired:
                watching.kill()
                complaint = "none"
        process.kill()
    check("another program", len(json.loads(line)["endpoints"]) == 1 and watching.returncode == 1 and
          complaint == f"quiver top: process {process.pid} has begun another program, or unloaded quiver\n",
          complaint)


def main():
    test_many()
    test_exec()
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
