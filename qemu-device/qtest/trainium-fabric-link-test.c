/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links of the fabric: states, control, faults, partitions, events. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "trainium-fabric.h"

#define ADMIN 0x20
#define LANE_CAP 0x24
#define RATE_CAP 0x28
#define LOOPBACK 0x2c
#define COMMAND 0x30
#define LANES 0x44
#define RATE 0x48
#define ATTEMPTS 0x4c
enum { DISABLE, ENABLE, DRAIN };
enum { TRAIN = 1, RESET, CLEAR_LATCH, SNAPSHOT };

static void expect(TqChip *c, unsigned port, unsigned state, unsigned reason)
{
    g_assert_cmpint(tf_state(c, port), ==, state);
    g_assert_cmpint(tf_reason(c, port), ==, reason);
}

/* From detection to the end of training */
static void wait_trained(TfMachine *m, TqChip *c, unsigned port)
{
    expect(c, port, DETECT, R_NONE);
    tf_step_us(m, 999);
    expect(c, port, DETECT, R_NONE);
    tf_step_us(m, 1);
    expect(c, port, TRAINING, R_NONE);
    tf_step_us(m, 9999);
    expect(c, port, TRAINING, R_NONE);
    tf_step_us(m, 1);
}

/* Chips 0 and 1 of a torus: port 2 of 0 is joined to port 3 of 1. */
static void start_pair(TfMachine *m)
{
    tf_start(m, 2, "kind=neuronlink", NULL);
    expect(&m->c[0], 2, UP, R_NONE);
    expect(&m->c[1], 3, UP, R_NONE);
}

/* --- control --- */

static void test_admin(void)
{
    TfMachine m;
    TqChip *a = &m.c[0], *b = &m.c[1];

    start_pair(&m);
    /* nothing plugged in there */
    expect(a, 0, FAILED, R_NO_PEER);
    g_assert_cmphex(tf_port(a, 0, 0x08) >> 31, ==, 1);
    g_assert_cmphex(tf_port(a, 0, 0x0c), ==, 0);

    tf_port_write(a, 2, ADMIN, DISABLE);
    expect(a, 2, DISABLED, R_NONE);
    expect(b, 3, FAILED, R_PEER_OFF);
    g_assert_cmphex(tf_port(b, 3, 0x0c), ==, 0);
    g_assert_cmpint(tf_port(b, 3, LANES), ==, 0);
    g_assert_cmpint(tf_count(a, 2, LINK_DOWNS), ==, 0);
    g_assert_cmpint(tf_count(b, 3, LINK_DOWNS), ==, 1);
    g_assert_cmpint(tf_path(a, 1), ==, ST_NO_PATH);
    tf_port_write(a, 2, ADMIN, 3);              /* no such thing */
    g_assert_cmpint(tf_port(a, 2, ADMIN), ==, DISABLE);
    tf_port_write(a, 2, COMMAND, TRAIN);        /* not while it is disabled */
    expect(a, 2, DISABLED, R_NONE);
    tf_port_write(a, 2, ADMIN, ENABLE);
    wait_trained(&m, b, 3);
    expect(a, 2, UP, R_NONE);
    expect(b, 3, UP, R_NONE);
    g_assert_cmpint(tf_port(b, 3, ATTEMPTS), ==, 2);
    tf_port_write(a, 2, ADMIN, ENABLE);         /* changes nothing */
    expect(a, 2, UP, R_NONE);

    /* drained: trained, but no way; from either end */
    tf_port_write(b, 3, ADMIN, DRAIN);
    expect(b, 3, UP, R_NONE);
    g_assert_cmpint(tf_path(a, 1), ==, ST_NO_PATH);
    g_assert_cmpint(tf_path(b, 0), ==, ST_NO_PATH);
    tf_port_write(b, 3, ADMIN, ENABLE);
    g_assert_cmpint(tf_path(a, 1), ==, ST_OK);

    /* what was asked stays over a device reset, not over FLR */
    tf_port_write(a, 2, LANE_CAP, 4);
    tq_misc_write(a, 0x1ec, 1);
    tq_misc_write(a, 0x800, 1);
    tf_step_us(&m, 200);
    expect(a, 2, DETECT, R_NONE);
    expect(b, 3, DETECT, R_NONE);
    tq_step_ms(a, 35);
    g_assert_cmpint(tf_port(a, 2, LANE_CAP), ==, 4);
    expect(a, 2, DEGRADED, R_CAP);
    tq_cfg_writew(a, tq_find_cap(a, 0x10) + 8, 0x8000);
    tq_map(a, 0);
    tq_wait_firmware(a);
    g_assert_cmpint(tf_port(a, 2, LANE_CAP), ==, 0);
    expect(a, 2, UP, R_NONE);
    expect(b, 3, UP, R_NONE);
    tf_stop(&m);
}

