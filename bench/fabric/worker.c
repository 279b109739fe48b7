/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.c - life of one process of a pair. */
#include "ucx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int qv_fb_put(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int qv_fb_get(int fd, void *data, size_t n)
{
	char *at = data;

	while (n) {
		ssize_t done = read(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

static int reply(struct qv_fb_run *run, int fd, int status, const char *text,
		 const struct qv_fb_command *done, const void *address, size_t address_n)
{
	struct qv_fb_reply r = {.status = status, .address_n = (uint32_t)address_n};

	snprintf(r.text, sizeof(r.text), "%s", text);
	if (done && !status && run->rank == 0) {
		r.flat_n = done->flat_n;
		r.deep_n = done->deep_n;
	}
	if (qv_fb_put(fd, &r, sizeof(r)) || qv_fb_put(fd, address, address_n) ||
	    qv_fb_put(fd, run->flat, r.flat_n * sizeof(float)))
		return -1;
	return qv_fb_put(fd, run->deep, r.deep_n * sizeof(float));
}

int qv_fb_own_address(struct qv_fb_ep *ep, char *address, size_t *n)
{
	int rc;

	*n = QV_FB_ADDRESS;
	if (ep->ucx)
		return qv_fb_ucx_address(ep, address, n);
	rc = fi_getname(&ep->ep->fid, address, n);
	return rc ? qv_fb_fail(ep, "fi_getname", rc) : 0;
}

static void describe(const struct qv_fb_ep *ep, char *text, size_t size)
{
	if (ep->ucx) {
		qv_fb_ucx_describe(ep, text, size);
		return;
	}
	snprintf(text, size, "prov_name %s, fi_tinject %s %zu, tx %zu, rx %zu",
		 ep->info->fabric_attr->prov_name, ep->inject_below ? "up to" : "not used, limit",
		 ep->info->tx_attr->inject_size, ep->info->tx_attr->size, ep->info->rx_attr->size);
}

static int introduce(struct qv_fb_run *run, int in, int out)
{
	char peer[QV_FB_ADDRESS], how[QV_FB_TEXT];
	size_t n;

	if (qv_fb_own_address(&run->ep, run->own, &n))
		return -1;
	describe(&run->ep, how, sizeof(how));
	if (reply(run, out, 0, how, NULL, run->own, n) || qv_fb_get(in, peer, sizeof(peer)))
		return qv_fb_fail(&run->ep, "the parent is gone", 0);
	return qv_fb_ep_connect(&run->ep, peer);
}

/* A command may come from another host. */
static bool can_run(const struct qv_fb_command *command)
{
	const struct qv_fb_case *what = &command->what;

	return command->flat_n <= QV_FB_SAMPLES && command->deep_n <= QV_FB_SAMPLES &&
	       what->kind <= QV_FB_SELF && what->queue <= QV_FB_UMQ &&
	       what->position <= QV_FB_MISS && what->bytes && what->window &&
	       what->window <= QV_FB_WINDOW && what->depth <= QV_FB_DEPTH;
}

int qv_fb_worker(const struct qv_fb_setup *setup, int rank, int in, int out, uint64_t *beat)
{
	struct qv_fb_run run = {.rank = rank, .ep = {.beat = beat}};
	struct qv_fb_command command;
	int rc = 0;

	run.ep.yield = !qv_bench_pin(rank); /* with one CPU they take turns */
	if (qv_fb_run_init(&run) || qv_fb_ep_open(&run.ep, setup) || introduce(&run, in, out))
		rc = -1;
	while (!rc && qv_fb_get(in, &command, sizeof(command)) == 0) {
		rc = can_run(&command) ? qv_fb_run(&run, &command)
				       : qv_fb_fail(&run.ep, "no such command", 0);
		if (!rc && reply(&run, out, 0, "", &command, NULL, 0))
			break;
	}
	if (rc)
		reply(&run, out, -1, run.ep.error, NULL, NULL, 0);
	qv_fb_ep_close(&run.ep);
	qv_fb_run_free(&run);
	return rc ? 1 : 0;
}
