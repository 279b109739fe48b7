/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ompi.c - structure "ompi", the shape of Open MPI's ob1: an array indexed by source, for each
 * source one list of receives and one of messages, and one list of any-source receives. Sequence
 * numbers order the lists: an arrival searches two of them, an any-source receive searches the
 * messages of every source that has ever sent.
 *
 * There is no hash to aim at, and no defence against one source with many tags: its list is walked.
 */
#include "queues.h"

/* Sources from here on share one record: the array must not follow whatever number comes. */
#define FAR_SOURCE (UINT32_C(1) << 20)
/* Length of the first array. */
#define FIRST_SOURCES 64

struct ompi_source {
	struct qv_chain list[2];
	struct ompi_source *next; /* all records, for any-source receives */
};

struct ompi {
	struct qv_queues q;
	struct ompi_source **sources; /* record of a source, or NULL */
	uint32_t n_sources;           /* length of the array */
	struct ompi_source far;       /* the last of all records */
	struct ompi_source *all;
	struct qv_chain wild; /* any-source receives */
};

static struct ompi_source *find_source(struct ompi *o, uint32_t src)
{
	if (QV_LIKELY(src < o->n_sources))
		return o->sources[src];
	return src >= FAR_SOURCE ? &o->far : NULL;
}

static QV_COLD int grow(struct ompi *o, uint32_t src)
{
	struct qv_mem *mem = &o->q.base.mem;
	uint32_t n = o->n_sources ? o->n_sources : FIRST_SOURCES;
	struct ompi_source **sources;

	while (n <= src)
		n *= 2;
	sources = qv_mem_get_table(mem, n * sizeof(*sources));
	if (!sources)
		return QV_ENOMEM;
	if (o->sources)
		memcpy(sources, o->sources, o->n_sources * sizeof(*sources));
	qv_mem_put(mem, o->sources, o->n_sources * sizeof(*sources));
	o->sources = sources;
	o->n_sources = n;
	return QV_OK;
}

/* The record of a source that has none yet. */
static QV_COLD struct ompi_source *add_source(struct ompi *o, uint32_t src)
{
	struct ompi_source *s;

	if (src >= o->n_sources && grow(o, src))
		return NULL;
	s = qv_mem_get(&o->q.base.mem, sizeof(*s));
	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->next = o->all;
	o->all = s;
	o->sources[src] = s;
	return s;
}

static int append(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	struct ompi *o = (struct ompi *)q;
	uint32_t src = qv_key_src(side, e);
	struct qv_chain *c = &o->wild;
	struct ompi_source *s;

	if (src != QV_SRC_ANY) {
		s = find_source(o, src);
		if (QV_UNLIKELY(!s))
			s = add_source(o, src);
		if (!s)
			return QV_ENOMEM;
		c = &s->list[side];
	}
	e[QV_E_HOME] = (uintptr_t)c;
	qv_chain_append(c, e, QV_E_LINK);
	return QV_OK;
}

static void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	qv_chain_remove((struct qv_chain *)qv_entry(e[QV_E_HOME]), e, QV_E_LINK);
}

static uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src, uint64_t *seen)
{
	struct ompi *o = (struct ompi *)q;
	const struct ompi_source *s = find_source(o, src);
	uint64_t *e = NULL;

	if (s)
		e = qv_chain_find_recv(&s->list[QV_POSTED], QV_E_LINK, tag, src, NULL, seen);
	return qv_chain_find_recv(&o->wild, QV_E_LINK, tag, src, e, seen);
}

static uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen)
{
	struct ompi *o = (struct ompi *)q;
	const struct ompi_source *s;
	uint64_t *e = NULL;

	if (src != QV_SRC_ANY) {
		s = find_source(o, src);
		return s ? qv_chain_find_msg(&s->list[QV_UNEXPECTED], QV_E_LINK, tag, ignore, src,
					     NULL, seen)
			 : NULL;
	}
	for (s = o->all; s; s = s->next)
		e = qv_chain_find_msg(&s->list[QV_UNEXPECTED], QV_E_LINK, tag, ignore, src, e,
				      seen);
	return e;
}

static void each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx)
{
	const struct ompi *o = (const struct ompi *)q;

	for (const struct ompi_source *s = o->all; s; s = s->next)
		qv_chain_each(&s->list[side], QV_E_LINK, fn, ctx);
	if (side == QV_POSTED)
		qv_chain_each(&o->wild, QV_E_LINK, fn, ctx);
}

static int init(struct qv_match *m)
{
	struct ompi *o = (struct ompi *)m;

	qv_queues_init(&o->q);
	o->all = &o->far;
	return QV_OK;
}

static void fini(struct qv_match *m)
{
	struct ompi *o = (struct ompi *)m;
	struct ompi_source *next;

	for (struct ompi_source *s = o->all; s != &o->far; s = next) {
		next = s->next;
		qv_mem_put(&m->mem, s, sizeof(*s));
	}
	qv_mem_put(&m->mem, o->sources, o->n_sources * sizeof(*o->sources));
	qv_queues_fini(&o->q);
}

static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg, each};
QV_QUEUES_CALLS(queue_ops)

const struct qv_match_ops qv_match_ompi = {
	.name = "ompi",
	.size = sizeof(struct ompi),
	.init = init,
	.fini = fini,
	QV_QUEUES_OPS,
};
