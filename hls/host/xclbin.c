/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xclbin.c - a look into a bitstream before a card is given it: that it has our kernels,
 * with the arguments that they will be called with. XRT's C interface says neither.
 *
 * An xclbin is a header, a table of sections and the sections; one of them is XML about the
 * kernels.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC        "xclbin2"
#define HEADER_BYTES 456 /* the table is behind it */
#define COUNT_AT     448 /* uint32: sections */
#define METADATA     2   /* kind of the section with the XML */
#define MOST_XML     ((uint64_t)64 << 20)
#define ARGUMENTS    6

struct section {
	uint32_t kind;
	char name[20]; /* with four bytes of padding */
	uint64_t offset, bytes;
};

_Static_assert(sizeof(struct section) == 40, "as it lies in the file");

struct kernel {
	const char *name;
	const char *argument[ARGUMENTS]; /* three arrays, three numbers of 32 bits */
};

static const struct kernel kernels[] = {
	{QV_HLS_MATCH, {"entries", "queries", "out", "n", "m", "nonce"}},
	{QV_HLS_COMBINE, {"a", "b", "out", "beats", "what", "nonce"}},
};

/* The file. */

/* The XML, to be freed; NULL with the reason. */
static char *read_metadata(FILE *in, const char **why)
{
	char header[HEADER_BYTES];
	struct section s = {.kind = UINT32_MAX};
	uint32_t sections;
	char *xml;

	*why = "is not an xclbin";
	if (fread(header, 1, sizeof(header), in) != sizeof(header) ||
	    memcmp(header, MAGIC, sizeof(MAGIC)))
		return NULL;
	memcpy(&sections, header + COUNT_AT, sizeof(sections));
	*why = "says nothing about its kernels";
	for (uint32_t i = 0; i < sections && s.kind != METADATA; i++)
		if (fread(&s, 1, sizeof(s), in) != sizeof(s))
			return NULL;
	if (s.kind != METADATA || s.bytes > MOST_XML || s.offset > INT64_MAX ||
	    fseek(in, (long)s.offset, SEEK_SET))
		return NULL;
	xml = malloc(s.bytes + 1);
	if (xml && fread(xml, 1, s.bytes, in) != s.bytes) {
		free(xml);
		return NULL;
	}
	if (xml)
		xml[s.bytes] = 0;
	return xml;
}

/* The XML, as far as v++ writes it. */

/* Whether the tag that begins at `tag` has name="value". */
static bool has(const char *tag, const char *name, const char *value)
{
	const char *end = strchr(tag, '>');
	char text[96];
	const char *at;

	snprintf(text, sizeof(text), " %s=\"%s\"", name, value);
	at = strstr(tag, text);
	return at && end && at < end;
}

/* The next tag of that name before `end`; NULL. */
static const char *next_tag(const char *from, const char *name, const char *end)
{
	char text[32];
	const char *at;

	snprintf(text, sizeof(text), "<%s ", name);
	at = strstr(from, text);
	return at && (!end || at < end) ? at : NULL;
}

/* Argument number i, of a name, an array or a number: the kernel has it, and of our size. */
static bool has_argument(const char *kernel, const char *end, int i, const char *name)
{
	const char *const size = i < 3 ? "0x8" : "0x4", *const where = i < 3 ? "1" : "0";
	char number[16];

	snprintf(number, sizeof(number), "%d", i);
	for (const char *arg = kernel; (arg = next_tag(arg, "arg", end)); arg++)
		if (has(arg, "id", number))
			return has(arg, "name", name) && has(arg, "size", size) &&
			       has(arg, "addressQualifier", where);
	return false;
}

static int check_kernel(const char *xml, const struct kernel *k, const char *file, char *why,
			size_t room)
{
	const char *at = xml, *end;
	char extra[16];

	while ((at = next_tag(at, "kernel", NULL)) && !has(at, "name", k->name))
		at++;
	if (!at) {
		snprintf(why, room, "%s has no kernel %s", file, k->name);
		return QV_ENOENT;
	}
	end = strstr(at, "</kernel>");
	for (int i = 0; i < ARGUMENTS; i++)
		if (!has_argument(at, end, i, k->argument[i])) {
			snprintf(why, room, "%s: argument %d of %s is not the %s that we know",
				 file, i, k->name, k->argument[i]);
			return QV_ENOENT;
		}
	snprintf(extra, sizeof(extra), "%d", ARGUMENTS);
	for (at = next_tag(at, "arg", end); at; at = next_tag(at + 1, "arg", end))
		if (has(at, "id", extra)) {
			snprintf(why, room, "%s: %s has more arguments than we know", file,
				 k->name);
			return QV_ENOENT;
		}
	return QV_OK;
}

int qv_xrt_check_xclbin(const char *file, char *why, size_t room)
{
	const char *reason = "cannot be read";
	FILE *in = file ? fopen(file, "rb") : NULL;
	char *xml = in ? read_metadata(in, &reason) : NULL;
	int err = QV_OK;

	if (in)
		fclose(in);
	if (!file) {
		snprintf(why, room, "FI_QUIVER_XCLBIN names no bitstream");
		return QV_ENOENT;
	}
	if (!xml) {
		snprintf(why, room, "FI_QUIVER_XCLBIN=%s %s", file, reason);
		return QV_ENOENT;
	}
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && !err; i++)
		err = check_kernel(xml, &kernels[i], file, why, room);
	free(xml);
	return err;
}
