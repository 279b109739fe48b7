#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fortran.sh BUILD MPI RANKS SECONDS PROGRAM - a Fortran program with libquiver-mpi in front,
# which must run what it calls. MPI is plain (Open MPI as it is), mpich, or one of quiver's cores.
build=$1 mpi=$2 ranks=$3 seconds=$4 program=$5
QV_PRELOAD=reduce=binomial,allreduce=ring,barrier=dissemination,broadcast=ring
. "$(dirname "$0")/common.sh"

if [ "$mpi" = mpich ]; then
	need mpirun.mpich mpich
	timeout -k 5 "$seconds" mpirun.mpich -np "$ranks" env QUIVER_MPI_STATS=1 \
		QUIVER_MPI_COLL="$QV_PRELOAD" LD_PRELOAD="$build/lib/libquiver-mpi-mpich.so" \
		"$program" >"$run_dir/out" 2>&1
else
	over_quiver "$mpi" "$ranks" "$seconds" "$program" >"$run_dir/out" 2>&1
fi
status=$?
cat "$run_dir/out"
[ $status -eq 0 ] || fail "mpirun ended with $status"
grep -q "^passed on $ranks ranks" "$run_dir/out" || fail "the program did not reach its end"
for call in Allreduce Barrier Bcast; do
	grep -qE "^quiver: MPI_$call: ([0-9]+) calls, \1 taken" "$run_dir/out" ||
		fail "MPI_$call was not always taken"
done
