/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies: packets, chains, rings. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "trainium-qtest.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static void roundtrip(TqQueue *q, unsigned stack, uint64_t len)
{
    TqChip *c = q->c;
    uint64_t src = TQ_HOST | tq_alloc(c, len, 4096);
    uint64_t dst = TQ_HOST | tq_alloc(c, len, 4096);
    uint64_t dev = tq_hbm(stack) + 0x5c0000000ull;
    g_autofree uint8_t *buf = g_malloc(len);

    tq_fill_random(buf, len, q->engine * 4 + stack);
    tq_put(c, src, buf, len);
    tq_copy(q, dev, src, len);
    tq_finish(q);
    tq_check(c, dev, buf, len);             /* through BAR4 */
    tq_copy(q, dst, dev, len);
    tq_finish(q);
    tq_check(c, dst, buf, len);
}

/* host -> HBM -> host on the engines the driver uses, and each stack */
static void test_roundtrip(void)
{
    static const unsigned engines[] = { 128, 129, 130, 131, 4, 44, 87, 127 };
    TqChip c;
    TqQueue q;
    unsigned i;

    tq_start(&c, NULL);
    for (i = 0; i < ARRAY_SIZE(engines); i++) {
        tq_init_engine(&c, engines[i]);
        tq_init_queue(&q, &c, engines[i], i, 1024);
        roundtrip(&q, i % 4, 200 * KIB);
    }
    tq_init_queue(&q, &c, 128, 1, 8192);
    roundtrip(&q, 0, 5 * MIB);
    tq_stop(&c);
}

/*
 * Each of the 132 engines copies in HBM, with rings in HBM. All descriptors
 * are written before the first doorbell, so an engine at a wrong address
 * would find another one's ring.
 */
static void test_all_engines(void)
{
    TqChip c;
    uint8_t buf[256];
    unsigned e;

    tq_start(&c, NULL);
    for (e = 0; e < 132; e++) {
        uint64_t base = tq_hbm(e % 4) + 0x10000000 + e * 0x10000;

        tq_init_engine(&c, e);
        tq_fill_random(buf, sizeof(buf), e);
        tq_put(&c, base + 0x8000, buf, sizeof(buf));
    }
    for (e = 0; e < 132; e++) {
        uint64_t base = tq_hbm(e % 4) + 0x10000000 + e * 0x10000;
        TqQueue q;

        tq_init_queue_at(&q, &c, e, e % 14, base, 32, base + 0x1000, 32);
        tq_pair(&q, base + 0x9000, base + 0x8000, 256, 0, 0, 0);
        tq_kick(&q);
    }
    for (e = 0; e < 132; e++) {
        uint64_t base = tq_hbm(e % 4) + 0x10000000 + e * 0x10000;

        tq_fill_random(buf, sizeof(buf), e);
        tq_wait(&c, tq_phys(&c, base + 0x90fc), ldl_le_p(buf + 252));
        tq_check(&c, base + 0x9000, buf, sizeof(buf));
    }
    tq_stop(&c);
}

