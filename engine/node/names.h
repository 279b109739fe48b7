/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h - the addresses of endpoints, for one endpoint or several that share them. */
#ifndef QV_NODE_NAMES_H
#define QV_NODE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct qv_names;

#define QV_NODE_NONE UINT64_MAX

struct qv_names *qv_names_create(void); /* NULL: no memory */
void qv_names_destroy(struct qv_names *names);
/* The address of who has this name; each call needs one of qv_names_remove, after which the address
 * may be another's. QV_NODE_NONE: no memory. */
uint64_t qv_names_insert(struct qv_names *names, uint64_t name);
void qv_names_remove(struct qv_names *names, uint64_t addr);
/* False: nobody's address. */
bool qv_names_get(const struct qv_names *names, uint64_t addr, uint64_t *name);

#endif /* QV_NODE_NAMES_H */
