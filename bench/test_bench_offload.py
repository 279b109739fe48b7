#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_bench_offload.py QUIVER - a short `quiver bench offload`: every contender, all checked."""
import json
import os
import subprocess
import sys
import tempfile


def bench(*arguments):
    return subprocess.run([sys.argv[1], "bench", "offload", *arguments], capture_output=True,
                          text=True, timeout=100, check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "rows.json")
        done = bench("--quick", "--rounds", "2", "--filter",
                     "match/*/16,match/wild/256,post/*/256,combine/sum/float/4096,pack/4096/1048576", "--json", file)
        if "no device" in done.stderr:
            print("skipped:", done.stderr.strip())
            return 77
        if done.returncode:
            print(done.stdout, done.stderr)
            return 1
        with open(file, encoding="utf-8") as lines:
            rows = json.load(lines)["rows"]
        cases = {(row["case"], row["impl"]) for row in rows}
        wrong = [row for row in rows if row["answer"] != "checked" or row["p50"] <= 0]
        if len(cases) != 9 * 3 or wrong:
            print(len(cases), "rows, wrong:", wrong)
            return 1
        units = {row["unit"] for row in rows}
    help_text = bench("--help").stdout
    none = bench("--filter", "nothing")
    if units != {"Mmsg/s", "MB/s"} or "--device" not in help_text or none.returncode != 2:
        print(units, help_text, none)
        return 1
    print(f"{len(cases)} rows, all checked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
