// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory: one allocator a stack. The device has no MMU, so a buffer is
 * contiguous in one stack and never moves.
 */
#include <linux/math.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "trainium_compat.h"
#include "trainium_gem.h"

static void trn_hbm_takedown(struct drm_device *drm, void *data)
{
	struct trn_hbm *hbm = data;

	drm_mm_takedown(&hbm->mm);
}

/**
 * trn_hbm_init - set up the allocators
 * @tdev: device whose hbm_stack_size is known
 *
 * Firmware keeps an area of each stack. It is not known at which end, so both
 * are left alone. The allocators live as long as a file is open.
 *
 * Return: 0 or a negative error.
 */
int trn_hbm_init(struct trn_device *tdev)
{
	unsigned int i;
	int ret;

	if (tdev->hbm_stack_size <= 2 * TRN_HBM_FW_CARVEOUT) {
		drm_err(&tdev->drm, "HBM stacks of %llu bytes hold nothing but the firmware\n",
			tdev->hbm_stack_size);
		return -ENODEV;
	}

	for (i = 0; i < tdev->hw->num_stacks; i++) {
		struct trn_hbm *hbm = &tdev->hbm[i];
		struct dmem_cgroup_init init = { };
		char name[8];

		ret = drmm_mutex_init(&tdev->drm, &hbm->lock);
		if (ret)
			return ret;
		hbm->size = round_down(tdev->hbm_stack_size - 2 * TRN_HBM_FW_CARVEOUT,
				       PAGE_SIZE);
		snprintf(name, sizeof(name), "hbm%u", i);
		init.size = hbm->size;
		hbm->region = drmm_cgroup_register_region(&tdev->drm, name, &init);
		if (IS_ERR(hbm->region))
			return PTR_ERR(hbm->region);
		hbm->free = hbm->size;
		drm_mm_init(&hbm->mm, TRN_HBM_FW_CARVEOUT, hbm->size);
		ret = drmm_add_action_or_reset(&tdev->drm, trn_hbm_takedown, hbm);
		if (ret)
			return ret;
	}
	return 0;
}

/* What the CPU sees is left to those who need it, as long as there is more. */
static int trn_hbm_insert_node(struct trn_hbm *hbm, struct trn_bo *bo, u64 align,
			       u64 visible, bool must_see)
{
	u64 size = bo->base.size;
	int ret;

	if (!must_see) {
		ret = drm_mm_insert_node_in_range(&hbm->mm, &bo->node, size, align, 0,
						  visible, U64_MAX, DRM_MM_INSERT_BEST);
		if (ret != -ENOSPC || !visible)
			return ret;
		visible = U64_MAX;
	}
	return drm_mm_insert_node_in_range(&hbm->mm, &bo->node, size, align, 0,
					   0, visible, DRM_MM_INSERT_BEST);
}

static int trn_hbm_insert(struct trn_device *tdev, struct trn_bo *bo, u32 stack, u64 align,
			  bool must_see)
{
	u64 visible = trn_hbm_cpu_visible(tdev, stack);
	struct trn_hbm *hbm = &tdev->hbm[stack];
	u64 size = bo->base.size;
	int ret;

	/* A limit of the caller's cgroup; there is nothing that could be evicted. */
	ret = dmem_cgroup_try_charge(hbm->region, size, &bo->pool, NULL);
	if (ret)
		return ret == -EAGAIN ? -EDQUOT : ret;

	/* All of it or nothing: there is nothing to choose. */
	if (visible >= tdev->hbm_stack_size)
		visible = must_see ? U64_MAX : 0;

	mutex_lock(&hbm->lock);
	ret = trn_hbm_insert_node(hbm, bo, align, visible, must_see);
	if (!ret) {
		hbm->free -= size;
		hbm->bo_count++;
	}
	mutex_unlock(&hbm->lock);
	if (ret) {
		dmem_cgroup_uncharge(bo->pool, size);
		return ret;
	}

	bo->stack = stack;
	bo->one[0].offset = 0;
	bo->one[0].axi = tdev->hw->hbm_axi[stack] + bo->node.start;
	bo->one[1].offset = size;
	bo->segs = bo->one;
	bo->num_segs = 1;
	return 0;
}

