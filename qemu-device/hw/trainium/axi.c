/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chip's address decoder. There is one: BAR0 accesses are turned into AXI
 * addresses and take the same way as DMA.
 *
 * Bits 63:53 of an address are no part of the map; bit 52 leads to a
 * neighbour, bit 46 to the host, bit 47 to die 1. Below, a die is cut into
 * pieces of 2^38 (two engine groups, then the IO die) and an engine group
 * into four pieces of 2^36: HBM, APB and PREPROC, and two NeuronCores.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "fault.h"
#include "trace.h"

#define SE_SHIFT 38
#define PIECE_SHIFT 36

static const TrnBlock sdma_block = { "sdma", trn_sdma_read, trn_sdma_write };
static const TrnBlock fis_block = { "fis", trn_fis_read, trn_fis_write };
static const TrnBlock notific_block = {
    "notific", trn_notific_read, trn_notific_write
};
const TrnBlock trn_sync_block = { "sync", trn_sync_read, trn_sync_write };
static const TrnBlock pe_block = { "pe", trn_pe_read, trn_pe_write };
const TrnBlock trn_fw_block = { "misc", trn_fw_read, trn_fw_write };

static bool target_reg(TrnTarget *t, const TrnBlock *block, unsigned index,
                       uint32_t offset, uint32_t size)
{
    t->kind = TRN_TARGET_REG;
    t->block = block;
    t->index = index;
    t->addr = offset;
    t->len = size - offset;
    return true;
}

/* @offset is inside of part @n of the store, @size bytes each */
static bool target_store(TrnTarget *t, TrnStore *st, unsigned n, uint64_t size,
                         uint64_t offset)
{
    if (offset >= size) {
        return false;
    }
    t->kind = TRN_TARGET_RAM;
    t->store = st;
    t->ptr = st->ptr + n * size + offset;
    t->addr = offset;
    t->len = size - offset;
    return true;
}

/* @offset is relative to the engine's block */
static bool resolve_engine(TrnTarget *t, unsigned engine, uint32_t offset)
{
    if (offset < TRN_ENGINE_UDMA_SIZE) {
        return target_reg(t, &trn_udma_block, engine, offset,
                          TRN_ENGINE_UDMA_SIZE);
    }
    if (offset < TRN_ENGINE_NOTIFIC) {
        return target_reg(t, &sdma_block, engine, offset - TRN_ENGINE_SDMA,
                          TRN_ENGINE_NOTIFIC - TRN_ENGINE_SDMA);
    }
    if (offset < TRN_ENGINE_SIZE) {
        return target_reg(t, &notific_block, TRN_NOTIFIC_ENGINE + engine,
                          offset - TRN_ENGINE_NOTIFIC, TRN_NOTIFIC_SIZE);
    }
    return false;
}

static bool resolve_se_apb(TrnTarget *t, unsigned se, uint64_t offset)
{
    uint64_t engine0 = TRN2_SE_ENGINE(se, 0);
    uint64_t engine_pitch = TRN2_SE_ENGINE(se, 1) - engine0;
    uint64_t fis0 = TRN2_SE_FIS(se, 0);
    unsigned n;

    if (offset >= fis0) {
        n = (offset - fis0) / TRN_FIS_SIZE;
        return n < TRN2_ENGINES_PER_SE &&
               target_reg(t, &fis_block, se * TRN2_ENGINES_PER_SE + n,
                          (offset - fis0) % TRN_FIS_SIZE, TRN_FIS_SIZE);
    }
    if (offset >= engine0) {
        n = (offset - engine0) / engine_pitch;
        return n < TRN2_ENGINES_PER_SE &&
               resolve_engine(t, se * TRN2_ENGINES_PER_SE + n,
                              (offset - engine0) % engine_pitch);
    }
    return false;
}

