// SPDX-License-Identifier: MIT
/*
 * From a collective to the lists of a rank: which algorithm, which part of the
 * data on which channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"

#define DEFAULT_CHUNK (1ull << 20)

static bool power_of_two(uint32_t n)
{
	return !(n & (n - 1));
}

static uint32_t log2_of(uint32_t n)
{
	uint32_t log = 0;

	while (n >>= 1)
		log++;
	return log;
}

/* Senders that need slots */
static uint32_t senders(const struct nrn_collective *c)
{
	switch (c->algorithm) {
	case NEURON_COMM_MESH:
	case NEURON_COMM_ONE_STEP:
	case NEURON_COMM_MULTICAST:
		return c->num_ranks;
	case NEURON_COMM_HALVING:
		return log2_of(c->num_ranks) + 1;
	case NEURON_COMM_HIERARCHICAL:
		return c->server + NRN_RING_SENDERS;
	case NEURON_COMM_RING:
		return NRN_RING_SENDERS;
	default:
		return 1;
	}
}

static bool one_step(const struct nrn_collective *c)
{
	return c->algorithm == NEURON_COMM_ONE_STEP ||
	       (c->algorithm == NEURON_COMM_MULTICAST && c->op == NEURON_COMM_ALL_REDUCE &&
		nrn_plan_one_step_scratch(c->num_ranks, nrn_cut(c->sizes[0], c->channels, 1)) <=
			c->scratch);
}

/* Two channels together have a part of the data. */
static bool in_pairs(const struct nrn_collective *c)
{
	return c->op == NEURON_COMM_ALL_REDUCE && c->algorithm == NEURON_COMM_IN_NETWORK &&
	       c->channels > 1;
}

static uint32_t allowed(uint32_t op)
{
	switch (op) {
	case NEURON_COMM_ALL_REDUCE:
		return 1u << NEURON_COMM_RING | 1u << NEURON_COMM_HALVING |
		       1u << NEURON_COMM_MESH | 1u << NEURON_COMM_ONE_STEP |
		       1u << NEURON_COMM_HIERARCHICAL | 1u << NEURON_COMM_MULTICAST |
		       1u << NEURON_COMM_IN_NETWORK;
	case NEURON_COMM_ALL_GATHER:
		return 1u << NEURON_COMM_RING | 1u << NEURON_COMM_HALVING |
		       1u << NEURON_COMM_MESH | 1u << NEURON_COMM_HIERARCHICAL |
		       1u << NEURON_COMM_MULTICAST;
	case NEURON_COMM_REDUCE_SCATTER:
	case NEURON_COMM_REDUCE:
		return 1u << NEURON_COMM_RING | 1u << NEURON_COMM_MESH |
		       1u << NEURON_COMM_IN_NETWORK;
	case NEURON_COMM_BROADCAST:
		return 1u << NEURON_COMM_RING | 1u << NEURON_COMM_MESH |
		       1u << NEURON_COMM_MULTICAST;
	case NEURON_COMM_BARRIER:
		return 1u << NEURON_COMM_MESH | 1u << NEURON_COMM_MULTICAST;
	case NEURON_COMM_ALL_TO_ALL:
	case NEURON_COMM_SEND_RECV:
		return 1u << NEURON_COMM_MESH;
	default:
		return 0;
	}
}

const char *nrn_plan_refuses(const struct nrn_collective *c)
{
	uint32_t n = c->num_ranks;

	if (!n || n > NRN_MAX_RANKS || !c->channels || c->channels > NRN_MAX_CHANNELS)
		return "there are too many ranks or channels";
	if (c->algorithm > NEURON_COMM_IN_NETWORK || !(allowed(c->op) >> c->algorithm & 1))
		return "the algorithm does not do this operation";
	if (c->algorithm == NEURON_COMM_HALVING && !power_of_two(n))
		return "halving wants a power of two of ranks";
	if (c->algorithm == NEURON_COMM_HIERARCHICAL &&
	    (c->server < 2 || n % c->server || n == c->server))
		return "ranks are not in several servers of the same size, one after the other";
	if (c->algorithm == NEURON_COMM_ONE_STEP &&
	    nrn_plan_one_step_scratch(n, nrn_cut(c->sizes[0], c->channels, 1)) > c->scratch)
		return "the data are too large for one step";
	if (c->scratch / ((senders(c) + 1) * NRN_SLOT_DEPTH) < 64)
		return "there is too little scratch for so many ranks";
	return NULL;
}

