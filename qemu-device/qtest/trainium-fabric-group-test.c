/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of chips: life, multicast store, reduce-read; and accumulation by the
 * DMA engine. Sums are compared with arithmetic of this file's own: codes are
 * decoded to doubles, and the nearest code of a result is searched for.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "trainium-fabric.h"

#include <math.h>

#define NVLINK_PORTS 36
#define LEN 4096

/* Results of a command, states */
enum { OK, INVALID, NO_GROUP, FULL, DENIED, BUSY, BROKEN, UNSUPPORTED };
enum { CREATE = 1, JOIN, BIND, UNBIND, LEAVE, DESTROY, QUERY };
enum { FORMING, READY, IS_BROKEN };
enum { INT32, UINT32, INT64, FP16, BF16, FP32, E4M3, E5M2, NUM_DTYPES };
enum { SUM, MINIMUM, MAXIMUM, NUM_OPS };

static unsigned command(TqChip *c, uint32_t id, uint32_t arg, unsigned cmd)
{
    tf_write(c, 0x80, id);
    tf_write(c, 0x84, arg);
    tf_write(c, 0x98, cmd);
    return tf_read(c, 0x9c);
}

static unsigned bind_memory(TqChip *c, uint32_t id, uint32_t slot,
                            uint64_t addr, uint64_t size)
{
    tf_write(c, 0x88, addr);
    tf_write(c, 0x8c, addr >> 32);
    tf_write(c, 0x90, size);
    tf_write(c, 0x94, size >> 32);
    return command(c, id, slot, BIND);
}

static unsigned state(TqChip *c, uint32_t id)
{
    g_assert_cmpint(command(c, id, 0, QUERY), ==, OK);
    return tf_read(c, 0xa0);
}

static uint64_t group_addr(unsigned type, uint32_t id, unsigned slot,
                           uint64_t offset)
{
    return 1ull << 63 | (uint64_t)type << 60 | (uint64_t)id << 49 |
           (uint64_t)slot << 44 | offset;
}

/* Chips 0..n-1; each binds 1 MiB of stack 1 from 64 KiB times its number on */
static uint64_t bound_at(unsigned chip)
{
    return tq_hbm(1) + chip * 0x10000;
}

static uint32_t make_group(TfMachine *m, unsigned n)
{
    uint32_t id;
    unsigned i;

    g_assert_cmpint(command(&m->c[0], 0, n, CREATE), ==, OK);
    id = tf_read(&m->c[0], 0x80);
    for (i = 0; i < n; i++) {
        g_assert_cmpint(command(&m->c[i], id, 0, JOIN), ==, OK);
    }
    for (i = 0; i < n; i++) {
        g_assert_cmpint(bind_memory(&m->c[i], id, 3, bound_at(i), 0x100000),
                        ==, OK);
    }
    return id;
}

/* --- life --- */

