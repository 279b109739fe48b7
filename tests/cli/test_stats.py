#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_stats.py - FI_QUIVER_STATS: lines at the end, files that `quiver stats` adds up, and profiles that
the next run matches by.

usage: test_stats.py <directory of libquiver-fi.so> <program test_fabric> [<program quiver>]
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

CASES = {"shm": ["order_tagged", "order_msg", "order_queued", "order_same_key"],
         "tcp": ["order_queued"]}
RANKS = 3 # of the first three cases; rank 0 gets the messages

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def settings(core, env):
    """The environment of a run over a core."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    full.update(env, FI_PROVIDER_PATH=sys.argv[1], FI_PROVIDER="quiver", FI_QUIVER_CORE=core)
    return full


def run(core, *cases, cwd=None, before=None, **env):
    """The cases over a core with these settings: exit status, what was on stderr."""
    done = subprocess.run([os.path.abspath(sys.argv[2]), *cases], env=settings(core, env), capture_output=True,
                          text=True, timeout=120, check=False, cwd=cwd, preexec_fn=before)
    return done.returncode, done.stdout + done.stderr


def written(core, case, **env):
    """What each write to stderr carried; the socket keeps them apart."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, subprocess.Popen([sys.argv[2], case], env=settings(core, env), stderr=theirs,
                                stdout=subprocess.DEVNULL) as ranks:
        theirs.close()
        mine.settimeout(120)
        pieces = list(iter(lambda: mine.recv(65536), b""))
        ranks.wait(120)
    return [piece.decode() for piece in pieces]


def counted(text, name):
    """All numbers in front of this word, added up."""
    return sum(int(n) for n in re.findall(rf"(\d+) {name}", text))


def test_lines(core):
    """One account per endpoint, closed or not, that adds up over the ranks."""
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="yes")
    lines = [l for l in text.splitlines() if "endpoint over" in l]
    check(f"{core}: one line per endpoint", status == 0 and len(lines) == RANKS, text)
    check(f"{core}: all is counted", counted(text, "messages,") == counted(text, "matched") > 0,
          text)
    check(f"{core}: what was sent has come", counted(text, "messages,") ==
          counted(text, "eager") + counted(text, "rendezvous"), text)
    for word in ("receives posted", "unexpected", "entries inspected", "posted queue at most",
                 "mode changes", "peers", "packets refused", "matching auto/"):
        check(f"{core}: {word}", word in text, text)
    pieces = written(core, "order_tagged", FI_QUIVER_STATS="yes")
    check(f"{core}: ranks that share stderr do not mix", [p.count("\n") for p in pieces if
          p.startswith("quiver: ")] == [1] * "".join(pieces).count("quiver: ") and
          "".join(pieces).count("endpoint over") == RANKS, pieces)
    status, text = run(core, "stats_not_closed", FI_QUIVER_STATS="1")
    check(f"{core}: an endpoint that is not closed", status == 0 and
          text.count("endpoint over") == 1 and "1 matched" in text, text)
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="no")
    check(f"{core}: silent", status == 0 and "quiver:" not in text, text)


def read(path):
    """Source to receives and messages that were queued."""
    with open(path, encoding="utf-8") as file:
        lines = [[int(n) for n in l.split()] for l in file if not l.startswith("#")]
    return {source: (posted, unexpected) for source, posted, unexpected in lines}


