/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live migration and snapshots: registers, contents of HBM, DMA in flight. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "trainium-qtest.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static char *dir;

static QTestState *start_qemu(const char *props, const char *more)
{
    return qtest_initf("-machine q35 -m %u -nodefaults %s "
                       "-device trainium2,id=chip0,addr=04.0%s%s",
                       TQ_RAM_MB, more, props ? "," : "", props ?: "");
}

static void start_pair(TqChip *c, QTestState **to, const char *props)
{
    QTestState *qts = start_qemu(props, "");

    tq_attach(c, qts, 0, 4 << 3, 0);
    tq_wait_firmware(c);
    *to = start_qemu(props, "-incoming defer");
}

static char *migration_status(QTestState *qts)
{
    QDict *r = qtest_qmp(qts, "{'execute': 'query-migrate'}");
    char *s = g_strdup(qdict_get_try_str(qdict_get_qdict(r, "return"),
                                         "status") ?: "none");

    qobject_unref(r);
    return s;
}

static int64_t transferred(QTestState *qts)
{
    QDict *r = qtest_qmp(qts, "{'execute': 'query-migrate'}");
    QDict *ret = qdict_get_qdict(r, "return");
    int64_t bytes = 0;

    if (qdict_haskey(ret, "ram")) {
        bytes = qdict_get_int(qdict_get_qdict(ret, "ram"), "transferred");
    }
    qobject_unref(r);
    return bytes;
}

static void set_bandwidth(QTestState *qts, int64_t bytes_per_second)
{
    qtest_qmp_assert_success(qts, "{'execute': 'migrate-set-parameters',"
                             "'arguments': {'max-bandwidth': %" PRId64 "}}",
                             bytes_per_second);
}

static bool is_running(QTestState *qts)
{
    QDict *r = qtest_qmp(qts, "{'execute': 'query-status'}");
    bool running = qdict_get_bool(qdict_get_qdict(r, "return"), "running");

    qobject_unref(r);
    return running;
}

static void migrate_start(QTestState *from, QTestState *to)
{
    g_autofree char *uri = g_strdup_printf("unix:%s/migrate", dir);

    qtest_qmp_assert_success(to, "{'execute': 'migrate-incoming',"
                             "'arguments': {'uri': %s,"
                             "'exit-on-error': false}}", uri);
    qtest_qmp_assert_success(from, "{'execute': 'migrate',"
                             "'arguments': {'uri': %s}}", uri);
}

/* Waits for the end of a migration; returns whether it was completed. */
static bool migrate_wait(QTestState *from, QTestState *to)
{
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

    while (g_get_monotonic_time() < end) {
        g_autofree char *a = migration_status(from);
        g_autofree char *b = migration_status(to);

        if (!strcmp(a, "failed") || !strcmp(b, "failed")) {
            return false;
        }
        if (!strcmp(a, "completed") && !strcmp(b, "completed")) {
            return true;
        }
        g_usleep(2000);
    }
    g_assert_not_reached();
}

static void migrate(QTestState *from, QTestState *to)
{
    migrate_start(from, to);
    g_assert_true(migrate_wait(from, to));
}

static void stop_vm(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{'execute': 'stop'}");
}

static void resume_vm(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{'execute': 'cont'}");
    g_assert_true(is_running(qts));
}

/* --- registers ------------------------------------------------------------ */

static void read_range(TqChip *c, GArray *a, uint64_t base, uint32_t from,
                       uint32_t to)
{
    for (; from < to; from += 4) {
        uint32_t v = qtest_readl(c->qts, base + from);

        g_array_append_val(a, v);
    }
}

