/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tests/proto/rig/need.h"
#include "tests/proto/rig/rig_memory.h"

/* What the victim sends to the hostile one: the words in it are worth trying. */
static int swallow(void *ctx, const void *buf, size_t len, uint64_t from)
{
	struct fuzz *f = ctx;
	struct qv_wire_hdr hdr;
	uint64_t word;

	memcpy(&hdr, buf, sizeof hdr);
	if (hdr.op == QV_PKT_HELLO)
		return QV_OK;
	for (unsigned n = 0; fuzz_word_at(n) + sizeof word <= len && n < 7; n++) {
		memcpy(&word, (const char *)buf + fuzz_word_at(n), sizeof word);
		if (word) /* behind the two that stay */
			f->words[2 + f->nwords++ % (FUZZ_WORDS - 2)] = word;
	}
	return QV_OK;
}

static void forget_words(struct fuzz *f)
{
	memset(f->words, 0, sizeof f->words);
	f->words[0] = f->registered.addr;
	f->words[1] = f->registered.key;
	f->nwords = 0;
}

struct fuzz *fuzz_new(unsigned kind)
{
	struct rig_settings set = rig_defaults(2);
	struct fuzz *f = calloc(1, sizeof *f);

	QV_NEED(f);
	set.limits.read_max = kind & FUZZ_READ ? 3000 : 0;
	set.limits.hide_from = kind & FUZZ_SPOOF;
	set.limits.headerless = kind & FUZZ_HEADERLESS;
	set.eager_max = 1500;
	f->spoof = kind & FUZZ_SPOOF;
	f->rig = rig_new(&set);
	f->rig->hostile = true;
	rig_memory_open(f->rig, FUZZ_VICTIM);
	f->hostile = qv_loop_open(f->rig->loop, FUZZ_HOSTILE, &set.limits, swallow, f);
	f->hostile->ops->register_mem(f->hostile, f->memory, sizeof f->memory, &f->registered);
	forget_words(f);
	f->uid = 0x1234567;
	fuzz_hello(f);
	return f;
}

/* What stands for a number is how far it is from the one that is due: 0 is taken. */
static void number(const struct fuzz *f, char *packet, size_t len)
{
	const struct qv_proto *p = f->rig->node[FUZZ_VICTIM].p;
	struct qv_wire_hdr hdr;
	uint32_t index;

	if (len < sizeof hdr)
		return;
	memcpy(&hdr, packet, sizeof hdr);
	index = hdr.src & QV_ID_INDEX;
	if (hdr.magic != QV_WIRE_MAGIC || index >= p->npeers || !p->peers[index])
		return;
	hdr.seq = (uint16_t)(hdr.seq + p->peers[index]->got + 1);
	memcpy(packet, &hdr, sizeof hdr);
}

void fuzz_packet(struct fuzz *f, const void *buf, size_t len, bool raw)
{
	struct qv_peer *peer = f->rig->node[FUZZ_VICTIM].peers[FUZZ_HOSTILE];
	char copy[FUZZ_MAX];
	uint64_t first = 0, tag;
	uint32_t src;

	QV_NEED(len <= sizeof copy);
	memcpy(copy, buf, len);
	memcpy(&first, copy, len < sizeof first ? len : sizeof first);
	if ((!raw || !f->spoof) && peer && len >= sizeof(struct qv_wire_hdr) &&
	    first != QV_LOOP_HEADERLESS)
		memcpy(copy + offsetof(struct qv_wire_hdr, src), &peer->id, sizeof peer->id);
	number(f, copy, len);
	(void)qv_proto_key(f->rig->node[FUZZ_VICTIM].p, copy, len, &tag, &src);
	qv_nomem_after(f->nomem, 0);
	f->nomem = 0;
	while (qv_loop_forge(f->rig->loop, f->spoof ? UINT64_MAX : FUZZ_HOSTILE, FUZZ_VICTIM, copy,
			     len) == QV_ENOMEM)
		QV_NEED(qv_nomem_failed());
	qv_nomem_after(0, 0);
}

