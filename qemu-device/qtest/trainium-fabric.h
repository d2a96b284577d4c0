/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the tests of the fabric: a machine with some chips in one, and the
 * registers of its block in BAR2, by their raw numbers.
 */
#ifndef TRAINIUM_FABRIC_H
#define TRAINIUM_FABRIC_H

#include "trainium-qtest.h"

#define TF_CHIPS 72

/* States, reasons, statuses */
enum { OFF, DETECT, TRAINING, UP, DEGRADED, RECOVERY, FAILED, DISABLED };
enum { R_NONE, R_NO_PEER, R_WRONG_PEER, R_TIMEOUT, R_FLAPPING, R_ERRORS,
       R_PEER_OFF, R_LANES, R_CAP, R_CABLE };
enum { ST_OK, ST_NO_CHIP, ST_PARTITION, ST_NO_PATH, ST_NO_GROUP, ST_BROKEN,
       ST_UNBOUND, ST_ADDRESS, ST_BAD_OP };
enum { TX_BYTES, RX_BYTES, TX_PACKETS, RX_PACKETS, CRC_ERRORS, REPLAYS,
       RECOVERIES, LINK_DOWNS, DISCARDS, BLOCKED, MULTICASTS, REDUCTIONS };

typedef struct TfMachine {
    QTestState *qts;
    unsigned n;
    TqChip c[TF_CHIPS];
    TqQueue q[TF_CHIPS];        /* of engine 4, with engine memory in the host */
} TfMachine;

/* Starts it and waits for all firmware; @fabric: e.g. "kind=nvlink,chips=4" */
void tf_start(TfMachine *m, unsigned n, const char *fabric, const char *chip);
/* With ids in the fabric, one for each */
void tf_start_ids(TfMachine *m, unsigned n, const unsigned *ids,
                  const char *fabric, const char *chip);
void tf_stop(TfMachine *m);
/* The queue of each chip anew: after an abort, after a reset */
void tf_init_queue(TfMachine *m, unsigned chip);

/* A property of the object */
void tf_set(TfMachine *m, const char *prop, const char *value);
void tf_set_fails(TfMachine *m, const char *prop, const char *value);

uint32_t tf_read(TqChip *c, unsigned off);
uint64_t tf_read64(TqChip *c, unsigned off);
void tf_write(TqChip *c, unsigned off, uint32_t value);
uint32_t tf_port(TqChip *c, unsigned port, unsigned off);
void tf_port_write(TqChip *c, unsigned port, unsigned off, uint32_t value);
unsigned tf_state(TqChip *c, unsigned port);
unsigned tf_reason(TqChip *c, unsigned port);
/* Takes a snapshot, then reads */
uint64_t tf_count(TqChip *c, unsigned port, unsigned counter);
/* Over all ports of a chip */
uint64_t tf_sum(TqChip *c, unsigned counter);
unsigned tf_path(TqChip *c, unsigned dst);
void tf_step_us(TfMachine *m, unsigned us);

uint64_t tf_unicast(unsigned chip, uint64_t axi);
/* Copies, and waits until it is done */
void tf_copy(TfMachine *m, unsigned chip, uint64_t dst, uint64_t src,
             uint64_t len);
/* An engine that stopped goes on, with a new queue. */
void tf_recover(TfMachine *m, unsigned chip);
/* Copies, and waits until the engine has stopped for it; then starts again */
void tf_copy_fails(TfMachine *m, unsigned chip, uint64_t dst, uint64_t src,
                   uint64_t len, unsigned status, uint64_t addr);

#endif
