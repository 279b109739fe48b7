/* SPDX-License-Identifier: BSD-2-Clause */
/* hints.c - what we offer over a core, and whether that is what the application wants. */
#include "fabric_glue/cores/core.h"

#define PROTOCOL 0x80515621u /* FI_PROV_SPECIFIC, "QV!" */

#define MSG_CAPS  (FI_MSG | FI_TAGGED)
#define ONE_SIDED (FI_RMA | FI_ATOMIC)
#define PRIMARY   (MSG_CAPS | ONE_SIDED | FI_COLLECTIVE)
#define RMA_DIRS  (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define COMM_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define BASE_CAPS                                                                   \
	(MSG_CAPS | FI_COLLECTIVE | FI_SEND | FI_RECV | FI_MULTI_RECV | FI_SOURCE | \
	 FI_DIRECTED_RECV | FI_FENCE | COMM_CAPS)
/* Reported without being asked for: they cost nothing here. */
#define FREE_CAPS (FI_MULTI_RECV | FI_SOURCE | COMM_CAPS)
#define ASKED_CAPS                                                                           \
	(MSG_CAPS | FI_COLLECTIVE | QV_FI_ONE_SIDED | FI_DIRECTED_RECV | FI_SEND | FI_RECV | \
	 RMA_DIRS | FI_FENCE)
#define TX_CAPS \
	(MSG_CAPS | FI_COLLECTIVE | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE | FI_FENCE)
#define RX_CAPS                                                                                    \
	(MSG_CAPS | FI_COLLECTIVE | QV_FI_ONE_SIDED | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | \
	 FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV)
#define TX_ONLY (FI_SEND | FI_READ | FI_WRITE | FI_FENCE)
#define RX_ONLY                                                                                  \
	(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT | FI_MULTI_RECV | FI_SOURCE | \
	 FI_DIRECTED_RECV)

#define TX_OP_FLAGS                                                              \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV)

#define QUEUES       ((size_t)1 << 16)     /* completion queues and counters: our own objects */
#define ALL_TAG_BITS 0xaaaaaaaaaaaaaaaaULL /* every bit of the tag counts */
/* FI_PROGRESS_CONTROL_UNIFIED of 2.x: what manual progress means here. */
#define UNIFIED_CONTROL 3

/* The offer. */

static void offer_domain(struct fi_domain_attr *d, bool rma)
{
	d->threading = FI_THREAD_SAFE;
	d->control_progress = d->data_progress = FI_PROGRESS_MANUAL;
	d->resource_mgmt = FI_RM_ENABLED;
	d->av_type = FI_AV_UNSPEC;
	if (!rma)
		d->mr_mode = 0;
	d->cq_data_size = sizeof(uint64_t);
	d->cq_cnt = d->cntr_cnt = QUEUES;
	d->tx_ctx_cnt = d->rx_ctx_cnt = d->ep_cnt;
	d->max_ep_tx_ctx = d->max_ep_rx_ctx = 1;
	d->max_ep_stx_ctx = d->max_ep_srx_ctx = 0;
	d->caps = COMM_CAPS;
	d->mode = 0;
	d->max_err_data = 0;
	d->auth_key_size = 0;
}

/* Peer mode: the core's protocol, so its limits. */
static void offer_peer(struct fi_info *info, size_t inject)
{
	info->caps &= ~FI_FENCE;
	info->tx_attr->caps &= ~FI_FENCE;
	info->tx_attr->op_flags &= ~(uint64_t)FI_MATCH_COMPLETE;
	info->tx_attr->inject_size = inject;
	info->rx_attr->total_buffered_recv = 0;
}

