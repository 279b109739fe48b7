/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_match.c - the public calls of the matching engine, handed to the chosen structure. */
#include <stdlib.h>

#include "match/qv_match_ops.h"

static const struct {
	const char *name;
	const struct qv_match_ops *ops;
} structures[] = {
	{"auto", &qv_match_ll},
	{"ll", &qv_match_ll},
};

#define N_STRUCTURES (sizeof(structures) / sizeof(structures[0]))

static const char *const names[N_STRUCTURES + 1] = {"auto", "ll", NULL};

void qv_match_settings_default(struct qv_match_settings *s)
{
	s->structure = "auto";
	s->isa = QV_ISA_AUTO;
}

const char *const *qv_match_structures(void)
{
	return names;
}

static const struct qv_match_ops *find_structure(const char *name)
{
	for (size_t i = 0; i < N_STRUCTURES; i++)
		if (!strcmp(structures[i].name, name))
			return structures[i].ops;
	return NULL;
}

int qv_match_create(const struct qv_match_settings *settings, struct qv_match **engine)
{
	struct qv_match_settings s;
	const struct qv_match_ops *ops;
	struct qv_match *m;
	int err;

	qv_match_settings_default(&s);
	if (settings)
		s = *settings;
	ops = find_structure(s.structure);
	if (!ops || !qv_isa_name(s.isa))
		return QV_EINVAL;
	if (!qv_isa_usable(s.isa))
		return QV_ENOSYS;
	m = aligned_alloc(64, (ops->size + 63) & ~(size_t)63);
	if (!m)
		return QV_ENOMEM;
	memset(m, 0, ops->size);
	m->ops = ops;
	m->isa = s.isa == QV_ISA_AUTO ? qv_isa_best() : s.isa;
	err = ops->init(m);
	if (err) {
		free(m);
		return err;
	}
	*engine = m;
	return QV_OK;
}

void qv_match_destroy(struct qv_match *engine)
{
	if (!engine)
		return;
	engine->ops->fini(engine);
	free(engine);
}

int qv_match_post(struct qv_match *engine, struct qv_recv *recv, struct qv_msg **msg)
{
	return engine->ops->post(engine, recv, msg);
}

struct qv_recv *qv_match_arrive(struct qv_match *engine, uint64_t tag, uint32_t src)
{
	return engine->ops->arrive(engine, tag, src);
}

int qv_match_queue(struct qv_match *engine, struct qv_msg *msg)
{
	return engine->ops->queue(engine, msg);
}

struct qv_msg *qv_match_peek(struct qv_match *engine, uint64_t tag, uint64_t ignore, uint32_t src)
{
	return engine->ops->peek(engine, tag, ignore, src);
}

void qv_match_take(struct qv_match *engine, struct qv_msg *msg)
{
	engine->ops->take(engine, msg);
}

void qv_match_cancel(struct qv_match *engine, struct qv_recv *recv)
{
	engine->ops->cancel(engine, recv);
}

struct qv_recv *qv_match_next_recv(struct qv_match *engine, const struct qv_recv *prev)
{
	return engine->ops->next_recv(engine, prev);
}

struct qv_msg *qv_match_next_msg(struct qv_match *engine, const struct qv_msg *prev)
{
	return engine->ops->next_msg(engine, prev);
}

void qv_match_get_stats(const struct qv_match *engine, struct qv_match_stats *stats)
{
	*stats = engine->stats;
}

size_t qv_match_memory(const struct qv_match *engine)
{
	return engine->ops->size + engine->ops->memory(engine);
}

const char *qv_match_structure(const struct qv_match *engine)
{
	return engine->ops->name;
}

enum qv_isa qv_match_isa(const struct qv_match *engine)
{
	return engine->isa;
}
