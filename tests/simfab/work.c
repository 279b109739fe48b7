/* SPDX-License-Identifier: BSD-2-Clause */
/* work.c - what the simulated applications do: operations drawn from the seed. */
#include "app.h"

#include <string.h>

#define INJECT 128u

static uint64_t below(uint64_t n)
{
	return qv_random_below(&sf.rnd_work, n);
}

static bool percent(unsigned p)
{
	return qv_random_percent(&sf.rnd_work, p);
}

/* Sends. */

static size_t draw_len(void)
{
	if (percent(sf.cfg.large))
		return percent(90) ? 257 + below(16128) : 16385 + below((1u << 20) - 16384);
	return percent(80) ? below(65) : below(257);
}

static uint64_t class_of(size_t len)
{
	return len <= 256 ? below(SF_CLASSES - 2) : SF_CLASSES - (len <= 16384 ? 2 : 1);
}

/* How the receiver finds out which message it has got: by the tag, completion data, or the first 8
 * bytes. */
static void draw(struct sf_msg *m, bool probe)
{
	m->len = probe ? 8 : draw_len();
	m->tagged = probe || percent(75);
	m->tag = m->tagged ? class_of(m->len) : 0;
	if (m->tagged && percent(60))
		m->tag |= SF_TELLS | m->id << 8;
	m->has_data = percent(15) || (!(m->tag & SF_TELLS) && m->len < 8);
	m->ack = probe || percent(10);
	m->inject = !m->ack && m->len <= INJECT && percent(40);
	m->buf = sf_buf_get(m->len);
	sf_buf_fill(m->buf, m->len, m->id);
}

static ssize_t inject(struct sf_app *a, struct sf_msg *m, fi_addr_t to)
{
	if (m->tagged)
		return m->has_data ? fi_tinjectdata(a->ep, m->buf, m->len, m->id, to, m->tag)
				   : fi_tinject(a->ep, m->buf, m->len, to, m->tag);
	return m->has_data ? fi_injectdata(a->ep, m->buf, m->len, m->id, to)
			   : fi_inject(a->ep, m->buf, m->len, to);
}

static ssize_t send_msg(struct sf_app *a, struct sf_msg *m, fi_addr_t to)
{
	size_t cut = m->len / 3;
	struct iovec iov[2] = {{m->buf, cut}, {m->buf + cut, m->len - cut}};
	uint64_t flags = FI_COMPLETION | (m->ack ? FI_DELIVERY_COMPLETE : 0) |
			 (m->has_data ? FI_REMOTE_CQ_DATA : 0);
	struct fi_msg_tagged tagged = {.msg_iov = iov,
				       .iov_count = 2,
				       .addr = to,
				       .tag = m->tag,
				       .context = &m->op,
				       .data = m->id};
	struct fi_msg msg = {
		.msg_iov = iov, .iov_count = 2, .addr = to, .context = &m->op, .data = m->id};

	return m->tagged ? fi_tsendmsg(a->ep, &tagged, flags) : fi_sendmsg(a->ep, &msg, flags);
}

static ssize_t send_plain(struct sf_app *a, struct sf_msg *m, fi_addr_t to)
{
	if (m->tagged)
		return m->has_data ? fi_tsenddata(a->ep, m->buf, m->len, NULL, m->id, to, m->tag,
						  &m->op)
				   : fi_tsend(a->ep, m->buf, m->len, NULL, to, m->tag, &m->op);
	return m->has_data ? fi_senddata(a->ep, m->buf, m->len, NULL, m->id, to, &m->op)
			   : fi_send(a->ep, m->buf, m->len, NULL, to, &m->op);
}

/* A refusal that means: later. */
static bool is_later(ssize_t rc)
{
	return rc == -FI_EAGAIN || rc == -FI_ENOMEM ||
	       (rc == -FI_EBUSY && sf.cfg.faults & 1u << SF_BUSY);
}

bool sf_work_send(struct sf_app *a, unsigned to, bool probe)
{
	uint32_t life = a->peer_lives[to];
	struct sf_msg *m;
	ssize_t rc;

	if (!life || a->nsends == SF_SENDS)
		return false;
	if (sf_apps[to].ncoming > 4 * SF_SENDS && !probe)
		return false;
	m = sf_law_send(a, to);
	if (!m)
		return false;
	draw(m, probe);
	sf.self = a->proc;
	if (m->inject)
		rc = inject(a, m, a->peers[to]);
	else
		rc = m->ack || percent(20) ? send_msg(a, m, a->peers[to])
					   : send_plain(a, m, a->peers[to]);
	sf.self = &sf.nobody;
	if (rc) {
		sf_law_unsend(m);
		if (!is_later(rc))
			sf_law_told(a, to, life, (int)-rc, "a call to send");
		return false;
	}
	if (m->inject)
		sf_law_sent(m, 0);
	else
		a->nsends++;
	return true;
}

static unsigned draw_peer(const struct sf_app *a)
{
	unsigned n = sf.cfg.procs, k = (unsigned)below(20);

	if (k < 2)
		return 0; /* everybody's server */
	if (k == 2)
		return (unsigned)below(n);
	return (a->slot + 1 + (k % 4) * (k % 4)) % n;
}

/* Receives. */

#define SPARE 4u /* places that are kept for the rest */

static struct sf_recv *new_recv(struct sf_app *a, size_t room)
{
	static uint64_t seqs;

	for (unsigned i = sf.storm ? SPARE : 0; i < SF_RECVS; i++) {
		struct sf_recv *r = &a->recvs[i];

		if (r->seq)
			continue;
		*r = (struct sf_recv){.op.kind = SF_OP_RECV,
				      .seq = ++seqs,
				      .from = -1,
				      .room = room,
				      .posted_at = sf.now};
		r->buf = sf_buf_get(room);
		a->nrecvs++;
		return r;
	}
	return NULL;
}

