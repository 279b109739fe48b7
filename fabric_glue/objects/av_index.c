/* SPDX-License-Identifier: BSD-2-Clause */
/* av_index.c - every address that the cores' AVs hold, found by its bytes and
 * by its number. */
#include "av.h"
#include "engine/base/hash.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_SIZE 64  /* slots, a power of two */
#define IB_LEN     48  /* struct sockaddr_ib of the kernel */
#define TEXT_MAX   256 /* shm's room for a name, with the zero behind it */

/* Formats. */

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

size_t qv_fi_addr_len(const struct qv_fi_format *format, const void *addr)
{
	if (format->pair)
		return qv_fi_pair_len(addr);
	switch (format->main) {
	case FI_ADDR_STR: return strnlen(addr, QV_FI_ADDR_MAX) + 1;
	case FI_SOCKADDR: return family_len(addr);
	case FI_SOCKADDR_IN: return sizeof(struct sockaddr_in);
	case FI_SOCKADDR_IN6: return sizeof(struct sockaddr_in6);
	case FI_SOCKADDR_IB: return IB_LEN;
	default: return format->fixed;
	}
}

static size_t normal_in(const void *addr, char *out)
{
	struct sockaddr_in from, to = {.sin_family = AF_INET};

	memcpy(&from, addr, sizeof from);
	to.sin_port = from.sin_port;
	to.sin_addr = from.sin_addr;
	memcpy(out, &to, sizeof to);
	return to.sin_port && to.sin_addr.s_addr != INADDR_ANY ? sizeof to : 0;
}

static size_t normal_in6(const void *addr, char *out)
{
	struct sockaddr_in6 from, to = {.sin6_family = AF_INET6};

	memcpy(&from, addr, sizeof from);
	to.sin6_port = from.sin6_port;
	to.sin6_addr = from.sin6_addr;
	if (IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr))
		to.sin6_scope_id = from.sin6_scope_id;
	memcpy(out, &to, sizeof to);
	return to.sin6_port && !IN6_IS_ADDR_UNSPECIFIED(&to.sin6_addr) ? sizeof to : 0;
}

static size_t normal_ip(uint32_t format, const void *addr, size_t len, char *out)
{
	sa_family_t family;

	if (len < sizeof family)
		return 0;
	memcpy(&family, addr, sizeof family);
	if (family == AF_INET && format != FI_SOCKADDR_IN6 && len >= sizeof(struct sockaddr_in))
		return normal_in(addr, out);
	if (family == AF_INET6 && format != FI_SOCKADDR_IN && len >= sizeof(struct sockaddr_in6))
		return normal_in6(addr, out);
	return 0;
}

/* shm makes the name of a file in /dev/shm from what follows "fi_shm://" or "fi_ns://". */
static bool is_file_name(const char *text, size_t len)
{
	if (!len || *text == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '/')
			return false;
	return true;
}

static size_t normal_text(const char *addr, size_t len, char *out)
{
	const char *from;

	len = strnlen(addr, len < TEXT_MAX ? len : TEXT_MAX);
	if (len == TEXT_MAX)
		return 0;
	from = memmem(addr, len, "://", 3);
	from = from ? from + 3 : addr;
	if (!is_file_name(from, len - (size_t)(from - addr)))
		return 0;
	memcpy(out, addr, len);
	out[len] = 0;
	return len + 1;
}

static size_t normal_main(const struct qv_fi_format *format, const void *addr, size_t len,
			  char *out)
{
	size_t fixed = format->fixed;

	switch (format->main) {
	case FI_ADDR_STR: return normal_text(addr, len, out);
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN6: return normal_ip(format->main, addr, len, out);
	case FI_SOCKADDR_IB: fixed = IB_LEN; break;
	}
	if (!len || len > QV_FI_ADDR_MAX || (fixed && len != fixed))
		return 0;
	memcpy(out, addr, len);
	return len;
}

/* An address of our own format has no slack besides that of the main core's. */
static size_t normal_pair(const struct qv_fi_format *format, const void *addr, size_t len,
			  char *out)
{
	char main[QV_FI_ADDR_MAX];
	struct qv_fi_pair pair;
	size_t main_len;

	if (!qv_fi_pair_parse(addr, len, &pair))
		return 0;
	main_len = normal_main(format, pair.main, pair.main_len, main);
	if (!main_len || main_len > UINT8_MAX)
		return 0;
	return qv_fi_pair_make(out, pair.node, pair.local, main, main_len);
}

size_t qv_fi_addr_normal(const struct qv_fi_format *format, const void *addr, size_t len, char *out)
{
	return format->pair ? normal_pair(format, addr, len, out)
			    : normal_main(format, addr, len, out);
}

/* Tables. */

static uint32_t hash_name(const void *name, size_t len)
{
	const uint64_t h = qv_fnv(QV_FNV_START, name, len);

	return (uint32_t)(h ^ h >> 32);
}

static size_t name_hash(const struct qv_fi_av_node *node)
{
	return node->hash;
}

