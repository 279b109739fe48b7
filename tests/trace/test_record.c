/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_record.c - random calls on an engine that is recorded; what is read back is what was asked for
 * and answered. Files that are cut or damaged anywhere, limits, rings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <quiver/match.h>

#include "engine/base/random.h"
#include "engine/trace/format.h"
#include "engine/trace/record.h"

enum { NODES = 64, CALLS = 20000 };

static char path[64];
static uint64_t rng = 1;

static struct qv_recv recvs[NODES];
static struct qv_msg msgs[NODES];
static bool recv_used[NODES], msg_used[NODES];

/* What the test itself has seen. */
static struct qv_trace_event log_[2 * CALLS];
static size_t logged;

static uint64_t node(const void *p)
{
	return (uintptr_t)p & 0xffffffffffff;
}

static void note(struct qv_trace_event e)
{
	log_[logged++] = e;
}

static unsigned draw(unsigned n)
{
	return (unsigned)(qv_random(&rng) >> 33) % n;
}

static int find(const bool *used, bool want)
{
	int first = (int)draw(NODES);

	for (int i = 0; i < NODES; i++)
		if (used[(first + i) % NODES] == want)
			return (first + i) % NODES;
	return -1;
}

static void post(struct qv_match *m)
{
	static const uint64_t masks[] = {0, 0, 0, 3, ~UINT64_C(0), UINT64_C(1) << 63};
	int i = find(recv_used, false);
	struct qv_msg *msg;

	if (i < 0)
		return;
	recvs[i] = (struct qv_recv){.tag = draw(8) | (uint64_t)draw(2) << 63,
				    .ignore = masks[draw(6)],
				    .src = draw(4) ? draw(3) : QV_SRC_ANY,
				    .flags = draw(16) ? 0 : QV_RECV_STICKY};
	assert_int_equal(qv_match_post(m, &recvs[i], &msg), QV_OK);
	recv_used[i] = !msg;
	if (msg)
		msg_used[msg - msgs] = false;
	note((struct qv_trace_event){.kind = QV_TRACE_POST,
				     .tag = recvs[i].tag,
				     .ignore = recvs[i].ignore,
				     .src = recvs[i].src,
				     .matched = msg != NULL,
				     .persistent = recvs[i].flags & QV_RECV_STICKY,
				     .node = node(msg ? (void *)msg : &recvs[i])});
}

static void deliver(struct qv_match *m)
{
	int i = find(msg_used, false);
	struct qv_recv *recv;

	if (i < 0)
		return;
	msgs[i] = (struct qv_msg){.tag = draw(8) | (uint64_t)draw(2) << 63, .src = draw(3)};
	assert_int_equal(qv_match_deliver(m, &msgs[i], &recv), QV_OK);
	note((struct qv_trace_event){.kind = QV_TRACE_ARRIVE,
				     .tag = msgs[i].tag,
				     .src = msgs[i].src,
				     .matched = recv != NULL,
				     .node = node(recv)});
	if (recv && !(recv->flags & QV_RECV_STICKY))
		recv_used[recv - recvs] = false;
	if (recv)
		return;
	msg_used[i] = true;
	note((struct qv_trace_event){.kind = QV_TRACE_QUEUE,
				     .tag = msgs[i].tag,
				     .src = msgs[i].src,
				     .node = node(&msgs[i])});
}

static void peek(struct qv_match *m, bool take)
{
	uint64_t tag = draw(8), ignore = draw(2) ? 7 : 0;
	uint32_t src = draw(2) ? draw(3) : QV_SRC_ANY;
	struct qv_msg *msg = qv_match_peek(m, tag, ignore, src);

	note((struct qv_trace_event){.kind = QV_TRACE_PEEK,
				     .tag = tag,
				     .ignore = ignore,
				     .src = src,
				     .matched = msg != NULL,
				     .node = node(msg)});
	if (!take || !msg)
		return;
	note((struct qv_trace_event){.kind = QV_TRACE_TAKE, .node = node(msg)});
	qv_match_take(m, msg);
	msg_used[msg - msgs] = false;
}

