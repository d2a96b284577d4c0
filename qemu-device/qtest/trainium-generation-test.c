/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every generation: what probing reads, its map, engines and copies. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

static void start(TqChip *c, const void *model, const char *props)
{
    tq_model = model;
    tq_start(c, props);
    g_assert_cmpstr(tq_gen->name, ==, model);
}

static uint64_t bar_size(TqChip *c, unsigned bar)
{
    uint64_t old = tq_cfg_read(c, 0x10 + 4 * bar), size;
    uint32_t hi = tq_cfg_read(c, 0x14 + 4 * bar);

    tq_cfg_writew(c, 4, 0);
    tq_cfg_write(c, 0x10 + 4 * bar, 0xffffffff);
    tq_cfg_write(c, 0x14 + 4 * bar, 0xffffffff);
    size = -((uint64_t)tq_cfg_read(c, 0x14 + 4 * bar) << 32 |
             (tq_cfg_read(c, 0x10 + 4 * bar) & ~0xfu));
    tq_cfg_write(c, 0x10 + 4 * bar, old);
    tq_cfg_write(c, 0x14 + 4 * bar, hi);
    tq_cfg_writew(c, 4, 6);
    return size;
}

static void test_probe(const void *model)
{
    TqChip c;

    start(&c, model, NULL);
    g_assert_cmphex(tq_cfg_read(&c, 0), ==, tq_gen->id);
    g_assert_cmphex(tq_cfg_read(&c, 8), ==, 0x12000001);
    g_assert_cmphex(bar_size(&c, 0), ==, tq_gen->bar0_size);
    g_assert_cmphex(bar_size(&c, 4), ==, tq_gen->bar4_size);
    g_assert_cmphex(tq_xread(&c, 0x0c), ==, tq_gen->engines |
                    tq_gen->stacks << 16 | tq_gen->cores << 24);
    g_assert_cmphex(tq_xread(&c, 0x10), ==, (uint32_t)tq_gen->stack_size);
    g_assert_cmphex(tq_xread(&c, 0x14), ==, tq_gen->stack_size >> 32);
    g_assert_cmphex(tq_xread(&c, 0x40), ==, tq_gen->dies | tq_gen->stacks << 8);
    g_assert_cmpint(tq_misc_read(&c, 0), ==, 7);
    g_assert_cmpint(tq_misc_read(&c, 0x24), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x38) | tq_misc_read(&c, 0x3c), !=, 0);
    tq_stop(&c);
}

/* Words of the firmware: who and where it is, and of every stack and die */
static void test_words(const void *model)
{
    static const char *const power[4] = {
        "power-die0", "power-die1", "power-die2", "power-die3",
    };
    static const unsigned power_at[4] = { 0x54, 0x58, 0xa0, 0xa4 };
    unsigned i;
    TqChip c;

    start(&c, model, "routing-id=19,server-id=5,rack-id=9,instance-size=4,"
          "partition-size=16,reservation-id=0x1234567890abcdef,serial=77");
    g_assert_cmpint(tq_misc_read(&c, 0x24), ==, 19);
    g_assert_cmphex(tq_misc_read(&c, 0x70), ==, 0x80098005);
    g_assert_cmphex(tq_misc_read(&c, 0x30), ==, 0x80100004);
    g_assert_cmphex(tq_misc_read(&c, 0x80), ==, 0x12345678);
    g_assert_cmphex(tq_misc_read(&c, 0x84), ==, 0x90abcdef);
    g_assert_cmpint(tq_misc_read(&c, 0x38), ==, 77);
    for (i = 0; i < tq_gen->stacks; i++) {
        g_autofree char *name = g_strdup_printf("hbm%u-ecc-corrected", i);
        g_autofree char *n = g_strdup_printf("%u", 10 + i);

        tq_set(&c, name, n);
        g_assert_cmphex(tq_misc_read(&c, (i < 4 ? 0x44 : 0x80) + 4 * i), ==,
                        (10 + i) << 16);
    }
    for (i = 0; i < tq_gen->dies; i++) {
        g_autofree char *n = g_strdup_printf("%u", 1000 + i);

        tq_set(&c, power[i], n);
        g_assert_cmphex(tq_misc_read(&c, power_at[i]) & 0xffff, ==, 1000 + i);
    }
    /* What it does not have it does not have a fault of. */
    if (tq_gen->dies < 4) {
        tq_set_fails(&c, power[tq_gen->dies], "1");
        tq_set_fails(&c, tq_gen->stacks < 4 ? "hbm2-ecc-corrected" :
                     "hbm4-ecc-corrected", "1");
        /* ... and such a word is plain memory. */
        tq_misc_write(&c, 0xa0, 0x5eed);
        g_assert_cmphex(tq_misc_read(&c, 0xa0), ==, 0x5eed);
    }
    tq_stop(&c);
}

