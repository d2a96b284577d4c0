// SPDX-License-Identifier: MIT
/*
 * How a list is written. Barriers are put where a step needs the end of one
 * before it: it reads what that one writes, or writes what that one uses.
 */
#include <stdlib.h>

#include "build.h"

static struct nrn_step *new_step(struct nrn_builder *b, enum nrn_step_type type)
{
	struct nrn_list *list = b->list;
	struct nrn_step *step;

	if (list->count == list->room) {
		uint32_t room = list->room ? 2 * list->room : 64;

		step = realloc(list->step, room * sizeof(*step));
		if (!step) {
			b->no_memory = true;
			return NULL;
		}
		list->step = step;
		list->room = room;
	}
	step = &list->step[list->count++];
	*step = (struct nrn_step){ .type = type };
	return step;
}

/* Only what the rank itself has is known here; others are kept apart by semaphores. */
static bool conflict(struct nrn_builder *b, const struct nrn_pending *use)
{
	uint32_t i;

	for (i = 0; i < b->num_pending; i++) {
		const struct nrn_pending *p = &b->pending[i];

		if ((p->write || use->write) && p->space == use->space && p->begin < use->end &&
		    use->begin < p->end)
			return true;
	}
	return false;
}

static struct nrn_pending use_of(const struct nrn_builder *b, enum nrn_space space, uint64_t at,
				 uint64_t size, bool write)
{
	struct nrn_pending use = { .space = space, .write = write, .begin = at, .end = at + size };

	if (space == NRN_SRC && b->src_in_dst != NRN_APART) {
		use.space = NRN_DST;
		/* May be below 0: sums of unsigned numbers wrap around, as ends do. */
		use.begin = at + (uint64_t)b->src_in_dst + (1ull << 62);
		use.end = use.begin + size;
	} else if (space == NRN_DST) {
		use.begin += 1ull << 62;
		use.end += 1ull << 62;
	}
	return use;
}

static void add_data(struct nrn_builder *b, const struct nrn_step *data)
{
	bool local = data->dst_rank == b->rank || data->dst_rank == NRN_ALL;
	struct nrn_pending use[2];
	struct nrn_step *step;
	uint32_t n = 0, i;

	if (!data->size)
		return;
	if (local)
		use[n++] = use_of(b, data->dst_space, data->dst_off, data->size, true);
	use[n++] = use_of(b, data->src_space, data->src_off, data->size, false);
	step = new_step(b, data->type);
	if (!step)
		return;
	*step = *data;
	for (i = 0; i < n; i++)
		if (conflict(b, &use[i]))
			step->barrier = 1;
	if (b->num_pending + n > NRN_PENDING || b->waited)
		step->barrier = 1;
	b->waited = false;
	if (step->barrier)
		b->num_pending = 0;
	for (i = 0; i < n; i++)
		b->pending[b->num_pending++] = use[i];
}

void nrn_copy(struct nrn_builder *b, uint32_t dst_rank, enum nrn_space dst_space, uint64_t dst,
	      enum nrn_space src_space, uint64_t src, uint64_t size)
{
	add_data(b, &(struct nrn_step){
		.type = NRN_STEP_COPY,
		.dst_rank = (uint16_t)dst_rank,
		.dst_space = dst_space,
		.dst_off = dst,
		.src_space = src_space,
		.src_off = src,
		.size = size,
	});
}

void nrn_accumulate(struct nrn_builder *b, uint32_t dst_rank, enum nrn_space dst_space,
		    uint64_t dst, enum nrn_space src_space, uint64_t src, uint64_t size)
{
	add_data(b, &(struct nrn_step){
		.type = NRN_STEP_ACCUMULATE,
		.dst_rank = (uint16_t)dst_rank,
		.dst_space = dst_space,
		.dst_off = dst,
		.src_space = src_space,
		.src_off = src,
		.size = nrn_pad(size),
	});
}

void nrn_add_slots(struct nrn_builder *b, uint64_t dst, uint64_t src, uint64_t size)
{
	nrn_accumulate(b, b->rank, NRN_SCRATCH, dst, NRN_SCRATCH, src, size);
}

uint64_t nrn_stage(struct nrn_builder *b, enum nrn_space space, uint64_t src, uint64_t size)
{
	uint64_t pad = nrn_slot(b, b->num_slots / NRN_SLOT_DEPTH, b->next_pad++);

	nrn_copy(b, b->rank, NRN_SCRATCH, pad, space, src, size);
	return pad;
}

