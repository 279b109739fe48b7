/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_av_index.c - every address that the core's AV holds, found by its bytes and by its number.
 */
#include "qv_fi_av.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_SIZE 64 /* slots, a power of two */
#define IB_LEN     48 /* struct sockaddr_ib of the kernel */

/* ---- formats --------------------------------------------------------------------------------- */
static size_t family_len(const void *addr)
{
	sa_family_t family;

	memcpy(&family, addr, sizeof family);
	switch (family) {
	case AF_INET: return sizeof(struct sockaddr_in);
	case AF_INET6: return sizeof(struct sockaddr_in6);
	case AF_IB: return IB_LEN;
	default: return 0;
	}
}

size_t qv_fi_addr_len(uint32_t format, const void *addr, size_t max, size_t fixed)
{
	size_t len;

	switch (format) {
	case FI_ADDR_STR:
		len = strnlen(addr, max < QV_FI_ADDR_MAX ? max : QV_FI_ADDR_MAX);
		return len && len < QV_FI_ADDR_MAX ? len + 1 : 0;
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN6:
	case FI_SOCKADDR_IB: len = max < sizeof(sa_family_t) ? 0 : family_len(addr); break;
	default: len = fixed;
	}
	return len <= max && len <= QV_FI_ADDR_MAX ? len : 0;
}

static void normal_in(const void *addr, char *out)
{
	struct sockaddr_in from, to = {0};

	memcpy(&from, addr, sizeof from);
	to.sin_family = from.sin_family;
	to.sin_port = from.sin_port;
	to.sin_addr = from.sin_addr;
	memcpy(out, &to, sizeof to);
}

static void normal_in6(const void *addr, char *out)
{
	struct sockaddr_in6 from, to = {0};

	memcpy(&from, addr, sizeof from);
	to.sin6_family = from.sin6_family;
	to.sin6_port = from.sin6_port;
	to.sin6_addr = from.sin6_addr;
	if (IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr))
		to.sin6_scope_id = from.sin6_scope_id;
	memcpy(out, &to, sizeof to);
}

size_t qv_fi_addr_normal(uint32_t format, const void *addr, size_t len, char *out)
{
	len = qv_fi_addr_len(format, addr, len, len);
	if (!len)
		return 0;
	if (format == FI_ADDR_STR) {
		memcpy(out, addr, len - 1);
		out[len - 1] = 0;
	} else if (format >= FI_SOCKADDR && format <= FI_SOCKADDR_IN6 &&
		   len == sizeof(struct sockaddr_in)) {
		normal_in(addr, out);
	} else if (format >= FI_SOCKADDR && format <= FI_SOCKADDR_IN6 &&
		   len == sizeof(struct sockaddr_in6)) {
		normal_in6(addr, out);
	} else {
		memcpy(out, addr, len);
	}
	return len;
}

/* ---- tables ---------------------------------------------------------------------------------- */
static uint32_t hash_name(const void *name, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const unsigned char *)name)[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

static size_t hash_core(fi_addr_t core)
{
	return (size_t)(core * 0x9e3779b97f4a7c15u >> 32);
}

static void put(struct qv_fi_av_node **table, size_t mask, size_t hash, struct qv_fi_av_node *node)
{
	size_t i = hash & mask;

	while (table[i])
		i = (i + 1) & mask;
	table[i] = node;
}

static bool grow(struct qv_fi_av_index *x)
{
	size_t old = x->by_name ? x->mask + 1 : 0, size = old ? 2 * old : FIRST_SIZE;
	struct qv_fi_av_node **name, **core;

	if (2 * (x->used + 1) <= old)
		return true;
	name = calloc(size, sizeof(struct qv_fi_av_node *));
	core = calloc(size, sizeof(struct qv_fi_av_node *));
	if (!name || !core) {
		free(name);
		free(core);
		return false;
	}
	for (size_t i = 0; i < old; i++) {
		if (!x->by_name[i])
			continue;
		put(name, size - 1, x->by_name[i]->hash, x->by_name[i]);
		put(core, size - 1, hash_core(x->by_name[i]->core), x->by_name[i]);
	}
	free(x->by_name);
	free(x->by_core);
	x->by_name = name;
	x->by_core = core;
	x->mask = size - 1;
	return true;
}

struct qv_fi_av_node *qv_fi_index_by_name(const struct qv_fi_av_index *x, const void *name,
					  size_t len)
{
	uint32_t hash = hash_name(name, len);
	struct qv_fi_av_node *node;

	if (!x->used)
		return NULL;
	for (size_t i = hash & x->mask; (node = x->by_name[i]); i = (i + 1) & x->mask)
		if (node->hash == hash && node->namelen == len && !memcmp(node->name, name, len))
			return node;
	return NULL;
}

struct qv_fi_av_node *qv_fi_index_by_core(const struct qv_fi_av_index *x, fi_addr_t core)
{
	struct qv_fi_av_node *node;

	if (!x->used)
		return NULL;
	for (size_t i = hash_core(core) & x->mask; (node = x->by_core[i]); i = (i + 1) & x->mask)
		if (node->core == core)
			return node;
	return NULL;
}

struct qv_fi_av_node *qv_fi_index_add(struct qv_fi_av_index *x, const void *name, size_t len,
				      fi_addr_t core)
{
	struct qv_fi_av_node *node;

	if (!grow(x))
		return NULL;
	node = malloc(sizeof *node + len);
	if (!node)
		return NULL;
	*node = (struct qv_fi_av_node){
		.core = core,
		.index = FI_ADDR_NOTAVAIL,
		.hash = hash_name(name, len),
		.namelen = (uint32_t)len,
	};
	memcpy(node->name, name, len);
	put(x->by_name, x->mask, node->hash, node);
	put(x->by_core, x->mask, hash_core(core), node);
	x->used++;
	return node;
}

void qv_fi_index_free(struct qv_fi_av_index *x)
{
	for (size_t i = 0; x->by_name && i <= x->mask; i++)
		free(x->by_name[i]);
	free(x->by_name);
	free(x->by_core);
}