static void cancel(struct qv_match *m)
{
	int i = find(recv_used, true);

	if (i < 0)
		return;
	note((struct qv_trace_event){.kind = QV_TRACE_CANCEL, .node = node(&recvs[i])});
	qv_match_cancel(m, &recvs[i]);
	recv_used[i] = false;
}

static void call(struct qv_match *m, unsigned calls)
{
	while (calls--)
		switch (draw(16)) {
		case 0: peek(m, false); break;
		case 1: peek(m, true); break;
		case 2: cancel(m); break;
		default: draw(2) ? post(m) : deliver(m);
		}
}

static struct qv_match *engine(const char *structure)
{
	struct qv_match_settings set;
	struct qv_match *m;

	qv_match_settings_default(&set);
	set.structure = structure;
	assert_int_equal(qv_match_create(&set, &m), QV_OK);
	logged = 0;
	memset(recv_used, 0, sizeof recv_used);
	memset(msg_used, 0, sizeof msg_used);
	return m;
}

static const struct qv_trace_process process = {
	.rank = 3, .pid = 77, .host = "here", .program = "it"};
static const struct qv_trace_lane tagged = {
	.endpoint = 5, .queue = QV_TRACE_TAGGED, .structure = "some", .protocol_bits = 0xff00};

static struct qv_trace_file *create(uint64_t most)
{
	struct qv_trace_file *f = qv_trace_create(path, most);

	assert_non_null(f);
	assert_int_equal(qv_trace_add_process(f, &process), 0);
	return f;
}

static struct qv_trace_reader *open_trace(void)
{
	char why[512];
	struct qv_trace_reader *r = qv_trace_open(path, why, sizeof why);

	if (!r)
		fail_msg("%s", why);
	return r;
}

