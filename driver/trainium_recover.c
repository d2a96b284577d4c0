// SPDX-License-Identifier: GPL-2.0-only
/*
 * When work does not end: timeouts, errors of engines, resets of the device.
 *
 * All of it holds reset_lock for write, so no queue runs and no job is
 * submitted. The job that is to blame fails with -EIO, others that were in
 * the rings with -ECANCELED. What has not started runs afterwards.
 */
#include <linux/moduleparam.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "trainium_emit.h"

unsigned int trn_job_timeout_ms = 2000;
module_param_named(job_timeout_ms, trn_job_timeout_ms, uint, 0444);
MODULE_PARM_DESC(job_timeout_ms,
		 "Time without progress after which a job fails, in ms (default 2000)");

/* Grows whenever the queue gets anywhere. */
static u64 trn_queue_progress(const struct trn_queue *q)
{
	u64 sum = q->completed;
	u32 i;

	for (i = 0; i < q->num_rings; i++)
		sum += trn_ring_done(q->ring[i]);
	return sum;
}

/* Ends the jobs in flight, of which the first may have got its error before. */
static void trn_queue_fail_started(struct trn_queue *q, int err, u32 reason)
{
	u64 seqno;

	spin_lock_irq(&q->fc->lock);
	for (seqno = q->completed + 1; seqno <= q->started; seqno++) {
		struct trn_slot *slot = trn_slot(q, seqno);

		if (!slot->error) {
			slot->error = err;
			slot->reason = reason;
		}
		slot->rings = 0;
		slot->unwritten = false;
	}
	q->busy = 0;
	q->quiet = 0;
	spin_unlock_irq(&q->fc->lock);
	trn_queue_reap(q);
}

/* An engine was reset with rings of the queue on it. */
static void trn_queue_recover(struct trn_queue *q)
{
	unsigned long rings;
	unsigned int r;

	mutex_lock(&q->lock);
	trn_queue_reap(q);
	/* Of its other rings, what is in flight belongs to jobs that fail. */
	rings = xchg(&q->lost, 0) | q->busy;
	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
		if (r < q->num_rings)
			trn_ring_reset(q->ring[r]);
	trn_queue_fail_started(q, -ECANCELED, TRAINIUM_REASON_RESET);
	mutex_unlock(&q->lock);
	if (!q->dead)
		queue_work(q->tdev->wq, &q->work);
}

/**
 * trn_queues_recover - start the rings anew that resets of engines stopped
 * @tdev: device; reset_lock is held for write
 */
void trn_queues_recover(struct trn_device *tdev)
{
	struct trn_queue *q;

	lockdep_assert_held_write(&tdev->reset_lock);
	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link)
		if (READ_ONCE(q->lost))
			trn_queue_recover(q);
	mutex_unlock(&tdev->queues_lock);
}

/* Resets engines, and tells the queues that have rings there. */
static void trn_recover(struct trn_device *tdev, unsigned long *engines)
{
	unsigned int i;

	lockdep_assert_held_write(&tdev->reset_lock);
	for_each_set_bit(i, engines, tdev->hw->num_engines) {
		int ret = trn_engine_recover(&tdev->engines[i]);

		trace_trn_reset(tdev, "engine", i, "recovery", ret);
		if (ret) {
			drm_err(&tdev->drm, "engine %u does not recover (error %d), resetting the device\n",
				i, ret);
			trn_device_schedule_reset(tdev);
		}
	}
	trn_queues_recover(tdev);
}

/**
 * trn_queue_ring_lost - an engine was reset, and with it this ring
 * @ring: the ring; trn_engine.lock is held
 */
void trn_queue_ring_lost(struct trn_ring *ring)
{
	struct trn_queue *q = ring->queue;
	u32 i;

	for (i = 0; i < q->num_rings; i++)
		if (q->ring[i] == ring)
			set_bit(i, &q->lost);
}

