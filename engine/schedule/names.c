/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - what collectives and algorithms are called, and which goes with which. */
#include "schedule.h"

#define ALG(name) (1u << QV_ALG_##name)

static const char *const algorithms[QV_N_ALGORITHMS] = {
	"binomial",  "ring",          "butterfly", "radix",   "pipeline", "direct", "clairvoyant",
	"segmented", "dissemination", "prefix",    "kprefix", "kshift",   "mesh2",  "mesh3",
	"hypercube", "hybrid",        "redirect",  "unit",    "binary",
};

static const char *const colls[QV_N_COLLS] = {
	"reduce",    "allreduce", "reduce_scatter", "barrier", "broadcast", "gather",
	"allgather", "scatter",   "alltoall",       "scan",    "exscan",
};

/* Blocks travel around a ring from where they begin; arrivals have no order. */
static const unsigned int ordered_sets =
	ALG(BINOMIAL) | ALG(BUTTERFLY) | ALG(RADIX) | ALG(PIPELINE) | ALG(DIRECT) | ALG(REDIRECT);

static const unsigned int unordered_sets =
	ordered_sets | ALG(RING) | ALG(CLAIRVOYANT) | ALG(SEGMENTED);

/* By other ranks, in fewer and longer messages. */
static const unsigned int forwarded = ALG(MESH2) | ALG(MESH3) | ALG(HYPERCUBE) | ALG(HYBRID);

static unsigned int set_of(enum qv_coll coll, int ordered)
{
	switch (coll) {
	case QV_COLL_REDUCE:
	case QV_COLL_ALLREDUCE: return ordered ? ordered_sets : unordered_sets | ALG(UNIT);
	case QV_COLL_REDUCE_SCATTER: return ordered ? ordered_sets : unordered_sets;
	case QV_COLL_BARRIER: return ALG(DISSEMINATION) | ALG(BINOMIAL) | ALG(UNIT);
	case QV_COLL_BROADCAST:
		return ALG(BINOMIAL) | ALG(RING) | ALG(PIPELINE) | ALG(CLAIRVOYANT) | ALG(UNIT) |
		       ALG(BINARY);
	case QV_COLL_GATHER:
	case QV_COLL_SCATTER: return ALG(BINOMIAL) | ALG(DIRECT);
	case QV_COLL_ALLGATHER:
		return ALG(RING) | ALG(DISSEMINATION) | ALG(DIRECT) | ALG(PREFIX) | ALG(KPREFIX) |
		       ALG(KSHIFT) | forwarded;
	case QV_COLL_ALLTOALL: return ALG(DIRECT) | ALG(PREFIX) | forwarded;
	case QV_COLL_SCAN:
	case QV_COLL_EXSCAN: return ALG(BINOMIAL) | ALG(PIPELINE);
	}
	return 0;
}

int qv_schedule_exists(enum qv_coll coll, enum qv_algorithm algorithm, int ordered)
{
	return (unsigned int)algorithm < QV_N_ALGORITHMS &&
	       (set_of(coll, ordered) >> algorithm & 1);
}

int qv_can_pace(enum qv_coll coll, enum qv_algorithm algorithm)
{
	const unsigned int straight = ALG(DIRECT) | ALG(PREFIX) | ALG(KPREFIX) | ALG(KSHIFT);

	return (coll == QV_COLL_ALLGATHER || coll == QV_COLL_ALLTOALL) &&
	       (straight >> algorithm & 1);
}

const char *qv_algorithm_name(enum qv_algorithm algorithm)
{
	return (unsigned int)algorithm < QV_N_ALGORITHMS ? algorithms[algorithm] : NULL;
}

const char *qv_coll_name(enum qv_coll coll)
{
	return (unsigned int)coll < QV_N_COLLS ? colls[coll] : NULL;
}
