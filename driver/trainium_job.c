// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs on their way through a queue: fences, starting, feeding, completing
 * and letting go of what they used.
 */
#include <linux/dma-fence-chain.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "trainium_emit.h"
#include "trainium_user.h"

/* Timer ticks between two looks at the rings when there are no interrupts */
#define TRN_POLL_TICKS		1

/* Fences */

static const char *trn_fence_driver_name(struct dma_fence *fence)
{
	return "trainium";
}

static const char *trn_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct trn_fence, base)->ctx->name;
}

static void trn_fence_free_rcu(struct rcu_head *rcu)
{
	struct trn_fence *fence = container_of(rcu, struct trn_fence, base.rcu);

	trn_fence_ctx_put(fence->ctx);
	kfree(fence);
	module_put(THIS_MODULE);
}

static void trn_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, trn_fence_free_rcu);
}

static const struct dma_fence_ops trn_fence_ops = {
	.get_driver_name = trn_fence_driver_name,
	.get_timeline_name = trn_fence_timeline_name,
	.release = trn_fence_release,
};

/**
 * trn_fence_ctx_new - what the fences of a queue share
 * @name: shown to users of the fences
 *
 * Return: the context, or NULL without memory.
 */
struct trn_fence_ctx *trn_fence_ctx_new(const char *name)
{
	struct trn_fence_ctx *fc = kzalloc(sizeof(*fc), GFP_KERNEL);

	if (!fc)
		return NULL;
	kref_init(&fc->ref);
	spin_lock_init(&fc->lock);
	fc->context = dma_fence_context_alloc(1);
	strscpy(fc->name, name, sizeof(fc->name));
	return fc;
}

static void trn_fence_ctx_free(struct kref *ref)
{
	kfree(container_of(ref, struct trn_fence_ctx, ref));
}

/**
 * trn_fence_ctx_put - drop a reference
 * @fc: the context
 */
void trn_fence_ctx_put(struct trn_fence_ctx *fc)
{
	kref_put(&fc->ref, trn_fence_ctx_free);
}

/**
 * trn_fence_alloc - memory for the fence of a job
 * @q: queue of the job
 *
 * A fence may outlive its queue and its device, and its operations are here:
 * it holds the module. Module exit waits for the callbacks that let go of it.
 *
 * Return: a fence for trn_fence_init() or trn_fence_drop(), or NULL.
 */
struct trn_fence *trn_fence_alloc(struct trn_queue *q)
{
	struct trn_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	fence->ctx = q->fc;
	kref_get(&q->fc->ref);
	__module_get(THIS_MODULE);
	return fence;
}

/**
 * trn_fence_drop - free a fence that was not initialised
 * @fence: the fence
 */
void trn_fence_drop(struct trn_fence *fence)
{
	trn_fence_ctx_put(fence->ctx);
	kfree(fence);
	module_put(THIS_MODULE);
}

/**
 * trn_fence_init - make it the fence of a job
 * @fence: from trn_fence_alloc()
 * @q: queue
 * @seqno: the job
 */
void trn_fence_init(struct trn_fence *fence, struct trn_queue *q, u64 seqno)
{
	dma_fence_init(&fence->base, &trn_fence_ops, &q->fc->lock, q->fc->context, seqno);
}

/**
 * trn_job_fence - the fence of a job that may be in flight
 * @q: queue
 * @seqno: the job
 *
 * It is given one if it was submitted without.
 *
 * Return: the fence, with a reference; NULL if the job has ended; or an ERR_PTR.
 */
struct dma_fence *trn_job_fence(struct trn_queue *q, u64 seqno)
{
	struct trn_fence *new = trn_fence_alloc(q);
	struct dma_fence *fence = NULL;
	struct trn_slot *slot;

	if (!new)
		return ERR_PTR(-ENOMEM);
	spin_lock_irq(&q->fc->lock);
	if (q->completed < seqno) {
		slot = trn_slot(q, seqno);
		if (!slot->fence) {
			trn_fence_init(new, q, seqno);
			slot->fence = new;
			new = NULL;
		}
		fence = dma_fence_get(&slot->fence->base);
	}
	spin_unlock_irq(&q->fc->lock);
	if (new)
		trn_fence_drop(new);
	return fence;
}

/* References to buffers */

/**
 * trn_refs_move - hand references over
 * @to: not in use
 * @from: is empty after
 */
void trn_refs_move(struct trn_refs *to, struct trn_refs *from)
{
	*to = *from;
	if (from->list == from->few)
		to->list = to->few;
	trn_refs_init(from);
}