/* every stack to every stack, PREPROC and SBUF of each core */
static void test_targets(void)
{
    static const uint64_t places[] = {
        0x000000000000, 0x004000000000, 0x800000000000, 0x804000000000,
        0x001200000000, 0x005200000000, 0x801200000000, 0x805200000000,
        0x002000000000, 0x003000000000, 0x006000000000, 0x007000000000,
        0x802000000000, 0x803000000000, 0x806000000000, 0x807000000000,
    };
    g_autofree uint8_t *buf = g_malloc(64 * KIB);
    TqChip c;
    TqQueue q;
    uint64_t src, dst;
    unsigned i, j;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 1024);
    src = TQ_HOST | tq_alloc(&c, 16 * 4 * KIB, 4096);
    dst = TQ_HOST | tq_alloc(&c, 256 * 256, 4096);
    for (i = 0; i < 16; i++) {
        tq_fill_random(buf, 4 * KIB, 100 + i);
        tq_put(&c, src + i * 4 * KIB, buf, 4 * KIB);
        tq_copy(&q, places[i], src + i * 4 * KIB, 4 * KIB);
    }
    /* block i goes to 4 KiB slot i + 1 of place j, and back from there */
    for (i = 0; i < 16; i++) {
        for (j = 0; j < 16; j++) {
            uint64_t at = places[j] + (i + 1) * 4 * KIB;

            tq_pair(&q, at, places[i] + j * 256, 256, 0, TQ_BARRIER, 0);
            tq_pair(&q, dst + (i * 16 + j) * 256, at, 256, 0, TQ_BARRIER, 0);
        }
    }
    tq_finish(&q);
    for (i = 0; i < 16; i++) {
        tq_fill_random(buf, 4 * KIB, 100 + i);
        for (j = 0; j < 16; j++) {
            tq_check(&c, dst + (i * 16 + j) * 256, buf + j * 256, 256);
        }
    }
    tq_stop(&c);
}

static void test_sbuf_bar0(void)
{
    TqChip c;
    TqQueue q;
    uint64_t host;
    unsigned i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    host = tq_alloc(&c, 4096, 4096);
    for (i = 0; i < 8; i++) {
        static const uint64_t tpb[] = {
            0x002000000000, 0x003000000000, 0x006000000000, 0x007000000000,
            0x802000000000, 0x803000000000, 0x806000000000, 0x807000000000,
        };
        uint64_t win = c.bar0 + 0xd0000000 + i * 0x4000000;

        qtest_writel(c.qts, host, 0x5b0f0000 + i);
        tq_pair(&q, tpb[i] + 0x1fffffc, TQ_HOST | host, 4, 0, TQ_BARRIER, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, win + 0x1fffffc), ==,
                        0x5b0f0000 + i);
        qtest_writel(c.qts, win + 0x100, 0x600d0000 + i);
        tq_pair(&q, TQ_HOST | (host + 8), tpb[i] + 0x100, 4, 0, TQ_BARRIER, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, host + 8), ==, 0x600d0000 + i);
    }
    tq_stop(&c);
}

/* Length 0 means 64 KiB, on both sides; nothing is written beyond. */
static void test_64k(void)
{
    g_autofree uint8_t *buf = g_malloc(64 * KIB), *guard = g_malloc(4096);
    uint64_t src, dst;
    uint32_t desc;
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    src = tq_alloc(&c, 64 * KIB, 4096);
    dst = tq_alloc(&c, 72 * KIB, 4096);
    tq_fill_random(buf, 64 * KIB, 1);
    memset(guard, 0xa5, 4096);
    tq_put(&c, TQ_HOST | src, buf, 64 * KIB);
    qtest_memset(c.qts, dst, 0xa5, 72 * KIB);
    tq_pair(&q, TQ_HOST | (dst + 4096), TQ_HOST | src, 65536, 0, TQ_BARRIER, 0);
    tq_flush(&q);
    desc = qtest_readl(c.qts, q.m2s.axi & ~TQ_HOST);
    g_assert_cmphex(desc & 0xffff, ==, 0);
    tq_finish(&q);
    tq_check(&c, TQ_HOST | dst, guard, 4096);
    tq_check(&c, TQ_HOST | (dst + 4096), buf, 64 * KIB);
    tq_check(&c, TQ_HOST | (dst + 68 * KIB), guard, 4096);
    tq_stop(&c);
}

