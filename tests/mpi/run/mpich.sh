#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mpich.sh BUILD CORE RANKS SECONDS CASE... - cases of mpi_suite on MPICH 4 with ch4:ofi, over
# quiver, shared memory of MPICH's own switched off. MPICH is what scripts/mpich-ofi has made.
build=$1 core=$2 ranks=$3 seconds=$4
shift 4
. "$(dirname "$0")/common.sh"

prefix=$("$here/../../../scripts/mpich-ofi" --prefix) ||
	skip "no MPICH over libfabric at $prefix (scripts/mpich-ofi builds it)"
is_asan && skip "MPICH's ranks are not started with ASan"
shopt -s extglob
"$prefix/bin/mpicc" -std=gnu11 -O2 -g -w -rdynamic -I"$here/../../.." -o "$run_dir/mpi_suite" "$here"/../suite/*.c \
	-lpthread || fail "mpi_suite does not compile"

# FI_PROVIDER leaves MPICH nothing but quiver, and MPIR_CVAR_NOLOCAL no other way within a node.
provider=quiver
case $core in
rxm) provider='tcp;ofi_rxm;ofi_quiver' ;;
*\;*) provider="$core;ofi_quiver" ;;
*) export FI_QUIVER_CORE=$core ;;
esac
export FI_PROVIDER=$provider FI_PROVIDER_PATH=$build/lib/libfabric MPIR_CVAR_NOLOCAL=1
timeout -k 5 $((seconds * 12)) "$prefix/bin/mpiexec" -n "$ranks" "$run_dir/mpi_suite" \
	--limit "$seconds" --provider "$@" >"$run_dir/out" 2>&1
status=$?
cat "$run_dir/out"
[ $status -eq 0 ] || fail "mpiexec ended with $status; the last 'run' line above names the case"
grep -q '^passed ' "$run_dir/out" || fail "the suite did not reach its end"
