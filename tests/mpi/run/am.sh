#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# am.sh BUILD MPI RANKS SECONDS LAST PROGRAM ARGS... - a program that uses libquiver-am ends well, and says
# LAST. MPI is mpich, plain (Open MPI as it is), or one of quiver's cores, auto or split (Open MPI over
# quiver).
build=$1 mpi=$2 core=$2 ranks=$3 seconds=$4 last=$5
shift 5
. "$(dirname "$0")/common.sh"
case $mpi in
mpich)
	need mpirun.mpich mpich
	! is_asan || export ASAN_OPTIONS=detect_leaks=0 # MPICH leaks
	timeout -k 5 "$seconds" mpirun.mpich -np "$ranks" "$@"
	;;
*) over_quiver "$mpi" "$ranks" "$seconds" "${by_node[@]}" "$@" ;;
esac >"$run_dir/out" 2>&1
status=$?
cat "$run_dir/out"
check_sanitizers
[ $status -eq 0 ] || fail "mpirun ended with $status"
grep -qF "$last" "$run_dir/out" || fail "no line with: $last"
