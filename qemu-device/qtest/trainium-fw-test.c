/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Management firmware: boot, words, reset handshake, telemetry, faults. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define DEAD 0xdeadbeef

/* A chip whose firmware has not been waited for */
static void start_cold(TqChip *c, const char *props)
{
    QTestState *qts;

    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-device trainium2,id=chip0,addr=04.0%s%s", TQ_RAM_MB,
                      props ? "," : "", props ?: "");
    tq_attach(c, qts, 0, 4 << 3, 0);
}

/* --- boot and words -------------------------------------------------------- */

static void test_boot(void)
{
    static const unsigned words[] = { 0, 0x24, 0x38, 0xc0, 0x190, 0x1ec, 0x808 };
    TqChip c;
    unsigned i;

    start_cold(&c, "fw-boot-ms=50");
    for (i = 0; i < ARRAY_SIZE(words); i++) {
        g_assert_cmphex(tq_misc_read(&c, words[i]), ==, DEAD);
    }
    tq_misc_write(&c, 0xc0, 1);             /* lost */
    tq_step_ms(&c, 49);
    g_assert_cmphex(tq_misc_read(&c, 0x24), ==, DEAD);
    tq_step_ms(&c, 2);
    for (i = 0; i < ARRAY_SIZE(words); i++) {
        g_assert_cmphex(tq_misc_read(&c, words[i]), !=, DEAD);
    }
    g_assert_cmphex(tq_misc_read(&c, 0xc0), ==, 0);
    tq_stop(&c);
}

static void test_words(void)
{
    TqChip c;
    unsigned off;

    tq_start(&c, "server-id=3,rack-id=0x102,instance-size=16,"
             "partition-size=64,reservation-id=0x1122334455667788,"
             "fw-build=0x42,power-die1=1234");
    g_assert_cmphex(tq_misc_read(&c, 0x70), ==, 0x81028003);
    g_assert_cmphex(tq_misc_read(&c, 0x30), ==, 0x80400010);
    g_assert_cmphex(tq_misc_read(&c, 0x80), ==, 0x11223344);
    g_assert_cmphex(tq_misc_read(&c, 0x84), ==, 0x55667788);
    g_assert_cmphex(tq_misc_read(&c, 0x74), ==, 0x42);
    g_assert_cmphex(tq_misc_read(&c, 0x54) & 0xffff, ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x58) & 0xffff, ==, 1234);

    /* The firmware's words cannot be written, */
    for (off = 0; off < 0x90; off += 4) {
        uint32_t v = tq_misc_read(&c, off);

        if (off == 0x0c || off == 0x54 || off == 0x58 || !v) {
            continue;                       /* moving, or just RAM */
        }
        tq_misc_write(&c, off, ~v);
        g_assert_cmphex(tq_misc_read(&c, off), ==, v);
    }
    /* scratch and pod words can, and beyond the RAM there is nothing. */
    for (off = 0xc0; off < 0xf0; off += 4) {
        tq_misc_write(&c, off, off * 0x01010101);
    }
    for (off = 0x180; off < 0x1d0; off += 4) {
        tq_misc_write(&c, off, off * 0x01010101);
    }
    for (off = 0xc0; off < 0xf0; off += 4) {
        g_assert_cmphex(tq_misc_read(&c, off), ==, off * 0x01010101);
    }
    for (off = 0x180; off < 0x1d0; off += 4) {
        g_assert_cmphex(tq_misc_read(&c, off), ==, off * 0x01010101);
    }
    tq_misc_write(&c, 0xffc, 1);
    g_assert_cmphex(tq_misc_read(&c, 0xffc), ==, 0);
    tq_stop(&c);

    /* No server, no partition unless told */
    tq_start(&c, NULL);
    g_assert_cmphex(tq_misc_read(&c, 0x70), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x30), ==, 16);
    g_assert_cmphex(tq_misc_read(&c, 0x80), ==, 0);
    tq_stop(&c);
}

