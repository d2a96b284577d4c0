// SPDX-License-Identifier: MIT
/*
 * From a plan to command lists, which are kept for the next call with the same
 * arguments. A channel is a list; one that is too long for the driver is several
 * that wait for each other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* What tells one collective from another */
static unsigned char *make_key(const struct nrn_call *call, uint64_t num_sizes, uint64_t *size)
{
	const uint64_t words[] = {
		call->c.op, call->c.algorithm, call->c.root, call->c.peer, call->c.channels,
		call->data.dtype, call->data.reduction, call->src_window, call->data.src_offset,
		call->dst_window, call->data.dst_offset, call->rank_op, call->flags,
		num_sizes,
	};
	unsigned char *key;

	*size = sizeof(words) + num_sizes * sizeof(uint64_t);
	key = malloc(*size);
	if (key) {
		memcpy(key, words, sizeof(words));
		memcpy(key + sizeof(words), call->sizes, num_sizes * sizeof(uint64_t));
	}
	return key;
}

static uint64_t num_sizes(const struct nrn_call *call)
{
	uint64_t n = call->c.num_ranks;

	switch (call->c.op) {
	case NEURON_COMM_ALL_GATHER:
	case NEURON_COMM_REDUCE_SCATTER:
		return n;
	case NEURON_COMM_ALL_TO_ALL:
		return n * n;
	default:
		return 1;
	}
}

static int find_word(struct neuron_comm *comm)
{
	int i;

	for (i = 0; i < (int)NRN_MAX_LISTS; i++)
		if (!comm->word_used[i])
			return i;
	return -1;
}

static void free_prepared(struct neuron_comm *comm, struct nrn_prepared *p)
{
	uint32_t i;

	for (i = 0; i < p->num_lists; i++) {
		struct drm_trainium_queue_destroy request = { .queue = p->list[i].id };

		nrn_backend->ioctl(comm->device->fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY, &request);
		comm->word_used[p->list[i].word] = 0;
		comm->num_lists--;
	}
	free(p->key);
	free(p);
}

void nrn_prepared_free(struct neuron_comm *comm)
{
	struct nrn_prepared *p;

	while ((p = comm->prepared)) {
		comm->prepared = p->next;
		free_prepared(comm, p);
	}
	comm->num_prepared = 0;
}

/* Gives the one up that was not used for the longest time; false if all are in use. */
static bool drop_oldest(struct neuron_comm *comm)
{
	struct nrn_prepared **at, **oldest = NULL, *p;

	for (at = &comm->prepared; *at; at = &(*at)->next)
		if (!(*at)->running && (!oldest || (*at)->used < (*oldest)->used))
			oldest = at;
	if (!oldest)
		return false;
	p = *oldest;
	*oldest = p->next;
	comm->num_prepared--;
	free_prepared(comm, p);
	return true;
}

/* Where a space is: buffer and its first byte */
static int place(struct neuron_comm *comm, const struct nrn_call *call, uint32_t space,
		 uint32_t rank, uint32_t *handle, uint64_t *at)
{
	uint64_t part = call->c.scratch & ~63ull;
	uint32_t window = 0, channel;

	if (space == NRN_SCRATCH) {
		channel = (uint32_t)(*at / part);
		window = nrn_scratch_window(channel);
		*at = nrn_scratch_index(channel) * part + *at % part +
		      (window ? 0 : comm->scratch_at);
	} else if (space == NRN_SRC) {
		window = call->src_window;
		*at += call->data.src_offset;
	} else {
		window = call->dst_window;
		*at += call->data.dst_offset;
	}
	return nrn_window_handle(comm, window, rank, handle);
}

static int put_data(struct neuron_comm *comm, const struct nrn_call *call,
		    const struct nrn_step *step, struct drm_trainium_op *op)
{
	bool reduce = step->type == NRN_STEP_REDUCE;
	uint64_t dst_offset = step->dst_off, src_offset = step->src_off;
	uint32_t dst, src, reduction = call->data.reduction;
	int ret;

	ret = place(comm, call, step->dst_space, step->dst_rank, &dst, &dst_offset);
	if (!ret)
		ret = place(comm, call, step->src_space, reduce ? NRN_ALL : comm->rank, &src,
			    &src_offset);
	if (ret)
		return ret;
	op->dst = dst;
	op->src = src;
	op->dst_offset = dst_offset;
	op->src_offset = src_offset;
	op->size = step->size;
	if (step->type == NRN_STEP_COPY) {
		op->type = TRAINIUM_OP_COPY;
		return 0;
	}
	op->type = reduce ? TRAINIUM_OP_REDUCE : TRAINIUM_OP_ACCUMULATE;
	if (reduction == NEURON_COMM_AVG)
		reduction = NEURON_COMM_SUM;
	op->flags |= TRAINIUM_OP_F_COMBINE(reduction, call->data.dtype);
	return 0;
}

