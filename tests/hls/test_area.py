#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_area.py YOSYS FOLDER DEPTH LUTS [PARAMETER=VALUE...] - the match unit synthesised for
UltraScale+: at most LUTS look-up tables per entry, and every bit of the entries in a flip-flop.
"""
import re
import subprocess
import sys


def synthesize(yosys, folder, depth, parameters):
    """Cells by name."""
    sets = "".join(f" -set {name} {value}" for name, value in parameters)
    script = (f"read_verilog -sv {folder}/qv_cam.sv {folder}/qv_cam_first.sv; "
              f"chparam -set DEPTH {depth}{sets} qv_cam; "
              "synth_xilinx -family xcup -nowidelut -abc9 -flatten -top qv_cam; "
              "setattr -mod -unset keep_hierarchy *; flatten; stat")
    done = subprocess.run([yosys, "-p", script], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-2000:] + done.stderr)
        sys.exit(1)
    last = done.stdout.rsplit("=== qv_cam ===", 1)[1]
    return {name: int(n) for name, n in re.findall(r"^ +([A-Z]\w+) +(\d+)$", last, re.M)}


def main():
    yosys, folder, depth, budget = sys.argv[1:5]
    parameters = [word.split("=") for word in sys.argv[5:]]
    cells = synthesize(yosys, folder, int(depth), parameters)
    luts = sum(n for name, n in cells.items() if re.match(r"LUT\d$", name))
    flops = sum(n for name, n in cells.items() if name.startswith("FD"))
    mask = dict(parameters).get("ENTRY_MASK", "1'b1") == "1'b1"
    # Tag, source, id, and with masks the compared bits of the tag and whether any source does. Fewer
    # would mean that the tool has understood something else.
    least = int(depth) * (64 + 32 + 16 + (65 if mask else 0) + 2)
    print(f"area: depth {depth}, {luts} LUTs, {luts / int(depth):.0f} per entry (at most {budget}), "
          f"{flops} flip-flops (at least {least})")
    return 0 if 0 < luts <= int(depth) * int(budget) and flops >= least else 1


if __name__ == "__main__":
    sys.exit(main())