static void test_train(void)
{
    TfMachine m;
    TqChip *a = &m.c[0], *b = &m.c[1];

    start_pair(&m);
    tf_port_write(a, 2, COMMAND, TRAIN);
    expect(a, 2, TRAINING, R_NONE);
    expect(b, 3, TRAINING, R_NONE);
    g_assert_cmpint(tf_path(b, 0), ==, ST_NO_PATH);
    tf_step_us(&m, 10000);
    expect(a, 2, UP, R_NONE);
    expect(b, 3, UP, R_NONE);
    tf_port_write(b, 3, COMMAND, RESET);
    wait_trained(&m, a, 2);
    expect(a, 2, UP, R_NONE);
    expect(b, 3, UP, R_NONE);
    g_assert_cmpint(tf_count(a, 2, LINK_DOWNS), ==, 1);

    /* one side does not train: both give up, until told to try again */
    tf_set(&m, "faults", "silent=1.3");
    expect(a, 2, UP, R_NONE);
    tf_port_write(a, 2, COMMAND, TRAIN);
    tf_step_us(&m, 99999);
    expect(a, 2, TRAINING, R_NONE);
    tf_step_us(&m, 1);
    expect(a, 2, FAILED, R_TIMEOUT);
    expect(b, 3, FAILED, R_TIMEOUT);
    g_assert_cmphex(tf_port(a, 2, 0x0c), ==, tf_port(a, 2, 0x08));
    tf_port_write(a, 2, COMMAND, TRAIN);
    tf_step_us(&m, 101000);
    expect(a, 2, FAILED, R_TIMEOUT);
    tf_set(&m, "faults", "");
    wait_trained(&m, a, 2);
    expect(b, 3, UP, R_NONE);
    tf_stop(&m);
}

static void test_caps(void)
{
    TfMachine m;
    TqChip *a = &m.c[0], *b = &m.c[1];

    start_pair(&m);
    g_assert_cmpint(tf_path(a, 1), ==, ST_OK);
    g_assert_cmpint(tf_read(a, 0x48), ==, 32 * 4000);
    tf_port_write(a, 2, LANE_CAP, 16);
    tf_port_write(b, 3, RATE_CAP, 2000);
    expect(a, 2, DEGRADED, R_CAP);
    expect(b, 3, DEGRADED, R_CAP);
    g_assert_cmpint(tf_port(b, 3, LANES), ==, 16);
    g_assert_cmpint(tf_port(a, 2, RATE), ==, 2000);
    g_assert_cmpint(tf_path(a, 1), ==, ST_OK);
    g_assert_cmpint(tf_read(a, 0x48), ==, 16 * 2000);
    tf_port_write(a, 2, LANE_CAP, 0xffffffff);
    g_assert_cmpint(tf_port(a, 2, LANE_CAP), ==, 32);
    tf_port_write(b, 3, RATE_CAP, 0);
    expect(a, 2, UP, R_NONE);

    tf_set(&m, "faults", "lanes=1.3:24");
    expect(a, 2, DEGRADED, R_LANES);
    g_assert_cmpint(tf_port(a, 2, LANES), ==, 8);
    tf_copy(&m, 0, tf_unicast(1, 0), 0, 10000);
    g_assert_cmpint(tf_count(a, 2, TX_BYTES), ==, 10000);
    tf_set(&m, "faults", "lanes=1.3:32");
    expect(a, 2, FAILED, R_LANES);
    expect(b, 3, FAILED, R_LANES);
    tf_set(&m, "faults", "");
    wait_trained(&m, a, 2);
    expect(a, 2, UP, R_NONE);
    tf_stop(&m);
}

