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
	NEURON_COMM_ALL_REDUCE = 0,	/* all get the combined data of all */
	NEURON_COMM_ALL_GATHER = 1,	/* all get the parts of all, one after the other */
	NEURON_COMM_REDUCE_SCATTER = 2,	/* each gets a part of the combined data */
	NEURON_COMM_ALL_TO_ALL = 3,	/* each sends a part to each */
	NEURON_COMM_BROADCAST = 4,	/* all get what the root has */
	NEURON_COMM_REDUCE = 5,	/* the root gets the combined data of all */
	NEURON_COMM_SEND_RECV = 6,	/* from one to one */
	NEURON_COMM_BARRIER = 7,	/* no data: all have come so far */
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

/** enum neuron_comm_reduction - how elements are combined; see enum neuron_combine */
enum neuron_comm_reduction {
	NEURON_COMM_SUM = 0,	/* a + b */
	NEURON_COMM_MIN = 1,	/* the smaller one */
	NEURON_COMM_MAX = 2,	/* the larger one */
	/**
	 * @NEURON_COMM_AVG: the sum, divided by the number of ranks: by the CPU when
	 * the program waits for the end, integers towards zero. Slow for large data.
	 */
	NEURON_COMM_AVG = 3,
};

/** Results do not depend on the algorithm or on time: mesh, sums in the order of ranks */
#define NEURON_COMM_ORDERED	(1u << 0)

/**
 * struct neuron_comm_options - what a communicator may be told; the same on all ranks
 *
 * Members that are 0 have their usual meaning.
 */
struct neuron_comm_options {
	/** @size: sizeof */
	uint32_t size;
	/** @flags: NEURON_COMM_ORDERED */
	uint32_t flags;
	/** @channels: DMA engines at work side by side at most, 1 to 32; 0: 32 */
	uint32_t channels;
	/** @reserved: 0 */
	uint32_t reserved;
	/** @scratch: bytes of HBM for data under way, on each rank; 0: 32 MiB */
	uint64_t scratch;
	/** @timeout_ns: after which a collective, or a call that meets others, fails; 0: 30 s */
	int64_t timeout_ns;
};

/**
 * neuron_comm_init_all() - a communicator all of whose ranks are in this process
 * @devices: a chip for each rank, all of one fabric
 * @count: number of ranks
 * @options: options, or NULL
 * @comms: out: a handle for each rank
 *
 * Return: 0; -EINVAL; -EXDEV the chips are not of one fabric, or have no way to
 * each other; -EOPNOTSUPP a driver without semaphores; -ENOSPC; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_comm_init_all(struct neuron_device *const *devices, uint32_t count,
				    const struct neuron_comm_options *options,
				    struct neuron_comm **comms);

/**
 * neuron_comm_init() - one rank of a communicator; others are in other processes
 * @device: chip of this rank
 * @root: where the ranks meet, the same text for all: "unix:PATH", "unix:@NAME",
 *	"tcp:127.0.0.1:PORT" or "file:PATH"; NULL: NEURON_RT_ROOT_COMM_ID of the
 *	environment, "ADDRESS:PORT"
 * @count: number of ranks
 * @rank: this one; rank 0 waits at @root for the others
 * @options: options, or NULL
 * @comm: out: the handle
 *
 * Only processes of the same user, on the same machine, meet. Descriptors of
 * buffers pass over a UNIX socket in any case: by TCP and by a file the ranks
 * learn of its name.
 *
 * Return: as neuron_comm_init_all(); -ETIME others did not come; -EPROTO they say
 * what they should not: another version, number of ranks or options.
 */
NEURON_API int neuron_comm_init(struct neuron_device *device, const char *root, uint32_t count,
				uint32_t rank, const struct neuron_comm_options *options,
				struct neuron_comm **comm);

/**
 * neuron_comm_split() - communicators of some of the ranks each
 * @comm: of neuron_comm_init(); all its ranks call
 * @color: ranks of the same color come together
 * @key: they are numbered by key, then by rank
 * @new_comm: out: the handle
 *
 * Ranks of one process make another communicator by neuron_comm_init_all().
 *
 * Return: as neuron_comm_init(); -ENOTCONN @comm has failed; -EOPNOTSUPP it is of
 * neuron_comm_init_all().
 */
