/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hostile.c - guests at the door who say nonsense, or nothing: others are heard all the same. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/internal.h"
#include "rig/guest.h"
#include "rig/party.h"

#define US     0u
#define HONEST 1u
#define GUEST  0x6775657374u /* a name */

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void send_one(int fd, const void *arg)
{
	struct party p;
	uint64_t addr;

	(void)arg;
	party_open(&p, HONEST);
	kin_say(fd, p.name);
	addr = party_insert(&p, kin_hear(fd));
	party_send(&p, addr, US, 100);
	kin_hear(fd);
	party_close(&p);
}

/* Somebody else comes, and is heard. */
static void others_are_heard(struct party *p)
{
	struct kin k;
	uint64_t addr;

	kin_start(&k, send_one, NULL);
	addr = party_insert(p, kin_hear(k.fd));
	kin_say(k.fd, p->name);
	p->heard[HONEST] = 0;
	assert_true(party_hear(p, HONEST, 1, 5000));
	kin_say(k.fd, 0);
	kin_end(&k);
	assert_int_equal(p->from[HONEST], addr);
	assert_true(party_presence(p, addr, QV_GONE, 1000));
	party_remove(p, addr);
	party_poll(p, 2);
}

static int memory(size_t size, int seals)
{
	int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0 && !ftruncate(fd, (off_t)size) && !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

struct offer {
	struct guest_join words;
	size_t len;
	int fds[4];
	unsigned nfds;
};

static struct offer good_offer(void)
{
	return (struct offer){.words = guest_words(GUEST),
			      .len = sizeof(struct guest_join),
			      .fds = {memory(sizeof(struct qv_ring), SEALS)},
			      .nfds = 1};
}

static void is_shown_out(struct party *p, int fd)
{
	uint64_t until = kin_now_us() + 2000000 * kin_patience();
	char end;

	while (recv(fd, &end, 1, MSG_DONTWAIT) < 0 && kin_now_us() < until)
		party_poll(p, 1);
	assert_int_equal(recv(fd, &end, 1, MSG_DONTWAIT), 0);
	close(fd);
}

/* The guest who offers this is shown the door. Descriptors of the offer are closed. */
static void is_refused(struct party *p, struct offer offer)
{
	unsigned fds = kin_count_fds() - (offer.nfds ? offer.nfds : 1), warnings = p->warnings;
	int fd = guest_knock(p->name);

	assert_true(fd >= 0);
	assert_int_equal(guest_say(fd, &offer.words, offer.len, offer.fds, offer.nfds), offer.len);
	for (unsigned i = 0; i < (offer.nfds ? offer.nfds : 1); i++)
		close(offer.fds[i]);
	is_shown_out(p, fd);
	assert_int_equal(p->warnings, warnings + 1);
	assert_int_equal(kin_count_fds(), fds);
	others_are_heard(p);
	assert_int_equal(kin_count_fds(), fds);
}

static void words_are_wrong(struct party *p)
{
	struct offer offer = good_offer();

	offer.words.magic ^= 1;
	is_refused(p, offer);
	offer = good_offer();
	offer.words.version++;
	is_refused(p, offer);
	offer = good_offer();
	offer.len = sizeof offer.words - 1;
	is_refused(p, offer);
	offer = good_offer();
	offer.len = 1;
	is_refused(p, offer);
	offer = good_offer();
	offer.len = 0; /* a packet of nothing, with a descriptor */
	is_refused(p, offer);
}

static void descriptors_are_wrong(struct party *p)
{
	struct offer offer = good_offer();
	int ends[2];

	offer.nfds = 0;
	is_refused(p, offer);
	offer = good_offer();
	close(offer.fds[0]);
	offer.fds[0] = memory(sizeof(struct qv_ring), 0);
	is_refused(p, offer);
	offer = good_offer();
	close(offer.fds[0]);
	offer.fds[0] = memory(sizeof(struct qv_ring), F_SEAL_GROW | F_SEAL_SEAL);
	is_refused(p, offer);
	for (int by = -4096; by <= 4096; by += 8192) {
		offer = good_offer();
		close(offer.fds[0]);
		offer.fds[0] = memory(sizeof(struct qv_ring) + (size_t)by, SEALS);
		is_refused(p, offer);
	}
	offer = good_offer();
	close(offer.fds[0]);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[1]);
	offer.fds[0] = ends[0];
	is_refused(p, offer);
	offer = good_offer();
	close(offer.fds[0]);
	offer.fds[0] = memory(sizeof(struct qv_ring), SEALS | F_SEAL_WRITE);
	is_refused(p, offer);
}