/*
 * The oldest job in flight has to answer for it. Collects the engines on which
 * it is stuck. The queue's lock is held.
 */
static void trn_queue_blame(struct trn_queue *q, unsigned long *engines)
{
	struct trn_slot *slot = trn_slot(q, q->completed + 1);
	u32 reason = TRAINIUM_REASON_TIMEOUT;
	unsigned long rings = slot->rings;
	struct trn_engine *engine = NULL;
	u64 cause = 0;
	unsigned int r;

	for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS) {
		struct trn_ring *ring = q->ring[r];

		if (trn_ring_done(ring) >= slot->marker[r])
			continue;
		__set_bit(ring->engine->id, engines);
		if (!engine)
			engine = ring->engine;
		if (reason == TRAINIUM_REASON_TIMEOUT && trn_engine_aborted(ring->engine, &cause)) {
			engine = ring->engine;
			reason = TRAINIUM_REASON_ABORT;
		}
	}
	if (!engine)
		return;

	drm_err(&q->tdev->drm,
		"queue %u: job %llu %s on engine %u (causes m2s %#x, s2m %#x)\n",
		q->id, slot->seqno,
		reason == TRAINIUM_REASON_ABORT ? "was aborted" : "makes no progress",
		engine->id, lower_32_bits(cause), upper_32_bits(cause));
	trace_trn_engine_error(q->tdev, engine->id, cause);

	spin_lock_irq(&q->fc->lock);
	slot->error = -EIO;
	slot->reason = reason;
	q->error_engine = engine->id;
	q->error_cause = lower_32_bits(cause) ?: upper_32_bits(cause);
	spin_unlock_irq(&q->fc->lock);
}

static void trn_queue_timeout(struct trn_queue *q)
{
	DECLARE_BITMAP(engines, TRN_MAX_ENGINES) = { };
	struct trn_device *tdev = q->tdev;
	bool cookie;
	int idx;

	if (!drm_dev_enter(q->drm, &idx))
		return;
	cookie = dma_fence_begin_signalling();
	down_write(&tdev->reset_lock);
	/* Nobody is to blame then; the reset tells all jobs. */
	if (trn_device_gone(tdev)) {
		trn_device_schedule_reset(tdev);
		goto unlock;
	}

	mutex_lock(&q->lock);
	trn_queue_reap(q);
	if (q->completed != q->started && trn_queue_progress(q) == q->watched)
		trn_queue_blame(q, engines);
	q->watched_at = jiffies;
	mutex_unlock(&q->lock);
	trn_recover(tdev, engines);
unlock:
	up_write(&tdev->reset_lock);
	dma_fence_end_signalling(cookie);
	drm_dev_exit(idx);
}

/**
 * trn_queue_watchdog - does the queue make progress?
 * @work: of the queue
 */
void trn_queue_watchdog(struct work_struct *work)
{
	struct trn_queue *q = container_of(work, struct trn_queue, watchdog.work);
	unsigned long limit = msecs_to_jiffies(trn_job_timeout_ms);
	bool idle, stuck;
	u64 progress;

	/* An interrupt may have been lost. */
	trn_queue_reap(q);

	mutex_lock(&q->lock);
	progress = trn_queue_progress(q);
	if (progress != q->watched) {
		q->watched = progress;
		q->watched_at = jiffies;
	}
	idle = q->completed == q->started;
	stuck = !idle && time_after_eq(jiffies, q->watched_at + limit);
	mutex_unlock(&q->lock);

	if (stuck)
		trn_queue_timeout(q);
	if (!idle)
		queue_delayed_work(q->tdev->reset_wq, &q->watchdog, limit / 4 + 1);
}

/**
 * trn_queue_engine_error - an engine reports an error
 * @engine: the engine; hard interrupt
 */
