#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
demo_table.py [--quick] BUILD - one MPI ping-pong over several stacks, as one table.

A run that gets nothing done for PATIENCE seconds (it prints a dot per second in which it did) is
stopped; what it did not reach is shown as `hangs`. The Open MPI component and the provider are
named in each run, so that a stack which cannot be had ends in an error instead of another stack's
numbers.
"""
import os
import selectors
import signal
import subprocess
import sys
import time

DEPTHS = [0, 1, 16, 256, 1000, 4000, 10000]
KINDS = {"posted": "other receives posted before it",
         "unexpected": "other messages arrived, not yet received, before it"}
PATIENCE = 20.0
OFI = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include"]


class Stack:
    def __init__(self, title, args, env=None, is_quiver=False):
        self.title, self.args, self.env, self.is_quiver = title, args, env or {}, is_quiver
        self.us = {kind: {} for kind in KINDS}      # depth -> us
        self.zero = {kind: {} for kind in KINDS}    # depth -> us at depth 0, taken in between
        self.end = {kind: "" for kind in KINDS}     # why the run ended early

    def complete(self):
        return all(len(self.us[kind]) == len(DEPTHS) for kind in KINDS)


def quiver(core, build):
    env = {"FI_PROVIDER_PATH": os.path.join(build, "lib/libfabric"), "FI_PROVIDER": "quiver",
           "FI_QUIVER_CORE": core}
    return Stack(f"quiver/{core}", OFI + ["quiver"], env, is_quiver=True)


def distance(build):
    """How far the two processors are from each other, in a line; they are near or far for all."""
    return subprocess.run([os.path.join(build, "bin/quiver"), "bench", "distance"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def stacks(build):
    return [quiver("node", build), quiver("shm", build), quiver("tcp", build),
            Stack("tcp;ofi_rxm", OFI + ["tcp;ofi_rxm"]),
            Stack("net", OFI + ["net"]),
            Stack("default", [])]


def lines_of(process):
    """Lines as they come; None when PATIENCE seconds pass without one."""
    os.set_blocking(process.stdout.fileno(), False)
    pending, deadline = b"", time.monotonic() + PATIENCE
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                yield None
                return
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                return
            pending += chunk
            while b"\n" in pending:
                line, pending = pending.split(b"\n", 1)
                deadline = time.monotonic() + PATIENCE
                yield line.decode(errors="replace")


def stop(process):
    """End mpirun, which ends its ranks; then whatever of its session is left."""
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)


def measure(stack, kind, build, iters):
    command = ["mpirun.openmpi", "-np", "2"]
    if (os.cpu_count() or 1) < 2:
        command.append("--oversubscribe")
    command += stack.args + [os.path.join(build, "bin/mpi_depth_pingpong"), "--bytes", "8",
                             "--depths", ",".join(map(str, DEPTHS)), "--kind", kind,
                             "--iters", str(iters), "--beat"]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "OMPI_MCA_"))}
    env.update(stack.env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    other = []
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        for line in lines_of(process):
            if line is None:
                stack.end[kind] = "hangs"
                break
            words = line.split()
            if len(words) == 7 and words[0] == kind:
                depth = int(words[2])
                stack.us[kind][depth], stack.zero[kind][depth] = float(words[3]), float(words[5])
                print(f"  {stack.title:<12} {kind:<11} {depth:>6} {words[3]:>10} us", flush=True)
            elif line.strip(" .") and not line.startswith("kind "):
                other.append(line)
    finally:
        if stack.end[kind] or process.poll() is None and sys.exc_info()[0]:
            stop(process)
    if not stack.end[kind] and process.wait() != 0:
        stack.end[kind] = "fails"
    if stack.end[kind]:
        print(f"  {stack.title:<12} {kind:<11} {stack.end[kind]}", flush=True)
        if other and (stack.end[kind] == "fails" or stack.is_quiver):
            print("\n".join("    | " + line for line in other[-8:]), flush=True)


def cell(stack, kind, depth):
    if depth not in stack.us[kind]:
        return stack.end[kind] or "-"
    us, times = stack.us[kind][depth], stack.us[kind][depth] / stack.zero[kind][depth]
    return f"{us:.2f} {times:.{2 if times < 9.995 else 0}f}x".rjust(13)


def print_table(columns, far):
    print("\nMPI ping-pong, 8 B, median half round trip in us, Open MPI, 2 ranks on this machine;"
          f"\nthe processors' {far}: half the round trip of a flag in memory;"
          "\n1.00x: this latency divided by that of the same column with empty queues, the two measured in turns")
    for kind, words in KINDS.items():
        print(f"\n{words}:")
        print(f"{'':>6}" + "".join(f"{s.title:>15}" for s in columns))
        for depth in DEPTHS:
            print(f"{depth:>6}" + "".join(f"{cell(s, kind, depth):>15}" for s in columns))
    print("\nquiver/NAME: FI_PROVIDER=quiver with FI_QUIVER_CORE=NAME; node is quiver's own shared memory;"
          "\ntcp;ofi_rxm and net: libfabric's own providers; default: Open MPI left to itself.\n"
          f"hangs: got nothing done for {PATIENCE:.0f} s, stopped.")


def growth(stack, kind, words):
    """What the queue did to one stack, in a clause."""
    reached = sorted(stack.us[kind])
    if not reached:
        return f"{stack.end[kind] or 'ends early'} before the first line ({words})"
    last = reached[-1]
    if last < DEPTHS[-1]:
        following = DEPTHS[DEPTHS.index(last) + 1]
        return f"{stack.end[kind] or 'ends early'} with {following} {words} (got through {last})"
    us, zero = stack.us[kind][last], stack.zero[kind][last]
    return f"{us:.2f} us behind {last} {words}, {us / zero:.2f} times its {zero:.2f} us at 0"


def print_meaning(columns):
    print("\nWhat this shows, for 8 B on this machine:")
    for stack in columns:
        for kind, words in (("posted", "posted receives"), ("unexpected", "unexpected messages")):
            print(f"  {stack.title + ':':<13} {growth(stack, kind, words)}.")
    for stack in (s for s in columns if s.is_quiver):
        for rival in (s for s in columns if not s.is_quiver):
            for kind in KINDS:
                print_duel(stack, rival, kind)


def ratio(mine, other):
    """How other's time compares with mine, in words; within 10 % is the noise of one run."""
    if max(mine, other) < 1.1 * min(mine, other):
        return "about as fast"
    return f"{max(mine, other) / min(mine, other):.1f} times {'faster' if mine < other else 'slower'}"


