// SPDX-License-Identifier: GPL-2.0-only
/* Hardware rings: taking a queue pair of an engine, starting and stopping it. */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "trainium_ring.h"

/* How long a stopped queue may take to end what it has begun */
#define TRN_RING_DRAIN_US	10000u
/* How long a single marker may take */
#define TRN_RING_TEST_US	100000u

static void __iomem *trn_ring_m2s(const struct trn_ring *ring)
{
	return ring->engine->regs + TRN_UDMA_M2S_Q(ring->index);
}

static void __iomem *trn_ring_s2m(const struct trn_ring *ring)
{
	return ring->engine->regs + TRN_UDMA_S2M_Q(ring->index);
}

/* Status of both sides */
static u32 trn_ring_status(const struct trn_ring *ring)
{
	return readl(trn_ring_m2s(ring) + TRN_UDMA_Q_STATUS) |
	       readl(trn_ring_s2m(ring) + TRN_UDMA_Q_STATUS);
}

/* Bytes of a block that holds both rings, the markers and the done word. */
static size_t trn_ring_done_offset(u32 slots)
{
	return ALIGN(slots * (2 * sizeof(struct trn_desc) + sizeof(__le64)),
		     L1_CACHE_BYTES);
}

/* Empties the queue pair and starts it on the ring's memory. */
static void trn_ring_start(struct trn_ring *ring)
{
	const u32 paused = TRN_UDMA_Q_CFG_RESET;
	const u32 enabled = paused | TRN_UDMA_Q_CFG_PREFETCH | TRN_UDMA_Q_CFG_SCHED;
	void __iomem *m2s = trn_ring_m2s(ring);
	void __iomem *s2m = trn_ring_s2m(ring);
	struct trn_device *tdev = ring->engine->tdev;
	u64 m2s_axi = trn_host_axi(tdev, ring->mem_dma);
	u64 s2m_axi = m2s_axi + (ring->mask + 1) * sizeof(struct trn_desc);

	/* The rate limiter must not mask the pause that a DMB asks for. */
	writel(TRN_UDMA_Q_RATE_MASK_RESET & ~TRN_UDMA_Q_RATE_MASK_DMB,
	       m2s + TRN_UDMA_M2S_Q_RATE_MASK);
	writel(ring->weight, m2s + TRN_UDMA_M2S_Q_DWRR_CFG_3);
	writel(paused, m2s + TRN_UDMA_Q_CFG);
	writel(TRN_UDMA_Q_SW_CTRL_RESET, m2s + TRN_UDMA_M2S_Q_SW_CTRL);
	writel(lower_32_bits(m2s_axi), m2s + TRN_UDMA_Q_BASE_LO);
	writel(upper_32_bits(m2s_axi), m2s + TRN_UDMA_Q_BASE_HI);
	writel(ring->len, m2s + TRN_UDMA_Q_LEN);
	writel(0, m2s + TRN_UDMA_M2S_Q_COMP_CFG);
	writel(enabled, m2s + TRN_UDMA_Q_CFG);

	writel(paused, s2m + TRN_UDMA_Q_CFG);
	writel(TRN_UDMA_Q_SW_CTRL_RESET, s2m + TRN_UDMA_S2M_Q_SW_CTRL);
	writel(lower_32_bits(s2m_axi), s2m + TRN_UDMA_Q_BASE_LO);
	writel(upper_32_bits(s2m_axi), s2m + TRN_UDMA_Q_BASE_HI);
	writel(ring->len, s2m + TRN_UDMA_Q_LEN);
	writel(0, s2m + TRN_UDMA_S2M_Q_COMP_CFG);
	writel(enabled, s2m + TRN_UDMA_Q_CFG);
}

/**
 * trn_ring_stop - stop a ring where it is
 * @ring: the ring, on a device that is there; trn_engine.lock is held
 *
 * The device touches no memory for the ring any more when this returns.
 */
void trn_ring_stop(struct trn_ring *ring)
{
	const u32 running = TRN_UDMA_Q_STATUS_PREFETCH | TRN_UDMA_Q_STATUS_SCHED;
	void __iomem *m2s = trn_ring_m2s(ring);
	void __iomem *s2m = trn_ring_s2m(ring);
	u32 status;

	writel(TRN_UDMA_Q_CFG_RESET, m2s + TRN_UDMA_Q_CFG);
	writel(TRN_UDMA_Q_CFG_RESET, s2m + TRN_UDMA_Q_CFG);
	/* All ones: a device that is gone. The reset below ends what hangs. */
	read_poll_timeout(trn_ring_status, status, !(status & running) || status == ~0u,
			  20, TRN_RING_DRAIN_US, false, ring);
	writel(TRN_UDMA_Q_SW_CTRL_RESET, m2s + TRN_UDMA_M2S_Q_SW_CTRL);
	writel(TRN_UDMA_Q_SW_CTRL_RESET, s2m + TRN_UDMA_S2M_Q_SW_CTRL);
	writel(0, m2s + TRN_UDMA_Q_LEN);
	writel(0, s2m + TRN_UDMA_Q_LEN);
}

