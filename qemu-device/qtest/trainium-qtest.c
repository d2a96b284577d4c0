/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the Trainium qtests. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "trainium-qtest.h"

#include <sys/mman.h>

/* --- generations ---------------------------------------------------------- */

static const TqGeneration generations[] = {
    {
        .name = "trainium2", .id = 0x73641d0f,
        .data = 128, .engines = 132, .per_block = 32, .cores = 8,
        .top_sps = 16, .stacks = 4, .dies = 2, .stride = 0x100000,
        .block = { 0x82000000, 0x94000000, 0xa2000000, 0xb4000000 },
        .block_axi = { 0x001002000000, 0x005004000000,
                       0x801002000000, 0x805004000000 },
        .host = { 0x06800000, 0x06900000, 0x46800000, 0x46900000 },
        .host_axi = { 0x008006800000, 0x008006900000,
                      0x808006800000, 0x808006900000 },
        .fis = { 0x8c000000, 0x9c400000, 0xac000000, 0xbc400000 },
        .hbm = { 0, 0x004000000000, 0x800000000000, 0x804000000000 },
        .stack_size = 0x600000000,
        .host_window = 0x400000000000, .misc = 0x06c84000,
        .bar0_size = 0x100000000, .bar4_size = 0x4000000000,
    }, {
        .name = "trainium3", .id = 0x75641d0f,
        .data = 128, .engines = 132, .per_block = 32, .cores = 8,
        .top_sps = 16, .stacks = 4, .dies = 2, .stride = 0x100000,
        .block = { 0x82000000, 0x94000000, 0xa2000000, 0xb4000000 },
        .block_axi = { 0x001002000000, 0x005004000000,
                       0x801002000000, 0x805004000000 },
        .host = { 0x06800000, 0x06900000, 0x46800000, 0x46900000 },
        .host_axi = { 0x008006800000, 0x008006900000,
                      0x808006800000, 0x808006900000 },
        .fis = { 0x8c000000, 0x9c400000, 0xac000000, 0xbc400000 },
        .hbm = { 0, 0x004000000000, 0x800000000000, 0x804000000000 },
        .stack_size = 0x900000000,
        .host_window = 0x400000000000, .misc = 0x06c84000,
        .bar0_size = 0x100000000, .bar4_size = 0x4000000000,
    }, {
        .name = "trainium4", .id = 0x76641d0f,
        .data = 128, .engines = 136, .per_block = 16, .cores = 8,
        .top_sps = 16, .stacks = 8, .dies = 4, .stride = 0x100000,
        .block = { 0x42000000, 0x54000000, 0x62000000, 0x74000000,
                   0x82000000, 0x94000000, 0xa2000000, 0xb4000000 },
        .block_axi = { 0x0001002000000, 0x0005004000000,
                       0x0801002000000, 0x0805004000000,
                       0x1001002000000, 0x1005004000000,
                       0x1801002000000, 0x1805004000000 },
        .host = { 0x06800000, 0x06900000, 0x16800000, 0x16900000,
                  0x26800000, 0x26900000, 0x36800000, 0x36900000 },
        .host_axi = { 0x0008006800000, 0x0008006900000,
                      0x0808006800000, 0x0808006900000,
                      0x1008006800000, 0x1008006900000,
                      0x1808006800000, 0x1808006900000 },
        .fis = { 0x4c000000, 0x5c400000, 0x6c000000, 0x7c400000,
                 0x8c000000, 0x9c400000, 0xac000000, 0xbc400000 },
        .hbm = { 0, 0x0004000000000, 0x0800000000000, 0x0804000000000,
                 0x1000000000000, 0x1004000000000,
                 0x1800000000000, 0x1804000000000 },
        .stack_size = 0x900000000,
        .host_window = 0x400000000000, .misc = 0x06c84000,
        .bar0_size = 0x100000000, .bar4_size = 0x400000000,
    }, {
        .name = "trainium1", .id = 0x71641d0f,
        .data = 32, .engines = 34, .per_block = 16, .cores = 2,
        .top_sps = 6, .stacks = 2, .dies = 1, .stride = 0x40000,
        .block = { 0x30000000, 0x30700000 },
        .block_axi = { 0xffff0000000, 0xffff0700000 },
        .host = { 0x30600000, 0x30d00000 },
        .host_axi = { 0xffff0600000, 0xffff0d00000 },
        .sdma = { 0x30400000, 0x30b00000, 0x30640000, 0x30d40000 },
        .hbm = { 0, 0x1000000000 },
        .stack_size = 0x400000000,
        .host_window = 0x100000000000, .misc = 0x30fa0000,
        .bar0_size = 0x40000000, .bar4_size = 0x800000000,
    },
};

