/* SPDX-License-Identifier: MIT */
/*
 * Queues: DMA work in order.
 */
#ifndef NEURON_QUEUE_H
#define NEURON_QUEUE_H

#include <stdint.h>

#include <neuron/buffer.h>
#include <neuron/device.h>
#include <neuron/fence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_queue - a DMA queue; opaque */
struct neuron_queue;

/**
 * enum neuron_queue_class - what work a queue takes
 */
enum neuron_queue_class {
	/** @NEURON_QUEUE_FENCED: bounded work; its end is a fence */
	NEURON_QUEUE_FENCED = 0,
	/**
	 * @NEURON_QUEUE_USER: work that may wait for something the program
	 * decides: NEURON_OP_WAIT. Its end is a number, see neuron_queue_post()
	 */
	NEURON_QUEUE_USER = 1,
	/** @NEURON_QUEUE_LIST: a command list, in struct neuron_queue_info only */
	NEURON_QUEUE_LIST = 2,
};

/*
 * Priorities. Among the queues that have work on a DMA engine, one has four
 * times the share of those a level below. High wants CAP_SYS_NICE.
 */
#define NEURON_PRIORITY_LOW	-1
#define NEURON_PRIORITY_NORMAL	0
#define NEURON_PRIORITY_HIGH	1

/**
 * struct neuron_queue_options - what neuron_queue_create() may be told
 */
struct neuron_queue_options {
	/** @size: sizeof */
	uint32_t size;
	/** @queue_class: enum neuron_queue_class */
	uint32_t queue_class;
	/** @num_engines: DMA engines to spread large work over, 1 to 16; 0: the driver's choice */
	uint32_t num_engines;
	/** @stack: prefer engines near this HBM stack, or NEURON_STACK_ANY */
	uint32_t stack;
	/** @priority: NEURON_PRIORITY_*: 0 is normal */
	int32_t priority;
	/** @flags: 0 */
	uint32_t flags;
};

/**
 * neuron_queue_create() - create a queue
 * @device: device
 * @options: options, or NULL: fenced, engines of the driver's choice
 * @queue: out: the queue
 *
 * Jobs of a queue run in the order of their submission, those of different
 * queues side by side.
 *
 * Return: 0; -EINVAL; -EACCES the priority is not permitted; -EOPNOTSUPP the
 * class is not offered; -ENOSPC no hardware rings are left; -EDQUOT a limit of
 * the open device; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_queue_create(struct neuron_device *device,
				   const struct neuron_queue_options *options,
				   struct neuron_queue **queue);

/**
 * neuron_queue_destroy() - give a queue back
 * @queue: queue, or NULL
 *
 * Does not wait. What runs already ends as usual; jobs that have not started
 * fail with -ECANCELED. Fences of the queue stay valid.
 */
NEURON_API void neuron_queue_destroy(struct neuron_queue *queue);

/**
 * enum neuron_op_type - what an op does
 */
enum neuron_op_type {
	/** @NEURON_OP_COPY: copy from buffer to buffer; the ranges do not overlap */
	NEURON_OP_COPY = 0,
	/** @NEURON_OP_FILL: fill with a pattern */
	NEURON_OP_FILL = 1,
	/** @NEURON_OP_COPY_STRIDED: copy of rows, in two or three dimensions */
	NEURON_OP_COPY_STRIDED = 2,
	/**
	 * @NEURON_OP_TIMESTAMP: write the time to the 8 bytes at dst_offset when
	 * all ops before it have ended: modelled time of the engine that writes
	 * it, in nanoseconds. Only differences between timestamps of one queue
	 * with one engine mean something. NEURON_FEATURE_TIMESTAMP announces it.
	 */
	NEURON_OP_TIMESTAMP = 3,
	/**
	 * @NEURON_OP_REDUCE: as a copy, from a buffer of neuron_group_map():
	 * what its members hold there, combined in the order of their ids
	 */
	NEURON_OP_REDUCE = 4,
	/** @NEURON_OP_ACCUMULATE: as a copy, but combined with what dst holds */
	NEURON_OP_ACCUMULATE = 5,
	/**
	 * @NEURON_OP_SIGNAL: when all ops before it have ended, add pattern to
	 * the semaphore at dst_offset: a signed 64-bit number at a multiple of
	 * 8, in any buffer, also of another chip or of a group. size and
	 * pattern_size are 8. NEURON_FEATURE_SEMAPHORE announces it.
	 */
	NEURON_OP_SIGNAL = 6,
	/**
	 * @NEURON_OP_WAIT: ops after it start when the semaphore, in host memory
	 * or the device's own HBM, is at least pattern. User class only.
	 */
	NEURON_OP_WAIT = 7,
};

