/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Management firmware: MISC RAM, boot, and the reset handshake.
 *
 * The words of MISC RAM are those the public drivers read and write. Where
 * they only show the host's side, this is what the model does:
 *
 *  - Every word reads 0xdeadbeef while the firmware boots (fw-boot-ms after
 *    power-on) and from the doorbell of a device reset to its end
 *    (fw-reset-ms). Writes are lost then. The same word also has the "not
 *    ready" bit of the status register set.
 *  - A doorbell is looked at fw-message-us later. A reset request has
 *    precedence; a doorbell that carried one is not taken for a message too,
 *    because the mailbox words may be left over from an earlier owner.
 *  - During a core reset (fw-core-reset-ms) the RAM stays readable: the
 *    request word keeps its value, the status says not ready, and doorbells
 *    wait for the end.
 *  - A device reset clears the request and mailbox words and keeps all others:
 *    a pod's election result at 0x180..0x198 survives, as the public driver
 *    relies on. Only power-on (cold reset, FLR) clears the whole RAM.
 *  - Words the firmware owns are computed when read, so an idle chip has no
 *    timer running: power samples and heartbeat advance with virtual time.
 *
 * All delays are on the virtual clock: reproducible under -icount, stopped
 * while the guest is stopped, and part of the migration stream.
 */
#include "qemu/osdep.h"
#include "qemu/crc32c.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "system/system.h"
#include "fw.h"
#include "fault.h"
#include "trace.h"

#define TRN_POWER_SAMPLE_MS 50
#define TRN_HEARTBEAT_MS 100

/* How many chips of this process have a routing id; who waits for one. */
static unsigned routing_id_users[TRN_ROUTING_IDS];
static GPtrArray *routing_id_waiters;

static const char *const phase_names[TRN_FW_NUM_PHASES] = {
    [TRN_FW_BOOT] = "boot",
    [TRN_FW_IDLE] = "idle",
    [TRN_FW_RUNG] = "rung",
    [TRN_FW_RESET_START] = "reset-start",
    [TRN_FW_RESET] = "reset",
    [TRN_FW_CORE_RESET] = "core-reset",
};

const char *trn_fw_phase_name(unsigned phase)
{
    return phase < TRN_FW_NUM_PHASES ? phase_names[phase] : "?";
}

static uint32_t *trn_fw_word(TrnFw *fw, uint32_t offset)
{
    return &fw->ram[offset / 4];
}

static void trn_fw_set_phase(TrnFw *fw, TrnFwPhase phase, uint64_t delay_ns)
{
    trace_trn_fw_phase(fw->dev->routing_id, trn_fw_phase_name(fw->phase),
                       trn_fw_phase_name(phase));
    fw->phase = phase;
    if (phase == TRN_FW_IDLE) {
        timer_del(fw->timer);
    } else {
        timer_mod(fw->timer,
                  qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + delay_ns);
    }
}

static uint64_t trn_fw_delay_ns(TrnDevice *d, TrnFwProp p)
{
    return trn_fw_prop(d, p) * (p == TRN_FWP_MESSAGE_US ? SCALE_US : SCALE_MS);
}

/* --- Resets ------------------------------------------------------------- */

bool trn_fw_device_up(TrnDevice *d)
{
    return d->fw->phase != TRN_FW_RESET_START && d->fw->phase != TRN_FW_RESET;
}

static void trn_fw_reset_engines(TrnDevice *d, unsigned first, unsigned n)
{
    for (unsigned e = first; e < first + n && e < d->gen->num_engines; e++) {
        trn_udma_reset_engine(d, e);
        trn_sdma_reset_engine(d, e);
        trn_fault_cure(&d->engine[e], TRN_CURE_CORE);
    }
}

