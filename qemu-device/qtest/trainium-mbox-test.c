/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Firmware messages: in host memory and in MISC RAM. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "trainium-qtest.h"

#define MISC_AXI 0x8006c84000ull

static uint64_t core_window(unsigned core)
{
    return 0xd0000000ull + core * 0x4000000ull;
}

static void test_crc(void)
{
    g_assert_cmphex(tq_crc32c((const uint8_t *)"123456789", 9), ==, 0xe3069283);
}

/* --- messages ------------------------------------------------------------------ */

typedef struct Mail {
    uint64_t req, resp;                     /* host addresses */
    uint8_t seq;
    uint8_t buf[65536];
    size_t len;
} Mail;

static void mail_alloc(TqChip *c, Mail *m)
{
    m->req = tq_alloc(c, 65536, 4096);
    m->resp = tq_alloc(c, 65536, 4096);
    m->seq = 0;
}

static void mail_build(Mail *m, unsigned cmd, const void *payload, size_t len)
{
    if (!++m->seq) {
        m->seq = 1;
    }
    m->len = 8 + len;
    m->buf[0] = m->seq;
    m->buf[1] = cmd;
    stw_le_p(m->buf + 2, m->len);
    stl_le_p(m->buf + 4, 0);
    if (len) {
        memcpy(m->buf + 8, payload, len);
    }
    stl_le_p(m->buf + 4, tq_crc32c(m->buf, m->len));
}

static void mail_ring(TqChip *c, uint64_t req_axi, uint64_t resp_axi)
{
    tq_misc_write(c, 0x1f4, req_axi);
    tq_misc_write(c, 0x1f0, req_axi >> 32);
    tq_misc_write(c, 0x1fc, resp_axi);
    tq_misc_write(c, 0x1f8, resp_axi >> 32);
    tq_misc_write(c, 0x800, 1);
}

static void mail_post(TqChip *c, Mail *m)
{
    tq_put(c, TQ_HOST + m->req, m->buf, m->len);
    qtest_writel(c->qts, m->resp, 0xeeeeee00);
    mail_ring(c, TQ_HOST + m->req, TQ_HOST + m->resp);
    tq_step_ms(c, 1);
}

/* Sends what mail_build() made; returns the error, -1 if nobody answered. */
static int mail_send(TqChip *c, Mail *m, void *out, size_t *out_len)
{
    uint32_t header;

    mail_post(c, m);
    header = qtest_readl(c->qts, m->resp);
    if ((header & 0xff) != m->seq) {
        g_assert_cmphex(header, ==, 0xeeeeee00);
        return -1;
    }
    g_assert_cmpint(header >> 16, >=, 4);
    *out_len = (header >> 16) - 4;
    if (*out_len) {
        qtest_memread(c->qts, m->resp + 4, out, *out_len);
    }
    return header >> 8 & 0xff;
}

static int mail(TqChip *c, Mail *m, unsigned cmd, const void *payload,
                size_t len, void *out, size_t *out_len)
{
    mail_build(m, cmd, payload, len);
    return mail_send(c, m, out, out_len);
}

