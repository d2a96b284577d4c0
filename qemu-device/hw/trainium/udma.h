/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDMA engine state, shared by udma*.c, iofic.c, sdma.c and hmp.c. */
#ifndef HW_TRAINIUM_UDMA_H
#define HW_TRAINIUM_UDMA_H

#include "trainium.h"

/* One interrupt group. */
typedef struct TrnIofic {
    uint32_t cause, mask, control, abort_mask, log_mask, status;
} TrnIofic;

/* One side (M2S or S2M) of a queue pair. */
typedef struct TrnRing {
    uint64_t base;
    uint32_t len;               /* descriptors */
    uint32_t head, tail;        /* head: next to execute */
    uint8_t head_rid, tail_rid;
    uint32_t comp_head;
    uint8_t comp_rid;
    uint64_t comp_base;
    uint32_t cfg, comp_cfg;
    uint32_t pending;           /* rung and not yet executed; at most len */
    uint32_t other[48];         /* its remaining registers, as written */
} TrnRing;

typedef struct TrnWaiter TrnWaiter;         /* udma-semaphore.c */

typedef struct TrnQueue {
    TrnRing m2s, s2m;
    TrnWaiter *waiter;          /* its next packet waits; NULL: it does not */
    unsigned place;             /* in sched.c, from 1; 0: no work */
    /* Model time, in a fabric: of the next packet, and when all before it, */
    /* and all before the last write barrier, have arrived */
    uint64_t ready_ns, end_ns, barrier_ns;
    uint64_t base_ns;           /* what it raises comes behind it */
} TrnQueue;

struct TrnEngine {
    TrnDevice *dev;
    unsigned id;
    TrnQueue q[TRN_QUEUES_PER_ENGINE];
    uint32_t m2s_state, s2m_state;  /* TRN_UDMA_STATE_* */
    bool stream_off;            /* one of the stream_cfg registers says so */
    /* Rings reset since the abort: bit q M2S, bit 16 + q S2M */
    uint32_t rings_reset;
    TrnIofic primary[TRN_IOFIC_NUM_PRIMARY];
    TrnIofic secondary[TRN_IOFIC_NUM_SECONDARY];
    TrnIofic master[TRN_IOFIC_NUM_MASTERS];
    uint32_t m2s_regs[0x180];   /* 0x00100..0x006ff, as written */
    uint32_t s2m_regs[0xc0];    /* 0x20100..0x203ff */
    uint32_t moderation[0x100]; /* 0x38400..0x387ff */
    uint32_t general[0x540];    /* 0x3a300..0x3b7ff */
    uint32_t vmpr[TRN_QUEUES_PER_ENGINE][16];
    uint32_t sdma[0x400];       /* 0x000..0xfff; sdma.c */
    uint32_t fis[0x100];        /* 0x000..0x3ff; sdma.c */
    TrnNotific notific;
    uint64_t busy_until_ns;     /* model time */
    /* ... in a fabric: end of all it did, and what TRN_SDMA_TIME_LO shows */
    uint64_t last_ns, now_ns;
    uint64_t bytes, packets, aborts;
    /* Changes when a queue was reset or the engine stopped */
    uint32_t epoch;
    /* Queues that hang on demand, rings of them reset since, and the cure */
    uint16_t stuck;
    uint8_t stuck_cure;         /* TrnFaultCure, fault.h */
    uint32_t stuck_reset;       /* as rings_reset */
};

typedef enum TrnSide { TRN_M2S, TRN_S2M } TrnSide;

static inline TrnRing *trn_ring(TrnEngine *e, unsigned q, TrnSide side)
{
    return side == TRN_M2S ? &e->q[q].m2s : &e->q[q].s2m;
}

static inline const char *trn_side_name(TrnSide side)
{
    return side == TRN_M2S ? "M2S" : "S2M";
}

/* Both sides in state normal, and no stream switched off */
static inline bool trn_udma_running(const TrnEngine *e)
{
    return e->m2s_state == TRN_UDMA_STATE_NORMAL &&
           e->s2m_state == TRN_UDMA_STATE_NORMAL && !e->stream_off;
}

