/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c - the blocks that a rank sends, or those that it receives: where they are in the
 * program's buffer, and where while they travel. */
#include "blocks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool qv_mpi_layout_odd(const struct qv_mpi_blocks_arg *arg, uint32_t n)
{
	MPI_Count size;

	if (n && arg->varies &&
	    !((arg->counts && arg->displs) || (arg->wide_counts && arg->wide_displs)))
		return true;
	if (arg->type == MPI_DATATYPE_NULL || PMPI_Type_size_x(arg->type, &size) || size < 0)
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (qv_mpi_blocks_count(arg, (int)i) < 0)
			return true;
	return false;
}

static int make_room(struct qv_mpi_layout *s, size_t n)
{
	if (n <= s->room)
		return MPI_SUCCESS;
	free(s->counts);
	free(s->places);
	free(s->at);
	free(s->bytes);
	s->counts = calloc(n, sizeof(*s->counts));
	s->places = calloc(n, sizeof(*s->places));
	s->at = calloc(n, sizeof(*s->at));
	s->bytes = calloc(n, sizeof(*s->bytes));
	s->room = s->counts && s->places && s->at && s->bytes ? n : 0;
	return s->room ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int qv_mpi_layout_set(struct qv_mpi_layout *layout, const struct qv_mpi_blocks_arg *arg, uint32_t n,
		      const int *slots, size_t more)
{
	struct qv_mpi_layout *s = layout;
	ptrdiff_t end = 0;
	MPI_Aint low;
	int rc = make_room(s, n + more + 1);

	s->buf = (char *)(uintptr_t)arg->buf;
	s->n = n;
	s->type = MPI_DATATYPE_NULL;
	s->plain = qv_mpi_is_plain(arg->type);
	if (!rc)
		rc = PMPI_Type_size_x(arg->type, &s->size);
	if (!rc)
		rc = PMPI_Type_get_extent(arg->type, &low, &s->extent);
	for (uint32_t i = 0; i < n && !rc; i++) {
		const int slot = slots ? slots[i] : (int)i;

		s->counts[i] = qv_mpi_blocks_count(arg, slot);
		s->bytes[i] = (size_t)s->counts[i] * (size_t)s->size;
		/* Where nothing is, the program may say anything. */
		s->places[i] = s->counts[i] ? qv_mpi_blocks_displ(arg, slot) * s->extent : end;
		end = s->places[i] + (ptrdiff_t)s->bytes[i];
	}
	/* The program may free its own before the end. */
	if (!rc && !s->plain)
		rc = qv_mpi_keep_type(arg->type, &s->type);
	return rc;
}

bool qv_mpi_layout_in_a_row(const struct qv_mpi_layout *layout)
{
	for (uint32_t i = 0; i + 1 < layout->n; i++)
		if (layout->places[i] + (ptrdiff_t)layout->bytes[i] != layout->places[i + 1])
			return false;
	return true;
}

size_t qv_mpi_layout_sum(const struct qv_mpi_layout *layout)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < layout->n; i++)
		sum += layout->bytes[i];
	return sum;
}

void qv_mpi_layout_stay(struct qv_mpi_layout *layout)
{
	ptrdiff_t lowest = 0;

	for (uint32_t i = 0; i < layout->n; i++)
		if (!i || layout->places[i] < lowest)
			lowest = layout->places[i];
	for (uint32_t i = 0; i < layout->n; i++)
		layout->at[i] = (size_t)(layout->places[i] - lowest);
	/* From MPI_BOTTOM, which may be NULL, places are addresses. */
	layout->base = (char *)((uintptr_t)layout->buf + (uintptr_t)lowest);
	layout->packed = false;
}

void qv_mpi_layout_pack_at(struct qv_mpi_layout *layout, char *room)
{
	size_t at = 0;

	for (uint32_t i = 0; i < layout->n; i++) {
		layout->at[i] = at;
		at += layout->bytes[i];
	}
	layout->base = room;
	layout->packed = true;
}

