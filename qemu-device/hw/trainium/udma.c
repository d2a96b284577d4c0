/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDMA engines: registers, queues, state, abort. The executor (udma-exec.c)
 * is told when a queue may run; everything it needs is in the queue's rings.
 *
 * What public sources leave open, and what this model does:
 *
 *  - After a reset an engine is in state "normal": drivers never ask for it.
 *  - Head, tail, current and completion pointers are read-only; a queue reset
 *    clears them. It keeps base, length and configuration.
 *  - A doorbell that would overrun the ring stops at "full".
 *  - An abort stops both sides. A side leaves it when all 16 queues of both
 *    sides were reset and "normal" is written to its change_state register,
 *    or by a reset through the firmware.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "fault.h"
#include "trace.h"

#define M2S_REGS 0x00100u
#define S2M_REGS 0x20100u
#define MODERATION 0x38400u
#define GENERAL 0x3a300u
#define VMPR TRN_UDMA_VMPR_TX_SEL(0)
#define Q_PITCH (TRN_UDMA_M2S_Q(1) - TRN_UDMA_M2S_Q(0))

#define ALL_RINGS_RESET UINT32_MAX

const TrnBlock trn_udma_block = { "udma", trn_udma_read, trn_udma_write };

static uint32_t *udma_reg(TrnEngine *e, uint32_t offset)
{
    if (offset >= M2S_REGS &&
        offset < M2S_REGS + sizeof(e->m2s_regs)) {
        return &e->m2s_regs[(offset - M2S_REGS) / 4];
    }
    if (offset >= S2M_REGS &&
        offset < S2M_REGS + sizeof(e->s2m_regs)) {
        return &e->s2m_regs[(offset - S2M_REGS) / 4];
    }
    if (offset >= GENERAL && offset < GENERAL + sizeof(e->general)) {
        return &e->general[(offset - GENERAL) / 4];
    }
    if (offset >= MODERATION && offset < MODERATION + sizeof(e->moderation)) {
        return &e->moderation[(offset - MODERATION) / 4];
    }
    if (offset >= VMPR && offset < VMPR + sizeof(e->vmpr)) {
        return &e->vmpr[0][0] + (offset - VMPR) / 4;
    }
    return NULL;
}

static void set_state(TrnEngine *e, TrnSide side, uint32_t state)
{
    uint32_t *s = side == TRN_M2S ? &e->m2s_state : &e->s2m_state;

    if (*s != state) {
        trace_trn_udma_state(e->dev->routing_id, e->id, trn_side_name(side),
                             *s, state);
        *s = state;
    }
}

static void udma_abort(TrnEngine *e)
{
    set_state(e, TRN_M2S, TRN_UDMA_STATE_ABORT);
    set_state(e, TRN_S2M, TRN_UDMA_STATE_ABORT);
    e->rings_reset = 0;
    e->aborts++;
    trn_exec_drop(e, -1);
}

bool trn_udma_error(TrnEngine *e, TrnSide side, uint32_t cause)
{
    unsigned group = side == TRN_M2S ? TRN_IOFIC_A : TRN_IOFIC_B;
    bool abort = cause & ~e->secondary[group].abort_mask;

    trace_trn_udma_error(e->dev->routing_id, e->id, trn_side_name(side), cause,
                         abort);
    if (abort) {
        udma_abort(e);
    }
    /* After the state: whoever gets the interrupt may read it. */
    trn_iofic_error(e, group, cause);
    return abort;
}

void trn_udma_axi_error(TrnEngine *e, unsigned q)
{
    *udma_reg(e, TRN_UDMA_AXI_QUEUE(q) + 4) |= 1;
}

static void kick_all(TrnEngine *e)
{
    unsigned q;

    for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
        trn_exec_kick(e, q);
    }
}

