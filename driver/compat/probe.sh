#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints a header that tells which interfaces a kernel has. They come and go
# inside one stable series and in distribution kernels, so the version number
# says little; the declaration itself is looked for instead.
#
# The only argument is the kernel's include directory.

set -eu
include=$1

if [ ! -f "$include/drm/drm_device.h" ]; then
	echo "no kernel headers with DRM in $include" >&2
	exit 1
fi

# has NAME HEADER REGEX: defines TRN_HAVE_NAME if the header matches.
has() {
	if [ -f "$include/$2" ] && grep -Eq -- "$3" "$include/$2"; then
		echo "#define TRN_HAVE_$1 1"
	fi
}

echo "/* What this kernel offers; generated at build time. */"
has GEM_OBJECT_ACTIVE drm/drm_gem.h 'DRM_GEM_OBJECT_ACTIVE'
has IMPORT_NS_STRING linux/module.h \
	'MODULE_IMPORT_NS\(ns\)[[:space:]]+MODULE_INFO\(import_ns, ns\)'
has CGROUP_DMEM drm/drm_drv.h 'drmm_cgroup_register_region\('
has DMEM_INIT linux/cgroup_dmem.h 'struct dmem_cgroup_init \{'
has DMABUF_INVALIDATE linux/dma-buf.h '\(\*invalidate_mappings\)'
has RESIZE_EXCLUDE_BARS linux/pci.h 'int exclude_bars\);'
has VMA_IS_COW_MAPPING linux/mm.h 'vma_is_cow_mapping\('
