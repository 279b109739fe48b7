# SPDX-License-Identifier: BSD-2-Clause
# common.sh - what the scripts of the MPI tests share; sourced by bash, after "build" is set.
# Each run has a time limit that ends all ranks, and its own folder below the build tree, removed at the end.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run_dir=$(mktemp -d "$build/mpi-run.XXXXXX")
trap 'rm -rf "$run_dir"' EXIT

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# skip TEXT...: this test cannot run here.
skip()
{
	echo "skipped: $*"
	exit 77
}

# need PROGRAM PACKAGE: skip unless it is there.
need()
{
	command -v "$1" >/dev/null || skip "$1 is not installed (Debian package $2)"
}

is_asan()
{
	grep -aq 'libasan\.so' "$build/lib/libfabric/libquiver-fi.so"
}

# Open MPI as a test wants it, over any stack: two ranks per core must not starve each other, and
# one-sided calls must be messages (osc pt2pt), not loads and stores in shared memory.
mpi_options=(--bind-to none --mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0)
quiver_options=("${mpi_options[@]}" --mca btl self --mca osc '^sm,rdma')
wrapper_options=()

# Ranks start faster without libfabric's look at the kernel's symbols, see tests/kallsyms.c.
is_asan || export LD_PRELOAD=$build/tests/qv_kallsyms.so

# QV_PRELOAD=SETTINGS in the environment: every program runs with libquiver-mpi in front of Open MPI,
# with these settings; check_preload afterwards says whether it did anything.
preload_options=()
if [ -n "$QV_PRELOAD" ]; then
	is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"
	preload_options=(-x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$LD_PRELOAD" -x QUIVER_MPI_STATS=1
		-x "QUIVER_MPI_COLL=$QV_PRELOAD")
fi

# CORE split, where a script takes it: auto on two nodes, as far as quiver knows, by turns of ranks.
# QV_SPLIT=1 in the environment: any pair of cores so. Programs are started as "${by_node[@]}" PROGRAM.
by_node=()
if [ "$core" = split ] || [ -n "$QV_SPLIT" ]; then
	# shellcheck disable=SC2016 # the rank's shell expands it
	by_node=(sh -c 'export FI_QUIVER_NODE=$((OMPI_COMM_WORLD_RANK % 2)); exec "$0" "$@"')
fi
# QV_NODES="0 0 1 1" in the environment: as far as quiver knows, each rank is on the node of that number, for
# it sees another boot of the machine (random(4)).
if [ -n "$QV_NODES" ]; then
	unshare --mount true 2>/dev/null || skip "no rank can be shown another boot: no right to unshare(1) mounts"
	for node in $QV_NODES; do
		echo "boot of node $node" >"$run_dir/boot.$node"
	done
	# shellcheck disable=SC2016 # as above
	by_node=(unshare --mount sh -c 'set -- "$0" "$@" && nodes="'"$QV_NODES"'"
		node=$(echo $nodes | cut -d " " -f $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} + 1)))
		mount --bind "'"$run_dir"'/boot.$node" /proc/sys/kernel/random/boot_id && exec "$@"')
fi
# QV_FORBID=CALLS in the environment: every program runs under a kernel that refuses them (tests/forbid.c).
# shellcheck disable=SC2206 # words
[ -z "$QV_FORBID" ] || by_node=("$build/bin/test_forbid" $QV_FORBID --)

# check_preload FILE...: one of them must have the report of libquiver-mpi, with calls taken.
check_preload()
{
	[ -n "$QV_PRELOAD" ] || return 0
	cat "$@" | grep '^quiver: ' || fail "libquiver-mpi was not there"
	cat "$@" | grep -qE '^quiver: MPI_.* [1-9][0-9]* taken' || fail "no call was taken"
}

# QV_TEST_HOSTS (tests/fabric/harness/hosts.py sets it): half of the ranks on each of two hosts. mpirun is
# on neither, and has the network of the first.
host_options=()
near_hosts=()
use_hosts()
{
	local half=$(($1 / 2)) hosts=$QV_TEST_HOSTS
	near_hosts=(nsenter --net="${hosts%%:*}/net")
	host_options=(--mca plm_rsh_agent "$run_dir/agent" --mca oob_tcp_if_include v0
		--host "host1:$half,host2:$half")
	# Called as rsh is: HOST COMMAND...
	cat >"$run_dir/agent" <<-END
	#!/bin/sh
	case \$1 in
	host1) at=${hosts%%:*} ;;
	*) at=${hosts#*:} ;;
	esac
	shift
	exec nsenter --net=\$at/net --ipc=\$at/ipc --uts=\$at/uts --mount=\$at/mnt --pid=\$at/pid_for_children \\
		--root=\$at/../root sh -c "cd '$PWD' && \$*"
	END
	chmod +x "$run_dir/agent"
}

# over_quiver CORE RANKS SECONDS PROGRAM ARGS...; CORE plain is Open MPI as it is.
over_quiver()
{
	local core=$1 ranks=$2 seconds=$3
	[ "$core" != split ] || core=auto
	shift 3
	if is_asan; then
		# Open MPI leaks: let leaks not end the rank, and judge them afterwards by their frames.
		export ASAN_OPTIONS=detect_leaks=1:log_path=$run_dir/asan
		export LSAN_OPTIONS=exitcode=0:print_suppressions=0
		# Both run-time libraries write to one place: the one that starts last names it.
		export UBSAN_OPTIONS=print_stacktrace=1:log_path=$run_dir/asan
		set -- -x ASAN_OPTIONS -x LSAN_OPTIONS -x UBSAN_OPTIONS "$@"
	fi
	if [ "$core" = plain ]; then
		over_default "$ranks" "$seconds" "$@"
		return
	fi
	[ -z "$QV_TEST_HOSTS" ] || use_hosts "$ranks"
	timeout -k 5 $((seconds + 15)) "${near_hosts[@]}" "$here/../../../scripts/mpirun-quiver" \
		--core "$core" --build "$build" --timeout "$seconds" "${wrapper_options[@]}" -np "$ranks" \
		"${host_options[@]}" "${quiver_options[@]}" "${preload_options[@]}" "$@"
}

# over_default RANKS SECONDS PROGRAM ARGS...: the same without quiver.
over_default()
{
	local ranks=$1 seconds=$2 root=()
	shift 2
	[ "$(id -u)" -ne 0 ] || root=(--allow-run-as-root)
	timeout -k 5 $((seconds + 15)) mpirun --oversubscribe "${root[@]}" --timeout "$seconds" \
		-np "$ranks" "${mpi_options[@]}" "${preload_options[@]}" "$@"
}

# Fails when a sanitizer had something to say about our frames.
check_sanitizers()
{
	is_asan || return 0
	python3 "$here/leaks.py" "$run_dir"/asan.* "$run_dir"/out* || fail "a sanitizer's report, above"
}
