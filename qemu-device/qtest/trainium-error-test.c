/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes wrong: cause bits, abort, masked causes, recovery. */
#include "qemu/osdep.h"
#include "trainium-qtest.h"

#define SEC_A 0x3a000u                      /* M2S errors */
#define SEC_B 0x3a040u                      /* S2M errors */

#define HBM0_END 0x600000000ull

static void build_first_inside(TqQueue *q)
{
    tq_m2s(q, tq_hbm(1), 4, TQ_FIRST, TQ_COPY);
    tq_m2s(q, tq_hbm(1), 4, TQ_FIRST | TQ_LAST, TQ_COPY);
    tq_s2m(q, tq_hbm(0), 8, 0);
}

static void build_last_without_first(TqQueue *q)
{
    tq_m2s(q, tq_hbm(1), 4, TQ_LAST, TQ_COPY);
    tq_s2m(q, tq_hbm(0), 4, 0);
}

/* software set 65 descriptors a packet */
static void packet_of(TqQueue *q, unsigned descs)
{
    unsigned i;

    for (i = 0; i < descs; i++) {
        tq_m2s(q, tq_hbm(1) + i * 4, 4, (i ? 0 : TQ_FIRST) |
               (i == descs - 1 ? TQ_LAST : 0), TQ_COPY);
    }
    tq_s2m(q, tq_hbm(0), descs * 4, 0);
}

static void build_too_many(TqQueue *q)
{
    packet_of(q, 66);
}

/* software set 0xfffff bytes a packet */
static void packet_long(TqQueue *q, uint32_t last)
{
    unsigned i;

    for (i = 0; i < 15; i++) {
        tq_m2s(q, tq_hbm(1), 65536, i ? 0 : TQ_FIRST, TQ_COPY);
        tq_s2m(q, tq_hbm(0), 65536, 0);
    }
    tq_m2s(q, tq_hbm(1), last, TQ_LAST, TQ_COPY);
    tq_s2m(q, tq_hbm(0), last, 0);
}

static void build_too_long(TqQueue *q)
{
    packet_long(q, 65536);
}

static void build_ring_id_m2s(TqQueue *q)
{
    q->m2s.rid = 2;
    tq_pair(q, tq_hbm(0), tq_hbm(1), 4, 0, 0, 0);
    q->m2s.rid = 1;
}

static void build_ring_id_s2m(TqQueue *q)
{
    q->s2m.rid = 0;
    tq_pair(q, tq_hbm(0), tq_hbm(1), 4, 0, 0, 0);
    q->s2m.rid = 1;
}

/* something else than a plain copy: nothing computes here */
static void build_bad_op(TqQueue *q)
{
    tq_pair(q, tq_hbm(0), tq_hbm(1), 4, 0, 1u << 20, 0);
}

static uint64_t bad_address;

static void build_bad_source(TqQueue *q)
{
    tq_pair(q, tq_hbm(0), bad_address, 64, 0, 0, 0);
}

static void build_bad_target(TqQueue *q)
{
    tq_pair(q, bad_address, tq_hbm(1), 64, 0, 0, 0);
}

typedef struct {
    const char *name;
    void (*build)(TqQueue *q);
    uint32_t group, cause;
} Fault;

static const Fault faults[] = {
    { "first-inside", build_first_inside, SEC_A, 1u << 15 },
    { "last-without-first", build_last_without_first, SEC_A, 1u << 16 },
    { "too-many", build_too_many, SEC_A, 1u << 14 },
    { "too-long", build_too_long, SEC_A, 1u << 13 },
    { "bad-op", build_bad_op, SEC_A, 1u << 2 },
    { "ring-id-m2s", build_ring_id_m2s, SEC_A, 1u << 17 },
    { "ring-id-s2m", build_ring_id_s2m, SEC_B, 1u << 11 },
    { "bad-source", build_bad_source, SEC_A, 1u << 8 },
    { "bad-target", build_bad_target, SEC_B, 1u << 1 },
};

