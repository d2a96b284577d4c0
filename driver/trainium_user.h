/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User queues and user lists: their work may wait for what user space decides, so
 * their completion is a number in memory and an eventfd, and never a fence.
 */
#ifndef TRAINIUM_USER_H
#define TRAINIUM_USER_H

#include "trainium_queue.h"

/* Op of the driver's own at the end of each of their jobs: tells its seqno */
#define TRN_OP_COMPLETE		0x80000000u

struct eventfd_ctx;

/**
 * struct trn_user - how a user queue tells what it has done
 *
 * Constant but for @error.
 */
struct trn_user {
	/** @bo: buffer of the completion word, NULL: none */
	struct trn_bo *bo;
	/** @offset: where in @bo */
	u64 offset;
	/** @word: the same for the CPU */
	__le64 *word;
	/** @event: to be signalled, or NULL */
	struct eventfd_ctx *event;
	/** @error: jobs were lost: it takes no more; trn_fence_ctx.lock */
	int error;
};

static inline bool trn_has_semaphores(const struct trn_device *tdev)
{
	return tdev->ext && (tdev->ext_features & TRN_EXT_FEAT_SEMAPHORE);
}

struct trn_user *trn_user_new(struct trn_device *tdev, struct drm_file *file,
			      const struct drm_trainium_completion *c);
bool trn_completion_is_zero(const struct drm_trainium_completion *c);
void trn_user_free(struct trn_user *user);
void trn_user_lost(struct trn_queue *q, int err);
void trn_user_settle(struct trn_queue *q);
void trn_user_tell(struct trn_queue *q);
int trn_user_error(struct trn_queue *q);
void trn_user_complete_op(const struct trn_user *user, struct trn_job_op *op);

#endif
