/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - addresses that name two cores, and the node that one of them is limited to. */
#include "pair.h"
#include "fabric_glue/node/node.h"
#include "engine/base/hash.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char mark[3] = {'Q', 'v', 1}; /* the last one: version */
static const char *const schemes[] = {"fi_shm://", QV_FI_NODE_SCHEME};

/* An address of shm has the number of its process, the user's and a count, one of node is a number. */
static const char *scheme_of(const char *local)
{
	return schemes[!memchr(local, ':', QV_FI_PAIR_LOCAL) &&
		       !memchr(local, '-', QV_FI_PAIR_LOCAL)];
}

/* What is behind the scheme; NULL: another kind of address. */
static const char *without_scheme(const char *local)
{
	for (size_t i = 0; local && i < sizeof schemes / sizeof *schemes; i++)
		if (!strncmp(local, schemes[i], strlen(schemes[i])))
			return local + strlen(schemes[i]);
	return NULL;
}

static_assert(sizeof(struct qv_fi_pair_addr) + sizeof(struct sockaddr_in6) <= 64,
	      "Open MPI 4 has room for 64 bytes");

/* Addresses. */

size_t qv_fi_pair_len(const void *addr)
{
	const struct qv_fi_pair_addr *a = addr;

	return memcmp(a->mark, mark, sizeof mark) ? 0 : sizeof *a + a->main_len;
}

/* Zeroes behind it, or nothing but zeroes: shm makes the name of a file of it. */
static bool local_is_valid(const char *local)
{
	size_t i = 0;

	while (i < QV_FI_PAIR_LOCAL && ((local[i] >= '0' && local[i] <= '9') ||
					(i && (local[i] == ':' || local[i] == '-'))))
		i++;
	while (i < QV_FI_PAIR_LOCAL && !local[i])
		i++;
	return i == QV_FI_PAIR_LOCAL;
}

bool qv_fi_pair_parse(const void *addr, size_t len, struct qv_fi_pair *pair)
{
	const struct qv_fi_pair_addr *a = addr;

	if (len < sizeof *a || len != qv_fi_pair_len(addr) || !local_is_valid(a->local))
		return false;
	memcpy(&pair->node, a->node, sizeof pair->node);
	pair->main = a->main;
	pair->main_len = a->main_len;
	pair->local[0] = 0;
	if (a->local[0])
		snprintf(pair->local, sizeof pair->local, "%s%.*s", scheme_of(a->local),
			 (int)sizeof a->local, a->local);
	return true;
}

size_t qv_fi_pair_make(void *out, uint64_t node, const char *local, const void *main,
		       size_t main_len)
{
	struct qv_fi_pair_addr *a = out;
	size_t len;

	memset(a, 0, sizeof *a);
	memcpy(a->mark, mark, sizeof mark);
	a->main_len = (uint8_t)main_len;
	memcpy(a->main, main, main_len);
	local = without_scheme(local);
	if (!node || !local)
		return sizeof *a + main_len;
	len = strlen(local);
	if (len <= sizeof a->local) {
		memcpy(a->node, &node, sizeof node);
		memcpy(a->local, local, len);
	}
	return sizeof *a + main_len;
}

static int replace(void **addr, size_t *len, const void *with, size_t with_len)
{
	void *copy = malloc(with_len);

	if (!copy)
		return -FI_ENOMEM;
	memcpy(copy, with, with_len);
	free(*addr);
	*addr = copy;
	*len = with_len;
	return 0;
}

static int wrap(void **addr, size_t *len)
{
	char out[QV_FI_PAIR_MAX];

	if (!*addr)
		return 0;
	if (*len > UINT8_MAX)
		return -FI_EINVAL;
	return replace(addr, len, out, qv_fi_pair_make(out, 0, NULL, *addr, *len));
}

int qv_fi_pair_wrap(struct fi_info *info)
{
	int ret = wrap(&info->src_addr, &info->src_addrlen);

	if (!ret)
		ret = wrap(&info->dest_addr, &info->dest_addrlen);
	if (!ret)
		info->addr_format = QV_FI_ADDR_PAIR;
	return ret;
}

static int unwrap(void **addr, size_t *len)
{
	struct qv_fi_pair pair;

	if (!*addr)
		return 0;
	if (!qv_fi_pair_parse(*addr, *len, &pair))
		return -FI_EINVAL;
	return replace(addr, len, pair.main, pair.main_len);
}

