// SPDX-License-Identifier: MIT
/*
 * Ring: everybody receives from the one before and sends to the next.
 */
#include "build.h"

static uint32_t before(const struct nrn_team *t, uint32_t i)
{
	return (i + t->size - 1) % t->size;
}

static uint32_t after(const struct nrn_team *t, uint32_t i)
{
	return (i + 1) % t->size;
}

static uint64_t longest(const struct nrn_team *t, const struct nrn_block *block)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < t->size; i++)
		if (block[i].size > size)
			size = block[i].size;
	return size;
}

/*
 * Piece by piece: that of the block before the own one begins here, and goes
 * around; each rank adds what it has. At the end the own block's is here.
 */
void nrn_ring_reduce_scatter(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block, enum nrn_space from, uint32_t slots)
{
	uint64_t pieces = nrn_div_up(longest(t, block), b->slot), j, at, size, slot;
	uint32_t next = t->rank[after(t, t->me)], prev = t->rank[before(t, t->me)];
	uint64_t sent = 0, received = 0, coming = 0, granted = 0;
	uint32_t i, s;

	for (i = 0; i < t->size; i++)
		if (i != before(t, t->me))
			coming += nrn_div_up(block[i].size, b->slot);
	for (; granted < coming && granted < NRN_SLOT_DEPTH; granted++)
		nrn_signal(b, prev, NRN_SEM_CREDIT);

	for (j = 0; j < pieces; j++) {
		at = j * b->slot;
		i = before(t, t->me);
		size = nrn_piece(block[i].size, b->slot, j);
		if (size) {
			nrn_wait(b, NRN_SEM_CREDIT, next, 1);
			nrn_copy(b, next, NRN_SCRATCH, nrn_slot(b, slots, sent++), from,
				 block[i].src + at, size);
			nrn_signal(b, next, NRN_SEM_DATA);
		}
		for (s = 1; s < t->size; s++) {
			i = before(t, i);
			size = nrn_piece(block[i].size, b->slot, j);
			if (!size)
				continue;
			nrn_wait(b, NRN_SEM_DATA, prev, 1);
			slot = nrn_slot(b, slots, received++);
			nrn_add_to_slot(b, slot, from, block[i].src + at, size);
			if (s == t->size - 1) {
				nrn_copy(b, b->rank, NRN_DST, block[i].dst + at, NRN_SCRATCH,
					 slot, size);
			} else {
				nrn_wait(b, NRN_SEM_CREDIT, next, 1);
				nrn_copy(b, next, NRN_SCRATCH, nrn_slot(b, slots, sent++),
					 NRN_SCRATCH, slot, size);
				nrn_signal(b, next, NRN_SEM_DATA);
			}
			if (granted < coming) {
				granted++;
				nrn_signal(b, prev, NRN_SEM_CREDIT);
			}
		}
	}
}

/* Straight into the next rank's destination */
void nrn_ring_all_gather(struct nrn_builder *b, const struct nrn_team *t,
			 const struct nrn_block *block)
{
	uint32_t next = t->rank[after(t, t->me)], prev = t->rank[before(t, t->me)];
	uint64_t piece = b->c->chunk, pieces, j, size;
	uint32_t i = t->me, s;

	if (t->size < 2)
		return;
	nrn_signal(b, prev, NRN_SEM_READY);
	nrn_wait(b, NRN_SEM_READY, next, 1);
	for (s = 0; s < t->size; s++, i = before(t, i)) {
		pieces = nrn_div_up(block[i].size, piece);
		for (j = 0; j < pieces; j++) {
			size = nrn_piece(block[i].size, piece, j);
			if (s)
				nrn_wait(b, NRN_SEM_DATA, prev, 1);
			if (s == t->size - 1)
				continue;
			nrn_copy(b, next, NRN_DST, block[i].dst + j * piece, NRN_DST,
				 block[i].dst + j * piece, size);
			nrn_signal(b, next, NRN_SEM_DATA);
		}
	}
}

/* From the root on around, to the one before it */
void nrn_ring_broadcast(struct nrn_builder *b, const struct nrn_block *all)
{
	uint32_t n = b->c->num_ranks, root = b->c->root;
	uint32_t next = (b->rank + 1) % n, prev = (b->rank + n - 1) % n;
	uint64_t piece = b->c->chunk, pieces = nrn_div_up(all->size, piece), j;
	bool first = b->rank == root, last = next == root;

	/* With pieces of an n-th at most the ranks work side by side. */
	if (n > 1 && pieces < n && all->size / n >= 4096) {
		piece = nrn_pad(nrn_div_up(all->size, n));
		pieces = nrn_div_up(all->size, piece);
	}
	if (!first)
		nrn_signal(b, prev, NRN_SEM_READY);
	if (!last)
		nrn_wait(b, NRN_SEM_READY, next, 1);
	for (j = 0; j < pieces; j++) {
		uint64_t at = j * piece, size = nrn_piece(all->size, piece, j);

		if (!first)
			nrn_wait(b, NRN_SEM_DATA, prev, 1);
		if (last)
			continue;
		nrn_copy(b, next, NRN_DST, all->dst + at, first ? NRN_SRC : NRN_DST,
			 (first ? all->src : all->dst) + at, size);
		nrn_signal(b, next, NRN_SEM_DATA);
	}
}

/* From the one after the root on around, to the root; each adds what it has. */
void nrn_ring_reduce(struct nrn_builder *b, const struct nrn_block *all)
{
	uint32_t n = b->c->num_ranks, root = b->c->root;
	uint32_t next = (b->rank + 1) % n, prev = (b->rank + n - 1) % n;
	uint64_t pieces = nrn_div_up(all->size, b->slot), j, slot;
	bool first = prev == root, last = b->rank == root;
	uint64_t granted = 0;

	for (; !first && granted < pieces && granted < NRN_SLOT_DEPTH; granted++)
		nrn_signal(b, prev, NRN_SEM_CREDIT);
	for (j = 0; j < pieces; j++) {
		uint64_t at = j * b->slot, size = nrn_piece(all->size, b->slot, j);

		slot = nrn_slot(b, 0, j);
		if (!first) {
			nrn_wait(b, NRN_SEM_DATA, prev, 1);
			nrn_add_to_slot(b, slot, NRN_SRC, all->src + at, size);
		}
		if (last) {
			nrn_copy(b, b->rank, NRN_DST, all->dst + at, NRN_SCRATCH, slot, size);
		} else {
			nrn_wait(b, NRN_SEM_CREDIT, next, 1);
			nrn_copy(b, next, NRN_SCRATCH, slot, first ? NRN_SRC : NRN_SCRATCH,
				 first ? all->src + at : slot, size);
			nrn_signal(b, next, NRN_SEM_DATA);
		}
		if (!first && granted < pieces) {
			granted++;
			nrn_signal(b, prev, NRN_SEM_CREDIT);
		}
	}
}
