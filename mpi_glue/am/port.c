/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port.c - messages of a stream or of vranks over an MPI. Receives are posted from any source and
 * tested in this order, so the messages of a pair are delivered as they were sent.
 */
#include "port.h"

#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define TAG      0
#define TOGETHER 32 /* inserts between two looks */
#define VALUES   16

/* The program's functions. */

/* Each insert reads it, so it is found without a call. Whoever loads this library by dlopen may be
 * refused: glibc keeps little room for such variables, which other libraries may have used up. */
static _Thread_local const struct qv_am_port *giving __attribute__((tls_model("initial-exec")));

void qv_am_port_give(const struct qv_am_port *p)
{
	giving = p;
}

int qv_am_port_is_giving(void)
{
	return giving != NULL;
}

int qv_am_port_may_insert(const struct qv_am_port *p)
{
	return giving && giving != p ? QV_EINVAL : p->failed;
}

/* Opened. */

int qv_am_port_open(struct qv_am_port *p, int comm, uint32_t *rank, uint32_t *ranks)
{
	int is = 0, over = 0, inter = 0, r = 0, n = 0;

	memset(p, 0, sizeof(*p));
	p->comm = MPI_COMM_NULL;
	p->stale = 1;
	MPI_Initialized(&is);
	MPI_Finalized(&over);
	if (!is || over || MPI_Comm_f2c(comm) == MPI_COMM_NULL)
		return QV_EINVAL;
	if (MPI_Comm_test_inter(MPI_Comm_f2c(comm), &inter))
		return QV_EIO;
	if (inter)
		return QV_EINVAL;
	if (MPI_Comm_dup(MPI_Comm_f2c(comm), &p->comm) || MPI_Comm_rank(p->comm, &r) ||
	    MPI_Comm_size(p->comm, &n))
		return QV_EIO;
	*rank = (uint32_t)r;
	*ranks = (uint32_t)n;
	for (int i = 0; i < QV_AM_RECEIVES; i++)
		p->receives[i] = MPI_REQUEST_NULL;
	return QV_OK;
}

static int post(struct qv_am_port *p, unsigned int i)
{
	return MPI_Irecv(p->buffers + i * p->limit, (int)p->limit, MPI_BYTE, MPI_ANY_SOURCE, TAG,
			 p->comm, &p->receives[i])
		       ? QV_EIO
		       : QV_OK;
}

/* The lowest status of all, or QV_EINVAL if their values differ. */
static int agree(const struct qv_am_port *p, int rc, const uint64_t *values, int n)
{
	int64_t mine[2 * VALUES + 1], least[2 * VALUES + 1];

	mine[0] = rc;
	for (int i = 0; i < n; i++) {
		mine[1 + 2 * i] = (int64_t)values[i];
		mine[2 + 2 * i] = (int64_t)~values[i];
	}
	if (MPI_Allreduce(mine, least, 2 * n + 1, MPI_INT64_T, MPI_MIN, p->comm))
		return QV_EIO;
	for (int i = 0; i < n && !least[0]; i++)
		if (least[1 + 2 * i] != ~least[2 + 2 * i])
			least[0] = QV_EINVAL;
	return (int)least[0];
}

int qv_am_port_begin(struct qv_am_port *p, int rc, const uint64_t *values, int n)
{
	if (!rc && !(p->buffers = malloc(QV_AM_RECEIVES * p->limit)))
		rc = QV_ENOMEM;
	rc = agree(p, rc, values, n);
	if (rc) {
		free(p->buffers);
		MPI_Comm_free(&p->comm);
		return rc;
	}
	for (unsigned int i = 0; i < QV_AM_RECEIVES && !p->failed; i++)
		p->failed = post(p, i); /* which only the next call can tell: others have gone on */
	return QV_OK;
}

