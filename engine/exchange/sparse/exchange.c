/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - a sparse exchange of one rank, from phase to phase. */
#include "exchange.h"
#include "engine/base/settings.h"

#include <stdlib.h>

const char *qv_way_name(enum qv_way way)
{
	static const char *const names[QV_N_WAYS] = {"crystal", "mesh2", "mesh3", "hypercube",
						     "direct"};

	return (unsigned int)way < QV_N_WAYS ? names[way] : NULL;
}

static int is_right(const struct qv_exchange_spec *s)
{
	return (unsigned int)s->way < QV_N_WAYS && s->ranks && s->ranks < UINT32_MAX / 2 &&
	       s->rank < s->ranks && s->radix != 1 && (!s->limit || s->limit >= 64) &&
	       (!s->most || s->most >= 2 * QV_SHORT_BUNDLE);
}

int qv_exchange_create(const struct qv_exchange_spec *spec, const struct qv_exchange_port *calls,
		       void *port, struct qv_exchange **exchange)
{
	struct qv_exchange_spec s = {0};
	struct qv_exchange *ex;

	if (qv_settings_read(&s, sizeof(s), QV_SETTINGS_UPTO(struct qv_exchange_spec, most),
			     spec) ||
	    !is_right(&s))
		return QV_EINVAL;
	ex = calloc(1, sizeof(*ex));
	if (!ex)
		return QV_ENOMEM;
	ex->spec = s;
	if (!ex->spec.limit)
		ex->spec.limit = 1 << 20;
	if (!ex->spec.most)
		ex->spec.most = UINT64_C(16) << 30;
	ex->calls = *calls;
	ex->port = port;
	ex->over = 1;
	if (qv_ways_open(&ex->ways, &s)) {
		qv_exchange_free(ex);
		return QV_ENOMEM;
	}
	*exchange = ex;
	return QV_OK;
}

/* All that the last exchange has left. */
static void clear(struct qv_exchange *ex)
{
	struct qv_bundle *b;

	while ((b = ex->bundles)) {
		ex->bundles = b->next;
		free(b->data);
		free(b);
	}
	free(ex->result);
	ex->result = NULL;
	ex->result_n = 0;
	ex->held.n = ex->mine.n = ex->messages_n = ex->first = 0;
	ex->incoming_n = 0;
	ex->failed = QV_OK;
	ex->stats = (struct qv_exchange_stats){0};
}

void qv_exchange_free(struct qv_exchange *exchange)
{
	if (!exchange)
		return;
	clear(exchange);
	qv_ways_close(&exchange->ways);
	free(exchange->held.at);
	free(exchange->mine.at);
	free(exchange->messages);
	free(exchange->incoming);
	free(exchange);
}

/* Messages. */

static void start_messages(struct qv_exchange *ex)
{
	while (ex->first < ex->messages_n && ex->messages[ex->first].state == QV_MSG_DONE)
		ex->first++;
	for (size_t i = ex->first; i < ex->messages_n && !ex->failed; i++) {
		struct qv_message *m = &ex->messages[i];
		const struct qv_bundle *b = m->bundle;
		int rc;

		if (m->state != QV_MSG_WAITS)
			continue;
		m->state = QV_MSG_STARTED;
		rc = (b->is_out ? ex->calls.send(ex->port, (uint32_t)i, b->peer, m->piece,
						 b->data + m->at, m->bytes)
				: ex->calls.receive(ex->port, (uint32_t)i, b->peer, m->piece,
						    b->data + m->at, m->bytes));
		if (rc == QV_EAGAIN)
			m->state = QV_MSG_WAITS;
		else if (rc)
			ex->failed = rc;
	}
}

void qv_exchange_done(struct qv_exchange *exchange, uint32_t id, size_t bytes, int status)
{
	struct qv_message *m;

	if (id >= exchange->messages_n || exchange->messages[id].state != QV_MSG_STARTED)
		return;
	m = &exchange->messages[id];
	m->state = QV_MSG_DONE;
	/* Only the first message of a bundle may be shorter than its room. */
	if (!status && !m->bundle->is_out && (m->piece ? bytes != m->bytes : bytes > m->bytes))
		status = QV_EPROTO;
	if (!m->bundle->is_out)
		m->bytes = bytes;
	if (status && !exchange->failed)
		exchange->failed = status;
}

