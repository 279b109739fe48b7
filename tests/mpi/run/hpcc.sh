#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hpcc.sh BUILD CORE RANKS SECONDS - Debian's HPC Challenge, unmodified, with a small input.
build=$1 core=$2 ranks=$3 seconds=$4
. "$(dirname "$0")/common.sh"
need hpcc hpcc

# HPL and PTRANS of order 200 on a 1 x 2 or 2 x 2 grid; the other parts take their size from it.
rows=$((ranks / 2))
cat >"$run_dir/hpccinf.txt" <<END
quiver's small HPCC input
any place
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            number of problem sizes
200          Ns
1            number of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            number of process grids
$rows        Ps
2            Qs
16.0         threshold
1            number of panel facts
2            PFACTs
1            number of recursive stopping criteria
4            NBMINs
1            number of panels in recursion
2            NDIVs
1            number of recursive panel facts
1            RFACTs
1            number of broadcasts
1            BCASTs
1            number of lookahead depths
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 in form
0            U in form
1            equilibration
8            memory alignment in double
separator
1            number of additional problem sizes for PTRANS
150          values of N
1            number of additional blocking sizes for PTRANS
8            values of NB
END
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
