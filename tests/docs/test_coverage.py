#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_coverage.py - each test that docs/coverage.md names is one of this build.

usage: test_coverage.py ROOT BUILD"""
import fnmatch
import glob
import os
import re
import sys

NAME = re.compile(r"`([a-z_]+(?:\.[\w*.-]+)+)`")
ADDED = re.compile(r"^add_test\((?:\[=*\[|\")?([\w.+-]+)", re.MULTILINE)


def tests(build):
    found = set()
    for path in glob.glob(os.path.join(build, "**", "CTestTestfile.cmake"), recursive=True):
        with open(path, encoding="utf-8") as f:
            found.update(ADDED.findall(f.read()))
    return found


def named(page):
    """(line, pattern) of each test in the last column of a table."""
    with open(page, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("|"):
                for name in NAME.findall(line.rstrip().rstrip("|").rsplit("|", 1)[-1]):
                    yield number, name


def main():
    root, build = sys.argv[1:]
    known, count, missing = tests(build), 0, []
    for number, name in named(os.path.join(root, "docs/coverage.md")):
        count += 1
        if not fnmatch.filter(known, name):
            missing.append(f"docs/coverage.md:{number}: no test {name}")
    print("\n".join(missing))
    print(f"coverage: {count} names, {len(missing)} that no test of {len(known)} has")
    return bool(missing) or not count


sys.exit(main())
