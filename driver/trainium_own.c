// SPDX-License-Identifier: GPL-2.0-only
/* Jobs of the driver's own: zeroing, and tries of the fabric. */
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>

#include "trainium_submit.h"

/* Device memory is zeroed in jobs of this size. */
#define TRN_CLEAR_BYTES		BIT_ULL(30)

/*
 * Runs one op. Its buffers must not be freed before the engines are done with
 * them, killed or not: the job holds them.
 */
static int trn_own_run(struct trn_queue *q, const struct trn_job_op *op)
{
	static const struct drm_trainium_submit args = { .flags = TRAINIUM_SUBMIT_WAIT };
	struct trn_submit s __uninitialized;
	struct trn_job *job = trn_job_new(q, 1);
	bool ended;
	int ret;

	if (!job)
		return -ENOMEM;
	job->ops[0] = *op;
	trn_submit_init(&s, q, NULL, &args);
	s.bytes = op->size;
	drm_gem_object_get(&op->dst->base);
	s.refs.list[s.refs.num++] = op->dst;
	s.sync = op->dst->flags & TRN_BO_F_SYNC;
	if (op->type == TRAINIUM_OP_COPY) {
		drm_gem_object_get(&op->src->base);
		s.refs.list[s.refs.num++] = op->src;
		s.sync |= !!(op->src->flags & TRN_BO_F_SYNC);
	}

	do {
		ret = trn_submit_queue(&s, job);
		if (ret == TRN_SUBMIT_FULL &&
		    (trn_device_wait_up(q->tdev) ||
		     wait_event_killable(q->wait, trn_queue_has_slot(q))))
			ret = -EINTR;
	} while (ret == TRN_SUBMIT_FULL);
	if (ret) {
		trn_job_free(job);
		trn_refs_put(&s.refs);
		return ret;
	}
	ret = trn_submit_wait(&s, S64_MAX, true, &ended);
	return ended ? ret : -EINTR;
}

/* An unbind ends the queue, but does not wait for who uses it. */
static struct trn_queue *trn_own_queue(struct trn_device *tdev)
{
	struct trn_queue *q;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return NULL;
	q = tdev->clear_queue;
	kref_get(&q->ref);
	drm_dev_exit(idx);
	return q;
}

/**
 * trn_submit_clear - zero a buffer in device memory
 * @tdev: device
 * @bo: buffer that nobody else knows yet
 *
 * Return: 0; -EINTR when killed; -ECANCELED when a reset came; -EIO, -ENODEV.
 */
int trn_submit_clear(struct trn_device *tdev, struct trn_bo *bo)
{
	struct trn_queue *q = trn_own_queue(tdev);
	struct trn_job_op op = { .type = TRAINIUM_OP_FILL, .dst = bo };
	int ret = 0;

	if (!q)
		return -ENODEV;
	while (op.dst_offset < bo->base.size && !ret) {
		op.size = min_t(u64, bo->base.size - op.dst_offset, TRN_CLEAR_BYTES);
		ret = trn_own_run(q, &op);
		op.dst_offset += op.size;
	}
	trn_queue_put(q);
	return ret;
}

/**
 * trn_submit_own_copy - copy between buffers that nobody else knows
 * @tdev: device
 * @dst: buffer
 * @src: buffer
 * @size: bytes, from the start of both
 *
 * Return: as trn_submit_clear().
 */
int trn_submit_own_copy(struct trn_device *tdev, struct trn_bo *dst, struct trn_bo *src,
			u64 size)
{
	struct trn_job_op op = {
		.type = TRAINIUM_OP_COPY, .dst = dst, .src = src, .size = size,
	};
	struct trn_queue *q = trn_own_queue(tdev);
	int ret;

	if (!q)
		return -ENODEV;
	ret = trn_own_run(q, &op);
	trn_queue_put(q);
	return ret;
}
