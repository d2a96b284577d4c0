/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a driver reads before it writes anything. */
#include "qemu/osdep.h"
#include "trainium-qtest.h"

static uint64_t bar_size(TqChip *c, unsigned bar)
{
    uint32_t lo = tq_cfg_read(c, 0x10 + 4 * bar);
    uint32_t hi = tq_cfg_read(c, 0x14 + 4 * bar);
    uint64_t mask;

    tq_cfg_writew(c, 0x04, 0);
    tq_cfg_write(c, 0x10 + 4 * bar, 0xffffffff);
    mask = tq_cfg_read(c, 0x10 + 4 * bar) & ~0xfu;
    if (!lo && !mask) {
        return 0;
    }
    if ((lo & 6) == 4) {
        tq_cfg_write(c, 0x14 + 4 * bar, 0xffffffff);
        mask |= (uint64_t)tq_cfg_read(c, 0x14 + 4 * bar) << 32;
        tq_cfg_write(c, 0x14 + 4 * bar, hi);
    } else {
        mask |= 0xffffffffull << 32;
    }
    tq_cfg_write(c, 0x10 + 4 * bar, lo);
    tq_cfg_writew(c, 0x04, 6);
    return -mask;
}

static void test_identity(void)
{
    TqChip c;

    tq_start(&c, NULL);
    g_assert_cmphex(tq_cfg_readw(&c, 0x00), ==, 0x1d0f);
    g_assert_cmphex(tq_cfg_readw(&c, 0x02), ==, 0x7364);
    /* 0xff and 0xf0 would make the vendor's driver take other paths */
    g_assert_cmphex(tq_cfg_readb(&c, 0x08), ==, 0x01);
    g_assert_cmphex(tq_cfg_readb(&c, 0x0b), ==, 0x12);
    g_assert_cmphex(tq_cfg_readb(&c, 0x0a), ==, 0x00);
    g_assert_cmphex(tq_cfg_readb(&c, 0x0e) & 0x7f, ==, 0);
    tq_stop(&c);
}

static void test_bars(void)
{
    TqChip c;

    tq_start(&c, NULL);
    /* 64-bit; BAR0 and BAR4 prefetchable, or bridges could not place them */
    g_assert_cmphex(tq_cfg_read(&c, 0x10) & 0xf, ==, 0xc);
    g_assert_cmphex(tq_cfg_read(&c, 0x20) & 0xf, ==, 0xc);
    g_assert_cmphex(tq_cfg_read(&c, 0x18) & 1, ==, 0);
    g_assert_cmphex(bar_size(&c, 0), ==, 0x100000000ull);
    g_assert_cmphex(bar_size(&c, 2), ==, 0x20000ull);
    g_assert_cmphex(bar_size(&c, 4), ==, 0x4000000000ull);
    /* no expansion ROM */
    tq_cfg_write(&c, 0x30, 0xfffff801);
    g_assert_cmphex(tq_cfg_read(&c, 0x30), ==, 0);
    tq_stop(&c);
}

static void test_misc(void)
{
    TqChip c;
    unsigned i;

    tq_start(&c, "routing-id=11");
    g_assert_cmphex(tq_misc_read(&c, 0x024), ==, 11);
    /* Mailbox in MISC RAM, and what older drivers look for: power */
    g_assert_cmpint(tq_misc_read(&c, 0x000), ==, 7);
    g_assert_cmphex(tq_misc_read(&c, 0x038), !=, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x038), !=, 0xdeadbeef);
    /* healthy: no ECC errors of SRAM and four stacks, nothing to repair */
    g_assert_cmphex(tq_misc_read(&c, 0x004), ==, 0);
    for (i = 0x40; i <= 0x50; i += 4) {
        g_assert_cmphex(tq_misc_read(&c, i), ==, 0);
    }
    g_assert_cmphex(tq_misc_read(&c, 0x064), ==, 0);
    /* no pod election yet, no reset asked for, ready */
    for (i = 0x180; i <= 0x198; i += 4) {
        g_assert_cmphex(tq_misc_read(&c, i), ==, 0);
    }
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, 0);
    tq_stop(&c);
}

static void test_power(void)
{
    TqChip c;
    uint32_t before[2], after[2];
    int i;

    tq_start(&c, NULL);
    before[0] = tq_misc_read(&c, 0x054);
    before[1] = tq_misc_read(&c, 0x058);
    for (i = 0; i < 10; i++) {
        qtest_clock_step(c.qts, 50 * 1000 * 1000);
    }
    after[0] = tq_misc_read(&c, 0x054);
    after[1] = tq_misc_read(&c, 0x058);
    for (i = 0; i < 2; i++) {
        /* the sample counter advances, utilisation is in basis points */
        g_assert_cmphex(before[i] >> 16, !=, after[i] >> 16);
        g_assert_cmpint(after[i] & 0xffff, <=, 10000);
    }
    tq_stop(&c);
}

