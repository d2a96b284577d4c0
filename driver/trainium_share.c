// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of shared buffers. A buffer with a dma-buf has a reservation object
 * that others look at: a job waits for the fences it finds there, and puts its
 * own there before the submit returns. So a submit that begins after another
 * one has returned, here or in another driver, comes after it. Buffers that
 * are not shared have nothing to do with this.
 */
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "trainium_queue.h"

/* Fences that a job waits for by itself; beyond that, its submit waits. */
#define TRN_MAX_DEPS		4096u

/**
 * trn_shares_add - note that a job uses a shared buffer
 * @shares: of the job
 * @bo: the buffer
 * @write: the job writes it
 * @may_alloc: no lock is held
 *
 * Return: 0, -ENOMEM, or -ENOSPC when more can only be noted with @may_alloc.
 */
int trn_shares_add(struct trn_shares *shares, struct trn_bo *bo, bool write, bool may_alloc)
{
	struct trn_share *list;
	u32 i;

	/* Twice in the list is no harm, only work. */
	for (i = shares->num; i && shares->num - i < TRN_BO_CACHE; i--) {
		if (shares->list[i - 1].bo == bo) {
			shares->list[i - 1].write |= write;
			return 0;
		}
	}
	if (!shares->num) {
		shares->list = shares->few;
		shares->max = ARRAY_SIZE(shares->few);
	} else if (shares->num == shares->max) {
		if (!may_alloc)
			return -ENOSPC;
		list = kvmalloc_array(shares->max * 4, sizeof(*list), GFP_KERNEL_ACCOUNT);
		if (!list)
			return -ENOMEM;
		memcpy(list, shares->list, shares->num * sizeof(*list));
		if (shares->list != shares->few)
			kvfree(shares->list);
		shares->list = list;
		shares->max *= 4;
	}
	drm_gem_object_get(&bo->base);
	shares->list[shares->num++] = (struct trn_share){ .bo = bo, .write = write };
	return 0;
}

/**
 * trn_shares_put - forget shared buffers
 * @shares: is empty after; no lock is held
 */
void trn_shares_put(struct trn_shares *shares)
{
	u32 i;

	if (!shares->num)
		return;
	for (i = 0; i < shares->num; i++)
		trn_bo_put(shares->list[i].bo);
	if (shares->list != shares->few)
		kvfree(shares->list);
	shares->num = 0;
}

/**
 * trn_shares_busy - is there a fence to be waited for?
 * @shares: of a job
 * @q: its queue, whose own fences do not count: it keeps its order
 *
 * Takes no lock.
 */
bool trn_shares_busy(const struct trn_shares *shares, const struct trn_queue *q)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	bool busy = false;
	u32 i;

	for (i = 0; i < shares->num && !busy; i++) {
		const struct trn_share *share = &shares->list[i];

		dma_resv_iter_begin(&cursor, share->bo->base.resv,
				    dma_resv_usage_rw(share->write));
		dma_resv_for_each_fence_unlocked(&cursor, fence) {
			busy = fence->context != q->fc->context;
			if (busy)
				break;
		}
		dma_resv_iter_end(&cursor);
	}
	return busy;
}

/**
 * trn_shares_stale - has a buffer of a job become a shared one?
 * @refs: of the job; the lock of its queue is held
 * @tdev: device
 * @since: trn_device.share_count before they were looked at
 *
 * What others share is no matter.
 */
bool trn_shares_stale(const struct trn_refs *refs, struct trn_device *tdev, u64 since)
{
	u32 i;

	if (likely(atomic64_read(&tdev->share_count) == since))
		return false;
	for (i = 0; i < refs->num; i++)
		if (READ_ONCE(refs->list[i]->flags) & TRN_BO_F_SPECIAL &&
		    READ_ONCE(refs->list[i]->shared_at) > since)
			return true;
	return false;
}

static int trn_share_deps(const struct trn_share *share, const struct trn_queue *q,
			  struct trn_job_dep **deps, u32 *num_deps)
{
	struct dma_fence **fences;
	struct trn_job_dep *list;
	unsigned int num, i;
	int ret;

