/* SPDX-License-Identifier: BSD-2-Clause */
/* app.c - simulated applications: opening, closing, dying; the addresses that they know. */
#include "app.h"

#include <stdlib.h>
#include <string.h>

#include "fabric_glue/provider.h"

struct sf_app *sf_apps;

void sf_app_init(unsigned slots)
{
	sf_apps = sf_alloc(slots * sizeof *sf_apps);
	for (unsigned s = 0; s < slots; s++) {
		struct sf_app *a = &sf_apps[s];

		a->slot = s;
		a->coming_tail = &a->coming;
		a->peers = sf_alloc(slots * sizeof *a->peers);
		a->peer_lives = sf_alloc(slots * sizeof *a->peer_lives);
		a->told = sf_alloc(slots * sizeof *a->told);
	}
}

static int bind_and_enable(struct sf_app *a)
{
	int rc = fi_ep_bind(a->ep, &a->av->fid, 0);

	if (!rc)
		rc = fi_ep_bind(a->ep, &a->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(a->ep);
	a->namelen = sizeof a->name;
	return rc ? rc : fi_getname(&a->ep->fid, a->name, &a->namelen);
}

/* The address that the one before had here. */
static int take_over(struct sf_app *a, struct fi_info *info)
{
	void *copy = malloc(a->namelen);

	if (!copy)
		return -FI_ENOMEM;
	memcpy(copy, a->name, a->namelen);
	free(info->src_addr);
	info->src_addr = copy;
	info->src_addrlen = a->namelen;
	return 0;
}

static int open_over(struct sf_app *a, struct fi_info *info)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	int rc = 0;

	if (a->life && a->same)
		rc = take_over(a, info);
	info->fabric_attr->api_version = FI_VERSION(1, 17);
	if (!rc)
		rc = qv_fi_prov.fabric(info->fabric_attr, &a->fabric, NULL);
	if (!rc)
		rc = fi_domain(a->fabric, info, &a->domain, NULL);
	if (!rc)
		rc = fi_av_open(a->domain, &av, &a->av, NULL);
	if (!rc)
		rc = fi_cq_open(a->domain, &cq, &a->cq, NULL);
	if (!rc)
		rc = fi_endpoint(a->domain, info, &a->ep, NULL);
	return rc ? rc : bind_and_enable(a);
}

static int try_open(struct sf_app *a)
{
	struct fi_info *hints = qv_fi_host.dupinfo(NULL), *info;
	int rc = -FI_ENOMEM;

	if (!hints)
		return rc;
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->fabric_attr->prov_name = strdup("quiver");
	if (hints->fabric_attr->prov_name)
		rc = qv_fi_prov.getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	if (!rc) {
		free(info->fabric_attr->prov_name); /* libfabric names the provider */
		info->fabric_attr->prov_name = strdup("quiver");
		rc = info->fabric_attr->prov_name ? open_over(a, info) : -FI_ENOMEM;
		qv_fi_host.freeinfo(info);
	}
	qv_fi_host.freeinfo(hints);
	return rc;
}

static void close_one(struct fid *fid, const char *what, const struct sf_app *a)
{
	int rc = fid ? fi_close(fid) : 0;

	if (rc)
		sf_broken("%u.%u: the %s does not close: %d", a->slot, a->life, what, rc);
}

static void close_all(void *arg)
{
	struct sf_app *a = arg;

	close_one(a->ep ? &a->ep->fid : NULL, "endpoint", a);
	close_one(a->cq ? &a->cq->fid : NULL, "queue", a);
	close_one(a->av ? &a->av->fid : NULL, "address vector", a);
	close_one(a->domain ? &a->domain->fid : NULL, "domain", a);
	close_one(a->fabric ? &a->fabric->fid : NULL, "fabric", a);
	a->ep = NULL;
	a->cq = NULL;
	a->av = NULL;
	a->domain = NULL;
	a->fabric = NULL;
	if (a->proc->blocks) {
		sf_mem_list(a->proc);
		sf_broken("%u.%u: %zu bytes are left when all is closed", a->slot, a->life,
			  a->proc->bytes);
	}
}

