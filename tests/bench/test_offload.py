#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_offload.py QUIVER [LIBRARY BITSTREAM] - a short `quiver bench offload`: every implementation,
all checked. With LIBRARY, a software double of XRT: --kind xrt, and the table says what it is.
"""
import json
import os
import subprocess
import sys
import tempfile


def bench(*arguments):
    return subprocess.run([sys.argv[1], "bench", "offload", *arguments], capture_output=True,
                          text=True, timeout=100, check=False)


CASES = "match/*/16,match/wild/256,post/*/256,combine/sum/float/4096"


def on_double():
    """By options, and by the environment; what a double does not do is said."""
    library, bitstream = sys.argv[2:4]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "rows.json")
        done = bench("--kind", "xrt", "--library", library, "--bitstream", bitstream, "--rounds", "2",
                     "--filter", CASES + ",match/same/65536,pack/64/65536", "--json", file)
        rows = []
        if done.returncode == 0:
            with open(file, encoding="utf-8") as lines:
                rows = json.load(lines)["rows"]
    answers = {(row["case"], row["impl"]): row["answer"] for row in rows}
    refused = {(case, impl) for (case, impl), answer in answers.items() if answer != "checked"}
    os.environ.update(FI_QUIVER_XRT_LIB=library, FI_QUIVER_XCLBIN=bitstream)
    again = bench("--kind", "xrt", "--rounds", "1", "--filter", "match/unique/16")
    del os.environ["FI_QUIVER_XCLBIN"]
    none = bench("--kind", "xrt", "--filter", "match/unique/16")
    unknown = bench("--impl", "cpu,nosuch", "--filter", "match/unique/16")
    if (len(answers) != 10 * 2
            or refused != {("match/same/65536", "xrt"), ("pack/64/65536", "xrt")}
            or answers["pack/64/65536", "xrt"] != "not done there"
            or "a software double of XRT, no card" not in done.stdout
            or again.returncode or "names no bitstream" not in none.stderr
            or unknown.stderr != "quiver: implementation 'nosuch' cannot run here\n"):
        print(done.stdout, done.stderr, refused, again, none, unknown)
        return 1
    print(f"{len(answers)} rows, all as expected")
    return 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "rows.json")
        done = bench("--quick", "--rounds", "2", "--filter",
                     CASES + ",pack/4096/1048576", "--json", file)
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
    sys.exit(on_double() if len(sys.argv) > 2 else main())
