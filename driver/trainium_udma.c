// SPDX-License-Identifier: GPL-2.0-only
/*
 * UDMA engines: initialisation, error state and recovery. The values and the
 * order of the writes are those the hardware is known to work with.
 */
#include <linux/io.h>
#include <linux/iopoll.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "regs/iofic.h"
#include "trainium_ring.h"

#define TRN_AXI_TIMEOUT		100000000u
/* Trainium1: all AXI masters but that of MSI-X */
#define TRN_AXI_MASTERS		(TRN_IOFIC_NUM_MASTERS - 1)
#define TRN_AXI_DETECT		0xfu
#define TRN_AXI_CTRL_QUEUE	7u
#define TRN_AXI_CTRL_ENABLE	0x10u
#define TRN_M2S_CFG_LEN		(TRN_UDMA_CFG_LEN_0_IS_64K | TRN_UDMA_CFG_LEN_MASK)
#define TRN_M2S_STREAM		0x102u
/* Bursts of at most 8 beats or descriptors, always broken there */
#define TRN_BURST_8		0x10008u
#define TRN_S2M_OSTAND_WR	0x40804080u
/* Completion descriptors of four words, current queue promoted */
#define TRN_S2M_COMP_1C		0x1004u
/* At most 65 descriptors in a packet, round robin between queues */
#define TRN_PREF_2		0x10041u
/* A weight of the scheduler is 2 KiB */
#define TRN_DWRR_FACTOR		11u
/* The threshold must not be the FIFO's 128 (a hardware bug), so half and one */
#define TRN_PREF_3		0x4181u

/* How long a change of state may take */
#define TRN_STATE_US		1000u

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

/* Which engines of a core an engine's broadcasts reach, and where they end */
static void trn_udma_init_broadcast(struct trn_engine *engine)
{
	unsigned int n = engine->id % TRN_ENGINES_PER_CORE;
	bool last = n == 15 || (n <= 9 && n % 3 == 0);

	writel(GENMASK(15, 0) & ~GENMASK(16, 16 - n), engine->sdma + TRN_SDMA_BCAST_GROUP_MASK);
	writel(last ? GENMASK(15, 0) : 0, engine->sdma + TRN_SDMA_BCAST_LAST_NODE);
}

/* Trainium1: detection of AXI errors, and their interrupts */
static void trn_udma_init_axi_errors(struct trn_engine *engine)
{
	static const u8 words[] = { 1, 2, 3, 9, 10, 11 };
	unsigned int i, n;

	for (i = 0; i < TRN_AXI_MASTERS; i++)
		for (n = 0; n < ARRAY_SIZE(words); n++)
			trn_write(engine, TRN_UDMA_AXI_ERR_TABLE(i) + 4 * words[n], TRN_AXI_DETECT);
	for (i = 0; i < TRN_AXI_MASTERS; i++)
		for (n = 0; n < TRN_QUEUES_PER_ENGINE; n++) {
			trn_write(engine, TRN_UDMA_AXI_ERR_CTRL(i), n << 3 | TRN_AXI_CTRL_QUEUE);
			trn_write(engine, TRN_UDMA_AXI_ERR_CTRL(i) + 4, TRN_AXI_CTRL_ENABLE);
		}
	for (i = 0; i < TRN_AXI_MASTERS; i++) {
		trn_iofic_write(engine, TRN_IOFIC_MASTER(i), TRN_IOFIC_CONTROL,
				TRN_IOFIC_CTL_ERRORS);
		trn_iofic_write(engine, TRN_IOFIC_MASTER(i), TRN_IOFIC_ABORT_MASK, 0);
		trn_iofic_write(engine, TRN_IOFIC_MASTER(i), TRN_IOFIC_MASK_CLEAR, 0);
	}
	trn_write(engine, TRN_UDMA_AXI_TIMEOUT, ~0u);
}

/**
 * trn_udma_init_engine - bring an engine from reset to work
 * @engine: the engine, just reset by the firmware; under drm_dev_enter()
 */
