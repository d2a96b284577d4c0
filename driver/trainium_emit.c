// SPDX-License-Identifier: GPL-2.0-only
/* From ops to descriptors: what is not one copy of one descriptor. */
#include <linux/dma-mapping.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_drv.h>

#include "trainium_emit.h"
#include "trainium_user.h"

/**
 * trn_bo_find_seg - segment of a buffer
 * @bo: buffer
 * @offset: less than its size
 */
const struct trn_seg *trn_bo_find_seg(const struct trn_bo *bo, u64 offset)
{
	u32 low = 0, high = bo->num_segs;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (bo->segs[mid].offset <= offset)
			low = mid;
		else
			high = mid;
	}
	return &bo->segs[low];
}

/**
 * trn_emit_ring - go on with another ring
 * @e: where
 * @ring: its number in the queue
 *
 * The first descriptor of a job on a ring waits for the jobs before it.
 */
void trn_emit_ring(struct trn_emit *e, u32 ring)
{
	u32 space;

	trn_emit_count(e);
	e->cur = ring;
	e->bit = BIT(ring);
	e->ring = e->q->ring[ring];
	space = trn_ring_space(e->ring);
	e->space = space > TRN_EMIT_MARKERS ? space - TRN_EMIT_MARKERS : 0;
	if (e->feed && e->space < TRN_EMIT_FEED_MIN)
		e->space = 0;
	e->flags = (e->used | e->written) & e->bit ? 0 : TRN_RING_DMB;
}

/* The next ring in turn that has room */
static bool trn_emit_next_ring(struct trn_emit *e)
{
	u32 num = e->q->num_rings, i;

	if (!e->spread)
		return false;
	for (i = 1; i <= num; i++) {
		trn_emit_ring(e, (e->cur + i) % num);
		if (e->space)
			return true;
	}
	return false;
}

/*
 * A long job leaves markers behind that interrupt: its rings are filled again
 * before they are empty.
 */
static void trn_emit_step(struct trn_emit *e)
{
	struct trn_ring *ring = e->ring;

	if (!e->feed || e->space <= 1)
		return;
	if (ring->head - ring->marker_end[ring->last & ring->mask] > ring->mask / 4) {
		trn_ring_marker(ring, true);
		e->space--;
	}
}

/**
 * trn_emit_span - write what is not done of one stretch of an op
 * @e: where
 * @op: the op: its size counts
 * @dst: place to go on
 * @src: place to go on
 * @done: bytes of it that are written
 *
 * Return: all of it is written.
 */
bool trn_emit_span(struct trn_emit *e, const struct trn_job_op *op, struct trn_cursor *dst,
		   struct trn_cursor *src, u64 *done)
{
	while (*done < op->size) {
		u64 len = min3(op->size - *done, dst->left, src->left);

		if (e->spread && !e->chunk) {
			trn_emit_next_ring(e);
			e->chunk = TRN_EMIT_CHUNK;
		}
		if (!e->space && !trn_emit_next_ring(e))
			return false;
		len = min_t(u64, len, TRN_DESC_MAX_LEN);
		if (e->spread) {
			len = min_t(u64, len, e->chunk);
			e->chunk -= len;
		}
		trn_emit_desc(e, dst->axi, src->axi, len, 0);
		trn_emit_step(e);
		*done += len;
		trn_cursor_move(dst, len, *done < op->size);
		trn_cursor_move(src, len, *done < op->size);
	}
	return true;
}

/* Writes what is not @done of a row; that is all of a plain copy. */
static bool trn_emit_row(struct trn_emit *e, const struct trn_job_op *op, u64 dst_offset,
			 u64 src_offset, u64 *done)
{
	struct trn_cursor dst, src;

	trn_cursor_set(&dst, op->dst, dst_offset + *done);
	trn_cursor_set(&src, op->src, src_offset + *done);
	return trn_emit_span(e, op, &dst, &src, done);
}

/**
 * trn_emit_copy_slow - write a copy of any size between any buffers
 * @e: where
 * @op: the copy
 * @done: bytes of it that are written
 *
 * Return: all of it is written.
 */
bool trn_emit_copy_slow(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	return trn_emit_row(e, op, op->dst_offset, op->src_offset, done);
}

static bool trn_emit_strided(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	const struct trn_strides *s = op->strides;
	u64 num = (u64)s->rows * s->planes, at;
	u64 next = div64_u64_rem(*done, op->size, &at);
	u32 row, plane = div_u64_rem(next, s->rows, &row);

	for (; next < num; next++) {
		u64 dst = op->dst_offset + row * s->dst_row_pitch + plane * s->dst_plane_pitch;
		u64 src = op->src_offset + row * s->src_row_pitch + plane * s->src_plane_pitch;
		bool all = trn_emit_row(e, op, dst, src, &at);

		*done = next * op->size + at;
		if (!all)
			return false;
		at = 0;
		if (++row == s->rows) {
			row = 0;
			plane++;
		}
	}
	return true;
}

