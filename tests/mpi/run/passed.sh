#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# passed.sh BUILD MOST - instructions that libquiver-mpi adds to a call that it leaves to the MPI: no more
# than MOST, by callgrind.
build=$1 most=$2
. "$(dirname "$0")/common.sh"
is_asan && skip "valgrind does not run what is built with ASan"
need valgrind valgrind
calls=2000 # of passed.c, Bcast and Barrier

# count NAME [VARIABLE=VALUE]: what all the calls cost.
count()
{
	local name=$1 set=()
	shift
	[ $# -eq 0 ] || set=(-x "$1")
	over_default 1 100 "${set[@]}" valgrind --tool=callgrind --toggle-collect=qv_passed_calls \
		--callgrind-out-file="$run_dir/$name" "$build/bin/mpi_passed" >"$run_dir/out" 2>&1 ||
		{ cat "$run_dir/out" >&2; fail "$name: mpirun ended with an error"; }
	sed -n 's/^totals: //p' "$run_dir/$name"
}

without=$(count without)
with=$(count with "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so")
[ "${without:-0}" -gt 0 ] && [ "${with:-0}" -gt "$without" ] || fail "counted '$without' without and '$with' with"
added=$(((with - without) / calls))
echo "$((without / calls)) instructions a call without the library, $added more with it"
[ "$added" -le "$most" ] || fail "more than $most"
