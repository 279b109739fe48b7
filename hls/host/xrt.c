/* SPDX-License-Identifier: BSD-2-Clause */
/* xrt.c - the XRT backend: opening, closing, and its table of calls. */
#include "internal.h"
#include "kernels/backend/config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finding. */

/* FI_QUIVER_OFFLOAD_DEVICE is the number of a card here: XRT's C interface has no names. */
static int card_number(const char *text, unsigned *number, char *why, size_t room)
{
	char *end = NULL;

	*number = 0;
	if (!text || !*text)
		return QV_OK;
	if (*text >= '0' && *text <= '9')
		*number = (unsigned)strtoul(text, &end, 10);
	if (end && !*end)
		return QV_OK;
	snprintf(why, room, "'%s' is not the number of a card, from 0", text);
	return QV_ENOENT;
}

/* A library that stands in for XRT's says so, and is never taken for a card. */
static void describe(struct qv_offload_caps *caps, const struct qv_xrt_api *xrt,
		     const char *bitstream, unsigned card)
{
	const char *slash = strrchr(bitstream, '/'), *name = slash ? slash + 1 : bitstream;
	const char *stand_in = dlsym(xrt->library, "qv_xrt_stand_in");

	memset(caps, 0, sizeof(*caps));
	if (stand_in)
		snprintf(caps->name, sizeof(caps->name), "%.60s, with %.50s", stand_in, name);
	else
		snprintf(caps->name, sizeof(caps->name), "XRT: card %u with %.80s", card, name);
	caps->is_cpu = stand_in != NULL;
	caps->max_keys = QV_XRT_MAX_KEYS;
	caps->max_bytes = PTRDIFF_MAX;
}

/* The library, the bitstream looked at, the card open. */
static int find(const struct qv_offload_config *config, struct qv_xrt_api *xrt, void **device,
		struct qv_offload_caps *caps, char *why, size_t room)
{
	unsigned card;

	if (card_number(config->device, &card, why, room) ||
	    qv_xrt_check_xclbin(config->bitstream, why, room) ||
	    qv_xrt_load(xrt, config->library, why, room))
		return QV_ENOENT;
	*device = xrt->DeviceOpen(card);
	if (!*device) {
		snprintf(why, room, "XRT has no card %u", card);
		return QV_ENOENT;
	}
	describe(caps, xrt, config->bitstream, card);
	return QV_OK;
}

static int xrt_probe(const struct qv_offload_config *config, struct qv_offload_caps *caps,
		     char *why, size_t room)
{
	struct qv_offload_config c;
	struct qv_xrt_api xrt;
	void *device;
	int err = qv_config_read(config, &c, why, room);

	if (err)
		return err;
	err = find(&c, &xrt, &device, caps, why, room);
	if (!err)
		xrt.DeviceClose(device);
	return err;
}

/* Opening. */

static int open_kernels(struct qv_offload_dev *dev, const char *bitstream)
{
	unsigned char uuid[16];
	int err;

	if (dev->xrt.DeviceLoadXclbinFile(dev->device, bitstream) ||
	    dev->xrt.DeviceGetXclbinUUID(dev->device, uuid))
		return qv_backend_wrong(dev, QV_EIO, "the card does not take %s", bitstream);
	dev->match = dev->xrt.PLKernelOpen(dev->device, uuid, QV_HLS_MATCH);
	dev->combine = dev->xrt.PLKernelOpen(dev->device, uuid, QV_HLS_COMBINE);
	if (!dev->match || !dev->combine)
		return qv_backend_wrong(dev, QV_EIO, "%s: a kernel cannot be opened", bitstream);
	err = qv_xrt_slot_open(dev, &dev->batch, dev->match);
	for (int i = 0; i < QV_XRT_SLOTS && !err; i++)
		err = qv_xrt_slot_open(dev, &dev->slot[i], dev->combine);
	return err;
}

static void xrt_close(struct qv_offload_dev *dev)
{
	if (!dev)
		return;
	if (dev->head.lost) /* what the card may still write to is left to it */
		return;
	qv_xrt_slot_close(dev, &dev->batch);
	for (int i = 0; i < QV_XRT_SLOTS; i++)
		qv_xrt_slot_close(dev, &dev->slot[i]);
	if (dev->match)
		dev->xrt.KernelClose(dev->match);
	if (dev->combine)
		dev->xrt.KernelClose(dev->combine);
	if (dev->device)
		dev->xrt.DeviceClose(dev->device);
	free(dev->next);
	free(dev);
}

static int start(struct qv_offload_dev *dev, const struct qv_offload_config *config)
{
	struct qv_offload_caps *caps = &dev->head.caps;
	int err = find(config, &dev->xrt, &dev->device, caps, dev->head.why, sizeof(dev->head.why));

	if (!err)
		err = open_kernels(dev, config->bitstream);
	if (!err)
		err = qv_xrt_selftest(dev);
	if (!err)
		snprintf(caps->version, sizeof(caps->version), "kernels %#x, %u entries%s%s",
			 QV_HLS_VERSION, dev->depth, dev->float_ok ? "" : ", no float sums",
			 dev->double_ok ? "" : ", no double sums");
	return err;
}

static int drop(struct qv_offload_dev *dev, unsigned slot)
{
	return qv_xrt_wait(dev, &dev->slot[slot]);
}

/* XRT tells no times through this interface: kernel_ns stays 0. */
static const struct qv_backend backend = {
	.bytes = sizeof(struct qv_offload_dev),
	.noun = "card",
	.ops = &qv_xrt_ops,
	.start = start,
	.prepare = qv_xrt_combine_prepare,
	.begin = qv_xrt_combine_begin,
	.end = qv_xrt_combine_end,
	.drop = drop,
};

static int xrt_open(const struct qv_offload_config *config, struct qv_offload_dev **dev, char *why,
		    size_t room)
{
	return qv_backend_open(&backend, config, dev, why, room);
}

/* There is no kernel for it: on a card behind a bus, a copy there and back gains nothing. */
static int xrt_pack(struct qv_offload_dev *dev, void *dst, const void *src,
		    const struct qv_offload_piece *pieces, size_t n)
{
	(void)dst;
	(void)src;
	(void)pieces;
	(void)n;
	return qv_backend_wrong(dev, QV_ENOSYS, "not done on this card");
}

const struct qv_offload_ops qv_xrt_ops = {
	.name = "xrt",
	.probe = xrt_probe,
	.open = xrt_open,
	.close = xrt_close,
	.caps = qv_backend_caps,
	.why = qv_backend_why,
	.kernel_ns = qv_backend_kernel_ns,
	.match_batch = qv_xrt_match_batch,
	.combines = qv_xrt_combines,
	.combine = qv_backend_combine,
	.combine_many = qv_backend_combine_many,
	.pack = xrt_pack,
	.unpack = xrt_pack,
};