static void test_life(void)
{
    TfMachine m;
    uint32_t id, i;

    tf_start(&m, 3, "kind=nvlink,chips=4", NULL);
    g_assert_cmphex(tf_read(&m.c[0], 0x04), ==, 3);
    g_assert_cmphex(tf_read(&m.c[0], 0xa8), ==, 1024 | 32 << 16);
    g_assert_cmphex(tf_read(&m.c[0], 0xac), ==, 0x10000);
    g_assert_cmphex(tf_read(&m.c[0], 0xb0), ==, 0xff);
    g_assert_cmphex(tf_read(&m.c[0], 0xb4), ==, 7);
    g_assert_cmpint(command(&m.c[0], 0, 0, CREATE), ==, INVALID);
    g_assert_cmpint(command(&m.c[0], 0, 5, CREATE), ==, INVALID);
    g_assert_cmpint(command(&m.c[0], 7, 0, JOIN), ==, NO_GROUP);
    g_assert_cmpint(command(&m.c[0], 0xffffffff, 0, JOIN), ==, NO_GROUP);

    g_assert_cmpint(command(&m.c[1], 0, 2, CREATE), ==, OK);
    id = tf_read(&m.c[1], 0x80);
    g_assert_cmpint(command(&m.c[1], id, 0, 99), ==, INVALID);
    g_assert_cmpint(command(&m.c[1], id, 0, LEAVE), ==, DENIED);
    g_assert_cmpint(bind_memory(&m.c[1], id, 0, 0, 0x10000), ==, DENIED);
    g_assert_cmpint(command(&m.c[2], id, 0, JOIN), ==, OK);
    g_assert_cmpint(command(&m.c[2], id, 0, JOIN), ==, BUSY);
    g_assert_cmpint(state(&m.c[0], id), ==, FORMING);
    g_assert_cmphex(tf_read(&m.c[0], 0xa4), ==, 1 | 2 << 16);
    g_assert_cmpint(bind_memory(&m.c[2], id, 0, 0, 0x10000), ==, BUSY);
    g_assert_cmpint(command(&m.c[0], id, 0, JOIN), ==, OK);
    g_assert_cmpint(command(&m.c[1], id, 0, JOIN), ==, FULL);
    g_assert_cmpint(state(&m.c[1], id), ==, READY);

    /* what can be bound */
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0, 0), ==, INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 32, 0, 0x10000), ==, INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0x1000, 0x10000), ==, INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0, 0x1000), ==, INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0x3ff0000, 0x20000), ==,
                    INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0, ~0xffffull), ==, INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, TQ_HOST, 0x10000), ==,
                    INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, tf_unicast(1, 0), 0x10000),
                    ==, INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0x002000000000, 0x10000), ==,
                    INVALID);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0, 0x10000), ==, OK);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0, 0x10000), ==, BUSY);
    g_assert_cmpint(command(&m.c[0], id, 1, UNBIND), ==, INVALID);
    g_assert_cmpint(command(&m.c[0], id, 40, UNBIND), ==, INVALID);
    g_assert_cmpint(command(&m.c[0], id, 0, UNBIND), ==, OK);
    g_assert_cmpint(bind_memory(&m.c[0], id, 0, 0, 0x10000), ==, OK);

    /* a member leaves: the others are told, and it cannot be mended */
    g_assert_cmphex(tf_read(&m.c[1], 0x30) & 2, ==, 0);
    g_assert_cmpint(command(&m.c[2], id, 0, LEAVE), ==, OK);
    for (i = 0; i < 3; i++) {
        g_assert_cmphex(tf_read(&m.c[i], 0x30) & 2, ==, i < 2 ? 2 : 0);
        g_assert_cmphex(tf_read(&m.c[i], 0x3c), ==, i < 2 ? id : 0xffffffff);
        g_assert_cmphex(tf_read(&m.c[i], 0x3c), ==, 0xffffffff);
        tf_write(&m.c[i], 0x30, 2);
        g_assert_cmphex(tf_read(&m.c[i], 0x30) & 2, ==, 0);
    }
    g_assert_cmpint(state(&m.c[1], id), ==, IS_BROKEN);
    g_assert_cmpint(command(&m.c[2], id, 0, JOIN), ==, BROKEN);
    g_assert_cmpint(bind_memory(&m.c[0], id, 1, 0, 0x10000), ==, BROKEN);
    g_assert_cmpint(command(&m.c[0], id, 0, DESTROY), ==, DENIED);
    g_assert_cmpint(command(&m.c[1], id, 0, DESTROY), ==, OK);
    g_assert_cmpint(command(&m.c[1], id, 0, QUERY), ==, NO_GROUP);
    g_assert_cmphex(tf_read(&m.c[0], 0x3c), ==, 0xffffffff);

    /* as many as there are */
    for (i = 0; i < 1024; i++) {
        g_assert_cmpint(command(&m.c[i % 3], 0, 1 + i % 4, CREATE), ==, OK);
    }
    g_assert_cmpint(command(&m.c[0], 0, 1, CREATE), ==, FULL);
    tf_stop(&m);

    tf_start(&m, 2, "kind=neuronlink", NULL);
    g_assert_cmphex(tf_read(&m.c[0], 0x04), ==, 0);
    g_assert_cmphex(tf_read(&m.c[0], 0xa8), ==, 0);
    g_assert_cmpint(command(&m.c[0], 0, 2, CREATE), ==, UNSUPPORTED);
    tf_stop(&m);
}

