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
 *  -EDQUOT	a limit of this file (see TRAINIUM_QUERY_LIMITS) or cgroup reached
 *  -EIO		the queue's own work failed, reason by TRAINIUM_QUERY_QUEUE
 *  -ECANCELED	the work was lost to a reset that somebody else caused
 *  -ETIME	deadline passed before the work could be queued
 *  -EBUSY	in use
 *  -EACCES	not permitted to this program
 *  -EOPNOTSUPP	not offered by this device or kernel
 *  -EXDEV	the fabric has no way there: see DRM_IOCTL_TRAINIUM_FABRIC_PEER
 *  -ENODEV	the device is gone
 */
#ifndef _TRAINIUM_ACCEL_H_
#define _TRAINIUM_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** Version of this interface; the driver tells its own as the version of DRM_IOCTL_VERSION. */
#define TRAINIUM_UAPI_MAJOR	1
#define TRAINIUM_UAPI_MINOR	5

/** Numbers of the ioctls, from DRM_COMMAND_BASE */
#define DRM_TRAINIUM_QUERY		0x00
#define DRM_TRAINIUM_BO_CREATE		0x01
#define DRM_TRAINIUM_BO_INFO		0x02
#define DRM_TRAINIUM_QUEUE_CREATE	0x03
#define DRM_TRAINIUM_QUEUE_DESTROY	0x04
#define DRM_TRAINIUM_SUBMIT		0x05
#define DRM_TRAINIUM_RESET		0x06
#define DRM_TRAINIUM_EVENTS		0x07
#define DRM_TRAINIUM_FABRIC_PORT	0x08
#define DRM_TRAINIUM_FABRIC_CTL		0x09
#define DRM_TRAINIUM_FABRIC_GROUP	0x0a
#define DRM_TRAINIUM_FABRIC_PEER	0x0b
#define DRM_TRAINIUM_LIST_CREATE	0x10
#define DRM_TRAINIUM_LIST_SUBMIT	0x11

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
	/** @TRAINIUM_QUERY_HOLDER: struct drm_trainium_query_holder, see there for @index */
	TRAINIUM_QUERY_HOLDER = 6,
	/** @TRAINIUM_QUERY_CORE: struct drm_trainium_query_core of core @index */
	TRAINIUM_QUERY_CORE = 7,
	/** @TRAINIUM_QUERY_FABRIC: struct drm_trainium_query_fabric, since 1.3 */
	TRAINIUM_QUERY_FABRIC = 8,
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
#define TRAINIUM_FEATURE_EVENTS		(1ull << 7)	/* DRM_IOCTL_TRAINIUM_EVENTS */
#define TRAINIUM_FEATURE_P2P		(1ull << 8)	/* 1.2: HBM to other devices */
#define TRAINIUM_FEATURE_TIMESTAMP	(1ull << 9)	/* TRAINIUM_OP_TIMESTAMP */
#define TRAINIUM_FEATURE_SEMAPHORE	(1ull << 10)	/* TRAINIUM_OP_SIGNAL, _WAIT */

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
	/** @event_types: bit t: the driver has events of type t (since 1.1) */
	__u64 event_types;
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
	/** @cpu_visible_free: 1.2: bytes of @cpu_visible that are not allocated */
	__u64 cpu_visible_free;
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
	/**
	 * @busy_ns: time during which a queue had work for the engine, since
	 * probe (since 1.1). Of small jobs, which end before their submit
	 * returns, one in many is measured and stands for the others.
	 */
	__u64 busy_ns;
};

#define TRAINIUM_ENGINE_HOST_ACCESS	(1u << 0)	/* reaches host memory */
#define TRAINIUM_ENGINE_ABORTED		(1u << 1)	/* stopped by an error */
#define TRAINIUM_ENGINE_OUT_OF_SERVICE	(1u << 2)	/* 1.5: no reset brings it back, not used */

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
	/** @TRAINIUM_REASON_FABRIC: 1.3: no way through the fabric any more */
	TRAINIUM_REASON_FABRIC = 7,
};

/**
 * struct drm_trainium_query_limits - limits of an open file and of a call
 */
struct drm_trainium_query_limits {
	/** @max_queues: queues of a file, command lists included */
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
	/** @max_buffers: 1.2: buffers created by a file; 0: no limit */
	__u32 max_buffers;
	/** @max_hbm: 1.2: bytes of HBM of a file; 0: no limit but what there is */
	__u64 max_hbm;
	/**
	 * @max_pinned: 1.2: bytes of host memory of a file, in host buffers and
	 * pinned; 0: no limit but those of the process
	 */
	__u64 max_pinned;
	/** @max_rows: rows of all strided copies of a submit; since 1.2 */
	__u32 max_rows;
	/** @max_list_descs: descriptors of a command list; since 1.2 */
	__u32 max_list_descs;
	/** @max_list_patterns: different fill patterns of a list, zero not counted */
	__u32 max_list_patterns;
	/** @pad: zero */
	__u32 pad;
};

/** What is known of struct drm_trainium_query_telemetry; the rest is 0 */
#define TRAINIUM_TELEMETRY_POWER_UTIL	(1u << 0)	/* power_util */
#define TRAINIUM_TELEMETRY_HEALTH	(1u << 1)	/* health, heartbeat */
#define TRAINIUM_TELEMETRY_REPAIRABLE	(1u << 2)	/* hbm_ecc_repairable */
#define TRAINIUM_TELEMETRY_SENSORS	(1u << 3)	/* throttle and all that follows */

#define TRAINIUM_MAX_TEMPERATURES	16	/* of struct drm_trainium_query_telemetry */

/**
 * struct drm_trainium_query_telemetry - what the firmware reports
 *
 * -ETIME while the firmware does not answer.
 */
struct drm_trainium_query_telemetry {
	/** @sram_ecc_corrected: on-chip memory */
	__u32 sram_ecc_corrected;
	/** @sram_ecc_uncorrected: on-chip memory */
	__u32 sram_ecc_uncorrected;
	/** @hbm_ecc_corrected: per stack */
	__u32 hbm_ecc_corrected[8];
	/** @hbm_ecc_uncorrected: per stack, those that can be repaired included */
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
	/** @valid: TRAINIUM_TELEMETRY_* (this and all that follows: since 1.1) */
	__u32 valid;
	/** @throttle: how far the clock is throttled, hundredths of a percent */
	__u32 throttle;
	/** @hbm_ecc_repairable: per stack, of the uncorrected those that can be repaired */
	__u32 hbm_ecc_repairable[8];
	/** @power_uw: power of the chip, microwatts */
	__u64 power_uw;
	/** @power_max_uw: power at full utilisation, microwatts */
	__u64 power_max_uw;
	/** @energy_uj: since power-on, microjoules */
	__u64 energy_uj;
	/** @num_dies: temperatures of dies */
	__u32 num_dies;
	/** @num_stacks: temperatures of stacks */
	__u32 num_stacks;
	/** @temperature_max: from here on the chip throttles, thousandths of a degree Celsius */
	__s32 temperature_max;
	/** @temperature_crit: from here on it may be damaged */
	__s32 temperature_crit;
	/** @temperature: of the dies, then of the stacks, thousandths of a degree Celsius */
	__s32 temperature[TRAINIUM_MAX_TEMPERATURES];
};

