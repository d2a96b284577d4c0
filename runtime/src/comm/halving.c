// SPDX-License-Identifier: MIT
/*
 * Recursive halving and doubling, among a power of two of ranks: with a partner
 * half as far away each time, half as much is exchanged and combined; then the
 * same way back.
 */
#include "build.h"

/* Blocks @lo to @hi are consecutive. */
static struct nrn_block span(const struct nrn_block *block, uint32_t lo, uint32_t hi)
{
	struct nrn_block s = block[lo];

	while (++lo < hi)
		s.size += block[lo].size;
	return s;
}

/* Sends one half and combines the other, which is in DST then. */
static void exchange(struct nrn_builder *b, uint32_t peer, uint32_t slots,
		     const struct nrn_block *send, const struct nrn_block *keep,
		     enum nrn_space from)
{
	uint64_t out = nrn_div_up(send->size, b->slot), in = nrn_div_up(keep->size, b->slot);
	uint64_t granted = 0, at, size, slot, j;

	for (; granted < in && granted < NRN_SLOT_DEPTH; granted++)
		nrn_signal(b, peer, NRN_SEM_CREDIT);
	for (j = 0; j < in || j < out; j++) {
		at = j * b->slot;
		slot = nrn_slot(b, slots, j);
		if (j < out) {
			nrn_wait(b, NRN_SEM_CREDIT, peer, 1);
			nrn_copy(b, peer, NRN_SCRATCH, slot, from,
				 (from == NRN_SRC ? send->src : send->dst) + at,
				 nrn_piece(send->size, b->slot, j));
			nrn_signal(b, peer, NRN_SEM_DATA);
		}
		if (j < in) {
			size = nrn_piece(keep->size, b->slot, j);
			nrn_wait(b, NRN_SEM_DATA, peer, 1);
			nrn_add_to_slot(b, slot, from,
					(from == NRN_SRC ? keep->src : keep->dst) + at, size);
			nrn_copy(b, b->rank, NRN_DST, keep->dst + at, NRN_SCRATCH, slot, size);
			if (granted < in) {
				granted++;
				nrn_signal(b, peer, NRN_SEM_CREDIT);
			}
		}
	}
}

void nrn_halving_all_reduce(struct nrn_builder *b, const struct nrn_team *t,
			    const struct nrn_block *block)
{
	uint32_t lo = 0, hi = t->size, half, step;
	struct nrn_block low, high;
	enum nrn_space from = NRN_SRC;

	for (half = t->size / 2, step = 0; half; half /= 2, step++) {
		low = span(block, lo, lo + half);
		high = span(block, lo + half, hi);
		if (t->me & half) {
			exchange(b, t->rank[t->me ^ half], step, &low, &high, from);
			lo += half;
		} else {
			exchange(b, t->rank[t->me ^ half], step, &high, &low, from);
			hi -= half;
		}
		from = NRN_DST;
	}
	nrn_doubling_all_gather(b, t, block);
}

void nrn_doubling_all_gather(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block)
{
	uint32_t half, lo, hi, peer, i;

	for (half = 1; half < t->size; half *= 2) {
		peer = t->rank[t->me ^ half];
		lo = t->me & ~(half - 1);
		nrn_signal(b, peer, NRN_SEM_READY);
		nrn_wait(b, NRN_SEM_READY, peer, 1);
		for (i = lo; i < lo + half; i = hi) {
			struct nrn_block run = block[i];

			/* Blocks that follow each other go at once. */
			for (hi = i + 1; hi < lo + half; hi++) {
				if (block[hi].dst != run.dst + run.size)
					break;
				run.size += block[hi].size;
			}
			nrn_copy(b, peer, NRN_DST, run.dst, NRN_DST, run.dst, run.size);
		}
		nrn_signal(b, peer, NRN_SEM_DATA);
		nrn_wait(b, NRN_SEM_DATA, peer, 1);
	}
}
