/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ucx.c - UCX as an implementation, through ucp_tag_send_nbx and ucp_tag_recv_nbx.
 *
 * The library is opened by the processes of its implementations only: it changes the memory calls
 * and signal handlers of a process that it is in, and the others are not to run with that.
 */
#include "ucx.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <ucp/api/ucp.h>

#define LIBRARY "libucp.so.0"

#define UCX_CALLS(X)                  \
	X(ucp_get_version_string)     \
	X(ucp_config_read)            \
	X(ucp_config_modify)          \
	X(ucp_config_release)         \
	X(ucp_init_version)           \
	X(ucp_cleanup)                \
	X(ucp_worker_create)          \
	X(ucp_worker_destroy)         \
	X(ucp_worker_get_address)     \
	X(ucp_worker_release_address) \
	X(ucp_worker_progress)        \
	X(ucp_ep_create)              \
	X(ucp_tag_send_nbx) X(ucp_tag_recv_nbx) X(ucp_request_free) X(ucs_status_string)

struct qv_fb_ucx {
	void *library;
#define MEMBER(name) __typeof__(name) *name;
	UCX_CALLS(MEMBER)
#undef MEMBER
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h peer; /* one of: the other process, this one */
	ucp_ep_h ends[2];
	const char *transports;
	uint64_t completed; /* operations, in all */
};

bool qv_fb_ucx_built(void)
{
	return true;
}

static int failed(struct qv_fb_ep *ep, const char *what, ucs_status_t status)
{
	char text[QV_FB_TEXT];

	snprintf(text, sizeof(text), "%s: %s", what, ep->ucx->ucs_status_string(status));
	return qv_fb_fail(ep, text, 0);
}

/* Open and close. */

static int load(struct qv_fb_ep *ep, struct qv_fb_ucx *ucx)
{
	ucx->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!ucx->library)
		return qv_fb_fail(ep, "no " LIBRARY " here", 0);
#define LOAD(name)                                         \
	*(void **)&ucx->name = dlsym(ucx->library, #name); \
	if (!ucx->name)                                    \
		return qv_fb_fail(ep, LIBRARY " lacks " #name, 0);
	UCX_CALLS(LOAD)
#undef LOAD
	return 0;
}

/* Which of UCX's transports the implementation may use. */
static int choose_transports(struct qv_fb_ep *ep, const char *impl)
{
	if (!strcmp(impl, "ucx+shm"))
		ep->ucx->transports = "sm,self";
	else if (!strcmp(impl, "ucx+tcp"))
		ep->ucx->transports = "tcp";
	else
		return qv_fb_fail(ep, "of UCX there are ucx+shm and ucx+tcp", 0);
	return 0;
}

static int open_context(struct qv_fb_ep *ep)
{
	struct qv_fb_ucx *ucx = ep->ucx;
	const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
				     .features = UCP_FEATURE_TAG};
	ucp_config_t *config;
	ucs_status_t status = ucx->ucp_config_read(NULL, NULL, &config);

	if (status != UCS_OK)
		return failed(ep, "ucp_config_read", status);
	status = ucx->ucp_config_modify(config, "TLS", ucx->transports);
	if (status == UCS_OK && !strcmp(ucx->transports, "tcp"))
		status = ucx->ucp_config_modify(config, "NET_DEVICES", "lo");
	if (status == UCS_OK)
		status = ucx->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config,
					       &ucx->context);
	ucx->ucp_config_release(config);
	return status == UCS_OK ? 0 : failed(ep, "ucp_init", status);
}

int qv_fb_ucx_open(struct qv_fb_ep *ep, const struct qv_fb_setup *setup)
{
	const ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
					    .thread_mode = UCS_THREAD_MODE_SINGLE};
	ucs_status_t status;

	if (setup->directed)
		return qv_fb_fail(ep, "UCX's receives name no source (--directed)", 0);
	ep->ucx = calloc(1, sizeof(*ep->ucx));
	if (!ep->ucx)
		return qv_fb_fail(ep, "no memory", 0);
	if (load(ep, ep->ucx) || choose_transports(ep, setup->impl) || open_context(ep))
		return -1;
	status = ep->ucx->ucp_worker_create(ep->ucx->context, &params, &ep->ucx->worker);
	return status == UCS_OK ? 0 : failed(ep, "ucp_worker_create", status);
}

int qv_fb_ucx_address(struct qv_fb_ep *ep, char *address, size_t *n)
{
	ucp_address_t *own;
	size_t length;
	ucs_status_t status = ep->ucx->ucp_worker_get_address(ep->ucx->worker, &own, &length);

	if (status != UCS_OK)
		return failed(ep, "ucp_worker_get_address", status);
	if (length <= *n)
		memcpy(address, own, length);
	ep->ucx->ucp_worker_release_address(ep->ucx->worker, own);
	if (length > *n)
		return qv_fb_fail(ep, "UCX's address is too long", 0);
	*n = length;
	return 0;
}