static void nonsense_is_refused(void **state)
{
	struct party p;

	(void)state;
	party_open(&p, US);
	others_are_heard(&p);
	words_are_wrong(&p);
	descriptors_are_wrong(&p);
	party_close(&p);
}

/* More descriptors than one: whatever is made of it, none is kept. An emulator keeps what it cuts off. */
static void more_descriptors_than_one(void **state)
{
	struct party p;

	(void)state;
	party_open(&p, US);
	others_are_heard(&p);
	for (unsigned n = 2; n <= 4; n++) {
		unsigned fds = kin_count_fds();
		struct offer offer = good_offer();
		int fd = guest_knock(p.name);

		for (unsigned i = 1; i < n; i++)
			offer.fds[i] = memory(4096, SEALS);
		assert_true(guest_say(fd, &offer.words, offer.len, offer.fds, n) > 0);
		for (unsigned i = 0; i < n; i++)
			close(offer.fds[i]);
		party_poll(&p, 5);
		close(fd);
		party_poll(&p, 5);
		others_are_heard(&p);
		if (kin_patience() == 1)
			assert_int_equal(kin_count_fds(), fds);
	}
	party_close(&p);
}

/* Another's name, while that one speaks to us. */
static void names_are_not_taken(void **state)
{
	struct party p;
	struct kin k;
	struct offer offer = good_offer();
	uint64_t addr, warnings;
	int fd;

	(void)state;
	kin_start(&k, send_one, NULL);
	party_open(&p, US);
	offer.words.name = kin_hear(k.fd);
	addr = party_insert(&p, offer.words.name);
	kin_say(k.fd, p.name);
	assert_true(party_hear(&p, HONEST, 1, 5000));
	warnings = p.warnings;
	fd = guest_knock(p.name);
	assert_true(guest_say(fd, &offer.words, offer.len, offer.fds, 1) > 0);
	close(offer.fds[0]);
	is_shown_out(&p, fd);
	assert_int_equal(p.warnings, warnings + 1);
	assert_true(party_presence(&p, addr, QV_PRESENT, 0));
	kin_say(k.fd, 0);
	kin_end(&k);
	assert_true(party_presence(&p, addr, QV_GONE, 1000));
	party_close(&p);
}

#define SILENT 300u

static void silent_guests_are_in_nobodys_way(void **state)
{
	struct party p;
	struct pollfd fd;
	int guests[SILENT];

	(void)state;
	party_open(&p, US);
	for (unsigned i = 0; i < SILENT; i++) {
		guests[i] = guest_knock(p.name);
		assert_true(guests[i] >= 0);
		if (i % 10 == 0)
			others_are_heard(&p);
	}
	others_are_heard(&p);
	party_poll(&p, 5);
	assert_true(qv_node_may_sleep(p.node)); /* in peace */
	fd = (struct pollfd){qv_node_fd(p.node), POLLIN, 0};
	assert_int_equal(poll(&fd, 1, 50), 0);
	for (unsigned i = 0; i < SILENT; i++)
		close(guests[i]);
	others_are_heard(&p);
	party_close(&p);
}

/* Another user knocks, and says nothing. */
static void knock_as_a_stranger(int fd, const void *arg)
{
	uint64_t name = kin_hear(fd);
	unsigned user = geteuid();
	int guests[SILENT];
	char end;

	(void)arg;
	kin_drop_root();
	for (unsigned i = 0; i < SILENT; i++)
		QV_NEED((guests[i] = guest_knock_of(name, user)) >= 0);
	kin_say(fd, 0);
	kin_hear(fd);
	for (unsigned i = 0; i < SILENT; i++)
		QV_NEED(recv(guests[i], &end, 1, MSG_DONTWAIT) == 0);
}

