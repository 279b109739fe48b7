# SPDX-License-Identifier: BSD-2-Clause
# mpi.sh - in a machine of scripts/vm: Open MPI over verbs;ofi_rxm on soft RoCE, behind queues of
# up to 4000 receives or messages. Latencies of an emulated machine: only the ratios say anything.
set -e
if [ $# -lt 1 ]; then
	echo "usage: mpi.sh BUILD [FI_PROVIDER]" >&2
	exit 2
fi
. "${BASH_SOURCE%/*}/networks.sh"
network_rdma
export FI_PROVIDER=${2:-verbs;ofi_rxm;ofi_quiver} FI_PROVIDER_PATH=$1/lib/libfabric
echo "$FI_PROVIDER:"
exec mpirun.openmpi -n 2 --allow-run-as-root --oversubscribe --timeout 500 \
	--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "$FI_PROVIDER" --mca btl self \
	"$1/bin/mpi_depth_pingpong" --iters 100 --depths 0,100,1000,4000