static void device_reset(TqChip *c)
{
    tq_misc_write(c, 0x1ec, 1);
    tq_misc_write(c, 0x800, 1);
    tq_step_ms(c, 35);
    tq_wait_firmware(c);
}

/* Why a group breaks, and what accesses say then */
static void test_broken(void)
{
    static const char *const why[] = {
        "reset", "owner reset", "link", "switches", "partition", "destroyed",
    };
    unsigned i, k;

    for (i = 0; i < ARRAY_SIZE(why); i++) {
        bool owner = i == 1 || i == 5;
        TfMachine m;
        uint32_t id;
        uint64_t addr;

        tf_start(&m, 3, "kind=nvlink,chips=4", NULL);
        id = make_group(&m, 3);
        addr = group_addr(1, id, 3, 0);
        tf_copy(&m, 1, addr, 0, 64);
        switch (i) {
        case 0:
            device_reset(&m.c[2]);
            break;
        case 1:
            device_reset(&m.c[0]);
            break;
        case 2: {
            g_autoptr(GString) s = g_string_new("pull=2.0");

            for (k = 1; k < NVLINK_PORTS; k++) {
                g_string_append_printf(s, ";pull=2.%u", k);
            }
            tf_set(&m, "faults", s->str);
            break;
        }
        case 3:
            tf_set(&m, "faults", "off=s0;off=s1;off=s2;off=s3;off=s4;off=s5;"
                   "off=s6;off=s7;off=s8");
            break;
        case 4:
            tf_set(&m, "partitions", "0-1,2-3");
            g_assert_cmphex(tf_read(&m.c[2], 0x18), ==, 1 << 16 | 1);
            g_assert_cmphex(tf_read(&m.c[2], 0x30) & 4, ==, 4);
            break;
        case 5:
            g_assert_cmpint(command(&m.c[0], id, 0, DESTROY), ==, OK);
            break;
        }
        /* nothing but the reset of a member may make it whole again */
        tf_set(&m, "faults", "");
        tf_set(&m, "partitions", "");
        tf_step_us(&m, 12000);
        tf_init_queue(&m, 1);
        g_test_message("%s", why[i]);
        g_assert_cmphex(tf_read(&m.c[1], 0x30) & 2, ==, 2);
        g_assert_cmphex(tf_read(&m.c[1], 0x3c), ==, id);
        tf_copy_fails(&m, 1, addr, 0, 64, owner ? ST_NO_GROUP : ST_BROKEN,
                      addr);
        tf_stop(&m);
    }
}

/* --- multicast --- */

