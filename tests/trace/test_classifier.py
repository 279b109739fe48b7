#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_classifier.py - what `quiver stats` tells from counters, and the trees that scripts/train-advice fits:
nothing here depends on how fast the machine is.

usage: test_classifier.py <quiver> <top of the tree>
"""
import importlib.machinery
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SCRIPT = os.path.join(sys.argv[2], "scripts/train-advice")
SHIPPED = os.path.join(sys.argv[2], "tools/trace/advice/model.json")
loader = importlib.machinery.SourceFileLoader("train_advice", SCRIPT)
train = importlib.util.module_from_spec(importlib.util.spec_from_loader("train_advice", loader))
loader.exec_module(train)
wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def counters(arrived=100000, unexpected=0, inspected=100000, posted_max=1, unexpected_max=0, mode_changes=0):
    """A row, as the script has it."""
    return {"arrived": arrived, "unexpected": unexpected, "inspected": inspected, "posted_max": posted_max,
            "unexpected_max": unexpected_max, "mode_changes": mode_changes}


def profile(row, rank=0, structure="auto"):
    """The file of one process, as the provider writes it."""
    queues = dict(row, posted=row["arrived"], matched=row["arrived"], posted_now=0, unexpected_now=0)
    path = os.path.join(FOLDER, f"{rank}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"quiver": "0.1.0", "rank": rank, "pid": 1 + rank, "host": f"node{rank}", "program": "made",
                   "endpoints": [{"structure": structure, "tagged": queues, "untagged": {}}]}, file)
    return path


def stats(*arguments):
    done = subprocess.run([sys.argv[1], "stats", *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def told(*paths):
    status, text, complaint = stats("--json", *paths)
    check(f"{paths}: status", status == 0 and not complaint, complaint)
    return json.loads(text)


# A thousand receives or messages wait, in any order: auto has made an index of them.
DEEP = counters(arrived=10000, unexpected=5000, inspected=11000, posted_max=1000, unexpected_max=900, mode_changes=2)


def shipped():
    """The model of the program, on profiles that are known by heart."""
    is_ = told(profile(counters()))
    check("short queues do not matter", is_["list_ns"] < train.MATTERS_NS and
          "not what this job waits for" in is_["advice"], is_)
    check("short queues: the default", is_["structure"] == "auto", is_)
    is_ = told(profile(DEEP))
    check("deep queues: quiver helps", is_["list_ns"] >= train.MATTERS_NS and "quiver helps" in is_["advice"] and
          "Queues grew to 1000 (rank 0 on node0)" in is_["advice"], is_)
    is_ = told(profile(counters(unexpected=500, inspected=160000, posted_max=1000, unexpected_max=10, mode_changes=2)))
    check("deep queues of receives: never nothing", "help" in is_["advice"] and "Queues grew to 1000 " in
          is_["advice"], is_)
    is_ = told(profile(counters(arrived=0, inspected=0, posted_max=0)))
    check("nothing came", "not what this job waits for" in is_["advice"], is_)
    job = [profile(counters(), 0), profile(DEEP, 1), profile(counters(), 2)]
    is_ = told(*job)
    check("one rank of three is deep", "rank 1 on node1" in is_["advice"] and len(is_["processes"]) == 3, is_)
    _, text, _ = stats(*job)
    check("the last line tells it", text.splitlines()[-1] == is_["advice"], text)
    is_ = told(profile(DEEP, structure="ll"))
    check("counters of another structure", "run once with FI_QUIVER_MATCH=auto" in is_["advice"] and
          "structure" not in is_, is_)
    with open(SHIPPED, encoding="utf-8") as file:
        text = file.read()
    again = os.path.join(FOLDER, "again")
    with open(again, "w", encoding="utf-8") as file:
        file.write(text)
    for row in (counters(), DEEP):
        check("built in is the file", told(profile(row)) == told("--model", again, profile(row)))
    return text


def refused(what, text, words=""):
    """A model that is none: one line, and nothing else."""
    path = os.path.join(FOLDER, "model")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    status, out, complaint = stats("--model", path, profile(DEEP))
    check(f"model: {what}", status == 1 and not out and complaint.count("\n") == 1 and
          complaint.startswith(f"quiver stats: {path} is no model") and words in complaint, (status, out, complaint))


def hostile(text):
    """Models that are cut, incomplete, or ask for what there is not."""
    for end in range(0, len(text.rstrip()), 499):
        refused(f"cut at {end}", text[:end])
    leaf, time = {"structure": "auto"}, {"list_ns": 1}
    ask = {"feature": "posted_max", "below": 5, "then": time, "else": time}
    deep = time
    for _ in range(40):
        deep = dict(ask, then=deep)
    for what, tree, words in (
            ("no tree", None, "not complete"), ("a list", [], "not complete"), ("no time", {}, "no time"),
            ("a negative time", {"list_ns": -1}, "no time"), ("time as text", {"list_ns": "1"}, "no time"),
            ("huge", {"list_ns": 1e300}, "no time"), ("no bound", dict(ask, below="5"), "no bound"),
            ("no such counter", dict(ask, feature="speed"), "counter"), ("a number", dict(ask, feature=1), "counter"),
            ("half", {k: v for k, v in ask.items() if k != "else"}, "not complete"), ("deep", deep, "too deep")):
        refused(what, json.dumps({"structure": leaf, "list_ns": tree}), words)
    refused("no such structure", json.dumps({"structure": {"structure": "best"}, "list_ns": time}), "no structure")
    refused("a structure as number", json.dumps({"structure": {"structure": 1}, "list_ns": time}), "no structure")
    refused("bytes", bytes(range(1, 256)))
    refused("brackets", "[" * 100000)
    status, out, complaint = stats("--model", os.path.join(FOLDER, "none"), profile(DEEP))
    check("model: no file", status == 1 and not out and complaint.count("\n") == 1, complaint)


def same_walk():
    """The program and the script ask the same questions."""
    dice = random.Random(3)

    def tree(name, depth):
        if not depth:
            return {name: dice.choice(("auto", "ll", "nm")) if name == "structure" else dice.randrange(1000)}
        feature = dice.choice(sorted(train.FEATURES))
        below = dice.random() * (5 if feature in ("unexpected", "inspected") else 200)
        return {"feature": feature, "below": below, "then": tree(name, depth - 1), "else": tree(name, depth - 1)}

    path = os.path.join(FOLDER, "walked")
    for _ in range(30):
        model = {"structure": tree("structure", 5), "list_ns": tree("list_ns", 5)}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(model, file)
        row = counters(dice.choice((0, 1, 1000)), *[dice.randrange(n) for n in (1000, 5000, 200, 200, 200)])
        is_ = told("--model", path, profile(row))
        check("the same answer", (is_["structure"], is_["list_ns"]) ==
              (train.ask(model, "structure", row), train.ask(model, "list_ns", row)), (is_, row, model))


def fixed_tree():
    """Of made-up traces, always the same trees: deep queues are dear for a list, a few are best by llv."""
    path, out = os.path.join(FOLDER, "training.csv"), os.path.join(FOLDER, "fitted")
    with open(path, "w", encoding="utf-8") as file:
        print("index,pattern,arrived,unexpected,inspected,posted_max,unexpected_max,mode_changes,list_ns,first,again",
              file=file)
        for i in range(40):
            deep, wild = i % 2, i % 4 == 3
            cost = "auto=1 ll=9 llv=0.8" if wild else "auto=1 ll=9 llv=1.5" if deep else "auto=1 ll=1.02 llv=1.5"
            print(f"{i},made,1000,{900 if wild else 0},1000,{200 + i if deep else 3},0,{deep},"
                  f"{800 if deep else 5},{cost},", file=file)
    expected = {
        "structure": {"feature": "unexpected", "below": 0.45, "then": {"structure": "auto", "right": 30, "of": 30},
                      "else": {"structure": "llv", "right": 10, "of": 10}},
        "list_ns": {"feature": "posted_max", "below": 102.0, "then": {"list_ns": 5.0, "of": 20},
                    "else": {"list_ns": 800.0, "of": 20}}}
    for _ in range(2):
        done = subprocess.run([SCRIPT, "fit", path, "-o", out], capture_output=True, text=True, check=False)
        with open(out, encoding="utf-8") as file:
            model = json.load(file)
        check("the tree of a fixed set", done.returncode == 0 and
              {k: model[k] for k in expected} == expected, (done, model))
    check("the program reads it", "quiver helps" in told("--model", out, profile(DEEP))["advice"])
    for what, text in (("empty", ""), ("of others", "a,b\n1,2\n"), ("cut", "index,arrived,first\n1,5")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([SCRIPT, "fit", path, "-o", out], capture_output=True, text=True, check=False)
        check(f"training: {what}", done.returncode == 1 and done.stderr.count("\n") == 1 and path in done.stderr, done)


def measured():
    """One trace of each kind, as the script measures it: its counters are those of the trace."""
    done = subprocess.run([SCRIPT, "measure", sys.argv[1], FOLDER, "--training", "2", "--held-out", "1"],
                          capture_output=True, text=True, timeout=100, check=False)
    check("measure", done.returncode == 0, done.stderr)
    first = open(os.path.join(FOLDER, "training.csv"), encoding="utf-8").read()
    rows = train.read(os.path.join(FOLDER, "training.csv"))
    check("two traces", [r["pattern"] for r in rows] == ["fds", "amg"], rows)
    check("counted", all(r["arrived"] > 100 and r["posted_max"] > 1 and r["inspected"] > 0 for r in rows), rows)
    check("auto is there", all(r["first"]["auto"] == 1 and len(r["first"]) > 8 for r in rows), rows)
    row = train.read(os.path.join(FOLDER, "held-out.csv"))[0]
    check("advise is asked", row["advise"] in row["again"], row)
    subprocess.run([SCRIPT, "measure", sys.argv[1], FOLDER, "--training", "2", "--held-out", "1"], check=True)
    check("goes on where it ended", first == open(os.path.join(FOLDER, "training.csv"), encoding="utf-8").read())
    done = subprocess.run([SCRIPT, "judge", FOLDER, SHIPPED], capture_output=True, text=True, check=False)
    check("judged", done.returncode == 0 and "always auto" in done.stdout and "1 held-out traces" in done.stdout, done)


def main():
    """All of it."""
    text = shipped()
    hostile(text)
    same_walk()
    fixed_tree()
    os.unlink(os.path.join(FOLDER, "training.csv"))
    measured()
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as FOLDER:
        sys.exit(main())
