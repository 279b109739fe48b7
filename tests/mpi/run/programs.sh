#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# programs.sh SOURCE BUILD MPI - scripts/mpi-programs: the programs receive the same with libquiver-mpi, which
# takes their calls; each has its figures; wrong arguments are named.
set -u
tool=$1/scripts/mpi-programs
build=$2 mpi=$3

case $mpi in
openmpi) launch=mpirun.openmpi program=mpi_programs ;;
mpich) launch=mpiexec.mpich program=mpi_programs_mpich ;;
esac
if ! command -v $launch >/dev/null || [ ! -e "$build/bin/$program" ]; then
	echo "$launch is not installed, or was not at configure time"
	exit 77
fi
if [ ! -e "$build/lib/libquiver-mpi.so" ] || grep -aq 'libasan\.so' "$build/bin/$program"; then
	echo "built without libquiver-mpi, or with ASan, which no library can stand before"
	exit 77
fi

fail()
{
	echo "FAILED: $*"
	exit 1
}

# Each named algorithm is another one than the MPI's; those of auto differ between steps.
number='[0-9]+\.[0-9]+'
ratio="$number \[$number, $number\]"
rules=reduce=segmented,allreduce=ring,scan=pipeline,exscan=binomial,broadcast=pipeline,gatherv=binomial
rules+=,alltoall=prefix,alltoallv=crystal,neighbor_alltoall=friends,neighbor_allgather=friends
for set in '' "--rules $rules"; do
	# shellcheck disable=SC2086 # words
	out=$("$tool" --mpi $mpi --np 3 --rounds 1 --steps 20 $set "$build") || fail "ends in $?: $out"
	echo "$out"
	for name in balanced helsim fds halo neighbours gups scans transpose spmm; do
		grep -Eq "^$name +$number +$number +$ratio +$number +$number +$ratio$" <<<"$out" || fail "$name"
	done
done
said=$("$tool" --mpi $mpi --np 3 --rounds 1 --steps 1 --rules gatherv=sideways \
	"$build" fds 2>&1) && fail "wrong rules are taken"
grep -q sideways <<<"$said" || fail "wrong rules: $said"
if [ $mpi = openmpi ]; then
	out=$("$tool" --rounds 1 --messages --rules alltoall=direct "$build" -- "$build/bin/$program" transpose 10) ||
		fail "ends in $?: $out"
	echo "$out"
	# 2 ranks, 10 steps, a message each, and one at the end; with the library also what it needs to begin. Open
	# MPI's monitoring may fail.
	grep -Eq "^$program .* (2[0-9]|-) +([0-9]{2,3}|-)$" <<<"$out" || fail "messages"
fi

grep -q '^usage: ' <<<"$("$tool" --help)" || fail "--help"
[ "$("$tool" "$1" 2>&1)" = "mpi-programs: no libquiver-mpi in $1/lib" ] || fail "a folder without a build"
for wrong in '--fast build' '--mpi sky build' '--rounds 0 build' '--steps x build' 'build x' 'build fds -- true' \
	'--mpi mpich --messages build' '--rounds' ''; do
	# shellcheck disable=SC2086 # words
	said=$("$tool" $wrong 2>&1) && fail "$wrong is taken"
	[ "$(wc -l <<<"$said")" = 1 ] || fail "$wrong: $said"
done
echo "passed"