static void test_host_mailbox(void)
{
    g_autofree Mail *m = g_new0(Mail, 1);
    TqChip c;
    uint8_t out[512], blob[200];
    uint64_t addrs[101];
    uint32_t word;
    size_t n;
    int i;

    tq_start(&c, "routing-id=9");
    mail_alloc(&c, m);

    /* Registers: routing id, API version, a semaphore, an engine register */
    tq_write(&c, core_window(5) + 0x2701400 + 12, 0x80000001);
    tq_ewrite(&c, 17, 0x1028, 0xabc00);
    addrs[0] = cpu_to_le64(MISC_AXI + 0x24);
    addrs[1] = cpu_to_le64(MISC_AXI);
    addrs[2] = cpu_to_le64(0x803000000000ull + 0x2701000 + 12);
    addrs[3] = cpu_to_le64(0x1000000000ull + 0x2000000 + 17 * 0x100000 + 0x1028);
    g_assert_cmpint(mail(&c, m, 1, addrs, 32, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 16);
    g_assert_cmphex((uint32_t)ldl_le_p(out), ==, 9);
    g_assert_cmphex((uint32_t)ldl_le_p(out + 4), ==, 7);
    g_assert_cmphex((uint32_t)ldl_le_p(out + 8), ==, 0x80000001);
    g_assert_cmphex((uint32_t)ldl_le_p(out + 12), ==, 0xabc00);

    /* 100 of them and no more; none; half an address; nowhere; not aligned */
    for (i = 0; i < 101; i++) {
        addrs[i] = cpu_to_le64(MISC_AXI + 0x24);
    }
    g_assert_cmpint(mail(&c, m, 1, addrs, 800, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 400);
    g_assert_cmphex((uint32_t)ldl_le_p(out + 396), ==, 9);
    g_assert_cmpint(mail(&c, m, 1, addrs, 808, out, &n), ==, 1);
    g_assert_cmpint(n, ==, 0);
    g_assert_cmpint(mail(&c, m, 1, addrs, 0, out, &n), ==, 1);
    g_assert_cmpint(mail(&c, m, 1, addrs, 12, out, &n), ==, 1);
    addrs[0] = cpu_to_le64(0x2000000000000000ull);
    g_assert_cmpint(mail(&c, m, 1, addrs, 8, out, &n), ==, 1);
    addrs[0] = cpu_to_le64(MISC_AXI + 0x26);
    g_assert_cmpint(mail(&c, m, 1, addrs, 8, out, &n), ==, 1);

    /* Metrics: up to 128 bytes */
    memset(blob, 'x', sizeof(blob));
    g_assert_cmpint(mail(&c, m, 2, blob, 128, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 0);
    g_assert_cmpint(mail(&c, m, 2, blob, 129, out, &n), ==, 1);

    /* Unknown command; a wrong CRC; a payload changed after it was made */
    g_assert_cmpint(mail(&c, m, 99, NULL, 0, out, &n), ==, 2);
    mail_build(m, 2, blob, 16);
    m->buf[4] ^= 1;
    g_assert_cmpint(mail_send(&c, m, out, &n), ==, 1);
    mail_build(m, 2, blob, 16);
    m->buf[8] ^= 1;
    g_assert_cmpint(mail_send(&c, m, out, &n), ==, 1);
    /* a size smaller than the header */
    mail_build(m, 2, blob, 16);
    stw_le_p(m->buf + 2, 4);
    g_assert_cmpint(mail_send(&c, m, out, &n), ==, 1);
    /* the largest there is, with a good CRC, is just too large a blob */
    mail_build(m, 2, blob, 16);
    m->len = 65535;
    stw_le_p(m->buf + 2, m->len);
    stl_le_p(m->buf + 4, 0);
    stl_le_p(m->buf + 4, tq_crc32c(m->buf, m->len));
    g_assert_cmpint(mail_send(&c, m, out, &n), ==, 1);

    /* Still in order */
    g_assert_cmpint(mail(&c, m, 2, blob, 4, out, &n), ==, 0);
    /* Buffer addresses are used once: another doorbell changes nothing. */
    qtest_writel(c.qts, m->resp, 0);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    g_assert_cmphex(qtest_readl(c.qts, m->resp), ==, 0);

    /* Sequence 0 is no message; nor is one that was answered. */
    mail_build(m, 2, blob, 4);
    m->buf[0] = 0;
    g_assert_cmpint(mail_send(&c, m, out, &n), ==, -1);
    mail_build(m, 2, blob, 4);
    tq_put(&c, TQ_HOST + m->req, m->buf, m->len);
    qtest_writel(c.qts, m->resp, 0xeeee0000 | m->seq);
    mail_ring(&c, TQ_HOST + m->req, TQ_HOST + m->resp);
    tq_step_ms(&c, 1);
    g_assert_cmphex(qtest_readl(c.qts, m->resp), ==, 0xeeee0000 | m->seq);

    /* A response in HBM; buffers that are no memory */
    mail_build(m, 2, blob, 4);
    tq_put(&c, TQ_HOST + m->req, m->buf, m->len);
    word = 0;
    tq_put(&c, tq_hbm(1) + 0x1000000, &word, 4);
    mail_ring(&c, TQ_HOST + m->req, tq_hbm(1) + 0x1000000);
    tq_step_ms(&c, 1);
    tq_get(&c, tq_hbm(1) + 0x1000000, &word, 4);
    g_assert_cmphex(le32_to_cpu(word), ==, 4 << 16 | m->seq);
    mail_ring(&c, MISC_AXI, MISC_AXI);
    tq_step_ms(&c, 1);
    mail_ring(&c, TQ_HOST + m->req, MISC_AXI + 0x1ec);
    tq_step_ms(&c, 1);
    mail_ring(&c, 0xffffffffffffffffull, 0xfffffffffffffffcull);
    tq_step_ms(&c, 1);
    mail_ring(&c, TQ_HOST + 0x3ffffffffff8ull, TQ_HOST + m->resp);
    tq_step_ms(&c, 1);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert_cmpint(mail(&c, m, 2, blob, 4, out, &n), ==, 0);

    tq_stop(&c);
}

/* Returns the error, -1 if the doorbell does not clear. */
static int ram_mail(TqChip *c, unsigned seq, unsigned cmd, const void *payload,
                    size_t len, uint32_t spoil, uint8_t *out, size_t *out_len)
{
    uint8_t buf[8 + 128] = { 0 };
    uint32_t header;
    unsigned i;

    buf[0] = seq;
    buf[1] = cmd;
    stw_le_p(buf + 2, 8 + len);
    if (len) {
        memcpy(buf + 8, payload, len);
    }
    for (i = 0; i < len; i += 4) {
        tq_misc_write(c, 0x100 + i, ldl_le_p(buf + 8 + i));
    }
    tq_misc_write(c, 0x1f0, ldl_le_p(buf));
    tq_misc_write(c, 0x1f4, tq_crc32c(buf, 8 + len) ^ spoil);
    tq_misc_write(c, 0x1f8, 0);
    tq_misc_write(c, 0x1fc, 0);
    tq_misc_write(c, 0x0f0, 1);
    tq_misc_write(c, 0x800, 1);
    g_assert_cmphex(tq_misc_read(c, 0x800), ==, 1);
    tq_step_ms(c, 1);
    if (tq_misc_read(c, 0x800)) {
        return -1;
    }
    header = tq_misc_read(c, 0x1f0);
    g_assert_cmphex(header & 0xff, ==, seq);
    g_assert_cmpint(header >> 16, >=, 8);
    g_assert_cmpint(header >> 16, <=, 8 + 128);
    *out_len = (header >> 16) - 8;
    stl_le_p(buf, header);
    stl_le_p(buf + 4, 0);
    for (i = 0; i < *out_len; i += 4) {
        stl_le_p(buf + 8 + i, tq_misc_read(c, 0x100 + i));
    }
    memcpy(out, buf + 8, *out_len);
    /* a CRC over header and payload, as in the request */
    if (tq_crc32c(buf, 8 + *out_len) != tq_misc_read(c, 0x1f4)) {
        return -2;
    }
    /* the older format may follow */
    g_assert_cmphex(tq_misc_read(c, 0x0f0), ==, 0);
    return header >> 8 & 0xff;
}

static void test_ram_mailbox(void)
{
    static const uint8_t profile[8] = { 0, 0, 0, 0, 2, 0x11, 0x22, 0x33 };
    static const uint8_t bad_profile[8] = { 0, 0, 0, 0, 200 };
    g_autofree Mail *m = g_new0(Mail, 1);
    TqChip c;
    uint8_t out[128], in[128];
    uint64_t addrs[17];
    size_t n;
    int i;

    tq_start(&c, "routing-id=9");
    /* Profile: set, get */
    g_assert_cmpint(ram_mail(&c, 1, 3, profile, 8, 0, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 0);
    g_assert_cmpint(ram_mail(&c, 2, 4, "\1", 1, 0, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 8);
    g_assert_cmpint(memcmp(out, profile, 8), ==, 0);
    g_assert_cmpint(ram_mail(&c, 3, 3, bad_profile, 8, 0, out, &n), ==, 1);
    g_assert_cmpint(ram_mail(&c, 4, 3, profile, 4, 0, out, &n), ==, 1);
    /* Profiles there are: any; with faster HBM none */
    g_assert_cmpint(ram_mail(&c, 5, 4, "\2\0\0", 3, 0, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 33);
    g_assert_cmpint(out[0], ==, ctpop32(out[1]));
    g_assert(out[1] & 1 << 2);
    g_assert_cmpint(ram_mail(&c, 6, 4, "\2\5\0", 3, 0, out, &n), ==, 0);
    g_assert_cmpint(out[0], ==, 0);
    /* Windows to switches: an empty list; other questions fail */
    g_assert_cmpint(ram_mail(&c, 7, 4, "\20\1\0", 3, 0, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 8);
    g_assert_cmpint(out[0], ==, 0);
    g_assert_cmpint(ram_mail(&c, 8, 4, "\20\3", 2, 0, out, &n), ==, 1);
    g_assert_cmpint(ram_mail(&c, 9, 4, "\77", 1, 0, out, &n), ==, 1);
    g_assert_cmpint(ram_mail(&c, 10, 4, NULL, 0, 0, out, &n), ==, 1);
    /* Throttling notices on and off; no other feature */
    g_assert_cmpint(ram_mail(&c, 11, 5, "\1\0\0\0", 4, 0, out, &n), ==, 0);
    g_assert_cmpint(ram_mail(&c, 12, 5, "\0\0\0\0", 4, 0, out, &n), ==, 0);
    g_assert_cmpint(ram_mail(&c, 13, 5, "\2\0\0\0", 4, 0, out, &n), ==, 1);
    /* Registers, metrics; what does not exist */
    for (i = 0; i < 16; i++) {
        addrs[i] = cpu_to_le64(MISC_AXI + 0x24);
    }
    g_assert_cmpint(ram_mail(&c, 14, 1, addrs, 128, 0, out, &n), ==, 0);
    g_assert_cmpint(n, ==, 64);
    g_assert_cmphex((uint32_t)ldl_le_p(out + 60), ==, 9);
    memset(in, 'x', sizeof(in));
    g_assert_cmpint(ram_mail(&c, 15, 2, in, 128, 0, out, &n), ==, 0);
    g_assert_cmpint(ram_mail(&c, 16, 6, NULL, 0, 0, out, &n), ==, 2);
    g_assert_cmpint(ram_mail(&c, 255, 2, in, 0, 0, out, &n), ==, 0);
    /* A bad CRC, then a good one */
    g_assert_cmpint(ram_mail(&c, 17, 2, in, 20, 1, out, &n), ==, 1);
    g_assert_cmpint(ram_mail(&c, 18, 2, in, 20, 0, out, &n), ==, 0);
    /* Larger than the RAM for it: answered, and nothing is overrun */
    tq_misc_write(&c, 0x180, 0x77);
    tq_misc_write(&c, 0x1f0, 0x00890213);
    tq_misc_write(&c, 0x0f0, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    g_assert_cmphex(tq_misc_read(&c, 0x1f0), ==, 0x00080113);
    g_assert_cmphex(tq_misc_read(&c, 0x180), ==, 0x77);
    /* The older format works beside it. */
    mail_alloc(&c, m);
    g_assert_cmpint(mail(&c, m, 2, in, 20, out, &n), ==, 0);
    g_assert_cmpint(ram_mail(&c, 19, 2, in, 20, 0, out, &n), ==, 0);
    /* A device reset forgets the profile. */
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    tq_step_ms(&c, 40);
    g_assert_cmpint(ram_mail(&c, 20, 4, "\1", 1, 0, out, &n), ==, 0);
    g_assert_cmpint(out[4], ==, 0);
    tq_stop(&c);
}

/* What older firmware does not know */
static void test_old_api(void)
{
    g_autofree Mail *m = g_new0(Mail, 1);
    uint8_t out[512];
    size_t n;
    TqChip c;

    tq_start(&c, "fw-api-version=6");
    g_assert_cmpint(tq_misc_read(&c, 0), ==, 6);
    g_assert_cmpint(ram_mail(&c, 1, 2, NULL, 0, 0, out, &n), ==, -1);
    mail_alloc(&c, m);
    tq_misc_write(&c, 0x0f0, 0);
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 0);
    g_assert_cmpint(mail(&c, m, 4, "\1", 1, out, &n), ==, 2);
    tq_set_fails(&c, "fw-api-version", "7");
    tq_stop(&c);

    tq_start(&c, "fw-api-version=2,power-die0=100");
    tq_step_ms(&c, 1000);
    g_assert_cmphex(tq_misc_read(&c, 0x54), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x58), ==, 0);
    tq_stop(&c);
}

/* A doorbell with both looks at the reset only. */
static void test_reset_first(void)
{
    g_autofree Mail *m = g_new0(Mail, 1);
    TqChip c;

    tq_start(&c, NULL);
    mail_alloc(&c, m);
    mail_build(m, 2, NULL, 0);
    tq_misc_write(&c, 0x1d8, 1);
    tq_misc_write(&c, 0x1ec, 2);
    mail_post(&c, m);
    tq_step_ms(&c, 10);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert_cmphex(qtest_readl(c.qts, m->resp), ==, 0xeeeeee00);
    /* rung again, it is a message */
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    g_assert_cmphex(qtest_readl(c.qts, m->resp), ==, 0x00040000 | m->seq);
    tq_stop(&c);
}

/* --- faults --------------------------------------------------------------------- */

static void test_faults(void)
{
    g_autofree Mail *m = g_new0(Mail, 1);
    uint8_t out[512];
    size_t n;
    TqChip c;

    tq_start(&c, NULL);
    mail_alloc(&c, m);

    /* Dead: nobody answers; then somebody does. */
    tq_set(&c, "fw-dead", "true");
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, -1);
    tq_set(&c, "fw-dead", "false");
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 0);

    /* Dies after two messages */
    tq_set(&c, "fw-dead-after", "2");
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x24), !=, 0xdeadbeef);
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x24), ==, 0xdeadbeef);
    tq_set(&c, "fw-dead", "false");

    /* Messages ignored, then answered late */
    tq_set(&c, "fw-ignore-messages", "true");
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, -1);
    tq_step_ms(&c, 1000);
    g_assert_cmphex(qtest_readl(c.qts, m->resp), ==, 0xeeeeee00);
    tq_set(&c, "fw-ignore-messages", "false");
    tq_step_ms(&c, 1);
    g_assert_cmphex(qtest_readl(c.qts, m->resp), ==, 0x00040000 | m->seq);
    tq_set(&c, "fw-ignore-messages", "true");
    g_assert_cmpint(ram_mail(&c, 1, 2, NULL, 0, 0, out, &n), ==, -1);
    /* resets are not messages */
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    tq_step_ms(&c, 40);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    tq_set(&c, "fw-ignore-messages", "false");

    /* Any error code, in both formats */
    tq_set(&c, "fw-error", "77");
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 77);
    g_assert_cmpint(ram_mail(&c, 2, 2, NULL, 0, 0, out, &n), ==, 77);
    tq_set(&c, "fw-error", "0");

    /* Broken CRCs: good requests are rejected, answers have a bad one. */
    tq_set(&c, "fw-crc-corrupt", "true");
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 1);
    g_assert_cmpint(ram_mail(&c, 3, 2, NULL, 0, 0, out, &n), ==, -2);
    tq_set(&c, "fw-crc-corrupt", "false");
    g_assert_cmpint(ram_mail(&c, 4, 2, NULL, 0, 0, out, &n), ==, 0);
    tq_stop(&c);
}

