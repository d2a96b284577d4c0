/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults on demand, beside those of the firmware (fw-props.c). All are QOM
 * properties and listed in Documentation/model/faults.rst.
 *
 * Those of DMA are counted in packets that an engine carries out, and are used
 * up when they have hit: then the property reads as an empty string. A hang
 * lasts until the reset that its level names, see TrnFaultCure.
 *
 * The fault window is a way for tests inside of the guest to set the same
 * properties: the text NAME=VALUE is written to a part of BAR2. It is there
 * only when the chip was started with fault-window=on, and reaches nothing but
 * the properties of this file and of fw-props.c.
 *
 * Faults do not migrate.
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

#define ANY UINT32_MAX
#define MAX_CELLS 16
#define LATE_MS 20              /* by how much dma-early's data is late */
#define STORM_MIN_US 20

/* ENGINE[.QUEUE]:NUMBER, the NUMBER-th packet from now */
typedef struct Trigger {
    uint32_t engine, queue;
    uint64_t left;              /* 0: off */
} Trigger;

typedef enum DmaProp { DMA_ABORT, DMA_CORRUPT, DMA_LOST, DMA_EARLY, NUM_DMA }
    DmaProp;

static const char *const dma_names[NUM_DMA] = {
    "dma-abort", "dma-corrupt", "dma-lost", "dma-early",
};

/* Registers that read as something else */
typedef struct Window {
    enum { WINDOW_NONE, WINDOW_ALL, WINDOW_FIRMWARE, WINDOW_ENGINES,
           WINDOW_ENGINE } what;
    unsigned engine;
} Window;

struct TrnFault {
    TrnDevice *dev;
    Trigger dma[NUM_DMA];
    struct {
        uint64_t dst, len;
        uint8_t *data;          /* NULL: nothing is late */
        QEMUTimer *timer;
    } late;
    uint64_t cell[2][MAX_CELLS];        /* corrected, uncorrected: AXI */
    unsigned num_cells[2];
    Window deadbeef, ones;
    uint32_t irq_lose, irq_storm;
    QEMUTimer *storm, *gone_timer;
    uint32_t gone_ms;
    /* Over each window to memory while the chip is gone */
    MemoryRegion gone[TRN_MAX_STACKS + TRN_MAX_CORES];
    bool window;                /* fault-window=on */
    MemoryRegion window_mr;
    char text[TRN_EXT_FAULT_TEXT_SIZE + 1];
    uint32_t status;
};

/* --- text --- */

static bool parse_place(const char **text, uint32_t *engine, uint32_t *queue)
{
    const char *p = *text;
    unsigned n;

    *engine = *queue = ANY;
    if (*p == '*') {
        p++;
    } else if (qemu_strtoui(p, &p, 10, &n) || n >= TRN_MAX_ENGINES) {
        return false;
    } else {
        *engine = n;
    }
    if (*p == '.') {
        if (qemu_strtoui(p + 1, &p, 10, &n) || n >= TRN_QUEUES_PER_ENGINE) {
            return false;
        }
        *queue = n;
    }
    *text = p + 1;
    return *p == ':';
}

static void append_place(GString *s, uint32_t engine, uint32_t queue)
{
    if (engine == ANY) {
        g_string_append_c(s, '*');
    } else {
        g_string_append_printf(s, "%u", engine);
    }
    if (queue != ANY) {
        g_string_append_printf(s, ".%u", queue);
    }
    g_string_append_c(s, ':');
}

/* The executor that reorders does not know these faults. */
static bool in_order(TrnDevice *d, Error **errp)
{
    if (d->reorder_seed) {
        error_setg(errp, "not with reorder");
    }
    return !d->reorder_seed;
}

/* --- DMA --- */

static void dma_update(TrnFault *f)
{
    unsigned i;

    f->dev->fault_dma = f->num_cells[0] || f->num_cells[1];
    for (i = 0; i < NUM_DMA; i++) {
        f->dev->fault_dma |= f->dma[i].left;
    }
}

