/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffer objects. Whatever a buffer lies in, the DMA path sees it as a list
 * of segments that are contiguous for the device.
 */
#ifndef TRAINIUM_GEM_H
#define TRAINIUM_GEM_H

#include <drm/drm_gem.h>
#include <drm/drm_mm.h>

#include "trainium_device.h"
#include "trainium_limits.h"

/* In struct trn_bo only: memory of another driver, by PRIME */
#define TRN_BO_IMPORTED		0x100u

struct trn_group;

/* In struct trn_bo only, beside TRAINIUM_BO_F_* */
#define TRN_BO_F_REMOTE		BIT(29)	/* other chips' memory: @revoked counts */
#define TRN_BO_F_SYNC		BIT(30)	/* CPU caches or a bounce buffer are in the way */
#define TRN_BO_F_SHARED		BIT(31)	/* has a dma-buf: its reservation object counts */
#define TRN_BO_F_INTERNAL	(TRN_BO_F_REMOTE | TRN_BO_F_SYNC | TRN_BO_F_SHARED)
/* Each submit has to look at such a buffer more closely. */
#define TRN_BO_F_SPECIAL	(TRN_BO_F_REMOTE | TRN_BO_F_SHARED)

/**
 * struct trn_seg - a stretch of a buffer that is contiguous for the device
 * @offset: where it begins in the buffer
 * @axi: where it begins for the device
 */
struct trn_seg {
	u64 offset;
	u64 axi;
};

/**
 * struct trn_bo - buffer object
 *
 * Constant from the time its handle is visible, but for what @sgt says and
 * what becomes of it by sharing.
 */
struct trn_bo {
	struct drm_gem_object base;
	/** @size: bytes that may be used; for userptr not whole pages */
	u64 size;
	/** @segs: by @offset; one more says where the last one ends */
	struct trn_seg *segs;
	u32 num_segs;
	/** @placement: TRAINIUM_BO_* or TRN_BO_IMPORTED */
	u32 placement;
	/** @flags: TRAINIUM_BO_F_*, TRN_BO_F_*; TRN_BO_F_SHARED comes later */
	u32 flags;
	/** @stack: HBM: where */
	u32 stack;
	/** @revoked: imported, peer, group: the memory is not there any more */
	bool revoked;
	/** @shared_at: trn_device.share_count since it is shared, or revoked */
	u64 shared_at;
	/** @content_generation: number of device resets when it was zeroed */
	u64 content_generation;

	/** @pool: HBM: cgroup that pays */
	struct dmem_cgroup_pool_state *pool;
	/** @node: HBM: place in the stack; trn_hbm.lock */
	struct drm_mm_node node;
	/** @one: @segs of a buffer that is contiguous */
	struct trn_seg one[2];

	/** @seen: newest look at jobs in flight that has found it */
	u64 seen;
	/** @account: who it counts for; NULL if imported */
	struct trn_account *account;

	/** @pages: host memory, own or pinned */
	struct page **pages;
	unsigned long num_pages;
	/** @mm: userptr: who pays for the pinned pages */
	struct mm_struct *mm;
	/**
	 * @sgt: mapping for DMA, NULL when the device is gone;
	 * trn_device.bos_lock
	 */
	struct sg_table *sgt;
	/** @link: in trn_device.bos while there is @sgt; trn_device.bos_lock */
	struct list_head link;
	/** @dmabuf: exported HBM: what it is known as; trn_device.bos_lock */
	struct dma_buf *dmabuf;
	/** @export_link: in trn_device.exports while there is @dmabuf */
	struct list_head export_link;

	/** @peers: exported HBM: peer buffers of it; trn_device.bos_lock */
	struct list_head peers;
	/** @there: peer: the buffer on its own chip; holds it and the device */
	struct trn_bo *there;
	/** @peer_buf: peer: what was imported, NULL in a self-test */
	struct dma_buf *peer_buf;
	/** @peer_link: peer: in @peers of @there; lock of that device */
	struct list_head peer_link;
	/** @group: group: whose members' memory it is; holds it */
	struct trn_group *group;
	/** @group_link: group: in its list of buffers */
	struct list_head group_link;
};

static inline struct trn_bo *to_trn_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct trn_bo, base);
}

static inline void trn_bo_put(struct trn_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

static inline bool trn_bo_has_range(const struct trn_bo *bo, u64 offset, u64 size)
{
	return offset <= bo->size && size <= bo->size - offset;
}

static inline bool trn_bo_is_hbm(const struct trn_bo *bo)
{
	return bo->placement == TRAINIUM_BO_HBM;
}

/* How a submit that uses a buffer ends whose memory is not there any more */
static inline int trn_bo_revoked(const struct trn_bo *bo)
{
	return bo->placement == TRAINIUM_BO_GROUP ? -ENOTCONN : -ENODEV;
}

/* Where BAR4 shows a buffer in HBM that is CPU-visible */
static inline phys_addr_t trn_bo_phys(const struct trn_bo *bo)
{
	struct trn_device *tdev = container_of(bo->base.dev, struct trn_device, drm);

	return tdev->hbm_phys + bo->stack * tdev->hbm_pitch + bo->node.start;
}

/* trainium_gem.c */
struct trn_bo *trn_bo_new(struct trn_device *tdev, u64 size, u64 span,
			  u32 placement, u32 flags);
struct trn_bo *trn_bo_create_own(struct trn_device *tdev, u64 size);

/* trainium_dmabuf.c */
struct dma_buf *trn_gem_export(struct drm_gem_object *obj, int flags);
void trn_import_unmap(struct trn_bo *bo, struct sg_table *sgt);
void trn_exports_revoke(struct trn_device *tdev);

/* trainium_share.c */
int trn_share_begin(struct trn_bo *bo);
void trn_share_changed(struct trn_bo *bo);
int trn_share_in_flight(struct trn_bo *bo);
void trn_bo_take_back(struct trn_bo *bo);
void trn_bo_wait_idle(struct trn_bo *bo, unsigned long end);

/* trainium_hostmem.c */
int trn_bo_attach_dma(struct trn_bo *bo, struct sg_table *sgt);
void trn_bo_detach_dma(struct trn_bo *bo);
void trn_bo_sync_for_device(struct trn_bo *bo);
void trn_bo_sync_for_cpu(struct trn_bo *bo);
struct trn_bo *trn_bo_create_host(struct trn_device *tdev, u64 size);
struct trn_bo *trn_bo_create_user(struct trn_device *tdev, u64 addr, u64 size,
				  u32 flags);
void trn_bo_release_host(struct trn_bo *bo);
struct sg_table *trn_bo_export_sgt(struct trn_bo *bo, struct device *importer);

/* trainium_hbm.c */
int trn_hbm_alloc(struct trn_device *tdev, struct trn_bo *bo,
		  const struct drm_trainium_bo_create *args);
void trn_hbm_free(struct trn_device *tdev, struct trn_bo *bo);
void trn_hbm_query(struct trn_device *tdev, unsigned int stack,
		   struct drm_trainium_query_memory *q);
u64 trn_hbm_cpu_visible(struct trn_device *tdev, unsigned int stack);

#endif
