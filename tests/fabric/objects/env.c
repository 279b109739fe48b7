/* SPDX-License-Identifier: BSD-2-Clause */
/* env.c - settings of the user that cannot be met: nothing is offered, one line says why. */
#include "tests/fabric/harness/ft.h"

static void only_quiver(bool core)
{
	if (!ft.quiver || (core && strcmp(ft.prov, "quiver")))
		ft_skip("a setting of FI_PROVIDER=quiver");
}

/* With this setting nothing is offered; stderr names the setting and the word, once. */
static void refused(const char *name, const char *value, const char *word)
{
	struct fi_info *hints, *info = NULL;
	FILE *err;

	unsetenv("FI_LOG_LEVEL");
	setenv(name, value, 1);
	err = ft_catch_stderr();
	hints = ft_hints(&(struct ft_conf){0});
	for (int i = 0; i < 3; i++)
		CHECK_EQ(-ft_getinfo(hints, &info), FI_ENODATA);
	fi_freeinfo(hints);
	CHECK_EQ(ft_lines_with(err, "", ""), 1);
	CHECK_EQ(ft_lines_with(err, "quiver:", name), 1);
	if (word)
		CHECK_EQ(ft_lines_with(err, "quiver:", word), 1);
	fclose(err);
}

/* Each rank is a process of its own, so each has its own environment. */
static void env_core(void)
{
	only_quiver(true);
	if (ft.peer)
		ft_skip("peer mode works over fewer cores");
	switch (ft.rank) {
	case 0: refused("FI_QUIVER_CORE", "nosuch", "nosuch"); break;
	case 1: refused("FI_QUIVER_CORE", "tcp;ofi_rxm", "tcp;ofi_rxm;ofi_quiver"); break;
	case 2: refused("FI_QUIVER_CORE", "udp", "udp"); break;   /* no reliable datagrams */
	case 3: refused("FI_QUIVER_CORE", "psm2", "psm2"); break; /* known, without its hardware */
	case 4: refused("FI_QUIVER_CORE", "node,tcp;ofi_rxm", "FI_PROVIDER=\"quiver,tcp\""); break;
	default: refused("FI_QUIVER_CORE", "quiver", "quiver"); break;
	}
}

static void env_values(void)
{
	only_quiver(false);
	switch (ft.rank) {
	case 0: refused("FI_QUIVER_ISA", "sse9", "avx2"); break;
	case 1: refused("FI_QUIVER_MATCH", "nosuch", "nosuch"); break;
	case 2: refused("FI_QUIVER_EAGER", "many", "many"); break;
	case 3: refused("FI_QUIVER_COLL", "reduce=rings", "segmented"); break;
	case 4: refused("FI_QUIVER_PATIENCE", "2s", "seconds"); break;
	case 5: refused("FI_QUIVER_MEMORY", "-3", "-3"); break;
	default: refused("FI_QUIVER_COLL", "scan=binomial", "no scan"); break;
	}
}

/* FI_QUIVER_MODE=peer, where the shared receive context is not that of libfabric 2.0 and where it
 * is: what else it needs, and what it does not offer. */
static void env_mode(void)
{
	const bool has = FI_VERSION_GE(fi_version(), FI_VERSION(2, 0));
	struct fi_info *hints, *info = NULL;

	only_quiver(true);
	if (ft.rank == 0) {
		refused("FI_QUIVER_MODE", "sideways", "peer");
		return;
	}
	if (!has) {
		refused("FI_QUIVER_MODE", "peer", "2.0");
		return;
	}
	switch (ft.rank) {
	case 1:
		setenv("FI_QUIVER_CORE", "tcp", 1);
		refused("FI_QUIVER_MODE", "peer", "tcp");
		break;
	case 2:
		setenv("FI_QUIVER_CORE", "shm,tcp", 1);
		refused("FI_QUIVER_MODE", "peer", "one core");
		break;
	case 3:
		setenv("FI_QUIVER_STATS", "profile:never-written.%p", 1);
		refused("FI_QUIVER_MODE", "peer", "FI_QUIVER_STATS=profile");
		break;
	default:
		setenv("FI_QUIVER_MODE", "peer", 1);
		hints = ft_hints(&(struct ft_conf){.caps = FI_ATOMIC});
		CHECK_EQ(-ft_getinfo(hints, &info), FI_ENODATA); /* those of shm are wrong */
		hints->caps &= ~FI_ATOMIC;
		OK(ft_getinfo(hints, &info));
		CHECK(!(info->caps & (FI_COLLECTIVE | FI_ATOMIC)) && info->caps & FI_TAGGED);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}

/* Rank 0 in one mode, rank 1 in the other: each refuses the address of the other, and says why. */
static void modes_meet(void)
{
	static const char *const modes[] = {"layered", "peer"};
	const char *name = ft.sh->rank[!ft.rank].name[0];
	struct fi_av_attr attr = {.type = FI_AV_TABLE};
	struct fid_av *av;
	struct ft_ep ep;
	fi_addr_t addr;
	int error = 0;
	FILE *err;

	if (!ft.quiver || FI_VERSION_LT(fi_version(), FI_VERSION(2, 0)))
		ft_skip("there is one mode only");
	unsetenv("FI_LOG_LEVEL");
	setenv("FI_QUIVER_MODE", modes[ft.rank], 1);
	err = ft_catch_stderr();
	ft_open(&ep, &(struct ft_conf){.lonely = true});
	ft_barrier();
	OK(fi_av_open(ep.domain, &attr, &av, NULL));
	CHECK_EQ(fi_av_insert(av, name, 1, &addr, FI_SYNC_ERR, &error), 0);
	CHECK_EQ(addr, FI_ADDR_NOTAVAIL);
	CHECK_EQ(error, FI_EADDRNOTAVAIL);
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &addr, 0, NULL), 0);
	CHECK_EQ(ft_lines_with(err, "", ""), 1);
	CHECK_EQ(ft_lines_with(err, modes[ft.rank], modes[!ft.rank]), 1);
	CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[ft.rank].name[0], 1, &addr, 0, NULL), 1);
	fclose(err);
	OK(fi_close(&av->fid));
	ft_close(&ep);
}