/**
 * trn_hbm_alloc - find device memory for a buffer
 * @tdev: device
 * @bo: buffer with its size set
 * @args: where it is wanted
 *
 * Return: 0, or -ENOSPC when there is no free range of that size.
 */
int trn_hbm_alloc(struct trn_device *tdev, struct trn_bo *bo,
		  const struct drm_trainium_bo_create *args)
{
	bool must_see = args->flags & TRAINIUM_BO_F_CPU_VISIBLE;
	u64 align = max_t(u64, args->alignment, PAGE_SIZE);
	unsigned int num = tdev->hw->num_stacks, i;
	unsigned long tried = 0;
	int ret = -ENOSPC;

	if (args->flags & TRAINIUM_BO_F_NEAR_ENGINE) {
		i = trn_hw_engine_stack(tdev->hw, args->stack);
		ret = trn_hbm_insert(tdev, bo, i, align, must_see);
		__set_bit(i, &tried);
	} else if (args->stack != TRAINIUM_STACK_ANY) {
		return trn_hbm_insert(tdev, bo, args->stack, align, must_see);
	}

	while ((ret == -ENOSPC || ret == -EDQUOT) && hweight_long(tried) < num) {
		u64 most = 0;
		u32 best = num;

		for (i = 0; i < num; i++) {
			u64 free = READ_ONCE(tdev->hbm[i].free);

			if (!test_bit(i, &tried) && (best == num || free > most)) {
				best = i;
				most = free;
			}
		}
		__set_bit(best, &tried);
		ret = trn_hbm_insert(tdev, bo, best, align, must_see);
	}
	return ret;
}

/**
 * trn_hbm_free - give device memory back
 * @tdev: device, may be gone
 * @bo: buffer that no engine uses any more
 */
void trn_hbm_free(struct trn_device *tdev, struct trn_bo *bo)
{
	struct trn_hbm *hbm = &tdev->hbm[bo->stack];

	if (!drm_mm_node_allocated(&bo->node))
		return;
	mutex_lock(&hbm->lock);
	drm_mm_remove_node(&bo->node);
	hbm->free += bo->base.size;
	hbm->bo_count--;
	mutex_unlock(&hbm->lock);
	dmem_cgroup_uncharge(bo->pool, bo->base.size);
}

/**
 * trn_hbm_cpu_visible - bytes of a stack that BAR4 shows
 * @tdev: device
 * @stack: HBM stack
 */
u64 trn_hbm_cpu_visible(struct trn_device *tdev, unsigned int stack)
{
	u64 start = stack * tdev->hbm_pitch;

	if (!tdev->hbm_phys || start >= tdev->hbm_phys_size)
		return 0;
	return min3(tdev->hbm_phys_size - start, tdev->hbm_pitch,
		    tdev->hbm_stack_size);
}

/**
 * trn_hbm_query - what a stack holds
 * @tdev: device
 * @stack: HBM stack
 * @q: filled
 */
void trn_hbm_query(struct trn_device *tdev, unsigned int stack,
		   struct drm_trainium_query_memory *q)
{
	struct trn_hbm *hbm = &tdev->hbm[stack];
	u64 visible = trn_hbm_cpu_visible(tdev, stack);
	const struct drm_mm_node *node;
	u64 start, end;

	mutex_lock(&hbm->lock);
	q->size = hbm->size;
	q->free = hbm->free;
	q->bo_count = hbm->bo_count;
	drm_mm_for_each_hole(node, &hbm->mm, start, end) {
		q->largest_free = max(q->largest_free, end - start);
		if (start < visible)
			q->cpu_visible_free += min(end, visible) - start;
	}
	mutex_unlock(&hbm->lock);

	/* Of what can be allocated, not of the stack */
	q->cpu_visible = visible <= TRN_HBM_FW_CARVEOUT ? 0 :
			 min(visible - TRN_HBM_FW_CARVEOUT, q->size);
}
