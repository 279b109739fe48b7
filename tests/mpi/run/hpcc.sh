#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hpcc.sh BUILD CORE RANKS SECONDS - Debian's HPC Challenge, unmodified, with a small input.
build=$1 core=$2 ranks=$3 seconds=$4
. "$(dirname "$0")/common.sh"
need hpcc hpcc

. "$here/inputs.sh"
hpcc_input "$run_dir" "$ranks"
cd "$run_dir" || fail "no folder to run in"
over_quiver "$core" "$ranks" "$seconds" "${by_node[@]}" hpcc >out 2>&1
status=$?
check_sanitizers
[ $status -eq 0 ] || { cat out; tail -20 hpccoutf.txt; fail "hpcc ended with $status"; }

grep -q '^Success=1$' hpccoutf.txt || { cat hpccoutf.txt; fail "no Success=1"; }
tail -6 hpccoutf.txt | grep -q 'End of HPC Challenge tests' || fail "the output file is not complete"
# RandomAccess of many ranks may lose one update in a hundred, and passes.
if grep -nE 'FAILED|\(failed\)' hpccoutf.txt; then
	fail "a residual or error check above did not pass"
fi
grep -nE '[1-9][0-9]* tests completed and failed' hpccoutf.txt && fail "residual checks failed"
passed=$(grep -c PASSED hpccoutf.txt)
verified=$(grep -c '(passed)' hpccoutf.txt)
[ "$passed" -ge 11 ] && [ "$verified" -ge 4 ] ||
	fail "only $passed residual checks and $verified table checks were made"
check_preload out
echo "hpcc on $ranks ranks over $core: Success=1, $passed residual checks, $verified table checks"
