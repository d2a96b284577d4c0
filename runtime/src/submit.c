// SPDX-License-Identifier: MIT
/*
 * From a list of ops to jobs of the driver. A list that fits the driver's
 * limits becomes one job and one ioctl, without any allocation if it is short.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

_Static_assert((int)NEURON_OP_COPY == TRAINIUM_OP_COPY, "ops");
_Static_assert((int)NEURON_OP_FILL == TRAINIUM_OP_FILL, "ops");
_Static_assert((int)NEURON_OP_COPY_STRIDED == TRAINIUM_OP_COPY_STRIDED, "ops");
_Static_assert((int)NEURON_OP_TIMESTAMP == TRAINIUM_OP_TIMESTAMP, "ops");
_Static_assert((int)NEURON_OP_REDUCE == TRAINIUM_OP_REDUCE, "ops");
_Static_assert((int)NEURON_OP_ACCUMULATE == TRAINIUM_OP_ACCUMULATE, "ops");
_Static_assert(NEURON_OP_BARRIER == TRAINIUM_OP_F_BARRIER, "op flags");
_Static_assert(NEURON_OP_COMBINE(2, 7) == TRAINIUM_OP_F_COMBINE(2, 7), "op flags");
_Static_assert((int)NEURON_COMBINE_MAX == TRAINIUM_COMBINE_MAX, "combines");
_Static_assert((int)NEURON_DTYPE_FP8_E5M2 == TRAINIUM_DTYPE_FP8_E5M2, "dtypes");
_Static_assert(sizeof(struct drm_trainium_op) == 40, "op stride");
_Static_assert(sizeof(struct drm_trainium_op_strided) == 80, "op stride");

/* Arrays up to here are on the stack. */
#define SHORT_LIST 16
/* A large op is cut at multiples of this. */
#define CUT 4096ull
/* Offsets and sizes of ops that combine are multiples of this. */
#define COMBINE_ALIGN 16u

/**
 * struct nrn_job - one call of the submit ioctl, and the list it is cut from
 */
struct nrn_job {
	struct neuron_queue *queue;
	const struct neuron_op *list;
	uint32_t list_count;
	/** @next: first op of the list that is not in a job yet, and its bytes that are */
	uint32_t next;
	uint64_t next_done;
	/** @ops: ops of this job; room for @capacity of @stride bytes */
	struct drm_trainium_op *ops;
	uint32_t capacity;
	uint32_t stride;
	struct drm_trainium_submit submit;
};

static int check_pattern(const struct neuron_op *op, const struct neuron_device *device)
{
	uint32_t n = op->pattern_size;

	if (n != 1 && n != 2 && n != 4 && n != 8)
		return nrn_fail(-EINVAL, "%s: a pattern of %u bytes: 1, 2, 4 or 8 are possible",
				device->label, n);
	if (n < 8 && op->pattern >> (8 * n))
		return nrn_fail(-EINVAL, "%s: pattern 0x%" PRIx64 " has more than %u bytes",
				device->label, op->pattern, n);
	if ((op->dst_offset | op->size) & (n - 1))
		return nrn_fail(-EINVAL,
				"%s: offset %" PRIu64 " and size %" PRIu64
				" of a fill are no multiples of the pattern's %u bytes",
				nrn_buffer_label(op->dst).text, op->dst_offset, op->size, n);
	return 0;
}

static int check_copy(const struct neuron_op *op)
{
	int ret = nrn_buffer_check(op->src, op->src_offset, op->size);

	if (ret)
		return ret;
	if (op->src->handle == op->dst->handle && op->src_offset < op->dst_offset + op->size &&
	    op->dst_offset < op->src_offset + op->size)
		return nrn_fail(-EINVAL,
				"%s: copy of %" PRIu64 " bytes from offset %" PRIu64 " to %" PRIu64
				" overlaps itself",
				nrn_buffer_label(op->dst).text, op->size, op->src_offset,
				op->dst_offset);
	return 0;
}

