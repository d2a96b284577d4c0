// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device's life: bring-up, reset, what PCI and power management ask for,
 * and teardown.
 *
 * Everything that stops the device holds reset_lock for writing and fails all
 * jobs. Then the device is "down" and the lock free, as what resets a device
 * allocates memory: wait for the firmware, reset through it, initialise engines
 * and interrupts. Whoever wants the rings waits meanwhile, where no fence is
 * signalled. Last, under the lock again, the queues start anew. When the reset
 * fails the device is "broken": jobs are refused until another reset, or a
 * rebind, succeeds.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "regs/ext.h"
#include "regs/pci.h"
#include "trainium_queue.h"

/*
 * The chips of this host by routing id, only to refuse a second one with the
 * same id: it would be a chip that the fabric cannot tell from the first.
 */
static DEFINE_XARRAY(trn_chips);

/**
 * trn_device_gone - does the device still answer?
 * @tdev: device; ask when a register has read all ones
 */
bool trn_device_gone(struct trn_device *tdev)
{
	return !pci_device_is_present(tdev->pdev);
}

/**
 * trn_device_regs - registers at an offset of BAR0
 * @tdev: device
 * @offset: in BAR0
 * @size: bytes
 *
 * Return: their mapping, NULL when they are in no window.
 */
void __iomem *trn_device_regs(struct trn_device *tdev, u32 offset, u32 size)
{
	unsigned int i;

	for (i = 0; i < tdev->hw->num_windows; i++) {
		const struct trn_window *window = &tdev->hw->windows[i];

		if (offset >= window->offset && size <= window->size &&
		    offset - window->offset <= window->size - size)
			return tdev->windows[i] + (offset - window->offset);
	}
	return NULL;
}

/* A BAR that firmware or bridge windows left no room for has no address. */
static bool trn_bar_assigned(struct pci_dev *pdev, int bar)
{
	return pci_resource_len(pdev, bar) && pci_resource_start(pdev, bar) &&
	       !(pci_resource_flags(pdev, bar) & IORESOURCE_UNSET);
}

static int trn_check_regs(struct trn_device *tdev)
{
	u64 len = pci_resource_len(tdev->pdev, TRN_BAR_REGS);
	bool assigned = trn_bar_assigned(tdev->pdev, TRN_BAR_REGS);

	if (assigned && len >= tdev->hw->regs_size)
		return 0;
	drm_err(&tdev->drm,
		"BAR%d (registers) needs %llu MiB of address space, has %llu MiB and is %s\n",
		TRN_BAR_REGS, tdev->hw->regs_size >> 20, len >> 20,
		assigned ? "too small" : "not assigned");
	return -ENODEV;
}

static int trn_map_regs(struct trn_device *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	const struct trn_hw *hw = tdev->hw;
	resource_size_t start = pci_resource_start(pdev, TRN_BAR_REGS);
	unsigned int i;
	int ret;

	ret = pcim_request_region(pdev, TRN_BAR_REGS, "trainium");
	if (ret) {
		drm_err(&tdev->drm, "BAR%d (registers, %llu MiB) is in use (error %d)\n",
			TRN_BAR_REGS, (u64)pci_resource_len(pdev, TRN_BAR_REGS) >> 20, ret);
		return ret;
	}

	tdev->windows = devm_kcalloc(&pdev->dev, hw->num_windows,
				     sizeof(*tdev->windows), GFP_KERNEL);
	if (!tdev->windows)
		return -ENOMEM;

	for (i = 0; i < hw->num_windows; i++) {
		tdev->windows[i] = devm_ioremap(&pdev->dev, start + hw->windows[i].offset,
						hw->windows[i].size);
		if (!tdev->windows[i]) {
			drm_err(&tdev->drm, "cannot map %u KiB of BAR%d at %#x\n",
				hw->windows[i].size >> 10, TRN_BAR_REGS,
				hw->windows[i].offset);
			return -ENOMEM;
		}
	}
	tdev->misc = trn_device_regs(tdev, hw->misc_offset, TRN_MISC_SIZE);
	return 0;
}

