/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Management firmware, shared by fw.c (MISC RAM, boot, reset), fw-mbox.c
 * (messages), fw-props.c (telemetry and faults), sensors.c and hmp.c.
 */
#ifndef HW_TRAINIUM_FW_H
#define HW_TRAINIUM_FW_H

#include "trainium.h"
#include "qemu/timer.h"

/* Words below this offset are RAM; above are the doorbell and the status. */
#define TRN_FW_RAM_SIZE TRN_MISC_DOORBELL

typedef enum TrnFwPhase {
    TRN_FW_BOOT,                /* all words read as not ready */
    TRN_FW_IDLE,
    TRN_FW_RUNG,                /* doorbell seen, not yet looked at */
    TRN_FW_RESET_START,         /* device reset asked for, engines still to stop */
    TRN_FW_RESET,               /* in device reset */
    TRN_FW_CORE_RESET,
    TRN_FW_NUM_PHASES,
} TrnFwPhase;

struct TrnFw {
    TrnDevice *dev;
    QEMUTimer *timer;           /* virtual clock; ends the phase */
    uint32_t ram[TRN_FW_RAM_SIZE / 4];
    uint32_t phase;
    uint32_t rung;              /* doorbells not yet handled */
    uint32_t doorbell;          /* as read back */
    uint32_t reset_rewritten;   /* request word written during a core reset */
    uint32_t health_seq;        /* changes of the health word */
    uint32_t features;          /* command 5 */
    uint8_t profile[4];         /* command 3: profile, voltage, frequency, overclock */
    /* since the cold reset */
    uint64_t messages, failed_messages, crc_errors, metrics;
    uint64_t device_resets, core_resets;
    /* sensors.c: since the chip was made */
    uint64_t energy_uj;
    int64_t energy_at_ns;       /* up to when that was counted */
    uint32_t energy_hi_latch;
    /* migration only */
    uint32_t routing_id;
    uint64_t serial;
    uint64_t telemetry[TRN_FW_MAX_PROPS];
};

/* Order matters: all before TRN_FWP_NUM_TELEMETRY is what migrates. */
typedef enum TrnFwProp {
    TRN_FWP_SRAM_CORRECTED,
    TRN_FWP_SRAM_UNCORRECTED,
    TRN_FWP_HBM_CORRECTED,      /* one each for every stack */
    TRN_FWP_HBM_UNCORRECTED = TRN_FWP_HBM_CORRECTED + TRN_MAX_STACKS,
    TRN_FWP_HBM_REPAIRABLE = TRN_FWP_HBM_UNCORRECTED + TRN_MAX_STACKS,
    TRN_FWP_HBM_REPAIR_STATE = TRN_FWP_HBM_REPAIRABLE + TRN_MAX_STACKS,
    TRN_FWP_HEALTH,
    TRN_FWP_POWER,              /* one each for every die */
    TRN_FWP_THROTTLE = TRN_FWP_POWER + TRN_MAX_DIES,
    TRN_FWP_TEMP_DIE,           /* one each for every die */
    TRN_FWP_TEMP_HBM = TRN_FWP_TEMP_DIE + TRN_MAX_DIES, /* for every stack */
    TRN_FWP_NUM_TELEMETRY = TRN_FWP_TEMP_HBM + TRN_MAX_STACKS,

    TRN_FWP_API_VERSION = TRN_FWP_NUM_TELEMETRY,
    TRN_FWP_BUILD,
    TRN_FWP_SERVER_ID,
    TRN_FWP_RACK_ID,
    TRN_FWP_INSTANCE_SIZE,
    TRN_FWP_PARTITION_SIZE,
    TRN_FWP_RESERVATION_ID,
    TRN_FWP_BOOT_MS,
    TRN_FWP_RESET_MS,
    TRN_FWP_CORE_RESET_MS,
    TRN_FWP_MESSAGE_US,

    TRN_FWP_DEAD,
    TRN_FWP_DEAD_AFTER,
    TRN_FWP_NOT_READY,
    TRN_FWP_IGNORE_RESET,
    TRN_FWP_IGNORE_MESSAGES,
    TRN_FWP_ERROR,
    TRN_FWP_CRC_CORRUPT,
    TRN_FWP_COUNT,
} TrnFwProp;

QEMU_BUILD_BUG_ON(TRN_FWP_COUNT > TRN_FW_MAX_PROPS);

static inline uint64_t trn_fw_prop(const TrnDevice *d, TrnFwProp p)
{
    return d->fw_props.v[p];
}

/* fw-props.c */
uint64_t trn_fw_prop_max(TrnFwProp p);

/* fw.c */
void trn_fw_prop_changed(TrnDevice *d, TrnFwProp p);
const char *trn_fw_phase_name(unsigned phase);
/* Does it answer the host, or does it boot, reset the device, or hang? */
bool trn_fw_answers(TrnDevice *d);

/* sensors.c */
uint32_t trn_sensor_read(TrnDevice *d, uint32_t offset);
/* Before the power changes, and before its state is saved */
void trn_sensor_count_energy(TrnDevice *d);

/* fw-mbox.c: answers what is in either mailbox; bounded work. */
void trn_fw_mailbox(TrnDevice *d);

#endif
