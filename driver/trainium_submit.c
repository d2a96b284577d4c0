// SPDX-License-Identifier: GPL-2.0-only
/*
 * The submit ioctl.
 *
 * A small job that can start at once takes the direct way: its ops are checked
 * and become descriptors in one pass, one doorbell, a look at the completion
 * word. Nothing is allocated on that way. Whatever does not fit it, takes the
 * other one: the ops are copied, and written when and as far as there is room.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_syncobj.h>

#include "trainium_emit.h"
#include "trainium_submit.h"
#include "trainium_user.h"

#define TRN_MAX_OP_STRIDE	4096u

/* Of the jobs that end at once, one of so many is timed for all of them. */
#define TRN_BUSY_SAMPLE		64u

/* Ops and buffers */

/*
 * Does not fault when page faults are disabled. TRN_SUBMIT_SLOW: there is more
 * to the ops, for trn_fetch_strides().
 */
static int trn_fetch_ops(struct trn_submit *s, u32 from, u32 num)
{
	u32 stride = s->args->op_stride, i, w;
	const void __user *ptr = u64_to_user_ptr(s->args->ops) + (u64)from * stride;
	u64 *to = (u64 *)s->block, extra = 0, word;

	BUILD_BUG_ON(sizeof(struct drm_trainium_op) != 5 * sizeof(u64));
	if (!user_read_access_begin(ptr, (size_t)num * stride))
		return -EFAULT;
	/* No index of s->block: a check of it would call out of the user access. */
	for (i = 0; i < num; i++, ptr += stride, to += 5) {
		const u64 __user *in = ptr;

		unsafe_get_user(to[0], &in[0], fault);
		unsafe_get_user(to[1], &in[1], fault);
		unsafe_get_user(to[2], &in[2], fault);
		unsafe_get_user(to[3], &in[3], fault);
		unsafe_get_user(to[4], &in[4], fault);
		for (w = 5; unlikely(w < stride / sizeof(u64)); w++) {
			unsafe_get_user(word, &in[w], fault);
			extra |= word;
		}
	}
	user_read_access_end();
	return extra ? TRN_SUBMIT_SLOW : 0;

fault:
	user_read_access_end();
	return -EFAULT;
}

/* A place in the queue's cache that this job does not use */
static int trn_submit_bo_place(struct trn_submit *s)
{
	struct trn_bo_cache *c = s->bos;
	u32 n, i;

	for (n = 0; n < TRN_BO_CACHE; n++) {
		i = c->next++ % TRN_BO_CACHE;
		if (!(s->used & BIT(i)))
			return i;
	}
	return -1;
}

/*
 * The queue's lock is held, so nothing is freed here: the reference of what is
 * not wanted goes to those of the job.
 */
static int trn_submit_cache_bo(struct trn_submit *s, u32 handle, struct trn_bo *bo)
{
	int i = trn_submit_bo_place(s);

	if (i < 0 || bo->flags & TRN_BO_F_SYNC) {
		s->refs.list[s->refs.num++] = bo;
		return TRN_SUBMIT_SLOW;
	}
	if (s->bos->bo[i])
		s->refs.list[s->refs.num++] = s->bos->bo[i];
	s->bos->handle[i] = handle;
	s->bos->bo[i] = bo;
	s->used |= BIT(i);
	return 0;
}

static int trn_submit_keep_bo(struct trn_submit *s, u32 handle, struct trn_bo *bo)
{
	u32 i = s->bos->next++ % TRN_BO_CACHE;

	if (s->refs.num == s->refs.max && trn_refs_grow(&s->refs)) {
		trn_bo_put(bo);
		return -ENOMEM;
	}
	s->refs.list[s->refs.num++] = bo;
	s->sync |= !!(bo->flags & TRN_BO_F_SYNC);
	s->bos->handle[i] = handle;
	s->bos->bo[i] = bo;
	return 0;
}

