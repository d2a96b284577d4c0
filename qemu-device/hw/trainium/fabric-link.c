/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the links. Both ends of one go through the states together:
 *
 *   off, disabled -> detect (1 ms) -> training (10 ms) -> up or degraded
 *
 * and back as soon as something is in the way. What that is, port_limit()
 * says; nothing else is kept about it, so that a port is always what its
 * switches, its cable and the other end make of it.
 *
 * Bit errors are met by replays, which nobody notices but the counters. Too
 * many in a second, and the link trains again (recovery, 5 ms; traffic waits,
 * so it is not lost); too many of those, and it fails. A chip's port whose
 * cable came out five times within a second is latched; a switch's is not, as
 * nobody could clear it.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "fabric.h"
#include "trace.h"

#define DETECT_NS (1 * SCALE_MS)
#define TRAIN_NS (10 * SCALE_MS)
#define TIMEOUT_NS (100 * SCALE_MS)     /* of an other end that does not train */
#define RECOVERY_NS (5 * SCALE_MS)
#define WINDOW_NS (1000 * SCALE_MS)
#define FLAPS_MAX 5
#define ERRORS_MAX 256
#define RECOVERIES_MAX 4

static int64_t now_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static bool state_carries(uint8_t state)
{
    return state == TRN_PORT_UP || state == TRN_PORT_DEGRADED ||
           state == TRN_PORT_RECOVERY;
}

bool trn_fab_port_carries(const TrnFabPort *p)
{
    return state_carries(p->state);
}

bool trn_fab_port_usable(const TrnFabPort *p)
{
    const TrnFabPort *peer = p->wire;

    return peer && trn_fab_port_carries(p) && trn_fab_port_carries(peer) &&
           !p->loopback && !peer->loopback &&
           p->admin == TRN_PORT_ADMIN_ENABLED &&
           peer->admin == TRN_PORT_ADMIN_ENABLED;
}

void trn_fab_port_defaults(TrnFabPort *p)
{
    p->admin = TRN_PORT_ADMIN_ENABLED;
    p->lane_cap = p->rate_cap = 0;
    p->loopback = p->latched = false;
    p->gave_up = 0;
    p->attempts = 0;
    p->flaps = p->errors = p->recoveries = 0;
    p->clock = (TrnClock) {};
    memset(p->count, 0, sizeof(p->count));
    memset(p->snap, 0, sizeof(p->snap));
    p->snap_ns = 0;
    p->epoch = 0;
}

void trn_fab_timer_want(TrnFabric *f, int64_t at)
{
    if (!f->timer_at || at < f->timer_at) {
        f->timer_at = at;
        timer_mod(f->timer, at);
    }
}

/* One more within the window that began at @since; returns how many. */
static uint32_t window_count(int64_t *since, uint32_t *n, uint32_t more)
{
    int64_t now = now_ns();

    if (!*n || now - *since > WINDOW_NS) {
        *since = now;
        *n = 0;
    }
    *n += more;
    return *n;
}

/* --- states --- */

static uint8_t lanes_of(const TrnFabPort *p)
{
    uint8_t lanes = p->lanes - MIN(p->lanes, p->fault.lanes_lost);

    return p->lane_cap ? MIN(lanes, p->lane_cap) : lanes;
}

static uint32_t rate_of(const TrnFabPort *p)
{
    return p->rate_cap ? MIN(p->rate, p->rate_cap) : p->rate;
}

static bool no_cable(const TrnFabPort *p)
{
    return p->fault.pulled || p->flap_out;
}

/* Off, disabled or failed is what the port can only be; up: it can be a link */
static uint8_t port_limit(const TrnFabPort *p, uint8_t *reason)
{
    const TrnFabPort *peer = p->wire;

    *reason = TRN_PORT_REASON_NONE;
    if (!trn_fab_node_on(p->node) || p->resetting) {
        return TRN_PORT_OFF;
    }
    if (p->admin == TRN_PORT_ADMIN_DISABLED) {
        return TRN_PORT_DISABLED;
    }
    if (p->latched) {
        *reason = TRN_PORT_REASON_FLAPPING;
    } else if (p->gave_up) {
        *reason = p->gave_up;
    } else if (p->loopback) {
        return TRN_PORT_UP;
    } else if (no_cable(p) || (peer && no_cable(peer))) {
        *reason = TRN_PORT_REASON_CABLE;
    } else if (!peer || (!peer->node->is_switch && !peer->node->dev)) {
        *reason = TRN_PORT_REASON_NO_PEER;
    } else if (!trn_fab_node_on(peer->node) || peer->resetting ||
               peer->admin == TRN_PORT_ADMIN_DISABLED || peer->loopback ||
               peer->latched || peer->gave_up) {
        *reason = TRN_PORT_REASON_PEER_OFF;
    } else if (peer != p->expect) {
        *reason = TRN_PORT_REASON_WRONG_PEER;
    } else if (!lanes_of(p) || !lanes_of(peer)) {
        *reason = TRN_PORT_REASON_LANES;
    } else {
        return TRN_PORT_UP;
    }
    return TRN_PORT_FAILED;
}

