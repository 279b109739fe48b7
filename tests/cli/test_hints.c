/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hints.c - fi_getinfo: which hints are accepted, which refused, and what comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define PROV_SPECIFIC 0x80000000u /* FI_PROV_SPECIFIC, which the headers of 2.x lack */

#define API FI_VERSION(1, 17)

#define MSGS (FI_MSG | FI_TAGGED)

/* A table of hints: each line changes one field of otherwise empty hints. */

struct line {
	const char *name;
	bool fits;
	size_t offset; /* of the attribute structure in fi_info, 0: fi_info itself */
	size_t field, size;
	uint64_t value;
};

#define INFO(text, ok, f, v)                                                                  \
	{                                                                                     \
		text, ok, 0, offsetof(struct fi_info, f), sizeof(((struct fi_info *)0)->f), v \
	}
#define ATTR(ok, attr, f, v)                                                               \
	{                                                                                  \
#attr "." #f " = " #v, ok, offsetof(struct fi_info, attr),                 \
			offsetof(struct fi_##attr, f), sizeof(((struct fi_##attr *)0)->f), \
			(uint64_t)(v)                                                      \
	}

static const struct line lines[] = {
	INFO("tagged", true, caps, FI_TAGGED),
	INFO("send only", true, caps, FI_TAGGED | FI_SEND),
	INFO("all that messages can", true, caps,
	     MSGS | FI_SEND | FI_RECV | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV |
		     FI_LOCAL_COMM | FI_REMOTE_COMM),
	INFO("rma", true, caps, MSGS | FI_RMA),
	INFO("read", true, caps, FI_RMA | FI_READ),
	INFO("atomics", true, caps, FI_TAGGED | FI_ATOMIC),
	INFO("hmem", false, caps, FI_TAGGED | FI_HMEM),
	INFO("collective", true, caps, FI_TAGGED | FI_COLLECTIVE),
	INFO("named rx ctx", false, caps, FI_TAGGED | FI_NAMED_RX_CTX),
	INFO("rma event", false, caps, FI_TAGGED | FI_RMA | FI_RMA_EVENT),
	INFO("trigger", false, caps, FI_TAGGED | FI_TRIGGER),
	INFO("multicast", false, caps, FI_MSG | FI_MULTICAST),
	INFO("a bit that changed its meaning", false, caps, FI_TAGGED | 1ULL << 48),
	INFO("no kind of operation", true, caps, FI_SOURCE),
	INFO("any peer, no kind of operation", true, caps, FI_LOCAL_COMM | FI_REMOTE_COMM),
	INFO("any mode", true, mode, ~0ULL),
	INFO("foreign address format", false, addr_format, FI_ADDR_GNI),

	ATTR(true, ep_attr, type, FI_EP_RDM),
	ATTR(false, ep_attr, type, FI_EP_MSG),
	ATTR(false, ep_attr, type, FI_EP_DGRAM),
	ATTR(false, ep_attr, protocol, FI_PROTO_RXM),
	ATTR(false, ep_attr, protocol_version, 1000),
	ATTR(true, ep_attr, max_msg_size, 1 << 20),
	ATTR(true, ep_attr, tx_ctx_cnt, 1),
	ATTR(false, ep_attr, tx_ctx_cnt, 2),
	ATTR(false, ep_attr, rx_ctx_cnt, 2),
	ATTR(false, ep_attr, rx_ctx_cnt, FI_SHARED_CONTEXT),
	ATTR(false, ep_attr, tx_ctx_cnt, FI_SHARED_CONTEXT),
	ATTR(false, ep_attr, auth_key_size, 8),
	ATTR(true, ep_attr, mem_tag_format, ~0ULL),

	ATTR(true, domain_attr, threading, FI_THREAD_SAFE),
	ATTR(true, domain_attr, threading, FI_THREAD_FID),
	ATTR(true, domain_attr, threading, FI_THREAD_ENDPOINT),
	ATTR(true, domain_attr, threading, FI_THREAD_COMPLETION),
	ATTR(true, domain_attr, threading, FI_THREAD_DOMAIN),
	ATTR(false, domain_attr, threading, 77),
	ATTR(true, domain_attr, data_progress, FI_PROGRESS_MANUAL),
	ATTR(true, domain_attr, data_progress, FI_PROGRESS_AUTO),
	ATTR(true, domain_attr, control_progress, FI_PROGRESS_MANUAL),
	ATTR(true, domain_attr, control_progress, FI_PROGRESS_AUTO),
	ATTR(true, domain_attr, resource_mgmt, FI_RM_ENABLED),
	ATTR(true, domain_attr, resource_mgmt, FI_RM_DISABLED),
	ATTR(true, domain_attr, av_type, FI_AV_MAP),
	ATTR(true, domain_attr, av_type, FI_AV_TABLE),
	ATTR(false, domain_attr, av_type, 9),
	ATTR(true, domain_attr, cq_data_size, 8),
	ATTR(false, domain_attr, cq_data_size, 9),
	ATTR(true, domain_attr, mr_mode, FI_MR_HMEM | FI_MR_ALLOCATED),
	ATTR(false, domain_attr, auth_key_size, 8),
	ATTR(false, domain_attr, max_err_data, 1),
	ATTR(false, domain_attr, caps, FI_SHARED_AV),
	ATTR(true, domain_attr, caps, FI_LOCAL_COMM),

	ATTR(true, tx_attr, op_flags, FI_COMPLETION),
	ATTR(true, tx_attr, op_flags, FI_DELIVERY_COMPLETE),
	ATTR(true, tx_attr, op_flags, FI_INJECT_COMPLETE),
	ATTR(false, tx_attr, op_flags, FI_FENCE),
	ATTR(false, tx_attr, op_flags, FI_COMMIT_COMPLETE),
	ATTR(true, tx_attr, msg_order, FI_ORDER_SAS),
	ATTR(false, tx_attr, msg_order, FI_ORDER_SAW),
	ATTR(false, tx_attr, msg_order, FI_ORDER_ATOMIC_WAW),
	ATTR(false, tx_attr, comp_order, FI_ORDER_STRICT),
	ATTR(true, tx_attr, inject_size, 4096),
	ATTR(false, tx_attr, inject_size, 4097),
	ATTR(true, tx_attr, size, 1024),
	ATTR(false, tx_attr, size, 1025),
	ATTR(true, tx_attr, iov_limit, 4),
	ATTR(false, tx_attr, iov_limit, 5),
	ATTR(true, tx_attr, caps, FI_TAGGED | FI_SEND),
	ATTR(false, tx_attr, caps, FI_ATOMIC),

	ATTR(true, rx_attr, op_flags, FI_COMPLETION),
	ATTR(true, rx_attr, op_flags, FI_MULTI_RECV),
	ATTR(false, rx_attr, op_flags, FI_INJECT),
	ATTR(true, rx_attr, msg_order, FI_ORDER_SAS),
	ATTR(false, rx_attr, msg_order, FI_ORDER_WAS),
	ATTR(false, rx_attr, comp_order, FI_ORDER_DATA),
	ATTR(true, rx_attr, total_buffered_recv, 1 << 30),
	ATTR(true, rx_attr, size, 1024),
	ATTR(false, rx_attr, size, 1025),
	ATTR(false, rx_attr, iov_limit, 5),
	ATTR(false, rx_attr, caps, FI_ATOMIC),

	ATTR(false, fabric_attr, prov_version, FI_VERSION(99, 0)),
};

static void set_field(struct fi_info *hints, const struct line *l)
{
	char *at = (char *)hints;

	if (l->offset)
		at = *(char **)(at + l->offset);
	memcpy(at + l->field, &l->value, l->size); /* little endian */
}

static struct fi_info *empty_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT;
	return hints;
}