const char *tq_model = "trainium2";
const TqGeneration *tq_gen = &generations[0];

static void tq_find_generation(uint32_t id)
{
    unsigned i = 0;

    while (generations[i].id != id) {
        g_assert_cmpint(++i, <, ARRAY_SIZE(generations));
    }
    tq_gen = &generations[i];
}

/* --- machine -------------------------------------------------------------- */

void tq_start_args(TqChip *c, const char *args, const char *props)
{
    QTestState *qts;

    qts = qtest_initf("-machine q35 -m %u -nodefaults %s "
                      "-device %s,id=chip0,addr=04.0%s%s",
                      TQ_RAM_MB, args ?: "", tq_model, props ? "," : "", props ?: "");
    tq_attach(c, qts, 0, 4 << 3, 0);
    tq_wait_firmware(c);
}

void tq_start(TqChip *c, const char *props)
{
    tq_start_args(c, NULL, props);
}

void tq_start_shared(TqChip *c, const char *args, const char *props)
{
    const size_t size = TQ_RAM_MB * 0x100000ull;
    g_autofree char *path = g_strdup_printf("%s/trainium-qtest-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *more = g_strdup_printf("-object memory-backend-file,id=ram,"
                                            "mem-path=%s,share=on,size=%uM "
                                            "-machine memory-backend=ram %s",
                                            path, TQ_RAM_MB, args ?: "");
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    void *ram;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, size), ==, 0);
    ram = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(ram != MAP_FAILED);
    close(fd);
    tq_start_args(c, more, props);
    c->ram = ram;
    unlink(path);
}

void tq_attach(TqChip *c, QTestState *qts, unsigned bus, unsigned devfn,
               unsigned n)
{
    *c = (TqChip) {
        .qts = qts,
        .bus = bus,
        .devfn = devfn,
        .heap = TQ_HEAP + n * 0x4000000ull,
    };
    /* PCIEXBAR of the q35 host bridge: extended configuration space */
    qtest_outl(qts, 0xcf8, 0x80000060);
    qtest_outl(qts, 0xcfc, TQ_ECAM | 1);
    tq_find_generation(tq_cfg_read(c, 0));
    tq_map(c, n);
}

void tq_adopt(TqChip *c, const TqChip *from, QTestState *qts)
{
    *c = *from;
    c->qts = qts;
    c->ram = NULL;
}

static void tq_map_bar(TqChip *c, unsigned bar, uint64_t addr)
{
    uint32_t lo = tq_cfg_read(c, 0x10 + 4 * bar);

    tq_cfg_write(c, 0x10 + 4 * bar, addr);
    if ((lo & 6) == 4) {
        tq_cfg_write(c, 0x14 + 4 * bar, addr >> 32);
    } else {
        g_assert_cmphex(addr >> 32, ==, 0);
    }
}

