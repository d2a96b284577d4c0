/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic of reductions: in the fabric (reduce-read) and in the DMA engine
 * (accumulate).
 *
 * Integers: sums wrap around. Floating point: all types become 32-bit floats,
 * which is exact, are combined in order, one rounding an addition, and are
 * rounded once to their type, to nearest, ties to even. A result too large is
 * infinity, or NaN in E4M3, which has no infinity. Infinities of different sign
 * add up to NaN. A NaN in any input makes the result NaN, with every operation;
 * it is always the same one (positive, quiet, no payload). -0 is less than +0.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "regs/udma_desc.h"
#include "reduce.h"

#include <math.h>

#define BLOCK 256               /* elements at a time */
#define FLOAT_BITS 23           /* of its fraction */
#define FLOAT_BIAS 127

/* --- small floats --- */

typedef struct Format {
    unsigned fraction, bias;
    uint32_t infinity;          /* the first code that is not finite */
    uint32_t nan;
} Format;

static const Format fp16 = { 10, 15, 0x7c00, 0x7e00 };
static const Format e4m3 = { 3, 7, 0x7f, 0x7f };
static const Format e5m2 = { 2, 15, 0x7c, 0x7e };

static inline float float_of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t bits_of_float(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static float widen(const Format *f, uint32_t code, bool sign)
{
    uint32_t shift = FLOAT_BITS - f->fraction;
    float v;

    if (code > f->infinity || code == f->nan) {
        return NAN;
    }
    if (code == f->infinity) {
        v = INFINITY;
    } else if (code >> f->fraction) {
        v = float_of_bits((code << shift) +
                          ((FLOAT_BIAS - f->bias) << FLOAT_BITS));
    } else {
        v = ldexpf(code, 1 - (int)f->bias - (int)f->fraction);
    }
    return sign ? -v : v;
}

/* Code without its sign */
static uint32_t narrow(const Format *f, uint32_t bits)
{
    int exponent = (int)(bits >> FLOAT_BITS & 0xff) - FLOAT_BIAS;
    int lowest = 1 - (int)f->bias;
    unsigned shift = FLOAT_BITS - f->fraction;
    uint64_t m = (bits & MAKE_64BIT_MASK(0, FLOAT_BITS)) | 1u << FLOAT_BITS;
    uint64_t q, rest, half;

    if (exponent < lowest) {
        shift += MIN(lowest - exponent, 32);
    }
    q = m >> shift;
    rest = m & MAKE_64BIT_MASK(0, shift);
    half = 1ull << (shift - 1);
    q += rest > half || (rest == half && (q & 1));
    if (exponent >= lowest) {
        /* The leading one is one in the exponent. */
        q += (uint64_t)(exponent - lowest) << f->fraction;
    }
    return q < f->infinity ? q : f->infinity;
}

static uint32_t code_of_float(const Format *f, float v, unsigned sign_bit)
{
    uint32_t bits = bits_of_float(v);
    uint32_t code = isnan(v) ? f->nan : narrow(f, bits & INT32_MAX);

    return code == f->nan ? code : code | bits >> 31 << sign_bit;
}

static uint16_t bf16_of_float(float v)
{
    uint32_t bits = bits_of_float(v);

    return isnan(v) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* 8-bit codes are looked up. */
static const float *table8(const Format *f)
{
    static float table[2][256];
    float *t = table[f == &e5m2];
    unsigned i;

    if (!t[1]) {
        for (i = 0; i < 256; i++) {
            t[i] = widen(f, i & 0x7f, i >> 7);
        }
    }
    return t;
}

/* --- blocks --- */

static void load_floats(float *v, const uint8_t *p, unsigned n,
                        unsigned dtype)
{
    const float *table;
    unsigned i;

    switch (dtype) {
    case TRN_META_DTYPE_FP32:
        for (i = 0; i < n; i++) {
            v[i] = float_of_bits(ldl_le_p(p + 4 * i));
        }
        break;
    case TRN_META_DTYPE_BF16:
        for (i = 0; i < n; i++) {
            v[i] = float_of_bits((uint32_t)lduw_le_p(p + 2 * i) << 16);
        }
        break;
    case TRN_META_DTYPE_FP16:
        for (i = 0; i < n; i++) {
            uint16_t code = lduw_le_p(p + 2 * i);

            v[i] = widen(&fp16, code & INT16_MAX, code >> 15);
        }
        break;
    default:
        table = table8(dtype == TRN_META_DTYPE_FP8_E4M3 ? &e4m3 : &e5m2);
        for (i = 0; i < n; i++) {
            v[i] = table[p[i]];
        }
    }
}

static void store_floats(uint8_t *p, const float *v, unsigned n,
                         unsigned dtype)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        switch (dtype) {
        case TRN_META_DTYPE_FP32:
            stl_le_p(p + 4 * i, isnan(v[i]) ? 0x7fc00000 :
                                              bits_of_float(v[i]));
            break;
        case TRN_META_DTYPE_BF16:
            stw_le_p(p + 2 * i, bf16_of_float(v[i]));
            break;
        case TRN_META_DTYPE_FP16:
            stw_le_p(p + 2 * i, code_of_float(&fp16, v[i], 15));
            break;
        case TRN_META_DTYPE_FP8_E4M3:
            p[i] = code_of_float(&e4m3, v[i], 7);
            break;
        default:
            p[i] = code_of_float(&e5m2, v[i], 7);
        }
    }
}