/* Each engine is where it should be, and copies from every stack to the next. */
static void test_engines(const void *model)
{
    uint64_t at;
    unsigned e;
    TqChip c;

    start(&c, model, NULL);
    for (e = 0; e < tq_gen->engines; e++) {
        tq_init_engine(&c, e);
        tq_ewrite(&c, e, 0x3b464, 0xe0000 + e);
    }
    at = tq_alloc(&c, 4096, 4096);
    for (e = 0; e < tq_gen->engines; e++) {
        uint64_t from = tq_hbm(e % tq_gen->stacks) + 0x2000 + e * 8;
        uint64_t to = tq_hbm((e + 1) % tq_gen->stacks) + tq_gen->stack_size -
                      0x1000 + e * 8;
        TqQueue q;

        g_assert_cmphex(tq_ereg(&c, e, 0x3b464), ==, 0xe0000 + e);
        g_assert_cmphex(tq_read(&c, tq_sdma(e) + 0x1c), ==, 1);
        g_assert_cmphex(tq_ereg(&c, e, 0x2012c), ==,
                        tq_gen->id >> 16 >= 0x7564 ? 0x100 : 0);
        tq_init_queue(&q, &c, e, e % 16, 32);
        qtest_writel(c.qts, at, 0xc0de0000 + e);
        tq_pair(&q, from, TQ_HOST | at, 4, 0, TQ_BARRIER, 0);
        tq_pair(&q, to, from, 4, TQ_DMB, TQ_BARRIER, 0);
        tq_pair(&q, TQ_HOST | (at + 4), to, 4, TQ_DMB, TQ_BARRIER, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, at + 4), ==, 0xc0de0000 + e);
    }
    tq_stop(&c);
}

/* Where the chip's own view and BAR0 have the cores and the TOP_SPs */
static uint64_t core_axi(unsigned n)
{
    static const uint64_t v3[8] = {
        0x002000000000, 0x003000000000, 0x006000000000, 0x007000000000,
        0x802000000000, 0x803000000000, 0x806000000000, 0x807000000000,
    };
    static const uint64_t v4[8] = {
        0x0002000000000, 0x0006000000000, 0x0802000000000, 0x0806000000000,
        0x1002000000000, 0x1006000000000, 0x1802000000000, 0x1806000000000,
    };

    return tq_gen->dies == 1 ? 0xfffc0000000 + n * 0x4000000ull :
           tq_gen->dies == 4 ? v4[n] : v3[n];
}

static uint64_t core_bar0(unsigned n)
{
    return (tq_gen->dies == 1 ? 0 : tq_gen->dies == 4 ? 0xc0000000 :
            0xd0000000) + n * 0x4000000ull;
}

static uint64_t top_sp_axi(unsigned n)
{
    switch (tq_gen->dies) {
    case 1:
        return 0xfffd0000000 + n * 0x400000ull;
    case 4:
        return 0x8280000000 + (uint64_t)(n / 4) * 0x800000000000 +
               n % 4 * 0x40000000ull;
    default:
        return 0x8280000000 + (uint64_t)(n / 8) * 0x800000000000 +
               n % 8 * 0x40000000ull;
    }
}

static uint64_t top_sp_bar0(unsigned n)
{
    switch (tq_gen->dies) {
    case 1:
        return 0x10000000 + n * 0x400000ull;
    case 4:
        return 0xe0000000 + n * 0x400000ull;
    default:
        return (n < 8 ? 0xf0000000 : 0xf2800000) + n % 8 * 0x400000ull;
    }
}

