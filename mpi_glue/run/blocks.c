/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks.c - one operation on variable-length blocks. Where they go through ranks
 * that do not know their lengths, the same schedule runs twice: first with the lengths themselves
 * as blocks, which afterwards stand where the blocks will pass. Or an exchange carries them, whose
 * bundles say how long they are.
 */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)16 << 20) /* of a long bundle: few enough tags for 2 GiB */

/* Made and freed. */

/* What comes from a rank is the block of that neighbour; UINT32_MAX: it is none. */
static int name_neighbors(struct qv_mpi_blocks *b, const struct qv_mpi_comm *c)
{
	const struct qv_mpi_edges *in = &c->pattern->in;

	b->from = malloc((size_t)c->ranks * sizeof(*b->from));
	if (!b->from)
		return QV_ENOMEM;
	memset(b->from, 0xff, (size_t)c->ranks * sizeof(*b->from));
	for (uint32_t i = 0; i < in->n; i++)
		b->from[in->ranks[i]] = i;
	return QV_OK;
}

static int open_exchange(struct qv_mpi_op *op, struct qv_mpi_blocks *b, const struct qv_mpi_comm *c,
			 const struct qv_mpi_made *made)
{
	const struct qv_exchange_port port = {.send = qv_mpi_port_send,
					      .receive = qv_mpi_port_receive};
	const struct qv_exchange_spec spec = {
		.way = made->rule.way,
		.ranks = (uint32_t)c->ranks,
		.rank = (uint32_t)c->rank,
		.radix = made->rule.k,
		.limit = PIECE,
		.most = PIECE * (uint64_t)(qv_mpi.slot - 1),
	};

	b->items = calloc((size_t)c->ranks, sizeof(*b->items));
	if (made->neighbors && name_neighbors(b, c))
		return QV_ENOMEM;
	return b->items ? qv_exchange_create(&spec, &port, op, &b->exchange) : QV_ENOMEM;
}

int qv_mpi_blocks_open(struct qv_mpi_op *op, const struct qv_mpi_comm *c,
		       const struct qv_mpi_plan *plan)
{
	struct qv_mpi_blocks *b = calloc(1, sizeof(*b));

	op->blocks = b;
	if (!b)
		return QV_ENOMEM;
	if (!plan->schedule)
		return open_exchange(op, b, c, plan->made);
	b->passing = qv_schedule_scratch(plan->schedule);
	b->bytes = calloc((size_t)qv_schedule_blocks(plan->schedule) + b->passing + 1,
			  sizeof(*b->bytes));
	if (!qv_mpi_made_is_rooted(plan->made))
		return b->bytes ? QV_OK : QV_ENOMEM;
	b->places = calloc((size_t)c->ranks, sizeof(*b->places));
	return b->bytes && b->places ? QV_OK : QV_ENOMEM;
}

void qv_mpi_blocks_free(struct qv_mpi_blocks *blocks)
{
	if (!blocks)
		return;
	qv_mpi_layout_free(&blocks->in);
	qv_mpi_layout_free(&blocks->out);
	qv_exchange_free(blocks->exchange);
	free(blocks->items);
	free(blocks->from);
	free(blocks->bytes);
	free(blocks->places);
	free(blocks->scratch);
	free(blocks);
}

void qv_mpi_blocks_release(struct qv_mpi_op *op)
{
	qv_mpi_layout_release(&op->blocks->in);
	qv_mpi_layout_release(&op->blocks->out);
}

/* Running. */

char *qv_mpi_blocks_scratch(struct qv_mpi_blocks *b, size_t bytes)
{
	if (bytes + 1 > b->scratch_bytes) {
		free(b->scratch);
		b->scratch = malloc(bytes + 1);
		b->scratch_bytes = b->scratch ? bytes + 1 : 0;
	}
	return b->scratch;
}