/* All that software set or can see; not what counts by itself. */
static GArray *read_all(TqChip *c)
{
    static const unsigned engines[] = { 0, 5, 77, 128, 131 };
    GArray *a = g_array_new(false, false, 4);
    unsigned i, q;

    for (i = 0; i < ARRAY_SIZE(engines); i++) {
        uint64_t b = c->bar0 + tq_engine(engines[i]);

        read_range(c, a, b, 0x100, 0x700);
        read_range(c, a, b, 0x20100, 0x20400);
        for (q = 0; q < 16; q++) {
            read_range(c, a, b + 0x1000 + q * 0x1000, 0x20, 0xc0);
            read_range(c, a, b + 0x21000 + q * 0x1000, 0x20, 0x80);
        }
        read_range(c, a, b, 0x38000, 0x38100);
        read_range(c, a, b, 0x3a000, 0x3a0c0);
        read_range(c, a, b, 0x3a300, 0x3a304);
        read_range(c, a, b, 0x3ad00, 0x3b340);
        read_range(c, a, b, 0x3b460, 0x3b470);
        read_range(c, a, b, 0x3c400, 0x3c800);
        read_range(c, a, b, 0x40000, 0x40110);
        read_range(c, a, b, 0x40800, 0x40804);
        read_range(c, a, b, 0x41100, 0x41200);
    }
    for (i = 0; i < 128; i += 51) {
        read_range(c, a, c->bar0 + tq_fis(i), 0x80, 0x100);
    }
    for (i = 0; i < 8; i += 3) {
        uint64_t b = c->bar0 + 0xd0000000 + i * 0x4000000 + 0x2700000;

        read_range(c, a, b, 0, 0x400);
        read_range(c, a, b, 0x1000, 0x1400);
    }
    read_range(c, a, c->bar0 + 0xf0000000, 0x1000, 0x1400);
    read_range(c, a, c->bar0 + 0xf4400000, 0, 0x400);
    read_range(c, a, c->bar0 + 0x06001000, 0x100, 0x1f0);
    read_range(c, a, c->bar0 + 0x06a00000, 0x100, 0x1f0);
    read_range(c, a, c->bar0 + 0x06c84000, 0xc0, 0x1f0);
    read_range(c, a, c->bar2, 0x00, 0x40);
    read_range(c, a, c->bar2, 0x4000, 0x4400);
    read_range(c, a, c->bar2, 0xc000, 0xc200);
    read_range(c, a, c->bar2, 0xd000, 0xd008);
    return a;
}

/* A value of its own for everything that keeps one */
static void set_all(TqChip *c)
{
    static const unsigned engines[] = { 0, 5, 77, 128, 131 };
    uint32_t v = 0x10000;
    unsigned i, q;
    uint32_t off;

    for (i = 0; i < ARRAY_SIZE(engines); i++) {
        unsigned e = engines[i];

        tq_init_engine(c, e);
        for (off = 0x100; off < 0x400; off += 4) {
            if (off != 0x200 && off != 0x204) {
                tq_ewrite(c, e, off, v++);
                tq_ewrite(c, e, 0x20000 + off, v++);
            }
        }
        for (q = 0; q < 16; q++) {
            uint32_t m = 0x1000 + q * 0x1000, s = 0x21000 + q * 0x1000;

            /* paused, with something in the rings */
            tq_ewrite(c, e, m + 0x20, 0x03000000);
            tq_ewrite(c, e, s + 0x20, 0x03000000);
            tq_ewrite(c, e, m + 0x28, v++ << 8);
            tq_ewrite(c, e, m + 0x2c, 0x4000 + q);
            tq_ewrite(c, e, m + 0x30, 64 + q * 16);
            tq_ewrite(c, e, s + 0x30, 80 + q * 16);
            tq_ewrite(c, e, s + 0x28, v++ << 8);
            tq_ewrite(c, e, m + 0x38, q + 1);
            tq_ewrite(c, e, s + 0x38, q + 30);
            tq_ewrite(c, e, m + 0x44, v++ << 8);
            tq_ewrite(c, e, m + 0x74, 3);
        }
        for (off = 0x10; off <= 0x38; off += 8) {
            static const uint32_t group[] = {
                0x38000, 0x38040, 0x38080, 0x380c0, 0x3a000, 0x3a040, 0x3a080,
                0x3ad00, 0x3b300,
            };
            unsigned g;

            for (g = 0; g < ARRAY_SIZE(group); g++) {
                if (off != 0x18 && off != 0x28) {
                    tq_ewrite(c, e, group[g] + off, v++ | 0xffff0000);
                }
                tq_ewrite(c, e, group[g] + 0x08, 1u << g);
            }
        }
        tq_ewrite(c, e, 0x3b464, v++);
        tq_ewrite(c, e, 0x40104, v++);
        tq_ewrite(c, e, 0x41100, v++ << 8);
        tq_ewrite(c, e, 0x41108, 0x1000);
    }
    tq_ewrite(c, 77, 0x204, 4);             /* in abort */
    for (q = 0; q < 16; q++) {              /* half way out of it */
        tq_ewrite(c, 77, 0x10b0 + q * 0x1000, 0x100);
    }
    tq_write(c, tq_fis(51) + 0xb0, v++);
    for (i = 0; i < 8; i++) {
        uint64_t b = 0xd0000000 + i * 0x4000000 + 0x2700000;

        tq_write(c, b + i * 4, 1);
        tq_write(c, b + 0x1400 + i * 12, v++);
    }
    tq_write(c, 0xf0000000 + 0x1400, v++);
    tq_write(c, 0xf4400000 + 4, 1);
    tq_write(c, 0x06001100, v++);
    tq_write(c, 0x06a00128, v++);
    tq_misc_write(c, 0xc4, v++);
    tq_misc_write(c, 0x1a0, v++);
    tq_xwrite(c, 0x20, 0x12345800);
    tq_xwrite(c, 0x24, 0x4000);
    for (i = 0; i < 256; i++) {
        tq_xwrite(c, 0x4000 + i * 4, i);
        if (i < 128) {
            tq_xwrite(c, 0xc000 + i * 4, v++ & ~3u);
        }
    }
}

