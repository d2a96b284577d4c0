// SPDX-License-Identifier: GPL-2.0-only
/* Submits that wait: for the end of a job, of all jobs, or for a slot. */
#include <linux/ktime.h>
#include <linux/wait.h>

#include "trainium_submit.h"

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