static void test_loopback(void)
{
    TfMachine m;
    TqChip *a = &m.c[0], *b = &m.c[1];

    start_pair(&m);
    tf_port_write(a, 2, LOOPBACK, 1);
    expect(b, 3, FAILED, R_PEER_OFF);
    wait_trained(&m, a, 2);
    expect(a, 2, UP, R_NONE);
    g_assert_cmphex(tf_port(a, 2, 0x0c), ==, 0x80000000 | 2 << 20);
    g_assert_cmpint(tf_path(a, 1), ==, ST_NO_PATH);
    /* with nothing at the other end, too */
    tf_port_write(a, 0, LOOPBACK, 1);
    wait_trained(&m, a, 0);
    expect(a, 0, UP, R_NONE);
    tf_port_write(a, 0, LOOPBACK, 0);
    tf_port_write(a, 2, LOOPBACK, 0);
    wait_trained(&m, b, 3);
    expect(a, 2, UP, R_NONE);
    expect(a, 0, FAILED, R_NO_PEER);
    tf_stop(&m);
}

/* --- faults --- */

static void test_flap(void)
{
    TfMachine m;
    TqChip *a = &m.c[0], *b = &m.c[1];
    unsigned i;

    start_pair(&m);
    /* once is no flapping */
    tf_set(&m, "faults", "pull=0.2");
    expect(a, 2, FAILED, R_CABLE);
    tf_set(&m, "faults", "");
    tf_step_us(&m, 11000);
    expect(a, 2, UP, R_NONE);
    tf_step_us(&m, 2000000);

    /* 20 ms out, 20 ms in: long enough to train */
    tf_set(&m, "faults", "flap=0.2:20");
    for (i = 0; i < 5; i++) {
        expect(a, 2, UP, R_NONE);
        tf_step_us(&m, 20000);
        expect(a, 2, FAILED, i < 4 ? R_CABLE : R_FLAPPING);
        g_assert_cmphex(tf_port(a, 2, 0x40) >> 16, ==, i == 4);
        tf_step_us(&m, 20000);
        tf_step_us(&m, 1000);
        tf_step_us(&m, 10000);
        if (i < 4) {
            expect(a, 2, UP, R_NONE);
        }
        tf_set(&m, "faults", "");
        tf_set(&m, "faults", "flap=0.2:20");
    }
    expect(a, 2, FAILED, R_FLAPPING);
    expect(b, 3, FAILED, R_FLAPPING);
    tf_set(&m, "faults", "");
    tf_step_us(&m, 50000);
    expect(a, 2, FAILED, R_FLAPPING);
    tf_port_write(a, 2, COMMAND, TRAIN);        /* does not clear it */
    expect(a, 2, FAILED, R_FLAPPING);
    tf_port_write(a, 2, COMMAND, CLEAR_LATCH);
    tf_step_us(&m, 1000);
    expect(a, 2, FAILED, R_PEER_OFF);
    tf_port_write(b, 3, COMMAND, RESET);
    wait_trained(&m, a, 2);
    expect(a, 2, UP, R_NONE);
    expect(b, 3, UP, R_NONE);
    tf_stop(&m);
}

