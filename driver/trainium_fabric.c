// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chip's place in the fabric, and what changes there. The fabric block is
 * part of the extension (regs/fabric.h): without it a chip has no fabric.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "regs/ext.h"
#include "trainium_fabric.h"
#include "trainium_queue.h"

/* Without interrupts, or while counters are watched */
#define TRN_FABRIC_POLL		(HZ / 2)
/* More groups cannot break at once. */
#define TRN_FABRIC_MAX_BROKEN	4096u

/* Chips with a fabric */
static LIST_HEAD(trn_fabrics);
static DEFINE_MUTEX(trn_fabrics_lock);

/**
 * trn_fabric_find - a chip of the same domain
 * @f: fabric of a chip
 * @chip: id
 *
 * Return: the chip, held by drm_dev_get(), or NULL when this driver does not
 * have it.
 */
struct trn_device *trn_fabric_find(const struct trn_fabric *f, u32 chip)
{
	struct trn_device *found = NULL;
	struct trn_fabric *other;

	mutex_lock(&trn_fabrics_lock);
	list_for_each_entry(other, &trn_fabrics, link) {
		if (other->chip == chip && trn_fabric_joins(f->tdev, other->tdev)) {
			found = other->tdev;
			drm_dev_get(&found->drm);
			break;
		}
	}
	mutex_unlock(&trn_fabrics_lock);
	return found;
}

/**
 * trn_fabric_hold - for touching the registers of the fabric
 * @tdev: device
 * @idx: for trn_fabric_release()
 *
 * The device is there, and no reset is going on.
 *
 * Return: 0, -EOPNOTSUPP without a fabric, -ENODEV, -EINTR when killed.
 */
int trn_fabric_hold(struct trn_device *tdev, int *idx)
{
	int ret;

	if (!tdev->fabric)
		return -EOPNOTSUPP;
	if (!drm_dev_enter(&tdev->drm, idx))
		return -ENODEV;
	trn_device_lock(tdev);
	ret = mutex_lock_killable(&tdev->fabric->lock);
	if (!ret)
		return 0;
	up_read(&tdev->reset_lock);
	drm_dev_exit(*idx);
	return ret;
}

/**
 * trn_fabric_release - undo trn_fabric_hold()
 * @tdev: device
 * @idx: from there
 */
void trn_fabric_release(struct trn_device *tdev, int idx)
{
	mutex_unlock(&tdev->fabric->lock);
	up_read(&tdev->reset_lock);
	drm_dev_exit(idx);
}

/**
 * trn_fabric_query - TRAINIUM_QUERY_FABRIC
 * @tdev: device
 * @q: out
 *
 * Return: 0 or a negative error.
 */
int trn_fabric_query(struct trn_device *tdev, struct drm_trainium_query_fabric *q)
{
	const struct trn_fabric *f = tdev->fabric;
	u32 partition;
	int idx, ret;

	if (!f)
		return 0;
	ret = trn_fabric_hold(tdev, &idx);
	if (ret)
		return ret;
	partition = trn_fabric_read(f, TRN_FAB_PARTITION);
	q->errors = trn_fabric_read(f, TRN_FAB_ERR_COUNT);
	q->ports_up = trn_ports_up(f);
	trn_fabric_release(tdev, idx);

	q->kind = f->kind;
	q->caps = f->caps;
	export_uuid(q->uuid, &f->uuid);
	q->chip = f->chip;
	q->num_chips = f->num_chips;
	q->rack = f->place >> 20;
	q->server = f->place >> 8 & 0xfff;
	q->position = f->place & 0xff;
	q->num_ports = f->num_ports;
	q->partition = partition & 0xffff;
	q->partition_changes = partition >> 16;
	q->max_groups = f->max_groups;
	q->group_slots = f->group_slots;
	q->group_granule = f->group_granule;
	q->reduce_dtypes = f->reduce_dtypes;
	q->reduce_combines = f->reduce_combines;
	return 0;
}

/**
 * trn_fabric_failed - was it the fabric that failed an engine?
 * @tdev: device
 * @engine: that met an error; registers can be touched
 *
 * Forgets the error if it is that engine's.
 */
bool trn_fabric_failed(struct trn_device *tdev, u32 engine)
{
	struct trn_fabric *f = tdev->fabric;
	u32 word = TRN_FAB_ERR_ENGINES(engine / 32);

	if (!f || !(trn_fabric_read(f, word) & BIT(engine % 32)))
		return false;
	drm_dbg(&tdev->drm, "engine %u failed; the newest failure in the fabric: %#x at %#llx\n",
		engine, trn_fabric_read(f, TRN_FAB_ERR_STATUS),
		trn_fabric_read64(f, TRN_FAB_ERR_ADDR_LO));
	trn_fabric_write(f, word, BIT(engine % 32));
	return true;
}

