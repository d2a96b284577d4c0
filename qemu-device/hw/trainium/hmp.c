/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a chip as text, for people.
 *
 * QEMU's table of "info" commands is compiled into the monitor and cannot be
 * extended by a device, so the text is to be had where devices can add to the
 * monitor without a change of QEMU:
 *
 *   (qemu) info pic                       every chip, after the machine's
 *                                         interrupt controllers
 *   (qemu) qom-get /machine/peripheral/chip0 engine-state
 *   { "execute": "x-query-interrupt-controllers" }
 *   { "execute": "qom-get", "arguments": { "property": "engine-state",
 *     "path": "/machine/peripheral/chip0" } }
 *
 * Only engines that were used since their reset, and their used queues, are
 * listed.
 */
#include "qemu/osdep.h"
#include "hw/intc/intc.h"
#include "fw.h"
#include "udma.h"

static const char *trn_hmp_state(uint32_t state)
{
    static const char *const names[] = {
        [TRN_UDMA_STATE_IDLE] = "idle",
        [TRN_UDMA_STATE_NORMAL] = "normal",
        [TRN_UDMA_STATE_ABORT] = "abort",
    };

    return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static void trn_hmp_firmware(TrnDevice *d, GString *s)
{
    TrnFw *fw = d->fw;

    g_string_append_printf(s, "  firmware: %s%s, API version %" PRIu64 ", "
                           "%" PRIu64 " messages (%" PRIu64 " failed, "
                           "%" PRIu64 " with bad CRC), resets: %" PRIu64
                           " device, %" PRIu64 " core\n",
                           trn_fw_phase_name(fw->phase),
                           trn_fw_prop(d, TRN_FWP_DEAD) ? " (dead)" : "",
                           trn_fw_prop(d, TRN_FWP_API_VERSION), fw->messages,
                           fw->failed_messages, fw->crc_errors,
                           fw->device_resets, fw->core_resets);
    g_string_append_printf(s, "  health 0x%" PRIx64 ", uncorrected ECC errors: "
                           "SRAM %" PRIu64,
                           trn_fw_prop(d, TRN_FWP_HEALTH),
                           trn_fw_prop(d, TRN_FWP_SRAM_UNCORRECTED));
    for (unsigned i = 0; i < d->gen->num_stacks; i++) {
        g_string_append_printf(s, ", HBM%u %" PRIu64, i,
                               trn_fw_prop(d, TRN_FWP_HBM_UNCORRECTED + i));
    }
    g_string_append_c(s, '\n');
}

static void trn_hmp_ring(const TrnRing *r, const char *name, GString *s)
{
    g_string_append_printf(s, " %s at 0x%" PRIx64 " head %u tail %u of %u,",
                           name, r->base, r->head, r->tail, r->len);
}

static void trn_hmp_notific(const TrnNotific *n, const char *what, unsigned id,
                            GString *s)
{
    if (n->posted || n->dropped) {
        g_string_append_printf(s, "  %s %u: %" PRIu64 " notifications, "
                               "%" PRIu64 " dropped\n", what, id, n->posted,
                               n->dropped);
    }
}

static void trn_hmp_engine(const TrnEngine *e, unsigned id, GString *s)
{
    bool ring = false;

    for (unsigned q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
        ring |= e->q[q].m2s.base || e->q[q].s2m.base;
    }
    if (!ring && !e->packets && !e->aborts) {
        return;
    }
    g_string_append_printf(s, "  engine %u: M2S %s, S2M %s, %" PRIu64
                           " packets, %" PRIu64 " bytes, %" PRIu64 " aborts\n",
                           id, trn_hmp_state(e->m2s_state),
                           trn_hmp_state(e->s2m_state), e->packets, e->bytes,
                           e->aborts);
    for (unsigned q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
        const TrnRing *m2s = &e->q[q].m2s, *s2m = &e->q[q].s2m;

        if (!m2s->base && !s2m->base) {
            continue;
        }
        g_string_append_printf(s, "    queue %u:", q);
        trn_hmp_ring(m2s, "M2S", s);
        trn_hmp_ring(s2m, "S2M", s);
        g_string_append_printf(s, " waiting %" PRIu64 "/%" PRIu64 "%s\n",
                               (uint64_t)m2s->pending, (uint64_t)s2m->pending,
                               e->q[q].waiter ? " for a semaphore" : "");
    }
}

static void trn_hmp_print(TrnDevice *d, GString *s)
{
    if (!d->fw) {
        return;                 /* not realized */
    }
    g_string_append_printf(s, "%s, routing id %u, serial 0x%016" PRIx64 "\n",
                           object_get_typename(OBJECT(d)), d->routing_id,
                           d->serial);
    trn_hmp_firmware(d, s);
    for (unsigned c = 0; c < d->gen->num_cores; c++) {
        trn_hmp_notific(&d->core[c].notific, "core", c, s);
    }
    for (unsigned n = 0; n < TRN_MAX_TOP_SP; n++) {
        trn_hmp_notific(&d->top_sp[n].notific, "TOP_SP", n, s);
    }
    for (unsigned e = 0; e < d->gen->num_engines; e++) {
        trn_hmp_engine(&d->engine[e], e, s);
        trn_hmp_notific(&d->engine[e].notific, "engine", e, s);
    }
}

static void trn_hmp_print_info(InterruptStatsProvider *obj, GString *buf)
{
    trn_hmp_print(TRAINIUM(obj), buf);
}

static char *trn_hmp_engine_state(Object *obj, Error **errp)
{
    GString *s = g_string_new(NULL);

    trn_hmp_print(TRAINIUM(obj), s);
    return g_string_free(s, false);
}

/* The type has the interface TYPE_INTERRUPT_STATS_PROVIDER. */
void trn_hmp_class_init(ObjectClass *oc)
{
    INTERRUPT_STATS_PROVIDER_CLASS(oc)->print_info = trn_hmp_print_info;
    object_class_property_add_str(oc, "engine-state", trn_hmp_engine_state,
                                  NULL);
    object_class_property_set_description(oc, "engine-state",
        "state of firmware, engines and queues as text (read-only)");
}
