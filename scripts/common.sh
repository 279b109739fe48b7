# SPDX-License-Identifier: BSD-2-Clause
# common.sh - what the scripts share: steps with a clock, one line on failure, Debian packages.
# Sourced by bash scripts that set qv_name first.

qv_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
qv_step="start"
# What `ctest -j` is given: cmake/QuiverTest.cmake says what a slot is.
qv_slots=$((3 * $(nproc) + 1))

# step TEXT...: announce what is done next; a failure from here on is blamed on it.
step()
{
	qv_step="$*"
	printf '== %s: %s (%d s)\n' "$qv_name" "$qv_step" "$SECONDS"
}

# die TEXT...: one line, then out.
die()
{
	trap - ERR
	printf '%s: %s\n' "$qv_name" "$*" >&2
	exit 1
}

# on_failure: with "set -eE", any command that fails ends in one line that names the step.
on_failure()
{
	trap 'die "failed in step \"$qv_step\": $BASH_COMMAND"' ERR
}

# as_root COMMAND...: run it, by sudo where we are not root.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo --preserve-env=DEBIAN_FRONTEND "$@"
	else
		die "must be root, or have sudo, for: $*"
	fi
}

# tree_version: what include/quiver/types.h says, where the version is written once.
tree_version()
{
	sed -n 's/^#define QUIVER_VERSION  *"\([^"]*\)"$/\1/p' "$qv_root/include/quiver/types.h"
}

# lacking PACKAGE...: those of them that are not installed.
lacking()
{
	local p
	for p in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed ||
			printf '%s\n' "$p"
	done
}

# need_packages PACKAGE...: install what is missing; the package lists are fetched only when the
# ones at hand do not do.
need_packages()
{
	local missing install
	command -v dpkg-query >/dev/null || die "needs Debian 12 (no dpkg found here)"
	mapfile -t missing < <(lacking "$@")
	if [ "${#missing[@]}" -eq 0 ]; then
		return 0
	fi
	echo "installing: ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	install=(apt-get -y -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install
		--no-install-recommends "${missing[@]}")
	if ! apt-cache show "${missing[@]}" >/dev/null 2>&1 || ! as_root "${install[@]}"; then
		as_root apt-get -q update
		as_root "${install[@]}"
	fi
}

# A program or header that a build with tests needs, and the rpm that has it.
qv_needs=(gcc:gcc g++:gcc-c++ make:make cmake:cmake python3:python3 git:git objdump:binutils
	rdma/fabric.h:libfabric-devel jansson.h:jansson-devel cmocka.h:libcmocka-devel)

# need_to_build PACKAGE...: the same; where there is no dpkg nothing is installed, and what is missing
# is named.
need_to_build()
{
	local need missing=()
	if command -v dpkg-query >/dev/null; then
		need_packages "$@"
		return
	fi
	for need in "${qv_needs[@]}"; do
		case $need in
		*.h:*) echo "#include <${need%:*}>" | gcc -E -x c - >/dev/null 2>&1 ;;
		*) command -v "${need%:*}" >/dev/null ;;
		esac || missing+=("${need%:*} (rpm ${need#*:})")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		die "no Debian, so nothing is installed; missing: ${missing[*]}"
	fi
	echo "no Debian, so nothing is installed; what needs a program that is not there is skipped"
}

# The packages to build, and those that the tests run on top.
qv_build_packages=(gcc g++ libc6-dev make binutils cmake python3 git ca-certificates libfabric-dev
	libfabric-bin libcmocka-dev libjansson-dev libucx-dev openmpi-bin libopenmpi-dev
	mpich libmpich-dev libsimgrid-dev)
qv_test_packages=(clang clang-format hpcc netpipe-openmpi lammps
	qemu-user-static pocl-opencl-icd oclgrind opencl-c-headers verilator yosys
	libxrt1 libxrt-dev uuid-dev iproute2 spin
	mkdocs mandoc man-db groff-base pkgconf slurmctld slurmd slurm-client munge)
