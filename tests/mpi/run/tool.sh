#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tool.sh BUILD WAY SECONDS - a program that reads MPI_T's variables, with libquiver-mpi preloaded, on two
# ranks. WAY is a core of quiver (Open MPI over it), plain (Open MPI as it is), mpich (Debian's), or
# mpich-CORE (that of scripts/mpich-ofi over quiver).
build=$1 way=$2 seconds=$3 core=$2
. "$(dirname "$0")/common.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"

export QUIVER_MPI_STATS=1
library=$build/lib/libquiver-mpi-mpich.so
case $way in
mpich)
	need mpirun.mpich mpich
	timeout -k 5 "$seconds" mpirun.mpich -np 2 env LD_PRELOAD="$library" "$build/bin/mpi_tool_mpich" silent
	;;
mpich-*)
	prefix=$("$here/../../../scripts/mpich-ofi" --prefix) ||
		skip "no MPICH over libfabric at $prefix (scripts/mpich-ofi builds it)"
	# Programs of Debian's MPICH ask for a library by another name, and would get Debian's.
	"$prefix/bin/mpicc" -std=gnu11 -O2 -w -I"$here/../../.." -o "$run_dir/mpi_tool" "$here"/../tool/*.c \
		-lpthread || fail "mpi_tool does not compile"
	export FI_PROVIDER=quiver FI_PROVIDER_PATH=$build/lib/libfabric MPIR_CVAR_NOLOCAL=1
	export FI_QUIVER_CORE=${way#mpich-}
	timeout -k 5 "$seconds" "$prefix/bin/mpiexec" -n 2 env LD_PRELOAD="$library" "$run_dir/mpi_tool" counted
	;;
*)
	says=counted
	[ "$way" != plain ] || says=silent
	over_quiver "$core" 2 "$seconds" -x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$LD_PRELOAD" \
		-x QUIVER_MPI_STATS "$build/bin/mpi_tool_ompi" $says
	;;
esac >"$run_dir/out" 2>&1
status=$?
cat "$run_dir/out"
[ $status -eq 0 ] || fail "the program ended with $status"
[ "$(grep -c '^rank [01] passed ' "$run_dir/out")" -eq 2 ] || fail "not both ranks reached their end"
grep -q '^pvar quiver_posted$' "$run_dir/out" || fail "there is no variable quiver_posted"

# What says that it is off has no variables: the program finds none, and says so.
if [ "$way" = mpich ]; then
	QUIVER_MPI_OFF=1 LD_PRELOAD=$library timeout 60 mpivars >"$run_dir/off" 2>&1 || fail "mpivars, switched off"
	! grep -i quiver "$run_dir/off" || fail "mpivars shows variables, switched off"
	LD_PRELOAD=$library timeout 60 mpivars >"$run_dir/vars" 2>&1 || { cat "$run_dir/vars"; fail "mpivars ended badly"; }
	for name in quiver_coll quiver_posted quiver_unexpected_length_max 'Category quiver'; do
		grep -q "$name" "$run_dir/vars" || { cat "$run_dir/vars"; fail "Debian's mpivars does not show $name"; }
	done
	grep -c 'quiver_' "$run_dir/vars"
	! grep -E '^(Incorrect|Invalid)' "$run_dir/vars" || fail "mpivars has found faults, above"
fi
