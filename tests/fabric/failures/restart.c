/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * restart.c - a server ends and is started again at its address. Its old peer reaches the new
 * process: each request that it sends once that is up is answered or ends in an error within
 * seconds, and after a few errors they are answered. What was sent to the old process ends, too.
 *
 * Rank 0 is the client; rank 1 has no endpoint itself: each life of the server is a child of its.
 * QV_RESTARTS (default 5) says how often.
 */
#include "tests/fabric/harness/ft.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UP, FALL, OVER }; /* words: the life that is up; that is to end; the end */
enum { REQUESTS = 20, BURST = 20, LONG = 16 << 20 };
#define REQUEST UINT64_C(0x100000000)
#define ANSWER  UINT64_C(0x200000000)

/* Seconds until a request is answered or ends in an error; until the server is reached whatever
 * errors come first; until sends to a dead server end. */
#define SOON  (2 * ft.patience)
#define REACH (8 * ft.patience)
#define ENDED (5.5 * ft.patience)

enum how { KILLED, CLOSED };

static unsigned lives(void)
{
	const char *text = getenv("QV_RESTARTS");

	return 1 + (text ? (unsigned)atoi(text) : 5);
}

/* The server. */

/* All lives listen at one port. */
static void choose_port(void)
{
	char port[16];

	snprintf(port, sizeof(port), "%u", 10000 + (unsigned)getppid() * 7 % 10000);
	setenv("FI_TCP_PORT_LOW_RANGE", port, 1);
	setenv("FI_TCP_PORT_HIGH_RANGE", port, 1);
	setenv("FI_NET_PORT_LOW_RANGE", port, 1);
	setenv("FI_NET_PORT_HIGH_RANGE", port, 1);
}

/* verbs takes it from the address of its own. */
static void listen_there(struct fi_info *info)
{
	struct sockaddr_in *own = info->src_addr;

	if (strncmp(ft_core(), "verbs", 5))
		return;
	CHECK_EQ(info->addr_format, FI_SOCKADDR_IN);
	own->sin_port = htons((uint16_t)atoi(getenv("FI_TCP_PORT_LOW_RANGE")));
}

/* Who is killed does not see it coming. */
static bool is_over(uint64_t life, enum how how)
{
	return (how == CLOSED && ft.sh->word[FALL] >= life) || ft.sh->word[OVER];
}

static void serve(uint64_t life, enum how how)
{
	uint64_t in = 0, out;
	struct ft_ep ep;
	struct ft_op rx, tx;

	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV, .lonely = true});
	listen_there(ep.info);
	ft_open_ep(&ep);
	CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[0].name[0], 1, &ep.peer[0], 0, NULL), 1);
	ft.sh->word[UP] = life;
	while (!is_over(life, how)) {
		ft_trecv(&ep, FT_ANY, REQUEST, REQUEST - 1, &in, 8, &rx);
		while (!rx.done && !is_over(life, how))
			ft_progress();
		if (!rx.done)
			break;
		CHECK_EQ(rx.err, 0);
		out = life;
		ft_tsend(&ep, 0, ANSWER | (rx.tag & (REQUEST - 1)), &out, 8, &tx);
		while (!tx.done && !is_over(life, how))
			ft_progress();
	}
	ft_close_part(&ep);
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

static void end_life(pid_t pid, enum how how)
{
	int status;

	if (how == KILLED)
		kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (how == KILLED ? !WIFSIGNALED(status) : status != 0)
		ft_fail("the server ended with status %#x", (unsigned)status);
}

static void keep(enum how how)
{
	choose_port();
	for (uint64_t life = 1; life <= lives(); life++) {
		pid_t pid;

		fflush(NULL);
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(life, how);
			fflush(NULL);
			_exit(0);
		}
		FT_HERE();
		while (!is_over(life, CLOSED)) {
			ft_msleep(1);
			if (has_ended(pid) && !is_over(life, CLOSED))
				ft_fail("life %llu of the server has ended",
					(unsigned long long)life);
		}
		end_life(pid, ft.sh->word[OVER] ? CLOSED : how);
	}
}

/* The client. */

static ssize_t send_one(struct ft_ep *ep, void *buf, size_t len, uint64_t tag, struct ft_op *op)
{
	double end = ft_now() + SOON;
	ssize_t ret;

	FT_HERE();
	while ((ret = fi_tsend(ep->ep, buf, len, NULL, ep->peer[1], tag, ft_fresh(op))) ==
	       -FI_EAGAIN) {
		ft_progress();
		if (ft_now() > end)
			ft_fail("-FI_EAGAIN for %.1f s", SOON);
	}
	return ret;
}

static void cancel(struct ft_ep *ep, struct ft_op *op)
{
	fi_cancel(&ep->ep->fid, op);
	FT_HERE();
	while (!op->done)
		ft_progress();
}

