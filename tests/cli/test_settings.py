#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_settings.py - what the user sets: wrong values get one line and nothing, good ones work.

usage: test_settings.py <directory of libquiver-fi.so> [<program quiver>]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

KNOWN = ["CORE", "RAILS", "MODE", "MATCH", "PROFILE", "COLLECTIVE", "HINTS", "ISA", "EAGER", "MEMORY", "PATIENCE", "KEEPALIVE", "QUEUE", "LINGER",
         "STATS", "TRACE", "NODE", "QUIET", "COLL", "OFFLOAD", "OFFLOAD_MIN_BATCH", "OFFLOAD_MIN_BYTES",
         "OFFLOAD_DEVICE",
         "XCLBIN", "XRT_LIB"]
RXM = "tcp;ofi_rxm;ofi_quiver"

wrong = []


def nobody():
    """An ordinary user, whom files and folders can refuse."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def run(*argv, before=None, **env):
    """The command without any setting of the caller's, but with these."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    full["FI_PROVIDER_PATH"] = sys.argv[1]
    full["LD_PRELOAD"] = os.path.join(sys.argv[1], "../../tests/qv_kallsyms.so")  # faster, see there
    full.update(env)
    done = subprocess.run(argv, env=full, capture_output=True, text=True, timeout=60, check=False,
                          preexec_fn=before)
    return done.returncode, done.stdout.replace("\0", ""), done.stderr


def check(what, condition, seen=""):
    """Note what is not as it should be, and go on."""
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}\n{seen}")


def providers(text):
    """Provider names in what fi_info prints."""
    return {line.split()[1] for line in text.splitlines() if line.startswith("provider:")}


def refused(name, value, *words, provider="quiver", **env):
    """Nothing is offered, and one line on stderr has the setting and all the words."""
    settings = {} if name == "FI_PROVIDER" else {name: value}
    status, out, err = run("fi_info", **settings, **env, FI_PROVIDER=provider)
    lines = [line for line in err.splitlines() if line.startswith("quiver: ")]
    check(f"{name}={value}: nothing is offered", status != 0 and not providers(out), out)
    check(f"{name}={value}: one line", len(lines) == 1, err)
    check(f"{name}={value}: {' '.join(words)}",
          lines and all(w in lines[0] for w in (value,) + words), err)


def accepted(provider, **settings):
    """Exactly this provider is offered, without a word."""
    status, out, err = run("fi_info", FI_PROVIDER=provider, **settings)
    check(f"{provider} with {settings}", status == 0 and providers(out) == {provider}, out + err)
    check(f"{provider} with {settings}: silent", "quiver:" not in err, err)


def test_values():
    """Each variable, wrong and right."""
    refused("FI_QUIVER_ISA", "sse9", "scalar", "avx2", "avx512f", "avx512", "neon")
    refused("FI_QUIVER_MATCH", "sorted", "auto", "llv")
    refused("FI_QUIVER_MODE", "sideways", "auto", "layered", "peer")
    for value in ("lo", "lo,", ",lo", "lo,lo", "a,b,c"):
        refused("FI_QUIVER_RAILS", value, "two names")
    refused("FI_QUIVER_RAILS", "lo,nosuch0", "no domain or interface nosuch0", "there are:", " lo")
    refused("FI_QUIVER_RAILS", "nosuch0,lo", "no domain or interface nosuch0")
    for value in ("many", "-1", "12q", "1kk", "99999999999G"):
        refused("FI_QUIVER_EAGER", value, "number of bytes")
    refused("FI_QUIVER_MEMORY", "0x10", "number of bytes")
    for value in ("-1", "2s", "86401", " 3"):
        refused("FI_QUIVER_PATIENCE", value, "number of seconds")
        refused("FI_QUIVER_LINGER", value, "number of seconds")
    accepted("quiver", FI_QUIVER_PATIENCE="0", FI_QUIVER_LINGER="86400")
    refused("FI_QUIVER_STATS", "perhaps", "yes", "no", "json:FILE", "profile:FILE")
    assertions = ["mpi_assert_" + s for s in ("no_any_tag", "no_any_source", "exact_length",
                                              "allow_overtaking")]
    refused("FI_QUIVER_HINTS", "mpi_assert_no_any_tag,no_wildcards", ": no_wildcards is not known",
            *assertions)
    accepted("quiver", FI_QUIVER_HINTS=",".join(assertions))
    accepted("quiver", FI_QUIVER_HINTS=" no_any_tag, exact_length")
    accepted("quiver")
    accepted("quiver", FI_QUIVER_CORE="auto", FI_QUIVER_MODE="layered", FI_QUIVER_MATCH="auto",
             FI_QUIVER_ISA="scalar", FI_QUIVER_EAGER="4k", FI_QUIVER_MEMORY="1G",
             FI_QUIVER_STATS="no", FI_QUIVER_QUIET="0")
    accepted("quiver", FI_QUIVER_CORE="", FI_QUIVER_ISA="", FI_QUIVER_QUIET="")


