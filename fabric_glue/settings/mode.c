/* SPDX-License-Identifier: BSD-2-Clause */
/* mode.c - FI_QUIVER_MODE: what peer mode needs, and what cannot be had with it. */
#include "fabric_glue/cores/core.h"

#include <stdio.h>
#include <string.h>

/* Settings that are about our own protocol, or about what passes through it. */
static const char *in_the_way(const struct qv_fi_params *p)
{
	if (*p->rails)
		return "FI_QUIVER_RAILS";
	if (p->profile)
		return "FI_QUIVER_PROFILE";
	if (p->stats.profile)
		return "FI_QUIVER_STATS=profile:FILE";
	return NULL;
}

/* Messages are matched one by one there. */
static void say_of_offload(void)
{
	if (qv_fi_params.offload.on)
		qv_fi_warn(
			"FI_QUIVER_MODE=peer: by FI_QUIVER_OFFLOAD a device combines arrays, but "
			"the CPU matches: the core wants an answer for each message at once");
}

bool qv_fi_mode_parse(const char *text, bool *peer, char *why, size_t size)
{
	const uint32_t version = qv_fi_host.version();
	const char *other = in_the_way(&qv_fi_params);

	*peer = !strcmp(text, "peer");
	if (!strcmp(text, "auto") || !strcmp(text, "layered"))
		return true;
	if (!*peer)
		snprintf(why, size, "is not known; known: auto layered peer");
	else if (FI_VERSION_LT(version, FI_VERSION(2, 0)))
		snprintf(why, size,
			 "needs libfabric 2.0 or later, this is %u.%u, whose cores do not say how "
			 "long a tagged message is; use auto or layered",
			 FI_MAJOR(version), FI_MINOR(version));
	else if (other && qv_fi_params.valid)
		snprintf(why, size, "cannot be had together with %s", other);
	else {
		say_of_offload();
		return true;
	}
	return false;
}

/* Cores that take a shared receive context of others and were tested with ours. */
bool qv_fi_mode_serves(const struct qv_fi_cores *cores)
{
	const char *core = cores->name[QV_FI_MAIN];

	if (cores->count > 1)
		qv_fi_warn("FI_QUIVER_MODE=peer works over one core: name it, as in "
			   "FI_QUIVER_CORE=shm");
	else if (cores->quirks[QV_FI_MAIN].peer)
		return true;
	else
		qv_fi_warn("FI_QUIVER_MODE=peer does not work over the core %s, only over shm and "
			   "what ends with ;ofi_rxm; use auto or layered",
			   core);
	return false;
}
