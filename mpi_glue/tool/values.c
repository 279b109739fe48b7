/* SPDX-License-Identifier: BSD-2-Clause */
/* values.c - our performance variables: what they are called and mean, and their values. */
#include "tool.h"

#include <quiver/fi_ext.h>

#define COUNTER MPI_T_PVAR_CLASS_COUNTER
#define LEVEL   MPI_T_PVAR_CLASS_LEVEL
#define MAXIMUM MPI_T_PVAR_CLASS_HIGHWATERMARK
#define BASIC   MPI_T_VERBOSITY_TUNER_BASIC
#define DETAIL  MPI_T_VERBOSITY_TUNER_DETAIL

/* What stands behind each of the provider's. */
#define WHOSE " (all endpoints of quiver's provider in this process; 0 where it has none)"
#define SINCE "; since the process began" WHOSE

const struct qv_tool_pvar qv_tool_pvars[QV_TOOL_N_PVARS] = {
	[QV_TOOL_POSTED] = {"quiver_posted", "receives posted" WHOSE, COUNTER, BASIC},
	[QV_TOOL_ARRIVED] = {"quiver_arrived", "messages that have come" WHOSE, COUNTER, BASIC},
	[QV_TOOL_MATCHED] = {"quiver_matched", "messages and receives that found each other" WHOSE,
			     COUNTER, BASIC},
	[QV_TOOL_UNEXPECTED] = {"quiver_unexpected",
				"messages that came before their receive" WHOSE, COUNTER, BASIC},
	[QV_TOOL_INSPECTED] = {"quiver_inspected",
			       "entries of the queues compared while searching" WHOSE, COUNTER,
			       DETAIL},
	[QV_TOOL_MODE_CHANGES] = {"quiver_mode_changes",
				  "changes of a queue from a list to hash tables or back" WHOSE,
				  COUNTER, MPI_T_VERBOSITY_MPIDEV_BASIC},
	[QV_TOOL_EAGER] = {"quiver_eager", "messages sent with their payload, without asking" WHOSE,
			   COUNTER, DETAIL},
	[QV_TOOL_RENDEZVOUS] = {"quiver_rendezvous",
				"messages announced before they are sent" WHOSE, COUNTER, DETAIL},
	[QV_TOOL_POSTED_LENGTH] = {"quiver_posted_length", "receives that wait" WHOSE, LEVEL,
				   BASIC},
	[QV_TOOL_UNEXPECTED_LENGTH] = {"quiver_unexpected_length",
				       "messages that wait for a receive" WHOSE, LEVEL, BASIC},
	[QV_TOOL_UNEXPECTED_BYTES] = {"quiver_unexpected_bytes",
				      "bytes of payload stored for messages that wait" WHOSE, LEVEL,
				      BASIC},
	[QV_TOOL_POSTED_LENGTH_MAX] = {"quiver_posted_length_max",
				       "most receives that waited in one queue" SINCE, MAXIMUM,
				       BASIC},
	[QV_TOOL_UNEXPECTED_LENGTH_MAX] = {"quiver_unexpected_length_max",
					   "most messages that waited in one queue" SINCE, MAXIMUM,
					   BASIC},
	[QV_TOOL_UNEXPECTED_BYTES_MAX] = {"quiver_unexpected_bytes_max",
					  "most bytes stored by one endpoint for messages that "
					  "wait" SINCE,
					  MAXIMUM, BASIC},
	[QV_TOOL_ENDPOINTS] = {"quiver_endpoints",
			       "open endpoints of quiver's provider; 0: this process does not "
			       "send through it",
			       LEVEL, MPI_T_VERBOSITY_USER_BASIC},
	[QV_TOOL_COLLECTIVES] = {"quiver_collectives",
				 "calls that libquiver-mpi has run itself, by schedules or through "
				 "memory",
				 COUNTER, BASIC},
	[QV_TOOL_COLLECTIVE_MESSAGES] = {"quiver_collective_messages",
					 "messages that libquiver-mpi has sent for these", COUNTER,
					 DETAIL},
	[QV_TOOL_COLLECTIVE_BYTES] = {"quiver_collective_bytes",
				      "bytes of the messages that libquiver-mpi has sent",
				      MPI_T_PVAR_CLASS_AGGREGATE, DETAIL},
};

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void of_stats(const struct qv_fi_stats *s, uint64_t *v)
{
	const struct qv_match_stats *t = &s->tagged, *u = &s->untagged;

	v[QV_TOOL_POSTED] = t->posted + u->posted;
	v[QV_TOOL_ARRIVED] = t->arrived + u->arrived;
	v[QV_TOOL_MATCHED] = t->matched + u->matched;
	v[QV_TOOL_UNEXPECTED] = t->unexpected + u->unexpected;
	v[QV_TOOL_INSPECTED] = t->inspected + u->inspected;
	v[QV_TOOL_MODE_CHANGES] = t->mode_flips + u->mode_flips;
	v[QV_TOOL_EAGER] = s->eager;
	v[QV_TOOL_RENDEZVOUS] = s->rendezvous;
	v[QV_TOOL_POSTED_LENGTH] = t->posted_now + u->posted_now;
	v[QV_TOOL_UNEXPECTED_LENGTH] = t->unexpected_now + u->unexpected_now;
	v[QV_TOOL_UNEXPECTED_BYTES] = s->unexpected_bytes;
	v[QV_TOOL_POSTED_LENGTH_MAX] = greater(t->posted_max, u->posted_max);
	v[QV_TOOL_UNEXPECTED_LENGTH_MAX] = greater(t->unexpected_max, u->unexpected_max);
	v[QV_TOOL_UNEXPECTED_BYTES_MAX] = s->unexpected_bytes_max;
}

/*
 * The provider goes when libfabric does, at MPI_Finalize, and one that is loaded later counts from 0: what
 * it had counted when it was last seen is kept here. That it is another one shows by a counter that
 * is less than before.
 */
static uint64_t last[QV_TOOL_OF_PROVIDER], gone[QV_TOOL_OF_PROVIDER];

static void keep_last(void)
{
	for (int i = 0; i < QV_TOOL_OF_PROVIDER; i++) {
		if (qv_tool_counts(i))
			gone[i] += last[i];
		else if (qv_tool_pvars[i].class == MAXIMUM)
			gone[i] = greater(gone[i], last[i]);
		last[i] = 0;
	}
}

void qv_tool_values(const struct qv_tool_provider *provider, uint64_t values[QV_TOOL_N_PVARS])
{
	uint64_t now[QV_TOOL_OF_PROVIDER] = {0};
	struct qv_fi_stats s;
	bool another = false;

	if (provider->stats) {
		now[QV_TOOL_ENDPOINTS] = (uint64_t)provider->stats(&s, sizeof(s));
		of_stats(&s, now);
	}
	for (int i = 0; i < QV_TOOL_OF_PROVIDER; i++)
		another |= qv_tool_counts(i) && now[i] < last[i];
	if (another)
		keep_last();
	for (int i = 0; i < QV_TOOL_OF_PROVIDER; i++) {
		last[i] = now[i];
		values[i] = qv_tool_pvars[i].class == MAXIMUM ? greater(now[i], gone[i])
							      : now[i] + gone[i];
	}
	values[QV_TOOL_COLLECTIVES] = qv_mpi_taken();
	qv_mpi_sent(&values[QV_TOOL_COLLECTIVE_MESSAGES], &values[QV_TOOL_COLLECTIVE_BYTES]);
}
