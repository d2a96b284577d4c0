/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chip's address decoder. There is one: BAR0 accesses are turned into AXI
 * addresses and take the same way as DMA. What is where is the generation's
 * (generation.c); neighbours, the host and HBM are looked for first.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "fault.h"
#include "trace.h"

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

static const TrnPlace *place_find(TrnDevice *d, uint64_t addr)
{
    unsigned low = 0, high = d->num_places;

    if (addr - d->place_hit->base < d->place_hit->size) {
        return d->place_hit;
    }
    while (low < high) {
        unsigned mid = (low + high) / 2;
        const TrnPlace *p = &d->place[mid];

        if (addr - p->base < p->size) {
            d->place_hit = p;
            return p;
        }
        if (addr < p->base) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return NULL;
}

static bool resolve_place(TrnDevice *d, TrnTarget *t, const TrnPlace *p,
                          uint64_t offset)
{
    switch (p->kind) {
    case TRN_PLACE_PREPROC:
        return target_store(t, &d->preproc, p->index, p->size, offset);
    case TRN_PLACE_SBUF:
        return target_store(t, &d->sbuf, p->index, p->size, offset);
    case TRN_PLACE_CORE_SYNC:
        return target_reg(t, &trn_sync_block, p->index, offset, p->size);
    case TRN_PLACE_TOP_SP_SYNC:
        return target_reg(t, &trn_sync_block, TRN_MAX_CORES + p->index, offset,
                          p->size);
    case TRN_PLACE_UDMA:
        return target_reg(t, &trn_udma_block, p->index, offset, p->size);
    case TRN_PLACE_SDMA:
        if (offset < TRN_SDMA_NOTIFIC) {
            return target_reg(t, &sdma_block, p->index, offset,
                              TRN_SDMA_NOTIFIC);
        }
        return target_reg(t, &notific_block, TRN_NOTIFIC_ENGINE + p->index,
                          offset - TRN_SDMA_NOTIFIC, TRN_NOTIFIC_SIZE);
    case TRN_PLACE_FIS:
        return target_reg(t, &fis_block, p->index, offset, p->size);
    case TRN_PLACE_CORE_NOTIFIC:
        return target_reg(t, &notific_block, p->index, offset, p->size);
    case TRN_PLACE_TOP_SP_NOTIFIC:
        return target_reg(t, &notific_block, TRN_MAX_CORES + p->index, offset,
                          p->size);
    case TRN_PLACE_PE:
        return target_reg(t, &pe_block, p->index, offset, p->size);
    case TRN_PLACE_MISC:
        return target_reg(t, &trn_fw_block, p->index, offset, p->size);
    default:
        return false;
    }
}

/* Bits 63:53 are no part of the map, bit 52 leads over link 51:50. */
static bool resolve_neighbour(TrnDevice *d, TrnTarget *t, uint64_t addr)
{
    if (!d->gen->num_neighbours || addr >> 53 ||
        !(addr & TRN2_AXI_NEIGHBOUR)) {
        return false;
    }
    addr &= TRN2_AXI_NEIGHBOUR - 1;
    t->kind = TRN_TARGET_NEIGHBOUR;
    t->index = addr / TRN2_AXI_NEIGHBOUR_STRIDE;
    t->addr = addr % TRN2_AXI_NEIGHBOUR_STRIDE;
    t->len = TRN2_AXI_NEIGHBOUR_STRIDE - t->addr;
    return true;
}

bool trn_axi_resolve(TrnDevice *d, uint64_t addr, TrnTarget *t)
{
    const TrnGeneration *g = d->gen;
    const TrnPlace *p;
    unsigned i;

    *t = (TrnTarget) { .dev = d, .stack = -1 };

    if (unlikely(addr >> g->axi_bits)) {
        return resolve_neighbour(d, t, addr);
    }
    if (addr - g->host_window < g->host_size) {
        t->kind = TRN_TARGET_HOST;
        t->addr = addr - g->host_window;
        t->len = g->host_size - t->addr;
        return true;
    }
    for (i = 0; i < g->num_stacks; i++) {
        if (addr - g->hbm_axi[i] < d->stack_size) {
            t->stack = i;
            return target_store(t, &d->hbm[i], 0, d->stack_size,
                                addr - g->hbm_axi[i]);
        }
    }
    p = place_find(d, addr);
    return p && resolve_place(d, t, p, addr - p->base);
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
static bool bar0_to_axi(TrnDevice *d, uint64_t offset, uint64_t *axi)
{
    unsigned i;

    for (i = 0; i < d->gen->num_bar0; i++) {
        const TrnBarWindow *w = &d->gen->bar0[i];
        uint64_t in = offset - w->offset;

        if (in < w->count * w->size) {
            *axi = w->axi + in / w->size * w->stride + in % w->size;
            return true;
        }
    }
    return false;
}

/* Where BAR0 shows an address; a part of every core is shown. */
static uint64_t bar0_from_axi(TrnDevice *d, uint64_t axi)
{
    unsigned i, n;

    for (i = 0; i < d->gen->num_bar0; i++) {
        const TrnBarWindow *w = &d->gen->bar0[i];

        for (n = 0; n < w->count; n++) {
            if (axi - (w->axi + n * w->stride) < w->size) {
                return w->offset + n * w->size + axi - w->axi - n * w->stride;
            }
        }
    }
    g_assert_not_reached();
}

static bool bar0_resolve(TrnDevice *d, hwaddr offset, TrnTarget *t)
{
    uint64_t axi;

    return bar0_to_axi(d, offset, &axi) && trn_axi_resolve(d, axi, t) &&
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
    if (unlikely(d->hostile)) {
        value = trn_hostile_value(d, value);
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
    Object *owner = OBJECT(d);
    unsigned i;

    memory_region_init_io(&d->bar0, owner, &bar0_ops, d, "trainium-regs",
                          d->gen->bar0_size);
    memory_region_init_ram_ptr(&d->sbuf_ram, owner, "trainium-sbuf",
                               d->sbuf.size, d->sbuf.ptr);
    for (i = 0; i < d->num_places; i++) {
        const TrnPlace *p = &d->place[i];

        if (p->kind != TRN_PLACE_SBUF) {
            continue;
        }
        memory_region_init_alias(&d->core[p->index].sbuf, owner,
                                 "trainium-sbuf-window", &d->sbuf_ram,
                                 (uint64_t)p->index * p->size, p->size);
        memory_region_add_subregion(&d->bar0, bar0_from_axi(d, p->base),
                                    &d->core[p->index].sbuf);
    }

    trn_rebar_init_window(d);

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
    trn_rebar_exit_window(d);
}
