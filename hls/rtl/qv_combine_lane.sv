// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_combine_lane.sv - integers of 1, 2, 4 and 8 bytes combined, BITS of each array per cycle, the
 * answer two cycles later. Operations have the numbers of enum qv_op (include/quiver/combine.h).
 *
 * PRODUCTS: multiply, too, which takes DSP blocks; without, a product is not known. Floating-point
 * needs a vendor's cores: that is left to the kernel in C++ (qv_combine_hls.cpp).
 */
module qv_combine_lane #(
	parameter int BITS = 512,
	parameter bit PRODUCTS = 1'b1
) (
	input logic clk,
	input logic reset,
	input logic valid,
	input logic [3:0] op,
	input logic [1:0] size,         // log2 of the element's bytes
	input logic is_signed,
	input logic [BITS-1:0] a,
	input logic [BITS-1:0] b,
	output logic answer,
	output logic known,             // of the answer: the operation is one of these
	output logic [BITS-1:0] result
);
	typedef enum logic [3:0] {
		SUM, PROD, MIN, MAX, LAND, LOR, LXOR, BAND, BOR, BXOR
	} qv_op;

	// As all sizes see it: one of these is what the operation gives.
	logic [BITS-1:0] of_size[4];

	for (genvar s = 0; s < 4; s++) begin : g_size
		localparam int W = 8 << s;

		for (genvar at = 0; at < BITS; at += W) begin : g_lane
			wire [W-1:0] x = a[at+:W];
			wire [W-1:0] y = b[at+:W];
			// The top bit turned over orders signed numbers as unsigned ones.
			wire [W-1:0] turn = {is_signed, {(W - 1) {1'b0}}};
			wire less = (x ^ turn) < (y ^ turn);
			logic [W-1:0] r;

			always_comb
				case (op)
				SUM: r = x + y;
				PROD: r = PRODUCTS ? x * y : '0;
				MIN: r = less ? x : y;
				MAX: r = less ? y : x;
				LAND: r = {{(W - 1) {1'b0}}, |x & |y};
				LOR: r = {{(W - 1) {1'b0}}, |x | |y};
				LXOR: r = {{(W - 1) {1'b0}}, |x ^ |y};
				BAND: r = x & y;
				BOR: r = x | y;
				BXOR: r = x ^ y;
				default: r = '0;
				endcase

			always_ff @(posedge clk) of_size[s][at+:W] <= r;
		end
	end

	logic valid_1, known_1;
	logic [1:0] size_1;

	always_ff @(posedge clk) begin
		valid_1 <= valid & ~reset;
		known_1 <= op <= BXOR & (PRODUCTS | op != PROD);
		size_1 <= size;
		answer <= valid_1 & ~reset;
		known <= known_1;
		result <= of_size[size_1];
	end
endmodule
