/* SPDX-License-Identifier: BSD-2-Clause */
/* ways.c - the kernels of match.cl and their launches, for each way. */
#include "internal.h"

/* A work-group on a CPU is one thread, so that a large one only makes its barriers dearer. The
 * sizes are constants: PoCL compiles a kernel anew for each. */
#define CPU_GROUP 16

/* Links that a work-item follows before it gives up: enough for a dozen keys that are alike. */
#define LINKS 256u

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int qv_cl_match_open(struct qv_offload_dev *dev)
{
	const struct {
		const char *name;
		qv_cl_kernel *kernel;
		size_t *group;
	} kernels[] = {
		{"match_small", &dev->small, &dev->small_group},
		{"match_begin", &dev->begin, NULL},
		{"match_propose", &dev->propose, NULL},
		{"match_settle", &dev->settle, NULL},
		{"match_empty", &dev->empty, NULL},
		{"match_index", &dev->index, NULL},
		{"match_find", &dev->find, NULL},
		{"match_bits", &dev->fill_bits, NULL},
		{"match_resolve", &dev->resolve, &dev->resolve_group},
	};
	int err = qv_cl_build(dev, qv_cl_text_match, "-cl-std=CL1.2", &dev->match);

	/* One size for those that any size suits. */
	dev->group = 64;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && !err; i++) {
		size_t most = 0;

		err = qv_cl_kernel_of(dev, dev->match, kernels[i].name, kernels[i].kernel, &most);
		if (err)
			break;
		if (kernels[i].group)
			*kernels[i].group = dev->head.caps.is_cpu ? least(most, CPU_GROUP) : most;
		else
			dev->group = least(dev->group, most);
	}
	return err;
}

void qv_cl_match_close(struct qv_offload_dev *dev)
{
	const qv_cl_kernel kernels[] = {dev->small,  dev->begin,   dev->propose,
					dev->settle, dev->empty,   dev->index,
					dev->find,   dev->resolve, dev->fill_bits};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (kernels[i])
			dev->cl.ReleaseKernel(kernels[i]);
	if (dev->match)
		dev->cl.ReleaseProgram(dev->match);
}

/* The ways. */

static int launch(struct qv_offload_dev *dev, struct qv_cl_slot *s, qv_cl_kernel kernel,
		  const struct qv_cl_arg *args, unsigned args_n, size_t items)
{
	const size_t all[2] = {items, 1};
	const int err = qv_cl_args(dev, kernel, args, args_n);

	return err ? err : qv_cl_launch(dev, s, kernel, all, dev->group);
}

static int go_small(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b)
{
	const struct qv_cl_arg args[] = {
		QV_CL_ARG(s->in.mem),
		QV_CL_ARG(s->out.mem),
		QV_CL_ARG(b->n),
		QV_CL_ARG(b->m),
		QV_CL_ARG(dev->head.nonce),
		QV_CL_LOCAL(b->n * sizeof(uint32_t)),
	};
	const size_t global[2] = {dev->small_group, 1};
	const int err = qv_cl_args(dev, dev->small, args, 6);

	dev->ways.small++;
	return err ? err : qv_cl_launch(dev, s, dev->small, global, dev->small_group);
}

static int begin(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b)
{
	const struct qv_cl_arg args[] = {QV_CL_ARG(s->out.mem), QV_CL_ARG(s->work.mem),
					 QV_CL_ARG(b->n), QV_CL_ARG(b->m),
					 QV_CL_ARG(dev->head.nonce)};

	return launch(dev, s, dev->begin, args, 5, b->n > b->m ? b->n : b->m);
}

static int settle(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b)
{
	const struct qv_cl_arg args[] = {QV_CL_ARG(s->work.mem), QV_CL_ARG(s->out.mem),
					 QV_CL_ARG(b->n), QV_CL_ARG(b->m)};

	return launch(dev, s, dev->settle, args, 4, b->n);
}

static int go_large(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b)
{
	const struct qv_cl_arg propose[] = {QV_CL_ARG(s->in.mem), QV_CL_ARG(s->work.mem),
					    QV_CL_ARG(b->n), QV_CL_ARG(b->m)};
	int err = begin(dev, s, b);

	dev->ways.large++;
	if (!err)
		err = launch(dev, s, dev->propose, propose, 4, b->m);
	return err ? err : settle(dev, s, b);
}

static int go_index(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b)
{
	const uint32_t heads = b->kinds << b->bits, limit = LINKS;
	const struct qv_cl_arg empty[] = {QV_CL_ARG(s->bits.mem), QV_CL_ARG(heads)};
	const struct qv_cl_arg find[] = {
		QV_CL_ARG(s->in.mem),      QV_CL_ARG(s->bits.mem), QV_CL_ARG(dev->secret[0]),
		QV_CL_ARG(dev->secret[1]), QV_CL_ARG(b->n),        QV_CL_ARG(b->m),
		QV_CL_ARG(b->kinds),       QV_CL_ARG(b->posts),    QV_CL_ARG(b->bits),
		QV_CL_ARG(s->work.mem),    QV_CL_ARG(s->out.mem),  QV_CL_ARG(limit),
	};
	int err = begin(dev, s, b);

	dev->ways.index++;
	if (!err)
		err = launch(dev, s, dev->empty, empty, 2, heads);
	if (!err)
		err = launch(dev, s, dev->index, find, 9, b->n);
	if (!err)
		err = launch(dev, s, dev->find, find, 12, b->m);
	return err ? err : settle(dev, s, b);
}

static int go_bits(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b)
{
	const uint32_t words = (b->n + 31) / 32;
	const struct qv_cl_arg fill[] = {QV_CL_ARG(s->in.mem), QV_CL_ARG(s->bits.mem),
					 QV_CL_ARG(b->n), QV_CL_ARG(b->m)};
	const struct qv_cl_arg resolve[] = {
		QV_CL_ARG(s->bits.mem),
		QV_CL_ARG(s->out.mem),
		QV_CL_ARG(b->n),
		QV_CL_ARG(b->m),
		QV_CL_ARG(dev->head.nonce),
		QV_CL_LOCAL(words * sizeof(uint32_t)),
	};
	const size_t all[2] = {b->m, words};
	const size_t one[2] = {dev->resolve_group, 1};
	int err = qv_cl_args(dev, dev->fill_bits, fill, 4);

	dev->ways.bits++;
	if (!err)
		err = qv_cl_launch(dev, s, dev->fill_bits, all, dev->group);
	if (!err)
		err = qv_cl_args(dev, dev->resolve, resolve, 6);
	return err ? err : qv_cl_launch(dev, s, dev->resolve, one, dev->resolve_group);
}

int qv_cl_go(struct qv_offload_dev *dev, struct qv_cl_slot *s, enum qv_opencl_way way,
	     const struct qv_cl_batch *b)
{
	switch (way) {
	case QV_OPENCL_SMALL: return go_small(dev, s, b);
	case QV_OPENCL_BITS: return go_bits(dev, s, b);
	case QV_OPENCL_INDEX: return go_index(dev, s, b);
	default: return go_large(dev, s, b);
	}
}