static void trn_fw_device_reset(TrnDevice *d)
{
    TrnFw *fw = d->fw;

    trn_udma_reset_all(d);
    for (unsigned e = 0; e < d->gen->num_engines; e++) {
        trn_sdma_reset_engine(d, e);
        trn_fault_cure(&d->engine[e], TRN_CURE_DEVICE);
    }
    for (unsigned c = 0; c < d->gen->num_cores; c++) {
        trn_tpb_reset_core(d, c);
    }
    for (unsigned n = 0; n < TRN_MAX_TOP_SP; n++) {
        trn_tpb_reset_top_sp(d, n);
    }

    *trn_fw_word(fw, TRN_MISC_RESET_MAP_HI) = 0;
    *trn_fw_word(fw, TRN_MISC_RESET_MAP) = 0;
    *trn_fw_word(fw, TRN_MISC_RESET) = 0;
    *trn_fw_word(fw, TRN_MISC_MBOX_ACK) = 0;
    memset(trn_fw_word(fw, TRN_MISC_MBOX_DATA), 0, TRN_MISC_MBOX_DATA_SIZE);
    memset(trn_fw_word(fw, TRN_MISC_REQUEST_HI), 0, 16);
    fw->features = 0;
    memset(fw->profile, 0, sizeof(fw->profile));
    fw->device_resets++;
    trn_fabric_reset(d, false);
}

/* Software's TOP_SPs of a die are the first ones of those in the map. */
static unsigned trn_fw_top_sp(const TrnGeneration *g, unsigned n)
{
    return n / g->used_top_sps_per_die * g->top_sps_per_die +
           n % g->used_top_sps_per_die;
}

/*
 * Map: 7:0 cores; 15:8 groups of 16 data engines, 23:16 pairs of TOP_SPs,
 * 31:24 collectives (nothing of it is modelled); 39:32 host engines. Trainium1
 * has one TOP_SP a bit in 13:8, and the data engines go with their core.
 */
static void trn_fw_core_reset(TrnDevice *d, uint64_t map)
{
    const TrnGeneration *g = d->gen;

    for (unsigned i = 0; i < 8; i++) {
        if (extract64(map, TRN2_RESET_MAP_TPB_SHIFT + i, 1) &&
            i < g->num_cores) {
            trn_tpb_reset_core(d, i);
        }
        if (extract64(map, g->reset_dma_shift + i, 1) &&
            i * TRN_ENGINES_PER_CORE < g->num_data_engines) {
            trn_fw_reset_engines(d, i * TRN_ENGINES_PER_CORE,
                                 TRN_ENGINES_PER_CORE);
        }
        if (extract64(map, g->reset_top_sp_shift + i, 1)) {
            for (unsigned n = 0; n < g->reset_top_sps; n++) {
                trn_tpb_reset_top_sp(d, trn_fw_top_sp(g, i * g->reset_top_sps +
                                                      n));
            }
        }
        if (extract64(map, TRN2_RESET_MAP_HOST_SHIFT + i, 1)) {
            trn_fw_reset_engines(d, g->num_data_engines + i, 1);
        }
    }
    d->fw->core_resets++;
}

/* --- Doorbell and phases -------------------------------------------------- */

/* Firmware with the in-RAM mailbox clears the doorbell when it is done. */
static void trn_fw_ack_doorbell(TrnDevice *d)
{
    if (!d->fw->rung &&
        trn_fw_prop(d, TRN_FWP_API_VERSION) >= TRN_FW_API_MAILBOX) {
        d->fw->doorbell = 0;
    }
}

static void trn_fw_look(TrnDevice *d)
{
    TrnFw *fw = d->fw;
    uint32_t request = *trn_fw_word(fw, TRN_MISC_RESET);

    if (request && !trn_fw_prop(d, TRN_FWP_IGNORE_RESET)) {
        switch (request) {
        case TRN_RESET_DEVICE:
            trn_fw_set_phase(fw, TRN_FW_RESET_START, 0);
            return;
        case TRN_RESET_CORE: {
            uint64_t map = *trn_fw_word(fw, TRN_MISC_RESET_MAP) |
                (uint64_t)*trn_fw_word(fw, TRN_MISC_RESET_MAP_HI) << 32;

            if (fw->rung) {
                fw->rung--;
            }
            fw->reset_rewritten = 0;
            trn_fw_ack_doorbell(d);
            trace_trn_fw_core_reset(d->routing_id, map);
            trn_fw_core_reset(d, map);
            trn_fw_set_phase(fw, TRN_FW_CORE_RESET,
                             trn_fw_delay_ns(d, TRN_FWP_CORE_RESET_MS));
            return;
        }
        default:
            qemu_log_mask(LOG_GUEST_ERROR, "trainium: reset request 0x%x is "
                          "neither device nor cores\n", request);
        }
    }
    trn_fw_set_phase(fw, TRN_FW_IDLE, 0);
    if (!trn_fw_prop(d, TRN_FWP_IGNORE_MESSAGES)) {
        fw->rung = 0;
        trn_fw_mailbox(d);
        trn_fw_ack_doorbell(d);
    }
}

