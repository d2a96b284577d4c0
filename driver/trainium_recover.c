// SPDX-License-Identifier: GPL-2.0-only
/*
 * When work does not end: timeouts, errors of engines, resets of the device.
 *
 * All of it holds reset_lock for write with the device up, so no queue runs and
 * no job is submitted. The job that is to blame fails with -EIO. Others that were in the
 * rings are written again from the descriptors, which are still there: only
 * the oldest job of a queue can have begun, as each waits for those before it,
 * and a job without barriers may be executed twice. Its ops may overlap in
 * time, so none of them depends on what another one leaves behind. The oldest
 * job of another queue that has barriers is lost: -ECANCELED.
 */
#include <linux/moduleparam.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "trainium_emit.h"
#include "trainium_fabric.h"
#include "trainium_user.h"

unsigned int trn_job_timeout_ms = 2000;
module_param_named(job_timeout_ms, trn_job_timeout_ms, uint, 0444);
MODULE_PARM_DESC(job_timeout_ms,
		 "Time without progress after which a job fails, in ms (default 2000)");

/* How often a queue with jobs in flight is looked after */
#define TRN_WATCHDOG_MS		100u

/**
 * trn_watchdog_period - time between two looks at a queue
 *
 * Return: jiffies.
 */
unsigned long trn_watchdog_period(void)
{
	return msecs_to_jiffies(min(trn_job_timeout_ms / 4, TRN_WATCHDOG_MS)) + 1;
}

/* Grows whenever the queue gets anywhere. */
static u64 trn_queue_progress(const struct trn_queue *q)
{
	u64 sum = q->completed;
	u32 i;

	for (i = 0; i < q->num_rings; i++)
		sum += trn_ring_done(q->ring[i]);
	return sum;
}

/**
 * trn_queue_fail_started - end the jobs in flight
 * @q: the queue; its lock is held
 * @err: how, unless they have an error already
 * @reason: of that error
 *
 * The engines may go on using what the jobs use: see &trn_queue.frozen.
 */
void trn_queue_fail_started(struct trn_queue *q, int err, u32 reason)
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
	trn_queue_set_busy(q, 0);
	q->quiet = 0;
	spin_unlock_irq(&q->fc->lock);
	trn_queue_reap(q);
}

/**
 * trn_queue_drop_started - stop the rings and end the jobs in flight
 * @q: queue of a process that was killed; as for trn_queue_advance()
 *
 * The rings first: who learns that a job has ended uses its memory again.
 */
void trn_queue_drop_started(struct trn_queue *q)
{
	u32 i;

	trn_queue_reap(q);
	if (q->completed == q->started)
		return;
	for (i = 0; i < q->num_rings; i++) {
		struct trn_engine *engine = q->ring[i]->engine;

		mutex_lock(&engine->lock);
		trn_ring_stop(q->ring[i]);
		mutex_unlock(&engine->lock);
	}
	trn_queue_fail_started(q, -ECANCELED, TRAINIUM_REASON_CLOSED);
}

/* A job that was written in parts: its descriptors are not all there. */
static bool trn_slot_in_parts(const struct trn_slot *slot)
{
	return slot->job && slot->job->in_parts;
}

/* Copies what a job has in a ring, without markers. Return: descriptors. */
static u32 trn_replay_save(const struct trn_ring *ring, const struct trn_slot *slot, u32 r,
			   struct trn_replay *to)
{
	u32 end = ring->marker_end[slot->marker[r] & ring->mask], at, word, n = 0;

	for (at = slot->first[r]; at != end; at++) {
		u32 i = at & ring->mask;

		if (le64_to_cpu(ring->s2m[i].addr) == ring->done_axi)
			continue;
		to[n].m2s = ring->m2s[i];
		to[n].dst = le64_to_cpu(ring->s2m[i].addr);
		to[n].has_operand = trn_ring_is_operand(ring, le64_to_cpu(ring->m2s[i].addr),
							&word);
		if (to[n].has_operand)
			to[n].operand = le64_to_cpu(ring->marker[word]);
		n++;
	}
	return n;
}

static void trn_replay_write(struct trn_ring *ring, struct trn_slot *slot, u32 r,
			     const struct trn_replay *from, u32 n)
{
	slot->first[r] = ring->head;
	for (; n; n--, from++) {
		u32 word0 = lower_32_bits(le64_to_cpu(from->m2s.ctrl));
		u64 src = from->has_operand ? trn_ring_operand(ring, from->operand) :
					      le64_to_cpu(from->m2s.addr);

		trn_ring_move(ring, from->dst, src,
			      word0 & TRN_DESC_LEN_MASK,
			      upper_32_bits(le64_to_cpu(from->m2s.ctrl)), word0 & TRN_M2S_DMB);
	}
	slot->marker[r] = trn_ring_marker(ring, true);
}