static void test_multicast(void)
{
    uint8_t buf[10000], zero[16] = {};
    uint64_t packets = DIV_ROUND_UP(sizeof(buf), 256);
    unsigned i;
    TfMachine m;
    uint32_t id;

    tf_start(&m, 4, "kind=nvlink", NULL);
    id = make_group(&m, 3);
    tq_fill_random(buf, sizeof(buf), 3);
    tq_put(&m.c[1], tq_hbm(0), buf, sizeof(buf));
    tf_copy(&m, 1, group_addr(1, id, 3, 0x1234), tq_hbm(0), sizeof(buf));
    for (i = 0; i < 3; i++) {
        tq_check(&m.c[i], bound_at(i) + 0x1234, buf, sizeof(buf));
        tq_check(&m.c[i], bound_at(i) + 0x1234 - 16, zero, 16);
        tq_check(&m.c[i], bound_at(i) + 0x1234 + sizeof(buf), zero, 16);
        /* once in, once out to each member */
        g_assert_cmpint(tf_sum(&m.c[i], TX_BYTES), ==,
                        i == 1 ? sizeof(buf) : 0);
        g_assert_cmpint(tf_sum(&m.c[i], RX_BYTES), ==, sizeof(buf));
        g_assert_cmpint(tf_sum(&m.c[i], RX_PACKETS), ==, packets);
        g_assert_cmpint(tf_sum(&m.c[i], MULTICASTS), ==,
                        i == 1 ? 2 * packets : packets);
    }
    g_assert_cmpint(tf_sum(&m.c[3], RX_BYTES), ==, 0);
    /* the end of what is bound; not a member; not bound; not to be read */
    tf_copy(&m, 1, group_addr(1, id, 3, 0xffff0), tq_hbm(0), 16);
    tf_copy_fails(&m, 1, group_addr(1, id, 3, 0x100000), tq_hbm(0), 16,
                  ST_ADDRESS, group_addr(1, id, 3, 0x100000));
    tf_copy_fails(&m, 3, group_addr(1, id, 3, 0), tq_hbm(0), 16, ST_NO_GROUP,
                  group_addr(1, id, 3, 0));
    tf_copy_fails(&m, 1, group_addr(1, id, 4, 0), tq_hbm(0), 16, ST_UNBOUND,
                  group_addr(1, id, 4, 0));
    tf_copy_fails(&m, 1, tq_hbm(0), group_addr(1, id, 3, 0), 16, ST_BAD_OP,
                  group_addr(1, id, 3, 0));
    tf_copy_fails(&m, 1, group_addr(2, id, 3, 0), tq_hbm(0), 16, ST_BAD_OP,
                  group_addr(2, id, 3, 0));
    tf_copy_fails(&m, 1, group_addr(1, 1023, 3, 0), tq_hbm(0), 16,
                  ST_NO_GROUP, group_addr(1, 1023, 3, 0));
    tf_copy_fails(&m, 1, group_addr(1, 2047, 3, 0), tq_hbm(0), 16,
                  ST_NO_GROUP, group_addr(1, 2047, 3, 0));
    g_assert_cmpint(command(&m.c[2], id, 3, UNBIND), ==, OK);
    tf_copy_fails(&m, 1, group_addr(1, id, 3, 0), tq_hbm(0), 16, ST_UNBOUND,
                  group_addr(1, id, 3, 0));
    tf_stop(&m);
}

/* --- arithmetic, independently --- */

typedef struct Type {
    unsigned size, exponent, fraction;  /* bits; exponent 0: integer */
} Type;

static const Type types[NUM_DTYPES] = {
    [INT32] = { 4 }, [UINT32] = { 4 }, [INT64] = { 8 },
    [FP16] = { 2, 5, 10 }, [BF16] = { 2, 8, 7 }, [FP32] = { 4, 8, 23 },
    [E4M3] = { 1, 4, 3 }, [E5M2] = { 1, 5, 2 },
};

static uint64_t code_at(const uint8_t *p, unsigned size)
{
    uint64_t v = 0;

    while (size--) {
        v = v << 8 | p[size];
    }
    return v;
}

/* Positive codes are in the order of their values. */
static double value_of(unsigned dtype, uint32_t code)
{
    const Type *t = &types[dtype];
    uint32_t e = code >> t->fraction, f = code & ((1u << t->fraction) - 1);
    int bias = (1 << (t->exponent - 1)) - 1;

    return e ? ldexp(1 + ldexp(f, -(int)t->fraction), (int)e - bias)
             : ldexp(f, 1 - bias - (int)t->fraction);
}

static uint32_t last_finite(unsigned dtype)
{
    const Type *t = &types[dtype];

    return dtype == E4M3 ? 0x7e :
           (((1u << t->exponent) - 1) << t->fraction) - 1;
}

static uint32_t nan_code(unsigned dtype)
{
    static const uint32_t code[NUM_DTYPES] = {
        [FP16] = 0x7e00, [BF16] = 0x7fc0, [FP32] = 0x7fc00000,
        [E4M3] = 0x7f, [E5M2] = 0x7e,
    };

    return code[dtype];
}

