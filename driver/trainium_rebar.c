// SPDX-License-Identifier: GPL-2.0-only
/*
 * BAR4 shows a part of HBM; where the chip lets it grow and the host has room
 * for it, all. What it does not show is used all the same, only not mapped.
 */
#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/pci.h>

#include <drm/drm_print.h>

#include "regs/pci.h"
#include "trainium_compat.h"
#include "trainium_device.h"

static bool resize = true;
module_param(resize, bool, 0444);
MODULE_PARM_DESC(resize, "Let BAR4 show all of HBM where the host has room for it (default: yes)");

/* Chips of a host are probed at the same time and share its address space. */
static DEFINE_MUTEX(trn_rebar_lock);

/* Gives BAR4 a size and a place; BARs below the same bridge window may move. */
static int trn_rebar_set(struct pci_dev *pdev, int size)
{
	int ret;

	ret = pci_resize_resource(pdev, TRN_BAR_HBM, size, 0);
	pci_assign_unassigned_bus_resources(pdev->bus);
	if (ret)
		return ret;
	return pci_resource_flags(pdev, TRN_BAR_HBM) & IORESOURCE_UNSET ? -ENOSPC : 0;
}

/**
 * trn_rebar - let BAR4 show as much of HBM as it can
 * @tdev: device, not yet enabled
 *
 * One attempt, at all of it: a chip that does not get it stays as it was.
 */
void trn_rebar(struct trn_device *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	u32 sizes = pci_rebar_get_possible_sizes(pdev, TRN_BAR_HBM);
	u64 len = pci_resource_len(pdev, TRN_BAR_HBM);
	int now, most, ret;
	u16 command;

	if (!resize || !sizes || !len)
		return;
	now = pci_rebar_bytes_to_size(len);
	most = __fls(sizes);
	if (most <= now)
		return;

	mutex_lock(&trn_rebar_lock);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	pci_write_config_word(pdev, PCI_COMMAND, command & ~PCI_COMMAND_MEMORY);
	ret = trn_rebar_set(pdev, most);
	if (ret && trn_rebar_set(pdev, now))
		drm_warn(&tdev->drm, "BAR%d has lost its place\n", TRN_BAR_HBM);
	pci_write_config_word(pdev, PCI_COMMAND, command);
	mutex_unlock(&trn_rebar_lock);

	if (ret)
		drm_info(&tdev->drm, "no room to show all of HBM (error %d): %llu MiB of %llu MiB\n",
			 ret, len >> 20, 1ull << most);
}
