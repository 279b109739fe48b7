/* SPDX-License-Identifier: BSD-2-Clause */
/* figures.c - so many messages were sent: what the variables say, and to whom. */
#include "tool.h"

#include <pthread.h>

typedef unsigned long long ull;

/* Some variables, by their places in these. */
enum { POSTED, ARRIVED, MATCHED, UNEXPECTED, INSPECTED, EAGER, COUNTERS };
enum {
	POSTED_LENGTH,
	UNEXPECTED_LENGTH,
	UNEXPECTED_BYTES,
	POSTED_MAX,
	UNEXPECTED_MAX,
	BYTES_MAX,
	ENDPOINTS,
	LEVELS
};
static const char *const counters[COUNTERS] = {"quiver_posted",    "quiver_arrived",
					       "quiver_matched",   "quiver_unexpected",
					       "quiver_inspected", "quiver_eager"};
static const char *const levels[LEVELS] = {
	"quiver_posted_length",     "quiver_unexpected_length",     "quiver_unexpected_bytes",
	"quiver_posted_length_max", "quiver_unexpected_length_max", "quiver_unexpected_bytes_max",
	"quiver_endpoints"};

struct set {
	MPI_T_pvar_session session;
	MPI_T_pvar_handle counter[COUNTERS], level[LEVELS];
};

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session session, const char *name)
{
	MPI_T_pvar_handle handle;
	int count = 0;

	OK(MPI_T_pvar_handle_alloc(session, pvar_of(name), NULL, &handle, &count));
	CHECK_EQ(count, 1);
	return handle;
}

static void open_set(struct set *set)
{
	OK(MPI_T_pvar_session_create(&set->session));
	for (int i = 0; i < COUNTERS; i++)
		set->counter[i] = handle_of(set->session, counters[i]);
	for (int i = 0; i < LEVELS; i++)
		set->level[i] = handle_of(set->session, levels[i]);
}

static ull read_one(const struct set *set, MPI_T_pvar_handle handle)
{
	ull value = 12345;

	OK(MPI_T_pvar_read(set->session, handle, &value));
	return value;
}

static void read_levels(const struct set *set, ull *values)
{
	for (int i = 0; i < LEVELS; i++)
		values[i] = read_one(set, set->level[i]);
}

/* The counters are these; inspected entries at least so many. Where nothing is counted, 0. */
static void expect(const struct set *set, ull posted, ull arrived, ull matched, ull unexpected,
		   ull inspected)
{
	const ull all[] = {posted, arrived, matched, unexpected};

	for (int i = POSTED; i <= UNEXPECTED; i++)
		CHECK_EQ(read_one(set, set->counter[i]), counted ? all[i] : 0);
	CHECK(read_one(set, set->counter[INSPECTED]) >= (counted ? inspected : 0));
}

#define PRE   7  /* messages whose receives wait */
#define LATE  5  /* messages that wait for their receives */
#define BYTES 24 /* of each of these */

enum { END = 900, GO, MORE };

/* Rank 0 of figures(). */
static void send_them(const struct set *set)
{
	char buf[BYTES] = {0};

	MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	OK(MPI_T_pvar_start(set->session, set->counter[EAGER]));
	for (int i = 0; i < PRE; i++)
		MPI_Send(buf, 1, MPI_BYTE, 1, i, MPI_COMM_WORLD);
	for (int i = 0; i < LATE; i++)
		MPI_Send(buf, BYTES, MPI_BYTE, 1, 100 + i, MPI_COMM_WORLD);
	MPI_Send(NULL, 0, MPI_BYTE, 1, END, MPI_COMM_WORLD);
	CHECK_EQ(read_one(set, set->counter[EAGER]), counted ? PRE + LATE + 1 : 0);
	MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(NULL, 0, MPI_BYTE, 1, MORE, MPI_COMM_WORLD);
	MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* it has read */
}

static void check_levels(const struct set *set, const ull *before)
{
	ull now[LEVELS];

	read_levels(set, now);
	if (!counted) {
		for (int i = 0; i < LEVELS; i++)
			CHECK_EQ(now[i], 0);
		return;
	}
	CHECK(now[ENDPOINTS] >= 1);
	CHECK_EQ(now[POSTED_LENGTH], before[POSTED_LENGTH]);
	CHECK_EQ(now[UNEXPECTED_LENGTH], before[UNEXPECTED_LENGTH] + LATE);
	CHECK_EQ(now[UNEXPECTED_BYTES], before[UNEXPECTED_BYTES] + LATE * BYTES);
	CHECK(now[POSTED_MAX] >= PRE + 1);
	CHECK(now[UNEXPECTED_MAX] >= LATE);
	CHECK(now[BYTES_MAX] >= LATE * BYTES);
}