static float decode(unsigned dtype, uint32_t code)
{
    unsigned bits = types[dtype].size * 8;
    uint32_t c = code & ((1ull << (bits - 1)) - 1);
    float v = c <= last_finite(dtype) ? value_of(dtype, c) :
              c == last_finite(dtype) + 1 && dtype != E4M3 ? INFINITY : NAN;

    return code >> (bits - 1) ? -v : v;
}

static uint32_t encode(unsigned dtype, float v)
{
    uint32_t lo = 0, hi = last_finite(dtype) + 1, sign;
    double x = fabs(v);

    sign = signbit(v) ? 1u << (types[dtype].size * 8 - 1) : 0;
    if (isnan(v)) {
        return nan_code(dtype);
    }
    if (!isinf(v)) {
        /* lo is the last code not above x */
        while (hi - lo > 1) {
            uint32_t mid = lo + (hi - lo) / 2;

            if (value_of(dtype, mid) <= x) {
                lo = mid;
            } else {
                hi = mid;
            }
        }
        if (x - value_of(dtype, lo) < value_of(dtype, hi) - x ||
            (x - value_of(dtype, lo) == value_of(dtype, hi) - x &&
             lo % 2 == 0)) {
            return lo | sign;
        }
    }
    return hi == last_finite(dtype) + 1 && dtype == E4M3 ? nan_code(dtype) :
                                                            hi | sign;
}

static uint64_t reference_int(unsigned dtype, unsigned op, const uint64_t *in,
                              unsigned n)
{
    uint64_t v = in[0];
    unsigned i;

    for (i = 1; i < n; i++) {
        bool less = dtype == UINT32 ? (uint32_t)in[i] < (uint32_t)v :
                    dtype == INT32 ? (int32_t)in[i] < (int32_t)v :
                                     (int64_t)in[i] < (int64_t)v;

        v = op == SUM ? v + in[i] : less == (op == MINIMUM) ? in[i] : v;
    }
    return dtype == INT64 ? v : (uint32_t)v;
}

static uint64_t reference_float(unsigned dtype, unsigned op,
                                const uint64_t *in, unsigned n)
{
    volatile float v;           /* rounded by every addition, nothing fused */
    unsigned i;

    v = decode(dtype, in[0]);
    for (i = 1; i < n; i++) {
        float x = decode(dtype, in[i]);

        if (op == SUM) {
            v = v + x;
        } else if (isnan(v) || isnan(x)) {
            v = NAN;
        } else if (op == MINIMUM ? x < v || (x == v && signbit(x)) :
                                   x > v || (x == v && !signbit(x))) {
            v = x;
        }
    }
    return encode(dtype, v);
}

static void reference(unsigned dtype, unsigned op, uint8_t *const *in,
                      unsigned n, uint8_t *out)
{
    unsigned size = types[dtype].size, at, i;

    for (at = 0; at < LEN; at += size) {
        uint64_t code[TF_CHIPS], v;

        for (i = 0; i < n; i++) {
            code[i] = code_at(in[i] + at, size);
        }
        v = types[dtype].exponent ? reference_float(dtype, op, code, n) :
                                    reference_int(dtype, op, code, n);
        for (i = 0; i < size; i++) {
            out[at + i] = v >> (8 * i);
        }
    }
}

/*
 * Codes of all kinds first: for every pair of 8-bit ones among the members, or
 * random ones; then values that are near each other.
 */
static void fill(uint8_t *buf, unsigned dtype, unsigned member)
{
    unsigned size = types[dtype].size, at;

    tq_fill_random(buf, LEN, dtype * 16 + member);
    for (at = LEN / 2; at < LEN && types[dtype].exponent; at += size) {
        /* the top byte has the sign and most of the exponent: near 1 */
        buf[at + size - 1] = (buf[at + size - 1] & 0x83) |
                             (types[dtype].exponent == 8 ? 0x3c : 0x34);
    }
}

static uint32_t meta_of(unsigned type, unsigned dtype, unsigned op)
{
    return 3 | dtype << 4 | type << 20 | op << 23;
}

