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

/* --- generations --- */

static void test_generations(void)
{
    static const struct {
        const char *model, *fabric;
    } machines[] = {
        { "trainium1", "kind=neuronlink,lane-rate=1500" },
        { "trainium3", "kind=neuronswitch" },
        { "trainium4", "kind=nvlink" },
    };
    uint8_t buf[5000];
    unsigned i, s;

    for (i = 0; i < ARRAY_SIZE(machines); i++) {
        uint64_t host, bytes = 0;
        TfMachine m;

        tq_model = machines[i].model;
        tf_start(&m, 2, machines[i].fabric, "hbm-size=512M");
        g_assert_cmpstr(tq_gen->name, ==, tq_model);
        host = TQ_HOST | tq_alloc(&m.c[0], sizeof(buf), 4096);
        /* every stack: Trainium4's map takes all bits of the address */
        for (s = 0; s < tq_gen->stacks; s++) {
            tq_fill_random(buf, sizeof(buf), s);
            tq_put(&m.c[0], tq_hbm(s), buf, sizeof(buf));
            tf_copy(&m, 0, tf_unicast(1, tq_hbm(s) + 0x10000), tq_hbm(s),
                    sizeof(buf));
            tq_check(&m.c[1], tq_hbm(s) + 0x10000, buf, sizeof(buf));
            tf_copy(&m, 0, host, tf_unicast(1, tq_hbm(s) + 0x10000),
                    sizeof(buf));
            tq_check(&m.c[0], host, buf, sizeof(buf));
            bytes += sizeof(buf);
        }
        g_assert_cmpint(tf_sum(&m.c[1], RX_BYTES), ==, bytes);
        g_assert_cmpint(tf_sum(&m.c[1], TX_BYTES), ==, bytes);
        tf_copy_fails(&m, 0, tf_unicast(1, tq_gen->host_window), tq_hbm(0), 16,
                      ST_ADDRESS, tf_unicast(1, tq_gen->host_window));
        tf_stop(&m);
    }
    tq_model = "trainium2";
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

/* --- two levels of switches --- */

static void test_switches(void)
{
    static const unsigned ids[] = { 0, 1, 4, 72, 77, 143 };
    static const struct {
        unsigned from, to, links, ports, rate;
    } paths[] = {
        { 0, 1, 2, 0x00f, 256000 },     /* same server */
        { 0, 4, 2, 0x1f0, 320000 },     /* same rack */
        { 0, 72, 1, 0x600, 128000 },    /* same place of the other rack */
        { 0, 77, 3, 0x600, 128000 },    /* by way of 72: 5 is not there */
        { 77, 0, 3, 0x1f0, 128000 },
        { 4, 1, 2, 0x1f0, 320000 },
    };
    static const unsigned chip_of[] = { [0] = 0, [1] = 1, [4] = 2, [72] = 3,
                                        [77] = 4, [143] = 5 };
    uint8_t buf[3000];
    TfMachine m;
    unsigned i;

    tf_start_ids(&m, ARRAY_SIZE(ids), ids, "kind=neuronswitch", NULL);
    tq_fill_random(buf, sizeof(buf), 9);
    g_assert_cmpint(tf_read(&m.c[0], 0x00), ==, 2);
    g_assert_cmpint(tf_read(&m.c[0], 0x08), ==, 11);
    g_assert_cmpint(tf_read(&m.c[0], 0x10), ==, 144);
    /* server 35 of rack 1; its switch, then the rack's */
    g_assert_cmphex(tf_read(&m.c[5], 0x14), ==, 3 | 35 << 8 | 1 << 20);
    g_assert_cmphex(tf_port(&m.c[5], 1, 0x0c), ==,
                    0x80010000 | 35 | (3 * 4 + 1) << 20);
    g_assert_cmphex(tf_port(&m.c[5], 4, 0x0c), ==,
                    0x80010000 | 37 | (71 * 5) << 20);
    g_assert_cmphex(tf_port(&m.c[5], 9, 0x08), ==, 0x80000000 | 71 | 9 << 20);
    g_assert_cmphex(tf_port(&m.c[5], 9, 0x00), ==, 3 | 8 << 8);
    for (i = 0; i < ARRAY_SIZE(paths); i++) {
        TqChip *from = &m.c[chip_of[paths[i].from]];
        TqChip *to = &m.c[chip_of[paths[i].to]];
        uint64_t tx = tf_sum(from, TX_BYTES), rx = tf_sum(to, RX_BYTES);

        g_assert_cmpint(tf_path(from, paths[i].to), ==, ST_OK);
        g_assert_cmphex(tf_read(from, 0x44), ==, paths[i].links << 8);
        g_assert_cmpint(tf_read(from, 0x48), ==, paths[i].rate);
        g_assert_cmphex(tf_read64(from, 0x50), ==, paths[i].ports);
        tq_put(from, tq_hbm(0), buf, sizeof(buf));
        tf_copy(&m, chip_of[paths[i].from],
                tf_unicast(paths[i].to, tq_hbm(1) + i * 0x1000), tq_hbm(0),
                sizeof(buf));
        tq_check(to, tq_hbm(1) + i * 0x1000, buf, sizeof(buf));
        g_assert_cmpint(tf_sum(from, TX_BYTES) - tx, ==, sizeof(buf));
        g_assert_cmpint(tf_sum(to, RX_BYTES) - rx, ==, sizeof(buf));
    }
    /* without its server's switch it goes by the rack's */
    tf_set(&m, "faults", "off=s0");
    g_assert_cmpint(tf_path(&m.c[0], 1), ==, ST_OK);
    g_assert_cmphex(tf_read64(&m.c[0], 0x50), ==, 0x1f0);
    tf_stop(&m);
}

/* --- nodes of an UltraServer --- */

static uint64_t chip_serial(TqChip *c)
{
    return tq_misc_read(c, 0x38) | (uint64_t)tq_misc_read(c, 0x3c) << 32;
}

static void test_nodes(void)
{
    /* device 5 of nodes 0, 1 (left), 2 (diagonal) and 3 (right) */
    static const unsigned ids[] = { 5, 21, 37, 53 };
    static const unsigned neighbour[4] = { 3, 1, 1, 3 };    /* by window */
    uint64_t host, serial;
    TfMachine m;
    unsigned s, i;

    tf_start_ids(&m, 4, ids, "kind=neuronlink,nodes=4", NULL);
    host = TQ_HOST | tq_alloc(&m.c[0], 4096, 4096);
    for (i = 0; i < 4; i++) {
        g_assert_cmpint(tq_misc_read(&m.c[i], 0x24), ==, 5);
        g_assert_cmpint(tf_read(&m.c[i], 0x08), ==, 8);
        g_assert_cmpint(tf_read(&m.c[i], 0x0c), ==, ids[i]);
        for (s = 0; s < i; s++) {
            g_assert_cmphex(chip_serial(&m.c[s]), !=, chip_serial(&m.c[i]));
        }
    }
    for (s = 0; s < 4; s++) {
        uint64_t window = 0x10000000000000ull + s * 0x4000000000000ull;
        TqChip *peer = &m.c[neighbour[s]];
        uint32_t word = 0x1000 + s;

        /* the serial number, as the election reads it */
        tf_copy(&m, 0, host, window + 0x8006c84038, 8);
        serial = chip_serial(peer);
        tq_check(&m.c[0], host, &serial, 8);
        g_assert_cmpint(tf_count(&m.c[0], 4 + s, RX_BYTES), ==, 8);
        g_assert_cmpint(tf_count(peer, 4 + s, TX_BYTES), ==, 8);
        tq_misc_write(peer, 0x180, word);
        tf_copy(&m, 0, host, window + 0x8006c84180, 4);
        tq_check(&m.c[0], host, &word, 4);
        /* HBM, but no register can be written, and none else read */
        tf_copy(&m, 0, window + tq_hbm(1), host, 4);
        tq_check(peer, tq_hbm(1), &word, 4);
        tf_copy_fails(&m, 0, window + 0x8006c84180, host, 4, ST_ADDRESS,
                      window + 0x8006c84180);
        tf_copy_fails(&m, 0, host, window + 0x008006800000, 4, ST_ADDRESS,
                      window + 0x008006800000);
        tf_copy_fails(&m, 0, host, window + 0x400000000000, 4, ST_ADDRESS,
                      window + 0x400000000000);
        tf_copy_fails(&m, 0, host, window + 0x002002701000, 4, ST_ADDRESS,
                      window + 0x002002701000);
    }
    /* one wire cut: that window only; the other way round still works */
    tf_set(&m, "faults", "pull=5.5");
    tf_copy_fails(&m, 0, host, 0x14008006c84038, 8, ST_NO_PATH,
                  0x14008006c84038);
    tf_copy(&m, 0, host, 0x18008006c84038, 8);
    g_assert_cmpint(tf_path(&m.c[0], 37), ==, ST_OK);
    g_assert_cmphex(tf_read(&m.c[0], 0x44), ==, 2 << 8);
    tf_stop(&m);

    /* one node has no windows */
    tf_start(&m, 2, "kind=neuronlink", NULL);
    tf_copy_fails(&m, 0, 0, 0x10008006c84038, 8, ST_NO_PATH, 0x10008006c84038);
    tf_stop(&m);
}

/* --- while DMA runs --- */

#define CHUNKS 900

/* Copies of one piece to places one after the other, of chip 1's memory */
static void start_long(TqQueue *q, TqChip *c, const uint8_t *data)
{
    unsigned i;

    tq_put(c, tq_hbm(0), data, 65536);
    for (i = 0; i < CHUNKS; i++) {
        tq_pair(q, tf_unicast(1, tq_hbm(1) + i * 65536ull), tq_hbm(0), 65536,
                0, TQ_BARRIER, 0);
    }
    tq_add_marker(q);
    tq_kick(q);
}

/* All that was counted is there, and nothing else; every packet or none of it */
static void test_pull_in_copy(void)
{
    g_autofree uint8_t *data = g_malloc(65536), *zero = g_malloc0(65536);
    unsigned round, i, there;

    tq_fill_random(data, 65536, 5);
    for (round = 0; round < 3; round++) {
        uint64_t done;
        TfMachine m;

        tf_start(&m, 2, "kind=neuronlink", round == 2 ? "reorder=5" : NULL);
        start_long(&m.q[0], &m.c[0], data);
        /* what reorders is on the virtual clock */
        qtest_clock_step(m.qts, 1 + round * 5000);
        tf_set(&m, "faults", "pull=0.2");
        for (i = 0; i < 3000 && !tq_marker_seen(&m.q[0]) &&
             !(tf_read(&m.c[0], 0x60) >> 31); i++) {
            tq_step(&m.c[0]);
            g_usleep(100);
        }
        done = tf_count(&m.c[0], 2, TX_BYTES);
        g_test_message("%u of %u pieces", (unsigned)(done >> 16), CHUNKS);
        g_assert_cmpint(done, ==, tf_count(&m.c[1], 3, RX_BYTES));
        g_assert_cmpint(done % 65536, ==, 0);
        for (i = 0, there = 0; i < CHUNKS; i++) {
            uint64_t at = tq_hbm(1) + i * 65536ull;
            uint8_t word[8];

            tq_get(&m.c[1], at, word, sizeof(word));
            there += !memcmp(word, data, sizeof(word));
            if (round < 2 && i % 41 == 0) {
                tq_check(&m.c[1], at, i < done >> 16 ? data : zero, 65536);
            }
        }
        g_assert_cmpint(there, ==, done >> 16);
        if (!tq_marker_seen(&m.q[0])) {
            g_assert_cmphex(tf_read(&m.c[0], 0x60) & 0xff, ==, ST_NO_PATH);
            tf_recover(&m, 0);
        }
        tf_set(&m, "faults", "");
        tf_step_us(&m, 11000);
        tf_copy(&m, 0, tf_unicast(1, 0), tq_hbm(0), 65536);
        tq_check(&m.c[1], 0, data, 65536);
        tf_stop(&m);
    }
}

/* The slot's power on, then off, as a hotplug driver does it */
static void plugged(QTestState *qts, TqChip *c)
{
    TqChip port = { .qts = qts, .devfn = 3 << 3 };

    tq_cfg_writew(&port, tq_find_cap(&port, 0x10) + 0x18, 0x0100);
    tq_attach(c, qts, 1, 0, 1);
    tq_wait_firmware(c);
}

static void unplug(QTestState *qts, TqChip *c)
{
    TqChip port = { .qts = qts, .devfn = 3 << 3 };
    uint8_t cap = tq_find_cap(&port, 0x10);

    qtest_qmp_device_del_send(qts, "peer");
    tq_cfg_writew(&port, cap + 0x18, 0x0700);
    tq_step(c);
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
}

static void test_unplug(void)
{
    g_autofree uint8_t *data = g_malloc(65536);
    QTestState *qts;
    TqChip c, peer;
    unsigned i, k;

    tq_fill_random(data, 65536, 6);
    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
                      "-object neuron-fabric,id=f0,kind=nvlink,chips=2 "
                      "-device pcie-root-port,id=rp,addr=03.0,chassis=1 "
                      "-device trainium2,id=chip0,addr=04.0,hbm-size=256M,"
                      "fabric=f0 -device trainium2,id=peer,bus=rp,"
                      "hbm-size=256M,fabric=f0", TQ_RAM_MB);
    tq_attach(&c, qts, 0, 4 << 3, 0);
    tq_wait_firmware(&c);
    tq_setup_port(qts, 3 << 3, 1);
    for (i = 0; i < 3; i++) {
        TqQueue q;

        plugged(qts, &peer);
        g_assert_cmpint(tf_state(&c, 0), ==, UP);
        g_assert_cmpint(tf_path(&c, 1), ==, ST_OK);
        tq_init_engine(&c, 4);
        tq_init_queue(&q, &c, 4, 0, 1024);
        tq_copy(&q, tf_unicast(1, 0), 0, 64);
        tq_finish(&q);
        start_long(&q, &c, data);
        unplug(qts, &c);
        for (k = 0; k < 3000 && !tq_marker_seen(&q) &&
             !(tf_read(&c, 0x60) >> 31); k++) {
            tq_step(&c);
            g_usleep(100);
        }
        g_assert_cmpint(tf_path(&c, 1), ==, ST_NO_CHIP);
        /* its own links to the switches are not concerned */
        g_assert_cmpint(tf_state(&c, 0), ==, UP);
        tf_write(&c, 0x60, 0);
        tq_misc_write(&c, 0x1ec, 1);
        tq_misc_write(&c, 0x800, 1);
        tq_step_ms(&c, 35);
        tq_wait_firmware(&c);
        qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments': {"
                                 "'driver': 'trainium2', 'bus': 'rp',"
                                 "'id': 'peer', 'fabric': 'f0',"
                                 "'hbm-size': %u}}", 0x10000000u);
    }
    /* room for two; then the object is in use */
    qobject_unref(qtest_qmp_assert_failure_ref(qts, "{'execute': 'device_add',"
        "'arguments': { 'driver': 'trainium2', 'addr': '5.0', "
        "'fabric': 'f0' } }"));
    qtest_quit(qts);
}

