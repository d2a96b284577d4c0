/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Engine initialisation, register contents, interrupt groups, engine state. */
#include "qemu/osdep.h"
#include "trainium-qtest.h"

/* What the registers hold when software's initialisation is through. */
static void check_engine(TqChip *c, unsigned e)
{
    static const uint32_t regs[][2] = {
        { 0x00310, 0x010008f8 }, { 0x00124, 0x20808080 },
        { 0x3a300, 0x05f5e100 }, { 0x00408, 0 }, { 0x00254, 0x010fffff },
        { 0x00258, 0x00000102 }, { 0x00118, 0x00010008 }, { 0x2038c, 0 },
        { 0x20124, 0x00400080 }, { 0x20128, 0x40804080 },
        { 0x20380, 0x00001004 }, { 0x00304, 0x00010041 },
        { 0x00308, 0x00004181 }, { 0x20308, 0x00004181 },
        { 0x0011c, 0x00010008 }, { 0x2011c, 0x00010008 },
        { 0x4001c, 1 }, { 0x40020, 1 }, { 0x40000, 1 }, { 0x40800, 0x26 },
        { 0x3a028, 0x28 }, { 0x3a068, 0x28 }, { 0x380e8, 0x28 },
        /* the second write of the group C abort mask replaces the first */
        { 0x3a0b0, 0xfffff03f },
        /* a bit written as 0 to mask clear is unmasked, others stay */
        { 0x3a090, 0xfffff000 }, { 0x380d0, 0xfffff8ff },
        { 0x3b460, 0 },
    };
    bool data = e < 128;
    unsigned i, q;

    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        if (tq_ereg(c, e, regs[i][0]) != regs[i][1]) {
            g_test_message("engine %u register 0x%x", e, regs[i][0]);
        }
        g_assert_cmphex(tq_ereg(c, e, regs[i][0]), ==, regs[i][1]);
    }
    /* data engines: ring id errors are masked, and mask == abort mask */
    g_assert_cmphex(tq_ereg(c, e, 0x3a010), ==, data ? 0xf0020000 : 0xf0000000);
    g_assert_cmphex(tq_ereg(c, e, 0x3a030), ==, data ? 0xf0020000 : 0xf0000000);
    g_assert_cmphex(tq_ereg(c, e, 0x3a050), ==, data ? 0x18f8 : 0x10f8);
    g_assert_cmphex(tq_ereg(c, e, 0x3a070), ==, data ? 0x18f8 : 0x10f8);
    if (data) {
        g_assert_cmphex(tq_ereg(c, e, 0x0020c) & 0x20000, ==, 0x20000);
        g_assert_cmphex(tq_ereg(c, e, 0x2020c) & 0x800, ==, 0x800);
        g_assert_cmphex(tq_read(c, tq_fis(e) + 0x90) & 0x800, ==, 0x800);
        g_assert_cmphex(tq_read(c, tq_fis(e) + 0xd0) & 0x4, ==, 0x4);
    }
    for (q = 0; q < 16; q++) {
        for (i = 0; i < 4; i++) {
            g_assert_cmphex(tq_ereg(c, e, 0x3c400 + q * 0x40 + i * 4), ==,
                            0xffffffff);
        }
        g_assert_cmphex(tq_ereg(c, e, 0x1020 + q * 0x1000), ==, 0x30000);
        g_assert_cmphex(tq_ereg(c, e, 0x21020 + q * 0x1000), ==, 0x30000);
    }
}

static void test_init(void)
{
    static const unsigned engines[] = { 0, 31, 33, 70, 127, 128, 129, 131 };
    TqChip c;
    unsigned i;

    tq_start(&c, NULL);
    for (i = 0; i < ARRAY_SIZE(engines); i++) {
        tq_init_engine(&c, engines[i]);
    }
    for (i = 0; i < ARRAY_SIZE(engines); i++) {
        check_engine(&c, engines[i]);
    }
    /* the one beside them is as it was */
    g_assert_cmphex(tq_ereg(&c, 1, 0x3a010), ==, 0xffffffff);
    g_assert_cmphex(tq_ereg(&c, 1, 0x40800), ==, 0);
    tq_stop(&c);
}

/* The whole chip, as the driver does it: 132 engines in their order. */
static void test_init_all(void)
{
    TqChip c;
    unsigned e;

    tq_start(&c, NULL);
    for (e = 0; e < 132; e++) {
        tq_init_engine(&c, e);
    }
    for (e = 0; e < 132; e += 13) {
        check_engine(&c, e);
    }
    check_engine(&c, 131);
    tq_stop(&c);
}

