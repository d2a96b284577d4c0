// SPDX-License-Identifier: MIT
/*
 * Plans of collectives against a reference: all operations, algorithms and
 * types, by the simulator.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "comm_sim.h"

#define RUNS 3

#define GUARD 64u
#define GUARD_BYTE 0xa5

/* What each rank puts into each run, and the run that it is in */
static unsigned char *input[RUNS][NRN_MAX_RANKS];
static uint64_t in_size[NRN_MAX_RANKS], out_size[NRN_MAX_RANKS];
static uint32_t run_of[NRN_MAX_RANKS];
static char problem_text[200];

static uint64_t sum_of(const uint64_t *sizes, uint32_t count, uint32_t stride)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		sum += sizes[(uint64_t)i * stride];
	return sum;
}

/* Bytes that a rank puts in and gets out */
static void measure(const struct nrn_collective *c, uint32_t rank, uint64_t *in, uint64_t *out)
{
	uint32_t n = c->num_ranks;

	*in = *out = c->sizes[0];
	switch (c->op) {
	case NEURON_COMM_ALL_GATHER:
		*in = c->sizes[rank];
		*out = sum_of(c->sizes, n, 1);
		break;
	case NEURON_COMM_REDUCE_SCATTER:
		*in = sum_of(c->sizes, n, 1);
		*out = c->sizes[rank];
		break;
	case NEURON_COMM_ALL_TO_ALL:
		*in = sum_of(c->sizes + (uint64_t)rank * n, n, 1);
		*out = sum_of(c->sizes + rank, n, n);
		break;
	case NEURON_COMM_BROADCAST:
		*in = rank == c->root ? *in : 0;
		break;
	case NEURON_COMM_REDUCE:
		*out = rank == c->root ? *out : 0;
		break;
	case NEURON_COMM_SEND_RECV:
		*in = rank == c->root ? *in : 0;
		*out = rank == c->peer ? *out : 0;
		break;
	case NEURON_COMM_BARRIER:
		*in = *out = 0;
		break;
	default:
		break;
	}
}

static void random_element(struct sim *s, unsigned char *at)
{
	int32_t value = (int32_t)sim_random(s, 2000) - 1000;
	uint32_t i, esize = nrn_dtype_size(s->dtype);

	if (nrn_dtype_is_float(s->dtype)) {
		nrn_store_float(s->dtype, at, (float)value / 256);
		return;
	}
	for (i = 0; i < esize; i++)
		at[i] = (unsigned char)sim_random(s, 256);
}

static void begin(struct sim *s, uint32_t rank)
{
	memcpy(s->space[NRN_SRC][rank], input[run_of[rank]][rank], in_size[rank]);
	if (!s->c.in_place)
		memset(s->space[NRN_DST][rank], 0xaa, out_size[rank]);
}

/* Element of what all have put in at @at, and the sum of its magnitudes */
static void expect_element(struct sim *s, uint32_t run, uint64_t at, unsigned char *value,
			   double *sum, double *magnitude)
{
	uint32_t i;

	memcpy(value, input[run][0] + at, nrn_dtype_size(s->dtype));
	*sum = *magnitude = 0;
	for (i = 0; i < s->c.num_ranks; i++) {
		if (i)
			sim_combine(s->dtype, s->combine, value, input[run][i] + at,
				    nrn_dtype_size(s->dtype));
		if (nrn_dtype_is_float(s->dtype)) {
			double x = (double)nrn_load_float(s->dtype, input[run][i] + at);

			*sum += x;
			*magnitude += fabs(x);
		}
	}
}

/* Of a rounding, relative */
static double epsilon(uint32_t dtype)
{
	switch (dtype) {
	case NEURON_DTYPE_FP32:
		return ldexp(1, -24);
	case NEURON_DTYPE_FP16:
		return ldexp(1, -11);
	case NEURON_DTYPE_BF16:
		return ldexp(1, -8);
	case NEURON_DTYPE_FP8_E4M3:
		return ldexp(1, -4);
	default:
		return ldexp(1, -3);
	}
}

