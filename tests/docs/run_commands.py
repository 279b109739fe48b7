#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run_commands.py - run the commands of a page of the documentation, as a reader would.

usage: run_commands.py ROOT BUILD PAGE...

Blocks that begin with ```sh are run, one after the other, in one shell, in a copy of the tree, with
what the build installs at $HOME/quiver. A line <!-- not run: WHY --> before a block leaves it out,
and is listed. What stands behind "It prints:" must be in what the block before it has printed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:^<!-- not run: (?P<why>.*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
UNSET = ("FI_", "OMPI_", "QUIVER_", "PMIX_", "CMAKE_", "LD_", "MAKE", "CTEST_")


def blocks(text):
    """Kind, text and line of each block, why it is not run, and what stands before it."""
    end = 0
    for found in BLOCK.finditer(text):
        yield (found["kind"], found["text"], text[:found.start("text")].count("\n"), found["why"],
               text[end:found.start()].rstrip())
        end = found.end()


def environment(home, build):
    env = {k: v for k, v in os.environ.items() if not k.startswith(UNSET)}
    env |= {"HOME": home, "PATH": f"{build}/bin:{env['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    if os.geteuid() == 0:   # Open MPI asks for that
        env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return env | {"OMPI_MCA_rmaps_base_oversubscribe": "1"}


def copy_tree(root, build, to):
    """The tree without builds, where build/release is the build under test."""
    skipped = shutil.ignore_patterns("build", ".git", ".cache", "__pycache__")
    shutil.copytree(root, to, ignore=skipped, symlinks=True)
    os.mkdir(os.path.join(to, "build"))
    os.symlink(build, os.path.join(to, "build/release"))


def run(page, text, tree, env):
    """Run a page; 0, or 1 and a word about the block that fails."""
    script, wanted, left_out, count = ["set -e"], [], 0, 0
    for kind, block, line, why, before in blocks(text):
        if kind == "sh" and why:
            left_out += 1
            print(f"{page}:{line}: not run: {why}")
        elif kind == "sh":
            count += 1
            script += [f"echo '@@ {line}'; echo '@@ {line}' >&2", block]
        elif before.endswith("It prints:"):
            wanted.append((count, line, block))
    # Not by standard input, of which a command could take the rest.
    done = subprocess.run(["bash", "-c", "\n".join(script)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, cwd=tree, env=env, check=False)
    output = re.split(r"^@@ \d+\n", done.stdout, flags=re.MULTILINE)
    if done.returncode:
        line = re.findall(r"^@@ (\d+)$", done.stderr, re.MULTILINE)[-1]
        print(f"{page}:{line}: the block fails ({done.returncode})", output[-1][-2000:], done.stderr[-2000:],
              sep="\n")
        return 1
    for number, line, block in wanted:
        if block not in output[number]:
            print(f"{page}:{line}: printed is\n{output[number]}")
            return 1
    assert len(output) == count + 1
    print(f"{page}: {count} blocks run, {left_out} not run")
    return 0


def main():
    root, build, pages = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    failed = 0
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as f:
            text = f.read()
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            home, tree = os.path.join(folder, "home"), os.path.join(folder, "quiver")
            os.mkdir(home)
            copy_tree(root, build, tree)
            subprocess.run(["cmake", "--install", build, "--prefix", os.path.join(home, "quiver")],
                           check=True, capture_output=True)
            failed |= run(page, text, tree, environment(home, build))
    return failed


if __name__ == "__main__":
    sys.exit(main())
