/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notification rings of cores, TOP_SPs and DMA engines.
 *
 * The registers of a ring are those public drivers write: base, size (a power
 * of two of bytes, 0 switches off), head. The format of an entry is not public;
 * this one is the model's own, four little-endian words:
 *
 *   word 0  31     phase: 1 in the first pass over the ring, 0 in the second,
 *                  then alternating; a reader of a ring that was zeroed at the
 *                  start sees by it which entries are new
 *           30     entries were dropped before this one
 *           27:24  type, TRN_NQ_*
 *           23:16  code, depends on the type
 *           15:0   source: DMA engine, core, or TOP_SP
 *   word 1  depends on the type
 *   word 2  model clock in ns, low half
 *   word 3  model clock in ns, high half
 *
 *   DMA trace (in slot 0 of the engine's own block): code 23:20 is the queue
 *   and code bit 16 says that the packet failed; word 1 is its length in bytes.
 *
 *   Throttling (in slot 80 of a core's block): word 1 is how far, in basis
 *   points.
 *
 * Head is the byte offset of the next entry. The device never reads what
 * software has consumed: entries that are not fetched in time are overwritten.
 * Writing the size, even the same, starts the ring anew at its base. A ring
 * must be aligned to its size, and in host memory or HBM; entries that cannot
 * be written are counted and dropped.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "udma.h"
#include "trace.h"

#define TRN_NQ_ENTRY_SIZE 16
#define TRN_NQ_PHASE (1u << 31)
#define TRN_NQ_OVERFLOW (1u << 30)

static TrnNotific *trn_notific_block(TrnDevice *d, unsigned index)
{
    if (index >= TRN_NOTIFIC_ENGINE) {
        index -= TRN_NOTIFIC_ENGINE;
        return index < d->gen->num_engines ? &d->engine[index].notific : NULL;
    }
    if (index >= TRN_MAX_CORES) {
        index -= TRN_MAX_CORES;
        return index < TRN_MAX_TOP_SP ? &d->top_sp[index].notific : NULL;
    }
    return &d->core[index].notific;
}

/* The ring's word at @offset of the block, or NULL. */
static uint32_t *trn_notific_reg(TrnNotific *n, uint32_t offset,
                                 TrnNotificRing **ring)
{
    uint32_t stride = TRN_NOTIFIC_RING(1) - TRN_NOTIFIC_RING(0);
    uint32_t i;
    TrnNotificRing *r;

    if (offset < TRN_NOTIFIC_RING(0)) {
        return NULL;
    }
    i = (offset - TRN_NOTIFIC_RING(0)) / stride;
    offset = (offset - TRN_NOTIFIC_RING(0)) % stride & ~3u;
    if (i >= TRN_NOTIFIC_NUM_RINGS) {
        return NULL;
    }
    r = *ring = &n->ring[i];
    switch (offset) {
    case TRN_NOTIFIC_BASE_LO:
        return &r->base_lo;
    case TRN_NOTIFIC_BASE_HI:
        return &r->base_hi;
    case TRN_NOTIFIC_RING_SIZE:
        return &r->size;
    case TRN_NOTIFIC_HEAD:
        return &r->head;
    default:
        return &r->other[(offset - TRN_NOTIFIC_HEAD - 4) / 4];
    }
}

static uint64_t trn_notific_base(const TrnNotificRing *r)
{
    return (uint64_t)r->base_hi << 32 | r->base_lo;
}

static bool trn_notific_valid(const TrnNotificRing *r)
{
    return is_power_of_2(r->size) && r->size >= TRN_NQ_ENTRY_SIZE &&
           !(trn_notific_base(r) & (r->size - 1));
}

uint32_t trn_notific_read(TrnDevice *d, unsigned index, uint32_t offset)
{
    TrnNotific *n = trn_notific_block(d, index);
    TrnNotificRing *r;
    uint32_t *reg = n ? trn_notific_reg(n, offset, &r) : NULL;

    return reg ? *reg : 0;
}

void trn_notific_write(TrnDevice *d, unsigned index, uint32_t offset,
                       uint32_t value)
{
    TrnNotific *n = trn_notific_block(d, index);
    TrnNotificRing *r;
    uint32_t *reg = n ? trn_notific_reg(n, offset, &r) : NULL;

    if (!reg) {
        qemu_log_mask(LOG_UNIMP, "trainium: notification block %u has no "
                      "register 0x%x\n", index, offset);
        return;
    }
    n->used = true;
    *reg = value;
    if (reg == &r->size) {
        r->head = 0;
        r->wraps = 0;
        if (value && !trn_notific_valid(r)) {
            qemu_log_mask(LOG_GUEST_ERROR, "trainium: notification ring at "
                          "0x%" PRIx64 " of 0x%x bytes is not aligned to its "
                          "size\n", trn_notific_base(r), value);
        }
    }
}

static bool trn_notific_memory(TrnDevice *d, uint64_t addr)
{
    TrnTarget t;

    return trn_axi_resolve(d, addr, &t) && t.len >= TRN_NQ_ENTRY_SIZE &&
           (t.kind == TRN_TARGET_HOST || t.kind == TRN_TARGET_RAM);
}

bool trn_notific_post(TrnDevice *d, TrnNotific *n, unsigned ring,
                      const uint32_t entry[4])
{
    TrnNotificRing *r;
    uint32_t buf[TRN_NQ_ENTRY_SIZE / 4], head, word0;
    uint64_t addr;
    bool ok;

    if (ring >= TRN_NOTIFIC_NUM_RINGS || !trn_notific_enabled(n, ring)) {
        return false;
    }
    r = &n->ring[ring];
    /* Software may have written any head. */
    head = r->head & (r->size - 1) & ~(TRN_NQ_ENTRY_SIZE - 1);
    addr = trn_notific_base(r) + head;
    word0 = entry[0] & ~(TRN_NQ_PHASE | TRN_NQ_OVERFLOW);
    if (!(r->wraps & 1)) {
        word0 |= TRN_NQ_PHASE;
    }
    if (r->lost) {
        word0 |= TRN_NQ_OVERFLOW;
    }
    buf[0] = cpu_to_le32(word0);
    buf[1] = cpu_to_le32(entry[1]);
    buf[2] = cpu_to_le32((uint32_t)d->clock_ns);
    buf[3] = cpu_to_le32(d->clock_ns >> 32);
    ok = trn_notific_valid(r) && trn_notific_memory(d, addr) &&
         trn_axi_write(d, addr, buf, sizeof(buf));
    trace_trn_notific_post(d->routing_id, addr, word0, entry[1], ok);
    if (!n->used) {
        return ok;              /* the write was a reset */
    }
    if (!ok) {
        n->dropped++;
        r->lost = true;
        return false;
    }
    n->posted++;
    r->lost = false;
    r->head = head + TRN_NQ_ENTRY_SIZE;
    if (r->head == r->size) {
        r->head = 0;
        r->wraps++;
    }
    return true;
}

void trn_notific_reset(TrnNotific *n)
{
    if (n->used) {
        memset(n, 0, sizeof(*n));
    }
}

static const VMStateDescription vmstate_trn_notific_ring = {
    .name = "trainium/notific-ring",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(base_lo, TrnNotificRing),
        VMSTATE_UINT32(base_hi, TrnNotificRing),
        VMSTATE_UINT32(size, TrnNotificRing),
        VMSTATE_UINT32(head, TrnNotificRing),
        VMSTATE_UINT32_ARRAY(other, TrnNotificRing, 6),
        VMSTATE_UINT32(wraps, TrnNotificRing),
        VMSTATE_BOOL(lost, TrnNotificRing),
        VMSTATE_END_OF_LIST()
    },
};

static int trn_notific_pre_load(void *opaque)
{
    memset(opaque, 0, sizeof(TrnNotific));
    return 0;
}

static bool trn_notific_is_used(void *opaque, int version_id)
{
    TrnNotific *n = opaque;

    return n->used;
}

/* Any register value is one that software could have written. */
const VMStateDescription vmstate_trn_notific = {
    .name = "trainium/notific",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_load = trn_notific_pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(used, TrnNotific),
        VMSTATE_UINT64(posted, TrnNotific),
        VMSTATE_UINT64(dropped, TrnNotific),
        VMSTATE_STRUCT_ARRAY_TEST(ring, TrnNotific, TRN_NOTIFIC_NUM_RINGS,
                                  trn_notific_is_used, 1,
                                  vmstate_trn_notific_ring, TrnNotificRing),
        VMSTATE_END_OF_LIST()
    },
};
