/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_basics.c - the matching engine on its own: what a transport does with it.
 *
 * A request embeds struct qv_recv, an arrived message embeds struct qv_msg; the engine links them
 * and tells which belong together. It copies no data and frees nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/match.h>

/* A receive of ours: where the data goes, and the engine's node. */
struct request {
	struct qv_recv node;
	const char *name;
	char buffer[32];
};

/* A message that came before its receive: a copy of the data, and the engine's node. */
struct early {
	struct qv_msg node;
	char data[32];
};

static struct request *request_of(struct qv_recv *r)
{
	return (struct request *)((char *)r - offsetof(struct request, node));
}

static struct early *early_of(struct qv_msg *m)
{
	return (struct early *)((char *)m - offsetof(struct early, node));
}

static void must(int status, const char *what)
{
	if (status == QV_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, qv_strerror(status));
	exit(1);
}

/* The program wants a message. */
static void want(struct qv_match *engine, struct request *q, uint64_t tag, uint64_t ignore,
		 uint32_t src)
{
	struct qv_msg *msg;

	q->node = (struct qv_recv){.tag = tag, .ignore = ignore, .src = src};
	must(qv_match_post(engine, &q->node, &msg), "post");
	if (!msg) {
		printf("%-10s waits\n", q->name);
		return;
	}
	memcpy(q->buffer, early_of(msg)->data, sizeof(q->buffer));
	printf("%-10s had come: \"%s\"\n", q->name, q->buffer);
	free(early_of(msg));
}

/* The network delivers one. */
static void deliver(struct qv_match *engine, uint64_t tag, uint32_t src, const char *text)
{
	struct qv_recv *r = qv_match_arrive(engine, tag, src);
	struct early *e;

	if (r) {
		snprintf(request_of(r)->buffer, sizeof(request_of(r)->buffer), "%s", text);
		printf("%-10s gets \"%s\"\n", request_of(r)->name, text);
		return;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		must(QV_ENOMEM, "early message");
	e->node = (struct qv_msg){.tag = tag, .src = src};
	snprintf(e->data, sizeof(e->data), "%s", text);
	must(qv_match_queue(engine, &e->node), "queue");
	printf("%-10s \"%s\" from %u\n", "early:", text, (unsigned int)src);
}

int main(void)
{
	struct request exact = {.name = "exact"}, any = {.name = "any"}, later = {.name = "later"};
	struct qv_match_stats stats;
	struct qv_match *engine;

	must(qv_match_create(NULL, &engine), "create");
	printf("structure %s, kernels %s\n", qv_match_structure(engine),
	       qv_isa_name(qv_match_isa(engine)));

	want(engine, &any, 0, UINT64_MAX, QV_SRC_ANY); /* any tag, any source, and the oldest */
	want(engine, &exact, 7, 0, 3);                 /* tag 7 of source 3 */
	deliver(engine, 7, 3, "first");                /* both accept it: the older receive wins */
	deliver(engine, 8, 3, "second");               /* nobody wants tag 8 yet */
	deliver(engine, 7, 3, "third");
	if (qv_match_peek(engine, 8, 0, 3))
		printf("%-10s tag 8 is here\n", "peek:");
	want(engine, &later, 8, 0, QV_SRC_ANY);

	qv_match_get_stats(engine, &stats);
	printf("%llu posted, %llu arrived, %llu matched\n", (unsigned long long)stats.posted,
	       (unsigned long long)stats.arrived, (unsigned long long)stats.matched);
	qv_match_destroy(engine);
	return strcmp(any.buffer, "first") || strcmp(exact.buffer, "third") ||
	       strcmp(later.buffer, "second") || stats.matched != 3;
}
