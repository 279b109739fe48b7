#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_words.py - identifiers and file names of C sources say what the field says: words of our
own that were replaced do not come back. A word counts as a part between underscores."""
import os
import re
import sys

SKIPPED = {".git", "build", ".cache"}
SOURCES = (".c", ".h")

# retired: what to use, and the folders where it is refused (all, where there are none)
WORDS = {
    "doom": ("mark failed, failing", ()),
    "doomed": ("failing", ()),
    "conceal": ("deregister", ()),
    "expose": ("register", ()),
    "exposed": ("registered", ()),
    "owed": ("outstanding", ()),
    "paid": ("end outstanding", ()),
    "crossed": ("asymmetric", ("engine/proto", "fabric_glue", "tests/proto")),
    "bare": ("headerless", ("engine", "fabric_glue", "tests/proto")),
    "acquaint": ("handshake", ()),
    "met": ("connected", ("engine/proto", "fabric_glue", "tests/proto")),
    "owes": ("outstanding", ("engine/proto", "fabric_glue", "tests/proto", "tests/simfab")),
    "stranger": ("unknown sender", ("engine", "fabric_glue", "mpi_glue", "bench", "tests/proto", "tests/simfab")),
    "complain": ("warn", ()),
    "promise": ("assertion", ("engine", "fabric_glue", "mpi_glue")),
    "promises": ("assertions", ("engine", "fabric_glue", "mpi_glue")),
    "watch": ("wait set; predict, of who is late", ("engine", "fabric_glue", "mpi_glue")),
    "doze": ("sleep", ()),
    "greet": ("handshake", ()),
    "acquainted": ("handshake", ()),
    "stray": ("misprediction", ()),
    "astray": ("mispredicted", ()),
    "guess": ("prediction", ("engine", "fabric_glue")),
    "calm": ("quiet", ("engine", "fabric_glue", "mpi_glue")),
    "forgive": ("hysteresis", ()),
    "wary": ("hysteresis", ()),
    "tolerance": ("cost counter", ("engine", "fabric_glue", "mpi_glue")),
    "debt": ("cost counter, what is not acknowledged", ("engine", "fabric_glue", "mpi_glue", "tests/proto")),
    "patience": ("backoff", ("engine/match/auto", "mpi_glue")),
    "home": ("class cache", ("engine/match/auto",)),
    "crowded": ("collisions", ("engine", "fabric_glue")),
    "contested": ("collisions", ()),
    "harden": ("rekey", ()),
    "strong": ("keyed", ()),
    "only": ("single", ("engine/match",)),
    "wide": ("merged", ("engine/match",)),
    "view": ("index", ("engine", "fabric_glue", "mpi_glue")),
    "views": ("indexes", ("engine", "fabric_glue", "mpi_glue")),
    "way": ("path, route", ("engine/match", "engine/proto")),
    "ways": ("paths, routes", ("engine/match", "engine/proto")),
    "line": ("queue", ("engine/match/auto", "engine/proto", "mpi_glue")),
    "shadow": ("duplicated communicator", ()),
    "side": ("buffer layout", ("mpi_glue",)),
    "through": ("bypass", ("engine/match", "engine/proto", "fabric_glue", "mpi_glue")),
    "later": ("nonblocking", ("mpi_glue",)),
}

# Identifiers that stay, because somebody outside uses the name.
ALLOWED = set()

# What is no identifier: comments, strings and characters. Its lines stay.
OTHER = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(root):
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(d for d in subfolders if d not in SKIPPED)
        for name in sorted(names):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(folder, name), root)


def retired(name, path):
    """The words of a name that are refused there."""
    for word in [] if name in ALLOWED else name.lower().split("_"):
        use, folders = WORDS.get(word, ("", ()))
        if use and (not folders or path.startswith(tuple(f + "/" for f in folders))):
            yield word, use


def faults(root, path):
    for word, use in retired(os.path.splitext(os.path.basename(path))[0], path):
        yield f"{path}:1: the file's name says {word}, use: {use}"
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = OTHER.sub(lambda m: " " + "\n" * m.group().count("\n"), f.read())
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            for word, use in retired(name, path):
                yield f"{path}:{number}: {name} says {word}, use: {use}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    bad, count = [], 0
    for path in files(root):
        count += 1
        bad += faults(root, path)
    for line in bad:
        print(line)
    print(f"words: {count} sources, {len(bad)} wrong")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
