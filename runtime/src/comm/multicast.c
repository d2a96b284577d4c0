// SPDX-License-Identifier: MIT
/*
 * Through the group: stores that all receive, reads that combine what all hold.
 */
#include "build.h"

void nrn_group_all_gather(struct nrn_builder *b, const struct nrn_block *own, enum nrn_space from)
{
	nrn_enter_all(b);
	nrn_copy(b, NRN_ALL, NRN_DST, own->dst, from, from == NRN_SRC ? own->src : own->dst,
		 own->size);
	nrn_leave_all(b);
}

/* Others tell the root that they are there, and it tells them when all is done. */
static bool root_enters(struct nrn_builder *b)
{
	if (b->rank != b->c->root) {
		nrn_signal(b, b->c->root, NRN_SEM_ENTRY);
		return false;
	}
	nrn_wait(b, NRN_SEM_ENTRY, 0, b->c->num_ranks - 1);
	return true;
}

static void root_leaves(struct nrn_builder *b)
{
	if (b->rank == b->c->root)
		nrn_signal(b, NRN_ALL, NRN_SEM_DONE);
	nrn_wait(b, NRN_SEM_DONE, 0, 1);
}

void nrn_group_broadcast(struct nrn_builder *b, const struct nrn_block *all)
{
	if (root_enters(b))
		nrn_copy(b, NRN_ALL, NRN_DST, all->dst, NRN_SRC, all->src, all->size);
	root_leaves(b);
}

/* A reduction and the store of the one before it are under way at the same time. */
static void reduce_pieces(struct nrn_builder *b, uint32_t dst_rank, const struct nrn_block *own)
{
	uint64_t piece = b->slot - NRN_COMBINE_ALIGN, j, pieces = nrn_div_up(own->size, piece);

	for (j = 0; j < pieces; j++)
		nrn_reduce_from_all(b, nrn_slot(b, 0, j), dst_rank, own->dst + j * piece,
				    own->src + j * piece, nrn_piece(own->size, piece, j));
}

void nrn_group_all_reduce(struct nrn_builder *b, const struct nrn_block *own)
{
	nrn_enter_all(b);
	reduce_pieces(b, NRN_ALL, own);
	nrn_leave_all(b);
}

void nrn_group_reduce_scatter(struct nrn_builder *b, const struct nrn_block *own)
{
	nrn_enter_all(b);
	reduce_pieces(b, b->rank, own);
	nrn_leave_all(b);
}

void nrn_group_reduce(struct nrn_builder *b, const struct nrn_block *all)
{
	if (root_enters(b))
		reduce_pieces(b, b->rank, all);
	root_leaves(b);
}
