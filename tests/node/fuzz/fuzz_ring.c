/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_ring.c - see fuzz_ring.h. */
#include "fuzz_ring.h"

#include "fuzz_memory.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/node/internal.h"
#include "engine/proto/wire.h"
#include "tests/node/rig/guest.h"
#include "tests/node/rig/party.h"

#define HONEST 1u
#define COPIED QV_WIRE_MAX_CTL /* as in poll.c */

static struct {
	struct qv_node *node;
	struct qv_names *names;
	struct qv_xport x;
	struct party honest;
	uint64_t to_node; /* of the honest one */
	uint64_t heard;   /* of the honest one */
	/* The liar. */
	uint64_t name, addr;
	struct qv_ring *ring, *given; /* its own; what the endpoint has handed over to it */
	int fd, given_fd, door;
	uint32_t number; /* of its next packet */
	bool broken;
	uint64_t strings, lies, refused, sent, joins;
	uint64_t noise;
} f;

/* All of it is where it may be, and can be read. */
static int take(uint64_t from, const void *buf, size_t len)
{
	const char *body = buf;

	if (from != f.addr) {
		f.heard++;
		return QV_OK;
	}
	QV_NEED(len <= QV_RING_PACKET);
	if (body >= (char *)f.node->peers[from]->rx.ring &&
	    body < (char *)(f.node->peers[from]->rx.ring + 1))
		QV_NEED(body + len <= (char *)(f.node->peers[from]->rx.ring + 1));
	else
		QV_NEED(len <= COPIED);
	for (size_t i = 0; i < len; i++)
		f.noise += (unsigned char)body[i];
	f.lies++;
	return f.lies % 16 ? QV_OK : QV_ENOMEM;
}

static int on_packet(void *owner, uint64_t from, const void *buf, size_t len)
{
	(void)owner;
	return take(from, buf, len);
}

static int on_tagged(void *owner, uint64_t from, uint64_t tag, const void *buf, size_t len)
{
	(void)owner;
	f.noise += tag & 1;
	return take(from, buf, len);
}

static int on_tagged_data(void *owner, uint64_t from, uint64_t tag, uint64_t data, const void *buf,
			  size_t len)
{
	f.noise += data & 1;
	return on_tagged(owner, from, tag, buf, len);
}

static void on_warn(void *owner, const char *text)
{
	(void)owner;
	(void)text;
	QV_NEED(!f.broken); /* once for each connection */
	f.broken = true;
	f.refused++;
}

static const struct qv_node_ops ops = {
	.packet = on_packet,
	.tagged = on_tagged,
	.tagged_data = on_tagged_data,
	.warn = on_warn,
};

static void poll_for(unsigned polls)
{
	for (unsigned i = 0; i < polls; i++)
		qv_node_poll(f.node);
}

/* Under a name that is new, with a door of its own. */
static void join(void)
{
	f.joins++;
	f.broken = false;
	f.number = 1;
	if (!f.name) /* another one may run beside this */
		f.name = (uint64_t)getpid() << 32;
	f.addr = qv_names_insert(f.names, ++f.name);
	f.door = guest_door(f.name);
	f.ring = guest_join(qv_node_name(f.node), f.name, &f.fd);
	qv_node_serve(f.node);
}

static void leave(void)
{
	close(f.fd);
	close(f.door);
	qv_segment_unmap(f.ring);
	if (f.given) {
		close(f.given_fd);
		qv_segment_unmap(f.given);
		f.given = NULL;
	}
	qv_node_serve(f.node);
	poll_for(QV_RING_SLOTS + 2); /* all that it has sent, refused or not */
	qv_node_serve(f.node);
	qv_node_forget(f.node, f.addr);
	qv_names_remove(f.names, f.addr);
	f.addr = QV_NODE_NONE;
	poll_for(2);
	fuzz_memory_over();
}

static void begin(void)
{
	QV_NEED(!qv_node_create(&ops, NULL, &f.node));
	f.names = qv_names_create();
	QV_NEED(f.names);
	qv_node_share(f.node, f.names);
	qv_node_xport_init(f.node, &f.x);
	fuzz_memory_open(f.node);
	f.addr = QV_NODE_NONE;
	party_open(&f.honest, HONEST);
	f.to_node = party_insert(&f.honest, qv_node_name(f.node));
	join();
}

