#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_layers.py - includes go one way only, and each room sees only the system headers it may.

An include in quotes names a file of the same folder by its name, any other of ours by its path from
the top."""
import os
import re
import sys

STANDARD = set("""assert.h ctype.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h
stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h time.h sys/types.h
sys/uio.h""".split())
INTRINSICS = {"arm_neon.h", "cpuid.h", "immintrin.h", "sys/platform/x86.h", "x86intrin.h"}
POSIX = {"fcntl.h", "sanitizer/asan_interface.h", "signal.h", "sys/mman.h", "sys/random.h", "sys/resource.h", "sys/stat.h",
         "unistd.h"}

# Room -> rooms of ours that it may include (itself always).
ENGINE = ["engine/base", "engine/match", "engine/trace", "engine/proto", "engine/schedule", "engine/exchange",
          "engine/combine", "engine/remote", "engine/node", "engine/team"]
BELOW_GLUE = ENGINE + ["kernels", "include"]
OFFLOAD = ["kernels/offload", "kernels/opencl", "hls/host"]
GLUE = ["fabric_glue", "fabric_glue/cores", "fabric_glue/node"] # what every room of the provider may see
PROVIDER = BELOW_GLUE + GLUE
MATCH = ["engine/match", "engine/base", "kernels", "include"]
SCHEDULE = ["engine/schedule", "engine/base", "include"]
EXCHANGE = ["engine/base", "engine/schedule/families", "include"]
LIBRARY = BELOW_GLUE + ["mpi_glue"]
BENCH = BELOW_GLUE + ["bench/common"]
MAY = {
    "include": [],
    "kernels": ["engine/base", "include"],
    "engine/base": ["include"],
    "engine/match": MATCH + ["engine/match/auto"], # whose fast path is inlined into the calls
    "engine/match/llv": MATCH,
    "engine/match/auto": MATCH + ["engine/match/llv"],
    "engine/match/literature": MATCH + ["engine/match/llv", "engine/match/auto"],
    "engine/trace": ["engine/base", "engine/match", "include"],
    "engine/combine": ["engine/base", "kernels", "include"],
    "engine/schedule": ["engine/base", "engine/combine", "kernels", "include"],
    "engine/schedule/families": SCHEDULE,
    "engine/schedule/check": SCHEDULE,
    "engine/schedule/time": SCHEDULE + ["engine/schedule/select"],
    "engine/schedule/select": SCHEDULE + ["engine/schedule/families"],
    "engine/schedule/redirect": SCHEDULE,
    "engine/schedule/unit": SCHEDULE,
    "engine/exchange/sparse": EXCHANGE,
    "engine/exchange/neighbor": EXCHANGE,
    "engine/exchange/stream": EXCHANGE,
    "engine/exchange/vrank": EXCHANGE + ["engine/exchange/stream"],
    "engine/remote": ["engine/base", "include"],
    "engine/proto": ["engine/base", "engine/match", "engine/remote", "include"],
    "engine/node": ["engine/base", "engine/proto", "engine/remote", "include"],
    "engine/team": ["engine/base", "include"],
    "kernels/offload": ["engine/base", "include"],
    "kernels/backend": ["engine/base", "include"],
    "kernels/opencl": ["kernels/backend", "engine/base", "include"],
    "hls": ["include"],
    "hls/host": ["hls", "kernels/backend", "include"],
    "fabric_glue": BELOW_GLUE + ["fabric_glue/progress"],
    "fabric_glue/settings": PROVIDER,
    "fabric_glue/node": PROVIDER + ["fabric_glue/layered"],
    "fabric_glue/cores": PROVIDER + ["fabric_glue/layered"],
    "fabric_glue/offer": PROVIDER,
    "fabric_glue/objects": PROVIDER + OFFLOAD,
    "fabric_glue/calls": PROVIDER + ["fabric_glue/layered"],
    "fabric_glue/progress": PROVIDER,
    "fabric_glue/layered": PROVIDER + ["fabric_glue/objects"],
    "fabric_glue/peer": PROVIDER,
    "fabric_glue/coll": PROVIDER,
    "mpi_glue": BELOW_GLUE + OFFLOAD + ["mpi_glue/calls", "mpi_glue/trace"],
    "mpi_glue/run": LIBRARY,
    "mpi_glue/plans": LIBRARY + ["mpi_glue/run"],
    "mpi_glue/calls": LIBRARY + ["mpi_glue/run", "mpi_glue/trace"],
    "mpi_glue/trace": LIBRARY + ["mpi_glue/calls"],
    "mpi_glue/tool": LIBRARY,
    "mpi_glue/am": ["engine/base", "include"],
    "bench/common": ["engine/base", "include"],
    "bench/papers": BENCH,
    "bench/match": BENCH + ["bench/papers"],
    "bench/combine": BENCH,
    "bench/fabric": BENCH,
    "bench/coll": BENCH,
    "bench/offload": BENCH + OFFLOAD,
    "tools": BELOW_GLUE + OFFLOAD + ["bench/common", "tools/trace"],
    "tools/trace": BELOW_GLUE + ["bench/common", "bench/match"],
    "examples": ["include"],
}
# Room -> system headers that it and those in it may include; others may include what they like,
# less FOREIGN.
SYSTEM = {"include": STANDARD, "kernels": STANDARD | INTRINSICS, "engine": STANDARD | POSIX,
          "engine/base": STANDARD | POSIX | {"dirent.h", "sys/platform/x86.h", "sys/socket.h", "sys/un.h"},
          "engine/node": None, "engine/team": None,
          "kernels/offload": None, "kernels/backend": None, "kernels/opencl": None}
FOREIGN = {
    "rdma/": {"fabric_glue", "bench", "tools", "examples", "tests"},
    "mpi.h": {"mpi_glue", "bench", "tools", "examples", "tests"},
    "CL/": {"kernels/opencl", "bench", "tools", "tests"},
    "xrt/": {"hls", "bench", "tools", "tests"},
}
SKIPPED = {".git", "build", ".cache"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root):
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(d for d in subfolders if d not in SKIPPED)
        for name in sorted(names):
            if name.endswith((".c", ".h", ".cpp", ".hpp", ".cl")):
                yield os.path.relpath(os.path.join(folder, name), root)


def within(rooms, path):
    """The longest of the rooms that is a folder above path, or None."""
    return max((room for room in rooms if path.startswith(room + "/")), key=len, default=None)


def room_of(path):
    """Tests and the rest have their top folder."""
    return within(MAY, path) or path.split("/")[0]


def judge(path, quote, spelled, ours):
    """None, or why path may not include what is spelled."""
    room = room_of(path)
    beside = os.path.normpath(os.path.join(os.path.dirname(path), spelled))
    public = "include/" + spelled
    target = next((p for p in (beside, spelled, public) if p in ours), None)
    if target:
        other = room_of(target)
        if room in MAY and other != room and other not in MAY[room]:
            return f"{room} may not include {other} ({target})"
        return None
    by_tail = [p for p in ours if p.endswith("/" + spelled)]
    if quote == '"' and by_tail:
        return f'"{spelled}" is of another folder: by its path from the top ({by_tail[0]})'
    for prefix, allowed in FOREIGN.items():
        if spelled.startswith(prefix) and not within(allowed, path):
            return f"{room} may not see <{spelled}>"
    known = SYSTEM.get(within(SYSTEM, path))
    if quote == "<" and known and spelled not in known:
        return f"{room} has no use for <{spelled}>"
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    ours = set(sources(root))
    bad = includes = 0
    for path in sorted(ours):
        with open(os.path.join(root, path), encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                includes += 1
                why = judge(path, match.group(1), match.group(2), ours)
                if why:
                    bad += 1
                    print(f"{path}:{number}: {why}")
    print(f"layers: {len(ours)} files, {includes} includes, {bad} wrong")
    return 1 if bad or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