/* One more message, with a receive that waits. */
static void one_more(void)
{
	MPI_Request request;

	MPI_Irecv(NULL, 0, MPI_BYTE, 0, MORE, MPI_COMM_WORLD, &request);
	MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Set, read, and stopped or not. */
static void check_writing(const struct set *set)
{
	const MPI_T_pvar_handle posted = set->counter[POSTED];
	ull value = 77;

	OK(MPI_T_pvar_write(set->session, posted, &value));
	CHECK_EQ(read_one(set, posted), 77);
	value = 0;
	OK(MPI_T_pvar_readreset(set->session, posted, &value));
	CHECK_EQ(value, 77);
	CHECK_EQ(read_one(set, posted), 0);
	OK(MPI_T_pvar_reset(set->session, MPI_T_PVAR_ALL_HANDLES));
	expect(set, 0, 0, 0, 0, 0);
}

/* Rank 1: one session sees all of it, another what comes later. */
static void receive_them(const struct set *set, const struct set *other)
{
	MPI_Request requests[PRE], end;
	ull before[LEVELS];
	char buf[PRE], late[BYTES];

	read_levels(set, before);
	expect(set, 0, 0, 0, 0, 0);
	OK(MPI_T_pvar_start(set->session, MPI_T_PVAR_ALL_HANDLES));
	for (int i = 0; i < PRE; i++)
		MPI_Irecv(&buf[i], 1, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
	MPI_Irecv(NULL, 0, MPI_BYTE, 0, END, MPI_COMM_WORLD, &end);
	MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
	MPI_Wait(&end, MPI_STATUS_IGNORE);
	for (int i = 0; i < PRE; i++)
		MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	expect(set, PRE + 1, PRE + LATE + 1, PRE + 1, LATE, PRE + 1);
	check_levels(set, before);
	OK(MPI_T_pvar_stop(set->session, MPI_T_PVAR_ALL_HANDLES));
	OK(MPI_T_pvar_start(other->session, MPI_T_PVAR_ALL_HANDLES));
	for (int i = 0; i < LATE; i++)
		MPI_Recv(late, BYTES, MPI_BYTE, 0, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	expect(set, PRE + 1, PRE + LATE + 1, PRE + 1, LATE, PRE + 1);
	expect(other, LATE, 0, LATE, 0, LATE);
	if (counted)
		CHECK_EQ(read_one(set, set->level[UNEXPECTED_LENGTH]), before[UNEXPECTED_LENGTH]);
	OK(MPI_T_pvar_start(set->session, set->counter[ARRIVED]));
	one_more();
	CHECK_EQ(read_one(set, set->counter[ARRIVED]), counted ? PRE + LATE + 2 : 0);
	CHECK_EQ(read_one(set, set->counter[POSTED]), counted ? PRE + 1 : 0);
	expect(other, LATE + 1, 1, LATE + 1, 0, LATE + 1);
	check_writing(set);
	expect(other, LATE + 1, 1, LATE + 1, 0, LATE + 1);
	MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
}

void figures(void)
{
	struct set set, other;

	open_set(&set);
	open_set(&other);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank)
		receive_them(&set, &other);
	else
		send_them(&set);
	for (int i = 0; i < COUNTERS; i++)
		OK(MPI_T_pvar_handle_free(set.session, &set.counter[i]));
	CHECK(set.counter[0] == MPI_T_PVAR_HANDLE_NULL);
	OK(MPI_T_pvar_session_free(&set.session)); /* with what is left in it */
	CHECK(set.session == MPI_T_PVAR_SESSION_NULL);
	OK(MPI_T_pvar_session_free(&other.session));
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Threads that look while the program sends. */

#define ROUNDS 300

static void *look(void *stop)
{
	int n = 0;

	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED) || n < 20) {
		struct set set;
		ull last = 0;

		open_set(&set);
		OK(MPI_T_pvar_start(set.session, MPI_T_PVAR_ALL_HANDLES));
		for (int i = 0; i < 20; i++) {
			const ull now = read_one(&set, set.counter[ARRIVED]);

			CHECK(now >= last && now <= ROUNDS + 100);
			last = now;
		}
		OK(MPI_T_pvar_session_free(&set.session));
		n++;
	}
	return NULL;
}

void threads(void)
{
	enum { N = 3 };
	pthread_t thread[N];
	struct set set;
	int stop = 0;

	open_set(&set);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_T_pvar_start(set.session, MPI_T_PVAR_ALL_HANDLES));
	for (int i = 0; i < N; i++)
		CHECK(!pthread_create(&thread[i], NULL, look, &stop));
	for (int i = 0; i < ROUNDS; i++)
		MPI_Sendrecv(NULL, 0, MPI_BYTE, !rank, 0, NULL, 0, MPI_BYTE, !rank, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK_EQ(read_one(&set, set.counter[MATCHED]), counted ? ROUNDS : 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < N; i++)
		CHECK(!pthread_join(thread[i], NULL));
	OK(MPI_T_pvar_session_free(&set.session));
	MPI_Barrier(MPI_COMM_WORLD);
}

/* After MPI_Finalize nothing is lost. */

static struct set late;

void begin_late(void)
{
	open_set(&late);
	OK(MPI_T_pvar_start(late.session, MPI_T_PVAR_ALL_HANDLES));
}

void end_late(void)
{
	const ull least = counted ? PRE + ROUNDS : 0;
	const ull posted = read_one(&late, late.counter[POSTED]);

	CHECK(posted >= least && (counted || !posted));
	CHECK_EQ(read_one(&late, late.level[POSTED_LENGTH]), 0);
	CHECK_EQ(read_one(&late, late.level[ENDPOINTS]), 0);
	CHECK(read_one(&late, late.level[POSTED_MAX]) >= (counted && rank ? PRE + 1 : 0));
	OK(MPI_T_pvar_session_free(&late.session));
}
