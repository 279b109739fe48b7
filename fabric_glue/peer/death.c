/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * death.c - peers that end, in peer mode. The core has the messages, and may never say that one
 * will not end. So who has a send or the rest of a long message under way is looked after: ten times
 * a second, whether anybody is at its address.
 */
#include "srx.h"

/* What the dead sent may still be on its way at the first time that nobody is there. */
void qv_fi_srx_look(struct qv_fi_srx *srx, fi_addr_t core)
{
	struct qv_fi_known *peer = qv_fi_srx_known(srx, core);
	uint64_t silent = 0;
	enum qv_presence presence;
	uint8_t step = 0;
	const bool was = peer && peer->gone == QV_FI_GONE;

	if (!peer || peer->looked == srx->ticks)
		return;
	peer->looked = srx->ticks;
	presence = qv_fi_presence(&srx->ep->rail[QV_FI_MAIN].xport, core, &silent);
	if (presence == QV_UNSURE)
		return;
	if (presence == QV_GONE ||
	    (presence == QV_SILENT && qv_fi_params.death && silent >= qv_fi_params.death))
		step = QV_FI_GONE / 2;
	else if (presence == QV_ABSENT)
		step = 1;
	else
		peer->gone = 0;
	peer->gone = peer->gone + step < QV_FI_GONE ? peer->gone + step : QV_FI_GONE;
	srx->ngone += (peer->gone == QV_FI_GONE) - was;
}

bool qv_fi_srx_is_gone(const struct qv_fi_srx *srx, fi_addr_t core)
{
	return core < srx->nknown && srx->known[core].gone == QV_FI_GONE;
}

bool qv_fi_srx_finds_nobody(struct qv_fi_ep *ep, const struct qv_fi_rail *rail, fi_addr_t index)
{
	const fi_addr_t core = qv_fi_av_entry(ep->av, index)->way.addr;

	(void)rail;
	ep->srx->full = core;
	return qv_fi_srx_is_gone(ep->srx, core);
}

/* A receive whose message the core has begun. */
static void look_after_rx(struct qv_fi_rx *rx)
{
	struct qv_fi_srx *srx = qv_fi_rx_srx(rx);

	if (!(rx->how & QV_RX_LONG))
		return;
	qv_fi_srx_look(srx, rx->entry.addr);
	if (!qv_fi_srx_is_gone(srx, rx->entry.addr))
		return;
	qv_fi_rx_done(rx, &(struct qv_comp){.status = QV_EPEER,
					    .tag = rx->entry.tag,
					    .user = qv_fi_srx_user(srx, rx->entry.addr)});
	/* The core still has it, and perhaps for ever. */
	if (rx->how & QV_RX_PART && --rx->whole->parts == 0 && rx->whole->ended)
		qv_fi_rx_release(rx->whole);
	rx->how = (rx->how & QV_RX_BOUNCED) | QV_RX_DISCARDED;
}

static void look_after_tx(struct qv_fi_srx *srx, struct qv_fi_tx *tx)
{
	if (!tx->flying || tx->told)
		return;
	qv_fi_srx_look(srx, tx->to);
	if (!qv_fi_srx_is_gone(srx, tx->to))
		return;
	tx->told = true;
	qv_fi_tx_tell(srx, tx, FI_ECONNABORTED);
}

/* An operation on the memory of another, which the core has taken. */
static void look_after_pass(struct qv_fi_srx *srx, struct qv_fi_pass *pass)
{
	const struct qv_fi_av_entry *entry = qv_fi_av_entry(srx->ep->av, pass->to);

	if (!pass->rail || pass->told || !entry)
		return;
	qv_fi_srx_look(srx, entry->way.addr);
	if (qv_fi_srx_is_gone(srx, entry->way.addr))
		qv_fi_pass_give_up(pass);
}

void qv_fi_srx_tick(struct qv_fi_srx *srx)
{
	srx->ticks++;
	if (srx->full != FI_ADDR_NOTAVAIL)
		qv_fi_srx_look(srx, srx->full);
	srx->full = FI_ADDR_NOTAVAIL;
	for (size_t i = 0; i < srx->nknown && srx->ngone; i++)
		if (srx->known[i].gone == QV_FI_GONE) /* somebody may be there again */
			qv_fi_srx_look(srx, i);
	for (struct qv_fi_pass *pass = srx->ep->passes; pass; pass = pass->next)
		look_after_pass(srx, pass);
	if (srx->own)
		qv_fi_srx_coll_tick(srx);
	if (srx->nlong || srx->flying)
		qv_fi_srx_each(srx, look_after_rx, look_after_tx);
}
