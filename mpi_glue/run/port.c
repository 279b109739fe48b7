/* SPDX-License-Identifier: BSD-2-Clause */
/* port.c - the network of an operation: messages on the duplicated communicator. */
#include "mpi_glue/glue.h"

#include <limits.h>
#include <stdlib.h>

/* Room for so many messages under way. */
static int make_room(struct qv_mpi_op *op, size_t n)
{
	MPI_Request *requests = realloc(op->requests, n * sizeof(*requests));
	uint32_t *steps;
	int *indices;
	MPI_Status *statuses;

	op->requests = requests ? requests : op->requests;
	steps = realloc(op->steps, n * sizeof(*steps));
	op->steps = steps ? steps : op->steps;
	indices = realloc(op->indices, n * sizeof(*indices));
	op->indices = indices ? indices : op->indices;
	statuses = realloc(op->statuses, n * sizeof(*statuses));
	op->statuses = statuses ? statuses : op->statuses;
	if (!requests || !steps || !indices || !statuses)
		return MPI_ERR_NO_MEM;
	op->room_n = (int)n;
	return MPI_SUCCESS;
}

/* For all messages of a schedule, and for one each way between an exchange and any rank. What is wanting is told now:
 * once the operation has its number, the program's next try would be another one. */
int qv_mpi_port_open(struct qv_mpi_op *op, const struct qv_mpi_comm *c,
		     const struct qv_mpi_plan *plan)
{
	size_t n = 2 * (size_t)c->ranks;

	if (plan->schedule)
		qv_schedule_steps(plan->schedule, &n);
	return make_room(op, n + 1);
}

int qv_mpi_error_of(int rc)
{
	switch (rc) {
	case QV_OK: return MPI_SUCCESS;
	case QV_ENOMEM: return MPI_ERR_NO_MEM;
	case QV_EPEER: return MPI_ERR_OTHER; /* another rank is gone, or has given up */
	default: return MPI_ERR_INTERN;
	}
}

int qv_mpi_error_under_way(int error)
{
	int class = MPI_SUCCESS;

	if (error)
		PMPI_Error_class(error, &class);
	return class == MPI_ERR_NO_MEM ? MPI_ERR_OTHER : error;
}

int qv_mpi_port_type(size_t bytes, int *count, MPI_Datatype *type)
{
	const int mega = 1 << 20;
	int lengths[2] = {(int)(bytes >> 20), (int)(bytes & ((size_t)mega - 1))};
	MPI_Aint at[2] = {0, (MPI_Aint)(bytes - (size_t)lengths[1])};
	MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
	int rc;

	*count = (int)bytes;
	*type = MPI_BYTE;
	if (bytes <= INT_MAX)
		return MPI_SUCCESS;
	*count = 1;
	rc = PMPI_Type_contiguous(mega, MPI_BYTE, &types[0]);
	if (!rc)
		rc = PMPI_Type_create_struct(2, lengths, at, types, type);
	if (!rc)
		rc = PMPI_Type_commit(type);
	if (types[0] != MPI_DATATYPE_NULL)
		PMPI_Type_free(&types[0]);
	return rc;
}

static int message(struct qv_mpi_op *op, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
		   size_t bytes, bool send)
{
	const int to = (int)peer, as = op->tag + (int)tag;
	MPI_Datatype type;
	int count, rc = MPI_SUCCESS;

	if (op->n == op->room_n) /* of an exchange: how many it has, nobody knows beforehand */
		rc = make_room(op, 2 * (size_t)op->room_n);
	if (!rc)
		rc = qv_mpi_port_type(bytes, &count, &type);
	if (!rc && send)
		rc = QV_REAL(Isend)(buf, count, type, to, as, op->c->dup, &op->requests[op->n]);
	else if (!rc)
		rc = QV_REAL(Irecv)(buf, count, type, to, as, op->c->dup, &op->requests[op->n]);
	if (rc) {
		op->error = rc;
		return QV_EIO;
	}
	if (type != MPI_BYTE)
		PMPI_Type_free(&type);
	op->steps[op->n++] = step;
	return QV_OK;
}

int qv_mpi_port_send(void *port, uint32_t step, uint32_t peer, uint32_t tag, const void *buf,
		     size_t bytes)
{
	qv_mpi_count_sent(bytes);
	return message(port, step, peer, tag, (void *)(uintptr_t)buf, bytes, true);
}

int qv_mpi_port_receive(void *port, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
			size_t bytes)
{
	return message(port, step, peer, tag, buf, bytes, false);
}
