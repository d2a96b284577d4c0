// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers as dma-bufs, and dma-bufs of others as buffers.
 *
 * Exported memory never moves. Host buffers are shared with any importer. HBM
 * is shared with importers that can do without pages and whose device reaches
 * BAR4 (PCI_P2PDMA); it is taken back from them when the device goes away.
 *
 * Imported memory stays pinned for as long as the buffer lives. HBM of a chip
 * in the same fabric is imported in another way, see trainium_peer.c.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "trainium_compat.h"
#include "trainium_fabric.h"
#include "trainium_gem.h"

/* How long the jobs of others may use memory that was taken back */
#define TRN_REVOKE_TIMEOUT	(10 * HZ)

/* Export */

/**
 * trn_device_has_p2p - is there a way for other devices to HBM?
 * @tdev: device
 */
bool trn_device_has_p2p(const struct trn_device *tdev)
{
	return IS_ENABLED(CONFIG_PCI_P2PDMA) && tdev->hbm_phys;
}

static int trn_dmabuf_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct trn_bo *bo = to_trn_bo(dmabuf->priv);
	struct trn_device *tdev = to_trn_device(bo->base.dev);

	if (!trn_bo_is_hbm(bo)) {
		attach->peer2peer = false;
		return 0;
	}
	/* Nobody would wait for its jobs. */
	if (bo->flags & TRAINIUM_BO_F_PEER)
		return -EOPNOTSUPP;
	if (!attach->peer2peer || !(bo->flags & TRAINIUM_BO_F_CPU_VISIBLE) ||
	    pci_p2pdma_distance(tdev->pdev, attach->dev, false) < 0)
		return -EOPNOTSUPP;
	return 0;
}

/* It never moves anyway. */
static int trn_dmabuf_pin(struct dma_buf_attachment *attach)
{
	return 0;
}

static void trn_dmabuf_unpin(struct dma_buf_attachment *attach)
{
}

static void trn_hbm_unmap_sgt(struct device *dev, struct sg_table *sgt,
			      enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (sg_dma_len(sg))
			dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
					   DMA_ATTR_SKIP_CPU_SYNC);
}

/* Addresses without pages */
static int trn_hbm_map_sgt(struct trn_bo *bo, struct device *dev, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	u32 max = round_down(clamp(dma_get_max_seg_size(dev), SZ_4K, SZ_1G), PAGE_SIZE);
	phys_addr_t phys = trn_bo_phys(bo);
	u64 left = bo->base.size;
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(sgt, DIV_ROUND_UP_ULL(left, max), GFP_KERNEL | __GFP_NOWARN);
	if (ret)
		return ret;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		u32 len = min_t(u64, left, max);
		dma_addr_t addr;

		addr = dma_map_resource(dev, phys, len, dir, DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, addr)) {
			trn_hbm_unmap_sgt(dev, sgt, dir);
			sg_free_table(sgt);
			return -EIO;
		}
		sg_set_page(sg, NULL, len, 0);
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = len;
		phys += len;
		left -= len;
	}
	return 0;
}

static struct sg_table *trn_dmabuf_map(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	struct trn_bo *bo = to_trn_bo(attach->dmabuf->priv);
	struct sg_table *sgt;
	int idx, ret;

	if (!trn_bo_is_hbm(bo)) {
		sgt = trn_bo_export_sgt(bo, attach->dev);
		if (IS_ERR(sgt))
			return sgt;
		ret = dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
		if (ret)
			sg_free_table(sgt);
	} else {
		/* Once unplugged there is nobody to take it back. */
		if (!drm_dev_enter(bo->base.dev, &idx))
			return ERR_PTR(-ENODEV);
		sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
		ret = sgt ? trn_hbm_map_sgt(bo, attach->dev, sgt, dir) : -ENOMEM;
		drm_dev_exit(idx);
	}
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}
	return sgt;
}

