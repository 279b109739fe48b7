/* SPDX-License-Identifier: BSD-2-Clause */
/* impl.c - the implementations: quiver's structures through contender.h, and plugins. */
#include "match.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A structure of the library, used as a program uses it. */

static void *own_create(const struct qv_contender *self)
{
	const struct qv_bm_impl *impl = (const struct qv_bm_impl *)self; /* ops is first */
	struct qv_match *engine;

	return qv_match_create(&impl->settings, &engine) ? NULL : engine;
}

static void own_destroy(void *engine)
{
	qv_match_destroy(engine);
}

static void own_recv_init(void *node, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_recv *recv = node;

	recv->tag = tag;
	recv->ignore = ignore;
	recv->src = src;
	recv->flags = 0;
}

static void own_msg_init(void *node, uint64_t tag, uint32_t src)
{
	struct qv_msg *msg = node;

	msg->tag = tag;
	msg->src = src;
	msg->flags = 0;
}

/* Whatever pointer is stored here, the replay reads it as qv_bm_answer, which may alias it: so the
 * library's calls stand here with nothing around them. */
static int own_post(void *engine, void *node, void **matched)
{
	return qv_match_post(engine, node, (struct qv_msg **)matched);
}

static int own_arrive(void *engine, void *node, void **matched)
{
	return qv_match_deliver(engine, node, (struct qv_recv **)matched);
}

static int own_cancel(void *engine, void *node)
{
	qv_match_cancel(engine, node);
	return 0;
}

static size_t own_memory(const void *engine)
{
	return qv_match_memory(engine);
}

static const struct qv_contender own_calls = {
	.abi = QV_CONTENDER_ABI,
	.flags = QV_CONTENDER_ANY_SOURCE | QV_CONTENDER_ANY_TAG,
	.node_size = sizeof(struct qv_msg) > sizeof(struct qv_recv) ? sizeof(struct qv_msg)
								    : sizeof(struct qv_recv),
	.create = own_create,
	.destroy = own_destroy,
	.recv_init = own_recv_init,
	.msg_init = own_msg_init,
	.post = own_post,
	.arrive = own_arrive,
	.cancel = own_cancel,
	.memory = own_memory,
};

/* The list. */

bool qv_bm_is_auto(const char *impl)
{
	return strcmp(impl, "auto") == 0 || strncmp(impl, "auto/", 5) == 0;
}

static struct qv_bm_impl *find(struct qv_bm_impls *impls, const char *name)
{
	for (size_t i = 0; i < impls->n; i++)
		if (strcmp(impls->at[i].name, name) == 0)
			return &impls->at[i];
	return NULL;
}

/* A free place with this name, or NULL after a line on stderr. */
static struct qv_bm_impl *add(struct qv_bm_impls *impls, const char *name)
{
	struct qv_bm_impl *impl = &impls->at[impls->n];

	if (find(impls, name) || impls->n == QV_BM_CONTENDERS) {
		fprintf(stderr, "quiver: implementation %s %s\n", name,
			find(impls, name) ? "is there twice" : "is one too many");
		return NULL;
	}
	memset(impl, 0, sizeof(*impl));
	snprintf(impl->name, sizeof(impl->name), "%s", name);
	impls->n++;
	return impl;
}

static int make_profile(struct qv_bm_impls *impls)
{
	int fd;

	if (impls->profile[0])
		return 0;
	fd = qv_bench_memory_file(impls->profile, sizeof(impls->profile));
	/* One source until the first case is known. */
	if (fd >= 0 && write(fd, "0 1\n", 4) == 4)
		return 0;
	perror("quiver: profile of the sources");
	impls->profile[0] = 0;
	return -1;
}

static bool needs_profile(const char *structure)
{
	size_t n = strcspn(structure, ":");

	return (n == 3 && !strncmp(structure, "clu", 3)) ||
	       (n == 10 && !strncmp(structure, "pnp-static", 10));
}