static void test_registers(void)
{
    g_autoptr(GArray) before = NULL;
    g_autoptr(GArray) after = NULL;
    g_autoptr(GArray) fresh = NULL;
    QTestState *qts;
    unsigned i, changed = 0;
    TqChip c, d;

    start_pair(&c, &qts, "hbm-size=1G");
    fresh = read_all(&c);
    set_all(&c);
    stop_vm(c.qts);
    before = read_all(&c);
    migrate(c.qts, qts);
    tq_adopt(&d, &c, qts);
    after = read_all(&d);
    g_assert_cmpint(before->len, ==, after->len);
    for (i = 0; i < before->len; i++) {
        uint32_t b = g_array_index(before, uint32_t, i);
        uint32_t a = g_array_index(after, uint32_t, i);

        if (a != b) {
            g_test_message("register %u of %u", i, before->len);
        }
        g_assert_cmphex(a, ==, b);
        changed += b != g_array_index(fresh, uint32_t, i);
    }
    /* the comparison is one of values that were set */
    g_assert_cmpint(changed, >, 1000);
    /* the other half */
    for (i = 0; i < 16; i++) {
        g_assert_cmphex(tq_ereg(&d, 77, 0x200) & 0x3333, ==, 0x2222);
        tq_ewrite(&d, 77, 0x21064 + i * 0x1000, 0x100);
        tq_ewrite(&d, 77, 0x204, 1);
    }
    g_assert_cmphex(tq_ereg(&d, 77, 0x200) & 0x3333, ==, 0x1111);
    tq_stop(&c);
    tq_stop(&d);
}

/* --- contents ------------------------------------------------------------- */

static int64_t committed(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", qtest_pid(qts));
    GDir *d = g_dir_open(path, 0, NULL);
    const char *name;
    int64_t bytes = 0;

    while ((name = g_dir_read_name(d))) {
        g_autofree char *fd = g_build_filename(path, name, NULL);
        g_autofree char *to = g_file_read_link(fd, NULL);
        struct stat st;

        if (to && g_str_has_prefix(to, "/memfd:trainium") && !stat(fd, &st)) {
            bytes += st.st_blocks * 512ll;
        }
    }
    g_dir_close(d);
    return bytes;
}