void trn_queue_engine_error(struct trn_engine *engine)
{
	struct trn_device *tdev = engine->tdev;

	set_bit(engine->id, tdev->recover_engines);
	queue_work(tdev->reset_wq, &tdev->recover_work);
}

/* The oldest unfinished job of each queue on an engine that was aborted. */
static void trn_recover_engine(struct trn_device *tdev, struct trn_engine *engine)
{
	DECLARE_BITMAP(engines, TRN_MAX_ENGINES) = { };
	struct trn_queue *q;
	u64 cause = 0;

	if (!trn_engine_aborted(engine, &cause)) {
		dev_warn_ratelimited(tdev->drm.dev, "engine %u reports an error and goes on\n",
				     engine->id);
		return;
	}
	__set_bit(engine->id, engines);

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		unsigned long rings;
		unsigned int r;

		mutex_lock(&q->lock);
		trn_queue_reap(q);
		rings = q->completed == q->started ? 0 : trn_slot(q, q->completed + 1)->rings;
		for_each_set_bit(r, &rings, TRN_QUEUE_MAX_RINGS)
			if (q->ring[r]->engine == engine)
				break;
		if (r < TRN_QUEUE_MAX_RINGS)
			trn_queue_blame(q, engines);
		mutex_unlock(&q->lock);
	}
	mutex_unlock(&tdev->queues_lock);
	trn_recover(tdev, engines);
}

/**
 * trn_recover_work - bring engines back that reported an error
 * @work: of the device
 */
void trn_recover_work(struct work_struct *work)
{
	struct trn_device *tdev = container_of(work, struct trn_device, recover_work);
	bool cookie;
	int i, idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	cookie = dma_fence_begin_signalling();
	down_write(&tdev->reset_lock);
	for (i = 0; i < tdev->hw->num_engines; i++)
		if (test_and_clear_bit(i, tdev->recover_engines))
			trn_recover_engine(tdev, &tdev->engines[i]);
	up_write(&tdev->reset_lock);
	dma_fence_end_signalling(cookie);
	drm_dev_exit(idx);
}

/**
 * trn_queues_stop - all jobs end now
 * @tdev: device, reset_lock is held for write; may be unplugged
 * @err: how they end, -ECANCELED or -ENODEV
 *
 * Fences are signalled and waiters woken. What the jobs used is kept, as the
 * engines may still use it, until trn_queues_restart() or trn_queues_fini().
 */
void trn_queues_stop(struct trn_device *tdev, int err)
{
	u32 reason = err == -ENODEV ? TRAINIUM_REASON_GONE : TRAINIUM_REASON_RESET;
	struct trn_queue *q;
	u64 seqno;

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		mutex_lock(&q->lock);
		q->frozen = true;
		for (seqno = q->started + 1; seqno <= q->submitted; seqno++) {
			struct trn_job *job = trn_slot(q, seqno)->job;

			trn_job_cancel_deps(job);
			while (atomic_read_acquire(&job->callbacks))
				cpu_relax();
		}
		spin_lock_irq(&q->fc->lock);
		WRITE_ONCE(q->started, q->submitted);
		spin_unlock_irq(&q->fc->lock);
		trn_queue_fail_started(q, err, reason);
		mutex_unlock(&q->lock);
		wake_up_all(&q->wait);
	}
	mutex_unlock(&tdev->queues_lock);
}

/**
 * trn_queues_restart - queues work again after a device reset
 * @tdev: device, reset_lock is held for write; its engines are initialised
 */
void trn_queues_restart(struct trn_device *tdev)
{
	struct trn_queue *q;
	u32 i;

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		mutex_lock(&q->lock);
		q->lost = 0;
		for (i = 0; i < q->num_rings; i++) {
			trn_ring_reset(q->ring[i]);
			trn_irq_enable_ring(q->ring[i]);
		}
		q->frozen = false;
		mutex_unlock(&q->lock);
		trn_queue_reap(q);
	}
	mutex_unlock(&tdev->queues_lock);
}
