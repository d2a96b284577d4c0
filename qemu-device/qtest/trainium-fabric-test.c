/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric: identity, topologies, DMA between chips, what ports count. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qobject/qdict.h"
#include "trainium-fabric.h"

#define NVLINK_PORTS 36

/* --- identity --- */

static void test_none(void)
{
    TqChip c;
    unsigned off;

    tq_start(&c, "hbm-size=1G");
    g_assert_cmphex(tq_xread(&c, 0x08) & 4, ==, 0);
    for (off = 0x10000; off < 0x14000; off += 4) {
        tq_xwrite(&c, off, 0xffffffff);
        g_assert_cmphex(tq_xread(&c, off), ==, 0);
    }
    tq_stop(&c);
}

static void test_identity(void)
{
    TfMachine m;
    unsigned i;

    tf_start(&m, 3, "kind=nvlink,chips=8,"
             "uuid=00112233-4455-6677-8899-aabbccddeeff", NULL);
    for (i = 0; i < 3; i++) {
        TqChip *c = &m.c[i];

        g_assert_cmphex(tq_xread(c, 0x08) & 4, ==, 4);
        g_assert_cmpint(tf_read(c, 0x00), ==, 3);
        g_assert_cmpint(tf_read(c, 0x08), ==, NVLINK_PORTS);
        g_assert_cmpint(tf_read(c, 0x0c), ==, i);
        g_assert_cmpint(tf_read(c, 0x10), ==, 8);
        g_assert_cmphex(tf_read(c, 0x14), ==, i);
        g_assert_cmphex(tf_read(c, 0x18), ==, 0);
        g_assert_cmphex(tf_read(c, 0x20), ==, 0x33221100);
        g_assert_cmphex(tf_read(c, 0x2c), ==, 0xffeeddcc);
    }
    /* ids are taken in order; one that is given is kept, one twice refused */
    qtest_qmp_assert_success(m.qts, "{ 'execute': 'object-add', 'arguments': {"
                             "'qom-type': 'neuron-fabric', 'id': 'f1', "
                             "'kind': 'neuronlink' } }");
    qobject_unref(qtest_qmp_assert_failure_ref(m.qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'f0' } }"));
    qtest_qmp_assert_success(m.qts, "{ 'execute': 'object-del', 'arguments': "
                             "{ 'id': 'f1' } }");
    tf_stop(&m);
}

static void test_ports(void)
{
    uint64_t serial;
    TfMachine m;
    unsigned p;
    TqChip *c;

    tf_start(&m, 2, "kind=nvlink,chips=8", NULL);
    c = &m.c[1];
    for (p = 0; p < NVLINK_PORTS; p++) {
        uint32_t peer = 0x80010000 | p / 4 | (4 + p % 4) << 20;

        g_assert_cmphex(tf_port(c, p, 0x00), ==, 2 | 2 << 8);
        g_assert_cmpint(tf_port(c, p, 0x04), ==, 25000);
        g_assert_cmphex(tf_port(c, p, 0x08), ==, peer);
        g_assert_cmphex(tf_port(c, p, 0x0c), ==, peer);
        g_assert_cmphex(tf_port(c, p, 0x40), ==, UP);
        g_assert_cmpint(tf_port(c, p, 0x44), ==, 2);
        g_assert_cmpint(tf_port(c, p, 0x48), ==, 25000);
        g_assert_cmpint(tf_port(c, p, 0x4c), ==, 1);
        /* before the firmware is ready, 20 ms after power-on */
        g_assert_cmpint(tf_port(c, p, 0x50), ==, 11000000);
    }
    g_assert_cmpint(tf_path(c, 0), ==, ST_OK);
    g_assert_cmphex(tf_read(c, 0x44), ==, 2 << 8);
    g_assert_cmpint(tf_read(c, 0x48), ==, NVLINK_PORTS * 50000);
    g_assert_cmpint(tf_read(c, 0x4c), >, 0);
    g_assert_cmphex(tf_read64(c, 0x50), ==, (1ull << NVLINK_PORTS) - 1);
    serial = tq_misc_read(&m.c[0], 0x38) |
             (uint64_t)tq_misc_read(&m.c[0], 0x3c) << 32;
    g_assert_cmphex(tf_read64(c, 0x58), ==, serial);
    g_assert_cmpint(tf_path(c, 1), ==, ST_OK);
    g_assert_cmphex(tf_read(c, 0x44), ==, 0);
    g_assert_cmpint(tf_path(c, 2), ==, ST_NO_CHIP);
    g_assert_cmpint(tf_path(c, 8), ==, ST_NO_CHIP);
    g_assert_cmpint(tf_path(c, 0xffffffff), ==, ST_NO_CHIP);
    g_assert_cmphex(tf_read64(c, 0x58), ==, 0);
    tf_stop(&m);
}

