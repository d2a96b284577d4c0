/* SPDX-License-Identifier: MIT */
/*
 * What the algorithms share: how a list is written.
 */
#ifndef NEURON_COMM_BUILD_H
#define NEURON_COMM_BUILD_H

#include <stddef.h>

#include "plan.h"

/* What is not known to have ended */
#define NRN_PENDING 48u

struct nrn_pending {
	uint16_t space;
	bool write;
	uint64_t begin, end;
};

/**
 * struct nrn_builder - writes the list of one rank and channel
 */
struct nrn_builder {
	const struct nrn_collective *c;
	struct nrn_list *list;
	uint32_t rank, channel;
	bool no_memory;
	/** @src_in_dst: in place: SRC is here in DST; else NRN_APART */
	int64_t src_in_dst;
	/** @slot: bytes of a slot */
	uint64_t slot;
	/** @num_slots: slots in the scratch of the channel, those for ragged ends apart */
	uint32_t num_slots;
	uint32_t next_pad;
	struct nrn_pending pending[NRN_PENDING];
	uint32_t num_pending;
	/** @waited: the last step is a wait, behind which a barrier costs nothing more */
	bool waited;
};

#define NRN_APART INT64_MIN

/* Ranks that work together; blocks go by index in the team. */
struct nrn_team {
	uint32_t size;
	uint32_t me;
	uint32_t rank[NRN_MAX_RANKS];
};

/* A part of the data that one member of a team ends up with, or begins with */
struct nrn_block {
	uint64_t src, dst, size;
};

/* Slots for so many senders */
void nrn_set_slots(struct nrn_builder *b, uint32_t senders);
uint64_t nrn_slot(const struct nrn_builder *b, uint32_t sender, uint64_t message);
/* All scratch of a channel, of so many bytes, for what cuts it in its own way */
uint64_t nrn_channel_scratch(const struct nrn_builder *b, uint32_t channel);
uint64_t nrn_room(const struct nrn_builder *b);

void nrn_copy(struct nrn_builder *b, uint32_t dst_rank, enum nrn_space dst_space, uint64_t dst,
	      enum nrn_space src_space, uint64_t src, uint64_t size);
/* Slot at @slot op= the data, whatever its alignment */
void nrn_add_to_slot(struct nrn_builder *b, uint64_t slot, enum nrn_space space, uint64_t src,
		     uint64_t size);
/* A copy in a slot of its own, for what is not aligned to be combined. Returns where. */
uint64_t nrn_stage(struct nrn_builder *b, enum nrn_space space, uint64_t src, uint64_t size);
/* Of any rank: what is there op= what is here; padded */
void nrn_accumulate(struct nrn_builder *b, uint32_t dst_rank, enum nrn_space dst_space,
		    uint64_t dst, enum nrn_space src_space, uint64_t src, uint64_t size);
/* Slot op= slot */
void nrn_add_slots(struct nrn_builder *b, uint64_t dst, uint64_t src, uint64_t size);
/* What all hold in SRC, to DST of @dst_rank, by way of the slot */
void nrn_reduce_from_all(struct nrn_builder *b, uint64_t slot, uint32_t dst_rank, uint64_t dst,
			 uint64_t src, uint64_t size);
/* The first half of that. Returns where it is in the slot. */
uint64_t nrn_reduce_to_slot(struct nrn_builder *b, uint64_t slot, uint64_t src, uint64_t size);
void nrn_signal(struct nrn_builder *b, uint32_t to, enum nrn_sem kind);
/* To the semaphore @index, whosever it is */
void nrn_signal_at(struct nrn_builder *b, uint32_t to, uint64_t index);
void nrn_signal_many(struct nrn_builder *b, uint32_t to, enum nrn_sem kind, uint32_t value);
void nrn_wait(struct nrn_builder *b, enum nrn_sem kind, uint32_t index, uint32_t value);
void nrn_stamp(struct nrn_builder *b, enum nrn_stamp which);
void nrn_enter_all(struct nrn_builder *b);
void nrn_leave_all(struct nrn_builder *b);

static inline uint64_t nrn_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t nrn_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t nrn_div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static inline uint64_t nrn_pad(uint64_t size)
{
	return (size + NRN_COMBINE_ALIGN - 1) & ~(uint64_t)(NRN_COMBINE_ALIGN - 1);
}

/* Bytes of piece @i of @size in pieces of @piece: 0 when there is no such */
static inline uint64_t nrn_piece(uint64_t size, uint64_t piece, uint64_t i)
{
	return i * piece >= size ? 0 : nrn_min(piece, size - i * piece);
}

/* Cuts @size, at multiples of NRN_COMBINE_ALIGN, into @count parts: where part @i begins */
static inline uint64_t nrn_cut(uint64_t size, uint32_t count, uint32_t i)
{
	uint64_t units = nrn_div_up(size, NRN_COMBINE_ALIGN);

	return nrn_min(size, (units / count * i + nrn_min(i, units % count)) * NRN_COMBINE_ALIGN);
}

/* ring.c: results of reduce_scatter are in DST, and so is what all_gather begins with */
#define NRN_RING_SENDERS 3u	/* slots of a ring are those of so many senders */
void nrn_ring_all_reduce(struct nrn_builder *b, const struct nrn_team *t,
			 const struct nrn_block *block, enum nrn_space from, uint32_t slots);
void nrn_ring_reduce_scatter(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block, uint32_t slots);
void nrn_ring_all_gather(struct nrn_builder *b, const struct nrn_team *t,
			 const struct nrn_block *block);
void nrn_ring_broadcast(struct nrn_builder *b, const struct nrn_block *all);
void nrn_ring_reduce(struct nrn_builder *b, const struct nrn_block *all);

/* mesh.c */
void nrn_mesh_reduce_scatter(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block, enum nrn_space from, uint32_t slots);
void nrn_mesh_all_gather(struct nrn_builder *b, const struct nrn_team *t,
			 const struct nrn_block *block);
void nrn_mesh_one_step(struct nrn_builder *b, const struct nrn_block *all, bool multicast);
void nrn_mesh_all_to_all(struct nrn_builder *b);
void nrn_mesh_broadcast(struct nrn_builder *b, const struct nrn_block *all);
void nrn_mesh_reduce(struct nrn_builder *b, const struct nrn_block *all);
void nrn_mesh_barrier(struct nrn_builder *b);
void nrn_send_recv(struct nrn_builder *b, const struct nrn_block *all);

/* halving.c */
void nrn_halving_all_reduce(struct nrn_builder *b, const struct nrn_team *t,
			    const struct nrn_block *block);
void nrn_doubling_all_gather(struct nrn_builder *b, const struct nrn_team *t,
			     const struct nrn_block *block);

/* gate.c */
void nrn_gate_begin(struct nrn_builder *b);
void nrn_gate_end(struct nrn_builder *b);

/* multicast.c: through the group */
void nrn_group_all_gather(struct nrn_builder *b, const struct nrn_block *own, enum nrn_space from);
void nrn_group_broadcast(struct nrn_builder *b, const struct nrn_block *all);
void nrn_group_all_reduce(struct nrn_builder *b, const struct nrn_block *own);
void nrn_group_all_reduce_paired(struct nrn_builder *b, const struct nrn_block *own);
void nrn_group_reduce_scatter(struct nrn_builder *b, const struct nrn_block *own);
void nrn_group_reduce(struct nrn_builder *b, const struct nrn_block *all);

#endif
