/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * UDMA engine, hardware revision 4: registers. Offsets are relative to the
 * engine's block; q is a queue pair, 0..15.
 */
#ifndef TRN_REGS_UDMA_H
#define TRN_REGS_UDMA_H

#define TRN_UDMA_M2S_AXI		0x00100u
#define TRN_UDMA_M2S_GLOBAL		0x00200u
#define TRN_UDMA_M2S_PREFETCH		0x00300u
#define TRN_UDMA_M2S_DWRR		0x00340u
#define TRN_UDMA_M2S_RATE		0x00380u
#define TRN_UDMA_M2S_STREAM_RATE	0x003c0u
#define TRN_UDMA_M2S_COMPLETION		0x00400u
#define TRN_UDMA_M2S_STATS		0x00500u
#define TRN_UDMA_M2S_FEATURES		0x00600u
#define TRN_UDMA_S2M_AXI		0x20100u
#define TRN_UDMA_S2M_GLOBAL		0x20200u
#define TRN_UDMA_S2M_PREFETCH		0x20300u
#define TRN_UDMA_S2M_COMPLETION		0x20380u
#define TRN_UDMA_GENERAL		0x38000u
#define TRN_UDMA_GENERAL_EX		0x3c000u

/* M2S AXI configuration */
#define TRN_UDMA_M2S_DATA_RD_CFG	0x00118u
#define TRN_UDMA_M2S_DESC_RD_CFG_3	0x0011cu
#define TRN_UDMA_M2S_OSTAND_CFG		0x00124u

/* Global: state and its change, same encodings for S2M at +0x20000 */
#define TRN_UDMA_M2S_STATE		0x00200u
#define TRN_UDMA_M2S_CHANGE_STATE	0x00204u
#define TRN_UDMA_M2S_ERR_LOG_MASK	0x0020cu
#define TRN_UDMA_M2S_CFG_LEN		0x00254u
#define  TRN_UDMA_CFG_LEN_MASK		0xfffffu
#define  TRN_UDMA_CFG_LEN_0_IS_64K	(1u << 24)
#define TRN_UDMA_M2S_STREAM_CFG		0x00258u
#define  TRN_UDMA_STREAM_CFG_DISABLE	(1u << 0)	/* both sides */
#define TRN_UDMA_S2M_STATE		0x20200u
#define TRN_UDMA_S2M_CHANGE_STATE	0x20204u
#define TRN_UDMA_S2M_ERR_LOG_MASK	0x2020cu
#define TRN_UDMA_S2M_STREAM_CFG		0x20250u

/* State: four fields (completion, stream, data, prefetch), each of these */
#define  TRN_UDMA_STATE_IDLE		0u
#define  TRN_UDMA_STATE_NORMAL		1u
#define  TRN_UDMA_STATE_ABORT		2u
#define  TRN_UDMA_STATE_ALL(v)		((v) * 0x1111u)
#define  TRN_UDMA_STATE_FIELDS		0x3333u
#define  TRN_UDMA_CHANGE_NORMAL		(1u << 0)
#define  TRN_UDMA_CHANGE_DISABLE	(1u << 1)
#define  TRN_UDMA_CHANGE_ABORT		(1u << 2)

/* Read and prefetch configuration */
#define TRN_UDMA_M2S_DESC_PREF_CFG_1	0x00300u
#define TRN_UDMA_M2S_DESC_PREF_CFG_2	0x00304u
#define  TRN_UDMA_PREF2_MAX_DESCS_MASK	0xffffu
#define TRN_UDMA_M2S_DESC_PREF_CFG_3	0x00308u
#define TRN_UDMA_M2S_DATA_CFG		0x00310u
#define TRN_UDMA_M2S_COMP_ACK		0x00408u
#define TRN_UDMA_M2S_DMA_VERSION	0x00604u
#define TRN_UDMA_VERSION_4		4u
#define TRN_UDMA_HW_MAX_PKT_DESCS	128u

#define TRN_UDMA_S2M_DESC_RD_CFG_3	0x2011cu
#define TRN_UDMA_S2M_OSTAND_CFG_RD	0x20124u
#define TRN_UDMA_S2M_OSTAND_CFG_WR	0x20128u
#define TRN_UDMA_S2M_OSTAND_CFG_WR_2	0x2012cu
#define  TRN_UDMA_OSTAND_WR_2_MASK	0x3ffu	/* data writes; from Trainium3 on */
#define TRN_UDMA_S2M_DESC_PREF_CFG_3	0x20308u
#define TRN_UDMA_S2M_COMP_CFG_1C	0x20380u
#define TRN_UDMA_S2M_COMP_ACK		0x2038cu

/*
 * DWRR scheduler, as in the UDMA of Alpine: with EN the queues of an engine
 * share it by their weights, without it by turns
 */
#define TRN_UDMA_M2S_DWRR_CFG		0x00340u
#define  TRN_UDMA_DWRR_EN		(1u << 0)
#define  TRN_UDMA_DWRR_FACTOR(n)	((n) << 16)	/* a weight is 2^n bytes */

