/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * ioctl interface of the Trainium accel driver (/dev/accel/accelN).
 *
 * Rules that hold for every structure:
 *  - reserved fields ("pad") and unknown flags must be zero, else -EINVAL;
 *  - structures grow at their end; a shorter one from an older program is
 *    zero-extended, arrays carry the stride of their elements;
 *  - sizes and offsets are bytes, times nanoseconds of CLOCK_MONOTONIC;
 *  - handles are GEM handles of the open file, waiting is through syncobj
 *    or the submit ioctl itself, sharing is PRIME.
 *
 * Errors, the same in every call:
 *  -EINVAL	malformed: unknown flag, non-zero pad, range outside a buffer
 *  -ENOENT	no such handle, queue or syncobj in this file
 *  -EFAULT	user pointer not accessible
 *  -ENOSPC	device memory (HBM) or hardware rings exhausted
 *  -ENOMEM	host memory exhausted
 *  -EDQUOT	a limit of this file reached (see TRAINIUM_QUERY_LIMITS)
 *  -EIO		the queue's own work failed, reason by TRAINIUM_QUERY_QUEUE
 *  -ECANCELED	the work was lost to a reset that somebody else caused
 *  -ETIME	deadline passed before the work could be queued
 *  -EBUSY	in use
 *  -EOPNOTSUPP	not offered by this device or kernel
 *  -ENODEV	the device is gone
 */
#ifndef _TRAINIUM_ACCEL_H_
#define _TRAINIUM_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define TRAINIUM_UAPI_MAJOR	1
#define TRAINIUM_UAPI_MINOR	0

#define DRM_TRAINIUM_QUERY		0x00
#define DRM_TRAINIUM_BO_CREATE		0x01
#define DRM_TRAINIUM_BO_INFO		0x02
#define DRM_TRAINIUM_QUEUE_CREATE	0x03
#define DRM_TRAINIUM_QUEUE_DESTROY	0x04
#define DRM_TRAINIUM_SUBMIT		0x05
#define DRM_TRAINIUM_RESET		0x06
/* 0x07 events, 0x08..0x0b fabric: reserved */

/**
 * enum drm_trainium_query_type - what a query returns
 */
enum drm_trainium_query_type {
	/** @TRAINIUM_QUERY_DEVICE: struct drm_trainium_query_device */
	TRAINIUM_QUERY_DEVICE = 0,
	/** @TRAINIUM_QUERY_MEMORY: struct drm_trainium_query_memory of stack @index */
	TRAINIUM_QUERY_MEMORY = 1,
	/** @TRAINIUM_QUERY_ENGINE: struct drm_trainium_query_engine of engine @index */
	TRAINIUM_QUERY_ENGINE = 2,
	/** @TRAINIUM_QUERY_QUEUE: struct drm_trainium_query_queue of queue id @index */
	TRAINIUM_QUERY_QUEUE = 3,
	/** @TRAINIUM_QUERY_LIMITS: struct drm_trainium_query_limits */
	TRAINIUM_QUERY_LIMITS = 4,
	/** @TRAINIUM_QUERY_TELEMETRY: struct drm_trainium_query_telemetry */
	TRAINIUM_QUERY_TELEMETRY = 5,
};

/**
 * struct drm_trainium_query - typed query
 */
struct drm_trainium_query {
	/** @type: enum drm_trainium_query_type */
	__u32 type;
	/** @index: which one, where the type has several; else 0 */
	__u32 index;
	/**
	 * @size: in: bytes at @data; out: bytes the driver knows of. At most
	 * the smaller of both is written; the rest of @data is zeroed. With
	 * @data 0 only the size is returned.
	 */
	__u32 size;
	/** @pad: zero */
	__u32 pad;
	/** @data: user address of the result */
	__u64 data;
};

/** Feature bits of struct drm_trainium_query_device */
#define TRAINIUM_FEATURE_IRQ		(1ull << 0)	/* completion by MSI-X */
#define TRAINIUM_FEATURE_HBM_MMAP	(1ull << 1)	/* CPU can map HBM */
#define TRAINIUM_FEATURE_USERPTR	(1ull << 2)	/* TRAINIUM_BO_USERPTR */
#define TRAINIUM_FEATURE_QUEUE_FENCED	(1ull << 3)
#define TRAINIUM_FEATURE_QUEUE_USER	(1ull << 4)
#define TRAINIUM_FEATURE_FABRIC		(1ull << 5)
#define TRAINIUM_FEATURE_MODEL_CLOCK	(1ull << 6)	/* extension has a model clock */

