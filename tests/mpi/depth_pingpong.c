// SPDX-License-Identifier: BSD-2-Clause
/*
 * depth_pingpong.c - an ordinary MPI ping-pong behind deep queues.
 *
 * Two ranks bounce one message while D other receives are posted before the one that it matches
 * (kind "posted"), or while D other messages have arrived before it (kind "unexpected"), on both
 * ranks. Batches at depth 0 and at depth D alternate in one process, so the two medians of a line
 * saw the same machine. Every payload is checked. Nothing here knows which library carries the
 * messages.
 */
#include <getopt.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAG_PING    1
#define TAG_SYNC    2
#define TAG_DEEP    16 /* TAG_DEEP + i: the i-th message of the deep queue */
#define MAX_DEPTHS  64
#define BATCHES     10
#define WARM_ROUNDS 20
#define SEND_WINDOW 64

enum kind { KIND_POSTED, KIND_UNEXPECTED, KIND_COUNT };

static const char *const kind_names[KIND_COUNT] = {"posted", "unexpected"};
static const char *const kind_queues[KIND_COUNT] = {"prq", "umq"};

struct options {
	int bytes;
	int iters;
	int depth_count;
	int depths[MAX_DEPTHS];
	int want[KIND_COUNT];
	int beat;
	const char *counter;
	const char *json;
	const char *impl;
};

struct row {
	enum kind kind;
	int depth;
	int n;
	double p50, p99, mean; /* us, half a round trip, at this depth */
	double zero_p50;       /* the same at depth 0, measured in between */
	double counted;        /* what the counter grew by, for each message at this depth */
};

/* What both ranks hold while a batch runs behind a deep queue. */
struct deep {
	int n;
	unsigned char *out, *in; /* n payloads each */
	MPI_Request *sends, *recvs;
};

static struct options opt;
static int rank, peer;
static unsigned char *ping_out, *ping_in;