void nrn_add_to_slot(struct nrn_builder *b, uint64_t slot, enum nrn_space space, uint64_t src,
		     uint64_t size)
{
	bool aligned = (b->c->phase[space] + src) % NRN_COMBINE_ALIGN == 0;
	uint64_t body = aligned ? size & ~(uint64_t)(NRN_COMBINE_ALIGN - 1) : 0;
	uint64_t pad;

	nrn_accumulate(b, b->rank, NRN_SCRATCH, slot, space, src, body);
	if (body == size)
		return;
	/* The rest by way of a slot of its own */
	pad = nrn_stage(b, space, src + body, size - body);
	nrn_add_slots(b, slot + body, pad, size - body);
}

uint64_t nrn_reduce_to_slot(struct nrn_builder *b, uint64_t slot, uint64_t src, uint64_t size)
{
	/* Reads begin and end at multiples, of the buffer and not of the range. */
	uint64_t head = (b->c->phase[NRN_SRC] + src) % NRN_COMBINE_ALIGN;

	add_data(b, &(struct nrn_step){
		.type = NRN_STEP_REDUCE,
		.dst_rank = (uint16_t)b->rank,
		.dst_space = NRN_SCRATCH,
		.dst_off = slot,
		.src_space = NRN_SRC,
		.src_off = src - head,
		.size = nrn_pad(head + size),
	});
	return slot + head;
}

void nrn_reduce_from_all(struct nrn_builder *b, uint64_t slot, uint32_t dst_rank, uint64_t dst,
			 uint64_t src, uint64_t size)
{
	if (size)
		nrn_copy(b, dst_rank, NRN_DST, dst, NRN_SCRATCH,
			 nrn_reduce_to_slot(b, slot, src, size), size);
}

void nrn_signal(struct nrn_builder *b, uint32_t to, enum nrn_sem kind)
{
	nrn_signal_many(b, to, kind, 1);
}

static void add_signal(struct nrn_builder *b, uint32_t to, uint64_t index, uint32_t value)
{
	struct nrn_step *step = new_step(b, NRN_STEP_SIGNAL);

	if (!step)
		return;
	step->dst_rank = (uint16_t)to;
	step->dst_off = index;
	step->value = (uint16_t)value;
	b->waited = false;
}

void nrn_signal_many(struct nrn_builder *b, uint32_t to, enum nrn_sem kind, uint32_t value)
{
	bool shared = kind == NRN_SEM_ENTRY || kind == NRN_SEM_DONE;

	add_signal(b, to, nrn_sem_index(b->c->num_ranks, b->channel, kind, shared ? 0 : b->rank),
		   value);
}

void nrn_signal_at(struct nrn_builder *b, uint32_t to, uint64_t index)
{
	add_signal(b, to, index, 1);
}

void nrn_stamp(struct nrn_builder *b, enum nrn_stamp which)
{
	struct nrn_step *step = new_step(b, NRN_STEP_STAMP);

	if (step)
		step->dst_off = which;
}

void nrn_wait(struct nrn_builder *b, enum nrn_sem kind, uint32_t index, uint32_t value)
{
	struct nrn_step *step = new_step(b, NRN_STEP_WAIT);

	if (!step)
		return;
	step->dst_rank = (uint16_t)b->rank;
	step->dst_off = nrn_sem_index(b->c->num_ranks, b->channel, kind, index);
	step->value = (uint16_t)value;
	b->waited = true;
}

/* Nobody goes on before all have come here. */
void nrn_enter_all(struct nrn_builder *b)
{
	nrn_signal(b, NRN_ALL, NRN_SEM_ENTRY);
	nrn_wait(b, NRN_SEM_ENTRY, 0, b->c->num_ranks);
}

void nrn_leave_all(struct nrn_builder *b)
{
	nrn_signal(b, NRN_ALL, NRN_SEM_DONE);
	nrn_wait(b, NRN_SEM_DONE, 0, b->c->num_ranks);
}

/* One sender more, of this rank itself: ragged ends */
void nrn_set_slots(struct nrn_builder *b, uint32_t senders)
{
	uint64_t room = b->c->scratch / ((senders + 1) * NRN_SLOT_DEPTH);

	b->num_slots = senders * NRN_SLOT_DEPTH;
	b->slot = room & ~63ull;
}

uint64_t nrn_room(const struct nrn_builder *b)
{
	return b->c->scratch & ~63ull;
}

uint64_t nrn_channel_scratch(const struct nrn_builder *b, uint32_t channel)
{
	return nrn_room(b) * channel;
}

uint64_t nrn_slot(const struct nrn_builder *b, uint32_t sender, uint64_t message)
{
	return nrn_channel_scratch(b, b->channel) +
	       ((uint64_t)sender * NRN_SLOT_DEPTH + message % NRN_SLOT_DEPTH) * b->slot;
}