/* Odd sizes and offsets; every byte around the target stays as it was. */
static void test_odd(void)
{
    const uint64_t size = 192 * KIB;
    g_autofree uint8_t *src = g_malloc(size), *dst = g_malloc(size);
    g_autoptr(GRand) rand = g_rand_new_with_seed(20);
    uint64_t host, dev = tq_hbm(2) + 0x123456789ull;
    TqChip c;
    TqQueue q;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 130);
    tq_init_queue(&q, &c, 130, 1, 1024);
    host = TQ_HOST | tq_alloc(&c, size, 4096);
    tq_fill_random(src, size, 2);
    tq_fill_random(dst, size, 3);
    tq_put(&c, host, src, size);
    tq_put(&c, dev, dst, size);
    for (i = 0; i < 400; i++) {
        uint32_t len = g_rand_int_range(rand, 1, i & 1 ? 65537 : 70);
        uint32_t from = g_rand_int_range(rand, 0, size - len + 1);
        uint32_t to = g_rand_int_range(rand, 0, size - len + 1);

        tq_pair(&q, dev + to, host + from, len, 0, TQ_BARRIER, 0);
        memcpy(dst + to, src + from, len);
    }
    tq_finish(&q);
    tq_check(&c, dev, dst, size);
    tq_stop(&c);
}

/*
 * A fill as the vendor's driver does it: 64 KiB from the host to the start of
 * the target, then copies, always from the target's first 64 KiB.
 */
static void test_memset_chain(void)
{
    const uint64_t size = 16 * MIB;
    g_autofree uint8_t *buf = g_malloc(size), *pattern = g_malloc(64 * KIB);
    uint64_t host, dev = tq_hbm(1) + 0x40000000, off;
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 129);
    tq_init_queue(&q, &c, 129, 0, 1024);
    host = TQ_HOST | tq_alloc(&c, 64 * KIB, 4096);
    tq_fill_random(pattern, 64 * KIB, 4);
    tq_put(&c, host, pattern, 64 * KIB);
    tq_pair(&q, dev, host, 65536, 0, TQ_BARRIER, 0);
    for (off = 64 * KIB; off < size; off += 64 * KIB) {
        tq_pair(&q, dev + off, dev, 65536, off == 64 * KIB ? TQ_DMB : 0,
                off + 64 * KIB == size ? TQ_BARRIER : 0, 0);
    }
    tq_finish(&q);
    for (off = 0; off < size; off += 64 * KIB) {
        memcpy(buf + off, pattern, 64 * KIB);
    }
    tq_check(&c, dev, buf, size);
    tq_stop(&c);
}

/*
 * Each copy reads what the one before it wrote, side by side in memory: one
 * large move instead of them would be something else.
 */
