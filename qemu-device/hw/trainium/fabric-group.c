/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: multicast store and reduce-read. A group is ready when all its
 * members have joined, and breaks for good when one of them leaves, resets, or
 * cannot be reached by another one any more. Its owner going takes it away.
 *
 * Work is bounded: a packet over a group is 64 KiB at most (udma-packet.c).
 */
#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "fabric.h"
#include "reduce.h"
#include "trace.h"

#define GRANULE 0x10000ull

typedef struct Binding {
    uint64_t addr, size;        /* AXI of the member's HBM; size 0: none */
} Binding;

struct TrnFabGroup {
    bool used, broken;
    uint16_t owner, wanted, joined;
    DECLARE_BITMAP(member, TRN_FAB_MAX_CHIPS);
    Binding *slot[TRN_FAB_SLOTS];       /* of every chip; NULL: none yet */
};

void trn_fab_groups_init(TrnFabric *f)
{
    f->group = g_new0(TrnFabGroup, TRN_FAB_GROUPS);
}

static void group_free(TrnFabGroup *g)
{
    unsigned i;

    for (i = 0; i < TRN_FAB_SLOTS; i++) {
        g_free(g->slot[i]);
    }
    memset(g, 0, sizeof(*g));
}

void trn_fab_groups_exit(TrnFabric *f)
{
    unsigned i;

    for (i = 0; i < TRN_FAB_GROUPS; i++) {
        group_free(&f->group[i]);
    }
    g_free(f->group);
}

static unsigned group_id(TrnFabric *f, const TrnFabGroup *g)
{
    return g - f->group;
}

static bool is_member(const TrnFabGroup *g, const TrnFabNode *n)
{
    return test_bit(n->id, g->member);
}

/* Tells owner and members, but not @but. */
static void group_break(TrnFabric *f, TrnFabGroup *g, const TrnFabNode *but)
{
    unsigned i;

    if (g->broken) {
        return;
    }
    g->broken = true;
    trace_trn_fab_group(group_id(f, g), "broken");
    for (i = 0; i < f->chips; i++) {
        TrnFabNode *n = &f->node[i];

        if (n != but && (is_member(g, n) || i == g->owner)) {
            set_bit(group_id(f, g), n->regs.broken);
            trn_fab_event(n, TRN_FAB_EVENT_GROUP);
        }
    }
}

static void group_leave(TrnFabric *f, TrnFabGroup *g, TrnFabNode *n)
{
    unsigned i;

    clear_bit(n->id, g->member);
    g->joined--;
    for (i = 0; i < TRN_FAB_SLOTS; i++) {
        if (g->slot[i]) {
            g->slot[i][n->id].size = 0;
        }
    }
    group_break(f, g, n);
}

static void group_destroy(TrnFabric *f, TrnFabGroup *g, TrnFabNode *n)
{
    group_break(f, g, n);
    trace_trn_fab_group(group_id(f, g), "destroyed");
    group_free(g);
}

void trn_fab_groups_quit(TrnFabNode *n)
{
    TrnFabric *f = n->fabric;
    unsigned i;

    for (i = 0; i < TRN_FAB_GROUPS; i++) {
        TrnFabGroup *g = &f->group[i];

        if (g->used && g->owner == n->id) {
            group_destroy(f, g, n);
        } else if (g->used && is_member(g, n)) {
            group_leave(f, g, n);
        }
    }
}

/* Chips that each chip reaches */
typedef struct Reach {
    DECLARE_BITMAP(to, TRN_FAB_MAX_CHIPS);
} Reach;

/* Every member reaches every other one, and the owner all of them. */
static bool group_whole(TrnFabric *f, const TrnFabGroup *g, const Reach *reach)
{
    Reach missing;
    unsigned i;

    for (i = 0; i < f->chips; i++) {
        if ((i == g->owner || test_bit(i, g->member)) &&
            bitmap_andnot(missing.to, g->member, reach[i].to,
                          TRN_FAB_MAX_CHIPS)) {
            return false;
        }
    }
    return true;
}

void trn_fab_groups_check(TrnFabric *f)
{
    g_autofree Reach *reach = NULL;
    unsigned i, a, b;

    for (i = 0; i < TRN_FAB_GROUPS; i++) {
        TrnFabGroup *g = &f->group[i];

        if (!g->used || g->broken) {
            continue;
        }
        if (!reach) {
            reach = g_new0(Reach, f->chips);
            for (a = 0; a < f->chips; a++) {
                for (b = 0; f->node[a].dev && b < f->chips; b++) {
                    if (trn_fab_reach(&f->node[a], b) == TRN_FAB_ST_OK) {
                        set_bit(b, reach[a].to);
                    }
                }
            }
        }
        if (!group_whole(f, g, reach)) {
            group_break(f, g, NULL);
        }
    }
}

