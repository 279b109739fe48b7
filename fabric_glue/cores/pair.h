/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.h - addresses of endpoints over two cores: that in the core that reaches everybody,
 * that in the local one (node or shm), and which node that one means.
 */
#ifndef QV_FI_PAIR_H
#define QV_FI_PAIR_H

#include "fabric_glue/provider.h"

/* fi_info.addr_format of such addresses; libfabric leaves this range to providers (FI_PROV_SPECIFIC,
 * which the headers of 2.x lack). */
#define QV_FI_ADDR_PAIR 0x80515602u

#define QV_FI_PAIR_TEXT 48 /* bytes of a local address as its core spells it, with the zero */

/* As it travels: 48 bytes with an IPv6 address, 36 with IPv4. Its length is the same for all
 * endpoints over the same cores. */
struct qv_fi_pair_addr {
	char mark[2];
	uint8_t form; /* version of this layout, and which core `local` belongs to */
	uint8_t main_len;
	uint8_t node[8], local[8];
	char main[];
};

/* Taken apart. */
struct qv_fi_pair {
	uint64_t node;
	char local[QV_FI_PAIR_TEXT]; /* "": not to be reached by the local core */
	const char *main;
	size_t main_len;
};

/* Length of the address that starts here; 0: it is none. Reads the first 4 bytes only. */
size_t qv_fi_pair_len(const void *addr);
/* False: these bytes are no such address. */
bool qv_fi_pair_parse(const void *addr, size_t len, struct qv_fi_pair *pair);
/* Into out (QV_FI_PAIR_MAX bytes); returns the length. A local address that is not of a form
 * that we know is left out. local may be NULL. main_len <= 255. */
size_t qv_fi_pair_make(void *out, uint64_t node, const char *local, const void *main,
		       size_t main_len);
#define QV_FI_PAIR_MAX (sizeof(struct qv_fi_pair_addr) + UINT8_MAX)

/* Which processes the local core joins: the same number on all of them. It goes by what that core
 * uses: node the network name space and its own version, shm /dev/shm and process ids; and by the
 * user, so that containers that do not share these have different ones. 0: cannot be told, or no
 * room. */
uint64_t qv_fi_node(const char *core);
/* Is who has this address really here? Clones of a virtual machine have the same number. own: our
 * address in the main core. */
bool qv_fi_pair_is_here(const struct qv_fi_pair *pair, const void *own, size_t len);

/* Turn the addresses of an info into such ones (without the node and what is on it), and back. */
int qv_fi_pair_wrap(struct fi_info *info);
int qv_fi_pair_unwrap(struct fi_info *info);
/* Is this an info over two cores? */
static inline bool qv_fi_is_pair(const struct fi_info *info)
{
	return info->addr_format == QV_FI_ADDR_PAIR;
}

/* The info of the local core that suits this info of the main core. caps: of QV_FI_ONE_SIDED, what is
 * wanted; then both must mean the same by keys and addresses. -FI_ENODATA: there is none. */
int qv_fi_pair_local(const char *core, const struct fi_info *main, uint64_t caps,
		     struct fi_info **info);
/* What both can do, in the main core's info. */
int qv_fi_pair_offer(struct fi_info *main, const struct fi_info *local, bool one_sided);

#endif /* QV_FI_PAIR_H */