void tq_map(TqChip *c, unsigned n)
{
    c->bar0 = TQ_BAR0 + n * 0x100000000ull;
    c->bar2 = TQ_BAR2 + n * 0x20000ull;
    c->bar4 = TQ_BAR4 + n * 0x4000000000ull;
    tq_map_bar(c, 0, c->bar0);
    tq_map_bar(c, 2, c->bar2);
    /* an equal part of BAR4 each */
    tq_cfg_write(c, 0x20, 0xffffffff);
    tq_cfg_write(c, 0x24, 0xffffffff);
    c->pitch = -((uint64_t)tq_cfg_read(c, 0x24) << 32 |
                 (tq_cfg_read(c, 0x20) & ~0xfu)) / tq_gen->stacks;
    if (c->pitch) {
        tq_map_bar(c, 4, c->bar4);
    }
    tq_cfg_writew(c, 0x04, 0x0006);         /* memory, bus master */
}

void tq_setup_port(QTestState *qts, unsigned devfn, unsigned secondary)
{
    TqChip port = { .qts = qts, .devfn = devfn };

    tq_cfg_write(&port, 0x18, secondary << 16 | secondary << 8);
    tq_cfg_write(&port, 0x20, 0xe0f0e000);  /* memory: 16 MiB */
    tq_cfg_write(&port, 0x24, 0xfff10001);  /* prefetchable: 64 GiB.. */
    tq_cfg_write(&port, 0x28, 0x00000010);
    tq_cfg_write(&port, 0x2c, 0x000001ff);  /* ..2 TiB */
    tq_cfg_writew(&port, 0x04, 0x0006);
}

void tq_wait_firmware(TqChip *c)
{
    int i;

    for (i = 0; i < 200000; i++) {
        if (tq_misc_read(c, 0x24) != 0xdeadbeef &&
            !(tq_misc_read(c, 0x808) & 8)) {
            return;
        }
        tq_step(c);
    }
    g_test_message("firmware: 0x24 is 0x%x, 0x808 is 0x%x",
                   tq_misc_read(c, 0x24), tq_misc_read(c, 0x808));
    g_assert_not_reached();
}

void tq_stop(TqChip *c)
{
    qtest_quit(c->qts);
    c->qts = NULL;
    if (c->ram) {
        munmap(c->ram, TQ_RAM_MB * 0x100000ull);
        c->ram = NULL;
    }
}

/* --- configuration space -------------------------------------------------- */

static void tq_cfg_select(TqChip *c, unsigned off)
{
    qtest_outl(c->qts, 0xcf8,
               0x80000000u | c->bus << 16 | c->devfn << 8 | (off & 0xfc));
}

uint32_t tq_cfg_read(TqChip *c, unsigned off)
{
    tq_cfg_select(c, off);
    return qtest_inl(c->qts, 0xcfc);
}

uint16_t tq_cfg_readw(TqChip *c, unsigned off)
{
    tq_cfg_select(c, off);
    return qtest_inw(c->qts, 0xcfc + (off & 2));
}

uint8_t tq_cfg_readb(TqChip *c, unsigned off)
{
    tq_cfg_select(c, off);
    return qtest_inb(c->qts, 0xcfc + (off & 3));
}

void tq_cfg_write(TqChip *c, unsigned off, uint32_t value)
{
    tq_cfg_select(c, off);
    qtest_outl(c->qts, 0xcfc, value);
}

void tq_cfg_writew(TqChip *c, unsigned off, uint16_t value)
{
    tq_cfg_select(c, off);
    qtest_outw(c->qts, 0xcfc + (off & 2), value);
}

static uint64_t tq_ecfg(TqChip *c, unsigned off)
{
    return TQ_ECAM + (c->bus << 20) + (c->devfn << 12) + off;
}

uint32_t tq_ecfg_read(TqChip *c, unsigned off)
{
    return qtest_readl(c->qts, tq_ecfg(c, off));
}

void tq_ecfg_write(TqChip *c, unsigned off, uint32_t value)
{
    qtest_writel(c->qts, tq_ecfg(c, off), value);
}

uint8_t tq_find_cap(TqChip *c, uint8_t id)
{
    unsigned off, n = 0;

    for (off = tq_cfg_readb(c, 0x34); off; off = tq_cfg_readb(c, off + 1)) {
        if (tq_cfg_readb(c, off) == id) {
            return off;
        }
        g_assert_cmpint(++n, <, 48);
    }
    return 0;
}

