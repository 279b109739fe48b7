/* SPDX-License-Identifier: BSD-2-Clause */
/* draw.c - settings that are left to the seed. */
#include "fab.h"

#include <string.h>

static uint64_t pick(uint64_t *rnd, const unsigned *from, size_t n)
{
	return from[qv_random_below(rnd, n)];
}

/* What is 0 or NULL is drawn; the others stay. The same things are drawn in any case. */
void sf_config_draw(struct sf_config *cfg)
{
	static const char *const cores[] = {"tcp", "net",     "tcp;ofi_rxm",
					    "shm", "shm,tcp", "shm,net"};
	static const unsigned procs[] = {2, 3, 4, 6, 8, 12, 16, 24, 48, 200};
	static const unsigned ops[] = {20, 50, 100, 300};
	static const unsigned large[] = {1, 1, 1, 5, 20};
	uint64_t rnd = cfg->seed ^ 0x5175697665720000u;
	const char *core = cores[qv_random_below(&rnd, sizeof cores / sizeof *cores)];
	unsigned p = (unsigned)pick(&rnd, procs, sizeof procs / sizeof *procs);
	unsigned o = (unsigned)pick(&rnd, ops, sizeof ops / sizeof *ops);
	unsigned l = (unsigned)pick(&rnd, large, sizeof large / sizeof *large);
	unsigned h = 1 + (unsigned)qv_random_below(&rnd, 4);
	uint32_t v = qv_random_percent(&rnd, 50) ? FI_VERSION(1, 17) : FI_VERSION(2, 1);

	if (!cfg->core)
		cfg->core = core;
	if (!cfg->procs)
		cfg->procs = p;
	if (!cfg->ops)
		cfg->ops = o;
	if (!cfg->large)
		cfg->large = l;
	if (!cfg->hosts)
		cfg->hosts = h;
	if (!cfg->version)
		cfg->version = v;
	if (!strcmp(cfg->core, "shm"))
		cfg->hosts = 1;
	if (!cfg->rounds)
		cfg->rounds = UINT64_MAX;
}
