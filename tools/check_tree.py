#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_tree.py - folders have few sources, sources are short, each begins with its licence, and
comments end where their text does."""
import collections
import os
import re
import sys

LIMIT = 600     # lines; more is refused
LONG = 300      # lines; more is listed
ROOM = 30       # sources in a folder; more is refused
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


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    bad, count, lengths, rooms = [], 0, [], collections.Counter()
    for path in files(root):
        name = os.path.basename(path)
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
    for length, path in sorted(lengths, reverse=True):
        if length > LONG:
            print(f"long: {path}: {length} lines")
    for line in bad:
        print(line)
    print(f"tree: {count} sources, {len(bad)} wrong")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
