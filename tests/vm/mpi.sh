# SPDX-License-Identifier: BSD-2-Clause
# mpi.sh - in a machine of scripts/vm: Open MPI over verbs;ofi_rxm on soft RoCE, behind queues of
# up to 4000 receives or messages. Times of an emulated machine say little; `counted` is how many
# packets the device has sent, acknowledgements of the hardware among them, for each message of MPI.
# With quiver, what that has sent and copied for each message of the whole run.
set -e
if [ $# -lt 1 ]; then
	echo "usage: mpi.sh BUILD [FI_PROVIDER [DEPTHS]]" >&2
	exit 2
fi
. "${BASH_SOURCE%/*}/networks.sh"
network_rdma
export FI_PROVIDER=${2:-verbs;ofi_rxm;ofi_quiver} FI_PROVIDER_PATH=$1/lib/libfabric
echo "$FI_PROVIDER:"
mpirun.openmpi -n 2 --allow-run-as-root --oversubscribe --timeout 500 -x FI_QUIVER_STATS=yes \
	--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "$FI_PROVIDER" --mca btl self \
	"$1/bin/mpi_depth_pingpong" --iters 100 --depths "${3:-0,100,1000,4000}" \
	--counter /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts 2>/tmp/stats ||
	{ cat /tmp/stats; exit 1; }
[[ $FI_PROVIDER = *quiver* ]] || exit 0
awk '/ endpoint over / { for (i = 1; i < NF; i++) if ($(i + 1) == "eager" || $(i + 1) == "rendezvous") sent += $i }
	/ packets to the network/ { packets += $3; copied += $8 }
	END {
		if (!sent || !packets) exit 1
		printf "quiver, for each message: %.3f packets, %.3f copies of its payload\n", packets / sent, copied / sent / 8
	}' /tmp/stats
