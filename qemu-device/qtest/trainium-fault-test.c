/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults on demand: each property of fault.c does what it says, and no more. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define SEC_A 0x3a000u                      /* M2S errors */

/* The text of a property of the chip */
static char *prop_text(TqChip *c, const char *prop)
{
    QDict *r = qtest_qmp(c->qts, "{ 'execute': 'qom-get', 'arguments': { "
                         "'path': '/machine/peripheral/chip0', "
                         "'property': %s } }", prop);
    char *text = g_strdup(qdict_get_str(r, "return"));

    qobject_unref(r);
    return text;
}

static void expect_text(TqChip *c, const char *prop, const char *want)
{
    g_autofree char *text = prop_text(c, prop);

    g_assert_cmpstr(text, ==, want);
}

static void expect_state(TqChip *c, unsigned e, uint32_t state)
{
    g_assert_cmphex(tq_ereg(c, e, 0x200) & 0x3333, ==, state * 0x1111);
    g_assert_cmphex(tq_ereg(c, e, 0x20200) & 0x3333, ==, state * 0x1111);
}

/* Words 0.. at @to become seed + 0.., one packet each; then a marker. */
static void words_start(TqQueue *q, uint64_t to, uint32_t seed, unsigned n)
{
    uint64_t from = tq_alloc(q->c, n * 4, 4);
    unsigned i;

    for (i = 0; i < n; i++) {
        qtest_writel(q->c->qts, from + i * 4, seed + i);
        qtest_writel(q->c->qts, to + i * 4, 0);
        tq_pair(q, TQ_HOST | (to + i * 4), TQ_HOST | (from + i * 4), 4, 0, 0,
                0);
    }
    tq_add_marker(q);
    tq_kick(q);
}

static void words_expect(TqQueue *q, uint64_t to, uint32_t seed, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        g_assert_cmphex(qtest_readl(q->c->qts, to + i * 4), ==, seed + i);
    }
}

static void wait_marker(TqQueue *q)
{
    tq_wait(q->c, q->mark + 4, TQ_MARK);
}

static void reset_queues(TqChip *c, unsigned e)
{
    unsigned i;

    for (i = 0; i < 16; i++) {
        tq_ewrite(c, e, 0x10b0 + i * 0x1000, 0x100);
        tq_ewrite(c, e, 0x21064 + i * 0x1000, 0x100);
    }
}

static void test_abort(void)
{
    uint64_t to;
    TqQueue q, other;
    TqChip c;

    tq_start(&c, NULL);
    to = tq_alloc(&c, 64, 64);
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 129);
    tq_init_queue(&q, &c, 128, 2, 64);
    tq_init_queue(&other, &c, 129, 2, 64);

    tq_set(&c, "dma-abort", "'128:3'");
    expect_text(&c, "dma-abort", "128:3");
    /* Packets of other engines do not count. */
    words_start(&other, to, 0x100, 8);
    wait_marker(&other);
    words_expect(&other, to, 0x100, 8);
    expect_text(&c, "dma-abort", "128:3");

    words_start(&q, to, 0x200, 8);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    words_expect(&q, to, 0x200, 2);
    g_assert_cmphex(qtest_readl(c.qts, to + 8), ==, 0);
    expect_state(&c, 128, 2);
    g_assert_cmphex(tq_ereg(&c, 128, SEC_A), ==, 1u << 8);
    /* The heads stay at the packet, and the queue is named, once. */
    g_assert_cmphex(tq_ereg(&c, 128, 0x3034) & 0xffffff, ==, 2);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3ac00 + 2 * 12 + 4), ==, 1);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3ac00 + 2 * 12 + 4), ==, 0);
    expect_text(&c, "dma-abort", "");

    reset_queues(&c, 128);
    tq_ewrite(&c, 128, 0x204, 1);
    tq_ewrite(&c, 128, 0x20204, 1);
    expect_state(&c, 128, 1);
    tq_init_queue(&q, &c, 128, 2, 64);
    words_start(&q, to, 0x300, 8);
    wait_marker(&q);
    words_expect(&q, to, 0x300, 8);

    /* A queue of it, and any engine */
    tq_set(&c, "dma-abort", "'*.5:1'");
    words_start(&q, to, 0x400, 8);
    wait_marker(&q);
    tq_init_queue(&other, &c, 129, 5, 64);
    words_start(&other, to, 0x500, 1);
    tq_settle(&c);
    expect_state(&c, 129, 2);
    expect_state(&c, 128, 1);
    tq_stop(&c);
}

