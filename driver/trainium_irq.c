// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts: MSI-X through the extension BAR. The device leaves in host
 * memory which queue pair of which engine an interrupt is for, so a handler
 * reads no register and scans no engine. With one vector everything shares
 * it; with none the driver polls.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "regs/ext.h"
#include "regs/iofic.h"
#include "trainium_fabric.h"
#include "trainium_ring.h"

#define TRN_MAX_VECTORS		32u
#define TRN_VECTORS_PER_CPU	2u

/* Completion groups send a message at each edge and forget the cause. */
#define TRN_IOFIC_CTL_EVENTS	(TRN_IOFIC_CTL_POSEDGE | TRN_IOFIC_CTL_AUTO_CLEAR)

static void trn_irq_event(struct trn_device *tdev, unsigned int vector,
			  unsigned int id, u32 pending)
{
	struct trn_engine *engine;
	unsigned int q;

	trace_trn_irq(tdev, vector, id, pending);
	if (id == TRN_EXT_ENGINE_DEVICE) {
		if (pending & BIT(TRN_EXT_DEVICE_SLOT_FABRIC))
			trn_fabric_event(tdev);
		if (pending & ~BIT(TRN_EXT_DEVICE_SLOT_FABRIC))
			trn_telemetry_event(tdev);
	}
	if (id >= tdev->hw->num_engines)
		return;
	engine = &tdev->engines[id];

	spin_lock(&engine->irq_lock);
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++)
		if ((pending & BIT(q)) && engine->ring[q])
			trn_queue_ring_done(engine->ring[q]);
	spin_unlock(&engine->irq_lock);

	if (pending & TRN_EXT_PENDING_ERROR)
		trn_queue_engine_error(engine);
}

/* Takes a word that the device sets bits in. */
static u32 trn_irq_take(__le32 *word)
{
	if (!READ_ONCE(*word))
		return 0;
	return le32_to_cpu((__force __le32)xchg((__force u32 *)word, 0));
}

static irqreturn_t trn_irq_handler(int irq, void *data)
{
	struct trn_vector *vector = data;
	struct trn_device *tdev = vector->tdev;
	__le32 *summary = vector->pending + TRN_EXT_PENDING_SUMMARY;
	unsigned int w, b;

	for (w = 0; w < TRN_EXT_SUMMARY_WORDS; w++) {
		unsigned long engines = trn_irq_take(&summary[w]);

		for_each_set_bit(b, &engines, 32) {
			unsigned int id = w * 32 + b;
			u32 pending = trn_irq_take(vector->pending +
						   TRN_EXT_PENDING_ENGINE(id));

			if (pending)
				trn_irq_event(tdev, vector->index, id, pending);
		}
	}
	return IRQ_HANDLED;
}

static void trn_irq_route(struct trn_device *tdev, unsigned int engine,
			  unsigned int slot, u32 vector)
{
	writel(vector, tdev->ext + TRN_EXT_ROUTE_ENTRY(engine, slot));
}

/**
 * trn_irq_init_engine - interrupt registers of an engine that was reset
 * @engine: the engine, under drm_dev_enter()
 */
void trn_irq_init_engine(struct trn_engine *engine)
{
	struct trn_device *tdev = engine->tdev;
	void __iomem *b = engine->regs + TRN_IOFIC_PRIMARY(TRN_IOFIC_B);
	void __iomem *d = engine->regs + TRN_IOFIC_PRIMARY(TRN_IOFIC_D);
	unsigned long flags;
	unsigned int q;

	if (!tdev->num_vectors)
		return;

	trn_irq_route(tdev, engine->id, TRN_EXT_ROUTE_SLOT_ERROR, 0);
	writel(TRN_IOFIC_CTL_EVENTS, b + TRN_IOFIC_CONTROL);
	writel(TRN_IOFIC_CTL_EVENTS, d + TRN_IOFIC_CONTROL);

	spin_lock_irqsave(&engine->irq_lock, flags);
	for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
		struct trn_ring *ring = engine->ring[q];

		if (!ring)
			continue;
		trn_irq_route(tdev, engine->id, q, ring->vector);
		if (ring->irq_enabled)
			writel(~TRN_IOFIC_QUEUE(q), b + TRN_IOFIC_MASK_CLEAR);
	}
	spin_unlock_irqrestore(&engine->irq_lock, flags);
}