static uint32_t wait_cause(TqChip *c, unsigned e, uint32_t group)
{
    unsigned i;

    for (i = 0; i < 20000; i++) {
        uint32_t v = tq_ereg(c, e, group);

        if (v) {
            return v;
        }
        tq_step(c);
    }
    return 0;
}

static void expect_aborted(TqChip *c, unsigned e, bool aborted)
{
    g_assert_cmphex(tq_ereg(c, e, 0x200) & 0x3333, ==,
                    aborted ? 0x2222 : 0x1111);
    g_assert_cmphex(tq_ereg(c, e, 0x20200) & 0x3333, ==,
                    aborted ? 0x2222 : 0x1111);
}

static void copy_works(TqChip *c, unsigned e, unsigned nr)
{
    uint64_t at = tq_alloc(c, 8, 8);
    TqQueue q;

    tq_init_queue(&q, c, e, nr, 32);
    qtest_writel(c->qts, at, 0x900d0000 + e);
    tq_pair(&q, tq_hbm(3) + 0x700, TQ_HOST | at, 4, 0, TQ_BARRIER, 0);
    tq_pair(&q, TQ_HOST | (at + 4), tq_hbm(3) + 0x700, 4, 0, 0, 0);
    tq_finish(&q);
    g_assert_cmphex(qtest_readl(c->qts, at + 4), ==, 0x900d0000 + e);
}

/* The definition of this project: 16 queues reset, then change_state. */
static void recover(TqChip *c, unsigned e)
{
    unsigned i;

    for (i = 0; i < 16; i++) {
        expect_aborted(c, e, true);
        tq_ewrite(c, e, 0x10b0 + i * 0x1000, 0x100);
        tq_ewrite(c, e, 0x21064 + i * 0x1000, 0x100);
    }
    tq_ewrite(c, e, SEC_A, 0);
    tq_ewrite(c, e, SEC_B, 0);
    tq_ewrite(c, e, 0x380c0, 0);
    expect_aborted(c, e, true);
    tq_ewrite(c, e, 0x204, 1);
    tq_ewrite(c, e, 0x20204, 1);
    expect_aborted(c, e, false);
}

static void one_abort(TqChip *c, const Fault *f)
{
    TqQueue q, bystander;
    uint32_t d;

    tq_init_queue(&q, c, 128, 0, 96);
    tq_init_queue(&bystander, c, 128, 7, 32);
    f->build(&q);
    tq_kick(&q);
    g_assert_cmphex(wait_cause(c, 128, f->group), ==, f->cause);
    g_assert_cmphex(tq_ereg(c, 128, f->group == SEC_A ? SEC_B : SEC_A), ==, 0);
    /* summary in primary group D: bit 8 M2S, bit 9 S2M */
    d = tq_ereg(c, 128, 0x380c0);
    g_assert_cmphex(d & 0x700, ==, f->group == SEC_A ? 0x100 : 0x200);
    expect_aborted(c, 128, true);

    /* the whole engine stands, and only this one */
    tq_add_marker(&bystander);
    tq_kick(&bystander);
    tq_add_marker(&q);
    tq_kick(&q);
    tq_settle(c);
    g_assert_false(tq_marker_seen(&bystander));
    g_assert_false(tq_marker_seen(&q));
    expect_aborted(c, 129, false);
    copy_works(c, 129, 0);

    recover(c, 128);
    tq_settle(c);
    g_assert_false(tq_marker_seen(&bystander));
    copy_works(c, 128, 0);
    copy_works(c, 128, 7);
}

static void test_abort(const void *data)
{
    const Fault *f = data;
    TqChip c;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 129);
    bad_address = 0x7ull << 60;
    one_abort(&c, f);
    one_abort(&c, f);
    tq_stop(&c);
}

/*
 * With the cause masked for abort the engine goes on: what comes behind the
 * faulty packet is carried out. (All S2M descriptors end in one word, since
 * how many of them a faulty packet takes is nobody's business.)
 */