static void change_state(TrnEngine *e, TrnSide side, uint32_t value)
{
    uint32_t state = side == TRN_M2S ? e->m2s_state : e->s2m_state;

    if (value & TRN_UDMA_CHANGE_ABORT) {
        udma_abort(e);
        return;
    }
    if (state == TRN_UDMA_STATE_ABORT) {
        if (!(value & TRN_UDMA_CHANGE_NORMAL) ||
            e->rings_reset != ALL_RINGS_RESET) {
            qemu_log_mask(LOG_GUEST_ERROR, "trainium %u: engine %u %s stays "
                          "in abort (change_state 0x%x, rings reset 0x%08x)\n",
                          e->dev->routing_id, e->id, trn_side_name(side),
                          value, e->rings_reset);
            return;
        }
        set_state(e, side, TRN_UDMA_STATE_NORMAL);
    } else if (value & TRN_UDMA_CHANGE_DISABLE) {
        set_state(e, side, TRN_UDMA_STATE_IDLE);
        return;
    } else if (value & TRN_UDMA_CHANGE_NORMAL) {
        set_state(e, side, TRN_UDMA_STATE_NORMAL);
    }
    kick_all(e);
}

/* Either stream can be switched off; without both, nothing moves. */
static void stream_cfg_changed(TrnEngine *e)
{
    e->stream_off = (*udma_reg(e, TRN_UDMA_M2S_STREAM_CFG) |
                     *udma_reg(e, TRN_UDMA_S2M_STREAM_CFG)) &
                    TRN_UDMA_STREAM_CFG_DISABLE;
    kick_all(e);
}

static void ring_clear(TrnRing *r)
{
    r->head = r->tail = r->comp_head = r->pending = 0;
    r->head_rid = r->tail_rid = r->comp_rid = TRN_UDMA_Q_FIRST_RING_ID;
}

static void ring_reset(TrnEngine *e, unsigned q, TrnSide side)
{
    trace_trn_udma_queue_reset(e->dev->routing_id, e->id, q,
                               trn_side_name(side));
    ring_clear(trn_ring(e, q, side));
    e->rings_reset |= 1u << (q + (side == TRN_S2M ? 16 : 0));
    trn_exec_drop(e, q);
    trn_fault_ring_reset(e, q, side);
}

static void ring_set_len(TrnEngine *e, unsigned q, TrnSide side, uint32_t len)
{
    TrnRing *r = trn_ring(e, q, side);

    len &= TRN_UDMA_Q_LEN_MASK;
    /* Software sets it after a queue reset; whatever it does, stay inside. */
    if (len != r->len &&
        (r->pending || r->head >= len || r->comp_head >= len)) {
        ring_clear(r);
        trn_exec_drop(e, q);
    }
    r->len = len;
}

static void ring_doorbell(TrnEngine *e, unsigned q, TrnSide side, uint32_t inc)
{
    TrnDevice *d = e->dev;
    TrnRing *r = trn_ring(e, q, side);
    const char *why = NULL;

    inc &= TRN_UDMA_Q_PTR_MASK;
    if (!r->len) {
        why = "ring without length";
    } else if (!trn_fw_device_up(d)) {
        why = "device in reset";
    } else if (inc > r->len - r->pending) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium %u: engine %u queue %u %s: "
                      "doorbell of %u overruns the ring (%u of %u in use)\n",
                      d->routing_id, e->id, q, trn_side_name(side), inc,
                      r->pending, r->len);
        inc = r->len - r->pending;
    }
    if (why || !inc) {
        trace_trn_udma_doorbell_ignored(d->routing_id, e->id, q,
                                        trn_side_name(side), inc,
                                        why ?: "nothing added");
        return;
    }
    r->tail += inc;
    if (r->tail >= r->len) {
        r->tail -= r->len;
        r->tail_rid = (r->tail_rid + 1) & TRN_UDMA_RING_ID_MASK;
    }
    r->pending += inc;
    trace_trn_udma_doorbell(d->routing_id, e->id, q, trn_side_name(side), inc,
                            r->pending);
    trn_exec_kick(e, q);
}

static uint32_t ring_pointer(uint32_t index, uint8_t rid)
{
    return index | (uint32_t)rid << TRN_UDMA_Q_PTR_RID_SHIFT;
}

