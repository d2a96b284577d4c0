// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues: files that own them, engines that are chosen for them, their
 * beginning and end.
 */
#include <linux/capability.h>
#include <linux/dma-mapping.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "trainium_emit.h"
#include "trainium_fabric.h"
#include "trainium_user.h"

/* How much worse an engine far from the wanted stack is than a ring in use */
#define TRN_COST_FAR		64u
/* How much worse it is to use a stack's engines twice */
#define TRN_COST_SAME_STACK	4u
/* Rings of the queue that zeroes device memory */
#define TRN_CLEAR_RINGS		8u

static __always_inline struct trn_queue *trn_file_queue(struct trn_file *tfile, u32 id, u32 num)
{
	struct trn_queue *q;

	if (id - 1 >= num)
		return NULL;
	rcu_read_lock();
	q = rcu_dereference(tfile->queues[array_index_nospec(id - 1, num)]);
	if (q && !kref_get_unless_zero(&q->ref))
		q = NULL;
	rcu_read_unlock();
	return q;
}

/**
 * trn_queue_get - queue of a file, no list
 * @tfile: the file
 * @id: of the queue
 *
 * Return: the queue, to be given to trn_queue_put(), or NULL.
 */
struct trn_queue *trn_queue_get(struct trn_file *tfile, u32 id)
{
	return trn_file_queue(tfile, id, TRN_MAX_QUEUES);
}

/**
 * trn_queue_find - queue or list of a file
 * @tfile: the file
 * @id: of the queue or list
 *
 * Return: the queue, to be given to trn_queue_put(), or NULL.
 */
struct trn_queue *trn_queue_find(struct trn_file *tfile, u32 id)
{
	return trn_file_queue(tfile, id, TRN_MAX_IDS);
}

/**
 * trn_file_add_queue - give a queue the lowest id that is free
 * @tfile: the file
 * @q: the queue, or that of a list
 *
 * Return: 0 or -EDQUOT.
 */
int trn_file_add_queue(struct trn_file *tfile, struct trn_queue *q)
{
	u32 i = q->list ? TRN_MAX_QUEUES : q->user ? 2 * TRN_MAX_QUEUES : 0;
	u32 end = i + TRN_MAX_QUEUES;
	int ret = -EDQUOT;

	mutex_lock(&tfile->lock);
	for (; i < end && ret; i++) {
		if (rcu_access_pointer(tfile->queues[i]))
			continue;
		q->id = i + 1;
		rcu_assign_pointer(tfile->queues[i], q);
		ret = 0;
	}
	mutex_unlock(&tfile->lock);
	return ret;
}

static struct trn_queue *trn_file_take_queue(struct trn_file *tfile, u32 id)
{
	struct trn_queue *q;

	if (id - 1 >= TRN_MAX_IDS)
		return NULL;
	id = array_index_nospec(id - 1, TRN_MAX_IDS);
	mutex_lock(&tfile->lock);
	q = rcu_replace_pointer(tfile->queues[id], NULL, lockdep_is_held(&tfile->lock));
	mutex_unlock(&tfile->lock);
	return q;
}

static void trn_queue_free_rcu(struct rcu_head *rcu)
{
	struct trn_queue *q = container_of(rcu, struct trn_queue, rcu);

	trn_fence_ctx_put(q->fc);
	kvfree(q->slots);
	kfree(q);
}

static void trn_queue_free(struct kref *ref)
{
	struct trn_queue *q = container_of(ref, struct trn_queue, ref);

	call_rcu(&q->rcu, trn_queue_free_rcu);
}

/**
 * trn_queue_put - drop a reference
 * @q: the queue
 */
void trn_queue_put(struct trn_queue *q)
{
	kref_put(&q->ref, trn_queue_free);
}

/**
 * trn_choose_engine - an engine for a new ring
 * @tdev: device
 * @stack: HBM stack to be near to, or TRAINIUM_STACK_ANY
 * @not: engines that are not wanted
 * @stack_used: for TRAINIUM_STACK_ANY: rings that the queue has near each stack
 *
 * Return: the one with the fewest rings in use, or NULL when none is free.
 */
