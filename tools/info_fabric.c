/* SPDX-License-Identifier: BSD-2-Clause */
/* info_fabric.c - `quiver info`: libfabric, the provider, and the cores that it could use. */
#include "info.h"

#include "bench/common/bench.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define API     FI_VERSION(1, 17)
#define LIBRARY "libquiver-fi.so"

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

/* The provider's file. */

static void in_directory(struct qv_info_fabric *f, const char *dir, size_t len)
{
	snprintf(f->plugin, sizeof f->plugin, "%.*s/" LIBRARY, (int)len, dir);
	if (access(f->plugin, R_OK) != 0)
		f->plugin[0] = 0;
}

/* Whether it lies where this libfabric looks if nothing is set: in libfabric beside the library. */
static bool is_beside_library(const struct qv_info_fabric *f)
{
	char *library = realpath(f->path, NULL), *plugin = realpath(f->plugin, NULL);
	char *end = library ? strrchr(library, '/') : NULL;
	const size_t len = end ? (size_t)(end - library) : 0;
	const bool beside = plugin && end && !strncmp(plugin, library, len) &&
			    !strcmp(plugin + len, "/libfabric/" LIBRARY);

	free(library);
	free(plugin);
	return beside;
}

/* FI_PROVIDER_PATH as the user has set it, else where it belongs to this program. */
static void find_plugin(struct qv_info_fabric *f)
{
	const bool is_set = getenv("FI_PROVIDER_PATH");
	const char *path;

	qv_bench_provider_path();
	path = getenv("FI_PROVIDER_PATH");
	while (path && *path && !*f->plugin) {
		path += strspn(path, ":@");
		in_directory(f, path, strcspn(path, ":"));
		path += strcspn(path, ":");
	}
	f->placed = is_set || is_beside_library(f);
}