static void port_set(TrnFabPort *p, uint8_t state, uint8_t reason,
                     int64_t deadline)
{
    TrnFabNode *n = p->node;
    bool carried = state_carries(p->state);

    p->deadline = deadline;
    if (deadline) {
        trn_fab_timer_want(n->fabric, deadline);
    }
    if (!state_carries(state)) {
        p->lanes_now = 0;
        p->rate_now = 0;
    }
    if (p->state == state && p->reason == reason) {
        return;
    }
    trace_trn_fab_port(n->is_switch ? "switch" : "chip", n->id, p->number,
                       p->state, state, reason);
    p->state = state;
    p->reason = reason;
    p->changed_ns = now_ns();
    if (carried != state_carries(state)) {
        n->fabric->routes_changed = true;
    }
    if (carried && state == TRN_PORT_FAILED) {
        p->count[TRN_PORT_LINK_DOWNS]++;
        if (reason == TRN_PORT_REASON_CABLE && !n->is_switch &&
            window_count(&p->flap_since, &p->flaps, 1) >= FLAPS_MAX) {
            p->latched = true;
            p->reason = TRN_PORT_REASON_FLAPPING;
        }
    }
    if (!n->is_switch) {
        n->regs.port_event |= 1ull << p->number;
        trn_fab_event(n, TRN_FAB_EVENT_PORT);
    }
}

/* Lanes and rate as both ends have them */
static void port_up(TrnFabPort *p)
{
    const TrnFabPort *peer = p->loopback ? p : p->wire;
    uint8_t lanes = MIN(lanes_of(p), lanes_of(peer));
    uint32_t rate = MIN(rate_of(p), rate_of(peer));
    bool lost = p->fault.lanes_lost || peer->fault.lanes_lost;
    bool full = lanes == p->lanes && rate == p->rate;

    if (lanes != p->lanes_now || rate != p->rate_now) {
        p->node->fabric->routes_changed = true;
    }
    port_set(p, full ? TRN_PORT_UP : TRN_PORT_DEGRADED,
             full ? TRN_PORT_REASON_NONE :
             lost ? TRN_PORT_REASON_LANES : TRN_PORT_REASON_CAP, 0);
    p->lanes_now = lanes;
    p->rate_now = rate;
}

static void port_give_up(TrnFabPort *p, uint8_t reason)
{
    p->gave_up = reason;
    port_set(p, TRN_PORT_FAILED, reason, 0);
}

static void port_trained(TrnFabPort *p, int64_t now)
{
    TrnFabPort *peer = p->loopback ? p : p->wire;

    if (p->fault.silent || peer->fault.silent) {
        if (now < p->train_start + TIMEOUT_NS) {
            port_set(p, p->state, p->reason, p->train_start + TIMEOUT_NS);
            return;
        }
        port_give_up(p, TRN_PORT_REASON_TIMEOUT);
        if (peer != p) {
            port_give_up(peer, TRN_PORT_REASON_TIMEOUT);
        }
    } else if (peer->state == TRN_PORT_DETECT ||
               (peer->state == TRN_PORT_TRAINING && peer->deadline > now)) {
        /* began later: wait for it */
        port_set(p, p->state, p->reason, MAX(peer->deadline, now + 1));
    } else {
        port_up(p);
    }
}

static void port_train(TrnFabPort *p, int64_t now)
{
    p->attempts++;
    p->train_start = now;
    port_set(p, TRN_PORT_TRAINING, TRN_PORT_REASON_NONE, now + TRAIN_NS);
}

static void port_evaluate(TrnFabPort *p)
{
    int64_t now = now_ns();
    uint8_t reason;
    uint8_t limit = port_limit(p, &reason);
    bool off = p->state == TRN_PORT_OFF || p->state == TRN_PORT_DISABLED;

    switch (limit) {
    case TRN_PORT_OFF:
    case TRN_PORT_DISABLED:
        p->gave_up = 0;
        port_set(p, limit, reason, 0);
        return;
    case TRN_PORT_FAILED:
        if (off) {
            port_set(p, TRN_PORT_DETECT, TRN_PORT_REASON_NONE,
                     now + DETECT_NS);
        } else if (p->state != TRN_PORT_DETECT || now >= p->deadline) {
            port_set(p, TRN_PORT_FAILED, reason, 0);
        }
        return;
    }
    if (off || p->state == TRN_PORT_FAILED) {
        port_set(p, TRN_PORT_DETECT, TRN_PORT_REASON_NONE, now + DETECT_NS);
    } else if (p->deadline && now < p->deadline) {
        return;
    } else if (p->state == TRN_PORT_DETECT) {
        port_train(p, now);
    } else if (p->state == TRN_PORT_TRAINING) {
        port_trained(p, now);
    } else {
        port_up(p);
    }
}

