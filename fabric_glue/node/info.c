/* SPDX-License-Identifier: BSD-2-Clause */
/* info.c - what the core `node` offers, and the spelling of its addresses. */
#include "node.h"

#include "engine/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CAPS                                                                                  \
	(FI_MSG | FI_SEND | FI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_RMA | \
	 FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT)
/* One-sided operations are done in the order of the ring, whose packets they fit in. */
#define ORDERS                                                                       \
	(FI_ORDER_SAS | FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW |  \
	 FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | \
	 FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

bool qv_fi_is_node(const char *core)
{
	return !strcasecmp(core, QV_FI_NODE_NAME);
}

size_t qv_fi_node_print(char *text, uint64_t name)
{
	return (size_t)snprintf(text, QV_FI_NODE_TEXT, QV_FI_NODE_SCHEME "%020llu",
				(unsigned long long)name) +
	       1;
}

bool qv_fi_node_parse(const char *text, uint64_t *name)
{
	char again[QV_FI_NODE_TEXT];

	if (strncmp(text, QV_FI_NODE_SCHEME, sizeof QV_FI_NODE_SCHEME - 1))
		return false;
	*name = strtoull(text + sizeof QV_FI_NODE_SCHEME - 1, NULL, 10);
	qv_fi_node_print(again, *name);
	return !strcmp(text, again); /* there is one spelling */
}

uint64_t qv_fi_node_of_service(const char *node, const char *service)
{
	const char *text = service ? service : node;

	return qv_fnv(QV_FNV_START, text, strlen(text)) | 1;
}

/* mr_mode: keys are the application's; whether memory is named by its address, too. */
static bool fill(struct fi_info *info, uint64_t caps, int mr_mode)
{
	const size_t packet = 8192;

	info->caps = caps;
	info->addr_format = FI_ADDR_STR;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = SIZE_MAX;
	info->tx_attr->caps = info->rx_attr->caps = caps;
	info->tx_attr->msg_order = info->rx_attr->msg_order = ORDERS;
	info->ep_attr->max_order_raw_size = info->ep_attr->max_order_war_size =
		info->ep_attr->max_order_waw_size = QV_NODE_PART;
	info->tx_attr->inject_size = packet;
	info->tx_attr->size = info->rx_attr->size = 1024;
	info->tx_attr->iov_limit = info->rx_attr->iov_limit = 4;
	info->tx_attr->rma_iov_limit = QV_SPANS;
	info->domain_attr->mr_mode = mr_mode & FI_MR_VIRT_ADDR;
	info->domain_attr->threading = FI_THREAD_DOMAIN;
	info->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->domain_attr->cq_data_size = sizeof(uint64_t);
	info->domain_attr->ep_cnt = info->domain_attr->cq_cnt = 4096;
	info->domain_attr->mr_cnt = 65536;
	info->domain_attr->mr_iov_limit = QV_SPANS;
	info->domain_attr->mr_key_size = sizeof(uint64_t);
	return (info->fabric_attr->prov_name = strdup(QV_FI_NODE_NAME)) &&
	       (info->fabric_attr->name = strdup(QV_FI_NODE_NAME)) &&
	       (info->domain_attr->name = strdup(QV_FI_NODE_NAME));
}

static bool is_ours(const char *addr, size_t len)
{
	uint64_t name;

	return !addr || (strnlen(addr, len) < len && qv_fi_node_parse(addr, &name));
}

static bool is_asked(const struct fi_info *hints)
{
	return !(hints->caps & ~CAPS) && (!hints->ep_attr || hints->ep_attr->type <= FI_EP_RDM) &&
	       (!hints->addr_format || hints->addr_format == FI_ADDR_STR) &&
	       is_ours(hints->src_addr, hints->src_addrlen) &&
	       is_ours(hints->dest_addr, hints->dest_addrlen);
}

static bool put_address(void **addr, size_t *len, uint64_t name)
{
	char text[QV_FI_NODE_TEXT];

	*len = qv_fi_node_print(text, name);
	*addr = strdup(text);
	return *addr;
}

/* As the hints have it, except where a service names one. False: no memory. */
static bool fill_addresses(struct fi_info *info, const char *node, const char *service,
			   uint64_t flags, const struct fi_info *hints)
{
	const bool source = flags & FI_SOURCE;
	uint64_t here = 0, there = 0;

	if (hints && hints->src_addr)
		qv_fi_node_parse(hints->src_addr, &here);
	if (hints && hints->dest_addr)
		qv_fi_node_parse(hints->dest_addr, &there);
	if (source) /* a host alone is no place to listen at */
		here = service ? qv_fi_node_of_service(node, service) - !node : 0;
	else if (node || service)
		there = qv_fi_node_of_service(node, service);
	return put_address(&info->src_addr, &info->src_addrlen, here) &&
	       (!there || put_address(&info->dest_addr, &info->dest_addrlen, there));
}

int qv_fi_node_getinfo(const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info;

	*list = NULL;
	if (hints && !is_asked(hints))
		return -FI_ENODATA;
	info = qv_fi_host.dupinfo(NULL);
	if (!info)
		return -FI_ENOMEM;
	if (!fill(info, hints && hints->caps ? CAPS & ~(QV_FI_ONE_SIDED & ~hints->caps) : CAPS,
		  hints && hints->domain_attr ? hints->domain_attr->mr_mode : 0) ||
	    !fill_addresses(info, node, service, flags, hints)) {
		qv_fi_host.freeinfo(info);
		return -FI_ENOMEM;
	}
	*list = info;
	return 0;
}
