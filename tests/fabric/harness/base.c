/* SPDX-License-Identifier: BSD-2-Clause */
/* base.c - what every case uses besides libfabric: failing, meeting, time, numbers, payload. */
#include "ft.h"
#include "engine/base/random.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

struct ft ft;

void ft_here(const char *file, int line)
{
	atomic_store_explicit(&ft.sh->rank[ft.rank].file, file, memory_order_relaxed);
	atomic_store_explicit(&ft.sh->rank[ft.rank].line, line, memory_order_relaxed);
}

const char *ft_file(const struct ft_rank *r)
{
	const char *path = r->file ? r->file : "start", *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void say(const char *word, const char *format, va_list args)
{
	const struct ft_rank *r = &ft.sh->rank[ft.rank];
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	printf("  %s: rank %d %s at %s:%d: %s\n", ft.name, ft.rank, word, ft_file(r), r->line,
	       text);
	fflush(stdout);
}

void ft_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("failed", format, args);
	va_end(args);
	_exit(1);
}

void ft_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("cannot run here", format, args);
	va_end(args);
	_exit(77);
}

int ft_ms(int ms)
{
	return (int)(ms * ft.patience);
}

void ft_peer_limit(const char *core, uint32_t before, const char *why)
{
	if (ft.peer && (!core || strstr(ft_core(), core)) &&
	    (!before || FI_VERSION_LT(fi_version(), before)))
		ft_skip("a limit of the core %s in peer mode: %s", ft_core(), why);
}

size_t ft_scaled(size_t count)
{
	double scaled = (double)count * ft.scale;

	return scaled < 1 ? 1 : (size_t)scaled;
}

bool ft_share(unsigned *turn)
{
	unsigned i = (*turn)++;

	return ft_scaled(i + 1) > ft_scaled(i) || !i;
}

bool ft_pair(void)
{
	const char *core = getenv("FI_QUIVER_CORE");

	return !strcmp(ft.prov, "quiver") && (!core || !strcmp(core, "auto") || strchr(core, ','));
}

/* The transport of a node knows at once. */
double ft_notice(void)
{
	return (strcmp(ft_core(), "node") || ft_apart() ? 5.5 : 1.0) * ft.patience;
}

const char *ft_local_core(void)
{
	const char *core = getenv("FI_QUIVER_CORE");

	return core && strstr(core, "shm") ? "shm" : "node";
}

void ft_elsewhere(void)
{
	char text[16];

	snprintf(text, sizeof(text), "rank %d", ft.rank);
	setenv("FI_QUIVER_NODE", text, 1);
}

void ft_network_only(char *name)
{
	name[2] &= (char)0xf0; /* what the local address is */
	memset(name + 4, 0, 16);
}

const char *ft_core(void)
{
	static char name[128];
	const char *core = getenv("FI_QUIVER_CORE");
	bool layered = strcmp(ft.prov, "quiver");
	char *end;

	if (ft_pair())
		core = !getenv("QV_TEST_NODES")          ? ft_local_core()
		       : core && strstr(core, "sockets") ? "sockets"
							 : "tcp";
	snprintf(name, sizeof(name), "%s", layered ? ft.prov : core);
	end = strstr(name, ";ofi_quiver");
	if (end)
		*end = 0;
	if (ft.quiver && !strcmp(name, "tcp") && FI_VERSION_LT(fi_version(), FI_VERSION(1, 18)))
		snprintf(name, sizeof(name), "net");
	return name;
}

double ft_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void ft_msleep(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

void ft_progress_for(double seconds)
{
	double end = ft_now() + seconds;

	while (ft_now() < end)
		ft_progress();
}

void ft_meet(bool progress)
{
	struct ft_shared *sh = ft.sh;
	uint32_t generation = sh->generation;

	if (atomic_fetch_add(&sh->arrived, 1) + 1 == sh->members) {
		sh->arrived = 0;
		sh->generation = generation + 1;
		return;
	}
	while (sh->generation == generation) {
		if (progress)
			ft_progress();
		else
			ft_msleep(1);
	}
}

void ft_word_wait(int i, uint64_t value)
{
	while (ft.sh->word[i] < value)
		ft_progress();
}

uint64_t ft_random(uint64_t *state)
{
	return qv_random(state);
}

void ft_shuffle(uint32_t *index, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		size_t j = (size_t)(ft_random(&seed) % (i + 1));

		index[i] = index[j];
		index[j] = (uint32_t)i;
	}
}

size_t ft_vm_hwm(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	size_t kib = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %zu", &kib) == 1)
			break;
	}
	fclose(f);
	return kib * 1024;
}

/* Payload. */

#define PERIOD 65521 /* prime: no shift by a buffer size maps the pattern onto itself */
#define GUARD  0xa5

static unsigned char period[PERIOD];

static void draw_period(void)
{
	uint64_t state = 1;

	for (size_t i = 1; i < PERIOD; i++)
		period[i] = (unsigned char)ft_random(&state);
	period[0] = 1;
}

static const unsigned char *pattern(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT; /* threads of a rank send and check */

	pthread_once(&once, draw_period);
	return period;
}

void *ft_buf(size_t len)
{
	void *buf = malloc(len + FT_GUARD);

	CHECK(buf);
	ft_guard(buf, len);
	return buf;
}

void ft_guard(void *buf, size_t len)
{
	memset(buf, GUARD, len + FT_GUARD);
}

void ft_fill(void *buf, size_t len, uint64_t seed)
{
	const unsigned char *bytes = pattern();
	size_t at = (size_t)(seed * 7919 % PERIOD);

	for (size_t done = 0; done < len; at = 0) {
		size_t part = PERIOD - at < len - done ? PERIOD - at : len - done;

		memcpy((char *)buf + done, bytes + at, part);
		done += part;
	}
}

void ft_compare(const void *buf, size_t len, uint64_t seed, size_t room)
{
	const unsigned char *bytes = pattern(), *got = buf;
	size_t at = (size_t)(seed * 7919 % PERIOD);

	for (size_t done = 0; done < len; at = 0) {
		size_t part = PERIOD - at < len - done ? PERIOD - at : len - done;

		if (memcmp(got + done, bytes + at, part)) {
			size_t i = 0;

			while (got[done + i] == bytes[at + i])
				i++;
			ft_fail("payload %llu of %zu bytes: byte %zu is %#x, not %#x",
				(unsigned long long)seed, len, done + i, got[done + i],
				bytes[at + i]);
		}
		done += part;
	}
	for (size_t i = len; i < room + FT_GUARD; i++) {
		if (got[i] != GUARD)
			ft_fail("byte %zu behind a message of %zu was written (room %zu)", i, len,
				room);
	}
}

FILE *ft_catch_stderr(void)
{
	FILE *file = tmpfile();

	CHECK(file && dup2(fileno(file), STDERR_FILENO) >= 0);
	return file;
}

int ft_lines_with(FILE *file, const char *a, const char *b)
{
	char line[1024];
	int n = 0;

	fflush(stderr);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		n += strstr(line, a) && strstr(line, b);
	}
	return n;
}
