/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - what the model finds fastest for variable-length blocks, and for
 * neighbours' ones. Nothing counts but what all ranks know alike. */
#include "mpi_glue/run/blocks.h"

/* Edges of all ranks times edges of one. To look for groups of two takes some 15 ns times that, and
 * for larger ones many times more. */
#define MOST_FOR_TWO 4e6
#define MOST_FOR_ALL 1e5
#define FORWARDS     0.9 /* who forwards must take less than this share of who does not */

static const struct qv_network *network(void)
{
	static const struct qv_network fast = {.alpha = 1.5e-6, .beta = 1e-10, .gamma = 1e-10};

	if (qv_mpi.bursts.alpha > 0)
		return &qv_mpi.bursts;
	return qv_mpi.network.alpha > 0 ? &qv_mpi.network : &fast;
}

static enum qv_coll coll_of(enum qv_mpi_name name)
{
	return qv_mpi_is_gather(name) ? QV_COLL_ALLGATHER : QV_COLL_ALLTOALL;
}

/* Plans without regard to nodes are kept with the graph. */
static int plan_of(const struct qv_mpi_comm *c, uint32_t k, struct qv_neighbor_plan **plan)
{
	const struct qv_neighbor_spec spec = {.graph = c->pattern->graph, .k = k};

	*plan = c->pattern->plans[k];
	return *plan ? QV_OK : qv_neighbor_plan(&spec, plan);
}

static int neighbor_seconds(const struct qv_mpi_comm *c, enum qv_mpi_name name,
			    const struct qv_traffic *traffic, const struct qv_mpi_rule *rule,
			    double *seconds)
{
	struct qv_neighbor_plan *plan;
	int rc = plan_of(c, rule->k, &plan);

	if (rc)
		return rc;
	c->pattern->plans[rule->k] = plan;
	return qv_neighbor_seconds(network(), plan, coll_of(name), traffic->bytes, seconds);
}

int qv_mpi_model_seconds(const struct qv_mpi_comm *c, enum qv_mpi_name name,
			 const struct qv_traffic *traffic, const struct qv_mpi_rule *rule,
			 double *seconds)
{
	switch (rule->by) {
	case QV_MPI_BY_FRIENDS: return neighbor_seconds(c, name, traffic, rule, seconds);
	case QV_MPI_BY_WAY:
		*seconds = qv_way_seconds(network(), rule->way, rule->k, traffic);
		break;
	default:
		*seconds = name == QV_MPI_ALLTOALLV
				   ? qv_straight_seconds(network(), traffic)
				   : qv_model_seconds(network(), QV_COLL_ALLGATHER, rule->algorithm,
						      traffic->ranks,
						      traffic->bytes * traffic->ranks, 0);
		break;
	}
	return QV_OK;
}

/* It takes the lead if it takes less than that share of the best one's time. */
static int enter(const struct qv_mpi_comm *c, enum qv_mpi_name name,
		 const struct qv_traffic *traffic, const struct qv_mpi_rule *rule, double share,
		 struct qv_mpi_guess *best)
{
	double seconds = 0;
	const int rc = qv_mpi_model_seconds(c, name, traffic, rule, &seconds);

	if (!rc && seconds < share * best->seconds)
		*best = (struct qv_mpi_guess){*rule, seconds};
	return rc;
}

static int best_of_friends(const struct qv_mpi_comm *c, enum qv_mpi_name name,
			   const struct qv_traffic *traffic, struct qv_mpi_guess *best)
{
	const double work = traffic->degree * traffic->degree * traffic->ranks;
	const uint32_t most = work > MOST_FOR_TWO   ? 1
			      : work > MOST_FOR_ALL ? 2
						    : QV_MPI_FRIENDS_TRIED;
	int rc = QV_OK;

	for (uint32_t k = 2; k <= most && !rc; k++) {
		const struct qv_mpi_rule rule = {.by = QV_MPI_BY_FRIENDS, .k = k};

		rc = enter(c, name, traffic, &rule, best->rule.k > 1 ? 1 : FORWARDS, best);
	}
	return rc;
}

static int best_of_ways(const struct qv_traffic *traffic, struct qv_mpi_guess *best)
{
	struct qv_way_choice choice;
	const int rc = qv_choose_way(network(), traffic, FORWARDS, &choice);

	if (!rc && !choice.straight)
		*best = (struct qv_mpi_guess){
			{.by = QV_MPI_BY_WAY, .way = choice.way, .k = choice.radix},
			choice.seconds};
	return rc;
}

static int best_of_schedules(const struct qv_mpi_comm *c, enum qv_mpi_name name,
			     const struct qv_traffic *traffic, struct qv_mpi_guess *best)
{
	int rc = QV_OK;

	for (int i = 0; i < QV_N_ALGORITHMS && !rc; i++) {
		const struct qv_mpi_rule rule = {.by = QV_MPI_BY_SCHEDULE,
						 .algorithm = (enum qv_algorithm)i};

		if (qv_mpi_rule_has(name, i))
			rc = enter(c, name, traffic, &rule, 1, best);
	}
	return rc;
}

int qv_mpi_model_best(const struct qv_mpi_comm *c, enum qv_mpi_name name,
		      const struct qv_traffic *traffic, struct qv_mpi_guess *best)
{
	struct qv_mpi_guess guess = {
		.rule = {.by = QV_MPI_BY_SCHEDULE, .algorithm = QV_ALG_DIRECT}};
	int rc;

	if (qv_mpi_is_neighbor(name))
		guess.rule = (struct qv_mpi_rule){.by = QV_MPI_BY_FRIENDS, .k = 1};
	rc = qv_mpi_model_seconds(c, name, traffic, &guess.rule, &guess.seconds);
	if (!rc && qv_mpi_is_neighbor(name))
		rc = best_of_friends(c, name, traffic, &guess);
	else if (!rc && name == QV_MPI_ALLTOALLV)
		rc = best_of_ways(traffic, &guess);
	else if (!rc)
		rc = best_of_schedules(c, name, traffic, &guess);
	if (!rc)
		*best = guess;
	return rc;
}
