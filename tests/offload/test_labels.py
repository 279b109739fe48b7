#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_labels.py CTEST BUILD with|without [LABEL...] - whole labels (fabric, mpi) with
FI_QUIVER_OFFLOAD=opencl, a minimum batch of 1 and small sizes, so that a device matches what it can.

with: on the device that is there; batches must have been matched, none of them wrong.
without: where there is no libOpenCL.so.1; every process says so in a line, and the CPU does it all.
As root this hides the library (a mount namespace of its own); else a broken one is put before it.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

COUNTERS = re.compile(r"offload to opencl \((.*?)\): (\d+) batches matched with (\d+) keys, "
                      r"(\d+) checked, (\d+) arrays combined, (\d+) refused, (\d+) failed, "
                      r"(\d+) of them wrong, (\d+) done by the CPU instead")
NAMES = ("batches", "keys", "checked", "arrays", "refused", "failed", "wrong", "fallback")
RESULT = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(\*\*\*)?(\w+)")
NO_DEVICE = "is off, the CPU does it: OpenCL has no device here"
NO_LIBRARY = "is off, the CPU does it: no OpenCL here"


class Sums:
    """What the processes of all tests have counted."""

    def __init__(self):
        self.counts = collections.Counter()
        self.results = collections.defaultdict(list)
        self.no_library = self.no_device = 0

    def take(self, line):
        found = COUNTERS.search(line)
        if found:
            self.counts["processes"] += 1
            for name, value in zip(NAMES, found.groups()[1:]):
                self.counts[name] += int(value)
        found = RESULT.match(line)
        if found:
            self.results[found.group(3)].append(found.group(1))
        self.no_library += NO_LIBRARY in line
        self.no_device += NO_DEVICE in line

    def report(self, label):
        count = {result: len(names) for result, names in self.results.items()}
        print(f"{label}: tests {count}")
        print(f"{label}: {dict(self.counts)}", flush=True)
        for result, names in self.results.items():
            if result != "Passed":
                print(f"{label}: {result}: {' '.join(names)}", flush=True)


def hidden(command):
    """The command, run where no OpenCL library can be found; or None."""
    libraries = sorted({os.path.dirname(os.path.realpath(f)) for f in
                        glob.glob("/usr/lib/*/libOpenCL.so*") + glob.glob("/usr/lib*/libOpenCL.so*")})
    if not libraries:
        return command
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False,
                                           capture_output=True).returncode:
        return None
    # Each folder is replaced by one of links to what it holds, but for that library.
    script = ["set -e", "mount -t tmpfs none /mnt"]
    for i, folder in enumerate(libraries):
        script += [f"mkdir /mnt/{i} /mnt/{i}.all", f"mount --bind {folder} /mnt/{i}.all",
                   f"ln -s /mnt/{i}.all/* /mnt/{i}/", f"rm /mnt/{i}/libOpenCL.so*",
                   f"mount --bind /mnt/{i} {folder}"]
    script.append('exec "$@"')
    return ["unshare", "-m", "sh", "-c", "\n".join(script), "sh", *command]


def run(ctest, build, label, env, hide):
    sums = Sums()
    command = [ctest, "--test-dir", build, "-V", "-L", f"^{label}$", "-LE", "slow",
               "-E", r"^(asan|tsan|offload)\."]
    with tempfile.TemporaryDirectory() as broken, \
            tempfile.NamedTemporaryFile("w+", suffix=".log", prefix=f"offload-{label}-", dir=build,
                                        delete=False) as log:
        if hide and not hidden(["true"]):
            with open(os.path.join(broken, "libOpenCL.so.1"), "wb"):
                env = dict(env, LD_LIBRARY_PATH=broken)
        elif hide:
            command = hidden(command)
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, errors="replace") as process:
            for line in process.stdout:
                log.write(line)
                sums.take(line)
    sums.report(label)
    print(f"{label}: all that was printed: {log.name}", flush=True)
    return sums


def judge(label, sums, hide):
    """What is wrong with a run, as text."""
    bad = {result: names for result, names in sums.results.items()
           if result not in ("Passed", "Skipped")}
    if bad or not sums.results["Passed"]:
        return f"{label}: failed: {bad}"
    if hide:
        if sums.counts["batches"] or sums.counts["arrays"]:
            return f"{label}: a device that cannot be there has done something"
        return None if sums.no_library else f"{label}: no line says that there is no library"
    if not sums.counts["batches"]:
        return f"{label}: nothing was matched on the device"
    if sums.counts["wrong"] or sums.counts["failed"]:
        return f"{label}: the device has failed"
    return None


def main():
    ctest, build, mode, *labels = sys.argv[1:]
    hide = mode == "without"
    env = dict(os.environ, FI_QUIVER_OFFLOAD="opencl", FI_QUIVER_OFFLOAD_MIN_BATCH="1",
               FI_QUIVER_OFFLOAD_MIN_BYTES="1", FI_QUIVER_STATS="yes", QV_TEST_SCALE="0.02",
               QUIVER_MPI_OFFLOAD="opencl", QUIVER_MPI_OFFLOAD_MIN_BYTES="1",
               QV_TEST_TIMEOUT="3",  # each process opens a device first
               POCL_CACHE_DIR=os.path.join(build, "tests", "offload", "pocl"))
    if not shutil.which(ctest):
        print(f"no {ctest}")
        return 1
    wrong = []
    for label in labels or ["fabric", "mpi"]:
        sums = run(ctest, build, label, env, hide)
        if sums.no_device and not hide:
            print("skipped: no OpenCL device here (Debian's package pocl-opencl-icd is one)")
            return 77
        wrong.append(judge(label, sums, hide))
    wrong = [text for text in wrong if text]
    print("\n".join(wrong) or f"{mode} a device: all pass")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
