// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_cam_serial.sv - the match unit between registers, with four pins: for placement, which needs
 * pins, of which chips have fewer than the unit has wires. Every path that is timed begins and ends
 * in a register, as it does where the unit is a part of something.
 */
module qv_cam_serial #(
	parameter int DEPTH = 16,
	parameter bit PIPELINED = 1'b0
) (
	input logic clk,
	input logic reset,
	input logic d,
	output logic q
);
	localparam int TAG = 64;
	localparam int SRC = 32;
	localparam int ID = 16;
	localparam int WIRES = 2 + 2 * TAG + SRC + 1 + ID;

	logic [WIRES-1:0] in;           // shifted in bit by bit
	logic [ID+3:0] out, seen;
	logic clear;

	always_ff @(posedge clk) begin
		clear <= reset;
		in <= {in[WIRES-2:0], d};
		seen <= out;
		q <= ^seen;
	end

	wire valid, search, any_src;
	wire [TAG-1:0] tag, care;
	wire [SRC-1:0] src;
	wire [ID-1:0] id;
	wire ready, answer, hit, full;
	wire [ID-1:0] hit_id;

	assign {valid, search, tag, care, src, any_src, id} = in;
	assign out = {ready, answer, hit, full, hit_id};

	qv_cam #(.DEPTH(DEPTH), .PIPELINED(PIPELINED)) unit (.reset(clear), .*);
endmodule
