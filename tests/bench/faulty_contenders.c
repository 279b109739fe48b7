/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faulty_contenders.c - a plugin for the test of `quiver bench match`: implementations that are
 * wrong, each in its own way. With FAULTY_ABI they were made for another header.
 */
#include <stdlib.h>
#include <string.h>

#include <quiver/contender.h>

#define ROOM 4096

struct node {
	uint64_t tag;
	uint32_t src;
};

/* Queues of receives and of messages, oldest first. */
struct engine {
	const struct qv_contender *self;
	struct node *queue[2][ROOM];
	size_t n[2];
	unsigned int nth; /* engine of implementation late */
};

static void *create(const struct qv_contender *self)
{
	static unsigned int late_ones;
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->self = self;
	if (strcmp(self->name, "late") == 0)
		e->nth = late_ones++;
	return e;
}

static void *create_nothing(const struct qv_contender *self)
{
	return NULL;
}

static void destroy(void *engine)
{
	free(engine);
}

static void msg_init(void *memory, uint64_t tag, uint32_t src)
{
	struct node *node = memory;

	node->tag = tag;
	node->src = src;
}

static void recv_init(void *memory, uint64_t tag, uint64_t ignore, uint32_t src)
{
	msg_init(memory, tag, src);
}

static int is(const struct engine *e, const char *name)
{
	return strcmp(e->self->name, name) == 0;
}

/* Entry i of a queue, removed. */
static struct node *take(struct engine *e, int side, size_t i)
{
	struct node *node = e->queue[side][i];

	e->n[side]--;
	memmove(&e->queue[side][i], &e->queue[side][i + 1],
		(e->n[side] - i) * sizeof(e->queue[side][0]));
	return node;
}

static int match(struct engine *e, int mine, struct node *node, void **matched)
{
	size_t n = e->n[!mine];
	int late = e->nth > 0; /* the first engine is the one that is checked answer by answer */

	for (size_t k = 0; k < n; k++) {
		size_t i = is(e, "newest") ? n - 1 - k : k;
		const struct node *other = e->queue[!mine][i];

		if (other->tag != node->tag || other->src != node->src)
			continue;
		*matched = late ? node : take(e, !mine, i);
		return 0;
	}
	if (e->n[mine] == (is(e, "full") ? 4 : ROOM))
		return -1;
	e->queue[mine][e->n[mine]++] = node;
	if (!is(e, "silent"))
		*matched = NULL;
	return 0;
}

static int post(void *engine, void *node, void **matched)
{
	return match(engine, 0, node, matched);
}

static int arrive(void *engine, void *node, void **matched)
{
	return match(engine, 1, node, matched);
}

static int cancel_nothing(void *engine, void *node)
{
	return -1;
}

#ifdef FAULTY_ABI
#define ABI (QV_CONTENDER_ABI + 1)
#else
#define ABI QV_CONTENDER_ABI
#endif
#define FAULTY(who, start)                                                                      \
	{                                                                                       \
		.abi = ABI, .name = who, .node_size = sizeof(struct node), .create = start,     \
		.destroy = destroy, .recv_init = recv_init, .msg_init = msg_init, .post = post, \
		.arrive = arrive                                                                \
	}

static const struct qv_contender all[] = {
	FAULTY("newest", create), /* takes the newest that fits */
	FAULTY("late", create),   /* wrong in what is timed */
	FAULTY("exact", create),  /* right, without wildcards */
	FAULTY("full", create),   /* has room for 4 */
	FAULTY("silent", create), /* does not say that nothing matched */
	FAULTY("absent", create_nothing),
	{
		.abi = ABI,
		.name = "sticky", /* cannot cancel */
		.node_size = sizeof(struct node),
		.create = create,
		.destroy = destroy,
		.recv_init = recv_init,
		.msg_init = msg_init,
		.post = post,
		.arrive = arrive,
		.cancel = cancel_nothing,
	},
};

const struct qv_contender *qv_contender_get(uint32_t index)
{
	return index < sizeof(all) / sizeof(all[0]) ? &all[index] : NULL;
}
