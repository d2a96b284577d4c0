// SPDX-License-Identifier: MIT
/*
 * Which algorithm: the one that the slowest way between two ranks lets end
 * first. n ranks, S bytes of the whole, B the rate of a rank in one direction, a
 * the time of a step (Documentation/runtime/collectives.rst has the table).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Of a step: a semaphore and a descriptor, beside the way. Measured in the model. */
#define STEP_NS 200.0
/* Bytes that are worth another channel */
#define CHANNEL_BYTES (64u << 10)

static const char *const names[] = { "auto", "ring", "halving", "mesh", "one-step",
				     "hierarchical", "multicast", "in-network" };

#define NUM_ALGORITHMS (sizeof(names) / sizeof(names[0]))

const char *neuron_comm_algorithm_name(uint32_t algorithm)
{
	return algorithm < NUM_ALGORITHMS ? names[algorithm] : "?";
}

int neuron_comm_algorithm_by_name(const char *name)
{
	uint32_t i;

	for (i = 0; name && i < NUM_ALGORITHMS; i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return nrn_fail(-EINVAL, "there is no algorithm '%s'", name ? name : "(NULL)");
}

/* Bytes of the whole; of all-to-all those of a rank */
static uint64_t whole(const struct nrn_collective *c)
{
	uint64_t n = c->num_ranks, count = 1, size = 0, i;

	if (c->op == NEURON_COMM_ALL_GATHER || c->op == NEURON_COMM_REDUCE_SCATTER)
		count = n;
	else if (c->op == NEURON_COMM_ALL_TO_ALL)
		count = n * n;
	for (i = 0; i < count; i++)
		size += c->sizes[i];
	return c->op == NEURON_COMM_ALL_TO_ALL ? size / n : size;
}

struct cost {
	double steps;	/* times a */
	double bytes;	/* in the direction that has more */
};

static double log2_up(uint32_t n)
{
	double log = 0;

	while ((1u << (uint32_t)log) < n)
		log++;
	return log;
}

/* Halves: of an all_reduce, reduce_scatter and all_gather cost the same. */
static struct cost half(const struct nrn_collective *c, double s)
{
	double n = c->num_ranks, part = (n - 1) / n * s, server = c->server;

	switch (c->algorithm) {
	case NEURON_COMM_RING:
		return (struct cost){ n - 1, part };
	case NEURON_COMM_HALVING:
		return (struct cost){ log2_up(c->num_ranks), part };
	case NEURON_COMM_HIERARCHICAL:
		return (struct cost){ server - 1 + n / server - 1, part };
	case NEURON_COMM_MESH:
		/* A channel waits for one after the other. */
		return (struct cost){ n - 1, part };
	default:
		return (struct cost){ 1, part };
	}
}

static struct cost all_reduce_cost(const struct nrn_collective *c, double s)
{
	double n = c->num_ranks;
	struct cost h = half(c, s);

	if (c->algorithm == NEURON_COMM_IN_NETWORK)
		return (struct cost){ 3, (1 + 1 / n) * s };
	if (c->algorithm == NEURON_COMM_ONE_STEP)
		return (struct cost){ n - 1, (n - 1) * s };
	if (c->algorithm == NEURON_COMM_MULTICAST &&
	    nrn_plan_one_step_scratch(c->num_ranks, (uint64_t)s / c->channels + 16) <= c->scratch)
		return (struct cost){ 3, (n - 1) * s };
	if (c->algorithm == NEURON_COMM_MULTICAST)
		return (struct cost){ n - 1 + 3, 2 * h.bytes };
	return (struct cost){ 2 * h.steps, 2 * h.bytes };
}

static double cost_ns(const struct nrn_clique *clique, const struct nrn_collective *c)
{
	double n = c->num_ranks, s = (double)whole(c), a = clique->latency_ns + STEP_NS;
	bool ring = c->algorithm == NEURON_COMM_RING;
	struct cost cost = { 1, s };

	switch (c->op) {
	case NEURON_COMM_ALL_REDUCE:
		cost = all_reduce_cost(c, s);
		break;
	case NEURON_COMM_ALL_GATHER:
	case NEURON_COMM_REDUCE_SCATTER:
	case NEURON_COMM_ALL_TO_ALL:
		cost = half(c, s);
		/* All enter and leave. */
		if (c->algorithm >= NEURON_COMM_MULTICAST)
			cost.steps = 3;
		break;
	case NEURON_COMM_BROADCAST:
	case NEURON_COMM_REDUCE:
		if (ring)
			cost.steps = n - 1;
		else if (c->algorithm == NEURON_COMM_MESH)
			cost.bytes = (n - 1) * s;
		else
			cost.steps = 3;
		break;
	case NEURON_COMM_BARRIER:
		cost.steps = c->algorithm == NEURON_COMM_MESH ? log2_up(c->num_ranks) : 1;
		break;
	default:
		break;
	}
	return cost.steps * a + cost.bytes * 1000 / (clique->rate ? clique->rate : 1);
}

/* Can the fabric do for these buffers what the algorithm wants of it? */
static const char *group_refuses(struct neuron_comm *comm, const struct nrn_call *call)
{
	struct neuron_fabric_info f = { .size = sizeof(f) };
	const struct nrn_clique *clique = comm->clique;
	bool reduces = call->c.algorithm == NEURON_COMM_IN_NETWORK;
	uint32_t reduction = call->data.reduction == NEURON_COMM_AVG ? NEURON_COMM_SUM :
			     call->data.reduction;

	if (call->c.algorithm < NEURON_COMM_MULTICAST)
		return NULL;
	if (!comm->group)
		return "the fabric has no group for these ranks";
	if (!clique->window[0].bound || !clique->window[1].bound ||
	    (call->dst_window && !clique->window[call->dst_window].bound) ||
	    (reduces && call->src_window && !clique->window[call->src_window].bound))
		return "a buffer is not aligned to, or not a multiple of, the group's granule";
	if (neuron_fabric_get_info(comm->device, &f) || !(f.caps & NEURON_FABRIC_MULTICAST))
		return "the fabric has no multicast";
	if (!reduces)
		return NULL;
	if (!(f.caps & NEURON_FABRIC_REDUCE) || !(f.reduce_dtypes >> call->data.dtype & 1) ||
	    !(f.reduce_combines >> reduction & 1))
		return "the fabric does not combine these elements";
	return NULL;
}

static const char *refuses(struct neuron_comm *comm, const struct nrn_call *call)
{
	const char *why = nrn_plan_refuses(&call->c);

	if (!why && comm->clique->options.flags & NEURON_COMM_ORDERED &&
	    call->c.algorithm != NEURON_COMM_MESH &&
	    (call->c.op == NEURON_COMM_ALL_REDUCE || call->c.op == NEURON_COMM_REDUCE_SCATTER ||
	     call->c.op == NEURON_COMM_REDUCE))
		return "sums are wanted in the order of the ranks";
	return why ? why : group_refuses(comm, call);
}

static void set_shape(const struct neuron_comm *comm, struct nrn_call *call, uint32_t channels)
{
	const struct nrn_clique *clique = comm->clique;
	uint64_t by_size = whole(&call->c) / CHANNEL_BYTES;

	if (!channels) {
		channels = clique->options.channels;
		if (by_size < channels)
			channels = by_size ? (uint32_t)by_size : 1;
	}
	call->c.channels = channels;
	/* Half of the channels, or the only one, in each half */
	call->c.scratch = clique->options.scratch / NRN_OWN_WINDOWS /
			  nrn_scratch_index(channels + NRN_OWN_WINDOWS - 1);
	call->c.server = clique->server;
	call->c.order = clique->order;
	call->c.timed = call->flags & NEURON_COMM_TIMED &&
			comm->device->features & TRAINIUM_FEATURE_TIMESTAMP;
	call->c.group = comm->group && clique->window[0].bound;
}

/* Sets the cheapest that does it; false when there is none. */
static bool set_cheapest(struct neuron_comm *comm, struct nrn_call *call)
{
	uint32_t algorithm, best = NEURON_COMM_AUTO;
	double least = 0, ns;

	for (algorithm = NEURON_COMM_RING; algorithm < NUM_ALGORITHMS; algorithm++) {
		call->c.algorithm = algorithm;
		if (refuses(comm, call))
			continue;
		ns = cost_ns(comm->clique, &call->c);
		if (best == NEURON_COMM_AUTO || ns < least) {
			best = algorithm;
			least = ns;
		}
	}
	call->c.algorithm = best;
	return best != NEURON_COMM_AUTO;
}

int nrn_choose(struct neuron_comm *comm, struct nrn_call *call, uint32_t wanted, uint32_t channels)
{
	const char *env = secure_getenv("NEURON_COMM_ALGORITHM"), *why;
	bool asked = wanted != NEURON_COMM_AUTO;
	int named;

	set_shape(comm, call, channels);
	if (!asked && env && *env) {
		named = neuron_comm_algorithm_by_name(env);
		if (named < 0)
			return nrn_fail(named, "NEURON_COMM_ALGORITHM: there is no algorithm '%s'",
					env);
		wanted = (uint32_t)named;
	}
	if (wanted != NEURON_COMM_AUTO) {
		call->c.algorithm = wanted;
		why = refuses(comm, call);
		if (!why)
			return 0;
		/* The environment speaks of all collectives, a call of this one. */
		if (asked)
			return nrn_fail(-EOPNOTSUPP, "rank %u: not by %s: %s", comm->rank,
					neuron_comm_algorithm_name(wanted), why);
	}
	if (set_cheapest(comm, call))
		return 0;
	call->c.algorithm = NEURON_COMM_MESH;
	return nrn_fail(-EOPNOTSUPP, "rank %u: no algorithm does it: by mesh, %s", comm->rank,
			refuses(comm, call));
}

/* Sizes of a collective over @size bytes, in even parts */
static void even_sizes(struct nrn_call *call, uint64_t size)
{
	uint64_t n = call->c.num_ranks, i;

	call->c.sizes = call->sizes;
	call->sizes[0] = size;
	if (call->c.op == NEURON_COMM_ALL_GATHER || call->c.op == NEURON_COMM_REDUCE_SCATTER)
		for (i = 0; i < n; i++)
			call->sizes[i] = size / n;
	else if (call->c.op == NEURON_COMM_ALL_TO_ALL)
		for (i = 0; i < n * n; i++)
			call->sizes[i] = size / n;
}

int neuron_comm_explain(struct neuron_comm *comm, uint32_t op, uint32_t dtype, uint32_t reduction,
			uint64_t size, char *text, uint64_t room)
{
	struct nrn_call call = { .c = { .op = op },
				 .data = { .dtype = dtype, .reduction = reduction } };
	uint64_t used = 0, n;
	int chosen;
	uint32_t i;

	if (!comm || !text || !room || op > NEURON_COMM_BARRIER || !nrn_dtype_size(dtype) ||
	    reduction > NEURON_COMM_AVG)
		return nrn_fail(-EINVAL, "%s: op %u, type %u, reduction %u", __func__, op, dtype,
				reduction);
	pthread_mutex_lock(&nrn_comm_lock);
	n = comm->clique->num_ranks;
	call.c.num_ranks = (uint32_t)n;
	call.c.esize = nrn_dtype_size(dtype);
	call.sizes = calloc(n * n, sizeof(*call.sizes));
	if (!call.sizes) {
		pthread_mutex_unlock(&nrn_comm_lock);
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	}
	even_sizes(&call, size);
	text[0] = 0;
	chosen = nrn_choose(comm, &call, NEURON_COMM_AUTO, 0);
	if (!chosen)
		chosen = (int)call.c.algorithm;
	for (i = NEURON_COMM_RING; i < NUM_ALGORITHMS && used < room; i++) {
		const char *why;

		call.c.algorithm = i;
		why = refuses(comm, &call);
		used += (uint64_t)snprintf(text + used, room - used, "%c %-12s ",
					   (int)i == chosen ? '*' : ' ', names[i]);
		if (used >= room)
			break;
		if (why)
			used += (uint64_t)snprintf(text + used, room - used, "%s\n", why);
		else
			used += (uint64_t)snprintf(text + used, room - used,
						   "%.3f us on %u channels\n",
						   cost_ns(comm->clique, &call.c) / 1000,
						   call.c.channels);
	}
	free(call.sizes);
	pthread_mutex_unlock(&nrn_comm_lock);
	return chosen;
}