/* Words of the string; zeros behind its end. */
struct input {
	const uint8_t *data;
	size_t size;
};

static uint64_t next_word(struct input *in, size_t bytes)
{
	size_t n = bytes < in->size ? bytes : in->size;
	uint64_t word = 0;

	memcpy(&word, in->data, n);
	in->data += n;
	in->size -= n;
	return word;
}

static void store(struct input *in, struct qv_ring *ring)
{
	size_t at = next_word(in, 2) * 8 % sizeof *ring;
	uint64_t word = next_word(in, 8);

	memcpy((char *)ring + at, &word, sizeof word);
}

static void forge(struct input *in)
{
	uint32_t low = (uint32_t)next_word(in, 1) % (QV_SLOT_KINDS + 1) << 16;
	uint32_t len = (uint32_t)next_word(in, 2), at = (uint32_t)next_word(in, 3);

	if (len & 0x8000)
		low |= QV_SLOT_STAGED | (len & 0x7fff) % (QV_RING_PACKET + 2);
	else
		low |= len % (QV_RING_INLINE + 2);
	guest_put(f.ring, f.number++, low, at, len, &at, sizeof at);
}

/* The endpoint sends to the liar. */
static void send_to_liar(struct input *in)
{
	static char buf[QV_RING_PACKET];
	size_t len = next_word(in, 2) % (sizeof buf + 1);
	int rc = f.x.ops->inject_tagged(&f.x, f.addr, len, buf, len);

	QV_NEED(!rc || rc == QV_EAGAIN || (rc == QV_EPEER && f.broken));
	f.sent += !rc;
	if (!rc && !f.given)
		f.given = guest_ring_of(f.door, &f.given_fd);
}

static void tell_nonsense(struct input *in)
{
	uint32_t value = (uint32_t)next_word(in, 4);

	if (!f.given)
		return;
	if (value & 1)
		atomic_store(&f.given->asleep, value >> 1);
	else if (value & 2)
		atomic_store(&f.given->consumed, value);
	else
		atomic_store(&f.given->consumed, (uint32_t)f.sent - (value >> 2) % 200);
}

static void step(struct input *in)
{
	uint64_t silent, a, b;

	switch (next_word(in, 1) % 13) {
	case 0: store(in, f.ring); break;
	case 1:
	case 2: forge(in); break;
	case 3: poll_for(1); break;
	case 4: send_to_liar(in); break;
	case 5: tell_nonsense(in); break;
	case 6: (void)qv_node_may_sleep(f.node); break;
	case 7: (void)f.x.ops->presence(&f.x, f.addr, &silent); break;
	case 8:
		if (f.given)
			store(in, f.given);
		break;
	case 9:
	case 10:
		a = next_word(in, 8);
		b = next_word(in, 8);
		fuzz_memory_ask(f.ring, f.number++, a, b);
		break;
	case 11: fuzz_memory_begin(f.node, f.addr, next_word(in, 7)); break;
	case 12:
		a = next_word(in, 7);
		b = next_word(in, 8);
		fuzz_memory_answer(f.node, f.ring, f.number++, a, b);
		break;
	}
}

static void honest_is_heard(void)
{
	uint64_t want = f.heard + 1;
	unsigned polls = 0;

	party_send(&f.honest, f.to_node, 0, f.strings % 300);
	while (f.heard < want) {
		poll_for(1);
		QV_NEED(++polls < 20000);
	}
}

void fuzz_ring_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	if (!f.node)
		begin();
	f.strings++;
	while (in.size)
		step(&in);
	poll_for(2);
	if (f.broken || f.strings % 64 == 0) {
		leave();
		join();
	}
	if (f.strings % 16 == 0)
		honest_is_heard();
}

void fuzz_ring_report(void)
{
	printf("%llu strings: %llu packets of liars, %llu to them, %llu liars, %llu found out\n",
	       (unsigned long long)f.strings, (unsigned long long)f.lies,
	       (unsigned long long)f.sent, (unsigned long long)f.joins,
	       (unsigned long long)f.refused);
}

void fuzz_ring_end(void)
{
	if (!f.node)
		return;
	leave();
	party_close(&f.honest);
	qv_node_destroy(f.node);
	qv_names_destroy(f.names);
	f.node = NULL;
}
