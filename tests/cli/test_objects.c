/* SPDX-License-Identifier: BSD-2-Clause */
/* test_objects.c - fabric, domain, address vectors and registrations, without any traffic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define PROV_SPECIFIC 0x80000000u /* FI_PROV_SPECIFIC, which the headers of 2.x lack */

enum { NAME = 64, MANY = 100000 };

struct env {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
};

/* Over two cores an address of the network is the last part of a longer one. */
static size_t head(const struct env *e)
{
	return e->info->addr_format & PROV_SPECIFIC
		       ? e->info->src_addrlen - sizeof(struct sockaddr_in)
		       : 0;
}

static bool is_ip(const struct env *e)
{
	return e->info->addr_format == FI_SOCKADDR_IN || head(e);
}

static int set_up(void **state)
{
	struct fi_info *hints = fi_allocinfo();
	struct env *e = calloc(1, sizeof *e);

	assert_non_null(hints);
	assert_non_null(e);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	assert_int_equal(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &e->info), 0);
	fi_freeinfo(hints);
	assert_int_equal(fi_fabric(e->info->fabric_attr, &e->fabric, NULL), 0);
	assert_int_equal(fi_domain(e->fabric, e->info, &e->domain, NULL), 0);
	*state = e;
	return 0;
}

static int tear_down(void **state)
{
	struct env *e = *state;

	if (e->av)
		assert_int_equal(fi_close(&e->av->fid), 0);
	assert_int_equal(fi_close(&e->domain->fid), 0);
	assert_int_equal(fi_close(&e->fabric->fid), 0);
	fi_freeinfo(e->info);
	free(e);
	return 0;
}

static void open_av(struct env *e, enum fi_av_type type, uint64_t flags)
{
	struct fi_av_attr attr = {.type = type, .flags = flags};

	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), 0);
}

/* The i-th address that nobody has; returns its length. */
static size_t make_up(const struct env *e, unsigned i, char *to)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(7000)};

	if (!is_ip(e))
		return (size_t)snprintf(to, NAME, "fi_shm://quiver-test-%u", i) + 1;
	in.sin_addr.s_addr = htonl(0x0a000001u + i);
	memcpy(to, e->info->src_addr, head(e));
	memcpy(to + head(e), &in, sizeof in);
	return head(e) + sizeof in;
}

