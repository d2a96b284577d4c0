/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HBM: one memory for DMA and BAR4, its size, and what it costs the host. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* Resident memory of QEMU, in MiB */
static int64_t resident(TqChip *c)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/statm",
                                            qtest_pid(c->qts));
    g_autofree char *text = NULL;
    unsigned long long size, rss;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%llu %llu", &size, &rss), ==, 2);
    return rss * qemu_real_host_page_size() / MIB;
}

/* Pages the files behind HBM and its like hold, mapped or not, in MiB */
static int64_t committed(TqChip *c)
{
    g_autofree char *dir = g_strdup_printf("/proc/%d/fd", qtest_pid(c->qts));
    GDir *d = g_dir_open(dir, 0, NULL);
    const char *name;
    int64_t bytes = 0;
    unsigned found = 0;

    g_assert_nonnull(d);
    while ((name = g_dir_read_name(d))) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_autofree char *to = g_file_read_link(path, NULL);
        struct stat st;

        if (to && g_str_has_prefix(to, "/memfd:trainium") && !stat(path, &st)) {
            bytes += st.st_blocks * 512ll;
            found++;
        }
    }
    g_dir_close(d);
    g_assert_cmpint(found, >=, 4);
    return bytes / MIB;
}

/* Access of every width through BAR4, DMA in between */
static void test_bar4(void)
{
    unsigned stack;
    TqChip c;
    TqQueue q;
    uint64_t host;

    tq_start(&c, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 64);
    host = tq_alloc(&c, 4096, 4096);
    for (stack = 0; stack < 4; stack++) {
        /* 64 GiB pitch, 24 GiB each */
        uint64_t bar = c.bar4 + stack * 64 * GIB + 24 * GIB - 64;
        uint64_t axi = tq_hbm(stack) + 24 * GIB - 64;

        qtest_writeb(c.qts, bar, 0x11);
        qtest_writew(c.qts, bar + 2, 0x2222);
        qtest_writel(c.qts, bar + 4, 0x33333333);
        qtest_writeq(c.qts, bar + 8, 0x4444444444444444ull);
        tq_pair(&q, TQ_HOST | host, axi, 64, 0, TQ_BARRIER, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readq(c.qts, host), ==, 0x3333333322220011ull);
        g_assert_cmphex(qtest_readq(c.qts, host + 8), ==,
                        0x4444444444444444ull);
        g_assert_cmphex(qtest_readq(c.qts, host + 56), ==, 0);
        qtest_writeq(c.qts, host + 16, 0x123456789abcdef0ull + stack);
        tq_pair(&q, axi + 16, TQ_HOST | (host + 16), 8, 0, TQ_BARRIER, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readq(c.qts, bar + 16), ==,
                        0x123456789abcdef0ull + stack);
    }
    /* stacks are four memories */
    for (stack = 0; stack < 4; stack++) {
        g_assert_cmphex(qtest_readq(c.qts, c.bar4 + stack * 64 * GIB +
                                    24 * GIB - 48), ==,
                        0x123456789abcdef0ull + stack);
    }
    /* behind a stack its window is empty, and writing there does nothing */
    qtest_writel(c.qts, c.bar4 + 24 * GIB, 0x55555555);
    g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 24 * GIB), !=, 0x55555555);
    g_assert_cmphex(qtest_readl(c.qts, c.bar4 + 64 * GIB), ==, 0);
    tq_stop(&c);
}

/* A smaller chip: same addresses inside, BAR4 in four equal parts. */
static void test_hbm_size(void)
{
    unsigned stack;
    TqChip c;
    TqQueue q;

    tq_start(&c, "hbm-size=1G");
    g_assert_cmphex(c.pitch, ==, 256 * MIB);
    tq_init_engine(&c, 129);
    for (stack = 0; stack < 4; stack++) {
        uint64_t last = tq_hbm(stack) + 256 * MIB - 4;

        tq_init_queue(&q, &c, 129, stack, 32);
        tq_copy(&q, last, TQ_HOST | q.mark, 4);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, c.bar4 + (stack + 1) * 256 * MIB - 4),
                        ==, TQ_MARK);
    }
    /* one byte more is an error: data AXI response */
    tq_pair(&q, tq_hbm(3) + 256 * MIB - 3, TQ_HOST | q.mark, 4, 0, 0, 0);
    tq_kick(&q);
    tq_wait(&c, c.bar0 + tq_engine(129) + 0x3a040, 2);
    tq_stop(&c);
}

