/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a chip's DMA does to the chip itself: it switches off the power of its
 * own slot, or resets the chip, through its configuration space. Each way by
 * which a chip writes to host memory is tried, with work behind it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "trainium-qtest.h"

#define PORT_DEVFN (3 << 3)
#define SLOT_ON 0x0100
#define SLOT_OFF 0x0700                     /* slot control: indicator, power */
#define FLR 0x8000                          /* device control */

typedef enum Way {
    PACKET, LATE, NOTIFICATION, MESSAGE, REORDERED, NUM_WAYS
} Way;

static const char *const way_names[NUM_WAYS] = {
    "packet", "late-packet", "notification", "message", "reordered-packet",
};

static void start(TqChip *c, Way way)
{
    QTestState *qts;

    qts = qtest_initf("-machine q35 -m %u -nodefaults "
                      "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "
                      "-device pcie-root-port,id=rp,addr=03.0,chassis=1 "
                      "-device trainium2,id=chip0,bus=rp,hbm-size=1G%s",
                      TQ_RAM_MB, way == REORDERED ? ",reorder=5" : "");
    tq_setup_port(qts, PORT_DEVFN, 1);
    tq_attach(c, qts, 1, 0, 0);
    tq_wait_firmware(c);
}

static uint64_t ecam(unsigned bus, unsigned devfn, unsigned off)
{
    return TQ_ECAM + (bus << 20) + (devfn << 12) + off;
}

static void copy_works(TqChip *c, unsigned e)
{
    uint64_t at = tq_alloc(c, 8, 8);
    TqQueue q;

    tq_init_engine(c, e);
    tq_init_queue(&q, c, e, 3, 32);
    qtest_writel(c->qts, at, 0x900d0000 + e);
    tq_pair(&q, tq_hbm(1) + 0x700, TQ_HOST | at, 4, 0, TQ_BARRIER, 0);
    tq_pair(&q, TQ_HOST | (at + 4), tq_hbm(1) + 0x700, 4, TQ_DMB, 0, 0);
    tq_finish(&q);
    g_assert_cmphex(qtest_readl(c->qts, at + 4), ==, 0x900d0000 + e);
}

/* The word, with more of the same queue and engine behind it */
static void write_by_packet(TqChip *c, uint64_t addr, uint32_t value)
{
    uint64_t from = tq_alloc(c, 64, 64);
    TqQueue q;
    unsigned i;

    tq_init_engine(c, 128);
    tq_init_queue(&q, c, 128, 0, 4096);
    /* What follows in configuration space is read-only, or stays. */
    for (i = 0; i < 64; i += 4) {
        qtest_writel(c->qts, from + i, i ? 0 : value);
    }
    tq_pair(&q, TQ_HOST | addr, TQ_HOST | from, 8, 0, TQ_BARRIER, TQ_INT);
    for (i = 0; i < 2000; i++) {
        tq_pair(&q, tq_hbm(0) + 0x10000, tq_hbm(1), 65536, 0, 0, 0);
    }
    tq_kick(&q);
}

/*
 * In a ring of one entry: its third word is the modelled time, in which some
 * time each bit is set. Nothing else that is written there changes anything.
 */
static void write_by_notification(TqChip *c, uint64_t addr)
{
    uint64_t entry = TQ_HOST | (addr - 8);
    unsigned i;
    TqQueue q;

    g_assert_cmphex(entry & 15, ==, 0);
    tq_init_engine(c, 128);
    tq_ewrite(c, 128, 0x41100, entry);
    tq_ewrite(c, 128, 0x41104, entry >> 32);
    tq_ewrite(c, 128, 0x41108, 16);
    tq_init_queue(&q, c, 128, 0, 1024);
    for (i = 0; i < 1000; i++) {
        tq_pair(&q, tq_hbm(0) + 0x10000, tq_hbm(1), 16384, 0, 0, TQ_INT);
    }
    tq_kick(&q);
}