/* The extension is optional: without it the driver polls. */
static void trn_map_ext(struct trn_device *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	void __iomem *ext;
	u32 magic, version;

	if (!trn_bar_assigned(pdev, TRN_BAR_EXT) ||
	    pci_resource_len(pdev, TRN_BAR_EXT) < TRN_EXT_SIZE)
		return;

	ext = pcim_iomap_region(pdev, TRN_BAR_EXT, "trainium");
	if (IS_ERR(ext)) {
		drm_warn(&tdev->drm, "BAR%d (extension) cannot be mapped (error %ld)\n",
			 TRN_BAR_EXT, PTR_ERR(ext));
		return;
	}

	magic = readl(ext + TRN_EXT_MAGIC);
	version = readl(ext + TRN_EXT_VERSION);
	if (magic != TRN_EXT_MAGIC_VALUE || version >> 16 != TRN_EXT_VERSION_MAJOR) {
		drm_info(&tdev->drm,
			 "BAR%d is no extension of major version %u (magic %#010x, version %u.%u), not used\n",
			 TRN_BAR_EXT, TRN_EXT_VERSION_MAJOR, magic, version >> 16,
			 version & 0xffff);
		return;
	}
	tdev->ext = ext;
	tdev->ext_features = readl(ext + TRN_EXT_FEATURES);
}

/* The BAR that shows HBM to the CPU; it may be missing. */
static void trn_map_hbm(struct trn_device *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	resource_size_t start = pci_resource_start(pdev, TRN_BAR_HBM);
	resource_size_t len = pci_resource_len(pdev, TRN_BAR_HBM);

	if (!trn_bar_assigned(pdev, TRN_BAR_HBM) ||
	    pcim_request_region(pdev, TRN_BAR_HBM, "trainium")) {
		drm_info(&tdev->drm, "BAR%d (HBM, %llu MiB) is not assigned or in use: programs cannot map HBM\n",
			 TRN_BAR_HBM, (u64)len >> 20);
		return;
	}
	tdev->hbm_phys = start;
	tdev->hbm_phys_size = len;
	/* A chip with a smaller BAR shows an equal part of each stack. */
	tdev->hbm_pitch = div_u64(len, tdev->hw->num_stacks);
	/* Without this, mappings of user space would be uncached, only slower. */
	if (devm_arch_io_reserve_memtype_wc(&pdev->dev, start, len))
		drm_dbg(&tdev->drm, "BAR%d is not write-combined\n", TRN_BAR_HBM);
}

/* The extension says how large the stacks are; silicon has what it has. */
static int trn_size_hbm(struct trn_device *tdev)
{
	const struct trn_hw *hw = tdev->hw;
	u64 size = 0;

	if (tdev->ext)
		size = readl(tdev->ext + TRN_EXT_HBM_SIZE_LO) |
		       (u64)readl(tdev->ext + TRN_EXT_HBM_SIZE_HI) << 32;
	if (!size)
		size = hw->hbm_size;
	/* A window smaller than that belongs to a smaller chip. */
	if (!tdev->ext && tdev->hbm_pitch)
		size = min(size, tdev->hbm_pitch);

	tdev->hbm_stack_size = size;
	if (size <= hw->hbm_window && size > 2 * TRN_HBM_FW_CARVEOUT)
		return 0;
	drm_err(&tdev->drm, "HBM stacks of %llu bytes cannot be\n", size);
	return -ENODEV;
}

/* Takes the routing id for this chip; a chip that has it already keeps it. */
static int trn_claim_routing_id(struct trn_device *tdev)
{
	struct pci_dev *first;
	int ret;

	if (tdev->routing_id >= TRN_ROUTING_IDS) {
		drm_err(&tdev->drm, "routing id %#x of the firmware is not below %u\n",
			tdev->routing_id, TRN_ROUTING_IDS);
		return -ENODEV;
	}

	xa_lock(&trn_chips);
	ret = __xa_insert(&trn_chips, tdev->routing_id, tdev->pdev, GFP_KERNEL);
	if (ret == -EBUSY) {
		first = xa_load(&trn_chips, tdev->routing_id);
		drm_err(&tdev->drm, "routing id %u of %s is in use by %s: refused\n",
			tdev->routing_id, pci_name(tdev->pdev), pci_name(first));
	}
	xa_unlock(&trn_chips);
	tdev->routing_id_claimed = !ret;
	return ret;
}

