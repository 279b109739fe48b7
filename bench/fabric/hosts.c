/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts.c - processes of a pair on other hosts. One is `quiver bench fabric --serve`, which a launcher
 * (ssh) starts there, or a child of `quiver bench fabric --listen`. The parent greets it with what to
 * open; from then on the line is used as that to a child of its own.
 */
#include "fabric.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <quiver/types.h>

#define MAX_WORDS 16 /* of the launcher's command */
#define ORDER     0x01020304u

/* Both sides are the same program: structures go as they are. */
struct greeting {
	char version[32];
	uint32_t order, bytes; /* byte order; of what goes to and fro */
	int32_t rank;
	struct qv_fb_setup setup;
};

static struct greeting greeting_of(const struct qv_fb_setup *setup, int rank)
{
	struct greeting g = {.order = ORDER,
			     .bytes = sizeof(struct qv_fb_command) + sizeof(struct qv_fb_reply),
			     .rank = rank,
			     .setup = *setup};

	snprintf(g.version, sizeof(g.version), "%s", qv_version());
	return g;
}

/* A process uses the interface that its host is named by, or who listens what was connected to. */
int qv_fb_send_setup(const struct qv_fb_pair *pair, int rank)
{
	const char *name = pair->hosts->name[rank], *at = name ? strrchr(name, '@') : NULL;
	struct greeting g = greeting_of(&pair->setup, rank);

	if (name)
		snprintf(g.setup.source, sizeof(g.setup.source), "%s", at ? at + 1 : name);
	return qv_fb_put(pair->fd[rank], &g, sizeof(g));
}

/* Launched. */

void qv_fb_launch(const struct qv_fb_hosts *hosts, int rank, int fd)
{
	static char bench[] = "bench", fabric[] = "fabric", serve[] = "--serve";
	char *words[MAX_WORDS + 8], *copy = strdup(hosts->launcher), *save = NULL;
	char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int n = 0;

	if (len < 0 || !copy || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
		return;
	program[len] = 0;
	for (char *word = strtok_r(copy, " ", &save); word && n < MAX_WORDS;
	     word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	words[n++] = (char *)(uintptr_t)hosts->name[rank];
	words[n++] = program;
	words[n++] = bench;
	words[n++] = fabric;
	words[n++] = serve;
	words[n] = NULL;
	execvp(words[0], words);
	fprintf(stderr, "quiver: cannot start %s: %s\n", words[0], strerror(errno));
}

/* What came is one of ours, whole, and of this version. */
static int take_greeting(int in, int out, struct greeting *g)
{
	struct qv_fb_reply refusal = {.status = -1};
	struct greeting mine;

	if (qv_fb_get(in, g, sizeof(*g)))
		return -1;
	mine = greeting_of(&g->setup, g->rank);
	g->setup.impl[sizeof(g->setup.impl) - 1] = 0;
	g->setup.source[sizeof(g->setup.source) - 1] = 0;
	g->version[sizeof(g->version) - 1] = 0;
	if (!strcmp(g->version, mine.version) && g->order == mine.order && g->bytes == mine.bytes &&
	    (g->rank == 0 || g->rank == 1))
		return 0;
	snprintf(refusal.text, sizeof(refusal.text), "not the same quiver on both hosts: %s there",
		 mine.version);
	qv_fb_put(out, &refusal, sizeof(refusal));
	return -1;
}

/* What a launcher calls a host need not be a name of it. */
static bool is_address(const char *name)
{
	struct addrinfo *list = NULL;

	if (getaddrinfo(name, NULL, NULL, &list))
		return false;
	freeaddrinfo(list);
	return true;
}

static int serve(int in, int out, const char *source)
{
	uint64_t beat[QV_FB_BEAT] = {0};
	struct greeting g;

	if (take_greeting(in, out, &g))
		return 1;
	if (!is_address(g.setup.source))
		g.setup.source[0] = 0;
	if (source)
		snprintf(g.setup.source, sizeof(g.setup.source), "%s", source);
	return qv_fb_worker(&g.setup, g.rank, in, out, beat);
}

int qv_fb_serve(void)
{
	/* What a library prints must not go to the parent as an answer. */
	int out = dup(STDOUT_FILENO);

	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return 1;
	return serve(STDIN_FILENO, out, NULL);
}

/* Connected. */

/* This end's address in digits. */
static void own_address(int fd, char *text, size_t size)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len) ||
	    getnameinfo((struct sockaddr *)&addr, len, text, (socklen_t)size, NULL, 0,
			NI_NUMERICHOST))
		snprintf(text, size, "%s", "");
}

/* The first of the addresses that `use` (connect or bind) takes; -1 after a line on stderr. */
static int open_socket(const char *host, const char *port, int flags,
		       int (*use)(int, const struct sockaddr *, socklen_t), const char *what)
{
	const struct addrinfo hints = {
		.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
	struct addrinfo *list = NULL;
	int one = 1, fd = -1, rc = getaddrinfo(host, port, &hints, &list);

	if (rc) {
		fprintf(stderr, "quiver: %s %s:%s: %s\n", what, host ? host : "", port,
			gai_strerror(rc));
		return -1;
	}
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (use(fd, a->ai_addr, a->ai_addrlen)) {
			rc = errno;
			close(fd);
			errno = rc;
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		fprintf(stderr, "quiver: %s %s:%s: %s\n", what, host ? host : "", port,
			strerror(errno));
	return fd;
}

int qv_fb_reach(struct qv_fb_pair *pair)
{
	const char *target = pair->hosts->connect, *colon = strrchr(target, ':');
	char host[256];
	int fd;

	if (!colon || colon == target || (size_t)(colon - target) >= sizeof(host)) {
		fprintf(stderr, "quiver: --connect takes HOST:PORT, not '%s'\n", target);
		return -1;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - target), target);
	fd = open_socket(host, colon + 1, 0, connect, "cannot reach");
	if (fd < 0)
		return -1;
	own_address(fd, pair->setup.source, sizeof(pair->setup.source));
	pair->fd[1] = fd;
	return qv_fb_send_setup(pair, 1);
}

int qv_fb_listen(long port)
{
	char text[16], source[64];
	int lfd;

	snprintf(text, sizeof(text), "%ld", port);
	lfd = open_socket(NULL, text, AI_PASSIVE, bind, "cannot listen at");
	if (lfd < 0)
		return 1;
	if (listen(lfd, QV_FB_PAIRS)) {
		fprintf(stderr, "quiver: listen: %s\n", strerror(errno));
		return 1;
	}
	signal(SIGCHLD, SIG_IGN); /* children need no wait */
	printf("serving at port %ld until interrupted; there: quiver bench fabric --connect "
	       "HOST:%ld\nwhoever reaches the port can run a bench here, and nothing else\n",
	       port, port);
	fflush(stdout);
	for (;;) {
		int fd = accept(lfd, NULL, NULL);
		pid_t child = fd >= 0 ? fork() : -1;

		if (!child) {
			close(lfd);
			own_address(fd, source, sizeof(source));
			exit(serve(fd, fd, source));
		}
		if (fd >= 0)
			close(fd);
		if (child < 0 && errno != EINTR && errno != ECONNABORTED) {
			fprintf(stderr, "quiver: a connection cannot be served: %s\n",
				strerror(errno));
			usleep(100000);
		}
	}
}
