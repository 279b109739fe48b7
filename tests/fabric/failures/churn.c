/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - many clients come to one server, each for one request: it is inserted, served,
 * removed. All are served, and the last costs no more than the first: memory, descriptors, the time
 * of a look at an empty queue.
 *
 * QV_CHURN_PEERS (default 600) come; all but the first QV_CHURN_WARM (default 100) are compared
 * with those. QV_CHURN_CSV names a file for peer, KiB, descriptors, ns of a look, us of a request.
 */
#include "tests/fabric/harness/ft.h"

#include <dirent.h>
#include <unistd.h>

enum { COME, SERVED, GONE }; /* words: clients so far */
enum { ROWS = 20, LOOKS = 20000 };

/* What may be between the first row and the last: allocators round, a machine is busy. Cores alone
 * keep something of each peer, too: shm of libfabric 1.17 400 bytes, net 950. */
enum { KIB_MORE = 128, FDS_MORE = 16 };

static size_t bytes_per_peer(void)
{
	return strcmp(ft_core(), "shm") ? 1024 : 512;
}

struct row {
	size_t peers, kib, fds;
	double look_ns, request_us;
};

static size_t from_env(const char *name, size_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

/* What it costs. */

static size_t resident_kib(void)
{
	unsigned long size, resident;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%lu %lu", &size, &resident) == 2);
	fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

size_t ft_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The best of several turns: the machine does other things, too. */
static double look_ns(struct ft_ep *ep)
{
	struct fi_cq_tagged_entry entry;
	double best = 1e9;

	for (int turn = 0; turn < 5; turn++) {
		double start = ft_now();

		for (int i = 0; i < LOOKS / 5; i++)
			CHECK_EQ(-fi_cq_read(ep->rx_cq, &entry, 1), FI_EAGAIN);
		start = (ft_now() - start) / (LOOKS / 5) * 1e9;
		best = start < best ? start : best;
	}
	return best;
}

static void measure(struct ft_ep *ep, struct row *row, size_t peers, double request_us)
{
	ft_progress_for(0.05); /* what closes, closes */
	row->peers = peers;
	row->kib = resident_kib();
	row->fds = ft_descriptors();
	row->look_ns = look_ns(ep);
	row->request_us = request_us;
}

static void print_rows(const struct row *row, size_t n)
{
	const char *path = getenv("QV_CHURN_CSV");
	FILE *f = path ? fopen(path, "w") : NULL;

	printf("  %s: %8s %8s %12s %8s %12s\n", ft.name, "peers", "KiB", "descriptors", "ns/look",
	       "us/request");
	if (f)
		fprintf(f, "peers,kib,descriptors,look_ns,request_us\n");
	for (size_t i = 0; i < n; i++) {
		printf("  %s: %8zu %8zu %12zu %8.0f %12.0f\n", ft.name, row[i].peers, row[i].kib,
		       row[i].fds, row[i].look_ns, row[i].request_us);
		if (f)
			fprintf(f, "%zu,%zu,%zu,%.1f,%.1f\n", row[i].peers, row[i].kib, row[i].fds,
				row[i].look_ns, row[i].request_us);
	}
	if (f)
		fclose(f);
	fflush(stdout);
}

static void judge(const struct row *first, const struct row *last)
{
	size_t more = KIB_MORE + (last->peers - first->peers) * bytes_per_peer() / 1024;

	if (last->fds > first->fds + FDS_MORE)
		ft_fail("%zu descriptors after %zu peers, %zu after %zu", first->fds, first->peers,
			last->fds, last->peers);
	if (last->look_ns > 3 * first->look_ns + 1000)
		ft_fail("a look takes %.0f ns after %zu peers, %.0f after %zu", first->look_ns,
			first->peers, last->look_ns, last->peers);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what is freed */
	if (last->kib > first->kib + more)
		ft_fail("%zu KiB after %zu peers, %zu after %zu", first->kib, first->peers,
			last->kib, last->peers);
#endif
	(void)more;
}

/* The server. */

static void limited_wait(struct ft_op *op, size_t peer, const char *what)
{
	double end = ft_now() + ft_ms(10000) * 1e-3;

	FT_HERE();
	while (!op->done) {
		ft_progress();
		if (ft_now() > end)
			ft_fail("peer %zu: %s for %d s", peer, what, ft_ms(10000) / 1000);
	}
	if (op->err)
		ft_fail("peer %zu: %s", peer, fi_strerror(op->err));
}

/* Every other client is spoken to first, but over shm as of 1.19: it would crash at a number that it
 * has given out before (docs/design.md, known costs). */
static bool server_begins(size_t i)
{
	return i % 2 &&
	       (strcmp(ft_core(), "shm") || FI_VERSION_LT(fi_version(), FI_VERSION(1, 19)));
}

static void serve_one(struct ft_ep *ep, size_t i)
{
	uint64_t word = 0, answer = i;
	fi_addr_t addr;
	struct ft_op tx, rx;

	ft_await_word(COME, i + 1);
	CHECK_EQ(fi_av_insert(ep->av, ft.sh->rank[1].name[0], 1, &addr, 0, NULL), 1);
	POST(fi_trecv(ep->ep, &word, 8, NULL, addr, i, 0, ft_fresh(&rx)));
	if (!server_begins(i))
		limited_wait(&rx, i, "no request");
	POST(fi_tsend(ep->ep, &answer, 8, NULL, addr, i, ft_fresh(&tx)));
	limited_wait(&tx, i, "the answer is not sent");
	limited_wait(&rx, i, "no request behind the answer");
	CHECK_EQ(word, i);
	CHECK_EQ(rx.src, addr);
	ft.sh->word[SERVED] = i + 1;
	ft_await_word(GONE, i + 1);
	OK(fi_av_remove(ep->av, &addr, 1, 0));
}

static void serve(size_t peers, size_t warm)
{
	struct row row[ROWS + 1];
	size_t rows = 0, each = (peers - warm) / (ROWS - 1) + 1;
	double since = ft_now();
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV, .lonely = true});
	ft_barrier();
	for (size_t i = 0; i < peers; i++) {
		serve_one(&ep, i);
		if (i + 1 == peers || (i + 1 >= warm && (i + 1 - warm) % each == 0)) {
			size_t n = i + 1 - (rows ? row[rows - 1].peers : 0);

			measure(&ep, &row[rows++], i + 1, (ft_now() - since) / (double)n * 1e6);
			since = ft_now();
		}
	}
	ft_barrier();
	ft_close_part(&ep);
	print_rows(row, rows);
	judge(&row[0], &row[rows - 1]);
}