static void test_reset_values(void)
{
    TqChip c;
    unsigned q;

    tq_start(&c, NULL);
    for (q = 0; q < 16; q++) {
        uint32_t m = 0x1000 + q * 0x1000, s = 0x21000 + q * 0x1000;

        g_assert_cmphex(tq_ereg(&c, 128, m + 0x20), ==, 0x03000000);
        g_assert_cmphex(tq_ereg(&c, 128, s + 0x20), ==, 0x03000000);
        g_assert_cmphex(tq_ereg(&c, 128, m + 0x74), ==, 7);
        g_assert_cmphex(tq_ereg(&c, 128, m + 0x28), ==, 0);
        g_assert_cmphex(tq_ereg(&c, 128, m + 0x2c), ==, 0);
        g_assert_cmphex(tq_ereg(&c, 128, m + 0x30), ==, 0);
        g_assert_cmphex(tq_ereg(&c, 128, s + 0x30), ==, 0);
    }
    /* the spare words say: completion head is reported */
    g_assert_cmphex(tq_ereg(&c, 128, 0x3b460), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x604) & 0xff, ==, 4);
    /* usable without a write to change_state: no field is in abort */
    g_assert_cmphex(tq_ereg(&c, 128, 0x200) & 0x2222, ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x20200) & 0x2222, ==, 0);
    /* everything masked, nothing pending */
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a010), ==, 0xffffffff);
    g_assert_cmphex(tq_ereg(&c, 128, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x380d0), ==, 0xffffffff);
    tq_stop(&c);
}

static void test_queue_registers(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 130);
    tq_init_queue(&q, &c, 130, 5, 8192);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x20)), ==, 0x03030000);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x20)), ==, 0x03030000);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x28)), ==, (uint32_t)q.m2s.axi);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x2c)), ==, q.m2s.axi >> 32);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x28)), ==, (uint32_t)q.s2m.axi);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x2c)), ==, q.s2m.axi >> 32);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x30)), ==, 0x2000);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x30)), ==, 0x2000);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x74)), ==, 3);
    /* after a queue reset: index 0, ring id 1; the reset bit is gone */
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x34)), ==, 0x40000000);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x40000000);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x40)) & 0xffffff, ==, 0);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x4c)) & 0xffffff, ==, 0);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x34)), ==, 0x40000000);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x3c)), ==, 0x40000000);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0xb0)) & 0x100, ==, 0);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x64)) & 0x100, ==, 0);
    /* the queues beside it know nothing of it */
    g_assert_cmphex(tq_ereg(&c, 130, 0x5030), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 130, 0x7030), ==, 0);
    /* the low bits of a ring base are zero whatever is written */
    tq_write(&c, tq_m2s_reg(&q, 0x28), 0x1000003f);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x28)), ==, 0x10000000);
    /* the length has 24 bits */
    tq_write(&c, tq_m2s_reg(&q, 0x30), 0xff000040);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x30)), ==, 0x40);
    tq_stop(&c);
}

/* The doorbell adds to the tail, modulo the length, counting ring ids. */
static void test_doorbell(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 48);
    tq_write(&c, tq_m2s_reg(&q, 0x20), 0x03000000);     /* paused */
    tq_write(&c, tq_s2m_reg(&q, 0x20), 0x03000000);
    tq_write(&c, tq_m2s_reg(&q, 0x38), 5);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x40000005);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x34)), ==, 0x40000000);
    g_assert_cmpint(tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0x1ffffff, ==, 5);
    tq_write(&c, tq_m2s_reg(&q, 0x38), 0);              /* legal, nothing */
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x40000005);
    tq_write(&c, tq_m2s_reg(&q, 0x38), 40);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x4000002d);
    tq_write(&c, tq_s2m_reg(&q, 0x38), 7);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x3c)), ==, 0x40000007);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x4000002d);
    /* more than there is room for: the ring is full (bit 31), no more */
    tq_write(&c, tq_m2s_reg(&q, 0x38), 0xffffff);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x80000000);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0x81ffffff, ==,
                    0x80000030);
    tq_write(&c, tq_m2s_reg(&q, 0x38), 1);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x80000000);
    /* reset forgets it all */
    tq_write(&c, tq_m2s_reg(&q, 0xb0), 0x100);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x3c)), ==, 0x40000000);
    g_assert_cmpint(tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0x1ffffff, ==, 0);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x3c)), ==, 0x40000007);
    tq_write(&c, tq_s2m_reg(&q, 0x64), 0x100);
    g_assert_cmphex(tq_read(&c, tq_s2m_reg(&q, 0x3c)), ==, 0x40000000);
    tq_stop(&c);
}

