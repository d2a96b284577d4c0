/* SPDX-License-Identifier: GPL-2.0-only */
/* A submit on its way: what the ways of submitting share. */
#ifndef TRAINIUM_SUBMIT_H
#define TRAINIUM_SUBMIT_H

#include "trainium_queue.h"

#define TRN_OP_BLOCK		16u	/* ops taken from user space at a time */

/* Up to this size a job may have ended when the doorbell returns. */
#define TRN_INLINE_BYTES	(64u << 10)
#define TRN_INLINE_DESCS	32u

/* What a way of submitting says besides 0 and errors */
#define TRN_SUBMIT_SLOW		1	/* take the other way */
#define TRN_SUBMIT_FULL		2	/* wait until a slot is free, or a reset is over */

struct trn_out_sync {
	struct drm_syncobj *obj;
	struct dma_fence_chain *chain;
	u64 point;
};

struct trn_submit {
	struct trn_queue *q;
	struct drm_file *file;
	const struct drm_trainium_submit *args;
	struct trn_refs refs;
	struct trn_fence *fence;
	struct trn_out_sync *out;
	/** @deps: of in syncs, then of shared buffers */
	struct trn_job_dep *deps;
	u32 num_out;
	u32 num_deps;
	/** @share_count: of the device, before the buffers were looked up */
	u64 share_count;
	struct trn_shares shares;
	/** @depends: some fence has not been signalled, or with an error */
	bool depends;
	bool sync;
	bool barriers;
	/** @once: must not be executed twice, barriers or not */
	bool once;
	/** @ended: the job has ended without a slot of its own */
	bool ended;
	u64 seqno;
	u64 bytes;
	/** @rows: of strided copies, when @own is used */
	u64 rows;
	/** @bos: the queue's when its lock is held, else @own */
	struct trn_bo_cache *bos;
	/** @used: bit i: this job uses @bos->bo[i] */
	u32 used;
	struct trn_bo_cache own;
	struct drm_trainium_op block[TRN_OP_BLOCK];
};

/* All but the ops and @own: they are written before they are read. */
static inline void trn_submit_init(struct trn_submit *s, struct trn_queue *q,
				   struct drm_file *file,
				   const struct drm_trainium_submit *args)
{
	s->q = q;
	s->file = file;
	s->args = args;
	trn_refs_init(&s->refs);
	s->fence = NULL;
	s->out = NULL;
	s->deps = NULL;
	s->num_out = 0;
	s->num_deps = 0;
	s->shares.num = 0;
	s->depends = false;
	s->sync = false;
	s->barriers = false;
	s->once = false;
	s->ended = false;
	s->seqno = 0;
	s->bytes = 0;
	s->used = 0;
}

static inline bool trn_queue_has_slot(const struct trn_queue *q)
{
	return READ_ONCE(q->submitted) - READ_ONCE(q->released) < q->max_jobs;
}

/* The job has ended when the doorbell returned, and nothing was before it. */
static inline void trn_submit_ended(struct trn_submit *s)
{
	struct trn_queue *q = s->q;

	/* In this order nobody takes it for a job in flight. */
	if (q->released == q->completed)
		q->released = s->seqno;
	WRITE_ONCE(q->completed, s->seqno);
	/* Pairs with trn_queue_reap_locked(). */
	smp_store_release(&q->started, s->seqno);
	WRITE_ONCE(q->submitted, s->seqno);
	s->ended = true;
	trace_trn_complete(q->tdev, q->id, s->seqno, 0);
	if (s->fence) {
		trn_fence_init(s->fence, q, s->seqno);
		dma_fence_signal(&s->fence->base);
	}
}

/* Until when a submit waits, for the end of the job or to be queued */
static inline s64 trn_submit_deadline(const struct drm_trainium_submit *args)
{
	return args->flags & TRAINIUM_SUBMIT_WAIT ? args->deadline_ns : S64_MAX;
}

/* Has the op flags that other ops may not have? */
static inline bool trn_op_has_flags(const struct drm_trainium_op *op)
{
	return op->type >= TRAINIUM_OP_REDUCE;
}

/* trainium_combine.c */
int trn_combine_check(const struct trn_device *tdev, const struct drm_trainium_op *op);
bool trn_combine_aligned(const struct trn_job_op *op);

/* trainium_semaphore.c */
int trn_semaphore_check(const struct trn_queue *q, struct trn_job_op *op,
			const struct drm_trainium_op *in);

/* trainium_wait.c */
int trn_submit_wait_all(struct trn_submit *s, struct drm_trainium_submit *args);

int trn_submit_check(const struct drm_trainium_submit *args);
int trn_submit_parse(struct trn_submit *s, struct trn_job **job);
int trn_submit_queue(struct trn_submit *s, struct trn_job *job);
int trn_submit_wait(struct trn_submit *s, s64 deadline, bool killable, bool *ended);
int trn_submit_in(struct trn_submit *s);
int trn_submit_out(struct trn_submit *s);
void trn_submit_publish(struct trn_submit *s);
void trn_submit_free_syncs(struct trn_submit *s);
struct trn_slot *trn_submit_slot(struct trn_submit *s);
int trn_submit_wait_slot(struct trn_submit *s);
int trn_submit_finish(struct trn_submit *s, struct drm_trainium_submit *args);
int trn_queue_lock(struct trn_queue *q, int *idx);
void trn_queue_unlock(struct trn_queue *q, int idx);

#endif