/* The events of the file are those of the log from `first` on. */
static uint64_t compare(size_t first)
{
	struct qv_trace_reader *r = open_trace();
	struct qv_trace_event e;
	uint64_t before = 0, lost;
	size_t i = first;
	int rc;

	while ((rc = qv_trace_next(r, &e)) == 1) {
		const struct qv_trace_event *want = &log_[i++];

		assert_true(i <= logged);
		assert_int_equal(e.kind, want->kind);
		assert_true(e.tag == want->tag && e.ignore == want->ignore && e.src == want->src &&
			    e.node == want->node && e.matched == want->matched &&
			    e.persistent == want->persistent && e.lane == 0);
		assert_true(e.ns >= before);
		before = e.ns;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(i, logged);
	assert_true(qv_trace_is_whole(r));
	assert_int_equal(qv_trace_processes(r), 1);
	assert_int_equal(qv_trace_process_at(r, 0)->rank, 3);
	assert_string_equal(qv_trace_process_at(r, 0)->host, "here");
	assert_null(qv_trace_process_at(r, 1));
	assert_int_equal(qv_trace_lanes(r), 1);
	assert_int_equal(qv_trace_lane_at(r, 0)->queue, QV_TRACE_TAGGED);
	assert_int_equal(qv_trace_lane_at(r, 0)->endpoint, 5);
	assert_true(qv_trace_lane_at(r, 0)->protocol_bits == 0xff00);
	assert_null(qv_trace_lane_at(r, 1));
	lost = qv_trace_lost(r);
	qv_trace_close(r);
	return lost;
}

/* Before and after it the engine runs as ever. */
static void all_that_happens(void **state)
{
	static const char *const structures[] = {"auto", "ll", "llv", "hash", "pnp"};

	for (size_t i = 0; i < 5; i++) {
		struct qv_match *m = engine(structures[i]);
		struct qv_trace_file *f = create(0);
		struct qv_trace_recording *r = qv_trace_record(m, f, &tagged, 0);
		struct qv_match_stats stats;
		uint64_t posted;

		assert_non_null(r);
		assert_string_equal(qv_match_structure(m), structures[i]);
		call(m, CALLS);
		qv_match_get_stats(m, &stats);
		posted = stats.posted;
		qv_trace_record_end(r);
		assert_int_equal(qv_trace_finish(f, NULL), 0);
		assert_int_equal(compare(0), 0);
		call(m, 100);
		qv_match_get_stats(m, &stats);
		assert_true(stats.posted > posted);
		qv_match_destroy(m);
	}
}

/* A recording that begins late has what waits first; matches then have an entry. */
static void begun_late(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_file *f = create(0);
	struct qv_trace_recording *r;
	struct qv_match_stats stats;
	struct qv_trace_reader *reader;
	struct qv_trace_event e;
	size_t begin;
	int rc;

	call(m, 5000);
	begin = logged;
	qv_match_get_stats(m, &stats);
	assert_true(stats.posted_now + stats.unexpected_now > 0);
	r = qv_trace_record(m, f, &tagged, 0);
	call(m, 5000);
	qv_trace_record_end(r);
	assert_int_equal(qv_trace_finish(f, NULL), 0);
	reader = open_trace();
	for (uint64_t i = 0; i < stats.posted_now + 2 * stats.unexpected_now; i++) {
		assert_int_equal(qv_trace_next(reader, &e), 1);
		assert_true(!e.matched);
		assert_true(i < stats.posted_now
				    ? e.kind == QV_TRACE_POST
				    : e.kind == (((i - stats.posted_now) % 2) ? QV_TRACE_QUEUE
									      : QV_TRACE_ARRIVE));
	}
	for (size_t i = begin; i < logged; i++) {
		assert_int_equal(qv_trace_next(reader, &e), 1);
		assert_int_equal(e.kind, log_[i].kind);
		assert_true(e.node == log_[i].node);
	}
	rc = qv_trace_next(reader, &e);
	assert_int_equal(rc, 0);
	qv_trace_close(reader);
	qv_match_destroy(m);
}

/* The last events, and how many came before. */
static void ring(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_file *f = create(0);
	struct qv_trace_recording *r = qv_trace_record(m, f, &tagged, 128 << 10);
	struct qv_trace_reader *reader;
	struct qv_trace_event e;
	uint64_t lost;

	call(m, CALLS);
	qv_trace_record_end(r);
	assert_int_equal(qv_trace_finish(f, NULL), 0);
	reader = open_trace();
	while (qv_trace_next(reader, &e) == 1)
		;
	lost = qv_trace_lost(reader);
	qv_trace_close(reader);
	assert_true(lost > 0 && logged - lost > (128 << 10) / 24 - 2700);
	assert_int_equal(compare(lost), lost);
	qv_match_destroy(m);
}

/* Nothing more is written; what is there can be read. */
static void limit(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_file *f = create(200 << 10);
	struct qv_trace_recording *r = qv_trace_record(m, f, &tagged, 0);
	uint64_t lost;
	size_t all;

	call(m, CALLS);
	qv_trace_record_end(r);
	assert_int_equal(qv_trace_finish(f, &lost), EFBIG);
	assert_true(lost > 0);
	all = logged;
	logged -= lost;
	assert_int_equal(compare(0), lost);
	logged = all;
	qv_match_destroy(m);
}

static void no_room(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_recording *r;
	struct qv_trace_file *f;
	uint64_t lost;

	if (access("/dev/full", W_OK))
		skip();
	assert_null(qv_trace_create("/dev/full", 0));
	assert_int_equal(errno, ENOSPC);
	assert_null(qv_trace_create("/no/such/folder/trace", 0));
	f = create(1); /* no events, only what they belong to */
	r = qv_trace_record(m, f, &tagged, 0);
	call(m, CALLS);
	qv_trace_record_end(r);
	assert_int_equal(qv_trace_finish(f, &lost), EFBIG);
	assert_int_equal(lost, logged);
	qv_match_destroy(m);
}

/* What the system says to a file that is too long is not said to the program. */
static void limit_of_the_system(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_file *f = create(0);
	struct qv_trace_recording *r = qv_trace_record(m, f, &tagged, 0);
	struct rlimit before, low;
	sigset_t waits;
	uint64_t lost;
	int error;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = (struct rlimit){100 << 10, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &low);
	call(m, CALLS);
	qv_trace_record_end(r);
	error = qv_trace_finish(f, &lost);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(error, EFBIG);
	assert_true(lost > 0 && lost < logged);
	sigpending(&waits);
	assert_false(sigismember(&waits, SIGXFSZ));
	qv_match_destroy(m);
}

/* Whoever reads a pipe may go. A signal of the program's own that waits goes on to wait. */
static void reader_goes(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_recording *r;
	struct qv_trace_file *f;
	sigset_t pipe, before, waits;
	int reader;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	for (int own = 0; own < 2; own++) {
		unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
		reader = open(path, O_RDONLY | O_NONBLOCK);
		f = create(0);
		r = qv_trace_record(m, f, &tagged, 0);
		close(reader);
		sigprocmask(own ? SIG_BLOCK : SIG_UNBLOCK, &pipe, &before);
		if (own)
			raise(SIGPIPE);
		call(m, 5000);
		qv_trace_record_end(r);
		assert_int_equal(qv_trace_finish(f, NULL), EPIPE);
		sigpending(&waits);
		assert_int_equal(sigismember(&waits, SIGPIPE), own);
	}
	sigtimedwait(&pipe, NULL, &(struct timespec){0});
	sigprocmask(SIG_SETMASK, &before, NULL);
	unlink(path);
	qv_match_destroy(m);
}

/* A file that is being written stays as it is. */
static void two_writers(void **state)
{
	struct qv_match *m = engine("auto");
	struct qv_trace_file *f = create(0);
	struct qv_trace_recording *r = qv_trace_record(m, f, &tagged, 0);

	assert_null(qv_trace_create(path, 0));
	assert_int_equal(errno, EWOULDBLOCK);
	call(m, CALLS);
	qv_trace_record_end(r);
	assert_int_equal(qv_trace_finish(f, NULL), 0);
	assert_int_equal(compare(0), 0);
	qv_match_destroy(m);
}

/* Long pauses, tags of all bits, several lanes, times of the writer's own. */
static void by_hand(void **state)
{
	struct qv_trace_file *f = create(0);
	struct qv_trace_event e,
		in[6] = {
			{.ns = 5,
			 .kind = QV_TRACE_POST,
			 .tag = ~UINT64_C(0),
			 .ignore = 9,
			 .src = QV_SRC_ANY,
			 .node = 1},
			{.ns = 5, .kind = QV_TRACE_ARRIVE, .tag = 7, .src = 3, .lane = 1},
			{.ns = UINT64_C(1) << 60,
			 .kind = QV_TRACE_QUEUE,
			 .tag = 7,
			 .src = 3,
			 .node = 0xffffffffffff,
			 .lane = 1},
			{.ns = UINT64_C(1) << 60, .kind = QV_TRACE_POST, .tag = 1, .node = 2},
			{.ns = (UINT64_C(1) << 60) + 1,
			 .kind = QV_TRACE_POST,
			 .tag = 1,
			 .ignore = 9,
			 .node = 3,
			 .persistent = true},
			{.ns = (UINT64_C(1) << 60) + 2,
			 .kind = QV_TRACE_ARRIVE,
			 .tag = 1,
			 .node = 2,
			 .matched = true},
		};
	struct qv_trace_reader *r;
	unsigned met = 0;

	assert_int_equal(qv_trace_add_lane(f, &tagged), 0);
	assert_int_equal(qv_trace_add_lane(f, &tagged), 1);
	for (size_t i = 0; i < 6; i++)
		assert_true(qv_trace_put(f, &in[i]));
	assert_int_equal(qv_trace_finish(f, NULL), 0);
	r = open_trace();
	while (qv_trace_next(r, &e) == 1)
		for (size_t i = 0; i < 6; i++)
			if (e.ns == in[i].ns && e.tag == in[i].tag && e.node == in[i].node &&
			    e.ignore == in[i].ignore && e.src == in[i].src &&
			    e.lane == in[i].lane && e.kind == in[i].kind &&
			    e.matched == in[i].matched && e.persistent == in[i].persistent)
				met |= 1u << i;
	assert_int_equal(met, 63);
	qv_trace_close(r);
	f = create(0); /* of no lane; older than the one before */
	assert_false(qv_trace_put(f, &in[0]));
	assert_int_not_equal(qv_trace_finish(f, NULL), 0);
	f = create(0);
	qv_trace_add_lane(f, &tagged);
	assert_true(qv_trace_put(f, &in[3]));
	assert_false(qv_trace_put(f, &in[0]));
	assert_int_equal(qv_trace_finish(f, NULL), EINVAL);
}

static size_t contents(char *bytes, size_t size)
{
	FILE *file = fopen(path, "rb");
	size_t n;

	assert_non_null(file);
	n = fread(bytes, 1, size, file);
	fclose(file);
	return n;
}

/* How many events are read from these bytes. *sound: nothing is wrong; *whole: and it was ended. */
static size_t read_back(const char *bytes, size_t n, bool *sound, bool *whole)
{
	FILE *file = fopen(path, "wb");
	struct qv_trace_reader *r;
	struct qv_trace_event e;
	size_t events = 0;
	char why[512] = "";
	int rc;

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	fclose(file);
	r = qv_trace_open(path, why, sizeof why);
	*sound = *whole = false;
	if (!r) {
		assert_true(*why);
		return 0;
	}
	while ((rc = qv_trace_next(r, &e)) == 1)
		events++;
	if (rc < 0)
		assert_true(*qv_trace_why(r));
	*sound = rc == 0;
	*whole = *sound && qv_trace_is_whole(r);
	qv_trace_close(r);
	return events;
}

static void damaged(void **state)
{
	static char bytes[1 << 20], changed[1 << 20];
	struct qv_match *m = engine("auto");
	struct qv_trace_file *f = create(0);
	struct qv_trace_recording *r = qv_trace_record(m, f, &tagged, 0);
	size_t n, all;
	bool sound, whole;

	call(m, 40);
	qv_trace_record_end(r);
	assert_int_equal(qv_trace_finish(f, NULL), 0);
	qv_match_destroy(m);
	n = contents(bytes, sizeof bytes);
	all = read_back(bytes, n, &sound, &whole);
	assert_true(whole && all == logged);
	for (size_t cut = 0; cut < n; cut++) {
		read_back(bytes, cut, &sound, &whole);
		assert_false(whole);
		/* As a process leaves it that is killed while it writes: what came before can be used. */
		assert_true(sound == (cut >= sizeof(struct qv_trace_header)));
	}
	for (size_t at = 0; at < n; at++) {
		memcpy(changed, bytes, n);
		changed[at] ^= 1 << draw(8);
		read_back(changed, n, &sound, &whole);
		if (at >= 16 && at < 32)
			continue; /* reserved: nobody looks */
		assert_false(whole && at < 16);
		if (at >= 32)
			assert_false(whole);
	}
	memcpy(changed, bytes, n);
	memcpy(changed + n, "more", 4); /* behind the end */
	read_back(changed, n + 4, &sound, &whole);
	assert_false(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_happens),
		cmocka_unit_test(begun_late),
		cmocka_unit_test(ring),
		cmocka_unit_test(limit),
		cmocka_unit_test(no_room),
		cmocka_unit_test(limit_of_the_system),
		cmocka_unit_test(reader_goes),
		cmocka_unit_test(two_writers),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(damaged),
	};
	int failed;

	snprintf(path, sizeof path, "/tmp/qv_trace.%d", (int)getpid());
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