struct trn_engine *trn_choose_engine(struct trn_device *tdev, u32 stack,
				     const unsigned long *not, const u8 *stack_used)
{
	struct trn_engine *best = NULL;
	unsigned int i, best_cost = ~0u;

	for (i = 0; i < tdev->hw->num_engines; i++) {
		struct trn_engine *engine = &tdev->engines[i];
		unsigned int near = trn_hw_engine_stack(tdev->hw, i);
		unsigned int cost = hweight32(READ_ONCE(engine->rings_used));

		if (!trn_hw_engine_has_host(tdev->hw, i) || test_bit(i, not) ||
		    READ_ONCE(engine->out_of_service) ||
		    cost >= TRN_QUEUES_PER_ENGINE - hweight32(engine->rings_reserved))
			continue;
		if (stack == TRAINIUM_STACK_ANY)
			cost += stack_used[near] * TRN_COST_SAME_STACK;
		else if (near != stack)
			cost += TRN_COST_FAR;
		if (cost < best_cost) {
			best_cost = cost;
			best = engine;
		}
	}
	return best;
}

/* Rings on @num engines, at least @min. */
static int trn_queue_take_rings(struct trn_queue *q, u32 num, u32 min, u32 stack, s32 priority)
{
	/* Each level has four times the share of the one below. */
	u32 weight = priority < 0 ? TRN_RING_WEIGHT / 4 : TRN_RING_WEIGHT << (2 * priority);
	DECLARE_BITMAP(not, TRN_MAX_ENGINES) = { };
	struct trn_device *tdev = q->tdev;
	u8 stack_used[TRN_MAX_STACKS] = { };

	while (q->num_rings < num) {
		struct trn_engine *engine = trn_choose_engine(tdev, stack, not, stack_used);
		struct trn_ring *ring;

		if (!engine)
			return q->num_rings < min ? -ENOSPC : 0;
		__set_bit(engine->id, not);
		ring = trn_ring_create(engine, TRN_RING_DEFAULT_SLOTS, q, weight);
		/* Somebody else was quicker. */
		if (ring == ERR_PTR(-ENOSPC))
			continue;
		if (IS_ERR(ring))
			return PTR_ERR(ring);
		stack_used[trn_hw_engine_stack(tdev->hw, engine->id)]++;
		q->ring[q->num_rings++] = ring;
	}
	return 0;
}

static void trn_queue_drop_rings(struct trn_queue *q)
{
	u32 i;

	for (i = 0; i < q->num_rings; i++)
		trn_ring_destroy(q->ring[i]);
	q->num_rings = 0;
}

/* What the queue remembers of buffers goes to @refs. Its lock is held. */
static void trn_queue_forget_bos(struct trn_queue *q, struct trn_refs *refs)
{
	u32 i;

	for (i = 0; i < TRN_BO_CACHE; i++) {
		if (!q->bos.bo[i])
			continue;
		refs->list[refs->num++] = q->bos.bo[i];
		q->bos.bo[i] = NULL;
	}
}

/**
 * trn_queues_forget_bo - the queues of a file do not know a buffer any more
 * @tdev: device
 * @tfile: the file, which has the buffer no more
 * @bo: the buffer; the caller has a reference
 */
void trn_queues_forget_bo(struct trn_device *tdev, struct trn_file *tfile, struct trn_bo *bo)
{
	struct trn_queue *q;
	u32 i;

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		if (q->file != tfile)
			continue;
		mutex_lock(&q->lock);
		for (i = 0; i < TRN_BO_CACHE; i++) {
			if (q->bos.bo[i] != bo)
				continue;
			q->bos.bo[i] = NULL;
			trn_bo_put(bo);
		}
		if (q->list)
			trn_list_forget_bo(q, bo);
		mutex_unlock(&q->lock);
	}
	mutex_unlock(&tdev->queues_lock);
}

/* Nobody waits for the jobs that were dropped: are they why an engine stopped? */
static void trn_queue_leave_clean(struct trn_queue *q)
{
	u32 i;

	for (i = 0; i < q->num_rings; i++)
		if (trn_engine_aborted(q->ring[i]->engine, NULL))
			trn_queue_engine_error(q->ring[i]->engine);
}

