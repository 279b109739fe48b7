/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c - blocking collectives of ranks on several nodes. The ranks of a node work through memory
 * (memory.c); one of each node, its leader, speaks for them to the other leaders, by the MPI's own collective
 * among these. So each message between nodes is for a whole node.
 */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/proc.h"
#include "engine/team/team.h"

/* Of a vector, one after the other: a node works on the next one while leaders wait for the last. */
#define PIECE ((size_t)512 << 10)
/* A broadcast begins with a word that says whether the root has anything to send, and so many bytes. */
#define FIRST ((size_t)8 << 10)

struct qv_mpi_nodes {
	MPI_Comm leaders; /* MPI_COMM_NULL: this rank is none */
	int nodes;
	int *node, *place; /* of each rank: its node, from 0 on; its rank within that */
	int mine, members; /* our node, and how many ranks it has */
	bool in_order;     /* ranks of a node follow each other */
	bool failed;       /* an operation was cut: for good */
	struct {
		int64_t status;
		char body[PIECE];
	} * scratch; /* of a leader, whose program may have no room for a result */
};

/* Making it. */

struct host {
	uint64_t id, name; /* name: one that a team may have */
};

/* Nodes are numbered by their first ranks. False: some rank does not know where it is, or each is alone. */
static bool number(struct qv_mpi_nodes *n, const struct host *hosts, int ranks)
{
	int *first = n->place; /* of each node, until all are known */

	n->nodes = 0;
	for (int r = 0; r < ranks; r++) {
		int at = r ? n->node[r - 1] : 0; /* most follow each other */

		if (!hosts[r].id)
			return false;
		if (!r || hosts[first[at]].id != hosts[r].id)
			for (at = 0; at < n->nodes && hosts[first[at]].id != hosts[r].id; at++)
				;
		if (at == n->nodes)
			first[n->nodes++] = r;
		n->node[r] = at;
	}
	return n->nodes > 1 && n->nodes < ranks;
}

static int members_before(const struct qv_mpi_nodes *n, int rank)
{
	int k = 0;

	for (int r = 0; r < rank; r++)
		k += n->node[r] == n->node[rank];
	return k;
}

static void place(struct qv_mpi_nodes *n, int rank, int ranks)
{
	int *next = calloc((size_t)n->nodes, sizeof *next);

	n->in_order = true;
	for (int r = 0; r < ranks; r++) {
		n->place[r] = next ? next[n->node[r]]++ : members_before(n, r);
		n->in_order &= !r || n->node[r] >= n->node[r - 1];
		n->members += n->node[r] == n->node[rank];
	}
	free(next);
	n->mine = n->node[rank];
}

/* The leaders, in the order of their nodes. */
static bool lead(struct qv_mpi_nodes *n, struct qv_mpi_comm *c)
{
	int *ranks = malloc((size_t)n->nodes * sizeof *ranks);
	bool all;

	for (int r = 0; ranks && r < c->ranks; r++)
		if (!n->place[r])
			ranks[n->node[r]] = r;
	if (!n->place[c->rank])
		n->scratch = malloc(sizeof *n->scratch);
	all = qv_mpi_agree(c->comm, ranks && (n->scratch || n->place[c->rank])) &&
	      qv_mpi_comm_of_some(c, n->nodes, ranks, &n->leaders);
	free(ranks);
	return all;
}

struct qv_mpi_nodes *qv_mpi_nodes_make(struct qv_mpi_comm *c, uint64_t host, uint64_t *name)
{
	const struct host own = {host, qv_proc_random() | 1};
	struct host *hosts = malloc((size_t)c->ranks * sizeof *hosts);
	struct qv_mpi_nodes *n = calloc(1, sizeof *n);

