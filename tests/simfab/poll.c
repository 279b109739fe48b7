/* SPDX-License-Identifier: BSD-2-Clause */
/* poll.c - completions of the simulated applications: what they say is checked to the byte. */
#include "app.h"

#include <stdlib.h>
#include <string.h>

static struct sf_recv *recv_of(struct sf_app *a, void *context)
{
	struct sf_recv *r = context;

	if (r < a->recvs || r >= a->recvs + SF_RECVS || !r->seq)
		sf_broken("%u.%u: a receive is over that is not under way", a->slot, a->life);
	return r;
}

/* `len` bytes were to be written. */
static void free_recv(struct sf_app *a, struct sf_recv *r, size_t len)
{
	sf_buf_put(r->buf, len);
	r->seq = 0;
	a->nrecvs--;
}

/* Which message is it? */
static uint64_t id_of(struct sf_app *a, const struct sf_recv *r, uint64_t flags, uint64_t tag,
		      uint64_t data, size_t len)
{
	uint64_t id;

	if (r->tagged && tag & SF_TELLS)
		return (tag & ~SF_TELLS) >> 8;
	if (flags & FI_REMOTE_CQ_DATA)
		return data;
	if (len < 8)
		sf_broken("%u.%u: a message of %zu bytes that nobody can have sent", a->slot,
			  a->life, len);
	memcpy(&id, r->buf, sizeof id);
	return id;
}

static void check_source(const struct sf_app *a, const struct sf_msg *m, fi_addr_t src)
{
	if (sf.cfg.faults & (1u << SF_CHURN | 1u << SF_REOPEN | 1u << SF_KILL | 1u << SF_POWER))
		return;
	if (src != a->peers[m->from])
		sf_broken("%u.%u: message %llu of %u is said to be from %lld", a->slot, a->life,
			  (unsigned long long)m->id, m->from, (long long)src);
}

static void check_words(const struct sf_app *a, const struct sf_msg *m, uint64_t flags,
			uint64_t tag, uint64_t data)
{
	bool has_data = flags & FI_REMOTE_CQ_DATA;

	if (has_data != m->has_data || (has_data && data != m->id) || (m->tagged && tag != m->tag))
		sf_broken("%u.%u: message %llu comes with another tag or other data", a->slot,
			  a->life, (unsigned long long)m->id);
}

static void check_body(const struct sf_app *a, const struct sf_recv *r, const struct sf_msg *m,
		       size_t len)
{
	if (!sf_buf_is(r->buf, len, m->id))
		sf_broken("%u.%u: message %llu of %zu bytes comes with another payload", a->slot,
			  a->life, (unsigned long long)m->id, len);
	if (!sf_buf_is_clean(r->buf, len))
		sf_broken("%u.%u: message %llu of %zu bytes wrote more than that", a->slot, a->life,
			  (unsigned long long)m->id, len);
}

/* What was looked at: it is a message that waits; then it is left, discarded, or claimed. */
static void looked(struct sf_app *a, struct sf_recv *r, const struct fi_cq_tagged_entry *e)
{
	uint64_t id = id_of(a, r, e->flags, e->tag, e->data, 0);
	struct sf_msg *m = sf_law_was_anothers(a, id) ? NULL : sf_law_find(a, r, id);

	if (m && e->len != m->len)
		sf_broken("%u.%u: message %llu of %zu bytes seems to have %zu", a->slot, a->life,
			  (unsigned long long)m->id, m->len, e->len);
	if (r->look & FI_CLAIM) {
		sf_work_claim_later(a, r);
		return;
	}
	if (m && r->look & FI_DISCARD)
		sf_law_took(a, r, m);
	free_recv(a, r, r->room);
}

