/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that add to a word in memory, set it, wait for it or take from it,
 * and queues that wait: who wakes them, and what ends it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define SEC_A 0x3a000u
#define SEC_B 0x3a040u
#define STREAM_ERROR (1u << 2)              /* M2S */

/* M2S word 1: type 3, operation, first and last block */
enum { ADD = 0x00300003, SET = 0x00b00003, WAIT = 0x01300003,
       TAKE = 0x01b00003 };

#define ENGINE 128
#define QUEUES 4

typedef struct Setup {
    TqChip c;
    TqQueue q[QUEUES];
    uint64_t hbm, host;                     /* AXI: a word each */
    uint64_t operands, next;                /* host: 8 bytes each */
} Setup;

static void setup_start(Setup *s, const char *props)
{
    unsigned i;

    memset(s, 0, sizeof(*s));
    tq_start(&s->c, props);
    tq_init_engine(&s->c, ENGINE);
    for (i = 0; i < QUEUES; i++) {
        tq_init_queue(&s->q[i], &s->c, ENGINE, i, 64);
    }
    s->operands = tq_alloc(&s->c, 4096, 4096);
    s->hbm = tq_hbm(1) + 0x1008;
    s->host = TQ_HOST | tq_alloc(&s->c, 64, 64);
}

static int64_t word(Setup *s, uint64_t axi)
{
    uint64_t v;

    tq_get(&s->c, axi, &v, sizeof(v));
    return le64_to_cpu(v);
}

static void poke(Setup *s, uint64_t axi, int64_t v)
{
    qtest_writeq(s->c.qts, tq_phys(&s->c, axi), v);
}

static void add_sem(Setup *s, unsigned q, uint32_t op, uint64_t axi,
                    int64_t operand)
{
    uint64_t at = s->operands + s->next++ % 512 * 8;

    qtest_writeq(s->c.qts, at, operand);
    tq_m2s(&s->q[q], TQ_HOST | at, 8, TQ_FIRST | TQ_LAST, op);
    tq_s2m(&s->q[q], axi, 8, 0);
}

static void sem(Setup *s, unsigned q, uint32_t op, uint64_t axi,
                int64_t operand)
{
    add_sem(s, q, op, axi, operand);
    tq_kick(&s->q[q]);
}

/* Packets of the queue that are done; time stands still */
static unsigned heads(Setup *s, unsigned q)
{
    return tq_read(&s->c, tq_m2s_reg(&s->q[q], 0x34)) & 0xffffff;
}

static bool waits(Setup *s, unsigned q)
{
    return tq_read(&s->c, tq_m2s_reg(&s->q[q], 0x24)) & 0x1ffffff;
}

static void wait_done(Setup *s, unsigned q)
{
    unsigned i;

    for (i = 0; i < 1000 && waits(s, q); i++) {
        qtest_clock_step(s->c.qts, 20000);
    }
    g_assert_false(waits(s, q));
}

/* --- operations --- */

static void test_operations(void)
{
    unsigned i;
    Setup s;

    setup_start(&s, "hbm-size=1G");
    g_assert_cmphex(tq_xread(&s.c, 0x08) & 0x40, ==, 0x40);
    for (i = 0; i < 2; i++) {
        uint64_t at = i ? s.host : s.hbm;

        poke(&s, at, 0x123456789abcdef0);
        sem(&s, 0, ADD, at, 0x1111111111111111);
        tq_finish(&s.q[0]);
        g_assert_cmphex(word(&s, at), ==, 0x23456789abcdf001);
        sem(&s, 0, SET, at, -5);
        sem(&s, 0, ADD, at, -3);
        tq_finish(&s.q[0]);
        g_assert_cmpint(word(&s, at), ==, -8);
        /* signed: -8 is enough for -8 and for -9 */
        sem(&s, 0, WAIT, at, -8);
        sem(&s, 0, WAIT, at, INT64_MIN);
        tq_finish(&s.q[0]);
        g_assert_cmpint(word(&s, at), ==, -8);
        sem(&s, 0, SET, at, 10);
        sem(&s, 0, TAKE, at, 4);
        tq_finish(&s.q[0]);
        g_assert_cmpint(word(&s, at), ==, 6);
        sem(&s, 0, SET, at, INT64_MAX);
        sem(&s, 0, ADD, at, 1);
        tq_finish(&s.q[0]);
        g_assert_cmphex(word(&s, at), ==, INT64_MIN);
    }
    g_assert_cmphex(tq_ereg(&s.c, ENGINE, SEC_A), ==, 0);
    tq_stop(&s.c);
}

/* --- waiting --- */

