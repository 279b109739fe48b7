/* SPDX-License-Identifier: BSD-2-Clause */
/* offload.c - `quiver bench offload`: options, rounds, report. */
#include "offload.h"

#include "kernels/opencl/opencl.h"
#include "hls/host/xrt.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 50
#define BLOCK   0.02 /* seconds of one implementation in one round */
#define WARM_UP 16   /* batches that the product matches twice */

struct options {
	struct qv_bench_opts common;
	long rounds, seconds;
	const struct qv_offload_ops *ops;
	const char *device, *library, *bitstream;
};

static void help(void)
{
	printf("usage: quiver bench offload [options]\n\n"
	       "An offload device beside the CPU, in one run, in turn; every answer is compared.\n\n"
	       "  match/<unique|same|wild>/<batch>   Mmsg/s: as many messages as posted receives\n"
	       "  post/<unique|same|wild>/<batch>    Mmsg/s: as many receives as unexpected messages\n"
	       "  combine/<op>/<type>/<bytes>        MB/s of one array\n"
	       "  pack/<piece>/<bytes>               MB/s: pieces with gaps put together\n\n"
	       "impl: cpu             the engine (auto), the kernels of the widest ISA\n"
	       "      opencl, xrt     from queues or arrays in memory to the device and back\n"
	       "      opencl-kernel   what the device says that its kernels took of that\n\n"
	       "%s"
	       "  --kind KIND      opencl, or xrt: an FPGA, which tells no times of kernels (opencl)\n"
	       "  --device TEXT    part of a platform's or device's name, or a number (the first)\n"
	       "  --library FILE   libOpenCL.so.1; of xrt FI_QUIVER_XRT_LIB or libxrt_coreutil.so.2\n"
	       "  --bitstream FILE of xrt (FI_QUIVER_XCLBIN)\n"
	       "  --rounds N       rounds per case (9; quick 5)\n"
	       "  --seconds N      no second round of a case after so many seconds (600; quick 14)\n"
	       "  --help           this text\n",
	       qv_bench_opts_help);
}

static int take_kind(void *ctx, const char *kind)
{
	static const struct qv_offload_ops *const all[] = {&qv_opencl_ops, &qv_xrt_ops};
	struct options *o = ctx;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(kind, all[i]->name)) {
			o->ops = all[i];
			return 0;
		}
	fprintf(stderr, "quiver: --kind is opencl or xrt\n");
	return -1;
}

/* What is measured with. */

static int open_device(struct qv_bo *bo, const struct options *o, struct qv_bench *bench)
{
	struct qv_offload_settings set = {
		.ops = bo->ops,
		.config = {.device = o->device,
			   .library = o->library,
			   .bitstream = o->bitstream,
			   .timeout_ms = 60000},
		.min_batch = 1,
		.min_bytes = 1,
		.check_every = UINT32_MAX,
	};
	struct qv_offload_config timed = set.config;
	char why[512] = "";

	timed.profile = 1;
	if (bo->ops->open(&timed, &bo->dev, why, sizeof(why)) ||
	    qv_offload_create(&set, &bo->offload) || qv_offload_open(bo->offload)) {
		fprintf(stderr, "quiver: no device to measure: %s\n", why);
		return -1;
	}
	qv_bench_fact_add(bench, "device", "%s", bo->ops->caps(bo->dev)->name);
	qv_bench_fact_add(bench, "driver", "%s", bo->ops->caps(bo->dev)->version);
	return 0;
}

/* Each name of --impl is one of these. */
static bool all_known(const struct qv_bo *bo, const char *list)
{
	size_t n;

	for (; list && *list; list += n + (list[n] == ',')) {
		bool known = false;

		n = strcspn(list, ",");
		for (int i = 0; i < QV_BO_IMPLS; i++)
			known |= bo->impl[i] && strlen(bo->names[i]) == n &&
				 !strncmp(bo->names[i], list, n);
		if (known)
			continue;
		fprintf(stderr, "quiver: implementation '%.*s' cannot run here\n", (int)n, list);
		return false;
	}
	return true;
}