/* NOTIFIC blocks and activity counters, BAR0 */
static uint64_t core_notific(unsigned n)
{
    switch (tq_gen->dies) {
    case 1:
        return 0x30535000 + n * 0x700000ull;
    case 4:
        return n / 2 * 0x10000000ull + 0x06001000 + n % 2 * 0x400000ull;
    default:
        return n / 4 * 0x40000000ull + 0x06001000 + n % 4 / 2 * 0x400000ull +
               n % 2 * 0x180000ull;
    }
}

static uint64_t core_counters(unsigned n)
{
    return tq_gen->dies == 1 ? 0x305b1100 + n * 0x700000ull :
                               core_notific(n) + 0x140100;
}

static uint64_t top_sp_notific(unsigned n)
{
    switch (tq_gen->dies) {
    case 1:
        return 0x30e04000 + n * 0x40000ull;
    case 4:
        return n / 4 * 0x10000000ull + 0x06a00000 + n % 4 * 0x40000ull;
    default:
        return n / 8 * 0x40000000ull + 0x06a00000 + n % 8 * 0x40000ull;
    }
}

static void test_map(const void *model)
{
    uint64_t at;
    unsigned n;
    TqChip c;
    TqQueue q;

    start(&c, model, NULL);
    at = tq_alloc(&c, 4096, 4096);
    tq_init_engine(&c, tq_gen->data);
    tq_init_queue(&q, &c, tq_gen->data, 1, 256);
    for (n = 0; n < tq_gen->cores; n++) {
        tq_write(&c, core_bar0(n) + 0x1fffffc, 0x5b000 + n);
        tq_write(&c, core_bar0(n) + 0x2701400 + n * 4, 0x5e000 + n);
        tq_write(&c, core_notific(n) + 0x100, 0x1000 * (n + 1));
    }
    for (n = 0; n < tq_gen->top_sps; n++) {
        tq_write(&c, top_sp_bar0(n) + 0x1400 + n * 4, 0x70000 + n);
        tq_write(&c, top_sp_notific(n) + 0x100, 0x100000 * (n + 1));
    }
    tq_step_ms(&c, 1);
    for (n = 0; n < tq_gen->cores; n++) {
        g_assert_cmphex(tq_read(&c, core_notific(n) + 0x100), ==,
                        0x1000 * (n + 1));
        g_assert_cmpint(tq_read(&c, core_counters(n) + 0x10), >, 0);
        tq_pair(&q, TQ_HOST | at, core_axi(n) + 0x1fffffc, 4, 0, 0, 0);
        tq_pair(&q, TQ_HOST | (at + 4), core_axi(n) + 0x2701000 + n * 4, 4, 0,
                0, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, at), ==, 0x5b000 + n);
        g_assert_cmphex(qtest_readl(c.qts, at + 4), ==, 0x5e000 + n);
    }
    for (n = 0; n < tq_gen->top_sps; n++) {
        g_assert_cmphex(tq_read(&c, top_sp_notific(n) + 0x100), ==,
                        0x100000 * (n + 1));
        tq_pair(&q, TQ_HOST | at, top_sp_axi(n) + 0x1000 + n * 4, 4, 0, 0, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, at), ==, 0x70000 + n);
    }
    /* Registers of an engine of each kind, by DMA: its SDMA wrapper */
    for (n = 0; n < tq_gen->engines; n += tq_gen->engines - 1) {
        uint64_t axi = tq_engine_axi(n) + tq_sdma(n) - tq_engine(n);

        tq_write(&c, tq_sdma(n) + 0x100, 0xabc0 + n);
        tq_pair(&q, TQ_HOST | at, axi + 0x100, 4, 0, 0, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, at), ==, 0xabc0 + n);
    }
    tq_stop(&c);
}