static void test_smear(void)
{
    static const uint32_t sizes[] = { 64, 4096, 65536 };
    g_autofree uint8_t *buf = g_malloc(64 * KIB);
    TqChip c;
    TqQueue q;
    unsigned i, k;

    tq_start(&c, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    for (k = 0; k < ARRAY_SIZE(sizes); k++) {
        uint32_t n = sizes[k];
        uint64_t up = tq_hbm(0) + k * 2 * MIB;
        uint64_t down = TQ_HOST | tq_alloc(&c, 21 * n, 4096);

        tq_fill_random(buf, n, 60 + k);
        tq_put(&c, up, buf, n);
        tq_put(&c, down + 20 * n, buf, n);
        for (i = 0; i < 20; i++) {
            tq_pair(&q, up + (i + 1) * n, up + i * n, n, TQ_DMB, 0, 0);
        }
        for (i = 20; i > 0; i--) {
            tq_pair(&q, down + (i - 1) * n, down + i * n, n, TQ_DMB, 0, 0);
        }
        tq_finish(&q);
        for (i = 0; i <= 20; i++) {
            tq_check(&c, up + i * n, buf, n);
            tq_check(&c, down + i * n, buf, n);
        }
    }
    tq_stop(&c);
}

/* Source and target cut at different places; a packet takes fresh S2M ones. */
static void test_packets(void)
{
    static const struct {
        uint32_t from[8], to[8];
    } cut[] = {
        { { 1, 100, 65536, 7 }, { 65000, 644 } },
        { { 65536, 65536 }, { 1, 65536, 65535 } },
        { { 4096 }, { 1000, 1000, 1000, 1096 } },
        { { 3, 3, 3, 3, 3, 3, 3, 3 }, { 24 } },
        { { 512, 512 }, { 512, 512 } },
        { { 65536, 65536, 65536, 65536 }, { 65536, 65536, 65536, 65536 } },
    };
    const uint64_t size = 256 * KIB;
    g_autofree uint8_t *buf = g_malloc(size);
    TqChip c;
    TqQueue q;
    uint64_t src, dev = tq_hbm(3);
    unsigned i, k, round;

    tq_start(&c, NULL);
    tq_init_engine(&c, 131);
    tq_init_queue(&q, &c, 131, 2, 64);
    src = TQ_HOST | tq_alloc(&c, size, 4096);
    tq_fill_random(buf, size, 5);
    tq_put(&c, src, buf, size);
    for (round = 0; round < 20; round++) {
        i = round % ARRAY_SIZE(cut);
        uint64_t at = 0, total;

        for (k = 0; k < 8 && cut[i].from[k]; k++) {
            bool last = k == 7 || !cut[i].from[k + 1];

            tq_m2s(&q, src + at, cut[i].from[k],
                   (k ? 0 : TQ_FIRST) | (last ? TQ_LAST : 0),
                   TQ_COPY | (last ? TQ_BARRIER : 0));
            at += cut[i].from[k];
        }
        total = at;
        for (at = 0, k = 0; k < 8 && cut[i].to[k]; k++) {
            /* pieces land one byte apart, so that a slip shows */
            tq_s2m(&q, dev + round * MIB + at + k, cut[i].to[k], 0);
            at += cut[i].to[k];
        }
        g_assert_cmpint(at, ==, total);
        tq_finish(&q);
        for (at = 0, k = 0; k < 8 && cut[i].to[k]; k++) {
            tq_check(&c, dev + round * MIB + at + k, buf + at, cut[i].to[k]);
            at += cut[i].to[k];
        }
    }
    tq_stop(&c);
}

/* Packets that begin at the end of a ring and go on at its start */
static void test_packet_wrap(void)
{
    uint8_t buf[600];
    TqChip c;
    TqQueue q;
    unsigned i, k;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue_at(&q, &c, 128, 0, TQ_HOST | tq_alloc(&c, 512, 256), 32,
                     TQ_HOST | tq_alloc(&c, 768, 256), 48);
    /* behind the rings nothing that looks like a descriptor */
    qtest_memset(c.qts, tq_alloc(&c, 4096, 4096), 0xff, 4096);
    for (i = 0; i < 70; i++) {
        tq_fill_random(buf, sizeof(buf), 200 + i);
        tq_put(&c, tq_hbm(0) + i, buf, sizeof(buf));
        for (k = 0; k < 6; k++) {
            tq_m2s(&q, tq_hbm(0) + i + k * 100, 100, (k ? 0 : TQ_FIRST) |
                   (k == 5 ? TQ_LAST : 0), TQ_COPY | (k == 5 ? TQ_BARRIER : 0));
        }
        for (k = 0; k < 4; k++) {
            tq_s2m(&q, tq_hbm(1) + i * 1000 + k * 150, 150, 0);
        }
        tq_finish(&q);
        tq_check(&c, tq_hbm(1) + i * 1000, buf, sizeof(buf));
    }
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a040), ==, 0);
    tq_stop(&c);
}

