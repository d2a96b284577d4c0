/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sits beside the UDMA of an engine: the SDMA wrapper and, for data
 * engines, the FIS block (a fabric interrupt summary with the layout of the
 * UDMA's interrupt groups). The public drivers write configuration there and
 * mask interrupts; no effect of it is known, so registers keep what was
 * written. The modelled time of the engine is this project's own addition.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/log.h"
#include "fault.h"

static uint32_t *trn_sdma_reg(TrnDevice *d, unsigned engine, uint32_t offset)
{
    TrnEngine *e = &d->engine[engine];

    if (offset / 4 >= ARRAY_SIZE(e->sdma)) {
        return NULL;
    }
    return &e->sdma[offset / 4];
}

uint32_t trn_sdma_read(TrnDevice *d, unsigned engine, uint32_t offset)
{
    uint32_t *reg = trn_sdma_reg(d, engine, offset);

    if (offset == TRN_SDMA_TIME_LO && d->ext) {
        TrnEngine *e = &d->engine[engine];
        uint64_t now = d->fab ? e->now_ns : e->busy_until_ns;

        *trn_sdma_reg(d, engine, TRN_SDMA_TIME_HI) = now >> 32;
        return now;
    }
    return reg ? *reg : 0;
}

void trn_sdma_write(TrnDevice *d, unsigned engine, uint32_t offset,
                    uint32_t value)
{
    uint32_t *reg = trn_sdma_reg(d, engine, offset);

    if (!reg) {
        qemu_log_mask(LOG_UNIMP, "trainium: engine %u has no SDMA register "
                      "0x%x\n", engine, offset);
        return;
    }
    *reg = value;
    /* The last step of an engine's initialisation */
    if (offset == TRN_SDMA_EVENT_ACCEL && (value & 1)) {
        trn_fault_cure(&d->engine[engine], TRN_CURE_ENGINE);
    }
}

static uint32_t *trn_fis_reg(TrnDevice *d, unsigned engine, uint32_t offset)
{
    TrnEngine *e = &d->engine[engine];

    if (engine >= d->gen->num_data_engines || offset / 4 >= ARRAY_SIZE(e->fis)) {
        return NULL;
    }
    return &e->fis[offset / 4];
}

uint32_t trn_fis_read(TrnDevice *d, unsigned engine, uint32_t offset)
{
    uint32_t *reg = trn_fis_reg(d, engine, offset);

    return reg ? *reg : 0;
}

void trn_fis_write(TrnDevice *d, unsigned engine, uint32_t offset,
                   uint32_t value)
{
    uint32_t *reg = trn_fis_reg(d, engine, offset);

    if (!reg) {
        qemu_log_mask(LOG_UNIMP, "trainium: engine %u has no FIS register "
                      "0x%x\n", engine, offset);
        return;
    }
    *reg = value;
}

void trn_sdma_reset_engine(TrnDevice *d, unsigned engine)
{
    TrnEngine *e = &d->engine[engine];

    /* Memory that was never written stays uncommitted. */
    if (!buffer_is_zero(e->sdma, sizeof(e->sdma))) {
        memset(e->sdma, 0, sizeof(e->sdma));
    }
    if (!buffer_is_zero(e->fis, sizeof(e->fis))) {
        memset(e->fis, 0, sizeof(e->fis));
    }
    trn_notific_reset(&e->notific);
}
