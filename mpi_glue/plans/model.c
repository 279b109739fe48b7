/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - what the model finds fastest for variable-length blocks, and for
 * neighbours' ones. Nothing counts but what all ranks know alike. */
#include "mpi_glue/run/blocks.h"

/* The most neighbours of a rank for which groups are looked for. With so many a rank may be in 1 * 10^4 groups
 * of four, or 2 * 10^4 of two, which take 1.6 and 3 MB while they are looked for. */
#define MOST_FOR_ALL 32
#define MOST_FOR_TWO 256
#define FORWARDS     0.9 /* who forwards must take less than this share of who does not */

static const struct qv_network *one_by_one(void)
{
	static const struct qv_network fast = {.alpha = 1.5e-6, .beta = 1e-10, .gamma = 1e-10};

	return qv_mpi.network.alpha > 0 ? &qv_mpi.network : &fast;
}

static const struct qv_network *network(void)
{
	return qv_mpi.bursts.alpha > 0 ? &qv_mpi.bursts : one_by_one();
}

/* Through a tree the lengths go before. */
static double rooted_seconds(const struct qv_traffic *traffic, const struct qv_mpi_rule *rule)
{
	const double bytes = traffic->bytes, ranks = traffic->ranks;

	if (rule->algorithm == QV_ALG_DIRECT)
		return qv_root_seconds(one_by_one(), network(), traffic->ranks, bytes);
	return qv_model_seconds(one_by_one(), QV_COLL_GATHER, rule->algorithm, traffic->ranks,
				bytes * ranks, 0) +
	       qv_model_seconds(one_by_one(), QV_COLL_GATHER, rule->algorithm, traffic->ranks,
				sizeof(int) * ranks, 0);
}

static double schedule_seconds(enum qv_mpi_name name, const struct qv_traffic *traffic,
			       const struct qv_mpi_rule *rule)
{
	if (qv_mpi_is_rooted_v(name))
		return rooted_seconds(traffic, rule);
	if (name == QV_MPI_ALLTOALLV)
		return qv_straight_seconds(network(), traffic);
	return qv_model_seconds(network(), QV_COLL_ALLGATHER, rule->algorithm, traffic->ranks,
				traffic->bytes * traffic->ranks, 0);
}

/* Each rank knows its own part: the slowest counts. */
static int neighbor_seconds(struct qv_mpi_comm *c, enum qv_mpi_name name,
			    const struct qv_traffic *traffic, const struct qv_mpi_rule *rule,
			    double *seconds)
{
	enum { SECONDS, FAILED, N };
	const struct qv_mpi_friends *friends;
	double mine[N] = {0, 1}, all[N];

	if (qv_mpi_friends_of(c, rule, QV_MPI_BLOCKING, &friends) == QV_MPI_TAKEN)
		mine[FAILED] = qv_neighbor_seconds(network(), friends->plan, qv_mpi_coll_of(name),
						   traffic->bytes, &mine[SECONDS]) != QV_OK;
	if (QV_REAL(Allreduce)(mine, all, N, MPI_DOUBLE, MPI_MAX, c->comm) || all[FAILED] > 0)
		return QV_ENOMEM;
	*seconds = all[SECONDS];
	return QV_OK;
}

int qv_mpi_model_seconds(struct qv_mpi_comm *c, enum qv_mpi_name name,
			 const struct qv_traffic *traffic, const struct qv_mpi_rule *rule,
			 double *seconds)
{
	switch (rule->by) {
	case QV_MPI_BY_FRIENDS: return neighbor_seconds(c, name, traffic, rule, seconds);
	case QV_MPI_BY_WAY:
		*seconds = qv_way_seconds(network(), rule->way, rule->k, traffic);
		break;
	default: *seconds = schedule_seconds(name, traffic, rule); break;
	}
	return QV_OK;
}

/* It takes the lead if it takes less than that share of the best one's time. */
static int enter(struct qv_mpi_comm *c, enum qv_mpi_name name, const struct qv_traffic *traffic,
		 const struct qv_mpi_rule *rule, double share, struct qv_mpi_guess *best)
{
	double seconds = 0;
	const int rc = qv_mpi_model_seconds(c, name, traffic, rule, &seconds);

	if (!rc && seconds < share * best->seconds)
		*best = (struct qv_mpi_guess){*rule, seconds};
	return rc;
}

static int best_of_friends(struct qv_mpi_comm *c, enum qv_mpi_name name,
			   const struct qv_traffic *traffic, struct qv_mpi_guess *best)
{
	const int degree = c->pattern->degree;
	const uint32_t most = degree > MOST_FOR_TWO   ? 1
			      : degree > MOST_FOR_ALL ? 2
						      : QV_MPI_FRIENDS_TRIED;
	bool combines = true; /* where two have too little in common, more have, too */
	int rc = QV_OK;

	for (uint32_t k = 2; k <= most && combines && !rc; k++) {
		const struct qv_mpi_rule rule = {.by = QV_MPI_BY_FRIENDS, .k = k};
		const struct qv_mpi_friends *friends;

		rc = enter(c, name, traffic, &rule, best->rule.k > 1 ? 1 : FORWARDS, best);
		if (!rc && qv_mpi_friends_of(c, &rule, QV_MPI_BLOCKING, &friends) == QV_MPI_TAKEN)
			combines = friends->combines;
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

static int best_of_schedules(struct qv_mpi_comm *c, enum qv_mpi_name name,
			     const struct qv_traffic *traffic, struct qv_mpi_guess *best)
{
	int rc = QV_OK;

	for (int i = 0; i < QV_N_ALGORITHMS && !rc; i++) {
		const struct qv_mpi_rule rule = {.by = QV_MPI_BY_SCHEDULE,
						 .algorithm = (enum qv_algorithm)i};

		if (qv_mpi_rule_has(name, i) && qv_mpi_has_tags(c, name, &rule))
			rc = enter(c, name, traffic, &rule, 1, best);
	}
	return rc;
}

int qv_mpi_model_best(struct qv_mpi_comm *c, enum qv_mpi_name name,
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