static int connect_to(struct qv_fb_ep *ep, const void *address, ucp_ep_h *end)
{
	const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
					.address = address};
	ucs_status_t status = ep->ucx->ucp_ep_create(ep->ucx->worker, &params, end);

	return status == UCS_OK ? 0 : failed(ep, "ucp_ep_create", status);
}

int qv_fb_ucx_connect(struct qv_fb_ep *ep, const void *address)
{
	if (connect_to(ep, address, &ep->ucx->ends[0]))
		return -1;
	ep->ucx->peer = ep->ucx->ends[0];
	return 0;
}

int qv_fb_ucx_turn(struct qv_fb_ep *ep, const void *own, bool self)
{
	if (!ep->ucx->ends[1] && connect_to(ep, own, &ep->ucx->ends[1]))
		return -1;
	ep->ucx->peer = ep->ucx->ends[self];
	return 0;
}

/* The library stays: it cannot take back all that it has changed. */
void qv_fb_ucx_close(struct qv_fb_ep *ep)
{
	struct qv_fb_ucx *ucx = ep->ucx;

	if (ucx->worker)
		ucx->ucp_worker_destroy(ucx->worker);
	if (ucx->context)
		ucx->ucp_cleanup(ucx->context);
	free(ucx);
	ep->ucx = NULL;
}

void qv_fb_ucx_describe(const struct qv_fb_ep *ep, char *text, size_t size)
{
	snprintf(text, size, "UCX %s, ucp_tag_*_nbx, UCX_TLS=%s", ep->ucx->ucp_get_version_string(),
		 ep->ucx->transports);
}

/* Messages. */

static void complete(struct qv_fb_ep *ep, struct qv_fb_op *op)
{
	op->busy = false;
	ep->ucx->completed++;
	if (!op->is_recv)
		ep->sends_out--;
}

static void on_done(void *request, ucs_status_t status, struct qv_fb_op *op)
{
	struct qv_fb_ep *ep = op->room.internal[0];

	if (status != UCS_OK)
		failed(ep, "completion in error", status);
	complete(ep, op);
	ep->ucx->ucp_request_free(request);
}

static void on_sent(void *request, ucs_status_t status, void *op)
{
	on_done(request, status, op);
}

static void on_received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
			void *context)
{
	struct qv_fb_op *op = context;

	if (status == UCS_OK && (info->sender_tag != op->tag || info->length != op->bytes))
		qv_fb_fail(op->room.internal[0], "wrong tag or length in a completion", 0);
	on_done(request, status, op);
}

int qv_fb_ucx_poll(struct qv_fb_ep *ep)
{
	struct qv_fb_ucx *ucx = ep->ucx;
	uint64_t before = ucx->completed;

	ucx->ucp_worker_progress(ucx->worker);
	if (ep->error[0])
		return -1;
	if (ucx->completed != before)
		__atomic_store_n(ep->beat, *ep->beat + ucx->completed - before, __ATOMIC_RELAXED);
	else if (ep->yield)
		sched_yield();
	return 0;
}

int qv_fb_ucx_send(struct qv_fb_ep *ep, const void *buf, size_t bytes, uint64_t tag)
{
	struct qv_fb_op *op = &ep->send_ops[ep->next_op++ % QV_FB_SEND_OPS];
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = on_sent,
		.user_data = op,
	};
	ucs_status_ptr_t request;

	if (qv_fb_wait_op(ep, op))
		return -1;
	request = ep->ucx->ucp_tag_send_nbx(ep->ucx->peer, buf, bytes, tag, &param);
	if (!request)
		return 0;
	if (UCS_PTR_IS_ERR(request))
		return failed(ep, "ucp_tag_send_nbx", UCS_PTR_STATUS(request));
	op->room.internal[0] = ep;
	op->busy = true;
	ep->sends_out++;
	return 0;
}

/* A message that is here already is received in the call; UCX 1.13 does not tell
 * its length then. */
int qv_fb_ucx_recv(struct qv_fb_ep *ep, void *buf, size_t bytes, uint64_t tag, struct qv_fb_op *op)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.recv = on_received,
		.user_data = op,
	};
	ucs_status_ptr_t request;

	op->room.internal[0] = ep;
	op->is_recv = op->busy = true;
	op->tag = tag;
	op->bytes = (uint32_t)bytes;
	request = ep->ucx->ucp_tag_recv_nbx(ep->ucx->worker, buf, bytes, tag, UINT64_MAX, &param);
	if (UCS_PTR_IS_ERR(request))
		return failed(ep, "ucp_tag_recv_nbx", UCS_PTR_STATUS(request));
	if (!request)
		complete(ep, op);
	return 0;
}