/**
 * trn_refs_put - drop references
 * @refs: is empty after; no lock is held
 */
void trn_refs_put(struct trn_refs *refs)
{
	u32 i;

	for (i = 0; i < refs->num; i++)
		trn_bo_put(refs->list[i]);
	if (refs->list != refs->few)
		kvfree(refs->list);
	trn_refs_init(refs);
}

/**
 * trn_refs_grow - make room for more references
 * @refs: full; no lock is held
 *
 * Return: 0 or -ENOMEM.
 */
int trn_refs_grow(struct trn_refs *refs)
{
	u32 max = refs->max * 4;
	struct trn_bo **list;

	list = kvmalloc_array(max, sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return -ENOMEM;
	memcpy(list, refs->list, refs->num * sizeof(*list));
	if (refs->list != refs->few)
		kvfree(refs->list);
	refs->list = list;
	refs->max = max;
	return 0;
}

/**
 * trn_job_new - a job that carries its ops
 * @q: queue
 * @num_ops: room for so many, 0 for none
 *
 * Return: the job, or NULL without memory.
 */
struct trn_job *trn_job_new(struct trn_queue *q, u32 num_ops)
{
	struct trn_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);

	if (!job)
		return NULL;
	job->queue = q;
	job->num_ops = num_ops;
	atomic_set(&job->deps_left, 1);
	if (num_ops) {
		job->ops = kvmalloc_array(num_ops, sizeof(*job->ops), GFP_KERNEL_ACCOUNT);
		if (!job->ops) {
			kfree(job);
			return NULL;
		}
	}
	return job;
}

/**
 * trn_job_free - free a job
 * @job: ended or never queued, or NULL
 */
void trn_job_free(struct trn_job *job)
{
	u32 i;

	if (!job)
		return;
	for (i = 0; i < job->num_deps; i++)
		dma_fence_put(job->deps[i].fence);
	kvfree(job->deps);
	kvfree(job->strides);
	kvfree(job->ops);
	kfree(job);
}

static void trn_job_dep_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct trn_job_dep *dep = container_of(cb, struct trn_job_dep, cb);
	struct trn_job *job = dep->job;
	struct trn_queue *q = job->queue;

	if (atomic_dec_and_test(&job->deps_left))
		queue_work(q->tdev->wq, &q->work);
	/* Job and queue may be gone after this. */
	atomic_fetch_dec_release(&job->callbacks);
}

/**
 * trn_job_add_deps - wait for the fences of a job
 * @job: job that is submitted; the queue's lock is held
 */
void trn_job_add_deps(struct trn_job *job)
{
	u32 i;

	for (i = 0; i < job->num_deps; i++) {
		struct trn_job_dep *dep = &job->deps[i];

		dep->job = job;
		atomic_inc(&job->callbacks);
		atomic_inc(&job->deps_left);
		if (dma_fence_add_callback(dep->fence, &dep->cb, trn_job_dep_cb)) {
			dep->job = NULL;
			atomic_dec(&job->deps_left);
			atomic_dec(&job->callbacks);
		}
	}
	atomic_dec(&job->deps_left);
}

/**
 * trn_job_cancel_deps - do not wait for fences any more
 * @job: job that is not started; the queue's lock is held
 */
void trn_job_cancel_deps(struct trn_job *job)
{
	u32 i;

	for (i = 0; i < job->num_deps; i++) {
		struct trn_job_dep *dep = &job->deps[i];

		if (dep->job && dma_fence_remove_callback(dep->fence, &dep->cb)) {
			atomic_dec(&job->deps_left);
			atomic_dec(&job->callbacks);
		}
	}
}

/* Completion. fc->lock is held, and interrupts are off. */

static bool trn_slot_reached(const struct trn_queue *q, const struct trn_slot *slot)
{
	unsigned long rings = slot->rings;
	unsigned int r;

	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		if (trn_ring_done(q->ring[r]) < slot->marker[r])
			return false;
	return true;
}

static void trn_slot_complete(struct trn_queue *q, struct trn_slot *slot)
{
	struct trn_fence *fence = slot->fence;

	if (unlikely(slot->error)) {
		q->failed++;
		q->error = -slot->error;
		q->reason = slot->reason;
		if (!slot->waiters) {
			q->late_error = slot->error;
			q->late_seqno = slot->seqno;
		}
		if (q->user)
			trn_user_lost(q, slot->error);
	}
	WRITE_ONCE(q->completed, slot->seqno);
	trace_trn_complete(q->tdev, q->id, slot->seqno, slot->error);
	if (fence) {
		slot->fence = NULL;
		if (slot->error)
			dma_fence_set_error(&fence->base, slot->error);
		dma_fence_signal_locked(&fence->base);
		dma_fence_put(&fence->base);
	}
}