/* False: an error told that it cannot be had. */
static bool request(struct ft_ep *ep, uint64_t number, uint64_t life)
{
	uint64_t out = number, in = 0;
	double start = ft_now();
	struct ft_op rx, tx;
	bool again = false;

	ft_trecv(ep, FT_ANY, ANSWER | number, 0, &in, 8, &rx);
	if (send_one(ep, &out, 8, REQUEST | number, &tx)) {
		cancel(ep, &rx);
		return false;
	}
	FT_HERE();
	while (!tx.done || (!tx.err && !rx.done)) {
		ft_progress();
		/* A message that had left before its loss was known is told of by the next one. */
		if (!again && tx.done && !tx.err && ft_now() - start > SOON / 2) {
			again = true;
			if (send_one(ep, &out, 8, REQUEST | number, &tx)) {
				cancel(ep, &rx);
				return false;
			}
		}
		if (ft_now() - start > SOON)
			ft_fail("life %llu: request %llu %s after %.1f s and is not answered",
				(unsigned long long)life, (unsigned long long)number,
				tx.done ? "was sent" : "is not sent", SOON);
	}
	if (!rx.done)
		cancel(ep, &rx);
	if (rx.err)
		return false;
	CHECK_EQ(in, life);
	return true;
}

/* Some short messages and a long one that nobody will receive. */
static void leave_behind(struct ft_ep *ep, char *buf, struct ft_op *op)
{
	for (size_t i = 0; i <= BURST; i++)
		OK(send_one(ep, buf, i < BURST ? 8 : LONG, 7, &op[i]));
}

static void all_end(struct ft_op *op)
{
	double start = ft_now();

	for (size_t i = 0; i <= BURST; i++) {
		FT_HERE();
		while (!op[i].done) {
			ft_progress();
			if (ft_now() - start > ENDED)
				ft_fail("what was sent to the dead server does not end");
		}
	}
	CHECK(op[BURST].err); /* it was not received */
}

static void reach(struct ft_ep *ep, uint64_t life, uint64_t *number)
{
	double start = ft_now();
	size_t errors = 0;

	while (!request(ep, ++*number, life)) {
		errors++;
		if (ft_now() - start > REACH)
			ft_fail("life %llu of the server is not reached, %zu requests ended in "
				"errors",
				(unsigned long long)life, errors);
		ft_progress_for(0.02);
	}
	printf("  %s: life %llu reached after %.3f s and %zu errors\n", ft.name,
	       (unsigned long long)life, ft_now() - start, errors);
	fflush(stdout);
	for (size_t i = 0; i < REQUESTS; i++)
		if (!request(ep, ++*number, life))
			ft_fail("request %zu to life %llu failed after one that was answered", i,
				(unsigned long long)life);
}

static void insert(struct ft_ep *ep, bool again)
{
	const struct ft_rank *server = &ft.sh->rank[1];

	if (again)
		OK(fi_av_remove(ep->av, &ep->peer[1], 1, 0));
	CHECK_EQ(fi_av_insert(ep->av, server->name[0], 1, &ep->peer[1], 0, NULL), 1);
}

static void use(struct ft_ep *ep, bool again)
{
	static struct ft_op op[BURST + 1];
	char *buf = ft_buf(LONG);
	uint64_t number = 0;

	for (uint64_t life = 1; life <= lives(); life++) {
		ft_await_word(UP, life);
		if (life == 1 || again)
			insert(ep, life > 1);
		if (life > 1 && life % 2)
			all_end(op);
		reach(ep, life, &number);
		if (life == lives())
			break;
		if (life % 2 == 0) /* else it is idle */
			leave_behind(ep, buf, op);
		ft.sh->word[FALL] = life;
	}
	ft.sh->word[OVER] = 1;
	free(buf);
}

static void restart(bool again, enum how how)
{
	struct ft_ep ep;

	if (!strcmp(ft_core(), "shm"))
		ft_skip("the name of a process, which no other one gets");
	ft_peer_limit("rxm", 0, "what is on a connection that breaks is lost");
	if (ft.rank == 1) {
		ft_barrier_idle(); /* the client has a name */
		keep(how);
		ft_barrier_idle();
		return;
	}
	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV, .lonely = true});
	ft_open_ep(&ep);
	ft_barrier();
	use(&ep, again);
	ft_close(&ep);
}

static void killed(void)
{
	restart(false, KILLED);
}

static void inserted(void)
{
	restart(true, KILLED);
}

static void closed(void)
{
	restart(false, CLOSED);
}

const struct ft_case ft_cases_restart[] = {
	{"restart_killed", 2, 900, killed},
	{"restart_inserted", 2, 900, inserted},
	{"restart_closed", 2, 900, closed},
	{0},
};