/* What fails for want of memory is given back, and is tried again when there is some. */
void sf_app_open(struct sf_app *a)
{
	bool storm = sf.storm;
	char name[sizeof a->name];
	int rc;

	memcpy(name, a->name, sizeof name);
	a->proc = sf_proc_new(1 + a->slot % sf.cfg.hosts);
	sf.self = a->proc;
	rc = try_open(a);
	if (rc) {
		close_all(a);
		sf.storm = false;
		rc = try_open(a);
		sf.storm = storm;
	}
	if (rc)
		sf_broken("no endpoint over %s: %d", sf.cfg.core, rc);
	sf.self = &sf.nobody;
	a->same &= !memcmp(name, a->name, a->namelen); /* shared memory has no such addresses */
	a->life++;
	if (!a->same)
		a->home = a->life;
	a->state = SF_UP;
	sf_law_begins(a);
	a->rests = 0;
	a->asleep_until = 0;
	a->closed_well = false;
	memset(a->peer_lives, 0, sf.cfg.procs * sizeof *a->peer_lives);
	sf_app_meet(a);
	for (unsigned s = 0; s < sf.cfg.procs; s++)
		if (&sf_apps[s] != a && sf_apps[s].state == SF_UP)
			sf_app_meet(&sf_apps[s]);
	if (sf.cfg.verbose)
		sf_say("%u.%u is process %u", a->slot, a->life, a->proc->pid);
}

static void ended(struct sf_app *a)
{
	a->state = SF_DOWN;
	a->down_until = sf.now + qv_random_below(&sf.rnd_work, 3 * SF_S);
	a->same = sf.cfg.faults >> SF_SAME & 1 && qv_random_percent(&sf.rnd_work, 50);
	sf_fiber_free(a->closing);
	a->closing = NULL;
	for (unsigned i = 0; i < SF_RECVS; i++)
		if (a->recvs[i].seq) {
			sf_buf_put(a->recvs[i].buf, a->recvs[i].room);
			a->recvs[i].seq = 0;
		}
	a->nrecvs = a->nsends = a->nclaims = 0;
	sf_law_ended(a);
	if (sf.cfg.verbose)
		sf_say("%u.%u has ended", a->slot, a->life);
}

void sf_app_close(struct sf_app *a)
{
	sf.self = a->proc;
	a->state = SF_CLOSING;
	a->closed_well = true;
	a->closing = sf_fiber_new(close_all, a);
	sf.self = &sf.nobody;
}

void sf_app_go_on(struct sf_app *a)
{
	if (!sf_fiber_resume(a->closing))
		return;
	sf_proc_end(a->proc, false);
	ended(a);
}

void sf_app_kill(struct sf_app *a, bool silent)
{
	a->closed_well = false;
	sf_proc_end(a->proc, silent);
	a->ep = NULL;
	a->cq = NULL;
	a->av = NULL;
	a->domain = NULL;
	a->fabric = NULL;
	ended(a);
}

/* Addresses. */

static void insert(struct sf_app *a, unsigned slot)
{
	const struct sf_app *peer = &sf_apps[slot];
	bool storm = sf.storm;
	int n;

	sf.self = a->proc;
	n = fi_av_insert(a->av, peer->name, 1, &a->peers[slot], 0, NULL);
	if (n != 1 && sf.cfg.faults >> SF_NOMEM & 1) {
		sf.storm = false;
		n = fi_av_insert(a->av, peer->name, 1, &a->peers[slot], 0, NULL);
		sf.storm = storm;
	}
	sf.self = &sf.nobody;
	if (n != 1)
		sf_broken("%u.%u cannot insert the address of %u: %d", a->slot, a->life, slot, n);
	a->peer_lives[slot] = peer->life;
}

static void drop(struct sf_app *a, unsigned slot)
{
	int rc;

	sf.self = a->proc;
	rc = fi_av_remove(a->av, &a->peers[slot], 1, 0);
	sf.self = &sf.nobody;
	if (rc)
		sf_broken("%u.%u cannot remove the address of %u: %d", a->slot, a->life, slot, rc);
	a->peer_lives[slot] = 0;
	for (unsigned i = 0; i < SF_RECVS; i++)
		a->recvs[i].nameless |= a->recvs[i].from == (int)slot;
}

void sf_app_meet(struct sf_app *a)
{
	for (unsigned s = 0; s < sf.cfg.procs; s++) {
		const struct sf_app *peer = &sf_apps[s];

		if (!peer->life || a->peer_lives[s] == peer->life)
			continue;
		if (a->peer_lives[s] && peer->same) { /* nobody tells it */
			a->peer_lives[s] = peer->life;
			continue;
		}
		if (a->peer_lives[s])
			drop(a, s);
		insert(a, s);
	}
}

/* As a program does that serves those that come and go. */
void sf_app_churn(struct sf_app *a, unsigned slot)
{
	if (!a->peer_lives[slot])
		return;
	drop(a, slot);
	insert(a, slot);
}