/* Who has named nothing else is told what is refused, once; who has been offered something, or has
 * named others, can do without. */
static void env_reason(void)
{
	struct fi_info *hints, *info = NULL;
	FILE *err;

	only_quiver(true);
	unsetenv("FI_LOG_LEVEL");
	if (ft.rank == 1)
		setenv("FI_PROVIDER", "quiver,udp", 1);
	err = ft_catch_stderr();
	hints = ft_hints(&(struct ft_conf){0});
	if (ft.rank == 2) {
		OK(ft_getinfo(hints, &info));
		fi_freeinfo(info);
	}
	/* Who asks for device memory asks again without. */
	hints->caps |= ft.rank == 3 ? FI_HMEM : FI_RMA_PMEM;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(-ft_getinfo(hints, &info), FI_ENODATA);
	fi_freeinfo(hints);
	CHECK_EQ(ft_lines_with(err, "quiver:", "caps"), ft.rank == 0);
	CHECK_EQ(ft_lines_with(err, "", ""), ft.rank == 0);
	fclose(err);
}

static void env_quiet(void)
{
	struct fi_info *hints, *info = NULL;
	FILE *err;

	only_quiver(false);
	setenv("FI_QUIVER_QUIET", "1", 1);
	setenv("FI_QUIVER_ISA", "sse9", 1);
	err = ft_catch_stderr();
	hints = ft_hints(&(struct ft_conf){0});
	CHECK_EQ(-ft_getinfo(hints, &info), FI_ENODATA);
	fi_freeinfo(hints);
	CHECK_EQ(ft_lines_with(err, "", ""), 0);
	fclose(err);
}

/* Who does not ask for us does not get us. */
static void env_not_named(void)
{
	struct fi_info *hints, *info = NULL;

	only_quiver(false);
	unsetenv("FI_PROVIDER");
	hints = ft_hints(&(struct ft_conf){0});
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = NULL;
	if (!fi_getinfo(FT_API, NULL, NULL, 0, hints, &info)) {
		for (struct fi_info *i = info; i; i = i->next)
			CHECK(!strstr(i->fabric_attr->prov_name, "quiver"));
		fi_freeinfo(info);
	}
	CHECK(fi_getinfo(FT_API, NULL, NULL, 0, NULL, &info) == 0);
	for (struct fi_info *i = info; i; i = i->next)
		CHECK(!strstr(i->fabric_attr->prov_name, "quiver"));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* A small eager size and every named structure give the same answers. */
static void env_eager(void)
{
	static const size_t lens[] = {0, 8, 63, 64, 65, 127, 128, 129, 1000, 10000};
	char *buf = ft_buf(10000);
	struct ft_ep ep;

	only_quiver(false);
	setenv("FI_QUIVER_EAGER", "64", 1);
	setenv("FI_QUIVER_ISA", "scalar", 1);
	ft_open(&ep, &(struct ft_conf){0});
	for (size_t i = 0; i < 200; i++) {
		size_t len = lens[i % 10];
		struct ft_op op;

		if (ft.rank == 1) {
			ft_fill(buf, len, i);
			ft_tsend(&ep, 0, i, buf, len, &op);
			ft_wait(&op);
		} else {
			ft_guard(buf, len);
			ft_trecv(&ep, 1, i, 0, buf, len, &op);
			ft_wait(&op);
			ft_verify(buf, len, i, len);
		}
	}
	free(buf);
	ft_close(&ep);
}

const struct ft_case ft_cases_env[] = {
	{"env_reason", 4, 10, env_reason},
	{"env_core", 6, 20, env_core},
	{"env_values", 7, 20, env_values},
	{"env_mode", 5, 20, env_mode},
	{"modes_meet", 2, 20, modes_meet},
	{"env_quiet", 1, 20, env_quiet},
	{"env_not_named", 1, 20, env_not_named},
	{"env_eager", 2, 20, env_eager},
	{0},
};
