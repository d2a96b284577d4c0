/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes of all kinds over every page of the BARs that means something, and
 * descriptors of all kinds, with DMA running. QEMU has to survive, and after a
 * reset the chip has to work. Seeds are fixed: what fails once fails again.
 */
#include "qemu/osdep.h"
#include "trainium-qtest.h"

#define MIB (1024 * 1024ull)

/* Windows of BAR0, and what repeats in them */
static const struct {
    uint64_t base, stride;
    unsigned count;
    uint32_t size;
} windows[] = {
    { 0x06800000, 0x100000, 2, 0x42000 },       /* host engines, die 0 */
    { 0x46800000, 0x100000, 2, 0x42000 },
    { 0x82000000, 0x100000, 32, 0x42000 },      /* data engines */
    { 0x94000000, 0x100000, 32, 0x42000 },
    { 0xa2000000, 0x100000, 32, 0x42000 },
    { 0xb4000000, 0x100000, 32, 0x42000 },
    { 0x8c000000, 0x20000, 32, 0x20000 },       /* FIS */
    { 0x9c400000, 0x20000, 32, 0x20000 },
    { 0xac000000, 0x20000, 32, 0x20000 },
    { 0xbc400000, 0x20000, 32, 0x20000 },
    { 0xd0000000, 0x4000000, 8, 0x4000000 },    /* cores */
    { 0xd2700000, 0x4000000, 8, 0x2000 },
    { 0xf0000000, 0x400000, 8, 0x400000 },      /* TOP_SP */
    { 0xf2800000, 0x400000, 8, 0x400000 },
    { 0x06a00000, 0x40000, 8, 0x1000 },         /* NOTIFIC */
    { 0x46a00000, 0x40000, 8, 0x1000 },
    { 0x06001000, 0x180000, 2, 0x1000 },
    { 0x06401000, 0x180000, 2, 0x1000 },
    { 0x06141100, 0x180000, 2, 0x6c0 },         /* activity counters */
    { 0x06c84000, 0x1000, 1, 0x1000 },          /* MISC RAM */
    { 0x06300000, 0x1000, 1, 0x1000 },
};