/**
 * trn_queue_set_busy - which rings jobs in flight use
 * @q: the queue; fc->lock is held
 * @busy: bit r for ring r of the queue
 */
void trn_queue_set_busy(struct trn_queue *q, u32 busy)
{
	unsigned long changed = q->busy ^ busy;
	u64 now = changed ? ktime_get_ns() : 0;
	unsigned int r;

	lockdep_assert_held(&q->fc->lock);
	for_each_set_bit(r, &changed, TRN_QUEUE_MAX_RINGS)
		trn_engine_busy(q->ring[r]->engine, busy & BIT(r), now);
	/* Pairs with trn_submit_direct_can(). */
	smp_store_release(&q->busy, busy);
}

/* @synced: buffers of the next job need no syncing, or had it */
static bool trn_queue_reap_locked(struct trn_queue *q, bool synced)
{
	/* Pairs with a job that is counted without the lock, @completed first. */
	u64 started = smp_load_acquire(&q->started);
	bool progress = false;

	lockdep_assert_held(&q->fc->lock);
	while (q->completed < started) {
		struct trn_slot *slot = trn_slot(q, q->completed + 1);

		if (slot->unwritten || !trn_slot_reached(q, slot))
			break;
		if (unlikely(slot->sync) && !slot->error && !synced)
			break;
		synced = false;
		trn_slot_complete(q, slot);
		progress = true;
	}
	if (progress && unlikely(q->user))
		trn_user_tell(q);
	if (progress && q->completed == started) {
		if (q->busy_since) {
			u64 ns = ktime_get_ns() - q->busy_since;
			struct trn_slot *slot = trn_slot(q, started);

			if (q->busy_first == started && !slot->error)
				trn_wait_learn(q, slot->bytes, ns);
			q->busy_ns += ns;
			q->busy_since = 0;
		}
		trn_queue_set_busy(q, 0);
	}
	return progress;
}

/* Is there something that wants a process to do it? */
static bool trn_queue_wants_work(struct trn_queue *q)
{
	if (q->dead)
		return false;
	if (q->started < q->submitted || q->closing)
		return true;
	if (q->completed < q->started &&
	    (trn_slot(q, q->completed + 1)->sync || trn_slot(q, q->started)->unwritten))
		return true;
	/* A waiter lets go of all that has completed. */
	return q->released != q->completed && !trn_slot(q, q->completed)->waiters;
}

/**
 * trn_queue_reap - complete the jobs that have ended
 * @q: the queue; any context
 *
 * Signals fences and wakes waiters. What needs a process is left to the
 * worker, which is started.
 *
 * Return: some job has completed.
 */
bool trn_queue_reap(struct trn_queue *q)
{
	unsigned long flags;
	bool progress;

	spin_lock_irqsave(&q->fc->lock, flags);
	progress = trn_queue_reap_locked(q, false);
	if (trn_queue_wants_work(q))
		queue_work(q->tdev->wq, &q->work);
	spin_unlock_irqrestore(&q->fc->lock, flags);

	if (progress && wq_has_sleeper(&q->wait))
		wake_up_all(&q->wait);
	return progress;
}

/**
 * trn_queue_ring_done - a marker that interrupts was reached
 * @ring: on this ring; hard interrupt, trn_engine.irq_lock is held
 */
void trn_queue_ring_done(struct trn_ring *ring)
{
	trn_queue_reap(ring->queue);
}

/* Completes a job whose buffers the CPU's view has to be made right of. */
static void trn_queue_reap_synced(struct trn_queue *q)
{
	struct trn_slot *slot;
	bool reached;
	u32 i;

	for (;;) {
		spin_lock_irq(&q->fc->lock);
		trn_queue_reap_locked(q, false);
		slot = trn_slot(q, q->completed + 1);
		reached = q->completed != q->started && slot->sync &&
			  !slot->unwritten && trn_slot_reached(q, slot);
		spin_unlock_irq(&q->fc->lock);
		if (!reached)
			break;

		/* Nobody else completes it or lets go of its buffers. */
		for (i = 0; i < slot->refs.num; i++)
			if (slot->refs.list[i]->flags & TRN_BO_F_SYNC)
				trn_bo_sync_for_cpu(slot->refs.list[i]);

		spin_lock_irq(&q->fc->lock);
		trn_queue_reap_locked(q, true);
		spin_unlock_irq(&q->fc->lock);
	}
	if (wq_has_sleeper(&q->wait))
		wake_up_all(&q->wait);
}

