// SPDX-License-Identifier: BSD-2-Clause
/*
 * fake_xrt.cpp - a libxrt_coreutil that runs the kernels' C++ on this computer, and fails when
 * told to. Each array has a copy for the device, which begins as garbage and is the same as the
 * host's only after a sync, so that a sync that is forgotten shows.
 *
 * With QV_FAKE_XRT_REAL every call is made on that library first, which so judges handles, indexes
 * and sizes; it must have taken the call, or the call fails.
 *
 * QV_FAKE_XRT, or qv_fake_xrt_set(), is FAULT or FAULT:N, the fault beginning with the Nth call (1)
 * that it could hit:
 *     nocard   there is no device
 *     load     the device does not take the bitstream
 *     kernel   a kernel cannot be opened
 *     alloc    no memory on the device
 *     map      memory cannot be mapped
 *     sync     a sync fails
 *     skipin   a sync to the device does nothing, once; skipout: one from it
 *     start    a run does not start
 *     crash    runs end with an error
 *     hang     runs are never over
 *     wrong    a bit of what is read from the device is another one, the same each time
 *     version  the match kernel has another version
 *     flush    sums and products of floating-point numbers take denormals for 0
 */
#include "hls/qv_hls.h"
#include "hls/qv_hls_flow.h"
#include "hls/host/api.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

#define EXPORT  extern "C" __attribute__((visibility("default")))
#define RUNNING 3

namespace
{
struct device {
	void *real;
};

struct kernel {
	void *real;
	device *on;
	bool is_match;
};

struct buffer {
	void *real;
	char *host;
	bool owned;
	std::vector<char> card;
};

struct run {
	void *real;
	kernel *of;
	buffer *array[3];
	uint32_t number[3];
	int state;
};

/* No constructors: it is filled in before they run. */
struct {
	qv_xrt_api real; /* library NULL: none */
	char fault[32];
	long from, calls;
} fake;

/* Whether a call fails that this fault hits. */
bool hit(const char *name)
{
	return !std::strcmp(fake.fault, name) && ++fake.calls >= fake.from;
}

bool hit_once(const char *name)
{
	return !std::strcmp(fake.fault, name) && ++fake.calls == fake.from;
}

bool is_real()
{
	return fake.real.library != nullptr;
}
} // namespace

EXPORT const char qv_xrt_stand_in[];
const char qv_xrt_stand_in[] = "a software double of XRT, no card";

EXPORT void qv_fake_xrt_set(const char *text)
{
	const char *colon = std::strchr(text, ':');

	std::snprintf(fake.fault, sizeof(fake.fault), "%.*s",
		      static_cast<int>(std::strcspn(text, ":")), text);
	fake.from = colon ? std::atol(colon + 1) : 1;
	fake.calls = 0;
}

__attribute__((constructor)) static void find_real()
{
	const char *file = std::getenv("QV_FAKE_XRT_REAL"), *text = std::getenv("QV_FAKE_XRT");

	qv_fake_xrt_set(text ? text : "");
	if (!file)
		return;
	fake.real.library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!fake.real.library) {
		std::fprintf(stderr, "qv_fake_xrt: %s\n", dlerror());
		std::abort();
	}
#define FIND(name, result, arguments)                                    \
	{                                                                \
		void *address = dlsym(fake.real.library, "xrt" #name);   \
                                                                         \
		std::memcpy(&fake.real.name, &address, sizeof(address)); \
	}
	QV_XRT_FUNCTIONS(FIND)
#undef FIND
}

/* Device, kernels. */

EXPORT void *xrtDeviceOpen(unsigned index)
{
	void *real = nullptr;

	if (is_real() && !(real = fake.real.DeviceOpen(index)))
		return nullptr;
	if (hit("nocard") || (!is_real() && index)) {
		errno = ENODEV;
		return nullptr;
	}
	return new device{real};
}

EXPORT int xrtDeviceClose(void *handle)
{
	auto *d = static_cast<device *>(handle);
	const int err = is_real() ? fake.real.DeviceClose(d->real) : 0;

	delete d;
	return err;
}

EXPORT int xrtDeviceLoadXclbinFile(void *handle, const char *file)
{
	if (hit("load"))
		return -1;
	return is_real() ? fake.real.DeviceLoadXclbinFile(static_cast<device *>(handle)->real, file)
			 : 0;
}

EXPORT int xrtDeviceGetXclbinUUID(void *handle, unsigned char *uuid)
{
	if (is_real())
		return fake.real.DeviceGetXclbinUUID(static_cast<device *>(handle)->real, uuid);
	std::memset(uuid, 7, 16);
	return 0;
}

EXPORT void *xrtPLKernelOpen(void *handle, const unsigned char *uuid, const char *name)
{
	auto *d = static_cast<device *>(handle);
	const bool is_match = !std::strcmp(name, QV_HLS_MATCH);
	void *real = nullptr;

	if (hit("kernel") || (!is_match && std::strcmp(name, QV_HLS_COMBINE)))
		return nullptr;
	if (is_real() && !(real = fake.real.PLKernelOpen(d->real, uuid, name)))
		return nullptr;
	return new kernel{real, d, is_match};
}

EXPORT int xrtKernelClose(void *handle)
{
	auto *k = static_cast<kernel *>(handle);
	const int err = is_real() ? fake.real.KernelClose(k->real) : 0;

	delete k;
	return err;
}

EXPORT int xrtKernelArgGroupId(void *handle, int argument)
{
	if (is_real())
		return fake.real.KernelArgGroupId(static_cast<kernel *>(handle)->real, argument);
	return argument >= 0 && argument < 3 ? argument : -1;
}

/* Memory. */

