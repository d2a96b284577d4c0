// SPDX-License-Identifier: MIT
/*
 * Calls: what a program asks for is checked here, in full, before anything is
 * queued.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define CALL_MIN	NRN_SIZE_UPTO(struct neuron_comm_call, flags)

static int find_window(struct neuron_comm *comm, const struct neuron_buffer *buffer,
		       uint32_t *window, const char *what)
{
	uint32_t i;

	if (!buffer)
		return nrn_fail(-EINVAL, "rank %u: no %s (NULL)", comm->rank, what);
	for (i = NRN_OWN_WINDOWS; i < comm->num_windows; i++) {
		if (comm->window[i].own == buffer) {
			if (comm->clique->window[i].present < comm->clique->num_ranks)
				return nrn_fail(-EAGAIN,
						"%s: %s of rank %u: %u of %u ranks have registered theirs",
						nrn_buffer_label(buffer).text,
						what, comm->rank, comm->clique->window[i].present,
						comm->clique->num_ranks);
			*window = i;
			return 0;
		}
	}
	return nrn_fail(-EINVAL, "%s: %s of rank %u, and not registered: neuron_comm_register()",
			nrn_buffer_label(buffer).text, what, comm->rank);
}

/* Data of @size bytes in a buffer, which all ranks have */
static int check_range(struct neuron_comm *comm, uint32_t window, uint64_t offset, uint64_t size,
		       uint32_t esize)
{
	const struct nrn_shared_window *shared = &comm->clique->window[window];
	uint64_t room = shared->size;

	if (offset % esize)
		return nrn_fail(-EINVAL,
				"%s: offset %" PRIu64 " is no multiple of %u, the size of an element",
				nrn_buffer_label(comm->window[window].own).text, offset, esize);
	if (offset <= room && size <= room - offset)
		return 0;
	return nrn_fail(-EINVAL,
			"%s: offset %" PRIu64 " + size %" PRIu64 " is past the end: %" PRIu64,
			nrn_buffer_label(comm->window[window].own).text, offset, size, room);
}

static int check_kind(struct neuron_comm *comm, struct nrn_call *call)
{
	const struct neuron_comm_data *d = &call->data;
	bool combines = call->c.op == NEURON_COMM_ALL_REDUCE ||
			call->c.op == NEURON_COMM_REDUCE_SCATTER ||
			call->c.op == NEURON_COMM_REDUCE;

	call->c.esize = nrn_dtype_size(d->dtype);
	if (!call->c.esize)
		return nrn_fail(-EINVAL, "rank %u: there is no type %u of elements", comm->rank,
				d->dtype);
	if (d->reduction > NEURON_COMM_AVG || (!combines && d->reduction))
		return nrn_fail(-EINVAL, "rank %u: reduction %u %s", comm->rank, d->reduction,
				combines ? "does not exist" : "in a call that combines nothing");
	return 0;
}

static bool add_sizes(const uint64_t *sizes, uint32_t count, uint32_t stride, uint64_t *sum)
{
	uint32_t i;

	*sum = 0;
	for (i = 0; i < count; i++)
		if (__builtin_add_overflow(*sum, sizes[(uint64_t)i * stride], sum))
			return false;
	return true;
}

/* Bytes that this rank puts in and gets out, and the part of it in all data */
static bool measure(const struct neuron_comm *comm, const struct nrn_call *call, uint64_t *in,
		    uint64_t *out, uint64_t *own)
{
	uint32_t n = call->c.num_ranks, rank = comm->rank;
	const uint64_t *sizes = call->sizes;

	*in = *out = sizes[0];
	*own = 0;
	switch (call->c.op) {
	case NEURON_COMM_ALL_GATHER:
		*in = sizes[rank];
		return add_sizes(sizes, n, 1, out) && add_sizes(sizes, rank, 1, own);
	case NEURON_COMM_REDUCE_SCATTER:
		*out = sizes[rank];
		return add_sizes(sizes, n, 1, in) && add_sizes(sizes, rank, 1, own);
	case NEURON_COMM_ALL_TO_ALL:
		return add_sizes(sizes + (uint64_t)rank * n, n, 1, in) &&
		       add_sizes(sizes + rank, n, n, out);
	case NEURON_COMM_BROADCAST:
		*in = rank == call->c.root ? *in : 0;
		return true;
	case NEURON_COMM_REDUCE:
		*out = rank == call->c.root ? *out : 0;
		return true;
	default:
		return true;
	}
}