/* Starting and feeding. The queue's lock and reset_lock are held. */

/* All that the job has written so far has ended. */
static bool trn_job_caught_up(struct trn_queue *q, const struct trn_emit *e)
{
	unsigned long rings = e->used;
	unsigned int r;

	if (e->written)
		return false;
	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		if (trn_ring_done(q->ring[r]) < q->ring[r]->last)
			return false;
	return true;
}

/*
 * Writes as much of a job as fits. What is left is written when the interrupt
 * of one of the markers comes.
 */
static void trn_job_feed(struct trn_queue *q, struct trn_slot *slot)
{
	u64 marker[TRN_QUEUE_MAX_RINGS] __uninitialized;
	struct trn_job *job = slot->job;
	unsigned long rings;
	struct trn_emit e;
	unsigned int r;

	trn_emit_init(&e, q, slot->seqno);
	e.spread = job->spread;
	e.feed = true;
	e.used = slot->rings;
	trn_emit_ring(&e, job->ring);

	while (job->op < job->num_ops) {
		struct trn_job_op *op = &job->ops[job->op];

		if ((op->flags & TRAINIUM_OP_F_BARRIER) && !job->done && job->op) {
			if (!job->spread)
				e.flags = TRN_RING_DMB;
			else if (!trn_job_caught_up(q, &e))
				break;
		}
		if (!trn_emit_op(&e, op, &job->done))
			break;
		job->op++;
		job->done = 0;
	}
	trn_emit_count(&e);
	job->ring = e.cur;

	rings = e.written;
	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		marker[r] = trn_ring_marker(q->ring[r], true);

	spin_lock_irq(&q->fc->lock);
	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS) {
		slot->marker[r] = marker[r];
		if (!(slot->rings & BIT(r)))
			slot->first[r] = q->ring[r]->rung;
	}
	slot->rings |= e.written;
	slot->unwritten = job->op < job->num_ops;
	job->in_parts |= slot->unwritten;
	trn_queue_set_busy(q, q->busy | e.written);
	q->quiet &= ~e.written;
	spin_unlock_irq(&q->fc->lock);

	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		trn_ring_kick(q->ring[r]);
}

static bool trn_job_can_start(struct trn_queue *q, struct trn_slot *slot)
{
	struct trn_job *job = slot->job;

	if (job && atomic_read(&job->deps_left))
		return false;
	/* The callback of the last fence is about to return. */
	while (job && atomic_read_acquire(&job->callbacks))
		cpu_relax();
	if (slot->error || !job->num_ops)
		return true;
	/* If it has to be written again, nothing must be behind it. */
	if (q->busy && trn_queue_last_in_parts(q))
		return false;
	/* Jobs on several rings would not keep their order. */
	return job->spread ? !q->busy : !(q->busy & ~1u);
}

static int trn_job_dep_error(struct trn_job *job)
{
	u32 i;

	for (i = 0; i < job->num_in; i++) {
		/* Of a point on a timeline, the fence of that point counts. */
		struct dma_fence *fence = dma_fence_chain_contained(job->deps[i].fence);

		if (dma_fence_is_signaled(fence) && fence->error)
			return -ECANCELED;
	}
	return 0;
}

static void trn_job_start(struct trn_queue *q, struct trn_slot *slot)
{
	struct trn_job *job = slot->job;
	u32 i;

	if (job && !slot->error) {
		slot->error = trn_job_dep_error(job);
		if (slot->error)
			slot->reason = TRAINIUM_REASON_DEPENDENCY;
	}
	if (slot->sync && !slot->error)
		for (i = 0; i < slot->refs.num; i++)
			if (slot->refs.list[i]->flags & TRN_BO_F_SYNC)
				trn_bo_sync_for_device(slot->refs.list[i]);

	spin_lock_irq(&q->fc->lock);
	slot->unwritten = !slot->error && job->num_ops;
	if (slot->unwritten)
		trn_queue_begin(q, slot->seqno);
	WRITE_ONCE(q->started, slot->seqno);
	spin_unlock_irq(&q->fc->lock);
}

