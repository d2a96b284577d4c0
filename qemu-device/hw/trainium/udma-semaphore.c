/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Semaphores in memory: packets that add to a word, set it, or wait for it.
 *
 * A queue whose packet has to wait is parked: the packet stays at the heads of
 * its rings, so that there is nothing to migrate, and the executor turns to
 * other queues. Whoever raises the word by a descriptor wakes the queue at
 * once; for all other writes (the guest's, plain copies) every parked queue
 * looks again by itself, less and less often. Both on the virtual clock.
 *
 * A word is known by where it is in the memory of this QEMU, because chips
 * behind an IOMMU have different addresses for one. That place is compared and
 * never looked at: it may be another one by then.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "trainium.h"
#include "udma.h"
#include "fabric.h"
#include "trace.h"

#define LOOK_MIN_NS (20 * SCALE_US)
#define LOOK_MAX_NS (64 * LOOK_MIN_NS)
#define BUCKETS 256

struct TrnWaiter {
    QLIST_ENTRY(TrnWaiter) next;
    TrnEngine *engine;
    unsigned q;
    const void *word;
    uint64_t addr;              /* as the packet spells it */
    int64_t least;
    int64_t look_ns, every_ns;
};

/* All queues that wait, of all chips; the big lock protects it. */
static struct {
    QLIST_HEAD(, TrnWaiter) bucket[BUCKETS];
    QEMUTimer *timer;
    int64_t timer_at;           /* 0: not running */
} waiters;

static unsigned bucket_of(const void *word)
{
    return ((uintptr_t)word / sizeof(uint64_t) * 0x9e3779b1u >> 12) % BUCKETS;
}

/* --- looking again --- */

static void look_at(int64_t ns)
{
    if (!waiters.timer_at || ns < waiters.timer_at) {
        waiters.timer_at = ns;
        timer_mod(waiters.timer, ns);
    }
}

/* @ns: model time at which the word became what it is */
static void wake(TrnWaiter *w, uint64_t ns)
{
    TrnEngine *e = w->engine;
    unsigned q = w->q;

    trn_sem_unpark(e, q);
    trn_exec_wake(e, q, ns);
}

static void word_get(uint64_t *word, void *opaque)
{
    *(uint64_t *)opaque = le64_to_cpu(qatomic_read__nocheck(word));
}

/* False when it cannot be read: the packet itself finds out why. */
static bool waits_on(const TrnWaiter *w)
{
    TrnDevice *d = w->engine->dev;
    uint64_t value;
    TrnTarget t;

    if (!trn_axi_resolve(d, w->addr, &t)) {
        return false;
    }
    if (t.kind == TRN_TARGET_RAM) {
        word_get((uint64_t *)t.ptr, &value);
    } else if (!trn_host_word(d, t.addr, false, word_get, &value)) {
        return false;
    }
    return (int64_t)value < w->least;
}

static void look_again(void *opaque)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), next = INT64_MAX;
    TrnWaiter *w, *tmp;
    unsigned i;

    waiters.timer_at = 0;
    for (i = 0; i < BUCKETS; i++) {
        QLIST_FOREACH_SAFE(w, &waiters.bucket[i], next, tmp) {
            if (w->look_ns > now) {
                next = MIN(next, w->look_ns);
            } else if (waits_on(w)) {
                /* At common times, so that many do not mean many timers */
                w->every_ns = MIN(w->every_ns * 2, LOOK_MAX_NS);
                w->look_ns = QEMU_ALIGN_UP(now + 1, w->every_ns);
                next = MIN(next, w->look_ns);
            } else {
                wake(w, w->engine->dev->fab ?
                        trn_sched_now(w->engine->dev) : 0);
            }
        }
    }
    if (next != INT64_MAX) {
        look_at(next);
    }
}

static void park(TrnEngine *e, unsigned q, const void *word, uint64_t addr,
                 int64_t least)
{
    TrnWaiter *w = g_new(TrnWaiter, 1);

    *w = (TrnWaiter) {
        .engine = e, .q = q, .word = word, .addr = addr, .least = least,
        .look_ns = QEMU_ALIGN_UP(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + 1,
                                 LOOK_MIN_NS),
        .every_ns = LOOK_MIN_NS,
    };
    trace_trn_sem_park(e->dev->routing_id, e->id, q, addr, least);
    QLIST_INSERT_HEAD(&waiters.bucket[bucket_of(word)], w, next);
    e->q[q].waiter = w;
    if (!waiters.timer) {
        waiters.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, look_again, NULL);
    }
    look_at(w->look_ns);
}

void trn_sem_unpark(TrnEngine *e, int q)
{
    unsigned i;

    for (i = q < 0 ? 0 : q; i < (q < 0 ? TRN_QUEUES_PER_ENGINE : q + 1u); i++) {
        if (e->q[i].waiter) {
            QLIST_REMOVE(e->q[i].waiter, next);
            g_clear_pointer(&e->q[i].waiter, g_free);
        }
    }
}

/* --- the word --- */

typedef struct Access {
    unsigned op;                /* TRN_META_OP_SEM_* */
    int64_t operand;
    uint64_t ns;                /* model time */
    bool met;                   /* out: what is waited for is there */
    const void *word;           /* out */
} Access;

