/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic of reductions (reduce.c). */
#ifndef HW_TRAINIUM_REDUCE_H
#define HW_TRAINIUM_REDUCE_H

#define TRN_REDUCE_ALIGN 16     /* of addresses and lengths: whole elements */
#define TRN_REDUCE_DTYPES 0xffu /* bit per TRN_META_DTYPE_* */
#define TRN_REDUCE_OPS 0x7u     /* bit per TRN_META_OP_* */

/*
 * Combines @len bytes of elements of the inputs, in their order. @out may be
 * one of them. @len is a multiple of TRN_REDUCE_ALIGN; the type and operation
 * are among those above.
 */
void trn_reduce(uint8_t *out, const uint8_t *const *in, unsigned n,
                uint64_t len, unsigned dtype, unsigned op);

#endif
