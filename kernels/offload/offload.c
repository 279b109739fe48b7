/* SPDX-License-Identifier: BSD-2-Clause */
/* offload.c - a device that may fail: opening it, counting, giving it up. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAILURES    3
#define CHECK_EVERY 64

int qv_offload_parse(const char *text, int *on, int *calibrate, char *why, size_t room)
{
	const int is_auto = !strcmp(text, "auto"), is_opencl = !strcmp(text, "opencl");

	if (!is_auto && !is_opencl && strcmp(text, "off")) {
		snprintf(why, room, "is not %s; known: off opencl auto",
			 strcmp(text, "xrt") ? "known" : "in this version");
		return QV_EINVAL;
	}
	*on = is_auto || is_opencl;
	*calibrate = is_auto;
	return QV_OK;
}

int qv_offload_create(const struct qv_offload_settings *settings, struct qv_offload **offload)
{
	struct qv_offload *o = calloc(1, sizeof(*o));

	if (!o)
		return QV_ENOMEM;
	o->set = *settings;
	if (!o->set.failures)
		o->set.failures = FAILURES;
	if (!o->set.check_every)
		o->set.check_every = CHECK_EVERY;
	*offload = o;
	return QV_OK;
}

/* In a child, what belongs to the device is a copy without its threads: it is left alone. */
static void close_device(struct qv_offload *o)
{
	if (o->dev && o->pid == getpid())
		o->set.ops->close(o->dev);
	o->dev = NULL;
}

void qv_offload_destroy(struct qv_offload *o)
{
	if (!o)
		return;
	close_device(o);
	free(o->keys);
	free(o->nodes);
	free(o->result);
	free(o->calls);
	free(o);
}

void qv_offload_get_stats(const struct qv_offload *o, struct qv_offload_stats *stats)
{
	*stats = o->stats;
}

const char *qv_offload_device(const struct qv_offload *o)
{
	return o->dev && o->pid == getpid() ? o->set.ops->caps(o->dev)->name : NULL;
}

void qv_offload_limits(const struct qv_offload *o, size_t *min_batch, size_t *min_bytes)
{
	*min_batch = o->set.min_batch;
	*min_bytes = o->set.min_bytes;
}

void qv_offload_say(struct qv_offload *o, int warn, const char *format, ...)
{
	char text[640];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (o->set.say)
		o->set.say(o->set.context, warn, text);
}

void qv_offload_give_up(struct qv_offload *o)
{
	close_device(o);
	o->stats.state = QV_OFFLOAD_OFF;
}

int qv_offload_open(struct qv_offload *o)
{
	char why[512] = "";
	int err;

	if (o->stats.state == QV_OFFLOAD_OFF)
		return QV_ENOENT;
	if (o->stats.state == QV_OFFLOAD_OPEN)
		return QV_OK;
	err = o->set.ops->open(&o->set.config, &o->dev, why, sizeof(why));
	if (err) {
		o->dev = NULL;
		o->stats.state = QV_OFFLOAD_OFF;
		if (err != QV_ENOENT)
			o->stats.failed++;
		qv_offload_say(o, 1, "offload to %s is off, the CPU does it: %s", o->set.ops->name,
			       why);
		return err;
	}
	o->pid = getpid();
	o->stats.state = QV_OFFLOAD_OPEN;
	if (o->set.calibrate)
		qv_offload_calibrate(o);
	else if (o->set.min_batch < QV_OFFLOAD_NEVER)
		qv_offload_say(o, 0, "offload to %s: %s, from %zu messages and %zu bytes on",
			       o->set.ops->name, o->set.ops->caps(o->dev)->name, o->set.min_batch,
			       o->set.min_bytes);
	else
		qv_offload_say(o, 0, "offload to %s: %s, from %zu bytes on", o->set.ops->name,
			       o->set.ops->caps(o->dev)->name, o->set.min_bytes);
	return o->stats.state == QV_OFFLOAD_OPEN ? QV_OK : QV_ENOENT;
}

int qv_offload_ready(struct qv_offload *o)
{
	if (qv_offload_open(o))
		return 0;
	if (o->pid == getpid())
		return 1;
	qv_offload_give_up(o);
	qv_offload_say(o, 1,
		       "offload to %s is off in this process, which was forked after the "
		       "device was opened: the CPU does it",
		       o->set.ops->name);
	return 0;
}

void qv_offload_failed(struct qv_offload *o, int status, const char *why)
{
	if (status == QV_ENOSYS || status == QV_EINVAL) {
		o->stats.refused++;
		return;
	}
	o->stats.failed++;
	o->stats.fallback++;
	if (++o->failures < o->set.failures && status != QV_EPEER)
		return;
	qv_offload_say(o, 1, "offload to %s is given up after %u failure%s, the CPU does it: %s",
		       o->set.ops->name, o->failures, o->failures > 1 ? "s" : "", why);
	qv_offload_give_up(o);
}

int qv_offload_wants(const struct qv_offload *o, size_t messages)
{
	return o->stats.state != QV_OFFLOAD_OFF &&
	       (messages >= o->set.min_batch ||
		(qv_offload_unknown(o) && o->set.min_batch == SIZE_MAX &&
		 messages >= QV_OFFLOAD_AUTO_BATCH));
}