static DmaProp dma_prop(const char *name)
{
    DmaProp i = 0;

    while (strcmp(dma_names[i], name)) {
        i++;
    }
    return i;
}

static void dma_get(Object *obj, Visitor *v, const char *name, void *opaque,
                    Error **errp)
{
    const Trigger *t = &TRAINIUM(obj)->fault->dma[dma_prop(name)];
    g_autoptr(GString) s = g_string_new(NULL);

    if (t->left) {
        append_place(s, t->engine, t->queue);
        g_string_append_printf(s, "%" PRIu64, t->left);
    }
    visit_type_str(v, name, &s->str, errp);
}

static void dma_set(Object *obj, Visitor *v, const char *name, void *opaque,
                    Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    g_autofree char *text = NULL;
    const char *p;
    Trigger t = {};

    if (!visit_type_str(v, name, &text, errp) || !in_order(d, errp)) {
        return;
    }
    p = text;
    if (*text && (!parse_place(&p, &t.engine, &t.queue) ||
                  qemu_strtou64(p, NULL, 10, &t.left) || !t.left)) {
        error_setg(errp, "'%s' is ENGINE[.QUEUE]:NUMBER, or empty", name);
        return;
    }
    d->fault->dma[dma_prop(name)] = t;
    dma_update(d->fault);
}

/* Counts the packet; true when it is the one. */
static bool trigger_hit(Trigger *t, const TrnEngine *e, unsigned q)
{
    return t->left && (t->engine == ANY || t->engine == e->id) &&
           (t->queue == ANY || t->queue == q) && !--t->left;
}

static void late_write(TrnFault *f)
{
    if (f->late.data) {
        trn_axi_write(f->dev, f->late.dst, f->late.data, f->late.len);
        trn_host_release(f->dev);
        g_clear_pointer(&f->late.data, g_free);
    }
}

static void late_timer(void *opaque)
{
    late_write(opaque);
}

/* Takes the data along; it is written when everybody thinks it long is. */
static void late_take(TrnFault *f, const TrnPacket *p)
{
    late_write(f);
    f->late.len = p->seg[0].len;
    f->late.dst = p->seg[0].dst;
    f->late.data = g_malloc(f->late.len);
    if (!trn_axi_read(f->dev, p->seg[0].src, f->late.data, f->late.len)) {
        g_clear_pointer(&f->late.data, g_free);
        return;
    }
    timer_mod(f->late.timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                             LATE_MS * SCALE_MS);
}

static bool cell_inside(uint64_t cell, uint64_t addr, uint32_t len)
{
    return cell >= addr && cell - addr < len;
}

/* What was written is right again. */
static void cells_written(TrnFault *f, const TrnSeg *seg)
{
    unsigned kind, i;

    for (kind = 0; kind < 2; kind++) {
        for (i = f->num_cells[kind]; i--;) {
            if (cell_inside(f->cell[kind][i], seg->dst, seg->len)) {
                f->cell[kind][i] = f->cell[kind][--f->num_cells[kind]];
            }
        }
    }
}

/* Counts the errors that reading meets; true: one cannot be corrected. */
static bool cells_read(TrnFault *f, const TrnSeg *seg)
{
    bool bad = false;
    unsigned kind, i;
    TrnTarget t;

    for (kind = 0; kind < 2; kind++) {
        for (i = 0; i < f->num_cells[kind]; i++) {
            uint64_t cell = f->cell[kind][i];

            if (cell_inside(cell, seg->src, seg->len) &&
                trn_axi_resolve(f->dev, cell, &t) && t.stack >= 0) {
                trn_fw_count_ecc(f->dev, t.stack, kind);
                bad |= kind;
            }
        }
    }
    return bad;
}