static bool resolve_io_apb(TrnTarget *t, unsigned die, uint64_t offset)
{
    unsigned cores = TRN2_NUM_CORES / TRN2_NUM_DIES;
    unsigned i;

    if (offset >= TRN2_IO_UDMA_D2H &&
        offset < TRN2_IO_UDMA_D2H + TRN_ENGINE_SIZE) {
        return resolve_engine(t, TRN2_ENGINE_D2H(die),
                              offset - TRN2_IO_UDMA_D2H);
    }
    if (offset >= TRN2_IO_UDMA_H2D &&
        offset < TRN2_IO_UDMA_H2D + TRN_ENGINE_SIZE) {
        return resolve_engine(t, TRN2_ENGINE_H2D(die),
                              offset - TRN2_IO_UDMA_H2D);
    }
    if (!die && offset >= TRN2_IO_MISC_RAM &&
        offset < TRN2_IO_MISC_RAM + TRN_MISC_SIZE) {
        return target_reg(t, &trn_fw_block, 0, offset - TRN2_IO_MISC_RAM,
                          TRN_MISC_SIZE);
    }
    for (i = 0; i < cores; i++) {
        uint64_t pe_size = TRN2_PE_ROW_GROUPS * TRN2_PE_ROW_STRIDE;

        if (offset >= TRN2_IO_TPB_NOTIFIC(i) &&
            offset < TRN2_IO_TPB_NOTIFIC(i) + TRN_NOTIFIC_SIZE) {
            return target_reg(t, &notific_block, die * cores + i,
                              offset - TRN2_IO_TPB_NOTIFIC(i),
                              TRN_NOTIFIC_SIZE);
        }
        if (offset >= TRN2_IO_PE_COUNTERS(i) &&
            offset < TRN2_IO_PE_COUNTERS(i) + pe_size) {
            return target_reg(t, &pe_block, die * cores + i,
                              offset - TRN2_IO_PE_COUNTERS(i), pe_size);
        }
    }
    for (i = 0; i < TRN2_NUM_TOP_SP_USED / TRN2_NUM_DIES; i++) {
        if (offset >= TRN2_IO_TOP_SP_NOTIFIC(i) &&
            offset < TRN2_IO_TOP_SP_NOTIFIC(i) + TRN_NOTIFIC_SIZE) {
            return target_reg(t, &notific_block,
                              TRN_MAX_CORES +
                              die * (TRN2_NUM_TOP_SP / TRN2_NUM_DIES) + i,
                              offset - TRN2_IO_TOP_SP_NOTIFIC(i),
                              TRN_NOTIFIC_SIZE);
        }
    }
    return false;
}

static bool resolve_io_die(TrnTarget *t, unsigned die, uint64_t offset)
{
    const uint64_t sp0 = TRN2_AXI_TOP_SP(0) - TRN2_AXI_IO_APB(0);
    const uint64_t sp_pitch = TRN2_AXI_TOP_SP(1) - TRN2_AXI_TOP_SP(0);
    unsigned per_die = TRN2_NUM_TOP_SP / TRN2_NUM_DIES;
    uint64_t n;

    if (offset < TRN2_IO_APB_SIZE) {
        return resolve_io_apb(t, die, offset);
    }
    if (offset < sp0) {
        return false;
    }
    n = (offset - sp0) / sp_pitch;
    offset = (offset - sp0) % sp_pitch;
    return n < per_die && offset < TRN_TOP_SP_SYNC + TRN_SYNC_SIZE &&
           target_reg(t, &trn_sync_block, TRN_MAX_CORES + die * per_die + n,
                      offset - TRN_TOP_SP_SYNC, TRN_SYNC_SIZE);
}

static bool resolve_tpb(TrnDevice *d, TrnTarget *t, unsigned core,
                        uint64_t offset)
{
    if (offset < TRN_TPB_SBUF_SIZE) {
        return target_store(t, &d->sbuf, core, TRN_TPB_SBUF_SIZE, offset);
    }
    return offset >= TRN_TPB_SYNC && offset < TRN_TPB_SYNC + TRN_SYNC_SIZE &&
           target_reg(t, &trn_sync_block, core, offset - TRN_TPB_SYNC,
                      TRN_SYNC_SIZE);
}

