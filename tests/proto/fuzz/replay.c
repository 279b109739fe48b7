/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.c - see replay.h. */
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/proto/rig/need.h"
#include "engine/base/random.h"

static size_t read_file(const char *directory, const char *name, uint8_t *data)
{
	char path[1024];
	FILE *file;
	size_t n;

	QV_NEED(snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path));
	file = fopen(path, "rb");
	QV_NEED(file);
	n = fread(data, 1, QV_REPLAY_LONGEST, file);
	QV_NEED(!ferror(file) && feof(file));
	(void)fclose(file);
	return n;
}

unsigned int qv_replay(const char *directory, unsigned int variants, uint64_t *random_state,
		       qv_replay_string string)
{
	static uint8_t data[QV_REPLAY_LONGEST + 1];
	DIR *d = opendir(directory);
	const struct dirent *entry;
	unsigned int files = 0;

	QV_NEED(d);
	while ((entry = readdir(d))) {
		size_t n;

		if (entry->d_name[0] == '.')
			continue;
		n = read_file(directory, entry->d_name, data);
		QV_NEED(n);
		files++;
		string(data, n);
		for (unsigned int i = 0; i < variants; i++) {
			data[qv_random_below(random_state, n)] = (uint8_t)qv_random(random_state);
			string(data, n);
		}
	}
	(void)closedir(d);
	return files;
}

uint64_t qv_replay_seed(void)
{
	const char *given = getenv("QV_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;

	printf("QV_SEED=%#llx\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}
