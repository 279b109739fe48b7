/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_av.h - between the files of the address vector. */
#ifndef QV_FI_AV_H
#define QV_FI_AV_H

#include "qv_fi_data.h"

#define QV_FI_ADDR_MAX 512 /* longest address */

/* ---- qv_fi_av_index.c ------------------------------------------------------------------------ */
/*
 * One address. The core hears of it when an endpoint first deals with it, so that a large job pays
 * for the peers it speaks to only. From then on it stays in the core's AV until ours closes:
 * endpoints may still owe or expect packets after the application has dropped it.
 */
struct qv_fi_av_node {
	fi_addr_t core;  /* FI_ADDR_NOTAVAIL while the core does not have it */
	fi_addr_t index; /* the application's, FI_ADDR_NOTAVAIL while it has not named it */
	uint32_t hash;
	uint32_t namelen;
	char name[]; /* in the form of qv_fi_addr_normal */
};

/* Open addressing, at most half full. */
struct qv_fi_av_table {
	struct qv_fi_av_node **slots;
	size_t mask, used;
};

struct qv_fi_av_index {
	struct qv_fi_av_table by_name; /* all nodes */
	struct qv_fi_av_table by_core; /* those that the core has */
	size_t free_slots, lowest; /* free entries below av->used, none of them below `lowest` */
};

/* Bytes from this address to the next one in an array of them; 0: it does not tell. fixed: length
 * where the format has none of its own. */
size_t qv_fi_addr_len(uint32_t format, const void *addr, size_t fixed);

/* The same address without what makes no difference (padding, flow labels), so that equal addresses
 * have equal bytes. Returns the length in out (QV_FI_ADDR_MAX bytes), 0: it is no address that
 * anybody can have. addr may come from a packet: len bytes are read at most. */
size_t qv_fi_addr_normal(uint32_t format, const void *addr, size_t len, size_t fixed, char *out);

/* Name is in normal form. */
struct qv_fi_av_node *qv_fi_index_by_name(const struct qv_fi_av_index *x, const void *name,
					  size_t len);
struct qv_fi_av_node *qv_fi_index_by_core(const struct qv_fi_av_index *x, fi_addr_t core);
/* Add an address that is not there yet; NULL: no memory. */
struct qv_fi_av_node *qv_fi_index_add(struct qv_fi_av_index *x, const void *name, size_t len);
/* The core has the address now. False: no memory, nothing changed. */
bool qv_fi_index_reached(struct qv_fi_av_index *x, struct qv_fi_av_node *node, fi_addr_t core);
/* Forget an address that the core does not have. */
void qv_fi_index_drop(struct qv_fi_av_index *x, struct qv_fi_av_node *node);
void qv_fi_index_free(struct qv_fi_av_index *x);

/* ---- qv_fi_av_entry.c: entries and nodes, lock held --------------------------------------------
 */
static inline struct qv_fi_av *qv_fi_av_of(struct fid_av *fid)
{
	return container_of(fid, struct qv_fi_av, fid);
}

static inline uint32_t qv_fi_av_format(const struct qv_fi_av *av)
{
	return av->dom->core_info->addr_format;
}

/* Length of an address in the formats that do not tell, 0: unknown. */
size_t qv_fi_av_fixed_len(const struct qv_fi_av *av);
/* The node of this address, new if there is none; NULL: no address, or no memory. */
struct qv_fi_av_node *qv_fi_av_node(struct qv_fi_av *av, const void *name, size_t len);
/* The core has this address under this number. False: no memory. */
bool qv_fi_av_reached(struct qv_fi_av *av, struct qv_fi_av_node *node, fi_addr_t core);
/* The application names a node, perhaps once more: its index; FI_ADDR_NOTAVAIL: no memory. */
fi_addr_t qv_fi_av_name(struct qv_fi_av *av, struct qv_fi_av_node *node);
/* The application takes one naming back. -FI_EINVAL: it is not named. */
int qv_fi_av_drop(struct qv_fi_av *av, fi_addr_t index);

/* ---- qv_fi_av_insert.c -------------------------------------------------------------------------
 */
int qv_fi_av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out,
		    uint64_t flags, void *context);
int qv_fi_av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *out,
		       uint64_t flags, void *context);
int qv_fi_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
		       size_t svccnt, fi_addr_t *out, uint64_t flags, void *context);

#endif /* QV_FI_AV_H */