static noinline int trn_submit_find_bo(struct trn_submit *s, u32 handle, struct trn_bo **bo)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(s->file, handle);

	if (!obj)
		return -ENOENT;
	*bo = to_trn_bo(obj);
	return s->bos == &s->own ? trn_submit_keep_bo(s, handle, *bo) :
				   trn_submit_cache_bo(s, handle, *bo);
}

static inline int trn_submit_bo(struct trn_submit *s, u32 handle, struct trn_bo **bo)
{
	const struct trn_bo_cache *c = s->bos;
	u32 i;

	for (i = 0; i < TRN_BO_CACHE; i++) {
		if (c->handle[i] == handle && c->bo[i]) {
			*bo = c->bo[i];
			s->used |= BIT(i);
			return 0;
		}
	}
	return trn_submit_find_bo(s, handle, bo);
}

/* The job goes on without the queue's lock: it needs references of its own. */
static void trn_submit_take_bos(struct trn_submit *s)
{
	unsigned long used = s->used;
	unsigned int i;

	for_each_set_bit(i, &used, TRN_BO_CACHE) {
		drm_gem_object_get(&s->bos->bo[i]->base);
		s->refs.list[s->refs.num++] = s->bos->bo[i];
	}
}

static int trn_submit_fill(struct trn_job_op *op, const struct drm_trainium_op *in)
{
	u32 size = in->pattern_size;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	if ((in->dst_offset | in->size) & (size - 1))
		return -EINVAL;
	if (size < 8 && in->pattern >> (size * 8))
		return -EINVAL;
	for (op->pattern = in->pattern; size < 8; size *= 2)
		op->pattern |= op->pattern << (size * 8);
	return 0;
}

/* A range that is not simply one of a private buffer: wrong, or of a shared one */
static noinline int trn_submit_special(struct trn_submit *s, struct trn_bo *bo, u64 offset,
				       u64 size, bool write)
{
	int ret;

	if (!size || !trn_bo_has_range(bo, offset, size) ||
	    (write && bo->flags & TRAINIUM_BO_F_READ_ONLY))
		return -EINVAL;
	if (!(bo->flags & TRN_BO_F_SPECIAL))
		return 0;
	if (READ_ONCE(bo->revoked))
		return trn_bo_revoked(bo);
	if (!(bo->flags & TRN_BO_F_SHARED))
		return 0;
	ret = trn_shares_add(&s->shares, bo, write, s->bos == &s->own);
	return ret == -ENOSPC ? TRN_SUBMIT_SLOW : ret;
}

static int trn_submit_strided(struct trn_submit *s, struct trn_job_op *op,
			      const struct drm_trainium_op *in)
{
	u64 num;
	int ret;

	if (!op->strides)
		return -EINVAL;
	ret = trn_submit_bo(s, in->src, &op->src);
	if (ret)
		return ret;
	op->src_offset = in->src_offset;
	ret = trn_strided_check(op);
	if (!ret && op->src->placement == TRAINIUM_BO_GROUP)
		ret = -EINVAL;
	if (!ret && op->src->flags & TRN_BO_F_SPECIAL)
		ret = trn_submit_special(s, op->src, op->src_offset, op->size, false);
	if (ret)
		return ret;

	num = (u64)op->strides->rows * op->strides->planes;
	if (num > TRN_MAX_ROWS - s->rows)
		return -EINVAL;
	s->rows += num;
	/* One row was counted. No buffer is large enough for this to overflow. */
	s->bytes += (num - 1) * in->size;
	return 0;
}

/* A copy from a register of the engine, which is read in one piece. */
static int trn_submit_timestamp(struct trn_submit *s, struct trn_job_op *op,
				const struct drm_trainium_op *in)
{
	if (!trn_has_timestamp(s->q->tdev))
		return -EOPNOTSUPP;
	if (in->src || in->src_offset || in->size != sizeof(u64) ||
	    in->dst_offset % sizeof(u64) || !trn_bo_is_aligned(op->dst, in->dst_offset))
		return -EINVAL;
	op->flags |= TRAINIUM_OP_F_BARRIER;
	return 0;
}