static size_t hash_way(struct qv_fi_way way)
{
	return (size_t)((way.addr * 2 + way.core) * 0x9e3779b97f4a7c15u >> 32);
}

static size_t way_hash(const struct qv_fi_av_node *node)
{
	return hash_way(node->way);
}

static void put(struct qv_fi_av_table *t, size_t hash, struct qv_fi_av_node *node)
{
	size_t i = hash & t->mask;

	while (t->slots[i])
		i = (i + 1) & t->mask;
	t->slots[i] = node;
}

/* Room for one more. */
static bool grow(struct qv_fi_av_table *t, size_t (*hash)(const struct qv_fi_av_node *))
{
	size_t old = t->slots ? t->mask + 1 : 0;
	struct qv_fi_av_table larger;

	if (2 * (t->used + 1) <= old)
		return true;
	larger.used = t->used;
	larger.mask = (old ? 2 * old : FIRST_SIZE) - 1;
	larger.slots = calloc(larger.mask + 1, sizeof(struct qv_fi_av_node *));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < old; i++)
		if (t->slots[i])
			put(&larger, hash(t->slots[i]), t->slots[i]);
	free(t->slots);
	*t = larger;
	return true;
}

/* Empty slot i, moving up what was pushed past it. */
static void clear(struct qv_fi_av_table *t, size_t i, size_t (*hash)(const struct qv_fi_av_node *))
{
	struct qv_fi_av_node *node;

	t->slots[i] = NULL;
	t->used--;
	for (i = (i + 1) & t->mask; (node = t->slots[i]); i = (i + 1) & t->mask) {
		t->slots[i] = NULL;
		put(t, hash(node), node);
	}
}

struct qv_fi_av_node *qv_fi_index_by_name(const struct qv_fi_av_index *x, const void *name,
					  size_t len)
{
	const struct qv_fi_av_table *t = &x->by_name;
	uint32_t hash = hash_name(name, len);
	struct qv_fi_av_node *node;

	if (!t->used)
		return NULL;
	for (size_t i = hash & t->mask; (node = t->slots[i]); i = (i + 1) & t->mask)
		if (node->hash == hash && node->namelen == len && !memcmp(node->name, name, len))
			return node;
	return NULL;
}

/* The slot of this number, NULL if there is none. */
static struct qv_fi_av_node **find_way(const struct qv_fi_av_table *t, struct qv_fi_way way)
{
	if (!t->used)
		return NULL;
	for (size_t i = hash_way(way) & t->mask; t->slots[i]; i = (i + 1) & t->mask)
		if (t->slots[i]->way.addr == way.addr && t->slots[i]->way.core == way.core)
			return &t->slots[i];
	return NULL;
}

struct qv_fi_av_node *qv_fi_index_by_way(const struct qv_fi_av_index *x, struct qv_fi_way way)
{
	struct qv_fi_av_node **slot = find_way(&x->by_way, way);

	return slot ? *slot : NULL;
}

struct qv_fi_av_node *qv_fi_index_add(struct qv_fi_av_index *x, const void *name, size_t len)
{
	struct qv_fi_av_node *node;

	if (!grow(&x->by_name, name_hash))
		return NULL;
	node = malloc(sizeof *node + len);
	if (!node)
		return NULL;
	*node = (struct qv_fi_av_node){
		.way.addr = FI_ADDR_NOTAVAIL,
		.index = FI_ADDR_NOTAVAIL,
		.hash = hash_name(name, len),
		.namelen = (uint32_t)len,
	};
	memcpy(node->name, name, len);
	put(&x->by_name, node->hash, node);
	x->by_name.used++;
	return node;
}

bool qv_fi_index_reached(struct qv_fi_av_index *x, struct qv_fi_av_node *node, struct qv_fi_way way)
{
	struct qv_fi_av_node **slot = find_way(&x->by_way, way);

	if (slot) {
		/* The core knows two spellings as one address: the application's counts. */
		if ((*slot)->index == FI_ADDR_NOTAVAIL)
			*slot = node;
		node->way = way;
		return true;
	}
	if (!grow(&x->by_way, way_hash))
		return false;
	node->way = way;
	put(&x->by_way, hash_way(way), node);
	x->by_way.used++;
	return true;
}

void qv_fi_index_drop(struct qv_fi_av_index *x, struct qv_fi_av_node *node)
{
	struct qv_fi_av_node **slot =
		node->way.addr == FI_ADDR_NOTAVAIL ? NULL : find_way(&x->by_way, node->way);
	size_t i = node->hash & x->by_name.mask;

	if (slot && *slot == node)
		clear(&x->by_way, (size_t)(slot - x->by_way.slots), way_hash);

	while (x->by_name.slots[i] != node)
		i = (i + 1) & x->by_name.mask;
	clear(&x->by_name, i, name_hash);
	free(node);
}

void qv_fi_index_free(struct qv_fi_av_index *x)
{
	for (size_t i = 0; x->by_name.slots && i <= x->by_name.mask; i++)
		free(x->by_name.slots[i]);
	free(x->by_name.slots);
	free(x->by_way.slots);
}