static int put_semaphore(struct neuron_comm *comm, const struct nrn_step *step,
			 struct drm_trainium_op *op)
{
	uint32_t dst = 0;
	int ret;

	op->type = TRAINIUM_OP_SIGNAL;
	if (step->type == NRN_STEP_WAIT) {
		op->type = TRAINIUM_OP_WAIT;
		op->flags |= TRAINIUM_OP_F_TAKE;
	}
	op->dst_offset = step->dst_off * sizeof(int64_t);
	op->size = sizeof(int64_t);
	op->pattern_size = sizeof(int64_t);
	op->pattern = step->value;
	ret = nrn_window_handle(comm, 0, step->dst_rank, &dst);
	op->dst = dst;
	return ret;
}

/* Of its own word among those of all lists */
static void put_stamp(struct neuron_comm *comm, struct nrn_prepared *p,
		      const struct nrn_step *step, struct drm_trainium_op *op)
{
	uint32_t word;

	/* One that is free is left so, for make_list(). */
	while (comm->num_lists >= NRN_MAX_LISTS && drop_oldest(comm))
		;
	word = (uint32_t)find_word(comm) + (1 + (uint32_t)step->dst_off) * NRN_MAX_LISTS;
	p->stamp[step->dst_off] = word;
	op->type = TRAINIUM_OP_TIMESTAMP;
	op->dst = comm->word_buffer->handle;
	op->dst_offset = word * sizeof(uint64_t);
	op->size = sizeof(uint64_t);
}

static int put_step(struct neuron_comm *comm, const struct nrn_call *call,
		    struct nrn_prepared *p, const struct nrn_step *step,
		    struct drm_trainium_op *op)
{
	*op = (struct drm_trainium_op){ 0 };
	if (step->barrier)
		op->flags = TRAINIUM_OP_F_BARRIER;
	if (step->type == NRN_STEP_SIGNAL || step->type == NRN_STEP_WAIT)
		return put_semaphore(comm, step, op);
	if (step->type == NRN_STEP_STAMP) {
		put_stamp(comm, p, step, op);
		return 0;
	}
	return put_data(comm, call, step, op);
}

static int list_failed(const struct neuron_comm *comm, int error)
{
	return nrn_fail(error, "%s: rank %u: no command list of a collective: %s (%s)",
			comm->device->label, comm->rank, neuron_strerror(error),
			neuron_error_name(error));
}

static int make_list(struct neuron_comm *comm, struct nrn_prepared *p,
		     const struct drm_trainium_op *ops, uint32_t count)
{
	struct drm_trainium_list_create request = {
		.ops = (uintptr_t)ops,
		.op_count = count,
		.op_stride = sizeof(*ops),
		.stack = TRAINIUM_STACK_ANY,
		.flags = TRAINIUM_LIST_F_USER,
	};
	int ret, word;

	while (comm->num_lists >= NRN_MAX_LISTS)
		if (!drop_oldest(comm))
			return nrn_fail(-EDQUOT,
					"rank %u: the collectives that go on have %u command lists: the limit is %u",
					comm->rank,
					comm->num_lists, NRN_MAX_LISTS);
	word = find_word(comm);
	comm->words[word] = 0;
	request.completion.handle = comm->word_buffer->handle;
	request.completion.offset = (uint64_t)word * sizeof(uint64_t);
	request.completion.flags = TRAINIUM_COMPLETION_EVENTFD;
	request.completion.eventfd = comm->eventfd;
	do {
		ret = nrn_backend->ioctl(comm->device->fd, DRM_IOCTL_TRAINIUM_LIST_CREATE,
					 &request);
	} while ((ret == -ENOSPC || ret == -EDQUOT) && drop_oldest(comm));
	if (ret == -EINVAL)
		return ret;
	if (ret)
		return list_failed(comm, ret);
	comm->word_used[word] = 1;
	comm->num_lists++;
	p->list[p->num_lists].id = request.list;
	p->list[p->num_lists].word = (uint32_t)word;
	p->list[p->num_lists].submitted = 0;
	p->num_lists++;
	return 0;
}

static struct nrn_step chain(const struct neuron_comm *comm, uint8_t type, uint32_t channel,
			     uint32_t piece)
{
	return (struct nrn_step){
		.type = type,
		.dst_rank = (uint16_t)comm->rank,
		.dst_off = nrn_sem_index(comm->clique->num_ranks, channel, NRN_SEM_CHAIN, piece),
		.value = 1,
	};
}

/* Descriptors of a step, most likely: buffers are contiguous */
static uint64_t descriptors(const struct nrn_step *step)
{
	return step->size / 65536 + (step->size % 65536 || !step->size);
}