static int open_all(struct qv_bo *bo, const struct options *o, const struct qv_bo_case *cases,
		    size_t n, struct qv_bench *bench)
{
	const bool times = o->ops == &qv_opencl_ops;
	const char *const names[QV_BO_IMPLS] = {"cpu", o->ops->name, "opencl-kernel"};

	for (int i = 0; i < QV_BO_IMPLS; i++) {
		bo->names[i] = names[i];
		bo->impl[i] =
			(i != QV_BO_KERNEL || times) && qv_bench_impl_wanted(&o->common, names[i]);
	}
	if (!bo->impl[QV_BO_CPU] && !bo->impl[QV_BO_WHOLE] && !bo->impl[QV_BO_KERNEL]) {
		fprintf(stderr, "quiver: none of --impl %s is an implementation here\n",
			o->common.impls);
		return -1;
	}
	if (!all_known(bo, o->common.impls))
		return -1;
	bo->array_bytes = 4096;
	for (size_t i = 0; i < n; i++)
		if (!cases[i].match && cases[i].size << (cases[i].piece > 0) > bo->array_bytes)
			bo->array_bytes = cases[i].size << (cases[i].piece > 0);
	for (int i = 0; i < 4; i++) {
		bo->arrays[i] = aligned_alloc(4096, bo->array_bytes);
		if (!bo->arrays[i]) {
			fprintf(stderr, "quiver: no memory for arrays of %zu bytes\n",
				bo->array_bytes);
			return -1;
		}
		memset(bo->arrays[i], 0, bo->array_bytes);
	}
	qv_combine_open(QV_ISA_AUTO, &bo->cpu);
	return qv_bo_nodes_open(bo) ? -1 : open_device(bo, o, bench);
}

static void close_all(struct qv_bo *bo)
{
	qv_offload_destroy(bo->offload);
	if (bo->dev)
		bo->ops->close(bo->dev);
	for (int i = 0; i < 4; i++)
		free(bo->arrays[i]);
	free(bo->pieces);
	qv_bo_nodes_close(bo);
}

/* Rounds. */

static double once(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		   bool *right)
{
	return what->match   ? qv_bo_match(bo, what, impl, right)
	       : what->piece ? qv_bo_pack(bo, what, impl, right)
			     : qv_bo_combine(bo, what, impl, right);
}

/* Million messages or million bytes a second. */
static float rate(const struct qv_bo_case *what, double seconds)
{
	return (float)(1e-6 * (double)what->size / seconds);
}

static void take_round(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		       struct qv_bench_row *row)
{
	float samples[SAMPLES];
	const double start = qv_bench_seconds();
	bool right = true;
	size_t n = 0;

	while (n < SAMPLES && (!n || qv_bench_seconds() - start < BLOCK)) {
		const double seconds = once(bo, what, impl, &right);

		if (!right || !(seconds > 0)) {
			snprintf(row->answer, sizeof(row->answer), "%s",
				 seconds > 0 ? "wrong result" : "the device failed");
			row->n = row->rounds = 0;
			return;
		}
		samples[n++] = rate(what, seconds);
	}
	qv_bench_row_round(row, samples, n);
	snprintf(row->answer, sizeof(row->answer), "checked");
}

static void fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed)
{
	if (what->match)
		qv_bo_match_fill(bo, what, seed);
	else if (what->piece)
		qv_bo_pack_fill(bo, what, seed);
	else
		qv_bo_combine_fill(bo, what, seed);
}