static void test_routing_id(void)
{
    QTestState *qts = qtest_initf("-machine q35 -m %u -nodefaults "
                                  "-device pcie-root-port,id=rp,addr=03.0,"
                                  "chassis=1", TQ_RAM_MB);
    QDict *r;

    r = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': { 'driver': "
                  "'trainium2', 'bus': 'rp', 'routing-id': 256 } }");
    g_assert(qdict_haskey(r, "error"));
    qobject_unref(r);
    r = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': { 'driver': "
                  "'trainium2', 'bus': 'rp', 'server-id': 32768 } }");
    g_assert(qdict_haskey(r, "error"));
    qobject_unref(r);
    r = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': { 'driver': "
                  "'trainium2', 'bus': 'rp', 'routing-id': 255 } }");
    g_assert(qdict_haskey(r, "return"));
    qobject_unref(r);
    qtest_quit(qts);
}

/* --- resets ------------------------------------------------------------------ */

static uint64_t core_window(unsigned core)
{
    return 0xd0000000ull + core * 0x4000000ull;
}

static uint64_t top_sp_window(unsigned i)
{
    return i < 8 ? 0xf0000000ull + i * 0x400000ull
                 : 0xf2800000ull + (i - 8) * 0x400000ull;
}

/* Something that a reset changes, in every core, TOP_SP and engine */
static void mark_all(TqChip *c)
{
    unsigned i;

    for (i = 0; i < 8; i++) {
        tq_write(c, core_window(i) + 0x2701400, 7);
    }
    for (i = 0; i < 16; i++) {
        tq_write(c, top_sp_window(i) + 0x1400, 7);
    }
    for (i = 0; i < 132; i++) {
        tq_ewrite(c, i, 0x1028, 0x10000);   /* ring base */
        tq_ewrite(c, i, 0x40800, 0x26);     /* SDMA wrapper */
        tq_ewrite(c, i, 0x41108, 0x1000);   /* notification ring's size */
    }
}

static bool core_marked(TqChip *c, unsigned i)
{
    return tq_read(c, core_window(i) + 0x2701000) == 7;
}

static bool top_sp_marked(TqChip *c, unsigned i)
{
    return tq_read(c, top_sp_window(i) + 0x1000) == 7;
}

static bool engine_marked(TqChip *c, unsigned e)
{
    bool base = tq_ereg(c, e, 0x1028) == 0x10000;

    g_assert(base == (tq_ereg(c, e, 0x40800) == 0x26));
    g_assert(base == (tq_ereg(c, e, 0x41108) == 0x1000));
    return base;
}

static void test_device_reset(void)
{
    TqChip c;
    unsigned i;

    tq_start(&c, "fw-reset-ms=30");
    mark_all(&c);
    tq_misc_write(&c, 0x190, 0x04010303);
    tq_misc_write(&c, 0x194, 0x11);
    tq_misc_write(&c, 0x198, 0x22);
    tq_misc_write(&c, 0x1f0, 0x33);
    tq_misc_write(&c, 0x1d8, 0x44);

    /* The request alone does nothing. */
    tq_misc_write(&c, 0x1ec, 1);
    tq_step_ms(&c, 100);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 1);
    g_assert(engine_marked(&c, 5));

    tq_misc_write(&c, 0x800, 1);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, DEAD);
    g_assert_cmphex(tq_misc_read(&c, 0x808) & 8, ==, 8);
    tq_misc_write(&c, 0xc4, 0x55);          /* lost */
    tq_step_ms(&c, 29);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, DEAD);
    tq_step_ms(&c, 2);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, 0);

    for (i = 0; i < 132; i++) {
        g_assert(!engine_marked(&c, i));
    }
    for (i = 0; i < 16; i++) {
        g_assert(!top_sp_marked(&c, i));
    }
    for (i = 0; i < 8; i++) {
        g_assert(!core_marked(&c, i));
    }
    /* The pod's election survives, the mailbox does not. */
    g_assert_cmphex(tq_misc_read(&c, 0x190), ==, 0x04010303);
    g_assert_cmphex(tq_misc_read(&c, 0x194), ==, 0x11);
    g_assert_cmphex(tq_misc_read(&c, 0x198), ==, 0x22);
    g_assert_cmphex(tq_misc_read(&c, 0x1f0), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x1d8), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0xc4), ==, 0);
    tq_stop(&c);
}

