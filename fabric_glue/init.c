/* SPDX-License-Identifier: BSD-2-Clause */
/* init.c - entry point of the provider, and the libfabric that called it. */
#include "provider.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct qv_fi_host qv_fi_host;

static void cleanup(void)
{
	qv_fi_stats_exit();
	qv_fi_trace_exit();
}

#define VERSION FI_VERSION(QUIVER_VERSION_MAJOR, QUIVER_VERSION_MINOR)

struct fi_provider qv_fi_prov = {
	.version = VERSION,
	.name = "quiver",
	.getinfo = qv_fi_getinfo,
	.fabric = qv_fi_fabric_open,
	.cleanup = cleanup,
};

/* libfabric takes a name that starts with ofi_ for a provider that is layered over others. */
struct fi_provider qv_fi_util_prov = {
	.version = VERSION,
	.name = "ofi_quiver",
	.getinfo = qv_fi_util_getinfo,
	.fabric = qv_fi_util_fabric_open,
	.cleanup = cleanup,
};

/*
 * The libfabric that called us, by an address inside it. Its symbols are looked up without a
 * version: that finds its newest, native interface, and the right library where a process has two.
 */
static bool find_host(const void *caller)
{
	struct qv_fi_host *h = &qv_fi_host;
	const struct {
		const char *name;
		void *fn;
	} want[] = {
		{"fi_getinfo", &h->getinfo},           {"fi_freeinfo", &h->freeinfo},
		{"fi_dupinfo", &h->dupinfo},           {"fi_fabric", &h->fabric},
		{"fi_version", &h->version},           {"fi_strerror", &h->strerror},
		{"fi_param_define", &h->param_define}, {"fi_param_get", &h->param_get},
		{"fi_log_enabled", &h->log_enabled},   {"fi_log", &h->log},
	};
	Dl_info where = {0};
	void *handle;

	if (!dladdr(caller, &where))
		return false;
	/* A caller without a name of its own to open is the program itself. */
	handle = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		handle = dlopen(NULL, RTLD_NOW);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		*(void **)want[i].fn = dlsym(handle, want[i].name);
		if (*(void **)want[i].fn)
			continue;
		qv_fi_print("quiver: %s does not export %s: not loaded\n",
			    where.dli_fname ? where.dli_fname : "the caller", want[i].name);
		return false;
	}
	return true;
}

/* The object that has this address. */
static Dl_info object_of(const void *address)
{
	Dl_info object = {0};

	dladdr(address, &object);
	return object;
}

/*
 * A process may have two libfabrics, each with lists of its own, and dlopen(3) gives them one copy of
 * us. What we know of the first does not hold for another.
 */
static bool is_other(const void *first, const void *caller)
{
	const Dl_info host = object_of(first), other = object_of(caller);
	const char *filter = getenv("FI_PROVIDER");

	if (host.dli_fbase == other.dli_fbase)
		return false;
	if (qv_fi_host.log && filter && *filter != '^' && strcasestr(filter, "quiver")) {
		qv_fi_params_init();
		qv_fi_warn("quiver serves one libfabric of a process, here %s: not loaded for %s",
			   host.dli_fname, other.dli_fname);
	}
	return true;
}

/*
 * libfabric calls this once per file name that leads here: libquiver-fi.so registers "quiver", the
 * link libofi_quiver-fi.so "ofi_quiver"; a third name has nothing to register.
 */
__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
	const void *caller = __builtin_return_address(0);
	static const void *first;
	static int calls;

	if (calls && is_other(first, caller))
		return NULL;
	switch (calls++) {
	case 0:
		first = caller;
		if (!find_host(caller))
			return NULL;
		/* libfabric skips a provider that is older than what the application asks for. */
		qv_fi_prov.fi_version = qv_fi_util_prov.fi_version = qv_fi_host.version();
		qv_fi_params_define();
		return &qv_fi_prov;
	case 1: return qv_fi_host.log ? &qv_fi_util_prov : NULL;
	default: return NULL;
	}
}
