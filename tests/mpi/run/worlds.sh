#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# worlds.sh BUILD MPI SECONDS PROGRAM ARGS... - a program that leaves its MPI_COMM_WORLD: two
# ranks of it (or WORLD_RANKS), MPI is ompi or mpich, and arguments that are programs of ours become their paths. With
# `traced` at the end its calls are recorded.
build=$1 mpi=$2 seconds=$3
shift 3
. "$(dirname "$0")/common.sh"

args=()
for word in "$@"; do
	[ -x "$build/bin/$word" ] && word=$build/bin/$word
	args+=("$word")
done
export QUIVER_MPI_STATS=1
[ "${!#}" != traced ] || export QUIVER_MPI_TRACE=$run_dir/%r.qvt
if [ "$mpi" = mpich ]; then
	need mpirun.mpich mpich
	timeout -k 5 "$seconds" mpirun.mpich -np "${WORLD_RANKS:-2}" "${by_node[@]}" "${args[@]}"
else
	# Two jobs reach each other by tcp only, which leaves the loopback out by default: a machine may
	# have nothing else.
	over_default "${WORLD_RANKS:-2}" "$seconds" --mca rmaps_base_oversubscribe 1 --mca btl_tcp_if_include lo -x QUIVER_MPI_STATS \
		${QUIVER_MPI_TRACE+-x QUIVER_MPI_TRACE} "${by_node[@]}" "${args[@]}"
fi >"$run_dir/out" 2>"$run_dir/out.errors"
status=$?
cat "$run_dir/out" "$run_dir/out.errors"
check_sanitizers
text=$(sed -n 's/^skipped: //p' "$run_dir/out")
[ -z "$text" ] || skip "$text"
[ $status -eq 0 ] || fail "mpirun ended with $status"
grep -q '^passed ' "$run_dir/out" || fail "the program did not reach its end"
