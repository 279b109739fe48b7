/* SPDX-License-Identifier: BSD-2-Clause */
/* test_onesided.c - requests and answers that no endpoint would send: memory stays as it is, nobody is
 * told of an end that was none, and who does not listen costs little. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/node/internal.h"
#include "rig/guest.h"
#include "rig/party.h"

#define US    0u
#define GUEST 0x6775657374u /* a name */
#define ROOM  100000u
#define BASE  0x1000u
#define BOTH  7u /* keys */
#define READ  8u

static char memory[ROOM];
static unsigned reads, writes, keys;
static size_t touched_len; /* of the last one */

/* The owner. */

static int find(void *owner, const struct qv_span *span, unsigned access, struct iovec *iov,
		size_t *cnt)
{
	uint64_t at = span->addr - BASE;

	(void)owner;
	if ((span->key != BOTH && (span->key != READ || access & QV_MEM_WRITE)) || at > ROOM ||
	    span->len > ROOM - at)
		return QV_EINVAL;
	*iov = (struct iovec){memory + at, span->len};
	*cnt = span->len != 0;
	return QV_OK;
}

static bool can_update(void *owner, uint16_t what, size_t len, size_t operands, bool before)
{
	(void)owner;
	(void)before;
	return what == 1 && operands == 1 && len % 8 == 0;
}

static void update(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		   const void *operands, size_t len, void *before)
{
	(void)owner;
	(void)what;
	QV_NEED(cnt == 1);
	if (before)
		memcpy(before, iov->iov_base, len);
	memcpy(iov->iov_base, operands, len);
}

static bool counts_reads(void *owner)
{
	(void)owner;
	return true;
}

static void touched(void *owner, const struct qv_touch *touch)
{
	(void)owner;
	*(touch->access & QV_MEM_READ ? &reads : &writes) += 1;
	touched_len = touch->len;
}

static void written(void *owner, uint64_t key)
{
	(void)owner;
	assert_int_equal(key, BOTH);
	keys++;
}

static const struct qv_memory_ops memory_ops = {
	.find = find,
	.can_update = can_update,
	.update = update,
	.counts_reads = counts_reads,
	.touched = touched,
	.written = written,
};

/* A guest with a ring in both directions. */
struct guest {
	struct party p;
	int fd, door, back_fd;
	struct qv_ring *ring;
	struct qv_ring_rx back;
	uint32_t number; /* of the last packet that it has sent */
	uint64_t addr;   /* its */
};

static void open_guest(struct guest *g)
{
	memset(g, 0, sizeof *g);
	memset(memory, 'm', sizeof memory);
	reads = writes = 0;
	party_open(&g->p, US);
	qv_node_open_memory(g->p.node, &memory_ops);
	g->addr = party_insert(&g->p, GUEST);
	g->door = guest_door(GUEST);
	g->ring = guest_join(g->p.name, GUEST, &g->fd);
	party_poll(&g->p, 2);
}

static void hear_back(struct guest *g)
{
	if (!g->back.ring)
		g->back = qv_ring_rx_begin(guest_ring_of(g->door, &g->back_fd));
}

static void leave(struct guest *g)
{
	if (g->back.ring) {
		qv_segment_unmap(g->back.ring);
		close(g->back_fd);
	}
	qv_segment_unmap(g->ring);
	close(g->fd);
	close(g->door);
}

static void close_guest(struct guest *g)
{
	leave(g);
	party_close(&g->p);
}

static void put(struct guest *g, enum qv_slot_kind kind, uint64_t tag, uint64_t data,
		const void *body, size_t len)
{
	uint32_t low = (uint32_t)len | (uint32_t)kind << 16, at = g->number % 8 * QV_RING_PACKET;

	if (len > QV_RING_INLINE) {
		memcpy(g->ring->stage + at, body, len);
		guest_put(g->ring, ++g->number, low | QV_SLOT_STAGED, tag, data, &at, sizeof at);
	} else {
		guest_put(g->ring, ++g->number, low, tag, data, body, len);
	}
	qv_node_poll(g->p.node);
}

