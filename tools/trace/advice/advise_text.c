/* SPDX-License-Identifier: BSD-2-Clause */
/* advise_text.c - the advice in words, and as JSON. */
#include "advise.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "tools/trace/advice/names.h"

/* Two digits that count: "12 %", "0.031 %", "310 %". */
static const char *percent(double share, char *text, size_t size)
{
	const double p = 100 * share;

	if (isnan(p))
		snprintf(text, size, "-");
	else
		snprintf(text, size, p >= 10 ? "%.0f %%" : p >= 1 ? "%.1f %%" : "%.2g %%", p);
	return text;
}

/* Who does the matching instead of quiver, and what quiver's does for the program. */
static void put_answer(enum qv_advice_answer answer, const char *other, double theirs, double ours)
{
	char gain[24], a[24], b[24];

	percent(fabs(theirs - ours), gain, sizeof(gain));
	percent(theirs, a, sizeof(a));
	percent(ours, b, sizeof(b));
	switch (answer) {
	case QV_ADVICE_HELPS:
		printf("Yes, against %s: quiver's matching saves %s of the time. It takes %s, theirs "
		       "%s.\n",
		       other, gain, b, a);
		break;
	case QV_ADVICE_HURTS:
		printf("No, against %s: quiver's matching costs %s of the time more. It takes %s, "
		       "theirs %s.\n",
		       other, gain, b, a);
		break;
	case QV_ADVICE_EQUAL:
		printf("No, against %s: quiver's matching does not matter here. It takes %s of the "
		       "time, theirs %s.\n",
		       other, b, a);
		break;
	case QV_ADVICE_UNKNOWN:
		printf("Not known, against %s: the trace spans no time.\n", other);
		break;
	}
}

static void put_cost(const char *who, const char *structure, const struct qv_advice_cost *cost)
{
	char text[24];

	printf("  %-26s %-9s %12.1f %12s\n", who, structure, cost->ns,
	       percent(cost->share, text, sizeof(text)));
}

static const char *doubt_text(enum qv_advice_doubt doubt)
{
	switch (doubt) {
	case QV_ADVICE_FEW: return "hardly: the process has received few messages";
	case QV_ADVICE_MISSING: return "not quite: events are missing in the trace";
	case QV_ADVICE_PART: return "not quite: only the first part of the trace was measured";
	case QV_ADVICE_NEAR: return "not quite: the difference is near to 1 %, which decides";
	case QV_ADVICE_SURE: break;
	}
	return "for this trace on this machine";
}

static void setting(const struct qv_advice *a, char *text, size_t size)
{
	const bool profile = a->structure && (strcmp(a->structure, "clu") == 0 ||
					      strcmp(a->structure, "pnp-static") == 0);

	snprintf(text, size, "FI_QUIVER_MATCH=%s%s", a->structure ? a->structure : "auto",
		 profile ? " FI_QUIVER_PROFILE=FILE" : "");
}

static void put_setting(const struct qv_advice *a, const struct qv_advice_facts *f)
{
	char text[96];

	setting(a, text, sizeof(text));
	if (!a->structure)
		printf("Setting: keep the default; no structure is surely more than 3 %% cheaper than auto.\n");
	else
		printf("Setting: %s, %.0f %% cheaper than auto on this trace.\n", text,
		       100 * (1 - f->ratio));
}

static void put_assertions(const struct qv_advice *a, const struct qv_advice_facts *f)
{
	printf("Assertions: of %llu receives and probes %llu were from any source, %llu of any tag",
	       (unsigned long long)f->wanted, (unsigned long long)f->any_source,
	       (unsigned long long)f->any_tag);
	if (!a->no_any_source && !a->no_any_tag)
		printf(": the program can promise nothing.\n");
	else
		printf(".\n  As far as this trace shows the program could promise%s%s%s.\n",
		       a->no_any_source ? " mpi_assert_no_any_source" : "",
		       a->no_any_source && a->no_any_tag ? " and" : "",
		       a->no_any_tag ? " mpi_assert_no_any_tag" : "");
	printf("  Never take mpi_assert_allow_overtaking from a trace: only the source can tell.\n");
}