/* Bytes of one side from its first to its last; 0 when that is no number. */
static uint64_t strided_span(const struct neuron_strides *s, uint64_t size, uint64_t row_pitch,
			     uint64_t plane_pitch)
{
	uint64_t rows, planes, span;

	if (__builtin_mul_overflow(s->rows - 1, row_pitch, &rows) ||
	    __builtin_mul_overflow(s->planes - 1, plane_pitch, &planes) ||
	    __builtin_add_overflow(rows, planes, &span) ||
	    __builtin_add_overflow(span, size, &span))
		return 0;
	return span;
}

/* Rows that overlap are left to the driver, which must look for them anyway. */
static int check_strided(const struct neuron_op *op, const struct neuron_device *device)
{
	const struct neuron_strides *s = op->strides;
	uint64_t dst, src, bytes;
	int ret;

	if (!s || !s->rows || !s->planes)
		return nrn_fail(-EINVAL, "%s: a strided copy without %s", device->label,
				s ? "rows" : "strides (NULL)");
	if (!device->limits.max_rows)
		return nrn_fail(-EINVAL, "%s: the driver is too old for strided copies",
				device->label);
	dst = strided_span(s, op->size, s->dst_row_pitch, s->dst_plane_pitch);
	src = strided_span(s, op->size, s->src_row_pitch, s->src_plane_pitch);
	ret = nrn_buffer_check(op->dst, op->dst_offset, dst ? dst : UINT64_MAX);
	if (!ret)
		ret = nrn_buffer_check(op->src, op->src_offset, src ? src : UINT64_MAX);
	if (ret)
		return ret;
	if ((uint64_t)s->rows * s->planes > device->limits.max_rows ||
	    __builtin_mul_overflow((uint64_t)s->rows * s->planes, op->size, &bytes) ||
	    bytes > device->limits.max_job_bytes)
		return nrn_fail(-EINVAL,
				"%s: a strided copy of %u x %u rows of %" PRIu64
				" bytes: the limits are %u rows and %" PRIu64 " bytes in all",
				device->label, s->planes, s->rows, op->size,
				device->limits.max_rows, (uint64_t)device->limits.max_job_bytes);
	if (op->src->handle == op->dst->handle && op->src_offset < op->dst_offset + dst &&
	    op->dst_offset < op->src_offset + src)
		return nrn_fail(-EINVAL, "%s: a strided copy overlaps itself",
				nrn_buffer_label(op->dst).text);
	return 0;
}

static int check_timestamp(const struct neuron_op *op, const struct neuron_device *device)
{
	if (!(device->features & NEURON_FEATURE_TIMESTAMP))
		return nrn_fail(-EOPNOTSUPP, "%s: the device has no timestamps", device->label);
	if (op->size != sizeof(uint64_t) || op->dst_offset % sizeof(uint64_t))
		return nrn_fail(-EINVAL,
				"%s: a timestamp of %" PRIu64 " bytes at offset %" PRIu64
				": it has 8, and so is it aligned",
				nrn_buffer_label(op->dst).text, op->size, op->dst_offset);
	return 0;
}

static bool op_combines(const struct neuron_op *op)
{
	return op->type == NEURON_OP_REDUCE || op->type == NEURON_OP_ACCUMULATE;
}

static bool op_copies(const struct neuron_op *op)
{
	return op->type == NEURON_OP_COPY || op->type == NEURON_OP_COPY_STRIDED ||
	       op_combines(op);
}

static bool op_is_semaphore(const struct neuron_op *op)
{
	return op->type == NEURON_OP_SIGNAL || op->type == NEURON_OP_WAIT;
}

static int check_semaphore(const struct neuron_op *op, const struct neuron_device *device)
{
	if (!(device->features & NEURON_FEATURE_SEMAPHORE))
		return nrn_fail(-EOPNOTSUPP, "%s: the device has no semaphores", device->label);
	if (op->size != 8 || op->pattern_size != 8 || op->dst_offset % 8)
		return nrn_fail(-EINVAL,
				"%s: a semaphore is 8 bytes at a multiple of 8, not %" PRIu64
				" at %" PRIu64 "; size and pattern_size are 8",
				nrn_buffer_label(op->dst).text, op->size, op->dst_offset);
	return 0;
}

