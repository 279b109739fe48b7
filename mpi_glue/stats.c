/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c - which calls were taken, by what; which were not, and why. */
#include "glue.h"

#include <stdio.h>

static const char *const names[QV_MPI_N_NAMES][QV_MPI_N_FORMS] = {
	{"MPI_Reduce", "MPI_Ireduce", "MPI_Reduce_init"},
	{"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init"},
	{"MPI_Reduce_scatter", "MPI_Ireduce_scatter", "MPI_Reduce_scatter_init"},
	{"MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block", "MPI_Reduce_scatter_block_init"},
	{"MPI_Barrier", "MPI_Ibarrier", "MPI_Barrier_init"},
	{"MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init"},
	{"MPI_Allgather", "MPI_Iallgather", "MPI_Allgather_init"},
	{"MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init"},
	{"MPI_Gather", "MPI_Igather", "MPI_Gather_init"},
	{"MPI_Scatter", "MPI_Iscatter", "MPI_Scatter_init"},
	{"MPI_Scan", "MPI_Iscan", "MPI_Scan_init"},
	{"MPI_Exscan", "MPI_Iexscan", "MPI_Exscan_init"},
	{"MPI_Reduce_local", NULL, NULL},
	{"MPI_Allgatherv", "MPI_Iallgatherv", "MPI_Allgatherv_init"},
	{"MPI_Alltoallv", "MPI_Ialltoallv", "MPI_Alltoallv_init"},
	{"MPI_Gatherv", "MPI_Igatherv", "MPI_Gatherv_init"},
	{"MPI_Scatterv", "MPI_Iscatterv", "MPI_Scatterv_init"},
	{"MPI_Neighbor_allgather", "MPI_Ineighbor_allgather", "MPI_Neighbor_allgather_init"},
	{"MPI_Neighbor_allgatherv", "MPI_Ineighbor_allgatherv", "MPI_Neighbor_allgatherv_init"},
	{"MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall", "MPI_Neighbor_alltoall_init"},
	{"MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv", "MPI_Neighbor_alltoallv_init"},
};

static const char *const reasons[QV_MPI_N_REASONS] = {
	[QV_MPI_NOT_CHOSEN] = "not chosen",
	[QV_MPI_ODD_ARGUMENT] = "an argument that the MPI shall judge",
	[QV_MPI_INTER] = "intercommunicator",
	[QV_MPI_ALONE] = "one rank",
	[QV_MPI_EMPTY] = "no elements",
	[QV_MPI_GAPS] = "type with gaps",
	[QV_MPI_ODD_OP] = "operation not defined on the type",
	[QV_MPI_USER_OP] = "operation of the program, which may free it before the end",
	[QV_MPI_ORDER] = "operation does not commute",
	[QV_MPI_UNEQUAL] = "blocks of different lengths",
	[QV_MPI_TOO_LONG] = "too long",
	[QV_MPI_TOO_MANY] = "too many persistent requests",
	[QV_MPI_NO_HOOK] = "this MPI does not let others run inside of its calls",
	[QV_MPI_TRIED] = "to compare with",
	[QV_MPI_SLOWER] = "which is as fast",
	[QV_MPI_NO_TOPOLOGY] = "no topology",
	[QV_MPI_NOT_KNOWN] = "neighbours, or a plan for them, were not known to all ranks yet",
	[QV_MPI_MIXED] = "ranks that are not of this MPI_COMM_WORLD, or had no memory for it",
	[QV_MPI_NO_DUP] = "no copy of the communicator yet, and the call may not wait for one",
	[QV_MPI_DUP_REFUSED] = "no copy of the communicator could be made now",
	[QV_MPI_APART] = "no memory that all its ranks have",
	[QV_MPI_NOT_BLOCKING] = "memory is for blocking calls",
	[QV_MPI_NO_KERNEL] = "operation of the program, or type that the MPI combines",
	[QV_MPI_TWICE] = "a rank that is a neighbour twice, or of one side only",
};

void qv_mpi_count_by_arrival(void)
{
	atomic_fetch_add_explicit(&qv_mpi.by_arrival, 1, memory_order_relaxed);
}

void qv_mpi_count_sent(size_t bytes)
{
	atomic_fetch_add_explicit(&qv_mpi.sent, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&qv_mpi.sent_bytes, bytes, memory_order_relaxed);
}

void qv_mpi_sent(uint64_t *messages, uint64_t *bytes)
{
	*messages = qv_mpi.sent;
	*bytes = qv_mpi.sent_bytes;
}

void qv_mpi_judged(uint64_t *judged, uint64_t *changed)
{
	*judged = qv_mpi.judged;
	*changed = qv_mpi.changed;
}

