// SPDX-License-Identifier: GPL-2.0-only
/*
 * UDMA engines: initialisation, error state and recovery. The values and the
 * order of the writes are those the hardware is known to work with.
 */
#include <linux/delay.h>
#include <linux/io.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "regs/iofic.h"
#include "trainium_ring.h"

/* Data FIFO of the read side, in beats, and packets in it */
#define TRN_M2S_DATA_CFG	0x010008f8u
/* Outstanding: 32 completion beats, 128 of everything else */
#define TRN_M2S_OSTAND		0x20808080u
#define TRN_AXI_TIMEOUT		100000000u
#define TRN_M2S_CFG_LEN		(TRN_UDMA_CFG_LEN_0_IS_64K | TRN_UDMA_CFG_LEN_MASK)
#define TRN_M2S_STREAM		0x102u
/* Bursts of at most 8 beats or descriptors, always broken there */
#define TRN_BURST_8		0x10008u
#define TRN_S2M_OSTAND_RD	0x00400080u
#define TRN_S2M_OSTAND_WR	0x40804080u
/* Completion descriptors of four words, current queue promoted */
#define TRN_S2M_COMP_1C		0x1004u
/* At most 65 descriptors in a packet, round robin between queues */
#define TRN_PREF_2		0x10041u
/* The threshold must not be the FIFO's 128 (a hardware bug), so half and one */
#define TRN_PREF_3		0x4181u
#define TRN_SDMA_BEATS		0x26u

#define TRN_IOFIC_CTL_ERRORS	(TRN_IOFIC_CTL_POSEDGE | TRN_IOFIC_CTL_MASK_MSIX)
/* Causes of the secondary groups that stop the engine; a 0 bit does */
#define TRN_ABORT_A		0xf0000000u
#define TRN_ABORT_B		0x000010f8u
#define TRN_ABORT_C_M2S		0xffffffc0u
#define TRN_ABORT_C_S2M		0xfffff03fu

static void trn_write(struct trn_engine *engine, u32 offset, u32 value)
{
	writel(value, engine->regs + offset);
}

static u32 trn_read(struct trn_engine *engine, u32 offset)
{
	return readl(engine->regs + offset);
}

static void trn_iofic_write(struct trn_engine *engine, u32 group, u32 reg, u32 value)
{
	trn_write(engine, group + reg, value);
}

/* Error causes: which are seen, and which stop the engine. */
static void trn_udma_init_iofic(struct trn_engine *engine)
{
	const u32 a = TRN_IOFIC_SECONDARY(TRN_IOFIC_A);
	const u32 b = TRN_IOFIC_SECONDARY(TRN_IOFIC_B);
	const u32 c = TRN_IOFIC_SECONDARY(TRN_IOFIC_C);
	const u32 d = TRN_IOFIC_PRIMARY(TRN_IOFIC_D);

	trn_iofic_write(engine, a, TRN_IOFIC_CONTROL, TRN_IOFIC_CTL_ERRORS);
	trn_iofic_write(engine, d, TRN_IOFIC_CONTROL, TRN_IOFIC_CTL_ERRORS);
	trn_iofic_write(engine, a, TRN_IOFIC_ABORT_MASK, TRN_ABORT_A);
	trn_iofic_write(engine, c, TRN_IOFIC_ABORT_MASK, TRN_ABORT_C_M2S);
	trn_iofic_write(engine, a, TRN_IOFIC_MASK_CLEAR, TRN_ABORT_A);
	trn_iofic_write(engine, c, TRN_IOFIC_MASK_CLEAR, TRN_ABORT_C_M2S);
	trn_iofic_write(engine, d, TRN_IOFIC_MASK_CLEAR,
			~(TRN_IOFIC_D_M2S_ERROR | TRN_IOFIC_D_FIFO_PARITY));

	trn_iofic_write(engine, b, TRN_IOFIC_CONTROL, TRN_IOFIC_CTL_ERRORS);
	trn_iofic_write(engine, d, TRN_IOFIC_CONTROL, TRN_IOFIC_CTL_ERRORS);
	trn_iofic_write(engine, b, TRN_IOFIC_ABORT_MASK, TRN_ABORT_B);
	trn_iofic_write(engine, c, TRN_IOFIC_ABORT_MASK, TRN_ABORT_C_S2M);
	trn_iofic_write(engine, b, TRN_IOFIC_MASK_CLEAR, TRN_ABORT_B);
	trn_iofic_write(engine, c, TRN_IOFIC_MASK_CLEAR, TRN_ABORT_C_S2M);
	trn_iofic_write(engine, d, TRN_IOFIC_MASK_CLEAR,
			~(TRN_IOFIC_D_S2M_ERROR | TRN_IOFIC_D_FIFO_PARITY));
}

