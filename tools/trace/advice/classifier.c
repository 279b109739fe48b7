/* SPDX-License-Identifier: BSD-2-Clause */
/* classifier.c - decision trees from JSON: read, checked once as a whole, and walked. */
#include "classifier.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <quiver/match.h>

#define DEEPEST 32  /* nodes from the root on */
#define MOST_NS 1e9 /* that a leaf may say */

/* model.json as a string; the build makes it. */
static const char built_in[] =
#include "model.inc"
	;

/* By the names that the statistics have; scripts/train-advice has the same. */
static const char *const features[] = {"posted_max", "unexpected_max", "unexpected", "inspected",
				       "mode_changes"};
enum { FEATURES = sizeof(features) / sizeof(*features) };

static void describe(const struct qv_profile *p, double values[FEATURES])
{
	const double messages = (double)(p->arrived ? p->arrived : 1);

	values[0] = (double)p->posted_max;
	values[1] = (double)p->unexpected_max;
	values[2] = (double)p->unexpected / messages;
	values[3] = (double)p->inspected / messages;
	values[4] = (double)p->mode_changes / messages;
}

/* FEATURES: there is none of this name. */
static size_t feature(const json_t *node)
{
	const char *name = json_string_value(json_object_get(node, "feature"));
	size_t i = 0;

	while (i < FEATURES && (!name || strcmp(features[i], name) != 0))
		i++;
	return i;
}

static bool is_structure(const char *name)
{
	for (const char *const *s = qv_match_structures(); name && *s; s++)
		if (strcmp(*s, name) == 0)
			return true;
	return false;
}

/* NULL, or what is wrong with a tree. */
static const char *fault(const json_t *node, const char *tree, int depth)
{
	const json_t *leaf = json_object_get(node, tree);
	const char *why;

	if (!json_is_object(node))
		return "a tree is not complete";
	if (depth == DEEPEST)
		return "a tree is too deep";
	if (!json_object_get(node, "feature")) {
		const double ns = json_number_value(leaf);

		if (strcmp(tree, "structure") == 0)
			return is_structure(json_string_value(leaf))
				       ? NULL
				       : "a leaf names no structure of this build";
		return json_is_number(leaf) && ns >= 0 && ns <= MOST_NS ? NULL
									: "a leaf has no time";
	}
	if (feature(node) == FEATURES)
		return "a node asks for a counter that there is not";
	if (!json_is_number(json_object_get(node, "below")))
		return "a node has no bound";
	why = fault(json_object_get(node, "then"), tree, depth + 1);
	return why ? why : fault(json_object_get(node, "else"), tree, depth + 1);
}

struct qv_classifier *qv_classifier_load(const char *path, char *why, size_t size)
{
	json_error_t error;
	json_t *root = path ? json_load_file(path, 0, &error) : json_loads(built_in, 0, &error);
	const char *wrong =
		root ? fault(json_object_get(root, "structure"), "structure", 0) : error.text;

	if (!wrong)
		wrong = fault(json_object_get(root, "list_ns"), "list_ns", 0);
	if (!wrong)
		return (struct qv_classifier *)root;
	snprintf(why, size, "%s is no model of scripts/train-advice: %s",
		 path ? path : "model.json", wrong);
	json_decref(root);
	return NULL;
}

void qv_classifier_free(struct qv_classifier *c)
{
	json_decref((json_t *)c);
}

static const json_t *leaf(const struct qv_classifier *c, const char *tree,
			  const double values[FEATURES])
{
	const json_t *node = json_object_get((const json_t *)c, tree);

	while (json_object_get(node, "feature")) {
		const double below = json_number_value(json_object_get(node, "below"));

		node = json_object_get(node, values[feature(node)] < below ? "then" : "else");
	}
	return json_object_get(node, tree);
}

struct qv_classified qv_classify(const struct qv_classifier *c, const struct qv_profile *p)
{
	double values[FEATURES];

	describe(p, values);
	return (struct qv_classified){json_string_value(leaf(c, "structure", values)),
				      json_number_value(leaf(c, "list_ns", values))};
}