/** enum neuron_combine - how elements are combined; floats as 32-bit floats, rounded once */
enum neuron_combine {
	NEURON_COMBINE_SUM = 0,	/* a + b */
	NEURON_COMBINE_MIN = 1,	/* the smaller one */
	NEURON_COMBINE_MAX = 2,	/* the larger one */
};

/** enum neuron_dtype - type of elements */
enum neuron_dtype {
	NEURON_DTYPE_INT32 = 0,	/* signed, 32 bits */
	NEURON_DTYPE_UINT32 = 1,	/* unsigned, 32 bits */
	NEURON_DTYPE_INT64 = 2,	/* signed, 64 bits */
	NEURON_DTYPE_FP16 = 3,	/* IEEE half precision */
	NEURON_DTYPE_BF16 = 4,	/* the upper half of fp32 */
	NEURON_DTYPE_FP32 = 5,	/* IEEE single precision */
	NEURON_DTYPE_FP8_E4M3 = 6,	/* OCP: 4 bits of exponent, 3 of mantissa */
	NEURON_DTYPE_FP8_E5M2 = 7,	/* OCP: 5 bits of exponent, 2 of mantissa */
};

/** For NEURON_OP_REDUCE and NEURON_OP_ACCUMULATE; offsets and sizes are multiples of 16. */
#define NEURON_OP_COMBINE(combine, dtype)	((uint32_t)(combine) << 8 | (uint32_t)(dtype) << 16)

/**
 * struct neuron_strides - where the rows of a strided copy are
 *
 * Row r of plane p is @size bytes (of the op) at offset + r * row_pitch + p *
 * plane_pitch of each side. Pitches of the source are free: 0 repeats. Rows of
 * the destination must not overlap, and the dimension with the larger pitch is
 * as far apart as all of the other one. In the same buffer the two sides, from
 * their first byte to their last, must not overlap. A pitch of which there is
 * only one row or plane is ignored.
 */
struct neuron_strides {
	/** @rows: rows of a plane, not 0 */
	uint32_t rows;
	/** @planes: not 0 */
	uint32_t planes;
	/** @dst_row_pitch: bytes from row to row */
	uint64_t dst_row_pitch;
	/** @dst_plane_pitch: bytes from plane to plane */
	uint64_t dst_plane_pitch;
	/** @src_row_pitch: bytes from row to row */
	uint64_t src_row_pitch;
	/** @src_plane_pitch: bytes from plane to plane */
	uint64_t src_plane_pitch;
};

/** Start after all ops before it in the same submit; without it they may overlap in time. */
#define NEURON_OP_BARRIER	(1u << 0)
/** SIGNAL: store pattern instead of adding it. */
#define NEURON_OP_SET		(1u << 1)
/** WAIT: subtract pattern when it is over. */
#define NEURON_OP_TAKE		(1u << 2)

/**
 * struct neuron_op - one op of a submit
 */
struct neuron_op {
	/** @type: enum neuron_op_type */
	uint32_t type;
	/** @flags: NEURON_OP_BARRIER, NEURON_OP_COMBINE() or 0 */
	uint32_t flags;
	/** @dst: buffer written */
	struct neuron_buffer *dst;
	/** @dst_offset: first byte in @dst */
	uint64_t dst_offset;
	/** @size: bytes, not 0; COPY_STRIDED: of a row */
	uint64_t size;
	/** @src: copies: buffer read; else NULL */
	struct neuron_buffer *src;
	/** @src_offset: copies: first byte in @src; else 0 */
	uint64_t src_offset;

	__extension__ union {
		/** @pattern: FILL: pattern in its low bytes, the rest 0; else 0 */
		uint64_t pattern;
		/** @strides: COPY_STRIDED: may be reused when the call has returned */
		const struct neuron_strides *strides;
	};
	/**
	 * @pattern_size: FILL: 1, 2, 4 or 8 bytes, of which dst_offset and
	 * size are multiples; else 0
	 */
	uint32_t pattern_size;
	/** @reserved: 0 */
	uint32_t reserved;
};

