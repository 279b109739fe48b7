/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c - runs of a rank in a tree of combine units: made, begun, freed. */
#include "engine/schedule/unit/unit.h"

#include <stdlib.h>

#define PACKET 8192 /* bytes, or one element where that is longer */

static int create(const struct qv_schedule *schedule, const struct qv_port *calls, void *port,
		  void **live)
{
	struct qv_unit_run *u = calloc(1, sizeof(*u));

	if (!u)
		return QV_ENOMEM;
	u->s = schedule;
	u->calls = *calls;
	u->port = port;
	u->to = QV_STEP_NONE;
	for (size_t i = schedule->live_first; i < schedule->n; i++) {
		const struct qv_step *step = &schedule->steps[i];

		if (step->kind == QV_STEP_FENCE)
			break;
		if (step->kind == QV_STEP_COMBINE)
			u->links[u->n++].peer = step->peer;
		else if (step->kind == QV_STEP_SEND)
			u->to = step->peer;
	}
	*live = u;
	return QV_OK;
}

static void close_unit(struct qv_unit_run *u)
{
	qv_unit_free(u->unit);
	free(u->packets_in);
	u->unit = NULL;
	u->packets_in = NULL;
}

static void destroy(void *live)
{
	close_unit(live);
	free(live);
}

int qv_unit_run_open(struct qv_unit_run *u)
{
	const struct qv_unit_spec spec = {.size = sizeof(spec),
					  .ports = (UINT64_C(2) << qv_unit_out_port(u)) - 1,
					  .at_once = QV_UNIT_AT_ONCE,
					  .count = u->each,
					  .reduce = u->data.reduce,
					  .context = u->data.context,
					  .item = u->data.item};
	const size_t bytes = u->each * u->data.item;
	int rc;

	u->packets_in = malloc(u->n * bytes + 1);
	if (!u->packets_in)
		return QV_ENOMEM;
	for (uint32_t i = 0; i < u->n; i++)
		u->links[i].packet = u->packets_in + i * bytes;
	rc = qv_unit_create(NULL, &spec, &u->unit);
	if (rc)
		close_unit(u);
	return rc;
}

static void start(void *live, const struct qv_run_data *data)
{
	struct qv_unit_run *u = live;
	const size_t bytes = data->count * data->item;

	close_unit(u);
	u->data = *data;
	u->given = u->left = u->over = u->packets = 0;
	u->allowed = QV_UNIT_AT_ONCE;
	u->failed = QV_OK;
	for (uint32_t i = 0; i < u->n; i++)
		u->links[i] =
			(struct qv_unit_link){.peer = u->links[i].peer, .granted = QV_UNIT_AT_ONCE};
	if (!bytes)
		return;
	u->each = data->item > PACKET ? 1 : PACKET / data->item;
	u->each = u->each < data->count ? u->each : data->count;
	u->packets = (uint32_t)((data->count + u->each - 1) / u->each);
}

const struct qv_live qv_unit_live = {create, destroy, start, qv_unit_run_progress,
				     qv_unit_run_done};
