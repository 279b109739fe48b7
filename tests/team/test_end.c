/* SPDX-License-Identifier: BSD-2-Clause */
/* test_end.c - members that are killed, that call something else, that write anything anywhere; and
 * memory that nobody hands over. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/local.h"
#include "engine/base/random.h"
#include "engine/team/internal.h"
#include "rig.h"

#define RANKS 4u

/* The last one is killed in the midst of calls: the others come to know within a second. */
static void goes_on(struct rig_member *m, const void *arg)
{
	const uint64_t *seed = arg;
	uint64_t state = *seed, before;
	struct rig_call call = {.number = 0};
	int rc;

	do {
		call.kind = (enum qv_team_kind)qv_random_below(&state, QV_TEAM_KINDS);
		call.count = qv_random_below(&state, 20000);
		call.root = (uint32_t)qv_random_below(&state, m->ranks);
		before = kin_now_us();
		rc = rig_run(m, &call);
		if (++call.number == 30 && m->rank == m->ranks - 1) {
			kin_say(m->fd, 0);
			raise(SIGKILL);
		}
	} while (!rc);
	QV_NEED(rc == QV_EPEER && kin_now_us() - before < 1000000);
	QV_NEED(rig_run(m, &call) == QV_EPEER);
}

static void killed(void **state)
{
	struct rig r;

	(void)state;
	for (uint64_t seed = 1; seed < 4; seed++) {
		rig_start(&r, RANKS, goes_on, &seed);
		r.ranks--;
		kin_hear(r.kin[RANKS - 1].fd);
		kin_kill(&r.kin[RANKS - 1]); /* reaps it */
		rig_end(&r);
	}
}

/* Where a member has the memory its child has none: something of its own may be there. What the child closes is its
 * own, too. */
static void forks(struct rig_member *m, const void *arg)
{
	const size_t bytes = qv_team_bytes(m->team);
	struct rig_call call = {.kind = QV_TEAM_BARRIER};
	void *seats = m->team->seats;
	pid_t child = fork();
	char *mine;
	int status;

	(void)arg;
	if (!child) {
		mine = mmap(seats, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (mine != seats)
			_exit(2);
		memset(mine, 1, bytes);
		qv_team_close(m->team);
		_exit(mine[0] != 1 || mine[bytes - 1] != 1);
	}
	QV_NEED(waitpid(child, &status, 0) == child && status == 0);
	QV_NEED(!rig_run(m, &call));
}

static void closed_by_a_child(void **state)
{
	struct rig r;

	(void)state;
	rig_start(&r, 2, forks, NULL);
	rig_end(&r);
}

/* The last one has done its part of a reduction and is gone; the next one comes late. The first waits
 * for that one all the same, and hears in the call behind it that a member is gone. */
static void goes_early(struct rig_member *m, const void *arg)
{
	const struct timespec late = {0, 400000000};
	const size_t *count = arg;
	struct rig_call call = {.kind = QV_TEAM_REDUCE, .number = 1, .count = *count};

	if (m->rank == 1)
		nanosleep(&late, NULL);
	QV_NEED(!rig_run(m, &call));
	if (m->rank == m->ranks - 1)
		return;
	call.kind = QV_TEAM_BARRIER;
	QV_NEED(rig_run(m, &call) == QV_EPEER);
}

static void gone_early(void **state)
{
	const size_t counts[] = {1, QV_TEAM_INLINE};
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_start(&r, RANKS, goes_early, &counts[i]);
		rig_end(&r);
	}
}

/* The last one closes the team, and lives on. */
static void closes(struct rig_member *m, const void *arg)
{
	const struct timespec nap = {0, 500000000};
	const struct rig_call call = {.kind = QV_TEAM_BARRIER, .number = 1};

	(void)arg;
	QV_NEED(!rig_run(m, &call));
	if (m->rank == m->ranks - 1) {
		qv_team_close(m->team);
		m->team = NULL;
		nanosleep(&nap, NULL);
	} else {
		const uint64_t before = kin_now_us();

		QV_NEED(rig_run(m, &call) == QV_EPEER && kin_now_us() - before < 400000);
	}
}