/* --- model time --- */

static uint64_t model_clock(TqChip *c)
{
    uint32_t lo = tq_xread(c, 0x30);

    return lo | (uint64_t)tq_xread(c, 0x34) << 32;
}

/* A byte a nanosecond on each link: what meets there takes its time. */
static void test_time(void)
{
    const unsigned len = 960000;
    TfMachine m;
    unsigned i;
    TqQueue q;

    tf_start(&m, 4, "kind=neuronlink,lanes=1,lane-rate=1000", NULL);
    tf_copy(&m, 0, tf_unicast(1, 0), 0, len);
    /* and the marker of 4 bytes; 200 ns is the latency */
    g_assert_cmpint(model_clock(&m.c[0]), ==, len + 200);
    /* the other direction is another one */
    tf_copy(&m, 1, tf_unicast(0, 0), 0, len);
    g_assert_cmpint(model_clock(&m.c[1]), ==, len + 200);
    /* two flows over one link, of two engines: twice as long */
    tq_init_engine(&m.c[0], 5);
    tq_init_queue(&q, &m.c[0], 5, 0, 64);
    tq_copy(&q, tf_unicast(1, 1 << 20), 0, len);
    tq_finish(&q);
    g_assert_cmpint(model_clock(&m.c[0]), ==, 2 * len + 200);
    /* another chip's traffic on a link that is the second on the way */
    for (i = 0; i < 4; i++) {
        tf_copy(&m, 1, tf_unicast(3, i << 20), 0, len);
    }
    tf_copy(&m, 0, tf_unicast(3, 4 << 20), 0, len);
    /* chip 1 began after its first copy, and has four markers of 17 ns */
    g_assert_cmpint(model_clock(&m.c[0]), ==, 6 * len + 4 * 17 + 2 * 200 + 400);
    tf_stop(&m);
}