/**
 * trn_queue_advance - start and feed what can be
 * @q: the queue; its lock and reset_lock are held, under drm_dev_enter()
 */
void trn_queue_advance(struct trn_queue *q)
{
	lockdep_assert_held(&q->lock);

	for (;;) {
		struct trn_slot *slot = trn_slot(q, q->started);

		trn_queue_reap_synced(q);
		if (q->started && slot->unwritten && q->completed != q->started) {
			trn_job_feed(q, slot);
			if (slot->unwritten)
				break;
		}
		if (q->started == q->submitted)
			break;
		slot = trn_slot(q, q->started + 1);
		if (!trn_job_can_start(q, slot))
			break;
		trn_job_start(q, slot);
	}
	trn_queue_reap_synced(q);
	if (q->started != q->submitted)
		trn_queue_request_irq(q);
	if (q->completed != q->started)
		trn_queue_watch(q);
}

/**
 * trn_queue_request_irq - make sure that the end of all in flight interrupts
 * @q: the queue; its lock is held, and the device is not held
 */
void trn_queue_request_irq(struct trn_queue *q)
{
	unsigned long rings = q->quiet & q->busy;
	unsigned int r;

	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS) {
		/* Room for it was left. */
		trn_ring_marker(q->ring[r], true);
		trn_ring_kick(q->ring[r]);
		q->quiet &= ~BIT(r);
	}
}

/**
 * trn_queue_watch - jobs are in flight: see to it that they end
 * @q: the queue, its lock is held
 */
void trn_queue_watch(struct trn_queue *q)
{
	if (!q->watching) {
		q->watching = true;
		q->watched_at = jiffies;
		queue_delayed_work(q->tdev->reset_wq, &q->watchdog, trn_watchdog_period());
	}
	if (!q->tdev->num_vectors && !timer_pending(&q->poll))
		mod_timer(&q->poll, jiffies + TRN_POLL_TICKS);
}

/**
 * trn_queue_poll - look after the rings without interrupts
 * @timer: of the queue
 */
void trn_queue_poll(struct timer_list *timer)
{
	struct trn_queue *q = container_of(timer, struct trn_queue, poll);

	trn_queue_reap(q);
	if (READ_ONCE(q->completed) != READ_ONCE(q->started))
		mod_timer(timer, jiffies + TRN_POLL_TICKS);
}

/**
 * trn_queue_release - let go of what completed jobs used
 * @q: the queue; no lock is held, it may sleep
 */
void trn_queue_release(struct trn_queue *q)
{
	struct trn_refs refs;
	struct trn_slot *slot;
	struct trn_job *job;
	bool more;

	trn_refs_init(&refs);
	for (;;) {
		mutex_lock(&q->lock);
		more = !q->frozen && q->released != READ_ONCE(q->completed);
		if (more) {
			slot = trn_slot(q, q->released + 1);
			trn_refs_move(&refs, &slot->refs);
			job = slot->job;
			slot->job = NULL;
			/* A waiter still reads how its job has ended. */
			more = !READ_ONCE(slot->waiters);
			if (more)
				WRITE_ONCE(q->released, q->released + 1);
		} else {
			job = NULL;
		}
		mutex_unlock(&q->lock);

		trn_job_free(job);
		trn_refs_put(&refs);
		if (!more)
			break;
	}
	if (unlikely(q->list))
		trn_list_release(q);
	if (wq_has_sleeper(&q->wait))
		wake_up_all(&q->wait);
}

/**
 * trn_queue_work - what the interrupt leaves to a process
 * @work: of the queue
 */
void trn_queue_work(struct work_struct *work)
{
	struct trn_queue *q = container_of(work, struct trn_queue, work);
	struct trn_device *tdev = q->tdev;
	bool end, cookie;
	int idx;

	cookie = dma_fence_begin_signalling();
	if (drm_dev_enter(q->drm, &idx)) {
		down_read(&tdev->reset_lock);
		mutex_lock(&q->lock);
		if (unlikely(q->killed))
			trn_queue_drop_started(q);
		trn_queue_advance(q);
		mutex_unlock(&q->lock);
		up_read(&tdev->reset_lock);
		drm_dev_exit(idx);
	}
	dma_fence_end_signalling(cookie);

	trn_queue_release(q);

	mutex_lock(&q->lock);
	end = q->closing && !q->ended && q->completed == q->submitted;
	q->ended |= end;
	mutex_unlock(&q->lock);
	if (end)
		queue_work(tdev->wq, &q->teardown);
}
