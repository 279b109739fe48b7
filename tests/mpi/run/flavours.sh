#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# flavours.sh BUILD - the libquiver-mpi of one MPI before programs of the other, and the one that finds out.
build=$1
. "$(dirname "$0")/common.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"
beside=$LD_PRELOAD # another library that is preloaded

says()
{
	grep -qE "$1" "$run_dir/out" || { cat "$run_dir/out"; fail "no line with: $1"; }
}

# The library of one MPI before a program of the other.
other()
{
	grep -qF "quiver: this libquiver-mpi is of $1" "$run_dir/out" &&
		[ "$(grep -c '^quiver:' "$run_dir/out")" -eq 1 ] ||
		{ cat "$run_dir/out"; fail "not one line about the wrong library"; }
}
if [ -x "$build/bin/mpi_sum_mpich" ]; then
	timeout 60 mpirun.mpich -np 2 env LD_PRELOAD="$build/lib/libquiver-mpi-ompi.so" \
		QUIVER_MPI_COLL=allreduce=ring "$build/bin/mpi_sum_mpich" >"$run_dir/out" 2>&1
	grep -q '^sum 2$' "$run_dir/out" || { cat "$run_dir/out"; fail "MPICH with Open MPI's library: no sum"; }
	other "Open MPI, and the program's MPI is MPICH"
	over_default 2 60 -x "LD_PRELOAD=$build/lib/libquiver-mpi-mpich.so" "$build/bin/mpi_suite" \
		coll.allreduce >"$run_dir/out" 2>&1 && fail "Open MPI with MPICH's library ended well"
	other "MPICH, or of one with its ABI, and the program's MPI is Open MPI"
	# Who finds out which one it is, first in the list and behind another; no MPI; a rank that is a shell.
	timeout 60 mpirun.mpich -np 2 env LD_PRELOAD="$build/lib/libquiver-mpi.so $beside" QUIVER_MPI_STATS=1 \
		QUIVER_MPI_COLL=allreduce=ring sh -c 'exec "$0"' "$build/bin/mpi_sum_mpich" >"$run_dir/out" 2>&1
	grep -q '^sum 2$' "$run_dir/out" || { cat "$run_dir/out"; fail "MPICH with libquiver-mpi.so: no sum"; }
	says '^quiver: MPI_Allreduce: 2 calls, 2 taken: 2 ring'
fi
over_default 2 60 -x LD_PRELOAD="$beside:$build/lib/libquiver-mpi.so" -x QUIVER_MPI_STATS=1 \
	-x QUIVER_MPI_COLL=allreduce=ring "$build/bin/mpi_suite" --limit 30 coll.allreduce >"$run_dir/out" 2>&1 ||
	{ cat "$run_dir/out"; fail "Open MPI with libquiver-mpi.so failed"; }
says '^quiver: MPI_Allreduce: [0-9]+ calls, [1-9][0-9]* taken: [0-9]+ ring'
[ "$(LD_PRELOAD=$build/lib/libquiver-mpi.so sh -c 'echo "$LD_PRELOAD"' 2>&1)" = "$build/lib/libquiver-mpi.so" ] ||
	fail "a program without MPI is changed by libquiver-mpi.so"
cp "$build/lib/libquiver-mpi.so" "$run_dir/"
over_default 2 60 -x LD_PRELOAD="$run_dir/libquiver-mpi.so" "$build/bin/mpi_suite" --limit 30 coll.allreduce \
	>"$run_dir/out" 2>&1 || { cat "$run_dir/out"; fail "libquiver-mpi.so alone: the program failed"; }
says '^quiver: libquiver-mpi.so: there is no library beside it .*: libquiver-mpi-ompi; all goes to the MPI$'
echo "flavours: ok"
