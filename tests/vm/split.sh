# SPDX-License-Identifier: BSD-2-Clause
# split.sh - in a machine of scripts/vm: hpcc or LAMMPS over two cores, node between ranks that take each
# other to be on one node, and verbs;ofi_rxm on soft RoCE between those of two.
set -e
if [ $# -lt 3 ]; then
	echo "usage: split.sh BUILD hpcc|lammps|suite RANKS [CASE...]" >&2
	exit 2
fi
build=$1 program=$2 ranks=$3
shift 3
. "${BASH_SOURCE%/*}/networks.sh"
network_rdma
export QV_SPLIT=1
exec "${BASH_SOURCE%/*}/../mpi/run/$program.sh" "$build" 'node,verbs;ofi_rxm' "$ranks" "${QV_SECONDS:-500}" "$@"