TrnFaultDma trn_fault_packet(TrnEngine *e, unsigned q, TrnPacket *p)
{
    TrnFault *f = e->dev->fault;
    TrnFaultDma res = TRN_FAULT_NONE;
    unsigned i;

    for (i = 0; i < p->num_segs && res == TRN_FAULT_NONE; i++) {
        if (cells_read(f, &p->seg[i])) {
            p->cause[TRN_M2S] = TRN_M2S_ERR_DATA_AXI_PARITY;
            res = TRN_FAULT_ABORT;
        } else {
            cells_written(f, &p->seg[i]);
        }
    }
    if (trigger_hit(&f->dma[DMA_CORRUPT], e, q) && p->num_segs) {
        res = MAX(res, TRN_FAULT_CORRUPT);
    }
    if (trigger_hit(&f->dma[DMA_EARLY], e, q) && p->num_segs) {
        late_take(f, p);
        p->num_segs = 0;
    }
    if (trigger_hit(&f->dma[DMA_LOST], e, q)) {
        p->num_segs = 0;
        p->s2m_int = p->m2s_int = false;
        res = TRN_FAULT_LOST;
    }
    if (trigger_hit(&f->dma[DMA_ABORT], e, q)) {
        trn_packet_fault(p, TRN_M2S);
        res = TRN_FAULT_ABORT;
    }
    dma_update(f);
    if (res != TRN_FAULT_NONE) {
        trace_trn_fault_packet(e->dev->routing_id, e->id, q, res);
    }
    return res;
}

void trn_fault_corrupt(TrnEngine *e, const TrnPacket *p)
{
    uint8_t byte;

    if (p->num_segs && trn_axi_read(e->dev, p->seg[0].dst, &byte, 1)) {
        byte ^= 0x40;
        trn_axi_write(e->dev, p->seg[0].dst, &byte, 1);
    }
}

/* --- ECC --- */

static unsigned ecc_kind(const char *name)
{
    return !strcmp(name, "ecc-uncorrectable");
}

static void ecc_get(Object *obj, Visitor *v, const char *name, void *opaque,
                    Error **errp)
{
    TrnFault *f = TRAINIUM(obj)->fault;
    unsigned kind = ecc_kind(name), i;
    g_autoptr(GString) s = g_string_new(NULL);

    for (i = 0; i < f->num_cells[kind]; i++) {
        g_string_append_printf(s, "%s0x%" PRIx64, i ? "," : "",
                               f->cell[kind][i]);
    }
    visit_type_str(v, name, &s->str, errp);
}

static void ecc_set(Object *obj, Visitor *v, const char *name, void *opaque,
                    Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    TrnFault *f = d->fault;
    unsigned kind = ecc_kind(name), n = 0;
    g_autofree char *text = NULL;
    g_auto(GStrv) list = NULL;
    uint64_t cell[MAX_CELLS];

    if (!visit_type_str(v, name, &text, errp) || !in_order(d, errp)) {
        return;
    }
    list = g_strsplit(text, ",", -1);
    for (n = 0; *text && list[n]; n++) {
        if (n >= MAX_CELLS || qemu_strtou64(list[n], NULL, 0, &cell[n])) {
            error_setg(errp, "'%s' is up to %u AXI addresses", name, MAX_CELLS);
            return;
        }
    }
    memcpy(f->cell[kind], cell, n * sizeof(cell[0]));
    f->num_cells[kind] = n;
    dma_update(f);
}

/* --- engines that hang --- */

static const char *const cure_names[] = { "queue", "engine", "core", "device" };

static char *stuck_get(Object *obj, Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    GString *s = g_string_new(NULL);
    unsigned i;

    for (i = 0; d->engine && i < d->num_engines; i++) {
        TrnEngine *e = &d->engine[i];

        if (e->stuck) {
            g_string_append(s, s->len ? "," : "");
            append_place(s, i, is_power_of_2(e->stuck) ? ctz32(e->stuck) : ANY);
            g_string_append(s, cure_names[e->stuck_cure]);
        }
    }
    return g_string_free(s, false);
}

