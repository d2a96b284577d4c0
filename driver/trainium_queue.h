/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues and jobs.
 *
 * Jobs of a queue run in the order of their submission and end in that order,
 * so four counters of sequence numbers say everything:
 *
 *	released <= completed <= started <= submitted
 *
 *	released   buffers were let go, the slot can be used again
 *	completed  ended, its fence is signalled
 *	started    written to the rings, or its beginning
 *	submitted  accepted; those behind @started wait for fences, or for the
 *	           rings that jobs before them use
 *
 * Each job has a slot of a fixed array. A small job that can start at once is
 * written to the ring inside the ioctl, straight from the ops of the user; all
 * others carry their ops in a struct trn_job.
 */
#ifndef TRAINIUM_QUEUE_H
#define TRAINIUM_QUEUE_H

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/wait.h>

#include "regs/ext.h"
#include "trainium_device.h"
#include "trainium_gem.h"
#include "trainium_ring.h"

#define TRN_QUEUE_MAX_RINGS	16u
#define TRN_QUEUE_RINGS		4u	/* the driver's choice */
#define TRN_QUEUE_SLOTS		128u	/* jobs that are not released yet */
#define TRN_WAIT_CLASSES	16u	/* of jobs, by what they move */
#define TRN_BO_CACHE		6u	/* buffers that a queue remembers */
#define TRN_REFS_INLINE		(2 * TRN_BO_CACHE)

/* Fill patterns are written to a few blocks that the engines copy from. */
#define TRN_PATTERN_SIZE	(16u << 10)
#define TRN_NUM_PATTERNS	4u

/* Limits of a file and of a submit */
#define TRN_MAX_QUEUES		192u
#define TRN_MAX_IDS		(3 * TRN_MAX_QUEUES)	/* for lists, and for user queues */
#define TRN_MAX_FILE_RINGS	256u
#define TRN_MAX_OPS		65536u
#define TRN_MAX_SYNCS		256u
#define TRN_MAX_JOB_BYTES	BIT_ULL(40)
#define TRN_MAX_ROWS		BIT(24)
#define TRN_MAX_LIST_DESCS	(TRN_RING_DEFAULT_SLOTS / 2 - 1)

struct trn_file {
	struct trn_device *tdev;
	/** @lock: writers of @queues, @num_queues, @num_rings */
	struct mutex lock;
	/** @queues: by id - 1; then, TRN_MAX_QUEUES each, lists and user queues */
	struct trn_queue __rcu *queues[TRN_MAX_IDS];
	unsigned int num_queues;
	unsigned int num_rings;
	/** @since_ns: when it was opened, CLOCK_MONOTONIC */
	u64 since_ns;
	/** @num_subscriptions: to events; trn_device.events_lock */
	unsigned int num_subscriptions;
	/** @account: memory of the buffers that the file has created */
	struct trn_account *account;
	/** @busy_ns: time during which a queue had work, of queues that are gone */
	atomic64_t busy_ns;
};

/* What fences need of their queue, which may be gone before them. */
struct trn_fence_ctx {
	struct kref ref;
	/** @lock: of all fences of the queue, and of its counters */
	spinlock_t lock;
	u64 context;
	char name[32];
};

struct trn_fence {
	struct dma_fence base;
	struct trn_fence_ctx *ctx;
};

/* Buffers that a job uses, one reference each. */
struct trn_refs {
	struct trn_bo **list;		/* @few, or allocated */
	u32 num;
	u32 max;
	struct trn_bo *few[TRN_REFS_INLINE];
};

/* Handles looked up lately, and their buffers or NULL */
struct trn_bo_cache {
	u32 handle[TRN_BO_CACHE];
	struct trn_bo *bo[TRN_BO_CACHE];
	/** @next: place to be used next */
	u32 next;
};

/* Of a strided copy, in the order of the uapi */
struct trn_strides {
	u32 rows;
	u32 planes;
	u64 dst_row_pitch;
	u64 dst_plane_pitch;
	u64 src_row_pitch;
	u64 src_plane_pitch;
};