static void all_of(const struct nrn_builder *b, struct nrn_team *t)
{
	uint32_t i;

	t->size = b->c->num_ranks;
	t->me = b->rank;
	for (i = 0; i < t->size; i++)
		t->rank[i] = i;
}

/* All, in the order of the ring; and blocks of ranks in that order */
static void ring_of(const struct nrn_builder *b, struct nrn_team *t)
{
	uint32_t i;

	all_of(b, t);
	for (i = 0; b->c->order && i < t->size; i++) {
		t->rank[i] = b->c->order[i];
		if (t->rank[i] == b->rank)
			t->me = i;
	}
}

static void ring_blocks(const struct nrn_team *t, const struct nrn_block *block,
			struct nrn_block *ordered)
{
	uint32_t i;

	for (i = 0; i < t->size; i++)
		ordered[i] = block[t->rank[i]];
}

/* Ranks of the own server, and those at the same place in each server */
static void local_and_across(const struct nrn_builder *b, struct nrn_team *local,
			     struct nrn_team *across)
{
	uint32_t server = b->c->server, i;

	local->size = server;
	local->me = b->rank % server;
	for (i = 0; i < server; i++)
		local->rank[i] = b->rank / server * server + i;
	across->size = b->c->num_ranks / server;
	across->me = b->rank / server;
	for (i = 0; i < across->size; i++)
		across->rank[i] = i * server + b->rank % server;
}

/* Cuts @all into a block for each of @count. */
static void cut_blocks(const struct nrn_block *all, uint32_t count, struct nrn_block *block)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint64_t at = nrn_cut(all->size, count, i);

		block[i].src = all->src + at;
		block[i].dst = all->dst + at;
		block[i].size = nrn_cut(all->size, count, i + 1) - at;
	}
}

static void hierarchical_all_reduce(struct nrn_builder *b, const struct nrn_block *all)
{
	struct nrn_block block[NRN_MAX_RANKS], part[NRN_MAX_RANKS], own;
	struct nrn_team local, across;

	local_and_across(b, &local, &across);
	cut_blocks(all, local.size, block);
	nrn_mesh_reduce_scatter(b, &local, block, NRN_SRC, 0);
	own = block[local.me];
	own.src = own.dst;
	cut_blocks(&own, across.size, part);
	nrn_ring_all_reduce(b, &across, part, NRN_DST, local.size);
	nrn_mesh_all_gather(b, &local, block);
}

static void hierarchical_all_gather(struct nrn_builder *b, const struct nrn_block *block)
{
	struct nrn_block part[NRN_MAX_RANKS];
	struct nrn_team local, across;
	uint32_t i;

	local_and_across(b, &local, &across);
	for (i = 0; i < across.size; i++)
		part[i] = block[across.rank[i]];
	nrn_ring_all_gather(b, &across, part);
	for (i = 0; i < across.size; i++)
		nrn_mesh_all_gather(b, &local, &block[i * local.size]);
}