/* --- DMA --- */

/* Packets of 256 bytes over all ports, none of which gets many more */
static void check_spread(TqChip *c, unsigned bytes_counter, uint64_t bytes,
                         uint64_t packets)
{
    uint64_t sum = 0, total = 0, least = UINT64_MAX, most = 0;
    unsigned p;

    for (p = 0; p < NVLINK_PORTS; p++) {
        uint64_t n = tf_count(c, p, bytes_counter);

        sum += n;
        total += tf_count(c, p, bytes_counter + 2);
        least = MIN(least, n);
        most = MAX(most, n);
    }
    g_assert_cmpint(sum, ==, bytes);
    g_assert_cmpint(total, ==, packets);
    g_assert_cmpint(most - least, <, 2048);
}

static void test_copy(void)
{
    const uint64_t len = 300001;
    g_autofree uint8_t *buf = g_malloc(len);
    uint64_t packets = 0, left;
    uint64_t host;
    TfMachine m;

    tf_start(&m, 2, "kind=nvlink", NULL);
    tq_fill_random(buf, len, 1);
    tq_put(&m.c[0], tq_hbm(1) + 0x12345, buf, len);
    /* 0 writes to 1 */
    tf_copy(&m, 0, tf_unicast(1, tq_hbm(2) + 0x777), tq_hbm(1) + 0x12345, len);
    tq_check(&m.c[1], tq_hbm(2) + 0x777, buf, len);
    for (left = len; left; left -= MIN(left, 65536)) {
        packets += DIV_ROUND_UP(MIN(left, 65536), 256);
    }
    check_spread(&m.c[0], TX_BYTES, len, packets);
    check_spread(&m.c[1], RX_BYTES, len, packets);
    g_assert_cmpint(tf_sum(&m.c[0], RX_BYTES), ==, 0);
    g_assert_cmpint(tf_sum(&m.c[1], TX_BYTES), ==, 0);

    /* 0 reads what is there into its host memory */
    host = tq_alloc(&m.c[0], len, 4096);
    tf_copy(&m, 0, TQ_HOST | host, tf_unicast(1, tq_hbm(2) + 0x777), len);
    tq_check(&m.c[0], TQ_HOST | host, buf, len);
    check_spread(&m.c[0], RX_BYTES, len, packets);
    check_spread(&m.c[1], TX_BYTES, len, packets);

    /* between two places of the other chip, and by the chip's own number */
    tf_copy(&m, 0, tf_unicast(1, tq_hbm(3)), tf_unicast(1, tq_hbm(2) + 0x777),
            1000);
    tq_check(&m.c[1], tq_hbm(3), buf, 1000);
    g_assert_cmpint(tf_sum(&m.c[0], TX_BYTES), ==, len + 1000);
    g_assert_cmpint(tf_sum(&m.c[0], RX_BYTES), ==, len + 1000);
    tf_copy(&m, 0, tf_unicast(0, tq_hbm(0)), tf_unicast(0, tq_hbm(1) + 0x12345),
            1000);
    tq_check(&m.c[0], tq_hbm(0), buf, 1000);
    g_assert_cmpint(tf_sum(&m.c[0], TX_BYTES), ==, len + 1000);

    /* a clear begins a new epoch */
    tf_port_write(&m.c[0], 3, 0x30, 5);
    g_assert_cmpint(tf_count(&m.c[0], 3, TX_BYTES), ==, 0);
    g_assert_cmpint(tf_port(&m.c[0], 3, 0x78), ==, 1);
    g_assert_cmpint(tf_port(&m.c[0], 4, 0x78), ==, 0);
    tf_stop(&m);
}

