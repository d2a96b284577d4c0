/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chip that lies: some of what a driver reads from it is not what it is.
 * Registers of BAR0 and BAR2 read as something else, DMA leaves a wrong byte,
 * events come for queues that have done nothing. What the chip itself does is
 * as always, so that it never leaves the guest's own memory.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "fault.h"

static uint64_t hostile_random(TrnFault *f)
{
    /* xorshift64* */
    f->hostile.state ^= f->hostile.state >> 12;
    f->hostile.state ^= f->hostile.state << 25;
    f->hostile.state ^= f->hostile.state >> 27;
    return f->hostile.state * 0x2545f4914f6cdd1dull;
}

bool trn_hostile_now(TrnDevice *d)
{
    TrnFault *f = d->fault;

    return hostile_random(f) >> 32 < f->hostile.rate * (UINT32_MAX / 1000000ull);
}

uint32_t trn_hostile_value(TrnDevice *d, uint32_t value)
{
    static const uint32_t odd[] = {
        0, 1, 0x7fffffff, 0x80000000, 0xffff, UINT32_MAX, TRN_MISC_NOT_READY,
    };
    uint64_t r;

    if (!trn_hostile_now(d)) {
        return value;
    }
    r = hostile_random(d->fault);
    switch (r & 3) {
    case 0:
        return odd[(r >> 8) % ARRAY_SIZE(odd)];
    case 1:
        return value ^ 1u << (r >> 8 & 31);
    case 2:
        return value + (r & 0x100 ? 1 : -1);
    default:
        return r >> 32;
    }
}

/* Also engines and slots that there are not */
void trn_hostile_event(TrnDevice *d, unsigned *engine, unsigned *slot)
{
    if (trn_hostile_now(d)) {
        uint64_t r = hostile_random(d->fault);

        *engine = r >> 8 & (TRN_EXT_MAX_ENGINES - 1);
        *slot = r >> 16 & (TRN_EXT_ROUTE_SLOTS - 1);
    }
}

void trn_hostile_byte(TrnDevice *d, uint64_t len, uint64_t *at, uint8_t *bits)
{
    uint64_t r = hostile_random(d->fault);

    *at += (r >> 8) % len;
    *bits = r ?: 1;
}

static void hostile_get(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    const TrnFault *f = TRAINIUM(obj)->fault;
    g_autofree char *s = f->hostile.rate ?
        g_strdup_printf("%u:%u", f->hostile.seed, f->hostile.rate) :
        g_strdup("");

    visit_type_str(v, name, &s, errp);
}

static void hostile_set(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    TrnFault *f = d->fault;
    unsigned seed = 0, rate = 0;
    g_autofree char *text = NULL;
    const char *end;

    if (!visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (*text && (qemu_strtoui(text, &end, 10, &seed) || *end != ':' ||
                  qemu_strtoui(end + 1, NULL, 10, &rate) || rate > 1000000)) {
        error_setg(errp, "'%s' is SEED:RATE, a number and one of a million at "
                   "most, or empty", name);
        return;
    }
    if (rate && d->reorder_seed) {
        error_setg(errp, "not with reorder");
        return;
    }
    f->hostile.seed = seed;
    f->hostile.rate = rate;
    f->hostile.state = (seed + 1ull) * 0x9e3779b97f4a7c15ull;
    d->hostile = rate;
    trn_fault_dma_update(f);
}

void trn_fault_hostile_class_init(ObjectClass *oc)
{
    static const TrnFaultProp props[] = {
        { "hostile", "str", hostile_get, hostile_set,
          "fault: SEED:RATE, so many of a million registers that are read, "
          "packets and events are wrong" },
    };

    trn_fault_add_props(oc, props, ARRAY_SIZE(props));
}
