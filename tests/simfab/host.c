/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.c - libfabric itself, as far as the provider calls it: the cores that there are, infos,
 * settings, the log.
 */
#include "fab.h"

#include "fabric_glue/data.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fabric_glue/objects/live.h"
#include "fabric_glue/provider.h"

#define MSG_CAPS (FI_MSG | FI_SOURCE | FI_SEND | FI_RECV)
#define RMA_CAPS (FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static const struct sf_flavor flavors[] = {
	{"tcp", MSG_CAPS, FI_SOCKADDR_IN, 128, false, true, 64},
	{"net", MSG_CAPS | RMA_CAPS, FI_SOCKADDR_IN, 128, false, true, 64},
	{"tcp;ofi_rxm", MSG_CAPS | RMA_CAPS, FI_SOCKADDR_IN, 16320, false, false, 128},
	{"shm", MSG_CAPS | RMA_CAPS, FI_ADDR_STR, 4096, true, false, 256},
	{"ofi_rxm", 0, 0, 0, false, false, 0}, /* a name only */
};

const struct sf_flavor *sf_flavor_of(const char *name)
{
	for (size_t i = 0; i < sizeof flavors / sizeof *flavors; i++)
		if (!strcasecmp(flavors[i].name, name))
			return &flavors[i];
	return NULL;
}

/* Infos. */

static void *twin(const void *p, size_t len, bool *ok)
{
	void *copy;

	if (!p || !len)
		return NULL;
	copy = malloc(len);
	if (!copy) {
		*ok = false;
		return NULL;
	}
	return memcpy(copy, p, len);
}

static char *twin_text(const char *text, bool *ok)
{
	return twin(text, text ? strlen(text) + 1 : 0, ok);
}

static void freeinfo(struct fi_info *info)
{
	struct fi_info *next;

	for (; info; info = next) {
		next = info->next;
		free(info->src_addr);
		free(info->dest_addr);
		free(info->tx_attr);
		free(info->rx_attr);
		free(info->ep_attr);
		if (info->domain_attr)
			free(info->domain_attr->name);
		free(info->domain_attr);
		if (info->fabric_attr) {
			free(info->fabric_attr->name);
			free(info->fabric_attr->prov_name);
		}
		free(info->fabric_attr);
		free(info);
	}
}

static struct fi_info *dupinfo(const struct fi_info *from)
{
	static const struct fi_tx_attr tx;
	static const struct fi_rx_attr rx;
	static const struct fi_ep_attr ep;
	static const struct fi_domain_attr domain;
	static const struct fi_fabric_attr fabric;
	struct fi_info *info = calloc(1, sizeof *info);
	bool ok = true;

	if (!info)
		return NULL;
	if (from)
		*info = *from;
	info->next = NULL;
	info->handle = NULL;
	info->nic = NULL;
	info->src_addr = from ? twin(from->src_addr, from->src_addrlen, &ok) : NULL;
	info->dest_addr = from ? twin(from->dest_addr, from->dest_addrlen, &ok) : NULL;
	info->tx_attr = twin(from ? from->tx_attr : &tx, sizeof tx, &ok);
	info->rx_attr = twin(from ? from->rx_attr : &rx, sizeof rx, &ok);
	info->ep_attr = twin(from ? from->ep_attr : &ep, sizeof ep, &ok);
	info->domain_attr = twin(from ? from->domain_attr : &domain, sizeof domain, &ok);
	info->fabric_attr = twin(from ? from->fabric_attr : &fabric, sizeof fabric, &ok);
	if (info->domain_attr) {
		info->domain_attr->name = twin_text(info->domain_attr->name, &ok);
		info->domain_attr->domain = NULL;
	}
	if (info->fabric_attr) {
		info->fabric_attr->name = twin_text(info->fabric_attr->name, &ok);
		info->fabric_attr->prov_name = twin_text(info->fabric_attr->prov_name, &ok);
		info->fabric_attr->fabric = NULL;
	}
	if (ok)
		return info;
	freeinfo(info);
	return NULL;
}

