#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# glue.sh BUILD MPI RANKS SECONDS CASE... - libquiver-mpi's answers against the MPI's own.
# MPI is mpich, plain (Open MPI as it is), or one of quiver's cores, auto or split (Open MPI over
# quiver).
build=$1 mpi=$2 core=$2 ranks=$3 seconds=$4
shift 4
. "$(dirname "$0")/common.sh"

export QUIVER_MPI_STATS=1
case $mpi in
mpich)
	need mpirun.mpich mpich
	timeout -k 5 "$seconds" mpirun.mpich -np "$ranks" "${by_node[@]}" \
		"$build/bin/mpi_glue_mpich" "$@"
	;;
*)
	over_quiver "$mpi" "$ranks" "$seconds" -x QUIVER_MPI_STATS "${by_node[@]}" \
		"$build/bin/mpi_glue_ompi" "$@"
	;;
esac >"$run_dir/out" 2>"$run_dir/out.errors" # apart: mpirun may put one into the middle of the other's line
status=$?
cat "$run_dir/out" "$run_dir/out.errors"
check_sanitizers
[ $status -eq 0 ] || fail "mpirun ended with $status"
grep -q '^passed ' "$run_dir/out" || fail "the program did not reach its end"
grep -q '^quiver: calls of ' "$run_dir/out.errors" || fail "no report at the end"
text=$(sed -n 's/^skipped: //p' "$run_dir/out")
[ -z "$text" ] || skip "$text"
