/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wiring plans: which nodes and ports a fabric has, and what each port should
 * lead to. Only reachability is public: numbers of ports and their order are
 * this project's own, see Documentation/model/fabric.rst.
 *
 *   NeuronLink     16 chips of a node are a 4x4 torus: as routing ids, those
 *                  that differ in one bit are neighbours. Nodes form a ring of
 *                  four (or a pair), each chip joined to the one in its place.
 *   NeuronSwitch   four links to the server's switch, five to the rack's, two
 *                  to the chip in the same place of the other rack
 *   NVLink         four links to each of nine switches
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "fabric.h"

/* NeuronLink; lanes and rate as PCIe of the fifth generation has them */
#define TORUS_CHIPS 16
#define TORUS_PORTS 4
#define TORUS_LANES 32
#define NODE_PORTS 4
#define NODE_LANES 8
#define TORUS_RATE 4000

/* NeuronSwitch-v1; lanes of the sixth generation */
#define SERVER_LINKS 4
#define RACK_LINKS 5
#define CROSS_LINKS 2
#define SWITCHED_LANES 8
#define SWITCHED_RATE 8000

/* NVLink: 50 GB/s a link and direction */
#define NVLINK_SWITCHES 9
#define NVLINK_LINKS 4          /* to each */
#define NVLINK_LANES 2
#define NVLINK_RATE 25000
#define NVLINK_CHIPS 72

static void node_init(TrnFabric *f, unsigned n, unsigned num_ports)
{
    TrnFabNode *node = &f->node[n];
    unsigned i;

    node->fabric = f;
    node->is_switch = n >= f->chips;
    node->id = node->is_switch ? n - f->chips : n;
    node->num_ports = num_ports;
    node->port = g_new0(TrnFabPort, num_ports);
    for (i = 0; i < num_ports; i++) {
        TrnFabPort *p = &node->port[i];

        p->node = node;
        p->number = i;
        p->lanes = 1;
        p->kind = TRN_PORT_KIND_SWITCH;
        trn_fab_port_defaults(p);
    }
}

static void nodes_init(TrnFabric *f, unsigned num_switches,
                       unsigned chip_ports, unsigned switch_ports)
{
    unsigned i;

    f->num_switches = num_switches;
    f->num_nodes = f->chips + num_switches;
    f->node = g_new0(TrnFabNode, f->num_nodes);
    for (i = 0; i < f->num_nodes; i++) {
        node_init(f, i, i < f->chips ? chip_ports : switch_ports);
    }
}

static void port_init(TrnFabric *f, TrnFabPort *p, unsigned kind,
                      unsigned lanes, unsigned rate)
{
    p->kind = kind;
    p->lanes = f->lanes ?: lanes;
    p->rate = f->lane_rate ?: rate;
}

static void link_init(TrnFabPort *a, TrnFabPort *b)
{
    b->kind = a->kind;
    b->lanes = a->lanes;
    b->rate = a->rate;
    a->expect = a->wire = b;
    b->expect = b->wire = a;
}

/* --- NeuronLink --- */

/* Bit of the routing id that changes by way of port @n: the vendor's table */
static unsigned torus_bit(unsigned rid, unsigned n)
{
    static const uint8_t device_number[TORUS_CHIPS] = {
        0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10,
    };
    static const uint8_t bit[2][TORUS_PORTS] = { { 4, 8, 1, 2 },
                                                 { 8, 4, 2, 1 } };

    return bit[device_number[rid] & 1][n];
}

static unsigned torus_port(unsigned rid, unsigned bit)
{
    unsigned n = 0;

    while (torus_bit(rid, n) != bit) {
        n++;
    }
    return n;
}

/*
 * Link @s of a node, by the engine group it belongs to: 1 and 2 lead left, 0
 * and 3 right. Left joins to left and right to right: 0-1 and 2-3 are left
 * pairs, 0-3 and 1-2 right ones. Of two nodes both lead to the other.
 */
static unsigned node_neighbour(TrnFabric *f, unsigned node, unsigned s)
{
    bool left = s == 1 || s == 2;

    return left || f->nodes == 2 ? node ^ 1 : 3 - node;
}

static void wire_neuronlink(TrnFabric *f)
{
    unsigned id, n;

    nodes_init(f, 0, TORUS_PORTS + (f->nodes > 1 ? NODE_PORTS : 0), 0);
    for (id = 0; id < f->chips; id++) {
        TrnFabPort *port = f->node[id].port;
        unsigned rid = id % TORUS_CHIPS;

        for (n = 0; n < TORUS_PORTS; n++) {
            unsigned bit = torus_bit(rid, n);
            TrnFabNode *peer = trn_fab_chip(f, id ^ bit);

            port_init(f, &port[n], TRN_PORT_KIND_CHIP, TORUS_LANES,
                      TORUS_RATE);
            if (peer && peer->id < id) {
                link_init(&peer->port[torus_port(rid ^ bit, bit)], &port[n]);
            }
        }
        for (n = 0; f->nodes > 1 && n < NODE_PORTS; n++) {
            unsigned node = id / TORUS_CHIPS;
            TrnFabNode *peer = trn_fab_chip(f, rid + TORUS_CHIPS *
                                            node_neighbour(f, node, n));

            port_init(f, &port[TORUS_PORTS + n], TRN_PORT_KIND_NODE,
                      NODE_LANES, TORUS_RATE);
            if (peer && peer->id < id) {
                link_init(&peer->port[TORUS_PORTS + n],
                          &port[TORUS_PORTS + n]);
            }
        }
    }
}