static void trn_fw_timer(void *opaque)
{
    TrnFw *fw = opaque;
    TrnDevice *d = fw->dev;
    /* An answer may be written to where the chip's power is switched off. */
    g_autoptr(Object) hold = object_ref(OBJECT(d));

    if (trn_fw_prop(d, TRN_FWP_DEAD)) {
        return;                 /* goes on when the property is cleared */
    }
    switch (fw->phase) {
    case TRN_FW_BOOT:
        trn_fw_set_phase(fw, TRN_FW_IDLE, 0);
        trn_ext_event(d, TRN_EXT_ENGINE_DEVICE, TRN_EXT_DEVICE_SLOT_READY);
        break;
    case TRN_FW_RUNG:
        trn_fw_look(d);
        break;
    case TRN_FW_RESET_START:
        trn_fw_set_phase(fw, TRN_FW_RESET,
                         trn_fw_delay_ns(d, TRN_FWP_RESET_MS));
        fw->rung = 0;
        fw->doorbell = 0;
        trn_fw_device_reset(d);
        break;
    case TRN_FW_RESET:
        trn_fw_set_phase(fw, TRN_FW_IDLE, 0);
        trn_ext_event(d, TRN_EXT_ENGINE_DEVICE, TRN_EXT_DEVICE_SLOT_READY);
        break;
    case TRN_FW_CORE_RESET:
        if (!fw->reset_rewritten) {
            *trn_fw_word(fw, TRN_MISC_RESET) = 0;
        }
        trn_fw_set_phase(fw, fw->rung ? TRN_FW_RUNG : TRN_FW_IDLE, 0);
        trn_ext_event(d, TRN_EXT_ENGINE_DEVICE, TRN_EXT_DEVICE_SLOT_READY);
        break;
    default:
        break;
    }
}

static void trn_fw_doorbell(TrnDevice *d)
{
    TrnFw *fw = d->fw;

    if (fw->rung < UINT8_MAX) {
        fw->rung++;
    }
    if (fw->phase != TRN_FW_IDLE && fw->phase != TRN_FW_RUNG) {
        return;
    }
    if (*trn_fw_word(fw, TRN_MISC_RESET) == TRN_RESET_DEVICE &&
        !trn_fw_prop(d, TRN_FWP_IGNORE_RESET)) {
        /*
         * The rest is done from the timer: the doorbell may have been written
         * by one of the engines that the reset stops.
         */
        trn_fw_set_phase(fw, TRN_FW_RESET_START, 0);
    } else if (fw->phase == TRN_FW_IDLE) {
        trn_fw_set_phase(fw, TRN_FW_RUNG,
                         trn_fw_delay_ns(d, TRN_FWP_MESSAGE_US));
    }
}

/* --- Words ---------------------------------------------------------------- */

bool trn_fw_answers(TrnDevice *d)
{
    return !trn_fw_prop(d, TRN_FWP_DEAD) && d->fw->phase != TRN_FW_BOOT &&
           trn_fw_device_up(d);
}

static uint32_t trn_fw_hbm_ecc(TrnDevice *d, unsigned stack)
{
    uint64_t corrected = trn_fw_prop(d, TRN_FWP_HBM_CORRECTED + stack);
    uint64_t uncorrected = trn_fw_prop(d, TRN_FWP_HBM_UNCORRECTED + stack);
    uint64_t repairable = trn_fw_prop(d, TRN_FWP_HBM_REPAIRABLE + stack);

    if (trn_fw_prop(d, TRN_FWP_API_VERSION) >= TRN_FW_API_ECC_SPLIT) {
        return corrected << 16 | MIN(uncorrected, 0xf) << 12 |
               MIN(repairable, 0xfff);
    }
    return corrected << 16 | MIN(uncorrected + repairable, 0xffff);
}