/* A source that is not simply a private buffer; groups can only be reduced. */
static noinline int trn_submit_source(struct trn_submit *s, struct trn_job_op *op)
{
	bool group = op->src->placement == TRAINIUM_BO_GROUP;
	bool reduce = op->type == TRAINIUM_OP_REDUCE;

	if (group != reduce)
		return -EINVAL;
	return trn_submit_special(s, op->src, op->src_offset, op->size, false);
}

static int trn_submit_combine(struct trn_submit *s, struct trn_job_op *op,
			      const struct drm_trainium_op *in)
{
	int ret = trn_combine_check(s->q->tdev, in);

	if (!ret)
		ret = trn_submit_bo(s, in->src, &op->src);
	if (ret)
		return ret;
	op->src_offset = in->src_offset;
	ret = trn_submit_source(s, op);
	if (ret)
		return ret;
	/* Combined twice, the result would be another one. */
	if (op->type == TRAINIUM_OP_ACCUMULATE) {
		if (op->dst->placement == TRAINIUM_BO_GROUP)
			return -EINVAL;
		if (op->src == op->dst && op->src_offset < op->dst_offset + op->size &&
		    op->dst_offset < op->src_offset + op->size)
			return -EINVAL;
		s->once = true;
	}
	return trn_combine_aligned(op) ? 0 : -EINVAL;
}

static int trn_submit_other(struct trn_submit *s, struct trn_job_op *op,
			    const struct drm_trainium_op *in)
{
	switch (in->type) {
	case TRAINIUM_OP_FILL:
		return trn_submit_fill(op, in);
	case TRAINIUM_OP_COPY_STRIDED:
		return s->bos == &s->own ? trn_submit_strided(s, op, in) : TRN_SUBMIT_SLOW;
	case TRAINIUM_OP_TIMESTAMP:
		return trn_submit_timestamp(s, op, in);
	case TRAINIUM_OP_REDUCE:
	case TRAINIUM_OP_ACCUMULATE:
		return trn_submit_combine(s, op, in);
	case TRAINIUM_OP_SIGNAL:
	case TRAINIUM_OP_WAIT:
		/* Done twice, it would be another number. */
		s->once = true;
		return trn_semaphore_check(s->q, op, in);
	default:
		return -EINVAL;
	}
}

/* Checks an op; the one place where ranges of users are looked at. */
static inline int trn_submit_op(struct trn_submit *s, struct trn_job_op *op,
				const struct drm_trainium_op *in)
{
	int ret;

	if (unlikely(in->flags & ~TRAINIUM_OP_F_BARRIER) && !trn_op_has_flags(in))
		return -EINVAL;
	ret = trn_submit_bo(s, in->dst, &op->dst);
	if (unlikely(ret))
		return ret;
	op->type = in->type;
	op->flags = in->flags;
	op->dst_offset = in->dst_offset;
	op->size = in->size;
	s->bytes += in->size;
	if (unlikely(!in->size || !trn_bo_has_range(op->dst, in->dst_offset, in->size) ||
		     (op->dst->flags & (TRAINIUM_BO_F_READ_ONLY | TRN_BO_F_SPECIAL)))) {
		ret = trn_submit_special(s, op->dst, op->dst_offset, op->size, true);
		if (ret)
			return ret;
	}

	if (unlikely(in->type != TRAINIUM_OP_COPY))
		return trn_submit_other(s, op, in);

	ret = trn_submit_bo(s, in->src, &op->src);
	if (unlikely(ret))
		return ret;
	op->src_offset = in->src_offset;
	if (unlikely(!trn_bo_has_range(op->src, in->src_offset, in->size) ||
		     (op->src->flags & TRN_BO_F_SPECIAL))) {
		ret = trn_submit_source(s, op);
		if (ret)
			return ret;
	}
	if (unlikely(op->src == op->dst &&
		     max(in->src_offset, in->dst_offset) - min(in->src_offset, in->dst_offset) <
		     in->size))
		return -EINVAL;
	return 0;
}

