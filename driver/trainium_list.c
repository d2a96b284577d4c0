// SPDX-License-Identifier: GPL-2.0-only
/*
 * Command lists: work that is checked and written once and started many times.
 *
 * A list is a queue with one ring that nobody else writes to. Its descriptors
 * and the marker behind them are a unit, and the ring is full of copies of it,
 * as many as fit. Each submit starts the next copy: only the ring ids in it,
 * the number of the marker and the tail pointers are written, and in a user list
 * the number of the job. Words that descriptors read lie beside them: each unit
 * has its own. Units are powers of two or multiples of 16 long, filled up with
 * copies of a word of zeroes to nowhere, so that the ring, whose length is a
 * multiple of 16, ends with one.
 *
 * A list keeps its buffers while it may run. When a handle of one of them is
 * closed the list is spent: it ends what it has begun and takes no submits.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "trainium_emit.h"
#include "trainium_submit.h"
#include "trainium_user.h"

#define TRN_LIST_SLOTS		TRN_RING_DEFAULT_SLOTS
#define TRN_LIST_UNIT_ALIGN	TRN_UDMA_Q_LEN_ALIGN

/**
 * struct trn_list - what a list's queue starts
 *
 * Under the lock of the queue.
 */
struct trn_list {
	/** @refs: its buffers */
	struct trn_refs refs;
	/** @spent: a buffer is gone */
	bool spent;
	/** @unit: descriptors of a submit, with the marker */
	u32 unit;
	/** @descs: of them, those of the ops */
	u32 descs;
	/** @next: slot where the next submit begins */
	u32 next;
	/** @ring_id: of the lap that @next is in */
	u32 ring_id;
	/** @starts: starts of the ring that @next and @ring_id know of */
	u32 starts;
	/** @num_ops: ops of a submit */
	u32 num_ops;
	/** @share_count: of the device, when no buffer of the list was shared */
	u64 share_count;
	/** @bytes: that a submit moves */
	u64 bytes;
	/** @tells: the last descriptor of the ops tells the seqno */
	bool tells;
};

/* Writing it once */

static u32 trn_list_unit(u32 descs)
{
	u32 unit = descs + 1;

	return unit < TRN_LIST_UNIT_ALIGN ? roundup_pow_of_two(unit) :
					    round_up(unit, TRN_LIST_UNIT_ALIGN);
}

/* Pads and marker of the first unit, and then the others */
static void trn_list_fill_ring(struct trn_list *list, struct trn_ring *ring)
{
	struct trn_device *tdev = ring->engine->tdev;
	u64 zeroes = trn_host_axi(tdev, tdev->zeroes_dma);
	u32 at, i, slot;

	while (ring->head < list->unit - 1)
		trn_ring_copy(ring, ring->done_axi + sizeof(*ring->done), zeroes,
			      sizeof(*ring->done), 0);
	trn_ring_write(ring, ring->done_axi, ring->marker_axi + 8 * ring->head,
		       sizeof(*ring->done), TRN_META_COPY, 0, TRN_S2M_STRONG_ORDER);

	ring->len = rounddown(TRN_LIST_SLOTS, list->unit);
	for (at = list->unit; at < ring->len; at += list->unit) {
		for (i = 0; i < list->unit; i++) {
			ring->m2s[at + i] = ring->m2s[i];
			ring->s2m[at + i] = ring->s2m[i];
			if (!trn_ring_is_operand(ring, le64_to_cpu(ring->m2s[i].addr), &slot))
				continue;
			ring->m2s[at + i].addr = cpu_to_le64(ring->marker_axi + 8 * (at + i));
			ring->marker[at + i] = ring->marker[i];
		}
	}
}