void qv_mpi_planned(uint64_t *plans, double *seconds)
{
	*plans = qv_mpi.planned;
	*seconds = 1e-9 * (double)qv_mpi.planned_ns;
}

uint64_t qv_mpi_by_arrival(void)
{
	return qv_mpi.by_arrival;
}

uint64_t qv_mpi_taken(void)
{
	uint64_t n = 0;

	for (int name = 0; name < QV_MPI_N_NAMES; name++)
		for (int form = 0; form < QV_MPI_N_FORMS; form++)
			for (int way = QV_MPI_TAKEN; way < QV_MPI_N_WAYS; way++)
				n += qv_mpi.counts[name][form][way];
	return n;
}

static const char *way_name(int way)
{
	switch (way) {
	case QV_MPI_CRYSTAL: return "crystal";
	case QV_MPI_FRIENDS: return "friends";
	case QV_MPI_FRIENDS_OF_NODE: return "nodes";
	case QV_MPI_MEMORY: return "memory";
	case QV_MPI_KERNEL: return "kernel";
	default: break;
	}
	return way < QV_MPI_N_REASONS ? reasons[way]
				      : qv_algorithm_name((enum qv_algorithm)(way - QV_MPI_TAKEN));
}

static void print(int name, int form, const unsigned long long *counts)
{
	unsigned long long calls = 0, taken = 0;
	const char *colon = ": ";

	for (int way = 0; way < QV_MPI_N_WAYS; way++) {
		calls += counts[way];
		taken += way >= QV_MPI_TAKEN ? counts[way] : 0;
	}
	if (!calls)
		return;
	fprintf(stderr, "quiver: %s: %llu calls, %llu taken", names[name][form], calls, taken);
	for (int way = QV_MPI_N_WAYS - 1; way >= 0; way--) {
		if (!counts[way])
			continue;
		fprintf(stderr, "%s%llu %s%s", colon, counts[way],
			way >= QV_MPI_TAKEN ? "" : "to the MPI, ", way_name(way));
		colon = "; ";
	}
	fputc('\n', stderr);
}

void qv_mpi_report(void)
{
	unsigned long long mine[QV_MPI_N_NAMES][QV_MPI_N_FORMS][QV_MPI_N_WAYS];
	unsigned long long sums[QV_MPI_N_NAMES][QV_MPI_N_FORMS][QV_MPI_N_WAYS] = {0};
	unsigned long long others[3] = {qv_mpi.by_arrival, qv_mpi.sent, qv_mpi.sent_bytes};
	unsigned long long all[3] = {0};
	int rank, ranks;

	for (int name = 0; name < QV_MPI_N_NAMES; name++)
		for (int form = 0; form < QV_MPI_N_FORMS; form++)
			for (int way = 0; way < QV_MPI_N_WAYS; way++)
				mine[name][form][way] = qv_mpi.counts[name][form][way];
	QV_REAL(Reduce)
	(mine, sums, (int)(sizeof(sums) / sizeof(mine[0][0][0])), MPI_UNSIGNED_LONG_LONG, MPI_SUM,
	 0, MPI_COMM_WORLD);
	QV_REAL(Reduce)
	(others, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!rank)
		fprintf(stderr, "quiver: calls of %d ranks, combined by %s\n", ranks,
			qv_combine_isa(qv_mpi.combine));
	if (qv_mpi_offload_wanted())
		qv_mpi_offload_report();
	for (int name = 0; name < QV_MPI_N_NAMES && !rank; name++)
		for (int form = 0; form < QV_MPI_N_FORMS; form++)
			print(name, form, sums[name][form]);
	if (!rank && qv_mpi.judged)
		fprintf(stderr,
			"quiver: auto, on rank 0: %llu times judged, %llu times anew, %llu times "
			"the MPI was faster than the model said\n",
			(unsigned long long)qv_mpi.judged, (unsigned long long)qv_mpi.changed,
			(unsigned long long)qv_mpi.refuted);
	if (!rank && qv_mpi.planned)
		fprintf(stderr, "quiver: %llu plans of neighbours, on rank 0, made in %.3g ms\n",
			(unsigned long long)qv_mpi.planned, 1e-6 * (double)qv_mpi.planned_ns);
	if (!rank && qv_mpi.network.alpha > 0)
		fprintf(stderr,
			"quiver: network: %.2f us a message, %.3g ns a byte, %.3g ns to combine it\n",
			1e6 * qv_mpi.network.alpha, 1e9 * qv_mpi.network.beta,
			1e9 * qv_mpi.network.gamma);
	if (!rank && all[1])
		fprintf(stderr, "quiver: %llu messages of %llu bytes in all\n", all[1], all[2]);
	if (all[0])
		fprintf(stderr, "quiver: %llu calls by expected arrivals\n", all[0]);
}
