/* SPDX-License-Identifier: BSD-2-Clause */
/* init.c - MPI_Init: the settings of rank 0 are those of all ranks. */
#include "glue.h"
#include "launcher.h"
#include "mpi_glue/trace/trace.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#ifndef QV_MPI_SIMULATED
#include <dlfcn.h>

struct qv_mpi_real qv_mpi_real;

/* The library is in front of the MPI's, so what it hides is the next of the same name. */
__attribute__((constructor)) static void look_up(void)
{
#define FIND(name, of) \
	qv_mpi_real.name = (__typeof__(qv_mpi_real.name))dlsym(RTLD_NEXT, QV_MPI_TEXT(of))
#define QV_MPI_CALL(name) FIND(name, PMPI_##name)
#define QV_MPI_CALL_EXT(name)              \
	FIND(name, QV_MPI_PPERSIST(name)); \
	if (!qv_mpi_real.name)             \
	FIND(name, QV_MPI_POTHER(name))
#include "mpi_glue/calls/calls.h"
#undef FIND
}
#endif

struct qv_mpi qv_mpi = {
	.keyval = MPI_KEYVAL_INVALID, .lock = PTHREAD_MUTEX_INITIALIZER, .own = MPI_COMM_NULL};

#define MOST_TAGS (1 << 18) /* that one operation can need */

/* What rank 0 tells the others. */
struct told {
	int off, stats;
	char coll[QV_MPI_TEXT_ROOM], trace[QV_MPI_TEXT_ROOM];
	struct qv_mpi_offload_told offload;
};

static bool is_setting(const char *name, size_t len)
{
	static const char *const settings[] = {
		"COLL", "STATS", "OFF", "TRACE", "OFFLOAD", "OFFLOAD_MIN_BYTES", "OFFLOAD_DEVICE"};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (strlen(settings[i]) == len && !memcmp(settings[i], name, len))
			return true;
	return false;
}

bool qv_mpi_is_set(const char *name)
{
	static const char *const no[] = {"", "0", "no", "off", "false"};
	const char *text = getenv(name);

	for (size_t i = 0; text && i < sizeof(no) / sizeof(no[0]); i++)
		if (!strcasecmp(text, no[i]))
			return false;
	return text != NULL;
}

/* A misspelt name does nothing at all, silently: say so. */
static void check_names(void)
{
	static const char prefix[] = "QUIVER_MPI_";

	for (char **var = environ; *var; var++) {
		const char *name = *var + sizeof(prefix) - 1;

		if (!strncmp(*var, prefix, sizeof(prefix) - 1) &&
		    !is_setting(name, strcspn(name, "=")))
			fprintf(stderr, "quiver: %.*s is not a setting of this version, ignored\n",
				(int)strcspn(*var, "="), *var);
	}
}

static void read_environment(struct told *told)
{
	const char *coll = getenv("QUIVER_MPI_COLL");
	const char *trace = getenv("QUIVER_MPI_TRACE");

	check_names();
	told->off = qv_mpi_is_set("QUIVER_MPI_OFF");
	qv_mpi_offload_read(&told->offload);
	told->stats = qv_mpi_is_set("QUIVER_MPI_STATS");
	if (trace && strlen(trace) >= QV_MPI_TEXT_ROOM)
		fprintf(stderr,
			"quiver: QUIVER_MPI_TRACE is longer than %d characters; no trace is "
			"written\n",
			QV_MPI_TEXT_ROOM - 1);
	else if (trace)
		strcpy(told->trace, trace);
	if (coll && strlen(coll) >= QV_MPI_TEXT_ROOM) {
		fprintf(stderr,
			"quiver: QUIVER_MPI_COLL is longer than %d characters; all goes to "
			"the MPI\n",
			QV_MPI_TEXT_ROOM - 1);
		told->off = 1;
	} else if (coll) {
		strcpy(told->coll, coll);
	}
}