static void test_wrong_data(void)
{
    uint64_t to;
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    to = tq_alloc(&c, 64, 64);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    tq_set(&c, "dma-corrupt", "'128.0:2'");
    words_start(&q, to, 0x100, 4);
    wait_marker(&q);
    g_assert_cmphex(qtest_readl(c.qts, to), ==, 0x100);
    g_assert_cmphex(qtest_readl(c.qts, to + 4), ==, 0x101 ^ 0x40);
    g_assert_cmphex(qtest_readl(c.qts, to + 8), ==, 0x102);
    expect_text(&c, "dma-corrupt", "");
    words_start(&q, to, 0x200, 4);
    wait_marker(&q);
    words_expect(&q, to, 0x200, 4);
    tq_stop(&c);
}

static void test_lost(void)
{
    uint64_t to;
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    to = tq_alloc(&c, 64, 64);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    /* the marker behind four packets */
    tq_set(&c, "dma-lost", "'128:5'");
    words_start(&q, to, 0x100, 4);
    tq_settle(&c);
    words_expect(&q, to, 0x100, 4);
    g_assert_false(tq_marker_seen(&q));
    expect_state(&c, 128, 1);
    /* The engine has gone past it. */
    g_assert_cmphex(tq_ereg(&c, 128, 0x1024) & 0xffffff, ==, 0);
    words_start(&q, to, 0x200, 4);
    wait_marker(&q);
    words_expect(&q, to, 0x200, 4);
    tq_stop(&c);
}

static void test_early(void)
{
    uint64_t to;
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    to = tq_alloc(&c, 64, 64);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    tq_set(&c, "dma-early", "'128:4'");
    words_start(&q, to, 0x100, 4);
    wait_marker(&q);
    words_expect(&q, to, 0x100, 3);
    g_assert_cmphex(qtest_readl(c.qts, to + 12), ==, 0);
    tq_step_ms(&c, 30);
    words_expect(&q, to, 0x100, 4);
    tq_stop(&c);
}

/* What a driver does to bring an engine back, from the least to the most */
enum { RESET_QUEUE, RESET_ENGINE, RESET_CORE, RESET_DEVICE, NUM_RESETS };

static void do_reset(TqChip *c, unsigned e, unsigned nr, unsigned how)
{
    switch (how) {
    case RESET_QUEUE:
        tq_ewrite(c, e, 0x10b0 + nr * 0x1000, 0x100);
        tq_ewrite(c, e, 0x21064 + nr * 0x1000, 0x100);
        return;
    case RESET_ENGINE:
        reset_queues(c, e);
        break;
    case RESET_CORE:
    case RESET_DEVICE:
        /* core e / 16 with its engines; or all */
        tq_misc_write(c, 0x1d4, 0);
        tq_misc_write(c, 0x1d8, 0x100u << (e / 16));
        tq_misc_write(c, 0x1ec, how == RESET_CORE ? 2 : 1);
        tq_misc_write(c, 0x800, 1);
        tq_step_ms(c, 60);
        g_assert_cmphex(tq_misc_read(c, 0x1ec), ==, 0);
    }
    tq_init_engine(c, e);
}

