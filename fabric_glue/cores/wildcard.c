/* SPDX-License-Identifier: BSD-2-Clause */
/* wildcard.c - endpoints that listen on every interface: the address that they have for others. */
#include "core.h"

#include <netinet/in.h>
#include <string.h>

bool qv_fi_is_wildcard(const void *addr, size_t len)
{
	struct sockaddr_in6 in6 = {0};
	struct sockaddr_in in = {0};

	if (!addr || len < sizeof in || len > sizeof in6)
		return false;
	memcpy(&in, addr, sizeof in);
	memcpy(&in6, addr, len);
	if (in.sin_family == AF_INET)
		return in.sin_addr.s_addr == htonl(INADDR_ANY);
	return in.sin_family == AF_INET6 && len == sizeof in6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
}

/* The same port at another host's address. */
static void move_to(void *addr, const void *host)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	in_port_t port;

	memcpy(&in, addr, sizeof in);
	port = in.sin_port; /* at the same place in both */
	if (in.sin_family == AF_INET) {
		memcpy(&in, host, sizeof in);
		in.sin_port = port;
		memcpy(addr, &in, sizeof in);
	} else {
		memcpy(&in6, host, sizeof in6);
		in6.sin6_port = port;
		memcpy(addr, &in6, sizeof in6);
	}
}

void qv_fi_leave_wildcard(const char *core, void *addr, size_t len)
{
	struct fi_info *list, *i;

	if (!qv_fi_is_wildcard(addr, len) ||
	    qv_fi_core_query(core, false, NULL, NULL, 0, qv_fi_core_hints(core, NULL), 0, &list))
		return;
	for (i = list; i && (i->src_addrlen != len || qv_fi_is_wildcard(i->src_addr, len));)
		i = i->next;
	if (i)
		move_to(addr, i->src_addr);
	qv_fi_host.freeinfo(list);
}