/* --- NeuronSwitch --- */

static void wire_neuronswitch(TrnFabric *f)
{
    unsigned servers = DIV_ROUND_UP(f->chips, f->chips_per_server);
    unsigned racks = DIV_ROUND_UP(servers, f->servers_per_rack);
    unsigned rack_chips = f->servers_per_rack * f->chips_per_server;
    unsigned id, n;

    nodes_init(f, servers + racks,
               SERVER_LINKS + RACK_LINKS + (racks > 1 ? CROSS_LINKS : 0),
               MAX(rack_chips * RACK_LINKS,
                   f->chips_per_server * SERVER_LINKS));
    for (id = 0; id < f->chips; id++) {
        TrnFabPort *port = f->node[id].port;
        TrnFabNode *first = trn_fab_switch(f, id / f->chips_per_server);
        TrnFabNode *second = trn_fab_switch(f, servers + id / rack_chips);
        TrnFabNode *other = id >= rack_chips ?
                            trn_fab_chip(f, id - rack_chips) : NULL;

        for (n = 0; n < SERVER_LINKS; n++) {
            port_init(f, &port[n], TRN_PORT_KIND_SWITCH, SWITCHED_LANES,
                      SWITCHED_RATE);
            link_init(&port[n], &first->port[id % f->chips_per_server *
                                             SERVER_LINKS + n]);
        }
        for (n = 0; n < RACK_LINKS; n++) {
            port_init(f, &port[SERVER_LINKS + n], TRN_PORT_KIND_SWITCH,
                      SWITCHED_LANES, SWITCHED_RATE);
            link_init(&port[SERVER_LINKS + n],
                      &second->port[id % rack_chips * RACK_LINKS + n]);
        }
        for (n = SERVER_LINKS + RACK_LINKS; n < f->node[id].num_ports; n++) {
            port_init(f, &port[n], TRN_PORT_KIND_RACK, SWITCHED_LANES,
                      SWITCHED_RATE);
            if (other) {
                link_init(&other->port[n], &port[n]);
            }
        }
    }
}

/* --- NVLink --- */

static void wire_nvlink(TrnFabric *f)
{
    unsigned id, n;

    nodes_init(f, NVLINK_SWITCHES, NVLINK_SWITCHES * NVLINK_LINKS,
               f->chips * NVLINK_LINKS);
    for (id = 0; id < f->chips; id++) {
        for (n = 0; n < NVLINK_SWITCHES * NVLINK_LINKS; n++) {
            TrnFabNode *sw = trn_fab_switch(f, n / NVLINK_LINKS);
            TrnFabPort *p = &f->node[id].port[n];

            port_init(f, p, TRN_PORT_KIND_SWITCH, NVLINK_LANES, NVLINK_RATE);
            link_init(p, &sw->port[id * NVLINK_LINKS + n % NVLINK_LINKS]);
        }
    }
}

/* --- */

bool trn_fab_wire(TrnFabric *f, Error **errp)
{
    unsigned max;

    switch (f->kind) {
    case TRN_FAB_KIND_NEURONLINK:
        f->chips_per_server = f->chips_per_server ?: TORUS_CHIPS;
        f->servers_per_rack = 2;
        max = TORUS_CHIPS * f->nodes;
        break;
    case TRN_FAB_KIND_NEURONSWITCH:
        f->chips_per_server = f->chips_per_server ?: 4;
        f->servers_per_rack = f->chips_per_server == 4 ? 18 : 2;
        max = 2 * f->servers_per_rack * f->chips_per_server;
        break;
    default:
        f->chips_per_server = f->chips_per_server ?: 4;
        f->servers_per_rack = NVLINK_CHIPS / f->chips_per_server;
        max = NVLINK_CHIPS;
    }
    if (f->chips_per_server != 4 && f->chips_per_server != TORUS_CHIPS) {
        error_setg(errp, "chips-per-server is 4 or 16");
        return false;
    }
    if (f->kind == TRN_FAB_KIND_NEURONLINK ?
        f->chips_per_server != TORUS_CHIPS : f->nodes != 1) {
        error_setg(errp, "chips-per-server is 16 with neuronlink, and nodes "
                   "is 1 with any other kind");
        return false;
    }
    f->chips = f->chips ?: max;
    if (f->chips > max) {
        error_setg(errp, "chips is at most %u here", max);
        return false;
    }
    switch (f->kind) {
    case TRN_FAB_KIND_NEURONLINK:
        wire_neuronlink(f);
        break;
    case TRN_FAB_KIND_NEURONSWITCH:
        wire_neuronswitch(f);
        break;
    default:
        wire_nvlink(f);
    }
    return true;
}