/* One op, its buffers found and its ranges checked */
struct trn_job_op {
	struct trn_bo *dst;
	struct trn_bo *src;		/* COPY */
	u64 dst_offset;
	union {
		u64 src_offset;		/* COPY */
		u64 pattern;		/* FILL: repeated to 8 bytes */
	};
	/** @size: bytes, COPY_STRIDED: of a row */
	u64 size;
	u32 type;
	u32 flags;
	/** @strides: COPY_STRIDED */
	const struct trn_strides *strides;
};

struct trn_job_dep {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct trn_job *job;
};

/* A job that cannot be written to the rings inside the ioctl. */
struct trn_job {
	struct trn_queue *queue;
	struct trn_job_op *ops;
	/** @strides: by op, NULL when none has any */
	struct trn_strides *strides;
	u32 num_ops;
	/** @op: next op to write */
	u32 op;
	/** @ring: where the next descriptor goes */
	u32 ring;
	/** @done: bytes of it that are written */
	u64 done;
	/** @spread: uses all rings of the queue */
	bool spread;
	/** @in_parts: it was too large for the rings */
	bool in_parts;
	/** @deps_left: fences not signalled yet, one more during submit */
	atomic_t deps_left;
	/** @callbacks: of them, those whose callback has not returned */
	atomic_t callbacks;
	u32 num_deps;
	/** @num_in: those of in syncs, the first ones: if they fail, so does the job */
	u32 num_in;
	struct trn_job_dep *deps;
};

/* What a job does with a shared buffer */
struct trn_share {
	struct trn_bo *bo;
	bool write;
};

/* The shared buffers of a job, with references; mostly none, then only @num is set. */
struct trn_shares {
	struct trn_share *list;		/* @few, or allocated */
	u32 num;
	u32 max;
	struct trn_share few[TRN_BO_CACHE];
};

/* A job in its queue; trn_fence_ctx.lock once it is started */
struct trn_slot {
	u64 seqno;
	struct trn_fence *fence;
	struct trn_job *job;
	/** @rings: bit r: has a part on ring r of the queue */
	u32 rings;
	/** @unwritten: parts of it are still to be written */
	bool unwritten;
	/** @sync: a buffer needs DMA syncing: not completed by the interrupt */
	bool sync;
	/** @barriers: has ops with a barrier: cannot be executed twice */
	bool barriers;
	/** @suspect: was running when an engine was aborted */
	bool suspect;
	/** @error: negative, how it ended; set before it is completed */
	int error;
	u32 reason;
	/** @bytes: that it moves */
	u64 bytes;
	/** @waiters: callers that will look at @error */
	u32 waiters;
	/** @marker: by ring: the part has ended when it is reached */
	u64 marker[TRN_QUEUE_MAX_RINGS];
	/** @first: by ring: its head where the job begins */
	u32 first[TRN_QUEUE_MAX_RINGS];
	struct trn_refs refs;
};

struct trn_pattern {
	u64 value;
	/** @seqno: newest job that uses it */
	u64 seqno;
	/** @valid: bytes that are written */
	u32 valid;
	void *cpu;
	dma_addr_t dma;
};

/* A descriptor that is written again after a reset */
struct trn_replay {
	struct trn_desc m2s;
	u64 dst;
	/** @operand: the word that it reads, if that lies in the ring's memory */
	u64 operand;
	bool has_operand;
};

struct trn_queue {
	/** @ref: one until the teardown, one of the file, one of each user */
	struct kref ref;
	struct rcu_head rcu;
	struct trn_device *tdev;
	struct drm_device *drm;
	/** @file: owner, NULL once it is closed; trn_device.queues_lock */
	struct trn_file *file;
	u32 id;

