// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/accel/<PCI address>/: engines, rings, registers, HBM,
 * firmware words and groups, one line each. Those that read registers say
 * -ENODEV once the device is unplugged.
 */
#include <linux/io.h>
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "regs/iofic.h"
#include "trainium_fabric.h"
#include "trainium_ring.h"

static struct trn_device *trn_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_trn_device(entry->dev);
}

static void trn_engine_show(struct seq_file *m, struct trn_engine *engine)
{
	const struct trn_hw *hw = engine->tdev->hw;
	unsigned int core = trn_hw_engine_core(hw, engine->id);

	seq_printf(m, "%-6u ", engine->id);
	if (core < hw->num_cores)
		seq_printf(m, "%-4u ", core);
	else
		seq_puts(m, "host ");
	seq_printf(m, "%-5u %-4s 0x%04x 0x%04x 0x%08x 0x%08x %-5u %-6lld %-14lld %llu\n",
		   trn_hw_engine_stack(hw, engine->id),
		   engine->out_of_service ? "out" :
		   trn_hw_engine_has_host(hw, engine->id) ? "yes" : "no",
		   readl(engine->regs + TRN_UDMA_M2S_STATE),
		   readl(engine->regs + TRN_UDMA_S2M_STATE),
		   readl(engine->regs + TRN_IOFIC_SECONDARY(TRN_IOFIC_A) + TRN_IOFIC_CAUSE),
		   readl(engine->regs + TRN_IOFIC_SECONDARY(TRN_IOFIC_B) + TRN_IOFIC_CAUSE),
		   hweight32(engine->rings_used), atomic64_read(&engine->resets),
		   atomic64_read(&engine->bytes), trn_engine_busy_ns(engine));
}

static int trn_engines_show(struct seq_file *m, void *unused)
{
	struct trn_device *tdev = trn_debugfs_device(m);
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	seq_puts(m, "engine core stack host m2s    s2m    m2s-errors s2m-errors rings resets bytes          busy-ns\n");
	for (i = 0; i < tdev->hw->num_engines; i++)
		trn_engine_show(m, &tdev->engines[i]);
	drm_dev_exit(idx);
	return 0;
}

/* The engine's lock keeps the ring; what its owner counts is only sampled. */
static void trn_ring_show(struct seq_file *m, const struct trn_ring *ring)
{
	void __iomem *m2s = ring->engine->regs + TRN_UDMA_M2S_Q(ring->index);
	void __iomem *s2m = ring->engine->regs + TRN_UDMA_S2M_Q(ring->index);

	seq_printf(m, "%-6u %-4u %-6u %-10u %-10u %-8llu %-8llu 0x%08x 0x%08x 0x%08x 0x%08x %-3s %u\n",
		   ring->engine->id, ring->index, ring->mask + 1,
		   READ_ONCE(ring->head), READ_ONCE(ring->rung),
		   READ_ONCE(ring->last), trn_ring_done(ring),
		   readl(m2s + TRN_UDMA_Q_HEAD), readl(m2s + TRN_UDMA_Q_TAIL),
		   readl(s2m + TRN_UDMA_Q_HEAD), readl(s2m + TRN_UDMA_Q_TAIL),
		   ring->irq_enabled ? "yes" : "no", ring->vector);
}

static int trn_rings_show(struct seq_file *m, void *unused)
{
	struct trn_device *tdev = trn_debugfs_device(m);
	unsigned int i, q;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	seq_puts(m, "engine ring slots  written    rung       marker   done     m2s-head   m2s-tail   s2m-head   s2m-tail   irq vector\n");
	for (i = 0; i < tdev->hw->num_engines; i++) {
		struct trn_engine *engine = &tdev->engines[i];

		mutex_lock(&engine->lock);
		for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
			if (engine->ring[q])
				trn_ring_show(m, engine->ring[q]);
		mutex_unlock(&engine->lock);
	}
	drm_dev_exit(idx);
	return 0;
}