static void reduce_packet(TqQueue *q, uint64_t dst, uint64_t src, uint32_t len,
                          uint32_t meta)
{
    tq_m2s(q, src, len, TQ_FIRST | TQ_LAST, meta);
    tq_s2m(q, dst, len, 0);
}

static void test_reduce(void)
{
    uint64_t bytes = 0;
    unsigned dtype, op, i, k;
    TfMachine m;
    uint32_t id;

    tf_start(&m, 4, "kind=nvlink", NULL);
    id = make_group(&m, 3);
    for (dtype = 0; dtype < NUM_DTYPES; dtype++) {
        uint8_t data[3][LEN], expect[LEN];
        uint8_t *in[3] = { data[0], data[1], data[2] };

        for (i = 0; i < 3; i++) {
            fill(data[i], dtype, i);
            tq_put(&m.c[i], bound_at(i) + 0x2000, data[i], LEN);
        }
        for (op = 0; op < NUM_OPS; op++) {
            reference(dtype, op, in, 3, expect);
            reduce_packet(&m.q[2], tq_hbm(3), group_addr(2, id, 3, 0x2000),
                          LEN, meta_of(1, dtype, op));
            tq_finish(&m.q[2]);
            g_test_message("type %u operation %u", dtype, op);
            tq_check(&m.c[2], tq_hbm(3), expect, LEN);
            bytes += LEN;
        }
    }
    /* once from each member, once to who asked */
    for (i = 0; i < 3; i++) {
        g_assert_cmpint(tf_sum(&m.c[i], TX_BYTES), ==, bytes);
        g_assert_cmpint(tf_sum(&m.c[i], RX_BYTES), ==, i == 2 ? bytes : 0);
        g_assert_cmpint(tf_sum(&m.c[i], REDUCTIONS), ==,
                        bytes / 256 * (i == 2 ? 2 : 1));
    }
    /* a plain copy is no reduction, and nothing is written there */
    for (k = 0; k < 2; k++) {
        uint64_t src = k ? tf_unicast(1, 0) : group_addr(2, id, 3, 0);

        tf_copy_fails(&m, 2, tq_hbm(0), k ? group_addr(2, id, 5, 0) : src, 16,
                      ST_BAD_OP, k ? group_addr(2, id, 5, 0) : src);
    }
    tf_stop(&m);
}