/**
 * trn_queue_lock - for writing to the rings
 * @q: the queue
 * @idx: for trn_queue_unlock()
 *
 * The device is there, no reset is going on, and nobody else writes.
 *
 * Return: 0; TRN_SUBMIT_FULL when the device is down, see trn_device_wait_up();
 * -ENODEV, -EINTR, -ENOENT for a queue that ends, -EIO for one that
 * has lost a ring, or how the device is broken.
 */
int trn_queue_lock(struct trn_queue *q, int *idx)
{
	struct trn_device *tdev = q->tdev;
	int ret;

	if (unlikely(!drm_dev_enter(q->drm, idx)))
		return -ENODEV;
	ret = down_read_killable(&tdev->reset_lock);
	if (unlikely(ret))
		goto err_exit;
	ret = TRN_SUBMIT_FULL;
	if (unlikely(tdev->down))
		goto err_reset;
	ret = mutex_lock_killable(&q->lock);
	if (unlikely(ret))
		goto err_reset;
	if (unlikely(q->refuses || tdev->broken)) {
		ret = q->refuses ?: tdev->broken;
		goto err_lock;
	}
	return 0;

err_lock:
	mutex_unlock(&q->lock);
err_reset:
	up_read(&tdev->reset_lock);
err_exit:
	drm_dev_exit(*idx);
	return ret;
}

/**
 * trn_queue_unlock - undo trn_queue_lock()
 * @q: the queue
 * @idx: from there
 */
void trn_queue_unlock(struct trn_queue *q, int idx)
{
	mutex_unlock(&q->lock);
	up_read(&q->tdev->reset_lock);
	drm_dev_exit(idx);
}

/* The direct way */

static int trn_submit_emit(struct trn_submit *s, struct trn_emit *e)
{
	const struct drm_trainium_submit *args = s->args;
	struct trn_job_op op __uninitialized;
	u32 n, i, at = 0;
	int ret;

	for (;;) {
		n = min(args->op_count - at, TRN_OP_BLOCK);
		for (i = 0; i < n; i++) {
			u64 done = 0;

			ret = trn_submit_op(s, &op, &s->block[i]);
			if (unlikely(ret))
				return ret;
			if (op.flags & TRAINIUM_OP_F_BARRIER && at + i) {
				if (e->spread)
					return TRN_SUBMIT_SLOW;
				s->barriers = true;
				e->flags = TRN_RING_DMB;
			}
			if (unlikely(!trn_emit_op(e, &op, &done)))
				return TRN_SUBMIT_SLOW;
		}
		at += n;
		if (at == args->op_count)
			return 0;

		pagefault_disable();
		ret = trn_fetch_ops(s, at, min(args->op_count - at, TRN_OP_BLOCK));
		pagefault_enable();
		if (unlikely(ret))
			return ret == -EFAULT ? TRN_SUBMIT_SLOW : ret;
	}
}

/* May a job be written now, and to which rings? */
static int trn_submit_direct_can(struct trn_submit *s, bool *spread)
{
	u32 n = min(s->args->op_count, TRN_OP_BLOCK), i;
	struct trn_queue *q = s->q;
	u64 bytes = 0;

	/* Pairs with trn_queue_reap_locked(): @completed is up to date. */
	if (unlikely(smp_load_acquire(&q->busy)))
		trn_queue_reap(q);
	if (unlikely(q->started != q->submitted || (q->busy && trn_queue_last_in_parts(q))))
		return TRN_SUBMIT_SLOW;
	if (unlikely(!trn_queue_has_slot(q)))
		return TRN_SUBMIT_FULL;

	/* A guess: the first ops are like the others. */
	for (i = 0; i < n; i++)
		bytes += min_t(u64, s->block[i].size, TRN_EMIT_SPREAD);
	*spread = bytes >= TRN_EMIT_SPREAD && q->num_rings > 1;
	return q->busy & (*spread ? ~0u : ~1u) ? TRN_SUBMIT_SLOW : 0;
}