static uint32_t ring_status(TrnEngine *e, TrnRing *r)
{
    uint32_t status = r->pending;

    if (trn_udma_running(e)) {
        status |= r->cfg & TRN_UDMA_Q_CFG_PREFETCH ?
                  TRN_UDMA_Q_STATUS_PREFETCH : 0;
        status |= r->cfg & TRN_UDMA_Q_CFG_SCHED ? TRN_UDMA_Q_STATUS_SCHED : 0;
    }
    if (r->len && r->pending == r->len) {
        status |= TRN_UDMA_Q_STATUS_FULL;
    }
    return status;
}

static bool comp_head_reported(TrnEngine *e)
{
    return !(*udma_reg(e, TRN_UDMA_SPARE_ZEROES0) &
             TRN_UDMA_SPARE_NO_COMP_HEAD);
}

static uint32_t ring_read(TrnEngine *e, unsigned q, TrnSide side,
                          uint32_t offset)
{
    TrnRing *r = trn_ring(e, q, side);

    switch (offset) {
    case TRN_UDMA_Q_CFG:
        return r->cfg;
    case TRN_UDMA_Q_STATUS:
        return ring_status(e, r);
    case TRN_UDMA_Q_BASE_LO:
        return (uint32_t)r->base;
    case TRN_UDMA_Q_BASE_HI:
        return r->base >> 32;
    case TRN_UDMA_Q_LEN:
        return r->len;
    case TRN_UDMA_Q_HEAD:
    case TRN_UDMA_Q_CURRENT:
        return ring_pointer(r->head, r->head_rid);
    case TRN_UDMA_Q_TAIL_INC:
        return 0;
    case TRN_UDMA_Q_TAIL:
        return ring_pointer(r->tail, r->tail_rid);
    case TRN_UDMA_Q_COMP_BASE_LO:
        return (uint32_t)r->comp_base;
    case TRN_UDMA_Q_COMP_BASE_HI:
        return r->comp_base >> 32;
    case TRN_UDMA_Q_COMP_HEAD:
        if (!comp_head_reported(e)) {
            return 0;
        }
        /* fall through */
    case TRN_UDMA_Q_COMP_HEAD_INT:
        return ring_pointer(r->comp_head, r->comp_rid);
    }
    if (offset == (side == TRN_M2S ? TRN_UDMA_M2S_Q_COMP_CFG :
                                     TRN_UDMA_S2M_Q_COMP_CFG)) {
        return r->comp_cfg;
    }
    if (offset == (side == TRN_M2S ? TRN_UDMA_M2S_Q_SW_CTRL :
                                     TRN_UDMA_S2M_Q_SW_CTRL)) {
        return 0;
    }
    return offset / 4 < ARRAY_SIZE(r->other) ? r->other[offset / 4] : 0;
}

static void ring_write(TrnEngine *e, unsigned q, TrnSide side, uint32_t offset,
                       uint32_t value)
{
    TrnRing *r = trn_ring(e, q, side);

    switch (offset) {
    case TRN_UDMA_Q_TAIL_INC:
        ring_doorbell(e, q, side, value);
        return;
    case TRN_UDMA_Q_CFG:
        r->cfg = value;
        trn_exec_kick(e, q);
        return;
    case TRN_UDMA_Q_BASE_LO:
        r->base = (r->base & ~(uint64_t)UINT32_MAX) | (value & ~0x3fu);
        return;
    case TRN_UDMA_Q_BASE_HI:
        r->base = (uint32_t)r->base | (uint64_t)value << 32;
        return;
    case TRN_UDMA_Q_LEN:
        ring_set_len(e, q, side, value);
        return;
    case TRN_UDMA_Q_COMP_BASE_LO:
        r->comp_base = (r->comp_base & ~(uint64_t)UINT32_MAX) |
                       (value & ~0x3fu);
        return;
    case TRN_UDMA_Q_COMP_BASE_HI:
        r->comp_base = (uint32_t)r->comp_base | (uint64_t)value << 32;
        return;
    case TRN_UDMA_Q_STATUS:
    case TRN_UDMA_Q_HEAD:
    case TRN_UDMA_Q_TAIL:
    case TRN_UDMA_Q_CURRENT:
    case TRN_UDMA_Q_COMP_HEAD:
    case TRN_UDMA_Q_COMP_HEAD_INT:
        qemu_log_mask(LOG_GUEST_ERROR, "trainium %u: engine %u queue %u %s: "
                      "write to read-only register 0x%02x\n",
                      e->dev->routing_id, e->id, q, trn_side_name(side),
                      offset);
        return;
    }
    if (offset == (side == TRN_M2S ? TRN_UDMA_M2S_Q_COMP_CFG :
                                     TRN_UDMA_S2M_Q_COMP_CFG)) {
        r->comp_cfg = value;
        return;
    }
    if (offset == (side == TRN_M2S ? TRN_UDMA_M2S_Q_SW_CTRL :
                                     TRN_UDMA_S2M_Q_SW_CTRL)) {
        if (value & TRN_UDMA_Q_SW_CTRL_RESET) {
            ring_reset(e, q, side);
        }
        return;
    }
    if (offset / 4 < ARRAY_SIZE(r->other)) {
        r->other[offset / 4] = value;
    }
}

