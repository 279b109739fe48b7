/* SPDX-License-Identifier: BSD-2-Clause */
/* room.c - memory of operations for vectors. Plans keep their operations, and a communicator may have many
 * plans: one for each root, length class and pattern of arrivals. So an operation that is over keeps a short
 * room only. The communicator keeps one long room, for whichever operation is next. */
#include "mpi_glue/glue.h"

#include <stdlib.h>

#define SHORT_ROOM 65536 /* bytes */

/* That of the communicator, if it has one of so many bytes. */
static void take_long(struct qv_mpi_op *op, size_t bytes)
{
	struct qv_mpi_comm *c = op->c;

	pthread_mutex_lock(&qv_mpi.lock);
	if (c->room_bytes >= bytes) {
		op->room = c->room;
		op->room_bytes = c->room_bytes;
		c->room = NULL;
		c->room_bytes = 0;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
}

int qv_mpi_make_room(struct qv_mpi_op *op, size_t bytes)
{
	if (op->room_bytes >= bytes)
		return MPI_SUCCESS;
	free(op->room);
	op->room = NULL;
	op->room_bytes = 0;
	if (bytes > SHORT_ROOM)
		take_long(op, bytes);
	if (op->room)
		return MPI_SUCCESS;
	op->room = malloc(bytes);
	op->room_bytes = op->room ? bytes : 0;
	return op->room ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

void *qv_mpi_leave_room(struct qv_mpi_comm *c, struct qv_mpi_op *op)
{
	void *shorter = op->room;

	if (op->room_bytes <= SHORT_ROOM)
		return NULL;
	if (op->room_bytes > c->room_bytes) {
		shorter = c->room;
		c->room = op->room;
		c->room_bytes = op->room_bytes;
	}
	op->room = NULL;
	op->room_bytes = 0;
	return shorter;
}