static void trn_ring_empty(struct trn_ring *ring)
{
	ring->starts++;
	ring->head = 0;
	ring->rung = 0;
	ring->retired = 0;
	/* What was done then is not looked up, until something new is. */
	ring->seen = min(trn_ring_done(ring), ring->last);
	ring->marker_end[ring->last & ring->mask] = 0;
}

static void trn_ring_place(struct trn_ring *ring, struct trn_engine *engine,
			   unsigned int index)
{
	ring->engine = engine;
	ring->index = index;
	ring->doorbell_m2s = trn_ring_m2s(ring) + TRN_UDMA_Q_TAIL_INC;
	ring->doorbell_s2m = trn_ring_s2m(ring) + TRN_UDMA_Q_TAIL_INC;
}

static void trn_ring_free(struct trn_device *tdev, struct trn_ring *ring)
{
	if (ring->mem)
		dma_free_coherent(tdev->drm.dev, ring->mem_size,
				  ring->mem, ring->mem_dma);
	kfree(ring->marker_end);
	kfree(ring);
}

static struct trn_ring *trn_ring_alloc(struct trn_device *tdev, u32 slots)
{
	size_t done = trn_ring_done_offset(slots);
	struct trn_ring *ring;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return NULL;
	ring->mask = slots - 1;
	ring->len = slots;
	ring->weight = TRN_RING_WEIGHT;
	ring->shift = ilog2(slots);
	ring->mem_size = done + L1_CACHE_BYTES;

	ring->marker_end = kcalloc(slots, sizeof(*ring->marker_end), GFP_KERNEL);
	/* Large, and wanted by a user who is told: no reason for a splat. */
	ring->mem = dma_alloc_coherent(tdev->drm.dev, ring->mem_size,
				       &ring->mem_dma, GFP_KERNEL | __GFP_NOWARN);
	if (!ring->marker_end || !ring->mem) {
		trn_ring_free(tdev, ring);
		return NULL;
	}

	ring->m2s = ring->mem;
	ring->s2m = ring->m2s + slots;
	ring->marker = (__le64 *)(ring->s2m + slots);
	ring->done = ring->mem + done;
	ring->marker_axi = trn_host_axi(tdev, ring->mem_dma) +
			   2 * slots * sizeof(struct trn_desc);
	ring->done_axi = trn_host_axi(tdev, ring->mem_dma) + done;
	return ring;
}

/* Takes a queue pair. Return: which, or -ENOSPC. */
static int trn_ring_reserve(struct trn_engine *engine)
{
	int index;

	mutex_lock(&engine->lock);
	index = ffz(engine->rings_used | engine->rings_reserved);
	if (index >= TRN_QUEUES_PER_ENGINE || engine->out_of_service)
		index = -ENOSPC;
	else
		engine->rings_used |= BIT(index);
	mutex_unlock(&engine->lock);
	return index;
}

/* Starts a ring there. */
static void trn_ring_attach(struct trn_ring *ring, struct trn_engine *engine, unsigned int index)
{
	mutex_lock(&engine->lock);
	trn_ring_place(ring, engine, index);
	trn_irq_route_ring(ring);
	trn_ring_start(ring);
	spin_lock_irq(&engine->irq_lock);
	engine->ring[index] = ring;
	spin_unlock_irq(&engine->irq_lock);
	mutex_unlock(&engine->lock);
}

/* Stops a ring and gives its queue pair back. */
static void trn_ring_detach(struct trn_ring *ring)
{
	struct trn_engine *engine = ring->engine;
	int idx;

	mutex_lock(&engine->lock);
	if (drm_dev_enter(&engine->tdev->drm, &idx)) {
		trn_irq_disable_ring(ring);
		trn_ring_stop(ring);
		drm_dev_exit(idx);
	}
	spin_lock_irq(&engine->irq_lock);
	engine->ring[ring->index] = NULL;
	trn_engine_busy_add(engine, ring->inline_ns);
	ring->inline_ns = 0;
	spin_unlock_irq(&engine->irq_lock);
	engine->rings_used &= ~BIT(ring->index);
	mutex_unlock(&engine->lock);
}

/**
 * trn_ring_create - take a free queue pair of an engine and start it
 * @engine: an engine that reaches host memory; under drm_dev_enter()
 * @slots: descriptors of each ring, a power of two
 * @queue: owner
 * @weight: share of the engine, against that of its other rings
 *
 * Waits while the device is being reset.
 *
 * Return: the ring; -ENOSPC when none is free, -ENOMEM, -EINVAL for a size or an
 * engine that cannot be.
 */
struct trn_ring *trn_ring_create(struct trn_engine *engine, u32 slots,
				 struct trn_queue *queue, u32 weight)
{
	struct trn_device *tdev = engine->tdev;
	struct trn_ring *ring;
	int index;