/* Writes ops of steps from @*next on, of about @room descriptors. */
static int put_piece(struct neuron_comm *comm, const struct nrn_call *call,
		     struct nrn_prepared *p, const struct nrn_list *list, uint32_t channel,
		     uint32_t piece, uint32_t *next,
		     uint64_t *done, uint64_t room, struct drm_trainium_op *ops, uint32_t *count)
{
	struct nrn_step step;
	uint64_t part;
	int ret = 0;

	*count = 0;
	if (piece) {
		step = chain(comm, NRN_STEP_WAIT, channel, piece);
		ret = put_step(comm, call, p, &step, &ops[(*count)++]);
	}
	while (!ret && *next < list->count) {
		step = list->step[*next];
		step.dst_off += *done;
		step.src_off += *done;
		step.size -= *done;
		if (*done)
			step.barrier = 0;
		part = step.size;
		if (descriptors(&step) > room) {
			part = room > 4 ? (room - 4) * 65536 : 0;
			if (!part)
				break;
			step.size = part;
		}
		room -= descriptors(&step);
		ret = put_step(comm, call, p, &step, &ops[(*count)++]);
		*done += part;
		if (*done == list->step[*next].size || !list->step[*next].size) {
			*done = 0;
			(*next)++;
		}
	}
	if (!ret && *next < list->count) {
		step = chain(comm, NRN_STEP_SIGNAL, channel, piece + 1);
		ret = put_step(comm, call, p, &step, &ops[(*count)++]);
	}
	return ret;
}

static int make_channel(struct neuron_comm *comm, const struct nrn_call *call,
			struct nrn_prepared *p, uint32_t channel, const struct nrn_list *list,
			uint64_t room)
{
	struct drm_trainium_op *ops;
	uint32_t next = 0, count, piece;
	uint64_t done = 0;
	int ret = 0;

	ops = malloc(((uint64_t)list->count + 2) * sizeof(*ops));
	if (!ops)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	for (piece = 0; !ret && next < list->count; piece++) {
		if (piece == NRN_MAX_PIECES) {
			ret = nrn_fail(-EDQUOT,
				       "rank %u: a collective of more than %u command lists a channel: use more channels, or less data",
				       comm->rank, piece);
			break;
		}
		ret = put_piece(comm, call, p, list, channel, piece, &next, &done, room, ops,
				&count);
		if (!ret)
			ret = make_list(comm, p, ops, count);
	}
	free(ops);
	return ret;
}

static struct nrn_prepared *find(struct neuron_comm *comm, const unsigned char *key, uint64_t size)
{
	struct nrn_prepared *p;

	for (p = comm->prepared; p; p = p->next)
		if (p->key_size == size && !memcmp(p->key, key, size))
			break;
	return p;
}

static int make_lists(struct neuron_comm *comm, const struct nrn_call *call,
		      struct nrn_prepared *p)
{
	uint64_t room = comm->device->limits.max_list_descs;
	struct nrn_plan plan;
	uint32_t channel;
	int ret;

	ret = nrn_plan_build(&plan, &call->c, comm->rank);
	if (ret)
		return nrn_fail(ret, "%s: out of memory", comm->device->label);
	/* How many descriptors an op takes is the driver's business. */
	for (room -= room / 32; room > 8; room -= room / 8) {
		for (channel = 0, ret = 0; !ret && channel < plan.channels; channel++)
			ret = make_channel(comm, call, p, channel, &plan.list[channel], room);
		if (ret != -EINVAL)
			break;
		while (p->num_lists) {
			struct drm_trainium_queue_destroy request = {
				.queue = p->list[--p->num_lists].id,
			};

			nrn_backend->ioctl(comm->device->fd, DRM_IOCTL_TRAINIUM_QUEUE_DESTROY,
					   &request);
			comm->word_used[p->list[p->num_lists].word] = 0;
			comm->num_lists--;
		}
	}
	nrn_plan_free(&plan);
	return ret == -EINVAL ? list_failed(comm, ret) : ret;
}

int nrn_prepare(struct neuron_comm *comm, const struct nrn_call *call,
		struct nrn_prepared **prepared)
{
	struct nrn_prepared *p;
	unsigned char *key;
	uint64_t size;
	int ret;

	key = make_key(call, num_sizes(call), &size);
	if (!key)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	p = find(comm, key, size);
	if (p) {
		free(key);
	} else {
		while (comm->num_prepared >= NRN_MAX_PREPARED && drop_oldest(comm))
			;
		p = calloc(1, sizeof(*p) + NRN_MAX_LISTS * sizeof(p->list[0]));
		if (!p) {
			free(key);
			return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
		}
		p->key = key;
		p->key_size = size;
		ret = make_lists(comm, call, p);
		if (ret) {
			free_prepared(comm, p);
			return ret;
		}
		p->next = comm->prepared;
		comm->prepared = p;
		comm->num_prepared++;
	}
	p->used = ++comm->clock;
	*prepared = p;
	return 0;
}
