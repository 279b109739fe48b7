#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_elsewhere.py SOURCE - scripts/test and scripts/demo where there is no dpkg: they install nothing, name
what is missing, and go on if nothing is."""
import os
import subprocess
import sys
import tempfile

FAKE_CMAKE = """#!/bin/sh
echo "cmake was run"
exit 3
"""


def check(holds, *what):
    if not holds:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def fill(folder, without):
    """A PATH with all programs but those."""
    for name in os.listdir("/usr/bin"):
        if name not in without and not name.startswith(("dpkg", "apt")):
            os.symlink(os.path.join("/usr/bin", name), os.path.join(folder, name))


def run(script, path):
    return subprocess.run([os.path.join(sys.argv[1], "scripts", script)], env={"PATH": path}, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)


def main():
    with tempfile.TemporaryDirectory(prefix="quiver-elsewhere.") as folder:
        fill(folder, ("cmake", "objdump"))
        for script in ("test", "demo"):
            done = run(script, folder)
            check(done.returncode == 1 and "missing: cmake (rpm cmake) objdump (rpm binutils)" in done.stdout, done)
        os.symlink("/usr/bin/objdump", os.path.join(folder, "objdump"))
        cmake = os.path.join(folder, "cmake")
        with open(cmake, "w", encoding="utf-8") as f:
            f.write(FAKE_CMAKE)
        os.chmod(cmake, 0o755)
        for script in ("test", "demo"):
            done = run(script, folder)
            check(done.returncode == 1 and "nothing is installed" in done.stdout and "cmake was run" in done.stdout, done)


main()
