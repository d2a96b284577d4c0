// SPDX-License-Identifier: GPL-2.0-only
/* Module, PCI driver and DRM driver. */
#include <linux/module.h>
#include <linux/pci.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "regs/pci.h"
#include "trainium_compat.h"
#include "trainium_fabric.h"

/* These revisions are the vendor's simulator and emulator: other registers. */
#define TRN_REVISION_SIMULATOR	0xff
#define TRN_REVISION_EMULATOR	0xf0

static int vectors = -1;
module_param(vectors, int, 0444);
MODULE_PARM_DESC(vectors, "Interrupt vectors of a device (-1: two for each CPU, at most 32; 0: poll)");

/*
 * Two calls of the DRM core assume a primary node, which an accel device does
 * not have, and would follow a NULL pointer.
 */
static bool trn_ioctl_unsafe(unsigned int cmd)
{
	unsigned int nr = DRM_IOCTL_NR(cmd);

	return nr == DRM_IOCTL_NR(DRM_IOCTL_GET_UNIQUE) ||
	       nr == DRM_IOCTL_NR(DRM_IOCTL_GET_MAGIC);
}

static long trn_drm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (unlikely(trn_ioctl_unsafe(cmd)))
		return -EOPNOTSUPP;

	return drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long trn_drm_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (unlikely(trn_ioctl_unsafe(cmd)))
		return -EOPNOTSUPP;
	return drm_compat_ioctl(filp, cmd, arg);
}
#else
#define trn_drm_compat_ioctl NULL
#endif

static const struct file_operations trn_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = trn_drm_ioctl,
	.compat_ioctl = trn_drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

static const struct drm_ioctl_desc trn_ioctls[] = {
	DRM_IOCTL_DEF_DRV(TRAINIUM_QUERY, trn_ioctl_query, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_BO_CREATE, trn_ioctl_bo_create, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_BO_INFO, trn_ioctl_bo_info, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_QUEUE_CREATE, trn_ioctl_queue_create, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_QUEUE_DESTROY, trn_ioctl_queue_destroy, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_SUBMIT, trn_ioctl_submit, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_RESET, trn_ioctl_reset, DRM_ROOT_ONLY),
	DRM_IOCTL_DEF_DRV(TRAINIUM_FABRIC_PORT, trn_ioctl_fabric_port, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_FABRIC_CTL, trn_ioctl_fabric_ctl, DRM_ROOT_ONLY),
	DRM_IOCTL_DEF_DRV(TRAINIUM_FABRIC_GROUP, trn_ioctl_fabric_group, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_FABRIC_PEER, trn_ioctl_fabric_peer, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_LIST_CREATE, trn_ioctl_list_create, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_LIST_SUBMIT, trn_ioctl_list_submit, 0),
	DRM_IOCTL_DEF_DRV(TRAINIUM_EVENTS, trn_ioctl_events, 0),
};

/*
 * Version history:
 *  1.0: first: queries, buffers, fenced queues, submit, reset
 *  1.1: events, sensors, holders, busy time of engines, activity of cores
 *  1.2: jobs wait for the fences of shared buffers; HBM shared by peer-to-peer;
 *       buffers near an engine; limits of memory;
 *       strided copies, command lists, priorities, timestamps
 *  1.3: fabric: ports, peer memory, groups; reduce and accumulate
 */
static const struct drm_driver trn_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = trn_file_open,
	.postclose = trn_file_close,
	.show_fdinfo = trn_show_fdinfo,
	.gem_prime_import = trn_gem_prime_import,
	.ioctls = trn_ioctls,
	.num_ioctls = ARRAY_SIZE(trn_ioctls),
	.fops = &trn_fops,
	.name = "trainium",
	.desc = "AWS Trainium",
	.major = TRAINIUM_UAPI_MAJOR,
	.minor = TRAINIUM_UAPI_MINOR,
};

