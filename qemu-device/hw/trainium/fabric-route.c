/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths. Bytes take the fewest links that are up: for each chip, the number of
 * links from every node to it is kept until a link or a partition changes.
 * Where several ports lead nearer, NVLink uses all of them; the others all
 * parallel links to one next node: in the torus, that of the lowest dimension.
 *
 * Who forwards: switches, and with NeuronLink and NeuronSwitch the chips of the
 * destination's partition.
 *
 * Over parallel links go whole packets, by their rate; what does not share out
 * evenly goes round. Both ends of every link count every byte.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "fabric.h"
#include "trace.h"

/* Model time of a packet */
#define LINK_NS 200
#define SWITCH_NS 250
#define FORWARD_NS 400

/* Ways on from a node: no more than parallel links and switches can be */
#define MAX_WAYS TRN_FAB_MAX_PORTS

/* --- distances --- */

static unsigned node_index(const TrnFabNode *n)
{
    return n - n->fabric->node;
}

void trn_fab_routes_forget(TrnFabric *f)
{
    unsigned i;

    for (i = 0; i < f->chips; i++) {
        g_clear_pointer(&f->dist[i], g_free);
        g_clear_pointer(&f->latency[i], g_free);
    }
}

static bool forwards(const TrnFabNode *n, const TrnFabNode *dst)
{
    return n == dst || n->is_switch ||
           (n->fabric->kind != TRN_FAB_KIND_NVLINK &&
            n->partition == dst->partition);
}

static const uint8_t *distances(TrnFabNode *dst)
{
    TrnFabric *f = dst->fabric;
    uint8_t *dist = f->dist[dst->id];
    g_autofree uint16_t *queue = NULL;
    unsigned head = 0, tail = 0, i;
    uint32_t *latency;

    if (dist) {
        return dist;
    }
    latency = f->latency[dst->id] = g_new0(uint32_t, f->num_nodes);
    dist = f->dist[dst->id] = g_malloc(f->num_nodes);
    memset(dist, TRN_FAB_NO_DIST, f->num_nodes);
    queue = g_new(uint16_t, f->num_nodes);
    dist[node_index(dst)] = 0;
    queue[tail++] = node_index(dst);
    while (head < tail) {
        TrnFabNode *n = &f->node[queue[head++]];
        uint8_t next = dist[node_index(n)] + 1;
        uint32_t ns = latency[node_index(n)] + LINK_NS +
                      (n == dst ? 0 : n->is_switch ? SWITCH_NS : FORWARD_NS);

        if (!forwards(n, dst)) {
            continue;
        }
        for (i = 0; i < n->num_ports; i++) {
            TrnFabPort *p = &n->port[i];

            if (trn_fab_port_usable(p) &&
                dist[node_index(p->wire->node)] == TRN_FAB_NO_DIST) {
                dist[node_index(p->wire->node)] = next;
                latency[node_index(p->wire->node)] = ns;
                queue[tail++] = node_index(p->wire->node);
            }
        }
    }
    return dist;
}

unsigned trn_fab_links(TrnFabNode *from, TrnFabNode *to)
{
    return distances(to)[node_index(from)];
}

/* --- ways on --- */

typedef struct Ways {
    TrnFabPort *port[MAX_WAYS];
    unsigned n;
    uint64_t rate;              /* MB/s of all */
    bool uneven;                /* they are not all alike */
} Ways;

static uint64_t port_rate(const TrnFabPort *p)
{
    return (uint64_t)p->lanes_now * p->rate_now;
}

static void ways_clear(Ways *w)
{
    w->n = 0;
    w->rate = 0;
    w->uneven = false;
}

static void way_add(Ways *w, TrnFabPort *p)
{
    if (w->n < MAX_WAYS && trn_fab_port_usable(p)) {
        w->uneven |= w->n && port_rate(p) != port_rate(w->port[0]);
        w->port[w->n++] = p;
        w->rate += port_rate(p);
    }
}