static float least(float a, float b)
{
    return isnan(a) || isnan(b) ? NAN :
           a == b ? (signbit(a) ? a : b) : MIN(a, b);
}

static void combine_floats(float *a, const float *b, unsigned n, unsigned op)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        a[i] = op == TRN_META_OP_SUM ? a[i] + b[i] :
               op == TRN_META_OP_MIN ? least(a[i], b[i]) :
                                       -least(-a[i], -b[i]);
    }
}

static void load_ints(int64_t *v, const uint8_t *p, unsigned n,
                      unsigned dtype)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        switch (dtype) {
        case TRN_META_DTYPE_INT64:
            v[i] = ldq_le_p(p + 8 * i);
            break;
        case TRN_META_DTYPE_INT32:
            v[i] = (int32_t)ldl_le_p(p + 4 * i);
            break;
        default:
            v[i] = (uint32_t)ldl_le_p(p + 4 * i);
        }
    }
}

static void store_ints(uint8_t *p, const int64_t *v, unsigned n,
                       unsigned dtype)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        if (dtype == TRN_META_DTYPE_INT64) {
            stq_le_p(p + 8 * i, v[i]);
        } else {
            stl_le_p(p + 4 * i, v[i]);
        }
    }
}

static void combine_ints(int64_t *a, const int64_t *b, unsigned n,
                         unsigned op)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        a[i] = op == TRN_META_OP_SUM ? (int64_t)((uint64_t)a[i] + b[i]) :
               op == TRN_META_OP_MIN ? MIN(a[i], b[i]) : MAX(a[i], b[i]);
    }
}

static unsigned element_size(unsigned dtype)
{
    switch (dtype) {
    case TRN_META_DTYPE_INT64:
        return 8;
    case TRN_META_DTYPE_INT32:
    case TRN_META_DTYPE_UINT32:
    case TRN_META_DTYPE_FP32:
        return 4;
    case TRN_META_DTYPE_FP16:
    case TRN_META_DTYPE_BF16:
        return 2;
    default:
        return 1;
    }
}

void trn_reduce(uint8_t *out, const uint8_t *const *in, unsigned n,
                uint64_t len, unsigned dtype, unsigned op)
{
    bool ints = dtype <= TRN_META_DTYPE_INT64;
    unsigned size = element_size(dtype), elements, i;
    uint64_t at;
    union {
        float f[BLOCK];
        int64_t i[BLOCK];
    } a, b;

    for (at = 0; at < len; at += (uint64_t)elements * size) {
        elements = MIN(BLOCK, (len - at) / size);
        if (ints) {
            load_ints(a.i, in[0] + at, elements, dtype);
        } else {
            load_floats(a.f, in[0] + at, elements, dtype);
        }
        for (i = 1; i < n; i++) {
            if (ints) {
                load_ints(b.i, in[i] + at, elements, dtype);
                combine_ints(a.i, b.i, elements, op);
            } else {
                load_floats(b.f, in[i] + at, elements, dtype);
                combine_floats(a.f, b.f, elements, op);
            }
        }
        if (ints) {
            store_ints(out + at, a.i, elements, dtype);
        } else {
            store_floats(out + at, a.f, elements, dtype);
        }
    }
}