static void test_stuck(const void *data)
{
    static const char *const names[] = { "queue", "engine", "core", "device" };
    unsigned level = (uintptr_t)data, how, last;
    g_autofree char *fault = g_strdup_printf("36.3:%s", names[level]);
    g_autofree char *json = g_strdup_printf("'%s'", fault);
    TqQueue q, neighbour;
    uint64_t to;
    TqChip c;

    tq_start(&c, NULL);
    to = tq_alloc(&c, 64, 64);
    /* Less than the level does not help; the level and more do. */
    for (last = level; last < NUM_RESETS; last++) {
        tq_init_engine(&c, 36);
        tq_init_queue(&q, &c, 36, 3, 64);
        tq_init_queue(&neighbour, &c, 36, 4, 64);
        tq_set(&c, "engine-stuck", json);
        expect_text(&c, "engine-stuck", fault);
        words_start(&neighbour, to + 32, 0x10, 4);
        wait_marker(&neighbour);
        words_start(&q, to, 0x100, 4);
        tq_settle(&c);
        g_assert_false(tq_marker_seen(&q));
        g_assert_cmphex(qtest_readl(c.qts, to), ==, 0);
        /* It says that it is well. */
        expect_state(&c, 36, 1);

        for (how = 0; how < level; how++) {
            do_reset(&c, 36, 3, how);
            tq_init_queue(&q, &c, 36, 3, 64);
            words_start(&q, to, 0x200, 4);
            tq_settle(&c);
            g_assert_false(tq_marker_seen(&q));
        }
        do_reset(&c, 36, 3, last);
        expect_text(&c, "engine-stuck", "");
        tq_init_queue(&q, &c, 36, 3, 64);
        words_start(&q, to, 0x300, 4);
        wait_marker(&q);
        words_expect(&q, to, 0x300, 4);
    }

    /* Taking the fault back sets going what was rung meanwhile. */
    tq_set(&c, "engine-stuck", json);
    words_start(&q, to, 0x400, 4);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    tq_set(&c, "engine-stuck", "''");
    wait_marker(&q);
    words_expect(&q, to, 0x400, 4);
    tq_stop(&c);
}

/* Only the end of the fault helps. */
static void test_stuck_none(void)
{
    TqQueue q;
    uint64_t to;
    unsigned how;
    TqChip c;

    tq_start(&c, NULL);
    to = tq_alloc(&c, 64, 64);
    tq_init_engine(&c, 36);
    tq_set(&c, "engine-stuck", "'36.3:none'");
    expect_text(&c, "engine-stuck", "36.3:none");
    for (how = 0; how < NUM_RESETS; how++) {
        do_reset(&c, 36, 3, how);
        tq_init_queue(&q, &c, 36, 3, 64);
        words_start(&q, to, 0x100, 4);
        tq_settle(&c);
        g_assert_false(tq_marker_seen(&q));
    }
    tq_set(&c, "engine-stuck", "''");
    wait_marker(&q);
    words_expect(&q, to, 0x100, 4);
    tq_stop(&c);
}

static void test_registers(void)
{
    static const struct { const char *prop; uint32_t value; } kinds[] = {
        { "regs-deadbeef", 0xdeadbeef }, { "regs-ones", 0xffffffff },
    };
    unsigned i;
    TqChip c;

    tq_start(&c, NULL);
    for (i = 0; i < ARRAY_SIZE(kinds); i++) {
        uint32_t v = kinds[i].value;

        tq_ewrite(&c, 7, 0x254, 0x1234);
        tq_set(&c, kinds[i].prop, "'7'");
        expect_text(&c, kinds[i].prop, "7");
        g_assert_cmphex(tq_ereg(&c, 7, 0x254), ==, v);
        tq_ewrite(&c, 7, 0x254, 0x5678);
        g_assert_cmphex(tq_ereg(&c, 8, 0x200), ==, 0x1111);
        g_assert_cmphex(tq_misc_read(&c, 0), ==, 7);

        tq_set(&c, kinds[i].prop, "'engines'");
        g_assert_cmphex(tq_ereg(&c, 8, 0x200), ==, v);
        g_assert_cmphex(tq_misc_read(&c, 0), ==, 7);

        tq_set(&c, kinds[i].prop, "'firmware'");
        g_assert_cmphex(tq_ereg(&c, 8, 0x200), ==, 0x1111);
        g_assert_cmphex(tq_misc_read(&c, 0), ==, v);

        tq_set(&c, kinds[i].prop, "'all'");
        g_assert_cmphex(tq_ereg(&c, 8, 0x200), ==, v);
        g_assert_cmphex(tq_misc_read(&c, 0), ==, v);
        /* BAR2 and the configuration space are not of it. */
        g_assert_cmphex(tq_xread(&c, 0), ==, 0x584e5254);
        g_assert_cmphex(tq_cfg_read(&c, 0), ==, 0x73641d0f);

        tq_set(&c, kinds[i].prop, "''");
        g_assert_cmphex(tq_ereg(&c, 7, 0x254), ==, 0x1234);
        g_assert_cmphex(tq_misc_read(&c, 0), ==, 7);
    }
    tq_set_fails(&c, "regs-ones", "'some'");
    tq_set_fails(&c, "regs-ones", "'256'");
    tq_stop(&c);
}

