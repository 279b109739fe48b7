#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_checks.py - the checks of the tree refuse what they are there to refuse."""
import hashlib
import os
import platform
import subprocess
import sys
import tempfile

HEAD = "/* SPDX-License-Identifier: BSD-2-Clause */\n"


def write(full, text):
    """A file of the tree; an object from assembly where its name says so."""
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if full.endswith(".o"):
        subprocess.run(["as", "-o", full], input=text + "\n", text=True, check=True)
        return
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)


def verdict(check, files):
    """Exit status and output of a check over a small tree of the given files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            write(os.path.join(root, path), text)
        tool = os.path.join(sys.argv[1], "tools", check)
        done = subprocess.run([sys.executable, tool, root], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout


GOOD = {"engine/match/a.c": HEAD + '#include "kernels/b.h"\n#include <stdint.h>\n',
        "kernels/b.h": HEAD + "#include <stddef.h>\n"}
ROOM = {f"engine/base/{name}.c": HEAD for name in "abc"}
LINKS = """[b](../kernels/b.h) [c](../kernels/b.h#c) [d](https://d.example/e.md) [f](#g) `[h](i)`
```
[j](k)
```
"""
TOLD = HEAD + """
#define QV_API
/*
 * Functions in a row.
 *   a     what it is
 *   b, c  what they are;
 *         and more
 */
QV_API int qv_a(const struct a *a,
		int (*b)(int x, int y), size_t c[2]);
QV_API int qv_b(int a, int b);

/* One parameter. */
QV_API int qv_c(int a);
struct qv_ops {
	/*
	 *   fn  what it is
	 *   n   what it is */
	int (*call)(int (*fn)(int a), int n);
};
"""
SAYS = HEAD + 'int b(const char *a)\n{ snprintf(why, 9, "core NAME %s", a); /* "or not" */\n' \
    '\tqv_fi_warn("%s: %llu is "\n\t\t   "not there", a, c("identifier")); }\n'
DOT = "digraph a { b -> c }\n"
SVG = f"<!-- source sha256: {hashlib.sha256(DOT.encode()).hexdigest()} --><svg/>\n"
CASES = [
    ("check_layers.py", GOOD, 0, "0 wrong"),
    ("check_layers.py", {"kernels/a.c": '#include "engine/match/b.h"\n', "engine/match/b.h": ""}, 1,
     "kernels may not include engine/match"),
    ("check_layers.py", {"engine/proto/a.c": "#include <rdma/fabric.h>\n"}, 1, "<rdma/fabric.h>"),
    ("check_layers.py", {"engine/proto/a.c": "#include <mpi.h>\n"}, 1, "<mpi.h>"),
    ("check_layers.py", {"engine/base/a.c": "#include <pthread.h>\n"}, 1, "<pthread.h>"),
    ("check_layers.py", {"engine/base/a.c": "#  include <CL/cl.h>\n"}, 1, "<CL/cl.h>"),
    ("check_layers.py", {"fabric_glue/a.c": '#include "mpi_glue/b.h"\n', "mpi_glue/b.h": ""}, 1,
     "may not include mpi_glue"),
    ("check_layers.py", {"include/quiver/a.h": '#include "kernels/b.h"\n', "kernels/b.h": ""}, 1,
     "include may not include kernels"),
    ("check_layers.py", {"engine/match/llv/a.c": '#include "engine/match/auto/b.h"\n',
                         "engine/match/auto/b.h": ""}, 1, "engine/match/llv may not include"),
    ("check_layers.py", {"tests/x/a.c": '#include "b.h"\n', "tests/y/b.h": ""}, 1,
     "by its path from the top"),
    ("check_tree.py", GOOD, 0, "0 wrong"),
    ("check_tree.py", {f"engine/{i}.c": HEAD for i in range(31)}, 1, "31 sources, the limit is 30"),
    ("check_tree.py", {"engine/a.c": "int a;\n"}, 1, "no licence line"),
    ("check_tree.py", {"engine/a.c": HEAD + "int a;\n" * 600}, 1, "the limit is 600"),
    ("check_tree.py", ROOM, 1, "engine/base: no README.md"),
    ("check_tree.py", {**ROOM, "engine/base/README.md": "# base\n"}, 0, "0 wrong"),
    ("check_tree.py", {**ROOM, "engine/README.md": "| [base](base/a.c) | memory |\n"}, 0, "0 wrong"),
    ("check_tree.py", {**ROOM, "README.md": "`engine/base`\n"}, 0, "0 wrong"),
    ("check_tree.py", {**ROOM, "README.md": "`engine/base2` is based on base.\n"}, 1, "no README.md"),
    ("check_tree.py", {**GOOD, "engine/README.md": "a\n" * 81}, 1, "81 lines"),
    ("check_tree.py", {**GOOD, "README.md": "a\n" * 81}, 0, "0 wrong"),
    ("check_tree.py", {**GOOD, "docs/a.md": "a\n[b](../kernels/c.h)\n"}, 1,
     "docs/a.md:2: a link to ../kernels/c.h"),
    ("check_tree.py", {**GOOD, "docs/a.md": LINKS}, 0, "0 wrong"),
    ("check_tree.py", {**GOOD, "docs/pictures/a.dot": DOT}, 1, "missing or out of date"),
    ("check_tree.py", {**GOOD, "docs/pictures/a.dot": DOT, "docs/pictures/a.svg": SVG}, 0, "0 wrong"),
    ("check_tree.py", {**GOOD, "docs/pictures/a.dot": DOT + " ", "docs/pictures/a.svg": SVG}, 1,
     "a.dot: its .svg is missing or out of date"),
    ("check_headers.py", {"include/quiver/a.h": TOLD}, 0, "0 wrong"),
    ("check_headers.py", {"include/quiver/a.h": TOLD.replace(" *   b, c  ", " *   b  ")}, 1,
     "a.h:10: qv_a: no line of the comment begins with c"),
    ("check_headers.py", {"include/quiver/a.h": TOLD.replace("\nQV_API int qv_b", "\n\nQV_API int qv_b")},
     1, "a.h:13: qv_b: no line of the comment begins with a, b"),
    ("check_headers.py", {"include/quiver/a.h": TOLD.replace("\t *   fn  ", "\t * fn ")}, 1,
     "a.h:20: call: no line of the comment begins with fn"),
    ("check_headers.py", {"include/a.h": TOLD}, 1, "0 headers"),
    ("check_messages.py", {"fabric_glue/a.c": SAYS, "docs/troubleshooting.md": "core NAME `is not there`"}, 0,
     "2 texts, 0 missing"),
    ("check_messages.py", {"fabric_glue/a.c": SAYS, "docs/troubleshooting.md": "`is not there`"}, 1,
     "fabric_glue/a.c:3: not in docs/troubleshooting.md: core NAME"),
    ("check_messages.py", {"docs/troubleshooting.md": "core NAME"}, 1, "0 texts"),
    ("check_words.py", GOOD, 0, "0 wrong"),
    ("check_words.py", {"engine/proto/a.c": HEAD + "int b;\nint qv_peer_doom;\n"}, 1,
     "engine/proto/a.c:3: qv_peer_doom says doom, use: mark failed"),
    ("check_words.py", {"engine/proto/conceal_all.c": HEAD}, 1, "says conceal, use: deregister"),
    ("check_words.py", {"fabric_glue/a.h": HEAD + "#define A_STRANGER 1\n"}, 1, "says stranger"),
    ("check_words.py", {"kernels/a.h": HEAD + "#define A_STRANGER 1\n"}, 0, "0 wrong"),
    ("check_words.py", {"engine/a.c": HEAD + 'char *a = "doom"; /* doom\ndoom */ int b_doomsday;\n'},
     0, "0 wrong"),
]

F_ONLY = ("combine_foundation", "match_foundation")
WIDER = [  # beyond Foundation: what it needs, an instruction, and its name
    ("BW", "vpaddb %zmm0, %zmm1, %zmm2", "vpaddb"), ("BW", "vpminuw %zmm0, %zmm1, %zmm2", "vpminuw"),
    ("BW", "vpcmpeqb %zmm0, %zmm1, %k1", "vpcmpeqb"), ("BW", "kmovq %k1, %rax", "kmovq"),
    ("BW", "kunpckwd %k0, %k1, %k2", "kunpckwd"), ("DQ", "vpmullq %zmm0, %zmm1, %zmm2", "vpmullq"),
    ("DQ", "vandps %zmm0, %zmm1, %zmm2", "vandps"), ("DQ", "kmovb %k1, %eax", "kmovb"),
    ("VL", "vpaddd %ymm0, %ymm1, %ymm2{%k1}", "vpaddd"), ("VL", "vmovdqu64 %xmm16, (%rax)", "vmovdqu64"),
    ("VL", "vpmaxsd %xmm16, %xmm1, %xmm2", "vpmaxsd"), ("VL", "vbroadcastss %xmm16, %ymm2", "vbroadcastss"),
]
FOUNDATION = """vpaddd %zmm0, %zmm1, %zmm2
    vpandq %zmm0, %zmm1, %zmm2
    vpcmpeqd %zmm0, %zmm1, %k1
    vpmovdb %zmm0, %xmm1
    kmovw %k1, %eax
    kunpckbw %k0, %k1, %k2
    vaddsd %xmm16, %xmm17, %xmm18
    vcvtsi2ss %eax, %xmm16, %xmm17
    vmovd %xmm16, %eax
    vpaddb %ymm0, %ymm1, %ymm2"""


def kernels(*objects):
    """A build tree with kernels, each with its folder, its name and its code."""
    return {f"kernels/CMakeFiles/qv_kernels.dir/{isa}/{name}.c.o": code for isa, name, code in objects}


def object_cases():
    """Instructions in objects; assembly is of x86-64."""
    if platform.machine() != "x86_64":
        return []
    wider = [(f"{kind}_{i}_foundation", code, used)
             for kind in ("combine", "match") for i, (_, code, used) in enumerate(WIDER)]
    said = [f"{name}.c: BW, DQ or VL instruction ({used})" for name, _, used in wider]
    right = [("avx512", name, FOUNDATION) for name in F_ONLY]
    right += [("avx512", f"combine_{i}", code) for i, (_, code, _) in enumerate(WIDER)]
    right.append(("avx2", "combine", "vpaddb %ymm0, %ymm1, %ymm2"))
    wrong = kernels(("avx2", "qv_a", "vpaddd %zmm0, %zmm1, %zmm2"),
                    ("scalar", "qv_b", "vpaddb %xmm0, %xmm1, %xmm2"),
                    ("scalar", "qv_c", ".data\n.type a,@object\na: .quad 0\n.size a,8"))
    slow = kernels(("scalar", "qv_d", "cpuid"))
    return [
        ("check_objects.py", kernels(*right), 0, "0 wrong"),
        ("check_objects.py", kernels(*(("avx512", name, code) for name, code, _ in wider)), 1, said),
        ("check_objects.py", wrong, 1, ["avx2/qv_a.c: EVEX", "scalar/qv_b.c: VEX", "a can be written",
                                        "3 wrong"]),
        ("check_objects.py", slow, 1, "qv_d.c: cpuid"),
    ]


def main():
    bad = 0
    CASES.extend(object_cases())
    for check, files, status, text in CASES:
        got, said = verdict(check, files)
        if got != status or any(t not in said for t in ([text] if isinstance(text, str) else text)):
            bad += 1
            print(f"{check} on {sorted(files)}: status {got}, wanted {status} and '{text}':\n{said}")
    print(f"{len(CASES)} cases, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