/* Wraps of a ring; the host engines compare the ring ids. */
static void wrap(uint32_t m2s_len, uint32_t s2m_len, unsigned per_kick)
{
    const unsigned rounds = 6 * MAX(m2s_len, s2m_len) / per_kick + 1;
    g_autofree uint8_t *buf = g_malloc(64 * KIB);
    uint64_t src, dst;
    TqChip c;
    TqQueue q;
    unsigned i, n = 0;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    src = tq_alloc(&c, 64 * KIB, 4096);
    dst = tq_alloc(&c, 64 * KIB, 4096);
    tq_init_queue_at(&q, &c, 128, 0,
                     TQ_HOST | tq_alloc(&c, m2s_len * 16, 256), m2s_len,
                     TQ_HOST | tq_alloc(&c, s2m_len * 16, 256), s2m_len);
    tq_fill_random(buf, 64 * KIB, 6);
    tq_put(&c, TQ_HOST | src, buf, 64 * KIB);
    for (i = 0; i < rounds; i++) {
        unsigned k;

        for (k = 0; k < per_kick; k++, n++) {
            uint32_t at = n * 61 % 65000;

            tq_pair(&q, TQ_HOST | (dst + at), TQ_HOST | (src + at), 61, 0,
                    TQ_BARRIER, 0);
        }
        tq_finish(&q);
        g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x34)), ==,
                        q.m2s.next | q.m2s.rid << 30);
        g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==,
                        q.m2s.next | q.m2s.rid << 30);
        g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x34)), ==,
                        q.s2m.next | q.s2m.rid << 30);
    }
    /* wrapped more than four times: all ring ids were seen */
    g_assert_cmpint(n + rounds, >, 5 * MAX(m2s_len, s2m_len));
    tq_check(&c, TQ_HOST | dst, buf, MIN(n * 61, 65000));
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a040), ==, 0);
    tq_stop(&c);
}

static void test_wrap(void)
{
    wrap(32, 32, 15);
}

/* A ring's length is a multiple of 16 and need not be a power of two. */
static void test_wrap_odd(void)
{
    wrap(48, 80, 17);
}

/* Many descriptors behind one doorbell, over the end of the ring. */
static void test_wrap_bulk(void)
{
    wrap(1008, 1040, 990);
}

/* Rings with no length, as initialisation leaves them: doorbells do nothing. */
static void test_zero_length_ring(void)
{
    TqChip c;
    TqQueue q;
    unsigned i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    for (i = 0; i < 16; i++) {
        tq_ewrite(&c, 128, 0x21038 + i * 0x1000, 1);
        tq_ewrite(&c, 128, 0x1038 + i * 0x1000, 1);
        tq_ewrite(&c, 128, 0x1038 + i * 0x1000, 0xffffff);
    }
    tq_settle(&c);
    g_assert_cmphex(tq_ereg(&c, 128, 0x200) & 0x2222, ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x20200) & 0x2222, ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a040), ==, 0);
    /* and the same queue works once it has a ring */
    tq_init_queue(&q, &c, 128, 3, 32);
    roundtrip(&q, 0, 4096);
    tq_stop(&c);
}

/* Transfers start when both sides have descriptors, whichever comes first. */
static void test_one_side(void)
{
    TqChip c;
    TqQueue q;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    for (i = 0; i < 2; i++) {
        tq_add_marker(&q);
        (i ? tq_ring_m2s : tq_ring_s2m)(&q, 1);
        tq_settle(&c);
        g_assert_false(tq_marker_seen(&q));
        g_assert_cmphex(tq_ereg(&c, 128, 0x200) & 0x2222, ==, 0);
        g_assert_cmphex(tq_ereg(&c, 128, 0x20200) & 0x2222, ==, 0);
        (i ? tq_ring_s2m : tq_ring_m2s)(&q, 1);
        tq_wait(&c, q.mark + 4, TQ_MARK);
    }
    /* S2M far ahead, as software that prefetches does */
    for (i = 0; i < 20; i++) {
        tq_s2m(&q, tq_hbm(0) + i * 4, 4, 0);
    }
    tq_ring_s2m(&q, 20);
    for (i = 0; i < 20; i++) {
        qtest_writel(c.qts, q.mark, 0x1000 + i);
        tq_m2s(&q, TQ_HOST | q.mark, 4, TQ_FIRST | TQ_LAST, TQ_COPY);
        tq_ring_m2s(&q, 1);
        tq_wait(&c, c.bar4 + i * 4, 0x1000 + i);
    }
    tq_stop(&c);
}

/*
 * More than the ring holds in one doorbell: whatever the device makes of it,
 * it must not hang, and another engine and a reset queue must work.
 */
