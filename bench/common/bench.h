/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what every bench shares: options, timer, statistics, rows, table, JSON and plot.
 *
 * A bench collects samples per row (case x impl) in rounds, all implementations of a case in turn.
 * Two rows of one case are compared round by round, by the medians of each.
 */
#ifndef QV_BENCH_H
#define QV_BENCH_H

#include "engine/base/clock.h"
#include "engine/base/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define QV_BENCH_NAME 64

/* opts.c: the options of every bench. */

struct qv_bench_opts {
	bool quick;         /* the whole bench in 20 s or less */
	const char *filter; /* globs of case names, comma between; NULL = all */
	const char *impls;  /* list of impl names, comma between; NULL = all */
	const char *plot;   /* SVG file or NULL */
	const char *json;   /* JSON file or NULL */
	FILE *json_file;    /* opened before anything is measured */
	char **argv;        /* the command line, argv[0] is the bench */
	int argc;
};

/* An option of one bench: where its value goes. One of flag, text, number and take is set. */
struct qv_bench_option {
	const char *name;  /* without dashes; NULL ends a table */
	bool *flag;        /* becomes true; the option has no value */
	const char **text; /* the value, in argv */
	long *number;      /* from low to high, a multiple of step (0: any) */
	long low, high, step;
	int (*take)(void *ctx, const char *value); /* 0, or -1 after a line on stderr */
	void *ctx;
};

/*
 * Take all of argv[1 ..], by getopt_long(3). bench: its name ("match"), for the line about a wrong
 * option; own: its options beside those of every bench, or NULL. 0: go on, and call
 * qv_bench_opts_close in the end; 1: --help was asked for, nothing is open; -1: wrong (reported on
 * stderr), nothing is open.
 */
int qv_bench_parse(struct qv_bench_opts *opts, const char *bench, int argc, char **argv,
		   const struct qv_bench_option *own);
void qv_bench_opts_close(struct qv_bench_opts *opts);

/*
 * The same for other commands of the program.
 *   command  as it is called: "trace replay"
 *   all      their options, ended by a name that is NULL
 *   files    out: index in argv of the first argument that is no option, those are moved behind the
 *            options; NULL: there must be none
 */
int qv_bench_options(const char *command, int argc, char **argv, const struct qv_bench_option *all,
		     int *files);

/* What takes --json FILE: ctx is a struct qv_bench_opts. */
int qv_bench_take_json(void *ctx, const char *file);

/* The lines of --help for the options above. */
extern const char qv_bench_opts_help[];

/* A file in memory, which goes with the program however that ends: its path for this process, in
 * path[size]. Returns its descriptor, or -1 (errno says why). */
int qv_bench_memory_file(char *path, size_t size);

bool qv_bench_case_wanted(const struct qv_bench_opts *opts, const char *name);
bool qv_bench_impl_wanted(const struct qv_bench_opts *opts, const char *impl);

/* where.c: files that belong to this program. */

/* The file of that name, in a build or an installation: its path without links, in path[size]. */
bool qv_bench_find(const char *file, char *path, size_t size);

/* Sets FI_PROVIDER_PATH to where the provider is, unless it is set. */
void qv_bench_provider_path(void);

/* stat.c: timer and statistics. */

/* Nanoseconds per tick of qv_ticks, measured against the monotonic clock at the first call (20 ms). */
double qv_bench_tick_ns(void);

/* Seconds of the monotonic clock. */
double qv_bench_seconds(void);

/* The value at fraction p (0 to 1) of the sorted samples; they are sorted by this call. */
double qv_bench_percentile(float *samples, size_t n, double p);
double qv_bench_median(const double *values, size_t n);

struct qv_bench_interval {
	double value, low, high;
};

/*
 * Median over the rounds of a[r] / b[r], with its 95 % bootstrap interval. A virtual machine's CPUs
 * move between cores that are near or far from each other, which changes both sides of the rounds
 * after it alike: each round is compared with itself only. One round has no interval: its ends are
 * NaN.
 */
struct qv_bench_interval qv_bench_ratio(const double *a, const double *b, size_t rounds);
/* "1.020 [0.990, 1.051]", in text[size]. */
void qv_bench_interval_text(struct qv_bench_interval interval, char *text, size_t size);

