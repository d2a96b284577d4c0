/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Model time. Only the work counts, never when the host got round to it.
 *
 * A chip by itself: a packet occupies its engine for its bytes and a fixed
 * cost, and a stack cannot deliver more than its rate over all that was
 * accounted to it. That needs no order.
 *
 * Chips in a fabric: each packet is given a time on everything it passes, in
 * the order of sched.c. It starts when the packet before it in its queue has
 * left, and the engine is free; takes stacks, and each link on its way as soon
 * as its first byte can be there and the link is free (what is left free
 * before may be taken by a later packet); and its queue goes on when the
 * slowest of them is done. The latency of the way is for those that wait for
 * it: barriers and semaphores.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "fabric.h"
#include "trace.h"

/* Semaphores with a known time: 4 places each may be in */
#define RAISED_SIZE (64 * 1024)
#define RAISED_PLACES 4

/* --- resources --- */

static void gap_set(TrnClock *c, unsigned i, uint64_t start, uint64_t end)
{
    if (start < end) {
        c->gap[i].start = start;
        c->gap[i].end = end;
    } else {
        memmove(&c->gap[i], &c->gap[i + 1],
                (--c->gaps - i) * sizeof(c->gap[0]));
    }
}

static void gap_insert(TrnClock *c, unsigned i, uint64_t start, uint64_t end)
{
    if (start >= end) {
        return;
    }
    if (c->gaps == TRN_CLOCK_GAPS) {
        /* The oldest one is least likely to be used. */
        if (!i) {
            return;
        }
        gap_set(c, 0, 0, 0);
        i--;
    }
    memmove(&c->gap[i + 1], &c->gap[i], (c->gaps++ - i) * sizeof(c->gap[0]));
    c->gap[i].start = start;
    c->gap[i].end = end;
}

uint64_t trn_clock_pass(TrnClock *c, uint64_t from_ns, uint64_t bytes,
                        uint64_t rate, uint64_t *end_ns)
{
    uint64_t ns, start;
    unsigned i;

    if (!bytes || !rate) {
        return from_ns;
    }
    /* Fractions of a nanosecond add up. */
    ns = bytes * 1000 + MIN(c->rest, rate - 1);
    c->rest = ns % rate;
    ns /= rate;
    for (i = 0; i < c->gaps; i++) {
        uint64_t gap_start = c->gap[i].start;

        start = MAX(from_ns, gap_start);
        if (start + ns <= c->gap[i].end) {
            /* What is left behind it first: that takes no room. */
            gap_set(c, i, start + ns, c->gap[i].end);
            gap_insert(c, i, gap_start, start);
            goto out;
        }
    }
    start = MAX(from_ns, c->free_ns);
    gap_insert(c, c->gaps, c->free_ns, start);
    c->free_ns = start + ns;
out:
    *end_ns = MAX(*end_ns, start + ns);
    return start;
}

void trn_stack_pass(TrnDevice *d, int stack, uint64_t bytes, TrnTrip *trip)
{
    trn_clock_pass(&d->stack_clock[stack], trip->from_ns, bytes,
                   d->gen->stack_bytes_per_us, &trip->end_ns);
}

/* --- semaphores --- */

static struct Raised {
    const void *word;
    const void *scope;          /* see scope_of() */
    uint64_t ns;
} *raised;

static struct Raised *raised_find(const void *word)
{
    unsigned hash = ((uintptr_t)word >> 3) * 0x9e3779b1u >> 12;
    struct Raised *oldest = NULL;
    unsigned i;

    if (!raised) {
        raised = g_new0(struct Raised, RAISED_SIZE);
    }
    for (i = 0; i < RAISED_PLACES; i++) {
        struct Raised *r = &raised[(hash + i) % RAISED_SIZE];

        if (r->word == word) {
            return r;
        }
        if (!oldest || r->ns < oldest->ns) {
            oldest = r;
        }
    }
    return oldest;
}

/* Times compare within a fabric; else only within a chip. */
static const void *scope_of(const TrnDevice *d)
{
    return d->fab ? (const void *)d->fab->fabric : d;
}

static bool is_known(const struct Raised *r, const TrnDevice *d,
                     const void *word)
{
    return r->word == word && r->scope == scope_of(d);
}

void trn_time_raise(const TrnDevice *d, const void *word, uint64_t ns)
{
    struct Raised *r = raised_find(word);

    r->ns = is_known(r, d, word) ? MAX(r->ns, ns) : ns;
    r->word = word;
    r->scope = scope_of(d);
}

static void forget(const TrnDevice *d)
{
    unsigned i;

    for (i = 0; raised && i < RAISED_SIZE; i++) {
        if (raised[i].scope == scope_of(d)) {
            raised[i] = (struct Raised) {};
        }
    }
}

void trn_time_wait(TrnEngine *e, unsigned q, const void *word)
{
    const struct Raised *r = raised_find(word);
    uint64_t ns = is_known(r, e->dev, word) ? r->ns : 0;

    if (e->dev->fab) {
        trn_time_resume(e, q, ns);
    } else {
        e->busy_until_ns = MAX(e->busy_until_ns, ns);
    }
}

void trn_time_resume(TrnEngine *e, unsigned q, uint64_t ns)
{
    TrnQueue *qp = &e->q[q];

    qp->ready_ns = MAX(MAX(qp->ready_ns, qp->end_ns), ns);
}

