/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * distance.c - how far two processors are from each other: two threads send a flag back and forth,
 * each in a cache line of its own. No message between them takes less time.
 */
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

/* The median passes over batches in which a thread waited for its processor. */
#define BATCHES 51u
#define TRIPS   200u /* of a batch */
#define NEAR_NS 100.0

struct flags {
	alignas(128) _Atomic uint32_t there;
	alignas(128) _Atomic uint32_t back;
};

bool qv_bench_pin(int rank)
{
	cpu_set_t allowed, mine;
	int seen = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return false;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || seen++ != rank)
			continue;
		CPU_ZERO(&mine);
		CPU_SET(cpu, &mine);
		return !sched_setaffinity(0, sizeof(mine), &mine);
	}
	return false;
}

static void await(_Atomic uint32_t *flag, uint32_t value)
{
	while (atomic_load_explicit(flag, memory_order_acquire) != value)
		;
}

static void *answer(void *arg)
{
	struct flags *f = arg;

	qv_bench_pin(1);
	for (uint32_t i = 1; i <= BATCHES * TRIPS; i++) {
		await(&f->there, i);
		atomic_store_explicit(&f->back, i, memory_order_release);
	}
	return NULL;
}

static double ask(struct flags *f)
{
	double ns[BATCHES];

	qv_bench_pin(0);
	for (uint32_t b = 0, i = 0; b < BATCHES; b++) {
		uint64_t start = qv_ticks();

		for (uint32_t end = i + TRIPS; i < end;) {
			atomic_store_explicit(&f->there, ++i, memory_order_release);
			await(&f->back, i);
		}
		ns[b] = (double)(qv_ticks() - start) * qv_bench_tick_ns() / (2.0 * TRIPS);
	}
	return qv_bench_median(ns, BATCHES);
}

double qv_bench_distance_ns(void)
{
	struct flags flags = {.there = 0};
	cpu_set_t allowed;
	pthread_t thread;
	double ns;

	qv_bench_tick_ns(); /* measured before the other thread runs */
	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2 ||
	    pthread_create(&thread, NULL, answer, &flags))
		return -1;
	ns = ask(&flags);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(allowed), &allowed);
	return ns;
}

void qv_bench_distance_text(double ns, char *text, size_t size)
{
	if (ns < 0)
		snprintf(text, size, "one processor");
	else
		snprintf(text, size, "%.0f ns, %s", ns, ns < NEAR_NS ? "near" : "far");
}

int qv_bench_distance(int argc, char **argv)
{
	char text[64];

	if (argc > 1 && strcmp(argv[1], "--help")) {
		fprintf(stderr, "quiver: bench distance has no option '%s'; see --help\n", argv[1]);
		return 2;
	}
	if (argc > 1) {
		printf("usage: quiver bench distance\n\nHow far the first two processors are from "
		       "each other: half the round trip of a flag\nin memory; near is below %.0f "
		       "ns.\n",
		       NEAR_NS);
		return 0;
	}
	qv_bench_distance_text(qv_bench_distance_ns(), text, sizeof(text));
	printf("distance %s\n", text);
	return 0;
}