static int check_combine(const struct neuron_op *op, const struct neuron_device *device)
{
	uint32_t combine = op->flags >> 8 & 0xff, dtype = op->flags >> 16;

	if (!(device->features & TRAINIUM_FEATURE_FABRIC))
		return nrn_fail(-EOPNOTSUPP, "%s: the device cannot combine elements",
				device->label);
	if (combine > NEURON_COMBINE_MAX || dtype > NEURON_DTYPE_FP8_E5M2)
		return nrn_fail(-EINVAL, "%s: elements of type %u cannot be combined by %u",
				device->label, dtype, combine);
	if ((op->dst_offset | op->src_offset | op->size) % COMBINE_ALIGN)
		return nrn_fail(-EINVAL,
				"%s: offsets and size of an op that combines are multiples of %u",
				nrn_buffer_label(op->dst).text, COMBINE_ALIGN);
	return check_copy(op);
}

/* Of ops with a source */
static int check_source(const struct neuron_op *op)
{
	bool group = op->src->placement == NEURON_GROUP, reduce = op->type == NEURON_OP_REDUCE;

	if (group != reduce)
		return nrn_fail(-EINVAL, "%s: a reduce reads from a buffer of a group%s",
				nrn_buffer_label(op->src).text,
				reduce ? "" : ", and nothing else does");
	if (op->type == NEURON_OP_COPY && (op->pattern || op->pattern_size))
		return nrn_fail(-EINVAL, "%s: a copy has no pattern",
				nrn_buffer_label(op->dst).text);
	return 0;
}

static int check_op(const struct neuron_device *device, const struct neuron_op *op)
{
	uint32_t allowed = NEURON_OP_BARRIER | (op_combines(op) ? NEURON_OP_COMBINE(255, 255) : 0) |
			   (op->type == NEURON_OP_SIGNAL ? NEURON_OP_SET : 0) |
			   (op->type == NEURON_OP_WAIT ? NEURON_OP_TAKE : 0);
	const struct neuron_buffer *buffer = op->dst;
	bool copies = op_copies(op);
	int ret;

	if (op->type > NEURON_OP_WAIT)
		return nrn_fail(-EINVAL, "%s: an op of type %u does not exist", device->label,
				op->type);
	if (op->flags & ~allowed || op->reserved)
		return nrn_fail(-EINVAL, "%s: unknown flags 0x%x of an op", device->label,
				op->flags);
	if (!op->dst || (copies && !op->src))
		return nrn_fail(-EINVAL, "%s: an op without %s (NULL)", device->label,
				op->dst ? "source" : "destination");
	if (!op->size)
		return nrn_fail(-EINVAL, "%s: an op of 0 bytes", device->label);
	if (buffer->device == device && copies)
		buffer = op->src;
	if (buffer->device != device)
		return nrn_fail(-EXDEV, "%s: is not of device %s: export it and import it there",
				nrn_buffer_label(buffer).text, device->label);
	if (op->dst->flags & NEURON_BUFFER_READ_ONLY)
		return nrn_fail(-EINVAL, "%s: is read-only", nrn_buffer_label(op->dst).text);
	ret = nrn_buffer_check(op->dst, op->dst_offset, op->size);
	if (!ret && copies)
		ret = check_source(op);
	if (ret)
		return ret;
	if (op->type == NEURON_OP_COPY)
		return check_copy(op);
	if (op->type == NEURON_OP_TIMESTAMP)
		return check_timestamp(op, device);
	if (op_combines(op))
		return check_combine(op, device);
	if (op_is_semaphore(op))
		return check_semaphore(op, device);
	return op->type == NEURON_OP_FILL ? check_pattern(op, device) : check_strided(op, device);
}

static int check_list(struct neuron_queue *queue, const struct neuron_op *ops, uint32_t op_count)
{
	uint32_t i;
	int ret;

	if (!queue || !ops || !op_count)
		return nrn_fail(-EINVAL, "submit without %s", queue ? "ops" : "queue (NULL)");
	for (i = 0; i < op_count; i++) {
		ret = check_op(queue->device, &ops[i]);
		if (ret) {
			if (op_count > 1)
				nrn_fail_more(" (ops[%u] of %u)", i, op_count);
			return ret;
		}
	}
	return 0;
}

