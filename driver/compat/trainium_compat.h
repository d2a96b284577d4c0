/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that may differ by kernel. The driver is written against the
 * newest interfaces; here they are given to kernels that have older ones.
 */
#ifndef TRAINIUM_COMPAT_H
#define TRAINIUM_COMPAT_H

#include <linux/mm.h>
#include <linux/module.h>

#include "trainium_config.h"

/* The name of a namespace was a bare word before it became a string. */
#ifdef TRN_HAVE_IMPORT_NS_STRING
#define TRN_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define TRN_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
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

#endif
