/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Device-internal (AXI) address map, and the BAR windows into it.
 *
 * A DMA descriptor, a ring base and a notification ring base are AXI
 * addresses. "TRN1" is Trainium1, "TRN2" what Trainium2, Trainium3 and the
 * dies of Trainium4 have in common, "TRN3" and "TRN4" where those differ. Of
 * Trainium4 nothing is published but figures and its links: what is TRN4 here
 * is this project's own definition.
 */
#ifndef TRN_REGS_ADDR_H
#define TRN_REGS_ADDR_H

/* Shape of Trainium2 and Trainium3 */
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

/* Bit 47 selects the die; bit 46 the host; bit 52 a neighbour (bits 51:50). */
#define TRN2_AXI_DIE(die)		((unsigned long long)(die) << 47)
#define TRN2_AXI_BITS			48	/* but for neighbours */
#define TRN2_AXI_HOST			0x400000000000ull
#define TRN2_AXI_HOST_SIZE		0x400000000000ull
#define TRN2_AXI_NEIGHBOUR		0x10000000000000ull
#define TRN2_AXI_NEIGHBOUR_STRIDE	0x4000000000000ull
#define TRN2_NUM_NEIGHBOUR_LINKS	4

/* Second SE of a die */
#define TRN2_AXI_SE_ODD			0x004000000000ull

/* Base of something that belongs to engine group @se, two a die */
#define TRN2_AXI_SE(se)			((((se) & 1) ? TRN2_AXI_SE_ODD : 0) | \
					 TRN2_AXI_DIE((se) >> 1))

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
#define TRN2_AXI_TPB(c)			(TRN2_AXI_SE((c) >> 1) + 0x002000000000ull + \
					 ((c) & 1) * TRN2_TPB_STRIDE)
#define TRN2_TPB_STRIDE			0x001000000000ull
#define TRN2_TPB_SIZE			0x804000000ull
#define TRN2_AXI_IO_APB(die)		(TRN2_AXI_DIE(die) + 0x008000000000ull)
#define TRN2_IO_APB_SIZE		0x20000000ull
/* @n: 0..9 on die 0, 10..19 on die 1 */
#define TRN2_AXI_TOP_SP(n)		(TRN2_AXI_DIE((n) / 10) + 0x008280000000ull + \
					 ((n) % 10) * TRN2_TOP_SP_STRIDE)
#define TRN2_TOP_SP_STRIDE		0x40000000ull
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
#define TRN2_IO_CORE_STRIDE		0x180000u
#define TRN2_IO_TPB_NOTIFIC(core_in_die) \
	(0x06001000u + ((core_in_die) >> 1) * 0x400000u + ((core_in_die) & 1) * TRN2_IO_CORE_STRIDE)
#define TRN2_IO_PE_COUNTERS(core_in_die) \
	(TRN2_IO_TPB_NOTIFIC(core_in_die) + 0x140100u)
#define TRN2_IO_RESERVED2		0x06300000u
#define TRN2_IO_UDMA_D2H		0x06800000u
#define TRN2_IO_UDMA_H2D		0x06900000u
#define TRN2_IO_TOP_SP_NOTIFIC(k)	(0x06a00000u + (k) * TRN2_IO_TOP_SP_STRIDE)
#define TRN2_IO_TOP_SP_STRIDE		0x40000u
#define TRN2_IO_MISC_RAM		0x06c84000u	/* of die 0 only */

/* Inside an SE APB; n: engine in SE, 0..31 */
#define TRN2_ENGINE_STRIDE		0x100000u	/* of host engines, too */
#define TRN2_SE_ENGINE(se, n) \
	((((se) & 1) ? 0x04000000u : 0x02000000u) + (n) * TRN2_ENGINE_STRIDE)
#define TRN2_SE_FIS(se, n)		((((se) & 1) ? 0x0c400000u : 0x0c000000u) + (n) * 0x20000u)

/* Engine ids: 0..127 data (SE = id / 32), then these */
#define TRN2_ENGINE_D2H(die)		(128 + 2 * (die))
#define TRN2_ENGINE_H2D(die)		(129 + 2 * (die))

/* An engine's UDMA block; behind it (Trainium1: elsewhere) its SDMA wrapper */
#define TRN_ENGINE_UDMA_SIZE		0x40000u
#define TRN2_ENGINE_SDMA		0x40000u
/* NOTIFIC block of an engine, relative to the wrapper; and the size of both */
#define TRN_SDMA_NOTIFIC		0x1000u
#define TRN_ENGINE_SDMA_SIZE		0x2000u

/* Data engines 4-7, 12-15, 20-23, 28-31 of an SE reach the host window. */
#define TRN2_ENGINE_HAS_HOST(n)		(((n) & 4) != 0)