	/** @lock: rings, starting of jobs, @submitted, @released */
	struct mutex lock;
	struct trn_fence_ctx *fc;
	struct trn_ring *ring[TRN_QUEUE_MAX_RINGS];
	u32 num_rings;
	/**
	 * @bos: of jobs that were written inside the ioctl, one reference each,
	 * until trn_gem_close() takes them away
	 */
	struct trn_bo_cache bos;
	/** @busy: rings that jobs in flight use; set by trn_queue_set_busy() */
	u32 busy;
	/** @quiet: rings whose newest marker does not interrupt */
	u32 quiet;
	/** @inline_done: the last small job had ended when the doorbell returned */
	bool inline_done;
	/** @closing: it ends */
	bool closing;
	/** @refuses: 0, or why it takes no jobs: -ENOENT, -EIO without one of its rings */
	int refuses;
	/** @killed: and its jobs are dropped, by the worker */
	bool killed;
	/** @ended: its teardown was started */
	bool ended;
	/** @dead: has no rings any more, starts no work; fc->lock */
	bool dead;
	/** @frozen: engines may still use what completed jobs used */
	bool frozen;

	/* Written under @lock and fc->lock, read under either. */
	u64 submitted;
	u64 started;
	u64 completed;
	u64 released;
	/** @max_jobs: that are not released yet, at most TRN_QUEUE_SLOTS */
	u64 max_jobs;
	struct trn_slot *slots;
	/** @list: what it starts, NULL for a queue that takes jobs */
	struct trn_list *list;
	/** @user: of a user queue or list: how it tells what it has done */
	struct trn_user *user;

	/* fc->lock */
	u64 failed;
	u32 error;
	u32 reason;
	u32 error_engine;
	u32 error_cause;
	/** @late_error: failure that no waiting submit has reported */
	int late_error;
	u64 late_seqno;
	u64 busy_ns;
	u64 busy_since;
	/** @busy_first: the job that began at @busy_since */
	u64 busy_first;
	/** @expect_ns: what jobs take, by size class */
	u32 expect_ns[TRN_WAIT_CLASSES];

	/** @patterns: allocated when first needed */
	struct trn_pattern *patterns;

	/** @wait: a job has completed, or a slot was released */
	wait_queue_head_t wait;
	struct work_struct work;
	struct work_struct teardown;
	struct timer_list poll;
	struct delayed_work watchdog;
	/** @watching: @watchdog is on its way */
	bool watching;
	/** @watched: progress that the watchdog saw, and when */
	u64 watched;
	u64 watched_hw;
	unsigned long watched_at;
	/** @lost: rings whose contents an engine recovery dropped; atomic bits */
	unsigned long lost;

	struct list_head link;		/* trn_device.queues */
};

static inline struct trn_slot *trn_slot(struct trn_queue *q, u64 seqno)
{
	return &q->slots[seqno & (TRN_QUEUE_SLOTS - 1)];
}

/* A job has started. fc->lock is held. */
static inline void trn_queue_begin(struct trn_queue *q, u64 seqno)
{
	if (!q->busy_since) {
		q->busy_since = ktime_get_ns();
		q->busy_first = seqno;
	}
}

/* The newest job that was started was too large for the rings. Its lock is held. */
static inline bool trn_queue_last_in_parts(struct trn_queue *q)
{
	const struct trn_job *job = trn_slot(q, q->started)->job;

	return job && job->in_parts;
}

static inline bool trn_has_timestamp(const struct trn_device *tdev)
{
	return tdev->ext && (tdev->ext_features & TRN_EXT_FEAT_TIME);
}

static inline void trn_refs_init(struct trn_refs *refs)
{
	refs->list = refs->few;
	refs->num = 0;
	refs->max = TRN_REFS_INLINE;
}

/* trainium_job.c */
void trn_refs_move(struct trn_refs *to, struct trn_refs *from);
void trn_refs_put(struct trn_refs *refs);
int trn_refs_grow(struct trn_refs *refs);
struct trn_fence_ctx *trn_fence_ctx_new(const char *name);
void trn_fence_ctx_put(struct trn_fence_ctx *fc);
struct trn_fence *trn_fence_alloc(struct trn_queue *q);
void trn_fence_drop(struct trn_fence *fence);
void trn_fence_init(struct trn_fence *fence, struct trn_queue *q, u64 seqno);
struct dma_fence *trn_job_fence(struct trn_queue *q, u64 seqno);

