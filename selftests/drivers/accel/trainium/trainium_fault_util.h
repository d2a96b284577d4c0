/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of the device model, and what is told of failures */
#ifndef TRAINIUM_FAULT_UTIL_H
#define TRAINIUM_FAULT_UTIL_H

#include <stdarg.h>

#include "trainium_util.h"

/* A chip with fault-window=on whose BAR2 can be mapped (iomem=relaxed) */
bool trn_can_fault(const char *bdf);
/* "NAME=VALUE", see Documentation/model/faults.rst */
int trn_fault(const char *bdf, const char *text);
int trn_faultf(const char *bdf, const char *format, ...);
/* Takes all faults back. */
void trn_no_faults(const char *bdf);

/* Rings in use; the one that was not before */
struct trn_place {
	unsigned int engine, pair;
};

unsigned int trn_rings(const char *bdf, struct trn_place *places, unsigned int max);
int trn_new_ring(const char *bdf, const struct trn_place *before, unsigned int num,
		 struct trn_place *place);

/* Subscription, not waiting */
int trn_events_open(int fd, __u64 types);
int trn_event_next(int events, struct drm_trainium_event *event, __s64 ns);

/* Uevents: one that has both "KEY=VALUE" */
int trn_uevent_open(void);
bool trn_uevent_find(int s, const char *first, const char *second, __s64 ns);

/* Device coredumps: drops all; waits for one, reads it and drops it */
void trn_coredump_drop(void);
int trn_coredump(char *text, size_t size, __s64 ns);

#endif
