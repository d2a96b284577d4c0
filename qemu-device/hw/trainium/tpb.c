/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NeuronCore (TPB) and TOP_SP windows: SBUF, events and semaphores, activity
 * counters. No instruction of a core is executed.
 *
 * Synchronisation region: an event is 0 or 1; a semaphore is a signed 32-bit
 * value that the set area replaces, the increment area adds to and the
 * decrement area subtracts from (modulo 2^32). It reads in the read area only;
 * reading elsewhere gives 0. Public sources leave all that open or undefined
 * except the plain uses.
 *
 * Activity counters, 64 bits each: matmul and weight load stay 0 without
 * instructions, idle counts one a nanosecond of virtual time since the core's
 * reset. Software reads the high half first, so there is no latch.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "trainium.h"
#include "trace.h"

static TrnSync *trn_sync(TrnDevice *d, unsigned index)
{
    if (index < TRN_MAX_CORES) {
        return &d->core[index].sync;
    }
    index -= TRN_MAX_CORES;
    return index < TRN_MAX_TOP_SP ? &d->top_sp[index].sync : NULL;
}

/* Area of @offset, and the event's or semaphore's number in it. */
static uint32_t trn_sync_area(uint32_t offset, unsigned *n)
{
    uint32_t bytes = TRN_SYNC_COUNT * 4;

    *n = offset % bytes / 4;
    return offset - offset % bytes;
}

uint32_t trn_sync_read(TrnDevice *d, unsigned index, uint32_t offset)
{
    TrnSync *s = trn_sync(d, index);
    unsigned n;

    if (!s) {
        return 0;
    }
    switch (trn_sync_area(offset, &n)) {
    case TRN_SYNC_EVENT:
        return s->event[n];
    case TRN_SYNC_SEM_READ:
        return s->sem[n];
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: block %u: nothing to read "
                      "at 0x%x\n", index, offset);
        return 0;
    }
}

void trn_sync_write(TrnDevice *d, unsigned index, uint32_t offset,
                    uint32_t value)
{
    TrnSync *s = trn_sync(d, index);
    unsigned n;

    if (!s) {
        return;
    }
    trace_trn_sync_write(d->routing_id, index, offset, value);
    switch (trn_sync_area(offset, &n)) {
    case TRN_SYNC_EVENT:
        s->event[n] = value != 0;
        break;
    case TRN_SYNC_SEM_SET:
        s->sem[n] = value;
        break;
    case TRN_SYNC_SEM_INC:
        s->sem[n] = (uint32_t)s->sem[n] + value;
        break;
    case TRN_SYNC_SEM_DEC:
        s->sem[n] = (uint32_t)s->sem[n] - value;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: block %u: nothing to write "
                      "at 0x%x\n", index, offset);
    }
}

/* --- Activity counters ------------------------------------------------------ */

/* @offset is relative to the first counter, as TRN2_IO_PE_COUNTERS. */
uint32_t trn_pe_read(TrnDevice *d, unsigned core, uint32_t offset)
{
    uint64_t idle;

    if (offset >= TRN2_PE_ROW_GROUPS * TRN2_PE_ROW_STRIDE ||
        offset % TRN2_PE_GROUP_STRIDE / 8 != TRN_PE_IDLE / 8) {
        return 0;
    }
    idle = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - d->core[core].pe_epoch_ns;
    return offset & 4 ? idle >> 32 : idle;
}

void trn_pe_write(TrnDevice *d, unsigned core, uint32_t offset, uint32_t value)
{
    qemu_log_mask(LOG_GUEST_ERROR, "trainium: core %u: activity counters are "
                  "read-only\n", core);
}

/* --- Life cycle --------------------------------------------------------------- */

void trn_tpb_reset_core(TrnDevice *d, unsigned core)
{
    TrnCore *c = &d->core[core];

    trace_trn_tpb_reset(d->routing_id, "core", core);
    memset(&c->sync, 0, sizeof(c->sync));
    c->pe_epoch_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    trn_notific_reset(&c->notific);
}

void trn_tpb_reset_top_sp(TrnDevice *d, unsigned n)
{
    if (n >= TRN_MAX_TOP_SP) {
        return;
    }
    trace_trn_tpb_reset(d->routing_id, "TOP_SP", n);
    memset(&d->top_sp[n].sync, 0, sizeof(d->top_sp[n].sync));
    trn_notific_reset(&d->top_sp[n].notific);
}

void trn_tpb_reset(TrnDevice *d)
{
    for (unsigned c = 0; c < d->gen->num_cores; c++) {
        trn_tpb_reset_core(d, c);
    }
    trn_store_zero(&d->sbuf, d->sbuf.ptr, d->sbuf.size);
    for (unsigned n = 0; n < TRN_MAX_TOP_SP; n++) {
        trn_tpb_reset_top_sp(d, n);
    }
}

/* --- Migration ------------------------------------------------------------------ */

static int trn_sync_post_load(void *opaque, int version_id)
{
    TrnSync *s = opaque;

    for (unsigned i = 0; i < TRN_SYNC_COUNT; i++) {
        if (s->event[i] > 1) {
            return -EINVAL;
        }
    }
    return 0;
}

static const VMStateDescription vmstate_trn_sync = {
    .name = "trainium/sync",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = trn_sync_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(event, TrnSync, TRN_SYNC_COUNT),
        VMSTATE_INT32_ARRAY(sem, TrnSync, TRN_SYNC_COUNT),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_trn_core = {
    .name = "trainium/core",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(sync, TrnCore, 1, vmstate_trn_sync, TrnSync),
        VMSTATE_STRUCT(notific, TrnCore, 1, vmstate_trn_notific, TrnNotific),
        VMSTATE_INT64(pe_epoch_ns, TrnCore),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_trn_top_sp = {
    .name = "trainium/top-sp",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(sync, TrnTopSp, 1, vmstate_trn_sync, TrnSync),
        VMSTATE_STRUCT(notific, TrnTopSp, 1, vmstate_trn_notific, TrnNotific),
        VMSTATE_END_OF_LIST()
    },
};