	ret = dma_resv_get_fences(share->bo->base.resv, dma_resv_usage_rw(share->write),
				  &num, &fences);
	if (ret || !num)
		return ret;
	list = kvcalloc(*num_deps + num, sizeof(*list), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (list) {
		memcpy(list, *deps, *num_deps * sizeof(*list));
		kvfree(*deps);
		*deps = list;
	}
	for (i = 0; i < num; i++) {
		if (list && fences[i]->context != q->fc->context)
			list[(*num_deps)++].fence = fences[i];
		else
			dma_fence_put(fences[i]);
	}
	kfree(fences);
	return list ? 0 : -ENOMEM;
}

static int trn_share_wait(const struct trn_share *share, s64 deadline)
{
	s64 now = ktime_get_ns();
	u64 left = deadline > now ? nsecs_to_jiffies64(deadline - now) : 0;
	long ret;

	ret = dma_resv_wait_timeout(share->bo->base.resv, dma_resv_usage_rw(share->write), true,
				    min_t(u64, left, MAX_SCHEDULE_TIMEOUT));
	return ret < 0 ? ret : ret ? 0 : -ETIME;
}

/**
 * trn_shares_deps - what a job has to wait for
 * @shares: of the job
 * @q: its queue
 * @deadline: CLOCK_MONOTONIC
 * @deps: array that grows
 * @num_deps: number of elements
 *
 * Return: 0 or -ENOMEM; when there was too much to wait for, -ERESTARTSYS after a
 * signal and -ETIME after the deadline.
 */
int trn_shares_deps(const struct trn_shares *shares, const struct trn_queue *q, s64 deadline,
		    struct trn_job_dep **deps, u32 *num_deps)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < shares->num && !ret; i++) {
		const struct trn_share *share = &shares->list[i];

		if (*num_deps < TRN_MAX_DEPS)
			ret = trn_share_deps(share, q, deps, num_deps);
		else
			ret = trn_share_wait(share, deadline);
	}
	return ret;
}

/* Without memory for it the job is waited for: it ends in bounded time. */
static void trn_share_add_fence(struct trn_bo *bo, struct dma_fence *fence,
				enum dma_resv_usage usage)
{
	dma_resv_assert_held(bo->base.resv);
	if (dma_resv_reserve_fences(bo->base.resv, 1))
		dma_fence_wait(fence, false);
	else
		dma_resv_add_fence(bo->base.resv, fence, usage);
}

/**
 * trn_shares_publish - let others wait for a job
 * @shares: of the job
 * @q: its queue
 * @seqno: the job, which is submitted; no lock is held
 */
void trn_shares_publish(const struct trn_shares *shares, struct trn_queue *q, u64 seqno)
{
	struct dma_fence *fence = trn_job_fence(q, seqno);
	u32 i;

	if (IS_ERR(fence)) {
		trn_queue_wait(q, seqno, S64_MAX, true);
		return;
	}
	if (!fence)
		return;
	for (i = 0; i < shares->num && !dma_fence_is_signaled(fence); i++) {
		const struct trn_share *share = &shares->list[i];

		dma_resv_lock(share->bo->base.resv, NULL);
		trn_share_add_fence(share->bo, fence, share->write ? DMA_RESV_USAGE_WRITE :
								     DMA_RESV_USAGE_READ);
		dma_resv_unlock(share->bo->base.resv);
	}
	dma_fence_put(fence);
}

/* The newest job of a queue that uses the buffer, 0 if there is none */
static u64 trn_queue_newest_user(struct trn_queue *q, const struct trn_bo *bo)
{
	u64 seqno;
	u32 i;

	mutex_lock(&q->lock);
	for (seqno = q->submitted; seqno > READ_ONCE(q->completed); seqno--) {
		struct trn_slot *slot = trn_slot(q, seqno);

		for (i = 0; i < slot->refs.num; i++) {
			if (slot->refs.list[i] == bo) {
				mutex_unlock(&q->lock);
				return seqno;
			}
		}
	}
	mutex_unlock(&q->lock);
	return 0;
}