/* The lock of the queue and reset_lock are held, under drm_dev_enter(). */
static int trn_list_write(struct trn_list *list, struct trn_queue *q, const struct trn_job *job)
{
	struct trn_ring *ring = q->ring[0];
	struct trn_emit e;
	u32 i;

	/* Its patterns are never written anew. */
	trn_emit_init(&e, q, U64_MAX);
	for (i = 0; i < job->num_ops; i++) {
		u64 done = 0;

		if ((job->ops[i].flags & TRAINIUM_OP_F_BARRIER) && i)
			e.flags = TRN_RING_DMB;
		if (!trn_emit_op(&e, &job->ops[i], &done))
			return -EINVAL;
	}
	if (e.descs > TRN_MAX_LIST_DESCS)
		return -EINVAL;
	list->descs = e.descs;
	list->unit = trn_list_unit(e.descs);
	trn_list_fill_ring(list, ring);
	/* With so many there is always room for one more. */
	q->max_jobs = min(TRN_QUEUE_SLOTS, (ring->len - TRN_RING_RESERVE) / list->unit);
	return trn_ring_reset(ring);
}

/* From here on the list goes away with its queue, which an unbind may end at once. */
static int trn_list_build(struct trn_list *list, struct trn_queue *q, const struct trn_job *job,
			  struct trn_refs *refs, u32 *descs)
{
	int idx, ret;

	do {
		ret = trn_device_wait_up(q->tdev) ?: trn_queue_lock(q, &idx);
	} while (ret == TRN_SUBMIT_FULL);
	if (ret)
		return ret;
	ret = trn_list_write(list, q, job);
	if (!ret) {
		trn_refs_move(&list->refs, refs);
		*descs = list->descs;
		q->list = list;
	}
	trn_queue_unlock(q, idx);
	return ret;
}

static int trn_list_new(struct trn_queue *q, struct drm_file *file,
			const struct drm_trainium_submit *args, u32 *descs)
{
	struct trn_list *list = kzalloc(sizeof(*list), GFP_KERNEL_ACCOUNT);
	struct trn_submit s __uninitialized;
	struct trn_job *job;
	int ret;

	if (!list)
		return -ENOMEM;
	trn_refs_init(&list->refs);
	trn_submit_init(&s, q, file, args);
	ret = trn_submit_parse(&s, &job);
	/* Nobody would wait for the fences of a shared buffer. */
	if (!ret && (s.sync || s.shares.num))
		ret = -EOPNOTSUPP;
	list->num_ops = args->op_count;
	list->bytes = s.bytes;
	list->tells = q->user && q->user->bo;
	list->share_count = s.share_count;
	if (!ret)
		ret = trn_list_build(list, q, job, &s.refs, descs);
	if (ret)
		kfree(list);
	trn_shares_put(&s.shares);
	trn_refs_put(&s.refs);
	trn_job_free(job);
	return ret;
}

/**
 * trn_ioctl_list_create - DRM_IOCTL_TRAINIUM_LIST_CREATE
 * @drm: device
 * @data: struct drm_trainium_list_create
 * @file: caller
 */
int trn_ioctl_list_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct drm_trainium_list_create *args = data;
	struct drm_trainium_submit submit = {
		.flags = TRAINIUM_SUBMIT_WAIT,
		.ops = args->ops,
		.op_count = args->op_count,
		.op_stride = args->op_stride,
	};
	struct trn_user *user = NULL;
	struct trn_queue *q;
	int ret;

	if (args->flags & ~TRAINIUM_LIST_F_USER || args->list || args->pad || !args->op_count)
		return -EINVAL;
	if (!(args->flags & TRAINIUM_LIST_F_USER) && !trn_completion_is_zero(&args->completion))
		return -EINVAL;
	ret = trn_queue_check_place(tdev, args->stack, args->priority) ?: trn_submit_check(&submit);
	if (ret)
		return ret;
	if (args->flags & TRAINIUM_LIST_F_USER) {
		user = trn_user_new(tdev, file, &args->completion);
		if (IS_ERR(user))
			return PTR_ERR(user);
	}
	q = trn_file_new_queue(file->driver_priv, 1, args->stack, args->priority, user);
	if (IS_ERR(q))
		return PTR_ERR(q);

	/* Whoever guesses its id can end it as soon as the file has it. */
	kref_get(&q->ref);
	ret = trn_list_new(q, file, &submit, &args->descs);
	if (!ret)
		ret = trn_file_add_queue(file->driver_priv, q);
	if (ret) {
		trn_queue_close(q, false);
		trn_queue_put(q);
	} else {
		args->list = q->id;
	}
	trn_queue_put(q);
	return ret;
}