/* Starts a ring anew with the jobs that stay in it. */
static int trn_queue_replay_ring(struct trn_queue *q, u32 r)
{
	struct trn_replay *at = q->tdev->replay;
	struct trn_ring *ring = q->ring[r];
	u16 num[TRN_QUEUE_SLOTS] = { };
	u64 seqno;
	int ret;

	for (seqno = q->completed + 1; seqno <= q->started; seqno++) {
		struct trn_slot *slot = trn_slot(q, seqno);

		if (slot->error || trn_slot_in_parts(slot) || !(slot->rings & BIT(r)))
			continue;
		num[seqno % TRN_QUEUE_SLOTS] = trn_replay_save(ring, slot, r, at);
		at += num[seqno % TRN_QUEUE_SLOTS];
	}

	ret = trn_ring_reset(ring);
	if (ret)
		return ret;

	at = q->tdev->replay;
	for (seqno = q->completed + 1; seqno <= q->started; seqno++) {
		struct trn_slot *slot = trn_slot(q, seqno);

		if (slot->error || trn_slot_in_parts(slot) || !(slot->rings & BIT(r)))
			continue;
		trn_replay_write(ring, slot, r, at, num[seqno % TRN_QUEUE_SLOTS]);
		at += num[seqno % TRN_QUEUE_SLOTS];
	}
	trn_ring_kick(ring);
	return 0;
}

/* What becomes of the jobs in flight; those that stay are not reaped meanwhile. */
static void trn_queue_replay_begin(struct trn_queue *q)
{
	struct trn_slot *slot = trn_slot(q, q->completed + 1);
	u64 seqno;

	spin_lock_irq(&q->fc->lock);
	if (!slot->error && slot->barriers) {
		slot->error = -ECANCELED;
		slot->reason = TRAINIUM_REASON_RESET;
	}
	for (seqno = q->completed + 1; seqno <= q->started; seqno++) {
		slot = trn_slot(q, seqno);
		/* Behind a job in parts there is none. */
		if (slot->job && slot->unwritten)
			slot->job->in_parts = true;
		slot->unwritten = true;
	}
	spin_unlock_irq(&q->fc->lock);
}

static void trn_queue_replay_end(struct trn_queue *q, int err)
{
	u32 busy = 0;
	u64 seqno;

	spin_lock_irq(&q->fc->lock);
	for (seqno = q->completed + 1; seqno <= q->started; seqno++) {
		struct trn_slot *slot = trn_slot(q, seqno);

		if (err && !slot->error) {
			slot->error = err;
			slot->reason = TRAINIUM_REASON_RESET;
		}
		slot->unwritten = false;
		if (slot->error) {
			slot->rings = 0;
		} else if (slot->job && slot->job->in_parts) {
			/* From its beginning, by the worker */
			slot->rings = 0;
			slot->job->op = 0;
			slot->job->done = 0;
			slot->job->ring = 0;
			slot->unwritten = true;
		}
		busy |= slot->rings;
	}
	trn_queue_set_busy(q, busy);
	q->quiet = 0;
	spin_unlock_irq(&q->fc->lock);
}

