/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loader.c - libquiver-mpi.so, for LD_PRELOAD where nobody knows which MPI a program has. Before main it
 * looks which one is loaded, puts the libquiver-mpi of that one in its own place in LD_PRELOAD, and
 * starts the program again. Programs without an MPI run on.
 */
#include "launcher.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define ROOM 4096

static void say(const char *what, const char *more)
{
	if (qv_mpi_speaks_for_all())
		fprintf(stderr, "quiver: libquiver-mpi.so: %s%s; all goes to the MPI\n", what,
			more);
}

/* NULL: no MPI is there yet. */
static const char *flavour(void)
{
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		return "ompi";
	return dlsym(RTLD_DEFAULT, "PMPI_Init") ? "mpich" : NULL;
}

/* The file beside this one. */
static bool find_library(const char *mpi, char *path, size_t size)
{
	static const char *const ends[] = {".so.0", ".so"};
	const char *slash;
	Dl_info me;

	if (!dladdr(ends, &me) || !me.dli_fname || !(slash = strrchr(me.dli_fname, '/')))
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const int len = snprintf(path, size, "%.*s/libquiver-mpi-%s%s",
					 (int)(slash - me.dli_fname), me.dli_fname, mpi, ends[i]);

		if (len > 0 && (size_t)len < size && !access(path, R_OK))
			return true;
	}
	return false;
}

static bool is_me(const char *item, size_t len)
{
	static const char name[] = "libquiver-mpi.so";
	const char *base = memrchr(item, '/', len);

	base = base ? base + 1 : item;
	len -= (size_t)(base - item);
	return len >= sizeof(name) - 1 && !memcmp(base, name, sizeof(name) - 1);
}

/* LD_PRELOAD, its items apart by spaces or colons, with path in the place of this library. */
static bool replace(const char *path, char *list, size_t size)
{
	const char *old = getenv("LD_PRELOAD");
	size_t at = 0;
	bool found = false;

	while (old && *old && at < size) {
		const size_t len = strcspn(old, " :");

		if (len && is_me(old, len)) {
			at += (size_t)snprintf(list + at, size - at, "%s%s", at ? ":" : "", path);
			found = true;
		} else if (len) {
			at += (size_t)snprintf(list + at, size - at, "%s%.*s", at ? ":" : "",
					       (int)len, old);
		}
		old += len + (old[len] != 0);
	}
	return found && at < size;
}

/* glibc gives constructors the arguments of main. */
__attribute__((constructor)) static void load(int argc, char **argv)
{
	char path[ROOM], list[2 * ROOM], program[ROOM];
	const char *mpi = flavour();
	ssize_t len;

	(void)argc;
	if (!mpi)
		return;
	if (!find_library(mpi, path, sizeof(path))) {
		say("there is no library beside it for the MPI of this program: libquiver-mpi-",
		    mpi);
		return;
	}
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (!replace(path, list, sizeof(list)) || len < 0) {
		say("it is for LD_PRELOAD; link programs with libquiver-mpi-", mpi);
		return;
	}
	program[len] = 0;
	setenv("LD_PRELOAD", list, 1);
	execv(program, argv);
	say("the program cannot be started again: ", strerror(errno));
}
