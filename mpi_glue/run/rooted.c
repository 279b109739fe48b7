/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rooted.c - a gather or scatter of variable-length blocks. The root has all of them where the program
 * says. Another rank has its own, and by a tree those that it hands on, which lie in scratch, one behind
 * the other, once their lengths are known.
 */
#include "blocks.h"

#include <string.h>

static bool is_root(const struct qv_mpi_op *op)
{
	return (uint32_t)op->c->rank == op->plan->made->root;
}

static bool is_gather(const struct qv_mpi_op *op)
{
	return op->plan->made->coll == QV_COLL_GATHER;
}

void qv_mpi_rooted_know(struct qv_mpi_op *op)
{
	struct qv_mpi_blocks *b = op->blocks;
	const struct qv_mpi_layout *own = is_gather(op) ? &b->in : &b->out;
	const struct qv_mpi_layout *all = is_gather(op) ? &b->out : &b->in;

	if (is_root(op))
		memcpy(b->bytes, all->bytes, all->n * sizeof(*b->bytes));
	else
		b->bytes[op->c->rank] = own->bytes[0];
}

bool qv_mpi_rooted_agrees(const struct qv_mpi_op *op)
{
	const struct qv_mpi_blocks *b = op->blocks;

	if (!is_gather(op))
		return is_root(op) || b->bytes[op->c->rank] == b->out.bytes[0];
	return !memcmp(b->bytes, b->out.bytes, b->out.n * sizeof(*b->bytes));
}

const size_t *qv_mpi_rooted_place(struct qv_mpi_op *op, char **work)
{
	struct qv_mpi_blocks *b = op->blocks;
	const struct qv_mpi_layout *own = is_gather(op) ? &b->in : &b->out;
	const struct qv_mpi_layout *all = is_gather(op) ? &b->out : &b->in;
	size_t at = 0;

	if (is_root(op)) {
		*work = all->base;
		return all->at;
	}
	if (!op->plan->sends || !op->plan->receives) { /* it hands on none */
		*work = own->base;
		b->places[op->c->rank] = own->at[0];
		return b->places;
	}
	for (int i = 0; i < op->c->ranks; i++) {
		b->places[i] = at;
		at += b->bytes[i];
	}
	*work = qv_mpi_blocks_scratch(b, at);
	return *work ? b->places : NULL;
}

int qv_mpi_rooted_take_own(struct qv_mpi_op *op)
{
	struct qv_mpi_layout *out = &op->blocks->out;
	const char *own = (const char *)op->data.work + op->blocks->lengths.at[op->c->rank];
	const bool there = !out->packed && own == out->base + out->at[0];

	return out->bytes[0] && !there ? qv_mpi_layout_unpack(out, 0, own, op) : MPI_SUCCESS;
}