def test_structures():
    """FI_QUIVER_MATCH: each has what it needs, or the line says what it lacks."""
    for name in ("col", "col-ll", "col-pnp:ll,k=2"):
        refused("FI_QUIVER_MATCH", name, "needs FI_QUIVER_COLLECTIVE", "no MPI that is known")
        for bits in ("ompi", "mpich", "80000000", "1:fffffffffffffffe", "8000000000000000:0"):
            accepted("quiver", FI_QUIVER_MATCH=name, FI_QUIVER_COLLECTIVE=bits)
    refused("FI_QUIVER_MATCH", "col:t=1", "options", FI_QUIVER_COLLECTIVE="ompi")
    for bits in ("openmpi", "0", "0:1", "0x1", "-1", " 1", "1 ", "1:", ":1", "1:g", "1:1:1", "10000000000000000"):
        refused("FI_QUIVER_COLLECTIVE", bits, "neither ompi nor mpich", "hexadecimal")
    for name in ("clu", "pnp-static:lla", "clu:kmeans=4"):
        refused("FI_QUIVER_MATCH", name, "FI_QUIVER_PROFILE", "FI_QUIVER_STATS=profile:FILE")
    refused("FI_QUIVER_MATCH", "lla:block=1", "options")
    refused("FI_QUIVER_MATCH", "auto:fast", "options")
    for name in ("ll", "lla:block=16", "pnp:lla,t=50", "ompi", "nm"):
        accepted("quiver", FI_QUIVER_MATCH=name)


