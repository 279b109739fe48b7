/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c - the public calls of the matching engine, handed to the chosen structure. The default
 * structure's fast paths are inlined here: what they cost is what most programs pay.
 */
#include "engine/match/auto/fast.h"
#include "engine/base/settings.h"
#include "engine/match/live.h"
#include "kernels/select.h"

#define ALL_HINTS                                                                      \
	(uint32_t)(QV_HINT_NO_ANY_SOURCE | QV_HINT_NO_ANY_TAG | QV_HINT_EXACT_LENGTH | \
		   QV_HINT_ALLOW_OVERTAKING)

/* The default first. */
static const struct qv_match_ops *const structures[] = {
	&qv_match_auto,       &qv_match_ll,   &qv_match_lla, &qv_match_llv,    &qv_match_ompi,
	&qv_match_ucx,        &qv_match_hash, &qv_match_nm,  &qv_match_bins,   &qv_match_pnp,
	&qv_match_pnp_static, &qv_match_clu,  &qv_match_col, &qv_match_col_ll, &qv_match_col_pnp,
};
static const char *const names[] = {
	"auto", "ll",  "lla",        "llv", "ompi", "ucx",    "hash",    "nm",
	"bins", "pnp", "pnp-static", "clu", "col",  "col-ll", "col-pnp", NULL,
};
_Static_assert(sizeof(names) / sizeof(names[0]) == sizeof(structures) / sizeof(structures[0]) + 1,
	       "a name for each structure");

void qv_match_settings_init(struct qv_match_settings *s, size_t size)
{
	const struct qv_match_settings now = {.structure = "auto", .isa = QV_ISA_AUTO};

	memset(s, 0, size);
	memcpy(s, &now, size < sizeof(now) ? size : sizeof(now));
	s->size = size;
}

const char *const *qv_match_structures(void)
{
	return names;
}

/* The structure that `text` begins with; *options: what follows the colon, or NULL. */
static const struct qv_match_ops *find_structure(const char *text, const char **options)
{
	size_t len = strcspn(text, ":");

	*options = text[len] ? text + len + 1 : NULL;
	for (size_t i = 0; i < sizeof(structures) / sizeof(structures[0]); i++) {
		const char *name = structures[i]->name;

		if (!strncmp(name, text, len) && !name[len])
			return structures[i];
	}
	return NULL;
}

int qv_match_create(const struct qv_match_settings *settings, struct qv_match **engine)
{
	static const struct qv_match_tuning product;

	return qv_match_create_tuned(settings, &product, engine);
}

int qv_match_create_tuned(const struct qv_match_settings *settings,
			  const struct qv_match_tuning *tuning, struct qv_match **engine)
{
	struct qv_match_settings s;
	struct qv_mem mem = tuning->mem;
	const struct qv_match_ops *ops = NULL;
	struct qv_options options;
	const char *text;
	struct qv_match *m;
	int err;

	qv_match_settings_default(&s);
	if (settings &&
	    qv_settings_read(&s, sizeof(s),
			     QV_SETTINGS_UPTO(struct qv_match_settings, collective_op), settings))
		return QV_EINVAL;
	if (s.structure)
		ops = find_structure(s.structure, &text);
	if (!ops || !qv_isa_name(s.isa) || s.hints & ~ALL_HINTS ||
	    qv_options_parse(text, ops->options, &options))
		return QV_EINVAL;
	if (!qv_isa_usable(s.isa))
		return QV_ENOSYS;
	m = qv_mem_get(&mem, ops->size);
	if (!m)
		return QV_ENOMEM;
	memset(m, 0, ops->size);
	m->ops = ops;
	m->isa = s.isa == QV_ISA_AUTO ? qv_isa_best() : s.isa;
	m->kern = qv_kern_select(m->isa);
	m->tuning = *tuning;
	m->mem = mem;
	m->hints = s.hints;
	m->protocol_bits = s.protocol_bits;
	m->direct = ops == &qv_match_auto && !s.hints;
	m->settings = &s;
	m->options = options;
	err = ops->init(m);
	m->settings = NULL;
	if (err) {
		qv_mem_put(&mem, m, ops->size);
		return err;
	}
	*engine = m;
	return QV_OK;
}

void qv_match_destroy(struct qv_match *engine)
{
	struct qv_mem mem;

	if (!engine)
		return;
	qv_match_own_ops(engine)->fini(engine);
	mem = engine->mem;
	qv_mem_put(&mem, engine, qv_match_own_ops(engine)->size);
}