static void die(const char *what)
{
	fprintf(stderr, "mpi_depth_pingpong: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static void *must_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p)
		die("out of memory");
	return p;
}

/* The payload of message `serial` sent by `from`: differs in every byte position
 * and every message. */
static void fill(unsigned char *buf, uint32_t serial, int from)
{
	uint32_t word = serial * 2654435761u + (uint32_t)from * 40503u;

	for (int i = 0; i < opt.bytes; i++)
		buf[i] = (unsigned char)((word >> (8 * (i & 3))) + (uint32_t)i / 4);
}

static void check(const unsigned char *buf, uint32_t serial, int from, const MPI_Status *st)
{
	uint32_t word = serial * 2654435761u + (uint32_t)from * 40503u;
	int count;

	MPI_Get_count(st, MPI_BYTE, &count);
	if (count != opt.bytes || st->MPI_SOURCE != from)
		die("a message with the wrong length or source");
	for (int i = 0; i < opt.bytes; i++)
		if (buf[i] != (unsigned char)((word >> (8 * (i & 3))) + (uint32_t)i / 4))
			die("a wrong payload");
}

static void sync_ranks(void)
{
	MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, TAG_SYNC, NULL, 0, MPI_BYTE, peer, TAG_SYNC,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A dot per second in which something was done: whoever watches can tell slow from stuck. */
static void beat(double now)
{
	static double last;

	if (!opt.beat || rank || now - last < 1)
		return;
	last = now;
	printf(".\n");
	fflush(stdout);
}

static double round_trip(uint32_t serial)
{
	MPI_Status st;
	double start, end;

	fill(ping_out, serial, rank);
	start = MPI_Wtime();
	if (rank == 0) {
		MPI_Send(ping_out, opt.bytes, MPI_BYTE, peer, TAG_PING, MPI_COMM_WORLD);
		MPI_Recv(ping_in, opt.bytes, MPI_BYTE, peer, TAG_PING, MPI_COMM_WORLD, &st);
	} else {
		MPI_Recv(ping_in, opt.bytes, MPI_BYTE, peer, TAG_PING, MPI_COMM_WORLD, &st);
		MPI_Send(ping_out, opt.bytes, MPI_BYTE, peer, TAG_PING, MPI_COMM_WORLD);
	}
	end = MPI_Wtime();
	check(ping_in, serial, peer, &st);
	beat(end);
	return end - start;
}

/* One batch; the half round trips in us go to samples[0..n). */
static void run_batch(double *samples, int n)
{
	static uint32_t serial;

	for (int i = 0; i < WARM_ROUNDS; i++)
		round_trip(serial++);
	for (int i = 0; i < n; i++)
		samples[i] = round_trip(serial++) * 1e6 / 2;
}

static void deep_create(struct deep *d, int n)
{
	d->n = n;
	d->out = must_alloc((size_t)n * (size_t)opt.bytes);
	d->in = must_alloc((size_t)n * (size_t)opt.bytes);
	d->sends = must_alloc((size_t)n * sizeof(*d->sends));
	d->recvs = must_alloc((size_t)n * sizeof(*d->recvs));
	for (int i = 0; i < n; i++)
		fill(d->out + (size_t)i * (size_t)opt.bytes, (uint32_t)i, rank);
}

static void deep_destroy(struct deep *d)
{
	free(d->out);
	free(d->in);
	free(d->sends);
	free(d->recvs);
}

static void deep_recv(struct deep *d, int i)
{
	MPI_Irecv(d->in + (size_t)i * (size_t)opt.bytes, opt.bytes, MPI_BYTE, peer, TAG_DEEP + i,
		  MPI_COMM_WORLD, &d->recvs[i]);
}

static void deep_send(struct deep *d, int i)
{
	MPI_Isend(d->out + (size_t)i * (size_t)opt.bytes, opt.bytes, MPI_BYTE, peer, TAG_DEEP + i,
		  MPI_COMM_WORLD, &d->sends[i]);
}

static void deep_check(struct deep *d)
{
	MPI_Status st;

	for (int i = 0; i < d->n; i++) {
		MPI_Wait(&d->recvs[i], &st);
		if (st.MPI_TAG != TAG_DEEP + i)
			die("a message with the wrong tag");
		check(d->in + (size_t)i * (size_t)opt.bytes, (uint32_t)i, peer, &st);
		if (i % SEND_WINDOW == 0)
			beat(MPI_Wtime());
	}
}

/*
 * Fills the queue of both ranks. Unexpected: messages of one sender do not overtake each other, so
 * when the peer's sync message is here, all that it sent before is here too.
 */
static void deep_enter(struct deep *d, enum kind kind)
{
	for (int i = 0; i < d->n; i++) {
		if (kind == KIND_POSTED)
			deep_recv(d, i);
		else
			deep_send(d, i);
		if (i % SEND_WINDOW == 0)
			beat(MPI_Wtime());
	}
	sync_ranks();
}

/* Empties the queues, oldest first, so that even a plain list finds each message at its head. */
static void deep_leave(struct deep *d, enum kind kind)
{
	if (kind == KIND_UNEXPECTED) {
		for (int i = 0; i < d->n; i++)
			deep_recv(d, i);
		deep_check(d);
		MPI_Waitall(d->n, d->sends, MPI_STATUSES_IGNORE);
	} else {
		for (int i = 0; i < d->n; i += SEND_WINDOW) {
			int n = d->n - i < SEND_WINDOW ? d->n - i : SEND_WINDOW;

			for (int j = 0; j < n; j++)
				deep_send(d, i + j);
			MPI_Waitall(n, d->sends + i, MPI_STATUSES_IGNORE);
			beat(MPI_Wtime());
		}
		deep_check(d);
	}
	sync_ranks();
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define STALE_US 20000 /* Linux asks an RDMA device for its counters once in 10 ms */

/* The number in the file; 0: there is none. */
static double read_counter(void)
{
	FILE *f = opt.counter && !usleep(STALE_US) ? fopen(opt.counter, "r") : NULL;
	double value = 0;

	if (opt.counter && (!f || fscanf(f, "%lf", &value) != 1))
		die("--counter: no number can be read there");
	if (f)
		fclose(f);
	return value;
}

static struct row measure(enum kind kind, int depth)
{
	int per_batch = (opt.iters + BATCHES - 1) / BATCHES, n = per_batch * BATCHES;
	double *at_depth = must_alloc((size_t)n * sizeof(double));
	double *at_zero = must_alloc((size_t)n * sizeof(double));
	struct row row = {.kind = kind, .depth = depth, .n = n};
	struct deep d;

	deep_create(&d, depth);
	for (int b = 0; b < BATCHES; b++) {
		run_batch(at_zero + (size_t)b * (size_t)per_batch, per_batch);
		deep_enter(&d, kind);
		row.counted -= read_counter();
		run_batch(at_depth + (size_t)b * (size_t)per_batch, per_batch);
		row.counted += read_counter();
		deep_leave(&d, kind);
	}
	row.counted /= 2.0 * (per_batch + WARM_ROUNDS) * BATCHES;
	deep_destroy(&d);
	qsort(at_zero, (size_t)n, sizeof(double), by_value);
	qsort(at_depth, (size_t)n, sizeof(double), by_value);
	for (int i = 0; i < n; i++)
		row.mean += at_depth[i] / n;
	row.p50 = at_depth[n / 2];
	row.p99 = at_depth[(size_t)n * 99 / 100];
	row.zero_p50 = at_zero[n / 2];
	free(at_zero);
	free(at_depth);
	return row;
}

/* Written anew after each line and renamed into place: a run that is killed leaves a whole file. */
static void write_json(const struct row *rows, int n)
{
	char tmp[4096];
	FILE *f;

	if (snprintf(tmp, sizeof(tmp), "%s.tmp", opt.json) >= (int)sizeof(tmp))
		die("--json: name too long");
	f = fopen(tmp, "w");
	if (!f)
		die("--json: cannot write there");
	fprintf(f, "{\"bench\":\"mpi_depth_pingpong\",\"rows\":[");
	for (int i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		fprintf(f,
			"%s\n{\"case\":\"lat/%d/%s%d\",\"impl\":\"%s\",\"unit\":\"us\",\"p50\":%.4f,"
			"\"p99\":%.4f,\"mean\":%.4f,\"n\":%d,\"zero_p50\":%.4f,\"answer\":"
			"\"checked\"}",
			i ? "," : "", opt.bytes, kind_queues[r->kind], r->depth, opt.impl, r->p50,
			r->p99, r->mean, r->n, r->zero_p50);
	}
	fprintf(f, "\n]}\n");
	if (fclose(f) || rename(tmp, opt.json))
		die("--json: cannot write there");
}

static void run_all(void)
{
	struct row *rows = must_alloc(sizeof(*rows) * MAX_DEPTHS * KIND_COUNT);
	int n = 0;

	if (rank == 0) {
		printf("%-10s %6s %6s %10s %10s %12s %6s%s\n", "kind", "bytes", "depth", "us",
		       "p99", "us at 0", "ratio", opt.counter ? "    counted" : "");
		fflush(stdout);
	}
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		for (int i = 0; opt.want[kind] && i < opt.depth_count; i++) {
			struct row *r = &rows[n++];

			*r = measure((enum kind)kind, opt.depths[i]);
			if (rank)
				continue;
			printf("%-10s %6d %6d %10.3f %10.3f %12.3f %6.2f", kind_names[kind],
			       opt.bytes, r->depth, r->p50, r->p99, r->zero_p50,
			       r->p50 / r->zero_p50);
			if (opt.counter)
				printf(" %10.3f", r->counted);
			printf("\n");
			fflush(stdout);
			if (opt.json)
				write_json(rows, n);
		}
	}
	free(rows);
}

static const char help[] =
	"usage: mpirun -np 2 mpi_depth_pingpong [options]\n"
	"  --bytes N         payload, default 8\n"
	"  --depths LIST     default 0,1,16,256,1000,4000,10000\n"
	"  --kind KIND       posted, unexpected or both (default)\n"
	"  --iters N         round trips per depth, default 2000\n"
	"  --beat            a line with a dot per second in which something was done\n"
	"  --counter FILE    a number that grows, such as packets of an interface: by how much for\n"
	"                    each message\n"
	"  --json FILE       results, kept whole after every line\n"
	"  --impl NAME       name of the stack in the JSON rows, default mpi\n"
	"Prints the median half round trip in us at each depth and at depth 0, taken in turns.\n";

static long parse_number(const char *s, char **end, long least, long most)
{
	long v = strtol(s, end, 10);

	return *end == s || v < least || v > most ? -1 : v;
}

static int parse_depths(const char *list)
{
	char *end;

	for (opt.depth_count = 0; opt.depth_count < MAX_DEPTHS; list = end + 1) {
		long depth = parse_number(list, &end, 0, 1000000);

		if (depth < 0 || (*end && *end != ','))
			return -1;
		opt.depths[opt.depth_count++] = (int)depth;
		if (!*end)
			return 0;
	}
	return -1;
}

static int parse_kind(const char *word)
{
	int both = !strcmp(word, "both");

	for (int kind = 0; kind < KIND_COUNT; kind++)
		opt.want[kind] = both || !strcmp(word, kind_names[kind]);
	return opt.want[KIND_POSTED] || opt.want[KIND_UNEXPECTED] ? 0 : -1;
}

static int parse_count(const char *word, long least, int *out)
{
	char *end;
	long v = parse_number(word, &end, least, 1 << 30);

	*out = (int)v;
	return v < 0 || *end ? -1 : 0;
}

/* Returns 0 to run, 1 after --help, -1 when an option is wrong. */
static int parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{"bytes", required_argument, NULL, 'b'},   {"depths", required_argument, NULL, 'd'},
		{"kind", required_argument, NULL, 'k'},    {"iters", required_argument, NULL, 'i'},
		{"counter", required_argument, NULL, 'c'}, {"json", required_argument, NULL, 'j'},
		{"impl", required_argument, NULL, 'm'},    {"beat", no_argument, NULL, 'B'},
		{"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
	};
	int c, bad = 0;

	opt = (struct options){.bytes = 8, .iters = 2000, .impl = "mpi"};
	parse_depths("0,1,16,256,1000,4000,10000");
	parse_kind("both");
	opterr = rank == 0;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'b': bad |= parse_count(optarg, 0, &opt.bytes); break;
		case 'd': bad |= parse_depths(optarg); break;
		case 'k': bad |= parse_kind(optarg); break;
		case 'i': bad |= parse_count(optarg, 1, &opt.iters); break;
		case 'B': opt.beat = 1; break;
		case 'c': opt.counter = optarg; break;
		case 'j': opt.json = optarg; break;
		case 'm': opt.impl = optarg; break;
		case 'h': return 1;
		default: bad = -1;
		}
	}
	return bad || optind != argc ? -1 : 0;
}

int main(int argc, char **argv)
{
	int size, todo;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	todo = parse_options(argc, argv);
	if (todo && rank == 0)
		fputs(help, todo < 0 ? stderr : stdout);
	if (!todo && size != 2) {
		todo = -1;
		if (rank == 0)
			fprintf(stderr, "mpi_depth_pingpong: needs exactly 2 ranks, has %d\n",
				size);
	}
	if (!todo) {
		peer = 1 - rank;
		ping_out = must_alloc((size_t)opt.bytes);
		ping_in = must_alloc((size_t)opt.bytes);
		run_all();
		free(ping_out);
		free(ping_in);
	}
	MPI_Finalize();
	return todo < 0 ? 2 : 0;
}
