/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modelled time in a fabric: what shares a link, what waits for a semaphore,
 * and that it is the same whenever the host gets round to it. Times are read
 * from the engines, after a go-signal that all work waits for.
 */
#include "qemu/osdep.h"
#include "trainium-fabric.h"

#define PIECE 65536u
#define GO_ENGINE 9

enum { ADD = 0x00300003, WAIT = 0x01300003 };

/* NVLink of 36 ports of two lanes: 3.6 bytes a ns and direction */
#define NVLINK "kind=nvlink,lanes=2,lane-rate=50"
#define NVLINK_NS(bytes) ((bytes) * 1000ull / 3600)
#define NVLINK_LATENCY (2 * 200 + 250)

static uint64_t engine_time(TqChip *c, unsigned engine)
{
    uint32_t lo = tq_read(c, tq_sdma(engine) + 0xff0);

    return lo | (uint64_t)tq_read(c, tq_sdma(engine) + 0xff4) << 32;
}

static void queue_on(TfMachine *m, TqQueue *q, unsigned chip, unsigned engine)
{
    tq_init_engine(&m->c[chip], engine);
    tq_init_queue(q, &m->c[chip], engine, 0, 1024);
}

static void add_sem(TqQueue *q, uint32_t op, uint64_t axi, int64_t operand,
                    uint32_t flags)
{
    uint64_t at = tq_alloc(q->c, 8, 8);

    qtest_writeq(q->c->qts, at, operand);
    tq_m2s(q, TQ_HOST | at, 8, TQ_FIRST | TQ_LAST | flags, op);
    tq_s2m(q, axi, 8, 0);
}

/* Every chip has a word for the go-signal. */
static uint64_t go_word(void)
{
    return tq_hbm(1) + 0x100000;
}

static void hold(TqQueue *q)
{
    add_sem(q, WAIT, go_word(), 1, 0);
}

/* Raises the words of all chips; returns the time of the last one. */
static uint64_t go(TfMachine *m)
{
    unsigned i;
    TqQueue q;

    queue_on(m, &q, 0, GO_ENGINE);
    for (i = 0; i < m->n; i++) {
        add_sem(&q, ADD, i ? tf_unicast(i, go_word()) : go_word(), 1, 0);
    }
    tq_kick(&q);
    tq_settle(&m->c[0]);
    return engine_time(&m->c[0], GO_ENGINE);
}

static void finish(TqQueue *q)
{
    unsigned i;

    for (i = 0; i < 20000; i++) {
        if (!(tq_read(q->c, tq_m2s_reg(q, 0x24)) & 0x1ffffff)) {
            return;
        }
        tq_step(q->c);
    }
    g_assert_not_reached();
}

static void assert_near(uint64_t ns, uint64_t want, uint64_t by)
{
    g_test_message("%" PRIu64 " ns, %" PRIu64 " expected", ns, want);
    g_assert_cmpint(ns, >=, want - by);
    g_assert_cmpint(ns, <=, want + by);
}

/* Two flows over one link: each has half of it, and what is left all of it. */
static void test_share(void)
{
    const unsigned len[2] = { 8 * PIECE, 24 * PIECE };
    uint64_t start, end[2];
    TfMachine m;
    TqQueue q[2];
    unsigned i;

    tf_start(&m, 2, "kind=neuronlink,lanes=1,lane-rate=1000", NULL);
    for (i = 0; i < 2; i++) {
        queue_on(&m, &q[i], 0, 5 + i);
        hold(&q[i]);
        tq_copy(&q[i], tf_unicast(1, i << 21), tq_hbm(0) + (i << 21), len[i]);
        tq_kick(&q[i]);
    }
    start = go(&m);
    for (i = 0; i < 2; i++) {
        finish(&q[i]);
        end[i] = engine_time(&m.c[0], 5 + i) - start;
    }
    assert_near(end[0], 2 * len[0], PIECE + 1000);
    assert_near(end[1], len[0] + len[1], 1000);
    tf_stop(&m);
}