	if (n) {
		n->leaders = MPI_COMM_NULL;
		n->node = malloc((size_t)c->ranks * sizeof *n->node);
		n->place = malloc((size_t)c->ranks * sizeof *n->place);
	}
	if (!qv_mpi_agree(c->comm, hosts && n && n->node && n->place) ||
	    QV_REAL(Allgather)(&own, sizeof own, MPI_BYTE, hosts, sizeof own, MPI_BYTE, c->comm) ||
	    !number(n, hosts, c->ranks))
		goto none;
	*name = hosts[n->place[n->node[c->rank]]].name;
	place(n, c->rank, c->ranks);
	if (!lead(n, c))
		goto none;
	free(hosts);
	return n;
none:
	free(hosts);
	qv_mpi_nodes_free(n);
	return NULL;
}

void qv_mpi_nodes_free(struct qv_mpi_nodes *n)
{
	if (!n)
		return;
	qv_mpi_comm_unmake(&n->leaders);
	free(n->node);
	free(n->place);
	free(n->scratch);
	free(n);
}

int qv_mpi_nodes_rank(const struct qv_mpi_nodes *n, int rank)
{
	return n->place[rank];
}

int qv_mpi_nodes_members(const struct qv_mpi_nodes *n)
{
	return n->members;
}

bool qv_mpi_nodes_serve(const struct qv_mpi_nodes *n, enum qv_coll coll,
			const struct qv_mpi_reduce *r)
{
	return coll == QV_COLL_BARRIER || coll == QV_COLL_BROADCAST ||
	       ((coll == QV_COLL_REDUCE || coll == QV_COLL_ALLREDUCE) &&
		(!r->ordered || n->in_order));
}

/* One call. */

/* What our node does through memory; one rank alone has nothing to do but to copy. */
static int within(struct qv_mpi_comm *c, const struct qv_team_call *t)
{
	int rc;

	if (!c->team) {
		if (t->kind != QV_TEAM_BARRIER && t->out && t->in && t->out != t->in)
			memcpy(t->out, t->in, t->count * t->item);
		return t->kind == QV_TEAM_BROADCAST && !t->in ? QV_ENOMEM : QV_OK;
	}
	rc = qv_team_start(c->team, t);
	return rc ? rc : qv_team_wait(c->team);
}

static bool leads(const struct qv_mpi_nodes *n)
{
	return n->leaders != MPI_COMM_NULL;
}

static int barrier(struct qv_mpi_comm *c)
{
	const struct qv_team_call t = {.kind = QV_TEAM_BARRIER, .item = 1};
	int rc = within(c, &t);

	if (!rc && leads(c->nodes) && QV_REAL(Barrier)(c->nodes->leaders))
		rc = QV_EIO;
	return rc ? rc : within(c, &t);
}

/* A piece of a vector: where the first leader has it, and the members want it. */
static int spread(struct qv_mpi_comm *c, const void *in, void *out, size_t bytes)
{
	const struct qv_team_call t = {
		.kind = QV_TEAM_BROADCAST, .in = in, .out = out, .count = bytes, .item = 1};

	return within(c, &t);
}

static int reduce_piece(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
			struct qv_team_call *t, char *out)
{
	const struct qv_mpi_nodes *n = c->nodes;
	const bool all = call->coll == QV_COLL_ALLREDUCE;
	const int root = all ? 0 : n->node[call->root];
	char *sum = NULL;
	int rc, count = (int)t->count;

	if (leads(n))
		sum = out ? out : n->scratch->body;
	t->out = sum;
	rc = within(c, t);
	if (rc)
		return rc;
	if (sum && all)
		rc = QV_REAL(Allreduce)(MPI_IN_PLACE, sum, count, call->type, call->op, n->leaders);
	else if (sum)
		rc = QV_REAL(Reduce)(n->mine == root ? MPI_IN_PLACE : sum,
				     n->mine == root ? sum : NULL, count, call->type, call->op,
				     root, n->leaders);
	if (rc)
		return QV_EIO;
	if (!all && (n->mine != root || !n->place[call->root]))
		return QV_OK; /* the root is a leader, or elsewhere */
	return spread(c, sum, out, t->count * t->item);
}

