/* SPDX-License-Identifier: BSD-2-Clause */
/* kill.h - what the cases share in which rank 1 dies while ranks 0 and 2 go on. */
#ifndef FT_KILL_H
#define FT_KILL_H

#include "tests/fabric/harness/ft.h"

enum { SURVIVOR, VICTIM, BYSTANDER }; /* ranks */
enum { READY, DEATH };                /* words: rank 0 is ready; when the victim died, in ms */

void ft_die(void);
/* One round of the survivor with the bystander, and what that one does until ft_dismiss. */
void ft_play(struct ft_ep *ep);
void ft_bystander(struct ft_ep *ep);
void ft_dismiss(struct ft_ep *ep); /* the bystander, which ft_survived does, too */
/* Survivor and victim have exchanged a message each. */
void ft_handshake(struct ft_ep *ep);
/* Play until op has ended; if the victim is dead, within five seconds of the later of its death and
 * since. Returns the error, 0 if it came to a good end. */
int ft_outlive(struct ft_ep *ep, struct ft_op *op, double since);
/* Send to the victim, until the call is taken; false: it is known to be dead. */
bool ft_send_one(struct ft_ep *ep, char *buf, size_t len, uint64_t tag, struct ft_op *op);
/* Until the victim has died. */
void ft_mourn(struct ft_ep *ep);
/* What is sent to the dead afterwards must end as well; the others live on. */
void ft_survived(struct ft_ep *ep, char *buf, size_t len);

#endif /* FT_KILL_H */
