/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.c - operations that the cores do for the application: fi_rma(3), fi_atomic(3). */
#include "fabric_glue/calls.h"

#include <stdlib.h>
#include <string.h>

static void remember(struct qv_fi_pass *pass)
{
	struct qv_fi_pass **first = &pass->ep->passes;

	pass->next = *first;
	pass->at = first;
	if (pass->next)
		pass->next->at = &pass->next;
	*first = pass;
}

static void let_go(struct qv_fi_pass *pass)
{
	if (pass->peer)
		qv_proto_peer_release(pass->peer);
	pass->peer = NULL;
}

static void forget(struct qv_fi_pass *pass)
{
	let_go(pass);
	*pass->at = pass->next;
	if (pass->next)
		pass->next->at = pass->at;
	free(pass);
}

void qv_fi_pass_end(struct qv_fi_ep *ep)
{
	while (ep->passes)
		forget(ep->passes);
}

bool qv_fi_pass_known(const struct qv_fi_ep *ep, const void *context)
{
	for (const struct qv_fi_pass *pass = ep->passes; pass; pass = pass->next)
		if (&pass->xfer == context)
			return true;
	return false;
}

static void pass_done(struct qv_xfer *xfer, int status)
{
	struct qv_fi_pass *pass = container_of(xfer, struct qv_fi_pass, xfer);

	if (pass->told)
		pass->rail->flying++; /* who calls us has counted it once more */
	else
		qv_fi_pass_complete(pass->ep, pass, status);
	forget(pass);
}

void qv_fi_pass_give_up(struct qv_fi_pass *pass)
{
	pass->told = true;
	pass->rail->flying--;
	let_go(pass);
	qv_fi_pass_complete(pass->ep, pass, QV_EPEER);
}

/* A core that drops the connection of who has died says so of each operation; others keep for ever what
 * a dead process does not take. */
void qv_fi_pass_look_after(struct qv_fi_ep *ep)
{
	for (struct qv_fi_pass *pass = ep->passes; pass; pass = pass->next) {
		if (!pass->rail || pass->told)
			continue;
		if (!pass->peer && !qv_fi_peer(ep, pass->to, &pass->peer))
			qv_proto_peer_hold(pass->peer);
		if (pass->peer && qv_proto_peer_keeps(pass->peer))
			qv_fi_pass_give_up(pass);
	}
}

/* We never ask a core to cancel: it says that of what was on a connection that has closed. */
void qv_fi_pass_error(struct qv_xfer *xfer, int err)
{
	if (xfer->done == pass_done)
		container_of(xfer, struct qv_fi_pass, xfer)->err =
			err == FI_ECANCELED ? FI_ECONNABORTED : err;
}

/* The way to an application address, lock held. */
static int find_way(struct qv_fi_ep *ep, fi_addr_t addr, struct qv_fi_rail **rail, fi_addr_t *core)
{
	struct qv_fi_way way;
	int ret = ep->enabled ? qv_fi_av_reach(ep->av, addr, &way) : -FI_EOPBADSTATE;

	if (ret)
		return ret;
	*rail = &ep->rail[way.core];
	*core = way.addr;
	return 0;
}

static struct qv_fi_pass *new_pass(struct qv_fi_ep *ep, const struct qv_fi_passing *p)
{
	const bool sends = p->kind & (FI_WRITE | FI_ATOMIC);
	size_t copies = sends && p->flags & FI_INJECT ? p->len + p->compared : 0;
	struct qv_fi_pass *pass = malloc(sizeof *pass + copies);

	if (!pass)
		return NULL;
	pass->xfer.done = pass_done;
	pass->ep = ep;
	pass->to = p->to;
	pass->rail = NULL;
	pass->peer = NULL;
	pass->told = false;
	pass->context = p->context;
	pass->flags = p->kind;
	pass->err = 0;
	pass->entry = !p->quiet && (!ep->tx_selective || p->flags & FI_COMPLETION);
	pass->copied = 0;
	pass->copy_all = false;
	return pass;
}

bool qv_fi_pass_waits(const struct qv_fi_ep *ep)
{
	const struct qv_fi_pass *pass = ep->passes;

	while (pass && pass->told)
		pass = pass->next;
	return pass;
}

bool qv_fi_pass_is_under_way(const struct qv_fi_ep *ep, fi_addr_t to)
{
	const struct qv_peer *peer = to < ep->npeers ? ep->peers[to] : NULL;
	const struct qv_fi_pass *pass = ep->passes;

	/* Who is held for one that is under way may have had this address before. */
	while (pass && (pass->told || (pass->peer ? pass->peer != peer : pass->to != to)))
		pass = pass->next;
	return pass;
}