/* Nothing is in its rings, be it that it has ended or that a reset dropped it. */
static bool trn_queue_is_quiet(const struct trn_queue *q)
{
	u32 i;

	for (i = 0; i < q->num_rings; i++) {
		struct trn_ring *ring = q->ring[i];

		if (trn_ring_space(ring) + TRN_RING_RESERVE <= ring->mask)
			return false;
	}
	return true;
}

/* A block with the pattern; NULL when all are in use with others. */
static struct trn_pattern *trn_pattern_get(struct trn_queue *q, u64 value, u32 bytes,
					   u64 seqno)
{
	struct trn_pattern *p, *found = NULL;
	u32 i;

	if (!q->patterns)
		return NULL;
	for (i = 0; i < TRN_NUM_PATTERNS && !found; i++)
		if (q->patterns[i].value == value)
			found = &q->patterns[i];
	for (i = 0; i < TRN_NUM_PATTERNS && !found; i++)
		if (q->patterns[i].seqno <= q->completed)
			found = &q->patterns[i];
	if (!found && trn_queue_is_quiet(q)) {
		for (i = 0; i < TRN_NUM_PATTERNS; i++)
			q->patterns[i].seqno = 0;
		found = q->patterns;
	}
	if (!found)
		return NULL;

	p = found;
	if (p->value != value) {
		p->value = value;
		p->valid = 0;
	}
	bytes = round_up(bytes, sizeof(value));
	if (p->valid < bytes) {
		memset64(p->cpu + p->valid, value, (bytes - p->valid) / sizeof(value));
		p->valid = bytes;
	}
	p->seqno = seqno;
	return p;
}

static bool trn_emit_fill_hbm(struct trn_emit *e, const struct trn_job_op *op, u64 *done,
			      u64 block)
{
	u64 dst = op->dst->segs[0].axi + op->dst_offset;

	while (*done < op->size) {
		u64 at = *done & (TRN_EMIT_FILL_CHUNK - 1), base = dst + *done - at;
		u64 src, max, len;

		if (e->spread && !at)
			trn_emit_next_ring(e);
		if (!e->space)
			return false;
		if (at < TRN_DESC_MAX_LEN) {
			src = block;
			max = min_t(u64, TRN_PATTERN_SIZE, TRN_DESC_MAX_LEN - at);
		} else {
			src = base;
			max = min_t(u64, TRN_DESC_MAX_LEN, TRN_EMIT_FILL_CHUNK - at);
		}
		len = min(op->size - *done, max);
		trn_emit_desc(e, base + at, src, len, at == TRN_DESC_MAX_LEN ? TRN_RING_DMB : 0);
		trn_emit_step(e);
		*done += len;
	}
	return true;
}

/* Segments need not be multiples of the pattern: its phase is kept. */
static bool trn_emit_fill_host(struct trn_emit *e, const struct trn_job_op *op, u64 *done,
			       u64 block)
{
	struct trn_cursor dst;

	trn_cursor_set(&dst, op->dst, op->dst_offset + *done);
	while (*done < op->size) {
		u32 phase = *done & 7;
		u64 len = min3(op->size - *done, dst.left, (u64)TRN_PATTERN_SIZE - phase);

		if (e->spread && !e->chunk) {
			trn_emit_next_ring(e);
			e->chunk = TRN_EMIT_CHUNK;
		}
		if (!e->space && !trn_emit_next_ring(e))
			return false;
		if (e->spread) {
			len = min_t(u64, len, e->chunk);
			e->chunk -= len;
		}
		trn_emit_desc(e, dst.axi, block + phase, len, 0);
		trn_emit_step(e);
		*done += len;
		trn_cursor_move(&dst, len, *done < op->size);
	}
	return true;
}

static bool trn_emit_fill(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	struct trn_device *tdev = e->q->tdev;
	dma_addr_t block = tdev->zeroes_dma;

	if (op->pattern) {
		/* A host segment may begin anywhere in the pattern. */
		u64 bytes = min_t(u64, op->size + sizeof(u64), TRN_PATTERN_SIZE);
		struct trn_pattern *p = trn_pattern_get(e->q, op->pattern, bytes, e->seqno);

		if (!p)
			return false;
		block = p->dma;
	}
	if (trn_bo_is_hbm(op->dst))
		return trn_emit_fill_hbm(e, op, done, trn_host_axi(tdev, block));
	return trn_emit_fill_host(e, op, done, trn_host_axi(tdev, block));
}

