/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cores and TOP_SPs: events, semaphores, SBUF, activity counters. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "trainium-qtest.h"

#define NUM_SYNC 24                         /* 8 cores, 16 TOP_SPs */

/* BAR0 offset of a synchronisation region; 0..7 cores, then TOP_SPs */
static uint64_t sync_bar0(unsigned i)
{
    if (i < 8) {
        return 0xd0000000ull + i * 0x4000000ull + 0x2700000;
    }
    i -= 8;
    return i < 8 ? 0xf0000000ull + i * 0x400000ull
                 : 0xf2800000ull + (i - 8) * 0x400000ull;
}

static uint64_t tpb_axi(unsigned core)
{
    static const uint64_t base[] = {
        0x002000000000, 0x003000000000, 0x006000000000, 0x007000000000,
        0x802000000000, 0x803000000000, 0x806000000000, 0x807000000000,
    };

    return base[core];
}

static uint64_t sync_axi(unsigned i)
{
    if (i < 8) {
        return tpb_axi(i) + 0x2700000;
    }
    i -= 8;
    return i < 8 ? 0x008280000000ull + i * 0x40000000ull
                 : 0x808280000000ull + (i - 8) * 0x40000000ull;
}

static uint32_t sem(TqChip *c, unsigned i, unsigned n)
{
    return tq_read(c, sync_bar0(i) + 0x1000 + n * 4);
}

static void test_events(void)
{
    unsigned i;
    TqChip c;

    tq_start(&c, NULL);
    for (i = 0; i < NUM_SYNC; i++) {
        tq_write(&c, sync_bar0(i) + (i * 10) * 4, 1);
    }
    for (i = 0; i < NUM_SYNC; i++) {
        g_assert_cmphex(tq_read(&c, sync_bar0(i) + (i * 10) * 4), ==, 1);
        g_assert_cmphex(tq_read(&c, sync_bar0(i) + (i * 10 + 1) * 4), ==, 0);
        tq_write(&c, sync_bar0(i) + (i * 10) * 4, 0);
        g_assert_cmphex(tq_read(&c, sync_bar0(i) + (i * 10) * 4), ==, 0);
    }
    /* an event is 0 or 1 */
    tq_write(&c, sync_bar0(3) + 255 * 4, 0x80000000);
    g_assert_cmphex(tq_read(&c, sync_bar0(3) + 255 * 4), ==, 1);
    tq_stop(&c);
}

static void test_semaphores(void)
{
    unsigned i, n;
    TqChip c;

    tq_start(&c, NULL);
    for (i = 0; i < NUM_SYNC; i++) {
        for (n = 0; n < 256; n += 51) {
            tq_write(&c, sync_bar0(i) + 0x1400 + n * 4, i << 16 | n);
        }
    }
    for (i = 0; i < NUM_SYNC; i++) {
        for (n = 0; n < 256; n += 51) {
            g_assert_cmphex(sem(&c, i, n), ==, i << 16 | n);
        }
        g_assert_cmphex(sem(&c, i, 1), ==, 0);
    }
    /* they add and subtract what is written */
    tq_write(&c, sync_bar0(2) + 0x1400 + 8, 10);
    tq_write(&c, sync_bar0(2) + 0x1800 + 8, 5);
    g_assert_cmpint(sem(&c, 2, 2), ==, 15);
    tq_write(&c, sync_bar0(2) + 0x1c00 + 8, 20);
    g_assert_cmpint((int32_t)sem(&c, 2, 2), ==, -5);
    /* neighbours and other cores do not move */
    g_assert_cmpint(sem(&c, 2, 1), ==, 0);
    g_assert_cmpint(sem(&c, 2, 3), ==, 0);
    g_assert_cmpint(sem(&c, 1, 2), ==, 0);
    /* both ends of a signed word */
    tq_write(&c, sync_bar0(2) + 0x1400 + 8, 0x7fffffff);
    tq_write(&c, sync_bar0(2) + 0x1800 + 8, 1);
    g_assert_cmphex(sem(&c, 2, 2), ==, 0x80000000);
    tq_write(&c, sync_bar0(2) + 0x1c00 + 8, 1);
    g_assert_cmphex(sem(&c, 2, 2), ==, 0x7fffffff);
    /* the read area is read-only, the others write-only */
    tq_write(&c, sync_bar0(2) + 0x1000 + 8, 3);
    g_assert_cmphex(sem(&c, 2, 2), ==, 0x7fffffff);
    g_assert_cmphex(tq_read(&c, sync_bar0(2) + 0x1400 + 8), ==, 0);
    g_assert_cmphex(tq_read(&c, sync_bar0(2) + 0x1800 + 8), ==, 0);
    g_assert_cmphex(tq_read(&c, sync_bar0(2) + 0x1c00 + 8), ==, 0);
    g_assert_cmphex(sem(&c, 2, 2), ==, 0x7fffffff);
    /* nothing between events and semaphores */
    tq_write(&c, sync_bar0(2) + 0x400, 1);
    g_assert_cmphex(tq_read(&c, sync_bar0(2) + 0x400), ==, 0);
    tq_stop(&c);
}

