/* SPDX-License-Identifier: BSD-2-Clause */
/* arrange.c - where the data of an operation are: as the program has them, or in room of ours, packed. */
#include "mpi_glue/glue.h"

int qv_mpi_keep_type(MPI_Datatype type, MPI_Datatype *kept)
{
	/* MPI_Type_dup would call the program's functions that copy attributes. */
	const int rc = PMPI_Type_contiguous(1, type, kept);

	return rc ? rc : PMPI_Type_commit(kept);
}

bool qv_mpi_is_plain(MPI_Datatype type)
{
	MPI_Aint low, extent;
	int integers, addresses, types, combiner, size;

	return !PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) &&
	       combiner == MPI_COMBINER_NAMED && !PMPI_Type_get_extent(type, &low, &extent) &&
	       !PMPI_Type_size(type, &size) && low == 0 && extent == size;
}

int qv_mpi_unpack_blocks(const void *from, size_t block, int blocks, void *out, int count,
			 MPI_Datatype type, MPI_Comm comm)
{
	MPI_Aint low, extent = 0;
	int size = 0, rc = PMPI_Type_size(type, &size), n = count;

	if (!rc)
		rc = PMPI_Type_get_extent(type, &low, &extent);
	if (size > 0 && block / (size_t)size < (size_t)count)
		n = (int)(block / (size_t)size);
	for (int i = 0; i < blocks && n && !rc; i++)
		rc = qv_mpi_unpack((const char *)from + (size_t)i * block, (int)block,
				   (char *)out + extent * count * i, n, type, comm);
	/* An element that has not come whole is left out. */
	return !rc && block > (size_t)size * (size_t)n ? MPI_ERR_TRUNCATE : rc;
}

/* At the end, so many bytes from result become blocks of the program's at out. */
static int deliver(struct qv_mpi_op *op, const struct qv_mpi_call *call, const void *result,
		   size_t bytes, int blocks)
{
	op->result = result;
	op->out_bytes = bytes;
	op->out = call->out;
	op->out_blocks = call->misfit ? blocks : 1;
	op->out_count = call->misfit ? call->out_count : call->out_count * blocks;
	op->is_root = false;
	return !call->misfit && qv_mpi_is_plain(call->out_type)
		       ? MPI_SUCCESS
		       : qv_mpi_keep_type(call->out_type, &op->packed);
}

/* At each start, count elements at from become the contribution, so many bytes in room. */
static int contribute(struct qv_mpi_op *op, const void *from, int count, MPI_Datatype type,
		      void *room, size_t bytes)
{
	op->data.in = op->to = room;
	op->to_bytes = bytes;
	op->from = from;
	op->from_count = count;
	return qv_mpi_keep_type(type, &op->sent);
}

/* Work of which only the own block is used, and that is here: where the whole would begin. */
static void *around(const struct qv_mpi_op *op, const void *own, size_t block)
{
	return (void *)((uintptr_t)own - block * (size_t)op->c->rank);
}

/* Where the own block of a gather or allgather in place begins. */
static const void *own_block(const struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	MPI_Aint low, extent = 0;

	PMPI_Type_get_extent(call->out_type, &low, &extent);
	return (const char *)call->out + extent * call->out_count * op->c->rank;
}

/* The root's bytes go to everybody; what does not lie in one piece is packed. */
static int arrange_broadcast(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const size_t bytes = call->count * op->reduce.item;
	void *work = call->out;
	int rc = MPI_SUCCESS;

	if (!qv_mpi_is_plain(call->type)) {
		rc = qv_mpi_make_room(op, bytes);
		/* The program may free its own before the end. */
		if (!rc)
			rc = qv_mpi_keep_type(call->type, &op->packed);
		work = op->room;
		op->result = work;
		op->out_bytes = bytes;
		op->out = call->out;
		op->out_count = (int)call->count;
		op->out_blocks = 1;
		op->is_root = op->c->rank == call->root;
	}
	op->data = (struct qv_run_data){.item = 1, .count = bytes, .in = work, .work = work};
	return rc;
}

/* Where the blocks of an allgather or alltoall are. Those that do not lie as they travel are packed
 * into room, or unpacked from it at the end. The program may free its types before. */
static int arrange_exchange(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const size_t whole = call->count, block = whole / (size_t)op->c->ranks;
	const bool all = call->coll == QV_COLL_ALLTOALL, in_place = call->in == MPI_IN_PLACE;
	const bool plain_out = !call->misfit && qv_mpi_is_plain(call->out_type);
	const bool plain_in = in_place ? !all : qv_mpi_is_plain(call->in_type);
	const size_t scratch = qv_schedule_scratch(op->plan->schedule) * block;
	const size_t in = plain_in && (!in_place || plain_out) ? 0 : all ? whole : block;
	char *room;
	int rc = qv_mpi_make_room(op, whole * !plain_out + in + scratch + 1);

	if (rc)
		return rc;
	room = op->room;
	op->data =
		(struct qv_run_data){.item = 1, .count = whole, .in = call->in, .work = call->out};
	if (!plain_out) {
		op->data.work = room;
		rc = deliver(op, call, room, whole, op->c->ranks);
		room += whole;
	}
	if (in && !rc) {
		rc = contribute(op,
				!in_place ? call->in
				: all     ? call->out
					  : own_block(op, call),
				call->in_count * (all ? op->c->ranks : 1), call->in_type, room, in);
		room += in;
	} else if (in_place) {
		op->data.in = (char *)call->out + block * (size_t)op->c->rank;
	}
	op->data.temp = room;
	return rc;
}