#ifdef QV_MPI_SIMULATED
static bool knows_handles(void)
{
	return true;
}

static bool is_crowded(MPI_Comm node)
{
	return false; /* each rank has a host of its own, whatever this one has */
}
#else
#ifdef OPEN_MPI
#define MINE  "Open MPI"
#define OTHER "libquiver-mpi-mpich.so"
#define ENDS  false
#else
#define MINE  "MPICH, or of one with its ABI"
#define OTHER "libquiver-mpi-ompi.so"
#define ENDS  true
#endif

#define VERSION_ROOM 8192 /* MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the longest */

/* Handles of Open MPI are pointers, of MPICH and its kin numbers: the program's MPI must be the one
 * that this library was built for. Numbers go through as they are; pointers do not go through
 * arguments that are numbers, and the program ends. */
static bool is_right(char *version)
{
	int (*ask)(char *, int *);
	bool ompi;
	int len;

	ask = (int (*)(char *, int *))dlsym(RTLD_NEXT, "PMPI_Get_library_version");
	if (!ask || ask(version, &len))
		return true;
	ompi = !strncmp(version, "Open MPI", 8);
	return ompi == !strncmp(MINE, "Open MPI", 8);
}

bool qv_mpi_is_of_this_mpi(void)
{
	char version[VERSION_ROOM];

	return is_right(version);
}

static bool knows_handles(void)
{
	char version[VERSION_ROOM];

	if (is_right(version))
		return true;
	if (qv_mpi_speaks_for_all())
		fprintf(stderr,
			"quiver: this libquiver-mpi is of " MINE ", and the program's MPI is "
			"%.*s: take " OTHER "; %s\n",
			(int)strcspn(version, ",\n"), version,
			ENDS ? "the program ends" : "all goes to the MPI");
	if (ENDS)
		_exit(1);
	return false;
}

#define MOST_CPUS 8192

/* Whether the ranks of a node must share cores; these need not agree. Launchers bind ranks to cores, mostly
 * each to others, so what counts is how many all of them may use. */
static bool is_crowded(MPI_Comm node)
{
	unsigned long mine[MOST_CPUS / (8 * sizeof(long))] = {0};
	unsigned long all[sizeof(mine) / sizeof(mine[0])] = {0};
	const int words = sizeof(mine) / sizeof(mine[0]);
	int ranks = 1, cores = 0;

	PMPI_Comm_size(node, &ranks);
	(void)sched_getaffinity(0, sizeof(mine), (cpu_set_t *)mine);
	QV_REAL(Allreduce)(mine, all, words, MPI_UNSIGNED_LONG, MPI_BOR, node);
	for (int i = 0; i < words; i++)
		cores += __builtin_popcountl(all[i]);
	return ranks > cores;
}
#endif

static void look_at_node(void)
{
	int lowest;
	MPI_Comm node;

	PMPI_Comm_rank(MPI_COMM_WORLD, &lowest);
	qv_mpi.crowded = true;
	if (!QV_REAL(Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, lowest, MPI_INFO_NULL,
				      &node)) {
		QV_REAL(Bcast)(&lowest, 1, MPI_INT, 0, node);
		qv_mpi.crowded = is_crowded(node);
		PMPI_Comm_free(&node);
	}
	qv_mpi.node = (uint32_t)lowest;
}

/* Half of the tags, or less, are for operations under way; the rest for persistent ones. All ranks
 * take the least that any rank has, for what decides who runs a call must be the same on all. So must the
 * threads: a program may ask for several on some ranks only. */
