// SPDX-License-Identifier: MIT
/*
 * Mesh: everybody sends to everybody, in rotated order so that no two send to
 * the same rank at first. Sums are made in the order of the ranks.
 */
#include "build.h"

static uint32_t turn(const struct nrn_team *t, uint32_t i)
{
	return (t->me + i) % t->size;
}

static void whole_team(const struct nrn_builder *b, struct nrn_team *t)
{
	uint32_t i;

	t->size = b->c->num_ranks;
	t->me = b->rank;
	for (i = 0; i < t->size; i++)
		t->rank[i] = i;
}

/* Piece @j of everybody's block to its owner's slot for us; the own one, too */
static void send_pieces(struct nrn_builder *b, const struct nrn_team *t,
			const struct nrn_block *block, enum nrn_space from, uint32_t slots,
			uint64_t j)
{
	uint64_t at = j * b->slot, size;
	uint32_t i, k;

	for (k = 0; k < t->size; k++) {
		i = turn(t, k);
		size = nrn_piece(block[i].size, b->slot, j);
		if (!size)
			continue;
		if (k)
			nrn_wait(b, NRN_SEM_CREDIT, t->rank[i], 1);
		nrn_copy(b, t->rank[i], NRN_SCRATCH, nrn_slot(b, slots + t->me, j), from,
			 block[i].src + at, size);
		if (k)
			nrn_signal(b, t->rank[i], NRN_SEM_DATA);
	}
}

/* What all have sent of piece @j, to DST; false when there is none */
static bool combine_piece(struct nrn_builder *b, const struct nrn_team *t, uint64_t dst,
			  uint64_t whole, uint32_t slots, uint64_t j)
{
	uint64_t size = nrn_piece(whole, b->slot, j);
	uint32_t i;

	if (!size)
		return false;
	for (i = 0; i < t->size; i++) {
		if (i != t->me)
			nrn_wait(b, NRN_SEM_DATA, t->rank[i], 1);
		if (i)
			nrn_add_slots(b, nrn_slot(b, slots, j), nrn_slot(b, slots + i, j), size);
	}
	nrn_copy(b, b->rank, NRN_DST, dst + j * b->slot, NRN_SCRATCH, nrn_slot(b, slots, j), size);
	return true;
}

static void grant(struct nrn_builder *b, const struct nrn_team *t)
{
	uint32_t i;

	for (i = 1; i < t->size; i++)
		nrn_signal(b, t->rank[turn(t, i)], NRN_SEM_CREDIT);
}

void nrn_mesh_reduce_scatter(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block, enum nrn_space from, uint32_t slots)
{
	uint64_t own = nrn_div_up(block[t->me].size, b->slot), pieces = 0, granted = 0, j;
	uint32_t i;

	for (i = 0; i < t->size; i++)
		if (nrn_div_up(block[i].size, b->slot) > pieces)
			pieces = nrn_div_up(block[i].size, b->slot);
	for (; granted < own && granted < NRN_SLOT_DEPTH; granted++)
		grant(b, t);
	for (j = 0; j <= pieces; j++) {
		/* One piece ahead of what is combined */
		if (j < pieces)
			send_pieces(b, t, block, from, slots, j);
		if (j && combine_piece(b, t, block[t->me].dst, block[t->me].size, slots, j - 1) &&
		    granted < own) {
			granted++;
			grant(b, t);
		}
	}
}

/* Tells those who may write here, and waits for those who want to be written to. */
static void ready_all(struct nrn_builder *b, const struct nrn_team *t)
{
	uint32_t i;

	for (i = 1; i < t->size; i++)
		nrn_signal(b, t->rank[turn(t, i)], NRN_SEM_READY);
}