/* Engines signal cores: a write of 4 bytes to the address of a semaphore */
static void test_dma(void)
{
    uint64_t src, dst;
    uint32_t v;
    unsigned i;
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    tq_init_engine(&c, 4);
    tq_init_queue(&q, &c, 4, 0, 64);
    src = tq_alloc(&c, 4096, 4096);
    dst = tq_alloc(&c, 4096, 4096);
    qtest_writel(c.qts, src, 3);
    qtest_writel(c.qts, src + 4, 2);
    for (i = 0; i < NUM_SYNC; i++) {
        tq_pair(&q, sync_axi(i) + 0x1400 + 28, TQ_HOST + src, 4,
                TQ_FIRST | TQ_LAST, TQ_COPY, 0);
        tq_pair(&q, sync_axi(i) + 0x1800 + 28, TQ_HOST + src + 4, 4,
                TQ_FIRST | TQ_LAST | TQ_DMB, TQ_COPY, 0);
        tq_pair(&q, sync_axi(i) + 36, TQ_HOST + src, 4,
                TQ_FIRST | TQ_LAST, TQ_COPY, 0);
        /* and back: what it is now */
        tq_pair(&q, TQ_HOST + dst, sync_axi(i) + 0x1000 + 28, 4,
                TQ_FIRST | TQ_LAST | TQ_DMB, TQ_COPY, 0);
        tq_finish(&q);
        g_assert_cmpint(sem(&c, i, 7), ==, 5);
        g_assert_cmpint(tq_read(&c, sync_bar0(i) + 36), ==, 1);
        tq_get(&c, TQ_HOST + dst, &v, 4);
        g_assert_cmpint(le32_to_cpu(v), ==, 5);
    }
    tq_stop(&c);
}