static int ask(uint32_t version, uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	*info = NULL;
	return fi_getinfo(version, NULL, NULL, flags, hints, info);
}

static bool is_ours(const struct fi_info *info)
{
	for (; info; info = info->next)
		if (!strstr(info->fabric_attr->prov_name, "quiver"))
			return false;
	return true;
}

/* What not every core has: only shm of those tried here counts what peers do. Two cores have what both
 * have. */
static bool fits(const struct line *line)
{
	const char *core = getenv("FI_QUIVER_CORE");

	if (!strcmp(line->name, "rma event"))
		return core && !strcmp(core, "shm");
	return line->fits;
}

static void table(void **state)
{
	int wrong = 0;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct fi_info *hints = empty_hints(), *info;
		int ret;

		set_field(hints, &lines[i]);
		ret = ask(API, 0, hints, &info);
		if (ret != (fits(&lines[i]) ? 0 : -FI_ENODATA) || !is_ours(info)) {
			print_error("%s: %s\n", lines[i].name,
				    ret ? fi_strerror(-ret) : "accepted");
			wrong++;
		}
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
	assert_int_equal(wrong, 0);
}

/* What comes back. */

static void answer(void **state)
{
	const uint64_t sides = FI_SEND | FI_RECV,
		       gifts = FI_MULTI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
	struct fi_info *hints = empty_hints(), *info, *i;

	hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->av_type = FI_AV_MAP;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->tx_attr->op_flags = FI_COMPLETION;
	assert_int_equal(ask(API, 0, hints, &info), 0);
	for (i = info; i; i = i->next) {
		assert_int_equal(i->caps, FI_TAGGED | FI_DIRECTED_RECV | sides | gifts);
		assert_int_equal(i->tx_attr->caps, FI_TAGGED | FI_SEND);
		assert_int_equal(i->rx_attr->caps, FI_TAGGED | FI_RECV | FI_DIRECTED_RECV |
							   FI_MULTI_RECV | FI_SOURCE);
		assert_int_equal(i->mode | i->tx_attr->mode | i->rx_attr->mode, 0);
		assert_int_equal(i->domain_attr->mode, 0);
		assert_int_equal(i->ep_attr->type, FI_EP_RDM);
		assert_true(i->ep_attr->protocol & PROV_SPECIFIC);
		assert_int_equal(i->ep_attr->mem_tag_format, 0xaaaaaaaaaaaaaaaaULL);
		assert_true(i->ep_attr->max_msg_size >= 1 << 30);
		assert_int_equal(i->tx_attr->op_flags, FI_COMPLETION);
		assert_int_equal(i->rx_attr->op_flags, 0);
		assert_int_equal(i->tx_attr->msg_order, FI_ORDER_SAS);
		assert_int_equal(i->rx_attr->msg_order, FI_ORDER_SAS);
		assert_int_equal(i->tx_attr->comp_order, FI_ORDER_NONE);
		assert_int_equal(i->tx_attr->inject_size, 4096);
		assert_int_equal(i->tx_attr->iov_limit, 4);
		assert_int_equal(i->domain_attr->threading, FI_THREAD_DOMAIN);
		assert_int_equal(i->domain_attr->av_type, FI_AV_MAP);
		assert_int_equal(i->domain_attr->control_progress, FI_PROGRESS_MANUAL);
		assert_int_equal(i->domain_attr->data_progress, FI_PROGRESS_MANUAL);
		assert_int_equal(i->domain_attr->resource_mgmt, FI_RM_ENABLED);
		assert_int_equal(i->domain_attr->cq_data_size, 8);
		assert_int_equal(i->domain_attr->mr_mode, 0); /* no FI_RMA, nothing to register */
		assert_non_null(i->domain_attr->name);
		assert_non_null(i->fabric_attr->name);
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* RMA is the core's: its keys and addresses are as the application wants them. */
static void rma_modes(void **state)
{
	const int all = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	struct fi_info *hints = empty_hints(), *info;

	hints->caps = FI_TAGGED | FI_RMA;
	assert_int_equal(ask(API, 0, hints, &info), 0);
	assert_int_equal(info->domain_attr->mr_mode, 0);
	assert_int_equal(info->caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE),
			 FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = all;
	assert_int_equal(ask(API, 0, hints, &info), 0);
	assert_int_equal(info->domain_attr->mr_mode & ~all, 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* Old applications, and one that forgets to say which it is: there are two
 * modes of registration. */
static void old_versions(void **state)
{
	static const uint32_t versions[] = {FI_VERSION(0, 0), FI_VERSION(1, 0), FI_VERSION(1, 4)};

	for (size_t i = 0; i < 3; i++) {
		struct fi_info *info;

		assert_int_equal(ask(versions[i], 0, NULL, &info), 0);
		assert_true(info->domain_attr->mr_mode == FI_MR_BASIC ||
			    info->domain_attr->mr_mode == FI_MR_SCALABLE);
		assert_int_equal(info->caps & (MSGS | FI_MULTI_RECV), MSGS | FI_MULTI_RECV);
		fi_freeinfo(info);
	}
}

/* As the MPIs ask. */

static void open_mpi(void **state)
{
	struct fi_info *hints = empty_hints(), *info;

	hints->caps = FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->tx_attr->op_flags = hints->rx_attr->op_flags = FI_COMPLETION;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_MAP;
	hints->domain_attr->cq_data_size = 4;
	assert_int_equal(ask(FI_VERSION(1, 5), 0, hints, &info), 0);
	fi_freeinfo(info);
	hints->caps |= FI_MSG;
	hints->domain_attr->mr_mode = FI_MR_HMEM | FI_MR_ALLOCATED;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	assert_int_equal(ask(FI_VERSION(1, 9), 0, hints, &info), 0);
	assert_int_equal(info->domain_attr->threading, FI_THREAD_SAFE);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* First anything, then what was found, by name. */
static void mpich(void **state)
{
	struct fi_info *hints = empty_hints(), *first, *info;

	assert_int_equal(ask(FI_VERSION(0, 0), 0, NULL, &first), 0);
	hints->fabric_attr->prov_name = strdup(first->fabric_attr->prov_name);
	hints->caps = (first->caps & ~(uint64_t)FI_SOURCE) | FI_DIRECTED_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV | FI_RX_CQ_DATA;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->op_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	assert_int_equal(ask(API, 0, hints, &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, first->fabric_attr->prov_name);
	assert_int_equal(info->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(info->domain_attr->av_type, FI_AV_TABLE);
	fi_freeinfo(first);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* As NCCL's plug-in for libfabric asks (send/receive protocol): first for memory of devices, which is
 * refused, then without. It registers every buffer it sends from, all by the key 0. */
static void nccl_ofi(void **state)
{
	struct fi_info *hints = empty_hints(), *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mrs[2];
	static char buffers[2][4096];

	hints->caps = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_TAGGED | FI_MSG | FI_HMEM;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_HMEM;
	hints->domain_attr->mr_key_size = 2;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	assert_int_equal(ask(API, 0, hints, &info), -FI_ENODATA);
	hints->caps &= ~(uint64_t)FI_HMEM;
	hints->domain_attr->mr_mode &= ~FI_MR_HMEM;
	assert_int_equal(ask(FI_VERSION(1, 6), 0, hints, &info), 0);
	assert_int_equal(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(fi_mr_reg(domain, buffers[i], sizeof buffers[i], FI_SEND | FI_RECV,
					   0, 0, 0, &mrs[i], NULL),
				 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(fi_close(&mrs[i]->fid), 0);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* Names and flags. */

static void interface_names(void **state)
{
	struct fi_info *hints = empty_hints(), *all, *info;

	assert_int_equal(ask(API, 0, hints, &all), 0);
	hints->domain_attr->name = strdup(all->domain_attr->name);
	hints->fabric_attr->name = strdup(all->fabric_attr->name);
	assert_int_equal(ask(API, 0, hints, &info), 0);
	for (struct fi_info *i = info; i; i = i->next)
		assert_string_equal(i->domain_attr->name, hints->domain_attr->name);
	fi_freeinfo(info);
	fi_freeinfo(all);
	fi_freeinfo(hints);
}

static void other_names(void **state)
{
	struct fi_info *hints = empty_hints(), *info;

	hints->domain_attr->name = strdup("no-such-interface");
	assert_int_equal(ask(API, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
	hints = empty_hints();
	hints->fabric_attr->prov_name = strdup("udp");
	assert_int_equal(ask(API, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

/* Flags that nobody knows, and those by which libfabric's layers look for what they build upon. */
static void odd_flags(void **state)
{
	struct fi_info *info;

	assert_int_equal(ask(API, 1ULL << 40, NULL, &info), -FI_ENODATA);
	if (ask(API, 1ULL << 58, NULL, &info) == 0)
		for (struct fi_info *i = info; i; i = i->next)
			assert_null(strstr(i->fabric_attr->prov_name, "quiver"));
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),           cmocka_unit_test(answer),
		cmocka_unit_test(rma_modes),       cmocka_unit_test(old_versions),
		cmocka_unit_test(open_mpi),        cmocka_unit_test(mpich),
		cmocka_unit_test(interface_names), cmocka_unit_test(other_names),
		cmocka_unit_test(nccl_ofi),        cmocka_unit_test(odd_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