def test_profiles():
    """FI_QUIVER_PROFILE and where FI_QUIVER_STATS writes one."""
    job = {"PMI_RANK": "3", "PMI_SIZE": "4"}
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "profile.3")
        wrong_file = os.path.join(directory, "wrong")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# comment\n0 7 1\n2 9\n")
        for name in ("clu", "clu:kmeans=4", "pnp-static:lla", "auto"):
            accepted("quiver", FI_QUIVER_MATCH=name, FI_QUIVER_PROFILE=path)
            accepted("quiver", FI_QUIVER_MATCH=name, **job,
                     FI_QUIVER_PROFILE=os.path.join(directory, "profile.%r"))
        for text, what in (("0 7\n0 x\n", "line 2"), ("0 7 7\n1 2 3 4\n", "line 2"),
                           ("5 1\n4 1\n5 2\n", "source 5 twice"),
                           ("# nothing\n", "SOURCE POSTED UNEXPECTED")):
            with open(wrong_file, "w", encoding="utf-8") as file:
                file.write(text)
            refused("FI_QUIVER_PROFILE", wrong_file, what)
        refused("FI_QUIVER_PROFILE", directory + "/none", "No such file")
        refused("FI_QUIVER_PROFILE", directory, "SOURCE POSTED UNEXPECTED")
        refused("FI_QUIVER_PROFILE", path[:-1] + "%r", "no launcher has set a rank")
        refused("FI_QUIVER_PROFILE", path[:-1] + "%x", "%r", "%p", "%h")
        refused("FI_QUIVER_PROFILE", path[:-1] + "%", "%r", "%p", "%h")
        to = "profile:" + directory
        refused("FI_QUIVER_STATS", "profile:", "no file")
        refused("FI_QUIVER_STATS", to + "/none/x", "No such file")
        refused("FI_QUIVER_STATS", to + "/%q", "%r", "%p", "%h")
        for pattern in ("/x", "/x%%r", "/%h"):
            refused("FI_QUIVER_STATS", to + pattern, "one file for all processes", **job)
        for pattern in ("/x%r", "/%h.%p", "/%%%r"):
            accepted("quiver", FI_QUIVER_STATS=to + pattern, **job)
        for rank in "01":
            refused("FI_QUIVER_STATS", to + "/x", "one file for all processes", PMIX_RANK=rank)
        for size in ("OMPI_COMM_WORLD_SIZE", "OMPI_MCA_orte_ess_num_procs"): # a program started by itself
            accepted("quiver", FI_QUIVER_STATS=to + "/x", PMIX_RANK="0", **{size: "1"})
        accepted("quiver", FI_QUIVER_STATS=to + "/x", SLURM_PROCID="0") # the script of a job
        refused("FI_QUIVER_STATS", to + "/x", "one file for all processes", SLURM_PROCID="1")
        for form in ("json:", "profile:"):
            name = form + directory + "/"
            refused("FI_QUIVER_STATS", name + 251 * "x", "the name is too long")
            accepted("quiver", FI_QUIVER_STATS=name + 250 * "x")
        accepted("quiver", FI_QUIVER_STATS=to + "/x")
        to = "json:" + directory + "/x"
        for before in ("detail", "interval=1", "interval=86400", "signal=HUP", "signal=usr1"):
            accepted("quiver", FI_QUIVER_STATS=f"{before}:{to}")
        accepted("quiver", FI_QUIVER_STATS=f"signal=USR2:interval=5:detail:{to}")
        for before in ("detail=1", "details", "interval", "interval=", "interval=0", "interval=-1",
                       "interval=1.5", "interval=86401", "interval=99999999999999999999", "signal",
                       "signal=", "signal=KILL", "signal=10", "", "detail:x", "=", "x" * 700):
            refused("FI_QUIVER_STATS", f"{before}:{to}"[:800], "is no option", "interval=SECONDS")
        for value in ("detail:yes", "interval=5:profile:/tmp/x", "signal=USR1:", "detail:detail"):
            refused("FI_QUIVER_STATS", value, "json:FILE comes behind them")
        refused("FI_QUIVER_STATS", "detail:json:", "no file")
        check("settings alone write nothing", sorted(os.listdir(directory)) == ["profile.3", "wrong"])


