#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_install.py BUILD LIBDIR HAS_MPI - `cmake --install`, moved as a whole, used by programs of others.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD, LIBDIR, HAS_MPI = sys.argv[1], sys.argv[2], sys.argv[3] == "1"
HERE = os.path.dirname(os.path.abspath(__file__))
CONSUMER = os.path.join(HERE, "consumer")
WANT = "matched by quiver "
failures = []


def run(*command, env=None, cwd=None):
    """What it prints. The rest would fail after a command that fails."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "LD_LIBRARY"))}
    full.update(env or {})
    done = subprocess.run(command, capture_output=True, text=True, env=full, cwd=cwd, check=False)
    if done.returncode:
        sys.exit(f"FAIL {' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def want(held, text):
    print(("ok   " if held else "FAIL ") + text)
    if not held:
        failures.append(text)


def install(top):
    """Into one directory, from where it is moved to another."""
    made, prefix = os.path.join(top, "made"), os.path.join(top, "moved", "usr")
    run("cmake", "--install", BUILD, "--prefix", made)
    shutil.move(made, prefix)
    return prefix


def files_of(prefix):
    lib = os.path.join(prefix, LIBDIR)
    for path in ("bin/quiver", "include/quiver/match.h", "share/man/man1/quiver.1",
                 "share/man/man7/fi_quiver.7", "share/man/man7/quiver-mpi.7",
                 "share/man/man3/libquiver.3", "share/man/man3/qv_match_post.3",
                 "share/bash-completion/completions/quiver"):
        want(os.path.exists(os.path.join(prefix, path)), path)
    for path in ("libquiver.so", "libquiver.so.0", "libquiver.a", "pkgconfig/quiver.pc",
                 "cmake/quiver/quiverConfig.cmake", "libfabric/libquiver-fi.so",
                 "libfabric/libofi_quiver-fi.so"):
        want(os.path.exists(os.path.join(lib, path)), path)
    # A directory that was compiled or written in would be found in these.
    for path in ("pkgconfig/quiver.pc", "cmake/quiver/quiverTargets.cmake"):
        with open(os.path.join(lib, path), encoding="utf-8") as text:
            want(BUILD not in text.read(), f"{path} does not name the build")
    return lib


def symbols(lib):
    """Every exported name has a version; nothing else is exported."""
    lines = run("nm", "-D", "--defined-only", os.path.join(lib, "libquiver.so")).splitlines()
    names = [line.split()[-1] for line in lines]
    odd = [n for n in names if not re.fullmatch(r"qv_\w+@@QUIVER_\d+\.\d+|QUIVER_\d+\.\d+", n)]
    want(len(names) > 100 and not odd, f"{len(names)} names exported, all with their version {odd[:3]}")
    # Packages are told what programs may need of which version: a name that goes breaks programs.
    with open(os.path.join(HERE, "../../debian/libquiver0.symbols"), encoding="utf-8") as text:
        first, *lines = text.read().splitlines()
    listed = {line.split()[0] for line in lines}
    # A node of engine/quiver.map is exported as a name of its own.
    have = {n.replace("@@", "@") if "@" in n else f"{n}@{n}" for n in names}
    want(listed == have, "debian/libquiver0.symbols has them all, with their versions "
         f"(gone: {sorted(listed - have)}, new: {sorted(have - listed)})")
    said = run("objdump", "-p", os.path.join(lib, "libquiver.so"))
    soname = first.split()[0]
    want(re.search(rf"SONAME +{re.escape(soname)}$", said, re.M), f"the SONAME is {soname}, as packages say")


def by_pkg_config(lib, top):
    env = {"PKG_CONFIG_PATH": os.path.join(lib, "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "quiver", env=env).split()
    static = [lib + "/libquiver.a" if f == "-lquiver" else f for f in flags]
    source = os.path.join(CONSUMER, "match.c")
    for language in ("cc", "c++"):
        for form, words in (("shared", flags), ("static", static)):
            program = os.path.join(top, f"{language}-{form}")
            kind = ["-x", language.replace("cc", "c"), source, "-x", "none"]
            run(language, "-Wall", "-Wextra", "-Werror", *kind, "-o", program, *words)
            said = run(program, env={"LD_LIBRARY_PATH": lib if form == "shared" else ""})
            want(said.startswith(WANT), f"{language}, {form}, by pkg-config")


def by_cmake(prefix, top):
    build = os.path.join(top, "consumer")
    run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    for form in ("shared", "static"):
        want(run(os.path.join(build, form)).startswith(WANT), f"{form}, by CMake")


def tool(prefix, lib, top):
    quiver = os.path.join(prefix, "bin", "quiver")
    want(run(quiver, "version") == run(quiver, "--version") != "", "quiver version")
    want(run(quiver, "help", "bench", "match") == run(quiver, "bench", "match", "--help") != "",
         "quiver help bench match")
    provider = os.path.join(lib, "libfabric", "libquiver-fi.so")
    want(provider in run(quiver, "info"), "quiver info finds the provider beside it")
    rows = run(quiver, "bench", "fabric", "--quick", "--rounds", "2", "--impl", "quiver+node",
               "--filter", "lat/8/prq0")
    want("checked" in rows, "quiver bench fabric runs")
    if HAS_MPI:
        rows = run(quiver, "bench", "coll", "--quick", "--rounds", "2", "--filter",
                   "barrier/2/0/balanced")
        want("barrier/2/0/balanced" in rows, "quiver bench coll finds its program")
    words = run("bash", "-c", f". {prefix}/share/bash-completion/completions/quiver; "
                "COMP_WORDS=(quiver bench ''); COMP_CWORD=2; _quiver; echo ${COMPREPLY[*]}",
                env={"PATH": os.path.join(prefix, "bin") + ":" + os.environ["PATH"]}, cwd=top)
    want("match" in words.split(), f"completion: {words.strip()}")


def staged(top):
    """DESTDIR, as package builders use it."""
    root = os.path.join(top, "root")
    run("cmake", "--install", BUILD, "--prefix", "/usr", env={"DESTDIR": root})
    want(os.path.exists(os.path.join(root, "usr/bin/quiver")), "DESTDIR")


def main():
    with tempfile.TemporaryDirectory(prefix="quiver-install.") as top:
        os.mkdir(os.path.join(top, "moved"))
        prefix = install(top)
        lib = files_of(prefix)
        symbols(lib)
        by_pkg_config(lib, top)
        by_cmake(prefix, top)
        tool(prefix, lib, top)
        staged(top)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
