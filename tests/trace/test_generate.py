#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_generate.py - `quiver trace generate`: plain lists give the same answers as each trace has, the
same options the same bytes, and patterns are what they say.

usage: test_generate.py <program quiver>"""
import os
import resource
import subprocess
import sys
import tempfile

import plain

PATTERNS = ["fds", "amg", "minife", "miniamr", "radix", "nbody", "cholesky", "stencil26", "quicksilver",
            "shuffle"]

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def quiver(*argv):
    done = subprocess.run([sys.argv[1], "trace", "generate", *argv], capture_output=True, text=True,
                          timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def generate(folder, pattern, *options, name="a"):
    path = os.path.join(folder, name)
    status, out, err = quiver(pattern, "-o", path, *options)
    check(f"{pattern} {options}: written without a word", (status, out, err) == (0, "", ""), err)
    return path


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def refused(*argv, status=2, words=""):
    got, out, err = quiver(*argv)
    check(f"{argv}: exit status {status}", got == status, f"{got} {out}{err}")
    check(f"{argv}: one line", err.count("\n") == 1 and err.startswith("quiver: "), err)
    check(f"{argv}: '{words}'", words in err, err)


def tagged(trace):
    return trace._replace(lanes=[lane for lane in trace.lanes if lane.queue == 1])


def test_answers(folder):
    """Sizes that are even, odd, prime and the least."""
    for pattern in PATTERNS:
        for ranks in (2, 3, 8, 17):
            path = generate(folder, pattern, "--ranks", str(ranks), "--iterations", "2")
            trace = plain.read(path)
            check(f"{pattern}: a process for each rank",
                  [p.rank for p in trace.processes] == list(range(ranks)))
            check(f"{pattern}: the program's name",
                  {p.program for p in trace.processes} == {pattern.encode()})
            check(f"{pattern}: whole", trace.whole and trace.lost == 0)
            check(f"{pattern}: {ranks} ranks do something", any(lane.events for lane in trace.lanes))
            for i, lane in enumerate(trace.lanes):
                why = plain.judge(lane)
                check(f"{pattern} with {ranks} ranks, lane {i}", why is None, why)


def test_repeats(folder):
    for pattern in PATTERNS:
        options = ("--ranks", "8", "--iterations", "2")
        one = contents(generate(folder, pattern, *options, "--seed", "7"))
        check(f"{pattern}: same options, same bytes",
              one == contents(generate(folder, pattern, *options, "--seed", "7", name="b")))
        check(f"{pattern}: another seed, another trace",
              one != contents(generate(folder, pattern, *options, "--seed", "8")))
        check(f"{pattern}: more iterations, more events",
              len(one) < len(contents(generate(folder, pattern, "--ranks", "8", "--iterations", "5"))))


def counted(folder, pattern, *options):
    trace = tagged(plain.read(generate(folder, pattern, *options)))
    return plain.Figures(trace), trace


def test_characters(folder):
    """Each as the table in the program says."""
    f, trace = counted(folder, "fds", "--ranks", "64", "--iterations", "1")
    root = plain.Figures(trace._replace(lanes=trace.lanes[:1]))
    others = plain.Figures(trace._replace(lanes=trace.lanes[1:]))
    check("fds: rank 0 has four gathers of receives, and of messages", min(root.most) > 150, root.most)
    check("fds: the others have short queues", max(others.most) <= 6, others.most)
    check("fds: no wildcards", not any(n for k, n in f.wild.items() if k[1] or k[2]), f.wild)
    f, _ = counted(folder, "amg", "--ranks", "32", "--iterations", "1")
    check("amg: receives from up to all, few messages early", f.most[0] > 30 > f.most[1], f.most)
    f, _ = counted(folder, "minife", "--ranks", "27", "--iterations", "3")
    check("minife: six receives at most", f.most[0] <= 6, f.most)
    f, _ = counted(folder, "stencil26", "--ranks", "27", "--iterations", "3")
    check("stencil26: up to four fields of 26", 52 < f.most[0] <= 104, f.most)
    f, _ = counted(folder, "nbody", "--ranks", "16", "--iterations", "2")
    check("nbody: two receives ahead", f.most[0] <= 2, f.most)
    f, _ = counted(folder, "radix", "--ranks", "16", "--iterations", "1")
    check("radix: all from any source", f.calls[plain.POST] and
          f.wild[plain.POST, True, False] == f.calls[plain.POST], f.wild)
    f, _ = counted(folder, "cholesky", "--ranks", "16")
    check("cholesky: deep unexpected queues", f.most[1] > 100, f.most)
    f, trace = counted(folder, "miniamr", "--ranks", "32", "--iterations", "12")
    events = [e for e in trace.lanes[0].events if e.kind == plain.ARRIVE]
    pairs = [{(e.src, e.tag) for e in part} for part in (events[:len(events) // 4], events[-len(events) // 4:])]
    check("miniamr: many receives ahead", f.most[0] > 40, f.most)
    check("miniamr: who shares which faces changes", pairs[0] - pairs[1] and pairs[1] - pairs[0])
    f, _ = counted(folder, "quicksilver", "--ranks", "8", "--iterations", "3")
    check("quicksilver: probes of any source, takes, cancels, any tag",
          f.wild[plain.PEEK, True, False] and f.calls[plain.TAKE] and f.calls[plain.CANCEL] and
          f.wild[plain.POST, True, True], f.calls)
    f, _ = counted(folder, "shuffle", "--ranks", "8", "--iterations", "3")
    check("shuffle: deep queues of both kinds", min(f.most) > 100, f.most)
    f, _ = counted(folder, "stencil26", "--any-source", "100", "--ranks", "8", "--iterations", "2")
    check("--any-source: all, if it is 100", f.wild[plain.POST, True, False] == f.calls[plain.POST], f.wild)


def test_command(folder):
    status, out, err = quiver("--list")
    check("--list", status == 0 and not err, err)
    check("--list has all patterns", [line.split()[0] for line in out.splitlines()] == PATTERNS, out)
    status, out, err = quiver("--help")
    check("--help", status == 0 and out.startswith("usage: quiver trace generate") and not err, out)
    path = os.path.join(folder, "none")
    refused("nosuch", "-o", path, words="'nosuch'")
    refused("fds", words="-o FILE")
    refused("-o", path, words="PATTERN")
    refused("fds", "amg", "-o", path)
    refused("fds", "-o", path, "--frob", words="'--frob'")
    for value in ("1", "0", "-3", "16385", "8x", "", "99999999999999999999"):
        refused("fds", "-o", path, "--ranks", value, words=f"'{value}'")
    refused("fds", "-o", path, "--any-source", "101", words="--any-source")
    refused("fds", "-o", path, "--iterations", "0", words="--iterations")
    check("nothing is written where the command line is wrong", not os.path.exists(path))
    refused("fds", "-o", os.path.join(folder, "no/such"), status=1, words="No such file")
    refused("minife", "-o", "/dev/full", status=1, words="is no plain file")
    before = contents(generate(folder, "minife"))
    there = sorted(os.listdir(folder))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
    refused("fds", "-o", os.path.join(folder, "a"), status=1, words="File too large")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    check("what was there stays", contents(os.path.join(folder, "a")) == before and
          sorted(os.listdir(folder)) == there, os.listdir(folder))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_answers, test_repeats, test_characters, test_command):
            test(folder)
            print(test.__name__)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
