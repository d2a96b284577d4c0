/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * UDMA descriptors: four little-endian 32-bit words. Words 2 and 3 are the
 * low and high half of the AXI address.
 */
#ifndef TRN_REGS_UDMA_DESC_H
#define TRN_REGS_UDMA_DESC_H

#define TRN_DESC_SIZE			16u
#define TRN_DESC_MAX_LEN		0x10000u	/* written as length 0 */

/* Word 0, both sides */
#define TRN_DESC_LEN_MASK		0xffffu
#define TRN_DESC_RING_ID_SHIFT		24
#define TRN_DESC_RING_ID_MASK		0x3000000u
#define TRN_DESC_INT			(1u << 28)

/* Word 0, M2S (source) */
#define TRN_M2S_DUMMY			(1u << 22)
#define TRN_M2S_META			(1u << 23)	/* metadata descriptor */
#define TRN_M2S_FIRST			(1u << 26)
#define TRN_M2S_LAST			(1u << 27)
#define TRN_M2S_NO_SNOOP		(1u << 29)
#define TRN_M2S_DMB			(1u << 30)	/* waits for all before it */
#define TRN_M2S_CONCAT			(1u << 31)

/* Word 0, S2M (destination) */
#define TRN_S2M_STRONG_ORDER		(1u << 29)	/* write after all before it */
#define TRN_S2M_DUAL_BUF		(1u << 31)

/* Word 1, M2S: meta control */
#define TRN_META_LAST_BLOCK		(1u << 0)
#define TRN_META_FIRST_BLOCK		(1u << 1)
#define TRN_META_COPY_SOURCE		(1u << 19)
#define TRN_META_OP_TYPE_SHIFT		20
#define TRN_META_OP_TYPE_MASK		0x700000u
#define TRN_META_OP_SHIFT		23
#define TRN_META_OP_MASK		0x3800000u
#define  TRN_META_OP_TYPE_COPY		0u
#define  TRN_META_OP_COPY		2u
/*
 * Own definition: operations of the data on its way. REDUCE reads through the
 * fabric's reduce-read aperture, ACCUMULATE combines with what the destination
 * holds. OP is then a TRN_META_OP_*, and 7:4 is the type of the elements;
 * source, destination and length are multiples of 16. Floating point types
 * are summed as 32-bit floats and rounded once.
 */
#define  TRN_META_OP_TYPE_REDUCE	1u
#define  TRN_META_OP_TYPE_ACCUMULATE	2u
/*
 * Own definition, announced by TRN_EXT_FEAT_SEMAPHORE: a semaphore is a signed
 * 64-bit word in memory, aligned to its size, and the destination of a packet
 * of 8 bytes; the source holds the operand. ADD and SET may go through the
 * fabric's unicast and multicast apertures, and each is one atomic access; WAIT and
 * TAKE want a word in the chip's own HBM or in host memory. A queue whose
 * packet waits stays where it is, other queues of the engine go on, and a
 * reset of the queue ends it.
 */
#define  TRN_META_OP_TYPE_SEMAPHORE	3u
#define  TRN_META_OP_SEM_ADD		0u	/* word += operand */
#define  TRN_META_OP_SEM_SET		1u	/* word = operand */
#define  TRN_META_OP_SEM_WAIT		2u	/* until word >= operand */
#define  TRN_META_OP_SEM_TAKE		3u	/* the same, then word -= operand */
#define  TRN_META_OP_SUM		0u
#define  TRN_META_OP_MIN		1u
#define  TRN_META_OP_MAX		2u
#define TRN_META_DTYPE_SHIFT		4
#define TRN_META_DTYPE_MASK		0xf0u
#define  TRN_META_DTYPE_INT32		0u
#define  TRN_META_DTYPE_UINT32		1u
#define  TRN_META_DTYPE_INT64		2u
#define  TRN_META_DTYPE_FP16		3u
#define  TRN_META_DTYPE_BF16		4u
#define  TRN_META_DTYPE_FP32		5u
#define  TRN_META_DTYPE_FP8_E4M3	6u
#define  TRN_META_DTYPE_FP8_E5M2	7u
#define TRN_META_WRITE_BARRIER		(1u << 26)	/* later writes after this one */
#define TRN_META_COPY			0x01080003u	/* plain copy */

/* Completion descriptor, word 0 */
#define TRN_COMP_FIRST			(1u << 26)
#define TRN_COMP_LAST			(1u << 27)
#define TRN_COMP_ERROR			(1u << 31)

#endif