/* The last of a queue: it has no jobs, or the device is stopped. */
static void trn_queue_teardown(struct work_struct *work)
{
	struct trn_queue *q = container_of(work, struct trn_queue, teardown);
	struct trn_device *tdev = q->tdev;
	u32 rings = q->num_rings;
	struct trn_refs bos;

	/* Nothing starts work of the queue after this. */
	spin_lock_irq(&q->fc->lock);
	q->dead = true;
	spin_unlock_irq(&q->fc->lock);
	cancel_work_sync(&q->work);
	cancel_delayed_work_sync(&q->watchdog);
	timer_shutdown_sync(&q->poll);

	/* A reset walks the queues and their rings. */
	trn_device_lock(tdev);
	mutex_lock(&q->lock);
	if (q->killed)
		trn_queue_leave_clean(q);
	trn_queue_drop_rings(q);
	q->frozen = false;
	trn_refs_init(&bos);
	trn_queue_forget_bos(q, &bos);
	mutex_unlock(&q->lock);
	up_read(&tdev->reset_lock);
	trn_refs_put(&bos);
	trn_queue_release(q);
	trn_list_free(q);
	if (q->user)
		trn_user_settle(q);
	trn_user_free(q->user);
	trn_patterns_free(q);

	mutex_lock(&tdev->queues_lock);
	list_del(&q->link);
	if (q->file) {
		mutex_lock(&q->file->lock);
		q->file->num_queues--;
		q->file->num_rings -= rings;
		mutex_unlock(&q->file->lock);
		atomic64_add(q->busy_ns, &q->file->busy_ns);
	}
	mutex_unlock(&tdev->queues_lock);
	wake_up_all(&tdev->queues_wait);
	trn_queue_put(q);
}

/**
 * trn_queue_new - create a queue
 * @tdev: device
 * @file: owner, or NULL
 * @num_rings: engines to use, 0 for the driver's choice
 * @stack: prefer engines near it, or TRAINIUM_STACK_ANY
 * @priority: TRAINIUM_PRIORITY_*
 * @user: of a user queue or list, or NULL; the queue's when it was created
 *
 * Return: the queue, to be given to trn_queue_put(); it holds a reference of its
 * own until trn_queue_close() has ended it. Or an ERR_PTR.
 */
struct trn_queue *trn_queue_new(struct trn_device *tdev, struct trn_file *file,
				u32 num_rings, u32 stack, s32 priority,
				struct trn_user *user)
{
	struct trn_queue *q;
	int idx, ret;
	u32 i;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return ERR_PTR(-ENOMEM);
	kref_init(&q->ref);
	mutex_init(&q->lock);
	init_waitqueue_head(&q->wait);
	INIT_WORK(&q->work, trn_queue_work);
	INIT_WORK(&q->teardown, trn_queue_teardown);
	INIT_DELAYED_WORK(&q->watchdog, trn_queue_watchdog);
	timer_setup(&q->poll, trn_queue_poll, 0);
	q->tdev = tdev;
	q->drm = &tdev->drm;
	q->file = file;
	q->user = user;
	q->inline_done = true;
	trn_wait_init(q);
	q->max_jobs = TRN_QUEUE_SLOTS;

	ret = -ENOMEM;
	q->fc = trn_fence_ctx_new(dev_name(tdev->drm.dev));
	q->slots = kvcalloc(TRN_QUEUE_SLOTS, sizeof(*q->slots), GFP_KERNEL_ACCOUNT);
	if (!q->fc || !q->slots)
		goto err_free;
	for (i = 0; i < TRN_QUEUE_SLOTS; i++)
		trn_refs_init(&q->slots[i].refs);

	/* Until those who end the queues find it: its memory is mapped for DMA. */
	ret = -ENODEV;
	if (!drm_dev_enter(&tdev->drm, &idx))
		goto err_free;
	ret = trn_queue_take_rings(q, num_rings ?: TRN_QUEUE_RINGS, num_rings ?: 1, stack,
				   priority);
	if (ret)
		goto err_rings;