int qv_am_port_close(struct qv_am_port *p)
{
	int rc = QV_OK;

	while (!rc && p->n)
		rc = qv_am_port_progress(p) == QV_EAGAIN ? QV_OK : p->failed;
	for (int i = 0; i < QV_AM_RECEIVES && !rc; i++)
		if (MPI_Cancel(&p->receives[i]) || MPI_Wait(&p->receives[i], MPI_STATUS_IGNORE))
			rc = QV_EIO;
	if (rc || MPI_Comm_free(&p->comm))
		return rc ? rc : QV_EIO;
	free(p->buffers);
	free(p->sends);
	free(p->ids);
	return QV_OK;
}

/* Sent. */

static int grow(struct qv_am_port *p)
{
	const int room = 2 * p->room + 16;
	MPI_Request *sends = realloc(p->sends, (size_t)room * sizeof(*sends));
	uint32_t *ids;

	p->sends = sends ? sends : p->sends;
	ids = realloc(p->ids, (size_t)room * sizeof(*ids));
	p->ids = ids ? ids : p->ids;
	if (!sends || !ids)
		return QV_EAGAIN; /* some are under way, and their places come back */
	p->room = room;
	return QV_OK;
}

int qv_am_port_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	struct qv_am_port *p = port;

	if (p->n == p->room && grow(p))
		return p->n ? QV_EAGAIN : QV_ENOMEM;
	if (MPI_Isend(buf, (int)bytes, MPI_BYTE, (int)peer, TAG, p->comm, &p->sends[p->n]))
		return QV_EIO;
	p->ids[p->n++] = id;
	return QV_OK;
}

static int take_sent(struct qv_am_port *p)
{
	int done, kept = 0;

	for (int i = 0; i < p->n; i++) {
		if (MPI_Test(&p->sends[i], &done, MPI_STATUS_IGNORE))
			return QV_EIO;
		if (done) {
			p->is->done(p->object, p->ids[i], QV_OK);
		} else {
			p->sends[kept] = p->sends[i];
			p->ids[kept++] = p->ids[i];
		}
	}
	p->n = kept;
	return QV_OK;
}

/* Come. */

static int take_oldest(struct qv_am_port *p, int *come)
{
	MPI_Status status;
	int bytes, rc;

	if (MPI_Test(&p->receives[p->oldest], come, &status))
		return QV_EIO;
	if (!*come)
		return QV_OK;
	if (MPI_Get_count(&status, MPI_BYTE, &bytes))
		return QV_EIO;
	rc = p->is->deliver(p->object, (uint32_t)status.MPI_SOURCE,
			    p->buffers + p->oldest * p->limit, (size_t)bytes, p->now);
	if (!rc)
		rc = post(p, p->oldest);
	p->oldest = (p->oldest + 1) % QV_AM_RECEIVES;
	return rc;
}

int qv_am_port_progress(struct qv_am_port *p)
{
	int come = 1, rc = p->failed;

	p->now = qv_clock_ns();
	p->stale = 1;
	for (int i = 0; i < QV_AM_RECEIVES && come && !rc; i++)
		rc = take_oldest(p, &come);
	if (!rc)
		rc = take_sent(p);
	if (!rc)
		rc = p->is->progress(p->object, p->now);
	if (rc && rc != QV_EAGAIN)
		p->failed = rc;
	return rc;
}

uint64_t qv_am_port_now(struct qv_am_port *p)
{
	if (p->stale)
		p->now = qv_clock_ns();
	p->stale = 0;
	return p->now;
}

int qv_am_port_look(struct qv_am_port *p, int must_wait)
{
	if (!must_wait && (giving || ++p->inserts % TOGETHER))
		return QV_OK;
	qv_am_port_progress(p);
	return p->failed;
}

int qv_am_port_sum(struct qv_am_port *p)
{
	MPI_Request request;
	int over = 0;

	if (!p->failed &&
	    MPI_Iallreduce(MPI_IN_PLACE, p->sums, 2, MPI_UINT64_T, MPI_SUM, p->comm, &request))
		p->failed = QV_EIO;
	while (!over && !p->failed) {
		qv_am_port_progress(p);
		if (!p->failed && MPI_Test(&request, &over, MPI_STATUS_IGNORE))
			p->failed = QV_EIO;
	}
	return p->failed;
}
