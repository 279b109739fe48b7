/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image_compositing.c - sort-last rendering: each rank renders what it has as a whole image, and a
 * reduction makes one image of all, nearer ones over those behind. The operator is associative, but
 * does not commute: ranks are in the order of depth, rank 0 is the nearest. The root compares each
 * frame with what it composites by itself.
 *
 *     mpirun -np 4 image_compositing [--late RANK MILLISECONDS]
 *
 * lets that rank come late to each frame, as one does that has more to render. With libquiver-mpi
 * preloaded, QUIVER_MPI_COLL=reduce=redirect lets the others composite meanwhile.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#define WIDTH  320
#define HEIGHT 240
#define PIXELS (WIDTH * HEIGHT)
#define FRAMES 24

/* Colours times alpha. An element of a plain type for MPI: reductions never cut it. */
#define PIXEL MPI_UINT64_T
struct pixel {
	uint16_t red, green, blue, alpha;
};

static int rank, ranks, late_rank = -1;
static long late_ms;

static uint16_t behind_it(uint16_t colour, uint16_t alpha, uint16_t behind)
{
	return (uint16_t)(colour +
			  ((uint32_t)(UINT16_MAX - alpha) * behind + UINT16_MAX / 2) / UINT16_MAX);
}

static struct pixel over(struct pixel front, struct pixel behind)
{
	return (struct pixel){behind_it(front.red, front.alpha, behind.red),
			      behind_it(front.green, front.alpha, behind.green),
			      behind_it(front.blue, front.alpha, behind.blue),
			      behind_it(front.alpha, front.alpha, behind.alpha)};
}

/* Of the two operands MPI gives that of the lower ranks first. */
static void over_all(void *front, void *behind, int *n, MPI_Datatype *type)
{
	const struct pixel *a = front;
	struct pixel *b = behind;

	(void)type;
	for (int i = 0; i < *n; i++)
		b[i] = over(a[i], b[i]);
}

/* A disc that goes round with the others, and can be seen through; nothing elsewhere. */
static void render(int whose, int frame, struct pixel *image)
{
	const double angle = 6.28 * ((double)whose / ranks + (double)frame / FRAMES);
	const double middle_x = WIDTH * (0.5 + 0.15 * cos(angle));
	const double middle_y = HEIGHT * (0.5 + 0.15 * sin(angle)), radius = HEIGHT / 3.0;

	for (int i = 0; i < PIXELS; i++) {
		const double x = i % WIDTH - middle_x, y = (double)(i / WIDTH) - middle_y;
		const double distance = sqrt(x * x + y * y) / radius;
		const double solid = distance < 1 ? 0.8 - 0.4 * distance : 0;
		const uint16_t alpha = (uint16_t)(UINT16_MAX * solid);

		image[i] = (struct pixel){whose % 2 ? alpha : 0, whose % 3 ? alpha : 0,
					  (uint16_t)(alpha * whose / ranks), alpha};
	}
}

static void come_late(void)
{
	const struct timespec nap = {late_ms / 1000, late_ms % 1000 * 1000000};

	if (rank == late_rank)
		nanosleep(&nap, NULL);
}

/* Each order of brackets rounds its own way, once for each rank at most. */
static int is_near(uint16_t a, uint16_t b)
{
	return abs(a - b) <= ranks;
}

/* 0, or 1 after a line on stderr. own, want: room for an image each. */
static int compare(const struct pixel *got, int frame, struct pixel *own, struct pixel *want)
{
	memset(want, 0, PIXELS * sizeof(*want));
	for (int r = ranks - 1; r >= 0; r--) {
		render(r, frame, own);
		for (int i = 0; i < PIXELS; i++)
			want[i] = over(own[i], want[i]);
	}
	for (int i = 0; i < PIXELS; i++)
		if (!is_near(got[i].red, want[i].red) || !is_near(got[i].green, want[i].green) ||
		    !is_near(got[i].blue, want[i].blue) || !is_near(got[i].alpha, want[i].alpha)) {
			fprintf(stderr, "frame %d: pixel %d, %d is wrong\n", frame, i % WIDTH,
				i / WIDTH);
			return 1;
		}
	return 0;
}

/* All frames. Returns how many are wrong; only the root knows. */
static int composite(struct pixel *own, struct pixel *whole, struct pixel *want)
{
	MPI_Op op;
	double took = 0;
	int bad = 0;

	MPI_Op_create(over_all, 0, &op);
	for (int frame = 0; frame < FRAMES; frame++) {
		double begin;

		render(rank, frame, own);
		MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		come_late();
		MPI_Reduce(own, whole, PIXELS, PIXEL, op, 0, MPI_COMM_WORLD);
		took += MPI_Wtime() - begin;
		if (!rank)
			bad += compare(whole, frame, own, want);
	}
	MPI_Op_free(&op);
	if (!rank)
		printf("%d frames of %d x %d pixels from %d ranks, %.2f ms a frame: %d wrong\n",
		       FRAMES, WIDTH, HEIGHT, ranks, 1e3 * took / FRAMES, bad);
	return bad;
}

static int number(const char *text, long most, long *out)
{
	char *end;

	*out = strtol(text, &end, 10);
	return end == text || *end || *out < 0 || *out > most ? -1 : 0;
}

static int parse(int argc, char **argv)
{
	long who;

	if (argc == 1)
		return 0;
	if (argc != 4 || strcmp(argv[1], "--late") != 0 || number(argv[2], ranks - 1, &who) ||
	    number(argv[3], 10000, &late_ms)) {
		if (!rank)
			fprintf(stderr,
				"usage: %s [--late RANK MILLISECONDS], 0 to %d, 0 to 10000\n",
				argv[0], ranks - 1);
		return -1;
	}
	late_rank = (int)who;
	return 0;
}

int main(int argc, char **argv)
{
	struct pixel *room = malloc(3 * PIXELS * sizeof(*room));
	int status = 2;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!parse(argc, argv)) {
		if (!room)
			MPI_Abort(MPI_COMM_WORLD, 1);
		status = composite(room, room + PIXELS, room + 2 * PIXELS) != 0;
	}
	free(room);
	MPI_Finalize();
	return status;
}