static bool queue_offset(uint32_t offset, unsigned *q, TrnSide *side)
{
    if (offset - TRN_UDMA_M2S_Q(0) < TRN_QUEUES_PER_ENGINE * Q_PITCH) {
        *side = TRN_M2S;
        *q = (offset - TRN_UDMA_M2S_Q(0)) / Q_PITCH;
        return true;
    }
    if (offset - TRN_UDMA_S2M_Q(0) < TRN_QUEUES_PER_ENGINE * Q_PITCH) {
        *side = TRN_S2M;
        *q = (offset - TRN_UDMA_S2M_Q(0)) / Q_PITCH;
        return true;
    }
    return false;
}

uint32_t trn_udma_read(TrnDevice *d, unsigned engine, uint32_t offset)
{
    TrnEngine *e = &d->engine[engine];
    uint32_t value, *reg;
    TrnSide side;
    unsigned q;

    if (queue_offset(offset, &q, &side)) {
        return ring_read(e, q, side, offset % Q_PITCH);
    }
    switch (offset) {
    case TRN_UDMA_M2S_STATE:
        return TRN_UDMA_STATE_ALL(e->m2s_state);
    case TRN_UDMA_S2M_STATE:
        return TRN_UDMA_STATE_ALL(e->s2m_state);
    case TRN_UDMA_M2S_CHANGE_STATE:
    case TRN_UDMA_S2M_CHANGE_STATE:
        return 0;
    }
    if (trn_iofic_read(e, offset, &value)) {
        return value;
    }
    reg = udma_reg(e, offset);
    if (!reg) {
        qemu_log_mask(LOG_UNIMP, "trainium %u: engine %u: read of unknown "
                      "register 0x%05x\n", d->routing_id, engine, offset);
        return 0;
    }
    value = *reg;
    /* The error status word of each queue is cleared by reading it. */
    if (offset >= TRN_UDMA_AXI_QUEUE(0) &&
        offset < TRN_UDMA_AXI_QUEUE(TRN_QUEUES_PER_ENGINE) &&
        (offset - TRN_UDMA_AXI_QUEUE(0)) % 12 == 4) {
        *reg = 0;
    }
    return value;
}

void trn_udma_write(TrnDevice *d, unsigned engine, uint32_t offset,
                    uint32_t value)
{
    TrnEngine *e = &d->engine[engine];
    TrnSide side;
    unsigned q;
    uint32_t *reg;

    if (queue_offset(offset, &q, &side)) {
        ring_write(e, q, side, offset % Q_PITCH, value);
        return;
    }
    switch (offset) {
    case TRN_UDMA_M2S_CHANGE_STATE:
        change_state(e, TRN_M2S, value);
        return;
    case TRN_UDMA_S2M_CHANGE_STATE:
        change_state(e, TRN_S2M, value);
        return;
    case TRN_UDMA_M2S_STATE:
    case TRN_UDMA_S2M_STATE:
    case TRN_UDMA_M2S_DMA_VERSION:
        return;
    }
    if (trn_iofic_write(e, offset, value)) {
        return;
    }
    reg = udma_reg(e, offset);
    if (reg) {
        *reg = value;
        if (offset == TRN_UDMA_M2S_STREAM_CFG ||
            offset == TRN_UDMA_S2M_STREAM_CFG) {
            stream_cfg_changed(e);
        }
    } else {
        qemu_log_mask(LOG_UNIMP, "trainium %u: engine %u: write of unknown "
                      "register 0x%05x\n", d->routing_id, engine, offset);
    }
}