static bool element_is_right(struct sim *s, uint32_t run, uint64_t at, const unsigned char *got)
{
	uint32_t esize = nrn_dtype_size(s->dtype);
	unsigned char value[8];
	double sum, magnitude, bound;

	expect_element(s, run, at, value, &sum, &magnitude);
	if (!memcmp(value, got, esize))
		return true;
	/* Only sums of floats depend on the order: n - 1 roundings of partial sums. */
	if (!nrn_dtype_is_float(s->dtype) || s->combine != NEURON_COMBINE_SUM)
		return false;
	bound = s->c.num_ranks * epsilon(s->dtype) * magnitude * 1.5 + ldexp(1, -8);
	return fabs((double)nrn_load_float(s->dtype, got) - sum) <= bound;
}

static const char *wrong(const struct sim *s, uint32_t rank, uint64_t at)
{
	snprintf(problem_text, sizeof(problem_text), "rank %u: byte %llu of %llu", rank,
		 (unsigned long long)at, (unsigned long long)out_size[rank]);
	(void)s;
	return problem_text;
}

static const char *check_combined(struct sim *s, uint32_t rank, uint64_t from)
{
	const unsigned char *out = s->space[NRN_DST][rank];
	uint32_t esize = nrn_dtype_size(s->dtype);
	uint64_t at;

	for (at = 0; at + esize <= out_size[rank]; at += esize)
		if (!element_is_right(s, run_of[rank], from + at, out + at))
			return wrong(s, rank, at);
	return NULL;
}

static const char *check_copied(struct sim *s, uint32_t rank, uint64_t at, uint32_t from,
				uint64_t from_at, uint64_t size)
{
	const unsigned char *out = s->space[NRN_DST][rank] + at;

	if (memcmp(out, input[run_of[rank]][from] + from_at, size))
		return wrong(s, rank, at);
	return NULL;
}

static const char *check_all_to_all(struct sim *s, uint32_t rank)
{
	const struct nrn_collective *c = &s->c;
	uint32_t n = c->num_ranks, i;
	const char *problem = NULL;
	uint64_t at = 0, size;

	for (i = 0; !problem && i < n; i++) {
		size = c->sizes[(uint64_t)i * n + rank];
		problem = check_copied(s, rank, at, i,
				       sum_of(c->sizes + (uint64_t)i * n, rank, 1), size);
		at += size;
	}
	return problem;
}

static const char *check_result(struct sim *s, uint32_t rank)
{
	const struct nrn_collective *c = &s->c;
	const char *problem = NULL;
	uint64_t at = 0;
	uint32_t i;

	switch (c->op) {
	case NEURON_COMM_ALL_REDUCE:
		return check_combined(s, rank, 0);
	case NEURON_COMM_REDUCE:
		return rank == c->root ? check_combined(s, rank, 0) : NULL;
	case NEURON_COMM_REDUCE_SCATTER:
		return check_combined(s, rank, sum_of(c->sizes, rank, 1));
	case NEURON_COMM_ALL_GATHER:
		for (i = 0; !problem && i < c->num_ranks; at += c->sizes[i], i++)
			problem = check_copied(s, rank, at, i, 0, c->sizes[i]);
		return problem;
	case NEURON_COMM_ALL_TO_ALL:
		return check_all_to_all(s, rank);
	case NEURON_COMM_BROADCAST:
		return check_copied(s, rank, 0, c->root, 0, c->sizes[0]);
	case NEURON_COMM_SEND_RECV:
		return rank == c->peer ? check_copied(s, rank, 0, c->root, 0, c->sizes[0]) : NULL;
	default:
		return NULL;
	}
}

static const char *end(struct sim *s, uint32_t rank)
{
	const char *problem = check_result(s, rank);

	run_of[rank]++;
	return problem;
}

/* Memory with guards on both sides, for one space of a rank */
static unsigned char *new_memory(uint64_t size, uint32_t phase)
{
	uint64_t whole = (size + phase + 2 * GUARD + 15) & ~15ull;
	unsigned char *memory = aligned_alloc(16, whole);

	assert_non_null(memory);
	memset(memory, GUARD_BYTE, whole);
	return memory + GUARD + phase;
}

