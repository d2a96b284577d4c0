/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts: cause and mask of a group, route table, pending area, MSI-X.
 * MSI-X messages are told to go to plain memory, where a test can see them.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "trainium-qtest.h"

#define GROUP_B 0x38040u                    /* S2M completions */
#define GROUP_C 0x38080u                    /* M2S completions */
#define GROUP_D 0x380c0u                    /* errors, bits 8 and 9 */
#define NONE 0xffffffffu

typedef struct Irq {
    TqChip c;
    uint64_t msg;                           /* a word for each vector */
    uint64_t area;                          /* pending area */
    unsigned vectors;
} Irq;

static void msix_entry(Irq *t, unsigned v, bool masked)
{
    uint32_t e = 0xc000 + v * 16;

    tq_xwrite(&t->c, e, t->msg + v * 4);
    tq_xwrite(&t->c, e + 4, 0);
    tq_xwrite(&t->c, e + 8, 0x100 + v);
    tq_xwrite(&t->c, e + 12, masked);
}

static void msix_enable(Irq *t, bool on)
{
    uint8_t cap = tq_find_cap(&t->c, 0x11);

    tq_cfg_writew(&t->c, cap + 2, on ? 0x8000 : 0);
}

static void irq_start(Irq *t, unsigned vectors, bool area)
{
    g_autofree char *props = g_strdup_printf("msix-vectors=%u", vectors);
    unsigned v;

    tq_start(&t->c, props);
    t->vectors = vectors;
    t->msg = tq_alloc(&t->c, 64 * 4, 4096);
    t->area = tq_alloc(&t->c, 64 * 0x800, 4096);
    if (vectors) {
        msix_enable(t, true);
    }
    for (v = 0; v < vectors; v++) {
        msix_entry(t, v, false);
    }
    if (area) {
        tq_xwrite(&t->c, 0x20, t->area);
        tq_xwrite(&t->c, 0x24, (TQ_HOST | t->area) >> 32);
    }
}

static void route(Irq *t, unsigned engine, unsigned slot, uint32_t vector)
{
    tq_xwrite(&t->c, 0x4000 + (engine * 32 + slot) * 4, vector);
}

/* Unmasks bits of a group and lets it send MSI-X; @control besides that. */
static void unmask(Irq *t, unsigned engine, uint32_t group, uint32_t bits,
                   uint32_t control)
{
    tq_ewrite(&t->c, engine, group + 0x28, 0x8 | control);
    tq_ewrite(&t->c, engine, group + 0x18, ~bits);
}

/* Takes the message of a vector: 0, or its data. */
static uint32_t take_msg(Irq *t, unsigned v)
{
    uint32_t m = qtest_readl(t->c.qts, t->msg + v * 4);

    qtest_writel(t->c.qts, t->msg + v * 4, 0);
    return m;
}

static bool any_msg(Irq *t)
{
    bool any = false;
    unsigned v;

    for (v = 0; v < 64; v++) {
        any |= take_msg(t, v) != 0;
    }
    return any;
}

static uint32_t take_word(Irq *t, unsigned v, uint32_t off)
{
    uint64_t at = t->area + v * 0x800 + off;
    uint32_t w = qtest_readl(t->c.qts, at);

    qtest_writel(t->c.qts, at, 0);
    return w;
}

static bool area_empty(Irq *t)
{
    g_autofree uint8_t *buf = g_malloc(64 * 0x800);

    qtest_bufread(t->c.qts, t->area, buf, 64 * 0x800);
    return buffer_is_zero(buf, 64 * 0x800);
}

/* A marker whose descriptors ask for an interrupt: S2M, M2S, or none. */
static void marker(TqQueue *q, bool s2m, bool m2s)
{
    uint32_t words[2] = { TQ_MARK, 0 };

    tq_put(q->c, TQ_HOST | q->mark, words, 8);
    tq_pair(q, TQ_HOST | (q->mark + 4), TQ_HOST | q->mark, 4,
            m2s ? TQ_INT : 0, 0, s2m ? TQ_INT : 0);
    tq_kick(q);
    tq_wait(q->c, q->mark + 4, TQ_MARK);
    tq_step(q->c);
}

