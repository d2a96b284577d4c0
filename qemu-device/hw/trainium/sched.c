/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Order of execution in a fabric: of all queues of all its chips that have
 * work, the one whose next packet starts first in modelled time goes on, until
 * another one is earlier. So the figures come from the work and not from the
 * host: what meets on a link or a stack meets there in the order in which it
 * gets there.
 *
 * With timing=enforce a packet is carried out when the virtual clock has come
 * to its modelled start, counted from when the fabric began to work.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "fabric.h"

#define SLICE_BYTES (1 * MiB)
#define SLICE_DESCS 256
#define SLICE_NS (500 * SCALE_US)
#define ICOUNT_NS (20 * SCALE_US)       /* between slices, then */

typedef struct Entry {
    uint64_t key, number;       /* number: of the queue, for equal keys */
    TrnEngine *engine;
    unsigned q;
} Entry;

struct TrnSched {
    TrnFabric *fabric;
    GArray *heap;               /* of Entry */
    uint64_t now_ns;            /* modelled time of what ran last */
    uint64_t until_ns;          /* ... at which it is another queue's turn */
    uint64_t number;            /* of the queue whose turn it is */
    int64_t offset_ns;          /* enforce: virtual clock - modelled time */
    bool running;
    QEMUBH *bh;
    QEMUTimer *timer;           /* on the virtual clock */
    QEMUTimer *pause;
};

/* --- heap --- */

static Entry *entry_at(TrnSched *s, unsigned i)
{
    return &g_array_index(s->heap, Entry, i);
}

static bool before(const Entry *a, const Entry *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

static void entry_set(TrnSched *s, unsigned i, const Entry *n)
{
    *entry_at(s, i) = *n;
    n->engine->q[n->q].place = i + 1;
}

/* The queue whose turn it is goes on up to this one. */
static uint64_t until(TrnSched *s, const Entry *n)
{
    return n->key - (n->key && n->number < s->number);
}

static void heap_up(TrnSched *s, unsigned i)
{
    Entry n = *entry_at(s, i);

    while (i && before(&n, entry_at(s, (i - 1) / 2))) {
        entry_set(s, i, entry_at(s, (i - 1) / 2));
        i = (i - 1) / 2;
    }
    entry_set(s, i, &n);
}

static void heap_down(TrnSched *s, unsigned i)
{
    Entry n = *entry_at(s, i);
    unsigned k;

    while ((k = 2 * i + 1) < s->heap->len) {
        if (k + 1 < s->heap->len && before(entry_at(s, k + 1),
                                           entry_at(s, k))) {
            k++;
        }
        if (!before(entry_at(s, k), &n)) {
            break;
        }
        entry_set(s, i, entry_at(s, k));
        i = k;
    }
    entry_set(s, i, &n);
}

static void heap_remove(TrnSched *s, unsigned i)
{
    Entry last = *entry_at(s, s->heap->len - 1);

    entry_at(s, i)->engine->q[entry_at(s, i)->q].place = 0;
    g_array_set_size(s->heap, s->heap->len - 1);
    if (i < s->heap->len) {
        entry_set(s, i, &last);
        heap_up(s, i);
        heap_down(s, last.engine->q[last.q].place - 1);
    }
}

/* --- queues --- */

static bool enforced(TrnSched *s)
{
    return s->fabric->enforce;
}

static void sched_kick(TrnSched *s)
{
    if (s->running) {
        return;
    }
    if (!icount_enabled()) {
        qemu_bh_schedule(s->bh);
    } else if (!timer_pending(s->timer)) {
        timer_mod(s->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                            ICOUNT_NS);
    }
}

void trn_sched_add(TrnEngine *e, unsigned q, uint64_t start_ns)
{
    TrnSched *s = e->dev->fab->fabric->sched;
    TrnQueue *qp = &e->q[q];
    Entry n = {
        .key = MAX(start_ns, qp->ready_ns),
        .number = (uint64_t)e->dev->fab->id << 32 | e->id << 8 | q,
        .engine = e, .q = q,
    };

    if (qp->place) {
        return;
    }
    if (!s->heap->len && !s->running) {
        s->offset_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - n.key;
    }
    g_array_append_val(s->heap, n);
    heap_up(s, s->heap->len - 1);
    /* Woken by what runs: its turn comes before that has gone past it. */
    s->until_ns = MIN(s->until_ns, until(s, &n));
    sched_kick(s);
}

void trn_sched_forget(TrnDevice *d)
{
    TrnSched *s = d->fab ? d->fab->fabric->sched : NULL;
    unsigned i, q;

    for (i = 0; s && i < d->num_engines; i++) {
        for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
            if (d->engine[i].q[q].place) {
                heap_remove(s, d->engine[i].q[q].place - 1);
            }
        }
    }
}

bool trn_sched_idle(TrnDevice *d)
{
    TrnSched *s = d->fab->fabric->sched;

    return !s->heap->len && !enforced(s);
}

uint64_t trn_sched_now(TrnDevice *d)
{
    TrnSched *s = d->fab->fabric->sched;

    return s->heap->len ? s->now_ns : s->fabric->clock_ns;
}

/* --- slices --- */

/* False: the first one is for later. */
static bool is_due(TrnSched *s)
{
    int64_t at;

    if (!enforced(s)) {
        return true;
    }
    at = entry_at(s, 0)->key + s->offset_ns;
    if (at <= qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)) {
        return true;
    }
    timer_mod(s->timer, at);
    return false;
}

static void sched_run(void *opaque)
{
    TrnSched *s = opaque;
    g_autoptr(Object) hold = object_ref(OBJECT(s->fabric));
    int64_t bytes = SLICE_BYTES, descs = SLICE_DESCS;
    int64_t now = get_clock();
    int64_t deadline = icount_enabled() ? 0 : now + SLICE_NS;
    bool due = true;

    if (!runstate_is_running() || s->running) {
        return;
    }
    trn_exec_row(now);
    s->running = true;
    while (s->heap->len && bytes > 0 && descs > 0 && (due = is_due(s)) &&
           (!deadline || get_clock() < deadline)) {
        Entry n = *entry_at(s, 0);
        g_autoptr(Object) chip = object_ref(OBJECT(n.engine->dev));
        uint64_t start_ns = 0;

        heap_remove(s, 0);
        s->now_ns = n.key;
        s->number = n.number;
        s->until_ns = s->heap->len ? until(s, entry_at(s, 0)) : UINT64_MAX;
        if (trn_exec_turn(n.engine, n.q, &bytes, &descs, deadline,
                          &s->until_ns, &start_ns) && n.engine->dev->fab) {
            trn_sched_add(n.engine, n.q, start_ns);
        }
    }
    s->running = false;
    if (!s->heap->len || !due) {
        return;
    }
    if (icount_enabled()) {
        sched_kick(s);
    } else {
        trn_exec_go_on(s->bh, s->pause);
    }
}

TrnSched *trn_sched_new(TrnFabric *f)
{
    TrnSched *s = g_new0(TrnSched, 1);

    s->fabric = f;
    s->heap = g_array_new(false, false, sizeof(Entry));
    s->bh = qemu_bh_new(sched_run, s);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, sched_run, s);
    s->pause = timer_new_ns(QEMU_CLOCK_REALTIME, sched_run, s);
    return s;
}

void trn_sched_free(TrnSched *s)
{
    qemu_bh_delete(s->bh);
    timer_free(s->timer);
    timer_free(s->pause);
    g_array_free(s->heap, true);
    g_free(s);
}
