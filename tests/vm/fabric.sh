# SPDX-License-Identifier: BSD-2-Clause
# fabric.sh - in a machine of scripts/vm: cases of test_fabric over a network that is made there.
set -e
usage()
{
	cat <<-'END'
	usage: fabric.sh BUILD NETWORK [CASE...]
	NETWORK: rxm  FI_PROVIDER=verbs;ofi_rxm;ofi_quiver over soft RoCE
	         apart the same, every other rank in name spaces of its own for all but the network
	         rxd  FI_PROVIDER=verbs;ofi_rxd;ofi_quiver over soft RoCE
	         pair FI_QUIVER_CORE=node,verbs;ofi_rxm, all ranks on one node
	         split the same, the last rank on another node, as far as quiver knows
	         tcp  FI_QUIVER_CORE=tcp over a loopback that loses packets
	with native- in front of rxm, rxd or tcp: the same core without quiver
	CASE: names or patterns of test_fabric; default: a sample
	END
	exit 2
}
[ $# -ge 2 ] || usage
build=$1 network=$2
shift 2
. "${BASH_SOURCE%/*}/networks.sh"
# Name spaces as of a host; $made: the folder that has them.
name_spaces()
{
	local child
	unshare --pid --ipc --uts --mount --fork --kill-child sh -c \
		'mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm && exec sleep infinity' &
	for _ in $(seq 100); do
		child=$(cat "/proc/$!/task/$!/children" 2>/dev/null) && child=${child// /}
		[ -z "$child" ] || [ "$(cat "/proc/$child/comm")" != sleep ] || break
		sleep 0.1
	done
	made=/proc/$child/ns
}

layer=';ofi_quiver'
[ "$network" = "${network#native-}" ] || layer=
case $network in
*rxm) network_rdma; export FI_PROVIDER="verbs;ofi_rxm$layer" ;;
apart)
	network_rdma
	export FI_PROVIDER='verbs;ofi_rxm;ofi_quiver'
	name_spaces && first=$made && name_spaces
	export QV_TEST_HOSTS="$first:$made"
	;;
*rxd) network_rdma; export FI_PROVIDER="verbs;ofi_rxd$layer" ;;
pair | split)
	network_rdma
	export FI_PROVIDER=quiver,verbs QV_TEST_PROVIDER=quiver FI_QUIVER_CORE='node,verbs;ofi_rxm'
	[ "$network" = pair ] || export QV_TEST_NODES=split
	;;
tcp) network_lossy; export FI_PROVIDER=quiver FI_QUIVER_CORE=tcp ;;
native-tcp) network_lossy; export FI_PROVIDER='tcp;ofi_rxm' ;;
*) usage ;;
esac
sample=($(<"${BASH_SOURCE%/*}/../fabric/sample"))
# Round trips of 10 ms are too long for these.
[[ $network = *tcp ]] || sample+=(pingpong_tagged restart_killed)
[ $# -gt 0 ] || set -- "${sample[@]}"
# Code is about 20 times slower here.
export FI_PROVIDER_PATH=$build/lib/libfabric QV_TEST_TIMEOUT=${QV_TEST_TIMEOUT:-20}
exec "$build/bin/test_fabric" "$@"