static void test_errors(void)
{
    TfMachine m;
    TqChip *a = &m.c[0], *b = &m.c[1];
    unsigned i;

    start_pair(&m);
    tf_set(&m, "faults", "errors=1.3:10");
    tf_copy(&m, 0, tf_unicast(1, 0), 0, 256 * 105);
    g_assert_cmpint(tf_count(b, 3, CRC_ERRORS), ==, 10);
    g_assert_cmpint(tf_count(a, 2, REPLAYS), ==, 10);
    g_assert_cmpint(tf_count(a, 2, CRC_ERRORS), ==, 0);
    expect(a, 2, UP, R_NONE);
    /* the fraction is not lost; the other direction has none */
    tf_copy(&m, 0, tf_unicast(1, 0), 0, 256 * 5);
    g_assert_cmpint(tf_count(b, 3, CRC_ERRORS), ==, 11);
    tf_copy(&m, 0, 0, tf_unicast(1, 0), 65536);
    g_assert_cmpint(tf_count(b, 3, CRC_ERRORS), ==, 11);

    tf_set(&m, "faults", "errors=1.3:1");
    for (i = 1; i < 6; i++) {
        tq_copy(&m.q[0], tf_unicast(1, 0), 0, 65536);
        tq_finish(&m.q[0]);
        if (i < 5) {
            expect(a, 2, RECOVERY, R_ERRORS);
            expect(b, 3, RECOVERY, R_ERRORS);
            g_assert_cmpint(tf_path(a, 1), ==, ST_OK);
            tf_step_us(&m, 5000);
            expect(a, 2, UP, R_NONE);
        }
        g_assert_cmpint(tf_count(b, 3, RECOVERIES), ==, i);
    }
    expect(a, 2, FAILED, R_ERRORS);
    expect(b, 3, FAILED, R_ERRORS);
    tf_copy_fails(&m, 0, tf_unicast(1, 0), 0, 64, ST_NO_PATH, tf_unicast(1, 0));
    tf_port_write(b, 3, COMMAND, TRAIN);
    wait_trained(&m, a, 2);
    expect(a, 2, UP, R_NONE);
    tf_stop(&m);
}

static void test_wiring(void)
{
    TfMachine m;

    /* 0-1 by 0.2 and 1.3, 2-3 by 2.2 and 3.3 of even and odd devices */
    tf_start(&m, 4, "kind=neuronlink", NULL);
    tf_set(&m, "faults", "swap=0.2/2.3");
    expect(&m.c[0], 2, FAILED, R_WRONG_PEER);
    g_assert_cmphex(tf_port(&m.c[0], 2, 0x08) & 0x7ff, ==, 1);
    g_assert_cmphex(tf_port(&m.c[0], 2, 0x0c), !=, tf_port(&m.c[0], 2, 0x08));
    g_assert_cmphex(tf_port(&m.c[0], 2, 0x0c) >> 31, ==, 1);
    g_assert_cmphex(tf_read64(&m.c[0], 0x1210), !=, 0);
    tf_set(&m, "faults", "");
    tf_step_us(&m, 11000);
    expect(&m.c[0], 2, UP, R_NONE);
    tf_set(&m, "faults", "pull=0.*;lanes=2.*:16");
    expect(&m.c[0], 2, FAILED, R_CABLE);
    expect(&m.c[0], 3, FAILED, R_CABLE);
    expect(&m.c[3], 3, DEGRADED, R_LANES);
    tf_set(&m, "faults", "");
    tf_step_us(&m, 11000);
    expect(&m.c[0], 2, UP, R_NONE);
    tf_set_fails(&m, "faults", "swap=0.*/2.3");
    tf_set_fails(&m, "faults", "swap=0.2/0.2");
    tf_set_fails(&m, "faults", "swap=0.2/1.3");
    tf_set_fails(&m, "faults", "swap=0.2");
    tf_set_fails(&m, "faults", "pull=0.4");
    tf_set_fails(&m, "faults", "pull=16.0");
    tf_set_fails(&m, "faults", "pull=s0.0");
    tf_set_fails(&m, "faults", "pull=0.2:1");
    tf_set_fails(&m, "faults", "lanes=0.2");
    tf_set_fails(&m, "faults", "lanes=0.2:33");
    tf_set_fails(&m, "faults", "off=0");
    tf_set_fails(&m, "faults", "pull=0.2;");
    tf_set_fails(&m, "faults", "nonsense");
    expect(&m.c[0], 2, UP, R_NONE);
    tf_stop(&m);
}

