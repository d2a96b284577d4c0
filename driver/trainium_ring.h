/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hardware rings: writing descriptors and markers, and ringing the doorbell.
 *
 * This is the hot path of every submit, so it is inline, free of divides and
 * locks of its own: the caller holds the lock of the queue that owns the ring.
 * A descriptor pair goes into the same slot of both rings. The usual sequence:
 *
 *	if (trn_ring_space(ring) > n)		n copies and a marker
 *		n times trn_ring_copy(ring, ...)
 *		number = trn_ring_marker(ring, irq)
 *		trn_ring_kick(ring)
 *	...
 *	trn_ring_done(ring) >= number		all n copies have ended
 */
#ifndef TRAINIUM_RING_H
#define TRAINIUM_RING_H

#include <linux/io.h>

#include "trainium_device.h"
#include "trainium_trace.h"

/* One descriptor, as two little-endian 64-bit words. */
struct trn_desc {
	__le64 ctrl;
	__le64 addr;
};

/* Software never fills the last slots of a ring. */
#define TRN_RING_RESERVE	16u
#define TRN_RING_MIN_SLOTS	64u
#define TRN_RING_MAX_SLOTS	16384u
#define TRN_RING_DEFAULT_SLOTS	2048u

/* Weight of a ring of normal priority */
#define TRN_RING_WEIGHT		16u

/* Flag of trn_ring_copy(): starts after all before it in the ring have ended */
#define TRN_RING_DMB		TRN_M2S_DMB

/**
 * struct trn_ring - one hardware queue pair with its memory
 *
 * Owned by one queue and protected by its lock, except @done, which the
 * device writes, and what trn_ring_create() sets once.
 */
struct trn_ring {
	/** @m2s: source descriptors */
	struct trn_desc *m2s;
	/** @s2m: destination descriptors */
	struct trn_desc *s2m;
	/** @marker: what the marker in a slot copies to @done */
	__le64 *marker;
	/** @done: number of the newest marker that was reached */
	__le64 *done;
	/** @marker_end: value of @head behind a marker, by number & @mask */
	u32 *marker_end;
	/** @marker_axi: @marker as the device sees it */
	u64 marker_axi;
	/** @done_axi: @done as the device sees it */
	u64 done_axi;
	/** @last: number of the newest marker written */
	u64 last;
	/** @seen: value of @done that @retired comes from */
	u64 seen;
	/** @head: descriptors written since the ring was reset, wraps */
	u32 head;
	/** @rung: value of @head when the doorbell was rung last */
	u32 rung;
	/** @retired: descriptors up to here have ended */
	u32 retired;
	/** @mask: number of slots minus one */
	u32 mask;
	/** @shift: log2 of the number of slots */
	u32 shift;
	/** @len: slots that the engine uses; less than all in a command list */
	u32 len;
	/** @weight: for the engine's scheduler */
	u32 weight;
	/** @starts: times that the ring was emptied */
	u32 starts;
	/** @index: queue pair in the engine, 0..15 */
	unsigned int index;
	/** @inline_ns: time of jobs that had ended when their doorbell returned */
	u64 inline_ns;
	/** @doorbell_m2s: tail increment register */
	void __iomem *doorbell_m2s;
	/** @doorbell_s2m: tail increment register */
	void __iomem *doorbell_s2m;

	/** @engine: where it is */
	struct trn_engine *engine;
	/** @queue: owner */
	struct trn_queue *queue;
	/** @vector: interrupt vector that its completions use */
	unsigned int vector;
	/** @irq_enabled: its completions may interrupt; trn_engine.irq_lock */
	bool irq_enabled;
	/** @mem: coherent memory of both rings, markers and @done */
	void *mem;
	/** @mem_dma: bus address of @mem */
	dma_addr_t mem_dma;
	/** @mem_size: bytes of @mem */
	size_t mem_size;
};

struct trn_ring *trn_ring_create(struct trn_engine *engine, u32 slots,
				 struct trn_queue *queue, u32 weight);
void trn_ring_destroy(struct trn_ring *ring);
void trn_ring_stop(struct trn_ring *ring);
int trn_ring_test_init(struct trn_device *tdev);
void trn_ring_test_fini(struct trn_device *tdev);
bool trn_ring_test(struct trn_engine *engine, unsigned int index);
int trn_ring_reset(struct trn_ring *ring);
int trn_ring_migrate(struct trn_ring *ring, struct trn_engine *to);
u32 trn_ring_position(const struct trn_ring *ring);

/**
 * trn_ring_done - number of the newest marker that was reached
 * @ring: the ring
 *
 * What the copies before that marker wrote to host memory may be read after.
 */
static inline u64 trn_ring_done(const struct trn_ring *ring)
{
	u64 done = le64_to_cpu(READ_ONCE(*ring->done));

	dma_rmb();
	return done;
}

/**
 * trn_ring_space - descriptors that may be written now, markers included
 * @ring: the ring
 */
static inline u32 trn_ring_space(struct trn_ring *ring)
{
	u64 done = trn_ring_done(ring);
	u32 used;

	/*
	 * Numbers from before a reset of the ring say nothing about it, and one
	 * that was never written cannot be trusted.
	 */
	if (done > ring->seen && done <= ring->last) {
		ring->seen = done;
		ring->retired = ring->marker_end[done & ring->mask];
	}
	used = ring->head - ring->retired + TRN_RING_RESERVE;
	return used <= ring->mask ? ring->mask + 1 - used : 0;
}

