/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * law.c - what must hold: order of matching, once, whole, nothing lost without a word, nothing
 * under way for ever, no memory that only grows.
 *
 * Order: where two messages of one sender both suit two receives, the older message goes to the
 * older receive. That is seen from completions, which come in any order, by two kinds of marks:
 * a message that was passed over must be taken by a receive older than the one that passed it over
 * (msg.before); a receive that was passed over must take from that sender an older message than the
 * one that passed it over (recv.passed).
 */
#include "app.h"

#include <string.h>

#define TABLE (1u << 16)

/* Faults after which an error between two that live is no lie. */
#define LOSSY                                                                                 \
	(1u << SF_CUT | 1u << SF_INJLOSS | 1u << SF_REPEAT | 1u << SF_SLOTS | 1u << SF_BUSY | \
	 1u << SF_NOMEM)

static struct sf_msg *table[TABLE];
static uint64_t ids;
static uint64_t oldest = 1; /* those before it are over, or lost */

/* NULL: it is over, or lost. */
static struct sf_msg *open_msg(uint64_t id)
{
	struct sf_msg *m = table[id % TABLE];

	return m && m->id == id && !m->lost ? m : NULL;
}

static void free_msg(struct sf_msg *m)
{
	table[m->id % TABLE] = NULL;
	if (m->buf)
		sf_buf_put(m->buf, m->len);
	sf_free(m);
}

static void not_coming(struct sf_msg *m)
{
	struct sf_app *to = &sf_apps[m->to];

	if (!m->at)
		return;
	*m->at = m->next;
	if (m->next)
		m->next->at = m->at;
	else
		to->coming_tail = m->at;
	m->at = NULL;
	to->ncoming--;
}

static bool lives(unsigned slot, uint32_t life)
{
	return sf_apps[slot].life == life && sf_apps[slot].state == SF_UP;
}

static void tidy(struct sf_msg *m)
{
	bool open = m->buf || (!m->done && !m->failed && lives(m->from, m->from_life));

	if (!open && m->arrived)
		free_msg(m);
}

/* Sends. */

struct sf_msg *sf_law_send(struct sf_app *from, unsigned to)
{
	struct sf_app *peer = &sf_apps[to];
	struct sf_msg *m = table[(ids + 1) % TABLE];

	if (m && m->lost)
		free_msg(m);
	else if (m)
		return NULL;
	m = sf_alloc(sizeof *m);
	m->op.kind = SF_OP_SEND;
	m->id = ++ids;
	m->from = from->slot;
	m->from_life = from->life;
	m->from_home = from->home;
	m->to = to;
	m->to_life = from->peer_lives[to];
	m->sent_at = sf.now;
	m->before = UINT64_MAX;
	m->at = peer->coming_tail;
	*m->at = m;
	peer->coming_tail = &m->next;
	peer->ncoming++;
	table[m->id % TABLE] = m;
	return m;
}

void sf_law_unsend(struct sf_msg *m)
{
	not_coming(m);
	free_msg(m);
}

void sf_law_sent(struct sf_msg *m, int err)
{
	if (m->done || m->failed)
		sf_broken("send %llu is reported twice", (unsigned long long)m->id);
	m->done = !err;
	m->failed = err;
	if (m->buf)
		sf_buf_put(m->buf, m->len);
	m->buf = NULL;
	if (err)
		sf_law_told(&sf_apps[m->from], m->to, m->to_life, err, "a send");
	tidy(m);
}

/* Errors that nobody can have caused but the provider. */
static bool must_not_fail(unsigned slot, uint32_t life)
{
	return lives(slot, life) && !(sf.cfg.faults & (LOSSY | 1u << SF_SAME));
}

/* The application hears that a peer has failed. */
void sf_law_told(struct sf_app *a, unsigned slot, uint32_t life, int err, const char *what)
{
	a->told[slot] = ids;
	if (sf.cfg.verbose)
		sf_say("%u.%u is told of %u.%u: %s, error %d", a->slot, a->life, slot, life, what,
		       err);
	if (must_not_fail(slot, life))
		sf_broken("%s from %u.%u to %u.%u fails with %d, although both live", what, a->slot,
			  a->life, slot, life, err);
}

