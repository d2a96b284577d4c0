/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packet execution.
 *
 * A doorbell runs a little of its queue at once, inside the guest's register
 * write: as much as a small copy needs, and only between RAM and RAM. All the
 * rest, and whatever touches a register or another device, is done by a
 * bottom half in slices, by turns over engines and queues, so that neither
 * vCPUs nor the monitor wait long for a large copy. Under -icount the slices
 * are spaced by modelled time on the virtual clock and are bounded by bytes
 * and descriptors only, so that two runs are alike.
 *
 * A packet runs when all its M2S descriptors, FIRST to LAST, and enough S2M
 * descriptors for its bytes were rung. All its addresses are resolved before
 * the first byte moves: a packet that fails moves nothing.
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/cpu-timers.h"
#include "qapi/error.h"
#include "system/runstate.h"
#include "trainium.h"
#include "udma.h"
#include "trace.h"

#define INLINE_BYTES (68 * KiB)         /* 64 KiB and a marker */
#define INLINE_DESCS 32
#define SLICE_BYTES (1 * MiB)
#define SLICE_DESCS 256
#define SLICE_NS (500 * SCALE_US)
#define TURN_BYTES (128 * KiB)          /* of one queue when others wait */
#define TURN_DESCS 64
#define BOUNCE_SIZE (64 * KiB)
#define REG_MAX_LEN 4096

/* A byte range of the chip or the guest that is plain memory */
typedef struct Span {
    uint8_t *ptr;
    TrnStore *store;
    TrnHostRegion *host;
    int stack;
} Span;

struct TrnExec {
    TrnDevice *dev;
    QEMUBH *bh;
    QEMUTimer *timer;           /* instead of the bottom half, under -icount */
    VMChangeStateEntry *vmstate;
    unsigned long active[BITS_TO_LONGS(TRN_MAX_ENGINES)];
    uint16_t active_q[TRN_MAX_ENGINES];
    unsigned next_engine;
    uint8_t next_q[TRN_MAX_ENGINES];
    bool busy;

    /* Adjoining copies become one memcpy: what was not yet copied */
    Span run_src, run_dst;
    uint64_t run_len;

    uint64_t slice_ns;          /* modelled, of this slice */
    TrnPacket packet;
    uint8_t *bounce;
};

typedef struct Budget {
    int64_t bytes;
    int descs;
    int64_t deadline;           /* host time; 0: none */
    bool inl;                   /* inside the doorbell's register write */
} Budget;

/* A ring for the time of one slice: @ptr when it is plain memory as a whole */
typedef struct RingView {
    TrnRing *ring;
    const uint8_t *ptr;
} RingView;

typedef struct Desc {
    uint32_t w0, w1;
    uint64_t addr;
} Desc;

typedef enum Outcome {
    READY,                      /* parsed */
    DONE,                       /* consumed, with or without an error */
    WAIT,                       /* descriptors are missing */
    LATER,                      /* not inside a register write, or no budget */
    STOP,                       /* queue or engine stopped, or rings changed */
} Outcome;

/* --- memory ---------------------------------------------------------------- */

static void run_flush(TrnExec *x)
{
    uint64_t len = x->run_len;
    uint8_t *dst = x->run_dst.ptr;
    const uint8_t *src = x->run_src.ptr;

    if (!len) {
        return;
    }
    x->run_len = 0;
    /* A marker must not become visible before what was written earlier. */
    smp_wmb();
    if (x->run_src.store && trn_store_is_hole(x->run_src.store, src, len)) {
        if (x->run_dst.store) {
            trn_store_zero(x->run_dst.store, dst, len);
        } else {
            memset(dst, 0, len);
        }
    } else if (x->run_dst.store) {
        trn_store_write(x->run_dst.store, dst, src, len);
    } else if (len == 4 && QEMU_PTR_IS_ALIGNED(dst, 4)) {
        qatomic_set((uint32_t *)dst, ldl_he_p(src));
    } else {
        memmove(dst, src, len);
    }
    if (x->run_dst.host) {
        trn_host_dirty(x->run_dst.host, dst, len);
    }
}