bool qv_fi_fence_is_open(struct qv_fi_ep *ep, fi_addr_t to)
{
	struct qv_peer *peer = to < ep->npeers ? ep->peers[to] : NULL;
	bool is_open = (!peer || qv_proto_peer_has_all(peer)) && !qv_fi_pass_is_under_way(ep, to);

	if (!is_open)
		qv_fi_ep_progress(ep);
	return is_open;
}

/* The cores know nothing of fences, and nothing is kept for them: the application tries again. */
static ssize_t pass_fence(struct qv_fi_ep *ep, const struct qv_fi_passing *p)
{
	struct qv_fi_passing behind = *p;
	bool is_open;

	behind.flags &= ~FI_FENCE;
	qv_fi_lock(ep->dom);
	is_open = !ep->enabled || qv_fi_fence_is_open(ep, p->to);
	qv_fi_unlock(ep->dom);
	return is_open ? qv_fi_pass(ep, &behind) : -FI_EAGAIN;
}

/* Does no core hold it? */
static bool is_ours(const struct qv_fi_rail *rail, const struct qv_fi_passing *p)
{
	return p->kind & FI_ATOMIC && rail->ep->dom->own_atomics[rail->which];
}

/* An operation on it would never end; until it is time to try again. */
static bool is_given_up(const struct qv_fi_ep *ep, const struct qv_fi_rail *rail, fi_addr_t to)
{
	struct qv_peer *peer = rail->xport.no_flush && to < ep->npeers ? ep->peers[to] : NULL;

	return peer && qv_proto_peer_want(peer) == QV_EPEER;
}

/* The core takes nothing for this peer now. It may be busy; or nobody is there, which some cores never
 * say. */
static ssize_t not_taken(struct qv_fi_ep *ep, const struct qv_fi_rail *rail, fi_addr_t to)
{
	if (rail && ep->mode->finds_nobody(ep, rail, to))
		return -(ssize_t)qv_fi_errno(QV_EPEER);
	qv_fi_ep_progress(ep);
	return -FI_EAGAIN;
}

ssize_t qv_fi_pass(struct qv_fi_ep *ep, const struct qv_fi_passing *p)
{
	struct qv_fi_rail *rail = NULL;
	struct qv_fi_pass *pass;
	bool held; /* core node and our own protocol count for themselves */
	fi_addr_t to;
	ssize_t rc;

	if (QV_UNLIKELY(p->flags & FI_FENCE))
		return pass_fence(ep, p);
	pass = new_pass(ep, p);
	if (!pass)
		return -FI_ENOMEM;
	qv_fi_lock(ep->dom);
	rc = find_way(ep, p->to, &rail, &to);
	if (!rc && is_given_up(ep, rail, p->to))
		rc = -(ssize_t)qv_fi_errno(QV_EPEER);
	remember(pass);
	if (!rc) {
		rail->used = true;
		pass->copy_all = p->len > rail->xport.inject_max || p->flags & FI_DELIVERY_COMPLETE;
		held = !rail->node && !is_ours(rail, p);
		pass->rail = held ? rail : NULL;
		rail->flying++; /* in peer mode it may be done, and freed, before give returns */
		rc = p->give(rail, to, pass, p);
		rail->flying -= rc || !held;
	}
	if (rc)
		forget(pass);
	if (rc == -FI_EAGAIN)
		rc = not_taken(ep, rail, p->to);
	qv_fi_unlock(ep->dom);
	return rc;
}

ssize_t qv_fi_pass_inject(struct qv_fi_ep *ep, const struct qv_fi_passing *p,
			  ssize_t (*inject)(struct qv_fi_rail *rail, fi_addr_t to, const void *op))
{
	const struct qv_fi_pass done = {.flags = p->kind};
	struct qv_fi_passing delivered = *p;
	struct qv_fi_rail *rail;
	bool fits = false;
	fi_addr_t to;
	ssize_t rc;

	if (p->len > ep->dom->inject)
		return -FI_EINVAL;
	/* What a core's inject call is counted for may not have been done yet. */
	if (qv_fi_memory_flags(ep) & FI_DELIVERY_COMPLETE) {
		delivered.flags |= FI_DELIVERY_COMPLETE;
		return qv_fi_pass(ep, &delivered);
	}
	qv_fi_lock(ep->dom);
	rc = find_way(ep, p->to, &rail, &to);
	fits = !rc && p->len <= rail->xport.inject_max && !is_ours(rail, p);
	if (fits) {
		rail->used = true;
		rc = inject(rail, to, p->op);
		if (!rc)
			qv_fi_pass_complete(ep, &done, QV_OK);
		else if (rc == -FI_EAGAIN)
			rc = not_taken(ep, rail, p->to);
	}
	qv_fi_unlock(ep->dom);
	return rc || fits ? rc : qv_fi_pass(ep, p);
}

void *qv_fi_pass_copy(struct qv_fi_pass *pass, const void *from, size_t len)
{
	char *to = pass->copy + pass->copied;

	memcpy(to, from, len);
	pass->copied += len;
	return to;
}