static void test_doorbell_overflow(void)
{
    TqChip c;
    TqQueue q, other;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 129);
    tq_init_queue(&other, &c, 129, 0, 32);
    tq_init_queue(&q, &c, 128, 0, 32);
    while (q.m2s.next < 31) {
        tq_pair(&q, tq_hbm(0) + q.m2s.next * 4, tq_hbm(1), 4, 0, 0, 0);
    }
    tq_ring_s2m(&q, 0xffffff);
    tq_ring_m2s(&q, 0xffffff);
    tq_ring_m2s(&q, 0xffffffff);
    tq_settle(&c);
    roundtrip(&other, 2, 4096);
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_wait(&c, c.bar0 + 0x06c84000 + 0x1ec, 0);
    tq_wait_firmware(&c);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 32);
    roundtrip(&q, 3, 4096);
    tq_stop(&c);
}

/* 16 queues of an engine with work at once: all get done. */
static void test_queues(void)
{
    TqChip c;
    TqQueue q[16];
    g_autofree uint8_t *buf = g_malloc(256 * KIB);
    uint64_t src;
    unsigned i, k;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    src = TQ_HOST | tq_alloc(&c, 256 * KIB, 4096);
    tq_fill_random(buf, 256 * KIB, 7);
    tq_put(&c, src, buf, 256 * KIB);
    for (i = 0; i < 16; i++) {
        tq_init_queue(&q[i], &c, 128, i, 64);
        for (k = 0; k < 4; k++) {
            tq_copy(&q[i], tq_hbm(i % 4) + i * MIB + k * 256 * KIB, src,
                    256 * KIB);
        }
        tq_add_marker(&q[i]);
    }
    for (i = 0; i < 16; i++) {
        tq_kick(&q[i]);
    }
    for (i = 0; i < 16; i++) {
        tq_wait(&c, q[i].mark + 4, TQ_MARK);
        for (k = 0; k < 4; k++) {
            tq_check(&c, tq_hbm(i % 4) + i * MIB + k * 256 * KIB, buf,
                     256 * KIB);
        }
    }
    tq_stop(&c);
}

/* Pause keeps what was rung; the queue goes on when it is enabled again. */
static void test_pause(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 9, 64);
    tq_finish(&q);
    tq_write(&c, tq_m2s_reg(&q, 0x20), 0x03000000);
    tq_write(&c, tq_s2m_reg(&q, 0x20), 0x03000000);
    tq_copy(&q, tq_hbm(0) + 0x5000, TQ_HOST | q.mark, 4);
    tq_add_marker(&q);
    tq_kick(&q);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x34)), ==, 0x40000001);
    tq_write(&c, tq_s2m_reg(&q, 0x20), 0x03030000);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    tq_write(&c, tq_m2s_reg(&q, 0x20), 0x03030000);
    tq_wait(&c, q.mark + 4, TQ_MARK);
    g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 0x5000), ==, TQ_MARK);
    tq_stop(&c);
}

/* The other ways to stop an engine: state, and either stream */
static void test_stop(void)
{
    static const struct {
        uint32_t reg, stop, go;
    } how[] = {
        { 0x00204, 2, 1 }, { 0x20204, 2, 1 },           /* change_state */
        { 0x00258, 0x103, 0x102 }, { 0x20250, 1, 0 },   /* stream_cfg */
    };
    TqChip c;
    TqQueue q;
    unsigned i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 1, 64);
    for (i = 0; i < ARRAY_SIZE(how); i++) {
        tq_ewrite(&c, 128, how[i].reg, how[i].stop);
        tq_add_marker(&q);
        tq_kick(&q);
        tq_settle(&c);
        g_assert_false(tq_marker_seen(&q));
        g_assert_cmpint(tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0x1ffffff, ==, 1);
        tq_ewrite(&c, 128, how[i].reg, how[i].go);
        tq_wait(&c, q.mark + 4, TQ_MARK);
    }
    tq_stop(&c);
}