/** The open file that asks */
#define TRAINIUM_HOLDER_SELF	(1u << 0)

/**
 * struct drm_trainium_query_holder - an open file of the device
 *
 * The one with the lowest id that is not below the index of the query, of those
 * that the caller may see; -ENOENT when there is none. So the next one is asked
 * for with the id plus one, whatever comes and goes meanwhile. A caller with
 * CAP_SYS_ADMIN sees all; others see those of their own user in their PID
 * namespace.
 */
struct drm_trainium_query_holder {
	/** @id: low half of drm-client-id in fdinfo */
	__u32 id;
	/** @flags: TRAINIUM_HOLDER_* */
	__u32 flags;
	/** @pid: process, in the caller's PID namespace; 0 if it is not in it or has ended */
	__s32 pid;
	/** @uid: user, in the caller's user namespace */
	__u32 uid;
	/** @comm: name of the process, NUL-terminated; empty if @pid is 0 */
	char comm[16];
	/** @since_ns: when the file was opened */
	__s64 since_ns;
	/** @hbm_bytes: device memory that its handles stand for */
	__u64 hbm_bytes;
	/** @host_bytes: host memory that its handles stand for */
	__u64 host_bytes;
	/** @num_queues: queues */
	__u32 num_queues;
	/** @num_rings: hardware rings */
	__u32 num_rings;
	/** @others: open files in all that the caller may not see */
	__u32 others;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_trainium_query_core - activity of a core's tensor engine
 *
 * Counters of each row group, in cycles since the core's reset.
 */
struct drm_trainium_query_core {
	/** @matmul: multiplying */
	__u64 matmul[4];
	/** @weight_load: loading weights */
	__u64 weight_load[4];
	/** @fast_weight_load: loading weights the fast way, over all column groups */
	__u64 fast_weight_load[4];
	/** @idle: doing nothing */
	__u64 idle[4];
};

/** Placement of struct drm_trainium_bo_create */
#define TRAINIUM_BO_HBM		0	/* device memory */
#define TRAINIUM_BO_HOST	1	/* host memory of the kernel */
#define TRAINIUM_BO_USERPTR	2	/* pinned pages of the caller */
/* Of struct drm_trainium_bo_info only, since 1.3 */
#define TRAINIUM_BO_PEER	3	/* memory of another chip, through the fabric */
#define TRAINIUM_BO_GROUP	4	/* what members of a group have bound */

/** Any stack */
#define TRAINIUM_STACK_ANY	0xffffffffu

#define TRAINIUM_BO_F_CPU_VISIBLE	(1u << 0)	/* HBM: must be mappable */
#define TRAINIUM_BO_F_READ_ONLY		(1u << 1)	/* USERPTR: device only reads */
#define TRAINIUM_BO_F_NEAR_ENGINE	(1u << 2)	/* 1.2: HBM: @stack is an engine */
#define TRAINIUM_BO_F_PEER		(1u << 3)	/* 1.3: HBM: shared with peers only */

/**
 * struct drm_trainium_bo_create - create a buffer
 *
 * An HBM buffer is contiguous in one stack and zeroed. With TRAINIUM_STACK_ANY
 * buffers are spread: the stack with the most free bytes is tried first. With
 * TRAINIUM_BO_F_NEAR_ENGINE it is the stack nearest to that engine, then the
 * others. Where the CPU sees a part of HBM only, that part is used last for
 * buffers without TRAINIUM_BO_F_CPU_VISIBLE.
 *
 * With TRAINIUM_BO_F_PEER a dma-buf of it can be imported by chips of the same
 * fabric, and by nobody else; jobs do not wait for those of other chips that
 * use it, unless syncobjs say so. In return it can be used in command lists,
 * here and there.
 *
 * A host buffer is zeroed. Pinned pages count for RLIMIT_MEMLOCK; more than
 * that is -ENOMEM.
 */
struct drm_trainium_bo_create {
	/** @size: bytes, rounded up to a page; for USERPTR exact */
	__u64 size;
	/** @placement: TRAINIUM_BO_HBM, _HOST or _USERPTR */
	__u32 placement;
	/** @flags: TRAINIUM_BO_F_* */
	__u32 flags;
	/** @stack: HBM stack or engine, or TRAINIUM_STACK_ANY; 0 for other placements */
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
	 * by TRAINIUM_FEATURE_QUEUE_USER; -EOPNOTSUPP without it. Completion
	 * is a number in memory and an eventfd, never a fence: since 1.4, see
	 * struct drm_trainium_completion.
	 */
	TRAINIUM_QUEUE_USER = 1,
	/** @TRAINIUM_QUEUE_LIST: a command list, as TRAINIUM_QUERY_QUEUE shows it */
	TRAINIUM_QUEUE_LIST = 2,
};

/*
 * Priorities, since 1.2. Among the queues that have work on an engine, one has
 * four times the share of those a level below. Queues on different engines
 * share only memory, by turns. TRAINIUM_PRIORITY_HIGH wants CAP_SYS_NICE.
 */
#define TRAINIUM_PRIORITY_LOW		-1
#define TRAINIUM_PRIORITY_NORMAL	0
#define TRAINIUM_PRIORITY_HIGH		1

/** The device writes no more: jobs were lost, or failed. See TRAINIUM_QUERY_QUEUE */
#define TRAINIUM_COMPLETION_ENDED	(~0ull)

/** @eventfd of struct drm_trainium_completion is one, and not just 0 */
#define TRAINIUM_COMPLETION_EVENTFD	(1u << 0)

/**
 * struct drm_trainium_completion - how a user queue or list tells what it has done
 *
 * The device writes the seqno of each job that has ended to 8 bytes of a host
 * buffer (TRAINIUM_BO_HOST), and the driver signals the eventfd, once for any
 * number of them. When jobs were lost, by an error, a reset that they were under
 * or by the end of the queue, the driver writes TRAINIUM_COMPLETION_ENDED there
 * and signals too; the queue takes no more jobs, and says why by the error of
 * that job.
 */
struct drm_trainium_completion {
	/** @handle: buffer, kept until the queue has ended; 0: none */
	__u32 handle;
	/** @flags: TRAINIUM_COMPLETION_* */
	__u32 flags;
	/** @offset: bytes, a multiple of 8 */
	__u64 offset;
	/** @eventfd: file descriptor, or 0 */
	__s32 eventfd;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_trainium_queue_create - create a DMA queue
 *
 * A queue owns one hardware ring on each engine it uses. Jobs of a queue run
 * in the order of their submission.
 *
 * A user queue (since 1.4) uses one engine. Its submits have no syncs; no time
 * limit holds for its jobs, and destroying it ends what still runs by a reset
 * of its rings, whatever it waits for.
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
	/** @priority: TRAINIUM_PRIORITY_*; others are -EINVAL */
	__s32 priority;
	/** @queue: out: id, never 0 */
	__u32 queue;
	/** @completion: of a user queue; zero for others. Since 1.4 */
	struct drm_trainium_completion completion;
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
	/**
	 * @TRAINIUM_OP_COPY_STRIDED: rows of @size bytes from @src to @dst, in
	 * two or three dimensions: struct drm_trainium_op_strided. Since 1.2.
	 */
	TRAINIUM_OP_COPY_STRIDED = 2,
	/**
	 * @TRAINIUM_OP_TIMESTAMP: the time is written to 8 bytes at @dst, when
	 * all ops before it in the submit have ended. It is modelled time of
	 * the DMA engine that writes it, in nanoseconds: differences say how
	 * long the work between two timestamps takes there. Those of different
	 * engines have nothing to do with each other, so both should be of a
	 * queue with one engine. Offset and address are multiples of 8, @size
	 * is 8, all else is zero. Announced by TRAINIUM_FEATURE_TIMESTAMP,
	 * -EOPNOTSUPP without it. Since 1.2.
	 */
	TRAINIUM_OP_TIMESTAMP = 3,
	/**
	 * @TRAINIUM_OP_REDUCE: as a copy, from a buffer of a group: what its
	 * members have there, combined by TRAINIUM_OP_F_COMBINE(). In order of
	 * the members' chips; floating point types are summed as 32-bit floats
	 * and rounded once. Since 1.3.
	 */
	TRAINIUM_OP_REDUCE = 4,
	/**
	 * @TRAINIUM_OP_ACCUMULATE: as a copy, but what @dst holds is combined
	 * with @src by TRAINIUM_OP_F_COMBINE(). A job with such an op is never
	 * executed twice: when a reset that another job has caused meets it,
	 * it fails with -ECANCELED. Since 1.3.
	 */
	TRAINIUM_OP_ACCUMULATE = 5,
	/**
	 * @TRAINIUM_OP_SIGNAL: adds @pattern to the semaphore at @dst, a signed
	 * 64-bit number at a multiple of 8 bytes, after all ops before it have
	 * ended, in one atomic access. @dst may be a buffer of a peer, or of
	 * a group: then to those of all members. @size and @pattern_size are 8.
	 * Since 1.4, with TRAINIUM_FEATURE_SEMAPHORE; -EOPNOTSUPP without.
	 */
	TRAINIUM_OP_SIGNAL = 6,
	/**
	 * @TRAINIUM_OP_WAIT: ops after it start when the semaphore at @dst, in
	 * HBM of the chip or host memory, is at least @pattern. User queues
	 * and lists only. Otherwise as TRAINIUM_OP_SIGNAL.
	 */
	TRAINIUM_OP_WAIT = 7,
};

/**
 * Ops of a submit may overlap in time. An op with this flag starts after
 * all ops before it in the same submit have ended.
 */
#define TRAINIUM_OP_F_BARRIER	(1u << 0)

/** SIGNAL: store @pattern instead of adding it */
#define TRAINIUM_OP_F_SET	(1u << 1)
/** WAIT: subtract @pattern when the wait is over, as part of the same access */
#define TRAINIUM_OP_F_TAKE	(1u << 2)

/**
 * How REDUCE and ACCUMULATE combine elements: TRAINIUM_COMBINE_* and
 * TRAINIUM_DTYPE_*. Offsets and sizes are multiples of 16. A group combines
 * what struct drm_trainium_query_fabric says; others are -EOPNOTSUPP.
 */
#define TRAINIUM_OP_F_COMBINE(combine, dtype)	((combine) << 8 | (dtype) << 16)
#define TRAINIUM_COMBINE_SUM	0u
#define TRAINIUM_COMBINE_MIN	1u
#define TRAINIUM_COMBINE_MAX	2u
#define TRAINIUM_DTYPE_INT32	0u
#define TRAINIUM_DTYPE_UINT32	1u
#define TRAINIUM_DTYPE_INT64	2u
#define TRAINIUM_DTYPE_FP16	3u
#define TRAINIUM_DTYPE_BF16	4u
#define TRAINIUM_DTYPE_FP32	5u
#define TRAINIUM_DTYPE_FP8_E4M3	6u
#define TRAINIUM_DTYPE_FP8_E5M2	7u

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
 * struct drm_trainium_op_strided - an op of a submit, with its strides
 *
 * Element of an array of ops, with its size as their stride, in which some are
 * of type TRAINIUM_OP_COPY_STRIDED; all but @op is zero in the others.
 *
 * Row r of plane p is @op.size bytes at offset + r * row_pitch + p *
 * plane_pitch of each side. Pitches of the source are free: 0 repeats. Rows of
 * the destination must not overlap, and the dimension with the larger pitch is
 * as far apart as all of the other one. In the same buffer the two sides, from
 * their first byte to their last, must not overlap. A pitch of which there is
 * only one row or plane is ignored.
 */
struct drm_trainium_op_strided {
	/** @op: the op, as in a plain copy */
	struct drm_trainium_op op;
	/** @rows: rows of a plane, not 0 */
	__u32 rows;
	/** @planes: not 0 */
	__u32 planes;
	/** @dst_row_pitch: bytes from row to row */
	__u64 dst_row_pitch;
	/** @dst_plane_pitch: bytes from plane to plane */
	__u64 dst_plane_pitch;
	/** @src_row_pitch: bytes from row to row */
	__u64 src_row_pitch;
	/** @src_plane_pitch: bytes from plane to plane */
	__u64 src_plane_pitch;
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
 * -ECANCELED. From 1.2 on a job also waits for the fences of dma-bufs that its
 * ops use, and leaves its own there; how those have ended does not matter.
 */
struct drm_trainium_submit {
	/** @queue: id */
	__u32 queue;
	/** @flags: TRAINIUM_SUBMIT_* */
	__u32 flags;
	/** @ops: user address of struct drm_trainium_op (or _op_strided) array */
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

/** The list completes as a user queue does, and may hold TRAINIUM_OP_WAIT. Since 1.4 */
#define TRAINIUM_LIST_F_USER	(1u << 0)

/**
 * struct drm_trainium_list_create - create a command list (since 1.2)
 *
 * A list is checked and written once and started many times. It is a queue
 * that takes no other work: TRAINIUM_QUERY_QUEUE, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY
 * and the submit without ops that waits take its id. Its submits run one after
 * the other; ops within it are ordered as in a submit.
 *
 * Closing a handle of any of its buffers makes the list invalid: what it has
 * begun ends, later submits are -ENOENT. A list that is too long for
 * @max_list_descs, or has more than @max_list_patterns, is -EINVAL; buffers
 * that need the CPU's help for DMA (bounce buffers), and those that are shared
 * by dma-buf, then or later, are -EOPNOTSUPP.
 */
struct drm_trainium_list_create {
	/** @ops: user address of struct drm_trainium_op (or _op_strided) array */
	__u64 ops;
	/** @op_count: number of ops */
	__u32 op_count;
	/** @op_stride: bytes from op to op */
	__u32 op_stride;
	/** @stack: prefer an engine near this HBM stack, or TRAINIUM_STACK_ANY */
	__u32 stack;
	/** @flags: TRAINIUM_LIST_F_* */
	__u32 flags;
	/** @priority: TRAINIUM_PRIORITY_* */
	__s32 priority;
	/** @pad: zero */
	__u32 pad;
	/** @list: out: id, never 0 */
	__u32 list;
	/** @descs: out: descriptors of a submit */
	__u32 descs;
	/** @completion: of a list with TRAINIUM_LIST_F_USER, else zero. Since 1.4 */
	struct drm_trainium_completion completion;
};

/*
 * DRM_IOCTL_TRAINIUM_LIST_SUBMIT starts a list: struct drm_trainium_submit with
 * its id as @queue and without ops and in syncs, which are all zero.
 */

/** Scope of struct drm_trainium_reset */
#define TRAINIUM_RESET_DEVICE	0	/* whole device; CAP_SYS_ADMIN */
#define TRAINIUM_RESET_CORE	1	/* engines of one core; CAP_SYS_ADMIN */
/* Scopes that recovery uses and that events tell of; not for the ioctl */
#define TRAINIUM_RESET_ENGINE	2	/* one DMA engine, by the firmware or by itself */
#define TRAINIUM_RESET_QUEUE	3	/* the queue pairs of one DMA engine */

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

/**
 * enum drm_trainium_event_type - what an event tells of
 *
 * Bit (1 << type) selects the type in a subscription.
 */
enum drm_trainium_event_type {
	/** @TRAINIUM_EVENT_RESET: a reset, asked for or a step of recovery */
	TRAINIUM_EVENT_RESET = 0,
	/** @TRAINIUM_EVENT_GONE: the device was removed; no event comes after it */
	TRAINIUM_EVENT_GONE = 1,
	/** @TRAINIUM_EVENT_ECC: memory errors, or a new state of HBM repair */
	TRAINIUM_EVENT_ECC = 2,
	/** @TRAINIUM_EVENT_HEALTH: the health bits have changed */
	TRAINIUM_EVENT_HEALTH = 3,
	/** @TRAINIUM_EVENT_THERMAL: an alarm of power or temperature begins or ends */
	TRAINIUM_EVENT_THERMAL = 4,
	/** @TRAINIUM_EVENT_FAULT: an engine failed a job; recovery follows */
	TRAINIUM_EVENT_FAULT = 5,
	/** @TRAINIUM_EVENT_PORT: a fabric port has changed its state; since 1.3 */
	TRAINIUM_EVENT_PORT = 6,
	/** @TRAINIUM_EVENT_PARTITION: the chip's partition has changed; since 1.3 */
	TRAINIUM_EVENT_PARTITION = 7,
	/** @TRAINIUM_EVENT_GROUP: a group of the chip has broken; since 1.3 */
	TRAINIUM_EVENT_GROUP = 8,
	/** @TRAINIUM_EVENT_COUNTER: a port's counter has reached its threshold; since 1.3 */
	TRAINIUM_EVENT_COUNTER = 9,
};

/**
 * enum drm_trainium_reset_cause - why something was reset
 */
enum drm_trainium_reset_cause {
	/** @TRAINIUM_CAUSE_ASKED: a program asked for it */
	TRAINIUM_CAUSE_ASKED = 0,
	/** @TRAINIUM_CAUSE_RECOVERY: work was stuck or aborted */
	TRAINIUM_CAUSE_RECOVERY = 1,
	/** @TRAINIUM_CAUSE_PCI: function-level reset or PCI error recovery */
	TRAINIUM_CAUSE_PCI = 2,
	/** @TRAINIUM_CAUSE_RESUME: the system was suspended */
	TRAINIUM_CAUSE_RESUME = 3,
};

/**
 * struct drm_trainium_event_reset - TRAINIUM_EVENT_RESET
 */
struct drm_trainium_event_reset {
	/** @scope: TRAINIUM_RESET_* */
	__u32 scope;
	/** @index: core or engine; 0 for the device */
	__u32 index;
	/** @cause: enum drm_trainium_reset_cause */
	__u32 cause;
	/** @error: how it ended: 0, or a positive errno */
	__u32 error;
	/** @duration_ns: how long it took */
	__u64 duration_ns;
	/** @reset_count: device resets so far, as in struct drm_trainium_query_device */
	__u64 reset_count;
};

/** On-chip memory, in the place of an HBM stack */
#define TRAINIUM_ECC_SRAM	0xffffffffu

/**
 * enum drm_trainium_ecc_kind - what is counted
 */
enum drm_trainium_ecc_kind {
	/** @TRAINIUM_ECC_CORRECTED: errors that did no harm */
	TRAINIUM_ECC_CORRECTED = 0,
	/** @TRAINIUM_ECC_UNCORRECTED: data were lost */
	TRAINIUM_ECC_UNCORRECTED = 1,
	/** @TRAINIUM_ECC_REPAIRABLE: data were lost, the memory can be repaired */
	TRAINIUM_ECC_REPAIRABLE = 2,
	/** @TRAINIUM_ECC_REPAIR: state of repair, see hbm_repair_state */
	TRAINIUM_ECC_REPAIR = 3,
};

/**
 * struct drm_trainium_event_ecc - TRAINIUM_EVENT_ECC
 */
struct drm_trainium_event_ecc {
	/** @stack: HBM stack, or TRAINIUM_ECC_SRAM; 0 for TRAINIUM_ECC_REPAIR */
	__u32 stack;
	/** @kind: enum drm_trainium_ecc_kind */
	__u32 kind;
	/** @count: as it is now; the state of repair for TRAINIUM_ECC_REPAIR */
	__u64 count;
	/** @before: as it was before */
	__u64 before;
	/** @pad: zero */
	__u64 pad;
};

/**
 * struct drm_trainium_event_health - TRAINIUM_EVENT_HEALTH
 */
struct drm_trainium_event_health {
	/** @health: health bits now, 0 = healthy */
	__u32 health;
	/** @before: as they were before */
	__u32 before;
	/** @pad: zero */
	__u64 pad[3];
};

/**
 * enum drm_trainium_alarm - what is too much
 */
enum drm_trainium_alarm {
	/** @TRAINIUM_ALARM_THROTTLE: the firmware throttles the chip */
	TRAINIUM_ALARM_THROTTLE = 0,
	/** @TRAINIUM_ALARM_TEMP_MAX: so hot that it throttles */
	TRAINIUM_ALARM_TEMP_MAX = 1,
	/** @TRAINIUM_ALARM_TEMP_CRIT: so hot that it may be damaged */
	TRAINIUM_ALARM_TEMP_CRIT = 2,
};

/**
 * struct drm_trainium_event_thermal - TRAINIUM_EVENT_THERMAL
 */
struct drm_trainium_event_thermal {
	/** @alarm: enum drm_trainium_alarm */
	__u32 alarm;
	/** @sensor: index in temperature of struct drm_trainium_query_telemetry, else 0 */
	__u32 sensor;
	/** @on: 1 it begins, 0 it ends */
	__u32 on;
	/** @pad: zero */
	__u32 pad;
	/** @value: throttling or temperature, as in the query */
	__s64 value;
	/** @limit: the alarm is on from here */
	__s64 limit;
};

/**
 * struct drm_trainium_event_fault - TRAINIUM_EVENT_FAULT
 */
struct drm_trainium_event_fault {
	/** @engine: DMA engine */
	__u32 engine;
	/** @reason: enum drm_trainium_reason */
	__u32 reason;
	/** @m2s_cause: error causes of the engine's read side */
	__u32 m2s_cause;
	/** @s2m_cause: error causes of its write side */
	__u32 s2m_cause;
	/** @pad: zero */
	__u64 pad[2];
};

/**
 * struct drm_trainium_event_port - TRAINIUM_EVENT_PORT
 *
 * A port that has changed more than once since the last event is told of once.
 */
struct drm_trainium_event_port {
	/** @port: its number */
	__u32 port;
	/** @state: enum drm_trainium_port_state, now */
	__u32 state;
	/** @before: the same, as the last event had it */
	__u32 before;
	/** @reason: enum drm_trainium_port_reason */
	__u32 reason;
	/** @lanes: in use */
	__u32 lanes;
	/** @flags: TRAINIUM_PORT_F_* */
	__u32 flags;
	/** @pad: zero */
	__u64 pad;
};

/**
 * struct drm_trainium_event_partition - TRAINIUM_EVENT_PARTITION
 */
struct drm_trainium_event_partition {
	/** @partition: as in struct drm_trainium_query_fabric */
	__u32 partition;
	/** @changes: as there */
	__u32 changes;
	/** @pad: zero */
	__u64 pad[3];
};

/**
 * struct drm_trainium_event_group - TRAINIUM_EVENT_GROUP
 */
struct drm_trainium_event_group {
	/** @group: id */
	__u32 group;
	/** @pad: zero */
	__u32 pad;
	/** @pad2: zero */
	__u64 pad2[3];
};

/**
 * struct drm_trainium_event_counter - TRAINIUM_EVENT_COUNTER
 */
struct drm_trainium_event_counter {
	/** @port: its number */
	__u32 port;
	/** @counter: TRAINIUM_PORT_* index of the counter */
	__u32 counter;
	/** @value: of the counter */
	__u64 value;
	/** @threshold: that it has reached; there is none any more */
	__u64 threshold;
	/** @pad: zero */
	__u64 pad;
};

/**
 * struct drm_trainium_event - what read() of a subscription returns
 *
 * Newer drivers may have longer records. Those that are read have the length
 * that the subscription was created with: the end is cut off, or zero.
 */
struct drm_trainium_event {
	/** @size: bytes of the record that mean something */
	__u32 size;
	/** @type: enum drm_trainium_event_type; tells which member counts */
	__u32 type;
	/** @seqno: number of the event on this device, from 1; others see the same */
	__u64 seqno;
	/** @time_ns: when it happened */
	__s64 time_ns;
	/**
	 * @lost: events right before this one that would have been read, but for
	 * which there was no room any more: the reader was too slow
	 */
	__u64 lost;
	union {
		/** @reset: TRAINIUM_EVENT_RESET */
		struct drm_trainium_event_reset reset;
		/** @ecc: TRAINIUM_EVENT_ECC */
		struct drm_trainium_event_ecc ecc;
		/** @health: TRAINIUM_EVENT_HEALTH */
		struct drm_trainium_event_health health;
		/** @thermal: TRAINIUM_EVENT_THERMAL */
		struct drm_trainium_event_thermal thermal;
		/** @fault: TRAINIUM_EVENT_FAULT */
		struct drm_trainium_event_fault fault;
		/** @port: TRAINIUM_EVENT_PORT */
		struct drm_trainium_event_port port;
		/** @partition: TRAINIUM_EVENT_PARTITION */
		struct drm_trainium_event_partition partition;
		/** @group: TRAINIUM_EVENT_GROUP */
		struct drm_trainium_event_group group;
		/** @counter: TRAINIUM_EVENT_COUNTER */
		struct drm_trainium_event_counter counter;
		/** @data: room for all of them */
		__u64 data[4];
	};
};

/** The descriptor does not block: read() fails with -EAGAIN instead. */
#define TRAINIUM_EVENTS_NONBLOCK	(1u << 0)

/**
 * struct drm_trainium_events - subscribe to events
 *
 * Creates a descriptor, closed on exec, that tells of what happens from now
 * on. read() returns whole records, as many as fit, and waits for the first;
 * -EINVAL if not even one fits. poll() says POLLIN when there is one. When the
 * reader is too slow the oldest record makes room, see struct
 * drm_trainium_event. After the device was removed, poll() says POLLHUP and
 * POLLERR, and read() fails with -ENODEV once all records are read.
 *
 * The subscription needs no privilege and lives on when the file of the device
 * is closed. A file may have 16 of them, else -EDQUOT.
 */
struct drm_trainium_events {
	/** @types: bit t: events of type t; not 0, and none that the driver has not */
	__u64 types;
	/** @flags: TRAINIUM_EVENTS_* */
	__u32 flags;
	/** @record_size: bytes from record to record, 64 to 1024, a multiple of 8 */
	__u32 record_size;
	/**
	 * @capacity: in: records to keep, at most 4096, 0: the driver's choice;
	 * out: how many are kept
	 */
	__u32 capacity;
	/** @fd: out: the descriptor */
	__s32 fd;
};

/* Fabric: the links between chips. All of it since 1.3, with TRAINIUM_FEATURE_FABRIC. */

#define TRAINIUM_FABRIC_NONE		0u	/* no fabric */
#define TRAINIUM_FABRIC_NEURONLINK	1u	/* torus, no switches */
#define TRAINIUM_FABRIC_NEURONSWITCH	2u	/* two levels of switches */
#define TRAINIUM_FABRIC_NVLINK		3u	/* all to all by one level of switches */

#define TRAINIUM_FABRIC_CAP_MULTICAST	(1u << 0)	/* writes to all of a group */
#define TRAINIUM_FABRIC_CAP_REDUCE	(1u << 1)	/* reads that combine a group */

/** Partition of a chip that may talk to no other */
#define TRAINIUM_PARTITION_NONE		0xffffu

/**
 * struct drm_trainium_query_fabric - the chip's place in its fabric
 *
 * All zero for a chip without one.
 */
struct drm_trainium_query_fabric {
	/** @kind: TRAINIUM_FABRIC_* */
	__u32 kind;
	/** @caps: TRAINIUM_FABRIC_CAP_* */
	__u32 caps;
	/** @uuid: of the domain, all chips that links join */
	__u8 uuid[16];
	/** @chip: id of this chip in the domain */
	__u32 chip;
	/** @num_chips: ids are below this; not all need be there */
	__u32 num_chips;
	/** @rack: where the chip is */
	__u32 rack;
	/** @server: where the chip is */
	__u32 server;
	/** @position: in its server */
	__u32 position;
	/** @num_ports: ports of the chip */
	__u32 num_ports;
	/** @ports_up: bit p: port p carries traffic */
	__u64 ports_up;
	/** @partition: chips of one partition may talk to each other */
	__u32 partition;
	/** @partition_changes: times that it has changed */
	__u32 partition_changes;
	/** @max_groups: groups of the domain, for all */
	__u32 max_groups;
	/** @group_slots: ranges that a member can bind */
	__u32 group_slots;
	/**
	 * @group_granule: bound ranges begin and end at multiples of it in HBM,
	 * bytes: the alignment of buffers for that
	 */
	__u32 group_granule;
	/** @reduce_dtypes: bit per TRAINIUM_DTYPE_* that the fabric reduces */
	__u32 reduce_dtypes;
	/** @reduce_combines: bit per TRAINIUM_COMBINE_* */
	__u32 reduce_combines;
	/** @errors: accesses of this chip that the fabric refused */
	__u32 errors;
};

/**
 * enum drm_trainium_port_state - operational state of a port
 */
enum drm_trainium_port_state {
	/** @TRAINIUM_PORT_OFF: in reset or without power */
	TRAINIUM_PORT_OFF = 0,
	/** @TRAINIUM_PORT_DETECT: looks for something at the other end */
	TRAINIUM_PORT_DETECT = 1,
	/** @TRAINIUM_PORT_TRAINING: both ends agree on lanes and rate */
	TRAINIUM_PORT_TRAINING = 2,
	/** @TRAINIUM_PORT_UP: carries traffic */
	TRAINIUM_PORT_UP = 3,
	/** @TRAINIUM_PORT_DEGRADED: carries traffic with fewer lanes or at a lower rate */
	TRAINIUM_PORT_DEGRADED = 4,
	/** @TRAINIUM_PORT_RECOVERY: was up, trains again */
	TRAINIUM_PORT_RECOVERY = 5,
	/** @TRAINIUM_PORT_FAILED: has given up */
	TRAINIUM_PORT_FAILED = 6,
	/** @TRAINIUM_PORT_DISABLED: switched off by software here */
	TRAINIUM_PORT_DISABLED = 7,
};

/**
 * enum drm_trainium_port_reason - why a port is not up
 */
enum drm_trainium_port_reason {
	/** @TRAINIUM_PORT_REASON_NONE: no reason */
	TRAINIUM_PORT_REASON_NONE = 0,
	/** @TRAINIUM_PORT_REASON_NO_PEER: nothing at the other end */
	TRAINIUM_PORT_REASON_NO_PEER = 1,
	/** @TRAINIUM_PORT_REASON_WRONG_PEER: not what the wiring plan wants */
	TRAINIUM_PORT_REASON_WRONG_PEER = 2,
	/** @TRAINIUM_PORT_REASON_TIMEOUT: the other end does not train */
	TRAINIUM_PORT_REASON_TIMEOUT = 3,
	/** @TRAINIUM_PORT_REASON_FLAPPING: went down too often; latched */
	TRAINIUM_PORT_REASON_FLAPPING = 4,
	/** @TRAINIUM_PORT_REASON_ERRORS: too many errors */
	TRAINIUM_PORT_REASON_ERRORS = 5,
	/** @TRAINIUM_PORT_REASON_PEER_OFF: the other end is off or disabled */
	TRAINIUM_PORT_REASON_PEER_OFF = 6,
	/** @TRAINIUM_PORT_REASON_LANES: lanes were lost */
	TRAINIUM_PORT_REASON_LANES = 7,
	/** @TRAINIUM_PORT_REASON_CAP: lanes or rate are capped, here or there */
	TRAINIUM_PORT_REASON_CAP = 8,
	/** @TRAINIUM_PORT_REASON_CABLE: the link was pulled */
	TRAINIUM_PORT_REASON_CABLE = 9,
};

#define TRAINIUM_PORT_KIND_CHIP		1u	/* to a chip of the same server */
#define TRAINIUM_PORT_KIND_SWITCH	2u	/* to a switch */
#define TRAINIUM_PORT_KIND_RACK		3u	/* to a chip of another rack */
#define TRAINIUM_PORT_KIND_NODE		4u	/* to a chip of another node of an UltraServer */

#define TRAINIUM_PORT_F_LATCHED		(1u << 0)	/* stays failed until cleared */
#define TRAINIUM_PORT_F_PEER		(1u << 1)	/* @peer was read from the wire */
#define TRAINIUM_PORT_F_PEER_SWITCH	(1u << 2)	/* and is a switch */
#define TRAINIUM_PORT_F_EXPECT		(1u << 3)	/* the plan wants a link here */
#define TRAINIUM_PORT_F_EXPECT_SWITCH	(1u << 4)	/* to a switch */
#define TRAINIUM_PORT_F_LOOPBACK	(1u << 5)	/* receives what it sends */

#define TRAINIUM_PORT_ADMIN_DISABLED	0u	/* is to be off */
#define TRAINIUM_PORT_ADMIN_ENABLED	1u	/* is to be on */
#define TRAINIUM_PORT_ADMIN_DRAINED	2u	/* trained, but carries nothing */

/* Indices of counters; packets are of 256 bytes at most, bytes are payload */
#define TRAINIUM_PORT_TX_BYTES		0u
#define TRAINIUM_PORT_RX_BYTES		1u
#define TRAINIUM_PORT_TX_PACKETS	2u
#define TRAINIUM_PORT_RX_PACKETS	3u
#define TRAINIUM_PORT_CRC_ERRORS	4u
#define TRAINIUM_PORT_REPLAYS		5u
#define TRAINIUM_PORT_RECOVERIES	6u
#define TRAINIUM_PORT_LINK_DOWNS	7u
#define TRAINIUM_PORT_DISCARDS		8u	/* packets with no way on */
#define TRAINIUM_PORT_BLOCKED		9u	/* packets for another partition */
#define TRAINIUM_PORT_MULTICASTS	10u	/* packets, of those above */
#define TRAINIUM_PORT_REDUCTIONS	11u
#define TRAINIUM_PORT_NUM_COUNTERS	12u
#define TRAINIUM_PORT_MAX_COUNTERS	16u

/**
 * struct drm_trainium_fabric_port - a port and its counters
 *
 * The counters are of one moment, @snapshot_ns.
 */
struct drm_trainium_fabric_port {
	/** @port: in: number */
	__u32 port;
	/** @flags: in: zero; out: TRAINIUM_PORT_F_* */
	__u32 flags;
	/** @kind: out: TRAINIUM_PORT_KIND_* */
	__u32 kind;
	/** @admin: out: TRAINIUM_PORT_ADMIN_*, what is asked of it */
	__u32 admin;
	/** @state: out: enum drm_trainium_port_state */
	__u32 state;
	/** @reason: out: enum drm_trainium_port_reason */
	__u32 reason;
	/** @max_lanes: out: that it has */
	__u32 max_lanes;
	/** @lanes: out: in use */
	__u32 lanes;
	/** @max_rate: out: MB/s of a lane, one direction */
	__u32 max_rate;
	/** @rate: out: the same, now */
	__u32 rate;
	/** @lane_cap: out: lanes at most, 0: all */
	__u32 lane_cap;
	/** @rate_cap: out: MB/s of a lane at most, 0: the maximum */
	__u32 rate_cap;
	/** @peer: out: chip or switch at the other end */
	__u32 peer;
	/** @peer_port: out: its port */
	__u32 peer_port;
	/** @expect: out: what the wiring plan wants there */
	__u32 expect;
	/** @expect_port: out: its port */
	__u32 expect_port;
	/** @peer_serial: out: serial number of what is there */
	__u64 peer_serial;
	/** @changed_ns: out: when its state has changed, since power-on of the chip */
	__u64 changed_ns;
	/** @snapshot_ns: out: when counters were read, on the same clock */
	__u64 snapshot_ns;
	/** @attempts: out: trainings begun */
	__u32 attempts;
	/** @epoch: out: times that the counters were cleared */
	__u32 epoch;
	/** @counters: out: by TRAINIUM_PORT_TX_BYTES and the others */
	__u64 counters[TRAINIUM_PORT_MAX_COUNTERS];
};

/**
 * enum drm_trainium_fabric_op - what is done to a port
 */
enum drm_trainium_fabric_op {
	/** @TRAINIUM_FABRIC_ENABLE: switch on, or end a drain */
	TRAINIUM_FABRIC_ENABLE = 0,
	/** @TRAINIUM_FABRIC_DISABLE: switch off */
	TRAINIUM_FABRIC_DISABLE = 1,
	/** @TRAINIUM_FABRIC_DRAIN: carry nothing any more, but stay trained */
	TRAINIUM_FABRIC_DRAIN = 2,
	/** @TRAINIUM_FABRIC_TRAIN: train again */
	TRAINIUM_FABRIC_TRAIN = 3,
	/** @TRAINIUM_FABRIC_RESET: begin from nothing; clears the latch */
	TRAINIUM_FABRIC_RESET = 4,
	/** @TRAINIUM_FABRIC_LANE_CAP: @value lanes at most, 0: all */
	TRAINIUM_FABRIC_LANE_CAP = 5,
	/** @TRAINIUM_FABRIC_RATE_CAP: @value MB/s of a lane at most, 0: the maximum */
	TRAINIUM_FABRIC_RATE_CAP = 6,
	/** @TRAINIUM_FABRIC_LOOPBACK: @value 1: looped back inside, 0: not */
	TRAINIUM_FABRIC_LOOPBACK = 7,
	/** @TRAINIUM_FABRIC_CLEAR_LATCH: let a port that was flapping train again */
	TRAINIUM_FABRIC_CLEAR_LATCH = 8,
	/** @TRAINIUM_FABRIC_CLEAR_COUNTERS: begin a new epoch */
	TRAINIUM_FABRIC_CLEAR_COUNTERS = 9,
	/**
	 * @TRAINIUM_FABRIC_THRESHOLD: TRAINIUM_EVENT_COUNTER once @counter is
	 * @value or more; 0: none
	 */
	TRAINIUM_FABRIC_THRESHOLD = 10,
};

/** Do it even if it takes the last way to peers that are in use. */
#define TRAINIUM_FABRIC_FORCE	(1u << 0)

/**
 * struct drm_trainium_fabric_ctl - control a port; CAP_SYS_ADMIN
 *
 * What is so already is done without effect. With @deadline_ns the call
 * returns when the port has come to rest: up, degraded, failed or disabled;
 * -ETIME, with the state of that moment, when it has not until then, and
 * -EINTR on a signal. What was asked for is not taken back.
 *
 * What would take away the last port that carries traffic (DISABLE, DRAIN,
 * LOOPBACK) is -EBUSY while peer buffers or groups are in use, unless forced.
 */
struct drm_trainium_fabric_ctl {
	/** @op: enum drm_trainium_fabric_op */
	__u32 op;
	/** @port: number */
	__u32 port;
	/** @flags: TRAINIUM_FABRIC_FORCE */
	__u32 flags;
	/** @counter: THRESHOLD: which; else zero */
	__u32 counter;
	/** @value: of the op; else zero */
	__u64 value;
	/** @deadline_ns: absolute; 0: return at once */
	__s64 deadline_ns;
	/** @state: out: enum drm_trainium_port_state */
	__u32 state;
	/** @reason: out: enum drm_trainium_port_reason */
	__u32 reason;
};

/**
 * enum drm_trainium_path_status - is there a way?
 */
enum drm_trainium_path_status {
	/** @TRAINIUM_PATH_OK: yes */
	TRAINIUM_PATH_OK = 0,
	/** @TRAINIUM_PATH_NO_CHIP: there is no such chip */
	TRAINIUM_PATH_NO_CHIP = 1,
	/** @TRAINIUM_PATH_PARTITION: it is in another partition */
	TRAINIUM_PATH_PARTITION = 2,
	/** @TRAINIUM_PATH_DOWN: links on the way are down */
	TRAINIUM_PATH_DOWN = 3,
	/** @TRAINIUM_PATH_UNTESTED: there should be; with TRAINIUM_PEER_TEST it would be tried */
	TRAINIUM_PATH_UNTESTED = 8,
	/** @TRAINIUM_PATH_BAD: data did not arrive as it was sent */
	TRAINIUM_PATH_BAD = 9,
};

/** Move data there and back, unless that was done since the fabric changed. */
#define TRAINIUM_PEER_TEST	(1u << 0)

/**
 * struct drm_trainium_fabric_peer - the way to another chip
 *
 * A chip is tried with TRAINIUM_PEER_TEST only if this driver has it, too:
 * -ENOENT otherwise. An import of its buffers does the same by itself.
 */
struct drm_trainium_fabric_peer {
	/** @chip: in: id in the domain; the chip's own is -EINVAL */
	__u32 chip;
	/** @flags: in: TRAINIUM_PEER_TEST */
	__u32 flags;
	/** @status: out: enum drm_trainium_path_status */
	__u32 status;
	/** @links: out: on the way */
	__u32 links;
	/** @rate: out: MB/s, one direction, when nothing else is on the way */
	__u32 rate;
	/** @latency_ns: out: of the links and switches on the way */
	__u32 latency_ns;
	/** @ports: out: bit p: leaves by port p */
	__u64 ports;
	/** @serial: out: serial number of the chip */
	__u64 serial;
};

/**
 * enum drm_trainium_group_op - what is done with a group
 */
enum drm_trainium_group_op {
	/** @TRAINIUM_GROUP_CREATE: for @count members; sets @group and @key */
	TRAINIUM_GROUP_CREATE = 0,
	/** @TRAINIUM_GROUP_JOIN: the chip becomes a member */
	TRAINIUM_GROUP_JOIN = 1,
	/** @TRAINIUM_GROUP_BIND: @size bytes of @handle from @offset become slot @count */
	TRAINIUM_GROUP_BIND = 2,
	/** @TRAINIUM_GROUP_UNBIND: slot @count */
	TRAINIUM_GROUP_UNBIND = 3,
	/** @TRAINIUM_GROUP_LEAVE: not a member any more: breaks the group */
	TRAINIUM_GROUP_LEAVE = 4,
	/** @TRAINIUM_GROUP_DESTROY: by the file that has created it */
	TRAINIUM_GROUP_DESTROY = 5,
	/** @TRAINIUM_GROUP_MAP: sets @handle to a buffer of @size bytes: slot @count */
	TRAINIUM_GROUP_MAP = 6,
	/** @TRAINIUM_GROUP_QUERY: sets @count to members joined, @state */
	TRAINIUM_GROUP_QUERY = 7,
};

#define TRAINIUM_GROUP_FORMING	0u	/* members are missing */
#define TRAINIUM_GROUP_READY	1u	/* all members have joined */
#define TRAINIUM_GROUP_BROKEN	2u	/* a member or its links are lost */

/**
 * struct drm_trainium_fabric_group - groups for multicast and reduction
 *
 * Chips join through files of their own; whoever has the key may. Once all
 * have joined, each binds a range of its own HBM to a slot. A buffer from MAP,
 * on any chip of the partition, stands for those of all members: a copy or fill
 * to it is written by all, TRAINIUM_OP_REDUCE from it combines all.
 *
 * A file that is closed leaves its groups and destroys those it has created;
 * so does a chip that is removed. A group that has lost a member is broken:
 * jobs that use it fail with TRAINIUM_REASON_FABRIC, or are refused with
 * -ENOTCONN.
 *
 * -EXDEV when the chip is in another partition than the group's owner, -ENOSPC
 * when the domain has no group left, -EALREADY for a second JOIN or a slot that
 * is bound, -EAGAIN for BIND when members are missing, -ENOTCONN when the group is
 * broken, -EACCES for a wrong key or DESTROY by somebody else, -ENOENT for a
 * group that is not there, or one the file is no member of.
 */
struct drm_trainium_fabric_group {
	/** @op: enum drm_trainium_group_op */
	__u32 op;
	/** @group: CREATE: out: id; else in */
	__u32 group;
	/** @key: CREATE: out; else in: proves that the creator has told of it */
	__u64 key;
	/** @count: members or slot, see the op; else zero */
	__u32 count;
	/** @handle: BIND: in; MAP: out; else zero */
	__u32 handle;
	/** @offset: BIND: bytes; else zero */
	__u64 offset;
	/** @size: BIND, MAP: bytes; else zero */
	__u64 size;
	/** @state: out: QUERY: TRAINIUM_GROUP_* */
	__u32 state;
	/** @flags: zero */
	__u32 flags;
};

/** The ioctls; each takes the structure of the same name. */
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
#define DRM_IOCTL_TRAINIUM_EVENTS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_EVENTS, struct drm_trainium_events)
#define DRM_IOCTL_TRAINIUM_FABRIC_PORT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_FABRIC_PORT, struct drm_trainium_fabric_port)
#define DRM_IOCTL_TRAINIUM_FABRIC_CTL \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_FABRIC_CTL, struct drm_trainium_fabric_ctl)
#define DRM_IOCTL_TRAINIUM_FABRIC_GROUP \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_FABRIC_GROUP, struct drm_trainium_fabric_group)
#define DRM_IOCTL_TRAINIUM_FABRIC_PEER \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_FABRIC_PEER, struct drm_trainium_fabric_peer)
#define DRM_IOCTL_TRAINIUM_LIST_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_LIST_CREATE, struct drm_trainium_list_create)
#define DRM_IOCTL_TRAINIUM_LIST_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TRAINIUM_LIST_SUBMIT, struct drm_trainium_submit)

#if defined(__cplusplus)
}
#endif

#endif
