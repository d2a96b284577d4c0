// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoints' definitions; every other file only calls them. */
#include "trainium_ring.h"

#define CREATE_TRACE_POINTS
#include "trainium_trace.h"
