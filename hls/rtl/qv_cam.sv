// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_cam.sv - the match unit cycle by cycle: entries in order of age, the oldest at index 0, one
 * command per cycle, the answer two cycles later.
 *
 * A command is an append (an entry becomes the youngest) or a search (the oldest entry that accepts
 * the key is taken out). Stage 1 compares all entries with the key and registers who accepts. Stage
 * 2 finds the first of them, answers, and moves all younger entries down by one; what stage 1 has
 * just found for the next command moves along, so commands may follow each other in every cycle.
 *
 * When DEPTH entries are held, appends are not taken (ready is low): they go to the host's list,
 * which is younger than all that is here, and searches that miss go on there.
 *
 * ENTRY_MASK: entries have ignored bits and any source, as posted receives do. QUERY_MASK: keys
 * do, as receives that look for unexpected messages. Either costs logic; who has neither is exact.
 */
module qv_cam #(
	parameter int DEPTH = 16,
	parameter int TAG = 64,
	parameter int SRC = 32,
	parameter int ID = 16,
	parameter bit ENTRY_MASK = 1'b1,
	parameter bit QUERY_MASK = 1'b0
) (
	input logic clk,
	input logic reset,

	input logic valid,
	input logic search,
	input logic [TAG-1:0] tag,
	input logic [TAG-1:0] care,     // the bits of the tag that are compared
	input logic [SRC-1:0] src,
	input logic any_src,
	input logic [ID-1:0] id,        // of an entry; what a search answers
	output logic ready,             // an append is taken in this cycle; a search always is

	output logic answer,            // a search of two cycles ago:
	output logic hit,
	output logic [ID-1:0] hit_id,
	output logic full
);
	localparam int STEPS = $clog2(DEPTH);

	// Entries: bit i of each vector, or element i, is the entry at index i.
	logic [TAG-1:0] e_tag[DEPTH];
	logic [TAG-1:0] e_care[DEPTH];
	logic [SRC-1:0] e_src[DEPTH];
	logic [DEPTH-1:0] e_any;
	logic [ID-1:0] e_id[DEPTH];
	logic [DEPTH-1:0] held;

	// Stage 1: who accepts the key, whether held or not.
	logic [DEPTH-1:0] accepts, accepted;
	logic searching;

	for (genvar i = 0; i < DEPTH; i++) begin : g_compare
		wire [TAG-1:0] apart = (e_tag[i] ^ tag) & (ENTRY_MASK ? e_care[i] : {TAG{1'b1}})
			& (QUERY_MASK ? care : {TAG{1'b1}});
		wire same_src = e_src[i] == src;

		assign accepts[i] = ~|apart & (same_src | (ENTRY_MASK & e_any[i])
			| (QUERY_MASK & any_src));
	end

	// Stage 2: the first of them. below[i]: it is at i or before, so entry i is replaced by the
	// next. By doubling steps: the delay grows with the logarithm of DEPTH, without a carry chain.
	wire [DEPTH-1:0] mine = accepted & held & {DEPTH{searching}};
	wire [DEPTH-1:0] step[STEPS+1];
	wire [DEPTH-1:0] below = step[STEPS];
	wire [DEPTH-1:0] first = mine & ~{below[DEPTH-2:0], 1'b0};

	assign step[0] = mine;
	for (genvar i = 0; i < STEPS; i++) begin : g_step
		assign step[i+1] = step[i] | (step[i] << (1 << i));
	end

	// What is held behind stage 2, and the index of the first that is free then.
	wire [DEPTH-1:0] kept = (below & {1'b0, held[DEPTH-1:1]}) | (~below & held);
	wire [DEPTH-1:0] free = ~kept & {kept[DEPTH-2:0], 1'b1};
	wire append = valid & ready & ~search;

	assign full = held[DEPTH-1];
	assign ready = search | ~full;

	for (genvar i = 0; i < DEPTH; i++) begin : g_entry
		localparam int NEXT = i + 1 < DEPTH ? i + 1 : i;
		wire enters = append & free[i];

		always_ff @(posedge clk) begin
			if (enters | below[i]) begin
				e_tag[i] <= enters ? tag : e_tag[NEXT];
				e_src[i] <= enters ? src : e_src[NEXT];
				e_id[i] <= enters ? id : e_id[NEXT];
				if (ENTRY_MASK) begin
					e_care[i] <= enters ? care : e_care[NEXT];
					e_any[i] <= enters ? any_src : e_any[NEXT];
				end
			end
			held[i] <= ~reset & (kept[i] | enters);
			// Follows its entry.
			accepted[i] <= below[i] ? accepts[NEXT] : accepts[i];
		end
	end

	// One of `first` at most is set: its id.
	logic [ID-1:0] first_id;

	always_comb begin
		first_id = '0;
		for (int i = 0; i < DEPTH; i++) first_id |= e_id[i] & {ID{first[i]}};
	end

	always_ff @(posedge clk) begin
		searching <= valid & search & ~reset;
		answer <= searching & ~reset;
		hit <= below[DEPTH-1];
		hit_id <= first_id;
	end
endmodule