static void trn_registers_of(struct seq_file *m, struct trn_engine *engine)
{
	static const struct {
		const char *name;
		u32 offset;
	} regs[] = {
		{ "m2s-state", TRN_UDMA_M2S_STATE },
		{ "m2s-cfg-len", TRN_UDMA_M2S_CFG_LEN },
		{ "m2s-stream-cfg", TRN_UDMA_M2S_STREAM_CFG },
		{ "m2s-prefetch-1", TRN_UDMA_M2S_DESC_PREF_CFG_1 },
		{ "m2s-prefetch-2", TRN_UDMA_M2S_DESC_PREF_CFG_2 },
		{ "m2s-prefetch-3", TRN_UDMA_M2S_DESC_PREF_CFG_3 },
		{ "m2s-outstanding", TRN_UDMA_M2S_OSTAND_CFG },
		{ "m2s-version", TRN_UDMA_M2S_DMA_VERSION },
		{ "m2s-errors", TRN_IOFIC_SECONDARY(TRN_IOFIC_A) + TRN_IOFIC_CAUSE },
		{ "m2s-abort-mask", TRN_IOFIC_SECONDARY(TRN_IOFIC_A) + TRN_IOFIC_ABORT_MASK },
		{ "s2m-state", TRN_UDMA_S2M_STATE },
		{ "s2m-stream-cfg", TRN_UDMA_S2M_STREAM_CFG },
		{ "s2m-prefetch-3", TRN_UDMA_S2M_DESC_PREF_CFG_3 },
		{ "s2m-outstanding", TRN_UDMA_S2M_OSTAND_CFG_WR },
		{ "s2m-completion", TRN_UDMA_S2M_COMP_CFG_1C },
		{ "s2m-errors", TRN_IOFIC_SECONDARY(TRN_IOFIC_B) + TRN_IOFIC_CAUSE },
		{ "s2m-abort-mask", TRN_IOFIC_SECONDARY(TRN_IOFIC_B) + TRN_IOFIC_ABORT_MASK },
		{ "done-cause", TRN_IOFIC_PRIMARY(TRN_IOFIC_B) + TRN_IOFIC_CAUSE },
		{ "done-mask", TRN_IOFIC_PRIMARY(TRN_IOFIC_B) + TRN_IOFIC_MASK },
		{ "error-cause", TRN_IOFIC_PRIMARY(TRN_IOFIC_D) + TRN_IOFIC_CAUSE },
		{ "error-mask", TRN_IOFIC_PRIMARY(TRN_IOFIC_D) + TRN_IOFIC_MASK },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(regs); i++)
		seq_printf(m, "engine %u 0x%05x %-16s 0x%08x\n", engine->id, regs[i].offset,
			   regs[i].name, readl(engine->regs + regs[i].offset));
}

/* Registers of the queue pairs in use, both sides */
static void trn_ring_registers_of(struct seq_file *m, const struct trn_ring *ring)
{
	static const struct {
		const char *name;
		u32 offset;
	} regs[] = {
		{ "cfg", TRN_UDMA_Q_CFG },
		{ "status", TRN_UDMA_Q_STATUS },
		{ "len", TRN_UDMA_Q_LEN },
		{ "head", TRN_UDMA_Q_HEAD },
		{ "tail", TRN_UDMA_Q_TAIL },
		{ "current", TRN_UDMA_Q_CURRENT },
		{ "comp-head", TRN_UDMA_Q_COMP_HEAD },
	};
	const u32 side[2] = { TRN_UDMA_M2S_Q(ring->index), TRN_UDMA_S2M_Q(ring->index) };
	unsigned int s, i;

	for (s = 0; s < ARRAY_SIZE(side); s++)
		for (i = 0; i < ARRAY_SIZE(regs); i++)
			seq_printf(m, "engine %u ring %u %s 0x%05x %-10s 0x%08x\n",
				   ring->engine->id, ring->index, s ? "s2m" : "m2s",
				   side[s] + regs[i].offset, regs[i].name,
				   readl(ring->engine->regs + side[s] + regs[i].offset));
}

