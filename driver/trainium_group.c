// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups for multicast and reduction. A group spans devices, so all groups are
 * in one list, under one lock that comes before those of devices.
 *
 * The device knows groups by numbers, which it gives out again. So the number is
 * given back when the last buffer that stands for the group is gone, and with
 * it the last job that uses it. What members have bound is kept until the device
 * has forgotten it.
 */
#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "trainium_fabric.h"
#include "trainium_gem.h"
#include "trainium_queue.h"

#define TRN_GROUP_MAX_SLOTS	(TRN_FABRIC_SLOT_MASK + 1)
/* Of an open file: created, and joined */
#define TRN_FILE_GROUPS		64u
/* How long the jobs that use a group may take to end when its owner goes */
#define TRN_GROUP_TIMEOUT	(10 * HZ)

/* trn_groups_lock protects all but @ref and what is set once. */
struct trn_group {
	struct kref ref;		/* the list, and each of @bos */
	struct list_head link;		/* in trn_groups until it is destroyed */
	struct trn_device *owner;	/* the chip that has created it; held */
	struct trn_file *file;		/* and the open file */
	u32 id;
	u64 key;
	bool broken;			/* has lost a member */
	bool forgotten;			/* the device has given its number back */
	struct list_head members;
	struct list_head bos;		/* buffers that stand for it */
};

struct trn_member {
	struct list_head link;
	struct trn_device *tdev;	/* held */
	struct trn_file *file;
	/* By slot, one reference each */
	struct trn_bo *bound[TRN_GROUP_MAX_SLOTS];
};

static LIST_HEAD(trn_groups);
static DEFINE_MUTEX(trn_groups_lock);

static bool trn_has_groups(const struct trn_device *tdev)
{
	return tdev->fabric &&
	       tdev->fabric->caps & (TRN_FAB_CAP_MULTICAST | TRN_FAB_CAP_REDUCE);
}

/* The device's side */

struct trn_group_cmd {
	u32 cmd, id, arg;
	u64 addr, size;
	/* What QUERY has found */
	u32 state, members;
};

