#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
check_objects.py BUILD [OBJDUMP NM] - what the compiler made of it.

The provider exports fi_prov_ini and qv_fi_process_stats. Instructions that only some CPUs have are in the
kernels made for them: EVEX (zmm, masks) in kernels/avx512, VEX in kernels/avx2 and kernels/avx512.
Those of objects for another CPU than x86-64 are not looked at.
Of EVEX, files named *_foundation.c have Foundation's instructions only: no BW, DQ or VL.
The engine and the kernels have no data that can change, and do not use cpuid where the C library
knows what it says (glibc 2.33 and later): it takes 10 us and more in a virtual machine.
"""
import os
import platform
import re
import subprocess
import sys

OBJDUMP, NM = sys.argv[2:4] or ("objdump", "nm")
OURS = ("engine/", "kernels/", "fabric_glue/", "mpi_glue/", "tools/", "bench/")
# Prefix bytes that may stand before a VEX or EVEX instruction: segments and address size.
LEGACY = {"26", "2e", "36", "3e", "64", "65", "67"}
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*(\S*)\s*(\S*)")
# What Foundation has among the mask instructions, and among those whose names end like BW's.
MASKS = re.compile(r"k(mov|and|andn|or|xor|xnor|not|ortest|shiftl|shiftr)w$|kunpckbw$")
NARROWING = re.compile(r"vpmovu?s?[dq][bw]$")
DQ = re.compile(r"v(and|andn|or|xor)p[sd]$|vpmullq$|vcvt.*qq|v(range|reduce|fpclass)[ps]"
                r"|v(broadcast|insert|extract)[fi](32x2|64x2|32x8)$|vp(extr|insr)[dq]$|vpmovm2|vpmov.2m$")
SCALAR = re.compile(r"v(?!p|broadcast).*s[sd]$|vmov[dq]$|vcvt.*s[sdi]|vpextr|vpinsr")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def objects(build):
    """(object file, path of its source inside the tree) of every object of ours."""
    for folder, _, names in os.walk(build):
        where = os.path.relpath(folder, build)
        parts = re.match(r"(.*?/?)CMakeFiles/[^/]+\.dir(?:/(.*))?$", where)
        if not parts:
            continue
        for name in sorted(names):
            if name.endswith(".o"):
                source = os.path.normpath(os.path.join(parts.group(1), parts.group(2) or "", name))
                if source.startswith(OURS):
                    yield os.path.join(folder, name), source[: -len(".o")]


def beyond_foundation(name, operands):
    """Whether an EVEX or mask instruction needs BW, DQ or VL."""
    if name.startswith("k"):
        return not MASKS.match(name)
    if name.endswith(("b", "w", "8", "16")) and not NARROWING.match(name):
        return True
    whole = "zmm" in operands or SCALAR.match(name)
    return bool(DQ.match(name)) or ("mm" in operands and not whole)


def encodings(obj):
    """Which of VEX, EVEX, EVEX beyond Foundation and cpuid the object uses, each with its first use."""
    found = {}
    lines = run(OBJDUMP, "-d", "--insn-width=15", obj).splitlines()
    if not any("file format elf64-x86-64" in line for line in lines[:3]):
        return found
    for line in lines:
        match = INSTRUCTION.match(line)
        if not match:
            continue
        code = match.group(1).split()
        while code and code[0] in LEGACY:
            code.pop(0)
        kind = {"62": "EVEX", "c4": "VEX", "c5": "VEX"}.get(code[0] if code else "")
        if kind or match.group(2) == "cpuid":
            found.setdefault(kind or "cpuid", match.group(2))
        if (kind == "EVEX" or match.group(2).startswith("k")) and beyond_foundation(*match.groups()[1:]):
            found.setdefault("BW, DQ or VL", match.group(2))
    return found


def changing_data(obj):
    """Names of objects with static storage that can be written."""
    out = []
    for line in run(OBJDUMP, "-t", obj).splitlines():
        match = re.match(r"[0-9a-f]+ .{6}O (\S+)\t[0-9a-f]+\s+(.*)", line)
        section = match.group(1) if match else ""
        if section == "*COM*" or re.match(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)", section):
            out.append(match.group(2))
    return out


def library_knows():
    """Whether the C library tells what cpuid says."""
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split(".")[:2])) >= (2, 33)


def main():
    build = sys.argv[1]
    bad, count = [], 0
    no_cpuid = library_knows()
    for obj, source in objects(build):
        count += 1
        wide = source.startswith("kernels/avx512/")
        for kind, first in encodings(obj).items():
            if kind == "cpuid":
                if no_cpuid and source.startswith(("engine/", "kernels/")):
                    bad.append(f"{source}: cpuid, which the C library has asked before")
            elif kind == "BW, DQ or VL":
                if source.endswith("_foundation.c"):
                    bad.append(f"{source}: {kind} instruction ({first}) in a Foundation kernel")
            elif not wide and not (kind == "VEX" and source.startswith("kernels/avx2/")):
                bad.append(f"{source}: {kind} instruction ({first}) outside its kernels")
        if source.startswith(("engine/", "kernels/")) and not source.startswith("kernels/opencl/"):
            bad += [f"{source}: {name} can be written" for name in changing_data(obj)]
    provider = os.path.join(build, "lib/libfabric/libquiver-fi.so")
    if os.path.exists(provider):
        listed = run(NM, "-D", "--defined-only", "--format=posix", provider).splitlines()
        names = [line.split()[0] for line in listed]
        if sorted(names) != ["fi_prov_ini", "qv_fi_process_stats"]:
            bad.append(f"{provider} exports {', '.join(names)}, not fi_prov_ini and qv_fi_process_stats")
    else:
        print("no provider in this build: its exports were not checked")
    for line in bad:
        print(line)
    print(f"objects: {count} objects, {len(bad)} wrong")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
