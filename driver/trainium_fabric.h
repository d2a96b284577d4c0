/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scale-up fabric. Lock order, outermost first: the list of groups
 * (trainium_group.c) and the self-test of a pair, both over devices, then
 * trn_device.reset_lock, then trn_fabric.lock.
 */
#ifndef TRAINIUM_FABRIC_H
#define TRAINIUM_FABRIC_H

#include <linux/bitmap.h>
#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "regs/fabric.h"
#include "trainium_device.h"

struct seq_file;
struct trn_bo;

#define TRN_FABRIC_MAX_CHIPS	(TRN_FABRIC_ID_MASK + 1)

/**
 * struct trn_fabric - what the driver knows of a chip's place in the fabric
 *
 * What is read once at probe is constant.
 */
struct trn_fabric {
	struct trn_device *tdev;
	void __iomem *regs;
	u32 kind;
	u32 caps;
	u32 chip;
	u32 num_chips;
	u32 num_ports;
	u32 place;
	uuid_t uuid;
	u32 max_groups;
	u32 group_slots;
	u32 group_granule;
	u32 reduce_dtypes;
	u32 reduce_combines;

	/** @lock: registers that are written before they are read; what follows */
	struct mutex lock;
	/** @told: state of each port in its last event, TRN_PORT_STATE */
	u32 told[TRN_FAB_MAX_PORTS];
	/** @partition: as last told, TRN_FAB_PARTITION */
	u32 partition;
	/** @threshold: of counters, 0: none */
	u64 threshold[TRN_FAB_MAX_PORTS][TRN_PORT_NUM_COUNTERS];
	u32 num_thresholds;
	/** @tested: chips to which data has been moved since the last change */
	DECLARE_BITMAP(tested, TRN_FABRIC_MAX_CHIPS);
	/** @bad: of these, where data did not arrive */
	DECLARE_BITMAP(bad, TRN_FABRIC_MAX_CHIPS);
	/** @changes: of ports or partition, seen so far */
	u64 changes;

	/** @link: in the list of all chips with a fabric, from start to fini */
	struct list_head link;
	/** @work: looks for what has changed */
	struct delayed_work work;
	/** @users: peer buffers and memberships */
	atomic_t users;
};

static inline u32 trn_fabric_read(const struct trn_fabric *f, u32 offset)
{
	return readl(f->regs + offset);
}

static inline u64 trn_fabric_read64(const struct trn_fabric *f, u32 offset)
{
	u64 low = readl(f->regs + offset);

	return low | (u64)readl(f->regs + offset + 4) << 32;
}

static inline void trn_fabric_write(const struct trn_fabric *f, u32 offset, u32 value)
{
	writel(value, f->regs + offset);
}

static inline void trn_fabric_write64(const struct trn_fabric *f, u32 offset, u64 value)
{
	writel(lower_32_bits(value), f->regs + offset);
	writel(upper_32_bits(value), f->regs + offset + 4);
}

/* Are the two chips of one domain? */
static inline bool trn_fabric_joins(const struct trn_device *a, const struct trn_device *b)
{
	return a->fabric && b->fabric && uuid_equal(&a->fabric->uuid, &b->fabric->uuid);
}

/* trainium_fabric.c */
int trn_fabric_init(struct trn_device *tdev);
void trn_fabric_start(struct trn_device *tdev);
void trn_fabric_fini(struct trn_device *tdev);
void trn_fabric_event(struct trn_device *tdev);
int trn_fabric_hold(struct trn_device *tdev, int *idx);
void trn_fabric_release(struct trn_device *tdev, int idx);
int trn_fabric_query(struct trn_device *tdev, struct drm_trainium_query_fabric *q);
struct trn_device *trn_fabric_find(const struct trn_fabric *f, u32 chip);
bool trn_fabric_failed(struct trn_device *tdev, u32 engine);

/* trainium_port.c; trn_fabric.lock is held, between hold and release */
u64 trn_ports_up(const struct trn_fabric *f);
void trn_port_check_thresholds(struct trn_fabric *f);
int trn_ioctl_fabric_port(struct drm_device *drm, void *data, struct drm_file *file);
int trn_ioctl_fabric_ctl(struct drm_device *drm, void *data, struct drm_file *file);

/* trainium_peer.c */
int trn_peer_check(struct trn_device *tdev, struct trn_device *peer);
struct drm_gem_object *trn_peer_import(struct trn_device *tdev, struct dma_buf *dma_buf,
				       struct trn_bo *there);
void trn_peer_release(struct trn_bo *bo);
void trn_peer_revoke(struct trn_bo *there);
int trn_ioctl_fabric_peer(struct drm_device *drm, void *data, struct drm_file *file);

/* trainium_group.c */
void trn_group_broken(struct trn_fabric *f, u32 id);
void trn_groups_file_close(struct trn_file *tfile);
void trn_groups_device_gone(struct trn_device *tdev);
void trn_group_bo_release(struct trn_bo *bo);
void trn_groups_show(struct seq_file *m, struct trn_device *tdev);
int trn_ioctl_fabric_group(struct drm_device *drm, void *data, struct drm_file *file);

#endif