void nrn_mesh_all_gather(struct nrn_builder *b, const struct nrn_team *t,
			 const struct nrn_block *block)
{
	const struct nrn_block *own = &block[t->me];
	uint32_t i, peer;

	ready_all(b, t);
	for (i = 1; i < t->size; i++) {
		peer = t->rank[turn(t, i)];
		nrn_wait(b, NRN_SEM_READY, peer, 1);
		nrn_copy(b, peer, NRN_DST, own->dst, NRN_DST, own->dst, own->size);
		nrn_signal(b, peer, NRN_SEM_DATA);
	}
	for (i = 1; i < t->size; i++)
		nrn_wait(b, NRN_SEM_DATA, t->rank[turn(t, t->size - i)], 1);
}

uint64_t nrn_plan_one_step_scratch(uint32_t num_ranks, uint64_t size)
{
	return (num_ranks + 1) * NRN_SLOT_DEPTH * ((size + 63) & ~63ull);
}

/* Everybody has all that all have, and combines it; it fits a slot. */
void nrn_mesh_one_step(struct nrn_builder *b, const struct nrn_block *all, bool multicast)
{
	uint64_t slot = nrn_slot(b, b->rank, 0);
	struct nrn_team t;
	uint32_t i, peer;

	if (!all->size)
		return;
	whole_team(b, &t);
	if (multicast) {
		nrn_enter_all(b);
		nrn_copy(b, NRN_ALL, NRN_SCRATCH, slot, NRN_SRC, all->src, all->size);
		nrn_leave_all(b);
		for (i = 1; i < t.size; i++)
			nrn_add_slots(b, nrn_slot(b, 0, 0), nrn_slot(b, i, 0), all->size);
		nrn_copy(b, b->rank, NRN_DST, all->dst, NRN_SCRATCH, nrn_slot(b, 0, 0), all->size);
		return;
	}
	grant(b, &t);
	for (i = 0; i < t.size; i++) {
		peer = turn(&t, i);
		if (i)
			nrn_wait(b, NRN_SEM_CREDIT, peer, 1);
		nrn_copy(b, peer, NRN_SCRATCH, slot, NRN_SRC, all->src, all->size);
		if (i)
			nrn_signal(b, peer, NRN_SEM_DATA);
	}
	combine_piece(b, &t, all->dst, all->size, 0, 0);
}

/* Where what @from sends to @to begins in the sender's and the receiver's data */
static uint64_t sent_before(const struct nrn_collective *c, uint32_t from, uint32_t to)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < to; i++)
		at += c->sizes[(uint64_t)from * c->num_ranks + i];
	return at;
}

static uint64_t received_before(const struct nrn_collective *c, uint32_t from, uint32_t to)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < from; i++)
		at += c->sizes[(uint64_t)i * c->num_ranks + to];
	return at;
}

/*
 * The @i-th partner: in each turn everybody has another one. Channels begin with
 * different ones. In a torus of 2^k, by exclusive or, those of a turn share no
 * link, and turns of different channels use different dimensions.
 */
static uint32_t partner(const struct nrn_builder *b, uint32_t i)
{
	uint32_t n = b->c->num_ranks, first = b->channel * (n - 1) / b->c->channels;
	uint32_t far = 1 + (i - 1 + first) % (n - 1);

	return n & (n - 1) ? (b->rank + far) % n : b->rank ^ far;
}

void nrn_mesh_all_to_all(struct nrn_builder *b)
{
	const struct nrn_collective *c = b->c;
	uint64_t begin, end, src, dst, size;
	uint32_t n = c->num_ranks, i, peer;

	for (i = 1; i < n; i++)
		if (c->sizes[(uint64_t)partner(b, i) * n + b->rank])
			nrn_signal(b, partner(b, i), NRN_SEM_READY);
	for (i = 0; i < n; i++) {
		peer = i ? partner(b, i) : b->rank;
		size = c->sizes[(uint64_t)b->rank * n + peer];
		if (!size)
			continue;
		begin = nrn_cut(size, c->channels, b->channel);
		end = nrn_cut(size, c->channels, b->channel + 1);
		src = sent_before(c, b->rank, peer);
		dst = received_before(c, b->rank, peer);
		if (i)
			nrn_wait(b, NRN_SEM_READY, peer, 1);
		nrn_copy(b, peer, NRN_DST, dst + begin, NRN_SRC, src + begin, end - begin);
		if (i)
			nrn_signal(b, peer, NRN_SEM_DATA);
	}
	for (i = 1; i < n; i++) {
		peer = partner(b, i);
		if (c->sizes[(uint64_t)peer * n + b->rank])
			nrn_wait(b, NRN_SEM_DATA, peer, 1);
	}
}