/**
 * trn_submit_slot - give the job its slot
 * @s: the submit
 *
 * From here on it takes care of itself.
 *
 * Return: the slot.
 */
struct trn_slot *trn_submit_slot(struct trn_submit *s)
{
	struct trn_slot *slot = trn_slot(s->q, s->seqno);

	slot->seqno = s->seqno;
	slot->job = NULL;
	slot->rings = 0;
	slot->unwritten = false;
	slot->sync = s->sync;
	slot->barriers = s->barriers || s->once;
	slot->suspect = false;
	slot->error = 0;
	slot->reason = TRAINIUM_REASON_NONE;
	slot->bytes = s->bytes;
	slot->waiters = s->args && s->args->flags & TRAINIUM_SUBMIT_WAIT;
	slot->fence = s->fence;
	if (s->fence) {
		trn_fence_init(s->fence, s->q, s->seqno);
		dma_fence_get(&s->fence->base);
	}
	trn_refs_move(&slot->refs, &s->refs);
	return slot;
}

/* Ends a job on a ring and starts it. Return: it has ended already. */
static inline bool trn_submit_kick(struct trn_slot *slot, struct trn_ring *ring, u32 r, bool irq)
{
	u64 marker = trn_ring_marker(ring, irq);

	slot->first[r] = ring->rung;
	slot->marker[r] = marker;
	trn_ring_kick(ring);
	return trn_ring_done(ring) >= marker;
}

static noinline bool trn_submit_kick_all(struct trn_slot *slot, struct trn_emit *e, bool irq)
{
	unsigned long rings = e->written;
	bool reached = true;
	unsigned int r;

	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		reached &= trn_submit_kick(slot, e->q->ring[r], r, irq);
	return reached;
}

/* A job that has ended inside the submit was measured; a small one for many others */
static void trn_submit_count_busy(struct trn_queue *q, const struct trn_emit *e, u64 begin)
{
	unsigned long rings = e->written;
	u64 ns = ktime_get_ns() - begin;
	unsigned int r;

	if (likely(!e->spread)) {
		ns *= TRN_BUSY_SAMPLE;
		e->ring->inline_ns += ns;
	} else {
		for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
			q->ring[r]->inline_ns += ns;
	}
	q->busy_ns += ns;
}

static int trn_submit_direct_locked(struct trn_submit *s)
{
	struct trn_queue *q = s->q;
	struct trn_emit e __uninitialized;
	bool small, irq, reached;
	struct trn_slot *slot;
	u64 begin = 0;
	int ret;

	trn_emit_init(&e, q, q->submitted + 1);
	ret = trn_submit_direct_can(s, &e.spread);
	if (unlikely(ret))
		return ret;
	s->bos = &q->bos;
	ret = trn_submit_emit(s, &e);
	if (!ret && unlikely(s->shares.num) && trn_shares_busy(&s->shares, q))
		ret = TRN_SUBMIT_SLOW;
	if (unlikely(ret)) {
		trn_emit_rewind(&e);
		return ret;
	}
	trn_emit_count(&e);

	s->seqno = e.seqno;
	trace_trn_submit(q->tdev, q->id, s->seqno, s->args->op_count, s->bytes);
	small = e.descs <= TRN_INLINE_DESCS && s->bytes <= TRN_INLINE_BYTES && !q->busy;
	irq = !(small && q->inline_done) &&
	      !(s->args->flags & TRAINIUM_SUBMIT_WAIT && trn_wait_is_short(q, s->bytes));
	slot = trn_slot(q, s->seqno);
	if (unlikely(s->seqno % TRN_BUSY_SAMPLE == 0))
		begin = ktime_get_ns();
	if (likely(!e.spread)) {
		reached = trn_submit_kick(slot, e.ring, 0, irq);
	} else {
		begin = ktime_get_ns();
		reached = trn_submit_kick_all(slot, &e, irq);
	}
	if (small)
		q->inline_done = reached;
	if (reached && !q->busy) {
		if (unlikely(begin))
			trn_submit_count_busy(q, &e, begin);
		trn_submit_ended(s);
		return 0;
	}

	trn_submit_take_bos(s);
	trn_submit_slot(s);
	spin_lock_irq(&q->fc->lock);
	slot->rings = e.written;
	trn_queue_set_busy(q, q->busy | e.written);
	q->quiet = irq ? q->quiet & ~e.written : q->quiet | e.written;
	trn_queue_begin(q, s->seqno);
	q->submitted = s->seqno;
	WRITE_ONCE(q->started, s->seqno);
	spin_unlock_irq(&q->fc->lock);

	if (!(s->args->flags & TRAINIUM_SUBMIT_WAIT))
		trn_queue_request_irq(q);
	trn_queue_watch(q);
	/* Its interrupt may have come before it was in its slot. */
	trn_queue_reap(q);
	return 0;
}