/* --- commands --- */

static uint32_t group_create(TrnFabNode *n, TrnFabRegs *r)
{
    TrnFabric *f = n->fabric;
    unsigned i = 0;

    if (!f->multicast && !f->reduce) {
        return TRN_FAB_RES_UNSUPPORTED;
    }
    if (!r->group.arg || r->group.arg > f->chips) {
        return TRN_FAB_RES_INVALID;
    }
    if (n->partition < 0) {
        return TRN_FAB_RES_DENIED;
    }
    while (i < TRN_FAB_GROUPS && f->group[i].used) {
        i++;
    }
    if (i == TRN_FAB_GROUPS) {
        return TRN_FAB_RES_FULL;
    }
    f->group[i].used = true;
    f->group[i].owner = n->id;
    f->group[i].wanted = r->group.arg;
    r->group.id = i;
    trace_trn_fab_group(i, "created");
    return TRN_FAB_RES_OK;
}

static uint32_t group_join(TrnFabNode *n, TrnFabGroup *g)
{
    TrnFabric *f = n->fabric;
    unsigned i;

    if (is_member(g, n)) {
        return TRN_FAB_RES_BUSY;
    }
    if (g->broken) {
        return TRN_FAB_RES_BROKEN;
    }
    if (g->joined == g->wanted) {
        return TRN_FAB_RES_FULL;
    }
    for (i = 0; i < f->chips; i++) {
        if ((i == g->owner || test_bit(i, g->member)) &&
            trn_fab_reach(n, i) != TRN_FAB_ST_OK) {
            return TRN_FAB_RES_DENIED;
        }
    }
    set_bit(n->id, g->member);
    g->joined++;
    return TRN_FAB_RES_OK;
}

static uint32_t group_bind(TrnFabNode *n, TrnFabGroup *g, TrnFabRegs *r)
{
    uint64_t addr = r->group.addr, size = r->group.size;
    unsigned slot = r->group.arg;
    TrnTarget t;

    if (g->broken) {
        return TRN_FAB_RES_BROKEN;
    }
    if (g->joined < g->wanted) {
        return TRN_FAB_RES_BUSY;
    }
    if (slot >= TRN_FAB_SLOTS || !size || (addr | size) % GRANULE ||
        !trn_axi_resolve(n->dev, addr, &t) || t.stack < 0 || size > t.len) {
        return TRN_FAB_RES_INVALID;
    }
    if (!g->slot[slot]) {
        g->slot[slot] = g_new0(Binding, n->fabric->chips);
    }
    if (g->slot[slot][n->id].size) {
        return TRN_FAB_RES_BUSY;
    }
    g->slot[slot][n->id] = (Binding) { addr, size };
    return TRN_FAB_RES_OK;
}

static uint32_t group_unbind(TrnFabNode *n, TrnFabGroup *g, unsigned slot)
{
    if (slot >= TRN_FAB_SLOTS || !g->slot[slot] ||
        !g->slot[slot][n->id].size) {
        return TRN_FAB_RES_INVALID;
    }
    g->slot[slot][n->id].size = 0;
    return TRN_FAB_RES_OK;
}

static uint32_t group_query(const TrnFabGroup *g, TrnFabRegs *r)
{
    r->group.state = g->broken ? TRN_FAB_GROUP_BROKEN :
                     g->joined < g->wanted ? TRN_FAB_GROUP_FORMING :
                                             TRN_FAB_GROUP_READY;
    r->group.members = g->joined | g->wanted << 16;
    return TRN_FAB_RES_OK;
}