/* The core's format is one that its addresses tell, or the only one that it has. */
int qv_fi_pair_unwrap(struct fi_info *info)
{
	int ret = unwrap(&info->src_addr, &info->src_addrlen);
	size_t len;

	if (!ret)
		ret = unwrap(&info->dest_addr, &info->dest_addrlen);
	len = info->src_addr ? info->src_addrlen : info->dest_addrlen;
	info->addr_format = len == sizeof(struct sockaddr_in)    ? FI_SOCKADDR_IN
			    : len == sizeof(struct sockaddr_in6) ? FI_SOCKADDR_IN6
								 : FI_FORMAT_UNSPEC;
	return ret;
}

/* The node. */

/* shm's file for each endpoint has 16 MiB, of which it writes 4 at once. Where it cannot, it dies:
 * a container with 64 MiB, Docker's default, is not enough for more than a few processes. */
#define ROOM ((uint64_t)128 << 20)

static uint64_t mix_file(uint64_t hash, const struct stat *st)
{
	hash = qv_fnv(hash, &st->st_dev, sizeof st->st_dev);
	return qv_fnv(hash, &st->st_ino, sizeof st->st_ino);
}

static bool has_room(void)
{
	struct statvfs fs;

	return !statvfs("/dev/shm", &fs) && (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM;
}

/* What processes must share to reach each other by the core. */
static const char *const *scope_of(const char *core)
{
	static const char *const node[] = {"/proc/self/ns/net", NULL}; /* its sockets */
	static const char *const shm[] = {"/dev/shm", "/proc/self/ns/pid", NULL};

	return qv_fi_is_node(core) ? node : shm;
}

/* A file of some lines; 0: it cannot be read. */
static uint64_t mix_text(uint64_t hash, const char *path)
{
	FILE *f = fopen(path, "r");
	char text[512];
	size_t len;

	if (!f)
		return 0;
	len = fread(text, 1, sizeof text, f);
	fclose(f);
	return len ? qv_fnv(hash, text, len) : 0;
}

/* Numbers of users mean the same where they are mapped in the same way, whatever name space that is. */
static uint64_t mix_node(uint64_t hash)
{
	static const uint32_t version = QV_NODE_VERSION;
	const uint64_t mapped = mix_text(hash, "/proc/self/uid_map");

	return qv_fnv(mapped ? mapped : hash, &version, sizeof version);
}

uint64_t qv_fi_node(const char *core)
{
	uint64_t hash = mix_text(QV_FNV_START, "/proc/sys/kernel/random/boot_id");
	uid_t user = geteuid();

	if (!hash || (!qv_fi_is_node(core) && !has_room()))
		return 0;
	if (qv_fi_is_node(core))
		hash = mix_node(hash);
	for (const char *const *place = scope_of(core); *place; place++) {
		struct stat st;

		if (stat(*place, &st))
			return 0;
		hash = mix_file(hash, &st);
	}
	hash = qv_fnv(hash, &user, sizeof user);
	return qv_fnv(hash, qv_fi_params.node, strlen(qv_fi_params.node)) | 1;
}

/* Do both addresses, with whatever ports, belong to one host of an IP network? */
static bool is_same_host(const void *a, size_t alen, const void *b, size_t blen)
{
	struct sockaddr_in6 x = {.sin6_family = 0}, y = x;
	struct sockaddr_in x4, y4;

	if (alen != blen || alen > sizeof x || alen < sizeof x4)
		return false;
	memcpy(&x, a, alen);
	memcpy(&y, b, blen);
	memcpy(&x4, &x, sizeof x4);
	memcpy(&y4, &y, sizeof y4);
	if (x.sin6_family != y.sin6_family)
		return false;
	if (x.sin6_family == AF_INET)
		return x4.sin_addr.s_addr == y4.sin_addr.s_addr;
	return x.sin6_family == AF_INET6 && alen == sizeof x &&
	       !memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr);
}

bool qv_fi_pair_is_here(const struct qv_fi_pair *pair, const void *own, size_t len)
{
	uint64_t name;

	return is_same_host(own, len, pair->main, pair->main_len) ||
	       !qv_fi_node_parse(pair->local, &name) || qv_node_is_here(name);
}
