/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Device-internal (AXI) address map, and the BAR windows into it.
 *
 * A DMA descriptor, a ring base and a notification ring base are AXI
 * addresses. "TRN2" is Trainium2, the part with PCI device id 0x7364.
 */
#ifndef TRN_REGS_ADDR_H
#define TRN_REGS_ADDR_H

/* Shape */
#define TRN2_NUM_DIES			2
#define TRN2_NUM_SE			4	/* engine groups, two a die */
#define TRN2_NUM_CORES			8	/* NeuronCores, two an SE */
#define TRN2_NUM_HBM			4	/* stacks, one an SE */
#define TRN2_NUM_TOP_SP			20	/* in the map, ten a die */
#define TRN2_NUM_TOP_SP_USED		16	/* 0..7 of each die */
#define TRN2_NUM_DATA_ENGINES		128
#define TRN2_NUM_HOST_ENGINES		4	/* D2H, H2D of each die */
#define TRN2_NUM_ENGINES		132
#define TRN2_ENGINES_PER_SE		32
#define TRN2_ENGINES_PER_CORE		16

/* Bit 47 selects die 1; bit 46 the host; bit 52 a neighbour (bits 51:50). */
#define TRN2_AXI_DIE1			0x800000000000ull
#define TRN2_AXI_HOST			0x400000000000ull
#define TRN2_AXI_HOST_SIZE		0x400000000000ull
#define TRN2_AXI_NEIGHBOUR		0x10000000000000ull
#define TRN2_AXI_NEIGHBOUR_STRIDE	0x4000000000000ull
#define TRN2_NUM_NEIGHBOUR_LINKS	4

/* Second SE of a die */
#define TRN2_AXI_SE_ODD			0x004000000000ull

/* Base of something that belongs to engine group @se, 0..3 */
#define TRN2_AXI_SE(se)			((((se) & 1) ? TRN2_AXI_SE_ODD : 0) | \
					 (((se) & 2) ? TRN2_AXI_DIE1 : 0))

#define TRN2_AXI_HBM(s)			TRN2_AXI_SE(s)
#define TRN2_HBM_SIZE			0x600000000ull	/* 24 GiB a stack */
#define TRN2_HBM_WINDOW			0x1000000000ull	/* 64 GiB, in AXI and in BAR4 */
/*
 * Firmware keeps 16 MiB of each stack. Public sources disagree whether at
 * the start or the end, so software leaves both alone.
 */
#define TRN_HBM_FW_CARVEOUT		0x1000000ull

#define TRN2_AXI_SE_APB(se)		(TRN2_AXI_SE(se) + 0x001000000000ull)
#define TRN2_SE_APB_SIZE		0x10000000ull
#define TRN2_AXI_PREPROC(se)		(TRN2_AXI_SE(se) + 0x001200000000ull)
#define TRN2_PREPROC_SIZE		0x34c0000ull
#define TRN2_AXI_TPB(c)			(TRN2_AXI_SE((c) >> 1) + \
					 (((c) & 1) ? 0x003000000000ull : 0x002000000000ull))
#define TRN2_TPB_SIZE			0x804000000ull
#define TRN2_AXI_IO_APB(die)		(((die) ? TRN2_AXI_DIE1 : 0) + 0x008000000000ull)
#define TRN2_IO_APB_SIZE		0x20000000ull
/* @n: 0..9 on die 0, 10..19 on die 1 */
#define TRN2_AXI_TOP_SP(n)		(((n) >= 10 ? TRN2_AXI_DIE1 : 0) + 0x008280000000ull + \
					 ((n) % 10) * 0x40000000ull)
#define TRN2_TOP_SP_SIZE		0x400000ull

/* BAR0 windows */
#define TRN2_BAR0_SIZE			0x100000000ull
#define TRN2_BAR0_IO_APB(die)		((die) * 0x40000000ull)
#define TRN2_BAR0_SE_APB(se)		(0x80000000ull + (se) * 0x10000000ull)
#define TRN2_BAR0_TPB(c)		(0xd0000000ull + (c) * 0x4000000ull)
#define TRN2_BAR0_TPB_SIZE		0x4000000ull
/* @i: software index 0..15; 0..7 on die 0, 8..15 are TOP_SP10..17 */
#define TRN2_BAR0_TOP_SP(i)		(((i) < 8 ? 0xf0000000ull : 0xf2800000ull) + \
					 ((i) & 7) * TRN2_TOP_SP_SIZE)

/* BAR4 */
#define TRN2_BAR4_SIZE			0x4000000000ull
#define TRN2_BAR4_HBM(s)		((s) * TRN2_HBM_WINDOW)

/* Inside an IO APB */
#define TRN2_IO_TPB_NOTIFIC(core_in_die) \
	(0x06001000u + ((core_in_die) >> 1) * 0x400000u + ((core_in_die) & 1) * 0x180000u)
#define TRN2_IO_PE_COUNTERS(core_in_die) \
	(0x06141000u + ((core_in_die) >> 1) * 0x400000u + ((core_in_die) & 1) * 0x180000u + 0x100u)
#define TRN2_IO_RESERVED2		0x06300000u
#define TRN2_IO_UDMA_D2H		0x06800000u
#define TRN2_IO_UDMA_H2D		0x06900000u
#define TRN2_IO_TOP_SP_NOTIFIC(k)	(0x06a00000u + (k) * 0x40000u)	/* k: 0..7 */
#define TRN2_IO_MISC_RAM		0x06c84000u	/* of die 0 only */

/* Inside an SE APB; n: engine in SE, 0..31 */
#define TRN2_SE_ENGINE(se, n)		((((se) & 1) ? 0x04000000u : 0x02000000u) + (n) * 0x100000u)
#define TRN2_SE_FIS(se, n)		((((se) & 1) ? 0x0c400000u : 0x0c000000u) + (n) * 0x20000u)

/* Engine ids: 0..127 data (SE = id / 32), then these */
#define TRN2_ENGINE_D2H(die)		(128 + 2 * (die))
#define TRN2_ENGINE_H2D(die)		(129 + 2 * (die))

/* Parts of an engine's block, for data and host engines alike */
#define TRN_ENGINE_UDMA			0x00000u
#define TRN_ENGINE_UDMA_SIZE		0x40000u
#define TRN_ENGINE_SDMA			0x40000u
#define TRN_ENGINE_NOTIFIC		0x41000u
#define TRN_ENGINE_SIZE			0x42000u

/* Data engines 4-7, 12-15, 20-23, 28-31 of an SE reach the host window. */
#define TRN2_ENGINE_HAS_HOST(n)		(((n) & 4) != 0)

#define TRN_QUEUES_PER_ENGINE		16

#endif
