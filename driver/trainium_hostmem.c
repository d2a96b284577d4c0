// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host memory as buffers: pages of the kernel's, and pinned pages of a
 * process. Both become a scatter list mapped for DMA.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "trainium_compat.h"
#include "trainium_gem.h"

/* The largest pieces asked of the page allocator: 2 MiB with 4 KiB pages */
#define TRN_HOST_MAX_ORDER	min(9, MAX_PAGE_ORDER)
/*
 * Jobs sync what they use. The end of a mapping must not: the CPU may have
 * written since the last job, and a bounce buffer would be copied over that.
 */
#define TRN_MAP_ATTRS		DMA_ATTR_SKIP_CPU_SYNC
/* Pages pinned between two looks at the caller's signals */
#define TRN_PIN_BATCH		16384ul

/*
 * Runs of pages that follow each other, as a scatter list. Much cheaper than
 * sg_alloc_table_from_pages() for many pages.
 */
static struct sg_table *trn_sgt_from_pages(struct device *dev, struct page **pages,
					   unsigned long num, unsigned int offset,
					   u64 size)
{
	unsigned long max = min_t(size_t, dma_get_max_seg_size(dev),
				  dma_max_mapping_size(dev)) >> PAGE_SHIFT;
	unsigned long i, start, runs = 1;
	struct scatterlist *sg;
	struct sg_table *sgt;
	int ret;

	max = clamp(max, 1ul, (unsigned long)UINT_MAX >> PAGE_SHIFT);
	for (i = 1, start = 0; i < num; i++) {
		if (page_to_pfn(pages[i]) != page_to_pfn(pages[i - 1]) + 1 ||
		    i - start >= max) {
			runs++;
			start = i;
		}
	}
	if (runs > UINT_MAX)
		return ERR_PTR(-EINVAL);

	sgt = kmalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, runs, GFP_KERNEL | __GFP_NOWARN);
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}

	sg = sgt->sgl;
	for (i = 1, start = 0; i <= num; i++) {
		u64 bytes;

		if (i < num && i - start < max &&
		    page_to_pfn(pages[i]) == page_to_pfn(pages[i - 1]) + 1)
			continue;
		bytes = min(size, ((u64)(i - start) << PAGE_SHIFT) - offset);
		sg_set_page(sg, pages[start], bytes, offset);
		size -= bytes;
		offset = 0;
		start = i;
		sg = sg_next(sg);
	}
	return sgt;
}

/* Lists what of the buffer is contiguous for the device. */
static int trn_bo_set_segs(struct trn_bo *bo, struct sg_table *sgt)
{
	struct trn_device *tdev = to_trn_device(bo->base.dev);
	dma_addr_t expect = 0;
	struct scatterlist *sg;
	u64 offset = 0;
	unsigned int i;
	u32 n = 0;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!n || sg_dma_address(sg) != expect)
			n++;
		expect = sg_dma_address(sg) + sg_dma_len(sg);
		if (!sg_dma_len(sg) || (expect - 1) >> tdev->hw->host_bits)
			return -EOPNOTSUPP;
	}
	bo->segs = bo->one;
	if (n > 1) {
		bo->segs = kvmalloc_array(n + 1, sizeof(*bo->segs), GFP_KERNEL_ACCOUNT);
		if (!bo->segs)
			return -ENOMEM;
	}

	n = 0;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!n || sg_dma_address(sg) != expect) {
			bo->segs[n].offset = offset;
			bo->segs[n].axi = trn_host_axi(tdev, sg_dma_address(sg));
			n++;
		}
		expect = sg_dma_address(sg) + sg_dma_len(sg);
		offset += sg_dma_len(sg);
		if (dma_need_sync(tdev->drm.dev, sg_dma_address(sg)))
			bo->flags |= TRN_BO_F_SYNC;
	}
	bo->segs[n].offset = offset;
	bo->num_segs = n;
	return offset >= bo->size ? 0 : -EINVAL;
}

