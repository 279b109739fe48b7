#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# xrt_count.sh COMMAND...: run it, and add up what its processes have counted on the card, which must
# have matched and combined something and failed in nothing. All of the output only where it fails.
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1
status=$?
if [ $status -eq 77 ]; then
	cat "$log"
	exit 77
fi
[ $status -eq 0 ] || cat "$log"
grep -E '^passed|tests passed|tests failed|\(Failed\)|\(Timeout\)' "$log"
awk '/offload to xrt \(/ {
	for (i = 1; i < NF; i++) {
		if ($(i + 1) == "batches") batches += $i
		if ($(i + 1) == "arrays") arrays += $i
		if ($(i + 1) == "failed,") failed += $i
	}
	lines++
} END {
	printf "%d endpoints with a card: %d batches, %d arrays, %d failures\n", lines, batches, arrays,
		failed
	exit !batches || failed
}' "$log" || status=1
exit $status
