/* SPDX-License-Identifier: BSD-2-Clause */
/* party.c - see party.h. */
#include "party.h"

#include <sched.h>
#include <string.h>

#include <quiver/types.h>

#include "engine/base/proc.h"
#include "engine/node/ring.h"

#define LONGEST QV_RING_PACKET

/* What a packet of the protocol begins with; the others have it in their tag. */
static uint64_t note_of(unsigned id, uint32_t seq)
{
	return (uint64_t)id << 32 | seq;
}

static void fill(char *to, size_t len, uint64_t note)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (char)(note * 7 + (note >> 32) + i * 13 + (i >> 8));
}

/* A liar's packet says nothing, but all of it can be read. */
static bool is_lie(struct party *p, uint64_t from, const void *body, size_t len)
{
	if (from != p->liar)
		return false;
	QV_NEED(len <= LONGEST);
	for (size_t i = 0; i < len; i++)
		p->noise += ((const unsigned char *)body)[i];
	p->lies++;
	return true;
}

static int judge(struct party *p, uint64_t from, uint64_t note, const void *body, size_t len)
{
	unsigned id = (unsigned)(note >> 32);
	char want[LONGEST];

	QV_NEED(id < PARTY_IDS && len <= LONGEST);
	p->from[id] = from;
	if (p->refuse) {
		p->refuse--;
		return QV_ENOMEM;
	}
	QV_NEED((uint32_t)note == p->heard[id]);
	fill(want, len, note);
	QV_NEED(!memcmp(want, body, len));
	p->heard[id]++;
	p->total++;
	return QV_OK;
}

static int on_packet(void *owner, uint64_t from, const void *buf, size_t len)
{
	uint64_t note;

	if (is_lie(owner, from, buf, len))
		return QV_OK;
	QV_NEED(len >= sizeof note);
	memcpy(&note, buf, sizeof note);
	return judge(owner, from, note, (const char *)buf + sizeof note, len - sizeof note);
}

static int on_tagged(void *owner, uint64_t from, uint64_t tag, const void *buf, size_t len)
{
	return is_lie(owner, from, buf, len) ? QV_OK : judge(owner, from, tag, buf, len);
}

static int on_tagged_data(void *owner, uint64_t from, uint64_t tag, uint64_t data, const void *buf,
			  size_t len)
{
	if (is_lie(owner, from, buf, len))
		return QV_OK;
	QV_NEED(data == ~tag);
	return judge(owner, from, tag, buf, len);
}

static void on_warn(void *owner, const char *text)
{
	struct party *p = owner;

	p->warnings++;
	printf("party %u: %s\n", p->id, text);
}

static const struct qv_node_ops ops = {
	.packet = on_packet,
	.tagged = on_tagged,
	.tagged_data = on_tagged_data,
	.warn = on_warn,
};

void party_open(struct party *p, unsigned id)
{
	party_open_as(p, id, qv_proc_random());
}

void party_open_as(struct party *p, unsigned id, uint64_t name)
{
	memset(p, 0, sizeof *p);
	p->id = id;
	p->liar = QV_NODE_NONE;
	QV_NEED(!qv_node_create_as(&ops, p, name, &p->node));
	p->names = qv_names_create();
	QV_NEED(p->names);
	qv_node_share(p->node, p->names);
	qv_node_xport_init(p->node, &p->x);
	p->name = qv_node_name(p->node);
}

void party_close(struct party *p)
{
	qv_node_destroy(p->node);
	qv_names_destroy(p->names);
	p->node = NULL;
}

uint64_t party_insert(struct party *p, uint64_t name)
{
	uint64_t addr = qv_names_insert(p->names, name);

	QV_NEED(addr != QV_NODE_NONE);
	return addr;
}

void party_remove(struct party *p, uint64_t addr)
{
	qv_node_forget(p->node, addr);
	qv_names_remove(p->names, addr);
}

int party_try(struct party *p, uint64_t addr, unsigned to, size_t len)
{
	uint64_t note = note_of(p->id, p->sent[to]);
	struct qv_xport *x = &p->x;
	char body[LONGEST];
	struct iovec iov[3];
	int rc;

	if (p->sent[to] % 3 == 0 && len > LONGEST - sizeof note)
		len = LONGEST - sizeof note;
	fill(body, len, note);
	iov[0] = (struct iovec){&note, sizeof note};
	iov[1] = (struct iovec){body, len / 2};
	iov[2] = (struct iovec){body + len / 2, len - len / 2};
	switch (p->sent[to] % 3) {
	case 0: rc = x->ops->inject(x, addr, iov, 3); break;
	case 1: rc = x->ops->inject_tagged(x, addr, note, body, len); break;
	default: rc = x->ops->inject_tagged_data(x, addr, note, ~note, body, len); break;
	}
	if (!rc)
		p->sent[to]++;
	return rc;
}

void party_send(struct party *p, uint64_t addr, unsigned to, size_t len)
{
	int rc;

	while ((rc = party_try(p, addr, to, len)) == QV_EAGAIN) {
		qv_node_poll(p->node);
		sched_yield();
	}
	QV_NEED(!rc);
}

bool party_hear(struct party *p, unsigned from, uint32_t count, unsigned ms)
{
	uint64_t until = kin_now_us() + 1000ull * ms * kin_patience();

	while (p->heard[from] < count) {
		if (qv_node_poll(p->node))
			continue;
		if (kin_now_us() > until)
			return false;
		sched_yield();
	}
	return true;
}

void party_poll(struct party *p, unsigned ms)
{
	uint64_t until = kin_now_us() + 1000ull * ms * kin_patience();

	do
		qv_node_poll(p->node);
	while (kin_now_us() < until);
}

bool party_presence(struct party *p, uint64_t addr, enum qv_presence want, unsigned ms)
{
	uint64_t until = kin_now_us() + 1000ull * ms * kin_patience(), silent;

	while (p->x.ops->presence(&p->x, addr, &silent) != want) {
		qv_node_poll(p->node);
		if (kin_now_us() > until)
			return false;
	}
	return true;
}

void transfer_done(struct qv_xfer *xfer, int status)
{
	struct transfer *t = (struct transfer *)xfer;

	t->status = status;
	t->dones++;
}
