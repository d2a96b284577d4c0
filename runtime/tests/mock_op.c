// SPDX-License-Identifier: MIT
/* Ops of the simulated driver */
#include <errno.h>
#include <string.h>

#include "mock_internal.h"

int mock_check_op(struct mock_file *file, const struct drm_trainium_op *op,
		  const struct drm_trainium_op_strided *strides)
{
	struct mock_bo *dst = mock_bo(file, op->dst), *src;

	uint32_t flags = TRAINIUM_OP_F_BARRIER;

	if (op->type == TRAINIUM_OP_REDUCE || op->type == TRAINIUM_OP_ACCUMULATE)
		flags |= TRAINIUM_OP_F_COMBINE(255, 255);
	if (op->type == TRAINIUM_OP_SIGNAL)
		flags |= TRAINIUM_OP_F_SET;
	if (op->type == TRAINIUM_OP_WAIT)
		flags |= TRAINIUM_OP_F_TAKE;
	if (op->flags & ~flags || !op->size)
		return -EINVAL;
	if (!dst)
		return -ENOENT;
	if (op->dst_offset > dst->size || op->size > dst->size - op->dst_offset)
		return -EINVAL;
	if (op->type == TRAINIUM_OP_TIMESTAMP)
		return op->size == 8 && !op->src && !op->src_offset ? 0 : -EINVAL;
	if (op->type == TRAINIUM_OP_SIGNAL || op->type == TRAINIUM_OP_WAIT)
		return op->size == 8 && op->pattern_size == 8 && op->dst_offset % 8 == 0 ?
			       0 : -EINVAL;
	if (op->type == TRAINIUM_OP_FILL) {
		if (op->pattern_size != 1 && op->pattern_size != 2 && op->pattern_size != 4 &&
		    op->pattern_size != 8)
			return -EINVAL;
		return (op->dst_offset | op->size) % op->pattern_size ? -EINVAL : 0;
	}
	src = mock_bo(file, op->src);
	if (!src)
		return -ENOENT;
	if (op->type == TRAINIUM_OP_COPY_STRIDED)
		return strides->rows && strides->planes ? 0 : -EINVAL;
	if (op->src_offset > src->size || op->size > src->size - op->src_offset)
		return -EINVAL;
	if (op->type == TRAINIUM_OP_REDUCE)
		return src->placement == TRAINIUM_BO_GROUP ? 0 : -EINVAL;
	return op->type == TRAINIUM_OP_COPY || op->type == TRAINIUM_OP_ACCUMULATE ? 0 : -EINVAL;
}

static void run_strided(const struct mock_op *run)
{
	const struct drm_trainium_op_strided *s = &run->strides;
	uint64_t row, plane;

	for (plane = 0; plane < s->planes; plane++)
		for (row = 0; row < s->rows; row++)
			memcpy((char *)run->dst->memory + run->op.dst_offset +
			       row * s->dst_row_pitch + plane * s->dst_plane_pitch,
			       (char *)run->src->memory + run->op.src_offset +
			       row * s->src_row_pitch + plane * s->src_plane_pitch,
			       run->op.size);
}

/* Sums of 32-bit integers are enough to see what was asked for. */
static void accumulate(uint32_t *dst, const char *src, const struct drm_trainium_op *op)
{
	const uint32_t *from = (const void *)(src + op->src_offset);
	uint64_t i;

	assert_int_equal(op->flags & ~TRAINIUM_OP_F_BARRIER,
			 TRAINIUM_OP_F_COMBINE(TRAINIUM_COMBINE_SUM, TRAINIUM_DTYPE_UINT32));
	for (i = 0; i < op->size / sizeof(*dst); i++)
		dst[i] += from[i];
}

static int64_t *semaphore(const struct mock_op *run)
{
	return (int64_t *)((char *)run->dst->memory + run->op.dst_offset);
}

bool mock_wait_over(const struct mock_op *run)
{
	int64_t *word = semaphore(run);

	if (*word < (int64_t)run->op.pattern)
		return false;
	if (run->op.flags & TRAINIUM_OP_F_TAKE)
		*word -= (int64_t)run->op.pattern;
	return true;
}

void mock_run_op(const struct mock_op *run)
{
	const struct drm_trainium_op *op = &run->op;
	unsigned char *dst = run->dst->memory;
	uint64_t i;

	if (op->type == TRAINIUM_OP_COPY_STRIDED) {
		run_strided(run);
		return;
	}
	if (op->type == TRAINIUM_OP_SIGNAL) {
		if (op->flags & TRAINIUM_OP_F_SET)
			*semaphore(run) = (int64_t)op->pattern;
		else
			*semaphore(run) += (int64_t)op->pattern;
		return;
	}

	dst += op->dst_offset;
	if (op->type == TRAINIUM_OP_TIMESTAMP) {
		memcpy(dst, &(uint64_t){ ++mock.time }, 8);
		return;
	}
	if (op->type == TRAINIUM_OP_ACCUMULATE) {
		accumulate((uint32_t *)dst, run->src->memory, op);
		return;
	}
	if (op->type == TRAINIUM_OP_COPY || op->type == TRAINIUM_OP_REDUCE)
		memcpy(dst, (char *)run->src->memory + op->src_offset, op->size);
	else
		for (i = 0; i < op->size; i++)
			dst[i] = (unsigned char)(op->pattern >> (8 * (i % op->pattern_size)));
}