/* A vector whose messages are told to go to a word of memory */
static uint64_t irq_start(TqChip *c)
{
    uint64_t msg = tq_alloc(c, 4, 4);
    uint8_t cap = tq_find_cap(c, 0x11);

    tq_xwrite(c, 0xc000, msg);
    tq_xwrite(c, 0xc004, 0);
    tq_xwrite(c, 0xc008, 0x77);
    tq_xwrite(c, 0xc00c, 0);
    tq_cfg_writew(c, cap + 2, 0x8000);
    return msg;
}

/* Lies are a matter of the seed, and end when they are told to. */
static void test_hostile(void)
{
    uint32_t told[2][32];
    unsigned i, n, lies = 0;
    TqChip c;

    tq_start(&c, NULL);
    for (n = 0; n < 2; n++) {
        tq_set(&c, "hostile", "'7:1000000'");
        expect_text(&c, "hostile", "7:1000000");
        for (i = 0; i < ARRAY_SIZE(told[n]); i++) {
            told[n][i] = i % 2 ? tq_ereg(&c, 8, 0x200) : tq_xread(&c, 0);
            lies += told[n][i] != (i % 2 ? 0x1111 : 0x584e5254);
        }
    }
    g_assert_cmpint(memcmp(told[0], told[1], sizeof(told[0])), ==, 0);
    g_assert_cmpuint(lies, >, ARRAY_SIZE(told[0]));
    tq_set(&c, "hostile", "'8:1000000'");
    for (i = n = 0; i < ARRAY_SIZE(told[0]); i++) {
        n += told[0][i] != (i % 2 ? tq_ereg(&c, 8, 0x200) :
                            tq_xread(&c, 0));
    }
    g_assert_cmpuint(n, >, 0);

    tq_set(&c, "hostile", "''");
    expect_text(&c, "hostile", "");
    for (i = 0; i < 100; i++) {
        g_assert_cmphex(tq_ereg(&c, 8, 0x200), ==, 0x1111);
        g_assert_cmphex(tq_xread(&c, 0), ==, 0x584e5254);
    }
    tq_stop(&c);
}

/* A wrong byte somewhere in what DMA has written */
static void test_hostile_dma(void)
{
    uint64_t from, to;
    unsigned i, wrong = 0;
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    tq_init_engine(&c, 3);
    tq_init_queue(&q, &c, 3, 0, 64);
    from = tq_alloc(&c, 256, 4);
    to = tq_alloc(&c, 256, 4);
    qtest_memset(c.qts, from, 0x5a, 256);
    tq_set(&c, "hostile", "'1:1000000'");
    tq_pair(&q, TQ_HOST | to, TQ_HOST | from, 256, 0, 0, 0);
    tq_kick(&q);
    tq_settle(&c);
    for (i = 0; i < 256; i++) {
        wrong += qtest_readb(c.qts, to + i) != 0x5a;
    }
    g_assert_cmpuint(wrong, ==, 1);
    tq_stop(&c);
}

static void test_irq_lose(void)
{
    uint64_t msg, area;
    unsigned i;
    TqChip c;

    tq_start(&c, "msix-vectors=1");
    msg = irq_start(&c);
    area = tq_alloc(&c, 0x800, 0x800);
    tq_xwrite(&c, 0x20, area);
    tq_xwrite(&c, 0x24, (TQ_HOST | area) >> 32);
    tq_init_engine(&c, 128);
    tq_ewrite(&c, 128, 0x38068, 0xc);
    tq_ewrite(&c, 128, 0x38058, ~1u);
    tq_set(&c, "irq-lose", "2");
    for (i = 0; i < 4; i++) {
        qtest_writel(c.qts, msg, 0);
        tq_ewrite(&c, 128, 0x38048, 1);     /* cause set */
        g_assert_cmphex(qtest_readl(c.qts, msg), ==, i < 2 ? 0 : 0x77);
        /* What the message is about is there in any case. */
        g_assert_cmphex(qtest_readl(c.qts, area + 0x40 + 128 * 4), ==, 1);
        qtest_writel(c.qts, area + 0x40 + 128 * 4, 0);
    }
    tq_stop(&c);
}

