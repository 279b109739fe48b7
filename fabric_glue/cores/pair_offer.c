/* SPDX-License-Identifier: BSD-2-Clause */
/* pair_offer.c - what two cores can do together. */
#include "core.h"
#include "pair.h"

#define ONE_SIDED_CAPS (QV_FI_ONE_SIDED | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* An application has one key and one address for a piece of memory, whatever core a peer takes.
 * Where the main core chooses the key, the local one takes that. */
static bool agree(const struct fi_info *main, const struct fi_info *local)
{
	const int main_modes = main->domain_attr->mr_mode, modes = local->domain_attr->mr_mode;

	return main->caps & local->caps & FI_RMA && !(modes & FI_MR_PROV_KEY) &&
	       !((main_modes | modes) & FI_MR_ENDPOINT) &&
	       !((main_modes ^ modes) & FI_MR_VIRT_ADDR);
}

int qv_fi_pair_local(const char *core, const struct fi_info *main, uint64_t caps,
		     struct fi_info **info)
{
	struct fi_info *hints = qv_fi_core_hints(core, NULL), *list;
	int ret;

	if (hints && caps) {
		hints->domain_attr->mr_mode = main->domain_attr->mr_mode;
		hints->tx_attr->msg_order |= main->tx_attr->msg_order & qv_fi_orders(caps);
		hints->rx_attr->msg_order |= main->rx_attr->msg_order & qv_fi_orders(caps);
	}
	if (hints)
		hints->caps = (hints->caps & ~FI_ATOMIC) | caps;
	ret = qv_fi_core_query(core, true, NULL, NULL, 0, hints, caps, &list);
	if (ret)
		return ret;
	if (list->next) {
		qv_fi_host.freeinfo(list->next);
		list->next = NULL;
	}
	if (caps && !agree(main, list)) {
		qv_fi_host.freeinfo(list);
		return -FI_ENODATA;
	}
	*info = list;
	return 0;
}

#define AT_MOST(field)                       \
	do {                                 \
		if (a->field > b->field)     \
			a->field = b->field; \
	} while (0)

int qv_fi_pair_offer(struct fi_info *a, const struct fi_info *b, bool one_sided)
{
	a->caps &= one_sided ? ~ONE_SIDED_CAPS | b->caps : ~ONE_SIDED_CAPS;
	a->tx_attr->msg_order &= b->tx_attr->msg_order;
	a->rx_attr->msg_order &= b->rx_attr->msg_order;
	AT_MOST(tx_attr->rma_iov_limit);
	AT_MOST(ep_attr->max_msg_size);
	AT_MOST(ep_attr->max_order_raw_size);
	AT_MOST(ep_attr->max_order_war_size);
	AT_MOST(ep_attr->max_order_waw_size);
	AT_MOST(domain_attr->mr_iov_limit);
	AT_MOST(domain_attr->mr_key_size);
	AT_MOST(domain_attr->mr_cnt);
	AT_MOST(domain_attr->ep_cnt);
	return qv_fi_pair_wrap(a);
}
