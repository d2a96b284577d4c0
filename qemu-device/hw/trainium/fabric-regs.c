/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric block of the extension BAR: driver/regs/fabric.h. */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "fabric.h"

#define PORT_PITCH (TRN_FAB_PORT(1) - TRN_FAB_PORT(0))

void trn_fab_regs_reset(TrnFabNode *n)
{
    memset(&n->regs, 0, sizeof(n->regs));
    n->regs.power_on_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* --- ports --- */

static uint32_t port_name(const TrnFabPort *p)
{
    return p ? p->node->id | (p->node->is_switch ? TRN_PORT_PEER_SWITCH : 0) |
               (uint32_t)p->number << TRN_PORT_PEER_PORT_SHIFT |
               TRN_PORT_PEER_VALID : 0;
}

/* What the wire tells about the other end, once it was found */
static const TrnFabPort *port_peer(const TrnFabPort *p)
{
    if (p->state == TRN_PORT_TRAINING || trn_fab_port_carries(p)) {
        return p->loopback ? p : p->wire;
    }
    return p->state == TRN_PORT_FAILED &&
           (p->reason == TRN_PORT_REASON_WRONG_PEER ||
            p->reason == TRN_PORT_REASON_TIMEOUT) ? p->wire : NULL;
}

static uint64_t port_peer_serial(const TrnFabPort *p)
{
    const TrnFabPort *peer = port_peer(p);

    return peer ? trn_fab_serial(peer->node) : 0;
}

static int64_t since_power_on(TrnFabNode *n, int64_t ns)
{
    return MAX(ns - n->regs.power_on_ns, 0);
}

/* The high word as of the reading of the low one */
static uint32_t low_word(TrnFabNode *n, uint64_t value)
{
    n->regs.hi_latch = value >> 32;
    return value;
}

static uint32_t port_read(TrnFabNode *n, TrnFabPort *p, uint32_t offset)
{
    switch (offset) {
    case TRN_PORT_INFO:
        return p->kind | p->lanes << 8;
    case TRN_PORT_MAX_RATE:
        return p->rate;
    case TRN_PORT_EXPECT:
        return port_name(p->expect);
    case TRN_PORT_PEER:
        return port_name(port_peer(p));
    case TRN_PORT_PEER_SERIAL_LO:
        return low_word(n, port_peer_serial(p));
    case TRN_PORT_CHANGED_LO:
        return low_word(n, since_power_on(n, p->changed_ns));
    case TRN_PORT_PEER_SERIAL_HI:
    case TRN_PORT_CHANGED_HI:
        return n->regs.hi_latch;
    case TRN_PORT_ADMIN:
        return p->admin;
    case TRN_PORT_LANE_CAP:
        return p->lane_cap;
    case TRN_PORT_RATE_CAP:
        return p->rate_cap;
    case TRN_PORT_LOOPBACK:
        return p->loopback;
    case TRN_PORT_STATE:
        return p->state | p->reason << TRN_PORT_REASON_SHIFT |
               (p->latched ? TRN_PORT_LATCHED : 0);
    case TRN_PORT_LANES:
        return p->lanes_now;
    case TRN_PORT_RATE:
        return p->rate_now;
    case TRN_PORT_ATTEMPTS:
        return p->attempts;
    case TRN_PORT_EPOCH:
        return p->epoch;
    case TRN_PORT_SNAP_TIME_LO:
        return (uint32_t)since_power_on(n, p->snap_ns);
    case TRN_PORT_SNAP_TIME_HI:
        return since_power_on(n, p->snap_ns) >> 32;
    }
    if (offset >= TRN_PORT_COUNTER(0) &&
        offset < TRN_PORT_COUNTER(TRN_PORT_NUM_COUNTERS)) {
        unsigned i = (offset - TRN_PORT_COUNTER(0)) / 8;

        return offset & 4 ? p->snap[i] >> 32 : (uint32_t)p->snap[i];
    }
    return 0;
}

static void port_command(TrnFabPort *p, uint32_t command)
{
    switch (command) {
    case TRN_PORT_CMD_TRAIN:
        trn_fab_port_train(p);
        break;
    case TRN_PORT_CMD_RESET:
        trn_fab_port_reset(p);
        break;
    case TRN_PORT_CMD_CLEAR_LATCH:
        p->latched = false;
        p->flaps = 0;
        trn_fab_port_update(p);
        break;
    case TRN_PORT_CMD_SNAPSHOT:
        memcpy(p->snap, p->count, sizeof(p->snap));
        p->snap_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
        break;
    case TRN_PORT_CMD_CLEAR_COUNTERS:
        memset(p->count, 0, sizeof(p->count));
        memset(p->snap, 0, sizeof(p->snap));
        p->snap_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
        p->epoch++;
        break;
    }
}

static void port_write(TrnFabPort *p, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case TRN_PORT_ADMIN:
        if (value > TRN_PORT_ADMIN_DRAINED) {
            return;
        }
        p->admin = value;
        p->node->fabric->routes_changed = true;
        break;
    case TRN_PORT_LANE_CAP:
        p->lane_cap = MIN(value, p->lanes);
        break;
    case TRN_PORT_RATE_CAP:
        p->rate_cap = MIN(value, p->rate);
        break;
    case TRN_PORT_LOOPBACK:
        if (p->loopback == (value & 1)) {
            return;
        }
        p->loopback = value & 1;
        trn_fab_port_reset(p);
        return;
    case TRN_PORT_COMMAND:
        port_command(p, value);
        return;
    default:
        return;
    }
    trn_fab_port_update(p);
}

/* --- paths --- */