def print_duel(stack, rival, kind):
    mine, other = stack.us[kind], rival.us[kind]
    both = [d for d in DEPTHS if d in mine and d in other]
    if not both:
        return
    first, last = both[0], both[-1]
    wins = [d for d in both if all(mine[e] < other[e] for e in both if e >= d)]
    line = f"{ratio(mine[first], other[first])} at {first}"
    if last != first:
        line += f", {ratio(mine[last], other[last])} at {last}"
        line += f", ahead from {wins[0]} on" if wins and wins[0] != first else ""
    missing = [d for d in DEPTHS if d in mine and d not in other]
    line += f"; from {missing[0]} on {rival.title} {rival.end[kind]}" if missing else ""
    print(f"  {stack.title} against {rival.title}, {kind}: {line}.")


def print_use(build):
    print(f"""
With your own MPI program (Open MPI), nothing recompiled:
  scripts/mpirun-quiver --core node -np 2 ./program     (--core tcp goes between machines)
which is:
  export FI_PROVIDER_PATH={build}/lib/libfabric FI_PROVIDER=quiver FI_QUIVER_CORE=node
  mpirun -np 2 --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include quiver ./program
With any libfabric program: the same three variables.""")


def main():
    args = sys.argv[1:]
    quick = "--quick" in args
    build = os.path.abspath([a for a in args if a != "--quick"][0])
    columns = stacks(build)
    far = distance(build)
    print(far, flush=True)
    for stack in columns:
        for kind in KINDS:
            measure(stack, kind, build, 300 if quick else 3000)
    print_table(columns, far)
    print_meaning(columns)
    print_use(build)
    failed = [s.title for s in columns if s.is_quiver and not s.complete()]
    if failed:
        print(f"scripts/demo: not every line of {' and '.join(failed)} was measured", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
