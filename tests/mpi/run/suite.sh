#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# suite.sh BUILD CORE RANKS SECONDS CASE... - cases of mpi_suite over quiver.
# SECONDS is the limit of one case; a case that takes longer prints its name and its stacks.
# CORE is one of quiver's, auto, or split: auto on two nodes, as far as quiver knows, by turns; or
# plain: without quiver.
build=$1 core=$2 ranks=$3 seconds=$4
shift 4
. "$(dirname "$0")/common.sh"

# The provider's own one-sided operations, by Open MPI's osc rdma over its btl ofi; by messages else.
if [ "$QV_OSC" = rdma ]; then
	ompi_info | grep -q 'MCA btl: ofi' || skip "this Open MPI has no btl ofi"
	wrapper_options=(--rma)
	quiver_options=("${mpi_options[@]}")
# Open MPI 5 has no one-sided calls made of messages.
elif [ "$*" = rma ] && command -v ompi_info >/dev/null && ! ompi_info | grep -q 'MCA osc: pt2pt'; then
	skip "this Open MPI has no one-sided calls over pml cm (osc pt2pt)"
fi
if [ "$FI_QUIVER_MODE" = peer ]; then
	need fi_info libfabric-bin
	case $(fi_info --version | sed -n 's/^libfabric: *//p') in
	1.*) skip "FI_QUIVER_MODE=peer needs libfabric 2.0 or later" ;;
	esac
fi
# Open MPI's ob1 alone loses a message, or crashes in MPI_Cancel, where several threads cancel receives whose
# messages come: 2 of 150 runs without anything of ours.
if [ "$core" = plain ]; then
	cases=()
	for case in "$@"; do
		[ "$case" != threads ] || case="threads.by_tag threads.by_comm threads.shared_key"
		read -ra names <<< "$case"
		cases+=("${names[@]}")
	done
	set -- "${cases[@]}"
fi
command=("$build/bin/mpi_suite" --limit "$seconds" --provider "$@")
[ "$core" != plain ] || command=("$build/bin/mpi_suite" --limit "$seconds" "$@")
over_quiver "$core" "$ranks" $((seconds * 3)) "${by_node[@]}" \
	"${command[@]}" >"$run_dir/out" 2>&1
status=$?
cat "$run_dir/out"
check_sanitizers
[ $status -eq 0 ] || fail "mpirun ended with $status; the last 'run' line above names the case"
grep -q 'passed [0-9]* cases on' "$run_dir/out" || fail "the suite did not reach its end"
check_preload "$run_dir/out"
