// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for jobs: by looking at their markers, or asleep until the interrupt.
 *
 * Which of both is chosen by how long it takes, as far as the queue knows: for
 * each size class of jobs it keeps the mean of what they took lately. Those that
 * end before a sleep would have begun are looked at, and do not interrupt when
 * somebody waits for them. All others interrupt, once on each ring, and whoever
 * waits for them sleeps at once.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>

#include "trainium_submit.h"

/* How long a waiter looks before it sleeps; a sleep costs about as much */
#define TRN_SPIN_NS		(50 * NSEC_PER_USEC)
/* How often the clock is read meanwhile */
#define TRN_SPIN_LOOPS		64u
/* A sleeper looks for itself after this time, interrupt or not */
#define TRN_WAIT_IRQ_NS		(100 * NSEC_PER_MSEC)
#define TRN_WAIT_POLL_NS	(500 * NSEC_PER_USEC)
/* What a job is expected to take until it is known: 64 KiB at 4 GB/s */
#define TRN_WAIT_UNIT_NS	(16 * NSEC_PER_USEC)
/* A new duration counts 1 in so many; above a limit it is just long. */
#define TRN_WAIT_WEIGHT		8u
#define TRN_WAIT_LONG_NS	(8 * TRN_SPIN_NS)

/* Class 0: up to TRN_INLINE_BYTES; then one for each power of two */
static unsigned int trn_wait_class(u64 bytes)
{
	return min_t(unsigned int, fls64(bytes ? (bytes - 1) / TRN_INLINE_BYTES : 0),
		     TRN_WAIT_CLASSES - 1);
}

/**
 * trn_wait_init - a queue that nobody has waited for
 * @q: new queue
 */
void trn_wait_init(struct trn_queue *q)
{
	unsigned int i;

	for (i = 0; i < TRN_WAIT_CLASSES; i++)
		q->expect_ns[i] = min(TRN_WAIT_UNIT_NS << i, TRN_WAIT_LONG_NS);
}

/**
 * trn_wait_is_short - is the end of a job seen before a sleep would have begun?
 * @q: its queue
 * @bytes: what it moves
 *
 * Return: as far as the queue knows.
 */
bool trn_wait_is_short(const struct trn_queue *q, u64 bytes)
{
	return READ_ONCE(q->expect_ns[trn_wait_class(bytes)]) <= TRN_SPIN_NS;
}

/**
 * trn_wait_learn - a job has ended that was alone in its queue
 * @q: the queue; fc->lock is held
 * @bytes: what it moved
 * @ns: how long it took until that was seen
 */
void trn_wait_learn(struct trn_queue *q, u64 bytes, u64 ns)
{
	u32 *expect = &q->expect_ns[trn_wait_class(bytes)];

	lockdep_assert_held(&q->fc->lock);
	WRITE_ONCE(*expect, *expect - *expect / TRN_WAIT_WEIGHT +
		   (u32)min_t(u64, ns, TRN_WAIT_LONG_NS) / TRN_WAIT_WEIGHT);
}

/**
 * trn_wait_slice - how long to sleep without looking
 * @q: the queue
 *
 * Return: nanoseconds.
 */
u64 trn_wait_slice(const struct trn_queue *q)
{
	return q->tdev->num_vectors ? TRN_WAIT_IRQ_NS : TRN_WAIT_POLL_NS;
}

static bool trn_queue_ended(struct trn_queue *q, u64 seqno)
{
	if (READ_ONCE(q->completed) >= seqno)
		return true;
	trn_queue_reap(q);
	return READ_ONCE(q->completed) >= seqno;
}

/* What is in flight up to a job, 0 if it has ended */
static u64 trn_wait_bytes(struct trn_queue *q, u64 seqno)
{
	u64 bytes = 0, i;

	spin_lock_irq(&q->fc->lock);
	for (i = q->completed + 1; i <= seqno; i++)
		bytes += trn_slot(q, i)->bytes;
	spin_unlock_irq(&q->fc->lock);
	return bytes;
}

static bool trn_queue_spin(struct trn_queue *q, u64 seqno)
{
	u64 end = ktime_get_ns() + TRN_SPIN_NS;
	u32 loops;

	for (loops = 1; !trn_queue_ended(q, seqno); loops++) {
		if (need_resched() || signal_pending(current))
			return false;
		if (loops % TRN_SPIN_LOOPS == 0 && ktime_get_ns() > end)
			return false;
		cpu_relax();
	}
	return true;
}

/**
 * trn_queue_arm - the end of what is in flight will interrupt
 * @q: the queue; no lock is held
 *
 * While a reset goes on that is left to it: it ends what is in flight.
 */
void trn_queue_arm(struct trn_queue *q)
{
	struct trn_device *tdev = q->tdev;
	int idx;

	if (!READ_ONCE(q->quiet) || !drm_dev_enter(q->drm, &idx))
		return;
	if (down_read_trylock(&tdev->reset_lock)) {
		mutex_lock(&q->lock);
		if (!q->ended)
			trn_queue_request_irq(q);
		mutex_unlock(&q->lock);
		up_read(&tdev->reset_lock);
	}
	drm_dev_exit(idx);
}