void trn_udma_init_engine(struct trn_engine *engine)
{
	const u32 enabled = TRN_UDMA_Q_CFG_PREFETCH | TRN_UDMA_Q_CFG_SCHED;
	const struct trn_udma_cfg *cfg = engine->tdev->hw->udma;
	unsigned int q, i;

	if (cfg->broadcast && engine->id < engine->tdev->hw->num_data_engines)
		trn_udma_init_broadcast(engine);
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
		trn_write(engine, TRN_UDMA_M2S_Q(q) + TRN_UDMA_Q_CFG, enabled);
		trn_write(engine, TRN_UDMA_S2M_Q(q) + TRN_UDMA_Q_CFG, enabled);
	}

	trn_write(engine, TRN_UDMA_M2S_DATA_CFG, cfg->m2s_data_cfg);
	trn_write(engine, TRN_UDMA_M2S_OSTAND_CFG, cfg->m2s_ostand);
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
	trn_write(engine, TRN_UDMA_S2M_OSTAND_CFG_RD, cfg->s2m_ostand_rd);
	trn_write(engine, TRN_UDMA_S2M_OSTAND_CFG_WR, TRN_S2M_OSTAND_WR);
	if (cfg->s2m_ostand_wr_2)
		trn_write(engine, TRN_UDMA_S2M_OSTAND_CFG_WR_2,
			  (trn_read(engine, TRN_UDMA_S2M_OSTAND_CFG_WR_2) &
			   ~TRN_UDMA_OSTAND_WR_2_MASK) | cfg->s2m_ostand_wr_2);
	trn_write(engine, TRN_UDMA_SPARE_ZEROES0,
		  trn_read(engine, TRN_UDMA_SPARE_ZEROES0) & ~TRN_UDMA_SPARE_NO_COMP_HEAD);

	trn_udma_init_iofic(engine);
	trn_write(engine, TRN_UDMA_S2M_COMP_CFG_1C, TRN_S2M_COMP_1C);

	trn_write(engine, TRN_UDMA_M2S_DWRR_CFG,
		  TRN_UDMA_DWRR_EN | TRN_UDMA_DWRR_FACTOR(TRN_DWRR_FACTOR));
	trn_write(engine, TRN_UDMA_M2S_DESC_PREF_CFG_2, TRN_PREF_2);
	trn_write(engine, TRN_UDMA_M2S_DESC_PREF_CFG_3, TRN_PREF_3);
	trn_write(engine, TRN_UDMA_S2M_DESC_PREF_CFG_3, TRN_PREF_3);
	trn_write(engine, TRN_UDMA_M2S_DESC_RD_CFG_3, TRN_BURST_8);
	trn_write(engine, TRN_UDMA_S2M_DESC_RD_CFG_3, TRN_BURST_8);

	writel(TRN_SDMA_REORDER_ENABLE, engine->sdma + TRN_SDMA_READ_REORDER);
	writel(TRN_SDMA_REORDER_ENABLE, engine->sdma + TRN_SDMA_WRITE_REORDER);
	writel(1, engine->sdma + TRN_SDMA_EVENT_ACCEL);
	if (cfg->sdma_beats)
		writel(cfg->sdma_beats, engine->sdma + TRN_SDMA_OUTSTANDING);

	if (cfg->axi_errors)
		trn_udma_init_axi_errors(engine);
	if (engine->fis)
		trn_udma_mask_ring_id(engine);

	trn_irq_init_engine(engine);
}

/**
 * trn_udma_init - find the engines' registers
 * @tdev: device with its windows mapped
 *
 * Return: 0, -ENOMEM, or -ENXIO when the generation's tables are wrong.
 */
