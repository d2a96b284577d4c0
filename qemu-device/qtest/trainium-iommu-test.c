/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Behind an IOMMU: host addresses in descriptors, rings and the pending area
 * are translated, page by page, and only what is mapped can be reached.
 */
#include "qemu/osdep.h"
#include "trainium-qtest.h"

#define KIB 1024ull
#define PAGE 4096ull

/* Intel VT-d: registers at 0xfed90000, translation in legacy mode */
#define VTD 0xfed90000ull

/* Addresses the device uses: nothing in guest memory is there */
#define IOVA 0x4000000000ull

typedef struct Iommu {
    TqChip c;
    uint64_t level[3];                      /* tables, 512 entries each */
} Iommu;

static void command(QTestState *qts, uint32_t bits)
{
    qtest_writel(qts, VTD + 0x18, (qtest_readl(qts, VTD + 0x1c) &
                                   0x96ffffff) | bits);
    while (!(qtest_readl(qts, VTD + 0x1c) & bits)) {
        qtest_clock_step(qts, 1000);
    }
}

/* Forgets cached contexts and translations. */
static void invalidate(Iommu *t)
{
    qtest_writeq(t->c.qts, VTD + 0x28, 1ull << 63 | 1ull << 61);
    qtest_writeq(t->c.qts, VTD + 0xf8, 1ull << 63 | 1ull << 60);
}

/* One page: bit 0 of @flags reads, bit 1 writes; 0 takes it away. */
static void map_page(Iommu *t, uint64_t iova, uint64_t phys, unsigned flags)
{
    unsigned n = (iova - IOVA) / PAGE;

    g_assert_cmpint(n, <, 512);
    qtest_writeq(t->c.qts, t->level[2] + n * 8, phys | flags);
}

static void iommu_start(Iommu *t, const char *props)
{
    uint64_t root, context;
    TqChip *c = &t->c;
    unsigned i;

    tq_start_args(c, "-device intel-iommu", props);
    root = tq_alloc(c, PAGE, PAGE);
    context = tq_alloc(c, PAGE, PAGE);
    for (i = 0; i < 3; i++) {
        t->level[i] = tq_alloc(c, PAGE, PAGE);
    }
    qtest_writeq(c->qts, root, context | 1);
    /* 39 bits in three levels, domain 1 */
    qtest_writeq(c->qts, context + c->devfn * 16, t->level[0] | 1);
    qtest_writeq(c->qts, context + c->devfn * 16 + 8, 1 << 8 | 1);
    qtest_writeq(c->qts, t->level[0] + (IOVA >> 30 & 511) * 8,
                 t->level[1] | 3);
    qtest_writeq(c->qts, t->level[1] + (IOVA >> 21 & 511) * 8,
                 t->level[2] | 3);
    qtest_writeq(c->qts, VTD + 0x20, root);
    command(c->qts, 1u << 30);
    invalidate(t);
    command(c->qts, 1u << 31);
}

/* Scattered pages of memory, one after the other for the device */
static uint64_t map_scattered(Iommu *t, uint64_t iova, unsigned pages,
                              uint64_t phys[], unsigned flags)
{
    uint64_t base = tq_alloc(&t->c, pages * 3 * PAGE, PAGE);
    unsigned i;

    for (i = 0; i < pages; i++) {
        phys[i] = base + (i * 7 % pages * 3 + i % 3) * PAGE;
        map_page(t, iova + i * PAGE, phys[i], flags);
    }
    return TQ_HOST | iova;
}

static void put_scattered(Iommu *t, const uint64_t phys[], const uint8_t *buf,
                          unsigned pages)
{
    unsigned i;

    for (i = 0; i < pages; i++) {
        tq_put(&t->c, TQ_HOST | phys[i], buf + i * PAGE, PAGE);
    }
}

static void check_scattered(Iommu *t, const uint64_t phys[],
                            const uint8_t *buf, unsigned pages)
{
    unsigned i;

    for (i = 0; i < pages; i++) {
        tq_check(&t->c, TQ_HOST | phys[i], buf + i * PAGE, PAGE);
    }
}

/* Rings and marker in HBM: only data goes through the IOMMU. */
static void hbm_queue(Iommu *t, TqQueue *q)
{
    tq_init_engine(&t->c, 128);
    tq_init_queue_at(q, &t->c, 128, 0, 0x10000, 64, 0x20000, 64);
}

static void hbm_kick(Iommu *t, TqQueue *q)
{
    qtest_writel(t->c.qts, t->c.bar4 + 0x30000, TQ_MARK);
    qtest_writel(t->c.qts, t->c.bar4 + 0x30004, 0);
    tq_pair(q, 0x30004, 0x30000, 4, 0, 0, TQ_STRONG);
    tq_kick(q);
}

