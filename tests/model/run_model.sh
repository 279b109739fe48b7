#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run_model.sh - spin over qv_conn.pml, or $MODEL.pml: run_model.sh clean -D...: nothing may be wrong;
# run_model.sh planted "NAME -D..." ...: each fault is found by the configuration behind it.
# KEEP=folder keeps what was built, and the trail.
set -u
model=${MODEL:-qv_conn}.pml
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in spin gcc; do
	command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
work=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work" && cd "$work" || exit 1

# search -D...: 0: nothing is wrong, all was seen; 1: something is; 2: it could not be found out.
search()
{
	rm -f pan* ./*.trail
	spin -a "$@" "$here/$model" >spin.log 2>&1 && [ -f pan.c ] || { cat spin.log; return 2; }
	gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c || return 2
	./pan -m100000 >pan.log 2>&1
	grep -q 'assertion violated' pan.log && return 1
	if ! grep -q 'errors: 0' pan.log ||
	   grep -Eq 'not completed|max search depth|pan:1: invalid end|out of memory' pan.log; then
		cat pan.log
		return 2
	fi
	return 0
}

what=$1
shift
if [ "$what" = clean ]; then
	search "$@"
	rc=$?
	grep -E 'assertion violated|states, stored|elapsed' pan.log
	[ $rc -eq 1 ] && spin -t "$@" -k "$model.trail" "$here/$model" | grep -v '^		'
	exit $rc
fi
missed=0
for fault in "$@"; do
	read -r name options <<<"$fault"
	# shellcheck disable=SC2086
	search "-DPLANT_$name" $options
	rc=$?
	if [ $rc -eq 1 ]; then
		echo "$name: found: $(grep -m1 'assertion violated' pan.log)"
	else
		echo "$name: NOT FOUND ($options)"
		missed=1
	fi
done
exit $missed