/* Places with contents: by BAR4, by DMA, at the ends, in other memories */
static void for_places(TqChip *c, void (*fn)(TqChip *c, TqQueue *q,
                                             uint64_t axi, uint32_t seed))
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(9);
    TqQueue q;
    unsigned i;

    tq_init_engine(c, 128);
    tq_init_queue(&q, c, 128, 0, 1024);
    for (i = 0; i < 40; i++) {
        uint64_t at = tq_hbm(i % 4) + g_rand_int_range(rand, 0, 255) * MIB +
                      g_rand_int_range(rand, 0, 1000);

        fn(c, &q, at, i);
    }
    for (i = 0; i < 4; i++) {
        fn(c, &q, tq_hbm(i) + 256 * MIB - 3000, 100 + i);
        fn(c, &q, tq_hbm(i) + 0x1200000000 + 0x34bf000, 110 + i);
        fn(c, &q, tq_hbm(i) + 0x2000000000 + 0x1000, 120 + i);
        fn(c, &q, tq_hbm(i) + 0x3000000000 + 0x1fff000, 130 + i);
    }
}

static void put_place(TqChip *c, TqQueue *q, uint64_t axi, uint32_t seed)
{
    uint64_t host = TQ_HOST | tq_alloc(c, 4096, 4096);
    uint8_t buf[3000];

    tq_fill_random(buf, sizeof(buf), seed);
    tq_put(c, host, buf, sizeof(buf));
    tq_copy(q, axi, host, sizeof(buf));
    tq_finish(q);
}

static void check_place(TqChip *c, TqQueue *q, uint64_t axi, uint32_t seed)
{
    uint64_t host = TQ_HOST | tq_alloc(c, 4096, 4096);
    uint8_t buf[3000];

    tq_fill_random(buf, sizeof(buf), seed);
    tq_copy(q, host, axi, sizeof(buf));
    tq_finish(q);
    tq_check(c, host, buf, sizeof(buf));
}

static void test_contents(void)
{
    int64_t before, after;
    QTestState *qts;
    TqChip c, d;

    start_pair(&c, &qts, "hbm-size=1G");
    for_places(&c, put_place);
    /* what the CPU wrote through BAR4 alone */
    qtest_writel(c.qts, c.bar4 + 0x7654320, 0xcafe1234);
    migrate(c.qts, qts);
    tq_adopt(&d, &c, qts);
    d.heap = TQ_HEAP + 0x8000000;
    before = committed(c.qts);
    after = committed(d.qts);
    g_test_message("%" PRId64 " KiB, then %" PRId64, before / 1024,
                   after / 1024);
    g_assert_cmpint(after, <, before + MIB);
    g_assert_cmphex(qtest_readl(d.qts, d.bar4 + 0x7654320), ==, 0xcafe1234);
    g_assert_cmphex(qtest_readl(d.qts, d.bar4 + 0x7654324), ==, 0);
    for_places(&d, check_place);
    tq_stop(&c);
    tq_stop(&d);
}

/* 96 GiB nobody used are no reason to wait. */
static void test_untouched(void)
{
    gint64 start;
    QTestState *qts;
    TqChip c;

    start_pair(&c, &qts, NULL);
    start = g_get_monotonic_time();
    migrate(c.qts, qts);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 10 * G_USEC_PER_SEC);
    g_assert_cmpint(committed(qts), <, 16 * MIB);
    tq_stop(&c);
    qtest_quit(qts);
}

static void test_other_size(void)
{
    QTestState *to;
    TqChip c;

    tq_start(&c, "hbm-size=1G");
    to = start_qemu("hbm-size=2G", "-incoming defer");
    migrate_start(c.qts, to);
    g_assert_false(migrate_wait(c.qts, to));
    qtest_quit(to);
    tq_stop(&c);
}

/* --- DMA in flight -------------------------------------------------------- */

typedef struct Chain {
    TqQueue q;
    uint64_t host, dst;
    unsigned n;
} Chain;

/*
 * A chain in which each link reads what the one before it wrote, so that
 * nothing may be lost, done twice or in another order; and a marker.
 */