static void test_irq_storm(void)
{
    uint64_t msg;
    unsigned i;
    TqChip c;

    tq_start(&c, "msix-vectors=1");
    msg = irq_start(&c);
    tq_set_fails(&c, "irq-storm", "1");
    tq_set(&c, "irq-storm", "50");
    for (i = 0; i < 5; i++) {
        qtest_writel(c.qts, msg, 0);
        qtest_clock_step(c.qts, 60 * 1000);
        g_assert_cmphex(qtest_readl(c.qts, msg), ==, 0x77);
    }
    tq_set(&c, "irq-storm", "0");
    qtest_writel(c.qts, msg, 0);
    tq_step_ms(&c, 10);
    g_assert_cmphex(qtest_readl(c.qts, msg), ==, 0);
    tq_stop(&c);
}

static void test_ecc(void)
{
    uint64_t host, cell = tq_hbm(2) + 0x10004;
    g_autofree char *json = g_strdup_printf("'0x%" PRIx64 "'", cell);
    TqQueue q;
    TqChip c;

    tq_start(&c, NULL);
    host = tq_alloc(&c, 64, 64);
    tq_init_engine(&c, 64);
    tq_init_queue(&q, &c, 64, 0, 64);
    tq_set(&c, "ecc-correctable", json);
    tq_pair(&q, TQ_HOST | host, tq_hbm(2) + 0x10000, 16, 0, 0, 0);
    tq_pair(&q, TQ_HOST | host, tq_hbm(2) + 0x10008, 16, 0, 0, 0);
    tq_pair(&q, TQ_HOST | host, tq_hbm(1) + 0x10000, 16, 0, 0, 0);
    tq_finish(&q);
    /* Only what has read it; corrected ones are in 31:16. */
    g_assert_cmphex(tq_misc_read(&c, 0x4c), ==, 1u << 16);
    g_assert_cmphex(tq_misc_read(&c, 0x48), ==, 0);

    tq_set(&c, "ecc-uncorrectable", json);
    tq_pair(&q, TQ_HOST | host, tq_hbm(2) + 0x10000, 16, 0, 0, 0);
    tq_kick(&q);
    tq_settle(&c);
    expect_state(&c, 64, 2);
    g_assert_cmphex(tq_ereg(&c, 64, SEC_A), ==, 1u << 7);
    g_assert_cmphex(tq_misc_read(&c, 0x4c) & 0xffff, ==, 1);

    /* Written anew, it is well again. */
    tq_init_engine(&c, 64);
    reset_queues(&c, 64);
    tq_ewrite(&c, 64, 0x204, 1);
    tq_ewrite(&c, 64, 0x20204, 1);
    tq_init_queue(&q, &c, 64, 0, 64);
    tq_pair(&q, cell, TQ_HOST | host, 4, 0, TQ_BARRIER, 0);
    tq_pair(&q, TQ_HOST | host, tq_hbm(2) + 0x10000, 16, 0, 0, 0);
    tq_finish(&q);
    expect_text(&c, "ecc-uncorrectable", "");
    expect_text(&c, "ecc-correctable", "");
    g_assert_cmphex(tq_misc_read(&c, 0x4c) & 0xffff, ==, 1);
    tq_set_fails(&c, "ecc-correctable", "'one'");
    tq_stop(&c);
}

static void expect_gone(TqChip *c)
{
    g_assert_cmphex(tq_cfg_read(c, 0), ==, 0xffffffff);
    g_assert_cmphex(tq_cfg_readw(c, 4), ==, 0xffff);
    g_assert_cmphex(tq_misc_read(c, 0x24), ==, 0xffffffff);
    g_assert_cmphex(tq_ereg(c, 128, 0x200), ==, 0xffffffff);
    g_assert_cmphex(tq_xread(c, 0), ==, 0xffffffff);
    g_assert_cmphex(qtest_readl(c->qts, c->bar4 + 0x1000), ==, 0xffffffff);
    /* SBUF of core 0 */
    g_assert_cmphex(tq_read(c, 0xd0000000), ==, 0xffffffff);
}

