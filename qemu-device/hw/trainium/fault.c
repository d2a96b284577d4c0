/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults on demand, beside those of DMA (fault-dma.c) and of the firmware
 * (fw-props.c): registers, interrupts, removal, AER. All are QOM properties
 * and listed in Documentation/model/faults.rst. Faults do not migrate.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie_aer.h"
#include "hw/qdev-core.h"
#include "fault.h"
#include "trace.h"

#define STORM_MIN_US 20

/* --- registers --- */

static TrnFaultRegs *window_of(TrnFault *f, const char *name)
{
    return strcmp(name, "regs-ones") ? &f->deadbeef : &f->ones;
}

static void window_get(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    static const char *const names[] = { "", "all", "firmware", "engines" };
    const TrnFaultRegs *w = window_of(TRAINIUM(obj)->fault, name);
    g_autofree char *s = w->what == TRN_REGS_ENGINE ?
        g_strdup_printf("%u", w->engine) : g_strdup(names[w->what]);

    visit_type_str(v, name, &s, errp);
}

static void window_set(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    g_autofree char *text = NULL;
    TrnFaultRegs w = {};

    if (!visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (!strcmp(text, "all")) {
        w.what = TRN_REGS_ALL;
    } else if (!strcmp(text, "firmware")) {
        w.what = TRN_REGS_FIRMWARE;
    } else if (!strcmp(text, "engines")) {
        w.what = TRN_REGS_ENGINES;
    } else if (*text) {
        if (qemu_strtoui(text, NULL, 10, &w.engine) ||
            w.engine >= TRN_MAX_ENGINES) {
            error_setg(errp, "'%s' is all, firmware, engines, the number of an "
                       "engine, or empty", name);
            return;
        }
        w.what = TRN_REGS_ENGINE;
    }
    *window_of(d->fault, name) = w;
    d->fault_window = d->fault->deadbeef.what || d->fault->ones.what;
}

static bool window_has(const TrnFaultRegs *w, const TrnTarget *t)
{
    bool engine = t->block == &trn_udma_block;

    switch (w->what) {
    case TRN_REGS_ALL:
        return true;
    case TRN_REGS_FIRMWARE:
        return t->block == &trn_fw_block;
    case TRN_REGS_ENGINES:
        return engine;
    case TRN_REGS_ENGINE:
        return engine && t->index == w->engine;
    default:
        return false;
    }
}

bool trn_fault_window(TrnDevice *d, const TrnTarget *t, uint32_t *value)
{
    if (window_has(&d->fault->ones, t)) {
        *value = UINT32_MAX;
        return true;
    }
    if (window_has(&d->fault->deadbeef, t)) {
        *value = TRN_MISC_NOT_READY;
        return true;
    }
    return false;
}

/* --- interrupts --- */

bool trn_fault_irq_lost(TrnDevice *d)
{
    TrnFault *f = d->fault;

    if (likely(!f->irq_lose)) {
        return false;
    }
    if (f->irq_lose != UINT32_MAX) {
        f->irq_lose--;
    }
    return true;
}

static void storm_start(TrnFault *f)
{
    if (f->irq_storm) {
        timer_mod(f->storm, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                            f->irq_storm * (int64_t)SCALE_US);
    } else {
        timer_del(f->storm);
    }
}

/* Messages of all vectors, with nothing to tell */
static void storm_timer(void *opaque)
{
    TrnFault *f = opaque;
    g_autoptr(Object) hold = object_ref(OBJECT(f->dev));
    PCIDevice *pdev = PCI_DEVICE(f->dev);
    unsigned i;

    if (!f->dev->gone && f->dev->msix_vectors && msix_enabled(pdev)) {
        for (i = 0; i < f->dev->msix_vectors; i++) {
            msix_notify(pdev, i);
        }
    }
    storm_start(f);
}

/* --- the chip goes --- */

static uint64_t gone_read(void *opaque, hwaddr offset, unsigned size)
{
    return UINT64_MAX;
}

static void gone_write(void *opaque, hwaddr offset, uint64_t value,
                       unsigned size)
{
}

static const MemoryRegionOps gone_ops = {
    .read = gone_read,
    .write = gone_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

/*
 * All reads are ones, in the configuration space, too. Registers look at
 * TrnDevice.gone; windows to memory are covered, one by one and each as a
 * whole: a vCPU may still use the old map for a while, in which the number of
 * a section has to be of the same one. When the chip comes back it is one that
 * was just plugged in: its BARs have no addresses.
 */
static void gone_set(TrnFault *f, bool gone)
{
    TrnDevice *d = f->dev;
    unsigned i;

    if (gone == d->gone) {
        return;
    }
    if (gone) {
        trn_cold_reset(d);
    }
    memory_region_transaction_begin();
    d->gone = gone;
    trn_fabric_power(d);
    for (i = 0; i < ARRAY_SIZE(f->gone); i++) {
        if (f->gone[i].container) {
            memory_region_set_enabled(&f->gone[i], gone);
        }
    }
    memory_region_transaction_commit();
    if (!gone) {
        pci_device_reset(PCI_DEVICE(d));
    }
}

static void gone_init(TrnFault *f, unsigned i, MemoryRegion *window)
{
    memory_region_init_io(&f->gone[i], OBJECT(f->dev), &gone_ops, f,
                          "trainium-gone", memory_region_size(window));
    memory_region_set_enabled(&f->gone[i], false);
    memory_region_add_subregion_overlap(window->container, window->addr,
                                        &f->gone[i], 10);
}

void trn_fault_windows_moved(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < d->gen->num_stacks; i++) {
        memory_region_set_size(&d->fault->gone[i],
                               memory_region_size(&d->hbm_window[i]));
        memory_region_set_address(&d->fault->gone[i], d->hbm_window[i].addr);
    }
}

static void gone_timer(void *opaque)
{
    TrnFault *f = opaque;

    f->gone_ms = 0;
    gone_set(f, false);
}

static void gone_changed(TrnFault *f)
{
    gone_set(f, f->gone_ms);
    if (f->gone_ms && f->gone_ms != UINT32_MAX) {
        timer_mod(f->gone_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                                 f->gone_ms * (int64_t)SCALE_MS);
    } else {
        timer_del(f->gone_timer);
    }
}

/* --- AER --- */

static void aer_set(Object *obj, const char *text, Error **errp)
{
    static const struct {
        const char *name;
        PCIEAERErr err;
    } errors[] = {
        /* Receiver error; completion timeout; malformed TLP */
        { "correctable", { .status = PCI_ERR_COR_RCVR,
                           .flags = PCIE_AER_ERR_IS_CORRECTABLE } },
        { "non-fatal", { .status = PCI_ERR_UNC_COMP_TIME } },
        { "fatal", { .status = PCI_ERR_UNC_MALF_TLP } },
    };
    PCIDevice *pdev = PCI_DEVICE(obj);
    unsigned i;

    if (!DEVICE(obj)->realized) {
        error_setg(errp, "'aer' is for a chip that is there");
        return;
    }
    for (i = 0; i < ARRAY_SIZE(errors); i++) {
        if (!strcmp(text, errors[i].name)) {
            PCIEAERErr err = errors[i].err;
            int ret;

            err.source_id = pci_requester_id(pdev);
            ret = pcie_aer_inject_error(pdev, &err);
            if (ret) {
                error_setg_errno(errp, -ret, "'%s' was not sent", text);
            }
            return;
        }
    }
    error_setg(errp, "'aer' is correctable, non-fatal or fatal");
}

/* --- numbers --- */

static uint32_t *number_of(TrnFault *f, const char *name)
{
    return !strcmp(name, "irq-lose") ? &f->irq_lose :
           !strcmp(name, "irq-storm") ? &f->irq_storm : &f->gone_ms;
}

static void number_get(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    visit_type_uint32(v, name, number_of(TRAINIUM(obj)->fault, name), errp);
}

static void number_set(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    TrnFault *f = TRAINIUM(obj)->fault;
    uint32_t *number = number_of(f, name), value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (number != &f->irq_lose && !DEVICE(obj)->realized) {
        error_setg(errp, "'%s' is for a chip that is there", name);
        return;
    }
    if (number == &f->irq_storm && value && value < STORM_MIN_US) {
        error_setg(errp, "'%s' is at least %u us", name, STORM_MIN_US);
        return;
    }
    *number = value;
    if (number == &f->irq_storm) {
        storm_start(f);
    } else if (number == &f->gone_ms) {
        gone_changed(f);
    }
}

/* --- life --- */

void trn_fault_instance_init(TrnDevice *d)
{
    TrnFault *f = d->fault = g_new0(TrnFault, 1);

    f->dev = d;
    trn_fault_dma_init(f);
    f->storm = timer_new_ns(QEMU_CLOCK_VIRTUAL, storm_timer, f);
    f->gone_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, gone_timer, f);
}

