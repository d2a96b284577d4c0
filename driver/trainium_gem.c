// SPDX-License-Identifier: GPL-2.0-only
/* Buffer objects: creating, asking, mapping to the CPU. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>

#include "trainium_compat.h"
#include "trainium_fabric.h"
#include "trainium_gem.h"
#include "trainium_queue.h"

/* Pages that a fault maps around the one that is missing */
#define TRN_FAULT_PAGES		64ul
/* Attempts to zero a buffer when resets of the device get in the way */
#define TRN_CLEAR_TRIES		3

static void trn_gem_free(struct drm_gem_object *obj)
{
	struct trn_bo *bo = to_trn_bo(obj);

	if (trn_bo_is_hbm(bo))
		trn_hbm_free(to_trn_device(obj->dev), bo);
	else if (bo->placement == TRAINIUM_BO_PEER)
		trn_peer_release(bo);
	else if (bo->placement == TRAINIUM_BO_GROUP)
		trn_group_bo_release(bo);
	else
		trn_bo_release_host(bo);
	if (obj->import_attach)
		drm_prime_gem_destroy(obj, NULL);
	if (bo->account)
		trn_account_uncharge(bo->account, bo->placement, obj->size);
	drm_gem_object_release(obj);
	kfree(bo);
}

/* A handle is closed: it finds nothing any more, and this is not the last reference. */
static void trn_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	trn_queues_forget_bo(to_trn_device(obj->dev), file->driver_priv, to_trn_bo(obj));
}

static int trn_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct trn_bo *bo = to_trn_bo(obj);
	void *addr;

	if (bo->placement != TRAINIUM_BO_HOST || bo->num_pages > INT_MAX)
		return -EOPNOTSUPP;
	addr = vmap(bo->pages, bo->num_pages, VM_MAP, PAGE_KERNEL);
	if (!addr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, addr);
	return 0;
}

static void trn_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static bool trn_bo_can_mmap(const struct trn_bo *bo)
{
	return bo->flags & TRAINIUM_BO_F_CPU_VISIBLE;
}

static int trn_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct trn_bo *bo = to_trn_bo(obj);

	if (!trn_bo_can_mmap(bo))
		return -EOPNOTSUPP;
	/* There is nothing to copy a private page from. */
	if (vma_is_cow_mapping(vma))
		return -EINVAL;

	if (trn_bo_is_hbm(bo)) {
		vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
		vma->vm_page_prot = pgprot_writecombine(vm_get_page_prot(vma->vm_flags));
	} else {
		vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
		vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	}
	return 0;
}

static vm_fault_t trn_gem_insert(struct vm_area_struct *vma, struct trn_bo *bo,
				 unsigned long addr, unsigned long page)
{
	if (!trn_bo_is_hbm(bo))
		return vmf_insert_page(vma, addr, bo->pages[page]);
	return vmf_insert_pfn(vma, addr, PHYS_PFN(trn_bo_phys(bo)) + page);
}

static vm_fault_t trn_gem_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	pgoff_t page = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	unsigned long num = obj->size >> PAGE_SHIFT;
	struct trn_bo *bo = to_trn_bo(obj);
	unsigned long addr, first, last, i;
	vm_fault_t ret;
	int idx;

	if (page >= num)
		return VM_FAULT_SIGBUS;
	if (!drm_dev_enter(obj->dev, &idx))
		return VM_FAULT_SIGBUS;

	addr = vmf->address & PAGE_MASK;
	ret = trn_gem_insert(vma, bo, addr, page);

	/* Whoever touches one page mostly touches its neighbours. */
	first = page - min(page & (TRN_FAULT_PAGES - 1), (addr - vma->vm_start) >> PAGE_SHIFT);
	last = min3(page | (TRN_FAULT_PAGES - 1), num - 1,
		    page + ((vma->vm_end - addr) >> PAGE_SHIFT) - 1);
	for (i = first; i <= last && ret == VM_FAULT_NOPAGE; i++)
		if (i != page &&
		    trn_gem_insert(vma, bo, addr + ((i - page) << PAGE_SHIFT), i) != ret)
			break;

	drm_dev_exit(idx);
	return ret;
}