static void run_add(TrnExec *x, const Span *dst, const Span *src, uint64_t len)
{
    uint64_t total = x->run_len + len;

    /*
     * Only what stays apart may be merged: a chain that reads what its
     * earlier links wrote is not a memmove.
     */
    if (x->run_len && total <= SLICE_BYTES &&
        dst->ptr == x->run_dst.ptr + x->run_len &&
        src->ptr == x->run_src.ptr + x->run_len &&
        dst->store == x->run_dst.store && dst->host == x->run_dst.host &&
        src->store == x->run_src.store && src->host == x->run_src.host &&
        (x->run_dst.ptr >= x->run_src.ptr + total ||
         x->run_src.ptr >= x->run_dst.ptr + total)) {
        x->run_len = total;
        return;
    }
    run_flush(x);
    x->run_src = *src;
    x->run_dst = *dst;
    x->run_len = len;
}

static bool engine_reaches_host(const TrnEngine *e)
{
    return !e->dev->strict_host_access ||
           e->id >= e->dev->gen->num_data_engines ||
           TRN2_ENGINE_HAS_HOST(e->id % TRN2_ENGINES_PER_SE);
}

typedef enum SpanKind { SPAN_BAD, SPAN_DIRECT, SPAN_INDIRECT } SpanKind;

/* What data at @addr is; clips @len to the piece that is alike. */
static SpanKind span_get(TrnEngine *e, uint64_t addr, bool write, Span *s,
                         uint64_t *len, TrnTarget *t)
{
    if (!trn_axi_resolve(e->dev, addr, t)) {
        return SPAN_BAD;
    }
    *len = MIN(*len, t->len);
    *s = (Span) { .stack = t->stack };
    switch (t->kind) {
    case TRN_TARGET_RAM:
        s->ptr = t->ptr;
        s->store = t->store;
        return SPAN_DIRECT;
    case TRN_TARGET_HOST:
        if (!engine_reaches_host(e)) {
            return SPAN_BAD;
        }
        s->ptr = trn_host_ptr(e->dev, t->addr, len, write, &s->host);
        return s->ptr ? SPAN_DIRECT : SPAN_INDIRECT;
    case TRN_TARGET_REG:
        /* An engine that could ring doorbells could call itself. */
        if (t->block == &trn_udma_block || ((t->addr | *len) & 3) ||
            *len > REG_MAX_LEN) {
            return SPAN_BAD;
        }
        return SPAN_INDIRECT;
    default:
        return SPAN_BAD;
    }
}

static bool indirect_read(TrnDevice *d, const TrnTarget *t, uint8_t *buf,
                          uint64_t len)
{
    uint64_t i;

    switch (t->kind) {
    case TRN_TARGET_RAM:
        memcpy(buf, t->ptr, len);
        return true;
    case TRN_TARGET_HOST:
        return trn_host_read(d, t->addr, buf, len);
    default:
        for (i = 0; i < len; i += 4) {
            stl_le_p(buf + i, t->block->read(d, t->index, t->addr + i));
        }
        return true;
    }
}

static bool indirect_write(TrnDevice *d, const TrnTarget *t,
                           const uint8_t *buf, uint64_t len)
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
        return trn_host_write(d, t->addr, buf, len);
    default:
        for (i = 0; i < len; i += 4) {
            t->block->write(d, t->index, t->addr + i, ldl_le_p(buf + i));
        }
        return true;
    }
}

/* --- rings ----------------------------------------------------------------- */

static RingView ring_view(TrnDevice *d, TrnRing *r)
{
    uint64_t want = (uint64_t)r->len * TRN_DESC_SIZE, len;
    RingView v = { .ring = r };
    TrnHostRegion *host;
    TrnTarget t;

    if (!trn_axi_resolve(d, r->base, &t) || t.len < want) {
        return v;
    }
    if (t.kind == TRN_TARGET_RAM) {
        v.ptr = t.ptr;
    } else if (t.kind == TRN_TARGET_HOST) {
        len = want;
        v.ptr = trn_host_ptr(d, t.addr, &len, false, &host);
        if (len < want) {
            v.ptr = NULL;
        }
    }
    return v;
}

