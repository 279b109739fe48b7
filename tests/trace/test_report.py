#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_report.py - `quiver trace report`: the figures of its page equal a count in Python, the page needs
nothing beside it, what a trace calls itself cannot change it, and damaged traces are named.

usage: test_report.py <program quiver>"""
import collections
import html.parser
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

import plain
from plain import ARRIVE, CANCEL, PEEK, POST, QUEUE, TAKE, Event, Lane, Process, Trace

VOID = {"meta", "br", "hr", "img", "input", "link"}
EVIL = b"<script src=http://evil.example/>\"'&\xff\xe2\x80\xae\x1b[31m"

wrong = []


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


class Page(html.parser.HTMLParser):
    """Elements that are closed in order, their attributes, rows of tables, and titles in pictures."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.names, self.attributes = [], [], set(), []
        self.rows, self.tables, self.titles, self.tiles, self.paths = [], [], [], [], []
        self.text = collections.defaultdict(str)
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += [(tag, *a) for a in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "title":
            self.titles.append("")
        elif tag == "b":
            self.tiles.append("")
        elif tag == "path":
            self.paths.append(dict(attrs))

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += [(tag, *a) for a in attrs]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        inside = set(self.open)
        for name in inside:
            self.text[name] += data
        if inside & {"td", "th"}:
            self.tables[-1][-1][-1] += data
        elif "title" in inside:
            self.titles[-1] += data
        elif "b" in inside:
            self.tiles[-1] += data

    def calls(self):
        return {row[0]: number(row[1]) for row in self.tables[0]}


def number(text):
    return int(text.replace(",", ""))


def run(*argv, **options):
    done = subprocess.run([sys.argv[1], "trace", *argv], capture_output=True, timeout=500, check=False, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report(what, files, status=0, seconds=0):
    """The page of these files, which is sound whatever is in them."""
    got, text, err = run("report", "--seconds", str(seconds), *files)
    check(f"{what}: exit status {status}", got == status, f"{got} {err}")
    check(f"{what}: {status} line on stderr", err.count("\n") == status, err)
    page = Page(text)
    check(f"{what}: well-formed", not page.faults and text.startswith("<!DOCTYPE html>"), page.faults)
    check(f"{what}: no script, nothing from elsewhere",
          not page.names & {"script", "link", "img", "iframe", "object", "base", "a", "use", "image"} and
          not any(a[1] in ("src", "href") or a[1].startswith("on") for a in page.attributes) and
          not re.search(r"url\(|@import", text), page.names)
    return page, err


def near(text, value):
    """What is shown is the value, rounded."""
    shown = float(text.replace(",", ""))
    return abs(shown - value) <= 0.051 + 0.005 * (value < 1) if value < 99.95 else abs(shown - value) <= 0.5


def near_share(text, part, of):
    percent = 100 * part / of if of else 0
    if text == "under 0.1 %":
        return 0 < percent < 0.1
    return abs(float(text.split()[0]) - percent) <= (0.051 if percent < 9.95 else 0.51)


def shown_bins(page, words):
    """Two pictures of bars: searches by bin."""
    sides, last = [], None
    for title in page.titles:
        found = re.fullmatch(rf"([\d,]+)(?:–[\d,]+)? {words}: ([\d,]+) searches \(.*\)", title)
        if found:
            low = number(found[1])
            if low == 0:
                sides.append(collections.Counter())
            sides[-1][low.bit_length()] += number(found[2])
    return [+side for side in sides]


def check_depth(what, page, f, side):
    """The line of a picture of depth, column by column."""
    path = [p["d"] for p in page.paths if "area" in p.get("class", "")][side]
    base = float(re.match(r"M[\d.]+ ([\d.]+)", path)[1])
    shown = [base - float(y) for y in re.findall(r"V([\d.]+)H", path)]
    want = f.columns(side)
    check(f"{what}: {len(want)} columns of depth", len(shown) == len(want), len(shown))
    if any(want) and len(shown) == len(want):
        scale = max(shown) / max(want)
        bad = [(c, a, b * scale) for c, (a, b) in enumerate(zip(shown, want)) if abs(a - b * scale) > 0.2]
        check(f"{what}: depth over time, side {side}", not bad and max(shown) > 10, bad[:5])


def compare(what, path, trace, times=True):
    """All that a page says with what is counted here."""
    f = plain.Figures(trace)
    page, _ = report(what, [path])
    c = f.calls
    calls = [c[POST], c[POST, "matched"], c[ARRIVE], c[ARRIVE, "matched"], c[QUEUE], c["refused"], c[PEEK],
             c[PEEK, "matched"], c[TAKE], c[CANCEL]]
    check(f"{what}: calls", list(page.calls().values()) == calls, f"{page.calls()} {calls}")
    check(f"{what}: events", f"· {f.events():,} events" in page.text["header"], page.text["header"])
    wild = sum(n for k, n in f.wild.items() if k[0] == POST and (k[1] or k[2]))
    tiles = page.tiles
    check(f"{what}: deepest queues", [number(t) for t in tiles[:2]] == f.most, f"{tiles} {f.most}")
    check(f"{what}: entries for a message", near(tiles[2], f.steps / max(c[ARRIVE], 1)),
          f"{tiles[2]} {f.steps} {c[ARRIVE]}")
    check(f"{what}: early messages", near_share(tiles[3], c[QUEUE], c[ARRIVE]), tiles[3])
    check(f"{what}: wildcards", near_share(tiles[4], wild, c[POST]), f"{tiles[4]} {wild} {c[POST]}")
    check(f"{what}: searches by entries compared",
          shown_bins(page, "entries compared") == f.by_steps, f.by_steps)
    check(f"{what}: searches by depth", shown_bins(page, "entries wait") == f.by_depth, f.by_depth)
    cells = {(int(m[2]), int(m[3], 0)): number(m[1]) for m in
             (re.fullmatch(r"([\d,]+) messages, source (\d+), tag (\w+)", t) for t in page.titles) if m}
    check(f"{what}: named cells are right", all(f.cells[k] == n for k, n in cells.items()), cells)
    rest = sum(number(m[1]) for m in (re.match(r"([\d,]+) messages, source ", t) for t in page.titles) if m)
    check(f"{what}: cells have all messages", rest == c[ARRIVE], f"{rest} {c[ARRIVE]}")
    check(f"{what}: unknown entries", bool(f.unseen) == ("begun to wait before" in page.text["p"]) and
          (not f.unseen or f"{f.unseen:,} times" in page.text["p"]), f"{f.unseen} {page.text['p']}")
    if times and f.events():
        for side in (0, 1):
            check_depth(what, page, f, side)
    return page


def test_patterns(folder):
    verdicts = {"fds": "on rank 0", "minife": "Queues are short", "nbody": "Queues are short",
                "cholesky": "on every rank"}
    for pattern, options in (("fds", ("--ranks", "50")), ("minife", ()), ("radix", ("--ranks", "40")),
                             ("nbody", ("--ranks", "16")), ("cholesky", ()), ("quicksilver", ())):
        path = os.path.join(folder, pattern)
        run("generate", pattern, "-o", path, "--iterations", "1", *options)
        trace = plain.read(path)
        page = compare(pattern, path, trace)
        check(f"{pattern}: the verdict", verdicts.get(pattern, "") in page.text["h1"], page.text["h1"])
        check(f"{pattern}: the program", pattern in page.text["header"], page.text["header"])
        shown = [row for row in page.tables[1][1:] if row[0]]
        check(f"{pattern}: processes", len(shown) == min(32, len(trace.processes)) and
              all(row[1].startswith("node") and row[2] == pattern for row in shown), shown)


def random_lane(rng, events, ordered):
    """Calls that need not make sense: matches of what never waited, nodes that are used twice."""
    made, now = [], rng.choice([0, 10**18])
    for _ in range(events):
        now = now + rng.choice([0, 1, 500, 10**6, 5 * 10**9]) if ordered else now
        kind = rng.choice([POST, POST, ARRIVE, ARRIVE, QUEUE, QUEUE, PEEK, TAKE, CANCEL])
        made.append(Event(kind, now, rng.choice([0, 7, 2**40 + 7, 2**64 - 1]),
                          rng.choice([0, 1, 2**62, 2**64 - 1]) if kind in (POST, PEEK) else 0,
                          rng.choice([0, 1, 2, 3, 4, 5, 2**48 - 1]), rng.choice([0, 1, plain.ANY_SOURCE]),
                          kind in (POST, ARRIVE, PEEK) and rng.random() < 0.6,
                          kind == POST and rng.random() < 0.2))
    return made


def test_random(folder):
    path = os.path.join(folder, "random")
    for seed in range(40):
        rng = random.Random(seed)
        lanes = [Lane(rng.randrange(2), 0, rng.randrange(3), b"auto", 3 << 62,
                      random_lane(rng, rng.choice([0, 1, 30, 300]), True)) for _ in range(3)]
        trace = Trace([Process(-1, 17, b"a", b"p"), Process(5, 18, b"b", b"p")], lanes, 0, True)
        if not any(lane.events for lane in lanes):
            continue
        plain.write(path, trace)
        compare(f"random {seed}", path, trace)


def test_many(folder):
    """More sources, tags, processes and entries than the page has places for, and a queue that is
    drained from its old end, its young end and its middle."""
    path, events, ns = os.path.join(folder, "many"), [], 0
    order = list(range(1, 3001))
    for drain in (list, reversed, lambda x: random.Random(1).sample(x, len(x))):
        for node in order:
            ns += 10
            events.append(Event(POST, ns, node % 50, 0, node, node % 70, False, False))
        for node in drain(order):
            ns += 10
            events.append(Event(ARRIVE, ns, node % 50, 0, node, node % 70, True, False))
    lanes = [Lane(i, 0, 1, b"auto", 0, events if i == 0 else []) for i in range(300)]
    trace = Trace([Process(i, i, b"h", b"p") for i in range(300)], lanes, 0, True)
    plain.write(path, trace)
    page = compare("many", path, trace)
    check("many: the rest has a row", any("268 more" in cell for row in page.tables[1] for cell in row),
          page.tables[1][-1])


def test_hostile_names(folder):
    path = os.path.join(folder, "<i>name")
    post = Event(POST, 5, 1, 0, 1, 0, False, False)
    plain.write(path, Trace([Process(0, 1, EVIL[:63], EVIL[:63])],
                            [Lane(0, 0, 1, EVIL[:63], 0, [post])], 0, False))
    page, _ = report("hostile names", [path])
    shown = EVIL[:63].decode(errors="replace").replace("\u202e", 3 * "\ufffd").replace("\x1b", "\ufffd")
    for cell in (page.tables[1][1][1], page.tables[1][1][2], page.tables[2][1][4]):
        check("a name is shown as it is", cell == shown, f"{cell!r} {shown!r}")
    check("the file's name is shown as it is", page.tables[3][1][0] == path, page.tables[3])
    check("the title", shown in page.titles[0], page.titles[0])
    check("a trace without an end", "has not ended it" in page.text["p"] and page.tables[3][1][3] == "no")


def shown_costs(path, seconds):
    """Name, width and nanoseconds of each bar, and what stderr got."""
    _, text, err = run("report", "--seconds", str(seconds), path)
    part = text[text.index("What each structure would cost"):]
    return [(re.split("[ :]", name)[0], float(width), float(ns.replace(',', ''))) for name, width, ns in
            re.findall(r"<span>([^<]+)</span><div class=.bar [ab].><i style=.width:([\d.]+)%.></i><span>([\d.,]+) ns<",
                       part[:part.index("</div>\n<h2>")])], err


def test_cost(folder):
    """The bars are of all structures, the cheapest first, in nanoseconds for a message."""
    path = os.path.join(folder, "deep")
    run("generate", "fds", "-o", path, "--ranks", "300")
    bars, err = shown_costs(path, 1)
    if len(bars) <= 3:  # too slow a machine for the others in a second
        bars, err = shown_costs(path, 60)
    names, costs = [b[0] for b in bars], [b[2] for b in bars]
    check("cost: the three that matter, and more", {"auto", "ll", "ompi"} < set(names) and not err, f"{names} {err}")
    check("cost: the cheapest first", costs == sorted(costs), bars)
    check("cost: as long as they are dear", all(abs(b[1] - 80 * b[2] / costs[-1]) < 2 for b in bars), bars)
    with open(path, "rb") as f:
        data = f.read()
    with open(path, "wb") as f:
        f.write(data[:-1000] + bytes([data[-1000] ^ 1]) + data[-999:])
    page, _ = report("cost: damaged", [path], status=1, seconds=1)
    check("cost: why not", "Not measured: the trace is damaged." in page.text["p"], page.text["p"])
    check("cost: not asked", "Not measured" not in report("not asked", [path], status=1)[0].text["p"])


def test_faults(folder):
    whole = os.path.join(folder, "whole")
    run("generate", "minife", "-o", whole)
    with open(whole, "rb") as f:
        data = f.read()
    path, page_path = os.path.join(folder, "damaged"), os.path.join(folder, "page.html")
    for what, changed in (("a byte is wrong", data[:len(data) // 2] + b"\x55" + data[len(data) // 2 + 1:]),
                          ("more at the end", data + b"more")):
        with open(path, "wb") as f:
            f.write(changed)
        page, err = report(what, [path], status=1)
        check(f"{what}: the page says so", "from some place on it cannot be read" in page.text["p"])
        check(f"{what}: so does stderr", path in err and "what comes before" in err, err)
        check(f"{what}: figures of what is there", page.calls()["messages"] > 0)
    with open(path, "wb") as f:
        f.write(data[:-100])
    page, _ = report("cut", [path])
    check("cut: the page says so", "its writer has not ended it" in page.text["p"])
    page, _ = report("two files", [whole, whole])
    check("two files are counted both", page.calls()["messages"] == 2 * report("one", [whole])[0].calls()["messages"])
    plain.write(path, Trace([], [], 0, True))
    page, _ = report("empty", [path])
    check("an empty trace", "the trace has no events" in page.text["h1"], page.text["h1"])
    plain.write(path, Trace([Process(0, 1, b"h", b"p")],
                            [Lane(0, 0, 1, b"ll", 0, [Event(TAKE, 5, 0, 0, 9, 0, False, False)])], 1234, True))
    page, _ = report("lost", [path])
    check("lost events", "1,234 events were not written" in page.text["p"], page.text["p"])
    for what, argv, words, status in (
            ("no trace", [sys.argv[0]], "is no trace", 1),
            ("no file", [os.path.join(folder, "none")], "No such file", 1),
            ("a directory", [folder], "", 1),
            ("no argument", [], "needs a FILE", 2),
            ("unknown option", ["--frob", whole], "--frob", 2),
            ("seconds", ["--seconds", "1x", whole], "not '1x'", 2),
            ("no such place", [whole, "--seconds", "0", "-o", os.path.join(folder, "no/such")], "cannot create", 1),
            ("a full disk", [whole, "--seconds", "0", "-o", "/dev/full"], "cannot write", 1),
            ("the page over the trace", [whole, "-o", whole], "is a trace that is to be read", 2)):
        got, out, err = run("report", *argv)
        check(f"{what}: status {status}, one line", (got, out, err.count("\n")) == (status, "", 1), f"{got} {err}")
        check(f"{what}: '{words}'", words in err, err)
    with open(whole, "rb") as f:
        check("the trace is as it was", f.read() == data)
    got, out, err = run("report", whole, "-o", page_path, "--seconds", "0")
    with open(page_path, encoding="utf-8") as f:
        check("-o writes what stdout gets", (got, out, err) == (0, "", "") and
              f.read() == run("report", "--seconds", "0", whole)[1])
    got, out, err = run("report", whole, whole, "-o", page_path, "--seconds", "0",
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, 1 << 12)))
    with open(page_path, encoding="utf-8") as f:
        check("a full disk: the page that was there stays", got == 1 and "cannot write" in err and
              f.read() == run("report", "--seconds", "0", whole)[1] and
              not any(name.endswith(".part") for name in os.listdir(folder)), f"{got} {err}")
    link = os.path.join(folder, "link")
    os.symlink(path, link)
    got, out, err = run("report", whole, "-o", link, "--seconds", "0")
    with open(path, encoding="utf-8") as f:
        check("a link is written through", (got, out, err) == (0, "", "") and os.path.islink(link) and
              f.read().startswith("<!DOCTYPE"), err)
    got, out, err = run("merge", whole, "-o", link)
    check("a trace does not take the place of a link", got == 1 and "no plain file" in err and os.path.islink(link), err)
    got, out, err = run("report", "--help")
    check("--help", got == 0 and out.startswith("usage: quiver trace report") and not err, out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_patterns, test_random, test_many, test_hostile_names, test_cost, test_faults):
            test(folder)
            print(test.__name__)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
