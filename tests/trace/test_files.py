#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_files.py - `quiver trace` with files that cannot be read or written, command lines that are
wrong, and many events.

usage: test_files.py QUIVER"""
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile

from traces import Program, Trace, end, events, header, interleaved, lane, process, quiver, seed, write

WRITERS = ("cut", "merge", "anonymise")


def refused(status, *args, **how):
    """It ends with this status and one line on standard error, which is given back."""
    got, out, err = quiver(*args, **how)
    assert got == status and err.startswith("quiver: ") and err.count("\n") == 1, (args, got, out, err)
    return err


def job(rng, path, n):
    return write(path, header(), process(0, 0, 1, b"host", b"program"), lane(0, 0, 0, 1),
                 *interleaved([Program(rng).calls(n)], rng), end())


def command_lines(path, out):
    for command in WRITERS + ("dump",):
        status, text, err = quiver(command, "--help")
        assert status == 0 and text.startswith(f"usage: quiver trace {command} FILE") and not err
        assert f"trace {command} has no option '--no'" in refused(2, command, "--no", path)
        assert "not 0" in refused(2, command)
        assert "no trace" in refused(1, command, __file__, *["-o", out] * (command != "dump"))
        assert "cannot be read: No such file" in refused(1, command, out, *["-o", out] * (command != "dump"))
        assert "is no file" in refused(1, command, "/dev/null", *["-o", out] * (command != "dump"))
    for command in WRITERS:
        assert "name it by -o OUT" in refused(2, command, path)
        assert "option -o needs a value" in refused(2, command, path, "-o")
        assert "is there, and is no plain file" in refused(1, command, path, "-o", "/dev/null")
        assert "No such file" in refused(1, command, path, "-o", out + "/no/file")
    for option, value in (("--from", "-1"), ("--from", "x"), ("--to", "1e99"), ("--to", "nan"), ("--to", ""),
                          ("--lane", "1,"), ("--lane", "-1"), ("--rank", "1;2"), ("--rank", ""), ("--first", "0"),
                          ("--queue", "x"), ("--lane", "99999999999"), ("--lane", "0," * 2000 + "0")):
        assert f"{option} " in refused(2, "cut", path, "-o", out, option, value), option
    assert "has no lane 7" in refused(1, "cut", path, "-o", out, "--lane", "0,7")
    assert "has no rank 7" in refused(1, "cut", path, "-o", out, "--rank", "7")
    assert "--limit takes" in refused(2, "dump", path, "--limit", "0")
    assert "not 2" in refused(2, "dump", path, path)
    assert not os.path.exists(out)
    status, text, _ = quiver("--help")
    assert status == 0 and all(f"  {command} " in text for command in WRITERS)


def full_disk(path, folder):
    """A limit on the length of files stands for it: the file that was there stays, and no part of
    another."""
    def limited(most):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    out = write(os.path.join(folder, "out.qvt"), b"as it was")
    there = sorted(os.listdir(folder))
    for command, most in itertools.product(WRITERS, (16, 1 << 16)):
        assert "cannot write" in refused(1, command, path, "-o", out, preexec_fn=limited(most))
        assert sorted(os.listdir(folder)) == there, os.listdir(folder)
        with open(out, "rb") as f:
            assert f.read() == b"as it was", command
    for command in WRITERS: # and where the disk has room, a file may become its own
        before = Trace(path).events
        assert quiver(command, path, "-o", path)[0] == 0
        assert len(Trace(path).events) == len(before) and sorted(os.listdir(folder)) == there
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.argv[1], "trace", "dump", path], stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 1 and b"cannot write what is dumped: No space left" in done.stderr, done
        for command in (["--version"], ["info"], ["help", "top"], ["trace", "advise", "--seconds", "1", path]):
            done = subprocess.run([sys.argv[1], *command], stdout=full, stderr=subprocess.PIPE, check=False)
            assert done.returncode == 1 and b"standard output cannot be written: No space left" in done.stderr, done


def names(rng, folder):
    """Names that would steer a terminal, or are no UTF-8."""
    path = write(os.path.join(folder, "names.qvt"), header(), process(0, 0, 1, b"a\x1b[2Jb", b"\xff\xfe\n"),
                 process(1, 1, 1, "ü".encode(), b"x" * 63), lane(0, 0, 0, 1, b"\x9b\x07"),
                 events(0, Program(rng).calls(3)), end())
    text = quiver("dump", path)[1]
    assert all(c == "\n" or " " <= c <= "~" for c in text) and "a?[2Jb" in text, text
    trace = Trace(path)
    assert [p["host"] for p in trace.processes] == ["a\x1b[2Jb", "ü"], trace.processes
    assert trace.processes[0]["program"] == "???" and trace.processes[1]["program"] == "x" * 63


def names_of_others(rng, folder):
    """The same in what advise and stats print. A file of counters that was not finished is left out."""
    path = write(os.path.join(folder, "host.qvt"), header(), process(0, -1, 1, b"a\x1b[2Jb", b""), lane(0, 0, 0, 1),
                 events(0, Program(rng).calls(100)), end())
    status, text, err = quiver("advise", "--seconds", "1", path)
    assert status == 0 and "a rank that is not known on a?[2Jb, " in text and "\x1b" not in text, (text, err)
    counters = json.dumps({"quiver": "1", "host": "a\x1b[2Jb", "rank": 3, "pid": 1, "endpoints": []}).encode()
    paths = [write(os.path.join(folder, f"app.3{part}"), counters) for part in ("", ".part")]
    done = subprocess.run([sys.argv[1], "stats", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count("a?[2Jb") == 1 and "\x1b" not in done.stdout, done
    assert done.stderr == f"quiver stats: warning: {paths[1]} was not finished, and is left out\n", done
    done = subprocess.run([sys.argv[1], "stats", paths[1]], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no file has counters" in done.stderr, done


def late_lanes(rng, folder):
    """Threads add lanes: one may be there before a smaller one, or be missing."""
    calls = [Program(rng).calls(20) for _ in range(3)]
    path = write(os.path.join(folder, "late.qvt"), header(), process(0, 0, 1, b"", b""), lane(2, 0, 2, 1),
                 events(2, calls[2]), lane(1, 0, 1, 1), events(1, calls[1]), lane(4, 0, 4, 1), end())
    out = os.path.join(folder, "late_out.qvt")
    for command in WRITERS:
        assert quiver(command, path, "-o", out)[0] == 0
        trace = Trace(out)
        assert sorted(x["endpoint"] for x in trace.lanes) == [1, 2, 4], (command, trace.lanes)
        for i, x in enumerate(trace.lanes):
            wanted = [e["kind"] for e in calls[x["endpoint"]]] if x["endpoint"] < 3 else []
            assert [e["kind"] for e in trace.of(i)] == wanted, command


def clock_back(rng, folder):
    """The clock was set back between two blocks: what is written stays in order."""
    calls = Program(rng).calls(40)
    early = [{**e, "ns": e["ns"] - 10**12} for e in calls[20:]]
    path = write(os.path.join(folder, "clock.qvt"), header(), process(0, 0, 1, b"", b""), lane(0, 0, 0, 1),
                 events(0, calls[:20]), events(0, early, ticks_per_ns=3), end())
    out = os.path.join(folder, "clock_out.qvt")
    for command in ("merge", "anonymise"):
        assert quiver(command, path, "-o", out)[0] == 0
        trace = Trace(out)
        assert [e["kind"] for e in trace.events] == [e["kind"] for e in calls]
        times = [e["ns"] for e in trace.events]
        assert times == sorted(times) and len(set(times[20:])) == 1


def peak(*args):
    """The most memory that a command takes, in KiB."""
    with subprocess.Popen([sys.argv[1], "trace", *args], stdout=subprocess.DEVNULL,
                          env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"}) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, args
    return used.ru_maxrss


def memory(rng, folder):
    """What merge needs does not grow with the events."""
    some, paths = Program(rng).calls(2000), []
    span = some[-1]["ns"] - some[0]["ns"] + 1
    for times in (1, 160):
        calls = [events(0, [{**e, "ns": e["ns"] + i * span} for e in some]) for i in range(times)]
        paths.append(write(os.path.join(folder, f"long{times}.qvt"), header(), process(0, 0, 1, b"", b""),
                           lane(0, 0, 0, 1), *calls, end()))
    short, long = (peak("merge", path, path, "-o", os.path.join(folder, "out.qvt")) for path in paths)
    assert os.path.getsize(paths[1]) > 7 << 20 and long - short < 3000, (short, long)


def main():
    rng = seed()
    with tempfile.TemporaryDirectory() as folder:
        path = job(rng, os.path.join(folder, "a.qvt"), 6000)
        command_lines(path, os.path.join(folder, "none.qvt"))
        full_disk(path, folder)
        names(rng, folder)
        names_of_others(rng, folder)
        late_lanes(rng, folder)
        clock_back(rng, folder)
        memory(rng, folder)


if __name__ == "__main__":
    main()
