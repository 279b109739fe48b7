/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - a receive is posted, its message arrives. C and C++, with every header that needs no other
 * library. */
#include <quiver/choose.h>
#include <quiver/combine.h>
#include <quiver/contender.h>
#include <quiver/exchange.h>
#include <quiver/isa.h>
#include <quiver/match.h>
#include <quiver/neighbor.h>
#include <quiver/offload.h>
#include <quiver/predict.h>
#include <quiver/redirect.h>
#include <quiver/schedule.h>
#include <quiver/select.h>
#include <quiver/stream.h>
#include <quiver/unit.h>
#include <quiver/vrank.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	struct qv_match *engine;
	struct qv_msg *waited = NULL;
	struct qv_recv recv;

	memset(&recv, 0, sizeof recv);
	recv.tag = 42;
	recv.src = QV_SRC_ANY;
	if (strcmp(qv_version(), QUIVER_VERSION) != 0 || qv_match_create(NULL, &engine) != QV_OK)
		return 1;
	if (qv_match_post(engine, &recv, &waited) != QV_OK || waited)
		return 2;
	if (qv_match_arrive(engine, 42, 7) != &recv)
		return 3;
	qv_match_destroy(engine);
	printf("matched by quiver %s\n", qv_version());
	return 0;
}
