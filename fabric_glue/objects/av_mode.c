/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * av_mode.c - FI_QUIVER_MODE in addresses. Endpoints in different modes cannot speak to each other,
 * and neither would see more of the other than messages that it does not know. So the name of an
 * endpoint says its mode: an IP address where it has padding or a flow label, which make no
 * difference to a core and do not reach it (qv_fi_addr_normal); a name of shm by a lock on its file.
 */
#include "av.h"
#include "fabric_glue/cores/core.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define MARK_LEN 4

static const char marks[][MARK_LEN + 1] = {
	[QV_FI_SAYS_LAYERED] = "QvmL",
	[QV_FI_SAYS_PEER] = "QvmP",
};

_Static_assert(sizeof(((struct sockaddr_in *)NULL)->sin_zero) >= MARK_LEN, "room of IPv4");
_Static_assert(sizeof(((struct sockaddr_in6 *)NULL)->sin6_flowinfo) == MARK_LEN, "room of IPv6");

/* Where it is; NULL: no IP address. */
static char *mark_of(void *addr, size_t len)
{
	sa_family_t family;

	if (len < sizeof family)
		return NULL;
	memcpy(&family, addr, sizeof family);
	if (family == AF_INET && len == sizeof(struct sockaddr_in))
		return (char *)addr + offsetof(struct sockaddr_in, sin_zero);
	if (family == AF_INET6 && len == sizeof(struct sockaddr_in6))
		return (char *)addr + offsetof(struct sockaddr_in6, sin6_flowinfo);
	return NULL;
}

/* Are there two modes over this domain's core, and have its names room for them? */
static const struct qv_fi_quirks *quirks_of(const struct qv_fi_domain *dom)
{
	const struct qv_fi_quirks *quirks = &dom->fabric->cores->quirks[QV_FI_MAIN];

	return !dom->pair && quirks->peer ? quirks : NULL;
}

static bool is_text(const struct qv_fi_domain *dom)
{
	return dom->core_info[QV_FI_MAIN]->addr_format == FI_ADDR_STR;
}

static enum qv_fi_said own(const struct qv_fi_domain *dom)
{
	return dom->peer ? QV_FI_SAYS_PEER : QV_FI_SAYS_LAYERED;
}

void qv_fi_mode_sign(const struct qv_fi_domain *dom, void *addr, size_t len)
{
	char *mark;

	if (!quirks_of(dom) || is_text(dom))
		return;
	mark = mark_of(addr, len);
	if (mark)
		memcpy(mark, marks[own(dom)], MARK_LEN);
}

static enum qv_fi_said said(const struct qv_fi_av *av, const void *addr, size_t len)
{
	char copy[QV_FI_ADDR_MAX];
	const char *mark;

	if (is_text(av->dom)) {
		if (quirks_of(av->dom)->lookup != QV_FI_LOOKUP_SHM || len > sizeof copy)
			return QV_FI_SAYS_NOTHING;
		memcpy(copy, addr, len);
		copy[len - 1] = 0;
		return qv_fi_shm_says(copy);
	}
	mark = mark_of((void *)(uintptr_t)addr, len);
	if (mark && !memcmp(mark, marks[QV_FI_SAYS_LAYERED], MARK_LEN))
		return QV_FI_SAYS_LAYERED;
	if (mark && !memcmp(mark, marks[QV_FI_SAYS_PEER], MARK_LEN))
		return QV_FI_SAYS_PEER;
	return QV_FI_SAYS_NOTHING;
}

bool qv_fi_av_is_signed(const struct qv_fi_av *av, const void *addr, size_t len)
{
	return quirks_of(av->dom) && !is_text(av->dom) && said(av, addr, len) != QV_FI_SAYS_NOTHING;
}

bool qv_fi_av_mode_differs(const struct qv_fi_av *av, const void *addr, size_t len)
{
	enum qv_fi_said other;

	if (!quirks_of(av->dom))
		return false;
	other = said(av, addr, len);
	if (other == QV_FI_SAYS_NOTHING || other == own(av->dom))
		return false;
	qv_fi_warn(
		"a peer's address is refused: its endpoint runs in %s mode, this one in %s mode; "
		"set FI_QUIVER_MODE to the same everywhere",
		other == QV_FI_SAYS_PEER ? "peer" : "layered", av->dom->peer ? "peer" : "layered");
	return true;
}