	/* An unbind ends it as soon as it is in the list. */
	kref_get(&q->ref);
	mutex_lock(&tdev->queues_lock);
	list_add_tail(&q->link, &tdev->queues);
	mutex_unlock(&tdev->queues_lock);

	/* A reset may have gone by before the queue was in the list. */
	trn_device_lock(tdev);
	mutex_lock(&q->lock);
	trn_queue_start_rings(q);
	mutex_unlock(&q->lock);
	up_read(&tdev->reset_lock);
	drm_dev_exit(idx);
	return q;

err_rings:
	trn_device_lock(tdev);
	trn_queue_drop_rings(q);
	up_read(&tdev->reset_lock);
	drm_dev_exit(idx);
err_free:
	if (q->fc)
		trn_fence_ctx_put(q->fc);
	kvfree(q->slots);
	kfree(q);
	return ERR_PTR(ret);
}

/**
 * trn_queue_close - end a queue
 * @q: the queue
 * @kill: nobody wants what is in flight either
 *
 * Jobs that have not started fail. The queue goes away once those that have
 * started are done or dropped, which this does not wait for.
 */
void trn_queue_close(struct trn_queue *q, bool kill)
{
	u64 seqno;

	mutex_lock(&q->lock);
	if (q->closing) {
		mutex_unlock(&q->lock);
		return;
	}
	q->closing = true;
	q->refuses = -ENOENT;
	trn_queue_reap(q);
	/* What waits in a user queue may do so for ever. */
	q->killed = (kill || q->user) && q->completed != q->started;
	for (seqno = q->started + 1; seqno <= q->submitted; seqno++) {
		struct trn_slot *slot = trn_slot(q, seqno);

		trn_job_cancel_deps(slot->job);
		if (!slot->error) {
			slot->error = -ECANCELED;
			slot->reason = TRAINIUM_REASON_CLOSED;
		}
	}
	/* Under the lock: what ends the queue waits for work queued before. */
	queue_work(q->tdev->wq, &q->work);
	mutex_unlock(&q->lock);
	wake_up_all(&q->wait);
}

/**
 * trn_queue_check_place - may a queue be there, and have that priority?
 * @tdev: device
 * @stack: as a program says it
 * @priority: as a program says it
 *
 * Return: 0, -EINVAL or -EACCES.
 */
int trn_queue_check_place(struct trn_device *tdev, u32 stack, s32 priority)
{
	if (stack != TRAINIUM_STACK_ANY && stack >= tdev->hw->num_stacks)
		return -EINVAL;
	if (priority < TRAINIUM_PRIORITY_LOW || priority > TRAINIUM_PRIORITY_HIGH)
		return -EINVAL;
	return priority > TRAINIUM_PRIORITY_NORMAL && !capable(CAP_SYS_NICE) ? -EACCES : 0;
}

static int trn_queue_create_check(struct trn_device *tdev,
				  const struct drm_trainium_queue_create *args)
{
	if (args->flags || args->num_engines > TRN_QUEUE_MAX_RINGS)
		return -EINVAL;
	if (args->queue_class == TRAINIUM_QUEUE_USER) {
		if (args->num_engines > 1)
			return -EINVAL;
	} else if (args->queue_class != TRAINIUM_QUEUE_FENCED ||
		   !trn_completion_is_zero(&args->completion)) {
		return -EINVAL;
	}
	return trn_queue_check_place(tdev, args->stack, args->priority);
}

static int trn_file_charge(struct trn_file *tfile, u32 rings)
{
	int ret = 0;

	mutex_lock(&tfile->lock);
	if (tfile->num_queues >= TRN_MAX_QUEUES ||
	    tfile->num_rings + rings > TRN_MAX_FILE_RINGS) {
		ret = -EDQUOT;
	} else {
		tfile->num_queues++;
		tfile->num_rings += rings;
	}
	mutex_unlock(&tfile->lock);
	return ret;
}

static void trn_file_uncharge(struct trn_file *tfile, u32 queues, u32 rings)
{
	mutex_lock(&tfile->lock);
	tfile->num_queues -= queues;
	tfile->num_rings -= rings;
	mutex_unlock(&tfile->lock);
}