static bool desc_fetch(TrnDevice *d, const RingView *v, uint32_t index,
                       Desc *desc)
{
    uint8_t raw[TRN_DESC_SIZE];

    if (v->ptr) {
        /* Once: the guest may change it while we look. */
        memcpy(raw, v->ptr + (uint64_t)index * TRN_DESC_SIZE, sizeof(raw));
    } else {
        uint64_t addr = v->ring->base + (uint64_t)index * TRN_DESC_SIZE;
        TrnTarget t;

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

static uint8_t ring_id_at(const TrnRing *r, uint32_t index)
{
    return (r->head_rid + (index < r->head)) & TRN_UDMA_RING_ID_MASK;
}

static void ring_advance(TrnRing *r, uint32_t n)
{
    r->pending -= n;
    r->head += n;
    if (r->head >= r->len) {
        r->head -= r->len;
        r->head_rid = (r->head_rid + 1) & TRN_UDMA_RING_ID_MASK;
    }
}

static bool queue_can_run(const TrnEngine *e, unsigned q)
{
    const uint32_t on = TRN_UDMA_Q_CFG_PREFETCH | TRN_UDMA_Q_CFG_SCHED;
    const TrnQueue *qp = &e->q[q];

    return qp->m2s.pending && qp->s2m.pending &&
           (qp->m2s.cfg & on) == on && (qp->s2m.cfg & on) == on &&
           trn_udma_running(e);
}

/* --- completion ------------------------------------------------------------ */

static void comp_advance(TrnRing *r)
{
    if (++r->comp_head >= r->len) {
        r->comp_head = 0;
        r->comp_rid = (r->comp_rid + 1) & TRN_UDMA_RING_ID_MASK;
    }
}

/* One completion descriptor for each descriptor of a packet */
static bool comp_write(TrnEngine *e, unsigned q, TrnSide side, unsigned n,
                       uint32_t bytes, bool error)
{
    TrnRing *r = trn_ring(e, q, side);
    bool write = r->comp_cfg & TRN_UDMA_Q_COMP_CFG_RING;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (write) {
            uint8_t raw[TRN_DESC_SIZE] = {};
            uint32_t w0 = r->comp_rid << TRN_DESC_RING_ID_SHIFT;

            w0 |= i == 0 ? TRN_COMP_FIRST : 0;
            w0 |= i == n - 1 ? TRN_COMP_LAST : 0;
            w0 |= error ? TRN_COMP_ERROR : 0;
            stl_le_p(raw, w0);
            stl_le_p(raw + 4, i == n - 1 && !error ? bytes : 0);
            if (!trn_axi_write(e->dev, r->comp_base +
                               (uint64_t)r->comp_head * TRN_DESC_SIZE,
                               raw, sizeof(raw))) {
                return !trn_udma_error(e, side, side == TRN_M2S ?
                                       TRN_M2S_ERR_COMP_AXI_RESP :
                                       TRN_S2M_ERR_COMP_AXI_RESP);
            }
        }
        comp_advance(r);
    }
    return true;
}

static void dma_trace(TrnEngine *e, unsigned q, uint32_t bytes, bool error)
{
    const uint32_t entry[4] = {
        TRN_NQ_DMA_TRACE << 24 | q << 20 | error << 16 | e->id, bytes,
    };

    trn_notific_post(e->dev, &e->notific, 0, entry);
}

/*
 * Model time: a packet occupies its engine for its bytes and a fixed cost; a
 * stack cannot deliver more than its rate over all that was accounted to it.
 * Only the work counts, never when the host got round to it.
 */
static void account(TrnExec *x, TrnEngine *e, const TrnPacket *p, int src_stack,
                    int dst_stack)
{
    TrnDevice *d = x->dev;
    const TrnGeneration *g = d->gen;
    uint64_t ns = g->packet_ns +
                  DIV_ROUND_UP(p->bytes * 1000ull, g->engine_bytes_per_us);
    uint64_t end = e->busy_until_ns + ns;
    int s[2] = { src_stack, dst_stack };
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (s[i] >= 0) {
            d->stack_bytes[s[i]] += p->bytes;
            end = MAX(end, muldiv64(d->stack_bytes[s[i]], 1000,
                                    g->stack_bytes_per_us));
        }
    }
    x->slice_ns += end - e->busy_until_ns;
    e->busy_until_ns = end;
    d->clock_ns = MAX(d->clock_ns, end);
}