void trn_queue_set_busy(struct trn_queue *q, u32 busy);
bool trn_queue_reap(struct trn_queue *q);
void trn_queue_advance(struct trn_queue *q);
void trn_queue_release(struct trn_queue *q);
void trn_queue_request_irq(struct trn_queue *q);
void trn_queue_watch(struct trn_queue *q);
void trn_queue_work(struct work_struct *work);
void trn_queue_poll(struct timer_list *timer);
struct trn_job *trn_job_new(struct trn_queue *q, u32 num_ops);
void trn_job_add_deps(struct trn_job *job);
void trn_job_cancel_deps(struct trn_job *job);
void trn_job_free(struct trn_job *job);

/* trainium_wait.c */
void trn_wait_init(struct trn_queue *q);
void trn_wait_learn(struct trn_queue *q, u64 bytes, u64 ns);
bool trn_wait_is_short(const struct trn_queue *q, u64 bytes);
u64 trn_wait_slice(const struct trn_queue *q);
void trn_queue_arm(struct trn_queue *q);
bool trn_queue_wait(struct trn_queue *q, u64 seqno, s64 deadline, bool killable);

/* trainium_queue.c */
struct trn_queue *trn_queue_get(struct trn_file *tfile, u32 id);
struct trn_queue *trn_queue_find(struct trn_file *tfile, u32 id);
int trn_queue_check_place(struct trn_device *tdev, u32 stack, s32 priority);
struct trn_queue *trn_file_new_queue(struct trn_file *tfile, u32 num_rings, u32 stack,
				     s32 priority, struct trn_user *user);
int trn_file_add_queue(struct trn_file *tfile, struct trn_queue *q);
void trn_queue_put(struct trn_queue *q);
struct trn_engine *trn_choose_engine(struct trn_device *tdev, u32 stack,
				     const unsigned long *not, const u8 *stack_used);
struct trn_queue *trn_queue_new(struct trn_device *tdev, struct trn_file *file,
				u32 num_rings, u32 stack, s32 priority,
				struct trn_user *user);
void trn_queue_close(struct trn_queue *q, bool kill);
void trn_queues_forget_bo(struct trn_device *tdev, struct trn_file *tfile, struct trn_bo *bo);

/* trainium_share.c */
int trn_shares_add(struct trn_shares *shares, struct trn_bo *bo, bool write, bool may_alloc);
bool trn_shares_busy(const struct trn_shares *shares, const struct trn_queue *q);
bool trn_shares_stale(const struct trn_refs *refs, struct trn_device *tdev, u64 since);
int trn_shares_deps(const struct trn_shares *shares, const struct trn_queue *q, s64 deadline,
		    struct trn_job_dep **deps, u32 *num_deps);
void trn_shares_publish(const struct trn_shares *shares, struct trn_queue *q, u64 seqno);
void trn_shares_put(struct trn_shares *shares);

/* trainium_service.c */
void trn_queue_start_rings(struct trn_queue *q);

/* trainium_list.c */
void trn_list_forget_bo(struct trn_queue *q, const struct trn_bo *bo);
void trn_list_release(struct trn_queue *q);
void trn_list_free(struct trn_queue *q);

/* trainium_recover.c */
extern unsigned int trn_job_timeout_ms;
unsigned long trn_watchdog_period(void);
void trn_queue_watchdog(struct work_struct *work);
void trn_queue_fail_started(struct trn_queue *q, int err, u32 reason);
void trn_queue_drop_started(struct trn_queue *q);
void trn_recover_work(struct work_struct *work);

/* trainium_strided.c */
int trn_fetch_strides(const struct drm_trainium_submit *args, struct trn_job *job, u32 from,
		      u32 num, const struct drm_trainium_op *ops);
int trn_strided_check(const struct trn_job_op *op);

/* trainium_own.c */
int trn_submit_clear(struct trn_device *tdev, struct trn_bo *bo);
int trn_submit_own_copy(struct trn_device *tdev, struct trn_bo *dst, struct trn_bo *src,
			u64 size);

#endif