static void test_switch_off(void)
{
    TfMachine m;
    TqChip *c = &m.c[0];
    unsigned p;

    tf_start(&m, 2, "kind=nvlink,chips=4", NULL);
    tf_set(&m, "faults", "off=s4");
    for (p = 0; p < 36; p++) {
        expect(c, p, p / 4 == 4 ? FAILED : UP,
               p / 4 == 4 ? R_PEER_OFF : R_NONE);
    }
    g_assert_cmpint(tf_path(c, 1), ==, ST_OK);
    g_assert_cmpint(tf_read(c, 0x48), ==, 32 * 50000);
    tf_copy(&m, 0, tf_unicast(1, 0), 0, 100000);
    g_assert_cmpint(tf_sum(&m.c[1], RX_BYTES), ==, 100000);
    g_assert_cmpint(tf_count(c, 17, TX_BYTES), ==, 0);
    /* switches that only one of them reaches are of no use */
    tf_set(&m, "faults", "pull=0.0;pull=0.1;pull=0.2;pull=0.3;pull=1.4");
    tf_step_us(&m, 11000);
    g_assert_cmpint(tf_path(c, 1), ==, ST_OK);
    g_assert_cmpint(tf_read(c, 0x48), ==, 31 * 50000);
    g_assert_cmphex(tf_read64(c, 0x50), ==, 0xffffffff0);
    tf_stop(&m);
}

/* --- partitions --- */

static void test_partitions(void)
{
    uint8_t buf[600], zero[600] = {};
    TfMachine m;
    unsigned i;

    tf_start(&m, 4, "kind=neuronlink,partitions=0-1,,2+3", NULL);
    tq_fill_random(buf, sizeof(buf), 1);
    for (i = 0; i < 4; i++) {
        tq_put(&m.c[i], 0, buf, sizeof(buf));
        g_assert_cmphex(tf_read(&m.c[i], 0x18), ==, i / 2);
    }
    tf_copy(&m, 0, tf_unicast(1, 0x1000), 0, sizeof(buf));
    tq_check(&m.c[1], 0x1000, buf, sizeof(buf));
    g_assert_cmpint(tf_path(&m.c[0], 2), ==, ST_PARTITION);
    tf_copy_fails(&m, 0, tf_unicast(2, 0x1000), 0, sizeof(buf), ST_PARTITION,
                  tf_unicast(2, 0x1000));
    tf_copy_fails(&m, 0, 0x2000, tf_unicast(2, 0), sizeof(buf), ST_PARTITION,
                  tf_unicast(2, 0));
    tq_check(&m.c[2], 0x1000, zero, sizeof(zero));
    tq_check(&m.c[0], 0x2000, zero, sizeof(zero));
    g_assert_cmpint(tf_sum(&m.c[0], BLOCKED), ==, 6);
    g_assert_cmpint(tf_sum(&m.c[2], RX_BYTES), ==, 0);
    g_assert_cmpint(tf_sum(&m.c[0], TX_BYTES), ==, sizeof(buf));

    /* chips of another partition do not forward */
    tf_set(&m, "partitions", "0+3,1+2");
    g_assert_cmphex(tf_read(&m.c[3], 0x18), ==, 1 << 16);
    g_assert_cmphex(tf_read(&m.c[2], 0x18), ==, 1 << 16 | 1);
    g_assert_cmpint(tf_path(&m.c[0], 3), ==, ST_NO_PATH);
    g_assert_cmpint(tf_path(&m.c[0], 1), ==, ST_PARTITION);
    tf_set(&m, "partitions", "0-2");
    g_assert_cmphex(tf_read(&m.c[3], 0x18), ==, 2 << 16 | 0xffff);
    g_assert_cmpint(tf_path(&m.c[3], 0), ==, ST_PARTITION);
    g_assert_cmpint(tf_path(&m.c[3], 3), ==, ST_OK);
    tf_set(&m, "partitions", "");
    g_assert_cmpint(tf_path(&m.c[0], 3), ==, ST_OK);
    tf_set_fails(&m, "partitions", "0-16");
    tf_set_fails(&m, "partitions", "3-0");
    tf_set_fails(&m, "partitions", "0-1,1");
    tf_set_fails(&m, "partitions", "0,");
    tf_set_fails(&m, "partitions", "x");
    g_assert_cmphex(tf_read(&m.c[3], 0x18), ==, 3 << 16);
    tf_stop(&m);
}

/* --- events --- */

