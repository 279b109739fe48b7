/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contender.h - how `quiver bench match` drives a matching engine: its own structures, and others
 * that come as a plugin.
 *
 * A plugin is a shared object that exports qv_contender_get. `quiver bench match --plugin FILE.so`
 * opens it, asks for entry 0, 1, ... until NULL, and measures what it finds beside quiver's
 * structures, through the same calls. examples/contender_list.c is a whole one; build yours with
 * `cc -O2 -shared -fPIC -I<prefix>/include mine.c -o mine.so`.
 *
 * Rule: receive r accepts message m when
 *     ((r.tag ^ m.tag) & ~r.ignore) == 0 && (r.src == m.src || r.src == QV_SRC_ANY)
 * An arriving message takes the oldest posted receive that accepts it, a receive takes the oldest
 * unexpected message that it accepts. Every answer is compared with an oracle's: first, untimed,
 * one by one, then by sums in what is timed. An implementation that is wrong gets no figures.
 *
 * Nodes are the bench's memory, the same for all implementations: node_size bytes at least, aligned
 * to 64, at the same addresses for all. The bench fills a node by recv_init or msg_init once before
 * an engine sees it. While a node is queued its bytes are the engine's. When it has left the queue
 * the bench gives it to the engine again as it is, so the engine must keep what it needs of the
 * key.
 *
 * One engine at a time is used, by one thread. Nothing may be kept between engines.
 */
#ifndef QUIVER_CONTENDER_H
#define QUIVER_CONTENDER_H

#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a plugin must be compiled again. */
#define QV_CONTENDER_ABI 2u

/* Receives may have source QV_SRC_ANY. Without it the bench leaves such cases out. */
#define QV_CONTENDER_ANY_SOURCE 1u
/* Receives may ignore bits of the tag (any mask). Without it the bench leaves such cases out. */
#define QV_CONTENDER_ANY_TAG 2u

struct qv_contender {
	uint32_t abi;     /* QV_CONTENDER_ABI */
	uint32_t flags;   /* QV_CONTENDER_ANY_* */
	const char *name; /* impl in the rows: no comma, no blank, at most 63 characters */
	size_t node_size; /* bytes of a receive or a message, whichever is more; 1 to 1024 */

	/* A new engine with empty queues, or NULL: no memory. self is this structure, so that
	 * several entries can share their calls. */
	void *(*create)(const struct qv_contender *self);

	/* Free an engine, from create. Nodes may still be queued: they are forgotten. */
	void (*destroy)(void *engine);

	/*
	 * Make a node a receive.
	 *   node    node_size bytes, aligned to 64, in no queue
	 *   tag     wanted tag
	 *   ignore  bits of it that are not compared; 0 without QV_CONTENDER_ANY_TAG
	 *   src     wanted source, or with QV_CONTENDER_ANY_SOURCE also QV_SRC_ANY
	 */
	void (*recv_init)(void *node, uint64_t tag, uint64_t ignore, uint32_t src);

	/*
	 * Make a node a message.
	 *   node  as for recv_init
	 *   tag   of the message
	 *   src   its sender, never QV_SRC_ANY
	 */
	void (*msg_init)(void *node, uint64_t tag, uint32_t src);

	/* The two calls that are timed have the shape of qv_match_post and qv_match_deliver. They
	 * return 0, or anything else on an error (no memory, say), which ends the case for this
	 * implementation; *matched is written where they return 0. */

	/*
	 * Post a receive.
	 *   engine   from create
	 *   node     a receive, in no queue
	 *   matched  out: the node of the message that it takes, removed from its queue; NULL:
	 *            there is none, the receive has been queued
	 */
	int (*post)(void *engine, void *node, void **matched);

	/*
	 * A message arrives.
	 *   engine   from create
	 *   node     a message, in no queue
	 *   matched  out: the node of the receive that takes it, removed from its queue; NULL:
	 *            there is none, the message has been queued
	 */
	int (*arrive)(void *engine, void *node, void **matched);

	/*
	 * Remove a queued receive. May be NULL: never called then.
	 *   engine  from create
	 *   node    a receive
	 * Returns 0, or -1: it is not queued.
	 */
	int (*cancel)(void *engine, void *node);

	/* Bytes of memory that an engine, from create, holds beyond the nodes. May be NULL: then
	 * the implementation is not in the mem cases. */
	size_t (*memory)(const void *engine);
};

/* What the plugin exports: entry `index`, static storage, or NULL when there are no more. */
QV_API const struct qv_contender *qv_contender_get(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_CONTENDER_H */
