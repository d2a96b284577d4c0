/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the memory of a file */
#ifndef TRAINIUM_LIMITS_H
#define TRAINIUM_LIMITS_H

#include <linux/atomic.h>
#include <linux/kref.h>

#include "../uapi/drm/trainium_accel.h"

/**
 * struct trn_account - what a file has taken
 *
 * Held by the file and by each of its buffers.
 */
struct trn_account {
	struct kref ref;
	atomic64_t buffers;
	/** @hbm: bytes */
	atomic64_t hbm;
	/** @pinned: bytes of host buffers and of pinned memory */
	atomic64_t pinned;
};

struct trn_account *trn_account_new(void);
void trn_account_put(struct trn_account *account);
int trn_account_charge(struct trn_account *account, u32 placement, u64 size);
void trn_account_uncharge(struct trn_account *account, u32 placement, u64 size);
void trn_limits_query(struct drm_trainium_query_limits *l);

#endif