/* A reset drops what was rung; the ring starts again at 0 with ring id 1. */
static void test_queue_reset(void)
{
    TqChip c;
    TqQueue q, again;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 4, 64);
    for (i = 0; i < 10; i++) {
        tq_finish(&q);
    }
    tq_write(&c, tq_m2s_reg(&q, 0x20), 0x03000000);
    tq_write(&c, tq_s2m_reg(&q, 0x20), 0x03000000);
    tq_add_marker(&q);
    tq_kick(&q);
    tq_init_queue_at(&again, &c, 128, 4, q.m2s.axi, 64, q.s2m.axi, 64);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    for (i = 0; i < 200; i++) {
        tq_finish(&again);
    }
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a000), ==, 0);
    tq_stop(&c);
}

/* The completion head counts S2M descriptors when the spare word allows it. */
static void test_completion_head(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    tq_copy(&q, tq_hbm(0), TQ_HOST | q.mark, 4);
    tq_copy(&q, tq_hbm(0), TQ_HOST | q.mark, 4);
    tq_finish(&q);
    g_assert_cmpint(tq_read(&c, tq_m2s_reg(&q, 0x4c)) & 0xffffff, ==, 3);
    g_assert_cmpint(tq_read(&c, tq_s2m_reg(&q, 0x4c)) & 0xffffff, ==, 3);
    g_assert_cmpint(tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0x1ffffff, ==, 0);
    tq_stop(&c);
}

/* Completion rings, which the vendor's driver leaves off: 16 bytes each. */
static void test_completion_ring(void)
{
    uint64_t m2s, s2m;
    TqChip c;
    TqQueue q;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 32);
    m2s = tq_alloc(&c, 512, 256);
    s2m = tq_alloc(&c, 512, 256);
    tq_write(&c, tq_m2s_reg(&q, 0x44), m2s);
    tq_write(&c, tq_m2s_reg(&q, 0x48), TQ_HOST >> 32);
    tq_write(&c, tq_s2m_reg(&q, 0x44), s2m);
    tq_write(&c, tq_s2m_reg(&q, 0x48), TQ_HOST >> 32);
    tq_write(&c, tq_m2s_reg(&q, 0xa0), 1);
    tq_write(&c, tq_s2m_reg(&q, 0x54), 1);
    /* a packet of two sources and three targets, and the marker */
    tq_m2s(&q, tq_hbm(0), 4, TQ_FIRST, TQ_COPY);
    tq_m2s(&q, tq_hbm(0), 8, TQ_LAST, TQ_COPY);
    for (i = 0; i < 3; i++) {
        tq_s2m(&q, tq_hbm(1), 4, 0);
    }
    tq_finish(&q);
    tq_step(&c);
    /* FIRST bit 26, LAST bit 27, ring id bits 25:24 */
    g_assert_cmphex(qtest_readl(c.qts, m2s), ==, 0x05000000);
    g_assert_cmphex(qtest_readl(c.qts, m2s + 16), ==, 0x09000000);
    g_assert_cmphex(qtest_readl(c.qts, m2s + 32), ==, 0x0d000000);
    g_assert_cmphex(qtest_readl(c.qts, m2s + 48), ==, 0);
    g_assert_cmphex(qtest_readl(c.qts, s2m), ==, 0x05000000);
    g_assert_cmphex(qtest_readl(c.qts, s2m + 16), ==, 0x01000000);
    g_assert_cmphex(qtest_readl(c.qts, s2m + 32), ==, 0x09000000);
    g_assert_cmphex(qtest_readl(c.qts, s2m + 48), ==, 0x0d000000);
    g_assert_cmphex(qtest_readl(c.qts, s2m + 64), ==, 0);
    /* around the ring: its id counts like that of descriptors */
    for (i = 0; i < 40; i++) {
        tq_finish(&q);
    }
    tq_step(&c);
    g_assert_cmphex(qtest_readl(c.qts, m2s), ==, 0x0e000000);
    g_assert_cmpint(tq_read(&c, tq_m2s_reg(&q, 0x4c)) & 0xffffff, ==, 43 - 32);
    tq_stop(&c);
}