static void test_masked(const void *data)
{
    const Fault *f = data;
    TqChip c;
    TqQueue q;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_ewrite(&c, 128, 0x3a030, 0xffffffff);
    tq_ewrite(&c, 128, 0x3a070, 0xffffffff);
    bad_address = 0x7ull << 60;
    tq_init_queue(&q, &c, 128, 0, 256);
    f->build(&q);
    tq_kick(&q);
    g_assert_cmphex(wait_cause(&c, 128, f->group) & f->cause, ==, f->cause);
    expect_aborted(&c, 128, false);
    qtest_writel(c.qts, q.mark, TQ_MARK);
    qtest_writel(c.qts, q.mark + 4, 0);
    for (i = 0; i < 40; i++) {
        tq_pair(&q, TQ_HOST | (q.mark + 4), TQ_HOST | q.mark, 4, 0, 0, 0);
        tq_kick(&q);
    }
    tq_wait(&c, q.mark + 4, TQ_MARK);
    expect_aborted(&c, 128, false);
    tq_stop(&c);
}

/* Just within the limits: no error. */
static void test_limits(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 160);
    packet_of(&q, 65);
    packet_long(&q, 65535);
    /* the last bytes of a stack */
    tq_pair(&q, HBM0_END - 1, tq_hbm(0) + HBM0_END - 65536, 1, 0, 0, 0);
    tq_pair(&q, tq_hbm(3) + HBM0_END - 65536, tq_hbm(1), 65536, 0, 0, 0);
    tq_finish(&q);
    g_assert_cmphex(tq_ereg(&c, 128, SEC_A), ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, SEC_B), ==, 0);
    tq_stop(&c);
}

/* Addresses that lead nowhere, into registers, or over an end. */
static void test_addresses(void)
{
    const struct {
        uint64_t axi;
        bool target_only;
    } bad[] = {
        { HBM0_END },                           /* behind HBM0 */
        { HBM0_END - 63 },                      /* over its end */
        { 0x004000000000 + HBM0_END - 1 },
        { 0x804000000000 + HBM0_END },
        { 0x000fffffffff },                     /* rest of the window */
        { 0x001000000000 },                     /* APB where nothing is */
        { 0x0012034c0000 },                     /* behind PREPROC */
        { 0x0012034bffc1 },
        { 0x002002000000 },                     /* behind SBUF */
        { 0x002001ffffe0 },
        { 0x009000000000 },
        { 0x00c000000000 },
        { 0x3fffffffffff },
        { 0xc00000000000 },                     /* die 1 and host */
        { 0x0001000000000000 },                 /* bit 48 */
        { 0x0020000000000000 },                 /* bit 53 */
        { 0xffffffffffffffc0 },                 /* up to the end of space */
        { 0xfffffffffffffff0 },                 /* over it */
        { TQ_HOST | 0x3fffffffff00 },           /* no memory there */
        { TQ_HOST | 0x3ffffffffff0 },           /* over the host window */
        { TQ_HOST | (TQ_RAM_MB * 0x100000ull - 32) },
        /* doorbells of this very engine and of another one */
        { 0x008006801038, true }, { 0x008006821038, true },
        { 0x001002001038, true },
        { 0x008006838008, true },               /* interrupt cause */
    };
    unsigned i, way;
    TqChip c;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 0);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        for (way = bad[i].target_only; way < 2; way++) {
            uint32_t group = way ? SEC_B : SEC_A;
            TqQueue q;

            g_test_message("%s 0x%" PRIx64, way ? "to" : "from", bad[i].axi);
            tq_init_queue(&q, &c, 128, 0, 32);
            tq_pair(&q, way ? bad[i].axi : tq_hbm(1),
                    way ? tq_hbm(1) : bad[i].axi, 64, 0, 0, 0);
            tq_kick(&q);
            g_assert_cmphex(wait_cause(&c, 128, group), ==,
                            way ? 1u << 1 : 1u << 8);
            expect_aborted(&c, 128, true);
            recover(&c, 128);
        }
    }
    copy_works(&c, 128, 2);
    /* nobody rang engine 0 */
    g_assert_cmphex(tq_ereg(&c, 0, 0x103c) & 0xffffff, ==, 0);
    tq_stop(&c);
}

