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
 * A bottom half that schedules itself again gives the big lock away only for
 * a moment, too short for a vCPU that has to be woken first. So every few
 * milliseconds the slices of all chips pause for as long as that takes.
 *
 * A packet runs when all its M2S descriptors, FIRST to LAST, and enough S2M
 * descriptors for its bytes were rung. All its addresses are looked at before
 * the first byte moves: a packet that leads nowhere moves nothing. Packets of
 * a queue run in order here, whatever barriers they have; udma-reorder.c is
 * the other way.
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "fabric.h"
#include "fault.h"
#include "trace.h"

#define INLINE_BYTES (68 * KiB)         /* 64 KiB and a marker */
#define INLINE_DESCS 32
#define SLICE_BYTES (1 * MiB)
#define SLICE_DESCS 256
#define SLICE_NS (500 * SCALE_US)
/* Of one queue when others wait; below TRN_COPY_LARGE copies are half as fast. */
#define TURN_BYTES (2 * TRN_COPY_LARGE)
#define TURN_DESCS 64
#define DWRR_WEIGHT 16                  /* that gives a queue such turns */
#define BOUNCE_SIZE (64 * KiB)
#define ROW_NS (2 * SCALE_MS)           /* slices without a pause */
#define PAUSE_NS (50 * SCALE_US)

struct TrnExec {
    TrnDevice *dev;
    QEMUBH *bh;
    QEMUTimer *timer;           /* instead of the bottom half, see above */
    QEMUTimer *pause;           /* the bottom half goes on after it */
    VMChangeStateEntry *vmstate;
    TrnReorder *reorder;        /* NULL: in order */

    /* Queues with work for the next slice */
    unsigned long active[BITS_TO_LONGS(TRN_MAX_ENGINES)];
    uint16_t active_q[TRN_MAX_ENGINES];
    unsigned next_engine;
    uint8_t next_q[TRN_MAX_ENGINES];
    /* What a queue may still move before it is the next one's turn */
    int64_t credit[TRN_MAX_ENGINES][TRN_QUEUES_PER_ENGINE];
    bool busy;

    /* Adjoining copies become one memcpy: what was not yet copied */
    TrnSpan run_src, run_dst;
    uint64_t run_len;

    int64_t busy_since;         /* see bench.c; 0: no slice will follow */
    uint64_t busy_ns;
    TrnPacket packet;
    uint8_t *bounce;
};

/* Slices in a row, of any chip, host time; the big lock protects it */
static struct {
    int64_t start, end, pause_end;
} row;

typedef struct Budget {
    int64_t bytes;
    int descs;
    int64_t deadline;           /* host time; 0: none */
    const uint64_t *until_ns;   /* model time, in a fabric: of the next queue */
    uint64_t start_ns;          /* out: of the packet that is later than that */
    bool inl;                   /* inside the doorbell's register write */
} Budget;

typedef enum Outcome {
    DONE,                       /* consumed, with or without an error */
    WAIT,                       /* descriptors are missing */
    LATER,                      /* not inside a register write, or no budget */
    STOP,                       /* queue or engine stopped, or rings changed */
} Outcome;

/* --- memory --- */

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
    } else if (len == 8 && QEMU_PTR_IS_ALIGNED(dst, 8)) {
        qatomic_set__nocheck((uint64_t *)dst, ldq_he_p(src));
    } else if (len > TRN_DESC_MAX_LEN) {
        trn_copy(dst, src, len);    /* merged, so they do not overlap */
    } else {
        memmove(dst, src, len);
    }
    if (x->run_dst.host) {
        trn_host_dirty(x->run_dst.host, dst, len);
    }
}

static void run_add(TrnExec *x, const TrnSpan *dst, const TrnSpan *src,
                    uint64_t len)
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

/* --- completion --- */