/**
 * neuron_queue_submit() - queue work and go on
 * @queue: queue
 * @ops: ops, any number; the array may be reused at once
 * @op_count: number of ops, not 0
 * @waits: fences of any queue and device that must end well before, or NULL
 * @wait_count: number of fences
 * @fence: out: the end of the work; NULL if not wanted
 *
 * The whole list is checked first, and nothing is queued when a check fails. A
 * list longer than the driver takes at once (struct neuron_limits) is queued
 * in pieces; if a later piece cannot be queued, the earlier ones are waited
 * for before the error is returned. If a fence of @waits fails, so does this
 * work, with the reason NEURON_REASON_DEPENDENCY.
 *
 * Return: 0; -EINVAL; -EXDEV a buffer is of another device; -ENOMEM; -EDQUOT;
 * -ENODEV.
 */
NEURON_API int neuron_queue_submit(struct neuron_queue *queue, const struct neuron_op *ops,
				   uint32_t op_count, struct neuron_fence *const *waits,
				   uint32_t wait_count, struct neuron_fence **fence);

/** The number of a user queue whose jobs were lost */
#define NEURON_SEQNO_ENDED	UINT64_MAX

/**
 * neuron_queue_post() - queue one job on a queue of the user class
 * @queue: queue of class NEURON_QUEUE_USER, or neuron_list_get_queue()'s
 * @ops: ops; the array may be reused at once
 * @op_count: number of ops, not 0, at most max_ops of struct neuron_limits
 * @seqno: out: number of the job, from 1; NULL if not wanted
 *
 * Nothing limits how long a job waits; neuron_queue_destroy() ends it at once.
 *
 * Return: 0; -EINVAL; -EXDEV a buffer is of another device; -EOPNOTSUPP no
 * semaphores, or a buffer shared with others than peers; -EIO, -ECANCELED how an
 * earlier job was lost: the queue takes no more; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_queue_post(struct neuron_queue *queue, const struct neuron_op *ops,
				 uint32_t op_count, uint64_t *seqno);

/**
 * neuron_queue_reached() - the newest job that has ended, without a system call
 * @queue: queue of the user class
 * @seqno: out: its number, 0 for none, NEURON_SEQNO_ENDED when jobs were lost
 *
 * Return: 0; -EINVAL.
 */
NEURON_API int neuron_queue_reached(struct neuron_queue *queue, uint64_t *seqno);

/**
 * neuron_queue_wait_for() - wait until a job of a user queue has ended
 * @queue: queue of the user class
 * @seqno: number of the job
 * @timeout_ns: time from now; NEURON_WAIT_FOREVER
 *
 * Return: 0; -EINVAL; -ETIME; -EIO, -ECANCELED jobs were lost; -ENODEV.
 */
NEURON_API int neuron_queue_wait_for(struct neuron_queue *queue, uint64_t seqno,
				     int64_t timeout_ns);

/**
 * neuron_queue_get_eventfd() - a descriptor that is readable when jobs have ended
 * @queue: queue of the user class
 *
 * For poll(); it is closed with the queue. Reading it is shared with
 * neuron_queue_wait_for().
 *
 * Return: the descriptor; -EINVAL.
 */
NEURON_API int neuron_queue_get_eventfd(struct neuron_queue *queue);

/**
 * neuron_queue_run() - queue work and wait for its end
 * @queue: queue
 * @ops: ops, any number
 * @op_count: number of ops, not 0
 * @timeout_ns: time from now; NEURON_WAIT_FOREVER
 *
 * One system call where the list fits the limits of the driver: the fastest
 * way for small work.
 *
 * Return: as neuron_queue_submit(); -ETIME the time has passed, and what was
 * queued still runs (see neuron_queue_drain()); -EIO it failed; -ECANCELED it
 * was lost to a reset.
 */
NEURON_API int neuron_queue_run(struct neuron_queue *queue, const struct neuron_op *ops,
				uint32_t op_count, int64_t timeout_ns);

/**
 * neuron_queue_copy() - copy from buffer to buffer and wait for the end
 * @queue: queue
 * @dst: buffer written
 * @dst_offset: first byte in @dst
 * @src: buffer read; may be @dst if the ranges do not overlap
 * @src_offset: first byte in @src
 * @size: bytes, not 0
 *
 * Return: as neuron_queue_run() without limit of time.
 */