/* All queues, with references; those that come later know what has changed. */
static struct trn_queue **trn_queues_get(struct trn_device *tdev, u32 *num)
{
	struct trn_queue *q, **list;
	u32 max = 0;

	*num = 0;
	mutex_lock(&tdev->queues_lock);
	max = list_count_nodes(&tdev->queues);
	mutex_unlock(&tdev->queues_lock);
	list = kvcalloc(max + 1, sizeof(*list), GFP_KERNEL | __GFP_NOWARN);
	if (!list)
		return NULL;
	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link)
		if (*num < max && kref_get_unless_zero(&q->ref))
			list[(*num)++] = q;
	mutex_unlock(&tdev->queues_lock);
	return list;
}

/**
 * trn_share_changed - submits that are on their way look at a buffer again
 * @bo: the buffer; trn_share_in_flight() follows
 *
 * They do so under the queue's lock, which is taken to look for jobs.
 */
void trn_share_changed(struct trn_bo *bo)
{
	struct trn_device *tdev = to_trn_device(bo->base.dev);

	WRITE_ONCE(bo->shared_at, atomic64_inc_return(&tdev->share_count));
}

/**
 * trn_share_in_flight - let others wait for the jobs that use a buffer already
 * @bo: the buffer; its reservation is locked
 *
 * A submit that has not queued its job yet will see what the caller has changed
 * about @bo before.
 *
 * Return: 0 or -ENOMEM.
 */
int trn_share_in_flight(struct trn_bo *bo)
{
	struct trn_queue **list;
	struct dma_fence *fence;
	u32 num, i;
	u64 seqno;

	dma_resv_assert_held(bo->base.resv);
	list = trn_queues_get(to_trn_device(bo->base.dev), &num);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < num; i++) {
		seqno = trn_queue_newest_user(list[i], bo);
		fence = seqno ? trn_job_fence(list[i], seqno) : NULL;
		if (IS_ERR(fence))
			trn_queue_wait(list[i], seqno, S64_MAX, true);
		else if (fence)
			trn_share_add_fence(bo, fence, DMA_RESV_USAGE_WRITE);
		if (!IS_ERR(fence))
			dma_fence_put(fence);
		trn_queue_put(list[i]);
	}
	kvfree(list);
	return 0;
}

/**
 * trn_share_begin - from now on a buffer is a shared one
 * @bo: the buffer; nobody else begins to share it at the same time
 *
 * Return: 0 or a negative error.
 */
int trn_share_begin(struct trn_bo *bo)
{
	int ret;

	if (bo->flags & TRN_BO_F_SHARED)
		return 0;
	ret = dma_resv_lock_interruptible(bo->base.resv, NULL);
	if (ret)
		return ret;
	WRITE_ONCE(bo->flags, bo->flags | TRN_BO_F_SHARED);
	trn_share_changed(bo);
	ret = trn_share_in_flight(bo);
	if (ret)
		WRITE_ONCE(bo->flags, bo->flags & ~TRN_BO_F_SHARED);
	dma_resv_unlock(bo->base.resv);
	return ret;
}

/**
 * trn_bo_take_back - the memory of a buffer is not there any more
 * @bo: imported, peer or group buffer; its reservation is locked
 *
 * New submits are refused, and those in flight have fences there afterwards.
 */
void trn_bo_take_back(struct trn_bo *bo)
{
	WRITE_ONCE(bo->revoked, true);
	trn_share_changed(bo);
	trn_share_in_flight(bo);
}

/**
 * trn_bo_wait_idle - wait for the jobs whose fences are at a buffer
 * @bo: the buffer
 * @end: until then, in jiffies
 */
void trn_bo_wait_idle(struct trn_bo *bo, unsigned long end)
{
	unsigned long now = jiffies;

	dma_resv_wait_timeout(bo->base.resv, DMA_RESV_USAGE_BOOKKEEP, false,
			      time_before(now, end) ? end - now : 1);
}