void sf_law_recv_failed(struct sf_app *a, int err)
{
	a->recv_failed = sf.now;
	if (!(sf.cfg.faults &
	      (LOSSY | 1u << SF_SAME | 1u << SF_REOPEN | 1u << SF_KILL | 1u << SF_POWER)))
		sf_broken("a receive of %u.%u fails with %d", a->slot, a->life, err);
}

/* Receives. */

/* Who comes back at another address is another sender. */
static bool is_from(const struct sf_recv *r, const struct sf_msg *m)
{
	return r->from < 0 || ((unsigned)r->from == m->from && r->from_home == m->from_home);
}

bool sf_law_accepts(const struct sf_recv *r, const struct sf_msg *m)
{
	return r->tagged == m->tagged && is_from(r, m) &&
	       (!r->tagged || !((r->tag ^ m->tag) & ~r->ignore));
}

void sf_law_begins(struct sf_app *a)
{
	a->first = ids + 1;
}

/*
 * Who speaks first cannot know whether what it says is taken by one that then ends without a word.
 * The next one at that address gets it once more: once is a law of each process.
 */
bool sf_law_was_anothers(const struct sf_app *a, uint64_t id)
{
	const struct sf_msg *m = table[id % TABLE];

	return a->same && id && id < a->first && (!m || m->id != id || m->arrived);
}

struct sf_msg *sf_law_find(struct sf_app *a, const struct sf_recv *r, uint64_t id)
{
	struct sf_msg *m = table[id % TABLE];

	if (!m || m->id != id || m->arrived)
		sf_broken("%u.%u receives message %llu, which %s", a->slot, a->life,
			  (unsigned long long)id,
			  id > ids ? "was never sent" : "has been received before");
	if (m->to != a->slot)
		sf_broken("message %llu for %u arrives at %u", (unsigned long long)id, m->to,
			  a->slot);
	if (!sf_law_accepts(r, m))
		sf_broken("%u.%u: a receive takes message %llu, which it does not accept", a->slot,
			  a->life, (unsigned long long)id);
	return m;
}

static void pass_over(struct sf_recv *old, const struct sf_msg *m)
{
	for (unsigned i = 0; i < old->npassed; i++)
		if (old->passed[i].from == m->from && old->passed[i].life == m->from_life) {
			if (m->id < old->passed[i].id)
				old->passed[i].id = m->id;
			return;
		}
	if (old->npassed == sizeof old->passed / sizeof *old->passed)
		return;
	old->passed[old->npassed].from = m->from;
	old->passed[old->npassed].life = m->from_life;
	old->passed[old->npassed++].id = m->id;
}

static void check_order(const struct sf_app *a, const struct sf_recv *r, const struct sf_msg *m)
{
	if (r->seq >= m->before)
		sf_broken("%u.%u: message %llu of %u was overtaken by a later one", a->slot,
			  a->life, (unsigned long long)m->id, m->from);
	for (unsigned i = 0; i < r->npassed; i++)
		if (r->passed[i].from == m->from && r->passed[i].life == m->from_life &&
		    m->id > r->passed[i].id)
			sf_broken("%u.%u: message %llu of %u should have gone to an older receive "
				  "than it did, which took %llu",
				  a->slot, a->life, (unsigned long long)r->passed[i].id, m->from,
				  (unsigned long long)m->id);
}

