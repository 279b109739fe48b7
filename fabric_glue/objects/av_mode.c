/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * av_mode.c - what the address of an endpoint says besides where it is. Its mode (FI_QUIVER_MODE),
 * because endpoints in different modes cannot speak to each other, and neither would see more of the
 * other than messages that it does not know. And whether it listens (cores/listener.h). An IP address
 * says it where it has padding or a flow label, which make no difference to a core and do not reach it
 * (qv_fi_addr_normal); a name of shm says the mode by a lock on its file.
 */
#include "av.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/cores/listener.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define MARK_LEN 4

static const char marks[][MARK_LEN + 1] = {
	[QV_FI_SAYS_LAYERED] = "QvmL",
	[QV_FI_SAYS_PEER] = "QvmP",
	[QV_FI_SAYS_LAYERED_LISTENS] = "QvmS",
	[QV_FI_SAYS_PEER_LISTENS] = "QvmT",
};

_Static_assert(sizeof(((struct sockaddr_in *)NULL)->sin_zero) >= MARK_LEN, "room of IPv4");
_Static_assert(sizeof(((struct sockaddr_in6 *)NULL)->sin6_flowinfo) == MARK_LEN, "room of IPv6");

/* Where it is in an address, perhaps of two cores; NULL: in none. */
static char *mark_of(void *addr, size_t len)
{
	struct qv_fi_pair pair;
	sa_family_t family;

	if (qv_fi_pair_parse(addr, len, &pair)) {
		addr = (void *)(uintptr_t)pair.main;
		len = pair.main_len;
	}
	if (len < sizeof family)
		return NULL;
	memcpy(&family, addr, sizeof family);
	if (family == AF_INET && len >= sizeof(struct sockaddr_in))
		return (char *)addr + offsetof(struct sockaddr_in, sin_zero);
	if (family == AF_INET6 && len >= sizeof(struct sockaddr_in6))
		return (char *)addr + offsetof(struct sockaddr_in6, sin6_flowinfo);
	return NULL;
}

/* Are there two modes over this domain's core? */
static bool has_modes(const struct qv_fi_domain *dom)
{
	return !dom->pair && dom->fabric->cores->quirks[QV_FI_MAIN].peer;
}

enum qv_fi_said qv_fi_ep_says(const struct qv_fi_ep *ep)
{
	if (qv_fi_listener_listens(ep->rail[QV_FI_MAIN].listener))
		return ep->dom->peer ? QV_FI_SAYS_PEER_LISTENS : QV_FI_SAYS_LAYERED_LISTENS;
	if (!has_modes(ep->dom))
		return QV_FI_SAYS_NOTHING;
	return ep->dom->peer ? QV_FI_SAYS_PEER : QV_FI_SAYS_LAYERED;
}

void qv_fi_sign(void *addr, size_t len, enum qv_fi_said said)
{
	char *mark = said == QV_FI_SAYS_NOTHING ? NULL : mark_of(addr, len);

	if (mark)
		memcpy(mark, marks[said], MARK_LEN);
}

enum qv_fi_said qv_fi_addr_said(const void *addr, size_t len)
{
	const char *mark = mark_of((void *)(uintptr_t)addr, len);

	for (size_t i = QV_FI_SAYS_LAYERED; mark && i < sizeof marks / sizeof *marks; i++)
		if (!memcmp(mark, marks[i], MARK_LEN))
			return (enum qv_fi_said)i;
	return QV_FI_SAYS_NOTHING;
}

/* The file of its endpoint of shm says it. */
static enum qv_fi_said file_said(const struct qv_fi_av *av, const char *addr, size_t len)
{
	char copy[QV_FI_ADDR_MAX];

	if (av->dom->fabric->cores->quirks[QV_FI_MAIN].lookup != QV_FI_LOOKUP_SHM ||
	    len > sizeof copy)
		return QV_FI_SAYS_NOTHING;
	memcpy(copy, addr, len);
	copy[len - 1] = 0;
	return qv_fi_shm_says(copy);
}

static bool is_peers(enum qv_fi_said said)
{
	return said == QV_FI_SAYS_PEER || said == QV_FI_SAYS_PEER_LISTENS;
}

bool qv_fi_av_mode_differs(const struct qv_fi_av *av, const void *addr, size_t len)
{
	const bool peer = av->dom->peer,
		   is_text = av->dom->core_info[QV_FI_MAIN]->addr_format == FI_ADDR_STR;
	enum qv_fi_said said;

	if (!has_modes(av->dom))
		return false;
	said = is_text ? file_said(av, addr, len) : qv_fi_addr_said(addr, len);
	if (said == QV_FI_SAYS_NOTHING || is_peers(said) == peer)
		return false;
	qv_fi_warn(
		"a peer's address is refused: its endpoint runs in %s mode, this one in %s mode; "
		"set FI_QUIVER_MODE to the same everywhere",
		peer ? "layered" : "peer", peer ? "peer" : "layered");
	return true;
}
