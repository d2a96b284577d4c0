/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of DMA on demand: packets that go wrong, memory that cannot be read,
 * engines that hang. See fault.c.
 *
 * Those of packets are counted in packets that an engine carries out, and are
 * used up when they have hit: then the property reads as an empty string. A
 * hang lasts until the reset that its level names, see TrnFaultCure.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "fault.h"
#include "trace.h"

#define ANY UINT32_MAX
#define LATE_MS 20              /* by how much dma-early's data is late */

typedef enum DmaProp { DMA_ABORT, DMA_CORRUPT, DMA_LOST, DMA_EARLY, NUM_DMA }
    DmaProp;

QEMU_BUILD_BUG_ON(NUM_DMA != TRN_FAULT_PACKETS);

static const char *const dma_names[NUM_DMA] = {
    "dma-abort", "dma-corrupt", "dma-lost", "dma-early",
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

void trn_fault_dma_update(TrnFault *f)
{
    unsigned i;

    f->dev->fault_dma = f->num_cells[0] || f->num_cells[1] ||
                        f->hostile.rate;
    for (i = 0; i < NUM_DMA; i++) {
        f->dev->fault_dma |= f->packet[i].left;
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
    const TrnFaultTrigger *t = &TRAINIUM(obj)->fault->packet[dma_prop(name)];
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
    TrnFaultTrigger t = {};

    if (!visit_type_str(v, name, &text, errp) || !in_order(d, errp)) {
        return;
    }
    p = text;
    if (*text && (!parse_place(&p, &t.engine, &t.queue) ||
                  qemu_strtou64(p, NULL, 10, &t.left) || !t.left)) {
        error_setg(errp, "'%s' is ENGINE[.QUEUE]:NUMBER, or empty", name);
        return;
    }
    d->fault->packet[dma_prop(name)] = t;
    trn_fault_dma_update(d->fault);
}

/* Counts the packet; true when it is the one. */
static bool trigger_hit(TrnFaultTrigger *t, const TrnEngine *e, unsigned q)
{
    return t->left && (t->engine == ANY || t->engine == e->id) &&
           (t->queue == ANY || t->queue == q) && !--t->left;
}

static void late_write(TrnFault *f)
{
    /* Ours: what is written may be a reset, which forgets what is late. */
    g_autofree uint8_t *data = g_steal_pointer(&f->late.data);

    if (data) {
        trn_axi_write(f->dev, f->late.dst, data, f->late.len);
        trn_host_release(f->dev);
    }
}

static void late_timer(void *opaque)
{
    TrnFault *f = opaque;
    g_autoptr(Object) hold = object_ref(OBJECT(f->dev));

    late_write(f);
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
    uint32_t epoch = e->epoch;
    unsigned i;

    for (i = 0; i < p->num_segs && res == TRN_FAULT_NONE; i++) {
        if (cells_read(f, &p->seg[i])) {
            p->cause[TRN_M2S] = TRN_M2S_ERR_DATA_AXI_PARITY;
            res = TRN_FAULT_ABORT;
        } else {
            cells_written(f, &p->seg[i]);
        }
    }
    if (trigger_hit(&f->packet[DMA_CORRUPT], e, q) && p->num_segs) {
        res = MAX(res, TRN_FAULT_CORRUPT);
    }
    if (f->hostile.rate && p->num_segs && trn_hostile_now(e->dev)) {
        res = MAX(res, TRN_FAULT_CORRUPT);
    }
    /* A semaphore is raised in one access, so not by what is written later. */
    if (p->op_type != TRN_META_OP_TYPE_SEMAPHORE &&
        trigger_hit(&f->packet[DMA_EARLY], e, q) && p->num_segs) {
        late_take(f, p);
        p->num_segs = 0;
        if (e->epoch != epoch) {
            return TRN_FAULT_NONE;
        }
    }
    if (trigger_hit(&f->packet[DMA_LOST], e, q)) {
        p->num_segs = 0;
        p->s2m_int = p->m2s_int = false;
        res = TRN_FAULT_LOST;
    }
    if (trigger_hit(&f->packet[DMA_ABORT], e, q)) {
        trn_packet_fault(p, TRN_M2S);
        res = TRN_FAULT_ABORT;
    }
    trn_fault_dma_update(f);
    if (res != TRN_FAULT_NONE) {
        trace_trn_fault_packet(e->dev->routing_id, e->id, q, res);
    }
    return res;
}

void trn_fault_corrupt(TrnEngine *e, const TrnPacket *p)
{
    uint64_t at;
    uint8_t byte, bits = 0x40;

    if (!p->num_segs) {
        return;
    }
    at = p->seg[0].dst;
    if (e->dev->hostile) {
        trn_hostile_byte(e->dev, p->seg[0].len, &at, &bits);
    }
    if (trn_axi_read(e->dev, at, &byte, 1)) {
        byte ^= bits;
        trn_axi_write(e->dev, at, &byte, 1);
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
    uint64_t cell[TRN_FAULT_MAX_CELLS];

    if (!visit_type_str(v, name, &text, errp) || !in_order(d, errp)) {
        return;
    }
    list = g_strsplit(text, ",", -1);
    for (n = 0; *text && list[n]; n++) {
        if (n >= TRN_FAULT_MAX_CELLS || qemu_strtou64(list[n], NULL, 0, &cell[n])) {
            error_setg(errp, "'%s' is up to %u AXI addresses", name, TRN_FAULT_MAX_CELLS);
            return;
        }
    }
    memcpy(f->cell[kind], cell, n * sizeof(cell[0]));
    f->num_cells[kind] = n;
    trn_fault_dma_update(f);
}

/* --- engines that hang --- */

static const char *const cure_names[] = {
    "queue", "engine", "core", "device", "none"
};

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
               "engine, core, device or none as the level, or empty");
}

static void stuck_set(Object *obj, const char *text, Error **errp)
{
    g_autoptr(Object) hold = object_ref(obj);
    TrnDevice *d = TRAINIUM(obj);
    unsigned i;

    if (!d->engine) {
        error_setg(errp, "'engine-stuck' is for a chip that is there");
    } else if (*text) {
        stuck_set_one(d, text, errp);
    } else {
        for (i = 0; i < d->num_engines; i++) {
            trn_fault_cure(&d->engine[i], TRN_CURE_NONE);
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

/* --- life --- */

void trn_fault_dma_init(TrnFault *f)
{
    f->late.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, late_timer, f);
}

void trn_fault_dma_stop(TrnFault *f)
{
    timer_del(f->late.timer);
    g_clear_pointer(&f->late.data, g_free);
}

void trn_fault_dma_finalize(TrnFault *f)
{
    timer_free(f->late.timer);
}

void trn_fault_dma_class_init(ObjectClass *oc)
{
    static const TrnFaultProp props[] = {
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
    };

    trn_fault_add_props(oc, props, ARRAY_SIZE(props));
    object_class_property_add_str(oc, "engine-stuck", stuck_get, stuck_set);
    object_class_property_set_description(oc, "engine-stuck",
        "fault: ENGINE[.QUEUE]:LEVEL, hangs until a reset of that level: "
        "queue, engine, core, device, none");
}