static int trn_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct trn_device *tdev;
	int ret;

	tdev = devm_drm_dev_alloc(&pdev->dev, &trn_drm_driver, struct trn_device, drm);
	if (IS_ERR(tdev))
		return PTR_ERR(tdev);
	tdev->pdev = pdev;
	tdev->hw = (const struct trn_hw *)id->driver_data;
	pci_set_drvdata(pdev, tdev);

	if (pdev->revision == TRN_REVISION_SIMULATOR ||
	    pdev->revision == TRN_REVISION_EMULATOR) {
		drm_err(&tdev->drm, "revision %#x is not silicon and has other registers\n",
			pdev->revision);
		return -ENODEV;
	}

	ret = trn_device_init(tdev, vectors);
	if (ret)
		goto err_device;
	ret = trn_hbm_init(tdev);
	if (ret)
		goto err_device;
	ret = trn_gem_init(tdev);
	if (ret)
		goto err_device;
	ret = trn_queues_init(tdev);
	if (ret)
		goto err_gem;

	ret = trn_fabric_init(tdev);
	if (ret)
		goto err_queues;

	trn_debugfs_init(tdev);
	/* What a slot reset restores */
	pci_save_state(pdev);

	ret = drm_dev_register(&tdev->drm, 0);
	if (ret)
		goto err_queues;

	trn_hwmon_init(tdev);
	trn_telemetry_start(tdev);
	trn_fabric_start(tdev);

	drm_info(&tdev->drm,
		 "%s, routing id %u, serial %016llx, firmware API %u, %u x %llu MiB HBM, %u engines, %u interrupt vectors\n",
		 tdev->hw->name, tdev->routing_id, tdev->serial,
		 tdev->fw_api_version, tdev->hw->num_stacks,
		 tdev->hbm_stack_size >> 20, tdev->hw->num_engines,
		 tdev->num_vectors);
	return 0;

err_queues:
	trn_udma_quiesce(tdev);
	trn_irq_fini(tdev);
	trn_fabric_fini(tdev);
	trn_queues_fini(tdev);
err_gem:
	trn_gem_fini(tdev);
err_device:
	trn_device_fini(tdev);
	return ret;
}

static void trn_pci_remove(struct pci_dev *pdev)
{
	struct trn_device *tdev = pci_get_drvdata(pdev);

	trn_device_unplug(tdev);
	/* An error that is still on its way must not find the queues gone. */
	trn_irq_fini(tdev);
	trn_fabric_fini(tdev);
	trn_queues_fini(tdev);
	trn_gem_fini(tdev);
	trn_device_fini(tdev);
}

static void trn_pci_shutdown(struct pci_dev *pdev)
{
	trn_device_unplug(pci_get_drvdata(pdev));
}

static const struct pci_device_id trn_pci_ids[] = {
	{ PCI_DEVICE(TRN_PCI_VENDOR_ID, TRN_PCI_DEVICE_TRAINIUM1),
	  .driver_data = (kernel_ulong_t)&trn_hw_trainium1 },
	{ PCI_DEVICE(TRN_PCI_VENDOR_ID, TRN_PCI_DEVICE_TRAINIUM2),
	  .driver_data = (kernel_ulong_t)&trn_hw_trainium2 },
	{ PCI_DEVICE(TRN_PCI_VENDOR_ID, TRN_PCI_DEVICE_TRAINIUM3),
	  .driver_data = (kernel_ulong_t)&trn_hw_trainium3 },
	{ PCI_DEVICE(TRN_PCI_VENDOR_ID, TRN_PCI_DEVICE_TRAINIUM3_B),
	  .driver_data = (kernel_ulong_t)&trn_hw_trainium3 },
	{ PCI_DEVICE(TRN_PCI_VENDOR_ID, TRN_PCI_DEVICE_TRAINIUM4),
	  .driver_data = (kernel_ulong_t)&trn_hw_trainium4 },
	{ }
};
MODULE_DEVICE_TABLE(pci, trn_pci_ids);

static struct pci_driver trn_pci_driver = {
	.name = "trainium",
	.id_table = trn_pci_ids,
	.probe = trn_pci_probe,
	.remove = trn_pci_remove,
	.shutdown = trn_pci_shutdown,
	.err_handler = &trn_pci_error_handlers,
	.dev_groups = trn_sysfs_groups,
	.driver = {
		.pm = pm_sleep_ptr(&trn_pm_ops),
		.probe_type = PROBE_PREFER_ASYNCHRONOUS,
	},
};

static int __init trn_init(void)
{
	return pci_register_driver(&trn_pci_driver);
}
module_init(trn_init);

static void __exit trn_exit(void)
{
	pci_unregister_driver(&trn_pci_driver);
	/* Fences and queues are freed by RCU callbacks that are code of this module. */
	rcu_barrier();
}
module_exit(trn_exit);

MODULE_AUTHOR("The authors of the open Trainium stack");
MODULE_DESCRIPTION("AWS Trainium accelerators");
MODULE_LICENSE("GPL");
