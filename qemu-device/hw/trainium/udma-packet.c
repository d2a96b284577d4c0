/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets: taking descriptors from the rings and finding what their addresses
 * are. Nothing here changes a ring, sets a cause or moves data.
 *
 * The bytes of a packet (FIRST to LAST) fill consecutive S2M descriptors; a
 * packet starts with a fresh one, and what is left of its last one stays
 * unused. A bad packet takes along the descriptors that were read up to the
 * fault. When its cause does not abort the engine, the rest of it then comes
 * up without its FIRST and is dropped by that rule, one by one.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "trainium.h"
#include "reduce.h"
#include "udma.h"
#include "regs/fabric.h"

#define REG_MAX_LEN 4096
#define HOLLOW_BYTES 4096

typedef struct Desc {
    uint32_t w0, w1;
    uint64_t addr;
} Desc;

/* --- rings --- */

/* Moves the view so that it begins with descriptor @index. */
static bool view_move(TrnDevice *d, TrnRingView *v, uint32_t index)
{
    uint64_t addr = v->ring->base + (uint64_t)index * TRN_DESC_SIZE;
    uint64_t len = (uint64_t)(v->ring->len - index) * TRN_DESC_SIZE;
    TrnHostRegion *host;
    TrnTarget t;

    v->count = 0;
    if (!trn_axi_resolve(d, addr, &t)) {
        return false;
    }
    len = MIN(len, t.len);
    if (t.kind == TRN_TARGET_RAM) {
        v->ptr = t.ptr;
    } else if (t.kind == TRN_TARGET_HOST) {
        len = MIN(len, trn_host_window(d, t.addr));
        v->ptr = trn_host_ptr(d, t.addr, &len, false, &host);
        if (!v->ptr) {
            return false;
        }
    } else {
        return false;
    }
    v->first = index;
    v->count = len / TRN_DESC_SIZE;
    return v->count;
}

void trn_ring_advance(TrnRing *r, uint32_t n)
{
    r->pending -= n;
    r->head += n;
    if (r->head >= r->len) {
        r->head -= r->len;
        r->head_rid = (r->head_rid + 1) & TRN_UDMA_RING_ID_MASK;
    }
}

static bool desc_fetch(TrnDevice *d, TrnRingView *v, uint32_t index, Desc *desc)
{
    uint8_t raw[TRN_DESC_SIZE];

    if (likely(index - v->first < v->count) || view_move(d, v, index)) {
        /* Once: the guest may change it while we look. */
        memcpy(raw, v->ptr + (uint64_t)(index - v->first) * TRN_DESC_SIZE,
               sizeof(raw));
    } else {
        uint64_t addr = v->ring->base + (uint64_t)index * TRN_DESC_SIZE;
        TrnTarget t;

        if (v->inl) {
            v->later = true;
            return false;
        }
        if (!trn_axi_resolve(d, addr, &t) || t.kind == TRN_TARGET_REG ||
            !trn_axi_read(d, addr, raw, sizeof(raw))) {
            return false;
        }
    }
    desc->w0 = ldl_le_p(raw);
    desc->w1 = ldl_le_p(raw + 4);
    desc->addr = ldq_le_p(raw + 8);
    return true;
}

static uint32_t ring_index(const TrnRing *r, uint32_t skip)
{
    uint64_t index = (uint64_t)r->head + skip;

    return index >= r->len ? index - r->len : index;
}

/* False: the id is wrong, and that aborts the engine. */
static bool ring_id_ok(TrnEngine *e, TrnSide side, const TrnRing *r,
                       uint32_t index, uint32_t w0, TrnPacket *p)
{
    unsigned want = (r->head_rid + (index < r->head)) & TRN_UDMA_RING_ID_MASK;
    uint32_t cause = side == TRN_M2S ? TRN_M2S_ERR_RING_ID :
                                       TRN_S2M_ERR_RING_ID;
    unsigned group = side == TRN_M2S ? TRN_IOFIC_A : TRN_IOFIC_B;

    if (likely((w0 & TRN_DESC_RING_ID_MASK) >> TRN_DESC_RING_ID_SHIFT ==
               want)) {
        return true;
    }
    p->cause[side] |= cause;
    return e->secondary[group].abort_mask & cause;
}

