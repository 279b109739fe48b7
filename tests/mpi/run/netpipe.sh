#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# netpipe.sh BUILD CORE RANKS SECONDS - Debian's NetPIPE, unmodified, with integrity check.
# NetPIPE is a program for two ranks (with four it stops over Open MPI's default too), so four ranks
# are two pairs at the same time.
build=$1 core=$2 ranks=$3 seconds=$4
. "$(dirname "$0")/common.sh"
need NPopenmpi netpipe-openmpi

# pair NAME OPTIONS...: one run of two ranks in a folder of its own; a file for what each rank says,
# since the two write parts of lines.
pair()
{
	local name=$1
	shift
	mkdir -p "$run_dir/$name" && cd "$run_dir/$name" || return 1
	over_quiver "$core" 2 "$seconds" "${by_node[@]}" \
		sh -c 'exec "$0" "$@" >"out.$OMPI_COMM_WORLD_RANK" 2>&1' \
		NPopenmpi -i -n 20 -u 300000 "$@" >all 2>&1
}

# check NAME STATUS: every line says that the check passed, up to the largest size.
check()
{
	local out=$run_dir/$1/out.0
	[ "$2" -eq 0 ] || { cat "$run_dir/$1"/*; fail "NPopenmpi ($1) ended with $2"; }
	grep -E 'bytes +20 times' "$out" | grep -v 'Integrity check passed' &&
		fail "integrity check ($1), above"
	[ "$(grep -c 'Integrity check passed' "$out")" -ge 30 ] && grep -qE '26214[0-9] bytes' "$out" ||
		{ cat "$out"; fail "NPopenmpi ($1) did not reach its largest size"; }
	check_preload "$out"
	echo "NPopenmpi ($1) over $core: $(grep -c 'Integrity check passed' "$out") sizes passed"
}

if [ "$ranks" -eq 2 ]; then
	for options in "" -a -z -S; do
		pair "pair$options" $options
		check "pair$options" $?
	done
else
	pair first -a &
	first=$!
	pair second -z &
	second=$!
	wait $first
	first=$?
	wait $second
	second=$?
	check first $first
	check second $second
fi
check_sanitizers