static enum dma_data_direction trn_bo_dma_dir(const struct trn_bo *bo)
{
	return bo->flags & TRAINIUM_BO_F_READ_ONLY ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/**
 * trn_bo_attach_dma - make host memory known to the engines
 * @bo: buffer
 * @sgt: its memory, mapped for DMA; the buffer owns it when 0 is returned
 *
 * Under drm_dev_enter(), as the mapping was made: at an unbind the list is walked
 * after.
 *
 * Return: 0 or a negative error.
 */
int trn_bo_attach_dma(struct trn_bo *bo, struct sg_table *sgt)
{
	struct trn_device *tdev = to_trn_device(bo->base.dev);
	int ret;

	ret = trn_bo_set_segs(bo, sgt);
	if (ret)
		return ret;
	mutex_lock(&tdev->bos_lock);
	bo->sgt = sgt;
	list_add(&bo->link, &tdev->bos);
	mutex_unlock(&tdev->bos_lock);
	return 0;
}

static void trn_sgt_unmap(struct trn_bo *bo, struct sg_table *sgt)
{
	struct device *dev = bo->base.dev->dev;

	if (bo->placement == TRN_BO_IMPORTED) {
		trn_import_unmap(bo, sgt);
		return;
	}
	dma_unmap_sgtable(dev, sgt, trn_bo_dma_dir(bo), TRN_MAP_ATTRS);
	sg_free_table(sgt);
	kfree(sgt);
}

/**
 * trn_bo_detach_dma - end the mapping for DMA
 * @bo: buffer that no engine uses any more
 */
void trn_bo_detach_dma(struct trn_bo *bo)
{
	struct trn_device *tdev = to_trn_device(bo->base.dev);
	struct sg_table *sgt;

	/* Unmapped under the lock: trn_gem_fini() must not overtake it. */
	mutex_lock(&tdev->bos_lock);
	sgt = bo->sgt;
	bo->sgt = NULL;
	if (sgt) {
		list_del(&bo->link);
		trn_sgt_unmap(bo, sgt);
	}
	mutex_unlock(&tdev->bos_lock);
}

/**
 * trn_gem_fini - end the mappings of all buffers
 * @tdev: device that is unplugged, its engines stopped
 *
 * The buffers themselves live as long as somebody has a handle.
 */
void trn_gem_fini(struct trn_device *tdev)
{
	struct trn_bo *bo, *next;

	mutex_lock(&tdev->bos_lock);
	list_for_each_entry_safe(bo, next, &tdev->bos, link) {
		list_del(&bo->link);
		trn_sgt_unmap(bo, bo->sgt);
		bo->sgt = NULL;
	}
	mutex_unlock(&tdev->bos_lock);
	trn_exports_revoke(tdev);
}

/* Maps @bo->pages, of which the first is used from @offset. */
static int trn_bo_map_pages(struct trn_bo *bo, unsigned int offset)
{
	struct device *dev = bo->base.dev->dev;
	struct sg_table *sgt;
	int idx, ret;

	sgt = trn_sgt_from_pages(dev, bo->pages, bo->num_pages, offset, bo->size);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	/* Mappings end with the driver's: trn_gem_fini() has to find it. */
	ret = -ENODEV;
	if (!drm_dev_enter(bo->base.dev, &idx))
		goto err_free;
	ret = dma_map_sgtable(dev, sgt, trn_bo_dma_dir(bo), TRN_MAP_ATTRS);
	if (ret)
		goto err_exit;
	ret = trn_bo_attach_dma(bo, sgt);
	if (ret)
		goto err_unmap;
	drm_dev_exit(idx);
	return 0;

err_unmap:
	dma_unmap_sgtable(dev, sgt, trn_bo_dma_dir(bo), TRN_MAP_ATTRS);
err_exit:
	drm_dev_exit(idx);
err_free:
	sg_free_table(sgt);
	kfree(sgt);
	return ret;
}

static void trn_free_pages(struct page **pages, unsigned long num)
{
	unsigned long i;

	for (i = 0; i < num; i++)
		__free_page(pages[i]);
	kvfree(pages);
}

/* The largest pieces that can be had without effort, single pages otherwise. */
static int trn_alloc_pages(struct trn_bo *bo, unsigned long num)
{
	const gfp_t gfp = GFP_HIGHUSER | __GFP_ZERO | __GFP_ACCOUNT | __GFP_NOWARN;
	const gfp_t large = (gfp | __GFP_NORETRY) & ~__GFP_RECLAIM;
	unsigned int order = TRN_HOST_MAX_ORDER, i;

	bo->pages = kvmalloc_array(num, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bo->pages)
		return -ENOMEM;

	while (bo->num_pages < num) {
		unsigned long left = num - bo->num_pages;
		struct page *page;

		order = min_t(unsigned int, order, ilog2(left));
		page = alloc_pages(order ? large : gfp | __GFP_RETRY_MAYFAIL, order);
		if (!page && order) {
			order--;
			continue;
		}
		if (!page)
			return -ENOMEM;
		if (order)
			split_page(page, order);
		for (i = 0; i < 1u << order; i++)
			bo->pages[bo->num_pages++] = page + i;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * trn_bo_create_host - buffer of zeroed kernel pages
 * @tdev: device
 * @size: bytes, whole pages
 *
 * Return: the buffer or an ERR_PTR.
 */
struct trn_bo *trn_bo_create_host(struct trn_device *tdev, u64 size)
{
	struct trn_bo *bo;
	int ret;

	if (size >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);

	bo = trn_bo_new(tdev, size, size, TRAINIUM_BO_HOST, 0);
	if (IS_ERR(bo))
		return bo;
	ret = trn_alloc_pages(bo, size >> PAGE_SHIFT);
	if (!ret)
		ret = trn_bo_map_pages(bo, 0);
	if (!ret)
		ret = drm_gem_create_mmap_offset(&bo->base);
	if (ret) {
		trn_bo_put(bo);
		return ERR_PTR(ret);
	}
	return bo;
}

static int trn_charge_pinned(struct mm_struct *mm, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	s64 pinned = atomic64_add_return(pages, &mm->pinned_vm);

	if (pinned <= limit || capable(CAP_IPC_LOCK))
		return 0;
	atomic64_sub(pages, &mm->pinned_vm);
	return -ENOMEM;
}

static int trn_pin_pages(struct trn_bo *bo, u64 addr, unsigned long num)
{
	unsigned int flags = FOLL_LONGTERM;

	if (!(bo->flags & TRAINIUM_BO_F_READ_ONLY))
		flags |= FOLL_WRITE;

	while (bo->num_pages < num) {
		unsigned long left = min(num - bo->num_pages, TRN_PIN_BATCH);
		int got = pin_user_pages_fast((addr & PAGE_MASK) + (bo->num_pages << PAGE_SHIFT),
					      left, flags, bo->pages + bo->num_pages);

		if (got <= 0)
			return got ?: -EFAULT;
		bo->num_pages += got;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * trn_bo_create_user - buffer of pinned pages of the calling process
 * @tdev: device
 * @addr: user address, any alignment
 * @size: bytes
 * @flags: TRAINIUM_BO_F_READ_ONLY: the device will not write
 *
 * Return: the buffer or an ERR_PTR.
 */
struct trn_bo *trn_bo_create_user(struct trn_device *tdev, u64 addr, u64 size, u32 flags)
{
	unsigned int offset = offset_in_page(addr);
	unsigned long num;
	struct trn_bo *bo;
	u64 span, end;
	int ret;

	if (check_add_overflow(addr, size, &end) || end > TASK_SIZE_MAX)
		return ERR_PTR(-EFAULT);
	span = PAGE_ALIGN(offset + size);
	num = span >> PAGE_SHIFT;
	if (num > totalram_pages())
		return ERR_PTR(-ENOMEM);

	bo = trn_bo_new(tdev, size, span, TRAINIUM_BO_USERPTR, flags);
	if (IS_ERR(bo))
		return bo;

	ret = trn_charge_pinned(current->mm, num);
	if (ret)
		goto err_put;
	/* From here on trn_bo_release_host() pays back. */
	bo->mm = current->mm;
	mmgrab(bo->mm);

	bo->pages = kvmalloc_array(num, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	ret = bo->pages ? trn_pin_pages(bo, addr, num) : -ENOMEM;
	if (!ret)
		ret = trn_bo_map_pages(bo, offset);
	if (ret)
		goto err_put;
	return bo;

err_put:
	trn_bo_put(bo);
	return ERR_PTR(ret);
}

/**
 * trn_bo_release_host - free or unpin what a host buffer lies in
 * @bo: the buffer, at its end
 */
void trn_bo_release_host(struct trn_bo *bo)
{
	trn_bo_detach_dma(bo);

	if (bo->mm) {
		if (bo->num_pages)
			unpin_user_pages_dirty_lock(bo->pages, bo->num_pages,
						    !(bo->flags & TRAINIUM_BO_F_READ_ONLY));
		kvfree(bo->pages);
		atomic64_sub(bo->base.size >> PAGE_SHIFT, &bo->mm->pinned_vm);
		mmdrop(bo->mm);
	} else if (bo->pages) {
		trn_free_pages(bo->pages, bo->num_pages);
	}
	if (bo->segs != bo->one)
		kvfree(bo->segs);
}

/**
 * trn_bo_export_sgt - scatter list of a host buffer for an importer to map
 * @bo: buffer of kernel pages
 * @importer: device that will have it mapped
 *
 * Return: the list, not mapped, or an ERR_PTR.
 */
struct sg_table *trn_bo_export_sgt(struct trn_bo *bo, struct device *importer)
{
	return trn_sgt_from_pages(importer, bo->pages, bo->num_pages, 0, bo->size);
}

/**
 * trn_bo_sync_for_device - what the CPU wrote is visible to the engines
 * @bo: buffer with TRN_BO_F_SYNC
 */
void trn_bo_sync_for_device(struct trn_bo *bo)
{
	struct trn_device *tdev = to_trn_device(bo->base.dev);

	if (bo->placement != TRN_BO_IMPORTED && bo->sgt)
		dma_sync_sgtable_for_device(tdev->drm.dev, bo->sgt, trn_bo_dma_dir(bo));
}

/**
 * trn_bo_sync_for_cpu - what the engines wrote is visible to the CPU
 * @bo: buffer with TRN_BO_F_SYNC
 */
void trn_bo_sync_for_cpu(struct trn_bo *bo)
{
	struct trn_device *tdev = to_trn_device(bo->base.dev);

	if (bo->placement != TRN_BO_IMPORTED && bo->sgt)
		dma_sync_sgtable_for_cpu(tdev->drm.dev, bo->sgt, trn_bo_dma_dir(bo));
}
