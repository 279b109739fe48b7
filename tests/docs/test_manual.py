#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_manual.py - every page of the manual is as mandoc's lint and man --warnings want it, and each
function of the public headers has a page that shows its declaration.

usage: test_manual.py ROOT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})


def faults(page):
    """What either program says of a page."""
    for command in (("mandoc", "-T", "lint", page), ("man", "--warnings", "-E", "UTF-8", "-l", page)):
        done = output(*command)
        said = done.stderr + (done.stdout if command[0] == "mandoc" else "")
        yield from said.splitlines()


def functions(root):
    for name in sorted(os.listdir(os.path.join(root, "include/quiver"))):
        with open(os.path.join(root, "include/quiver", name), encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
        yield from re.findall(r"^QV_API [^;{]*?\b(qv_\w+)\(", text, re.MULTILINE)


def main():
    root = os.path.abspath(sys.argv[1])
    for tool in ("mandoc", "man", "groff"):
        if not shutil.which(tool):
            print(f"no {tool} here (Debian: apt install mandoc man-db groff)")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(root, "tools/man3.py"), root, folder], check=True)
        pages = [os.path.join(root, "docs/man", n) for n in sorted(os.listdir(os.path.join(root, "docs/man")))]
        pages += [os.path.join(folder, n) for n in sorted(os.listdir(folder))]
        bad = [line for page in pages if not os.path.islink(page) for line in faults(page)]
        names, shown = list(functions(root)), {}
        for name in names:
            page = os.path.realpath(os.path.join(folder, f"{name}.3"))
            if page not in shown:
                shown[page] = output("man", "-P", "cat", "-l", page).stdout
            if f"{name}(" not in shown[page]:
                bad.append(f"{name}: no page declares it")
    for line in bad:
        print(line)
    print(f"manual: {len(pages)} pages, {len(names)} functions, {len(bad)} wrong")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
