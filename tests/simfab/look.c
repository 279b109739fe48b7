/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.c - a core moves on when its queue is looked at: what it has in hand goes out, what has
 * arrived goes into the buffers that are posted, reads are done.
 */
#include "fab.h"

#include <string.h>

static void report(struct sf_cep *ep, void *context, uint64_t flags, int err)
{
	const struct sf_comp c = {
		.e = {.op_context = context, .flags = flags}, .from = FI_ADDR_NOTAVAIL, .err = err};

	sf_cq_add(ep->cq, &c);
}

/* Nobody at the other end will take it: that has ended, or somebody else is there now. */
static bool is_lost(const struct sf_conn *c, const struct sf_cep *ep)
{
	const struct sf_cep *other = c->ep[!sf_net_side(c, ep)], *now;

	if (sf_net_dead(c))
		return true;
	now = sf_addr_who(other->number);
	return other->closed && now != other && !now->closed;
}

/* Sends. */

/* True: it is done with. */
static bool send_one(struct sf_cep *ep, struct sf_tx *tx)
{
	struct sf_conn *c = tx->conn;
	unsigned side = sf_net_side(c, ep);

	if (is_lost(c, ep)) {
		if (!tx->inject)
			report(ep, tx->context, FI_SEND | FI_MSG, FI_ECONNRESET);
		return true;
	}
	if (tx->cuts != c->cuts && !ep->flavor->shared) {
		if (qv_random_percent(&sf.rnd_net,
				      50)) { /* it goes out when the connection is back */
			tx->cuts = c->cuts;
		} else {
			if (!tx->inject)
				report(ep, tx->context, FI_SEND | FI_MSG, FI_ECONNRESET);
			return true;
		}
	}
	if (c->stuck[side] == ep->looks)
		return false;
	if (sf.now < tx->at || sf.now < c->up || !sf_net_has_room(c, ep)) {
		c->stuck[side] = ep->looks;
		return false;
	}
	sf_net_launch(c, ep, tx);
	if (!tx->inject)
		report(ep, tx->context, FI_SEND | FI_MSG, 0);
	return true;
}

static void send_all(struct sf_cep *ep)
{
	struct sf_tx **at = &ep->txs, *tx;

	while ((tx = *at)) {
		if (!send_one(ep, tx)) {
			at = &tx->next;
			continue;
		}
		*at = tx->next;
		ep->ntx--;
		sf_free(tx);
	}
	ep->txs_tail = at;
}

/* Arrivals. */

/* What this endpoint calls the sender. Shared memory takes one that it does not know for the first
 * that it knows. */
static fi_addr_t index_of(struct sf_cep *ep, const struct sf_packet *pkt)
{
	fi_addr_t *index = &pkt->conn->index[sf_net_side(pkt->conn, ep)];
	uint32_t number = pkt->from->number;

	if (*index < ep->av->count && ep->av->numbers[*index] == number)
		return *index;
	for (*index = 0; *index < ep->av->count; ++*index)
		if (ep->av->numbers[*index] == number)
			return *index;
	return ep->flavor->shared && ep->av->count ? 0 : FI_ADDR_NOTAVAIL;
}

static void receive_all(struct sf_cep *ep)
{
	struct sf_packet *pkt;

	while (ep->pcount && (pkt = sf_net_arrived(ep))) {
		const struct sf_rxbuf *b = &ep->posted[ep->phead];
		struct sf_comp c = {.e = {.op_context = b->context,
					  .flags = FI_RECV | FI_MSG,
					  .len = pkt->len,
					  .buf = b->buf},
				    .from = index_of(ep, pkt)};

		if (pkt->len > b->len)
			sf_broken("a packet of %zu bytes for a buffer of %zu", pkt->len, b->len);
		if (pkt->has_data) {
			c.e.flags |= FI_REMOTE_CQ_DATA;
			c.e.data = pkt->data;
		}
		memcpy(b->buf, pkt->body, pkt->len);
		ep->phead = (ep->phead + 1) % ep->pcap;
		ep->pcount--;
		sf_cq_add(ep->cq, &c);
		sf_trace(ep->uid << 32 ^ pkt->from->uid, pkt->len);
		sf_net_take(ep, pkt);
		sf.carried++;
	}
}

/* Reads. */

static int read_now(const struct sf_cep *ep, const struct sf_read *r)
{
	const struct sf_cep *other = r->conn->ep[!sf_net_side(r->conn, ep)];
	const struct sf_mr *mr = other->dom->mrs;
	uint64_t at;
	size_t len = 0;

	while (mr && mr->fid.key != r->key)
		mr = mr->next;
	for (size_t i = 0; i < r->cnt; i++)
		len += r->iov[i].iov_len;
	if (!mr || r->addr < mr->base || r->addr - mr->base + len > mr->len)
		return FI_EIO;
	at = r->addr - mr->base;
	for (size_t i = 0; i < r->cnt; at += r->iov[i++].iov_len)
		memcpy(r->iov[i].iov_base, mr->buf + at, r->iov[i].iov_len);
	return 0;
}

static void read_all(struct sf_cep *ep)
{
	struct sf_read **at = &ep->reads, *r;

	while ((r = *at)) {
		int err = 0;

		if (is_lost(r->conn, ep) || (r->cuts != r->conn->cuts && !ep->flavor->shared)) {
			err = FI_ECONNRESET;
		} else if (sf.now < r->at || sf.now < r->conn->up ||
			   r->conn->ep[!sf_net_side(r->conn, ep)]->closed) {
			at = &r->next;
			continue;
		} else {
			err = read_now(ep, r);
		}
		*at = r->next;
		report(ep, r->context, FI_READ | FI_RMA, err);
		sf_free(r);
		sf.carried++;
	}
}

void sf_cep_progress(struct sf_cep *ep)
{
	ep->looks++;
	if (ep->txs)
		send_all(ep);
	if (ep->nheap)
		receive_all(ep);
	if (ep->reads)
		read_all(ep);
}
