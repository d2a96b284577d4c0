/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notification blocks: registers of all of them, and the DMA trace that an
 * engine writes to slot 0 of its own.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "trainium-qtest.h"

#define RING(i) (0x100 + (i) * 0x28)

/* BAR0 offset; 0..7 cores, 8..23 TOP_SPs, then engines */
static uint64_t block(unsigned i)
{
    static const uint32_t core[] = {
        0x06001000, 0x06181000, 0x06401000, 0x06581000,
    };

    if (i < 8) {
        return (i / 4) * 0x40000000ull + core[i % 4];
    }
    i -= 8;
    if (i < 16) {
        return (i / 8) * 0x40000000ull + 0x06a00000 + (i % 8) * 0x40000;
    }
    return tq_engine(i - 16) + 0x41000;
}

#define NUM_BLOCKS (8 + 16 + 132)

static void test_registers(void)
{
    unsigned i, slot;
    TqChip c;

    tq_start(&c, NULL);
    for (i = 0; i < NUM_BLOCKS; i++) {
        slot = i % 96;
        tq_write(&c, block(i) + RING(slot) + 4, 0x4000);
        tq_write(&c, block(i) + RING(slot), i << 16);
        tq_write(&c, block(i) + RING(slot) + 8, 0x1000);
    }
    for (i = 0; i < NUM_BLOCKS; i++) {
        slot = i % 96;
        g_assert_cmphex(tq_read(&c, block(i) + RING(slot)), ==, i << 16);
        g_assert_cmphex(tq_read(&c, block(i) + RING(slot) + 4), ==, 0x4000);
        g_assert_cmphex(tq_read(&c, block(i) + RING(slot) + 8), ==, 0x1000);
        g_assert_cmphex(tq_read(&c, block(i) + RING(slot) + 0xc), ==, 0);
        slot = (i + 1) % 96;
        g_assert_cmphex(tq_read(&c, block(i) + RING(slot) + 8), ==, 0);
    }
    /* before the first slot is nothing */
    tq_write(&c, block(0) + 0xfc, 5);
    g_assert_cmphex(tq_read(&c, block(0) + 0xfc), ==, 0);
    tq_stop(&c);
}

typedef struct Trace {
    TqChip c;
    TqQueue q;
    uint64_t buf, ring;
} Trace;

static void trace_start(Trace *t, unsigned engine, unsigned queue)
{
    tq_start(&t->c, NULL);
    tq_init_engine(&t->c, engine);
    tq_init_queue(&t->q, &t->c, engine, queue, 256);
    t->buf = tq_alloc(&t->c, 65536, 4096);
    t->ring = tq_alloc(&t->c, 65536, 65536);
}

static void trace_on(Trace *t, uint64_t axi, uint32_t size)
{
    tq_ewrite(&t->c, t->q.engine, 0x41104, axi >> 32);
    tq_ewrite(&t->c, t->q.engine, 0x41100, axi);
    tq_ewrite(&t->c, t->q.engine, 0x41108, size);
}

/* A packet of @len bytes within the engine's own buffer, waited for */
static void packet(Trace *t, uint32_t len)
{
    tq_pair(&t->q, TQ_HOST + t->buf + 32768, TQ_HOST + t->buf, len,
            TQ_FIRST | TQ_LAST, TQ_COPY | TQ_BARRIER, 0);
    tq_kick(&t->q);
    tq_settle(&t->c);
}

static uint32_t entry(Trace *t, unsigned i, unsigned word)
{
    return qtest_readl(t->c.qts, t->ring + i * 16 + word * 4);
}

static void test_trace(void)
{
    uint64_t t0, t1;
    unsigned i;
    Trace t;

    trace_start(&t, 36, 5);
    packet(&t, 100);                        /* not on yet */
    trace_on(&t, TQ_HOST + t.ring, 64);     /* 4 entries */
    g_assert_cmphex(entry(&t, 0, 0), ==, 0);
    for (i = 0; i < 3; i++) {
        packet(&t, 100 + i);
        /* phase 1, type 4 (DMA trace), queue 5, engine 36; then the length */
        g_assert_cmphex(entry(&t, i, 0), ==, 0x84500024);
        g_assert_cmpint(entry(&t, i, 1), ==, 100 + i);
        g_assert_cmphex(entry(&t, i + 1, 0), ==, 0);
        g_assert_cmphex(tq_ereg(&t.c, 36, 0x4110c), ==, (i + 1) * 16);
    }
    t0 = (uint64_t)entry(&t, 0, 3) << 32 | entry(&t, 0, 2);
    t1 = (uint64_t)entry(&t, 2, 3) << 32 | entry(&t, 2, 2);
    g_assert_cmpint(t1, >, t0);
    /* wraps: the phase of the second pass is 0, of the third 1 */
    packet(&t, 103);
    g_assert_cmphex(tq_ereg(&t.c, 36, 0x4110c), ==, 0);
    packet(&t, 104);
    g_assert_cmphex(entry(&t, 0, 0), ==, 0x04500024);
    g_assert_cmpint(entry(&t, 0, 1), ==, 104);
    g_assert_cmphex(entry(&t, 1, 0), ==, 0x84500024);
    for (i = 0; i < 4; i++) {
        packet(&t, 105 + i);
    }
    g_assert_cmphex(entry(&t, 0, 0), ==, 0x84500024);
    g_assert_cmpint(entry(&t, 0, 1), ==, 108);
    /* never past the end of the ring */
    g_assert_cmphex(qtest_readl(t.c.qts, t.ring + 64), ==, 0);
    /* off */
    trace_on(&t, 0, 0);
    packet(&t, 200);
    g_assert_cmpint(entry(&t, 1, 1), !=, 200);
    tq_stop(&t.c);
}