/* Starting it */

static void trn_list_set_id(struct trn_desc *desc, u64 ring_id)
{
	u64 ctrl = le64_to_cpu(desc->ctrl) & ~(u64)TRN_DESC_RING_ID_MASK;

	desc->ctrl = cpu_to_le64(ctrl | ring_id);
}

/* Makes the next unit that of the next submit. Return: the number of its marker. */
static u64 trn_list_next(struct trn_list *list, struct trn_ring *ring, u64 seqno, bool irq)
{
	u32 end, i;
	u64 id;

	if (list->starts != ring->starts) {
		list->starts = ring->starts;
		list->next = 0;
		list->ring_id = TRN_UDMA_Q_FIRST_RING_ID;
	}
	end = list->next + list->unit;
	id = (u64)list->ring_id << TRN_DESC_RING_ID_SHIFT;
	for (i = list->next; i < end; i++) {
		trn_list_set_id(&ring->m2s[i], id);
		trn_list_set_id(&ring->s2m[i], id);
	}
	if (irq)
		ring->s2m[end - 1].ctrl |= cpu_to_le64(TRN_DESC_INT);
	else
		ring->s2m[end - 1].ctrl &= ~cpu_to_le64(TRN_DESC_INT);
	ring->marker[end - 1] = cpu_to_le64(++ring->last);
	if (list->tells)
		ring->marker[list->next + list->descs - 1] = cpu_to_le64(seqno);
	ring->head += list->unit;
	ring->marker_end[ring->last & ring->mask] = ring->head;

	list->next = end;
	if (end == ring->len) {
		list->next = 0;
		list->ring_id = (list->ring_id + 1) & TRN_UDMA_RING_ID_MASK;
	}
	return ring->last;
}

/* Nobody would wait for the fences of a buffer that was shared meanwhile. */
static bool trn_list_is_shared(struct trn_list *list, struct trn_device *tdev)
{
	u64 count = atomic64_read_acquire(&tdev->share_count);
	u32 i;

	if (likely(list->share_count == count))
		return false;
	for (i = 0; i < list->refs.num; i++)
		if (READ_ONCE(list->refs.list[i]->flags) & TRN_BO_F_SHARED ||
		    READ_ONCE(list->refs.list[i]->revoked))
			return true;
	list->share_count = count;
	return false;
}

static int trn_list_start(struct trn_submit *s)
{
	struct trn_queue *q = s->q;
	struct trn_list *list = q->list;
	struct trn_ring *ring = q->ring[0];
	bool small, irq, reached;
	struct trn_slot *slot;

	if (unlikely(list->spent))
		return -ENOENT;
	if (unlikely(trn_user_error(q)))
		return trn_user_error(q);
	if (trn_list_is_shared(list, q->tdev))
		return -EOPNOTSUPP;
	/* Pairs with trn_queue_reap_locked(): @completed is up to date. */
	if (smp_load_acquire(&q->busy))
		trn_queue_reap(q);
	if (unlikely(!trn_queue_has_slot(q)))
		return TRN_SUBMIT_FULL;

	s->seqno = q->submitted + 1;
	s->bytes = list->bytes;
	s->barriers = true;
	trace_trn_submit(q->tdev, q->id, s->seqno, list->num_ops, s->bytes);
	small = list->unit <= TRN_INLINE_DESCS && s->bytes <= TRN_INLINE_BYTES && !q->busy;
	/* The end of what may wait is not looked for, but told. */
	irq = !small || !q->inline_done || q->user;
	slot = trn_slot(q, s->seqno);
	slot->first[0] = ring->rung;
	slot->marker[0] = trn_list_next(list, ring, s->seqno, irq);
	trace_trn_list(q->tdev, q->id, s->seqno, 2 * list->unit, irq);
	atomic64_add(s->bytes, &ring->engine->bytes);
	trn_ring_kick(ring);
	reached = trn_ring_done(ring) >= slot->marker[0];
	if (small)
		q->inline_done = reached;
	if (reached && !q->busy) {
		trn_submit_ended(s);
		if (q->user)
			trn_user_tell(q);
		return 0;
	}

	trn_submit_slot(s);
	spin_lock_irq(&q->fc->lock);
	slot->rings = 1;
	q->busy = 1;
	trn_queue_begin(q, s->seqno);
	q->submitted = s->seqno;
	WRITE_ONCE(q->started, s->seqno);
	spin_unlock_irq(&q->fc->lock);

	/* There is no room for a marker that makes good for it. */
	if (!irq)
		mod_timer(&q->poll, jiffies + 1);
	trn_queue_watch(q);
	trn_queue_reap(q);
	return 0;
}