int qv_match_allows(const struct qv_match *engine, uint64_t ignore, uint32_t src)
{
	if (engine->hints & QV_HINT_NO_ANY_SOURCE && src == QV_SRC_ANY)
		return QV_EINVAL;
	if (engine->hints & QV_HINT_NO_ANY_TAG && ignore & ~engine->protocol_bits)
		return QV_EINVAL;
	return QV_OK;
}

static QV_NOINLINE int post_hinted(struct qv_match *engine, struct qv_recv *recv,
				   struct qv_msg **msg)
{
	if (qv_match_allows(engine, recv->ignore, recv->src))
		return QV_EINVAL;
	return engine->ops->post(engine, recv, msg);
}

int qv_match_post(struct qv_match *engine, struct qv_recv *recv, struct qv_msg **msg)
{
	if (QV_LIKELY(engine->direct))
		return qv_auto_post_fast(qv_auto_of(engine), recv, msg);
	if (QV_LIKELY(!engine->hints))
		return engine->ops->post(engine, recv, msg);
	return post_hinted(engine, recv, msg);
}

struct qv_recv *qv_match_arrive(struct qv_match *engine, uint64_t tag, uint32_t src)
{
	if (QV_LIKELY(engine->direct))
		return qv_auto_arrive_fast(qv_auto_of(engine), tag, src);
	return engine->ops->arrive(engine, tag, src);
}

int qv_match_queue(struct qv_match *engine, struct qv_msg *msg)
{
	if (QV_LIKELY(engine->direct))
		return qv_auto_queue_fast(qv_auto_of(engine), msg);
	return engine->ops->queue(engine, msg);
}

static QV_NOINLINE int deliver(struct qv_match *engine, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = engine->ops->arrive(engine, msg->tag, msg->src);

	if (!r && engine->ops->queue(engine, msg)) {
		qv_match_unarrived(engine); /* as if it had never come */
		return QV_ENOMEM;
	}
	*recv = r;
	return QV_OK;
}

int qv_match_deliver(struct qv_match *engine, struct qv_msg *msg, struct qv_recv **recv)
{
	if (QV_LIKELY(engine->direct))
		return qv_auto_deliver_fast(qv_auto_of(engine), msg, recv);
	return deliver(engine, msg, recv);
}

struct qv_msg *qv_match_peek(struct qv_match *engine, uint64_t tag, uint64_t ignore, uint32_t src)
{
	if (QV_UNLIKELY(engine->hints) && qv_match_allows(engine, ignore, src))
		return NULL;
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
	return qv_match_own_ops(engine)->next_recv(engine, prev);
}

struct qv_msg *qv_match_next_msg(struct qv_match *engine, const struct qv_msg *prev)
{
	return qv_match_own_ops(engine)->next_msg(engine, prev);
}

struct qv_recv *qv_match_find_recv(struct qv_match *engine, qv_match_fits *fits, void *ctx)
{
	const struct qv_match_ops *ops = qv_match_own_ops(engine);
	struct qv_recv *recv = NULL;
	uint64_t age = 0;

	if (ops->find_recv)
		return ops->find_recv(engine, fits, ctx);
	while ((recv = ops->next_recv(engine, recv)) && !fits(ctx, recv, age))
		age++;
	return recv;
}

static void add_precomputed(const struct qv_match *m, struct qv_match_stats *stats)
{
	stats->posted += m->precomputed_posted;
	stats->matched += m->precomputed_matched;
	stats->arrived += m->precomputed_arrived;
}

void qv_match_get_stats(const struct qv_match *engine, struct qv_match_stats *stats)
{
	qv_match_own_ops(engine)->get_stats(engine, stats);
	add_precomputed(engine, stats);
}

size_t qv_match_bytes(const char *structure)
{
	const char *options;
	const struct qv_match_ops *ops = find_structure(structure, &options);

	return ops ? ops->size : 0;
}

/* What the copy points to is elsewhere; no structure follows a pointer to its counters. */
void qv_match_get_copied_stats(const char *structure, const void *copy,
			       struct qv_match_stats *stats)
{
	const struct qv_match *m = copy;
	const char *options;

	find_structure(structure, &options)->get_stats(m, stats);
	add_precomputed(m, stats);
}

size_t qv_match_memory(const struct qv_match *engine)
{
	return engine->mem.bytes;
}

const char *qv_match_structure(const struct qv_match *engine)
{
	return qv_match_own_ops(engine)->name;
}

enum qv_isa qv_match_isa(const struct qv_match *engine)
{
	return engine->isa;
}
