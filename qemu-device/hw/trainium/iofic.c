/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt controllers of an engine: a primary with groups A..D, a secondary
 * with A..C, and one group a bus master.
 *
 * An event is sent when it happens and its cause is unmasked, and when a cause
 * that is already set gets unmasked. Every event sends, even if its cause is
 * still set: a handler that only uses the pending area never clears causes.
 */
#include "qemu/osdep.h"
#include "trainium.h"
#include "udma.h"
#include "trace.h"

static const char *const primary_name[] = { "A", "B", "C", "D" };

void trn_iofic_reset(TrnEngine *e)
{
    const TrnIofic reset = { .mask = UINT32_MAX, .abort_mask = UINT32_MAX };
    unsigned i;

    for (i = 0; i < TRN_IOFIC_NUM_PRIMARY; i++) {
        e->primary[i] = reset;
    }
    for (i = 0; i < TRN_IOFIC_NUM_SECONDARY; i++) {
        e->secondary[i] = reset;
    }
    for (i = 0; i < TRN_IOFIC_NUM_MASTERS; i++) {
        e->master[i] = reset;
    }
    memset(e->moderation, 0, sizeof(e->moderation));
}

/* Events of a primary group: each queue of B and C, the engine's errors of D */
static void iofic_send(TrnEngine *e, unsigned group, uint32_t bits)
{
    TrnIofic *g = &e->primary[group];
    uint32_t b;

    bits &= ~g->mask;
    if (!bits || (g->control & TRN_IOFIC_CTL_MASK_MSIX)) {
        return;
    }
    if (g->control & TRN_IOFIC_CTL_AUTO_CLEAR) {
        g->cause &= ~bits;
    }
    if (g->control & TRN_IOFIC_CTL_AUTO_MASK) {
        g->mask |= bits;
    }
    if (group == TRN_IOFIC_D) {
        trn_ext_event(e->dev, e->id, TRN_EXT_ROUTE_SLOT_ERROR);
        return;
    }
    for (b = bits & 0xffff; b; b &= b - 1) {
        trn_ext_event(e->dev, e->id, ctz32(b));
    }
}

static void iofic_raise(TrnEngine *e, unsigned group, uint32_t bits)
{
    TrnIofic *g = &e->primary[group];

    g->cause |= bits;
    trace_trn_iofic_cause(e->dev->routing_id, e->id, primary_name[group], bits,
                          g->cause, g->mask);
    if (group != TRN_IOFIC_A) {
        iofic_send(e, group, bits);
    }
}

void trn_iofic_queue(TrnEngine *e, unsigned q, TrnSide side)
{
    iofic_raise(e, side == TRN_S2M ? TRN_IOFIC_B : TRN_IOFIC_C,
                TRN_IOFIC_QUEUE(q));
}

void trn_iofic_error(TrnEngine *e, unsigned group, uint32_t cause)
{
    TrnIofic *g = &e->secondary[group];

    g->cause |= cause;
    trace_trn_iofic_cause(e->dev->routing_id, e->id, "secondary", cause,
                          g->cause, g->mask);
    if (cause & ~g->mask) {
        iofic_raise(e, TRN_IOFIC_D, TRN_IOFIC_D_M2S_ERROR << group);
    }
}

/* Primary A shows in bits 0..2 what of B, C and D is pending and unmasked. */
static uint32_t iofic_summary(TrnEngine *e)
{
    uint32_t bits = 0;
    unsigned g;

    for (g = TRN_IOFIC_B; g <= TRN_IOFIC_D; g++) {
        if (e->primary[g].cause & ~e->primary[g].mask) {
            bits |= 1u << (g - TRN_IOFIC_B);
        }
    }
    return bits;
}