static Outcome packet_complete(TrnExec *x, TrnEngine *e, unsigned q,
                               const TrnPacket *p, bool error)
{
    TrnQueue *qp = &e->q[q];

    ring_advance(&qp->m2s, p->m2s_descs);
    ring_advance(&qp->s2m, p->s2m_descs);
    if (!error) {
        e->packets++;
        e->bytes += p->bytes;
    }
    if (unlikely((qp->m2s.comp_cfg | qp->s2m.comp_cfg) &
                 TRN_UDMA_Q_COMP_CFG_RING)) {
        run_flush(x);
    }
    if (!comp_write(e, q, TRN_S2M, p->s2m_descs, p->bytes, error) ||
        !comp_write(e, q, TRN_M2S, p->m2s_descs, p->bytes, error)) {
        return STOP;
    }
    if (unlikely(trn_notific_enabled(&e->notific, 0))) {
        run_flush(x);
        dma_trace(e, q, p->bytes, error);
    }
    if (unlikely(p->s2m_int || p->m2s_int)) {
        run_flush(x);
        if (p->s2m_int) {
            trn_iofic_queue(e, q, TRN_S2M);
        }
        if (p->m2s_int) {
            trn_iofic_queue(e, q, TRN_M2S);
        }
    }
    return DONE;
}

/*
 * The packet failed. If the cause aborts the engine, head stays at the packet;
 * otherwise it is dropped and the queue goes on.
 */
static Outcome packet_fail(TrnExec *x, TrnEngine *e, unsigned q, TrnPacket *p,
                           TrnSide side, uint32_t cause)
{
    run_flush(x);
    if (trn_udma_error(e, side, cause)) {
        return STOP;
    }
    p->m2s_int = p->s2m_int = false;
    return packet_complete(x, e, q, p, true);
}

static Outcome packet_axi_error(TrnExec *x, TrnEngine *e, unsigned q,
                                TrnPacket *p, TrnSide side)
{
    /* "error status" word of the queue */
    e->general[(TRN_UDMA_AXI_QUEUE(q) + 4 - 0x3a300) / 4] |= 1;
    return packet_fail(x, e, q, p, side, side == TRN_M2S ?
                       TRN_M2S_ERR_DATA_AXI_RESP : TRN_S2M_ERR_DATA_AXI_RESP);
}

/* --- a packet -------------------------------------------------------------- */

static uint32_t m2s_reg(const TrnEngine *e, uint32_t offset)
{
    return e->m2s_regs[(offset - 0x100) / 4];
}

/* The only operation is the plain copy: no CRC, no swap, no computing. */
static bool is_copy(uint32_t meta)
{
    const uint32_t other = MAKE_64BIT_MASK(6, 13);

    return (meta & TRN_META_COPY_SOURCE) && !(meta & other) &&
           !(meta & TRN_META_OP_TYPE_MASK) &&
           (meta & TRN_META_OP_MASK) == TRN_META_OP_COPY << TRN_META_OP_SHIFT;
}

/* Sets the cause of a wrong ring id; false when that aborted the engine. */
static bool ring_id_check(TrnExec *x, TrnEngine *e, TrnSide side,
                          const TrnRing *r, uint32_t index, const Desc *desc)
{
    unsigned rid = (desc->w0 & TRN_DESC_RING_ID_MASK) >> TRN_DESC_RING_ID_SHIFT;

    if (likely(rid == ring_id_at(r, index))) {
        return true;
    }
    run_flush(x);
    return !trn_udma_error(e, side, side == TRN_M2S ? TRN_M2S_ERR_RING_ID :
                                                      TRN_S2M_ERR_RING_ID);
}

typedef struct Source {
    uint64_t addr;
    uint32_t len;
} Source;

/*
 * Reads the M2S descriptors of the packet at the head. On an error that does
 * not abort, what was read is dropped; the rest of a packet without its
 * FIRST then falls to the same rule, descriptor by descriptor.
 */
