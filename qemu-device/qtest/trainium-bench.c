/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of the model alone, one JSON object a line. Not a test; run with
 * QTEST_QEMU_BINARY set. Arguments: the rows that are wanted (default: all).
 *
 *   model.d2d.256m   one chain of 64 KiB descriptors behind one doorbell, from
 *   model.h2d.256m   HBM to HBM, guest memory to HBM, HBM to guest memory;
 *   model.d2h.256m   against memcpy() of 256 MiB in the same process
 *   model.desc64     copies of 64 bytes, HBM to HBM, each to a place apart
 *   model.idle-rss   resident memory a chip adds, all its engines initialised
 *
 * Rates: QEMU says itself how much CPU time its main loop spent on the copies
 * (property x-busy-ns), and how fast memcpy() is there (x-memcpy-rate), so
 * neither the qtest protocol nor other work on the host counts. All memory is
 * warm, the data is not zero; the best of several rounds is taken on both
 * sides.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define SIZE (256 * MIB)
#define ROUNDS 7

static FILE *out;

static void row(const char *name, double value, const char *unit,
                double against)
{
    fprintf(out, "{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\"", name, value,
            unit);
    if (against > 0) {
        fprintf(out, ",\"against\":%.6g,\"ratio\":%.3f", against,
                value / against);
    }
    fprintf(out, "}\n");
    fflush(out);
}

static uint64_t property(TqChip *c, const char *name)
{
    QDict *r = qtest_qmp(c->qts, "{'execute': 'qom-get', 'arguments': {"
                         "'path': '/machine/peripheral/chip0',"
                         "'property': %s}}", name);
    uint64_t v = qdict_get_int(r, "return");

    qobject_unref(r);
    return v;
}

/* Rings what was built and returns the CPU seconds it took QEMU. */
static double timed(TqChip *c, TqQueue *q)
{
    uint64_t before, after;

    tq_add_marker(q);
    tq_flush(q);
    before = property(c, "x-busy-ns");
    tq_kick(q);
    while (!tq_marker_seen(q)) {
        g_usleep(10000);
    }
    /* the slice that moved the marker may still be at its end */
    do {
        after = property(c, "x-busy-ns");
    } while (after == before);
    return (after - before) / 1e9;
}

static void bench_start(TqChip *c, TqQueue *q, uint32_t ring)
{
    tq_start_shared(c, NULL, "hbm-size=4G");
    tq_init_engine(c, 128);
    tq_init_queue(q, c, 128, 0, ring);
}

static void copies(const char *name, bool from_host, bool to_host)
{
    double seconds = 1e9, memcpy_rate = 0;
    uint64_t src, dst, host, at;
    unsigned i;
    TqChip c;
    TqQueue q;

    bench_start(&c, &q, 8192);
    host = tq_alloc(&c, SIZE, 4096);
    for (at = 0; at < SIZE; at += MIB) {
        tq_fill_random(c.ram + host + at, MIB, 1 + at / MIB);
    }
    src = from_host ? TQ_HOST | host : tq_hbm(1) + 16 * MIB;
    dst = to_host ? TQ_HOST | host : tq_hbm(0) + 16 * MIB;
    if (!from_host) {
        tq_copy(&q, src, TQ_HOST | host, SIZE);
        tq_finish(&q);
    }
    for (i = 0; i < ROUNDS; i++) {
        double s;

        tq_copy(&q, dst, src, SIZE);
        s = timed(&c, &q);
        if (i) {
            seconds = MIN(seconds, s);
            memcpy_rate = MAX(memcpy_rate, property(&c, "x-memcpy-rate"));
        }
    }
    row(name, SIZE / seconds / 1e9, "GB/s", memcpy_rate / 1e9);
    tq_stop(&c);
}

static void d2d(const char *name)
{
    copies(name, false, false);
}

static void h2d(const char *name)
{
    copies(name, true, false);
}

static void d2h(const char *name)
{
    copies(name, false, true);
}

static void desc64(const char *name)
{
    const unsigned n = 60000;
    double seconds = 1e9;
    unsigned i, k;
    TqChip c;
    TqQueue q;

    bench_start(&c, &q, 65536);
    qtest_memset(c.qts, tq_phys(&c, tq_hbm(1)), 0x5a, 4 * MIB);
    for (i = 0; i < ROUNDS; i++) {
        for (k = 0; k < n; k++) {
            tq_pair(&q, tq_hbm(0) + k * 192, tq_hbm(1) + k * 64, 64, 0, 0, 0);
        }
        seconds = MIN(seconds, timed(&c, &q));
    }
    row(name, n / seconds, "descriptors/s", 0);
    tq_stop(&c);
}

static double rss(unsigned chips)
{
    g_autoptr(GString) args = g_string_new("-machine q35 -m 512 -nodefaults");
    g_autofree char *path = NULL, *text = NULL;
    unsigned long long size, pages = 0;
    QTestState *qts;
    unsigned i, e;

    for (i = 0; i < chips; i++) {
        g_string_append_printf(args, " -device trainium2,addr=%02x.0", 4 + i);
    }
    qts = qtest_init(args->str);
    for (i = 0; i < chips; i++) {
        TqChip c;

        tq_attach(&c, qts, 0, (4 + i) << 3, i);
        tq_wait_firmware(&c);
        for (e = 0; e < 132; e++) {
            tq_init_engine(&c, e);
        }
    }
    path = g_strdup_printf("/proc/%d/statm", qtest_pid(qts));
    if (!g_file_get_contents(path, &text, NULL, NULL) ||
        sscanf(text, "%llu %llu", &size, &pages) != 2) {
        abort();
    }
    qtest_quit(qts);
    return pages * (double)qemu_real_host_page_size() / MIB;
}

static void idle_rss(const char *name)
{
    double none = rss(0), one = rss(1), four = rss(4);

    /* the first one may bring code with it that all share */
    row(name, MAX(one - none, (four - none) / 4), "MiB", 0);
}

static const struct {
    const char *name;
    void (*run)(const char *name);
} rows[] = {
    { "model.d2d.256m", d2d },
    { "model.h2d.256m", h2d },
    { "model.d2h.256m", d2h },
    { "model.desc64", desc64 },
    { "model.idle-rss", idle_rss },
};

int main(int argc, char **argv)
{
    char *test_args[] = { argv[0], NULL };
    char **test_argv = test_args;
    int test_argc = 1, i;
    unsigned r;

    /* stdout is for the rows alone, not for what the test library says */
    out = fdopen(dup(STDOUT_FILENO), "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        perror(argv[0]);
        return 1;
    }
    g_test_init(&test_argc, &test_argv, NULL);
    for (r = 0; r < ARRAY_SIZE(rows); r++) {
        bool wanted = argc == 1;

        for (i = 1; i < argc; i++) {
            wanted |= !strcmp(argv[i], rows[r].name);
        }
        if (wanted) {
            rows[r].run(rows[r].name);
        }
    }
    return 0;
}