static void closed(void **state)
{
	struct rig r;

	(void)state;
	rig_start(&r, RANKS, closes, NULL);
	rig_end(&r);
}

/* The last one has no memory for what the others wait for. */
static void has_no_memory(struct rig_member *m, const void *arg)
{
	const bool poor = m->rank == m->ranks - 1;
	const struct rig_call barrier = {.kind = QV_TEAM_BARRIER, .number = 1};
	uint64_t data[100] = {0}, got[100 * RANKS];
	const struct qv_team_call call = {.kind = *(const enum qv_team_kind *)arg,
					  .root = m->ranks - 1,
					  .in = poor ? NULL : data,
					  .out = got,
					  .count = 100,
					  .item = 8};
	int rc;

	QV_NEED(!rig_run(m, &barrier));
	rc = qv_team_start(m->team, &call);
	if (poor)
		QV_NEED(rc == QV_ENOMEM);
	else
		QV_NEED(!rc && qv_team_wait(m->team) == QV_EPEER);
	QV_NEED(qv_team_start(m->team, &call) == QV_EPEER);
}

static void no_memory(void **state)
{
	const enum qv_team_kind kinds[] = {QV_TEAM_BROADCAST, QV_TEAM_ALLGATHER};
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_start(&r, RANKS, has_no_memory, &kinds[i]);
		rig_end(&r);
	}
}

struct lengths {
	enum qv_team_kind kind;
	size_t most, one; /* of the others, of the one */
};

/* One has another length: who reads it says so, the others hear that it has given up. */
static void calls_another(struct rig_member *m, const void *arg)
{
	const struct lengths *l = arg;
	struct rig_call call = {.kind = l->kind, .number = 1, .count = l->most};
	int rc;

	QV_NEED(!rig_run(m, &call));
	if (m->rank == 1)
		call.count = l->one;
	rc = rig_run(m, &call);
	QV_NEED(rc == QV_EPROTO || rc == QV_EPEER);
	QV_NEED(rig_run(m, &call) == QV_EPEER);
}

static void another_call(void **state)
{
	/* A piece that is the whole for some is as long as the first one of others. */
	const size_t whole = QV_TEAM_PIECE / 8;
	const struct lengths lengths[] = {{QV_TEAM_ALLREDUCE, 5, 6},
					  {QV_TEAM_ALLREDUCE, whole, 2 * whole},
					  {QV_TEAM_ALLGATHER, whole, 2 * whole},
					  {QV_TEAM_ALLGATHER, 2 * whole, whole}};
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		rig_start(&r, RANKS, calls_another, &lengths[i]);
		rig_end(&r);
	}
}

/* Rank 1 writes anything anywhere. What the others get is nonsense; they end, and unharmed. */
static void scribble(struct rig_member *m, uint64_t *state)
{
	const uint64_t end = kin_now_us() + 200000;
	uint64_t *words = (uint64_t *)(void *)m->team->seats;
	const size_t n = m->team->mapped / sizeof *words;
	const size_t seats = RANKS * sizeof(struct qv_team_seat) / sizeof *words;

	while (kin_now_us() < end) {
		const size_t at = qv_random_below(state, qv_random_below(state, 2) ? n : seats);
		const uint64_t small = qv_random_below(state, 64);

		words[at] = qv_random_below(state, 2) ? qv_random(state) : small << 20 | small;
	}
}

static void sum(void *context, void *dst, const void *a, const void *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((char *)dst)[i] = (char)(((const char *)a)[i] + ((const char *)b)[i]);
}

static void is_scribbled(struct rig_member *m, const void *arg)
{
	enum { ROOM = 100000 };
	uint64_t state = *(const uint64_t *)arg;
	char *in = calloc(1, ROOM), *out = calloc(RANKS, ROOM);
	struct qv_team_call call = {.in = in, .out = out, .item = 1, .combine = sum};
	int rc = QV_OK;

	QV_NEED(in && out);
	if (m->rank == 1) {
		scribble(m, &state);
		_exit(0);
	}
	while (!rc) {
		call.kind = (enum qv_team_kind)qv_random_below(&state, QV_TEAM_KINDS);
		call.count = qv_random_below(&state, ROOM / RANKS);
		call.root = (uint32_t)qv_random_below(&state, RANKS);
		rc = qv_team_start(m->team, &call);
		if (!rc)
			rc = qv_team_wait(m->team);
	}
	QV_NEED(rc == QV_EPEER || rc == QV_EPROTO);
	free(in);
	free(out);
}

