/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function level reset, system reset, unplugging; with DMA running, too. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define MIB (1024 * 1024ull)
#define GIB (1024 * MIB)

static void copy_works(TqChip *c, unsigned e)
{
    uint64_t at = tq_alloc(c, 8, 8);
    TqQueue q;

    tq_init_engine(c, e);
    tq_init_queue(&q, c, e, 3, 32);
    qtest_writel(c->qts, at, 0x900d0000 + e);
    tq_pair(&q, tq_hbm(1) + 0x700, TQ_HOST | at, 4, 0, TQ_BARRIER, 0);
    tq_pair(&q, TQ_HOST | (at + 4), tq_hbm(1) + 0x700, 4, 0, 0, 0);
    tq_finish(&q);
    g_assert_cmphex(qtest_readl(c->qts, at + 4), ==, 0x900d0000 + e);
}

/* Work for about a second, of which the first part is done at once. */
static void start_long(TqQueue *q, TqChip *c, unsigned e)
{
    unsigned i;

    tq_init_engine(c, e);
    tq_init_queue(q, c, e, 0, 32768);
    for (i = 0; i < 30000; i++) {
        tq_pair(q, tq_hbm(0) + 128 * MIB, tq_hbm(1), 65536, 0, TQ_BARRIER, 0);
    }
    tq_add_marker(q);
    tq_kick(q);
}

/* Leaves marks in everything a reset has to clear. */
static void use_chip(TqChip *c)
{
    uint8_t cap = tq_find_cap(c, 0x11);

    copy_works(c, 100);
    tq_ewrite(c, 100, 0x204, 4);
    tq_ewrite(c, 60, 0x3a008, 0x10);
    tq_misc_write(c, 0xc0, 0x5eed);
    tq_write(c, 0xd0000000 + 0x2701400 + 7 * 4, 99);
    tq_write(c, 0xd0000000 + 0x2700000 + 3 * 4, 1);
    tq_write(c, 0x06001100, 0x1000);
    tq_xwrite(c, 0x4000, 5);
    tq_xwrite(c, 0x20, 0x8000);
    tq_xwrite(c, 0x24, TQ_HOST >> 32);
    tq_cfg_writew(c, cap + 2, 0x8000);
    g_assert_cmphex(tq_read(c, 0xd0000000 + 0x2701000 + 7 * 4), ==, 99);
    g_assert_cmphex(tq_ereg(c, 100, 0x200) & 0x3333, ==, 0x2222);
    g_assert_cmphex(tq_ereg(c, 60, 0x3a000), ==, 0x10);
    g_assert_cmphex(tq_xread(c, 0x4000), ==, 5);
}

static void check_clear(TqChip *c)
{
    uint8_t cap = tq_find_cap(c, 0x11);

    g_assert_cmphex(tq_cfg_readw(c, cap + 2) & 0x8000, ==, 0);
    g_assert_cmphex(tq_ereg(c, 100, 0x200) & 0x2222, ==, 0);
    g_assert_cmphex(tq_ereg(c, 100, 0x4030), ==, 0);        /* ring length */
    g_assert_cmphex(tq_ereg(c, 100, 0x40800), ==, 0);
    g_assert_cmphex(tq_ereg(c, 60, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(c, 60, 0x3a010), ==, 0xffffffff);
    g_assert_cmphex(tq_read(c, 0xd0000000 + 0x2701000 + 7 * 4), ==, 0);
    g_assert_cmphex(tq_read(c, 0xd0000000 + 0x2700000 + 3 * 4), ==, 0);
    g_assert_cmphex(tq_read(c, 0x06001100), ==, 0);
    g_assert_cmphex(tq_misc_read(c, 0x1ec), ==, 0);
    g_assert_cmphex(tq_xread(c, 0x4000), ==, 0);
    g_assert_cmphex(tq_xread(c, 0x20), ==, 0);
    g_assert_cmphex(tq_xread(c, 0x24), ==, 0);
    g_assert_cmphex(tq_xread(c, 0x00), ==, 0x584e5254);
}

/* The firmware boots again: not ready at first, ready after a while. */
static void come_back(TqChip *c)
{
    tq_map(c, 0);
    g_assert_cmphex(tq_misc_read(c, 0x24), ==, 0xdeadbeef);
    tq_wait_firmware(c);
}

static void flr(TqChip *c)
{
    uint8_t cap = tq_find_cap(c, 0x10);

    tq_cfg_writew(c, cap + 8, tq_cfg_readw(c, cap + 8) | 0x8000);
    /* the function is as after power on, its BARs do not decode */
    g_assert_cmphex(tq_cfg_readw(c, 0x04) & 7, ==, 0);
    g_assert_cmphex(tq_cfg_read(c, 0x10) & ~0xfu, ==, 0);
    g_assert_cmphex(tq_cfg_readw(c, cap + 8) & 0x8000, ==, 0);
}

static void test_flr(void)
{
    uint32_t id;
    TqChip c;
    int i;

    tq_start(&c, NULL);
    id = tq_misc_read(&c, 0x24);
    for (i = 0; i < 3; i++) {
        use_chip(&c);
        flr(&c);
        come_back(&c);
        check_clear(&c);
        g_assert_cmphex(tq_misc_read(&c, 0x24), ==, id);
        copy_works(&c, 100);
        copy_works(&c, 128);
    }
    tq_stop(&c);
}

static void test_system_reset(void)
{
    TqChip c;
    int i;

    tq_start(&c, NULL);
    for (i = 0; i < 3; i++) {
        use_chip(&c);
        qtest_system_reset(c.qts);
        g_assert_cmphex(tq_cfg_read(&c, 0), ==, 0x73641d0f);
        come_back(&c);
        check_clear(&c);
        copy_works(&c, 100);
        copy_works(&c, 128);
    }
    tq_stop(&c);
}

/* Reset in the middle of a long copy: it ends there and then. */
static void reset_in_dma(void (*reset)(TqChip *c))
{
    uint32_t head;
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    start_long(&q, &c, 128);
    start_long(&q, &c, 5);
    head = tq_read(&c, tq_m2s_reg(&q, 0x34)) & 0xffffff;
    g_assert_cmpint(head, <, 29000);
    reset(&c);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    come_back(&c);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x24)), ==, 0);
    copy_works(&c, 128);
    copy_works(&c, 5);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    tq_stop(&c);
}