bool trn_fault_init(TrnDevice *d, Error **errp)
{
    TrnFault *f = d->fault;
    unsigned i;

    if (!trn_fault_window_init(f, errp)) {
        return false;
    }
    for (i = 0; i < d->gen->num_stacks; i++) {
        gone_init(f, i, &d->hbm_window[i]);
    }
    for (i = 0; i < d->gen->num_cores; i++) {
        gone_init(f, TRN_MAX_STACKS + i, &d->core[i].sbuf);
    }
    return true;
}

/* Also after a realize that failed half-way */
void trn_fault_exit(TrnDevice *d)
{
    TrnFault *f = d->fault;
    unsigned i;

    trn_fault_dma_stop(f);
    timer_del(f->storm);
    timer_del(f->gone_timer);
    trn_fault_window_exit(f);
    for (i = 0; i < ARRAY_SIZE(f->gone); i++) {
        if (f->gone[i].container) {
            memory_region_del_subregion(f->gone[i].container, &f->gone[i]);
        }
    }
}

void trn_fault_finalize(TrnDevice *d)
{
    trn_fault_dma_finalize(d->fault);
    timer_free(d->fault->storm);
    timer_free(d->fault->gone_timer);
    g_free(d->fault);
}

void trn_fault_reset(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < d->num_engines; i++) {
        d->engine[i].stuck = 0;
    }
    trn_fault_dma_stop(d->fault);
}