/* What the completion of a queue does on its way to the handler */
static void test_completion(void)
{
    static const struct { unsigned engine, q, vector; } at[] = {
        { 128, 0, 0 }, { 128, 15, 3 }, { 0, 1, 7 }, { 31, 2, 31 },
        { 32, 3, 5 }, { 127, 13, 2 }, { 131, 8, 30 },
    };
    unsigned i, v;
    Irq t;

    irq_start(&t, 32, true);
    for (i = 0; i < ARRAY_SIZE(at); i++) {
        unsigned e = at[i].engine, bit = at[i].q;
        TqQueue q;

        tq_init_engine(&t.c, e);
        tq_init_queue(&q, &t.c, e, at[i].q, 32);
        route(&t, e, at[i].q, at[i].vector);
        unmask(&t, e, GROUP_B, 1u << bit, 0);
        marker(&q, true, false);
        g_assert_cmphex(tq_ereg(&t.c, e, GROUP_B), ==, 1u << bit);
        g_assert_cmphex(tq_ereg(&t.c, e, GROUP_C), ==, 0);
        g_assert_cmphex(take_msg(&t, at[i].vector), ==, 0x100 + at[i].vector);
        g_assert_false(any_msg(&t));
        v = at[i].vector;
        g_assert_cmphex(take_word(&t, v, e / 32 * 4), ==, 1u << e % 32);
        g_assert_cmphex(take_word(&t, v, 0x40 + e * 4), ==, 1u << bit);
        g_assert_true(area_empty(&t));

        /* without the interrupt bit nothing of this happens */
        tq_ewrite(&t.c, e, GROUP_B, 0);
        marker(&q, false, false);
        g_assert_cmphex(tq_ereg(&t.c, e, GROUP_B), ==, 0);
        g_assert_false(any_msg(&t));
        g_assert_true(area_empty(&t));
    }
    tq_stop(&t.c);
}

static void test_m2s(void)
{
    TqQueue q;
    Irq t;

    irq_start(&t, 4, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 6, 32);
    route(&t, 128, 6, 2);
    unmask(&t, 128, GROUP_C, 1u << 6, 0);
    marker(&q, false, true);
    g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_C), ==, 1u << 6);
    g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B), ==, 0);
    g_assert_cmphex(take_msg(&t, 2), ==, 0x102);
    tq_stop(&t.c);
}

/* Any descriptor of a packet may ask: here one of two, of either side. */
static void test_one_of_two(void)
{
    unsigned i;
    TqQueue q;
    Irq t;

    irq_start(&t, 4, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 6, 32);
    for (i = 0; i < 4; i++) {
        tq_ewrite(&t.c, 128, GROUP_B, 0);
        tq_ewrite(&t.c, 128, GROUP_C, 0);
        tq_m2s(&q, tq_hbm(0), 64, TQ_FIRST | (i == 0 ? TQ_INT : 0), TQ_COPY);
        tq_m2s(&q, tq_hbm(0), 64, TQ_LAST | (i == 1 ? TQ_INT : 0), TQ_COPY);
        tq_s2m(&q, tq_hbm(1), 64, i == 2 ? TQ_INT : 0);
        tq_s2m(&q, tq_hbm(1), 64, i == 3 ? TQ_INT : 0);
        tq_kick(&q);
        tq_settle(&t.c);
        g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_C), ==, i < 2 ? 1u << 6 : 0);
        g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B), ==, i < 2 ? 0 : 1u << 6);
    }
    tq_stop(&t.c);
}