/* Asks for it; it is under way when this returns. */
static void device_reset(TqChip *c)
{
    tq_misc_write(c, 0x1ec, 1);
    tq_misc_write(c, 0x800, 1);
    tq_step_ms(c, 1);
}

static void core_reset(TqChip *c, uint32_t map_hi, uint32_t map)
{
    tq_misc_write(c, 0x1d4, map_hi);
    tq_misc_write(c, 0x1d8, map);
    tq_misc_write(c, 0x1ec, 2);
    tq_misc_write(c, 0x800, 1);
}

static void test_core_reset(void)
{
    TqChip c;
    unsigned i;

    tq_start(&c, "fw-core-reset-ms=5");
    mark_all(&c);
    core_reset(&c, 0, 0x00030303);          /* cores 0 and 1 */
    tq_step_ms(&c, 1);
    /* Firmware stays up. */
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 2);
    g_assert_cmphex(tq_misc_read(&c, 0x808) & 8, ==, 8);
    tq_step_ms(&c, 5);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, 0);
    for (i = 0; i < 132; i++) {
        g_assert(engine_marked(&c, i) == (i >= 32));
    }
    for (i = 0; i < 16; i++) {
        g_assert(top_sp_marked(&c, i) == (i >= 4));
    }
    for (i = 0; i < 8; i++) {
        g_assert(core_marked(&c, i) == (i >= 2));
    }

    /* One thing each: core 6, engines 64..79, TOP_SPs 12 and 13, engine 129 */
    mark_all(&c);
    core_reset(&c, 0x2, 0x00401040);
    tq_step_ms(&c, 10);
    for (i = 0; i < 132; i++) {
        g_assert(engine_marked(&c, i) == !((i >= 64 && i < 80) || i == 129));
    }
    for (i = 0; i < 16; i++) {
        g_assert(top_sp_marked(&c, i) == (i != 12 && i != 13));
    }
    for (i = 0; i < 8; i++) {
        g_assert(core_marked(&c, i) == (i != 6));
    }

    /* Neither device nor cores: never taken for done */
    tq_misc_write(&c, 0x1ec, 3);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 200);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 3);
    g_assert(core_marked(&c, 0));
    tq_stop(&c);
}

/* Requests that come while one is carried out are carried out after it. */
static void test_reset_queued(void)
{
    TqChip c;

    tq_start(&c, "fw-core-reset-ms=5,fw-reset-ms=30");
    mark_all(&c);
    core_reset(&c, 0, 0x00000001);
    tq_step_ms(&c, 2);
    core_reset(&c, 0, 0x00000004);
    tq_step_ms(&c, 4);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 2);
    tq_step_ms(&c, 6);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert(!core_marked(&c, 0) && core_marked(&c, 1) && !core_marked(&c, 2));

    core_reset(&c, 0, 0x00000002);
    tq_step_ms(&c, 2);
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    g_assert(core_marked(&c, 3));
    tq_step_ms(&c, 4);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, DEAD);
    tq_step_ms(&c, 40);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert(!core_marked(&c, 3));
    tq_stop(&c);
}

/* What is rung in a reset does not happen, then or later. */
static void test_doorbell_in_reset(void)
{
    TqChip c;
    TqQueue q;
    uint64_t dst;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    dst = tq_alloc(&c, 4096, 4096);
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_pair(&q, TQ_HOST + dst, tq_hbm(0), 4, TQ_FIRST | TQ_LAST, TQ_COPY, 0);
    qtest_writel(c.qts, dst, 0x12345678);
    tq_kick(&q);
    tq_settle(&c);
    tq_step_ms(&c, 40);
    tq_settle(&c);
    g_assert_cmphex(qtest_readl(c.qts, dst), ==, 0x12345678);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    tq_stop(&c);
}

