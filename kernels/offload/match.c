/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - batches of an engine on the device. */
#include "internal.h"

#include <stdlib.h>

static size_t grown(size_t had, size_t wanted)
{
	size_t room = had ? had : 256;

	while (room < wanted)
		room *= 2;
	return room;
}

static int make_room(struct qv_offload *o, size_t entries, size_t queries)
{
	const size_t e = grown(o->room_entries, entries), q = grown(o->room_queries, queries);
	struct qv_offload_key *keys;
	struct qv_foreseen *calls;
	uint32_t *result;
	void **nodes;

	if (e == o->room_entries && q == o->room_queries)
		return QV_OK;
	keys = malloc((e + q) * sizeof(*keys));
	nodes = malloc(e * sizeof(*nodes));
	result = malloc(q * sizeof(*result));
	calls = malloc(q * sizeof(*calls));
	if (!keys || !nodes || !result || !calls) {
		free(keys);
		free(nodes);
		free(result);
		free(calls);
		return QV_ENOMEM;
	}
	free(o->keys);
	free(o->nodes);
	free(o->result);
	free(o->calls);
	o->keys = keys;
	o->nodes = nodes;
	o->result = result;
	o->calls = calls;
	o->room_entries = e;
	o->room_queries = q;
	return QV_OK;
}

/* The posted receives, oldest first. A sticky one may match more than once, which a device does not
 * know: QV_ENOSYS. */
static int take_receives(struct qv_offload *o, struct qv_match *engine)
{
	struct qv_recv *r = NULL;
	size_t n = 0;

	while ((r = qv_match_next_recv(engine, r))) {
		if (r->flags & QV_RECV_STICKY)
			return QV_ENOSYS;
		o->keys[n] = (struct qv_offload_key){r->tag, r->ignore, r->src, 0};
		o->nodes[n++] = r;
	}
	return QV_OK;
}

static int take_messages(struct qv_offload *o, struct qv_match *engine)
{
	struct qv_msg *msg = NULL;
	size_t n = 0;

	while ((msg = qv_match_next_msg(engine, msg))) {
		o->keys[n] = (struct qv_offload_key){msg->tag, 0, msg->src, 0};
		o->nodes[n++] = msg;
	}
	return QV_OK;
}

static int is_check(const struct qv_offload *o)
{
	return o->tried < QV_OFFLOAD_CHECK_FIRST || o->tried % o->set.check_every == 0;
}

/* The queries lie behind n entries already. The answers go to the engine. */
static void ask(struct qv_offload *o, struct qv_match *engine, size_t n, size_t m, int posts)
{
	const int err = o->set.ops->match_batch(o->dev, o->keys, (uint32_t)n, o->keys + n,
						(uint32_t)m, o->result);

	if (err) {
		qv_offload_failed(o, err, o->set.ops->why(o->dev));
		return;
	}
	for (size_t i = 0; i < m; i++) {
		void *node = o->result[i] == QV_OFFLOAD_NONE ? NULL : o->nodes[o->result[i]];

		if (posts)
			o->calls[i].msg = node;
		else
			o->calls[i] = (struct qv_foreseen){
				.tag = o->keys[n + i].tag, .src = o->keys[n + i].src, .recv = node};
	}
	o->foresight = (struct qv_foresight){
		.calls = o->calls, .n = m, .posts = posts, .check = is_check(o)};
	o->stats.batches++;
	o->stats.keys += n + m;
	o->stats.checked += (uint64_t)o->foresight.check;
	o->tried++;
	o->active = 1;
	qv_match_foresee(engine, &o->foresight);
}

/* Room for the n entries that are queued now and at most m queries; the entries taken. 0: not for
 * the device. */
static size_t begin(struct qv_offload *o, struct qv_match *engine, size_t *m, int posts)
{
	struct qv_match_stats now;
	uint32_t most;
	size_t n;
	int err;

	if (!qv_offload_wants(o, *m) || !qv_offload_ready(o) || *m < o->set.min_batch)
		return 0;
	qv_match_get_stats(engine, &now);
	n = posts ? now.unexpected_now : now.posted_now;
	most = o->set.ops->caps(o->dev)->max_keys;
	*m = *m < most ? *m : most;
	if (!n)
		return 0;
	err = n > most ? QV_ENOSYS : make_room(o, n, *m);
	if (!err)
		err = posts ? take_messages(o, engine) : take_receives(o, engine);
	if (err)
		o->stats.refused++;
	return err ? 0 : n;
}

void qv_offload_arrivals(struct qv_offload *o, struct qv_match *engine,
			 const struct qv_offload_key *msgs, size_t m)
{
	const size_t n = begin(o, engine, &m, 0);

	if (!n)
		return;
	for (size_t i = 0; i < m; i++)
		o->keys[n + i] = (struct qv_offload_key){msgs[i].tag, 0, msgs[i].src, 0};
	ask(o, engine, n, m, 0);
}

void qv_offload_done(struct qv_offload *o, struct qv_match *engine)
{
	if (!o->active)
		return;
	o->active = 0;
	qv_match_forget(engine);
	if (!o->foresight.wrong)
		return;
	o->stats.wrong++;
	qv_offload_failed(o, QV_EIO, "it gave an answer that the CPU has proved wrong");
}

/* Many at a time. */

size_t qv_offload_arrive_many(struct qv_offload *o, struct qv_match *engine,
			      struct qv_msg *const *msgs, size_t n, struct qv_recv **recvs)
{
	size_t done = 0, got, m, entries;

	while (done < n) {
		m = n - done;
		entries = begin(o, engine, &m, 0);
		if (!entries)
			m = n - done;
		for (size_t i = 0; entries && i < m; i++)
			o->keys[entries + i] = (struct qv_offload_key){msgs[done + i]->tag, 0,
								       msgs[done + i]->src, 0};
		if (entries)
			ask(o, engine, entries, m, 0);
		got = qv_match_arrive_many(engine, msgs + done, m, recvs + done);
		qv_offload_done(o, engine);
		done += got;
		if (got < m)
			break;
	}
	return done;
}

size_t qv_offload_post_many(struct qv_offload *o, struct qv_match *engine,
			    struct qv_recv *const *recvs, size_t n, struct qv_msg **msgs)
{
	size_t done = 0, got, m, entries;

	while (done < n) {
		m = n - done;
		entries = begin(o, engine, &m, 1);
		if (!entries)
			m = n - done;
		for (size_t i = 0; entries && i < m; i++) {
			struct qv_recv *r = recvs[done + i];

			o->keys[entries + i] =
				(struct qv_offload_key){r->tag, r->ignore, r->src, 0};
			o->calls[i] = (struct qv_foreseen){.recv = r};
		}
		if (entries)
			ask(o, engine, entries, m, 1);
		got = qv_match_post_many(engine, recvs + done, m, msgs + done);
		qv_offload_done(o, engine);
		done += got;
		if (got < m)
			break;
	}
	return done;
}
