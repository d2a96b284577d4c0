/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults on demand (fault*.c): their state, and what the other parts ask. */
#ifndef HW_TRAINIUM_FAULT_H
#define HW_TRAINIUM_FAULT_H

#include "qemu/timer.h"
#include "udma.h"

/* What is wrong with a packet */
typedef enum TrnFaultDma {
    TRN_FAULT_NONE,
    TRN_FAULT_ABORT,            /* its cause is set */
    TRN_FAULT_CORRUPT,          /* to be damaged after it was carried out */
    TRN_FAULT_LOST,             /* its data and interrupts were taken out */
} TrnFaultDma;

/* What ends the hang of an engine; each level ends those before it, too */
typedef enum TrnFaultCure {
    TRN_CURE_QUEUE,             /* both sides of the queue pair were reset */
    TRN_CURE_ENGINE,            /* the engine was initialised */
    TRN_CURE_CORE,              /* reset by the firmware, of the core or all */
    TRN_CURE_DEVICE,            /* reset of the device, FLR */
    TRN_CURE_NONE,              /* nothing but the end of the fault */
} TrnFaultCure;

/* ENGINE[.QUEUE]:NUMBER, the NUMBER-th packet from now */
typedef struct TrnFaultTrigger {
    uint32_t engine, queue;
    uint64_t left;              /* 0: off */
} TrnFaultTrigger;

/* Registers that read as something else */
typedef struct TrnFaultRegs {
    enum { TRN_REGS_NONE, TRN_REGS_ALL, TRN_REGS_FIRMWARE, TRN_REGS_ENGINES,
           TRN_REGS_ENGINE } what;
    unsigned engine;
} TrnFaultRegs;

#define TRN_FAULT_PACKETS 4
#define TRN_FAULT_MAX_CELLS 16

struct TrnFault {
    TrnDevice *dev;

    /* fault-dma.c */
    TrnFaultTrigger packet[TRN_FAULT_PACKETS];
    struct {
        uint64_t dst, len;
        uint8_t *data;          /* NULL: nothing is late */
        QEMUTimer *timer;
    } late;
    uint64_t cell[2][TRN_FAULT_MAX_CELLS];  /* corrected, uncorrected: AXI */
    unsigned num_cells[2];

    struct {
        unsigned seed, rate;    /* rate 0: off */
        uint64_t state;
    } hostile;                  /* fault-hostile.c */

    /* fault.c */
    TrnFaultRegs deadbeef, ones;
    uint32_t irq_lose, irq_storm;
    QEMUTimer *storm, *gone_timer;
    uint32_t gone_ms;
    /* Over each window to memory while the chip is gone */
    MemoryRegion gone[TRN_MAX_STACKS + TRN_MAX_CORES];

    /* fault-window.c */
    bool window;                /* fault-window=on */
    MemoryRegion window_mr;
    char text[TRN_EXT_FAULT_TEXT_SIZE + 1];
    uint32_t status;
};

typedef struct TrnFaultProp {
    const char *name, *type;
    ObjectPropertyAccessor *get, *set;
    const char *description;
} TrnFaultProp;

void trn_fault_add_props(ObjectClass *oc, const TrnFaultProp *p, unsigned n);

/* fault-dma.c and fault-window.c, called by fault.c */
void trn_fault_dma_init(TrnFault *f);
void trn_fault_dma_stop(TrnFault *f);
void trn_fault_dma_finalize(TrnFault *f);
void trn_fault_dma_class_init(ObjectClass *oc);
void trn_fault_dma_update(TrnFault *f);
void trn_fault_hostile_class_init(ObjectClass *oc);
bool trn_fault_window_init(TrnFault *f, Error **errp);
void trn_fault_window_exit(TrnFault *f);
void trn_fault_window_class_init(ObjectClass *oc);

/* udma-exec.c; asked only while TrnDevice.fault_dma */
TrnFaultDma trn_fault_packet(TrnEngine *e, unsigned q, TrnPacket *p);
void trn_fault_corrupt(TrnEngine *e, const TrnPacket *p);

/* udma.c, sdma.c: something happened to an engine that hangs */
void trn_fault_ring_reset(TrnEngine *e, unsigned q, TrnSide side);
void trn_fault_cure(TrnEngine *e, TrnFaultCure level);

/* axi.c; asked only while TrnDevice.fault_window. True: @value is read */
bool trn_fault_window(TrnDevice *d, const TrnTarget *t, uint32_t *value);

/* Asked only while TrnDevice.hostile: is it time to lie, and how */
bool trn_hostile_now(TrnDevice *d);
uint32_t trn_hostile_value(TrnDevice *d, uint32_t value);
void trn_hostile_event(TrnDevice *d, unsigned *engine, unsigned *slot);
/* Of @len bytes at @at, the place of one and what is wrong in it */
void trn_hostile_byte(TrnDevice *d, uint64_t len, uint64_t *at, uint8_t *bits);

/* ext.c: the message of this event does not arrive */
bool trn_fault_irq_lost(TrnDevice *d);

/* trainium.c */
void trn_fault_instance_init(TrnDevice *d);
bool trn_fault_init(TrnDevice *d, Error **errp);
void trn_fault_exit(TrnDevice *d);
void trn_fault_finalize(TrnDevice *d);
void trn_fault_reset(TrnDevice *d);
void trn_fault_class_init(ObjectClass *oc);

/* rebar.c: the windows to HBM have other sizes and places */
void trn_fault_windows_moved(TrnDevice *d);

/* ext.c: announces it */
bool trn_fault_has_window(TrnDevice *d);

/* fw-props.c: a property of the firmware that can be set at run time */
bool trn_fw_prop_settable(const char *name);

#endif