/* An id with its "valid" bit in bit 15 */
static uint32_t trn_fw_id(TrnDevice *d, TrnFwProp p)
{
    uint64_t id = trn_fw_prop(d, p);

    return id == UINT32_MAX ? 0 : id | 1u << 15;
}

static uint32_t trn_fw_ticks(unsigned period_ms)
{
    return qemu_clock_get_ms(QEMU_CLOCK_VIRTUAL) / period_ms;
}

static uint32_t trn_fw_power(TrnDevice *d, unsigned die)
{
    if (trn_fw_prop(d, TRN_FWP_API_VERSION) < TRN_FW_API_POWER ||
        die >= d->gen->num_dies) {
        return 0;
    }
    return trn_fw_ticks(TRN_POWER_SAMPLE_MS) << TRN_POWER_COUNT_SHIFT |
           trn_fw_prop(d, TRN_FWP_POWER + die);
}

/* True when the word is the firmware's own: computed here, read-only. */
static bool trn_fw_own_word(TrnDevice *d, uint32_t offset, uint32_t *value)
{
    TrnFw *fw = d->fw;
    uint64_t api = trn_fw_prop(d, TRN_FWP_API_VERSION);
    uint64_t v = 0;

    switch (offset) {
    case TRN_MISC_API_VERSION:
        v = api;
        break;
    case TRN_MISC_HEALTH:
        v = api >= TRN_FW_API_ECC_SPLIT ? trn_fw_prop(d, TRN_FWP_HEALTH) : 0;
        break;
    case TRN_MISC_HEALTH_SEQ:
        if (api >= TRN_FW_API_ECC_SPLIT) {
            v = ((trn_fw_ticks(TRN_HEARTBEAT_MS) << TRN_HEALTH_HEARTBEAT_SHIFT) &
                 TRN_HEALTH_HEARTBEAT_MASK) | (fw->health_seq & 0xfff);
        }
        break;
    case TRN_MISC_ROUTING_ID:
        v = d->routing_id;
        break;
    case TRN_MISC_INSTANCE:
        v = trn_fw_prop(d, TRN_FWP_INSTANCE_SIZE);
        if (trn_fw_prop(d, TRN_FWP_PARTITION_SIZE)) {
            v |= 1u << 31 | trn_fw_prop(d, TRN_FWP_PARTITION_SIZE) << 16;
        }
        break;
    case TRN_MISC_SERIAL_LO:
        v = (uint32_t)d->serial;
        break;
    case TRN_MISC_SERIAL_HI:
        v = d->serial >> 32;
        break;
    case TRN_MISC_SRAM_ECC:
        v = trn_fw_prop(d, TRN_FWP_SRAM_CORRECTED) << 16 |
            trn_fw_prop(d, TRN_FWP_SRAM_UNCORRECTED);
        break;
    case TRN_MISC_HBM_ECC(0) ... TRN_MISC_HBM_ECC(3):
        v = trn_fw_hbm_ecc(d, (offset - TRN_MISC_HBM_ECC(0)) / 4);
        break;
    case TRN_MISC_HBM_ECC(4) ... TRN_MISC_HBM_ECC(7):
        if (d->gen->num_stacks <= 4) {
            return false;
        }
        v = trn_fw_hbm_ecc(d, 4 + (offset - TRN_MISC_HBM_ECC(4)) / 4);
        break;
    case TRN_MISC_POWER(0) ... TRN_MISC_POWER(1):
        v = trn_fw_power(d, (offset - TRN_MISC_POWER(0)) / 4);
        break;
    case TRN_MISC_POWER(2) ... TRN_MISC_POWER(3):
        if (d->gen->num_dies <= 2) {
            return false;
        }
        v = trn_fw_power(d, 2 + (offset - TRN_MISC_POWER(2)) / 4);
        break;
    case TRN_MISC_HBM_REPAIR:
        v = trn_fw_prop(d, TRN_FWP_HBM_REPAIR_STATE);
        break;
    case TRN_MISC_SERVER_ID:
        v = trn_fw_id(d, TRN_FWP_SERVER_ID) | trn_fw_id(d, TRN_FWP_RACK_ID) << 16;
        break;
    case TRN_MISC_FW_BUILD:
        v = trn_fw_prop(d, TRN_FWP_BUILD);
        break;
    case TRN_MISC_RESERVATION_HI:
        v = trn_fw_prop(d, TRN_FWP_RESERVATION_ID) >> 32;
        break;
    case TRN_MISC_RESERVATION_LO:
        v = (uint32_t)trn_fw_prop(d, TRN_FWP_RESERVATION_ID);
        break;
    case TRN_MISC_STATUS:
        v = fw->phase == TRN_FW_CORE_RESET || trn_fw_prop(d, TRN_FWP_NOT_READY) ?
            TRN_STATUS_NOT_READY : 0;
        break;
    default:
        return false;
    }
    *value = v;
    return true;
}

