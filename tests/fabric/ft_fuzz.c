/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ft_fuzz.c - a process that opens the core provider itself and sends nonsense to our endpoint.
 *
 * Rank 0 is the target, rank 1 an honest peer whose traffic with it goes on, rank 2 the attacker.
 * It never uses the identity of another peer: that would be a forgery, not a damaged packet.
 */
#include "ft.h"

#include <unistd.h>

#include "proto/qv_wire.h"

enum { TARGET, PEER, ATTACKER };
enum { SENT }; /* word: the attacker is done */

/* A packet that is well formed, apart from what the caller damages. */
static size_t packet(char *buf, uint8_t op, uint8_t flags, uint64_t arg, const void *body,
		     size_t len)
{
	struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
				  .version = QV_WIRE_VERSION,
				  .op = op,
				  .flags = flags,
				  .src = QV_SRC_UNKNOWN,
				  .arg = arg};
	uint64_t word = 0xfeedface;
	size_t at = sizeof(hdr);

	memcpy(buf, &hdr, at);
	for (uint8_t f = QV_WF_UID; f <= QV_WF_SREQ; f <<= 1) {
		if (flags & f) {
			memcpy(buf + at, &word, 8);
			at += 8;
		}
	}
	memcpy(buf + at, body, len);
	return at + len;
}

/* Each kind of damage once; returns 0 after the last. */
static size_t damaged(char *buf, int kind)
{
	static const char zero[256];
	struct qv_wire_hello hello = {.uid = 1, .id = 1, .packet_max = 64, .namelen = 60000};
	size_t len;

	switch (kind) {
	case 0: return 1; /* shorter than a header */
	case 1: return packet(buf, QV_PKT_EAGER, QV_WF_UID, 1, zero, 0) - 12;
	case 2: /* not our packet */
		len = packet(buf, QV_PKT_EAGER, QV_WF_UID, 1, zero, 8);
		buf[0] = 0x52;
		return len;
	case 3: /* of a later version */
		len = packet(buf, QV_PKT_EAGER, QV_WF_UID, 1, zero, 8);
		buf[1] = QV_WIRE_VERSION + 1;
		return len;
	case 4: return packet(buf, 0, 0, 1, zero, 8);
	case 5: return packet(buf, QV_PKT_LAST + 1, 0, 1, zero, 8);
	case 6: return packet(buf, QV_PKT_EAGER, 0x80, 1, zero, 8);
	case 7: return packet(buf, QV_PKT_HELLO, 0, 0, zero, 10);
	case 8: return packet(buf, QV_PKT_HELLO, 0, 0, &hello, sizeof(hello));
	case 9: return packet(buf, QV_PKT_RTS, QV_WF_UID | QV_WF_SREQ, 1, zero, 23);
	case 10: return packet(buf, QV_PKT_RTS, QV_WF_UID | QV_WF_SREQ | QV_WF_TOTAL, 1, zero, 240);
	case 11: return packet(buf, QV_PKT_CTS, 0, 77, zero, 16);
	case 12: return packet(buf, QV_PKT_CTS, 0, 0x5555555555555555, zero, 3);
	case 13: return packet(buf, QV_PKT_SEG, 0, 77, zero, 8);
	case 14: return packet(buf, QV_PKT_SEG, 0, UINT64_MAX, zero, 100);
	case 15: return packet(buf, QV_PKT_FIN, 0, UINT64_MAX, zero, 8);
	case 16: return packet(buf, QV_PKT_FIN, 0, 3, zero, 0);
	case 17: return packet(buf, QV_PKT_DATA, 0, 4096, zero, 200);
	case 18: return packet(buf, QV_PKT_CREDIT, 0, UINT64_MAX, zero, 0);
	case 19: return packet(buf, QV_PKT_EAGER, QV_WF_UID | QV_WF_TOTAL, 1, zero, 200);
	case 20: return packet(buf, QV_PKT_PING, 0, 1, zero, 200);
	default: return 0;
	}
}

static void shoot(struct ft_ep *ep, char *buf, size_t len)
{
	struct ft_op op;

	ft_send(ep, TARGET, buf, len, &op);
	FT_HERE();
	while (!op.done)
		ft_progress();
}

static void attack_damaged(struct ft_ep *ep)
{
	char buf[1024] = {0};
	size_t len;

	for (int kind = 0; (len = damaged(buf, kind)) > 0; kind++)
		shoot(ep, buf, len);
}

/* Random bytes, random lengths; half of them with a header that is almost right. */
static void attack_random(struct ft_ep *ep)
{
	const char *given = getenv("QV_SEED");
	uint64_t state = given ? strtoull(given, NULL, 0) : 11, body[64];
	size_t n = ft_scaled(3000);
	char buf[1024];

	for (size_t i = 0; i < n; i++) {
		uint64_t r = ft_random(&state);
		size_t len = r % 300;

		for (size_t b = 0; b < 64; b++)
			body[b] = ft_random(&state) >> (ft_random(&state) % 64);
		memcpy(buf, body, sizeof(body));
		if (r & 1u << 20)
			len = packet(buf, (uint8_t)(r >> 24) % (QV_PKT_LAST + 2),
				     (uint8_t)(r >> 32) & (QV_WF_ALL | 0x40), body[0], body, len);
		if (r & 1u << 21)
			len = len * (r >> 40 & 0xff) / 256;
		if (r & 1u << 22 && len)
			buf[(r >> 48) % len] ^= (char)(r >> 56);
		shoot(ep, buf, len);
	}
}

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

static size_t count_lines(FILE *file, const char *word)
{
	char line[1024];
	size_t n = 0;

	fflush(stderr);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (n < 3 && strstr(line, word))
			printf("  %s: stderr: %s", ft.name, line);
		n += strstr(line, word) != NULL;
	}
	return n;
}

static void under_attack(void (*attack)(struct ft_ep *ep))
{
	FILE *err = NULL;
	struct ft_ep ep;
	size_t lines;

	if (!ft.quiver)
		ft_skip("packets of quiver only");
	if (ft.rank == TARGET) {
		setenv("FI_LOG_LEVEL", "warn", 1);
		setenv("FI_LOG_PROV", "quiver,ofi_quiver", 1);
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
		attack(&ep);
		ft.sh->word[SENT] = 1;
	} else {
		honest(&ep);
	}
	ft_close(&ep);
	if (err) {
		lines = count_lines(err, "refused");
		printf("  %s: %zu lines logged\n", ft.name, lines);
		CHECK(lines > 0);
		fclose(err);
	}
}

static void corrupt_packets(void)
{
	under_attack(attack_damaged);
}

static void random_packets(void)
{
	under_attack(attack_random);
}

const struct ft_case ft_cases_fuzz[] = {
	{"corrupt_packets", 3, 30, corrupt_packets},
	{"random_packets", 3, 60, random_packets},
	{0},
};
