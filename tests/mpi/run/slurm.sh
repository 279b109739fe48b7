#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# slurm.sh BUILD - a program that srun starts, by variables of the environment alone. Slurm with one node is
# started for that, with a configuration, a key and ports of its own, and ended.
build=$1
. "$(dirname "$0")/common.sh"
need slurmctld slurmctld
need slurmd slurmd
need munged munge
[ "$(id -u)" -eq 0 ] || skip "slurmd must be started by root"
is_asan && skip "srun does not load the sanitizer's library"
unset LD_PRELOAD
name=$(hostname -s)
srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm has no plugin for PMIx, which Open MPI asks for"

dd if=/dev/urandom of="$run_dir/key" bs=128 count=1 status=none
chmod 400 "$run_dir/key"
chmod 755 "$run_dir"
mkdir "$run_dir/state" "$run_dir/spool"
cat >"$run_dir/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
MpiDefault=pmix
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$run_dir/socket
StateSaveLocation=$run_dir/state
SlurmdSpoolDir=$run_dir/spool
SlurmctldPidFile=$run_dir/slurmctld.pid
SlurmdPidFile=$run_dir/slurmd.pid
SlurmctldLogFile=$run_dir/slurmctld.log
SlurmdLogFile=$run_dir/slurmd.log
ReturnToService=2
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$name Default=YES State=UP
END
export SLURM_CONF=$run_dir/slurm.conf
munged --foreground --force --key-file "$run_dir/key" --socket "$run_dir/socket" --seed-file "$run_dir/seed" \
	--pid-file "$run_dir/munged.pid" --log-file "$run_dir/munged.log" >"$run_dir/munged.out" 2>&1 &
pids=$!
trap 'kill $pids 2>/dev/null; wait; rm -rf "$run_dir"' EXIT
for ((i = 0; i < 100 && $(munge -n -S "$run_dir/socket" 2>/dev/null | wc -c) == 0; i++)); do sleep 0.1; done
slurmctld -D >"$run_dir/ctld.out" 2>&1 &
pids="$! $pids"
slurmd -D >"$run_dir/d.out" 2>&1 &
pids="$! $pids"
for ((i = 0; i < 300; i++)); do
	sinfo -h -o %T 2>/dev/null | grep -q idle && break
	sleep 0.1
done
sinfo -h -o %T 2>&1 | grep -q idle || { cat "$run_dir"/*.out "$run_dir"/*.log; fail "Slurm does not start"; }

export FI_PROVIDER_PATH=$build/lib/libfabric FI_PROVIDER=quiver FI_QUIVER_STATS=yes
export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include=quiver OMPI_MCA_btl=self
export OMPI_MCA_opal_common_ofi_provider_include=quiver OMPI_MCA_mpi_yield_when_idle=1
# run WANTED OPTIONS...: cases of the suite, with a line that matches WANTED.
run()
{
	local wanted=$1
	shift
	timeout -k 5 90 srun --mpi=pmix --overcommit -n2 "$@" "$build/bin/mpi_suite" --limit 30 --provider order \
		coll.allreduce >"$run_dir/out" 2>&1 || { cat "$run_dir/out"; fail "srun ended with $?"; }
	grep -qE "$wanted" "$run_dir/out" || { cat "$run_dir/out"; fail "no line with: $wanted"; }
	grep -q '^passed [0-9]* cases on 2 ranks' "$run_dir/out" || { cat "$run_dir/out"; fail "not two ranks"; }
}
run 'endpoint over node'
run 'MPI_Allreduce: [0-9]+ calls, [1-9][0-9]* taken: [0-9]+ ring' \
	--export "ALL,LD_PRELOAD=$build/lib/libquiver-mpi.so,QUIVER_MPI_COLL=allreduce=ring,QUIVER_MPI_STATS=1"
echo "slurm: ok"
