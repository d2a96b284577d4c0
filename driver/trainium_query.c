// SPDX-License-Identifier: GPL-2.0-only
/* The query ioctl, and what /proc/PID/fdinfo shows. */
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "regs/ext.h"
#include "trainium_compat.h"
#include "trainium_fabric.h"
#include "trainium_queue.h"
#include "trainium_user.h"

/* Every type has the size that this driver knows. */
union trn_query {
	struct drm_trainium_query_device device;
	struct drm_trainium_query_memory memory;
	struct drm_trainium_query_engine engine;
	struct drm_trainium_query_queue queue;
	struct drm_trainium_query_limits limits;
	struct drm_trainium_query_telemetry telemetry;
	struct drm_trainium_query_holder holder;
	struct drm_trainium_query_core core;
	struct drm_trainium_query_fabric fabric;
};

static u32 trn_query_size(u32 type)
{
	switch (type) {
	case TRAINIUM_QUERY_DEVICE:
		return sizeof(struct drm_trainium_query_device);
	case TRAINIUM_QUERY_MEMORY:
		return sizeof(struct drm_trainium_query_memory);
	case TRAINIUM_QUERY_ENGINE:
		return sizeof(struct drm_trainium_query_engine);
	case TRAINIUM_QUERY_QUEUE:
		return sizeof(struct drm_trainium_query_queue);
	case TRAINIUM_QUERY_LIMITS:
		return sizeof(struct drm_trainium_query_limits);
	case TRAINIUM_QUERY_TELEMETRY:
		return sizeof(struct drm_trainium_query_telemetry);
	case TRAINIUM_QUERY_HOLDER:
		return sizeof(struct drm_trainium_query_holder);
	case TRAINIUM_QUERY_CORE:
		return sizeof(struct drm_trainium_query_core);
	case TRAINIUM_QUERY_FABRIC:
		return sizeof(struct drm_trainium_query_fabric);
	default:
		return 0;
	}
}

static void trn_query_device(struct trn_device *tdev, struct drm_trainium_query_device *d)
{
	const struct trn_hw *hw = tdev->hw;
	struct pci_dev *pdev = tdev->pdev;
	unsigned int i;

	d->uapi_major = TRAINIUM_UAPI_MAJOR;
	d->uapi_minor = TRAINIUM_UAPI_MINOR;
	d->generation = hw->generation;
	d->features = TRAINIUM_FEATURE_USERPTR | TRAINIUM_FEATURE_QUEUE_FENCED |
		      TRAINIUM_FEATURE_EVENTS;
	if (tdev->num_vectors)
		d->features |= TRAINIUM_FEATURE_IRQ;
	if (tdev->hbm_phys)
		d->features |= TRAINIUM_FEATURE_HBM_MMAP;
	if (trn_device_has_p2p(tdev))
		d->features |= TRAINIUM_FEATURE_P2P;
	if (tdev->ext && (tdev->ext_features & TRN_EXT_FEAT_CLOCK))
		d->features |= TRAINIUM_FEATURE_MODEL_CLOCK;
	if (trn_has_timestamp(tdev))
		d->features |= TRAINIUM_FEATURE_TIMESTAMP;
	if (tdev->fabric)
		d->features |= TRAINIUM_FEATURE_FABRIC;
	if (trn_has_semaphores(tdev))
		d->features |= TRAINIUM_FEATURE_QUEUE_USER | TRAINIUM_FEATURE_SEMAPHORE;
	strscpy(d->name, hw->name, sizeof(d->name));
	d->serial = tdev->serial;
	d->routing_id = tdev->routing_id;
	d->device_index = trn_hw_device_index(hw, tdev->routing_id);
	d->fw_api_version = tdev->fw_api_version;
	d->fw_build = tdev->fw_build;
	d->num_cores = hw->num_cores;
	d->num_stacks = hw->num_stacks;
	d->num_engines = hw->num_engines;
	d->queues_per_engine = TRN_QUEUES_PER_ENGINE;
	for (i = 0; i < hw->num_stacks; i++)
		d->hbm_size += tdev->hbm[i].size;
	d->reset_count = atomic64_read(&tdev->reset_count);
	d->pci_domain = pci_domain_nr(pdev->bus);
	d->pci_bus = pdev->bus->number;
	d->pci_slot = PCI_SLOT(pdev->devfn);
	d->pci_function = PCI_FUNC(pdev->devfn);
	d->pci_revision = pdev->revision;
	d->num_vectors = tdev->num_vectors;
	d->event_types = trn_event_types();
}