static fi_addr_t insert(struct env *e, unsigned i)
{
	char name[NAME] = "";
	fi_addr_t addr = FI_ADDR_UNSPEC;

	make_up(e, i, name);
	assert_int_equal(fi_av_insert(e->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

static void check_name(struct env *e, fi_addr_t addr, unsigned i)
{
	char want[NAME] = "", got[NAME] = "";
	size_t len = make_up(e, i, want), got_len = sizeof got;

	assert_int_equal(fi_av_lookup(e->av, addr, got, &got_len), 0);
	assert_int_equal(got_len, len);
	assert_memory_equal(got, want, len);
}

/* Address vectors. */

static void indexes(struct env *e)
{
	fi_addr_t gone[2];

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(insert(e, i), i);
	assert_int_equal(insert(e, 3), 3); /* twice is once, until it is removed twice */
	gone[0] = 3;
	gone[1] = 1;
	assert_int_equal(fi_av_remove(e->av, gone, 2, 0), 0);
	check_name(e, 3, 3);
	assert_int_equal(fi_av_remove(e->av, gone, 1, 0), 0);
	assert_int_not_equal(fi_av_lookup(e->av, 3, NULL, &(size_t){0}), 0);
	assert_int_equal(insert(e, 10), 1); /* the lowest free ones */
	assert_int_equal(insert(e, 11), 3);
	assert_int_equal(insert(e, 12), 5);
	assert_int_equal(insert(e, 1), 6);
	for (unsigned i = 0; i < 7; i++)
		check_name(e, i, (const unsigned[]){0, 10, 2, 11, 4, 12, 1}[i]);
	assert_int_equal(fi_av_remove(e->av, &(fi_addr_t){99}, 1, 0), -FI_EINVAL);
}

static void av_table(void **state)
{
	open_av(*state, FI_AV_TABLE, 0);
	indexes(*state);
}

static void av_map(void **state)
{
	open_av(*state, FI_AV_MAP, FI_SYMMETRIC);
	indexes(*state);
}

static void av_type(void **state)
{
	struct env *e = *state;
	struct fi_av_attr attr = {.type = FI_AV_UNSPEC};

	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), 0);
	assert_int_equal(attr.type, FI_AV_TABLE);
}

/* A large job: nobody is spoken to, so that the core need not know. */
static void av_many(void **state)
{
	struct env *e = *state;
	char *names = calloc(MANY, NAME), *at = names;
	fi_addr_t *addrs = calloc(MANY, sizeof *addrs);

	assert_non_null(names);
	assert_non_null(addrs);
	open_av(e, FI_AV_TABLE, 0);
	for (unsigned i = 0; i < MANY; i++)
		at += make_up(e, i, at);
	assert_int_equal(fi_av_insert(e->av, names, MANY, addrs, 0, NULL), MANY);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(addrs[i], i);
	for (unsigned i = 0; i < MANY; i += 997)
		check_name(e, i, i);
	assert_int_equal(fi_av_remove(e->av, addrs, MANY, 0), 0);
	assert_int_equal(insert(e, MANY / 2), 0);
	free(addrs);
	free(names);
}

/* The second of three is an address that nobody can have. */
static void three(const struct env *e, char *names)
{
	size_t len = make_up(e, 0, names);

	if (is_ip(e)) {
		make_up(e, 1, names + len);
		memset(names + len + head(e) + offsetof(struct sockaddr_in, sin_port), 0, 2);
		make_up(e, 2, names + 2 * len);
	} else {
		names[len] = 0;
		make_up(e, 2, names + len + 1);
	}
}

static void av_bad_address(void **state)
{
	struct env *e = *state;
	char names[4 * NAME] = "";
	fi_addr_t addrs[3] = {7, 7, 7};
	int errors[3] = {7, 7, 7};

	open_av(e, FI_AV_TABLE, 0);
	three(e, names);
	assert_int_equal(fi_av_insert(e->av, names, 3, addrs, FI_SYNC_ERR, errors), 2);
	assert_int_equal(addrs[0], 0);
	assert_int_equal(addrs[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(addrs[2], 1);
	assert_int_equal(errors[0] | errors[2], 0);
	assert_int_equal(errors[1], FI_EADDRNOTAVAIL);
	assert_int_equal(fi_av_insert(e->av, names, 1, addrs, FI_SYNC_ERR, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(e->av, names, 1, addrs, 1ULL << 50, NULL), -FI_EBADFLAGS);
	check_name(e, 1, 2);
}

static void av_event(void **state)
{
	struct env *e = *state;
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_eq_err_entry err = {0};
	struct fi_eq_entry entry = {0};
	char names[4 * NAME] = "";
	fi_addr_t addrs[3];
	struct fid_eq *eq;
	uint32_t event = 0;
	int mark;

	assert_int_equal(fi_eq_open(e->fabric, &attr, &eq, NULL), 0);
	open_av(e, FI_AV_TABLE, FI_EVENT);
	three(e, names);
	assert_int_equal(fi_av_insert(e->av, names, 3, addrs, 0, &mark), -FI_ENOEQ);
	assert_int_equal(fi_av_bind(e->av, &eq->fid, 0), 0);
	assert_int_equal(fi_av_insert(e->av, names, 3, addrs, 0, &mark), 0);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof err);
	assert_int_equal(err.data, 1);
	assert_int_equal(err.err, FI_EADDRNOTAVAIL);
	assert_ptr_equal(err.context, &mark);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
	assert_int_equal(event, FI_AV_COMPLETE);
	assert_ptr_equal(entry.fid, &e->av->fid);
	assert_ptr_equal(entry.context, &mark);
	assert_int_equal(entry.data, 2);
	assert_int_equal(addrs[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&e->av->fid), 0);
	e->av = NULL;
	assert_int_equal(fi_close(&eq->fid), 0);
}

/* Shared vectors are not served; MPICH asks first for one that exists already. */
static void av_refused(void **state)
{
	struct env *e = *state;
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .name = "FI_NAMED_AV_0", .flags = FI_READ};

	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), -FI_ENOSYS);
	attr.flags = 0;
	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), -FI_ENOSYS);
	attr.name = NULL;
	attr.rx_ctx_bits = 4;
	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), -FI_EINVAL);
	attr.rx_ctx_bits = 0;
	attr.flags = 1ULL << 50;
	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), -FI_EBADFLAGS);
	attr.flags = 0;
	attr.type = 9;
	assert_int_equal(fi_av_open(e->domain, &attr, &e->av, NULL), -FI_EINVAL);
	assert_null(e->av);
}