static void group_command(TrnFabNode *n, uint32_t command)
{
    TrnFabRegs *r = &n->regs;
    TrnFabric *f = n->fabric;
    TrnFabGroup *g = r->group.id < TRN_FAB_GROUPS ? &f->group[r->group.id] :
                                                    NULL;
    bool member, owner;

    if (command == TRN_FAB_GROUP_CREATE) {
        r->group.result = group_create(n, r);
        return;
    }
    if (!g || !g->used) {
        r->group.result = TRN_FAB_RES_NO_GROUP;
        return;
    }
    owner = g->owner == n->id;
    member = is_member(g, n);
    r->group.result = TRN_FAB_RES_DENIED;
    switch (command) {
    case TRN_FAB_GROUP_JOIN:
        r->group.result = group_join(n, g);
        break;
    case TRN_FAB_GROUP_BIND:
        if (member) {
            r->group.result = group_bind(n, g, r);
        }
        break;
    case TRN_FAB_GROUP_UNBIND:
        if (member) {
            r->group.result = group_unbind(n, g, r->group.arg);
        }
        break;
    case TRN_FAB_GROUP_LEAVE:
        if (member) {
            group_leave(f, g, n);
            r->group.result = TRN_FAB_RES_OK;
        }
        break;
    case TRN_FAB_GROUP_DESTROY:
        if (owner) {
            group_destroy(f, g, n);
            r->group.result = TRN_FAB_RES_OK;
        }
        break;
    case TRN_FAB_GROUP_QUERY:
        if (owner || member || (n->partition >= 0 && n->partition ==
                                f->node[g->owner].partition)) {
            r->group.result = group_query(g, r);
        }
        break;
    default:
        r->group.result = TRN_FAB_RES_INVALID;
    }
}

uint32_t trn_fab_group_broken(TrnFabNode *n)
{
    unsigned long i = find_first_bit(n->regs.broken, TRN_FAB_GROUPS);

    if (i >= TRN_FAB_GROUPS) {
        return UINT32_MAX;
    }
    clear_bit(i, n->regs.broken);
    return i;
}

uint32_t trn_fab_group_read(TrnFabNode *n, uint32_t offset)
{
    TrnFabRegs *r = &n->regs;
    bool any = n->fabric->multicast || n->fabric->reduce;

    switch (offset) {
    case TRN_FAB_GROUP_ID:
        return r->group.id;
    case TRN_FAB_GROUP_ARG:
        return r->group.arg;
    case TRN_FAB_GROUP_ADDR_LO:
        return r->group.addr;
    case TRN_FAB_GROUP_ADDR_HI:
        return r->group.addr >> 32;
    case TRN_FAB_GROUP_SIZE_LO:
        return r->group.size;
    case TRN_FAB_GROUP_SIZE_HI:
        return r->group.size >> 32;
    case TRN_FAB_GROUP_RESULT:
        return r->group.result;
    case TRN_FAB_GROUP_STATE:
        return r->group.state;
    case TRN_FAB_GROUP_MEMBERS:
        return r->group.members;
    case TRN_FAB_GROUP_LIMIT:
        return any ? TRN_FAB_GROUPS | TRN_FAB_SLOTS << 16 : 0;
    case TRN_FAB_GROUP_GRANULE:
        return any ? GRANULE : 0;
    case TRN_FAB_REDUCE_DTYPES:
        return n->fabric->reduce ? TRN_REDUCE_DTYPES : 0;
    case TRN_FAB_REDUCE_OPS:
        return n->fabric->reduce ? TRN_REDUCE_OPS : 0;
    default:
        return 0;
    }
}

void trn_fab_group_write(TrnFabNode *n, uint32_t offset, uint32_t value)
{
    TrnFabRegs *r = &n->regs;

    switch (offset) {
    case TRN_FAB_GROUP_ID:
        r->group.id = value;
        break;
    case TRN_FAB_GROUP_ARG:
        r->group.arg = value;
        break;
    case TRN_FAB_GROUP_ADDR_LO:
        r->group.addr = deposit64(r->group.addr, 0, 32, value);
        break;
    case TRN_FAB_GROUP_ADDR_HI:
        r->group.addr = deposit64(r->group.addr, 32, 32, value);
        break;
    case TRN_FAB_GROUP_SIZE_LO:
        r->group.size = deposit64(r->group.size, 0, 32, value);
        break;
    case TRN_FAB_GROUP_SIZE_HI:
        r->group.size = deposit64(r->group.size, 32, 32, value);
        break;
    case TRN_FAB_GROUP_CMD:
        group_command(n, value);
        break;
    }
}

/* --- data --- */

static TrnFabGroup *group_of(TrnFabNode *n, uint64_t addr)
{
    unsigned id = addr >> TRN_FABRIC_ID_SHIFT & TRN_FABRIC_ID_MASK;
    TrnFabGroup *g = id < TRN_FAB_GROUPS ? &n->fabric->group[id] : NULL;

    return g && g->used && (g->owner == n->id || is_member(g, n)) ? g : NULL;
}

