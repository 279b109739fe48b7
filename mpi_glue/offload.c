/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offload.c - QUIVER_MPI_OFFLOAD: the arrays of reductions combined by an OpenCL device, if
 * they are long, with the same bits as by the CPU. So ranks need not agree on who does it.
 *
 * One device per process. It is opened by the first array that is long enough, and whoever finds it
 * in use by another thread does not wait for it.
 */
#include "glue.h"

#ifdef QV_MPI_SIMULATED

/* Under a simulator the ranks are threads of one process, and time is not this computer's. */
void qv_mpi_offload_read(struct qv_mpi_offload_told *told)
{
	told->on = 0;
}

void qv_mpi_offload_begin(const struct qv_mpi_offload_told *told)
{
	(void)told;
}

void qv_mpi_offload_combine(const struct qv_mpi_reduce *r, void *dst, const void *a, const void *b,
			    size_t count)
{
	qv_combine_to(qv_mpi.combine, r->op, r->type, dst, a, b, count);
}

bool qv_mpi_offload_wanted(void)
{
	return false;
}

void qv_mpi_offload_report(void)
{
}

void qv_mpi_offload_end(void)
{
}

#else

#include "engine/base/bytes.h"
#include "kernels/offload/offload.h"
#include "kernels/opencl/opencl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES ((size_t)1 << 20)

static struct {
	pthread_mutex_t lock;
	struct qv_offload *offload;
	char device[QV_MPI_DEVICE_ROOM];
	bool wanted;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Settings. */

void qv_mpi_offload_read(struct qv_mpi_offload_told *told)
{
	const char *text = getenv("QUIVER_MPI_OFFLOAD");
	const char *bytes = getenv("QUIVER_MPI_OFFLOAD_MIN_BYTES");
	const char *device = getenv("QUIVER_MPI_OFFLOAD_DEVICE");
	size_t least;
	char why[256];

	told->on = 0;
	told->min_bytes = ULLONG_MAX;
	if (!text || !*text)
		return;
	if (qv_offload_parse(text, &told->on, &told->calibrate, why, sizeof(why)))
		fprintf(stderr, "quiver: QUIVER_MPI_OFFLOAD=%s %s; the CPU combines\n", text, why);
	if (bytes && *bytes && qv_bytes_parse(bytes, &least)) {
		told->min_bytes = least;
	} else if (bytes && *bytes) {
		fprintf(stderr,
			"quiver: QUIVER_MPI_OFFLOAD_MIN_BYTES=%s is not a number of bytes, as in "
			"4096, 64k, 16M or 1G; the CPU combines\n",
			bytes);
		told->on = 0;
	}
	if (device && strlen(device) >= sizeof(told->device)) {
		fprintf(stderr,
			"quiver: QUIVER_MPI_OFFLOAD_DEVICE is longer than %zu characters; the CPU "
			"combines\n",
			sizeof(told->device) - 1);
		told->on = 0;
	} else if (device) {
		strcpy(told->device, device);
	}
}

static void say(void *context, int warn, const char *text)
{
	(void)context;
	if (warn || qv_mpi.stats)
		fprintf(stderr, "quiver: %s\n", text);
}

void qv_mpi_offload_begin(const struct qv_mpi_offload_told *told)
{
	size_t bytes = told->min_bytes == ULLONG_MAX ? DEFAULT_BYTES : (size_t)told->min_bytes;
	struct qv_offload_settings set = {
		.ops = &qv_opencl_ops,
		.config = {.device = shared.device},
		.min_batch = QV_OFFLOAD_NEVER,
		.calibrate = told->calibrate,
		.say = say,
	};

	shared.wanted = told->on;
	if (!told->on)
		return;
	if (told->calibrate && told->min_bytes == ULLONG_MAX)
		bytes = SIZE_MAX;
	memcpy(shared.device, told->device, sizeof(shared.device));
	set.min_bytes = bytes;
	qv_mpi.offload = !qv_offload_create(&set, &shared.offload);
}

/* Work. */

void qv_mpi_offload_combine(const struct qv_mpi_reduce *r, void *dst, const void *a, const void *b,
			    size_t count)
{
	if (pthread_mutex_trylock(&shared.lock)) {
		qv_combine_to(qv_mpi.combine, r->op, r->type, dst, a, b, count);
		return;
	}
	qv_offload_combine(shared.offload, qv_mpi.combine, r->op, r->type, dst, a, b, count);
	pthread_mutex_unlock(&shared.lock);
}

bool qv_mpi_offload_wanted(void)
{
	return shared.wanted;
}

void qv_mpi_offload_report(void)
{
	enum { OPEN, ARRAYS, BYTES, REFUSED, FAILED, FALLBACK, N };
	unsigned long long mine[N], sums[N] = {0};
	struct qv_offload_stats s = {0};
	int rank;

	if (qv_mpi.offload)
		qv_offload_get_stats(shared.offload, &s);
	mine[OPEN] = s.state == QV_OFFLOAD_OPEN;
	mine[ARRAYS] = s.arrays;
	mine[BYTES] = s.bytes;
	mine[REFUSED] = s.refused;
	mine[FAILED] = s.failed;
	mine[FALLBACK] = s.fallback;
	QV_REAL(Reduce)(mine, sums, N, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		fprintf(stderr,
			"quiver: offload to opencl (open on %llu ranks): %llu arrays combined, %llu "
			"bytes, %llu refused, %llu failed, %llu done by the CPU instead\n",
			sums[OPEN], sums[ARRAYS], sums[BYTES], sums[REFUSED], sums[FAILED],
			sums[FALLBACK]);
}

void qv_mpi_offload_end(void)
{
	if (!qv_mpi.offload)
		return;
	qv_mpi.offload = false;
	qv_offload_destroy(shared.offload);
	shared.offload = NULL;
}

#endif
