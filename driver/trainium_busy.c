// SPDX-License-Identifier: GPL-2.0-only
/*
 * How busy the parts of a chip are: DMA engines by the clock of the host, from
 * the queues that have work for them; tensor engines by counters of their own.
 */
#include <linux/io.h>

#include <drm/drm_drv.h>

#include "regs/tpb.h"
#include "trainium_ring.h"

/* Reads of a counter whose upper half moves meanwhile */
#define TRN_COUNTER_TRIES	4

/**
 * trn_engine_busy_init - an engine that has no work
 * @engine: new engine
 */
void trn_engine_busy_init(struct trn_engine *engine)
{
	spin_lock_init(&engine->busy_lock);
}

/**
 * trn_engine_busy - a ring gets or loses its work
 * @engine: where it is; interrupts are off
 * @busy: it has work now, and had none before; or the reverse
 * @now: CLOCK_MONOTONIC
 */
void trn_engine_busy(struct trn_engine *engine, bool busy, u64 now)
{
	spin_lock(&engine->busy_lock);
	if (busy && !engine->busy_rings++)
		engine->busy_since = now;
	else if (!busy && !--engine->busy_rings && now > engine->busy_since)
		engine->busy_ns += now - engine->busy_since;
	spin_unlock(&engine->busy_lock);
}

/**
 * trn_engine_busy_add - a ring goes, what it has counted stays
 * @engine: where it was; interrupts are off
 * @ns: &trn_ring.inline_ns
 */
void trn_engine_busy_add(struct trn_engine *engine, u64 ns)
{
	spin_lock(&engine->busy_lock);
	engine->busy_ns += ns;
	spin_unlock(&engine->busy_lock);
}

/**
 * trn_engine_busy_ns - time during which there was work for an engine
 * @engine: the engine
 *
 * Return: nanoseconds since probe; never less than before.
 */
u64 trn_engine_busy_ns(struct trn_engine *engine)
{
	unsigned int q;
	u64 ns, now;

	spin_lock_irq(&engine->irq_lock);
	spin_lock(&engine->busy_lock);
	ns = engine->busy_ns;
	now = ktime_get_ns();
	if (engine->busy_rings && now > engine->busy_since)
		ns += now - engine->busy_since;
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		if (engine->ring[q])
			ns += READ_ONCE(engine->ring[q]->inline_ns);
	spin_unlock(&engine->busy_lock);
	spin_unlock_irq(&engine->irq_lock);
	return ns;
}

/* Both halves of one moment, or nearly so when it moves all the time. */
static u64 trn_counter(void __iomem *at)
{
	u32 high = readl(at + 4), low, again;
	unsigned int i;

	for (i = 0; i < TRN_COUNTER_TRIES; i++) {
		low = readl(at);
		again = readl(at + 4);
		if (again == high)
			break;
		high = again;
	}
	return (u64)high << 32 | low;
}

/**
 * trn_core_query - activity of a core's tensor engine
 * @tdev: device
 * @index: core
 * @c: filled in
 *
 * Return: 0, -EINVAL, or -ENODEV.
 */
int trn_core_query(struct trn_device *tdev, u32 index, struct drm_trainium_query_core *c)
{
	const struct trn_hw *hw = tdev->hw;
	void __iomem *pe;
	unsigned int row, column;
	int idx, ret = 0;

	if (index >= hw->num_cores)
		return -EINVAL;
	pe = trn_device_regs(tdev, trn_hw_pe(hw, index), TRN2_PE_ROW_GROUPS * TRN2_PE_ROW_STRIDE);
	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	for (row = 0; row < TRN2_PE_ROW_GROUPS; row++, pe += TRN2_PE_ROW_STRIDE) {
		void __iomem *activity = pe + TRN2_PE_ACTIVITY_GROUP * TRN2_PE_GROUP_STRIDE;
		void __iomem *weight = pe + TRN2_PE_WEIGHT_GROUP * TRN2_PE_GROUP_STRIDE;

		c->matmul[row] = trn_counter(activity + TRN_PE_MATMUL);
		c->idle[row] = trn_counter(activity + TRN_PE_IDLE);
		c->weight_load[row] = trn_counter(weight + TRN_PE_WEIGHT_LOAD);
		for (column = 0; column < TRN2_PE_COLUMN_GROUPS; column++)
			c->fast_weight_load[row] += trn_counter(pe + TRN_PE_WEIGHT_LOAD +
								column * TRN2_PE_GROUP_STRIDE);
	}
	/* Ones only: it went away meanwhile. */
	if (trn_device_gone(tdev))
		ret = -ENODEV;
	drm_dev_exit(idx);
	return ret;
}