NEURON_API int neuron_queue_copy(struct neuron_queue *queue, struct neuron_buffer *dst,
				 uint64_t dst_offset, struct neuron_buffer *src,
				 uint64_t src_offset, uint64_t size);

/**
 * neuron_queue_copy_strided() - copy rows and wait for the end
 * @queue: queue
 * @dst: buffer written
 * @dst_offset: first byte of the first row in @dst
 * @src: buffer read
 * @src_offset: first byte of the first row in @src
 * @row_size: bytes of a row, not 0
 * @strides: how many rows, and where
 *
 * As an op of a list: NEURON_OP_COPY_STRIDED.
 *
 * Return: as neuron_queue_run() without limit of time; -EINVAL also from a
 * driver that is too old for it.
 */
NEURON_API int neuron_queue_copy_strided(struct neuron_queue *queue, struct neuron_buffer *dst,
					 uint64_t dst_offset, struct neuron_buffer *src,
					 uint64_t src_offset, uint64_t row_size,
					 const struct neuron_strides *strides);

/**
 * neuron_queue_fill() - fill a range of a buffer and wait for the end
 * @queue: queue
 * @dst: buffer written
 * @offset: first byte, a multiple of @pattern_size
 * @size: bytes, not 0, a multiple of @pattern_size
 * @pattern: pattern in its low bytes, the rest 0
 * @pattern_size: 1, 2, 4 or 8 bytes
 *
 * Return: as neuron_queue_run() without limit of time.
 */
NEURON_API int neuron_queue_fill(struct neuron_queue *queue, struct neuron_buffer *dst,
				 uint64_t offset, uint64_t size, uint64_t pattern,
				 uint32_t pattern_size);

/**
 * neuron_queue_drain() - wait until all work submitted so far has ended
 * @queue: queue
 * @timeout_ns: time from now; 0 looks without waiting; NEURON_WAIT_FOREVER
 *
 * Return: 0; -ETIME; -EIO or -ECANCELED if work failed that nobody has been
 * told of by neuron_queue_run() or an earlier drain; -ENODEV.
 */
NEURON_API int neuron_queue_drain(struct neuron_queue *queue, int64_t timeout_ns);

/**
 * enum neuron_reason - why work failed
 */
enum neuron_reason {
	NEURON_REASON_NONE = 0,		/* nothing failed */
	NEURON_REASON_TIMEOUT = 1,	/* no progress within the limit */
	NEURON_REASON_ABORT = 2,	/* the engine stopped with an error cause */
	NEURON_REASON_RESET = 3,	/* lost to a reset of engine or device */
	NEURON_REASON_GONE = 4,		/* the device was removed */
	NEURON_REASON_DEPENDENCY = 5,	/* a fence it waited for failed */
	NEURON_REASON_CLOSED = 6,	/* the queue was destroyed before it had run */
	NEURON_REASON_FABRIC = 7,	/* no way through the fabric any more */
};

/**
 * neuron_reason_string() - reason as text
 * @reason: enum neuron_reason
 *
 * Return: a short text, never NULL, not to be freed.
 */
NEURON_API const char *neuron_reason_string(uint32_t reason);

/**
 * struct neuron_queue_info - state of a queue
 */
struct neuron_queue_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @id: number of the queue in the open file */
	uint32_t id;
	/** @queue_class: enum neuron_queue_class */
	uint32_t queue_class;
	/** @num_rings: hardware rings it owns */
	uint32_t num_rings;
	/** @submitted: jobs submitted */
	uint64_t submitted;
	/** @completed: jobs ended, failed ones included */
	uint64_t completed;
	/** @failed: jobs that ended with an error */
	uint64_t failed;
	/** @error: of the newest failed job: negative errno; 0 if none */
	int32_t error;
	/** @reason: of that job: enum neuron_reason */
	uint32_t reason;
	/** @engine: of that job: engine that stopped */
	uint32_t engine;
	/** @cause: of that job: error cause register of the engine */
	uint32_t cause;
};

/**
 * neuron_queue_get_info() - state of a queue
 * @queue: queue
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL info->size is too small; -ENODEV.
 */
NEURON_API int neuron_queue_get_info(struct neuron_queue *queue,
				     struct neuron_queue_info *info);

#ifdef __cplusplus
}
#endif

#endif