uint16_t tq_find_ecap(TqChip *c, uint16_t id)
{
    unsigned off = 0x100, n = 0;
    uint32_t v;

    while (off) {
        v = tq_ecfg_read(c, off);
        if (!v || v == 0xffffffff) {
            break;
        }
        if ((v & 0xffff) == id) {
            return off;
        }
        off = v >> 20;
        g_assert_cmpint(++n, <, 64);
    }
    return 0;
}

/* --- registers ------------------------------------------------------------ */

uint32_t tq_read(TqChip *c, uint64_t off)
{
    return qtest_readl(c->qts, c->bar0 + off);
}

void tq_write(TqChip *c, uint64_t off, uint32_t value)
{
    if (c->record) {
        TqWrite w = { c->bar0 + off, value };

        g_array_append_val(c->record, w);
        return;
    }
    qtest_writel(c->qts, c->bar0 + off, value);
}

uint32_t tq_xread(TqChip *c, uint64_t off)
{
    return qtest_readl(c->qts, c->bar2 + off);
}

void tq_xwrite(TqChip *c, uint64_t off, uint32_t value)
{
    qtest_writel(c->qts, c->bar2 + off, value);
}

uint32_t tq_misc_read(TqChip *c, unsigned off)
{
    return tq_read(c, tq_gen->misc + off);
}

void tq_misc_write(TqChip *c, unsigned off, uint32_t value)
{
    tq_write(c, tq_gen->misc + off, value);
}

uint64_t tq_engine(unsigned e)
{
    const TqGeneration *g = tq_gen;

    return e < g->data ? g->block[e / g->per_block] +
                         e % g->per_block * g->stride : g->host[e - g->data];
}

uint64_t tq_engine_axi(unsigned e)
{
    const TqGeneration *g = tq_gen;

    return e < g->data ? g->block_axi[e / g->per_block] +
                         e % g->per_block * g->stride :
                         g->host_axi[e - g->data];
}

uint64_t tq_sdma(unsigned e)
{
    const TqGeneration *g = tq_gen;

    if (!g->sdma[0]) {
        return tq_engine(e) + 0x40000;
    }
    return e < g->data ? g->sdma[e / g->per_block] +
                         e % g->per_block * 0x7000 : g->sdma[2 + e - g->data];
}

uint64_t tq_fis(unsigned e)
{
    g_assert_cmpint(e, <, tq_gen->data);
    return tq_gen->fis[e / tq_gen->per_block] +
           e % tq_gen->per_block * 0x20000ull;
}

uint64_t tq_hbm(unsigned stack)
{
    return tq_gen->hbm[stack];
}

uint32_t tq_ereg(TqChip *c, unsigned engine, uint32_t off)
{
    return tq_read(c, tq_engine(engine) + off);
}

void tq_ewrite(TqChip *c, unsigned engine, uint32_t off, uint32_t value)
{
    tq_write(c, tq_engine(engine) + off, value);
}

/* --- memory --------------------------------------------------------------- */

uint64_t tq_alloc(TqChip *c, uint64_t size, uint64_t align)
{
    uint64_t addr = QEMU_ALIGN_UP(c->heap, align);

    g_assert_cmphex(addr + size, <=, TQ_HEAP_END);
    c->heap = addr + size;
    return addr;
}

uint64_t tq_phys(TqChip *c, uint64_t axi)
{
    unsigned stack = 0;

    if (axi & TQ_HOST) {
        return axi & ~TQ_HOST;
    }
    while (axi - tq_hbm(stack) >= tq_gen->stack_size) {
        g_assert_cmpint(++stack, <, tq_gen->stacks);
    }
    return c->bar4 + stack * c->pitch + (axi - tq_hbm(stack));
}

/* Long lines cost the protocol's two ends the square of their length. */
#define TQ_CHUNK 32768ull

