/* SPDX-License-Identifier: BSD-2-Clause */
/* file_name.h - names of files in settings: % stands for what tells processes apart. */
#ifndef QV_FILE_NAME_H
#define QV_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The file that a pattern stands for in this process; false, with the reason in *why. */
bool qv_file_name(const char *pattern, char *path, size_t size, const char **why);
/* A pattern of the same file wherever the process goes, to be freed; NULL: no memory. */
char *qv_file_absolute(const char *pattern);
/* Can it be written, and by no other process of the job? behind: what its name has while it is made, "" where that is
 * nothing. */
bool qv_file_writable(const char *pattern, const char *behind, char *why, size_t size);
/* As the launcher says; -1: it does not. */
int qv_file_rank(void);

#endif /* QV_FILE_NAME_H */