/* "structure[:option[+option...]][/isa]" */
static int add_own(struct qv_bm_impls *impls, const char *name)
{
	struct qv_bm_impl *impl = add(impls, name);
	struct qv_match *engine;
	const char *slash = strchr(name, '/');
	int err = QV_OK;

	if (!impl)
		return 2;
	impl->own = true;
	impl->ops = own_calls;
	impl->ops.name = impl->name;
	snprintf(impl->structure, sizeof(impl->structure), "%.*s",
		 slash ? (int)(slash - name) : (int)strlen(name), name);
	for (char *plus = impl->structure; (plus = strchr(plus, '+'));)
		*plus = ',';
	qv_match_settings_default(&impl->settings);
	impl->settings.collective_mask = QV_BM_COLLECTIVE;
	impl->settings.collective_op = QV_BM_TAG_BITS;
	if (needs_profile(impl->structure)) {
		if (make_profile(impls))
			return 1;
		impl->settings.profile = impls->profile;
	}
	if (slash)
		err = qv_isa_parse(slash + 1, &impl->settings.isa);
	/* impls->at does not move, so the string may be pointed to. */
	impl->settings.structure = impl->structure;
	if (!err)
		err = qv_match_create(&impl->settings, &engine);
	if (!err) {
		qv_match_destroy(engine);
		return 0;
	}
	fprintf(stderr, "quiver: implementation '%s': %s\n", name,
		err == QV_ENOSYS ? "this CPU cannot run it"
				 : "no such structure, option or ISA; 'quiver bench match --help'");
	return err == QV_ENOSYS ? 1 : 2;
}

static int add_default(struct qv_bm_impls *impls)
{
	const char *const *structures = qv_match_structures();
	const char *const each[] = {"llv", "auto"};
	char name[QV_BENCH_NAME];
	int status = 0;

	for (size_t i = 0; structures[i] && !status; i++)
		status = add_own(impls, structures[i]);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		for (int isa = QV_ISA_SCALAR; qv_isa_name(isa) && !status; isa++) {
			if (!qv_isa_usable(isa) || (enum qv_isa)isa == qv_isa_best())
				continue;
			snprintf(name, sizeof(name), "%s/%s", each[i], qv_isa_name(isa));
			status = add_own(impls, name);
		}
	}
	return status;
}

/* Plugins. */

static const char *plugin_fault(const struct qv_contender *c)
{
	if (c->abi != QV_CONTENDER_ABI)
		return "was compiled for another version of contender.h";
	if (!c->name || !c->name[0] || strlen(c->name) >= QV_BENCH_NAME || strpbrk(c->name, ", \t"))
		return "has no usable name";
	if (!c->node_size || c->node_size > 1024)
		return "has a node_size that is not 1 to 1024";
	if (!c->create || !c->destroy || !c->recv_init || !c->msg_init || !c->post || !c->arrive)
		return "lacks a call";
	return NULL;
}

/* Plugins stay open until the program ends. */
static int add_plugin(struct qv_bm_impls *impls, const char *file)
{
	const struct qv_contender *(*get)(uint32_t);
	const struct qv_contender *c;
	char path[4096];
	void *library;
	uint32_t n = 0;

	/* Without a slash dlopen would search the system's folders. */
	snprintf(path, sizeof(path), "%s%s", strchr(file, '/') ? "" : "./", file);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "quiver: plugin %s: %s\n", file, dlerror());
		return 2;
	}
	*(void **)&get = dlsym(library, "qv_contender_get");
	if (!get) {
		fprintf(stderr, "quiver: plugin %s does not export qv_contender_get\n", file);
		return 2;
	}
	for (; (c = get(n)); n++) {
		const char *fault = plugin_fault(c);
		struct qv_bm_impl *impl = fault ? NULL : add(impls, c->name);

		if (fault)
			fprintf(stderr, "quiver: plugin %s: entry %u %s\n", file, n, fault);
		if (!impl)
			return 2;
		impl->ops = *c;
	}
	if (n)
		return 0;
	fprintf(stderr, "quiver: plugin %s has no implementation\n", file);
	return 2;
}

int qv_bm_take_plugin(void *ctx, const char *file)
{
	struct qv_bm_plugins *p = ctx;

	if (p->n == QV_BM_PLUGINS) {
		fprintf(stderr, "quiver: no more than %d plugins\n", QV_BM_PLUGINS);
		return -1;
	}
	p->at[p->n++] = file;
	return 0;
}

int qv_bm_impls_find(struct qv_bm_impls *impls, const char *list, const char *const *plugins,
		     size_t plugins_n)
{
	char name[QV_BENCH_NAME];
	int status = 0;

	impls->at = calloc(QV_BM_CONTENDERS, sizeof(*impls->at));
	if (!impls->at)
		abort();
	for (size_t i = 0; i < plugins_n && !status; i++)
		status = add_plugin(impls, plugins[i]);
	if (!list && !status)
		status = add_default(impls);
	while (list && *list && !status) {
		size_t n = strcspn(list, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		if (!find(impls, name) || find(impls, name)->own)
			status = add_own(impls, name);
		list += n;
		list += *list == ',';
	}
	if (!status && !impls->n) {
		fprintf(stderr, "quiver: --impl names no implementation\n");
		status = 2;
	}
	return status;
}

void qv_bm_impls_free(struct qv_bm_impls *impls)
{
	free(impls->at);
}
