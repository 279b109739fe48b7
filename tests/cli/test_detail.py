#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_detail.py - FI_QUIVER_STATS=detail, interval= and signal=, and `quiver top`, of a program whose
figures are known (tests/fabric/objects/stays.c).

usage: test_detail.py <directory of libquiver-fi.so> <program test_fabric> <program quiver>
"""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

PROVIDER, PROGRAM, QUIVER = sys.argv[1:4]
CASE = "stats_stays"
SOON = 10 # s, on a machine that is busy
# What that program does, matched by a plain list.
TAGGED = {"posted": 10, "arrived": 8, "matched": 8, "unexpected": 5, "inspected": 21,
          "posted_max": 3, "unexpected_now": 0, "unexpected_max": 5}
DETAIL = {
    "wildcards": {"none": 7, "source": 1, "tag": 1, "both": 1},
    "posted_queue": {"hits": [0, 1, 2], "misses": [5], "hits_inspected": 6, "misses_inspected": 0,
                     "depth": [5, 1, 2]},
    "unexpected_queue": {"hits": [0, 1, 2, 2], "misses": [5], "hits_inspected": 15,
                         "misses_inspected": 0, "depth": [5, 1, 2, 2]},
    "probes": {"hits": [], "misses": [], "hits_inspected": 0, "misses_inspected": 0},
    "others_inspected": 0, "other_sources": {"arrived": 0, "unexpected": 0}}

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def settings(**env):
    """The environment of a run."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    full.update(FI_PROVIDER_PATH=PROVIDER, FI_PROVIDER="quiver", FI_QUIVER_CORE="tcp",
                FI_QUIVER_MATCH="ll")
    return {**full, **env}


def run(case, **env):
    """A case from begin to end: exit status, what was printed."""
    done = subprocess.run([PROGRAM, case], env=settings(**env), capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


class Staying:
    """The program, until it is told to end."""

    def __init__(self, directory, **env):
        self.until = os.path.join(directory, "until")
        self.process = subprocess.Popen([PROGRAM, CASE], env=settings(QV_TEST_UNTIL=self.until, **env),
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.rank = 0
        wait_for(self.find_rank)

    def find_rank(self):
        """The process that has the provider: a child of the driver, or a child of that."""
        below = [self.process.pid]
        for pid in below:
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                    below += [int(p) for p in file.read().split()]
                with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
                    loaded = "quiver-fi.so" in file.read()
            except OSError:
                continue
            if loaded and pid != self.process.pid:
                self.rank = pid
        return self.rank

    def end(self):
        """Exit status and what it printed."""
        with open(self.until, "w", encoding="utf-8"):
            pass
        text, _ = self.process.communicate(timeout=60)
        os.unlink(self.until)
        return self.process.returncode, text


def wait_for(condition):
    """Until it holds; false: it did not."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def read(path):
    """The one endpoint in a file, or None."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["endpoints"][0]
    except FileNotFoundError:
        return None


def judge(what, endpoint, posted_now):
    """Its counters are those that are known."""
    tagged = dict(endpoint["tagged"])
    detail = tagged.pop("detail", {})
    tagged = {k: tagged[k] for k in (*TAGGED, "posted_now")}
    check(f"{what}: counters", tagged == {**TAGGED, "posted_now": posted_now}, tagged)
    source = detail.pop("sources", None)
    check(f"{what}: sources", source == [{"address": 0, "arrived": 8, "unexpected": 5}], source)
    times = [detail[q].pop("depth_ns") for q in ("posted_queue", "unexpected_queue")]
    check(f"{what}: detail", detail == DETAIL, detail)
    check(f"{what}: times", all(len(t) <= 4 and sum(t) > 0 for t in times) and
          abs(sum(times[0]) - sum(times[1])) < 1000, times)
    untagged = endpoint["untagged"]["detail"]
    check(f"{what}: untagged", untagged["posted_queue"]["hits"] == [] and untagged["sources"] == [],
          untagged)


def another_process(path):
    """The file of another rank that has done the same."""
    with open(path, encoding="utf-8") as file:
        root = json.load(file)
    root["rank"] = 1
    with open(path + ".another", "w", encoding="utf-8") as file:
        json.dump(root, file)
    return path + ".another"


def test_detail(directory):
    """At the end, over a network and within the node; without the option there is none."""
    path = os.path.join(directory, "end")
    for core in ("tcp", "node"):
        status, text = run(CASE, FI_QUIVER_STATS=f"detail:json:{path}", FI_QUIVER_CORE=core)
        check(f"{core}: passes, silent", status == 0 and "quiver:" not in text, text)
        judge(core, read(path), 0)
    another = another_process(path)
    done = subprocess.run([QUIVER, "stats", path, another], capture_output=True, text=True, check=False)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    check("stats: detail", done.returncode == 0 and not done.stderr and all(l in lines for l in (
        "Receives: 14 name source and tag, 2 take any source, 2 any tag or bits of it, 2 both.",
        "Messages that arrived searched the receives: 6 found one after 2.00 entries, 10 found none "
        "after 0.00",
        "2-3 4 0 ##########", "4-7 4 0 ########", "0 0 8 62.5 %", "1 0 8 62.5 %")), done.stdout)
    done = subprocess.run([QUIVER, "stats", "--json", path, another], capture_output=True, text=True,
                          check=False)
    detail = json.loads(done.stdout)["detail"]
    check("stats: JSON", detail["unexpected_queue"]["hits"] == [0, 2, 4, 4] and
          detail["wildcards"]["both"] == 2 and detail["unexpected_queue"]["hits_inspected"] == 30 and
          detail["pairs"] == [{"rank": r, "address": 0, "arrived": 8, "unexpected": 5} for r in (0, 1)], detail)
    run(CASE, FI_QUIVER_STATS=f"json:{path}")
    check("no detail", "detail" not in read(path)["tagged"])
    done = subprocess.run([QUIVER, "stats", path], capture_output=True, text=True, check=False)
    check("stats: no detail", done.returncode == 0 and "Receives:" not in done.stdout, done.stdout)


def test_hostile(directory):
    """Files whose detail is not as it should be are read, or refused in one line."""
    path = os.path.join(directory, "hostile")
    huge = 2 ** 63 - 1
    for detail in ([], 5, {}, {"sources": 7}, {"sources": [1, [], {}, {"address": huge, "arrived": huge}]},
                   {"posted_queue": {"hits": [huge] * 100, "depth": [-1, "x", None], "depth_ns": {}}},
                   {"wildcards": {"none": -5}, "probes": []}):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"quiver": "0", "host": "h", "rank": -1, "pid": 1, "endpoints":
                       [{"tagged": {"detail": detail}}, {"untagged": {"detail": detail}}]}, file)
        for options in ([], ["--json"]):
            done = subprocess.run([QUIVER, "stats", *options, path], capture_output=True, text=True,
                                  check=False)
            check(f"hostile: {detail}", done.returncode == 0 and not done.stderr,
                  done.stdout + done.stderr)


