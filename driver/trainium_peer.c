// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of other chips, reached through the fabric. A dma-buf of HBM of a
 * chip in the same domain becomes a buffer whose addresses lie in the fabric's
 * aperture. There is no other way as long as both are in one domain: without
 * a path the import fails, and does not take the detour through the host.
 *
 * Before the first use of a pair data is moved there and back. That counts
 * until something in the fabric changes.
 */
#include <linux/dma-buf.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "trainium_fabric.h"
#include "trainium_gem.h"
#include "trainium_queue.h"

#define TRN_PEER_TEST_SIZE	PAGE_SIZE

/* One self-test at a time: it uses two devices. */
static DEFINE_MUTEX(trn_peer_test_lock);

/* The way to a chip, as the device describes it */
struct trn_path {
	u32 status;
	u32 links;
	u32 rate;
	u32 latency;
	u64 ports;
	u64 serial;
	/* Of the fabric, when it was looked up */
	u64 changes;
	bool tested, bad;
};

static int trn_path_get(struct trn_device *tdev, u32 chip, struct trn_path *path)
{
	struct trn_fabric *f = tdev->fabric;
	u32 status;
	int idx, ret;

	if (chip >= TRN_FABRIC_MAX_CHIPS)
		return -EINVAL;
	ret = trn_fabric_hold(tdev, &idx);
	if (ret)
		return ret;
	trn_fabric_write(f, TRN_FAB_PATH_DST, chip);
	status = trn_fabric_read(f, TRN_FAB_PATH_STATUS);
	path->status = status & 0xff;
	path->links = status >> 8 & 0xff;
	path->rate = trn_fabric_read(f, TRN_FAB_PATH_RATE);
	path->latency = trn_fabric_read(f, TRN_FAB_PATH_LATENCY);
	path->ports = trn_fabric_read64(f, TRN_FAB_PATH_PORTS_LO);
	path->serial = trn_fabric_read64(f, TRN_FAB_PATH_SERIAL_LO);
	path->changes = f->changes;
	path->tested = test_bit(chip, f->tested);
	path->bad = test_bit(chip, f->bad);
	trn_fabric_release(tdev, idx);
	return 0;
}

/* What a user is told */
static u32 trn_path_status(const struct trn_path *path)
{
	switch (path->status) {
	case TRN_FAB_ST_OK:
		if (path->bad)
			return TRAINIUM_PATH_BAD;
		return path->tested ? TRAINIUM_PATH_OK : TRAINIUM_PATH_UNTESTED;
	case TRN_FAB_ST_NO_CHIP:
		return TRAINIUM_PATH_NO_CHIP;
	case TRN_FAB_ST_PARTITION:
		return TRAINIUM_PATH_PARTITION;
	default:
		return TRAINIUM_PATH_DOWN;
	}
}

/* Self-test */

/* Memory of the peer as a buffer of @tdev */
static struct trn_bo *trn_peer_bo_new(struct trn_device *tdev, struct trn_bo *there)
{
	struct trn_device *peer = to_trn_device(there->base.dev);
	struct trn_bo *bo = trn_bo_new(tdev, there->size, there->base.size, TRAINIUM_BO_PEER,
				       TRN_BO_F_REMOTE);

	if (IS_ERR(bo))
		return bo;
	bo->segs[0].axi = TRN_FABRIC_ADDR(TRN_FABRIC_UNICAST, peer->fabric->chip,
					  there->segs[0].axi);
	bo->segs[1].offset = there->size;
	bo->num_segs = 1;
	/* For as long as a job may use it */
	drm_gem_object_get(&there->base);
	drm_dev_get(&peer->drm);
	bo->there = there;
	return bo;
}

static void trn_test_fill(struct trn_bo *host, u32 seed)
{
	u32 *words = kmap_local_page(host->pages[0]), i;

	for (i = 0; i < TRN_PEER_TEST_SIZE / sizeof(*words); i++)
		words[i] = (seed + i) * 0x9e3779b1;
	kunmap_local(words);
}

static bool trn_test_matches(struct trn_bo *host, u32 seed)
{
	u32 *words = kmap_local_page(host->pages[0]), i;
	bool same = true;

	for (i = 0; i < TRN_PEER_TEST_SIZE / sizeof(*words) && same; i++)
		same = words[i] == (seed + i) * 0x9e3779b1;
	kunmap_local(words);
	return same;
}

