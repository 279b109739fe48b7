#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_layers.py - includes go one way only, and each layer sees only the system headers it may."""
import os
import re
import sys

STANDARD = set("""assert.h ctype.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h
stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h time.h sys/types.h
sys/uio.h""".split())
INTRINSICS = {"immintrin.h", "cpuid.h", "x86intrin.h", "sys/platform/x86.h"}
POSIX = {"fcntl.h", "sanitizer/asan_interface.h", "signal.h", "sys/mman.h", "sys/random.h", "sys/stat.h",
         "unistd.h"}

# Layer -> layers of ours that it may include (itself always).
ENGINE = ["engine/base", "engine/match", "engine/proto", "engine/schedule", "engine/exchange",
          "engine/combine", "engine/trace", "engine"]
BELOW_GLUE = ENGINE + ["kernels", "include"]
OFFLOAD = ["kernels/offload", "kernels/opencl", "hls"]
MAY = {
    "include": [],
    "kernels": ["include"],
    "engine/base": ["include"],
    "engine/match": ["engine/base", "kernels", "include"],
    "engine/combine": ["engine/base", "kernels", "include"],
    "engine/trace": ["engine/base", "engine/match", "include"],
    "engine/schedule": ["engine/base", "engine/combine", "kernels", "include"],
    "engine/exchange": ["engine/base", "engine/schedule", "include"],
    "engine/proto": ["engine/base", "engine/match", "include"],
    "engine": BELOW_GLUE,
    "kernels/offload": ["include"],
    "kernels/samples": ["include"],
    "kernels/opencl": ["kernels/samples", "include"],
    "hls": ["kernels/samples", "include"],
    "fabric_glue": BELOW_GLUE + OFFLOAD,
    "mpi_glue": BELOW_GLUE + OFFLOAD,
    "bench": BELOW_GLUE + OFFLOAD,
    "tools": BELOW_GLUE + OFFLOAD + ["bench"],
    "examples": ["include"],
}
# Layer -> system headers that it may include; the others may include what they like, less FOREIGN.
SYSTEM = {"include": STANDARD, "kernels": STANDARD | INTRINSICS}
SYSTEM.update({layer: STANDARD | POSIX for layer in ENGINE})
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


def layer_of(path):
    """The longest layer name that is a folder above path; tests and the rest have their top folder."""
    found = path.split("/")[0]
    for layer in MAY:
        if path.startswith(layer + "/") and len(layer) > len(found):
            found = layer
    return found


def resolve(spelled, path, ours):
    """The file of ours that an include names: beside the includer, else by the tail of its path."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), spelled))
    if beside in ours:
        return beside
    fits = [p for p in ours if p.endswith("/" + spelled)]
    return fits[0] if fits else None


def judge(path, spelled, ours):
    """None, or why path may not include what is spelled."""
    layer = layer_of(path)
    target = resolve(spelled, path, ours)
    if target:
        other = layer_of(target)
        if layer not in MAY or other == layer or other in MAY[layer]:
            return None
        return f"{layer} may not include {other} ({target})"
    for prefix, allowed in FOREIGN.items():
        if spelled.startswith(prefix) and layer not in allowed:
            return f"{layer} may not see <{spelled}>"
    if layer in SYSTEM and spelled not in SYSTEM[layer]:
        return f"{layer} has no use for <{spelled}>"
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    ours = list(sources(root))
    bad = includes = 0
    for path in ours:
        with open(os.path.join(root, path), encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                includes += 1
                why = judge(path, match.group(2), ours)
                if why:
                    bad += 1
                    print(f"{path}:{number}: {why}")
    print(f"layers: {len(ours)} files, {includes} includes, {bad} wrong")
    return 1 if bad or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
