/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * IOFIC: the UDMA's interrupt controllers. A primary with groups A..D, a
 * secondary with A (M2S errors), B (S2M errors), C (FIFO parities), and one
 * group a bus master. All groups have the layout below.
 */
#ifndef TRN_REGS_IOFIC_H
#define TRN_REGS_IOFIC_H

#define TRN_IOFIC_PRIMARY(g)		(0x38000u + (g) * 0x40u)
#define TRN_IOFIC_SECONDARY(g)		(0x3a000u + (g) * 0x40u)
#define TRN_IOFIC_MASTER(i)		(0x3ad00u + (i) * 0x100u)
#define TRN_IOFIC_NUM_PRIMARY		4
#define TRN_IOFIC_NUM_SECONDARY		3
#define TRN_IOFIC_NUM_MASTERS		7
#define  TRN_IOFIC_A			0
#define  TRN_IOFIC_B			1
#define  TRN_IOFIC_C			2
#define  TRN_IOFIC_D			3

#define TRN_IOFIC_CAUSE			0x00u	/* a bit written as 0 is cleared */
#define TRN_IOFIC_CAUSE_SET		0x08u
#define TRN_IOFIC_MASK			0x10u
#define TRN_IOFIC_MASK_CLEAR		0x18u	/* a bit written as 0 is unmasked */
#define TRN_IOFIC_STATUS		0x20u
#define TRN_IOFIC_CONTROL		0x28u
#define TRN_IOFIC_ABORT_MASK		0x30u	/* 0: the cause aborts the engine */
#define TRN_IOFIC_LOG_MASK		0x38u
#define TRN_IOFIC_GROUP_SIZE		0x40u

#define TRN_IOFIC_CTL_CLEAR_ON_READ	(1u << 0)
#define TRN_IOFIC_CTL_AUTO_MASK		(1u << 1)
#define TRN_IOFIC_CTL_AUTO_CLEAR	(1u << 2)
#define TRN_IOFIC_CTL_POSEDGE		(1u << 3)
#define TRN_IOFIC_CTL_MASK_MSIX		(1u << 5)

/* Primary group B: S2M completion of queue q; C: M2S completion of queue q */
#define TRN_IOFIC_QUEUE(q)		(1u << (q))
/* Primary group D */
#define TRN_IOFIC_D_M2S_ERROR		(1u << 8)	/* secondary A */
#define TRN_IOFIC_D_S2M_ERROR		(1u << 9)	/* secondary B */
#define TRN_IOFIC_D_FIFO_PARITY		(1u << 10)	/* secondary C */

/* Secondary A: M2S errors */
#define TRN_M2S_ERR_PREF_HDR_PARITY	(1u << 25)
#define TRN_M2S_ERR_PREF_DESC_PARITY	(1u << 24)
#define TRN_M2S_ERR_DATA_PARITY		(1u << 23)
#define TRN_M2S_ERR_AXI_DATA_PARITY	(1u << 18)
#define TRN_M2S_ERR_RING_ID		(1u << 17)
#define TRN_M2S_ERR_LAST		(1u << 16)	/* LAST without FIRST */
#define TRN_M2S_ERR_FIRST		(1u << 15)	/* FIRST inside a packet */
#define TRN_M2S_ERR_MAX_DESCS		(1u << 14)
#define TRN_M2S_ERR_PKT_LEN		(1u << 13)
#define TRN_M2S_ERR_PREF_AXI_TIMEOUT	(1u << 12)
#define TRN_M2S_ERR_PREF_AXI_RESP	(1u << 11)
#define TRN_M2S_ERR_PREF_AXI_PARITY	(1u << 10)
#define TRN_M2S_ERR_DATA_AXI_TIMEOUT	(1u << 9)
#define TRN_M2S_ERR_DATA_AXI_RESP	(1u << 8)
#define TRN_M2S_ERR_DATA_AXI_PARITY	(1u << 7)
#define TRN_M2S_ERR_COMP_AXI_TIMEOUT	(1u << 6)
#define TRN_M2S_ERR_COMP_AXI_RESP	(1u << 5)
#define TRN_M2S_ERR_STREAM_TIMEOUT	(1u << 3)
#define TRN_M2S_ERR_STREAM_RESP		(1u << 2)

/* Secondary B: S2M errors */
#define TRN_S2M_ERR_PKT_LEN		(1u << 24)
#define TRN_S2M_ERR_LAST		(1u << 23)
#define TRN_S2M_ERR_FIRST		(1u << 22)
#define TRN_S2M_ERR_COMP_AXI_TIMEOUT	(1u << 15)
#define TRN_S2M_ERR_COMP_AXI_RESP	(1u << 14)
#define TRN_S2M_ERR_RING_ID		(1u << 11)
#define TRN_S2M_ERR_PREF_AXI_TIMEOUT	(1u << 10)
#define TRN_S2M_ERR_PREF_AXI_RESP	(1u << 9)
#define TRN_S2M_ERR_NO_DESC_HINT	(1u << 7)
#define TRN_S2M_ERR_NO_DESC_TIMEOUT	(1u << 6)
#define TRN_S2M_ERR_DATA_AXI_TIMEOUT	(1u << 2)
#define TRN_S2M_ERR_DATA_AXI_RESP	(1u << 1)
#define TRN_S2M_ERR_DATA_AXI_PARITY	(1u << 0)

/* The data engine's FIS block: same group layout, group g at g * 0x40 + 0x80 */
#define TRN_FIS_GROUP2_MASK		0x090u
#define TRN_FIS_GROUP3_MASK		0x0d0u
#define  TRN_FIS_GROUP2_RING_ID		(1u << 11)
#define  TRN_FIS_GROUP3_RING_ID		(1u << 2)
#define TRN_FIS_SIZE			0x20000u

#endif
