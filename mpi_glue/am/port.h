/* SPDX-License-Identifier: BSD-2-Clause */
/* port.h - the messages of one stream, or of one group of vranks, over a communicator of its own.
 * Inside of mpi_glue/am only. */
#ifndef QV_AM_PORT_H
#define QV_AM_PORT_H

#include <mpi.h>

#include <quiver/am.h>

#define QV_AM_RECEIVES 8 /* posted, in the order in which they are tested */

/* What messages are of: calls of stream.h or vrank.h. */
struct qv_am_object {
	int (*deliver)(void *object, uint32_t from, const void *buf, size_t bytes, uint64_t now);
	int (*progress)(void *object, uint64_t now);
	void (*done)(void *object, uint32_t id, int status);
};

struct qv_am_port {
	MPI_Comm comm;
	const struct qv_am_object *is;
	void *object;
	size_t limit; /* bytes of a message */
	uint64_t now; /* ns; of an insert it is right to the next look for messages */
	int stale;    /* there has been one */
	unsigned int inserts;
	int failed;
	uint64_t sums[2]; /* of qv_am_port_sum: the MPI may write into them until that is over */
	MPI_Request receives[QV_AM_RECEIVES];
	char *buffers;
	unsigned int oldest; /* of the receives */
	/* Sends: */
	MPI_Request *sends;
	uint32_t *ids;
	int n, room;
};

/*
 * Duplicate a communicator: all ranks.
 *   port   out: all but is, object and limit
 *   comm   Fortran handle
 *   rank, ranks  out
 * QV_EINVAL, QV_EIO.
 */
int qv_am_port_open(struct qv_am_port *port, int comm, uint32_t *rank, uint32_t *ranks);
/*
 * The end of making an object: all ranks learn whether it is there on all of them, made in the same
 * way. Then messages can come.
 *   port       from qv_am_port_open; is, object and limit are set, where rc is QV_OK
 *   rc         what happened on this rank
 *   values, n  what must be the same on all ranks, n numbers, at most 16
 * What all return. Where it is not QV_OK, the communicator is freed.
 */
int qv_am_port_begin(struct qv_am_port *port, int rc, const uint64_t *values, int n);
/* Wait for what this rank has sent, withdraw the receives, free the communicator: all ranks, when no
 * message is under way to this rank. */
int qv_am_port_close(struct qv_am_port *port);

/* As struct qv_stream_calls; port: struct qv_am_port. */
int qv_am_port_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes);
/* Take messages that have come, and have the object send what it can. As qv_stream_progress. */
int qv_am_port_progress(struct qv_am_port *port);
/* The same now and then, behind an insert; where an insert has to wait, in every case. QV_OK, or what
 * has ended the object. */
int qv_am_port_look(struct qv_am_port *port, int must_wait);
/* The time, for an insert. */
uint64_t qv_am_port_now(struct qv_am_port *port);
/* Wait for all ranks, who send on meanwhile: port->sums become the sums over all of them. */
int qv_am_port_sum(struct qv_am_port *port);

/* A function of the program is called in this thread, for an object of this port; NULL: it is over. */
void qv_am_port_give(const struct qv_am_port *port);
int qv_am_port_is_giving(void);
/* QV_EINVAL: within a function of another object's; or what has ended this one. */
int qv_am_port_may_insert(const struct qv_am_port *port);

#endif /* QV_AM_PORT_H */