static uint32_t trn_fw_read_word(TrnDevice *d, uint32_t offset)
{
    TrnFw *fw = d->fw;
    uint32_t value;

    for (unsigned i = 0; i < d->fw_props.num_overrides; i++) {
        if (d->fw_props.override[i].offset == offset) {
            return d->fw_props.override[i].value;
        }
    }
    if (!trn_fw_answers(d)) {
        return TRN_MISC_NOT_READY;
    }
    if (trn_fw_own_word(d, offset, &value)) {
        return value;
    }
    if (offset == TRN_MISC_DOORBELL) {
        return fw->doorbell;
    }
    return offset < TRN_FW_RAM_SIZE ? *trn_fw_word(fw, offset) : 0;
}

uint32_t trn_fw_read(TrnDevice *d, unsigned index, uint32_t offset)
{
    uint32_t value = trn_fw_read_word(d, offset & ~3u);

    trace_trn_fw_read(d->routing_id, offset, value);
    return value;
}

void trn_fw_write(TrnDevice *d, unsigned index, uint32_t offset, uint32_t value)
{
    TrnFw *fw = d->fw;
    uint32_t own;

    offset &= ~3u;
    trace_trn_fw_write(d->routing_id, offset, value);
    if (!trn_fw_answers(d)) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: MISC RAM 0x%x written while "
                      "the firmware is not ready\n", offset);
        return;
    }
    if (trn_fw_own_word(d, offset, &own)) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: MISC RAM 0x%x belongs to the "
                      "firmware\n", offset);
        return;
    }
    if (offset == TRN_MISC_DOORBELL) {
        fw->doorbell = value;
        if (value & 1) {
            trn_fw_doorbell(d);
        }
        return;
    }
    if (offset >= TRN_FW_RAM_SIZE) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: no MISC RAM at 0x%x\n", offset);
        return;
    }
    *trn_fw_word(fw, offset) = value;
    if (offset == TRN_MISC_RESET) {
        fw->reset_rewritten = 1;
    }
}

/* To each core's first throttling ring, if the feature is on */
static void trn_fw_throttle_notice(TrnDevice *d)
{
    for (unsigned c = 0; c < d->gen->num_cores; c++) {
        const uint32_t entry[4] = {
            TRN_NQ_THROTTLE << 24 | c, trn_fw_prop(d, TRN_FWP_THROTTLE),
        };

        trn_notific_post(d, &d->core[c].notific, TRN_NQ_THROTTLE * 16, entry);
    }
}

void trn_fw_prop_changed(TrnDevice *d, TrnFwProp p)
{
    TrnFw *fw = d->fw;

    if (!fw) {
        return;                 /* before realize */
    }
    if (p < TRN_FWP_NUM_TELEMETRY) {
        if (p == TRN_FWP_HEALTH) {
            fw->health_seq++;
        }
        if (trn_fw_answers(d)) {
            if (p == TRN_FWP_THROTTLE &&
                (fw->features & TRN_MSG_FEATURE_THROTTLE)) {
                trn_fw_throttle_notice(d);
            }
            trn_ext_event(d, TRN_EXT_ENGINE_DEVICE, TRN_EXT_DEVICE_SLOT_HEALTH);
        }
        return;
    }
    /* What was held up by a fault goes on. */
    if (fw->phase != TRN_FW_IDLE && p == TRN_FWP_DEAD) {
        if (!timer_pending(fw->timer)) {
            trn_fw_set_phase(fw, fw->phase, 0);
        }
    } else if (fw->phase == TRN_FW_IDLE && fw->rung) {
        trn_fw_set_phase(fw, TRN_FW_RUNG, 0);
    }
}