static void test_serial(void)
{
    TqChip c;

    tq_start(&c, "serial=0x1122334455667788");
    g_assert_cmphex(tq_misc_read(&c, 0x038), ==, 0x55667788);
    g_assert_cmphex(tq_misc_read(&c, 0x03c), ==, 0x11223344);
    tq_stop(&c);
}

/* Chips without a routing id take free ones; serial numbers differ. */
static void test_two_chips(void)
{
    TqChip c[3];
    QTestState *qts;
    int i;

    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-device trainium2,addr=04.0 "
                      "-device trainium2,addr=05.0,routing-id=0 "
                      "-device trainium2,addr=06.0", TQ_RAM_MB);
    for (i = 0; i < 3; i++) {
        tq_attach(&c[i], qts, 0, (4 + i) << 3, i);
        tq_wait_firmware(&c[i]);
    }
    g_assert_cmpint(tq_misc_read(&c[1], 0x24), ==, 0);
    for (i = 0; i < 3; i++) {
        TqChip *a = &c[i], *b = &c[(i + 1) % 3];

        g_assert_cmpint(tq_misc_read(a, 0x24), <, 64);
        g_assert_cmpint(tq_misc_read(a, 0x24), !=, tq_misc_read(b, 0x24));
        g_assert(tq_misc_read(a, 0x38) != tq_misc_read(b, 0x38) ||
                 tq_misc_read(a, 0x3c) != tq_misc_read(b, 0x3c));
    }
    /* BAR0 of one chip is not BAR0 of another */
    tq_misc_write(&c[0], 0xc0, 0x11111111);
    tq_misc_write(&c[1], 0xc0, 0x22222222);
    g_assert_cmphex(tq_misc_read(&c[0], 0xc0), ==, 0x11111111);
    g_assert_cmphex(tq_misc_read(&c[1], 0xc0), ==, 0x22222222);
    qtest_quit(qts);
}

static void test_ext(void)
{
    TqChip c;

    tq_start(&c, "hbm-size=4G,msix-vectors=4");
    g_assert_cmphex(tq_xread(&c, 0x00), ==, 0x584e5254);
    g_assert_cmphex(tq_xread(&c, 0x04) >> 16, ==, 1);
    /* MSI-X and the clock; the fabric only when there is one */
    g_assert_cmphex(tq_xread(&c, 0x08) & 3, ==, 3);
    g_assert_cmphex(tq_xread(&c, 0x08) & 4, ==, 0);
    g_assert_cmphex(tq_xread(&c, 0x0c), ==, 132 | 4 << 16 | 8 << 24);
    g_assert_cmphex(tq_xread(&c, 0x10), ==, 0x40000000);
    g_assert_cmphex(tq_xread(&c, 0x14), ==, 0);
    g_assert_cmphex(tq_xread(&c, 0x18), ==, 4);
    tq_stop(&c);

    tq_start(&c, NULL);
    g_assert_cmphex(tq_xread(&c, 0x10), ==, 0x00000000);
    g_assert_cmphex(tq_xread(&c, 0x14), ==, 6);
    tq_stop(&c);
}

/* Without the extension the chip is what public sources show. */
static void test_no_ext(void)
{
    QTestState *qts;
    TqChip c;

    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-device trainium2,addr=04.0,ext=off", TQ_RAM_MB);
    c = (TqChip) { .qts = qts, .devfn = 4 << 3 };
    g_assert_cmphex(tq_cfg_read(&c, 0x18), ==, 0);
    g_assert_cmphex(bar_size(&c, 2), ==, 0);
    g_assert_cmphex(bar_size(&c, 0), ==, 0x100000000ull);
    g_assert_cmphex(tq_find_cap(&c, 0x11), ==, 0);
    qtest_quit(qts);
}