/* A descriptor on the same word wakes at once, anything else before long. */
static void test_wake(void)
{
    enum { BY_DESCRIPTOR, BY_CPU, BY_COPY, NUM_WAYS };
    unsigned way, i;
    uint64_t five;
    Setup s;

    setup_start(&s, "hbm-size=1G");
    five = tq_alloc(&s.c, 8, 8);
    qtest_writeq(s.c.qts, five, 5);
    for (i = 0; i < 2; i++) {
        uint64_t at = i ? s.host : s.hbm;

        for (way = 0; way < NUM_WAYS; way++) {
            unsigned head, tries;

            poke(&s, at, 0);
            head = heads(&s, 0);
            sem(&s, 0, TAKE, at, 4);
            tq_settle(&s.c);
            g_assert_true(waits(&s, 0));
            g_assert_cmpint(heads(&s, 0), ==, head);
            /* other queues of the engine do not mind */
            sem(&s, 1, ADD, at, 3);
            tq_finish(&s.q[1]);
            g_assert_true(waits(&s, 0));
            switch (way) {
            case BY_DESCRIPTOR:
                sem(&s, 1, ADD, at, 2);
                g_assert_false(waits(&s, 1));
                /*
                 * The bottom half, without the clock; on a busy host it may
                 * have to stop before it is done.
                 */
                for (tries = 0; tries < 1000 && waits(&s, 0); tries++) {
                    qtest_qmp_assert_success(s.c.qts,
                                             "{'execute': 'query-status'}");
                }
                break;
            case BY_CPU:
                poke(&s, at, 5);
                g_assert_true(waits(&s, 0));
                qtest_clock_step(s.c.qts, 1300 * 1000);
                break;
            case BY_COPY:
                tq_pair(&s.q[1], at, TQ_HOST | five, 8, 0, 0, 0);
                tq_kick(&s.q[1]);
                qtest_clock_step(s.c.qts, 1300 * 1000);
                break;
            }
            g_assert_false(waits(&s, 0));
            g_assert_cmpint(word(&s, at), ==, 1);
        }
    }
    tq_stop(&s.c);
}

/* Takers of one word: each gets its share once, whatever the order. */
static void test_takers(void)
{
    unsigned i, left;
    Setup s;

    setup_start(&s, "hbm-size=1G");
    for (i = 1; i < QUEUES; i++) {
        sem(&s, i, TAKE, s.hbm, 1);
    }
    for (left = QUEUES - 1; left; left--) {
        unsigned n = 0;

        sem(&s, 0, ADD, s.hbm, 1);
        tq_settle(&s.c);
        for (i = 1; i < QUEUES; i++) {
            n += waits(&s, i);
        }
        g_assert_cmpint(n, ==, left - 1);
        g_assert_cmpint(word(&s, s.hbm), ==, 0);
    }
    tq_stop(&s.c);
}

/* Two queues hand a token to and fro a hundred times, the clock at rest. */
static void test_ping_pong(void)
{
    uint64_t other;
    unsigned i, n;
    Setup s;

    setup_start(&s, "hbm-size=1G");
    other = s.hbm + 64;
    for (n = 0; n < 10; n++) {
        for (i = 0; i < 10; i++) {
            add_sem(&s, 0, TAKE, s.hbm, 1);
            add_sem(&s, 0, ADD, other, 1);
            add_sem(&s, 1, TAKE, other, 1);
            add_sem(&s, 1, ADD, s.hbm, 1);
        }
        tq_kick(&s.q[0]);
        tq_kick(&s.q[1]);
        sem(&s, 2, ADD, s.hbm, 1);
        while (waits(&s, 0) || waits(&s, 1)) {
            g_usleep(10);
        }
        g_assert_cmpint(word(&s, s.hbm), ==, 1);
        g_assert_cmpint(word(&s, other), ==, 0);
        sem(&s, 2, SET, s.hbm, 0);
    }
    tq_stop(&s.c);
}

static void queue_reset(Setup *s, unsigned q)
{
    tq_write(&s->c, tq_m2s_reg(&s->q[q], 0xb0), 0x100);
    tq_write(&s->c, tq_s2m_reg(&s->q[q], 0x64), 0x100);
}

