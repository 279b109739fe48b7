#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stream.sh BUILD CORE SECONDS - mpi_stream, whose receiver checks each message, at four lengths.
build=$1 core=$2 seconds=$3
. "$(dirname "$0")/common.sh"
over_quiver "$core" 2 "$seconds" "$build/bin/mpi_stream" 0 1024 65536 4194304 >"$run_dir/out" 2>&1
status=$?
cat "$run_dir/out"
check_sanitizers
[ $status -eq 0 ] || fail "mpi_stream ended with $status"
[ "$(grep -cE '^ *(0|1024|65536|4194304)( +[0-9.]+){3}$' "$run_dir/out")" -eq 4 ] || fail "not four lines"