/* --- packets --- */

static uint32_t m2s_reg(const TrnEngine *e, uint32_t offset)
{
    return e->m2s_regs[(offset - TRN_UDMA_M2S_AXI) / 4];
}

/*
 * Operation of a descriptor: a plain copy, without CRC or swap, or one of this
 * project's own. False when it is none, or another one than those before it.
 */
static bool take_op(TrnPacket *p, uint32_t meta)
{
    unsigned type = (meta & TRN_META_OP_TYPE_MASK) >> TRN_META_OP_TYPE_SHIFT;
    unsigned op = (meta & TRN_META_OP_MASK) >> TRN_META_OP_SHIFT;
    unsigned dtype = (meta & TRN_META_DTYPE_MASK) >> TRN_META_DTYPE_SHIFT;

    if (type == TRN_META_OP_TYPE_COPY) {
        if (!(meta & TRN_META_COPY_SOURCE) || op != TRN_META_OP_COPY ||
            (meta & MAKE_64BIT_MASK(6, 13))) {
            return false;
        }
        op = dtype = 0;
    } else if (type == TRN_META_OP_TYPE_SEMAPHORE) {
        if (op > TRN_META_OP_SEM_TAKE || (meta & MAKE_64BIT_MASK(4, 15))) {
            return false;
        }
    } else if (type > TRN_META_OP_TYPE_ACCUMULATE ||
               !(TRN_REDUCE_OPS >> op & 1) ||
               !(TRN_REDUCE_DTYPES >> dtype & 1) ||
               (meta & MAKE_64BIT_MASK(8, 11))) {
        return false;
    }
    if (!p->num_src) {
        p->op_type = type;
        p->op = op;
        p->dtype = dtype;
    }
    return type == p->op_type && op == p->op && dtype == p->dtype;
}

/* Bounded, and whole elements: what is more than moving bytes to one place */
static bool op_allowed(TrnEngine *e, const TrnPacket *p)
{
    unsigned i;

    if (likely(!p->op_type && !p->group)) {
        return true;
    }
    if (p->op_type == TRN_META_OP_TYPE_SEMAPHORE) {
        return trn_sem_allowed(e, p);
    }
    if (p->bytes > TRN_DESC_MAX_LEN) {
        return false;
    }
    for (i = 0; p->op_type && i < p->num_segs; i++) {
        const TrnSeg *s = &p->seg[i];

        if ((s->src | s->dst | s->len) % TRN_REDUCE_ALIGN) {
            return false;
        }
    }
    return true;
}

static void take_addr(TrnPacket *p, uint64_t addr)
{
    if (unlikely(addr >> TRN_FAR_SHIFT)) {
        p->far = true;
        p->group |= addr & TRN_FABRIC_AXI && addr & TRN_FABRIC_TYPE_MASK;
    }
}

static TrnParse packet_bad(TrnPacket *p, TrnSide side, uint32_t cause)
{
    p->cause[!side] = 0;
    p->cause[side] = cause;
    p->m2s_int = p->s2m_int = false;
    return TRN_PARSE_BAD;
}