/* What the executor refuses: wrong words, odd places, too much at once */
static void test_refused(void)
{
    static const struct {
        uint64_t src, dst;
        uint32_t len, meta;
        bool group;
    } bad[] = {
        { 0, 0x1000, 64, 3 | 8 << 4 | 1 << 20, true },      /* type 8 */
        { 0, 0x1000, 64, 3 | 3 << 23 | 1 << 20, true },     /* operation 3 */
        { 0, 0x1000, 64, 3 | 3 << 20, true },
        { 0, 0x1000, 64, 3 | 1 << 20 | 1 << 12, true },
        { 8, 0x1000, 64, 3 | 1 << 20, true },
        { 0, 0x1008, 64, 3 | 1 << 20, true },
        { 0, 0x1000, 60, 3 | 1 << 20, true },
        { 0, 0x1000, 64, 3 | 1 << 20, false },  /* of plain memory */
        { 0, 0x1004, 64, 3 | 2 << 20, false },
        { 4, 0x1000, 64, 3 | 2 << 20, false },
        { 0, 0x008006c84180, 16, 3 | 2 << 20, false },      /* on a register */
    };
    uint8_t zero[64] = {};
    TfMachine m;
    uint32_t id;
    unsigned i;

    tf_start(&m, 2, "kind=nvlink", NULL);
    id = make_group(&m, 2);
    tq_put(&m.c[0], bound_at(0), "\1\2\3\4\5\6\7\10", 8);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        reduce_packet(&m.q[0], bad[i].dst, bad[i].group ?
                      group_addr(2, id, 3, bad[i].src) :
                      bound_at(0) + bad[i].src, bad[i].len, bad[i].meta);
        tq_add_marker(&m.q[0]);
        tq_kick(&m.q[0]);
        tq_settle(&m.c[0]);
        g_assert(!tq_marker_seen(&m.q[0]));
        g_assert_cmphex(tq_ereg(&m.c[0], 4, 0x200) & 0x3333, ==, 0x2222);
        tq_check(&m.c[0], 0x1000, zero, sizeof(zero));
        tf_recover(&m, 0);
    }
    /* two descriptors of one packet: more than 64 KiB, two operations */
    for (i = 0; i < 3; i++) {
        uint32_t meta = meta_of(1, FP32, SUM);

        tq_m2s(&m.q[0], group_addr(2, id, 3, 0), i ? 64 : 65536, TQ_FIRST,
               meta);
        tq_m2s(&m.q[0], group_addr(2, id, 3, 0), 64, TQ_LAST,
               i == 1 ? meta_of(1, FP32, MINIMUM) : i ? meta_of(1, BF16, SUM)
                                                      : meta);
        tq_s2m(&m.q[0], 0x1000, 65536, 0);
        tq_s2m(&m.q[0], 0x100000, 65536, 0);
        tq_add_marker(&m.q[0]);
        tq_kick(&m.q[0]);
        tq_settle(&m.c[0]);
        g_assert(!tq_marker_seen(&m.q[0]));
        tq_check(&m.c[0], 0x1000, zero, sizeof(zero));
        tf_recover(&m, 0);
    }
    reduce_packet(&m.q[0], 0x100000, group_addr(2, id, 3, 0), 65536,
                  meta_of(1, INT32, SUM));
    tq_finish(&m.q[0]);
    tq_check(&m.c[0], 0x100000, "\1\2\3\4\5\6\7\10", 8);
    tf_stop(&m);
}

/* On HBM here, host memory, another chip; in order and out of it */
static void test_accumulate(void)
{
    unsigned dtype, op, where, round;

    for (round = 0; round < 2; round++) {
        TfMachine m;

        tf_start(&m, 2, "kind=nvlink", round ? "reorder=7" : NULL);
        for (dtype = 0; dtype < NUM_DTYPES; dtype++) {
            for (op = 0; op < NUM_OPS; op++) {
                uint8_t a[LEN], b[LEN], expect[LEN];
                uint8_t *in[2] = { a, b };
                uint64_t host = TQ_HOST | tq_alloc(&m.c[0], LEN, 4096);
                uint64_t dst[3] = { tq_hbm(2), host, tf_unicast(1, tq_hbm(2)) };

                fill(a, dtype, 1);
                fill(b, dtype, 2 + op);
                reference(dtype, op, in, 2, expect);
                tq_put(&m.c[0], tq_hbm(2), a, LEN);
                tq_put(&m.c[0], host, a, LEN);
                tq_put(&m.c[1], tq_hbm(2), a, LEN);
                tq_put(&m.c[0], tq_hbm(0), b, LEN);
                for (where = 0; where < 3; where++) {
                    reduce_packet(&m.q[0], dst[where], tq_hbm(0), LEN,
                                  meta_of(2, dtype, op) |
                                  (where == 2 ? TQ_BARRIER : 0));
                }
                tq_finish(&m.q[0]);
                g_test_message("type %u operation %u", dtype, op);
                tq_check(&m.c[0], tq_hbm(2), expect, LEN);
                tq_check(&m.c[0], host, expect, LEN);
                tq_check(&m.c[1], tq_hbm(2), expect, LEN);
            }
        }
        g_assert_cmpint(tf_sum(&m.c[1], RX_BYTES), ==,
                        NUM_DTYPES * NUM_OPS * LEN);
        tf_stop(&m);
    }
}

/* --- semaphores --- */

enum { SEM_ADD = 0x00300003, SEM_SET = 0x00b00003, SEM_TAKE = 0x01b00003 };

