/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.cl - gather and scatter pieces: a work-group for each. A piece is three ulongs: where it is
 * in src, where it goes in dst, bytes.
 */
__kernel void copy_pieces(__global uchar *dst, __global const uchar *src,
			  __global const ulong *pieces, uint n)
{
	const uint piece = get_group_id(0);
	ulong3 p;

	if (piece >= n)
		return;
	p = vload3(piece, pieces);
	for (ulong i = get_local_id(0); i < p.z; i += get_local_size(0))
		dst[p.y + i] = src[p.x + i];
}