/**
 * trn_irq_route_ring - choose the vector of a new ring
 * @ring: the ring, under drm_dev_enter()
 */
void trn_irq_route_ring(struct trn_ring *ring)
{
	struct trn_engine *engine = ring->engine;
	struct trn_device *tdev = engine->tdev;

	if (!tdev->num_vectors)
		return;
	ring->vector = (unsigned int)atomic_inc_return(&tdev->next_vector) %
		       tdev->num_vectors;
	trn_irq_route(tdev, engine->id, ring->index, ring->vector);
}

/**
 * trn_irq_enable_ring - let markers of a ring interrupt
 * @ring: the ring, under drm_dev_enter(); nothing happens when polling
 */
void trn_irq_enable_ring(struct trn_ring *ring)
{
	struct trn_engine *engine = ring->engine;
	void __iomem *b = engine->regs + TRN_IOFIC_PRIMARY(TRN_IOFIC_B);
	unsigned long flags;

	if (!engine->tdev->num_vectors)
		return;
	spin_lock_irqsave(&engine->irq_lock, flags);
	ring->irq_enabled = true;
	/* A cause from before would be in the way of the next edge. */
	writel(~TRN_IOFIC_QUEUE(ring->index), b + TRN_IOFIC_CAUSE);
	writel(~TRN_IOFIC_QUEUE(ring->index), b + TRN_IOFIC_MASK_CLEAR);
	spin_unlock_irqrestore(&engine->irq_lock, flags);
}

/**
 * trn_irq_disable_ring - markers of a ring do not interrupt any more
 * @ring: the ring, under drm_dev_enter()
 */
void trn_irq_disable_ring(struct trn_ring *ring)
{
	struct trn_engine *engine = ring->engine;
	void __iomem *b = engine->regs + TRN_IOFIC_PRIMARY(TRN_IOFIC_B);
	unsigned long flags;

	spin_lock_irqsave(&engine->irq_lock, flags);
	if (ring->irq_enabled) {
		ring->irq_enabled = false;
		writel(readl(b + TRN_IOFIC_MASK) | TRN_IOFIC_QUEUE(ring->index),
		       b + TRN_IOFIC_MASK);
	}
	spin_unlock_irqrestore(&engine->irq_lock, flags);
}

/* Tells the device where the pending area is; 0 is nowhere. */
static void trn_irq_set_pending(struct trn_device *tdev, u64 axi)
{
	writel(lower_32_bits(axi), tdev->ext + TRN_EXT_PENDING_LO);
	writel(upper_32_bits(axi), tdev->ext + TRN_EXT_PENDING_HI);
}

/**
 * trn_irq_restore - program the interrupts again after a reset
 * @tdev: device, under drm_dev_enter(); its engines are initialised after
 */
void trn_irq_restore(struct trn_device *tdev)
{
	if (!tdev->num_vectors)
		return;
	trn_irq_set_pending(tdev, trn_host_axi(tdev, tdev->pending_dma));
}

/**
 * trn_irq_quiesce - the device writes no pending bits any more
 * @tdev: device; nobody else uses its registers
 *
 * Also for a device that a kernel before this one has left as it was.
 */
void trn_irq_quiesce(struct trn_device *tdev)
{
	if (tdev->ext && !trn_device_gone(tdev))
		trn_irq_set_pending(tdev, 0);
}

static void trn_irq_free(struct trn_device *tdev, unsigned int count)
{
	while (count--)
		free_irq(pci_irq_vector(tdev->pdev, count), &tdev->vectors[count]);
	pci_free_irq_vectors(tdev->pdev);
}

