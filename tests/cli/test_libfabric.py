#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_libfabric.py - what quiver sets for a libfabric.

usage: test_libfabric.py <directory of libquiver-fi.so>
"""
import re
import shutil
import sys

from test_settings import RXM, check, run, wrong


def test_shared_queue():
    """rxm is told to share one queue of buffers, whichever way quiver comes to stand over it."""
    core = {"FI_QUIVER_CORE": "tcp;ofi_rxm"}
    for name, env in (("quiver", core), ("quiver", {**core, "FI_PROVIDER": "quiver,tcp"}),
                      ("ofi_quiver", {**core, "FI_PROVIDER": "ofi_quiver,tcp"}),
                      (RXM, {}), (RXM, {"FI_PROVIDER": RXM})):
        status, out, err = run("fi_info", "-p", name, FI_LOG_LEVEL="info", **env)
        check(f"shared queue: {name} {env}", status == 0 and
              re.findall(" use_srx=(.*)", err)[-1:] == ["1"], out + err)
        status, _, err = run("fi_info", "-p", name, FI_LOG_LEVEL="info", FI_OFI_RXM_USE_SRX="0", **env)
        check(f"shared queue: the user's, {name} {env}", status == 0 and "use_srx=0" in err and
              "use_srx=1" not in err, err)


def main():
    if not shutil.which("fi_info"):
        print("no fi_info here (package libfabric-bin)")
        return 77
    test_shared_queue()
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