/* SBUF, PREPROC, semaphores and events; and all that is not to be reached */
static void test_reach(void)
{
    static const uint64_t bad[] = {
        0x400000000000ull,                      /* host */
        0x400000000000ull + TQ_HEAP,
        0x008006800000ull,                      /* UDMA of a host engine */
        0x001002000000ull + 0x1038,             /* a doorbell */
        0x001002000000ull + 0x40000,            /* SDMA wrapper */
        0x001002000000ull + 0x41000,            /* NOTIFIC */
        0x00100c000000ull,                      /* FIS */
        0x008006c84000ull,                      /* MISC RAM */
        0x008006141100ull,                      /* activity counters */
        0x004000000ull * 64 - 16,               /* behind the stack */
        1ull << 48,
    };
    static const uint64_t types[] = { 3, 7 };
    uint32_t word = 41;
    uint8_t buf[512];
    TfMachine m;
    TqChip *c;
    uint64_t host;
    unsigned i;

    tf_start(&m, 2, "kind=nvlink", NULL);
    c = &m.c[0];
    host = TQ_HOST | tq_alloc(c, 4096, 4096);
    tq_fill_random(buf, sizeof(buf), 2);
    tq_put(c, host, buf, sizeof(buf));

    /* SBUF of core 3, PREPROC of group 2 */
    tf_copy(&m, 0, tf_unicast(1, 0x007000000000ull + 0x40), host, 512);
    g_assert_cmphex(tq_read(&m.c[1], 0xd0000000 + 3 * 0x4000000 + 0x40), ==,
                    ldl_le_p(buf));
    tf_copy(&m, 0, tf_unicast(1, 0x801200000000ull), host, 512);
    tf_copy(&m, 0, host + 1024, tf_unicast(1, 0x801200000000ull), 512);
    tq_check(c, host + 1024, buf, 512);

    /* semaphore 5 of core 0 there: set, and add to it; read it back */
    tq_put(c, host, &word, 4);
    tf_copy(&m, 0, tf_unicast(1, 0x002002700000ull + 0x1400 + 5 * 4), host,
            4);
    tf_copy(&m, 0, tf_unicast(1, 0x002002700000ull + 0x1800 + 5 * 4), host,
            4);
    g_assert_cmpint(tq_read(&m.c[1], 0xd2700000 + 0x1000 + 5 * 4), ==, 82);
    g_assert_cmpint(tq_read(&m.c[0], 0xd2700000 + 0x1000 + 5 * 4), ==, 0);
    tf_copy(&m, 0, host + 8, tf_unicast(1, 0x002002700000ull + 0x1014), 4);
    word = 82;
    tq_check(c, host + 8, &word, 4);
    /* not a part of a word */
    tf_copy_fails(&m, 0, tf_unicast(1, 0x002002700001ull), host, 4, ST_ADDRESS,
                  tf_unicast(1, 0x002002700001ull));

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        tf_copy_fails(&m, 0, tf_unicast(1, bad[i]), host, 16, ST_ADDRESS,
                      tf_unicast(1, bad[i]));
        tf_copy_fails(&m, 0, host, tf_unicast(1, bad[i]), 16, ST_ADDRESS,
                      tf_unicast(1, bad[i]));
    }
    /* nor by the chip's own number */
    tf_copy_fails(&m, 0, tf_unicast(0, bad[1]), host, 16, ST_ADDRESS,
                  tf_unicast(0, bad[1]));
    tf_copy_fails(&m, 0, host, tf_unicast(9, 0), 16, ST_NO_CHIP,
                  tf_unicast(9, 0));
    for (i = 0; i < ARRAY_SIZE(types); i++) {
        uint64_t addr = tf_unicast(1, 0) | types[i] << 60;

        tf_copy_fails(&m, 0, addr, host, 16, ST_BAD_OP, addr);
        tf_copy_fails(&m, 0, host, addr, 16, ST_BAD_OP, addr);
    }
    tf_stop(&m);
}

/* --- torus --- */