/* The data is there when the message is: each event, in 300 of them. */
static void test_data_first(void)
{
    TqQueue q;
    Irq t;
    int i;

    irq_start(&t, 1, false);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 0, 64);
    unmask(&t, 128, GROUP_B, 1, 4);
    for (i = 0; i < 300; i++) {
        qtest_writel(t.c.qts, q.mark, 0x77000000 + i);
        tq_pair(&q, tq_hbm(0), TQ_HOST | q.mark, 4, 0, 0, 0);
        tq_pair(&q, TQ_HOST | (q.mark + 4), tq_hbm(0), 4, 0, 0, TQ_INT);
        tq_kick(&q);
        tq_wait(&t.c, t.msg, 0x100);
        g_assert_cmphex(qtest_readl(t.c.qts, q.mark + 4), ==, 0x77000000 + i);
        g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    }
    tq_stop(&t.c);
}

/* Masked: the cause waits; unmasking sends it. */
static void test_masked(void)
{
    TqQueue q;
    Irq t;

    irq_start(&t, 2, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 4, 32);
    route(&t, 128, 4, 1);
    tq_ewrite(&t.c, 128, GROUP_B + 0x28, 8);
    marker(&q, true, false);
    g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B), ==, 1u << 4);
    g_assert_false(any_msg(&t));
    g_assert_true(area_empty(&t));
    unmask(&t, 128, GROUP_B, 1u << 4, 0);
    g_assert_cmphex(take_msg(&t, 1), ==, 0x101);
    g_assert_cmphex(take_word(&t, 1, 0x40 + 128 * 4), ==, 1u << 4);
    /* cleared before it is unmasked: nothing left to send */
    tq_ewrite(&t.c, 128, GROUP_B + 0x10, NONE);
    marker(&q, true, false);
    tq_ewrite(&t.c, 128, GROUP_B, 0);
    unmask(&t, 128, GROUP_B, 1u << 4, 0);
    g_assert_false(any_msg(&t));
    tq_stop(&t.c);
}

/* Control bit 5, which the vendor's driver sets, keeps a group quiet. */
static void test_group_msix_mask(void)
{
    TqQueue q;
    Irq t;

    irq_start(&t, 2, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 0, 32);
    unmask(&t, 128, GROUP_B, 1, 0x20);
    marker(&q, true, false);
    g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B), ==, 1);
    g_assert_false(any_msg(&t));
    tq_stop(&t.c);
}

/* Control bit 2 clears the cause with the message, bit 1 masks it. */
static void test_auto(void)
{
    TqQueue q;
    Irq t;
    int i;

    irq_start(&t, 2, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 2, 64);
    unmask(&t, 128, GROUP_B, 1u << 2, 4);
    for (i = 0; i < 5; i++) {
        marker(&q, true, false);
        g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B), ==, 0);
        g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    }
    unmask(&t, 128, GROUP_B, 1u << 2, 2);
    marker(&q, true, false);
    g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B + 0x10) & 4, ==, 4);
    marker(&q, true, false);
    g_assert_false(any_msg(&t));
    unmask(&t, 128, GROUP_B, 1u << 2, 2);
    g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    tq_stop(&t.c);
}

/* Route 0xffffffff drops; a vector that is not there becomes vector 0. */
static void test_route(void)
{
    TqQueue q;
    Irq t;

    irq_start(&t, 3, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 0, 64);
    unmask(&t, 128, GROUP_B, 1, 4);
    /* reset value: vector 0 */
    g_assert_cmphex(tq_xread(&t.c, 0x4000 + 128 * 128), ==, 0);
    marker(&q, true, false);
    g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    take_word(&t, 0, 16);
    take_word(&t, 0, 0x40 + 128 * 4);

    route(&t, 128, 0, NONE);
    marker(&q, true, false);
    g_assert_false(any_msg(&t));
    g_assert_true(area_empty(&t));

    route(&t, 128, 0, 2);
    marker(&q, true, false);
    g_assert_cmphex(take_msg(&t, 2), ==, 0x102);
    g_assert_cmphex(take_word(&t, 2, 16), ==, 1);
    g_assert_cmphex(take_word(&t, 2, 0x40 + 128 * 4), ==, 1);

    route(&t, 128, 0, 3);
    marker(&q, true, false);
    g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    g_assert_cmphex(take_word(&t, 0, 0x40 + 128 * 4), ==, 1);
    take_word(&t, 0, 16);
    route(&t, 128, 0, 0x7fffffff);
    marker(&q, true, false);
    g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    tq_stop(&t.c);
}

