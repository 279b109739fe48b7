/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - blocking collectives through memory that all ranks of a node have (engine/team). With ranks on
 * several nodes, leaders.c says what each node does. The memory is made in the first call that wants it.
 * What decides is the same on all ranks: they tell each other after each step whether all is well.
 */
#include "mpi_glue/run/nodes.h"

#include <stdlib.h>
#include <string.h>
#ifndef QV_MPI_SIMULATED
#include <dlfcn.h>
#endif

#include "engine/base/compiler.h"
#include "engine/base/proc.h"
#include "engine/team/team.h"

/* Making it. */

#ifdef QV_MPI_SIMULATED
/* All ranks are in one process. */
static void make(struct qv_mpi_comm *c)
{
}
#else
/* Who waits lets the MPI go on: others may wait for a message of this rank. */
static void progress(void *owner)
{
	const struct qv_mpi_comm *c = owner;
	int found;

	if (qv_mpi.turn)
		qv_mpi.turn();
	else
		QV_REAL(Iprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, c->comm, &found, MPI_STATUS_IGNORE);
}

/* A name of rank 0's; 0: the ranks are not all on one host. */
static uint64_t agree(const struct qv_mpi_comm *c, uint64_t host)
{
	uint64_t mine[3], most[3];

	mine[0] = host;
	mine[1] = ~host;
	mine[2] = c->rank ? 0 : qv_proc_random() >> 1 | 1; /* MPICH 4.0 compares them as signed */
	if (QV_REAL(Allreduce)(mine, most, 3, MPI_UINT64_T, MPI_MAX, c->comm))
		return 0;
	return most[0] && most[0] == ~most[1] ? most[2] : 0;
}

static void make(struct qv_mpi_comm *c)
{
	struct qv_team_spec spec = {
		.rank = (uint32_t)c->rank,
		.ranks = (uint32_t)c->ranks,
		.oversubscribed = qv_mpi.crowded,
		.progress = progress,
		.owner = c,
	};
	struct qv_proc self;
	bool alone;

	qv_proc_self(&self);
	spec.name = agree(c, self.host);
	if (!spec.name) {
		c->nodes = qv_mpi_nodes_make(c, self.host, &spec.name);
		if (!c->nodes)
			return;
		spec.rank = (uint32_t)c->nodes->place[c->rank];
		spec.ranks = (uint32_t)c->nodes->members;
	}
	alone = spec.ranks == 1;
	qv_mpi.turn = (void (*)(void))dlsym(RTLD_DEFAULT, "opal_progress");
	if (qv_mpi_agree(c->comm, alone || !qv_team_open(&spec, &c->team)) &&
	    qv_mpi_agree(c->comm, alone || spec.rank || !qv_team_give(c->team)) &&
	    qv_mpi_agree(c->comm, alone || !spec.rank || !qv_team_take(c->team)))
		return;
	qv_mpi_memory_close(c);
}
#endif

static bool has_memory(const struct qv_mpi_comm *c)
{
	return c->team || c->nodes;
}

bool qv_mpi_memory_open(struct qv_mpi_comm *c)
{
	if (!c->asked_for_memory)
		make(c);
	c->asked_for_memory = true;
	return has_memory(c);
}

void qv_mpi_memory_close(struct qv_mpi_comm *c)
{
	qv_team_close(c->team);
	c->team = NULL;
	qv_mpi_nodes_free(c->nodes);
	c->nodes = NULL;
}

/* One call. */

bool qv_mpi_memory_has(enum qv_coll coll)
{
	return coll != QV_COLL_REDUCE_SCATTER && coll <= QV_COLL_ALLTOALL &&
	       coll != QV_COLL_GATHER && coll != QV_COLL_SCATTER;
}

bool qv_mpi_memory_serves(const struct qv_mpi_comm *c, const struct qv_mpi_call *call,
			  const struct qv_mpi_reduce *r)
{
	return !c->nodes || qv_mpi_nodes_serve(c->nodes, call->coll, r);
}

/* Elements with bytes that no value has, which are not combined: they are to be those of some rank. */
static bool has_padding(const struct qv_mpi_reduce *r)
{
	return r->type == QV_TYPE_LONG_DOUBLE || r->type == QV_TYPE_LONG_DOUBLE_COMPLEX;
}

/* Neither a nor b may be written, unless dst is b. */
static void combine(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const struct qv_mpi_reduce *r = context;

	if (dst != b && (r->local || has_padding(r)))
		b = memcpy(dst, b, count * r->item);
	if (r->local)
		QV_REAL(Reduce_local)(a, dst, (int)count, r->mpi_type, r->mpi_op);
	else
		qv_combine_to(qv_mpi.combine, r->op, r->type, dst, a, b, count);
}

/* From in to out; an MPI error code. */
static int run(struct qv_mpi_comm *c, const struct qv_mpi_call *call, const struct qv_mpi_reduce *r,
	       const void *in, void *out)
{
	struct qv_team_call t = {
		.kind = qv_team_kind_of(call->coll),
		.root = (uint32_t)call->root,
		.in = in,
		.out = out,
		.count = qv_mpi_is_exchange(call) ? call->count / (size_t)c->ranks : call->count,
		.item = r->item,
		.combine = combine,
		.context = (void *)(uintptr_t)r,
	};
	int rc;

	if (QV_UNLIKELY(c->nodes))
		rc = qv_mpi_nodes_run(c, call, &t);
	else if (!(rc = qv_team_start(c->team, &t)))
		rc = qv_team_wait(c->team);
	return QV_LIKELY(!rc) ? MPI_SUCCESS : qv_mpi_error_of(rc);
}

