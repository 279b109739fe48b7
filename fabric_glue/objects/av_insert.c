/* SPDX-License-Identifier: BSD-2-Clause */
/* av_insert.c - fi_av_insert and its relatives: the core's call, and our entries for it. */
#include "av.h"

#include <stdlib.h>
#include <string.h>

#define INSERT_FLAGS (FI_MORE | FI_SYNC_ERR)

struct insertion {
	struct qv_fi_av *av;
	fi_addr_t *out; /* may be NULL */
	int *errors;    /* FI_SYNC_ERR, else NULL */
	void *context;  /* of the events */
	size_t done, good;
};

/* The event of the next address, which failed. */
static void tell_failure(const struct insertion *ins)
{
	const struct fi_eq_err_entry event = {
		.fid = &ins->av->fid.fid,
		.context = ins->context,
		.data = ins->done,
		.err = FI_EADDRNOTAVAIL,
		.prov_errno = QV_EINVAL,
	};

	if (qv_fi_eq_tell_error(ins->av->eq, &event))
		QV_FI_WARN(AV, "out of memory: the failure of address %zu is not reported\n",
			   ins->done);
}

/* Record the next address: a node, or NULL for a failure. */
static void record(struct insertion *ins, struct qv_fi_av_node *node)
{
	fi_addr_t index = node ? qv_fi_av_name(ins->av, node) : FI_ADDR_NOTAVAIL;

	if (ins->out)
		ins->out[ins->done] = index;
	if (ins->errors)
		ins->errors[ins->done] = index == FI_ADDR_NOTAVAIL ? FI_EADDRNOTAVAIL : 0;
	if (index == FI_ADDR_NOTAVAIL && ins->av->flags & FI_EVENT)
		tell_failure(ins);
	ins->good += index != FI_ADDR_NOTAVAIL;
	ins->done++;
}

static void insert_all(struct insertion *ins, const char *addr, size_t count)
{
	struct qv_fi_av *av = ins->av;
	const struct qv_fi_format format = qv_fi_av_format(av);

	while (ins->done < count) {
		size_t len = qv_fi_addr_len(&format, addr);
		const bool differs = len && qv_fi_av_mode_differs(av, addr, len);
		struct qv_fi_av_node *node = len && !differs ? qv_fi_av_node(av, addr, len) : NULL;

		if (!node && !differs)
			QV_FI_WARN(AV, "address %zu of %zu is none that a peer can have\n",
				   ins->done, count);
		if (node)
			node->said = qv_fi_addr_said(addr, len);
		record(ins, node);
		addr += len;
		if (!len) /* where the next one would start is not known */
			break;
	}
	while (ins->done < count)
		record(ins, NULL);
}

/* Check the call and set up its reports. Lock held. */
static int begin(struct insertion *ins, struct fid_av *fid, fi_addr_t *out, uint64_t flags,
		 void *context)
{
	*ins = (struct insertion){.av = qv_fi_av_of(fid), .out = out, .context = context};
	if (flags & ~INSERT_FLAGS)
		return -FI_EBADFLAGS;
	if (ins->av->flags & FI_EVENT && !ins->av->eq)
		return -FI_ENOEQ;
	if (flags & FI_SYNC_ERR) {
		if (ins->av->flags & FI_EVENT || !context)
			return -FI_EINVAL;
		ins->errors = context;
	}
	return 0;
}

/* The return value of the call, or its event. */
static int finish(const struct insertion *ins)
{
	struct qv_fi_av *av = ins->av;
	const struct fi_eq_entry event = {
		.fid = &av->fid.fid,
		.context = ins->context,
		.data = ins->good,
	};

	if (!(av->flags & FI_EVENT))
		return (int)ins->good;
	return qv_fi_eq_tell(av->eq, FI_AV_COMPLETE, &event);
}

int qv_fi_av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out,
		    uint64_t flags, void *context)
{
	struct qv_fi_domain *dom = qv_fi_av_of(fid)->dom;
	struct insertion ins;
	int ret;

	if (count > INT32_MAX)
		return -FI_EINVAL;
	qv_fi_lock(dom);
	ret = begin(&ins, fid, out, flags, context);
	if (!ret) {
		insert_all(&ins, addr, count);
		ret = finish(&ins);
	}
	qv_fi_unlock(dom);
	return ret;
}

/* An address that the main core itself made, from a node and service name. */
static struct qv_fi_av_node *add_core_addr(struct qv_fi_av *av, fi_addr_t core)
{
	const struct qv_fi_way way = {.addr = core, .core = QV_FI_MAIN};
	char addr[QV_FI_ADDR_MAX], name[QV_FI_PAIR_MAX];
	size_t len = sizeof addr;
	struct qv_fi_av_node *node;

	if (core == FI_ADDR_NOTAVAIL || fi_av_lookup(av->core[QV_FI_MAIN], core, addr, &len) ||
	    len > (av->dom->pair ? UINT8_MAX : sizeof addr))
		return NULL;
	if (av->dom->pair)
		len = qv_fi_pair_make(name, 0, NULL, addr, len);
	node = qv_fi_av_node(av, av->dom->pair ? name : addr, len);
	return node && qv_fi_av_reached(av, node, way) ? node : NULL;
}

int qv_fi_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
		       size_t svccnt, fi_addr_t *out, uint64_t flags, void *context)
{
	struct qv_fi_av *av = qv_fi_av_of(fid);
	struct insertion ins;
	fi_addr_t *cores;
	size_t count;
	int ret;

	if (!nodecnt || !svccnt || nodecnt > INT32_MAX / svccnt)
		return -FI_EINVAL;
	count = nodecnt * svccnt;
	cores = malloc(count * sizeof *cores);
	if (!cores)
		return -FI_ENOMEM;
	for (size_t i = 0; i < count; i++)
		cores[i] = FI_ADDR_NOTAVAIL;
	qv_fi_lock(av->dom);
	ret = begin(&ins, fid, out, flags, context);
	if (!ret)
		ret = nodecnt == 1 && svccnt == 1
			      ? fi_av_insertsvc(av->core[QV_FI_MAIN], node, service, cores, 0, NULL)
			      : fi_av_insertsym(av->core[QV_FI_MAIN], node, nodecnt, service,
						svccnt, cores, 0, NULL);
	if (ret >= 0) {
		for (size_t i = 0; i < count; i++)
			record(&ins, add_core_addr(av, cores[i]));
		ret = finish(&ins);
	}
	qv_fi_unlock(av->dom);
	free(cores);
	return ret;
}

int qv_fi_av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *out,
		       uint64_t flags, void *context)
{
	const struct qv_fi_format format = qv_fi_av_format(qv_fi_av_of(fid));

	/* A formatted address may be given as a node without a service. */
	if (!format.pair && format.main == FI_ADDR_STR && node && !service)
		return qv_fi_av_insert(fid, node, 1, out, flags, context);
	return qv_fi_av_insertsym(fid, node, 1, service, 1, out, flags, context);
}
