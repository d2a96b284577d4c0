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

/* Parts of a block that follow each other around, so that all links have work */
#define TRIPS 4
#define LEAST_PIECE (32u << 10)
#define SLOTS (NRN_RING_SENDERS * NRN_SLOT_DEPTH)
/* Slots that are given back at once */
#define LUMP (SLOTS / 2)

/*
 * struct ring - a rank's view of an all_reduce or reduce_scatter
 *
 * A piece of the block before the own one begins here and goes around. A rank
 * has its share in the slot before the sum so far is added there by the one
 * before, and adds the slot to that of the next one. The last one has the sum,
 * in its destination if it can, and from there it goes around again while the
 * next piece is on its way.
 */
struct ring {
	struct nrn_builder *b;
	const struct nrn_team *t;
	const struct nrn_block *block;
	enum nrn_space from;
	uint32_t slots;
	/** @gather: all get all sums; else only the own one */
	bool gather;
	uint64_t piece, trips;
	uint32_t next, prev;
	/** @sent, @received, @filled: messages to slots of the next one, or here */
	uint64_t sent, received, filled;
	/** @credits: slots of the next one that may be added to; and those to come */
	uint64_t credits, to_come;
	/** @fill_trip, @fill_step: of the message whose slot is filled next */
	uint64_t fill_trip;
	uint32_t fill_step;
};

static uint64_t piece_of(const struct ring *r, uint32_t i, uint64_t trip)
{
	return nrn_piece(r->block[i].size, r->piece, trip);
}

/* Block that is with the rank at place @at in step @s of a trip, and is on its way there */
static uint32_t block_at(const struct ring *r, uint32_t at, uint32_t s)
{
	return (at + 2 * r->t->size - 1 - s) % r->t->size;
}

/* Is the sum of the block made in the destination? All know that it has the same place. */
static bool is_direct(const struct ring *r, uint32_t i)
{
	const struct nrn_block *block = &r->block[i];

	return r->gather && !((r->b->c->phase[NRN_DST] + block->dst) % NRN_COMBINE_ALIGN) &&
	       !(block->size % NRN_COMBINE_ALIGN);
}

/* Does the rank at @at get that block of that trip by way of a slot? */
static bool takes_slot(const struct ring *r, uint32_t at, uint64_t trip, uint32_t s)
{
	uint32_t i = block_at(r, at, s);

	return s && piece_of(r, i, trip) && !(s == r->t->size - 1 && is_direct(r, i));
}

static uint64_t count_slots(const struct ring *r, uint32_t at)
{
	uint64_t trip, count = 0;
	uint32_t s;

	for (trip = 0; trip < r->trips; trip++)
		for (s = 1; s < r->t->size; s++)
			count += takes_slot(r, at, trip, s);
	return count;
}

static uint64_t slot_of(const struct ring *r, uint64_t message)
{
	message %= SLOTS;
	return nrn_slot(r->b, r->slots + (uint32_t)(message / NRN_SLOT_DEPTH), message);
}

static uint64_t source(const struct ring *r, uint32_t i, uint64_t trip)
{
	return r->block[i].src + trip * r->piece;
}

/* The own shares of up to @count messages to come, to their slots; and tells so */
static void fill_slots(struct ring *r, uint64_t count)
{
	uint64_t filled = 0;
	uint32_t i;

	for (; filled < count && r->fill_trip < r->trips; r->fill_trip++, r->fill_step = 1) {
		for (; filled < count && r->fill_step < r->t->size; r->fill_step++) {
			if (!takes_slot(r, r->t->me, r->fill_trip, r->fill_step))
				continue;
			i = block_at(r, r->t->me, r->fill_step);
			nrn_copy(r->b, r->b->rank, NRN_SCRATCH, slot_of(r, r->filled++), r->from,
				 source(r, i, r->fill_trip), piece_of(r, i, r->fill_trip));
			filled++;
		}
		if (r->fill_step < r->t->size)
			break;
	}
	if (filled)
		nrn_signal_many(r->b, r->prev, NRN_SEM_CREDIT, (uint32_t)filled);
}

static void take_credit(struct ring *r, uint64_t most)
{
	r->credits = nrn_min(most, r->to_come);
	r->to_come -= r->credits;
	if (r->credits)
		nrn_wait(r->b, NRN_SEM_CREDIT, r->next, (uint32_t)r->credits);
}

/* What is to be waited for before step @s of a trip */
static bool something_comes(const struct ring *r, uint64_t trip, uint32_t s)
{
	if (s && piece_of(r, block_at(r, r->t->me, s), trip))
		return true;
	return s && r->gather && trip && piece_of(r, block_at(r, r->t->me, s - 1), trip - 1);
}