static int reduce(struct qv_mpi_comm *c, const struct qv_mpi_call *call, struct qv_team_call *t,
		  char *out)
{
	const size_t most = PIECE / t->item, whole = t->count;
	const char *in = t->in;
	int rc = QV_OK;

	t->kind = QV_TEAM_REDUCE;
	t->root = 0;
	for (size_t at = 0; at < whole && !rc; at += most) {
		t->in = in + at * t->item;
		t->count = whole - at < most ? whole - at : most;
		rc = reduce_piece(c, call, t, out ? out + at * t->item : NULL);
	}
	return rc;
}

/* From the root to the leader of its node, if that is another; it has it in the scratch then. */
static int to_leader(struct qv_mpi_comm *c, int root, const void *in, void *out, size_t bytes)
{
	const struct qv_mpi_nodes *n = c->nodes;
	struct qv_team_call t = {
		.kind = QV_TEAM_BROADCAST, .in = in, .out = out, .count = bytes, .item = 1};

	if (n->mine != n->node[root] || !n->place[root])
		return QV_OK;
	t.root = (uint32_t)n->place[root];
	return within(c, &t);
}

/* One piece; the first one behind a word in the scratch, so that nobody waits for a root that has failed. */
static int broadcast_piece(struct qv_mpi_comm *c, int root, const char *in, char *out, size_t bytes,
			   bool first)
{
	const struct qv_mpi_nodes *n = c->nodes;
	const bool near_root = n->mine == n->node[root];
	char *body = NULL;
	int rc;

	if (leads(n))
		body = !first && out ? out : n->scratch->body;
	if (c->rank == root) {
		rc = to_leader(c, root, in, NULL, bytes);
		if (!rc && body && body != in && in)
			memcpy(body, in, bytes);
		rc = !rc && !in ? QV_ENOMEM : rc;
	} else {
		rc = to_leader(c, root, NULL, body ? body : out, bytes);
	}
	if (body && first) {
		n->scratch->status = rc;
		if (QV_REAL(Bcast)(n->scratch, (int)(sizeof n->scratch->status + bytes), MPI_BYTE,
				   n->node[root], n->leaders))
			rc = QV_EIO;
		else
			rc = (int)n->scratch->status;
	} else if (body && !rc &&
		   QV_REAL(Bcast)(body, (int)bytes, MPI_BYTE, n->node[root], n->leaders)) {
		rc = QV_EIO;
	}
	if (body && out && body != out && c->rank != root && !rc)
		memcpy(out, body, bytes);
	if (near_root && n->place[root]) /* they have it, or know that nobody has */
		return rc;
	if (body)
		return spread(c, rc ? NULL : body, NULL, bytes);
	return rc ? rc : spread(c, NULL, out, bytes);
}

static int broadcast(struct qv_mpi_comm *c, int root, const char *in, char *out, size_t bytes)
{
	size_t part = bytes < FIRST ? bytes : FIRST;
	int rc = broadcast_piece(c, root, in, out, part, true);

	for (size_t at = part; at < bytes && !rc; at += part) {
		part = bytes - at < PIECE ? bytes - at : PIECE;
		rc = broadcast_piece(c, root, in ? in + at : NULL, out ? out + at : NULL, part,
				     false);
	}
	return rc;
}

int qv_mpi_nodes_run(struct qv_mpi_comm *c, const struct qv_mpi_call *call, struct qv_team_call *t)
{
	int rc;

	if (c->nodes->failed)
		return QV_EPEER;
	if (call->coll == QV_COLL_BARRIER)
		rc = barrier(c);
	else if (call->coll == QV_COLL_BROADCAST)
		rc = broadcast(c, call->root, t->in, t->out, t->count * t->item);
	else
		rc = reduce(c, call, t, t->out);
	c->nodes->failed = rc != QV_OK;
	return rc;
}
