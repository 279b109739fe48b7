// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_cam.sv - the match unit cycle by cycle: entries in order of age, the oldest at index 0, one
 * command per cycle, the answer two cycles later, with PIPELINED three.
 *
 * A command is an append (an entry becomes the youngest) or a search (the oldest entry that accepts
 * the key is taken out). Stage 1 compares all entries with the key and registers who accepts; with
 * PIPELINED it registers parts of that, which a stage of its own joins. The next stage finds the
 * first who accepts and answers. One cycle after that all younger entries move down by one: so the
 * many wires of the move begin in registers. All that is under way for an entry moves with it, so
 * commands may follow each other in every cycle.
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
	parameter bit QUERY_MASK = 1'b0,
	parameter bit PIPELINED = 1'b0
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

	output logic answer,            // a search of two cycles ago, three with PIPELINED:
	output logic hit,
	output logic [ID-1:0] hit_id,
	output logic full
);
	localparam int TOP = DEPTH - 1;
	localparam int STEPS = $clog2(DEPTH);
	localparam int STAGES = PIPELINED ? 3 : 2;
	localparam int BITS = 12;       // of a tag in one part; of a source somewhat more
	localparam int TAG_PARTS = (TAG + BITS - 1) / BITS;
	localparam int SRC_BITS = 16;
	localparam int PARTS = TAG_PARTS + (SRC + SRC_BITS - 1) / SRC_BITS;

	// Entries: bit i of each vector, or element i, is the entry at index i. Those that are held
	// have no gap between them: held is 1 from bit 0 up to the youngest.
	logic [TAG-1:0] e_tag[DEPTH];
	logic [TAG-1:0] e_care[DEPTH];
	logic [SRC-1:0] e_src[DEPTH];
	logic [DEPTH-1:0] e_any;
	logic [ID-1:0] e_id[DEPTH];
	logic [DEPTH-1:0] held;

	wire append = valid & ~search & ~full;
	wire begins = valid & search & ~reset;

	assign full = held[TOP];
	assign ready = search | ~full;

	// Stage 1: the parts that agree, of entries that are held now: who enters behind a search is
	// not seen by it.
	wire [PARTS-1:0] same[DEPTH];

	for (genvar i = 0; i < DEPTH; i++) begin : g_compare
		wire [TAG-1:0] apart = (e_tag[i] ^ tag) & (ENTRY_MASK ? e_care[i] : {TAG{1'b1}})
			& (QUERY_MASK ? care : {TAG{1'b1}});
		wire [SRC-1:0] other = e_src[i] ^ src;
		wire any = (ENTRY_MASK & e_any[i]) | (QUERY_MASK & any_src);

		for (genvar k = 0; k < PARTS; k++) begin : g_part
			if (k < TAG_PARTS) begin : g_tag
				localparam int N = (k + 1) * BITS <= TAG ? BITS : TAG - k * BITS;

				assign same[i][k] = ~|apart[k*BITS+:N] & (k < TAG_PARTS - 1 | (held[i] & begins));
			end else begin : g_src
				localparam int AT = (k - TAG_PARTS) * SRC_BITS;
				localparam int N = AT + SRC_BITS <= SRC ? SRC_BITS : SRC - AT;

				assign same[i][k] = ~|other[AT+:N] | any;
			end
		end
	end

	// Who accepts, and the first of them. It is there for one more cycle, in which the search behind
	// must not see it. down[i]: one at i or before is on its way out, so the next comes to i.
	logic [PARTS-1:0] part[DEPTH];
	logic [DEPTH-1:0] accepted, down;
	wire [DEPTH-1:0] first, will_go;

	qv_cam_first #(.DEPTH(DEPTH)) pick(.accepted, .first, .down(will_go));

	for (genvar i = 0; i < DEPTH; i++) begin : g_accept
		localparam int NEXT = i < TOP ? i + 1 : i;
		wire here = &part[i] & ~first[i];
		wire above = i < TOP & &part[NEXT] & ~first[NEXT];

		if (PIPELINED) begin : g_stage
			always_ff @(posedge clk)
				part[i] <= down[i] ? same[NEXT] & {PARTS{i < TOP}} : same[i];
		end else begin : g_same
			assign part[i] = same[i];
		end
		always_ff @(posedge clk) begin
			accepted[i] <= ~reset & (down[i] ? above : here);
			down[i] <= ~reset & (down[i] ? will_go[NEXT] : will_go[i]);
		end
	end

	// Entries. What is not held takes what is on the wires in every cycle, and whoever moves down
	// with nothing held above it does too: that is where an append enters, and where there is none
	// what is taken does not matter.
	for (genvar i = 0; i < DEPTH; i++) begin : g_entry
		localparam int NEXT = i < TOP ? i + 1 : i;
		wire next = i < TOP & held[NEXT];
		wire prior = i == 0 | held[i > 0 ? i - 1 : 0];

		always_ff @(posedge clk) begin
			if (down[i] | ~held[i]) begin
				e_tag[i] <= next ? e_tag[NEXT] : tag;
				e_src[i] <= next ? e_src[NEXT] : src;
				e_id[i] <= next ? e_id[NEXT] : id;
				if (ENTRY_MASK) begin
					e_care[i] <= next ? e_care[NEXT] : care;
					e_any[i] <= next ? e_any[NEXT] : any_src;
				end
			end
			held[i] <= ~reset & (down[TOP] & ~append ? next : append & ~down[TOP] ? prior : held[i]);
		end
	end

	// The id of the first, by pairs: that of the lower one if any of its half is accepted.
	for (genvar s = 0; s <= STEPS; s++) begin : g_pick
		localparam int N = (DEPTH + (1 << s) - 1) >> s;
		wire [N-1:0] some;
		wire [ID-1:0] least[N];

		for (genvar i = 0; i < N; i++) begin : g_pair
			if (s == 0) begin : g_entry
				assign some[i] = accepted[i];
				assign least[i] = e_id[i];
			end else if (2 * i + 1 < (DEPTH + (1 << (s - 1)) - 1) >> (s - 1)) begin : g_two
				assign some[i] = |g_pick[s-1].some[2*i+:2];
				assign least[i] = g_pick[s-1].some[2*i] ? g_pick[s-1].least[2*i]
					: g_pick[s-1].least[2*i+1];
			end else begin : g_one
				assign some[i] = g_pick[s-1].some[2*i];
				assign least[i] = g_pick[s-1].least[2*i];
			end
		end
	end

	logic [STAGES-1:1] searching;   // of so many cycles ago

	always_ff @(posedge clk) begin
		searching <= (STAGES-1)'({searching, begins});
		answer <= searching[STAGES-1] & ~reset;
		hit <= g_pick[STEPS].some[0];
		hit_id <= g_pick[STEPS].least[0];
	end
endmodule