NEURON_API int neuron_comm_split(struct neuron_comm *comm, uint32_t color, uint32_t key,
				 struct neuron_comm **new_comm);

/**
 * neuron_comm_shrink() - a communicator of those who are left
 * @comm: of neuron_comm_init(), failed or not; all that are left call
 * @lost: bit r: without rank r; @count bits, in words of 64; the same for all
 * @words: words of @lost
 * @new_comm: out: the handle; ranks keep their order
 *
 * Return: as neuron_comm_init(); -EOPNOTSUPP @comm is of neuron_comm_init_all().
 */
NEURON_API int neuron_comm_shrink(struct neuron_comm *comm, const uint64_t *lost, uint32_t words,
				  struct neuron_comm **new_comm);

/**
 * neuron_comm_destroy() - give a rank back
 * @comm: handle, or NULL
 *
 * Does not wait: collectives that others still need this rank for fail there.
 * Requests stay valid, and have failed if they had not ended.
 */
NEURON_API void neuron_comm_destroy(struct neuron_comm *comm);

/**
 * neuron_comm_abort() - end all collectives of a communicator, on all ranks
 * @comm: any rank of it
 *
 * Return: 0; -EINVAL.
 */
NEURON_API int neuron_comm_abort(struct neuron_comm *comm);

/**
 * struct neuron_comm_info - a communicator
 */
struct neuron_comm_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @count: ranks */
	uint32_t count;
	/** @rank: this one */
	uint32_t rank;
	/** @caps: NEURON_FABRIC_MULTICAST, NEURON_FABRIC_REDUCE, if it has a group */
	uint32_t caps;
	/** @rate: MB/s, one direction, of the slowest way from here to another rank */
	uint32_t rate;
	/** @latency_ns: of the longest */
	uint32_t latency_ns;
	/** @failed: error it has failed with; 0 if none */
	int32_t failed;
	/** @prepared: collectives whose command lists are kept */
	uint32_t prepared;
	/** @doorbells: starts of command lists so far */
	uint64_t doorbells;
};

/**
 * neuron_comm_get_info() - what a communicator is like
 * @comm: handle
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL.
 */
NEURON_API int neuron_comm_get_info(struct neuron_comm *comm, struct neuron_comm_info *info);

/**
 * neuron_comm_register() - make a buffer known to all ranks
 * @comm: handle
 * @buffer: buffer in this rank's HBM, created with NEURON_BUFFER_PEER
 *
 * All ranks register one each, in the same order: these belong together. For
 * multicast and in-network algorithms all of them are aligned to, and a multiple
 * of, group_granule of the fabric. With ranks in other processes it returns when
 * all have called. The buffer lives at least as long as it is registered.
 *
 * Return: 0; -EINVAL; -EXDEV it is of another device; -EALREADY; -EDQUOT there are
 * too many; -ETIME others have not called; -ENOTCONN @comm has failed; -ENOMEM.
 */
NEURON_API int neuron_comm_register(struct neuron_comm *comm, struct neuron_buffer *buffer);

/**
 * All begin at the same modelled time, and note when they end:
 * neuron_request_get_time(). All ranks give it, or none.
 */
#define NEURON_COMM_TIMED	(1u << 0)

/**
 * struct neuron_comm_call - what a collective may be told
 */
struct neuron_comm_call {
	/** @size: sizeof */
	uint32_t size;
	/** @algorithm: enum neuron_comm_algorithm */
	uint32_t algorithm;
	/** @channels: DMA engines at work side by side; 0: by size */
	uint32_t channels;
	/** @flags: NEURON_COMM_TIMED */
	uint32_t flags;
};

/**
 * struct neuron_comm_data - data of a collective
 *
 * Offsets are multiples of an element's size. In place: source and destination
 * are the same (all_reduce, broadcast, reduce), or that of one rank is where it
 * belongs in that of all (all_gather, reduce_scatter). Otherwise they must not
 * overlap.
 */