static void find_library(struct qv_info_fabric *f)
{
	Dl_info where = {0};

	if (dladdr((void *)fi_getinfo, &where) && where.dli_fname)
		copy(f->path, sizeof f->path, where.dli_fname);
	copy(f->version, sizeof f->version, fi_tostr("", FI_TYPE_VERSION));
	snprintf(f->api, sizeof f->api, "%u.%u", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
}

/* What the environment leads to. */

/* libfabric reads FI_PROVIDER once per process, so this runs in a process of its own. */
static void choose(struct qv_info_fabric *f)
{
	struct fi_info *list = NULL, *i;
	struct fid_fabric *fabric;
	void *core = NULL;

	setenv("FI_PROVIDER", "quiver", 0);
	if (fi_getinfo(API, NULL, NULL, 0, NULL, &list))
		return;
	for (i = list; i && !strstr(i->fabric_attr->prov_name, "quiver");)
		i = i->next;
	if (!i || fi_fabric(i->fabric_attr, &fabric, NULL))
		return;
	if (fi_open_ops(&fabric->fid, "quiver_core", 0, &core, NULL))
		return;
	copy(f->provider, sizeof f->provider, i->fabric_attr->prov_name);
	copy(f->core, sizeof f->core, core);
	copy(f->fabric, sizeof f->fabric, i->fabric_attr->name);
	copy(f->domain, sizeof f->domain, i->domain_attr->name);
}

static void choose_apart(struct qv_info_fabric *f)
{
	struct qv_info_fabric got;
	pid_t child;
	int ends[2];
	FILE *from;

	if (pipe(ends))
		return;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		FILE *to = fdopen(ends[1], "w");

		choose(f);
		if (to) {
			fwrite(f, sizeof *f, 1, to);
			fclose(to);
		}
		_exit(0);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (from && child > 0 && fread(&got, sizeof got, 1, from) == 1)
		*f = got;
	if (from)
		fclose(from);
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Cores. */

static struct fi_info *list_everything(uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;

	if (!hints)
		return NULL;
	hints->mode = ~0ULL;
	hints->domain_attr->mode = ~0ULL;
	hints->domain_attr->mr_mode = ~(FI_MR_BASIC | FI_MR_SCALABLE);
	fi_getinfo(API, NULL, NULL, flags, flags ? NULL : hints, &list);
	fi_freeinfo(hints);
	return list;
}

static const char own[] = "node"; /* quiver's, which libfabric does not list */

static bool is_core(const char *name)
{
	return strncmp(name, "ofi_", 4) && strncmp(name, "off_", 4) && !strstr(name, "quiver");
}

static void add_cores(struct qv_info_fabric *f, const struct fi_info *list)
{
	for (; list; list = list->next) {
		const char *name = list->fabric_attr->prov_name;
		size_t i;

		f->loaded |= !strcmp(name, "quiver");
		for (i = 0; i < f->ncores && strcmp(f->cores[i].name, name);)
			i++;
		if (i == f->ncores && i < QV_INFO_CORES && is_core(name))
			copy(f->cores[f->ncores++].name, QV_INFO_NAME, name);
	}
}

/* Which kinds of endpoints the provider has here, as bits 1 << type. */
static unsigned types_of(const struct fi_info *everything, const char *name)
{
	unsigned types = 0;

	for (; everything; everything = everything->next)
		if (!strcmp(everything->fabric_attr->prov_name, name))
			types |= 1u << everything->ep_attr->type;
	return types;
}

static void explain(struct qv_info_core *c, unsigned types)
{
	if (!types)
		copy(c->how, sizeof c->how, "no device or interface here");
	else if (!(types & 1u << FI_EP_RDM))
		snprintf(c->how, sizeof c->how,
			 "no reliable datagram endpoints (FI_EP_RDM), only%s%s",
			 types & 1u << FI_EP_MSG ? " FI_EP_MSG" : "",
			 types & 1u << FI_EP_DGRAM ? " FI_EP_DGRAM" : "");
	else
		copy(c->how, sizeof c->how,
		     "refuses what quiver asks; FI_LOG_LEVEL=info tells more");
}

/* Ask quiver itself, by the name that its layered form over this core has. */
static void try_core(struct qv_info_core *c, const struct fi_info *everything)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;
	unsigned types = types_of(everything, c->name);
	bool net;
	char name[QV_INFO_NAME + 16];

	snprintf(name, sizeof name, "%s;ofi_quiver", c->name);
	if (!hints)
		return;
	hints->fabric_attr->prov_name = strdup(name);
	/* verbs has FI_RMA for who lets it choose the keys, cxi for who binds memory to endpoints. */
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	c->usable = fi_getinfo(API, NULL, NULL, 0, hints, &list) == 0;
	fi_freeinfo(hints);
	if (!c->usable) {
		explain(c, types);
		return;
	}
	/* Not what fabric_glue/cores/quirks.c forbids: reads over net of libfabric 1.17. */
	net = !strcmp(c->name, "net") || (!strcmp(c->name, "tcp") && !(types & 1u << FI_EP_RDM));
	c->rma = list->caps & FI_RMA && !(net && FI_VERSION_LT(fi_version(), FI_VERSION(1, 18)));
	fi_freeinfo(list);
	if (strchr(c->name, ';'))
		snprintf(c->how, sizeof c->how, "FI_PROVIDER=\"%s\"", name);
	else
		snprintf(c->how, sizeof c->how, "FI_PROVIDER=quiver FI_QUIVER_CORE=%s", c->name);
	if (!strcmp(c->name, own) || !strcmp(c->name, "shm") || !strcmp(c->name, "sm2"))
		copy(c->note, sizeof c->note, "this node only");
	else if (!strcmp(c->name, "verbs;ofi_rxm"))
		copy(c->note, sizeof c->note,
		     "never taken unless named; with shared memory: FI_PROVIDER=quiver,verbs "
		     "FI_QUIVER_CORE=\"node,verbs;ofi_rxm\"");
	else if (!(types & 1u << FI_EP_RDM))
		copy(c->note, sizeof c->note, "stands for net");
}

/* The table of cores does not depend on what the user has chosen, rightly or wrongly. */
static void forget_settings(void)
{
	static const char prefix[] = "FI_QUIVER_";
	char name[64];

	for (char **var = environ; *var;) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*var, "="), *var);
		/* Removing one moves the others up. */
		if (strncmp(name, prefix, sizeof prefix - 1) || unsetenv(name) || getenv(name))
			var++;
	}
	unsetenv("FI_PROVIDER");
	setenv("FI_QUIVER_QUIET", "1", 1);
}

void qv_info_fabric_collect(struct qv_info_fabric *f)
{
	struct fi_info *known, *everything;

	find_library(f);
	find_plugin(f);
	f->named = getenv("FI_PROVIDER");
	choose_apart(f);
	forget_settings();
	known = list_everything(FI_PROV_ATTR_ONLY);
	everything = list_everything(0);
	add_cores(f, known);
	add_cores(f, everything);
	if (f->loaded && f->ncores < QV_INFO_CORES)
		copy(f->cores[f->ncores++].name, QV_INFO_NAME, own);
	for (size_t i = 0; i < f->ncores; i++)
		if (f->loaded)
			try_core(&f->cores[i], everything);
		else
			copy(f->cores[i].how, sizeof f->cores[i].how, "quiver is not loaded");
	if (known)
		fi_freeinfo(known);
	if (everything)
		fi_freeinfo(everything);
}
