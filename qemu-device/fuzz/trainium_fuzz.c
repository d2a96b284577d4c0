/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target of QEMU's fuzzer: two chips joined by a fabric, and an input that is
 * a list of steps, so that what the fuzzer finds by chance soon is a packet that
 * nearly makes sense: registers of engines, firmware, fabric and configuration
 * space, descriptors whose addresses lead somewhere, doorbells, time, faults.
 *
 * qemu-device/fuzz/run builds and runs it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "qom/object.h"
#include "tests/qtest/libqtest.h"
#include "tests/qtest/fuzz/fuzz.h"

#define CHIPS 2
#define BAR0(chip) (0x1000000000ull + (chip) * 0x100000000ull)
#define BAR2(chip) (0xe0000000u + (chip) * 0x20000u)
#define BAR4(chip) (0x10000000000ull + (chip) * 0x4000000000ull)
#define MISC 0x06c84000u
#define RAM 0x01000000u
#define RAM_SIZE 0x100000u
#define RINGS (RAM + RAM_SIZE)
#define RING_LEN 64u
#define HOST 0x400000000000ull

enum step {
    ENGINE, FIRMWARE, EXTENSION, GROUP, ANYWHERE, CONFIG, MEMORY, HBM,
    DESCRIPTOR, DOORBELL, CLOCK, FAULT, FUNCTION_RESET, READ, NUM_STEPS,
};

typedef struct QEMU_PACKED Step {
    uint8_t what, where;
    uint16_t offset;
    uint32_t value;
} Step;

static const uint32_t engines[] = {
    0x82000000, 0x82100000, 0x06800000, 0x46900000,
};

static unsigned staged[CHIPS][ARRAY_SIZE(engines)];

static void config_writel(QTestState *s, unsigned chip, unsigned off,
                          uint32_t value)
{
    qtest_outl(s, 0xcf8, 0x80000000u | (4 + chip) << 11 | (off & 0xfc));
    qtest_outl(s, 0xcfc, value);
}

static uint64_t ring_at(unsigned chip, unsigned e, bool s2m)
{
    return RINGS + ((chip * ARRAY_SIZE(engines) + e) * 2 + s2m) * RING_LEN * 16;
}

/* As a driver leaves it: an engine that runs, with one queue pair */
static void engine_init(QTestState *s, unsigned chip, unsigned e)
{
    static const uint32_t on[][2] = {
        { 0x00310, 0x010008f8 }, { 0x00304, 0x00010041 }, { 0x20380, 0x1004 },
        { 0x0011c, 0x00010008 }, { 0x2011c, 0x00010008 }, { 0x3a028, 0x28 },
        { 0x380e8, 0x28 }, { 0x380d8, 0xfffff9ff }, { 0x00204, 1 },
        { 0x20204, 1 },
    };
    uint64_t b = BAR0(chip) + engines[e];
    uint64_t m2s = HOST | ring_at(chip, e, false);
    uint64_t s2m = HOST | ring_at(chip, e, true);
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(on); i++) {
        qtest_writel(s, b + on[i][0], on[i][1]);
    }
    qtest_writel(s, b + 0x1020, 0x03000000);
    qtest_writel(s, b + 0x1028, m2s);
    qtest_writel(s, b + 0x102c, m2s >> 32);
    qtest_writel(s, b + 0x1030, RING_LEN);
    qtest_writel(s, b + 0x1020, 0x03030000);
    qtest_writel(s, b + 0x21020, 0x03000000);
    qtest_writel(s, b + 0x21028, s2m);
    qtest_writel(s, b + 0x2102c, s2m >> 32);
    qtest_writel(s, b + 0x21030, RING_LEN);
    qtest_writel(s, b + 0x21020, 0x03030000);
    staged[chip][e] = 0;
}

static void machine_init(QTestState *s)
{
    unsigned chip, e;

    for (chip = 0; chip < CHIPS; chip++) {
        config_writel(s, chip, 0x10, BAR0(chip));
        config_writel(s, chip, 0x14, BAR0(chip) >> 32);
        config_writel(s, chip, 0x18, BAR2(chip));
        config_writel(s, chip, 0x20, BAR4(chip));
        config_writel(s, chip, 0x24, BAR4(chip) >> 32);
        config_writel(s, chip, 0x04, 6);
    }
    /* Firmware boots, links train. */
    qtest_clock_step(s, 100 * 1000 * 1000);
    for (chip = 0; chip < CHIPS; chip++) {
        for (e = 0; e < ARRAY_SIZE(engines); e++) {
            engine_init(s, chip, e);
        }
    }
}