/* An engine was reset with rings of the queue on it. */
static void trn_queue_recover(struct trn_queue *q)
{
	unsigned long rings;
	unsigned int r;
	int ret = 0;

	mutex_lock(&q->lock);
	trn_queue_reap(q);
	/* All rings: a job that fails must not go on in the others. */
	rings = xchg(&q->lost, 0) | q->busy;
	if (q->list || q->user)
		trn_queue_fail_started(q, -ECANCELED, TRAINIUM_REASON_RESET);
	trn_queue_replay_begin(q);
	for_each_set_bit(r, &rings, q->num_rings)
		ret = trn_queue_replay_ring(q, r) ?: ret;
	trn_queue_replay_end(q, ret ? -ECANCELED : 0);
	if (q->user)
		trn_user_settle(q);
	q->watched_at = jiffies;
	trn_queue_reap(q);
	mutex_unlock(&q->lock);
	spin_lock_irq(&q->fc->lock);
	if (!q->dead)
		queue_work(q->tdev->wq, &q->work);
	spin_unlock_irq(&q->fc->lock);
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
	for_each_set_bit(i, engines, tdev->hw->num_engines)
		trn_engine_recover(&tdev->engines[i]);
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

/* The oldest job of a queue has to answer for it. The queue's lock is held. */
static void trn_queue_blame(struct trn_queue *q, struct trn_ring *ring, u32 reason, u64 cause)
{
	struct trn_slot *slot = trn_slot(q, q->completed + 1);
	struct trn_engine *engine = ring->engine;

	engine->hung |= BIT(ring->index);
	trn_report_fault(ring, q->id, slot->seqno, reason, cause);
	drm_err(&q->tdev->drm,
		"queue %u: job %llu %s on engine %u (causes m2s %#x, s2m %#x)\n",
		q->id, slot->seqno,
		reason == TRAINIUM_REASON_TIMEOUT ? "makes no progress" :
		reason == TRAINIUM_REASON_FABRIC ? "was refused by the fabric" : "was aborted",
		engine->id, lower_32_bits(cause), upper_32_bits(cause));

	spin_lock_irq(&q->fc->lock);
	slot->error = -EIO;
	slot->reason = reason;
	q->error_engine = engine->id;
	q->error_cause = lower_32_bits(cause) ?: upper_32_bits(cause);
	spin_unlock_irq(&q->fc->lock);
}

/* Rings on which the oldest job of a queue has not ended. The lock is held. */
static unsigned long trn_queue_stuck_rings(struct trn_queue *q)
{
	struct trn_slot *slot = trn_slot(q, q->completed + 1);
	unsigned long rings = slot->rings, stuck = 0;
	unsigned int r;

	if (q->completed == q->started)
		return 0;
	for_each_set_bit(r, &rings, q->num_rings)
		if (trn_ring_done(q->ring[r]) < slot->marker[r])
			__set_bit(r, &stuck);
	return stuck;
}

/* Of the stuck rings of a queue, the one on an engine; -1 if there is none. */
static int trn_queue_stuck_on(struct trn_queue *q, struct trn_engine *engine)
{
	unsigned long rings;
	unsigned int r;

	lockdep_assert_held(&q->lock);
	rings = trn_queue_stuck_rings(q);
	for_each_set_bit(r, &rings, q->num_rings)
		if (q->ring[r]->engine == engine)
			return r;
	return -1;
}

/*
 * Whom to blame for an abort. The engine may say which queue pairs caused it.
 * If not, it is the only queue that runs on it; of several, those that were
 * suspected before.
 */
static void trn_engine_blame(struct trn_engine *engine, u64 cause)
{
	u32 guilty = trn_engine_guilty(engine), suspects = 0, named = 0;
	struct trn_device *tdev = engine->tdev;
	u32 reason = trn_fabric_failed(tdev, engine->id) ? TRAINIUM_REASON_FABRIC :
							   TRAINIUM_REASON_ABORT;
	struct trn_queue *q;
	int r;

	list_for_each_entry(q, &tdev->queues, link) {
		mutex_lock(&q->lock);
		trn_queue_reap(q);
		r = trn_queue_stuck_on(q, engine);
		if (r >= 0) {
			suspects++;
			named += !!(guilty & BIT(q->ring[r]->index));
		}
		mutex_unlock(&q->lock);
	}

	list_for_each_entry(q, &tdev->queues, link) {
		mutex_lock(&q->lock);
		r = trn_queue_stuck_on(q, engine);
		if (r >= 0) {
			struct trn_slot *slot = trn_slot(q, q->completed + 1);
			bool blame = named ? guilty & BIT(q->ring[r]->index) :
				     suspects == 1 || slot->suspect;

			slot->suspect = true;
			if (blame)
				trn_queue_blame(q, q->ring[r], reason, cause);
		}
		mutex_unlock(&q->lock);
	}
}

/*
 * Engines on which the oldest job of a queue is stuck. When none of them was
 * aborted, which is looked after for all queues at once, the job is to blame.
 */
static void trn_queue_collect(struct trn_queue *q, unsigned long *engines)
{
	struct trn_device *tdev = q->tdev;
	struct trn_ring *stuck = NULL;
	unsigned long rings;
	unsigned int r;
	u64 cause;
	int i;

	mutex_lock(&q->lock);
	trn_queue_reap(q);
	if (trn_queue_progress(q) == q->watched) {
		rings = trn_queue_stuck_rings(q);
		for_each_set_bit(r, &rings, q->num_rings) {
			stuck = q->ring[r];
			stuck->engine->hung |= BIT(stuck->index);
			__set_bit(stuck->engine->id, engines);
		}
	}
	q->watched_at = jiffies;
	mutex_unlock(&q->lock);
	if (!stuck)
		return;

	mutex_lock(&tdev->queues_lock);
	for_each_set_bit(i, engines, TRN_MAX_ENGINES) {
		if (trn_engine_aborted(&tdev->engines[i], &cause)) {
			trn_engine_blame(&tdev->engines[i], cause);
			stuck = NULL;
		}
	}
	mutex_unlock(&tdev->queues_lock);

	if (stuck) {
		mutex_lock(&q->lock);
		if (q->completed != q->started)
			trn_queue_blame(q, stuck, TRAINIUM_REASON_TIMEOUT, 0);
		mutex_unlock(&q->lock);
	}
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
	if (!trn_device_try_hold(tdev))
		goto out;
	/* Nobody is to blame then; the reset tells all jobs. */
	if (trn_device_gone(tdev)) {
		trn_device_schedule_reset(tdev);
		goto unlock;
	}

	trn_queue_collect(q, engines);
	trn_recover(tdev, engines);
unlock:
	trn_device_release(tdev);
out:
	dma_fence_end_signalling(cookie);
	drm_dev_exit(idx);
}

/*
 * No marker was reached for a while: what do the engines say? Markers can be
 * far apart, and not all that stops an engine interrupts. The lock is held.
 * A device that is gone says nothing, and time will not change that.
 */
static bool trn_queue_is_stuck(struct trn_queue *q)
{
	unsigned long rings = trn_queue_stuck_rings(q);
	bool aborted;
	u64 position = 0;
	unsigned int r;
	int idx;

	if (!drm_dev_enter(q->drm, &idx))
		return false;
	aborted = trn_device_gone(q->tdev);
	for_each_set_bit(r, &rings, q->num_rings) {
		position += trn_ring_position(q->ring[r]);
		aborted |= trn_engine_aborted(q->ring[r]->engine, NULL);
	}
	drm_dev_exit(idx);

	if (position != q->watched_hw) {
		q->watched_hw = position;
		q->watched_at = jiffies;
	}
	/* A user queue may wait for as long as it likes. */
	return aborted || (!q->user && time_after_eq(jiffies, q->watched_at +
						     msecs_to_jiffies(trn_job_timeout_ms)));
}

/**
 * trn_queue_watchdog - does the queue make progress?
 * @work: of the queue
 */
void trn_queue_watchdog(struct work_struct *work)
{
	struct trn_queue *q = container_of(work, struct trn_queue, watchdog.work);
	bool idle, stuck = false;
	u64 progress;

	/* An interrupt may have been lost. */
	trn_queue_reap(q);

	mutex_lock(&q->lock);
	progress = trn_queue_progress(q);
	idle = q->completed == q->started;
	q->watching = !idle;
	if (progress != q->watched) {
		q->watched = progress;
		q->watched_at = jiffies;
	} else if (!idle) {
		stuck = trn_queue_is_stuck(q);
	}
	mutex_unlock(&q->lock);

	if (stuck)
		trn_queue_timeout(q);
	if (!idle)
		queue_delayed_work(q->tdev->reset_wq, &q->watchdog, trn_watchdog_period());
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

static void trn_recover_engine(struct trn_device *tdev, struct trn_engine *engine)
{
	DECLARE_BITMAP(engines, TRN_MAX_ENGINES) = { };
	u64 cause = 0;

	if (!trn_engine_aborted(engine, &cause)) {
		dev_warn_ratelimited(tdev->drm.dev, "engine %u reports an error and goes on\n",
				     engine->id);
		return;
	}
	mutex_lock(&tdev->queues_lock);
	trn_engine_blame(engine, cause);
	mutex_unlock(&tdev->queues_lock);
	__set_bit(engine->id, engines);
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
	/* Otherwise all engines are being reset. */
	if (trn_device_try_hold(tdev)) {
		for (i = 0; i < tdev->hw->num_engines; i++)
			if (test_and_clear_bit(i, tdev->recover_engines))
				trn_recover_engine(tdev, &tdev->engines[i]);
		trn_device_release(tdev);
	}
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
			struct trn_slot *slot = trn_slot(q, seqno);

			trn_job_cancel_deps(slot->job);
			while (atomic_read_acquire(&slot->job->callbacks))
				cpu_relax();
			/* Before it counts as started: it has nothing in the rings. */
			if (!slot->error) {
				slot->error = err;
				slot->reason = reason;
			}
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

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		mutex_lock(&q->lock);
		q->lost = 0;
		trn_queue_start_rings(q);
		q->frozen = false;
		if (q->user)
			trn_user_settle(q);
		mutex_unlock(&q->lock);
		trn_queue_reap(q);
	}
	mutex_unlock(&tdev->queues_lock);
}
