/* SPDX-License-Identifier: MIT */
/*
 * Elements: types as the fabric combines them, on the CPU.
 */
#ifndef NEURON_COMM_DTYPE_H
#define NEURON_COMM_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include <neuron/queue.h>

#define NRN_NUM_DTYPES 8u

/* Bytes of an element; 0 for a type there is not */
uint32_t nrn_dtype_size(uint32_t dtype);
bool nrn_dtype_is_float(uint32_t dtype);
/* "fp32"; "?" for a type there is not */
const char *nrn_dtype_name(uint32_t dtype);
float nrn_load_float(uint32_t dtype, const void *at);
/* To nearest, ties to even; too large is infinity, NaN in E4M3 */
void nrn_store_float(uint32_t dtype, void *at, float value);
/* Divides elements by @by: integers towards zero */
void nrn_divide(uint32_t dtype, void *data, uint64_t count, uint32_t by);

#endif