/* Return: 0, -EBADMSG when the data is not the same, or another error. */
static int trn_peer_move(struct trn_device *tdev, struct trn_bo *near, struct trn_bo *far,
			 struct trn_device *peer, struct trn_bo *there, struct trn_bo *near_peer)
{
	u32 seed = get_random_u32();
	int ret;

	/* Written from here, read there; then written there, read from here. */
	trn_test_fill(near, seed);
	trn_test_fill(near_peer, ~seed);
	ret = trn_submit_own_copy(tdev, far, near, TRN_PEER_TEST_SIZE) ?:
	      trn_submit_own_copy(peer, near_peer, there, TRN_PEER_TEST_SIZE);
	if (ret)
		return ret;
	if (!trn_test_matches(near_peer, seed))
		return -EBADMSG;
	trn_test_fill(near_peer, seed + 1);
	ret = trn_submit_own_copy(peer, there, near_peer, TRN_PEER_TEST_SIZE) ?:
	      trn_submit_own_copy(tdev, near, far, TRN_PEER_TEST_SIZE);
	if (ret)
		return ret;
	return trn_test_matches(near, seed + 1) ? 0 : -EBADMSG;
}

static void trn_test_put(struct trn_bo *bo)
{
	if (!IS_ERR_OR_NULL(bo))
		trn_bo_put(bo);
}

static int trn_peer_test(struct trn_device *tdev, struct trn_device *peer)
{
	struct trn_bo *near, *near_peer, *there, *far = NULL;
	int ret;

	near = trn_bo_create_host(tdev, TRN_PEER_TEST_SIZE);
	near_peer = trn_bo_create_host(peer, TRN_PEER_TEST_SIZE);
	there = trn_bo_create_own(peer, TRN_PEER_TEST_SIZE);
	if (!IS_ERR(there))
		far = trn_peer_bo_new(tdev, there);
	ret = PTR_ERR_OR_ZERO(near) ?: PTR_ERR_OR_ZERO(near_peer) ?:
	      PTR_ERR_OR_ZERO(there) ?: PTR_ERR_OR_ZERO(far);
	if (!ret)
		ret = trn_peer_move(tdev, near, far, peer, there, near_peer);
	trn_test_put(far);
	trn_test_put(there);
	trn_test_put(near_peer);
	trn_test_put(near);
	return ret;
}

/* Remembers how it went, unless the fabric has changed meanwhile. */
static void trn_peer_tested(struct trn_device *tdev, u32 chip, u64 changes, bool bad)
{
	struct trn_fabric *f = tdev->fabric;

	mutex_lock(&f->lock);
	if (f->changes == changes) {
		set_bit(chip, f->tested);
		if (bad)
			set_bit(chip, f->bad);
	}
	mutex_unlock(&f->lock);
}

/**
 * trn_peer_check - can a chip reach the memory of another one?
 * @tdev: chip
 * @peer: the other one, of the same domain
 *
 * Return: 0; -EXDEV when there is no way, or data does not arrive; -EINTR,
 * -ENODEV, -ENOMEM, -ENOSPC.
 */
int trn_peer_check(struct trn_device *tdev, struct trn_device *peer)
{
	u32 chip = peer->fabric->chip;
	struct trn_path path;
	int ret;

	ret = mutex_lock_killable(&trn_peer_test_lock);
	if (ret)
		return ret;
	ret = trn_path_get(tdev, chip, &path);
	if (ret)
		goto out;
	if (path.status != TRN_FAB_ST_OK) {
		ret = -EXDEV;
	} else if (path.serial != peer->serial) {
		drm_warn(&tdev->drm, "fabric: chip %u has serial %016llx, expected %016llx\n",
			 chip, path.serial, peer->serial);
		ret = -EXDEV;
	} else if (!path.tested) {
		ret = trn_peer_test(tdev, peer);
		if (!ret || ret == -EBADMSG)
			trn_peer_tested(tdev, chip, path.changes, ret);
		if (ret == -EBADMSG)
			drm_warn(&tdev->drm, "fabric: wrong data from chip %u\n", chip);
		/* -EIO: it was not there any more */
		if (ret == -EBADMSG || ret == -EIO)
			ret = -EXDEV;
	} else if (path.bad) {
		ret = -EXDEV;
	}
out:
	mutex_unlock(&trn_peer_test_lock);
	return ret;
}