/* A reset in the middle of 64 MiB: from its end on nothing is written. */
static void test_reset_stops_dma(void)
{
    const uint64_t len = 64 << 20, step = 65536;
    uint64_t before = 0, after = 0, at;
    TqChip c;
    TqQueue q;
    int i;

    tq_start(&c, "hbm-size=1G");
    tq_init_engine(&c, 3);
    tq_init_queue(&q, &c, 3, 0, 2048);
    for (at = 0; at < len; at += step) {
        qtest_writel(c.qts, c.bar4 + at, 0x5a5a5a5a);
    }
    tq_copy(&q, tq_hbm(0) + len, tq_hbm(0), len);
    tq_misc_write(&c, 0x1ec, 1);
    tq_kick(&q);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    tq_step_ms(&c, 40);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    for (at = 0; at < len; at += step) {
        before += qtest_readl(c.qts, c.bar4 + len + at) == 0x5a5a5a5a;
    }
    for (i = 0; i < 5; i++) {
        tq_settle(&c);
    }
    for (at = 0; at < len; at += step) {
        after += qtest_readl(c.qts, c.bar4 + len + at) == 0x5a5a5a5a;
    }
    g_test_message("%" PRIu64 " of %" PRIu64 " blocks were copied", before,
                   len / step);
    g_assert_cmpint(before, ==, after);
    g_assert_cmphex(tq_read(&c, tq_m2s_reg(&q, 0x28)), ==, 0);
    tq_stop(&c);
}

/* --- telemetry ------------------------------------------------------------------ */

static uint64_t energy_mj(TqChip *c)
{
    uint64_t lo = tq_xread(c, 0x50);

    return lo | (uint64_t)tq_xread(c, 0x54) << 32;
}

static void test_sensors(void)
{
    TqChip c;
    uint64_t a, b;

    tq_start(&c, NULL);
    g_assert_cmphex(tq_xread(&c, 8) & 0x10, ==, 0x10);
    g_assert_cmphex(tq_xread(&c, 0x40), ==, 2 | 4 << 8);
    g_assert_cmpuint(tq_xread(&c, 0x44), ==, 100000);
    g_assert_cmpuint(tq_xread(&c, 0x48), ==, 500000);
    g_assert_cmpuint(tq_xread(&c, 0x60), ==, 95000);
    g_assert_cmpuint(tq_xread(&c, 0x64), ==, 105000);

    a = energy_mj(&c);
    tq_step_ms(&c, 10000);
    b = energy_mj(&c);
    g_assert_cmpuint(b - a, >=, 1000000);
    g_assert_cmpuint(b - a, <, 1001000);
    /* Half of what is left, on one of two dies; what was used stays. */
    tq_set(&c, "power-die0", "5000");
    g_assert_cmpuint(tq_xread(&c, 0x44), ==, 200000);
    g_assert_cmpuint(energy_mj(&c) - b, <, 1000);
    tq_step_ms(&c, 10000);
    a = energy_mj(&c);
    g_assert_cmpuint(a - b, >=, 2000000);
    g_assert_cmpuint(a - b, <, 2002000);
    /* More than the maximum there is not. */
    tq_set(&c, "power-die0", "65535");
    g_assert_cmpuint(tq_xread(&c, 0x44), ==, 300000);
    /* 2^32 mJ take their time. */
    for (unsigned i = 0; i < 20; i++) {
        tq_step_ms(&c, 1000000);
    }
    g_assert_cmpuint(energy_mj(&c), >, 1ull << 32);

    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmpuint(tq_xread(&c, 0x80 + 4 * i), ==, i < 2 ? 45000 : 50000);
    }
    g_assert_cmphex(tq_xread(&c, 0x98), ==, 0x80000000);
    g_assert_cmphex(tq_xread(&c, 0xbc), ==, 0x80000000);
    tq_set(&c, "temperature-die1", "96001");
    tq_set(&c, "temperature-hbm3", "200000");
    tq_set_fails(&c, "temperature-hbm3", "200001");
    g_assert_cmpuint(tq_xread(&c, 0x84), ==, 96001);
    g_assert_cmpuint(tq_xread(&c, 0x94), ==, 200000);
    tq_set(&c, "throttle", "2500");
    g_assert_cmpuint(tq_xread(&c, 0x58), ==, 2500);

    /* Without firmware nobody measures. */
    tq_set(&c, "fw-dead", "true");
    g_assert_cmphex(tq_xread(&c, 0x44), ==, 0x80000000);
    g_assert_cmphex(tq_xread(&c, 0x58), ==, 0x80000000);
    g_assert_cmphex(tq_xread(&c, 0x80), ==, 0x80000000);
    g_assert_cmpuint(tq_xread(&c, 0x48), ==, 500000);
    tq_stop(&c);
}

