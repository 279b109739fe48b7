# SPDX-License-Identifier: BSD-2-Clause
# package.py - the recipe for Spack 1.0 and later. CONTRIBUTING.md says how to use it from here.
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Quiver(CMakePackage):
    """Tag matching with MPI's rules at a flat cost: a libfabric provider for any MPI that runs
    over libfabric, a C library for authors of runtimes, and collectives by schedules."""

    # The tree that this file is part of. Who publishes releases names their place.
    homepage = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    git = homepage

    license("BSD-2-Clause")

    version("main", branch="main")

    # The provider is optimised as one program in this build type only (cmake/QuiverFlags.cmake).
    variant(
        "build_type",
        default="RelWithDebInfo",
        values=("Debug", "Release", "RelWithDebInfo"),
        description="CMake build type",
    )
    variant("fabric", default=True, description="The libfabric provider")
    variant("tools", default=True, description="The program quiver")
    variant(
        "mpi",
        default="none",
        values=("none", "openmpi", "mpich"),
        multi=False,
        description="The MPI whose collectives libquiver-mpi runs by schedules",
    )
    variant("opencl", default=False, description="A loader for OpenCL devices to match on")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("jansson", when="+tools")
    depends_on("libfabric@1.17:", when="+fabric")
    depends_on("openmpi@4.1:", when="mpi=openmpi")
    depends_on("mpich@4.0:", when="mpi=mpich")
    # OpenCL is opened at run time, where a program asks for it.
    depends_on("opencl-icd-loader", type="run", when="+opencl")

    requires("target=x86_64:")
    requires("platform=linux")
    conflicts("%gcc@:11", msg="quiver is built with gcc 12 or later")

    def cmake_args(self):
        args = [
            self.define_from_variant("QV_WITH_FABRIC", "fabric"),
            self.define_from_variant("QV_WITH_TOOLS", "tools"),
            self.define("QV_WITH_MPI", not self.spec.satisfies("mpi=none")),
            self.define("QV_WITH_TESTS", False),
        ]
        # An MPI of the system is not to be taken for one that the recipe names.
        for name, flavor in (("openmpi", "OMPI"), ("mpich", "MPICH")):
            compiler = ""
            if self.spec.satisfies("mpi=" + name):
                compiler = self.spec[name].prefix.bin.mpicc
            args.append(self.define("QV_%s_COMPILER" % flavor, compiler))
        return args

    def setup_run_environment(self, env):
        """libfabric finds the provider; nothing changes until FI_PROVIDER names it."""
        if self.spec.satisfies("+fabric"):
            libraries = self.prefix.lib64 if os.path.isdir(self.prefix.lib64) else self.prefix.lib
            env.prepend_path("FI_PROVIDER_PATH", libraries.libfabric)
