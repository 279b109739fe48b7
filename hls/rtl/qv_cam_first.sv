// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_cam_first.sv - the first of those who accept: first[i] if it is i, down[i] if it is i or one
 * before. By doubling steps: the delay grows with the logarithm of DEPTH, without a carry chain.
 *
 * Synthesised by itself: where it is one with longer paths, tools save area on it, which makes it
 * the longest.
 */
(* keep_hierarchy = "yes" *)
module qv_cam_first #(
	parameter int DEPTH = 16
) (
	input logic [DEPTH-1:0] accepted,
	output logic [DEPTH-1:0] first,
	output logic [DEPTH-1:0] down
);
	localparam int STEPS = $clog2(DEPTH);
	wire [DEPTH-1:0] step[STEPS+1];

	assign step[0] = accepted;
	for (genvar i = 0; i < STEPS; i++) begin : g_step
		assign step[i+1] = step[i] | (step[i] << (1 << i));
	end
	assign down = step[STEPS];
	assign first = accepted & ~{down[DEPTH-2:0], 1'b0};
endmodule