static void hbm_finish(Iommu *t, TqQueue *q)
{
    hbm_kick(t, q);
    tq_wait(&t->c, t->c.bar4 + 0x30004, TQ_MARK);
}

static void recover(Iommu *t, TqQueue *q)
{
    unsigned i;

    g_assert_cmphex(tq_ereg(&t->c, 128, 0x200) & 0x3333, ==, 0x2222);
    for (i = 0; i < 16; i++) {
        tq_ewrite(&t->c, 128, 0x10b0 + i * 0x1000, 0x100);
        tq_ewrite(&t->c, 128, 0x21064 + i * 0x1000, 0x100);
    }
    tq_ewrite(&t->c, 128, 0x3a000, 0);
    tq_ewrite(&t->c, 128, 0x3a040, 0);
    tq_ewrite(&t->c, 128, 0x204, 1);
    tq_ewrite(&t->c, 128, 0x20204, 1);
    hbm_queue(t, q);
}

/* The cause that a copy ends with; 0 when it went well */
static void copy_fails(Iommu *t, TqQueue *q, uint64_t dst, uint64_t src,
                       uint32_t len, uint32_t m2s, uint32_t s2m)
{
    tq_pair(q, dst, src, len, 0, TQ_BARRIER, 0);
    hbm_kick(t, q);
    tq_wait(&t->c, t->c.bar0 + tq_engine(128) + (m2s ? 0x3a000 : 0x3a040),
            m2s ?: s2m);
    tq_settle(&t->c);
    g_assert_cmphex(tq_ereg(&t->c, 128, 0x3a000), ==, m2s);
    g_assert_cmphex(tq_ereg(&t->c, 128, 0x3a040), ==, s2m);
    g_assert_cmphex(qtest_readl(t->c.qts, t->c.bar4 + 0x30004), ==, 0);
    recover(t, q);
}

static void translate(const char *props)
{
    g_autofree uint8_t *buf = g_malloc(64 * KIB), *back = g_malloc0(64 * KIB);
    uint64_t from[16], to[16], src, dst;
    Iommu t;
    TqQueue q;
    int i;

    iommu_start(&t, props);
    hbm_queue(&t, &q);
    src = map_scattered(&t, IOVA, 16, from, 1);
    dst = map_scattered(&t, IOVA + 0x20000, 16, to, 3);
    tq_fill_random(buf, 64 * KIB, 1);
    put_scattered(&t, from, buf, 16);
    tq_pair(&q, tq_hbm(1), src, 65536, 0, TQ_BARRIER, 0);
    tq_pair(&q, dst, tq_hbm(1), 65536, TQ_DMB, TQ_BARRIER, 0);
    hbm_finish(&t, &q);
    tq_check(&t.c, tq_hbm(1), buf, 64 * KIB);
    check_scattered(&t, to, buf, 16);

    /* over the ends of pages, host to host */
    put_scattered(&t, to, back, 16);
    for (i = 0; i < 15; i++) {
        uint32_t at = i * PAGE + 4000 - i, len = 200 + i * 3;

        tq_pair(&q, dst + at, src + at, len, 0, TQ_BARRIER, 0);
        memcpy(back + at, buf + at, len);
    }
    hbm_finish(&t, &q);
    check_scattered(&t, to, back, 16);
    tq_stop(&t.c);
}

static void test_translate(void)
{
    translate("hbm-size=1G");
}

static void test_translate_reorder(void)
{
    translate("hbm-size=1G,reorder=3");
}

/* Not mapped, or not for this: data AXI response, of the right side */
static void test_faults(void)
{
    uint64_t page, hole;
    Iommu t;
    TqQueue q;

    iommu_start(&t, "hbm-size=1G");
    hbm_queue(&t, &q);
    page = tq_alloc(&t.c, PAGE, PAGE);
    map_page(&t, IOVA, page, 3);
    map_page(&t, IOVA + PAGE, page, 1);             /* to read only */
    hole = TQ_HOST | (IOVA + 2 * PAGE);
    copy_fails(&t, &q, tq_hbm(1), hole, 64, 1u << 8, 0);
    copy_fails(&t, &q, hole, tq_hbm(1), 64, 0, 1u << 1);
    copy_fails(&t, &q, TQ_HOST | (IOVA + PAGE), tq_hbm(1), 64, 0, 1u << 1);
    /* the last byte is too far */
    copy_fails(&t, &q, tq_hbm(1), hole - 63, 64, 1u << 8, 0);
    /* a guest-physical address that is no IOVA */
    copy_fails(&t, &q, tq_hbm(1), TQ_HOST | page, 64, 1u << 8, 0);
    copy_fails(&t, &q, TQ_HOST | page, tq_hbm(1), 64, 0, 1u << 1);
    tq_pair(&q, TQ_HOST | IOVA, TQ_HOST | (IOVA + PAGE), 64, 0, TQ_BARRIER, 0);
    hbm_finish(&t, &q);
    tq_stop(&t.c);
}