/* cause, cause set, mask, mask clear, clear on read: every group alike */
static void test_irq_group(void)
{
    static const uint32_t group[] = {
        0x38000, 0x38040, 0x38080, 0x380c0, 0x3a000, 0x3a040, 0x3a080,
        0x3ad00, 0x3ae00, 0x3af00, 0x3b000, 0x3b100, 0x3b200, 0x3b300,
    };
    TqChip c;
    unsigned i;

    tq_start(&c, NULL);
    for (i = 0; i < ARRAY_SIZE(group); i++) {
        uint32_t g = group[i];

        /* masked in every way, so that nothing follows from a cause */
        tq_ewrite(&c, 7, g + 0x30, 0xffffffff);
        tq_ewrite(&c, 7, g + 0x10, 0xffffffff);
        tq_ewrite(&c, 7, g + 0x28, 0x28);
        tq_ewrite(&c, 7, g + 0x08, 0x30001);
        g_assert_cmphex(tq_ereg(&c, 7, g), ==, 0x30001);
        tq_ewrite(&c, 7, g + 0x08, 0x4);
        g_assert_cmphex(tq_ereg(&c, 7, g), ==, 0x30005);
        /* a bit written as 0 is cleared, 1 leaves it and sets nothing */
        tq_ewrite(&c, 7, g, 0xfffffffe);
        g_assert_cmphex(tq_ereg(&c, 7, g), ==, 0x30004);
        tq_ewrite(&c, 7, g + 0x28, 0x29);
        g_assert_cmphex(tq_ereg(&c, 7, g), ==, 0x30004);
        g_assert_cmphex(tq_ereg(&c, 7, g), ==, 0);
        tq_ewrite(&c, 7, g + 0x28, 0x28);

        tq_ewrite(&c, 7, g + 0x18, 0xfffffff0);
        g_assert_cmphex(tq_ereg(&c, 7, g + 0x10), ==, 0xfffffff0);
        tq_ewrite(&c, 7, g + 0x18, 0xffffff0f);
        g_assert_cmphex(tq_ereg(&c, 7, g + 0x10), ==, 0xffffff00);
        tq_ewrite(&c, 7, g + 0x10, 0x12345678);
        g_assert_cmphex(tq_ereg(&c, 7, g + 0x10), ==, 0x12345678);
        tq_ewrite(&c, 7, g + 0x10, 0xffffffff);
    }
    tq_stop(&c);
}

static void expect_state(TqChip *c, unsigned e, uint32_t side, uint32_t field)
{
    uint32_t v = tq_ereg(c, e, side + 0x200);
    int i;

    for (i = 0; i < 16; i += 4) {
        g_assert_cmpint(v >> i & 3, ==, field);
    }
}

/*
 * change_state: 1 normal, 2 disable, 4 abort. An abort stops both sides, and
 * each leaves it only when all queues of both were reset (our definition).
 */
static void test_change_state(void)
{
    static const uint32_t ctrl[2] = { 0x10b0, 0x21064 };
    TqChip c;
    unsigned i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 3);
    tq_ewrite(&c, 3, 0x204, 2);
    expect_state(&c, 3, 0, 0);
    expect_state(&c, 3, 0x20000, 1);
    tq_ewrite(&c, 3, 0x20204, 2);
    expect_state(&c, 3, 0x20000, 0);
    tq_ewrite(&c, 3, 0x204, 1);
    tq_ewrite(&c, 3, 0x20204, 1);
    expect_state(&c, 3, 0, 1);
    expect_state(&c, 3, 0x20000, 1);

    tq_ewrite(&c, 3, 0x204, 4);
    for (i = 0; i < 32; i++) {
        expect_state(&c, 3, 0, 2);
        expect_state(&c, 3, 0x20000, 2);
        tq_ewrite(&c, 3, 0x204, 1);
        tq_ewrite(&c, 3, 0x20204, 1);
        expect_state(&c, 3, 0, 2);
        expect_state(&c, 3, 0x20000, 2);
        tq_ewrite(&c, 3, ctrl[i / 16] + i % 16 * 0x1000, 0x100);
    }
    expect_state(&c, 3, 0, 2);
    tq_ewrite(&c, 3, 0x204, 1);
    expect_state(&c, 3, 0, 1);
    expect_state(&c, 3, 0x20000, 2);
    tq_ewrite(&c, 3, 0x20204, 1);
    expect_state(&c, 3, 0x20000, 1);

    /* the other side's register does the same; a second abort starts anew */
    tq_ewrite(&c, 3, 0x20204, 4);
    tq_ewrite(&c, 3, 0x204, 1);
    expect_state(&c, 3, 0, 2);
    expect_state(&c, 3, 0x20000, 2);
    g_assert_cmphex(tq_ereg(&c, 2, 0x200) & 0x2222, ==, 0);
    tq_stop(&c);
}

/* A device reset through the firmware brings the registers back. */
static void test_device_reset(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 40);
    tq_init_queue(&q, &c, 40, 3, 64);
    tq_ewrite(&c, 40, 0x204, 4);
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_wait(&c, c.bar0 + 0x06c84000 + 0x1ec, 0);
    tq_wait_firmware(&c);
    g_assert_cmphex(tq_ereg(&c, 40, 0x200) & 0x2222, ==, 0);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x30)), ==, 0);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x20)), ==, 0x03000000);
    g_assert_cmphex(tq_ereg(&c, 40, 0x3a010), ==, 0xffffffff);
    g_assert_cmphex(tq_ereg(&c, 40, 0x40800), ==, 0);
    tq_init_engine(&c, 40);
    check_engine(&c, 40);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/engine/init", test_init);
    qtest_add_func("trainium/engine/init-all", test_init_all);
    qtest_add_func("trainium/engine/reset-values", test_reset_values);
    qtest_add_func("trainium/engine/queue-registers", test_queue_registers);
    qtest_add_func("trainium/engine/doorbell", test_doorbell);
    qtest_add_func("trainium/engine/irq-group", test_irq_group);
    qtest_add_func("trainium/engine/change-state", test_change_state);
    qtest_add_func("trainium/engine/device-reset", test_device_reset);
    return g_test_run();
}
