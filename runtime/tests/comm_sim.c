// SPDX-License-Identifier: MIT
/*
 * The simulator: each list has a window of steps that have begun; any of them
 * may be next, and large ones go on in two parts. A step with a barrier begins
 * when the window is empty, a signal ends when it is the oldest, a wait keeps
 * what follows from beginning.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm_sim.h"

#define WINDOW 6

struct cursor {
	uint32_t rank, channel;
	uint32_t next;			/* step that begins next */
	uint32_t run;
	bool begun;			/* the rank knows of this run */
	uint32_t window[WINDOW];
	uint64_t done[WINDOW];		/* bytes */
	uint32_t in_window;
};

uint32_t sim_random(struct sim *s, uint32_t below)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->random >> 33) % below;
}

static int64_t load_int(uint32_t dtype, const void *at)
{
	uint32_t u32;
	int64_t i64;

	if (dtype == NEURON_DTYPE_INT64) {
		memcpy(&i64, at, 8);
		return i64;
	}
	memcpy(&u32, at, 4);
	return dtype == NEURON_DTYPE_INT32 ? (int32_t)u32 : (int64_t)u32;
}

static float combine_floats(uint32_t combine, float a, float b)
{
	if (combine == NEURON_COMBINE_SUM)
		return a + b;
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		return !!signbit(a) == (combine == NEURON_COMBINE_MIN) ? a : b;
	return (a < b) == (combine == NEURON_COMBINE_MIN) ? a : b;
}

static int64_t combine_ints(uint32_t combine, int64_t a, int64_t b)
{
	if (combine == NEURON_COMBINE_SUM)
		return (int64_t)((uint64_t)a + (uint64_t)b);
	return (a < b) == (combine == NEURON_COMBINE_MIN) ? a : b;
}

void sim_combine(uint32_t dtype, uint32_t combine, void *dst, const void *src, uint64_t size)
{
	uint32_t esize = nrn_dtype_size(dtype);
	int64_t value;
	uint64_t at;

	for (at = 0; at < size; at += esize) {
		char *d = (char *)dst + at;
		const char *f = (const char *)src + at;

		if (nrn_dtype_is_float(dtype)) {
			nrn_store_float(dtype, d, combine_floats(combine, nrn_load_float(dtype, d),
								 nrn_load_float(dtype, f)));
			continue;
		}
		value = combine_ints(combine, load_int(dtype, d), load_int(dtype, f));
		memcpy(d, &value, esize);
	}
}

static unsigned char *place(struct sim *s, uint32_t rank, uint32_t space, uint64_t at)
{
	return s->space[space][rank] + (int64_t)at;
}

static void reduce_from_all(struct sim *s, unsigned char *dst, uint64_t src, uint64_t size)
{
	uint32_t i;

	memcpy(dst, place(s, 0, NRN_SRC, src), size);
	for (i = 1; i < s->c.num_ranks; i++)
		sim_combine(s->dtype, s->combine, dst, place(s, i, NRN_SRC, src), size);
}

static const char *move(struct sim *s, uint32_t rank, const struct nrn_step *step, uint64_t at,
			uint64_t size)
{
	unsigned char *src = place(s, rank, step->src_space, step->src_off + at), *dst;
	uint32_t i;

	if (step->type == NRN_STEP_COPY) {
		for (i = 0; i < s->c.num_ranks; i++) {
			if (i != step->dst_rank && step->dst_rank != NRN_ALL)
				continue;
			dst = place(s, i, step->dst_space, step->dst_off + at);
			memmove(dst, src, size);
		}
		return NULL;
	}
	if (step->type == NRN_STEP_REDUCE && step->dst_rank != rank)
		return "combines what all hold into another rank";
	dst = place(s, step->dst_rank, step->dst_space, step->dst_off + at);
	if (((uintptr_t)dst | (uintptr_t)src | size) % NRN_COMBINE_ALIGN)
		return "combines at a place that is not aligned";
	if (step->type == NRN_STEP_REDUCE)
		reduce_from_all(s, dst, step->src_off + at, size);
	else
		sim_combine(s->dtype, s->combine, dst, src, size);
	return NULL;
}

static int64_t *semaphore(struct sim *s, uint32_t rank, uint64_t index)
{
	return &s->sem[rank * s->num_sems + index];
}

static void leave(struct cursor *c, uint32_t i)
{
	c->in_window--;
	memmove(&c->window[i], &c->window[i + 1], (c->in_window - i) * sizeof(c->window[0]));
	memmove(&c->done[i], &c->done[i + 1], (c->in_window - i) * sizeof(c->done[0]));
}

