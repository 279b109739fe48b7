# SPDX-License-Identifier: BSD-2-Clause
# netem.sh - in a machine of scripts/vm: cases of test_fabric over TCP between two hosts of network
# name spaces, with 5 ms and 1 % loss each way. Few kernels of containers have netem.
set -e
if [ $# -lt 2 ]; then
	echo "usage: netem.sh BUILD PYTHON [CASE...]" >&2
	exit 2
fi
build=$1 python=$2
shift 2
[ $# -gt 0 ] || set -- order_tagged order_msg rma_forms delivery_complete close_after_inject kill_sender
modprobe -a sch_netem veth
export FI_PROVIDER=quiver FI_QUIVER_CORE=tcp FI_PROVIDER_PATH=$build/lib/libfabric
exec "$python" "${BASH_SOURCE%/*}/../fabric/harness/hosts.py" netem "$build/bin/test_fabric" "$@"
