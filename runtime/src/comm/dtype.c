// SPDX-License-Identifier: MIT
/*
 * Types of elements. Small floats are a sign, an exponent and a mantissa of so
 * many bits each; E4M3 has no infinity, and its only NaN is all ones.
 */
#include <math.h>
#include <string.h>

#include "dtype.h"

static const struct {
	const char *name;
	uint32_t size;
	/* Of floats below 32 bits */
	int exponent, mantissa;
	uint32_t nan;
} types[NRN_NUM_DTYPES] = {
	[NEURON_DTYPE_INT32] = { "int32", 4, 0, 0, 0 },
	[NEURON_DTYPE_UINT32] = { "uint32", 4, 0, 0, 0 },
	[NEURON_DTYPE_INT64] = { "int64", 8, 0, 0, 0 },
	[NEURON_DTYPE_FP16] = { "fp16", 2, 5, 10, 0x7e00 },
	[NEURON_DTYPE_BF16] = { "bf16", 2, 8, 7, 0x7fc0 },
	[NEURON_DTYPE_FP32] = { "fp32", 4, 0, 0, 0x7fc00000 },
	[NEURON_DTYPE_FP8_E4M3] = { "fp8_e4m3", 1, 4, 3, 0x7f },
	[NEURON_DTYPE_FP8_E5M2] = { "fp8_e5m2", 1, 5, 2, 0x7e },
};

uint32_t nrn_dtype_size(uint32_t dtype)
{
	return dtype < NRN_NUM_DTYPES ? types[dtype].size : 0;
}

bool nrn_dtype_is_float(uint32_t dtype)
{
	return dtype < NRN_NUM_DTYPES && dtype >= NEURON_DTYPE_FP16;
}

const char *nrn_dtype_name(uint32_t dtype)
{
	return dtype < NRN_NUM_DTYPES ? types[dtype].name : "?";
}

static uint32_t load_bits(uint32_t size, const void *at)
{
	uint32_t bits = 0;

	memcpy(&bits, at, size);
	return bits;
}

float nrn_load_float(uint32_t dtype, const void *at)
{
	uint32_t bits = load_bits(types[dtype].size, at);
	int exponent = types[dtype].exponent, mantissa = types[dtype].mantissa, bias, e;
	float value;

	if (dtype == NEURON_DTYPE_FP32) {
		memcpy(&value, at, sizeof(value));
		return value;
	}
	bias = (1 << (exponent - 1)) - 1;
	e = (int)(bits >> mantissa & ((1u << exponent) - 1));
	value = (float)(bits & ((1u << mantissa) - 1));
	if (e == (1 << exponent) - 1 && dtype != NEURON_DTYPE_FP8_E4M3)
		value = value ? NAN : INFINITY;
	else if (dtype == NEURON_DTYPE_FP8_E4M3 && (bits & 0x7f) == 0x7f)
		value = NAN;
	else if (e)
		value = ldexpf(value + (float)(1u << mantissa), e - bias - mantissa);
	else
		value = ldexpf(value, 1 - bias - mantissa);
	return bits >> (exponent + mantissa) & 1 ? -value : value;
}

/* A float of fewer bits, without its sign */
static uint32_t narrow(uint32_t dtype, float value)
{
	int exponent = types[dtype].exponent, mantissa = types[dtype].mantissa;
	int bias = (1 << (exponent - 1)) - 1, e, least = 1 - bias;
	bool e4m3 = dtype == NEURON_DTYPE_FP8_E4M3;
	uint32_t infinity = ((1u << exponent) - 1) << mantissa, bits;
	uint32_t limit = e4m3 ? types[dtype].nan : infinity;

	if (isinf(value))
		return limit;
	if (value == 0)
		return 0;
	frexpf(value, &e);
	e--;
	if (e < least)
		e = least;
	/* Units of the last bit; one more than all ones carries into the exponent. */
	bits = (uint32_t)rintf(ldexpf(value, mantissa - e));
	bits += (uint32_t)(e - least) << mantissa;
	return bits > limit ? limit : bits;
}

void nrn_store_float(uint32_t dtype, void *at, float value)
{
	uint32_t bits;

	if (isnan(value)) {
		bits = types[dtype].nan;
	} else if (dtype == NEURON_DTYPE_FP32) {
		memcpy(&bits, &value, sizeof(bits));
	} else {
		bits = narrow(dtype, fabsf(value));
		/* E4M3 beyond its range is the one NaN, without a sign. */
		if (signbit(value) && !(dtype == NEURON_DTYPE_FP8_E4M3 && bits == 0x7f))
			bits |= 1u << (types[dtype].exponent + types[dtype].mantissa);
	}
	memcpy(at, &bits, types[dtype].size);
}

void nrn_divide(uint32_t dtype, void *data, uint64_t count, uint32_t by)
{
	uint32_t size = types[dtype].size, u32;
	char *at = data;
	int64_t i64;
	int32_t i32;

	for (; count; count--, at += size) {
		switch (dtype) {
		case NEURON_DTYPE_INT32:
			memcpy(&i32, at, sizeof(i32));
			i32 = (int32_t)(i32 / (int64_t)by);
			memcpy(at, &i32, sizeof(i32));
			break;
		case NEURON_DTYPE_UINT32:
			memcpy(&u32, at, sizeof(u32));
			u32 /= by;
			memcpy(at, &u32, sizeof(u32));
			break;
		case NEURON_DTYPE_INT64:
			memcpy(&i64, at, sizeof(i64));
			i64 /= (int64_t)by;
			memcpy(at, &i64, sizeof(i64));
			break;
		default:
			nrn_store_float(dtype, at, nrn_load_float(dtype, at) / (float)by);
		}
	}
}
