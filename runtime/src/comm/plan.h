/* SPDX-License-Identifier: MIT */
/*
 * Plans of collectives: what each rank does, as lists of steps. Pure functions:
 * no device, no communicator.
 *
 * A plan is static: signals add and waits subtract what they have waited for, so
 * all semaphores are 0 again when all ranks are through, and a plan can be
 * started any number of times. Three rules make that safe while some ranks are
 * ahead of others:
 *
 *  - Nobody writes to another rank before that rank has said, in this run, that
 *    it may: by a credit for a slot of scratch, by "ready" for its destination,
 *    or by the entry of all.
 *  - Semaphores belong to a channel and a pair of ranks, so what a fast peer says
 *    of its next run is not mistaken for what another has to say of this one.
 *    The two that all share, entry and done, are taken in turns by all.
 *  - A rank's run ends when all that others write to it is there, and when all
 *    have read what they read from it.
 */
#ifndef NEURON_COMM_PLAN_H
#define NEURON_COMM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <neuron/comm.h>

/* Slots a sender has in the scratch of a receiver: one is filled, one is read */
#define NRN_SLOT_DEPTH 2u
/* Offsets and sizes of what is combined; slots are aligned and padded to it */
#define NRN_COMBINE_ALIGN 16u
/* As many as there are DMA engines worth using side by side */
#define NRN_MAX_CHANNELS 32u
/* Pieces of a channel's list that is too long for the driver, one after the other */
#define NRN_MAX_PIECES 32u
/* Ranks of a communicator: chips of the largest domain */
#define NRN_MAX_RANKS 256u

/* Where a step reads or writes, on which rank */
enum nrn_space {
	NRN_SRC,
	NRN_DST,
	NRN_SCRATCH,
	NRN_NUM_SPACES,
};

/* In place of a rank: all of them at once, through the group */
#define NRN_ALL 0xffffu

enum nrn_step_type {
	NRN_STEP_COPY,
	NRN_STEP_ACCUMULATE,	/* dst = dst op src */
	NRN_STEP_REDUCE,	/* dst = what all hold at src, combined */
	NRN_STEP_SIGNAL,	/* semaphore dst_off of dst_rank += value */
	NRN_STEP_WAIT,		/* own semaphore dst_off >= value, then -= value */
	NRN_STEP_STAMP,		/* modelled time when all before have ended; dst_off: which */
};

struct nrn_step {
	uint8_t type;
	/** @barrier: starts when all steps before it have ended */
	uint8_t barrier;
	uint8_t dst_space;
	/** @src_space: of the rank itself, or of all in a REDUCE */
	uint8_t src_space;
	/** @dst_rank: rank, or NRN_ALL */
	uint16_t dst_rank;
	uint16_t value;
	/** @dst_off: bytes in the space; number of the semaphore */
	uint64_t dst_off;
	uint64_t src_off;
	uint64_t size;
};

/* Kinds of semaphores; each has one per channel and rank, at the rank that waits. */
enum nrn_sem {
	NRN_SEM_DATA,	/* index: who has written */
	NRN_SEM_CREDIT,	/* index: whose slot may be written */
	NRN_SEM_READY,	/* index: whose destination may be written */
	NRN_SEM_ENTRY,	/* index 0 */
	NRN_SEM_DONE,	/* index 0 */
	NRN_SEM_CHAIN,	/* index: piece of a list, from 1 */
	NRN_SEM_GATE,	/* gate.c */
	NRN_NUM_SEMS,
};

static inline uint64_t nrn_sem_index(uint32_t num_ranks, uint32_t channel, enum nrn_sem kind,
				     uint32_t index)
{
	uint32_t stride = num_ranks > NRN_MAX_PIECES ? num_ranks : NRN_MAX_PIECES;

	return ((uint64_t)channel * NRN_NUM_SEMS + kind) * stride + index;
}

/* Channels take turns: in which buffer one's scratch is, and the how manieth it is there */
static inline uint32_t nrn_scratch_window(uint32_t channel)
{
	return channel % 2;
}

static inline uint32_t nrn_scratch_index(uint32_t channel)
{
	return channel / 2;
}

/**
 * struct nrn_collective - what is to be done, as all ranks know it
 */
struct nrn_collective {
	uint32_t op;		/* enum neuron_comm_op */
	uint32_t algorithm;	/* enum neuron_comm_algorithm, not AUTO */
	uint32_t num_ranks;
	/** @root: of broadcast, reduce; the sender of SEND_RECV */
	uint32_t root;
	/** @peer: the receiver of SEND_RECV */
	uint32_t peer;
	/** @esize: bytes of an element */
	uint32_t esize;
	/**
	 * @sizes: bytes. ALL_GATHER and REDUCE_SCATTER: of each rank's block;
	 * ALL_TO_ALL: [i * n + j] from i to j; else one.
	 */
	const uint64_t *sizes;
	bool in_place;
	/** @phase: of SRC and DST: where they begin in a buffer, modulo NRN_COMBINE_ALIGN */
	uint32_t phase[2];
	uint32_t channels;
	/** @scratch: bytes that a channel has on each rank */
	uint64_t scratch;
	/** @server: ranks of a server for HIERARCHICAL: r / server is its number */
	uint32_t server;
	/** @order: ranks in the order of the ring; NULL: as they are numbered */
	const uint16_t *order;
	/** @timed: all begin together, and note when */
	bool timed;
	/** @group: a signal can go to all at once */
	bool group;
	/** @chunk: bytes of a signal in copies without slots; 0: 1 MiB */
	uint64_t chunk;
};

enum nrn_stamp {
	NRN_STAMP_BEGIN,
	NRN_STAMP_END,
	NRN_NUM_STAMPS,
};

struct nrn_list {
	struct nrn_step *step;
	uint32_t count;
	uint32_t room;
};

struct nrn_plan {
	uint32_t channels;
	struct nrn_list list[NRN_MAX_CHANNELS];
};

/* Does the algorithm do that op among so many? A sentence, or NULL when it does. */
const char *nrn_plan_refuses(const struct nrn_collective *c);
/* 0 or -ENOMEM; what nrn_plan_refuses() is a plan of nothing. */
int nrn_plan_build(struct nrn_plan *plan, const struct nrn_collective *c, uint32_t rank);
void nrn_plan_free(struct nrn_plan *plan);
/* Scratch that ONE_STEP and the one-step multicast need for @size bytes. */
uint64_t nrn_plan_one_step_scratch(uint32_t num_ranks, uint64_t size);

#endif