/* What is taken away is out of reach; what moves is followed. */
static void test_remap(void)
{
    uint8_t one[PAGE], two[PAGE];
    uint64_t a, b;
    Iommu t;
    TqQueue q;
    int i;

    iommu_start(&t, "hbm-size=1G");
    hbm_queue(&t, &q);
    a = tq_alloc(&t.c, PAGE, PAGE);
    b = tq_alloc(&t.c, PAGE, PAGE);
    tq_fill_random(one, PAGE, 1);
    tq_fill_random(two, PAGE, 2);
    tq_put(&t.c, tq_hbm(1), one, PAGE);
    tq_put(&t.c, tq_hbm(2), two, PAGE);
    for (i = 0; i < 5; i++) {
        qtest_memset(t.c.qts, b, 0, PAGE);
        map_page(&t, IOVA, a, 3);
        invalidate(&t);
        tq_pair(&q, TQ_HOST | IOVA, tq_hbm(1), PAGE, 0, TQ_BARRIER, 0);
        hbm_finish(&t, &q);
        tq_check(&t.c, TQ_HOST | a, one, PAGE);

        map_page(&t, IOVA, b, 3);
        invalidate(&t);
        tq_pair(&q, TQ_HOST | IOVA, tq_hbm(2), PAGE, 0, TQ_BARRIER, 0);
        hbm_finish(&t, &q);
        tq_check(&t.c, TQ_HOST | a, one, PAGE);
        tq_check(&t.c, TQ_HOST | b, two, PAGE);

        map_page(&t, IOVA, 0, 0);
        invalidate(&t);
        copy_fails(&t, &q, TQ_HOST | IOVA, tq_hbm(1), 64, 0, 1u << 1);
        tq_check(&t.c, TQ_HOST | b, two, PAGE);
    }
    tq_stop(&t.c);
}

static void put_desc(Iommu *t, const uint64_t phys[], unsigned n,
                     uint32_t word0, uint32_t word1, uint64_t axi)
{
    uint64_t at = phys[n / 256] + n % 256 * 16;

    qtest_writel(t->c.qts, at, word0);
    qtest_writel(t->c.qts, at + 4, word1);
    qtest_writeq(t->c.qts, at + 8, axi);
}

/* Rings of two scattered pages each, around which descriptors go */
static void test_rings(void)
{
    uint64_t m2s[2], s2m[2], from, to;
    unsigned i, k, n = 0, rid = 1;
    Iommu t;
    TqQueue q;

    iommu_start(&t, "hbm-size=1G");
    tq_init_engine(&t.c, 128);
    from = map_scattered(&t, IOVA, 2, m2s, 1);
    to = map_scattered(&t, IOVA + 0x10000, 2, s2m, 1);
    tq_init_queue_at(&q, &t.c, 128, 0, from, 512, to, 512);
    for (i = 0; i < 12; i++) {
        for (k = 0; k < 150; k++) {
            put_desc(&t, m2s, n, 4 | TQ_FIRST | TQ_LAST | rid << 24,
                     TQ_COPY | TQ_BARRIER, tq_hbm(1));
            put_desc(&t, s2m, n, 4 | rid << 24, 0, tq_hbm(0) + 0x100000 + k * 4);
            if (++n == 512) {
                n = 0;
                rid = (rid + 1) & 3;
            }
        }
        qtest_writel(t.c.qts, t.c.bar4 + t.c.pitch, 0x1000 + i);
        tq_ring_s2m(&q, 150);
        tq_ring_m2s(&q, 150);
        tq_wait(&t.c, t.c.bar4 + 0x100000 + 149 * 4, 0x1000 + i);
        g_assert_cmphex(qtest_readl(t.c.qts, t.c.bar4 + 0x100000), ==,
                        0x1000 + i);
    }
    g_assert_cmphex(tq_ereg(&t.c, 128, 0x3a000), ==, 0);
    g_assert_cmphex(tq_ereg(&t.c, 128, 0x3a040), ==, 0);
    /* a ring that is not mapped any more: prefetch response */
    map_page(&t, IOVA, 0, 0);
    map_page(&t, IOVA + PAGE, 0, 0);
    invalidate(&t);
    tq_ring_s2m(&q, 1);
    tq_ring_m2s(&q, 1);
    tq_wait(&t.c, t.c.bar0 + tq_engine(128) + 0x3a000, 1u << 11);
    tq_stop(&t.c);
}