EXPORT void *xrtBOAlloc(void *handle, size_t bytes, uint64_t flags, uint32_t group)
{
	void *real = nullptr;

	if (hit("alloc"))
		return nullptr;
	if (is_real() &&
	    !(real = fake.real.BOAlloc(static_cast<device *>(handle)->real, bytes, flags, group)))
		return nullptr;
	auto *b = new buffer{real, nullptr, real == nullptr, std::vector<char>(bytes, '\xa5')};
	b->host = static_cast<char *>(real ? fake.real.BOMap(real) : std::malloc(bytes));
	if (b->owned)
		std::memset(b->host, 0x5a, bytes);
	return b;
}

EXPORT int xrtBOFree(void *handle)
{
	auto *b = static_cast<buffer *>(handle);
	const int err = is_real() ? fake.real.BOFree(b->real) : 0;

	if (b->owned)
		std::free(b->host);
	delete b;
	return err;
}

EXPORT void *xrtBOMap(void *handle)
{
	return hit("map") ? nullptr : static_cast<buffer *>(handle)->host;
}

EXPORT int xrtBOSync(void *handle, int direction, size_t bytes, size_t offset)
{
	auto *b = static_cast<buffer *>(handle);
	char *host = b->host + offset, *card = b->card.data() + offset;

	if (offset > b->card.size() || bytes > b->card.size() - offset || hit("sync"))
		return -1;
	if (is_real() && fake.real.BOSync(b->real, direction, bytes, offset))
		return -1;
	if (direction == QV_XRT_TO_DEVICE) {
		if (!hit_once("skipin"))
			std::memcpy(card, host, bytes);
	} else if (!hit_once("skipout")) {
		std::memcpy(host, card, bytes);
		if (hit("wrong"))
			host[0] ^= 4;
	}
	return 0;
}

/* Runs. */

EXPORT void *xrtRunOpen(void *handle)
{
	auto *k = static_cast<kernel *>(handle);
	void *real = nullptr;

	if (is_real() && !(real = fake.real.RunOpen(k->real)))
		return nullptr;
	return new run{real, k, {}, {}, 0};
}

EXPORT int xrtRunSetArg(void *handle, int argument, ...)
{
	auto *r = static_cast<run *>(handle);
	int err = 0;
	va_list rest;

	if (argument < 0 || argument >= 6)
		return -1;
	va_start(rest, argument);
	if (argument < 3) {
		buffer *b = r->array[argument] = va_arg(rest, buffer *);

		if (is_real())
			err = fake.real.RunSetArg(r->real, argument, b->real);
	} else {
		const uint32_t n = r->number[argument - 3] = va_arg(rest, uint32_t);

		if (is_real())
			err = fake.real.RunSetArg(r->real, argument, n);
	}
	va_end(rest);
	return err;
}

/* Floating-point cores that know no denormals. */
static bool has_denormals(const run *r)
{
	const uint32_t kind = r->number[1] >> 8;
	const auto *a = reinterpret_cast<const qv_hls_beat *>(r->array[0]->card.data());

	return kind & QV_HLS_REAL && (r->number[1] & 0xff) < 2 && a->lane[0] == 1;
}

static bool execute(const run *r)
{
	char *const card[3] = {r->array[0]->card.data(), r->array[1]->card.data(),
			       r->array[2]->card.data()};
	const size_t room[3] = {r->array[0]->card.size(), r->array[1]->card.size(),
				r->array[2]->card.size()};
	const size_t n = r->number[0], m = r->number[1];

	if (r->of->is_match) {
		if (room[0] < n * sizeof(qv_hls_key) || room[1] < m * sizeof(qv_hls_key) ||
		    room[2] < (m + QV_HLS_MATCH_WORDS) * sizeof(uint32_t))
			return false;
		auto *out = reinterpret_cast<uint32_t *>(card[2]);
		qv_match_hls(reinterpret_cast<qv_hls_key *>(card[0]),
			     reinterpret_cast<qv_hls_key *>(card[1]), out, r->number[0],
			     r->number[1], r->number[2]);
		if (hit("version"))
			out[m + QV_HLS_MATCH_VERSION]++;
		return true;
	}
	if (room[0] < n * sizeof(qv_hls_beat) || room[1] < n * sizeof(qv_hls_beat) ||
	    room[2] < (n + 1) * sizeof(qv_hls_beat))
		return false;
	auto *out = reinterpret_cast<qv_hls_beat *>(card[2]);
	const bool flushed = has_denormals(r) && hit("flush");
	qv_combine_hls(reinterpret_cast<qv_hls_beat *>(card[0]),
		       reinterpret_cast<qv_hls_beat *>(card[1]), out, r->number[0], r->number[1],
		       r->number[2]);
	if (flushed)
		out[0].lane[0] = 0;
	return true;
}

EXPORT int xrtRunStart(void *handle)
{
	auto *r = static_cast<run *>(handle);

	if (hit("start") || !r->array[0] || !r->array[1] || !r->array[2])
		return -1;
	if (is_real() && fake.real.RunStart(r->real))
		return -1;
	r->state = execute(r) && !qv_sim::stuck() ? QV_XRT_COMPLETED : QV_XRT_ERROR;
	return 0;
}

EXPORT int xrtRunWaitFor(void *handle, unsigned ms)
{
	auto *r = static_cast<run *>(handle);

	if (is_real()) {
		const int state = fake.real.RunWaitFor(r->real, ms);

		if (state != QV_XRT_COMPLETED)
			return state;
	}
	return hit("hang") ? RUNNING : hit("crash") ? static_cast<int>(QV_XRT_ERROR) : r->state;
}

EXPORT int xrtRunClose(void *handle)
{
	auto *r = static_cast<run *>(handle);
	const int err = is_real() ? fake.real.RunClose(r->real) : 0;

	delete r;
	return err;
}
