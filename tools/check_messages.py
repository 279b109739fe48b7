#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_messages.py - docs/troubleshooting.md has every text that the provider, libquiver-mpi and
the program `quiver` write for a user. Of a text the longest part between its values must be there."""
import os
import re
import sys

PAGE = "docs/troubleshooting.md"
FOLDERS = ("fabric_glue", "mpi_glue", "kernels/offload", "engine/node", "engine/proto", "tools", "bench")
# Functions that write their texts, or hand them on to one that does.
WRITES = re.compile(r"\b(say|QV_FI_WARN|QV_FI_INFO|qv_fi_warn|qv_fi_print|qv_fi_refused|refuse|wrong|perror|warn|"
                    r"qv_refuse|qv_peer_fail|qv_peer_end_session|qv_offload_say|qv_offload_failed|"
                    r"fprintf(?=\(stderr)|snprintf(?=\(why))\(|\*why = ")
STRINGS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
VALUE = re.compile(r"%[-#0-9.*]*(?:ll|l|z)?[a-zA-Z]|\\n")
LEAST = 8       # characters; what is shorter, or one word, says nothing by itself


def call(text, at):
    """What is from `at` to the end of a call's arguments, or of a statement."""
    depth = 1
    for found in re.finditer(r'"(?:\\.|[^"\\\n])*"|[();]', text[at:]):
        depth += (found[0] == "(") - (found[0] == ")")
        if depth == 0 or found[0] == ";":
            return text[at:at + found.start()]
    return ""


def parts(text):
    """Number of the line, and longest part, of each text that a source writes."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    for found in WRITES.finditer(text):
        for strings in STRINGS.findall(call(text, found.end())):
            whole = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', strings))
            longest = max(VALUE.split(whole.replace('\\"', '"').replace("%%", "%")), key=len)
            if len(longest.strip()) >= LEAST and not re.fullmatch(r"\w+", longest):
                yield text[:found.start()].count("\n") + 1, plain(longest)


def plain(text):
    return " ".join(re.sub(r"[`|\\]", " ", text).split())


def sources(root):
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith((".c", ".h")))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    with open(os.path.join(root, PAGE), encoding="utf-8") as f:
        page = plain(f.read())
    count, bad = 0, []
    for path in sources(root):
        with open(path, encoding="utf-8") as f:
            for line, part in parts(f.read()):
                count += 1
                if part not in page:
                    bad.append(f"{os.path.relpath(path, root)}:{line}: not in {PAGE}: {part}")
    for line in bad:
        print(line)
    print(f"messages: {count} texts, {len(bad)} missing")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