static void scribbled(void **state)
{
	struct rig r;

	(void)state;
	for (uint64_t seed = 1; seed < 8; seed++) {
		rig_start(&r, RANKS, is_scribbled, &seed);
		rig_end(&r);
	}
}

/* Handing over. */

static struct qv_team *member(uint64_t name, uint32_t rank)
{
	const struct qv_team_spec spec = {.name = name, .rank = rank, .ranks = 2};
	struct qv_team *t = NULL;

	return qv_team_open(&spec, &t) ? NULL : t;
}

static void not_handed_over(void **state)
{
	const uint64_t name = qv_proc_random();
	struct qv_team *first = member(name, 0), *second;
	const unsigned fds = kin_count_fds();

	(void)state;
	assert_non_null(first);
	assert_int_equal(qv_team_give(first), QV_EIO); /* nobody has opened */
	qv_team_close(first);
	first = member(name, 0);
	second = member(name, 1);
	assert_non_null(second);
	assert_null(member(name, 1)); /* somebody else is there */
	assert_int_equal(qv_team_take(second), QV_EAGAIN);
	qv_team_close(first);
	qv_team_close(second);
	assert_int_equal(kin_count_fds(), fds - 1);
}

/* A door that others knock at, with other words or with none. */
static void strangers(void **state)
{
	const uint64_t name = qv_proc_random(), words[4] = {1, 2, 3, 4};
	struct qv_team *first = member(name, 0), *second = member(name, 1);
	char text[80];
	struct sockaddr_un a;
	socklen_t len;
	int fds[2];

	(void)state;
	assert_non_null(first);
	assert_non_null(second);
	snprintf(text, sizeof text, "quiver-team/%u/%llu/1", (unsigned)geteuid(),
		 (unsigned long long)name);
	len = qv_local_address(&a, text);
	for (unsigned i = 0; i < 2; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&a, len), 0);
	}
	assert_true(qv_local_give(fds[0], words, sizeof words, fds[1]));
	assert_int_equal(qv_team_give(first), QV_OK);
	assert_int_equal(qv_team_take(second), QV_OK);
	close(fds[0]);
	close(fds[1]);
	qv_team_close(first);
	qv_team_close(second);
}

/* What may not be asked for. */
static void arguments(void **state)
{
	const struct qv_team_spec alone = {.ranks = 1}, odd = {.ranks = 3, .rank = 3};
	struct qv_team_call call = {.kind = QV_TEAM_ALLREDUCE, .count = 1, .item = 65};
	struct qv_team *t = NULL;

	(void)state;
	assert_int_equal(qv_team_open(&alone, &t), QV_EINVAL);
	assert_int_equal(qv_team_open(&odd, &t), QV_EINVAL);
	t = member(qv_proc_random(), 0);
	assert_non_null(t);
	call.combine = sum;
	assert_int_equal(qv_team_start(t, &call), QV_EINVAL);
	call.item = 1;
	call.combine = NULL;
	assert_int_equal(qv_team_start(t, &call), QV_EINVAL);
	call.kind = QV_TEAM_BROADCAST;
	call.root = 2;
	assert_int_equal(qv_team_start(t, &call), QV_EINVAL);
	call.root = 0;
	call.in = t;
	assert_int_equal(qv_team_start(t, &call), QV_OK);
	assert_int_equal(qv_team_wait(t), QV_OK); /* nobody is waited for */
	qv_team_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed),    cmocka_unit_test(gone_early),
		cmocka_unit_test(closed),    cmocka_unit_test(another_call),
		cmocka_unit_test(scribbled), cmocka_unit_test(not_handed_over),
		cmocka_unit_test(strangers), cmocka_unit_test(arguments),
		cmocka_unit_test(no_memory), cmocka_unit_test(closed_by_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