int trn_udma_init(struct trn_device *tdev)
{
	const struct trn_hw *hw = tdev->hw;
	struct trn_engine *engine;
	unsigned int i;
	u32 fis;
	int ret;

	tdev->engines = drmm_kcalloc(&tdev->drm, hw->num_engines,
				     sizeof(*tdev->engines), GFP_KERNEL);
	if (!tdev->engines)
		return -ENOMEM;

	for (i = 0; i < hw->num_engines; i++) {
		engine = &tdev->engines[i];
		engine->tdev = tdev;
		engine->id = i;
		engine->rings_reserved = trn_hw_engine_reserved(tdev->hw, i);
		spin_lock_init(&engine->irq_lock);
		trn_engine_busy_init(engine);
		ret = drmm_mutex_init(&tdev->drm, &engine->lock);
		if (ret)
			return ret;

		engine->regs = trn_device_regs(tdev, trn_hw_engine_regs(hw, i),
					       TRN_ENGINE_UDMA_SIZE);
		engine->sdma = trn_device_regs(tdev, trn_hw_engine_sdma(hw, i),
					       TRN_ENGINE_SDMA_SIZE);
		fis = trn_hw_engine_fis(hw, i);
		if (fis)
			engine->fis = trn_device_regs(tdev, fis, TRN_FIS_SIZE);
		if (!engine->regs || !engine->sdma || (fis && !engine->fis))
			return -ENXIO;
	}

	ret = drmm_mutex_init(&tdev->drm, &tdev->test_lock);
	return ret ?: trn_ring_test_init(tdev);
}

/* State registers that say abort; all ones is a device that is gone. */
static bool trn_state_aborted(u32 state)
{
	u32 abort = state & TRN_UDMA_STATE_ALL(TRN_UDMA_STATE_ABORT) & ~(state << 1);

	return state != ~0u && abort;
}

