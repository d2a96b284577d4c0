/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The object "neuron-fabric": properties, chips coming and going, partitions,
 * and the event of its registers.
 */
#include "qemu/osdep.h"
#include "qemu/crc32c.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "migration/blocker.h"
#include "qom/object_interfaces.h"
#include "system/system.h"
#include "fabric.h"

#define EVENT_NS (1 * SCALE_US)

static const char *const kind_name[] = {
    [TRN_FAB_KIND_NEURONLINK] = "neuronlink",
    [TRN_FAB_KIND_NEURONSWITCH] = "neuronswitch",
    [TRN_FAB_KIND_NVLINK] = "nvlink",
};

/* --- identity --- */

uint64_t trn_fab_serial(const TrnFabNode *n)
{
    uint32_t crc;

    if (!n->is_switch) {
        return n->dev ? n->dev->serial : 0;
    }
    crc = crc32c(0xffffffff, n->fabric->uuid.data, sizeof(QemuUUID));
    return (uint64_t)(0x53570000 | (crc & 0xffff)) << 32 | (n->id + 1);
}

uint32_t trn_fab_place(const TrnFabNode *chip)
{
    const TrnFabric *f = chip->fabric;
    unsigned server = chip->id / f->chips_per_server;

    return chip->id % f->chips_per_server | server << 8 |
           server / f->servers_per_rack << 20;
}

/* Of its own to each domain of each machine, and the same the next time */
static void uuid_default(TrnFabric *f)
{
    g_autofree char *name = object_get_canonical_path(OBJECT(f));
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
    gsize len = sizeof(f->uuid.data);

    g_checksum_update(sum, qemu_uuid.data, sizeof(qemu_uuid.data));
    g_checksum_update(sum, (const uint8_t *)name, strlen(name));
    g_checksum_get_digest(sum, f->uuid.data, &len);
    /* version 8: custom */
    f->uuid.data[6] = (f->uuid.data[6] & 0x0f) | 0x80;
    f->uuid.data[8] = (f->uuid.data[8] & 0x3f) | 0x80;
}

/* --- events --- */

void trn_fab_event(TrnFabNode *chip, uint32_t bit)
{
    QEMUTimer *timer = chip->fabric->event_timer;

    if (chip->regs.event & bit) {
        return;
    }
    chip->regs.event |= bit;
    if (!timer_pending(timer)) {
        timer_mod(timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + EVENT_NS);
    }
}

/*
 * A message may be a write to another chip's registers: not from inside. On
 * the virtual clock, so that two runs under -icount are alike.
 */
static void event_send(void *opaque)
{
    TrnFabric *f = opaque;
    unsigned i;

    for (i = 0; i < f->chips; i++) {
        TrnFabNode *n = &f->node[i];

        if (n->dev && n->regs.event & ~n->regs.event_sent) {
            n->regs.event_sent = n->regs.event;
            trn_ext_event(n->dev, TRN_EXT_ENGINE_DEVICE,
                          TRN_EXT_DEVICE_SLOT_FABRIC);
        }
    }
}

void trn_fab_settle(TrnFabric *f)
{
    if (f->errors_met) {
        trn_fab_recover(f);
    }
    if (f->routes_changed) {
        f->routes_changed = false;
        trn_fab_routes_forget(f);
        trn_fab_groups_check(f);
    }
}

/* --- partitions --- */

/* "0-3+8,4-7": two partitions. Chips that are in none may talk to nobody. */
static bool partitions_parse(TrnFabric *f, const char *text, int *partition,
                             Error **errp)
{
    const char *p = text;
    unsigned i, n = 0, first, last;

    for (i = 0; i < f->chips; i++) {
        partition[i] = *text ? -1 : 0;
    }
    while (*p) {
        if (qemu_strtoui(p, &p, 10, &first)) {
            goto bad;
        }
        last = first;
        if (*p == '-' && qemu_strtoui(p + 1, &p, 10, &last)) {
            goto bad;
        }
        if (last < first || last >= f->chips) {
            goto bad;
        }
        for (i = first; i <= last; i++) {
            if (partition[i] >= 0) {
                error_setg(errp, "chip %u is in two partitions", i);
                return false;
            }
            partition[i] = n;
        }
        if (!*p) {
            break;
        }
        if (*p != '+' && *p != ',') {
            goto bad;
        }
        n += *p++ == ',';
        if (!*p) {
            goto bad;
        }
    }
    return true;
bad:
    error_setg(errp, "'%s' at '%s': partitions are chips or ranges of them "
               "joined by '+', with a comma between partitions", text, p);
    return false;
}

