/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DMA through the fabric. A descriptor's address leads to another chip when it
 * has bit 63 (the fabric aperture) or bit 52 (the neighbour node's chip, as
 * the vendor's driver reads it). What can be reached there is plain memory, by
 * pointer, and the semaphores and events; by bit 52, HBM and MISC RAM to read.
 *
 * A pointer into another chip's memory is never kept: packets look again, and
 * the executor writes what it has put off before it calls out of the model.
 */
#include "qemu/osdep.h"
#include "fabric.h"

#define NODE_PORT(s) (4 + (s))

/* Says why an access fails; nobody is told before the packet is dropped. */
static TrnSpanKind span_bad(TrnFabNode *n, unsigned status, uint64_t addr)
{
    if (n) {
        n->regs.failing = status;
        n->regs.failing_addr = addr;
    }
    return TRN_SPAN_BAD;
}

/* What @t is for DMA of another chip */
static TrnSpanKind span_target(const TrnTarget *t, TrnSpan *s, uint64_t *len)
{
    *len = MIN(*len, t->len);
    *s = (TrnSpan) { .stack = -1 };
    if (t->kind == TRN_TARGET_RAM) {
        s->ptr = t->ptr;
        s->store = t->store;
        return TRN_SPAN_DIRECT;
    }
    return t->kind == TRN_TARGET_REG && !((t->addr | *len) & 3) ?
           TRN_SPAN_INDIRECT : TRN_SPAN_BAD;
}

static TrnSpanKind unicast_span(TrnFabNode *n, uint64_t addr, TrnSpan *s,
                                uint64_t *len, TrnTarget *t)
{
    uint32_t id = addr >> TRN_FABRIC_ID_SHIFT & TRN_FABRIC_ID_MASK;
    unsigned status = trn_fab_reach(n, id);
    TrnSpanKind kind;

    if (status != TRN_FAB_ST_OK) {
        return span_bad(n, status, addr);
    }
    /* Never again the fabric: its bits are gone. */
    if (!trn_axi_resolve(trn_fab_chip(n->fabric, id)->dev,
                         addr & TRN_FABRIC_ADDR_MASK, t) ||
        (t->kind == TRN_TARGET_REG && t->block != &trn_sync_block)) {
        return span_bad(n, TRN_FAB_ST_ADDRESS, addr);
    }
    kind = span_target(t, s, len);
    return kind == TRN_SPAN_BAD ? span_bad(n, TRN_FAB_ST_ADDRESS, addr) :
                                  kind;
}

/* Port of inter-node link @s; NULL: none, or it carries nothing */
static TrnFabPort *neighbour_port(TrnFabNode *n, unsigned s)
{
    TrnFabPort *p;

    if (n->fabric->kind != TRN_FAB_KIND_NEURONLINK ||
        NODE_PORT(s) >= n->num_ports) {
        return NULL;
    }
    p = &n->port[NODE_PORT(s)];
    return trn_fab_port_usable(p) &&
           trn_fab_reach(n, p->wire->node->id) == TRN_FAB_ST_OK ? p : NULL;
}

static TrnSpanKind neighbour_span(TrnFabNode *n, uint64_t addr, bool write,
                                  TrnSpan *s, uint64_t *len, TrnTarget *t)
{
    TrnFabPort *p = neighbour_port(n, t->index);

    if (!p) {
        return span_bad(n, TRN_FAB_ST_NO_PATH, addr);
    }
    if (!trn_axi_resolve(p->wire->node->dev, t->addr, t) ||
        (t->stack < 0 && (t->block != &trn_fw_block || write))) {
        return span_bad(n, TRN_FAB_ST_ADDRESS, addr);
    }
    return span_target(t, s, len);
}

/* Over a group: multicast is written, reduce-read is read. */
static TrnSpanKind group_span(TrnFabNode *n, const TrnPacket *p, uint64_t addr,
                              bool write, TrnSpan *s, uint64_t *len,
                              TrnTarget *t)
{
    unsigned status;

    if (write ? !n->fabric->multicast ||
                (p->op_type != TRN_META_OP_TYPE_COPY &&
                 p->op_type != TRN_META_OP_TYPE_SEMAPHORE) :
                !n->fabric->reduce) {
        return span_bad(n, TRN_FAB_ST_BAD_OP, addr);
    }
    status = trn_fab_group_look(n, addr, len);
    if (status != TRN_FAB_ST_OK) {
        return span_bad(n, status, addr);
    }
    *s = (TrnSpan) { .stack = -1 };
    *t = (TrnTarget) {
        .kind = TRN_TARGET_GROUP,
        .dev = n->dev,
        .addr = addr,
        .len = *len,
        .stack = -1,
    };
    return TRN_SPAN_INDIRECT;
}

TrnSpanKind trn_fabric_span(TrnEngine *e, const TrnPacket *p, uint64_t addr,
                            bool write, TrnSpan *s, uint64_t *len,
                            TrnTarget *t)
{
    unsigned type = (addr & TRN_FABRIC_TYPE_MASK) >> TRN_FABRIC_TYPE_SHIFT;
    TrnFabNode *n = e->dev->fab;

    if (!n) {
        return TRN_SPAN_BAD;
    }
    if (!(addr & TRN_FABRIC_AXI)) {
        return trn_axi_resolve(e->dev, addr, t) &&
               t->kind == TRN_TARGET_NEIGHBOUR ?
               neighbour_span(n, addr, write, s, len, t) : TRN_SPAN_BAD;
    }
    /* What is combined on its way comes by reduce-read, and nothing else. */
    if (!write && (type == TRN_FABRIC_REDUCE) !=
        (p->op_type == TRN_META_OP_TYPE_REDUCE)) {
        return span_bad(n, TRN_FAB_ST_BAD_OP, addr);
    }
    switch (type) {
    case TRN_FABRIC_UNICAST:
        return unicast_span(n, addr, s, len, t);
    case TRN_FABRIC_MULTICAST:
    case TRN_FABRIC_REDUCE:
        if (write == (type == TRN_FABRIC_MULTICAST)) {
            return group_span(n, p, addr, write, s, len, t);
        }
        /* fall through */
    default:
        return span_bad(n, TRN_FAB_ST_BAD_OP, addr);
    }
}

bool trn_fabric_read(const TrnPacket *p, const TrnTarget *t, uint8_t *buf,
                     uint64_t len)
{
    return t->dev->fab && trn_fab_group_reduce(t->dev->fab, t->addr, buf, len,
                                               p->dtype, p->op);
}

bool trn_fabric_write(const TrnTarget *t, const uint8_t *buf, uint64_t len)
{
    return t->dev->fab && trn_fab_group_store(t->dev->fab, t->addr, buf, len);
}

/* --- what passed, and what did not --- */

/* Of the chip's memory behind @addr, as its own DMA spells it */
static void stack_pass(TrnFabNode *n, uint64_t addr, uint64_t bytes,
                       TrnTrip *trip)
{
    TrnTarget t;

    if (n->dev && trn_axi_resolve(n->dev, addr, &t) && t.stack >= 0) {
        trn_stack_pass(n->dev, t.stack, bytes, trip);
    }
}

static TrnFabPort *window_port(TrnFabNode *n, uint64_t addr)
{
    return neighbour_port(n, (addr & (TRN2_AXI_NEIGHBOUR - 1)) /
                             TRN2_AXI_NEIGHBOUR_STRIDE);
}

static TrnFabNode *unicast_peer(TrnFabNode *n, uint64_t addr)
{
    return trn_fab_chip(n->fabric, addr >> TRN_FABRIC_ID_SHIFT &
                                   TRN_FABRIC_ID_MASK);
}

/* Bytes of one side of a packet */
static void side_pass(TrnFabNode *n, uint64_t addr, uint64_t bytes, bool write,
                      TrnTrip *trip)
{
    TrnFabNode *peer;
    TrnFabPort *p;

    if (addr & TRN_FABRIC_AXI && addr & TRN_FABRIC_TYPE_MASK) {
        trn_fab_group_carry(n, addr, bytes, write, trip);
    } else if (addr & TRN_FABRIC_AXI) {
        peer = unicast_peer(n, addr);
        trn_fab_carry(write ? n : peer, write ? peer : n, bytes, trip);
        trip->latency_ns = MAX(trip->latency_ns, trn_fab_latency(n, peer));
        stack_pass(peer, addr & TRN_FABRIC_ADDR_MASK, bytes, trip);
    } else if (addr >> TRN_FAR_SHIFT) {
        p = window_port(n, addr);
        if (p) {
            trn_fab_pass(write ? p : p->wire, bytes, trip);
            stack_pass(p->wire->node, addr % TRN2_AXI_NEIGHBOUR_STRIDE, bytes,
                       trip);
        }
    }
}

void trn_fabric_account(TrnEngine *e, const TrnPacket *p, TrnTrip *trip)
{
    TrnFabNode *n = e->dev->fab;
    unsigned i;

    n->regs.failing = 0;
    for (i = 0; i < p->num_segs; i++) {
        const TrnSeg *seg = &p->seg[i];

        side_pass(n, seg->src, seg->len, false, trip);
        side_pass(n, seg->dst, seg->len, true, trip);
    }
    trn_fab_settle(n->fabric);
}

uint32_t trn_fabric_latency(TrnEngine *e, uint64_t addr)
{
    TrnFabNode *n = e->dev->fab, *peer;

    if (!(addr & TRN_FABRIC_AXI)) {
        return 0;
    }
    if (addr & TRN_FABRIC_TYPE_MASK) {
        return trn_fab_group_latency(n, addr);
    }
    peer = unicast_peer(n, addr);
    return peer ? trn_fab_latency(n, peer) : 0;
}

void trn_fabric_fail(TrnEngine *e, const TrnPacket *p)
{
    TrnFabNode *n = e->dev->fab;
    TrnFabRegs *r;
    TrnFabPort *port;
    uint32_t id;

    if (!n || !n->regs.failing) {
        return;
    }
    r = &n->regs;
    r->err_status = TRN_FAB_ERR_VALID | e->id << 8 | r->failing;
    r->err_addr = r->failing_addr;
    r->err_engines[e->id / 32] |= 1u << e->id % 32;
    r->err_count++;
    id = r->err_addr >> TRN_FABRIC_ID_SHIFT & TRN_FABRIC_ID_MASK;
    port = trn_fab_stop_port(n, id);
    if (r->failing == TRN_FAB_ST_PARTITION) {
        port->count[TRN_PORT_BLOCKED] += trn_fab_packets(p->bytes);
    } else if (r->failing == TRN_FAB_ST_NO_PATH) {
        port->count[TRN_PORT_DISCARDS] += trn_fab_packets(p->bytes);
    }
    r->failing = 0;
}