static bool trn_engine_state_aborted(struct trn_engine *engine)
{
	return trn_state_aborted(trn_read(engine, TRN_UDMA_M2S_STATE)) ||
	       trn_state_aborted(trn_read(engine, TRN_UDMA_S2M_STATE));
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

	aborted = trn_engine_state_aborted(engine);
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

/* Stops a queue pair, whoever owns it, and empties it. */
static void trn_pair_reset(struct trn_engine *engine, unsigned int q)
{
	const u32 m2s = TRN_UDMA_M2S_Q(q), s2m = TRN_UDMA_S2M_Q(q);

	trn_write(engine, m2s + TRN_UDMA_Q_CFG, TRN_UDMA_Q_CFG_RESET);
	trn_write(engine, s2m + TRN_UDMA_Q_CFG, TRN_UDMA_Q_CFG_RESET);
	trn_write(engine, m2s + TRN_UDMA_M2S_Q_SW_CTRL, TRN_UDMA_Q_SW_CTRL_RESET);
	trn_write(engine, s2m + TRN_UDMA_S2M_Q_SW_CTRL, TRN_UDMA_Q_SW_CTRL_RESET);
	trn_write(engine, m2s + TRN_UDMA_Q_LEN, 0);
	trn_write(engine, s2m + TRN_UDMA_Q_LEN, 0);
}

/* Resets all queue pairs and takes the engine out of abort. */
static bool trn_engine_restart(struct trn_engine *engine)
{
	unsigned int q;
	bool aborted;

	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		trn_pair_reset(engine, q);

	/* Causes that stay set would not make an edge when they come again. */
	trn_iofic_write(engine, TRN_IOFIC_SECONDARY(TRN_IOFIC_A), TRN_IOFIC_CAUSE, 0);
	trn_iofic_write(engine, TRN_IOFIC_SECONDARY(TRN_IOFIC_B), TRN_IOFIC_CAUSE, 0);
	trn_iofic_write(engine, TRN_IOFIC_SECONDARY(TRN_IOFIC_C), TRN_IOFIC_CAUSE, 0);
	trn_iofic_write(engine, TRN_IOFIC_PRIMARY(TRN_IOFIC_D), TRN_IOFIC_CAUSE, 0);

	trn_write(engine, TRN_UDMA_M2S_CHANGE_STATE, TRN_UDMA_CHANGE_NORMAL);
	trn_write(engine, TRN_UDMA_S2M_CHANGE_STATE, TRN_UDMA_CHANGE_NORMAL);

	return !read_poll_timeout(trn_engine_state_aborted, aborted, !aborted, 20,
				  TRN_STATE_US, false, engine);
}

/* Tells the owners that what was in their rings is lost. */
static void trn_engine_rings_lost(struct trn_engine *engine, u32 pairs)
{
	unsigned int q;

	lockdep_assert_held(&engine->lock);
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		if ((pairs & BIT(q)) && engine->ring[q])
			trn_queue_ring_lost(engine->ring[q]);
	atomic64_inc(&engine->resets);
}

/**
 * trn_engine_test - do queue pairs that were reset move data?
 * @engine: the engine; its lock is held
 * @pairs: bit q for queue pair q
 *
 * Return: 0 or -EIO.
 */
int trn_engine_test(struct trn_engine *engine, u32 pairs)
{
	unsigned int q;

	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		if ((pairs & BIT(q)) && !trn_ring_test(engine, q))
			return -EIO;
	return 0;
}

/*
 * First rung: only what hangs is reset, and nobody else on the engine notices.
 * An engine in abort has stopped as a whole, and wants all of it reset.
 */
static int trn_engine_try_queues(struct trn_engine *engine, u32 pairs, bool aborted)
{
	unsigned int q;

	if (aborted)
		return trn_engine_restart(engine) ? trn_engine_test(engine, pairs) : -EIO;

	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		if (pairs & BIT(q))
			trn_pair_reset(engine, q);
	return trn_engine_test(engine, pairs);
}

/* Second rung: the engine as after a reset */
static int trn_engine_try_init(struct trn_engine *engine, u32 pairs)
{
	trn_engine_restart(engine);
	trn_udma_init_engine(engine);
	return trn_engine_restart(engine) ? trn_engine_test(engine, pairs) : -EIO;
}

/* Has the firmware reset what a map names, and initialises those engines. */
static int trn_map_reset(struct trn_device *tdev, u64 map)
{
	const struct trn_hw *hw = tdev->hw;
	struct trn_engine *engine;
	unsigned int i;
	int ret;

	/* Quiet first, so that nothing is cut off in the middle of a write. */
	for (i = 0; i < hw->num_engines; i++) {
		engine = &tdev->engines[i];
		if (!(trn_hw_engine_bit(hw, i) & map))
			continue;
		mutex_lock(&engine->lock);
		trn_engine_restart(engine);
		mutex_unlock(&engine->lock);
	}

	ret = trn_fw_request_reset(tdev, TRN_RESET_CORE, map, false);

	for (i = 0; i < hw->num_engines; i++) {
		engine = &tdev->engines[i];
		if (!(trn_hw_engine_bit(hw, i) & map))
			continue;
		mutex_lock(&engine->lock);
		if (!ret)
			trn_udma_init_engine(engine);
		trn_engine_rings_lost(engine, ~0u);
		mutex_unlock(&engine->lock);
	}
	return ret;
}

/**
 * trn_core_reset - reset a core and its engines through the firmware
 * @tdev: device
 * @core: number of the core
 *
 * Jobs on the core's engines end with -ECANCELED. Others run on meanwhile, but
 * new ones have to wait.
 *
 * Return: 0, -ENODEV, -EIO when the device is broken, -ETIMEDOUT when the
 * firmware does not answer; a device reset follows then.
 */
int trn_core_reset(struct trn_device *tdev, unsigned int core)
{
	int idx, ret = -EIO;
	ktime_t begin;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	trn_device_hold(tdev);
	if (!tdev->broken) {
		begin = ktime_get();
		ret = trn_map_reset(tdev, trn_hw_core_map(tdev->hw, core));
		trn_report_reset(tdev, TRAINIUM_RESET_CORE, core, TRAINIUM_CAUSE_ASKED, ret, begin);
		trn_queues_recover(tdev);
	}
	trn_device_release(tdev);
	if (ret == -ETIMEDOUT)
		trn_device_schedule_reset(tdev);
	drm_dev_exit(idx);
	return ret;
}

/**
 * trn_engine_guilty - queue pairs that an engine names as the cause of an abort
 * @engine: the engine; it forgets when it is asked
 *
 * Return: bit q for queue pair q; 0 when the cause is another one.
 */
u32 trn_engine_guilty(struct trn_engine *engine)
{
	u32 guilty = 0, q;
	int idx;

	if (!drm_dev_enter(&engine->tdev->drm, &idx))
		return 0;
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		if (trn_read(engine, TRN_UDMA_AXI_QUEUE(q) + TRN_UDMA_AXI_QUEUE_ERROR))
			guilty |= BIT(q);
	drm_dev_exit(idx);
	return guilty;
}

/* Third rung: the firmware resets the engine with its core, or alone. */
static int trn_engine_try_firmware(struct trn_engine *engine, u32 pairs)
{
	struct trn_device *tdev = engine->tdev;
	unsigned int core = trn_hw_engine_core(tdev->hw, engine->id);
	bool has_core = core < tdev->hw->num_cores;
	ktime_t begin = ktime_get();
	int ret;

	if (has_core)
		drm_warn(&tdev->drm, "engine %u does not come back, resetting core %u\n",
			 engine->id, core);
	else
		drm_warn(&tdev->drm, "host engine %u does not come back, resetting it\n",
			 engine->id);
	ret = trn_map_reset(tdev, has_core ? trn_hw_core_map(tdev->hw, core) :
					     trn_hw_engine_bit(tdev->hw, engine->id));
	if (!ret) {
		mutex_lock(&engine->lock);
		ret = trn_engine_restart(engine) ? trn_engine_test(engine, pairs) : -EIO;
		mutex_unlock(&engine->lock);
	}
	trn_report_reset(tdev, has_core ? TRAINIUM_RESET_CORE : TRAINIUM_RESET_ENGINE,
			 has_core ? core : engine->id, TRAINIUM_CAUSE_RECOVERY, ret, begin);
	return ret;
}

/**
 * trn_engine_recover - bring an engine back after an abort or a hang
 * @engine: the engine; trn_device.reset_lock is held
 *
 * Each step is tried when the one before has not helped:
 *
 * 1. reset the queue pairs that hang; of an engine in abort all 16, forget the
 *    causes, state "normal";
 * 2. initialise the engine again;
 * 3. have the firmware reset the engine's core, or the host engine alone;
 * 4. device reset.
 *
 * A step has helped when those queue pairs copy a word from host memory to
 * host memory: that a register says "normal" is not enough for what hangs.
 * The rings that a step has emptied are reported through trn_queue_ring_lost().
 *
 * Return: 0; -ENODEV when the device is gone; -EIO when a device reset was
 * asked for, or when that has not helped before.
 */
int trn_engine_recover(struct trn_engine *engine)
{
	struct trn_device *tdev = engine->tdev;
	u32 pairs = engine->hung ?: BIT(0), lost;
	ktime_t begin = ktime_get();
	u64 cause = 0;
	bool aborted;
	int idx, ret;

	engine->hung = 0;
	if (engine->out_of_service)
		return -EIO;
	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;

	ret = -ENODEV;
	if (trn_device_gone(tdev))
		goto out;
	aborted = trn_engine_aborted(engine, &cause);
	trace_trn_engine_error(tdev, engine->id, cause);

	mutex_lock(&engine->lock);
	lost = aborted ? ~0u : pairs;
	ret = trn_engine_try_queues(engine, pairs, aborted);
	trn_report_reset(tdev, TRAINIUM_RESET_QUEUE, engine->id, TRAINIUM_CAUSE_RECOVERY, ret,
			 begin);
	if (ret) {
		begin = ktime_get();
		lost = ~0u;
		ret = trn_engine_try_init(engine, pairs);
		trn_report_reset(tdev, TRAINIUM_RESET_ENGINE, engine->id, TRAINIUM_CAUSE_RECOVERY,
				 ret, begin);
	}
	if (!ret)
		trn_engine_rings_lost(engine, lost);
	mutex_unlock(&engine->lock);

	if (!ret) {
		drm_warn(&tdev->drm, "engine %u recovered, cause m2s %#010x s2m %#010x\n",
			 engine->id, lower_32_bits(cause), upper_32_bits(cause));
		goto out;
	}

	if (trn_device_gone(tdev))
		ret = -ENODEV;
	else
		ret = trn_engine_try_firmware(engine, pairs);
	if (ret && ret != -ENODEV) {
		drm_err(&tdev->drm, "engine %u does not come back, resetting the device\n",
			engine->id);
		engine->doubt = pairs;
		trn_device_schedule_reset(tdev);
		ret = -EIO;
	}
out:
	drm_dev_exit(idx);
	return ret;
}
