#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_libfabric.py - what quiver sets for a libfabric, and a process that has two of them.

usage: test_libfabric.py <directory of libquiver-fi.so>
"""
import os
import re
import shutil
import sys
import tempfile

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


# Asks a libfabric, and then a copy of it, which the loader takes for another one.
TWO = """
import ctypes, sys
def names(path):
    fabric = ctypes.CDLL(path)
    fabric.fi_tostr.restype = ctypes.c_char_p
    info = ctypes.c_void_p()
    status = fabric.fi_getinfo(1 << 16 | 17, None, None, ctypes.c_uint64(0), None, ctypes.byref(info))
    return b"quiver" in fabric.fi_tostr(info, 0) if status == 0 else False
print(names("libfabric.so.1"), names(sys.argv[1]))
"""


def test_two_libfabrics():
    """The first has quiver; what the second lacks is said, if quiver was asked for."""
    maps = "import ctypes; ctypes.CDLL('libfabric.so.1'); print(open('/proc/self/maps').read())"
    library = re.search(r"/\S*/libfabric\.so\S*", run(sys.executable, "-c", maps)[1])[0]
    with tempfile.TemporaryDirectory() as directory:
        other = shutil.copy(library, os.path.join(directory, "libother.so"))
        for env, said in (({}, 1), ({"FI_QUIVER_QUIET": "1"}, 0)):
            status, out, err = run(sys.executable, "-c", TWO, other, FI_PROVIDER="quiver",
                                   FI_QUIVER_CORE="tcp", **env)
            check(f"two libfabrics {env}", status == 0 and out == "True False\n" and
                  err.count("quiver serves one libfabric of a process") == said and
                  (not said or f"not loaded for {other}\n" in err), out + err)
        status, out, err = run(sys.executable, "-c", TWO, other, FI_PROVIDER="tcp")
        check("two libfabrics without quiver", status == 0 and "quiver" not in err, err)
        shutil.copy(os.path.join(sys.argv[1], "libquiver-fi.so"), directory)
        status, out, err = run(sys.executable, "-c", TWO, other, FI_PROVIDER="quiver,ofi_quiver",
                               FI_QUIVER_CORE="tcp", FI_PROVIDER_PATH=directory)
        check("two libfabrics, one name", status == 0 and out == "True False\n", out + err)


def main():
    if not shutil.which("fi_info"):
        print("no fi_info here (package libfabric-bin)")
        return 77
    test_shared_queue()
    test_two_libfabrics()
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