/* So many elements at a time as the MPI can count the bytes of; or one, of which it cannot. */
static int piece(const struct qv_mpi_layout *s, uint32_t i, MPI_Count first)
{
	const MPI_Count most = s->size > INT_MAX ? 1 : s->size ? INT_MAX / s->size : INT_MAX;
	const MPI_Count left = s->counts[i] - first;

	return left < most ? (int)left : (int)most;
}

/* An element that the MPI does not pack is sent to ourselves, of one type and as the other. The MPI may
 * not let us wait, if it is what runs the operation. */
static int send_to_self(const struct qv_mpi_op *op, const void *from, MPI_Datatype from_type,
			void *to, MPI_Datatype to_type)
{
	const int self = op->c->rank;
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int done = 0;
	int rc = QV_REAL(Irecv)(to, 1, to_type, self, op->tag, op->c->dup, &requests[0]);

	if (!rc)
		rc = QV_REAL(Isend)(from, 1, from_type, self, op->tag, op->c->dup, &requests[1]);
	while (!rc && !done)
		rc = QV_REAL(Testall)(2, requests, &done, statuses);
	return rc;
}

/* n elements become bytes, or the other way round. */
static int convert(const struct qv_mpi_layout *s, const struct qv_mpi_op *op, const char *from,
		   char *to, int n, bool packs)
{
	MPI_Datatype bytes;
	int rc;

	if (s->size <= INT_MAX && packs)
		return qv_mpi_pack(from, n, s->type, to, n * (int)s->size, op->c->dup);
	if (s->size <= INT_MAX)
		return qv_mpi_unpack(from, n * (int)s->size, to, n, s->type, op->c->dup);
	rc = qv_mpi_port_type((size_t)s->size, &n, &bytes);
	if (rc)
		return rc;
	rc = packs ? send_to_self(op, from, s->type, to, bytes)
		   : send_to_self(op, from, bytes, to, s->type);
	PMPI_Type_free(&bytes);
	return rc;
}

int qv_mpi_layout_pack(struct qv_mpi_layout *layout, const struct qv_mpi_op *op)
{
	int rc = MPI_SUCCESS;

	for (uint32_t i = 0; i < layout->n; i++) {
		const char *from = layout->buf + layout->places[i];
		char *to = layout->base + layout->at[i];

		if (layout->plain && layout->bytes[i])
			memcpy(to, from, layout->bytes[i]);
		for (MPI_Count k = 0, n;
		     !layout->plain && layout->bytes[i] && k < layout->counts[i] && !rc; k += n) {
			n = piece(layout, i, k);
			rc = convert(layout, op, from + k * layout->extent, to + k * layout->size,
				     (int)n, true);
		}
	}
	return rc;
}

int qv_mpi_layout_unpack(struct qv_mpi_layout *layout, uint32_t i, const char *from,
			 const struct qv_mpi_op *op)
{
	char *to = layout->buf + layout->places[i];
	int rc = MPI_SUCCESS;

	if (layout->plain && layout->bytes[i])
		memcpy(to, from, layout->bytes[i]);
	for (MPI_Count k = 0, n; !layout->plain && layout->bytes[i] && k < layout->counts[i] && !rc;
	     k += n) {
		n = piece(layout, i, k);
		rc = convert(layout, op, from + k * layout->size, to + k * layout->extent, (int)n,
			     false);
	}
	return rc;
}

void qv_mpi_layout_release(struct qv_mpi_layout *layout)
{
	if (layout->room && layout->type != MPI_DATATYPE_NULL)
		PMPI_Type_free(&layout->type);
	layout->type = MPI_DATATYPE_NULL;
}

void qv_mpi_layout_free(struct qv_mpi_layout *layout)
{
	free(layout->counts);
	free(layout->places);
	free(layout->at);
	free(layout->bytes);
}
