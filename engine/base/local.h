/* SPDX-License-Identifier: BSD-2-Clause */
/* local.h - what processes of one user on one host give each other: sockets that are no files, and
 * memory that has no name. Nothing stays behind. */
#ifndef QV_LOCAL_H
#define QV_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Memory that can be given away, zeroed; its descriptor in *fd. Sealed, so that who has it too cannot
 * make it shorter under us, and not a child's. NULL: no memory. */
void *qv_local_make(size_t bytes, int *fd);
/* The memory behind a descriptor that another process has given. NULL: it is none of that length, or
 * not sealed; errno is ENOMEM: no memory. */
void *qv_local_map(int fd, size_t bytes);
void qv_local_unmap(void *memory, size_t bytes);

/* For who got no descriptor, with errno: has this process as many as it may have? Then it raises its
 * limit, as far as the administrator allows (setrlimit(2)). True: ask again. */
bool qv_local_more(void);

/* An abstract name: of a network name space, gone with the socket. */
socklen_t qv_local_address(struct sockaddr_un *a, const char *name);
/* Is a process of our user at the other end of the connection? Its number here, 0 where it has none. */
bool qv_local_is_ours(int fd, uint32_t *pid);

/* Send words, and a descriptor with them. False, with errno. */
bool qv_local_give(int to, const void *words, size_t len, int fd);
/* Words, and the one descriptor that came with them, else -1. The result of recvmsg(2), with these
 * flags. With MSG_PEEK -1 and EMFILE, if there was a descriptor that this process cannot have now. */
long qv_local_take(int from, void *words, size_t room, int flags, int *fd);

#endif /* QV_LOCAL_H */