/* What ends a wait: nothing of what is behind it may happen afterwards. */
static void test_end(void)
{
    enum { QUEUE, ENGINE_ABORT, FLR, DEVICE, SYSTEM, UNPLUG, NUM_WAYS };
    unsigned way;

    for (way = 0; way < NUM_WAYS; way++) {
        uint64_t dst;
        Setup s;

        setup_start(&s, "hbm-size=1G");
        dst = TQ_HOST | tq_alloc(&s.c, 8, 8);
        add_sem(&s, 0, WAIT, s.host, 1);
        add_sem(&s, 0, SET, dst, 7);
        tq_kick(&s.q[0]);
        tq_settle(&s.c);
        g_assert_true(waits(&s, 0));
        switch (way) {
        case QUEUE:
            queue_reset(&s, 0);
            break;
        case ENGINE_ABORT:
            tq_ewrite(&s.c, ENGINE, 0x204, 4);
            break;
        case FLR: {
            uint8_t cap = tq_find_cap(&s.c, 0x10);

            tq_cfg_writew(&s.c, cap + 8,
                          tq_cfg_readw(&s.c, cap + 8) | 0x8000);
            break;
        }
        case DEVICE:
            tq_misc_write(&s.c, 0x1ec, 1);
            tq_misc_write(&s.c, 0x800, 1);
            tq_step_ms(&s.c, 35);
            break;
        case SYSTEM:
            qtest_qmp_assert_success(s.c.qts, "{'execute': 'system_reset'}");
            qtest_qmp_eventwait(s.c.qts, "RESET");
            break;
        case UNPLUG:
            tq_set(&s.c, "surprise-removal", "1000");
            break;
        }
        qtest_writeq(s.c.qts, s.host & ~TQ_HOST, 1);
        tq_step_ms(&s.c, 5);
        tq_settle(&s.c);
        g_assert_cmphex(qtest_readq(s.c.qts, dst & ~TQ_HOST), ==, 0);
        if (way == QUEUE) {
            tq_init_queue(&s.q[0], &s.c, ENGINE, 0, 64);
            sem(&s, 0, WAIT, s.host, 1);
            tq_finish(&s.q[0]);
        }
        tq_stop(&s.c);
    }
}

/* A machine that stands still does not look, and goes on afterwards. */
static void test_stop(void)
{
    Setup s;

    setup_start(&s, "hbm-size=1G");
    sem(&s, 0, WAIT, s.hbm, 1);
    tq_settle(&s.c);
    qtest_qmp_assert_success(s.c.qts, "{'execute': 'stop'}");
    poke(&s, s.hbm, 1);
    g_usleep(5000);
    g_assert_true(waits(&s, 0));
    qtest_qmp_assert_success(s.c.qts, "{'execute': 'cont'}");
    wait_done(&s, 0);
    tq_stop(&s.c);
}

/* --- order --- */

/* Copies before a wait are done before it, and those behind it after it. */
static void test_order(void)
{
    unsigned seed;

    for (seed = 0; seed <= 16; seed++) {
        g_autofree char *props = g_strdup_printf("hbm-size=1G,reorder=%u",
                                                 seed);
        uint8_t one[4096], two[4096], none[4096] = {};
        uint64_t src, dst;
        unsigned i;
        Setup s;

        setup_start(&s, props);
        src = TQ_HOST | tq_alloc(&s.c, 8192, 4096);
        dst = TQ_HOST | tq_alloc(&s.c, 8192, 4096);
        tq_fill_random(one, sizeof(one), 1);
        tq_fill_random(two, sizeof(two), 2);
        tq_put(&s.c, src, one, sizeof(one));
        tq_put(&s.c, src + 4096, two, sizeof(two));
        for (i = 0; i < 4; i++) {
            tq_pair(&s.q[0], dst + i * 1024, src + i * 1024, 1024, 0, 0, 0);
        }
        add_sem(&s, 0, TAKE, s.hbm, 1);
        for (i = 0; i < 4; i++) {
            tq_pair(&s.q[0], dst + 4096 + i * 1024, src + 4096 + i * 1024,
                    1024, 0, 0, 0);
        }
        tq_kick(&s.q[0]);
        for (i = 0; i < 200; i++) {
            qtest_clock_step(s.c.qts, 100000);
        }
        tq_check(&s.c, dst, one, sizeof(one));
        tq_check(&s.c, dst + 4096, none, sizeof(none));
        sem(&s, 1, ADD, s.hbm, 1);
        wait_done(&s, 1);
        wait_done(&s, 0);
        tq_check(&s.c, dst + 4096, two, sizeof(two));
        g_assert_cmpint(word(&s, s.hbm), ==, 0);
        tq_stop(&s.c);
    }
}

/* --- errors --- */

typedef struct Bad {
    const char *name;
    uint32_t op;
    int64_t dst_off, src_off;               /* from the words */
    uint64_t dst;                           /* instead, if not 0 */
    uint32_t len;
    uint32_t a, b;                          /* causes */
} Bad;