static void word_access(uint64_t *word, void *opaque)
{
    Access *a = opaque;
    uint64_t old, now = qatomic_read__nocheck(word), value;

    a->word = word;
    do {
        old = now;
        value = le64_to_cpu(old);
        a->met = a->op < TRN_META_OP_SEM_WAIT || (int64_t)value >= a->operand;
        if (!a->met || a->op == TRN_META_OP_SEM_WAIT) {
            /* What is read behind it is not older than the word. */
            smp_mb();
            return;
        }
        value = a->op == TRN_META_OP_SEM_SET ? (uint64_t)a->operand :
                a->op == TRN_META_OP_SEM_ADD ? value + a->operand :
                                               value - a->operand;
        now = qatomic_cmpxchg__nocheck(word, old, cpu_to_le64(value));
    } while (now != old);
}

static void word_raised(const TrnDevice *d, const void *word, uint64_t ns)
{
    TrnWaiter *w, *tmp;

    trn_time_raise(d, word, ns);
    QLIST_FOREACH_SAFE(w, &waiters.bucket[bucket_of(word)], next, tmp) {
        if (w->word == word) {
            wake(w, ns);
        }
    }
}

void trn_sem_update(const TrnTarget *t, unsigned op, int64_t operand,
                    uint64_t ns)
{
    Access a = { .op = op, .operand = operand };

    word_access((uint64_t *)t->ptr, &a);
    word_raised(t->dev, t->ptr, ns);
}

static bool target_access(const TrnTarget *t, Access *a)
{
    switch (t->kind) {
    case TRN_TARGET_RAM:
        word_access((uint64_t *)t->ptr, a);
        break;
    case TRN_TARGET_HOST:
        if (!trn_host_word(t->dev, t->addr, a->op != TRN_META_OP_SEM_WAIT,
                           word_access, a)) {
            return false;
        }
        break;
    case TRN_TARGET_GROUP:
        return t->dev->fab && trn_fab_group_semaphore(t->dev->fab, t->addr,
                                                      a->op, a->operand,
                                                      a->ns);
    default:
        return false;
    }
    if (a->op < TRN_META_OP_SEM_WAIT) {
        word_raised(t->dev, a->word, a->ns);
    }
    return true;
}

bool trn_sem_write(const TrnPacket *p, const TrnTarget *t, const uint8_t *buf)
{
    Access a = { .op = p->op, .operand = ldq_le_p(buf) };

    /* In the executor that reorders, time is nobody's. */
    return target_access(t, &a);
}

/* --- packets --- */

bool trn_sem_allowed(TrnEngine *e, const TrnPacket *p)
{
    const TrnSeg *s = &p->seg[0];
    TrnTarget t;

    if (p->num_src != 1 || p->num_segs != 1 ||
        s->len != sizeof(uint64_t) || (s->src | s->dst) % sizeof(uint64_t)) {
        return false;
    }
    return !trn_packet_waits(p) ||
           (!(s->dst >> TRN_FAR_SHIFT) && trn_axi_resolve(e->dev, s->dst, &t) &&
            (t.stack >= 0 || t.kind == TRN_TARGET_HOST));
}

static bool operand_get(TrnEngine *e, TrnPacket *p, uint64_t *value)
{
    uint64_t len = sizeof(*value);
    TrnTarget t;
    TrnSpan s;

    if (trn_span_get(e, p, p->seg[0].src, false, &s, &len, &t) ==
        TRN_SPAN_BAD || len < sizeof(*value)) {
        return false;
    }
    if (t.kind == TRN_TARGET_RAM) {
        word_get((uint64_t *)t.ptr, value);
        return true;
    }
    return t.kind == TRN_TARGET_HOST &&
           trn_host_word(t.dev, t.addr, false, word_get, value);
}

static TrnSem sem_run(TrnEngine *e, unsigned q, TrnPacket *p, unsigned op)
{
    uint64_t len = sizeof(uint64_t), operand;
    Access a = { .op = op };
    TrnTarget t;
    TrnSpan s;

    trn_sem_unpark(e, q);
    if (!p->num_segs) {         /* a fault on demand took it away */
        return TRN_SEM_DONE;
    }
    if (!operand_get(e, p, &operand)) {
        trn_packet_fault(p, TRN_M2S);
        return TRN_SEM_BAD;
    }
    a.operand = operand;
    if (!trn_packet_waits(p)) {
        a.ns = trn_packet_raises_at(e, q, p);
    }
    if (trn_span_get(e, p, p->seg[0].dst, true, &s, &len, &t) ==
        TRN_SPAN_BAD || len < sizeof(uint64_t) || !target_access(&t, &a)) {
        trn_packet_fault(p, TRN_S2M);
        return TRN_SEM_BAD;
    }
    if (trn_packet_waits(p) && !a.met) {
        park(e, q, a.word, p->seg[0].dst, a.operand);
        return TRN_SEM_PARKED;
    }
    if (trn_packet_waits(p)) {
        trn_time_wait(e, q, a.word);
    }
    return TRN_SEM_DONE;
}

TrnSem trn_sem_run(TrnEngine *e, unsigned q, TrnPacket *p)
{
    return sem_run(e, q, p, p->op);
}

bool trn_sem_parks(TrnEngine *e, unsigned q, TrnPacket *p)
{
    return trn_packet_waits(p) &&
           sem_run(e, q, p, TRN_META_OP_SEM_WAIT) == TRN_SEM_PARKED;
}
