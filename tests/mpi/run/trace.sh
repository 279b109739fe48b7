#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# trace.sh BUILD MPI RANKS PROGRAM ARGS... - a program's calls are recorded by libquiver-mpi over plain Open MPI
# (ompi) or MPICH (mpich); what `quiver trace arrivals` makes of them has the matches that the provider records
# under the same program, for Open MPI.
# Instead of a program, lammps and hpcc: Debian's, with a small input. How hpcc packs its updates differs from run
# to run, so both recorders see one run, over the provider.
build=$1 mpi=$2 ranks=$3
shift 3
. "$(dirname "$0")/common.sh"
. "$here/inputs.sh"
is_asan && skip "the programs are not built with ASan, a library in front of them cannot be"
export PYTHONDONTWRITEBYTECODE=1

cd "$run_dir" || fail "no folder to run in"
one_run=() export OMP_NUM_THREADS=1
case $1 in
hpcc)
	need hpcc hpcc
	hpcc_input . "$ranks"
	one_run=(--together)
	;;
lammps)
	need lmp lammps
	lammps_input .
	set -- lmp -in in.melt -log none
	;;
esac
ours=$run_dir/ours.%r.qvt theirs=$run_dir/theirs.%r.qvt files=()
preloaded=(-x "LD_PRELOAD=$build/lib/libquiver-mpi-ompi.so:$LD_PRELOAD" -x "QUIVER_MPI_TRACE=$ours")
if [ "$mpi" = mpich ]; then
	need mpirun.mpich mpich
	timeout -k 5 75 mpirun.mpich -np "$ranks" env "LD_PRELOAD=$build/lib/libquiver-mpi-mpich.so" \
		"QUIVER_MPI_TRACE=$ours" "$@" >out 2>&1
elif [ ${#one_run[@]} -gt 0 ]; then
	FI_QUIVER_TRACE=$theirs over_quiver node "$ranks" 120 "${preloaded[@]}" "$@" >out 2>&1
else
	over_default "$ranks" 60 "${preloaded[@]}" "$@" >out 2>&1
fi || { cat out; fail "the program failed under libquiver-mpi"; }
! grep '^quiver:' out || fail "libquiver-mpi says something, above"

"$build/bin/quiver" trace arrivals ours.*.qvt -o job.qvt 2>err || { cat err; fail "no trace of matching"; }
! grep . err || fail "arrivals warns, above"
"$build/bin/quiver" trace replay job.qvt --impl ll --rounds 1 >/dev/null || fail "a replay fails"
if [ "$mpi" = ompi ]; then
	[ ${#one_run[@]} -gt 0 ] || FI_QUIVER_TRACE=$theirs over_quiver node "$ranks" 60 "$@" >out 2>&1 ||
		{ cat out; fail "the program failed over the provider"; }
	files=(theirs.*.qvt)
fi
python3 "$here/trace.py" "${one_run[@]}" job.qvt "${files[@]}" || fail "the traces differ"