static void test_events(void)
{
    uint64_t area, word, summary;
    TfMachine m;
    TqChip *a = &m.c[0];

    start_pair(&m);
    area = tq_alloc(a, 0x800, 0x800);
    word = area + 0x40 + 255 * 4;
    summary = area + 7 * 4;
    tq_xwrite(a, 0x20, area);
    tq_xwrite(a, 0x24, (TQ_HOST | area) >> 32);
    /* links came up since power-on */
    g_assert_cmphex(tf_read(a, 0x30), ==, 1);
    g_assert_cmphex(tf_read(a, 0x34), ==, 0xf);
    tf_write(a, 0x30, 7);
    tf_write(a, 0x34, 0xffffffff);
    g_assert_cmphex(tf_read(a, 0x30), ==, 0);
    g_assert_cmphex(tf_read(a, 0x34), ==, 0);
    g_assert_cmphex(qtest_readl(m.qts, word), ==, 0);

    tf_set(&m, "faults", "pull=0.2");
    tq_wait(a, word, 1 << 3);
    g_assert_cmphex(qtest_readl(m.qts, summary), ==, 1u << 31);
    g_assert_cmphex(tf_read(a, 0x30), ==, 1);
    g_assert_cmphex(tf_read(a, 0x34), ==, 1 << 2);
    /* no second one before the first was cleared, though 1 gets one */
    qtest_writel(m.qts, word, 0);
    tf_write(&m.c[1], 0x30, 7);
    tf_set(&m, "faults", "");
    tf_step_us(&m, 20000);
    tq_settle(a);
    g_assert_cmphex(qtest_readl(m.qts, word), ==, 0);
    tf_write(a, 0x34, 1 << 2);
    tf_write(a, 0x30, 1);
    tf_set(&m, "faults", "pull=0.2");
    tq_wait(a, word, 1 << 3);
    qtest_writel(m.qts, word, 0);
    /* another bit is another event */
    tf_set(&m, "partitions", "0-15");
    tq_wait(a, word, 1 << 3);
    g_assert_cmphex(tf_read(a, 0x30), ==, 5);
    tf_stop(&m);
}

/* --- from inside of the guest --- */

static uint32_t window(TqChip *c, const char *text)
{
    char padded[256] = {};
    unsigned i;

    memcpy(padded, text, strlen(text));
    for (i = 0; i < sizeof(padded); i += 4) {
        tq_xwrite(c, 0xe000 + i, ldl_le_p(padded + i));
    }
    tq_xwrite(c, 0xe100, strlen(text));
    return tq_xread(c, 0xe104);
}

static void test_window(void)
{
    TfMachine m;

    tf_start(&m, 2, "kind=neuronlink", "fault-window=on");
    g_assert_cmpint(window(&m.c[0], "fabric-faults=pull=0.2"), ==, 1);
    expect(&m.c[0], 2, FAILED, R_CABLE);
    g_assert_cmpint(window(&m.c[1], "fabric-faults="), ==, 1);
    tf_step_us(&m, 11000);
    expect(&m.c[0], 2, UP, R_NONE);
    g_assert_cmpint(window(&m.c[1], "fabric-partitions=0,1"), ==, 1);
    g_assert_cmpint(tf_path(&m.c[0], 1), ==, ST_PARTITION);
    g_assert_cmpint(window(&m.c[1], "fabric-partitions=0,0"), ==, 2);
    g_assert_cmpint(window(&m.c[1], "fabric-faults=pull=0"), ==, 2);
    tf_stop(&m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/fabric-link/admin", test_admin);
    qtest_add_func("trainium/fabric-link/train", test_train);
    qtest_add_func("trainium/fabric-link/caps", test_caps);
    qtest_add_func("trainium/fabric-link/loopback", test_loopback);
    qtest_add_func("trainium/fabric-link/flap", test_flap);
    qtest_add_func("trainium/fabric-link/errors", test_errors);
    qtest_add_func("trainium/fabric-link/wiring", test_wiring);
    qtest_add_func("trainium/fabric-link/switch-off", test_switch_off);
    qtest_add_func("trainium/fabric-link/partitions", test_partitions);
    qtest_add_func("trainium/fabric-link/events", test_events);
    qtest_add_func("trainium/fabric-link/window", test_window);
    return g_test_run();
}