/* The group at @offset, and which of the primary ones it is (-1: none) */
static TrnIofic *iofic_group(TrnEngine *e, uint32_t offset, int *primary)
{
    uint32_t n;

    *primary = -1;
    n = (offset - TRN_IOFIC_PRIMARY(0)) / TRN_IOFIC_GROUP_SIZE;
    if (offset >= TRN_IOFIC_PRIMARY(0) && n < TRN_IOFIC_NUM_PRIMARY) {
        *primary = n;
        return &e->primary[n];
    }
    n = (offset - TRN_IOFIC_SECONDARY(0)) / TRN_IOFIC_GROUP_SIZE;
    if (offset >= TRN_IOFIC_SECONDARY(0) && n < TRN_IOFIC_NUM_SECONDARY) {
        return &e->secondary[n];
    }
    n = (offset - TRN_IOFIC_MASTER(0)) / (TRN_IOFIC_MASTER(1) -
                                          TRN_IOFIC_MASTER(0));
    if (offset >= TRN_IOFIC_MASTER(0) && n < TRN_IOFIC_NUM_MASTERS &&
        offset - TRN_IOFIC_MASTER(n) < TRN_IOFIC_GROUP_SIZE) {
        return &e->master[n];
    }
    return NULL;
}

bool trn_iofic_read(TrnEngine *e, uint32_t offset, uint32_t *value)
{
    int primary;
    TrnIofic *g = iofic_group(e, offset, &primary);

    if (!g) {
        return false;
    }
    switch (offset % TRN_IOFIC_GROUP_SIZE) {
    case TRN_IOFIC_CAUSE:
        *value = g->cause;
        if (primary == TRN_IOFIC_A) {
            *value |= iofic_summary(e);
        }
        if (g->control & TRN_IOFIC_CTL_CLEAR_ON_READ) {
            g->cause = 0;
        }
        break;
    case TRN_IOFIC_MASK:
        *value = g->mask;
        break;
    case TRN_IOFIC_STATUS:
        *value = g->status;
        break;
    case TRN_IOFIC_CONTROL:
        *value = g->control;
        break;
    case TRN_IOFIC_ABORT_MASK:
        *value = g->abort_mask;
        break;
    case TRN_IOFIC_LOG_MASK:
        *value = g->log_mask;
        break;
    default:
        *value = 0;
    }
    return true;
}

static void iofic_unmasked(TrnEngine *e, TrnIofic *g, int primary,
                           uint32_t bits)
{
    bits &= g->cause;
    if (!bits) {
        return;
    }
    if (primary > TRN_IOFIC_A) {
        iofic_send(e, primary, bits);
    } else if (g >= e->secondary &&
               g < e->secondary + TRN_IOFIC_NUM_SECONDARY) {
        iofic_raise(e, TRN_IOFIC_D,
                    TRN_IOFIC_D_M2S_ERROR << (g - e->secondary));
    }
}

bool trn_iofic_write(TrnEngine *e, uint32_t offset, uint32_t value)
{
    int primary;
    TrnIofic *g = iofic_group(e, offset, &primary);
    uint32_t old;

    if (!g) {
        return false;
    }
    old = g->mask;
    switch (offset % TRN_IOFIC_GROUP_SIZE) {
    case TRN_IOFIC_CAUSE:
        g->cause &= value;
        break;
    case TRN_IOFIC_CAUSE_SET:
        if (primary >= 0) {
            iofic_raise(e, primary, value);
        } else if (g >= e->secondary &&
                   g < e->secondary + TRN_IOFIC_NUM_SECONDARY) {
            trn_iofic_error(e, g - e->secondary, value);
        } else {
            g->cause |= value;
        }
        break;
    case TRN_IOFIC_MASK:
        g->mask = value;
        iofic_unmasked(e, g, primary, old & ~value);
        break;
    case TRN_IOFIC_MASK_CLEAR:
        g->mask &= value;
        iofic_unmasked(e, g, primary, old & ~value);
        break;
    case TRN_IOFIC_CONTROL:
        g->control = value;
        break;
    case TRN_IOFIC_ABORT_MASK:
        g->abort_mask = value;
        break;
    case TRN_IOFIC_LOG_MASK:
        g->log_mask = value;
        break;
    default:
        break;
    }
    return true;
}