/* The same data, or none of them: what overlaps in between is an error. */
static int check_overlap(struct neuron_comm *comm, struct nrn_call *call, uint64_t in,
			 uint64_t out, uint64_t own)
{
	uint64_t src = call->data.src_offset, dst = call->data.dst_offset;
	uint64_t want = call->c.op == NEURON_COMM_ALL_GATHER ? dst + own : dst;

	if (call->c.op == NEURON_COMM_REDUCE_SCATTER)
		want = dst - own;
	call->c.in_place = call->src_window == call->dst_window && src == want &&
			   call->c.op != NEURON_COMM_ALL_TO_ALL;
	if (call->c.in_place || call->src_window != call->dst_window || src >= dst + out ||
	    dst >= src + in)
		return 0;
	return nrn_fail(-EINVAL, "%s: source at %" PRIu64 " and destination at %" PRIu64
			" of rank %u overlap, and not as they do in place",
			nrn_buffer_label(call->data.src).text, src, dst, comm->rank);
}

/*
 * In place must be so on all ranks: whether it is follows from offsets, which
 * are the same, but for all_gather and reduce_scatter of one rank.
 */
static int check_data(struct neuron_comm *comm, struct nrn_call *call)
{
	uint64_t in, out, own;
	int ret;

	ret = check_kind(comm, call);
	if (!ret)
		ret = find_window(comm, call->data.src, &call->src_window, "source");
	if (!ret)
		ret = find_window(comm, call->data.dst, &call->dst_window, "destination");
	if (ret)
		return ret;
	if (!measure(comm, call, &in, &out, &own))
		return nrn_fail(-EINVAL, "rank %u: the counts are too large", comm->rank);
	ret = check_range(comm, call->src_window, call->data.src_offset, in, call->c.esize);
	if (!ret)
		ret = check_range(comm, call->dst_window, call->data.dst_offset, out,
				  call->c.esize);
	if (!ret)
		ret = check_overlap(comm, call, in, out, own);
	call->c.phase[NRN_SRC] = call->data.src_offset % NRN_COMBINE_ALIGN;
	call->c.phase[NRN_DST] = call->data.dst_offset % NRN_COMBINE_ALIGN;
	return ret;
}

static int start(struct neuron_comm *comm, struct nrn_call *call, const uint64_t *counts,
		 uint64_t num_counts, const struct neuron_comm_call *options,
		 struct neuron_request **request)
{
	struct neuron_comm_call o = { 0 };
	uint64_t i;
	int ret = 0;

	if (options)
		ret = nrn_take_options(&o, sizeof(o), options, CALL_MIN, "neuron_comm_call");
	if (!ret && o.flags & ~NEURON_COMM_TIMED)
		ret = nrn_fail(-EINVAL, "rank %u: unknown flags 0x%x of a call", comm->rank,
			       o.flags);
	if (!ret && o.channels > comm->clique->options.channels)
		ret = nrn_fail(-EINVAL, "rank %u: %u channels: the communicator has %u", comm->rank,
			       o.channels, comm->clique->options.channels);
	if (ret)
		return ret;
	call->flags = o.flags;
	call->c.num_ranks = comm->clique->num_ranks;
	call->sizes = calloc(num_counts, sizeof(*call->sizes));
	if (!call->sizes)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	call->c.sizes = call->sizes;
	ret = check_kind(comm, call);
	for (i = 0; !ret && i < num_counts; i++)
		if (__builtin_mul_overflow(counts[i], (uint64_t)call->c.esize, &call->sizes[i]))
			ret = nrn_fail(-EINVAL, "rank %u: count %" PRIu64 " is too large",
				       comm->rank, counts[i]);
	if (!ret && call->c.op != NEURON_COMM_BARRIER && call->c.op != NEURON_COMM_SEND_RECV)
		ret = check_data(comm, call);
	if (!ret)
		ret = nrn_choose(comm, call, o.algorithm, o.channels);
	if (!ret)
		ret = nrn_request_add(comm, call, request);
	if (ret)
		free(call->sizes);
	return ret;
}