static int trn_list_try(struct trn_submit *s)
{
	bool cookie;
	int idx, ret;

	/* Outside of all locks, as the workers do it */
	cookie = dma_fence_begin_signalling();
	ret = trn_queue_lock(s->q, &idx);
	if (!ret) {
		ret = trn_list_start(s);
		trn_queue_unlock(s->q, idx);
	}
	dma_fence_end_signalling(cookie);
	return ret;
}

/**
 * trn_ioctl_list_submit - DRM_IOCTL_TRAINIUM_LIST_SUBMIT
 * @drm: device
 * @data: struct drm_trainium_submit
 * @file: caller
 */
int trn_ioctl_list_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_submit *args = data;
	struct trn_submit s __uninitialized;
	struct trn_queue *q;
	int ret;

	if (args->flags & ~TRAINIUM_SUBMIT_WAIT || args->pad || args->ops || args->op_count ||
	    args->op_stride || args->in_syncs || args->in_sync_count ||
	    args->out_sync_count > TRN_MAX_SYNCS ||
	    (args->deadline_ns && !(args->flags & TRAINIUM_SUBMIT_WAIT)))
		return -EINVAL;
	q = trn_queue_find(file->driver_priv, args->queue);
	if (!q)
		return -ENOENT;
	ret = !q->list ? -ENOENT : q->user && args->out_sync_count ? -EINVAL : 0;
	if (ret) {
		trn_queue_put(q);
		return ret;
	}

	trn_submit_init(&s, q, file, args);
	ret = args->out_sync_count ? trn_submit_out(&s) : 0;
	while (!ret) {
		ret = trn_list_try(&s);
		if (ret != TRN_SUBMIT_FULL)
			break;
		ret = trn_submit_wait_slot(&s);
	}
	if (!ret)
		ret = trn_submit_finish(&s, args);
	if (args->out_sync_count)
		trn_submit_free_syncs(&s);
	if (READ_ONCE(q->released) != READ_ONCE(q->completed))
		trn_queue_release(q);
	trn_queue_put(q);
	return ret;
}

/* Its end */

/**
 * trn_list_forget_bo - a handle of a buffer was closed
 * @q: queue of a list, its lock is held
 * @bo: the buffer
 */
void trn_list_forget_bo(struct trn_queue *q, const struct trn_bo *bo)
{
	struct trn_list *list = q->list;
	u32 i;

	for (i = 0; i < list->refs.num; i++)
		list->spent |= list->refs.list[i] == bo;
	if (!list->spent)
		return;
	spin_lock_irq(&q->fc->lock);
	if (!q->dead)
		queue_work(q->tdev->wq, &q->work);
	spin_unlock_irq(&q->fc->lock);
}

/**
 * trn_list_release - let go of the buffers of a list that will not run any more
 * @q: queue of the list; no lock is held
 */
void trn_list_release(struct trn_queue *q)
{
	struct trn_refs refs;

	trn_refs_init(&refs);
	mutex_lock(&q->lock);
	if (q->list && q->list->spent && !q->frozen && q->completed == q->submitted)
		trn_refs_move(&refs, &q->list->refs);
	mutex_unlock(&q->lock);
	trn_refs_put(&refs);
}

/**
 * trn_list_free - free a list
 * @q: queue whose ring is gone
 */
void trn_list_free(struct trn_queue *q)
{
	struct trn_list *list;

	mutex_lock(&q->lock);
	list = q->list;
	q->list = NULL;
	mutex_unlock(&q->lock);
	if (!list)
		return;
	trn_refs_put(&list->refs);
	kfree(list);
}