/* Addresses behind the end of what there is */
static void test_holes(const void *model)
{
    uint64_t bad[] = { 0, 0, 0 };
    unsigned i;
    TqChip c;

    start(&c, model, NULL);
    bad[0] = tq_hbm(tq_gen->stacks - 1) + tq_gen->stack_size;
    bad[1] = tq_gen->dies == 4 ? 0x2000000000000 :
             tq_gen->dies == 1 ? 0x200000000000 : 0x1000000000000;
    bad[2] = tq_gen->dies == 1 ? 0x10000000000000 : TQ_HOST * 3;
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        unsigned e = tq_gen->data + i % 2;
        TqQueue q;

        tq_init_engine(&c, e);
        tq_init_queue(&q, &c, e, i, 32);
        tq_pair(&q, TQ_HOST | 0x1000, bad[i], 4, 0, 0, 0);
        tq_kick(&q);
        tq_settle(&c);
        g_assert_cmphex(tq_ereg(&c, e, 0x200) & 0x3333, ==, 0x2222);
        /* out of the abort: all rings, then both sides */
        for (unsigned n = 0; n < 16; n++) {
            tq_ewrite(&c, e, 0x10b0 + n * 0x1000, 0x100);
            tq_ewrite(&c, e, 0x21064 + n * 0x1000, 0x100);
        }
        tq_ewrite(&c, e, 0x204, 1);
        tq_ewrite(&c, e, 0x20204, 1);
    }
    tq_stop(&c);
}

/* A core with its engines, its TOP_SPs, and a host engine */
static void test_core_reset(const void *model)
{
    unsigned core, e, sp;
    uint32_t map;
    TqChip c;

    start(&c, model, NULL);
    core = tq_gen->cores - 1;
    e = core * 16 + 5;
    sp = tq_gen->top_sps - 1;
    tq_ewrite(&c, e, 0x3b464, 0x5eed);
    tq_ewrite(&c, 3, 0x3b464, 0x5eed);
    tq_ewrite(&c, tq_gen->engines - 1, 0x3b464, 0x5eed);
    tq_write(&c, core_bar0(core) + 0x2701400, 7);
    tq_write(&c, core_bar0(0) + 0x2701400, 7);
    tq_write(&c, top_sp_bar0(sp) + 0x1400, 7);
    tq_write(&c, top_sp_bar0(0) + 0x1400, 7);
    map = 1u << core;
    map |= tq_gen->dies == 1 ? 1u << (8 + sp) :
                               1u << (8 + core) | 1u << (16 + sp / 2);
    tq_misc_write(&c, 0x1d4, 1u << (tq_gen->engines - tq_gen->data - 1));
    tq_misc_write(&c, 0x1d8, map);
    tq_misc_write(&c, 0x1ec, 2);
    tq_misc_write(&c, 0x800, 1);
    tq_wait(&c, c.bar0 + tq_gen->misc + 0x1ec, 0);
    g_assert_cmphex(tq_ereg(&c, e, 0x3b464), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 3, 0x3b464), ==, 0x5eed);
    g_assert_cmphex(tq_ereg(&c, tq_gen->engines - 1, 0x3b464), ==, 0);
    g_assert_cmphex(tq_read(&c, core_bar0(core) + 0x2701000), ==, 0);
    g_assert_cmphex(tq_read(&c, core_bar0(0) + 0x2701000), ==, 7);
    g_assert_cmphex(tq_read(&c, top_sp_bar0(sp) + 0x1000), ==, 0);
    g_assert_cmphex(tq_read(&c, top_sp_bar0(0) + 0x1000), ==, 7);
    tq_stop(&c);
}

/* Trainium3 has two ids; nobody has one of another. */
static void test_device_id(void)
{
    QTestState *qts;
    TqChip c;

    tq_model = "trainium3";
    qts = qtest_init("-machine q35 -nodefaults -device trainium3,addr=04.0,"
                     "pci-device-id=0x7565 "
                     "-device pcie-root-port,id=rp,chassis=1");
    c = (TqChip) { .qts = qts, .devfn = 4 << 3 };
    g_assert_cmphex(tq_cfg_read(&c, 0), ==, 0x75651d0f);
    qobject_unref(qtest_qmp_assert_failure_ref(qts, "{'execute': 'device_add',"
                  "'arguments': {'driver': 'trainium3', 'bus': 'rp',"
                  "'pci-device-id': %d}}", 0x7364));
    qtest_quit(qts);
}

/* The control register of the Resizable BAR capability: size as 2^n MiB */
static void resize(TqChip *c, unsigned cap, unsigned n)
{
    tq_ecfg_write(c, cap + 8, (tq_ecfg_read(c, cap + 8) & ~0x3f00u) | n << 8);
}

static unsigned size_now(TqChip *c, unsigned cap)
{
    return tq_ecfg_read(c, cap + 8) >> 8 & 0x3f;
}