static int trn_submit_direct(struct trn_submit *s)
{
	struct trn_queue *q = s->q;
	bool cookie;
	int ret;

	ret = trn_fetch_ops(s, 0, min(s->args->op_count, TRN_OP_BLOCK));
	if (unlikely(ret))
		return ret;
	/* Outside of all locks, as the workers do it */
	cookie = dma_fence_begin_signalling();
	ret = mutex_lock_killable(&q->lock);
	if (unlikely(ret))
		goto out;
	/* A device that goes away is broken first, and held meanwhile. */
	if (unlikely(q->refuses || READ_ONCE(q->tdev->held) || READ_ONCE(q->tdev->broken)))
		ret = TRN_SUBMIT_SLOW;
	else
		ret = trn_submit_direct_locked(s);
	mutex_unlock(&q->lock);
out:
	dma_fence_end_signalling(cookie);
	return ret;
}

/* The other way */

static int trn_submit_read_ops(struct trn_submit *s, struct trn_job *job)
{
	u32 num = s->args->op_count, at, n, i;
	bool patterns = false;
	int ret;

	for (at = 0; at < num; at += n) {
		n = min(num - at, TRN_OP_BLOCK);
		ret = trn_fetch_ops(s, at, n);
		if (ret == TRN_SUBMIT_SLOW)
			ret = trn_fetch_strides(s->args, job, at, n, s->block);
		if (ret)
			return ret;
		for (i = 0; i < n; i++) {
			struct trn_job_op *op = &job->ops[at + i];

			op->strides = job->strides ? &job->strides[at + i] : NULL;
			ret = trn_submit_op(s, op, &s->block[i]);
			if (ret)
				return ret;
			if (s->bytes > TRN_MAX_JOB_BYTES)
				return -EINVAL;
			patterns |= op->type == TRAINIUM_OP_FILL && op->pattern;
			s->barriers |= op->flags & TRAINIUM_OP_F_BARRIER && at + i;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return patterns ? trn_patterns_alloc(s->q) : 0;
}

/**
 * trn_submit_queue - queue a job, and start it if it can be
 * @s: the submit
 * @job: its ops; taken over when 0 is returned
 *
 * Return: 0, TRN_SUBMIT_FULL, TRN_SUBMIT_SLOW when a buffer may have become a
 * shared one, or a negative error.
 */
int trn_submit_queue(struct trn_submit *s, struct trn_job *job)
{
	struct trn_queue *q = s->q;
	struct trn_slot *slot;
	int idx, ret;
	bool cookie;

	/* Outside of all locks, as the workers do it */
	cookie = dma_fence_begin_signalling();
	ret = trn_queue_lock(q, &idx);
	if (ret)
		goto out;
	ret = trn_user_error(q) ?: (trn_queue_has_slot(q) ? 0 : TRN_SUBMIT_FULL);
	if (s->file && trn_shares_stale(&s->refs, q->tdev, s->share_count))
		ret = TRN_SUBMIT_SLOW;
	if (ret)
		goto unlock;

	s->seqno = q->submitted + 1;
	trace_trn_submit(q->tdev, q->id, s->seqno, job->num_ops, s->bytes);
	job->spread = s->bytes >= TRN_EMIT_SPREAD && q->num_rings > 1;
	job->deps = s->deps;
	job->num_deps = s->num_deps;
	job->num_in = s->args->in_sync_count;
	s->deps = NULL;
	s->num_deps = 0;
	slot = trn_submit_slot(s);
	slot->job = job;
	spin_lock_irq(&q->fc->lock);
	q->submitted = s->seqno;
	spin_unlock_irq(&q->fc->lock);
	trn_job_add_deps(job);
	trn_queue_advance(q);
unlock:
	trn_queue_unlock(q, idx);
out:
	dma_fence_end_signalling(cookie);
	return ret;
}

/**
 * trn_submit_parse - take the ops, and check them
 * @s: the submit
 * @job: out: with the ops, or NULL; to be freed, also after an error
 *
 * Return: 0 or a negative error.
 */
int trn_submit_parse(struct trn_submit *s, struct trn_job **job)
{
	bool tell = s->q->user && s->q->user->bo;

	memset(&s->own, 0, sizeof(s->own));
	s->bos = &s->own;
	s->rows = 0;
	s->share_count = atomic64_read_acquire(&s->q->tdev->share_count);
	*job = trn_job_new(s->q, s->args->op_count + tell);
	if (!*job)
		return -ENOMEM;
	if (unlikely(tell))
		trn_user_complete_op(s->q->user, &(*job)->ops[s->args->op_count]);
	return trn_submit_read_ops(s, *job);
}

static noinline int trn_submit_deferred(struct trn_submit *s)
{
	struct trn_job *job;
	int ret;

	ret = trn_submit_parse(s, &job);
	/* Nobody waits for the work of a user queue by a fence. */
	if (!ret && s->q->user && (s->sync || s->shares.num))
		ret = -EOPNOTSUPP;
	if (!ret && s->shares.num)
		ret = trn_shares_deps(&s->shares, s->q, trn_submit_deadline(s->args), &s->deps,
				      &s->num_deps);
	if (!ret)
		ret = trn_submit_queue(s, job);
	if (ret)
		trn_job_free(job);
	return ret;
}

/**
 * trn_submit_check - are the arguments right, taken by themselves?
 * @args: arguments
 *
 * Return: 0 or -EINVAL.
 */
int trn_submit_check(const struct drm_trainium_submit *args)
{
	if (args->flags & ~TRAINIUM_SUBMIT_WAIT || args->pad)
		return -EINVAL;
	if (args->op_count > TRN_MAX_OPS || args->in_sync_count > TRN_MAX_SYNCS ||
	    args->out_sync_count > TRN_MAX_SYNCS)
		return -EINVAL;
	if (args->op_count &&
	    (args->op_stride < sizeof(struct drm_trainium_op) || args->op_stride % 8 ||
	     args->op_stride > TRN_MAX_OP_STRIDE))
		return -EINVAL;
	if (args->flags & TRAINIUM_SUBMIT_WAIT)
		return 0;
	if (args->deadline_ns)
		return -EINVAL;
	return args->op_count || args->in_sync_count || args->out_sync_count ? 0 : -EINVAL;
}

/* A way has left off somewhere: forget what it has found. */
static void trn_submit_again(struct trn_submit *s)
{
	trn_refs_put(&s->refs);
	s->used = 0;
	trn_shares_put(&s->shares);
	/* But for those of in syncs, which come first. */
	while (s->num_deps > s->args->in_sync_count)
		dma_fence_put(s->deps[--s->num_deps].fence);
	if (!s->num_deps) {
		kvfree(s->deps);
		s->deps = NULL;
	}
	s->bytes = 0;
	s->sync = false;
	s->barriers = false;
	s->once = false;
}

static int trn_submit_job(struct trn_submit *s)
{
	bool direct = s->args->op_count && !s->depends;
	int ret;

	for (;;) {
		ret = direct ? trn_submit_direct(s) : TRN_SUBMIT_SLOW;
		if (unlikely(ret == TRN_SUBMIT_SLOW)) {
			trn_submit_again(s);
			ret = trn_submit_deferred(s);
		}
		if (likely(ret <= 0))
			return ret;
		trn_submit_again(s);
		if (ret == TRN_SUBMIT_FULL)
			ret = trn_submit_wait_slot(s);
		else if (signal_pending(current))
			ret = -ERESTARTSYS;
		else
			ret = trn_submit_deadline(s->args) <= (s64)ktime_get_ns() ? -ETIME : 0;
		if (ret)
			return ret;
	}
}

/* The job is queued, or has ended already. */
static __always_inline int trn_submit_end(struct trn_submit *s, struct drm_trainium_submit *args)
{
	bool ended = s->ended;
	int ret = 0;

	args->seqno = s->seqno;
	if (unlikely(s->shares.num))
		trn_shares_publish(&s->shares, s->q, s->seqno);
	if (s->fence)
		trn_submit_publish(s);
	if (!ended && args->flags & TRAINIUM_SUBMIT_WAIT)
		ret = trn_submit_wait(s, args->deadline_ns, false, &ended);
	args->status = ended ? TRAINIUM_STATUS_DONE : TRAINIUM_STATUS_PENDING;
	return ret;
}

/**
 * trn_submit_finish - publish and wait for a job that is queued
 * @s: the submit
 * @args: its arguments, get the results
 *
 * Return: 0, or how the job has ended.
 */
int trn_submit_finish(struct trn_submit *s, struct drm_trainium_submit *args)
{
	return trn_submit_end(s, args);
}

/* Not a queue as most are: a user queue, or a list, which can only be waited for */
static noinline struct trn_queue *trn_submit_find_queue(struct drm_file *file,
							const struct drm_trainium_submit *args)
{
	struct trn_queue *q = trn_queue_find(file->driver_priv, args->queue);
	bool syncs = args->in_sync_count || args->out_sync_count;
	int ret = -ENOENT;

	if (!q)
		return ERR_PTR(ret);
	if (!q->list)
		ret = syncs ? -EINVAL : 0;
	else if (!args->op_count && !syncs)
		ret = 0;
	if (!ret)
		return q;
	trn_queue_put(q);
	return ERR_PTR(ret);
}

/**
 * trn_ioctl_submit - DRM_IOCTL_TRAINIUM_SUBMIT
 * @drm: device
 * @data: struct drm_trainium_submit
 * @file: caller
 */
int trn_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_submit *args = data;
	struct trn_submit s __uninitialized;
	struct trn_queue *q;
	int ret;

	ret = trn_submit_check(args);
	if (ret)
		return ret;
	q = trn_queue_get(file->driver_priv, args->queue);
	if (likely(q)) {
		trn_submit_init(&s, q, file, args);
	} else {
		q = trn_submit_find_queue(file, args);
		if (IS_ERR(q))
			return PTR_ERR(q);
		trn_submit_init(&s, q, file, args);
		/* The direct way knows nothing of user queues. */
		s.depends = true;
	}

	if (unlikely(!args->op_count && !args->in_sync_count && !args->out_sync_count)) {
		ret = trn_submit_wait_all(&s, args);
		goto out_put;
	}
	if (args->in_sync_count)
		ret = trn_submit_in(&s);
	if (!ret && args->out_sync_count)
		ret = trn_submit_out(&s);
	if (!ret)
		ret = trn_submit_job(&s);
	if (ret)
		goto out_syncs;

	ret = trn_submit_end(&s, args);

out_syncs:
	if (args->in_sync_count | args->out_sync_count | s.shares.num)
		trn_submit_free_syncs(&s);
	if (unlikely(s.refs.num))
		trn_refs_put(&s.refs);
out_put:
	if (unlikely(READ_ONCE(q->released) != READ_ONCE(q->completed)))
		trn_queue_release(q);
	trn_queue_put(q);
	return ret;
}
