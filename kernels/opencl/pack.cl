/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.cl - gather and scatter pieces: a work-group for each, of which the host makes several where
 * it is long. A piece is three ulongs: where it is in src, where it goes in dst, bytes.
 */
__kernel void copy_pieces(__global uchar *dst, __global const uchar *src,
			  __global const ulong *pieces, uint n)
{
	const uint piece = get_group_id(0);
	const ulong me = get_local_id(0), all = get_local_size(0);
	ulong3 p;
	ulong head, words;

	if (piece >= n)
		return;
	p = vload3(piece, pieces);
	/* Whole words where both sides have them in the same places. */
	head = (p.x ^ p.y) & 3 ? p.z : min(0 - p.y & 3, p.z);
	words = (p.z - head) / 4;
	for (ulong i = me; i < head; i += all)
		dst[p.y + i] = src[p.x + i];
	for (ulong i = me; i < words; i += all)
		((__global uint *)(dst + p.y + head))[i] =
			((__global const uint *)(src + p.x + head))[i];
	for (ulong i = head + 4 * words + me; i < p.z; i += all)
		dst[p.y + i] = src[p.x + i];
}