/* A reset without the firmware's help, after which it boots. */
static int trn_device_flr(struct trn_device *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	int ret;

	drm_warn(&tdev->drm, "firmware does not reset the device, trying a function-level reset\n");
	pci_save_state(pdev);
	ret = pcie_reset_flr(pdev, PCI_RESET_DO_RESET);
	pci_restore_state(pdev);
	/* What a slot reset restores */
	pci_save_state(pdev);
	return ret ?: trn_fw_wait_boot(tdev);
}

/*
 * From a device in any state to one whose engines work.
 * @boots: the chip may have been powered on just now
 */
static int trn_device_bring_up(struct trn_device *tdev, bool boots, u32 cause)
{
	unsigned int i;
	int ret;

	ret = trn_fw_request_reset(tdev, TRN_RESET_DEVICE, 0, boots);
	if (ret == -ETIMEDOUT && !pcie_reset_flr(tdev->pdev, PCI_RESET_PROBE))
		ret = trn_device_flr(tdev);
	if (ret)
		return ret;

	/* Not before: a kernel that crashed may have left work in the rings. */
	pci_set_master(tdev->pdev);
	trn_irq_restore(tdev);
	for (i = 0; i < tdev->hw->num_engines; i++) {
		mutex_lock(&tdev->engines[i].lock);
		trn_udma_init_engine(&tdev->engines[i]);
		mutex_unlock(&tdev->engines[i].lock);
	}

	/* A device that went away meanwhile has swallowed all of this. */
	if (trn_device_gone(tdev))
		return -ENODEV;
	ret = trn_device_test(tdev, cause);
	if (ret)
		drm_err(&tdev->drm, "the device does not copy after the reset\n");
	return ret;
}

/**
 * trn_device_wait_up - wait while the device is being reset
 * @tdev: device
 *
 * It may go down again at once. Not while fences are signalled.
 *
 * Return: 0 or -ERESTARTSYS after a fatal signal.
 */
int trn_device_wait_up(struct trn_device *tdev)
{
	return wait_event_killable(tdev->up_wait, !READ_ONCE(tdev->down));
}

/**
 * trn_device_lock - reset_lock for reading, with the device up
 * @tdev: device
 *
 * Ends with up_read(). Not while fences are signalled.
 */
void trn_device_lock(struct trn_device *tdev)
{
	for (;;) {
		/* The reset ends in bounded time. */
		wait_event(tdev->up_wait, !READ_ONCE(tdev->down));
		down_read(&tdev->reset_lock);
		if (!tdev->down)
			return;
		up_read(&tdev->reset_lock);
	}
}

/* Up or down */
static void trn_device_hold_any(struct trn_device *tdev)
{
	struct trn_queue *q;

	down_write(&tdev->reset_lock);
	WRITE_ONCE(tdev->held, true);
	/* Small jobs are written under the lock of their queue alone. */
	mutex_lock(&tdev->queues_lock);
	list_for_each_entry(q, &tdev->queues, link) {
		mutex_lock(&q->lock);
		mutex_unlock(&q->lock);
	}
	mutex_unlock(&tdev->queues_lock);
}

/**
 * trn_device_try_hold - wait until no queue runs, and let none run
 * @tdev: device
 *
 * Ends with trn_device_release(). Everything that stops the device or one of
 * its engines happens in between.
 *
 * Return: true, or false when the device is down: all jobs have ended.
 */
bool trn_device_try_hold(struct trn_device *tdev)
{
	trn_device_hold_any(tdev);
	if (!tdev->down)
		return true;
	trn_device_release(tdev);
	return false;
}

/**
 * trn_device_hold - the same, with the device up
 * @tdev: device
 *
 * Not while fences are signalled.
 */