void fuzz_hello(struct fuzz *f)
{
	struct {
		struct qv_wire_hdr hdr;
		struct qv_wire_hello hello;
		char name[8];
	} __attribute__((packed, aligned(4))) pkt = {
		.hdr = {.magic = QV_WIRE_MAGIC,
			.version = QV_WIRE_VERSION,
			.op = QV_PKT_HELLO,
			.src = QV_SRC_UNKNOWN},
		.hello = {.uid = f->uid++,
			  .budget = 20000,
			  .id = 3,
			  .packet_max = QV_WIRE_MIN_PACKET,
			  .session = 1},
		.name = {'n', 'o', 'd', 'e', '0' + FUZZ_HOSTILE},
	};

	fuzz_packet(f, &pkt, sizeof pkt.hdr + sizeof pkt.hello + 5, true);
}

bool fuzz_is_connected(const struct fuzz *f)
{
	const struct qv_peer *peer = f->rig->node[FUZZ_VICTIM].peers[FUZZ_HOSTILE];

	return peer && peer->connected && !peer->failed;
}

void fuzz_self(struct fuzz *f)
{
	struct rig_node *victim = &f->rig->node[FUZZ_VICTIM];
	const struct qv_peer *self;
	struct qv_wire_pkt pkt = {
		.hdr = {.magic = QV_WIRE_MAGIC,
			.version = QV_WIRE_VERSION,
			.op = QV_PKT_EAGER,
			.flags = QV_WF_UID | QV_WF_TOTAL,
			.src = QV_SRC_UNKNOWN},
		.total = 1000,
	};
	char buf[QV_WIRE_MAX_HDR + 100] = {0};

	rig_wait(f->rig, rig_recv(f->rig, FUZZ_VICTIM, RIG_ANY, 0, 1, QV_REQ_TAGGED),
		 rig_send(f->rig, FUZZ_VICTIM, FUZZ_VICTIM, 0, 1, QV_REQ_TAGGED));
	self = victim->peers[FUZZ_VICTIM];
	pkt.uid = qv_wire_token(self->uid, self->theirs);
	pkt.hdr.seq = (uint16_t)(self->got + 1);
	fuzz_packet(f, buf, qv_wire_write(buf, &pkt) + 100, true);
	QV_NEED(self->open_unexp);
}

static void victim_sends(struct fuzz *f, size_t len, unsigned flags)
{
	struct rig_req *req;

	if (f->sends == FUZZ_OPEN)
		return;
	f->sends++;
	req = rig_req_new(f->rig, FUZZ_VICTIM, len, 1);
	/* QV_EPEER while it counts as lost: the next HELLO changes that */
	(void)rig_send_req(req, FUZZ_HOSTILE, len, flags);
}

static void victim_receives(struct fuzz *f, size_t len, unsigned flags)
{
	struct rig_req *req;
	int rc;

	if (f->nmine == FUZZ_OPEN)
		return;
	req = rig_req_new(f->rig, FUZZ_VICTIM, len, 1);
	rc = rig_recv_req(req, FUZZ_HOSTILE, 0, UINT64_MAX, flags, 50);
	QV_NEED(rc == QV_OK || (rc == QV_EPEER && flags & QV_REQ_COLL));
	if (rc == QV_OK)
		f->mine[f->nmine++] = req;
}

static void victim_peeks(struct fuzz *f, enum qv_peek how)
{
	struct qv_unexp *u = NULL;
	struct qv_recv_args args;
	struct rig_req *req;

	if (f->nclaims == FUZZ_OPEN)
		return;
	req = rig_req_new(f->rig, FUZZ_VICTIM, 1000, 1);
	args = rig_recv_args(req, FUZZ_HOSTILE, 0, UINT64_MAX, QV_REQ_TAGGED);
	qv_proto_peek(f->rig->node[FUZZ_VICTIM].p, &args, how, &u);
	QV_NEED(req->done == 1);
	req->done = 0;
	if (!u)
		return;
	f->claimed[f->nclaims] = u;
	f->claims[f->nclaims++] = req;
}

