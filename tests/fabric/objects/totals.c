/* SPDX-License-Identifier: BSD-2-Clause */
/* totals.c - what all endpoints of a process have done, asked of the provider's file itself. */
#include "tests/fabric/harness/ft.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>

#include <quiver/fi_ext.h>

#define ROUNDS   3000
#define STALE_MS 200 /* after so long who cannot have the domain has seen what was done before */

static qv_fi_process_stats_fn *process_stats;

static int is_provider(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!info->dlpi_name || !strstr(info->dlpi_name, "quiver-fi.so"))
		return 0;
	return snprintf(path, 4096, "%s", info->dlpi_name) < 4096;
}

static void find(void)
{
	char path[4096];
	void *file;

	if (!ft.quiver)
		ft_skip("an extension of quiver");
	CHECK(dl_iterate_phdr(is_provider, path));
	file = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	CHECK(file);
	*(void **)&process_stats = dlsym(file, QV_FI_PROCESS_STATS);
	CHECK(process_stats);
	OK(dlclose(file)); /* libfabric has it, too */
}

static uint64_t matched(int endpoints)
{
	struct qv_fi_stats s;

	CHECK_EQ(process_stats(&s, sizeof(s)), endpoints);
	CHECK(!s.core && !s.structure && !s.isa);
	return s.tagged.matched;
}

/* Looks on while another thread, or none, is in libfabric. */
static void *look(void *stop)
{
	uint64_t last = 0, now = 0;

	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		now = matched(1);
		CHECK(now >= last);
		last = now;
		sched_yield();
	}
	return (void *)(uintptr_t)now;
}

static void play(struct ft_ep *ep, uint64_t rounds)
{
	uint64_t out = 1, in;
	struct ft_op tx, rx;

	for (uint64_t i = 0; i < rounds; i++) {
		ft_trecv(ep, !ft.rank, i, 0, &in, 8, &rx);
		ft_tsend(ep, !ft.rank, i, &out, 8, &tx);
		ft_wait(&rx);
		ft_wait(&tx);
	}
}

/* One endpoint, and two threads that look: this one is exact at once, they are in the end. */
static uint64_t one_endpoint(enum fi_threading threading, uint64_t before)
{
	const uint64_t rounds = ft_scaled(ROUNDS);
	pthread_t thread[2];
	struct ft_ep ep;
	void *seen;
	int stop = 0;

	ft_open(&ep, &(struct ft_conf){.threading = threading});
	if (!process_stats)
		find();
	CHECK_EQ(matched(1), before);
	ft_barrier();
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&thread[i], NULL, look, &stop));
	play(&ep, rounds);
	CHECK_EQ(matched(1), before + rounds);
	ft_progress_for(STALE_MS / 1000.0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++) {
		CHECK(!pthread_join(thread[i], &seen));
		CHECK_EQ((uintptr_t)seen, before + rounds);
	}
	ft_barrier();
	ft_close(&ep);
	CHECK_EQ(matched(0), before + rounds);
	return before + rounds;
}

static void *ask_once(void *done)
{
	uint64_t now = matched(1);

	__atomic_store_n((int *)done, 1, __ATOMIC_RELAXED);
	return (void *)(uintptr_t)now;
}

/* Nobody has asked before, and who asks is not the thread that calls libfabric. */
static void first(void)
{
	const uint64_t rounds = ft_scaled(ROUNDS);
	pthread_t thread;
	struct ft_ep ep;
	void *seen;
	int done = 0;

	ft_open(&ep, &(struct ft_conf){.threading = FI_THREAD_DOMAIN});
	find();
	ft_barrier();
	play(&ep, rounds);
	CHECK(!pthread_create(&thread, NULL, ask_once, &done));
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		ft_progress();
	CHECK(!pthread_join(thread, &seen));
	CHECK_EQ((uintptr_t)seen, rounds);
	ft_barrier();
	ft_close(&ep);
}

static void process(void)
{
	struct qv_fi_stats s;
	char some[sizeof(s.core)];
	uint64_t sum;

	sum = one_endpoint(FI_THREAD_DOMAIN, 0);
	sum = one_endpoint(FI_THREAD_SAFE, sum);
	CHECK_EQ(process_stats(&s, sizeof(s)), 0);
	CHECK_EQ(s.tagged.posted, sum);
	CHECK_EQ(s.tagged.arrived, sum);
	CHECK_EQ(s.tagged.posted_now + s.tagged.unexpected_now + s.unexpected_bytes, 0);
	CHECK(s.tagged.posted_max >= 1 && s.eager >= sum);
	memset(some, 1, sizeof(some));
	CHECK_EQ(process_stats((struct qv_fi_stats *)(void *)some, 4), 0);
	CHECK(!some[3] && some[4] == 1);
}

const struct ft_case ft_cases_totals[] = {
	{"stats_process", 2, 30, process},
	{"stats_first", 2, 30, first},
	{.name = NULL},
};