void trn_device_hold(struct trn_device *tdev)
{
	do {
		wait_event(tdev->up_wait, !READ_ONCE(tdev->down));
	} while (!trn_device_try_hold(tdev));
}

/**
 * trn_device_release - queues run again
 * @tdev: device that is held
 */
void trn_device_release(struct trn_device *tdev)
{
	WRITE_ONCE(tdev->held, false);
	up_write(&tdev->reset_lock);
}

/*
 * All jobs end with @err, new ones too; reset_lock is held for writing. The
 * engines first: who learns that a job has ended uses its memory again.
 */
static void trn_device_stop(struct trn_device *tdev, int err)
{
	WRITE_ONCE(tdev->broken, err);
	trn_udma_quiesce(tdev);
	trn_queues_stop(tdev, err);
}

/* A stopped device is being reset: lets go of it until trn_device_start(). */
static void trn_device_down(struct trn_device *tdev)
{
	WRITE_ONCE(tdev->down, true);
	trn_device_release(tdev);
}

/* The end of that, under reset_lock */
static void trn_device_up(struct trn_device *tdev, int ret)
{
	trn_device_hold_any(tdev);
	WRITE_ONCE(tdev->broken, ret ? -ENODEV : 0);
	if (!ret)
		trn_queues_restart(tdev);
	WRITE_ONCE(tdev->down, false);
	trn_device_release(tdev);
	wake_up_all(&tdev->up_wait);
}

/* Brings a device back that is down. */
static int trn_device_start(struct trn_device *tdev, u32 cause, const char *why)
{
	/* Power is lost in system sleep, and by what PCI resets. */
	bool boots = cause == TRAINIUM_CAUSE_RESUME || cause == TRAINIUM_CAUSE_PCI;
	ktime_t begin = ktime_get();
	int ret;

	ret = trn_device_bring_up(tdev, boots, cause);
	if (!ret)
		atomic64_inc(&tdev->reset_count);
	trn_report_reset(tdev, TRAINIUM_RESET_DEVICE, 0, cause, ret, begin);
	trn_device_up(tdev, ret);
	if (ret) {
		drm_err(&tdev->drm,
			"device reset (%s) failed (error %d): jobs are refused; reset again or rebind the driver\n",
			why, ret);
		return ret;
	}

	drm_warn(&tdev->drm, "device was reset (%s) in %lld ms, contents of HBM are lost\n",
		 why, ktime_ms_delta(ktime_get(), begin));
	return 0;
}

/**
 * trn_device_reset - reset the whole device
 * @tdev: device
 * @cause: enum drm_trainium_reset_cause
 * @why: for the log
 *
 * All jobs end with -ECANCELED, or -ENODEV when the device is gone. Sleeps for
 * as long as the firmware needs.
 *
 * Return: 0; -ENODEV when it is gone; else the device is broken.
 */
int trn_device_reset(struct trn_device *tdev, u32 cause, const char *why)
{
	int idx, ret;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	trn_device_hold(tdev);
	trn_device_stop(tdev, trn_device_gone(tdev) ? -ENODEV : -ECANCELED);
	trn_device_down(tdev);
	ret = trn_device_start(tdev, cause, why);
	drm_dev_exit(idx);
	return ret;
}

static void trn_device_reset_work(struct work_struct *work)
{
	struct trn_device *tdev = container_of(work, struct trn_device, reset_work);

	trn_device_reset(tdev, TRAINIUM_CAUSE_RECOVERY,
			 trn_device_gone(tdev) ? "device does not answer" :
						 "engine could not be recovered");
}

/**
 * trn_device_schedule_reset - ask for a device reset
 * @tdev: device
 *
 * For contexts that cannot wait for it, reset_lock held for reading included.
 */
void trn_device_schedule_reset(struct trn_device *tdev)
{
	queue_work(tdev->reset_wq, &tdev->reset_work);
}

/**
 * trn_ioctl_reset - TRAINIUM_RESET
 * @drm: device
 * @data: struct drm_trainium_reset
 * @file: open file
 */