static void test_errors(void)
{
    /* 0x8050000000 is in a gap; queue registers and semaphores are registers */
    const Bad bad[] = {
        { "word not aligned", ADD, 4, 0, 0, 8, STREAM_ERROR, 0 },
        { "operand not aligned", ADD, 0, 4, 0, 8, STREAM_ERROR, 0 },
        { "4 bytes", ADD, 0, 0, 0, 4, STREAM_ERROR, 0 },
        { "16 bytes", SET, 0, 0, 0, 16, STREAM_ERROR, 0 },
        { "bits of a type", ADD | 0x10, 0, 0, 0, 8, STREAM_ERROR, 0 },
        { "no such operation", ADD | 0x02000000, 0, 0, 0, 8, STREAM_ERROR, 0 },
        { "wait for a chip", WAIT, 0, 0, 1ull << 63, 8, STREAM_ERROR, 0 },
        { "take from a chip", TAKE, 0, 0, 1ull << 63, 8, STREAM_ERROR, 0 },
        { "wait for a neighbour", WAIT, 0, 0, 1ull << 52, 8, STREAM_ERROR, 0 },
        { "wait for a register", WAIT, 0, 0, 1, 8, STREAM_ERROR, 0 },
        { "add to a register", ADD, 0, 0, 1, 8, 0, 1u << 1 },
        { "add to nothing", ADD, 0, 0, 0x0000f00000000000, 8, 0, 1u << 1 },
        { "add to no fabric", ADD, 0, 0, 1ull << 63, 8, 0, 1u << 1 },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        const Bad *b = &bad[i];
        uint64_t dst;
        Setup s;

        g_test_message("%s", b->name);
        setup_start(&s, "hbm-size=1G");
        dst = b->dst == 1 ? tq_engine_axi(20) + 0x1000 :
              b->dst ?: s.hbm + b->dst_off;
        tq_m2s(&s.q[0], TQ_HOST | (s.operands + b->src_off), b->len,
               TQ_FIRST | TQ_LAST, b->op);
        tq_s2m(&s.q[0], dst, b->len, 0);
        tq_kick(&s.q[0]);
        tq_settle(&s.c);
        g_assert_cmphex(tq_ereg(&s.c, ENGINE, SEC_A), ==, b->a);
        g_assert_cmphex(tq_ereg(&s.c, ENGINE, SEC_B), ==, b->b);
        g_assert_cmphex(tq_ereg(&s.c, ENGINE, 0x200) & 0x3333, ==, 0x2222);
        g_assert_cmpint(word(&s, s.hbm), ==, 0);
        tq_stop(&s.c);
    }
}

/* Faults count packets; one that waits is counted when it goes on. */
static void test_faults(void)
{
    uint64_t dst;
    Setup s;

    setup_start(&s, "hbm-size=1G");
    dst = TQ_HOST | tq_alloc(&s.c, 8, 8);
    tq_set(&s.c, "dma-abort", "\"128.0:3\"");
    add_sem(&s, 0, WAIT, s.host, 1);
    add_sem(&s, 0, ADD, dst, 1);
    add_sem(&s, 0, ADD, dst, 1);
    tq_kick(&s.q[0]);
    tq_step_ms(&s.c, 20);
    g_assert_true(waits(&s, 0));
    sem(&s, 1, ADD, s.host, 1);
    tq_settle(&s.c);
    g_assert_cmpint(qtest_readq(s.c.qts, dst & ~TQ_HOST), ==, 1);
    g_assert_cmphex(tq_ereg(&s.c, ENGINE, 0x200) & 0x3333, ==, 0x2222);
    tq_stop(&s.c);

    /* a lost ADD: nobody is woken by it */
    setup_start(&s, "hbm-size=1G");
    tq_set(&s.c, "dma-lost", "\"128.1:1\"");
    sem(&s, 0, WAIT, s.host, 1);
    sem(&s, 1, ADD, s.host, 1);
    tq_settle(&s.c);
    g_assert_false(waits(&s, 1));
    g_assert_true(waits(&s, 0));
    g_assert_cmpint(word(&s, s.host), ==, 0);
    sem(&s, 1, ADD, s.host, 1);
    wait_done(&s, 0);
    tq_stop(&s.c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/semaphore/operations", test_operations);
    qtest_add_func("trainium/semaphore/wake", test_wake);
    qtest_add_func("trainium/semaphore/takers", test_takers);
    qtest_add_func("trainium/semaphore/ping-pong", test_ping_pong);
    qtest_add_func("trainium/semaphore/end", test_end);
    qtest_add_func("trainium/semaphore/stop", test_stop);
    qtest_add_func("trainium/semaphore/order", test_order);
    qtest_add_func("trainium/semaphore/errors", test_errors);
    qtest_add_func("trainium/semaphore/faults", test_faults);
    return g_test_run();
}