/* Three chips send to one: its links are what they share. */
static void test_incast(void)
{
    const unsigned len = 16 * PIECE;
    uint64_t start;
    TfMachine m;
    unsigned i;

    tf_start(&m, 4, NVLINK, NULL);
    for (i = 1; i < 4; i++) {
        hold(&m.q[i]);
        tq_copy(&m.q[i], tf_unicast(0, i << 21), tq_hbm(0), len);
        tq_kick(&m.q[i]);
    }
    start = go(&m);
    for (i = 1; i < 4; i++) {
        finish(&m.q[i]);
        assert_near(engine_time(&m.c[i], 4) - start, NVLINK_NS(3ull * len),
                    NVLINK_NS(3ull * PIECE));
    }
    tf_stop(&m);
}

/*
 * From chip to chip, each when the one before it has arrived: a copy, and
 * behind a barrier the signal. Both have the latency of the way.
 */
static void test_chain(void)
{
    const unsigned len = 4 * PIECE, hops = 7;
    const uint64_t word = tq_hbm(1) + 0x200000;
    uint64_t start;
    TfMachine m;
    unsigned i;

    tf_start(&m, hops + 1, NVLINK, NULL);
    /* the last one first, so that the host gets there in the wrong order */
    for (i = hops; i--;) {
        add_sem(&m.q[i], WAIT, i ? word : go_word(), 1, 0);
        tq_copy(&m.q[i], tf_unicast(i + 1, 0), tq_hbm(0), len);
        add_sem(&m.q[i], ADD, tf_unicast(i + 1, word), 1, TQ_DMB);
        tq_kick(&m.q[i]);
        tq_settle(&m.c[i]);
    }
    start = go(&m);
    finish(&m.q[hops - 1]);
    assert_near(engine_time(&m.c[hops - 1], 4) - start,
                hops * (NVLINK_NS(len) + 2 * NVLINK_LATENCY + 16), 1000);
    tf_stop(&m);
}

/*
 * A port at half its rate: on the sender's side the others take over; on the
 * receiver's the sender does not know, and its switch has 3.5 ports of 4.
 */
static void test_half(void)
{
    static const struct {
        const char *faults;
        uint64_t num, den;
    } cases[] = {
        { "", 1, 1 },
        { "lanes=0.5:1", 72, 71 },
        { "lanes=1.5:1", 8, 7 },
    };
    const unsigned len = 32 * PIECE;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t start, want = NVLINK_NS(len) * cases[i].num / cases[i].den;
        TfMachine m;

        tf_start(&m, 2, NVLINK, NULL);
        tf_set(&m, "faults", cases[i].faults);
        hold(&m.q[0]);
        tq_copy(&m.q[0], tf_unicast(1, 0), tq_hbm(0), len);
        tq_kick(&m.q[0]);
        start = go(&m);
        finish(&m.q[0]);
        assert_near(engine_time(&m.c[0], 4) - start, want + NVLINK_LATENCY,
                    want / 50);
        tf_stop(&m);
    }
}

