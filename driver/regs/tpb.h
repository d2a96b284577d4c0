/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * NeuronCore (TPB) and TOP_SP windows, their events and semaphores, and the
 * NOTIFIC block of a core, a TOP_SP or a DMA engine.
 */
#ifndef TRN_REGS_TPB_H
#define TRN_REGS_TPB_H

#define TRN_TPB_SBUF			0x0000000u
#define TRN_TPB_SBUF_SIZE		0x2000000u
#define TRN_TPB_SYNC			0x2700000u	/* events and semaphores */
#define TRN_SYNC_SIZE			0x2000u

/* Inside a synchronisation region, 256 words each */
#define TRN_SYNC_COUNT			256u
#define TRN_SYNC_EVENT			0x0000u
#define TRN_SYNC_SEM_READ		0x1000u
#define TRN_SYNC_SEM_SET		0x1400u
#define TRN_SYNC_SEM_INC		0x1800u
#define TRN_SYNC_SEM_DEC		0x1c00u

/* The region is at the start of a TOP_SP window */
#define TRN_TOP_SP_SYNC			0x0000u

/* NOTIFIC: ring i */
#define TRN_NOTIFIC_RING(i)		(0x100u + (i) * 0x28u)
#define TRN_NOTIFIC_BASE_LO		0x00u
#define TRN_NOTIFIC_BASE_HI		0x04u
#define TRN_NOTIFIC_RING_SIZE		0x08u	/* bytes, power of two; 0 disables */
#define TRN_NOTIFIC_HEAD		0x0cu
#define TRN_NOTIFIC_NUM_RINGS		96u
#define TRN_NOTIFIC_SIZE		0x1000u

/* Notification types; a slot is type * 16 + index */
#define TRN_NQ_TRACE			0u
#define TRN_NQ_NOTIFY			1u
#define TRN_NQ_EVENT			2u
#define TRN_NQ_ERROR			3u
#define TRN_NQ_DMA_TRACE		4u
#define TRN_NQ_THROTTLE			5u

/* Tensor engine activity counters, relative to the PE counter block */
#define TRN2_PE_ROW_GROUPS		4u
#define TRN2_PE_GROUPS			9u
#define TRN2_PE_GROUP_STRIDE		0x30u
#define TRN2_PE_ROW_STRIDE		(TRN2_PE_GROUPS * TRN2_PE_GROUP_STRIDE)
/* Groups of a row group: column groups for fast weight load, activity, weight load */
#define TRN2_PE_COLUMN_GROUPS		4u
#define TRN2_PE_ACTIVITY_GROUP		4u
#define TRN2_PE_WEIGHT_GROUP		8u
#define TRN_PE_MATMUL			0x00u
#define TRN_PE_WEIGHT_LOAD		0x08u
#define TRN_PE_IDLE			0x10u

#endif