void qv_fi_offer(struct fi_info *info)
{
	size_t inject = info->tx_attr->inject_size;
	uint64_t rma = info->caps & ONE_SIDED ? info->caps & (QV_FI_ONE_SIDED | RMA_DIRS) : 0;
	uint64_t order = qv_fi_orders(rma);

	order = FI_ORDER_SAS | (order & info->tx_attr->msg_order & info->rx_attr->msg_order);
	info->caps = BASE_CAPS | rma;
	info->mode = 0;

	info->tx_attr->caps = info->caps & TX_CAPS;
	info->tx_attr->mode = 0;
	info->tx_attr->op_flags = TX_OP_FLAGS;
	info->tx_attr->msg_order = order;
	info->tx_attr->comp_order = FI_ORDER_NONE;
	info->tx_attr->inject_size = QV_FI_INJECT_SIZE;
	info->tx_attr->size = QV_FI_TX_SIZE;
	info->tx_attr->iov_limit = QV_FI_IOV_LIMIT;
	if (!rma)
		info->tx_attr->rma_iov_limit = 0;

	info->rx_attr->caps = info->caps & RX_CAPS;
	info->rx_attr->mode = 0;
	info->rx_attr->op_flags = RX_OP_FLAGS;
	info->rx_attr->msg_order = order;
	info->rx_attr->comp_order = FI_ORDER_NONE;
	info->rx_attr->total_buffered_recv = qv_fi_params.memory;
	info->rx_attr->size = QV_FI_RX_SIZE;
	info->rx_attr->iov_limit = QV_FI_IOV_LIMIT;

	info->ep_attr->protocol = PROTOCOL;
	info->ep_attr->protocol_version = 1;
	info->ep_attr->msg_prefix_size = 0;
	info->ep_attr->mem_tag_format = ALL_TAG_BITS;
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	info->ep_attr->auth_key_size = 0;
	offer_domain(info->domain_attr, rma);
	if (qv_fi_params.peer)
		offer_peer(info, inject);
}

/* Does it fit. */

static bool refuse(const char *what)
{
	qv_fi_refused("%s", what);
	return false;
}

static bool refuse_bits(const char *what, uint64_t asked, uint64_t offered)
{
	qv_fi_refused("%s 0x%llx, of which 0x%llx is not offered", what, (unsigned long long)asked,
		      (unsigned long long)(asked & ~offered));
	return false;
}

static bool refuse_size(const char *what, size_t asked, size_t offered)
{
	qv_fi_refused("%s %zu, at most %zu", what, asked, offered);
	return false;
}

