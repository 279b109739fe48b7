#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_release.py SOURCE - `scripts/release --check` takes this tree, and refuses one where any file has
another version.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = sys.argv[1]
TYPES, LOG = "include/quiver/types.h", "CHANGELOG.md"
DEBIAN, SPEC = "debian/changelog", "packaging/quiver.spec"
# Which file, what in it becomes what, and what the refusal names.
WRONG = (
    (TYPES, r'(define QUIVER_VERSION +)".*"', r'\1"9.9.9"', "debian/changelog: the version at the top"),
    (TYPES, r"(VERSION_MINOR )\d+", r"\g<1>77", "types.h: MAJOR.MINOR.PATCH"),
    (LOG, r"(?m)^To be .*|^## \[\d.*", "## [9.9.9] - 2027-01-31", "CHANGELOG.md: the version at the top"),
    (LOG, r"(?m)^To be .*|^## \[\d.*", "", "CHANGELOG.md: the version at the top"),
    (DEBIAN, r"\(.*?\)", "(9.9.9)", "debian/changelog: the version at the top"),
    (SPEC, r"(?m)^(Version: +).*", r"\g<1>9.9.9", "quiver.spec: Version"),
    (SPEC, r" - [\d.]+-1$", " - 9.9.9-1", "quiver.spec: the version at the top of %changelog"),
)


def edit(path, pattern, new):
    with open(path, encoding="utf-8") as text:
        old = text.read()
    changed, count = re.subn(pattern, new, old, flags=re.M)
    with open(path, "w", encoding="utf-8") as text:
        text.write(changed)
    return count > 0


def check(change=None):
    """Status and output of the check in a copy of what it looks at, with one change."""
    with tempfile.TemporaryDirectory(prefix="quiver-release.") as top:
        for path in (TYPES, LOG, DEBIAN, SPEC, "scripts/release", "scripts/common.sh"):
            os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(SOURCE, path), os.path.join(top, path))
        if change and not edit(os.path.join(top, change[0]), *change[1:3]):
            return 0, f"nothing in {change[0]} is as {change[1]}"
        done = subprocess.run([os.path.join(top, "scripts/release"), "--check"], check=False,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    failures = 0
    status, said = check()
    if status:
        print(f"FAIL this tree is refused: {said}")
        failures += 1
    for change in WRONG:
        status, said = check(change)
        held = status == 1 and change[3] in said
        print(f"{'ok  ' if held else 'FAIL'} {change[0]} with {change[2] or 'nothing'}: {change[3]}")
        if not held:
            print(said)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
