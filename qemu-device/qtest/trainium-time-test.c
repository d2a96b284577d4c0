/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host time: nobody waits for a long copy. Model time: it is repeatable. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

/* --- liveness ------------------------------------------------------------- */

static void query_status(TqChip *c)
{
    QDict *r = qtest_qmp(c->qts, "{'execute': 'query-status'}");

    g_assert_true(qdict_haskey(r, "return"));
    qobject_unref(r);
}

/*
 * 8 GiB behind one doorbell. Registers and QMP answer meanwhile; how fast is
 * measured by the time of the whole copy, so that a slow host does no harm.
 */
static void test_liveness(void)
{
    g_autofree uint8_t *buf = g_malloc(MIB);
    gint64 start, now, worst = 0, total, doorbell;
    unsigned i, answers = 0;
    TqChip c;
    TqQueue q;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 1 << 18);
    tq_fill_random(buf, MIB, 1);
    tq_put(&c, tq_hbm(1), buf, MIB);
    for (i = 0; i < 8 * 1024 * 16; i++) {
        tq_pair(&q, tq_hbm(0) + i % 1024 * 65536, tq_hbm(1) + i % 16 * 65536,
                65536, 0, TQ_BARRIER, 0);
    }
    tq_add_marker(&q);
    tq_flush(&q);

    start = g_get_monotonic_time();
    tq_kick(&q);
    doorbell = g_get_monotonic_time() - start;
    for (now = start + doorbell; !tq_marker_seen(&q); answers++) {
        gint64 before = now;

        if (answers % 2) {
            g_assert_cmphex(tq_read(&c, 0x06c84024), <, 64);
        } else {
            query_status(&c);
        }
        now = g_get_monotonic_time();
        worst = MAX(worst, now - before);
        g_assert_cmpint(now - start, <, 120 * G_USEC_PER_SEC);
    }
    total = g_get_monotonic_time() - start;
    g_test_message("%" PRId64 " ms, doorbell %" PRId64 " us, %u answers, "
                   "slowest %" PRId64 " us", total / 1000, doorbell, answers,
                   worst);
    g_assert_cmpint(doorbell, <, total / 4);
    g_assert_cmpint(worst, <, total / 4);
    g_assert_cmpint(answers, >, 30);
    tq_check(&c, tq_hbm(0) + 63 * MIB, buf, MIB);
    tq_stop(&c);
}

/* A long copy on one queue does not starve a short one elsewhere. */
static void test_fairness(void)
{
    g_autofree uint8_t *buf = g_malloc(MIB);
    TqChip c;
    TqQueue lng, same, other;
    unsigned i;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 7);
    tq_init_queue(&lng, &c, 128, 0, 1 << 17);
    tq_init_queue(&same, &c, 128, 9, 64);
    tq_init_queue(&other, &c, 7, 2, 64);
    tq_fill_random(buf, MIB, 1);
    tq_put(&c, tq_hbm(1), buf, MIB);
    for (i = 0; i < 100000; i++) {
        tq_pair(&lng, tq_hbm(0) + i % 1024 * 65536,
                tq_hbm(1) + i % 16 * 65536, 65536, 0, 0, 0);
    }
    tq_kick(&lng);
    for (i = 0; i < 3; i++) {
        tq_copy(&same, tq_hbm(2), tq_hbm(1), MIB);
        tq_finish(&same);
        tq_copy(&other, tq_hbm(3), tq_hbm(1), MIB);
        tq_finish(&other);
    }
    /* most of the long one is still to be done */
    i = tq_read(&c, tq_m2s_reg(&lng, 0x24)) & 0x1ffffff;
    g_test_message("%u of 100000 left", i);
    g_assert_cmpint(i, >, 20000);
    tq_stop(&c);
}

/* Descriptors of a queue that were executed */
static unsigned executed(TqQueue *q, unsigned of)
{
    return of - (tq_read(q->c, tq_m2s_reg(q, 0x24)) & 0x1ffffff);
}