/* What CREATE and JOIN return for results; others say more by themselves. */
static int trn_group_error(u32 result)
{
	switch (result) {
	case TRN_FAB_RES_OK:
		return 0;
	case TRN_FAB_RES_INVALID:
		return -EINVAL;
	case TRN_FAB_RES_NO_GROUP:
		return -ENOENT;
	case TRN_FAB_RES_FULL:
		return -ENOSPC;
	case TRN_FAB_RES_DENIED:
		return -EXDEV;
	case TRN_FAB_RES_BUSY:
		return -EALREADY;
	case TRN_FAB_RES_BROKEN:
		return -ENOTCONN;
	case TRN_FAB_RES_UNSUPPORTED:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

/* trn_fabric.lock is held. */
static int trn_group_do_locked(const struct trn_fabric *f, struct trn_group_cmd *c)
{
	trn_fabric_write(f, TRN_FAB_GROUP_ID, c->id);
	trn_fabric_write(f, TRN_FAB_GROUP_ARG, c->arg);
	trn_fabric_write64(f, TRN_FAB_GROUP_ADDR_LO, c->addr);
	trn_fabric_write64(f, TRN_FAB_GROUP_SIZE_LO, c->size);
	trn_fabric_write(f, TRN_FAB_GROUP_CMD, c->cmd);
	c->id = trn_fabric_read(f, TRN_FAB_GROUP_ID);
	if (c->cmd == TRN_FAB_GROUP_QUERY) {
		c->state = trn_fabric_read(f, TRN_FAB_GROUP_STATE);
		c->members = trn_fabric_read(f, TRN_FAB_GROUP_MEMBERS) & 0xfff;
	}
	return trn_group_error(trn_fabric_read(f, TRN_FAB_GROUP_RESULT));
}

/* Not killable: a dead process has to be cleaned up after. */
static int trn_group_do(struct trn_device *tdev, struct trn_group_cmd *c)
{
	int idx, ret;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	trn_device_lock(tdev);
	mutex_lock(&tdev->fabric->lock);
	ret = trn_group_do_locked(tdev->fabric, c);
	trn_fabric_release(tdev, idx);
	return ret;
}

/* The device is unplugged, but if it is still there it has to forget. */
static void trn_group_do_unplugged(struct trn_device *tdev, struct trn_group_cmd *c)
{
	mutex_lock(&tdev->fabric->lock);
	trn_group_do_locked(tdev->fabric, c);
	mutex_unlock(&tdev->fabric->lock);
}

static void trn_group_forget(struct trn_group *group, bool unplugged)
{
	struct trn_group_cmd c = { .cmd = TRN_FAB_GROUP_DESTROY, .id = group->id };

	if (group->forgotten)
		return;
	group->forgotten = true;
	if (unplugged)
		trn_group_do_unplugged(group->owner, &c);
	else
		trn_group_do(group->owner, &c);
}

/* The list */

static void trn_group_free(struct kref *ref)
{
	struct trn_group *group = container_of(ref, struct trn_group, ref);

	trn_group_forget(group, false);
	drm_dev_put(&group->owner->drm);
	kfree(group);
}

static void trn_group_put(struct trn_group *group)
{
	kref_put(&group->ref, trn_group_free);
}

/* The groups of a domain have different numbers. */
static struct trn_group *trn_group_find(const struct trn_device *tdev, u32 id)
{
	struct trn_group *group;

	lockdep_assert_held(&trn_groups_lock);
	list_for_each_entry(group, &trn_groups, link)
		if (group->id == id && trn_fabric_joins(group->owner, tdev))
			return group;
	return NULL;
}

static struct trn_member *trn_group_member(struct trn_group *group,
					   const struct trn_device *tdev)
{
	struct trn_member *member;

	list_for_each_entry(member, &group->members, link)
		if (member->tdev == tdev)
			return member;
	return NULL;
}

/* Submits that would use it are refused, those in flight have left fences. */
static void trn_group_break(struct trn_group *group)
{
	struct trn_bo *bo;

	group->broken = true;
	list_for_each_entry(bo, &group->bos, group_link) {
		dma_resv_lock(bo->base.resv, NULL);
		if (!bo->revoked)
			trn_bo_take_back(bo);
		dma_resv_unlock(bo->base.resv);
	}
}

/* Ends a membership, and with it what was bound. */
static void trn_member_end(struct trn_group *group, struct trn_member *member, bool unplugged)
{
	struct trn_group_cmd c = { .cmd = TRN_FAB_GROUP_LEAVE, .id = group->id };
	unsigned int i;

	if (unplugged)
		trn_group_do_unplugged(member->tdev, &c);
	else
		trn_group_do(member->tdev, &c);
	for (i = 0; i < TRN_GROUP_MAX_SLOTS; i++)
		if (member->bound[i])
			trn_bo_put(member->bound[i]);
	atomic_dec(&member->tdev->fabric->users);
	list_del(&member->link);
	drm_dev_put(&member->tdev->drm);
	kfree(member);
}

static void trn_group_end(struct trn_group *group)
{
	struct trn_member *member, *next;

	trn_group_break(group);
	list_for_each_entry_safe(member, next, &group->members, link)
		trn_member_end(group, member, false);
	list_del(&group->link);
	trn_group_put(group);
}

/* Operations; trn_groups_lock is held */

static unsigned int trn_file_groups(const struct trn_file *tfile)
{
	struct trn_group *group;
	unsigned int num = 0;

	list_for_each_entry(group, &trn_groups, link)
		num += group->file == tfile;
	return num;
}

static int trn_group_create(struct trn_file *tfile, struct drm_trainium_fabric_group *args)
{
	struct trn_group_cmd c = { .cmd = TRN_FAB_GROUP_CREATE, .arg = args->count };
	struct trn_device *tdev = tfile->tdev;
	struct trn_group *group;
	int ret;

	if (args->group || args->key || !args->count || args->count > tdev->fabric->num_chips)
		return -EINVAL;
	if (trn_file_groups(tfile) >= TRN_FILE_GROUPS)
		return -EDQUOT;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	ret = trn_group_do(tdev, &c);
	if (!ret && (c.id > TRN_FABRIC_ID_MASK || trn_group_find(tdev, c.id)))
		ret = -EIO;
	if (ret) {
		kfree(group);
		return ret;
	}
	kref_init(&group->ref);
	INIT_LIST_HEAD(&group->members);
	INIT_LIST_HEAD(&group->bos);
	drm_dev_get(&tdev->drm);
	group->owner = tdev;
	group->file = tfile;
	group->id = c.id;
	group->key = get_random_u64();
	list_add_tail(&group->link, &trn_groups);
	args->group = group->id;
	args->key = group->key;
	return 0;
}

static int trn_group_join(struct trn_file *tfile, struct trn_group *group)
{
	struct trn_group_cmd c = { .cmd = TRN_FAB_GROUP_JOIN, .id = group->id };
	struct trn_device *tdev = tfile->tdev;
	struct trn_member *member;
	int ret;

	if (trn_group_member(group, tdev))
		return -EALREADY;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	ret = trn_group_do(tdev, &c);
	if (ret) {
		kfree(member);
		return ret;
	}
	drm_dev_get(&tdev->drm);
	member->tdev = tdev;
	member->file = tfile;
	atomic_inc(&tdev->fabric->users);
	list_add_tail(&member->link, &group->members);
	return 0;
}

static struct trn_member *trn_group_mine(struct trn_file *tfile, struct trn_group *group)
{
	struct trn_member *member = trn_group_member(group, tfile->tdev);

	return member && member->file == tfile ? member : NULL;
}

static int trn_group_bind(struct drm_file *file, struct trn_group *group,
			  const struct drm_trainium_fabric_group *args)
{
	struct trn_file *tfile = file->driver_priv;
	struct trn_member *member = trn_group_mine(tfile, group);
	struct trn_fabric *f = tfile->tdev->fabric;
	struct trn_group_cmd c = {
		.cmd = TRN_FAB_GROUP_BIND, .id = group->id, .arg = args->count,
		.size = args->size,
	};
	struct drm_gem_object *obj;
	struct trn_bo *bo;
	int ret;

	if (!member)
		return -ENOENT;
	if (args->count >= min_t(u32, f->group_slots, TRN_GROUP_MAX_SLOTS) || !args->size ||
	    (args->offset | args->size) & (f->group_granule - 1))
		return -EINVAL;
	if (member->bound[args->count])
		return -EALREADY;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_trn_bo(obj);
	c.addr = bo->segs[0].axi + args->offset;
	if (!trn_bo_is_hbm(bo) || !trn_bo_has_range(bo, args->offset, args->size) ||
	    c.addr & (f->group_granule - 1))
		ret = -EINVAL;
	else
		ret = trn_group_do(tfile->tdev, &c);
	if (ret) {
		drm_gem_object_put(obj);
		/* That is what it means here. */
		return ret == -EALREADY ? -EAGAIN : ret;
	}
	member->bound[args->count] = bo;
	return 0;
}

static int trn_group_unbind(struct trn_file *tfile, struct trn_group *group, u32 slot)
{
	struct trn_member *member = trn_group_mine(tfile, group);
	struct trn_group_cmd c = {
		.cmd = TRN_FAB_GROUP_UNBIND, .id = group->id, .arg = slot,
	};
	int ret;

	if (slot >= TRN_GROUP_MAX_SLOTS)
		return -EINVAL;
	if (!member || !member->bound[slot])
		return -ENOENT;
	ret = trn_group_do(tfile->tdev, &c);
	/* In a broken group nothing is bound any more. */
	if (ret && ret != -ENOTCONN && ret != -ENOENT)
		return ret;
	trn_bo_put(member->bound[slot]);
	member->bound[slot] = NULL;
	return 0;
}

/* @out: its reference is to be put when the lock is released */
static int trn_group_map(struct drm_file *file, struct trn_group *group,
			 struct drm_trainium_fabric_group *args, struct trn_bo **out)
{
	struct trn_file *tfile = file->driver_priv;
	struct trn_fabric *f = tfile->tdev->fabric;
	struct trn_bo *bo;

	if (args->count >= min_t(u32, f->group_slots, TRN_GROUP_MAX_SLOTS) || !args->size ||
	    args->size > TRN_FABRIC_OFFSET_MASK || !PAGE_ALIGNED(args->size))
		return -EINVAL;
	if (group->broken)
		return -ENOTCONN;
	bo = trn_bo_new(tfile->tdev, args->size, args->size, TRAINIUM_BO_GROUP,
			TRN_BO_F_REMOTE);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->segs[0].axi = TRN_FABRIC_ADDR(TRN_FABRIC_MULTICAST, group->id,
					  (u64)args->count << TRN_FABRIC_SLOT_SHIFT);
	bo->segs[1].offset = args->size;
	bo->num_segs = 1;
	kref_get(&group->ref);
	bo->group = group;
	list_add(&bo->group_link, &group->bos);
	*out = bo;
	return drm_gem_handle_create(file, &bo->base, &args->handle);
}

/**
 * trn_group_bo_release - a buffer that stands for a group goes
 * @bo: the buffer, at its end
 */
void trn_group_bo_release(struct trn_bo *bo)
{
	if (!bo->group)
		return;
	mutex_lock(&trn_groups_lock);
	list_del_init(&bo->group_link);
	mutex_unlock(&trn_groups_lock);
	trn_group_put(bo->group);
}

static int trn_group_query(struct trn_device *tdev, const struct trn_group *group,
			   struct drm_trainium_fabric_group *args)
{
	struct trn_group_cmd c = { .cmd = TRN_FAB_GROUP_QUERY, .id = group->id };
	int ret = trn_group_do(tdev, &c);

	if (ret && ret != -ENOTCONN)
		return ret;
	args->count = c.members;
	if (group->broken || c.state == TRN_FAB_GROUP_BROKEN)
		args->state = TRAINIUM_GROUP_BROKEN;
	else
		args->state = c.state == TRN_FAB_GROUP_READY ? TRAINIUM_GROUP_READY :
							       TRAINIUM_GROUP_FORMING;
	return 0;
}

static int trn_group_leave(struct trn_file *tfile, struct trn_group *group)
{
	struct trn_member *member = trn_group_mine(tfile, group);

	if (!member)
		return -ENOENT;
	trn_group_break(group);
	trn_member_end(group, member, false);
	return 0;
}

static int trn_group_op(struct drm_file *file, struct drm_trainium_fabric_group *args,
			struct trn_bo **bo)
{
	struct trn_file *tfile = file->driver_priv;
	struct trn_group *group;

	if (args->op == TRAINIUM_GROUP_CREATE)
		return trn_group_create(tfile, args);
	group = trn_group_find(tfile->tdev, args->group);
	if (!group)
		return -ENOENT;
	if (group->key != args->key)
		return -EACCES;
	switch (args->op) {
	case TRAINIUM_GROUP_JOIN:
		return trn_group_join(tfile, group);
	case TRAINIUM_GROUP_BIND:
		return trn_group_bind(file, group, args);
	case TRAINIUM_GROUP_UNBIND:
		return trn_group_unbind(tfile, group, args->count);
	case TRAINIUM_GROUP_LEAVE:
		return trn_group_leave(tfile, group);
	case TRAINIUM_GROUP_MAP:
		return trn_group_map(file, group, args, bo);
	case TRAINIUM_GROUP_QUERY:
		return trn_group_query(tfile->tdev, group, args);
	default:
		if (group->file != tfile)
			return -EACCES;
		trn_group_end(group);
		return 0;
	}
}

/* What an op does not use is zero. */
static int trn_group_check(const struct drm_trainium_fabric_group *args)
{
	bool bind = args->op == TRAINIUM_GROUP_BIND, map = args->op == TRAINIUM_GROUP_MAP;
	bool count = bind || map || args->op == TRAINIUM_GROUP_CREATE ||
		     args->op == TRAINIUM_GROUP_UNBIND;

	if (args->op > TRAINIUM_GROUP_QUERY || args->flags || args->state ||
	    (args->count && !count) || (args->handle && !bind) || (args->offset && !bind) ||
	    (args->size && !bind && !map))
		return -EINVAL;
	return 0;
}

/**
 * trn_ioctl_fabric_group - DRM_IOCTL_TRAINIUM_FABRIC_GROUP
 * @drm: device
 * @data: struct drm_trainium_fabric_group
 * @file: caller
 */
int trn_ioctl_fabric_group(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_fabric_group *args = data;
	struct trn_bo *bo = NULL;
	int ret;

	if (!trn_has_groups(to_trn_device(drm)))
		return -EOPNOTSUPP;
	ret = trn_group_check(args) ?: mutex_lock_killable(&trn_groups_lock);
	if (ret)
		return ret;
	ret = trn_group_op(file, args, &bo);
	mutex_unlock(&trn_groups_lock);
	if (bo)
		trn_bo_put(bo);
	return ret;
}

/* What happens to groups */

/**
 * trn_group_broken - the device says that a group has broken
 * @f: fabric of a chip that was a member
 * @id: the group
 */
void trn_group_broken(struct trn_fabric *f, u32 id)
{
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_GROUP,
		.group = { .group = id },
	};
	struct trn_group *group;

	mutex_lock(&trn_groups_lock);
	group = trn_group_find(f->tdev, id);
	if (group)
		trn_group_break(group);
	mutex_unlock(&trn_groups_lock);
	if (group)
		trn_event_post(f->tdev, &event);
}

/**
 * trn_groups_file_close - an open file leaves its groups
 * @tfile: the file
 */
void trn_groups_file_close(struct trn_file *tfile)
{
	struct trn_group *group, *next;
	struct trn_member *member;

	if (!tfile->tdev->fabric)
		return;
	mutex_lock(&trn_groups_lock);
	list_for_each_entry_safe(group, next, &trn_groups, link) {
		if (group->file == tfile) {
			trn_group_end(group);
			continue;
		}
		member = trn_group_mine(tfile, group);
		if (member) {
			trn_group_break(group);
			trn_member_end(group, member, false);
		}
	}
	mutex_unlock(&trn_groups_lock);
}

/* Its number would not be known to be unused any more: wait for the jobs. */
static void trn_group_owner_gone(struct trn_group *group)
{
	unsigned long end = jiffies + TRN_GROUP_TIMEOUT;
	struct trn_member *member, *next;
	struct trn_bo *bo;

	trn_group_break(group);
	list_for_each_entry(bo, &group->bos, group_link)
		trn_bo_wait_idle(bo, end);
	list_for_each_entry_safe(member, next, &group->members, link)
		trn_member_end(group, member, member->tdev == group->owner);
	trn_group_forget(group, true);
	list_del(&group->link);
	trn_group_put(group);
}

/**
 * trn_groups_device_gone - a chip leaves all groups
 * @tdev: device that is unplugged
 */
void trn_groups_device_gone(struct trn_device *tdev)
{
	struct trn_group *group, *next;
	struct trn_member *member;

	mutex_lock(&trn_groups_lock);
	list_for_each_entry_safe(group, next, &trn_groups, link) {
		if (group->owner == tdev) {
			trn_group_owner_gone(group);
			continue;
		}
		member = trn_group_member(group, tdev);
		if (member) {
			trn_group_break(group);
			trn_member_end(group, member, true);
		}
	}
	mutex_unlock(&trn_groups_lock);
}

static void trn_group_show(struct seq_file *m, struct trn_group *group,
			   const struct trn_member *me)
{
	unsigned long slots = 0;
	unsigned int i;

	for (i = 0; me && i < TRN_GROUP_MAX_SLOTS; i++)
		if (me->bound[i])
			__set_bit(i, &slots);
	seq_printf(m, "%-5u %-12s %-7zu %#-5lx %s\n", group->id,
		   dev_name(group->owner->drm.dev), list_count_nodes(&group->members), slots,
		   group->broken ? "broken" : "whole");
}

/**
 * trn_groups_show - what groups a device has created or is a member of
 * @m: for debugfs: number, chip that has created it, members, slots that this device
 *     has bound (a bit each), state
 * @tdev: device
 */
void trn_groups_show(struct seq_file *m, struct trn_device *tdev)
{
	struct trn_member *me;
	struct trn_group *group;

	BUILD_BUG_ON(TRN_GROUP_MAX_SLOTS > BITS_PER_LONG);
	seq_puts(m, "group owner        members slots state\n");
	mutex_lock(&trn_groups_lock);
	list_for_each_entry(group, &trn_groups, link) {
		me = trn_group_member(group, tdev);
		if (me || group->owner == tdev)
			trn_group_show(m, group, me);
	}
	mutex_unlock(&trn_groups_lock);
}
