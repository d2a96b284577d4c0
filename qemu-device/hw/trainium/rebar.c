/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BAR4, the window to HBM: an equal part of each stack, from its start. On
 * generations whose stacks are larger than that at reset, software chooses its
 * size with the Resizable BAR capability, as long as memory decoding is off.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/range.h"
#include "hw/pci/pcie.h"
#include "fault.h"

#define REBAR_OFFSET 0x150
#define REBAR_SIZEOF 12
#define REBAR_SIZE_MASK 0x3f00u
#define REBAR_CAP_SHIFT 4

/* The capability has sizes as powers of two of 1 MiB. */
static unsigned size_code(uint64_t size)
{
    return ctz64(size) - 20;
}

static uint64_t bar4_max(TrnDevice *d)
{
    uint64_t all = d->gen->num_stacks * pow2ceil(d->stack_size);

    return MAX(d->bar4_size, MIN(all, d->gen->bar4_max));
}

static bool resizable(TrnDevice *d)
{
    return d->gen->bar4_resizable && d->bar4_present;
}

static void bar4_layout(TrnDevice *d, uint64_t size)
{
    uint64_t pitch = size / d->gen->num_stacks;
    unsigned i;

    memory_region_transaction_begin();
    memory_region_set_size(&d->bar4, size);
    for (i = 0; i < d->gen->num_stacks; i++) {
        memory_region_set_size(&d->hbm_window[i], MIN(pitch, d->stack_size));
        memory_region_set_address(&d->hbm_window[i], i * pitch);
    }
    trn_fault_windows_moved(d);
    memory_region_transaction_commit();
}

void trn_rebar_init_window(TrnDevice *d)
{
    uint64_t pitch = d->bar4_size / d->gen->num_stacks;
    Object *owner = OBJECT(d);
    unsigned i;

    memory_region_init(&d->bar4, owner, "trainium-bar4", d->bar4_size);
    /* By pointer: not among the blocks that migrate page by page. */
    memory_region_init_ram_ptr(&d->hbm_ram, owner, "trainium-hbm", d->hbm_size,
                               d->hbm_range);
    for (i = 0; i < d->gen->num_stacks; i++) {
        memory_region_init_alias(&d->hbm_window[i], owner,
                                 "trainium-hbm-window", &d->hbm_ram,
                                 i * d->stack_size,
                                 MIN(pitch, d->stack_size));
        memory_region_add_subregion(&d->bar4, i * pitch, &d->hbm_window[i]);
    }
}

void trn_rebar_exit_window(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < d->gen->num_stacks; i++) {
        if (d->hbm_window[i].container) {
            memory_region_del_subregion(&d->bar4, &d->hbm_window[i]);
        }
    }
}

static void set_size(TrnDevice *d, uint64_t size)
{
    PCIDevice *pdev = PCI_DEVICE(d);
    uint8_t *bar = pdev->config + pci_bar(pdev, TRN_BAR_HBM);
    uint8_t *mask = pdev->wmask + pci_bar(pdev, TRN_BAR_HBM);
    uint8_t *ctrl = pdev->config + REBAR_OFFSET + PCI_REBAR_CTRL;
    uint64_t flags = pci_get_quad(bar) & ~PCI_BASE_ADDRESS_MEM_MASK;

    bar4_layout(d, size);
    pdev->io_regions[TRN_BAR_HBM].size = size;
    pci_set_quad(mask, ~(size - 1));
    pci_set_quad(bar, (pci_get_quad(bar) & ~(size - 1)) | flags);
    pci_set_long(ctrl, (pci_get_long(ctrl) & ~REBAR_SIZE_MASK) |
                       size_code(size) << PCI_REBAR_CTRL_BAR_SHIFT);
}

void trn_rebar_init(TrnDevice *d)
{
    PCIDevice *pdev = PCI_DEVICE(d);
    uint8_t *cap = pdev->config + REBAR_OFFSET;
    uint64_t size;
    uint32_t sizes = 0;

    if (!resizable(d)) {
        return;
    }
    for (size = MIN(d->bar4_size, TRN4_BAR4_MIN); size <= bar4_max(d);
         size *= 2) {
        sizes |= 1u << (size_code(size) + REBAR_CAP_SHIFT);
    }
    pcie_add_capability(pdev, PCI_EXT_CAP_ID_REBAR, 1, REBAR_OFFSET,
                        REBAR_SIZEOF);
    pci_set_long(cap + PCI_REBAR_CAP, sizes);
    pci_set_long(cap + PCI_REBAR_CTRL,
                 TRN_BAR_HBM | 1 << PCI_REBAR_CTRL_NBAR_SHIFT |
                 size_code(d->bar4_size) << PCI_REBAR_CTRL_BAR_SHIFT);
    pci_set_long(pdev->wmask + REBAR_OFFSET + PCI_REBAR_CTRL, REBAR_SIZE_MASK);
    /* What is writable in the stream may not be here before the load. */
    pci_set_quad(pdev->cmask + pci_bar(pdev, TRN_BAR_HBM), 0xf);
}

/* The size that software asks for; 0 when there is no such one */
static uint64_t wanted_size(TrnDevice *d)
{
    const uint8_t *cap = PCI_DEVICE(d)->config + REBAR_OFFSET;
    unsigned code = (pci_get_long(cap + PCI_REBAR_CTRL) & REBAR_SIZE_MASK) >>
                    PCI_REBAR_CTRL_BAR_SHIFT;

    if (code + REBAR_CAP_SHIFT > 31 ||
        !(pci_get_long(cap + PCI_REBAR_CAP) & 1u << (code + REBAR_CAP_SHIFT))) {
        return 0;
    }
    return 1ull << (code + 20);
}

void trn_rebar_write_config(TrnDevice *d, uint32_t addr, int len)
{
    PCIDevice *pdev = PCI_DEVICE(d);
    uint64_t now, size;

    if (!resizable(d) ||
        !ranges_overlap(addr, len, REBAR_OFFSET + PCI_REBAR_CTRL, 4)) {
        return;
    }
    now = pdev->io_regions[TRN_BAR_HBM].size;
    size = wanted_size(d);
    if (!size ||
        pci_get_word(pdev->config + PCI_COMMAND) & PCI_COMMAND_MEMORY) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium %u: size of BAR4 cannot be "
                      "changed to that, or now\n", d->routing_id);
        size = now;
    }
    set_size(d, size);
}

void trn_rebar_reset(TrnDevice *d)
{
    if (resizable(d)) {
        set_size(d, d->bar4_size);
    }
}

bool trn_rebar_post_load(TrnDevice *d)
{
    uint64_t size;

    if (!resizable(d)) {
        return true;
    }
    size = wanted_size(d);
    if (size) {
        set_size(d, size);
    }
    return size;
}
