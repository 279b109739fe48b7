# SPDX-License-Identifier: BSD-2-Clause
# Sources of collectives in shared memory, relative to engine/.
set(qv_team_sources team/open.c team/run.c team/move.c team/combine.c team/wait.c)