#define WITHIN_BITS(field, hint, offer)                                         \
	((hint)->field & ~(offer)->field                                        \
		 ? refuse_bits(#hint "." #field, (hint)->field, (offer)->field) \
		 : true)
#define WITHIN_SIZE(field, hint, offer)                                         \
	((hint)->field > (offer)->field                                         \
		 ? refuse_size(#hint "." #field, (hint)->field, (offer)->field) \
		 : true)

static bool tx_fits(const struct fi_tx_attr *offer, const struct fi_tx_attr *tx_attr)
{
	/* A capability of the receive side says nothing here, as in the info as a whole. */
	uint64_t caps = tx_attr->caps & ~(RX_ONLY | COMM_CAPS);

	return (caps & ~offer->caps ? refuse_bits("tx_attr.caps", caps, offer->caps) : true) &&
	       WITHIN_BITS(op_flags, tx_attr, offer) && WITHIN_BITS(msg_order, tx_attr, offer) &&
	       WITHIN_BITS(comp_order, tx_attr, offer) &&
	       WITHIN_SIZE(inject_size, tx_attr, offer) && WITHIN_SIZE(size, tx_attr, offer) &&
	       WITHIN_SIZE(iov_limit, tx_attr, offer) && WITHIN_SIZE(rma_iov_limit, tx_attr, offer);
}

static bool rx_fits(const struct fi_rx_attr *offer, const struct fi_rx_attr *rx_attr)
{
	uint64_t caps = rx_attr->caps & ~(TX_ONLY | COMM_CAPS);

	return (caps & ~offer->caps ? refuse_bits("rx_attr.caps", caps, offer->caps) : true) &&
	       WITHIN_BITS(op_flags, rx_attr, offer) && WITHIN_BITS(msg_order, rx_attr, offer) &&
	       WITHIN_BITS(comp_order, rx_attr, offer) && WITHIN_SIZE(size, rx_attr, offer) &&
	       WITHIN_SIZE(iov_limit, rx_attr, offer);
}

static bool ep_fits(const struct fi_ep_attr *offer, const struct fi_ep_attr *ep_attr, bool rma)
{
	if (ep_attr->type != FI_EP_UNSPEC && ep_attr->type != FI_EP_RDM)
		return refuse("ep_attr.type, only FI_EP_RDM");
	if (ep_attr->protocol != FI_PROTO_UNSPEC && ep_attr->protocol != offer->protocol)
		return refuse("ep_attr.protocol");
	if (ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT || ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		return refuse("shared contexts");
	if (ep_attr->auth_key_size)
		return refuse("ep_attr.auth_key_size, there are no authorization keys");
	if (rma && !(WITHIN_SIZE(max_order_raw_size, ep_attr, offer) &&
		     WITHIN_SIZE(max_order_war_size, ep_attr, offer) &&
		     WITHIN_SIZE(max_order_waw_size, ep_attr, offer)))
		return false;
	if ((rma || qv_fi_params.peer) && !WITHIN_SIZE(max_msg_size, ep_attr, offer))
		return false;
	return WITHIN_SIZE(protocol_version, ep_attr, offer) &&
	       WITHIN_SIZE(tx_ctx_cnt, ep_attr, offer) && WITHIN_SIZE(rx_ctx_cnt, ep_attr, offer);
}

/* Automatic progress, a thread of ours, is for those who ask for it. */
static bool progress_fits(enum fi_progress want)
{
	return want == FI_PROGRESS_UNSPEC || want == FI_PROGRESS_MANUAL ||
	       want == FI_PROGRESS_AUTO || (int)want == UNIFIED_CONTROL;
}

static bool domain_fits(const struct fi_domain_attr *offer,
			const struct fi_domain_attr *domain_attr, bool rma)
{
	const unsigned threading = domain_attr->threading, av_type = domain_attr->av_type;

	if (!progress_fits(domain_attr->control_progress) ||
	    !progress_fits(domain_attr->data_progress))
		return refuse("kind of progress");
	if (threading > FI_THREAD_ENDPOINT)
		return refuse("domain_attr.threading");
	if (av_type != FI_AV_UNSPEC && av_type != FI_AV_MAP && av_type != FI_AV_TABLE)
		return refuse("domain_attr.av_type");
	if (domain_attr->resource_mgmt > FI_RM_ENABLED)
		return refuse("domain_attr.resource_mgmt");
	if (domain_attr->auth_key_size)
		return refuse("domain_attr.auth_key_size, there are no authorization keys");
	if (rma && domain_attr->mr_mode & FI_MR_BASIC && !(offer->mr_mode & FI_MR_VIRT_ADDR))
		return refuse("FI_MR_BASIC, the core has no virtual addresses");
	if (rma && !(WITHIN_SIZE(mr_iov_limit, domain_attr, offer) &&
		     WITHIN_SIZE(mr_cnt, domain_attr, offer)))
		return false;
	return WITHIN_SIZE(cq_data_size, domain_attr, offer) &&
	       WITHIN_SIZE(cntr_cnt, domain_attr, offer) &&
	       WITHIN_SIZE(max_err_data, domain_attr, offer) &&
	       WITHIN_BITS(caps, domain_attr, offer);
}

/* Peer mode: the messages of collectives have a bit of their tags that marks them. It is the
 * application's unless it asks for collectives. */
static bool tags_fit(const struct fi_info *hints)
{
	return qv_fi_params.peer && hints->caps & FI_COLLECTIVE && hints->ep_attr &&
			       hints->ep_attr->mem_tag_format >> 63
		       ? refuse("ep_attr.mem_tag_format of 64 bits, of which FI_COLLECTIVE takes one "
				"in peer mode")
		       : true;
}

static void narrow_tags(struct fi_info *info, uint64_t asked)
{
	if (!qv_fi_params.peer)
		return;
	if (asked & FI_COLLECTIVE)
		info->ep_attr->mem_tag_format = ALL_TAG_BITS >> 1;
	else
		info->caps &= ~FI_COLLECTIVE;
}

bool qv_fi_offer_fits(const struct fi_info *offer, const struct fi_info *hints)
{
	bool rma;

	if (!hints)
		return true;
	rma = hints->caps & ONE_SIDED;
	if (hints->caps & FI_TRIGGER)
		return refuse("FI_TRIGGER, triggered and deferred operations are not offered");
	if (hints->caps & ~offer->caps)
		return refuse_bits("caps", hints->caps, offer->caps);
	if (hints->fabric_attr && hints->fabric_attr->prov_version > qv_fi_prov.version)
		return refuse("fabric_attr.prov_version");
	return tags_fit(hints) &&
	       (!hints->ep_attr || ep_fits(offer->ep_attr, hints->ep_attr, rma)) &&
	       (!hints->domain_attr || domain_fits(offer->domain_attr, hints->domain_attr, rma)) &&
	       (!hints->tx_attr || tx_fits(offer->tx_attr, hints->tx_attr)) &&
	       (!hints->rx_attr || rx_fits(offer->rx_attr, hints->rx_attr));
}

/* The answer. */

static uint64_t narrow_caps(uint64_t offered, uint64_t asked)
{
	uint64_t caps = asked & ASKED_CAPS;

	/* Who names only what goes with any kind of operation leaves the choice of these to us. */
	if (!(asked & PRIMARY))
		return offered;
	if (caps & (MSG_CAPS | FI_COLLECTIVE) && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & ONE_SIDED && !(caps & RMA_DIRS))
		caps |= offered & RMA_DIRS;
	return caps | FREE_CAPS;
}

static void narrow_domain(struct fi_domain_attr *d, const struct fi_domain_attr *hint)
{
	if (hint->threading)
		d->threading = hint->threading;
	if (hint->control_progress)
		d->control_progress = hint->control_progress;
	if (hint->data_progress)
		d->data_progress = hint->data_progress;
	if (hint->av_type)
		d->av_type = hint->av_type;
}

/* In the words that the application speaks: before 1.5 there were two modes only. */
static void narrow_mr_mode(struct fi_info *info, int hint, uint32_t version)
{
	int *mode = &info->domain_attr->mr_mode;

	if (!(info->caps & ONE_SIDED))
		*mode = 0;
	if (hint & (FI_MR_BASIC | FI_MR_SCALABLE))
		*mode = hint & (FI_MR_BASIC | FI_MR_SCALABLE);
	else if (FI_VERSION_LT(version, FI_VERSION(1, 5)))
		*mode = *mode ? FI_MR_BASIC : FI_MR_SCALABLE;
}

void qv_fi_offer_narrow(struct fi_info *info, const struct fi_info *hints, uint32_t version)
{
	const struct fi_tx_attr *tx = hints ? hints->tx_attr : NULL;
	const struct fi_rx_attr *rx = hints ? hints->rx_attr : NULL;

	info->caps = narrow_caps(info->caps, hints ? hints->caps : 0);
	narrow_tags(info, hints ? hints->caps : 0);
	info->tx_attr->caps = info->caps & TX_CAPS;
	info->rx_attr->caps = info->caps & RX_CAPS;
	if (!(info->caps & ONE_SIDED)) {
		info->tx_attr->msg_order = info->rx_attr->msg_order = FI_ORDER_SAS;
		if (!qv_fi_params.peer)
			info->ep_attr->max_msg_size = SIZE_MAX; /* we send it in parts */
	}
	/* Default flags of operations are the application's choice, none without it. */
	info->tx_attr->op_flags = tx ? tx->op_flags : 0;
	info->rx_attr->op_flags = rx ? rx->op_flags : 0;
	if (tx && tx->size)
		info->tx_attr->size = tx->size;
	if (rx && rx->size)
		info->rx_attr->size = rx->size;
	if (rx && rx->total_buffered_recv > info->rx_attr->total_buffered_recv)
		info->rx_attr->total_buffered_recv = rx->total_buffered_recv; /* no hard limit */
	if (hints && hints->domain_attr)
		narrow_domain(info->domain_attr, hints->domain_attr);
	narrow_mr_mode(info, hints && hints->domain_attr ? hints->domain_attr->mr_mode : 0,
		       version);
}
