/* SPDX-License-Identifier: MIT */
/*
 * Collectives: work that many chips of a fabric do together. Since 0.4.
 *
 * A communicator is a set of ranks, one chip each. All of its ranks make the
 * same calls in the same order, each with its own handle: one process can have
 * all of them, or each process one. Data are in buffers that were registered
 * with the communicator, by all ranks in the same order; in a call all ranks
 * name the same registered buffers and offsets.
 *
 * Calls return when the work is queued; its end is a request. The chips do it
 * without the host, from command lists that are made at the first call with the
 * same arguments and kept.
 */
#ifndef NEURON_COMM_H
#define NEURON_COMM_H

#include <stdint.h>

#include <neuron/buffer.h>
#include <neuron/device.h>
#include <neuron/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_comm - a rank of a communicator; opaque */
struct neuron_comm;
/** struct neuron_request - the end of a collective; opaque */
struct neuron_request;

/** enum neuron_comm_op - what a collective does */
enum neuron_comm_op {
	NEURON_COMM_ALL_REDUCE = 0,
	NEURON_COMM_ALL_GATHER = 1,
	NEURON_COMM_REDUCE_SCATTER = 2,
	NEURON_COMM_ALL_TO_ALL = 3,
	NEURON_COMM_BROADCAST = 4,
	NEURON_COMM_REDUCE = 5,
	NEURON_COMM_SEND_RECV = 6,
	NEURON_COMM_BARRIER = 7,
};

/** enum neuron_comm_algorithm - how it does it */
enum neuron_comm_algorithm {
	/** @NEURON_COMM_AUTO: NEURON_COMM_ALGORITHM of the environment, else by cost */
	NEURON_COMM_AUTO = 0,
	/** @NEURON_COMM_RING: from each rank to the next */
	NEURON_COMM_RING = 1,
	/** @NEURON_COMM_HALVING: recursive halving and doubling; 2^k ranks */
	NEURON_COMM_HALVING = 2,
	/** @NEURON_COMM_MESH: all to all, to combine and to distribute; sums in order of ranks */
	NEURON_COMM_MESH = 3,
	/** @NEURON_COMM_ONE_STEP: all send all to all; small data */
	NEURON_COMM_ONE_STEP = 4,
	/** @NEURON_COMM_HIERARCHICAL: inside of servers, across, inside */
	NEURON_COMM_HIERARCHICAL = 5,
	/** @NEURON_COMM_MULTICAST: stores that all receive */
	NEURON_COMM_MULTICAST = 6,
	/** @NEURON_COMM_IN_NETWORK: the fabric combines, and stores to all */
	NEURON_COMM_IN_NETWORK = 7,
};

#ifdef __cplusplus
}
#endif

#endif