static void stuck_set_one(TrnDevice *d, const char *text, Error **errp)
{
    uint32_t engine, queue;
    const char *p = text;
    unsigned level, i;

    if (!parse_place(&p, &engine, &queue) ||
        (engine != ANY && engine >= d->num_engines)) {
        goto bad;
    }
    for (level = 0; level < ARRAY_SIZE(cure_names); level++) {
        if (!strcmp(p, cure_names[level])) {
            break;
        }
    }
    if (level == ARRAY_SIZE(cure_names)) {
        goto bad;
    }
    for (i = 0; i < d->num_engines; i++) {
        TrnEngine *e = &d->engine[i];

        if (engine == ANY || engine == i) {
            e->stuck |= queue == ANY ? UINT16_MAX : 1u << queue;
            e->stuck_cure = level;
            e->stuck_reset = 0;
        }
    }
    return;
bad:
    error_setg(errp, "'engine-stuck' is ENGINE[.QUEUE]:LEVEL, with queue, "
               "engine, core or device as the level, or empty");
}

static void stuck_set(Object *obj, const char *text, Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    unsigned i;

    if (!d->engine) {
        error_setg(errp, "'engine-stuck' is for a chip that is there");
    } else if (*text) {
        stuck_set_one(d, text, errp);
    } else {
        for (i = 0; i < d->num_engines; i++) {
            trn_fault_cure(&d->engine[i], TRN_CURE_DEVICE);
        }
    }
}

void trn_fault_cure(TrnEngine *e, TrnFaultCure level)
{
    unsigned q;

    if (!e->stuck || level < e->stuck_cure) {
        return;
    }
    e->stuck = 0;
    for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
        trn_exec_kick(e, q);
    }
}

void trn_fault_ring_reset(TrnEngine *e, unsigned q, TrnSide side)
{
    const uint32_t both = 1u << q | 1u << (16 + q);

    if (!e->stuck || e->stuck_cure != TRN_CURE_QUEUE) {
        return;
    }
    e->stuck_reset |= 1u << (q + (side == TRN_S2M ? 16 : 0));
    if ((e->stuck_reset & both) == both) {
        e->stuck &= ~(1u << q);
    }
}

/* --- registers --- */

static Window *window_of(TrnFault *f, const char *name)
{
    return strcmp(name, "regs-ones") ? &f->deadbeef : &f->ones;
}

static void window_get(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    static const char *const names[] = { "", "all", "firmware", "engines" };
    const Window *w = window_of(TRAINIUM(obj)->fault, name);
    g_autofree char *s = w->what == WINDOW_ENGINE ?
        g_strdup_printf("%u", w->engine) : g_strdup(names[w->what]);

    visit_type_str(v, name, &s, errp);
}

