/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties of the firmware: telemetry, identity, timing, faults. All but
 * those marked "at start" can be set while the guest runs, for example with
 *
 *   { "execute": "qom-set", "arguments": { "path": "/machine/peripheral/chip0",
 *     "property": "hbm0-ecc-uncorrected", "value": 1 } }
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "fw.h"
#include "fault.h"

typedef struct TrnFwPropInfo {
    const char *name;
    enum { TRN_PROP_RUN_UINT, TRN_PROP_RUN_BOOL, TRN_PROP_START_UINT } kind;
    uint64_t max, def;
    const char *description;
} TrnFwPropInfo;

#define HBM_PROPS(s) \
    [TRN_FWP_HBM_CORRECTED + (s)] = { \
        "hbm" #s "-ecc-corrected", TRN_PROP_RUN_UINT, 0xffff, 0, \
        "corrected ECC errors of HBM stack " #s }, \
    [TRN_FWP_HBM_UNCORRECTED + (s)] = { \
        "hbm" #s "-ecc-uncorrected", TRN_PROP_RUN_UINT, 0xffff, 0, \
        "uncorrected ECC errors of HBM stack " #s " that cannot be repaired" }, \
    [TRN_FWP_HBM_REPAIRABLE + (s)] = { \
        "hbm" #s "-ecc-repairable", TRN_PROP_RUN_UINT, 0xffff, 0, \
        "uncorrected ECC errors of HBM stack " #s " that can be repaired" }

#define POWER_PROP(die) \
    [TRN_FWP_POWER + (die)] = { \
        "power-die" #die, TRN_PROP_RUN_UINT, 0xffff, 0, \
        "power utilisation of die " #die ", basis points" }

#define TEMP_PROP(index, where, at) \
    [index] = { \
        "temperature-" where, TRN_PROP_RUN_UINT, 200000, at, \
        "temperature of " where ", thousandths of a degree Celsius" }

static const TrnFwPropInfo props[TRN_FWP_COUNT] = {
    [TRN_FWP_SRAM_CORRECTED] = {
        "ecc-sram-corrected", TRN_PROP_RUN_UINT, 0xffff, 0,
        "corrected ECC errors of the SRAMs" },
    [TRN_FWP_SRAM_UNCORRECTED] = {
        "ecc-sram-uncorrected", TRN_PROP_RUN_UINT, 0xffff, 0,
        "uncorrected ECC errors of the SRAMs" },
    HBM_PROPS(0),
    HBM_PROPS(1),
    HBM_PROPS(2),
    HBM_PROPS(3),
    HBM_PROPS(4),
    HBM_PROPS(5),
    HBM_PROPS(6),
    HBM_PROPS(7),
    [TRN_FWP_HBM_REPAIR_STATE] = {
        "hbm-repair-state", TRN_PROP_RUN_UINT, 3, 0,
        "HBM repair: 0 none, 1 pending, 2 failed" },
    [TRN_FWP_HEALTH] = {
        "health", TRN_PROP_RUN_UINT, UINT32_MAX, 0,
        "health word: bits of unhealthy components, 0 when all is well" },
    POWER_PROP(0),
    POWER_PROP(1),
    POWER_PROP(2),
    POWER_PROP(3),
    [TRN_FWP_THROTTLE] = {
        "throttle", TRN_PROP_RUN_UINT, 10000, 0,
        "how far the clock is throttled, basis points; a notice to every core "
        "whose host asked for them" },
    TEMP_PROP(TRN_FWP_TEMP_DIE, "die0", 45000),
    TEMP_PROP(TRN_FWP_TEMP_DIE + 1, "die1", 45000),
    TEMP_PROP(TRN_FWP_TEMP_DIE + 2, "die2", 45000),
    TEMP_PROP(TRN_FWP_TEMP_DIE + 3, "die3", 45000),
    TEMP_PROP(TRN_FWP_TEMP_HBM, "hbm0", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 1, "hbm1", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 2, "hbm2", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 3, "hbm3", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 4, "hbm4", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 5, "hbm5", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 6, "hbm6", 50000),
    TEMP_PROP(TRN_FWP_TEMP_HBM + 7, "hbm7", 50000),

    [TRN_FWP_API_VERSION] = {
        "fw-api-version", TRN_PROP_START_UINT, 0xffff, 7,
        "API version: below 3 no power words, below 6 no health words and the "
        "older HBM ECC format, below 7 no mailbox in MISC RAM (at start)" },
    [TRN_FWP_BUILD] = {
        "fw-build", TRN_PROP_RUN_UINT, UINT32_MAX, 0x00010000,
        "firmware build number" },
    [TRN_FWP_SERVER_ID] = {
        "server-id", TRN_PROP_RUN_UINT, UINT32_MAX, UINT32_MAX,
        "server id, 0..32767; 4294967295: not valid" },
    [TRN_FWP_RACK_ID] = {
        "rack-id", TRN_PROP_RUN_UINT, UINT32_MAX, UINT32_MAX,
        "rack id, 0..32767; 4294967295: not valid" },
    [TRN_FWP_INSTANCE_SIZE] = {
        "instance-size", TRN_PROP_RUN_UINT, 63, 16,
        "chips of an instance" },
    [TRN_FWP_PARTITION_SIZE] = {
        "partition-size", TRN_PROP_RUN_UINT, 0x7fff, 0,
        "chips of a partition; 0: not valid" },
    [TRN_FWP_RESERVATION_ID] = {
        "reservation-id", TRN_PROP_RUN_UINT, UINT64_MAX, 0,
        "reservation id" },
    [TRN_FWP_BOOT_MS] = {
        "fw-boot-ms", TRN_PROP_RUN_UINT, UINT32_MAX, 20,
        "time from power-on until the firmware answers, ms" },
    [TRN_FWP_RESET_MS] = {
        "fw-reset-ms", TRN_PROP_RUN_UINT, UINT32_MAX, 30,
        "duration of a device reset, ms" },
    [TRN_FWP_CORE_RESET_MS] = {
        "fw-core-reset-ms", TRN_PROP_RUN_UINT, UINT32_MAX, 5,
        "duration of a core reset, ms" },
    [TRN_FWP_MESSAGE_US] = {
        "fw-message-us", TRN_PROP_RUN_UINT, UINT32_MAX, 100,
        "time from a doorbell until the firmware looks, us" },

    [TRN_FWP_DEAD] = {
        "fw-dead", TRN_PROP_RUN_BOOL, 1, 0,
        "fault: firmware stopped, every MISC RAM word reads 0xdeadbeef" },
    [TRN_FWP_DEAD_AFTER] = {
        "fw-dead-after", TRN_PROP_RUN_UINT, UINT32_MAX, 0,
        "fault: fw-dead comes on after that many more messages; 0: off" },
    [TRN_FWP_NOT_READY] = {
        "fw-not-ready", TRN_PROP_RUN_BOOL, 1, 0,
        "fault: status says not ready for ever" },
    [TRN_FWP_IGNORE_RESET] = {
        "fw-ignore-reset", TRN_PROP_RUN_BOOL, 1, 0,
        "fault: reset requests are never carried out" },
    [TRN_FWP_IGNORE_MESSAGES] = {
        "fw-ignore-messages", TRN_PROP_RUN_BOOL, 1, 0,
        "fault: messages are not answered (late ones are, when cleared)" },
    [TRN_FWP_ERROR] = {
        "fw-error", TRN_PROP_RUN_UINT, 255, 0,
        "fault: error code of every answer; 0: off" },
    [TRN_FWP_CRC_CORRUPT] = {
        "fw-crc-corrupt", TRN_PROP_RUN_BOOL, 1, 0,
        "fault: firmware computes wrong CRCs: rejects every request, and its "
        "answers in MISC RAM have a bad one" },
};

bool trn_fw_prop_settable(const char *name)
{
    for (unsigned p = 0; p < TRN_FWP_COUNT; p++) {
        if (props[p].kind != TRN_PROP_START_UINT &&
            !strcmp(props[p].name, name)) {
            return true;
        }
    }
    return false;
}

uint64_t trn_fw_prop_max(TrnFwProp p)
{
    return props[p].max;
}

static void trn_fw_prop_get(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    const TrnFwPropInfo *info = opaque;
    uint64_t value = d->fw_props.v[info - props];
    bool b = value;

    if (info->kind == TRN_PROP_RUN_BOOL) {
        visit_type_bool(v, name, &b, errp);
    } else {
        visit_type_uint64(v, name, &value, errp);
    }
}

static void trn_fw_prop_set(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    g_autoptr(Object) hold = object_ref(obj);
    TrnDevice *d = TRAINIUM(obj);
    const TrnFwPropInfo *info = opaque;
    TrnFwProp p = info - props;
    uint64_t value = 0;
    bool b;

    if (info->kind == TRN_PROP_RUN_BOOL) {
        if (!visit_type_bool(v, name, &b, errp)) {
            return;
        }
        value = b;
    } else if (!visit_type_uint64(v, name, &value, errp)) {
        return;
    }
    if ((p == TRN_FWP_SERVER_ID || p == TRN_FWP_RACK_ID) &&
        value > 0x7fff && value != UINT32_MAX) {
        error_setg(errp, "'%s' has to be 0..32767, or 4294967295 for none",
                   name);
        return;
    }
    if (value > info->max) {
        error_setg(errp, "'%s' has to be 0..%" PRIu64, name, info->max);
        return;
    }
    if (info->kind == TRN_PROP_START_UINT && DEVICE(obj)->realized) {
        error_setg(errp, "'%s' cannot be set any more", name);
        return;
    }
    trn_sensor_count_energy(d);
    d->fw_props.v[p] = value;
    trn_fw_prop_changed(d, p);
}

/* "OFFSET=VALUE[,OFFSET=VALUE]...", as set */
static char *trn_fw_override_get(Object *obj, Error **errp)
{
    TrnFwProps *f = &TRAINIUM(obj)->fw_props;
    g_autoptr(GString) s = g_string_new(NULL);

    for (unsigned i = 0; i < f->num_overrides; i++) {
        g_string_append_printf(s, "%s0x%x=0x%x", i ? "," : "",
                               f->override[i].offset, f->override[i].value);
    }
    return g_strdup(s->str);
}

static void trn_fw_override_set(Object *obj, const char *text, Error **errp)
{
    TrnFwProps *f = &TRAINIUM(obj)->fw_props;
    g_auto(GStrv) list = g_strsplit(text, ",", -1);
    TrnFwProps parsed = { .num_overrides = 0 };

    for (unsigned i = 0; list[i] && *text; i++) {
        const char *p;
        unsigned offset, value;

        if (i >= TRN_FW_MAX_OVERRIDES) {
            error_setg(errp, "at most %u words", TRN_FW_MAX_OVERRIDES);
            return;
        }
        if (qemu_strtoui(list[i], &p, 0, &offset) || *p != '=' ||
            qemu_strtoui(p + 1, NULL, 0, &value) ||
            offset >= TRN_MISC_SIZE || offset % 4) {
            error_setg(errp, "'%s' is not OFFSET=VALUE of a MISC RAM word",
                       list[i]);
            return;
        }
        parsed.override[i].offset = offset;
        parsed.override[i].value = value;
        parsed.num_overrides = i + 1;
    }
    memcpy(f->override, parsed.override, sizeof(f->override));
    f->num_overrides = parsed.num_overrides;
}

/* Of a die or a stack that the generation does not have */
static bool trn_fw_prop_absent(const TrnGeneration *g, TrnFwProp p)
{
    const struct {
        TrnFwProp first;
        unsigned max, num;
    } lists[] = {
        { TRN_FWP_HBM_CORRECTED, TRN_MAX_STACKS, g->num_stacks },
        { TRN_FWP_HBM_UNCORRECTED, TRN_MAX_STACKS, g->num_stacks },
        { TRN_FWP_HBM_REPAIRABLE, TRN_MAX_STACKS, g->num_stacks },
        { TRN_FWP_POWER, TRN_MAX_DIES, g->num_dies },
        { TRN_FWP_TEMP_DIE, TRN_MAX_DIES, g->num_dies },
        { TRN_FWP_TEMP_HBM, TRN_MAX_STACKS, g->num_stacks },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(lists); i++) {
        if (p >= lists[i].first && p - lists[i].first < lists[i].max) {
            return p - lists[i].first >= lists[i].num;
        }
    }
    return false;
}

void trn_fw_class_init(ObjectClass *oc, const TrnGeneration *g)
{
    ObjectProperty *op;

    for (unsigned p = 0; p < TRN_FWP_COUNT; p++) {
        const TrnFwPropInfo *info = &props[p];
        bool is_bool = info->kind == TRN_PROP_RUN_BOOL;

        if (trn_fw_prop_absent(g, p)) {
            continue;
        }
        op = object_class_property_add(oc, info->name,
                                       is_bool ? "bool" : "uint64",
                                       trn_fw_prop_get, trn_fw_prop_set, NULL,
                                       (void *)info);
        if (is_bool) {
            object_property_set_default_bool(op, info->def);
        } else {
            object_property_set_default_uint(op, info->def);
        }
        object_class_property_set_description(oc, info->name,
                                              info->description);
    }
    object_class_property_add_str(oc, "fw-override", trn_fw_override_get,
                                  trn_fw_override_set);
    object_class_property_set_description(oc, "fw-override",
        "fault: MISC RAM words that read as given, OFFSET=VALUE[,...]");
}