	if (!is_power_of_2(slots) || slots < TRN_RING_MIN_SLOTS ||
	    slots > TRN_RING_MAX_SLOTS || !trn_hw_engine_has_host(tdev->hw, engine->id))
		return ERR_PTR(-EINVAL);

	ring = trn_ring_alloc(tdev, slots);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->queue = queue;
	ring->weight = weight;

	trn_device_lock(tdev);
	index = trn_ring_reserve(engine);
	if (index >= 0)
		trn_ring_attach(ring, engine, index);
	up_read(&tdev->reset_lock);

	if (index < 0) {
		trn_ring_free(tdev, ring);
		return ERR_PTR(index);
	}
	return ring;
}

/**
 * trn_ring_destroy - stop a ring and give its queue pair back
 * @ring: the ring, or NULL
 *
 * What is still in the ring is lost. No interrupt handler uses the ring or
 * its queue any more when this returns, and the device touches no memory for
 * it. Must happen before the driver is unbound; works on a device that is gone.
 */
void trn_ring_destroy(struct trn_ring *ring)
{
	struct trn_device *tdev;

	if (!ring)
		return;
	tdev = ring->engine->tdev;
	trn_ring_detach(ring);
	trn_ring_free(tdev, ring);
}

/**
 * trn_ring_migrate - move a ring to another engine
 * @ring: the ring, which has no work; the lock of its queue and reset_lock are held
 * @to: the engine
 *
 * It is started anew by trn_ring_reset(), and interrupts by trn_irq_enable_ring().
 *
 * Return: 0, or -ENOSPC when no queue pair is free; then it stays where it is.
 */
int trn_ring_migrate(struct trn_ring *ring, struct trn_engine *to)
{
	int index = trn_ring_reserve(to);

	if (index < 0)
		return index;
	trn_ring_detach(ring);
	trn_ring_attach(ring, to, index);
	return 0;
}

/**
 * trn_ring_position - how far the engine is
 * @ring: the ring, under drm_dev_enter()
 *
 * Return: a number that changes whenever a descriptor has ended.
 */
u32 trn_ring_position(const struct trn_ring *ring)
{
	return readl(trn_ring_s2m(ring) + TRN_UDMA_Q_COMP_HEAD);
}

/**
 * trn_ring_reset - start a ring anew and empty
 * @ring: the ring; its queue's lock is held
 *
 * What was in it is lost: markers not reached will never be, while those
 * written afterwards go on counting. The done word keeps its value.
 *
 * Return: 0, or -ENODEV when the device is gone.
 */
int trn_ring_reset(struct trn_ring *ring)
{
	struct trn_engine *engine = ring->engine;
	int idx;

	if (!drm_dev_enter(&engine->tdev->drm, &idx))
		return -ENODEV;
	mutex_lock(&engine->lock);
	trn_ring_stop(ring);
	trn_ring_empty(ring);
	trn_ring_start(ring);
	mutex_unlock(&engine->lock);
	drm_dev_exit(idx);
	return 0;
}

/**
 * trn_ring_test_init - memory for trn_ring_test()
 * @tdev: device
 *
 * It is taken beforehand, because recovery must not wait for memory.
 *
 * Return: 0 or -ENOMEM.
 */
int trn_ring_test_init(struct trn_device *tdev)
{
	tdev->test_ring = trn_ring_alloc(tdev, TRN_RING_MIN_SLOTS);
	return tdev->test_ring ? 0 : -ENOMEM;
}

/**
 * trn_ring_test_fini - undo trn_ring_test_init()
 * @tdev: device
 */
void trn_ring_test_fini(struct trn_device *tdev)
{
	if (tdev->test_ring)
		trn_ring_free(tdev, tdev->test_ring);
	tdev->test_ring = NULL;
}

/**
 * trn_ring_test - does a queue pair move data?
 * @engine: the engine, its lock is held
 * @index: the queue pair, which is stopped
 *
 * A single marker; the owner of the queue pair starts it anew after. An engine
 * that cannot reach the host is not tested.
 */
bool trn_ring_test(struct trn_engine *engine, unsigned int index)
{
	struct trn_device *tdev = engine->tdev;
	struct trn_ring *ring = tdev->test_ring;
	u64 number, done;

	lockdep_assert_held(&engine->lock);
	if (!trn_hw_engine_has_host(tdev->hw, engine->id))
		return true;

	mutex_lock(&tdev->test_lock);
	trn_ring_place(ring, engine, index);
	trn_ring_empty(ring);
	trn_ring_start(ring);
	number = trn_ring_marker(ring, false);
	trn_ring_kick(ring);
	read_poll_timeout(trn_ring_done, done, done >= number, 50, TRN_RING_TEST_US,
			  false, ring);
	trn_ring_stop(ring);
	mutex_unlock(&tdev->test_lock);
	return done >= number;
}