void tq_put(TqChip *c, uint64_t axi, const void *buf, uint64_t len)
{
    uint64_t phys = tq_phys(c, axi), n, at;

    if (c->ram && (axi & TQ_HOST)) {
        memcpy(c->ram + phys, buf, len);
        return;
    }
    if (len < 64) {
        qtest_memwrite(c->qts, phys, buf, len);
        return;
    }
    for (at = 0; at < len; at += n) {
        n = MIN(len - at, TQ_CHUNK);
        qtest_bufwrite(c->qts, phys + at, (const uint8_t *)buf + at, n);
    }
}

void tq_get(TqChip *c, uint64_t axi, void *buf, uint64_t len)
{
    uint64_t phys = tq_phys(c, axi), n, at;

    if (c->ram && (axi & TQ_HOST)) {
        memcpy(buf, c->ram + phys, len);
        return;
    }
    if (len < 64) {
        qtest_memread(c->qts, phys, buf, len);
        return;
    }
    for (at = 0; at < len; at += n) {
        n = MIN(len - at, TQ_CHUNK);
        qtest_bufread(c->qts, phys + at, (uint8_t *)buf + at, n);
    }
}

void tq_check(TqChip *c, uint64_t axi, const void *expect, uint64_t len)
{
    g_autofree uint8_t *buf = g_malloc(len);
    uint64_t i;

    tq_get(c, axi, buf, len);
    if (memcmp(buf, expect, len)) {
        i = 0;
        while (buf[i] == ((const uint8_t *)expect)[i]) {
            i++;
        }
        g_test_message("0x%" PRIx64 " differs at 0x%" PRIx64, axi, i);
        g_assert_cmphex(buf[i], ==, ((const uint8_t *)expect)[i]);
    }
}

void tq_fill_random(void *buf, size_t len, uint32_t seed)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;
    uint8_t *p = buf;
    size_t i;

    for (i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p[i] = x >> 32;
    }
}

uint32_t tq_crc32c(const void *buf, size_t len)
{
    const uint8_t *p = buf;
    uint32_t crc = 0xffffffff;

    while (len--) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
    }
    return ~crc;
}

/* --- time ----------------------------------------------------------------- */

void tq_step(TqChip *c)
{
    qtest_clock_step(c->qts, 100 * 1000);
}

bool tq_poll(TqChip *c, uint64_t phys, uint32_t value, unsigned ms)
{
    gint64 end = g_get_monotonic_time() + ms * 1000ll;
    unsigned n;

    for (n = 0; ; n++) {
        if (qtest_readl(c->qts, phys) == value) {
            return true;
        }
        if (n > 50 && g_get_monotonic_time() > end) {
            return false;
        }
        tq_step(c);
        if (n > 20) {
            g_usleep(100);
        }
    }
}

void tq_wait(TqChip *c, uint64_t phys, uint32_t value)
{
    if (!tq_poll(c, phys, value, 60000)) {
        g_assert_cmphex(qtest_readl(c->qts, phys), ==, value);
    }
}

void tq_step_ms(TqChip *c, unsigned ms)
{
    qtest_clock_step(c->qts, ms * 1000000ll);
}

void tq_settle(TqChip *c)
{
    int i;

    for (i = 0; i < 30; i++) {
        tq_step(c);
        g_usleep(500);
    }
}

/* --- engines -------------------------------------------------------------- */

static void tq_rmw(TqChip *c, uint64_t off, uint32_t bits, uint64_t also)
{
    uint32_t v = tq_read(c, off) | bits;

    tq_write(c, off, v);
    if (also) {
        tq_write(c, also, v);
    }
}

