#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# compositing.sh BUILD MPI RANKS SECONDS PROGRAM - examples/image_compositing.c alone, and with libquiver-mpi
# in front, with and without a rank that comes late. MPI is plain (Open MPI as it is), mpich, or one of
# quiver's cores.
build=$1 mpi=$2 core=$2 ranks=$3 seconds=$4 program=$5
. "$(dirname "$0")/common.sh"
is_asan && skip "the program is not built with ASan, a library in front of it cannot be"
beside=$LD_PRELOAD

# frames RULE ARGS...: by this rule of QUIVER_MPI_COLL, or `alone`.
frames()
{
	local rule=$1 set=()
	shift
	if [ "$mpi" = mpich ]; then
		need mpirun.mpich mpich
		[ "$rule" = alone ] || set=(env LD_PRELOAD="$build/lib/libquiver-mpi-mpich.so"
			QUIVER_MPI_STATS=1 QUIVER_MPI_COLL="reduce=$rule")
		timeout -k 5 "$seconds" mpirun.mpich -np "$ranks" "${set[@]}" "$program" "$@"
	else
		[ "$rule" = alone ] || set=(-x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$beside"
			-x QUIVER_MPI_STATS=1 -x "QUIVER_MPI_COLL=reduce=$rule")
		over_quiver "$mpi" "$ranks" "$seconds" "${set[@]}" "$program" "$@"
	fi >"$run_dir/out" 2>&1
}

# right RULE ARGS...: all frames are.
right()
{
	frames "$@" || { cat "$run_dir/out"; fail "$*: the program failed"; }
	grep " from $ranks ranks, .*: 0 wrong$" "$run_dir/out" || { cat "$run_dir/out"; fail "$*: no result"; }
	[ "$1" = alone ] || grep -E "^quiver: MPI_Reduce: .*$taken" "$run_dir/out" ||
		{ cat "$run_dir/out"; fail "$*: not by libquiver-mpi"; }
}

right alone --late $((ranks - 1)) 2
calls=$((24 * ranks)) # of all ranks, one a frame
taken="$calls calls, $calls taken: $calls redirect"
right redirect
right redirect --late 0 2
right redirect --late $((ranks - 1)) 2
taken="$calls calls, [1-9][0-9]* taken"
right auto --late $((ranks - 1)) 2
[ "$ranks" -eq 2 ] || exit 0
for args in "--late" "--late $ranks 1" "--late 0 -1" "--late 0 1x" "--early 0 1"; do
	# shellcheck disable=SC2086 # words
	frames alone $args && fail "taken: $args"
	[ "$(grep -c '^usage: ' "$run_dir/out")" -eq 1 ] || { cat "$run_dir/out"; fail "not one line for: $args"; }
done