static void test_caps(void)
{
    TqChip c;
    uint8_t cap;

    tq_start(&c, "msix-vectors=8");
    cap = tq_find_cap(&c, 0x10);
    g_assert_cmphex(cap, !=, 0);
    /* on the root complex itself: an integrated endpoint, FLR capable */
    g_assert_cmphex(tq_cfg_readw(&c, cap + 2) >> 4 & 0xf, ==, 9);
    g_assert_cmphex(tq_cfg_read(&c, cap + 4) & 1u << 28, !=, 0);
    cap = tq_find_cap(&c, 0x11);
    g_assert_cmphex(cap, !=, 0);
    g_assert_cmpint(tq_cfg_readw(&c, cap + 2) & 0x7ff, ==, 8 - 1);
    g_assert_cmphex(tq_cfg_read(&c, cap + 4), ==, 0xc000 | 2);
    g_assert_cmphex(tq_cfg_read(&c, cap + 8), ==, 0xd000 | 2);
    tq_stop(&c);

    tq_start(&c, "msix-vectors=0");
    g_assert_cmphex(tq_find_cap(&c, 0x11), ==, 0);
    g_assert_cmphex(tq_xread(&c, 0x08) & 1, ==, 0);
    g_assert_cmphex(tq_xread(&c, 0x18), ==, 0);
    tq_stop(&c);
}

static void test_root_port(void)
{
    QTestState *qts;
    TqChip c;
    uint16_t aer;
    uint8_t cap;

    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-device pcie-root-port,id=rp,addr=03.0,chassis=1 "
                      "-device trainium2,bus=rp", TQ_RAM_MB);
    tq_setup_port(qts, 3 << 3, 1);
    tq_attach(&c, qts, 1, 0, 0);
    tq_wait_firmware(&c);
    cap = tq_find_cap(&c, 0x10);
    g_assert_cmphex(tq_cfg_readw(&c, cap + 2) >> 4 & 0xf, ==, 0);
    /* Gen5 x8, capable and negotiated */
    g_assert_cmphex(tq_cfg_read(&c, cap + 0x0c) & 0x3ff, ==, 0x85);
    g_assert_cmphex(tq_cfg_readw(&c, cap + 0x12) & 0x3ff, ==, 0x85);
    aer = tq_find_ecap(&c, 0x0001);
    g_assert_cmphex(aer, !=, 0);
    g_assert_cmphex(tq_ecfg_read(&c, aer + 0x04), ==, 0);
    /* BARs decode behind the bridge */
    g_assert_cmphex(tq_xread(&c, 0), ==, 0x584e5254);
    qtest_writel(qts, c.bar4 + 0x1000, 0x12345678);
    g_assert_cmphex(qtest_readl(qts, c.bar4 + 0x1000), ==, 0x12345678);
    qtest_quit(qts);

    /* another link: 16 GT/s x4 */
    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-device pcie-root-port,id=rp,addr=03.0,chassis=1 "
                      "-device trainium2,bus=rp,link-speed=16,link-width=4",
                      TQ_RAM_MB);
    tq_setup_port(qts, 3 << 3, 1);
    tq_attach(&c, qts, 1, 0, 0);
    g_assert_cmphex(tq_cfg_readw(&c, tq_find_cap(&c, 0x10) + 0x12) & 0x3ff, ==,
                    0x44);
    qtest_quit(qts);
}

/* Every engine block answers at its address, and only there. */
static void test_engine_map(void)
{
    TqChip c;
    unsigned e;

    tq_start(&c, NULL);
    for (e = 0; e < 132; e++) {
        tq_ewrite(&c, e, 0x1028, 0xe0000000 | e << 8);  /* ring base */
        tq_ewrite(&c, e, 0x40800, e);                   /* SDMA wrapper */
    }
    for (e = 0; e < 132; e++) {
        g_assert_cmphex(tq_ereg(&c, e, 0x1028), ==, 0xe0000000 | e << 8);
        g_assert_cmphex(tq_ereg(&c, e, 0x40800), ==, e);
        g_assert_cmphex(tq_ereg(&c, e, 0x2028), ==, 0);
        g_assert_cmphex(tq_ereg(&c, e, 0x00604) & 0xff, ==, 4);
    }
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/probe/identity", test_identity);
    qtest_add_func("trainium/probe/bars", test_bars);
    qtest_add_func("trainium/probe/misc", test_misc);
    qtest_add_func("trainium/probe/power", test_power);
    qtest_add_func("trainium/probe/serial", test_serial);
    qtest_add_func("trainium/probe/two-chips", test_two_chips);
    qtest_add_func("trainium/probe/ext", test_ext);
    qtest_add_func("trainium/probe/no-ext", test_no_ext);
    qtest_add_func("trainium/probe/caps", test_caps);
    qtest_add_func("trainium/probe/root-port", test_root_port);
    qtest_add_func("trainium/probe/engine-map", test_engine_map);
    return g_test_run();
}
