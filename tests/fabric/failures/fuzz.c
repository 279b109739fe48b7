/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.c - a process that opens the core provider itself and sends nonsense to our endpoint.
 *
 * Rank 0 is the target, rank 1 an honest peer whose traffic with it goes on, rank 2 the attacker.
 * It never uses the identity of another peer: that would be a forgery, not a damaged packet.
 */
#include "tests/fabric/harness/ft.h"

#include <unistd.h>

enum { TARGET = FT_TARGET, PEER, ATTACKER = FT_ATTACKER };
enum { SENT, COUNT }; /* words: the attacker is done; how many packets it sent */

/* The honest ones: small and large messages both ways until the attacker is done, and after. */
static void honest(struct ft_ep *ep)
{
	static const size_t lens[] = {8, 100, 5000, 100000};
	char *out = ft_buf(100000), *in = ft_buf(100000);
	uint64_t more = 1;

	for (size_t i = 0; more; i++) {
		size_t len = lens[i % 4];
		struct ft_op tx, rx, end;

		ft_fill(out, len, i);
		ft_guard(in, len);
		ft_trecv(ep, !ft.rank, i, 0, in, len, &rx);
		ft_tsend(ep, !ft.rank, i, out, len, &tx);
		ft_wait(&tx);
		ft_wait(&rx);
		ft_verify(in, len, i, len);
		if (ft.rank == TARGET) {
			more = ft.sh->word[SENT] < 50;
			ft.sh->word[SENT] += ft.sh->word[SENT] > 0;
			ft_tsend(ep, PEER, 1ull << 63, &more, 8, &end);
		} else {
			ft_trecv(ep, TARGET, 1ull << 63, 0, &more, 8, &end);
		}
		ft_wait(&end);
	}
	free(in);
	free(out);
}

/* What our endpoint says of it: the number refused (in its statistics), and lines in the log. */
static void look_at_log(FILE *file, size_t *refused, size_t *lines)
{
	char line[1024];

	fflush(stderr);
	rewind(file);
	*refused = *lines = 0;
	while (fgets(line, sizeof(line), file)) {
		const char *stats = strstr(line, "unexpected payload, ");

		if (stats)
			sscanf(stats, "unexpected payload, %zu packets refused", refused);
		if (!strstr(line, "packet refused:"))
			continue;
		if ((*lines)++ < 2)
			printf("  %s: stderr: %s", ft.name, line);
	}
}

/* Messages that will never be whole, or that lie where nothing can be read: receives take them. */
static void swallow(struct ft_ep *ep)
{
	enum { N = 300, ROOM = 5000 };
	struct ft_op *op = calloc(N, sizeof(*op));
	char *buf = malloc((size_t)N * ROOM);

	CHECK(op && buf);
	for (size_t i = 0; i < N; i++) {
		char *b = buf + i * ROOM;

		if (i % 2)
			ft_trecv(ep, FT_ANY, 0, ~0ull, b, ROOM, &op[i]);
		else
			ft_recv(ep, FT_ANY, b, ROOM, &op[i]);
	}
	ft_progress_for(0.3);
	ft_close_ep(ep);
	free(op);
	free(buf);
}

static void under_attack(size_t (*attack)(struct ft_ep *ep), bool all)
{
	FILE *err = NULL;
	struct ft_ep ep;
	size_t lines, refused, sent;

	if (!ft.quiver || ft.peer)
		ft_skip("packets of quiver only");
	if (ft.rank == TARGET) {
		setenv("FI_LOG_LEVEL", "warn", 1);
		setenv("FI_LOG_PROV", "quiver,ofi_quiver", 1);
		setenv("FI_QUIVER_STATS", "1", 1);
		err = tmpfile();
		CHECK(err && dup2(fileno(err), STDERR_FILENO) >= 0);
	}
	if (ft.rank == ATTACKER) { /* opens what is below us */
		ft.prov = ft_core();
		ft.quiver = false;
		unsetenv("FI_PROVIDER");
	}
	ft_open(&ep, &(struct ft_conf){.caps = ft.rank == ATTACKER ? 0 : FI_DIRECTED_RECV});
	if (ft.rank == ATTACKER) {
		ft.sh->word[COUNT] = attack(&ep);
		ft.sh->word[SENT] = 1;
	} else {
		honest(&ep);
	}
	if (ft.rank == TARGET)
		swallow(&ep);
	ft_close(&ep);
	if (err) {
		look_at_log(err, &refused, &lines);
		sent = ft.sh->word[COUNT];
		printf("  %s: %zu of %zu packets refused, %zu lines logged\n", ft.name, refused,
		       sent, lines);
		CHECK(lines > 0 && lines <= 64);
		/* those of nobody are passed over: a HELLO may be on its way again */
		CHECK(refused <= sent && refused > sent / 8 * (all ? 4 : 1));
		fclose(err);
	}
}

static void corrupt_packets(void)
{
	under_attack(ft_attack_damaged, true);
}

static void random_packets(void)
{
	under_attack(ft_attack_random, false);
}

static void known_attacker(void)
{
	under_attack(ft_attack_known, false);
}

const struct ft_case ft_cases_fuzz[] = {
	{"corrupt_packets", 3, 30, corrupt_packets},
	{"random_packets", 3, 60, random_packets},
	{"known_attacker", 3, 60, known_attacker},
	{0},
};