static void ask(struct guest *g, uint64_t tag, struct qv_ask ask, const void *payload, size_t len)
{
	static char body[QV_RING_PACKET];

	memcpy(body, &ask, sizeof ask);
	if (len)
		memcpy(body + sizeof ask, payload, len);
	put(g, QV_SLOT_REQUEST, tag, 0, body, sizeof ask + len);
}

/* The next packet that it hears. */
static const char *heard(struct guest *g, enum qv_slot_kind kind, uint64_t *tag, uint64_t *data,
			 size_t *len)
{
	const struct qv_slot *slot;
	const char *body;
	uint32_t low;

	hear_back(g);
	slot = &g->back.ring->slots[g->back.at];
	assert_true(qv_ring_next(&g->back, &low));
	assert_int_equal(QV_SLOT_KIND(low), kind);
	body = qv_ring_body(&g->back, low, len);
	*tag = slot->tag;
	*data = slot->data;
	qv_ring_advance(&g->back, low);
	return body;
}

/* What this request is answered. */
static int answer_to(struct guest *g, struct qv_ask a, const void *payload, size_t len)
{
	uint64_t tag, data;
	size_t got;

	ask(g, 77, a, payload, len);
	heard(g, QV_SLOT_REPLY, &tag, &data, &got);
	assert_int_equal(tag, 77);
	return -(int)(data & QV_ANSWER_STATUS);
}

static bool is_untouched(void)
{
	for (size_t i = 0; i < ROOM; i++)
		if (memory[i] != 'm')
			return false;
	return !writes && !reads;
}

#define ASK(kind_, len_, ...) \
	((struct qv_ask){.kind = (kind_), .len = (len_), .addr = BASE, .key = BOTH, __VA_ARGS__})

static struct qv_ask at(struct qv_ask a, uint64_t addr, uint64_t key)
{
	a.addr = addr;
	a.key = key;
	return a;
}

/* Requests. */

static void requests_without_sense(void **state)
{
	static char bytes[QV_RING_PACKET];
	const uint64_t half = UINT64_C(1) << 63;
	const struct qv_node_place two[2] = {{(uintptr_t)bytes, half}, {(uintptr_t)bytes, half}};
	const struct qv_node_place five[5] = {{(uintptr_t)bytes, 8},
					      {(uintptr_t)bytes, 0},
					      {(uintptr_t)bytes, 0},
					      {(uintptr_t)bytes, 0},
					      {(uintptr_t)bytes, 0}};
	const struct qv_node_place nowhere = {8, 8};
	struct qv_node_stats stats;
	struct guest g;

	(void)state;
	open_guest(&g);
	for (unsigned kind = QV_REMOTE_OVER + 1; kind < 256; kind += 50)
		assert_int_equal(answer_to(&g, ASK((uint8_t)kind, 8), bytes, 8), QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_GET, 8), bytes, 1), QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_GET, QV_NODE_PART + 1), NULL, 0), QV_EPROTO);
	assert_int_equal(
		answer_to(&g, ASK(QV_REMOTE_GET, UINT32_MAX, .flags = QV_ASK_DIRECT), NULL, 0),
		QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8), bytes, 7), QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8), bytes, 9), QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_UPDATE, 0, .what = 1), NULL, 0), QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_UPDATE, 8, .what = 1), bytes, 12), QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_UPDATE, 8, .what = 1), bytes, 16), QV_EINVAL);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_UPDATE, 8, .what = 2), bytes, 8), QV_EINVAL);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_OVER, 8), NULL, 0), QV_EPROTO);
	/* Places of a put; the last one is looked at only where memory of others can be read. */
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_DIRECT), NULL, 0),
			 QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_DIRECT), five, 15),
			 QV_EPROTO);
	assert_int_equal(
		answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_DIRECT), five, sizeof five),
		QV_EPROTO);
	assert_int_equal(
		answer_to(&g, ASK(QV_REMOTE_PUT, 0, .flags = QV_ASK_DIRECT), two, sizeof two),
		QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_DIRECT), &nowhere,
				   sizeof nowhere),
			 g.p.node->readable ? QV_EIO : QV_ENOSYS);
	/* How long all of it is: nothing, less than this, of what is no put. */
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 0, .flags = QV_ASK_TOTAL), bytes, 7),
			 QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_TOTAL), bytes, 16),
			 QV_EPROTO);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_GET, 8, .flags = QV_ASK_TOTAL), bytes, 8),
			 QV_EPROTO);
	/* Memory that it may not have. */
	assert_int_equal(answer_to(&g, at(ASK(QV_REMOTE_PUT, 8), BASE, 9), bytes, 8), QV_EINVAL);
	assert_int_equal(answer_to(&g, at(ASK(QV_REMOTE_PUT, 8), BASE, READ), bytes, 8), QV_EINVAL);
	assert_int_equal(answer_to(&g, at(ASK(QV_REMOTE_PUT, 8), BASE - 1, BOTH), bytes, 8),
			 QV_EINVAL);
	assert_int_equal(answer_to(&g, at(ASK(QV_REMOTE_PUT, 8), BASE + ROOM - 7, BOTH), bytes, 8),
			 QV_EINVAL);
	assert_int_equal(answer_to(&g, at(ASK(QV_REMOTE_GET, 8), UINT64_MAX - 3, BOTH), NULL, 0),
			 QV_EINVAL);
	assert_true(is_untouched());
	/* Too short to say who asks. */
	qv_node_get_stats(g.p.node, &stats);
	put(&g, QV_SLOT_REQUEST, 77, 0, bytes, sizeof(struct qv_ask) - 1);
	qv_node_poll(g.p.node);
	assert_int_equal(g.p.node->stats.refused, stats.refused + 1);
	/* And it is heard all the same. */
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_LAST), bytes, 8),
			 QV_OK);
	assert_int_equal(writes, 1);
	assert_int_equal(touched_len, 8);
	assert_int_equal(keys, 0);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_PUT, 8, .flags = QV_ASK_KEY), bytes, 8),
			 QV_OK);
	assert_int_equal(writes, 1);
	assert_int_equal(keys, 1);
	assert_memory_equal(memory, bytes, 8);
	close_guest(&g);
}