/* They are shown out unheard, and the log does not grow with them. */
static void strangers_are_not_let_in(void **state)
{
	struct qv_node_stats stats;
	struct party p;
	struct kin k;

	(void)state;
	if (geteuid())
		skip();
	kin_start(&k, knock_as_a_stranger, NULL);
	party_open(&p, US);
	kin_say(k.fd, p.name);
	kin_hear(k.fd);
	party_poll(&p, 10);
	assert_int_equal(p.node->nguests, 0);
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.refused, SILENT);
	assert_in_range(p.warnings, 1, 10);
	kin_say(k.fd, 0);
	kin_end(&k);
	others_are_heard(&p);
	party_close(&p);
}

/* recv(2) as it is, or as if somebody rang without end. */
static uint64_t rings; /* 0: as it is; else that many */
ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);

/* Somebody who speaks behind the first look whether it has. */
static void (*behind_a_look)(void);

static ssize_t look(int fd, void *buf, size_t len, int flags)
{
	const ssize_t got = __real_recv(fd, buf, len, flags);

	behind_a_look();
	behind_a_look = NULL;
	return got;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	if (behind_a_look && flags & MSG_PEEK)
		return look(fd, buf, len, flags);
	if (!rings || !(flags & MSG_DONTWAIT))
		return __real_recv(fd, buf, len, flags);
	QV_NEED(--rings);
	return 1;
}

static void bells_without_end(void **state)
{
	struct party p;
	struct qv_ring *ring;
	int fd;

	(void)state;
	party_open(&p, US);
	p.liar = party_insert(&p, GUEST);
	ring = guest_join(p.name, GUEST, &fd);
	party_poll(&p, 5);
	assert_true(send(fd, "", 1, 0) == 1);
	rings = 1000000;
	for (unsigned i = 0; i < 10000; i++)
		qv_node_poll(p.node);
	rings = 0;
	others_are_heard(&p);
	qv_segment_unmap(ring);
	close(fd);
	party_close(&p);
}

static int first; /* of many guests */
static struct qv_ring *first_ring;

static void the_first_speaks(void)
{
	struct guest_join words = guest_words(GUEST);
	int fd;

	first_ring = qv_segment_make(&fd);
	assert_non_null(first_ring);
	assert_int_equal(guest_say(first, &words, sizeof words, &fd, 1), sizeof words);
	close(fd);
}

/* As many knock as there is room for, and more, before they speak. Who has said its name is not shown out:
 * it sends from then on. */
static void who_has_just_come_is_not_shown_out(void **state)
{
	struct qv_node_stats stats;
	int guests[QV_NODE_GUESTS + 5];
	struct party p;

	(void)state;
	party_open(&p, US);
	first = guest_knock(p.name);
	for (unsigned i = 0; i < QV_NODE_GUESTS + 5; i++)
		assert_true((guests[i] = guest_knock(p.name)) >= 0);
	behind_a_look = the_first_speaks;
	party_poll(&p, 5);
	behind_a_look = NULL;
	if (!first_ring)
		the_first_speaks();
	party_poll(&p, 5);
	assert_int_equal(send(first, "", 1, MSG_NOSIGNAL), 1); /* a bell */
	party_poll(&p, 5);
	qv_node_get_stats(p.node, &stats);
	assert_int_equal(stats.peers, 1);
	others_are_heard(&p);
	qv_segment_unmap(first_ring);
	close(first);
	for (unsigned i = 0; i < QV_NODE_GUESTS + 5; i++)
		close(guests[i]);
	party_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(more_descriptors_than_one),
		cmocka_unit_test(names_are_not_taken),
		cmocka_unit_test(silent_guests_are_in_nobodys_way),
		cmocka_unit_test(who_has_just_come_is_not_shown_out),
		cmocka_unit_test(strangers_are_not_let_in),
		cmocka_unit_test(bells_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