void sf_law_took(struct sf_app *a, struct sf_recv *r, struct sf_msg *m)
{
	check_order(a, r, m);
	for (struct sf_msg *o = a->coming; o && o->id < m->id; o = o->next)
		if (o->from == m->from && o->from_life == m->from_life && sf_law_accepts(r, o) &&
		    r->seq < o->before)
			o->before = r->seq;
	for (unsigned i = 0; i < SF_RECVS; i++) {
		struct sf_recv *old = &a->recvs[i];

		if (old->seq && old->seq < r->seq && !old->cancelled && !old->nameless &&
		    sf_law_accepts(old, m))
			pass_over(old, m);
	}
	m->arrived = true;
	not_coming(m);
	sf_trace(m->id, r->seq);
	tidy(m);
}

void sf_law_cancelled(struct sf_app *a, const struct sf_recv *r)
{
	if (r->npassed)
		sf_broken("%u.%u: message %llu of %u went to a younger receive than one that then "
			  "was cancelled",
			  a->slot, a->life, (unsigned long long)r->passed[0].id, r->passed[0].from);
}

/* Rest. */

/* What was sent to one that had come back at its address, before anybody knew of that, is told of
 * by the next send. Who closes first hears nothing of it any more. */
static bool goes_untold(const struct sf_msg *m)
{
	return sf_apps[m->to].same;
}

/* A process has ended: its own requests will not be over, what it was sent need not arrive. */
void sf_law_ended(struct sf_app *a)
{
	for (unsigned i = 0; i < TABLE; i++) {
		struct sf_msg *m = table[i];

		if (m && m->to == a->slot && m->to_life == a->life && !m->arrived) {
			if (!a->same) /* else the next one there may get it */
				not_coming(m);
			m->orphan = true;
		}
		if (!m || m->from != a->slot || m->from_life != a->life)
			continue;
		if (m->buf)
			sf_buf_put(m->buf, m->len);
		m->buf = NULL;
		m->orphan |= !a->closed_well || !m->done || goes_untold(m);
		tidy(m);
	}
}

/* Did the sender, or the receiver, get a word of it? */
static bool excused(const struct sf_msg *m)
{
	return m->failed || m->orphan || sf_apps[m->from].told[m->to] >= m->id ||
	       sf_apps[m->to].recv_failed > m->sent_at;
}

/* Nothing excuses what is said to be delivered; its receiver may have to look once more. */
static bool is_over(const struct sf_msg *m)
{
	if (!m->done && !m->failed && lives(m->from, m->from_life))
		return false;
	if (m->arrived || !lives(m->to, m->to_life))
		return true;
	return !(m->done && m->ack) && excused(m);
}

bool sf_law_at_rest(void)
{
	for (unsigned s = 0; s < sf.cfg.procs; s++) {
		const struct sf_app *a = &sf_apps[s];

		if (a->state != SF_UP || a->nsends)
			return false;
		for (const struct sf_msg *m = a->coming; m; m = m->next)
			if (!is_over(m))
				return false;
	}
	return true;
}

static void judge(const struct sf_msg *m)
{
	const char *what = m->inject ? "inject" : "send";
	unsigned long long id = m->id, len = m->len;

	if (!m->done && !m->failed && lives(m->from, m->from_life))
		sf_broken("%s %llu of %llu bytes from %u.%u to %u.%u is not over after %.1f s",
			  what, id, len, m->from, m->from_life, m->to, m->to_life,
			  (double)(sf.now - m->sent_at) / 1e9);
	if (m->done && m->ack && !m->arrived && lives(m->to, m->to_life))
		sf_broken("%s %llu from %u.%u to %u.%u is said to be delivered, and was not", what,
			  id, m->from, m->from_life, m->to, m->to_life);
	if (!is_over(m))
		sf_broken("%s %llu of %llu bytes from %u.%u to %u.%u is lost without a word", what,
			  id, len, m->from, m->from_life, m->to, m->to_life);
}

void sf_law_judge(void)
{
	struct sf_msg *m;

	for (uint64_t id = oldest; id <= ids; id++)
		if ((m = open_msg(id)))
			judge(m);
	for (; oldest <= ids; oldest++) /* excused; it may come all the same */
		if ((m = open_msg(oldest))) {
			not_coming(m);
			m->lost = true;
		}
}
