// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ops on semaphores: words in memory that one queue raises and another waits
 * for, without the CPU. The operand lies in the ring's own memory, in the word
 * beside the descriptor: as many as there are descriptors.
 */
#include "trainium_emit.h"
#include "trainium_submit.h"
#include "trainium_user.h"

static u32 trn_semaphore_op(const struct trn_job_op *op)
{
	if (op->type == TRAINIUM_OP_SIGNAL)
		return op->flags & TRAINIUM_OP_F_SET ? TRN_META_OP_SEM_SET : TRN_META_OP_SEM_ADD;
	return op->flags & TRAINIUM_OP_F_TAKE ? TRN_META_OP_SEM_TAKE : TRN_META_OP_SEM_WAIT;
}

/* The device looks at it again and again: memory of its own or of the host. */
static bool trn_bo_can_wait(const struct trn_bo *bo)
{
	return bo->placement == TRAINIUM_BO_HBM || bo->placement == TRAINIUM_BO_HOST ||
	       bo->placement == TRAINIUM_BO_USERPTR;
}

/**
 * trn_semaphore_check - take an op on a semaphore
 * @q: where it was submitted
 * @op: to be filled in; its destination was found, its range is right
 * @in: the op, as the user has it
 *
 * Waiting is for user queues: nothing bounds it.
 *
 * Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int trn_semaphore_check(const struct trn_queue *q, struct trn_job_op *op,
			const struct drm_trainium_op *in)
{
	bool wait = in->type == TRAINIUM_OP_WAIT;
	u32 flags = TRAINIUM_OP_F_BARRIER | (wait ? TRAINIUM_OP_F_TAKE : TRAINIUM_OP_F_SET);

	if (!trn_has_semaphores(q->tdev))
		return -EOPNOTSUPP;
	if (in->flags & ~flags || in->pattern_size != sizeof(u64) || in->size != sizeof(u64))
		return -EINVAL;
	if (in->dst_offset % sizeof(u64) || !trn_bo_is_aligned(op->dst, in->dst_offset))
		return -EINVAL;
	if (wait && (!q->user || !trn_bo_can_wait(op->dst)))
		return -EINVAL;
	op->pattern = in->pattern;
	/* The device keeps what a ring writes in order. */
	if (wait || q->num_rings > 1)
		op->flags |= TRAINIUM_OP_F_BARRIER;
	return 0;
}

/**
 * trn_emit_semaphore - write an op on a semaphore
 * @e: where
 * @op: the op
 * @done: bytes of it that are written
 *
 * Return: it is written.
 */
bool trn_emit_semaphore(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	struct trn_cursor dst;

	if (!e->space)
		return false;
	trn_cursor_set(&dst, op->dst, op->dst_offset);
	e->meta = (TRN_META_COPY & ~(TRN_META_OP_MASK | TRN_META_OP_TYPE_MASK)) |
		  TRN_META_OP_TYPE_SEMAPHORE << TRN_META_OP_TYPE_SHIFT |
		  trn_semaphore_op(op) << TRN_META_OP_SHIFT;
	trn_emit_desc(e, dst.axi, trn_ring_operand(e->ring, op->pattern), sizeof(u64),
		      op->type == TRAINIUM_OP_WAIT ? TRN_RING_DMB : 0);
	e->meta = TRN_META_COPY;
	/* What follows in the queue starts after a wait, and need not after a signal. */
	if (op->type == TRAINIUM_OP_WAIT)
		e->flags = TRN_RING_DMB;
	else
		trn_ring_order(e->ring);
	*done = sizeof(u64);
	return true;
}
