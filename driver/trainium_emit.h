/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From ops to descriptors.
 */
#ifndef TRAINIUM_EMIT_H
#define TRAINIUM_EMIT_H

#include "trainium_queue.h"

/* Of a ring, for the marker of the job and one more that interrupts */
#define TRN_EMIT_MARKERS	2u
/* A job is fed to a ring that has at least this room. */
#define TRN_EMIT_FEED_MIN	64u
/* A large copy goes to the next ring after so many bytes. */
#define TRN_EMIT_CHUNK		(512u << 10)
/* Jobs from this size on use all rings of the queue. */
#define TRN_EMIT_SPREAD		(2 * TRN_EMIT_CHUNK)
/*
 * Device memory is filled in chunks: the first 64 KiB from the pattern, the
 * rest from there. A chunk stays on one ring.
 */
#define TRN_EMIT_FILL_CHUNK	(4u << 20)

/**
 * struct trn_emit - where descriptors of a job are written
 *
 * Used under the lock of the queue.
 */
struct trn_emit {
	struct trn_queue *q;
	struct trn_ring *ring;
	/** @cur: number of @ring in the queue */
	u32 cur;
	/** @space: descriptors that fit */
	u32 space;
	/** @flags: of the next descriptor */
	u32 flags;
	/** @meta: what the next descriptors do */
	u32 meta;
	/** @bit: BIT(@cur) */
	u32 bit;
	/** @used: rings with descriptors of the job from earlier passes */
	u32 used;
	/** @written: rings with descriptors of this pass */
	u32 written;
	/** @spread: use all rings */
	bool spread;
	/** @feed: the job is written in parts, as there is room */
	bool feed;
	/** @chunk: bytes until it is the next ring's turn */
	u32 chunk;
	/** @bytes: written to @ring, not yet counted */
	u64 bytes;
	/** @descs: written in this pass, without markers */
	u32 descs;
	/** @seqno: the job */
	u64 seqno;
};

/* A place in a buffer, moving forward */
struct trn_cursor {
	const struct trn_seg *seg;
	u64 axi;
	u64 left;
};

const struct trn_seg *trn_bo_find_seg(const struct trn_bo *bo, u64 offset);
void trn_emit_ring(struct trn_emit *e, u32 ring);
bool trn_emit_copy_slow(struct trn_emit *e, const struct trn_job_op *op, u64 *done);
bool trn_emit_span(struct trn_emit *e, const struct trn_job_op *op, struct trn_cursor *dst,
		   struct trn_cursor *src, u64 *done);
bool trn_emit_combine(struct trn_emit *e, const struct trn_job_op *op, u64 *done);
bool trn_emit_semaphore(struct trn_emit *e, const struct trn_job_op *op, u64 *done);
bool trn_emit_complete(struct trn_emit *e, const struct trn_job_op *op, u64 *done);
bool trn_emit_other(struct trn_emit *e, const struct trn_job_op *op, u64 *done);
void trn_emit_rewind(struct trn_emit *e);
bool trn_bo_is_aligned(const struct trn_bo *bo, u64 offset);
int trn_patterns_alloc(struct trn_queue *q);
void trn_patterns_free(struct trn_queue *q);

static inline void trn_cursor_set(struct trn_cursor *c, const struct trn_bo *bo, u64 offset)
{
	c->seg = bo->num_segs == 1 ? bo->segs : trn_bo_find_seg(bo, offset);
	c->axi = c->seg->axi + (offset - c->seg->offset);
	c->left = c->seg[1].offset - offset;
}

/* @more: the end of the buffer is not reached */
static inline void trn_cursor_move(struct trn_cursor *c, u64 bytes, bool more)
{
	c->axi += bytes;
	c->left -= bytes;
	if (!c->left && more) {
		c->seg++;
		c->axi = c->seg->axi;
		c->left = c->seg[1].offset - c->seg[0].offset;
	}
}

static inline void trn_emit_desc(struct trn_emit *e, u64 dst, u64 src, u32 len, u32 flags)
{
	trn_ring_move(e->ring, dst, src, len, e->meta, flags | e->flags);
	e->flags = 0;
	e->written |= e->bit;
	e->space--;
	e->descs++;
	e->bytes += len;
}

/**
 * trn_emit_op - write an op, or what fits of it
 * @e: where
 * @op: the op
 * @done: bytes of it that are written
 *
 * Return: all of it is written.
 */
static inline bool trn_emit_op(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	struct trn_cursor dst __uninitialized, src __uninitialized;

	if (op->type != TRAINIUM_OP_COPY)
		return trn_emit_other(e, op, done);

	/* Most are one descriptor. */
	if (likely(op->size <= TRN_DESC_MAX_LEN && !*done && e->space && !e->spread)) {
		trn_cursor_set(&dst, op->dst, op->dst_offset);
		trn_cursor_set(&src, op->src, op->src_offset);
		if (likely(op->size <= min(dst.left, src.left))) {
			trn_emit_desc(e, dst.axi, src.axi, op->size, 0);
			*done = op->size;
			return true;
		}
	}
	return trn_emit_copy_slow(e, op, done);
}

/* Counts what was written to the ring and is not counted yet. */
static inline void trn_emit_count(struct trn_emit *e)
{
	atomic64_add(e->bytes, &e->ring->engine->bytes);
	e->bytes = 0;
}

/* Begins with ring 0, where all jobs go that need only one. */
static inline void trn_emit_init(struct trn_emit *e, struct trn_queue *q, u64 seqno)
{
	u32 space = trn_ring_space(q->ring[0]);

	e->q = q;
	e->ring = q->ring[0];
	e->cur = 0;
	e->bit = BIT(0);
	e->space = space > TRN_EMIT_MARKERS ? space - TRN_EMIT_MARKERS : 0;
	e->flags = TRN_RING_DMB;
	e->meta = TRN_META_COPY;
	e->used = 0;
	e->written = 0;
	e->spread = false;
	e->feed = false;
	e->chunk = 0;
	e->bytes = 0;
	e->descs = 0;
	e->seqno = seqno;
}

#endif
