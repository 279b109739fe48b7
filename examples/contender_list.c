/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contender_list.c - a matching engine of one's own in `quiver bench match`: two plain lists.
 *
 *     cc -O2 -shared -fPIC -I<prefix>/include contender_list.c -o contender_list.so
 *     quiver bench match --quick --plugin contender_list.so --impl auto,ll
 */
#include <stdlib.h>
#include <string.h>

#include <quiver/contender.h>

/* A receive or a message: the bench's memory, ours while it is queued. */
struct node {
	struct node *next;
	uint64_t tag, ignore; /* a message has ignore 0 */
	uint32_t src;
};

/* Oldest first. */
struct list {
	struct node *first, **end;
};

struct engine {
	struct list posted, unexpected;
};

static int accepts(const struct node *recv, const struct node *msg)
{
	return ((recv->tag ^ msg->tag) & ~recv->ignore) == 0 &&
	       (recv->src == msg->src || recv->src == QV_SRC_ANY);
}

static void append(struct list *list, struct node *node)
{
	node->next = NULL;
	*list->end = node;
	list->end = &node->next;
}

/* Unlink what *link points to. */
static struct node *take(struct list *list, struct node **link)
{
	struct node *node = *link;

	*link = node->next;
	if (!node->next)
		list->end = link;
	return node;
}

static void *create(const struct qv_contender *self)
{
	struct engine *e = malloc(sizeof(*e));

	if (!e)
		return NULL;
	e->posted = (struct list){NULL, &e->posted.first};
	e->unexpected = (struct list){NULL, &e->unexpected.first};
	return e;
}

static void destroy(void *engine)
{
	free(engine);
}

static void recv_init(void *memory, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct node *node = memory;

	node->tag = tag;
	node->ignore = ignore;
	node->src = src;
}

static void msg_init(void *memory, uint64_t tag, uint32_t src)
{
	recv_init(memory, tag, 0, src);
}

static int post(void *engine, void *recv, void **matched)
{
	struct engine *e = engine;

	*matched = NULL;
	for (struct node **link = &e->unexpected.first; *link; link = &(*link)->next) {
		if (accepts(recv, *link)) {
			*matched = take(&e->unexpected, link);
			return 0;
		}
	}
	append(&e->posted, recv);
	return 0;
}

static int arrive(void *engine, void *msg, void **matched)
{
	struct engine *e = engine;

	*matched = NULL;
	for (struct node **link = &e->posted.first; *link; link = &(*link)->next) {
		if (accepts(*link, msg)) {
			*matched = take(&e->posted, link);
			return 0;
		}
	}
	append(&e->unexpected, msg);
	return 0;
}

static int cancel(void *engine, void *recv)
{
	struct engine *e = engine;

	for (struct node **link = &e->posted.first; *link; link = &(*link)->next) {
		if (*link == recv) {
			take(&e->posted, link);
			return 0;
		}
	}
	return -1;
}

static size_t memory(const void *engine)
{
	return sizeof(struct engine);
}

static const struct qv_contender list = {
	.abi = QV_CONTENDER_ABI,
	.flags = QV_CONTENDER_ANY_SOURCE | QV_CONTENDER_ANY_TAG,
	.name = "list",
	.node_size = sizeof(struct node),
	.create = create,
	.destroy = destroy,
	.recv_init = recv_init,
	.msg_init = msg_init,
	.post = post,
	.arrive = arrive,
	.cancel = cancel,
	.memory = memory,
};

const struct qv_contender *qv_contender_get(uint32_t index)
{
	return index == 0 ? &list : NULL;
}