static void all_reduce(struct nrn_builder *b, const struct nrn_block *all)
{
	struct nrn_block block[NRN_MAX_RANKS];
	struct nrn_team t;

	if (one_step(b->c)) {
		nrn_mesh_one_step(b, all, b->c->algorithm == NEURON_COMM_MULTICAST);
		return;
	}
	all_of(b, &t);
	cut_blocks(all, t.size, block);
	switch (b->c->algorithm) {
	case NEURON_COMM_RING:
		ring_of(b, &t);
		nrn_ring_all_reduce(b, &t, block, NRN_SRC, 0);
		break;
	case NEURON_COMM_HALVING:
		nrn_halving_all_reduce(b, &t, block);
		break;
	case NEURON_COMM_MESH:
		nrn_mesh_reduce_scatter(b, &t, block, NRN_SRC, 0);
		nrn_mesh_all_gather(b, &t, block);
		break;
	case NEURON_COMM_HIERARCHICAL:
		hierarchical_all_reduce(b, all);
		break;
	case NEURON_COMM_MULTICAST:
		nrn_mesh_reduce_scatter(b, &t, block, NRN_SRC, 0);
		nrn_group_all_gather(b, &block[t.me], NRN_DST);
		break;
	default:
		if (in_pairs(b->c))
			nrn_group_all_reduce_paired(b, &block[t.me]);
		else
			nrn_group_all_reduce(b, &block[t.me]);
	}
}

static void all_gather(struct nrn_builder *b, const struct nrn_block *block)
{
	const struct nrn_block *own = &block[b->rank];
	struct nrn_block ordered[NRN_MAX_RANKS];
	struct nrn_team t;

	if (b->c->algorithm == NEURON_COMM_MULTICAST) {
		nrn_group_all_gather(b, own, NRN_SRC);
		return;
	}
	if (!b->c->in_place)
		nrn_copy(b, b->rank, NRN_DST, own->dst, NRN_SRC, own->src, own->size);
	if (b->c->algorithm == NEURON_COMM_RING) {
		ring_of(b, &t);
		ring_blocks(&t, block, ordered);
		nrn_ring_all_gather(b, &t, ordered);
		return;
	}
	all_of(b, &t);
	if (b->c->algorithm == NEURON_COMM_HALVING)
		nrn_doubling_all_gather(b, &t, block);
	else if (b->c->algorithm == NEURON_COMM_HIERARCHICAL)
		hierarchical_all_gather(b, block);
	else
		nrn_mesh_all_gather(b, &t, block);
}

static void reduce_scatter(struct nrn_builder *b, const struct nrn_block *block)
{
	struct nrn_block ordered[NRN_MAX_RANKS];
	struct nrn_team t;

	if (b->c->algorithm == NEURON_COMM_RING) {
		ring_of(b, &t);
		ring_blocks(&t, block, ordered);
		nrn_ring_reduce_scatter(b, &t, ordered, 0);
	} else if (b->c->algorithm == NEURON_COMM_MESH) {
		all_of(b, &t);
		nrn_mesh_reduce_scatter(b, &t, block, NRN_SRC, 0);
	} else {
		nrn_group_reduce_scatter(b, &block[b->rank]);
	}
}

/* The channel's part of each rank's block. Returns where the own one is in all. */
static uint64_t blocks_of(const struct nrn_builder *b, struct nrn_block *block)
{
	const struct nrn_collective *c = b->c;
	uint64_t before = 0, own = 0;
	uint32_t i;

	for (i = 0; i < c->num_ranks; i++) {
		uint64_t at = nrn_cut(c->sizes[i], c->channels, b->channel);

		block[i].size = nrn_cut(c->sizes[i], c->channels, b->channel + 1) - at;
		if (c->op == NEURON_COMM_ALL_GATHER) {
			block[i].src = at;
			block[i].dst = before + at;
		} else {
			block[i].src = before + at;
			block[i].dst = at;
		}
		if (i == b->rank)
			own = before;
		before += c->sizes[i];
	}
	return own;
}

