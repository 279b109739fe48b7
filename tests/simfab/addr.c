/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * addr.c - addresses of the simulated cores, and what the provider asks the kernel of them
 * (wrapped at link time): does anybody listen there, is something still on its way?
 */
#include "fab.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fabric_glue/layered/presence.h"

#define PORTS      4096u
#define FIRST_PORT 1024u

static struct sf_cep **who; /* by number */
static uint32_t used = 1, cap;

uint32_t sf_addr_new(void)
{
	if (used >= cap) {
		cap = cap ? 2 * cap : 1024;
		who = sf_grow(who, cap * sizeof(struct sf_cep *));
	}
	who[used] = NULL;
	return used++;
}

struct sf_cep *sf_addr_who(uint32_t number)
{
	return number < used ? who[number] : NULL;
}

void sf_addr_set(uint32_t number, struct sf_cep *ep)
{
	who[number] = ep;
}

size_t sf_addr_write(const struct sf_flavor *fl, uint32_t number, uint32_t pid, char *out)
{
	struct sockaddr_in in = {.sin_family = AF_INET};

	if (fl->shared)
		return (size_t)snprintf(out, SF_ADDR_MAX, "fi_shm://%u:0:%u", pid, number) + 1;
	in.sin_addr.s_addr = htonl(0x0a000000u | (number / PORTS + 1));
	in.sin_port = htons((uint16_t)(FIRST_PORT + number % PORTS));
	memcpy(out, &in, sizeof in);
	return sizeof in;
}

uint32_t sf_addr_parse(const struct sf_flavor *fl, const void *addr)
{
	struct sockaddr_in in;
	const char *colon;
	uint32_t number;

	if (fl->shared) {
		colon = strrchr(addr, ':');
		number = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
	} else {
		memcpy(&in, addr, sizeof in);
		if (!in.sin_port)
			return 0;
		number = ((ntohl(in.sin_addr.s_addr) & 0xffffffu) - 1) * PORTS +
			 ntohs(in.sin_port) - FIRST_PORT;
	}
	return number < used ? number : 0;
}

/* What the kernel says. */

struct qv_fi_tcp {
	struct sf_proc *proc;
};

struct qv_fi_tcp *__wrap_qv_fi_tcp_open(const void *own, size_t len);
void __wrap_qv_fi_tcp_close(struct qv_fi_tcp *l);
enum qv_presence __wrap_qv_fi_tcp_listens(struct qv_fi_tcp *l, const void *addr, size_t len,
					  uint64_t *silent);
void __wrap_qv_fi_tcp_end(struct qv_fi_tcp *l, const void *addr, size_t len, bool others);
bool __wrap_qv_fi_tcp_unacked(struct qv_fi_tcp *l, const void *addr, size_t len);

static uint32_t number_of(const void *addr, size_t len)
{
	return len >= sizeof(struct sockaddr_in) ? sf_addr_parse(sf_flavor_of("tcp"), addr) : 0;
}

struct qv_fi_tcp *__wrap_qv_fi_tcp_open(const void *own, size_t own_len)
{
	struct qv_fi_tcp *l = malloc(sizeof *l);

	(void)own;
	(void)own_len;
	if (l)
		l->proc = sf.self;
	return l;
}

void __wrap_qv_fi_tcp_close(struct qv_fi_tcp *l)
{
	free(l);
}

/* Connections of the living are made at once here: none is waited for too long. With a host that is
 * off the core holds transfers for ever, and gives them back now. */
void __wrap_qv_fi_tcp_end(struct qv_fi_tcp *l, const void *addr, size_t len, bool others)
{
	(void)others;
	sf_net_give_back(l->proc, number_of(addr, len));
}

/* Of another host that is off nobody says that nobody listens: it is silent, for ever. */
enum qv_presence __wrap_qv_fi_tcp_listens(struct qv_fi_tcp *l, const void *addr, size_t len,
					  uint64_t *silent)
{
	uint32_t number = number_of(addr, len);
	const struct sf_cep *ep = sf_addr_who(number);

	if (!number)
		return QV_PRESENT;
	*silent = UINT32_MAX;
	if (!ep || ep->closed)
		return ep && ep->proc->silent && ep->proc->host != l->proc->host ? QV_SILENT
										 : QV_ABSENT;
	return QV_PRESENT;
}

bool __wrap_qv_fi_tcp_unacked(struct qv_fi_tcp *l, const void *addr, size_t len)
{
	return sf_net_unacked(l->proc, number_of(addr, len));
}