unsigned trn_fab_group_look(TrnFabNode *n, uint64_t addr, uint64_t *len)
{
    unsigned slot = addr >> TRN_FABRIC_SLOT_SHIFT & TRN_FABRIC_SLOT_MASK;
    uint64_t offset = addr & TRN_FABRIC_OFFSET_MASK;
    TrnFabGroup *g = group_of(n, addr);
    unsigned i;

    if (!g) {
        return TRN_FAB_ST_NO_GROUP;
    }
    if (g->broken) {
        return TRN_FAB_ST_BROKEN;
    }
    if (g->joined < g->wanted || !g->slot[slot]) {
        return TRN_FAB_ST_UNBOUND;
    }
    for (i = 0; i < n->fabric->chips; i++) {
        const Binding *b = &g->slot[slot][i];

        if (!test_bit(i, g->member)) {
            continue;
        }
        if (!b->size) {
            return TRN_FAB_ST_UNBOUND;
        }
        if (offset >= b->size) {
            return TRN_FAB_ST_ADDRESS;
        }
        *len = MIN(*len, b->size - offset);
    }
    return TRN_FAB_ST_OK;
}

/* Members, and what they have bound at @addr; 0: not any more */
static unsigned group_parts(TrnFabNode *n, uint64_t addr, uint64_t len,
                            TrnFabNode **member, TrnTarget *part)
{
    TrnFabric *f = n->fabric;
    TrnFabGroup *g = group_of(n, addr);
    uint64_t room = len;
    unsigned i, k = 0;

    if (trn_fab_group_look(n, addr, &room) != TRN_FAB_ST_OK || room < len) {
        return 0;
    }
    for (i = 0; i < f->chips; i++) {
        const Binding *b;

        if (!test_bit(i, g->member)) {
            continue;
        }
        b = &g->slot[addr >> TRN_FABRIC_SLOT_SHIFT & TRN_FABRIC_SLOT_MASK][i];
        member[k] = &f->node[i];
        if (!trn_axi_resolve(member[k]->dev,
                             b->addr + (addr & TRN_FABRIC_OFFSET_MASK),
                             &part[k]) || part[k].len < len) {
            return 0;
        }
        k++;
    }
    return k;
}

bool trn_fab_group_store(TrnFabNode *n, uint64_t addr, const uint8_t *buf,
                         uint64_t len)
{
    TrnFabNode *member[TRN_FAB_MAX_CHIPS];
    TrnTarget part[TRN_FAB_MAX_CHIPS];
    unsigned i, k = group_parts(n, addr, len, member, part);

    for (i = 0; i < k; i++) {
        trn_store_write(part[i].store, part[i].ptr, buf, len);
    }
    return k;
}

bool trn_fab_group_semaphore(TrnFabNode *n, uint64_t addr, unsigned op,
                             int64_t operand, uint64_t ns)
{
    TrnFabNode *member[TRN_FAB_MAX_CHIPS];
    TrnTarget part[TRN_FAB_MAX_CHIPS];
    unsigned i, k = group_parts(n, addr, sizeof(operand), member, part);

    for (i = 0; i < k; i++) {
        trn_sem_update(&part[i], op, operand, ns);
    }
    return k;
}

bool trn_fab_group_reduce(TrnFabNode *n, uint64_t addr, uint8_t *buf,
                          uint64_t len, unsigned dtype, unsigned op)
{
    TrnFabNode *member[TRN_FAB_MAX_CHIPS];
    TrnTarget part[TRN_FAB_MAX_CHIPS];
    const uint8_t *in[TRN_FAB_MAX_CHIPS];
    unsigned i, k = group_parts(n, addr, len, member, part);

    for (i = 0; i < k; i++) {
        in[i] = part[i].ptr;
    }
    if (k) {
        trn_reduce(buf, in, k, len, dtype, op);
    }
    return k;
}

void trn_fab_group_carry(TrnFabNode *n, uint64_t addr, uint64_t len, bool store,
                         TrnTrip *trip)
{
    TrnFabNode *member[TRN_FAB_MAX_CHIPS];
    TrnTarget part[TRN_FAB_MAX_CHIPS];
    unsigned i, k = group_parts(n, addr, len, member, part);

    trn_fab_carry_group(n, member, k, len, store, trip);
    for (i = 0; i < k; i++) {
        trip->latency_ns = MAX(trip->latency_ns,
                               trn_fab_latency(n, member[i]));
        trn_stack_pass(part[i].dev, part[i].stack, len, trip);
    }
}

uint32_t trn_fab_group_latency(TrnFabNode *n, uint64_t addr)
{
    TrnFabNode *member[TRN_FAB_MAX_CHIPS];
    TrnTarget part[TRN_FAB_MAX_CHIPS];
    unsigned i, k = group_parts(n, addr, sizeof(uint64_t), member, part);
    uint32_t ns = 0;

    for (i = 0; i < k; i++) {
        ns = MAX(ns, trn_fab_latency(n, member[i]));
    }
    return ns;
}
