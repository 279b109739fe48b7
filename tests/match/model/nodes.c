/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.c - see nodes.h. */
#include <stdlib.h>
#include <string.h>

#include "tests/proto/rig/need.h"
#include "nodes.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QV_HAVE_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define QV_HAVE_ASAN
#endif

#ifdef QV_HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, size)   ((void)(p), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

#define PATTERN 0xdd

static void spoil(void *node, size_t size)
{
	memset(node, PATTERN, size);
	ASAN_POISON_MEMORY_REGION(node, size);
}

/* Whoever wrote to a node that had left has spoilt the pattern. */
static void unspoil(void *node, size_t size)
{
	const unsigned char *p = node;

	ASAN_UNPOISON_MEMORY_REGION(node, size);
	QV_NEED(p[0] == PATTERN && !memcmp(p, p + 1, size - 1));
}

void qv_nodes_init(struct qv_nodes *n, size_t room)
{
	n->n_recvs = n->n_msgs = 0;
	n->room = room;
	n->recvs = calloc(room, sizeof(struct qv_recv *));
	n->msgs = calloc(room, sizeof(struct qv_msg *));
	QV_NEED(n->recvs && n->msgs);
	for (size_t i = 0; i < room; i++) {
		struct qv_recv *r = malloc(sizeof(*r));
		struct qv_msg *msg = malloc(sizeof(*msg));

		QV_NEED(r && msg);
		qv_nodes_put_recv(n, r);
		qv_nodes_put_msg(n, msg);
	}
}

void qv_nodes_fini(struct qv_nodes *n)
{
	QV_NEED(n->n_recvs == n->room && n->n_msgs == n->room);
	for (size_t i = 0; i < n->room; i++) {
		unspoil(n->recvs[i], sizeof(*n->recvs[i]));
		unspoil(n->msgs[i], sizeof(*n->msgs[i]));
		free(n->recvs[i]);
		free(n->msgs[i]);
	}
	free(n->recvs);
	free(n->msgs);
}

struct qv_recv *qv_nodes_get_recv(struct qv_nodes *n, const struct qv_recv *content)
{
	struct qv_recv *r;

	QV_NEED(n->n_recvs);
	r = n->recvs[--n->n_recvs];
	unspoil(r, sizeof(*r));
	r->tag = content->tag;
	r->ignore = content->ignore;
	r->src = content->src;
	r->flags = content->flags;
	return r;
}

struct qv_msg *qv_nodes_get_msg(struct qv_nodes *n, uint64_t tag, uint32_t src)
{
	struct qv_msg *msg;

	QV_NEED(n->n_msgs);
	msg = n->msgs[--n->n_msgs];
	unspoil(msg, sizeof(*msg));
	msg->tag = tag;
	msg->src = src;
	msg->flags = 0;
	return msg;
}

void qv_nodes_put_recv(struct qv_nodes *n, struct qv_recv *r)
{
	spoil(r, sizeof(*r));
	n->recvs[n->n_recvs++] = r;
}

void qv_nodes_put_msg(struct qv_nodes *n, struct qv_msg *msg)
{
	spoil(msg, sizeof(*msg));
	n->msgs[n->n_msgs++] = msg;
}