static void test_telemetry(void)
{
    TqChip c;
    uint32_t a, b;

    tq_start(&c, NULL);
    tq_set(&c, "ecc-sram-corrected", "3");
    tq_set(&c, "ecc-sram-uncorrected", "2");
    g_assert_cmphex(tq_misc_read(&c, 0x40), ==, 0x00030002);
    tq_set(&c, "hbm2-ecc-corrected", "7");
    tq_set(&c, "hbm2-ecc-uncorrected", "1");
    tq_set(&c, "hbm2-ecc-repairable", "4");
    g_assert_cmphex(tq_misc_read(&c, 0x4c), ==, 0x00071004);
    g_assert_cmphex(tq_misc_read(&c, 0x44), ==, 0);
    tq_set(&c, "hbm0-ecc-uncorrected", "100");     /* saturates at 4 bits, */
    tq_set(&c, "hbm0-ecc-repairable", "65535");    /* at 12 */
    g_assert_cmphex(tq_misc_read(&c, 0x44), ==, 0x0000ffff);
    tq_set(&c, "hbm-repair-state", "2");
    g_assert_cmphex(tq_misc_read(&c, 0x64), ==, 2);
    tq_set(&c, "power-die0", "4321");
    g_assert_cmpint(tq_misc_read(&c, 0x54) & 0xffff, ==, 4321);

    a = tq_misc_read(&c, 0x0c);
    tq_set(&c, "health", "8");
    b = tq_misc_read(&c, 0x0c);
    g_assert_cmphex(tq_misc_read(&c, 0x04), ==, 8);
    g_assert_cmphex(a & 0xfff, !=, b & 0xfff);
    tq_step_ms(&c, 200);
    a = tq_misc_read(&c, 0x0c);
    g_assert_cmphex(a & 0xff000, !=, b & 0xff000);

    tq_set_fails(&c, "ecc-sram-corrected", "65536");
    tq_set_fails(&c, "hbm-repair-state", "4");
    tq_set_fails(&c, "hbm0-ecc-corrected", "-1");
    tq_set_fails(&c, "health", "'bad'");
    tq_stop(&c);

    /* Old format: one count of uncorrected errors */
    tq_start(&c, "fw-api-version=5,hbm2-ecc-corrected=7,"
             "hbm2-ecc-uncorrected=0x20,hbm2-ecc-repairable=0x1000,health=8");
    g_assert_cmphex(tq_misc_read(&c, 0x4c), ==, 0x00071020);
    g_assert_cmphex(tq_misc_read(&c, 0x04), ==, 0);
    tq_stop(&c);
}

/* --- faults --------------------------------------------------------------------- */