static bool trn_queue_sleep(struct trn_queue *q, u64 seqno, s64 deadline, bool killable)
{
	u64 slice = trn_wait_slice(q);

	for (;;) {
		s64 now = ktime_get_ns(), left;
		long ret;

		if (deadline <= now)
			return trn_queue_ended(q, seqno);
		left = min_t(s64, deadline - now, slice);
		if (killable)
			ret = wait_event_killable_timeout(q->wait, trn_queue_ended(q, seqno),
							  nsecs_to_jiffies(left) + 1);
		else
			ret = wait_event_interruptible_hrtimeout(q->wait,
								 trn_queue_ended(q, seqno),
								 ns_to_ktime(left));
		if (READ_ONCE(q->completed) >= seqno)
			return true;
		if (ret == -ERESTARTSYS)
			return false;
	}
}

/**
 * trn_queue_wait - wait until a job has ended
 * @q: the queue
 * @seqno: the job
 * @deadline: CLOCK_MONOTONIC, 0: do not sleep
 * @killable: only a fatal signal ends it early
 *
 * Return: the job and all before it have ended.
 */
bool trn_queue_wait(struct trn_queue *q, u64 seqno, s64 deadline, bool killable)
{
	bool slept = false, ended;
	u64 bytes, expect;

	if (trn_queue_ended(q, seqno))
		return true;
	bytes = trn_wait_bytes(q, seqno);
	expect = READ_ONCE(q->expect_ns[trn_wait_class(bytes)]);

	ended = expect <= TRN_SPIN_NS && trn_queue_spin(q, seqno);
	if (!ended) {
		/* For whoever sees to it after this caller, too */
		trn_queue_arm(q);
		slept = deadline;
		ended = slept && trn_queue_sleep(q, seqno, deadline, killable);
	}
	trace_trn_wait(q->tdev, q->id, seqno, bytes, expect, slept);
	return ended;
}

/**
 * trn_submit_wait - wait for a job, and let go of its slot
 * @s: the submit, whose slot counts a waiter
 * @deadline: absolute
 * @killable: only a signal that kills ends the wait
 * @ended: out: the job has ended
 *
 * Return: 0, or how it has ended.
 */
int trn_submit_wait(struct trn_submit *s, s64 deadline, bool killable, bool *ended)
{
	struct trn_slot *slot = trn_slot(s->q, s->seqno);
	struct trn_queue *q = s->q;
	int ret;

	trn_queue_wait(q, s->seqno, deadline, killable);

	spin_lock_irq(&q->fc->lock);
	*ended = q->completed >= s->seqno;
	ret = *ended ? slot->error : 0;
	slot->waiters--;
	spin_unlock_irq(&q->fc->lock);
	trn_queue_release(q);
	return ret;
}

/**
 * trn_submit_wait_all - a submit without a job: wait for all that was submitted before
 * @s: the submit
 * @args: its arguments, get the results
 *
 * Return: 0, or the newest failure that nobody was told of.
 */
int trn_submit_wait_all(struct trn_submit *s, struct drm_trainium_submit *args)
{
	struct trn_queue *q = s->q;
	bool ended;
	int ret = 0;

	mutex_lock(&q->lock);
	args->seqno = q->submitted;
	mutex_unlock(&q->lock);

	ended = !args->seqno || trn_queue_wait(q, args->seqno, args->deadline_ns, false);
	args->status = ended ? TRAINIUM_STATUS_DONE : TRAINIUM_STATUS_PENDING;
	if (!ended)
		return 0;

	spin_lock_irq(&q->fc->lock);
	if (q->late_error && q->late_seqno <= args->seqno) {
		ret = q->late_error;
		q->late_error = 0;
	}
	spin_unlock_irq(&q->fc->lock);
	return ret;
}

/**
 * trn_submit_wait_slot - wait for a moment until there may be a slot
 * @s: the submit
 *
 * Or until a reset is over.
 *
 * Return: 0, -ERESTARTSYS, or -ETIME after the deadline of a waiting submit.
 */
int trn_submit_wait_slot(struct trn_submit *s)
{
	s64 deadline = trn_submit_deadline(s->args), left;
	struct trn_queue *q = s->q;
	int ret;

	ret = trn_device_wait_up(q->tdev);
	if (ret)
		return ret;
	trn_queue_reap(q);
	trn_queue_release(q);
	if (trn_queue_has_slot(q))
		return 0;
	trn_queue_arm(q);
	left = ktime_get_ns();
	if (deadline <= left)
		return -ETIME;
	left = min_t(s64, deadline - left, trn_wait_slice(q));
	ret = wait_event_interruptible_hrtimeout(q->wait,
						 trn_queue_has_slot(q) || READ_ONCE(q->closing),
						 ns_to_ktime(left));
	return ret == -ERESTARTSYS ? ret : 0;
}
