/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find.c - which device: those that can be used, GPUs first, CPUs last, and the one of them that was
 * asked for.
 *
 * Xilinx's platform is passed over: XRT crashes when a process uses it through OpenCL and directly
 * (Xilinx/XRT issue 7226); its cards are served by the backend "xrt".
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PLATFORMS 16
#define DEVICES   128 /* a GPU may be cut into many */

struct candidate {
	qv_cl_device id;
	struct qv_offload_caps caps;
};

struct candidates {
	const struct qv_cl_api *cl;
	struct candidate list[DEVICES];
	unsigned n, unusable;
};

uint64_t qv_cl_number(const struct qv_cl_api *cl, qv_cl_device d, uint32_t what)
{
	uint64_t value = 0; /* little-endian: also where the answer is shorter */

	cl->GetDeviceInfo(d, what, sizeof(value), &value, NULL);
	return value;
}

static bool usable(const struct qv_cl_api *cl, qv_cl_device d)
{
	char version[128] = "";
	int major = 0, minor = 0;

	cl->GetDeviceInfo(d, QV_CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL);
	if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
		return false;
	return qv_cl_number(cl, d, QV_CL_DEVICE_AVAILABLE) &&
	       qv_cl_number(cl, d, QV_CL_DEVICE_COMPILER_AVAILABLE) &&
	       qv_cl_number(cl, d, QV_CL_DEVICE_ENDIAN_LITTLE);
}

static void describe(const struct qv_cl_api *cl, const char *platform, struct candidate *c)
{
	char name[128] = "";

	cl->GetDeviceInfo(c->id, QV_CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	snprintf(c->caps.name, sizeof(c->caps.name), "%.60s: %.60s", platform, name);
	cl->GetDeviceInfo(c->id, QV_CL_DRIVER_VERSION, sizeof(c->caps.version) - 1, c->caps.version,
			  NULL);
	c->caps.is_cpu = (qv_cl_number(cl, c->id, QV_CL_DEVICE_TYPE) & QV_CL_DEVICE_TYPE_CPU) != 0;
	c->caps.max_keys = QV_CL_MAX_KEYS;
	c->caps.max_bytes = PTRDIFF_MAX;
	c->caps.max_pack = qv_cl_number(cl, c->id, QV_CL_DEVICE_MAX_MEM_ALLOC_SIZE) / 4;
	if (c->caps.max_pack > (uint64_t)1 << 30)
		c->caps.max_pack = (uint64_t)1 << 30;
}

/* GPUs, what is neither (some of that is a CPU all the same, and says another thing), CPUs. */
static unsigned rank_of(const struct qv_cl_api *cl, qv_cl_device id)
{
	const uint64_t type = qv_cl_number(cl, id, QV_CL_DEVICE_TYPE);

	return type & QV_CL_DEVICE_TYPE_CPU ? 2 : type & QV_CL_DEVICE_TYPE_GPU ? 0 : 1;
}

/* The devices of a platform that have this rank. */
static void add_platform(struct candidates *all, qv_cl_platform platform, unsigned rank)
{
	const struct qv_cl_api *cl = all->cl;
	char name[128] = "", vendor[128] = "";
	qv_cl_device ids[DEVICES];
	uint32_t n = 0;

	cl->GetPlatformInfo(platform, QV_CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	cl->GetPlatformInfo(platform, QV_CL_PLATFORM_VENDOR, sizeof(vendor) - 1, vendor, NULL);
	if (strcasestr(vendor, "xilinx") ||
	    cl->GetDeviceIDs(platform, QV_CL_DEVICE_TYPE_ALL, DEVICES, ids, &n))
		return;
	for (uint32_t i = 0; i < n && i < DEVICES && all->n < DEVICES; i++) {
		struct candidate *c = &all->list[all->n];

		if (rank_of(cl, ids[i]) != rank)
			continue;
		memset(c, 0, sizeof(*c));
		c->id = ids[i];
		describe(cl, name, c);
		if (usable(cl, c->id))
			all->n++;
		else
			all->unusable++;
	}
}

/* The one whose number text is, or the first with text in its name, as 4090; NULL. */
static const struct candidate *choose(const struct candidates *all, const char *text)
{
	char *end;
	unsigned long at;

	if (!text || !*text)
		return &all->list[0];
	at = strtoul(text, &end, 10);
	if (!*end && *text >= '0' && *text <= '9' && at < DEVICES)
		return at < all->n ? &all->list[at] : NULL;
	for (unsigned i = 0; i < all->n; i++)
		if (strcasestr(all->list[i].caps.name, text))
			return &all->list[i];
	return NULL;
}

static void say_none(const struct candidates *all, const char *wanted, char *why, size_t room)
{
	size_t at = 0;

	if (!all->n) {
		snprintf(why, room, "OpenCL has no device here%s",
			 all->unusable ? " that has OpenCL 1.2 and a compiler" : "");
		return;
	}
	at = (size_t)snprintf(why, room, "no OpenCL device is '%s'; there are:", wanted);
	for (unsigned i = 0; i < all->n && at < room; i++)
		at += (size_t)snprintf(why + at, room - at, "%s %u '%s'", i ? "," : "", i,
				       all->list[i].caps.name);
}

int qv_cl_find(const struct qv_cl_api *cl, const struct qv_offload_config *config, qv_cl_device *id,
	       struct qv_offload_caps *caps, char *why, size_t room)
{
	struct candidates all = {.cl = cl};
	const struct candidate *found = NULL;
	qv_cl_platform platforms[PLATFORMS];
	uint32_t n = 0;

	if (cl->GetPlatformIDs(PLATFORMS, platforms, &n))
		n = 0;
	n = n < PLATFORMS ? n : PLATFORMS;
	for (unsigned rank = 0; rank < 3; rank++)
		for (uint32_t i = 0; i < n; i++)
			add_platform(&all, platforms[i], rank);
	if (all.n)
		found = choose(&all, config->device);
	if (!found) {
		say_none(&all, config->device, why, room);
		return QV_ENOENT;
	}
	*id = found->id;
	*caps = found->caps;
	return QV_OK;
}
