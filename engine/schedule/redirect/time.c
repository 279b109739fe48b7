/* SPDX-License-Identifier: BSD-2-Clause */
/* time.c - Local Redirect in virtual time: messages in the order in which they come. */
#include "engine/base/random.h"
#include "engine/schedule/heap.h"

#include <quiver/redirect.h>

#include <stdlib.h>

/* A message, or the arrival of its rank where from is QV_PLACE_NONE. */
struct event {
	struct qv_when when;
	uint32_t to, from, value;
	enum qv_redirect_kind kind;
};

/* What a rank has not accepted yet, oldest first. */
struct kept {
	struct event *events;
	size_t n, room;
};

struct place {
	struct qv_redirect machine;
	double busy; /* until then it combines */
	struct kept kept;
};

struct line {
	const struct qv_network *network;
	double bytes;
	uint32_t n;
	struct place *places;
	double *last; /* by sender, then receiver modulo 4: when its last message comes */
	struct event *heap;
	size_t heap_n, heap_room;
	uint64_t order, random;
	int failed; /* no memory */
};

static void push(struct line *l, struct event e)
{
	struct event *grown;

	if (l->heap_n == l->heap_room) {
		grown = realloc(l->heap, (2 * l->heap_room + 64) * sizeof(*grown));
		if (!grown) {
			l->failed = 1;
			return;
		}
		l->heap = grown;
		l->heap_room = 2 * l->heap_room + 64;
	}
	e.when.order = l->order++;
	qv_heap_put(l->heap, &l->heap_n, sizeof(e), &e);
}

static void send_all(struct line *l, uint32_t from, double now, const struct qv_redirect_out *out,
		     unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		double *last = &l->last[(size_t)from * 4 + (out[i].to & 3)], end;

		end = now + l->network->alpha * (1 + .2 * qv_random_unit(&l->random));
		if (out[i].kind == QV_REDIRECT_DATA)
			end += l->bytes * l->network->beta;
		/* Messages of one place to another stay in order. */
		if (end < *last)
			end = *last;
		*last = end;
		push(l, (struct event){.when.time = end,
				       .to = out[i].to,
				       .from = from,
				       .value = out[i].value,
				       .kind = out[i].kind});
	}
}

static void keep(struct line *l, struct kept *k, const struct event *e)
{
	struct event *grown;

	if (k->n == k->room) {
		grown = realloc(k->events, (2 * k->room + 4) * sizeof(*grown));
		if (!grown) {
			l->failed = 1;
			return;
		}
		k->events = grown;
		k->room = 2 * k->room + 4;
	}
	k->events[k->n++] = *e;
}

/* Is it the oldest one of its sender, and wanted? */
static int can_take(const struct place *p, size_t i)
{
	const struct event *e = &p->kept.events[i];

	for (size_t j = 0; j < i; j++)
		if (p->kept.events[j].from == e->from)
			return 0;
	return qv_redirect_accepts(&p->machine, e->from, e->kind);
}

/* Everything that the rank accepts, at `now` or when it has combined. */
static void take_all(struct line *l, uint32_t place, double now)
{
	struct place *p = &l->places[place];
	struct qv_redirect_out out[QV_REDIRECT_MOST];

	for (size_t i = 0; i < p->kept.n && !l->failed;) {
		const struct event e = p->kept.events[i];
		unsigned int n;

		if (!can_take(p, i)) {
			i++;
			continue;
		}
		if (p->busy > now)
			now = p->busy;
		for (size_t j = i + 1; j < p->kept.n; j++)
			p->kept.events[j - 1] = p->kept.events[j];
		p->kept.n--;
		if (e.kind == QV_REDIRECT_DATA)
			now = p->busy = now + l->bytes * l->network->gamma;
		n = qv_redirect_take(&p->machine, e.from, e.kind, e.value, out);
		send_all(l, place, now, out, n);
		i = 0;
	}
}

static void run(struct line *l)
{
	while (l->heap_n && !l->failed) {
		struct qv_redirect_out out[QV_REDIRECT_MOST];
		struct place *p;
		struct event e;

		qv_heap_pop(l->heap, &l->heap_n, sizeof(e), &e);
		p = &l->places[e.to];

		if (e.from == QV_PLACE_NONE) {
			p->busy = e.when.time;
			send_all(l, e.to, e.when.time, out,
				 qv_redirect_start(&p->machine, p->machine.variant, e.to, l->n,
						   out));
		} else {
			keep(l, &p->kept, &e);
		}
		take_all(l, e.to, e.when.time);
	}
}

int qv_redirect_time(const struct qv_network *network, enum qv_redirect_variant variant,
		     uint32_t places, double bytes, const double *arrive, uint64_t seed,
		     double *end)
{
	struct line l = {.network = network, .bytes = bytes, .n = places, .random = seed * 2 + 1};
	int rc = QV_ENOMEM;

	l.places = calloc(places, sizeof(*l.places));
	l.last = calloc(places, 4 * sizeof(*l.last));
	if (l.places && l.last) {
		for (uint32_t i = 0; i < places; i++) {
			l.places[i].machine.variant = variant;
			push(&l, (struct event){.when.time = arrive ? arrive[i] : 0,
						.to = i,
						.from = QV_PLACE_NONE});
		}
		run(&l);
		rc = l.failed ? QV_ENOMEM : QV_OK;
		for (uint32_t i = 0; i < places && !rc; i++)
			if (l.places[i].machine.state != QV_REDIRECT_OVER)
				rc = QV_EINVAL;
		if (!rc)
			*end = l.places[places - 1].busy;
	}
	for (uint32_t i = 0; l.places && i < places; i++)
		free(l.places[i].kept.events);
	free(l.places);
	free(l.last);
	free(l.heap);
	return rc;
}
