/* SPDX-License-Identifier: BSD-2-Clause */
/* choose.c - which core provider serves: what FI_PROVIDER and FI_QUIVER_CORE say. */
#include "core.h"
#include "fabric_glue/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* FI_PROVIDER. */

bool qv_fi_filter_next(const char **pos, char *entry, size_t size)
{
	const char *text = *pos;
	size_t len;

	if (!text) {
		text = getenv("FI_PROVIDER");
		if (!text || *text == '^')
			return false;
	}
	text += strspn(text, ",");
	len = strcspn(text, ",");
	if (!len || len >= size)
		return false;
	memcpy(entry, text, len);
	entry[len] = 0;
	*pos = text + len;
	return true;
}

bool qv_fi_filter_has(const char *name)
{
	char entry[QV_FI_NAME_MAX];
	const char *pos = NULL;

	while (qv_fi_filter_next(&pos, entry, sizeof entry))
		if (!strcasecmp(entry, name))
			return true;
	return false;
}

/* Does FI_PROVIDER leave this single core name visible to everybody? */
static bool is_visible(const char *name, size_t len)
{
	const char *filter = getenv("FI_PROVIDER"), *pos = NULL;
	char entry[QV_FI_NAME_MAX];

	if (!filter || *filter == '^')
		return true;
	while (qv_fi_filter_next(&pos, entry, sizeof entry))
		if (!strncasecmp(entry, name, len) && (!entry[len] || entry[len] == ';'))
			return true;
	return false;
}

/* Choosing. */

/* Those that reach this node only; the first is the automatic one if it can be had. */
static const char *const local_cores[] = {QV_FI_NODE_NAME, "shm", NULL};

/* The local core of that name; NULL: it is none. */
static const char *local_named(const char *name, size_t len)
{
	for (const char *const *core = local_cores; *core; core++)
		if (strlen(*core) == len && !strncasecmp(*core, name, len))
			return *core;
	return NULL;
}

/* exact: its name as libfabric spells it, QV_FI_NAME_MAX bytes, which users may not. */
static bool is_usable(const char *core, char *exact)
{
	struct fi_info *list;

	if (qv_fi_is_node(core) && !qv_node_can_serve())
		return false;
	if (qv_fi_core_query(core, false, NULL, NULL, 0, qv_fi_core_hints(core, NULL), 0, &list))
		return false;
	snprintf(exact, QV_FI_NAME_MAX, "%s", list->fabric_attr->prov_name);
	qv_fi_host.freeinfo(list);
	return true;
}

static const char *choose_auto(char *exact)
{
	static const char *const order[] = {"cxi", "efa", "tcp", "net", "sockets"};

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (is_usable(order[i], exact))
			return exact;
	qv_fi_warn("no usable core provider: none of cxi, efa, tcp, net and sockets offers "
		   "FI_EP_RDM here; name another by FI_QUIVER_CORE (see `quiver info`)");
	return NULL;
}

/* NULL: none. */
static const char *choose_local(void)
{
	const char *shm = local_cores[1];

	if (qv_node_can_serve())
		return local_cores[0];
	if (!qv_fi_core_exists(shm))
		shm = NULL;
	qv_fi_core_explain(local_cores[0],
			   shm ? "FI_QUIVER_CORE=auto takes shm instead of node"
			       : "FI_QUIVER_CORE=auto takes no core for this node",
			   NULL);
	return shm;
}

/* libfabric opens the fabric of a layered provider only where FI_PROVIDER leaves the parts below
 * its top visible. The form with layers cannot name a second core. */
static bool is_reachable(const char *core, const char *where, bool pair)
{
	const char *part = core, *end;
	char instead[QV_FI_NAME_MAX + sizeof ";ofi_quiver"];

	for (; (end = strchr(part, ';')); part = end + 1) {
		if (is_visible(part, (size_t)(end - part)))
			continue;
		if (pair)
			snprintf(instead, sizeof instead, "quiver,%.*s", (int)(end - part), part);
		else
			snprintf(instead, sizeof instead, "%s;ofi_quiver", core);
		qv_fi_warn("%s: a layered core cannot be reached under FI_PROVIDER=%s; "
			   "set FI_PROVIDER=\"%s\" instead",
			   where, getenv("FI_PROVIDER"), instead);
		return false;
	}
	return true;
}

/* local: the core that is to stand beside it, or NULL. */
static const char *choose_named(const char *core, const char *where, const char *local, char *exact)
{
	/* Users think of TCP as one thing: its RDM endpoints were called net before 1.18. */
	if (!strcasecmp(core, "tcp") && !is_usable("tcp", exact) && is_usable("net", exact))
		return exact;
	if (!qv_fi_core_is_known(core, where) || !is_reachable(core, where, local))
		return NULL;
	if (is_usable(core, exact))
		return exact;
	qv_fi_core_explain(core, where, local);
	return NULL;
}