static void build_chain(Chain *h, TqChip *c, unsigned e, unsigned n)
{
    uint8_t buf[4096];
    unsigned i;

    tq_init_engine(c, e);
    tq_init_queue(&h->q, c, e, e % 14, 32768);
    h->n = n;
    h->host = TQ_HOST | tq_alloc(c, 4096, 4096);
    h->dst = TQ_HOST | tq_alloc(c, 4096, 4096);
    tq_fill_random(buf, sizeof(buf), e);
    tq_put(c, h->host, buf, sizeof(buf));
    tq_pair(&h->q, tq_hbm(e % 4) + e * MIB, h->host, 4096, 0, 0, 0);
    for (i = 0; i < n; i++) {
        uint64_t at = tq_hbm(e % 4) + e * MIB + i % 64 * 4096;
        uint64_t next = tq_hbm(e % 4) + e * MIB + (i + 1) % 64 * 4096;

        /* 64 KiB to somewhere, so that it takes its time */
        tq_pair(&h->q, tq_hbm(3) + 200 * MIB, tq_hbm(2) + 200 * MIB, 65536,
                0, 0, 0);
        tq_pair(&h->q, next, at, 4096, TQ_DMB, 0, 0);
    }
    tq_pair(&h->q, h->dst, tq_hbm(e % 4) + e * MIB + n % 64 * 4096, 4096,
            TQ_DMB, TQ_BARRIER, 0);
    tq_add_marker(&h->q);
    tq_flush(&h->q);
}