static int compare_ns(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/*
 * A link carries one packet at a time, also between those that take it ahead
 * of time: here from 0 to 3, held up on the link to 1 by what only goes there.
 * What they leave free of the link from 1 to 3 is more bits than a model needs
 * to remember, the first of them too small, for packets from 1.
 */
static void test_bits(void)
{
    enum { FAR = 20, SMALL = 8, NEAR = 8 };
    const unsigned len = PIECE / 4;
    TqQueue q[2 * FAR], near[NEAR];
    uint64_t end[NEAR];
    TfMachine m;
    unsigned i;

    tf_start(&m, 4, "kind=neuronlink,lanes=1,lane-rate=1000", NULL);
    for (i = 0; i < 2 * FAR; i++) {
        queue_on(&m, &q[i], 0, 10 + i);
        hold(&q[i]);
        if (i % 2) {
            tq_copy(&q[i], tf_unicast(3, 0), tq_hbm(0), 4096);
        } else {
            tq_copy(&q[i], tf_unicast(1, 0), tq_hbm(0),
                    i / 2 < SMALL ? len / 2 : PIECE);
        }
        tq_kick(&q[i]);
    }
    for (i = 0; i < NEAR; i++) {
        queue_on(&m, &near[i], 1, 10 + i);
        hold(&near[i]);
        tq_copy(&near[i], tf_unicast(3, 1 << 20), tq_hbm(0), len);
        tq_kick(&near[i]);
    }
    go(&m);
    for (i = 0; i < 2 * FAR; i++) {
        finish(&q[i]);
    }
    for (i = 0; i < NEAR; i++) {
        finish(&near[i]);
        end[i] = engine_time(&m.c[1], 10 + i);
    }
    qsort(end, NEAR, sizeof(end[0]), compare_ns);
    for (i = 1; i < NEAR; i++) {
        g_assert_cmpint(end[i] - end[i - 1], >=, len);
    }
    tf_stop(&m);
}

/*
 * A queue that raises a semaphore and has more to do is no further in modelled
 * time than those it has woken: from there on they share the link.
 */
static void test_woken(void)
{
    enum { PIECES = 64 };
    const uint64_t word = tq_hbm(1) + 0x200000;
    uint64_t start, end[2];
    TfMachine m;
    TqQueue q[2];
    unsigned i;

    tf_start(&m, 2, "kind=neuronlink,lanes=1,lane-rate=1000", NULL);
    for (i = 0; i < 2; i++) {
        queue_on(&m, &q[i], 0, 5 + i);
    }
    hold(&q[0]);
    add_sem(&q[0], ADD, word, 1, 0);
    tq_copy(&q[0], tf_unicast(1, 0), tq_hbm(0), PIECES * PIECE);
    tq_kick(&q[0]);
    add_sem(&q[1], WAIT, word, 1, 0);
    tq_copy(&q[1], tf_unicast(1, tq_hbm(2)), tq_hbm(2), PIECES / 2 * PIECE);
    tq_kick(&q[1]);
    start = go(&m);
    for (i = 0; i < 2; i++) {
        finish(&q[i]);
        end[i] = engine_time(&m.c[0], 5 + i) - start;
    }
    assert_near(end[1], PIECES * PIECE, 2 * PIECE);
    assert_near(end[0], (PIECES + PIECES / 2) * PIECE, 2 * PIECE);
    tf_stop(&m);
}

/* After a reset of the machine modelled time begins again, for all of it. */
static void test_reset(void)
{
    const uint64_t word = tq_hbm(1) + 0x200000;
    uint64_t ns[2];
    TfMachine m;
    unsigned i, k;

    tf_start(&m, 2, NVLINK, NULL);
    for (i = 0; i < 2; i++) {
        qtest_writeq(m.qts, tq_phys(&m.c[1], word), 0);
        add_sem(&m.q[1], WAIT, word, 1, 0);
        tq_kick(&m.q[1]);
        tq_copy(&m.q[0], tf_unicast(1, 0), tq_hbm(0), 8 * PIECE);
        add_sem(&m.q[0], ADD, tf_unicast(1, word), 1, TQ_DMB);
        tq_kick(&m.q[0]);
        finish(&m.q[0]);
        finish(&m.q[1]);
        ns[i] = engine_time(&m.c[1], 4);
        if (!i) {
            qtest_qmp_assert_success(m.qts, "{'execute': 'system_reset'}");
            qtest_qmp_eventwait(m.qts, "RESET");
            for (k = 0; k < 2; k++) {
                tq_attach(&m.c[k], m.qts, 0, 4 << 3 | k, k);
                m.c[k].heap = TQ_HEAP + k * 0x600000ull;
            }
            for (k = 0; k < 2; k++) {
                tq_wait_firmware(&m.c[k]);
                tf_init_queue(&m, k);
            }
        }
    }
    g_test_message("%" PRIu64 " ns, %" PRIu64 " ns", ns[0], ns[1]);
    g_assert_cmpint(ns[1], ==, ns[0]);
    tf_stop(&m);
}

/* All to all of four chips, two runs; @backwards: rung in the other order */
static void all_to_all(uint64_t end[12], bool backwards)
{
    const unsigned len = 8 * PIECE;
    TqQueue q[12];
    uint64_t start;
    unsigned i;
    TfMachine m;

    tf_start(&m, 4, NVLINK, NULL);
    for (i = 0; i < 12; i++) {
        unsigned n = backwards ? 11 - i : i;
        unsigned from = n / 3, to = (from + 1 + n % 3) % 4;

        queue_on(&m, &q[n], from, 10 + n % 3);
        hold(&q[n]);
        tq_copy(&q[n], tf_unicast(to, from << 20), tq_hbm(0), len);
        tq_kick(&q[n]);
        if (backwards) {
            tq_settle(&m.c[from]);
        }
    }
    start = go(&m);
    for (i = 0; i < 12; i++) {
        finish(&q[i]);
        end[i] = engine_time(&m.c[i / 3], 10 + i % 3) - start;
        /* what leaves each chip, over its links */
        g_assert_cmpint(end[i], <=, NVLINK_NS(3ull * len) * 105 / 100);
    }
    for (i = 0; i < 4; i++) {
        g_assert_cmpint(tf_sum(&m.c[i], TX_BYTES), ==,
                        3 * len + (i ? 0 : 3 * 8));
        g_assert_cmpint(tf_sum(&m.c[i], RX_BYTES), ==, 3 * len + (i ? 8 : 0));
    }
    tf_stop(&m);
}

static void test_repeat(void)
{
    uint64_t one[12], two[12];

    all_to_all(one, false);
    all_to_all(two, true);
    g_assert_cmpmem(one, sizeof(one), two, sizeof(two));
}

/*
 * payload=off: checks, counters and times of 4 MiB are those of payload=on, a
 * semaphore still tells that they have gone, and nothing has moved.
 */
static void payload(const char *props, bool moves, uint64_t *ns,
                    uint64_t count[2][12])
{
    const uint64_t len = 4 << 20, word = tq_hbm(1) + 0x200000;
    g_autofree uint8_t *data = g_malloc(len), *none = g_malloc0(len);
    uint64_t start;
    unsigned i, k;
    TfMachine m;

    tf_start(&m, 3, NVLINK, props);
    tq_fill_random(data, len, 4);
    tq_put(&m.c[0], tq_hbm(0), data, len);
    hold(&m.q[0]);
    tq_copy(&m.q[0], tf_unicast(1, tq_hbm(2)), tq_hbm(0), len);
    /* from the host, small, and local */
    tq_copy(&m.q[0], tq_hbm(3), tq_hbm(0), len);
    tq_pair(&m.q[0], tf_unicast(1, tq_hbm(3)), tq_hbm(0), 4095, 0, 0, 0);
    add_sem(&m.q[0], ADD, tf_unicast(1, word), 1, TQ_DMB);
    tq_kick(&m.q[0]);
    add_sem(&m.q[1], WAIT, word, 1, 0);
    tq_kick(&m.q[1]);
    start = go(&m);
    finish(&m.q[0]);
    finish(&m.q[1]);
    *ns = engine_time(&m.c[0], 4) - start;
    for (i = 0; i < 2; i++) {
        for (k = 0; k < 12; k++) {
            count[i][k] = tf_sum(&m.c[i], k);
        }
    }
    tq_check(&m.c[1], tq_hbm(2), moves ? data : none, len);
    tq_check(&m.c[0], tq_hbm(3), moves ? data : none, len);
    tq_check(&m.c[1], tq_hbm(3), data, 4095);
    /* what is not allowed is not allowed */
    tf_set(&m, "partitions", "0,1-2");
    tf_copy_fails(&m, 0, tf_unicast(1, tq_hbm(2)), tq_hbm(0), PIECE,
                  ST_PARTITION, tf_unicast(1, tq_hbm(2)));
    tf_stop(&m);
}

static void test_payload(void)
{
    uint64_t on[2][12], off[2][12], on_ns, off_ns;

    payload("payload=on", true, &on_ns, on);
    payload("payload=off", false, &off_ns, off);
    g_assert_cmpint(on_ns, ==, off_ns);
    g_assert_cmpmem(on, sizeof(on), off, sizeof(off));
    g_assert_cmpint(on[0][TX_BYTES], ==, (4 << 20) + 4095 + 8 + 2 * 8);
}

/* --- against a prediction --- */

/* Of predict-fabric.py, which is beside this program; ns */
static uint64_t predict(const char *args)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(self);
    g_autofree char *line = g_strdup_printf("python3 %s/predict-fabric.py %s",
                                            dir, args);
    g_autofree char *out = NULL;
    g_autoptr(GError) err = NULL;
    int status;

    g_assert_true(g_spawn_command_line_sync(line, &out, NULL, &status, &err));
    g_assert_no_error(err);
    g_assert_cmpint(status, ==, 0);
    return g_ascii_strtoull(out, NULL, 10);
}