/* Waits until queues that are being ended have given their rings back. */
static void trn_queues_settle(struct trn_device *tdev)
{
	flush_workqueue(tdev->wq);
	flush_workqueue(tdev->wq);
}

/**
 * trn_file_new_queue - a queue that counts for a file
 * @tfile: the file
 * @num_rings: engines to use, 0 for the driver's choice
 * @stack: prefer engines near it, or TRAINIUM_STACK_ANY
 * @priority: TRAINIUM_PRIORITY_*
 * @user: of a user queue or list, from here on the queue's, or NULL
 *
 * Return: the queue, as trn_queue_new(), or an ERR_PTR.
 */
struct trn_queue *trn_file_new_queue(struct trn_file *tfile, u32 num_rings, u32 stack,
				     s32 priority, struct trn_user *user)
{
	u32 rings = num_rings ?: TRN_QUEUE_RINGS;
	struct trn_device *tdev = tfile->tdev;
	struct trn_queue *q;
	int ret;

	ret = trn_device_wait_up(tdev);
	if (ret)
		goto err_user;
	ret = trn_file_charge(tfile, rings);
	if (ret == -EDQUOT) {
		trn_queues_settle(tdev);
		ret = trn_file_charge(tfile, rings);
	}
	if (ret)
		goto err_user;

	q = trn_queue_new(tdev, tfile, num_rings, stack, priority, user);
	if (q == ERR_PTR(-ENOSPC)) {
		trn_queues_settle(tdev);
		q = trn_queue_new(tdev, tfile, num_rings, stack, priority, user);
	}
	if (IS_ERR(q)) {
		trn_file_uncharge(tfile, 1, rings);
		ret = PTR_ERR(q);
		goto err_user;
	}
	trn_file_uncharge(tfile, 0, rings - q->num_rings);
	return q;

err_user:
	trn_user_free(user);
	return ERR_PTR(ret);
}

/**
 * trn_ioctl_queue_create - DRM_IOCTL_TRAINIUM_QUEUE_CREATE
 * @drm: device
 * @data: struct drm_trainium_queue_create
 * @file: caller
 */
int trn_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct drm_trainium_queue_create *args = data;
	struct trn_file *tfile = file->driver_priv;
	struct trn_user *user = NULL;
	struct trn_queue *q;
	int ret;

	ret = trn_queue_create_check(tdev, args);
	if (ret)
		return ret;
	if (args->queue_class == TRAINIUM_QUEUE_USER) {
		user = trn_user_new(tdev, file, &args->completion);
		if (IS_ERR(user))
			return PTR_ERR(user);
	}
	q = trn_file_new_queue(tfile, user ? 1 : args->num_engines, args->stack, args->priority,
			       user);
	if (IS_ERR(q))
		return PTR_ERR(q);

	/* Whoever guesses its id can end it as soon as the file has it. */
	kref_get(&q->ref);
	ret = trn_file_add_queue(tfile, q);
	if (ret) {
		trn_queue_close(q, false);
		trn_queue_put(q);
	} else {
		args->queue = q->id;
	}
	trn_queue_put(q);
	return ret;
}

/**
 * trn_ioctl_queue_destroy - DRM_IOCTL_TRAINIUM_QUEUE_DESTROY
 * @drm: device
 * @data: struct drm_trainium_queue_destroy
 * @file: caller
 */
int trn_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_queue_destroy *args = data;
	struct trn_file *tfile = file->driver_priv;
	struct trn_queue *q;

	if (args->pad)
		return -EINVAL;
	q = trn_file_take_queue(tfile, args->queue);
	if (!q)
		return -ENOENT;
	trn_queue_close(q, false);
	trn_queue_put(q);
	return 0;
}

/**
 * trn_file_open - a file of the device was opened
 * @drm: device
 * @file: the file
 */
int trn_file_open(struct drm_device *drm, struct drm_file *file)
{
	struct trn_file *tfile = kzalloc(sizeof(*tfile), GFP_KERNEL_ACCOUNT);

	if (!tfile)
		return -ENOMEM;
	tfile->account = trn_account_new();
	if (!tfile->account) {
		kfree(tfile);
		return -ENOMEM;
	}
	tfile->tdev = to_trn_device(drm);
	tfile->since_ns = ktime_get_ns();
	mutex_init(&tfile->lock);
	file->driver_priv = tfile;
	return 0;
}

