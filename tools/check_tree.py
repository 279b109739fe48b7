#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_tree.py - folders have few sources, sources are short, each begins with its licence, and
comments end where their text does. Every room has a page or a place on its parent's, links lead
to files, and pictures are those of their sources."""
import collections
import hashlib
import os
import re
import sys

LIMIT = 600     # lines; more is refused
LONG = 300      # lines; more is listed
ROOM = 30       # sources in a folder; more is refused
NAMED = 3       # sources in a folder from which on a README.md must name it
PAGE = 80       # lines of a README.md, but for the top one
SEEDS = "fuzz_seeds"
SKIPPED = {".git", "build", ".cache"}
BLOCK_COMMENTS = (".c", ".h", ".cpp", ".hpp", ".cl")
SOURCES = (".c", ".h", ".cpp", ".hpp", ".cl", ".py", ".sh", ".cmake", ".sv", ".v")
LICENCE = "SPDX-License-Identifier: BSD-2-Clause"


def files(root):
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(d for d in subfolders if d not in SKIPPED)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def is_script(root, path):
    with open(os.path.join(root, path), "rb") as f:
        return f.read(2) == b"#!"


def comment_faults(lines):
    """Rulers made of dashes, and ends of comments on lines of their own behind text that began on
    the first one."""
    begins_with_text = False
    for number, line in enumerate(lines, 1):
        if re.search(r"/\* ?-{3}", line):
            yield number, "a ruler in a comment"
        if line.strip() == "*/" and begins_with_text:
            yield number, "a comment that ends behind its text"
        if "/*" in line:
            begins_with_text = line.split("/*")[-1].strip("* \t") != ""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def has_page(root, room):
    """A README.md of its own, or its path in that of the nearest folder above that has one."""
    above = room
    while not os.path.exists(os.path.join(root, above, "README.md")):
        if not above:
            return False
        above = os.path.dirname(above)
    name = re.escape(os.path.relpath(room or ".", above or "."))
    return above == room or re.search(rf"(\| \[?|\[|`){name}[]`/ ]",
                                      read(root, os.path.join(above, "README.md"))) is not None


def broken_links(root, path):
    """Relative links of a Markdown file to what is not there; not those in code."""
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), read(root, path),
                  flags=re.DOTALL | re.MULTILINE)
    for number, line in enumerate(text.split("\n"), 1):
        for target in re.findall(r"\]\(<?([^()\s>]+)", re.sub(r"`[^`]*`", "", line)):
            target = target.split("#")[0]
            there = os.path.join(root, os.path.dirname(path), target)
            if target and not re.match(r"\w+:", target) and not os.path.exists(there):
                yield number, target


def is_current(root, path):
    """Whether the SVG beside a graphviz source is of that source; scripts/pictures renders it."""
    svg = path[:-len("dot")] + "svg"
    digest = hashlib.sha256(read(root, path).encode()).hexdigest()
    return os.path.exists(os.path.join(root, svg)) and digest in read(root, svg)


def page_faults(root, path):
    """What is wrong with a Markdown file or with the source of a picture."""
    if path.endswith(".md"):
        for number, target in broken_links(root, path):
            yield f"{path}:{number}: a link to {target}, which is not there"
    if path.endswith("/README.md"):
        length = len(read(root, path).splitlines())
        if length > PAGE:
            yield f"{path}: {length} lines, the limit of a page is {PAGE}"
    if os.path.dirname(path) == "docs/pictures" and path.endswith(".dot"):
        if not is_current(root, path):
            yield f"{path}: its .svg is missing or out of date (scripts/pictures)"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    bad, count, lengths, rooms = [], 0, [], collections.Counter()
    for path in files(root):
        name = os.path.basename(path)
        bad += page_faults(root, path)
        if not (name.endswith(SOURCES) or is_script(root, path)):
            continue
        count += 1
        rooms[os.path.dirname(path)] += 1
        with open(os.path.join(root, path), encoding="utf-8") as f:
            lines = f.read().splitlines()
        lengths.append((len(lines), path))
        if not any(LICENCE in line for line in lines[:2]):
            bad.append(f"{path}: no licence line at the top")
        if name.endswith(BLOCK_COMMENTS):
            bad += [f"{path}:{n}: {what}" for n, what in comment_faults(lines)]
        if len(lines) > LIMIT and "generated" not in "".join(lines[:3]):
            bad.append(f"{path}: {len(lines)} lines, the limit is {LIMIT}")
    bad += [f"{room}: {n} sources, the limit is {ROOM}" for room, n in rooms.items() if n > ROOM]
    bad += [f"{room}: no README.md, nor its name in one above" for room, n in rooms.items()
            if n >= NAMED and SEEDS not in room and not has_page(root, room)]
    for length, path in sorted(lengths, reverse=True):
        if length > LONG:
            print(f"long: {path}: {length} lines")
    for line in bad:
        print(line)
    print(f"tree: {count} sources, {len(bad)} wrong")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