/* 1 something went on, 0 not, with @problem in case */
static int go_on(struct sim *s, struct cursor *c, const struct nrn_list *list,
		 const char **problem)
{
	const struct nrn_step *step;
	uint64_t size, part;
	uint32_t i;

	/* Begin one more, most of the time */
	if (c->next < list->count && c->in_window < WINDOW && sim_random(s, 4)) {
		step = &list->step[c->next];
		if (step->type == NRN_STEP_WAIT) {
			int64_t *sem = semaphore(s, c->rank, step->dst_off);

			if (*sem >= step->value) {
				*sem -= step->value;
				c->next++;
				s->steps++;
				return 1;
			}
		} else if (!step->barrier || !c->in_window) {
			c->window[c->in_window] = c->next++;
			c->done[c->in_window++] = 0;
			return 1;
		}
	}
	if (!c->in_window)
		return 0;
	i = sim_random(s, c->in_window);
	step = &list->step[c->window[i]];
	if (step->type == NRN_STEP_STAMP) {
		if (i)
			return 0;
		leave(c, i);
		return 1;
	}
	if (step->type == NRN_STEP_SIGNAL) {
		uint32_t rank;

		if (i)
			return 0;
		for (rank = 0; rank < s->c.num_ranks; rank++)
			if (rank == step->dst_rank || step->dst_rank == NRN_ALL)
				*semaphore(s, rank, step->dst_off) += step->value;
		leave(c, i);
		s->steps++;
		return 1;
	}
	size = step->size - c->done[i];
	part = size > 64 && sim_random(s, 2) ? size / 2 & ~15ull : size;
	*problem = move(s, c->rank, step, c->done[i], part);
	c->done[i] += part;
	if (c->done[i] == step->size) {
		leave(c, i);
		s->steps++;
	}
	return 1;
}

static bool at_end(const struct sim *s, const struct cursor *c)
{
	return c->next == s->plan[c->rank].list[c->channel].count && !c->in_window;
}

/* The next run of a rank begins when the one before has ended, on all channels. */
static const char *next_run(struct sim *s, struct cursor *cursor, uint32_t rank,
			    void (*begin)(struct sim *s, uint32_t rank),
			    const char *(*end)(struct sim *s, uint32_t rank))
{
	struct cursor *first = &cursor[rank * s->c.channels];
	const char *problem = NULL;
	uint32_t i;

	for (i = 0; i < s->c.channels; i++)
		if (!at_end(s, &first[i]))
			return NULL;
	if (first->begun)
		problem = end(s, rank);
	for (i = 0; i < s->c.channels; i++) {
		if (first[i].begun)
			first[i].run--;
		first[i].begun = first[i].run > 0;
		if (first[i].begun)
			first[i].next = 0;
	}
	if (first->begun)
		begin(s, rank);
	return problem;
}

const char *sim_run(struct sim *s, uint32_t runs, void (*begin)(struct sim *s, uint32_t rank),
		    const char *(*end)(struct sim *s, uint32_t rank))
{
	uint32_t total = s->c.num_ranks * s->c.channels, i, left = 0, favourite;
	struct cursor *cursor = calloc(total, sizeof(*cursor));
	const char *problem = NULL;
	uint64_t idle = 0;

	for (i = 0; i < total; i++) {
		cursor[i].rank = i / s->c.channels;
		cursor[i].channel = i % s->c.channels;
		cursor[i].run = runs;
		cursor[i].next = s->plan[cursor[i].rank].list[cursor[i].channel].count;
	}
	for (i = 0; i < s->c.num_ranks; i++)
		next_run(s, cursor, i, begin, end);
	favourite = sim_random(s, total);
	while (!problem) {
		/* One has a long turn now and then. */
		if (!sim_random(s, 64))
			favourite = sim_random(s, total);
		i = sim_random(s, 2) ? favourite : sim_random(s, total);
		if (cursor[i].begun &&
		    go_on(s, &cursor[i], &s->plan[cursor[i].rank].list[cursor[i].channel],
			  &problem))
			idle = 0;
		else
			idle++;
		if (!problem && cursor[i].begun && at_end(s, &cursor[i])) {
			problem = next_run(s, cursor, cursor[i].rank, begin, end);
			idle = 0;
		}
		if (idle < 40ull * total + 400)
			continue;
		/* Nobody can go on: all are through, or they wait for each other. */
		for (left = 0, i = 0; i < total; i++)
			left += cursor[i].begun;
		if (!left)
			break;
		if (idle > 4000ull * total + 40000)
			problem = "deadlock";
	}
	free(cursor);
	for (i = 0; !problem && i < s->c.num_ranks * s->num_sems; i++)
		if (s->sem[i])
			problem = "a semaphore is left with a value";
	return problem;
}
