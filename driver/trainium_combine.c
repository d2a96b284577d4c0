// SPDX-License-Identifier: GPL-2.0-only
/* Ops that combine elements on their way: reduce-read and accumulate. */
#include "trainium_emit.h"
#include "trainium_fabric.h"
#include "trainium_submit.h"

/* Offsets, sizes and addresses of such ops are multiples of it. */
#define TRN_COMBINE_ALIGN	16u

#define TRN_COMBINE_FLAGS	TRAINIUM_OP_F_COMBINE(0xff, 0xff)

/* Numbers of the uapi are those of the hardware. */
static_assert(TRN_META_OP_MAX - TRAINIUM_COMBINE_MAX == 0);
static_assert(TRN_META_DTYPE_FP8_E5M2 - TRAINIUM_DTYPE_FP8_E5M2 == 0);

static u32 trn_combine_how(u32 flags)
{
	return flags >> 8 & 0xff;
}

static u32 trn_combine_dtype(u32 flags)
{
	return flags >> 16 & 0xff;
}

/**
 * trn_combine_check - can the device do an op that combines?
 * @tdev: device
 * @op: the op, as the user has it
 *
 * Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int trn_combine_check(const struct trn_device *tdev, const struct drm_trainium_op *op)
{
	u32 how = trn_combine_how(op->flags), dtype = trn_combine_dtype(op->flags);
	const struct trn_fabric *f = tdev->fabric;

	if (op->flags & ~(TRAINIUM_OP_F_BARRIER | TRN_COMBINE_FLAGS) ||
	    how > TRAINIUM_COMBINE_MAX || dtype > TRAINIUM_DTYPE_FP8_E5M2)
		return -EINVAL;
	/* The engines of devices with a fabric block combine whatever there is. */
	if (!f)
		return -EOPNOTSUPP;
	if (op->type == TRAINIUM_OP_REDUCE &&
	    (!(f->reduce_combines & BIT(how)) || !(f->reduce_dtypes & BIT(dtype))))
		return -EOPNOTSUPP;
	return 0;
}

static bool trn_bo_combine_aligned(const struct trn_bo *bo)
{
	u32 i;

	for (i = 0; i < bo->num_segs; i++)
		if ((bo->segs[i].axi | bo->segs[i].offset) % TRN_COMBINE_ALIGN)
			return false;
	return true;
}

/**
 * trn_combine_aligned - are all pieces of an op aligned as they have to be?
 * @op: the op, its buffers found
 */
bool trn_combine_aligned(const struct trn_job_op *op)
{
	return (op->dst_offset | op->src_offset | op->size) % TRN_COMBINE_ALIGN == 0 &&
	       trn_bo_combine_aligned(op->dst) && trn_bo_combine_aligned(op->src);
}

/**
 * trn_emit_combine - write a reduce or accumulate
 * @e: where
 * @op: the op
 * @done: bytes of it that are written
 *
 * Return: all of it is written.
 */
bool trn_emit_combine(struct trn_emit *e, const struct trn_job_op *op, u64 *done)
{
	bool reduce = op->type == TRAINIUM_OP_REDUCE, all;
	struct trn_cursor dst, src;

	trn_cursor_set(&dst, op->dst, op->dst_offset + *done);
	trn_cursor_set(&src, op->src, op->src_offset + *done);
	/* Segments of a group are in the aperture for multicast. */
	if (reduce)
		src.axi ^= (TRN_FABRIC_MULTICAST ^ TRN_FABRIC_REDUCE) << TRN_FABRIC_TYPE_SHIFT;
	e->meta = (TRN_META_COPY & ~(TRN_META_OP_MASK | TRN_META_OP_TYPE_MASK)) |
		  (reduce ? TRN_META_OP_TYPE_REDUCE : TRN_META_OP_TYPE_ACCUMULATE) <<
			TRN_META_OP_TYPE_SHIFT |
		  trn_combine_how(op->flags) << TRN_META_OP_SHIFT |
		  trn_combine_dtype(op->flags) << TRN_META_DTYPE_SHIFT;
	all = trn_emit_span(e, op, &dst, &src, done);
	e->meta = TRN_META_COPY;
	return all;
}
