/* SPDX-License-Identifier: BSD-2-Clause */
/* rig_req.c - requests of the rig: buffers with guards, payload, what must have come. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"

#define GUARD      16u
#define GUARD_BYTE 0x5a
#define UNTOUCHED  0xee

static char pattern(uint64_t stamp, size_t i)
{
	return (char)((stamp * 0x9e3779b97f4a7c15ull >> 32) + i * 7 + (i >> 8));
}

bool rig_payload_is(const void *buf, size_t len, uint64_t stamp)
{
	const char *byte = buf;

	for (size_t i = 0; i < len; i++)
		if (byte[i] != pattern(stamp, i))
			return false;
	return true;
}

/* Memory: guard, then each piece followed by a guard. */
struct rig_req *rig_req_new(struct rig *rig, unsigned node, size_t len, unsigned cut)
{
	struct rig_req *req = calloc(1, sizeof *req);
	size_t left = len, at = GUARD;

	QV_NEED(req);
	req->rig = rig;
	req->node = node;
	req->len = len;
	req->cnt = cut;
	req->stamp = ++rig->stamps;
	req->memory = malloc(len + (cut + 1) * GUARD);
	QV_NEED(req->memory);
	memset(req->memory, GUARD_BYTE, len + (cut + 1) * GUARD);
	for (unsigned i = 0; i < cut; i++) {
		size_t part = i + 1 < cut ? qv_random_below(&rig->rng, left + 1) : left;

		req->iov[i] = (struct iovec){req->memory + at, part};
		memset(req->memory + at, UNTOUCHED, part);
		at += part + GUARD;
		left -= part;
	}
	req->next = rig->reqs;
	rig->reqs = req;
	return req;
}

static void check_guards(const struct rig_req *req)
{
	const char *at = req->memory;

	for (size_t i = 0; i <= req->cnt; i++) {
		for (size_t k = 0; k < GUARD; k++)
			assert_int_equal(at[k], GUARD_BYTE);
		at += GUARD + (i < req->cnt ? req->iov[i].iov_len : 0);
	}
}

void rig_reqs_free(struct rig *rig)
{
	while (rig->reqs) {
		struct rig_req *req = rig->reqs;

		check_guards(req);
		rig->reqs = req->next;
		free(req->memory);
		free(req->all);
		free(req);
	}
}

int rig_send_req(struct rig_req *req, unsigned to, uint64_t tag, unsigned flags)
{
	struct qv_send_args args = {
		.iov = req->iov,
		.cnt = req->cnt,
		.tag = tag,
		.data = ~req->stamp,
		.flags = flags,
		.context = req,
		.cookie = req->stamp,
	};
	struct qv_peer *peer = rig_peer(req->rig, req->node, to);
	size_t at = 0;
	int rc;

	for (size_t i = 0; i < req->cnt; i++)
		for (size_t k = 0; k < req->iov[i].iov_len; k++)
			((char *)req->iov[i].iov_base)[k] = pattern(req->stamp, at++);
	req->is_send = true;
	req->peer = to;
	req->tag = tag;
	req->flags = flags;
	qv_nomem_enter();
	rc = qv_proto_send(req->rig->node[req->node].p, peer, &args);
	qv_nomem_leave();
	if (rc == QV_OK && flags & QV_REQ_INJECT && req->len) /* ours again */
		for (size_t i = 0; i < req->cnt; i++)
			if (req->iov[i].iov_len)
				memset(req->iov[i].iov_base, 0xdd, req->iov[i].iov_len);
	return rc;
}

struct qv_recv_args rig_recv_args(struct rig_req *req, int from, uint64_t tag, uint64_t ignore,
				  unsigned flags)
{
	req->tag = tag;
	req->flags = flags;
	return (struct qv_recv_args){
		.iov = req->iov,
		.cnt = req->cnt,
		.from = from == RIG_ANY ? NULL : rig_peer(req->rig, req->node, (unsigned)from),
		.tag = tag,
		.ignore = ignore,
		.flags = flags,
		.context = req,
		.cookie = req->stamp,
	};
}

int rig_recv_req(struct rig_req *req, int from, uint64_t tag, uint64_t ignore, unsigned flags,
		 size_t multi_min)
{
	struct qv_recv_args args = rig_recv_args(req, from, tag, ignore, flags);
	int rc;

	args.multi_min = multi_min;
	qv_nomem_enter();
	rc = qv_proto_recv(req->rig->node[req->node].p, &args);
	qv_nomem_leave();
	return rc;
}

struct rig_req *rig_send(struct rig *rig, unsigned from, unsigned to, size_t len, uint64_t tag,
			 unsigned flags)
{
	struct rig_req *req = rig_req_new(rig, from, len, 1);

	assert_int_equal(rig_send_req(req, to, tag, flags), QV_OK);
	return req;
}

struct rig_req *rig_send_after_loss(struct rig *rig, unsigned from, unsigned to, size_t len,
				    uint64_t tag, unsigned flags)
{
	struct rig_req *req = rig_req_new(rig, from, len, 1);
	int rc = rig_send_req(req, to, tag, flags);

	if (rc == QV_EPEER)
		rc = rig_send_req(req, to, tag, flags);
	assert_int_equal(rc, QV_OK);
	return req;
}

struct rig_req *rig_recv(struct rig *rig, unsigned node, int from, size_t len, uint64_t tag,
			 unsigned flags)
{
	struct rig_req *req = rig_req_new(rig, node, len, 1);

	assert_int_equal(rig_recv_req(req, from, tag, 0, flags, 0), QV_OK);
	return req;
}

void rig_check_status(const struct rig_req *req, int status)
{
	assert_int_equal(req->done, 1);
	if (req->comp.status != status)
		fail_msg("completed with \"%s\", not \"%s\"", qv_strerror(req->comp.status),
			 qv_strerror(status));
}

void rig_check(const struct rig_req *recv, const struct rig_req *send)
{
	const struct qv_comp *c = &recv->comp;
	size_t len = recv->len < send->len ? recv->len : send->len, at = 0;

	rig_check_status(recv, recv->len < send->len ? QV_ETRUNC : QV_OK);
	assert_int_equal(c->len, len);
	assert_int_equal(c->full, send->len);
	assert_int_equal(c->tag, send->tag);
	assert_int_equal(c->tagged, !!(send->flags & QV_REQ_TAGGED));
	assert_int_equal(c->has_data, !!(send->flags & QV_REQ_DATA));
	assert_int_equal(c->data, send->flags & QV_REQ_DATA ? ~send->stamp : 0);
	assert_ptr_equal(c->buf, recv->iov[0].iov_base);
	for (size_t i = 0; i < recv->cnt; i++)
		for (size_t k = 0; k < recv->iov[i].iov_len; k++, at++) {
			char want = at < len ? pattern(send->stamp, at) : (char)UNTOUCHED;

			if (((char *)recv->iov[i].iov_base)[k] != want)
				fail_msg("byte %zu of %zu is wrong", at, len);
		}
}

void rig_exchange_after_loss(struct rig *rig, unsigned a, unsigned b, size_t len)
{
	struct rig_req *recv = rig_recv(rig, b, RIG_ANY, len, 77, QV_REQ_TAGGED);
	struct rig_req *send = rig_send_after_loss(rig, a, b, len, 77, QV_REQ_TAGGED | QV_REQ_ACK);

	rig_wait_long(rig, send, recv);
	rig_check(recv, send);
}
