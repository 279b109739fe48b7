#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_checks.py - the checks of the tree refuse what they are there to refuse."""
import os
import subprocess
import sys
import tempfile

HEAD = "/* SPDX-License-Identifier: BSD-2-Clause */\n"


def verdict(check, files):
    """Exit status and output of a check over a small tree of the given files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        tool = os.path.join(sys.argv[1], "tools", check)
        done = subprocess.run([sys.executable, tool, root], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout


GOOD = {"engine/match/a.c": HEAD + '#include "b.h"\n#include <stdint.h>\n',
        "kernels/b.h": HEAD + "#include <stddef.h>\n"}
CASES = [
    ("check_layers.py", GOOD, 0, "0 wrong"),
    ("check_layers.py", {"kernels/a.c": '#include "b.h"\n', "engine/match/b.h": ""}, 1,
     "kernels may not include engine/match"),
    ("check_layers.py", {"engine/proto/a.c": "#include <rdma/fabric.h>\n"}, 1, "<rdma/fabric.h>"),
    ("check_layers.py", {"engine/proto/a.c": "#include <mpi.h>\n"}, 1, "<mpi.h>"),
    ("check_layers.py", {"engine/base/a.c": "#include <pthread.h>\n"}, 1, "<pthread.h>"),
    ("check_layers.py", {"engine/base/a.c": "#  include <CL/cl.h>\n"}, 1, "<CL/cl.h>"),
    ("check_layers.py", {"fabric_glue/a.c": '#include "b.h"\n', "mpi_glue/b.h": ""}, 1,
     "may not include mpi_glue"),
    ("check_layers.py", {"include/quiver/a.h": '#include "b.h"\n', "kernels/b.h": ""}, 1,
     "include may not include kernels"),
    ("check_tree.py", GOOD, 0, "0 wrong"),
    ("check_tree.py", {"engine/a.c": HEAD, "tests/a.c": HEAD}, 1, "same name as engine/a.c"),
    ("check_tree.py", {"engine/a.c": "int a;\n"}, 1, "no licence line"),
    ("check_tree.py", {"engine/a.c": HEAD + "int a;\n" * 600}, 1, "the limit is 600"),
]


def main():
    bad = 0
    for check, files, status, text in CASES:
        got, said = verdict(check, files)
        if got != status or text not in said:
            bad += 1
            print(f"{check} on {sorted(files)}: status {got}, wanted {status} and '{text}':\n{said}")
    print(f"{len(CASES)} cases, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