/* What has changed */

/* The way to any chip may be another one now. */
static void trn_fabric_changed(struct trn_fabric *f)
{
	bitmap_zero(f->tested, TRN_FABRIC_MAX_CHIPS);
	bitmap_zero(f->bad, TRN_FABRIC_MAX_CHIPS);
	f->changes++;
}

static void trn_port_changed(struct trn_fabric *f, u32 port)
{
	u32 state = trn_fabric_read(f, TRN_FAB_PORT(port) + TRN_PORT_STATE);
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_PORT,
		.port = {
			.port = port,
			.state = state & 0xff,
			.before = f->told[port] & 0xff,
			.reason = state >> TRN_PORT_REASON_SHIFT & 0xff,
			.lanes = trn_fabric_read(f, TRN_FAB_PORT(port) + TRN_PORT_LANES),
			.flags = state & TRN_PORT_LATCHED ? TRAINIUM_PORT_F_LATCHED : 0,
		},
	};

	if (state == f->told[port])
		return;
	f->told[port] = state;
	trn_event_post(f->tdev, &event);
}

static void trn_partition_changed(struct trn_fabric *f)
{
	u32 partition = trn_fabric_read(f, TRN_FAB_PARTITION);
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_PARTITION,
		.partition = { .partition = partition & 0xffff, .changes = partition >> 16 },
	};

	if (partition == f->partition)
		return;
	f->partition = partition;
	trn_event_post(f->tdev, &event);
}

/* Return: TRN_FAB_EVENT_*, what has changed. */
static u32 trn_fabric_look(struct trn_fabric *f)
{
	u32 what = trn_fabric_read(f, TRN_FAB_EVENT), port;
	u64 ports;

	if (what == ~0u || !what)
		return 0;
	/* Cleared before it is looked at: what comes meanwhile is found again. */
	trn_fabric_write(f, TRN_FAB_EVENT, what);
	if (what & TRN_FAB_EVENT_PORT) {
		ports = trn_fabric_read64(f, TRN_FAB_PORT_EVENT_LO);
		trn_fabric_write64(f, TRN_FAB_PORT_EVENT_LO, ports);
		for (port = 0; port < f->num_ports; port++)
			if (ports >> port & 1)
				trn_port_changed(f, port);
	}
	if (what & TRN_FAB_EVENT_PARTITION)
		trn_partition_changed(f);
	if (what & (TRN_FAB_EVENT_PORT | TRN_FAB_EVENT_PARTITION))
		trn_fabric_changed(f);
	return what;
}

/* Outside of trn_fabric.lock: groups come before it. */
static void trn_fabric_broken(struct trn_fabric *f)
{
	struct trn_device *tdev = f->tdev;
	u32 id, i;
	int idx;

	for (i = 0; i < TRN_FABRIC_MAX_BROKEN; i++) {
		if (trn_fabric_hold(tdev, &idx))
			return;
		id = trn_fabric_read(f, TRN_FAB_BROKEN);
		trn_fabric_release(tdev, idx);
		if (id == ~0u)
			return;
		trn_group_broken(f, id);
	}
}

static void trn_fabric_work(struct work_struct *work)
{
	struct trn_fabric *f = container_of(work, struct trn_fabric, work.work);
	struct trn_device *tdev = f->tdev;
	bool poll;
	u32 what;
	int idx;

	if (trn_fabric_hold(tdev, &idx))
		return;
	what = trn_fabric_look(f);
	if (f->num_thresholds)
		trn_port_check_thresholds(f);
	poll = !tdev->num_vectors || f->num_thresholds;
	trn_fabric_release(tdev, idx);

	/* Outside of all locks: memory is allocated under that of sysfs. */
	if (what & TRN_FAB_EVENT_PARTITION)
		sysfs_notify(&tdev->pdev->dev.kobj, "fabric", "partition");
	if (what & TRN_FAB_EVENT_GROUP)
		trn_fabric_broken(f);
	if (poll)
		schedule_delayed_work(&f->work, TRN_FABRIC_POLL);
}

/**
 * trn_fabric_event - something has changed in the fabric
 * @tdev: device; hard interrupt
 */
void trn_fabric_event(struct trn_device *tdev)
{
	if (tdev->fabric)
		mod_delayed_work(system_wq, &tdev->fabric->work, 0);
}