static void test_flr_in_dma(void)
{
    reset_in_dma(flr);
}

static void system_reset(TqChip *c)
{
    qtest_system_reset(c->qts);
}

static void test_system_reset_in_dma(void)
{
    reset_in_dma(system_reset);
}

static void firmware_reset(TqChip *c)
{
    tq_misc_write(c, 0x1ec, 1);
    tq_misc_write(c, 0x800, 1);
}

static void test_firmware_reset_in_dma(void)
{
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    start_long(&q, &c, 128);
    firmware_reset(&c);
    tq_wait(&c, c.bar0 + 0x06c84000 + 0x1ec, 0);
    tq_wait_firmware(&c);
    tq_settle(&c);
    g_assert_false(tq_marker_seen(&q));
    copy_works(&c, 128);
    tq_stop(&c);
}

static void add_chip(QTestState *qts, TqChip *c)
{
    TqChip port = { .qts = qts, .devfn = 3 << 3 };
    uint8_t cap = tq_find_cap(&port, 0x10);

    /* slot: power on */
    tq_cfg_writew(&port, cap + 0x18, 0x0100);
    tq_attach(c, qts, 1, 0, 0);
    tq_wait_firmware(c);
}

/* As a hotplug driver does it: the slot's power goes off, the device leaves. */
static void unplug(TqChip *c)
{
    TqChip port = { .qts = c->qts, .devfn = 3 << 3 };
    uint8_t cap = tq_find_cap(&port, 0x10);

    qtest_qmp_device_del_send(c->qts, "chip");
    tq_cfg_writew(&port, cap + 0x18, 0x0700);
    tq_step(c);
    qtest_qmp_eventwait(c->qts, "DEVICE_DELETED");
    g_assert_cmphex(tq_cfg_read(c, 0), ==, 0xffffffff);
}

/* Another one in its place; its routing id is free again. */
static void test_unplug(void)
{
    QTestState *qts;
    unsigned i;
    TqChip c;

    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
                      "-device pcie-root-port,id=rp,addr=03.0,chassis=1 "
                      "-device trainium2,id=chip,bus=rp,routing-id=7,"
                      "hbm-size=1G", TQ_RAM_MB);
    tq_setup_port(qts, 3 << 3, 1);
    for (i = 0; i < 4; i++) {
        TqQueue q;

        add_chip(qts, &c);
        copy_works(&c, 128);
        if (i & 1) {
            start_long(&q, &c, 128);
        }
        unplug(&c);
        qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments': {"
                                 "'driver': 'trainium2', 'bus': 'rp',"
                                 "'id': 'chip', 'routing-id': 7,"
                                 "'hbm-size': %u}}", 0x40000000u);
    }
    add_chip(qts, &c);
    g_assert_cmpint(tq_misc_read(&c, 0x24), ==, 7);
    copy_works(&c, 129);
    qtest_quit(qts);
}

/* QEMU ends in the middle of everything. */
static void test_quit_in_dma(void)
{
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    start_long(&q, &c, 128);
    start_long(&q, &c, 17);
    firmware_reset(&c);
    tq_stop(&c);

    tq_start_shared(&c, NULL, "hbm-size=1G,reorder=3");
    start_long(&q, &c, 128);
    qtest_clock_step(c.qts, 100);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/reset/flr", test_flr);
    qtest_add_func("trainium/reset/system", test_system_reset);
    qtest_add_func("trainium/reset/flr-in-dma", test_flr_in_dma);
    qtest_add_func("trainium/reset/system-in-dma", test_system_reset_in_dma);
    qtest_add_func("trainium/reset/firmware-in-dma",
                   test_firmware_reset_in_dma);
    qtest_add_func("trainium/reset/unplug", test_unplug);
    qtest_add_func("trainium/reset/quit-in-dma", test_quit_in_dma);
    return g_test_run();
}
