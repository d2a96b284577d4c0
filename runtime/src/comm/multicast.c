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

/* What a descriptor over a group can have */
#define PACKET (64u << 10)
/* Pieces that a pair of channels has, if with those of all pairs a turn outlasts the latency */
#define PIECES 32
#define TURN_BYTES (2u << 20)
#define LEAST_PIECE 2048u
/* Slots of a pair; and how many are given back at once */
#define SLOTS 4
#define LUMP 2

static uint64_t head_of(const struct nrn_builder *b, const struct nrn_block *own)
{
	return (b->c->phase[NRN_SRC] + own->src) % NRN_COMBINE_ALIGN;
}

static void reduce_pieces(struct nrn_builder *b, uint32_t dst_rank, const struct nrn_block *own)
{
	uint64_t piece = nrn_min(b->slot, PACKET) - (head_of(b, own) ? NRN_COMBINE_ALIGN : 0), j;
	uint64_t pieces = nrn_div_up(own->size, piece);

	for (j = 0; j < pieces; j++)
		nrn_reduce_from_all(b, nrn_slot(b, 0, j), dst_rank, own->dst + j * piece,
				    own->src + j * piece, nrn_piece(own->size, piece, j));
}

/*
 * One channel reads and combines, the next one stores to all: reads fill one
 * direction of the links, stores the other. By one channel, or by channels that
 * all do the same, they would take turns.
 */
void nrn_group_all_reduce_paired(struct nrn_builder *b, const struct nrn_block *own)
{
	uint32_t n = b->c->num_ranks, reader = b->channel & ~1u;
	uint64_t room = nrn_min(nrn_room(b) / SLOTS & ~63ull, PACKET);
	uint64_t least = nrn_pad(TURN_BYTES / (n * (b->c->channels / 2))), piece, pieces, j, slot;

	piece = nrn_pad(nrn_div_up(own->size, PIECES));
	piece = nrn_max(piece, nrn_max(least, LEAST_PIECE));
	piece = nrn_min(piece, room - (head_of(b, own) ? NRN_COMBINE_ALIGN : 0));
	pieces = nrn_div_up(own->size, piece);
	if (b->channel == reader)
		nrn_enter_all(b);
	for (j = 0; j < pieces; j++) {
		slot = nrn_channel_scratch(b, reader) + j % SLOTS * room;
		if (b->channel == reader) {
			if (j >= SLOTS && j % LUMP == 0)
				nrn_wait(b, NRN_SEM_CREDIT, b->rank, LUMP);
			nrn_reduce_to_slot(b, slot, own->src + j * piece,
					   nrn_piece(own->size, piece, j));
			nrn_signal_at(b, b->rank, nrn_sem_index(n, reader + 1, NRN_SEM_DATA,
								b->rank));
			continue;
		}
		nrn_wait(b, NRN_SEM_DATA, b->rank, 1);
		nrn_copy(b, NRN_ALL, NRN_DST, own->dst + j * piece, NRN_SCRATCH,
			 slot + head_of(b, own), nrn_piece(own->size, piece, j));
		if (j % LUMP == LUMP - 1 && j + SLOTS - LUMP + 1 < pieces)
			for (slot = 0; slot < LUMP; slot++)
				nrn_signal_at(b, b->rank, nrn_sem_index(n, reader, NRN_SEM_CREDIT,
									b->rank));
	}
	if (b->channel != reader)
		nrn_leave_all(b);
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
