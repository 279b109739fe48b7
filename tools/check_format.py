#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_format.py - the whole tree is as clang-format 14 writes it; --fix rewrites it."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

SKIPPED = {".git", "build", ".cache"}


def find_tool():
    """clang-format 14: another release formats some lines differently."""
    for name in ("clang-format-14", "clang-format"):
        tool = shutil.which(name)
        if tool:
            said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
            if re.search(r"version 14\.", said.stdout):
                return tool
    return None


def main():
    args = [a for a in sys.argv[1:] if a != "--fix"]
    fix = "--fix" in sys.argv[1:]
    root = args[0] if args else os.path.join(os.path.dirname(__file__), "..")
    tool = find_tool()
    if not tool:
        print("no clang-format 14 here: format not checked")
        return 77
    paths = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(d for d in subfolders if d not in SKIPPED)
        paths += [os.path.join(folder, n) for n in sorted(names) if n.endswith((".c", ".h", ".cpp"))]
    mode = ["-i"] if fix else ["--dry-run", "--Werror"]
    parts = [paths[i:i + 40] for i in range(0, len(paths), 40)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda part: subprocess.run(
            [tool, "--style=file"] + mode + part, capture_output=True, text=True, check=False), parts))
    output = "".join(done.stderr for done in said)
    print(output, end="")
    bad = len(set(re.findall(r"^(\S+?):\d+:\d+: error", output, re.MULTILINE)))
    if any(done.returncode for done in said) and not bad:
        return 1
    print(f"format: {len(paths)} files, {bad} to be formatted (tools/check_format.py --fix)")
    return 1 if bad or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
