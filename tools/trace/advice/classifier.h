/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classifier.h - what the counters of a process tell of its matching, where there is no trace: two
 * decision trees, which scripts/train-advice fits to traces that it has generated and measured.
 * model.json has them, and is built into the program; a file of the same form can take its place.
 */
#ifndef QV_CLASSIFIER_H
#define QV_CLASSIFIER_H

#include <stddef.h>
#include <stdint.h>

/* What FI_QUIVER_STATS counts of a process whose structure is auto. */
struct qv_profile {
	uint64_t arrived, unexpected, inspected, posted_max, unexpected_max, mode_changes;
};

struct qv_classified {
	const char *structure; /* the one to set; valid as long as the classifier */
	double list_ns;        /* what a plain list would take more than auto, for a message */
};

struct qv_classifier;

/*
 * Read the trees.
 *   path  file; NULL: those that are built in
 *   why   out, where NULL is returned: one line
 */
struct qv_classifier *qv_classifier_load(const char *path, char *why, size_t size);
void qv_classifier_free(struct qv_classifier *c);

struct qv_classified qv_classify(const struct qv_classifier *c, const struct qv_profile *p);

/* What is told of a job: of the process in which a plain list would take most time. */
struct qv_profile_most {
	int rank;
	char host[64];
	uint64_t arrived, depth; /* of its longest queue */
	struct qv_classified is;
	/* Of all that were asked about: their number, and the longest queue. */
	size_t processes; /* 0: the rest is nothing */
	uint64_t deepest;
};

/* One process more. */
void qv_profile_add(struct qv_profile_most *most, const struct qv_classifier *c,
		    const struct qv_profile *p, int rank, const char *host);
/* In words, in text[size]. */
void qv_profile_say(const struct qv_profile_most *most, char *text, size_t size);

#endif /* QV_CLASSIFIER_H */