def test_folders():
    """What is there needs no leave of its folder, which an ordinary user may not have."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "old")
        with open(path, "w", encoding="utf-8"):
            os.chmod(path, 0o666)
        os.chmod(folder, 0o555)
        for name, form in (("STATS", "json:"), ("STATS", "profile:"), ("TRACE", "")):
            for there in ("/dev/null", path):
                accepted("quiver", before=nobody, **{f"FI_QUIVER_{name}": form + there})
            refused(f"FI_QUIVER_{name}", form + path + "er", f"{folder} cannot be written to", before=nobody)
        os.chmod(path, 0o444)
        refused("FI_QUIVER_STATS", "json:" + path, f"{path} cannot be written: Permission denied", before=nobody)
        os.chmod(folder, 0o755)


def test_cores():
    """Which cores are taken, and what is said of the others."""
    refused("FI_QUIVER_CORE", "carrier-pigeon", "not known", "shm", "tcp", "node")
    refused("FI_QUIVER_CORE", "udp", "FI_EP_RDM", "udp;ofi_rxd;ofi_quiver")
    advice = 'FI_PROVIDER=quiver,udp FI_QUIVER_CORE="node,udp;ofi_rxd"'
    refused("FI_QUIVER_CORE", "udp,node", advice)
    status, out, err = run("fi_info", "-p", "quiver", FI_PROVIDER="quiver,udp", FI_QUIVER_CORE="node,udp;ofi_rxd")
    check("which works", status == 0 and providers(out) == {"quiver"}, out + err)
    refused("FI_QUIVER_CORE", "ofi_rxm", "not a core")
    refused("FI_QUIVER_CORE", "quiver", "quiver itself")
    for value in ("tcp,sockets", "shm,shm", "shm,node", "shm,", ",tcp", "shm,tcp,sockets"):
        refused("FI_QUIVER_CORE", value, "node or shm and one other")
    refused("FI_QUIVER_CORE", "shm,carrier-pigeon", "not known")
    refused("FI_QUIVER_CORE", "shm,tcp;ofi_rxm", "layered")
    refused("FI_QUIVER_CORE", "tcp;ofi_rxm", f'FI_PROVIDER="{RXM}"')
    refused("FI_PROVIDER", "carrier-pigeon", "not known",
            provider="carrier-pigeon;ofi_quiver")
    for core in ("shm", "tcp", "sockets", "shm,tcp", "sockets,shm", "SHM,tcp",
                 "node", "NODE", "node,tcp", "tcp,node"):
        accepted("quiver", FI_QUIVER_CORE=core)
    accepted(RXM)
    accepted("shm;ofi_quiver")
    accepted("tcp;ofi_quiver")
    accepted("ofi_quiver", FI_QUIVER_CORE="shm")
    # The layered name says which core; a wrong setting of the other way does not matter to it.
    accepted(RXM, FI_QUIVER_CORE="carrier-pigeon")


def test_names():
    """Misspelt variables are named and do no harm; variables of a provider not in use are not."""
    status, out, err = run("fi_info", FI_PROVIDER="quiver", FI_QUIVER_CROE="shm", FI_QUIVER_X="")
    check("misspelt: works", status == 0 and providers(out) == {"quiver"}, out)
    check("misspelt: named", "quiver: " in err and "FI_QUIVER_CROE FI_QUIVER_X" in err, err)
    status, out, err = run("fi_info", FI_PROVIDER="quiver", FI_QUIVER_Core="shm")
    check("small letters: named", status == 0 and "FI_QUIVER_Core" in err, err)
    status, out, err = run("fi_info", FI_QUIVER_ISA="sse9")
    check("not in use: silent", status == 0 and "quiver" not in out + err, err)
    status, out, err = run("fi_info", FI_PROVIDER="quiver", FI_QUIVER_ISA="sse9",
                           FI_QUIVER_QUIET="1")
    check("quiet", status != 0 and "quiver:" not in err, err)
    status, out, err = run("fi_info", FI_PROVIDER="quiver", FI_QUIVER_ISA="sse9",
                           FI_QUIVER_QUIET="1", FI_LOG_LEVEL="warn")
    check("quiet, but in the log", "sse9 is not known" in err, err)
    status, out, err = run("fi_info", "-p", "quiver", FI_LOG_LEVEL="info")
    check("named by hints", providers(out) == {"quiver"}, out)
    status, out, err = run("fi_info", "-t", "FI_EP_MSG", FI_PROVIDER="quiver", FI_LOG_LEVEL="info")
    check("a refusal is in the log", status != 0 and "only FI_EP_RDM" in err, err)
    status, out, err = run("fi_info", "-e")
    for name in KNOWN:
        check(f"fi_info -e knows FI_QUIVER_{name}", f"# FI_QUIVER_{name}:" in out, out[-3000:])
    check("and no others", out.count("# FI_QUIVER_") == len(KNOWN), out[-3000:])


def test_one_file():
    """Without the second file name there is one provider, and it works."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(os.path.join(sys.argv[1], "libquiver-fi.so"), directory)
        status, out, _ = run("fi_info", "-l", FI_PROVIDER_PATH=directory)
        check("one name", status == 0 and "\nquiver:" in out and "ofi_quiver" not in out, out)
        for name in ("libx-fi.so", "libz-fi.so"): # and more of them do not hurt
            os.symlink("libquiver-fi.so", os.path.join(directory, name))
        status, out, _ = run("fi_info", FI_PROVIDER_PATH=directory, FI_PROVIDER="quiver",
                             FI_QUIVER_CORE="shm")
        check("three names", providers(out) == {"quiver"}, out)


