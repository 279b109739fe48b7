/* SPDX-License-Identifier: BSD-2-Clause */
/* core.h - between the files that choose a core and those that offer what it can do. */
#ifndef QV_FI_CORE_H
#define QV_FI_CORE_H

#include "fabric_glue/provider.h"
#include "quirks.h"

#define QV_FI_NAME_MAX 256 /* longest provider name, as in "tcp;ofi_rxm" */

/* Modes and registration modes of a core that we can satisfy. */
#define QV_FI_CORE_MODE    (FI_CONTEXT | FI_CONTEXT2)
#define QV_FI_BASIC_MR     (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define QV_FI_CORE_MR_MODE (QV_FI_BASIC_MR | FI_MR_ENDPOINT)

/* From core.c. */

/* This thread is asking a core: what arrives at our own getinfo now is its echo. */
bool qv_fi_core_asking(void);

/* fi_getinfo of exactly this provider, hidden or not, with hints made by libfabric's fi_dupinfo. */
int qv_fi_core_ask(const char *core, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **list);
/* The same with hints made by qv_fi_core_hints (freed here; NULL: no memory), and without those of
 * QV_FI_ONE_SIDED that it does not have and that are not needed, or that are ours (own_atomics). */
int qv_fi_core_query(const char *core, bool pair, const char *node, const char *service,
		     uint64_t flags, struct fi_info *hints, uint64_t need, struct fi_info **list);

/* From probe.c. */

/* Does it do what FI_ATOMIC says? Remembered. */
bool qv_fi_core_has_atomics(const char *core);
/* Is FI_ATOMIC over it done by our own protocol? pair: it is one of two cores; all of one endpoint's
 * operations are done under one lock then. */
bool qv_fi_core_own_atomics(const char *core, bool pair);
/* Into the core's info, for an offer: FI_ATOMIC of ours, if there can be. */
void qv_fi_core_grant_atomics(struct fi_info *info);

/* From rail.c. */

struct qv_fi_rail;
const struct qv_fi_quirks *qv_fi_rail_quirks(const struct qv_fi_rail *rail);

/* From second.c. */

/* FI_QUIVER_RAILS is set: has the core both? If not, say so. */
bool qv_fi_second_serves(const char *core);
/* Keep of the list what is of the first. -FI_ENODATA: nothing is left. */
int qv_fi_second_choose(struct fi_info **list);
/* Open the second domain beside the core's, which has this info. */
int qv_fi_second_open(struct qv_fi_domain *dom);
void qv_fi_second_close(struct qv_fi_domain *dom);

/* From wildcard.c. */

/* Does this address of a core name every interface? */
bool qv_fi_is_wildcard(const void *addr, size_t len);
/* Such a one becomes that of the core's first interface; the port stays. */
void qv_fi_leave_wildcard(const char *core, void *addr, size_t len);

/* From choose.c. */

/* Entries of a positive FI_PROVIDER, one by one: *pos starts as NULL. False at the end. */
bool qv_fi_filter_next(const char **pos, char *entry, size_t size);
/* Is this one of them? */
bool qv_fi_filter_has(const char *name);

/* What serves: one core, or two. */
struct qv_fi_cores {
	unsigned count;
	bool may_drop;                 /* automatic: one will do where two cannot serve */
	const char *name[QV_FI_CORES]; /* exact prov_name, as in "tcp;ofi_rxm" */
	struct qv_fi_quirks quirks[QV_FI_CORES];
	const char *text; /* name[0], or as in "node,net" */
};

/* The cores that a setting means: NULL is automatic. NULL if there is none: the reason is told
 * once, with `where` to say who asked for it. What is returned lives for ever. */
const struct qv_fi_cores *qv_fi_core_choose(const char *setting, const char *where);
/* The part before ";ofi_quiver" into core; NULL: that is not the end of it, or it is too long. */
const char *qv_fi_core_layered(const char *prov_name, char *core, size_t size);
/* The cores of "quiver", "ofi_quiver" (both: FI_QUIVER_CORE) or "<core>;ofi_quiver". */
const struct qv_fi_cores *qv_fi_core_named(const char *prov_name);

/* From fabric_glue/settings/mode.c. */

/* Can FI_QUIVER_MODE=peer be had over them? If not, it says why. */
bool qv_fi_mode_serves(const struct qv_fi_cores *cores);

/* From why.c. */

/* Does this libfabric have every part of the name, and is it a core? If not, say so. */
bool qv_fi_core_is_known(const char *core, const char *where);
/* Does this libfabric have it, whether or not it can be used here? */
bool qv_fi_core_exists(const char *core);
/* Say why a known core cannot be used here. local: the core that is to stand beside it, or NULL. */
void qv_fi_core_explain(const char *core, const char *where, const char *local);

/* From fabric_glue/offer/refusal.c. */

/* What of the hints is refused, one line for each. */
void qv_fi_refused(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Around a query by our name: returns ret, and tells the user why it is nothing, if there is nothing
 * else and nothing was offered before. */
void qv_fi_refusal_begin(void);
int qv_fi_refusal_end(const struct fi_info *hints, int ret);

/* From fabric_glue/offer/hints.c. */

/* Turn the core's info into all that we offer over it. */
void qv_fi_offer(struct fi_info *info);
/* Does the offer satisfy the application? If not, the reason is logged. hints may be NULL. */
bool qv_fi_offer_fits(const struct fi_info *offer, const struct fi_info *hints);
/* Reduce the offer to what was asked for. */
void qv_fi_offer_narrow(struct fi_info *offer, const struct fi_info *hints, uint32_t version);

#endif /* QV_FI_CORE_H */
