#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# settings.sh BUILD - what the environment says to libquiver-mpi, and what is said about it.
build=$1
. "$(dirname "$0")/common.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"

binding=() # what the program is started by

# run COLL VARIABLE=VALUE...: the suite's collectives on two ranks.
run()
{
	local coll=$1 set=() v
	shift
	for v in "$@"; do
		set+=(-x "$v")
	done
	over_default 2 60 -x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so" -x QUIVER_MPI_STATS=1 \
		-x "QUIVER_MPI_COLL=$coll" "${set[@]}" "${binding[@]}" "$build/bin/mpi_suite" --limit 30 coll.allreduce \
		>"$run_dir/out" 2>&1 || { cat "$run_dir/out"; fail "QUIVER_MPI_COLL=$coll: failed"; }
}

# bind_to CORE CORE: where the first rank runs, and the second.
bind_to()
{
	binding=(sh -c "exec taskset -c \$((OMPI_COMM_WORLD_RANK ? $2 : $1)) \"\$0\" \"\$@\"")
}

says()
{
	grep -qE "$1" "$run_dir/out" || { cat "$run_dir/out"; fail "no line with: $1"; }
}

run ""
says '^quiver: MPI_Allreduce: [0-9]+ calls, 0 taken: [0-9]+ to the MPI, not chosen$'
run allreduce=mpi
says '^quiver: MPI_Allreduce: [0-9]+ calls, 0 taken'
run allreduce=auto,reduce=segmented:faithful
says '^quiver: MPI_Allreduce: [0-9]+ calls, [1-9][0-9]* taken'
says '^quiver: MPI_Reduce: [0-9]+ calls, [1-9][0-9]* taken: [0-9]+ segmented'
# Where ranks have cores of their own, the network is measured.
[ "$(nproc)" -lt 2 ] || says '^quiver: network: [0-9.]+ us a message, [0-9.e-]+ ns a byte'
# Two ranks that are bound to a core each, as mpirun does by itself, have two of them. On one core nothing is
# measured.
if [ "$(nproc)" -ge 2 ]; then
	read -r -a cores < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
	bind_to "${cores[0]}" "${cores[1]}"
	run allreduce=auto
	says '^quiver: network: [0-9.]+ us a message'
	bind_to "${cores[0]}" "${cores[0]}"
	run allreduce=auto
	! grep '^quiver: network' "$run_dir/out" || fail "two ranks on one core have measured, above"
	binding=()
fi
run allreduce=fastest
says "^quiver: QUIVER_MPI_COLL: unknown algorithm 'fastest'.* ring .*; all goes to the MPI$"
[ "$(grep -c '^quiver:' "$run_dir/out")" -eq 1 ] || { cat "$run_dir/out"; fail "not one line"; }
run allreduce=radix:2
! grep 'radix in QUIVER_MPI_COLL' "$run_dir/out" || fail "factors of two ranks are refused, above"
run allreduce=radix:2:3
says '^quiver: allreduce=radix in QUIVER_MPI_COLL: the product of the factors is not 2,.* prime factors are taken$'
says '^quiver: MPI_Allreduce: [0-9]+ calls, [1-9][0-9]* taken: [0-9]+ radix'
[ "$(grep -c 'radix in QUIVER_MPI_COLL' "$run_dir/out")" -eq 1 ] || { cat "$run_dir/out"; fail "not one line"; }
run allreduce=radix:2:1
says "^quiver: QUIVER_MPI_COLL: unknown mode '2:1'; known: .* as in 4:4:8; all goes to the MPI$"
run sum=ring
says "^quiver: QUIVER_MPI_COLL: unknown operation 'sum'; known: reduce allreduce .*broadcast"
run allreduce=ring QUIVER_MPI_STAT=1
says '^quiver: QUIVER_MPI_STAT is not a setting of this version, ignored$'
run allreduce=ring QUIVER_MPI_TRACE=/no/such/folder/%r.qvt
says '^quiver: QUIVER_MPI_TRACE: no trace is written: /no/such/folder cannot be written to: No such file'
says '^quiver: MPI_Allreduce: [0-9]+ calls, [1-9][0-9]* taken'
run "" "QUIVER_MPI_TRACE=max=1:$run_dir/small.%r.qvt"
says '^quiver: the trace .*/small.0.qvt lacks [0-9]+ events: it has reached its limit'
run allreduce=ring QUIVER_MPI_OFF=no
grep -q '^quiver: MPI_Allreduce' "$run_dir/out" || fail "QUIVER_MPI_OFF=no switches the library off, above"
run allreduce=ring QUIVER_MPI_STATS=no
! grep '^quiver:' "$run_dir/out" || fail "QUIVER_MPI_STATS=no reports, above"
run allreduce=ring QUIVER_MPI_OFF=1
! grep '^quiver:' "$run_dir/out" || fail "QUIVER_MPI_OFF=1 says something, above"
echo "settings: ok"