/*
 * One packet, taken from the rings but not yet executed. Bounds: the hardware
 * takes at most TRN_UDMA_HW_MAX_PKT_DESCS on either side, so the pieces that
 * lie in one source and one destination descriptor are fewer than twice that.
 */
#define TRN_PKT_MAX_SEGS (2 * TRN_UDMA_HW_MAX_PKT_DESCS)

typedef struct TrnSeg {
    uint64_t src, dst;          /* AXI addresses */
    uint32_t len;
} TrnSeg;

typedef struct TrnPacket {
    unsigned m2s_descs, s2m_descs;
    uint32_t bytes;
    /* Secondary cause bits: of a bad packet what it is dropped for, */
    /* of a good one wrong ring ids that do not abort */
    uint32_t cause[2];
    bool dmb, write_barrier, strong_order;
    bool m2s_int, s2m_int;
    bool far;                   /* some address leads off the chip */
    bool group;                 /* ... to a group of chips */
    uint8_t op_type;            /* TRN_META_OP_TYPE_* */
    uint8_t op, dtype;          /* not for a copy */
    unsigned num_src, num_segs;
    struct {
        uint64_t addr;
        uint32_t len;
    } src[TRN_UDMA_HW_MAX_PKT_DESCS];
    TrnSeg seg[TRN_PKT_MAX_SEGS];
} TrnPacket;

/*
 * A ring for the time of one slice: @ptr leads to @count descriptors from
 * @first on, and is moved along as others are asked for.
 */
typedef struct TrnRingView {
    TrnRing *ring;
    const uint8_t *ptr;
    uint32_t first, count;
    bool inl;                   /* in: only plain memory may be looked at */
    bool later;                 /* out: the ring is something else */
} TrnRingView;

typedef enum TrnParse {
    TRN_PARSE_READY,
    TRN_PARSE_WAIT,             /* descriptors are missing */
    TRN_PARSE_BAD,              /* why: @cause; takes @*_descs along */
} TrnParse;

/* A byte range of the chip or the guest that is plain memory */
typedef struct TrnSpan {
    uint8_t *ptr;
    TrnStore *store;
    TrnHostRegion *host;
    int stack;
} TrnSpan;

/* Model time of a packet on its way: from when, and what it comes to */
typedef struct TrnTrip {
    uint64_t from_ns;
    uint64_t end_ns;
    uint32_t latency_ns;
} TrnTrip;

typedef enum TrnSpanKind {
    TRN_SPAN_DIRECT,
    TRN_SPAN_INDIRECT,          /* a register, another device, an IOMMU */
    TRN_SPAN_BAD,               /* nothing there, or a neighbour that is not */
} TrnSpanKind;

/* udma.c */
/* Sets secondary cause bits; true when one of them aborted the engine. */
bool trn_udma_error(TrnEngine *e, TrnSide side, uint32_t cause);

/* "Error status" word of the queue: an access of its data failed */
void trn_udma_axi_error(TrnEngine *e, unsigned q);

/* iofic.c */
void trn_iofic_reset(TrnEngine *e);
bool trn_iofic_read(TrnEngine *e, uint32_t offset, uint32_t *value);
bool trn_iofic_write(TrnEngine *e, uint32_t offset, uint32_t value);
/* A queue completed: group B (S2M) or C (M2S) */
void trn_iofic_queue(TrnEngine *e, unsigned q, TrnSide side);
/* Sets causes of a secondary group, its summary in D, and sends the event. */
void trn_iofic_error(TrnEngine *e, unsigned group, uint32_t cause);

/* udma-packet.c */
void trn_ring_advance(TrnRing *r, uint32_t n);
/* The packet that many descriptors behind the heads; changes nothing. */
TrnParse trn_packet_parse(TrnEngine *e, unsigned q, TrnRingView *m2s,
                          TrnRingView *s2m, uint32_t m2s_skip,
                          uint32_t s2m_skip, TrnPacket *p);
/* What the packet's data at @addr is; clips @len to the piece that is alike. */
TrnSpanKind trn_span_get(TrnEngine *e, const TrnPacket *p, uint64_t addr,
                         bool write, TrnSpan *s, uint64_t *len, TrnTarget *t);