def test_profile(core, directory):
    """What one run writes, the next one reads and keeps the order by."""
    name = os.path.join(directory, core + ".%r")
    for case in CASES[core]:
        status, text = run(core, case, FI_QUIVER_STATS="profile:" + name)
        check(f"{core} {case}: silent", status == 0 and "quiver:" not in text, text)
        ranks = 2 if case == "order_same_key" else RANKS
        profile = [read(name.replace("%r", str(r))) for r in range(ranks)]
        check(f"{core} {case}: a source", 1 in profile[0], profile)
        for structure in ("clu:lla,kmeans=2", "pnp-static:llv,median"):
            status, text = run(core, case, FI_QUIVER_MATCH=structure, FI_QUIVER_PROFILE=name,
                               FI_QUIVER_STATS="yes")
            check(f"{core} {case} by {structure}", status == 0, text)
            check(f"{core} {case}: matched by {structure}",
                  text.count(f"matching {structure.split(':')[0]}/") == ranks, text)
        for r in range(ranks):
            os.unlink(name.replace("%r", str(r)))
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="profile:" + directory + "/all")
    check(f"{core}: one file for all is refused", status != 0 and "one file for all" in text, text)
    status, text = run(core, "stats_not_closed", FI_QUIVER_STATS="profile:" + name)
    check(f"{core}: a profile without a close", status == 0 and
          read(name.replace("%r", "0")) == {0: (1, 0)}, text)


def test_queues(core, directory):
    """A profile counts what was queued, each queue apart. What is posted for any source counts for
    none, and what is matched at once is not queued."""
    name = os.path.join(directory, core + ".%r")
    few = {"QV_TEST_SCALE": "0.01"}
    for case, want in (("unexpected_small_random", (1, 1000)), # messages, and a receive for the last
                       ("posted_random", (51, 0))): # receives, half of them for any source
        status, text = run(core, case, **few, FI_QUIVER_STATS="profile:" + name)
        profile = read(name.replace("%r", "0"))
        check(f"{core} {case}: each queue apart", status == 0 and profile.get(1) == want,
              f"{profile} {text}")
        status, text = run(core, case, **few, FI_QUIVER_MATCH="pnp-static", FI_QUIVER_PROFILE=name,
                           FI_QUIVER_STATS="yes")
        check(f"{core} {case}: the next run", status == 0 and
              text.count("matching pnp-static/") == 2, text)


def test_exit(core, directory):
    """A handler that calls exit() while the thread that it stopped writes: the process ends."""
    for form in ("json", "profile"):
        status, text = run(core, "stats_exit_in_write", FI_QUIVER_STATS=f"{form}:{directory}/%h.%r")
        check(f"{core} {form}: exit() in the midst of a writing", "ended with status 3" in text, f"{status} {text}")


def test_elsewhere(core, directory):
    """A relative name is of the folder where the program was when it took the setting."""
    folder = os.path.join(directory, "100%h")
    os.makedirs(folder, exist_ok=True)
    for name, setting in (("STATS", "json:"), ("STATS", "profile:"), ("TRACE", "")):
        status, text = run(core, "stats_elsewhere", cwd=folder, **{f"FI_QUIVER_{name}": f"{setting}here.%r"})
        found = os.listdir(folder)
        check(f"{core} {name}={setting}: chdir", status == 0 and found == ["here.0"], f"{found} {text}")
        for path in found:
            os.unlink(os.path.join(folder, path))


def test_forked(core, directory):
    """A child begins with sums of its own."""
    name = os.path.join(directory, core + ".%p.forked")
    status, text = run(core, "stats_forked", FI_QUIVER_STATS="profile:" + name)
    profiles = [read(os.path.join(directory, p)) for p in os.listdir(directory) if p.endswith(".forked")]
    check(f"{core}: a profile of a child", status == 0 and len(profiles) == 2 and
          sorted(p[0] for p in profiles) == [(0, 0), (1, 0)], f"{profiles} {text}")
    status, text = run(core, "fork_uses", FI_QUIVER_STATS=f"json:{directory}/%p.json.forked")
    posted = []
    for path in os.listdir(directory):
        if path.endswith(".json.forked"):
            with open(os.path.join(directory, path), encoding="utf-8") as file:
                posted.append([e["tagged"]["posted"] for e in json.load(file)["endpoints"]])
    check(f"{core}: a child that closes its parent's endpoint", status == 0 and posted == [[0], [0]], f"{posted} {text}")
    for path in os.listdir(directory):
        if path.endswith(".forked"):
            os.unlink(os.path.join(directory, path))


