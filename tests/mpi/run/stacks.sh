#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stacks.sh SOURCE BUILD - scripts/mpi-stacks: each length has figures of each stack, and wrong arguments are
# named.
set -u
tool=$1/scripts/mpi-stacks
build=$2

if ! command -v mpirun.openmpi >/dev/null; then
	echo "Open MPI's mpirun.openmpi is not installed"
	exit 77
fi

fail()
{
	echo "FAILED: $*"
	exit 1
}

out=$("$tool" --rounds 2 --beside vader "$build" 8 65536) || fail "ends in $?: $out"
echo "$out"
number='[0-9]+(\.[0-9]+)?'
for bytes in 8 65536; do
	line="^ +$bytes B  quiver +$number  vader +$number +$number \[$number, $number\] x vader$"
	[ "$(grep -Ec "$line" <<<"$out")" -ge 2 ] || fail "no figures for $bytes B"
done
grep -Eq '; processors (near|far), [12] rounds?$' <<<"$out" || fail "processors: near or far?"

grep -q '^usage: ' <<<"$("$tool" --help)" || fail "--help"
for wrong in '--fast build' '--beside sky build' '--rounds 0 build' 'build x' '--rounds' ''; do
	# shellcheck disable=SC2086 # words
	said=$("$tool" $wrong 2>&1) && fail "$wrong is taken"
	[ "$(wc -l <<<"$said")" = 1 ] || fail "$wrong: $said"
done
echo "passed"