static void test_faults(void)
{
    TqChip c;

    tq_start(&c, NULL);
    /* Dead: nothing is readable; then it goes on. */
    tq_set(&c, "fw-dead", "true");
    g_assert_cmphex(tq_misc_read(&c, 0x24), ==, DEAD);
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, DEAD);
    tq_set(&c, "fw-dead", "false");
    g_assert_cmphex(tq_misc_read(&c, 0x24), !=, DEAD);

    /* Dies in a device reset, and comes back */
    device_reset(&c);
    tq_set(&c, "fw-dead", "true");
    tq_step_ms(&c, 1000);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, DEAD);
    tq_set(&c, "fw-dead", "false");
    tq_step_ms(&c, 40);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);

    /* Not ready, while all words can be read */
    tq_set(&c, "fw-not-ready", "true");
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, 8);
    g_assert_cmphex(tq_misc_read(&c, 0x24), !=, DEAD);
    tq_set(&c, "fw-not-ready", "false");
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, 0);

    /* Resets ignored */
    tq_set(&c, "fw-ignore-reset", "true");
    device_reset(&c);
    tq_step_ms(&c, 1000);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 1);
    tq_set(&c, "fw-ignore-reset", "false");
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    tq_step_ms(&c, 40);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);

    /* Slow reset */
    tq_set(&c, "fw-reset-ms", "5000");
    device_reset(&c);
    tq_step_ms(&c, 4990);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, DEAD);
    tq_step_ms(&c, 20);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    tq_set(&c, "fw-reset-ms", "30");

    /* Any word */
    tq_set(&c, "fw-override", "'0x24=77,0x190=0xffffffff'");
    g_assert_cmphex(tq_misc_read(&c, 0x24), ==, 77);
    g_assert_cmphex(tq_misc_read(&c, 0x190), ==, 0xffffffff);
    tq_set(&c, "fw-override", "''");
    g_assert_cmphex(tq_misc_read(&c, 0x24), ==, 0);
    tq_set_fails(&c, "fw-override", "'0x26=1'");
    tq_set_fails(&c, "fw-override", "'0x24'");
    tq_set_fails(&c, "fw-override", "'0x1000=1'");
    tq_set_fails(&c, "fw-override", "'0x24=1,'");
    tq_stop(&c);

    /* Never ready */
    start_cold(&c, "fw-boot-ms=4294967295");
    tq_step_ms(&c, 100000);
    g_assert_cmphex(tq_misc_read(&c, 0x24), ==, DEAD);
    tq_stop(&c);
}

/* Events of the device itself: bits in the pending area, word of engine 255 */
static void test_events(void)
{
    const unsigned word = 0x40 + 255 * 4, summary = 7 * 4;
    uint64_t area;
    TqChip c;

    tq_start(&c, NULL);
    area = tq_alloc(&c, 64 * 0x800, 4096);
    tq_xwrite(&c, 0x20, TQ_HOST + area);
    tq_xwrite(&c, 0x24, (TQ_HOST + area) >> 32);
    tq_set(&c, "health", "8");
    tq_settle(&c);
    g_assert_cmphex(qtest_readl(c.qts, area + word), ==, 1 << 2);
    g_assert_cmphex(qtest_readl(c.qts, area + summary), ==, 1u << 31);
    qtest_writel(c.qts, area + word, 0);
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    g_assert_cmphex(qtest_readl(c.qts, area + word), ==, 0);
    tq_step_ms(&c, 40);
    tq_settle(&c);
    g_assert_cmphex(qtest_readl(c.qts, area + word), ==, 1 << 0);
    tq_stop(&c);
}

/* Text for people, over QMP, and the monitor's way to it */
static void test_state(void)
{
    g_autofree char *pic = NULL;
    const char *text;
    TqChip c;
    QDict *r;

    tq_start(&c, "routing-id=9");
    r = qtest_qmp(c.qts, "{ 'execute': 'qom-get', 'arguments': { 'path': "
                  "'/machine/peripheral/chip0', 'property': 'engine-state' } }");
    text = qdict_get_str(r, "return");
    g_assert(strstr(text, "routing id 9"));
    g_assert(strstr(text, "firmware: idle"));
    g_assert(!strstr(text, "engine 5:"));
    qobject_unref(r);
    tq_init_engine(&c, 5);
    tq_ewrite(&c, 5, 0x1028, 0x10000);
    pic = qtest_hmp(c.qts, "info pic");
    g_assert(strstr(pic, "engine 5: M2S normal, S2M normal, 0 packets"));
    tq_stop(&c);
}