def test_interval(directory):
    """A file while it runs; a kill leaves it whole."""
    path = os.path.join(directory, "interval")
    job = Staying(directory, FI_QUIVER_STATS=f"interval=1:detail:json:{path}")
    check("interval: a file while it runs", wait_for(lambda: read(path)))
    judge("interval", read(path), 2)
    first = os.stat(path).st_ino
    check("interval: another one", wait_for(lambda: os.stat(path).st_ino != first))
    times = read(path)["tagged"]["detail"]["posted_queue"]["depth_ns"]
    check("interval: the time goes on", times[2] > 1e9, times)
    os.kill(job.rank, signal.SIGKILL)
    job.process.communicate(timeout=60)
    judge("interval: killed", read(path), 2)


def handles(pid, number):
    """Has the process a handler of that signal?"""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        masks = dict(line.split(":", 1) for line in file)
    return int(masks["SigCgt"], 16) >> (number - 1) & 1


def test_signal(directory):
    """The file at a signal; the program's own handler is called, which the program checks."""
    path = os.path.join(directory, "signal")
    for name in ("USR2", "HUP"):
        number = getattr(signal, "SIG" + name)
        job = Staying(directory, FI_QUIVER_STATS=f"signal={name.lower()}:detail:json:{path}")
        if name == "HUP":
            check("signal: nothing yet", wait_for(lambda: handles(job.rank, number)) and
                  not os.path.exists(path))
            wait_for(lambda: top(job.rank)[1].get("posted_now") == 2)
            os.kill(job.rank, number)
        check(f"{name}: a file", wait_for(lambda: os.path.exists(path)))
        judge(name, read(path), 2)
        status, text = job.end()
        check(f"{name}: passes, silent", status == 0 and "quiver:" not in text, text)
        judge(f"{name}: the end", read(path), 0)
        os.unlink(path)
    check("no part is left", not [f for f in os.listdir(directory) if f.endswith(".part")])


def test_asleep(directory):
    """A program that sleeps answers each signal, however soon after the one before."""
    path = os.path.join(directory, "asleep")
    job = Staying(directory, FI_QUIVER_STATS=f"signal=HUP:json:{path}", QV_TEST_SLEEPS="1")
    wait_for(lambda: top(job.rank)[1].get("posted_now") == 2)
    for turn in range(3):
        before = os.stat(path).st_ino if turn else 0
        os.kill(job.rank, signal.SIGHUP)
        check(f"asleep: file {turn}", wait_for(lambda: os.path.exists(path) and
                                               os.stat(path).st_ino != before))
    os.kill(job.rank, signal.SIGKILL)
    job.process.communicate(timeout=60)