/* report.c: rows and what is said about them. */

struct qv_bench_row {
	char name[QV_BENCH_NAME];       /* the case */
	char impl[QV_BENCH_NAME];       /* the implementation */
	char unit[16];                  /* ns/op, us, MB/s, Mmsg/s, count, bytes */
	char answer[2 * QV_BENCH_NAME]; /* "checked", or why there are no figures */
	bool more_is_better;            /* then the 99th percentile is the slow end, the 1st */
	float *samples;
	size_t n, room;
	double *medians; /* of each round */
	double *means;   /* of each round, where the bench measures them apart; else NULL */
	size_t rounds;
	double p50, p99, mean; /* filled by qv_bench_finish */
	double low, high;      /* 95 % interval of the mean, where a bench knows one; else 0 */
};

/* One comparison of a row: with the row of another implementation, or with another state of its
 * own. */
struct qv_bench_ratio_line {
	size_t row;
	char of[QV_BENCH_NAME];
	struct qv_bench_interval ratio;
};

/* A figure that sums up many rows. */
struct qv_bench_verdict {
	char key[QV_BENCH_NAME];
	double value;
};

struct qv_bench_fact {
	char key[32];
	char value[256];
};

struct qv_bench {
	const char *program; /* NULL: "quiver bench" */
	const char *name;
	struct qv_bench_fact facts[32]; /* the machine */
	size_t facts_n;
	struct qv_bench_row *rows;
	size_t rows_n, rows_room;
	struct qv_bench_ratio_line *ratios;
	size_t ratios_n, ratios_room;
	struct qv_bench_verdict *verdict;
	size_t verdict_n, verdict_room;
};

/* A new row; the pointer holds until the next one is added. Ends the program without memory. */
struct qv_bench_row *qv_bench_row_add(struct qv_bench *bench, const char *name, const char *impl,
				      const char *unit, bool more_is_better);
/* The samples of one round. */
void qv_bench_row_round(struct qv_bench_row *row, const float *samples, size_t n);
/* The mean of the round just given, which is of more than its samples: the row's mean is then the
 * median of these. For every round or for none. */
void qv_bench_row_mean(struct qv_bench_row *row, double mean);
void qv_bench_ratio_add(struct qv_bench *bench, size_t row, const char *of,
			struct qv_bench_interval ratio);
void qv_bench_verdict_add(struct qv_bench *bench, const char *key, double value);
/* Percentiles of every row. */
void qv_bench_finish(struct qv_bench *bench);
void qv_bench_print(const struct qv_bench *bench, FILE *out);
int qv_bench_write_json(const struct qv_bench *bench, FILE *out);
/*
 * Write what --json and --plot ask for. Returns the exit status of the bench: 1 if a file cannot be
 * written (after a line on stderr) or an answer begins with "wrong". An implementation that hangs
 * or is too slow is a figure of the bench and no failure.
 */
int qv_bench_save(const struct qv_bench *bench, const struct qv_bench_opts *opts);
void qv_bench_free(struct qv_bench *bench);

/* A line that overwrites itself on stderr while that is a terminal; NULL clears it. */
void qv_bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From machine.c. */

void qv_bench_fact_add(struct qv_bench *bench, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* CPU, cores, load, compiler and commit; with opts also the date and the command line. */
void qv_bench_machine(struct qv_bench *bench, const struct qv_bench_opts *opts);
/* To out; a line on stderr if other programs keep the machine busy. */
void qv_bench_machine_print(const struct qv_bench *bench, FILE *out);

/* From distance.c. */

/* This thread to the rank-th processor that it may use. False: there is no such, or only one. */
bool qv_bench_pin(int rank);
/* Half the round trip of a flag between the first two processors; negative: there is only one. */
double qv_bench_distance_ns(void);
/* "45 ns, near" */
void qv_bench_distance_text(double ns, char *text, size_t size);
/* `quiver bench distance`: argv[0] is "distance". Exit status of the program. */
int qv_bench_distance(int argc, char **argv);

/* From plot.c. */

/* An SVG: a panel for cases that differ in their last number, a line for each impl over that
 * number. 0, or -1 after a line on stderr. */
int qv_bench_plot(const struct qv_bench *bench, const char *file);

#endif /* QV_BENCH_H */