/* --- migration --------------------------------------------------------------------- */

/* From mid-reset into another QEMU: it ends there, telemetry comes along. */
static void test_migrate(void)
{
    g_autofree char *file = g_strdup_printf("%s/trainium-fw-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *args = g_strdup_printf("-incoming %s", uri);
    TqChip a, b;
    QTestState *qts;
    QDict *r;
    bool done = false;

    tq_start(&a, "fw-reset-ms=1000,hbm-size=256M");
    tq_set(&a, "hbm1-ecc-corrected", "5");
    tq_misc_write(&a, 0x190, 0x04010303);
    tq_write(&a, core_window(7) + 0x1234000, 0x77665544);   /* SBUF */
    tq_misc_write(&a, 0x1ec, 1);
    tq_misc_write(&a, 0x800, 1);
    tq_step_ms(&a, 100);
    r = qtest_qmp(a.qts, "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }",
                  uri);
    g_assert(qdict_haskey(r, "return"));
    qobject_unref(r);
    while (!done) {
        const char *status;

        r = qtest_qmp(a.qts, "{ 'execute': 'query-migrate' }");
        status = qdict_get_str(qdict_get_qdict(r, "return"), "status");
        g_assert_cmpstr(status, !=, "failed");
        done = !strcmp(status, "completed");
        qobject_unref(r);
        g_usleep(1000);
    }
    tq_stop(&a);

    qts = qtest_initf("-machine q35 -m %u -nodefaults %s -device trainium2,"
                      "id=chip0,addr=04.0,fw-reset-ms=1000,hbm-size=256M",
                      TQ_RAM_MB, args);
    qtest_qmp_eventwait(qts, "RESUME");
    b = a;
    b.qts = qts;
    g_assert_cmphex(tq_misc_read(&b, 0x24), ==, DEAD);
    tq_step_ms(&b, 100);
    g_assert_cmphex(tq_misc_read(&b, 0x24), ==, DEAD);
    tq_step_ms(&b, 1000);
    tq_step_ms(&b, 100);
    g_assert_cmphex(tq_misc_read(&b, 0x1ec), ==, 0);
    g_assert_cmphex(tq_misc_read(&b, 0x48), ==, 0x00050000);
    g_assert_cmphex(tq_misc_read(&b, 0x190), ==, 0x04010303);
    g_assert_cmphex(tq_read(&b, core_window(7) + 0x1234000), ==, 0x77665544);
    tq_stop(&b);
    unlink(file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/fw/boot", test_boot);
    qtest_add_func("trainium/fw/words", test_words);
    qtest_add_func("trainium/fw/routing-id", test_routing_id);
    qtest_add_func("trainium/fw/device-reset", test_device_reset);
    qtest_add_func("trainium/fw/core-reset", test_core_reset);
    qtest_add_func("trainium/fw/reset-queued", test_reset_queued);
    qtest_add_func("trainium/fw/doorbell-in-reset", test_doorbell_in_reset);
    qtest_add_func("trainium/fw/reset-stops-dma", test_reset_stops_dma);
    qtest_add_func("trainium/fw/telemetry", test_telemetry);
    qtest_add_func("trainium/fw/sensors", test_sensors);
    qtest_add_func("trainium/fw/faults", test_faults);
    qtest_add_func("trainium/fw/events", test_events);
    qtest_add_func("trainium/fw/state", test_state);
    qtest_add_func("trainium/fw/migrate", test_migrate);
    return g_test_run();
}
