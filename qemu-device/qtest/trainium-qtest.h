/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the Trainium qtests: a machine with one or more chips, BARs at
 * fixed addresses, engine initialisation and rings.
 *
 * The tests spell the raw numbers of the hardware reference and include
 * nothing the model is built from, so that a wrong number there is caught.
 */
#ifndef TRAINIUM_QTEST_H
#define TRAINIUM_QTEST_H

#include "libqtest.h"

/* Guest-physical places */
#define TQ_RAM_MB       512
#define TQ_BAR0         0x1000000000ull     /* + 4 GiB a chip */
#define TQ_BAR2         0xe0000000ull       /* + 128 KiB a chip */
#define TQ_BAR4         0x10000000000ull    /* + 256 GiB a chip */
#define TQ_ECAM         0xb0000000ull
#define TQ_HEAP         0x01000000ull       /* tq_alloc() starts here */
#define TQ_HEAP_END     0x20000000ull

/*
 * A generation in raw numbers. Engines: data engines in blocks of @per_block,
 * then the host engines; AXI = BAR0 offset + @*_axi of the same block.
 */
typedef struct TqGeneration {
    const char *name;
    uint32_t id;                            /* PCI: device, vendor */
    unsigned data, engines, per_block, cores, top_sps, stacks, dies;
    uint64_t stride;                        /* from engine to engine */
    uint64_t block[8], block_axi[8];        /* BAR0, AXI */
    uint64_t host[8], host_axi[8];
    uint64_t sdma[4];                       /* Trainium1: not behind the UDMA */
    uint64_t fis[8];
    uint64_t hbm[8], stack_size;
    uint64_t host_window, misc;
    uint64_t bar0_size, bar4_size;
} TqGeneration;

/* That of the chips of a test: tq_model before the start, Trainium2 else */
extern const char *tq_model;
extern const TqGeneration *tq_gen;

/* AXI: the host window */
#define TQ_HOST         (tq_gen->host_window)

/* The most frequent words of the reference */
#define TQ_FIRST        (1u << 26)
#define TQ_LAST         (1u << 27)
#define TQ_INT          (1u << 28)
#define TQ_STRONG       (1u << 29)          /* S2M */
#define TQ_DMB          (1u << 30)          /* M2S */
#define TQ_COPY         0x01080003u         /* M2S word 1: plain copy */
#define TQ_BARRIER      (1u << 26)          /* M2S word 1: write barrier */
#define TQ_MARK         0xabcdef01u

#define TQ_STAGE        256

typedef struct TqWrite {
    uint64_t addr, value;                   /* guest-physical */
} TqWrite;

typedef struct TqChip {
    QTestState *qts;
    uint8_t bus, devfn;
    uint64_t bar0, bar2, bar4;
    uint64_t pitch;                         /* of the stacks in BAR4 */
    uint64_t heap;                          /* next free host address */
    uint8_t *ram;                           /* tq_start_shared(): its memory */
    GArray *record;                         /* of TqWrite: instead of BAR0 */
} TqChip;

/* One side (M2S or S2M) of a queue pair, as software sees it. */
typedef struct TqRing {
    uint64_t axi;                           /* of descriptor 0 */
    uint32_t len, next, fresh;              /* fresh: built, not yet rung */
    unsigned rid;
    unsigned staged;                        /* built, not yet in the ring */
    uint32_t stage[TQ_STAGE][4];
} TqRing;

typedef struct TqQueue {
    TqChip *c;
    unsigned engine, q;
    TqRing m2s, s2m;
    uint64_t mark;                          /* host: source word, then target */
} TqQueue;

/* trainium-qtest.c: machine */
void tq_start(TqChip *c, const char *props);
/* As tq_start(), with more of QEMU's command line in front. */
void tq_start_args(TqChip *c, const char *args, const char *props);
/* As tq_start_args(), with host memory mapped here: fast, not migratable. */
void tq_start_shared(TqChip *c, const char *args, const char *props);
/* QEMU started by the caller: find, map and enable the chip there. */
void tq_attach(TqChip *c, QTestState *qts, unsigned bus, unsigned devfn,
               unsigned n);
/* The same chip, in the QEMU it was migrated to. */
void tq_adopt(TqChip *c, const TqChip *from, QTestState *qts);
/* Bridge windows for everything tq_attach() may map behind a root port. */
void tq_setup_port(QTestState *qts, unsigned devfn, unsigned secondary);
/* Writes the BARs and the command register, as firmware does after a reset. */
void tq_map(TqChip *c, unsigned n);
void tq_wait_firmware(TqChip *c);
void tq_stop(TqChip *c);