static void path_look(TrnFabNode *n, uint32_t id)
{
    unsigned status = trn_fab_reach(n, id);
    TrnFabNode *to = trn_fab_chip(n->fabric, id);

    memset(&n->regs.path, 0, sizeof(n->regs.path));
    n->regs.path.dst = id;
    n->regs.path.status = status;
    if (status != TRN_FAB_ST_OK) {
        return;
    }
    n->regs.path.status |= trn_fab_links(n, to) << 8;
    n->regs.path.rate = trn_fab_rate(n, to);
    n->regs.path.latency = trn_fab_latency(n, to);
    n->regs.path.ports = trn_fab_first_ports(n, to);
    n->regs.path.serial = trn_fab_serial(to);
}

/* --- the block --- */

static uint32_t identity_read(TrnFabNode *n, uint32_t offset)
{
    TrnFabric *f = n->fabric;

    switch (offset) {
    case TRN_FAB_KIND:
        return f->kind;
    case TRN_FAB_CAPS:
        return (f->multicast ? TRN_FAB_CAP_MULTICAST : 0) |
               (f->reduce ? TRN_FAB_CAP_REDUCE : 0);
    case TRN_FAB_NUM_PORTS:
        return n->num_ports;
    case TRN_FAB_SELF:
        return n->id;
    case TRN_FAB_NUM_CHIPS:
        return f->chips;
    case TRN_FAB_PLACE:
        return trn_fab_place(n);
    case TRN_FAB_PARTITION:
        return (n->partition & 0xffff) | n->regs.partition_changes << 16;
    default:
        return ldl_le_p(f->uuid.data + (offset - TRN_FAB_UUID(0)));
    }
}

static uint32_t common_read(TrnFabNode *n, uint32_t offset)
{
    TrnFabRegs *r = &n->regs;

    if (offset < TRN_FAB_UUID(4)) {
        return offset <= TRN_FAB_PARTITION || offset >= TRN_FAB_UUID(0) ?
               identity_read(n, offset) : 0;
    }
    switch (offset) {
    case TRN_FAB_EVENT:
        return r->event;
    case TRN_FAB_PORT_EVENT_LO:
        return r->port_event;
    case TRN_FAB_PORT_EVENT_HI:
        return r->port_event >> 32;
    case TRN_FAB_BROKEN:
        return trn_fab_group_broken(n);
    case TRN_FAB_PATH_DST:
        return r->path.dst;
    case TRN_FAB_PATH_STATUS:
        return r->path.status;
    case TRN_FAB_PATH_RATE:
        return r->path.rate;
    case TRN_FAB_PATH_LATENCY:
        return r->path.latency;
    case TRN_FAB_PATH_PORTS_LO:
        return r->path.ports;
    case TRN_FAB_PATH_PORTS_HI:
        return r->path.ports >> 32;
    case TRN_FAB_PATH_SERIAL_LO:
        return r->path.serial;
    case TRN_FAB_PATH_SERIAL_HI:
        return r->path.serial >> 32;
    case TRN_FAB_ERR_STATUS:
        return r->err_status;
    case TRN_FAB_ERR_ADDR_LO:
        return r->err_addr;
    case TRN_FAB_ERR_ADDR_HI:
        return r->err_addr >> 32;
    case TRN_FAB_ERR_COUNT:
        return r->err_count;
    case TRN_FAB_ERR_ENGINES(0) ...
         TRN_FAB_ERR_ENGINES(TRN_FAB_ERR_ENGINE_WORDS - 1):
        return r->err_engines[(offset - TRN_FAB_ERR_ENGINES(0)) / 4];
    default:
        return trn_fab_group_read(n, offset);
    }
}

static void common_write(TrnFabNode *n, uint32_t offset, uint32_t value)
{
    TrnFabRegs *r = &n->regs;

    switch (offset) {
    case TRN_FAB_EVENT:
        r->event &= ~value;
        r->event_sent &= r->event;
        break;
    case TRN_FAB_PORT_EVENT_LO:
        r->port_event &= ~(uint64_t)value;
        break;
    case TRN_FAB_PORT_EVENT_HI:
        r->port_event &= ~((uint64_t)value << 32);
        break;
    case TRN_FAB_PATH_DST:
        path_look(n, value);
        break;
    case TRN_FAB_ERR_STATUS:
        r->err_status = 0;
        r->err_addr = 0;
        break;
    case TRN_FAB_ERR_ENGINES(0) ...
         TRN_FAB_ERR_ENGINES(TRN_FAB_ERR_ENGINE_WORDS - 1):
        r->err_engines[(offset - TRN_FAB_ERR_ENGINES(0)) / 4] &= ~value;
        break;
    default:
        trn_fab_group_write(n, offset, value);
    }
}

static TrnFabPort *port_at(TrnFabNode *n, uint32_t offset)
{
    unsigned i = (offset - TRN_FAB_PORT(0)) / PORT_PITCH;

    return offset >= TRN_FAB_PORT(0) && i < n->num_ports ? &n->port[i] : NULL;
}

uint32_t trn_fab_read(TrnDevice *d, uint32_t offset)
{
    TrnFabPort *p;

    if (!d->fab) {
        return 0;
    }
    offset &= ~3u;
    if (offset < TRN_FAB_PORT(0)) {
        return common_read(d->fab, offset);
    }
    p = port_at(d->fab, offset);
    return p ? port_read(d->fab, p, offset % PORT_PITCH) : 0;
}

void trn_fab_write(TrnDevice *d, uint32_t offset, uint32_t value)
{
    TrnFabPort *p;

    if (!d->fab) {
        return;
    }
    offset &= ~3u;
    p = port_at(d->fab, offset);
    if (p) {
        port_write(p, offset % PORT_PITCH, value);
    } else {
        common_write(d->fab, offset, value);
    }
    trn_fab_settle(d->fab->fabric);
}
