/* SPDX-License-Identifier: BSD-2-Clause */
/* rules.h - what settings name: operations, by what they are run, and why one goes to the MPI after all. */
#ifndef QV_MPI_RULES_H
#define QV_MPI_RULES_H

#include <stdbool.h>

#include <quiver/exchange.h>
#include <quiver/select.h>

/* From settings.c. */

#define QV_MPI_N_COLLS QV_N_COLLS /* all of enum qv_coll have names in settings */

/* Whose calls: as settings name them, but for reduce_scatter_block. */
enum qv_mpi_name {
	QV_MPI_REDUCE,
	QV_MPI_ALLREDUCE,
	QV_MPI_REDUCE_SCATTER,
	QV_MPI_REDUCE_SCATTER_BLOCK,
	QV_MPI_BARRIER,
	QV_MPI_BCAST,
	QV_MPI_ALLGATHER,
	QV_MPI_ALLTOALL,
	QV_MPI_GATHER,
	QV_MPI_SCATTER,
	QV_MPI_SCAN,
	QV_MPI_EXSCAN,
	QV_MPI_REDUCE_LOCAL,
	/* Of variable-length blocks, or of neighbours' ones; see mpi_glue/run/blocks.h. */
	QV_MPI_ALLGATHERV,
	QV_MPI_ALLTOALLV,
	QV_MPI_GATHERV,
	QV_MPI_SCATTERV,
	QV_MPI_NEIGHBOR_ALLGATHER,
	QV_MPI_NEIGHBOR_ALLGATHERV,
	QV_MPI_NEIGHBOR_ALLTOALL,
	QV_MPI_NEIGHBOR_ALLTOALLV,
	QV_MPI_N_NAMES,
};

/* Of variable-length blocks, which only the root has all of: no other rank knows their lengths. */
static inline bool qv_mpi_is_rooted_v(enum qv_mpi_name name)
{
	return name == QV_MPI_GATHERV || name == QV_MPI_SCATTERV;
}

/* By what a call of variable-length or neighbours' blocks is run. */
enum qv_mpi_by {
	QV_MPI_BY_MPI,
	QV_MPI_BY_SCHEDULE,
	QV_MPI_BY_WAY,     /* of a sparse exchange */
	QV_MPI_BY_FRIENDS, /* of neighbours: plans of neighbor.h */
	QV_MPI_BY_AUTO,    /* what is fastest, the MPI included */
};

struct qv_mpi_rule {
	enum qv_mpi_by by;
	enum qv_algorithm algorithm;
	enum qv_way way;
	uint32_t k; /* friends, 1: nobody has any; or the radix of a router */
	bool nodes; /* friends on one node only */
	bool cumulative;
};

/* What was asked for; kept until the last plan that was made by it is gone. */
struct qv_mpi_rules {
	struct qv_select *select;
	bool ours[QV_MPI_N_COLLS];               /* named, and not `mpi` */
	bool automatic[QV_MPI_N_COLLS];          /* `auto`: where it is faster than the MPI */
	bool memory[QV_MPI_N_COLLS];             /* `memory`: within nodes */
	bool reduce_local;                       /* MPI_Reduce_local is ours, too */
	bool observed[QV_MPI_N_COLLS];           /* when ranks come to it matters */
	struct qv_mpi_rule rule[QV_MPI_N_NAMES]; /* from QV_MPI_ALLGATHERV on */
	bool named[QV_MPI_N_NAMES];              /* the same */
	uint64_t number;                         /* no others of this process have it */
	char *text;                              /* that they were made of */
	int users;
};

/* QV_EINVAL with one line of text that names what is known; QV_ENOMEM. */
int qv_mpi_rules_open(const char *text, struct qv_mpi_rules **rules, char *why, size_t room);
/* One user less; the lock is held. */
void qv_mpi_rules_put(struct qv_mpi_rules *rules);

/* From mpi_glue/plans/rule.c. */

/* The operation of so many characters, from QV_MPI_ALLGATHERV on; QV_MPI_N_NAMES: none of these. */
enum qv_mpi_name qv_mpi_rule_find(const char *text, size_t length);
/* NULL before QV_MPI_ALLGATHERV. */
const char *qv_mpi_rule_name(enum qv_mpi_name name);
/* Whether the algorithm moves blocks of any length, and each rank knows its own, or can be told. */
bool qv_mpi_rule_has(enum qv_mpi_name name, int algorithm);
/* What stands behind the '='; QV_EINVAL with one line that names what is known. */
int qv_mpi_rule_parse(enum qv_mpi_name name, const char *text, size_t length,
		      struct qv_mpi_rule *rule, char *why, size_t room);

enum qv_mpi_form {
	QV_MPI_BLOCKING,
	QV_MPI_NONBLOCKING,
	QV_MPI_INIT,
	QV_MPI_N_FORMS,
};

/* Why a call goes to the MPI. */
enum qv_mpi_reason {
	QV_MPI_NOT_CHOSEN,
	QV_MPI_ODD_ARGUMENT,
	QV_MPI_INTER,
	QV_MPI_ALONE,
	QV_MPI_EMPTY,
	QV_MPI_GAPS,
	QV_MPI_ODD_OP,
	QV_MPI_USER_OP,
	QV_MPI_ORDER,
	QV_MPI_UNEQUAL,
	QV_MPI_TOO_LONG,
	QV_MPI_TOO_MANY,
	QV_MPI_NO_HOOK,
	QV_MPI_TRIED,
	QV_MPI_SLOWER,
	QV_MPI_NO_TOPOLOGY,
	QV_MPI_NOT_KNOWN,
	QV_MPI_TWICE,
	QV_MPI_MIXED,
	QV_MPI_NO_DUP,
	QV_MPI_DUP_REFUSED,
	QV_MPI_APART,
	QV_MPI_NOT_BLOCKING,
	QV_MPI_NO_KERNEL,
	QV_MPI_N_REASONS,
	QV_MPI_TAKEN = QV_MPI_N_REASONS, /* no reason: algorithms follow */
	QV_MPI_CRYSTAL = QV_MPI_TAKEN + QV_N_ALGORITHMS,
	QV_MPI_FRIENDS,
	QV_MPI_FRIENDS_OF_NODE,
	QV_MPI_MEMORY,
	QV_MPI_KERNEL,
	QV_MPI_N_WAYS,
	QV_MPI_FAILED =
		QV_MPI_N_WAYS, /* neither: no memory, which no other rank knows; not counted */
};

#endif /* QV_MPI_RULES_H */