/* What two queues of an engine get done in the same time, in thousandths */
static unsigned share(uint32_t cfg, uint32_t weight_a, uint32_t weight_b)
{
    const unsigned n = 60000;
    g_autofree uint8_t *buf = g_malloc(MIB);
    unsigned i, done_a, done_b;
    TqQueue a, b;
    TqChip c;

    tq_start_shared(&c, NULL, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_ewrite(&c, 128, 0x340, cfg);
    tq_init_queue(&a, &c, 128, 3, 1 << 16);
    tq_init_queue(&b, &c, 128, 12, 1 << 16);
    tq_write(&c, tq_m2s_reg(&a, 0x88), weight_a);
    tq_write(&c, tq_m2s_reg(&b, 0x88), weight_b);
    tq_fill_random(buf, MIB, 1);
    tq_put(&c, tq_hbm(1), buf, MIB);
    for (i = 0; i < n; i++) {
        tq_pair(&a, tq_hbm(0) + i % 256 * 65536, tq_hbm(1) + i % 16 * 65536,
                65536, 0, 0, 0);
        tq_pair(&b, tq_hbm(2) + i % 256 * 65536, tq_hbm(1) + i % 16 * 65536,
                65536, 0, 0, 0);
    }
    tq_flush(&a);
    tq_flush(&b);
    tq_kick(&a);
    tq_kick(&b);
    /* From here on both have work. */
    done_a = executed(&a, n);
    done_b = executed(&b, n);
    do {
        tq_step(&c);
        i = executed(&b, n);
    } while (i < done_b + 4000 && executed(&a, n) < n);
    i = (executed(&a, n) - done_a) * 1000ull / MAX(i - done_b, 1);
    g_test_message("cfg 0x%x, weights %u and %u: %u/1000", cfg, weight_a,
                   weight_b, i);
    tq_stop(&c);
    return i;
}

/* Queues of an engine share it by their weights, if the scheduler is on. */
static void test_weights(void)
{
    unsigned n;

    n = share(0xb0001, 16, 16);
    g_assert_cmpint(n, >, 800);
    g_assert_cmpint(n, <, 1250);
    n = share(0xb0001, 64, 16);
    g_assert_cmpint(n, >, 3200);
    g_assert_cmpint(n, <, 5000);
    n = share(0xb0001, 4, 16);
    g_assert_cmpint(n, >, 200);
    g_assert_cmpint(n, <, 320);
    n = share(0xb0000, 64, 16);
    g_assert_cmpint(n, >, 800);
    g_assert_cmpint(n, <, 1250);
}

/* --- model clock ---------------------------------------------------------- */

static uint64_t model_clock(TqChip *c)
{
    uint64_t lo = tq_xread(c, 0x30);

    return (uint64_t)tq_xread(c, 0x34) << 32 | lo;
}

/* The same work takes the same modelled time, whatever the host did. */
static void clock_of_work(uint64_t t[4])
{
    TqChip c;
    TqQueue a, b;

    tq_start(&c, "hbm-size=1G");
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 129);
    tq_init_queue(&a, &c, 128, 0, 512);
    tq_init_queue(&b, &c, 129, 0, 512);
    g_assert_cmpint(model_clock(&c), ==, 0);
    tq_copy(&a, tq_hbm(0), tq_hbm(1), MIB);
    tq_finish(&a);
    t[0] = model_clock(&c);
    tq_copy(&a, tq_hbm(0), tq_hbm(1), 16 * MIB);
    tq_finish(&a);
    t[1] = model_clock(&c);
    /* another engine works beside it: no time is added */
    tq_copy(&b, tq_hbm(2), tq_hbm(3), MIB);
    tq_finish(&b);
    t[2] = model_clock(&c);
    tq_copy(&a, tq_hbm(0), tq_hbm(1), 64);
    tq_finish(&a);
    t[3] = model_clock(&c);
    tq_stop(&c);
}