void trn_fab_port_update(TrnFabPort *p)
{
    port_evaluate(p);
    if (p->wire) {
        port_evaluate(p->wire);
    }
}

void trn_fab_node_update(TrnFabNode *n)
{
    unsigned i;

    for (i = 0; i < n->num_ports; i++) {
        trn_fab_port_update(&n->port[i]);
    }
}

/* --- commands --- */

void trn_fab_port_train(TrnFabPort *p)
{
    TrnFabPort *peer = p->loopback ? NULL : p->wire;
    int64_t now = now_ns();
    uint8_t reason;

    p->gave_up = 0;
    if (peer) {
        peer->gave_up = 0;
    }
    trn_fab_port_update(p);
    if (port_limit(p, &reason) != TRN_PORT_UP ||
        p->state == TRN_PORT_DETECT) {
        return;
    }
    port_train(p, now);
    if (peer) {
        port_train(peer, now);
    }
}

void trn_fab_port_reset(TrnFabPort *p)
{
    p->latched = false;
    p->flaps = 0;
    if (p->wire) {
        p->wire->gave_up = 0;
    }
    p->resetting = true;
    trn_fab_port_update(p);
    p->resetting = false;
    trn_fab_port_update(p);
}

/* --- errors and flapping --- */

void trn_fab_port_errors(TrnFabPort *p, uint64_t packets)
{
    uint64_t total = packets + p->error_rest;
    uint32_t errors = MIN(total / p->fault.error_every, UINT32_MAX);

    p->error_rest = total % p->fault.error_every;
    p->count[TRN_PORT_CRC_ERRORS] += errors;
    p->wire->count[TRN_PORT_REPLAYS] += errors;
    if (window_count(&p->error_since, &p->errors, MIN(errors, ERRORS_MAX)) >=
        ERRORS_MAX) {
        p->node->fabric->errors_met = true;
    }
}

static void port_recover(TrnFabPort *p)
{
    TrnFabPort *end[2] = { p, p->wire };
    bool last;
    unsigned i;

    p->errors = 0;
    if (p->state == TRN_PORT_RECOVERY || !trn_fab_port_carries(p)) {
        return;
    }
    last = window_count(&p->recovery_since, &p->recoveries, 1) >
           RECOVERIES_MAX;
    for (i = 0; i < 2; i++) {
        end[i]->count[TRN_PORT_RECOVERIES]++;
        if (last) {
            port_give_up(end[i], TRN_PORT_REASON_ERRORS);
        } else {
            port_set(end[i], TRN_PORT_RECOVERY, TRN_PORT_REASON_ERRORS,
                     now_ns() + RECOVERY_NS);
        }
    }
    if (last) {
        p->recoveries = 0;
    }
}

void trn_fab_recover(TrnFabric *f)
{
    unsigned i, k;

    f->errors_met = false;
    for (i = 0; i < f->num_nodes; i++) {
        for (k = 0; k < f->node[i].num_ports; k++) {
            if (f->node[i].port[k].errors >= ERRORS_MAX) {
                port_recover(&f->node[i].port[k]);
            }
        }
    }
}

static void port_flap(TrnFabPort *p, int64_t now)
{
    p->flap_out = !p->flap_out;
    p->flap_at = now + p->fault.flap_ms * (int64_t)SCALE_MS;
    trn_fab_port_update(p);
}

void trn_fab_timer(void *opaque)
{
    TrnFabric *f = opaque;
    int64_t now = now_ns();
    unsigned i, k;

    f->timer_at = 0;
    for (i = 0; i < f->num_nodes; i++) {
        for (k = 0; k < f->node[i].num_ports; k++) {
            TrnFabPort *p = &f->node[i].port[k];

            if (p->fault.flap_ms && now >= p->flap_at) {
                port_flap(p, now);
            }
            if (p->fault.flap_ms) {
                trn_fab_timer_want(f, p->flap_at);
            }
            if (p->deadline && now >= p->deadline) {
                port_evaluate(p);
            }
            if (p->deadline) {
                trn_fab_timer_want(f, p->deadline);
            }
        }
    }
    trn_fab_settle(f);
}