static int job_init(struct nrn_job *job, struct neuron_queue *queue, const struct neuron_op *ops,
		    uint32_t op_count, struct drm_trainium_op *short_list)
{
	uint32_t max_ops = queue->device->limits.max_ops, room, i;

	job->queue = queue;
	job->list = ops;
	job->list_count = op_count;
	job->next = 0;
	job->next_done = 0;
	job->ops = short_list;
	job->stride = sizeof(struct drm_trainium_op);
	for (i = 0; i < op_count; i++)
		if (ops[i].type == NEURON_OP_COPY_STRIDED)
			job->stride = sizeof(struct drm_trainium_op_strided);
	room = SHORT_LIST * sizeof(*short_list) / job->stride;
	job->capacity = room;
	if (op_count > room && max_ops > room) {
		job->capacity = op_count < max_ops ? op_count : max_ops;
		job->ops = malloc((size_t)job->capacity * job->stride);
		if (!job->ops)
			return nrn_fail(-ENOMEM, "%s: out of memory", queue->device->label);
	} else if (max_ops && max_ops < room) {
		job->capacity = max_ops;
	}
	return 0;
}

static void job_fini(struct nrn_job *job, struct drm_trainium_op *short_list)
{
	if (job->ops != short_list)
		free(job->ops);
}

static bool job_more(const struct nrn_job *job)
{
	return job->next < job->list_count;
}

static inline void put_op(struct drm_trainium_op *out, const struct neuron_op *op, uint64_t done,
			  uint64_t size)
{
	out->type = op->type;
	out->flags = done ? op->flags & ~NEURON_OP_BARRIER : op->flags;
	out->dst = op->dst->handle;
	out->dst_offset = op->dst_offset + done;
	out->size = size;
	if (op_copies(op)) {
		out->src = op->src->handle;
		out->src_offset = op->src_offset + done;
	} else {
		/* Both 0 in a timestamp */
		out->pattern_size = op->pattern_size;
		out->pattern = op->pattern;
	}
}

/* An element of an array in which some are strided */
static void put_strides(struct drm_trainium_op *out, const struct neuron_op *op)
{
	struct drm_trainium_op_strided *to = (struct drm_trainium_op_strided *)out;
	static const struct neuron_strides none;
	const struct neuron_strides *s = op->type == NEURON_OP_COPY_STRIDED ? op->strides : &none;

	to->rows = s->rows;
	to->planes = s->planes;
	to->dst_row_pitch = s->dst_row_pitch;
	to->dst_plane_pitch = s->dst_plane_pitch;
	to->src_row_pitch = s->src_row_pitch;
	to->src_plane_pitch = s->src_plane_pitch;
}

static uint64_t op_bytes(const struct neuron_op *op)
{
	if (op->type != NEURON_OP_COPY_STRIDED)
		return op->size;
	return op->size * op->strides->rows * op->strides->planes;
}

static uint64_t op_rows(const struct neuron_op *op)
{
	if (op->type != NEURON_OP_COPY_STRIDED)
		return 0;
	return (uint64_t)op->strides->rows * op->strides->planes;
}

/* Makes the next job of the list. */
static void job_cut(struct nrn_job *job)
{
	const struct neuron_op *op = job->list + job->next, *end = job->list + job->list_count;
	uint64_t room = job->queue->device->limits.max_job_bytes, done = job->next_done, size;
	uint64_t rows = job->queue->device->limits.max_rows;
	char *out = (char *)job->ops;
	uint32_t n;

	/* A limit below one piece is none that we could keep. */
	if (room < CUT)
		room = UINT64_MAX;
	for (n = 0; op < end && n < job->capacity; op++) {
		size = op_bytes(op) - done;
		/* A strided copy is not cut, and fits an empty job. */
		if (op_rows(op) > rows || (op_rows(op) && size > room))
			break;
		if (size > room) {
			/* A part of it, or nothing when the job is full. */
			size = room & ~(CUT - 1);
			if (!size)
				break;
		}
		put_op((struct drm_trainium_op *)out, op, done,
		       op_rows(op) ? op->size : size);
		if (job->stride > sizeof(struct drm_trainium_op))
			put_strides((struct drm_trainium_op *)out, op);
		out += job->stride;
		n++;
		room -= size;
		rows -= op_rows(op);
		if (done + size < op_bytes(op)) {
			done += size;
			break;
		}
		done = 0;
	}
	job->next = (uint32_t)(op - job->list);
	job->next_done = done;
	job->submit = (struct drm_trainium_submit){
		.queue = job->queue->id,
		.ops = (uintptr_t)job->ops,
		.op_count = n,
		.op_stride = job->stride,
	};
}