static int trn_query_engine(struct trn_device *tdev, u32 index,
			    struct drm_trainium_query_engine *e)
{
	struct trn_engine *engine;

	if (index >= tdev->hw->num_engines)
		return -EINVAL;
	engine = &tdev->engines[index];
	e->stack = trn_hw_engine_stack(tdev->hw, index);
	e->core = trn_hw_engine_core(tdev->hw, index);
	if (trn_hw_engine_has_host(tdev->hw, index)) {
		e->flags |= TRAINIUM_ENGINE_HOST_ACCESS;
		e->rings_free = READ_ONCE(engine->out_of_service) ? 0 :
				TRN_QUEUES_PER_ENGINE - hweight32(READ_ONCE(engine->rings_used) |
								  engine->rings_reserved);
	}
	if (trn_engine_aborted(engine, NULL))
		e->flags |= TRAINIUM_ENGINE_ABORTED;
	if (READ_ONCE(engine->out_of_service))
		e->flags |= TRAINIUM_ENGINE_OUT_OF_SERVICE;
	e->bytes = atomic64_read(&engine->bytes);
	e->resets = atomic64_read(&engine->resets);
	e->busy_ns = trn_engine_busy_ns(engine);
	return 0;
}

static int trn_query_queue(struct trn_file *tfile, u32 index, struct drm_trainium_query_queue *d)
{
	struct trn_queue *q = trn_queue_find(tfile, index);

	if (!q)
		return -ENOENT;
	/* Not to tell of a job in flight that has ended */
	trn_queue_reap(q);
	mutex_lock(&q->lock);
	spin_lock_irq(&q->fc->lock);
	d->queue_class = q->list ? TRAINIUM_QUEUE_LIST :
			 q->user ? TRAINIUM_QUEUE_USER : TRAINIUM_QUEUE_FENCED;
	d->num_rings = q->num_rings;
	d->submitted = q->submitted;
	d->completed = q->completed;
	d->failed = q->failed;
	d->error = q->error;
	d->reason = q->reason;
	d->engine = q->error_engine;
	d->cause = q->error_cause;
	spin_unlock_irq(&q->fc->lock);
	mutex_unlock(&q->lock);
	trn_queue_put(q);
	return 0;
}

static void trn_query_limits(struct trn_device *tdev, struct drm_trainium_query_limits *l)
{
	unsigned int i;

	l->max_queues = TRN_MAX_QUEUES;
	l->max_rings = TRN_MAX_FILE_RINGS;
	l->max_ops = TRN_MAX_OPS;
	l->max_syncs = TRN_MAX_SYNCS;
	for (i = 0; i < tdev->hw->num_stacks; i++)
		l->max_bo_size = max(l->max_bo_size, tdev->hbm[i].size);
	l->max_job_bytes = TRN_MAX_JOB_BYTES;
	l->job_timeout_ns = (u64)trn_job_timeout_ms * NSEC_PER_MSEC;
	l->max_rows = TRN_MAX_ROWS;
	l->max_list_descs = TRN_MAX_LIST_DESCS;
	l->max_list_patterns = TRN_NUM_PATTERNS;
	l->alignment = 1;
	trn_limits_query(l);
}

static int trn_query(struct drm_file *file, u32 type, u32 index, union trn_query *out)
{
	struct trn_file *tfile = file->driver_priv;
	struct trn_device *tdev = tfile->tdev;

	switch (type) {
	case TRAINIUM_QUERY_MEMORY:
		if (index >= tdev->hw->num_stacks)
			return -EINVAL;
		trn_hbm_query(tdev, index, &out->memory);
		return 0;
	case TRAINIUM_QUERY_ENGINE:
		return trn_query_engine(tdev, index, &out->engine);
	case TRAINIUM_QUERY_QUEUE:
		return trn_query_queue(tfile, index, &out->queue);
	case TRAINIUM_QUERY_HOLDER:
		return trn_holder_query(file, index, &out->holder);
	case TRAINIUM_QUERY_CORE:
		return trn_core_query(tdev, index, &out->core);
	}

	if (index)
		return -EINVAL;
	switch (type) {
	case TRAINIUM_QUERY_DEVICE:
		trn_query_device(tdev, &out->device);
		return 0;
	case TRAINIUM_QUERY_LIMITS:
		trn_query_limits(tdev, &out->limits);
		return 0;
	case TRAINIUM_QUERY_TELEMETRY:
		return trn_telemetry_read(tdev, &out->telemetry);
	case TRAINIUM_QUERY_FABRIC:
		return trn_fabric_query(tdev, &out->fabric);
	}
	return -EINVAL;
}

