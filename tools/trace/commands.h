/* SPDX-License-Identifier: BSD-2-Clause */
/* commands.h - the subcommands of `quiver trace`. argv[0] is the subcommand's name; they return the
 * exit status: 0, 1 after an error that a line on stderr names, 2 for a wrong command line. */
#ifndef QV_TRACE_COMMANDS_H
#define QV_TRACE_COMMANDS_H

int qv_trace_cmd_dump(int argc, char **argv);
int qv_trace_cmd_cut(int argc, char **argv);
int qv_trace_cmd_arrivals(int argc, char **argv);
int qv_trace_cmd_merge(int argc, char **argv);
int qv_trace_cmd_anonymise(int argc, char **argv);
int qv_trace_cmd_generate(int argc, char **argv);
int qv_trace_cmd_replay(int argc, char **argv);
int qv_trace_cmd_report(int argc, char **argv);
int qv_trace_cmd_advise(int argc, char **argv);

#endif /* QV_TRACE_COMMANDS_H */