def small_files():
    """As a disk that is full after 50 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))


def test_full(directory):
    """No room: the program passes, and the file before is as it was."""
    path = os.path.join(directory, "full")
    with open(path, "w", encoding="utf-8") as file:
        file.write("before")
    for form, complaint in (("detail:json", f"the counters cannot be written to {path}: File too large"),
                            ("profile", f"the profile {path} cannot be written: File too large")):
        done = subprocess.run([PROGRAM, CASE], env=settings(FI_QUIVER_STATS=f"{form}:{path}"),
                              capture_output=True, text=True, preexec_fn=small_files, check=False)
        text = done.stdout + done.stderr
        with open(path, encoding="utf-8") as file:
            before = file.read()
        check(f"full: {form} passes, and says so once", done.returncode == 0 and text.count(complaint) == 1, text)
        check(f"full: {form} as before", before == "before" and not os.path.exists(path + ".part"), before)
    os.unlink(path)
    os.symlink("/dev/full", path)
    status, text = run(CASE, FI_QUIVER_STATS=f"json:{path}")
    check("full device", status == 0 and f"to {path}: No space left on device" in text and
          os.path.islink(path), text)


def top(pid, *options):
    """`quiver top` once: exit status, the tagged queue of the only endpoint, what it complained of."""
    done = subprocess.run([QUIVER, "top", "--once", "--interval", "0.05", "--json", *options, str(pid)],
                          capture_output=True, text=True, timeout=60, check=False)
    queue = {}
    if done.returncode == 0:
        endpoints = json.loads(done.stdout)["endpoints"]
        queue = endpoints[0].get("tagged", {}) if endpoints else {}
    return done.returncode, queue, done.stderr


def test_top(directory):
    """A process without any setting, by two structures; it goes on as before."""
    for structure in ("ll", "auto"):
        job = Staying(directory, FI_QUIVER_MATCH=structure)
        check(f"top {structure}: seen", wait_for(lambda: top(job.rank)[1].get("posted_now") == 2),
              top(job.rank))
        status, queue, complaint = top(job.rank)
        queue = {k: queue.get(k) for k in (*TAGGED, "messages_per_second")}
        want = {**TAGGED, "messages_per_second": 0}
        if structure == "auto":
            want["inspected"] = queue["inspected"]
        check(f"top {structure}: counters", status == 0 and queue == want and not complaint, queue)
        done = subprocess.run([QUIVER, "top", "--once", "--interval", "0.05", str(job.rank)],
                              capture_output=True, text=True, timeout=60, check=False)
        row = done.stdout.splitlines()[-1].split()
        check(f"top {structure}: a table", row[0] == "0" and row[1] in ("tcp", "net") and row[2:6] == [structure, "tagged", "2", "0"],
              done.stdout)
        with subprocess.Popen([QUIVER, "top", "--interval", "0.05", "--json", str(job.rank)],
                              stdout=subprocess.PIPE, text=True) as watching:
            lines = [watching.stdout.readline() for _ in range(3)]
            status, text = job.end()
            rest, _ = watching.communicate(timeout=60)
            check(f"top {structure}: until it ends", watching.returncode == 0 and
                  all(json.loads(l)["endpoints"] for l in lines), rest)
        check(f"top {structure}: it passes", status == 0, text)


def test_top_refusals(directory):
    """One line for each reason."""
    def refused(what, argv, status, *words):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        first = done.stderr.splitlines()[:1]
        check(f"top: {what}", done.returncode == status and not done.stdout and first and
              first[0].startswith("quiver top: ") and all(w in first[0] for w in words) and
              (status == 2 or done.stderr.count("\n") == 1), done.stderr)
    me = str(os.getpid())
    refused("no such process", [QUIVER, "top", "2147483647"], 1, "there is no process 2147483647")
    refused("no provider", [QUIVER, "top", me], 1, "has not loaded quiver")
    for argv in ([], ["x"], ["-5"], ["1.5"], [me, me], ["99999999999"]):
        done = subprocess.run([QUIVER, "top", *argv], capture_output=True, text=True, check=False)
        check(f"top: {argv}", done.returncode == 2 and done.stderr, done.stderr)
    for value in ("0", "-1", "x", "nan", "1e9", ""):
        refused(f"interval {value}", [QUIVER, "top", "--interval", value, me], 2, "--interval takes")
    job = Staying(directory)
    wait_for(lambda: top(job.rank)[1])
    if os.getuid():
        refused("another user's", [QUIVER, "top", "1"], 1, "the kernel does not let you read process 1")
    else: # which may read all, unless this is taken from it
        refused("the kernel's refusal", ["setpriv", "--bounding-set=-sys_ptrace",
                "--inh-caps=-sys_ptrace", QUIVER, "top", str(job.rank)], 1,
                "the kernel does not let you read process")
    status, text = job.end()
    check("top: it passes", status == 0, text)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for test in (test_detail, test_hostile, test_interval, test_signal, test_asleep, test_full, test_top,
                     test_top_refusals):
            test(directory)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
