# SPDX-License-Identifier: BSD-2-Clause
# Sources of the schedules of collectives, relative to engine/.
set(qv_schedule_sources schedule/schedule.c schedule/spec.c schedule/add.c schedule/names.c schedule/families/tree.c
	schedule/families/move.c schedule/families/hops.c schedule/families/forward.c schedule/families/shift.c schedule/families/route.c
	schedule/check/barrier.c schedule/check/order.c
	schedule/families/line.c schedule/families/scan.c schedule/families/exchange.c schedule/group.c
	schedule/check/check.c schedule/local.c schedule/run.c schedule/families/blocks.c schedule/families/segmented.c
	schedule/redirect/schedule.c schedule/unit/tree.c schedule/unit/open.c schedule/unit/run.c
	schedule/time/time.c schedule/select/select.c schedule/select/case.c schedule/select/choose.c schedule/select/model.c
	schedule/select/rules.c schedule/redirect/redirect.c schedule/redirect/time.c
	schedule/time/predict.c schedule/time/agree.c schedule/time/network.c schedule/time/calibrate.c schedule/time/calibrate_bursts.c)