static void test_clock(void)
{
    uint64_t one[4], two[4];

    clock_of_work(one);
    clock_of_work(two);
    g_test_message("%" PRIu64 " ns, %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                   one[0], one[1], one[2], one[3]);
    g_assert_cmpint(memcmp(one, two, sizeof(one)), ==, 0);
    g_assert_cmpint(one[0], >, 1000);
    /* 16 times the bytes: about 16 times as long */
    g_assert_cmpint(one[1] - one[0], >, 12 * one[0]);
    g_assert_cmpint(one[1] - one[0], <, 20 * one[0]);
    g_assert_cmpint(one[2], ==, one[1]);
    g_assert_cmpint(one[3], >, one[2]);
    g_assert_cmpint(one[3] - one[2], <, one[0]);
}

/* The time of an engine: by register, and by a copy from there */
static void test_engine_time(void)
{
    const uint64_t reg = 0x40ff0;
    uint64_t host, t[3] = {}, one, two;
    TqQueue a, b;
    TqChip c;
    unsigned i;

    tq_start(&c, "hbm-size=1G");
    g_assert_cmphex(tq_xread(&c, 0x08) & 0x20, ==, 0x20);
    tq_init_engine(&c, 128);
    tq_init_engine(&c, 7);
    tq_init_queue(&a, &c, 128, 0, 512);
    tq_init_queue(&b, &c, 7, 0, 512);
    host = tq_alloc(&c, sizeof(t), 64);
    g_assert_cmphex(tq_ereg(&c, 128, reg), ==, 0);
    for (i = 0; i < 3; i++) {
        tq_pair(&a, host + 8 * i, tq_engine_axi(128) + reg, 8, 0, 0, 0);
        if (i < 2) {
            tq_copy(&a, tq_hbm(0), tq_hbm(1), MIB << i);
        }
    }
    tq_finish(&a);
    tq_get(&c, host, t, sizeof(t));
    one = le64_to_cpu(t[1]) - le64_to_cpu(t[0]);
    two = le64_to_cpu(t[2]) - le64_to_cpu(t[1]);
    g_assert_cmpint(one, >, 1000);
    g_assert_cmpint(two, >, 19 * one / 10);
    g_assert_cmpint(two, <, 21 * one / 10);
    /* What another engine did is none of its business. */
    g_assert_cmpint(tq_ereg(&c, 128, reg), >=, le64_to_cpu(t[2]));
    g_assert_cmphex(tq_ereg(&c, 7, reg), ==, 0);
    tq_copy(&b, tq_hbm(2), tq_hbm(3), 64);
    tq_finish(&b);
    i = tq_ereg(&c, 7, reg);
    g_assert_cmpint(i, >, 0);
    g_assert_cmpint(i, <, le64_to_cpu(t[2]));
    tq_stop(&c);

    /* Without the extension it is a register like those around it. */
    tq_start(&c, "hbm-size=1G,ext=off");
    tq_ewrite(&c, 128, reg, 0x1234);
    g_assert_cmphex(tq_ereg(&c, 128, reg), ==, 0x1234);
    tq_stop(&c);
}

/* --- -icount -------------------------------------------------------------- */

/*
 * A guest of a few instructions, in a ROM of 64 KiB at the end of 4 GiB. It
 * takes its orders from memory at 0x8000:
 *
 *   0  address of a word to read until it is not 0xdeadbeef
 *   8  list of writes: 64-bit address, 32-bit value, 16 bytes each
 *  16  how many of them
 *  24  a register to read in each turn of the loop that waits for
 *  32  this word to become
 *  40  this value
 *  48  out: turns of that loop
 *  56  out: time stamp counter before it
 *  64  out: and after it
 *  72  out: 1
 */
static const uint8_t real_mode[] = {
    0xfa,                                       /* cli */
    0x2e, 0x66, 0x0f, 0x01, 0x16, 0x80, 0xff,   /* lgdtl %cs:0xff80 */
    0x0f, 0x20, 0xe0,                           /* mov %cr4,%eax */
    0x66, 0x83, 0xc8, 0x20,                     /* or $0x20,%eax (PAE) */
    0x0f, 0x22, 0xe0,                           /* mov %eax,%cr4 */
    0x66, 0xb8, 0x00, 0x00, 0xff, 0xff,         /* mov $0xffff0000,%eax */
    0x0f, 0x22, 0xd8,                           /* mov %eax,%cr3 */
    0x66, 0xb9, 0x80, 0x00, 0x00, 0xc0,         /* mov $0xc0000080,%ecx */
    0x0f, 0x32,                                 /* rdmsr */
    0x66, 0x0d, 0x00, 0x01, 0x00, 0x00,         /* or $0x100,%eax (LME) */
    0x0f, 0x30,                                 /* wrmsr */
    0x0f, 0x20, 0xc0,                           /* mov %cr0,%eax */
    0x66, 0x0d, 0x01, 0x00, 0x00, 0x80,         /* or $0x80000001,%eax */
    0x0f, 0x22, 0xc0,                           /* mov %eax,%cr0 */
    0x66, 0xea, 0x00, 0x30, 0xff, 0xff, 0x08, 0x00, /* ljmpl $8,$0xffff3000 */
};

static const uint8_t long_mode[] = {
    0xbb, 0x00, 0x80, 0x00, 0x00,               /* mov $0x8000,%ebx */
    0x48, 0x8b, 0x33,                           /* mov (%rbx),%rsi */
    0x8b, 0x06,                                 /* 1: mov (%rsi),%eax */
    0x3d, 0xef, 0xbe, 0xad, 0xde,               /* cmp $0xdeadbeef,%eax */
    0x74, 0xf7,                                 /* je 1b */
    0x48, 0x8b, 0x73, 0x08,                     /* mov 8(%rbx),%rsi */
    0x8b, 0x4b, 0x10,                           /* mov 16(%rbx),%ecx */
    0x48, 0x8b, 0x3e,                           /* 2: mov (%rsi),%rdi */
    0x8b, 0x46, 0x08,                           /* mov 8(%rsi),%eax */
    0x89, 0x07,                                 /* mov %eax,(%rdi) */
    0x48, 0x83, 0xc6, 0x10,                     /* add $16,%rsi */
    0xff, 0xc9,                                 /* dec %ecx */
    0x75, 0xf0,                                 /* jnz 2b */
    0x0f, 0x31,                                 /* rdtsc */
    0x89, 0x43, 0x38,                           /* mov %eax,56(%rbx) */
    0x89, 0x53, 0x3c,                           /* mov %edx,60(%rbx) */
    0x48, 0x8b, 0x7b, 0x20,                     /* mov 32(%rbx),%rdi */
    0x8b, 0x53, 0x28,                           /* mov 40(%rbx),%edx */
    0x48, 0x8b, 0x73, 0x18,                     /* mov 24(%rbx),%rsi */
    0x31, 0xc9,                                 /* xor %ecx,%ecx */
    0x8b, 0x06,                                 /* 3: mov (%rsi),%eax */
    0x41, 0x01, 0xc0,                           /* add %eax,%r8d */
    0x48, 0xff, 0xc1,                           /* inc %rcx */
    0x39, 0x17,                                 /* cmp %edx,(%rdi) */
    0x75, 0xf4,                                 /* jne 3b */
    0x48, 0x89, 0x4b, 0x30,                     /* mov %rcx,48(%rbx) */
    0x0f, 0x31,                                 /* rdtsc */
    0x89, 0x43, 0x40,                           /* mov %eax,64(%rbx) */
    0x89, 0x53, 0x44,                           /* mov %edx,68(%rbx) */
    0xc7, 0x43, 0x48, 0x01, 0x00, 0x00, 0x00,   /* movl $1,72(%rbx) */
    0xf4, 0xeb, 0xfd,                           /* 4: hlt; jmp 4b */
};

static char *write_rom(void)
{
    g_autofree uint8_t *rom = g_malloc0(0x10000);
    char *path = g_strdup_printf("%s/trainium-rom-%d", g_get_tmp_dir(),
                                 getpid());
    unsigned i;

    /* 512 pages of 1 GiB, one to one; marked accessed, since ROM stays so */
    stq_le_p(rom, 0xffff1000 | 0x23);
    for (i = 0; i < 512; i++) {
        stq_le_p(rom + 0x1000 + i * 8, (uint64_t)i << 30 | 0xe3);
    }
    memcpy(rom + 0x3000, long_mode, sizeof(long_mode));
    memcpy(rom + 0xff00, real_mode, sizeof(real_mode));
    stw_le_p(rom + 0xff80, 15);                 /* GDT: limit, base */
    stl_le_p(rom + 0xff82, 0xffffff90);
    stq_le_p(rom + 0xff98, 0x00209b0000000000); /* 64-bit code */
    rom[0xfff0] = 0xe9;                         /* jmp 0xff00 */
    stw_le_p(rom + 0xfff1, 0xff00 - 0xfff3);
    g_assert_true(g_file_set_contents(path, (char *)rom, 0x10000, NULL));
    return path;
}

static void run_guest(const char *rom, const char *props, unsigned descs,
                      uint32_t len, uint64_t result[3])
{
    g_autoptr(GArray) writes = g_array_new(false, false, sizeof(TqWrite));
    uint64_t list;
    QTestState *qts;
    TqChip c;
    TqQueue q;
    unsigned i;

    qts = qtest_initf("-accel tcg -icount shift=0 -S -cpu max,phys-bits=46 "
                      "-machine q35 -m %u -nodefaults -bios %s "
                      "-device trainium2,addr=04.0,hbm-size=1G,fw-boot-ms=1%s",
                      TQ_RAM_MB, rom, props);
    tq_attach(&c, qts, 0, 4 << 3, 0);
    list = tq_alloc(&c, 4096, 4096);
    c.record = writes;
    tq_init_queue(&q, &c, 128, 0, 1024);
    for (i = 0; i < descs; i++) {
        tq_pair(&q, tq_hbm(0) + i * 65536, tq_hbm(1), len, 0, TQ_BARRIER, 0);
    }
    tq_add_marker(&q);
    tq_kick(&q);
    c.record = NULL;
    for (i = 0; i < writes->len; i++) {
        TqWrite *w = &g_array_index(writes, TqWrite, i);

        qtest_writeq(qts, list + i * 16, w->addr);
        qtest_writeq(qts, list + i * 16 + 8, w->value);
    }
    qtest_writeq(qts, 0x8000, c.bar0 + 0x06c84024);
    qtest_writeq(qts, 0x8008, list);
    qtest_writeq(qts, 0x8010, writes->len);
    qtest_writeq(qts, 0x8018, c.bar0 + tq_m2s_reg(&q, 0x24));
    qtest_writeq(qts, 0x8020, q.mark + 4);
    qtest_writeq(qts, 0x8028, TQ_MARK);
    qtest_qmp_assert_success(qts, "{'execute': 'cont'}");
    for (i = 0; qtest_readl(qts, 0x8048) != 1; i++) {
        g_assert_cmpint(i, <, 60000);
        g_usleep(1000);
    }
    result[0] = qtest_readq(qts, 0x8030);
    /* QEMU itself starts the clock a little earlier or later: differences */
    result[1] = qtest_readq(qts, 0x8040) - qtest_readq(qts, 0x8038);
    result[2] = model_clock(&c);
    qtest_quit(qts);
}

/* Register reads, guest time and model time are the same in two runs. */
static void test_icount(void)
{
    static const struct {
        const char *props;
        unsigned descs;
        uint32_t len;
    } work[] = {
        { "", 1, 4096 }, { "", 1, 65536 }, { "", 500, 512 },
        { "", 100, 65536 }, { ",reorder=4", 20, 4096 },
    };
    g_autofree char *rom = NULL;
    uint64_t last = 0;
    unsigned i;

    if (!qtest_has_accel("tcg")) {
        g_test_skip("QEMU has no TCG");
        return;
    }
    rom = write_rom();
    for (i = 0; i < ARRAY_SIZE(work); i++) {
        uint64_t one[3], two[3];

        run_guest(rom, work[i].props, work[i].descs, work[i].len, one);
        run_guest(rom, work[i].props, work[i].descs, work[i].len, two);
        g_test_message("%u x %u: %" PRIu64 " reads, %" PRIu64 " ns, clock %"
                       PRIu64, work[i].descs, work[i].len, one[0], one[1],
                       one[2]);
        g_assert_cmpint(one[0], ==, two[0]);
        g_assert_cmpint(one[1], ==, two[1]);
        g_assert_cmpint(one[2], ==, two[2]);
        /* more work, more guest time: it is modelled, not host time */
        if (i < 4) {
            g_assert_cmpint(one[1], >=, last);
            last = one[1];
        }
    }
    g_assert_cmpint(last, >, 100000);
    unlink(rom);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/time/liveness", test_liveness);
    qtest_add_func("trainium/time/fairness", test_fairness);
    qtest_add_func("trainium/time/weights", test_weights);
    qtest_add_func("trainium/time/clock", test_clock);
    qtest_add_func("trainium/time/engine", test_engine_time);
    qtest_add_func("trainium/time/icount", test_icount);
    return g_test_run();
}