static void window_set(Object *obj, Visitor *v, const char *name, void *opaque,
                       Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    g_autofree char *text = NULL;
    Window w = {};

    if (!visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (!strcmp(text, "all")) {
        w.what = WINDOW_ALL;
    } else if (!strcmp(text, "firmware")) {
        w.what = WINDOW_FIRMWARE;
    } else if (!strcmp(text, "engines")) {
        w.what = WINDOW_ENGINES;
    } else if (*text) {
        if (qemu_strtoui(text, NULL, 10, &w.engine) ||
            w.engine >= TRN_MAX_ENGINES) {
            error_setg(errp, "'%s' is all, firmware, engines, the number of an "
                       "engine, or empty", name);
            return;
        }
        w.what = WINDOW_ENGINE;
    }
    *window_of(d->fault, name) = w;
    d->fault_window = d->fault->deadbeef.what || d->fault->ones.what;
}

static bool window_has(const Window *w, const TrnTarget *t)
{
    bool engine = t->block == &trn_udma_block;

    switch (w->what) {
    case WINDOW_ALL:
        return true;
    case WINDOW_FIRMWARE:
        return t->block == &trn_fw_block;
    case WINDOW_ENGINES:
        return engine;
    case WINDOW_ENGINE:
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

/* --- window in BAR2 --- */

static const char *const own_names[] = {
    "dma-abort", "dma-corrupt", "dma-lost", "dma-early", "ecc-correctable",
    "ecc-uncorrectable", "engine-stuck", "regs-deadbeef", "regs-ones",
    "irq-lose", "irq-storm", "surprise-removal", "aer", "fw-override",
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

/* --- life --- */

void trn_fault_instance_init(TrnDevice *d)
{
    TrnFault *f = d->fault = g_new0(TrnFault, 1);

    f->dev = d;
    f->late.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, late_timer, f);
    f->storm = timer_new_ns(QEMU_CLOCK_VIRTUAL, storm_timer, f);
    f->gone_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, gone_timer, f);
}

bool trn_fault_init(TrnDevice *d, Error **errp)
{
    TrnFault *f = d->fault;
    unsigned i;

    if (f->window && !d->ext) {
        error_setg(errp, "fault-window is a part of ext");
        return false;
    }
    if (f->window) {
        memory_region_init_io(&f->window_mr, OBJECT(d), &window_ops, f,
                              "trainium-faults", TRN_EXT_FAULT_SIZE);
        memory_region_add_subregion(&d->bar2, TRN_EXT_FAULT, &f->window_mr);
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

    timer_del(f->late.timer);
    timer_del(f->storm);
    timer_del(f->gone_timer);
    g_clear_pointer(&f->late.data, g_free);
    if (f->window_mr.container) {
        memory_region_del_subregion(&d->bar2, &f->window_mr);
    }
    for (i = 0; i < ARRAY_SIZE(f->gone); i++) {
        if (f->gone[i].container) {
            memory_region_del_subregion(f->gone[i].container, &f->gone[i]);
        }
    }
}

void trn_fault_finalize(TrnDevice *d)
{
    timer_free(d->fault->late.timer);
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
    timer_del(d->fault->late.timer);
    g_clear_pointer(&d->fault->late.data, g_free);
}

void trn_fault_class_init(ObjectClass *oc)
{
    static const struct {
        const char *name, *type;
        ObjectPropertyAccessor *get, *set;
        const char *description;
    } props[] = {
        { "dma-abort", "str", dma_get, dma_set,
          "fault: ENGINE[.QUEUE]:NUMBER, that packet from now aborts the "
          "engine (* is any engine)" },
        { "dma-corrupt", "str", dma_get, dma_set,
          "fault: ENGINE[.QUEUE]:NUMBER, that packet from now writes wrong "
          "data" },
        { "dma-lost", "str", dma_get, dma_set,
          "fault: ENGINE[.QUEUE]:NUMBER, that packet from now writes nothing "
          "and does not interrupt" },
        { "dma-early", "str", dma_get, dma_set,
          "fault: ENGINE[.QUEUE]:NUMBER, the data of that packet from now is "
          "written long after its completion" },
        { "ecc-correctable", "str", ecc_get, ecc_set,
          "fault: AXI addresses in HBM that DMA reads with a corrected error "
          "until they are written" },
        { "ecc-uncorrectable", "str", ecc_get, ecc_set,
          "fault: AXI addresses in HBM that DMA cannot read until they are "
          "written: it aborts" },
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
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(props); i++) {
        object_class_property_add(oc, props[i].name, props[i].type,
                                  props[i].get, props[i].set, NULL, NULL);
        object_class_property_set_description(oc, props[i].name,
                                              props[i].description);
    }
    object_class_property_add_str(oc, "engine-stuck", stuck_get, stuck_set);
    object_class_property_set_description(oc, "engine-stuck",
        "fault: ENGINE[.QUEUE]:LEVEL, hangs until a reset of that level: "
        "queue, engine, core, device");
    object_class_property_add_str(oc, "aer", NULL, aer_set);
    object_class_property_set_description(oc, "aer",
        "fault: reports a PCIe error: correctable, non-fatal or fatal");
    object_class_property_add_bool(oc, "fault-window", fault_window_get,
                                   fault_window_set);
    object_class_property_set_description(oc, "fault-window",
        "Tests in the guest can set faults through BAR2 (at start)");
}