/* The core beside a local one in a list of two, NULL: it is no such list, which is said. */
static const char *beside_local(const char *list, const char *where, const char **local, char *buf,
				size_t size)
{
	size_t first = strcspn(list, ",");
	const char *second = list + first + 1;
	const char *is_first = local_named(list, first);
	const char *is_second = local_named(second, strlen(second));

	if (strchr(second, ',') || !is_first == !is_second || !first || !*second) {
		qv_fi_warn("%s: a list of cores is node or shm and one other, as in node,tcp",
			   where);
		return NULL;
	}
	*local = is_first ? is_first : is_second;
	if (is_first)
		return second;
	if (first >= size)
		return NULL;
	memcpy(buf, list, first);
	buf[first] = 0;
	return buf;
}

/* The name of the core that reaches all peers, and the one that is to serve those on this node,
 * NULL: the same. NULL: none, which was said. That the local one cannot be used here is told, and does
 * not count: all processes of a job must have addresses of one kind. */
static const char *choose(const char *setting, const char *where, const char **local, char *exact)
{
	char buf[QV_FI_NAME_MAX];
	const char *name;

	*local = NULL;
	if (!setting) {
		name = choose_auto(exact);
		if (name)
			*local = choose_local();
		return name;
	}
	if (!strchr(setting, ','))
		return choose_named(setting, where, NULL, exact);
	setting = beside_local(setting, where, local, buf, sizeof buf);
	if (!setting || !qv_fi_core_is_known(*local, where))
		return NULL;
	if (!is_usable(*local, exact))
		qv_fi_core_explain(*local, where, NULL);
	return choose_named(setting, where, *local, exact);
}

/* Choices made so far: the same for the whole life of the process. */
struct choice {
	struct choice *next;
	struct qv_fi_cores cores;
	char setting[]; /* "" = automatic */
};

static struct choice *new_choice(const char *setting, const char *where)
{
	char exact[QV_FI_NAME_MAX], text[2 * QV_FI_NAME_MAX];
	const char *key = setting ? setting : "", *name, *local;
	struct choice *c;

	qv_fi_prepare_core(key);
	name = choose(setting, where, &local, exact);
	if (!name || !(c = malloc(sizeof *c + strlen(key) + 1)))
		return NULL;
	snprintf(text, sizeof text, "%s%s%s", local ? local : "", local ? "," : "", name);
	strcpy(c->setting, key);
	c->cores = (struct qv_fi_cores){
		.count = local ? 2 : 1,
		.may_drop = !setting,
		.name = {strdup(name), local},
		.quirks = {qv_fi_quirks_of(name)},
		.text = strdup(text),
	};
	if (local)
		c->cores.quirks[QV_FI_LOCAL] = qv_fi_quirks_of(local);
	if (!c->cores.name[QV_FI_MAIN] || !c->cores.text) {
		free((char *)c->cores.name[QV_FI_MAIN]);
		free((char *)c->cores.text);
		free(c);
		return NULL;
	}
	QV_FI_INFO(CORE, "core for %s: %s\n", setting ? setting : "auto", text);
	return c;
}

const struct qv_fi_cores *qv_fi_core_choose(const char *setting, const char *where)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct choice *choices;
	const char *key = setting ? setting : "";
	struct choice *c;

	pthread_mutex_lock(&lock);
	for (c = choices; c && strcmp(c->setting, key);)
		c = c->next;
	if (!c && (c = new_choice(setting, where))) {
		c->next = choices;
		choices = c;
	}
	pthread_mutex_unlock(&lock);
	return c ? &c->cores : NULL;
}

static const char suffix[] = ";ofi_quiver";

const char *qv_fi_core_layered(const char *prov_name, char *core, size_t size)
{
	size_t len = strlen(prov_name), cut = sizeof suffix - 1;

	if (len <= cut || len - cut >= size || strcasecmp(prov_name + len - cut, suffix))
		return NULL;
	memcpy(core, prov_name, len - cut);
	core[len - cut] = 0;
	return core;
}

const struct qv_fi_cores *qv_fi_core_named(const char *prov_name)
{
	char core[QV_FI_NAME_MAX], where[QV_FI_NAME_MAX + 32];

	if (qv_fi_core_layered(prov_name, core, sizeof core)) {
		snprintf(where, sizeof where, "%s%s", core, suffix);
		return qv_fi_core_choose(core, where);
	}
	if (qv_fi_params.core)
		snprintf(where, sizeof where, "FI_QUIVER_CORE=%s", qv_fi_params.core);
	return qv_fi_core_choose(qv_fi_params.core, where);
}