int trn_ioctl_reset(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct trn_device *tdev = to_trn_device(drm);
	struct drm_trainium_reset *args = data;

	if (args->flags || args->pad)
		return -EINVAL;

	switch (args->scope) {
	case TRAINIUM_RESET_DEVICE:
		if (args->index)
			return -EINVAL;
		return trn_device_reset(tdev, TRAINIUM_CAUSE_ASKED, "asked for by a program");
	case TRAINIUM_RESET_CORE:
		if (args->index >= tdev->hw->num_cores)
			return -EINVAL;
		return trn_core_reset(tdev, args->index);
	default:
		return -EINVAL;
	}
}

static void trn_device_free_wq(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

/**
 * trn_device_own_wq - let a workqueue live as long as the device has users
 * @tdev: device
 * @wq: the workqueue, or NULL without memory
 *
 * Files that are open wait for its work, also after an unbind.
 *
 * Return: 0 or -ENOMEM; then it is gone.
 */
int trn_device_own_wq(struct trn_device *tdev, struct workqueue_struct *wq)
{
	return wq ? drmm_add_action_or_reset(&tdev->drm, trn_device_free_wq, wq) : -ENOMEM;
}

/**
 * trn_device_init - bring a new device up
 * @tdev: device with pdev and hw set
 * @vectors: most interrupt vectors to use, -1 for the driver's choice
 *
 * Return: 0, or an error with the reason in the log and nothing to undo
 * except trn_device_fini().
 */
int trn_device_init(struct trn_device *tdev, int vectors)
{
	struct pci_dev *pdev = tdev->pdev;
	int ret;

	init_rwsem(&tdev->reset_lock);
	init_waitqueue_head(&tdev->up_wait);
	trn_events_init(tdev);
	trn_telemetry_init(tdev);
	INIT_WORK(&tdev->reset_work, trn_device_reset_work);
	ret = trn_queues_prepare(tdev);
	if (ret)
		return ret;
	ret = trn_reports_init(tdev);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&tdev->drm, &tdev->fw_lock);
	if (ret)
		return ret;
	tdev->reset_wq = alloc_ordered_workqueue("trainium-reset/%s",
						 WQ_MEM_RECLAIM | WQ_FREEZABLE,
						 pci_name(pdev));
	ret = trn_device_own_wq(tdev, tdev->reset_wq);
	if (ret)
		return ret;

	trn_rebar(tdev);
	ret = trn_check_regs(tdev);
	if (ret)
		return ret;
	ret = pcim_enable_device(pdev);
	if (ret) {
		drm_err(&tdev->drm, "cannot be enabled (error %d)\n", ret);
		return ret;
	}
	pci_clear_master(pdev);
	ret = trn_map_regs(tdev);
	if (ret)
		return ret;
	trn_map_ext(tdev);
	trn_map_hbm(tdev);
	ret = trn_size_hbm(tdev);
	if (ret)
		return ret;

	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(tdev->hw->host_bits));
	if (ret) {
		drm_err(&tdev->drm, "no DMA with %u address bits (error %d)\n",
			tdev->hw->host_bits, ret);
		return ret;
	}
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);

	ret = trn_fw_wait_ready(tdev);
	if (ret)
		return ret;
	ret = trn_claim_routing_id(tdev);
	if (ret)
		return ret;

	ret = trn_udma_init(tdev);
	if (ret)
		return ret;
	ret = trn_irq_init(tdev, vectors);
	if (ret)
		return ret;

	ret = trn_device_bring_up(tdev, true, TRAINIUM_CAUSE_ASKED);
	if (ret)
		drm_err(&tdev->drm, "device reset at probe failed (error %d)\n", ret);
	return ret;
}

/**
 * trn_device_fini - undo trn_device_init(), at any point of it
 * @tdev: device; unplugged, or never registered
 */
void trn_device_fini(struct trn_device *tdev)
{
	pci_clear_master(tdev->pdev);
	trn_irq_fini(tdev);
	/* What an interrupt has started, and that one the other */
	cancel_work_sync(&tdev->recover_work);
	cancel_work_sync(&tdev->reset_work);
	trn_telemetry_fini(tdev);
	trn_reports_fini(tdev);
	trn_ring_test_fini(tdev);
	if (tdev->routing_id_claimed)
		xa_erase(&trn_chips, tdev->routing_id);
	tdev->routing_id_claimed = false;
}