/* Word 0 of a descriptor in the slot of @head, without flags. */
static inline u32 trn_ring_word0(const struct trn_ring *ring, u32 len)
{
	u32 ring_id = (ring->head >> ring->shift) + TRN_UDMA_Q_FIRST_RING_ID;

	return (len & TRN_DESC_LEN_MASK) |
	       (ring_id & TRN_UDMA_RING_ID_MASK) << TRN_DESC_RING_ID_SHIFT;
}

static inline void trn_ring_write(struct trn_ring *ring, u64 dst, u64 src,
				  u32 len, u32 meta, u32 m2s_flags, u32 s2m_flags)
{
	u32 slot = ring->head & ring->mask;
	u32 word0 = trn_ring_word0(ring, len);
	struct trn_desc *m2s = &ring->m2s[slot];
	struct trn_desc *s2m = &ring->s2m[slot];

	m2s->ctrl = cpu_to_le64((u64)meta << 32 | word0 |
				TRN_M2S_FIRST | TRN_M2S_LAST | m2s_flags);
	m2s->addr = cpu_to_le64(src);
	s2m->ctrl = cpu_to_le64(word0 | s2m_flags);
	s2m->addr = cpu_to_le64(dst);
	ring->head++;
}

/**
 * trn_ring_move - write one transfer, a descriptor on each side
 * @ring: a ring with space for it
 * @dst: AXI address
 * @src: AXI address
 * @len: bytes, 1 to 65536
 * @meta: TRN_META_*: what is done on the way
 * @flags: TRN_RING_DMB or 0
 */
static inline void trn_ring_move(struct trn_ring *ring, u64 dst, u64 src, u32 len,
				 u32 meta, u32 flags)
{
	trn_ring_write(ring, dst, src, len, meta, flags, 0);
}

/**
 * trn_ring_copy - write one copy, a descriptor on each side
 * @ring: a ring with space for it
 * @dst: AXI address
 * @src: AXI address
 * @len: bytes, 1 to 65536
 * @flags: TRN_RING_DMB or 0
 */
static inline void trn_ring_copy(struct trn_ring *ring, u64 dst, u64 src,
				 u32 len, u32 flags)
{
	trn_ring_move(ring, dst, src, len, TRN_META_COPY, flags);
}

/**
 * trn_ring_order - let what was written last be written after all before it
 * @ring: the ring
 *
 * What follows does not wait for it, other than behind TRN_RING_DMB.
 */
static inline void trn_ring_order(struct trn_ring *ring)
{
	ring->s2m[(ring->head - 1) & ring->mask].ctrl |= cpu_to_le64(TRN_S2M_STRONG_ORDER);
}

/**
 * trn_ring_operand - put a word beside the next descriptor
 * @ring: a ring with space for it
 * @value: the word, which the descriptor reads
 *
 * Return: its AXI address.
 */
static inline u64 trn_ring_operand(struct trn_ring *ring, u64 value)
{
	u32 slot = ring->head & ring->mask;

	ring->marker[slot] = cpu_to_le64(value);
	return ring->marker_axi + sizeof(__le64) * slot;
}

/* Is it the address of such a word, and of which slot? */
static inline bool trn_ring_is_operand(const struct trn_ring *ring, u64 axi, u32 *slot)
{
	u64 at = axi - ring->marker_axi;

	*slot = at / sizeof(__le64);
	return axi >= ring->marker_axi && at < sizeof(__le64) * ((u64)ring->mask + 1);
}

/**
 * trn_ring_marker - write a marker
 * @ring: a ring with space for it
 * @irq: interrupt when it is reached (needs trn_irq_enable_ring())
 *
 * The marker is a copy of its number to the ring's completion word. Strong
 * order makes the device write it after everything before it in the ring.
 *
 * Return: its number; trn_ring_done() is at least that when it was reached.
 */
static inline u64 trn_ring_marker(struct trn_ring *ring, bool irq)
{
	u32 slot = ring->head & ring->mask;

	ring->last++;
	ring->marker[slot] = cpu_to_le64(ring->last);
	trn_ring_write(ring, ring->done_axi, ring->marker_axi + 8 * slot,
		       sizeof(__le64), TRN_META_COPY, 0,
		       TRN_S2M_STRONG_ORDER | (irq ? TRN_DESC_INT : 0));
	ring->marker_end[ring->last & ring->mask] = ring->head;
	return ring->last;
}

/**
 * trn_ring_kick - ring the doorbells for all written since the last kick
 * @ring: the ring; under drm_dev_enter() or while trn_device_hold() waits
 *
 * Destination first: the engine starts when it has descriptors of both sides.
 */
static inline void trn_ring_kick(struct trn_ring *ring)
{
	u32 n = ring->head - ring->rung;

	if (!n)
		return;
	ring->rung = ring->head;
	/* Descriptors and markers are in memory before the device is told. */
	dma_wmb();
	writel_relaxed(n, ring->doorbell_s2m);
	writel_relaxed(n, ring->doorbell_m2s);
	trace_trn_doorbell(ring, n);
}

#endif
