/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net.c - the simulated network: connections of two endpoints each, in order in each direction,
 * with delays of their own; and how they break.
 */
#include "fab.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536u

static struct sf_conn *table[BUCKETS];
static struct sf_conn **all; /* in order of their making, for the faults to choose from */
static size_t nall, all_cap;
static uint64_t orders;

/* Connections. */

static struct sf_conn **bucket(const struct sf_cep *a, const struct sf_cep *b)
{
	uint64_t lo = a->uid < b->uid ? a->uid : b->uid, hi = a->uid ^ b->uid ^ lo;

	return &table[(lo * 0x9e3779b1u + hi * 0x85ebca77u) % BUCKETS];
}

static bool joins(const struct sf_conn *c, const struct sf_cep *a, const struct sf_cep *b)
{
	return (c->ep[0] == a && c->ep[1] == b) || (c->ep[0] == b && c->ep[1] == a);
}

static struct sf_conn *new_conn(struct sf_cep *from, struct sf_cep *to)
{
	struct sf_conn **at = bucket(from, to), *c = sf_alloc(sizeof *c);

	c->ep[0] = from;
	c->ep[1] = to;
	c->next_hash = *at;
	*at = c;
	if (!from->flavor->shared)
		c->up = sf.now + 5 * SF_US + qv_random_below(&sf.rnd_net, 100 * SF_US);
	c->met_end = c->up + 200 * SF_US;
	if (nall == all_cap) {
		all_cap = all_cap ? 2 * all_cap : 1024;
		all = sf_grow(all, all_cap * sizeof(struct sf_conn *));
	}
	all[nall++] = c;
	return c;
}

struct sf_conn *sf_net_conn(struct sf_cep *from, uint32_t number)
{
	struct sf_cep *to = sf_addr_who(number);
	struct sf_conn *c;

	if (!to || (to->closed && !to->proc->silent))
		return NULL;
	for (c = *bucket(from, to); c && !joins(c, from, to);)
		c = c->next_hash;
	if (!c && to->closed)
		return NULL;
	return c ? c : new_conn(from, to);
}

bool sf_net_dead(const struct sf_conn *c)
{
	return c->dead_at && sf.now >= c->dead_at;
}

/* Packets under way: the next one of each endpoint first. */

static bool before(const struct sf_packet *a, const struct sf_packet *b)
{
	return a->ready != b->ready ? a->ready < b->ready : a->order < b->order;
}

static void push(struct sf_cep *ep, struct sf_packet *pkt)
{
	size_t i = ep->nheap++;

	if (ep->nheap > ep->heap_cap) {
		ep->heap_cap = ep->heap_cap ? 2 * ep->heap_cap : 64;
		ep->heap = sf_grow(ep->heap, ep->heap_cap * sizeof(struct sf_packet *));
	}
	for (; i && before(pkt, ep->heap[(i - 1) / 2]); i = (i - 1) / 2)
		ep->heap[i] = ep->heap[(i - 1) / 2];
	ep->heap[i] = pkt;
}

static void pop(struct sf_cep *ep)
{
	struct sf_packet *last = ep->heap[--ep->nheap];
	size_t i = 0, next;

	for (; (next = 2 * i + 1) < ep->nheap; i = next) {
		if (next + 1 < ep->nheap && before(ep->heap[next + 1], ep->heap[next]))
			next++;
		if (!before(ep->heap[next], last))
			break;
		ep->heap[i] = ep->heap[next];
	}
	ep->heap[i] = last;
}

static uint64_t delay(const struct sf_conn *c)
{
	uint64_t ns = c->ep[0]->flavor->shared
			      ? 200 + qv_random_below(&sf.rnd_net, 2 * SF_US)
			      : 5 * SF_US + qv_random_below(&sf.rnd_net, 30 * SF_US);

	if (sf_strikes(SF_DELAY, 20))
		ns += qv_random_below(&sf.rnd_fault, 10 * SF_MS);
	return ns;
}

bool sf_net_has_room(const struct sf_conn *c, const struct sf_cep *from)
{
	return c->under_way[!sf_net_side(c, from)] < from->flavor->window;
}

static void arrive_later(struct sf_conn *c, struct sf_packet *pkt)
{
	unsigned to = pkt->to;

	pkt->ready = sf.now + delay(c);
	if (pkt->ready < c->last[to])
		pkt->ready = c->last[to];
	c->last[to] = pkt->ready;
	pkt->order = ++orders;
	c->under_way[to]++;
	push(c->ep[to], pkt);
}

/* Memory has no way to go: what was sent is there when its sender has ended. */
static void arrive_now(struct sf_cep *ep, const struct sf_cep *from)
{
	size_t n = ep->nheap;

	ep->nheap = 0;
	for (size_t i = 0; i < n; i++) {
		struct sf_packet *pkt = ep->heap[i];

		if (pkt->from == from && pkt->ready > sf.now)
			pkt->ready = sf.now;
		push(ep, pkt);
	}
}

/* Cuts. */

/* Any that is between two open endpoints; NULL: none found. */
static struct sf_conn *anyone(void)
{
	for (unsigned tries = 0; nall && tries < 20; tries++) {
		size_t i = qv_random_below(&sf.rnd_fault, nall);
		struct sf_conn *c = all[i];

		if (!c->ep[0]->closed && !c->ep[1]->closed)
			return c;
		all[i] = all[--nall];
	}
	return NULL;
}