/* The caller may know of more, or claim to. */
static int trn_query_clear(void __user *to, u32 size)
{
	u32 n;

	for (; size; size -= n, to += n) {
		n = min_t(u32, size, SZ_64K);
		if (clear_user(to, n))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * trn_ioctl_query - DRM_IOCTL_TRAINIUM_QUERY
 * @drm: device
 * @data: struct drm_trainium_query
 * @file: caller
 */
int trn_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_query *args = data;
	void __user *to = u64_to_user_ptr(args->data);
	u32 known = trn_query_size(args->type), size;
	union trn_query out;
	int ret;

	if (args->pad || !known)
		return -EINVAL;
	if (!args->data) {
		args->size = known;
		return 0;
	}

	/* With its padding and all that is not the type asked for */
	memset(&out, 0, sizeof(out));
	ret = trn_query(file, args->type, args->index, &out);
	if (ret)
		return ret;
	size = min(args->size, known);
	if (copy_to_user(to, &out, size))
		return -EFAULT;
	ret = trn_query_clear(to + size, args->size - size);
	args->size = known;
	return ret;
}

/* Marks what jobs in flight use, of whatever file they are. */
static void trn_mark_active(struct trn_device *tdev, u64 look)
{
	struct trn_queue *q;
	u64 seqno;
	u32 i;

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		trn_queue_reap(q);
		mutex_lock(&q->lock);
		for (seqno = READ_ONCE(q->completed) + 1; seqno <= q->submitted; seqno++) {
			struct trn_refs *refs = &trn_slot(q, seqno)->refs;

			for (i = 0; i < refs->num; i++)
				WRITE_ONCE(refs->list[i]->seen, look);
		}
		mutex_unlock(&q->lock);
	}
	mutex_unlock(&tdev->queues_lock);
}

struct trn_region_stats {
	struct drm_memory_stats host;
	struct drm_memory_stats hbm[TRN_MAX_STACKS];
};

static void trn_file_memory(struct drm_file *file, struct trn_region_stats *stats)
{
	struct trn_file *tfile = file->driver_priv;
	u64 look = atomic64_inc_return(&tfile->tdev->looks);
	struct drm_gem_object *obj;
	int id;

	trn_mark_active(tfile->tdev, look);
	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		struct trn_bo *bo = to_trn_bo(obj);
		struct drm_memory_stats *s = &stats->host;

		/* It is counted on its own chip. */
		if (bo->flags & TRN_BO_F_REMOTE)
			continue;
		if (trn_bo_is_hbm(bo))
			s = &stats->hbm[bo->stack];
		if (drm_gem_object_is_shared_for_memory_stats(obj))
			s->shared += obj->size;
		else
			s->private += obj->size;
		s->resident += obj->size;
		/* Or by somebody else's look, which began later */
		if (READ_ONCE(bo->seen) >= look)
			s->active += obj->size;
	}
	spin_unlock(&file->table_lock);
}

static void trn_print_region(struct drm_printer *p, const struct drm_memory_stats *stats,
			     const char *region)
{
	/* The older name of resident, which tools know */
	drm_printf(p, "drm-memory-%s:\t%llu KiB\n", region, stats->resident >> 10);
	drm_print_memory_stats(p, stats, DRM_GEM_OBJECT_RESIDENT | DRM_GEM_OBJECT_ACTIVE, region);
}

static u64 trn_file_busy(struct trn_device *tdev, struct trn_file *tfile)
{
	u64 ns = atomic64_read(&tfile->busy_ns);
	struct trn_queue *q;

	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		if (q->file != tfile)
			continue;
		spin_lock_irq(&q->fc->lock);
		ns += q->busy_ns;
		if (q->busy_since)
			ns += ktime_get_ns() - q->busy_since;
		spin_unlock_irq(&q->fc->lock);
	}
	mutex_unlock(&tdev->queues_lock);
	return ns;
}

/**
 * trn_show_fdinfo - what an open file uses
 * @p: printer
 * @file: the file
 */
void trn_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct trn_file *tfile = file->driver_priv;
	struct trn_region_stats stats = { };
	char region[16];
	unsigned int i;

	drm_printf(p, "drm-engine-dma:\t%llu ns\n", trn_file_busy(tfile->tdev, tfile));
	trn_file_memory(file, &stats);
	trn_print_region(p, &stats.host, "memory");
	for (i = 0; i < tfile->tdev->hw->num_stacks; i++) {
		snprintf(region, sizeof(region), "hbm%u", i);
		trn_print_region(p, &stats.hbm[i], region);
	}
}