bool trn_axi_resolve(TrnDevice *d, uint64_t addr, TrnTarget *t)
{
    unsigned die, se;
    uint64_t offset;

    *t = (TrnTarget) { .dev = d, .stack = -1 };

    if (addr >> 48) {
        if (addr >> 53 || !(addr & TRN2_AXI_NEIGHBOUR)) {
            return false;
        }
        addr &= TRN2_AXI_NEIGHBOUR - 1;
        t->kind = TRN_TARGET_NEIGHBOUR;
        t->index = addr / TRN2_AXI_NEIGHBOUR_STRIDE;
        t->addr = addr % TRN2_AXI_NEIGHBOUR_STRIDE;
        t->len = TRN2_AXI_NEIGHBOUR_STRIDE - t->addr;
        return true;
    }
    if (addr & TRN2_AXI_HOST) {
        /* Host addresses have 46 bits: bit 47 would be one more. */
        if (addr & TRN2_AXI_DIE1) {
            return false;
        }
        t->kind = TRN_TARGET_HOST;
        t->addr = addr - TRN2_AXI_HOST;
        t->len = TRN2_AXI_HOST_SIZE - t->addr;
        return true;
    }

    die = !!(addr & TRN2_AXI_DIE1);
    offset = addr & (TRN2_AXI_DIE1 - 1);
    if (offset >> SE_SHIFT == 2) {
        return resolve_io_die(t, die, offset & MAKE_64BIT_MASK(0, SE_SHIFT));
    }
    if (offset >> SE_SHIFT > 2) {
        return false;
    }
    se = die * 2 + (offset >> SE_SHIFT);
    offset &= MAKE_64BIT_MASK(0, SE_SHIFT);
    switch (offset >> PIECE_SHIFT) {
    case 0:
        t->stack = se;
        return target_store(t, &d->hbm[se], 0, d->stack_size, offset);
    case 1:
        if (addr >= TRN2_AXI_PREPROC(se)) {
            return target_store(t, &d->preproc, se, TRN2_PREPROC_SIZE,
                                addr - TRN2_AXI_PREPROC(se));
        }
        return resolve_se_apb(t, se, addr - TRN2_AXI_SE_APB(se));
    default:
        return resolve_tpb(d, t, se * 2 + ((offset >> PIECE_SHIFT) & 1),
                           offset & MAKE_64BIT_MASK(0, PIECE_SHIFT));
    }
}

bool trn_axi_read(TrnDevice *d, uint64_t addr, void *buf, uint64_t len)
{
    while (len) {
        uint64_t n, i;
        TrnTarget t;

        if (!trn_axi_resolve(d, addr, &t)) {
            return false;
        }
        n = MIN(len, t.len);
        switch (t.kind) {
        case TRN_TARGET_RAM:
            memcpy(buf, t.ptr, n);
            break;
        case TRN_TARGET_HOST:
            if (!trn_host_read(d, t.addr, buf, n)) {
                return false;
            }
            break;
        case TRN_TARGET_REG:
            if ((t.addr | n) & 3) {
                return false;
            }
            for (i = 0; i < n; i += 4) {
                stl_le_p(buf + i, t.block->read(d, t.index, t.addr + i));
            }
            break;
        default:
            return false;
        }
        addr += n;
        buf += n;
        len -= n;
    }
    return true;
}

bool trn_axi_write(TrnDevice *d, uint64_t addr, const void *buf, uint64_t len)
{
    while (len) {
        uint64_t n;
        TrnTarget t;

        if (!trn_axi_resolve(d, addr, &t)) {
            return false;
        }
        n = MIN(len, t.len);
        switch (t.kind) {
        case TRN_TARGET_RAM:
            if (t.store) {
                trn_store_write(t.store, t.ptr, buf, n);
            } else {
                memcpy(t.ptr, buf, n);
            }
            break;
        case TRN_TARGET_HOST:
            if (!trn_host_write(d, t.addr, buf, n)) {
                return false;
            }
            break;
        default:
            return false;
        }
        addr += n;
        buf += n;
        len -= n;
    }
    return true;
}

/* AXI address behind a BAR0 offset; false in the gaps between the windows */
static bool bar0_to_axi(uint64_t offset, uint64_t *axi)
{
    unsigned i;

    if (offset >= TRN2_BAR0_SE_APB(0) &&
        offset < TRN2_BAR0_SE_APB(TRN2_NUM_SE)) {
        i = (offset - TRN2_BAR0_SE_APB(0)) / TRN2_SE_APB_SIZE;
        *axi = TRN2_AXI_SE_APB(i) + offset - TRN2_BAR0_SE_APB(i);
        return true;
    }
    if (offset < TRN2_BAR0_SE_APB(0)) {
        i = offset >= TRN2_BAR0_IO_APB(1);
        *axi = TRN2_AXI_IO_APB(i) + offset - TRN2_BAR0_IO_APB(i);
        return offset - TRN2_BAR0_IO_APB(i) < TRN2_IO_APB_SIZE;
    }
    if (offset >= TRN2_BAR0_TPB(0) && offset < TRN2_BAR0_TPB(TRN2_NUM_CORES)) {
        i = (offset - TRN2_BAR0_TPB(0)) / TRN2_BAR0_TPB_SIZE;
        *axi = TRN2_AXI_TPB(i) + offset - TRN2_BAR0_TPB(i);
        return true;
    }
    for (i = 0; i < TRN2_NUM_TOP_SP_USED; i += 8) {
        uint64_t in = offset - TRN2_BAR0_TOP_SP(i);

        if (in < 8 * TRN2_TOP_SP_SIZE) {
            /* software's second eight are the chip's TOP_SP10..17 */
            unsigned n = (i ? TRN2_NUM_TOP_SP / TRN2_NUM_DIES : 0) +
                         in / TRN2_TOP_SP_SIZE;

            *axi = TRN2_AXI_TOP_SP(n) + in % TRN2_TOP_SP_SIZE;
            return true;
        }
    }
    return false;
}