static Outcome parse_m2s(TrnExec *x, TrnEngine *e, unsigned q,
                         const RingView *v, TrnPacket *p, Source *src,
                         unsigned *num_src)
{
    const TrnRing *r = v->ring;
    uint32_t cfg_len = m2s_reg(e, TRN_UDMA_M2S_CFG_LEN);
    uint32_t zero_len = cfg_len & TRN_UDMA_CFG_LEN_0_IS_64K ?
                        TRN_DESC_MAX_LEN : 0;
    uint32_t max_descs = m2s_reg(e, TRN_UDMA_M2S_DESC_PREF_CFG_2) &
                         TRN_UDMA_PREF2_MAX_DESCS_MASK;
    uint32_t cause = 0, index = r->head;
    Desc desc;

    if (!max_descs || max_descs > TRN_UDMA_HW_MAX_PKT_DESCS) {
        max_descs = TRN_UDMA_HW_MAX_PKT_DESCS;
    }
    p->bytes = 0;
    p->m2s_descs = p->s2m_descs = 0;
    p->dmb = p->write_barrier = p->strong_order = false;
    p->m2s_int = p->s2m_int = false;
    *num_src = 0;

    for (;;) {
        if (p->m2s_descs == r->pending) {
            return WAIT;
        }
        if (!desc_fetch(e->dev, v, index, &desc)) {
            p->m2s_descs++;
            return packet_fail(x, e, q, p, TRN_M2S, TRN_M2S_ERR_PREF_AXI_RESP);
        }
        if (!ring_id_check(x, e, TRN_M2S, r, index, &desc)) {
            return STOP;
        }
        if (p->m2s_descs && (desc.w0 & TRN_M2S_FIRST)) {
            return packet_fail(x, e, q, p, TRN_M2S, TRN_M2S_ERR_FIRST);
        }
        p->m2s_descs++;
        if (p->m2s_descs == 1 && !(desc.w0 & TRN_M2S_FIRST)) {
            return packet_fail(x, e, q, p, TRN_M2S, TRN_M2S_ERR_LAST);
        }
        if (p->m2s_descs > max_descs) {
            return packet_fail(x, e, q, p, TRN_M2S, TRN_M2S_ERR_MAX_DESCS);
        }
        p->m2s_int |= !!(desc.w0 & TRN_DESC_INT);
        p->dmb |= !!(desc.w0 & TRN_M2S_DMB);
        if (!(desc.w0 & (TRN_M2S_META | TRN_M2S_DUMMY))) {
            uint32_t len = desc.w0 & TRN_DESC_LEN_MASK ?: zero_len;

            if (!is_copy(desc.w1)) {
                cause = TRN_M2S_ERR_STREAM_RESP;
            }
            p->write_barrier |= !!(desc.w1 & TRN_META_WRITE_BARRIER);
            p->bytes += len;
            if (p->bytes > (cfg_len & TRN_UDMA_CFG_LEN_MASK)) {
                return packet_fail(x, e, q, p, TRN_M2S, TRN_M2S_ERR_PKT_LEN);
            }
            src[*num_src].addr = desc.addr;
            src[*num_src].len = len;
            (*num_src)++;
        }
        if (desc.w0 & TRN_M2S_LAST) {
            break;
        }
        if (++index == r->len) {
            index = 0;
        }
    }
    if (cause) {
        return packet_fail(x, e, q, p, TRN_M2S, cause);
    }
    return READY;
}

/* Cuts the packet's bytes into pieces of one source and one destination */
static Outcome parse_s2m(TrnExec *x, TrnEngine *e, unsigned q,
                         const RingView *v, TrnPacket *p, const Source *src)
{
    const TrnRing *r = v->ring;
    uint32_t left = p->bytes, index = r->head, used = 0;
    Desc desc;

    p->num_segs = 0;
    do {
        uint32_t room;

        if (p->s2m_descs == r->pending) {
            return WAIT;
        }
        if (p->s2m_descs == TRN_UDMA_HW_MAX_PKT_DESCS) {
            return packet_fail(x, e, q, p, TRN_S2M, TRN_S2M_ERR_PKT_LEN);
        }
        if (!desc_fetch(e->dev, v, index, &desc)) {
            p->s2m_descs++;
            return packet_fail(x, e, q, p, TRN_S2M, TRN_S2M_ERR_PREF_AXI_RESP);
        }
        if (!ring_id_check(x, e, TRN_S2M, r, index, &desc)) {
            return STOP;
        }
        p->s2m_descs++;
        p->s2m_int |= !!(desc.w0 & TRN_DESC_INT);
        p->strong_order |= !!(desc.w0 & TRN_S2M_STRONG_ORDER);
        room = MIN(desc.w0 & TRN_DESC_LEN_MASK ?: TRN_DESC_MAX_LEN, left);
        left -= room;
        while (room) {
            uint32_t n = MIN(room, src->len - used);

            if (n) {
                p->seg[p->num_segs++] = (TrnSeg) {
                    .src = src->addr + used, .dst = desc.addr, .len = n,
                };
            }
            desc.addr += n;
            room -= n;
            used += n;
            if (used == src->len) {
                src++;
                used = 0;
            }
        }
        if (++index == r->len) {
            index = 0;
        }
    } while (left);
    return READY;
}