void trn_fw_count_ecc(TrnDevice *d, unsigned stack, bool uncorrected)
{
    TrnFwProp p = (uncorrected ? TRN_FWP_HBM_REPAIRABLE : TRN_FWP_HBM_CORRECTED) +
                  stack;

    if (d->fw_props.v[p] < trn_fw_prop_max(p)) {
        d->fw_props.v[p]++;
        trn_fw_prop_changed(d, p);
    }
}

/* --- Life cycle ------------------------------------------------------------ */

/*
 * A chip without a routing id gets one at the first reset, when all chips of
 * the command line have taken theirs: in their order, the lowest free one.
 */
static bool trn_fw_want_routing_id(TrnDevice *d, Error **errp)
{
    if (d->routing_id == UINT32_MAX) {
        unsigned taken = 0;

        for (unsigned i = 0; i < TRN_ROUTING_IDS; i++) {
            taken += !!routing_id_users[i];
        }
        if (!routing_id_waiters) {
            routing_id_waiters = g_ptr_array_new();
        }
        if (taken + routing_id_waiters->len >= TRN_ROUTING_IDS) {
            error_setg(errp, "all %u routing ids are taken", TRN_ROUTING_IDS);
            return false;
        }
        g_ptr_array_add(routing_id_waiters, d);
        return true;
    }
    if (d->routing_id >= TRN_ROUTING_IDS) {
        error_setg(errp, "routing-id has to be 0..%u", TRN_ROUTING_IDS - 1);
        return false;
    }
    /* The nodes of an UltraServer count from 0 each. */
    if (routing_id_users[d->routing_id]++ && !d->fab) {
        warn_report("routing-id %u is used by more than one chip",
                    d->routing_id);
    }
    return true;
}

/* Different for chips of a machine and for machines with a UUID of their own. */
static uint64_t trn_fw_default_serial(TrnDevice *d)
{
    uint32_t hi = 0x54524e00 | d->gen->number;

    if (qemu_uuid_set) {
        hi ^= crc32c(0xffffffff, (const uint8_t *)&qemu_uuid,
                     sizeof(qemu_uuid)) & 0xffffff;
    }
    return (uint64_t)hi << 32 |
           (0x10000u + (d->fab ? d->fabric_id : d->routing_id));
}

static void trn_fw_assign_ids(void)
{
    while (routing_id_waiters && routing_id_waiters->len) {
        TrnDevice *d = g_ptr_array_index(routing_id_waiters, 0);
        unsigned id = 0;

        while (id < TRN_ROUTING_IDS - 1 && routing_id_users[id]) {
            id++;
        }
        if (routing_id_users[id]++) {
            warn_report("no routing id is left, %u is used twice", id);
        }
        d->routing_id = id;
        g_ptr_array_remove_index(routing_id_waiters, 0);
    }
}

bool trn_fw_init(TrnDevice *d, Error **errp)
{
    TrnFw *fw;

    if (!trn_fw_want_routing_id(d, errp)) {
        return false;
    }
    fw = g_new0(TrnFw, 1);
    fw->dev = d;
    fw->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, trn_fw_timer, fw);
    fw->energy_at_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    d->fw = fw;
    return true;
}

void trn_fw_exit(TrnDevice *d)
{
    if (!d->fw) {
        return;
    }
    timer_del(d->fw->timer);
    if (d->routing_id < TRN_ROUTING_IDS) {
        routing_id_users[d->routing_id]--;
    } else {
        g_ptr_array_remove(routing_id_waiters, d);
    }
}

void trn_fw_finalize(TrnDevice *d)
{
    if (d->fw) {
        timer_free(d->fw->timer);
        g_clear_pointer(&d->fw, g_free);
    }
}

