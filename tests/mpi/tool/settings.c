/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.c - control variables that are written, and arguments that are wrong. */
#include "tool.h"

static MPI_T_cvar_handle cvar_handle(const char *name, int expected)
{
	MPI_T_cvar_handle handle;
	int count = 0;

	OK(MPI_T_cvar_handle_alloc(cvar_of(name), NULL, &handle, &count));
	CHECK_EQ(count, expected);
	return handle;
}

/* How many of so many allreduces are not the MPI's, and all sums are right. */
static unsigned long long taken(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int calls)
{
	unsigned long long n = 999;
	int sum, ranks;

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	OK(MPI_T_pvar_reset(session, handle));
	for (int i = 0; i < calls; i++) {
		MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK_EQ(sum, ranks * i);
	}
	OK(MPI_T_pvar_read(session, handle, &n));
	return n;
}

static void coll(void)
{
	MPI_T_cvar_handle algorithms = cvar_handle("quiver_coll", 1024);
	MPI_T_pvar_session session;
	MPI_T_pvar_handle handle;
	char text[1024], odd[1024];
	int count;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_handle_alloc(session, pvar_of("quiver_collectives"), NULL, &handle, &count));
	OK(MPI_T_pvar_start(session, handle));
	OK(MPI_T_cvar_read(algorithms, text));
	CHECK(!strcmp(text, ""));
	CHECK_EQ(taken(session, handle, 3), 0);
	OK(MPI_T_cvar_write(algorithms, "allreduce=ring"));
	OK(MPI_T_cvar_read(algorithms, text));
	CHECK(!strcmp(text, "allreduce=ring"));
	CHECK_EQ(taken(session, handle, 3), 3);
	CHECK_EQ(MPI_T_cvar_write(algorithms, "allreduce=odd"), MPI_T_ERR_INVALID);
	memset(odd, 'x', sizeof(odd)); /* without an end */
	CHECK_EQ(MPI_T_cvar_write(algorithms, odd), MPI_T_ERR_INVALID);
	OK(MPI_T_cvar_read(algorithms, text));
	CHECK(!strcmp(text, "allreduce=ring"));
	CHECK_EQ(taken(session, handle, 3), 3);
	OK(MPI_T_cvar_write(algorithms, ""));
	CHECK_EQ(taken(session, handle, 3), 0);
	OK(MPI_T_pvar_session_free(&session));
	OK(MPI_T_cvar_handle_free(&algorithms));
	CHECK(algorithms == MPI_T_CVAR_HANDLE_NULL);
}

void collectives(void)
{
	MPI_T_cvar_handle network = cvar_handle("quiver_network", 3);
	MPI_T_cvar_handle stats = cvar_handle("quiver_stats", 1);
	const double figures[3] = {1e-6, 1e-9, 2e-10}, wrong[3] = {-1, 0, 0};
	double now[3];
	int on = 9;

	coll();
	OK(MPI_T_cvar_write(network, figures));
	CHECK_EQ(MPI_T_cvar_write(network, wrong), MPI_T_ERR_INVALID);
	OK(MPI_T_cvar_read(network, now));
	CHECK(!memcmp(now, figures, sizeof(now)));
	OK(MPI_T_cvar_read(stats, &on));
	CHECK_EQ(on, 1);
	CHECK_EQ(MPI_T_cvar_write(stats, &on), MPI_T_ERR_CVAR_SET_NEVER);
	CHECK_EQ(MPI_T_cvar_write(stats, NULL), MPI_T_ERR_INVALID);
	OK(MPI_T_cvar_handle_free(&network));
	OK(MPI_T_cvar_handle_free(&stats));
	CHECK_EQ(MPI_T_cvar_handle_free(&stats), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_cvar_read(stats, &on), MPI_T_ERR_INVALID_HANDLE);
	MPI_Barrier(MPI_COMM_WORLD);
}

void set_too_early(void)
{
	MPI_T_cvar_handle algorithms = cvar_handle("quiver_coll", 1024);
	char text[1024] = "x";

	CHECK_EQ(MPI_T_cvar_write(algorithms, "allreduce=ring"), MPI_T_ERR_CVAR_SET_NOT_NOW);
	OK(MPI_T_cvar_read(algorithms, text));
	CHECK(!strcmp(text, ""));
	OK(MPI_T_cvar_handle_free(&algorithms));
}

/* A variable that cannot be started, stopped or set. */
static void bad_for_level(MPI_T_pvar_session session)
{
	unsigned long long value = 0;
	MPI_T_pvar_handle level;
	int count;

	OK(MPI_T_pvar_handle_alloc(session, pvar_of("quiver_posted_length"), NULL, &level, &count));
	CHECK_EQ(MPI_T_pvar_start(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
	CHECK_EQ(MPI_T_pvar_stop(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
	CHECK_EQ(MPI_T_pvar_write(session, level, &value), MPI_T_ERR_PVAR_NO_WRITE);
	CHECK_EQ(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE);
	CHECK_EQ(MPI_T_pvar_readreset(session, level, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
	CHECK_EQ(MPI_T_pvar_read(session, level, NULL), MPI_T_ERR_INVALID);
	OK(MPI_T_pvar_handle_free(session, &level));
}

void bad_arguments(void)
{
	const int posted = pvar_of("quiver_posted");
	MPI_T_pvar_session session, other;
	MPI_T_pvar_handle handle, freed, none = MPI_T_PVAR_HANDLE_NULL;
	unsigned long long value;
	int num, count;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_session_create(&other));
	OK(MPI_T_pvar_handle_alloc(session, posted, NULL, &handle, &count));
	freed = handle;
	CHECK_EQ(MPI_T_pvar_read(other, handle, &value), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_pvar_start(other, handle), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_pvar_handle_free(other, &handle), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, handle, &value),
		 MPI_T_ERR_INVALID_SESSION);
	OK(MPI_T_pvar_start(session, handle));
	OK(MPI_T_pvar_start(session, handle));
	OK(MPI_T_pvar_handle_free(session, &handle));
	CHECK_EQ(MPI_T_pvar_read(session, freed, &value), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_pvar_read(session, none, &value), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_pvar_start(session, none), MPI_T_ERR_INVALID_HANDLE);
	CHECK_EQ(MPI_T_pvar_handle_free(session, &none), MPI_T_ERR_INVALID_HANDLE);
	bad_for_level(session);
	OK(MPI_T_pvar_get_num(&num));
	CHECK_EQ(MPI_T_pvar_handle_alloc(session, num, NULL, &handle, &count),
		 MPI_T_ERR_INVALID_INDEX);
	CHECK_EQ(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, posted, NULL, &handle, &count),
		 MPI_T_ERR_INVALID_SESSION);
	CHECK(MPI_T_pvar_get_index("quiver_no_such", MPI_T_PVAR_CLASS_COUNTER, &num) !=
	      MPI_SUCCESS);
	OK(MPI_T_pvar_session_free(&other));
	CHECK_EQ(MPI_T_pvar_session_free(&other), MPI_T_ERR_INVALID_SESSION);
	OK(MPI_T_pvar_session_free(&session));
	CHECK_EQ(MPI_T_pvar_read(session, freed, &value), MPI_T_ERR_INVALID_SESSION);
}