/* What a piece of a packet needs; the worst of all its pieces counts */
typedef enum Look {
    LOOK_DIRECT,                /* memcpy */
    LOOK_INDIRECT,              /* a register, another device, an IOMMU */
    LOOK_BAD_SRC,
    LOOK_BAD_DST,
} Look;

static Look piece_look(TrnEngine *e, const TrnSeg *seg, Span *src, Span *dst,
                       uint64_t *len)
{
    SpanKind s, d;
    TrnTarget t;

    *len = seg->len;
    s = span_get(e, seg->src, false, src, len, &t);
    if (s == SPAN_BAD) {
        return LOOK_BAD_SRC;
    }
    d = span_get(e, seg->dst, true, dst, len, &t);
    if (d == SPAN_BAD) {
        return LOOK_BAD_DST;
    }
    return s == SPAN_DIRECT && d == SPAN_DIRECT ? LOOK_DIRECT : LOOK_INDIRECT;
}

static void seg_advance(TrnSeg *seg, uint64_t len)
{
    seg->src += len;
    seg->dst += len;
    seg->len -= len;
}

static Look packet_look(TrnEngine *e, const TrnPacket *p)
{
    Look worst = LOOK_DIRECT;
    unsigned i;

    for (i = 0; i < p->num_segs; i++) {
        TrnSeg seg = p->seg[i];

        while (seg.len) {
            Span src, dst;
            uint64_t len;
            Look look = piece_look(e, &seg, &src, &dst, &len);

            if (look > LOOK_INDIRECT) {
                return look;
            }
            worst = MAX(worst, look);
            seg_advance(&seg, len);
        }
    }
    return worst;
}

static void packet_copy(TrnExec *x, TrnEngine *e, const TrnPacket *p)
{
    unsigned i;

    for (i = 0; i < p->num_segs; i++) {
        TrnSeg seg = p->seg[i];

        while (seg.len) {
            Span src, dst;
            uint64_t len;

            piece_look(e, &seg, &src, &dst, &len);
            run_add(x, &dst, &src, len);
            seg_advance(&seg, len);
        }
    }
}

/* Through a buffer. Other devices and our own registers may do anything. */
static Look packet_indirect(TrnExec *x, TrnEngine *e, const TrnPacket *p)
{
    uint32_t epoch = e->epoch;
    unsigned i;

    run_flush(x);
    for (i = 0; i < p->num_segs; i++) {
        TrnSeg seg = p->seg[i];

        while (seg.len && e->epoch == epoch) {
            uint64_t len = MIN(seg.len, BOUNCE_SIZE);
            TrnTarget src, dst;
            Span unused;

            if (span_get(e, seg.src, false, &unused, &len, &src) == SPAN_BAD) {
                return LOOK_BAD_SRC;
            }
            if (span_get(e, seg.dst, true, &unused, &len, &dst) == SPAN_BAD) {
                return LOOK_BAD_DST;
            }
            if (!indirect_read(e->dev, &src, x->bounce, len)) {
                return LOOK_BAD_SRC;
            }
            if (!indirect_write(e->dev, &dst, x->bounce, len)) {
                return LOOK_BAD_DST;
            }
            seg_advance(&seg, len);
        }
    }
    return LOOK_INDIRECT;
}