/* The next node, where only one is used; NULL: there is no way */
static TrnFabNode *next_node(TrnFabNode *n, const uint8_t *dist)
{
    TrnFabNode *best = NULL;
    unsigned i;

    for (i = 0; i < n->num_ports; i++) {
        TrnFabPort *p = &n->port[i];
        TrnFabNode *next = p->wire ? p->wire->node : NULL;

        if (!next || dist[node_index(next)] >= dist[node_index(n)] ||
            !trn_fab_port_usable(p)) {
            continue;
        }
        if (n->fabric->kind != TRN_FAB_KIND_NEURONLINK) {
            return next;
        }
        if (!best || (next->id ^ n->id) < (best->id ^ n->id)) {
            best = next;
        }
    }
    return best;
}

static void ways_on(TrnFabNode *n, TrnFabNode *dst, const uint8_t *dist,
                    Ways *w)
{
    TrnFabNode *next = dst;
    unsigned i;

    ways_clear(w);
    if (n->is_switch && dist[node_index(n)] == 1) {
        /* From the far end: a switch has hundreds of ports */
        for (i = 0; i < dst->num_ports; i++) {
            if (dst->port[i].wire && dst->port[i].wire->node == n) {
                way_add(w, dst->port[i].wire);
            }
        }
        return;
    }
    if (n->fabric->kind != TRN_FAB_KIND_NVLINK) {
        next = next_node(n, dist);
    }
    for (i = 0; i < n->num_ports; i++) {
        TrnFabPort *p = &n->port[i];

        if (p->wire && (n->fabric->kind == TRN_FAB_KIND_NVLINK ?
                        dist[node_index(p->wire->node)] <
                        dist[node_index(n)] : p->wire->node == next)) {
            way_add(w, p);
        }
    }
}

/* Ports from @i on that lead to the same node; the first one behind them */
static unsigned ways_same(const Ways *w, unsigned i)
{
    unsigned k = i + 1;

    while (k < w->n && w->port[k]->wire->node == w->port[i]->wire->node) {
        k++;
    }
    return k;
}

uint64_t trn_fab_first_ports(TrnFabNode *from, TrnFabNode *to)
{
    uint64_t ports = 0;
    Ways w;
    unsigned i;

    if (from == to || trn_fab_links(from, to) == TRN_FAB_NO_DIST) {
        return 0;
    }
    ways_on(from, to, distances(to), &w);
    for (i = 0; i < w.n; i++) {
        ports |= 1ull << w.port[i]->number;
    }
    return ports;
}

static uint64_t path_rate(TrnFabNode *from, TrnFabNode *to,
                          const uint8_t *dist)
{
    uint64_t total = 0;
    unsigned i, k, end;
    Ways w;

    if (from == to) {
        return UINT32_MAX;
    }
    ways_on(from, to, dist, &w);
    for (i = 0; i < w.n; i = end) {
        uint64_t rate = 0;

        end = ways_same(&w, i);
        for (k = i; k < end; k++) {
            rate += port_rate(w.port[k]);
        }
        total += MIN(rate, path_rate(w.port[i]->wire->node, to, dist));
    }
    return total;
}

uint32_t trn_fab_rate(TrnFabNode *from, TrnFabNode *to)
{
    if (from == to || trn_fab_links(from, to) == TRN_FAB_NO_DIST) {
        return 0;
    }
    return MIN(path_rate(from, to, distances(to)), UINT32_MAX);
}

uint32_t trn_fab_latency(TrnFabNode *from, TrnFabNode *to)
{
    distances(to);
    return to->fabric->latency[to->id][node_index(from)];
}

/* --- reach --- */

unsigned trn_fab_reach(TrnFabNode *from, uint32_t id)
{
    TrnFabNode *to = trn_fab_chip(from->fabric, id);

    if (!to || !to->dev || to->dev->gone) {
        return TRN_FAB_ST_NO_CHIP;
    }
    if (from != to &&
        (from->partition < 0 || from->partition != to->partition)) {
        return TRN_FAB_ST_PARTITION;
    }
    if (from != to && trn_fab_links(from, to) == TRN_FAB_NO_DIST) {
        return TRN_FAB_ST_NO_PATH;
    }
    return TRN_FAB_ST_OK;
}

TrnFabPort *trn_fab_stop_port(TrnFabNode *from, uint32_t id)
{
    TrnFabNode *to = trn_fab_chip(from->fabric, id);
    uint64_t ports = to ? trn_fab_first_ports(from, to) : 0;

    return &from->port[ports ? ctz64(ports) : 0];
}