static const char *free_memory(unsigned char *begin_of, uint64_t size, uint32_t phase)
{
	const char *problem = NULL;
	uint32_t i;

	for (i = 0; i < GUARD; i++)
		if (begin_of[-1 - (int)i] != GUARD_BYTE || begin_of[size + i] != GUARD_BYTE)
			problem = "written outside of the data";
	free(begin_of - phase - GUARD);
	return problem;
}

static void setup_rank(struct sim *s, uint32_t rank)
{
	struct nrn_collective *c = &s->c;
	uint64_t before = 0, i;
	uint32_t run;

	measure(c, rank, &in_size[rank], &out_size[rank]);
	for (run = 0; run < RUNS; run++) {
		uint32_t esize = nrn_dtype_size(s->dtype);
		unsigned char *in = malloc(in_size[rank] + 8);

		for (i = 0; i < in_size[rank]; i += esize)
			random_element(s, in + i);
		input[run][rank] = in;
	}
	run_of[rank] = 0;
	if (c->op == NEURON_COMM_ALL_GATHER || c->op == NEURON_COMM_REDUCE_SCATTER)
		before = sum_of(c->sizes, rank, 1);
	if (c->in_place && c->op == NEURON_COMM_REDUCE_SCATTER) {
		s->space[NRN_SRC][rank] = new_memory(in_size[rank], c->phase[NRN_SRC]);
		s->space[NRN_DST][rank] = s->space[NRN_SRC][rank] + before;
	} else if (c->in_place) {
		uint64_t size = in_size[rank] > out_size[rank] ? in_size[rank] : out_size[rank];

		/* Of a reduce only the root's destination is written. */
		s->space[NRN_DST][rank] = new_memory(size, c->phase[NRN_DST]);
		s->space[NRN_SRC][rank] = s->space[NRN_DST][rank] + before;
	} else {
		s->space[NRN_SRC][rank] = new_memory(in_size[rank], c->phase[NRN_SRC]);
		s->space[NRN_DST][rank] = new_memory(out_size[rank], c->phase[NRN_DST]);
	}
	s->space[NRN_SCRATCH][rank] = new_memory(c->scratch * c->channels, 0);
	assert_int_equal(nrn_plan_build(&s->plan[rank], c, rank), 0);
}

static const char *teardown_rank(struct sim *s, uint32_t rank)
{
	struct nrn_collective *c = &s->c;
	uint64_t size = in_size[rank] > out_size[rank] ? in_size[rank] : out_size[rank];
	const char *problem, *more = NULL;
	uint32_t run;

	problem = free_memory(s->space[NRN_SCRATCH][rank], c->scratch * c->channels, 0);
	if (c->in_place && c->op == NEURON_COMM_REDUCE_SCATTER) {
		more = free_memory(s->space[NRN_SRC][rank], in_size[rank], c->phase[NRN_SRC]);
	} else {
		more = free_memory(s->space[NRN_DST][rank], c->in_place ? size : out_size[rank],
				   c->phase[NRN_DST]);
		if (!c->in_place) {
			const char *src = free_memory(s->space[NRN_SRC][rank], in_size[rank],
						      c->phase[NRN_SRC]);

			more = more ? more : src;
		}
	}
	for (run = 0; run < RUNS; run++)
		free(input[run][rank]);
	nrn_plan_free(&s->plan[rank]);
	return problem ? problem : more;
}