static uint64_t value(GRand *rand)
{
    static const uint64_t fixed[] = {
        0, 1, ~0ull, 0x8000000080000000ull, 0xaaaaaaaa55555555ull,
        0x0003000000030000ull, 0x0000010000000100ull, 0x00ffffff00ffffffull,
    };
    unsigned n = g_rand_int_range(rand, 0, 12);

    return n < ARRAY_SIZE(fixed) ? fixed[n] :
           (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
}

/* An access of any width; a fifth of them are reads. */
static void poke(QTestState *qts, uint64_t addr, GRand *rand)
{
    uint64_t v = value(rand);

    switch (g_rand_int_range(rand, 0, 10)) {
    case 0:
        qtest_readl(qts, addr & ~3ull);
        break;
    case 1:
        qtest_readq(qts, addr & ~7ull);
        break;
    case 2:
        qtest_writeq(qts, addr & ~7ull, v);
        break;
    case 3:
        qtest_writeb(qts, addr, v);
        break;
    case 4:
        qtest_writew(qts, addr & ~1ull, v);
        break;
    default:
        qtest_writel(qts, addr & ~3ull, v);
    }
}

/* DMA to scribble into: short and long, between all kinds of memory. */
static void start_dma(TqChip *c, TqQueue *q, unsigned e)
{
    uint64_t host = TQ_HOST | tq_alloc(c, 65536, 4096);
    unsigned i;

    tq_init_engine(c, e);
    tq_init_queue(q, c, e, e % 14, 2048);
    for (i = 0; i < 1500; i++) {
        tq_pair(q, i % 3 ? tq_hbm(i % 4) : host, i % 5 ? tq_hbm(3) : host,
                i % 7 ? 65536 : 8, i % 11 ? 0 : TQ_DMB, 0, i % 13 ? 0 : TQ_INT);
    }
    tq_kick(q);
}

/* After a system reset everything is as if nothing had been. */
static void check_alive(TqChip *c)
{
    static const unsigned engines[] = { 128, 131, 0, 70 };
    unsigned i;

    qtest_system_reset(c->qts);
    qtest_outl(c->qts, 0xcf8, 0x80000060);
    qtest_outl(c->qts, 0xcfc, TQ_ECAM | 1);
    c->heap = TQ_HEAP;
    tq_map(c, 0);
    tq_wait_firmware(c);
    for (i = 0; i < ARRAY_SIZE(engines); i++) {
        uint8_t buf[5000];
        uint64_t src = TQ_HOST | tq_alloc(c, 8192, 4096);
        uint64_t dst = TQ_HOST | tq_alloc(c, 8192, 4096);
        TqQueue q;

        tq_init_engine(c, engines[i]);
        tq_init_queue(&q, c, engines[i], 1, 64);
        tq_fill_random(buf, sizeof(buf), i);
        tq_put(c, src, buf, sizeof(buf));
        tq_copy(&q, tq_hbm(i) + 0x1235, src, sizeof(buf));
        tq_pair(&q, dst, tq_hbm(i) + 0x1235, sizeof(buf), TQ_DMB, TQ_BARRIER,
                0);
        tq_finish(&q);
        tq_check(c, dst, buf, sizeof(buf));
    }
}

static void scribble_start(TqChip *c, TqQueue *q, const char *props)
{
    tq_start_args(c, NULL, props);
    start_dma(c, &q[0], 128);
    start_dma(c, &q[1], 5);
    start_dma(c, &q[2], 77);
}

/* First and last words of every window, and places between */
static void test_bar0(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    TqQueue q[3];
    TqChip c;
    unsigned i, k, n;

    scribble_start(&c, q, "hbm-size=1G");
    for (i = 0; i < ARRAY_SIZE(windows); i++) {
        for (k = 0; k < windows[i].count; k++) {
            uint64_t base = c.bar0 + windows[i].base + k * windows[i].stride;

            for (n = 0; n < 4; n++) {
                qtest_writel(c.qts, base + n * 4, value(rand));
                qtest_writel(c.qts, base + windows[i].size - 4 - n * 4,
                             value(rand));
                qtest_readl(c.qts, base + windows[i].size - 4);
            }
            for (n = 0; n < 12; n++) {
                poke(c.qts, base + g_rand_int_range(rand, 0, windows[i].size),
                     rand);
            }
        }
        tq_step(&c);
    }
    check_alive(&c);
    tq_stop(&c);
}

/* Every register of a few engines, every width and value */
static void test_engines(void)
{
    static const unsigned engines[] = { 128, 5, 77, 130 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    TqQueue q[3];
    TqChip c;
    unsigned i, round;
    uint32_t off;

    scribble_start(&c, q, "hbm-size=1G,reorder=2");
    for (round = 0; round < 2; round++) {
        for (i = 0; i < ARRAY_SIZE(engines); i++) {
            uint64_t base = c.bar0 + tq_engine(engines[i]);

            for (off = 0x100; off < 0x700; off += 4) {
                poke(c.qts, base + off, rand);
                poke(c.qts, base + 0x20000 + off, rand);
            }
            for (off = 0x1000; off < 0x11000;
                 off += off % 0x1000 < 0xc0 ? 4 : 0x1000 - 0xc0) {
                poke(c.qts, base + off, rand);
                poke(c.qts, base + 0x20000 + off, rand);
            }
            for (off = 0x38000; off < 0x3c800; off += 12) {
                poke(c.qts, base + off, rand);
            }
            for (off = 0x40000; off < 0x42000; off += 28) {
                poke(c.qts, base + off, rand);
            }
        }
        tq_step(&c);
    }
    check_alive(&c);
    tq_stop(&c);
}

/* Gaps, too: 4 GiB at random */
static void test_bar0_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    TqQueue q[3];
    TqChip c;
    unsigned i;

    scribble_start(&c, q, "hbm-size=1G");
    for (i = 0; i < 8000; i++) {
        poke(c.qts, c.bar0 + g_rand_int(rand), rand);
    }
    /* the very ends of the BAR */
    poke(c.qts, c.bar0, rand);
    qtest_writel(c.qts, c.bar0 + 0xfffffffc, 1);
    qtest_readq(c.qts, c.bar0 + 0xfffffff8);
    check_alive(&c);
    tq_stop(&c);
}

/*
 * The extension BAR with all its tables. MSI-X messages may go anywhere then,
 * so the host's memory and the machine are scribbled over as well.
 */
static void test_bar2(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    TqQueue q[3];
    TqChip c;
    unsigned i;
    uint8_t cap;

    scribble_start(&c, q, "hbm-size=1G");
    cap = tq_find_cap(&c, 0x11);
    tq_cfg_writew(&c, cap + 2, 0x8000);
    for (i = 0; i < 0x20000; i += 44) {
        poke(c.qts, c.bar2 + i, rand);
    }
    for (i = 0; i < 4000; i++) {
        poke(c.qts, c.bar2 + g_rand_int_range(rand, 0, 0x20000), rand);
        if (i % 16 == 0) {
            /* an interrupt now and then */
            tq_ewrite(&c, 128, 0x38068, 0);
            tq_ewrite(&c, 128, 0x38058, 0);
            tq_ewrite(&c, 128, 0x38048, 0xffff);
        }
    }
    tq_cfg_writew(&c, cap + 2, 0xc000);
    tq_cfg_writew(&c, cap + 2, 0x8000);
    check_alive(&c);
    tq_stop(&c);
}

static void test_bar4(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    TqQueue q[3];
    TqChip c;
    unsigned i;

    scribble_start(&c, q, NULL);
    for (i = 0; i < 3000; i++) {
        uint64_t at = (uint64_t)g_rand_int_range(rand, 0, 64) << 32 |
                      g_rand_int(rand);

        poke(c.qts, c.bar4 + at, rand);
    }
    qtest_writeq(c.qts, c.bar4 + 0x3ffffffff8ull, 1);
    qtest_readq(c.qts, c.bar4 + 0x35fffffff8ull);
    check_alive(&c);
    tq_stop(&c);
}

/* An address for a descriptor: from all over the map, at its edges often */
static uint64_t address(TqChip *c, GRand *rand)
{
    static const uint64_t bases[] = {
        0, 0x004000000000, 0x800000000000, 0x804000000000, 0x000010000000,
        0x001000000000, 0x001002001000, 0x001200000000, 0x002000000000,
        0x002002700000, 0x807002701800, 0x008006c84000, 0x008006840000,
        0x008282000000, 0x400000000000, 0x400001000000, 0x400020000000,
        0x401000000000, 0x4010068001000, 0x410000000000, 0x7fffffffffff,
        0x4000fee00000, 0x4000e0000000, 0x10000000000000, 0x1c008006c84000,
        0x7fffffffffffffff, 0xffffffffffffff00,
    };
    uint64_t at = bases[g_rand_int_range(rand, 0, ARRAY_SIZE(bases))];

    switch (g_rand_int_range(rand, 0, 4)) {
    case 0:
        return at + g_rand_int_range(rand, 0, 65536) * 4;
    case 1:
        return at - g_rand_int_range(rand, 0, 65536);
    case 2:
        return at ^ 1ull << g_rand_int_range(rand, 0, 64);
    default:
        return at;
    }
}

/*
 * Rings full of nonsense. Causes are masked for abort on one engine, so that
 * it runs through all of it, and the other one is brought back now and then.
 */
static void descriptors(const char *props, uint32_t seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    static const unsigned engines[2] = { 128, 44 };
    TqQueue q[2];
    TqChip c;
    unsigned round, i, k;

    tq_start_args(&c, NULL, props);
    for (round = 0; round < 30; round++) {
        for (k = 0; k < 2; k++) {
            tq_init_engine(&c, engines[k]);
            tq_ewrite(&c, engines[k], 0x3a030, k ? 0 : 0xffffffff);
            tq_ewrite(&c, engines[k], 0x3a070, k ? 0 : 0xffffffff);
            c.heap = TQ_HEAP + k * 0x100000;
            tq_init_queue(&q[k], &c, engines[k], round % 16, 512);
            for (i = 0; i < 400; i++) {
                uint32_t flags = 0;

                if (g_rand_int_range(rand, 0, 3)) {
                    flags = TQ_FIRST | TQ_LAST;
                }
                if (g_rand_int_range(rand, 0, 4) == 0) {
                    flags = g_rand_int(rand) & 0xfff00000;
                }
                tq_m2s(&q[k], address(&c, rand), g_rand_int_range(rand, 0, 2) ?
                       64 : g_rand_int(rand), flags,
                       g_rand_int_range(rand, 0, 5) ? TQ_COPY :
                       g_rand_int(rand));
                tq_s2m(&q[k], address(&c, rand), g_rand_int_range(rand, 0, 2) ?
                       64 : g_rand_int(rand), g_rand_int_range(rand, 0, 3) ? 0 :
                       g_rand_int(rand) & 0xfff00000);
            }
            tq_kick(&q[k]);
        }
        for (i = 0; i < 20; i++) {
            tq_step(&c);
        }
        if (tq_misc_read(&c, 0x24) == 0xdeadbeef) {
            tq_wait_firmware(&c);
        }
        if (round % 5 == 4) {
            tq_misc_write(&c, 0x1ec, 1);
            tq_misc_write(&c, 0x800, 1);
            tq_wait_firmware(&c);
        }
    }
    check_alive(&c);
    tq_stop(&c);
}

static void test_descriptors(void)
{
    descriptors("hbm-size=1G", 6);
}

static void test_descriptors_reorder(void)
{
    descriptors("hbm-size=1G,reorder=9", 7);
}

static void test_many_seeds(void)
{
    uint32_t seed;

    for (seed = 100; seed < 150; seed++) {
        g_test_message("seed %u", seed);
        descriptors(seed & 1 ? "hbm-size=1G" : "hbm-size=1G,reorder=5", seed);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/scribble/bar0", test_bar0);
    qtest_add_func("trainium/scribble/engines", test_engines);
    qtest_add_func("trainium/scribble/bar0-random", test_bar0_random);
    qtest_add_func("trainium/scribble/bar2", test_bar2);
    qtest_add_func("trainium/scribble/bar4", test_bar4);
    qtest_add_func("trainium/scribble/descriptors", test_descriptors);
    qtest_add_func("trainium/scribble/descriptors-reorder",
                   test_descriptors_reorder);
    if (g_test_slow()) {
        qtest_add_func("trainium/scribble/many-seeds", test_many_seeds);
    }
    return g_test_run();
}