/* Phases. */

static int open_phase(struct qv_exchange *ex)
{
	int rc;

	if (ex->phase == ex->ways.n) /* everything should be where it belongs */
		return ex->held.n ? QV_EPROTO : QV_OK;
	rc = qv_expect(ex);
	return rc ? rc : qv_pack(ex);
}

/* File what has come; 1 if all of this phase has. */
static int unpack_all(struct qv_exchange *ex)
{
	for (uint32_t i = 0; i < ex->incoming_n;) {
		const int rc = qv_unpack(ex, ex->incoming[i]);

		if (rc < 0)
			return rc;
		if (rc)
			ex->incoming[i] = ex->incoming[--ex->incoming_n];
		else
			i++;
	}
	return !ex->incoming_n;
}

/* As long as there is something to do. */
static void go_on(struct qv_exchange *ex)
{
	size_t known;
	int rc;

	do {
		known = ex->messages_n;
		start_messages(ex);
		rc = ex->failed ? ex->failed : ex->phase < ex->ways.n ? unpack_all(ex) : 0;
		if (rc == 1) {
			ex->phase++;
			rc = open_phase(ex);
			known = SIZE_MAX;
		}
		if (rc < 0)
			ex->failed = rc;
	} while (!ex->failed && known != ex->messages_n);
}

/* The end. */

static int by_source(const void *x, const void *y)
{
	const struct qv_held *const *a = x, *const *b = y;

	if ((*a)->src != (*b)->src)
		return (*a)->src < (*b)->src ? -1 : 1;
	return *a < *b ? -1 : *a > *b; /* all of one source came one way, in order */
}

static int finish(struct qv_exchange *ex)
{
	const struct qv_held **order = calloc(ex->mine.n + 1, sizeof(struct qv_held *));
	struct qv_exchange_item *result = calloc(ex->mine.n + 1, sizeof(*result));

	if (!order || !result) {
		free(order);
		free(result);
		return QV_ENOMEM;
	}
	for (size_t i = 0; i < ex->mine.n; i++)
		order[i] = &ex->mine.at[i];
	qsort(order, ex->mine.n, sizeof(struct qv_held *), by_source);
	for (size_t i = 0; i < ex->mine.n; i++)
		result[i] =
			(struct qv_exchange_item){order[i]->src, order[i]->data, order[i]->bytes};
	free(order);
	ex->result = result;
	ex->result_n = ex->mine.n;
	ex->over = 1;
	return QV_OK;
}

int qv_exchange_start(struct qv_exchange *exchange, const struct qv_exchange_item *items, size_t n)
{
	struct qv_exchange *ex = exchange;
	int rc = QV_OK;

	if (!ex->over && !ex->failed)
		return QV_EAGAIN;
	for (size_t i = 0; i < n; i++)
		if (items[i].peer >= ex->spec.ranks)
			return QV_EINVAL;
	clear(ex);
	for (size_t i = 0; i < n && !rc; i++)
		rc = qv_hold(items[i].peer == ex->spec.rank ? &ex->mine : &ex->held,
			     &(struct qv_held){items[i].peer, ex->spec.rank, items[i].bytes,
					       items[i].data});
	ex->phase = 0;
	ex->over = 0;
	if (!rc)
		rc = open_phase(ex);
	if (rc) {
		clear(ex);
		ex->over = 1;
	}
	return rc;
}

int qv_exchange_progress(struct qv_exchange *exchange)
{
	struct qv_exchange *ex = exchange;

	if (ex->failed)
		return ex->failed;
	if (ex->over)
		return QV_OK;
	go_on(ex);
	if (ex->failed)
		return ex->failed;
	if (ex->phase < ex->ways.n || ex->first < ex->messages_n)
		return QV_EAGAIN;
	ex->failed = finish(ex);
	return ex->failed;
}

const struct qv_exchange_item *qv_exchange_result(const struct qv_exchange *exchange, size_t *n)
{
	*n = exchange->result_n;
	return exchange->result;
}

void qv_exchange_stats(const struct qv_exchange *exchange, struct qv_exchange_stats *stats)
{
	*stats = exchange->stats;
}