/* It asks, and does not read what it is answered: that is kept for a while, then it is not heard. */
static void who_does_not_listen(void **state)
{
	enum { N = 4 * QV_NODE_ASKED };
	struct guest g;
	uint32_t kept;

	(void)state;
	open_guest(&g);
	for (unsigned i = 0; i < N; i++)
		ask(&g, i + 1, ASK(QV_REMOTE_GET, QV_NODE_PART), NULL, 0);
	kept = qv_node_peer_at(g.p.node, g.addr)->answers.count;
	assert_int_equal(kept, 2 * QV_NODE_ASKED);
	assert_true(g.p.node->stats.refused > 0);
	/* What it hears when it listens is in order. */
	for (uint64_t i = 0, tag, data; i < kept; i++) {
		size_t len;
		const char *body = heard(&g, QV_SLOT_REPLY, &tag, &data, &len);

		assert_int_equal(tag, i + 1);
		assert_int_equal(data, 0);
		assert_int_equal(len, QV_NODE_PART);
		assert_int_equal(body[len - 1], 'm');
		qv_node_poll(g.p.node);
	}
	close_guest(&g);
}

/* Answers. */

static char place[2 * QV_NODE_DIRECT];

/* The guest is asked for this; what it is asked under. */
static uint64_t begin(struct guest *g, struct transfer *t, enum qv_remote_kind kind, size_t len)
{
	const struct qv_span there = {BASE, BOTH, len};
	const struct iovec here = {place, len};
	const struct qv_remote_op op = {
		.kind = kind, .there = &there, .nthere = 1, .here = &here, .nhere = 1};
	uint64_t tag, data;
	size_t got;

	memset(place, 'p', sizeof place);
	*t = (struct transfer){.xfer.done = transfer_done};
	assert_int_equal(qv_node_begin(g->p.node, g->addr, &op, &t->xfer), QV_OK);
	heard(g, QV_SLOT_REQUEST, &tag, &data, &got);
	assert_true(tag);
	return tag;
}

static void answer(struct guest *g, uint64_t tag, uint64_t data, const void *body, size_t len)
{
	put(g, QV_SLOT_REPLY, tag, data, body, len);
	qv_node_poll(g->p.node);
}