/* The clients. */

static void come(struct ft_ep *domain, size_t i)
{
	uint64_t word = i;
	struct ft_ep ep;
	struct ft_op tx, rx;

	ft.eps = 0; /* its name is where the server looks for it */
	ft_open(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV,
				       .lonely = true,
				       .beside = domain});
	CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[0].name[0], 1, &ep.peer[0], 0, NULL), 1);
	ft_trecv(&ep, 0, i, 0, &word, 8, &rx);
	ft.sh->word[COME] = i + 1;
	if (server_begins(i))
		limited_wait(&rx, i, "the server does not begin");
	ft_tsend(&ep, 0, i, &word, 8, &tx);
	limited_wait(&tx, i, "the request is not sent");
	limited_wait(&rx, i, "no answer");
	FT_HERE();
	while (ft.sh->word[SERVED] <= i)
		ft_progress();
	OK(fi_av_remove(ep.av, &ep.peer[0], 1, 0));
	ft_close_part(&ep);
	ft.sh->word[GONE] = i + 1;
}

static void churn(bool one_domain)
{
	size_t peers = from_env("QV_CHURN_PEERS", 600), warm = from_env("QV_CHURN_WARM", 100);
	struct ft_ep domain;

	if (ft.peer && !strcmp(ft_core(), "shm"))
		ft_skip("peer mode gives the core no address back, and shm has 256");
	if (ft.rank == 0) {
		serve(peers, warm);
		return;
	}
	if (one_domain)
		ft_open(&domain,
			&(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV, .lonely = true});
	ft_barrier();
	for (size_t i = 0; i < peers; i++)
		come(one_domain ? &domain : NULL, i);
	ft_barrier();
	if (one_domain)
		ft_close_part(&domain);
}

/* Each has a domain of its own, as a process has; or an endpoint only. */
static void churn_domains(void)
{
	churn(false);
}

static void churn_endpoints(void)
{
	churn(true);
}

const struct ft_case ft_cases_churn[] = {
	{"churn_domains", 2, 14000, churn_domains},
	{"churn_endpoints", 2, 14000, churn_endpoints},
	{0},
};
