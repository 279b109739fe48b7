# SPDX-License-Identifier: BSD-2-Clause
# networks.sh - networks inside a machine of scripts/vm. Sourced.

# A soft RoCE device on 10.9.0.1. rdma_cm resolves the host's own name: it must be there.
network_rdma()
{
	modprobe -a rdma_rxe ib_uverbs rdma_ucm veth
	ip link add v0 type veth peer name v1
	ip address add 10.9.0.1/24 dev v0
	ip link set v0 up
	ip link set v1 up
	rdma link add rxe0 type rxe netdev v0
	printf '10.9.0.1 %s\n' "$(hostname)" >>/etc/hosts
	# ofi_rxm makes completion queues for 256 peers, which are longer than the device has them.
	export FI_UNIVERSE_SIZE=${FI_UNIVERSE_SIZE:-16}
	# The address can be used a moment later.
	for _ in $(seq 50); do
		! fi_info -p 'verbs;ofi_rxm' >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	echo "networks.sh: libfabric offers no verbs;ofi_rxm" >&2
	return 1
}

# A loopback that is slow, and loses, repeats and reorders packets.
network_lossy()
{
	modprobe sch_netem
	tc qdisc add dev lo root netem delay 5ms 1ms loss 1% duplicate 1% reorder 5%
}
