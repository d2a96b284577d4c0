/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the model copies, and memcpy() beside it: read-only properties for
 * benchmarks. Not stable. Times are CPU time of the main loop's thread, since
 * a busy host would otherwise be measured instead of the model.
 *
 *   x-busy-ns      from the first slice to the last of work that doorbells
 *                  left to the bottom half, with all that is between slices
 *   x-busy-bytes   bytes moved since the reset, in slices or in doorbells
 *   x-memcpy-rate  bytes a second of memcpy() of 256 MiB in this process,
 *                  best of three; reading it takes a while
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "trainium.h"
#include "udma.h"

#define COPY_SIZE (256 * MiB)

int64_t trn_bench_clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * (int64_t)NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

static void bench_busy_ns(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    uint64_t ns = d->exec ? trn_exec_busy_ns(d) : 0;

    visit_type_uint64(v, name, &ns, errp);
}

static void bench_busy_bytes(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    TrnDevice *d = TRAINIUM(obj);
    uint64_t bytes = 0;
    unsigned i;

    for (i = 0; d->engine && i < d->num_engines; i++) {
        bytes += d->engine[i].bytes;
    }
    visit_type_uint64(v, name, &bytes, errp);
}

static void bench_memcpy_rate(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    g_autofree uint8_t *src = g_try_malloc(COPY_SIZE);
    g_autofree uint8_t *dst = g_try_malloc(COPY_SIZE);
    int64_t best = INT64_MAX;
    uint64_t rate;
    unsigned i;

    if (!src || !dst) {
        error_setg(errp, "no memory for the measurement");
        return;
    }
    memset(src, 1, COPY_SIZE);
    memset(dst, 2, COPY_SIZE);
    for (i = 0; i < 3; i++) {
        int64_t start = trn_bench_clock();

        memcpy(dst, src, COPY_SIZE);
        barrier();
        best = MIN(best, trn_bench_clock() - start);
    }
    rate = COPY_SIZE * (uint64_t)NANOSECONDS_PER_SECOND / best;
    visit_type_uint64(v, name, &rate, errp);
}

void trn_bench_class_init(ObjectClass *oc)
{
    object_class_property_add(oc, "x-busy-ns", "uint64", bench_busy_ns, NULL,
                              NULL, NULL);
    object_class_property_set_description(oc, "x-busy-ns",
        "CPU time of copies that doorbells put off (read-only)");
    object_class_property_add(oc, "x-busy-bytes", "uint64", bench_busy_bytes,
                              NULL, NULL, NULL);
    object_class_property_set_description(oc, "x-busy-bytes",
        "bytes moved since the reset (read-only)");
    object_class_property_add(oc, "x-memcpy-rate", "uint64", bench_memcpy_rate,
                              NULL, NULL, NULL);
    object_class_property_set_description(oc, "x-memcpy-rate",
        "bytes a second of memcpy() in this process (read-only, slow)");
}