/* Pending area and message go through the IOMMU like everything else. */
static void test_interrupt(void)
{
    uint64_t area, msg;
    Iommu t;
    TqQueue q;

    iommu_start(&t, "hbm-size=1G,msix-vectors=2");
    hbm_queue(&t, &q);
    area = tq_alloc(&t.c, PAGE, PAGE);
    msg = tq_alloc(&t.c, PAGE, PAGE);
    map_page(&t, IOVA + 5 * PAGE, area, 3);
    map_page(&t, IOVA + 6 * PAGE, msg, 2);
    tq_xwrite(&t.c, 0x20, (uint32_t)(IOVA + 5 * PAGE));
    tq_xwrite(&t.c, 0x24, (TQ_HOST | IOVA) >> 32);
    tq_xwrite(&t.c, 0xc000, (uint32_t)(IOVA + 6 * PAGE));
    tq_xwrite(&t.c, 0xc004, IOVA >> 32);
    tq_xwrite(&t.c, 0xc008, 0x4321);
    tq_xwrite(&t.c, 0xc00c, 0);
    tq_cfg_writew(&t.c, tq_find_cap(&t.c, 0x11) + 2, 0x8000);
    tq_ewrite(&t.c, 128, 0x38068, 0xc);
    tq_ewrite(&t.c, 128, 0x38058, 0xfffffffe);
    tq_pair(&q, tq_hbm(0), tq_hbm(1), 64, 0, 0, TQ_INT);
    hbm_finish(&t, &q);
    tq_wait(&t.c, msg, 0x4321);
    g_assert_cmphex(qtest_readl(t.c.qts, area + 16), ==, 1);
    g_assert_cmphex(qtest_readl(t.c.qts, area + 0x40 + 128 * 4), ==, 1);
    tq_stop(&t.c);
}

/* A semaphore in a page of the host, waited for and raised */
static void test_semaphore(void)
{
    uint64_t page, at = TQ_HOST | (IOVA + 7 * PAGE + 16);
    Iommu t;
    TqQueue q;

    iommu_start(&t, NULL);
    hbm_queue(&t, &q);
    page = tq_alloc(&t.c, PAGE, PAGE);
    map_page(&t, IOVA + 7 * PAGE, page, 3);
    qtest_writeq(t.c.qts, t.c.bar4 + 0x40000, 3);
    tq_m2s(&q, 0x40000, 8, TQ_FIRST | TQ_LAST, 0x01b00003);
    tq_s2m(&q, at, 8, 0);
    tq_kick(&q);
    tq_settle(&t.c);
    g_assert_cmphex(tq_read(&t.c, tq_m2s_reg(&q, 0x24)), !=, 0);
    qtest_writeq(t.c.qts, page + 16, 4);
    tq_m2s(&q, 0x40000, 8, TQ_FIRST | TQ_LAST, 0x00300003);
    tq_s2m(&q, at, 8, 0);
    hbm_finish(&t, &q);
    g_assert_cmpint(qtest_readq(t.c.qts, page + 16), ==, 4);

    /* the page goes while somebody waits */
    tq_m2s(&q, 0x40000, 8, TQ_FIRST | TQ_LAST, 0x01b00003);
    tq_s2m(&q, at, 8, 0);
    tq_m2s(&q, 0x40000, 8, TQ_FIRST | TQ_LAST, 0x01b00003);
    tq_s2m(&q, at, 8, 0);
    tq_kick(&q);
    tq_settle(&t.c);
    g_assert_cmpint(qtest_readq(t.c.qts, page + 16), ==, 1);
    map_page(&t, IOVA + 7 * PAGE, 0, 0);
    invalidate(&t);
    tq_wait(&t.c, t.c.bar0 + tq_engine(128) + 0x3a040, 1u << 1);
    recover(&t, &q);
    tq_stop(&t.c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/iommu/translate", test_translate);
    qtest_add_func("trainium/iommu/translate-reorder", test_translate_reorder);
    qtest_add_func("trainium/iommu/faults", test_faults);
    qtest_add_func("trainium/iommu/remap", test_remap);
    qtest_add_func("trainium/iommu/rings", test_rings);
    qtest_add_func("trainium/iommu/interrupt", test_interrupt);
    qtest_add_func("trainium/iommu/semaphore", test_semaphore);
    return g_test_run();
}