static void test_torus(void)
{
    static const uint8_t did[16] = { 0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6,
                                     13, 14, 9, 10 };
    static const uint8_t bits[2][4] = { { 4, 8, 1, 2 }, { 8, 4, 2, 1 } };
    uint64_t tx = 0, rx = 0, expect = 0;
    TfMachine m;
    unsigned a, b, p;

    tf_start(&m, 16, "kind=neuronlink", NULL);
    for (a = 0; a < 16; a++) {
        g_assert_cmpint(tq_misc_read(&m.c[a], 0x24), ==, a);
        g_assert_cmpint(tf_read(&m.c[a], 0x00), ==, 1);
        g_assert_cmpint(tf_read(&m.c[a], 0x08), ==, 4);
        for (p = 0; p < 4; p++) {
            unsigned peer = a ^ bits[did[a] & 1][p];

            g_assert_cmphex(tf_port(&m.c[a], p, 0x0c) & 0x800107ff, ==,
                            0x80000000 | peer);
            g_assert_cmphex(tf_port(&m.c[a], p, 0x00) & 0xff, ==, 1);
            g_assert_cmpint(tf_state(&m.c[a], p), ==, UP);
        }
    }
    for (a = 0; a < 16; a++) {
        for (b = 0; b < 16; b++) {
            unsigned links = ctpop16(a ^ b);
            uint8_t buf[700];

            g_assert_cmpint(tf_path(&m.c[a], b), ==, ST_OK);
            g_assert_cmphex(tf_read(&m.c[a], 0x44), ==, links << 8);
            tq_fill_random(buf, sizeof(buf), a * 16 + b);
            tq_put(&m.c[a], tq_hbm(0), buf, sizeof(buf));
            tf_copy(&m, a, tf_unicast(b, tq_hbm(1) + a * 4096), tq_hbm(0),
                    sizeof(buf));
            tq_check(&m.c[b], tq_hbm(1) + a * 4096, buf, sizeof(buf));
            expect += links * sizeof(buf);
        }
    }
    for (a = 0; a < 16; a++) {
        tx += tf_sum(&m.c[a], TX_BYTES);
        rx += tf_sum(&m.c[a], RX_BYTES);
    }
    g_assert_cmpint(tx, ==, expect);
    g_assert_cmpint(rx, ==, expect);
    tf_stop(&m);
}

/* Links pulled: another way of the same length, a longer one, none */
static void test_torus_detour(void)
{
    TfMachine m;

    tf_start(&m, 4, "kind=neuronlink", NULL);
    /* 0-1 is port 2 of 0 and port 3 of 1 (an odd device) */
    g_assert_cmpint(tf_path(&m.c[0], 3), ==, ST_OK);
    g_assert_cmphex(tf_read64(&m.c[0], 0x50), ==, 1 << 2);
    tf_set(&m, "faults", "pull=0.2");
    g_assert_cmpint(tf_state(&m.c[0], 2), ==, FAILED);
    g_assert_cmpint(tf_reason(&m.c[0], 2), ==, R_CABLE);
    g_assert_cmpint(tf_count(&m.c[0], 2, LINK_DOWNS), ==, 1);
    g_assert_cmpint(tf_path(&m.c[0], 3), ==, ST_OK);
    g_assert_cmphex(tf_read(&m.c[0], 0x44), ==, 2 << 8);
    g_assert_cmphex(tf_read64(&m.c[0], 0x50), ==, 1 << 3);
    g_assert_cmpint(tf_path(&m.c[0], 1), ==, ST_OK);
    g_assert_cmphex(tf_read(&m.c[0], 0x44), ==, 3 << 8);
    tf_copy(&m, 0, tf_unicast(1, 0), tq_hbm(0), 5000);
    g_assert_cmpint(tf_sum(&m.c[2], TX_BYTES), ==, 5000);
    g_assert_cmpint(tf_sum(&m.c[3], TX_BYTES), ==, 5000);
    tf_set(&m, "faults", "pull=0.2;pull=0.3");
    g_assert_cmpint(tf_path(&m.c[0], 1), ==, ST_NO_PATH);
    tf_copy_fails(&m, 0, tf_unicast(1, 0), tq_hbm(0), 5000, ST_NO_PATH,
                  tf_unicast(1, 0));
    g_assert_cmpint(tf_sum(&m.c[0], DISCARDS), ==, DIV_ROUND_UP(5000, 256));
    g_assert_cmpint(tf_sum(&m.c[0], TX_BYTES), ==, 5000);
    /* back: found and trained again */
    tf_set(&m, "faults", "");
    g_assert_cmpint(tf_state(&m.c[0], 2), ==, DETECT);
    tf_step_us(&m, 1000);
    g_assert_cmpint(tf_state(&m.c[0], 2), ==, TRAINING);
    tf_step_us(&m, 10000);
    g_assert_cmpint(tf_state(&m.c[0], 2), ==, UP);
    g_assert_cmpint(tf_path(&m.c[0], 1), ==, ST_OK);
    tf_copy(&m, 0, tf_unicast(1, 0), tq_hbm(0), 5000);
    tf_stop(&m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/fabric/none", test_none);
    qtest_add_func("trainium/fabric/identity", test_identity);
    qtest_add_func("trainium/fabric/ports", test_ports);
    qtest_add_func("trainium/fabric/copy", test_copy);
    qtest_add_func("trainium/fabric/reach", test_reach);
    qtest_add_func("trainium/fabric/torus", test_torus);
    qtest_add_func("trainium/fabric/torus-detour", test_torus_detour);
    return g_test_run();
}
