/* SPDX-License-Identifier: BSD-2-Clause */
/* impl.c - the implementations: ISAs, the plain loop, Open MPI if it was there. */
#include "combine.h"

#include <dlfcn.h>
#include <string.h>

static struct {
	void *module;
	void (*close)(void);
} ompi;

static void *open_module(void)
{
	char path[4096];

	return qv_bench_find(QV_BC_MODULE, path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_GLOBAL)
							      : NULL;
}

/* A function of the module; a function's address comes as a pointer to data. */
static void find(void *function, const char *name)
{
	void *address = dlsym(ompi.module, name);

	memcpy(function, &address, sizeof(address));
}

static int open_ompi(qv_bc_fn *run, char *about, size_t size)
{
	int (*open)(char *version, size_t size);

	ompi.module = open_module();
	if (!ompi.module) {
		const char *why = dlerror();

		snprintf(about, size, "%s", why ? why : "no module");
		return -1;
	}
	find(&open, "qv_bc_ompi_open");
	find(run, "qv_bc_ompi_run");
	find(&ompi.close, "qv_bc_ompi_close");
	if (open && *run && ompi.close && open(about, size) == 0)
		return 0;
	snprintf(about, size, "MPI_Init failed");
	ompi.close = NULL;
	return -1;
}

static void add(struct qv_bc_plan *plan, const char *name, const struct qv_combine *combine,
		qv_bc_fn run)
{
	plan->impls[plan->impls_n++] = (struct qv_bc_impl){name, combine, run};
}

static void add_ompi(struct qv_bc_plan *plan, struct qv_bench *bench)
{
	char about[192] = "";
	qv_bc_fn run = NULL;

	if (open_ompi(&run, about, sizeof(about)))
		printf("  %-10s ompi: %s\n", "absent", about);
	else
		add(plan, "ompi", NULL, run);
	qv_bench_fact_add(bench, "ompi", "%s", about);
}

static bool has(const struct qv_bc_plan *plan, const char *name, size_t length)
{
	for (size_t i = 0; i < plan->impls_n; i++)
		if (strlen(plan->impls[i].name) == length &&
		    strncmp(plan->impls[i].name, name, length) == 0)
			return true;
	return false;
}

int qv_bc_impls_find(struct qv_bc_plan *plan, const struct qv_bench_opts *opts,
		     struct qv_bench *bench)
{
	const char *list = opts->impls;

	for (int isa = QV_ISA_SCALAR; qv_isa_name(isa); isa++) {
		const char *name = qv_isa_name((enum qv_isa)isa);
		const struct qv_combine *combine;

		if (qv_bench_impl_wanted(opts, name) &&
		    qv_combine_open((enum qv_isa)isa, &combine) == QV_OK)
			add(plan, name, combine, qv_combine);
	}
	if (qv_bench_impl_wanted(opts, "loop"))
		add(plan, "loop", NULL, qv_bc_loop);
	if (qv_bench_impl_wanted(opts, "ompi"))
		add_ompi(plan, bench);
	for (size_t n; list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (has(plan, list, n))
			continue;
		fprintf(stderr, "quiver: implementation '%.*s' cannot run here\n", (int)n, list);
		return -1;
	}
	return 0;
}

void qv_bc_impls_free(void)
{
	if (ompi.close)
		ompi.close();
	ompi.close = NULL;
}