/* A window that shows less than there is; DMA reaches all of it. */
static void test_bar4_size(void)
{
    unsigned stack;
    TqChip c;
    TqQueue q;

    tq_start(&c, "hbm-size=4G,bar4-size=1G");
    g_assert_cmphex(c.pitch, ==, 256 * MIB);
    tq_init_engine(&c, 130);
    tq_init_queue(&q, &c, 130, 0, 64);
    for (stack = 0; stack < 4; stack++) {
        uint64_t far = tq_hbm(stack) + GIB - 4;

        qtest_writel(c.qts, c.bar4 + stack * c.pitch + c.pitch - 4,
                     0x600d + stack);
        tq_pair(&q, far, tq_hbm(stack) + c.pitch - 4, 4, 0, 0, 0);
        tq_pair(&q, tq_hbm(stack) + 8, far, 4, TQ_DMB, 0, 0);
        tq_finish(&q);
        g_assert_cmphex(qtest_readl(c.qts, c.bar4 + stack * c.pitch + 8), ==,
                        0x600d + stack);
    }
    tq_stop(&c);
}

static void test_bad_size(void)
{
    static const char *const bad[] = {
        "1", "100M", "0x10000001", "97G", "1T", "0xfffffffffffffff",
    };
    QTestState *qts;
    unsigned i;

    qts = qtest_init("-machine q35 -nodefaults "
                     "-device pcie-root-port,id=rp,chassis=1");
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        QDict *r = qtest_qmp(qts, "{'execute': 'device_add', 'arguments': {"
                             "'driver': 'trainium2', 'bus': 'rp',"
                             "'hbm-size': %s}}", bad[i]);

        g_test_message("hbm-size=%s", bad[i]);
        g_assert_true(qdict_haskey(r, "error"));
        qobject_unref(r);
    }
    qtest_quit(qts);
}

/*
 * Zeros over the whole chip, as software does before it hands out memory:
 * from the host, and from zeros in HBM.
 */
static void zero_fill(const char *props, uint64_t stack_size, bool from_host)
{
    int64_t rss, file;
    unsigned stack, from_hbm;
    uint64_t zeros, host;
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, props);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 65536);
    zeros = TQ_HOST | tq_alloc(&c, 64 * KIB, 4096);
    host = TQ_HOST | tq_alloc(&c, 64 * KIB, 4096);
    memset(c.ram + (host & ~TQ_HOST), 0x77, 64 * KIB);
    /* some data in the way */
    for (stack = 0; stack < 4; stack++) {
        tq_copy(&q, tq_hbm(stack) + 3 * MIB + 5000, host, 40000);
    }
    tq_finish(&q);
    rss = resident(&c);
    file = committed(&c);

    for (from_hbm = !from_host; from_hbm < 2; from_hbm++) {
        for (stack = 0; stack < 4; stack++) {
            uint64_t src = from_hbm ? tq_hbm((stack + 1) % 4) + 8 * MIB : zeros;
            uint64_t at;

            for (at = 0; at < stack_size; at += 64 * KIB) {
                tq_pair(&q, tq_hbm(stack) + at, src, 65536, 0, TQ_BARRIER, 0);
                /* all over the other stack, but not where the data is */
                if (from_hbm && at < stack_size - 16 * MIB) {
                    src += 64 * KIB;
                }
                if (q.m2s.fresh == 60000) {
                    tq_finish(&q);
                    g_assert_cmpint(committed(&c) - file, <, 64);
                }
            }
        }
        tq_finish(&q);
        g_test_message("resident %+" PRId64 " MiB, files %+" PRId64 " MiB",
                       resident(&c) - rss, committed(&c) - file);
        g_assert_cmpint(resident(&c) - rss, <, 64);
        g_assert_cmpint(committed(&c) - file, <, 64);
    }
    for (stack = 0; stack < 4; stack++) {
        tq_pair(&q, host, tq_hbm(stack) + 3 * MIB, 65536, 0, TQ_BARRIER, 0);
        tq_finish(&q);
        g_assert_cmpint(memcmp(c.ram + (host & ~TQ_HOST),
                               c.ram + (zeros & ~TQ_HOST), 64 * KIB), ==, 0);
    }
    tq_stop(&c);
}

static void test_zero_fill(void)
{
    zero_fill("hbm-size=16G", 4 * GIB, true);
}

static void test_zero_fill_chip(void)
{
    zero_fill(NULL, 24 * GIB, false);
}

static void test_zero_fill_chip_host(void)
{
    zero_fill(NULL, 24 * GIB, true);
}

/* What nobody wrote reads as zeros, and reading it is free. */
static void test_read_holes(void)
{
    uint64_t host, at;
    int64_t rss, file;
    unsigned i;
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, NULL);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 65536);
    host = tq_alloc(&c, MIB, 4096);
    memset(c.ram + host, 0x55, MIB);
    rss = resident(&c);
    file = committed(&c);
    for (at = 0; at < 2 * GIB; at += 64 * KIB) {
        tq_pair(&q, TQ_HOST | (host + at % MIB), tq_hbm(1) + at, 65536, 0,
                TQ_BARRIER, 0);
    }
    tq_finish(&q);
    for (i = 0; i < MIB; i++) {
        g_assert_cmphex(c.ram[host + i], ==, 0);
    }
    g_assert_cmpint(resident(&c) - rss, <, 64);
    g_assert_cmpint(committed(&c) - file, <, 64);
    tq_stop(&c);
}

