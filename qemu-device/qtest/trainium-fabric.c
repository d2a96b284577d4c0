/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the tests of the fabric. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "trainium-fabric.h"

#define ENGINE 4
#define FABRIC 0x10000

void tf_init_queue(TfMachine *m, unsigned chip)
{
    tq_init_engine(&m->c[chip], ENGINE);
    tq_init_queue(&m->q[chip], &m->c[chip], ENGINE, 0, 1024);
}

void tf_start(TfMachine *m, unsigned n, const char *fabric, const char *chip)
{
    tf_start_ids(m, n, NULL, fabric, chip);
}

void tf_start_ids(TfMachine *m, unsigned n, const unsigned *ids,
                  const char *fabric, const char *chip)
{
    g_autoptr(GString) args = g_string_new(NULL);
    unsigned i;

    g_assert_cmpint(n, <=, TF_CHIPS);
    g_string_append_printf(args, "-machine q35 -m %u -nodefaults -object "
                           "neuron-fabric,id=f0,%s", TQ_RAM_MB, fabric);
    for (i = 0; i < n; i++) {
        g_string_append_printf(args, " -device %s,id=chip%u,"
                               "addr=%02x.%u%s,fabric=f0,hbm-size=256M%s%s",
                               tq_model, i,
                               4 + i / 8, i % 8,
                               i % 8 ? "" : ",multifunction=on",
                               chip ? "," : "", chip ?: "");
        if (ids) {
            g_string_append_printf(args, ",fabric-id=%u", ids[i]);
        }
    }
    *m = (TfMachine) { .qts = qtest_init(args->str), .n = n };
    for (i = 0; i < n; i++) {
        tq_attach(&m->c[i], m->qts, 0, (4 + i / 8) << 3 | i % 8, i);
        m->c[i].heap = TQ_HEAP + i * 0x600000ull;
    }
    for (i = 0; i < n; i++) {
        tq_wait_firmware(&m->c[i]);
        tf_init_queue(m, i);
    }
}

void tf_stop(TfMachine *m)
{
    qtest_quit(m->qts);
}

static bool set_ok(TfMachine *m, const char *prop, const char *value)
{
    QDict *r = qtest_qmp(m->qts, "{ 'execute': 'qom-set', 'arguments': { "
                         "'path': '/objects/f0', 'property': %s, "
                         "'value': %s } }", prop, value);
    bool ok = qdict_haskey(r, "return");

    qobject_unref(r);
    return ok;
}

void tf_set(TfMachine *m, const char *prop, const char *value)
{
    g_assert(set_ok(m, prop, value));
}

void tf_set_fails(TfMachine *m, const char *prop, const char *value)
{
    g_assert(!set_ok(m, prop, value));
}

/* --- registers --- */

uint32_t tf_read(TqChip *c, unsigned off)
{
    return tq_xread(c, FABRIC + off);
}

uint64_t tf_read64(TqChip *c, unsigned off)
{
    uint32_t lo = tf_read(c, off);

    return lo | (uint64_t)tf_read(c, off + 4) << 32;
}

void tf_write(TqChip *c, unsigned off, uint32_t value)
{
    tq_xwrite(c, FABRIC + off, value);
}

uint32_t tf_port(TqChip *c, unsigned port, unsigned off)
{
    return tf_read(c, 0x1000 + port * 0x100 + off);
}

void tf_port_write(TqChip *c, unsigned port, unsigned off, uint32_t value)
{
    tf_write(c, 0x1000 + port * 0x100 + off, value);
}

unsigned tf_state(TqChip *c, unsigned port)
{
    return tf_port(c, port, 0x40) & 0xff;
}

unsigned tf_reason(TqChip *c, unsigned port)
{
    return tf_port(c, port, 0x40) >> 8 & 0xff;
}

uint64_t tf_count(TqChip *c, unsigned port, unsigned counter)
{
    tf_port_write(c, port, 0x30, 4);
    return tf_read64(c, 0x1000 + port * 0x100 + 0x88 + counter * 8);
}

uint64_t tf_sum(TqChip *c, unsigned counter)
{
    unsigned i, n = tf_read(c, 0x08);
    uint64_t sum = 0;

    for (i = 0; i < n; i++) {
        sum += tf_count(c, i, counter);
    }
    return sum;
}

unsigned tf_path(TqChip *c, unsigned dst)
{
    tf_write(c, 0x40, dst);
    return tf_read(c, 0x44) & 0xff;
}

void tf_step_us(TfMachine *m, unsigned us)
{
    qtest_clock_step(m->qts, us * 1000ll);
}

/* --- DMA --- */

uint64_t tf_unicast(unsigned chip, uint64_t axi)
{
    return 1ull << 63 | (uint64_t)chip << 49 | axi;
}

void tf_copy(TfMachine *m, unsigned chip, uint64_t dst, uint64_t src,
             uint64_t len)
{
    tq_copy(&m->q[chip], dst, src, len);
    tq_finish(&m->q[chip]);
}

/* All 16 queues of both sides, then state normal */
void tf_recover(TfMachine *m, unsigned chip)
{
    TqChip *c = &m->c[chip];
    unsigned i;

    for (i = 0; i < 16; i++) {
        tq_ewrite(c, ENGINE, 0x1000 + i * 0x1000 + 0xb0, 0x100);
        tq_ewrite(c, ENGINE, 0x21000 + i * 0x1000 + 0x64, 0x100);
    }
    tq_ewrite(c, ENGINE, 0x204, 1);
    tq_ewrite(c, ENGINE, 0x20204, 1);
    tf_init_queue(m, chip);
}

void tf_copy_fails(TfMachine *m, unsigned chip, uint64_t dst, uint64_t src,
                   uint64_t len, unsigned status, uint64_t addr)
{
    TqChip *c = &m->c[chip];
    uint32_t errors = tf_read(c, 0x6c);
    unsigned i;

    tq_copy(&m->q[chip], dst, src, len);
    tq_add_marker(&m->q[chip]);
    tq_kick(&m->q[chip]);
    for (i = 0; i < 2000 && tf_read(c, 0x6c) == errors; i++) {
        tq_step(c);
        g_usleep(100);
    }
    g_assert_cmphex(tf_read(c, 0x60), ==,
                    0x80000000 | ENGINE << 8 | status);
    g_assert_cmphex(tf_read64(c, 0x64), ==, addr);
    g_assert_cmpint(tf_read(c, 0x6c), ==, errors + 1);
    tq_settle(c);
    g_assert(!tq_marker_seen(&m->q[chip]));
    tf_write(c, 0x60, 0);
    g_assert_cmphex(tf_read(c, 0x60), ==, 0);
    tf_recover(m, chip);
}
