#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# collective.sh BUILD MPI SECONDS - messages of collectives are not searched for among the receives of the
# program, once FI_QUIVER_MATCH keeps them apart. MPI is ompi, or mpich, which scripts/mpich-ofi has made.
build=$1 mpi=$2 seconds=$3
. "$(dirname "$0")/common.sh"

cases=(--limit "$seconds" --provider coll.behind_receives)
if [ "$mpi" = mpich ]; then
	prefix=$("$here/../../../scripts/mpich-ofi" --prefix) ||
		skip "no MPICH over libfabric at $prefix (scripts/mpich-ofi builds it)"
	is_asan && skip "MPICH's ranks are not started with ASan"
	"$prefix/bin/mpicc" -std=gnu11 -O2 -w -I"$here/../../.." -o "$run_dir/mpi_suite" \
		"$here"/../suite/*.c -lpthread || fail "mpi_suite does not compile"
fi

start()
{
	if [ "$mpi" = ompi ]; then
		over_quiver node 4 "$seconds" "$build/bin/mpi_suite" "${cases[@]}"
	else
		FI_PROVIDER=quiver FI_QUIVER_CORE=node FI_PROVIDER_PATH=$build/lib/libfabric \
			MPIR_CVAR_NOLOCAL=1 timeout -k 5 "$seconds" "$prefix/bin/mpiexec" -n 4 \
			"$run_dir/mpi_suite" "${cases[@]}"
	fi
}

# inspected STRUCTURE: entries that the searches of all ranks have passed.
inspected()
{
	FI_QUIVER_MATCH=$1 FI_QUIVER_STATS=yes start >"$run_dir/out" 2>&1 ||
		{ status=$?; cat "$run_dir/out" >&2; fail "FI_QUIVER_MATCH=$1: ended with $status"; }
	grep -o '[0-9]* entries inspected' "$run_dir/out" |
		awk '{ sum += $1 } END { if (!NR) exit 1; print sum }' ||
		{ cat "$run_dir/out" >&2; fail "FI_QUIVER_MATCH=$1: no counters"; }
}

list=$(inspected ll) || exit 1
for structure in col-ll col-pnp; do
	apart=$(inspected $structure) || exit 1
	echo "$mpi: $list entries inspected by ll, $apart by $structure"
	[ $((10 * apart)) -lt "$list" ] || fail "$structure does not keep collectives apart"
	# Named bits are taken instead of the MPI's own: a bit that no tag has keeps nothing apart.
	together=$(FI_QUIVER_COLLECTIVE=8000000000000000 inspected $structure) || exit 1
	echo "$mpi: $together by $structure with a bit that no message has"
	[ $((3 * together)) -gt "$list" ] || fail "FI_QUIVER_COLLECTIVE is not heard"
done