/* Zeros over data: they are zeros, and what is beside them stays. */
static void test_zero_data(void)
{
    g_autofree uint8_t *buf = g_malloc(64 * KIB);
    uint64_t zeros, data, at, dev = tq_hbm(2) + 64 * MIB;
    int64_t before, full;
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, "hbm-size=4G");
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 8192);
    zeros = TQ_HOST | tq_alloc(&c, 64 * KIB, 4096);
    data = TQ_HOST | tq_alloc(&c, 64 * KIB, 4096);
    tq_fill_random(buf, 64 * KIB, 1);
    tq_put(&c, data, buf, 64 * KIB);
    before = committed(&c);
    for (at = 0; at < 128 * MIB; at += 64 * KIB) {
        tq_copy(&q, dev + at, data, 64 * KIB);
    }
    tq_finish(&q);
    full = committed(&c);
    /* this is how the other tests see memory that is used */
    g_assert_cmpint(full - before, >=, 127);
    g_assert_cmpint(resident(&c), >=, 128);
    /* all but the first and the last 64 KiB */
    for (at = 64 * KIB; at < 128 * MIB - 64 * KIB; at += 64 * KIB) {
        tq_copy(&q, dev + at, zeros, 64 * KIB);
    }
    tq_finish(&q);
    g_assert_cmpint(committed(&c), <=, full);
    tq_check(&c, dev, buf, 64 * KIB);
    tq_check(&c, dev + 128 * MIB - 64 * KIB, buf, 64 * KIB);
    memset(buf, 0, 64 * KIB);
    for (at = 64 * KIB; at < 128 * MIB - 64 * KIB; at += 7 * MIB) {
        tq_check(&c, dev + at, buf, 64 * KIB);
    }
    tq_stop(&c);
}

/* Zeros by odd sizes and offsets, over data and over nothing */
static void test_zero_odd(void)
{
    const uint64_t size = 4 * MIB;
    g_autofree uint8_t *shadow = g_malloc0(size);
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    uint64_t zeros, data, dev = tq_hbm(0) + 2 * MIB;
    TqChip c;
    TqQueue q;
    int i;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 2048);
    zeros = TQ_HOST | tq_alloc(&c, 64 * KIB, 4096);
    data = tq_alloc(&c, 64 * KIB, 4096);
    tq_fill_random(c.ram + data, 64 * KIB, 2);
    for (i = 0; i < 900; i++) {
        uint32_t len = g_rand_int_range(rand, 1, 65537);
        uint32_t to = g_rand_int_range(rand, 0, size - len + 1);
        int what = g_rand_int_range(rand, 0, 4);

        if (what == 0) {
            tq_pair(&q, dev + to, TQ_HOST | data, len, 0, TQ_BARRIER, 0);
            memcpy(shadow + to, c.ram + data, len);
        } else if (what == 1) {
            /* from a place in HBM that nobody touched */
            tq_pair(&q, dev + to, tq_hbm(3) + 77 * MIB + to, len, 0,
                    TQ_BARRIER, 0);
            memset(shadow + to, 0, len);
        } else {
            tq_pair(&q, dev + to, zeros, len, 0, TQ_BARRIER, 0);
            memset(shadow + to, 0, len);
        }
    }
    tq_finish(&q);
    tq_check(&c, dev, shadow, size);
    tq_stop(&c);
}

/* What an idle chip adds to QEMU's resident memory */
static void test_idle_rss(void)
{
    int64_t rss[2];
    unsigned i;

    for (i = 0; i < 2; i++) {
        TqChip c = {
            .qts = qtest_initf("-machine q35 -m 512 -nodefaults %s", i ?
                               "-device trainium2 -device trainium2 "
                               "-device trainium2 -device trainium2" : ""),
        };

        tq_step(&c);
        rss[i] = resident(&c);
        qtest_quit(c.qts);
    }
    g_test_message("%" PRId64 " MiB for four chips", rss[1] - rss[0]);
    g_assert_cmpint(rss[1] - rss[0], <=, 4 * 16);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/memory/bar4", test_bar4);
    qtest_add_func("trainium/memory/hbm-size", test_hbm_size);
    qtest_add_func("trainium/memory/bar4-size", test_bar4_size);
    qtest_add_func("trainium/memory/bad-size", test_bad_size);
    qtest_add_func("trainium/memory/zero-fill", test_zero_fill);
    qtest_add_func("trainium/memory/zero-fill-chip", test_zero_fill_chip);
    qtest_add_func("trainium/memory/read-holes", test_read_holes);
    qtest_add_func("trainium/memory/zero-data", test_zero_data);
    qtest_add_func("trainium/memory/zero-odd", test_zero_odd);
    qtest_add_func("trainium/memory/idle-rss", test_idle_rss);
    if (g_test_slow()) {
        qtest_add_func("trainium/memory/zero-fill-chip-host",
                       test_zero_fill_chip_host);
    }
    return g_test_run();
}