void nrn_mesh_broadcast(struct nrn_builder *b, const struct nrn_block *all)
{
	struct nrn_team t;
	uint32_t i, peer;

	whole_team(b, &t);
	if (b->rank != b->c->root) {
		nrn_signal(b, b->c->root, NRN_SEM_READY);
		nrn_wait(b, NRN_SEM_DATA, b->c->root, 1);
		return;
	}
	for (i = 1; i < t.size; i++) {
		peer = turn(&t, i);
		nrn_wait(b, NRN_SEM_READY, peer, 1);
		nrn_copy(b, peer, NRN_DST, all->dst, NRN_SRC, all->src, all->size);
		nrn_signal(b, peer, NRN_SEM_DATA);
	}
}

/* All send to the root, which combines. */
void nrn_mesh_reduce(struct nrn_builder *b, const struct nrn_block *all)
{
	uint64_t pieces = nrn_div_up(all->size, b->slot), granted = 0, j;
	uint32_t root = b->c->root;
	struct nrn_team t;

	whole_team(b, &t);
	for (; b->rank == root && granted < pieces && granted < NRN_SLOT_DEPTH; granted++)
		grant(b, &t);
	for (j = 0; j < pieces; j++) {
		uint64_t at = j * b->slot, size = nrn_piece(all->size, b->slot, j);

		if (b->rank != root)
			nrn_wait(b, NRN_SEM_CREDIT, root, 1);
		nrn_copy(b, root, NRN_SCRATCH, nrn_slot(b, b->rank, j), NRN_SRC, all->src + at,
			 size);
		if (b->rank != root) {
			nrn_signal(b, root, NRN_SEM_DATA);
			continue;
		}
		combine_piece(b, &t, all->dst, all->size, 0, j);
		if (granted < pieces) {
			granted++;
			grant(b, &t);
		}
	}
}

/* In round k everybody hears of 2^k others, by the one that far before it. */
void nrn_mesh_barrier(struct nrn_builder *b)
{
	uint32_t n = b->c->num_ranks, far;

	for (far = 1; far < n; far *= 2) {
		nrn_signal(b, (b->rank + far) % n, NRN_SEM_DATA);
		nrn_wait(b, NRN_SEM_DATA, (b->rank + n - far) % n, 1);
	}
}

/* By way of the receiver's slots: the sender does not know its destination. */
void nrn_send_recv(struct nrn_builder *b, const struct nrn_block *all)
{
	uint64_t pieces = nrn_div_up(all->size, b->slot), granted = 0, j;
	uint32_t from = b->c->root, to = b->c->peer;

	if (b->rank != from && b->rank != to)
		return;
	for (; b->rank == to && granted < pieces && granted < NRN_SLOT_DEPTH; granted++)
		nrn_signal(b, from, NRN_SEM_CREDIT);
	for (j = 0; j < pieces; j++) {
		uint64_t at = j * b->slot, size = nrn_piece(all->size, b->slot, j);
		uint64_t slot = nrn_slot(b, from, j);

		if (b->rank == from) {
			nrn_wait(b, NRN_SEM_CREDIT, to, 1);
			nrn_copy(b, to, NRN_SCRATCH, slot, NRN_SRC, all->src + at, size);
			nrn_signal(b, to, NRN_SEM_DATA);
		} else {
			nrn_wait(b, NRN_SEM_DATA, from, 1);
			nrn_copy(b, b->rank, NRN_DST, all->dst + at, NRN_SCRATCH, slot, size);
			if (granted < pieces) {
				granted++;
				nrn_signal(b, from, NRN_SEM_CREDIT);
			}
		}
	}
}