/* Carries a collective out and fails the test when it is not right. */
static void try(struct sim *s)
{
	static struct nrn_plan plan[NRN_MAX_RANKS];
	struct nrn_collective *c = &s->c;
	const char *problem, *left;
	uint64_t seed = s->random;
	uint32_t i;

	s->plan = plan;
	c->timed = sim_random(s, 4) == 0;
	c->group = sim_random(s, 2);
	s->num_sems = nrn_sem_index(c->num_ranks, c->channels, 0, 0);
	s->sem = calloc(s->num_sems * c->num_ranks, sizeof(*s->sem));
	for (i = 0; i < c->num_ranks; i++)
		setup_rank(s, i);
	problem = sim_run(s, RUNS, begin, end);
	for (i = 0; i < c->num_ranks; i++) {
		left = teardown_rank(s, i);
		problem = problem ? problem : left;
	}
	free(s->sem);
	if (problem)
		fail_msg("op %u algorithm %u: %u ranks, %llu bytes (first), %s %s, %u channels, scratch %llu, phases %u %u, root %u peer %u server %u, %sin place, seed %llu: %s",
			 c->op, c->algorithm, c->num_ranks,
			 (unsigned long long)c->sizes[0], nrn_dtype_name(s->dtype),
			 s->combine == NEURON_COMBINE_SUM ? "sum" : "min or max", c->channels,
			 (unsigned long long)c->scratch, c->phase[0], c->phase[1], c->root,
			 c->peer, c->server, c->in_place ? "" : "not ",
			 (unsigned long long)seed, problem);
}

static const uint64_t some_sizes[] = { 0, 1, 3, 15, 16, 17, 64, 100, 1000, 4096, 5001, 20000 };

/* Sizes in elements, uneven ones and zeroes for the operations that have many */
static void random_sizes(struct sim *s, uint64_t *sizes)
{
	uint64_t limit = s->c.num_ranks > 20 ? 300 : 3000;
	uint32_t n = s->c.num_ranks, count = 1, i, even;
	uint32_t esize = nrn_dtype_size(s->dtype);

	if (s->c.op == NEURON_COMM_ALL_GATHER || s->c.op == NEURON_COMM_REDUCE_SCATTER)
		count = n;
	else if (s->c.op == NEURON_COMM_ALL_TO_ALL)
		count = n * n;
	else
		limit *= 8;
	even = sim_random(s, 2);
	for (i = 0; i < count; i++) {
		if (i && even)
			sizes[i] = sizes[0];
		else if (sim_random(s, 2))
			sizes[i] = some_sizes[sim_random(s, 12)] / (limit < 1000 ? 8 : 1) * esize;
		else
			sizes[i] = sim_random(s, (uint32_t)limit) / esize * esize;
	}
}

static void random_collective(struct sim *s, uint32_t op, uint32_t n, uint64_t *sizes)
{
	struct nrn_collective *c = &s->c;
	uint32_t esize, i;

	memset(c, 0, sizeof(*c));
	s->dtype = sim_random(s, NRN_NUM_DTYPES);
	s->combine = sim_random(s, 3);
	esize = nrn_dtype_size(s->dtype);
	c->op = op;
	c->num_ranks = n;
	c->esize = esize;
	c->root = sim_random(s, n);
	c->peer = n > 1 ? (c->root + 1 + sim_random(s, n - 1)) % n : 0;
	c->sizes = sizes;
	c->channels = 1 + sim_random(s, 3);
	c->in_place = op != NEURON_COMM_ALL_TO_ALL && op != NEURON_COMM_SEND_RECV &&
		      sim_random(s, 2);
	for (i = 0; i < 2; i++)
		c->phase[i] = sim_random(s, 2) ? 0 : sim_random(s, 16 / esize) * esize;
	c->chunk = 16 + sim_random(s, 4000);
	c->scratch = (n + 1) * NRN_SLOT_DEPTH * 64ull * (1 + sim_random(s, 40)) + 8;
	for (i = 2; i < n; i++)
		if (n % i == 0 && (!c->server || sim_random(s, 2)))
			c->server = i;
	random_sizes(s, sizes);
	if (c->in_place && (op == NEURON_COMM_ALL_REDUCE || op == NEURON_COMM_BROADCAST ||
			    op == NEURON_COMM_REDUCE)) {
		c->phase[NRN_SRC] = c->phase[NRN_DST];
	} else if (c->in_place) {
		/* The other one depends on the rank; only one that combines counts. */
		c->phase[op == NEURON_COMM_REDUCE_SCATTER ? NRN_DST : NRN_SRC] = 0;
	}
}