/* Where packets come from and go to, with something wrong now and then */
static uint64_t address(unsigned chip, uint16_t n)
{
    static const uint64_t base[] = {
        HOST | RAM, HOST | RAM, 0x100000, 0x004000100000, 0x800000100000,
        HOST | RINGS,
        0x8000000000100000,                     /* unicast: chip 0, chip 1 */
        0x8002000000100000,
        0x9000000000000000, 0xa000000000000000, /* multicast, reduction */
        0x001002000000, 0x008006c84000,         /* registers */
        HOST | 0xe0000000, HOST | 0x1000000000, 0, 0xfffffffffffff000,
    };
    uint64_t at = base[n & 15] + (n >> 4 & 0x7ff) * 16;

    return n & 0x8000 ? at + (n >> 4 & 15) : at;
}

/* A pair of descriptors; lengths and flags as given */
static void descriptor(QTestState *s, unsigned chip, unsigned e, const Step *st)
{
    unsigned i = staged[chip][e]++ % RING_LEN;
    uint32_t value = st->value;
    uint32_t len = st->where & 0x40 ? value & 0xffff : (value & 0xff) * 16;
    /* Most are whole packets: FIRST, LAST, and what a copy has */
    uint32_t w0 = len | 1u << 24 | (st->where & 0x20 ? value & 0xfcc00000 :
                                    3u << 26);
    uint32_t w1 = 0x01080003 | (st->where & 0x80 ? value & 0x07f000f0 : 0);
    uint64_t src = address(chip, st->offset);
    uint64_t dst = address(chip, value >> 16);
    uint32_t m2s[4] = { cpu_to_le32(w0), cpu_to_le32(w1), cpu_to_le32(src),
                        cpu_to_le32(src >> 32) };
    uint32_t s2m[4] = { cpu_to_le32(len | 1u << 24 | (value & 1u << 28)), 0,
                        cpu_to_le32(dst), cpu_to_le32(dst >> 32) };

    qtest_memwrite(s, ring_at(chip, e, false) + i * 16, m2s, 16);
    qtest_memwrite(s, ring_at(chip, e, true) + i * 16, s2m, 16);
}

static void fault(unsigned chip, const Step *st)
{
    static const struct {
        const char *name, *value;
    } faults[] = {
        { "dma-abort", "0.0:1" }, { "dma-corrupt", "0.0:2" },
        { "dma-lost", "1.0:1" }, { "dma-early", "0.0:1" },
        { "engine-stuck", "0:queue" }, { "engine-stuck", "" },
        { "ecc-uncorrectable", "0x100000" }, { "ecc-correctable", "0x100010" },
        { "regs-deadbeef", "engines" }, { "regs-deadbeef", "" },
        { "regs-ones", "all" }, { "regs-ones", "" },
        { "hostile", "3:200000" }, { "hostile", "" },
        { "irq-lose", "3" }, { "irq-storm", "100" }, { "irq-storm", "0" },
        { "surprise-removal", "5" }, { "surprise-removal", "0" },
        { "aer", "non-fatal" }, { "aer", "fatal" },
        { "fw-dead", "on" }, { "fw-dead", "off" }, { "fw-not-ready", "on" },
        { "fw-not-ready", "off" }, { "fw-override", "0x24=7,0x180=1" },
        { "fabric-faults", "pull=0.0;lanes=1.4:1" }, { "fabric-faults", "" },
        { "fabric-faults", "flap=0.1:3;errors=1.2:2;off=s3" },
        { "fabric-partitions", "0,1" }, { "fabric-partitions", "" },
        { "fabric-faults", "swap=0.0/1.4" },
    };
    unsigned n = st->value % ARRAY_SIZE(faults);
    g_autofree char *path = g_strdup_printf("/machine/peripheral/chip%u", chip);
    Object *obj = object_resolve_path(path, NULL);

    object_property_parse(obj, faults[n].name, faults[n].value, NULL);
}

static void no_faults(void)
{
    static const char *const names[] = {
        "dma-abort", "dma-corrupt", "dma-lost", "dma-early", "engine-stuck",
        "ecc-uncorrectable", "ecc-correctable", "regs-deadbeef", "regs-ones",
        "hostile", "fw-override", "fabric-faults", "fabric-partitions",
    };
    static const char *const numbers[] = {
        "irq-lose", "irq-storm", "surprise-removal",
    };
    static const char *const bools[] = { "fw-dead", "fw-not-ready" };
    unsigned chip, i;

    for (chip = 0; chip < CHIPS; chip++) {
        g_autofree char *path = g_strdup_printf("/machine/peripheral/chip%u",
                                                chip);
        Object *obj = object_resolve_path(path, NULL);

        for (i = 0; i < ARRAY_SIZE(names); i++) {
            object_property_parse(obj, names[i], "", NULL);
        }
        for (i = 0; i < ARRAY_SIZE(numbers); i++) {
            object_property_parse(obj, numbers[i], "0", NULL);
        }
        for (i = 0; i < ARRAY_SIZE(bools); i++) {
            object_property_parse(obj, bools[i], "off", NULL);
        }
    }
}