static void finish_chain(Chain *h, TqChip *c)
{
    uint8_t buf[4096];

    tq_wait(c, h->q.mark + 4, TQ_MARK);
    tq_fill_random(buf, sizeof(buf), h->q.engine);
    tq_check(c, h->dst, buf, sizeof(buf));
    g_assert_cmphex(tq_ereg(c, h->q.engine, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(c, h->q.engine, 0x3a040), ==, 0);
}

static void in_flight(const char *props, unsigned n)
{
    QTestState *qts;
    uint32_t left;
    TqChip c, d;
    Chain h[2];

    start_pair(&c, &qts, props);
    /* something for the long copies to move */
    qtest_memset(c.qts, tq_phys(&c, tq_hbm(2) + 200 * MIB), 0x42, 65536);
    build_chain(&h[0], &c, 128, n);
    build_chain(&h[1], &c, 6, n);
    tq_kick(&h[1].q);
    tq_kick(&h[0].q);
    qtest_clock_step(c.qts, 1000);
    stop_vm(c.qts);
    left = tq_read(&c, tq_m2s_reg(&h[0].q, 0x24)) & 0x1ffffff;
    g_test_message("%u of %u descriptors are left", left, 2 * n + 3);
    g_assert_cmpint(left, >, n / 2);
    migrate(c.qts, qts);
    g_assert_false(tq_marker_seen(&h[0].q));
    tq_adopt(&d, &c, qts);
    g_assert_cmpint(tq_read(&d, tq_m2s_reg(&h[0].q, 0x24)) & 0x1ffffff, ==,
                    left);
    resume_vm(qts);
    finish_chain(&h[0], &d);
    finish_chain(&h[1], &d);
    /* and on it goes with the same rings */
    h[0].q.c = &d;
    tq_finish(&h[0].q);
    tq_stop(&c);
    tq_stop(&d);
}

static void test_in_flight(void)
{
    in_flight("hbm-size=1G", 15000);
}

static void test_in_flight_reorder(void)
{
    in_flight("hbm-size=1G,reorder=11", 300);
}

/*
 * The guest runs on while its memory is sent, and DMA writes to pages that
 * were sent already: they have to be sent again.
 */
static void test_live(void)
{
    const unsigned pages = 4096;
    g_autofree uint8_t *buf = g_malloc(4096);
    QTestState *qts;
    uint64_t host;
    unsigned i, k;
    TqChip c, d;
    TqQueue q;

    start_pair(&c, &qts, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 8192);
    host = tq_alloc(&c, pages * 4096ull, 4096);
    qtest_memset(c.qts, host, 0x11, pages * 4096ull);
    /* eight rounds of contents in HBM */
    for (i = 0; i < 8; i++) {
        tq_fill_random(buf, 4096, 100 + i);
        tq_put(&c, tq_hbm(1) + i * 4096, buf, 4096);
    }
    /* a good part of it is sent, then nearly nothing until DMA is through */
    set_bandwidth(c.qts, 20000000);
    migrate_start(c.qts, qts);
    while (transferred(c.qts) < 6000000) {
        g_usleep(2000);
    }
    set_bandwidth(c.qts, 100000);
    for (k = 0; k < 8; k++) {
        for (i = 0; i < pages; i++) {
            tq_pair(&q, TQ_HOST | (host + i * 4096), tq_hbm(1) + k * 4096,
                    4096, 0, TQ_BARRIER, 0);
        }
        tq_finish(&q);
        g_usleep(50000);
    }
    g_assert_true(is_running(c.qts));
    set_bandwidth(c.qts, 10000000000ll);
    g_assert_true(migrate_wait(c.qts, qts));
    tq_adopt(&d, &c, qts);
    tq_fill_random(buf, 4096, 107);
    for (i = 0; i < pages; i++) {
        tq_check(&d, TQ_HOST | (host + i * 4096), buf, 4096);
    }
    tq_stop(&c);
    tq_stop(&d);
}

/* An interrupt that waits for its vector's unmask arrives on the other side. */
static void test_interrupt(void)
{
    uint64_t msg;
    QTestState *qts;
    TqChip c, d;
    TqQueue q;

    start_pair(&c, &qts, "hbm-size=1G,msix-vectors=4");
    msg = tq_alloc(&c, 16, 16);
    tq_cfg_writew(&c, tq_find_cap(&c, 0x11) + 2, 0x8000);
    tq_xwrite(&c, 0xc020, msg);
    tq_xwrite(&c, 0xc024, 0);
    tq_xwrite(&c, 0xc028, 0x1234);
    tq_xwrite(&c, 0xc02c, 1);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    tq_xwrite(&c, 0x4000 + 128 * 128, 2);
    tq_ewrite(&c, 128, 0x38068, 0xc);
    tq_ewrite(&c, 128, 0x38058, 0xfffffffe);
    tq_pair(&q, tq_hbm(0), tq_hbm(1), 64, 0, 0, TQ_INT);
    tq_finish(&q);
    g_assert_cmphex(tq_xread(&c, 0xd000), ==, 4);
    migrate(c.qts, qts);
    tq_adopt(&d, &c, qts);
    g_assert_cmphex(qtest_readl(qts, msg), ==, 0);
    tq_xwrite(&d, 0xc02c, 0);
    g_assert_cmphex(qtest_readl(qts, msg), ==, 0x1234);
    qtest_writel(qts, msg, 0);
    q.c = &d;
    tq_pair(&q, tq_hbm(0), tq_hbm(1), 64, 0, 0, TQ_INT);
    tq_finish(&q);
    tq_wait(&d, msg, 0x1234);
    tq_stop(&c);
    tq_stop(&d);
}

/* --- snapshots ------------------------------------------------------------ */

static void wait_job(QTestState *qts, const char *id)
{
    for (;;) {
        QDict *r = qtest_qmp(qts, "{'execute': 'query-jobs'}"), *job = NULL;
        const QListEntry *e;

        QLIST_FOREACH_ENTRY(qdict_get_qlist(r, "return"), e) {
            QDict *j = qobject_to(QDict, qlist_entry_obj(e));

            if (!strcmp(qdict_get_str(j, "id"), id)) {
                job = j;
            }
        }
        g_assert_nonnull(job);
        if (!strcmp(qdict_get_str(job, "status"), "concluded")) {
            if (qdict_haskey(job, "error")) {
                g_test_message("%s: %s", id, qdict_get_str(job, "error"));
            }
            g_assert_false(qdict_haskey(job, "error"));
            qobject_unref(r);
            break;
        }
        qobject_unref(r);
        g_usleep(2000);
    }
    qtest_qmp_assert_success(qts, "{'execute': 'job-dismiss',"
                             "'arguments': {'id': %s}}", id);
}

static void snapshot(QTestState *qts, const char *command)
{
    qtest_qmp_assert_success(qts, "{'execute': %s, 'arguments': {"
                             "'job-id': 's', 'tag': 't', 'vmstate': 'disk',"
                             "'devices': ['disk']}}", command);
    wait_job(qts, "s");
}

static void add_disk(QTestState *qts)
{
    g_autofree char *file = g_strdup_printf("%s/disk", dir);
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    qtest_qmp_assert_success(qts, "{'execute': 'blockdev-add', 'arguments': {"
                             "'driver': 'file', 'node-name': 'file',"
                             "'filename': %s}}", file);
    qtest_qmp_assert_success(qts, "{'execute': 'blockdev-create', 'arguments':"
                             "{'job-id': 'c', 'options': {'driver': 'qcow2',"
                             "'file': 'file', 'size': 1048576}}}");
    wait_job(qts, "c");
    qtest_qmp_assert_success(qts, "{'execute': 'blockdev-add', 'arguments': {"
                             "'driver': 'qcow2', 'node-name': 'disk',"
                             "'file': 'file'}}");
}

static void test_snapshot(void)
{
    TqChip c;
    Chain h;
    int i;

    tq_start(&c, "hbm-size=1G");
    add_disk(c.qts);
    qtest_memset(c.qts, tq_phys(&c, tq_hbm(2) + 200 * MIB), 0x42, 65536);
    build_chain(&h, &c, 128, 15000);
    tq_kick(&h.q);
    stop_vm(c.qts);
    g_assert_cmpint(tq_read(&c, tq_m2s_reg(&h.q, 0x24)) & 0x1ffffff, >, 1000);
    snapshot(c.qts, "snapshot-save");
    for (i = 0; i < 2; i++) {
        resume_vm(c.qts);
        finish_chain(&h, &c);
        /* what is not in the snapshot is gone afterwards */
        qtest_memset(c.qts, tq_phys(&c, tq_hbm(3)), 0x99, 65536);
        stop_vm(c.qts);
        snapshot(c.qts, "snapshot-load");
        g_assert_cmphex(qtest_readl(c.qts, h.q.mark + 4), ==, 0);
        g_assert_cmphex(qtest_readl(c.qts, tq_phys(&c, tq_hbm(3))), ==, 0);
        g_assert_cmpint(tq_read(&c, tq_m2s_reg(&h.q, 0x24)) & 0x1ffffff, >,
                        1000);
    }
    resume_vm(c.qts);
    finish_chain(&h, &c);
    tq_stop(&c);
}

/* A queue that waits goes along, and is woken where it went. */
static void test_semaphore(void)
{
    uint64_t at;
    QTestState *to;
    TqChip c, d;
    TqQueue q;

    start_pair(&c, &to, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    at = tq_alloc(&c, 8, 8);
    qtest_writeq(c.qts, at, 2);
    tq_m2s(&q, TQ_HOST | at, 8, TQ_FIRST | TQ_LAST, 0x01b00003);
    tq_s2m(&q, tq_hbm(1), 8, 0);
    tq_kick(&q);
    tq_settle(&c);
    migrate(c.qts, to);
    tq_adopt(&d, &c, to);
    q.c = &d;
    tq_settle(&d);
    g_assert_cmphex(tq_read(&d, tq_m2s_reg(&q, 0x24)) & 0x1ffffff, !=, 0);
    qtest_writeq(to, tq_phys(&d, tq_hbm(1)), 3);
    tq_finish(&q);
    g_assert_cmpint(qtest_readq(to, tq_phys(&d, tq_hbm(1))), ==, 1);
    tq_stop(&c);
    tq_stop(&d);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *file = NULL, *sock = NULL;
    int ret;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("trainium-XXXXXX", &err);
    g_assert_no_error(err);
    qtest_add_func("trainium/migration/registers", test_registers);
    qtest_add_func("trainium/migration/contents", test_contents);
    qtest_add_func("trainium/migration/untouched", test_untouched);
    qtest_add_func("trainium/migration/other-size", test_other_size);
    qtest_add_func("trainium/migration/in-flight", test_in_flight);
    qtest_add_func("trainium/migration/in-flight-reorder",
                   test_in_flight_reorder);
    qtest_add_func("trainium/migration/live", test_live);
    qtest_add_func("trainium/migration/interrupt", test_interrupt);
    qtest_add_func("trainium/migration/snapshot", test_snapshot);
    qtest_add_func("trainium/migration/semaphore", test_semaphore);
    ret = g_test_run();
    file = g_strdup_printf("%s/disk", dir);
    sock = g_strdup_printf("%s/migrate", dir);
    unlink(file);
    unlink(sock);
    rmdir(dir);
    g_free(dir);
    return ret;
}