/**
 * trn_device_unplug - take the device from its users and silence it
 * @tdev: device
 *
 * For an unbind, with the device there or not, and for a shutdown: the engines
 * must not write to memory that the next kernel uses for something else.
 */
void trn_device_unplug(struct trn_device *tdev)
{
	/* A reset that waits for the firmware would hold up the next line. */
	WRITE_ONCE(tdev->leaving, true);
	/* After both no ioctl and no work touches registers any more. */
	drm_dev_unplug(&tdev->drm);
	trn_device_hold(tdev);
	trn_device_stop(tdev, -ENODEV);
	trn_device_release(tdev);
	trn_events_gone(tdev);
	trn_irq_quiesce(tdev);
	pci_clear_master(tdev->pdev);
}

/* Suspend: no state of the chip survives, so all jobs are ended. */
static int trn_pm_suspend(struct device *dev)
{
	struct trn_device *tdev = dev_get_drvdata(dev);

	trn_device_hold(tdev);
	trn_device_stop(tdev, -ECANCELED);
	trn_device_release(tdev);
	return 0;
}

static int trn_pm_resume(struct device *dev)
{
	return trn_device_reset(dev_get_drvdata(dev), TRAINIUM_CAUSE_RESUME, "system resume");
}

DEFINE_SIMPLE_DEV_PM_OPS(trn_pm_ops, trn_pm_suspend, trn_pm_resume);

/*
 * A function-level reset, by sysfs for example. The second call always follows,
 * and no unbind comes in between: the device is down for so long, so that
 * submits wait instead of failing.
 */
static void trn_pci_reset_prepare(struct pci_dev *pdev)
{
	struct trn_device *tdev = pci_get_drvdata(pdev);

	trn_device_hold(tdev);
	trn_device_stop(tdev, -ECANCELED);
	trn_device_down(tdev);
}

static void trn_pci_reset_done(struct pci_dev *pdev)
{
	struct trn_device *tdev = pci_get_drvdata(pdev);
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx)) {
		trn_device_up(tdev, -ENODEV);
		return;
	}
	trn_device_start(tdev, TRAINIUM_CAUSE_PCI, "function-level reset");
	drm_dev_exit(idx);
}

static pci_ers_result_t trn_pci_error_detected(struct pci_dev *pdev,
					       pci_channel_state_t state)
{
	struct trn_device *tdev = pci_get_drvdata(pdev);

	/* The link still works: whatever was hit shows up as a failed job. */
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;

	drm_err(&tdev->drm, "PCI error, the device is %s\n",
		state == pci_channel_io_frozen ? "cut off until it is reset" : "lost");
	trn_device_hold(tdev);
	trn_device_stop(tdev, state == pci_channel_io_frozen ? -ECANCELED : -ENODEV);
	trn_device_release(tdev);
	return state == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET :
						PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t trn_pci_slot_reset(struct pci_dev *pdev)
{
	struct trn_device *tdev = pci_get_drvdata(pdev);

	pci_restore_state(pdev);
	pci_save_state(pdev);
	pci_set_master(pdev);
	return trn_device_gone(tdev) ? PCI_ERS_RESULT_DISCONNECT :
				       PCI_ERS_RESULT_RECOVERED;
}

static void trn_pci_resume(struct pci_dev *pdev)
{
	struct trn_device *tdev = pci_get_drvdata(pdev);

	if (READ_ONCE(tdev->broken))
		trn_device_reset(tdev, TRAINIUM_CAUSE_PCI, "PCI error recovery");
}

const struct pci_error_handlers trn_pci_error_handlers = {
	.error_detected = trn_pci_error_detected,
	.slot_reset = trn_pci_slot_reset,
	.resume = trn_pci_resume,
	.reset_prepare = trn_pci_reset_prepare,
	.reset_done = trn_pci_reset_done,
};
