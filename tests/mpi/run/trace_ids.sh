#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# trace_ids.sh BUILD - threads make communicators while libquiver-mpi records: in a file no two have the same id.
build=$1
. "$(dirname "$0")/common.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"
export PYTHONDONTWRITEBYTECODE=1

over_default 2 60 -x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$LD_PRELOAD" \
	-x "QUIVER_MPI_TRACE=$run_dir/%r.qvt" "$build/bin/mpi_traced_threads" >"$run_dir/out" 2>&1 ||
	{ cat "$run_dir/out"; fail "the program failed under libquiver-mpi"; }
text=$(sed -n 's/^skipped: //p' "$run_dir/out")
[ -z "$text" ] || skip "$text"
PYTHONPATH=$here/../../trace python3 - "$run_dir"/?.qvt <<'END' || fail "two communicators have one id"
import sys
import plain

COMM = 12
for path in sys.argv[1:]:
    lane, = plain.read(path, 2).lanes
    ids = [e.tag for e in lane.events if e.kind == COMM]
    print(f"{path.rsplit('/', 1)[1]}: {len(ids)} communicators, {len(set(ids))} ids")
    assert len(ids) > 1000 and len(set(ids)) == len(ids)
END