/* Requests @count vectors, all or none. */
static int trn_irq_request(struct trn_device *tdev, unsigned int count)
{
	unsigned int i;
	int ret;

	ret = pci_alloc_irq_vectors(tdev->pdev, count, count, PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;

	for (i = 0; i < count; i++) {
		struct trn_vector *vector = &tdev->vectors[i];

		vector->tdev = tdev;
		vector->index = i;
		vector->pending = tdev->pending + i * TRN_EXT_PENDING_STRIDE;
		snprintf(vector->name, sizeof(vector->name), "trainium-%s-%u",
			 pci_name(tdev->pdev), i);
		ret = request_irq(pci_irq_vector(tdev->pdev, i), trn_irq_handler,
				  0, vector->name, vector);
		if (ret) {
			trn_irq_free(tdev, i);
			return ret;
		}
	}
	return 0;
}

/**
 * trn_irq_init - take as many interrupt vectors as there are to have
 * @tdev: device
 * @max: limit, 0 to poll, -1 for the driver's choice
 *
 * Vectors run out in a machine with many chips, and it is request_irq() that
 * says so. Then fewer are asked for, down to one, down to polling, which is
 * no error.
 *
 * Return: 0 or -ENOMEM.
 */
int trn_irq_init(struct trn_device *tdev, int max)
{
	unsigned int count = max < 0 ? TRN_VECTORS_PER_CPU * num_online_cpus() : max;
	int ret;

	trn_irq_quiesce(tdev);
	if (!max) {
		drm_info(&tdev->drm, "polling, as asked for\n");
		return 0;
	}
	if (!tdev->ext || !(tdev->ext_features & TRN_EXT_FEAT_MSIX)) {
		drm_info(&tdev->drm, "no interrupts on this device, polling\n");
		return 0;
	}

	count = min3(count, TRN_MAX_VECTORS, readl(tdev->ext + TRN_EXT_NUM_VECTORS));
	ret = pci_msix_vec_count(tdev->pdev);
	count = ret < 0 ? 0 : min_t(unsigned int, count, ret);
	if (!count) {
		drm_info(&tdev->drm, "the device has no MSI-X vectors, polling\n");
		return 0;
	}

	tdev->pending_size = count * TRN_EXT_PENDING_STRIDE;
	tdev->pending = dma_alloc_coherent(tdev->drm.dev, tdev->pending_size,
					   &tdev->pending_dma, GFP_KERNEL);
	tdev->vectors = kcalloc(count, sizeof(*tdev->vectors), GFP_KERNEL);
	if (!tdev->pending || !tdev->vectors) {
		trn_irq_fini(tdev);
		return -ENOMEM;
	}

	for (; count; count /= 2) {
		ret = trn_irq_request(tdev, count);
		if (!ret)
			break;
		drm_dbg(&tdev->drm, "%u interrupt vectors: error %d\n", count, ret);
	}
	if (!count) {
		drm_warn(&tdev->drm, "no interrupt vector to be had (error %d), polling\n", ret);
		trn_irq_fini(tdev);
		return 0;
	}

	tdev->num_vectors = count;
	trn_irq_restore(tdev);
	return 0;
}

/**
 * trn_irq_fini - give the vectors back
 * @tdev: device; nobody else uses its registers
 *
 * No handler runs after this, and the device writes no pending bits.
 */
void trn_irq_fini(struct trn_device *tdev)
{
	/* Before the memory goes; an unplugged device may still be there. */
	trn_irq_quiesce(tdev);
	if (tdev->num_vectors)
		trn_irq_free(tdev, tdev->num_vectors);
	tdev->num_vectors = 0;

	if (tdev->pending)
		dma_free_coherent(tdev->drm.dev, tdev->pending_size,
				  tdev->pending, tdev->pending_dma);
	tdev->pending = NULL;
	kfree(tdev->vectors);
	tdev->vectors = NULL;
}