/* Elements lie as they travel. */
static int run_plain(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
		     const struct qv_mpi_reduce *r)
{
	const void *in = call->in;
	void *out = call->out;

	if (call->coll == QV_COLL_BROADCAST)
		in = out;
	else if (call->coll == QV_COLL_REDUCE && c->rank != call->root)
		out = NULL;
	else if (in == MPI_IN_PLACE && call->coll == QV_COLL_ALLGATHER)
		in = (char *)out + call->count / (size_t)c->ranks * (size_t)c->rank;
	else if (in == MPI_IN_PLACE)
		in = out;
	return run(c, call, r, in, out);
}

/* What this rank gives, packed. */
static int pack(const struct qv_mpi_comm *c, const struct qv_mpi_call *call, char *to, size_t bytes)
{
	const bool in_place = call->in == MPI_IN_PLACE, all = call->coll == QV_COLL_ALLTOALL;
	const char *from = in_place ? call->out : call->in;
	MPI_Aint low, extent = 0;

	if (call->coll == QV_COLL_BROADCAST)
		return c->rank != call->root ? MPI_SUCCESS
					     : qv_mpi_pack(call->out, (int)call->count, call->type,
							   to, (int)bytes, c->comm);
	if (in_place && !all) {
		PMPI_Type_get_extent(call->out_type, &low, &extent);
		from += extent * call->out_count * c->rank;
	}
	return qv_mpi_pack(from, call->in_count * (all ? c->ranks : 1), call->in_type, to,
			   (int)bytes, c->comm);
}

static int unpack(const struct qv_mpi_comm *c, const struct qv_mpi_call *call, const char *from,
		  size_t bytes)
{
	if (call->misfit)
		return qv_mpi_unpack_blocks(from, bytes / (size_t)c->ranks, c->ranks, call->out,
					    call->out_count, call->out_type, c->comm);
	if (call->coll != QV_COLL_BROADCAST)
		return qv_mpi_unpack(from, (int)bytes, call->out, call->out_count * c->ranks,
				     call->out_type, c->comm);
	return c->rank == call->root ? MPI_SUCCESS
				     : qv_mpi_unpack(from, (int)bytes, call->out, (int)call->count,
						     call->type, c->comm);
}

/* A rank that has no memory for it takes part all the same. If others wait for what it has, they get an
 * error, and so does who calls by this memory again. */
static int run_packed(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
		      const struct qv_mpi_reduce *r)
{
	const size_t whole = call->count * r->item;
	const size_t given = call->coll == QV_COLL_ALLGATHER ? whole / (size_t)c->ranks : whole;
	const bool apart = qv_mpi_is_exchange(call); /* what it gives, from what it gets */
	char *out = malloc(apart ? whole + given : whole), *in = out;
	int rc = MPI_ERR_NO_MEM, error;

	if (out) {
		in = apart ? out + whole : out;
		rc = pack(c, call, in, given);
	}
	error = run(c, call, r, rc ? NULL : in, out); /* not what was not packed */
	if (!rc)
		rc = error ? error : unpack(c, call, out, whole);
	free(out);
	return rc;
}

/* Calls like those before. */

static struct qv_mpi_quick *quick(struct qv_mpi_comm *c, const struct qv_mpi_call *call)
{
	return &c->quick[call->coll][qv_mpi_bypass_index(call->op, call->count)];
}

static bool is_plain(const struct qv_mpi_call *call)
{
	if (call->coll == QV_COLL_BROADCAST)
		return qv_mpi_is_plain(call->type);
	return !qv_mpi_is_exchange(call) ||
	       (!call->misfit && qv_mpi_is_plain(call->in_type) && qv_mpi_is_plain(call->out_type));
}

static struct qv_mpi_op *end(struct qv_mpi_comm *c, const struct qv_mpi_call *call, int rc)
{
	static struct qv_mpi_op over; /* no plan, no error */

	qv_mpi_count(call->name, QV_MPI_BLOCKING, QV_MPI_MEMORY);
	return QV_LIKELY(!rc) ? &over
			      : qv_mpi_op_failed(c->comm, qv_mpi_error_under_way(rc), false);
}

struct qv_mpi_op *qv_mpi_memory_run(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				    const struct qv_mpi_reduce *r)
{
	if (!is_plain(call))
		return end(c, call, run_packed(c, call, r));
	/* A program's operation, or type, may be another one next time; one that is timed may go to
	 * the MPI. */
	if (!r->user && !call->trial)
		*quick(c, call) = (struct qv_mpi_quick){.rules = qv_mpi.rules->number,
							.count = call->count,
							.type = call->type,
							.op = call->op,
							.in_type = call->in_type,
							.out_type = call->out_type,
							.late = qv_mpi_late(c, call->coll),
							.reduce = *r};
	return end(c, call, run_plain(c, call, r));
}

struct qv_mpi_op *qv_mpi_memory_again(const struct qv_mpi_call *call)
{
	struct qv_mpi_comm *c = qv_mpi.last;
	const struct qv_mpi_quick *q;

	if (!c || c->comm != call->comm || !has_memory(c) || call->misfit)
		return NULL;
	q = quick(c, call);
	if (q->rules != qv_mpi.rules->number || q->count != call->count || q->type != call->type ||
	    q->op != call->op || q->in_type != call->in_type || q->out_type != call->out_type ||
	    q->late != qv_mpi_late(c, call->coll) || qv_mpi_judge(call, c) != QV_MPI_TAKEN)
		return NULL;
	return end(c, call, run_plain(c, call, &q->reduce));
}