static void answers_without_sense(void **state)
{
	static char bytes[QV_RING_PACKET];
	const size_t big = QV_NODE_DIRECT;
	struct qv_node_place less = {(uintptr_t)bytes, 8},
			     much[2] = {{(uintptr_t)bytes, UINT64_MAX - 7},
					{(uintptr_t)bytes, big + 8}};
	const struct iovec places[] = {
		{&less, sizeof less}, {much, sizeof much}, {bytes, 5 * sizeof less}};
	struct transfer t;
	struct guest g;
	uint64_t tag;

	(void)state;
	open_guest(&g);
	/* To nobody. */
	tag = begin(&g, &t, QV_REMOTE_GET, 100);
	answer(&g, tag + 1, 0, bytes, 100);
	answer(&g, tag ^ (UINT64_C(1) << 32), 0, bytes, 100);
	answer(&g, 0, 0, bytes, 100);
	answer(&g, UINT64_MAX, 0, bytes, 100);
	assert_int_equal(g.p.node->stats.refused, 4);
	assert_int_equal(t.dones, 0);
	/* To somebody, and once more. */
	answer(&g, tag, 0, bytes, 100);
	assert_true(t.dones == 1 && t.status == QV_OK);
	assert_memory_equal(place, bytes, 100);
	answer(&g, tag, 0, bytes, 100);
	assert_int_equal(g.p.node->stats.refused, 5);
	/* More or less than was asked for. */
	for (size_t len = 99; len <= 101; len += 2) {
		tag = begin(&g, &t, QV_REMOTE_GET, 100);
		answer(&g, tag, 0, bytes, len);
		assert_true(t.dones == 1 && t.status == QV_EPROTO);
		assert_int_equal(place[0], 'p');
	}
	tag = begin(&g, &t, QV_REMOTE_PUT, 100);
	answer(&g, tag, 0, bytes, 1);
	assert_true(t.dones == 1 && t.status == QV_EPROTO);
	tag = begin(&g, &t, QV_REMOTE_PUT, 100);
	answer(&g, tag, 0x12345678, bytes, 0);
	assert_true(t.dones == 1 && t.status == QV_EPROTO);
	/* Places that are not what was asked for; memory that cannot be read is not asked for by places. */
	for (unsigned i = 0; i < 3 && g.p.node->readable; i++) {
		tag = begin(&g, &t, QV_REMOTE_GET, big);
		answer(&g, tag, 0, places[i].iov_base, places[i].iov_len);
		assert_true(t.dones == 1 && t.status == QV_EPROTO);
	}
	assert_int_equal(place[0], 'p');
	close_guest(&g);
}

/* It goes without an answer. */
static void who_leaves(void **state)
{
	struct transfer t[3];
	struct guest g;

	(void)state;
	open_guest(&g);
	begin(&g, &t[0], QV_REMOTE_GET, 100);
	begin(&g, &t[1], QV_REMOTE_GET, 2 * QV_NODE_DIRECT);
	begin(&g, &t[2], QV_REMOTE_PUT, 8);
	leave(&g);
	party_poll(&g.p, 20);
	for (unsigned i = 0; i < 3; i++)
		assert_true(t[i].dones == 1 && t[i].status == QV_EPEER);
	party_close(&g.p);
}

/* A client puts so much that we read it from it, and ends. */
static void visit(struct party *p)
{
	static char bytes[ROOM];
	const struct qv_span there = {.addr = BASE, .key = BOTH, .len = ROOM};
	const struct iovec here = {bytes, ROOM};
	const struct qv_remote_op op = {
		.kind = QV_REMOTE_PUT, .there = &there, .nthere = 1, .here = &here, .nhere = 1};
	struct transfer t = {.xfer.done = transfer_done};
	struct party client;

	party_open(&client, 1);
	assert_int_equal(qv_node_begin(client.node, party_insert(&client, p->name), &op, &t.xfer),
			 QV_OK);
	while (!t.dones) {
		qv_node_poll(client.node);
		qv_node_poll(p->node);
	}
	assert_int_equal(t.status, QV_OK);
	party_close(&client);
	party_poll(p, 10);
}