/* The root's result lies as an allgather's. Another rank has room for the blocks of others that come to
 * it on their way; who only sends, sends from where its own is. */
static int arrange_gather(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const size_t whole = call->count, block = whole / (size_t)op->c->ranks;
	const bool forwards = op->plan->receives, plain = qv_mpi_is_plain(call->in_type);
	char *room;
	int rc;

	if (op->c->rank == call->root)
		return arrange_exchange(op, call);
	rc = qv_mpi_make_room(op, whole * forwards + block * !plain + 1);
	if (rc)
		return rc;
	room = op->room;
	op->data = (struct qv_run_data){.item = 1, .count = whole, .in = call->in, .work = room};
	if (!plain)
		rc = contribute(op, call->in, call->in_count, call->in_type,
				room + whole * forwards, block);
	if (!forwards)
		op->data.work = around(op, op->data.in, block);
	return rc;
}

/* The root sends from its contribution. Another rank has room for the blocks that it hands on; who only
 * receives, does so where its own is to be. */
static int arrange_scatter(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const size_t whole = call->count, block = whole / (size_t)op->c->ranks;
	const bool root = op->c->rank == call->root, forwards = !root && op->plan->sends;
	const bool plain = qv_mpi_is_plain(root ? call->in_type : call->out_type);
	int rc = qv_mpi_make_room(op, (root       ? whole * !plain
				       : forwards ? whole
						  : block * !plain) +
					      1);

	if (rc)
		return rc;
	op->data = (struct qv_run_data){.item = 1, .count = whole, .in = call->in};
	if (root && !plain)
		rc = contribute(op, call->in, call->in_count * op->c->ranks, call->in_type,
				op->room, whole);
	if (root)
		op->data.work = (void *)(uintptr_t)op->data.in;
	else if (forwards)
		op->data.work = op->room;
	else
		op->data.work = around(op, plain ? call->out : op->room, block);
	if (rc || call->out == MPI_IN_PLACE || (!root && !forwards && plain))
		return rc;
	return deliver(op, call, (char *)op->data.work + block * (size_t)op->c->rank, block, 1);
}

/* Whether this rank's result is as long as its contribution. */
static bool gets_whole(const struct qv_mpi_call *call, int rank)
{
	switch (call->coll) {
	case QV_COLL_REDUCE: return rank == call->root;
	case QV_COLL_EXSCAN: return rank > 0;
	default: return call->coll != QV_COLL_REDUCE_SCATTER;
	}
}

/* Say where contribution, work and result are; make room for what the caller does not have. */
static int arrange_reduction(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	const struct qv_mpi_comm *c = op->c;
	const size_t bytes = call->count * op->reduce.item;
	const bool whole = gets_whole(call, c->rank);
	const bool scatter = call->coll == QV_COLL_REDUCE_SCATTER;
	/* Who only sends, sends from where it is. */
	const bool borrow = !whole && !op->plan->receives;
	const void *in = call->in == MPI_IN_PLACE ? call->out : call->in;
	/* An exscan may still be sending its contribution when its result comes: it is copied aside. */
	const bool aside = whole && call->coll == QV_COLL_EXSCAN && in == call->out;
	const size_t vectors = (size_t)(aside || (!whole && !borrow)) + (size_t)op->plan->combines;
	char *work;

	if (qv_mpi_make_room(op, vectors * bytes))
		return MPI_ERR_NO_MEM;
	work = whole ? call->out : borrow ? (void *)(uintptr_t)in : op->room;
	op->data = (struct qv_run_data){
		.reduce = qv_mpi_combine,
		.context = &op->reduce,
		.item = op->reduce.item,
		.count = call->count,
		.in = in,
		.work = work,
		.temp = (char *)op->room + (vectors > 1 ? bytes : 0),
	};
	if (scatter) {
		op->out_bytes = bytes / (size_t)c->ranks;
		op->result = work + op->out_bytes * (size_t)c->rank;
		op->out = call->out;
	}
	return aside ? contribute(op, in, (int)bytes, MPI_BYTE, op->room, bytes) : MPI_SUCCESS;
}

int qv_mpi_arrange(struct qv_mpi_op *op, const struct qv_mpi_call *call)
{
	op->result = NULL;
	op->packed = op->sent = MPI_DATATYPE_NULL;
	if (call->coll == QV_COLL_GATHER)
		return arrange_gather(op, call);
	if (call->coll == QV_COLL_SCATTER)
		return arrange_scatter(op, call);
	if (qv_mpi_is_exchange(call))
		return arrange_exchange(op, call);
	if (call->coll == QV_COLL_BROADCAST)
		return arrange_broadcast(op, call);
	if (call->coll != QV_COLL_BARRIER)
		return arrange_reduction(op, call);
	op->data = (struct qv_run_data){.item = 1, .in = op, .work = op}; /* of no bytes */
	return MPI_SUCCESS;
}