/**
 * trn_bo_is_aligned - is an address of a buffer a multiple of 8?
 * @bo: buffer
 * @offset: multiple of 8
 *
 * If so, the 8 bytes there are contiguous.
 */
bool trn_bo_is_aligned(const struct trn_bo *bo, u64 offset)
{
	struct trn_cursor at;

	trn_cursor_set(&at, bo, offset);
	return at.axi % sizeof(u64) == 0;
}

static bool trn_emit_timestamp(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	struct trn_device *tdev = e->q->tdev;
	struct trn_cursor dst;
	u64 src;

	if (!e->space && !trn_emit_next_ring(e))
		return false;
	trn_cursor_set(&dst, op->dst, op->dst_offset);
	src = trn_hw_engine_sdma_axi(tdev->hw, e->ring->engine->id) + TRN_SDMA_TIME_LO;
	trn_emit_desc(e, dst.axi, src, sizeof(u64), TRN_RING_DMB);
	*done = sizeof(u64);
	return true;
}

/**
 * trn_emit_other - write an op that is no plain copy
 * @e: where
 * @op: the op
 * @done: bytes of it that are written
 *
 * Return: all of it is written.
 */
bool trn_emit_other(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	switch (op->type) {
	case TRAINIUM_OP_COPY_STRIDED:
		return trn_emit_strided(e, op, done);
	case TRAINIUM_OP_TIMESTAMP:
		return trn_emit_timestamp(e, op, done);
	case TRAINIUM_OP_REDUCE:
	case TRAINIUM_OP_ACCUMULATE:
		return trn_emit_combine(e, op, done);
	case TRAINIUM_OP_SIGNAL:
	case TRAINIUM_OP_WAIT:
		return trn_emit_semaphore(e, op, done);
	case TRN_OP_COMPLETE:
		return trn_emit_complete(e, op, done);
	default:
		return trn_emit_fill(e, op, done);
	}
}

/**
 * trn_emit_rewind - forget what was written in this pass
 * @e: where; no doorbell was rung since, no marker written
 */
void trn_emit_rewind(struct trn_emit *e)
{
	unsigned long rings = e->written;
	unsigned int r;

	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		e->q->ring[r]->head = e->q->ring[r]->rung;
	/* What was counted at a change of rings stays, a counter is no ledger. */
	e->bytes = 0;
}

/**
 * trn_patterns_alloc - give a queue the blocks that fills copy from
 * @q: the queue, not locked
 *
 * Return: 0, -ENOMEM, -ENODEV, or -ENOENT for a queue that ends.
 */
int trn_patterns_alloc(struct trn_queue *q)
{
	struct trn_pattern *p;
	unsigned int i;
	int idx, ret;

	if (READ_ONCE(q->patterns))
		return 0;
	if (!drm_dev_enter(q->drm, &idx))
		return -ENODEV;
	p = kcalloc(TRN_NUM_PATTERNS, sizeof(*p), GFP_KERNEL);
	if (!p) {
		drm_dev_exit(idx);
		return -ENOMEM;
	}
	for (i = 0; i < TRN_NUM_PATTERNS; i++) {
		p[i].cpu = dma_alloc_coherent(q->drm->dev, TRN_PATTERN_SIZE, &p[i].dma,
					      GFP_KERNEL | __GFP_NOWARN);
		if (!p[i].cpu)
			break;
	}

	mutex_lock(&q->lock);
	ret = q->patterns ? 0 : q->closing ? -ENOENT : -ENOMEM;
	if (ret == -ENOMEM && i == TRN_NUM_PATTERNS) {
		q->patterns = p;
		p = NULL;
		ret = 0;
	}
	mutex_unlock(&q->lock);
	while (p && i--)
		dma_free_coherent(q->drm->dev, TRN_PATTERN_SIZE, p[i].cpu, p[i].dma);
	kfree(p);
	drm_dev_exit(idx);
	return ret;
}

/**
 * trn_patterns_free - give the blocks back
 * @q: queue whose rings are gone
 */
void trn_patterns_free(struct trn_queue *q)
{
	unsigned int i;

	if (!q->patterns)
		return;
	for (i = 0; i < TRN_NUM_PATTERNS; i++)
		dma_free_coherent(q->drm->dev, TRN_PATTERN_SIZE, q->patterns[i].cpu,
				  q->patterns[i].dma);
	kfree(q->patterns);
	q->patterns = NULL;
}