static void share_limits(void)
{
	int *last = NULL, found = 0, level = MPI_THREAD_MULTIPLE, mine[3], least[3];

	PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &last, &found);
	mine[0] = found ? *last : 32767;
	mine[1] = qv_mpi_nonblocking_possible();
	PMPI_Query_thread(&level);
	mine[2] = qv_mpi.one_thread = level < MPI_THREAD_MULTIPLE;
	QV_REAL(Allreduce)(mine, least, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	qv_mpi.slot = least[0] / (2 * QV_MPI_SLOTS);
	if (qv_mpi.slot > MOST_TAGS)
		qv_mpi.slot = MOST_TAGS;
	qv_mpi.persistent = least[0] / qv_mpi.slot - QV_MPI_SLOTS;
	qv_mpi.plan_tag = least[0]; /* behind all of them */
	qv_mpi.hook_here = least[1];
	qv_mpi.one_thread_each = least[2];
}

/* Nonblocking calls on MPI_COMM_WORLD, persistent ones, and those of several threads can be ours from the
 * beginning. */
static void open_comms(void)
{
	struct qv_mpi_comm *c = qv_mpi_comm_of(MPI_COMM_WORLD);

	qv_mpi_comm_twin(MPI_COMM_WORLD, &qv_mpi.own);
	if (c->ranks > 1 && (qv_mpi.hook_here || !qv_mpi.one_thread_each))
		(void)qv_mpi_comm_open_early(c);
	if (qv_mpi.hook_here)
		qv_mpi_persist_open();
}

/* Whether the rules choose anything by the figures of bursts. */
static bool needs_bursts(const struct qv_mpi_rules *rules)
{
	bool any = false;

	for (int coll = QV_COLL_GATHER; coll <= QV_COLL_ALLTOALL; coll++)
		any |= rules->automatic[coll];
	for (int name = QV_MPI_ALLGATHERV; name < QV_MPI_N_NAMES; name++)
		any |= rules->rule[name].by == QV_MPI_BY_AUTO;
	return any;
}

/* What each rank opens for itself: on all of them, or all goes to the MPI. */
static bool open_rules(const char *coll, int rank)
{
	char why[512];
	const int rc = qv_mpi_rules_open(coll, &qv_mpi.rules, why, sizeof(why));
	const bool mine = !rc && !qv_combine_open(QV_ISA_AUTO, &qv_mpi.combine) &&
			  qv_mpi_comm_of(MPI_COMM_WORLD);

	if (qv_mpi_agree(MPI_COMM_WORLD, mine))
		return true;
	if (!mine && (!rc || rc == QV_ENOMEM))
		fprintf(stderr, "quiver: no memory for libquiver-mpi; all goes to the MPI\n");
	else if (!mine && !rank)
		fprintf(stderr, "quiver: QUIVER_MPI_COLL: %s; all goes to the MPI\n", why);
	qv_mpi_comm_close_all();
	qv_mpi_rules_put(qv_mpi.rules);
	qv_mpi.rules = NULL;
	return false;
}

/* All ranks do the same from here on, whatever their environments say. */
static void begin(void)
{
	struct told told = {0};
	int rank;

	if (!knows_handles())
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		read_environment(&told);
	QV_REAL(Bcast)(&told, (int)sizeof(told), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (told.off)
		return;
	qv_mpi_end_last();
	qv_mpi_trace_begin(told.trace);
	if (!open_rules(told.coll, rank))
		return;
	memcpy(qv_mpi.text, told.coll, sizeof(qv_mpi.text));
	qv_mpi.stats = told.stats;
	qv_mpi_offload_begin(&told.offload);
	look_at_node();
	share_limits();
	if (*qv_mpi.text)
		qv_mpi_measure(needs_bursts(qv_mpi.rules));
	open_comms();
	__atomic_store_n(&qv_mpi.on, true, __ATOMIC_RELEASE); /* tools look from other threads */
}

QV_API int MPI_Init(int *argc, char ***argv)
{
	int rc = QV_REAL(Init)(argc, argv);

	if (!rc)
		begin();
	return rc;
}
QV_MPI_BOTH(Init)

QV_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc = QV_REAL(Init_thread)(argc, argv, required, provided);

	if (!rc)
		begin();
	return rc;
}
QV_MPI_BOTH(Init_thread)