/* --- traffic --- */

uint64_t trn_fab_packets(uint64_t bytes)
{
    return DIV_ROUND_UP(bytes, TRN_FAB_PACKET_SIZE);
}

/*
 * Some packets; @bytes is less than their size by what the last one lacks.
 * Time is that of bytes shared out evenly, in parts of a byte: which port an
 * odd packet takes does not count.
 */
#define PART_BITS 8
typedef struct Load {
    uint64_t packets, bytes;
    uint64_t parts;
} Load;

static Load load_of(uint64_t bytes)
{
    return (Load) { trn_fab_packets(bytes), bytes, bytes << PART_BITS };
}

/* What is being carried */
typedef struct Cargo {
    unsigned counter;           /* TRN_PORT_MULTICASTS, _REDUCTIONS; 0: none */
    bool small;                 /* one packet: goes between those of others */
    TrnTrip *trip;
} Cargo;

static void link_pass(TrnFabPort *p, Load l, unsigned counter)
{
    TrnFabPort *peer = p->wire;

    if (!l.packets) {
        return;
    }
    if (counter) {
        p->count[counter] += l.packets;
        peer->count[counter] += l.packets;
    }
    p->count[TRN_PORT_TX_BYTES] += l.bytes;
    p->count[TRN_PORT_TX_PACKETS] += l.packets;
    peer->count[TRN_PORT_RX_BYTES] += l.bytes;
    peer->count[TRN_PORT_RX_PACKETS] += l.packets;
    if (unlikely(peer->fault.error_every)) {
        trn_fab_port_errors(peer, l.packets);
    }
}

/*
 * Each of the ports from @i to before @end passes on its share, or their other
 * ends do (@back). Returns when the first byte goes, and what it was in @sum.
 */
static uint64_t links_pass(const Ways *w, unsigned i, unsigned end, bool back,
                           const Load *share, const Cargo *c, uint64_t from_ns,
                           Load *sum)
{
    TrnFabPort *first = back ? w->port[i]->wire : w->port[i];
    uint64_t rate = 0, end_ns = from_ns;
    unsigned begin = i;

    *sum = (Load) {};
    for (; i < end; i++) {
        link_pass(back ? w->port[i]->wire : w->port[i], share[i], c->counter);
        sum->packets += share[i].packets;
        sum->bytes += share[i].bytes;
        sum->parts += share[i].parts;
        rate += port_rate(w->port[i]);
    }
    if (c->small) {
        return from_ns;
    }
    from_ns = trn_clock_pass(&first->clock, from_ns, sum->parts,
                             rate << PART_BITS, &end_ns);
    c->trip->end_ns = MAX(c->trip->end_ns, end_ns);
    trace_trn_time_link(first->node->is_switch ? "switch" : "chip",
                        first->node->id, first->number, end - begin,
                        sum->bytes, from_ns, end_ns);
    return from_ns;
}

static uint64_t way_packets(const Ways *w, unsigned i, uint64_t packets)
{
    if (likely(!w->uneven)) {
        return packets / w->n;
    }
    return muldiv64(packets, MIN(port_rate(w->port[i]), UINT32_MAX),
                    MIN(w->rate, UINT32_MAX));
}

/* Shares the load out over the ways; @share has room for all of them. */
static void load_share(TrnFabNode *n, const Ways *w, Load l, Load *share)
{
    uint64_t lacks = l.packets * TRN_FAB_PACKET_SIZE - l.bytes;
    uint64_t left = l.packets;
    unsigned i, last = 0;

    for (i = 0; i < w->n; i++) {
        share[i].packets = way_packets(w, i, l.packets);
        left -= share[i].packets;
        if (share[i].packets) {
            last = i;
        }
    }
    while (left) {
        last = n->turn++ % w->n;
        share[last].packets++;
        left--;
    }
    for (i = 0; i < w->n; i++) {
        share[i].parts = w->rate ? l.parts * port_rate(w->port[i]) / w->rate : 0;
        share[i].bytes = share[i].packets * TRN_FAB_PACKET_SIZE -
                         (i == last ? lacks : 0);
    }
}