def test_kinds(core, directory):
    """What a symbolic link leads to is replaced, and a pipe that nobody reads is not waited for."""
    target, link, pipe = (os.path.join(directory, f"kind.{n}") for n in ("target", "link", "pipe"))
    with open(target, "w", encoding="utf-8") as file:
        file.write("before")
    os.symlink(target, link)
    with open(target, encoding="utf-8") as old:
        status, text = run(core, "stats_sizes", FI_QUIVER_STATS="json:" + link)
        with open(target, encoding="utf-8") as new:
            counters = json.load(new)
            process = counters["pid"]
            check(f"{core}: a link", status == 0 and os.path.islink(link) and counters["endpoints"] and
                  old.read() == "before", text)
    os.unlink(link)
    os.rename(target, os.path.join(directory, 252 * "x")) # beside which nothing can be written
    target = os.path.join(directory, 252 * "x")
    os.symlink(target, link)
    status, text = run(core, "stats_sizes", FI_QUIVER_STATS="json:" + link)
    with open(target, encoding="utf-8") as file:
        check(f"{core}: a link to where no other file may be", status == 0 and not text.count("quiver:") and
              json.load(file)["pid"] != process, text)
    os.mkfifo(pipe)
    for form in ("json", "profile"):
        status, text = run(core, "stats_sizes", FI_QUIVER_STATS=f"{form}:{pipe}", QV_TEST_TIMEOUT="0.5")
        check(f"{core} {form}: a pipe", status == 0 and "nobody reads this pipe" in text, text)
    os.unlink(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(pipe)
        status, text = run(core, "stats_sizes", FI_QUIVER_STATS=f"json:{pipe}")
        check(f"{core}: a socket is no pipe", status == 0 and
              f"cannot be written to {pipe}: No such device or address" in text, text)
    for path in (target, link, pipe):
        os.unlink(path)


def nobody():
    """An ordinary user, whom files and folders can refuse."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def test_folder(core):
    """A file that may be written is, in a folder that may not; no other file is left there."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "old")
        for form, begins in (("json", "{"), ("profile", "#")):
            with open(path, "w", encoding="utf-8") as file:
                file.write("before")
            os.chmod(path, 0o666)
            os.chmod(folder, 0o555)
            status, text = run(core, "stats_sizes", before=nobody, FI_QUIVER_STATS=f"{form}:{path}")
            with open(path, encoding="utf-8") as file:
                check(f"{core} {form}: in its place", status == 0 and "quiver:" not in text and
                      file.read().startswith(begins) and os.listdir(folder) == ["old"], text)
            os.chmod(folder, 0o755)


def add_up(*args):
    """`quiver stats`: exit status, what it printed, what it complained of."""
    done = subprocess.run([sys.argv[3], "stats", *args], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_files(core, directory):
    """A file for each process, with the endpoint in it."""
    name = os.path.join(directory, core + ".%r.json")
    paths = [name.replace("%r", str(r)) for r in range(RANKS)]
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="json:" + name)
    check(f"{core}: files and nothing else", status == 0 and "quiver:" not in text, text)
    counters = []
    for rank, path in enumerate(paths):
        with open(path, encoding="utf-8") as file:
            process = json.load(file)
        check(f"{core}: whose they are", process["rank"] == rank and process["pid"] > 0 and
              process["host"] == os.uname().nodename and len(process["endpoints"]) == 1 and
              process["endpoints"][0]["core"] in (core, "net"), process)
        counters.append(process["endpoints"][0])
    arrived = sum(c["tagged"]["arrived"] for c in counters)
    check(f"{core}: all has come and is matched", arrived > 0 and
          arrived == sum(c["tagged"]["matched"] for c in counters), counters)
    check(f"{core}: what was sent has come", sum(c["eager"] + c["rendezvous"] for c in counters) ==
          sum(c["tagged"]["arrived"] + c["untagged"]["arrived"] for c in counters), counters)
    status, text = run(core, "stats_not_closed", FI_QUIVER_STATS="json:" + name)
    with open(paths[0], encoding="utf-8") as file:
        process = json.load(file)
    check(f"{core}: an endpoint that is not closed", status == 0 and
          [e["tagged"]["matched"] for e in process["endpoints"]] == [1], process)
    status, text = run(core, "order_tagged", FI_QUIVER_STATS="json:" + directory + "/all")
    check(f"{core}: one file for all is refused", status != 0 and "one file for all" in text, text)


def test_program(directory):
    """`quiver stats` over files that a job wrote, and over others."""
    name = os.path.join(directory, "job.%r")
    paths = [name.replace("%r", str(r)) for r in range(RANKS)]
    run("tcp", "unexpected_small_reverse", FI_QUIVER_STATS="json:" + name)
    paths = [p for p in paths if os.path.exists(p)]
    processes = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            processes.append(json.load(file)["endpoints"][0])
    status, text, complaint = add_up(*reversed(paths))
    rows = [l.split() for l in text.splitlines() if re.match(r" *\d+ ", l)]
    check("stats: a row for each rank, in order", status == 0 and not complaint and
          [int(r[0]) for r in rows] == list(range(len(paths))), text)
    both = [p["tagged"]["arrived"] + p["untagged"]["arrived"] for p in processes]
    check("stats: messages", [int(r[2]) for r in rows] == both, text)
    check("stats: all", f" {sum(both)} " in text.split("all", 1)[1], text)
    most = max(p["tagged"]["unexpected_max"] for p in processes)
    check("stats: deep queues", most > 100 and f"Queues grew to {most} " in text, text)
    status, text, _ = add_up("--json", *paths)
    check("stats: JSON", status == 0 and json.loads(text)["all"]["arrived"] == sum(both) and
          json.loads(text)["all"]["unexpected_max"] == most, text)
    run("tcp", "pingpong_tagged", FI_QUIVER_STATS="json:" + name)
    status, text, _ = add_up(*paths)
    check("stats: short queues", status == 0 and "not what this job waits for" in text, text)
    for what, content in (("cut", '{"quiver": "0'), ("of others", '{"a": 1}'), ("empty", "")):
        wrong_file = os.path.join(directory, "wrong")
        with open(wrong_file, "w", encoding="utf-8") as file:
            file.write(content)
        status, text, complaint = add_up(paths[0], wrong_file)
        check(f"stats: a file that is {what}", status == 1 and not text and
              complaint.count("\n") == 1 and wrong_file in complaint, complaint)
    status, text, complaint = add_up()
    check("stats: no file", status == 2 and "no file is named" in complaint, complaint)


def write_process(path, rank, pid=1, **tagged):
    """The file of a process with these counters."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"quiver": "0", "rank": rank, "pid": pid, "host": "h", "endpoints": [
            {"structure": "auto", "tagged": tagged, "unexpected_bytes_max": 8 * rank}]}, file)


def test_spread(directory):
    """Mean, deviation and quartiles over four processes, by hand."""
    paths = [os.path.join(directory, f"spread.{rank}") for rank in range(4)]
    # unexpected 0, 0.5, 0.25, 0.25 of the messages; 1, 3, 2, 10 entries inspected for one
    counted = ((100, 0, 100, 7, 0), (200, 100, 600, 7, 30), (400, 100, 800, 7, 10),
               (1300, 325, 13000, 7, 20))
    for rank, (arrived, unexpected, inspected, posted, longest) in enumerate(counted):
        write_process(paths[rank], rank, arrived=arrived, matched=arrived, unexpected=unexpected,
                      inspected=inspected, posted_max=posted, unexpected_max=longest)
    want = {"arrived": (500, 225000 ** 0.5, 175, 300, 625),
            "unexpected_share": (0.25, 0.03125 ** 0.5, 0.1875, 0.25, 0.3125),
            "inspected_per_message": (4, 12.5 ** 0.5, 1.75, 2.5, 4.75),
            "posted_max": (7, 0, 7, 7, 7),
            "unexpected_max": (15, 125 ** 0.5, 7.5, 15, 22.5),
            "unexpected_bytes_max": (12, 80 ** 0.5, 6, 12, 18)}
    status, text, complaint = add_up("--json", *reversed(paths))
    spread = json.loads(text)["spread"]
    got = {name: (c["mean"], c["deviation"], *c["quartiles"]) for name, c in spread.items()}
    check("stats: spread in JSON", status == 0 and not complaint and got.keys() == want.keys() and
          all(abs(g - w) < 1e-9 for name, c in want.items() for g, w in zip(got[name], c)), got)
    status, text, _ = add_up(*paths)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for line in ("mean 500.0 25.0 % 4.00 7.0 15.0 12.0", "deviation 474.3 17.7 % 3.54 0.0 11.2 8.9",
                 "lower quartile 175.0 18.8 % 1.75 7.0 7.5 6.0",
                 "median 300.0 25.0 % 2.50 7.0 15.0 12.0",
                 "upper quartile 625.0 31.2 % 4.75 7.0 22.5 18.0"):
        check(f"stats: {line.split()[0]}", status == 0 and line in lines, text)
    status, text, _ = add_up(paths[0])
    check("stats: one process has no spread", status == 0 and "quartile" not in text, text)


def test_large(directory):
    """Sums stay at what JSON can tell, and a rank that is none is refused."""
    path, other = (os.path.join(directory, f"large.{n}") for n in "ab")
    for rank, name in enumerate((path, other)):
        write_process(name, rank, arrived=2 ** 63 - 1)
    status, text, complaint = add_up("--json", path, other)
    check("stats: large sums", status == 0 and json.loads(text)["all"]["arrived"] == 2 ** 63 - 1, text + complaint)
    write_process(path, 2 ** 32 - 1, arrived=1)
    status, text, complaint = add_up(path)
    check("stats: no such rank", status == 1 and not text and "has no counters" in complaint, text + complaint)


def test_host(directory):
    """A long name of a host is cut between two characters."""
    path = os.path.join(directory, "host")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"quiver": "0", "rank": 0, "pid": 1, "host": "x" * 62 + "\u00e4" * 9, "endpoints": []}, file)
    status, text, complaint = add_up("--json", path)
    check("stats: a long host", status == 0 and json.loads(text)["processes"][0].get("host") == "x" * 62,
          text + complaint)


def test_twice(directory):
    """No process counts twice; two of one rank are a warning, since a rank may start others."""
    first, other, child, alone, second = (os.path.join(directory, f"twice.{name}") for name in "acdno")
    write_process(first, 0, arrived=1)
    write_process(other, 1, arrived=1)
    write_process(child, 0, pid=2, arrived=1)
    write_process(alone, -1, arrived=1)
    write_process(second, -1, pid=2, arrived=1)
    status, text, complaint = add_up(first, other, first)
    check("stats: a file twice", status == 1 and not text and
          complaint == f"quiver stats: {first} and {first} are of the same process\n", complaint)
    status, text, complaint = add_up(first, other, child)
    check("stats: a rank twice", status == 0 and complaint == "quiver stats: warning: there are two files "
          f"of rank 0, {first} and {child}: are all of one job?\n", complaint)
    status, text, complaint = add_up(alone, second)
    check("stats: no rank is known", status == 0 and not complaint, complaint)
    status, text, complaint = add_up(alone, second, alone)
    check("stats: a file without rank twice", status == 1 and not text and
          complaint == f"quiver stats: {alone} and {alone} are of the same process\n", complaint)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for core in ("shm", "tcp"):
            test_lines(core)
            test_files(core, directory)
            test_profile(core, directory)
            test_queues(core, directory)
            test_exit(core, directory)
            test_elsewhere(core, directory)
            test_forked(core, directory)
            test_kinds(core, directory)
            test_folder(core)
        if len(sys.argv) > 3:
            test_program(directory)
            test_spread(directory)
            test_twice(directory)
            test_host(directory)
            test_large(directory)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