void trn_udma_reset_engine(TrnDevice *d, unsigned engine)
{
    TrnEngine *e = &d->engine[engine];
    unsigned q;

    trace_trn_udma_reset(d->routing_id, engine);
    memset(e->q, 0, sizeof(e->q));
    for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
        TrnQueue *qp = &e->q[q];

        ring_clear(&qp->m2s);
        ring_clear(&qp->s2m);
        qp->m2s.cfg = qp->s2m.cfg = TRN_UDMA_Q_CFG_RESET;
        qp->m2s.other[TRN_UDMA_M2S_Q_RATE_MASK / 4] =
            TRN_UDMA_Q_RATE_MASK_RESET;
    }
    memset(e->m2s_regs, 0, sizeof(e->m2s_regs));
    memset(e->s2m_regs, 0, sizeof(e->s2m_regs));
    memset(e->general, 0, sizeof(e->general));
    memset(e->vmpr, 0, sizeof(e->vmpr));
    *udma_reg(e, TRN_UDMA_M2S_DMA_VERSION) = TRN_UDMA_VERSION_4;
    *udma_reg(e, TRN_UDMA_M2S_CFG_LEN) = TRN_UDMA_CFG_LEN_MASK |
                                         TRN_UDMA_CFG_LEN_0_IS_64K;
    *udma_reg(e, TRN_UDMA_M2S_DESC_PREF_CFG_2) = TRN_UDMA_HW_MAX_PKT_DESCS;
    *udma_reg(e, TRN_UDMA_SPARE_ONES0) = UINT32_MAX;
    *udma_reg(e, TRN_UDMA_SPARE_ONES1) = UINT32_MAX;
    trn_iofic_reset(e);
    e->m2s_state = e->s2m_state = TRN_UDMA_STATE_NORMAL;
    e->stream_off = false;
    e->rings_reset = 0;
    trn_exec_drop(e, -1);
}

void trn_udma_reset_all(TrnDevice *d)
{
    unsigned i;

    for (i = 0; i < d->num_engines; i++) {
        trn_udma_reset_engine(d, i);
    }
}

void trn_udma_init(TrnDevice *d)
{
    unsigned i;

    d->num_engines = d->gen->num_engines;
    d->engine = g_new0(TrnEngine, d->num_engines);
    for (i = 0; i < d->num_engines; i++) {
        d->engine[i].dev = d;
        d->engine[i].id = i;
    }
}

void trn_udma_finalize(TrnDevice *d)
{
    g_clear_pointer(&d->engine, g_free);
}

/* Nothing in the stream is trusted: it may come from anywhere. */
static bool ring_valid(const TrnRing *r)
{
    uint64_t distance;

    if (r->len > TRN_UDMA_Q_LEN_MASK || r->pending > r->len ||
        r->head_rid > TRN_UDMA_RING_ID_MASK ||
        r->tail_rid > TRN_UDMA_RING_ID_MASK ||
        r->comp_rid > TRN_UDMA_RING_ID_MASK) {
        return false;
    }
    if (!r->len) {
        return !r->head && !r->tail && !r->comp_head;
    }
    if (r->head >= r->len || r->tail >= r->len || r->comp_head >= r->len) {
        return false;
    }
    distance = (uint64_t)r->head + r->pending;
    return distance % r->len == r->tail;
}

