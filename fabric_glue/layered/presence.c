/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * presence.c - is anybody at an address? The cores do not tell: they answer FI_EAGAIN until
 * somebody is there, for ever if nobody is. An address of shm names the process that
 * made it; whether somebody listens at one of TCP is asked of the other host's kernel.
 */
#include "presence.h"

#include "fabric_glue/cores/core.h"
#include "fabric_glue/cores/listener.h"
#include "fabric_glue/objects/av.h"

#include <string.h>
#include <unistd.h>

/* As the core of a rail needs it. */

static enum qv_fi_lookup lookup_of(const struct qv_fi_rail *rail)
{
	return qv_fi_rail_quirks(rail)->lookup;
}

static bool is_shm(const struct qv_fi_rail *rail)
{
	return lookup_of(rail) == QV_FI_LOOKUP_SHM;
}

static bool is_tcp(const struct qv_fi_rail *rail)
{
	return lookup_of(rail) == QV_FI_LOOKUP_TCP;
}

/* What shm calls our endpoint; false: it is another core, or does not tell. */
static bool own_name(struct qv_fi_rail *rail, char *name, size_t size)
{
	size_t len = size - 1;

	if (!is_shm(rail) || fi_getname(&rail->core->fid, name, &len))
		return false;
	name[len] = 0;
	return true;
}

int qv_fi_presence_prepare(struct qv_fi_rail *rail)
{
	char name[QV_FI_ADDR_MAX];

	return own_name(rail, name, sizeof name) ? qv_fi_shm_take_over(name) : 0;
}

static void begin_to_listen(struct qv_fi_rail *rail)
{
	char own[QV_FI_ADDR_MAX];
	size_t len = sizeof own;

	if (fi_getname(&rail->core->fid, own, &len))
		return;
	rail->listener = qv_fi_listener_open(own, len);
	if (!qv_fi_listener_listens(rail->listener))
		QV_FI_INFO(EP_CTRL, "no TCP socket at the endpoint's address: peers will not hear "
				    "of its death\n");
}

void qv_fi_presence_begin(struct qv_fi_rail *rail)
{
	char name[QV_FI_ADDR_MAX];

	if (own_name(rail, name, sizeof name))
		rail->mark_fd = qv_fi_shm_mark(name, rail->ep->dom->peer);
	else if (lookup_of(rail) == QV_FI_LOOKUP_LISTENER && rail->which == QV_FI_MAIN)
		begin_to_listen(rail);
}

void qv_fi_presence_end(struct qv_fi_rail *rail)
{
	if (rail->mark_fd >= 0)
		close(rail->mark_fd);
	qv_fi_tcp_close(rail->tcp);
	qv_fi_listener_close(rail->listener);
	rail->tcp = NULL;
	rail->listener = NULL;
}

/* The peer's address in the core, with a zero behind it: not asked of the core, for shm of
 * libfabric 2.1 does not tell it. False: an address that says nothing. */
static bool name_of(struct qv_fi_rail *rail, uint64_t addr, char *name, size_t *len)
{
	const struct qv_fi_way way = {.addr = addr, .core = rail->which};
	const struct qv_fi_av_node *node;
	struct qv_fi_pair pair;
	const char *from;

	if (lookup_of(rail) == QV_FI_LOOKUP_NONE)
		return false;
	if (rail->which == QV_FI_SECOND) {
		*len = QV_FI_ADDR_MAX;
		return !fi_av_lookup(rail->ep->av->core[rail->which], addr, name, len);
	}
	node = qv_fi_index_by_way(rail->ep->av->index, way);
	if (!node)
		return false;
	from = node->name;
	*len = node->namelen;
	if (rail->ep->dom->pair) {
		if (!qv_fi_pair_parse(node->name, node->namelen, &pair))
			return false;
		from = is_shm(rail) ? pair.local : pair.main;
		*len = is_shm(rail) ? strlen(pair.local) : pair.main_len;
	}
	if (*len >= QV_FI_ADDR_MAX)
		return false;
	memcpy(name, from, *len);
	name[*len] = 0;
	return true;
}

static struct qv_fi_tcp *tcp_of(struct qv_fi_rail *rail)
{
	char own[QV_FI_ADDR_MAX];
	size_t len = sizeof own;

	if (!rail->tcp && fi_getname(&rail->core->fid, own, &len) == 0)
		rail->tcp = qv_fi_tcp_open(own, len);
	return rail->tcp;
}

/* Does that endpoint listen beside the core? */
static bool can_ask(const struct qv_fi_rail *rail, uint64_t addr)
{
	const struct qv_fi_way way = {.addr = addr, .core = rail->which};
	const struct qv_fi_av_node *node;

	if (!rail->listener) /* as with every other core */
		return false;
	node = qv_fi_index_by_way(rail->ep->av->index, way);
	return node &&
	       (node->said == QV_FI_SAYS_LAYERED_LISTENS || node->said == QV_FI_SAYS_PEER_LISTENS);
}

void qv_fi_presence_meet(struct qv_fi_rail *rail, uint64_t addr)
{
	char name[QV_FI_ADDR_MAX];
	size_t len;

	if (can_ask(rail, addr) && name_of(rail, addr, name, &len))
		qv_fi_listener_meet(rail->listener, name, len);
}

void qv_fi_presence_tick(struct qv_fi_rail *rail)
{
	if (rail->listener)
		qv_fi_listener_tick(rail->listener);
}

/* QV_UNTOLD: nothing tells. */
static enum qv_presence told(struct qv_fi_rail *rail, uint64_t addr, uint64_t *silent)
{
	char name[QV_FI_ADDR_MAX];
	size_t len;

	if (lookup_of(rail) == QV_FI_LOOKUP_NONE ||
	    (lookup_of(rail) == QV_FI_LOOKUP_LISTENER && !can_ask(rail, addr)))
		return QV_UNTOLD;
	if (!name_of(rail, addr, name, &len))
		return QV_PRESENT;
	switch (lookup_of(rail)) {
	case QV_FI_LOOKUP_SHM: return qv_fi_shm_alive(name) ? QV_PRESENT : QV_GONE;
	case QV_FI_LOOKUP_LISTENER: return qv_fi_listener_ask(rail->listener, name, len, silent);
	default: return tcp_of(rail) ? qv_fi_tcp_listens(rail->tcp, name, len, silent) : QV_PRESENT;
	}
}

enum qv_presence qv_fi_presence(struct qv_xport *x, uint64_t addr, uint64_t *silent)
{
	const enum qv_presence presence =
		told(container_of(x, struct qv_fi_rail, xport), addr, silent);

	return presence == QV_UNTOLD && !qv_fi_params.patience_set ? QV_PRESENT : presence;
}

void qv_fi_reconnect(struct qv_xport *x, uint64_t addr, bool others)
{
	struct qv_fi_rail *rail = container_of(x, struct qv_fi_rail, xport);
	char name[QV_FI_ADDR_MAX];
	size_t len;

	if (is_tcp(rail) && name_of(rail, addr, name, &len) && tcp_of(rail))
		qv_fi_tcp_end(rail->tcp, name, len, others);
}

bool qv_fi_unacked(struct qv_xport *x, uint64_t addr)
{
	struct qv_fi_rail *rail = container_of(x, struct qv_fi_rail, xport);
	char name[QV_FI_ADDR_MAX];
	size_t len;

	return is_tcp(rail) && name_of(rail, addr, name, &len) && tcp_of(rail) &&
	       qv_fi_tcp_unacked(rail->tcp, name, len);
}
