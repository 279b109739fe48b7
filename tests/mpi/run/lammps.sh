#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# lammps.sh BUILD CORE RANKS SECONDS - Debian's LAMMPS, unmodified: a Lennard-Jones melt.
# Its thermo lines must be those of the same run without quiver, to the last digit.
build=$1 core=$2 ranks=$3 seconds=$4
. "$(dirname "$0")/common.sh"
need lmp lammps
# With libasan preloaded its ranks stop at exit over libfabric's own providers just as well: a
# destructor of p11-kit, which LAMMPS brings along, waits for glibc's locale lock.
is_asan && skip "lmp with libasan preloaded never ends, with or without quiver"

export OMP_NUM_THREADS=1
cd "$run_dir" || fail "no folder to run in"
. "$here/inputs.sh"
lammps_input .

# One order of sums for both runs: Open MPI 5 adds by hosts first where it sees several.
order=(--mca coll ^han)

# Without anything of ours: QV_PRELOAD is for the second run.
preload=("${preload_options[@]}")
preload_options=()
over_default "$ranks" "$seconds" "${order[@]}" lmp -in in.melt -log log.default >out.default 2>&1 ||
	{ cat out.default; fail "lmp without quiver did not end well"; }
preload_options=("${preload[@]}")
over_quiver "$core" "$ranks" "$seconds" "${order[@]}" "${by_node[@]}" lmp -in in.melt \
	-log log.quiver >out.quiver 2>&1
status=$?
check_sanitizers
[ $status -eq 0 ] || { cat out.quiver; fail "lmp over quiver ended with $status"; }

# The lines between the table's head and the line behind it.
thermo()
{
	sed -n '/^ *Step /,/^Loop time/p' "$1" | grep -v '^Loop time'
}
thermo log.default >thermo.default
thermo log.quiver >thermo.quiver
lines=$(wc -l <thermo.quiver)
[ "$lines" -eq 22 ] || fail "$lines thermo lines instead of 22"
diff thermo.default thermo.quiver || fail "the thermo lines differ, above"
check_preload out.quiver
echo "lmp on $ranks ranks over $core: $lines thermo lines as without quiver"