/* Without a fabric the neighbour windows give no answer. */
static void test_neighbour(void)
{
    unsigned link, way;
    TqChip c;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    for (link = 0; link < 4; link++) {
        for (way = 0; way < 2; way++) {
            uint64_t axi = (0x10ull + link * 4) << 48 | 0x8006c84038;
            uint32_t cause;
            TqQueue q;

            tq_init_queue(&q, &c, 128, 0, 32);
            tq_pair(&q, way ? axi : tq_hbm(0), way ? tq_hbm(0) : axi, 8,
                    0, TQ_BARRIER, 0);
            tq_add_marker(&q);
            tq_kick(&q);
            cause = wait_cause(&c, 128, way ? SEC_B : SEC_A);
            g_assert_cmphex(cause, ==, way ? 1u << 1 : 1u << 8);
            tq_settle(&c);
            g_assert_false(tq_marker_seen(&q));
            recover(&c, 128);
        }
    }
    copy_works(&c, 128, 0);
    tq_stop(&c);
}

/* A ring that leads nowhere: prefetch response errors. */
static void test_bad_ring(void)
{
    TqChip c;
    TqQueue q;
    uint64_t good;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    good = TQ_HOST | tq_alloc(&c, 4096, 4096);

    tq_init_queue_at(&q, &c, 128, 0, 0x900000000ull, 32, good, 32);
    q.m2s.next = 1;
    tq_ring_s2m(&q, 1);
    tq_ring_m2s(&q, 1);
    g_assert_cmphex(wait_cause(&c, 128, SEC_A), ==, 1u << 11);
    expect_aborted(&c, 128, true);
    recover(&c, 128);

    tq_init_queue_at(&q, &c, 128, 0, good, 32, 0x900000000ull, 32);
    tq_m2s(&q, tq_hbm(0), 4, TQ_FIRST | TQ_LAST, TQ_COPY);
    tq_ring_s2m(&q, 1);
    tq_ring_m2s(&q, 1);
    g_assert_cmphex(wait_cause(&c, 128, SEC_B), ==, 1u << 9);
    expect_aborted(&c, 128, true);
    recover(&c, 128);

    /* rings in registers, in SBUF up to its end, over the end of a stack */
    tq_init_queue_at(&q, &c, 128, 0, 0x008006800000ull, 32, good, 32);
    tq_ring_s2m(&q, 1);
    tq_ring_m2s(&q, 1);
    g_assert_cmphex(wait_cause(&c, 128, SEC_A), !=, 0);
    recover(&c, 128);
    copy_works(&c, 128, 0);
    tq_stop(&c);
}

/* Ring id mismatches on a data engine are masked by its initialisation. */
static void test_ring_id_masked(void)
{
    TqChip c;
    TqQueue q;
    int i;

    tq_start(&c, NULL);
    tq_init_engine(&c, 20);
    tq_init_queue(&q, &c, 20, 0, 32);
    for (i = 0; i < 100; i++) {
        q.m2s.rid = i & 3;
        q.s2m.rid = i >> 2 & 3;
        tq_copy(&q, tq_hbm(0) + 4096 + i * 4, TQ_HOST | q.mark, 4);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 4096 + i * 4), ==, TQ_MARK);
    }
    expect_aborted(&c, 20, false);
    tq_stop(&c);
}

/* Device reset and core reset bring an aborted engine back as well. */
static void test_reset_recovers(void)
{
    unsigned kind;
    TqChip c;

    tq_start(&c, NULL);
    for (kind = 1; kind <= 2; kind++) {
        tq_init_engine(&c, 21);             /* core 1 */
        copy_works(&c, 21, 0);
        tq_ewrite(&c, 21, 0x204, 4);
        expect_aborted(&c, 21, true);
        tq_misc_write(&c, 0x1d8, 0x00030303);
        tq_misc_write(&c, 0x1ec, kind);
        tq_misc_write(&c, 0x800, 1);
        tq_wait(&c, c.bar0 + 0x06c84000 + 0x1ec, 0);
        tq_wait_firmware(&c);
        expect_aborted(&c, 21, false);
        tq_init_engine(&c, 21);
        copy_works(&c, 21, 0);
    }
    tq_stop(&c);
}

