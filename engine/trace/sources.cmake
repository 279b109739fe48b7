# SPDX-License-Identifier: BSD-2-Clause
# Sources of traces, relative to engine/.
set(qv_trace_sources
	trace/blocks.c
	trace/read.c
	trace/record.c
	trace/setting.c
	trace/write.c
	trace/write_all.c)
