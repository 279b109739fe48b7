/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offload.c - the messages that a core reports together, matched by a device.
 *
 * One device per process, for all endpoints: opened when the first of them is enabled, or with auto
 * by the first batch that might gain; never by fi_getinfo, nor before a fork that comes first.
 * Whoever finds it in use by another thread does not wait for it. It is not closed: a runtime may
 * be gone already when libfabric ends.
 */
#include "fabric_glue/data.h"

#include "kernels/offload/offload.h"
#include "kernels/opencl/opencl.h"
#include "hls/host/xrt.h"

#include <unistd.h>

#define DEFAULT_BATCH 128
#define DEFAULT_BYTES ((size_t)1 << 20)
#define MOST          256 /* as many entries as the poll loop reads at a time */

static struct {
	pthread_mutex_t lock;
	struct qv_offload *offload;
	struct qv_offload_key keys[MOST];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void say(void *context, int warn, const char *text)
{
	(void)context;
	if (warn)
		qv_fi_warn("%s", text);
	else
		QV_FI_INFO(CORE, "%s\n", text);
}

static struct qv_offload *create(void)
{
	const struct qv_fi_offload_params *p = &qv_fi_params.offload;
	const struct qv_offload_settings set = {
		.ops = p->xrt ? &qv_xrt_ops : &qv_opencl_ops,
		.config = {.device = p->device,
			   .bitstream = p->xclbin,
			   .library = p->xrt ? p->xrt_lib : NULL},
		.min_batch = p->min_batch != SIZE_MAX || p->measure ? p->min_batch : DEFAULT_BATCH,
		.min_bytes = p->min_bytes != SIZE_MAX || p->measure ? p->min_bytes : DEFAULT_BYTES,
		.calibrate = p->measure,
		.say = say,
	};
	struct qv_offload *offload;

	return qv_offload_create(&set, &offload) ? NULL : offload;
}

void qv_fi_offload_begin(struct qv_fi_ep *ep)
{
	if (!qv_fi_params.offload.on)
		return;
	pthread_mutex_lock(&shared.lock);
	if (!shared.offload)
		shared.offload = create();
	ep->offload = shared.offload != NULL;
	/* Now rather than in the midst of the program's messages, or of a wait with a time-out; to
	 * measure it, a batch must have come that might gain. */
	if (ep->offload && !qv_fi_params.offload.measure)
		qv_offload_open(shared.offload);
	pthread_mutex_unlock(&shared.lock);
}

/* Those entries that are tagged messages, as far as can be seen: the engine notices where this does
 * not come true. */
static size_t gather(struct qv_fi_rail *rail, const struct fi_cq_data_entry *e,
		     const fi_addr_t *from, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n && found < MOST; i++) {
		struct qv_offload_key *k = &shared.keys[found];
		const struct qv_fi_rxbuf *b = e[i].op_context;
		struct qv_peer *peer;

		if (qv_fi_is_remote(e[i].flags) || b->xfer.done)
			continue;
		if (!(e[i].flags & FI_REMOTE_CQ_DATA)) {
			found += qv_proto_key(rail->ep->proto, b->data, e[i].len, &k->tag, &k->src);
			continue;
		}
		peer = qv_fi_peer_by_core(rail, from[i]);
		if (!peer)
			continue;
		k->tag = e[i].data;
		k->src = qv_proto_peer_source(peer);
		found++;
	}
	return found;
}

bool qv_fi_offload_entries(struct qv_fi_rail *rail, const struct fi_cq_data_entry *e,
			   const fi_addr_t *from, size_t n)
{
	size_t found;

	if (pthread_mutex_trylock(&shared.lock))
		return false;
	found = qv_offload_wants(shared.offload, n) ? gather(rail, e, from, n) : 0;
	if (!found) {
		pthread_mutex_unlock(&shared.lock);
		return false;
	}
	qv_offload_arrivals(shared.offload, qv_proto_engine(rail->ep->proto, QV_REQ_TAGGED),
			    shared.keys, found);
	return true;
}

void qv_fi_offload_done(struct qv_fi_ep *ep)
{
	qv_offload_done(shared.offload, qv_proto_engine(ep->proto, QV_REQ_TAGGED));
	pthread_mutex_unlock(&shared.lock);
}

/* Called in the midst of a batch that the device has matched, too: the CPU does these. */
void qv_fi_offload_combine(const struct qv_fi_ep *ep, const struct qv_combine *cpu, enum qv_op op,
			   enum qv_type type, void *dst, const void *a, const void *b, size_t count)
{
	if (QV_LIKELY(!ep->offload) || pthread_mutex_trylock(&shared.lock)) {
		(void)qv_combine_to(cpu, op, type, dst, a, b, count);
		return;
	}
	(void)qv_offload_combine(shared.offload, cpu, op, type, dst, a, b, count);
	pthread_mutex_unlock(&shared.lock);
}

void qv_fi_offload_print(void)
{
	static const char *const states[] = {"not needed yet", "open", "off"};
	struct qv_offload_stats s;

	if (pthread_mutex_trylock(&shared.lock))
		return;
	qv_offload_get_stats(shared.offload, &s);
	qv_fi_print("quiver: [%d]   offload to %s (%s): %llu batches matched with %llu keys, %llu "
		    "checked, %llu arrays combined, %llu refused, %llu failed, %llu of them wrong, "
		    "%llu done by the CPU instead\n",
		    (int)getpid(), qv_fi_params.offload.xrt ? "xrt" : "opencl", states[s.state],
		    (unsigned long long)s.batches, (unsigned long long)s.keys,
		    (unsigned long long)s.checked, (unsigned long long)s.arrays,
		    (unsigned long long)s.refused, (unsigned long long)s.failed,
		    (unsigned long long)s.wrong, (unsigned long long)s.fallback);
	pthread_mutex_unlock(&shared.lock);
}
