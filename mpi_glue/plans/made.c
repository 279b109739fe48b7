/* SPDX-License-Identifier: BSD-2-Clause */
/* made.c - plans of rules: a schedule that knows nothing of lengths, or an exchange. */
#include "mpi_glue/run/blocks.h"

#include <stdlib.h>

void qv_mpi_made_free(struct qv_mpi_made *made)
{
	if (made)
		qv_schedule_free(made->schedule);
	free(made);
}

bool qv_mpi_rule_equal(const struct qv_mpi_rule *a, const struct qv_mpi_rule *b)
{
	return a->by == b->by && a->algorithm == b->algorithm && a->way == b->way && a->k == b->k &&
	       a->nodes == b->nodes && a->cumulative == b->cumulative;
}

static struct qv_mpi_plan *find(struct qv_mpi_comm *c, const struct qv_mpi_made *like)
{
	for (struct qv_mpi_plan **at = &c->plans; *at; at = &(*at)->next) {
		struct qv_mpi_plan *p = *at;

		if (!p->made || p->made->coll != like->coll || p->made->root != like->root ||
		    p->made->neighbors != like->neighbors ||
		    !qv_mpi_rule_equal(&p->made->rule, &like->rule))
			continue;
		*at = p->next; /* used last: to the front */
		p->next = c->plans;
		c->plans = p;
		return p;
	}
	return NULL;
}

static int build_neighbors(struct qv_mpi_made *m, const struct qv_mpi_comm *c,
			   const struct qv_mpi_friends *friends)
{
	m->combines = friends->combines;
	return qv_neighbor_schedule(friends->plan, m->coll, (uint32_t)c->rank, &m->schedule);
}

/* Whether blocks must lie one behind the other. The root of a scatter copies nothing, and sends from
 * its contribution. */
static void look(struct qv_mpi_made *m)
{
	const uint32_t blocks = qv_schedule_blocks(m->schedule);
	const bool scatter = m->coll == QV_COLL_SCATTER;
	size_t n;
	const struct qv_step *step = qv_schedule_steps(m->schedule, &n);

	for (size_t i = 0; i < n; i++) {
		const enum qv_step_kind kind = step[i].kind;

		if (kind == QV_STEP_FENCE || step[i].blocks < 2 ||
		    (scatter && kind == QV_STEP_COPY))
			continue;
		if (kind == QV_STEP_SEND_IN || kind == QV_STEP_COPY || scatter)
			m->wide_in = true;
		if (kind != QV_STEP_SEND_IN && step[i].first < blocks)
			m->wide = true;
		if (kind == QV_STEP_MOVE && step[i].from < blocks)
			m->wide = true;
	}
}

static int build(struct qv_mpi_made *m, const struct qv_mpi_comm *c,
		 const struct qv_mpi_friends *friends)
{
	const struct qv_schedule_spec spec = {.coll = m->coll,
					      .algorithm = m->rule.algorithm,
					      .ranks = (uint32_t)c->ranks,
					      .root = m->root};
	int rc = QV_OK;

	if (m->rule.by == QV_MPI_BY_WAY)
		return rc;
	rc = m->rule.by == QV_MPI_BY_FRIENDS
		     ? build_neighbors(m, c, friends)
		     : qv_schedule_build(&spec, (uint32_t)c->rank, &m->schedule);
	if (rc)
		return rc;
	look(m);
	/* In trees of up to three ranks all are the root or a leaf. */
	if (qv_mpi_made_is_rooted(m))
		m->combines = m->rule.algorithm != QV_ALG_DIRECT && c->ranks > 3;
	return QV_OK;
}

static unsigned int way_of(const struct qv_mpi_rule *rule)
{
	static const enum qv_algorithm ways[QV_N_WAYS] = {[QV_WAY_MESH2] = QV_ALG_MESH2,
							  [QV_WAY_MESH3] = QV_ALG_MESH3,
							  [QV_WAY_HYPERCUBE] = QV_ALG_HYPERCUBE};

	if (rule->by == QV_MPI_BY_WAY)
		return rule->way == QV_WAY_CRYSTAL ? QV_MPI_CRYSTAL
						   : QV_MPI_TAKEN + (unsigned int)ways[rule->way];
	if (rule->by == QV_MPI_BY_SCHEDULE)
		return QV_MPI_TAKEN + (unsigned int)rule->algorithm;
	if (rule->k < 2)
		return QV_MPI_TAKEN + QV_ALG_DIRECT;
	return rule->nodes ? QV_MPI_FRIENDS_OF_NODE : QV_MPI_FRIENDS;
}

static struct qv_mpi_plan *make(struct qv_mpi_comm *c, const struct qv_mpi_made *like,
				const struct qv_mpi_friends *friends)
{
	struct qv_mpi_plan *p = calloc(1, sizeof(*p));
	struct qv_mpi_made *m = calloc(1, sizeof(*m));

	if (p && m) {
		*m = *like;
		if (!build(m, c, friends)) {
			p->made = m;
			p->schedule = m->schedule;
			p->way = way_of(&m->rule);
			qv_mpi_plan_keep(c, p);
			return p;
		}
	}
	qv_mpi_made_free(m);
	free(p);
	return NULL;
}

struct qv_mpi_plan *qv_mpi_made_plan(struct qv_mpi_comm *c, const struct qv_mpi_blocks_call *call,
				     const struct qv_mpi_rule *rule,
				     const struct qv_mpi_friends *friends)
{
	const struct qv_mpi_made like = {.coll = qv_mpi_coll_of(call->name),
					 .rule = *rule,
					 .root = (uint32_t)call->root,
					 .neighbors = qv_mpi_is_neighbor(call->name)};
	struct qv_mpi_plan *p;

	pthread_mutex_lock(&qv_mpi.lock);
	p = find(c, &like);
	if (!p)
		p = make(c, &like, friends);
	if (p)
		p->busy++;
	pthread_mutex_unlock(&qv_mpi.lock);
	return p;
}