/* Trainium3 */
#define TRN3_HBM_SIZE			0x900000000ull	/* 36 GiB a stack */

/*
 * Trainium4: four dies, bits 48:47; each with two engine groups, of a stack, a
 * core and 16 engines. Inside a die and an APB it is Trainium2.
 */
#define TRN4_NUM_DIES			4
#define TRN4_NUM_SE			8
#define TRN4_NUM_CORES			8	/* one an SE */
#define TRN4_NUM_HBM			8
#define TRN4_NUM_TOP_SP			16	/* four a die */
#define TRN4_ENGINES_PER_SE		16
#define TRN4_NUM_DATA_ENGINES		128
#define TRN4_NUM_HOST_ENGINES		8
#define TRN4_NUM_ENGINES		136
#define TRN4_AXI_BITS			49
#define TRN4_HBM_SIZE			TRN3_HBM_SIZE
#define TRN4_AXI_TPB(c)			TRN2_AXI_TPB(2 * (c))
#define TRN4_AXI_TOP_SP(n)		TRN2_AXI_TOP_SP((n) / 4 * 10 + (n) % 4)
/* BAR0: 4 GiB; of an IO APB as much as is in use */
#define TRN4_BAR0_IO_APB(die)		((die) * 0x10000000ull)
#define TRN4_BAR0_IO_APB_SIZE		0x10000000ull
#define TRN4_BAR0_SE_APB(se)		(0x40000000ull + (se) * 0x10000000ull)
#define TRN4_BAR0_TPB(c)		(0xc0000000ull + (c) * 0x4000000ull)
#define TRN4_BAR0_TOP_SP(i)		(0xe0000000ull + (i) * TRN2_TOP_SP_SIZE)
/* BAR4: as large as the host has room for, an equal part for each stack */
#define TRN4_BAR4_MIN			0x40000000ull
#define TRN4_BAR4_RESET			0x400000000ull
#define TRN4_BAR4_MAX			0x8000000000ull

/* Trainium1: one die, all registers in one APB. Bit 44 selects the host. */
#define TRN1_NUM_CORES			2
#define TRN1_NUM_HBM			2
#define TRN1_NUM_DIES			1
#define TRN1_NUM_TOP_SP			6
#define TRN1_NUM_DATA_ENGINES		32
#define TRN1_NUM_HOST_ENGINES		2
#define TRN1_NUM_ENGINES		34
#define TRN1_AXI_BITS			45
#define TRN1_AXI_HOST			0x100000000000ull
#define TRN1_AXI_HOST_SIZE		0x100000000000ull
#define TRN1_HBM_SIZE			0x400000000ull	/* 16 GiB a stack */
#define TRN1_HBM_WINDOW			0x1000000000ull
#define TRN1_AXI_HBM(s)			((s) * TRN1_HBM_WINDOW)
/* BAR0 shows all from here on */
#define TRN1_AXI_BAR0			0xfffc0000000ull
#define TRN1_BAR0_SIZE			0x40000000ull
#define TRN1_BAR0_TPB(c)		((c) * 0x4000000ull)
#define TRN1_BAR0_TOP_SP(n)		(0x10000000ull + (n) * TRN2_TOP_SP_SIZE)
#define TRN1_BAR0_APB			0x30000000ull
#define TRN1_BAR4_SIZE			0x800000000ull
/* Inside the APB */
#define TRN1_CORE_STRIDE		0x700000u
#define TRN1_UDMA(core)			((core) * TRN1_CORE_STRIDE)
#define TRN1_UDMA_STRIDE		0x40000u	/* from engine to engine */
#define TRN1_SDMA(core)			(0x400000u + (core) * TRN1_CORE_STRIDE)
#define TRN1_SDMA_STRIDE		0x7000u
#define TRN1_TPB_NOTIFIC(core)		(0x535000u + (core) * TRN1_CORE_STRIDE)
#define TRN1_PE_COUNTERS(core)		(0x5b1100u + (core) * TRN1_CORE_STRIDE)
#define TRN1_UDMA_HOST(n)		(0x600000u + (n) * TRN1_CORE_STRIDE)	/* D2H, H2D */
#define TRN1_SDMA_HOST(n)		(0x640000u + (n) * TRN1_CORE_STRIDE)
#define TRN1_TOP_SP_NOTIFIC(n)		(0xe04000u + (n) * 0x40000u)
#define TRN1_TOP_SP_STRIDE		0x40000u
#define TRN1_MISC_RAM			0xfa0000u

/* Data engines of a core, in every generation */
#define TRN_ENGINES_PER_CORE		16
#define TRN_QUEUES_PER_ENGINE		16

#endif
