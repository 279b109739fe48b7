/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cut_sweep.c - a few messages of all kinds between two hosts, again and again, each time over
 * new endpoints; a relay (tests/fabric/harness/cutter.py) cuts, resets, half-closes or delays their connection before
 * byte k of one way. What is promised is in tests/fabric/harness/stream.h.
 *
 * k is drawn, half of the time among the first bytes, for QV_CUT_SECONDS (default 25), from
 * QV_SEED; with QV_CUT_SWEEP=all every k of the first bytes has its turn, and some of the others.
 */
#include "tests/fabric/harness/stream.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROUND = 0, OVER = 1 };                                       /* words */
enum { FIRST = 1500, THOROUGH = 3000, STEP = 97, DELAY_STEP = 16 }; /* bytes */
static const char *const modes[] = {"end", "reset", "half", "delay"};
enum { MODES = 4, DELAY = 3 };

struct spot { /* where it is cut */
	size_t mode, way, byte;
};

struct sweep {
	size_t total[2]; /* bytes of a round in which nothing happens */
	size_t rounds, fired[MODES], told;
	uint64_t rnd;
	bool all;
	struct spot next; /* of a thorough sweep */
	double end;
};

/* The relay. */

static bool ask(const char *order, size_t bytes[2])
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("QV_TEST_CUTTER");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fired = 0;
	char answer[128] = "";
	size_t at = 0;
	ssize_t n;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	CHECK(write(fd, order, strlen(order)) == (ssize_t)strlen(order));
	while (at < sizeof(answer) - 1 && (n = read(fd, answer + at, sizeof(answer) - 1 - at)) > 0)
		at += (size_t)n;
	close(fd);
	CHECK(sscanf(answer, "%d %zu %zu", &fired, &bytes[0], &bytes[1]) == 3);
	return fired;
}

static void arm(const char *mode, size_t way, size_t byte)
{
	size_t bytes[2];
	char order[64];

	snprintf(order, sizeof(order), "arm %s %zu %zu\n", mode, way, byte);
	ask(order, bytes);
}

/* A round. */

static bool some(struct ft_ep *ep, size_t n, size_t len, bool lockstep)
{
	struct ft_stream s = {.ep = ep,
			      .other = !ft.rank,
			      .n = n,
			      .len = len,
			      .window = lockstep ? 1 : n,
			      .sends = true,
			      .receives = true,
			      .lockstep = lockstep};

	return ft_stream(&s);
}

/* Either rank may be the first to say something; short ones, long ones; and the end of it all. */
static bool messages(void)
{
	struct ft_ep ep;
	bool clean;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	clean = some(&ep, 3, 8, false);
	clean &= some(&ep, 2, 40000, false);
	clean &= some(&ep, 2, 3000, true);
	ft_stream_works(&ep, !ft.rank);
	ft_close(&ep);
	return clean;
}

/* Which. */

static bool draw(struct sweep *w, struct spot *spot)
{
	uint64_t r = ft_random(&w->rnd);
	size_t most;

	spot->mode = r % MODES;
	spot->way = r >> 8 & 1;
	most = w->total[spot->way];
	if (r >> 9 & 1 && most > FIRST)
		most = FIRST;
	spot->byte = (size_t)(r >> 16) % most;
	return ft_now() < w->end;
}

static bool step(struct sweep *w, struct spot *spot)
{
	struct spot *n = &w->next;

	*spot = *n;
	n->byte += n->byte >= THOROUGH ? STEP : n->mode == DELAY ? DELAY_STEP : 1;
	if (n->byte >= w->total[n->way]) {
		n->byte = 0;
		n->mode += n->way;
		n->way ^= 1;
	}
	return spot->mode < MODES;
}

static void lead(struct sweep *w)
{
	struct spot spot;
	size_t bytes[2];
	bool fired;

	while (w->all ? step(w, &spot) : draw(w, &spot)) {
		printf("  %s: %s before byte %zu of way %zu\n", ft.name, modes[spot.mode],
		       spot.byte, spot.way);
		fflush(stdout); /* or it is lost when the other rank fails */
		arm(modes[spot.mode], spot.way, spot.byte);
		ft.sh->word[ROUND]++;
		w->told += !messages();
		fired = ask("ask\n", bytes);
		w->fired[spot.mode] += fired;
		w->rounds++;
	}
	ft.sh->word[OVER] = 1;
	ft.sh->word[ROUND]++;
}

static void follow(void)
{
	for (uint64_t round = 1;; round++) {
		while (ft.sh->word[ROUND] < round)
			ft_msleep(1);
		if (ft.sh->word[OVER])
			break;
		messages();
	}
}

static void sweep(void)
{
	const char *seconds = getenv("QV_CUT_SECONDS"), *seed = getenv("QV_SEED"),
		   *all = getenv("QV_CUT_SWEEP");
	struct sweep w = {.rnd = seed ? strtoull(seed, NULL, 0) : 1, .all = all != NULL};

	if (!getenv("QV_TEST_CUTTER"))
		ft_skip("a relay that cuts needs two hosts (tests/fabric/harness/hosts.py cut)");
	if (ft.rank == 0)
		arm("none", 0, 0);
	ft_barrier_idle();
	CHECK(messages());
	if (ft.rank) {
		follow();
		return;
	}
	ask("ask\n", w.total);
	CHECK(w.total[0] && w.total[1]);
	printf("  %s: %zu and %zu bytes, QV_SEED=%llu\n", ft.name, w.total[0], w.total[1],
	       (unsigned long long)w.rnd);
	w.end = ft_now() + (seconds ? atof(seconds) : 25);
	lead(&w);
	printf("  %s: %zu rounds, cut in %zu, reset in %zu, half-closed in %zu, delayed in %zu, "
	       "errors told in %zu\n",
	       ft.name, w.rounds, w.fired[0], w.fired[1], w.fired[2], w.fired[DELAY], w.told);
	for (size_t m = 0; m < MODES; m++)
		CHECK(w.fired[m]);
}

const struct ft_case ft_cases_cut_sweep[] = {
	{"cut_sweep", 2, 7000, sweep},
	{0},
};