static void carry(TrnFabNode *from, TrnFabNode *to, const uint8_t *dist,
                  Load l, const Cargo *c, uint64_t from_ns)
{
    Load share[MAX_WAYS];
    unsigned i, end;
    Ways w;

    if (from == to || !l.parts) {
        return;
    }
    ways_on(from, to, dist, &w);
    if (!w.n) {
        return;
    }
    load_share(from, &w, l, share);
    for (i = 0; i < w.n; i = end) {
        uint64_t ns;
        Load sum;

        end = ways_same(&w, i);
        ns = links_pass(&w, i, end, false, share, c, from_ns, &sum);
        carry(w.port[i]->wire->node, to, dist, sum, c, ns);
    }
}

void trn_fab_pass(TrnFabPort *p, uint64_t bytes, TrnTrip *trip)
{
    link_pass(p, load_of(bytes), 0);
    trn_clock_pass(&p->clock, trip->from_ns, bytes, port_rate(p),
                   &trip->end_ns);
}

void trn_fab_carry(TrnFabNode *from, TrnFabNode *to, uint64_t bytes,
                   TrnTrip *trip)
{
    Load l = load_of(bytes);
    Cargo c = { .small = l.packets == 1, .trip = trip };

    if (trn_fab_links(from, to) != TRN_FAB_NO_DIST) {
        carry(from, to, distances(to), l, &c, trip->from_ns);
    }
}

/* Usable ports of the switch to the chip */
static void ways_down(TrnFabNode *sw, TrnFabNode *chip, Ways *w)
{
    unsigned i;

    ways_clear(w);
    for (i = 0; i < chip->num_ports; i++) {
        TrnFabPort *p = chip->port[i].wire;

        if (p && p->node == sw) {
            way_add(w, p);
        }
    }
}

/* Passes over the links between switch and chip, in either direction. */
static void switch_pass(TrnFabNode *sw, TrnFabNode *chip, Load l, bool up,
                        const Cargo *c, uint64_t from_ns)
{
    Load share[MAX_WAYS], sum;
    Ways w;

    ways_down(sw, chip, &w);
    if (!w.n) {
        return;
    }
    load_share(sw, &w, l, share);
    links_pass(&w, 0, w.n, up, share, c, from_ns, &sum);
}

/* Ports of @n to switches that all members are joined to */
static void ways_common(TrnFabNode *n, TrnFabNode **member, unsigned k,
                        Ways *w)
{
    unsigned i, m;
    Ways down;

    ways_clear(w);
    for (i = 0; i < n->num_ports; i++) {
        TrnFabPort *p = &n->port[i];

        if (!p->wire || !p->wire->node->is_switch) {
            continue;
        }
        for (m = 0; m < k; m++) {
            ways_down(p->wire->node, member[m], &down);
            if (!down.n) {
                break;
            }
        }
        if (m == k) {
            way_add(w, p);
        }
    }
}

void trn_fab_carry_group(TrnFabNode *n, TrnFabNode **member, unsigned k,
                         uint64_t bytes, bool store, TrnTrip *trip)
{
    Load l = load_of(bytes);
    Cargo c = {
        .counter = store ? TRN_PORT_MULTICASTS : TRN_PORT_REDUCTIONS,
        .small = l.packets == 1,
        .trip = trip,
    };
    Load share[MAX_WAYS];
    unsigned i, m, end;
    Ways w = {};

    if (n->fabric->kind == TRN_FAB_KIND_NVLINK) {
        ways_common(n, member, k, &w);
    }
    if (!w.n) {
        /* Nothing in between that copies or combines: one by one */
        for (m = 0; m < k; m++) {
            TrnFabNode *from = store ? n : member[m];
            TrnFabNode *to = store ? member[m] : n;

            if (trn_fab_links(from, to) != TRN_FAB_NO_DIST) {
                carry(from, to, distances(to), l, &c, trip->from_ns);
            }
        }
        return;
    }
    load_share(n, &w, l, share);
    for (i = 0; i < w.n; i = end) {
        uint64_t ns;
        Load sum;

        end = ways_same(&w, i);
        ns = links_pass(&w, i, end, !store, share, &c, trip->from_ns, &sum);
        for (m = 0; m < k; m++) {
            switch_pass(w.port[i]->wire->node, member[m], sum, !store, &c, ns);
        }
    }
}
