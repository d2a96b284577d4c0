// SPDX-License-Identifier: GPL-2.0-only
/* Strides of copies in two and three dimensions: taking and checking them. */
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "trainium_queue.h"

/**
 * trn_fetch_strides - what is behind the ops in their array
 * @args: the submit
 * @job: gets the strides
 * @from: first op
 * @num: number of ops
 * @ops: those ops
 *
 * It is strides, and then nothing that is known here.
 *
 * Return: 0, -EINVAL, -EFAULT or -ENOMEM.
 */
int trn_fetch_strides(const struct drm_trainium_submit *args, struct trn_job *job, u32 from,
		      u32 num, const struct drm_trainium_op *ops)
{
	const size_t known = sizeof(struct drm_trainium_op_strided);
	const void __user *ptr = u64_to_user_ptr(args->ops) + (u64)from * args->op_stride;
	u32 i;

	BUILD_BUG_ON(known - sizeof(*ops) != sizeof(struct trn_strides));
	if (args->op_stride < known)
		return -EINVAL;
	if (!job->strides)
		job->strides = kvcalloc(job->num_ops, sizeof(*job->strides), GFP_KERNEL_ACCOUNT);
	if (!job->strides)
		return -ENOMEM;
	for (i = 0; i < num; i++, ptr += args->op_stride) {
		struct trn_strides *to = &job->strides[from + i];
		int zero = check_zeroed_user(ptr + known, args->op_stride - known);

		if (zero <= 0)
			return zero ?: -EINVAL;
		if (copy_from_user(to, ptr + sizeof(*ops), sizeof(*to)))
			return -EFAULT;
		if (ops[i].type != TRAINIUM_OP_COPY_STRIDED && memchr_inv(to, 0, sizeof(*to)))
			return -EINVAL;
	}
	return 0;
}

/* Bytes from the first to the last of a side; false when there is no such side. */
static bool trn_strided_span(const struct trn_strides *st, u64 size, u64 row_pitch,
			     u64 plane_pitch, u64 *span)
{
	u64 rows, planes;

	return !check_mul_overflow((u64)st->rows - 1, row_pitch, &rows) &&
	       !check_mul_overflow((u64)st->planes - 1, plane_pitch, &planes) &&
	       !check_add_overflow(rows, planes, span) &&
	       !check_add_overflow(*span, size, span);
}

/* No byte of the destination is written twice. Its span is known to be. */
static bool trn_strided_apart(const struct trn_strides *st, u64 size)
{
	u64 inner = st->dst_row_pitch, outer = st->dst_plane_pitch, num = st->rows;

	if (st->planes == 1)
		return num == 1 || inner >= size;
	if (num == 1)
		return outer >= size;
	if (outer < inner) {
		swap(inner, outer);
		num = st->planes;
	}
	return inner >= size && outer >= (num - 1) * inner + size;
}

/**
 * trn_strided_check - are the ranges of a strided copy right?
 * @op: the copy, with its buffers
 *
 * Return: 0 or -EINVAL.
 */
int trn_strided_check(const struct trn_job_op *op)
{
	const struct trn_strides *st = op->strides;
	u64 dst, src;

	if (!st->rows || !st->planes)
		return -EINVAL;
	if (!trn_strided_span(st, op->size, st->dst_row_pitch, st->dst_plane_pitch, &dst) ||
	    !trn_strided_span(st, op->size, st->src_row_pitch, st->src_plane_pitch, &src))
		return -EINVAL;
	if (!trn_bo_has_range(op->dst, op->dst_offset, dst) ||
	    !trn_bo_has_range(op->src, op->src_offset, src) || !trn_strided_apart(st, op->size))
		return -EINVAL;
	if (op->src == op->dst && op->src_offset < op->dst_offset + dst &&
	    op->dst_offset < op->src_offset + src)
		return -EINVAL;
	return 0;
}