/*
 * Data engines run rings that programs built beforehand, with ring ids that
 * do not follow the wraps: a mismatch must not stop them.
 */
static void trn_udma_mask_ring_id(struct trn_engine *engine)
{
	const u32 a = TRN_IOFIC_SECONDARY(TRN_IOFIC_A);
	const u32 b = TRN_IOFIC_SECONDARY(TRN_IOFIC_B);
	u32 mask;

	mask = trn_read(engine, a + TRN_IOFIC_MASK) | TRN_M2S_ERR_RING_ID;
	trn_iofic_write(engine, a, TRN_IOFIC_MASK, mask);
	trn_iofic_write(engine, a, TRN_IOFIC_ABORT_MASK, mask);
	mask = trn_read(engine, b + TRN_IOFIC_MASK) | TRN_S2M_ERR_RING_ID;
	trn_iofic_write(engine, b, TRN_IOFIC_MASK, mask);
	trn_iofic_write(engine, b, TRN_IOFIC_ABORT_MASK, mask);

	mask = readl(engine->fis + TRN_FIS_GROUP2_MASK) | TRN_FIS_GROUP2_RING_ID;
	writel(mask, engine->fis + TRN_FIS_GROUP2_MASK);
	mask = readl(engine->fis + TRN_FIS_GROUP3_MASK) | TRN_FIS_GROUP3_RING_ID;
	writel(mask, engine->fis + TRN_FIS_GROUP3_MASK);

	mask = trn_read(engine, TRN_UDMA_M2S_ERR_LOG_MASK) | TRN_M2S_ERR_RING_ID;
	trn_write(engine, TRN_UDMA_M2S_ERR_LOG_MASK, mask);
	mask = trn_read(engine, TRN_UDMA_S2M_ERR_LOG_MASK) | TRN_S2M_ERR_RING_ID;
	trn_write(engine, TRN_UDMA_S2M_ERR_LOG_MASK, mask);
}

/**
 * trn_udma_init_engine - bring an engine from reset to work
 * @engine: the engine, just reset by the firmware; under drm_dev_enter()
 */
void trn_udma_init_engine(struct trn_engine *engine)
{
	const u32 enabled = TRN_UDMA_Q_CFG_PREFETCH | TRN_UDMA_Q_CFG_SCHED;
	unsigned int q, i;

	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
		trn_write(engine, TRN_UDMA_M2S_Q(q) + TRN_UDMA_Q_CFG, enabled);
		trn_write(engine, TRN_UDMA_S2M_Q(q) + TRN_UDMA_Q_CFG, enabled);
	}

	trn_write(engine, TRN_UDMA_M2S_DATA_CFG, TRN_M2S_DATA_CFG);
	trn_write(engine, TRN_UDMA_M2S_OSTAND_CFG, TRN_M2S_OSTAND);
	trn_write(engine, TRN_UDMA_AXI_TIMEOUT, TRN_AXI_TIMEOUT);
	trn_write(engine, TRN_UDMA_M2S_COMP_ACK, 0);
	trn_write(engine, TRN_UDMA_M2S_CFG_LEN, TRN_M2S_CFG_LEN);
	trn_write(engine, TRN_UDMA_M2S_STREAM_CFG, TRN_M2S_STREAM);
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		trn_write(engine, TRN_UDMA_VMPR_TX_SEL(q), ~0u);
	trn_write(engine, TRN_UDMA_M2S_DATA_RD_CFG, TRN_BURST_8);
	trn_write(engine, TRN_UDMA_S2M_COMP_ACK, 0);
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		for (i = 0; i < 3; i++)
			trn_write(engine, TRN_UDMA_VMPR_RX_SEL(q, i), ~0u);
	trn_write(engine, TRN_UDMA_S2M_OSTAND_CFG_RD, TRN_S2M_OSTAND_RD);
	trn_write(engine, TRN_UDMA_S2M_OSTAND_CFG_WR, TRN_S2M_OSTAND_WR);
	trn_write(engine, TRN_UDMA_SPARE_ZEROES0,
		  trn_read(engine, TRN_UDMA_SPARE_ZEROES0) & ~TRN_UDMA_SPARE_NO_COMP_HEAD);

	trn_udma_init_iofic(engine);
	trn_write(engine, TRN_UDMA_S2M_COMP_CFG_1C, TRN_S2M_COMP_1C);

	trn_write(engine, TRN_UDMA_M2S_DESC_PREF_CFG_2, TRN_PREF_2);
	trn_write(engine, TRN_UDMA_M2S_DESC_PREF_CFG_3, TRN_PREF_3);
	trn_write(engine, TRN_UDMA_S2M_DESC_PREF_CFG_3, TRN_PREF_3);
	trn_write(engine, TRN_UDMA_M2S_DESC_RD_CFG_3, TRN_BURST_8);
	trn_write(engine, TRN_UDMA_S2M_DESC_RD_CFG_3, TRN_BURST_8);

	trn_write(engine, TRN_ENGINE_SDMA + TRN_SDMA_READ_REORDER, TRN_SDMA_REORDER_ENABLE);
	trn_write(engine, TRN_ENGINE_SDMA + TRN_SDMA_WRITE_REORDER, TRN_SDMA_REORDER_ENABLE);
	trn_write(engine, TRN_ENGINE_SDMA + TRN_SDMA_EVENT_ACCEL, 1);
	trn_write(engine, TRN_ENGINE_SDMA + TRN_SDMA_OUTSTANDING, TRN_SDMA_BEATS);

	if (engine->fis)
		trn_udma_mask_ring_id(engine);

	trn_irq_init_engine(engine);
}