static int submit_failed(struct neuron_queue *queue, int error)
{
	switch (error) {
	case -ENODEV:
		return nrn_device_fail(queue->device, error, "submit");
	case -ETIME:
		return nrn_fail(error, "%s: queue %u was full until the time given had passed",
				queue->device->label, queue->id);
	default:
		return nrn_fail(error, "%s: queue %u takes no work: %s (%s)",
				queue->device->label, queue->id, neuron_strerror(error),
				neuron_error_name(error));
	}
}

/* Submits a job and waits for it. */
static int submit_and_wait(struct neuron_queue *queue, struct drm_trainium_submit *submit,
			   int64_t deadline)
{
	int ret;

	submit->flags = TRAINIUM_SUBMIT_WAIT;
	submit->deadline_ns = deadline;
	ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_SUBMIT, submit);
	if (!ret && submit->status == TRAINIUM_STATUS_DONE)
		return 0;
	if (!ret)
		return nrn_queue_wait_all(queue, deadline);
	if (ret == -EIO || ret == -ECANCELED)
		return nrn_queue_job_failed(queue, ret);
	return submit_failed(queue, ret);
}

/* The common case, without the machinery for lists. */
static int run_one(struct neuron_queue *queue, const struct neuron_op *op, int64_t deadline)
{
	struct drm_trainium_op out;
	struct drm_trainium_submit submit = {
		.queue = queue->id,
		.ops = (uintptr_t)&out,
		.op_count = 1,
		.op_stride = sizeof(out),
	};

	put_op(&out, op, 0, op->size);
	return submit_and_wait(queue, &submit, deadline);
}

int nrn_queue_run_until(struct neuron_queue *queue, const struct neuron_op *ops,
			uint32_t op_count, int64_t deadline)
{
	struct drm_trainium_op short_list[SHORT_LIST];
	struct nrn_job job;
	int ret;

	ret = check_list(queue, ops, op_count);
	if (ret)
		return ret;
	if (op_count == 1 && ops->type != NEURON_OP_COPY_STRIDED &&
	    ops->size <= queue->device->limits.max_job_bytes)
		return run_one(queue, ops, deadline);
	ret = job_init(&job, queue, ops, op_count, short_list);
	while (!ret && job_more(&job)) {
		job_cut(&job);
		ret = submit_and_wait(queue, &job.submit, deadline);
	}
	job_fini(&job, short_list);
	return ret;
}

int neuron_queue_run(struct neuron_queue *queue, const struct neuron_op *ops, uint32_t op_count,
		     int64_t timeout_ns)
{
	return nrn_queue_run_until(queue, ops, op_count, nrn_deadline_after(timeout_ns));
}

int neuron_queue_copy(struct neuron_queue *queue, struct neuron_buffer *dst, uint64_t dst_offset,
		      struct neuron_buffer *src, uint64_t src_offset, uint64_t size)
{
	const struct neuron_op op = {
		.type = NEURON_OP_COPY,
		.dst = dst,
		.dst_offset = dst_offset,
		.src = src,
		.src_offset = src_offset,
		.size = size,
	};

	return nrn_queue_run_until(queue, &op, 1, NEURON_WAIT_FOREVER);
}

int neuron_queue_copy_strided(struct neuron_queue *queue, struct neuron_buffer *dst,
			      uint64_t dst_offset, struct neuron_buffer *src,
			      uint64_t src_offset, uint64_t row_size,
			      const struct neuron_strides *strides)
{
	const struct neuron_op op = {
		.type = NEURON_OP_COPY_STRIDED,
		.dst = dst,
		.dst_offset = dst_offset,
		.src = src,
		.src_offset = src_offset,
		.size = row_size,
		.strides = strides,
	};

	return nrn_queue_run_until(queue, &op, 1, NEURON_WAIT_FOREVER);
}