/**
 * trn_file_close - a file of the device was closed, perhaps by a kill
 * @drm: device, may be unplugged
 * @file: the file
 */
void trn_file_close(struct drm_device *drm, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct trn_file *tfile = file->driver_priv;
	/* By a signal, not by exit() */
	bool killed = (current->flags & PF_EXITING) && (current->exit_code & 0x7f);
	struct trn_queue *q;
	u32 id;

	/* Not the queues in @queues alone: some are on their way out. */
	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link)
		if (q->file == tfile)
			q->file = NULL;
	mutex_unlock(&tdev->queues_lock);

	for (id = 1; id <= TRN_MAX_IDS; id++) {
		q = trn_file_take_queue(tfile, id);
		if (!q)
			continue;
		trn_queue_close(q, killed);
		trn_queue_put(q);
	}
	trn_events_file_close(tfile);
	trn_groups_file_close(tfile);
	mutex_destroy(&tfile->lock);
	trn_account_put(tfile->account);
	kfree(tfile);
}

/**
 * trn_queues_prepare - what an interrupt of an engine leads to
 * @tdev: new device, before it can interrupt
 *
 * Return: 0 or a negative error.
 */
int trn_queues_prepare(struct trn_device *tdev)
{
	INIT_LIST_HEAD(&tdev->queues);
	init_waitqueue_head(&tdev->queues_wait);
	INIT_WORK(&tdev->recover_work, trn_recover_work);
	return drmm_mutex_init(&tdev->drm, &tdev->queues_lock);
}

/**
 * trn_queues_init - create what queues share, and the driver's own
 * @tdev: device whose engines work
 *
 * Return: 0 or a negative error.
 */
int trn_queues_init(struct trn_device *tdev)
{
	struct drm_device *drm = &tdev->drm;
	int ret;

	tdev->wq = alloc_workqueue("trainium-%s", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0,
				   dev_name(drm->dev));
	ret = trn_device_own_wq(tdev, tdev->wq);
	if (ret)
		return ret;
	tdev->zeroes = dma_alloc_coherent(drm->dev, TRN_PATTERN_SIZE, &tdev->zeroes_dma,
					  GFP_KERNEL);
	if (!tdev->zeroes)
		return -ENOMEM;
	/* Recovery must not allocate. */
	tdev->replay = kvmalloc_array(TRN_RING_DEFAULT_SLOTS, sizeof(*tdev->replay), GFP_KERNEL);
	if (!tdev->replay) {
		ret = -ENOMEM;
		goto err_zeroes;
	}
	tdev->clear_queue = trn_queue_new(tdev, NULL, TRN_CLEAR_RINGS, TRAINIUM_STACK_ANY,
					  TRAINIUM_PRIORITY_NORMAL, NULL);
	if (IS_ERR(tdev->clear_queue)) {
		ret = PTR_ERR(tdev->clear_queue);
		goto err_replay;
	}
	/* Its own reference is enough. */
	trn_queue_put(tdev->clear_queue);
	return 0;

err_replay:
	kvfree(tdev->replay);
err_zeroes:
	dma_free_coherent(drm->dev, TRN_PATTERN_SIZE, tdev->zeroes, tdev->zeroes_dma);
	return ret;
}

/**
 * trn_queues_fini - end all queues
 * @tdev: device whose jobs were ended by trn_queues_stop()
 *
 * No ring is left when this returns, and no buffer is used by an engine. The
 * queues of files that are open stay as names without rings.
 */
void trn_queues_fini(struct trn_device *tdev)
{
	struct trn_queue *q;

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link)
		trn_queue_close(q, true);
	mutex_unlock(&tdev->queues_lock);

	wait_event(tdev->queues_wait, list_empty_careful(&tdev->queues));
	cancel_work_sync(&tdev->recover_work);
	kvfree(tdev->replay);
	dma_free_coherent(tdev->drm.dev, TRN_PATTERN_SIZE, tdev->zeroes, tdev->zeroes_dma);
}