/**
 * trn_udma_init - find the engines' registers
 * @tdev: device with its windows mapped
 *
 * Return: 0 or -ENOMEM.
 */
int trn_udma_init(struct trn_device *tdev)
{
	const struct trn_hw *hw = tdev->hw;
	struct trn_engine *engine;
	unsigned int i;
	int ret;

	tdev->engines = drmm_kcalloc(&tdev->drm, hw->num_engines,
				     sizeof(*tdev->engines), GFP_KERNEL);
	if (!tdev->engines)
		return -ENOMEM;

	for (i = 0; i < hw->num_engines; i++) {
		engine = &tdev->engines[i];
		engine->tdev = tdev;
		engine->id = i;
		spin_lock_init(&engine->irq_lock);
		ret = drmm_mutex_init(&tdev->drm, &engine->lock);
		if (ret)
			return ret;

		engine->regs = trn_device_regs(tdev, hw->engine_offset(i), TRN_ENGINE_SIZE);
		if (i < hw->num_data_engines)
			engine->fis = trn_device_regs(tdev, hw->fis_offset(i), TRN_FIS_SIZE);
	}
	return 0;
}

/* State registers that say abort; all ones is a device that is gone. */
static bool trn_state_aborted(u32 state)
{
	u32 abort = state & TRN_UDMA_STATE_ALL(TRN_UDMA_STATE_ABORT) & ~(state << 1);

	return state != ~0u && abort;
}

/**
 * trn_engine_aborted - has an error stopped the engine?
 * @engine: the engine
 * @cause: if not NULL and true is returned: M2S causes, S2M causes << 32
 */
bool trn_engine_aborted(struct trn_engine *engine, u64 *cause)
{
	struct trn_device *tdev = engine->tdev;
	bool aborted;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return false;

	aborted = trn_state_aborted(trn_read(engine, TRN_UDMA_M2S_STATE)) ||
		  trn_state_aborted(trn_read(engine, TRN_UDMA_S2M_STATE));
	if (aborted && cause)
		*cause = trn_read(engine, TRN_IOFIC_SECONDARY(TRN_IOFIC_A) + TRN_IOFIC_CAUSE) |
			 (u64)trn_read(engine, TRN_IOFIC_SECONDARY(TRN_IOFIC_B) +
				       TRN_IOFIC_CAUSE) << 32;
	drm_dev_exit(idx);
	return aborted;
}

/**
 * trn_udma_quiesce - stop all rings
 * @tdev: device; nobody else uses its registers
 *
 * The device touches no memory of the host for them any more after this.
 */
void trn_udma_quiesce(struct trn_device *tdev)
{
	unsigned int i, q;

	if (!tdev->engines || trn_device_gone(tdev))
		return;

	for (i = 0; i < tdev->hw->num_engines; i++) {
		struct trn_engine *engine = &tdev->engines[i];

		mutex_lock(&engine->lock);
		for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
			if (engine->ring[q])
				trn_ring_stop(engine->ring[q]);
		mutex_unlock(&engine->lock);
	}
}
