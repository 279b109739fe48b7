# SPDX-License-Identifier: BSD-2-Clause
# Sources of the reduction schedules, relative to engine/.
set(qv_schedule_sources schedule/qv_schedule.c schedule/qv_schedule_add.c schedule/qv_schedule_names.c schedule/qv_schedule_tree.c
	schedule/qv_schedule_move.c schedule/qv_hops.c schedule/qv_schedule_forward.c schedule/qv_schedule_shift.c schedule/qv_route.c
	schedule/qv_schedule_check_barrier.c schedule/qv_schedule_check_order.c
	schedule/qv_schedule_line.c schedule/qv_schedule_exchange.c schedule/qv_schedule_group.c
	schedule/qv_schedule_check.c schedule/qv_schedule_local.c schedule/qv_schedule_run.c schedule/qv_schedule_blocks.c schedule/qv_schedule_segmented.c
	schedule/qv_schedule_redirect.c
	schedule/qv_schedule_time.c schedule/qv_select.c schedule/qv_select_choose.c schedule/qv_select_model.c
	schedule/qv_select_rules.c schedule/qv_redirect.c schedule/qv_redirect_time.c
	schedule/qv_predict.c schedule/qv_network.c schedule/qv_calibrate.c schedule/qv_calibrate_bursts.c)