static bool bar0_resolve(TrnDevice *d, hwaddr offset, TrnTarget *t)
{
    uint64_t axi;

    return bar0_to_axi(offset, &axi) && trn_axi_resolve(d, axi, t) &&
           t->kind == TRN_TARGET_REG;
}

static void bar0_unmapped(TrnDevice *d, hwaddr offset, bool write)
{
    trace_trn_bar0_unmapped(d->routing_id, offset, write);
    qemu_log_mask(LOG_GUEST_ERROR, "trainium %u: %s at BAR0 offset 0x%"
                  HWADDR_PRIx ", where nothing is\n", d->routing_id,
                  write ? "write" : "read", offset);
}

static uint64_t bar0_read(void *opaque, hwaddr offset, unsigned size)
{
    TrnDevice *d = opaque;
    uint32_t value = 0;
    TrnTarget t;

    if (unlikely(d->gone)) {
        return UINT32_MAX;
    }
    if (bar0_resolve(d, offset, &t)) {
        if (likely(!d->fault_window) || !trn_fault_window(d, &t, &value)) {
            value = t.block->read(d, t.index, t.addr);
        }
    } else {
        bar0_unmapped(d, offset, false);
    }
    trace_trn_bar0_read(d->routing_id, offset, value);
    return value;
}

static void bar0_write(void *opaque, hwaddr offset, uint64_t value,
                       unsigned size)
{
    TrnDevice *d = opaque;
    uint32_t unused;
    TrnTarget t;

    trace_trn_bar0_write(d->routing_id, offset, value);
    if (unlikely(d->gone)) {
        return;
    }
    if (bar0_resolve(d, offset, &t)) {
        if (likely(!d->fault_window) || !trn_fault_window(d, &t, &unused)) {
            t.block->write(d, t.index, t.addr, value);
        }
    } else {
        bar0_unmapped(d, offset, true);
    }
}

static const MemoryRegionOps bar0_ops = {
    .read = bar0_read,
    .write = bar0_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

bool trn_axi_init_bars(TrnDevice *d, Error **errp)
{
    uint64_t pitch = d->bar4_size / d->gen->num_stacks;
    Object *owner = OBJECT(d);
    unsigned i;

    memory_region_init_io(&d->bar0, owner, &bar0_ops, d, "trainium-regs",
                          TRN2_BAR0_SIZE);
    for (i = 0; i < d->gen->num_cores; i++) {
        g_autofree char *name = g_strdup_printf("trainium-sbuf%u", i);

        memory_region_init_ram_ptr(&d->core[i].sbuf, owner, name,
                                   TRN_TPB_SBUF_SIZE,
                                   d->sbuf.ptr + i * TRN_TPB_SBUF_SIZE);
        memory_region_add_subregion(&d->bar0,
                                    TRN2_BAR0_TPB(i) + TRN_TPB_SBUF,
                                    &d->core[i].sbuf);
    }

    memory_region_init(&d->bar4, owner, "trainium-hbm", d->bar4_size);
    for (i = 0; i < d->gen->num_stacks; i++) {
        g_autofree char *name = g_strdup_printf("trainium-hbm%u", i);

        /* By pointer: not among the blocks that migrate page by page. */
        memory_region_init_ram_ptr(&d->hbm_window[i], owner, name,
                                   MIN(pitch, d->stack_size), d->hbm[i].ptr);
        memory_region_add_subregion(&d->bar4, i * pitch, &d->hbm_window[i]);
    }

    pci_register_bar(PCI_DEVICE(d), TRN_BAR_REGS,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &d->bar0);
    if (d->bar4_present) {
        pci_register_bar(PCI_DEVICE(d), TRN_BAR_HBM,
                         PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64 |
                         PCI_BASE_ADDRESS_MEM_PREFETCH, &d->bar4);
    }
    return true;
}

/* A region inside another one holds its owner, which would stay for ever. */
void trn_axi_exit_bars(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < d->gen->num_cores; i++) {
        if (d->core[i].sbuf.container) {
            memory_region_del_subregion(&d->bar0, &d->core[i].sbuf);
        }
    }
    for (i = 0; i < d->gen->num_stacks; i++) {
        if (d->hbm_window[i].container) {
            memory_region_del_subregion(&d->bar4, &d->hbm_window[i]);
        }
    }
}