/* The answer to "read registers" is what was put into HBM. */
static void write_by_message(TqChip *c, uint64_t addr, uint32_t value)
{
    uint64_t req = TQ_HOST | tq_alloc(c, 16, 16);
    uint64_t resp = TQ_HOST | (addr - 4);
    uint8_t msg[16] = { 0x5a, 1, 16, 0 };
    uint64_t reg = 0x1000;

    qtest_writel(c->qts, c->bar4 + reg, value);
    memcpy(msg + 8, &reg, 8);
    stl_le_p(msg + 4, tq_crc32c(msg, 16));
    tq_put(c, req, msg, 16);
    tq_misc_write(c, 0x1f0, req >> 32);
    tq_misc_write(c, 0x1f4, req);
    tq_misc_write(c, 0x1f8, resp >> 32);
    tq_misc_write(c, 0x1fc, resp);
    tq_misc_write(c, 0x800, 1);
}

static void write_word(TqChip *c, Way way, uint64_t addr, uint32_t value)
{
    switch (way) {
    case LATE:
        tq_set(c, "dma-early", "'128.0:1'");
        /* fall through */
    case PACKET:
    case REORDERED:
        write_by_packet(c, addr, value);
        break;
    case MESSAGE:
        write_by_message(c, addr, value);
        break;
    case NOTIFICATION:
        write_by_notification(c, addr);
        break;
    default:
        g_assert_not_reached();
    }
}

/* The chip is gone; another one in its place works. */
static void test_power_off(const void *data)
{
    Way way = (uintptr_t)data;
    unsigned i, slot;
    TqChip c, port;

    start(&c, way);
    copy_works(&c, 128);
    port = (TqChip) { .qts = c.qts, .devfn = PORT_DEVFN };
    slot = tq_find_cap(&port, 0x10) + 0x18;
    tq_cfg_writew(&port, slot, SLOT_ON);
    write_word(&c, way, ecam(0, PORT_DEVFN, slot), SLOT_OFF);
    for (i = 0; tq_cfg_read(&c, 0) != 0xffffffff; i++) {
        g_assert_cmpint(i, <, 5000);
        tq_step(&c);
    }
    tq_settle(&c);
    qtest_qmp_assert_success(c.qts, "{'execute': 'device_add', 'arguments': {"
                             "'driver': 'trainium2', 'bus': 'rp',"
                             "'id': 'chip0', 'routing-id': 0}}");
    tq_cfg_writew(&port, slot, SLOT_ON);
    tq_attach(&c, c.qts, 1, 0, 1);
    tq_wait_firmware(&c);
    copy_works(&c, 128);
    qtest_quit(c.qts);
}

static void wait_flr(TqChip *c)
{
    unsigned i;

    /* Memory space and bus mastering are off after it. */
    for (i = 0; tq_cfg_readw(c, 4) & 6; i++) {
        g_assert_cmpint(i, <, 5000);
        tq_step(c);
    }
    tq_settle(c);
    tq_map(c, 0);
    tq_wait_firmware(c);
}

static void test_flr(const void *data)
{
    Way way = (uintptr_t)data;
    uint32_t status;
    TqChip c;

    start(&c, way);
    write_word(&c, way, ecam(1, 0, tq_find_cap(&c, 0x10) + 8), FLR);
    wait_flr(&c);
    /* The rest of the work is forgotten, on both sides. */
    status = tq_ereg(&c, 128, 0x1024);
    g_assert_cmphex(status & 0xffffff, ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x21024) & 0xffffff, ==, 0);
    g_assert_cmphex(tq_ereg(&c, 128, 0x1034), ==, 0x40000000);
    copy_works(&c, 128);
    qtest_quit(c.qts);
}

/* An area for pending bits is memory: registers are not read and written. */
static void test_pending(void)
{
    uint64_t area;
    uint32_t slot;
    unsigned nr, at;
    TqChip c, port;
    TqQueue q;

    start(&c, PACKET);
    port = (TqChip) { .qts = c.qts, .devfn = PORT_DEVFN };
    at = tq_find_cap(&port, 0x10) + 0x18;
    tq_cfg_writew(&port, at, SLOT_ON);
    slot = tq_cfg_read(&port, at);
    area = TQ_HOST | ecam(0, PORT_DEVFN, 0);
    tq_xwrite(&c, 0x20, area);
    tq_xwrite(&c, 0x24, area >> 32);
    tq_init_engine(&c, (at - 0x40) / 4);
    tq_ewrite(&c, (at - 0x40) / 4, 0x38058, 0);
    for (nr = 8; nr < 11; nr++) {
        tq_init_queue(&q, &c, (at - 0x40) / 4, nr, 64);
        tq_pair(&q, tq_hbm(0) + 64, tq_hbm(1), 4, 0, 0, TQ_INT);
        tq_kick(&q);
    }
    tq_settle(&c);
    g_assert_cmphex(tq_cfg_read(&port, at), ==, slot);
    copy_works(&c, 128);
    qtest_quit(c.qts);
}