/* Every algorithm that does it, and so often */
static void try_all(struct sim *s, uint32_t op, uint32_t n, uint32_t times)
{
	static uint64_t sizes[NRN_MAX_RANKS * NRN_MAX_RANKS];
	uint32_t algorithm;

	for (; times; times--) {
		for (algorithm = NEURON_COMM_RING; algorithm <= NEURON_COMM_IN_NETWORK;
		     algorithm++) {
			random_collective(s, op, n, sizes);
			s->c.algorithm = algorithm;
			if (!nrn_plan_refuses(&s->c))
				try(s);
		}
	}
}

static void try_op(uint32_t op)
{
	struct sim s = { .random = 1 + op };
	uint32_t n, times = 2;

	/* More by hand */
	if (getenv("COMM_ROUNDS"))
		times *= (uint32_t)atoi(getenv("COMM_ROUNDS"));
	if (getenv("COMM_SEED"))
		s.random += strtoull(getenv("COMM_SEED"), NULL, 0);
	for (n = 1; n <= 16; n++)
		if (op != NEURON_COMM_SEND_RECV || n > 1)
			try_all(&s, op, n, times);
	try_all(&s, op, 72, 1);
	printf("# %llu steps\n", (unsigned long long)s.steps);
}

static void test_all_reduce(void **state)
{
	(void)state;
	try_op(NEURON_COMM_ALL_REDUCE);
}

static void test_all_gather(void **state)
{
	(void)state;
	try_op(NEURON_COMM_ALL_GATHER);
}

static void test_reduce_scatter(void **state)
{
	(void)state;
	try_op(NEURON_COMM_REDUCE_SCATTER);
}

static void test_all_to_all(void **state)
{
	(void)state;
	try_op(NEURON_COMM_ALL_TO_ALL);
}

static void test_broadcast(void **state)
{
	(void)state;
	try_op(NEURON_COMM_BROADCAST);
}

static void test_reduce(void **state)
{
	(void)state;
	try_op(NEURON_COMM_REDUCE);
}

static void test_send_recv(void **state)
{
	(void)state;
	try_op(NEURON_COMM_SEND_RECV);
}

static void test_barrier(void **state)
{
	(void)state;
	try_op(NEURON_COMM_BARRIER);
}

/* Bits of small floats, both ways: every value of 8 and 16 bits comes back. */
static void test_floats(void **state)
{
	static const uint32_t small[] = { NEURON_DTYPE_FP16, NEURON_DTYPE_BF16,
					  NEURON_DTYPE_FP8_E4M3, NEURON_DTYPE_FP8_E5M2 };
	uint32_t i, bits, again;
	float value;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (bits = 0; bits < 1u << (8 * nrn_dtype_size(small[i])); bits++) {
			value = nrn_load_float(small[i], &bits);
			again = 0;
			nrn_store_float(small[i], &again, value);
			if (isnan(value))
				assert_true(isnan(nrn_load_float(small[i], &again)));
			else
				assert_int_equal(again, bits);
		}
	}
	nrn_store_float(NEURON_DTYPE_FP16, &bits, 65520.0f);
	assert_true(isinf(nrn_load_float(NEURON_DTYPE_FP16, &bits)));
	nrn_store_float(NEURON_DTYPE_FP16, &bits, 65519.0f);
	assert_true(nrn_load_float(NEURON_DTYPE_FP16, &bits) == 65504.0f);
	nrn_store_float(NEURON_DTYPE_FP8_E4M3, &bits, 464.0f);
	assert_true(nrn_load_float(NEURON_DTYPE_FP8_E4M3, &bits) == 448.0f);
	nrn_store_float(NEURON_DTYPE_FP8_E4M3, &bits, 465.0f);
	assert_true(isnan(nrn_load_float(NEURON_DTYPE_FP8_E4M3, &bits)));
	nrn_store_float(NEURON_DTYPE_BF16, &bits, 1.0f + ldexp(1, -8));
	assert_true(nrn_load_float(NEURON_DTYPE_BF16, &bits) == 1.0f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_all_reduce),
		cmocka_unit_test(test_all_gather),
		cmocka_unit_test(test_reduce_scatter),
		cmocka_unit_test(test_all_to_all),
		cmocka_unit_test(test_broadcast),
		cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_send_recv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