int neuron_queue_fill(struct neuron_queue *queue, struct neuron_buffer *dst, uint64_t offset,
		      uint64_t size, uint64_t pattern, uint32_t pattern_size)
{
	const struct neuron_op op = {
		.type = NEURON_OP_FILL,
		.dst = dst,
		.dst_offset = offset,
		.size = size,
		.pattern = pattern,
		.pattern_size = pattern_size,
	};

	return nrn_queue_run_until(queue, &op, 1, NEURON_WAIT_FOREVER);
}

/**
 * struct nrn_waits - syncobjs that the first job of a list waits for
 */
struct nrn_waits {
	struct drm_trainium_sync short_list[SHORT_LIST];
	struct drm_trainium_sync *syncs;
	/** @temporary: one bit each, for those that are put back after use */
	uint64_t *temporary;
	uint64_t short_bits;
	uint32_t count;
};

static void waits_fini(struct nrn_waits *waits, struct neuron_device *device)
{
	uint32_t i;

	for (i = 0; i < waits->count; i++)
		if (waits->temporary[i / 64] >> (i % 64) & 1)
			nrn_device_put_syncobj(device, waits->syncs[i].handle, true);
	if (waits->syncs != waits->short_list) {
		free(waits->syncs);
		free(waits->temporary);
	}
}

static int waits_init(struct nrn_waits *waits, struct neuron_queue *queue,
		      struct neuron_fence *const *fences, uint32_t count)
{
	struct neuron_device *device = queue->device;
	bool temporary;
	uint32_t i;
	int ret = 0;

	*waits = (struct nrn_waits){ .syncs = waits->short_list, .temporary = &waits->short_bits };
	if (count && !fences)
		return nrn_fail(-EINVAL, "%s: %u fences to wait for, but no array (NULL)",
				device->label, count);
	if (count > device->limits.max_syncs)
		return nrn_fail(-EINVAL, "%s: %u fences to wait for: the limit is %u",
				device->label, count, device->limits.max_syncs);
	if (count > SHORT_LIST) {
		waits->syncs = calloc(count, sizeof(*waits->syncs));
		waits->temporary = calloc((count + 63) / 64, sizeof(*waits->temporary));
		if (!waits->syncs || !waits->temporary)
			ret = nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	}
	for (i = 0; !ret && i < count; i++) {
		if (!fences[i]) {
			ret = nrn_fail(-EINVAL, "%s: fence %u to wait for is NULL", device->label,
				       i);
			break;
		}
		ret = nrn_fence_syncobj_on(fences[i], device, &waits->syncs[i].handle, &temporary);
		if (ret)
			break;
		waits->count++;
		if (temporary)
			waits->temporary[i / 64] |= 1ull << (i % 64);
	}
	if (ret)
		waits_fini(waits, device);
	return ret;
}

/*
 * Submits all jobs of the list. Each but the first waits for the one before,
 * so that the last one's fence fails if any of them fails.
 */
static int submit_all(struct nrn_job *job, const struct nrn_waits *waits,
		      const struct neuron_fence *fence)
{
	struct drm_trainium_sync out = { .handle = fence ? fence->syncobj : 0 };
	struct neuron_queue *queue = job->queue;
	bool first = true;
	int ret;

	while (job_more(job)) {
		job_cut(job);
		if (fence) {
			job->submit.out_syncs = (uintptr_t)&out;
			job->submit.out_sync_count = 1;
		}
		if (first) {
			job->submit.in_syncs = (uintptr_t)waits->syncs;
			job->submit.in_sync_count = waits->count;
		} else if (fence) {
			job->submit.in_syncs = (uintptr_t)&out;
			job->submit.in_sync_count = 1;
		}
		ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_SUBMIT,
					 &job->submit);
		if (ret) {
			if (!first)
				nrn_queue_wait_all(queue, NEURON_WAIT_FOREVER);
			return submit_failed(queue, ret);
		}
		first = false;
	}
	return 0;
}

