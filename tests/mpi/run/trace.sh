#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# trace.sh BUILD MPI RANKS PROGRAM ARGS... - a program's calls are recorded by libquiver-mpi over plain Open MPI
# (ompi) or MPICH (mpich); what `quiver trace arrivals` makes of them has the matches that the provider records
# under the same program, for Open MPI.
build=$1 mpi=$2 ranks=$3
shift 3
. "$(dirname "$0")/common.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"
export PYTHONDONTWRITEBYTECODE=1

ours=$run_dir/ours.%r.qvt theirs=$run_dir/theirs.%r.qvt files=()
if [ "$mpi" = mpich ]; then
	need mpirun.mpich mpich
	timeout -k 5 75 mpirun.mpich -np "$ranks" env "LD_PRELOAD=$build/lib/libquiver-mpi-mpich.so" \
		"QUIVER_MPI_TRACE=$ours" "$@" >"$run_dir/out" 2>&1
else
	over_default "$ranks" 60 -x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$LD_PRELOAD" \
		-x "QUIVER_MPI_TRACE=$ours" "$@" >"$run_dir/out" 2>&1
fi || { cat "$run_dir/out"; fail "the program failed under libquiver-mpi"; }
! grep '^quiver:' "$run_dir/out" || fail "libquiver-mpi says something, above"

"$build/bin/quiver" trace arrivals "$run_dir"/ours.*.qvt -o "$run_dir/job.qvt" 2>"$run_dir/err" ||
	{ cat "$run_dir/err"; fail "no trace of matching"; }
! grep . "$run_dir/err" || fail "arrivals warns, above"
"$build/bin/quiver" trace replay "$run_dir/job.qvt" --impl ll --rounds 1 >/dev/null || fail "a replay fails"
if [ "$mpi" = ompi ]; then
	FI_QUIVER_TRACE=$theirs over_quiver node "$ranks" 60 "$@" >"$run_dir/out" 2>&1 ||
		{ cat "$run_dir/out"; fail "the program failed over the provider"; }
	files=("$run_dir"/theirs.*.qvt)
fi
python3 "$here/trace.py" "$run_dir/job.qvt" "${files[@]}" || fail "the traces differ"
