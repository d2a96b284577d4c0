/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fault window: a way for tests inside of the guest to set the properties
 * of fault.c, fault-dma.c and fw-props.c, and those of the chip's fabric. The
 * text NAME=VALUE is written to a part of BAR2. It is there only when the chip
 * was started with fault-window=on, and reaches nothing else.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/qdev-core.h"
#include "fault.h"
#include "trace.h"

static const char *const own_names[] = {
    "dma-abort", "dma-corrupt", "dma-lost", "dma-early", "ecc-correctable",
    "ecc-uncorrectable", "engine-stuck", "regs-deadbeef", "regs-ones",
    "irq-lose", "irq-storm", "surprise-removal", "aer", "fw-override",
    "fabric-faults", "fabric-partitions", "hostile",
};

static bool window_may_set(const char *name)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(own_names); i++) {
        if (!strcmp(own_names[i], name)) {
            return true;
        }
    }
    return trn_fw_prop_settable(name);
}

static void window_run(TrnFault *f, uint32_t len)
{
    char *value;

    f->status = TRN_EXT_FAULT_REFUSED;
    if (len > TRN_EXT_FAULT_TEXT_SIZE) {
        return;
    }
    f->text[len] = 0;
    value = strchr(f->text, '=');
    if (!value) {
        return;
    }
    *value++ = 0;
    trace_trn_fault_window(f->dev->routing_id, f->text, value);
    if (window_may_set(f->text) &&
        object_property_parse(OBJECT(f->dev), f->text, value, NULL)) {
        f->status = TRN_EXT_FAULT_DONE;
    }
}

static uint64_t window_read(void *opaque, hwaddr offset, unsigned size)
{
    TrnFault *f = opaque;

    if (f->dev->gone) {
        return UINT32_MAX;
    }
    return offset == TRN_EXT_FAULT_STATUS - TRN_EXT_FAULT ? f->status : 0;
}

static void window_write(void *opaque, hwaddr offset, uint64_t value,
                         unsigned size)
{
    TrnFault *f = opaque;

    if (f->dev->gone) {
        return;
    }
    if (offset < TRN_EXT_FAULT_TEXT_SIZE) {
        stl_le_p(f->text + offset, value);
    } else if (offset == TRN_EXT_FAULT_GO - TRN_EXT_FAULT) {
        window_run(f, value);
    }
}

static const MemoryRegionOps window_ops = {
    .read = window_read,
    .write = window_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

bool trn_fault_has_window(TrnDevice *d)
{
    return d->fault->window;
}

static bool fault_window_get(Object *obj, Error **errp)
{
    return TRAINIUM(obj)->fault->window;
}

static void fault_window_set(Object *obj, bool value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "'fault-window' cannot be set any more");
        return;
    }
    TRAINIUM(obj)->fault->window = value;
}

bool trn_fault_window_init(TrnFault *f, Error **errp)
{
    TrnDevice *d = f->dev;

    if (!f->window) {
        return true;
    }
    if (!d->ext) {
        error_setg(errp, "fault-window is a part of ext");
        return false;
    }
    memory_region_init_io(&f->window_mr, OBJECT(d), &window_ops, f,
                          "trainium-faults", TRN_EXT_FAULT_SIZE);
    memory_region_add_subregion(&d->bar2, TRN_EXT_FAULT, &f->window_mr);
    return true;
}

void trn_fault_window_exit(TrnFault *f)
{
    if (f->window_mr.container) {
        memory_region_del_subregion(&f->dev->bar2, &f->window_mr);
    }
}

void trn_fault_window_class_init(ObjectClass *oc)
{
    object_class_property_add_bool(oc, "fault-window", fault_window_get,
                                   fault_window_set);
    object_class_property_set_description(oc, "fault-window",
        "Tests in the guest can set faults through BAR2 (at start)");
}