/* The first one's share begins at its source, if that can be added from. */
static void send_sum(struct ring *r, uint64_t trip, uint32_t s)
{
	uint32_t i = block_at(r, r->t->me, s), space = NRN_SCRATCH;
	uint64_t size = piece_of(r, i, trip), src, dst;
	bool last = s == r->t->size - 2 && is_direct(r, i);

	if (s) {
		src = slot_of(r, r->received++);
	} else if ((r->b->c->phase[r->from] + r->block[i].src) % NRN_COMBINE_ALIGN ||
		   size % NRN_COMBINE_ALIGN) {
		src = nrn_stage(r->b, r->from, source(r, i, trip), size);
	} else {
		src = source(r, i, trip);
		space = r->from;
	}
	dst = last ? r->block[i].dst + trip * r->piece : slot_of(r, r->sent);
	nrn_accumulate(r->b, r->next, last ? NRN_DST : NRN_SCRATCH, dst, space, src, size);
	if (!last) {
		r->sent++;
		r->credits--;
	}
}

/* The sum of the own block is here. */
static void end_sum(struct ring *r, uint64_t trip)
{
	const struct nrn_block *own = &r->block[r->t->me];

	if (!is_direct(r, r->t->me))
		nrn_copy(r->b, r->b->rank, NRN_DST, own->dst + trip * r->piece, NRN_SCRATCH,
			 slot_of(r, r->received++), piece_of(r, r->t->me, trip));
}

static void send_result(struct ring *r, uint64_t trip, uint32_t s)
{
	uint32_t i = s ? block_at(r, r->t->me, s - 1) : r->t->me;
	uint64_t at = r->block[i].dst + trip * r->piece;

	nrn_copy(r->b, r->next, NRN_DST, at, NRN_DST, at, piece_of(r, i, trip));
}

static void step(struct ring *r, uint64_t trip, uint32_t s)
{
	uint32_t sum = block_at(r, r->t->me, s), result = s ? block_at(r, r->t->me, s - 1) :
		       r->t->me;
	bool sums = trip < r->trips && piece_of(r, sum, trip);
	bool results = r->gather && trip && piece_of(r, result, trip - 1);
	bool last = s == r->t->size - 1;

	if (something_comes(r, trip, s))
		nrn_wait(r->b, NRN_SEM_DATA, r->prev, 1);
	if (sums && !last && !r->credits && !(s == r->t->size - 2 && is_direct(r, sum)))
		take_credit(r, LUMP);
	/* Slots that were sent on are free behind the waits. */
	if (r->filled - r->received <= SLOTS - LUMP)
		fill_slots(r, LUMP);
	if (last) {
		if (sums)
			end_sum(r, trip);
		return;
	}
	if (sums)
		send_sum(r, trip, s);
	if (results)
		send_result(r, trip - 1, s);
	if (sums || results)
		nrn_signal(r->b, r->next, NRN_SEM_DATA);
}

static bool is_in_place(const struct nrn_builder *b, const struct nrn_block *own)
{
	return b->src_in_dst != NRN_APART && (int64_t)own->src + b->src_in_dst == (int64_t)own->dst;
}

static void go_around(struct nrn_builder *b, const struct nrn_team *t,
		      const struct nrn_block *block, enum nrn_space from, uint32_t slots,
		      bool gather)
{
	uint64_t size = longest(t, block), trip;
	const struct nrn_block *own = &block[t->me];
	struct ring r = {
		.b = b, .t = t, .block = block, .from = from, .slots = slots, .gather = gather,
		.piece = nrn_min(nrn_pad(nrn_div_up(size, TRIPS)), b->slot),
		.next = t->rank[after(t, t->me)],
		.prev = t->rank[before(t, t->me)],
		.fill_step = 1,
	};
	uint32_t s;

	if (!size)
		return;
	if (r.piece < LEAST_PIECE)
		r.piece = nrn_min(LEAST_PIECE, b->slot);
	r.trips = nrn_div_up(size, r.piece);
	r.to_come = count_slots(&r, after(t, t->me));
	if (is_direct(&r, t->me) && from != NRN_DST && !is_in_place(b, own))
		nrn_copy(b, b->rank, NRN_DST, own->dst, from, own->src, own->size);
	if (gather) {
		nrn_signal(b, r.prev, NRN_SEM_READY);
		nrn_wait(b, NRN_SEM_READY, r.next, 1);
	}
	fill_slots(&r, SLOTS);
	take_credit(&r, SLOTS);
	for (trip = 0; trip < r.trips + gather; trip++)
		for (s = 0; s < t->size; s++)
			step(&r, trip, s);
}

void nrn_ring_all_reduce(struct nrn_builder *b, const struct nrn_team *t,
			 const struct nrn_block *block, enum nrn_space from, uint32_t slots)
{
	go_around(b, t, block, from, slots, true);
}

void nrn_ring_reduce_scatter(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block, uint32_t slots)
{
	go_around(b, t, block, NRN_SRC, slots, false);
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
