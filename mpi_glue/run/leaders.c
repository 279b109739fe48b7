/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaders.c - blocking collectives of ranks on several nodes. The ranks of a node work through memory
 * (memory.c); one of each node, its leader, speaks for them to the other leaders, by the MPI's own collective
 * among these. So each message between nodes is for a whole node.
 */
#include "nodes.h"

#include <string.h>

#include "engine/team/team.h"

/* A broadcast begins with a word that says whether the root has anything to send, and so many bytes. */
#define FIRST ((size_t)8 << 10)
#define PIECE QV_MPI_NODES_PIECE

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
	char *sum = NULL, *result = NULL;
	int rc, count = (int)t->count;

	if (leads(n)) {
		sum = all && out ? out : n->scratch->body;
		result = all ? sum : out ? out : n->scratch->other;
	}
	t->out = sum;
	rc = within(c, t);
	if (rc)
		return rc;
	/* MPICH 4.0 dies in a long reduce that is in place at another rank than 0. */
	if (sum && all)
		rc = QV_REAL(Allreduce)(MPI_IN_PLACE, sum, count, call->type, call->op, n->leaders);
	else if (sum)
		rc = QV_REAL(Reduce)(sum, n->mine == root ? result : NULL, count, call->type,
				     call->op, root, n->leaders);
	if (rc)
		return QV_EIO;
	if (!all && (n->mine != root || !n->place[call->root]))
		return QV_OK; /* the root is a leader, or elsewhere */
	return spread(c, result, out, t->count * t->item);
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

/* From the root to the leader of its node, if we are there; body is the leader's. */
static int to_leader(struct qv_mpi_comm *c, int root, const char *in, char *out, char *body,
		     size_t bytes)
{
	const struct qv_mpi_nodes *n = c->nodes;
	struct qv_team_call t = {.kind = QV_TEAM_BROADCAST,
				 .in = in,
				 .out = body ? body : out,
				 .count = bytes,
				 .item = 1};

	if (n->mine != n->node[root])
		return QV_OK;
	if (n->place[root]) { /* all others of the node get it at the same time */
		t.root = (uint32_t)n->place[root];
		return within(c, &t);
	}
	if (!body)
		return QV_OK;
	if (!in)
		return QV_ENOMEM;
	if (body != in)
		memcpy(body, in, bytes);
	return QV_OK;
}

/* From the leader of the root's node, which has it or has failed, to the others. The first piece is in the
 * scratch, behind a word that tells them, so that nobody waits for a root that has failed. */
static int among_leaders(const struct qv_mpi_nodes *n, int node, char *body, size_t bytes,
			 bool first, int rc)
{
	if (first) {
		n->scratch->status = rc;
		body = (char *)&n->scratch->status;
		bytes += sizeof n->scratch->status;
	} else if (rc) {
		return rc;
	}
	if (QV_REAL(Bcast)(body, (int)bytes, MPI_BYTE, node, n->leaders))
		return QV_EIO;
	return first ? (int)n->scratch->status : QV_OK;
}

static int broadcast_piece(struct qv_mpi_comm *c, int root, const char *in, char *out, size_t bytes,
			   bool first)
{
	const struct qv_mpi_nodes *n = c->nodes;
	const int node = n->node[root];
	char *body = NULL;
	int rc;

	if (leads(n))
		body = first || !out ? n->scratch->body : out;
	rc = to_leader(c, root, in, out, body, bytes);
	if (body)
		rc = among_leaders(n, node, body, bytes, first, rc);
	if (body && out && body != out && c->rank != root && !rc)
		memcpy(out, body, bytes);
	if (n->mine == node && n->place[root]) /* the node has it, or knows that it has failed */
		return rc;
	return spread(c, rc ? NULL : body, body ? NULL : out, bytes);
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
