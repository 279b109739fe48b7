#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# offload.sh BUILD FAKE - QUIVER_MPI_OFFLOAD: libquiver-mpi's reductions on a device, with
# devices that fail (FAKE is the folder of such a libOpenCL.so.1), and where there is no library.
build=$1 fake=$2
. "$(dirname "$0")/common.sh"
export POCL_CACHE_DIR=$build/tests/offload/pocl
# The provider's own device would speak, too; and what is off by default is looked at here.
unset "${!FI_QUIVER_OFFLOAD@}" "${!QUIVER_MPI_OFFLOAD@}"

# run CASES VARIABLE=VALUE...: cases of mpi_glue on two ranks, their results against the MPI's own.
run()
{
	local cases=$1 set=() v
	shift
	for v in "$@"; do
		set+=(-x "$v")
	done
	# shellcheck disable=SC2086 # cases are words
	over_default 2 100 -x QUIVER_MPI_STATS=1 -x QUIVER_MPI_OFFLOAD_MIN_BYTES=1 "${set[@]}" \
		"$build/bin/mpi_glue_ompi" $cases >"$run_dir/out" 2>&1 &&
		grep -q 'passed [0-9]* cases on' "$run_dir/out" || { cat "$run_dir/out"; fail "$*: failed"; }
}

says()
{
	grep -E "$1" "$run_dir/out" || { cat "$run_dir/out"; fail "no line with: $1"; }
}

# Without a library, whether or not there is one.
mkdir "$run_dir/empty"
: >"$run_dir/empty/libOpenCL.so.1"
run forms QUIVER_MPI_OFFLOAD=opencl "LD_LIBRARY_PATH=$run_dir/empty"
says '^quiver: offload to opencl is off, the CPU does it: no OpenCL here'
says 'open on 0 ranks): 0 arrays combined'
run forms
! grep offload "$run_dir/out" || fail "off by default, and something is said"
run forms QUIVER_MPI_OFFLOAD=gpu
says '^quiver: QUIVER_MPI_OFFLOAD=gpu is not known; known: off opencl auto; the CPU combines$'
run forms QUIVER_MPI_OFFLOAD=opencl QUIVER_MPI_OFFLOAD_MIN_BYTES=few
says '^quiver: QUIVER_MPI_OFFLOAD_MIN_BYTES=few is not a number of bytes'

run "values forms overlap persistent" QUIVER_MPI_OFFLOAD=opencl
if grep -qE 'no (device|OpenCL) here' "$run_dir/out"; then
	skip "no OpenCL device here (Debian's package pocl-opencl-icd is one)"
fi
says 'open on 2 ranks\): [1-9][0-9]* arrays combined, .* 0 failed, 0 done by the CPU instead$'
run "forms" QUIVER_MPI_OFFLOAD=opencl "LD_LIBRARY_PATH=$fake" QV_FAKE_CL=crash:12
says '^quiver: offload to opencl is given up after 3 failures, the CPU does it: '
says 'open on 0 ranks\): .* 6 failed, 6 done by the CPU instead$'
run "sizes" QUIVER_MPI_OFFLOAD=auto QUIVER_MPI_OFFLOAD_MIN_BYTES=
says '^quiver: offload auto: .* us for 1048576 bytes, the CPU [0-9]+; the (CPU|device) '
echo "offload: ok"