static TrnParse parse_m2s(TrnEngine *e, TrnRingView *v, uint32_t skip,
                          TrnPacket *p)
{
    const TrnRing *r = v->ring;
    uint32_t cfg_len = m2s_reg(e, TRN_UDMA_M2S_CFG_LEN);
    uint32_t zero_len = cfg_len & TRN_UDMA_CFG_LEN_0_IS_64K ?
                        TRN_DESC_MAX_LEN : 0;
    uint32_t max_descs = m2s_reg(e, TRN_UDMA_M2S_DESC_PREF_CFG_2) &
                         TRN_UDMA_PREF2_MAX_DESCS_MASK;
    uint32_t index = ring_index(r, skip);
    bool valid = true;
    Desc desc;

    if (!max_descs || max_descs > TRN_UDMA_HW_MAX_PKT_DESCS) {
        max_descs = TRN_UDMA_HW_MAX_PKT_DESCS;
    }
    for (;;) {
        if (p->m2s_descs == r->pending - skip) {
            return TRN_PARSE_WAIT;
        }
        if (!desc_fetch(e->dev, v, index, &desc)) {
            p->m2s_descs++;
            return packet_bad(p, TRN_M2S, TRN_M2S_ERR_PREF_AXI_RESP);
        }
        if (!ring_id_ok(e, TRN_M2S, r, index, desc.w0, p)) {
            return packet_bad(p, TRN_M2S, TRN_M2S_ERR_RING_ID);
        }
        if (p->m2s_descs && (desc.w0 & TRN_M2S_FIRST)) {
            return packet_bad(p, TRN_M2S, TRN_M2S_ERR_FIRST);
        }
        p->m2s_descs++;
        if (p->m2s_descs == 1 && !(desc.w0 & TRN_M2S_FIRST)) {
            return packet_bad(p, TRN_M2S, TRN_M2S_ERR_LAST);
        }
        if (p->m2s_descs > max_descs) {
            return packet_bad(p, TRN_M2S, TRN_M2S_ERR_MAX_DESCS);
        }
        p->m2s_int |= !!(desc.w0 & TRN_DESC_INT);
        p->dmb |= !!(desc.w0 & TRN_M2S_DMB);
        if (!(desc.w0 & (TRN_M2S_META | TRN_M2S_DUMMY))) {
            uint32_t len = desc.w0 & TRN_DESC_LEN_MASK ?: zero_len;

            valid &= take_op(p, desc.w1);
            p->write_barrier |= !!(desc.w1 & TRN_META_WRITE_BARRIER);
            take_addr(p, desc.addr);
            p->bytes += len;
            if (p->bytes > (cfg_len & TRN_UDMA_CFG_LEN_MASK)) {
                return packet_bad(p, TRN_M2S, TRN_M2S_ERR_PKT_LEN);
            }
            p->src[p->num_src].addr = desc.addr;
            p->src[p->num_src].len = len;
            p->num_src++;
        }
        if (desc.w0 & TRN_M2S_LAST) {
            break;
        }
        if (++index == r->len) {
            index = 0;
        }
    }
    if (!valid) {
        return packet_bad(p, TRN_M2S, TRN_M2S_ERR_STREAM_RESP);
    }
    return TRN_PARSE_READY;
}

/* Cuts the packet's bytes into pieces of one source and one destination */
static TrnParse parse_s2m(TrnEngine *e, TrnRingView *v, uint32_t skip,
                          TrnPacket *p)
{
    const TrnRing *r = v->ring;
    uint32_t left = p->bytes, index = ring_index(r, skip);
    uint32_t used = 0;
    unsigned i = 0;
    Desc desc;

    do {
        uint32_t room;

        if (p->s2m_descs == r->pending - skip) {
            return TRN_PARSE_WAIT;
        }
        if (p->s2m_descs == TRN_UDMA_HW_MAX_PKT_DESCS) {
            return packet_bad(p, TRN_S2M, TRN_S2M_ERR_PKT_LEN);
        }
        if (!desc_fetch(e->dev, v, index, &desc)) {
            p->s2m_descs++;
            return packet_bad(p, TRN_S2M, TRN_S2M_ERR_PREF_AXI_RESP);
        }
        if (!ring_id_ok(e, TRN_S2M, r, index, desc.w0, p)) {
            return packet_bad(p, TRN_S2M, TRN_S2M_ERR_RING_ID);
        }
        p->s2m_descs++;
        p->s2m_int |= !!(desc.w0 & TRN_DESC_INT);
        p->strong_order |= !!(desc.w0 & TRN_S2M_STRONG_ORDER);
        take_addr(p, desc.addr);
        room = MIN(desc.w0 & TRN_DESC_LEN_MASK ?: TRN_DESC_MAX_LEN, left);
        left -= room;
        while (room) {
            uint32_t n = MIN(room, p->src[i].len - used);

            if (n) {
                p->seg[p->num_segs++] = (TrnSeg) {
                    .src = p->src[i].addr + used, .dst = desc.addr, .len = n,
                };
            }
            desc.addr += n;
            room -= n;
            used += n;
            if (used == p->src[i].len) {
                i++;
                used = 0;
            }
        }
        if (++index == r->len) {
            index = 0;
        }
    } while (left);
    return TRN_PARSE_READY;
}