static void receive_claimed(struct fuzz *f, bool discard)
{
	struct qv_recv_args args;

	if (!f->nclaims)
		return;
	f->nclaims--;
	args = rig_recv_args(f->claims[f->nclaims], FUZZ_HOSTILE, 0, UINT64_MAX, QV_REQ_TAGGED);
	QV_NEED(qv_proto_recv_claimed(f->rig->node[FUZZ_VICTIM].p, f->claimed[f->nclaims], &args,
				      discard) == QV_OK);
}

static void cancel_one(struct fuzz *f, unsigned i)
{
	if (f->nmine)
		(void)qv_proto_cancel(f->rig->node[FUZZ_VICTIM].p, f->mine[i % f->nmine]);
}

/* Nothing is asked of it from now on. */
static void victim_closes(struct fuzz *f)
{
	f->closing = true;
	qv_proto_shutdown(f->rig->node[FUZZ_VICTIM].p);
	qv_proto_send_leave(f->rig->node[FUZZ_VICTIM].p);
}

/* Closing is taken back, which no owner may do: a new victim takes too long. */
static void victim_opens(struct fuzz *f)
{
	struct qv_proto *p = f->rig->node[FUZZ_VICTIM].p;

	f->closing = p->closing = false;
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peers[i])
			p->peers[i]->asked = p->peers[i]->leaving = false;
}

/* The transport, and what happens without a call of the application. */
static void event(struct fuzz *f, unsigned which)
{
	struct qv_loop_chaos *chaos = qv_loop_chaos(f->rig->loop);

	switch (which) {
	case 0:
		for (unsigned i = 0; i < 8; i++)
			rig_step(f->rig);
		break;
	case 1: chaos->capacity = 1; break;
	case 2: chaos->eagain = 40; break;
	default:
		if (!f->closing)
			victim_closes(f);
	}
}

static void call(struct fuzz *f, unsigned what, unsigned variant)
{
	switch (what) {
	case 0:
		victim_sends(f, 60, variant & 1 ? QV_REQ_INJECT : QV_REQ_ACK | QV_REQ_TAGGED);
		break;
	case 1: victim_sends(f, 1400, QV_REQ_ACK); break;
	case 2: victim_sends(f, 2600, variant & 1 ? QV_REQ_COLL : QV_REQ_TAGGED); break;
	case 3: victim_receives(f, 100, QV_REQ_TAGGED); break;
	case 4: victim_receives(f, 5000, QV_REQ_TAGGED); break;
	case 5: victim_receives(f, 3000, QV_REQ_TAGGED | QV_REQ_MULTI); break;
	case 6: victim_receives(f, 3000, variant & 1 ? QV_REQ_COLL : 0); break;
	case 7: victim_peeks(f, QV_PEEK_LOOK); break;
	case 8: victim_peeks(f, QV_PEEK_CLAIM); break;
	case 9: victim_peeks(f, QV_PEEK_DISCARD); break;
	case 10: receive_claimed(f, false); break;
	case 11: receive_claimed(f, true); break;
	default: cancel_one(f, variant);
	}
}

void fuzz_action(struct fuzz *f, unsigned what)
{
	unsigned variant = what % FUZZ_ACTIONS / 16;

	switch (what % 16) {
	case 13: qv_proto_tick(f->rig->node[FUZZ_VICTIM].p, f->rig->now += 60); break;
	case 14: f->nomem = 1 + variant; break;
	case 15: event(f, variant); break;
	default:
		if (!f->closing)
			call(f, what % 16, variant);
	}
}

void fuzz_honest(struct fuzz *f, size_t len)
{
	for (unsigned a = 0; a < 2; a++) {
		uint64_t tag = qv_random(&f->rig->rng); /* that no forged message has */
		struct rig_req *recv = rig_recv(f->rig, !a, (int)a, len, tag, QV_REQ_TAGGED);
		struct rig_req *send =
			rig_send_after_loss(f->rig, a, !a, len, tag, QV_REQ_TAGGED | QV_REQ_ACK);

		rig_wait_long(f->rig, send, recv);
		rig_check(recv, send);
	}
}