static const struct vm_operations_struct trn_gem_vm_ops = {
	.fault = trn_gem_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs trn_gem_funcs = {
	.free = trn_gem_free,
	.close = trn_gem_close,
	.export = trn_gem_export,
	.vmap = trn_gem_vmap,
	.vunmap = trn_gem_vunmap,
	.mmap = trn_gem_mmap,
	.vm_ops = &trn_gem_vm_ops,
};

/**
 * trn_bo_new - an empty buffer object
 * @tdev: device
 * @size: bytes that may be used
 * @span: bytes of the pages it lies in
 * @placement: TRAINIUM_BO_* or TRN_BO_IMPORTED
 * @flags: TRAINIUM_BO_F_*
 *
 * Return: the object, with one reference, or an ERR_PTR.
 */
struct trn_bo *trn_bo_new(struct trn_device *tdev, u64 size, u64 span,
			  u32 placement, u32 flags)
{
	struct trn_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->size = size;
	bo->placement = placement;
	bo->flags = flags;
	if (placement == TRAINIUM_BO_HOST)
		bo->flags |= TRAINIUM_BO_F_CPU_VISIBLE;
	bo->segs = bo->one;
	INIT_LIST_HEAD(&bo->peers);
	INIT_LIST_HEAD(&bo->peer_link);
	INIT_LIST_HEAD(&bo->group_link);
	bo->content_generation = atomic64_read(&tdev->reset_count);
	bo->base.funcs = &trn_gem_funcs;
	drm_gem_private_object_init(&tdev->drm, &bo->base, span);
	return bo;
}

/* Zeroed before anybody can name it. */
static int trn_bo_clear(struct trn_device *tdev, struct trn_bo *bo)
{
	unsigned int i;
	int ret;

	for (i = 0; i < TRN_CLEAR_TRIES; i++) {
		bo->content_generation = atomic64_read(&tdev->reset_count);
		ret = trn_submit_clear(tdev, bo);
		if (ret != -ECANCELED)
			break;
	}
	return ret;
}

static struct trn_bo *trn_bo_create_hbm(struct trn_device *tdev, u64 size,
					const struct drm_trainium_bo_create *args)
{
	struct trn_bo *bo;
	u64 end;
	int ret;

	if (size > tdev->hbm_stack_size)
		return ERR_PTR(-ENOSPC);
	if (args->flags & TRAINIUM_BO_F_CPU_VISIBLE && !tdev->hbm_phys)
		return ERR_PTR(-EOPNOTSUPP);
	bo = trn_bo_new(tdev, size, size, TRAINIUM_BO_HBM, args->flags & TRAINIUM_BO_F_PEER);
	if (IS_ERR(bo))
		return bo;
	ret = trn_hbm_alloc(tdev, bo, args);
	if (ret == -ENOSPC) {
		/*
		 * What finished jobs held is given back by the workers of their
		 * queues, a little after the fence has told of the end.
		 */
		flush_workqueue(tdev->wq);
		ret = trn_hbm_alloc(tdev, bo, args);
	}
	if (ret)
		goto err_put;

	/* BAR4 shows all of a stack, or the start of it. */
	end = bo->node.start + size;
	if (end <= trn_hbm_cpu_visible(tdev, bo->stack)) {
		bo->flags |= TRAINIUM_BO_F_CPU_VISIBLE;
		ret = drm_gem_create_mmap_offset(&bo->base);
	}
	if (!ret)
		ret = trn_bo_clear(tdev, bo);
	if (ret)
		goto err_put;
	return bo;

err_put:
	trn_bo_put(bo);
	return ERR_PTR(ret);
}

/**
 * trn_bo_create_own - device memory for the driver itself
 * @tdev: device
 * @size: bytes, whole pages
 *
 * Return: the buffer, zeroed, or an ERR_PTR.
 */
struct trn_bo *trn_bo_create_own(struct trn_device *tdev, u64 size)
{
	const struct drm_trainium_bo_create args = { .stack = TRAINIUM_STACK_ANY };

	return trn_bo_create_hbm(tdev, size, &args);
}

static int trn_bo_create_check(struct trn_device *tdev,
			       const struct drm_trainium_bo_create *args)
{
	bool near = args->flags & TRAINIUM_BO_F_NEAR_ENGINE;
	u32 allowed = 0;

	switch (args->placement) {
	case TRAINIUM_BO_HBM:
		if (near ? args->stack >= tdev->hw->num_engines :
			   args->stack != TRAINIUM_STACK_ANY && args->stack >= tdev->hw->num_stacks)
			return -EINVAL;
		if (args->alignment & (args->alignment - 1))
			return -EINVAL;
		allowed = TRAINIUM_BO_F_CPU_VISIBLE | TRAINIUM_BO_F_NEAR_ENGINE |
			  TRAINIUM_BO_F_PEER;
		break;
	case TRAINIUM_BO_USERPTR:
		allowed = TRAINIUM_BO_F_READ_ONLY;
		fallthrough;
	case TRAINIUM_BO_HOST:
		if (args->stack || args->alignment)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	if (args->flags & ~allowed)
		return -EINVAL;
	if (args->userptr && args->placement != TRAINIUM_BO_USERPTR)
		return -EINVAL;
	if (!args->size || args->size > S64_MAX - PAGE_SIZE)
		return -EINVAL;
	return 0;
}

static int trn_bo_charge(struct trn_device *tdev, struct trn_account *account,
			 u32 placement, u64 size)
{
	int ret = trn_account_charge(account, placement, size);

	if (ret != -EDQUOT)
		return ret;
	/* Buffers that ended jobs have used are let go by workers. */
	flush_workqueue(tdev->wq);
	return trn_account_charge(account, placement, size);
}

/**
 * trn_ioctl_bo_create - DRM_IOCTL_TRAINIUM_BO_CREATE
 * @drm: device
 * @data: struct drm_trainium_bo_create
 * @file: caller
 */
int trn_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct drm_trainium_bo_create *args = data;
	struct trn_file *tfile = file->driver_priv;
	struct trn_bo *bo;
	u64 span;
	int ret;

	ret = trn_bo_create_check(tdev, args);
	if (ret)
		return ret;
	span = PAGE_ALIGN(args->size + offset_in_page(args->userptr));
	ret = trn_bo_charge(tdev, tfile->account, args->placement, span);
	if (ret)
		return ret;

	switch (args->placement) {
	case TRAINIUM_BO_HBM:
		bo = trn_bo_create_hbm(tdev, span, args);
		break;
	case TRAINIUM_BO_HOST:
		bo = trn_bo_create_host(tdev, span);
		break;
	default:
		bo = trn_bo_create_user(tdev, args->userptr, args->size, args->flags);
		break;
	}
	if (IS_ERR(bo)) {
		trn_account_uncharge(tfile->account, args->placement, span);
		return PTR_ERR(bo);
	}
	bo->account = tfile->account;

	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	trn_bo_put(bo);
	return ret;
}

/**
 * trn_ioctl_bo_info - DRM_IOCTL_TRAINIUM_BO_INFO
 * @drm: device
 * @data: struct drm_trainium_bo_info
 * @file: caller
 */
int trn_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_bo_info *args = data;
	struct drm_gem_object *obj;
	struct trn_bo *bo;

	if (args->pad)
		return -EINVAL;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_trn_bo(obj);

	args->size = bo->size;
	args->flags = bo->flags & ~TRN_BO_F_INTERNAL;
	/* Imported memory is host memory, as far as a user can tell. */
	args->placement = bo->placement == TRN_BO_IMPORTED ? TRAINIUM_BO_HOST : bo->placement;
	args->stack = bo->stack;
	args->content_generation = bo->content_generation;
	args->mmap_offset = trn_bo_can_mmap(bo) ? drm_vma_node_offset_addr(&obj->vma_node) : 0;
	drm_gem_object_put(obj);
	return 0;
}

/**
 * trn_gem_init - prepare the lists of buffers
 * @tdev: device
 *
 * Return: 0 or a negative error.
 */
int trn_gem_init(struct trn_device *tdev)
{
	INIT_LIST_HEAD(&tdev->bos);
	INIT_LIST_HEAD(&tdev->exports);
	return drmm_mutex_init(&tdev->drm, &tdev->bos_lock);
}