/* Descriptors without data: metadata (bit 23) and dummies (bit 22) */
static void test_no_data(void)
{
    uint8_t buf[64];
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 32);
    tq_fill_random(buf, sizeof(buf), 8);
    tq_put(&c, tq_hbm(0), buf, sizeof(buf));
    tq_m2s(&q, 0, 16, TQ_FIRST | 1u << 23, 0);
    tq_m2s(&q, tq_hbm(0), 32, 0, TQ_COPY);
    tq_m2s(&q, 0, 16, 1u << 22, 0);
    tq_m2s(&q, tq_hbm(0) + 32, 32, TQ_LAST, TQ_COPY);
    tq_s2m(&q, tq_hbm(1), 64, 0);
    tq_finish(&q);
    tq_check(&c, tq_hbm(1), buf, sizeof(buf));
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a000), ==, 0);
    tq_stop(&c);
}

/* Without bit 24 of cfg_len a source of length 0 is one of no bytes. */
static void test_length_zero(void)
{
    uint32_t word = 0x13572468;
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_ewrite(&c, 128, 0x254, 0x000fffff);
    tq_init_queue(&q, &c, 128, 0, 32);
    tq_put(&c, tq_hbm(0), &word, 4);
    tq_m2s(&q, tq_hbm(0), 0, TQ_FIRST, TQ_COPY);
    tq_m2s(&q, tq_hbm(0), 4, TQ_LAST, TQ_COPY);
    tq_s2m(&q, tq_hbm(1), 65536, 0);
    tq_m2s(&q, tq_hbm(0), 0, TQ_FIRST | TQ_LAST, TQ_COPY);
    tq_s2m(&q, tq_hbm(2), 65536, 0);
    tq_finish(&q);
    tq_check(&c, tq_hbm(1), &word, 4);
    word = 0;
    tq_check(&c, tq_hbm(1) + 4, &word, 4);
    tq_check(&c, tq_hbm(2), &word, 4);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/copy/roundtrip", test_roundtrip);
    qtest_add_func("trainium/copy/all-engines", test_all_engines);
    qtest_add_func("trainium/copy/targets", test_targets);
    qtest_add_func("trainium/copy/sbuf-bar0", test_sbuf_bar0);
    qtest_add_func("trainium/copy/64k", test_64k);
    qtest_add_func("trainium/copy/odd", test_odd);
    qtest_add_func("trainium/copy/memset-chain", test_memset_chain);
    qtest_add_func("trainium/copy/smear", test_smear);
    qtest_add_func("trainium/copy/packets", test_packets);
    qtest_add_func("trainium/copy/packet-wrap", test_packet_wrap);
    qtest_add_func("trainium/copy/wrap", test_wrap);
    qtest_add_func("trainium/copy/wrap-odd", test_wrap_odd);
    qtest_add_func("trainium/copy/wrap-bulk", test_wrap_bulk);
    qtest_add_func("trainium/copy/zero-length-ring", test_zero_length_ring);
    qtest_add_func("trainium/copy/one-side", test_one_side);
    qtest_add_func("trainium/copy/doorbell-overflow", test_doorbell_overflow);
    qtest_add_func("trainium/copy/queues", test_queues);
    qtest_add_func("trainium/copy/pause", test_pause);
    qtest_add_func("trainium/copy/stop", test_stop);
    qtest_add_func("trainium/copy/queue-reset", test_queue_reset);
    qtest_add_func("trainium/copy/completion-head", test_completion_head);
    qtest_add_func("trainium/copy/completion-ring", test_completion_ring);
    qtest_add_func("trainium/copy/no-data", test_no_data);
    qtest_add_func("trainium/copy/length-zero", test_length_zero);
    return g_test_run();
}