/* Blocks of scratch stand one behind the other. */
static int place_scratch(struct qv_mpi_blocks *b)
{
	size_t at = 0;

	for (uint32_t i = b->out.n; i < b->out.n + b->passing; i++) {
		b->out.at[i] = at;
		at += b->bytes[i];
	}
	return !at || qv_mpi_blocks_scratch(b, at) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* The blocks themselves, whose lengths are known. */
static int start_data(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;
	const size_t *at = b->out.at;
	char *work = b->out.base;
	int rc = MPI_SUCCESS;

	if (!b->places)
		rc = place_scratch(b);
	else if (!(at = qv_mpi_rooted_place(op, &work)))
		rc = MPI_ERR_NO_MEM;
	b->lengths = (struct qv_run_blocks){at, b->bytes, b->in.at, b->in.bytes};
	op->data = (struct qv_run_data){
		.in = b->in.base, .work = work, .temp = b->scratch, .blocks = &b->lengths};
	if (!rc && qv_run_start(op->run, &op->data))
		rc = MPI_ERR_INTERN;
	return rc;
}

static int start_asking(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;

	b->asking = true;
	/* Schedules of neighbours count the elements of a block, the others those of all. */
	op->data = (struct qv_run_data){.item = sizeof(*b->bytes),
					.count = b->places ? (size_t)op->c->ranks : 1,
					.in = b->in.bytes,
					.work = b->bytes,
					.temp = b->bytes + b->out.n};
	return qv_run_start(op->run, &op->data) ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static int start_exchange(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;
	size_t n = 0;

	for (uint32_t i = 0; i < b->in.n; i++)
		if (b->in.bytes[i])
			b->items[n++] = (struct qv_exchange_item){
				b->from ? op->c->pattern->out.ranks[i] : i,
				b->in.base + b->in.at[i], b->in.bytes[i]};
	return qv_mpi_error_of(qv_exchange_start(b->exchange, b->items, n));
}

int qv_mpi_blocks_start(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;
	int rc = b->in.packed ? qv_mpi_layout_pack(&b->in, op) : MPI_SUCCESS;

	if (rc)
		return rc;
	if (b->exchange)
		return start_exchange(op);
	if (b->asks && !b->asked)
		return start_asking(op);
	if (!b->asked && b->places) {
		qv_mpi_rooted_know(op);
	} else if (!b->asked) {
		memcpy(b->bytes, b->out.bytes, b->out.n * sizeof(*b->bytes));
		/* Neighbours of the same rank send it as much as we do. */
		qv_schedule_lengths(op->plan->schedule, b->in.bytes, b->in.n ? b->in.bytes[0] : 0,
				    b->bytes);
	}
	return start_data(op);
}

/* The lengths of all blocks that come here, or pass, are known. */
static int answered(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;

	b->asking = false;
	b->asked = true; /* a persistent one has the same in all its starts */
	if (b->places ? !qv_mpi_rooted_agrees(op)
		      : memcmp(b->bytes, b->out.bytes, b->out.n * sizeof(*b->bytes)) != 0)
		op->error = MPI_ERR_TRUNCATE;
	if (!op->error)
		op->error = start_data(op);
	return op->error ? QV_EIO : QV_OK;
}

int qv_mpi_blocks_progress(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;
	int rc;

	if (b->exchange)
		return qv_exchange_progress(b->exchange);
	rc = qv_run_progress(op->run);
	if (rc || !b->asking)
		return rc;
	rc = answered(op);
	return rc ? rc : qv_run_progress(op->run);
}

void qv_mpi_blocks_done(struct qv_mpi_op *op, uint32_t id, const MPI_Status *status)
{
	int bytes = 0;

	if (op->blocks->exchange) {
		PMPI_Get_count(status, MPI_BYTE, &bytes);
		qv_exchange_done(op->blocks->exchange, id, bytes < 0 ? 0 : (size_t)bytes, QV_OK);
	} else {
		qv_run_done(op->run, id, QV_OK);
	}
}

static int take_items(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;
	size_t n;
	const struct qv_exchange_item *item = qv_exchange_result(b->exchange, &n);
	int rc = MPI_SUCCESS;

	for (size_t i = 0; i < n && !rc; i++) {
		const uint32_t block = b->from ? b->from[item[i].peer] : item[i].peer;

		rc = block >= b->out.n || item[i].bytes != b->out.bytes[block]
			     ? MPI_ERR_TRUNCATE
			     : qv_mpi_layout_unpack(&b->out, block, item[i].data, op);
	}
	return rc;
}

int qv_mpi_blocks_finish(struct qv_mpi_op *op)
{
	struct qv_mpi_layout *out = &op->blocks->out;
	int rc = MPI_SUCCESS;

	if (op->blocks->exchange)
		return take_items(op);
	if (op->plan->made->coll == QV_COLL_SCATTER)
		return qv_mpi_rooted_take_own(op);
	for (uint32_t i = 0; i < out->n && out->packed && !rc; i++)
		rc = qv_mpi_layout_unpack(out, i, out->base + out->at[i], op);
	return rc;
}