/* It has done what was asked first, joins us to say so, and ends before we look. Another one takes its name. */
static void who_answers_and_ends(void **state)
{
	char bytes[8] = {0};
	const struct qv_span there = {.addr = BASE, .key = BOTH, .len = sizeof bytes};
	const struct iovec here = {bytes, sizeof bytes};
	const struct qv_remote_op op = {
		.kind = QV_REMOTE_PUT, .there = &there, .nthere = 1, .here = &here, .nhere = 1};
	struct transfer t[2] = {{.xfer.done = transfer_done}, {.xfer.done = transfer_done}};
	struct party p, client, another;
	uint64_t addr, name;

	(void)state;
	party_open(&p, US);
	name = p.name;
	qv_node_open_memory(p.node, &memory_ops);
	party_open(&client, 1);
	addr = party_insert(&client, name);
	assert_int_equal(qv_node_begin(client.node, addr, &op, &t[0].xfer), QV_OK);
	party_poll(&p, 20);
	assert_int_equal(qv_node_begin(client.node, addr, &op, &t[1].xfer), QV_OK);
	party_close(&p);
	party_open_as(&another, US, name);
	qv_node_serve(client.node);
	assert_int_equal(party_try(&client, addr, 1, 8),
			 QV_EPEER); /* nothing to another one before */
	party_poll(&client, 20);
	assert_true(t[0].dones == 1 && t[0].status == QV_OK);
	assert_true(t[1].dones == 1 && t[1].status == QV_EPEER);
	party_close(&another);
	party_close(&client);
}

/* Nothing is kept of them. */
static void clients_come_and_go(void **state)
{
	unsigned fds;
	struct party p;

	(void)state;
	party_open(&p, US);
	qv_node_open_memory(p.node, &memory_ops);
	fds = kin_count_fds();
	for (unsigned i = 0; i < 5; i++)
		visit(&p);
	assert_int_equal(kin_count_fds(), fds);
	for (uint64_t i = 0; i < p.node->npeers; i++)
		assert_null(p.node->peers[i]);
	party_close(&p);
}

/* Nor if the end of the one connection is seen long before the other's. */
static void a_client_goes_slowly(void **state)
{
	struct guest g;

	(void)state;
	open_guest(&g);
	assert_int_equal(answer_to(&g, ASK(QV_REMOTE_GET, 8), NULL, 0), QV_OK);
	assert_false(shutdown(g.fd, SHUT_RDWR));
	party_poll(&g.p, 10);
	assert_null(g.p.node->peers[g.addr]->rx.ring);
	assert_false(shutdown(g.back_fd, SHUT_RDWR));
	party_poll(&g.p, 10);
	assert_null(g.p.node->peers[g.addr]);
	close_guest(&g);
}

/* How often the key of a span is told when an operation goes there in parts of at most so many bytes. */
static unsigned told(const struct qv_span *there, size_t nthere, uint64_t key, size_t most)
{
	unsigned ends = 0;
	size_t len = 0;

	for (size_t i = 0; i < nthere; i++)
		len += there[i].len;
	for (size_t at = 0; at < len;) {
		const struct qv_part p = qv_part_at(there, nthere, at, most);

		ends += p.span.key == key && qv_part_ends_key(&p, there, len);
		at += p.span.len;
	}
	return ends;
}

/* Whatever lies between its spans. */
static void a_key_is_told_once(void **state)
{
	static const struct qv_span there[] = {{.key = 1, .len = 8},  {.key = 2, .len = 16},
					       {.key = 1, .len = 24}, {.key = 1, .len = 0},
					       {.key = 3, .len = 8},  {.key = 2, .len = 0}};

	(void)state;
	for (size_t n = 1; n <= sizeof there / sizeof *there; n++)
		for (size_t most = 1; most < 32; most++)
			for (uint64_t key = 1; key <= 3; key++)
				assert_int_equal(told(there, n, key, most),
						 key == 1 || n > (key == 2 ? 1 : 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_without_sense), cmocka_unit_test(who_does_not_listen),
		cmocka_unit_test(answers_without_sense),  cmocka_unit_test(who_leaves),
		cmocka_unit_test(clients_come_and_go),    cmocka_unit_test(a_client_goes_slowly),
		cmocka_unit_test(a_key_is_told_once),     cmocka_unit_test(who_answers_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
