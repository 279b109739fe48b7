/* SPDX-License-Identifier: BSD-2-Clause */
/* av.h - between the files of the address vector. */
#ifndef QV_FI_AV_H
#define QV_FI_AV_H

#include "fabric_glue/data.h"
#include "fabric_glue/cores/pair.h"

#define QV_FI_ADDR_MAX 512 /* longest address */

/* From av_index.c. */

/*
 * One address. The core hears of it when an endpoint first deals with it, so that a large job pays
 * for the peers it speaks to only. From then on it stays in the core's AV until no endpoint owes or
 * expects packets any more: that may be after the application has dropped it.
 */
struct qv_fi_av_node {
	struct qv_fi_way way;
	fi_addr_t index; /* the application's, FI_ADDR_NOTAVAIL while it has not named it */
	uint32_t hash;
	uint32_t namelen : 29;
	uint32_t said : 3; /* enum qv_fi_said, in the bytes that the application has */
	char name[];       /* in the form of qv_fi_addr_normal */
};

/* Open addressing, at most half full. */
struct qv_fi_av_table {
	struct qv_fi_av_node **slots;
	size_t mask, used;
};

struct qv_fi_av_index {
	struct qv_fi_av_table by_name; /* all nodes */
	struct qv_fi_av_table by_way;  /* those that a core has */
	size_t free_slots, lowest; /* free entries below av->used, none of them below `lowest` */
};

/* What the addresses of an AV look like. */
struct qv_fi_format {
	bool pair; /* as in fabric_glue/cores/pair.h, of which the rest describes the main core's */
	uint32_t main; /* addr_format of the main core */
	size_t fixed;  /* length where that format has none of its own, 0: unknown */
};

/* Bytes from this address to the next one in an array of them; 0: it does not tell. */
size_t qv_fi_addr_len(const struct qv_fi_format *format, const void *addr);

/* The same address without what makes no difference (padding, flow labels), so that equal addresses
 * have equal bytes. Returns the length in out (QV_FI_ADDR_MAX bytes), 0: it is no address that
 * anybody can have. addr may come from a packet: len bytes are read at most. */
size_t qv_fi_addr_normal(const struct qv_fi_format *format, const void *addr, size_t len,
			 char *out);

/* Name is in normal form. */
struct qv_fi_av_node *qv_fi_index_by_name(const struct qv_fi_av_index *x, const void *name,
					  size_t len);
struct qv_fi_av_node *qv_fi_index_by_way(const struct qv_fi_av_index *x, struct qv_fi_way way);
/* Add an address that is not there yet; NULL: no memory. */
struct qv_fi_av_node *qv_fi_index_add(struct qv_fi_av_index *x, const void *name, size_t len);
/* A core has the address now. False: no memory, nothing changed. */
bool qv_fi_index_reached(struct qv_fi_av_index *x, struct qv_fi_av_node *node,
			 struct qv_fi_way way);
/* Forget an address, in the core or not. */
void qv_fi_index_drop(struct qv_fi_av_index *x, struct qv_fi_av_node *node);
void qv_fi_index_free(struct qv_fi_av_index *x);

/* av_entry.c: entries and nodes, lock held. */

static inline struct qv_fi_av *qv_fi_av_of(struct fid_av *fid)
{
	return container_of(fid, struct qv_fi_av, fid);
}

struct qv_fi_format qv_fi_av_format(const struct qv_fi_av *av);
/* The node of this address, new if there is none; NULL: no address, or no memory. */
struct qv_fi_av_node *qv_fi_av_node(struct qv_fi_av *av, const void *name, size_t len);
/* A core has this address under this number. False: no memory. */
bool qv_fi_av_reached(struct qv_fi_av *av, struct qv_fi_av_node *node, struct qv_fi_way way);
/* The application names a node, perhaps once more: its index; FI_ADDR_NOTAVAIL: no memory. */
fi_addr_t qv_fi_av_name(struct qv_fi_av *av, struct qv_fi_av_node *node);
/* The application takes one naming back. -FI_EINVAL: it is not named. */
int qv_fi_av_drop(struct qv_fi_av *av, fi_addr_t index);

/* av_mode.c: what do the bytes of this address say of its endpoint (FI_QUIVER_MODE)? */
enum qv_fi_said qv_fi_addr_said(const void *addr, size_t len);
/* Is its mode the other one? Says so to the user. */
bool qv_fi_av_mode_differs(const struct qv_fi_av *av, const void *addr, size_t len);

/* From av_insert.c. */

int qv_fi_av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out,
		    uint64_t flags, void *context);
int qv_fi_av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *out,
		       uint64_t flags, void *context);
int qv_fi_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
		       size_t svccnt, fi_addr_t *out, uint64_t flags, void *context);

#endif /* QV_FI_AV_H */
