#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# judge.sh SOURCE BUILD - scripts/judge-advice: a program has its figures, and wrong arguments are named. Who is
# right is not judged here: that takes a machine with nothing else to do.
tool=$1/scripts/judge-advice build=$2
. "$(dirname "$0")/common.sh"
is_asan && skip "its ranks are not started with the libraries of ASan"
need mpirun openmpi-bin

export TMPDIR=$run_dir
share='-?[0-9.]+%'
out=$("$tool" --rounds 1 "$build" posted10000 2>&1)
[ $? -le 1 ] || fail "it ends badly: $out"
echo "$out"
grep -Eq "^posted10000 +[0-9.]+ +(helps|no) +$share +(sure|near|part|missing|few) +(helps|no|near) +$share \[$share, $share\]( WRONG)?$" \
	<<<"$out" || fail "no line of its program"
grep -Eq '^1 answers: [01] right, [01] wrong, [01] cannot be told$' <<<"$out" || fail "no last line"

says()
{
	local pattern=$1
	shift
	out=$("$tool" "$@" 2>&1) && fail "succeeds: $*"
	grep -q "^judge-advice: .*$pattern" <<<"$out" || fail "$*: $out"
}
says 'no build folder' "$run_dir"
says 'no such program: fortran' "$build" fortran
says 'not a number from 1' --rounds 0 "$build"
says 'not a number from 1' --rounds ² "$build"
says 'unknown argument' --fast "$build"