/* SBUF is memory, for the CPU and for engines, and each core's own. */
static void test_sbuf(void)
{
    g_autofree uint8_t *a = g_malloc(65536), *b = g_malloc(65536);
    uint64_t src;
    unsigned i;
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    for (i = 0; i < 8; i++) {
        uint64_t base = c.bar0 + 0xd0000000ull + i * 0x4000000ull;

        qtest_writel(c.qts, base, 0x100 + i);
        qtest_writeb(c.qts, base + 0x1fffffd, i);
        qtest_writeq(c.qts, base + 0x100001, 0x1122334455667788ull + i);
    }
    for (i = 0; i < 8; i++) {
        uint64_t base = c.bar0 + 0xd0000000ull + i * 0x4000000ull;

        g_assert_cmphex(qtest_readl(c.qts, base), ==, 0x100 + i);
        g_assert_cmphex(qtest_readl(c.qts, base + 0x1fffffc), ==, i << 8);
        g_assert_cmphex(qtest_readq(c.qts, base + 0x100001), ==,
                        0x1122334455667788ull + i);
    }
    tq_init_engine(&c, 100);
    tq_init_queue(&q, &c, 100, 3, 64);
    src = tq_alloc(&c, 65536, 4096);
    tq_fill_random(a, 65536, 1);
    tq_put(&c, TQ_HOST + src, a, 65536);
    tq_copy(&q, tpb_axi(6) + 0x1000003, TQ_HOST + src, 65536);
    tq_finish(&q);
    qtest_memread(c.qts, c.bar0 + 0xd0000000ull + 6 * 0x4000000ull + 0x1000003,
                  b, 65536);
    g_assert_cmpint(memcmp(a, b, 65536), ==, 0);

    /* A core's reset leaves it, the machine's does not. */
    tq_misc_write(&c, 0x1d8, 1 << 6);
    tq_misc_write(&c, 0x1ec, 2);
    tq_misc_write(&c, 0x800, 1);
    qtest_clock_step(c.qts, 20 * 1000 * 1000);
    qtest_memread(c.qts, c.bar0 + 0xd0000000ull + 6 * 0x4000000ull + 0x1000003,
                  b, 65536);
    g_assert_cmpint(memcmp(a, b, 65536), ==, 0);
    qtest_system_reset(c.qts);
    tq_attach(&c, c.qts, 0, 4 << 3, 0);
    tq_wait_firmware(&c);
    g_assert_cmphex(qtest_readl(c.qts, c.bar0 + 0xd0000000ull), ==, 0);
    qtest_memread(c.qts, c.bar0 + 0xd0000000ull + 6 * 0x4000000ull + 0x1000003,
                  b, 65536);
    g_assert(buffer_is_zero(b, 65536));
    tq_stop(&c);
}

static uint64_t pe_bar0(unsigned core)
{
    static const uint32_t in_die[] = {
        0x06141000, 0x062c1000, 0x06541000, 0x066c1000,
    };

    return (core / 4) * 0x40000000ull + in_die[core % 4] + 0x100;
}

static uint64_t pe64(TqChip *c, uint64_t off)
{
    uint64_t hi = tq_read(c, off + 4);

    return hi << 32 | tq_read(c, off);
}

static void test_pe(void)
{
    const unsigned group = 0x30, row = 9 * 0x30;
    uint64_t before, after;
    unsigned core, r;
    TqChip c;

    tq_start(&c, NULL);
    for (core = 0; core < 8; core++) {
        for (r = 0; r < 4; r++) {
            uint64_t base = pe_bar0(core) + r * row;

            /* no instruction runs: matmul of group 4, load of groups 0..3, 8 */
            g_assert_cmpint(pe64(&c, base + 4 * group), ==, 0);
            g_assert_cmpint(pe64(&c, base + 8 * group + 8), ==, 0);
            g_assert_cmpint(pe64(&c, base + 3 * group + 8), ==, 0);
            before = pe64(&c, base + 4 * group + 0x10);
            qtest_clock_step(c.qts, 5000000000ll);  /* more than 32 bits */
            after = pe64(&c, base + 4 * group + 0x10);
            g_assert_cmpint(after - before, >=, 5000000000ll);
        }
    }
    /* a core's reset starts it anew */
    tq_misc_write(&c, 0x1d8, 1 << 5);
    tq_misc_write(&c, 0x1ec, 2);
    tq_misc_write(&c, 0x800, 1);
    qtest_clock_step(c.qts, 20 * 1000 * 1000);
    g_assert_cmpint(pe64(&c, pe_bar0(5) + 4 * group + 0x10), <=, 20000000);
    g_assert_cmpint(pe64(&c, pe_bar0(4) + 4 * group + 0x10), >=, 5000000000ll);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/sync/events", test_events);
    qtest_add_func("trainium/sync/semaphores", test_semaphores);
    qtest_add_func("trainium/sync/dma", test_dma);
    qtest_add_func("trainium/sync/sbuf", test_sbuf);
    qtest_add_func("trainium/sync/pe", test_pe);
    return g_test_run();
}
