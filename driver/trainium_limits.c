// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the buffers that a file has created may take. They count until their
 * memory is free again, whoever holds it last.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "trainium_limits.h"

/* A handle and an object each, so that one file cannot make billions of them */
static unsigned int max_file_buffers = 1 << 20;
module_param(max_file_buffers, uint, 0644);
MODULE_PARM_DESC(max_file_buffers, "Buffers that a file may create (default 1048576; 0: no limit)");

static unsigned long max_file_hbm;
module_param(max_file_hbm, ulong, 0644);
MODULE_PARM_DESC(max_file_hbm, "MiB of HBM that a file may have (default 0: no limit)");

static unsigned long max_file_pinned;
module_param(max_file_pinned, ulong, 0644);
MODULE_PARM_DESC(max_file_pinned,
		 "MiB of host memory that a file may have in host buffers and pinned (default 0: no limit)");

static u64 trn_limit_bytes(unsigned long mib)
{
	return mib > U64_MAX >> 20 ? 0 : (u64)mib << 20;
}

/**
 * trn_limits_query - the limits
 * @l: those of memory are filled in
 */
void trn_limits_query(struct drm_trainium_query_limits *l)
{
	l->max_buffers = READ_ONCE(max_file_buffers);
	l->max_hbm = trn_limit_bytes(READ_ONCE(max_file_hbm));
	l->max_pinned = trn_limit_bytes(READ_ONCE(max_file_pinned));
}

/**
 * trn_account_new - account of a file
 *
 * Return: the account, with one reference, or NULL without memory.
 */
struct trn_account *trn_account_new(void)
{
	struct trn_account *account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);

	if (account)
		kref_init(&account->ref);
	return account;
}

static void trn_account_free(struct kref *ref)
{
	kfree(container_of(ref, struct trn_account, ref));
}

/**
 * trn_account_put - drop a reference
 * @account: the account
 */
void trn_account_put(struct trn_account *account)
{
	kref_put(&account->ref, trn_account_free);
}

static atomic64_t *trn_account_of(struct trn_account *account, u32 placement)
{
	return placement == TRAINIUM_BO_HBM ? &account->hbm : &account->pinned;
}

static bool trn_charge(atomic64_t *used, u64 add, u64 limit)
{
	s64 old = atomic64_read(used);

	if (!limit || limit > S64_MAX)
		limit = S64_MAX;
	do {
		if (add > limit || old > limit - add)
			return false;
	} while (!atomic64_try_cmpxchg(used, &old, old + add));
	return true;
}

/**
 * trn_account_charge - count a buffer that is going to be created
 * @account: of the file
 * @placement: TRAINIUM_BO_*
 * @size: bytes of its pages
 *
 * Return: 0 or -EDQUOT.
 */
int trn_account_charge(struct trn_account *account, u32 placement, u64 size)
{
	struct drm_trainium_query_limits l = { };

	trn_limits_query(&l);
	if (!trn_charge(&account->buffers, 1, l.max_buffers))
		return -EDQUOT;
	if (!trn_charge(trn_account_of(account, placement), size,
			placement == TRAINIUM_BO_HBM ? l.max_hbm : l.max_pinned)) {
		atomic64_dec(&account->buffers);
		return -EDQUOT;
	}
	kref_get(&account->ref);
	return 0;
}

/**
 * trn_account_uncharge - the memory of a buffer is free
 * @account: that it was charged to
 * @placement: TRAINIUM_BO_*
 * @size: bytes of its pages
 */
void trn_account_uncharge(struct trn_account *account, u32 placement, u64 size)
{
	atomic64_sub(size, trn_account_of(account, placement));
	atomic64_dec(&account->buffers);
	trn_account_put(account);
}