/* Those under way to ep[to] come twice: once more behind all of them. */
static void repeat(struct sf_conn *c, unsigned to)
{
	struct sf_cep *ep = c->ep[to];
	struct sf_packet *twice[32];
	size_t n = 0;

	for (size_t i = 0; i < ep->nheap && n < sizeof twice / sizeof *twice; i++)
		if (ep->heap[i]->conn == c && ep->heap[i]->to == to &&
		    ep->heap[i]->gen == c->gen[to])
			twice[n++] = ep->heap[i];
	for (size_t i = 1; i < n; i++) /* in the order of their sending */
		for (size_t j = i; j && twice[j]->order < twice[j - 1]->order; j--) {
			struct sf_packet *t = twice[j];

			twice[j] = twice[j - 1];
			twice[j - 1] = t;
		}
	for (size_t i = 0; i < n; i++) {
		struct sf_packet *again = sf_alloc(sizeof *again + twice[i]->len);

		memcpy(again, twice[i], sizeof *again + twice[i]->len);
		arrive_later(c, again);
	}
}

/* What is under way in one direction or both is lost; it comes up again some time later. */
static void cut(struct sf_conn *c)
{
	unsigned ways = 1 + (unsigned)qv_random_below(&sf.rnd_fault, 3);

	for (unsigned to = 0; to < 2; to++) {
		if (sf_strikes(SF_REPEAT, 2))
			repeat(c, to);
		else if (ways >> to & 1)
			c->gen[to]++;
	}
	c->cuts++;
	c->up = sf.now + qv_random_below(&sf.rnd_fault, 5 * SF_MS);
}

/* Who launches a packet may meet a cut: of its own connection, or of another. */
static void strike(struct sf_conn *c)
{
	if (!sf_strikes(SF_CUT, 25))
		return;
	if (qv_random_percent(&sf.rnd_fault, 50))
		c = anyone();
	if (c && !c->ep[0]->flavor->shared)
		cut(c);
}

/* Sending and arriving. */

void sf_net_launch(struct sf_conn *c, struct sf_cep *from, const struct sf_tx *tx)
{
	unsigned to = !sf_net_side(c, from);
	struct sf_packet *pkt;
	size_t len = 0;

	sf.activity++;
	if (c->ep[to]->closed) { /* off, or just gone */
		c->under_way[to]++;
		return;
	}
	if (tx->inject && sf_strikes(SF_INJLOSS, 500))
		return;
	/* Both sides begin at once, and agree on the connection of one of them. */
	if (!c->spoken[!to] && c->spoken[to] && sf.now < c->met_end && from->flavor->collides &&
	    FI_MAJOR(sf.cfg.version) >= 2 && sf_strikes(SF_MEET, 3))
		c->gen[!to]++;
	c->spoken[!to] = true;
	pkt = sf_alloc(sizeof *pkt + tx->len);
	pkt->conn = c;
	pkt->from = from;
	pkt->to = to;
	pkt->gen = c->gen[to];
	pkt->has_data = tx->has_data;
	pkt->data = tx->data;
	pkt->len = tx->len;
	for (size_t i = 0; i < tx->cnt; i++) {
		memcpy(pkt->body + len, tx->iov[i].iov_base, tx->iov[i].iov_len);
		len += tx->iov[i].iov_len;
	}
	arrive_later(c, pkt);
	strike(c);
}

void sf_net_take(struct sf_cep *ep, struct sf_packet *pkt)
{
	pkt->conn->under_way[pkt->to]--;
	pop(ep);
	sf_free(pkt);
}

struct sf_packet *sf_net_arrived(struct sf_cep *ep)
{
	while (ep->nheap && ep->heap[0]->ready <= sf.now) {
		struct sf_packet *pkt = ep->heap[0];

		if (pkt->gen == pkt->conn->gen[pkt->to])
			return pkt;
		sf_net_take(ep, pkt);
	}
	return NULL;
}

/* Ends. */

/* Processes of one host have one kernel, which tells in any case. */
static bool hears(const struct sf_conn *c, const struct sf_cep *ended, bool silent)
{
	return !silent || c->ep[!sf_net_side(c, ended)]->proc->host == ended->proc->host;
}

/* An endpoint has ended. Those connected to it hear of it, unless its host is off. */
void sf_net_closed(struct sf_cep *ep, bool silent, bool lossy)
{
	while (ep->nheap)
		sf_net_take(ep, ep->heap[0]);
	sf_free(ep->heap);
	ep->heap = NULL;
	ep->heap_cap = 0;
	for (size_t i = 0; i < nall; i++) {
		struct sf_conn *c = all[i];
		unsigned to;

		if ((c->ep[0] != ep && c->ep[1] != ep) || !hears(c, ep, silent))
			continue;
		to = !sf_net_side(c, ep);
		c->dead_at = sf.now + 1 + qv_random_below(&sf.rnd_net, SF_MS);
		if (lossy && qv_random_percent(&sf.rnd_net, 30))
			c->gen[to]++; /* a reset overtakes what was sent */
		if (ep->flavor->shared)
			arrive_now(c->ep[to], ep);
	}
}

void sf_net_give_back(const struct sf_proc *proc, uint32_t number)
{
	const struct sf_cep *to = sf_addr_who(number);

	for (size_t i = 0; to && to->closed && i < nall; i++)
		for (unsigned s = 0; s < 2; s++)
			if (all[i]->ep[s] == to && all[i]->ep[!s]->proc == proc && !all[i]->dead_at)
				all[i]->dead_at = sf.now;
}

bool sf_net_unacked(const struct sf_proc *proc, uint32_t number)
{
	const struct sf_cep *to = sf_addr_who(number);

	for (size_t i = 0; to && i < nall; i++)
		for (unsigned s = 0; s < 2; s++)
			if (all[i]->ep[s] == to && all[i]->ep[!s]->proc == proc &&
			    all[i]->under_way[s] && !sf_net_dead(all[i]))
				return true;
	return false;
}
