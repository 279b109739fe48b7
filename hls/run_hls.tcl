# SPDX-License-Identifier: BSD-2-Clause
# run_hls.tcl - synthesis of one kernel for its reports: vitis_hls -f run_hls.tcl KERNEL DEPTH MHZ.
# To be seen in them: an interval (II) of 1 in every loop, no stream that the tool calls too short.
# Never run by the authors, see docs/fpga.md.
lassign [lrange $argv end-2 end] kernel depth mhz
open_project -reset hls_$kernel
set_top $kernel
add_files $kernel.cpp -cflags "-I. -I../include -DQV_HLS_DEPTH=$depth"
open_solution -reset -flow_target vitis solution
set_part xcu55c-fsvh2892-2L-e
create_clock -period ${mhz}MHz
csynth_design
exit