typedef struct Pattern {
    const char *name, *kind, *model;
    unsigned chips;
    unsigned hops;              /* that are counted, of all copies of a chip */
    const char *faults, *half;
} Pattern;

/* Every chip sends to every other one, each copy by an engine of its own. */
static void test_pattern(const void *data)
{
    const unsigned len = 64 * PIECE;
    const Pattern *p = data;
    g_autofree char *fabric = g_strdup_printf("kind=%s,chips=%u", p->kind,
                                              p->chips);
    g_autofree char *args = g_strdup_printf("%s all-to-all %u %u %s", p->kind,
                                            p->chips, len, p->half);
    g_autofree TqQueue *q = g_new0(TqQueue, p->chips * p->chips);
    g_autofree TfMachine *m = g_new0(TfMachine, 1);
    uint64_t want = predict(args), start, ns = 0, bytes = 0;
    unsigned i, k;

    tq_model = p->model;
    tf_start(m, p->chips, fabric, "hbm-size=512M,payload=off");
    tf_set(m, "faults", p->faults);
    for (i = 0; i < p->chips; i++) {
        for (k = 1; k < p->chips; k++) {
            TqQueue *one = &q[i * p->chips + k];

            /* stacks in turn, so that none of them is what is busiest */
            queue_on(m, one, i, 10 + k);
            hold(one);
            tq_copy(one, tf_unicast((i + k) % p->chips, tq_hbm(k % 4)),
                    tq_hbm(k % 4), len);
            tq_kick(one);
        }
    }
    start = go(m);
    for (i = 0; i < p->chips; i++) {
        for (k = 1; k < p->chips; k++) {
            finish(&q[i * p->chips + k]);
            ns = MAX(ns, engine_time(&m->c[i], 10 + k) - start);
        }
        bytes += tf_sum(&m->c[i], TX_BYTES);
    }
    tq_model = "trainium2";
    g_test_message("%s: %" PRIu64 " ns, predicted %" PRIu64 ": %.1f %%, "
                   "%.0f GB/s in all", p->name, ns, want, 100.0 * want / ns,
                   (double)p->chips * (p->chips - 1) * len / ns);
    g_assert_cmpint(bytes - (uint64_t)p->hops * p->chips * len, <=,
                    p->chips * 8 * 2);
    /* what goes before the last go-signal is seen */
    g_assert_cmpint(ns, >=, want - want / 50);
    g_assert_cmpint(ns, <=, want * 100 / 95);
    tf_stop(m);
}

