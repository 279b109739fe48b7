/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd.h - subcommands of `quiver`. argv[0] is the subcommand's name; they return the exit
 * status. */
#ifndef QV_CMD_H
#define QV_CMD_H

int qv_cmd_info(int argc, char **argv);
int qv_cmd_stats(int argc, char **argv);
int qv_cmd_top(int argc, char **argv);
int qv_bench_coll(int argc, char **argv);
int qv_bench_exchange(int argc, char **argv);
int qv_bench_combine(int argc, char **argv);
int qv_bench_offload(int argc, char **argv);
int qv_bench_fabric(int argc, char **argv);
int qv_bench_distance(int argc, char **argv);
int qv_bench_match(int argc, char **argv);

#endif /* QV_CMD_H */