static uint64_t busy_ns(TqChip *c)
{
    QDict *r = qtest_qmp(c->qts, "{ 'execute': 'qom-get', 'arguments': { 'path':"
                         "'/machine/peripheral/chip0', 'property': "
                         "'x-busy-ns' } }");
    uint64_t ns = qdict_get_int(r, "return");

    qobject_unref(r);
    return ns;
}

/* The slice that such a reset ends counts for nothing. */
static void test_busy(void)
{
    uint64_t before, n = 0;
    TqChip c;
    TqQueue q;

    start(&c, PACKET);
    tq_init_engine(&c, 128);
    tq_init_queue(&q, &c, 128, 0, 1024);
    do {
        unsigned i;

        for (i = 0; i < 1000; i++) {
            tq_pair(&q, tq_hbm(0) + 0x100000, tq_hbm(1), 65536, 0, 0, 0);
        }
        qtest_bufwrite(c.qts, c.bar4 + c.pitch, "some data", 9);
        tq_finish(&q);
        tq_settle(&c);
        before = busy_ns(&c);
        g_assert_cmpint(n++, <, 1000);
    } while (before < 100 * 1000 * 1000);
    write_by_packet(&c, ecam(1, 0, tq_find_cap(&c, 0x10) + 8), FLR);
    wait_flr(&c);
    g_assert_cmpint(busy_ns(&c) - before, <, before / 2);
    qtest_quit(c.qts);
}

/* Packets that are no good take time, too, if they do not abort. */
static void test_bad_packets(void)
{
    const unsigned n = 30000;
    unsigned i, left;
    TqChip c;
    TqQueue q;

    start(&c, REORDERED);
    tq_init_engine(&c, 128);
    tq_ewrite(&c, 128, 0x3a030, 0xffffffff);
    tq_ewrite(&c, 128, 0x3a070, 0xffffffff);
    tq_init_queue(&q, &c, 128, 0, 32768);
    for (i = 0; i < n; i++) {
        tq_m2s(&q, tq_hbm(0), 64, TQ_LAST, TQ_COPY);
        tq_s2m(&q, tq_hbm(0), 64, 0);
    }
    tq_kick(&q);
    for (i = 0; i < 100; i++) {
        qtest_clock_step(c.qts, 1);
    }
    left = tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0xffffff;
    g_assert_cmpint(left, >, n / 2);
    for (i = 0; tq_read(&c, tq_m2s_reg(&q, 0x24)) & 0xffffff; i++) {
        g_assert_cmpint(i, <, 5000);
        tq_step(&c);
    }
    qtest_quit(c.qts);
}

int main(int argc, char **argv)
{
    uintptr_t way;

    g_test_init(&argc, &argv, NULL);
    /* So that memory that was freed shows. */
    g_setenv("MALLOC_PERTURB_", "165", true);
    for (way = 0; way < NUM_WAYS; way++) {
        g_autofree char *off = g_strdup_printf("trainium/self/power-off/%s",
                                               way_names[way]);
        g_autofree char *flr = g_strdup_printf("trainium/self/flr/%s",
                                               way_names[way]);

        qtest_add_data_func(flr, (void *)way, test_flr);
        /* Slot control is not where an entry of a ring could have the bits. */
        if (way != NOTIFICATION) {
            qtest_add_data_func(off, (void *)way, test_power_off);
        }
    }
    qtest_add_func("trainium/self/pending", test_pending);
    qtest_add_func("trainium/self/busy", test_busy);
    qtest_add_func("trainium/self/bad-packets", test_bad_packets);
    return g_test_run();
}