struct neuron_comm_data {
	/** @src: registered buffer */
	struct neuron_buffer *src;
	/** @src_offset: bytes */
	uint64_t src_offset;
	/** @dst: registered buffer */
	struct neuron_buffer *dst;
	/** @dst_offset: bytes */
	uint64_t dst_offset;
	/** @dtype: enum neuron_dtype */
	uint32_t dtype;
	/** @reduction: enum neuron_comm_reduction; 0 where nothing is combined */
	uint32_t reduction;
};

/**
 * neuron_comm_all_reduce() - all get what all have, combined
 * @comm: handle
 * @data: source and destination of @count elements
 * @count: elements
 * @call: more, or NULL
 * @request: out: the end
 *
 * Return: 0; -EINVAL: with a sentence; -EOPNOTSUPP the algorithm asked for cannot
 * do that here; -ENOTCONN the communicator has failed; -ENOMEM; -ENOSPC no hardware
 * rings; -EXDEV no way to another rank; -ENODEV.
 */
NEURON_API int neuron_comm_all_reduce(struct neuron_comm *comm,
				      const struct neuron_comm_data *data, uint64_t count,
				      const struct neuron_comm_call *call,
				      struct neuron_request **request);

/**
 * neuron_comm_all_gather() - all get what each has, one after the other
 * @comm: handle
 * @data: source of counts[rank] elements, destination of all
 * @counts: elements of each rank
 * @call: more, or NULL
 * @request: out: the end
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_all_gather(struct neuron_comm *comm,
				      const struct neuron_comm_data *data,
				      const uint64_t *counts,
				      const struct neuron_comm_call *call,
				      struct neuron_request **request);

/**
 * neuron_comm_reduce_scatter() - each gets its part of what all have, combined
 * @comm: handle
 * @data: source of all elements, destination of counts[rank]
 * @counts: elements of each rank
 * @call: more, or NULL
 * @request: out: the end
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_reduce_scatter(struct neuron_comm *comm,
					  const struct neuron_comm_data *data,
					  const uint64_t *counts,
					  const struct neuron_comm_call *call,
					  struct neuron_request **request);

/**
 * neuron_comm_all_to_all() - each has something for each
 * @comm: handle
 * @data: source and destination; parts follow each other in the order of the
 *	ranks that they are for, or from; not in place
 * @counts: [i * n + j] elements from rank i to j; the same on all ranks
 * @call: more, or NULL
 * @request: out: the end
 *
 * With counts from or to one rank only it scatters or gathers.
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_all_to_all(struct neuron_comm *comm,
				      const struct neuron_comm_data *data,
				      const uint64_t *counts,
				      const struct neuron_comm_call *call,
				      struct neuron_request **request);

/**
 * neuron_comm_broadcast() - all get what one has
 * @comm: handle
 * @data: source at @root, destination at all
 * @count: elements
 * @root: rank
 * @call: more, or NULL
 * @request: out: the end
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_broadcast(struct neuron_comm *comm,
				     const struct neuron_comm_data *data, uint64_t count,
				     uint32_t root, const struct neuron_comm_call *call,
				     struct neuron_request **request);

/**
 * neuron_comm_reduce() - one gets what all have, combined
 * @comm: handle
 * @data: source at all, destination at @root
 * @count: elements
 * @root: rank
 * @call: more, or NULL
 * @request: out: the end
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_reduce(struct neuron_comm *comm,
				  const struct neuron_comm_data *data, uint64_t count,
				  uint32_t root, const struct neuron_comm_call *call,
				  struct neuron_request **request);

/**
 * neuron_comm_send() - to one other rank, which calls neuron_comm_recv()
 * @comm: handle
 * @buffer: registered buffer
 * @offset: bytes
 * @size: bytes, the same there
 * @peer: rank
 * @request: out: the end: the data are there
 *
 * Sends and receives between neuron_comm_group_start() and _end() go on at the
 * same time.
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_send(struct neuron_comm *comm, struct neuron_buffer *buffer,
				uint64_t offset, uint64_t size, uint32_t peer,
				struct neuron_request **request);

/**
 * neuron_comm_recv() - from one other rank, which calls neuron_comm_send()
 * @comm: handle
 * @buffer: registered buffer
 * @offset: bytes
 * @size: bytes, the same there
 * @peer: rank
 * @request: out: the end
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_recv(struct neuron_comm *comm, struct neuron_buffer *buffer,
				uint64_t offset, uint64_t size, uint32_t peer,
				struct neuron_request **request);

/**
 * neuron_comm_barrier() - ends when all have come
 * @comm: handle
 * @call: more, or NULL
 * @request: out: the end
 *
 * Return: as neuron_comm_all_reduce().
 */
