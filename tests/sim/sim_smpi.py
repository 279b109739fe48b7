# SPDX-License-Identifier: BSD-2-Clause
"""sim_smpi.py - run a program under SMPI. Times are those of the platform's network only."""
import os
import subprocess
import sys
import tempfile

OPTIONS = ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/test:0", "--cfg=network/model:CM02",
           "--cfg=network/latency-factor:1", "--cfg=network/bandwidth-factor:1",
           "--cfg=network/crosstraffic:no", "--log=root.thres:error"]


def smpirun(write, ranks, program, *arguments, options=()):
    """What the program prints with so many ranks on the platform that write(ranks, path) makes."""
    with tempfile.TemporaryDirectory(prefix="quiver-sim.") as folder:
        platform, hosts = os.path.join(folder, "platform.xml"), os.path.join(folder, "hosts")
        write(ranks, platform)
        with open(hosts, "w", encoding="utf-8") as f:
            f.writelines(f"n{i}\n" for i in range(ranks))
        run = subprocess.run(["smpirun", "-np", str(ranks), "-hostfile", hosts, "-platform", platform,
                              *OPTIONS, *options, os.path.abspath(program), *arguments], cwd=folder,
                             text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode:
        sys.exit(f"{run.stdout}\nFAILED: smpirun ended with {run.returncode}")
    return run.stdout