uint64_t trn_packet_raises_at(TrnEngine *e, unsigned q, const TrnPacket *p)
{
    const TrnQueue *qp = &e->q[q];
    uint64_t ns = trn_packet_start(e, q, p) + e->dev->gen->packet_ns;

    if (!e->dev->fab) {
        return ns;
    }
    ns += trn_fabric_latency(e, p->seg[0].dst);
    if (p->strong_order) {
        ns = MAX(ns, qp->end_ns);
    }
    return MAX(ns, MAX(qp->barrier_ns, qp->base_ns));
}

/* --- packets --- */

uint64_t trn_packet_start(const TrnEngine *e, unsigned q, const TrnPacket *p)
{
    const TrnQueue *qp = &e->q[q];
    uint64_t start = e->busy_until_ns;

    if (!e->dev->fab) {
        return start;
    }
    start = MAX(start, qp->ready_ns);
    return p->dmb || trn_packet_waits(p) ? MAX(start, qp->end_ns) : start;
}

static uint64_t engine_ns(const TrnEngine *e, const TrnPacket *p)
{
    const TrnGeneration *g = e->dev->gen;

    return g->packet_ns + DIV_ROUND_UP(p->bytes * 1000ull,
                                       g->engine_bytes_per_us);
}

static void account_alone(TrnEngine *e, unsigned q, const TrnPacket *p,
                          const int s[2])
{
    uint64_t end = e->busy_until_ns + engine_ns(e, p);
    TrnDevice *d = e->dev;
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (s[i] >= 0) {
            d->stack_bytes[s[i]] += p->bytes;
            end = MAX(end, muldiv64(d->stack_bytes[s[i]], 1000,
                                    d->gen->stack_bytes_per_us));
        }
    }
    trace_trn_time_packet(d->routing_id, e->id, q, p->bytes, e->busy_until_ns,
                          end);
    e->busy_until_ns = end;
    d->clock_ns = MAX(d->clock_ns, end);
}

static void account_fabric(TrnEngine *e, unsigned q, const TrnPacket *p,
                           const int s[2])
{
    TrnTrip trip = { .from_ns = trn_packet_start(e, q, p) };
    TrnQueue *qp = &e->q[q];
    TrnDevice *d = e->dev;
    unsigned i;

    trip.end_ns = trip.from_ns + engine_ns(e, p);
    e->busy_until_ns = trip.end_ns;
    for (i = 0; i < 2; i++) {
        if (s[i] >= 0) {
            trn_stack_pass(d, s[i], p->bytes, &trip);
        }
    }
    if (p->far) {
        trn_fabric_account(e, p, &trip);
    }
    trace_trn_time_packet(d->routing_id, e->id, q, p->bytes, trip.from_ns,
                          trip.end_ns);
    qp->ready_ns = trip.end_ns;
    qp->end_ns = MAX(qp->end_ns, trip.end_ns + trip.latency_ns);
    if (p->write_barrier) {
        qp->barrier_ns = qp->end_ns;
    }
    e->last_ns = MAX(e->last_ns, qp->end_ns);
    e->now_ns = e->last_ns;
    d->clock_ns = MAX(d->clock_ns, qp->end_ns);
    d->fab->fabric->clock_ns = MAX(d->fab->fabric->clock_ns, qp->end_ns);
}

void trn_packet_account(TrnEngine *e, unsigned q, const TrnPacket *p,
                        int src_stack, int dst_stack)
{
    const int s[2] = { src_stack, dst_stack };

    if (unlikely(e->dev->fab)) {
        account_fabric(e, q, p, s);
    } else {
        account_alone(e, q, p, s);
    }
    e->packets++;
    e->bytes += p->bytes;
}

/* --- reset --- */

static void chip_reset(TrnDevice *d)
{
    unsigned i, q;

    for (i = 0; i < d->num_engines; i++) {
        TrnEngine *e = &d->engine[i];

        e->busy_until_ns = e->last_ns = e->now_ns = 0;
        for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
            TrnQueue *qp = &e->q[q];

            qp->ready_ns = qp->end_ns = qp->barrier_ns = qp->base_ns = 0;
        }
    }
    memset(d->stack_bytes, 0, sizeof(d->stack_bytes));
    memset(d->stack_clock, 0, sizeof(d->stack_clock));
    d->clock_ns = 0;
}

static void fabric_reset(TrnFabric *f)
{
    unsigned i, k;

    for (i = 0; i < f->num_nodes; i++) {
        /* Of others its stacks and links may have had work. */
        if (f->node[i].dev) {
            chip_reset(f->node[i].dev);
        }
        for (k = 0; k < f->node[i].num_ports; k++) {
            f->node[i].port[k].clock = (TrnClock) {};
        }
    }
    f->clock_ns = 0;
}

void trn_time_reset(TrnDevice *d)
{
    TrnFabric *f = d->fab ? d->fab->fabric : NULL;
    unsigned i;

    chip_reset(d);
    for (i = 0; f && i < f->chips; i++) {
        if (f->node[i].dev && f->node[i].dev->clock_ns) {
            return;
        }
    }
    if (f) {
        fabric_reset(f);
    }
    forget(d);
}