/* Trainium1: detection of errors on the AXI, and their interrupts */
static void tq_init_axi_errors(TqChip *c, uint64_t b)
{
    static const unsigned word[] = { 1, 2, 3, 9, 10, 11 };
    static const unsigned group[] = {
        0x3ad00, 0x3ae00, 0x3af00, 0x3b000, 0x3b100, 0x3b200,
    };
    unsigned i, n;

    for (i = 0; i < 6; i++) {
        for (n = 0; n < 6; n++) {
            tq_write(c, b + 0x3a900 + i * 0x40 + word[n] * 4, 0xf);
        }
    }
    for (i = 0; i < 6; i++) {
        for (n = 0; n < 16; n++) {
            tq_write(c, b + 0x3ab00 + i * 8, n << 3 | 7);
            tq_write(c, b + 0x3ab04 + i * 8, 0x10);
        }
    }
    for (i = 0; i < 6; i++) {
        tq_write(c, b + group[i] + 0x28, 0x28);
        tq_write(c, b + group[i] + 0x30, 0);
        tq_write(c, b + group[i] + 0x18, 0);
    }
    tq_write(c, b + 0x3a300, 0xffffffff);
}

/* Writes and values in the order of the reference. */
void tq_init_engine(TqChip *c, unsigned e)
{
    static const uint32_t irq[][2] = {
        { 0x3a028, 0x28 }, { 0x380e8, 0x28 }, { 0x3a030, 0xf0000000 },
        { 0x3a0b0, 0xffffffc0 }, { 0x3a018, 0xf0000000 },
        { 0x3a098, 0xffffffc0 }, { 0x380d8, 0xfffffaff },
        { 0x3a068, 0x28 }, { 0x380e8, 0x28 }, { 0x3a070, 0x000010f8 },
        { 0x3a0b0, 0xfffff03f }, { 0x3a058, 0x000010f8 },
        { 0x3a098, 0xfffff03f }, { 0x380d8, 0xfffff9ff },
    };
    static const uint32_t tail[][2] = {
        { 0x20380, 0x00001004 }, { 0x00304, 0x00010041 },
        { 0x00308, 0x00004181 }, { 0x20308, 0x00004181 },
        { 0x0011c, 0x00010008 }, { 0x2011c, 0x00010008 },
    };
    uint64_t b = tq_engine(e);
    bool v2 = tq_gen->id == 0x71641d0f, v3 = tq_gen->id == 0x73641d0f;
    unsigned q, i, n = e % 16;

    if (v2 && e < tq_gen->data) {
        tq_write(c, tq_sdma(e) + 0x100, 0xffff & ~(0x1ffff << (16 - n)));
        tq_write(c, tq_sdma(e) + 0x104,
                 n == 15 || (n < 10 && n % 3 == 0) ? 0xffff : 0);
    }
    for (q = 0; q < 16; q++) {
        tq_write(c, b + 0x1020 + q * 0x1000, 0x00030000);
        tq_write(c, b + 0x21020 + q * 0x1000, 0x00030000);
    }
    tq_write(c, b + 0x00310, v2 ? 0x01000400 : 0x010008f8);
    tq_write(c, b + 0x00124, v2 ? 0x0000086f : 0x20808080);
    tq_write(c, b + 0x3a300, 0x05f5e100);
    tq_write(c, b + 0x00408, 0);
    tq_write(c, b + 0x00254, 0x010fffff);
    tq_write(c, b + 0x00258, 0x00000102);
    for (q = 0; q < 16; q++) {
        tq_write(c, b + 0x3c400 + q * 0x40, 0xffffffff);
    }
    tq_write(c, b + 0x00118, 0x00010008);
    tq_write(c, b + 0x2038c, 0);
    for (q = 0; q < 16; q++) {
        for (i = 1; i < 4; i++) {
            tq_write(c, b + 0x3c400 + q * 0x40 + i * 4, 0xffffffff);
        }
    }
    tq_write(c, b + 0x20124, v2 ? 0x00400008 : 0x00400080);
    tq_write(c, b + 0x20128, 0x40804080);
    if (!v2 && !v3) {
        tq_write(c, b + 0x2012c, (tq_read(c, b + 0x2012c) & ~0x3ffu) | 0x100);
    }
    tq_write(c, b + 0x3b460, tq_read(c, b + 0x3b460) & ~1u);
    for (i = 0; i < ARRAY_SIZE(irq); i++) {
        tq_write(c, b + irq[i][0], irq[i][1]);
    }
    for (i = 0; i < ARRAY_SIZE(tail); i++) {
        tq_write(c, b + tail[i][0], tail[i][1]);
    }
    tq_write(c, tq_sdma(e) + 0x1c, 1);
    tq_write(c, tq_sdma(e) + 0x20, 1);
    tq_write(c, tq_sdma(e) + 0x00, 1);
    if (v2) {
        tq_init_axi_errors(c, b);
        return;
    }
    tq_write(c, tq_sdma(e) + 0x800, 0x26);
    if (e < tq_gen->data) {
        tq_rmw(c, b + 0x3a010, 0x20000, b + 0x3a030);
        tq_rmw(c, b + 0x3a050, 0x800, b + 0x3a070);
        tq_rmw(c, tq_fis(e) + 0x90, 0x800, 0);
        tq_rmw(c, tq_fis(e) + 0xd0, 0x4, 0);
        tq_rmw(c, b + 0x0020c, 0x20000, 0);
        tq_rmw(c, b + 0x2020c, 0x800, 0);
    }
}

