/* SPDX-License-Identifier: BSD-2-Clause */
/* known.c - peer mode: what the application calls the addresses of the core. */
#include "srx.h"

#include <stdlib.h>

#define DENSE ((size_t)1 << 20) /* addresses of a core beyond are not dense */

struct qv_fi_known *qv_fi_srx_known(struct qv_fi_srx *srx, fi_addr_t core)
{
	size_t n = srx->nknown ? srx->nknown : 64;
	struct qv_fi_known *known;

	if (core < srx->nknown)
		return &srx->known[core];
	if (core >= DENSE)
		return NULL;
	while (n <= core)
		n *= 2;
	known = realloc(srx->known, n * sizeof *known);
	if (!known)
		return NULL;
	for (size_t i = srx->nknown; i < n; i++)
		known[i] = (struct qv_fi_known){.user = QV_FI_NOT_ASKED};
	srx->known = known;
	srx->nknown = n;
	return &known[core];
}

fi_addr_t qv_fi_srx_ask_user(struct qv_fi_srx *srx, fi_addr_t core)
{
	const struct qv_fi_way way = {.addr = core, .core = QV_FI_MAIN};
	struct qv_fi_known *known;
	fi_addr_t user;

	if (core == FI_ADDR_NOTAVAIL || core == FI_ADDR_UNSPEC)
		return FI_ADDR_NOTAVAIL;
	user = qv_fi_av_by_way(srx->ep->av, way);
	known = qv_fi_srx_known(srx, core);
	if (known)
		known->user = user;
	qv_fi_srx_meet(srx, core);
	return user;
}

void qv_fi_srx_meet(struct qv_fi_srx *srx, fi_addr_t core)
{
	struct qv_fi_known *known = qv_fi_srx_known(srx, core);

	if (!known || known->begun)
		return;
	known->begun = true;
	qv_fi_presence_meet(&srx->ep->rail[QV_FI_MAIN], core);
}