int neuron_queue_submit(struct neuron_queue *queue, const struct neuron_op *ops,
			uint32_t op_count, struct neuron_fence *const *waits, uint32_t wait_count,
			struct neuron_fence **fence)
{
	struct drm_trainium_op short_list[SHORT_LIST];
	struct neuron_fence *new_fence = NULL;
	struct nrn_waits in;
	struct nrn_job job;
	int ret;

	ret = check_list(queue, ops, op_count);
	if (ret)
		return ret;
	if (queue->completion && (wait_count || fence))
		return nrn_fail(-EINVAL,
				"%s: queue %u is of the user class: its work has no fences",
				queue->device->label, queue->id);
	ret = waits_init(&in, queue, waits, wait_count);
	if (ret)
		return ret;
	ret = job_init(&job, queue, ops, op_count, short_list);
	if (!ret && fence)
		ret = nrn_fence_create(queue->device, &new_fence);
	if (!ret)
		ret = submit_all(&job, &in, new_fence);
	job_fini(&job, short_list);
	waits_fini(&in, queue->device);
	if (ret)
		neuron_fence_destroy(new_fence);
	else if (fence)
		*fence = new_fence;
	return ret;
}

int nrn_queue_post(struct neuron_queue *queue, const struct neuron_op *ops, uint32_t op_count,
		   uint64_t *seqno)
{
	struct drm_trainium_op short_list[SHORT_LIST];
	struct nrn_job job;
	int ret;

	ret = check_list(queue, ops, op_count);
	if (ret)
		return ret;
	ret = job_init(&job, queue, ops, op_count, short_list);
	if (ret)
		return ret;
	job_cut(&job);
	if (job_more(&job))
		ret = nrn_fail(-EINVAL, "%s: a job of a user queue has at most %u ops and %" PRIu64
			       " bytes", queue->device->label, queue->device->limits.max_ops,
			       (uint64_t)queue->device->limits.max_job_bytes);
	else
		ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_SUBMIT,
					 &job.submit);
	job_fini(&job, short_list);
	if (ret == -ECANCELED || ret == -EIO)
		return nrn_queue_lost(queue);
	if (ret)
		return submit_failed(queue, ret);
	if (seqno)
		*seqno = job.submit.seqno;
	return 0;
}

static int list_failed(const struct neuron_device *device, int error)
{
	switch (error) {
	case -EINVAL:
		return nrn_fail(error,
				"%s: no list: its ops take more than %u descriptors or %u patterns",
				device->label, device->limits.max_list_descs,
				device->limits.max_list_patterns);
	case -ENODEV:
		return nrn_device_fail((struct neuron_device *)device, error, "create of a list");
	default:
		return nrn_fail(error, "%s: no list: %s (%s)", device->label,
				neuron_strerror(error), neuron_error_name(error));
	}
}

int nrn_list_make(struct neuron_queue *queue, uint32_t stack, const struct neuron_op *ops,
		  uint32_t op_count)
{
	struct drm_trainium_list_create request = { .stack = stack };
	struct drm_trainium_op short_list[SHORT_LIST];
	struct nrn_job job;
	int ret;

	ret = check_list(queue, ops, op_count);
	if (ret)
		return ret;
	ret = job_init(&job, queue, ops, op_count, short_list);
	if (ret)
		return ret;
	job_cut(&job);
	ret = -EINVAL;
	if (queue->completion) {
		request.flags = TRAINIUM_LIST_F_USER;
		nrn_completion_tell(queue->completion, &request.completion);
	}
	if (!job_more(&job)) {
		request.ops = job.submit.ops;
		request.op_count = job.submit.op_count;
		request.op_stride = job.submit.op_stride;
		ret = nrn_backend->ioctl(queue->device->fd, DRM_IOCTL_TRAINIUM_LIST_CREATE,
					 &request);
	}
	job_fini(&job, short_list);
	if (ret)
		return list_failed(queue->device, ret);
	queue->id = request.list;
	queue->list_descs = request.descs;
	return 0;
}
