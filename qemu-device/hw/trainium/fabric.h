/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric between chips, an object of its own: nodes (chips and switches),
 * their ports, and the links between ports. See Documentation/model/fabric.rst.
 *
 *   fabric.c        object, properties, chips coming and going, partitions
 *   fabric-wire.c   the wiring plan of each kind
 *   fabric-link.c   state of the links
 *   fabric-route.c  paths, and what passes every port on the way
 *   fabric-data.c   DMA through the fabric
 *   sched.c         which queue of which chip goes on, by model time
 *   fabric-group.c  groups: multicast store, reduce-read
 *   fabric-regs.c   the fabric block of the extension BAR
 *   fabric-fault.c  faults on demand
 *
 * All of it runs under the big QEMU lock. Nothing here calls out to a chip's
 * registers or to the guest: messages are sent by a timer.
 */
#ifndef HW_TRAINIUM_FABRIC_H
#define HW_TRAINIUM_FABRIC_H

#include "qemu/bitmap.h"
#include "qemu/uuid.h"
#include "udma.h"
#include "regs/fabric.h"

#define TRN_FAB_MAX_CHIPS 144
#define TRN_FAB_NO_DIST UINT8_MAX
#define TRN_FAB_GROUPS 1024
#define TRN_FAB_SLOTS 32

typedef struct TrnFabPort TrnFabPort;
typedef struct TrnSched TrnSched;           /* sched.c */
typedef struct TrnFabGroup TrnFabGroup;     /* fabric-group.c */

/* Faults of a port, or of the link it is an end of */
typedef struct TrnFabPortFault {
    bool pulled;                /* the link: no cable */
    bool silent;                /* the port: does not train */
    uint8_t lanes_lost;
    uint32_t error_every;       /* packets a CRC error each; 0: none */
    uint32_t flap_ms;           /* the link: cable out and in; 0: no */
} TrnFabPortFault;

struct TrnFabPort {
    TrnFabNode *node;
    uint16_t number;
    uint8_t kind;               /* TRN_PORT_KIND_* */
    uint8_t lanes;
    uint32_t rate;              /* MB/s of a lane */
    TrnFabPort *expect;         /* other end, as planned; NULL: not wired */
    TrnFabPort *wire;           /* ... and where the cable leads */
    TrnFabPortFault fault;

    /* what is asked of it */
    uint8_t admin;              /* TRN_PORT_ADMIN_* */
    uint32_t lane_cap, rate_cap;
    bool loopback;

    /* how it is */
    uint8_t state, reason;      /* TRN_PORT_* */
    uint8_t gave_up;            /* reason to stay failed until told to train */
    bool latched;
    bool resetting;
    bool flap_out;
    uint8_t lanes_now;
    uint32_t rate_now;
    uint32_t attempts;
    int64_t changed_ns;
    int64_t deadline;           /* of the state; 0: none */
    int64_t train_start;
    int64_t flap_at;            /* when the cable comes out or in */
    /* downs, errors and recoveries in the window that began then */
    int64_t flap_since, error_since, recovery_since;
    uint32_t flaps, errors, recoveries;
    uint32_t error_rest;        /* packets since the last CRC error */

    TrnClock clock;             /* of it and those parallel to it */
    uint64_t count[TRN_PORT_NUM_COUNTERS];
    uint64_t snap[TRN_PORT_NUM_COUNTERS];
    int64_t snap_ns;
    uint32_t epoch;
};

/* Registers of a chip in the fabric */
typedef struct TrnFabRegs {
    int64_t power_on_ns;
    uint32_t event, event_sent;
    uint64_t port_event;
    uint32_t partition_changes;
    struct {
        uint32_t dst, status, rate, latency;
        uint64_t ports, serial;
    } path;
    uint32_t err_status, err_count;
    uint32_t err_engines[TRN_FAB_ERR_ENGINE_WORDS];
    uint64_t err_addr;
    /* The access that fails, until it is known that the packet does */
    uint32_t failing;           /* TRN_FAB_ST_*; 0: none */
    uint64_t failing_addr;
    struct {
        uint32_t id, arg, result, state, members;
        uint64_t addr, size;
    } group;
    DECLARE_BITMAP(broken, TRN_FAB_GROUPS);     /* not told yet */
    uint32_t hi_latch;
} TrnFabRegs;

struct TrnFabNode {
    TrnFabric *fabric;
    bool is_switch;
    uint16_t id;                /* chips and switches count from 0 each */
    bool off;                   /* switch: without power */
    bool resetting;
    TrnDevice *dev;             /* chip: NULL: nothing plugged in */
    unsigned num_ports;
    TrnFabPort *port;
    uint32_t turn;              /* where the next odd packet leaves */
    int partition;              /* chip: -1: none */
    TrnFabRegs regs;
};

struct TrnFabric {
    Object parent_obj;
    /* properties */
    uint32_t kind;              /* TRN_FAB_KIND_* */
    uint32_t chips, chips_per_server, nodes, lanes, lane_rate;
    QemuUUID uuid;
    bool uuid_set, multicast, reduce, multicast_set, reduce_set;
    char *partitions, *faults;
    Error *blocker;             /* of migration */

    unsigned num_nodes, num_switches, servers_per_rack;
    TrnFabNode *node;           /* chips, then switches */
    unsigned num_attached;
    TrnFabGroup *group;         /* TRN_FAB_GROUPS of them */
    QEMUTimer *timer;
    int64_t timer_at;           /* 0: not running */
    QEMUTimer *event_timer;
    /* Links to each chip, from every node; NULL: not known */
    uint8_t *dist[TRN_FAB_MAX_CHIPS];
    uint32_t *latency[TRN_FAB_MAX_CHIPS];       /* ... and ns, at the same time */
    bool enforce;               /* property: timing=enforce */
    TrnSched *sched;
    uint64_t clock_ns;          /* model time: end of all there was */
    bool routes_changed;
    bool errors_met;            /* too many on some port */
};