static void test_removal(void)
{
    TqQueue q;
    TqChip c;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 32768);
    for (i = 0; i < 30000; i++) {
        tq_pair(&q, tq_hbm(0), tq_hbm(1), 65536, 0, TQ_BARRIER, 0);
    }
    tq_add_marker(&q);
    tq_kick(&q);
    tq_set(&c, "surprise-removal", "40");
    expect_gone(&c);
    tq_step_ms(&c, 20);
    expect_gone(&c);
    /* Nothing that is written arrives. */
    tq_cfg_writew(&c, 4, 0);
    tq_misc_write(&c, 0xc0, 0x5eed);
    qtest_writel(c.qts, c.bar4 + 0x1000, 0x5eed);
    g_assert_false(tq_marker_seen(&q));

    /* Back, as one that was just plugged in */
    tq_step_ms(&c, 30);
    g_assert_cmphex(tq_cfg_read(&c, 0), ==, 0x73641d0f);
    g_assert_cmphex(tq_cfg_read(&c, 0x14), ==, 0);
    g_assert_cmphex(tq_cfg_readw(&c, 4) & 7, ==, 0);
    tq_map(&c, 0);
    tq_wait_firmware(&c);
    g_assert_cmphex(tq_misc_read(&c, 0xc0), ==, 0);
    g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 0x1000), !=, 0x5eed);
    g_assert_false(tq_marker_seen(&q));
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    tq_finish(&q);

    /* Until further notice */
    tq_set(&c, "surprise-removal", "4294967295");
    tq_step_ms(&c, 5000);
    expect_gone(&c);
    tq_set(&c, "surprise-removal", "0");
    g_assert_cmphex(tq_cfg_read(&c, 0), ==, 0x73641d0f);
    tq_stop(&c);
}

static void test_aer(void)
{
    uint16_t aer;
    TqChip c;

    tq_start(&c, NULL);
    aer = tq_find_ecap(&c, 0x0001);
    tq_set(&c, "aer", "'correctable'");
    g_assert_cmphex(tq_ecfg_read(&c, aer + 0x10), ==, 0x1);
    g_assert_cmphex(tq_ecfg_read(&c, aer + 0x04), ==, 0);
    tq_set(&c, "aer", "'non-fatal'");
    g_assert_cmphex(tq_ecfg_read(&c, aer + 0x04), ==, 1u << 14);
    tq_ecfg_write(&c, aer + 0x04, 1u << 14);
    tq_set(&c, "aer", "'fatal'");
    g_assert_cmphex(tq_ecfg_read(&c, aer + 0x04), ==, 1u << 18);
    /* by the severity register, one kind is fatal and the other is not */
    g_assert_cmphex(tq_ecfg_read(&c, aer + 0x0c) & (1u << 18 | 1u << 14), ==,
                    1u << 18);
    tq_set_fails(&c, "aer", "'small'");
    tq_stop(&c);
}

static void test_no_bar4(void)
{
    TqChip c;

    tq_start(&c, "bar4=off");
    tq_cfg_write(&c, 0x20, 0xffffffff);
    g_assert_cmphex(tq_cfg_read(&c, 0x20), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0), ==, 7);
    tq_stop(&c);
}

/* The window takes the text of one setting. */
static uint32_t window(TqChip *c, const char *text)
{
    unsigned i, len = strlen(text);

    for (i = 0; i < len; i += 4) {
        uint32_t word = 0;

        memcpy(&word, text + i, MIN(len - i, 4));
        tq_xwrite(c, 0xe000 + i, word);
    }
    tq_xwrite(c, 0xe100, len);
    return tq_xread(c, 0xe104);
}