static void check_ip(struct env *e, fi_addr_t addr, const char *ip, int port)
{
	char name[NAME], text[INET_ADDRSTRLEN];
	struct sockaddr_in got;
	size_t len = sizeof name;

	assert_int_equal(fi_av_lookup(e->av, addr, name, &len), 0);
	assert_int_equal(len, head(e) + sizeof got);
	memcpy(&got, name + head(e), sizeof got);
	assert_string_equal(inet_ntop(AF_INET, &got.sin_addr, text, sizeof text), ip);
	assert_int_equal(ntohs(got.sin_port), port);
}

static void av_by_service(void **state)
{
	struct env *e = *state;
	fi_addr_t addrs[4] = {9, 9, 9, 9};
	char text[NAME], name[NAME];
	size_t len = sizeof text, name_len = sizeof name;

	open_av(e, FI_AV_TABLE, 0);
	if (!is_ip(e)) {
		assert_int_equal(
			fi_av_insertsvc(e->av, "fi_shm://quiver-test-0", NULL, addrs, 0, NULL), 1);
		check_name(e, addrs[0], 0);
		return;
	}
	assert_int_equal(fi_av_insertsvc(e->av, "127.0.0.1", "5000", addrs, 0, NULL), 1);
	check_ip(e, addrs[0], "127.0.0.1", 5000);
	assert_int_equal(fi_av_insertsym(e->av, "10.1.1.1", 2, "5000", 2, addrs, 0, NULL), 4);
	for (unsigned i = 0; i < 4; i++)
		check_ip(e, addrs[i], i < 2 ? "10.1.1.1" : "10.1.1.2", 5000 + (int)i % 2);
	assert_int_equal(addrs[3], 4);
	/* Named by its bytes it is the same address. */
	assert_int_equal(fi_av_insertsvc(e->av, "127.0.0.1", "5000", addrs, 0, NULL), 1);
	assert_int_equal(addrs[0], 0);
	assert_int_equal(fi_av_lookup(e->av, 0, name, &name_len), 0);
	assert_non_null(fi_av_straddr(e->av, name, text, &len));
	assert_non_null(strstr(text, "127.0.0.1:5000"));
}

/* Padding that an application did not clear makes no other address. */
static void av_same_address(void **state)
{
	struct env *e = *state;
	char name[NAME];
	fi_addr_t addr;

	if (!is_ip(e))
		skip();
	open_av(e, FI_AV_TABLE, 0);
	assert_int_equal(insert(e, 0), 0);
	make_up(e, 0, name);
	memset(name + head(e) + offsetof(struct sockaddr_in, sin_zero), 0x55, 8);
	assert_int_equal(fi_av_insert(e->av, name, 1, &addr, 0, NULL), 1);
	assert_int_equal(addr, 0);
}

/* Life of objects. */

