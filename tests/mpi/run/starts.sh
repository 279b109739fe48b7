#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# starts.sh BUILD CORE RANKS SECONDS STARTS - mpi_starts so many times, each within these seconds.
build=$1 core=$2 ranks=$3 seconds=$4 starts=$5
. "$(dirname "$0")/common.sh"
for ((i = 1; i <= starts; i++)); do
	over_quiver "$core" "$ranks" "$seconds" "$build/bin/mpi_starts" >"$run_dir/out" 2>&1
	status=$?
	[ $status -eq 0 ] && grep -q "^$ranks ranks, $((ranks * ranks)) messages, 0 wrong\$" "$run_dir/out" ||
		{ cat "$run_dir/out"; fail "start $i of $starts ended with $status"; }
	check_sanitizers
done
echo "$starts starts of $ranks ranks: no message lost"
