/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_av.h - between the files of the address vector. */
#ifndef QV_FI_AV_H
#define QV_FI_AV_H

#include "qv_fi_data.h"

#define QV_FI_ADDR_MAX 512 /* longest address */

/* ---- qv_fi_av_index.c ------------------------------------------------------------------------ */
/* One address in the core's AV. It stays there until the AV closes: endpoints may still owe or
 * expect packets after the application has dropped it. */
struct qv_fi_av_node {
	fi_addr_t core;
	fi_addr_t index; /* the application's, FI_ADDR_NOTAVAIL while it has not named it */
	uint32_t hash;
	uint32_t namelen;
	char name[]; /* in the form of qv_fi_addr_normal */
};

struct qv_fi_av_index {
	struct qv_fi_av_node **by_name, **by_core; /* open addressing, at most half full */
	size_t mask, used;
	size_t free_slots, lowest; /* free entries below av->used, none of them below `lowest` */
};

/*
 * Bytes of the first of the addresses at addr (at most max bytes, SIZE_MAX: the application's word
 * on it), 0 if they are no address of this format. fixed: length where the format has none of its
 * own.
 */
size_t qv_fi_addr_len(uint32_t format, const void *addr, size_t max, size_t fixed);

/* The same address without what makes no difference (padding, flow labels), so that equal addresses
 * have equal bytes. Returns the length in out (QV_FI_ADDR_MAX bytes), 0: none. */
size_t qv_fi_addr_normal(uint32_t format, const void *addr, size_t len, char *out);

/* Name is in normal form. */
struct qv_fi_av_node *qv_fi_index_by_name(const struct qv_fi_av_index *x, const void *name,
					  size_t len);
struct qv_fi_av_node *qv_fi_index_by_core(const struct qv_fi_av_index *x, fi_addr_t core);
/* Add an address that is not there yet; NULL: no memory. */
struct qv_fi_av_node *qv_fi_index_add(struct qv_fi_av_index *x, const void *name, size_t len,
				      fi_addr_t core);
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
struct qv_fi_av_node *qv_fi_av_find(struct qv_fi_av *av, const void *name, size_t len);
/* The core has just taken this address, perhaps not for the first time; NULL: no memory. */
struct qv_fi_av_node *qv_fi_av_add(struct qv_fi_av *av, const void *name, size_t len,
				   fi_addr_t core);
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