/* Buffers */

/**
 * trn_peer_import - HBM of another chip as a buffer
 * @tdev: the chip that will use it
 * @dma_buf: what it was exported as
 * @there: the buffer it was made of, of a chip in the same domain
 *
 * Return: a new buffer, or an ERR_PTR; see trn_peer_check().
 */
struct drm_gem_object *trn_peer_import(struct trn_device *tdev, struct dma_buf *dma_buf,
				       struct trn_bo *there)
{
	struct trn_device *peer = to_trn_device(there->base.dev);
	struct trn_bo *bo;
	int idx, ret;

	ret = trn_peer_check(tdev, peer);
	if (ret)
		return ERR_PTR(ret);
	bo = trn_peer_bo_new(tdev, there);
	if (IS_ERR(bo))
		return ERR_CAST(bo);
	get_dma_buf(dma_buf);
	bo->peer_buf = dma_buf;
	bo->base.resv = dma_buf->resv;
	bo->flags |= there->flags & TRAINIUM_BO_F_PEER ?: TRN_BO_F_SHARED;
	atomic_inc(&tdev->fabric->users);

	/* Once unplugged the list has been walked: nothing may join it. */
	if (!drm_dev_enter(&peer->drm, &idx)) {
		trn_bo_put(bo);
		return ERR_PTR(-ENODEV);
	}
	mutex_lock(&peer->bos_lock);
	list_add(&bo->peer_link, &there->peers);
	mutex_unlock(&peer->bos_lock);
	drm_dev_exit(idx);
	return &bo->base;
}

/**
 * trn_peer_release - let go of memory of another chip
 * @bo: peer buffer, at its end
 */
void trn_peer_release(struct trn_bo *bo)
{
	struct trn_device *peer = to_trn_device(bo->there->base.dev);

	/* Not that of a self-test */
	if (bo->peer_buf) {
		mutex_lock(&peer->bos_lock);
		list_del(&bo->peer_link);
		mutex_unlock(&peer->bos_lock);
		atomic_dec(&to_trn_device(bo->base.dev)->fabric->users);
		dma_buf_put(bo->peer_buf);
	}
	trn_bo_put(bo->there);
	drm_dev_put(&peer->drm);
}

/**
 * trn_peer_revoke - the chip goes away: its memory must not be used any more
 * @there: exported buffer; its reservation and trn_device.bos_lock are held
 *
 * Jobs that use it have fences in the reservation afterwards; there will be no
 * more of them.
 */
void trn_peer_revoke(struct trn_bo *there)
{
	struct trn_bo *bo;

	list_for_each_entry(bo, &there->peers, peer_link)
		trn_bo_take_back(bo);
}

/**
 * trn_ioctl_fabric_peer - DRM_IOCTL_TRAINIUM_FABRIC_PEER
 * @drm: device
 * @data: struct drm_trainium_fabric_peer
 * @file: caller
 */
int trn_ioctl_fabric_peer(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm), *peer;
	struct drm_trainium_fabric_peer *args = data;
	struct trn_path path;
	int ret;

	if (!tdev->fabric)
		return -EOPNOTSUPP;
	if (args->flags & ~TRAINIUM_PEER_TEST || args->chip >= tdev->fabric->num_chips ||
	    args->chip == tdev->fabric->chip)
		return -EINVAL;
	if (args->flags & TRAINIUM_PEER_TEST) {
		peer = trn_fabric_find(tdev->fabric, args->chip);
		if (!peer)
			return -ENOENT;
		ret = trn_peer_check(tdev, peer);
		drm_dev_put(&peer->drm);
		if (ret && ret != -EXDEV)
			return ret;
	}
	ret = trn_path_get(tdev, args->chip, &path);
	if (ret)
		return ret;
	args->status = trn_path_status(&path);
	args->links = path.links;
	args->rate = path.rate;
	args->latency_ns = path.latency;
	args->ports = path.ports;
	args->serial = path.serial;
	return 0;
}
