#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run_commands.py - run the commands of a page of the documentation, as a reader would.

usage: run_commands.py ROOT BUILD PAGE...
       run_commands.py ROOT --marked

Blocks that begin with ```sh are run, one after the other, in one shell, in a copy of the tree, with
what the build installs at $HOME/quiver. ./program and ./your_program stand for a program that ends
well. What stands behind "It prints:" must be in what the block before it has printed. Before a block
may be a line
    <!-- not run: WHY -->  it is left out, and listed
    <!-- begun: WHY -->    each of its commands is stopped after some seconds, unless it fails before

--marked looks for commands of all pages in blocks that do not begin with ```sh."""
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BLOCK = re.compile(r"(?:^<!-- (?P<mark>not run|begun): (?P<why>.*?) -->\n)?"
                   r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:    |\t)?(?:quiver (?:bench|info)|cmake|ctest|mpirun|mpiexec|scripts/\w|bench/\w+/|cc |"
                     r"fi_info|export |apt |make |valgrind|setsid|\./configure|[A-Z_]+=\S+ \S)")
BEGUN = 3       # seconds
UNSET = ("FI_", "OMPI_", "QUIVER_", "PMIX_", "CMAKE_", "LD_", "MAKE", "CTEST_")


def blocks(text):
    """Kind, text and line of each block, its mark and why, and what stands before it."""
    end = 0
    for found in BLOCK.finditer(text):
        yield (found["kind"], found["text"], text[:found.start("text")].count("\n"), found["mark"],
               found["why"], text[end:found.start()].rstrip())
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


def begun(block):
    """A block whose commands are stopped after a while."""
    commands = re.sub(r"\\\n\s*", " ", block).splitlines()
    begin = shlex.join([sys.executable, os.path.abspath(__file__), "--begin"])
    return "\n".join(f"{begin} {shlex.quote(c)}" for c in commands if c)


def begin(command):
    """Let a command run for a while, then end it with all that it has started. Its status, 0 if it was
    ended."""
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.DEVNULL, start_new_session=True) as shell:
        try:
            return shell.wait(BEGUN)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
                for _ in range(100):    # mpirun ends its ranks, and removes their files
                    time.sleep(0.1)
                    shell.poll()
                    os.killpg(shell.pid, 0)
                os.killpg(shell.pid, signal.SIGKILL)
            return 0


def unmarked(root):
    """Commands in blocks that are not marked as such."""
    folder = os.path.join(root, "docs")
    pages = [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".md")]
    for path in [os.path.join(root, "README.md"), os.path.join(root, "CONTRIBUTING.md"), *pages]:
        kind = None     # of the block that a line is in
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                if line.startswith("```"):
                    kind = line[3:].strip() if kind is None else None
                elif (kind == "" or kind is None and line.startswith(("    ", "\t"))) and COMMAND.match(line):
                    yield f"{os.path.relpath(path, root)}:{number}: a command in a block that is not ```sh: {line.strip()}"


def run(page, text, tree, env):
    """Run a page; 0, or 1 and a word about the block that fails."""
    script, wanted, left_out, count = ["set -e"], [], 0, 0
    for kind, block, line, mark, why, before in blocks(text):
        if kind == "sh" and mark == "not run":
            left_out += 1
            print(f"{page}:{line}: not run: {why}")
        elif kind == "sh":
            count += 1
            script += [f"echo '@@ {line}'; echo '@@ {line}' >&2", begun(block) if mark else block]
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
    if sys.argv[1] == "--begin":
        return begin(sys.argv[2])
    if sys.argv[2:] == ["--marked"]:
        bad = list(unmarked(os.path.abspath(sys.argv[1])))
        print(*bad, f"commands: {len(bad)} not marked", sep="\n")
        return 1 if bad else 0
    root, build, pages = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    failed = 0
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as f:
            text = f.read()
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            home, tree = os.path.join(folder, "home"), os.path.join(folder, "quiver")
            os.mkdir(home)
            copy_tree(root, build, tree)
            for name in ("program", "your_program"):
                os.symlink("/bin/true", os.path.join(tree, name))
            done = subprocess.run(["cmake", "--install", build, "--prefix", os.path.join(home, "quiver")],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"the build cannot be installed: {done.stderr}")
            failed |= run(page, text, tree, environment(home, build))
    return failed


if __name__ == "__main__":
    sys.exit(main())