bool trn_queue_can_run(const TrnEngine *e, unsigned q)
{
    const uint32_t on = TRN_UDMA_Q_CFG_PREFETCH | TRN_UDMA_Q_CFG_SCHED;
    const TrnQueue *qp = &e->q[q];

    return qp->m2s.pending && qp->s2m.pending && !(e->stuck & 1u << q) &&
           (qp->m2s.cfg & on) == on && (qp->s2m.cfg & on) == on &&
           trn_udma_running(e);
}

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
    uint32_t epoch = e->epoch;
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
                               raw, sizeof(raw)) &&
                trn_udma_error(e, side, side == TRN_M2S ?
                               TRN_M2S_ERR_COMP_AXI_RESP :
                               TRN_S2M_ERR_COMP_AXI_RESP)) {
                return false;
            }
            /* The write, or its interrupt, may have been a reset. */
            if (e->epoch != epoch) {
                return false;
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

void trn_packet_interrupt(TrnEngine *e, unsigned q, const TrnPacket *p)
{
    if (p->s2m_int) {
        trn_iofic_queue(e, q, TRN_S2M);
    }
    if (p->m2s_int) {
        trn_iofic_queue(e, q, TRN_M2S);
    }
}

bool trn_packet_retire(TrnEngine *e, unsigned q, const TrnPacket *p, bool error)
{
    uint32_t epoch = e->epoch;

    trace_trn_exec_packet(e->dev->routing_id, e->id, q, e->q[q].m2s.head,
                          p->m2s_descs, p->s2m_descs, p->bytes);
    trn_ring_advance(&e->q[q].m2s, p->m2s_descs);
    trn_ring_advance(&e->q[q].s2m, p->s2m_descs);
    if (unlikely(trn_notific_enabled(&e->notific, 0))) {
        dma_trace(e, q, p->bytes, error);
    }
    return e->epoch == epoch &&
           comp_write(e, q, TRN_S2M, p->s2m_descs, p->bytes, error) &&
           comp_write(e, q, TRN_M2S, p->m2s_descs, p->bytes, error);
}

bool trn_packet_causes(TrnEngine *e, const TrnPacket *p)
{
    uint32_t epoch = e->epoch;
    TrnSide side;

    for (side = TRN_M2S; side <= TRN_S2M; side++) {
        /* The interrupt of an error that does not abort may be a reset. */
        if (p->cause[side] && (trn_udma_error(e, side, p->cause[side]) ||
                               e->epoch != epoch)) {
            return false;
        }
    }
    return true;
}

bool trn_packet_fail(TrnEngine *e, unsigned q, TrnPacket *p)
{
    if ((p->cause[TRN_M2S] & TRN_M2S_ERR_DATA_AXI_RESP) ||
        (p->cause[TRN_S2M] & TRN_S2M_ERR_DATA_AXI_RESP)) {
        trn_udma_axi_error(e, q);
        trn_fabric_fail(e, p);
    }
    /* If it aborts the engine, the heads stay at the packet. */
    return trn_packet_causes(e, p) && trn_packet_retire(e, q, p, true);
}

/* --- a packet, in order --- */

/*
 * What was looked at may be another thing now: maps of guest memory run out,
 * and the guest changes the tables of its IOMMU when it likes.
 */
static TrnSpanKind packet_copy(TrnExec *x, TrnEngine *e, TrnPacket *p)
{
    TrnSpanKind kind;
    unsigned i;

    for (i = 0; i < p->num_segs; i++) {
        TrnSeg seg = p->seg[i];

        while (seg.len) {
            TrnSpan src, dst;
            uint64_t len;

            kind = trn_piece_get(e, p, &seg, &src, &dst, &len);
            if (unlikely(kind != TRN_SPAN_DIRECT)) {
                return kind;
            }
            run_add(x, &dst, &src, len);
            trn_seg_advance(&seg, len);
        }
    }
    return TRN_SPAN_DIRECT;
}

/* Through a buffer. The engine may be another one afterwards: look at epoch. */
static TrnSpanKind packet_indirect(TrnExec *x, TrnEngine *e, TrnPacket *p)
{
    uint32_t epoch = e->epoch;
    unsigned i;

    run_flush(x);
    for (i = 0; i < p->num_segs; i++) {
        TrnSeg seg = p->seg[i];

        while (seg.len && e->epoch == epoch) {
            uint64_t len = MIN(seg.len, BOUNCE_SIZE);
            TrnTarget src, dst;
            TrnSpan unused;

            if (trn_span_get(e, p, seg.src, false, &unused, &len, &src) ==
                TRN_SPAN_BAD ||
                trn_span_get(e, p, seg.dst, true, &unused, &len, &dst) ==
                TRN_SPAN_BAD ||
                !trn_indirect_read(p, &src, x->bounce, len)) {
                trn_packet_fault(p, TRN_M2S);
                return TRN_SPAN_BAD;
            }
            if (e->epoch != epoch) {
                break;
            }
            /* The read may have unplugged the chip that @dst points into. */
            if ((p->far && trn_span_get(e, p, seg.dst, true, &unused, &len,
                                        &dst) == TRN_SPAN_BAD) ||
                !trn_indirect_write(p, &dst, x->bounce, len)) {
                trn_packet_fault(p, TRN_S2M);
                return TRN_SPAN_BAD;
            }
            trn_seg_advance(&seg, len);
        }
    }
    return TRN_SPAN_INDIRECT;
}

/* The packet's bytes were moved. */
static Outcome packet_done(TrnExec *x, TrnEngine *e, unsigned q, int src_stack,
                           int dst_stack)
{
    TrnPacket *p = &x->packet;

    trn_packet_account(e, q, p, src_stack, dst_stack);
    /* Whoever is told that it is done must find the data. */
    if (unlikely(p->s2m_int || p->m2s_int ||
                 ((e->q[q].m2s.comp_cfg | e->q[q].s2m.comp_cfg) &
                  TRN_UDMA_Q_COMP_CFG_RING) ||
                 trn_notific_enabled(&e->notific, 0))) {
        run_flush(x);
    }
    if (!trn_packet_retire(e, q, p, false)) {
        return STOP;
    }
    trn_packet_interrupt(e, q, p);
    return DONE;
}

static Outcome packet_semaphore(TrnExec *x, TrnEngine *e, unsigned q)
{
    run_flush(x);
    switch (trn_sem_run(e, q, &x->packet)) {
    case TRN_SEM_PARKED:
        return WAIT;
    case TRN_SEM_BAD:
        return trn_packet_fail(e, q, &x->packet) ? DONE : STOP;
    default:
        return packet_done(x, e, q, -1, -1);
    }
}

static Outcome packet_run(TrnExec *x, TrnEngine *e, unsigned q, bool inl,
                          bool *indirect)
{
    TrnPacket *p = &x->packet;
    TrnSpan src = { .stack = -1 }, dst = { .stack = -1 };
    TrnSpanKind kind = TRN_SPAN_DIRECT;
    uint32_t epoch = e->epoch;
    uint64_t len = 0;

    if (unlikely(e->dev->fab)) {
        e->now_ns = trn_packet_start(e, q, p);
    }
    if (unlikely(p->op_type == TRN_META_OP_TYPE_SEMAPHORE)) {
        return packet_semaphore(x, e, q);
    }
    if (p->num_segs) {
        kind = trn_piece_get(e, p, &p->seg[0], &src, &dst, &len);
    }
    if (kind == TRN_SPAN_DIRECT && p->num_segs == 1 && len == p->seg[0].len) {
        if (likely(e->dev->payload) || !trn_packet_hollow(e, p)) {
            run_add(x, &dst, &src, len);
        }
    } else if (p->num_segs) {
        kind = trn_packet_look(e, p);
        if (unlikely(!e->dev->payload) && kind != TRN_SPAN_BAD &&
            trn_packet_hollow(e, p)) {
            kind = TRN_SPAN_DIRECT;
        } else if (kind == TRN_SPAN_DIRECT) {
            kind = packet_copy(x, e, p);
        }
        if (kind == TRN_SPAN_INDIRECT) {
            if (inl) {
                return LATER;
            }
            *indirect = true;
            kind = packet_indirect(x, e, p);
            if (e->epoch != epoch) {
                return STOP;
            }
        }
    }
    if (unlikely(kind == TRN_SPAN_BAD)) {
        run_flush(x);
        return trn_packet_fail(e, q, p) ? DONE : STOP;
    }
    return packet_done(x, e, q, src.stack, dst.stack);
}

/* A packet while faults are asked for: it may be one of those. */
static Outcome packet_run_faulty(TrnExec *x, TrnEngine *e, unsigned q,
                                 bool *indirect)
{
    TrnPacket *p = &x->packet;
    uint32_t epoch = e->epoch;
    TrnFaultDma fault;
    Outcome out;

    run_flush(x);
    /* What waits is not counted yet. */
    if (trn_sem_parks(e, q, p)) {
        return WAIT;
    }
    fault = trn_fault_packet(e, q, p);
    if (e->epoch != epoch) {
        return STOP;
    }
    if (fault == TRN_FAULT_ABORT) {
        return trn_packet_fail(e, q, p) ? DONE : STOP;
    }
    out = packet_run(x, e, q, false, indirect);
    if (fault == TRN_FAULT_CORRUPT && out == DONE) {
        run_flush(x);
        trn_fault_corrupt(e, p);
    }
    return out;
}

/* --- queues and slices --- */

static bool budget_late(const Budget *b)
{
    /* Reading the clock costs as much as moving a small packet. */
    return b->deadline && (b->descs % 16 == 0 || b->bytes % (64 * KiB) == 0) &&
           get_clock() > b->deadline;
}

/* In a fabric: another queue is to go on first. */
static bool is_later(TrnEngine *e, unsigned q, const TrnPacket *p, Budget *b)
{
    uint64_t start;

    if (b->inl) {
        return !trn_sched_idle(e->dev);
    }
    start = trn_packet_start(e, q, p);
    if (p->strong_order && e->dev->fab->fabric->enforce) {
        start = MAX(start, e->q[q].end_ns);
    }
    if (start > *b->until_ns) {
        b->start_ns = start;
        return true;
    }
    return false;
}

/* Runs packets of a queue until it is idle or the budget is used up. */
static Outcome queue_run(TrnExec *x, TrnEngine *e, unsigned q, Budget *b)
{
    TrnPacket *p = &x->packet;
    TrnRingView m2s = { .ring = &e->q[q].m2s, .inl = b->inl };
    TrnRingView s2m = { .ring = &e->q[q].s2m, .inl = b->inl };
    Outcome out = WAIT;
    bool indirect = false;

    if (!trn_queue_can_run(e, q)) {
        return WAIT;
    }
    x->busy = true;
    for (;;) {
        TrnParse parse = trn_packet_parse(e, q, &m2s, &s2m, 0, 0, p);

        if (m2s.later || s2m.later) {
            out = LATER;
            break;
        }
        if (unlikely((p->cause[TRN_M2S] | p->cause[TRN_S2M]) &&
                     parse != TRN_PARSE_WAIT)) {
            run_flush(x);
            if (parse == TRN_PARSE_BAD) {
                out = trn_packet_fail(e, q, p) ? DONE : STOP;
            } else if (!trn_packet_causes(e, p)) {
                out = STOP;
                break;
            }
        }
        if (parse == TRN_PARSE_WAIT) {
            out = WAIT;
        } else if (unlikely(x->dev->fab) && !x->reorder &&
                   is_later(e, q, p, b)) {
            out = LATER;
        } else if (parse == TRN_PARSE_READY && unlikely(x->dev->fault_dma)) {
            out = b->inl ? LATER : packet_run_faulty(x, e, q, &indirect);
        } else if (parse == TRN_PARSE_READY) {
            out = b->inl && p->bytes > b->bytes ? LATER :
                  packet_run(x, e, q, b->inl, &indirect);
        }
        if (out != DONE) {
            break;
        }
        if (!trn_queue_can_run(e, q)) {
            out = WAIT;
            break;
        }
        b->bytes -= p->bytes;
        b->descs -= MAX(p->m2s_descs, p->s2m_descs);
        /* After an indirect access guest memory may be mapped otherwise. */
        if (indirect || b->bytes <= 0 || b->descs <= 0 || budget_late(b)) {
            out = LATER;
            break;
        }
    }
    run_flush(x);
    trn_host_release(x->dev);
    x->busy = false;
    return out;
}

/* Modelled time of what the queue will do in a slice, under -icount */
static uint64_t queue_estimate(TrnEngine *e, unsigned q)
{
    const TrnGeneration *g = e->dev->gen;
    const TrnRing *r = &e->q[q].m2s;
    uint64_t bytes = 0;
    uint32_t i, n = MIN(r->pending, SLICE_DESCS);

    for (i = 0; i < n && bytes < SLICE_BYTES; i++) {
        uint32_t index = (r->head + (uint64_t)i) % r->len, w0;

        if (!trn_axi_read(e->dev, r->base + (uint64_t)index * TRN_DESC_SIZE,
                          &w0, sizeof(w0))) {
            break;
        }
        bytes += le32_to_cpu(w0) & TRN_DESC_LEN_MASK ?: TRN_DESC_MAX_LEN;
    }
    return i * g->packet_ns + bytes * 1000 / g->engine_bytes_per_us;
}

static bool exec_on_virtual_clock(TrnExec *x)
{
    return x->reorder || icount_enabled();
}

static void exec_schedule(TrnExec *x, uint64_t ns)
{
    if (!exec_on_virtual_clock(x)) {
        qemu_bh_schedule(x->bh);
    } else if (!timer_pending(x->timer)) {
        timer_mod(x->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
    }
}

static void queue_activate(TrnExec *x, TrnEngine *e, unsigned q)
{
    if (x->dev->fab && !x->reorder) {
        trn_sched_add(e, q, 0);
        return;
    }
    set_bit(e->id, x->active);
    x->active_q[e->id] |= 1u << q;
    exec_schedule(x, icount_enabled() ? queue_estimate(e, q) : 0);
}

/* The next queue by turns, over engines and the queues of each */
static bool queue_peek(TrnExec *x, unsigned *engine, unsigned *q)
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
    return true;
}

/* @more: of the engine's next turn, it is this queue's, too */
static void queue_took_turn(TrnExec *x, unsigned engine, unsigned q, bool more)
{
    x->next_engine = engine + 1;
    x->next_q[engine] = (q + !more) % TRN_QUEUES_PER_ENGINE;
}

/* Deficit round robin: bytes that a queue moves between those of the others */
static int64_t queue_quantum(const TrnEngine *e, unsigned q)
{
    uint32_t cfg = e->m2s_regs[(TRN_UDMA_M2S_DWRR_CFG - TRN_UDMA_M2S_AXI) / 4];
    uint32_t weight = e->q[q].m2s.other[TRN_UDMA_M2S_Q_DWRR_CFG_3 / 4] &
                      TRN_UDMA_Q_DWRR_WEIGHT_MASK;

    if (!(cfg & TRN_UDMA_DWRR_EN)) {
        return TURN_BYTES;
    }
    return MAX(weight, 1) * (TURN_BYTES / DWRR_WEIGHT);
}

/* Only one queue has work */
static bool is_alone(TrnExec *x, unsigned engine)
{
    return is_power_of_2(x->active_q[engine]) &&
           find_first_bit(x->active, TRN_MAX_ENGINES) == engine &&
           find_next_bit(x->active, TRN_MAX_ENGINES, engine + 1) >=
           TRN_MAX_ENGINES;
}

void trn_exec_row(int64_t now)
{
    if (now - row.end > PAUSE_NS) {
        row.start = now;
    }
}

void trn_exec_go_on(QEMUBH *bh, QEMUTimer *pause)
{
    row.end = get_clock();
    if (row.end >= row.pause_end && row.end - row.start > ROW_NS) {
        row.pause_end = row.end + PAUSE_NS;
        row.start = row.pause_end;
    }
    if (row.end < row.pause_end) {
        timer_mod(pause, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
                         row.pause_end - row.end);
    } else {
        qemu_bh_schedule(bh);
    }
}

static void exec_slice(TrnExec *x)
{
    TrnDevice *d = x->dev;
    int64_t bytes = SLICE_BYTES, descs = SLICE_DESCS;
    int64_t now = get_clock();
    int64_t deadline = icount_enabled() ? 0 : now + SLICE_NS;
    unsigned engine, q;
    bool more;

    if (!x->busy_since) {
        x->busy_since = trn_bench_clock();
    }
    trn_exec_row(now);
    while ((more = queue_peek(x, &engine, &q)) && bytes > 0 && descs > 0 &&
           (!deadline || get_clock() < deadline)) {
        bool alone = is_alone(x, engine);
        int64_t *credit = &x->credit[engine][q];
        Budget b = {
            .descs = alone ? descs : MIN(descs, TURN_DESCS),
            .deadline = deadline,
        };
        Budget start;
        Outcome out;

        while (*credit <= 0) {
            *credit += queue_quantum(&d->engine[engine], q);
        }
        b.bytes = alone ? bytes : MIN(bytes, MIN(TURN_BYTES, *credit));
        start = b;
        out = queue_run(x, &d->engine[engine], q, &b);
        *credit -= MAX(start.bytes - b.bytes, (int64_t)(start.descs - b.descs) *
                                              (TURN_BYTES / TURN_DESCS));
        /* Nothing is saved up by a queue that is alone or has no work. */
        if (alone || out != LATER) {
            *credit = 0;
        }
        queue_took_turn(x, engine, q, *credit > 0);
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
    if (more && icount_enabled()) {
        exec_schedule(x, queue_estimate(&d->engine[engine], q));
    } else if (more) {
        trn_exec_go_on(x->bh, x->pause);
    } else if (x->busy_since) {     /* no reset meanwhile */
        x->busy_ns += trn_bench_clock() - x->busy_since;
        x->busy_since = 0;
    }
}

uint64_t trn_exec_busy_ns(TrnDevice *d)
{
    return d->exec->busy_ns;
}

static void exec_run(TrnExec *x)
{
    uint64_t ns;

    /* What was rung stays rung; the change of run state starts it again. */
    if (!runstate_is_running() || x->dev->gone) {
        return;
    }
    if (!x->reorder) {
        exec_slice(x);
        return;
    }
    x->busy = true;
    ns = trn_reorder_run(x->reorder);
    trn_host_release(x->dev);
    x->busy = false;
    if (ns) {
        exec_schedule(x, ns);
    }
}

/*
 * As a guarded bottom half does: our own registers are out of reach. DMA may
 * switch off the power of the chip's own slot: the chip stays until it is over.
 */
static void exec_guarded(TrnExec *x, void (*fn)(TrnExec *x))
{
    g_autoptr(Object) hold = object_ref(OBJECT(x->dev));
    MemReentrancyGuard *guard = &DEVICE(hold)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    guard->engaged_in_io = true;
    fn(x);
    guard->engaged_in_io = engaged;
}

bool trn_exec_turn(TrnEngine *e, unsigned q, int64_t *bytes, int64_t *descs,
                   int64_t deadline, const uint64_t *until_ns,
                   uint64_t *start_ns)
{
    MemReentrancyGuard *guard = &DEVICE(e->dev)->mem_reentrancy_guard;
    Budget b = {
        .bytes = *bytes, .descs = *descs, .deadline = deadline,
        .until_ns = until_ns,
    };
    bool engaged = guard->engaged_in_io;
    Outcome out;

    if (e->dev->gone) {
        return false;
    }
    guard->engaged_in_io = true;
    out = queue_run(e->dev->exec, e, q, &b);
    guard->engaged_in_io = engaged;
    *bytes = b.bytes;
    /* Also a turn that only found out that others are first */
    *descs = MIN(b.descs, *descs - 1);
    *start_ns = b.start_ns;
    return out == LATER;
}

static void exec_go(void *opaque)
{
    exec_guarded(opaque, exec_run);
}

void trn_exec_kick(TrnEngine *e, unsigned q)
{
    TrnExec *x = e->dev->exec;
    Budget b = { .bytes = INLINE_BYTES, .descs = INLINE_DESCS, .inl = true };

    if (!trn_queue_can_run(e, q) || !trn_fw_device_up(e->dev)) {
        return;
    }
    if (x->reorder) {
        trn_reorder_kick(x->reorder, e, q);
        exec_schedule(x, x->dev->gen->packet_ns);
        return;
    }
    if (x->dev->fab && trn_sched_idle(x->dev)) {
        e->q[q].base_ns = trn_sched_now(x->dev);
    }
    if (x->busy || queue_run(x, e, q, &b) == LATER) {
        queue_activate(x, e, q);
    }
}

void trn_exec_wake(TrnEngine *e, unsigned q, uint64_t ns)
{
    TrnExec *x = e->dev->exec;

    if (x->dev->fab) {
        trn_time_resume(e, q, ns);
    }
    if (x->reorder) {
        trn_reorder_kick(x->reorder, e, q);
        exec_schedule(x, e->dev->gen->packet_ns);
    } else {
        queue_activate(x, e, q);
    }
}

void trn_exec_kick_all(TrnDevice *d)
{
    unsigned i, q;

    for (i = 0; i < d->num_engines; i++) {
        for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
            TrnEngine *e = &d->engine[i];

            if (!trn_queue_can_run(e, q)) {
                continue;
            }
            if (d->exec->reorder) {
                trn_reorder_kick(d->exec->reorder, e, q);
            }
            queue_activate(d->exec, e, q);
        }
    }
}

void trn_exec_drop(TrnEngine *e, int q)
{
    e->epoch++;
    trn_sem_unpark(e, q);
    if (e->dev->exec->reorder) {
        trn_reorder_drop(e->dev->exec->reorder, e, q);
    }
}

void trn_exec_reset(TrnDevice *d)
{
    TrnExec *x = d->exec;
    unsigned i;

    for (i = 0; i < d->num_engines; i++) {
        trn_sem_unpark(&d->engine[i], -1);
    }
    trn_sched_forget(d);
    bitmap_zero(x->active, TRN_MAX_ENGINES);
    memset(x->active_q, 0, sizeof(x->active_q));
    memset(x->next_q, 0, sizeof(x->next_q));
    x->next_engine = 0;
    x->busy_since = 0;
    x->run_len = 0;
    qemu_bh_cancel(x->bh);
    timer_del(x->timer);
    timer_del(x->pause);
    if (x->reorder) {
        trn_reorder_reset(x->reorder);
    }
}

/* Half-done packets are not part of the migration stream. */
static void exec_finish(TrnExec *x)
{
    if (x->reorder) {
        x->busy = true;
        trn_reorder_finish(x->reorder);
        trn_host_release(x->dev);
        x->busy = false;
    }
}

static void exec_run_state(void *opaque, bool running, RunState state)
{
    TrnExec *x = opaque;

    if (running) {
        trn_exec_kick_all(x->dev);
    } else {
        exec_guarded(x, exec_finish);
    }
}

bool trn_exec_init(TrnDevice *d, Error **errp)
{
    TrnExec *x = d->exec = g_new0(TrnExec, 1);

    x->dev = d;
    x->bounce = g_malloc(BOUNCE_SIZE);
    /* A guard of ours: the bottom half would touch the chip's after the call. */
    x->bh = qemu_bh_new_guarded(exec_go, x, NULL);
    x->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, exec_go, x);
    x->pause = timer_new_ns(QEMU_CLOCK_REALTIME, exec_go, x);
    x->vmstate = qdev_add_vm_change_state_handler(DEVICE(d), exec_run_state, x);
    if (d->reorder_seed) {
        x->reorder = trn_reorder_new(d, d->reorder_seed);
    }
    return true;
}

void trn_exec_exit(TrnDevice *d)
{
    if (d->exec) {
        qemu_del_vm_change_state_handler(d->exec->vmstate);
        trn_exec_reset(d);
    }
}

void trn_exec_finalize(TrnDevice *d)
{
    TrnExec *x = d->exec;

    if (!x) {
        return;
    }
    qemu_bh_delete(x->bh);
    timer_free(x->timer);
    timer_free(x->pause);
    if (x->reorder) {
        trn_reorder_free(x->reorder);
    }
    g_free(x->bounce);
    g_clear_pointer(&d->exec, g_free);
}
