#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_fabric.py TEST_FABRIC PROVIDERS FAKE - FI_QUIVER_OFFLOAD in a libfabric program: with a
device, without an OpenCL library, with devices that fail, with wrong settings.

FAKE is the folder of the libOpenCL.so.1 that fails when told to.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

COUNTERS = re.compile(r"offload to opencl \((.*?)\): (\d+) batches.* (\d+) failed, (\d+) of them wrong, "
                      r"(\d+) done by the CPU")
CASE = "order_same_key"


class Runner:
    def __init__(self, program, providers):
        self.program = program
        self.wrong = 0
        self.env = dict(os.environ, FI_PROVIDER_PATH=providers, FI_PROVIDER="quiver",
                        FI_QUIVER_CORE="shm", FI_QUIVER_STATS="yes", QV_TEST_SCALE="0.02",
                        FI_QUIVER_OFFLOAD="opencl", FI_QUIVER_OFFLOAD_MIN_BATCH="1")

    def run(self, case=CASE, **env):
        done = subprocess.run([self.program, case], capture_output=True, text=True, timeout=120,
                              env={**self.env, **env}, check=False)
        text = done.stdout + done.stderr
        # Of the process that has matched, or tried to.
        states = [match.groups() for match in COUNTERS.finditer(text)]
        return done.returncode, text, max(states, key=lambda s: int(s[1]) + int(s[2]),
                                          default=None)

    def expect(self, what, good, text):
        print(f"{'ok  ' if good else 'FAIL'} {what}")
        if not good:
            print(text[-3000:])
            self.wrong += 1


# The device is tested first, which takes about 10 answers and 30 launches. What comes much later is
# the program's.
def with_device(r, fake):
    status, text, counters = r.run()
    if counters and counters[0] == "off" and "no device here" in text:
        print("skipped: no OpenCL device here (Debian's package pocl-opencl-icd is one)")
        return False
    r.expect("a device matches", status == 0 and counters and counters[0] == "open" and
             int(counters[1]) > 0 and counters[2] == "0", text)
    for fault, state in (("build", "off"), ("lost:35", "off"), ("hang:14", "off"),
                         ("wrong:14", "off")):
        status, text, counters = r.run(LD_LIBRARY_PATH=fake, QV_FAKE_CL=fault)
        r.expect(f"nothing is lost with {fault}", status == 0 and counters and
                 counters[0] == state and int(counters[2]) > 0, text)
        # The receiver, and with a fault that hits each process the sender.
        r.expect(f"one line with {fault}", len(re.findall(r"quiver: offload to opencl is", text))
                 == (2 if fault == "build" else 1), text)
    status, text, _ = r.run("coll_sizes", FI_QUIVER_OFFLOAD_MIN_BYTES="1")
    arrays = [int(n) for n in re.findall(r"(\d+) arrays combined", text)]
    r.expect("collectives combine there", status == 0 and arrays and max(arrays) > 0, text)
    # 77: this libfabric is too old for that mode.
    status, text, counters = r.run("coll_sizes", FI_QUIVER_MODE="peer",
                                   FI_QUIVER_OFFLOAD_MIN_BYTES="1")
    arrays = [int(n) for n in re.findall(r"(\d+) arrays combined", text)]
    r.expect("peer mode: collectives combine there, and the CPU matches, which is said",
             status == 77 or (status == 0 and arrays and max(arrays) > 0 and
                              counters[1] == "0" and "but the CPU matches" in text), text)
    status, text, counters = r.run("fork")
    r.expect("fork", status == 0 and counters and counters[0] == "open", text)
    for _ in range(3): # PoCL's threads may not get a processor within the 2 s of an answer
        status, text, _ = r.run("coll_sizes", FI_QUIVER_OFFLOAD="auto", FI_LOG_LEVEL="info",
                                FI_QUIVER_OFFLOAD_MIN_BATCH="", QV_TEST_SCALE="1")
        if status or "no answer within" not in text:
            break
    line = re.search(r"offload auto: .* messages, the CPU \d+; .* bytes, the CPU \d+; .*", text)
    r.expect("auto says what it found", status == 0 and line, text)
    status, text, counters = r.run(FI_QUIVER_OFFLOAD_DEVICE="no such device")
    r.expect("an unknown device is named", status == 0 and "no OpenCL device is 'no such device'"
             in text and counters[0] == "off", text)
    return True


def without_library(r):
    with tempfile.TemporaryDirectory() as empty:
        with open(os.path.join(empty, "libOpenCL.so.1"), "wb"):
            pass
        status, text, counters = r.run(LD_LIBRARY_PATH=empty)
        r.expect("without a library: a line, and the CPU", status == 0 and counters and
                 counters[0] == "off" and "is off, the CPU does it: no OpenCL here" in text, text)
        # What only asks for information opens nothing, or there would be that line.
        status, text, counters = r.run("refused_hints", LD_LIBRARY_PATH=empty)
        r.expect("fi_getinfo that finds nothing opens nothing",
                 status == 0 and "offload" not in text, text)
        if shutil.which("fi_info"):
            done = subprocess.run(["fi_info", "-p", "quiver"], capture_output=True, text=True,
                                  check=False, env={**r.env, "LD_LIBRARY_PATH": empty})
            text = done.stdout + done.stderr
            r.expect("fi_getinfo opens nothing", done.returncode == 0 and
                     "provider: quiver" in text and "offload" not in text, text)
        status, text, counters = r.run(LD_LIBRARY_PATH=empty, FI_QUIVER_OFFLOAD="off")
        r.expect("off: nothing is said", status == 0 and "offload" not in text, text)


def settings(r):
    for env, line in (({"FI_QUIVER_OFFLOAD": "gpu"}, "FI_QUIVER_OFFLOAD=gpu is not known; known: "
                                                     "off opencl xrt auto"),
                      ({"FI_QUIVER_OFFLOAD_MIN_BATCH": "0"}, "is not a number of messages"),
                      ({"FI_QUIVER_OFFLOAD_MIN_BYTES": "x"}, "is not a number of bytes")):
        status, text, _ = r.run(**env)
        r.expect(f"refused: {env}", status != 0 and line in text, text)


def main():
    program, providers, fake = sys.argv[1:]
    runner = Runner(program, providers)
    without_library(runner)
    settings(runner)
    ran = with_device(runner, fake)
    return 1 if runner.wrong else 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