/* A ring in HBM; head as software may set it */
static void test_hbm(void)
{
    uint32_t w[4];
    Trace t;

    trace_start(&t, 128, 0);
    trace_on(&t, tq_hbm(1) + 0x2000000, 4096);
    tq_ewrite(&t.c, 128, 0x4110c, 0xffffffff);
    packet(&t, 64);
    tq_get(&t.c, tq_hbm(1) + 0x2000000 + 4080, w, 16);
    g_assert_cmphex(le32_to_cpu(w[0]), ==, 0x84000080);
    g_assert_cmphex(tq_ereg(&t.c, 128, 0x4110c), ==, 0);
    tq_stop(&t.c);
}

/* Rings that cannot be: entries are lost, copies go on, nothing is hit. */
static void test_bad_rings(void)
{
    const struct {
        uint64_t axi;
        uint32_t size;
    } bad[] = {
        { TQ_HOST + 0x01000000, 0x1001 },           /* no power of two */
        { TQ_HOST + 0x01000000, 8 },                /* below an entry */
        { TQ_HOST + 0x01000010, 0x1000 },           /* not aligned */
        { TQ_HOST + 0x3ffffffff000ull, 0x1000 },    /* no RAM there */
        { 0x2000000000000000ull, 0x1000 },          /* nowhere */
        { 0x8006c84000ull, 0x1000 },                /* MISC RAM */
        { 0x001002421000ull, 0x1000 },              /* the engine's own queue 0 */
        { 0xfffffffffffff000ull, 0x1000 },
        { 0x10000000000000ull, 0x1000 },            /* a neighbour */
        { 0x600000000ull - 0x1000, 0x80000000u },   /* end of HBM, huge */
    };
    unsigned i;
    Trace t;

    trace_start(&t, 4, 0);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        trace_on(&t, bad[i].axi, bad[i].size);
        tq_copy(&t.q, TQ_HOST + t.buf + 32768, TQ_HOST + t.buf, 64);
        tq_finish(&t.q);
    }
    g_assert_cmphex(tq_misc_read(&t.c, 0x1ec), ==, 0);
    /* a good one says that entries were lost, once */
    trace_on(&t, TQ_HOST + t.ring, 0x1000);
    packet(&t, 64);
    packet(&t, 65);
    g_assert_cmphex(entry(&t, 0, 0), ==, 0xc4000004);
    g_assert_cmphex(entry(&t, 1, 0), ==, 0x84000004);
    tq_stop(&t.c);
}

/* A ring that cannot be is told to who asks QEMU for guest errors, no other is. */
static void test_log(void)
{
    g_autofree char *log = NULL, *args = NULL, *text = NULL;
    TqChip c;

    close(g_file_open_tmp("trainium-notific-XXXXXX", &log, NULL));
    args = g_strdup_printf("-d guest_errors -D %s", log);
    tq_start_args(&c, args, NULL);
    tq_init_engine(&c, 4);
    tq_ewrite(&c, 4, 0x41100, 0x10000);
    tq_ewrite(&c, 4, 0x41108, 0x1000);
    g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
    g_assert_null(strstr(text, "notification ring"));
    g_free(text);
    tq_ewrite(&c, 4, 0x41100, 0x10010);
    tq_ewrite(&c, 4, 0x41108, 0x1000);
    g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "notification ring at 0x10010 of 0x1000"));
    tq_stop(&c);
    unlink(log);
}

/* Throttling notices: asked for by message, then to slot 80 of each core */
static void test_throttle(void)
{
    /* sequence 1, command 5, 12 bytes: feature bit 0; its CRC-32C */
    const uint32_t header = 0x000c0501, crc = 0x638d907b;
    uint64_t ring;
    unsigned core;
    TqChip c;

    tq_start(&c, NULL);
    ring = tq_alloc(&c, 8 * 4096, 4096);
    for (core = 0; core < 8; core++) {
        uint64_t base = TQ_HOST + ring + core * 4096;

        tq_write(&c, block(core) + RING(80) + 4, base >> 32);
        tq_write(&c, block(core) + RING(80), base);
        tq_write(&c, block(core) + RING(80) + 8, 4096);
    }
    tq_set(&c, "throttle", "1000");
    g_assert_cmphex(qtest_readl(c.qts, ring), ==, 0);
    tq_misc_write(&c, 0x100, 1);
    tq_misc_write(&c, 0x1f0, header);
    tq_misc_write(&c, 0x1f4, crc);
    tq_misc_write(&c, 0x0f0, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    g_assert_cmphex(tq_misc_read(&c, 0x1f0), ==, 0x00080001);
    tq_set(&c, "throttle", "2500");
    for (core = 0; core < 8; core++) {
        g_assert_cmphex(qtest_readl(c.qts, ring + core * 4096), ==,
                        0x85000000 | core);
        g_assert_cmpint(qtest_readl(c.qts, ring + core * 4096 + 4), ==, 2500);
    }
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/notific/registers", test_registers);
    qtest_add_func("trainium/notific/trace", test_trace);
    qtest_add_func("trainium/notific/hbm", test_hbm);
    qtest_add_func("trainium/notific/bad-rings", test_bad_rings);
    qtest_add_func("trainium/notific/log", test_log);
    qtest_add_func("trainium/notific/throttle", test_throttle);
    return g_test_run();
}