static void one_block(struct nrn_builder *b)
{
	const struct nrn_collective *c = b->c;
	uint32_t each = in_pairs(c) ? 2 : 1, part = b->channel / each;
	uint64_t at = nrn_cut(c->sizes[0], c->channels / each, part);
	struct nrn_block all = {
		.src = at,
		.dst = at,
		.size = nrn_cut(c->sizes[0], c->channels / each, part + 1) - at,
	};

	/* One that is left over */
	if (part == c->channels / each)
		return;

	if (c->op == NEURON_COMM_SEND_RECV) {
		nrn_send_recv(b, &all);
	} else if (c->op == NEURON_COMM_ALL_REDUCE) {
		all_reduce(b, &all);
	} else if (c->op == NEURON_COMM_BROADCAST) {
		if (b->rank == c->root && !c->in_place && c->algorithm != NEURON_COMM_MULTICAST)
			nrn_copy(b, b->rank, NRN_DST, all.dst, NRN_SRC, all.src, all.size);
		if (c->algorithm == NEURON_COMM_RING)
			nrn_ring_broadcast(b, &all);
		else if (c->algorithm == NEURON_COMM_MESH)
			nrn_mesh_broadcast(b, &all);
		else
			nrn_group_broadcast(b, &all);
	} else if (c->algorithm == NEURON_COMM_RING) {
		nrn_ring_reduce(b, &all);
	} else if (c->algorithm == NEURON_COMM_MESH) {
		nrn_mesh_reduce(b, &all);
	} else {
		nrn_group_reduce(b, &all);
	}
}

/* Alone there is nothing to combine. */
static void alone(struct nrn_builder *b)
{
	const struct nrn_collective *c = b->c;
	uint64_t at;

	if (c->op == NEURON_COMM_BARRIER || c->op == NEURON_COMM_SEND_RECV || c->in_place)
		return;
	at = nrn_cut(c->sizes[0], c->channels, b->channel);
	nrn_copy(b, 0, NRN_DST, at, NRN_SRC, at,
		 nrn_cut(c->sizes[0], c->channels, b->channel + 1) - at);
}

static void build_op(struct nrn_builder *b)
{
	const struct nrn_collective *c = b->c;
	struct nrn_block block[NRN_MAX_RANKS];
	uint64_t own;

	switch (c->op) {
	case NEURON_COMM_ALL_GATHER:
		own = blocks_of(b, block);
		if (c->in_place)
			b->src_in_dst = (int64_t)own;
		all_gather(b, block);
		break;
	case NEURON_COMM_REDUCE_SCATTER:
		own = blocks_of(b, block);
		if (c->in_place)
			b->src_in_dst = -(int64_t)own;
		reduce_scatter(b, block);
		break;
	case NEURON_COMM_ALL_TO_ALL:
		nrn_mesh_all_to_all(b);
		break;
	case NEURON_COMM_BARRIER:
		if (c->algorithm == NEURON_COMM_MULTICAST)
			nrn_enter_all(b);
		else
			nrn_mesh_barrier(b);
		break;
	default:
		one_block(b);
	}
}

static void build_channel(struct nrn_builder *b)
{
	const struct nrn_collective *c = b->c;

	if (c->in_place)
		b->src_in_dst = 0;
	nrn_set_slots(b, senders(c));
	if (c->timed)
		nrn_gate_begin(b);
	if (c->num_ranks == 1)
		alone(b);
	else
		build_op(b);
	if (c->timed)
		nrn_gate_end(b);
}

int nrn_plan_build(struct nrn_plan *plan, const struct nrn_collective *collective, uint32_t rank)
{
	struct nrn_collective c = *collective;
	struct nrn_builder b;
	uint32_t channel;

	memset(plan, 0, sizeof(*plan));
	if (nrn_plan_refuses(&c))
		return 0;
	if (!c.chunk)
		c.chunk = DEFAULT_CHUNK;
	plan->channels = c.channels;
	for (channel = 0; channel < c.channels; channel++) {
		memset(&b, 0, sizeof(b));
		b.c = &c;
		b.list = &plan->list[channel];
		b.rank = rank;
		b.channel = channel;
		b.src_in_dst = NRN_APART;
		build_channel(&b);
		if (b.no_memory) {
			nrn_plan_free(plan);
			return -ENOMEM;
		}
	}
	return 0;
}

void nrn_plan_free(struct nrn_plan *plan)
{
	uint32_t i;

	for (i = 0; i < plan->channels; i++)
		free(plan->list[i].step);
	memset(plan, 0, sizeof(*plan));
}