static Outcome packet_move(TrnExec *x, TrnEngine *e, unsigned q, TrnPacket *p,
                           bool inl, bool *indirect)
{
    uint32_t epoch = e->epoch;
    Span src = { .stack = -1 }, dst = { .stack = -1 };
    uint64_t len = 0;
    Look look = LOOK_DIRECT;

    if (p->num_segs) {
        look = piece_look(e, &p->seg[0], &src, &dst, &len);
    }
    if (look == LOOK_DIRECT && p->num_segs == 1 && len == p->seg[0].len) {
        run_add(x, &dst, &src, len);
    } else {
        look = packet_look(e, p);
        if (look == LOOK_DIRECT) {
            packet_copy(x, e, p);
        } else if (look == LOOK_INDIRECT) {
            if (inl) {
                return LATER;
            }
            *indirect = true;
            look = packet_indirect(x, e, p);
            if (e->epoch != epoch) {
                return STOP;
            }
        }
    }
    if (look > LOOK_INDIRECT) {
        return packet_axi_error(x, e, q, p, look == LOOK_BAD_SRC ? TRN_M2S :
                                                                   TRN_S2M);
    }
    account(x, e, p, src.stack, dst.stack);
    trace_trn_exec_packet(e->dev->routing_id, e->id, q, e->q[q].m2s.head,
                          p->m2s_descs, p->s2m_descs, p->bytes);
    return packet_complete(x, e, q, p, false);
}

/* --- queues and slices ----------------------------------------------------- */

static bool budget_late(const Budget *b)
{
    /* Reading the clock costs as much as moving a small packet. */
    return b->deadline && (b->descs % 16 == 0 || b->bytes % (64 * KiB) == 0) &&
           get_clock() > b->deadline;
}

/* Runs packets of a queue until it is idle or the budget is used up. */
static Outcome queue_run(TrnExec *x, TrnEngine *e, unsigned q, Budget *b)
{
    TrnPacket *p = &x->packet;
    Source src[TRN_UDMA_HW_MAX_PKT_DESCS];
    RingView m2s, s2m;
    Outcome out = WAIT;
    bool indirect = false;

    if (!queue_can_run(e, q)) {
        return WAIT;
    }
    m2s = ring_view(x->dev, &e->q[q].m2s);
    s2m = ring_view(x->dev, &e->q[q].s2m);
    if (b->inl && (!m2s.ptr || !s2m.ptr)) {
        return LATER;
    }
    x->busy = true;
    for (;;) {
        unsigned num_src;

        out = parse_m2s(x, e, q, &m2s, p, src, &num_src);
        if (out == READY) {
            out = parse_s2m(x, e, q, &s2m, p, src);
        }
        if (out == READY) {
            out = b->inl && p->bytes > b->bytes ? LATER :
                  packet_move(x, e, q, p, b->inl, &indirect);
        }
        if (out != DONE) {
            break;
        }
        if (!queue_can_run(e, q)) {
            out = WAIT;
            break;
        }
        b->bytes -= p->bytes;
        b->descs -= MAX(p->m2s_descs, p->s2m_descs);
        /* The map of guest memory may be another one after an indirect access */
        if (indirect || b->bytes <= 0 || b->descs <= 0 || budget_late(b)) {
            out = LATER;
            break;
        }
    }
    run_flush(x);
    x->busy = false;
    return out;
}