void trn_fw_reset(TrnDevice *d)
{
    TrnFw *fw = d->fw;

    trn_fw_assign_ids();
    if (!d->serial) {
        d->serial = trn_fw_default_serial(d);
    }
    memset(fw->ram, 0, sizeof(fw->ram));
    memset(fw->profile, 0, sizeof(fw->profile));
    fw->rung = 0;
    fw->doorbell = 0;
    fw->reset_rewritten = 0;
    fw->features = 0;
    fw->messages = fw->failed_messages = fw->crc_errors = fw->metrics = 0;
    fw->device_resets = fw->core_resets = 0;
    trn_fw_set_phase(fw, TRN_FW_BOOT, trn_fw_delay_ns(d, TRN_FWP_BOOT_MS));
}

/* --- Migration ------------------------------------------------------------- */

static int trn_fw_pre_save(void *opaque)
{
    TrnFw *fw = opaque;

    trn_sensor_count_energy(fw->dev);
    memcpy(fw->telemetry, fw->dev->fw_props.v, sizeof(fw->telemetry));
    fw->routing_id = fw->dev->routing_id;
    fw->serial = fw->dev->serial;
    return 0;
}

static int trn_fw_post_load(void *opaque, int version_id)
{
    TrnFw *fw = opaque;

    if (fw->routing_id != fw->dev->routing_id ||
        fw->serial != fw->dev->serial) {
        error_report("trainium: the chip has routing-id %u, serial 0x%" PRIx64
                     " here, but %u and 0x%" PRIx64 " in the incoming state",
                     fw->dev->routing_id, fw->dev->serial, fw->routing_id,
                     fw->serial);
        return -EINVAL;
    }
    if (fw->phase >= TRN_FW_NUM_PHASES || fw->rung > UINT8_MAX) {
        return -EINVAL;
    }
    for (unsigned p = 0; p < TRN_FWP_NUM_TELEMETRY; p++) {
        if (fw->telemetry[p] > trn_fw_prop_max(p)) {
            return -EINVAL;
        }
        fw->dev->fw_props.v[p] = fw->telemetry[p];
    }
    if (fw->phase == TRN_FW_IDLE) {
        timer_del(fw->timer);
    } else if (!timer_pending(fw->timer)) {
        /* Held up by a fault of the other side, which does not migrate. */
        trn_fw_set_phase(fw, fw->phase, 0);
    }
    return 0;
}

const VMStateDescription vmstate_trn_fw = {
    .name = "trainium/fw",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_save = trn_fw_pre_save,
    .post_load = trn_fw_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(routing_id, TrnFw),
        VMSTATE_UINT64(serial, TrnFw),
        VMSTATE_TIMER_PTR(timer, TrnFw),
        VMSTATE_UINT32_ARRAY(ram, TrnFw, TRN_FW_RAM_SIZE / 4),
        VMSTATE_UINT32(phase, TrnFw),
        VMSTATE_UINT32(rung, TrnFw),
        VMSTATE_UINT32(doorbell, TrnFw),
        VMSTATE_UINT32(reset_rewritten, TrnFw),
        VMSTATE_UINT32(health_seq, TrnFw),
        VMSTATE_UINT32(features, TrnFw),
        VMSTATE_UINT8_ARRAY(profile, TrnFw, 4),
        VMSTATE_UINT64(messages, TrnFw),
        VMSTATE_UINT64(failed_messages, TrnFw),
        VMSTATE_UINT64(crc_errors, TrnFw),
        VMSTATE_UINT64(metrics, TrnFw),
        VMSTATE_UINT64(device_resets, TrnFw),
        VMSTATE_UINT64(core_resets, TrnFw),
        VMSTATE_UINT64(energy_uj, TrnFw),
        VMSTATE_INT64(energy_at_ns, TrnFw),
        VMSTATE_UINT32(energy_hi_latch, TrnFw),
        VMSTATE_UINT64_SUB_ARRAY(telemetry, TrnFw, 0, TRN_FWP_NUM_TELEMETRY),
        VMSTATE_END_OF_LIST()
    },
};