static void received(struct sf_app *a, const struct fi_cq_tagged_entry *e, fi_addr_t src,
		     bool named)
{
	struct sf_recv *r = recv_of(a, e->op_context);
	struct sf_msg *m;
	uint64_t id;

	if (r->look & FI_PEEK) {
		looked(a, r, e);
		return;
	}
	id = id_of(a, r, e->flags, e->tag, e->data, e->len);
	if (sf_law_was_anothers(a, id)) {
		free_recv(a, r, r->room);
		return;
	}
	m = sf_law_find(a, r, id);
	if (e->len != m->len || e->len > r->room)
		sf_broken("%u.%u: message %llu of %zu bytes comes with %zu", a->slot, a->life,
			  (unsigned long long)m->id, m->len, e->len);
	check_words(a, m, e->flags, e->tag, e->data);
	check_body(a, r, m, e->len);
	if (named)
		check_source(a, m, src);
	sf_law_took(a, r, m);
	free_recv(a, r, e->len);
}

static void truncated(struct sf_app *a, struct sf_recv *r, const struct fi_cq_err_entry *e)
{
	uint64_t id = id_of(a, r, e->flags, e->tag, e->data, e->len);
	struct sf_msg *m;

	if (sf_law_was_anothers(a, id)) {
		free_recv(a, r, r->room);
		return;
	}
	m = sf_law_find(a, r, id);
	if (e->len != r->room || e->len + e->olen != m->len)
		sf_broken("%u.%u: message %llu of %zu bytes is said to be cut to %zu by %zu",
			  a->slot, a->life, (unsigned long long)m->id, m->len, e->len, e->olen);
	check_words(a, m, e->flags, e->tag, e->data);
	check_body(a, r, m, e->len);
	sf_law_took(a, r, m);
	free_recv(a, r, r->room);
}

static void failed_recv(struct sf_app *a, const struct fi_cq_err_entry *e)
{
	struct sf_recv *r = recv_of(a, e->op_context);

	if (r->look & FI_PEEK) {
		if (e->err != FI_ENOMSG)
			sf_broken("%u.%u: a look ends with %d", a->slot, a->life, e->err);
	} else if (e->err == FI_ETRUNC) {
		truncated(a, r, e);
		return;
	} else if (e->err == FI_ECANCELED) {
		if (!r->cancelled)
			sf_broken("%u.%u: nobody cancelled this receive", a->slot, a->life);
		sf_law_cancelled(a, r);
		if (!sf_buf_is_clean(r->buf, 0))
			sf_broken("%u.%u: a cancelled receive was written to", a->slot, a->life);
	} else {
		sf_law_recv_failed(a, e->err);
	}
	free_recv(a, r, r->room);
}

static void sent(struct sf_app *a, void *context, int err)
{
	a->nsends--;
	sf_law_sent(context, err);
}

static void failed(struct sf_app *a)
{
	union {
		struct fi_cq_err_entry e;
		char room[512];
	} u = {.room = {0}};
	ssize_t n;

	sf.self = a->proc;
	n = fi_cq_readerr(a->cq, &u.e, 0);
	sf.self = &sf.nobody;
	if (n != 1)
		sf_broken("%u.%u: no error to read: %zd", a->slot, a->life, n);
	if (!u.e.op_context)
		sf_broken("%u.%u: error %d of nothing", a->slot, a->life, u.e.err);
	if (((struct sf_op *)u.e.op_context)->kind == SF_OP_SEND)
		sent(a, u.e.op_context, u.e.err);
	else
		failed_recv(a, &u.e);
}

bool sf_poll(struct sf_app *a)
{
	struct fi_cq_tagged_entry e[8];
	fi_addr_t src[8];
	size_t room = 1 + qv_random_below(&sf.rnd_work, 8);
	bool named = qv_random_percent(&sf.rnd_work, 50);
	ssize_t n;

	sf.self = a->proc;
	n = named ? fi_cq_readfrom(a->cq, e, room, src) : fi_cq_read(a->cq, e, room);
	sf.self = &sf.nobody;
	if (n == -FI_EAVAIL) {
		failed(a);
		return true;
	}
	if (n == -FI_EAGAIN)
		return false;
	if (n < 0)
		sf_broken("%u.%u: the queue says %zd", a->slot, a->life, n);
	for (ssize_t i = 0; i < n; i++)
		if (((struct sf_op *)e[i].op_context)->kind == SF_OP_SEND)
			sent(a, e[i].op_context, 0);
		else
			received(a, &e[i], named ? src[i] : FI_ADDR_NOTAVAIL, named);
	return true;
}