static void test_window(void)
{
    TqChip c;

    tq_start(&c, NULL);
    g_assert_cmphex(tq_xread(&c, 8) & 8, ==, 0);
    g_assert_cmphex(window(&c, "fw-dead=on"), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0), ==, 7);
    tq_stop(&c);

    tq_start(&c, "fault-window=on");
    g_assert_cmphex(tq_xread(&c, 8) & 8, ==, 8);
    g_assert_cmphex(window(&c, "dma-abort=3.4:5"), ==, 1);
    expect_text(&c, "dma-abort", "3.4:5");
    g_assert_cmphex(window(&c, "dma-abort="), ==, 1);
    expect_text(&c, "dma-abort", "");
    g_assert_cmphex(window(&c, "fw-dead=on"), ==, 1);
    g_assert_cmphex(tq_misc_read(&c, 0), ==, 0xdeadbeef);
    g_assert_cmphex(window(&c, "fw-dead=off"), ==, 1);
    g_assert_cmphex(window(&c, "hbm1-ecc-corrected=5"), ==, 1);
    g_assert_cmphex(tq_misc_read(&c, 0x48), ==, 5u << 16);
    /* Nonsense, and what is no fault */
    g_assert_cmphex(window(&c, "dma-abort=x"), ==, 2);
    g_assert_cmphex(window(&c, "dma-abort"), ==, 2);
    g_assert_cmphex(window(&c, ""), ==, 2);
    g_assert_cmphex(window(&c, "hotplugged=on"), ==, 2);
    g_assert_cmphex(window(&c, "fw-api-version=3"), ==, 2);
    g_assert_cmphex(window(&c, "realized=off"), ==, 2);
    tq_xwrite(&c, 0xe100, 0x101);
    g_assert_cmphex(tq_xread(&c, 0xe104), ==, 2);
    tq_xwrite(&c, 0xe100, 0xffffffff);
    g_assert_cmphex(tq_xread(&c, 0xe104), ==, 2);
    tq_stop(&c);
}

static void test_refused(void)
{
    static const char *const dma[] = {
        "'x'", "'1'", "'1:'", "'1:0'", "'1.16:1'", "'256:1'", "':1'", "'1:1x'",
        "'-1:1'",
    };
    static const char *const stuck[] = {
        "'1:'", "'1:chip'", "'132:queue'", "'queue'", "'1.16:queue'",
    };
    unsigned i;
    TqChip c;

    tq_start(&c, NULL);
    for (i = 0; i < ARRAY_SIZE(dma); i++) {
        tq_set_fails(&c, "dma-abort", dma[i]);
    }
    for (i = 0; i < ARRAY_SIZE(stuck); i++) {
        tq_set_fails(&c, "engine-stuck", stuck[i]);
    }
    tq_set_fails(&c, "fault-window", "true");
    tq_stop(&c);

    tq_start(&c, "reorder=3");
    tq_set_fails(&c, "dma-abort", "'1:1'");
    tq_set_fails(&c, "ecc-correctable", "'0'");
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/trainium/fault/dma-abort", test_abort);
    qtest_add_func("/trainium/fault/dma-corrupt", test_wrong_data);
    qtest_add_func("/trainium/fault/dma-lost", test_lost);
    qtest_add_func("/trainium/fault/dma-early", test_early);
    qtest_add_data_func("/trainium/fault/stuck/queue",
                        (void *)RESET_QUEUE, test_stuck);
    qtest_add_data_func("/trainium/fault/stuck/engine",
                        (void *)RESET_ENGINE, test_stuck);
    qtest_add_data_func("/trainium/fault/stuck/core",
                        (void *)RESET_CORE, test_stuck);
    qtest_add_data_func("/trainium/fault/stuck/device",
                        (void *)RESET_DEVICE, test_stuck);
    qtest_add_func("/trainium/fault/stuck/none", test_stuck_none);
    qtest_add_func("/trainium/fault/registers", test_registers);
    qtest_add_func("/trainium/fault/hostile", test_hostile);
    qtest_add_func("/trainium/fault/hostile-dma", test_hostile_dma);
    qtest_add_func("/trainium/fault/irq-lose", test_irq_lose);
    qtest_add_func("/trainium/fault/irq-storm", test_irq_storm);
    qtest_add_func("/trainium/fault/ecc", test_ecc);
    qtest_add_func("/trainium/fault/removal", test_removal);
    qtest_add_func("/trainium/fault/aer", test_aer);
    qtest_add_func("/trainium/fault/no-bar4", test_no_bar4);
    qtest_add_func("/trainium/fault/window", test_window);
    qtest_add_func("/trainium/fault/refused", test_refused);
    return g_test_run();
}