static struct fi_info *describe(const struct sf_flavor *fl, const struct fi_info *hints)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)};
	struct fi_info *info = dupinfo(NULL);
	bool ok = true;

	if (!info)
		return NULL;
	info->caps = fl->caps;
	info->addr_format = fl->format;
	*info->tx_attr = (struct fi_tx_attr){.caps = fl->caps,
					     .msg_order = FI_ORDER_SAS,
					     .inject_size = fl->inject,
					     .size = 256,
					     .iov_limit = 4,
					     .rma_iov_limit = fl->caps & FI_RMA ? 1 : 0};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = fl->caps, .msg_order = FI_ORDER_SAS, .size = 1024, .iov_limit = 4};
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = (size_t)1 << 30;
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	info->domain_attr->threading = FI_THREAD_DOMAIN;
	info->domain_attr->control_progress = info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->domain_attr->av_type = FI_AV_TABLE;
	info->domain_attr->mr_mode =
		fl->shared && hints ? hints->domain_attr->mr_mode & FI_MR_VIRT_ADDR : 0;
	info->domain_attr->mr_key_size = 8;
	info->domain_attr->cq_data_size = 8;
	info->domain_attr->cq_cnt = info->domain_attr->ep_cnt = 1024;
	info->domain_attr->mr_iov_limit = 1;
	info->domain_attr->mr_cnt = 65535;
	info->domain_attr->name = twin_text("simulated", &ok);
	info->fabric_attr->name = twin_text("simulated", &ok);
	info->fabric_attr->prov_name = twin_text(fl->name, &ok);
	if (!fl->shared) {
		info->src_addr = twin(&in, sizeof in, &ok);
		info->src_addrlen = sizeof in;
	}
	if (ok)
		return info;
	freeinfo(info);
	return NULL;
}

static int list_names(struct fi_info **list)
{
	for (size_t i = 0; i < sizeof flavors / sizeof *flavors; i++) {
		struct fi_info *info = describe(&flavors[i], NULL);

		if (!info) {
			freeinfo(*list);
			return -FI_ENOMEM;
		}
		info->next = *list;
		*list = info;
	}
	return 0;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **list)
{
	const struct sf_flavor *fl;

	(void)version;
	(void)node;
	(void)service;
	*list = NULL;
	if (flags == FI_PROV_ATTR_ONLY)
		return list_names(list);
	fl = hints && hints->fabric_attr->prov_name ? sf_flavor_of(hints->fabric_attr->prov_name)
						    : NULL;
	if (!fl || !fl->caps || hints->caps & ~fl->caps)
		return -FI_ENODATA;
	*list = describe(fl, hints);
	return *list ? 0 : -FI_ENOMEM;
}

/* The rest. */

static uint32_t version(void)
{
	return sf.cfg.version;
}

static const char *text_of(int err)
{
	static char text[32];

	snprintf(text, sizeof text, "error %d", err);
	return text;
}

static int param_define(const struct fi_provider *prov, const char *name, enum fi_param_type type,
			const char *help, ...)
{
	(void)prov;
	(void)name;
	(void)type;
	(void)help;
	return 0;
}

static int param_get(struct fi_provider *prov, const char *name, void *value)
{
	(void)prov;
	if (!strcmp(name, "quiet")) { /* what it has said it remembers, in a process's memory */
		*(int *)value = 1;
		return 0;
	}
	if (strcmp(name, "core"))
		return -FI_ENODATA;
	*(const char **)value = sf.cfg.core;
	return 0;
}

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys)
{
	(void)prov;
	(void)subsys;
	return sf.cfg.verbose && level <= FI_LOG_INFO;
}

static void write_log(const struct fi_provider *prov, enum fi_log_level level,
		      enum fi_log_subsys subsys, const char *func, int line, const char *format,
		      ...)
{
	va_list args;

	(void)prov;
	(void)level;
	(void)subsys;
	printf("%12.6f  process %u: %s:%d ", (double)sf.now / 1e9, sf.self->pid, func, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void sf_host_init(void)
{
	qv_fi_host = (struct qv_fi_host){
		.getinfo = getinfo,
		.freeinfo = freeinfo,
		.dupinfo = dupinfo,
		.fabric = sf_fabric_open,
		.version = version,
		.strerror = text_of,
		.param_define = param_define,
		.param_get = param_get,
		.log_enabled = log_enabled,
		.log = write_log,
	};
	qv_fi_prov.fi_version = version();
}

/* Each process has a list of its own. Nobody leaves it who is killed: it goes with its process. */
struct qv_fi_live *__wrap_qv_fi_live(void);

struct qv_fi_live *__wrap_qv_fi_live(void)
{
	struct qv_fi_live *live = sf.self->live;

	if (!live) {
		live = sf.self->live = sf_alloc(sizeof *live);
		pthread_mutex_init(&live->lock, NULL);
	}
	return live;
}
