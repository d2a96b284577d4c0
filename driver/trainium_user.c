// SPDX-License-Identifier: GPL-2.0-only
/* User queues and user lists: how they tell what they have done. */
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "trainium_emit.h"
#include "trainium_user.h"

/**
 * trn_completion_is_zero - does a program that wants none say so?
 * @c: as the program has it
 */
bool trn_completion_is_zero(const struct drm_trainium_completion *c)
{
	return !c->handle && !c->flags && !c->offset && !c->eventfd && !c->pad;
}

/* The word is written by the device and, when jobs were lost, by the CPU. */
static int trn_user_take_word(struct trn_user *user, struct drm_file *file,
			      const struct drm_trainium_completion *c)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, c->handle);
	struct trn_bo *bo;

	if (!obj)
		return -ENOENT;
	bo = to_trn_bo(obj);
	user->bo = bo;
	if (bo->placement != TRAINIUM_BO_HOST || c->offset % sizeof(u64) ||
	    !trn_bo_has_range(bo, c->offset, sizeof(u64)))
		return -EINVAL;
	if (bo->flags & (TRN_BO_F_SYNC | TRN_BO_F_SPECIAL))
		return -EOPNOTSUPP;
	user->offset = c->offset;
	user->word = page_address(bo->pages[c->offset >> PAGE_SHIFT]) +
		     offset_in_page(c->offset);
	return 0;
}

/**
 * trn_user_new - take what a program says of completion
 * @tdev: device
 * @file: of the program
 * @c: as the program has it
 *
 * Return: for trn_queue.user, or an ERR_PTR: -EINVAL, -ENOENT for the handle,
 * -EBADF or -EINVAL for the eventfd, -EOPNOTSUPP, -ENOMEM.
 */
struct trn_user *trn_user_new(struct trn_device *tdev, struct drm_file *file,
			      const struct drm_trainium_completion *c)
{
	struct trn_user *user;
	int ret = 0;

	if (!trn_has_semaphores(tdev))
		return ERR_PTR(-EOPNOTSUPP);
	if (c->flags & ~TRAINIUM_COMPLETION_EVENTFD || c->pad || (!c->handle && c->offset) ||
	    (c->eventfd && !(c->flags & TRAINIUM_COMPLETION_EVENTFD)))
		return ERR_PTR(-EINVAL);
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return ERR_PTR(-ENOMEM);
	if (c->handle)
		ret = trn_user_take_word(user, file, c);
	if (!ret && c->flags & TRAINIUM_COMPLETION_EVENTFD) {
		user->event = eventfd_ctx_fdget(c->eventfd);
		if (IS_ERR(user->event)) {
			ret = PTR_ERR(user->event);
			user->event = NULL;
		}
	}
	if (ret) {
		trn_user_free(user);
		return ERR_PTR(ret);
	}
	return user;
}

/**
 * trn_user_free - let go of it
 * @user: of a queue whose rings are gone, or NULL; no lock is held
 */
void trn_user_free(struct trn_user *user)
{
	if (!user)
		return;
	if (user->event)
		eventfd_ctx_put(user->event);
	if (user->bo)
		trn_bo_put(user->bo);
	kfree(user);
}

/**
 * trn_user_lost - a job has not ended as it should
 * @q: user queue or list; fc->lock is held
 * @err: how the job has ended
 *
 * The queue takes no more jobs. In a reset of the device the engines may still
 * write: see trn_user_settle().
 */
void trn_user_lost(struct trn_queue *q, int err)
{
	struct trn_user *user = q->user;

	lockdep_assert_held(&q->fc->lock);
	if (user->error)
		return;
	WRITE_ONCE(user->error, err);
	if (user->word)
		WRITE_ONCE(*user->word, cpu_to_le64(TRAINIUM_COMPLETION_ENDED));
}

/**
 * trn_user_settle - the device writes no more: the last word is the CPU's
 * @q: user queue or list whose rings were stopped since its jobs have ended
 */
void trn_user_settle(struct trn_queue *q)
{
	if (trn_user_error(q) && q->user->word)
		WRITE_ONCE(*q->user->word, cpu_to_le64(TRAINIUM_COMPLETION_ENDED));
}

/**
 * trn_user_tell - jobs have ended
 * @q: user queue or list; any context
 */
void trn_user_tell(struct trn_queue *q)
{
	if (q->user->event)
		eventfd_signal(q->user->event);
}

/**
 * trn_user_error - does the queue take no more jobs?
 * @q: any queue
 *
 * Return: 0, or how the first job that was lost has ended.
 */
int trn_user_error(struct trn_queue *q)
{
	return q->user ? READ_ONCE(q->user->error) : 0;
}

/**
 * trn_user_complete_op - what a job of the queue ends with
 * @user: of the queue
 * @op: to be filled in
 */
void trn_user_complete_op(const struct trn_user *user, struct trn_job_op *op)
{
	*op = (struct trn_job_op) {
		.type = TRN_OP_COMPLETE,
		.flags = TRAINIUM_OP_F_BARRIER,
		.dst = user->bo,
		.dst_offset = user->offset,
		.size = sizeof(u64),
	};
}

/**
 * trn_emit_complete - write that op: the seqno goes to the completion word
 * @e: where
 * @op: the op
 * @done: bytes of it that are written
 *
 * Return: it is written.
 */
bool trn_emit_complete(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	struct trn_cursor dst;

	if (!e->space)
		return false;
	trn_cursor_set(&dst, op->dst, op->dst_offset);
	trn_emit_desc(e, dst.axi, trn_ring_operand(e->ring, e->seqno), sizeof(u64),
		      TRN_RING_DMB);
	*done = sizeof(u64);
	return true;
}