/* What a piece of a packet is; on a fault, sets the packet's cause. */
TrnSpanKind trn_piece_get(TrnEngine *e, TrnPacket *p, const TrnSeg *seg,
                          TrnSpan *src, TrnSpan *dst, uint64_t *len);
/* What the packet as a whole is: the worst of its pieces. */
TrnSpanKind trn_packet_look(TrnEngine *e, TrnPacket *p);
static inline void trn_seg_advance(TrnSeg *seg, uint64_t len)
{
    seg->src += len;
    seg->dst += len;
    seg->len -= len;
}
/* With payload=off: large, and from HBM to HBM, of whatever chips */
bool trn_packet_hollow(TrnEngine *e, const TrnPacket *p);
/* The packet's data could not be read or written. */
void trn_packet_fault(TrnPacket *p, TrnSide side);
/* Moves through @buf; registers and other devices may do anything. */
bool trn_indirect_read(const TrnPacket *p, const TrnTarget *t, uint8_t *buf,
                       uint64_t len);
bool trn_indirect_write(const TrnPacket *p, const TrnTarget *t,
                        const uint8_t *buf, uint64_t len);

/* fabric-data.c: addresses from here on lead to other chips */
#define TRN_FAR_SHIFT 52
TrnSpanKind trn_fabric_span(TrnEngine *e, const TrnPacket *p, uint64_t addr,
                            bool write, TrnSpan *s, uint64_t *len,
                            TrnTarget *t);
/* TRN_TARGET_GROUP */
bool trn_fabric_read(const TrnPacket *p, const TrnTarget *t, uint8_t *buf,
                     uint64_t len);
bool trn_fabric_write(const TrnTarget *t, const uint8_t *buf, uint64_t len);
/* A packet was carried out. */
void trn_fabric_account(TrnEngine *e, const TrnPacket *p, TrnTrip *trip);
/* Of the way of a write to @addr */
uint32_t trn_fabric_latency(TrnEngine *e, uint64_t addr);
/* A packet is dropped, maybe for what trn_fabric_span() said. */
void trn_fabric_fail(TrnEngine *e, const TrnPacket *p);

/* udma-semaphore.c */
typedef enum TrnSem {
    TRN_SEM_DONE,
    TRN_SEM_PARKED,             /* trn_exec_wake() when it may go on */
    TRN_SEM_BAD,                /* the packet's cause says why */
} TrnSem;
static inline bool trn_packet_waits(const TrnPacket *p)
{
    return unlikely(p->op_type == TRN_META_OP_TYPE_SEMAPHORE) &&
           p->op >= TRN_META_OP_SEM_WAIT;
}
bool trn_sem_allowed(TrnEngine *e, const TrnPacket *p);
TrnSem trn_sem_run(TrnEngine *e, unsigned q, TrnPacket *p);
/* The same, but a wait that is over takes nothing: true when parked */
bool trn_sem_parks(TrnEngine *e, unsigned q, TrnPacket *p);
/* The packet's ADD or SET with the operand in @buf; false: not memory */
bool trn_sem_write(const TrnPacket *p, const TrnTarget *t, const uint8_t *buf);
/* ADD or SET of a word in a chip's memory */
void trn_sem_update(const TrnTarget *t, unsigned op, int64_t operand,
                    uint64_t ns);
/* The queue, or all of the engine (@q < 0), do not wait any more. */
void trn_sem_unpark(TrnEngine *e, int q);

/* udma-exec.c */
bool trn_exec_init(TrnDevice *d, Error **errp);
void trn_exec_exit(TrnDevice *d);
void trn_exec_finalize(TrnDevice *d);
void trn_exec_reset(TrnDevice *d);
/* A queue may have become able to run: run a little now, the rest later. */
void trn_exec_kick(TrnEngine *e, unsigned q);
/* A queue was parked and may go on, at model time @ns. */
void trn_exec_wake(TrnEngine *e, unsigned q, uint64_t ns);
/*
 * Of sched.c: runs packets that start no later than @until_ns, which may get
 * less meanwhile. True when there are more; then the next one starts at
 * @start_ns, or 0 when that is not known.
 */