/* Drop what nobody received of an engine's messages. */
static void drain(struct fuzz *f, unsigned engine)
{
	struct rig_req *req = rig_req_new(f->rig, FUZZ_VICTIM, 0, 1);
	struct qv_recv_args args = rig_recv_args(req, RIG_ANY, 0, UINT64_MAX, engine);

	do {
		req->done = 0;
		qv_proto_peek(f->rig->node[FUZZ_VICTIM].p, &args, QV_PEEK_DISCARD, NULL);
	} while (req->comp.status == QV_OK);
}

static void end_requests(struct fuzz *f)
{
	struct qv_proto *p = f->rig->node[FUZZ_VICTIM].p;

	while (f->nclaims)
		receive_claimed(f, f->nclaims & 1);
	for (unsigned i = 0; i < f->nmine; i++)
		while (qv_proto_cancel(p, f->mine[i]) == QV_OK ||
		       qv_proto_cancel_coll(p, f->mine[i]) == QV_OK)
			;
	drain(f, 0);
	drain(f, QV_REQ_TAGGED);
	drain(f, QV_REQ_COLL);
}

static void check_requests(struct fuzz *f)
{
	struct qv_proto *p = f->rig->node[FUZZ_VICTIM].p;

	for (struct rig_req *req = f->rig->reqs; req; req = req->next)
		if (req->is_send && req->peer == FUZZ_HOSTILE)
			QV_NEED(req->done <= 1);
	for (unsigned i = 0; i < f->nmine; i++) {
		QV_NEED(f->mine[i]->done);
		QV_NEED(!(f->mine[i]->flags & QV_REQ_MULTI) || f->mine[i]->ended);
	}
	QV_NEED(p->txs.live == 0 && p->rxs.live == 0 && p->ins.live == 0);
	QV_NEED(p->unexps.live == 0 && p->flights.live == 0);
	QV_NEED(p->stats.unexpected_bytes == 0 && !p->detached);
}

void fuzz_settle(struct fuzz *f)
{
	struct qv_proto *p = f->rig->node[FUZZ_VICTIM].p;
	const struct qv_xport *x = f->rig->node[FUZZ_VICTIM].x;
	struct qv_loop_chaos *chaos = qv_loop_chaos(f->rig->loop);

	chaos->capacity = FUZZ_OPEN;
	chaos->eagain = 0;
	victim_opens(f);
	for (unsigned at = 0; at < QV_LOOP_MAX; at++)
		if (at == FUZZ_HOSTILE || f->spoof) /* packets were forged in all names */
			rig_give_up(p, x, at);
	rig_settle(f->rig);
	end_requests(f);
	rig_settle(f->rig);
	qv_proto_tick(p, f->rig->now += 50); /* what was begun by packets after the loss */
	rig_settle(f->rig);
	check_requests(f);
	f->nmine = f->sends = f->nomem = 0;
	rig_reqs_free(f->rig);
	forget_words(f);
}

void fuzz_end(struct fuzz *f)
{
	fuzz_settle(f);
	if (f->spoof) { /* start over */
		rig_kill(f->rig, FUZZ_HONEST, QV_LOOP_SILENT, false);
		rig_open(f->rig, FUZZ_HONEST, &f->rig->set);
		rig_send(f->rig, FUZZ_HONEST, FUZZ_VICTIM, 0, 8, QV_REQ_TAGGED);
	}
	rig_settle(f->rig);
	rig_ticks(f->rig, 300);
	fuzz_honest(f, 500);
	fuzz_honest(f, 20000);
	rig_settle(f->rig);
	rig_check_idle(f->rig, FUZZ_HONEST);
	rig_check_idle(f->rig, FUZZ_VICTIM);
	QV_NEED(f->rig->node[FUZZ_VICTIM].p->rxs.live == 0);
	qv_loop_kill(f->rig->loop, FUZZ_HOSTILE, QV_LOOP_SILENT, false);
	rig_free(f->rig);
	free(f);
}
