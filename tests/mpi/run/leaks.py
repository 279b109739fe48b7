#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
leaks.py FILE... - judge the sanitizer logs of MPI ranks; fails when one concerns us.

Open MPI and what it loads leak at exit, and LeakSanitizer's suppressions match any frame of a
stack: one that hides Open MPI's leaks hides ours too, which it calls. So all leaks are logged, and
those count here whose stack has a frame of ours. Every other kind of report counts as it is.
"""
import os
import re
import sys

# A frame of a library of ours, whose functions have names, or memory that a case asked for itself. One
# without a name is of a library that has been unloaded, and stood elsewhere.
OURS = re.compile(r" in \S+ .*libquiver|/(fabric_glue|engine|kernels)/| in qv_| #1 0x\w+ in suite_")


def reports(text):
    for block in re.split(r"\n\s*\n", text):
        if re.search(r"^(Direct|Indirect) leak of", block, re.M):
            if OURS.search(block):
                yield block
        elif "ERROR: AddressSanitizer" in block or "runtime error:" in block:
            yield block


def main():
    bad = 0
    for name in sys.argv[1:]:
        if not os.path.exists(name):
            continue
        with open(name, errors="replace") as log:
            for block in reports(log.read()):
                print(f"{os.path.basename(name)}:\n{block}\n")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