TrnParse trn_packet_parse(TrnEngine *e, unsigned q, TrnRingView *m2s,
                          TrnRingView *s2m, uint32_t m2s_skip,
                          uint32_t s2m_skip, TrnPacket *p)
{
    TrnParse res;

    p->m2s_descs = p->s2m_descs = p->bytes = 0;
    p->cause[TRN_M2S] = p->cause[TRN_S2M] = 0;
    p->dmb = p->write_barrier = p->strong_order = false;
    p->m2s_int = p->s2m_int = p->far = p->group = false;
    p->op_type = TRN_META_OP_TYPE_COPY;
    p->op = p->dtype = 0;
    p->num_src = p->num_segs = 0;
    res = parse_m2s(e, m2s, m2s_skip, p);
    /* The barrier is a pause of the queue, and pauses can be masked. */
    if (e->q[q].m2s.other[TRN_UDMA_M2S_Q_RATE_MASK / 4] &
        TRN_UDMA_Q_RATE_MASK_DMB) {
        p->dmb = false;
    }
    if (res == TRN_PARSE_READY) {
        res = parse_s2m(e, s2m, s2m_skip, p);
    }
    if (res == TRN_PARSE_READY && !op_allowed(e, p)) {
        return packet_bad(p, TRN_M2S, TRN_M2S_ERR_STREAM_RESP);
    }
    return res;
}

/* --- addresses --- */

static bool engine_reaches_host(const TrnEngine *e)
{
    return !e->dev->strict_host_access || e->dev->gen->all_reach_host ||
           e->id >= e->dev->gen->num_data_engines ||
           TRN2_ENGINE_HAS_HOST(e->id);
}

static TrnSpanKind span_get(TrnEngine *e, const TrnPacket *p, uint64_t addr,
                            bool write, TrnSpan *s, uint64_t *len,
                            TrnTarget *t)
{
    if (unlikely(addr >> TRN_FAR_SHIFT)) {
        return trn_fabric_span(e, p, addr, write, s, len, t);
    }
    if (!trn_axi_resolve(e->dev, addr, t)) {
        return TRN_SPAN_BAD;
    }
    *len = MIN(*len, t->len);
    *s = (TrnSpan) { .stack = t->stack };
    switch (t->kind) {
    case TRN_TARGET_RAM:
        s->ptr = t->ptr;
        s->store = t->store;
        return TRN_SPAN_DIRECT;
    case TRN_TARGET_HOST:
        if (!engine_reaches_host(e)) {
            return TRN_SPAN_BAD;
        }
        s->ptr = trn_host_ptr(e->dev, t->addr, len, write, &s->host);
        return s->ptr ? TRN_SPAN_DIRECT : TRN_SPAN_INDIRECT;
    case TRN_TARGET_REG:
        /* An engine that could ring doorbells could call itself. */
        if (t->block == &trn_udma_block || ((t->addr | *len) & 3) ||
            *len > REG_MAX_LEN) {
            return TRN_SPAN_BAD;
        }
        return TRN_SPAN_INDIRECT;
    default:
        return TRN_SPAN_BAD;
    }
}

TrnSpanKind trn_span_get(TrnEngine *e, const TrnPacket *p, uint64_t addr,
                         bool write, TrnSpan *s, uint64_t *len, TrnTarget *t)
{
    TrnSpanKind kind = span_get(e, p, addr, write, s, len, t);

    if (likely(!p->op_type) || kind == TRN_SPAN_BAD) {
        return kind;
    }
    /* Memory is combined with memory; reductions only come from a group. */
    if (t->kind == TRN_TARGET_REG ||
        (!write && p->op_type == TRN_META_OP_TYPE_REDUCE &&
         t->kind != TRN_TARGET_GROUP)) {
        return TRN_SPAN_BAD;
    }
    return TRN_SPAN_INDIRECT;
}

void trn_packet_fault(TrnPacket *p, TrnSide side)
{
    packet_bad(p, side, side == TRN_M2S ? TRN_M2S_ERR_DATA_AXI_RESP :
                                          TRN_S2M_ERR_DATA_AXI_RESP);
}

