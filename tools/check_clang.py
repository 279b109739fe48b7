#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_clang.py BUILD - clang reads every file of a build by gcc, with its commands, and warns of nothing.

No code is made, and a file that is compiled several times is read once: that takes a fifth of the time of a
build. Headers that the build makes are there."""
import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# What only gcc knows.
LEFT_OUT = ("-flto", "-ffat-lto-objects")


def command_of(entry):
    """What the build runs, by clang, as far as warnings. What gcc alone warns of may be named."""
    words = shlex.split(entry["command"])
    clang = "clang++" if words[0].endswith("++") else "clang"
    kept = [w for w in words[1:] if not w.startswith(LEFT_OUT)]
    out = kept.index("-o")
    del kept[out:out + 2]
    return [clang, *kept, "-Werror", "-Wno-unknown-warning-option", "-fsyntax-only"]


def check(entry):
    """What clang says of one file; nothing: all is well."""
    done = subprocess.run(command_of(entry), cwd=entry["directory"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_clang.py BUILD")
    if not shutil.which("clang"):
        print("no clang here")
        sys.exit(77)
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as f:
        entries = list({entry["file"]: entry for entry in json.load(f)}.values())
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = [text for text in pool.map(check, entries) if text]
    print("\n".join(wrong), end="")
    print(f"{len(entries)} files, {len(wrong)} of them with warnings or errors")
    sys.exit(1 if wrong or not entries else 0)


if __name__ == "__main__":
    main()