bool trn_exec_turn(TrnEngine *e, unsigned q, int64_t *bytes, int64_t *descs,
                   int64_t deadline, const uint64_t *until_ns,
                   uint64_t *start_ns);
/* A slice begins; and what follows it: the next one, or a pause for vCPUs */
void trn_exec_row(int64_t now);
void trn_exec_go_on(QEMUBH *bh, QEMUTimer *pause);
/* Looks at all queues of all engines: after migration, after a stop. */
void trn_exec_kick_all(TrnDevice *d);
/* A queue was reset, or its engine (@q < 0) stopped: forget work in flight. */
void trn_exec_drop(TrnEngine *e, int q);
/* bench.c */
int64_t trn_bench_clock(void);
uint64_t trn_exec_busy_ns(TrnDevice *d);
bool trn_queue_can_run(const TrnEngine *e, unsigned q);
/* Causes of a good packet; false when the engine aborted. */
bool trn_packet_causes(TrnEngine *e, const TrnPacket *p);
/* Drops a bad packet; false when the engine aborted. */
bool trn_packet_fail(TrnEngine *e, unsigned q, TrnPacket *p);
/* Interrupts of a packet whose data is visible */
void trn_packet_interrupt(TrnEngine *e, unsigned q, const TrnPacket *p);
/* Heads, completion rings, trace; false when the engine aborted. */
bool trn_packet_retire(TrnEngine *e, unsigned q, const TrnPacket *p,
                       bool error);

/* sched.c; only for chips in a fabric */
/* The queue has work that starts then, or as soon as it may. */
void trn_sched_add(TrnEngine *e, unsigned q, uint64_t start_ns);
/* No queue of the chip has; also for a chip by itself */
void trn_sched_forget(TrnDevice *d);
/* Nobody has work, and packets may run as soon as they are rung */
bool trn_sched_idle(TrnDevice *d);
/* Model time of what is done now; of all that was done when idle */
uint64_t trn_sched_now(TrnDevice *d);

/* time.c */
/*
 * Bytes pass at @rate bytes/us, when the first of them can be there at
 * @from_ns: returns when they begin, and moves @end_ns to when they have.
 */
uint64_t trn_clock_pass(TrnClock *c, uint64_t from_ns, uint64_t bytes,
                        uint64_t rate, uint64_t *end_ns);
void trn_stack_pass(TrnDevice *d, int stack, uint64_t bytes, TrnTrip *trip);
void trn_packet_account(TrnEngine *e, unsigned q, const TrnPacket *p,
                        int src_stack, int dst_stack);
/* When the packet at the head of the queue starts */
uint64_t trn_packet_start(const TrnEngine *e, unsigned q, const TrnPacket *p);
/* When a semaphore that it raises is raised */
uint64_t trn_packet_raises_at(TrnEngine *e, unsigned q, const TrnPacket *p);
/* By a chip whose time compares with that of @d */
void trn_time_raise(const TrnDevice *d, const void *word, uint64_t ns);
/* The queue waited for the word; for something at @ns */
void trn_time_wait(TrnEngine *e, unsigned q, const void *word);
void trn_time_resume(TrnEngine *e, unsigned q, uint64_t ns);
/* In a fabric it is begun again by the last one of the chips that had any. */
void trn_time_reset(TrnDevice *d);

/* udma-reorder.c: the executor when the property "reorder" is set */
typedef struct TrnReorder TrnReorder;
TrnReorder *trn_reorder_new(TrnDevice *d, uint64_t seed);
void trn_reorder_free(TrnReorder *r);
void trn_reorder_reset(TrnReorder *r);
void trn_reorder_kick(TrnReorder *r, TrnEngine *e, unsigned q);
void trn_reorder_drop(TrnReorder *r, TrnEngine *e, int q);
/* All in flight, at once and in order: the machine stops. */
void trn_reorder_finish(TrnReorder *r);
/*
 * Some steps. Returns the time to the next ones in ns, 0 when there is
 * nothing to do before the next doorbell.
 */
uint64_t trn_reorder_run(TrnReorder *r);

#endif