void qv_advise_print(const struct qv_advise_job *j, const struct qv_advice_facts *f,
		     const struct qv_advice *a)
{
	const struct qv_trace_process *p = &j->load->processes[j->judged];
	char part[24], rank[QV_NAME_ROOM], host[QV_NAME_ROOM];

	put_answer(a->over_list, "a native provider's list", f->list.share, f->quiver.share);
	put_answer(a->over_ob1, "Open MPI's ob1", f->ob1.share, f->quiver.share);
	printf("Sure? %s.\n\n", doubt_text(a->doubt));
	printf("  %-26s %-9s %12s %12s\n", "matching by", "structure", "ns/message", "of the time");
	put_cost("a native provider's list", "ll", &f->list);
	put_cost("Open MPI's ob1", "ompi", &f->ob1);
	put_cost("quiver", "auto", &f->quiver);
	printf("  The time is that of the process where the list costs most: %s on %s, %.3f s.\n",
	       qv_name_rank(p->rank, rank), qv_name_plain(p->host, host), j->wall[j->judged] / 1e9);
	if (j->m->share < 1)
		printf("  Measured on the first %s of each queue.\n",
		       percent(j->m->share, part, sizeof(part)));
	printf("\n");
	put_setting(a, f);
	put_assertions(a, f);
	printf("Depth: at most %llu receives were posted, %llu messages unexpected; half of the\n"
	       "  searches of a list that find an entry look at %llu or fewer.\n",
	       (unsigned long long)j->posted_max, (unsigned long long)j->unexpected_max,
	       (unsigned long long)j->m->plain.median_position);
	if (f->lost || f->left_out)
		printf("Missing: %llu events; %llu operations on entries from before the trace are left "
		       "out.\n",
		       (unsigned long long)f->lost, (unsigned long long)f->left_out);
}

/* JSON. */

static json_t *json_cost(const struct qv_advice_cost *cost)
{
	return json_pack("{s:o, s:o}", "ns_per_message",
			 isnan(cost->ns) ? json_null() : json_real(cost->ns), "share",
			 isnan(cost->share) ? json_null() : json_real(cost->share));
}

int qv_advise_json(const struct qv_advise_job *j, const struct qv_advice_facts *f,
		   const struct qv_advice *a, const struct qv_bench_opts *opts)
{
	static const char *const answers[] = {"unknown", "equal", "helps", "hurts"};
	static const char *const doubts[] = {"sure", "near", "part", "missing", "few"};
	char text[96];
	json_t *root;
	int rc;

	setting(a, text, sizeof(text));
	root = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:b, s:b}", "over_list",
			 answers[a->over_list], "over_ob1", answers[a->over_ob1], "sure",
			 doubts[a->doubt], "list", json_cost(&f->list), "ob1", json_cost(&f->ob1),
			 "quiver", json_cost(&f->quiver), "structure",
			 a->structure ? a->structure : "auto", "setting", text, "no_any_source",
			 a->no_any_source, "no_any_tag", a->no_any_tag);
	json_object_set_new(root, "seconds", json_real(j->wall[j->judged] / 1e9));
	json_object_set_new(root, "messages", json_integer((json_int_t)f->messages));
	json_object_set_new(root, "posted_max", json_integer((json_int_t)j->posted_max));
	json_object_set_new(root, "unexpected_max", json_integer((json_int_t)j->unexpected_max));
	json_object_set_new(root, "median_position",
			    json_integer((json_int_t)j->m->plain.median_position));
	json_object_set_new(root, "lost", json_integer((json_int_t)f->lost));
	json_object_set_new(root, "left_out", json_integer((json_int_t)f->left_out));
	rc = json_dumpf(root, opts->json_file,
			JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
	json_decref(root);
	if (!rc && fputc('\n', opts->json_file) != EOF && !fflush(opts->json_file))
		return 0;
	fprintf(stderr, "quiver: cannot write %s\n", opts->json);
	return 1;
}
