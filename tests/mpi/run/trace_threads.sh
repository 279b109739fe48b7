#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# trace_threads.sh BUILD MPI PROGRAM - threads use each other's old handles while libquiver-mpi records, over Open MPI
# (ompi) or MPICH (mpich): the program ends well, and its calls do not contradict each other.
build=$1 mpi=$2 program=$3
. "$(dirname "$0")/common.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"
ours=$run_dir/%r.qvt
if [ "$mpi" = mpich ]; then
	need mpirun.mpich mpich
	timeout -k 5 75 mpirun.mpich -np 2 env "LD_PRELOAD=$build/lib/libquiver-mpi-mpich.so" \
		"QUIVER_MPI_TRACE=$ours" "$program" >"$run_dir/out" 2>&1
else
	over_default 2 60 -x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$LD_PRELOAD" -x "QUIVER_MPI_TRACE=$ours" \
		"$program" >"$run_dir/out" 2>&1
fi || { cat "$run_dir/out"; fail "the program failed under libquiver-mpi"; }
text=$(sed -n 's/^skipped: //p' "$run_dir/out")
[ -z "$text" ] || skip "$text"
"$build/bin/quiver" trace arrivals "$run_dir"/?.qvt -o "$run_dir/job.qvt" 2>"$run_dir/err" ||
	{ cat "$run_dir/err"; fail "no trace of matching"; }
! grep . "$run_dir/err" || fail "arrivals warns, above"
