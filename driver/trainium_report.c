// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is told of failures and resets: trace points, events, uevents, and the
 * coredump (trainium_coredump.c). Those who report hold locks that memory must
 * not be waited for under, so what allocates is done by a worker.
 */
#include <linux/kfifo.h>
#include <linux/kobject.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "trainium_ring.h"

struct trn_uevent {
	u32 scope, index;
	int error;
	u64 reset_count;
};

/* Steps that may be waiting for the worker; more are not sent */
#define TRN_NUM_UEVENTS		32

struct trn_reports {
	struct trn_device *tdev;
	struct work_struct work;
	/** @lock: those who put into @uevents */
	spinlock_t lock;
	DECLARE_KFIFO(uevents, struct trn_uevent, TRN_NUM_UEVENTS);
};

static const char * const trn_scopes[] = {
	[TRAINIUM_RESET_DEVICE] = "device",
	[TRAINIUM_RESET_CORE] = "core",
	[TRAINIUM_RESET_ENGINE] = "engine",
	[TRAINIUM_RESET_QUEUE] = "queue",
};

static const char * const trn_causes[] = {
	[TRAINIUM_CAUSE_ASKED] = "asked for",
	[TRAINIUM_CAUSE_RECOVERY] = "recovery",
	[TRAINIUM_CAUSE_PCI] = "PCI",
	[TRAINIUM_CAUSE_RESUME] = "resume",
};

static void trn_uevent_send(struct trn_device *tdev, const struct trn_uevent *u)
{
	char reset[16], index[20], result[24], count[40];
	char *env[6] = { reset, index, result, count };

	snprintf(reset, sizeof(reset), "RESET=%s", trn_scopes[u->scope]);
	snprintf(index, sizeof(index), "INDEX=%u", u->index);
	snprintf(result, sizeof(result), "RESULT=%d", u->error);
	snprintf(count, sizeof(count), "RESET_COUNT=%llu", u->reset_count);
	if (u->scope == TRAINIUM_RESET_DEVICE && u->error)
		env[4] = "WEDGED=rebind,bus-reset";
	kobject_uevent_env(&tdev->drm.accel->kdev->kobj, KOBJ_CHANGE, env);
}

static void trn_reports_work(struct work_struct *work)
{
	struct trn_reports *reports = container_of(work, struct trn_reports, work);
	struct trn_device *tdev = reports->tdev;
	struct trn_uevent u;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	/* One work, one reader */
	while (kfifo_get(&reports->uevents, &u))
		trn_uevent_send(tdev, &u);
	drm_dev_exit(idx);
}

/**
 * trn_report_reset - a reset has ended
 * @tdev: device that is registered; any context
 * @scope: TRAINIUM_RESET_*
 * @index: core or engine, else 0
 * @cause: enum drm_trainium_reset_cause
 * @error: 0, or how it failed
 * @begin: when it began
 */
void trn_report_reset(struct trn_device *tdev, u32 scope, u32 index, u32 cause, int error,
		      ktime_t begin)
{
	struct trn_reports *reports = tdev->reports;
	const struct trn_uevent u = {
		.scope = scope,
		.index = index,
		.error = error,
		.reset_count = atomic64_read(&tdev->reset_count),
	};

	trace_trn_reset(tdev, trn_scopes[scope], index, trn_causes[cause], error);
	trn_event_reset(tdev, scope, index, cause, error, begin);
	kfifo_in_spinlocked(&reports->uevents, &u, 1, &reports->lock);
	queue_work(system_unbound_wq, &reports->work);
}

/**
 * trn_report_fault - an engine has failed a job
 * @ring: of the job that is to blame; the lock of its queue is held
 * @queue: id of the queue, 0 for the driver's own
 * @seqno: the job
 * @reason: enum drm_trainium_reason
 * @cause: of the engine: M2S, S2M << 32
 *
 * Nothing of the engine was changed yet.
 */
void trn_report_fault(const struct trn_ring *ring, u32 queue, u64 seqno, u32 reason, u64 cause)
{
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_FAULT,
		.fault = {
			.engine = ring->engine->id,
			.reason = reason,
			.m2s_cause = lower_32_bits(cause),
			.s2m_cause = upper_32_bits(cause),
		},
	};

	trn_dump_take(ring, queue, seqno, reason);
	trn_event_post(ring->engine->tdev, &event);
}

/**
 * trn_reports_init - prepare for reports
 * @tdev: device
 *
 * Return: 0 or -ENOMEM.
 */
int trn_reports_init(struct trn_device *tdev)
{
	struct trn_reports *reports = drmm_kzalloc(&tdev->drm, sizeof(*reports), GFP_KERNEL);

	if (!reports)
		return -ENOMEM;
	reports->tdev = tdev;
	INIT_WORK(&reports->work, trn_reports_work);
	spin_lock_init(&reports->lock);
	INIT_KFIFO(reports->uevents);
	tdev->reports = reports;
	return trn_dump_init(tdev);
}

/**
 * trn_reports_fini - nothing is reported any more
 * @tdev: device, unplugged, or never registered
 */
void trn_reports_fini(struct trn_device *tdev)
{
	if (tdev->reports)
		cancel_work_sync(&tdev->reports->work);
	trn_dump_fini(tdev);
}