static const Pattern patterns[] = {
    { "nvlink72", "nvlink", "trainium4", 72, 71, "", "" },
    { "nvlink-half", "nvlink", "trainium4", 16, 15, "lanes=1.0:1", "--half 1.0" },
    { "torus", "neuronlink", "trainium2", 16, 32, "", "" },
    { "torus-half", "neuronlink", "trainium2", 16, 32, "lanes=1.0:16",
      "--half 1.0" },
    { "switch", "neuronswitch", "trainium3", 16, 15, "", "" },
};

/* With timing=enforce modelled time passes before anything can be seen. */
static void test_enforce(void)
{
    const unsigned len = 16 * PIECE;
    TfMachine m;

    tf_start(&m, 2, "kind=neuronlink,lanes=1,lane-rate=1000,timing=enforce",
             NULL);
    tq_copy(&m.q[0], tf_unicast(1, 0), tq_hbm(0), len);
    tq_add_marker(&m.q[0]);
    tq_kick(&m.q[0]);
    tf_step_us(&m, len / 1000 - 2);
    g_usleep(20000);
    g_assert_false(tq_marker_seen(&m.q[0]));
    tf_step_us(&m, 3);
    g_usleep(20000);
    g_assert_true(tq_marker_seen(&m.q[0]));
    tf_stop(&m);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(patterns); i++) {
        g_autofree char *name = g_strdup_printf("trainium/fabric-time/%s",
                                                patterns[i].name);

        qtest_add_data_func(name, &patterns[i], test_pattern);
    }
    qtest_add_func("trainium/fabric-time/share", test_share);
    qtest_add_func("trainium/fabric-time/incast", test_incast);
    qtest_add_func("trainium/fabric-time/chain", test_chain);
    qtest_add_func("trainium/fabric-time/half", test_half);
    qtest_add_func("trainium/fabric-time/bits", test_bits);
    qtest_add_func("trainium/fabric-time/woken", test_woken);
    qtest_add_func("trainium/fabric-time/reset", test_reset);
    qtest_add_func("trainium/fabric-time/repeat", test_repeat);
    qtest_add_func("trainium/fabric-time/payload", test_payload);
    qtest_add_func("trainium/fabric-time/enforce", test_enforce);
    return g_test_run();
}