void trn_fault_add_props(ObjectClass *oc, const TrnFaultProp *p, unsigned n)
{
    for (; n; n--, p++) {
        object_class_property_add(oc, p->name, p->type, p->get, p->set, NULL,
                                  NULL);
        object_class_property_set_description(oc, p->name, p->description);
    }
}

void trn_fault_class_init(ObjectClass *oc)
{
    static const TrnFaultProp props[] = {
        { "regs-deadbeef", "str", window_get, window_set,
          "fault: registers that read 0xdeadbeef and lose writes: all, "
          "firmware, engines, or an engine's number" },
        { "regs-ones", "str", window_get, window_set,
          "fault: registers that read 0xffffffff and lose writes: all, "
          "firmware, engines, or an engine's number" },
        { "irq-lose", "uint32", number_get, number_set,
          "fault: number of MSI-X messages that are lost (4294967295: all)" },
        { "irq-storm", "uint32", number_get, number_set,
          "fault: messages of all vectors for nothing, with this period in us" },
        { "surprise-removal", "uint32", number_get, number_set,
          "fault: the chip is gone for that many ms (4294967295: until this "
          "is set to 0), then as if just plugged in" },
    };

    trn_fault_add_props(oc, props, ARRAY_SIZE(props));
    object_class_property_add_str(oc, "aer", NULL, aer_set);
    object_class_property_set_description(oc, "aer",
        "fault: reports a PCIe error: correctable, non-fatal or fatal");
    trn_fault_dma_class_init(oc);
    trn_fault_hostile_class_init(oc);
    trn_fault_window_class_init(oc);
}
