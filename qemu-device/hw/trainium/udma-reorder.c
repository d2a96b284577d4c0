/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executor of the property "reorder": does all that the barriers allow,
 * in an order drawn from a seed, to find software that leaves out a barrier.
 *
 * A window of packets is in flight, of several queues at once. Each piece of a
 * packet (what lies in one source and one destination descriptor) is read at
 * one step and written at a later one. The next step is drawn from those that
 * are allowed:
 *
 *  - Reads and writes of different queues are not ordered at all.
 *  - Within a queue, nothing is ordered unless one of these says so:
 *    DMB (M2S descriptor, word 0 bit 30): the packet, and with it all behind
 *    it, starts to read only when all packets before it are complete.
 *    Write barrier (meta control bit 26): writes of later packets come after
 *    all writes of this packet and of those before it. Reads are not held up.
 *    Strong order (S2M descriptor, word 0 bit 29): writes of this packet come
 *    after all writes of the packets before it. Later packets are not held up.
 *    A barrier in any descriptor of a packet counts for the whole packet.
 *    A packet that waits for a semaphore is a barrier for everything.
 *  - A packet is complete when it is written. It interrupts at that moment,
 *    even if earlier packets are not complete: so does a marker, if nothing
 *    orders it. Ring heads and completion rings move in ring order.
 *
 * When a packet that the guest may look for (a small one: markers are; or one
 * that interrupts) overtook another one, the next step waits long enough for
 * the guest to notice. Steps are on the virtual clock. Errors are precise: a
 * packet that will fail is taken in when all before it are done.
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/timer.h"
#include "trainium.h"
#include "udma.h"

#define WINDOW 32               /* packets in flight */
#define WINDOW_QUEUE 8          /* of one queue */
#define WINDOW_BYTES (4u << 20)
#define STEPS_MAX 64
#define TAKE_MAX 64             /* packets looked at before the next step */
#define NOTICED_BYTES 64
#define PAUSE_SHORT_NS (2 * SCALE_US)
#define PAUSE_SEEN_NS (100 * SCALE_US)

typedef struct Flight {
    TrnEngine *engine;          /* NULL: free */
    unsigned q;
    uint64_t number;            /* age: packets of a queue are in this order */
    bool complete;
    unsigned reads_left, writes_left;
    DECLARE_BITMAP(read, TRN_PKT_MAX_SEGS);
    DECLARE_BITMAP(written, TRN_PKT_MAX_SEGS);
    uint8_t *data;
    TrnPacket p;
} Flight;

struct TrnReorder {
    TrnDevice *dev;
    uint64_t seed, random;
    uint64_t next_number;
    uint32_t bytes;             /* in flight */
    /* Queues that may have packets to take in, and where that goes on */
    unsigned long active[BITS_TO_LONGS(TRN_MAX_ENGINES)];
    uint16_t active_q[TRN_MAX_ENGINES];
    unsigned next_engine;
    bool seen;                  /* the last step is one to be noticed */
    Flight flight[WINDOW];
    uint8_t *moving;            /* data of a flight, while a piece is moved */
    TrnPacket packet;
};

/* xorshift64*: any seed but 0 */
static uint32_t draw(TrnReorder *r, uint32_t n)
{
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return ((r->random * 0x2545f4914f6cdd1dull) >> 32) % n;
}

static void flight_free(TrnReorder *r, Flight *f)
{
    r->bytes -= f->p.bytes;
    /* A reset by what is just being moved: do_step() frees it. */
    if (f->data != r->moving) {
        g_free(f->data);
    }
    f->data = NULL;
    f->engine = NULL;
}

static bool same_queue(const Flight *a, const Flight *b)
{
    return a->engine == b->engine && a->q == b->q;
}

/* --- what is allowed --- */

static bool may_read(TrnReorder *r, const Flight *f)
{
    uint64_t oldest = UINT64_MAX, dmb = 0;
    unsigned i;

    /* The last packet with a DMB, up to this one, must find itself oldest. */
    for (i = 0; i < WINDOW; i++) {
        const Flight *o = &r->flight[i];

        if (o->engine && same_queue(o, f) && o->number <= f->number) {
            if (!o->complete) {
                oldest = MIN(oldest, o->number);
            }
            if (o->p.dmb) {
                dmb = MAX(dmb, o->number);
            }
        }
    }
    return !dmb || oldest >= dmb;
}