static bool partitions_apply(TrnFabric *f, const char *text, Error **errp)
{
    g_autofree int *partition = g_new(int, f->chips);
    unsigned i;

    if (!partitions_parse(f, text, partition, errp)) {
        return false;
    }
    for (i = 0; i < f->chips; i++) {
        TrnFabNode *n = &f->node[i];

        n->partition = partition[i];
        n->regs.partition_changes++;
        trn_fab_event(n, TRN_FAB_EVENT_PARTITION);
    }
    f->routes_changed = true;
    trn_fab_settle(f);
    return true;
}

/* --- chips --- */

static bool id_choose(TrnDevice *d, Error **errp)
{
    TrnFabric *f = d->fabric;
    bool torus = f->kind == TRN_FAB_KIND_NEURONLINK;
    uint32_t id = d->fabric_id;

    if (id == UINT32_MAX && torus && d->routing_id < f->chips) {
        id = d->routing_id;
    }
    if (id == UINT32_MAX) {
        id = 0;
        while (id < f->chips && f->node[id].dev) {
            id++;
        }
        if (id == f->chips) {
            error_setg(errp, "the fabric has room for %u chips", f->chips);
            return false;
        }
    }
    if (id >= f->chips) {
        error_setg(errp, "fabric-id has to be 0..%u", f->chips - 1);
        return false;
    }
    if (f->node[id].dev) {
        error_setg(errp, "fabric-id %u is taken", id);
        return false;
    }
    d->fabric_id = id;
    if (torus && d->routing_id == UINT32_MAX) {
        d->routing_id = id % f->chips_per_server;
    }
    return true;
}

bool trn_fabric_attach(TrnDevice *d, Error **errp)
{
    TrnFabric *f = d->fabric;

    if (!f) {
        return true;
    }
    if (!d->ext) {
        error_setg(errp, "a chip in a fabric needs the extension BAR");
        return false;
    }
    if (!id_choose(d, errp)) {
        return false;
    }
    if (!f->num_attached) {
        error_setg(&f->blocker, "chips joined by a fabric cannot be migrated: "
                   "the state of links and groups is not part of the stream");
        if (migrate_add_blocker(&f->blocker, errp) < 0) {
            return false;
        }
    }
    f->num_attached++;
    d->fab = &f->node[d->fabric_id];
    d->fab->dev = d;
    return true;
}

void trn_fabric_detach(TrnDevice *d)
{
    TrnFabNode *n = d->fab;

    if (!n) {
        return;
    }
    trn_sched_forget(d);
    d->fab = NULL;
    n->dev = NULL;
    if (!--n->fabric->num_attached) {
        migrate_del_blocker(&n->fabric->blocker);
    }
    trn_fab_groups_quit(n);
    trn_fab_node_update(n);
    trn_fab_settle(n->fabric);
}

void trn_fabric_power(TrnDevice *d)
{
    if (d->fab) {
        trn_fab_groups_quit(d->fab);
        trn_fab_node_update(d->fab);
        trn_fab_settle(d->fab->fabric);
    }
}

void trn_fabric_reset(TrnDevice *d, bool cold)
{
    TrnFabNode *n = d->fab;
    unsigned i;

    if (!n) {
        return;
    }
    trn_fab_groups_quit(n);
    n->resetting = true;
    trn_fab_node_update(n);
    n->resetting = false;
    if (cold) {
        for (i = 0; i < n->num_ports; i++) {
            trn_fab_port_defaults(&n->port[i]);
            if (n->port[i].wire && n->port[i].wire->node->is_switch) {
                /* model time of the chip begins again */
                n->port[i].wire->clock = (TrnClock) {};
            }
        }
        trn_fab_regs_reset(n);
    }
    trn_fab_node_update(n);
    trn_fab_settle(n->fabric);
}

/* --- properties --- */

static char *kind_get(Object *obj, Error **errp)
{
    return g_strdup(kind_name[NEURON_FABRIC(obj)->kind]);
}

static bool fixed(TrnFabric *f, Error **errp)
{
    if (f->node) {
        error_setg(errp, "this cannot be changed any more");
    }
    return f->node;
}

static void kind_set(Object *obj, const char *text, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);
    unsigned i;

    if (fixed(f, errp)) {
        return;
    }
    for (i = TRN_FAB_KIND_NEURONLINK; i <= TRN_FAB_KIND_NVLINK; i++) {
        if (!strcmp(text, kind_name[i])) {
            f->kind = i;
            return;
        }
    }
    error_setg(errp, "kind is neuronlink, neuronswitch or nvlink");
}