static int engine_post_load(void *opaque, int version_id)
{
    TrnEngine *e = opaque;
    unsigned q;

    if (e->m2s_state > TRN_UDMA_STATE_ABORT ||
        e->s2m_state > TRN_UDMA_STATE_ABORT) {
        return -EINVAL;
    }
    for (q = 0; q < TRN_QUEUES_PER_ENGINE; q++) {
        if (!ring_valid(&e->q[q].m2s) || !ring_valid(&e->q[q].s2m)) {
            return -EINVAL;
        }
    }
    e->stream_off = (*udma_reg(e, TRN_UDMA_M2S_STREAM_CFG) |
                     *udma_reg(e, TRN_UDMA_S2M_STREAM_CFG)) &
                    TRN_UDMA_STREAM_CFG_DISABLE;
    return 0;
}

static const VMStateDescription vmstate_trn_iofic = {
    .name = "trainium/iofic",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(cause, TrnIofic),
        VMSTATE_UINT32(mask, TrnIofic),
        VMSTATE_UINT32(control, TrnIofic),
        VMSTATE_UINT32(abort_mask, TrnIofic),
        VMSTATE_UINT32(log_mask, TrnIofic),
        VMSTATE_UINT32(status, TrnIofic),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_trn_ring = {
    .name = "trainium/ring",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(base, TrnRing),
        VMSTATE_UINT32(len, TrnRing),
        VMSTATE_UINT32(head, TrnRing),
        VMSTATE_UINT32(tail, TrnRing),
        VMSTATE_UINT8(head_rid, TrnRing),
        VMSTATE_UINT8(tail_rid, TrnRing),
        VMSTATE_UINT32(comp_head, TrnRing),
        VMSTATE_UINT8(comp_rid, TrnRing),
        VMSTATE_UINT64(comp_base, TrnRing),
        VMSTATE_UINT32(cfg, TrnRing),
        VMSTATE_UINT32(comp_cfg, TrnRing),
        VMSTATE_UINT32(pending, TrnRing),
        VMSTATE_UINT32_ARRAY(other, TrnRing, 48),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_trn_queue = {
    .name = "trainium/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(m2s, TrnQueue, 1, vmstate_trn_ring, TrnRing),
        VMSTATE_STRUCT(s2m, TrnQueue, 1, vmstate_trn_ring, TrnRing),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_trn_engine = {
    .name = "trainium/engine",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = engine_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(q, TrnEngine, TRN_QUEUES_PER_ENGINE, 1,
                             vmstate_trn_queue, TrnQueue),
        VMSTATE_UINT32(m2s_state, TrnEngine),
        VMSTATE_UINT32(s2m_state, TrnEngine),
        VMSTATE_UINT32(rings_reset, TrnEngine),
        VMSTATE_STRUCT_ARRAY(primary, TrnEngine, TRN_IOFIC_NUM_PRIMARY, 1,
                             vmstate_trn_iofic, TrnIofic),
        VMSTATE_STRUCT_ARRAY(secondary, TrnEngine, TRN_IOFIC_NUM_SECONDARY, 1,
                             vmstate_trn_iofic, TrnIofic),
        VMSTATE_STRUCT_ARRAY(master, TrnEngine, TRN_IOFIC_NUM_MASTERS, 1,
                             vmstate_trn_iofic, TrnIofic),
        VMSTATE_UINT32_ARRAY(m2s_regs, TrnEngine, 0x180),
        VMSTATE_UINT32_ARRAY(s2m_regs, TrnEngine, 0xc0),
        VMSTATE_UINT32_ARRAY(moderation, TrnEngine, 0x100),
        VMSTATE_UINT32_ARRAY(general, TrnEngine, 0x540),
        VMSTATE_UINT32_2DARRAY(vmpr, TrnEngine, TRN_QUEUES_PER_ENGINE, 16),
        VMSTATE_UINT32_ARRAY(sdma, TrnEngine, 0x400),
        VMSTATE_UINT32_ARRAY(fis, TrnEngine, 0x100),
        VMSTATE_STRUCT(notific, TrnEngine, 1, vmstate_trn_notific, TrnNotific),
        VMSTATE_UINT64(busy_until_ns, TrnEngine),
        VMSTATE_UINT64(bytes, TrnEngine),
        VMSTATE_UINT64(packets, TrnEngine),
        VMSTATE_UINT64(aborts, TrnEngine),
        VMSTATE_END_OF_LIST()
    }
};
