/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extension BAR: MSI-X, route table, pending area, model clock. The layout is
 * this project's own: driver/regs/ext.h, Documentation/hardware/extension.rst.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "fault.h"
#include "fabric.h"
#include "fw.h"
#include "trace.h"

#define ROUTE_END TRN_EXT_ROUTE_ENTRY(TRN_EXT_MAX_ENGINES, 0)

static uint32_t ext_features(TrnDevice *d)
{
    return (d->msix_vectors ? TRN_EXT_FEAT_MSIX : 0) | TRN_EXT_FEAT_CLOCK |
           TRN_EXT_FEAT_SENSORS | TRN_EXT_FEAT_TIME | TRN_EXT_FEAT_SEMAPHORE |
           (d->fab ? TRN_EXT_FEAT_FABRIC : 0) |
           (trn_fault_has_window(d) ? TRN_EXT_FEAT_FAULT : 0);
}

static uint32_t ext_register(TrnDevice *d, hwaddr offset)
{
    if (offset >= TRN_EXT_ROUTE && offset < ROUTE_END) {
        return d->route[(offset - TRN_EXT_ROUTE) / 4];
    }
    if (offset >= TRN_EXT_FABRIC) {
        return trn_fab_read(d, offset - TRN_EXT_FABRIC);
    }
    if (offset >= TRN_EXT_SENSOR_COUNT &&
        offset < TRN_EXT_TEMP(TRN_EXT_MAX_TEMPS)) {
        return trn_sensor_read(d, offset);
    }
    switch (offset) {
    case TRN_EXT_MAGIC:
        return TRN_EXT_MAGIC_VALUE;
    case TRN_EXT_VERSION:
        return TRN_EXT_VERSION_MAJOR << 16 | TRN_EXT_VERSION_MINOR;
    case TRN_EXT_FEATURES:
        return ext_features(d);
    case TRN_EXT_SHAPE:
        return d->gen->num_engines | d->gen->num_stacks << 16 |
               d->gen->num_cores << 24;
    case TRN_EXT_HBM_SIZE_LO:
        return (uint32_t)d->stack_size;
    case TRN_EXT_HBM_SIZE_HI:
        return d->stack_size >> 32;
    case TRN_EXT_NUM_VECTORS:
        return d->msix_vectors;
    case TRN_EXT_PENDING_LO:
        return (uint32_t)d->pending_addr;
    case TRN_EXT_PENDING_HI:
        return d->pending_addr >> 32;
    case TRN_EXT_CLOCK_LO:
        d->clock_hi_latch = d->clock_ns >> 32;
        return (uint32_t)d->clock_ns;
    case TRN_EXT_CLOCK_HI:
        return d->clock_hi_latch;
    default:
        return 0;
    }
}

static uint64_t ext_read(void *opaque, hwaddr offset, unsigned size)
{
    TrnDevice *d = opaque;
    uint32_t value;

    if (d->gone) {
        return UINT32_MAX;
    }
    value = ext_register(d, offset);
    return likely(!d->hostile) ? value : trn_hostile_value(d, value);
}

static void ext_write(void *opaque, hwaddr offset, uint64_t value,
                      unsigned size)
{
    TrnDevice *d = opaque;

    if (d->gone) {
        return;
    }
    if (offset >= TRN_EXT_ROUTE && offset < ROUTE_END) {
        d->route[(offset - TRN_EXT_ROUTE) / 4] = value;
        return;
    }
    if (offset >= TRN_EXT_FABRIC) {
        trn_fab_write(d, offset - TRN_EXT_FABRIC, value);
        return;
    }
    switch (offset) {
    case TRN_EXT_PENDING_LO:
        d->pending_lo_latch = value;
        break;
    case TRN_EXT_PENDING_HI:
        /* Aligned, so that no word of it crosses a page */
        d->pending_addr = (value << 32 | d->pending_lo_latch) &
                          ~(uint64_t)(TRN_EXT_PENDING_STRIDE - 1);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "trainium %u: write to BAR2 offset 0x%"
                      HWADDR_PRIx "\n", d->routing_id, offset);
    }
}

static const MemoryRegionOps ext_ops = {
    .read = ext_read,
    .write = ext_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static bool ext_pending_or(TrnDevice *d, uint64_t addr, uint32_t bits)
{
    TrnTarget t;

    if (!trn_axi_resolve(d, addr, &t) || t.len < 4) {
        return false;
    }
    switch (t.kind) {
    case TRN_TARGET_HOST:
        return trn_host_or32(d, t.addr, bits);
    case TRN_TARGET_RAM:
        qatomic_or((uint32_t *)t.ptr, cpu_to_le32(bits));
        return true;
    default:
        return false;
    }
}

void trn_ext_event(TrnDevice *d, unsigned engine, unsigned slot)
{
    uint32_t vector;
    bool sent = false;

    if (!d->ext || d->gone) {
        return;
    }
    if (unlikely(d->hostile)) {
        trn_hostile_event(d, &engine, &slot);
    }
    vector = d->route[engine * TRN_EXT_ROUTE_SLOTS + slot];
    if (vector == TRN_EXT_ROUTE_NONE) {
        return;
    }
    if (vector >= d->msix_vectors) {
        vector = 0;
    }
    if (d->pending_addr) {
        uint64_t area = d->pending_addr + vector * TRN_EXT_PENDING_STRIDE;

        ext_pending_or(d, area + TRN_EXT_PENDING_ENGINE(engine), 1u << slot);
        ext_pending_or(d, area + TRN_EXT_PENDING_SUMMARY + engine / 32 * 4,
                       1u << (engine % 32));
    }
    if (d->msix_vectors && msix_enabled(PCI_DEVICE(d)) &&
        !trn_fault_irq_lost(d)) {
        msix_notify(PCI_DEVICE(d), vector);
        sent = true;
    }
    trace_trn_irq(d->routing_id, engine, slot, vector, sent);
}

bool trn_ext_init(TrnDevice *d, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(d);

    QEMU_BUILD_BUG_ON(ROUTE_END > TRN_EXT_MSIX_TABLE);

    if (!d->ext) {
        d->msix_vectors = 0;
        return true;
    }
    if (d->msix_vectors > TRN_EXT_MAX_VECTORS) {
        error_setg(errp, "msix-vectors is at most %u", TRN_EXT_MAX_VECTORS);
        return false;
    }
    memory_region_init_io(&d->bar2, OBJECT(d), &ext_ops, d, "trainium-ext",
                          TRN_EXT_SIZE);
    pci_register_bar(pdev, TRN_BAR_EXT, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &d->bar2);
    if (d->msix_vectors) {
        unsigned i;

        if (msix_init(pdev, d->msix_vectors, &d->bar2, TRN_BAR_EXT,
                      TRN_EXT_MSIX_TABLE, &d->bar2, TRN_BAR_EXT,
                      TRN_EXT_MSIX_PBA, 0, errp) < 0) {
            return false;
        }
        for (i = 0; i < d->msix_vectors; i++) {
            msix_vector_use(pdev, i);
        }
    }
    return true;
}

void trn_ext_exit(TrnDevice *d)
{
    if (d->ext && msix_present(PCI_DEVICE(d))) {
        msix_unuse_all_vectors(PCI_DEVICE(d));
        msix_uninit(PCI_DEVICE(d), &d->bar2, &d->bar2);
    }
}

void trn_ext_reset(TrnDevice *d)
{
    memset(d->route, 0, sizeof(d->route));
    d->pending_addr = 0;
    d->pending_lo_latch = 0;
    d->clock_hi_latch = 0;
}
