/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that may differ by kernel. The driver is written against the
 * newest interfaces; here they are given to kernels that have older ones.
 */
#ifndef TRAINIUM_COMPAT_H
#define TRAINIUM_COMPAT_H

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "trainium_config.h"

/* Without the flag the active bytes are always printed. */
#ifndef TRN_HAVE_GEM_OBJECT_ACTIVE
#define DRM_GEM_OBJECT_ACTIVE	0
#endif

/* The name of a namespace was a bare word before it became a string. */
#ifdef TRN_HAVE_IMPORT_NS_STRING
#define TRN_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define TRN_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

/* Device memory was not always a matter of cgroups, nor had it more than a size. */
#ifdef TRN_HAVE_CGROUP_DMEM
#include <linux/cgroup_dmem.h>
#include <drm/drm_drv.h>
#else
struct drm_device;
struct dmem_cgroup_region;
struct dmem_cgroup_pool_state;
#endif

#ifndef TRN_HAVE_DMEM_INIT
struct dmem_cgroup_init {
	u64 size;
};

static inline struct dmem_cgroup_region *
trn_cgroup_register_region(struct drm_device *drm, const char *name,
			   const struct dmem_cgroup_init *init)
{
#ifdef TRN_HAVE_CGROUP_DMEM
	return drmm_cgroup_register_region(drm, name, init->size);
#else
	return NULL;
#endif
}

#define drmm_cgroup_register_region	trn_cgroup_register_region
#endif

#ifndef TRN_HAVE_CGROUP_DMEM
static inline int dmem_cgroup_try_charge(struct dmem_cgroup_region *region, u64 size,
					 struct dmem_cgroup_pool_state **pool,
					 struct dmem_cgroup_pool_state **limit)
{
	*pool = NULL;
	return 0;
}

static inline void dmem_cgroup_uncharge(struct dmem_cgroup_pool_state *pool, u64 size)
{
}
#endif

/* Taking memory back from importers had the name of the use it was made for. */
#ifndef TRN_HAVE_DMABUF_INVALIDATE
#define invalidate_mappings		move_notify
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#endif

#ifndef TRN_HAVE_VMA_IS_COW_MAPPING
static inline bool vma_is_cow_mapping(const struct vm_area_struct *vma)
{
	return is_cow_mapping(vma->vm_flags);
}
#endif

/* It did not always release what is below the same bridge window itself. */
#ifndef TRN_HAVE_RESIZE_EXCLUDE_BARS
static inline int trn_resize_resource(struct pci_dev *pdev, int bar, int size, int exclude_bars)
{
	int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		if (i == bar || (pdev->bus->self && !(exclude_bars & BIT(i)) &&
				 pci_resource_flags(pdev, i) & IORESOURCE_PREFETCH))
			pci_release_resource(pdev, i);
	return pci_resize_resource(pdev, bar, size);
}

#define pci_resize_resource	trn_resize_resource
#endif

#endif