/**
 * trn_fabric_start - look for changes from now on
 * @tdev: device
 */
void trn_fabric_start(struct trn_device *tdev)
{
	struct trn_fabric *f = tdev->fabric;

	if (!f)
		return;
	mutex_lock(&trn_fabrics_lock);
	list_add_tail(&f->link, &trn_fabrics);
	mutex_unlock(&trn_fabrics_lock);
	schedule_delayed_work(&f->work, 0);
}

/* The device is as hostile as its users. */
static int trn_fabric_check(struct trn_device *tdev, const struct trn_fabric *f)
{
	bool groups = !(f->caps & (TRN_FAB_CAP_MULTICAST | TRN_FAB_CAP_REDUCE)) ||
		      (is_power_of_2(f->group_granule) && f->group_granule <= SZ_1G);

	if (f->kind <= TRN_FAB_KIND_NVLINK && f->num_ports <= TRN_FAB_MAX_PORTS &&
	    f->num_chips <= TRN_FABRIC_MAX_CHIPS && f->chip < f->num_chips && groups)
		return 0;
	drm_warn(&tdev->drm,
		 "fabric of kind %u with %u ports, chip %u of %u, granule %u: not used\n",
		 f->kind, f->num_ports, f->chip, f->num_chips, f->group_granule);
	return -EIO;
}

static void trn_fabric_read_once(struct trn_fabric *f)
{
	u8 uuid[UUID_SIZE];
	u32 limit;
	unsigned int i;

	f->kind = trn_fabric_read(f, TRN_FAB_KIND);
	f->caps = trn_fabric_read(f, TRN_FAB_CAPS);
	f->chip = trn_fabric_read(f, TRN_FAB_SELF);
	f->num_chips = trn_fabric_read(f, TRN_FAB_NUM_CHIPS);
	f->num_ports = trn_fabric_read(f, TRN_FAB_NUM_PORTS);
	f->place = trn_fabric_read(f, TRN_FAB_PLACE);
	for (i = 0; i < UUID_SIZE / sizeof(u32); i++)
		put_unaligned_le32(trn_fabric_read(f, TRN_FAB_UUID(i)), uuid + i * sizeof(u32));
	import_uuid(&f->uuid, uuid);
	limit = trn_fabric_read(f, TRN_FAB_GROUP_LIMIT);
	f->max_groups = limit & 0xfff;
	f->group_slots = limit >> 16 & 0xfff;
	f->group_granule = trn_fabric_read(f, TRN_FAB_GROUP_GRANULE);
	f->reduce_dtypes = trn_fabric_read(f, TRN_FAB_REDUCE_DTYPES);
	f->reduce_combines = trn_fabric_read(f, TRN_FAB_REDUCE_OPS);
	f->partition = trn_fabric_read(f, TRN_FAB_PARTITION);
}

/**
 * trn_fabric_init - find out where the chip is
 * @tdev: device whose firmware is ready
 *
 * Without a fabric, or with one that cannot be right, trn_device.fabric stays
 * NULL.
 *
 * Return: 0 or a negative error.
 */
int trn_fabric_init(struct trn_device *tdev)
{
	struct trn_fabric *f;
	unsigned int i;
	int ret;

	if (!tdev->ext || !(tdev->ext_features & TRN_EXT_FEAT_FABRIC))
		return 0;
	f = drmm_kzalloc(&tdev->drm, sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	ret = drmm_mutex_init(&tdev->drm, &f->lock);
	if (ret)
		return ret;
	f->tdev = tdev;
	f->regs = tdev->ext + TRN_EXT_FABRIC;
	INIT_LIST_HEAD(&f->link);
	INIT_DELAYED_WORK(&f->work, trn_fabric_work);
	trn_fabric_read_once(f);
	if (f->kind == TRN_FAB_KIND_NONE || trn_fabric_check(tdev, f))
		return 0;
	for (i = 0; i < f->num_ports; i++)
		f->told[i] = trn_fabric_read(f, TRN_FAB_PORT(i) + TRN_PORT_STATE);
	tdev->fabric = f;
	return 0;
}

/**
 * trn_fabric_fini - the chip leaves, as far as others are concerned
 * @tdev: device without interrupts, unplugged or never registered
 */
void trn_fabric_fini(struct trn_device *tdev)
{
	if (!tdev->fabric)
		return;
	mutex_lock(&trn_fabrics_lock);
	list_del_init(&tdev->fabric->link);
	mutex_unlock(&trn_fabrics_lock);
	cancel_delayed_work_sync(&tdev->fabric->work);
	trn_groups_device_gone(tdev);
}