static void step(QTestState *s, const Step *st)
{
    unsigned chip = st->where & 1;
    unsigned e = st->where >> 1 & (ARRAY_SIZE(engines) - 1);
    uint64_t engine = BAR0(chip) + engines[e];
    uint32_t off = st->offset * 4u;
    uint8_t page[256];

    switch (st->what % NUM_STEPS) {
    case ENGINE:
        qtest_writel(s, engine + off + (st->where & 8 ? 0x20000 : 0),
                     st->value);
        break;
    case FIRMWARE:
        qtest_writel(s, BAR0(chip) + MISC + (off & 0xffc), st->value);
        break;
    case EXTENSION:
        qtest_writel(s, BAR2(chip) + (off & 0x1fffc), st->value);
        break;
    case GROUP:
        qtest_writel(s, BAR2(chip) + 0x10080 + (st->offset & 15) * 4,
                     st->where & 8 ? st->value : st->value & 0xf);
        break;
    case ANYWHERE:
        qtest_writel(s, BAR0(chip) + (st->value & ~3u), off);
        break;
    case CONFIG:
        config_writel(s, chip, st->offset, st->value);
        break;
    case MEMORY:
        memset(page, st->value, sizeof(page));
        stl_le_p(page, st->value);
        qtest_memwrite(s, RAM + off % RAM_SIZE, page, sizeof(page));
        break;
    case HBM:
        qtest_writel(s, BAR4(chip) + 0x100000 + off, st->value);
        break;
    case DESCRIPTOR:
        descriptor(s, chip, e, st);
        break;
    case DOORBELL:
        qtest_writel(s, engine + 0x21038, st->value & 0x3f);
        qtest_writel(s, engine + 0x1038, st->value >> 8 & 0x3f);
        flush_events(s);
        break;
    case CLOCK:
        qtest_clock_step(s, st->value % (20 * 1000 * 1000) + 1);
        flush_events(s);
        break;
    case FAULT:
        fault(chip, st);
        break;
    case FUNCTION_RESET:
        /* Device control of the PCIe capability at 0x80 */
        config_writel(s, chip, 0x88, 0x8000);
        break;
    case READ:
        qtest_readl(s, BAR0(chip) + (st->value & ~3u));
        qtest_readl(s, BAR2(chip) + (off & 0x1fffc));
        qtest_readl(s, engine + off);
        qtest_readl(s, BAR4(chip) + 0x100000 + off);
        break;
    }
}

static void trainium_fuzz(QTestState *s, const unsigned char *data, size_t size)
{
    Step st;

    machine_init(s);
    for (; size >= sizeof(st); data += sizeof(st), size -= sizeof(st)) {
        memcpy(&st, data, sizeof(st));
        st.offset = le16_to_cpu(st.offset);
        st.value = le32_to_cpu(st.value);
        step(s, &st);
    }
    flush_events(s);
    no_faults();
    qtest_clock_step(s, 20 * 1000 * 1000);
    fuzz_reset(s);
}

static GString *trainium_cmdline(FuzzTarget *t)
{
    GString *cmd = g_string_new(TARGET_NAME);

    g_string_append(cmd, " -machine q35 -nodefaults -m 64 -display none "
                    "-object neuron-fabric,id=f0,kind=nvlink,chips=2 "
                    "-device trainium2,id=chip0,addr=04.0,fabric=f0,"
                    "hbm-size=1G,routing-id=0 "
                    "-device trainium2,id=chip1,addr=05.0,fabric=f0,"
                    "hbm-size=1G,routing-id=1");
    /* The BIOS is where it is run. */
    g_string_append(cmd, " -L .");
    return g_string_append(cmd, " -accel qtest");
}

static void register_trainium_fuzz(void)
{
    fuzz_add_target(&(FuzzTarget){
        .name = "trainium",
        .description = "two Trainium chips in a fabric",
        .get_init_cmdline = trainium_cmdline,
        .fuzz = trainium_fuzz,
    });
}

fuzz_target_init(register_trainium_fuzz);
