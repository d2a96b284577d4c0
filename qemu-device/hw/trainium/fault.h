/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults on demand (fault.c): what the other parts of the model ask. */
#ifndef HW_TRAINIUM_FAULT_H
#define HW_TRAINIUM_FAULT_H

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
} TrnFaultCure;

/* udma-exec.c; asked only while TrnDevice.fault_dma */
TrnFaultDma trn_fault_packet(TrnEngine *e, unsigned q, TrnPacket *p);
void trn_fault_corrupt(TrnEngine *e, const TrnPacket *p);

/* udma.c, sdma.c: something happened to an engine that hangs */
void trn_fault_ring_reset(TrnEngine *e, unsigned q, TrnSide side);
void trn_fault_cure(TrnEngine *e, TrnFaultCure level);

/* axi.c; asked only while TrnDevice.fault_window. True: @value is read */
bool trn_fault_window(TrnDevice *d, const TrnTarget *t, uint32_t *value);

/* ext.c: the message of this event does not arrive */
bool trn_fault_irq_lost(TrnDevice *d);

/* trainium.c */
void trn_fault_instance_init(TrnDevice *d);
bool trn_fault_init(TrnDevice *d, Error **errp);
void trn_fault_exit(TrnDevice *d);
void trn_fault_finalize(TrnDevice *d);
void trn_fault_reset(TrnDevice *d);
void trn_fault_class_init(ObjectClass *oc);

/* ext.c: announces it */
bool trn_fault_has_window(TrnDevice *d);

/* fw-props.c: a property of the firmware that can be set at run time */
bool trn_fw_prop_settable(const char *name);

#endif
