#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wrapper.sh BUILD - scripts/mpirun-quiver: its help, its errors, and that nothing but quiver
# carries a run: what cannot be had is an error, not another stack.
build=$1
. "$(dirname "$0")/common.sh"
wrapper=$here/../../../scripts/mpirun-quiver

# refuses WORDS ARGS...: must fail and say WORDS.
refuses()
{
	local words=$1
	shift
	if timeout 60 "$wrapper" "$@" >"$run_dir/out" 2>&1; then
		cat "$run_dir/out"
		fail "accepted: $*"
	fi
	grep -q -- "$words" "$run_dir/out" || { cat "$run_dir/out"; fail "no '$words' for: $*"; }
	! grep -q '^passed ' "$run_dir/out" || fail "ran another stack: $*"
	echo "refused as it should: $*"
}

"$wrapper" --help | grep -q '^usage:' || fail "--help"
"$wrapper" --build "$build" --core rxm --print -np 2 ./a.out | grep -q ofi_quiver || fail "--print"
"$wrapper" --build "$build" --core node,rxm --print -np 2 ./a.out | grep -qxF 'export FI_PROVIDER_PATH='"$build"'/lib/libfabric FI_PROVIDER=quiver\,tcp' ||
	fail "--print of two cores"
FI_PROVIDER=quiver,verbs FI_QUIVER_CORE='node,verbs;ofi_rxm' "$wrapper" --build "$build" --print -np 2 ./a.out |
	grep -q ' FI_PROVIDER=quiver\\,verbs$' || fail "the core of the environment"
"$wrapper" --build "$build" --core rxd --print -np 2 ./a.out | grep -qx 'export FI_OFI_RXD_MAX_UNACKED=16' ||
	fail "--print of a variable that it sets"
for lib in lib64 lib/x86_64-linux-gnu; do
	prefix=$run_dir/prefix-${lib##*/}
	mkdir -p "$prefix/$lib/libfabric"
	ln -s "$build/lib/libfabric/libquiver-fi.so" "$prefix/$lib/libfabric"
	"$wrapper" --build "$prefix" --print -np 2 ./a.out | grep -qF "FI_PROVIDER_PATH=$prefix/$lib/libfabric " ||
		fail "the provider of an installation in $lib is not found"
done
refuses "no program"
refuses "needs a value" --core
refuses "no provider in" --build /nonexistent -np 2 true
refuses "not a provider name" --build "$build" --core 'a b' -np 2 true

suite=("$build/bin/mpi_suite" --limit 20 --provider coll.barriers)
refuses "no_such_core" --build "$build" --core no_such_core --timeout 30 -np 2 "${suite[@]}"
refuses "no_such_core" --build "$build" --core no_such_core --rma --timeout 30 -np 2 "${suite[@]}"
refuses "not told to use pml cm" --build "$build" --core shm --timeout 30 -np 2 \
	sh -c 'OMPI_MCA_pml=ob1 exec "$0" "$@"' "${suite[@]}"
