/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sensors of the firmware in the extension BAR: power, energy, temperatures,
 * throttling. Public drivers show a share of the maximum power only (the words
 * of MISC RAM), so layout and figures are this project's own:
 * driver/regs/ext.h, Documentation/hardware/extension.rst.
 *
 * A die takes IDLE_MW and, of what is left to MAX_MW, the share that its power
 * property says. Energy is that over virtual time, from the start of the chip
 * on and through all resets. Nothing here knows what the engines do.
 */
#include "qemu/osdep.h"
#include "fw.h"

#define IDLE_MW 50000
#define MAX_MW 250000
#define TEMP_MAX 95000
#define TEMP_CRIT 105000

static uint32_t power_mw(TrnDevice *d)
{
    uint64_t mw = 0;

    for (unsigned die = 0; die < d->gen->num_dies; die++) {
        uint64_t share = MIN(trn_fw_prop(d, TRN_FWP_POWER + die), 10000);

        mw += IDLE_MW + (MAX_MW - IDLE_MW) * share / 10000;
    }
    return mw;
}

void trn_sensor_count_energy(TrnDevice *d)
{
    TrnFw *fw = d->fw;
    int64_t now, us;

    if (!fw) {
        return;                 /* before realize */
    }
    now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    us = (now - fw->energy_at_ns) / SCALE_US;
    if (us > 0) {
        fw->energy_uj += muldiv64(us, power_mw(d), 1000);
        fw->energy_at_ns += us * SCALE_US;
    }
}

static uint32_t temperature(TrnDevice *d, unsigned i)
{
    if (i < d->gen->num_dies) {
        return trn_fw_prop(d, TRN_FWP_TEMP_DIE + i);
    }
    i -= d->gen->num_dies;
    return i < d->gen->num_stacks ? trn_fw_prop(d, TRN_FWP_TEMP_HBM + i)
                                  : TRN_EXT_SENSOR_NONE;
}

uint32_t trn_sensor_read(TrnDevice *d, uint32_t offset)
{
    TrnFw *fw = d->fw;

    switch (offset) {
    case TRN_EXT_SENSOR_COUNT:
        return d->gen->num_dies | d->gen->num_stacks << 8;
    case TRN_EXT_POWER_MAX:
        return d->gen->num_dies * MAX_MW;
    case TRN_EXT_TEMP_MAX:
        return TEMP_MAX;
    case TRN_EXT_TEMP_CRIT:
        return TEMP_CRIT;
    case TRN_EXT_ENERGY_LO:
        trn_sensor_count_energy(d);
        fw->energy_hi_latch = fw->energy_uj / 1000 >> 32;
        return fw->energy_uj / 1000;
    case TRN_EXT_ENERGY_HI:
        return fw->energy_hi_latch;
    case TRN_EXT_POWER:
        return trn_fw_answers(d) ? power_mw(d) : TRN_EXT_SENSOR_NONE;
    case TRN_EXT_THROTTLE:
        return trn_fw_answers(d) ? trn_fw_prop(d, TRN_FWP_THROTTLE)
                                 : TRN_EXT_SENSOR_NONE;
    }
    if (offset >= TRN_EXT_TEMP(0)) {
        return trn_fw_answers(d) ? temperature(d, (offset - TRN_EXT_TEMP(0)) / 4)
                                 : TRN_EXT_SENSOR_NONE;
    }
    return 0;
}