static bool may_write(TrnReorder *r, const Flight *f)
{
    uint64_t oldest = UINT64_MAX, barrier = 0;
    unsigned i;

    for (i = 0; i < WINDOW; i++) {
        const Flight *o = &r->flight[i];

        if (o->engine && same_queue(o, f) && o->number < f->number) {
            if (!o->complete) {
                oldest = MIN(oldest, o->number);
            }
            if (o->p.write_barrier) {
                barrier = MAX(barrier, o->number);
            }
        }
    }
    if (f->p.strong_order && oldest != UINT64_MAX) {
        return false;
    }
    return !barrier || oldest > barrier;
}

/* --- taking in --- */

/* Packets of the queue in flight, and the descriptors they hold */
static unsigned queue_flights(TrnReorder *r, TrnEngine *e, unsigned q,
                              uint32_t *m2s, uint32_t *s2m)
{
    unsigned i, n = 0;

    *m2s = *s2m = 0;
    for (i = 0; i < WINDOW; i++) {
        const Flight *f = &r->flight[i];

        if (f->engine == e && f->q == q) {
            *m2s += f->p.m2s_descs;
            *s2m += f->p.s2m_descs;
            n++;
        }
    }
    return n;
}

static Flight *flight_new(TrnReorder *r)
{
    unsigned i;

    for (i = 0; i < WINDOW; i++) {
        if (!r->flight[i].engine) {
            return &r->flight[i];
        }
    }
    return NULL;
}

typedef enum Take {
    TAKEN,                      /* or dropped as bad: there may be more */
    NO_ROOM,                    /* later, when something is complete */
    NOTHING,                    /* before the next doorbell */
} Take;

/* A wait is a barrier for all packets of its queue: it never is in flight. */
static Take queue_wait(TrnEngine *e, unsigned q, TrnPacket *p)
{
    uint32_t epoch = e->epoch;

    switch (trn_sem_run(e, q, p)) {
    case TRN_SEM_PARKED:
        return NOTHING;
    case TRN_SEM_BAD:
        return trn_packet_fail(e, q, p) ? TAKEN : NOTHING;
    default:
        trn_packet_account(e, q, p, -1, -1);
        trn_packet_interrupt(e, q, p);
        return e->epoch == epoch && trn_packet_retire(e, q, p, false) ?
               TAKEN : NOTHING;
    }
}

static Take queue_take(TrnReorder *r, TrnEngine *e, unsigned q)
{
    TrnPacket *p = &r->packet;
    TrnRingView m2s = { .ring = &e->q[q].m2s };
    TrnRingView s2m = { .ring = &e->q[q].s2m };
    uint32_t m2s_skip, s2m_skip;
    TrnParse parse;
    Flight *f;
    unsigned n;

    if (!trn_queue_can_run(e, q)) {
        return NOTHING;
    }
    n = queue_flights(r, e, q, &m2s_skip, &s2m_skip);
    if (m2s_skip >= e->q[q].m2s.pending || s2m_skip >= e->q[q].s2m.pending) {
        return NOTHING;
    }
    f = flight_new(r);
    if (!f || n >= WINDOW_QUEUE || r->bytes >= WINDOW_BYTES) {
        return NO_ROOM;
    }
    parse = trn_packet_parse(e, q, &m2s, &s2m, m2s_skip, s2m_skip, p);
    if (parse == TRN_PARSE_WAIT) {
        return NOTHING;
    }
    if (parse == TRN_PARSE_READY && trn_packet_look(e, p) == TRN_SPAN_BAD) {
        parse = TRN_PARSE_BAD;
    }
    if (parse == TRN_PARSE_BAD) {
        if (n) {
            return NO_ROOM;
        }
        return trn_packet_fail(e, q, p) ? TAKEN : NOTHING;
    }
    if (!trn_packet_causes(e, p)) {
        return NOTHING;
    }
    if (trn_packet_waits(p)) {
        return n ? NO_ROOM : queue_wait(e, q, p);
    }
    f->engine = e;
    f->q = q;
    f->number = ++r->next_number;
    f->complete = false;
    f->reads_left = f->writes_left = p->num_segs;
    bitmap_zero(f->read, TRN_PKT_MAX_SEGS);
    bitmap_zero(f->written, TRN_PKT_MAX_SEGS);
    f->data = g_malloc(MAX(p->bytes, 1));
    f->p = *p;
    r->bytes += p->bytes;
    return TAKEN;
}

/*
 * Fills the window, one packet of each queue by turns. Bad packets do not fill
 * it: true when there may be more of them than are looked at in one go.
 */
