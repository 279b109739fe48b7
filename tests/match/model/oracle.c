/* SPDX-License-Identifier: BSD-2-Clause */
/* oracle.c - matching by linear search over plain arrays. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static int accepts(uint64_t want, uint64_t ignore, uint32_t want_src, uint64_t tag, uint32_t src)
{
	if (want_src != QV_SRC_ANY && want_src != src)
		return 0;
	return (want & ~ignore) == (tag & ~ignore);
}

void qv_oracle_init(struct qv_oracle *o, size_t room)
{
	o->recvs = calloc(room, sizeof(*o->recvs));
	o->msgs = calloc(room, sizeof(*o->msgs));
	o->n_recvs = o->n_msgs = 0;
	o->room = room;
	if (!o->recvs || !o->msgs)
		abort();
}

void qv_oracle_fini(struct qv_oracle *o)
{
	free(o->recvs);
	free(o->msgs);
}

static void remove_recv(struct qv_oracle *o, size_t i)
{
	o->n_recvs--;
	memmove(o->recvs + i, o->recvs + i + 1, (o->n_recvs - i) * sizeof(*o->recvs));
}

static void remove_msg(struct qv_oracle *o, size_t i)
{
	o->n_msgs--;
	memmove(o->msgs + i, o->msgs + i + 1, (o->n_msgs - i) * sizeof(*o->msgs));
}

struct qv_msg *qv_oracle_peek(const struct qv_oracle *o, uint64_t tag, uint64_t ignore,
			      uint32_t src)
{
	for (size_t i = 0; i < o->n_msgs; i++)
		if (accepts(tag, ignore, src, o->msgs[i].tag, o->msgs[i].src))
			return o->msgs[i].node;
	return NULL;
}

void qv_oracle_take(struct qv_oracle *o, const struct qv_msg *msg)
{
	size_t i = 0;

	while (o->msgs[i].node != msg)
		i++;
	remove_msg(o, i);
}

struct qv_msg *qv_oracle_post(struct qv_oracle *o, struct qv_recv *recv)
{
	struct qv_msg *msg = qv_oracle_peek(o, recv->tag, recv->ignore, recv->src);

	if (msg) {
		qv_oracle_take(o, msg);
		return msg;
	}
	assert(o->n_recvs < o->room);
	o->recvs[o->n_recvs++] = (struct qv_oracle_recv){
		recv->tag, recv->ignore, recv->src, recv->flags, recv,
	};
	return NULL;
}

struct qv_recv *qv_oracle_arrive(struct qv_oracle *o, uint64_t tag, uint32_t src)
{
	for (size_t i = 0; i < o->n_recvs; i++) {
		const struct qv_oracle_recv *r = &o->recvs[i];
		struct qv_recv *node = r->node;

		if (!accepts(r->tag, r->ignore, r->src, tag, src))
			continue;
		if (!(r->flags & QV_RECV_STICKY))
			remove_recv(o, i);
		return node;
	}
	return NULL;
}

void qv_oracle_queue(struct qv_oracle *o, struct qv_msg *msg)
{
	assert(o->n_msgs < o->room);
	o->msgs[o->n_msgs++] = (struct qv_oracle_msg){msg->tag, msg->src, msg};
}

void qv_oracle_cancel(struct qv_oracle *o, const struct qv_recv *recv)
{
	size_t i = 0;

	while (o->recvs[i].node != recv)
		i++;
	remove_recv(o, i);
}