uint64_t tq_m2s_reg(TqQueue *q, unsigned off)
{
    return tq_engine(q->engine) + 0x1000 + q->q * 0x1000 + off;
}

uint64_t tq_s2m_reg(TqQueue *q, unsigned off)
{
    return tq_engine(q->engine) + 0x21000 + q->q * 0x1000 + off;
}

void tq_init_queue_at(TqQueue *q, TqChip *c, unsigned engine, unsigned nr,
                      uint64_t m2s, uint32_t m2s_len,
                      uint64_t s2m, uint32_t s2m_len)
{
    *q = (TqQueue) {
        .c = c,
        .engine = engine,
        .q = nr,
        .m2s = { .axi = m2s, .len = m2s_len, .rid = 1 },
        .s2m = { .axi = s2m, .len = s2m_len, .rid = 1 },
        .mark = tq_alloc(c, 8, 8),
    };
    tq_write(c, tq_m2s_reg(q, 0x74), 3);
    tq_write(c, tq_m2s_reg(q, 0x20), 0x03000000);
    tq_write(c, tq_m2s_reg(q, 0xb0), 0x100);
    tq_write(c, tq_m2s_reg(q, 0x28), m2s);
    tq_write(c, tq_m2s_reg(q, 0x2c), m2s >> 32);
    tq_write(c, tq_m2s_reg(q, 0x30), m2s_len);
    tq_write(c, tq_m2s_reg(q, 0xa0), 0);
    tq_write(c, tq_m2s_reg(q, 0x20), 0x03030000);
    tq_write(c, tq_s2m_reg(q, 0x20), 0x03000000);
    tq_write(c, tq_s2m_reg(q, 0x64), 0x100);
    tq_write(c, tq_s2m_reg(q, 0x28), s2m);
    tq_write(c, tq_s2m_reg(q, 0x2c), s2m >> 32);
    tq_write(c, tq_s2m_reg(q, 0x30), s2m_len);
    tq_write(c, tq_s2m_reg(q, 0x54), 0);
    tq_write(c, tq_s2m_reg(q, 0x20), 0x03030000);
}

void tq_init_queue(TqQueue *q, TqChip *c, unsigned engine, unsigned nr,
                   uint32_t len)
{
    uint64_t m2s = tq_alloc(c, len * 16ull, 256);
    uint64_t s2m = tq_alloc(c, len * 16ull, 256);

    tq_init_queue_at(q, c, engine, nr, TQ_HOST | m2s, len, TQ_HOST | s2m, len);
}

static void tq_flush_ring(TqChip *c, TqRing *r)
{
    uint32_t first = (r->next ? r->next : r->len) - r->staged;

    if (r->staged) {
        tq_put(c, r->axi + first * 16ull, r->stage, r->staged * 16);
        r->staged = 0;
    }
}

void tq_flush(TqQueue *q)
{
    tq_flush_ring(q->c, &q->m2s);
    tq_flush_ring(q->c, &q->s2m);
}