static inline TrnFabNode *trn_fab_chip(TrnFabric *f, uint32_t id)
{
    return id < f->chips ? &f->node[id] : NULL;
}

static inline TrnFabNode *trn_fab_switch(TrnFabric *f, uint32_t id)
{
    return id < f->num_switches ? &f->node[f->chips + id] : NULL;
}

static inline bool trn_fab_node_on(const TrnFabNode *n)
{
    return !n->resetting &&
           (n->is_switch ? !n->off : n->dev && !n->dev->gone);
}

/* fabric.c */
void trn_fab_event(TrnFabNode *chip, uint32_t bit);
/* After anything that may have changed links or partitions */
void trn_fab_settle(TrnFabric *f);
uint64_t trn_fab_serial(const TrnFabNode *n);
uint32_t trn_fab_place(const TrnFabNode *chip);

/* fabric-wire.c: nodes and ports of an object whose properties are checked */
bool trn_fab_wire(TrnFabric *f, Error **errp);

/* fabric-link.c */
bool trn_fab_port_carries(const TrnFabPort *p);
/* Both ends carry, and are not drained */
bool trn_fab_port_usable(const TrnFabPort *p);
void trn_fab_port_update(TrnFabPort *p);
void trn_fab_node_update(TrnFabNode *n);
void trn_fab_port_train(TrnFabPort *p);
void trn_fab_port_reset(TrnFabPort *p);
/* To the state after power-on, without a word to the other end */
void trn_fab_port_defaults(TrnFabPort *p);
/* Packets came in through @p: some may have been damaged on the way. */
void trn_fab_port_errors(TrnFabPort *p, uint64_t packets);
/* Ports with too many errors train again. */
void trn_fab_recover(TrnFabric *f);
void trn_fab_timer(void *opaque);
void trn_fab_timer_want(TrnFabric *f, int64_t at);

/* fabric-route.c */
void trn_fab_routes_forget(TrnFabric *f);
/* TRN_FAB_ST_*; @links, @ports: may be NULL */
unsigned trn_fab_reach(TrnFabNode *from, uint32_t id);
unsigned trn_fab_links(TrnFabNode *from, TrnFabNode *to);
uint64_t trn_fab_first_ports(TrnFabNode *from, TrnFabNode *to);
uint32_t trn_fab_rate(TrnFabNode *from, TrnFabNode *to);
uint32_t trn_fab_latency(TrnFabNode *from, TrnFabNode *to);
/* Bytes pass every port on the way. */
void trn_fab_carry(TrnFabNode *from, TrnFabNode *to, uint64_t bytes,
                   TrnTrip *trip);
/* ... only the link at @p, to its other end */
void trn_fab_pass(TrnFabPort *p, uint64_t bytes, TrnTrip *trip);
/* To each of the members, or one combination of what they send */
void trn_fab_carry_group(TrnFabNode *n, TrnFabNode **member, unsigned k,
                         uint64_t bytes, bool store, TrnTrip *trip);
uint64_t trn_fab_packets(uint64_t bytes);
/* The port where what cannot be delivered stops */
TrnFabPort *trn_fab_stop_port(TrnFabNode *from, uint32_t id);

/* fabric-regs.c: @offset is relative to the fabric block */
uint32_t trn_fab_read(TrnDevice *d, uint32_t offset);
void trn_fab_write(TrnDevice *d, uint32_t offset, uint32_t value);
void trn_fab_regs_reset(TrnFabNode *chip);

/* fabric-fault.c: all faults of the object, as its property spells them */
bool trn_fab_faults_set(TrnFabric *f, const char *text, Error **errp);

/* fabric-group.c; @addr: as in a descriptor */
void trn_fab_groups_init(TrnFabric *f);
void trn_fab_groups_exit(TrnFabric *f);
/* The chip leaves all groups and destroys its own. */
void trn_fab_groups_quit(TrnFabNode *n);
/* Breaks those whose members do not reach each other any more. */
void trn_fab_groups_check(TrnFabric *f);
uint32_t trn_fab_group_broken(TrnFabNode *n);
uint32_t trn_fab_group_read(TrnFabNode *n, uint32_t offset);
void trn_fab_group_write(TrnFabNode *n, uint32_t offset, uint32_t value);
/* TRN_FAB_ST_*; clips @len to what all have bound */
unsigned trn_fab_group_look(TrnFabNode *n, uint64_t addr, uint64_t *len);
/* False: not possible any more */
bool trn_fab_group_store(TrnFabNode *n, uint64_t addr, const uint8_t *buf,
                         uint64_t len);
bool trn_fab_group_semaphore(TrnFabNode *n, uint64_t addr, unsigned op,
                             int64_t operand, uint64_t ns);
bool trn_fab_group_reduce(TrnFabNode *n, uint64_t addr, uint8_t *buf,
                          uint64_t len, unsigned dtype, unsigned op);
void trn_fab_group_carry(TrnFabNode *n, uint64_t addr, uint64_t len, bool store,
                         TrnTrip *trip);
uint32_t trn_fab_group_latency(TrnFabNode *n, uint64_t addr);

/* sched.c */
TrnSched *trn_sched_new(TrnFabric *f);
void trn_sched_free(TrnSched *s);

#endif