static bool take_in(TrnReorder *r)
{
    unsigned n = r->dev->num_engines, taken = 0;
    bool any;

    do {
        unsigned i, q;

        any = false;
        for (i = 0; i < n; i++) {
            unsigned e = (r->next_engine + i) % n;

            for (q = 0; test_bit(e, r->active) && q < TRN_QUEUES_PER_ENGINE;
                 q++) {
                Take take = NOTHING;

                if (r->active_q[e] & (1u << q)) {
                    take = queue_take(r, &r->dev->engine[e], q);
                }
                any |= take == TAKEN;
                taken += take == TAKEN;
                if (take == NOTHING) {
                    r->active_q[e] &= ~(1u << q);
                }
                if (!r->active_q[e]) {
                    clear_bit(e, r->active);
                }
            }
        }
        r->next_engine = (r->next_engine + 1) % n;
    } while (any && taken < TAKE_MAX);
    return any;
}

void trn_reorder_kick(TrnReorder *r, TrnEngine *e, unsigned q)
{
    set_bit(e->id, r->active);
    r->active_q[e->id] |= 1u << q;
}

/* --- steps --- */

static uint8_t *seg_data(Flight *f, unsigned n)
{
    uint32_t at = 0;

    while (n--) {
        at += f->p.seg[n].len;
    }
    return f->data + at;
}

/*
 * Reads or writes a piece; false when a side failed, with its cause set. The
 * flight may be no more afterwards: what was accessed may have been a reset.
 */
static bool seg_move(Flight *f, unsigned n, bool write)
{
    TrnSeg seg = f->p.seg[n];
    uint8_t *data = seg_data(f, n);

    while (seg.len && f->engine) {
        uint64_t addr = write ? seg.dst : seg.src;
        uint64_t len = seg.len;
        TrnSpanKind kind;
        TrnTarget t;
        TrnSpan s;
        bool ok;

        kind = trn_span_get(f->engine, &f->p, addr, write, &s, &len, &t);
        if (kind == TRN_SPAN_DIRECT && t.kind == TRN_TARGET_HOST) {
            if (write) {
                memcpy(s.ptr, data, len);
                if (s.host) {
                    trn_host_dirty(s.host, s.ptr, len);
                }
            } else {
                memcpy(data, s.ptr, len);
            }
            ok = true;
        } else {
            ok = kind != TRN_SPAN_BAD &&
                 (write ? trn_indirect_write(&f->p, &t, data, len) :
                          trn_indirect_read(&f->p, &t, data, len));
        }
        if (!ok && f->engine) {
            trn_packet_fault(&f->p, write ? TRN_S2M : TRN_M2S);
            return false;
        }
        data += len;
        trn_seg_advance(&seg, len);
    }
    return true;
}

/* Retires what is complete at the front of the queue. */
static void queue_retire(TrnReorder *r, TrnEngine *e, unsigned q)
{
    for (;;) {
        Flight *front = NULL;
        uint32_t epoch = e->epoch;
        unsigned i;

        for (i = 0; i < WINDOW; i++) {
            Flight *f = &r->flight[i];

            if (f->engine == e && f->q == q &&
                (!front || f->number < front->number)) {
                front = f;
            }
        }
        if (!front || !front->complete) {
            return;
        }
        r->packet = front->p;
        flight_free(r, front);
        if (!trn_packet_retire(e, q, &r->packet, r->packet.cause[TRN_M2S] ||
                               r->packet.cause[TRN_S2M]) ||
            e->epoch != epoch) {
            return;
        }
    }
}

/* The packet is complete and one before it in its queue is not. */
static bool overtook(TrnReorder *r, const Flight *f)
{
    unsigned i;

    for (i = 0; i < WINDOW; i++) {
        const Flight *o = &r->flight[i];

        if (o->engine && same_queue(o, f) && !o->complete &&
            o->number < f->number) {
            return true;
        }
    }
    return false;
}

static void flight_done(TrnReorder *r, Flight *f)
{
    TrnEngine *e = f->engine;
    unsigned q = f->q;

    TrnTarget src = { .stack = -1 }, dst = { .stack = -1 };

    if (f->p.num_segs) {
        trn_axi_resolve(r->dev, f->p.seg[0].src, &src);
        trn_axi_resolve(r->dev, f->p.seg[0].dst, &dst);
    }
    f->complete = true;
    f->p.cause[TRN_M2S] = f->p.cause[TRN_S2M] = 0;
    trn_packet_account(e, q, &f->p, src.stack, dst.stack);
    r->seen = (f->p.bytes <= NOTICED_BYTES || f->p.s2m_int || f->p.m2s_int) &&
              overtook(r, f);
    trn_packet_interrupt(e, q, &f->p);
    queue_retire(r, e, q);
}