static const struct {
    const char *name;
    size_t offset;
    uint32_t min, max;
    const char *description;
} numbers[] = {
    { "chips", offsetof(TrnFabric, chips), 1, TRN_FAB_MAX_CHIPS,
      "room for chips: their ids are 0..chips-1 (default: all that the kind "
      "can have)" },
    { "chips-per-server", offsetof(TrnFabric, chips_per_server), 4, 16,
      "4 or 16 (default: 16 with neuronlink, else 4)" },
    { "nodes", offsetof(TrnFabric, nodes), 1, 4,
      "neuronlink: nodes of an UltraServer, 1, 2 or 4 (default 1)" },
    { "lanes", offsetof(TrnFabric, lanes), 1, 64,
      "lanes of every link (default: as the kind has)" },
    { "lane-rate", offsetof(TrnFabric, lane_rate), 1, 1000000,
      "MB/s of a lane and direction (default: as the kind has)" },
};

static void number_get(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    uint32_t *value = (void *)NEURON_FABRIC(obj) +
                      numbers[(uintptr_t)opaque].offset;

    visit_type_uint32(v, name, value, errp);
}

static void number_set(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);
    unsigned i = (uintptr_t)opaque;
    uint32_t value;

    if (fixed(f, errp) || !visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (value < numbers[i].min || value > numbers[i].max) {
        error_setg(errp, "%s has to be %u..%u", name, numbers[i].min,
                   numbers[i].max);
        return;
    }
    *(uint32_t *)((void *)f + numbers[i].offset) = value;
}

static char *timing_get(Object *obj, Error **errp)
{
    return g_strdup(NEURON_FABRIC(obj)->enforce ? "enforce" : "account");
}

static void timing_set(Object *obj, const char *text, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);

    if (fixed(f, errp)) {
        return;
    }
    if (strcmp(text, "account") && strcmp(text, "enforce")) {
        error_setg(errp, "timing is account or enforce");
    } else {
        f->enforce = !strcmp(text, "enforce");
    }
}

static bool multicast_get(Object *obj, Error **errp)
{
    return NEURON_FABRIC(obj)->multicast;
}

static void multicast_set(Object *obj, bool value, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);

    if (!fixed(f, errp)) {
        f->multicast = value;
        f->multicast_set = true;
    }
}

static bool reduce_get(Object *obj, Error **errp)
{
    return NEURON_FABRIC(obj)->reduce;
}

static void reduce_set(Object *obj, bool value, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);

    if (!fixed(f, errp)) {
        f->reduce = value;
        f->reduce_set = true;
    }
}

static char *uuid_get(Object *obj, Error **errp)
{
    return qemu_uuid_unparse_strdup(&NEURON_FABRIC(obj)->uuid);
}

static void uuid_set(Object *obj, const char *text, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);

    if (fixed(f, errp)) {
        return;
    }
    if (qemu_uuid_parse(text, &f->uuid)) {
        error_setg(errp, "'%s' is not a UUID", text);
        return;
    }
    f->uuid_set = true;
}

static char *partitions_get(Object *obj, Error **errp)
{
    return g_strdup(NEURON_FABRIC(obj)->partitions ?: "");
}

static void partitions_set(Object *obj, const char *text, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);

    if (!f->node || partitions_apply(f, text, errp)) {
        g_free(f->partitions);
        f->partitions = g_strdup(text);
    }
}

static char *faults_get(Object *obj, Error **errp)
{
    return g_strdup(NEURON_FABRIC(obj)->faults ?: "");
}

static void faults_set(Object *obj, const char *text, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(obj);

    if (!f->node || trn_fab_faults_set(f, text, errp)) {
        g_free(f->faults);
        f->faults = g_strdup(text);
    }
}

/* --- properties of a chip --- */

/* "fabric-faults" and "fabric-partitions": those of the object, for tests */
static char *chip_get(Object *obj, const char *name, Error **errp)
{
    TrnFabric *f = TRAINIUM(obj)->fabric;

    return f ? object_property_get_str(OBJECT(f), name, errp) : g_strdup("");
}

static void chip_set(Object *obj, const char *name, const char *text,
                     Error **errp)
{
    TrnFabric *f = TRAINIUM(obj)->fabric;

    if (f) {
        object_property_set_str(OBJECT(f), name, text, errp);
    } else {
        error_setg(errp, "the chip is in no fabric");
    }
}

static char *chip_faults_get(Object *obj, Error **errp)
{
    return chip_get(obj, "faults", errp);
}

static void chip_faults_set(Object *obj, const char *text, Error **errp)
{
    chip_set(obj, "faults", text, errp);
}

static char *chip_partitions_get(Object *obj, Error **errp)
{
    return chip_get(obj, "partitions", errp);
}

static void chip_partitions_set(Object *obj, const char *text, Error **errp)
{
    chip_set(obj, "partitions", text, errp);
}

