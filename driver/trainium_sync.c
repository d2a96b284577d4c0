// SPDX-License-Identifier: GPL-2.0-only
/* Fences that a submit waits for, and those that it signals. */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_syncobj.h>

#include "trainium_submit.h"

/**
 * trn_submit_in - get the fences that the job waits for
 * @s: the submit
 *
 * Return: 0 or a negative error; trn_submit_free_syncs() in any case.
 */
int trn_submit_in(struct trn_submit *s)
{
	const struct drm_trainium_sync __user *in = u64_to_user_ptr(s->args->in_syncs);
	struct drm_trainium_sync sync;
	u32 i;
	int ret;

	s->deps = kvcalloc(s->args->in_sync_count, sizeof(*s->deps), GFP_KERNEL_ACCOUNT);
	if (!s->deps)
		return -ENOMEM;
	for (i = 0; i < s->args->in_sync_count; i++) {
		struct dma_fence *fence;

		if (copy_from_user(&sync, &in[i], sizeof(sync)))
			return -EFAULT;
		if (sync.flags)
			return -EINVAL;
		ret = drm_syncobj_find_fence(s->file, sync.handle, sync.point, 0, &fence);
		if (ret)
			return ret;
		s->deps[s->num_deps++].fence = fence;
		if (!dma_fence_is_signaled(fence) ||
		    dma_fence_chain_contained(fence)->error)
			s->depends = true;
	}
	return 0;
}

/**
 * trn_submit_out - get what the job will signal, and its fence
 * @s: the submit
 *
 * Return: 0 or a negative error; trn_submit_free_syncs() in any case.
 */
int trn_submit_out(struct trn_submit *s)
{
	const struct drm_trainium_sync __user *out = u64_to_user_ptr(s->args->out_syncs);
	struct drm_trainium_sync sync;
	u32 i;

	s->out = kvcalloc(s->args->out_sync_count, sizeof(*s->out), GFP_KERNEL_ACCOUNT);
	if (!s->out)
		return -ENOMEM;
	for (i = 0; i < s->args->out_sync_count; i++) {
		struct trn_out_sync *o = &s->out[i];

		if (copy_from_user(&sync, &out[i], sizeof(sync)))
			return -EFAULT;
		if (sync.flags)
			return -EINVAL;
		o->obj = drm_syncobj_find(s->file, sync.handle);
		if (!o->obj)
			return -ENOENT;
		s->num_out++;
		o->point = sync.point;
		if (!sync.point)
			continue;
		o->chain = dma_fence_chain_alloc();
		if (!o->chain)
			return -ENOMEM;
	}
	s->fence = trn_fence_alloc(s->q);
	return s->fence ? 0 : -ENOMEM;
}

/**
 * trn_submit_publish - hand the fence of a job out
 * @s: the submit
 *
 * The job is queued: nothing here can fail.
 */
void trn_submit_publish(struct trn_submit *s)
{
	struct dma_fence *fence = &s->fence->base;
	bool cookie = dma_fence_begin_signalling();
	u32 i;

	for (i = 0; i < s->num_out; i++) {
		struct trn_out_sync *o = &s->out[i];

		if (o->chain)
			drm_syncobj_add_point(o->obj, o->chain, fence, o->point);
		else
			drm_syncobj_replace_fence(o->obj, fence);
		o->chain = NULL;
	}
	dma_fence_end_signalling(cookie);
	dma_fence_put(fence);
	s->fence = NULL;
}

/**
 * trn_submit_free_syncs - what was not used of the fences in and out
 * @s: the submit
 */
void trn_submit_free_syncs(struct trn_submit *s)
{
	u32 i;

	trn_shares_put(&s->shares);
	for (i = 0; i < s->num_deps; i++)
		dma_fence_put(s->deps[i].fence);
	kvfree(s->deps);
	for (i = 0; i < s->num_out; i++) {
		if (s->out[i].chain)
			dma_fence_chain_free(s->out[i].chain);
		drm_syncobj_put(s->out[i].obj);
	}
	kvfree(s->out);
	if (s->fence)
		trn_fence_drop(s->fence);
}