static void semaphore(TqQueue *q, uint64_t dst, uint32_t op, int64_t operand)
{
    uint64_t at = tq_alloc(q->c, 8, 8);

    qtest_writeq(q->c->qts, at, operand);
    tq_m2s(q, TQ_HOST | at, 8, TQ_FIRST | TQ_LAST, op);
    tq_s2m(q, dst, 8, 0);
    tq_kick(q);
}

static bool queue_waits(TqQueue *q)
{
    /* ... after the bottom halves, the clock at rest */
    qtest_qmp_assert_success(q->c->qts, "{'execute': 'query-status'}");
    return tq_read(q->c, tq_m2s_reg(q, 0x24)) & 0x1ffffff;
}

/* One chip raises the words of others, one by one and all at once. */
static void test_semaphore(void)
{
    unsigned i;
    TfMachine m;
    uint32_t id;

    tf_start(&m, 4, "kind=nvlink", NULL);
    id = make_group(&m, 3);
    for (i = 0; i < 3; i++) {
        semaphore(&m.q[i], bound_at(i) + 8, SEM_TAKE, 5);
        g_assert_true(queue_waits(&m.q[i]));
    }
    /* chip 3 is no member, so by unicast */
    semaphore(&m.q[3], tf_unicast(1, bound_at(1) + 8), SEM_ADD, 4);
    g_assert_true(queue_waits(&m.q[1]));
    semaphore(&m.q[3], tf_unicast(1, bound_at(1) + 8), SEM_ADD, 3);
    g_assert_false(queue_waits(&m.q[1]));
    g_assert_true(queue_waits(&m.q[0]));
    g_assert_cmpint(qtest_readl(m.qts, tq_phys(&m.c[1], bound_at(1) + 8)), ==,
                    2);
    g_assert_cmpint(tf_sum(&m.c[3], TX_BYTES), ==, 16);
    g_assert_cmpint(tf_sum(&m.c[1], RX_BYTES), ==, 16);
    g_assert_cmpint(tf_sum(&m.c[1], RX_PACKETS), ==, 2);

    semaphore(&m.q[1], group_addr(1, id, 3, 8), SEM_ADD, 6);
    for (i = 0; i < 3; i++) {
        g_assert_false(queue_waits(&m.q[i]));
        g_assert_cmpint(qtest_readl(m.qts, tq_phys(&m.c[i], bound_at(i) + 8)),
                        ==, i == 1 ? 8 : 1);
        g_assert_cmpint(tf_sum(&m.c[i], MULTICASTS), ==, i == 1 ? 2 : 1);
    }
    semaphore(&m.q[0], group_addr(1, id, 3, 8), SEM_SET, -1);
    for (i = 0; i < 3; i++) {
        tq_finish(&m.q[i]);
        g_assert_cmphex(qtest_readq(m.qts, tq_phys(&m.c[i], bound_at(i) + 8)),
                        ==, UINT64_MAX);
    }

    /* across partitions: the error of a write, and nobody is woken */
    semaphore(&m.q[1], bound_at(1) + 8, SEM_TAKE, 1);
    tf_set(&m, "partitions", "0,1-3");
    semaphore(&m.q[0], tf_unicast(1, bound_at(1) + 8), SEM_ADD, 9);
    tq_settle(&m.c[0]);
    g_assert_cmphex(tf_read(&m.c[0], 0x60), ==, 0x80000400 | ST_PARTITION);
    g_assert_cmpint(tf_sum(&m.c[0], BLOCKED), ==, 1);
    g_assert_true(queue_waits(&m.q[1]));
    tf_stop(&m);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("trainium/fabric-group/life", test_life);
    qtest_add_func("trainium/fabric-group/broken", test_broken);
    qtest_add_func("trainium/fabric-group/multicast", test_multicast);
    qtest_add_func("trainium/fabric-group/reduce", test_reduce);
    qtest_add_func("trainium/fabric-group/refused", test_refused);
    qtest_add_func("trainium/fabric-group/accumulate", test_accumulate);
    qtest_add_func("trainium/fabric-group/semaphore", test_semaphore);
    return g_test_run();
}