void trn_fabric_class_init(ObjectClass *oc)
{
    object_class_property_add_str(oc, "fabric-faults", chip_faults_get,
                                  chip_faults_set);
    object_class_property_set_description(oc, "fabric-faults",
        "faults of the chip's fabric, all of it");
    object_class_property_add_str(oc, "fabric-partitions",
                                  chip_partitions_get, chip_partitions_set);
    object_class_property_set_description(oc, "fabric-partitions",
        "partitions of the chip's fabric");
}

/* --- object --- */

static void fabric_complete(UserCreatable *uc, Error **errp)
{
    TrnFabric *f = NEURON_FABRIC(uc);
    unsigned i;

    if (!f->kind) {
        error_setg(errp, "kind is missing: neuronlink, neuronswitch or nvlink");
        return;
    }
    if (f->nodes == 3) {
        error_setg(errp, "nodes is 1, 2 or 4");
        return;
    }
    if (!trn_fab_wire(f, errp)) {
        return;
    }
    if (!f->uuid_set) {
        uuid_default(f);
    }
    f->multicast |= !f->multicast_set && f->kind == TRN_FAB_KIND_NVLINK;
    f->reduce |= !f->reduce_set && f->kind == TRN_FAB_KIND_NVLINK;
    trn_fab_groups_init(f);
    f->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, trn_fab_timer, f);
    f->sched = trn_sched_new(f);
    f->event_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, event_send, f);
    for (i = 0; i < f->num_switches; i++) {
        trn_fab_node_update(trn_fab_switch(f, i));
    }
    if (f->partitions && !partitions_apply(f, f->partitions, errp)) {
        return;
    }
    if (f->faults) {
        trn_fab_faults_set(f, f->faults, errp);
    }
}

static bool fabric_can_be_deleted(UserCreatable *uc)
{
    return !NEURON_FABRIC(uc)->num_attached;
}

static void fabric_init(Object *obj)
{
    NEURON_FABRIC(obj)->nodes = 1;
}

static void fabric_finalize(Object *obj)
{
    TrnFabric *f = NEURON_FABRIC(obj);
    unsigned i;

    if (f->node) {
        trn_fab_routes_forget(f);
        for (i = 0; i < f->num_nodes; i++) {
            g_free(f->node[i].port);
        }
        g_free(f->node);
    }
    if (f->sched) {
        trn_sched_free(f->sched);
    }
    if (f->timer) {
        trn_fab_groups_exit(f);
        timer_free(f->timer);
        timer_free(f->event_timer);
    }
    g_free(f->partitions);
    g_free(f->faults);
}

static void fabric_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);
    uintptr_t i;

    ucc->complete = fabric_complete;
    ucc->can_be_deleted = fabric_can_be_deleted;

    object_class_property_add_str(oc, "kind", kind_get, kind_set);
    object_class_property_set_description(oc, "kind",
        "neuronlink (torus), neuronswitch (two levels) or nvlink (all to all)");
    for (i = 0; i < ARRAY_SIZE(numbers); i++) {
        object_class_property_add(oc, numbers[i].name, "uint32", number_get,
                                  number_set, NULL, (void *)i);
        object_class_property_set_description(oc, numbers[i].name,
                                              numbers[i].description);
    }
    object_class_property_add_str(oc, "timing", timing_get, timing_set);
    object_class_property_set_description(oc, "timing",
        "account: modelled time is counted; enforce: it also passes");
    object_class_property_add_bool(oc, "multicast", multicast_get,
                                   multicast_set);
    object_class_property_set_description(oc, "multicast",
        "the fabric stores to groups (default: nvlink does)");
    object_class_property_add_bool(oc, "reduce", reduce_get, reduce_set);
    object_class_property_set_description(oc, "reduce",
        "the fabric reduces over groups (default: nvlink does)");
    object_class_property_add_str(oc, "uuid", uuid_get, uuid_set);
    object_class_property_set_description(oc, "uuid",
        "UUID of the domain (default: from the machine's and the object's id)");
    object_class_property_add_str(oc, "partitions", partitions_get,
                                  partitions_set);
    object_class_property_set_description(oc, "partitions",
        "chips that may talk to each other, e.g. 0-3+8,4-7 (default: all); "
        "can be changed at run time");
    object_class_property_add_str(oc, "faults", faults_get, faults_set);
    object_class_property_set_description(oc, "faults",
        "all faults there are, e.g. pull=3.0;lanes=s0.17:1 (default: none); "
        "can be changed at run time");
}

static const TypeInfo fabric_type = {
    .name = TYPE_NEURON_FABRIC,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(TrnFabric),
    .instance_init = fabric_init,
    .instance_finalize = fabric_finalize,
    .class_init = fabric_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void fabric_register_types(void)
{
    type_register_static(&fabric_type);
}

type_init(fabric_register_types)