static void trn_dmabuf_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			     enum dma_data_direction dir)
{
	if (trn_bo_is_hbm(to_trn_bo(attach->dmabuf->priv)))
		trn_hbm_unmap_sgt(attach->dev, sgt, dir);
	else
		dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

static void trn_dmabuf_release(struct dma_buf *dmabuf)
{
	struct trn_bo *bo = to_trn_bo(dmabuf->priv);
	struct trn_device *tdev = to_trn_device(bo->base.dev);

	mutex_lock(&tdev->bos_lock);
	if (bo->dmabuf) {
		list_del(&bo->export_link);
		bo->dmabuf = NULL;
	}
	mutex_unlock(&tdev->bos_lock);
	drm_gem_dmabuf_release(dmabuf);
}

static const struct dma_buf_ops trn_dmabuf_ops = {
	.attach = trn_dmabuf_attach,
	.pin = trn_dmabuf_pin,
	.unpin = trn_dmabuf_unpin,
	.map_dma_buf = trn_dmabuf_map,
	.unmap_dma_buf = trn_dmabuf_unmap,
	.release = trn_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

/**
 * trn_gem_export - make a dma-buf of a buffer
 * @obj: the buffer
 * @flags: DRM_CLOEXEC, DRM_RDWR
 *
 * Return: the dma-buf, or an ERR_PTR: -EOPNOTSUPP for memory of a process.
 */
struct dma_buf *trn_gem_export(struct drm_gem_object *obj, int flags)
{
	struct trn_device *tdev = to_trn_device(obj->dev);
	struct trn_bo *bo = to_trn_bo(obj);
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &trn_dmabuf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};
	struct dma_buf *dmabuf;
	int ret;

	if (!trn_bo_is_hbm(bo) && bo->placement != TRAINIUM_BO_HOST)
		return ERR_PTR(-EOPNOTSUPP);
	ret = bo->flags & TRAINIUM_BO_F_PEER ? 0 : trn_share_begin(bo);
	if (ret)
		return ERR_PTR(ret);
	dmabuf = drm_gem_dmabuf_export(obj->dev, &info);
	if (IS_ERR(dmabuf) || !trn_bo_is_hbm(bo))
		return dmabuf;

	mutex_lock(&tdev->bos_lock);
	bo->dmabuf = dmabuf;
	list_add(&bo->export_link, &tdev->exports);
	mutex_unlock(&tdev->bos_lock);
	return dmabuf;
}

/**
 * trn_exports_revoke - take HBM back from all who have imported it
 * @tdev: device that is unplugged
 *
 * Importers are told, then their jobs are waited for.
 */
void trn_exports_revoke(struct trn_device *tdev)
{
	unsigned long end = jiffies + TRN_REVOKE_TIMEOUT;
	struct trn_bo *bo;

	mutex_lock(&tdev->bos_lock);
	list_for_each_entry(bo, &tdev->exports, export_link) {
		dma_resv_lock(bo->base.resv, NULL);
		dma_buf_invalidate_mappings(bo->dmabuf);
		trn_peer_revoke(bo);
		dma_resv_unlock(bo->base.resv);
	}
	list_for_each_entry(bo, &tdev->exports, export_link)
		trn_bo_wait_idle(bo, end);
	mutex_unlock(&tdev->bos_lock);
}

/* Import */

/*
 * Pinned memory does not move: the exporter is about to lose it. Jobs that use
 * it get fences for the exporter to wait for, and there will be no more.
 */
static void trn_import_revoked(struct dma_buf_attachment *attach)
{
	struct trn_bo *bo = attach->importer_priv;

	trn_bo_take_back(bo);
}

static const struct dma_buf_attach_ops trn_importer_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = trn_import_revoked,
};

static struct sg_table *trn_import_map(struct trn_bo *bo)
{
	struct dma_buf_attachment *attach = bo->base.import_attach;
	struct sg_table *sgt;
	int ret;

	dma_resv_lock(bo->base.resv, NULL);
	ret = dma_buf_pin(attach);
	if (ret) {
		sgt = ERR_PTR(ret);
	} else {
		sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
		if (IS_ERR(sgt))
			dma_buf_unpin(attach);
	}
	dma_resv_unlock(bo->base.resv);
	return sgt;
}

/**
 * trn_import_unmap - let go of memory of another driver
 * @bo: imported buffer
 * @sgt: its memory
 */
void trn_import_unmap(struct trn_bo *bo, struct sg_table *sgt)
{
	dma_resv_lock(bo->base.resv, NULL);
	dma_buf_unmap_attachment(bo->base.import_attach, sgt, DMA_BIDIRECTIONAL);
	dma_buf_unpin(bo->base.import_attach);
	dma_resv_unlock(bo->base.resv);
}

static int trn_import_attach(struct trn_bo *bo, struct dma_buf *dma_buf)
{
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	int ret;

	attach = dma_buf_dynamic_attach(dma_buf, bo->base.dev->dev, &trn_importer_ops, bo);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	/* From here on freeing the buffer detaches it. */
	get_dma_buf(dma_buf);
	bo->base.import_attach = attach;
	bo->base.resv = dma_buf->resv;

	sgt = trn_import_map(bo);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	ret = trn_bo_attach_dma(bo, sgt);
	if (ret)
		trn_import_unmap(bo, sgt);
	return ret;
}

/**
 * trn_gem_prime_import - a dma-buf as a buffer
 * @drm: device
 * @dma_buf: the dma-buf
 *
 * Return: the buffer it was made of, if that is of the same device, or a new
 * one; or an ERR_PTR.
 */
struct drm_gem_object *trn_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	u64 size = dma_buf->size;
	struct trn_bo *bo;
	int idx, ret;

	if (dma_buf->ops == &trn_dmabuf_ops) {
		struct drm_gem_object *obj = dma_buf->priv;

		if (obj->dev == drm) {
			drm_gem_object_get(obj);
			return obj;
		}
		if (trn_bo_is_hbm(to_trn_bo(obj)) &&
		    trn_fabric_joins(to_trn_device(drm), to_trn_device(obj->dev)))
			return trn_peer_import(to_trn_device(drm), dma_buf, to_trn_bo(obj));
	}
	if (!size || !PAGE_ALIGNED(size))
		return ERR_PTR(-EINVAL);

	bo = trn_bo_new(to_trn_device(drm), size, size, TRN_BO_IMPORTED, TRN_BO_F_SHARED);
	if (IS_ERR(bo))
		return ERR_CAST(bo);
	ret = -ENODEV;
	if (drm_dev_enter(drm, &idx)) {
		ret = trn_import_attach(bo, dma_buf);
		drm_dev_exit(idx);
	}
	if (ret) {
		trn_bo_put(bo);
		return ERR_PTR(ret);
	}
	return &bo->base;
}

TRN_IMPORT_NS(DMA_BUF);