TrnSpanKind trn_piece_get(TrnEngine *e, TrnPacket *p, const TrnSeg *seg,
                          TrnSpan *src, TrnSpan *dst, uint64_t *len)
{
    TrnSpanKind s, d;
    TrnTarget t;

    *len = seg->len;
    s = trn_span_get(e, p, seg->src, false, src, len, &t);
    if (s == TRN_SPAN_BAD) {
        trn_packet_fault(p, TRN_M2S);
        return s;
    }
    d = trn_span_get(e, p, seg->dst, true, dst, len, &t);
    if (d == TRN_SPAN_BAD) {
        trn_packet_fault(p, TRN_S2M);
    }
    return MAX(s, d);
}

TrnSpanKind trn_packet_look(TrnEngine *e, TrnPacket *p)
{
    TrnSpanKind worst = TRN_SPAN_DIRECT;
    unsigned i;

    for (i = 0; i < p->num_segs; i++) {
        TrnSeg seg = p->seg[i];

        while (seg.len) {
            TrnSpan src, dst;
            uint64_t len;

            worst = MAX(worst, trn_piece_get(e, p, &seg, &src, &dst, &len));
            if (worst == TRN_SPAN_BAD) {
                return worst;
            }
            trn_seg_advance(&seg, len);
        }
    }
    return worst;
}

static bool is_hbm(TrnEngine *e, const TrnPacket *p, uint64_t addr,
                   uint64_t len, bool write)
{
    uint64_t room = len;
    TrnTarget t;
    TrnSpan s;

    return trn_span_get(e, p, addr, write, &s, &room, &t) != TRN_SPAN_BAD &&
           room == len && (t.stack >= 0 || t.kind == TRN_TARGET_GROUP);
}

bool trn_packet_hollow(TrnEngine *e, const TrnPacket *p)
{
    unsigned i;

    if (p->bytes < HOLLOW_BYTES) {
        return false;
    }
    for (i = 0; i < p->num_segs; i++) {
        const TrnSeg *seg = &p->seg[i];

        if (!is_hbm(e, p, seg->src, seg->len, false) ||
            !is_hbm(e, p, seg->dst, seg->len, true)) {
            return false;
        }
    }
    return true;
}

bool trn_indirect_read(const TrnPacket *p, const TrnTarget *t, uint8_t *buf,
                       uint64_t len)
{
    uint64_t i;

    switch (t->kind) {
    case TRN_TARGET_RAM:
        memcpy(buf, t->ptr, len);
        return true;
    case TRN_TARGET_HOST:
        return trn_host_read(t->dev, t->addr, buf, len);
    case TRN_TARGET_GROUP:
        return trn_fabric_read(p, t, buf, len);
    default:
        for (i = 0; i < len; i += 4) {
            stl_le_p(buf + i, t->block->read(t->dev, t->index, t->addr + i));
        }
        return true;
    }
}

static bool target_write(const TrnTarget *t, const uint8_t *buf, uint64_t len)
{
    uint64_t i;

    switch (t->kind) {
    case TRN_TARGET_RAM:
        if (t->store) {
            trn_store_write(t->store, t->ptr, buf, len);
        } else {
            memcpy(t->ptr, buf, len);
        }
        return true;
    case TRN_TARGET_HOST:
        return trn_host_write(t->dev, t->addr, buf, len);
    case TRN_TARGET_GROUP:
        return trn_fabric_write(t, buf, len);
    default:
        for (i = 0; i < len; i += 4) {
            t->block->write(t->dev, t->index, t->addr + i, ldl_le_p(buf + i));
        }
        return true;
    }
}

/* Combines @buf with what @t holds. */
static bool target_accumulate(const TrnPacket *p, const TrnTarget *t,
                              const uint8_t *buf, uint64_t len)
{
    g_autofree uint8_t *sum = g_malloc(len);
    const uint8_t *in[2] = { sum, buf };

    if (!trn_indirect_read(p, t, sum, len)) {
        return false;
    }
    trn_reduce(sum, in, 2, len, p->dtype, p->op);
    return target_write(t, sum, len);
}

bool trn_indirect_write(const TrnPacket *p, const TrnTarget *t,
                        const uint8_t *buf, uint64_t len)
{
    switch (p->op_type) {
    case TRN_META_OP_TYPE_ACCUMULATE:
        return target_accumulate(p, t, buf, len);
    case TRN_META_OP_TYPE_SEMAPHORE:
        return trn_sem_write(p, t, buf);
    default:
        return target_write(t, buf, len);
    }
}