/* Each stack's first word, through the window; and one behind another size */
static void check_window(TqChip *c, uint64_t pitch)
{
    unsigned i;

    tq_map(c, 0);
    g_assert_cmphex(c->pitch, ==, pitch);
    for (i = 0; i < 8; i++) {
        g_assert_cmphex(qtest_readl(c->qts, c->bar4 + i * pitch), ==,
                        0x57ac0 + i);
        g_assert_cmphex(qtest_readl(c->qts, c->bar4 + i * pitch + 0x7fffffc),
                        ==, 0xfa7 + i);
    }
}

/* 1 GiB a stack: sizes of BAR4 from 1 to 8 GiB */
static void test_resize(void)
{
    unsigned cap, i;
    TqChip c;

    start(&c, "trainium4", "hbm-size=8G,bar4-size=2G");
    cap = tq_find_ecap(&c, 0x15);
    g_assert_cmpint(cap, !=, 0);
    g_assert_cmphex(tq_ecfg_read(&c, cap + 4), ==, 0xfu << (10 + 4));
    g_assert_cmphex(tq_ecfg_read(&c, cap + 8), ==, 11 << 8 | 1 << 5 | 4);
    for (i = 0; i < 8; i++) {
        qtest_writel(c.qts, c.bar4 + i * c.pitch, 0x57ac0 + i);
        qtest_writel(c.qts, c.bar4 + i * c.pitch + 0x7fffffc, 0xfa7 + i);
    }
    check_window(&c, 0x10000000);
    /* Not while it is decoded; not a size that there is not. */
    resize(&c, cap, 13);
    g_assert_cmpint(size_now(&c, cap), ==, 11);
    tq_cfg_writew(&c, 4, 0);
    resize(&c, cap, 9);
    g_assert_cmpint(size_now(&c, cap), ==, 11);
    resize(&c, cap, 14);
    g_assert_cmpint(size_now(&c, cap), ==, 11);
    resize(&c, cap, 13);
    g_assert_cmpint(size_now(&c, cap), ==, 13);
    check_window(&c, 0x40000000);
    qtest_writel(c.qts, c.bar4 + 8 * c.pitch - 4, 0x1a57);
    tq_cfg_writew(&c, 4, 0);
    resize(&c, cap, 10);
    check_window(&c, 0x8000000);
    tq_cfg_writew(&c, 4, 0);
    resize(&c, cap, 13);
    check_window(&c, 0x40000000);
    g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 8 * c.pitch - 4), ==, 0x1a57);
    /* A chip that is gone shows nothing of it; it comes back as it was made. */
    tq_set(&c, "surprise-removal", "4294967295");
    g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 8 * c.pitch - 4), ==,
                    0xffffffff);
    tq_set(&c, "surprise-removal", "0");
    g_assert_cmpint(size_now(&c, cap), ==, 11);
    check_window(&c, 0x10000000);
    tq_stop(&c);

    start(&c, "trainium4", NULL);
    cap = tq_find_ecap(&c, 0x15);
    g_assert_cmphex(tq_ecfg_read(&c, cap + 4), ==, 0x3ffu << (10 + 4));
    tq_stop(&c);
    start(&c, "trainium3", NULL);
    g_assert_cmpint(tq_find_ecap(&c, 0x15), ==, 0);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(const void *model);
    } tests[] = {
        { "probe", test_probe },
        { "words", test_words },
        { "engines", test_engines },
        { "map", test_map },
        { "holes", test_holes },
        { "core-reset", test_core_reset },
    };
    static const char *const models[] = {
        "trainium1", "trainium2", "trainium3", "trainium4",
    };
    unsigned i, m;

    g_test_init(&argc, &argv, NULL);
    for (m = 0; m < ARRAY_SIZE(models); m++) {
        for (i = 0; i < ARRAY_SIZE(tests); i++) {
            g_autofree char *path = g_strdup_printf("trainium/%s/%s", models[m],
                                                    tests[i].name);

            qtest_add_data_func(path, models[m], tests[i].fn);
        }
    }
    qtest_add_func("trainium/device-id", test_device_id);
    qtest_add_func("trainium/resize", test_resize);
    return g_test_run();
}