static int collective(struct neuron_comm *comm, uint32_t op, const struct neuron_comm_data *data,
		      const uint64_t *counts, uint64_t num_counts, uint32_t root, uint32_t peer,
		      const struct neuron_comm_call *options, struct neuron_request **request)
{
	struct nrn_call call = { .c = { .op = op, .root = root, .peer = peer } };
	int ret;

	if (!comm || !data || !counts || !request)
		return nrn_fail(-EINVAL, "no %s (NULL)",
				!comm ? "communicator" : !data ? "data" : !counts ? "counts" :
				"place for the request");
	call.data = *data;
	pthread_mutex_lock(&nrn_comm_lock);
	if (comm->clique->failed)
		ret = nrn_fail(-ENOTCONN, "%s", comm->clique->sentence);
	else if (root >= comm->clique->num_ranks || peer >= comm->clique->num_ranks)
		ret = nrn_fail(-EINVAL, "rank %u: there is no rank %u: there are %u", comm->rank,
			       root >= comm->clique->num_ranks ? root : peer,
			       comm->clique->num_ranks);
	else
		ret = start(comm, &call, counts, num_counts, options, request);
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

int neuron_comm_all_reduce(struct neuron_comm *comm, const struct neuron_comm_data *data,
			   uint64_t count, const struct neuron_comm_call *call,
			   struct neuron_request **request)
{
	return collective(comm, NEURON_COMM_ALL_REDUCE, data, &count, 1, 0, 0, call, request);
}

int neuron_comm_all_gather(struct neuron_comm *comm, const struct neuron_comm_data *data,
			   const uint64_t *counts, const struct neuron_comm_call *call,
			   struct neuron_request **request)
{
	return collective(comm, NEURON_COMM_ALL_GATHER, data, counts,
			  comm ? comm->clique->num_ranks : 0, 0, 0, call, request);
}

int neuron_comm_reduce_scatter(struct neuron_comm *comm, const struct neuron_comm_data *data,
			       const uint64_t *counts, const struct neuron_comm_call *call,
			       struct neuron_request **request)
{
	return collective(comm, NEURON_COMM_REDUCE_SCATTER, data, counts,
			  comm ? comm->clique->num_ranks : 0, 0, 0, call, request);
}

int neuron_comm_all_to_all(struct neuron_comm *comm, const struct neuron_comm_data *data,
			   const uint64_t *counts, const struct neuron_comm_call *call,
			   struct neuron_request **request)
{
	uint64_t n = comm ? comm->clique->num_ranks : 0;

	return collective(comm, NEURON_COMM_ALL_TO_ALL, data, counts, n * n, 0, 0, call, request);
}

int neuron_comm_broadcast(struct neuron_comm *comm, const struct neuron_comm_data *data,
			  uint64_t count, uint32_t root, const struct neuron_comm_call *call,
			  struct neuron_request **request)
{
	return collective(comm, NEURON_COMM_BROADCAST, data, &count, 1, root, 0, call, request);
}

int neuron_comm_reduce(struct neuron_comm *comm, const struct neuron_comm_data *data,
		       uint64_t count, uint32_t root, const struct neuron_comm_call *call,
		       struct neuron_request **request)
{
	return collective(comm, NEURON_COMM_REDUCE, data, &count, 1, root, 0, call, request);
}

/* A buffer of bytes, as source and as destination */
static int one_sided(struct neuron_comm *comm, struct neuron_buffer *buffer, uint64_t offset,
		     uint64_t size, uint32_t from, uint32_t to, struct neuron_request **request)
{
	struct nrn_call call = {
		.c = { .op = NEURON_COMM_SEND_RECV, .root = from, .peer = to },
		.data = {
			.src = buffer,
			.src_offset = offset,
			.dst = buffer,
			.dst_offset = offset,
			.dtype = NEURON_DTYPE_FP8_E4M3,
		},
	};
	int ret;

	call.rank_op = to == comm->rank;
	if (from >= comm->clique->num_ranks || to >= comm->clique->num_ranks || from == to)
		return nrn_fail(-EINVAL,
				"rank %u: no other rank %u to send to or receive from: there are %u",
				comm->rank, call.rank_op ? from : to,
				comm->clique->num_ranks);
	ret = find_window(comm, buffer, &call.src_window, "buffer");
	if (ret)
		return ret;
	call.dst_window = call.src_window;
	if (offset > buffer->size || size > buffer->size - offset)
		return nrn_buffer_past_end(buffer, offset, size);
	return start(comm, &call, &size, 1, NULL, request);
}

static int send_or_recv(struct neuron_comm *comm, struct neuron_buffer *buffer, uint64_t offset,
			uint64_t size, uint32_t peer, bool send, struct neuron_request **request)
{
	int ret;

	if (!comm || !buffer || !request)
		return nrn_fail(-EINVAL, "a %s without %s (NULL)", send ? "send" : "receive",
				!comm ? "communicator" : !buffer ? "buffer" :
				"place for the request");
	pthread_mutex_lock(&nrn_comm_lock);
	if (comm->clique->failed)
		ret = nrn_fail(-ENOTCONN, "%s", comm->clique->sentence);
	else
		ret = one_sided(comm, buffer, offset, size, send ? comm->rank : peer,
				send ? peer : comm->rank, request);
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

int neuron_comm_send(struct neuron_comm *comm, struct neuron_buffer *buffer, uint64_t offset,
		     uint64_t size, uint32_t peer, struct neuron_request **request)
{
	return send_or_recv(comm, buffer, offset, size, peer, true, request);
}

int neuron_comm_recv(struct neuron_comm *comm, struct neuron_buffer *buffer, uint64_t offset,
		     uint64_t size, uint32_t peer, struct neuron_request **request)
{
	return send_or_recv(comm, buffer, offset, size, peer, false, request);
}

int neuron_comm_barrier(struct neuron_comm *comm, const struct neuron_comm_call *call,
			struct neuron_request **request)
{
	static const struct neuron_comm_data none;
	uint64_t nothing = 0;

	return collective(comm, NEURON_COMM_BARRIER, &none, &nothing, 1, 0, 0, call, request);
}