static void busy(void **state)
{
	struct env *e = *state;

	assert_int_equal(fi_close(&e->fabric->fid), -FI_EBUSY);
	open_av(e, FI_AV_TABLE, 0);
	assert_int_equal(fi_close(&e->domain->fid), -FI_EBUSY);
}

static void busy_av(void **state)
{
	struct env *e = *state;
	struct fid_ep *ep;

	open_av(e, FI_AV_TABLE, 0);
	assert_int_equal(fi_endpoint(e->domain, e->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &e->av->fid, 0), 0);
	assert_int_equal(fi_close(&e->av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&e->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&ep->fid), 0);
}

/* Closed before anything was bound to it: two cores of libfabric crash there by themselves. */
static void unused_ep(void **state)
{
	struct env *e = *state;
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(e->domain, e->info, &ep, NULL), 0);
	assert_int_equal(fi_close(&ep->fid), 0);
}

static void registration(void **state)
{
	struct env *e = *state;
	static char buf[4096];
	struct iovec iov = {.iov_base = buf, .iov_len = sizeof buf};
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ, .requested_key = 6};
	struct fid_mr *a, *b, *c;

	assert_int_equal(fi_mr_reg(e->domain, buf, sizeof buf, FI_REMOTE_READ, 0, 5, 0, &a, &attr),
			 0);
	assert_ptr_equal(a->fid.context, &attr);
	if (!(e->info->domain_attr->mr_mode & FI_MR_PROV_KEY)) {
		assert_int_equal(fi_mr_key(a), 5);
		assert_int_equal(
			fi_mr_reg(e->domain, buf, sizeof buf, FI_REMOTE_READ, 0, 5, 0, &b, NULL),
			-FI_ENOKEY);
	}
	assert_int_equal(fi_mr_regattr(e->domain, &attr, 0, &b), 0);
	assert_int_equal(fi_mr_regv(e->domain, &iov, 1, FI_REMOTE_WRITE, 0, 7, 0, &c, NULL), 0);
	assert_int_not_equal(fi_mr_key(b), fi_mr_key(c));
	assert_int_equal(fi_close(&e->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&a->fid), 0);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_int_equal(fi_close(&c->fid), 0);
}

static void not_served(void **state)
{
	struct env *e = *state;
	struct fi_wait_attr wait_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fid_wait *wait;
	struct fid_stx *stx;
	struct fid_pep *pep;
	struct fid_ep *ep;
	void *ops = NULL;

	assert_int_equal(fi_scalable_ep(e->domain, e->info, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_stx_context(e->domain, NULL, &stx, NULL), -FI_ENOSYS);
	assert_int_equal(fi_srx_context(e->domain, NULL, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_wait_open(e->fabric, &wait_attr, &wait), -FI_ENOSYS);
	assert_int_equal(fi_passive_ep(e->fabric, e->info, &pep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open_ops(&e->fabric->fid, "unheard of", 0, &ops, NULL), -FI_ENOSYS);
	assert_null(ops);
}

static void core_name(void **state)
{
	struct env *e = *state;
	const char *want = getenv("WANT_CORE");
	void *core = NULL;

	assert_non_null(want);
	assert_int_equal(fi_open_ops(&e->fabric->fid, "quiver_core", 0, &core, NULL), 0);
	/* TCP has two names, of which each libfabric knows one for this kind of endpoint. */
	if (!strcmp(want, "tcp") && strcmp(core, "tcp"))
		want = "net";
	if (!strcmp(want, "auto"))
		want = strstr(core, "net") ? "node,net" : "node,tcp";
	assert_string_equal(core, want);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(av_table),        CASE(av_map),     CASE(av_type),    CASE(av_many),
		CASE(av_bad_address),  CASE(av_event),   CASE(av_refused), CASE(av_by_service),
		CASE(av_same_address), CASE(busy),       CASE(busy_av),    CASE(unused_ep),
		CASE(registration),    CASE(not_served), CASE(core_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