static void tq_desc(TqChip *c, TqRing *r, uint32_t word0, uint32_t word1,
                    uint64_t axi)
{
    uint32_t *d = r->stage[r->staged++];

    d[0] = cpu_to_le32(word0 | r->rid << 24);
    d[1] = cpu_to_le32(word1);
    d[2] = cpu_to_le32(axi);
    d[3] = cpu_to_le32(axi >> 32);
    r->fresh++;
    if (++r->next == r->len) {
        r->next = 0;
        r->rid = (r->rid + 1) & 3;
    }
    if (!r->next || r->staged == TQ_STAGE) {
        tq_flush_ring(c, r);
    }
}

void tq_m2s(TqQueue *q, uint64_t axi, uint32_t len, uint32_t flags,
            uint32_t meta)
{
    tq_desc(q->c, &q->m2s, (len & 0xffff) | flags, meta, axi);
}

void tq_s2m(TqQueue *q, uint64_t axi, uint32_t len, uint32_t flags)
{
    tq_desc(q->c, &q->s2m, (len & 0xffff) | flags, 0, axi);
}

void tq_pair(TqQueue *q, uint64_t dst, uint64_t src, uint32_t len,
             uint32_t m2s_flags, uint32_t meta, uint32_t s2m_flags)
{
    tq_m2s(q, src, len, TQ_FIRST | TQ_LAST | m2s_flags, TQ_COPY | meta);
    tq_s2m(q, dst, len, s2m_flags);
}

void tq_ring_s2m(TqQueue *q, uint32_t n)
{
    tq_flush_ring(q->c, &q->s2m);
    tq_write(q->c, tq_s2m_reg(q, 0x38), n);
    q->s2m.fresh = 0;
}

void tq_ring_m2s(TqQueue *q, uint32_t n)
{
    tq_flush_ring(q->c, &q->m2s);
    tq_write(q->c, tq_m2s_reg(q, 0x38), n);
    q->m2s.fresh = 0;
}

void tq_kick(TqQueue *q)
{
    tq_ring_s2m(q, q->s2m.fresh);
    tq_ring_m2s(q, q->m2s.fresh);
}

void tq_copy(TqQueue *q, uint64_t dst, uint64_t src, uint64_t len)
{
    uint64_t n;

    for (; len; len -= n, dst += n, src += n) {
        n = MIN(len, 65536);
        tq_pair(q, dst, src, n, 0, n == len ? TQ_BARRIER : 0, 0);
    }
}

void tq_add_marker(TqQueue *q)
{
    uint32_t words[2] = { cpu_to_le32(TQ_MARK), 0 };

    tq_put(q->c, TQ_HOST | q->mark, words, 8);
    tq_pair(q, TQ_HOST | (q->mark + 4), TQ_HOST | q->mark, 4, 0, 0, TQ_STRONG);
}

void tq_finish(TqQueue *q)
{
    tq_add_marker(q);
    tq_kick(q);
    tq_wait(q->c, q->mark + 4, TQ_MARK);
}

bool tq_marker_seen(TqQueue *q)
{
    return qtest_readl(q->c->qts, q->mark + 4) == TQ_MARK;
}

/* --- properties ------------------------------------------------------------ */

static bool tq_set_ok(TqChip *c, const char *prop, const char *json)
{
    QDict *r = qtest_qmp(c->qts, "{ 'execute': 'qom-set', 'arguments': { "
                         "'path': '/machine/peripheral/chip0', "
                         "'property': %s, 'value': %p } }", prop,
                         qobject_from_json(json, &error_abort));
    bool ok = qdict_haskey(r, "return");

    qobject_unref(r);
    return ok;
}

void tq_set(TqChip *c, const char *prop, const char *json)
{
    g_assert(tq_set_ok(c, prop, json));
}

void tq_set_fails(TqChip *c, const char *prop, const char *json)
{
    g_assert(!tq_set_ok(c, prop, json));
}
