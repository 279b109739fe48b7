#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""slowest.py - hands on what ctest prints, with its ten slowest tests before its summary."""
import re
import sys

RESULT = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) .*? ([0-9.]+) sec")


def main():
    times = []
    for line in sys.stdin:
        result = RESULT.match(line)
        if result:
            times.append((float(result.group(2)), result.group(1)))
        elif re.match(r"^\d+% tests passed", line) and times:
            print("The ten slowest tests (seconds):")
            for seconds, name in sorted(times, reverse=True)[:10]:
                print(f"{seconds:8.1f}  {name}")
            print()
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