/* A piece failed late (behind an IOMMU, in another device). */
static void flight_failed(TrnReorder *r, Flight *f)
{
    TrnEngine *e = f->engine;
    unsigned q = f->q;

    trn_udma_axi_error(e, q);
    trn_fabric_fail(e, &f->p);
    if (trn_packet_causes(e, &f->p)) {
        f->complete = true;
        queue_retire(r, e, q);
    }
}

typedef struct Step {
    Flight *f;
    bool write;
} Step;

/* @paused: those of queues that software stopped, too */
static unsigned allowed_steps(TrnReorder *r, Step *steps, bool paused)
{
    unsigned i, n = 0;

    for (i = 0; i < WINDOW; i++) {
        Flight *f = &r->flight[i];

        if (!f->engine || f->complete ||
            (!paused && !trn_queue_can_run(f->engine, f->q))) {
            continue;
        }
        if (f->reads_left && may_read(r, f)) {
            steps[n++] = (Step) { f, false };
        }
        if (f->writes_left > f->reads_left && may_write(r, f)) {
            steps[n++] = (Step) { f, true };
        }
        if (!f->writes_left && may_read(r, f) && may_write(r, f)) {
            /* nothing to move: an empty packet */
            steps[n++] = (Step) { f, true };
        }
    }
    return n;
}

/* The @n-th piece that can be read, or that is read and can be written */
static unsigned pick_seg(const Flight *f, bool write, unsigned n)
{
    unsigned i;

    for (i = 0; i < f->p.num_segs; i++) {
        if (write ? test_bit(i, f->read) && !test_bit(i, f->written) :
                    !test_bit(i, f->read)) {
            if (!n--) {
                break;
            }
        }
    }
    return i;
}

static void do_step(TrnReorder *r, const Step *s)
{
    Flight *f = s->f;
    unsigned n;
    bool ok;

    if (!f->p.num_segs) {
        flight_done(r, f);
        return;
    }
    n = pick_seg(f, s->write, draw(r, s->write ?
                                   f->writes_left - f->reads_left :
                                   f->reads_left));
    r->moving = f->data;
    ok = seg_move(f, n, s->write);
    if (!f->engine) {
        g_clear_pointer(&r->moving, g_free);
        return;
    }
    r->moving = NULL;
    if (!ok) {
        flight_failed(r, f);
        return;
    }
    if (!s->write) {
        set_bit(n, f->read);
        f->reads_left--;
        return;
    }
    set_bit(n, f->written);
    f->writes_left--;
    if (!f->writes_left) {
        flight_done(r, f);
    }
}

uint64_t trn_reorder_run(TrnReorder *r)
{
    unsigned left = 1 + draw(r, STEPS_MAX);
    Step steps[2 * WINDOW];
    unsigned n;

    do {
        bool more = take_in(r);

        n = allowed_steps(r, steps, false);
        if (!n) {
            return more ? 1 + draw(r, PAUSE_SHORT_NS) : 0;
        }
        r->seen = false;
        do_step(r, &steps[draw(r, n)]);
        if (r->seen) {
            return 1 + draw(r, PAUSE_SEEN_NS);
        }
    } while (--left);
    return 1 + draw(r, PAUSE_SHORT_NS);
}

void trn_reorder_finish(TrnReorder *r)
{
    Step steps[2 * WINDOW];
    unsigned n;

    /* Every step makes progress, and nothing new is taken in. */
    while ((n = allowed_steps(r, steps, true))) {
        unsigned i, oldest = 0;

        for (i = 1; i < n; i++) {
            if (steps[i].f->number < steps[oldest].f->number) {
                oldest = i;
            }
        }
        do_step(r, &steps[oldest]);
    }
}

void trn_reorder_drop(TrnReorder *r, TrnEngine *e, int q)
{
    unsigned i;

    for (i = 0; i < WINDOW; i++) {
        Flight *f = &r->flight[i];

        if (f->engine && (!e || f->engine == e) && (q < 0 || f->q == q)) {
            flight_free(r, f);
        }
    }
}

void trn_reorder_reset(TrnReorder *r)
{
    trn_reorder_drop(r, NULL, -1);
    r->random = r->seed;
    r->next_number = 0;
    r->next_engine = 0;
    bitmap_zero(r->active, TRN_MAX_ENGINES);
    memset(r->active_q, 0, sizeof(r->active_q));
}

TrnReorder *trn_reorder_new(TrnDevice *d, uint64_t seed)
{
    TrnReorder *r = g_new0(TrnReorder, 1);

    r->dev = d;
    r->seed = seed;
    trn_reorder_reset(r);
    return r;
}

void trn_reorder_free(TrnReorder *r)
{
    trn_reorder_drop(r, NULL, -1);
    g_free(r);
}
