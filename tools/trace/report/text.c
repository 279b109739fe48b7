/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c - numbers and text for people. */
#include "text.h"

#include <inttypes.h>
#include <string.h>

struct qv_text qv_text_count(uint64_t n)
{
	struct qv_text t = {{0}};
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[at++] = ',';
		t.s[at++] = digits[i];
	}
	return t;
}

struct qv_text qv_text_short(uint64_t n)
{
	static const char units[] = " kMGTPE";
	struct qv_text t;
	double x = (double)n;
	int unit = 0;

	for (; x >= 999.5 && units[unit + 1]; unit++)
		x /= 1000;
	if (unit)
		snprintf(t.s, sizeof(t.s), x < 9.95 ? "%.1f%c" : "%.0f%c", x, units[unit]);
	else
		snprintf(t.s, sizeof(t.s), "%" PRIu64, n);
	return t;
}

struct qv_text qv_text_real(double x)
{
	struct qv_text t;

	if (x >= 99.95)
		return qv_text_count(x < 1e18 ? (uint64_t)(x + 0.5)
					      : UINT64_C(1000000000000000000));
	snprintf(t.s, sizeof(t.s), x < 0.995 && x > 0 ? "%.2f" : "%.1f", x);
	return t;
}

struct qv_text qv_text_share(uint64_t part, uint64_t of)
{
	const double percent = of ? 100 * (double)part / (double)of : 0;
	struct qv_text t;

	if (!part || percent >= 9.95)
		snprintf(t.s, sizeof(t.s), percent > 99.4 && part < of ? "%.1f %%" : "%.0f %%",
			 part < of && percent > 99.9 ? 99.9 : percent);
	else if (percent < 0.1)
		snprintf(t.s, sizeof(t.s), "under 0.1 %%");
	else
		snprintf(t.s, sizeof(t.s), "%.1f %%", percent);
	return t;
}

struct qv_text qv_text_time(double ns)
{
	static const char *const units[] = {"ns", "µs", "ms", "s"};
	struct qv_text t;
	int unit = 0;

	for (; ns >= 999.5 && unit < 3; unit++)
		ns /= 1000;
	snprintf(t.s, sizeof(t.s), "%.30s %s", qv_text_real(ns).s, units[unit]);
	return t;
}

/* How many bytes at p are one character of UTF-8 that may be shown, or 0. */
static int character(const unsigned char *p)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	int more = *p < 0x80 ? 0 : *p >> 5 == 6 ? 1 : *p >> 4 == 14 ? 2 : *p >> 3 == 30 ? 3 : -1;
	uint32_t c = more <= 0 ? *p : *p & (0x3fu >> more);

	for (int i = 1; i <= more; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (more < 0 || c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || (c & 0xfffe) == 0xfffe)
		return 0;
	return more + 1;
}

void qv_text_put(FILE *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		const int len = character(p);

		if (!len)
			fputs("\xef\xbf\xbd", out);
		else if (len == 1 && strchr("&<>\"'", *p))
			fprintf(out, "&#%d;", *p);
		else
			fwrite(p, 1, (size_t)len, out);
		p += len ? len : 1;
	}
}
