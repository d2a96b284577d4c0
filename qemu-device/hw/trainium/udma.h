/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDMA engine state, shared by udma.c, udma-exec.c, iofic.c and sdma.c. */
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
    uint64_t pending;           /* rung and not yet executed */
    uint32_t other[48];         /* the queue's remaining registers, as written */
} TrnRing;

typedef struct TrnQueue {
    TrnRing m2s, s2m;
} TrnQueue;

struct TrnEngine {
    TrnDevice *dev;
    unsigned id;
    TrnQueue q[TRN_QUEUES_PER_ENGINE];
    uint32_t m2s_state, s2m_state;
    TrnIofic primary[TRN_IOFIC_NUM_PRIMARY];
    TrnIofic secondary[TRN_IOFIC_NUM_SECONDARY];
    TrnIofic master[TRN_IOFIC_NUM_MASTERS];
    uint32_t m2s_regs[0x180];   /* 0x00100..0x006ff, as written */
    uint32_t s2m_regs[0xc0];    /* 0x20100..0x203ff */
    uint32_t general[0x540];    /* 0x3a300..0x3b7ff */
    uint32_t vmpr[TRN_QUEUES_PER_ENGINE][16];
    uint32_t sdma[0x400];       /* 0x000..0xfff; sdma.c */
    uint32_t fis[0x100];        /* 0x000..0x3ff; sdma.c */
    TrnNotific notific;
    uint64_t busy_until_ns;     /* model time */
    uint64_t bytes, packets, aborts;
};

#endif