/* One vector for everything: the pending area tells who it was. */
static void test_one_vector(void)
{
    TqQueue q[6];
    Irq t;
    unsigned i;

    irq_start(&t, 1, true);
    for (i = 0; i < 6; i++) {
        unsigned e = i * 23;

        tq_init_engine(&t.c, e);
        tq_init_queue(&q[i], &t.c, e, i, 32);
        unmask(&t, e, GROUP_B, 1u << i, 4);
        marker(&q[i], true, false);
    }
    g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    for (i = 0; i < 6; i++) {
        unsigned e = i * 23;

        g_assert_cmphex(qtest_readl(t.c.qts, t.area + e / 32 * 4) &
                        1u << e % 32, !=, 0);
        g_assert_cmphex(take_word(&t, 0, 0x40 + e * 4), ==, 1u << i);
    }
    tq_stop(&t.c);
}

/* Bits are ORed in: what software has not taken yet stays. */
static void test_pending_or(void)
{
    TqQueue q[2];
    Irq t;
    int i;

    irq_start(&t, 1, true);
    tq_init_engine(&t.c, 33);
    qtest_writel(t.c.qts, t.area + 4, 0x80000001);
    qtest_writel(t.c.qts, t.area + 0x40 + 33 * 4, 0x4000);
    for (i = 0; i < 2; i++) {
        tq_init_queue(&q[i], &t.c, 33, 5 + i, 32);
        unmask(&t, 33, GROUP_B, 0x60, 4);
        marker(&q[i], true, false);
    }
    g_assert_cmphex(take_word(&t, 0, 4), ==, 0x80000003);
    g_assert_cmphex(take_word(&t, 0, 0x40 + 33 * 4), ==, 0x4060);
    tq_stop(&t.c);
}

/* An area that is not memory is no reason to lose the message. */
static void test_bad_area(void)
{
    const uint64_t bad[] = {
        TQ_HOST | 0x3f0000000000, 0x900000000000, 0x10000000000000,
        0x008006838000, 0x001002001000,
    };
    TqQueue q;
    Irq t;
    unsigned i;

    irq_start(&t, 1, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 0, 64);
    unmask(&t, 128, GROUP_B, 1, 4);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        tq_xwrite(&t.c, 0x20, bad[i]);
        tq_xwrite(&t.c, 0x24, bad[i] >> 32);
        marker(&q, true, false);
        g_assert_cmphex(take_msg(&t, 0), ==, 0x100);
    }
    tq_stop(&t.c);
}

/* Errors go to slot 16 of the engine. */
static void test_error_slot(void)
{
    TqQueue q;
    Irq t;

    irq_start(&t, 4, true);
    tq_init_engine(&t.c, 129);
    tq_init_queue(&q, &t.c, 129, 3, 32);
    route(&t, 129, 16, 3);
    unmask(&t, 129, GROUP_D, 0x100, 0);
    tq_pair(&q, tq_hbm(0), 0x7ull << 60, 4, 0, 0, TQ_INT);
    tq_kick(&q);
    tq_wait(&t.c, t.msg + 3 * 4, 0x103);
    take_msg(&t, 3);
    g_assert_false(any_msg(&t));
    g_assert_cmphex(take_word(&t, 3, 16), ==, 2);
    g_assert_cmphex(take_word(&t, 3, 0x40 + 129 * 4), ==, 1u << 16);
    g_assert_true(area_empty(&t));
    g_assert_cmphex(tq_ereg(&t.c, 129, GROUP_D) & 0x300, ==, 0x100);
    /* the descriptor that failed completed nothing */
    g_assert_cmphex(tq_ereg(&t.c, 129, GROUP_B), ==, 0);
    tq_stop(&t.c);
}