static void measure(struct qv_bo *bo, const struct qv_bo_case *what, const struct options *o,
		    double end, struct qv_bench *bench)
{
	size_t rows[QV_BO_IMPLS];
	const bool there = qv_bo_case_done_there(bo, what);
	bool right;

	fill(bo, what, 1);
	for (int i = 0; i < QV_BO_IMPLS; i++) {
		rows[i] = bench->rows_n;
		if (!bo->impl[i])
			continue;
		qv_bench_row_add(bench, what->name, bo->names[i], what->match ? "Mmsg/s" : "MB/s",
				 true);
		if (i != QV_BO_CPU && !there)
			snprintf(bench->rows[rows[i]].answer, QV_BENCH_NAME, "not done there");
		else
			once(bo, what, i, &right);
	}
	for (long r = 0; r < o->rounds && (!r || qv_bench_seconds() < end); r++) {
		qv_bench_progress("%s round %ld", what->name, r);
		fill(bo, what, (uint64_t)r + 2);
		for (int i = 0; i < QV_BO_IMPLS; i++) {
			const int k = (int)((i + r) % QV_BO_IMPLS);

			if (bo->impl[k] && (k == QV_BO_CPU || there))
				take_round(bo, what, k, &bench->rows[rows[k]]);
		}
	}
	for (int i = QV_BO_WHOLE; i < QV_BO_IMPLS && bo->impl[QV_BO_CPU]; i++) {
		const struct qv_bench_row *of = &bench->rows[rows[QV_BO_CPU]];
		const struct qv_bench_row *row = &bench->rows[rows[i]];
		const size_t n = of->rounds < row->rounds ? of->rounds : row->rounds;

		if (bo->impl[i] && n)
			qv_bench_ratio_add(bench, rows[i], "cpu",
					   qv_bench_ratio(row->medians, of->medians, n));
	}
}

static int run(const struct options *o, const struct qv_bo_case *cases, size_t n)
{
	struct qv_bench bench = {.name = "offload"};
	struct qv_bo bo = {.ops = o->ops};
	const double start = qv_bench_seconds();
	const struct qv_bo_case warm = {.match = true, .size = 64};
	int status = 1;
	bool right;

	qv_bench_machine(&bench, &o->common);
	if (open_all(&bo, o, cases, n, &bench) == 0) {
		qv_bench_machine_print(&bench, stdout);
		qv_bo_match_fill(&bo, &warm, 1);
		for (int i = 0; i < WARM_UP; i++)
			qv_bo_match(&bo, &warm, QV_BO_WHOLE, &right);
		for (size_t i = 0; i < n; i++) {
			const double left = start + (double)o->seconds - qv_bench_seconds();

			measure(&bo, &cases[i], o, qv_bench_seconds() + left / (double)(n - i),
				&bench);
		}
		qv_bench_progress(NULL);
		qv_bench_finish(&bench);
		qv_bench_print(&bench, stdout);
		status = qv_bench_save(&bench, &o->common);
	}
	close_all(&bo);
	qv_bench_free(&bench);
	return status;
}

int qv_bench_offload(int argc, char **argv)
{
	struct options o = {.ops = &qv_opencl_ops};
	const struct qv_bench_option own[] = {
		{"rounds", .number = &o.rounds, .low = 1, .high = 1000},
		{"seconds", .number = &o.seconds, .low = 1, .high = 100000},
		{"device", .text = &o.device},
		{"library", .text = &o.library},
		{"bitstream", .text = &o.bitstream},
		{"kind", .take = take_kind, .ctx = &o},
		{.name = NULL},
	};
	struct qv_bo_case *cases = NULL;
	int status = 2, rc = qv_bench_parse(&o.common, "offload", argc, argv, own);
	size_t n;

	if (rc == 1)
		help();
	if (rc)
		return rc < 0 ? 2 : 0;
	if (o.ops == &qv_xrt_ops) {
		o.library = o.library ? o.library : getenv("FI_QUIVER_XRT_LIB");
		o.bitstream = o.bitstream ? o.bitstream : getenv("FI_QUIVER_XCLBIN");
	}
	o.rounds = o.rounds ? o.rounds : o.common.quick ? 5 : 9;
	o.seconds = o.seconds ? o.seconds : o.common.quick ? 14 : 600;
	n = qv_bo_case_list(&o.common, &cases);
	if (n)
		status = run(&o, cases, n);
	else
		fprintf(stderr, "quiver: no case matches --filter %s\n", o.common.filter);
	free(cases);
	qv_bench_opts_close(&o.common);
	return status;
}