/* Of all engines that have rings in use; addresses are left out. */
static int trn_registers_show(struct seq_file *m, void *unused)
{
	struct trn_device *tdev = trn_debugfs_device(m);
	unsigned int i, q;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < tdev->hw->num_engines; i++) {
		struct trn_engine *engine = &tdev->engines[i];

		mutex_lock(&engine->lock);
		if (engine->rings_used)
			trn_registers_of(m, engine);
		for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
			if (engine->ring[q])
				trn_ring_registers_of(m, engine->ring[q]);
		mutex_unlock(&engine->lock);
	}
	drm_dev_exit(idx);
	return 0;
}

static int trn_hbm_show(struct seq_file *m, void *unused)
{
	struct trn_device *tdev = trn_debugfs_device(m);
	struct drm_printer p = drm_seq_file_printer(m);
	unsigned int i;

	for (i = 0; i < tdev->hw->num_stacks; i++) {
		struct trn_hbm *hbm = &tdev->hbm[i];

		mutex_lock(&hbm->lock);
		drm_printf(&p, "stack %u: %llu bytes, %llu free, %u buffers\n",
			   i, hbm->size, hbm->free, hbm->bo_count);
		drm_mm_print(&hbm->mm, &p);
		mutex_unlock(&hbm->lock);
	}
	return 0;
}

static int trn_firmware_show(struct seq_file *m, void *unused)
{
	static const struct {
		const char *name;
		u32 offset;
	} words[] = {
		{ "api-version", TRN_MISC_API_VERSION },
		{ "health", TRN_MISC_HEALTH },
		{ "health-sequence", TRN_MISC_HEALTH_SEQ },
		{ "routing-id", TRN_MISC_ROUTING_ID },
		{ "serial-low", TRN_MISC_SERIAL_LO },
		{ "serial-high", TRN_MISC_SERIAL_HI },
		{ "sram-ecc", TRN_MISC_SRAM_ECC },
		{ "hbm0-ecc", TRN_MISC_HBM_ECC(0) },
		{ "hbm1-ecc", TRN_MISC_HBM_ECC(1) },
		{ "hbm2-ecc", TRN_MISC_HBM_ECC(2) },
		{ "hbm3-ecc", TRN_MISC_HBM_ECC(3) },
		{ "power-die0", TRN_MISC_POWER(0) },
		{ "power-die1", TRN_MISC_POWER(1) },
		{ "hbm-repair", TRN_MISC_HBM_REPAIR },
		{ "server-id", TRN_MISC_SERVER_ID },
		{ "build", TRN_MISC_FW_BUILD },
		{ "pod-status", TRN_MISC_POD_STATUS },
		{ "reset-map", TRN_MISC_RESET_MAP },
		{ "reset", TRN_MISC_RESET },
		{ "status", TRN_MISC_STATUS },
	};
	struct trn_device *tdev = trn_debugfs_device(m);
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		seq_printf(m, "0x%03x %-16s 0x%08x\n", words[i].offset, words[i].name,
			   trn_fw_read(tdev, words[i].offset));
	drm_dev_exit(idx);
	return 0;
}

static int trn_groups_file_show(struct seq_file *m, void *unused)
{
	trn_groups_show(m, trn_debugfs_device(m));
	return 0;
}

/**
 * trn_debugfs_init - add the files
 * @tdev: device, before it is registered
 */
void trn_debugfs_init(struct trn_device *tdev)
{
	drm_debugfs_add_file(&tdev->drm, "engines", trn_engines_show, NULL);
	drm_debugfs_add_file(&tdev->drm, "rings", trn_rings_show, NULL);
	drm_debugfs_add_file(&tdev->drm, "registers", trn_registers_show, NULL);
	drm_debugfs_add_file(&tdev->drm, "hbm", trn_hbm_show, NULL);
	drm_debugfs_add_file(&tdev->drm, "firmware", trn_firmware_show, NULL);
	drm_debugfs_add_file(&tdev->drm, "groups", trn_groups_file_show, NULL);
}