static void exec_schedule(TrnExec *x, uint64_t ns)
{
    if (!icount_enabled()) {
        qemu_bh_schedule(x->bh);
    } else if (!timer_pending(x->timer)) {
        timer_mod(x->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
    }
}

static void queue_activate(TrnExec *x, TrnEngine *e, unsigned q)
{
    if (bitmap_empty(x->active, TRN_MAX_ENGINES)) {
        exec_schedule(x, x->dev->gen->packet_ns);
    }
    set_bit(e->id, x->active);
    x->active_q[e->id] |= 1u << q;
}

/* The next queue by turns, over engines and the queues of each */
static bool queue_next(TrnExec *x, unsigned *engine, unsigned *q)
{
    unsigned n = x->dev->num_engines;
    unsigned e = find_next_bit(x->active, n, x->next_engine);
    uint16_t mask;

    if (e >= n) {
        e = find_first_bit(x->active, n);
        if (e >= n) {
            return false;
        }
    }
    mask = x->active_q[e] & -(1u << x->next_q[e]);
    *engine = e;
    *q = ctz32(mask ?: x->active_q[e]);
    x->next_engine = e + 1;
    x->next_q[e] = (*q + 1) % TRN_QUEUES_PER_ENGINE;
    return true;
}

static bool is_single_queue(TrnExec *x, unsigned engine)
{
    return is_power_of_2(x->active_q[engine]) &&
           find_next_bit(x->active, TRN_MAX_ENGINES, engine + 1) >=
           TRN_MAX_ENGINES && find_first_bit(x->active, TRN_MAX_ENGINES) ==
           engine;
}

static void exec_slice(void *opaque)
{
    TrnExec *x = opaque;
    TrnDevice *d = x->dev;
    int64_t bytes = SLICE_BYTES, descs = SLICE_DESCS;
    int64_t deadline = icount_enabled() ? 0 : get_clock() + SLICE_NS;
    unsigned engine, q;
    bool more = false;

    /* What was rung stays rung; the change of run state starts it again. */
    if (!runstate_is_running()) {
        return;
    }
    x->slice_ns = 0;
    while ((more = queue_next(x, &engine, &q)) && bytes > 0 && descs > 0 &&
           (!deadline || get_clock() < deadline)) {
        bool single = is_single_queue(x, engine);
        Budget b = {
            .bytes = single ? bytes : MIN(bytes, TURN_BYTES),
            .descs = single ? descs : MIN(descs, TURN_DESCS),
            .deadline = deadline,
        };
        const Budget start = b;
        Outcome out = queue_run(x, &d->engine[engine], q, &b);

        bytes -= start.bytes - b.bytes;
        descs -= start.descs - b.descs;
        if (out != LATER) {
            x->active_q[engine] &= ~(1u << q);
            if (!x->active_q[engine]) {
                clear_bit(engine, x->active);
            }
        }
    }
    trace_trn_exec_slice(d->routing_id, SLICE_BYTES - bytes,
                         SLICE_DESCS - descs, more);
    if (more) {
        exec_schedule(x, x->slice_ns);
    }
}

static void exec_timer(void *opaque)
{
    TrnExec *x = opaque;
    MemReentrancyGuard *guard = &DEVICE(x->dev)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    /* As a guarded bottom half does: our own registers are out of reach. */
    guard->engaged_in_io = true;
    exec_slice(x);
    guard->engaged_in_io = engaged;
}

void trn_exec_kick(TrnEngine *e, unsigned q)
{
    TrnExec *x = e->dev->exec;
    Budget b = { .bytes = INLINE_BYTES, .descs = INLINE_DESCS, .inl = true };

    if (!queue_can_run(e, q) || !trn_fw_device_up(e->dev)) {
        return;
    }
    if (x->busy || queue_run(x, e, q, &b) == LATER) {
        queue_activate(x, e, q);
    }
}

void trn_exec_kick_all(TrnDevice *d)
{
    unsigned i, q;

    for (i = 0; i < d->num_engines; i++) {
        for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
            if (queue_can_run(&d->engine[i], q)) {
                queue_activate(d->exec, &d->engine[i], q);
            }
        }
    }
}

void trn_exec_reset(TrnDevice *d)
{
    TrnExec *x = d->exec;

    bitmap_zero(x->active, TRN_MAX_ENGINES);
    memset(x->active_q, 0, sizeof(x->active_q));
    memset(x->next_q, 0, sizeof(x->next_q));
    x->next_engine = 0;
    qemu_bh_cancel(x->bh);
    timer_del(x->timer);
}

static void exec_run_state(void *opaque, bool running, RunState state)
{
    TrnExec *x = opaque;

    if (running) {
        trn_exec_kick_all(x->dev);
        if (!bitmap_empty(x->active, TRN_MAX_ENGINES)) {
            exec_schedule(x, x->dev->gen->packet_ns);
        }
    }
}

bool trn_exec_init(TrnDevice *d, Error **errp)
{
    TrnExec *x = d->exec = g_new0(TrnExec, 1);

    x->dev = d;
    x->bounce = g_malloc(BOUNCE_SIZE);
    x->bh = qemu_bh_new_guarded(exec_slice, x,
                                &DEVICE(d)->mem_reentrancy_guard);
    x->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, exec_timer, x);
    x->vmstate = qdev_add_vm_change_state_handler(DEVICE(d), exec_run_state, x);
    return true;
}

void trn_exec_exit(TrnDevice *d)
{
    TrnExec *x = d->exec;

    if (!x) {
        return;
    }
    qemu_del_vm_change_state_handler(x->vmstate);
    qemu_bh_delete(x->bh);
    timer_free(x->timer);
    g_free(x->bounce);
    g_clear_pointer(&d->exec, g_free);
}
