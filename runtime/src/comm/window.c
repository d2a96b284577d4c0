// SPDX-License-Identifier: MIT
/*
 * Buffers of a communicator: own ones are exported, those of other ranks are
 * imported when a collective first needs them, and the group stands for all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Is it bound to the group? Without that other algorithms still work. */
static bool bind(struct neuron_comm *comm, uint32_t number, struct neuron_buffer *buffer)
{
	struct neuron_fabric_info info = { .size = sizeof(info) };

	if (!comm->group || neuron_fabric_get_info(comm->device, &info) ||
	    number >= info.group_slots || !info.group_granule ||
	    buffer->size % info.group_granule)
		return false;
	return !neuron_group_bind(comm->group, number, buffer, 0, buffer->size);
}

int nrn_window_add(struct neuron_comm *comm, struct neuron_buffer *buffer,
		   struct nrn_window_info *info, int *fd)
{
	struct nrn_window *w = &comm->window[comm->num_windows];
	uint32_t i;
	int ret;

	if (comm->num_windows == NRN_MAX_WINDOWS)
		return nrn_fail(-EDQUOT, "%s: a communicator has at most %u registered buffers",
				comm->device->label, NRN_MAX_WINDOWS - NRN_OWN_WINDOWS);
	if (buffer->device != comm->device)
		return nrn_fail(-EXDEV, "%s: is not of %s, the chip of rank %u",
				nrn_buffer_label(buffer).text, comm->device->label, comm->rank);
	if (buffer->placement != NEURON_HBM || !(buffer->flags & NEURON_BUFFER_PEER))
		return nrn_fail(-EINVAL, "%s: is not in HBM with NEURON_BUFFER_PEER",
				nrn_buffer_label(buffer).text);
	for (i = 0; i < comm->num_windows; i++)
		if (comm->window[i].own->handle == buffer->handle)
			return nrn_fail(-EALREADY, "%s: is registered already",
					nrn_buffer_label(buffer).text);
	ret = neuron_buffer_export(buffer, fd);
	if (ret)
		return ret;
	w->peer = calloc(comm->clique->num_ranks, sizeof(struct neuron_buffer *));
	if (!w->peer) {
		close(*fd);
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	}
	w->own = buffer;
	*info = (struct nrn_window_info){
		.size = buffer->size,
		.bound = bind(comm, comm->num_windows, buffer),
	};
	comm->num_windows++;
	return 0;
}

void nrn_window_shared(struct nrn_clique *clique, uint32_t window, uint32_t rank,
		       const struct nrn_window_info *info, int fd)
{
	struct nrn_shared_window *w = &clique->window[window];

	w->info[rank] = *info;
	w->fd[rank] = fd;
	if (!w->present || info->size < w->size)
		w->size = info->size;
	w->bound = (!w->present || w->bound) && info->bound;
	w->present++;
}

void nrn_windows_free(struct neuron_comm *comm)
{
	uint32_t i, rank;

	for (i = 0; i < comm->num_windows; i++) {
		struct nrn_window *w = &comm->window[i];

		for (rank = 0; rank < comm->clique->num_ranks; rank++)
			neuron_buffer_destroy(w->peer[rank]);
		free(w->peer);
		neuron_buffer_destroy(w->all);
		if (comm->group)
			neuron_group_unbind(comm->group, i);
	}
	for (i = 0; i < comm->num_windows && i < NRN_OWN_WINDOWS; i++)
		neuron_buffer_destroy(comm->window[i].own);
	comm->num_windows = 0;
}

int nrn_window_handle(struct neuron_comm *comm, uint32_t window, uint32_t rank, uint32_t *handle)
{
	const struct nrn_shared_window *shared = &comm->clique->window[window];
	struct nrn_window *w = &comm->window[window];
	struct neuron_buffer **buffer;
	int ret = 0;

	if (rank == comm->rank) {
		*handle = w->own->handle;
		return 0;
	}
	buffer = rank == NRN_ALL ? &w->all : &w->peer[rank];
	if (!*buffer && rank == NRN_ALL)
		ret = neuron_group_map(comm->group, window, shared->size, buffer);
	else if (!*buffer)
		ret = neuron_buffer_import(comm->device, shared->fd[rank], buffer);
	if (ret && rank != NRN_ALL)
		nrn_fail_more(" (rank %u to rank %u)", comm->rank, rank);
	if (ret)
		return ret;
	/* What a rank in another process says of its size is not believed. */
	if ((*buffer)->size < shared->size)
		return nrn_fail(-EPROTO, "rank %u: the buffer of rank %u has %" PRIu64
				" bytes, and not %" PRIu64 " as it said", comm->rank, rank,
				(*buffer)->size, shared->size);
	*handle = (*buffer)->handle;
	return 0;
}