/**
 * struct drm_trainium_query_device - identity and shape
 */
struct drm_trainium_query_device {
	/** @uapi_major: TRAINIUM_UAPI_MAJOR of the driver */
	__u16 uapi_major;
	/** @uapi_minor: TRAINIUM_UAPI_MINOR of the driver */
	__u16 uapi_minor;
	/** @generation: 1 to 4 for Trainium1 to Trainium4 */
	__u32 generation;
	/** @features: TRAINIUM_FEATURE_* */
	__u64 features;
	/** @name: "trainium2", NUL-terminated */
	char name[16];
	/** @serial: serial number, 0 if the firmware gives none */
	__u64 serial;
	/** @routing_id: place of the chip in its server, from the firmware */
	__u32 routing_id;
	/** @device_index: number of the chip in the vendor's order */
	__u32 device_index;
	/** @fw_api_version: API version of the firmware */
	__u32 fw_api_version;
	/** @fw_build: build number of the firmware, 0 if it gives none */
	__u32 fw_build;
	/** @num_cores: NeuronCores */
	__u32 num_cores;
	/** @num_stacks: HBM stacks */
	__u32 num_stacks;
	/** @num_engines: DMA engines */
	__u32 num_engines;
	/** @queues_per_engine: hardware rings of an engine */
	__u32 queues_per_engine;
	/** @hbm_size: usable bytes over all stacks */
	__u64 hbm_size;
	/** @reset_count: device resets since probe; contents of HBM are lost in each */
	__u64 reset_count;
	/** @pci_domain: PCI domain */
	__u32 pci_domain;
	/** @pci_bus: PCI bus */
	__u8 pci_bus;
	/** @pci_slot: PCI device */
	__u8 pci_slot;
	/** @pci_function: PCI function */
	__u8 pci_function;
	/** @pci_revision: PCI revision */
	__u8 pci_revision;
	/** @num_vectors: interrupt vectors in use, 0 when the driver polls */
	__u32 num_vectors;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_trainium_query_memory - one HBM stack
 */
struct drm_trainium_query_memory {
	/** @size: usable bytes */
	__u64 size;
	/** @free: bytes not allocated */
	__u64 free;
	/** @largest_free: longest contiguous free range, bytes */
	__u64 largest_free;
	/** @cpu_visible: bytes that BAR4 can show */
	__u64 cpu_visible;
	/** @bo_count: buffers in the stack */
	__u32 bo_count;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_trainium_query_engine - one DMA engine
 */
struct drm_trainium_query_engine {
	/** @stack: nearest HBM stack */
	__u32 stack;
	/** @core: core the engine belongs to, ~0 for a host engine */
	__u32 core;
	/** @flags: TRAINIUM_ENGINE_* */
	__u32 flags;
	/** @rings_free: rings that can still be given to a queue */
	__u32 rings_free;
	/** @bytes: bytes moved since probe */
	__u64 bytes;
	/** @resets: engine resets since probe */
	__u64 resets;
};

#define TRAINIUM_ENGINE_HOST_ACCESS	(1u << 0)	/* reaches host memory */
#define TRAINIUM_ENGINE_ABORTED		(1u << 1)	/* stopped by an error */

/**
 * struct drm_trainium_query_queue - state of a queue
 */
struct drm_trainium_query_queue {
	/** @queue_class: enum drm_trainium_queue_class */
	__u32 queue_class;
	/** @num_rings: hardware rings the queue owns */
	__u32 num_rings;
	/** @submitted: sequence number of the newest job */
	__u64 submitted;
	/** @completed: sequence number of the newest job that has ended */
	__u64 completed;
	/** @failed: jobs that ended with an error */
	__u64 failed;
	/** @error: errno of the newest failed job, positive; 0 if none */
	__u32 error;
	/** @reason: enum drm_trainium_reason of that failure */
	__u32 reason;
	/** @engine: engine of that failure */
	__u32 engine;
	/** @cause: error cause register of that engine */
	__u32 cause;
};

/**
 * enum drm_trainium_reason - why a job failed
 */
enum drm_trainium_reason {
	/** @TRAINIUM_REASON_NONE: no failure */
	TRAINIUM_REASON_NONE = 0,
	/** @TRAINIUM_REASON_TIMEOUT: no progress within the limit */
	TRAINIUM_REASON_TIMEOUT = 1,
	/** @TRAINIUM_REASON_ABORT: the engine stopped with an error cause */
	TRAINIUM_REASON_ABORT = 2,
	/** @TRAINIUM_REASON_RESET: lost to a reset of engine or device */
	TRAINIUM_REASON_RESET = 3,
	/** @TRAINIUM_REASON_GONE: the device was removed */
	TRAINIUM_REASON_GONE = 4,
	/** @TRAINIUM_REASON_DEPENDENCY: a fence the job waited for failed */
	TRAINIUM_REASON_DEPENDENCY = 5,
	/** @TRAINIUM_REASON_CLOSED: the queue was destroyed before the job had run */
	TRAINIUM_REASON_CLOSED = 6,
};

/**
 * struct drm_trainium_query_limits - limits of an open file and of a call
 */
struct drm_trainium_query_limits {
	/** @max_queues: queues of a file */
	__u32 max_queues;
	/** @max_rings: hardware rings of a file */
	__u32 max_rings;
	/** @max_ops: ops of a submit */
	__u32 max_ops;
	/** @max_syncs: in or out syncs of a submit */
	__u32 max_syncs;
	/** @max_bo_size: bytes of an HBM buffer */
	__u64 max_bo_size;
	/** @max_job_bytes: bytes that the ops of a submit may move in all */
	__u64 max_job_bytes;
	/** @job_timeout_ns: time without progress after which a job fails */
	__u64 job_timeout_ns;
	/** @alignment: offsets and sizes that need no extra descriptor, bytes */
	__u32 alignment;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_trainium_query_telemetry - what the firmware reports
 */
struct drm_trainium_query_telemetry {
	/** @sram_ecc_corrected: on-chip memory */
	__u32 sram_ecc_corrected;
	/** @sram_ecc_uncorrected: on-chip memory */
	__u32 sram_ecc_uncorrected;
	/** @hbm_ecc_corrected: per stack */
	__u32 hbm_ecc_corrected[8];
	/** @hbm_ecc_uncorrected: per stack */
	__u32 hbm_ecc_uncorrected[8];
	/** @hbm_repair_state: 0 none, 1 pending, 2 failed */
	__u32 hbm_repair_state;
	/** @health: health bits, 0 = healthy */
	__u32 health;
	/** @heartbeat: moves while the firmware lives */
	__u32 heartbeat;
	/** @power_util: per die, hundredths of a percent of the maximum */
	__u32 power_util[4];
	/** @pad: zero */
	__u32 pad;
};

/** Placement of struct drm_trainium_bo_create */
#define TRAINIUM_BO_HBM		0	/* device memory */
#define TRAINIUM_BO_HOST	1	/* host memory of the kernel */
#define TRAINIUM_BO_USERPTR	2	/* pinned pages of the caller */

/** Any stack */
#define TRAINIUM_STACK_ANY	0xffffffffu

#define TRAINIUM_BO_F_CPU_VISIBLE	(1u << 0)	/* HBM: must be mappable */
#define TRAINIUM_BO_F_READ_ONLY		(1u << 1)	/* USERPTR: device only reads */

/**
 * struct drm_trainium_bo_create - create a buffer
 *
 * An HBM buffer is contiguous in one stack and zeroed. A host buffer is
 * zeroed. Pinned pages count for RLIMIT_MEMLOCK; more than that is -ENOMEM.
 */
struct drm_trainium_bo_create {
	/** @size: bytes, rounded up to a page; for USERPTR exact */
	__u64 size;
	/** @placement: TRAINIUM_BO_HBM, _HOST or _USERPTR */
	__u32 placement;
	/** @flags: TRAINIUM_BO_F_* */
	__u32 flags;
	/** @stack: HBM stack, or TRAINIUM_STACK_ANY; 0 for other placements */
	__u32 stack;
	/** @handle: out: GEM handle */
	__u32 handle;
	/** @alignment: in HBM: power of two, 0 for a page; else 0 */
	__u64 alignment;
	/** @userptr: USERPTR: address, any alignment; else 0 */
	__u64 userptr;
};

/**
 * struct drm_trainium_bo_info - ask for a buffer
 */
struct drm_trainium_bo_info {
	/** @handle: GEM handle */
	__u32 handle;
	/** @flags: out: TRAINIUM_BO_F_* */
	__u32 flags;
	/** @size: out: bytes */
	__u64 size;
	/** @mmap_offset: out: offset for mmap() of the node, 0 if it cannot be mapped */
	__u64 mmap_offset;
	/** @placement: out: TRAINIUM_BO_* */
	__u32 placement;
	/** @stack: out: HBM stack, else 0 */
	__u32 stack;
	/** @content_generation: out: reset_count when the buffer was created */
	__u64 content_generation;
	/** @pad: zero */
	__u64 pad;
};

/**
 * enum drm_trainium_queue_class - what completion means
 */
enum drm_trainium_queue_class {
	/** @TRAINIUM_QUEUE_FENCED: bounded work only; completion is a fence */
	TRAINIUM_QUEUE_FENCED = 0,
	/**
	 * @TRAINIUM_QUEUE_USER: work that may wait for user space. Announced
	 * by TRAINIUM_FEATURE_QUEUE_USER; -EOPNOTSUPP without it.
	 */
	TRAINIUM_QUEUE_USER = 1,
};

/**
 * struct drm_trainium_queue_create - create a DMA queue
 *
 * A queue owns one hardware ring on each engine it uses. Jobs of a queue run
 * in the order of their submission.
 */
struct drm_trainium_queue_create {
	/** @queue_class: enum drm_trainium_queue_class */
	__u32 queue_class;
	/** @flags: zero */
	__u32 flags;
	/** @num_engines: engines to use, 1 to 16; 0: the driver's choice */
	__u32 num_engines;
	/** @stack: prefer engines near this HBM stack, or TRAINIUM_STACK_ANY */
	__u32 stack;
	/** @priority: 0 normal; others reserved, -EINVAL */
	__s32 priority;
	/** @queue: out: id, never 0 */
	__u32 queue;
};

/**
 * struct drm_trainium_queue_destroy - destroy a queue
 *
 * Returns at once; jobs still running are waited for by the driver, their
 * fences signal as usual. Jobs that have not started fail with -ECANCELED.
 */
struct drm_trainium_queue_destroy {
	/** @queue: id */
	__u32 queue;
	/** @pad: zero */
	__u32 pad;
};

/**
 * enum drm_trainium_op_type - what an op does
 */
enum drm_trainium_op_type {
	/** @TRAINIUM_OP_COPY: @size bytes from @src to @dst; the ranges must not overlap */
	TRAINIUM_OP_COPY = 0,
	/** @TRAINIUM_OP_FILL: @dst is filled with a pattern */
	TRAINIUM_OP_FILL = 1,
};

/**
 * Ops of a submit may overlap in time. An op with this flag starts after
 * all ops before it in the same submit have ended.
 */
#define TRAINIUM_OP_F_BARRIER	(1u << 0)

/**
 * struct drm_trainium_op - one op of a submit
 */
struct drm_trainium_op {
	/** @type: enum drm_trainium_op_type */
	__u32 type;
	/** @flags: TRAINIUM_OP_F_* */
	__u32 flags;
	/** @dst: handle of the buffer written */
	__u32 dst;
	union {
		/** @src: COPY: handle of the buffer read */
		__u32 src;
		/** @pattern_size: FILL: 1, 2, 4 or 8; dst_offset and size are multiples of it */
		__u32 pattern_size;
	};
	/** @dst_offset: bytes */
	__u64 dst_offset;
	union {
		/** @src_offset: COPY: bytes */
		__u64 src_offset;
		/** @pattern: FILL: low @pattern_size bytes, the rest zero */
		__u64 pattern;
	};
	/** @size: bytes, not 0 */
	__u64 size;
};

/**
 * struct drm_trainium_sync - a syncobj to wait for or to signal
 */
struct drm_trainium_sync {
	/** @handle: syncobj handle */
	__u32 handle;
	/** @flags: zero */
	__u32 flags;
	/** @point: timeline point, 0 for a binary syncobj */
	__u64 point;
};

/** Wait until the job has ended, or until deadline_ns. */
#define TRAINIUM_SUBMIT_WAIT	(1u << 0)

#define TRAINIUM_STATUS_DONE	0	/* the job has ended without error */
#define TRAINIUM_STATUS_PENDING	1	/* queued, not ended yet */

/**
 * struct drm_trainium_submit - queue a job
 *
 * All or nothing: nothing is queued when an error is returned, except -EIO,
 * -ECANCELED and -ENODEV of a waiting submit, which tell how the job ended.
 * Once the job is queued a signal or the deadline makes the call return 0
 * with TRAINIUM_STATUS_PENDING, never -EINTR. Before that it waits, if many
 * jobs are queued, until one of them has ended; a signal ends that with
 * -EINTR, the deadline of a waiting submit with -ETIME.
 *
 * A submit with neither ops nor syncs, and TRAINIUM_SUBMIT_WAIT, is no job: it
 * waits for all jobs of the queue up to that moment. Its error, if any, is that
 * of the newest of them that failed without a submit waiting for it, since the
 * last such call. A submit with syncs and no ops is a job that does nothing.
 *
 * In syncs must have a fence already; a job whose fence has failed fails with
 * -ECANCELED.
 */
struct drm_trainium_submit {
	/** @queue: id */
	__u32 queue;
	/** @flags: TRAINIUM_SUBMIT_* */
	__u32 flags;
	/** @ops: user address of struct drm_trainium_op array */
	__u64 ops;
	/** @op_count: number of ops */
	__u32 op_count;
	/** @op_stride: bytes from op to op, at least 40, a multiple of 8 */
	__u32 op_stride;
	/** @in_syncs: user address of struct drm_trainium_sync array */
	__u64 in_syncs;
	/** @out_syncs: user address of struct drm_trainium_sync array */
	__u64 out_syncs;
	/** @in_sync_count: number of syncs the job waits for */
	__u32 in_sync_count;
	/** @out_sync_count: number of syncs the job signals */
	__u32 out_sync_count;
	/** @deadline_ns: absolute; 0: do not sleep, and without TRAINIUM_SUBMIT_WAIT */
	__s64 deadline_ns;
	/** @seqno: out: number of the job in its queue, from 1 */
	__u64 seqno;
	/** @status: out: TRAINIUM_STATUS_* */
	__u32 status;
	/** @pad: zero */
	__u32 pad;
};

/** Scope of struct drm_trainium_reset */
#define TRAINIUM_RESET_DEVICE	0	/* whole device; CAP_SYS_ADMIN */
#define TRAINIUM_RESET_CORE	1	/* engines of one core; CAP_SYS_ADMIN */

/**
 * struct drm_trainium_reset - reset a device or the engines of a core
 */
struct drm_trainium_reset {
	/** @scope: TRAINIUM_RESET_* */
	__u32 scope;
	/** @index: core, for TRAINIUM_RESET_CORE; else 0 */
	__u32 index;
	/** @flags: zero */
	__u32 flags;
	/** @pad: zero */
	__u32 pad;
};

#define DRM_IOCTL_TRAINIUM_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_QUERY, struct drm_trainium_query)
#define DRM_IOCTL_TRAINIUM_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_BO_CREATE, struct drm_trainium_bo_create)
#define DRM_IOCTL_TRAINIUM_BO_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_BO_INFO, struct drm_trainium_bo_info)
#define DRM_IOCTL_TRAINIUM_QUEUE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_QUEUE_CREATE, struct drm_trainium_queue_create)
#define DRM_IOCTL_TRAINIUM_QUEUE_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TRAINIUM_QUEUE_DESTROY, struct drm_trainium_queue_destroy)
#define DRM_IOCTL_TRAINIUM_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_SUBMIT, struct drm_trainium_submit)
#define DRM_IOCTL_TRAINIUM_RESET \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TRAINIUM_RESET, struct drm_trainium_reset)

#if defined(__cplusplus)
}
#endif

#endif