static void free_recv(struct sf_app *a, struct sf_recv *r)
{
	sf_buf_put(r->buf, r->room);
	r->seq = 0;
	a->nrecvs--;
}

/* Its message is claimed; it is taken before anything new is begun. */
void sf_work_claim_later(struct sf_app *a, struct sf_recv *r)
{
	r->look = FI_CLAIM | FI_MORE;
	a->nclaims++;
}

static void post(struct sf_app *a, struct sf_recv *r, uint64_t flags)
{
	fi_addr_t from = r->from < 0 ? FI_ADDR_UNSPEC : a->peers[r->from];
	struct iovec iov = {r->buf, r->room};
	struct fi_msg_tagged msg = {.msg_iov = &iov,
				    .iov_count = flags & FI_PEEK ? 0 : 1,
				    .addr = from,
				    .tag = r->tag,
				    .ignore = r->ignore,
				    .context = &r->op};
	ssize_t rc;

	sf.self = a->proc;
	if (flags)
		rc = fi_trecvmsg(a->ep, &msg, flags | FI_COMPLETION);
	else if (r->tagged)
		rc = fi_trecv(a->ep, r->buf, r->room, NULL, from, r->tag, r->ignore, &r->op);
	else
		rc = fi_recv(a->ep, r->buf, r->room, NULL, from, &r->op);
	sf.self = &sf.nobody;
	if (!rc)
		return;
	if (!is_later(rc))
		sf_broken("%u.%u: a receive is refused: %zd", a->slot, a->life, rc);
	if (r->look == FI_CLAIM)
		sf_work_claim_later(a, r);
	else
		free_recv(a, r);
}

/* Tagged receives are of one class, or of any; of messages whose tag tells, or not, or both. */
static void draw_tags(struct sf_recv *r)
{
	r->tag = below(SF_CLASSES - 2);
	if (percent(sf.cfg.large))
		r->tag = SF_CLASSES - 1 - (percent(80));
	switch (below(4)) {
	case 0: r->ignore = 0; break;
	case 1: r->ignore = ~SF_CLASS; break;
	case 2: r->ignore = ~0ull; break;
	default: r->tag |= SF_TELLS; r->ignore = ~(SF_TELLS | SF_CLASS);
	}
}

static void receive(struct sf_app *a)
{
	struct sf_recv *r = new_recv(a, percent(80) ? 256 : 16384);

	if (!r)
		return;
	r->tagged = percent(75);
	if (r->tagged)
		draw_tags(r);
	if (percent(40)) {
		r->from = (int)draw_peer(a);
		r->from_home = sf_apps[r->from].home;
		if (!a->peer_lives[r->from])
			r->from = -1;
	}
	post(a, r, 0);
}

/* Only those whose tag tells can be looked at. */
static void look(struct sf_app *a)
{
	static const uint64_t kinds[] = {FI_PEEK, FI_PEEK | FI_CLAIM, FI_PEEK | FI_DISCARD};
	struct sf_recv *r = new_recv(a, 4096);

	if (!r)
		return;
	r->tagged = true;
	r->tag = SF_TELLS;
	r->ignore = ~SF_TELLS;
	r->look = kinds[below(3)];
	post(a, r, r->look);
}

static void cancel(struct sf_app *a, struct sf_recv *r)
{
	int rc;

	if (!r->seq || r->look)
		return;
	sf.self = a->proc;
	rc = (int)fi_cancel(&a->ep->fid, &r->op);
	sf.self = &sf.nobody;
	if (!rc)
		r->cancelled = true;
	else if (rc != -FI_ENOENT)
		sf_broken("%u.%u: fi_cancel says %d", a->slot, a->life, rc);
}

static void take_claimed(struct sf_app *a)
{
	for (unsigned i = 0; a->nclaims && i < SF_RECVS; i++)
		if (a->recvs[i].seq && a->recvs[i].look == (FI_CLAIM | FI_MORE)) {
			a->recvs[i].look = FI_CLAIM;
			a->nclaims--;
			post(a, &a->recvs[i], FI_CLAIM);
		}
}

void sf_work_some(struct sf_app *a)
{
	unsigned n = 1 + (unsigned)below(4);

	take_claimed(a);
	for (; n && a->todo; n--, a->todo--) {
		unsigned what = (unsigned)below(100);

		if (what < 50)
			sf_work_send(a, draw_peer(a), false);
		else if (what < 92)
			receive(a);
		else if (what < 96)
			cancel(a, &a->recvs[below(SF_RECVS)]);
		else
			look(a);
	}
}

/* Rest. */

void sf_work_cancel_all(struct sf_app *a)
{
	for (unsigned i = 0; i < SF_RECVS; i++)
		if (!a->recvs[i].cancelled)
			cancel(a, &a->recvs[i]);
}

/* Receives for all that has been sent. */
void sf_work_drain(struct sf_app *a)
{
	size_t room[2] = {0, 0}; /* what is cut must still tell which message it is */
	unsigned posted[2] = {0, 0};

	take_claimed(a);
	for (unsigned i = 0; i < SF_RECVS; i++)
		if (a->recvs[i].seq && a->recvs[i].from < 0 && a->recvs[i].ignore == ~0ull)
			posted[a->recvs[i].tagged]++;
	for (const struct sf_msg *m = a->coming; m; m = m->next)
		if (room[m->tagged] <= m->len)
			room[m->tagged] = m->len + 64;
	for (unsigned t = 0; t < 2; t++) {
		struct sf_recv *r;

		if (!room[t] || posted[t] >= 2 || !(r = new_recv(a, room[t])))
			continue;
		r->tagged = t;
		r->ignore = ~0ull;
		post(a, r, 0);
	}
}