/* A vector masked in the table pends in the PBA and comes with the unmask. */
static void test_vector_mask(void)
{
    TqQueue q;
    Irq t;

    irq_start(&t, 8, true);
    tq_init_engine(&t.c, 128);
    tq_init_queue(&q, &t.c, 128, 0, 32);
    route(&t, 128, 0, 5);
    unmask(&t, 128, GROUP_B, 1, 4);
    msix_entry(&t, 5, true);
    marker(&q, true, false);
    g_assert_false(any_msg(&t));
    g_assert_cmphex(tq_xread(&t.c, 0xd000) & 1u << 5, !=, 0);
    /* the area does not depend on the vector */
    g_assert_cmphex(take_word(&t, 5, 0x40 + 128 * 4), ==, 1);
    msix_entry(&t, 5, false);
    g_assert_cmphex(take_msg(&t, 5), ==, 0x105);
    g_assert_cmphex(tq_xread(&t.c, 0xd000), ==, 0);
    tq_stop(&t.c);
}

/* No vectors at all, and vectors the driver did not enable: it polls. */
static void test_no_msix(void)
{
    unsigned n;

    for (n = 0; n < 2; n++) {
        TqQueue q;
        Irq t;

        irq_start(&t, n * 4, true);
        if (n) {
            msix_enable(&t, false);
        }
        tq_init_engine(&t.c, 128);
        tq_init_queue(&q, &t.c, 128, 0, 32);
        unmask(&t, 128, GROUP_B, 1, 0);
        marker(&q, true, true);
        marker(&q, true, true);
        g_assert_cmphex(tq_ereg(&t.c, 128, GROUP_B), ==, 1);
        g_assert_false(any_msg(&t));
        tq_stop(&t.c);
    }
}

/* A burst: at least one message after the last completion, no bit lost. */
static void test_burst(void)
{
    TqQueue q[16];
    uint32_t seen = 0;
    unsigned i, k;
    Irq t;

    irq_start(&t, 2, true);
    tq_init_engine(&t.c, 77);
    unmask(&t, 77, GROUP_B, 0xffff, 4);
    for (i = 0; i < 16; i++) {
        tq_init_queue(&q[i], &t.c, 77, i, 128);
        route(&t, 77, i, i & 1);
        for (k = 0; k < 100; k++) {
            tq_pair(&q[i], tq_hbm(0) + i * 4096, tq_hbm(1), 4096, 0, 0,
                    k == 99 ? TQ_INT : 0);
        }
    }
    for (i = 0; i < 16; i++) {
        tq_kick(&q[i]);
    }
    for (i = 0; i < 20000 && seen != 0xffff; i++) {
        unsigned v;

        for (v = 0; v < 2; v++) {
            if (take_msg(&t, v)) {
                take_word(&t, v, 77 / 32 * 4);
                seen |= take_word(&t, v, 0x40 + 77 * 4);
            }
        }
        tq_step(&t.c);
    }
    g_assert_cmphex(seen, ==, 0xffff);
    tq_stop(&t.c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/irq/completion", test_completion);
    qtest_add_func("trainium/irq/m2s", test_m2s);
    qtest_add_func("trainium/irq/one-of-two", test_one_of_two);
    qtest_add_func("trainium/irq/data-first", test_data_first);
    qtest_add_func("trainium/irq/masked", test_masked);
    qtest_add_func("trainium/irq/group-msix-mask", test_group_msix_mask);
    qtest_add_func("trainium/irq/auto", test_auto);
    qtest_add_func("trainium/irq/route", test_route);
    qtest_add_func("trainium/irq/one-vector", test_one_vector);
    qtest_add_func("trainium/irq/pending-or", test_pending_or);
    qtest_add_func("trainium/irq/bad-area", test_bad_area);
    qtest_add_func("trainium/irq/error-slot", test_error_slot);
    qtest_add_func("trainium/irq/vector-mask", test_vector_mask);
    qtest_add_func("trainium/irq/no-msix", test_no_msix);
    qtest_add_func("trainium/irq/burst", test_burst);
    return g_test_run();
}