/* PCI configuration space, extended space through ECAM */
uint32_t tq_cfg_read(TqChip *c, unsigned off);
void tq_cfg_write(TqChip *c, unsigned off, uint32_t value);
uint8_t tq_cfg_readb(TqChip *c, unsigned off);
uint16_t tq_cfg_readw(TqChip *c, unsigned off);
void tq_cfg_writew(TqChip *c, unsigned off, uint16_t value);
uint32_t tq_ecfg_read(TqChip *c, unsigned off);
void tq_ecfg_write(TqChip *c, unsigned off, uint32_t value);
uint8_t tq_find_cap(TqChip *c, uint8_t id);
uint16_t tq_find_ecap(TqChip *c, uint16_t id);

/* BAR0, BAR2 */
uint32_t tq_read(TqChip *c, uint64_t off);
void tq_write(TqChip *c, uint64_t off, uint32_t value);
uint32_t tq_xread(TqChip *c, uint64_t off);
void tq_xwrite(TqChip *c, uint64_t off, uint32_t value);

/* MISC RAM */
uint32_t tq_misc_read(TqChip *c, unsigned off);
void tq_misc_write(TqChip *c, unsigned off, uint32_t value);

/* Addresses; engine: data engines, then D2H, H2D of each die */
uint64_t tq_engine(unsigned engine);        /* BAR0 offset */
uint64_t tq_engine_axi(unsigned engine);
uint64_t tq_sdma(unsigned engine);          /* BAR0 offset of its wrapper */
uint64_t tq_fis(unsigned engine);           /* BAR0 offset, data engines */
uint64_t tq_hbm(unsigned stack);            /* AXI */
uint32_t tq_ereg(TqChip *c, unsigned engine, uint32_t off);
void tq_ewrite(TqChip *c, unsigned engine, uint32_t off, uint32_t value);

/* Host memory, never given back; and access to it and HBM by AXI address */
uint64_t tq_alloc(TqChip *c, uint64_t size, uint64_t align);
void tq_put(TqChip *c, uint64_t axi, const void *buf, uint64_t len);
void tq_get(TqChip *c, uint64_t axi, void *buf, uint64_t len);
/* Asserts that memory at an AXI address holds these bytes. */
void tq_check(TqChip *c, uint64_t axi, const void *expect, uint64_t len);
/* Guest-physical address of a byte of host memory or HBM */
uint64_t tq_phys(TqChip *c, uint64_t axi);
void tq_fill_random(void *buf, size_t len, uint32_t seed);
uint32_t tq_crc32c(const void *buf, size_t len);

/* Time: the virtual clock moves on while waiting */
void tq_step(TqChip *c);
bool tq_poll(TqChip *c, uint64_t phys, uint32_t value, unsigned ms);
/* Asserts that the word at a guest-physical address becomes @value. */
void tq_wait(TqChip *c, uint64_t phys, uint32_t value);
void tq_step_ms(TqChip *c, unsigned ms);
/* A while in which the device may do what it should not. */
void tq_settle(TqChip *c);

/* Engines and queues */
void tq_init_engine(TqChip *c, unsigned engine);
/* Ring memory in the host. */
void tq_init_queue(TqQueue *q, TqChip *c, unsigned engine, unsigned nr,
                   uint32_t len);
/* Ring memory anywhere (AXI); lengths may differ. */
void tq_init_queue_at(TqQueue *q, TqChip *c, unsigned engine, unsigned nr,
                      uint64_t m2s, uint32_t m2s_len,
                      uint64_t s2m, uint32_t s2m_len);
uint64_t tq_m2s_reg(TqQueue *q, unsigned off);  /* BAR0 offset */
uint64_t tq_s2m_reg(TqQueue *q, unsigned off);

/* Descriptors: length 65536 is written as 0; nothing is rung yet */
void tq_m2s(TqQueue *q, uint64_t axi, uint32_t len, uint32_t flags,
            uint32_t meta);
void tq_s2m(TqQueue *q, uint64_t axi, uint32_t len, uint32_t flags);
void tq_pair(TqQueue *q, uint64_t dst, uint64_t src, uint32_t len,
             uint32_t m2s_flags, uint32_t meta, uint32_t s2m_flags);
/* Rings one side's doorbell; descriptors are in the ring then. */
void tq_ring_m2s(TqQueue *q, uint32_t n);
void tq_ring_s2m(TqQueue *q, uint32_t n);
/* Rings S2M, then M2S, with what was written. */
void tq_kick(TqQueue *q);
/* Writes the descriptors to the rings, without a doorbell. */
void tq_flush(TqQueue *q);
/* Splits into descriptors of 64 KiB; the last one has the write barrier. */
void tq_copy(TqQueue *q, uint64_t dst, uint64_t src, uint64_t len);
/* Marker: clears the word, adds the copy (strongly ordered). */
void tq_add_marker(TqQueue *q);
/* tq_add_marker(), tq_kick() and wait. */
void tq_finish(TqQueue *q);
bool tq_marker_seen(TqQueue *q);

/* qom-set on the chip of tq_start(); @json is the value */
void tq_set(TqChip *c, const char *prop, const char *json);
void tq_set_fails(TqChip *c, const char *prop, const char *json);

#endif