NEURON_API int neuron_comm_barrier(struct neuron_comm *comm, const struct neuron_comm_call *call,
				   struct neuron_request **request);

/**
 * neuron_comm_group_start() - what this thread calls from here on belongs together
 *
 * Nothing starts before neuron_comm_group_end(). Groups may be nested; the
 * outermost counts.
 */
NEURON_API void neuron_comm_group_start(void);

/**
 * neuron_comm_group_end() - start it
 *
 * Return: 0; the first error of those that could not be started: each is the
 * error of its request, too.
 */
NEURON_API int neuron_comm_group_end(void);

/**
 * neuron_request_wait() - wait for the end of a collective
 * @request: request
 * @timeout_ns: time from now; 0 looks without waiting; NEURON_WAIT_FOREVER: the
 *	time limit of the communicator holds
 *
 * Collectives of a communicator start one after the other, whenever the program
 * is in this function or makes another call of it.
 *
 * Return: 0 it has ended well; -ETIME it has not ended yet, or failed for that
 * reason; -ENOTCONN another rank is lost; -EIO; -ECANCELED; -ENODEV.
 */
NEURON_API int neuron_request_wait(struct neuron_request *request, int64_t timeout_ns);

/**
 * neuron_request_test() - has it ended?
 * @request: request
 *
 * Return: 1 it has ended well; 0 not yet; negative as neuron_request_wait().
 */
NEURON_API int neuron_request_test(struct neuron_request *request);

/**
 * neuron_request_get_time() - modelled time that it has taken
 * @request: request that has ended, of a call with NEURON_COMM_TIMED
 * @time_ns: out: from when all ranks began until all channels of this one ended
 *
 * Return: 0; -EINVAL it has not ended; -EOPNOTSUPP it has no time: it was not
 * asked for, the device has no timestamps, or this rank had nothing to do.
 */
NEURON_API int neuron_request_get_time(struct neuron_request *request, uint64_t *time_ns);

/**
 * neuron_request_get_algorithm() - how it is, or was, done
 * @request: request
 *
 * Return: enum neuron_comm_algorithm; -EINVAL.
 */
NEURON_API int neuron_request_get_algorithm(struct neuron_request *request);

/**
 * neuron_request_destroy() - give a request back
 * @request: request, or NULL
 *
 * The collective goes on.
 */
NEURON_API void neuron_request_destroy(struct neuron_request *request);

/**
 * neuron_comm_explain() - which algorithm, and why
 * @comm: handle
 * @op: enum neuron_comm_op
 * @dtype: enum neuron_dtype
 * @reduction: enum neuron_comm_reduction
 * @size: bytes of the whole
 * @text: out: a line for each algorithm, with the time it is expected to take
 * @room: bytes of @text
 *
 * As for aligned data in buffers that a group can use.
 *
 * Return: the enum neuron_comm_algorithm chosen; -EINVAL.
 */
NEURON_API int neuron_comm_explain(struct neuron_comm *comm, uint32_t op, uint32_t dtype,
				   uint32_t reduction, uint64_t size, char *text, uint64_t room);

/**
 * neuron_comm_algorithm_name() - algorithm as text
 * @algorithm: enum neuron_comm_algorithm
 *
 * Return: "ring", for example; "?" for one there is not; not to be freed.
 */
NEURON_API const char *neuron_comm_algorithm_name(uint32_t algorithm);

/**
 * neuron_comm_algorithm_by_name() - algorithm of a name
 * @name: as neuron_comm_algorithm_name() returns it
 *
 * Return: enum neuron_comm_algorithm; -EINVAL.
 */
NEURON_API int neuron_comm_algorithm_by_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
