#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_headers.py - in the public headers each function of two parameters or more, and each
function pointer of a structure, stands behind a comment that has every parameter at the beginning
of a line: " *   name  what it is", or several names with commas between them. Functions in a row,
with no blank line between them, may share one comment."""
import os
import re
import sys

FOLDER = "include/quiver"
LEAST = 2       # parameters; with fewer one line says everything
LINE = re.compile(r"\s*\* {3}(\w+(?:, \w+)*)(?:\s|$)")
POINTER = re.compile(r"\(\*(\w+)\)\(")
FUNCTION = re.compile(r"(\w+)\(")


def split(text):
    """Parameters, at commas that are in no parentheses."""
    depth, part, parts = 0, "", []
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p.strip() for p in parts + [part]]


def name_of(parameter):
    """Its name: of a function pointer the one in parentheses, else the last word."""
    pointer = POINTER.search(parameter)
    words = re.findall(r"\w+", re.sub(r"\[.*?\]", "", parameter))
    return pointer[1] if pointer else words[-1] if words else ""


def arguments(text, at):
    """What is between the parenthesis that begins before `at` and its end."""
    depth, end = 1, at
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return text[at:end - 1]


def declarations(text):
    """Number of the first line, text, and comment of each statement that is a function of the
    library or a function pointer."""
    comment, statement, first, inside = "", "", 0, False
    for number, line in enumerate(text.split("\n"), 1):
        if inside or line.lstrip().startswith("/*"):
            comment, statement = comment + "\n" + line if inside else line, ""
            inside = "*/" not in line
            continue
        if not line.strip() or line.startswith("#"):
            comment, statement = "", ""
            continue
        line = re.sub(r"/\*.*?\*/", "", line)
        first = first if statement else number
        statement += " " + line.strip()
        if line.rstrip().endswith((";", "{", "}")):
            if ";" in line and (statement.startswith(" QV_API") or POINTER.match(after_type(statement))):
                yield first, statement, comment
            statement = ""


def after_type(statement):
    """The statement from its first parenthesis on."""
    at = statement.find("(")
    return statement[at:] if at >= 0 else ""


def faults(text):
    for number, statement, comment in declarations(text):
        found = POINTER.match(after_type(statement))
        at = len(statement) - len(after_type(statement)) + found.end() if found else 0
        found = found or FUNCTION.search(statement)
        at = at or found.end()
        names = [name_of(p) for p in split(arguments(statement, at))]
        told = {n for line in comment.split("\n") if (m := LINE.match(line)) for n in m[1].split(", ")}
        missing = [n for n in names if n not in told] if len(names) >= LEAST else []
        if missing:
            yield number, f"{found[1]}: no line of the comment begins with {', '.join(missing)}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    folder = os.path.join(root, FOLDER)
    bad, count = [], 0
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        if not name.endswith(".h"):
            continue
        count += 1
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            bad += [f"{FOLDER}/{name}:{number}: {what}" for number, what in faults(f.read())]
    for line in bad:
        print(line)
    print(f"headers: {count} headers, {len(bad)} wrong")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
