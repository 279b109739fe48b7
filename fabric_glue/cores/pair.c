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

static const char mark[2] = {'Q', 'v'};
#define VERSION 2u

/* What the local address is; the form of an address is that and the version. */
enum kind {
	NONE, /* not to be reached by a local core: node and local are 0 */
	NODE, /* the name of an endpoint of node */
	SHM,  /* of shm: the number of its process, and a count there */
};
#define FORM(kind) ((uint8_t)(VERSION << 4 | (kind)))

static const char shm_scheme[] = "fi_shm://";

/* How shm spells it. The user is the same for all of a node: qv_fi_node. */
static int print_shm(char *text, uint32_t process, uint32_t count)
{
	return snprintf(text, QV_FI_PAIR_TEXT, "%s%u:%d:%u", shm_scheme, process, (int)getuid(),
			count);
}

/* What a local address says; NONE: it is of a form that we do not know. */
static enum kind read_local(const char *text, uint64_t *local)
{
	char again[QV_FI_PAIR_TEXT];
	unsigned process, count;

	if (!text)
		return NONE;
	if (qv_fi_node_parse(text, local))
		return NODE;
	if (strncmp(text, shm_scheme, sizeof shm_scheme - 1) ||
	    sscanf(text + sizeof shm_scheme - 1, "%u:%*d:%u", &process, &count) != 2 || !process)
		return NONE;
	print_shm(again, process, count);
	if (strcmp(text, again))
		return NONE;
	*local = (uint64_t)process << 32 | count;
	return SHM;
}

static_assert(sizeof(struct qv_fi_pair_addr) + sizeof(struct sockaddr_in6) <= 48,
	      "some programs have room for 48 bytes");

/* Addresses. */

size_t qv_fi_pair_len(const void *addr)
{
	const struct qv_fi_pair_addr *a = addr;

	return memcmp(a->mark, mark, sizeof mark) ? 0 : sizeof *a + a->main_len;
}

static bool is_sound(const struct qv_fi_pair_addr *a, uint64_t node, uint64_t local)
{
	switch (a->form) {
	case FORM(NONE): return !node && !local;
	case FORM(NODE): return node;
	case FORM(SHM): return node && local >> 32 && !(local & UINT64_C(0x8000000080000000));
	default: return false; /* of another version */
	}
}

bool qv_fi_pair_parse(const void *addr, size_t len, struct qv_fi_pair *pair)
{
	const struct qv_fi_pair_addr *a = addr;
	uint64_t local;

	if (len < sizeof *a || len != qv_fi_pair_len(addr))
		return false;
	memcpy(&pair->node, a->node, sizeof pair->node);
	memcpy(&local, a->local, sizeof local);
	if (!is_sound(a, pair->node, local))
		return false;
	pair->main = a->main;
	pair->main_len = a->main_len;
	pair->local[0] = 0;
	if (a->form == FORM(NODE))
		qv_fi_node_print(pair->local, local);
	else if (a->form == FORM(SHM))
		print_shm(pair->local, (uint32_t)(local >> 32), (uint32_t)local);
	return true;
}

size_t qv_fi_pair_make(void *out, uint64_t node, const char *text, const void *main,
		       size_t main_len)
{
	struct qv_fi_pair_addr *a = out;
	uint64_t local;
	enum kind kind = node ? read_local(text, &local) : NONE;

	memset(a, 0, sizeof *a);
	memcpy(a->mark, mark, sizeof mark);
	a->form = FORM(kind);
	a->main_len = (uint8_t)main_len;
	memcpy(a->main, main, main_len);
	if (kind != NONE) {
		memcpy(a->node, &node, sizeof node);
		memcpy(a->local, &local, sizeof local);
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
	const uid_t user[] = {getuid(), geteuid()};

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
	hash = qv_fnv(hash, user, sizeof user);
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
