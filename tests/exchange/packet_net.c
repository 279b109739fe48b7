/* SPDX-License-Identifier: BSD-2-Clause */
/* packet_net.c - a network in one process. */
#include "packet_net.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/types.h>

static struct qv_packet *first, **last = &first;
static bool is_busy, is_dead;
static uint64_t rng = 88172645463325252u;

uint64_t qv_packet_draw(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

void qv_packet_set(bool busy, bool dead)
{
	is_busy = busy;
	is_dead = dead;
}

struct qv_packet *qv_packet_first(void)
{
	return first;
}

int qv_packet_send(uint32_t from, uint32_t id, uint32_t to, const void *buf, size_t bytes)
{
	struct qv_packet *p;

	if (is_dead)
		return QV_EPEER;
	if (is_busy || !qv_packet_draw(5))
		return QV_EAGAIN;
	p = malloc(sizeof(*p));
	*p = (struct qv_packet){NULL, from, to, id, bytes, malloc(bytes)};
	memcpy(p->data, buf, bytes);
	*last = p;
	last = &p->next;
	return QV_OK;
}

/* Whether an earlier packet of the pair is still under way. */
static bool is_overtaking(const struct qv_packet *p)
{
	for (const struct qv_packet *q = first; q != p; q = q->next)
		if (q->from == p->from && q->to == p->to)
			return true;
	return false;
}

void qv_packet_deliver(void (*take)(const struct qv_packet *packet))
{
	uint64_t skip = qv_packet_draw(8);

	for (struct qv_packet **at = &first, *p; (p = *at); at = &p->next) {
		if (skip && p->next && skip--)
			continue;
		if (is_overtaking(p))
			continue;
		*at = p->next;
		if (!p->next)
			last = at;
		take(p);
		free(p->data);
		free(p);
		return;
	}
}

void qv_packet_clear(void)
{
	while (first) {
		struct qv_packet *p = first;

		first = p->next;
		free(p->data);
		free(p);
	}
	last = &first;
	qv_packet_set(false, false);
}