/* strict-host-access: data engines 4..7 of 8 reach the host, 0..3 do not. */
static void test_strict_host(void)
{
    TqChip c;
    unsigned e;

    tq_start(&c, "strict-host-access=on");
    for (e = 0; e < 132; e += 3) {
        bool reaches = e >= 128 || (e & 4);
        TqQueue q;

        tq_init_engine(&c, e);
        if (reaches) {
            copy_works(&c, e, 0);
            continue;
        }
        tq_init_queue_at(&q, &c, e, 0, 0x1000, 32, 0x2000, 32);
        tq_pair(&q, tq_hbm(0) + 0x8000, TQ_HOST | q.mark, 4, 0, 0, 0);
        tq_kick(&q);
        g_assert_cmphex(wait_cause(&c, e, SEC_A), ==, 1u << 8);
    }
    tq_stop(&c);
}

/* Bus mastering off: the host is out of reach, and comes back. */
static void test_bus_master(void)
{
    TqChip c;
    TqQueue q;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    /* rings in HBM, so that only the data goes to the host */
    tq_init_queue_at(&q, &c, 128, 0, 0x1000, 32, 0x2000, 32);
    tq_finish(&q);
    tq_cfg_writew(&c, 0x04, 0x0002);
    tq_add_marker(&q);
    tq_kick(&q);
    g_assert_cmphex(wait_cause(&c, 128, SEC_A), ==, 1u << 8);
    g_assert_false(tq_marker_seen(&q));
    tq_cfg_writew(&c, 0x04, 0x0006);
    recover(&c, 128);
    copy_works(&c, 128, 0);
    tq_stop(&c);
}

/*
 * The chip's own BARs through the host window: doorbells rung by DMA must not
 * recurse, and whatever the outcome, the engine comes back.
 */
static void test_own_bars(void)
{
    uint64_t at[6];
    unsigned i;
    TqChip c;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    at[0] = c.bar0 + 0x06801038;
    at[1] = c.bar0 + 0x06821038;
    at[2] = c.bar0 + 0x06838008;
    at[3] = c.bar2 + 0xc000;
    at[4] = c.bar4 + 0x1000;
    at[5] = c.bar0 + 0x06c84800;
    for (i = 0; i < ARRAY_SIZE(at); i++) {
        unsigned way;

        for (way = 0; way < 2; way++) {
            TqQueue q;

            tq_init_queue(&q, &c, 128, 0, 32);
            tq_pair(&q, way ? TQ_HOST | at[i] : tq_hbm(1),
                    way ? TQ_HOST | q.mark : TQ_HOST | at[i], 4, 0, 0, 0);
            tq_add_marker(&q);
            tq_kick(&q);
            tq_settle(&c);
            if (tq_ereg(&c, 128, 0x200) & 0x2222) {
                recover(&c, 128);
            }
        }
    }
    copy_works(&c, 128, 0);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(faults); i++) {
        g_autofree char *a = g_strdup_printf("trainium/error/abort/%s",
                                             faults[i].name);
        g_autofree char *m = g_strdup_printf("trainium/error/masked/%s",
                                             faults[i].name);

        qtest_add_data_func(a, &faults[i], test_abort);
        qtest_add_data_func(m, &faults[i], test_masked);
    }
    qtest_add_func("trainium/error/limits", test_limits);
    qtest_add_func("trainium/error/addresses", test_addresses);
    qtest_add_func("trainium/error/neighbour", test_neighbour);
    qtest_add_func("trainium/error/bad-ring", test_bad_ring);
    qtest_add_func("trainium/error/ring-id-masked", test_ring_id_masked);
    qtest_add_func("trainium/error/reset-recovers", test_reset_recovers);
    qtest_add_func("trainium/error/strict-host", test_strict_host);
    qtest_add_func("trainium/error/bus-master", test_bus_master);
    qtest_add_func("trainium/error/own-bars", test_own_bars);
    return g_test_run();
}
