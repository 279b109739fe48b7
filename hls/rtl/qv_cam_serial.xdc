# SPDX-License-Identifier: BSD-2-Clause
# Pins of xc7a100tcsg324; any would do.
set_property PACKAGE_PIN E3 [get_ports clk]
set_property PACKAGE_PIN C9 [get_ports reset]
set_property PACKAGE_PIN D9 [get_ports d]
set_property PACKAGE_PIN H5 [get_ports q]
set_property IOSTANDARD LVCMOS33 [get_ports clk]
set_property IOSTANDARD LVCMOS33 [get_ports reset]
set_property IOSTANDARD LVCMOS33 [get_ports d]
set_property IOSTANDARD LVCMOS33 [get_ports q]