/* --- hostile --- */

/* An operation, more often than not one that there is */
static uint32_t meta_random(GRand *rand)
{
    return 3 | g_rand_int_range(rand, 0, 10) << 4 |
           g_rand_int_range(rand, 0, 4) << 20 |
           g_rand_int_range(rand, 0, 4) << 23;
}

static void test_scribble(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    static const char *const kinds[] = {
        "kind=neuronlink,nodes=2", "kind=neuronswitch,multicast=on,reduce=on",
        "kind=nvlink,chips=6",
    };
    unsigned kind, i, k;

    for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        uint8_t buf[512];
        TfMachine m;

        tf_start(&m, 3, kinds[kind], kind == 1 ? "reorder=3" : NULL);
        tq_fill_random(buf, sizeof(buf), kind);
        for (i = 0; i < 60; i++) {
            TqQueue *q = &m.q[i % 3];

            tf_init_queue(&m, i % 3);
            for (k = 0; k < 40; k++) {
                uint64_t a[2];
                unsigned j;

                for (j = 0; j < 2; j++) {
                    a[j] = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
                    /* most of them near something */
                    if (g_rand_int_range(rand, 0, 4)) {
                        a[j] &= 0xf01f8080ffffffff;
                    }
                    a[j] |= g_rand_int_range(rand, 0, 3) ? 1ull << 63 : 0;
                }
                tq_m2s(q, a[0], g_rand_int_range(rand, 0, 65536),
                       TQ_FIRST | TQ_LAST,
                       g_rand_int_range(rand, 0, 3) ? TQ_COPY :
                       meta_random(rand));
                tq_s2m(q, a[1], 0, 0);
            }
            tq_kick(q);
            for (k = 0; k < 60; k++) {
                unsigned off = g_rand_int_range(rand, 0, 3) ?
                               g_rand_int_range(rand, 0, 0x2800) :
                               g_rand_int_range(rand, 0, 0x100);
                uint32_t v = g_rand_int_range(rand, 0, 3) ?
                             g_rand_int_range(rand, 0, 8) : g_rand_int(rand);

                tf_write(&m.c[k % 3], off & ~3u, v);
                tf_read(&m.c[k % 3], off & ~3u);
            }
            tf_step_us(&m, 500);
            tf_recover(&m, i % 3);
        }
        /* as if nothing had been */
        qtest_system_reset(m.qts);
        qtest_outl(m.qts, 0xcf8, 0x80000060);
        qtest_outl(m.qts, 0xcfc, TQ_ECAM | 1);
        for (i = 0; i < 3; i++) {
            m.c[i].heap = TQ_HEAP + i * 0x1000000ull;
            tq_map(&m.c[i], i);
        }
        for (i = 0; i < 3; i++) {
            tq_wait_firmware(&m.c[i]);
            tf_init_queue(&m, i);
        }
        for (i = 0; i < 3; i++) {
            unsigned to = (i + 1) % 3;

            tq_put(&m.c[i], 0, buf, sizeof(buf));
            tf_copy(&m, i, tf_unicast(to, 0x10000), 0, sizeof(buf));
            tq_check(&m.c[to], 0x10000, buf, sizeof(buf));
        }
        tf_stop(&m);
    }
}

static void test_migration(void)
{
    TfMachine m;

    tf_start(&m, 1, "kind=nvlink", NULL);
    qobject_unref(qtest_qmp_assert_failure_ref(m.qts, "{ 'execute': 'migrate',"
        "'arguments': { 'uri': 'exec:cat >/dev/null' } }"));
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
    qtest_add_func("trainium/fabric/generations", test_generations);
    qtest_add_func("trainium/fabric/torus", test_torus);
    qtest_add_func("trainium/fabric/torus-detour", test_torus_detour);
    qtest_add_func("trainium/fabric/switches", test_switches);
    qtest_add_func("trainium/fabric/nodes", test_nodes);
    qtest_add_func("trainium/fabric/pull-in-copy", test_pull_in_copy);
    qtest_add_func("trainium/fabric/unplug", test_unplug);
    qtest_add_func("trainium/fabric/scribble", test_scribble);
    qtest_add_func("trainium/fabric/time", test_time);
    qtest_add_func("trainium/fabric/migration", test_migration);
    return g_test_run();
}