def test_info(tool):
    """The program's account agrees with what fi_info finds."""
    status, out, err = run(tool, "info", "--help")
    check("info --help", status == 0 and "--json" in out and not err, out + err)
    status, out, err = run(tool, "info", "--nonsense")
    check("info --nonsense", status == 2 and "--nonsense" in err and not out, out + err)
    status, out, err = run(tool, "info")
    check("info", status == 0 and not err, err)
    for word in ("libfabric", "libquiver-fi.so", "FI_PROVIDER=quiver FI_QUIVER_CORE=shm",
                 f'FI_PROVIDER="{RXM}"', "udp", "FI_EP_DGRAM", "offload", "scalar"):
        check(f"info says {word}", word in out, out)
    check("info, no offload", "opencl xrt; chosen: off" in out, out)
    check("info, quiver is not named", "FI_PROVIDER is not set; programs need FI_PROVIDER=quiver\n" in out and
          "FI_PROVIDER_PATH is not set" not in out, out)
    status, out, err = run(tool, "info", FI_PROVIDER="quiver")
    check("info, quiver is named", status == 0 and "not set" not in out, out)
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("FI_", "PMI"))}
    out = subprocess.run([tool, "info"], env=bare, capture_output=True, text=True, timeout=60, check=False).stdout
    path = re.search("FI_PROVIDER_PATH is not set; programs need FI_PROVIDER_PATH=(.*)\n", out)
    check("info, the place of quiver", path and os.path.samefile(path[1], sys.argv[1]), out)
    status, out, err = run(tool, "info", FI_QUIVER_OFFLOAD="opencl",
                           FI_QUIVER_OFFLOAD_DEVICE="no such device")
    check("info, no device", status == 0 and
          re.search("opencl, but the CPU does it: (no OpenCL|OpenCL has no) ", out), out + err)
    status, out, err = run(tool, "info", FI_QUIVER_ISA="sse9")
    check("info, wrong ISA", status == 1 and "not offered" in out and "sse9" in err, out + err)
    for value in ("tcp", "^quiver"):
        status, out, err = run(tool, "info", FI_PROVIDER=value)
        check(f"info, FI_PROVIDER={value}", status == 1 and f"FI_PROVIDER={value} leaves it out" in out,
              out + err)
    status, out, err = run(tool, "info", FI_PROVIDER_PATH="/nowhere")
    check("info, no provider", status == 1 and "not found" in out, out + err)

    status, out, err = run(tool, "info", "--json", FI_QUIVER_CORE="shm", FI_QUIVER_MATCH="ll",
                           FI_QUIVER_ISA="scalar")
    check("info --json", status == 0 and not err, err)
    told = json.loads(out)
    check("now", told["now"]["core"] == "shm" and told["now"]["provider"] == "quiver", out)
    check("chosen", told["isa"]["chosen"] == "scalar" and told["matching"]["chosen"] == "ll", out)
    check("loaded", told["loaded"] and os.path.samefile(
        told["provider"], os.path.join(sys.argv[1], "libquiver-fi.so")), out)
    for wanted, core in (("SHM", "shm"), ("Shm,Sockets", "shm,sockets")):
        _, out, _ = run(tool, "info", "--json", FI_QUIVER_CORE=wanted)
        check(f"{wanted} is {core}", json.loads(out)["now"]["core"] == core, out)
    status, out, err = run(tool, "info", "--json", FI_PROVIDER=RXM)
    check("now, layered", json.loads(out)["now"]["core"] == "tcp;ofi_rxm", out)
    check("not usable has a reason", all(c["usable"] or c["reason"] for c in told["cores"]), out)
    for wanted, bits, chosen in (("lla:block=16", "", "lla"), ("col", "", None), ("col", "mpich", "col"),
                                 ("clu", "", None), ("pnp:t=x", "", None)):
        _, out, _ = run(tool, "info", "--json", FI_QUIVER_CORE="shm", FI_QUIVER_MATCH=wanted,
                        FI_QUIVER_COLLECTIVE=bits)
        check(f"info of {wanted}", json.loads(out)["matching"]["chosen"] == chosen, out)
    for wanted, bits, why in (("col-pnp", "", "FI_QUIVER_MATCH needs an MPI, or FI_QUIVER_COLLECTIVE"),
                              ("col-pnp", "xyz", "FI_QUIVER_COLLECTIVE is wrong"),
                              ("ll", "0", "FI_QUIVER_COLLECTIVE is wrong"),
                              ("col:t=1", "", "FI_QUIVER_MATCH is wrong")):
        _, out, _ = run(tool, "info", FI_QUIVER_CORE="shm", FI_QUIVER_MATCH=wanted, FI_QUIVER_COLLECTIVE=bits)
        check(f"info of {wanted} and '{bits}'", f"; chosen: none, {why}\n" in out, out)
    # A profile that only ranks can name.
    for wanted, why in (("clu:kmeans=4", ""), ("pnp-static:lla", ""), ("auto", ""), ("ll", ""),
                        ("clu:kmeans=x", "FI_QUIVER_MATCH is wrong"), ("pnp-static:", "FI_QUIVER_MATCH is wrong")):
        _, out, _ = run(tool, "info", FI_QUIVER_CORE="shm", FI_QUIVER_MATCH=wanted, FI_QUIVER_PROFILE="/none/p.%r")
        chosen = f"none, {why}" if why else wanted.split(":")[0]
        check(f"info of {wanted} and a profile by rank", f"; chosen: {chosen}\n" in out, out)
    _, out, _ = run(tool, "info", FI_QUIVER_CORE="shm", FI_QUIVER_MATCH="ll", FI_QUIVER_PROFILE="/none/%r.%q")
    check("info of a profile by what is no name", "; chosen: none, FI_QUIVER_PROFILE is wrong\n" in out, out)
    for wanted, profile, why in (("clu", "/none/p", "FI_QUIVER_PROFILE is wrong"), ("ll", "/none/p", "FI_QUIVER_PROFILE is wrong"),
                                 ("clu", __file__, "FI_QUIVER_PROFILE is wrong"),
                                 ("clu", "", "FI_QUIVER_MATCH needs FI_QUIVER_PROFILE"),
                                 ("clu:kmeans=x", "", "FI_QUIVER_MATCH is wrong")):
        _, out, _ = run(tool, "info", FI_QUIVER_CORE="shm", FI_QUIVER_MATCH=wanted, FI_QUIVER_PROFILE=profile)
        check(f"info of {wanted} and '{profile}'", f"; chosen: none, {why}\n" in out, out)
    # What it says to set works.
    for core in told["cores"]:
        if core["usable"]:
            env = dict(word.split("=", 1) for word in core["environment"].replace('"', "").split())
            accepted(**{"provider": env.pop("FI_PROVIDER"), **env})


def main():
    if not shutil.which("fi_info"):
        print("no fi_info here (package libfabric-bin)")
        return 77
    test_values()
    test_structures()
    test_profiles()
    test_folders()
    test_cores()
    test_names()
    test_one_file()
    if len(sys.argv) > 2:
        test_info(sys.argv[2])
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