/* --- nonsense -------------------------------------------------------------------- */

static uint32_t rnd(void)
{
    return g_test_rand_int();
}

static uint64_t random_addr(TqChip *c, Mail *m)
{
    const uint64_t some[] = {
        0, 0x8006c84000ull, 0x8006c84800ull, 0x600000000ull - 4,
        TQ_HOST, TQ_HOST + 0x3fffffffffffull, 0x802000000000ull,
        0x806001400ull, 0x1002000000ull, 0x10000000000000ull, ~0ull,
        TQ_HOST + TQ_BAR0 + 0x6c84800,      /* its own doorbell, from outside */
        TQ_HOST + TQ_BAR0 + 0xd0000000,
    };

    switch (rnd() % 4) {
    case 0:
        return TQ_HOST + m->req;
    case 1:
        return TQ_HOST + m->resp;
    case 2:
        return some[rnd() % ARRAY_SIZE(some)];
    default:
        return (uint64_t)rnd() << 32 | rnd();
    }
}

/* Whatever the host writes, the firmware stays in order. */
static void test_random(void)
{
    static const unsigned words[] = {
        0x0f0, 0x100, 0x17c, 0x1d4, 0x1d8, 0x1ec, 0x1f0, 0x1f4, 0x1f8, 0x1fc,
        0x800, 0x800, 0x808, 0x024,
    };
    g_autofree Mail *m = g_new0(Mail, 1);
    uint8_t out[512], in[512];
    size_t n;
    TqChip c;
    int i;

    tq_start(&c, "hbm-size=1G");
    mail_alloc(&c, m);
    for (i = 0; i < 2000; i++) {
        unsigned k;

        switch (rnd() % 4) {
        case 0:
            for (k = 0; k < 4; k++) {
                tq_misc_write(&c, words[rnd() % ARRAY_SIZE(words)],
                              rnd() % 3 ? rnd() % 4
                                                    : rnd());
            }
            break;
        case 1:
            /* correct but for what it asks for */
            for (k = 0; k < sizeof(in); k++) {
                in[k] = rnd();
            }
            mail_build(m, rnd() % 7, in,
                       rnd() % sizeof(in));
            tq_put(&c, TQ_HOST + m->req, m->buf, m->len);
            mail_ring(&c, random_addr(&c, m), random_addr(&c, m));
            break;
        case 2:
            /* addresses of registers, good and bad */
            for (k = 0; k < 64; k += 8) {
                stq_le_p(in + k, random_addr(&c, m));
            }
            mail_build(m, 1, in, 64);
            tq_put(&c, TQ_HOST + m->req, m->buf, m->len);
            mail_ring(&c, TQ_HOST + m->req, TQ_HOST + m->resp);
            break;
        default:
            qtest_writel(c.qts, m->req, rnd());
            mail_ring(&c, random_addr(&c, m), random_addr(&c, m));
            break;
        }
        if (rnd() % 2) {
            qtest_clock_step(c.qts, rnd() % 100000000);
        }
    }
    for (i = 0; i < 100; i++) {
        tq_step_ms(&c, 50);
    }
    tq_misc_write(&c, 0x1ec, 1);
    tq_misc_write(&c, 0x800, 1);
    tq_step_ms(&c, 1);
    tq_step_ms(&c, 40);
    g_assert_cmphex(tq_misc_read(&c, 0x1ec), ==, 0);
    g_assert_cmphex(tq_misc_read(&c, 0x808), ==, 0);
    g_assert_cmpint(mail(&c, m, 2, NULL, 0, out, &n), ==, 0);
    tq_stop(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/mbox/crc", test_crc);
    qtest_add_func("trainium/mbox/host", test_host_mailbox);
    qtest_add_func("trainium/mbox/ram", test_ram_mailbox);
    qtest_add_func("trainium/mbox/old-api", test_old_api);
    qtest_add_func("trainium/mbox/reset-first", test_reset_first);
    qtest_add_func("trainium/mbox/faults", test_faults);
    qtest_add_func("trainium/mbox/random", test_random);
    return g_test_run();
}