/* Queue registers */
#define TRN_UDMA_M2S_Q(q)		(0x01000u + (q) * 0x1000u)
#define TRN_UDMA_S2M_Q(q)		(0x21000u + (q) * 0x1000u)
#define TRN_UDMA_Q_PREF_CFG		0x00u
#define TRN_UDMA_Q_CFG			0x20u
#define  TRN_UDMA_Q_CFG_PREFETCH	(1u << 16)
#define  TRN_UDMA_Q_CFG_SCHED		(1u << 17)
#define  TRN_UDMA_Q_CFG_RESET		0x03000000u
#define TRN_UDMA_Q_STATUS		0x24u
#define  TRN_UDMA_Q_STATUS_USED_MASK	0x1ffffffu
#define  TRN_UDMA_Q_STATUS_PREFETCH	(1u << 28)
#define  TRN_UDMA_Q_STATUS_SCHED	(1u << 29)
#define  TRN_UDMA_Q_STATUS_DMB		(1u << 30)
#define  TRN_UDMA_Q_STATUS_FULL		(1u << 31)
#define TRN_UDMA_Q_BASE_LO		0x28u
#define TRN_UDMA_Q_BASE_HI		0x2cu
#define TRN_UDMA_Q_LEN			0x30u
#define  TRN_UDMA_Q_LEN_MASK		0xffffffu
#define  TRN_UDMA_Q_LEN_MIN		32u
#define  TRN_UDMA_Q_LEN_ALIGN		16u
#define TRN_UDMA_Q_HEAD			0x34u
#define TRN_UDMA_Q_TAIL_INC		0x38u	/* doorbell */
#define TRN_UDMA_Q_TAIL			0x3cu
#define  TRN_UDMA_Q_PTR_MASK		0xffffffu
#define  TRN_UDMA_Q_PTR_RID_SHIFT	30
#define TRN_UDMA_Q_CURRENT		0x40u
#define TRN_UDMA_Q_COMP_BASE_LO		0x44u
#define TRN_UDMA_Q_COMP_BASE_HI		0x48u
#define TRN_UDMA_Q_COMP_HEAD		0x4cu
#define TRN_UDMA_Q_COMP_HEAD_INT	0x50u
#define TRN_UDMA_S2M_Q_COMP_CFG		0x54u
#define TRN_UDMA_M2S_Q_COMP_CFG		0xa0u
#define  TRN_UDMA_Q_COMP_CFG_RING	(1u << 0)
#define  TRN_UDMA_Q_COMP_CFG_NO_COAL	(1u << 1)
#define TRN_UDMA_M2S_Q_RATE_MASK	0x74u
#define  TRN_UDMA_Q_RATE_MASK_RESET	7u
#define  TRN_UDMA_Q_RATE_MASK_DMB	(1u << 2)
#define TRN_UDMA_M2S_Q_DWRR_CFG_3	0x88u
#define  TRN_UDMA_Q_DWRR_WEIGHT_MASK	0xffu
#define TRN_UDMA_S2M_Q_SW_CTRL		0x64u
#define TRN_UDMA_M2S_Q_SW_CTRL		0xb0u
#define  TRN_UDMA_Q_SW_CTRL_RESET	(1u << 8)
#define TRN_UDMA_Q_BASE_ALIGN		256u	/* software; hardware wants 64 */
#define TRN_UDMA_Q_FIRST_RING_ID	1u	/* after a queue reset */
#define TRN_UDMA_RING_ID_MASK		3u

/* General block */
#define TRN_UDMA_AXI_TIMEOUT		0x3a300u
#define TRN_UDMA_AXI_ERR_TABLE(i)	(0x3a900u + (i) * 0x40u)	/* 7 of 16 words */
#define TRN_UDMA_AXI_ERR_CTRL(i)	(0x3ab00u + (i) * 8u)		/* 7: address, data */
#define TRN_UDMA_AXI_QUEUE(q)		(0x3ac00u + (q) * 0xcu)
#define  TRN_UDMA_AXI_QUEUE_ERROR	4u	/* not 0: it caused an error; cleared by reading */
#define TRN_UDMA_SPARE_ZEROES0		0x3b460u
#define  TRN_UDMA_SPARE_NO_COMP_HEAD	(1u << 0)
#define TRN_UDMA_SPARE_ZEROES1		0x3b464u
#define TRN_UDMA_SPARE_ONES0		0x3b468u
#define TRN_UDMA_SPARE_ONES1		0x3b46cu
#define TRN_UDMA_VMPR_TX_SEL(q)		(0x3c400u + (q) * 0x40u)
#define TRN_UDMA_VMPR_RX_SEL(q, i)	(0x3c404u + (q) * 0x40u + (i) * 4u)

/* SDMA wrapper of an engine */
#define TRN_SDMA_EVENT_ACCEL		0x000u
#define TRN_SDMA_READ_REORDER		0x01cu
#define TRN_SDMA_WRITE_REORDER		0x020u
#define  TRN_SDMA_REORDER_ENABLE	(1u << 0)
#define  TRN_SDMA_REORDER_IN_ORDER	(1u << 1)
#define TRN_SDMA_BCAST_GROUP_MASK	0x100u
#define TRN_SDMA_BCAST_LAST_NODE	0x104u
#define TRN_SDMA_OUTSTANDING		0x800u
/*
 * Own definition, with TRN_EXT_FEAT_TIME: modelled time in ns at which all that
 * the engine has done so far was done. Reading LO latches HI. DMA reads it too.
 */
#define TRN_SDMA_TIME_LO		0xff0u
#define TRN_SDMA_TIME_HI		0xff4u

#endif
